"""Sweeps over the sites of a field: every site has costs of its own, and a price for each neighbour of another label.

The neighbours of site i are indices[indptr[i] : indptr[i + 1]], their prices stand beside them in `prices`.
"""

import numpy as np
from numba import njit


@njit(cache=True)
def _potentials(i, own, indptr, indices, prices, P, h):
    """h (K,) of site i: own costs less the prices of the neighbours that are alike; returns the lowest."""
    for k in range(len(h)):
        h[k] = own[i, k]
    for j in range(indptr[i], indptr[i + 1]):
        for k in range(len(h)):
            h[k] -= prices[j] * P[indices[j], k]
    return h.min()


@njit(cache=True)
def meanfield_sweep(own, indptr, indices, prices, beta, P):
    """Each site in turn takes the probabilities exp(-beta h) of its expected costs; none of them raises the bound.

    Parameters
    ----------
    own : (N, K), costs of the labels at every site; P : (N, K), assignment probabilities, written.

    Returns
    -------
    float
        Largest change of a probability.
    """
    h, change = np.empty(P.shape[1]), 0.0
    for i in range(len(P)):
        lowest, total = _potentials(i, own, indptr, indices, prices, P, h), 0.0
        for k in range(len(h)):
            h[k] = np.exp(beta * (lowest - h[k]))
            total += h[k]
        for k in range(len(h)):
            change = max(change, abs(h[k] / total - P[i, k]))
            P[i, k] = h[k] / total
    return change


@njit(cache=True)
def gibbs_sweep(own, indptr, indices, prices, beta, P, counts, rng):
    """Each site in turn draws a label given all others; P (N, K), rows of a single 1, and counts are written."""
    h = np.empty(P.shape[1])
    for i in range(len(P)):
        lowest, total = _potentials(i, own, indptr, indices, prices, P, h), 0.0
        for k in range(len(h)):
            h[k] = np.exp(beta * (lowest - h[k]))
            total += h[k]
        level, drawn = rng.random() * total, 0
        while drawn < len(h) - 1 and level >= h[drawn]:
            level -= h[drawn]
            drawn += 1
        P[i] = 0.0
        P[i, drawn] = 1.0
        counts[i, drawn] += 1.0
