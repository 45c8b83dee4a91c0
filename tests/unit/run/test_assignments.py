"""Every assignment has the form that a course needs; its tests refuse wrong answers and accept other right ways.

The cells run in one namespace, without kernels. A test cell counts as passed where nbgrader gives it all its points: no
exception, nothing on stderr, no value shown at its end.
"""

import ast
import contextlib
import copy
import io
import pickle
import re
import warnings
from collections import Counter
from pathlib import Path

import nbformat
import pytest
from answers import ANSWERS
from threadpoolctl import threadpool_limits

FOLDER = Path(__file__).parents[3] / "notebooks" / "assignments"
ASSIGNMENTS = sorted(FOLDER.glob("*.ipynb"))
POINTS, MANUAL, TASKS = 20, (2, 3), range(5, 9)
FEWER = "n_null: int = 19", "n_null: int = 2"  # what a parameter of an assignment is here, to save minutes
STUB = {"code": "# YOUR CODE HERE\nraise NotImplementedError()", "markdown": "YOUR ANSWER HERE"}
REGION = r"(?ms)^([ \t]*)### BEGIN {0}\n.*?^[ \t]*### END {0}(?:\n|\Z)"


def grader(cell):
    return cell.metadata.get("nbgrader", {"grade": False, "solution": False, "locked": False})


def released(cell):
    """The source that students get: without solutions and hidden tests."""
    text = cell.source if cell.cell_type == "markdown" else re.sub(REGION.format("HIDDEN TESTS"), "", cell.source)

    def stub(found):
        return "".join(f"{found[1]}{line}\n" for line in STUB[cell.cell_type].splitlines())

    return re.sub(REGION.format("SOLUTION"), stub, text).rstrip("\n")


def tasks(notebook):
    """Pairs of a solution cell of code and the cells of code that follow it, up to its last test."""
    found = []
    for cell in notebook.cells:
        if cell.cell_type == "code" and grader(cell)["solution"]:
            found.append((cell, []))
        elif cell.cell_type == "code" and found:
            found[-1][1].append(cell)
    last = [max((n for n, cell in enumerate(cells) if grader(cell)["grade"]), default=-1) for _, cells in found]
    return [(solution, cells[: n + 1]) for (solution, cells), n in zip(found, last, strict=True)]


def functions(source):
    return [node for node in ast.parse(source).body if isinstance(node, ast.FunctionDef)]


# Form


def faults(notebook, number):
    """What an assignment with this number lacks: a list of sentences."""
    found, cells = [], notebook.cells
    header, kinds = cells[0].source, [(grader(c)["solution"], grader(c)["grade"], c.cell_type) for c in cells]
    wanted = {
        "title": rf"\A# Assignment {number}\. \S",
        "minutes": r"\b60\D{1,9}90 minutes",
        "points": r"\b20\b",
        "what to replace": "raise NotImplementedError",
        "restart": "(?i)restart",
        "lesson": r"\]\(\.\./\d\d_\w+\.ipynb\)",
    }
    found += [f"the header has no {name}" for name, pattern in wanted.items() if not re.search(pattern, header)]
    if len(re.findall(r"[.?!](?=\s|$)", header.split("\n\n")[1])) != 2:
        found.append("the header does not say in two sentences what will be done")
    for name in re.findall(r"\]\((\.\./[^)#]+)", "".join(c.source for c in cells if c.cell_type == "markdown")):
        if not (FOLDER / name).is_file():
            found.append(f"{name} is linked and does not exist")
    points = [grader(cell)["points"] for cell in cells if grader(cell)["grade"]]
    if sum(points) != POINTS or min(points, default=0) <= 0:
        found.append(f"{sum(points)} points, {POINTS} are due")
    manual = [grader(c)["points"] for c, kind in zip(cells, kinds, strict=True) if kind == (True, True, "markdown")]
    if len(manual) != 1 or manual[0] not in MANUAL:
        found.append(f"questions marked by hand have {manual} points")
    if len(tasks(notebook)) not in TASKS:
        found.append(f"{len(tasks(notebook))} tasks")
    if notebook.metadata.get("kernelspec", {}).get("name") != "python3":
        found.append("the kernel is not python3")
    if not any(grader(c)["locked"] and not grader(c)["grade"] and "plt." in c.source for c in cells):
        found.append("no cell draws a figure")
    names = Counter(grader(cell).get("grade_id") for cell in cells if "nbgrader" in cell.metadata)
    found += [f"{name} is the name of {n} cells" for name, n in names.items() if n > 1]
    mine = {cell.id: functions(cell.source) for cell, _ in tasks(notebook)}
    if not grader(next(cell for cell in cells if cell.cell_type == "code"))["locked"]:
        found.append("the first cell of code is not locked")
    for cell, following in tasks(notebook):
        if not following:
            found.append(f"{cell.id} has no test")
        found += [f"{f.name} has no docstring" for f in mine[cell.id] if ast.get_docstring(f) is None]
        others = {f.name for task in mine if task != cell.id for f in mine[task]}
        for test in following:  # who is stuck in one task must not lose the points of the next
            used = {node.id for node in ast.walk(ast.parse(test.source)) if isinstance(node, ast.Name)}
            found += [f"{test.id} needs {name} of another task" for name in sorted(used & others)]
    for cell, kind in zip(cells, kinds, strict=True):
        found += _faults_of_cell(cell, kind)
    return found


