"""Measures against scipy, scikit-learn, Floyd's algorithm and the pairwise clustering cost by its definition."""

import itertools

import numpy as np
import pytest
import scipy.cluster.hierarchy
import scipy.sparse
import sklearn.metrics
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import squareform

from gencap.views import measures

RNG = np.random.default_rng(11)


def distances(n, seed=0, dtype=np.float64):
    D = np.random.default_rng(seed).random((n, n))
    D = D + D.T
    np.fill_diagonal(D, 0)
    return D.astype(dtype)


def floyd_minimax(D):
    paths = D.copy()
    for middle in range(len(D)):
        paths = np.minimum(paths, np.maximum(paths[:, [middle]], paths[[middle]]))
    return paths


def test_euclidean_distances_agree_with_scikit_learn():
    X = RNG.normal(size=(40, 7)) + 100
    expected = sklearn.metrics.pairwise_distances(X, metric="l2")
    D = measures.euclidean_distances(X)
    assert np.allclose(D, expected, atol=1e-5)
    assert np.allclose(D, [[np.sqrt(((a - b) ** 2).sum()) for b in X] for a in X], rtol=1e-13)
    assert np.allclose(measures.squared_euclidean_distances(X), D**2, rtol=1e-13)
    assert np.array_equal(D, D.T) and not D.diagonal().any()


def test_close_points_far_from_the_origin_keep_their_distance():
    X = np.array([[1e8, 0.0], [1e8, 1e-3]])
    assert measures.euclidean_distances(X)[0, 1] == pytest.approx(1e-3, rel=1e-12)


def test_pearson_similarity_agrees_with_corrcoef():
    X = RNG.normal(size=(30, 9)) * np.geomspace(1e-6, 1e6, 30)[:, None] + 3
    rho = measures.pearson_similarity(X)
    assert np.allclose(rho, np.corrcoef(X), atol=1e-9)
    assert np.array_equal(rho, rho.T) and (rho.diagonal() == 1).all() and np.abs(rho).max() <= 1


def test_pearson_similarity_ignores_shift_and_positive_scale_of_a_row():
    X = RNG.normal(size=(10, 6))
    assert np.allclose(measures.pearson_similarity(X * RNG.uniform(1, 9, (10, 1)) - 5), measures.pearson_similarity(X))


def test_pearson_similarity_names_constant_rows():
    X = RNG.normal(size=(6, 4))
    X[1] = 0.1  # the mean of four times 0.1 need not be 0.1
    X[4] = 0
    with pytest.raises(ValueError, match=r"X has 2 constant rows \(1, 4\)"):
        measures.pearson_similarity(X)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n", [1, 2, 3, 17, 60])
def test_path_distances_agree_with_floyd(n, dtype):
    D = distances(n, n, dtype)
    paths = measures.path_distances(D)
    assert paths.dtype == dtype
    assert np.array_equal(paths, floyd_minimax(D))


@pytest.mark.parametrize("ties", [False, True])
def test_path_distances_are_the_cophenetic_distances_of_single_linkage(ties):
    D = distances(300, 5)
    D = np.round(D * 20) if ties else D
    linkage = scipy.cluster.hierarchy.linkage(squareform(D), "single")
    assert np.array_equal(measures.path_distances(D), squareform(scipy.cluster.hierarchy.cophenet(linkage)))


@given(st.integers(0, 10**6), st.integers(2, 25))
@settings(max_examples=40, deadline=None)
def test_path_distances_follow_the_objects_and_are_an_ultrametric(seed, n):
    D = distances(n, seed)
    paths = measures.path_distances(D)
    order = np.random.default_rng(seed).permutation(n)
    assert np.array_equal(measures.path_distances(D[np.ix_(order, order)]), paths[np.ix_(order, order)])
    assert (paths <= D).all()
    assert (paths[:, None, :] <= np.maximum(paths[:, :, None], paths[None])).all()
    assert np.allclose(measures.path_distances(paths), paths)


def test_path_distances_do_not_use_the_diagonal_nor_write_into_their_input():
    D = distances(12)
    expected = measures.path_distances(D)
    np.fill_diagonal(D, 7)
    D.setflags(write=False)
    assert np.array_equal(measures.path_distances(D), expected)


