"""Lesson 19: the claims that need hours on 2467 genes are decided on a few; what is finished is not done again."""

import json
from pathlib import Path

import joblib
import nbformat
import numpy as np
import pytest

import gencap as gc
from gencap.run import claims

NOTEBOOK = Path(__file__).parents[3] / "notebooks" / "19_where_do_2_76_bits_come_from.ipynb"
NEEDED = ("cell-2", "c64b2e09")  # imports and settings

SHORTER = {
    "P": (1.2, 1.3, 1.4),
    "P_FINE": (1.3, 1.4, 1.5),
    "STEPS": (5, 15, 50),
    "SHIFTS": {
        "path": (-90, -115, -140),
        "correlation": (-2, -5, -7),
        "euclidean": (-450, -525, -600),
        "union": (-115,),
    },
}


def run(chosen, space):
    for cell in nbformat.read(NOTEBOOK, 4).cells:
        if cell.cell_type == "code" and (cell.id in NEEDED or cell.id.startswith(chosen)):
            exec(compile(cell.source, f"cell {cell.id}", "exec"), space)
            if cell.id == "claims-settings":
                space |= SHORTER
        elif cell.id == "cell-1":
            exec(cell.source, space)
            space |= {"n_halves": 2, "n_genes": 48, "max_clusters": 5, "n_init": 1}


def test_all_claims_are_decided_from_one_table_that_is_kept(tmp_path, monkeypatch):
    record = tmp_path / "claims.jsonl"
    monkeypatch.setenv(claims.RECORD_FILE, str(record))
    space = {"__name__": "__main__"}
    with joblib.parallel_config(backend="sequential"):
        run("claims-", space)
        decided = {line["id"]: line for line in map(json.loads, record.read_text().splitlines())}
        about_yeast = {id for id in claims.published() if id.startswith("yeast-")} - {"yeast-saturate"}
        assert decided.keys() == about_yeast and len(about_yeast) == 21
        assert {line["verdict"] for line in decided.values()} <= {"reproduced", "in part", "refuted"}

        # Finished capacities are read, not computed; the table is the same.
        first, space["table"] = space["table"], {}
        monkeypatch.setitem(space, "evaluate", pytest.fail)
        monkeypatch.setitem(space, "one_half", pytest.fail)
        space["run"](space["first_round"] + space["second_round"], range(2))
        assert all(first[key] == rows for key, rows in space["table"].items())


def test_dominant_sets_peeled_once_are_those_of_every_number_of_clusters():
    space = {"__name__": "__main__"}
    run(("claims-settings", "claims-solve"), space)
    pair = space["one_half"]("correlation", 0).similarities("correlation", positive=True)
    at_once = list(space["dominant_sets"](pair, (1e-2, 30), [2, 3, 5]))
    for k, (value, entropy, labels) in zip((2, 3, 5), at_once, strict=True):
        alone = space["evaluate"](gc.DominantSets(k, cutoff=1e-2, max_steps=30), pair)
        assert (labels == alone.labels).all() and (value, entropy) == pytest.approx((alone.value, alone.entropy))
    assert len({value for value, _, _ in at_once}) > 1


def test_a_printed_shift_is_one_neutral_distance_in_every_half():
    space = {"__name__": "__main__"}
    run(("claims-settings", "claims-solve"), space)
    for measure in ("path", "correlation", "euclidean"):
        shift = space["SHIFT"][measure]
        for half in range(2):
            pair = space["one_half"](measure, half).similarities(measure)
            model = space["estimator"]("CC", (shift,), 3, measure, pair)
            assert model.shift + pair.maximum == pytest.approx(space["largest"][measure] + shift)
    data = space["every"]
    squared = ((data[:, None] - data) ** 2).sum(axis=2)
    assert space["largest"]["euclidean"] == pytest.approx(squared.max()) and len(data) == 48
    assert space["largest"]["correlation"] == 1.0 and np.isfinite(space["largest"]["path"])
