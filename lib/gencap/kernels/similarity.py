"""Sweeps over the objects of a similarity matrix, for every model whose potentials follow from the fields.

The field of object i is F_ik = sum_{j != i} X_ij q_jk.  Given the fields, the potentials need O(K) or O(K^2) work:

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

from . import FAST

QUADRATIC, ASSOCIATION, RATIO = 0, 1, 2
MEANFIELD, GIBBS, METROPOLIS = 0, 1, 2
EMPTY = 1e-4  # soft size (in objects) below which the own association of a cluster, O(size), is left out


@njit(cache=True, fastmath=FAST)
def ratio_factor(a, b, p):
    """(a^(-1/(p-1)) + b^(-1/(p-1)))^(p-1), by log-add-exp so that it neither over- nor underflows; p=1: 1/min."""
    if p <= 1.0 + 1e-9:
        return 1.0 / min(a, b)
    small = min(a, b)
    ratio = np.log(max(a, b) / small) / (p - 1.0)
    return np.exp((p - 1.0) * np.log1p(np.exp(-ratio))) / small


@njit(inline="always")
def _rows(n_clusters):
    """Work rows: field, old and new probabilities, potentials."""
    return np.empty(n_clusters), np.empty(n_clusters), np.empty(n_clusters), np.empty(n_clusters)


@njit(inline="always")
def _potentials(kind, field, old, weight, diagonal, size, links, shift, p, scale, h):
    n_clusters = size.shape[0]
    if kind == QUADRATIC:
        for k in range(n_clusters):
            h[k] = -scale * (field[k] + shift * (size[k] - old[k]))
    elif kind == ASSOCIATION:
        for k in range(n_clusters):
            others = size[k] - weight * old[k]
            own = links[k, k] - old[k] * (2.0 * field[k] + old[k] * diagonal)
            before = own / others if others > EMPTY * weight else 0.0
            h[k] = -scale * ((own + 2.0 * field[k] + diagonal) / (others + weight) - before)
    else:
        for k in range(n_clusters):
            h[k] = 0.0
        for k in range(n_clusters):
            size_k = size[k] - old[k]
            for v in range(k + 1, n_clusters):
                size_v = size[v] - old[v]
                cut = links[k, v] - old[k] * field[v] - old[v] * field[k]
                before = 0.0
                if size_k > 1e-12 and size_v > 1e-12:
                    before = cut * ratio_factor(size_k, size_v, p)
                if size_v > 1e-12:
                    h[k] += (cut + field[v]) * ratio_factor(size_k + 1.0, size_v, p) - before
                if size_k > 1e-12:
                    h[v] += (cut + field[k]) * ratio_factor(size_k, size_v + 1.0, p) - before


@njit(inline="always")
def _keep_last(old, weight, size, h):
    """Bind a row to its cluster if it is the only one there: normalised cuts are costs of non-empty clusters."""
    for k in range(size.shape[0]):
        if old[k] > 0.5 and size[k] - weight * old[k] < EMPTY * weight:
            h[k] = -1e30


@njit(inline="always")
def _decide(mode, beta, h, old, floor, rng, new):
    """Fill `new` with the row's next assignment probabilities (a one-hot row for the samplers)."""
    n_clusters = h.shape[0]
    if mode == METROPOLIS:
        current = 0
        for k in range(n_clusters):
            if old[k] > old[current]:
                current = k
        offered = int(rng.random() * n_clusters)
        rise = beta * (h[offered] - h[current])
        chosen = offered if rise <= 0.0 or rng.random() < np.exp(-rise) else current
        for k in range(n_clusters):
            new[k] = 1.0 if k == chosen else 0.0
        return
    lowest = h[0]
    for k in range(1, n_clusters):
        lowest = min(lowest, h[k])
    total = 0.0
    for k in range(n_clusters):
        rise = beta * (h[k] - lowest)
        new[k] = np.exp(-rise) if rise < 87.0 else 0.0  # beyond, float32 holds a zero
        total += new[k]
    if mode == GIBBS:
        level = rng.random() * total
        chosen = -1
        for k in range(n_clusters):
            level -= new[k]
            if chosen < 0 and level < 0.0:
                chosen = k
        if chosen < 0:  # rounding left nothing of the level: the best cluster is as good as any
            chosen = np.argmin(h)
        for k in range(n_clusters):
            new[k] = 1.0 if k == chosen else 0.0
    else:
        inverse = 1.0 / total
        for k in range(n_clusters):
            new[k] *= inverse
        if floor > 0.0:
            total = 0.0
            for k in range(n_clusters):
                new[k] = max(new[k], floor)
                total += new[k]
            for k in range(n_clusters):
                new[k] /= total