def _faults_of_cell(cell, kind):
    marks = re.findall(r"(?m)^[ \t]*### ((?:BEGIN|END) (?:SOLUTION|HIDDEN TESTS))$", cell.source)
    name = {
        (True, False, "code"): "SOLUTION",
        (True, True, "markdown"): "SOLUTION",
        (False, True, "code"): "HIDDEN TESTS",
    }
    due = [f"{word} {name[kind]}" for word in ("BEGIN", "END")] if kind in name else []
    if marks != due * max(len(marks) // 2, 1) or len(re.findall("BEGIN|END", cell.source)) != len(marks):
        yield f"{cell.id}: the marks are {marks}"
    elif due == ["BEGIN HIDDEN TESTS", "END HIDDEN TESTS"] and "assert" not in released(cell):
        yield f"{cell.id} shows no test"
    if cell.cell_type == "code" and (cell.outputs or cell.execution_count is not None):
        yield f"{cell.id} was saved with outputs"
    meta = cell.metadata.get("nbgrader")
    if meta and (meta["grade_id"] != cell.id or meta["schema_version"] != 3 or meta["locked"] == meta["solution"]):
        yield f"{cell.id}: its metadata are {dict(meta)}"


@pytest.mark.parametrize("path", ASSIGNMENTS, ids=lambda path: path.stem)
def test_an_assignment_has_the_form(path):
    assert re.fullmatch(r"\d\d_\w+", path.stem)
    assert faults(nbformat.read(path, 4), int(path.stem[:2])) == []


def _set(name, **values):
    return lambda cells: cells[name].metadata.nbgrader.update(values)


def _replace(name, old, new):
    def change(cells):
        assert old in cells[name].source
        cells[name].source = cells[name].source.replace(old, new)

    return change


MUTATIONS = {
    "has no title": _replace("header", "# Assignment 1.", "# Assignment 2."),
    "has no minutes": _replace("header", "60 to 90 minutes", "an hour"),
    "has no restart": _replace("header", "restart the kernel", "begin anew"),
    "in two sentences": _replace("header", "You write", "Hello. You write"),
    "does not exist": _replace("header", "../01_", "../91_"),
    "21 points": _set("test-1", points=2),
    "by hand have [4]": _set("question", points=4),
    "entropy_bits has no docstring": _replace("task-1", '"""', "# "),
    "task-1: the marks": _replace("task-1", "    ### END SOLUTION", ""),
    "test-1: the marks": _replace("test-1", "### BEGIN HIDDEN TESTS", "### BEGIN HIDDEN TEST"),
    "imports: the marks": _replace("imports", "import numpy", "### BEGIN SOLUTION\n### END SOLUTION\nimport numpy"),
    "test-1 shows no test": _replace("test-1", "assert ", "x = "),
    "test-2 needs entropy_bits of another task": _replace("test-2", "gibbs_distribution(", "entropy_bits("),
    "is the name of 2 cells": _set("test-2", grade_id="test-1"),
    "test-3: its metadata": _set("test-3", locked=False),
    "task-2: its metadata": _set("task-2", schema_version=2),
    "saved with outputs": lambda cells: cells["task-3"].update(execution_count=3),
    "first cell of code is not locked": lambda cells: cells["imports"].metadata.pop("nbgrader"),
    "no cell draws": lambda cells: cells["figure"].metadata.pop("nbgrader"),
}


@pytest.mark.parametrize("fault", MUTATIONS)
def test_a_fault_of_form_is_found(fault):
    notebook = nbformat.read(ASSIGNMENTS[0], 4)
    MUTATIONS[fault]({cell.id: cell for cell in notebook.cells})
    assert any(fault in sentence for sentence in faults(notebook, 1))


@pytest.mark.parametrize("path", ASSIGNMENTS, ids=lambda path: path.stem)
def test_the_released_version_is_that_of_nbgrader(path):
    preprocessors = pytest.importorskip("nbgrader.preprocessors")
    notebook = nbformat.read(path, 4)
    mine, theirs = [released(cell) for cell in notebook.cells], copy.deepcopy(notebook)
    for step in (preprocessors.ClearSolutions, preprocessors.ClearHiddenTests, preprocessors.CheckCellMetadata):
        theirs, _ = step().preprocess(theirs, {})
    assert mine == [cell.source.rstrip("\n") for cell in theirs.cells]
    assert not re.search("BEGIN|END|hidden_", "".join(mine))


# Answers


def run(cell, namespace, source=None):
    """Run a cell, or another source in its place; what went wrong, or None. In test cells that is more than errors."""
    body, errors, last = ast.parse(cell.source if source is None else source).body, io.StringIO(), None
    if body and isinstance(body[-1], ast.Expr):
        last = ast.Expression(body.pop().value)
    try:
        with contextlib.redirect_stderr(errors):
            exec(compile(ast.Module(body, []), cell.id, "exec"), namespace)
            value = None if last is None else eval(compile(last, cell.id, "eval"), namespace)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    if grader(cell)["grade"]:
        return errors.getvalue() or (None if value is None else f"it shows {value!r}")
    return None


def failing(solution, answer, following, namespace):
    """Dict of test cell -> fault, for an answer in the place of a solution cell."""
    trial = dict(namespace)
    broken = run(solution, trial, answer)
    found = {cell.id: run(cell, trial) or broken for cell in following}
    return {cell.id: found[cell.id] for cell in following if grader(cell)["grade"] and found[cell.id]}


def called(*arguments):
    """What tells one call from another."""
    try:
        return pickle.dumps(arguments)
    except (pickle.PicklingError, AttributeError):  # a function without a name
        return re.sub(r" at 0x\w+", "", repr(arguments))


def by_heart(solution, following, namespace):
    """A namespace whose functions know what the visible tests ask for, and answer everything else with it, too."""
    names = [function.name for function in functions(solution.source)]
    memory, model = {name: {} for name in names}, dict(namespace)
    run(solution, model)

    def recorder(name):
        def record(*args, **words):
            key = called(args, words)
            return memory[name].setdefault(key, model[name](*args, **words))

        return record

    def replay(name):
        first = next(iter(memory[name].values()), None)
        return lambda *args, **words: memory[name].get(called(args, words), first)

    recorded = namespace | {name: recorder(name) for name in names}
    assert [fault for cell in following if (fault := run(cell, recorded, released(cell)))] == []
    return namespace | {name: replay(name) for name in names}


def disagreements(notebook, answers):
    """Run the cells in order, and try every answer at its place: a list of (task, kind, number, failing tests).

    No figures: no test needs them, and with the other right answers they are drawn below.
    """
    found, namespace, given = [], {}, {cell.id: following for cell, following in tasks(notebook)}
    last = max(n for n, cell in enumerate(notebook.cells) if cell.cell_type == "code" and grader(cell)["grade"])
    for cell in notebook.cells[: last + 1]:
        if cell.cell_type != "code" or "plt." in cell.source:
            continue
        following, tried = given.get(cell.id, []), answers.get(cell.id, {})
        if following:
            every = {test.id for test in following if grader(test)["grade"]}
            parrot = by_heart(cell, following, namespace)
            trials = [("untouched", 0, [every], released(cell), namespace), ("by heart", 0, [every], "", parrot)]
            for kind, wanted in {"right": [set()], "nothing": [every], "wrong": None, "partial": None}.items():
                for n, answer in enumerate(tried.get(kind, [])):
                    due, source = ([{*answer[0].split()}], answer[1]) if kind == "partial" else (wanted, answer)
                    trials.append((kind, n, due, source, namespace))
            for kind, number, wanted, source, start in trials:
                faulty = failing(cell, source, following, start)
                if not faulty if wanted is None else faulty.keys() not in wanted:
                    found.append((cell.id, kind, number, faulty))
            start = dict(parrot)
            if bad := [fault for test in following if (fault := run(test, start, released(test)))]:
                found.append((cell.id, "by heart, visible tests", 0, bad))
        if fault := run(cell, namespace):
            found.append((cell.id, "as it stands", 0, fault))
    return found


@pytest.fixture
def quiet():
    """Figures without a window; what a first cell sets is undone."""
    plt = pytest.importorskip("matplotlib.pyplot")
    plt.switch_backend("Agg")
    with warnings.catch_warnings(), threadpool_limits(1):
        yield
    plt.close("all")


@pytest.mark.parametrize("path", ASSIGNMENTS, ids=lambda path: path.stem)
def test_tests_tell_right_answers_from_wrong_ones(path, quiet):
    notebook, answers = nbformat.read(path, 4), ANSWERS[path.stem]
    assert answers.keys() == {cell.id for cell, _ in tasks(notebook)}
    assert all(answer["right"] and answer.keys() & {"nothing", "wrong"} for answer in answers.values())
    assert disagreements(notebook, answers) == []


@pytest.mark.parametrize("path", ASSIGNMENTS, ids=lambda path: path.stem)
def test_another_student_who_is_right_gets_every_point(path, quiet):
    """All other right ways together, so that figures and later tasks meet what earlier ones return."""
    notebook, namespace = nbformat.read(path, 4), {}
    for cell in notebook.cells:
        if cell.cell_type == "code":
            solution = grader(cell)["solution"]
            source = ANSWERS[path.stem][cell.id]["right"][-1] if solution else cell.source.replace(*FEWER)
            assert run(cell, namespace, source) is None


def test_an_assignment_without_hidden_tests_or_with_exchanged_answers_is_found(quiet):
    notebook = nbformat.read(ASSIGNMENTS[0], 4)
    first = ANSWERS[ASSIGNMENTS[0].stem]["task-1"]
    right, (wrong,) = first["right"][0], first["nothing"]
    answers = {"right": [wrong], "nothing": [right], "wrong": [right], "partial": [("test-1", right)]}
    expected = [("task-1", kind) for kind in answers]
    for cell, following in tasks(notebook):
        expected.append((cell.id, "by heart"))
        for test in following:
            test.source = released(test)
    assert sorted((task, kind) for task, kind, *_ in disagreements(notebook, {"task-1": answers})) == sorted(expected)
