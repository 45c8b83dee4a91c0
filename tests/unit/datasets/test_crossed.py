"""Crossed labelings against the probabilities that they are made of."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse, stats
from sklearn.cluster import KMeans
from sklearn.metrics import normalized_mutual_info_score

from gencap import datasets
from gencap.resources import one_thread

SEED = 5
counts, bits, faces, text = (getattr(datasets, f"crossed_{name}") for name in ("counts", "bits", "faces", "text"))


def precision(found, labels):
    """Share of objects that agree with two labels, whatever the clusters are called."""
    return max((found == labels).mean(), (found != labels).mean())


def test_counts_have_the_expected_shares():
    plane = counts(60_000, 3, total=20, orthogonality=0.75, random_state=0)
    assert plane.data.shape == (60_000, 3) and (plane.data.sum(axis=1) == 20).all()
    for a in range(3):
        for b in range(3):
            members = (plane.labels == (a, b)).all(axis=1)
            assert members.mean() == pytest.approx(1 / 9, abs=0.01)
            first, second = a / 2, 0.75 * b / 2 + 0.25 * a / 2
            expected = np.array([first / 2, second / 2, 1 - (first + second) / 2])
            np.testing.assert_allclose(plane.data[members].mean(axis=0) / 20, expected, atol=0.01)


def test_without_orthogonality_both_dimensions_tell_the_first_labelling():
    plane = counts(5000, 4, total=200, orthogonality=0.0, random_state=1)
    for column in (0, 1):
        assert stats.spearmanr(plane.data[:, column], plane.labels[:, 0])[0] > 0.95
    assert abs(stats.spearmanr(plane.data[:, 1], plane.labels[:, 1])[0]) < 0.05


def bayes(data, labels, features, column, flip):
    """Share of objects whose most probable cluster, the profiles known, is their own; ties by lot."""
    own = data[:, features == column]
    K, m = labels.max() + 1, own.shape[1]
    profiles = np.arange(m) * K // m == np.arange(K)[:, None]
    logs = stats.bernoulli(np.where(profiles, 1 - flip, flip)[:, None]).logpmf(own.astype(int)).sum(axis=2).T
    best = np.isclose(logs, logs.max(axis=1, keepdims=True))
    return (best[np.arange(len(data)), labels[:, column]] / best.sum(axis=1)).mean()


@pytest.mark.parametrize(("K", "expected"), [(2, 0.972), (3, 0.907), (4, 0.792)])
def test_the_best_precision_is_the_ceiling_of_the_published_tables(K, expected):
    made = bits(40_000, K, features=(10, 4), random_state=0)
    assert bayes(made.data, made.labels, made.features, 1, 0.1) == pytest.approx(expected, abs=0.006)


def test_bits_without_flips_are_blocks():
    made = bits(50, 3, features=(6, 3, 4), flip=0.0, random_state=2)
    assert made.data.shape == (50, 13) and made.labels.shape == (50, 3) and set(np.unique(made.data)) == {0.0, 1.0}
    for column, m in enumerate((6, 3, 4)):
        own = made.data[:, made.features == column]
        for k in range(3):
            members = own[made.labels[:, column] == k]
            assert len(members) and (members == (np.arange(m) * 3 // m == k)).all()


def test_flips_have_their_share():
    clean, noisy = (bits(4000, 2, features=(4, 4), flip=flip, random_state=3) for flip in (0.0, 0.2))
    np.testing.assert_array_equal(clean.labels, noisy.labels)
    assert (clean.data != noisy.data).mean() == pytest.approx(0.2, abs=0.01)


@pytest.mark.parametrize("seed", range(2))
@one_thread()
def test_framing_dominates_and_hair_comes_next(seed):
    faces = datasets.crossed_faces(random_state=seed)
    assert faces.images.shape == (369, 40, 40) and faces.data.dtype == np.float64
    assert np.array_equal(faces.data, faces.images.reshape(369, 1600))
    assert 0 <= faces.data.min() < 0.1 and 0.9 < faces.data.max() <= 1
    found = KMeans(2, n_init=2, random_state=0).fit_predict(faces.data)
    assert precision(found, faces.labels[:, 0]) > 0.98
    assert precision(found, faces.labels[:, 1]) < 0.6
    for framing in (0, 1):
        own = faces.labels[:, 0] == framing
        left, strength, _ = np.linalg.svd(faces.data[own] - faces.data[own].mean(axis=0), full_matrices=False)
        assert precision(left[:, 0] > 0, faces.labels[own, 1]) > 0.9
        assert strength[0] ** 2 > 1.7 * strength[1] ** 2
    hair = faces.images[faces.labels[:, 1] == 1].mean(axis=0) - faces.images[faces.labels[:, 1] == 0].mean(axis=0)
    assert hair.min() < -0.15 and hair.max() < 0.1  # long hair is dark where short hair leaves the background


def test_faces_are_drawn_alike_at_every_size():
    small, large = (datasets.crossed_faces(2000, size=size, random_state=SEED) for size in (10, 30))
    means = [np.array([one.images[one.labels[:, 0] == k].mean(axis=0) for k in (0, 1)]) for one in (small, large)]
    for a, b in zip(*means, strict=True):
        assert abs(a.mean() - b.mean()) < 0.03
        assert np.corrcoef(a.ravel(), b[1::3, 1::3].ravel())[0, 1] > 0.9


def test_words_are_the_background_where_no_topic_has_a_share():
    text = datasets.crossed_text(2000, (2, 2), n_terms=50, length=30, shares=(0, 0), random_state=SEED)
    law = 1 / np.arange(1, 51)
    words = text.data.sum(axis=0)
    assert stats.chisquare(words, words.sum() * law / law.sum()).pvalue > 1e-3
    by_label = np.array([text.data[text.labels[:, 0] == k].sum(axis=0) for k in (0, 1)])
    assert stats.chi2_contingency(by_label).pvalue > 1e-3


def test_lengths_are_poisson_and_no_document_is_empty():
    text = datasets.crossed_text(4000, n_terms=50, length=100, random_state=SEED)
    assert isinstance(text.data, sparse.csr_array) and text.data.dtype == np.int64
    assert text.data.has_canonical_format and text.data.indices.dtype == np.int32
    lengths = text.data.sum(axis=1)
    assert abs(lengths.mean() - 100) < 4 * 10 / np.sqrt(4000)
    assert abs(lengths.var() / 100 - 1) < 4 * np.sqrt(2 / 4000)
    short = datasets.crossed_text(4000, n_terms=50, length=1, random_state=SEED).data.sum(axis=1)
    assert short.min() == 1 and abs(short.mean() - (1 + np.exp(-1))) < 4 / np.sqrt(4000)


@pytest.mark.parametrize("labeling", [0, 1])
def test_a_topic_has_its_share_of_words_of_its_own(labeling):
    """Against the background, a topic adds its share to the words of its documents, and divides it as 1 / r."""
    shares = np.eye(2)[labeling] * 0.3
    text = datasets.crossed_text(8000, (2, 2), n_terms=400, shares=shares, random_state=SEED)
    background = 1 / np.arange(1, 401)
    background /= background.sum()
    for label in (0, 1):
        words = text.data[text.labels[:, labeling] == label].sum(axis=0)
        topic = words / words.sum() - 0.7 * background
        own = np.sort(topic)[::-1][:20]  # 400 // 20 words
        assert abs(own.sum() - 0.3) < 0.02 and abs(topic).sum() < 0.34
        law = 1 / np.arange(1, 21)
        assert np.abs(own - 0.3 * law / law.sum()).max() < 0.006


def test_documents_differ_in_their_share_of_topic_words():
    text = datasets.crossed_text(4000, (2, 2), n_terms=400, shares=(0.5, 0), length=400, random_state=SEED)
    words = text.data[text.labels[:, 0] == 0]
    background = 1 / np.arange(1, 401)
    background /= background.sum()
    topic = np.argsort(words.sum(axis=0) / words.sum() - 0.5 * background)[::-1][:20]
    foreign = background[topic].sum()
    share = (words[:, topic].sum(axis=1) / words.sum(axis=1) - foreign) / (1 - foreign)
    assert abs(share.mean() - 0.5) < 0.02
    assert abs(share.var() - 0.5 * 0.5 / 9 - 0.5 * 0.5 / 400) < 0.005  # Beta(4, 4), and the words drawn


@one_thread()
def test_the_labelings_of_text_are_neither_trivial_nor_hidden():
    for seed in range(2):
        text = datasets.crossed_text(random_state=seed)
        X = np.sqrt(text.data.toarray() / text.data.sum(axis=1)[:, None])
        first, second = text.labels.T
        found = KMeans(4, n_init=2, random_state=0).fit_predict(X)
        assert 0.2 < normalized_mutual_info_score(found, first) < 0.8
        assert normalized_mutual_info_score(found, second) < 0.1
        rest = X - np.array([X[first == k].mean(axis=0) for k in range(4)])[first]
        found = KMeans(5, n_init=2, random_state=0).fit_predict(rest)
        assert 0.2 < normalized_mutual_info_score(found, second) < 0.8


@settings(max_examples=30, deadline=None)
@given(st.lists(st.integers(2, 4), min_size=1, max_size=3), st.integers(20, 80), st.floats(1, 9), st.integers(0, 99))
def test_labels_and_lengths_do_not_depend_on_the_shares(n_clusters, n_terms, length, seed):
    zero, half, all_ = (
        datasets.crossed_text(
            20,
            n_clusters,
            n_terms=n_terms,
            length=length,
            shares=[share / len(n_clusters)] * len(n_clusters),
            random_state=seed,
        )
        for share in (0, 0.5, 1)
    )
    for one in (half, all_):
        assert np.array_equal(one.labels, zero.labels)
        assert np.array_equal(one.data.sum(axis=1), zero.data.sum(axis=1))
    assert zero.data.sum(axis=1).min() >= 1 and zero.data.shape == (20, n_terms)
    topics = sum(n_clusters) * (n_terms // 20)
    assert np.count_nonzero(all_.data.sum(axis=0)) <= topics


def test_the_same_seed_gives_the_same_set():
    for make in (counts, bits, faces, text):
        one, again, other = (make(20, random_state=seed) for seed in (5, 5, 6))
        one, again, other = (np.asarray(x.data.toarray() if make is text else x.data) for x in (one, again, other))
        np.testing.assert_array_equal(one, again)
        assert (one != other).any()


@pytest.mark.parametrize("make", [counts, bits, faces, text])
def test_every_combination_of_labels_is_equally_probable(make):
    found = make(2000, random_state=SEED, **({"size": 8} if make is faces else {}))
    assert found.labels.dtype == np.int64 and found.data.shape[0] == len(found.labels) == 2000
    shape = tuple(found.labels.max(axis=0) + 1)
    assert shape == ((4, 5) if make is text else (2, 2))
    cells = np.bincount(np.ravel_multi_index(tuple(found.labels.T), shape), minlength=np.prod(shape))
    assert stats.chisquare(cells).pvalue > 1e-3


@pytest.mark.parametrize(
    ("make", "words", "message"),
    [
        (counts, {"n_objects": 0}, "n_objects=0"),
        (counts, {"total": 0}, "total=0"),
        (counts, {"n_clusters": 1}, "n_clusters=1"),
        (counts, {"orthogonality": 1.5}, "orthogonality=1.5"),
        (counts, {"random_state": -1}, "random_state=-1"),
        (bits, {"n_objects": 2.5}, "n_objects must be an integer"),
        (bits, {"n_clusters": 1}, "n_clusters=1"),
        (bits, {"n_clusters": 5}, "features=4 must be >= 5"),
        (bits, {"features": (4, 0)}, "features=0"),
        (bits, {"features": ()}, "features is empty"),
        (bits, {"features": (4, 4.5)}, "features must be an integer"),
        (bits, {"flip": -0.1}, "flip=-0.1"),
        (bits, {"flip": np.nan}, "flip=nan"),
        (faces, {"n_objects": 0}, "n_objects=0"),
        (faces, {"size": 7}, "size=7 must be >= 8"),
        (faces, {"random_state": "x"}, "random_state='x'"),
        (text, {"n_objects": -1}, "n_objects=-1"),
        (text, {"n_terms": 19}, "n_terms=19 must be >= 20"),
        (text, {"n_clusters": (1, 2)}, "n_clusters=1 must be >= 2"),
        (text, {"n_clusters": ()}, "n_clusters is empty"),
        (text, {"n_clusters": 4}, r"shares=\[0.15, 0.1\] must be 1 numbers, as n_clus"),
        (text, {"length": 0.5}, "length=0.5 must be .*>= 1"),
        (text, {"length": np.inf}, "length=inf"),
        (text, {"shares": (0.6, 0.5)}, r"shares=\[0.6, 0.5\] .*sum of at most 1"),
        (text, {"shares": (0.6, -0.5)}, "shares=-0.5"),
        (text, {"shares": "x"}, "shares must be a real number"),
    ],
)
def test_wrong_arguments_are_named(make, words, message):
    with pytest.raises((ValueError, TypeError), match=message):
        make(**words)
