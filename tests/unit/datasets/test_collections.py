"""Collections with several labelings, by small files of the same form."""

import gzip
import sys

import numpy as np
import pytest
from PIL import Image
from scipy import sparse
from sklearn.utils import Bunch

from gencap import datasets
from gencap.datasets import collections

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
    monkeypatch.setattr(collections, "fetch_rcv1", lambda **options: asked.append(options) or vectors)
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
