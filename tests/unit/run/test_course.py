"""A small course: what is released, what each submission gets, and what its student reads."""

import hashlib
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from html.parser import HTMLParser
from pathlib import Path

import nbformat
import numpy as np
import psutil
import pytest
from nbformat import v4

from gencap import __main__

pytest.importorskip("nbgrader", reason="the course needs nbgrader: pip install gencap[course]")

from nbgrader.nbgraderformat import MetadataValidator  # noqa: E402
from nbgrader.utils import compute_checksum, determine_grade  # noqa: E402

from gencap.run import course, runner  # noqa: E402

NAME = "01_made_up"
LIMITS = ["--cell-seconds", "3", "--memory", "0.8"]
ON_LINUX = pytest.mark.skipif(sys.platform != "linux", reason="memory is bounded on Linux only")


def marked(name, source, points=None, solution=False, **metadata):
    """A code cell that nbgrader knows."""
    mark = {"grade_id": name, "grade": points is not None, "solution": solution, "locked": not solution}
    mark |= {"schema_version": 3, "task": False} | ({} if points is None else {"points": points})
    return v4.new_code_cell(source, metadata={"nbgrader": mark} | metadata)


def hidden(source):
    return f"### BEGIN HIDDEN TESTS\n{source}\n### END HIDDEN TESTS"


def solution(source):
    return f"### BEGIN SOLUTION\n{source}\n### END SOLUTION"


MEAN, SQUARE = "def mean(x):\n    return sum(x) / len(x)", "def square(x):\n    return x * x"
SOURCE = [
    v4.new_markdown_cell("# Made up"),
    marked("start", "import math"),
    marked("mean", solution(MEAN), solution=True),
    marked("mean_test", "assert mean([1, 3]) == 2\n" + hidden("assert mean([1, 2, 6]) == 3, 'a mean of three'"), 2),
    v4.new_markdown_cell("Now the square."),
    marked("square", solution(SQUARE), solution=True),
    marked("square_test", "assert square(2) == 4\n" + hidden("assert math.isclose(square(5), 25)"), 3),
    marked("part_test", "sum(square(x) == x * x for x in (1, 2, 3, 4)) / 2", 2),
]


def submission(path, mean=MEAN, square=SQUARE, change=lambda cells: cells):
    """Write what a student hands in: the released notebook with two answers, changed as wanted."""
    notebook = v4.new_notebook(cells=[nbformat.from_dict(dict(cell)) for cell in SOURCE])
    for cell in notebook.cells:
        cell.source = re.sub("### BEGIN.*### END[^\n]*", "", cell.source, flags=re.S)
        cell.source = {"mean": mean, "square": square}.get(
            cell.metadata.get("nbgrader", {}).get("grade_id"), cell.source
        )
    notebook.cells = change([nbformat.from_dict(cell) for cell in notebook.cells])
    path.parent.mkdir(parents=True, exist_ok=True)
    nbformat.write(notebook, path)


def calls(code):
    """A mean that does something else first."""
    return f"import os, sys\ndef mean(x):\n    {code}\n    return sum(x) / len(x)"


def edited(cells):
    """The tests are gone, or say something else, or stand in another place."""
    cells[3].source = "assert True"
    return [cells[4], cells[7], *cells[:4], cells[5]]


def with_own_cells(cells):
    """Cells of the student's own, one of which the answers need."""
    cells[5].source = "def square(x):\n    return power(x, 2)"
    return [*cells[:5], v4.new_code_cell("power = pow"), *cells[5:], v4.new_code_cell("1 / 0")]


def twice(cells):
    return [*cells, nbformat.from_dict(cells[2] | {"id": "copied"})]


def nothing_of_it(cells):
    return [v4.new_code_cell(cell.source) for cell in cells]


