"""Phase transitions against random matrix theory: eigenvectors of samples, closed forms, hand-made runs."""

import numpy as np
import pytest
from scipy.sparse.linalg import eigsh
from scipy.spatial.distance import cdist
from sklearn.base import clone

import gencap as gc
from gencap.theory.phases import critical_alpha, critical_beta, learnable_cosine, order_parameters, quench
from gencap.views.measures import all_coordinates, few_coordinates


def source_means(n_features, apart):
    return np.eye(2, n_features) * apart / np.sqrt(2)


def top_of_covariance(X):
    """Largest eigenvalue of the sample's covariance and its direction, by way of the smaller Gram matrix."""
    X = X - X.mean(axis=0)
    wide = X.shape[1] > len(X)
    gram = X @ X.T if wide else X.T @ X
    values, vectors = eigsh(gram, 1, v0=np.linspace(1, 2, len(gram)))
    direction = X.T @ vectors[:, 0] if wide else vectors[:, 0]
    return values[0] / len(X), direction / np.linalg.norm(direction)


@pytest.mark.parametrize("n_features", [100, 500])
def test_first_split_is_where_the_covariance_says(n_features):
    X, _, _ = gc.datasets.two_sources_high_dimensional(500, n_features, random_state=1)
    predicted = 1 / (2 * top_of_covariance(X)[0])
    apart = []
    for factor in (0.98, 1.02):
        run = gc.AnnealedKMeans(2, random_state=0).anneal(X, betas=[factor * predicted])
        apart.append(order_parameters(run, source_means(n_features, 4.5 * np.sqrt(100 / n_features))).separation[0])
    assert apart[0] < 1e-3
    assert apart[1] > 0.02


@pytest.mark.parametrize("n_features, n_objects", [(100, 500), (500, 500), (1200, 200)])
def test_critical_beta_is_that_of_ten_samples(n_features, n_objects):
    apart = 4.5 * np.sqrt(100 / n_features)
    measured = []
    for seed in range(10):
        X, _, _ = gc.datasets.two_sources_high_dimensional(n_objects, n_features, random_state=seed)
        measured.append(1 / (2 * top_of_covariance(X)[0]))
    assert np.mean(measured) == pytest.approx(critical_beta(n_objects / n_features, apart), rel=0.03)


def test_critical_beta_counts_the_variance():
    X, _, _ = gc.datasets.paired_gaussian_sources(4000, source_means(40, 6.0), variance=1.5, random_state=0)
    predicted = critical_beta(100, 6.0 / np.sqrt(3.0), variance=1.5)
    assert 1 / (2 * top_of_covariance(X)[0]) == pytest.approx(predicted, rel=0.05)


@pytest.mark.parametrize("alpha", [10, 5, 2, 1, 0.5])
def test_learnable_cosine_is_that_of_the_leading_eigenvector(alpha):
    n_objects = 1000
    n_features = round(n_objects / alpha)
    means = source_means(n_features, 2.0)
    truth = (means[0] - means[1]) / 2.0
    found = []
    for seed in range(4):
        X, _, _ = gc.datasets.paired_gaussian_sources(n_objects, means, variance=0.5, random_state=seed)
        found.append(abs(top_of_covariance(X)[1] @ truth))
    assert learnable_cosine(alpha, 2.0) > 0.4
    assert np.mean(found) == pytest.approx(learnable_cosine(alpha, 2.0), abs=0.05)


def test_the_direction_is_lost_below_critical_alpha():
    assert critical_alpha(2.0) == pytest.approx(0.25)
    for u in (0.7, 2.0, 3.0):
        edge = critical_alpha(u)
        assert learnable_cosine(0.99 * edge, u) == 0.0 < learnable_cosine(1.01 * edge, u)
        assert critical_beta(0.999 * edge, u) == pytest.approx(critical_beta(1.001 * edge, u), rel=2e-3)
    assert learnable_cosine(1e9, 2.0) == pytest.approx(1.0, abs=1e-6)
    assert critical_beta(1e9, 2.0) == pytest.approx(1 / 3, rel=1e-6)  # variance .5 + 2^2 / 4 along the difference


