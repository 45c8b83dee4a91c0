"""Pairwise clustering against enumeration, k-means and the algebra of shifts."""

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import assignments, boltzmann, coclustering, hardened_costs, random_similarity
from scipy.special import entr, logsumexp
from sklearn.base import clone
from sklearn.cluster import KMeans

import gencap as gc
from gencap.models.similarity import State
from gencap.views.measures import constant_shift_embedding, squared_euclidean_distances


def association(labels, X, n_clusters):
    """000 Eq. 98, pair by pair."""
    cost = 0.0
    for k in range(n_clusters):
        members = [i for i in range(len(labels)) if labels[i] == k]
        cost -= sum(X[i, j] for i in members for j in members) / 2 / max(len(members), 1)
    return cost


def all_costs(labelings, X, n_clusters):
    """`association` of many labelings (M, N) at once."""
    Z = np.eye(n_clusters)[labelings]
    return -0.5 * (np.einsum("mik,ij,mjk->mk", Z, X, Z, optimize=True) / np.maximum(Z.sum(axis=1), 1)).sum(axis=1)


def squared_errors(labels, Y):
    return sum(((Y[labels == k] - Y[labels == k].mean(axis=0)) ** 2).sum() for k in np.unique(labels))


def state(X, n_clusters, seed=0):
    """The sweeps' state in double precision, with the rule of the estimator."""
    model = gc.PairwiseClustering(n_clusters)
    return State(X, model._rule(), model._weights(X), n_clusters, np.random.default_rng(seed))


@pytest.fixture(scope="module")
def four_sources():
    return gc.datasets.four_gaussians(1.0, 120, random_state=1)


@pytest.mark.parametrize("n_clusters", [1, 2, 3])
def test_cost_is_equation_98(n_clusters):
    rng = np.random.default_rng(0)
    X, model = random_similarity(8, rng), gc.PairwiseClustering(n_clusters)
    for labels in assignments(8, n_clusters)[::37]:
        assert model.cost(labels, X) == pytest.approx(association(labels, X, n_clusters), abs=1e-12)
        assert all_costs(labels[None], X, n_clusters)[0] == pytest.approx(association(labels, X, n_clusters), abs=1e-12)
        assert model.cost(labels, scipy.sparse.csr_array(X)) == pytest.approx(model.cost(labels, X), abs=1e-12)


@pytest.mark.parametrize("n_clusters", [2, 3])
def test_potentials_are_the_cost_with_one_row_hardened(n_clusters):
    rng = np.random.default_rng(1)
    X, Q = random_similarity(8, rng), rng.dirichlet(np.ones(n_clusters), 8)
    run, model = state(X, n_clusters), gc.PairwiseClustering(n_clusters)
    run.start(Q)
    h = run.potentials(1.0)
    for i in range(8):
        wanted = hardened_costs(Q, i, X, model._rule(), np.ones(8))
        np.testing.assert_allclose(h[i] - h[i, 0], wanted - wanted[0], atol=1e-12)


@pytest.mark.parametrize("n_clusters", [2, 3])
def test_mean_field_bounds_the_partition_sum(n_clusters):
    rng = np.random.default_rng(2)
    for beta in (0.3, 1.0, 3.0):
        X = random_similarity(8, rng)
        costs = all_costs(assignments(8, n_clusters), X, n_clusters)
        run = state(X, n_clusters)
        run.start(rng.dirichlet(np.ones(n_clusters), 8))
        run.relax(beta, 300)
        Q = run.Q.T
        weights = np.prod(Q[np.arange(8), assignments(8, n_clusters)], axis=1)
        bound = entr(Q).sum() - beta * weights @ costs
        assert bound <= logsumexp(-beta * costs) + 1e-9
        assert bound >= 8 * np.log(n_clusters) - beta * costs.mean() - 0.05  # as good as the uniform distribution


@pytest.mark.parametrize("n_clusters", [2, 3])
def test_gibbs_samples_the_boltzmann_distribution(n_clusters):
    X = random_similarity(8, np.random.default_rng(3))
    labelings = assignments(8, n_clusters)
    costs = all_costs(labelings, X, n_clusters)
    run, together = state(X, n_clusters), np.zeros((8, 8))
    run.start_labels(np.arange(8) % n_clusters)
    n_sweeps = 20000
    for _ in range(n_sweeps):
        run.sweep(gc.models.similarity.MODES["gibbs"], 1.0)
        together += run.Q.T @ run.Q
    assert np.abs(together / n_sweeps - coclustering(labelings, boltzmann(costs, 1.0))).max() < 0.01


