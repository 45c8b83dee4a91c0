"""Transfer of graph clusterings against permutations, loops over the printed formulas, and exact costs."""

import itertools

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st

import gencap as gc
from gencap.validation import transfer
from gencap.views.measures import match_objects


def symmetric(rng, n, signs=True):
    X = rng.choice([-1.0, 1.0], (n, n)) if signs else rng.standard_normal((n, n))
    X = np.triu(X, 1)
    return X + X.T


def planted(n, seed, noise=0.3, k=2):
    return np.asarray(
        gc.datasets.planted_correlation_graphs(n, k, complexity=0.1, noise=noise, random_state=seed)[0], float
    )


def solved(model, labels):
    """The model as if it had been fitted, with these labels."""
    model.labels_, model.n_features_in_ = np.asarray(labels), len(labels)
    return model


def distance_as_printed(row, labels, v, n_clusters):
    """002 Eq. 10, edge by edge, for edges of +-1."""
    total = 0.0
    for j, label in enumerate(labels):
        total += -(row[j] - 1) / 2 if label == v else (row[j] + 1) / 2
    return total


@given(st.integers(0, 2**32 - 1), st.integers(1, 4))
@settings(max_examples=60, deadline=None)
def test_nearest_cluster_is_the_printed_rule(seed, n_clusters):
    rng = np.random.default_rng(seed)
    cross = rng.choice([-1.0, 1.0], (5, 9))
    labels = rng.integers(n_clusters, size=9)
    mapped = transfer.transfer_labels(solved(gc.CorrelationClustering(n_clusters), labels), cross)
    present = np.unique(labels)
    for row, found in zip(cross, mapped, strict=True):
        assert found in present
        distances = [distance_as_printed(row, labels, v, n_clusters) for v in present]
        assert distance_as_printed(row, labels, found, n_clusters) == min(distances)


def test_empty_cluster_never_wins():
    cross, model = -np.ones((3, 4)), gc.CorrelationClustering(4)
    assert set(transfer.transfer_labels(solved(model, [1, 1, 1, 2]), cross)) == {2}


def test_nearest_cluster_takes_shift_and_mean():
    cross = np.array([[1.0, 1.0, 1.9]])
    labels = [0, 0, 1]
    assert transfer.transfer_labels(solved(gc.CorrelationClustering(2), labels), cross)[0] == 0
    assert transfer.transfer_labels(solved(gc.CorrelationClustering(2, shift=-0.5), labels), cross)[0] == 1  # 1 < 1.4
    sparse = scipy.sparse.csr_array(cross)
    assert np.array_equal(transfer.transfer_labels(solved(gc.CorrelationClustering(2), labels), sparse), [0])


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("signs", [True, False])
def test_hungarian_equals_brute_force_on_six_objects(seed, signs):
    rng = np.random.default_rng(seed)
    cross, X1 = rng.standard_normal((6, 6)), symmetric(rng, 6, signs)
    cross = np.sign(cross) if signs else cross

    def total(order):
        return sum(((cross[i] - X1[j]) ** 2).sum() for i, j in enumerate(order))

    order = match_objects(cross, X1, distance="squared_euclidean")
    assert sorted(order) == list(range(6))
    assert total(order) == pytest.approx(min(map(total, itertools.permutations(range(6)))), rel=1e-12)


def test_hungarian_undoes_a_permutation():
    rng = np.random.default_rng(3)
    X, order = symmetric(rng, 20, False), rng.permutation(20)
    assert np.array_equal(match_objects(X[order], X, distance="squared_euclidean"), order)


@pytest.mark.parametrize("n", [2, 9, 10])
def test_split_gives_disjoint_halves(n):
    X = symmetric(np.random.default_rng(0), n, False)
    X1, X2, cross, first, second = gc.split_similarities(X, random_state=5)
    assert sorted([*first, *second]) == list(range(n))
    assert len(first) - len(second) == n % 2
    for part, rows, columns in ((X1, first, first), (X2, second, second), (cross, second, first)):
        assert np.allclose(part, X[np.ix_(rows, columns)])
    sparse = gc.split_similarities(scipy.sparse.csr_array(X), random_state=5)
    assert all(scipy.sparse.issparse(part) and np.allclose(part.toarray(), X1_) for part, X1_ in
               zip(sparse[:3], (X1, X2, cross), strict=True))  # fmt: skip
    assert np.array_equal(gc.split_similarities(X, random_state=5)[3], first)


