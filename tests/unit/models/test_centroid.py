"""Annealed k-means against scikit-learn, plain NumPy and enumeration of all assignments."""

import pickle

import numpy as np
import pytest
import scipy.sparse
from oracles import assignments, boltzmann, coclustering
from scipy.spatial.distance import cdist
from scipy.special import logsumexp, softmax
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning

import gencap as gc
from gencap.kernels import kmeans as kernels
from gencap.models import centroid


def clouds(n_objects=300, n_clusters=5, n_features=2, seed=0, spread=6.0):
    rng = np.random.default_rng(seed)
    centers = spread * rng.standard_normal((n_clusters, n_features))
    return centers[np.arange(n_objects) % n_clusters] + rng.standard_normal((n_objects, n_features))


@pytest.mark.parametrize("splitting", ["exact", "mass"])
@pytest.mark.parametrize("n_features", [1, 2, 5])
def test_first_exact_split_is_within_a_percent(n_features, splitting):
    rng = np.random.default_rng(n_features)
    X = rng.standard_normal((400, n_features)) * np.linspace(1, 3, n_features) + 100
    critical = 1 / (2 * np.linalg.eigvalsh(np.atleast_2d(np.cov(X.T, bias=True)))[-1])
    run = gc.AnnealedKMeans(6, splitting=splitting).anneal(
        X, betas=critical * np.array([0.9, 0.99, 0.999, 1.005, 1.01])
    )
    apart = np.ptp(run.centroids, axis=1).max(axis=1) * np.sqrt(2 * critical)
    assert apart[:3].max() < 1e-6 and apart[3:].min() > 0.1


def test_a_cluster_splits_at_twice_the_largest_eigenvalue_of_its_own_covariance():
    """Three groups far apart, of different widths: each splits at its own temperature."""
    rng = np.random.default_rng(0)
    groups = [[30.0 * k, 0] + rng.standard_normal((100, 2)) * [width, width / 2] for k, width in enumerate((1, 0.5, 2))]
    widths = [1 / (2 * np.linalg.eigvalsh(np.cov(group.T, bias=True))[-1]) for group in groups]
    betas = np.sort(np.concatenate([[0.02, 0.1], np.outer(widths, [0.99, 1.01]).ravel()]))
    run = gc.AnnealedKMeans(60, splitting="mass", search=False).anneal(np.concatenate(groups), betas=betas)
    for k, critical in enumerate(widths):
        for beta, wanted in ((0.99 * critical, 1), (1.01 * critical, 2)):
            t = np.flatnonzero(np.isclose(betas, beta))[0]
            own = run.centroids[t][np.abs(run.centroids[t, :, 0] - 30 * k) < 12]
            assert min(len(np.unique(own.round(2), axis=0)), 2) == wanted


def test_coincident_centroids_are_one_at_every_temperature():
    """Exact: distinct centroids weigh alike, however many copies they have; mass: their share of the objects."""
    X = clouds(200, 4)
    for splitting in ("exact", "mass"):
        run = gc.AnnealedKMeans(9, splitting=splitting, search=False).anneal(X)
        for t in range(run.n_steps):
            distances, P = cdist(X, run.centroids[t], "sqeuclidean"), run.probabilities[t]
            names = np.unique((run.centroids[t] / 1e-4).round(), axis=0, return_inverse=True)[1].ravel()
            offsets = np.log(np.bincount(names)[names]) if splitting == "exact" else -np.log(P.mean(axis=0))
            wanted = softmax(-run.betas[t] * distances - offsets, axis=1)
            shared = np.array([wanted[:, names == name].sum(axis=1) for name in range(names.max() + 1)])
            given = np.array([P[:, names == name].sum(axis=1) for name in range(names.max() + 1)])
            np.testing.assert_allclose(given, shared, atol=5e-3)
            again = (P.T @ X) / P.sum(axis=0)[:, None]
            assert np.abs(again - run.centroids[t]).max() < 2e-3 / np.sqrt(2 * run.unit)