def test_fit_finds_the_ground_state_of_small_graphs():
    for seed in range(50):
        X = random_similarity(8, np.random.default_rng(seed))
        n_clusters = 2 + seed % 2
        model = gc.PairwiseClustering(n_clusters, n_init=8, random_state=seed)
        best = all_costs(assignments(8, n_clusters), X, n_clusters).min()
        assert model.cost(model.fit(X).labels_, X) == pytest.approx(best, abs=1e-6)


def test_two_tight_groups_and_a_wide_one_cost_what_k_means_finds():
    """One temperature unit, that of the wide group, does not resolve the tight ones: cooling alone ends a third up."""
    for seed in range(3):
        rng = np.random.default_rng(seed)
        Z = rng.standard_normal((180, 2)) * np.repeat([[0.02], [0.02], [1.0]], 60, axis=0)
        Z += np.repeat([[0, 0], [0.3, 0], [12, 0]], 60, axis=0)
        wanted = KMeans(3, n_init=20, random_state=0).fit(Z).inertia_
        for model in (
            gc.PairwiseClustering(3, random_state=seed),
            gc.PairwiseClustering(3, n_init=1, random_state=seed),
        ):
            assert model.fit(-squared_euclidean_distances(Z)).trajectory_.costs[-1] <= 1.001 * wanted


def test_ground_state_of_groups_of_unequal_strength():
    labelings = assignments(9, 3)
    for seed in range(20):
        rng = np.random.default_rng(seed)
        group = rng.permutation(np.repeat(np.arange(3), (2, 3, 4)))
        X = random_similarity(9, rng) * np.where(group[:, None] == group, 10.0**-group, 0.01)
        X = X + X.T + np.where(group[:, None] == group, 3 * 10.0**-group, 0.0)
        run = gc.PairwiseClustering(3, n_init=8, random_state=seed).anneal(X)
        best = all_costs(labelings, X, 3).min()
        assert run.start_costs.min() == run.start_costs[-1] == pytest.approx(best, rel=1e-5)


def test_embedding_has_the_range_of_annealed_k_means(four_sources):
    X = -squared_euclidean_distances(four_sources[0])
    run = gc.PairwiseClustering(4, embedding=True, random_state=0).anneal(X)
    np.testing.assert_allclose(run.betas, gc.AnnealedKMeans(4, random_state=0).anneal(four_sources[0]).betas, rtol=1e-3)


def test_embedding_of_a_graph_ends_where_the_search_without_vectors_does():
    """Annealing 200 dimensions from hot to cold ends 2 to 17 % above."""
    X = gc.datasets.planted_correlation_graphs(120, 4, noise=0.6, random_state=0)[0]
    costs = [gc.PairwiseClustering(4, embedding=way, random_state=0).anneal(X).costs[-1] for way in (False, True)]
    assert costs[1] == pytest.approx(costs[0], rel=5e-3)


def test_cost_of_negative_distances_is_the_squared_error(four_sources):
    Y, _, labels = four_sources
    model = gc.PairwiseClustering(4)
    wanted = squared_errors(labels, Y)
    assert model.cost(labels, -squared_euclidean_distances(Y)) == pytest.approx(wanted, rel=1e-12)
    gram = model.cost(labels, Y @ Y.T)  # half of it, minus a constant: a Gram matrix is cooled at twice the beta
    assert gram == pytest.approx((wanted - (Y**2).sum()) / 2, rel=1e-12)
    unit = gc.PairwiseClustering(4).anneal(Y @ Y.T, betas=[1.0]).unit
    assert unit == pytest.approx(1 / np.linalg.eigvalsh(np.cov(Y.T, bias=True))[-1], rel=1e-3)
    unit = gc.PairwiseClustering(4).anneal(-squared_euclidean_distances(Y), betas=[1.0]).unit
    assert unit == pytest.approx(0.5 / np.linalg.eigvalsh(np.cov(Y.T, bias=True))[-1], rel=1e-3)


@given(st.integers(0, 2**31), st.floats(-5, 5), st.integers(2, 4))
@settings(max_examples=30, deadline=None)
def test_shifts(seed, shift, n_clusters):
    rng = np.random.default_rng(seed)
    X, labels = random_similarity(12, rng), rng.integers(n_clusters, size=12)
    model, cost = gc.PairwiseClustering(n_clusters), gc.PairwiseClustering(n_clusters).cost(labels, X)
    assert model.cost(labels, X + shift) == pytest.approx(cost - shift * 12 / 2, abs=1e-9)
    taken = len(np.unique(labels))
    off_diagonal = X + shift * (1 - np.eye(12))
    assert model.cost(labels, off_diagonal) == pytest.approx(cost - shift * (12 - taken) / 2, abs=1e-9)
    assert model.cost(labels, 3 * X) == pytest.approx(3 * cost, abs=1e-9)


