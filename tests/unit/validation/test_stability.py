"""Instability against enumeration of renamings, closed forms of guessing, and structures of known stability."""

import itertools

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.cluster import DBSCAN, AgglomerativeClustering, KMeans
from sklearn.mixture import GaussianMixture

import gencap as gc


@given(st.integers(0, 2**32 - 1), st.integers(1, 4))
@settings(max_examples=60, deadline=None)
def test_disagreement_is_the_smallest_over_all_renamings(seed, k):
    rng = np.random.default_rng(seed)
    first, second = rng.integers(k, size=(2, 12))
    smallest = min((first != np.array(p)[second]).mean() for p in itertools.permutations(range(k)))
    assert gc.disagreement(first, second, k) == pytest.approx(smallest)
    assert gc.disagreement(second, first, k) == pytest.approx(smallest)


def test_guessing_meets_the_closed_form_for_two_clusters():
    n = 4000
    labels = np.arange(n) % 2
    found = gc.relative_instability(labels, labels, 2, n_repeats=1500, random_state=0)
    # The larger of a binomial share and its complement: 1/2 + E|share - 1/2|. Standard error of the mean 1.2e-4.
    assert found.guessing == pytest.approx(0.5 - 1 / np.sqrt(2 * np.pi * n), abs=5e-4)
    assert found.value == found.disagreement == 0


def test_guessing_of_few_objects_is_enumerated():
    labelings = [np.array(row) for row in itertools.product(range(2), repeat=4)]
    exact = np.mean([gc.disagreement(a, b, 2) for a, b in itertools.product(labelings, repeat=2)])
    found = gc.relative_instability([0, 0, 1, 1], [0, 1, 1, 1], 2, n_repeats=4000, random_state=1)
    assert found.guessing == pytest.approx(exact, abs=0.01)
    assert found.disagreement == 0.25
    assert found.value == pytest.approx(0.25 / found.guessing)


def test_random_labels_are_as_unstable_as_guessing():
    labels = np.random.default_rng(0).integers(5, size=(2, 3000))
    assert gc.relative_instability(*labels, 5, random_state=0).value == pytest.approx(1, abs=0.05)


def test_one_cluster_is_undefined_and_says_so():
    with pytest.warns(UserWarning, match="undefined for n_clusters=1 and 20 objects"):
        found = gc.relative_instability(np.zeros(20, int), np.zeros(20, int), 1)
    assert np.isnan(found.value) and found.disagreement == found.guessing == 0
    X = np.random.default_rng(0).standard_normal((20, 2))
    with pytest.warns(UserWarning, match="undefined"):
        assert np.isnan(gc.instability(KMeans(1, n_init=1), X, n_repeats=1).value)


def test_graphs_are_stable_up_to_their_clusters():
    graphs = gc.datasets.planted_correlation_graphs(120, 3, complexity=0.1, noise=0.3, random_state=1)
    by_split, by_pair, sparse = [], [], []
    for k in (2, 3, 4):
        model = gc.CorrelationClustering(k, random_state=0)
        by_split.append(gc.instability(model, graphs[0], n_repeats=4, random_state=0).value)
        by_pair.append(gc.instability(model, *graphs, random_state=0).value)
        sparse.append(gc.instability(model, *map(scipy.sparse.csr_array, graphs), random_state=0).value)
    assert by_split[1:] == [0, 0] and by_pair[1:] == sparse[1:] == [0, 0]
    assert by_split[0] > 0.2


def test_noise_is_as_unstable_as_guessing():
    noise = gc.datasets.planted_correlation_graphs(200, 4, complexity=0.3, noise=1.0, random_state=1)[0]
    found = gc.instability(gc.CorrelationClustering(4, random_state=0), noise, n_repeats=3, random_state=0)
    assert found.value == pytest.approx(1, abs=0.1)


