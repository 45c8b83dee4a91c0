"""The stability term of the capacity: how much the assignment probabilities of two data sets overlap."""

import numpy as np
from numba import njit

# Plain fastmath lets the compiler drop NaN and inf checks; these flags are as fast and keep them.
FAST = {"reassoc", "contract", "arcp", "nsz", "afn"}
SMALL = 1e-30  # below this the stored probabilities have lost digits, or all: use the log-probabilities


@njit(cache=True, fastmath=FAST)
def mean_log_overlap(P1, P2, permutation, h1, beta1, h2, beta2):
    """mean_i log sum_k P1[i, k] P2[i, permutation[k]], natural log.

    Parameters
    ----------
    P1, P2 : (N, K) assignment probabilities.
    permutation : (K,) int, the cluster of data set 2 that belongs to cluster k of data set 1.
    h1, h2 : (N, K) potentials, or (0, 0) where there are none: a vanishing overlap is then minus infinity.

    Returns
    -------
    float
    """
    n_objects, n_clusters = P1.shape
    terms = np.empty(n_clusters)
    total = 0.0
    for i in range(n_objects):
        overlap = 0.0
        for k in range(n_clusters):
            overlap += np.float64(P1[i, k]) * np.float64(P2[i, permutation[k]])
        if overlap > SMALL:
            total += np.log(overlap)
        elif h1.shape[0] == 0 or h2.shape[0] == 0:
            if overlap == 0.0:
                return -np.inf
            total += np.log(overlap)
        else:
            best, low1, low2 = -np.inf, np.inf, np.inf
            for k in range(n_clusters):
                low1, low2 = min(low1, np.float64(h1[i, k])), min(low2, np.float64(h2[i, k]))
            sum1 = sum2 = joint = 0.0
            for k in range(n_clusters):
                a = -beta1 * (h1[i, k] - low1)
                b = -beta2 * (h2[i, permutation[k]] - low2)
                sum1 += np.exp(a)
                sum2 += np.exp(b)
                terms[k] = a + b
                best = max(best, a + b)
            for k in range(n_clusters):
                joint += np.exp(terms[k] - best)
            total += best + np.log(joint) - np.log(sum1) - np.log(sum2)
    return total / n_objects
