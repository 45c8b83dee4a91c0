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


@njit(cache=True, error_model="numpy")
def _log(x):
    """Logarithm of normal x > 0 in steps that compilers vectorise, right to 4e-16 of it: a power of 2, and the series.

    log(1 + f) = 2 s (1 + s^2 / 3 + s^4 / 5 + ...) with s = f / (2 + f), for 1 + f from sqrt(1/2) to sqrt(2).
    """
    bits = np.float64(x).view(np.int64)
    power = (bits - 0x3FE6A09E667F3BCD) >> 52  # the number is the pattern of sqrt(1/2)
    f = np.int64(bits - (power << 52)).view(np.float64) - 1.0
    s = f / (2.0 + f)
    z = s * s
    w = z * z  # two sums side by side: fewer steps wait for each other
    first = 1 / 3 + w * (1 / 7 + w * (1 / 11 + w * (1 / 15 + w / 19)))
    second = 1 / 5 + w * (1 / 9 + w * (1 / 13 + w * (1 / 17 + w / 21)))
    return np.float64(np.int32(power)) * 0.6931471805599453 + 2.0 * s * (1.0 + z * (first + z * second))


@njit(cache=True, error_model="numpy")
def _xlogx(x):
    """`xlogx` for loops over clusters; a loop that calls np.log is not vectorised."""
    return x * _log(x) if x > 1e-12 else 0.0


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


@njit(cache=True, error_model="numpy")
def _gains(values, columns, sums, cached, n, family, scores):
    """What the scores (K,) of cells of n objects gain by one more; sums (m, K), cached: their xlogx."""
    total = np.zeros(len(n))
    for j in range(len(columns)):
        old, before, value = sums[columns[j]], cached[columns[j]], values[j]
        if family == MULTINOMIAL:
            for k in range(len(n)):
                total[k] += _xlogx(old[k] + value) - before[k]
        elif family == GAUSSIAN:
            for k in range(len(n)):
                total[k] += (old[k] + value) * (old[k] + value) / (n[k] + 1.0)
        else:
            for k in range(len(n)):
                total[k] += _xlogx(old[k] + value) + _xlogx(n[k] + 1.0 - old[k] - value)
    for k in range(len(n)):
        if family == MULTINOMIAL:
            total[k] += xlogx(n[k]) - xlogx(n[k] + 1.0)
        else:
            total[k] -= scores[k] + (xlogx(n[k] + 1.0) * len(sums) if family == BERNOULLI else 0.0)
    return total


@njit(cache=True)
def _put(values, columns, sums, cached, k, sign, n, family):
    """Put one object into cell k of n objects with it (sign 1), or draw it out; returns the cell's score."""
    for j in range(len(columns)):
        y = columns[j]
        sums[y, k] += sign * values[j]
        cached[y, k] = _xlogx(sums[y, k])
    return score(sums[:, k], n, family) if family != MULTINOMIAL else 0.0


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
    inner, outer : ndarray, shape (2, Z, m, K) and (2, m, K)
        Sums over the objects of a cluster in a group, and of a cluster, and their xlogx; written where their weight
        is not 0.
    counts : ndarray, shape (Z, K)
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
    (n_groups, n_clusters), moved, total = counts.shape, 0, counts.sum(axis=0)
    inside, alone = np.zeros((n_groups, n_clusters)), np.zeros(n_clusters)
    for k in range(n_clusters):
        alone[k] = score(outer[0, :, k], total[k], family)
        for z in range(n_groups):
            inside[z, k] = score(inner[0, z, :, k], counts[z, k], family)
    for i in order:
        if not free[i]:
            continue
        values, columns = data[indptr[i] : indptr[i + 1]], indices[indptr[i] : indptr[i + 1]]
        z, best = groups[i], labels[i]
        for sign in (-1.0, 1.0):  # out of its cluster, into the best
            counts[z, best] += sign
            total[best] += sign
            if conditional != 0.0:
                n = counts[z, best]
                inside[z, best] = _put(values, columns, inner[0, z], inner[1, z], best, sign, n, family)
            if coordination != 0.0:
                alone[best] = _put(values, columns, outer[0], outer[1], best, sign, total[best], family)
            if sign > 0.0:
                continue
            gains = np.zeros(n_clusters)
            if conditional != 0.0:
                gains += conditional * _gains(values, columns, inner[0, z], inner[1, z], counts[z], family, inside[z])
            if coordination != 0.0:
                gains += coordination * _gains(values, columns, outer[0], outer[1], total, family, alone)
            if redundancy != 0.0:
                for k in range(n_clusters):
                    gains[k] -= redundancy * (xlogx(counts[z, k] + 1.0) - xlogx(counts[z, k]))
                    gains[k] += redundancy * (xlogx(total[k] + 1.0) - xlogx(total[k]))
            for step in range(1, n_clusters):
                k = (labels[i] + step) % n_clusters  # its own cluster first: a tie moves nothing
                if gains[k] > gains[best] + 1e-10 * abs(gains[best]):
                    best = k
        moved += best != labels[i]
        labels[i] = best
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


@njit(cache=True)
def mixing_weights(counts, prototypes, weights, tolerance, most):
    """Expectation-maximisation of the weights of a mixture of given distributions; the likelihood never falls.

    Parameters
    ----------
    counts : ndarray, shape (m,)
    prototypes : ndarray, shape (m, s)
    weights : ndarray, shape (s,)
        Where it starts; overwritten by where it ends.
    tolerance : float
        Distance from the largest likelihood, in nats per count.
    most : int
        Steps.

    Returns
    -------
    float
        That distance, or more.
    """
    total, excess = counts.sum(), np.inf
    for _ in range(most):
        wanted = np.zeros(len(weights))
        for y in range(len(counts)):
            if counts[y] > 0.0:
                density = 0.0
                for a in range(len(weights)):
                    density += weights[a] * prototypes[y, a]
                ratio = counts[y] / (total * density)
                for a in range(len(weights)):
                    wanted[a] += ratio * prototypes[y, a]
        weights *= wanted
        excess = np.log(max(wanted.max(), 1.0))  # the likelihood is concave: the most wanted prototype bounds the gain
        if excess <= tolerance:
            break
    return excess