def test_similarity_and_distance_conversions_are_inverse():
    D = distances(9)
    X = measures.similarity_from_distances(D)
    assert X.max() == D.max() and (X.diagonal() == D.max()).all() and X.min() == 0
    assert np.allclose(X.max() - X, D, atol=1e-15)
    assert measures.similarity_from_distances(D.astype(np.float32)).dtype == np.float32


def pairwise_cost(labels, D):
    """Eq 99 for distances: (1/2) sum_k (sum of D inside k) / size."""
    clusters = [labels == k for k in np.unique(labels)]
    return sum(D[np.ix_(c, c)].sum() / (2 * c.sum()) for c in clusters)


@pytest.mark.parametrize("diagonal", [0.0, 0.7])
def test_constant_shift_embedding_by_its_definition(diagonal):
    D = distances(20, 3)
    np.fill_diagonal(D, diagonal * RNG.random(20))
    result = measures.constant_shift_embedding(D)
    free = D - (D.diagonal()[:, None] + D.diagonal()) / 2
    A = np.eye(20) - 1 / 20
    assert result.shift == pytest.approx(-np.linalg.eigvalsh(-A @ free @ A / 2).min(), rel=1e-10)
    assert result.shift > 0 and result.eigenvalues.min() == pytest.approx(0, abs=1e-12)
    assert np.allclose(result.distances, free + 2 * result.shift * (1 - np.eye(20)))
    assert np.allclose(measures.squared_euclidean_distances(result.vectors), result.distances, atol=1e-12)
    assert np.allclose(result.vectors.mean(axis=0), 0, atol=1e-12)
    # document 004, 9.10: steps 5 to 9
    shifted = -A @ free @ A / 2 + result.shift * np.eye(20)
    assert np.allclose(shifted.diagonal()[:, None] + shifted.diagonal() - 2 * shifted, result.distances)
    assert np.allclose(-2 * A @ shifted @ A, A @ result.distances @ A)


@pytest.mark.parametrize("n_clusters", [2, 3])
def test_shift_changes_the_pairwise_cost_by_a_constant_and_makes_it_k_means(n_clusters):
    D = distances(8, 8)
    result = measures.constant_shift_embedding(D)
    for labels in itertools.islice(itertools.product(range(n_clusters), repeat=8), 0, None, 7):
        labels = np.array(labels)
        used = np.unique(labels)
        cost = pairwise_cost(labels, D) + result.shift * (8 - used.size)
        inertia = sum(((Y - Y.mean(axis=0)) ** 2).sum() for Y in (result.vectors[labels == k] for k in used))
        assert pairwise_cost(labels, result.distances) == pytest.approx(cost, abs=1e-11)
        assert inertia == pytest.approx(cost, abs=1e-11)


def test_squared_euclidean_distances_need_no_shift_and_give_the_vectors_back():
    X = RNG.normal(size=(25, 3)) * [5, 2, 1]
    result = measures.constant_shift_embedding(measures.squared_euclidean_distances(X))
    assert result.shift == 0 and result.vectors.shape == (25, 3)
    centred = X - X.mean(axis=0)
    assert np.allclose(result.vectors @ result.vectors.T, centred @ centred.T, atol=1e-10)
    plane = measures.constant_shift_embedding(measures.squared_euclidean_distances(X), n_dimensions=2)
    assert np.array_equal(plane.vectors, result.vectors[:, :2]) and plane.eigenvalues.shape == (24,)


def test_embedding_keeps_small_dimensions_and_small_shifts_and_fixes_the_signs():
    X = RNG.normal(size=(25, 3)) * [1, 1e-2, 1e-4]
    D = measures.squared_euclidean_distances(X)
    result = measures.constant_shift_embedding(D)
    assert result.shift == 0 and result.vectors.shape == (25, 3)
    assert (result.vectors.max(axis=0) >= -result.vectors.min(axis=0)).all()
    D[0, 1] = D[1, 0] = 1e-3 * D.max() + D[0, 1]
    A = np.eye(25) - 1 / 25
    lowest = np.linalg.eigvalsh(-A @ D @ A / 2)[0]
    assert lowest < -1e-5
    assert measures.constant_shift_embedding(D).shift == pytest.approx(-lowest, rel=1e-9)