def disagreeing_share(labels, X):
    """Negative edges inside plus positive edges between clusters, over all pairs."""
    wrong = [(X[i, j] > 0) != (labels[i] == labels[j]) for i, j in itertools.combinations(range(len(X)), 2)]
    return np.mean(wrong)


@pytest.mark.parametrize("mapping", ["nearest_cluster", "hungarian", "identity"])
def test_cost_is_the_share_of_disagreeing_pairs(mapping):
    X1, X2, cross, *_ = gc.split_similarities(planted(40, 1), random_state=1)
    model = gc.CorrelationClustering(3, random_state=0)
    labels = model.fit(X1).labels_
    if mapping != "identity":
        labels = (
            gc.transfer_labels(model, cross)
            if mapping == "nearest_cluster"
            else labels[match_objects(cross, X1, distance="squared_euclidean")]
        )
    cost = gc.transfer_cost(model, X1, X2, mapping=mapping, cross=cross)
    assert cost == pytest.approx(disagreeing_share(labels, X2), rel=1e-6)
    sparse = [scipy.sparse.csr_array(part) for part in (X1, X2, cross)]
    if mapping != "hungarian":
        assert gc.transfer_cost(model, *sparse[:2], mapping=mapping, cross=sparse[2]) == pytest.approx(cost, rel=1e-6)


@pytest.mark.parametrize("n_clusters", [1, 2, 3])
def test_pairwise_transfer_is_the_enumerated_optimum_at_the_other_matrix(n_clusters):
    """All labelings of six objects by Eq. 98, pair by pair; the cheapest on X1 is judged on X2."""
    rng = np.random.default_rng(n_clusters)
    X1, X2 = (symmetric(rng, 6, False) + np.diag(rng.random(6)) for _ in range(2))

    def cost(labels, X):
        pairs = itertools.product(range(6), repeat=2)
        return sum(-X[i, j] / 2 / labels.count(labels[i]) for i, j in pairs if labels[i] == labels[j]) / 6

    best = min(itertools.product(range(n_clusters), repeat=6), key=lambda labels: cost(labels, X1))
    model = gc.PairwiseClustering(n_clusters, n_init=10, random_state=0)
    assert gc.transfer_cost(model, X1, X2, mapping="identity") == pytest.approx(cost(best, X2), rel=1e-5, abs=1e-7)
    found = gc.select_by_transfer_cost(
        model, lambda rng: (X1, X2), [1, 2, 3], mapping="identity", n_repeats=1, progress=False
    )
    assert found.training_costs[0, n_clusters - 1] == pytest.approx(cost(best, X1), rel=1e-5, abs=1e-7)


def test_labels_are_those_of_fit():
    X = planted(60, 2, noise=0.6, k=3)
    model = gc.CorrelationClustering(4, random_state=1)
    assert np.array_equal(transfer.coldest_labels(model, X), model.fit(X).labels_)


def test_transfer_of_a_clear_structure_costs_what_the_truth_costs():
    graph = gc.datasets.planted_correlation_graphs(120, 3, complexity=0.0, noise=0.2, random_state=4)
    X1, X2, cross, first, second = gc.split_similarities(graph[0], random_state=0)
    truth = disagreeing_share(graph.labels[second], X2)
    for k in (3, 5):  # surplus clusters stay empty
        model = gc.CorrelationClustering(k, random_state=0)
        assert gc.transfer_cost(model, X1, X2, cross=cross) == pytest.approx(truth, rel=1e-6)
    assert gc.transfer_cost(gc.CorrelationClustering(2, random_state=0), X1, X2, cross=cross) > truth + 0.05


