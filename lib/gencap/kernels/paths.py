"""Minimax path distances in Prim's join order."""

import numpy as np
from numba import njit


@njit(cache=True)
def join_order(D):
    """Order in which Prim's algorithm, started at object 0, joins the objects of the dense symmetric matrix D (N, N).

    Returns
    -------
    order : int64 (N,)
    weight : (N,)
        Length of the edge by which order[b] joined; weight[0] is 0.
    """
    n = D.shape[0]
    order = np.zeros(n, np.int64)
    weight = np.zeros(n, D.dtype)
    nearest = D[0].copy()
    outside = np.ones(n, np.bool_)
    outside[0] = False
    last = 0
    for b in range(1, n):
        best = -1
        for j in range(n):
            if outside[j]:
                if D[last, j] < nearest[j]:
                    nearest[j] = D[last, j]
                if best < 0 or nearest[j] < nearest[best]:
                    best = j
        order[b] = best
        weight[b] = nearest[best]
        outside[best] = False
        last = best
    return order, weight


@njit(cache=True)
def fill_paths(order, weight):
    """Minimax distances (N, N): positions a < b of the join order are max(weight[a+1..b]) apart.

    Everything that joined between a and b is reached through edges of at most that length, and the longest of these
    edges was the shortest one leaving a tree that held a and not b. One line in join order is carried from row to
    row; gathering from it, not scattering into the matrix, writes every row front to back.
    """
    n = order.size
    position = np.empty(n, np.int64)
    for b in range(n):
        position[order[b]] = b
    paths = np.empty((n, n), weight.dtype)
    line = np.zeros(n, weight.dtype)
    for b in range(n):
        for a in range(b):
            line[a] = max(line[a], weight[b])
        line[b] = 0
        longest = line[b]
        for a in range(b + 1, n):
            longest = max(longest, weight[a])
            line[a] = longest
        row = paths[order[b]]
        for j in range(n):
            row[j] = line[position[j]]
    return paths