def test_embedding_of_equal_objects_is_one_point():
    result = measures.constant_shift_embedding(np.zeros((4, 4)))
    assert result.shift == 0 and not result.vectors.any()


@pytest.mark.parametrize("distance", ["euclidean", "squared_euclidean", "correlation", "hamming"])
def test_match_objects_equals_brute_force(distance):
    X1, X2 = RNG.integers(0, 4, (2, 6, 8)).astype(float)
    cost = {
        "euclidean": lambda a, b: np.sqrt(((a - b) ** 2).sum()),
        "squared_euclidean": lambda a, b: ((a - b) ** 2).sum(),
        "correlation": lambda a, b: 1 - np.corrcoef(a, b)[0, 1],
        "hamming": lambda a, b: (a != b).mean(),
    }[distance]
    table = np.array([[cost(a, b) for b in X2] for a in X1])
    best = min(table[np.arange(6), list(p)].sum() for p in itertools.permutations(range(6)))
    order = measures.match_objects(X1, X2, distance=distance)
    assert sorted(order) == list(range(6))
    assert table[np.arange(6), order].sum() == pytest.approx(best, abs=1e-12)


def test_match_objects_undoes_a_permutation():
    X = RNG.normal(size=(50, 4))
    order = RNG.permutation(50)
    assert np.array_equal(order[measures.match_objects(X, X[order])], np.arange(50))


@pytest.mark.parametrize(
    ("D", "message"),
    [
        (np.zeros((2, 3)), r"D must be a non-empty square matrix .* \(2, 3\)"),
        (np.zeros((0, 0)), "non-empty"),
        (np.array([[0, 1], [2, 0]]), "D must be symmetric"),
        (np.array([[0, np.nan], [np.nan, 0]]), "D holds NaN or infinite"),
        (np.array([[0, np.inf], [np.inf, 0]]), "D holds NaN or infinite"),
        (np.array([[0, -1], [-1, 0]]), "D holds negative values down to -1"),
    ],
)
@pytest.mark.parametrize("function", [measures.path_distances, measures.similarity_from_distances])
def test_bad_distances(function, D, message):
    with pytest.raises(ValueError, match=message):
        function(D)


@pytest.mark.parametrize(
    "function", [measures.euclidean_distances, measures.squared_euclidean_distances, measures.pearson_similarity]
)
@pytest.mark.parametrize("X", [np.zeros(3), np.zeros((0, 2)), np.array([[1.0, np.nan], [0, 1]])])
def test_bad_vectors(function, X):
    with pytest.raises(ValueError, match="^X "):
        function(X)


def test_bad_embedding_and_matching():
    with pytest.raises(ValueError, match="objects of D=1 must be >= 2"):
        measures.constant_shift_embedding([[0.0]])
    with pytest.raises(ValueError, match=r"n_dimensions=5 must be >= 1 and <= n_samples - 1=4"):
        measures.constant_shift_embedding(distances(5), n_dimensions=5)
    with pytest.raises(TypeError, match="n_dimensions must be an integer"):
        measures.constant_shift_embedding(distances(5), n_dimensions=2.0)
    with pytest.raises(ValueError, match="D must be symmetric"):
        measures.constant_shift_embedding([[0, 1], [2, 0]])
    with pytest.raises(ValueError, match="D must be a non-empty square"):
        measures.similarity_from_distances(np.zeros((2, 3)))
    X = RNG.normal(size=(4, 3))
    with pytest.raises(ValueError, match="distance='cosine' is not one of 'euclidean'"):
        measures.match_objects(X, X, distance="cosine")
    with pytest.raises(ValueError, match=r"X2 has shape \(3, 3\), accepted is the shape of X1, \(4, 3\)"):
        measures.match_objects(X, X[:3])
    with pytest.raises(ValueError, match="X2 has 1 constant rows"):
        measures.match_objects(X, np.vstack([X[:3], [1, 1, 1]]), distance="correlation")


@pytest.mark.parametrize(
    "function",
    [
        measures.path_distances,
        measures.similarity_from_distances,
        measures.constant_shift_embedding,
        measures.euclidean_distances,
    ],
)
def test_sparse_input_is_named(function):
    with pytest.raises(TypeError, match=r"[DX] is a sparse csr_array, accepted is a dense array: [DX]\.toarray"):
        function(scipy.sparse.csr_array(np.eye(3)))
