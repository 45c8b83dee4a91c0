"""Non-redundant models against their definitions written out, and on data with two planted clusterings."""

import itertools
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import entropy
from sklearn.base import clone
from sklearn.cluster import DBSCAN, AgglomerativeClustering, KMeans
from sklearn.decomposition import PCA
from sklearn.exceptions import ConvergenceWarning
from sklearn.mixture import GaussianMixture

import gencap as gc
from gencap.kernels import constrained as kernels
from gencap.models.nonredundant import _tables, lower_bound, upper_slope
from gencap.trajectory import softmax


def planted(sizes, n_clusters=2, n_objects=200, flip=0.1, seed=0):
    """Independent clusterings, each with blocks of features of its own that are 1 in one cluster; bits are flipped."""
    rng = np.random.default_rng(seed)
    labels = [rng.permutation(np.arange(n_objects) % n_clusters) for _ in sizes]
    blocks = [np.equal.outer(one, np.arange(m) * n_clusters // m) for one, m in zip(labels, sizes, strict=True)]
    return (np.hstack(blocks) ^ (rng.random((n_objects, sum(sizes))) < flip)).astype(float), labels


Y, (KNOWN, TARGET) = planted((10, 4))
MIXTURE = gc.ConstrainedModelClustering(random_state=0)
ENSEMBLE = gc.ConditionalEnsemble(random_state=0)
precision = gc.metrics.matched_precision


# The definition, written out ------------------------------------------------------------------------------------------


def given_cluster(X, z, theta):
    """p(z | k) by loops over the distinct values, shape (n, K)."""
    values, p = np.unique(z), np.zeros((np.unique(z).size, len(theta)))
    for (a, value), k, j, y in itertools.product(enumerate(values), range(len(theta)), range(X.shape[1]), (0, 1)):
        with_y = X[:, j] == y
        share = (z[with_y] == value).mean() if with_y.any() else (z == value).mean()
        p[a, k] += share * (theta[k, j] if y else 1 - theta[k, j]) / X.shape[1]
    return p


def bound(p):
    """Lower bound of H(C, Z) less the upper one of H(Z), clusters equally likely; p(z | k) of shape (n, K)."""
    n, joint = len(p), (p / p.shape[1]).ravel()
    d, within = joint.size, sum(q**2 for q in joint)
    lower = np.log(d + 1) + d * np.log(1 + 1 / d) - (d + 1) * d * np.log(1 + 1 / d) * within
    slope = 1 if n == 2 else (n - 1) * np.log(n - 1) / (n - 2)
    return lower - (np.log(n) - slope * (sum(q**2 for q in p.mean(axis=1)) - 1 / n))


def log_probabilities(X, theta):
    return X @ np.log(theta).T + (1 - X) @ np.log(1 - theta).T


def objective(X, z, theta, penalty, temperature=1.0):
    likelihood = temperature * np.log(np.exp(log_probabilities(X, theta) / temperature).mean(axis=1)).sum()
    return likelihood + penalty * X.size * X.shape[1] * bound(given_cluster(X, z, theta))


def cubic(X, z, theta, penalty, q, s, h):
    """F3..F0 of the maximisation step of theta_sh: with a = sum q y and t its value, zero where the gradient is."""
    (n_objects, m), n_clusters = X.shape, len(theta)
    p1, p0 = (np.array([[(z[X[:, j] == y] == v).mean() for j in range(m)] for v in np.unique(z)]) for y in (1, 0))
    a2, a1 = (p1 - p0).T @ (p1 - p0), (p1 - p0).T @ p0.sum(axis=1)
    d, pi = n_clusters * len(p1), 1 / n_clusters
    beta, slope = (d + 1) * d * np.log(1 + 1 / d), upper_slope(len(p1))
    own = sum(a2[h, j] * theta[s, j] for j in range(m) if j != h) + a1[h]
    everywhere = a1[h] + sum(
        pi * a2[h, j] * theta[k, j] for k in range(n_clusters) for j in range(m) if (k, j) != (s, h)
    )
    g1 = 2 / m**2 * a2[h, h] * pi**2 * (slope - beta)
    g0 = 2 / m**2 * (-beta * pi**2 * own + slope * pi * everywhere)
    weight = penalty * n_objects * m**2
    return np.array([-weight * g1, weight * (g1 - g0), weight * g0 - q[:, s].sum(), q[:, s] @ X[:, h]])


def problem(seed):
    """Small random data without constant features, a start, and the rest of what a sweep takes."""
    rng = np.random.default_rng(seed)
    n, m, n_clusters, n_known = rng.integers(12, 30), rng.integers(2, 7), rng.integers(1, 5), rng.integers(2, 5)
    X = (rng.random((n, m)) < rng.uniform(0.2, 0.8, m)).astype(float)
    X[0], X[1] = 0, 1
    z = rng.permutation(np.arange(n) % n_known)
    theta = rng.uniform(0.05, 0.95, (n_clusters, m))
    penalty, temperature = 10 ** rng.uniform(-2, 1.5), rng.uniform(0.4, m)
    return X, z, theta, penalty, temperature


def sweep(X, z, theta, penalty, temperature, partial):
    """One sweep of the kernel that does not touch `theta`."""
    D, r = _tables(X, z)
    theta, n_clusters, d = theta.copy(), len(theta), len(theta) * len(r)
    pull = 2 * penalty * len(X) / n_clusters
    own, shared = pull * (d + 1) * d * np.log(1 + 1 / d) / n_clusters, pull * upper_slope(len(r))
    columns = np.ascontiguousarray(X.T)
    kernels.settle(columns, theta, D, r, own, shared, temperature, partial, 0.0, 1)
    return theta


@pytest.mark.parametrize("seed", range(12))
def test_the_cost_is_its_definition(seed):
    X, z, theta, penalty, _ = problem(seed)
    model = gc.ConstrainedModelClustering(len(theta) + 1, penalty=penalty)
    labels = np.random.default_rng(seed).permutation(np.arange(len(X)) % len(theta))
    means = np.array([X[labels == k].mean(axis=0) for k in range(len(theta))])
    likelihood = 0.0
    for x, k in zip(X, labels, strict=True):
        for y, t in zip(x, means[k], strict=True):
            likelihood += np.log(t if y else 1 - t)
        likelihood -= np.log(len(theta))
    cost = -likelihood - penalty * X.size * X.shape[1] * bound(given_cluster(X, z, means))
    assert model.cost(labels, X, known=z) == pytest.approx(cost, rel=1e-10)


@pytest.mark.parametrize("seed", range(12))
def test_gradient_and_cubic_are_those_of_the_objective(seed):
    X, z, theta, penalty, temperature = problem(seed)
    q = softmax(log_probabilities(X, theta) / temperature)
    for s, h in itertools.product(range(len(theta)), range(X.shape[1])):
        step = np.zeros_like(theta)
        step[s, h] = 1e-6
        ends = [objective(X, z, theta + sign * step, penalty, temperature) for sign in (1, -1)]
        t, scale = theta[s, h], penalty * X.size * X.shape[1] + len(X)
        slope = (ends[0] - ends[1]) / 2e-6 * t * (1 - t)
        assert np.polyval(cubic(X, z, theta, penalty, q, s, h), t) == pytest.approx(slope, abs=1e-7 * scale)


@pytest.mark.parametrize("partial", [False, True])
@pytest.mark.parametrize("seed", range(12))
def test_a_sweep_is_that_of_the_definition(seed, partial):
    """Roots of the cubic one after the other; in the partial way with the whole expectation before each."""
    X, z, theta, penalty, temperature = problem(seed)
    found, expected = sweep(X, z, theta, penalty, temperature, partial), theta.copy()
    pairs = list(itertools.product(range(len(theta)), range(X.shape[1])))
    for s, h in sorted(pairs, key=lambda pair: pair[::-1]) if partial else pairs:
        if partial or (s, h) == (0, 0):
            q = softmax(log_probabilities(X, expected) / temperature)
        roots = np.roots(cubic(X, z, expected, penalty, q, s, h))
        roots = roots.real[(abs(roots.imag) < 1e-9) & (roots.real > 0) & (roots.real < 1)]
        assert len(roots) == 1
        expected[s, h] = roots[0]
    np.testing.assert_allclose(found, expected, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("partial", [False, True])
def test_no_sweep_lowers_the_objective(partial):
    for seed in range(200):
        X, z, theta, penalty, temperature = problem(seed)
        values = []
        for _ in range(6):
            values.append(objective(X, z, theta, penalty, temperature))
            theta = sweep(X, z, theta, penalty, temperature, partial)
        scale = penalty * X.size * X.shape[1] + abs(values[0])
        assert np.diff(values).min() > -1e-12 * scale, seed


def test_shares_that_vanish_come_back():
    """Of hundreds of features at a low temperature: what the updates lost is taken again from the logarithms."""
    X, (z, _) = planted((300, 4), n_objects=40, flip=0.02)
    theta = np.random.default_rng(0).uniform(0.01, 0.99, (2, 304))
    for temperature in (0.05, 0.5):
        following = sweep(X, z, theta, 1.0, temperature, True)
        q = softmax(log_probabilities(X, following) / temperature)
        again = sweep(X, z, following, 0.0, temperature, True)
        assert np.isfinite(following).all() and np.isfinite(again).all() and np.isfinite(q).all()
        values = [objective_in_logs(X, one, temperature) for one in (following, again)]
        assert values[1] >= values[0]


def objective_in_logs(X, theta, temperature):
    scores = log_probabilities(X, theta) / temperature
    return temperature * np.logaddexp.reduce(scores, axis=1).sum()


def test_best_probability_is_the_largest():
    grid = np.linspace(1e-6, 1 - 1e-6, 20001)
    rng = np.random.default_rng(0)
    for _ in range(300):
        mass = 10 ** rng.uniform(-3, 2)
        ones, offset, slope = mass * rng.choice([0, 1, rng.random()]), rng.normal(0, 50), -(10 ** rng.uniform(-3, 3))
        value = ones * np.log(grid) + (mass - ones) * np.log(1 - grid) + offset * grid + slope * grid**2 / 2
        t = kernels.best_probability(ones, mass, offset, slope, rng.random())
        assert abs(t - grid[value.argmax()]) < 1e-4
    assert kernels.best_probability(0.0, 0.0, 0.0, 0.0, 0.3) == 0.3
    assert kernels.best_probability(0.0, 2.0, 0.0, 0.0, 0.3) == kernels.EDGE
    assert kernels.best_probability(2.0, 2.0, 0.0, 0.0, 0.3) == 1 - kernels.EDGE


weights = st.lists(st.floats(0, 1), min_size=2, max_size=16).filter(lambda w: sum(w) > 1e-3)


@given(weights, st.integers(1, 20))
def test_the_parabolas_are_bounds(w, index):
    p = np.array(w) / sum(w)
    d, coincidence, h = len(p), (p**2).sum(), entropy(p)
    assert lower_bound(coincidence, index) <= h + 1e-12
    assert h <= np.log(d) - upper_slope(d) * (coincidence - 1 / d) + 1e-12


def test_the_bounds_are_tight_and_the_printed_upper_one_is_none():
    for d in range(2, 17):
        assert lower_bound(1 / d, d) == pytest.approx(np.log(d)) == pytest.approx(lower_bound(1 / d, d - 1))
        p = np.r_[1 - 1 / d, np.full(d - 1, 1 / (d * (d - 1)))]
        assert entropy(p) == pytest.approx(np.log(d) - upper_slope(d) * ((p**2).sum() - 1 / d))
    for d in (2, 3, 8):
        mixed = [np.r_[1 - e, np.full(d - 1, e / (d - 1))] for e in np.linspace(0.01, 0.7, 60)]
        printed = [np.log(d) * (1 - ((p**2).sum() - 1 / d) / (1 - 1 / d)) - entropy(p) for p in mixed]
        assert min(printed) < -0.02


# The mixture ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("sizes", [(10, 4), (100, 4)])
def test_the_annealed_mixture_finds_the_weaker_clustering(sizes):
    found = []
    for seed in range(3):
        X, (known, target) = planted(sizes, seed=seed)
        labels = clone(MIXTURE).fit(X, known=known).labels_
        found.append((precision(labels, target), precision(labels, known)))
    weaker, stronger = np.mean(found, axis=0)
    assert weaker > 0.93 and stronger < 0.6
    plain = gc.ConstrainedModelClustering(penalty=0, random_state=0).fit(X, known=known)
    assert precision(plain.labels_, known) > 0.95


@pytest.mark.parametrize(
    "options", [{"update": "partial"}, {"annealed": False}, {"n_init": 3}, {"rate": 0.6}, {"start": "probabilities"}]
)
def test_every_way_of_the_mixture_finds_it(options):
    model = clone(MIXTURE).set_params(**options).fit(Y, known=KNOWN)
    assert precision(model.labels_, TARGET) > 0.93
    run = model.trajectory_
    assert run.n_steps == 1 if "annealed" in options else run.n_steps > 3
    if "n_init" in options:
        runs = [gc.ConstrainedModelClustering(random_state=0).fit(Y, known=KNOWN).trajectory_]
        assert run.costs[-1] <= runs[0].costs[-1] + 1e-6 * abs(run.costs[-1])


def test_the_trajectory_cools_from_the_number_of_features_to_one_half():
    model = clone(MIXTURE).fit(Y, known=KNOWN)
    run, m = model.trajectory_, Y.shape[1]
    temperatures = 1 / run.betas
    assert temperatures[0] == pytest.approx(m) and 0.5 <= temperatures[-1] < 0.5 / 0.8
    np.testing.assert_allclose(temperatures[1:] / temperatures[:-1], 0.8)
    for t in range(run.n_steps):
        np.testing.assert_allclose(run.potentials[t], -log_probabilities(Y, run.centroids[t]), rtol=1e-6)
        np.testing.assert_allclose(run.probabilities[t], softmax(-run.betas[t] * run.potentials[t]), atol=1e-12)
        assert run.costs[t] == pytest.approx(model.cost(run.labels(t), Y, known=KNOWN))
    assert run.n_effective(0) == 1 and run.n_effective() == 2
    np.testing.assert_array_equal(model.cluster_centers_, run.centroids[-1])
    sure = [run.probabilities[t].max(axis=1).min() > 0.99 for t in range(run.n_steps)]
    for t in np.flatnonzero(sure)[1:]:
        np.testing.assert_array_equal(run.centroids[t], run.centroids[t - 1])
    assert precision(model.predict(planted((10, 4), seed=0)[0]), TARGET) > 0.93


def test_the_unit_is_the_first_split_of_a_plain_mixture():
    X, _ = planted((6,), n_objects=400)
    X = np.column_stack([X, np.ones(400)])  # a constant feature has no correlations
    unit, model = MIXTURE.unit(X), gc.ConstrainedModelClustering(penalty=0, random_state=0)
    known = np.arange(400) % 2
    run = model.anneal(X, betas=np.array([0.8, 0.95, 1.3, 1.6]) * unit, known=known)
    spread = np.ptp(run.centroids, axis=1).max(axis=1)
    assert spread[:2].max() < 0.03 and spread[-1] > 0.2 and run.unit == unit
    assert MIXTURE.unit(np.ones((5, 3))) == 1 and MIXTURE.unit(X[:, :1]) == pytest.approx(1)


def test_what_is_known_may_be_called_anything():
    model = clone(MIXTURE).fit(Y, known=KNOWN)
    same = {
        "renamed": 7 - KNOWN,
        "names": np.where(KNOWN == 1, "a", "b"),
        "objects": pd.Series(np.where(KNOWN == 1, "a", "b"), dtype=object),
        "bool": KNOWN == 0,
        "list": KNOWN.tolist(),
        "memberships": np.eye(2)[KNOWN],
        "one column": KNOWN[:, None].astype(bool),
    }
    for name, known in same.items():
        for one in (clone(MIXTURE), clone(ENSEMBLE)):
            labels = one.fit(Y, known=known).labels_
            expected = model.labels_ if one.__class__ is gc.ConstrainedModelClustering else TARGET
            assert precision(labels, expected) > 0.93, name
        assert model.cost(TARGET, Y, known=known) == pytest.approx(model.cost(TARGET, Y, known=KNOWN), rel=1e-12)
    other = np.random.default_rng(0).integers(2, size=200)
    rows, pairs = np.column_stack([KNOWN, other]), 2 * KNOWN + other
    assert model.cost(TARGET, Y, known=rows) == pytest.approx(model.cost(TARGET, Y, known=pairs), rel=1e-12)
    assert model.cost(TARGET, Y, known=pairs) != pytest.approx(model.cost(TARGET, Y, known=KNOWN), rel=1e-3)


def test_a_feature_that_is_never_on_says_nothing():
    with_constant = np.column_stack([Y, np.zeros(200), np.ones(200)])
    D, r = _tables(with_constant, KNOWN)
    assert np.abs(D[-2:]).max() == 0 and r.sum() == pytest.approx(16)
    assert precision(clone(MIXTURE).fit(with_constant, known=KNOWN).labels_, TARGET) > 0.93


@pytest.mark.filterwarnings("ignore:Number of distinct clusters")  # the base's own word
def test_clusters_that_stay_empty_are_told():
    X = np.repeat(np.eye(2), 10, axis=0)
    for model in (gc.ConstrainedModelClustering(5, random_state=0), gc.ConditionalEnsemble(5, random_state=0)):
        with pytest.warns(ConvergenceWarning, match="offered 5 clusters, and only [1-4] of them") as caught:
            model.fit(X, known=np.arange(20) % 2)
        assert {warning.filename for warning in caught if "offered" in str(warning.message)} == {__file__}
    with pytest.warns(ConvergenceWarning, match="did not settle"):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("gencap.models.nonredundant.MAX_SWEEPS", 1)
            clone(MIXTURE).fit(Y, known=KNOWN)


# The ensemble ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("sizes", [(10, 4), (100, 4)])
def test_the_ensemble_finds_the_weaker_clustering(sizes):
    found = []
    for seed in range(3):
        X, (known, target) = planted(sizes, seed=seed)
        labels = clone(ENSEMBLE).fit(X, known=known).labels_
        found.append((precision(labels, target), precision(labels, known)))
    assert np.mean(found, axis=0)[0] > 0.93 and np.mean(found, axis=0)[1] < 0.6


BASES = {
    "k-means": (KMeans(n_init=3), "n_clusters"),
    "mixture": (GaussianMixture(covariance_type="diag", reg_covar=0.1, n_init=3), "n_components"),
    "linkage": (AgglomerativeClustering(), "n_clusters"),
    "annealed": (gc.AnnealedKMeans(), "n_clusters"),
}


@pytest.mark.parametrize("name", BASES)
def test_any_clusterer_is_a_base(name):
    base, size = BASES[name]
    before = base.get_params()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = gc.ConditionalEnsemble(2, base=base, random_state=0).fit(Y, known=KNOWN)
    assert base.get_params() == before and precision(model.labels_, TARGET) > 0.85
    if hasattr(base, "predict"):
        assert {getattr(one, size) for one in model.estimators_} == {2}
        assert len({one.random_state for one in model.estimators_}) == 2
    labelings = np.array([one.predict(Y) for one in model.estimators_])
    np.testing.assert_array_equal(labelings, model.labelings_)
    if name == "linkage":  # the nearest mean of the clusters of each group
        for one, k in zip(labelings, (0, 1), strict=True):
            own = AgglomerativeClustering(2).fit_predict(Y[KNOWN == k])
            means = np.array([Y[KNOWN == k][own == a].mean(axis=0) for a in (0, 1)])
            np.testing.assert_array_equal(one, ((Y[:, None] - means) ** 2).sum(axis=2).argmin(axis=1))


def test_objects_in_no_cluster_of_the_base_join_the_nearest():
    rng = np.random.default_rng(0)
    X = np.repeat([[0.0, 0], [0, 9], [30, 0], [30, 9]], 15, axis=0) + rng.normal(0, 0.5, (60, 2))
    X[0], known = [0, 3], np.repeat([0, 0, 1, 1], 15)
    model = gc.ConditionalEnsemble(2, base=DBSCAN(eps=1.5, min_samples=3), random_state=0).fit(X, known=known)
    assert precision(model.labels_, np.repeat([0, 1, 0, 1], 15)) == 1
    with pytest.raises(ValueError, match="base DBSCAN found no cluster among 30 objects"):
        gc.ConditionalEnsemble(2, base=DBSCAN(eps=1e-9)).fit(X, known=known)


def test_more_local_clusters_than_clusters():
    model = clone(ENSEMBLE).set_params(n_local=4).fit(Y, known=KNOWN)
    assert model.consensus_centers_.shape == (2, 8) and precision(model.labels_, TARGET) > 0.8


def test_sparse_data_go_to_the_base_as_they_are():
    seen = []

    class Watched(KMeans):
        def fit(self, X, y=None):
            seen.append(scipy.sparse.issparse(X))
            return super().fit(X)

    X = scipy.sparse.csr_array(Y)
    model = gc.ConditionalEnsemble(2, base=Watched(), random_state=0).fit(X, known=KNOWN)
    assert seen == [True, True] and precision(model.labels_, TARGET) > 0.8
    assert precision(model.predict(X[:50]), TARGET[:50]) > 0.8
    dense = gc.ConditionalEnsemble(2, base=gc.AnnealedKMeans())
    with pytest.raises(TypeError, match="[Ss]parse"):
        dense.fit(X, known=KNOWN)
    labels = clone(ENSEMBLE).fit(X, known=KNOWN).labels_
    np.testing.assert_array_equal(labels, clone(ENSEMBLE).fit(Y, known=KNOWN).labels_)


def test_small_groups_are_left_out_and_named():
    known = KNOWN.copy()
    known[:2] = 5
    model = gc.ConditionalEnsemble(3, random_state=0)
    with pytest.warns(ConvergenceWarning, match=r"known groups \[2\].* fewer than 3 objects") as caught:
        model.fit(Y, known=known)
    assert caught[0].filename == __file__ and len(model.estimators_) == 2 and model.labels_.shape == (200,)
    with pytest.raises(ValueError, match="known has no group of at least 3"):
        model.fit(Y, known=np.arange(200) // 2)


def test_information_and_squared_error_have_a_constant_sum():
    rng = np.random.default_rng(0)
    labelings = [rng.integers(k, size=50) for k in (2, 3, 5)]
    columns = np.hstack([np.eye(k)[one] for k, one in zip((2, 3, 5), labelings, strict=True)])
    sums = []
    for k in (1, 2, 3, 4, 6):
        labels = rng.integers(k, size=50)
        means = np.array([columns[labels == a].mean(axis=0) if (labels == a).any() else columns[0] for a in range(k)])
        error = ((columns - means[labels]) ** 2).sum() / 50
        sums.append(gc.quadratic_information(labels, labelings) + 2 * error)
        written = 0.0
        for other in labelings:
            for r in np.unique(other):
                written -= 2 * (other == r).mean() ** 2
                for a in np.unique(labels):
                    written += 2 * (labels == a).mean() * (other[labels == a] == r).mean() ** 2
        assert gc.quadratic_information(labels, labelings) == pytest.approx(written, abs=1e-14)
    np.testing.assert_allclose(sums, sums[0], rtol=1e-14)


def test_the_consensus_is_the_best_of_all_partitions():
    rng = np.random.default_rng(1)
    labelings = [rng.integers(2, size=8) for _ in range(3)]
    every = ((0, *rest) for rest in itertools.product(range(3), repeat=7))  # the first cluster may be called 0
    best = max(gc.quadratic_information(one, labelings) for one in every)
    found = gc.quadratic_consensus(labelings, 3, n_init=30, random_state=0)
    assert gc.quadratic_information(found, labelings) == pytest.approx(best)
    names = [np.array(["x", "y"])[labelings[0]], 1 - labelings[1], labelings[2]]
    assert gc.quadratic_information(found, names) == pytest.approx(best)
    again = gc.quadratic_consensus(names, 3, n_init=30, random_state=0)
    assert gc.quadratic_information(again, labelings) == pytest.approx(best)
    assert gc.quadratic_information([0] * 8, labelings) == pytest.approx(0, abs=1e-12)
    with pytest.warns(ConvergenceWarning, match="the consensus was offered 4 clusters, and only 2"):
        gc.quadratic_consensus([[0, 0, 1, 1]], 4)


def test_the_cost_of_the_ensemble_is_its_squared_error():
    model = clone(ENSEMBLE).fit(Y, known=KNOWN)
    information = [gc.quadratic_information(one, model.labelings_) for one in (model.labels_, TARGET, KNOWN)]
    costs = [model.cost(one, Y) for one in (model.labels_, TARGET, KNOWN)]
    np.testing.assert_allclose(np.add(information, 2 * np.array(costs) / 200), information[0] + costs[0] / 100)
    assert costs[0] <= min(costs) + 1e-9 and model.trajectory_.betas.tolist() == [1]


# Both beside the rest of the library ----------------------------------------------------------------------------------


@pytest.mark.parametrize("model", [MIXTURE, ENSEMBLE], ids=["mixture", "ensemble"])
def test_capacity_nulls_and_comparison_take_it(model):
    clean, (known, _) = planted((10, 4), flip=0)
    first, second = (np.abs(clean - (np.random.default_rng(s).random(clean.shape) < 0.06)) for s in (0, 1))
    views, per_object = gc.replicates(first, second), {"known": known}
    null = gc.capacity_null(model, views, [2], n_repeats=3, per_object=per_object, progress=False, random_state=0)
    assert null.observed[0] > 0.5 and null.excess[0] > 0.4
    assert gc.evaluate(model, (first, second), per_object=per_object).value > 0.5
    assert gc.instability(model, first, second, per_object=per_object, random_state=0).value < 0.2
    compared = gc.compare_models({"model": model}, views, [2], null="permuted", per_object=per_object, progress=False)
    assert compared.ranking().excess.iloc[0] > 0.4
    chosen = gc.select_n_clusters(model, first, second, [1, 2], per_object=per_object, progress=False)
    if model is MIXTURE:  # certain labels, one of which differs, carry nothing at the only temperature they have
        assert chosen.n_clusters == 2 and chosen.capacities[1] > 0.5


@pytest.mark.parametrize("way", ["product", "memberships"])
def test_clusterings_follow_one_another(way):
    X, (known, *others) = planted((12, 9, 6), n_objects=400)
    model = gc.ConstrainedModelClustering(penalty=2, random_state=0)
    found = gc.successive_clusterings(model, X, known, 2, way=way)
    labels = [one.labels_ for one in found]
    assert len(found) == 2 and not hasattr(model, "labels_")
    values = np.array([[precision(one, other) for other in (known, *others)] for one in labels])
    assert values[:, 0].max() < 0.6 and values[:, 1:].max(axis=0).min() > 0.85
    assert precision(labels[0], labels[1]) < 0.65
    again = gc.successive_clusterings(model, X, np.eye(2)[known], 1, way=way)
    assert precision(again[0].labels_, labels[0]) > 0.97
    assert len(gc.successive_clusterings(ENSEMBLE, X, known, 3, way=way)) == 3


# What is refused ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("model", [MIXTURE, ENSEMBLE], ids=["mixture", "ensemble"])
def test_what_is_known_is_checked(model):
    wrong = {
        "known is missing": None,
        "known has one class for all 200": np.zeros(200, int),
        "known of dtype float64 holds other values": KNOWN / 2,
        "must hold only 0 and 1, got 2": np.column_stack([KNOWN, KNOWN + 1]),
        "known is no array of numbers: could not convert string": np.full((200, 2), "a"),
        r"shape \(200, 1, 1\)": KNOWN[:, None, None],
        r"shape \(200, 0\)": np.empty((200, 0)),
        "masked": np.ma.masked_equal(KNOWN, 1),
        "known of dtype object holds other values": pd.Series([1, "a"] * 100, dtype=object),
    }
    for words, known in wrong.items():
        with pytest.raises((ValueError, TypeError), match=words):
            clone(model).fit(Y, **({} if known is None else {"known": known}))
    with pytest.raises(ValueError, match="known has 3 entries, accepted is one for each of the 200 objects"):
        clone(model).fit(Y, known=[0, 1, 1])
    rows = [f"object {i}" for i in range(200)]
    with pytest.raises(ValueError, match="known has 'object 199' as object 0"):
        clone(model).fit(pd.DataFrame(Y, rows), known=pd.Series(KNOWN, rows)[::-1])
    with pytest.raises(ValueError, match="init must be None"):
        model.anneal(Y, init=clone(model).anneal(Y, known=KNOWN), known=KNOWN)
    if model is MIXTURE:
        for known, words in ((None, "known is missing"), ([0, 1], "known has 2 entries")):
            with pytest.raises(ValueError, match=words):
                model.cost(TARGET, Y, **({} if known is None else {"known": known}))
        assert model.cost(TARGET, Y, known=KNOWN, sample_weight=KNOWN) == model.cost(TARGET, Y, known=KNOWN)


WRONG = [
    (MIXTURE, "n_clusters", 201, ValueError),
    (MIXTURE, "n_clusters", 1.5, TypeError),
    (MIXTURE, "update", "jacobi", ValueError),
    (MIXTURE, "annealed", "yes", ValueError),
    (MIXTURE, "start", "labels", ValueError),
    (MIXTURE, "penalty", -1, ValueError),
    (MIXTURE, "penalty", np.inf, ValueError),
    (MIXTURE, "rate", 1.0, ValueError),
    (MIXTURE, "rate", 0.0, ValueError),
    (MIXTURE, "rate", 1 - 1e-9, ValueError),
    (MIXTURE, "n_init", 0, ValueError),
    (MIXTURE, "random_state", "a", TypeError),
    (ENSEMBLE, "n_clusters", 201, ValueError),
    (ENSEMBLE, "base", "k-means", TypeError),
    (ENSEMBLE, "base", 3, TypeError),
    (ENSEMBLE, "base", PCA(), TypeError),
    (ENSEMBLE, "base", gc.NoisyOrFactorization(n_refinements=0), TypeError),
    (ENSEMBLE, "n_local", 0, ValueError),
    (ENSEMBLE, "n_local", 2.0, TypeError),
    (ENSEMBLE, "n_init", 0, ValueError),
    (ENSEMBLE, "random_state", -1, ValueError),
]


@pytest.mark.parametrize(("model", "name", "value", "error"), WRONG)
def test_arguments_are_refused_by_name(model, name, value, error):
    for call in ("fit", "anneal"):
        with pytest.raises(error, match=name):
            getattr(clone(model).set_params(**{name: value}), call)(Y, known=KNOWN)


def test_other_arguments_are_refused_by_name():
    for X in (Y + 0.5, Y * 2, -Y):
        with pytest.raises(ValueError, match="X must hold only 0 and 1"):
            clone(MIXTURE).fit(X, known=KNOWN)
    with pytest.raises(ValueError, match="X_new must hold only 0 and 1"):
        clone(MIXTURE).fit(Y, known=KNOWN).potentials(2 * Y)
    with pytest.raises(ValueError, match="betas is"):
        ENSEMBLE.anneal(Y, betas=[1, 2], known=KNOWN)
    for call in (lambda one: gc.quadratic_consensus(one, 2), lambda one: gc.quadratic_information([0, 1], one)):
        for wrong, words in (
            ([], "labelings is empty"),
            ([[0, 1], [0, 1, 1]], r"labelings\[1\] has 3 entries"),
            ([[0.5, 1.0]], r"labelings\[0\] of dtype float64"),
            ([[[0, 1]]], r"labelings\[0\] has dtype"),
        ):
            with pytest.raises(ValueError, match=words):
                call(wrong)
    with pytest.raises(ValueError, match="labels has 3 entries"):
        gc.quadratic_information([0, 1, 1], [[0, 1]])
    with pytest.raises(ValueError, match="n_clusters=3 must be .*<= n_samples=2"):
        gc.quadratic_consensus([[0, 1]], 3)
    with pytest.raises(ValueError, match="n_init"):
        gc.quadratic_consensus([[0, 1]], 2, n_init=0)
    for name, value, error in (("n_more", 0, ValueError), ("n_more", 1.5, TypeError), ("way", "sum", ValueError)):
        with pytest.raises(error, match=name):
            gc.successive_clusterings(ENSEMBLE, Y, KNOWN, **({"n_more": 1} | {name: value}))
    with pytest.raises(TypeError, match="model AnnealedKMeans takes no known structure"):
        gc.successive_clusterings(gc.AnnealedKMeans(), Y, KNOWN, 1)
    with pytest.raises(ValueError, match="known has 2 entries"):
        gc.successive_clusterings(ENSEMBLE, Y, [0, 1], 1)
