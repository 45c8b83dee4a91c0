"""Own data: planted groups are found, noise claims nothing, the search is paid for, and nothing is lost on the way."""

import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import adjusted_rand_score

from gencap import __main__
from gencap.datasets.files import OwnData
from gencap.models.similarity import RestartWarning
from gencap.run import own

QUICK = {"n_clusters": [4, 5], "n_jobs": 1, "progress": False}
ONE = QUICK | {"models": ["kmeans"], "measures": ["euclidean"]}


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    """Everything is written below a folder of the test's own."""
    (tmp_path / "notebooks").mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(own, "RELATIVE_SHIFTS", (0.8,))  # a quick search
    monkeypatch.setattr(own, "LEVELS", (0.5,))
    return tmp_path


def source(X, kind="table", name="made", **more):
    """What the reader would return."""
    X = np.asarray(X, float)
    names = [f"o{i}" for i in range(len(X))]
    columns = [f"c{j}" for j in range(X.shape[1])] if kind == "table" else None
    data = pd.DataFrame(X, names, columns or names)
    names = more.pop("objects", names)
    given = {
        "named": True,
        "columns": columns,
        "classes": None,
        "words": "made",
        "warnings": [],
        "path": Path(f"{name}.csv"),
    }
    return OwnData(kind, data, names, **(given | more))


def groups(n_groups=5, size=16, width=24, noise=1.0, seed=0):
    rng = np.random.default_rng(seed)
    labels = np.repeat(range(n_groups), size)
    return rng.normal(size=(n_groups, width))[labels] * 2 + noise * rng.normal(size=(n_groups * size, width)), labels


def test_planted_groups_are_found_with_objects_in_order():
    X, labels = groups()
    found = own.investigate(source(X), **QUICK)
    assert found.p_values == {"matched": 0.05} and found.best.n_clusters == 5
    assert adjusted_rand_score(labels, found.clusters.cluster) == 1
    assert found.clusters.object.tolist() == [f"o{i}" for i in range(80)]
    sizes = found.clusters.cluster.value_counts()
    assert [sizes[k] for k in (1, 2, 3, 4, 5)] == sorted(sizes, reverse=True)
    assert (found.clusters.probability > 0.9).all() and (found.clusters.stability > 0.9).all()
    assert "5 clusters" in repr(found) and "p = 0.05" in found.verdict


def test_two_measurements_and_random_halves():
    X, labels = groups()
    twice = own.investigate(
        source(X, name="a"), source(X + 0.5 * np.random.default_rng(1).normal(size=X.shape), name="b"), **ONE
    )
    assert "measured twice" in twice.words["views"] and adjusted_rand_score(labels, twice.clusters.cluster) > 0.9
    halves = own.investigate(source(X, name="c"), protocol="random_split", **ONE)
    assert "stability" not in halves.clusters and len(halves.clusters) == 80


@pytest.mark.parametrize("kind", ["similarity", "distance", "edges"])
def test_graphs(kind):
    labels = np.repeat(range(4), 12)
    same = labels[:, None] == labels
    rng = np.random.default_rng(0)
    X = (rng.random((48, 48)) < np.where(same, 0.7, 0.1)).astype(float)
    X = np.triu(X, 1) + np.triu(X, 1).T
    found = own.investigate(source(1 - X if kind == "distance" else X, kind), **QUICK)
    assert adjusted_rand_score(labels, found.clusters.cluster) > 0.9 and "by lot" in found.words["views"]
    assert set(found.table.measure) == {"weights"} and set(found.table.neutral) == set(own.LEVELS)


def test_two_graphs_and_no_groups():
    rng = np.random.default_rng(2)
    X, Y = (A + A.T for A in rng.normal(size=(2, 24, 24)))
    found = own.investigate(source(X, "similarity"), source(Y, "similarity"), **QUICK)
    assert found.best is None and found.clusters is None and "no clusters" in found.verdict


