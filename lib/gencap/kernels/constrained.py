"""Expectation-maximisation for a mixture of Bernoulli features whose clusters must not repeat a known structure.

A cluster k is a row of `theta` (K, M), features that are 1 in it with probability theta_kj. What it says of the known
structure is linear: v_k = theta_k D + r, M times the distribution of the known values in it, D (M, n) and r (n,). The
gradient of the penalty in theta_kj is minus `own` times D_j v_k plus `shared` times D_j sum_l v_l / K. Objects are
columns here: the rows of `columns` (M, N) are features.
"""

import numpy as np
from numba import njit

# Plain fastmath lets the compiler drop NaN and inf checks; these flags are as fast and keep them.
FAST = {"reassoc", "contract", "arcp", "nsz", "afn"}
EDGE = 1e-9  # probabilities stay this far from 0 and 1, so that no object costs an infinite amount


@njit(cache=True)
def best_probability(ones, mass, offset, slope, t):
    """The t in EDGE..1-EDGE at which ones log t + (mass - ones) log(1 - t) + offset t + slope t^2 / 2 is largest.

    With a slope <= 0 the derivative falls, and times t (1 - t) it is a cubic with one root: Newton's steps, halved
    intervals where one leads out of what is left. `t` is where they start.
    """
    low, high = EDGE, 1 - EDGE
    if ones - mass * low + (offset + slope * low) * low * (1 - low) < 0:
        return low
    if ones - mass * high + (offset + slope * high) * high * (1 - high) > 0:
        return high
    for _ in range(100):
        value = ones - mass * t + (offset + slope * t) * t * (1 - t)
        if value == 0:  # also where nothing depends on t: a cluster without objects or penalty stays
            return t
        low, high = (t, high) if value > 0 else (low, t)
        rise = -mass + (offset + slope * t) * (1 - 2 * t) + slope * t * (1 - t)
        following = t - value / rise if rise < 0 else low
        if not low < following < high:
            following = 0.5 * (low + high)
        if abs(following - t) < 1e-15:
            return following
        t = following
    return t


@njit(cache=True, inline="always")
def _move(ones, mass, theta, k, j, D, v, mean, own, shared):
    """Set theta_kj to its best value with all others held; v and their mean follow. Returns the old value."""
    t, n_clusters = theta[k, j], theta.shape[0]
    here = common = square = 0.0
    for z in range(D.shape[1]):
        here += D[j, z] * v[k, z]
        common += D[j, z] * mean[z]
        square += D[j, z] * D[j, z]
    slope = (shared / n_clusters - own) * square
    theta[k, j] = best_probability(ones, mass, shared * common - own * here - slope * t, slope, t)
    for z in range(D.shape[1]):
        v[k, z] += D[j, z] * (theta[k, j] - t)
        mean[z] += D[j, z] * (theta[k, j] - t) / n_clusters
    return t


@njit(cache=True, fastmath=FAST, inline="always")
def _weigh(scores, shares, totals, i):
    """Shares exp(scores - largest) of object i and their sum; the largest score is taken off all of them."""
    top = scores[0, i]
    for k in range(1, scores.shape[0]):
        top = max(top, scores[k, i])
    totals[i] = 0.0
    for k in range(scores.shape[0]):
        scores[k, i] -= top
        shares[k, i] = np.exp(scores[k, i])
        totals[i] += shares[k, i]


@njit(cache=True, fastmath=FAST)
def expect(columns, theta, temperature, scores, shares, totals):
    """Expectation: shares over totals are p(y_i | k)^(1/T) / sum, the probabilities of equally likely clusters."""
    scores[:] = np.dot(np.log(theta / (1 - theta)), columns)
    for k in range(len(theta)):
        scores[k] = (scores[k] + np.log1p(-theta[k]).sum()) / temperature
    for i in range(columns.shape[1]):
        _weigh(scores, shares, totals, i)


@njit(cache=True, fastmath=FAST)
def batch_sweep(columns, theta, D, v, mean, own, shared, temperature, scores, shares, totals):
    """One expectation, then every theta_kj in turn with the probabilities held. Neither lowers the objective."""
    expect(columns, theta, temperature, scores, shares, totals)
    shares /= totals
    ones, mass = np.dot(shares, columns.T), shares.sum(axis=1)
    for k in range(theta.shape[0]):
        for j in range(theta.shape[1]):
            _move(ones[k, j], mass[k], theta, k, j, D, v, mean, own, shared)


@njit(cache=True, fastmath=FAST)
def partial_sweep(columns, theta, D, v, mean, own, shared, temperature, scores, shares, totals):
    """Every theta_kj in turn, with an expectation after each.

    A step of theta_kj multiplies the shares of cluster k by one of two factors, of objects with and without feature j:
    no logarithm or exponential of an object is taken again, but where its shares have grown too small or too large.
    """
    expect(columns, theta, temperature, scores, shares, totals)
    n_clusters, n_objects = scores.shape
    for j in range(theta.shape[1]):
        for k in range(n_clusters):
            ones = mass = 0.0
            for i in range(n_objects):
                share = shares[k, i] / totals[i]
                mass += share
                ones += share * columns[j, i]
            t = _move(ones, mass, theta, k, j, D, v, mean, own, shared)
            off = np.log((1 - theta[k, j]) / (1 - t)) / temperature
            more = np.log(theta[k, j] / t) / temperature - off
            factor, factor_on = np.exp(off), np.exp(off + more)
            for i in range(n_objects):
                scores[k, i] += off + more * columns[j, i]
                shares[k, i] *= factor_on if columns[j, i] > 0 else factor
            totals[:] = shares[0]
            for other in range(1, n_clusters):
                totals += shares[other]
            for i in range(n_objects):
                if shares[k, i] < 1e-200 or not 1e-100 < totals[i] < 1e100:
                    _weigh(scores, shares, totals, i)


@njit(cache=True)
def settle(columns, theta, D, r, own, shared, temperature, partial, tolerance, most_sweeps):
    """Sweeps until no theta moves by `tolerance`; theta (K, M) is overwritten.

    Returns
    -------
    sweeps : int
    settled : bool
    """
    scores = np.empty((theta.shape[0], columns.shape[1]))
    shares, totals = np.empty_like(scores), np.empty(columns.shape[1])
    for sweep in range(1, most_sweeps + 1):
        before, v = theta.copy(), np.dot(theta, D) + r
        mean = v.sum(axis=0) / len(v)
        if partial:
            partial_sweep(columns, theta, D, v, mean, own, shared, temperature, scores, shares, totals)
        else:
            batch_sweep(columns, theta, D, v, mean, own, shared, temperature, scores, shares, totals)
        if np.abs(theta - before).max() < tolerance:
            return sweep, True
    return most_sweeps, False
