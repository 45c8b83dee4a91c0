"""Comparison of models: the table is what `evaluate` says, in whatever order and however often it was interrupted."""

import itertools
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pandas as pd
import psutil
import pytest
from sklearn.cluster import KMeans

import gencap as gc
from gencap.validation.comparison import Comparison, compare_models
from gencap.validation.evaluation import evaluate
from gencap.views.protocols import interleave, random_split


def planted(seed=0, n=8, k=3, d=12, noise=0.4):
    """k groups of n objects; neighbouring columns of a centre are equal, so that interleaved views share it."""
    rng = np.random.default_rng(seed)
    centres = np.repeat(rng.standard_normal((k, d // 2)), 2, axis=1)
    return np.repeat(centres, n, axis=0) + noise * rng.standard_normal((n * k, d))


class Interruptible:
    """Runs of the model of `counted`; it is interrupted at number `stop`."""

    runs, stop = 0, None


@pytest.fixture
def counted(monkeypatch):
    Interruptible.runs, Interruptible.stop, inner = 0, None, gc.CorrelationClustering.anneal

    def anneal(self, X, betas=None, init=None):
        Interruptible.runs += len(betas) == 20  # a wider grid is the same evaluation
        if Interruptible.runs == Interruptible.stop:
            raise KeyboardInterrupt
        return inner(self, X, betas, init)

    monkeypatch.setattr(gc.CorrelationClustering, "anneal", anneal)
    return {"CC": (gc.CorrelationClustering(n_init=1, random_state=0), {"relative_shift": [-1.0, 0.5]})}


CC = gc.CorrelationClustering(n_init=1, random_state=0)
DS = gc.DominantSets(cutoff=1e-2)
MODELS = {
    "CC": (CC, {"relative_shift": [-1.0, 0.5]}),
    "ARC": (gc.AdaptiveRatioCut(n_init=2, random_state=0), {"p": [1.2, 1.6]}),
    "DS": (DS, {"max_steps": [20, 100]}),
}
QUIET = dict(n_repeats=2, n_clusters=[2, 3], progress=False)


def same(first, second):
    pd.testing.assert_frame_equal(
        first.table.drop(columns="seconds"), second.table.drop(columns="seconds"), check_exact=True
    )


def test_the_table_has_a_row_for_every_capacity():
    found = compare_models(
        MODELS, planted(), measures=("correlation", "euclidean"), null="gaussian", n_nulls=2, **QUIET
    )
    table = found.table
    assert list(table) == [
        *("model", "measure", "protocol", "split", "null", "setting", "p", "max_steps", "n_clusters"),
        *("capacity", "n_effective", "entropy", "shift", "relative_shift", "seconds"),
    ]
    places = table[["model", "measure", "split", "null", "setting", "n_clusters"]]
    assert len(table) == 2 * 2 * 3 * 6 * 2 == len(places.drop_duplicates())
    assert set(table.null) == {0, 1, 2} and set(table.setting[table.model == "ARC"]) == {"p=1.2", "p=1.6"}
    assert table.p[table.setting == "p=1.6"].eq(1.6).all() and table.p[table.model != "ARC"].isna().all()
    assert table["shift"][table.model == "ARC"].isna().all() and (table.seconds > 0).all()
    assert table.capacity.between(0, table.entropy + 1e-6).all()
    assert "144 capacities of CC, ARC, DS on 2 splits" in repr(found)


def test_entries_are_the_capacities_of_the_views():
    splits = [random_split(planted(), random_state=seed) for seed in (3, 4)]
    table = compare_models(MODELS, splits, **QUIET).table
    for split, views in enumerate(splits):
        here = table[(table.split == split) & (table.n_clusters == 3)].set_index(["model", "setting"])
        raw, positive = views.similarities(), views.similarities(positive=True)
        model = gc.CorrelationClustering(3, raw.shift(0.5), n_init=1, random_state=0)
        row = here.loc["CC", "relative_shift=0.5"]
        assert (row.capacity, row.n_effective, row.entropy) == evaluate(model, raw)[:3]
        assert row["shift"] == raw.shift(0.5) and row.relative_shift == 0.5
        row = here.loc["DS", "max_steps=20"]
        assert row.capacity == evaluate(gc.DominantSets(3, 20, 1e-2), positive).value
        assert row.protocol == views.protocol and row.relative_shift == positive.relative(0.0)


def test_every_measure_may_have_its_own_protocol():
    def strangers(data, random_state=None):
        return random_split(data, align="random", random_state=random_state)

    measures = {"correlation": "interleave", "euclidean": strangers, "path": strangers}
    table = compare_models(
        {"PC": gc.PairwiseClustering(n_init=1, random_state=0)}, planted(), measures=measures, **QUIET
    ).table
    words = table.groupby("measure").protocol.unique().str.join("|")
    assert (
        "interleaved" in words["correlation"]
        and words["path"] == words["euclidean"] == "random halves of 12, paired at random"
    )


def test_splits_and_null_tables_depend_on_their_number_only():
    few = compare_models({"CC": CC}, planted(), null="permuted", n_nulls=1, **QUIET).table
    more = {"DS": DS, "CC": CC}
    many = compare_models(
        more, planted(), measures=("path", "correlation"), null="permuted", n_nulls=2, **QUIET | {"n_repeats": 3}
    )
    keys = ["split", "null", "n_clusters"]
    many = many.table[(many.table.model == "CC") & (many.table.measure == "correlation")].set_index(keys).capacity
    assert many.loc[few.set_index(keys).index].tolist() == few.capacity.tolist()
    assert many.xs(1, level="null").nunique() > 1


def test_planted_clusters_win_over_balance():
    models = {"CC": (gc.CorrelationClustering(random_state=0), {"relative_shift": [-4.0, 0.6]}), "DS": DS}
    found = compare_models(models, planted(n=12), null="permuted", n_repeats=3, n_clusters=range(1, 6), progress=False)
    best = found.ranking().iloc[0]
    assert (best.model, best.n_clusters, best["rank"]) == ("CC", 3, 1) and best["null"] < best.excess


# Ranking


def made_up(values, null=(), n_clusters=None):
    """Comparison from dict (model, setting) -> capacities of the splits, and the same for one null table."""
    rows = [
        dict(
            model=model,
            measure="correlation",
            protocol="",
            split=split,
            null=number,
            setting=setting,
            n_clusters=n_clusters or int(setting),
            capacity=capacity,
        )  # fmt: skip
        for number, block in enumerate((values, dict(null)))
        for (model, setting), capacities in block.items()
        for split, capacity in enumerate(capacities)
    ]
    return Comparison(pd.DataFrame(rows))


def test_ranking_takes_the_best_mean_and_its_null():
    values = {("A", "2"): [0.1, 0.2, 0.3], ("A", "3"): [0.9, 0.1, 0.5], ("B", "2"): [0.6, 0.5, 0.7]}
    null = {("A", "2"): [0.0] * 3, ("A", "3"): [0.2, 0.3, 0.4], ("B", "2"): [0.5] * 3}
    ranking = made_up(values, null).ranking()
    assert ranking.model.tolist() == ["B", "A"] and ranking["rank"].tolist() == [1, 2]
    assert ranking.setting.tolist() == ["2", "3"] == [str(k) for k in ranking.n_clusters]
    assert ranking.capacity.tolist() == pytest.approx([0.6, 0.5])
    assert ranking.error.tolist() == pytest.approx([0.1 / np.sqrt(3), 0.4 / np.sqrt(3)])
    assert ranking["null"].tolist() == pytest.approx([0.5, 0.3]) and ranking.excess.tolist() == pytest.approx(
        [0.1, 0.2]
    )


def test_share_of_first_places_is_that_of_all_resamples():
    values = {("A", "2"): [0.1, 0.2, 0.6], ("A", "3"): [0.9, 0.1, 0.3], ("B", "2"): [0.3, 0.5, 0.35]}
    wins = np.zeros(2)
    for splits in itertools.product(range(3), repeat=3):
        means = {key: np.mean([row[s] for s in splits]) for key, row in values.items()}
        a, b = max(means["A", "2"], means["A", "3"]), means["B", "2"]
        wins += [a > b, b > a] if abs(a - b) > 1e-9 else [0.5, 0.5]
    ranking = made_up(values).ranking().set_index("model")
    assert ranking["first"][["A", "B"]].tolist() == pytest.approx(wins / 27, abs=0.035)
    assert 0.2 < wins[0] / 27 < 0.8 and ranking["null"].isna().all()


def test_ties_share_ranks_and_first_places_and_take_the_fewest_clusters():
    values = {("A", "3"): [0.1, 0.3], ("A", "2"): [0.3, 0.1], ("B", "2"): [0.2, 0.2], ("C", "2"): [0.0, 0.1]}
    ranking = made_up(values).ranking().set_index("model")
    assert ranking["rank"].to_dict() == {"A": 1, "B": 1, "C": 3} and ranking.n_clusters["A"] == 2
    twins = made_up({("A", "2"): [0.3, 0.1], ("B", "2"): [0.3, 0.1]}).ranking()
    assert twins["first"].tolist() == [0.5, 0.5]
    grid = made_up({("A", "y"): [0.2, 0.2], ("A", "x"): [0.2, 0.2]}, n_clusters=2).ranking()
    assert grid.setting.tolist() == ["y"]  # the first of the grid


def test_one_split_has_no_error():
    ranking = made_up({("A", "2"): [0.3], ("B", "2"): [0.1]}).ranking()
    assert ranking.error.isna().all() and ranking["first"].isna().all() and ranking["rank"].tolist() == [1, 2]


# Workers and interruptions


def test_two_workers_and_a_folder_give_the_same_table(tmp_path):
    kwargs = dict(null="permuted", **QUIET)
    wanted = compare_models(MODELS, planted(), **kwargs)
    same(compare_models(MODELS, planted(), n_jobs=2, folder=tmp_path, **kwargs), wanted)
    files = {path: path.stat().st_mtime_ns for path in tmp_path.iterdir()}
    assert len(files) == len(wanted.table)
    again = compare_models(MODELS, planted(), folder=tmp_path, **kwargs)
    same(again, wanted)
    assert files == {path: path.stat().st_mtime_ns for path in tmp_path.iterdir()}
    assert (again.table.seconds > 0).all()


def test_an_interrupted_comparison_goes_on_where_it_was(counted, tmp_path):
    wanted = compare_models(counted, planted(), **QUIET)
    assert Interruptible.runs == 16
    Interruptible.runs, Interruptible.stop = 0, 8  # in the second view of the fourth capacity
    with pytest.raises(KeyboardInterrupt):
        compare_models(counted, planted(), folder=tmp_path, **QUIET)
    assert len(list(tmp_path.iterdir())) == 3
    Interruptible.runs, Interruptible.stop = 0, None
    same(compare_models(counted, planted(), folder=tmp_path, **QUIET), wanted)
    assert Interruptible.runs == 2 * (8 - 3)
    next(tmp_path.iterdir()).write_text('{"capacity": 1.')  # damaged
    same(compare_models(counted, planted(), folder=tmp_path, **QUIET), wanted)
    assert Interruptible.runs == 2 * (8 - 3) + 2
    compare_models(counted, planted(), folder=tmp_path, **QUIET | {"n_clusters": [2, 3, 4]})
    assert Interruptible.runs == 2 * (8 - 3) + 2 + 8  # four new ones


@pytest.mark.parametrize(
    "change",
    [
        lambda m, d: (m.set_params(n_init=2), d),
        lambda m, d: (m.set_params(random_state=1), d),
        lambda m, d: (m, d * 2),
    ],
)
def test_what_the_result_depends_on_is_computed_anew(counted, tmp_path, change):
    model, kwargs = counted["CC"][0], dict(folder=tmp_path, measures=("euclidean",), n_repeats=1, n_clusters=2)
    compare_models({"CC": model}, planted(), progress=False, **kwargs)
    before = Interruptible.runs
    model, data = change(model, planted())
    compare_models({"another name": model}, data, progress=False, **kwargs)
    assert Interruptible.runs == 2 * before


SCRIPT = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # whoever runs the tests in the background has it ignored
from test_comparison import MODELS, planted
from gencap.validation.comparison import compare_models
found = compare_models(MODELS, planted(), n_repeats=40, n_clusters=range(2, 6), n_jobs=2, folder=sys.argv[1])
"""


@pytest.mark.skipif(sys.platform == "win32", reason="a process group is interrupted")
def test_interrupted_by_the_keyboard_with_two_workers(tmp_path):
    folder = tmp_path / "kept"
    process = subprocess.Popen(
        [sys.executable, "-c", SCRIPT, str(folder)], cwd=os.path.dirname(__file__), stderr=subprocess.PIPE,
        start_new_session=True, text=True,
    )  # fmt: skip
    started = time.monotonic()
    while not folder.exists() or len(list(folder.glob("*.json"))) < 5:
        assert process.poll() is None and time.monotonic() - started < 60, process.stderr.read()
        time.sleep(0.05)
    children = psutil.Process(process.pid).children(recursive=True)
    os.killpg(process.pid, signal.SIGINT)
    error = process.communicate(timeout=60)[1]
    assert process.returncode != 0 and "KeyboardInterrupt" in error
    assert not psutil.wait_procs(children, timeout=10)[1]
    kept = {path: path.read_text() for path in folder.glob("*.json")}
    assert 5 <= len(kept) < 40 * 6 * 4 and all(text.endswith("}") for text in kept.values())
    same(compare_models(MODELS, planted(), folder=folder, **QUIET), compare_models(MODELS, planted(), **QUIET))
    assert all(path.read_text() == text for path, text in kept.items())


# Bad input


@pytest.mark.parametrize(
    "kwargs, error, message",
    [
        (dict(models={}), TypeError, "models=.* must be a non-empty dict"),
        (dict(models=[CC]), TypeError, "models=.* must be a non-empty dict"),
        (dict(models={None: CC}), TypeError, r"models=.* name \(str\)"),
        (dict(models={"CC": (CC,)}), TypeError, "models with `anneal`"),
        (dict(models={"CC": (CC, {}, 3)}), TypeError, "models with `anneal`"),
        (dict(measures=None), ValueError, "measure=None"),
        (dict(measures=[["path"]]), ValueError, r"measure=\['path'\]"),
        (dict(models={"CC": KMeans()}), TypeError, "models with `anneal`"),
        (dict(models={"CC": (CC, {"q": [1]})}), ValueError, "grid of 'CC' is .*accepted is a dict with keys among"),
        (dict(models={"CC": (CC, {"n_clusters": [1]})}), ValueError, "grid of 'CC'"),
        (dict(models={"CC": (CC, [1])}), ValueError, "grid of 'CC'"),
        (dict(models={"CC": (CC, {"shift": [0], "relative_shift": [0]})}), ValueError, "and one of the shifts"),
        (dict(models={"NC": (gc.NormalizedCut(), {"relative_shift": [0]})}), ValueError, "models with a shift"),
        (dict(X=np.full((8, 6), np.nan)), ValueError, "X holds NaN"),
        (dict(measures=()), ValueError, r"measures=\(\), accepted are one and more"),
        (dict(measures="cosine"), ValueError, "measure='cosine'"),
        (dict(measures={"path": "halves"}), ValueError, "protocol='halves'"),
        (dict(X=interleave(planted()), measures={"path": "interleave"}), ValueError, "beside Views"),
        (dict(protocol="halves"), ValueError, "protocol='halves'"),
        (dict(n_repeats=0), ValueError, "n_repeats=0"),
        (dict(n_clusters=[]), ValueError, "n_clusters is empty"),
        (dict(n_clusters=13), ValueError, "n_clusters=13 must be >= 1 and <= n_samples=12"),
        (dict(null="shuffled"), ValueError, "null='shuffled'"),
        (dict(null="permuted", n_nulls=0), ValueError, "n_nulls=0"),
        (dict(random_state=-1), ValueError, "random_state=-1"),
    ],
)
def test_bad_input(kwargs, error, message):
    with pytest.raises(error, match=message):
        compare_models(**dict(models={"CC": CC}, X=planted(), n_clusters=2, n_repeats=1, progress=False) | kwargs)


def test_a_table_without_data_has_no_ranking():
    found = compare_models({"CC": CC}, planted(), n_clusters=2, n_repeats=1, null="permuted", progress=False)
    with pytest.raises(ValueError, match="no capacities of data"):
        Comparison(found.table[found.table.null > 0]).ranking()