DEAF = "while True:\n        try:\n            time.sleep(60)\n        except BaseException: pass"
# What is no output at all, and an output that no page can show.
ODD = "for kind in ('text/html', 'application/vnd.jupyter.widget-view+json'): display({kind: 5}, raw=True)"
FULL, NO_MEAN = [2, 3, 2], [0, 3, 2]
STUDENTS = {  # what is handed in, points of the three tests, what happened to them
    "perfect": ({}, FULL, ["passed"] * 3),
    "half": (
        {"mean": "def mean(x):\n    return 2", "square": "def square(x):\n    return x * x if x != 2 else 5"},
        [0, 0, 1.5],
        ["failed", "failed", "in part"],
    ),
    "constant": ({"square": "def square(x):\n    return 4"}, [2, 0, 0.5], ["passed", "failed", "in part"]),
    "loop": ({"mean": calls("while True: pass")}, NO_MEAN, ["time", "passed", "passed"]),
    "deaf": ({"mean": f"import time\n{calls(DEAF)}"}, NO_MEAN, ["time", "passed", "passed"]),
    "memory": (
        {"mean": "kept = []\n" + calls("while True: kept.append(bytes(10**7))")},
        NO_MEAN,
        ["memory", "passed", "passed"],
    ),
    "killed": (
        {"mean": calls("os._exit(3)"), "square": f"{SQUARE} * len(os.sep)"},
        NO_MEAN,
        ["kernel died", "passed", "passed"],
    ),
    "exits": ({"mean": calls("sys.exit()")}, NO_MEAN, ["failed", "passed", "passed"]),
    "quits": ({"mean": calls("get_ipython().ask_exit()")}, NO_MEAN, ["kernel died", "passed", "passed"]),
    "warns": ({"mean": calls("print('watch out', file=sys.stderr)")}, FULL, ["passed"] * 3),
    "odd": ({"mean": f"from IPython.display import display\n{ODD}\n{MEAN}"}, FULL, ["passed"] * 3),
    "edited": ({"mean": "def mean(x):\n    return 2", "change": edited}, NO_MEAN, ["failed", "passed", "passed"]),
    "own": ({"change": with_own_cells}, FULL, ["passed"] * 3),
    "empty_answer": ({"mean": ""}, NO_MEAN, ["failed", "passed", "passed"]),
    "untouched": (
        {"mean": "raise NotImplementedError()", "square": "raise NotImplementedError()"},
        [0, 0, 0],
        ["failed"] * 3,
    ),
    # The tests run where the answers run: who replaces what a test asks of a library is not caught.
    "patched": (
        {"square": "math.isclose = lambda *a: True\ndef square(x):\n    return 4"},
        [2, 3, 0.5],
        ["passed", "passed", "in part"],
    ),
    "leaks": ({"mean": "def mean(x):\n    raise ValueError(In[-1])"}, NO_MEAN, ["failed", "passed", "passed"]),
    "twice": ({"change": twice}, [0, 0, 0], ["broken file"] * 3),
    "nothing_of_it": ({"change": nothing_of_it}, [0, 0, 0], ["broken file"] * 3),
}
BROKEN = {"no_text": "", "no_json": '{"cells": [', "no_notebook": '{"a": 1}', "no_utf8": "\udcff"}
STUDENTS |= {name: (text, [0, 0, 0], ["broken file"] * 3) for name, text in BROKEN.items()}


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A project with one assignment as the current folder."""
    nbformat.write(v4.new_notebook(cells=SOURCE), source(tmp_path))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def source(folder):
    path = folder / "notebooks" / "assignments" / f"{NAME}.ipynb"
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


@pytest.fixture(scope="module")
def graded(tmp_path_factory):
    """The folder in which all submissions were graded by the command, and what it said."""
    folder = tmp_path_factory.mktemp("course")
    nbformat.write(v4.new_notebook(cells=SOURCE), source(folder))
    for name, (given, *_) in STUDENTS.items():
        path = folder / "handed in" / name / f"{NAME}.ipynb"
        if isinstance(given, dict):
            submission(path, **given)
        else:
            path.parent.mkdir(parents=True)
            path.write_bytes(given.encode("utf-8", "surrogateescape"))
    submission(folder / "handed in" / "perfect" / "01_made_up (1).ipynb")
    words = [sys.executable, "-m", "gencap", "course", "grade", "handed in", *LIMITS]
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return folder, done.stdout


def table(folder, name="grades"):
    return course.pd.read_csv(folder / f"{name}.csv", keep_default_na=False)


@pytest.mark.parametrize("name", [pytest.param(n, marks=ON_LINUX) if n == "memory" else n for n in STUDENTS])
def test_points_of_a_submission(graded, name):
    rows = table(graded[0] / "build/course").query("student == @name")
    _, points, happened = STUDENTS[name]
    assert rows["cell"].to_list() == ["mean_test", "square_test", "part_test"]
    assert rows["max_points"].to_list() == FULL and rows["points"].to_list() == points
    assert rows["what_happened"].to_list() == happened


def test_what_grading_says(graded):
    folder, said = graded
    totals = table(folder / "build/course", "totals").set_index("student")["total"]
    assert totals["out of"] == 7 and totals["half"] == 1.5
    assert totals.drop("out of").to_dict() == {name: sum(points) for name, (_, points, _) in STUDENTS.items()}
    assert "broken file: no_notebook, 01_made_up: cannot be read as a notebook: it is of format None" in said
    assert "broken file: twice, 01_made_up: its cell mean is there twice" in said
    assert "broken file: nothing_of_it, 01_made_up: it has no cell of this assignment" in said
    assert "not graded, no such assignment: perfect/01_made_up (1).ipynb" in said
    messages = table(folder / "build/course").set_index(["student", "cell"])["message"]
    assert messages["half", "mean_test"] == "raised AssertionError: a mean of three"
    assert messages["loop", "mean_test"] == messages["deaf", "mean_test"] == "took longer than 3 s"
    assert not re.search(str(folder), said.replace("build", ""))


def test_no_more_is_kept_than_somebody_reads(project):
    prints = calls("print('x' * 10**8) if len(x) == 3 else print('y')")
    square = f"{SQUARE} - (x == 1)".replace("return", "print('z' * 10**6)\n    return")
    submission(project / "in" / "a" / f"{NAME}.ipynb", mean=prints, square=square)
    assert course.grade("in", jobs=1)[0]["points"].to_list() == [2, 3, 1.5]  # the value is seen behind all that
    cells = nbformat.read(project / "build/course/graded/a" / f"{NAME}.ipynb", 4).cells
    kept = "".join(output.text for output in cells[3].outputs)
    assert kept == "y\n" + (len(kept) - 2) * "x" and 0.9 < len(kept) / course.MOST_WRITTEN <= 1


class Text(HTMLParser):
    def __init__(self, page):
        super().__init__()
        self.text = ""
        self.feed(page)

    def handle_data(self, data):
        self.text += data


def test_feedback_shows_points_and_no_hidden_test(graded, monkeypatch, capsys):
    monkeypatch.chdir(graded[0])
    assert __main__.main(["course", "feedback", "--jobs", "1"]) == 0
    pages = {path.parent.name: Text(path.read_text(encoding="utf-8")).text for path in graded[0].rglob("*.html")}
    assert capsys.readouterr().out.count(".html") == len(pages) == len(STUDENTS)
    for name, page in pages.items():
        assert f"{NAME}, {name}: {sum(STUDENTS[name][1]):g} of 7 points" in page
        assert not [line for line in ("mean([1, 2, 6])", "math.isclose(square") if line in page], name
        assert ("mean([1, 3]) == 2" in page) == (STUDENTS[name][2][0] != "broken file" and name != "odd")
    assert "0 of 2 points, failed\nraised AssertionError: a mean of three" in pages["half"]
    assert "raised ValueError: assert mean([1, 3]) == 2" in pages["leaks"] and "(hidden)" in pages["leaks"]
    assert "1.5 of 2 points, in part" in pages["half"] and "its cell mean is there twice" in pages["twice"]


def test_interrupted_grading_goes_on_where_it_was(graded, tmp_path):
    names = ["half", "loop", "killed", "perfect"]
    nbformat.write(v4.new_notebook(cells=SOURCE), source(tmp_path))
    for name in names:
        shutil.copytree(graded[0] / "handed in" / name, tmp_path / "some" / "submitted" / name)
    words = [sys.executable, "-m", "gencap", "course", "grade", "some", NAME, *LIMITS, "--jobs", "1", "--out", "new"]
    own = {"start_new_session": True, "creationflags": getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0)}
    process = subprocess.Popen(words, cwd=tmp_path, stderr=subprocess.PIPE, text=True, **own)
    first = tmp_path / "new/graded/half" / f"{NAME}.ipynb"
    while process.poll() is None and not first.exists():
        time.sleep(0.05)
    children = psutil.Process(process.pid).children(recursive=True)
    process.send_signal(signal.SIGINT if os.name == "posix" else signal.CTRL_BREAK_EVENT)
    _, said = process.communicate()
    assert not (tmp_path / "new/grades.csv").exists()
    assert psutil.wait_procs(children, timeout=20)[1] == []  # no kernel is left
    if os.name == "posix":
        assert process.returncode == 130 and "the same command goes on from there" in said
    before = first.stat().st_mtime_ns
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True)
    assert "3 graded now" in done.stdout and first.stat().st_mtime_ns == before
    whole = table(graded[0] / "build/course").query("student in @names").reset_index(drop=True)
    assert table(tmp_path / "new").equals(whole.sort_values("student", kind="stable").reset_index(drop=True))


def test_only_what_changed_is_graded_again(project):
    for name in "ab":
        submission(project / name / f"{NAME}.ipynb", mean="", square="")
    sources = source(project).read_text(encoding="utf-8")

    def new(seconds=30):
        return course.grade(project, seconds=seconds, jobs=1)[2]

    assert (new(), new()) == (2, 0)
    sheets = {path.name: path.read_bytes() for path in (project / "build/course").glob("*.csv")}
    submission(project / "b" / f"{NAME}.ipynb", mean="pass", square="")
    assert (new(), new()) == (1, 0)
    (project / "a" / "data.csv").write_text("1")
    assert (new(), new(31), new(31)) == (1, 2, 0)
    source(project).write_text(sources.replace("square(5), 25", "square(6), 36"), encoding="utf-8")
    assert (new(31), new(31)) == (2, 0)
    assert {path.name: path.read_bytes() for path in (project / "build/course").glob("*.csv")} == sheets


def test_what_was_not_run_has_no_points(project):
    """nbgrader gives all points to a test that nobody ran: there is no error in it."""
    cells = [marked("answer", "a = 1", solution=True), marked("test", "assert False", 2, tags=["skip-execution"])]
    nbformat.write(v4.new_notebook(cells=cells), source(project))
    nbformat.write(v4.new_notebook(cells=cells), (project / f"{NAME}.ipynb"))
    (project / "in" / "a").mkdir(parents=True)
    (project / f"{NAME}.ipynb").rename(project / "in" / "a" / f"{NAME}.ipynb")
    grades, totals, *_ = course.grade("in", jobs=1)
    cell = nbformat.read(project / "build/course/graded/a" / f"{NAME}.ipynb", 4).cells[1]
    assert cell.execution_count is None and determine_grade(cell) == (2, 2) and course._points(cell, 2.0) == 0
    assert grades["what_happened"].to_list() == ["not run"] and totals.loc["a", "total"] == 0


def test_when_no_kernel_starts_nothing_is_passed_and_the_next_time_it_is_tried_again(project, monkeypatch):
    submission(project / "in" / "a" / f"{NAME}.ipynb")

    def refused(*arguments, **options):
        raise RuntimeError("no kernel today")

    with monkeypatch.context() as patched:
        patched.setattr(course, "running_kernel", refused)
        grades, *_ = course.grade("in", jobs=1)
    assert set(grades["what_happened"]) == {"not run"} and grades["points"].sum() == 0
    assert set(grades["message"]) == {"RuntimeError: no kernel today"}
    grades, *_ = course.grade("in", jobs=1)
    assert grades["points"].sum() == 7


@pytest.mark.parametrize("value", [None, "2.0", "0.5", "0", "2", "'words'", "[1, 2]"])
def test_points_are_nbgraders(value):
    cell = marked("test", "...", 2)
    cell.execution_count = 1
    if value:
        cell.outputs = [v4.new_output("execute_result", {"text/plain": value})]
    assert (course._points(cell, 2.0), 2) == determine_grade(cell)


@pytest.mark.parametrize(("value", "points"), [(np.float64(0.5), 0.5), (np.int64(1), 1), (np.nan, 0), (-1, 0), (3, 0)])
def test_points_where_nbgraders_are_wrong(value, points):
    """There a NumPy number, NaN and a negative number are worth all points, and 3 of 2 is an error."""
    cell = marked("test", "...", 2)
    cell.execution_count, cell.outputs = 1, [v4.new_output("execute_result", {"text/plain": repr(value)})]
    assert course._points(cell, 2.0) == points


def test_texts_are_graded_by_hand(project, capsys):
    mark = marked("essay", "", 4, solution=True).metadata
    essay = v4.new_markdown_cell(solution("Because."), metadata=mark)
    nbformat.write(v4.new_notebook(cells=[*SOURCE, essay]), source(project))
    assert __main__.main(["course", "release", "--jobs", "1"]) == 0
    assert capsys.readouterr().out == "01_made_up: 4 graded cells, 11 points, 4 of them by hand\n"
    released = nbformat.read(project / "build/course/release" / NAME / f"{NAME}.ipynb", 4)
    assert released.cells[-1].source == course.STUB

    def hand_in(student, text):
        answer = v4.new_markdown_cell(text, metadata=mark)
        submission(project / "in" / student / f"{NAME}.ipynb", change=lambda cells: [*cells, answer])

    def fill(points):
        rows = course.pd.read_csv(sheet, dtype=str, keep_default_na=False)
        rows.loc[rows["points"] == "", ["points", "comment"]] = [points, "too short"]
        rows.to_csv(sheet, index=False)

    def essays():
        assert __main__.main(["course", "grade", "in", "--jobs", "1"]) == 0
        rows = table(project / "build/course").query("cell == 'essay'")
        return capsys.readouterr().out, rows.set_index("student")["points"].to_dict()

    sheet = project / "build/course/by_hand.csv"
    hand_in("001", "It is so.")
    hand_in("silent", course.STUB)
    said, points = essays()
    assert "by hand 1; not answered 1" in said and "texts without points yet: 1, in" in said
    assert points == {"001": "", "silent": "0.0"} and len(table(project / "build/course", "by_hand")) == 1
    fill("2.5")
    said, points = essays()
    assert "0 graded now" in said and "without points" not in said
    assert points == {"001": 2.5, "silent": 0}
    assert __main__.main(["course", "feedback", "--jobs", "1"]) == 0
    page = Text((project / "build/course/feedback/001" / f"{NAME}.html").read_text(encoding="utf-8")).text
    assert f"{NAME}, 001: 9.5 of 11 points" in page and "too short" in page and "It is so." in page
    hand_in("001", "It is so because of that.")
    assert essays()[1]["001"] == ""
    hand_in("001", "It is so.")
    assert essays()[1]["001"] == 2.5
    fill("1")
    for wrong in ("4.5", "many"):
        sheet.write_text(sheet.read_text(encoding="utf-8").replace("2.5", wrong), encoding="utf-8")
        assert __main__.main(["course", "grade", "in", "--jobs", "1"]) == 2
        assert "by_hand.csv: " in capsys.readouterr().err
        sheet.write_text(sheet.read_text(encoding="utf-8").replace(wrong, "2.5"), encoding="utf-8")
    assert essays()[1] == {"001": 2.5, "silent": 0}


def test_release(project, capsys):
    before = hashlib.sha256(source(project).read_bytes()).hexdigest()
    assert __main__.main(["course", "release", NAME, "--jobs", "1"]) == 0
    assert capsys.readouterr().out == "01_made_up: 3 graded cells, 7 points\n"
    assert hashlib.sha256(source(project).read_bytes()).hexdigest() == before
    released = nbformat.read(project / "build/course/release" / NAME / f"{NAME}.ipynb", 4)
    MetadataValidator().validate_nb(released)
    assert not re.search(
        "BEGIN|END|sum.x.|x . x$|isclose|1, 2, 6", "\n".join(cell.source for cell in released.cells[:7])
    )
    assert [cell.source.count("raise NotImplementedError()") for cell in released.cells] == [0, 0, 1, 0, 0, 1, 0, 0]
    assert [cell.source for cell in released.cells[:2]] == [cell.source for cell in SOURCE[:2]]
    for cell in released.cells:
        if mark := cell.metadata.get("nbgrader"):
            assert mark["checksum"] == compute_checksum(cell)
            assert cell.metadata.get("editable", True) == mark["solution"] and cell.metadata["deletable"] is False


def test_a_source_that_fails_its_own_tests_is_not_released(project, capsys):
    wrong = [*SOURCE[:6], marked("square_test", "assert square(2) == 5", 3), marked("part_test", "1.5", 2)]
    nbformat.write(v4.new_notebook(cells=wrong), source(project))
    nbformat.write(v4.new_notebook(cells=SOURCE), source(project).with_name("02_right.ipynb"))
    assert __main__.main(["course", "release", "--jobs", "1"]) == 1
    said = capsys.readouterr().out
    assert (
        "01_made_up is not released" in said
        and "cell 6 failed raised AssertionError; square_test 0 of 3 points; part_test 1.5 of 2 points" in said
    )
    assert [path.name for path in (project / "build/course/release").iterdir()] == ["02_right"]


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        ([marked("a", "1", 1), marked("a", "2", 1)], "Duplicate grade id: a"),
        ([marked("a", "1"), v4.new_code_cell("1", metadata={"nbgrader": {}})], "schema version: 0"),
    ],
)
def test_sources_that_are_refused(project, capsys, cells, message):
    nbformat.write(v4.new_notebook(cells=cells), source(project))
    assert __main__.main(["course", "release"]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["release", "01"], "'01' is no assignment; accepted are 01_made_up"),
        (["grade"], "the folder of submissions is missing"),
        (["grade", "nowhere"], "looked for STUDENT/NAME.ipynb"),
        (["grade", ".", "--memory", "0.4"], "60 and 0.4 are given; accepted are"),
        (["grade", ".", "--cell-seconds", "nan"], "nan and 2 are given"),
        (["feedback"], "nothing graded in"),
    ],
)
def test_words_that_are_refused(project, capsys, words, message):
    assert __main__.main(["course", *words]) == 2
    assert message in capsys.readouterr().err
    assert not (project / "build").exists()


def test_without_assignments(tmp_path, monkeypatch):
    (tmp_path / "notebooks").mkdir()
    monkeypatch.chdir(tmp_path)
    with pytest.raises(runner.ParameterError, match="accepted are none in"):
        course.assignments()


ROOT = Path(__file__).parents[3]
SYLLABUS = (ROOT / "COURSE.md").read_text(encoding="utf-8")
WEEKS = [line.split("|") for line in SYLLABUS.splitlines() if re.match(r"\| \d", line)]


def test_the_syllabus_names_lessons_with_their_minutes_and_explorers():
    lessons = {path.name[:2]: path.read_text(encoding="utf-8") for path in (ROOT / "notebooks").glob("[0-9]*.ipynb")}
    named = re.findall(r"\b(\d\d) \((\d+)\)", SYLLABUS)
    assert len(named) > 40 and not [
        pair for pair in named if not re.search(rf"Minutes\.\*\* {pair[1]}\b", lessons[pair[0]].replace("\\n", " "))
    ]
    assert [int(week[1]) for week in WEEKS] == [*range(1, 8), *range(1, 15)]
    for explorer in re.findall(r"lesson (\d+)", " ".join(week[5] for week in WEEKS)):
        assert "Explorer(" in lessons[f"{explorer:>02}"], explorer


def test_the_syllabus_hands_out_every_assignment():
    written = sorted(path.stem for path in (ROOT / "notebooks" / "assignments").glob("*.ipynb"))
    if not written:
        pytest.skip("no assignments here")
    for weeks in (WEEKS[:7], WEEKS[7:]):
        assert sorted(week[4].strip(" `") for week in weeks if week[4].strip()) == written
