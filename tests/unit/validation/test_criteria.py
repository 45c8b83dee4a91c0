"""Criteria for the number of clusters: closed forms, direct sums, and data whose number of clusters is known."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.cluster import KMeans
from sklearn.mixture import GaussianMixture

import gencap as gc
from gencap.validation import criteria


def blobs(centers, n=150, sd=1.0, seed=0):
    return gc.datasets.paired_gaussian_sources(n, centers, variance=sd**2, random_state=seed)


TRIANGLE = 8 * np.array([(0, 0), (1, 0), (0.5, 0.866)])

# --- likelihoods ----------------------------------------------------------------------------------------------


def test_description_length_is_bic_in_bits():
    for log_likelihood, p, n in ((-120.0, 5, 50), (33.0, 1, 1000)):
        bits = gc.description_length(log_likelihood, p, n)
        assert bits == pytest.approx(-log_likelihood / np.log(2) + 0.5 * p * np.log2(n))
        assert gc.bic(log_likelihood, p, n) == pytest.approx(2 * np.log(2) * bits)


@pytest.mark.parametrize("kind", ["full", "tied", "diag", "spherical"])
def test_bic_and_aic_are_scikit_learns(kind):
    X, *_ = blobs(TRIANGLE, 40)
    for k in (1, 3):
        mixture = GaussianMixture(k, covariance_type=kind, random_state=0).fit(X)
        p = mixture._n_parameters()
        assert gc.bic(mixture.score(X) * 40, p, 40) == pytest.approx(mixture.bic(X))
        assert gc.aic(mixture.score(X) * 40, p) == pytest.approx(mixture.aic(X))


def test_kmeans_bic_equals_the_sum_over_objects():
    X, _, labels = blobs(TRIANGLE, 31, seed=4)
    means = [X[labels == k].mean(axis=0) for k in range(3)]
    variance = np.mean([(x - means[k]) ** 2 for x, k in zip(X, labels, strict=True)])
    share = np.bincount(labels) / 31
    density = [
        np.log(share[k]) - np.log(2 * np.pi * variance) - np.sum((x - means[k]) ** 2) / (2 * variance)
        for x, k in zip(X, labels, strict=True)
    ]
    assert gc.kmeans_bic(labels, X) == pytest.approx(-2 * np.sum(density) + 6 * np.log(31))
    without = gc.kmeans_bic(labels, X, entropy=False)
    assert gc.kmeans_bic(labels, X) - without == pytest.approx(-2 * 31 * np.sum(share * np.log(share)))


@settings(max_examples=20, deadline=None)
@given(st.permutations(range(4)), st.floats(-50, 50))
def test_kmeans_bic_ignores_names_and_places(names, shift):
    rng = np.random.default_rng(1)
    X, labels = rng.normal(size=(30, 3)), np.arange(30) % 4
    assert gc.kmeans_bic(np.array(names)[labels], X + shift) == pytest.approx(gc.kmeans_bic(labels, X))


def test_entropy_term_decides_between_three_and_the_most_clusters():
    X, *_ = blobs(TRIANGLE)
    labels = [KMeans(k, n_init=5, random_state=0).fit(X).labels_ for k in range(1, 9)]
    for n_dimensions in (None, gc.effective_dimension(X)):
        assert 1 + np.argmin([gc.kmeans_bic(c, X, n_dimensions=n_dimensions) for c in labels]) == 3
    assert 1 + np.argmin([gc.kmeans_bic(c, X, entropy=False) for c in labels]) == 8


# --- effective dimension --------------------------------------------------------------------------------------


def test_effective_dimension_closed_forms():
    corners = np.array([(1, 1), (1, -1), (-1, 1), (-1, -1.0)])
    assert gc.effective_dimension(corners) == pytest.approx(2)
    assert gc.effective_dimension(corners * [3, 1] + 7) == pytest.approx(1 + 1 / 9)
    assert gc.effective_dimension(np.outer(np.arange(5), [1, 2, 3])) == pytest.approx(1)
    assert gc.effective_dimension(np.eye(6)) == pytest.approx(5)  # a regular simplex fills N - 1 dimensions


def test_effective_dimension_of_vectors_and_of_their_inner_products():
    X = np.random.default_rng(0).normal(size=(20, 4)) * [4, 2, 1, 1] + 3
    values = np.linalg.eigvalsh(np.cov(X.T))
    assert gc.effective_dimension(X) == pytest.approx(values.sum() / values.max())
    assert gc.effective_dimension(X @ X.T, gram=True) == pytest.approx(gc.effective_dimension(X))
    embedded = gc.measures.constant_shift_embedding(gc.measures.squared_euclidean_distances(X)).vectors
    assert gc.effective_dimension(embedded) == pytest.approx(gc.effective_dimension(X))


# --- gap ------------------------------------------------------------------------------------------------------


def test_dispersion_is_half_the_mean_of_squared_distances():
    X, *_ = blobs(TRIANGLE, 30)
    gap = gc.gap_statistic(X, [1, 3], n_repeats=2, random_state=0, progress=False)
    labels = KMeans(3, n_init=5, random_state=0).fit(X).labels_
    D = ((X[:, None] - X) ** 2).sum(axis=2)
    W = sum(D[np.ix_(labels == k, labels == k)].sum() / (2 * (labels == k).sum()) for k in range(3))
    np.testing.assert_allclose(gap.log_dispersions, np.log([D.sum() / 60, W]))
    assert gap.reference.shape == (2, 2)
    np.testing.assert_allclose(gap.gaps, gap.reference.mean(axis=0) - gap.log_dispersions)
    np.testing.assert_allclose(gap.errors, gap.reference.std(axis=0) * np.sqrt(1.5))


@pytest.mark.parametrize(
    ("centers", "n"), [([(0, 0)], 100), (TRIANGLE, 150), (12 * np.eye(10)[:5], 150)], ids=["one", "three", "five"]
)
def test_gap_finds_spherical_gaussians(centers, n):
    X, *_ = blobs(centers, n)
    gap = gc.gap_statistic(X, range(1, 8), n_repeats=8, random_state=0, progress=False)
    assert gap.n_clusters == gap.one_standard_error == len(centers)


def test_rules_of_the_gap():
    reference = np.array([[0.0, 0.0, 0.0, 0.0], [0.2, 0.2, 0.2, 0.2]])
    gap = criteria.Gap([1, 2, 3, 4], 0.1 - np.array([0.1, 0.5, 0.55, 0.3]), reference)
    assert gap.n_clusters == 3
    np.testing.assert_allclose(gap.errors, 0.1 * np.sqrt(1.5))
    assert gap.one_standard_error == 2  # .5 >= .55 - .12, but .1 < .5 - .12
    rising = criteria.Gap([1, 2, 3], -np.array([0.0, 1.0, 2.0]), reference[:, :3])
    assert rising.n_clusters == rising.one_standard_error == 3
    assert "3 clusters" in repr(rising)


def test_structureless_data_fill_the_box():
    drawn = []

    class Seen(KMeans):
        def fit(self, X, sample_weight=None):
            drawn.append((X, sample_weight))
            return super().fit(X, sample_weight=sample_weight)

    X = np.random.default_rng(0).normal(size=(4000, 2)) @ np.array([[3, 3], [0.1, -0.1]])
    weights = {"sample_weight": np.arange(4000.0)}
    gc.gap_statistic(X, 1, model=Seen(n_init=1), n_repeats=1, per_object=weights, random_state=0, progress=False)
    box = drawn[0][0]
    assert (box.min(axis=0) >= X.min(axis=0)).all() and (box.max(axis=0) <= X.max(axis=0)).all()
    np.testing.assert_allclose(box.std(axis=0), np.ptp(X, axis=0) / np.sqrt(12), rtol=0.03)
    assert abs(np.corrcoef(box.T)[0, 1]) < 0.05
    assert len(drawn) == 2 and all(np.array_equal(given, np.arange(4000.0)) for _, given in drawn)


def test_gap_repeats_with_the_same_seed():
    X, *_ = blobs(TRIANGLE, 40)
    first, again = (gc.gap_statistic(X, [1, 2, 3], n_repeats=3, random_state=5, progress=False) for _ in range(2))
    assert np.array_equal(first.gaps, again.gaps)


# --- all criteria ---------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def table():
    X1, X2, _ = blobs(TRIANGLE, 90)
    return gc.compare_criteria(X1, X2, range(1, 6), n_repeats=3, random_state=0, progress=False)


def test_criteria_that_must_find_three_clear_blobs(table):
    chosen = table.n_clusters.to_dict()
    wrong = {"BIC, k-means errors only", "transfer, k-means nearest centroid"}
    assert {chosen[name] for name in wrong} == {5}
    right = [name for name in chosen if name not in wrong | {"AIC, mixture", "transfer, mixture"}]
    assert {name: chosen[name] for name in right} == dict.fromkeys(right, 3)
    assert table.loc["capacity", 3] == pytest.approx(np.log2(3), abs=0.02)


def test_table_has_a_column_for_every_number(table):
    assert list(table) == ["n_clusters", 1, 2, 3, 4, 5, "rule", "unit"] and table.index.name == "criterion"
    assert np.isnan(table.loc["instability", 1]) and table.drop(columns=1).notna().all(axis=None)
    for _, row in table[table.rule == "lowest"].iterrows():
        assert row.n_clusters == row[[1, 2, 3, 4, 5]].astype(float).idxmin()
    assert table._repr_html_().count("<tr") == 2 + len(table)


def test_one_data_set_is_enough():
    X, *_ = blobs(TRIANGLE, 61)
    table = gc.compare_criteria(X, n_clusters=[2, 3], n_repeats=2, random_state=0, progress=False)
    assert table.n_clusters["capacity"] == 3


# --- bad input ------------------------------------------------------------------------------------------------


def test_bad_input_is_named():
    X, _, labels = blobs(TRIANGLE, 12)
    with pytest.raises(ValueError, match="X has no spread"):
        gc.effective_dimension(np.ones((3, 2)))
    with pytest.raises(ValueError, match="eigenvalue -.*constant_shift_embedding"):
        gc.effective_dimension(1 - np.eye(4) * 2, gram=True)
    with pytest.raises(ValueError, match="square matrix"):
        gc.effective_dimension(X, gram=True)
    with pytest.raises(ValueError, match="labels leave no spread"):
        gc.kmeans_bic(np.arange(12), X)
    with pytest.raises(ValueError, match="labels has 11 entries"):
        gc.kmeans_bic(labels[:11], X)
    with pytest.raises(ValueError, match="n_dimensions=-1"):
        gc.kmeans_bic(labels, X, n_dimensions=-1)
    with pytest.raises(ValueError, match="n_clusters=12 must be >= 1 and <= n_samples - 1=11"):
        gc.gap_statistic(X, [12])
    with pytest.raises(ValueError, match="2 clusters leave no spread"):
        gc.gap_statistic(np.repeat([[0.0, 0], [1, 1]], 5, axis=0), [1, 2], n_repeats=1, progress=False)
    for offered in ([], [2, 2]):
        with pytest.raises(ValueError, match="accepted is one number >= 1 or several distinct ones"):
            gc.gap_statistic(X, offered)
        with pytest.raises(ValueError, match="accepted is one number >= 1 or several distinct ones"):
            gc.compare_criteria(X, n_clusters=offered)
    with pytest.raises(ValueError, match="n_clusters=7 must be >= 1 and <= n_samples / 2=6"):
        gc.compare_criteria(X, n_clusters=[7])
    with pytest.raises(ValueError, match=r"X2 has shape \(11, 2\), accepted is the shape of X"):
        gc.compare_criteria(X, X[:11], [1])