@njit(inline="always")
def _book(kind, field, old, new, weight, diagonal, size, links):
    """Bring the sizes and links of the clusters up to date with the change of one row."""
    n_clusters = size.shape[0]
    for k in range(n_clusters):
        size[k] += weight * (new[k] - old[k])
    if kind == ASSOCIATION:
        for k in range(n_clusters):
            links[k, k] += (new[k] - old[k]) * (2.0 * field[k] + (new[k] + old[k]) * diagonal)
    elif kind == RATIO:
        for k in range(n_clusters):
            for v in range(k + 1, n_clusters):
                links[k, v] += (new[k] - old[k]) * field[v] + (new[v] - old[v]) * field[k]


@njit(cache=True, fastmath=FAST)
def _add_row(F, k, X, i, step):
    for j in range(X.shape[0]):
        F[k, j] += step * X[i, j]


@njit(cache=True, fastmath=FAST)
def incremental_sweep(
    X, self_similarity, Q, F, order, kind, mode, beta, shift, p, scale, floor, skip, weights, use_diagonal,
    size, links, total, rng,
):  # fmt: skip
    """One sweep with stored fields: a row costs O(K) when it does not move, O(N) per cluster when it does.

    Parameters
    ----------
    X : (N, N) symmetric; self_similarity : (N,), its diagonal, close together where X[i, i] would miss the cache.
    Q : (K, N) assignment probabilities; F : (K, N) = Q X; both are kept up to date.
    order : (M,) int, the rows to visit.
    floor : float, smallest assignment probability in mean field; above 0, the samplers never empty a cluster.
    skip : float, a row whose probabilities change by at most this is left as it is.
    weights : (N,) object weights; size : (K,) = Q weights; links : (K, K), upper triangle.
    use_diagonal : bool, whether self-similarities count.
    total : (N, K) or (0, 0), to which the potentials are added.

    Returns
    -------
    moved : float, mean over the visited rows of the largest change of a probability.
    """
    n_clusters = size.shape[0]
    field, old, new, h = _rows(n_clusters)
    moved = 0.0
    for i in order:
        for k in range(n_clusters):
            old[k] = Q[k, i]
            field[k] = F[k, i] - self_similarity[i] * old[k]
        diagonal = self_similarity[i] if use_diagonal else 0.0
        _potentials(kind, field, old, weights[i], diagonal, size, links, shift, p, scale, h)
        if total.shape[0] > 0:
            for k in range(n_clusters):
                total[i, k] += h[k]
        if floor > 0.0 and mode != MEANFIELD:
            _keep_last(old, weights[i], size, h)
        _decide(mode, beta, h, old, floor, rng, new)
        change = 0.0
        for k in range(n_clusters):
            change = max(change, abs(new[k] - old[k]))
        moved += change
        if change <= skip:
            continue
        for k in range(n_clusters):
            before = Q[k, i]
            Q[k, i] = new[k]
            step = Q[k, i] - before
            new[k] = Q[k, i]  # as stored, so that fields and books follow the same number
            if step != 0:
                _add_row(F, k, X, i, step)
        _book(kind, field, old, new, weights[i], diagonal, size, links)
    return moved / max(order.shape[0], 1)


@njit(cache=True, fastmath=FAST)
def sparse_sweep(
    indptr, indices, values, Q, order, kind, mode, beta, shift, p, scale, floor, skip, weights, use_diagonal,
    size, links, total, rng,
):  # fmt: skip
    """`incremental_sweep` for a CSR matrix: fields are gathered from the neighbours, Q is (N, K).

    The shift is never written into the matrix: it acts through the column sums, so the cost of a row stays
    proportional to its number of neighbours.
    """
    n_clusters = size.shape[0]
    field, old, new, h = _rows(n_clusters)
    moved = 0.0
    for i in order:
        diagonal = 0.0
        for k in range(n_clusters):
            old[k] = Q[i, k]
            field[k] = 0.0
        for e in range(indptr[i], indptr[i + 1]):
            j = indices[e]
            if j == i:
                diagonal = values[e] if use_diagonal else 0.0
                continue
            for k in range(n_clusters):
                field[k] += values[e] * Q[j, k]
        _potentials(kind, field, old, weights[i], diagonal, size, links, shift, p, scale, h)
        if total.shape[0] > 0:
            for k in range(n_clusters):
                total[i, k] += h[k]
        if floor > 0.0 and mode != MEANFIELD:
            _keep_last(old, weights[i], size, h)
        _decide(mode, beta, h, old, floor, rng, new)
        change = 0.0
        for k in range(n_clusters):
            change = max(change, abs(new[k] - old[k]))
        moved += change
        if change > skip:
            for k in range(n_clusters):
                Q[i, k] = new[k]
                new[k] = Q[i, k]
            _book(kind, field, old, new, weights[i], diagonal, size, links)
    return moved / max(order.shape[0], 1)