def run_with(centroids):
    """A run in which only the centroids (T, K, D) matter."""
    centroids = np.asarray(centroids, dtype=float)
    steps, n_clusters, _ = centroids.shape
    P = np.full((steps, 6, n_clusters), 1 / n_clusters)
    return gc.Trajectory(np.arange(1.0, steps + 1), P, None, np.zeros(steps), centroids)


def test_order_parameters_of_hand_made_runs():
    truth = np.array([[3.0, 1.0, 0.0], [-1.0, 1.0, 0.0]])  # half difference (2, 0, 0)
    # The last two lie on both sides of what counts as split, a squared distance of 1e-6 in that of the sources.
    half = np.array([[2, 0, 0], [-2, 0, 0], [1, 1, 0], [0, 3, 4], [2.1e-3, 0, 0], [1.9e-3, 0, 0]], dtype=float)
    middle = np.array([[5.0, -2.0, 1.0]])
    orders = order_parameters(run_with(np.stack([middle + half, middle - half], axis=1)), truth)
    np.testing.assert_allclose(orders.separation, [1, 1, 0.5, 25 / 4, 1.05e-3**2, 0.95e-3**2], rtol=1e-9)
    np.testing.assert_allclose(orders.cosine, [1, 1, np.sqrt(0.5), 0, 1, 0], atol=1e-12)
    np.testing.assert_allclose(orders.projection, [1, 1, 0.5, 0, 1.05e-3, 0], atol=1e-12)


def test_order_parameters_do_not_depend_on_names_and_units():
    rng = np.random.default_rng(0)
    centroids, truth = rng.standard_normal((5, 2, 4)), rng.standard_normal((2, 4))
    before = order_parameters(run_with(centroids), truth)
    after = order_parameters(run_with(7 * centroids[:, ::-1] + 3), 7 * truth)
    for name in ("separation", "cosine", "projection"):
        np.testing.assert_allclose(getattr(after, name), getattr(before, name))


def test_order_parameters_name_bad_input():
    truth = np.eye(2, 3)
    good = run_with(np.ones((1, 2, 3)))
    without = gc.Trajectory(np.ones(1), np.full((1, 6, 2), 0.5), None, np.zeros(1))
    for run, centers, message in (
        (without, truth, "trajectory must be a Trajectory with centroids"),
        ("run", truth, "trajectory must be a Trajectory"),
        (run_with(np.ones((1, 3, 3))), np.eye(3), "and 2 clusters, got Trajectory.*3 clusters"),
        (good, np.eye(2), r"centers has shape \(2, 2\)"),
        (good, np.ones((2, 3)), "centers are equal"),
        (good, truth * np.nan, "centers"),
    ):
        with pytest.raises(ValueError, match=message):
            order_parameters(run, centers)


@pytest.mark.parametrize("function", [learnable_cosine, critical_beta])
@pytest.mark.parametrize("arguments, name", [((0, 1.0), "alpha"), ((1.0, 0), "u"), ((np.nan, 1.0), "alpha")])
def test_theory_names_bad_input(function, arguments, name):
    with pytest.raises(ValueError, match=name):
        function(*arguments)
    with pytest.raises(ValueError, match="u must|u="):
        critical_alpha(-1.0)
    with pytest.raises(ValueError, match="u=1e-200 must be finite and >= 1e-70 and <= 1e[+]70"):
        critical_alpha(1e-200)
    with pytest.raises(ValueError, match="variance"):
        critical_beta(1.0, 1.0, variance=0)


BETAS = np.array([0.05, 0.3, 1.0])


def test_quench_is_one_run_at_every_temperature():
    X, _, _ = gc.datasets.two_sources_high_dimensional(60, 20, random_state=0)
    model = gc.AnnealedKMeans(2, inference="gibbs", n_sweeps=4, random_state=5)
    first, second = quench(model, X, BETAS), quench(model, X, BETAS)
    assert model.random_state == 5
    np.testing.assert_array_equal(first.betas, BETAS)
    np.testing.assert_array_equal(first.probabilities, second.probabilities)
    seeds = np.random.SeedSequence(5).generate_state(3, np.uint64)
    for t, beta in enumerate(BETAS):
        alone = clone(model).set_params(random_state=int(seeds[t])).anneal(X, betas=[beta])
        np.testing.assert_allclose(first.probabilities[t], alone.probabilities[0], atol=1e-9)
        np.testing.assert_allclose(first.centroids[t], alone.centroids[0], atol=1e-9)
        assert first.costs[t] == pytest.approx(alone.costs[0])
    assert first.unit == pytest.approx(1 / (2 * top_of_covariance(X)[0]))


