"""Kernels of the bottlenecks: a sweep of soft ones on dense features; moving one object, or merging two clusters.

A cell is a cluster, or the part of a cluster in one known group, with the sums S (m,) of its objects' features and
their number n. Its score is minus n times the entropy of the features in it, up to what no clustering changes:

* multinomial, rows of sum 1: sum_y S_y log S_y - n log n
* Bernoulli: sum_y [S_y log S_y + (n - S_y) log(n - S_y)] - m n log n
* Gaussian: sum_y S_y^2 / n, features divided by sqrt(2 variance)
"""

import numpy as np
from numba import njit

# Plain fastmath lets the compiler drop NaN and inf checks; these flags are as fast and keep them.
FAST = {"reassoc", "contract", "arcp", "nsz"}
MULTINOMIAL, BERNOULLI, GAUSSIAN = 0, 1, 2


@njit(cache=True)
def gather(F, groups, P, n_groups):
    """Sums (Z, K, m) of the features F (N, m) and numbers of objects (Z, K) in the parts of the clusters P (N, K)."""
    sums, n = np.zeros((n_groups, P.shape[1], F.shape[1])), np.zeros((n_groups, P.shape[1]))
    for i, z in enumerate(groups):
        for k in range(P.shape[1]):
            share = P[i, k]
            n[z, k] += share
            for y in range(F.shape[1]):
                sums[z, k, y] += share * F[i, y]
    return sums, n


@njit(cache=True, fastmath=FAST)
def project(F, groups, W, offset):
    """Potentials (N, K) of features F (N, m): minus W (Z, K, m) times them, minus the offset (Z, K)."""
    h = np.empty((F.shape[0], W.shape[1]))
    for i, z in enumerate(groups):
        for k in range(W.shape[1]):
            total = offset[z, k]
            for y in range(F.shape[1]):
                total += F[i, y] * W[z, k, y]
            h[i, k] = -total
    return h


@njit(cache=True, fastmath=FAST)
def boltzmann(h, beta):
    """Rows of exp(-beta h), normalised."""
    P = np.empty(h.shape)
    for i in range(h.shape[0]):
        lowest, total = h[i, 0], 0.0
        for k in range(1, h.shape[1]):
            lowest = min(lowest, h[i, k])
        for k in range(h.shape[1]):
            P[i, k] = np.exp(beta * (lowest - h[i, k]))
            total += P[i, k]
        for k in range(h.shape[1]):
            P[i, k] /= total
    return P


@njit(cache=True)
def xlogx(x):
    """x log x, 0 at 0 and for what rounding has left below it."""
    return x * np.log(x) if x > 1e-12 else 0.0


@njit(cache=True)
def score(sums, n, family):
    """Score of a cell with sums (m,) over n objects."""
    if n < 0.5:
        return 0.0
    total = 0.0
    if family == GAUSSIAN:
        for y in range(len(sums)):
            total += sums[y] * sums[y]
        return total / n
    for y in range(len(sums)):
        total += xlogx(sums[y])
        if family == BERNOULLI:
            total += xlogx(n - sums[y])
    return total - xlogx(n) * (len(sums) if family == BERNOULLI else 1)


@njit(cache=True)
def _gain(values, columns, sums, cached, n, family, scores):
    """What the score of a cell of n objects gains by one more; cached: xlogx of the sums, scores: that of the cell."""
    total = 0.0
    if family == MULTINOMIAL:
        for j in range(len(columns)):
            y = columns[j]
            total += xlogx(sums[y] + values[j]) - cached[y]
        return total - xlogx(n + 1.0) + xlogx(n)
    for y in range(len(sums)):
        s = sums[y] + values[y]
        total += s * s / (n + 1.0) if family == GAUSSIAN else xlogx(s) + xlogx(n + 1.0 - s)
    return total - (xlogx(n + 1.0) * len(sums) if family == BERNOULLI else 0.0) - scores


@njit(cache=True)
def _put(values, columns, sums, cached, sign):
    for j in range(len(columns)):
        y = columns[j]
        sums[y] += sign * values[j]
        cached[y] = xlogx(sums[y])


