"""Loops of approximation set coding: counting codes, and receivers that compare approximation sets."""

import numpy as np
from numba import njit


@njit(cache=True)
def count_codes(weights, first, second, start, height, width):
    """Weight of all codes with every pair of total excess costs, as a table.

    `first`, `second` (n, K) hold non-negative integers, `weights` (n, K) the factor of every label. Entry (a, b) is
    `start` times the sum, over the codes of excess a in the first and b in the second problem, of their weights.
    """
    n_objects, n_clusters = first.shape
    table = np.zeros((height, width))
    table[0, 0] = start
    rows, columns = 1, 1
    for i in range(n_objects):
        extended = np.zeros((height, width))
        for k in range(n_clusters):
            down, right, weight = first[i, k], second[i, k], weights[i, k]
            for a in range(min(rows, height - down)):
                for b in range(min(columns, width - right)):
                    extended[a + down, b + right] += weight * table[a, b]
        rows = min(height, rows + first[i].max())
        columns = min(width, columns + second[i].max())
        table = extended
    return table


@njit(cache=True)
def _fill_images(low, high, transformation, powers, n_clusters, permute):
    """Numbers of all transformed codes, as a sum of two tables: over the first half of the objects, and the others.

    Object i goes to place transformation[i], or its label is shifted by transformation[i]; either way it adds its own
    term to the number of the code, so K^(n/2) sums per half replace n steps for every code.
    """
    half = transformation.size // 2
    low[0] = high[0] = 0
    for i in range(transformation.size):
        table, filled = (low, powers[i]) if i < half else (high, powers[i - half])
        for label in range(n_clusters - 1, -1, -1):  # label 0 overwrites the part that the others read: last
            if permute:
                term = label * powers[transformation[i]]
            else:
                moved = label + transformation[i]
                term = (moved - n_clusters if moved >= n_clusters else moved) * powers[i]
            for c in range(filled):
                table[label * filled + c] = table[c] + term


@njit(cache=True)
def _tables(n_objects, n_clusters):
    """Room for the two tables of `_fill_images`, and the powers of K."""
    powers = n_clusters ** np.arange(n_objects + 1)
    low, high = np.zeros(powers[n_objects // 2], np.int64), np.zeros(powers[n_objects - n_objects // 2], np.int64)
    return low, high, powers


@njit(cache=True)
def overlaps(sender, received, codebook, n_clusters, permute):
    """|tau_j(sender set) and received set| for every transformation of the codebook.

    `sender` (m,) lists the numbers of codes, `received` (K^n,) is a mask, `codebook` (M, n).
    """
    low, high, powers = _tables(codebook.shape[1], n_clusters)
    first_half, second_half = sender % low.size, sender // low.size
    scores = np.zeros(codebook.shape[0], dtype=np.int64)
    for j in range(codebook.shape[0]):
        _fill_images(low, high, codebook[j], powers, n_clusters, permute)
        for c in range(sender.size):
            scores[j] += received[low[first_half[c]] + high[second_half[c]]]
    return scores


@njit(cache=True)
def transmit(sender, receiver, codebooks, messages, n_clusters, permute):
    """`overlaps` for every message of every codebook (B, M, n) with what arrives when one of its messages is sent.

    `sender`, `receiver` list the numbers of the codes in both approximation sets, `messages` (B,) those sent.
    """
    scores = np.zeros(codebooks.shape[:2], dtype=np.int64)
    received = np.zeros(n_clusters ** codebooks.shape[2], dtype=np.bool_)
    low, high, powers = _tables(codebooks.shape[2], n_clusters)
    for b in range(len(codebooks)):
        received[:] = False
        _fill_images(low, high, codebooks[b, messages[b]], powers, n_clusters, permute)
        for c in receiver:
            received[low[c % low.size] + high[c // low.size]] = True
        scores[b] = overlaps(sender, received, codebooks[b], n_clusters, permute)
    return scores
