"""The ledger of published statements: each is checked in a notebook and gets a verdict, reproduced or not.

The statements stand in data/published/claims.csv, each with the rule that decides it (`how_compared`). Two kinds:

* `equal`, `within`: `check` compares numbers. `target` lists one accepted value for each obtained one, separated by
  ";": a number or a word, a bound such as "<=0.05" or ">=0.9", or a range "low..high" (ends included). `tolerance`
  (one, or one for each target; absolute) widens them. A single target applies to every obtained value.
* `computed`: the notebook computes whether the statement of the rule holds, once or for each of several data sets, and
  `share` says which percentages of them decide: "80;20" is reproduced from 80 % on, in part from 20 % on; "80" has no
  second step; empty means all.

A verdict follows from what was computed and from nothing else: no word can be passed as one, and a miss is recorded
with the computed reasons. Nothing that is printed depends on the obtained value, so a saved notebook reads the same on
every processor.
"""

import difflib
import functools
import json
import operator
import os
import re

import numpy as np
import pandas

from ..checks import check_option
from ..resources import data_path, embedded_rows

VERDICTS = tuple("reproduced,in part,in part (corrected),refuted,needs data,needs full profile,not yet".split(","))
RECORD_FILE = "GENCAP_CLAIMS_FILE"  # environment: where the runner gathers the records, one JSON object a line
OTHER_PARAMETERS = "GENCAP_OTHER_PARAMETERS"  # environment: what the runner changed, in words
_SIGNS = {"<=": operator.le, ">=": operator.ge, "<": operator.lt, ">": operator.gt}
_session = {}


@functools.cache
def published():
    """Return the ledger: {id: row as dict of str}, in the order of the file.

    Examples
    --------
    >>> import gencap as gc
    >>> gc.claims.published()["cc-075"]["published"]
    '5'
    """
    return embedded_rows("published/claims.csv", "id")


def check(id, obtained, *, holds=None, part=None, corrected=False, needs=None, reasons=()):
    """Decide a published statement by its rule, print one line and record the verdict.

    Parameters
    ----------
    id : str
        As in data/published/claims.csv.
    obtained : number, str, array_like, dict or None
        For kind equal and within: one value for each target, in the order of the column `values`. For computed: what
        the record should show. None with `needs`.
    holds : bool or sequence of bool
        For computed, and only there: whether the statement holds, or whether it does on each data set.
    part : bool or sequence of bool, optional
        The weaker statement of the rule that makes a miss "in part". A sequence has to hold on the share that the rule
        names first.
    corrected : bool
        `part` is a correction of the source: the verdict is then "in part (corrected)".
    needs : "data" or "full profile", optional
        The statement cannot be decided without it; nothing else is given.
    reasons : sequence of (bool, str)
        Explanations, each with the computed condition under which it is true; those that are true are recorded with
        any verdict but "reproduced".

    Raises
    ------
    ValueError
        Unknown id, wrong number of values, `holds` missing or not allowed.
    TypeError
        A word or another object where a computed bool is due.

    Examples
    --------
    >>> import gencap as gc
    >>> gc.claims.check("cc-075", 5, holds=5 == 5)
    cc-075: published 5 | reproduced
    """
    row = _known("claim", id, published)
    record = {"id": id, "published": row["published"], "obtained": _plain(obtained), "held": "", "reason": ""}
    if needs is not None:
        check_option("needs", needs, ("data", "full profile"))
        if not (obtained is holds is part is None):
            raise ValueError(f"{id}: with needs={needs!r} nothing is compared: obtained, holds, part must be None")
        record["verdict"] = f"needs {needs}"
    else:
        record |= _decide(row, obtained, holds, part, bool(_bools(id, "corrected", corrected)[0]))
        true = [text for condition, text in reasons if _bools(id, "reasons", condition).all()]
        if record["verdict"] != "reproduced":
            other = os.environ.get(OTHER_PARAMETERS)
            record["reason"] = "; ".join([*true, record["held"], *([f"run with {other}"] if other else [])])
    _session[id] = record
    print(f"{id}: published {row['published']} | {record['verdict']}")
    if os.environ.get(RECORD_FILE):
        with open(os.environ[RECORD_FILE], "a", encoding="utf-8") as file:
            file.write(json.dumps(record) + "\n")


