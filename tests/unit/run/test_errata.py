"""Lesson 29 tries every row of the ledger of errors, and the saved trials say what the ledger says."""

import re

import lessons

from gencap.run import claims

TRIAL = re.compile(r"^(\S+): truth .* \| the right form (\S+), the printed one (.+)$", re.M)
KINDS = "algorithm domain factor formula index sign statement table word".split()


def test_every_error_is_tried_once_and_decided():
    notebook = lessons.read(next(path for path in lessons.LESSONS if path.name.startswith("29_")))[0]
    found = [trial for cell in notebook.cells for text in lessons.printed(cell) for trial in TRIAL.findall(text)]
    assert sorted(id for id, _, _ in found) == sorted(claims.errata())
    assert {(right, printed) for _, right, printed in found} <= {("holds", "fails"), ("holds", "cannot be evaluated")}


def test_rows_are_complete():
    rows = claims.errata().values()
    assert {row["document"] for row in rows} == {"000", "001", "002", "003", "004"} and len(rows) > 150
    assert all(row["id"].startswith(row["document"] + "-") and row["kind"] in KINDS for row in rows)
    assert all(row["printed"] and row["right"] and row["printed"] != row["right"] for row in rows)