@pytest.mark.parametrize("splitting", ["copies", "exact", "mass"])
def test_splitting_ends_as_low_as_many_starts_and_lower_with_the_search(splitting):
    rng = np.random.default_rng(1)
    X = (rng.uniform(0, 10, (20, 2))).repeat(20, axis=0) + 0.3 * rng.standard_normal((400, 2))
    best = KMeans(20, n_init=100, random_state=0).fit(X).inertia_
    costs = []
    for search in (False, True):
        model = gc.AnnealedKMeans(20, splitting=splitting, search=search, random_state=0).fit(X)
        costs.append(model.cost(model.labels_, X) / best)
        np.testing.assert_array_equal(model.predict(X), model.labels_)
        assert model.offsets_.shape == (20,) and (splitting == "mass" or not model.offsets_.any())
    assert costs[1] <= min(1.01, costs[0] + 1e-9) and (splitting == "copies" or costs[0] < 1.2)


def placements(X, labels, i, n_clusters):
    """Costs of object i in every cluster, of the sampler's kernel."""
    labels, mass = np.array(labels), np.bincount(labels, minlength=n_clusters).astype(float)
    sums, kept = np.eye(n_clusters)[labels].T @ X, np.zeros((len(X), n_clusters))
    kernels.sequential_sweep(X, np.array([i]), 1.0, labels, mass, sums, kept, np.random.default_rng(0), False)
    return kept[i]


def test_metropolis_has_detailed_balance_and_a_systematic_scan_is_stationary():
    """Both kernels' transition probabilities between all labelings, from the costs that they compare."""
    n_objects, n_clusters, beta = 4, 3, 0.7
    X = np.random.default_rng(1).standard_normal((n_objects, 2))
    labelings = assignments(n_objects, n_clusters)
    place = {tuple(labels): number for number, labels in enumerate(labelings)}
    gibbs = boltzmann(partition_costs(X, labelings, n_clusters), beta)
    steps = np.zeros((2, n_objects, len(labelings), len(labelings)))  # metropolis, Gibbs; one object is visited
    for number, i in np.ndindex(len(labelings), n_objects):
        labels = labelings[number]
        h = placements(X, labels, i, n_clusters)
        accepted = np.minimum(1, np.exp(-beta * (h - h[labels[i]]))) / n_clusters
        accepted[labels[i]] += 1 - accepted.sum()
        for k in range(n_clusters):
            other = place[tuple(np.where(np.arange(n_objects) == i, k, labels))]
            steps[:, i, number, other] = accepted[k], softmax(-beta * h)[k]
    for step in steps.reshape(-1, *steps.shape[2:]):
        flow = gibbs[:, None] * step
        np.testing.assert_allclose(flow, flow.T, atol=1e-12)
    for scan in (np.linalg.multi_dot(steps[0]), np.linalg.multi_dot(steps[1])):
        np.testing.assert_allclose(gibbs @ scan, gibbs, atol=1e-12)
        flow = gibbs[:, None] * scan
        assert np.abs(flow - flow.T).max() > 1e-4  # sufficient, and not necessary


def test_metropolis_moves_with_the_metropolis_probabilities():
    X, beta, rng = np.array([[0.0], [1.0], [3.0]]), 0.9, np.random.default_rng(4)
    h, moves, none = placements(X, [0, 0, 1], 1, 2), 0, np.empty((0, 0))
    assert h.tolist() == [0.5, 2.0]
    for _ in range(20000):
        labels, mass, sums = np.array([0, 0, 1]), np.array([2.0, 1.0]), np.array([[1.0], [3.0]])
        kernels.sequential_sweep(X, np.array([1]), beta, labels, mass, sums, none, rng, True)
        moves += labels[1]
    assert moves / 20000 == pytest.approx(0.5 * np.exp(-beta * 1.5), abs=0.01)


