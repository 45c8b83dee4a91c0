"""Every jitted loop of the library: arrays in, arrays out, no Python objects, one thread each."""

import numpy as np
from numba import njit

# Plain fastmath lets the compiler drop NaN and inf checks; these flags are as fast and keep them.
FAST = {"reassoc", "contract", "arcp", "nsz", "afn"}


@njit(inline="always")
def exp_negative(x):
    """exp(x) for x <= 0, 0 below -60; relative error 1e-15.

    Unlike a call of the mathematical library it is vectorised, and it gives the same on every processor that has
    fused multiply-add.
    """
    n = np.floor(max(x, -60.0) * 1.4426950408889634 + 0.5)
    f = max(x, -60.0) - n * 0.6931471803691238
    f -= n * 1.9082149292705877e-10
    p = 1 / 479001600.0
    for c in (
        1 / 39916800.0, 1 / 3628800.0, 1 / 362880.0, 1 / 40320.0, 1 / 5040.0, 1 / 720.0, 1 / 120.0, 1 / 24.0, 1 / 6.0,
        0.5, 1.0, 1.0,
    ):  # fmt: skip
        p = p * f + c
    return p * np.int64((np.int64(n) + 1023) << 52).view(np.float64) if x > -60.0 else 0.0
