"""Clusterings of histograms against scipy's divergences and optimisers, all labelings, finite differences."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import assignments
from scipy.optimize import minimize
from scipy.special import logsumexp, softmax, xlogy
from scipy.stats import entropy, truncnorm
from sklearn.metrics import adjusted_rand_score

import gencap as gc
from gencap.kernels.bottleneck import mixing_weights

HC, PDC = gc.HistogramClustering, gc.ParametricDistributionalClustering
BOTH = pytest.mark.parametrize("cls", [HC, PDC])


def frequencies(X):
    return X / X.sum(axis=1, keepdims=True)


def small(seed=0, n_objects=8, n_bins=6):
    return np.random.default_rng(seed).integers(1, 12, (n_objects, n_bins)).astype(float)


@pytest.mark.parametrize("width", [0.03, 0.08, 1.0, 50.0])
def test_rectified_gaussians_are_truncated_normal_distributions(width):
    centers = np.array([0.0, 0.2, 1.0])
    low, high = (0 - centers) / width, (1 - centers) / width
    edges = np.linspace(0, 1, 33)[:, None]
    expected = np.diff(truncnorm.cdf(edges, low, high, centers, width), axis=0).T
    np.testing.assert_allclose(gc.rectified_gaussians(32, centers, width), expected, atol=1e-12)


@BOTH
def test_potentials_are_divergences(cls):
    X = small()
    fit = cls(3, random_state=0).fit(X)
    expected = [[entropy(p, q) for q in fit.cluster_centers_] for p in frequencies(X)]
    np.testing.assert_allclose(fit.potentials(X), expected, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(fit.potentials(5 * X), expected, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(fit.trajectory_.potentials[-1], expected, rtol=1e-3, atol=1e-5)
    np.testing.assert_allclose(fit.cluster_centers_.sum(axis=1), 1)


@pytest.mark.parametrize("smoothing", [0.0, 1.0])
def test_every_step_is_a_fixed_point_of_the_equations_of_the_source(smoothing):
    X = np.random.default_rng(1).multinomial(40, np.random.default_rng(0).dirichlet(np.ones(6), 3)[np.arange(30) % 3])
    model = HC(3, smoothing=smoothing, random_state=0)
    run = model.anneal(X)
    F = frequencies(X if not smoothing else model._scale(X.astype(float)))
    for t in np.flatnonzero(run.converged):
        P = run.probabilities[t]
        q = P.T @ F / P.sum(axis=0)[:, None]
        h = (xlogy(F, F).sum(axis=1)[:, None] - F @ np.log(np.maximum(q.T, 1e-300))).clip(0)
        np.testing.assert_allclose(softmax(-run.betas[t] * h, axis=1), P, atol=0.02)


def test_the_cost_of_histograms_is_that_of_mean_histograms():
    X, labels = small(2), np.array([0, 1, 1, 2, 0, 2, 1, 0])
    F = frequencies(X)
    expected = sum(entropy(p, F[labels == k].mean(axis=0)) for p, k in zip(F, labels, strict=True))
    assert HC(3).cost(labels, X) == pytest.approx(expected, rel=1e-12)
    bottleneck = gc.InformationBottleneck(3)
    others = np.roll(labels, 1)
    difference = bottleneck.cost(labels, X) - bottleneck.cost(others, X)
    assert HC(3).cost(labels, X) - HC(3).cost(others, X) == pytest.approx(difference)


def test_the_cost_of_mixtures_is_the_least_that_an_optimiser_finds():
    X, labels = small(3), np.arange(8) % 2
    model = PDC(2, n_prototypes=4, width=0.15)
    F, G = frequencies(X), gc.rectified_gaussians(6, np.linspace(0, 1, 4), 0.15)
    expected = xlogy(F, F).sum()
    for k in range(2):
        mean = F[labels == k].sum(axis=0)
        found = minimize(lambda w, mean=mean: -mean @ np.log(softmax(w) @ G), np.zeros(4), tol=1e-14)
        expected += found.fun
    assert model.cost(labels, X) == pytest.approx(expected, abs=1e-6)


@BOTH
def test_annealing_ends_at_the_best_of_all_labelings(cls):
    for seed in range(4):
        X, model = small(seed), cls(2, n_init=5, random_state=0)
        best = min(model.cost(labels, X) for labels in assignments(8, 2))
        assert model.fit(X).trajectory_.costs[-1] == pytest.approx(best, rel=1e-6)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**31), st.integers(1, 9), st.floats(0.02, 0.5))
def test_the_likelihood_of_mixing_weights_never_falls(seed, n_prototypes, width):
    rng = np.random.default_rng(seed)
    counts = rng.poisson(rng.exponential(3, 20)) + np.eye(20)[0]
    G = gc.rectified_gaussians(20, np.linspace(0, 1, n_prototypes), width)
    weights, before = rng.dirichlet(np.ones(n_prototypes)), -np.inf
    for _ in range(30):
        mixing_weights(counts, np.ascontiguousarray(G.T), weights, 0.0, 1)
        likelihood = counts @ np.log(weights @ G)
        assert likelihood >= before - 1e-9 * abs(likelihood) and weights.sum() == pytest.approx(1)
        before = likelihood


@BOTH
def test_no_sweep_of_annealing_raises_the_free_energy(cls):
    """At one temperature; without a prior that is the likelihood of the mixture at beta = counts per object."""
    X, *_ = gc.datasets.mixed_histograms(60, 3, n_counts=15, random_state=0)
    model, F = cls(3, random_state=0)._prepared(X)
    state = model._state(F, None, None)
    for beta in (20.0, 100.0):
        P, before = np.random.default_rng(0).dirichlet(np.ones(3), 60), np.inf
        for _ in range(40):
            h = state.potentials(P)
            energy = -logsumexp(-beta * h, axis=1).sum() / beta
            assert energy <= before + 1e-4
            P, before = softmax(-beta * h, axis=1), energy


@BOTH
def test_the_unit_is_where_a_small_difference_begins_to_grow(cls):
    """Finite differences of one update around equal clusters, iterated to its fastest direction."""
    X = gc.datasets.mixed_histograms(40, 3, n_counts=200, concentration=3.0, random_state=0)[0] + 1
    model, F = cls(2, random_state=0)._prepared(X)
    if cls is PDC:
        model.n_prototypes, model.width = 3, 0.3
    state, size = model._state(F, None, None), 1e-4
    v = np.random.default_rng(0).standard_normal(40)
    for _ in range(60):
        model._mixing = None  # mixtures are fitted to the end
        h = state.potentials(0.5 + np.outer(size / 2 * v / np.abs(v).max(), [1, -1]))
        v = (h[:, 1] - h[:, 0]) / (2 * size)
    assert 1 / np.abs(v).max() == pytest.approx(model._unit(F), rel=0.02)


def test_only_mixtures_know_the_order_of_the_bins():
    X, labels, _ = gc.datasets.mixed_histograms(80, 3, n_counts=12, random_state=0)
    mixed = X[:, np.random.default_rng(0).permutation(32)]
    assert HC(3).cost(labels, mixed) == pytest.approx(HC(3).cost(labels, X))
    assert HC(3, smoothing=1.0).cost(labels, mixed) != pytest.approx(HC(3, smoothing=1.0).cost(labels, X), rel=1e-3)
    assert PDC(3).cost(labels, mixed) > 1.2 * PDC(3).cost(labels, X)


def test_smoothing_keeps_the_counts():
    X = np.diag([2.0, 0, 0, 0, 0, 3])[[0, 5]]
    smooth = HC(1, smoothing=0.7).fit(X).cluster_centers_[0]
    assert smooth.sum() == pytest.approx(1) and (np.diff(smooth[:3]) < 0).all()
    np.testing.assert_allclose(smooth, smooth[::-1])
    np.testing.assert_allclose(HC(1, smoothing=40.0).fit(X).cluster_centers_[0], 1 / 6, atol=1e-3)


def test_mixing_weights_are_those_of_the_distributions():
    X, labels, weights = gc.datasets.mixed_histograms(60, 2, n_counts=3000, random_state=2)
    fit = PDC(2, random_state=0).fit(X)
    G = gc.rectified_gaussians(32, np.linspace(0, 1, 8), 0.08)
    np.testing.assert_allclose(fit.mixing_weights_ @ G, fit.cluster_centers_, atol=1e-6)
    order = [fit.labels_[labels == k][0] for k in range(2)]
    np.testing.assert_allclose(fit.mixing_weights_[order], weights, atol=0.02)  # those that drew the data


@BOTH
def test_labelled_objects_keep_their_cluster(cls):
    X, labels, _ = gc.datasets.mixed_histograms(30, 3, n_counts=60, random_state=1)
    fixed = np.where(np.arange(30) < 9, (labels + 1) % 3, -1)
    assert (cls(3, random_state=0).fit(X, fixed=fixed).labels_ == (labels + 1) % 3).mean() > 0.9


def test_mixtures_find_more_in_few_counts_and_as_much_in_many():
    """Issue 15, line 2: adjusted Rand index over ten data sets; also with prototypes that did not draw the data."""
    found = {}
    for n_counts in (5, 50):
        data = [gc.datasets.mixed_histograms(n_counts=n_counts, random_state=seed)[:2] for seed in range(10)]
        found[n_counts] = np.array([[adjusted_rand_score(labels, model.fit(X).labels_) for X, labels in data]
                                    for model in (HC(4, random_state=0), PDC(4, random_state=0))])  # fmt: skip
        if n_counts == 5:
            other = PDC(4, n_prototypes=12, width=0.05, random_state=0)
            others = [adjusted_rand_score(labels, other.fit(X).labels_) for X, labels in data[:5]]
    histogram, mixture = found[5]
    assert mixture.mean() > histogram.mean() + 0.05 and (mixture > histogram).sum() >= 8
    assert np.mean(others) > histogram[:5].mean() + 0.02
    assert np.ptp(found[50].mean(axis=1)) < 0.01 and found[50].mean() > 0.95


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: HC(2, smoothing=-1.0).fit(small()), ValueError, "smoothing=-1"),
        (lambda: HC(2, smoothing="much").fit(small()), TypeError, "smoothing must be a real number"),
        (lambda: HC(2).fit(small() - 6), ValueError, "Negative values"),
        (lambda: HC(2).fit(np.eye(3)[[0, 1, 1]] * [[1], [1], [0]]), ValueError, "no counts in row 2"),
        (lambda: HC(2, n_init=0).fit(small()), ValueError, "n_init=0"),
        (lambda: HC(2).fit(small(), fixed=[5] * 8), ValueError, "fixed holds values"),
        (lambda: PDC(2, n_prototypes=0).fit(small()), ValueError, "n_prototypes=0"),
        (lambda: PDC(2, n_prototypes=2.5).fit(small()), TypeError, "n_prototypes must be an integer"),
        (lambda: PDC(2, width=0.0).cost(np.arange(8) % 2, small()), ValueError, "width=0"),
        (lambda: PDC(2).fit(small()).potentials(-small()), ValueError, "Negative values"),
        (lambda: gc.rectified_gaussians(0, [0.5], 0.1), ValueError, "n_bins=0"),
        (lambda: gc.rectified_gaussians(4, [1.5], 0.1), ValueError, r"centers=\[1.5\] must be numbers within"),
        (lambda: gc.rectified_gaussians(4, [[0.5]], 0.1), ValueError, "centers="),
        (lambda: gc.rectified_gaussians(4, [0.5], np.nan), ValueError, "width=nan"),
    ],
)
def test_bad_arguments(call, error, message):
    with pytest.raises(error, match=message):
        call()


@pytest.mark.parametrize("seed", range(3))
def test_of_several_runs_the_best_one_is_kept_with_its_own_mixtures(seed):
    X = gc.datasets.mixed_histograms(60, 6, n_counts=15, n_bins=12, random_state=seed)[0]
    model = gc.ParametricDistributionalClustering(6, n_init=3, random_state=seed).fit(X)
    np.testing.assert_allclose(model.potentials(X), model.trajectory_.potentials[-1], atol=1e-4)
    mixtures = model.mixing_weights_ @ gc.rectified_gaussians(12, np.linspace(0, 1, 8), 0.08)
    np.testing.assert_allclose(model.cluster_centers_, mixtures, atol=1e-7)


@pytest.mark.parametrize("model", [gc.HistogramClustering, gc.ParametricDistributionalClustering])
@pytest.mark.parametrize("X", [np.ones((16, 4)), np.ones((10, 1)), np.tile([1.0, 3.0], (9, 1)), np.ones((7, 3))])
def test_equal_objects_have_a_unit_of_one_and_one_cluster(model, X):
    run = model(2, random_state=0).fit(X).trajectory_
    assert run.unit == 1.0 and run.n_effective(-1) == 1


def test_prototypes_that_see_no_difference_have_a_unit_of_one():
    X = gc.datasets.mixed_histograms(24, 3, n_counts=40, n_bins=12, random_state=0)[0]
    for words in ({"n_prototypes": 1}, {"width": 1e300}):
        assert gc.ParametricDistributionalClustering(3, **words).unit(X) == 1.0


@pytest.mark.parametrize(
    ("fixed", "message"),
    [
        ([6] + [-1] * 11, "fixed holds values -1..6, accepted is -1..1"),
        (np.ma.array([1] + [-1] * 11, mask=[1] + [0] * 11), "fixed has masked"),
        (np.full(12, 255, np.uint8), "fixed holds values 255..255"),
        ([True] * 12, "fixed must be integers"),
        ([-2] * 12, "fixed holds values -2"),
    ],
)
def test_labelled_objects_are_numbers_of_clusters(fixed, message):
    X = gc.datasets.mixed_histograms(12, 2, random_state=0)[0]
    with pytest.raises(ValueError, match=message):
        gc.HistogramClustering(2).fit(X, fixed=fixed)


def test_more_smoothing_than_bins_and_prototypes_without_end_are_refused():
    with pytest.raises(ValueError, match="smoothing=1000000000.0 .*1000 times the bins=4000"):
        gc.HistogramClustering(2, smoothing=1e9).fit(np.ones((6, 4)) + np.eye(6, 4))
    with pytest.raises(ValueError, match="numbers, accepted"):
        gc.rectified_gaussians(10**9, [0.5], 0.1)