@pytest.mark.parametrize("sampler", ["metropolis", "gibbs"])
@pytest.mark.parametrize("schedule", ["exponential", "linear", "logarithmic"])
def test_simulated_annealing_finds_the_best_of_all_partitions(sampler, schedule):
    X = np.random.default_rng(0).standard_normal((8, 2))
    best = partition_costs(X, assignments(8, 3), 3).min()
    betas = gc.cooling_schedule(schedule, 0.3, 100, 400)
    found = gc.simulated_annealing(X + 1e3, 3, betas, sampler=sampler, random_state=0)
    assert found.cost == pytest.approx(best, rel=1e-6) and found.cost == pytest.approx(found.costs.min(), rel=1e-6)
    assert partition_costs(X, [found.labels], 3)[0] == pytest.approx(best) and found.costs.shape == (400,)


def test_slow_cooling_ends_lower():
    X = clouds(300, 10, seed=2)
    unit = gc.AnnealedKMeans(10).unit(X)
    costs = [
        np.mean([gc.simulated_annealing(X, 10, betas, random_state=s).cost for s in range(5)])
        for betas in (gc.cooling_schedule("exponential", unit, 1000 * unit, n) for n in (20, 2000))
    ]
    assert costs[0] > 1.05 * costs[1]
    assert costs[1] <= 1.02 * KMeans(10, n_init=20, random_state=0).fit(X).inertia_


@pytest.mark.parametrize(
    "wrong, message",
    [
        ({"X": [1.0, 2.0]}, "X must be"),
        ({"n_clusters": 6}, "n_clusters=6"),
        ({"betas": [2.0, 1.0]}, "betas must ascend"),
        ({"sampler": "block"}, "sampler='block'.*metropolis.*gibbs"),
        ({"random_state": -1}, "random_state=-1"),
    ],
)
def test_bad_input_of_simulated_annealing_is_named(wrong, message):
    with pytest.raises(ValueError, match=message):
        gc.simulated_annealing(**{"X": np.arange(10.0).reshape(5, 2), "n_clusters": 2, "betas": [1.0, 2.0]} | wrong)


@pytest.mark.parametrize("n_features", [1, 2, 5])
def test_first_split(n_features):
    rng = np.random.default_rng(n_features)
    X = rng.standard_normal((400, n_features)) * np.linspace(1, 3, n_features) + 100
    critical = 1 / (2 * np.linalg.eigvalsh(np.atleast_2d(np.cov(X.T, bias=True)))[-1])
    spread = np.sqrt(1 / (2 * critical))
    run = gc.AnnealedKMeans(2, random_state=0).anneal(X, betas=critical * np.array([0.98, 1.02, 1.1]))
    apart = np.linalg.norm(run.centroids[:, 0] - run.centroids[:, 1], axis=1) / spread
    assert run.unit == pytest.approx(critical, rel=1e-9)
    assert apart[0] < 0.02 and apart[1] > 0.1 and apart[2] > apart[1]
    assert run.n_effective(0) == 1 and run.n_effective(2) == 2


def test_sweep_is_expectation_maximisation():
    rng = np.random.default_rng(0)
    X, centroids, beta = rng.standard_normal((50, 3)), rng.standard_normal((4, 3)), 0.7
    mass, sums = np.empty(4), np.empty((4, 3))
    offsets = rng.standard_normal(4)
    cost = kernels.em_sweep(X, centroids, offsets, beta, mass, sums)
    distances = ((X[:, None] - centroids) ** 2).sum(axis=2) + offsets
    P = softmax(-beta * distances, axis=1)
    np.testing.assert_allclose(mass, P.sum(axis=0), rtol=1e-12)
    np.testing.assert_allclose(sums, P.T @ X, atol=1e-12)
    assert cost == pytest.approx((P * distances).sum(), rel=1e-12)


