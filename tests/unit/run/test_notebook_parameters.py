"""Whatever the parameters cell of a notebook says it accepts is accepted; what it does not say is refused.

`python tests/unit/test_notebook_parameters.py [REGEX]` runs the notebooks as well (hours; REGEX chooses, for example
"^06.*sigma="): each with every option, both ends of every range and every special value, one at a time, the other whole
numbers at the least that is accepted. It prints a line for each run; its status is 1 if one raised.
"""

import re
import sys
import time
from pathlib import Path

import matplotlib
import nbformat
import numpy as np
import pandas
import papermill
import pytest
from threadpoolctl import threadpool_limits

import gencap as gc
from gencap.run import runner

NOTEBOOKS = sorted((Path(__file__).parents[3] / "notebooks").glob("*.ipynb"))
NUMBER = r"(-?\d+(?:\.\d+)?(?:e-?\d+)?)"


def low_and_high(comment):
    """Both ends of the range, as written; none without a range."""
    return re.findall(rf"{NUMBER}\.\.{NUMBER}", comment)


def accepted(comment):
    """All options, ends of ranges and special values that a comment names, as written."""
    options = re.findall(r"one of: ([\w, ]+)", comment)
    special = re.findall(rf"{NUMBER} (?:=|stands for) ", comment)
    return [*(word for words in options for word in words.split(", ")), *sum(low_and_high(comment), ()), *special]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_every_option_both_ends_and_every_special_value_are_read(path):
    entries = runner.parameters(path)
    assert "profile" in entries
    for name, entry in entries.items():
        texts = accepted(entry.comment)
        assert texts or name in ("data", "second", "name"), f"{name} does not say what it accepts"
        for text in texts:
            wanted = text if "str" in entry.type else float(text)
            assert entry.read(text) == ([wanted] if "list" in entry.type else wanted)


def first_cells(path, **values):
    """Run the parameters cell, put in other values, and run the three code cells after it."""
    parameters, *cells = [cell.source for cell in nbformat.read(path, 4).cells if cell.cell_type == "code"]
    space = {}
    exec(parameters, space)
    space |= values
    with matplotlib.rc_context(), threadpool_limits(None):  # both are put back
        exec("\n".join(cells[:3]), space)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_an_unknown_word_is_refused_by_the_first_cells_themselves(path):
    """Plain papermill hands over whatever it is given; the runner does not stand in between."""
    for name, entry in runner.parameters(path).items():
        if entry.options:
            word, words = entry.options[0].capitalize(), ", ".join(map(repr, entry.options))
            with pytest.raises(ValueError, match=f"^{name}='{word}' is not one of .*{words}"):
                first_cells(path, **{name: [word] if "list" in entry.type else word})


@pytest.mark.parametrize(
    ("shape", "message"),
    [((4, 10), r"^genes.*=4 must be >= 2\d$"), ((10, 10), "^genes.*=10 must be"), ((10, 3), "^genes.*=10 must be"),
     ((30, 3), "^columns of the table=3 must be >= 6$"), ((30, 5), "^columns of the table=5 must be >= 6$")],
)  # fmt: skip
def test_a_table_that_is_too_small_is_refused_before_anything_is_computed(tmp_path, shape, message):
    values = np.random.default_rng(0).standard_normal(shape).round(3)
    pandas.DataFrame(values, [f"gene {i}" for i in range(len(values))]).add_prefix("time ").to_csv(tmp_path / "a.csv")
    path = next(path for path in NOTEBOOKS if path.stem.startswith("15"))
    with pytest.raises(ValueError, match=message):
        first_cells(path, data=str(tmp_path / "a.csv"), kind="series")


def test_a_relative_path_that_leads_nowhere_is_shown_as_it_was_taken(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = next(path for path in NOTEBOOKS if path.stem.startswith("15"))
    with pytest.raises(
        FileNotFoundError, match=re.escape(f"{tmp_path / 'mine.csv'} is no file; accepted is a full path")
    ):
        first_cells(path, data="mine.csv")


@pytest.mark.parametrize("name", ["Full", "", "slow", None, ["full"]])
def test_a_profile_is_quick_or_full(name):
    assert gc.profile("full") and not gc.profile("quick")
    with pytest.raises(ValueError, match=rf"^profile={re.escape(repr(name))} is not one of 'quick', 'full'$"):
        gc.profile(name)


def run_all(pattern):
    """Run every notebook with every value whose line matches; return how many raised."""
    failed = 0
    for path in NOTEBOOKS:
        entries = runner.parameters(path)
        lows = {name: low_and_high(entry.comment) for name, entry in entries.items() if entry.type == "int"}
        least = {name: int(ends[0][0]) for name, ends in lows.items() if ends and name != "seed"}
        for name, entry in entries.items():
            for text in dict.fromkeys(accepted(entry.comment)):
                line, start, error = f"{path.stem} {name}={text}", time.perf_counter(), "done"
                if not re.search(pattern, line):
                    continue
                values = least | {name: entry.read(text)}
                try:
                    papermill.execute_notebook(path, None, values, cwd=path.parent, progress_bar=False)
                except papermill.PapermillExecutionError as raised:
                    failed, error = failed + 1, f"cell {raised.cell_index}: {raised.ename}: {raised.evalue}"
                print(f"{line} {time.perf_counter() - start:.0f} s: {error}", flush=True)
    return failed


if __name__ == "__main__":
    sys.exit(bool(run_all(*sys.argv[1:2] or [""])))
