"""Data with several labelings: generators by their exact expectations, loaders by small files of the same form."""

import gzip
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image
from scipy import sparse, stats
from sklearn.cluster import KMeans
from sklearn.metrics import normalized_mutual_info_score
from sklearn.utils import Bunch

import gencap as gc
from gencap import datasets
from gencap.datasets import crossed
from gencap.resources import one_thread

counts, bits = gc.datasets.crossed_counts, gc.datasets.crossed_bits
SEED = 5
MAKE = {
    "counts": lambda seed, n=300: counts(n, 3, total=20, orthogonality=0.5, random_state=seed),
    "bits": lambda seed, n=300: bits(n, 3, features=(6, 4, 3), random_state=seed),
    "faces": lambda seed, n=300: datasets.crossed_faces(n, size=8, random_state=seed),
    "text": lambda seed, n=300: datasets.crossed_text(n, (2, 3), n_terms=60, length=5, random_state=seed),
}
LABELS = {"counts": (3, 3), "bits": (3, 3, 3), "faces": (2, 2), "text": (2, 3)}


def dense(data):
    return data.toarray() if sparse.issparse(data) else data


def precision(found, labels):
    """Share of objects that agree with two labels, whatever the clusters are called."""
    return max((found == labels).mean(), (found != labels).mean())


# All generators


@pytest.mark.parametrize("name", MAKE)
def test_same_seed_same_data(name):
    first, again, other = (MAKE[name](seed) for seed in (3, 3, 4))
    assert np.array_equal(dense(first.data), dense(again.data)) and np.array_equal(first.labels, again.labels)
    assert not np.array_equal(dense(first.data), dense(other.data))
    assert not np.array_equal(first.labels, other.labels)
    rng = np.random.default_rng(3)
    assert np.array_equal(dense(first.data), dense(MAKE[name](rng).data))
    assert not np.array_equal(dense(first.data), dense(MAKE[name](rng).data))


@pytest.mark.parametrize("name", MAKE)
def test_every_combination_of_labels_is_equally_probable(name):
    found = MAKE[name](SEED, 2000)
    assert found.labels.shape == (2000, len(LABELS[name])) and found.labels.dtype == np.int64
    assert len(dense(found.data)) == 2000
    cells = np.bincount(np.ravel_multi_index(tuple(found.labels.T), LABELS[name]), minlength=np.prod(LABELS[name]))
    assert cells.sum() == 2000 and stats.chisquare(cells).pvalue > 1e-3
    assert len(MAKE[name](SEED, 1).labels) == 1


# Counts and bits


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


# Faces


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


# Text


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


# CMU faces

STEMS = ["an2i_left_angry_open", "an2i_up_sad_sunglasses", "tammo_left_happy_open", "kk49_straight_neutral_open"]