def test_a_run_is_a_fixed_point_at_every_temperature():
    X = clouds()
    run = gc.AnnealedKMeans(5, random_state=0).anneal(X)
    np.testing.assert_allclose(run.betas, run.unit * np.geomspace(0.9, 120, 40))
    spread = np.sqrt(1 / (2 * run.unit))
    for t in range(run.n_steps):
        distances = ((X[:, None] - run.centroids[t]) ** 2).sum(axis=2)
        P = softmax(-run.betas[t] * distances, axis=1)
        np.testing.assert_allclose(run.potentials[t], distances, atol=1e-9)
        np.testing.assert_allclose(run.probabilities[t], P, atol=1e-9)
        again = (P.T @ X) / P.sum(axis=0)[:, None]
        assert np.abs(again - run.centroids[t])[P.sum(axis=0) > 1].max() < 2e-3 * spread
        assert run.costs[t] == pytest.approx(gc.AnnealedKMeans(5).cost(run.labels(t), X), rel=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_cost_is_as_low_as_that_of_scikit_learn(seed):
    X = clouds(seed=seed)
    model = gc.AnnealedKMeans(5, n_init=3, random_state=0).fit(X)
    peer = KMeans(5, n_init=10, random_state=0).fit(X)
    assert model.cost(model.labels_, X) <= 1.005 * peer.inertia_
    assert model.cost(peer.labels_, X) == pytest.approx(peer.inertia_, rel=1e-6)
    # The centroids of a warm mean field are not quite the means of the hard clusters.
    own = model.cost(model.labels_, X)
    assert own <= model.inertia_ <= 1.01 * own
    assert gc.metrics.matched_precision(model.labels_, peer.labels_) > 0.95


def test_prediction_and_distances():
    X = clouds()
    model = gc.AnnealedKMeans(5, random_state=0).fit(X)
    distances = model.transform(X)
    np.testing.assert_allclose(distances**2, model.trajectory_.potentials[-1], atol=1e-8)
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    assert list(model.get_feature_names_out()) == [f"annealedkmeans{k}" for k in range(5)]


def test_empty_clusters_cost_nothing_and_far_data_keep_their_digits():
    X = np.array([[0.0], [2.0], [10.0]])
    assert gc.AnnealedKMeans(3).cost([0, 0, 1], X) == pytest.approx(2.0)
    near, far = clouds(60), clouds(60) + 1e6
    first, second = (gc.AnnealedKMeans(5, random_state=0).fit(Y) for Y in (near, far))
    assert second.inertia_ == pytest.approx(first.inertia_, rel=1e-6)


def partition_costs(X, labelings, n_clusters):
    return np.array(
        [
            sum(((X[c == k] - X[c == k].mean(axis=0)) ** 2).sum() for k in range(n_clusters) if (c == k).any())
            for c in labelings
        ]
    )


@pytest.mark.parametrize("metropolis", [False, True])
@pytest.mark.parametrize("n_clusters", [2, 3])
def test_sequential_samplers_have_the_joint_distribution(n_clusters, metropolis):
    rng = np.random.default_rng(1)
    X = rng.standard_normal((6, 2))
    labelings = assignments(6, n_clusters)
    exact = coclustering(labelings, boltzmann(partition_costs(X, labelings, n_clusters), 0.5))
    labels = np.arange(6) % n_clusters
    mass, sums = np.bincount(labels).astype(float), np.array([X[labels == k].sum(axis=0) for k in range(n_clusters)])
    visited, none, order = np.empty((30000, 6), int), np.empty((0, 0)), np.arange(6)
    for row in visited:
        kernels.sequential_sweep(X, order, 0.5, labels, mass, sums, none, rng, metropolis)
        row[:] = labels
    assert np.abs(coclustering(visited, np.ones(len(visited))) - exact).max() < 0.01
    np.testing.assert_allclose(mass, np.bincount(labels, minlength=n_clusters), atol=1e-9)
    np.testing.assert_allclose(sums, np.eye(n_clusters)[labels].T @ X, atol=1e-9)


def test_block_gibbs_draws_from_the_softmax():
    rng = np.random.default_rng(2)
    X, centroids = rng.standard_normal((5, 2)), rng.standard_normal((3, 2))
    labels, mass, sums, counts = np.zeros(5, int), np.empty(3), np.empty((3, 2)), np.zeros((5, 3))
    kept = np.zeros((5, 3))
    for _ in range(10000):
        kernels.block_gibbs_sweep(X, centroids, 0.8, labels, mass, sums, kept, rng)
        counts[np.arange(5), labels] += 1
    distances = ((X[:, None] - centroids) ** 2).sum(axis=2)
    np.testing.assert_allclose(counts / 10000, softmax(-0.8 * distances, axis=1), atol=0.02)
    np.testing.assert_allclose(kept / 10000, distances, rtol=1e-9)
    np.testing.assert_allclose(mass, np.bincount(labels, minlength=3))
    np.testing.assert_allclose(sums, np.eye(3)[labels].T @ X, atol=1e-12)


def test_cold_sweep_is_lloyds():
    X = clouds(100)
    mass, sums = np.empty(4), np.empty((4, 2))
    centroids = X[:4].copy()
    cost = kernels.em_sweep(X, centroids, np.zeros(4), 1e12, mass, sums)
    distances = ((X[:, None] - centroids) ** 2).sum(axis=2)
    nearest = distances.argmin(axis=1)
    np.testing.assert_allclose(mass, np.bincount(nearest, minlength=4), atol=1e-10)
    np.testing.assert_allclose(sums, np.eye(4)[nearest].T @ X, atol=1e-10)
    assert cost == pytest.approx(distances.min(axis=1).sum())


@pytest.mark.parametrize("sampler", ["block", "sequential"])
def test_samplers_find_what_expectation_maximisation_finds(sampler):
    X = clouds(200, 3, spread=8)
    reference = gc.AnnealedKMeans(3, random_state=0).fit(X)
    sampled = gc.AnnealedKMeans(3, inference="gibbs", sampler=sampler, n_sweeps=15, random_state=0).fit(X)
    assert gc.metrics.matched_precision(sampled.labels_, reference.labels_) > 0.99
    # At the cold end hardly anybody moves, and the average over the sweeps is the cost of placing each object there.
    members = np.eye(3)[sampled.labels_]
    size = members.sum(axis=0)
    if sampler == "block":
        wanted = cdist(X, members.T @ X / size[:, None], "sqeuclidean")
    else:
        wanted = np.empty((200, 3))
        for i, k in np.ndindex(200, 3):
            others = np.flatnonzero((sampled.labels_ == k) & (np.arange(200) != i))
            pair = X[np.append(others, i)]
            after, before = (((Y - Y.mean(axis=0)) ** 2).sum() for Y in (pair, X[others]))
            wanted[i, k] = after - before
    np.testing.assert_allclose(sampled.trajectory_.potentials[-1], wanted, rtol=0.05, atol=0.05)


def test_sampled_potentials_are_those_of_the_joint_distribution():
    n_objects, n_clusters, beta = 5, 2, 0.4
    X = np.random.default_rng(3).standard_normal((n_objects, 2))
    labelings = assignments(n_objects, n_clusters)
    weights = boltzmann(partition_costs(X, labelings, n_clusters), beta)
    exact = np.zeros((n_objects, n_clusters))
    for labels, weight in zip(labelings, weights, strict=True):
        for i, k in np.ndindex(exact.shape):
            others = X[(np.array(labels) == k) & (np.arange(n_objects) != i)]
            if len(others):  # an empty cluster costs nothing
                exact[i, k] += weight * len(others) / (len(others) + 1) * ((X[i] - others.mean(axis=0)) ** 2).sum()
    model = gc.AnnealedKMeans(n_clusters, inference="gibbs", sampler="sequential", n_sweeps=10000, random_state=0)
    np.testing.assert_allclose(model.anneal(X, betas=[beta]).potentials[0], exact, rtol=0.05)


def test_more_restarts_never_cost_more():
    X = clouds(150, 8, seed=4)
    costs = [gc.AnnealedKMeans(8, n_init=n, random_state=1).fit(X).trajectory_.costs[-1] for n in (1, 3)]
    assert costs[1] <= costs[0]


def test_paired_start_keeps_the_names():
    X1 = clouds(200, 4, seed=5)
    X2 = X1 + np.random.default_rng(6).standard_normal(X1.shape) * 0.3
    model = gc.AnnealedKMeans(4, random_state=0)
    first = model.anneal(X1)
    second = model.anneal(X2, betas=first.betas, init=first)
    assert (first.labels(-1) == second.labels(-1)).mean() > 0.97
    assert np.abs(first.centroids[-1] - second.centroids[-1]).max() < 0.5
    with pytest.raises(ValueError, match="init"):
        model.anneal(X2, betas=first.betas[:5], init=first)
    first.centroids = None
    with pytest.raises(ValueError, match=r"init has centroids of shape \(\), accepted"):
        model.anneal(X2, betas=first.betas, init=first)


@pytest.mark.parametrize("inference", ["meanfield", "gibbs"])
def test_same_seed_same_result_and_pickle(inference):
    X = clouds(60)
    model = gc.AnnealedKMeans(4, inference=inference, n_sweeps=5, random_state=3).fit(X)
    again = clone(model).fit(X)
    np.testing.assert_array_equal(again.trajectory_.probabilities, model.trajectory_.probabilities)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict(X), model.labels_)