def test_no_object_votes_for_its_own_cluster():
    rng = np.random.default_rng(0)
    X1 = np.kron(np.eye(2), np.ones((10, 10))) * 2 - 1
    X2 = X1.copy()
    X2[3, :], X2[:, 3] = -X1[3], -X1[:, 3]  # object 3 changes sides
    np.fill_diagonal(X2, 100.0)
    model = gc.CorrelationClustering(2, random_state=0)
    assert gc.instability(model, X1, X2, random_state=rng).disagreement == 0  # the field of the others carries it over


def test_similarity_models_of_other_costs():
    X, _ = gc.datasets.two_clouds(0.1, n_per_cloud=30, distance=6.0, random_state=0)
    S = np.exp(-gc.measures.squared_euclidean_distances(X))
    for model in (gc.PairwiseClustering(2, random_state=0), gc.PairwiseClustering(2, embedding=True, random_state=0)):
        assert gc.instability(model, S, n_repeats=2, random_state=0).value == 0


def test_vectors_with_any_predictor():
    rng = np.random.default_rng(1)
    X = np.repeat([[0.0, 0], [8, 0], [0, 8]], 40, axis=0) + rng.standard_normal((120, 2))
    models = (
        KMeans(3, n_init=5, random_state=0),
        GaussianMixture(3, n_init=3, random_state=0),
        gc.AnnealedKMeans(3, random_state=0),
    )
    for model in models:
        assert gc.instability(model, X, n_repeats=2, random_state=0).value == 0
        assert gc.instability(model, X, X + 0.1 * rng.standard_normal(X.shape)).value == 0
    uniform = rng.random((200, 2))
    assert gc.instability(KMeans(7, n_init=1, random_state=0), uniform, n_repeats=3, random_state=0).value > 0.2


def test_same_seed_same_result():
    X = np.random.default_rng(1).random((60, 2))
    first, second = (gc.instability(KMeans(4, n_init=1, random_state=0), X, n_repeats=3, random_state=5) for _ in "ab")
    assert first == second


def test_bad_input_is_named():
    X = np.random.default_rng(0).random((10, 2))
    with pytest.raises(ValueError, match="model is AgglomerativeClustering, accepted are .*predict or potentials"):
        gc.instability(AgglomerativeClustering(2), X)
    with pytest.raises(ValueError, match="n_clusters=6 must be >= 1 and <= n_samples=5"):
        gc.instability(KMeans(6), X)
    with pytest.raises(ValueError, match=r"X2 has shape \(9, 2\)"):
        gc.instability(KMeans(2), X, X[:9])
    with pytest.raises(ValueError, match="n_repeats=0"):
        gc.instability(KMeans(2), X, n_repeats=0)
    with pytest.raises(ValueError, match="n_repeats=0"):
        gc.relative_instability([0, 1], [0, 1], 2, n_repeats=0)
    with pytest.raises(ValueError, match="labels2 has 3 entries"):
        gc.disagreement([0, 1], [0, 1, 1], 2)
    with pytest.raises(ValueError, match="labels1 holds values"):
        gc.disagreement([0, 2], [0, 1], 2)
    with pytest.raises(ValueError, match="model is DBSCAN, accepted are models that have n_clusters or n_components"):
        gc.instability(DBSCAN(), X)


def test_arrays_per_object_are_split_with_their_objects():
    seen = []

    class Seen(KMeans):
        def fit(self, X, sample_weight=None):
            seen.append((X, sample_weight))
            return super().fit(X, sample_weight=sample_weight)

    X = np.random.default_rng(0).random((30, 2))
    weights = {"sample_weight": X[:, 0] + 1}
    gc.instability(Seen(2, n_init=1), X, n_repeats=2, per_object=weights)
    gc.instability(Seen(2, n_init=1), X, X, per_object=weights)
    assert len(seen) == 6 and all(np.array_equal(X[:, 0] + 1, given) for X, given in seen)
    with pytest.raises(ValueError, match=r"per_object\['sample_weight'\] has shape \(29,\)"):
        gc.instability(KMeans(2), X, per_object={"sample_weight": np.ones(29)})
