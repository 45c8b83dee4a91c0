"""Sweeps over the objects of a similarity matrix, for every model whose potentials follow from the fields.

The field of object i is F_ik = sum_{j != i} X_ij q_jk.  Self-similarities X_ii count in ASSOCIATION only, and there in
pairwise clustering only; all other matrices come with a zero diagonal.  Given the fields, the potentials need O(K) or
O(K^2) work:

* QUADRATIC (correlation clustering, cuts): h_ik = -scale (F_ik + shift (C_k - q_ik)), C = column
  sums of q, scale = -1 to maximise a cut;
* ASSOCIATION (pairwise clustering, normalised cut): the change of -scale sum_u L_uu / S_u when object i, taken out
  of all clusters, enters cluster k; L_uu = sum_ij q_iu q_ju X_ij, S_u = sum_i w_i q_iu;
* RATIO (adaptive ratio cut): the change of sum_{u<v} L_uv (n_u^(-1/(p-1)) + n_v^(-1/(p-1)))^(p-1).

The three differ from the cost with i assigned to k only by a constant that does not depend on k.

`mode` decides what becomes of the potentials: MEANFIELD takes the softmax, GIBBS draws a cluster from it, METROPOLIS
offers a random cluster and accepts it by the Metropolis rule.  Rows are visited one after the other and every
change is seen by the next row (asynchronous), which converges where a synchronous sweep oscillates.
"""

import numpy as np
from numba import njit

# Plain fastmath lets the compiler drop NaN and inf checks; these flags are as fast and keep them.
FAST = {"reassoc", "contract", "arcp", "nsz", "afn"}
QUADRATIC, ASSOCIATION, RATIO = 0, 1, 2
MEANFIELD, GIBBS, METROPOLIS = 0, 1, 2
OLD, NEW, FIELD, H = 0, 1, 2, 3  # rows of a kernel's work array; one array, because each one costs reference counts
ENTRY = 1e-3  # of `skip`: smaller changes of one entry are left out of a row that moves
EMPTY = 1e-4  # soft size (in objects) below which the own association of a cluster, O(size), is left out


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


@njit(cache=True, fastmath=FAST)
def ratio_factor(a, b, p):
    """(a^(-1/(p-1)) + b^(-1/(p-1)))^(p-1), by log-add-exp so that it neither over- nor underflows; p=1: 1/min."""
    if p <= 1.0 + 1e-9:
        return 1.0 / min(a, b)
    small = min(a, b)
    ratio = np.log(max(a, b) / small) / (p - 1.0)
    return np.exp((p - 1.0) * np.log1p(np.exp(-ratio))) / small


