"""The ledger of published statements: each is checked in a notebook and gets a verdict, reproduced or not.

The statements stand in data/published/claims.csv. Four kinds decide how a verdict comes about:

* `equal`, `within`: `check` compares. `target` lists one accepted value for each obtained one, separated by ";": a
  number or a word, a bound such as "<=0.05" or ">=0.9", or a range "low..high" (ends included). `tolerance` (one, or
  one for each target; absolute) widens them. A single target applies to every obtained value.
* `order`, `report`: a comparison or a value that no fixed number decides; the caller says whether it holds, and
  `target` says in words what has to hold.

Nothing that is printed depends on the obtained value, so a saved notebook reads the same on every processor.
"""

import csv
import difflib
import functools
import html
import json
import math
import numbers
import operator
import os

import numpy as np

from gencap.resources import data_path

RECORD_FILE = "GENCAP_CLAIMS_FILE"  # environment: where the runner gathers the records, one JSON object a line
OTHER_PARAMETERS = "GENCAP_OTHER_PARAMETERS"  # environment: what the runner changed, in words
_SIGNS = {"<=": operator.le, ">=": operator.ge, "<": operator.lt, ">": operator.gt}
_session = {}


@functools.cache
def published():
    """Return the ledger: {id: row as dict of str}, in the order of the file."""
    with data_path("published/claims.csv").open(encoding="utf-8", newline="") as file:
        return {row["id"]: row for row in csv.DictReader(file)}


def check(id, obtained, *, holds=None, reason="", needs=None):
    """Compare an obtained value with a published statement, print one line and record the verdict.

    Parameters
    ----------
    id : str
        As in data/published/claims.csv.
    obtained : number, str, array_like or None
        For kind equal and within: one value for each target, in the order of the column `values`. For order and
        report: what the record should show. None with `needs`.
    holds : bool or "in part", optional
        Required for order and report. For equal and within it can only make the verdict worse, or turn a miss into
        "in part".
    reason : str
        Why the statement does not hold, or only in part. Shown only with these verdicts, so it may always be given.
    needs : "data" or "full profile", optional
        The statement cannot be checked without it.

    Raises
    ------
    ValueError
        Unknown id, wrong number of values, a missing `holds`, or a missing reason.
    """
    if id not in published():
        near = difflib.get_close_matches(str(id), published(), n=3, cutoff=0.4)
        raise ValueError(f"unknown claim {id!r}; near it: {', '.join(near) or 'none'} (see gencap.claims.published())")
    row = published()[id]
    if needs is not None:
        if needs not in ("data", "full profile"):
            raise ValueError(f'needs={needs!r} is not one of "data", "full profile"')
        if obtained is not None:
            raise ValueError(f"{id}: with needs={needs!r} nothing is compared, so obtained must be None")
        verdict = f"needs {needs}"
    else:
        verdict = _verdict(row, obtained, holds)
        if verdict == "reproduced":
            reason = ""
        elif not reason:
            changed = os.environ.get(OTHER_PARAMETERS)
            if not changed:
                raise ValueError(f"{id} is {verdict}: say why with reason=... ({band(row)}; obtained {show(obtained)})")
            reason = f"with other parameters: {changed}"
    record = {
        "id": id,
        "published": row["published"],
        "obtained": _plain(obtained),
        "verdict": verdict,
        "reason": reason,
    }
    _session[id] = record
    print(f"{id}: published {row['published']} | accepted {band(row)} | {verdict}")
    if os.environ.get(RECORD_FILE):
        with open(os.environ[RECORD_FILE], "a", encoding="utf-8") as file:
            file.write(json.dumps(record) + "\n")