def test_noise_claims_nothing():
    verdicts = []
    for seed in range(3):
        X = np.random.default_rng(seed).normal(size=(24, 8))
        verdicts.append(own.investigate(source(X, name=f"noise{seed}"), **ONE).best)
    assert sum(best is not None for best in verdicts) <= 1


def test_the_search_is_paid_for():
    """p by hand, from the bits that are kept: excess over the mean of all, the largest of each data set."""
    found = own.investigate(source(np.random.default_rng(3).normal(size=(24, 8))), **(QUICK | {"models": ["kmeans"]}))
    bits = found.bits["matched"]
    assert bits.shape == (20, 2, 2) == (20, found.table.setting.nunique(), 2)
    largest = []
    for b in range(20):
        others = np.delete(bits, b, axis=0)
        largest.append(((bits[b] - others.mean(axis=0)) / np.sqrt(others.var(axis=0) + 0.1**2)).max())
    assert found.p_values["matched"] == np.mean([value >= largest[0] - 1e-9 for value in largest])
    row = found.table[(found.table.setting == 1) & (found.table.n_clusters == 5)].iloc[0]
    assert row.bits == bits[0, 1, 1] and row.excess == pytest.approx(bits[0, 1, 1] - bits[1:, 1, 1].mean())
    assert row.p == (1 + sum(bits[1:, 1, 1] >= bits[0, 1, 1] - 1e-9)) / 20


def test_fewest_clusters_with_the_same_bits():
    rows = [(0, k, bits, z, z) for k, bits, z in [(2, 0.8, 0.2), (3, 1.19, 0.5), (4, 1.21, 0.7), (5, 1.2, 0.9)]]
    table = pd.DataFrame([*rows, (1, 2, 2.0, 0.1, 0.1)], columns=["setting", "n_clusters", "bits", "excess", "z"])
    assert own._best(table).n_clusters == 3


def test_the_same_with_any_number_of_workers(here):
    X = groups(size=6)[0]
    first = own.investigate(source(X), **ONE)
    kept = len(list((here / "build/own/made/parts").glob("*.json")))
    assert kept == 20 * 2
    again = own.investigate(source(X, name="again"), **(ONE | {"n_jobs": 2}))
    pd.testing.assert_frame_equal(first.table, again.table)


def test_an_interrupted_search_goes_on(here, monkeypatch):
    X = groups(size=6)[0]
    true = own.evaluate_all

    def interrupted(tasks, total, folder, **options):
        def some():
            for number, task in enumerate(tasks):
                if number == 5:
                    raise KeyboardInterrupt
                yield task

        return true(some() if total > 5 else tasks, total, folder, **options)

    monkeypatch.setattr(own, "evaluate_all", interrupted)
    with pytest.raises(KeyboardInterrupt):
        own.investigate(source(X), **ONE)
    before = {path: path.stat().st_mtime_ns for path in (here / "build/own/made/parts").glob("*.json")}
    assert before
    monkeypatch.setattr(own, "evaluate_all", true)
    whole = own.investigate(source(X), **ONE)
    assert all(path.stat().st_mtime_ns == time for path, time in before.items())
    pd.testing.assert_frame_equal(whole.table, own.investigate(source(X, name="other"), **ONE).table)


def test_many_objects_are_searched_by_lot_and_all_get_a_cluster(monkeypatch):
    monkeypatch.setitem(own.QUICK, "objects", 60)
    X, labels = groups()
    found = own.investigate(source(X), **ONE)
    assert "60 of 80 objects, drawn by lot" in found.words["objects"]
    assert len(found.clusters) == 80 and adjusted_rand_score(labels, found.clusters.cluster) > 0.9


