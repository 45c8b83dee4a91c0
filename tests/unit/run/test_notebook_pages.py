"""The cells of lesson 23 that read pages, on a small made-up file of the pages' form."""

import gzip
import hashlib
import json
from pathlib import Path

import joblib
import nbformat
import numpy as np

import gencap as gc
from gencap.datasets import sources
from gencap.run import claims

NOTEBOOK = Path(__file__).parents[3] / "notebooks" / "23_faces_and_text.ipynb"
CELLS = "ft-01 ft-02 ft-02f ft-17f ft-17 ft-19f ft-19 ft-21f ft-21 claims-pages".split()


def test_pages_of_a_file_decide_the_claims_on_them(tmp_path, monkeypatch):
    made = gc.datasets.crossed_text(160, (4, 5), n_terms=200, shares=(0.4, 0.4), random_state=0)
    rows = ["university\tpage_type\tword_ids"]
    for (place, kind), words in zip(made.labels, made.data.toarray(), strict=True):
        rows.append(f"u{place}\tt{kind}\t{' '.join(map(str, np.flatnonzero(words)))}")
    content = gzip.compress("\n".join(rows).encode())
    (tmp_path / sources.SOURCES["webkb"]["file"]).write_bytes(content)
    registered = sources.SOURCES["webkb"] | {"sha256": hashlib.sha256(content).hexdigest()}
    monkeypatch.setitem(sources.SOURCES, "webkb", registered)
    monkeypatch.setenv("GENCAP_DATA", str(tmp_path))
    record = tmp_path / "claims.jsonl"
    monkeypatch.setenv(claims.RECORD_FILE, str(record))
    space = {"__name__": "__main__"}
    cells = {cell.id: cell.source for cell in nbformat.read(NOTEBOOK, 4).cells if cell.id in CELLS}
    assert list(cells) == CELLS
    with joblib.parallel_config(backend="sequential"):
        for name, source in cells.items():
            exec(compile(source, f"cell {name}", "exec"), space)
            if name == "ft-01":
                space |= {"pages": "webkb", "n_starts": 2}
    table = space["tables"]()
    assert len(table) == 6 and (table.starts == 2).all()
    assert table[["university", "type"]].to_numpy().min() >= 0
    decided = [json.loads(line) for line in record.read_text(encoding="utf-8").splitlines()]
    assert [one["id"] for one in decided] == ["nr-webkb-z1", "nr-webkb-z2", "nr-rcv1"]
    assert decided[0]["verdict"] == decided[1]["verdict"] == "reproduced" and decided[2]["verdict"] == "needs data"
