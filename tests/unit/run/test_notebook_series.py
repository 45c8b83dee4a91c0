"""Notebook 15 on tables of the reader's own: made-up mussels and another series, with planted groups."""

import json
from pathlib import Path

import joblib
import matplotlib
import nbformat
import numpy as np
import pytest
from matplotlib import pyplot

import gencap as gc
from gencap.run import claims

NOTEBOOK = Path(__file__).parents[3] / "notebooks" / "15_gene_expression_time_series.ipynb"
SMALL = {"n_genes": 36, "max_clusters": 3, "n_init": 1, "n_null": 1, "n_seeds": 1}


def write_table(path, names, delimiter):
    """Three groups of 15 genes on waves of different phase; the last 9 genes hardly vary. Some values are missing."""
    rng = np.random.default_rng(3)
    group = np.arange(45) % 3
    table = np.cos(2 * np.pi * (np.arange(len(names)) / 10 + group[:, None] / 3))
    table += 0.15 * rng.standard_normal(table.shape)
    table[36:] *= 0.1
    table[:, 0] = 0.0  # the reference month
    lines = [["gene", *names]] + [[f"MG{i:02d}", *(f"{x:.4f}" for x in row)] for i, row in enumerate(table)]
    for i in (1, 8, 20):
        lines[i][5] = ""
    path.write_text("\n".join(delimiter.join(line) for line in lines) + "\n")
    return group[:36]


def run(**values):
    """Execute the cells in this process, without workers; return their names."""
    space = {"__name__": "__main__"}
    with joblib.parallel_config(backend="sequential"):
        for cell in nbformat.read(NOTEBOOK, 4).cells:
            if cell.cell_type == "code":
                exec(compile(cell.source, f"cell {cell.id}", "exec"), space)
                if "parameters" in cell.metadata.get("tags", ()):
                    assert values.keys() <= space.keys()
                    space |= values
    return space


@pytest.mark.parametrize(
    ("kind", "names", "delimiter"),
    [
        ("mussel", "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split(), ","),
        ("series", [f"hour {t}" for t in range(15)], "\t"),
    ],
)
def test_own_table_is_read_clustered_and_decides_the_claims(tmp_path, monkeypatch, kind, names, delimiter):
    matplotlib.use("agg")
    record = tmp_path / "claims.jsonl"
    monkeypatch.setenv(claims.RECORD_FILE, str(record))
    path = tmp_path / "table.txt"
    group = write_table(path, names, delimiter)
    space = run(data=str(path), kind=kind, **SMALL)
    used = names[-10:] if kind == "mussel" else names
    assert list(space["conditions"]) == used and space["table"].shape == (36, len(used))
    assert space["missing"].sum() == 3 and np.isfinite(space["table"]).all()
    assert [view.shape[1] for view in (space["views"].first, space["views"].second)] == [
        (len(used) + 1) // 2,
        len(used) // 2,
    ]
    for labels in (space["pc_labels"], space["cc_labels"]):
        assert (gc.align_labels(group, labels, 3) == group).all()
    pyplot.close("all")
    decided = {line["id"]: line for line in map(json.loads, record.read_text().splitlines())}
    about_mussels = {id for id in claims.published() if "mussel" in id}
    assert decided.keys() == about_mussels and len(about_mussels) == 14
    verdicts = {id: line["verdict"] for id, line in decided.items()}
    if kind == "series":  # another table does not decide what is said of the mussels
        assert set(verdicts.values()) == {"needs data"}
        return
    # Three clean groups: pairwise clustering finds them by both measures, and correlation clustering without shift.
    assert set(verdicts.values()) <= {"reproduced", "in part", "refuted"}
    for id in ("mussel-cor", "mussel-path"):
        _, _, bits, k = decided[id]["obtained"][0]
        assert k == 3 and bits == pytest.approx(np.log2(3), abs=0.05)
        assert verdicts[id] != "reproduced"
    assert decided["mussel-pc-anneal"]["obtained"][0][0] == 3 and decided["mussel-cc-three"]["obtained"] == [3]
    assert verdicts["mussel-cc-three"] == "reproduced" and verdicts["mussel-table1"] == "refuted"
    gaps = np.array(decided["mussel-mf-gibbs"]["obtained"])
    expected = "reproduced" if (gaps[:, 0] <= 0.05).all() else "in part" if (gaps[:, 1] <= 0.05).all() else "refuted"
    assert verdicts["mussel-mf-gibbs"] == expected