def test_constant_rows_are_left_out_and_named():
    X = groups()[0]
    X[4] = 1.0
    X[7, ::2] = 0.0  # constant in one view
    found = own.investigate(source(X), **(ONE | {"measures": ["correlation"]}))
    assert any("2 rows are constant" in text and "o4, o7" in text for text in found.warnings)
    assert len(found.clusters) == 78 and "o4" not in set(found.clusters.object)
    assert len(own.investigate(source(X, name="all"), **ONE).clusters) == 80


def test_what_is_refused():
    X = groups()[0]
    for words, options in {
        "model='magic' is not one of": {"models": ["magic"]},
        "measure='cosine' is not one of": {"measures": ["cosine"]},
        "protocol": {"protocol": "thirds"},
        "profile": {"profile": "medium"},
        "objects - 1": {"n_clusters": [2, 80]},
    }.items():
        with pytest.raises(ValueError, match=words):
            own.investigate(source(X), **(QUICK | options))
    with pytest.raises(ValueError, match="'kmeans' needs a table"):
        own.investigate(source(np.eye(9), "similarity"), **(QUICK | {"models": ["kmeans"]}))


def test_an_error_comes_with_what_the_reader_doubted():
    X = groups()[0]
    with pytest.raises(ValueError, match="columns of X=3 must be >= 4.*; three are few$"):
        own.investigate(source(X[:, :3], warnings=["three are few"]), **QUICK)
    with pytest.raises(ValueError, match="median distance.*; take logarithms$"):
        own.investigate(source(np.exp(6 * X), warnings=["take logarithms"]), **(QUICK | {"measures": ["euclidean"]}))


def test_groups_that_the_null_keeps_are_not_ruled_out():
    rng, sides = np.random.default_rng(0), np.repeat([-3, 3], 40)[:, None]
    X = np.hstack([sides + rng.normal(size=(80, 9)), rng.normal(size=(80, 10)), np.ones((80, 1))])
    assert "9 of 20 columns fall into groups" in " ".join(own._warnings([source(X)], [], [2, 3], None))
    assert own._warnings([source(X)], [], [2, 3], pd.Series({"n_clusters": 2})) == []
    assert own._warnings([source(X[:, 9:])], [], [2, 3], None) == []
    assert own._warnings([source(rng.random((80, 20)))], [], [2, 3], None) == []


def test_missed_costs_of_single_coolings_are_not_told(monkeypatch):
    def told(*kinds):
        for kind in kinds:
            warnings.warn(kind.__name__, kind, stacklevel=2)

    monkeypatch.setattr(own, "evaluate_over", told)
    with pytest.warns(UserWarning) as caught:
        own._quietly(RestartWarning, UserWarning)
    assert [str(one.message) for one in caught] == ["UserWarning"]


def test_warnings_of_paths_and_of_the_largest_number():
    X = groups(n_groups=6, size=10)[0]
    found = own.investigate(source(X, warnings=["few"]), **(ONE | {"measures": ["path", "euclidean"]}))
    texts = " ".join(found.warnings)
    assert (
        "few" in texts
        and "path: path distances follow" in texts
        and "the largest number of clusters offered, 5" in texts
    )


def test_the_command(here, capsys):
    X, labels = groups()
    pd.DataFrame(X, [f"o{i}" for i in range(len(X))], [f"c{j}" for j in range(24)]).to_csv(here / "mine.csv")
    words = ["own", "mine.csv", "--models", "kmeans", "--measures", "euclidean", "--clusters", "4", "5", "--jobs", "1"]
    assert __main__.main(words) == 0
    said = capsys.readouterr()
    assert "5 clusters by kmeans" in said.out and "index.html" in said.out and "minutes more" in said.err
    assert {p.name for p in (here / "build/own/mine").iterdir()} >= {"index.html", "clusters.csv", "capacities.csv"}
    assert __main__.main(["own", "nowhere.csv"]) in (1, 2) and "nowhere.csv" in capsys.readouterr().err
    assert __main__.main([*words, "--measures", "cosine"]) == 2 and "cosine" in capsys.readouterr().err