def _known(what, id, ledger):
    """The row of a ledger."""
    if id not in ledger():
        near = difflib.get_close_matches(str(id), ledger(), n=3, cutoff=0.4)
        see = f"see gencap.claims.{ledger.__name__}()"
        raise ValueError(f"unknown {what} {id!r}; near it: {', '.join(near) or 'none'} ({see})")
    return ledger()[id]


class table(pandas.DataFrame):
    """The claims checked so far in this session: a pandas DataFrame that a notebook shows with whole texts.

    Examples
    --------
    >>> import gencap as gc
    >>> gc.claims.check("cc-075", 5, holds=5 == 5)
    cc-075: published 5 | reproduced
    >>> gc.claims.table().set_index("id").verdict["cc-075"]
    'reproduced'
    """

    def __init__(self):
        rows = [published()[r["id"]] | r | {"obtained": show(r["obtained"])} for r in _session.values()]
        rows = [row | {"source": f"{row['source']}, {row['place']}"} for row in rows]
        super().__init__(rows, columns="id source statement published obtained verdict reason".split())

    def _repr_html_(self):
        with pandas.option_context("display.max_colwidth", None):
            return self.to_html(index=False, justify="left")


@functools.cache
def errata():
    """Return the formula errors found in the sources: {id: row as dict of str}, in the order of the file.

    Examples
    --------
    >>> import gencap as gc
    >>> gc.claims.errata()["000-eq75"]["place"]
    'Eq. 75'
    """
    return embedded_rows("published/errata.csv", "id")


def erratum(id, *, truth, right, printed=None, tolerance=1e-6):
    """Put a formula on trial: both forms beside what neither of them was used for; print one line.

    Parameters
    ----------
    id : str
        As in data/published/errata.csv.
    truth : number, bool or array_like
        From enumeration, a closed form, an integral, a definition.
    right, printed : number, bool or array_like
        What the right and the printed form give; None where the printed one cannot be evaluated.
    tolerance : float
        Relative and absolute.

    Raises
    ------
    ValueError
        Unknown id.

    Examples
    --------
    >>> import gencap as gc
    >>> gc.claims.erratum("000-eq75", truth=1.0, right=1.0, printed=0.603)
    000-eq75: truth 1, right form 1, printed form 0.603 | the right form holds, the printed one fails
    """
    _known("erratum", id, errata)

    def holds(form):
        return np.allclose(np.asarray(form, float), np.asarray(truth, float), rtol=tolerance, atol=tolerance)

    def words(value):
        values = [f"{number + 0.0:.4g}" for number in np.ravel(np.asarray(value, float))]
        return " ".join(values[:4] + ["..."] * (len(values) > 4))

    verdict = f"the right form {'holds' if holds(right) else 'FAILS'}"
    if printed is None:
        given, other = "", "cannot be evaluated"
    else:
        given, other = f", printed form {words(printed)}", "HOLDS" if holds(printed) else "fails"
    print(f"{id}: truth {words(truth)}, right form {words(right)}{given} | {verdict}, the printed one {other}")


