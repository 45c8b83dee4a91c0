"""Sweeps of annealed k-means: expectation-maximisation and Gibbs sampling, each in one pass over the data."""

import numpy as np
from numba import njit

# Plain fastmath lets the compiler drop NaN and inf checks; these flags are as fast and keep them.
FAST = {"reassoc", "contract", "arcp", "nsz", "afn"}
BLOCK = 128  # objects whose distances stay in the cache


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
    for c in (1 / 39916800.0, 1 / 3628800.0, 1 / 362880.0, 1 / 40320.0, 1 / 5040.0, 1 / 720.0, 1 / 120.0, 1 / 24.0,
              1 / 6.0, 0.5, 1.0, 1.0):  # fmt: skip
        p = p * f + c
    return p * np.int64((np.int64(n) + 1023) << 52).view(np.float64) if x > -60.0 else 0.0


@njit(inline="always")
def _distances(X, i, centroids, offsets, h):
    """h[k] = ||x_i - mu_k||^2 + offsets[k]; returns the smallest."""
    lowest = np.inf
    for k in range(centroids.shape[0]):
        distance = 0.0
        for d in range(X.shape[1]):
            difference = X[i, d] - centroids[k, d]
            distance += difference * difference
        h[k] = distance + offsets[k]
        lowest = min(lowest, h[k])
    return lowest


@njit(inline="always")
def _draw(h, beta, lowest, rng, weights):
    """A cluster drawn with probability exp(-beta h) / sum."""
    total = 0.0
    for k in range(h.shape[0]):
        weights[k] = exp_negative(-beta * (h[k] - lowest))
        total += weights[k]
    level = rng.random() * total
    chosen = np.argmin(h)  # where rounding leaves nothing of the level
    for k in range(h.shape[0]):
        level -= weights[k]
        if level < 0.0:
            chosen = k
            break
    return chosen


@njit(cache=True, fastmath=FAST)
def em_sweep(X, centroids, offsets, beta, mass, sums):
    """Potentials, softmax and accumulation in one pass: mass_k = sum_i P_ik, sums_k = sum_i P_ik x_i.

    Parameters
    ----------
    X : (N, D), contiguous; centroids : (K, D); offsets : (K,); mass : (K,) and sums : (K, D), overwritten.

    Returns
    -------
    cost : float, sum_i sum_k P_ik h_ik with h_ik = ||x_i - mu_k||^2 + offsets_k
    """
    n_clusters = centroids.shape[0]
    h, shares = np.empty((BLOCK, n_clusters)), np.empty((BLOCK, n_clusters))
    mass[:] = 0.0
    sums[:] = 0.0
    cost = 0.0
    for start in range(0, X.shape[0], BLOCK):
        rows = X[start : start + BLOCK]
        P = shares[: len(rows)]
        for i in range(len(rows)):
            lowest = _distances(rows, i, centroids, offsets, h[i])
            for k in range(n_clusters):
                P[i, k] = beta * (lowest - h[i, k])
        exponents = P.ravel()  # one long loop is vectorised, many short ones are not
        for j in range(len(exponents)):
            exponents[j] = exp_negative(exponents[j])
        for i in range(len(rows)):
            total = 0.0
            for k in range(n_clusters):
                total += P[i, k]
            inverse = 1.0 / total
            for k in range(n_clusters):
                P[i, k] *= inverse
                mass[k] += P[i, k]
                cost += P[i, k] * h[i, k]
        sums += np.dot(P.T, rows)
    return cost


@njit(cache=True, fastmath=FAST)
def block_gibbs_sweep(X, centroids, beta, labels, mass, sums, potentials, rng):
    """Draw all labels given the centroids; mass and sums of the new members come back with them.

    potentials : (N, K) or (0, 0), to which ||x_i - mu_k||^2 is added.
    """
    h, weights, offsets = np.empty(len(centroids)), np.empty(len(centroids)), np.zeros(len(centroids))
    mass[:] = 0.0
    sums[:] = 0.0
    for i in range(X.shape[0]):
        lowest = _distances(X, i, centroids, offsets, h)
        if potentials.shape[0] > 0:
            for k in range(h.shape[0]):
                potentials[i, k] += h[k]
        k = _draw(h, beta, lowest, rng, weights)
        labels[i] = k
        mass[k] += 1.0
        for d in range(X.shape[1]):
            sums[k, d] += X[i, d]


@njit(inline="always")
def _placement(X, i, k, mass, sums):
    """What object i, taken out of its cluster, costs in cluster k, which holds mass_k others of sum sums_k."""
    cost = 0.0
    if mass[k] > 0.5:
        inverse = 1.0 / mass[k]
        for d in range(X.shape[1]):
            difference = X[i, d] - sums[k, d] * inverse
            cost += difference * difference
        cost *= mass[k] / (mass[k] + 1.0)
    return cost


@njit(cache=True, fastmath=FAST)
def sequential_sweep(X, order, beta, labels, mass, sums, potentials, rng, metropolis):
    """Draw labels one by one on the exact cost: the centroids follow every move.

    With object i taken out, putting it into cluster k of n members costs n/(n+1) ||x_i - mean_k||^2, and nothing
    into an empty one. Without the factor an object would be drawn to its own pull on its cluster.

    labels : (N,); mass : (K,) and sums : (K, D) belong to them and are kept up to date.
    potentials : (N, K) or (0, 0), to which the cost of every placement is added.
    metropolis : offer one cluster, any with the same probability, and take it with probability min(1, exp(-beta
        difference)), instead of drawing from exp(-beta cost).
    """
    n_clusters = mass.shape[0]
    h, weights = np.empty(n_clusters), np.empty(n_clusters)
    recorded = potentials.shape[0] > 0
    for i in order:
        own = labels[i]
        mass[own] -= 1.0
        for d in range(X.shape[1]):
            sums[own, d] -= X[i, d]
        if recorded or not metropolis:
            lowest = np.inf
            for k in range(n_clusters):
                h[k] = _placement(X, i, k, mass, sums)
                lowest = min(lowest, h[k])
            if recorded:
                for k in range(n_clusters):
                    potentials[i, k] += h[k]
        if metropolis:
            k = rng.integers(0, n_clusters)
            rise = _placement(X, i, k, mass, sums) - _placement(X, i, own, mass, sums)
            if rise > 0.0 and rng.random() >= exp_negative(-beta * rise):
                k = own
        else:
            k = _draw(h, beta, lowest, rng, weights)
        labels[i] = k
        mass[k] += 1.0
        for d in range(X.shape[1]):
            sums[k, d] += X[i, d]