@pytest.mark.parametrize("X", [np.ones((6, 2)), np.array([[1.0, 2.0]]), np.zeros((3, 1))])
def test_equal_or_single_objects(X):
    for n_clusters in (1, len(X)):
        run = gc.AnnealedKMeans(n_clusters, random_state=0).anneal(X)
        assert run.unit > 0 and np.isfinite(run.probabilities).all() and np.isfinite(run.centroids).all()
        np.testing.assert_allclose(run.costs, 0, atol=1e-12)


GOOD = np.arange(10.0).reshape(5, 2)
BAD = {
    "one-dimensional": (GOOD[:, 0], {}, "[12]-?[Dd]|1D"),
    "empty": (np.zeros((0, 2)), {}, "0 sample|non-empty"),
    "no features": (np.zeros((5, 0)), {}, "0 feature|non-empty"),
    "nan": (np.where(GOOD == 3, np.nan, GOOD), {}, "NaN"),
    "inf": (np.where(GOOD == 3, np.inf, GOOD), {}, "inf"),
    "no clusters": (GOOD, {"n_clusters": 0}, "n_clusters"),
    "more clusters than objects": (GOOD, {"n_clusters": 6}, "n_clusters=6 .*n_samples=5"),
    "inference": (GOOD, {"inference": "em"}, "inference='em'.*meanfield.*gibbs.*metropolis"),
    "splitting": (GOOD, {"splitting": "plain"}, "splitting='plain'.*copies.*exact.*mass"),
    "search": (GOOD, {"search": "deep"}, "search='deep'.*True.*False"),
    "sampler": (GOOD, {"sampler": "sweep"}, "sampler='sweep'.*block.*sequential"),
    "masked": (np.ma.masked_greater(GOOD, 8), {}, "X has masked entries"),
    "complex": (GOOD + 1j, {}, "[Cc]omplex"),
    "huge": (GOOD * 1e200, {}, "X .*accepted"),
    "tiny": (GOOD * 1e-200, {}, "X .*accepted"),
    "negative seed": (GOOD, {"random_state": -1}, "random_state=-1"),
    "no starts": (GOOD, {"n_init": 0}, "n_init"),
    "no sweeps": (GOOD, {"n_sweeps": 0}, "n_sweeps"),
}


