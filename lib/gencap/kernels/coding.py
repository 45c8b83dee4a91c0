"""Loops of approximation set coding: counting codes, and receivers that compare approximation sets."""

import numpy as np
from numba import njit


@njit(cache=True)
def count_codes(first, second, height, width):
    """Number of codes with every pair of total excess costs, as a table in floating point.

    `first`, `second` (n, K) hold non-negative integers. Entry (a, b) is K^(-n/2) times the number of codes of total
    excess a in the first and b in the second problem: with this factor 2^1024 codes still fit into a float.
    """
    n_objects, n_clusters = first.shape
    scale = 1.0 / np.sqrt(n_clusters)
    table = np.zeros((height, width))
    table[0, 0] = 1.0
    rows, columns = 1, 1
    for i in range(n_objects):
        extended = np.zeros((height, width))
        for k in range(n_clusters):
            down, right = first[i, k], second[i, k]
            for a in range(min(rows, height - down)):
                for b in range(min(columns, width - right)):
                    extended[a + down, b + right] += scale * table[a, b]
        rows = min(height, rows + first[i].max())
        columns = min(width, columns + second[i].max())
        table = extended
    return table


@njit(cache=True)
def transformed_index(code, transformation, powers, n_clusters, permute):
    """Index of a transformed code: object i goes to place transformation[i], or its label is shifted by it."""
    index = 0
    for i in range(code.size):
        if permute:
            index += code[i] * powers[transformation[i]]
        else:
            label = code[i] + transformation[i]
            index += (label - n_clusters if label >= n_clusters else label) * powers[i]  # cheaper than a modulo
    return index


@njit(cache=True)
def overlaps(sender, received, codebook, powers, n_clusters, permute):
    """|tau_j(sender set) and received set| for every transformation of the codebook.

    `sender` (m, n) lists codes, `received` (K^n,) is a mask, `codebook` (M, n).
    """
    scores = np.zeros(codebook.shape[0], dtype=np.int64)
    for j in range(codebook.shape[0]):
        for c in range(sender.shape[0]):
            scores[j] += received[transformed_index(sender[c], codebook[j], powers, n_clusters, permute)]
    return scores


@njit(cache=True)
def transmit(sender, receiver, codebooks, messages, powers, n_clusters, permute):
    """Send one message per codebook; what the receiver's scores say about it.

    Returns
    -------
    own : (B,) overlap of the message that was sent
    above, ties : (B,) number of other messages with a larger, with the same overlap
    others : (B,) sum of the overlaps of the other messages
    """
    n_codebooks, n_messages, n_objects = codebooks.shape
    n_codes = n_clusters**n_objects
    own = np.zeros(n_codebooks, dtype=np.int64)
    above, ties, others = np.zeros_like(own), np.zeros_like(own), np.zeros_like(own)
    received = np.zeros(n_codes, dtype=np.bool_)
    for b in range(n_codebooks):
        sent = messages[b]
        received[:] = False
        for c in range(receiver.shape[0]):
            received[transformed_index(receiver[c], codebooks[b, sent], powers, n_clusters, permute)] = True
        scores = overlaps(sender, received, codebooks[b], powers, n_clusters, permute)
        own[b] = scores[sent]
        others[b] = scores.sum() - scores[sent]
        for j in range(n_messages):
            above[b] += scores[j] > scores[sent]
            ties[b] += j != sent and scores[j] == scores[sent]
    return own, above, ties, others