@pytest.mark.parametrize("seed", [np.random.default_rng(3), np.random.RandomState(3), np.uint8(255), np.int8(127)])
def test_quench_takes_every_random_state_and_leaves_the_model_alone(seed):
    X = np.random.default_rng(0).standard_normal((30, 3))
    model = gc.AnnealedKMeans(2, inference="gibbs", n_sweeps=2, random_state=seed)
    run = quench(model, X, BETAS)
    assert model.random_state is seed and np.isfinite(run.probabilities).all()
    if isinstance(seed, np.integer):
        again = quench(model.set_params(random_state=int(seed)), X, BETAS)
        np.testing.assert_array_equal(run.potentials, again.potentials)


def test_temperatures_share_no_seeds():
    X = np.random.default_rng(0).standard_normal((30, 3))
    betas = [0.1, 0.1 + 1e-12, 0.1 + 2e-12]
    runs = [quench(gc.AnnealedKMeans(2, "gibbs", n_sweeps=2, random_state=s), X, betas).potentials for s in (5, 6)]
    chains = np.concatenate(runs)
    apart = np.abs(chains[:, None] - chains).max(axis=(2, 3))
    assert apart[~np.eye(6, dtype=bool)].min() > 0.01


def test_quench_without_a_seed_and_with_bad_input():
    X = np.random.default_rng(0).standard_normal((12, 3))
    model = gc.AnnealedKMeans(2, inference="gibbs", n_sweeps=2)
    assert quench(model, X, BETAS).probabilities.shape == (3, 12, 2)
    with pytest.raises(ValueError, match="betas"):
        quench(model, X, BETAS[::-1])
    with pytest.raises(ValueError, match="X"):
        quench(model, X[0], BETAS)
    model = gc.AnnealedKMeans(20, inference="gibbs", random_state=3)
    with pytest.raises(ValueError, match="n_clusters"):
        quench(model, X, BETAS)
    assert model.random_state == 3


def test_few_coordinates_keep_the_distances():
    for shape in ((8, 30), (30, 8)):
        X = np.random.default_rng(1).standard_normal(shape) + 50
        few, offset, basis = few_coordinates(X)
        assert few.shape == (shape[0], 8) and (basis is None) == (shape[1] == 8)
        np.testing.assert_allclose(all_coordinates(few, offset, basis), X, atol=1e-10)
        np.testing.assert_allclose(cdist(few, few), cdist(X, X), atol=1e-10)


@pytest.mark.parametrize("how", ["meanfield", "gibbs", "quench"])
def test_more_features_than_objects(how):
    X, _, _ = gc.datasets.two_sources_high_dimensional(40, 300, distance=8, random_state=2)
    X += 10
    model = gc.AnnealedKMeans(2, inference="meanfield" if how == "meanfield" else "gibbs", n_sweeps=5, random_state=0)
    run = quench(model, X, BETAS) if how == "quench" else model.anneal(X, betas=BETAS)
    assert run.centroids.shape == (3, 2, 300)
    centered = X - X.mean(axis=0)
    for t in range(3):
        assert run.costs[t] == pytest.approx(model.cost(run.labels(t), X))
        if how == "meanfield":
            np.testing.assert_allclose(run.potentials[t], cdist(X, run.centroids[t], "sqeuclidean"), atol=1e-8)
        for centroid in run.centroids[t] - X.mean(axis=0):  # a mean of objects, so nothing sticks out of their span
            weights = np.linalg.lstsq(centered.T, centroid)[0]
            np.testing.assert_allclose(centered.T @ weights, centroid, atol=1e-8)
