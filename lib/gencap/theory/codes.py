"""Capacities of K-ary codes: the channel that a clustering is compared with."""

import numpy as np

from ..checks import check_integer, check_number
from ..validation.capacity import stay_or_err


def _check_code(K, delta):
    K = check_integer("K", K, 2, 10**150, "10**150, whose square is a float, ")
    return float(K), check_number("delta", delta, 0.0, 1.0)


def shannon_capacity(K, delta):
    """Shannon's capacity of the symmetric K-ary channel with error rate `delta`, bits per symbol (000 Eq. 57).

    Parameters
    ----------
    K : int
        Size of the alphabet, at least 2.
    delta : float
        Share of symbols that the channel changes.

    Returns
    -------
    float

    Raises
    ------
    ValueError
        K < 2 or delta outside [0, 1].

    Examples
    --------
    >>> import gencap as gc
    >>> gc.shannon_capacity(2, 0.0), gc.shannon_capacity(2, 0.5)
    (1.0, 0.0)
    """
    K, delta = _check_code(K, delta)
    return float(np.log2(K) + stay_or_err(delta, K) / np.log(2))


def kary_information(K, delta, betas):
    """J(beta) of a K-ary code at error rate `delta`, bits per symbol (000 Eq. 54).

    Parameters
    ----------
    K : int
        Size of the alphabet, at least 2.
    delta : float
        Share of symbols that the channel changes.
    betas : array_like
        Inverse temperatures of the Hamming distance, >= 0; infinity is allowed.

    Returns
    -------
    ndarray, shape of `betas`

    Examples
    --------
    >>> import gencap as gc
    >>> gc.kary_information(4, 0.1, [0.0, 2.0]).round(3).tolist()
    [0.0, 0.916]
    """
    K, delta = _check_code(K, delta)
    betas = np.asarray(betas, dtype=np.float64)
    if np.isnan(betas).any() or (betas < 0).any():
        raise ValueError(f"betas must be >= 0, got {betas!r}")
    wrong = np.exp(-betas)
    # Written with log(2 e^-b + (K-2) e^-2b), so that an error at infinite beta costs infinitely much.
    with np.errstate(divide="ignore", invalid="ignore"):
        at_errors = 0.0 if delta == 0 else delta * (np.log(2 + (K - 2) * wrong) - betas)
    right = (1 - delta) * np.log1p((K - 1) * wrong**2)
    return (np.log(K) + right + at_errors - 2 * np.log1p((K - 1) * wrong)) / np.log(2)


def kary_optimal_beta(K, delta):
    """The inverse temperature where J of a K-ary code is maximal, in closed form.

    Parameters
    ----------
    K : int
        Size of the alphabet, at least 2.
    delta : float
        Share of symbols that the channel changes.

    Returns
    -------
    float
        log(p (K-1) / (1-p)) with p = (1 + sqrt((K-1)(K(1-delta) - 1))) / K; infinity at delta = 0, and 0 from
        delta = (K-1)/K on, where the channel carries nothing.

    Examples
    --------
    >>> import gencap as gc
    >>> round(gc.kary_optimal_beta(4, 0.1), 3)
    4.006
    """
    K, delta = _check_code(K, delta)
    excess = (K - 1) * (K * (1 - delta) - 1)
    if excess <= 0:
        return 0.0
    p = (1 + np.sqrt(excess)) / K
    return float("inf") if p >= 1 else float(np.log(p * (K - 1) / (1 - p)))


def kary_capacity(K, delta):
    """Generalization capacity of a K-ary code: max over beta >= 0 of `kary_information`, bits per symbol.

    Equal to `shannon_capacity` up to delta = (K-1)/K, and 0 beyond: no beta >= 0 uses a channel that errs more
    often than chance.

    Parameters
    ----------
    K : int
        Size of the alphabet, at least 2.
    delta : float
        Share of symbols that the channel changes.

    Returns
    -------
    float

    Raises
    ------
    ValueError
        K < 2 or delta outside [0, 1].

    Examples
    --------
    >>> import gencap as gc
    >>> round(gc.kary_capacity(4, 0.1), 4) == round(gc.shannon_capacity(4, 0.1), 4)
    True
    """
    return max(0.0, float(kary_information(K, delta, kary_optimal_beta(K, delta))))