def summary(table, values, algorithms, n_clusters):
    """Rows of one table: means over data sets and starts of what several algorithms obtained.

    Parameters
    ----------
    table : str
        Its number.
    values : array_like, shape (S, A, R, 2) or (S, A, R, 3)
        Precision with the known clustering and with the target, and seconds, of S data sets, A algorithms, R starts.
    algorithms : sequence of str
        Their names.
    n_clusters : int

    Returns
    -------
    DataFrame
        A row for each algorithm: table, K, algorithm, sets, starts, known, target, target_range (largest minus smallest
        over the starts, mean over the sets) and seconds (median, if given).

    Examples
    --------
    >>> import gencap as gc
    >>> gc.claims.summary("8.1", [[[[0.5, 1.0], [0.5, 0.5]]]], ["daCCIB"], 2).iloc[0, 5:].tolist()
    [0.5, 0.75, 0.5]
    """
    values = np.asarray(values, dtype=float)
    (known, target), (sets, _, starts) = values[..., :2].mean(axis=(0, 2)).T, values.shape[:3]
    rows = {"table": table, "K": n_clusters, "algorithm": list(algorithms), "sets": sets, "starts": starts}
    rows |= {"known": known, "target": target, "target_range": np.ptp(values[..., 1], axis=2).mean(axis=0)}
    if values.shape[-1] > 2:
        rows["seconds"] = np.median(values[..., 2], axis=(0, 2))
    return pandas.DataFrame(rows)


def full_size():
    """Return the tables of document 001 as obtained with many data sets, from data/results/.

    Returns
    -------
    DataFrame
        Rows as of `summary`.

    Examples
    --------
    >>> import gencap as gc
    >>> gc.claims.full_size().columns[:3].tolist()
    ['table', 'K', 'algorithm']
    """
    return pandas.read_csv(data_path("results/nonredundant_tables.csv"), dtype={"table": str})


def beside_print(obtained):
    """Put obtained rows beside the published ones of document 001.

    A row agrees if the known and the target precision are each within .03 (two clusters; else .05) of the print, or the
    known one is and the target one is above it.

    Parameters
    ----------
    obtained : DataFrame
        As of `summary`; what follows a comma in the name of an algorithm is a variant of ours.

    Returns
    -------
    DataFrame
        table, K, algorithm, known and target precision, published and obtained, the difference of the latter, and row,
        "agrees" or "-".

    Notes
    -----
    The first two rows of Table 8.1 are exchanged in print (Table 8.34 is of the same setting), and here put right.

    Examples
    --------
    >>> import gencap as gc
    >>> gc.claims.beside_print(gc.claims.summary("8.1", [[[[0.5, 1.0]]]], ["daCCIB"], 2)).row.tolist()
    ['agrees']
    """
    printed = pandas.read_csv(data_path("published/nonredundant_tables.csv"), dtype={"table": str})
    printed["algorithm"] = printed.algorithm.str.replace("<[^>]*>", "", regex=True)
    first = printed.table == "8.1"
    swapped = printed.algorithm[first].replace({"seqCCIB": "daCCIB", "daCCIB": "seqCCIB"})
    printed.loc[first, "algorithm"] = swapped
    printed = printed.set_index(["table", "algorithm"])[["known_mean", "target_mean"]]
    names = pandas.MultiIndex.from_arrays([obtained.table, obtained.algorithm.str.split(",").str[0]])
    known, target = printed.reindex(names).to_numpy().T
    near, difference = np.where(obtained.K == 2, 0.03, 0.05), obtained.target - target
    agrees = (difference >= -near) & ((obtained.known - known).abs() <= near)
    found = obtained[["table", "K", "algorithm"]].assign(
        **{"known, published": known, "known": obtained.known, "target, published": target, "target": obtained.target},
        difference=difference,
        row=np.where(agrees, "agrees", "-"),
    )
    return found[~np.isnan(target)].reset_index(drop=True).round(3)


def _bools(id, name, value):
    """The computed truth values as an array of bool, shape (data sets,)."""
    values = np.atleast_1d(np.asarray(value))
    if values.dtype != bool or values.ndim != 1 or not values.size:
        accepted = "accepted is a computed bool, or one for each data set"
        raise TypeError(f"{id}: {name}={value!r} is not accepted; {accepted}")
    return values


