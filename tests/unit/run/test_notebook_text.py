"""Notebook 23 on a file of web pages: a small made-up one, in the form of the registered file."""

import gzip
import hashlib
import json
from pathlib import Path

import joblib
import nbformat
import numpy as np
import pytest

from gencap.datasets import sources
from gencap.run import claims

NOTEBOOK = Path(__file__).parents[3] / "notebooks" / "23_faces_and_text.ipynb"


@pytest.fixture
def pages(folder, monkeypatch):
    """60 pages, each with words of its university and of its type; the labels (60, 2)."""
    rng = np.random.default_rng(0)
    labels = np.array([(i % 4, i // 4 % 5) for i in range(60)])
    lines = ["university\tpage_type\tword_ids"]
    for university, page_type in labels:
        words = 20 * np.repeat([university, 10 + page_type], 12) + rng.integers(20, size=24)
        lines.append(f"u{university}\tt{page_type}\t" + " ".join(map(str, np.unique(words))))
    content = gzip.compress("\n".join([*lines, ""]).encode())
    (folder / sources.SOURCES["webkb"]["file"]).write_bytes(content)
    registered = sources.SOURCES["webkb"] | {"sha256": hashlib.sha256(content).hexdigest()}
    monkeypatch.setitem(sources.SOURCES, "webkb", registered)
    return labels


ABOUT_PAGES = "ft-01 ft-02 ft-02f ft-24f ft-27f ft-27 ft-29a ft-29 ft-31f ft-31 ft-33 ft-35 ft-38 ft-44f ft-44"


def run(**values):
    """Execute the cells about web pages in this process, without workers; return their names."""
    space, cells = {"__name__": "__main__"}, {cell.id: cell for cell in nbformat.read(NOTEBOOK, 4).cells}
    with joblib.parallel_config(backend="sequential"):
        for cell in map(cells.get, [*ABOUT_PAGES.split(), "claims-webkb"]):
            exec(compile(cell.source, f"cell {cell.id}", "exec"), space)
            if "parameters" in cell.metadata.get("tags", ()):
                assert values.keys() <= space.keys()
                space |= values
    return space


@pytest.mark.filterwarnings("ignore")  # of single temperatures
def test_a_file_of_web_pages_is_read_clustered_and_decides_the_claims(pages, tmp_path, monkeypatch):
    record = tmp_path / "claims.jsonl"
    monkeypatch.setenv(claims.RECORD_FILE, str(record))
    space = run(source="webkb")
    assert space["bits"].shape == (60, 1703) and np.array_equal(space["labels"], pages)
    assert space["with_pages"].shape == (2, 3, 5, 2)  # known, algorithms, starts, labelings
    assert np.shape(space["found"]) == (4, 2)  # cuts of the pages and of nulls; bits that hold, known bits
    decided = {line["id"]: line for line in map(json.loads, record.read_text().splitlines())}
    assert decided.keys() == {"nr-webkb-z1", "nr-webkb-z2", "nr-rcv1"}
    assert decided["nr-rcv1"]["verdict"] == "needs data"
    for id, z in (("nr-webkb-z1", 1), ("nr-webkb-z2", 0)):
        means = space["with_pages"][z].mean(axis=1)
        right = means[:, 1 - z] > means[:, z]
        assert right[0]  # clean labelings: what is known is left out, and the other one is found
        assert decided[id]["verdict"] == ("reproduced" if right.all() else "in part")


def test_without_the_file_the_lesson_says_what_is_missing(folder):
    with pytest.raises(FileNotFoundError, match="webkb_linqs_877x1703.tsv.gz is not embedded"):
        run(source="webkb")