@given(st.integers(0, 2**31))
@settings(max_examples=30, deadline=None)
def test_names_of_objects_and_clusters_do_not_matter(seed):
    rng = np.random.default_rng(seed)
    X, labels, order = random_similarity(12, rng), rng.integers(3, size=12), rng.permutation(12)
    model = gc.PairwiseClustering(3)
    cost = model.cost(labels, X)
    assert model.cost(labels[order], X[np.ix_(order, order)]) == pytest.approx(cost, abs=1e-9)
    assert model.cost(rng.permutation(3)[labels], X) == pytest.approx(cost, abs=1e-9)


def test_a_shift_with_the_diagonal_changes_no_run(four_sources):
    X = -squared_euclidean_distances(four_sources[0])
    plain, shifted = (gc.PairwiseClustering(4, random_state=0).anneal(X + shift) for shift in (0.0, 100.0))
    assert shifted.unit == pytest.approx(plain.unit, rel=1e-3)
    np.testing.assert_allclose(shifted.probabilities, plain.probabilities, atol=0.01)
    assert (shifted.labels() == plain.labels()).all()


def test_scale_of_the_similarities_is_a_scale_of_temperature(four_sources):
    X = -squared_euclidean_distances(four_sources[0])
    plain, scaled = (gc.PairwiseClustering(4, random_state=0).anneal(factor * X) for factor in (1, 8))
    np.testing.assert_allclose(scaled.betas * 8, plain.betas, rtol=1e-6)
    np.testing.assert_allclose(scaled.probabilities, plain.probabilities, atol=1e-4)


def test_finds_the_sources(four_sources):
    Y, _, sources = four_sources
    for inference in ("meanfield", "gibbs", "metropolis"):
        model = gc.PairwiseClustering(4, inference=inference, random_state=0).fit(-squared_euclidean_distances(Y))
        assert gc.metrics.matched_precision(model.labels_, sources) == 1.0
        assert model.trajectory_.costs[-1] == pytest.approx(squared_errors(sources, Y), rel=1e-5)
    gamma = gc.generalization_capacity(model.trajectory_, model.trajectory_)
    assert gamma.value == pytest.approx(2, abs=0.01)


@pytest.mark.parametrize("inference", ["meanfield", "gibbs", "metropolis"])
def test_both_ways_agree(four_sources, inference):
    first, second, _ = four_sources
    values, ends = [], []
    for embedding in (False, True):
        model = gc.PairwiseClustering(4, inference, embedding, n_sweeps=60, random_state=0)
        betas = np.geomspace(0.02, 0.4, 10)
        runs = [model.anneal(-squared_euclidean_distances(Y), betas) for Y in (first, second)]
        values.append(gc.generalization_capacity(*runs))
        assert runs[0].costs[-1] == pytest.approx(squared_errors(runs[0].labels(), first), rel=1e-5)
        ends.append(runs[0])
    assert values[0].curve[0] == pytest.approx(values[1].curve[0], abs=0.01)
    # At the second and third step the groups separate, and chains of 60 sweeps do not agree: at the third, four seeds
    # gave .33 to .62 bits over similarities (from the cold) and .68 to .85 over vectors (from the hot). Whether start
    # or length makes the difference is not known; chains are compared from the fourth on. Mean fields are compared
    # at every step in the next test.
    np.testing.assert_allclose(
        values[0].curve[3:], values[1].curve[3:], atol=0.04 if inference == "meanfield" else 0.01
    )
    for t in range(4, 10):
        order = gc.metrics.align_labels(ends[0].labels(t), ends[1].labels(t), 4)
        names = [order[ends[1].labels(t) == k][0] for k in range(4)]
        h = [run.potentials[t] - run.potentials[t].mean(axis=1, keepdims=True) for run in ends]
        np.testing.assert_allclose(h[0][:, names], h[1], atol=0.05 * np.abs(h[1]).max())


