"""Costs, weights and sums over all K^N assignments, written out plainly: what the fast code is tested against."""

import itertools

import numpy as np

from gencap.kernels.similarity import ASSOCIATION, QUADRATIC


def assignments(n_objects, n_clusters):
    """All K^N labelings, shape (K^N, N)."""
    return np.array(list(itertools.product(range(n_clusters), repeat=n_objects)))


def random_similarity(n_objects, rng, positive=False, diagonal=True, dtype=np.float64):
    X = rng.random((n_objects, n_objects)) + 0.1 if positive else rng.standard_normal((n_objects, n_objects))
    X = (X + X.T) / 2
    if not diagonal:
        np.fill_diagonal(X, 0.0)
    return X.astype(dtype)


def correlation_cost(labels, X, shift=0.0):
    """Weight of disagreement, pair by pair."""
    cost = 0.0
    for i, j in itertools.combinations(range(len(labels)), 2):
        weight = X[i, j] + shift
        cost += max(-weight, 0) if labels[i] == labels[j] else max(weight, 0)
    return cost


def cut_cost(labels, X):
    return sum(X[i, j] for i, j in itertools.combinations(range(len(labels)), 2) if labels[i] != labels[j])


def coclustering(labelings, weights):
    """Probability that i and j share a cluster, for labelings (M, N) of the given weights (M,)."""
    same = labelings[:, :, None] == labelings[:, None, :]
    return np.tensordot(weights / weights.sum(), same, 1)


def plug_in_cost(Q, X, rule, weights):
    """The cost of `rule` with assignment probabilities in the place of assignments; X has a diagonal if it counts."""
    links = Q.T @ X @ Q
    size = weights @ Q
    if rule.kind == QUADRATIC:
        overlap = Q @ Q.T
        return -rule.scale * np.triu((X + rule.shift) * overlap, 1).sum()
    if rule.kind == ASSOCIATION:
        return -rule.scale * sum(links[k, k] / size[k] for k in range(len(size)) if size[k] > 0)
    cost, e = 0.0, 1 / (rule.p - 1) if rule.p > 1 else np.inf
    for k, v in itertools.combinations(range(len(size)), 2):
        if size[k] > 0 and size[v] > 0:
            if rule.p == 1:
                cost += links[k, v] / min(size[k], size[v])
            else:
                cost += links[k, v] * (size[k] ** -e + size[v] ** -e) ** (rule.p - 1)
    return cost


def hardened_costs(Q, i, X, rule, weights):
    """Cost with row i put into each cluster in turn, shape (K,): the potentials up to a constant."""
    costs = []
    for k in range(Q.shape[1]):
        hard = Q.copy()
        hard[i] = np.eye(Q.shape[1])[k]
        costs.append(plug_in_cost(hard, X, rule, weights))
    return np.array(costs)


def boltzmann(costs, beta):
    """Probabilities proportional to exp(-beta cost)."""
    weights = np.exp(-beta * (costs - costs.min()))
    return weights / weights.sum()


def plain_sweep(Q, order, beta, X, rule, weights):
    """One asynchronous mean-field sweep straight from the plug-in cost; returns the new Q."""
    Q = Q.copy()
    for i in order:
        Q[i] = boltzmann(hardened_costs(Q, i, X, rule, weights), beta)
    return Q


def valley(n_clusters, rng, strength=4.0, tie=0.7):
    """Two triples bound so tightly that they never break, then two loose objects: X (8, 8) and the valley's labelings.

    A model with interchangeable clusters has the exact marginals 1/K. With the triples in clusters 0 and 1 a chain
    stays in one of the K! copies of the ground state, of which it then can be compared with a sum over all labelings.
    """
    group = np.array([0, 0, 0, 1, 1, 1, 2, 2])
    X = np.where(group[:, None] == group, strength, -strength)
    X[6:] = X[:, 6:] = 0.0
    X[6:, :6] = 0.3 * rng.standard_normal((2, 6))
    X[:6, 6:] = X[6:, :6].T
    X[6, 7] = X[7, 6] = tie
    np.fill_diagonal(X, 0.0)
    labelings = assignments(8, n_clusters)
    return X, labelings[(labelings[:, 0] == 0) & (labelings[:, 3] == 1)]


def expected_potentials(labelings, weights, X, rule, object_weights):
    """Mean and standard deviation (N, K) of the potentials of labelings (M, N), measured from cluster 0."""
    costs = np.array(
        [
            [hardened_costs(np.eye(np.max(labelings) + 1)[row], i, X, rule, object_weights) for i in range(len(X))]
            for row in labelings
        ]
    )
    costs -= costs[:, :, :1]
    mean = np.tensordot(weights, costs, 1)
    return mean, np.sqrt(np.tensordot(weights, (costs - mean) ** 2, 1))