def _decide(row, obtained, holds, part, corrected):
    """Verdict, and in words how far the statement holds."""
    if obtained is None:
        raise ValueError(f'{row["id"]}: obtained is None; say needs="data" or needs="full profile" if so')
    computed = row["kind"] == "computed"
    if computed == (holds is None):
        wanted = "holds is missing" if computed else "holds must be None where numbers are compared"
        raise ValueError(f"{row['id']}: {wanted}; the rule: {row['how_compared']}")
    held = _bools(row["id"], "holds", holds if computed else _hit(row, obtained))
    weaker = _bools(row["id"], "part", False if part is None else part)
    first, second = map(int, f"{row['share'] or 100};101".split(";")[:2])  # none has 101 %: no second step
    share, weaker_share = (100 * found.sum() // found.size for found in (held, weaker))
    lifted = "in part (corrected)" if corrected else "in part"
    missed = "in part" if share >= second else lifted if weaker_share >= first else "refuted"
    words = f"holds on {held.sum()} of {held.size} data sets" if held.size > 1 else "met" if held[0] else "not met"
    words = words if computed else f"accepted {band(row)}"
    if part is not None and weaker.size > 1:
        words += f", the weaker statement on {weaker.sum()}"
    return {"verdict": "reproduced" if share >= first else missed, "held": words}


def _hit(row, obtained):
    """Whether every obtained value lies in the accepted band of its target."""
    plain, targets = _plain(obtained), _targets(row)
    values = plain if isinstance(plain, list) else [plain]
    targets *= max(len(values), 1) if len(targets) == 1 else 1
    if len(values) != len(targets):
        raise ValueError(f"{row['id']}: got {len(values)} values, accepted are {len(targets)}: {row['values']}")
    return all(_accepts(target, float(tolerance), v) for (target, tolerance), v in zip(targets, values, strict=True))


def _targets(row):
    """Pairs (target, tolerance) in words; a single tolerance applies to every target."""
    targets, tolerances = row["target"].split(";"), (row["tolerance"] or "0").split(";")
    return list(zip(targets, tolerances * (len(targets) // len(tolerances)), strict=True))


def _accepts(target, tolerance, value):
    """Whether one value meets one target: a word, a number, a bound or a range."""
    sign, text = re.fullmatch("([<>]?=?)(.*)", target).groups()
    try:
        low, _, high = text.partition("..")
        low, high = float(low), float(high or low)
    except ValueError:
        return str(value).casefold() == target.casefold()
    if sign and isinstance(value, int | float):
        return _SIGNS[sign](value, low + (tolerance if "<" in sign else -tolerance))
    # A difference such as 1.36 - 1.46 exceeds its decimal tolerance by a rounding error, which is no miss.
    slack = tolerance * (1 + 1e-9)
    return isinstance(value, int | float) and low - slack <= value <= high + slack


def band(row):
    """Return the accepted values, or the rule, in words.

    Parameters
    ----------
    row : dict
        Of the ledger.

    Returns
    -------
    str

    Examples
    --------
    >>> import gencap as gc
    >>> gc.claims.band(gc.claims.published()["da-critical"])
    '1 ± 0.02'
    """
    if row["kind"] == "computed":
        return row["target"] or row["how_compared"]
    return "; ".join(t if float(e) == 0 else f"{t} ± {e}" for t, e in _targets(row))


def _plain(value):
    """The value as what JSON has: numbers, words, lists, dicts; NaN and infinities as words."""
    value = {str(k): v for k, v in value.items()} if isinstance(value, dict) else value
    text = json.dumps(value, default=lambda odd: odd.tolist() if hasattr(odd, "tolist") else str(odd))
    return json.loads(text, parse_constant=lambda word: str(float(word)))


def show(value):
    """Return a recorded value for a reader: four significant digits, lists separated by ';'.

    Parameters
    ----------
    value : number, str, list, dict or None

    Returns
    -------
    str

    Examples
    --------
    >>> import gencap as gc
    >>> gc.claims.show([1.456789, 4])
    '1.457; 4'
    """
    if isinstance(value, dict):
        return "; ".join(f"{k} {show(v)}" for k, v in value.items())
    if isinstance(value, list):
        return "; ".join(f"({show(v)})" if isinstance(v, list | dict) else show(v) for v in value)
    if isinstance(value, float):
        return f"{value + 0.0:.4g}"
    return "" if value is None else str(value)