@pytest.mark.parametrize("n_objects", [120, 480])
def test_the_two_mean_fields_differ_by_one_object_in_a_cluster(n_objects):
    """Two approximations of one cost: a potential over vectors is the distance to a mean that holds the object's own
    share, one over similarities the cost of moving the object. So one object in N should make the difference, and it
    falls as 1 / N: .084 and .017 bits where the groups separate, nowhere more."""
    tables = gc.datasets.four_gaussians(1.0, n_objects, random_state=1)[:2]
    curves = []
    for embedding in (False, True):
        model = gc.PairwiseClustering(4, embedding=embedding, random_state=0)
        betas = np.geomspace(0.02, 0.4, 10)
        curves.append(
            gc.generalization_capacity(*(model.anneal(-squared_euclidean_distances(Y), betas) for Y in tables)).curve
        )
    np.testing.assert_allclose(*curves, atol=12 / n_objects)


def test_embedding_of_any_symmetric_matrix():
    rng = np.random.default_rng(5)
    X = random_similarity(20, rng)
    embedded = constant_shift_embedding(-X)
    model = gc.PairwiseClustering(3)
    for _ in range(5):
        labels = np.concatenate([np.arange(3), rng.integers(3, size=17)])
        constant = 0.5 * np.trace(X) + embedded.shift * 17  # all three clusters are taken
        assert squared_errors(labels, embedded.vectors) == pytest.approx(model.cost(labels, X) + constant, abs=1e-9)
    run = gc.PairwiseClustering(3, embedding=True, random_state=0).fit(X).trajectory_
    assert run.centroids.shape == (40, 3, embedded.vectors.shape[1])
    assert run.costs[-1] == pytest.approx(association(run.labels(), X, 3), abs=1e-5)


def test_sparse_is_dense():
    rng = np.random.default_rng(6)
    X = np.kron(np.eye(3), np.ones((10, 10))) * rng.random((30, 30))
    X = X + X.T
    dense, sparse = (
        gc.PairwiseClustering(3, random_state=0).fit(M).trajectory_ for M in (X, scipy.sparse.csr_array(X))
    )
    assert dense.unit == pytest.approx(sparse.unit, rel=1e-4)
    assert (dense.labels() == sparse.labels()).all()
    np.testing.assert_allclose(dense.probabilities[-1], sparse.probabilities[-1], atol=1e-3)


@pytest.mark.parametrize("X", [np.zeros((4, 4)), np.full((60, 60), 3.0), np.eye(60), [[2.0]]])
def test_nothing_to_order(X):
    model = gc.PairwiseClustering(min(2, len(X)), random_state=0).fit(X)
    assert np.isfinite(model.trajectory_.probabilities).all() and np.isfinite(model.trajectory_.costs).all()


def test_equal_objects_have_unit_one():
    for X in (np.zeros((60, 60)), np.full((60, 60), 3.3), [[2.0]]):
        assert gc.PairwiseClustering(1).anneal(X, betas=[1.0]).unit == 1.0


@pytest.mark.parametrize(
    "parameters, X, message",
    [
        ({}, np.ones((3, 4)), "square"),
        ({}, np.array([[0, 1.0], [2, 0]]), "symmetric"),
        ({}, np.array([[0, np.nan], [np.nan, 0]]), "NaN"),
        ({"n_clusters": 5}, np.eye(4), "n_clusters=5 .* n_samples=4"),
        ({"inference": "exact"}, np.eye(4), "inference='exact'"),
        ({"embedding": True}, scipy.sparse.csr_array(np.eye(4)), "X is a sparse"),
        ({"embedding": True}, np.array([[0, np.inf], [np.inf, 0]]), "NaN or inf"),
        ({"embedding": "no"}, np.eye(4), "embedding='no' is not one of False, True"),
        ({"n_init": 0}, np.eye(4), "n_init=0"),
    ],
)
def test_bad_input_is_named(parameters, X, message):
    model = gc.PairwiseClustering(**parameters)
    for method in (model.fit, model.anneal):
        with pytest.raises((ValueError, TypeError), match=message):
            method(X)


@pytest.mark.parametrize("embedding", [False, True])
def test_one_object_is_one_cluster(embedding):
    fit = gc.PairwiseClustering(1, embedding=embedding, random_state=0).fit(np.eye(1))
    assert fit.labels_.tolist() == [0] and fit.trajectory_.unit == 1 and fit.potentials(np.eye(1)).shape == (1, 1)


def test_labels_of_the_wrong_kind_are_named():
    for labels, message in (([0, 1], "2 entries"), ([0, 1, 2, 0], "0..2"), ([0.0, 1, 0, 1], "integers")):
        with pytest.raises(ValueError, match=message):
            gc.PairwiseClustering(2).cost(labels, np.eye(4))


def test_estimator_survives_clone_and_stores_only():
    model = gc.PairwiseClustering(3, "gibbs", True, 2, 50, 7)
    assert clone(model).get_params() == model.get_params()
    assert vars(model) == model.get_params()