@pytest.fixture
def faces(tmp_path):
    """A folder of small made-up images, one folder a person; person i has pixels 10 i at scale 4."""
    for i, stem in enumerate(STEMS):
        place = tmp_path / stem.split("_")[0]
        place.mkdir(exist_ok=True)
        for ending, scale in (("", 1), ("_2", 2), ("_4", 4)):
            pixels = np.full((120 // scale, 128 // scale), 10 * i + scale, np.uint8)
            Image.fromarray(pixels).save(place / f"{stem}{ending}.pgm")
    (tmp_path / "an2i" / "an2i_left_sad_open_4.bad").write_bytes(b"glitch")
    (tmp_path / "README").write_text("no image")
    return tmp_path


@pytest.mark.parametrize("scale", [1, 2, 4])
def test_cmu_faces(faces, scale):
    found = datasets.load_cmu_faces(faces, scale=scale)
    assert found.images.shape == (4, 120 // scale, 128 // scale) and found.data.shape == (4, 15360 // scale**2)
    assert np.array_equal(found.data[:, 0], np.array([0, 10, 30, 20]) / 255 + scale / 255)
    assert found.person_names[found.person].tolist() == ["an2i", "an2i", "kk49", "tammo"]
    assert found.direction_names[found.direction].tolist() == ["left", "up", "straight", "left"]
    assert found.expression_names[found.expression].tolist() == ["angry", "sad", "neutral", "happy"]
    assert found.eyes_names.tolist() == ["open", "sunglasses"] and found.eyes.tolist() == [0, 1, 0, 0]
    assert found.labels.dtype == np.int64 and found.labels.shape == (4, 4)
    assert all(np.array_equal(found.labels[:, i], found[name]) for i, name in enumerate(found.label_names))
    assert found.files[0].startswith("an2i_left_angry_open")
    assert found.description == f"4 CMU face images of {120 // scale} x {128 // scale} pixels"


def test_plain_pgm_is_read_too(tmp_path):
    rows = "\n".join(" ".join(["255"] * 32) for _ in range(30))
    (tmp_path / "bpm_up_happy_open_4.pgm").write_text(f"P2\n32 30\n255\n{rows}\n")
    assert (datasets.load_cmu_faces(str(tmp_path)).data == 1).all()


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("portrait.pgm", b"", "portrait.pgm is no name of a CMU face; accepted is person_direction.*left|right"),
        ("an2i_down_angry_open_4.pgm", b"", "an2i_down_angry_open_4.pgm is no name"),
        ("an2i_left_angry_open_3.pgm", b"", "an2i_left_angry_open_3.pgm is no name"),
        ("an2i_up_angry_open_4.pgm", b"", "an2i_up_angry_open_4.pgm cannot be read as an image"),
        ("an2i_up_angry_open_4.pgm", b"P5\n32 30\n255\n" + bytes(100), "an2i_up_angry_open_4.pgm cannot be read"),
        ("an2i_up_angry_open_4.pgm", b"P5\n32 x\n255\n" + bytes(960), "an2i_up_angry_open_4.pgm cannot be read"),
        ("an2i_up_angry_open_4.pgm", b"P5\n30 32\n255\n" + bytes(960), r"open_4.pgm has \(32, 30\) .*are \(30, 32\)"),
        ("an2i_up_angry_open_4.pgm", b"P6\n32 30\n255\n" + bytes(2880), r"open_4.pgm has \(30, 32, 3\)"),
        ("an2i_up_angry_open_4.pgm", b"P5\n32 30\n65535\n" + bytes(1920), "open_4.pgm has .* of u?int(16|32), acc"),
        ("an2i_left_angry_open_4.pgm", b"", "an2i_left_angry_open_4.pgm is there twice"),
    ],
)
def test_damaged_or_foreign_images_are_named(faces, name, content, message):
    (faces / "z").mkdir()
    (faces / "z" / name).write_bytes(content)
    with pytest.raises(ValueError, match=message):
        datasets.load_cmu_faces(faces)


def test_faces_that_are_not_there(tmp_path, monkeypatch):
    for folder in (tmp_path, tmp_path / "nowhere"):
        with pytest.raises(FileNotFoundError, match=f"{folder} holds no .pgm image of scale 2; data/README.md"):
            datasets.load_cmu_faces(folder, scale=2)
    with pytest.raises(ValueError, match="scale=3 is not one of 1, 2, 4"):
        datasets.load_cmu_faces(tmp_path, scale=3)
    monkeypatch.setitem(sys.modules, "PIL", None)
    with pytest.raises(ImportError, match=r"not installed: PIL; pip install \"gencap\[plots\]\""):
        datasets.load_cmu_faces(tmp_path)


# News: documents 100, 101, ... with topics and regions as told, document i has the word i % 3 and the word 3

TOPICS = ["CCAT", "GCAT", "MCAT"]
NEWS = [("GCAT", "UK"), ("MCAT", "UK"), ("GCAT CCAT", "INDIA"), ("GCAT MCAT", "UK"), ("MCAT", "UK INDIA"),
        ("MCAT", "USA"), ("CCAT", "UK"), ("GCAT", "UK USA"), ("MCAT", "INDIA"), ("MCAT", "")]  # fmt: skip
KEPT = {100: (1, 0), 101: (0, 0), 102: (1, 1), 107: (1, 0), 108: (0, 1)}  # topics MCAT, GCAT; regions UK, INDIA


@pytest.fixture
def news(tmp_path):
    """Path of a file of regions, in an order of its own, and the vectors of the documents."""
    lines = [f"{region} {100 + i} 1" for i, (_, regions) in enumerate(NEWS) for region in regions.split()]
    path = tmp_path / "rcv1-v2.regions.qrels.gz"
    path.write_bytes(gzip.compress("\n".join([*lines[::-1], lines[0], "UK 999 1", ""]).encode()))
    data = np.zeros((len(NEWS), 5))
    data[np.arange(len(NEWS)), np.arange(len(NEWS)) % 3] = 0.25
    data[:, 3] = 0.5
    target = np.array([[topic in topics.split() for topic in TOPICS] for topics, _ in NEWS], np.uint8)
    vectors = Bunch(
        data=sparse.csr_matrix(data),
        target=sparse.csr_matrix(target),
        sample_id=np.arange(100, 100 + len(NEWS), dtype=np.uint32),
        target_names=np.array(TOPICS, object),
    )
    return path, vectors


def test_news_have_one_topic_and_one_region_of_those_asked_for(news):
    path, vectors = news
    found = datasets.load_rcv1(path, ["MCAT", "GCAT"], ("UK", "INDIA"), vectors=vectors, min_documents=1)
    assert dict(zip(found.sample_id.tolist(), map(tuple, found.labels.tolist()), strict=True)) == KEPT
    assert found.labels.dtype == np.int64 and isinstance(found.data, sparse.csr_array)
    assert found.topic_names.tolist() == ["MCAT", "GCAT"] and found.region_names.tolist() == ["UK", "INDIA"]
    assert found.terms.tolist() == [0, 1, 2, 3]
    expected = vectors.data.toarray()[found.sample_id - 100][:, :4]
    assert np.array_equal(found.data.toarray(), expected)
    assert found.description == "5 news x 4 terms (RCV1-v2)"
    found = datasets.load_rcv1(path, ["MCAT", "GCAT"], ["UK", "INDIA"], vectors=vectors, min_documents=2)
    assert found.terms.tolist() == [1, 2, 3]  # documents 100 (word 0), 101 and 107 (1), 102 and 108 (2)
    found = datasets.load_rcv1(path, "MCAT", "UK", vectors=vectors, min_documents=1)
    assert found.sample_id.tolist() == [101, 103, 104] and not found.labels.any()  # others are not asked for


def test_at_most_so_many_of_a_pair_are_drawn_by_lot(news):
    path, vectors = news
    pairs, drawn = [(0, 0), (0, 1), (1, 0), (1, 1)], set()
    for seed in range(12):
        found, again = (
            datasets.load_rcv1(
                path,
                ["MCAT", "GCAT"],
                ["UK", "INDIA"],
                n_per_pair=1,
                min_documents=1,
                vectors=vectors,
                random_state=seed,
            )
            for _ in range(2)
        )
        assert np.array_equal(found.sample_id, again.sample_id)
        assert sorted(map(tuple, found.labels.tolist())) == pairs
        assert all(KEPT[i] == tuple(pair) for i, pair in zip(found.sample_id.tolist(), found.labels, strict=True))
        drawn |= set(found.sample_id.tolist())
    assert drawn == set(KEPT)


def test_documents_without_terms_are_left_out(news):
    path, vectors = news
    data = vectors.data.toarray()
    data[:, 3] = 0
    vectors.data = sparse.csr_matrix(data)
    found = datasets.load_rcv1(path, ["MCAT", "GCAT"], ["UK", "INDIA"], vectors=vectors)
    assert found.sample_id.tolist() == [101, 102, 107, 108] and found.terms.tolist() == [1, 2]
    with pytest.raises(ValueError, match="no document has exactly .*'GCAT'.* and terms of min_documents=9"):
        datasets.load_rcv1(path, ["MCAT", "GCAT"], ["UK", "INDIA"], min_documents=9, vectors=vectors)


def test_stored_vectors_are_used_and_never_downloaded(news, monkeypatch, tmp_path):
    path, vectors = news
    with pytest.raises(FileNotFoundError, match="data_home=.* holds no vectors of RCV1: .*fetch_rcv1"):
        datasets.load_rcv1(path, ["MCAT"], ["UK"], data_home=tmp_path / "empty")
    asked = []
    monkeypatch.setattr(crossed, "fetch_rcv1", lambda **options: asked.append(options) or vectors)
    found = datasets.load_rcv1(path, ["MCAT", "GCAT"], ["UK", "INDIA"], min_documents=1, data_home="here")
    assert set(found.sample_id.tolist()) == set(KEPT)
    assert asked == [{"data_home": "here", "download_if_missing": False}]


@pytest.mark.parametrize(
    "text",
    ["UK 100\n", "UK 100 1\nUSA x 1\n", "UK,100,1\n", "UK 100 1\nUK 101 1 1\n", "", "UK -1 1\n", "UK 100 1\nUK\n"],
)
def test_a_damaged_file_of_regions_is_named(news, text):
    path, vectors = news
    for content in (gzip.compress(text.encode()), path.read_bytes()[:40], text.encode() or b"x"):
        path.write_bytes(content)
        with pytest.raises(ValueError, match="regions.qrels.gz: .*accepted are lines of region, document number, 1"):
            datasets.load_rcv1(path, ["MCAT"], ["UK"], vectors=vectors)
    plain = path.with_suffix("")
    plain.write_text("UK 100 1\nUSA x 1\n")
    with pytest.raises(ValueError, match=r"regions.qrels: line 2 has \['USA', 'x', '1'\]"):
        datasets.load_rcv1(plain, ["MCAT"], ["UK"], vectors=vectors)


# Bad arguments


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: counts(0), ValueError, "n_objects=0"),
        (lambda: counts(total=0), ValueError, "total=0"),
        (lambda: counts(n_clusters=1), ValueError, "n_clusters=1"),
        (lambda: counts(orthogonality=1.5), ValueError, "orthogonality=1.5"),
        (lambda: counts(random_state=-1), ValueError, "random_state=-1"),
        (lambda: bits(2.5), TypeError, "n_objects must be an integer"),
        (lambda: bits(n_clusters=1), ValueError, "n_clusters=1"),
        (lambda: bits(n_clusters=5), ValueError, "features=4 must be >= 5"),
        (lambda: bits(features=(4, 0)), ValueError, "features=0"),
        (lambda: bits(flip=-0.1), ValueError, "flip=-0.1"),
        (lambda: bits(flip=np.nan), ValueError, "flip=nan"),
        (lambda: datasets.crossed_faces(0), ValueError, "n_objects=0"),
        (lambda: datasets.crossed_faces(10, size=7), ValueError, "size=7 must be >= 8"),
        (lambda: datasets.crossed_faces(10, random_state="x"), TypeError, "random_state='x'"),
        (lambda: datasets.crossed_text(-1), ValueError, "n_objects=-1"),
        (lambda: datasets.crossed_text(10, n_terms=19), ValueError, "n_terms=19 must be >= 20"),
        (lambda: datasets.crossed_text(10, (1, 2)), ValueError, "n_clusters=1 must be >= 2"),
        (lambda: datasets.crossed_text(10, 4), ValueError, r"shares=\[0.15, 0.1\] must be 1 numbers, as n_clus"),
        (lambda: datasets.crossed_text(10, length=0.5), ValueError, "length=0.5 must be .*>= 1"),
        (lambda: datasets.crossed_text(10, length=np.inf), ValueError, "length=inf"),
        (lambda: datasets.crossed_text(10, shares=(0.6, 0.5)), ValueError, r"shares=\[0.6, 0.5\] .*sum of at most 1"),
        (lambda: datasets.crossed_text(10, shares=(0.6, -0.5)), ValueError, "shares=-0.5"),
        (lambda: datasets.crossed_text(10, shares="x"), TypeError, "shares must be a real number"),
        (lambda: datasets.crossed_text(10, random_state=-1), ValueError, "random_state=-1"),
    ],
)
def test_bad_arguments(call, error, message):
    with pytest.raises(error, match=message):
        call()


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"topics": ["XCAT", "MCAT"]}, ValueError, r"topics holds \['XCAT'\], accepted are .* the 3 codes of vectors"),
        ({"topics": ["MCAT", "MCAT"]}, ValueError, r"topics holds \['MCAT', 'MCAT'\], accepted are distinct"),
        ({"topics": []}, ValueError, r"topics holds \[\], accepted"),
        ({"topics": 5}, ValueError, r"topics holds \[5\]"),
        ({"regions": ["FRA"]}, ValueError, r"regions holds \['FRA'\], .* the 3 codes of .*regions.qrels.gz"),
        ({"topics": ["CCAT"], "regions": ["USA"]}, ValueError, r"no document has exactly one of topics=\['CCAT'\]"),
        ({"n_per_pair": 0}, ValueError, "n_per_pair=0"),
        ({"min_documents": 1.0}, TypeError, "min_documents must be an integer"),
        ({"random_state": -2}, ValueError, "random_state=-2"),
        ({"path": "nowhere.gz"}, FileNotFoundError, "nowhere.gz"),
        ({"vectors": np.eye(3)}, ValueError, "vectors lack .*'data', 'sample_id', 'target', 'target_names'"),
        ({"vectors": Bunch(data=1, target=2)}, ValueError, r"vectors lack \['sample_id', 'target_names'\]"),
    ],
)
def test_bad_arguments_of_news(news, options, error, message):
    path, vectors = news
    given = {"path": path, "topics": ["MCAT"], "regions": ["UK"], "vectors": vectors} | options
    with pytest.raises(error, match=message):
        datasets.load_rcv1(given.pop("path"), given.pop("topics"), given.pop("regions"), **given)


def test_vectors_of_other_documents_are_refused(news):
    path, vectors = news
    for part in ("data", "target", "sample_id"):
        with pytest.raises(ValueError, match=r"vectors have data \(.*, target \(.*\); accepted are those of"):
            datasets.load_rcv1(path, ["MCAT"], ["UK"], vectors=vectors | {part: vectors[part][1:]})