@njit(inline="always")
def _work(n_clusters):
    """Work array of a kernel; four columns at a time are one vector, and clusters that do not exist cost too much."""
    row = np.zeros((4, (n_clusters + 3) // 4 * 4))
    row[H, n_clusters:] = np.inf
    return row


@njit(inline="always")
def _potentials(kind, row, weight, diagonal, size, count, links, shift, p, scale):
    """Fill row[H] from row[OLD] and row[FIELD]."""
    n_clusters = size.shape[0]
    if kind == QUADRATIC:
        for k in range(n_clusters):
            row[H, k] = -scale * (row[FIELD, k] + shift * (size[k] - row[OLD, k]))
    elif kind == ASSOCIATION:
        for k in range(n_clusters):
            others = size[k] - weight * row[OLD, k]
            own = links[k, k] - row[OLD, k] * (2.0 * row[FIELD, k] + row[OLD, k] * diagonal)
            before = own / others if count[k] - row[OLD, k] > EMPTY else 0.0
            row[H, k] = -scale * ((own + 2.0 * row[FIELD, k] + diagonal) / (others + weight) - before)
    else:
        for k in range(n_clusters):
            row[H, k] = 0.0
        for k in range(n_clusters):
            size_k = size[k] - row[OLD, k]
            for v in range(k + 1, n_clusters):
                size_v = size[v] - row[OLD, v]
                cut = links[k, v] - row[OLD, k] * row[FIELD, v] - row[OLD, v] * row[FIELD, k]
                before = 0.0
                if size_k > 1e-12 and size_v > 1e-12:
                    before = cut * ratio_factor(size_k, size_v, p)
                if size_v > 1e-12:
                    row[H, k] += (cut + row[FIELD, v]) * ratio_factor(size_k + 1.0, size_v, p) - before
                if size_k > 1e-12:
                    row[H, v] += (cut + row[FIELD, k]) * ratio_factor(size_k, size_v + 1.0, p) - before


@njit(inline="always")
def _decide(mode, beta, row, n_clusters, floor, count, draws, visit):
    """Fill row[NEW] with the next assignment probabilities (a one-hot row for the samplers); return their change."""
    if floor > 0.0 and mode != MEANFIELD:
        # A row that is alone in its cluster stays there: normalised cuts are costs of non-empty clusters.
        for k in range(n_clusters):
            if row[OLD, k] > 0.5 and count[k] - row[OLD, k] < EMPTY:
                for other in range(n_clusters):
                    if other != k:
                        row[H, other] = np.inf
    chosen, mass = 0, 0.0
    if mode == METROPOLIS:
        for k in range(n_clusters):
            if row[OLD, k] > row[OLD, chosen]:
                chosen = k
        offered = int(draws[2 * visit] * n_clusters)
        rise = beta * (row[H, offered] - row[H, chosen])
        if rise <= 0.0 or draws[2 * visit + 1] < np.exp(-rise):
            chosen = offered
    else:
        lowest = row[H, 0]
        for k in range(1, n_clusters):
            lowest = min(lowest, row[H, k])
        for k in range(row.shape[1]):
            row[NEW, k] = exp_negative(-beta * (row[H, k] - lowest))
            mass += row[NEW, k]
        if mode == GIBBS:
            level = draws[visit] * mass
            while chosen < n_clusters - 1 and level >= row[NEW, chosen]:
                level -= row[NEW, chosen]
                chosen += 1
    if mode != MEANFIELD:
        for k in range(n_clusters):
            row[NEW, k] = 0.0
        row[NEW, chosen] = mass = 1.0
    elif floor > 0.0:
        inverse, mass = 1.0 / mass, 0.0
        for k in range(n_clusters):
            row[NEW, k] = max(row[NEW, k] * inverse, floor)
            mass += row[NEW, k]
    inverse, change = 1.0 / mass, 0.0
    for k in range(n_clusters):
        row[NEW, k] *= inverse
        change = max(change, abs(row[NEW, k] - row[OLD, k]))
    return change


@njit(inline="always")
def _book(kind, row, weight, diagonal, size, count, links):
    """Bring the sizes and links of the clusters up to date with the change of one row."""
    n_clusters = size.shape[0]
    for k in range(n_clusters):
        size[k] += weight * (row[NEW, k] - row[OLD, k])
        count[k] += row[NEW, k] - row[OLD, k]
    if kind == ASSOCIATION:
        for k in range(n_clusters):
            old, new = row[OLD, k], row[NEW, k]
            links[k, k] += (new - old) * (2.0 * row[FIELD, k] + (new + old) * diagonal)
    elif kind == RATIO:
        for k in range(n_clusters):
            for v in range(k + 1, n_clusters):
                links[k, v] += (row[NEW, k] - row[OLD, k]) * row[FIELD, v] + (row[NEW, v] - row[OLD, v]) * row[FIELD, k]


@njit(cache=True, fastmath=FAST)
def _add_row(F, k, X, i, step):
    for j in range(X.shape[0]):
        F[k, j] += step * X[i, j]


@njit(cache=True, fastmath=FAST)
def incremental_sweep(X, self_similarity, Q, F, order, kind, mode, beta, shift, p, scale, floor, skip, weights, size,
                      count, links, total, draws):  # fmt: skip
    """One sweep with stored fields: a row costs O(K) when it does not move, O(N) per cluster when it does.

    Parameters
    ----------
    X : (N, N) symmetric; self_similarity : (N,), its diagonal, close together where X[i, i] would miss the cache.
    Q : (K, N) assignment probabilities; F : (K, N) = Q X; both are kept up to date.
    order : (M,) int, the rows to visit.
    floor : float, smallest assignment probability in mean field; above 0, the samplers never empty a cluster.
    skip : float, a row whose probabilities change by at most this is left as it is.
    weights : (N,) object weights; size : (K,) = Q weights; count : (K,), row sums of Q; links : (K, K), upper triangle.
    total : (N, K) or (0, 0), to which the potentials are added.
    draws : random numbers in [0, 1), one for each visited row for GIBBS, two for METROPOLIS; numba takes an array many
        times faster than a generator.

    Returns
    -------
    moved : float, mean over the visited rows of the largest change of a probability; a skipped row counts 0.
    """
    n_clusters = size.shape[0]
    row = _work(n_clusters)
    moved = 0.0
    for visit in range(order.shape[0]):
        i = order[visit]
        own = self_similarity[i]
        for k in range(n_clusters):
            row[OLD, k] = Q[k, i]
            row[FIELD, k] = F[k, i] - own * row[OLD, k]
        if kind == QUADRATIC:
            for k in range(n_clusters):
                row[H, k] = -scale * (row[FIELD, k] + shift * (size[k] - row[OLD, k]))
        else:
            _potentials(kind, row, weights[i], own, size, count, links, shift, p, scale)
        if total.shape[0] > 0:
            for k in range(n_clusters):
                total[i, k] += row[H, k]
        if floor > 0.0 or mode == METROPOLIS:
            change = _decide(mode, beta, row, n_clusters, floor, count, draws, visit)
        else:
            # `_decide` written out: this is the innermost loop, and arrays given to a function cost reference counts.
            lowest = row[H, 0]
            for k in range(1, n_clusters):
                lowest = min(lowest, row[H, k])
            mass = 0.0
            for k in range(row.shape[1]):
                row[NEW, k] = exp_negative(-beta * (row[H, k] - lowest))
                mass += row[NEW, k]
            if mode == GIBBS:
                level = draws[visit] * mass
                chosen = 0
                while chosen < n_clusters - 1 and level >= row[NEW, chosen]:
                    level -= row[NEW, chosen]
                    chosen += 1
                for k in range(n_clusters):
                    row[NEW, k] = 0.0
                row[NEW, chosen] = 1.0
                mass = 1.0
            inverse = 1.0 / mass
            change = 0.0
            for k in range(n_clusters):
                row[NEW, k] *= inverse
                change = max(change, abs(row[NEW, k] - row[OLD, k]))
        if change <= skip:
            continue
        moved += change
        for k in range(n_clusters):
            before = Q[k, i]
            if abs(row[NEW, k] - row[OLD, k]) > ENTRY * skip:
                Q[k, i] = row[NEW, k]
                _add_row(F, k, X, i, Q[k, i] - before)
            row[NEW, k] = Q[k, i]  # as stored, so that fields and books follow the same number
        _book(kind, row, weights[i], own, size, count, links)
    return moved / max(order.shape[0], 1)


@njit(cache=True, fastmath=FAST)
def sparse_sweep(indptr, indices, values, Q, order, kind, mode, beta, shift, p, scale, floor, skip, weights, size,
                 count, links, total, draws):  # fmt: skip
    """`incremental_sweep` for a CSR matrix: fields are gathered from the neighbours, Q is (N, K).

    The shift is never written into the matrix: it acts through the column sums, so the cost of a row stays
    proportional to its number of neighbours.
    """
    n_clusters = size.shape[0]
    row = _work(n_clusters)
    moved = 0.0
    for visit in range(order.shape[0]):
        i = order[visit]
        diagonal = 0.0
        for k in range(n_clusters):
            row[OLD, k] = Q[i, k]
            row[FIELD, k] = 0.0
        for e in range(indptr[i], indptr[i + 1]):
            j = indices[e]
            if j == i:
                diagonal = values[e]
                continue
            for k in range(n_clusters):
                row[FIELD, k] += values[e] * Q[j, k]
        _potentials(kind, row, weights[i], diagonal, size, count, links, shift, p, scale)
        if total.shape[0] > 0:
            for k in range(n_clusters):
                total[i, k] += row[H, k]
        change = _decide(mode, beta, row, n_clusters, floor, count, draws, visit)
        if change > skip:
            moved += change
            for k in range(n_clusters):
                Q[i, k] = row[NEW, k]
                row[NEW, k] = Q[i, k]
            _book(kind, row, weights[i], diagonal, size, count, links)
    return moved / max(order.shape[0], 1)


@njit(cache=True, fastmath=FAST)
def _four_rows(X, rows, Q, n_clusters, fields):
    """fields[r, k] = X[rows[r]] . Q[k] for four rows and the first `n_clusters` clusters, in blocks of five.

    The twenty sums of a block stay in registers.
    """
    x0, x1, x2, x3 = X[rows[0]], X[rows[1]], X[rows[2]], X[rows[3]]
    for first in range(0, n_clusters, 5):
        k = min(first, Q.shape[0] - 5)  # the last block may overlap the one before it
        q0, q1, q2, q3, q4 = Q[k], Q[k + 1], Q[k + 2], Q[k + 3], Q[k + 4]
        a0 = a1 = a2 = a3 = a4 = b0 = b1 = b2 = b3 = b4 = np.float32(0)
        c0 = c1 = c2 = c3 = c4 = d0 = d1 = d2 = d3 = d4 = np.float32(0)
        for j in range(x0.shape[0]):
            u, v, w, z = x0[j], x1[j], x2[j], x3[j]
            p, q, r, s, t = q0[j], q1[j], q2[j], q3[j], q4[j]
            a0, a1, a2, a3, a4 = a0 + u * p, a1 + u * q, a2 + u * r, a3 + u * s, a4 + u * t
            b0, b1, b2, b3, b4 = b0 + v * p, b1 + v * q, b2 + v * r, b3 + v * s, b4 + v * t
            c0, c1, c2, c3, c4 = c0 + w * p, c1 + w * q, c2 + w * r, c3 + w * s, c4 + w * t
            d0, d1, d2, d3, d4 = d0 + z * p, d1 + z * q, d2 + z * r, d3 + z * s, d4 + z * t
        fields[0, k], fields[0, k + 1], fields[0, k + 2], fields[0, k + 3], fields[0, k + 4] = a0, a1, a2, a3, a4
        fields[1, k], fields[1, k + 1], fields[1, k + 2], fields[1, k + 3], fields[1, k + 4] = b0, b1, b2, b3, b4
        fields[2, k], fields[2, k + 1], fields[2, k + 2], fields[2, k + 3], fields[2, k + 4] = c0, c1, c2, c3, c4
        fields[3, k], fields[3, k + 1], fields[3, k + 2], fields[3, k + 3], fields[3, k + 4] = d0, d1, d2, d3, d4


@njit(cache=True, fastmath=FAST)
def fill_fields(X, Q, F):
    """F = Q X for Q of few rows: a matrix product of a library would first copy all of X.

    Parameters
    ----------
    X : (N, N) symmetric; Q : (max(K, 5), N); F : (K, N), overwritten.
    """
    n_clusters, n_objects = F.shape
    fields = np.zeros((4, Q.shape[0]))
    rows = np.empty(4, np.int64)
    for start in range(0, n_objects, 4):
        for r in range(4):
            rows[r] = min(start + r, n_objects - 1)
        _four_rows(X, rows, Q, n_clusters, fields)
        for r in range(4):
            for k in range(n_clusters):
                F[k, rows[r]] = fields[r, k]


@njit(cache=True, fastmath=FAST)
def fresh_sweep(X, degree, Q, order, beta, shift, scale, size):
    """One mean-field sweep of a quadratic model with fields computed on the way; about two passes over X at K=10.

    Four rows share each reading of Q; inside a group of four, later rows are corrected by X_ab dq_a, so the result
    is that of visiting the rows one by one.

    Parameters
    ----------
    X : (N, N), its diagonal zero; degree : (N,), its row sums; Q : (max(K, 5), N), rows from K on are zero; size :
        (K,), column sums of the probabilities.

    Returns
    -------
    moved : float, mean over the rows of the largest change of a probability.
    """
    n_clusters, n_objects = size.shape[0], X.shape[0]
    row = _work(n_clusters)
    fields = np.zeros((4, max(Q.shape[0], row.shape[1])))
    rows = np.empty(4, np.int64)
    moved = 0.0
    for start in range(0, n_objects, 4):
        count = min(4, n_objects - start)
        for r in range(4):
            rows[r] = order[start + min(r, count - 1)]
        # A row's probabilities sum to 1, so the fields of all clusters sum to its degree: one of them comes for free.
        _four_rows(X, rows, Q, n_clusters - 1, fields)
        for r in range(count):
            last = degree[rows[r]]
            for k in range(n_clusters - 1):
                last -= fields[r, k]
            fields[r, n_clusters - 1] = last
        for r in range(count):
            i = rows[r]
            for k in range(n_clusters):
                old = np.float64(Q[k, i])
                row[OLD, k] = old
                row[H, k] = -scale * (fields[r, k] + shift * (size[k] - old))
            lowest = row[H, 0]
            for k in range(row.shape[1]):
                lowest = min(lowest, row[H, k])
            mass = 0.0
            for k in range(row.shape[1]):
                row[NEW, k] = exp_negative(-beta * (row[H, k] - lowest))
                mass += row[NEW, k]
            inverse = 1.0 / mass
            for k in range(n_clusters):
                Q[k, i] = row[NEW, k] * inverse
            change = 0.0
            for k in range(row.shape[1]):
                step = row[NEW, k] * inverse - row[OLD, k]
                change = max(change, abs(step))
                row[NEW, k] = step
            for k in range(n_clusters):
                size[k] += row[NEW, k]
            for later in range(r + 1, count):
                similarity = np.float64(X[rows[later], i])
                for k in range(row.shape[1]):
                    fields[later, k] += similarity * row[NEW, k]
            moved += change
    return moved / n_objects


@njit(cache=True, fastmath=FAST)
def cluster_links(X, labels, n_clusters):
    """Sums of similarities between clusters, in double precision: links[k, l] = sum over i in k, j in l of X_ij."""
    links = np.zeros((n_clusters, n_clusters))
    sums = np.zeros((n_clusters, X.shape[0]))  # of the rows of a cluster
    for i in range(X.shape[0]):
        _add_row(sums, labels[i], X, i, 1.0)
    for j in range(X.shape[0]):
        for k in range(n_clusters):
            links[k, labels[j]] += sums[k, j]
    return links


@njit(cache=True, fastmath=FAST)
def positive_pairs(X, shift):
    """Sum over unordered pairs i < j of max(X_ij + shift, 0), without a second matrix."""
    total = 0.0
    for i in range(X.shape[0]):
        for j in range(i + 1, X.shape[0]):
            total += max(X[i, j] + shift, 0.0)
    return total