class table:
    """The claims checked so far in this session, as a table (HTML in a notebook, text elsewhere)."""

    columns = ("id", "source", "statement", "published", "obtained", "verdict", "reason")

    def __init__(self):
        self.rows = [published()[id] | r | {"obtained": show(r["obtained"])} for id, r in _session.items()]
        for row in self.rows:
            row["source"] = f"{row['source']}, {row['place']}"

    def _repr_html_(self):
        head = "".join(f"<th style='text-align:left'>{c}</th>" for c in self.columns)
        body = "".join(
            "<tr>" + "".join(f"<td style='text-align:left'>{html.escape(r[c])}</td>" for c in self.columns) + "</tr>"
            for r in self.rows
        )
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"

    def __repr__(self):
        return "\n".join(
            f"{r['id']}: published {r['published']} | obtained {r['obtained']} | {r['verdict']}"
            + (f" ({r['reason']})" if r["reason"] else "")
            for r in self.rows
        )


def _verdict(row, obtained, holds):
    if holds not in (None, True, False, "in part"):
        raise ValueError(f'{row["id"]}: holds={holds!r} is not one of True, False, "in part"')
    if obtained is None:
        raise ValueError(f'{row["id"]}: obtained is None; say needs="data" or needs="full profile" if so')
    if row["kind"] in ("order", "report"):
        if holds is None:
            raise ValueError(f'{row["id"]}: say holds=True, False or "in part"; it holds if {row["target"]}')
    elif not _hit(row, obtained) and holds != "in part":
        return "refuted"
    return {None: "reproduced", True: "reproduced", False: "refuted", "in part": "in part"}[holds]


def _hit(row, obtained):
    """Whether every obtained value lies in the accepted band of its target."""
    plain = _plain(obtained)
    values = plain if isinstance(plain, list) else [plain]
    targets = _targets(row)
    if len(targets) == 1 and values:
        targets *= len(values)
    if len(values) != len(targets):
        raise ValueError(f"{row['id']}: got {len(values)} values, accepted are {len(targets)}: {row['values']}")
    return all(_accepts(target, float(tolerance), v) for (target, tolerance), v in zip(targets, values, strict=True))


def _targets(row):
    """Pairs (target, tolerance) in words; a single tolerance applies to every target."""
    targets, tolerances = row["target"].split(";"), (row["tolerance"] or "0").split(";")
    tolerances = tolerances * len(targets) if len(tolerances) == 1 else tolerances
    return list(zip(targets, tolerances, strict=True))


def _accepts(target, tolerance, value):
    """Whether one value meets one target: a word, a number, a bound or a range."""
    sign = next((s for s in _SIGNS if target.startswith(s)), "")
    try:
        low, _, high = target.removeprefix(sign).partition("..")
        low, high = float(low), float(high or low)
    except ValueError:
        return str(value).casefold() == target.casefold()
    if not isinstance(value, int | float):
        return False
    if sign:
        return _SIGNS[sign](value, low + (tolerance if "<" in sign else -tolerance))
    # A difference such as 1.36 - 1.46 exceeds its decimal tolerance by a rounding error, which is no miss.
    slack = tolerance * (1 + 1e-9)
    return low - slack <= value <= high + slack


def band(row):
    """The accepted band in words, for print and report."""
    if row["kind"] in ("order", "report"):
        return f"if {row['target']}"
    return "; ".join(t if float(e) == 0 else f"{t} ± {e}" for t, e in _targets(row))


def _plain(value):
    """The value as what JSON has: numbers, words, lists, dicts; NaN and infinities as words."""
    if isinstance(value, dict):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, list | tuple | set | range):
        return [_plain(v) for v in value]
    if value is None or isinstance(value, int):
        return value
    if isinstance(value, numbers.Real) and math.isfinite(value):
        return float(value)
    return str(value)


def show(value):
    """A recorded value for a reader: four significant digits, lists separated by ';'."""
    if isinstance(value, dict):
        return "; ".join(f"{k} {show(v)}" for k, v in value.items())
    if isinstance(value, list | tuple | np.ndarray):
        return "; ".join(f"({show(v)})" if isinstance(v, list | tuple | dict) else show(v) for v in value)
    if isinstance(value, bool | numbers.Integral) or not isinstance(value, numbers.Real):
        return "" if value is None else str(value)
    return f"{value + 0.0:.4g}"