@pytest.mark.parametrize("case", BAD)
@pytest.mark.parametrize("method", ["fit", "anneal"])
def test_bad_input_is_named(case, method):
    X, parameters, message = BAD[case]
    with pytest.raises(ValueError, match=message):
        getattr(gc.AnnealedKMeans(2).set_params(**parameters), method)(X)


@pytest.mark.parametrize("method", ["fit", "anneal"])
def test_number_of_clusters_must_be_an_integer(method):
    with pytest.raises(TypeError, match="n_clusters"):
        getattr(gc.AnnealedKMeans(2.0), method)(GOOD)


@pytest.mark.parametrize("method", ["fit", "anneal"])
def test_sparse_vectors_are_refused(method):
    with pytest.raises(TypeError, match="[Ss]parse.*X"):
        getattr(gc.AnnealedKMeans(2), method)(scipy.sparse.csr_array(GOOD))


def test_generators_seed_a_run():
    runs = [gc.AnnealedKMeans(2, random_state=np.random.default_rng(s)).anneal(clouds(40)) for s in (3, 3, 4)]
    np.testing.assert_array_equal(runs[0].centroids, runs[1].centroids)
    assert (runs[0].centroids != runs[2].centroids).any()


def test_any_seed_is_taken_and_the_model_stays_as_it_is():
    X = clouds(40)
    model = gc.AnnealedKMeans(3, inference="gibbs", n_sweeps=2, random_state=2**40)
    before = dict(vars(model))
    first, again = model.anneal(X), model.anneal(X)
    assert vars(model) == before
    np.testing.assert_array_equal(first.potentials, again.potentials)
    other = model.set_params(random_state=2**40 + 2**32).anneal(X)  # more than the last 32 bits count
    assert (first.potentials != other.potentials).any()