@njit(cache=True, fastmath=FAST)
def _four_rows_five_clusters(x0, x1, x2, x3, q0, q1, q2, q3, q4, fields, k):
    """fields[r, k + c] = x_r . q_c for four rows and five clusters: twenty sums that stay in registers."""
    zero = np.float32(0)
    a0 = a1 = a2 = a3 = a4 = b0 = b1 = b2 = b3 = b4 = zero
    c0 = c1 = c2 = c3 = c4 = d0 = d1 = d2 = d3 = d4 = zero
    for j in range(x0.shape[0]):
        u, v, w, z = x0[j], x1[j], x2[j], x3[j]
        q = q0[j]
        a0 += u * q
        b0 += v * q
        c0 += w * q
        d0 += z * q
        q = q1[j]
        a1 += u * q
        b1 += v * q
        c1 += w * q
        d1 += z * q
        q = q2[j]
        a2 += u * q
        b2 += v * q
        c2 += w * q
        d2 += z * q
        q = q3[j]
        a3 += u * q
        b3 += v * q
        c3 += w * q
        d3 += z * q
        q = q4[j]
        a4 += u * q
        b4 += v * q
        c4 += w * q
        d4 += z * q
    fields[0, k], fields[1, k], fields[2, k], fields[3, k] = a0, b0, c0, d0
    fields[0, k + 1], fields[1, k + 1], fields[2, k + 1], fields[3, k + 1] = a1, b1, c1, d1
    fields[0, k + 2], fields[1, k + 2], fields[2, k + 2], fields[3, k + 2] = a2, b2, c2, d2
    fields[0, k + 3], fields[1, k + 3], fields[2, k + 3], fields[3, k + 3] = a3, b3, c3, d3
    fields[0, k + 4], fields[1, k + 4], fields[2, k + 4], fields[3, k + 4] = a4, b4, c4, d4


@njit(cache=True, fastmath=FAST)
def fresh_sweep(X, self_similarity, Q, order, beta, shift, scale, floor, size, rng):
    """One mean-field sweep of a quadratic model with fields computed on the way; about two passes over X at K=10.

    Four rows share each reading of Q; inside a group of four, later rows are corrected by X_ab dq_a, so the result
    is that of visiting the rows one by one.

    Parameters
    ----------
    X : (N, N); Q : (max(K, 5), N), rows from K on are zero; size : (K,), column sums of the probabilities.

    Returns
    -------
    moved : float, mean over the rows of the largest change of a probability.
    """
    n_clusters, n_objects = size.shape[0], X.shape[0]
    old, new, h, field = np.empty(n_clusters), np.empty(n_clusters), np.empty(n_clusters), np.empty(n_clusters)
    fields = np.zeros((4, Q.shape[0]))
    links = np.empty((0, 0))
    rows = np.empty(4, np.int64)
    moved = 0.0
    for start in range(0, n_objects, 4):
        count = min(4, n_objects - start)
        for r in range(4):
            rows[r] = order[start + min(r, count - 1)]
        x0, x1, x2, x3 = X[rows[0]], X[rows[1]], X[rows[2]], X[rows[3]]
        first = 0
        while first < n_clusters:
            k = max(0, min(first, Q.shape[0] - 5))  # the last block overlaps the one before it
            _four_rows_five_clusters(x0, x1, x2, x3, Q[k], Q[k + 1], Q[k + 2], Q[k + 3], Q[k + 4], fields, k)
            first += 5
        for r in range(count):
            i = rows[r]
            for k in range(n_clusters):
                old[k] = Q[k, i]
                field[k] = fields[r, k] - self_similarity[i] * old[k]
            _potentials(QUADRATIC, field, old, 1.0, 0.0, size, links, shift, 0.0, scale, h)
            _decide(MEANFIELD, beta, h, old, floor, rng, new)
            change = 0.0
            for k in range(n_clusters):
                Q[k, i] = new[k]
                step = new[k] - old[k]
                change = max(change, abs(step))
                size[k] += step
                h[k] = step
            for later in range(r + 1, count):
                similarity = np.float64(X[rows[later], i])
                for k in range(n_clusters):
                    fields[later, k] += similarity * h[k]
            moved += change
    return moved / n_objects


@njit(cache=True, fastmath=FAST)
def cluster_links(X, labels, n_clusters):
    """Sums of similarities between clusters, in double precision and without the diagonal.

    Returns
    -------
    links : (K, K), links[k, l] = sum over i in k, j in l, i != j of X_ij
    diagonal : (K,), sum over i in k of X_ii
    """
    links, diagonal = np.zeros((n_clusters, n_clusters)), np.zeros(n_clusters)
    row = np.empty(n_clusters)
    for i in range(X.shape[0]):
        row[:] = 0.0
        for j in range(X.shape[0]):
            row[labels[j]] += X[i, j]
        row[labels[i]] -= X[i, i]
        diagonal[labels[i]] += X[i, i]
        for k in range(n_clusters):
            links[labels[i], k] += row[k]
    return links, diagonal


@njit(cache=True, fastmath=FAST)
def positive_pairs(X, shift):
    """Sum over unordered pairs i < j of max(X_ij + shift, 0), without a second matrix."""
    total = 0.0
    for i in range(X.shape[0]):
        for j in range(i + 1, X.shape[0]):
            total += max(X[i, j] + shift, 0.0)
    return total
