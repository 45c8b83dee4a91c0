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
import papermill
import pytest
from threadpoolctl import threadpool_limits

import gencap as gc
from gencap import runner

NOTEBOOKS = sorted((Path(__file__).parents[2] / "notebooks").glob("*.ipynb"))
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
        assert texts or name == "data", f"{name} does not say what it accepts"
        for text in texts:
            value = entry.read(text)
            assert value == (text if entry.type == "str" else [float(text)] if "list" in entry.type else float(text))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_an_unknown_word_is_refused_by_the_first_cells_themselves(path):
    """Plain papermill hands over whatever it is given; the runner does not stand in between."""
    parameters, *cells = [cell.source for cell in nbformat.read(path, 4).cells if cell.cell_type == "code"]
    for name, entry in runner.parameters(path).items():
        if entry.options:
            space, words = {}, ", ".join(map(repr, entry.options))
            exec(parameters, space)
            space[name] = entry.default.capitalize()
            with matplotlib.rc_context(), threadpool_limits(None):  # both are put back
                with pytest.raises(ValueError, match=f"^{name}='{space[name]}' is not one of .*{words}"):
                    exec("\n".join(cells[:3]), space)


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
