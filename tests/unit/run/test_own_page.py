"""The page about own data: verdict first, every promised file, nothing of an earlier result, no markup from names."""

import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from test_own import ONE, groups, here, source  # noqa: F401

import gencap as gc
from gencap.run import own_page
from gencap.run.own_page import sentence


@pytest.fixture
def found(here):  # noqa: F811
    return gc.investigate(source(groups()[0]), **ONE)


def test_the_page_with_clusters(found, here):  # noqa: F811
    path = found.write()
    page = path.read_text(encoding="utf-8")
    names = {file.name for file in path.parent.iterdir() if file.is_file()}
    pictures = {f"{name}.{kind}" for name in ("capacities", "clusters", "profiles") for kind in ("png", "svg")}
    assert names == pictures | {"index.html", "clusters.csv", "capacities.csv"}
    assert page.index("5 clusters.") < page.index("What was done") and "made" in page
    assert sentence(found) in page and "Cite gencap" in page and "http" not in re.sub(r"data:image[^\"]*", "", page)
    assert len(re.findall(r'<img [^>]*alt="[^"]+"', page)) == 3
    table = pd.read_csv(path.parent / "clusters.csv")
    assert table.columns.tolist() == ["object", "cluster", "probability", "stability"] and len(table) == 80
    assert np.allclose(table.probability, found.clusters.probability, rtol=1e-5)
    rows = pd.read_csv(path.parent / "capacities.csv")
    assert rows[["null", "model", "measure", "n_clusters"]].equals(
        found.table[["null", "model", "measure", "n_clusters"]]
    )


def test_where_nothing_holds_it_says_so_first_and_leaves_no_old_clusters(found, here):  # noqa: F811
    folder = found.write().parent
    (folder / "notes.txt").write_text("mine")
    nothing = gc.investigate(source(np.random.default_rng(0).normal(size=(24, 8))), **ONE)
    page = nothing.write().read_text(encoding="utf-8")
    assert page.index("No clusters.") < page.index("What was done") and "no clustering of the 24 objects" in page
    names = {file.name for file in folder.iterdir() if file.is_file()}
    assert names == {"index.html", "capacities.csv", "capacities.png", "capacities.svg", "notes.txt"}


def test_names_are_text(here):  # noqa: F811
    X = groups()[0]
    given = source(X, objects=[f"<b>{i}</b>" for i in range(80)], warnings=["<script>alert(1)</script>"], words="a & b")
    page = gc.investigate(given, **ONE).write().read_text(encoding="utf-8")
    assert "<b>" not in page and "<script>" not in page and "a &amp; b" in page


def test_graphs_have_no_profiles(here):  # noqa: F811
    labels = np.repeat(range(4), 12)
    X = np.where(labels[:, None] == labels, 0.9, 0.1) + 0.1 * np.random.default_rng(0).normal(size=(48, 48))
    found = gc.investigate(source((X + X.T) / 2, "similarity"), n_clusters=[3, 4], n_jobs=1, progress=False)
    names = {file.name for file in found.write().parent.glob("*.png")}
    assert names == {"capacities.png", "clusters.png"}


def test_no_panel_is_cut_by_the_next(here):  # noqa: F811
    options = ONE | {"measures": ["euclidean", "correlation"]}
    found = gc.investigate(source(groups()[0]), **options)
    found.bits["matched"][:, 1] /= 20  # the second panel asks for a lower axis
    figure = own_page._capacities(found)[0]
    figure.draw_without_rendering()
    for ax in figure.axes:
        assert ax.get_ylim()[1] > found.bits["matched"].max() and set(ax.get_xticks() % 1) == {0}


def test_picture_and_sentence_are_about_the_null_that_leaves_least(found):
    easy = found.table.assign(null="permuted", z=found.table.z + 9, excess=found.table.bits)
    both = {"permuted": found.p_values["matched"], **found.p_values}
    bits = {"permuted": 0 * found.bits["matched"], **found.bits}
    found = replace(found, table=pd.concat([easy, found.table]), p_values=both, bits=bits)
    assert "matched null; gencap" in sentence(found)
    drawn = [line.get_ydata() for line in own_page._capacities(found)[0].axes[0].lines]
    assert any(np.allclose(y, found.bits["matched"][1:, 0].mean(axis=0)) for y in drawn)
