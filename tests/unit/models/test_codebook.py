"""Least-angle and complexity-constrained clustering against enumeration, fixed-point equations and plain NumPy."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import assignments
from scipy.spatial.distance import cdist
from scipy.special import softmax
from sklearn.cluster import KMeans

import gencap as gc


def on_the_circle(*angles, n=60, spread=0.2, seed=0):
    angles = np.repeat(angles, n) + spread * np.random.default_rng(seed).standard_normal(n * len(angles))
    return np.column_stack([np.cos(angles), np.sin(angles)])


def angle_cost(labels, X):
    """Pair by pair, every object with itself included."""
    E = X / np.linalg.norm(X, axis=1, keepdims=True)
    pairs = [(i, j) for i in range(len(X)) for j in range(i, len(X)) if labels[i] == labels[j]]
    return -sum(E[i] @ E[j] for i, j in pairs) / len(X)


@settings(max_examples=25, deadline=None)
@given(st.integers(2, 8), st.integers(1, 3), st.integers(1, 4), st.integers(0, 10**6))
def test_cost_of_angles_is_the_sum_over_pairs(n_objects, n_features, n_clusters, seed):
    rng = np.random.default_rng(seed)
    X, labels = rng.standard_normal((n_objects, n_features)), rng.integers(min(n_clusters, n_objects), size=n_objects)
    model = gc.LeastAngleClustering(min(n_clusters, n_objects))
    cost = model.cost(labels, X)
    assert cost == pytest.approx(angle_cost(labels, X), abs=1e-12)
    assert model.cost(labels, rng.uniform(0.1, 10, (n_objects, 1)) * X) == pytest.approx(cost, abs=1e-12)


@pytest.mark.parametrize("n_clusters, n_features", [(2, 2), (3, 2), (3, 4)])
def test_fields_part_at_clusters_over_the_largest_eigenvalue(n_clusters, n_features):
    X = np.random.default_rng(n_clusters).standard_normal((200, n_features))
    E = X / np.linalg.norm(X, axis=1, keepdims=True)
    critical = n_clusters / np.linalg.eigvalsh(E.T @ E / len(E))[-1]
    model = gc.LeastAngleClustering(n_clusters, random_state=0)
    assert model.unit(X) == pytest.approx(critical, rel=1e-9)
    run = model.anneal(X, betas=critical * np.array([0.9, 0.99, 1.01, 1.05]))
    apart = np.ptp(run.centroids, axis=1).max(axis=1)
    assert apart[:2].max() < 1e-4 and apart[2] > 0.01 and apart[3] > apart[2]
    np.testing.assert_allclose(run.centroids[0], np.tile(E.mean(axis=0) / n_clusters, (n_clusters, 1)), atol=1e-5)


def test_every_temperature_is_at_a_fixed_point():
    X = on_the_circle(0, 2, 4)
    run = gc.LeastAngleClustering(4, random_state=0).anneal(X)
    assert run.converged.all()
    for t, beta in enumerate(run.betas):
        np.testing.assert_allclose(run.potentials[t], -X @ run.centroids[t].T, atol=1e-12)
        np.testing.assert_allclose(run.probabilities[t], softmax(beta * X @ run.centroids[t].T, axis=1), atol=1e-12)
        assert np.abs(run.probabilities[t].T @ X / len(X) - run.centroids[t]).max() < 1e-6


def test_the_fixed_point_is_stationary_for_the_exponent_of_the_partition_function():
    """f(y) = sum |y|^2 / 2 - (1 / beta n) sum_i log sum_k exp(beta e_i y_k): its gradient, by finite differences."""
    X, beta = on_the_circle(0, 2, n=10), 5.0
    run = gc.LeastAngleClustering(2, random_state=0).anneal(X, betas=[beta])

    def f(y):
        return (y**2).sum() / 2 - np.log(np.exp(beta * X @ y.T).sum(axis=1)).mean() / beta

    y, step = run.centroids[0], 1e-5
    for k, d in np.ndindex(y.shape):
        shift = np.zeros_like(y)
        shift[k, d] = step
        assert abs(f(y + shift) - f(y - shift)) / (2 * step) < 1e-6
    assert f(y) < f(np.tile(X.mean(axis=0) / 2, (2, 1))) - 1e-3


def test_annealing_finds_the_best_of_all_partitions():
    for seed in range(4):
        X = np.random.default_rng(seed).standard_normal((6, 2))
        model = gc.LeastAngleClustering(3, n_init=5, random_state=0).fit(X)
        best = min(model.cost(labels, X) for labels in assignments(6, 3))
        assert model.trajectory_.costs[-1] <= best + 0.02 * abs(best)


def test_large_clusters_take_in_what_is_well_apart():
    X = on_the_circle(0, 1.2, 2.6, n=100, spread=0.25)
    model = gc.LeastAngleClustering(3, random_state=0).fit(X)
    assert sorted(np.bincount(model.labels_, minlength=3)) == [0, 100, 200]
    assert model.trajectory_.costs[-1] < 1.2 * model.cost(np.repeat([0, 1, 2], 100), X)


def blobs(n=100, spread=0.1, seed=0):
    centers = np.array([[0, 0], [1, 0], [0, 1], [1, 1], [0.5, 0.5]])
    return centers.repeat(n, axis=0) + spread * np.random.default_rng(seed).standard_normal((5 * n, 2))


@settings(max_examples=25, deadline=None)
@given(st.integers(2, 9), st.integers(1, 3), st.floats(0.01, 10), st.integers(0, 10**6))
def test_cost_of_a_codebook_is_distortion_and_code_length(n_objects, n_features, price, seed):
    rng = np.random.default_rng(seed)
    X, labels = rng.standard_normal((n_objects, n_features)), rng.integers(2, size=n_objects)
    wanted = 0.0
    for i in range(n_objects):
        own = X[labels == labels[i]]
        wanted += ((X[i] - own.mean(axis=0)) ** 2).sum() - price * np.log(len(own) / n_objects)
    model = gc.ComplexityConstrainedClustering(2, price=price)
    assert model.cost(labels, X) == pytest.approx(wanted, rel=1e-9)


@pytest.mark.parametrize("price, wanted", [(0.03, 5), (0.1, 5), (0.2, 4)])
def test_the_number_found_does_not_depend_on_the_number_offered(price, wanted):
    """At .2 it pays to code the middle group with one of the corners, which alternate minimisation does not find."""
    X = blobs()
    fits = [
        gc.ComplexityConstrainedClustering(k, price=price, random_state=seed).fit(X)
        for k in (5, 8, 16, 40)
        for seed in (0, 1)
    ]
    assert {fit.n_clusters_ for fit in fits} == {wanted}
    costs = [fit.trajectory_.costs[-1] for fit in fits]
    assert max(costs) <= 1.001 * min(costs)
    planted = np.repeat(range(5), 100)
    for fit in fits:
        assert fit.trajectory_.costs[-1] <= fit.cost(planted, X)
        assert gc.metrics.matched_precision(fit.labels_, planted) > 0.95 * wanted / 5


def test_a_higher_price_leaves_fewer_clusters():
    X = blobs(40)
    found = [
        gc.ComplexityConstrainedClustering(40, price=p, random_state=0).fit(X).n_clusters_
        for p in (0.005, 0.02, 0.1, 1)
    ]
    assert found == sorted(found, reverse=True) and found[0] > 5 and found[2:] == [5, 1]


def test_the_codebook_is_the_best_of_all_partitions():
    for seed in range(3):
        X = np.random.default_rng(seed).standard_normal((6, 2))
        for price in (0.1, 0.5, 2.0):
            model = gc.ComplexityConstrainedClustering(3, price=price, n_init=5, random_state=0)
            best = min(model.cost(labels, X) for labels in assignments(6, 3))
            assert model.fit(X).trajectory_.costs[-1] <= best * (1 + 1e-3) + 1e-9


def test_a_uniform_quantiser_and_a_lower_cost_than_k_means():
    """One Gaussian at a low price: cells of about the same width, and no k-means of any size is as cheap."""
    X = np.random.default_rng(0).standard_normal((1000, 1))
    model = gc.ComplexityConstrainedClustering(30, price=0.02, random_state=0).fit(X)
    peers = [KMeans(k, n_init=5, random_state=0).fit(X).labels_ for k in range(8, 30, 3)]
    assert model.trajectory_.costs[-1] < min(model.cost(labels, X) for labels in peers)
    used = np.sort(model.cluster_centers_[np.unique(model.labels_), 0])
    inner = np.diff(used[np.abs(used) < 1.5])
    peer = np.sort(KMeans(len(used), n_init=5, random_state=0).fit(X).cluster_centers_[:, 0])
    outer = np.diff(peer[np.abs(peer) < 1.5])
    assert inner.std() / inner.mean() < 0.3 and len(inner) > 5
    assert np.diff(used).max() / np.median(np.diff(used)) < np.diff(peer).max() / np.median(outer)


def test_every_step_is_a_fixed_point_with_shares():
    X, price = blobs(40), 0.05
    run = gc.ComplexityConstrainedClustering(12, price=price, random_state=0).anneal(X)
    settled = np.flatnonzero(run.converged)
    assert len(settled) > 30
    for t in settled:
        P = run.probabilities[t]
        mass = P.sum(axis=0)
        full = mass > 1e-3
        np.testing.assert_allclose(run.centroids[t][full], (P.T @ X / np.maximum(mass, 1e-9)[:, None])[full], atol=5e-3)
        offsets = run.potentials[t] - cdist(X, run.centroids[t], "sqeuclidean")
        np.testing.assert_allclose(offsets, np.tile(offsets[0], (len(X), 1)), atol=1e-9)
        np.testing.assert_allclose(np.exp(-offsets[0] / price), mass / len(X), atol=5e-3)


def test_at_the_price_of_the_temperature_it_is_mass_constrained_annealing():
    X = blobs(40)
    model = gc.AnnealedKMeans(8, splitting="mass", random_state=0)
    for beta in model.unit(X) * np.array([1.5, 6.0, 40.0]):
        run = model.anneal(X, betas=[beta])
        again = gc.ComplexityConstrainedClustering(8, price=1 / beta).anneal(X, betas=[beta], init=run)
        np.testing.assert_allclose(again.probabilities, run.probabilities, atol=2e-2)


def test_equal_objects_are_one_cluster():
    model = gc.ComplexityConstrainedClustering(3, random_state=0).fit(np.ones((6, 2)))
    assert model.n_clusters_ == 1 and model.trajectory_.costs[-1] == pytest.approx(0, abs=1e-9)


GOOD = np.arange(1.0, 11.0).reshape(5, 2)
ANGLE, CODE = gc.LeastAngleClustering(2), gc.ComplexityConstrainedClustering(2)
BAD = {
    "no direction": (ANGLE, GOOD * [[1], [0], [1], [1], [1]], {}, "X has the vector 0 as object 1"),
    "no angle starts": (ANGLE, GOOD, {"n_init": 0}, "n_init=0"),
    "too many fields": (ANGLE, GOOD, {"n_clusters": 6}, "n_clusters=6 .*n_samples=5"),
    "angle seed": (ANGLE, GOOD, {"random_state": -1}, "random_state=-1"),
    "free code": (CODE, GOOD, {"price": 0.0}, "price=0.0"),
    "negative price": (CODE, GOOD, {"price": -1.0}, "price=-1.0"),
    "price is nan": (CODE, GOOD, {"price": np.nan}, "price=nan"),
    "no code starts": (CODE, GOOD, {"n_init": 0}, "n_init=0"),
    "too many codes": (CODE, GOOD, {"n_clusters": 6}, "n_clusters=6 .*n_samples=5"),
    "nan": (CODE, np.where(GOOD == 3, np.nan, GOOD), {}, "NaN"),
}


@pytest.mark.parametrize("case", BAD)
@pytest.mark.parametrize("method", ["fit", "anneal", "unit"])
def test_bad_input_is_named(case, method):
    model, X, parameters, message = BAD[case]
    if method == "unit" and "seed" in case:
        return
    with pytest.raises(ValueError, match=message):
        getattr(type(model)(2).set_params(**parameters), method)(X)


def test_the_price_is_a_number():
    with pytest.raises(TypeError, match="price"):
        gc.ComplexityConstrainedClustering(2, price="low").fit(GOOD)