def test_models_give_the_sign_and_the_shift():
    rng = np.random.default_rng(0)
    labels, cross = rng.integers(2, size=8), rng.standard_normal((4, 8))
    fields = cross @ np.eye(2)[labels]
    mincut = gc.transfer_labels(solved(gc.MinCut(2), labels), cross)
    assert np.array_equal(mincut, fields.argmax(axis=1))
    assert np.array_equal(gc.transfer_labels(solved(gc.MaxCut(2), labels), cross), 1 - mincut)
    size = np.bincount(labels, minlength=2)
    shifted = gc.transfer_labels(solved(gc.CorrelationClustering(2, shift=-0.7), labels), cross)
    assert np.array_equal(shifted, (fields - 0.7 * size).argmax(axis=1))


def test_bad_input_is_named():
    X1, X2, cross, *_ = gc.split_similarities(planted(20, 0), random_state=0)
    model = gc.CorrelationClustering(2, random_state=0)
    labels = np.zeros(10, int)
    with pytest.raises(ValueError, match="mapping='nearest'.*'nearest_cluster'"):
        gc.transfer_cost(model, X1, X2, mapping="nearest", cross=cross)
    with pytest.raises(ValueError, match="mapping='soft'.*'nearest_cluster', 'hungarian', 'identity'"):
        gc.transfer_cost(model, X1, X2, mapping="soft", cross=cross)
    with pytest.raises(ValueError, match="cross is NoneType, accepted are the similarities"):
        gc.transfer_cost(model, X1, X2)
    with pytest.raises(ValueError, match=r"cross has shape \(10, 9\), accepted is .*\(10, 10\)"):
        gc.transfer_cost(model, X1, X2, cross=cross[:, :9])
    with pytest.raises(ValueError, match=r"cross has shape \(10, 10\), accepted is .*\(9, 10\)"):
        gc.transfer_cost(model, X1, X2[:9, :9], cross=cross)
    with pytest.raises(ValueError, match="X1 and X2 have 10 and 1 objects"):
        gc.transfer_cost(model, X1, X2[:1, :1], cross=cross[:1])
    with pytest.raises(TypeError, match="cross, but dense"):
        gc.transfer_cost(model, X1, X2, mapping="hungarian", cross=scipy.sparse.csr_array(cross))
    broken = cross.copy()
    broken[0, 0] = np.nan
    for wrong in (broken, scipy.sparse.csr_array(broken)):
        with pytest.raises(ValueError, match="Input cross contains NaN"):
            gc.transfer_cost(model, X1, X2, cross=wrong)
    with pytest.raises(ValueError, match="contains NaN"):
        transfer.transfer_labels(solved(model, labels), broken)
    with pytest.raises(ValueError, match="contains NaN"):
        transfer.transfer_labels(solved(model, labels), scipy.sparse.csr_array(broken))
    with pytest.raises(ValueError, match="objects of X=1 must be >= 2"):
        gc.split_similarities(np.zeros((1, 1)))


def test_labels_of_an_embedding_are_those_of_fit():
    X = -(
        (np.random.default_rng(0).standard_normal((60, 1, 4)) - np.random.default_rng(0).standard_normal((60, 4))) ** 2
    )
    model = gc.PairwiseClustering(6, embedding=True, n_init=1, random_state=0)
    X = X.sum(axis=2)
    assert np.array_equal(transfer.coldest_labels(model, X), model.fit(X).labels_)


def test_hungarian_of_an_odd_number_of_objects_is_named():
    with pytest.raises(ValueError, match="X1 and X2 have 4 and 3 objects, accepted are .* as many in both"):
        gc.select_by_transfer_cost(gc.CorrelationClustering(2), np.eye(7), [1, 2], mapping="hungarian", progress=False)


def test_clusters_of_other_costs_are_carried_over_too():
    X = gc.datasets.two_clouds(0.1, n_per_cloud=30, distance=6.0, random_state=0)[0]
    S = np.exp(-gc.measures.squared_euclidean_distances(X))
    X1, X2, cross, *_ = gc.split_similarities(S, random_state=0)
    for model in (gc.PairwiseClustering(2, random_state=0), gc.NormalizedCut(2, random_state=0)):
        own = model.cost(gc.coldest_labels(model, X2), X2) / len(X2)
        assert gc.transfer_cost(model, X1, X2, cross=cross) == pytest.approx(own)