def unequal(name, seed):
    """Groups that differ in size or width, or no groups: data and number of clusters."""
    rng = np.random.default_rng(seed)
    if name == "noise":
        return rng.standard_normal((150, 2)), 7
    if name == "two tight, one wide":
        sizes, widths, centers = (60, 60, 60), (0.02, 0.02, 1.0), np.array([[0.0, 0], [0.3, 0], [12, 0]])
    else:
        sizes, widths, centers = (200, 100, 50, 20, 10, 5), (1.0,) * 6, 6 * rng.standard_normal((6, 2))
    groups = zip(centers, widths, sizes, strict=True)
    return np.concatenate([c + w * rng.standard_normal((n, 2)) for c, w, n in groups]), len(sizes)


def free_energy(X, centroids, beta):
    return -logsumexp(-beta * cdist(X, centroids, "sqeuclidean"), axis=1).sum() / beta


@pytest.mark.parametrize("name", ["noise", "two tight, one wide", "sizes 5 to 200"])
def test_default_search_is_as_good_as_many_restarts(name):
    for seed in range(3):
        X, n_clusters = unequal(name, seed)
        peer = KMeans(n_clusters, n_init=20, random_state=0).fit(X)
        for state in range(2):
            model = gc.AnnealedKMeans(n_clusters, random_state=state).fit(X)
            assert model.cost(model.labels_, X) <= 1.005 * peer.inertia_


def test_the_colder_end_is_the_branch_of_lower_free_energy(monkeypatch):
    X, n_clusters = unequal("sizes 5 to 200", 4)
    model = gc.AnnealedKMeans(n_clusters, random_state=0)
    run = model.anneal(X)
    monkeypatch.setattr(gc.AnnealedKMeans, "_cross_over", lambda *rest: 0)
    cooled = model.anneal(X)
    gain = [
        free_energy(X, cooled.centroids[t], run.betas[t]) - free_energy(X, run.centroids[t], run.betas[t])
        for t in range(40)
    ]
    crossing = np.flatnonzero(gain)[0]
    assert 20 < crossing < 40 and min(gain[crossing:]) > 0 and cooled.costs[-1] > 1.01 * run.costs[-1]
    np.testing.assert_array_equal(run.potentials[:crossing], cooled.potentials[:crossing])


def test_groups_below_the_default_grid_part_on_a_colder_one():
    rng = np.random.default_rng(0)
    centers = np.array([[8.0 * i, 8 * (i % 2)] for i in range(4)]).repeat(2, axis=0) + np.tile(
        [[0, 0], [0.5, 0]], (4, 1)
    )
    X = centers.repeat(20, axis=0) + 0.05 * rng.standard_normal((160, 2))
    model = gc.AnnealedKMeans(8, random_state=0)
    run = model.anneal(X)
    assert run.n_effective() == 4
    cold = model.anneal(X, betas=run.unit * np.geomspace(0.9, 1e4, 50))
    best = KMeans(8, n_init=20, random_state=0).fit(X).inertia_
    assert cold.n_effective() == 8 and cold.costs[-1] == pytest.approx(best, rel=1e-3)