@njit(cache=True)
def sequential_pass(order, data, indices, indptr, groups, labels, free, inner, outer, counts, weights, family):
    """Draw the objects in `order` out of their cluster one by one and put each where the objective gains most.

    Parameters
    ----------
    order : ndarray of int, shape (N,)
    data, indices, indptr : ndarray
        Features in compressed rows, all columns of a row present unless they are multinomial.
    groups, labels : ndarray of int, shape (N,)
        Known group and cluster of every object; labels are written.
    free : ndarray of bool, shape (N,)
        Objects that may move.
    inner, outer : ndarray, shape (2, K, Z, m) and (2, K, m)
        Sums over the objects of a cluster in a group, and of a cluster, and their xlogx; written.
    counts : ndarray, shape (K, Z)
        Numbers of objects; written.
    weights : tuple of 3 floats
        Of the conditional information, of the information and of the redundancy.
    family : int

    Returns
    -------
    int
        Objects that moved.
    """
    conditional, coordination, redundancy = weights
    n_clusters, moved = counts.shape[0], 0
    inside, alone = np.zeros((n_clusters, counts.shape[1])), np.zeros(n_clusters)
    for k in range(n_clusters):
        alone[k] = score(outer[0, k], counts[k].sum(), family)
        for z in range(counts.shape[1]):
            inside[k, z] = score(inner[0, k, z], counts[k, z], family)
    for i in order:
        if not free[i]:
            continue
        values, columns = data[indptr[i] : indptr[i + 1]], indices[indptr[i] : indptr[i + 1]]
        z, old = groups[i], labels[i]
        counts[old, z] -= 1
        _put(values, columns, inner[0, old, z], inner[1, old, z], -1.0)
        _put(values, columns, outer[0, old], outer[1, old], -1.0)
        if family != MULTINOMIAL:
            inside[old, z] = score(inner[0, old, z], counts[old, z], family)
            alone[old] = score(outer[0, old], counts[old].sum(), family)
        best, most = old, 0.0
        for step in range(n_clusters):
            k = (old + step) % n_clusters  # its own cluster first: a tie moves nothing
            n, n_all = counts[k, z], counts[k].sum()
            gain = 0.0
            if conditional != 0.0:
                gain += conditional * _gain(values, columns, inner[0, k, z], inner[1, k, z], n, family, inside[k, z])
            if coordination != 0.0:
                gain += coordination * _gain(values, columns, outer[0, k], outer[1, k], n_all, family, alone[k])
            if redundancy != 0.0:
                gain -= redundancy * (xlogx(n + 1.0) - xlogx(n) - xlogx(n_all + 1.0) + xlogx(n_all))
            if step == 0 or gain > most + 1e-10 * abs(most):
                best, most = k, gain
        labels[i] = best
        moved += best != old
        counts[best, z] += 1
        _put(values, columns, inner[0, best, z], inner[1, best, z], 1.0)
        _put(values, columns, outer[0, best], outer[1, best], 1.0)
        if family != MULTINOMIAL:
            inside[best, z] = score(inner[0, best, z], counts[best, z], family)
            alone[best] = score(outer[0, best], counts[best].sum(), family)
    return moved


@njit(cache=True)
def _objective(cells, counts, weights, family):
    """What one cluster adds to the objective; cells (Z, m), counts (Z,)."""
    conditional, coordination, redundancy = weights
    total = coordination * score(cells.sum(axis=0), counts.sum(), family) + redundancy * xlogx(counts.sum())
    for z in range(len(counts)):
        total += conditional * score(cells[z], counts[z], family) - redundancy * xlogx(counts[z])
    return total


@njit(cache=True)
def agglomerate(cells, counts, n_clusters, weights, family):
    """Merge the two clusters whose merger costs least until `n_clusters` are left.

    Parameters
    ----------
    cells : ndarray, shape (N, Z, m)
        Sums of every cluster in every known group; overwritten.
    counts : ndarray, shape (N, Z)
        Numbers of objects; overwritten.
    n_clusters : int
    weights : tuple of 3 floats
    family : int

    Returns
    -------
    labels : ndarray of int, shape (N,)
    merged : ndarray of int, shape (N - n_clusters, 2)
        The clusters merged at every step, named by their first object.
    losses : ndarray, shape (N - n_clusters,)
        What the objective lost by it.
    """
    n = len(cells)
    labels, alive = np.arange(n), np.ones(n, np.bool_)
    merged, losses = np.empty((n - n_clusters, 2), np.int64), np.empty(n - n_clusters)
    own = np.array([_objective(cells[a], counts[a], weights, family) for a in range(n)])
    loss = np.full((n, n), np.inf)
    for a in range(n):
        for b in range(a + 1, n):
            both = _objective(cells[a] + cells[b], counts[a] + counts[b], weights, family)
            loss[a, b] = own[a] + own[b] - both
    nearest = np.array([loss[a].argmin() for a in range(n)])
    for step in range(n - n_clusters):
        a, least = -1, np.inf
        for c in range(n):
            if alive[c] and loss[c, nearest[c]] < least:
                a, least = c, loss[c, nearest[c]]
        b = nearest[a]
        merged[step, 0], merged[step, 1], losses[step] = a, b, least
        cells[a] += cells[b]
        counts[a] += counts[b]
        own[a], alive[b] = _objective(cells[a], counts[a], weights, family), False
        labels[labels == b] = a
        loss[b], loss[:, b] = np.inf, np.inf
        for c in range(n):
            if alive[c] and c != a:
                both = _objective(cells[a] + cells[c], counts[a] + counts[c], weights, family)
                loss[min(a, c), max(a, c)] = own[a] + own[c] - both
        for c in range(n):
            if alive[c] and (c == a or nearest[c] == a or nearest[c] == b):
                nearest[c] = loss[c].argmin()
            elif alive[c] and c < a and loss[c, a] < loss[c, nearest[c]]:
                nearest[c] = a
    return labels, merged, losses
