"""Transfer of k-means and mixtures: mappings against loops and enumeration, costs against closed forms."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from joblib import parallel_config
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.cluster import DBSCAN, KMeans
from sklearn.mixture import GaussianMixture

import gencap as gc
from gencap.validation import transfer

MAPPINGS = ("nearest_cluster", "identity", "nearest_object", "hungarian", "soft", "soft_object")


def case(seed, n1=9, n2=6, k=3, d=2):
    rng = np.random.default_rng(seed)
    labels = np.concatenate([np.arange(k), rng.integers(k, size=n1 - k)])
    return rng.normal(size=(n1, d)), rng.normal(size=(n2, d)), labels, rng.normal(size=(k, d))


def solved(labels, centroids):
    """k-means as if it had been fitted."""
    model = KMeans(len(centroids))
    model.labels_, model.cluster_centers_ = labels, centroids
    return model


def by_loops(mapping, X1, X2, labels, centroids, factor):
    """The mapping as the source's formulas say it, object by object."""
    mean = X1.mean(axis=0)
    beta = factor / np.mean([np.sum((x - mean) ** 2) for x in X1])
    M = np.zeros((len(X2), len(centroids)))
    for i, x in enumerate(X2):
        to_objects = [np.sum((x - y) ** 2) for y in X1]
        to_centroids = [np.sum((x - c) ** 2) for c in centroids]
        if mapping == "nearest_cluster":
            M[i, np.argmin(to_centroids)] = 1
        elif mapping == "identity":
            M[i, labels[i]] = 1
        elif mapping == "nearest_object":
            M[i, labels[np.argmin(to_objects)]] = 1
        elif mapping == "soft":
            for k, distance in enumerate(to_centroids):
                M[i, k] = np.exp(-beta * distance) / sum(np.exp(-beta * d) for d in to_centroids)
        elif mapping == "soft_object":
            for j, distance in enumerate(to_objects):
                M[i, labels[j]] += np.exp(-beta * distance) / sum(np.exp(-beta * d) for d in to_objects)
    return M


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from(MAPPINGS), st.floats(0.1, 5))
def test_mappings_equal_loops(seed, mapping, factor):
    X1, X2, labels, centroids = case(seed, n2=9 if mapping == "identity" else 6)
    M = gc.mapping_probabilities(solved(labels, centroids), X1, X2, mapping=mapping, factor=factor)
    np.testing.assert_allclose(M.sum(axis=1), 1)
    if mapping == "hungarian":
        return
    np.testing.assert_allclose(M, by_loops(mapping, X1, X2, labels, centroids, factor), atol=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_hungarian_equals_enumeration_of_six_objects(seed):
    X1, X2, _, centroids = case(seed, n1=6, n2=6)
    labels, centroids = np.arange(6), np.resize(centroids, (6, 2))
    M = gc.mapping_probabilities(solved(labels, centroids), X1, X2, mapping="hungarian")
    distances = ((X2[:, None] - X1) ** 2).sum(axis=2)
    best = min(itertools.permutations(range(6)), key=lambda p: sum(distances[i, p[i]] for i in range(6)))
    assert np.array_equal(M.argmax(axis=1), best)


def test_soft_mappings_between_uniform_and_nearest():
    X1, X2, labels, centroids = case(1)
    model, pair = solved(labels, centroids), ("soft", "soft_object")
    cold = [gc.mapping_probabilities(model, X1, X2, mapping=m, factor=1e7) for m in pair]
    near = [gc.mapping_probabilities(model, X1, X2, mapping=m) for m in ("nearest_cluster", "nearest_object")]
    np.testing.assert_allclose(cold, near, atol=1e-12)
    hot = [gc.mapping_probabilities(model, X1, X2, mapping=m, factor=0.0) for m in pair]
    np.testing.assert_allclose(hot[0], 1 / 3)
    np.testing.assert_allclose(hot[1], np.tile(np.bincount(labels) / 9, (6, 1)))


def test_soft_cost_of_one_cluster_is_the_mean_distance_at_any_factor():
    X1, X2, *_ = case(2, n1=20, n2=20)
    model = KMeans(1, n_init=1, random_state=0)
    expected = ((X2 - X1.mean(axis=0)) ** 2).sum(axis=1).mean()
    for mapping in MAPPINGS:
        assert gc.transfer_cost(model, X1, X2, mapping=mapping, factor=3.0) == pytest.approx(expected)


@pytest.mark.parametrize("mapping", MAPPINGS)
def test_costs_are_mean_distances_to_the_mapped_centroids(mapping):
    X1, X2, *_ = case(3, n1=30, n2=30)
    for model in (KMeans(4, n_init=2, random_state=0), gc.AnnealedKMeans(4, random_state=0)):
        fitted = model.fit(X1)
        M = gc.mapping_probabilities(fitted, X1, X2, mapping=mapping)
        pairs = itertools.product(range(30), range(4))
        total = sum(M[i, k] * np.sum((X2[i] - fitted.cluster_centers_[k]) ** 2) for i, k in pairs)
        assert gc.transfer_cost(model, X1, X2, mapping=mapping) == pytest.approx(total / 30)


def test_transfer_to_itself_is_the_training_cost():
    X, *_ = case(4, n1=40)
    model = KMeans(5, n_init=3, random_state=0)
    wanted = KMeans(5, n_init=3, random_state=0).fit(X).inertia_ / 40
    for mapping in ("nearest_cluster", "identity", "nearest_object", "hungarian"):
        assert gc.transfer_cost(model, X, X, mapping=mapping) == pytest.approx(wanted)
    assert gc.transfer_cost(model, X, X, mapping="soft") > wanted


def test_mixture_cost_is_the_negative_log_likelihood_of_new_items():
    X1, X2, *_ = case(5, n1=60, n2=50)
    cost = gc.transfer_cost(GaussianMixture(1, covariance_type="spherical", reg_covar=0), X1, X2)
    variance = ((X1 - X1.mean(axis=0)) ** 2).mean()
    squares = ((X2 - X1.mean(axis=0)) ** 2).sum(axis=1)
    assert cost == pytest.approx(np.mean(squares / (2 * variance) + np.log(2 * np.pi * variance)))


class Weighted(ClusterMixin, BaseEstimator):
    """Two clusters by sign; a new object costs four times its distance to the middle of its side, in absolute value."""

    def __init__(self, n_clusters=2):
        self.n_clusters = n_clusters

    def fit(self, X, y=None, mass=None):
        self.labels_ = (X[:, 0] > 0).astype(int) % self.n_clusters
        mass = np.ones(len(X)) if mass is None else mass
        self.middles_ = np.array([np.average(X[self.labels_ == k, 0], weights=mass[self.labels_ == k])
                                  for k in range(self.n_clusters)])  # fmt: skip
        return self

    def anneal(self, X, betas=None, init=None):
        raise NotImplementedError

    def potentials(self, X):
        return 4 * np.abs(X[:, :1] - self.middles_)


def test_costs_are_the_models_own_whatever_they_measure():
    X1, X2 = np.array([[-3.0], [-1.0], [2.0], [4.0]]), np.array([[-2.5], [5.0], [1.0]])
    assert gc.transfer_cost(Weighted(), X1, X2) == pytest.approx(4 * (0.5 + 2 + 2) / 3)
    found = gc.select_by_transfer_cost(Weighted(), lambda rng: (X1, X2), [1, 2], n_repeats=1, progress=False)
    assert found.training_costs[0].tolist() == [10.0, 4.0]  # |x - 1/2| of -3 -1 2 4, |x -+ middle|
    beta = 0.75 / 10
    h = 4 * np.abs(X2 - [-2.0, 3.0])
    soft = np.exp(-beta * h) / np.exp(-beta * h).sum(axis=1, keepdims=True)
    assert gc.transfer_cost(Weighted(), X1, X2, mapping="soft") == pytest.approx((soft * h).sum() / 3)


def test_arrays_per_object_go_to_the_fit_of_the_first_half():
    X1, X2 = np.array([[-3.0], [-1.0], [2.0], [4.0]]), np.array([[-2.5], [5.0], [1.0]])
    mass = {"mass": np.array([1.0, 3.0, 1.0, 1.0])}
    assert gc.transfer_cost(Weighted(), X1, X2, per_object=mass) == pytest.approx(4 * (1 + 2 + 2) / 3)
    X = np.arange(-10.0, 11.0)[:, None]
    plain = gc.select_by_transfer_cost(Weighted(), X, [2], n_repeats=3, random_state=0, progress=False)
    mass = {"mass": np.exp(X[:, 0])}
    heavy = gc.select_by_transfer_cost(Weighted(), X, [2], n_repeats=3, per_object=mass, random_state=0, progress=False)
    rng = np.random.default_rng(0).spawn(3)[0]
    first, second = np.array_split(rng.permutation(21), 2)
    wanted = gc.transfer_cost(Weighted(), X[first], X[second], per_object={"mass": mass["mass"][first]})
    assert heavy.costs[0, 0] == pytest.approx(wanted) and not np.allclose(heavy.costs, plain.costs)


def test_equal_objects_have_a_finite_soft_cost():
    X = np.ones((5, 2))
    assert gc.transfer_cost(KMeans(1, n_init=1), X, X + 1, mapping="soft") == pytest.approx(2.0)


# --- selection ------------------------------------------------------------------------------------------------


def triangle(rng, sd=0.1):
    return gc.datasets.paired_gaussian_sources(90, [(0, 0), (1, 0), (0.5, 0.866)], variance=sd**2, random_state=rng)[:2]


@pytest.fixture(scope="module")
def selections():
    model = KMeans(n_init=2, random_state=0)
    names = ("identity", "nearest_cluster", "soft")
    return gc.select_by_transfer_cost(
        model, triangle, range(1, 7), mapping=names, n_repeats=6, random_state=1, progress=False
    )


def test_selection_on_three_clear_sources(selections):
    assert selections["identity"].n_clusters == selections["soft"].n_clusters == 3
    assert selections["nearest_cluster"].n_clusters == 6


def test_selection_reports_its_repetitions(selections):
    soft = selections["soft"]
    assert soft.costs.shape == soft.training_costs.shape == (6, 6)
    assert np.array_equal(soft.median, np.median(soft.costs, axis=0))
    assert np.array_equal(soft.quartiles, np.percentile(soft.costs, [25, 75], axis=0))
    assert [soft.offered[row.argmin()] for row in soft.costs] == soft.selected.tolist()
    assert (np.diff(soft.training_costs, axis=1) < 0).all()  # training costs fall with K
    assert np.array_equal(soft.training_costs, selections["identity"].training_costs)
    assert "3 clusters" in repr(soft)


def test_selection_equals_single_transfer_costs(selections):
    rng = np.random.default_rng(1).spawn(6)[2]
    X1, X2 = triangle(rng)
    cost = gc.transfer_cost(KMeans(4, n_init=2, random_state=0), X1, X2, mapping="soft")
    assert selections["soft"].costs[2, 3] == pytest.approx(cost)


def test_one_standard_error_takes_the_smallest_of_equals():
    costs = np.array([[5.0, 2.0, 1.9], [6.0, 3.0, 3.05], [7.0, 4.0, 3.95]])
    chosen = transfer.TransferSelection([1, 2, 3], costs, costs)
    assert (chosen.n_clusters, chosen.one_standard_error) == (2, 2)
    clear = transfer.TransferSelection([1, 2, 3], costs - [0, 0, 1], costs)
    assert (clear.n_clusters, clear.one_standard_error) == (3, 3)
    assert transfer.TransferSelection([1, 2, 3], costs[:1], costs[:1]).one_standard_error == 3


def test_selection_from_one_data_set_by_random_halves():
    X = np.vstack(triangle(np.random.default_rng(3)))
    mixture = GaussianMixture(covariance_type="spherical", random_state=0)
    found = gc.select_by_transfer_cost(mixture, X, [1, 2, 3], n_repeats=4, random_state=0, progress=False)
    with parallel_config("threading", n_jobs=2):  # processes would take longer to start than to work
        again = gc.select_by_transfer_cost(mixture, X, [1, 2, 3], n_repeats=4, random_state=0, progress=False)
    assert found.n_clusters == 3
    assert np.array_equal(found.costs, again.costs)


def test_training_cost_of_a_mixture_is_that_of_the_first_set():
    X1, X2, *_ = case(5, n1=60, n2=50)
    mixture = GaussianMixture(covariance_type="spherical", reg_covar=0)
    found = gc.select_by_transfer_cost(mixture, lambda rng: (X1, X2), 1, n_repeats=1, progress=False)
    variance = ((X1 - X1.mean(axis=0)) ** 2).mean()
    assert found.training_costs[0, 0] == pytest.approx(1 + np.log(2 * np.pi * variance))  # two features
    assert found.costs[0, 0] == pytest.approx(gc.transfer_cost(mixture, X1, X2))


def test_selection_of_models_on_similarities():
    X = gc.datasets.planted_correlation_graphs(60, 3, complexity=0.1, noise=0.3, random_state=0)[0]
    model = gc.CorrelationClustering(random_state=0)
    assert gc.select_by_transfer_cost(model, X, [1, 2, 3], n_repeats=2, progress=False).n_clusters == 3


# --- bad input ------------------------------------------------------------------------------------------------


def test_bad_input_is_named():
    X1, X2, labels, centroids = case(0)
    model = KMeans(2, n_init=1)
    with pytest.raises(ValueError, match="mapping='nearest'.*'soft_object'"):
        gc.transfer_cost(model, X1, X2, mapping="nearest")
    with pytest.raises(ValueError, match=r"X2 has shape \(6, 2\), accepted is the shape of X1"):
        gc.transfer_cost(model, X1, X2, mapping="identity")
    with pytest.raises(ValueError, match="at most as many test"):
        gc.transfer_cost(model, X2, X1, mapping="hungarian")
    with pytest.raises(ValueError, match="X has 1 features, but KMeans is expecting 2"):
        gc.transfer_cost(model, X1, X2[:, :1])
    with pytest.raises(ValueError, match="X1 holds NaN"):
        gc.transfer_cost(model, X1 * np.nan, X2)
    with pytest.raises(ValueError, match="factor=-1"):
        gc.transfer_cost(model, X1, X2, mapping="soft", factor=-1)
    with pytest.raises(ValueError, match="mapping='soft' is not one of 'nearest_cluster'"):
        gc.transfer_cost(GaussianMixture(2), X1, X2, mapping="soft")
    with pytest.raises(ValueError, match="model is DBSCAN, accepted are"):
        gc.transfer_cost(DBSCAN(), X1, X2)
    with pytest.raises(ValueError, match="labels_ of model has 9 entries, accepted is one for each of the 6"):
        gc.mapping_probabilities(solved(labels, centroids), X2, X2, mapping="identity")


def test_bad_selections_are_named():
    X1, *_ = case(0)
    model = KMeans(n_init=1)
    for offered in ([], [2, 2]):
        with pytest.raises(ValueError, match="accepted is one number >= 1 or several distinct ones"):
            gc.select_by_transfer_cost(model, X1, offered, progress=False)
    with pytest.raises(ValueError, match="random halves have no pairs"):
        gc.select_by_transfer_cost(model, X1, [1], mapping="identity", progress=False)
    with pytest.raises(TypeError, match="n_repeats"):
        gc.select_by_transfer_cost(model, X1, [1], n_repeats=1.5, progress=False)


def test_models_are_not_changed():
    model = KMeans(3, n_init=1, random_state=0)
    gc.transfer_cost(model, *case(0)[:2])
    assert not hasattr(model, "cluster_centers_") and model.n_clusters == 3


class Medians(KMeans):
    """Has centroids, and a cost that is no sum of squares."""

    def fit(self, X, y=None, sample_weight=None):
        super().fit(X)
        self.cluster_centers_ = np.array([np.median(X[self.labels_ == k], axis=0) for k in range(self.n_clusters)])
        self.inertia_ = np.abs(X - self.cluster_centers_[self.labels_]).sum()
        return self


def test_other_costs_than_squared_distances_are_refused():
    X1, X2, *_ = case(3, n1=30, n2=30)
    with pytest.raises(ValueError, match="model is Medians with inertia_=.*accepted with centroids are models whose"):
        gc.transfer_cost(Medians(3, n_init=2, random_state=0), X1, X2)
    model = KMeans(3, n_init=2, random_state=0)
    assert gc.transfer_cost(model, X1 + 1e6, X2 + 1e6) == pytest.approx(gc.transfer_cost(model, X1, X2), rel=1e-6)


def test_what_vectors_do_not_use_and_what_is_no_pair_is_named():
    X1, X2, *_ = case(3, n1=30, n2=30)
    model = KMeans(2, n_init=1, random_state=0)
    with pytest.raises(ValueError, match="cross is str, accepted are .*None for vectors"):
        gc.transfer_cost(model, X1, X2, cross="garbage")
    for drawn in (X1, (X1,), [X1, X2, None, None]):
        with pytest.raises(ValueError, match=r"X\(rng\) is .*accepted is a tuple \(X1, X2\)"):
            gc.select_by_transfer_cost(model, lambda rng, drawn=drawn: drawn, [1, 2], progress=False)