def test_limit_of_sweeps_is_reported_once(monkeypatch):
    X, spread = clouds(), clouds().std()
    assert gc.AnnealedKMeans(5, random_state=0).anneal(X).converged.all()
    monkeypatch.setattr(centroid, "MAX_SWEEPS", 6)
    model = gc.AnnealedKMeans(5, random_state=0)
    with pytest.warns(ConvergenceWarning, match=r"did not settle at \d+ of 40 temperatures") as caught:
        model.fit(X)
    assert len(caught) == 1 and f"{(~model.trajectory_.converged).sum()} of 40" in str(caught[0].message)
    steps = []
    for beta, centroids in zip(model.trajectory_.betas, model.trajectory_.centroids, strict=True):
        P = softmax(-beta * cdist(X, centroids, "sqeuclidean"), axis=1)
        steps.append(np.linalg.norm(P.T @ X / P.sum(axis=0)[:, None] - centroids))
    converged, steps = model.trajectory_.converged, np.array(steps)
    assert 0 < converged.sum() < 40 and model.n_iter_ >= 40 * 6
    assert steps[converged].max() < 1e-3 * spread < steps[~converged].max()
    assert gc.AnnealedKMeans(2, inference="gibbs", n_sweeps=2).anneal(X).converged.all()


def test_coldest_accepted_temperature():
    X = clouds(60)
    model = gc.AnnealedKMeans(5, random_state=0)
    unit = model.anneal(X, betas=[1.0]).unit
    run = model.anneal(X, betas=[unit, 0.9e15 * unit])
    nearest = cdist(X, run.centroids[1], "sqeuclidean").argmin(axis=1)
    np.testing.assert_array_equal(run.probabilities[1], np.eye(5)[nearest])
    for inference in ("meanfield", "gibbs"):
        with pytest.raises(ValueError, match=r"betas go up to 1e\+308, accepted is up to 1e\+15 units"):
            gc.AnnealedKMeans(5, inference=inference).anneal(X, betas=[1.0, 1e308])


@pytest.mark.parametrize("method", ["predict", "transform"])
def test_masks_of_new_objects_are_refused(method):
    model = gc.AnnealedKMeans(2, random_state=0).fit(GOOD)
    with pytest.raises(ValueError, match="X has masked entries"):
        getattr(model, method)(np.ma.masked_greater(GOOD, 8))
    with pytest.raises(ValueError, match="labels has masked entries"):
        model.cost(np.ma.masked_equal([0, 1, 0, 1, 0], 1), GOOD)


def test_start_from_other_features_is_named():
    run = gc.AnnealedKMeans(2, random_state=0).anneal(GOOD)
    with pytest.raises(ValueError, match=r"init has centroids of shape .*, 2\), accepted .* of 1 features"):
        gc.AnnealedKMeans(2).anneal(GOOD[:, :1], betas=run.betas, init=run)


def test_bad_labels_and_grids_are_named():
    with pytest.raises(ValueError, match="labels"):
        gc.AnnealedKMeans(2).cost([0, 1, 2, 0, 1], GOOD)
    with pytest.raises(ValueError, match="betas"):
        gc.AnnealedKMeans(2).anneal(GOOD, betas=[2.0, 1.0])


def test_costs_of_a_walk_are_exact_beside_a_far_object():
    X = np.vstack([np.random.default_rng(0).normal(size=(20, 2)), [[1e9, 0.0]]])
    found = gc.simulated_annealing(X, 3, np.geomspace(0.1, 100, 200), random_state=0)
    exact = sum(
        ((X[found.labels == k] - X[found.labels == k].mean(axis=0)) ** 2).sum() for k in np.unique(found.labels)
    )
    assert found.cost == found.costs.min() == pytest.approx(exact, rel=1e-6)
