"""The runner on tiny notebooks: what it refuses, what it leaves behind, what it does not do twice."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import nbformat
import pytest

from gencap import __main__, datasets
from gencap.run import claims, report, runner

PARAMETERS = """\
profile: str = "quick"  # one of: quick, full
n_objects: int = 0  # objects, 0 = the profile's size, 100..1000000
seed: int = 7  # random seed, 0..1000
noise: float = 0.5  # share of replaced edges, 0..1
shifts: list[float] = [0.5, 1.0]  # shifts to try, -5..5
paired: bool = False  # start from the first data set
note: str = "free"
"""


def notebook(path, *cells, parameters=PARAMETERS, author="gencap"):
    """Write a notebook of a title, a parameters cell and code cells."""
    v4 = nbformat.v4
    tagged = [v4.new_code_cell(parameters, metadata={"tags": ["parameters"]})] if parameters else []
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    written = v4.new_notebook(
        cells=[v4.new_markdown_cell(f"# About {path.stem}"), *tagged, *map(v4.new_code_cell, cells)],
        metadata={"kernelspec": kernel, "authors": [{"name": author}], "uses": f"import {author}"},
    )
    path.parent.mkdir(exist_ok=True, parents=True)
    nbformat.write(written, path)
    return path


@pytest.fixture
def project(tmp_path, monkeypatch):
    """An empty project as the current folder."""
    (tmp_path / "notebooks").mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("GENCAP_DATA", raising=False)
    return tmp_path


# Parameters ---------------------------------------------------------------------------------------------------------


def test_entries_of_the_parameters_cell_are_read(tmp_path):
    found = runner.parameters(notebook(tmp_path / "a.ipynb"))
    assert {n: (p.type, p.default) for n, p in found.items()} == {
        "profile": ("str", "quick"),
        "n_objects": ("int", 0),
        "seed": ("int", 7),
        "noise": ("float", 0.5),
        "shifts": ("list[float]", [0.5, 1.0]),
        "paired": ("bool", False),
        "note": ("str", "free"),
    }
    assert found["profile"].options == ["quick", "full"] and found["profile"].range is None
    assert found["n_objects"].range == (100, 1000000) and found["noise"].range == (0, 1)
    assert found["shifts"].range == (-5, 5) and found["paired"].range is None


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("profile", "full", "full"),
        ("n_objects", "100", 100),
        ("n_objects", "0", 0),
        ("noise", "1e-3", 0.001),
        ("noise", "1", 1.0),
        ("shifts", "[-5, 2.5]", [-5.0, 2.5]),
        ("shifts", "2", [2.0]),
        ("shifts", "(-.5, 1,)", [-0.5, 1.0]),
        ("paired", "True", True),
        ("note", "1..2", "1..2"),
    ],
)
def test_accepted_values(tmp_path, name, text, value):
    values = runner.read_values(notebook(tmp_path / "a.ipynb"), [(name, text)])
    assert values[name] == value and type(values[name]) is type(value)
    assert values["seed"] == 7


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("n_object", "5", "unknown parameter 'n_object' (did you mean n_objects?); accepted are profile (str, "),
        ("zzz", "5", "100..1000000"),
        ("seed", "abc", "'abc' is not of type int; accepted is seed (int, default 7; random seed, 0..1000)"),
        ("seed", "3.0", "not of type int"),
        ("seed", "1001", "1001 is not accepted"),
        ("seed", "-1", "0..1000"),
        ("n_objects", "99", "99 is not accepted"),
        ("noise", "nan", "not of type float"),
        ("noise", "inf", "not accepted"),
        ("shifts", "1,9", "9.0 is not accepted"),
        ("shifts", "[1,]x", "not of type list[float]"),
        ("shifts", "[0,-.5", "not of type list[float]"),
        ("shifts", "0,-.5)", "not of type list[float]"),
        ("shifts", "[[0]]", "not of type list[float]"),
        ("shifts", "[]", "not of type list[float]"),
        ("shifts", "-9", "-9.0 is not accepted"),
        ("shifts", "-0.5,-x", "'-0.5,-x' is not of type list[float]"),
        ("seed", "1_0", "'1_0' is not of type int"),
        ("noise", "0_0.5", "not of type float"),
        ("noise", "-inf", "-inf is not accepted"),
        ("noise", "-3e-1", "-0.3 is not accepted"),
        ("paired", "2", "not of type bool"),
        ("profile", "slow", "one of: quick, full"),
    ],
)
def test_the_command_refuses_and_names_what_is_accepted(project, capsys, name, text, message):
    path = notebook(project / "notebooks" / "00_a.ipynb", "1")
    assert __main__.main(["run", str(path), "-p", name, text]) == 2
    output = capsys.readouterr().err
    assert message in output and output.count("\n") == 1
    assert not (project / "build").exists()


@pytest.mark.parametrize(
    ("words", "changed"),
    [
        (["shifts", "-3e-1"], {"shifts": [-0.3]}),
        (["shifts", "-1E0"], {"shifts": [-1.0]}),
        (["shifts", "-0.5,-1", "-p", "seed", "3"], {"shifts": [-0.5, -1.0], "seed": 3}),
        (["shifts", "-.5, -.3"], {"shifts": [-0.5, -0.3]}),
        (["note", "-x"], {"note": "-x"}),
    ],
)
def test_a_value_may_begin_with_a_minus(project, monkeypatch, words, changed):
    seen = []

    def run(path, values, progress=None):
        seen.append(values)
        raise runner.ParameterError("read")

    monkeypatch.setattr(runner, "run", run)
    path = notebook(project / "notebooks" / "00_a.ipynb", "1")
    assert __main__.main(["run", str(path), "-p", *words]) == 2
    assert seen == [runner.read_values(path, []) | changed]


def test_a_parameter_given_twice_is_refused_by_name(project, capsys):
    path = notebook(project / "notebooks" / "00_a.ipynb", "1")
    assert __main__.main(["run", str(path), "-p", "seed", "6", "-p", "noise", "1", "-p", "seed", "7"]) == 2
    assert capsys.readouterr().err == "gencap: seed is given 2 times; accepted is once\n"


def test_a_path_starts_where_the_command_was_given(tmp_path, monkeypatch):
    source = """\
data: str = ""  # a table of your own, CSV; empty takes the yeast genes
folder: str = "results"  # folder of the results
kind: str = "file"  # one of: file, table
note: str = ""  # free text
"""
    path = notebook(tmp_path / "notebooks" / "a.ipynb", parameters=source)
    monkeypatch.chdir(tmp_path)
    pairs = [("data", "own/table.csv"), ("kind", "table"), ("note", "own/table.csv")]
    expected = {"data": str(tmp_path / "own" / "table.csv"), "folder": "results", "kind": "table"}
    assert runner.read_values(path, pairs) == expected | {"note": "own/table.csv"}
    for text in ("", "https://example.org/table.csv", str(tmp_path / "table.csv")):
        assert runner.read_values(path, [("data", text)])["data"] == text


def test_a_list_of_options_ends_at_a_semicolon(tmp_path):
    source = 'kind: str = "a"  # one of: a, b c; a: months, the last ten are used; b c: all columns'
    path = notebook(tmp_path / "a.ipynb", parameters=source)
    assert runner.parameters(path)["kind"].options == ["a", "b c"]
    assert runner.read_values(path, [("kind", "b c")]) == {"kind": "b c"}
    with pytest.raises(runner.ParameterError, match="is not accepted"):
        runner.read_values(path, [("kind", "the last ten are used")])


@pytest.mark.parametrize("text", ["", "[]", "{", '{"cells": 3}', '{"cells": [{}]}', "{}"])
def test_a_file_that_is_no_notebook_is_refused(project, capsys, text):
    (project / "a.ipynb").write_text(text, encoding="utf-8")
    assert __main__.main(["run", "a.ipynb"]) == 2
    assert __main__.main(["run", "missing.ipynb"]) == 2
    assert capsys.readouterr().err.count("cannot be read as a notebook") == 2


@pytest.mark.parametrize(
    "source",
    [
        "seed: int = 1 +",
        "seed = len('abc')",
        "a, b = 1, 2",
        "seed: int",
        "import os\nseed: int = 1",
        "seed: int = 1\nif seed: seed = 2",
        "'a text'",
        "seed: int = 1\nseed += 1",
        "sigma: float | None = None",
        "sigma = None",
        "note = 'without a type'",
        "sigma: Optional[float] = 1.0",
        "sizes: list[list[int]] = [[1]]",
        "colours: dict = {}",
    ],
)
def test_a_parameters_cell_of_another_form_is_refused(tmp_path, source):
    with pytest.raises(runner.ParameterError, match="name: type = literal"):
        runner.parameters(notebook(tmp_path / "a.ipynb", parameters=source))


def test_words_of_a_list_may_stand_in_quotes(tmp_path):
    path = notebook(tmp_path / "a.ipynb", parameters='names: list[str] = ["a"]\nsizes: list[int] = []  # of "# groups"')
    assert runner.read_values(path, [("names", "b, 'c'"), ("sizes", "3")]) == {"names": ["b", "c"], "sizes": [3]}
    assert runner.parameters(path)["sizes"].comment == 'of "# groups"'


CELL = {"cell_type": "code", "source": "1", "metadata": {}, "outputs": [], "execution_count": None}


@pytest.mark.parametrize(
    "wrong",
    [
        {"nbformat": 3, "worksheets": []},
        {"nbformat": 3, "cells": []},
        {"metadata": None},
        {"cells": [{k: v for k, v in CELL.items() if k != "metadata"}]},
        {"cells": [CELL | {"metadata": None}]},
        {"cells": [CELL | {"metadata": {"tags": None}}]},
        {"cells": [CELL | {"source": None}]},
        {"cells": [None]},
    ],
)
def test_a_notebook_of_another_form_is_refused_in_a_line(project, capsys, wrong):
    right = {"nbformat": 4, "nbformat_minor": 4, "metadata": {}, "cells": [CELL]}
    (project / "a.ipynb").write_text("\ufeff" + json.dumps(right), encoding="utf-8")
    assert runner.read_values("a.ipynb", []) == {}  # a byte order mark is none
    broken = right | wrong
    if "worksheets" in wrong:
        del broken["cells"]
    (project / "a.ipynb").write_text(json.dumps(broken), encoding="utf-8")
    assert __main__.main(["run", "a.ipynb"]) == 2
    said = capsys.readouterr().err
    assert "a.ipynb cannot be read as a notebook: " in said and said.count("\n") == 1
    assert not (project / "build").exists()


def test_what_is_no_notebook_is_not_saved(project, capsys):
    (project / "a.ipynb").write_text("{}", encoding="utf-8")
    for words in (["save", "missing.ipynb"], ["save", "a.ipynb"], ["save", "."]):
        assert __main__.main(words) == 2
    assert capsys.readouterr().err.count("cannot be read as a notebook") == 3


def test_a_build_folder_that_cannot_be_written_is_named_in_a_line(project, capsys):
    (project / "build").write_text("in the way", encoding="utf-8")
    path = notebook(project / "notebooks" / "00_a.ipynb", "1")
    for words in (["run", str(path)], ["report"]):
        assert __main__.main(words) == 1
        output = capsys.readouterr().err
        assert "build" in output and output.count("\n") <= 2  # the bar may leave a line


@pytest.mark.parametrize("text", ["0", "-1", "two", "1.5", "33"])
def test_jobs_are_whole_and_positive(text, capsys):
    with pytest.raises(SystemExit):
        __main__.main(["all", "--jobs", text])
    said = capsys.readouterr().err
    assert f"argument --jobs: invalid choice: '{text}' (choose from" in said and "32" in said


def test_a_notebook_without_parameters_says_so(tmp_path, capsys):
    assert __main__.main(["run", str(notebook(tmp_path / "a.ipynb", parameters="")), "--help-notebook"]) == 0
    assert capsys.readouterr().out == "no parameters\n"


def test_help_lists_the_parameters(tmp_path, capsys):
    assert __main__.main(["run", str(notebook(tmp_path / "a.ipynb")), "--help-notebook"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 7 and lines[0] == "profile (str, default 'quick'; one of: quick, full)"


# Where notebooks are looked for -------------------------------------------------------------------------------------


@pytest.mark.parametrize("command", ["all", "report", "keep"])
def test_outside_a_project_the_place_is_named_and_nothing_is_run(tmp_path, monkeypatch, capsys, command):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(runner, "run_all", None)
    monkeypatch.setattr(runner, "project_folder", lambda: tmp_path)

    def refused(count):
        assert __main__.main([command]) == 2
        said = capsys.readouterr().err
        assert f"no notebooks of gencap in {tmp_path / 'notebooks'}" in said and f"{count} others" in said
        assert not (tmp_path / "build").exists() and not (tmp_path / "data").exists()

    refused(0)
    notebook(tmp_path / "notebooks" / "07_mine.ipynb", "import numpy", parameters="alpha = 0.1", author="me")
    (tmp_path / "notebooks" / "08_broken.ipynb").write_text("{", encoding="utf-8")
    refused(2)


def test_a_project_is_known_by_a_notebook_that_names_gencap(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    mine = notebook(tmp_path / "notebooks" / "07_mine.ipynb", "import gencapsule", parameters="", author="me")
    other = notebook(tmp_path / "notebooks" / "08_other.ipynb", "import gencap as gc", parameters="", author="me")
    assert runner.project_notebooks() == [mine, other]
    other.unlink()
    with pytest.raises(runner.ParameterError):
        runner.project_notebooks()


# One run ------------------------------------------------------------------------------------------------------------


def test_a_run_leaves_notebook_page_and_record(project):
    path = notebook(
        project / "notebooks" / "00_a.ipynb",
        "import os, sys, gencap as gc\nfor id, K in ('cc-075', 5), ('cc-085', 4): gc.claims.check(id, K, holds=K == 5)",
        "print(seed * 2, os.environ['OMP_NUM_THREADS'], sys.executable, os.getcwd())",
    )
    values, seen = runner.read_values(path, [("seed", "21")]), []
    record = runner.run(path, values, lambda *progress: seen.append(progress))
    folder = runner.run_folder(path, values)
    assert sorted(f.name for f in folder.iterdir()) == ["00_a.html", "00_a.ipynb", "run.json"]
    assert record == json.loads((folder / "run.json").read_text(encoding="utf-8"))
    assert (record["seed"], record["profile"], record["status"], record["changed"]) == (21, "quick", "done", ["seed"])
    assert record["parameters"] == values and record["seconds"] > 0 and "numpy" in record["versions"]
    assert {c["id"]: (c["verdict"], c["reason"]) for c in record["claims"]} == {
        "cc-075": ("reproduced", ""),
        "cc-085": ("refuted", "not met; run with seed=21"),
    }
    outputs = nbformat.read(folder / "00_a.ipynb", 4).cells[-1].outputs
    assert outputs[0].text == f"42 1 {sys.executable} {path.parent}\n"
    assert seen == [(done, 5) for done in range(1, 6)]  # title, parameters, injected parameters, two cells


def test_a_cell_that_raises_is_named_and_kept(project, capsys):
    path = notebook(project / "notebooks" / "00_a.ipynb", "if seed == 8: 1 / 0")
    assert __main__.main(["run", str(path), "-p", "seed", "8"]) == 1
    assert "00_a.ipynb: cell 2 raised ZeroDivisionError: division by zero" in capsys.readouterr().err
    folder = runner.run_folder(path, runner.read_values(path, [("seed", "8")]))
    assert sorted(f.name for f in folder.iterdir()) == ["failed-00_a.html", "failed-00_a.ipynb", "run.json"]
    assert runner.read_record(folder / "run.json")["status"] == "failed"
    assert runner.finished(path, runner.read_values(path, [("seed", "8")])) is None


def test_a_run_is_the_same_whatever_the_user_s_settings_and_is_kept_without_a_page(project, monkeypatch, capfd):
    """A folder with braces, space and umlaut, a display, start-up files, a relative data folder, a page that fails."""
    folder = project / "ü {x} {seed}"
    startup = project / "ipython" / "profile_default" / "startup"
    startup.mkdir(parents=True)
    (startup / "00.py").write_text("print = lambda *_: None", encoding="utf-8")
    (project / "startup.py").write_text("seed = 'of PYTHONSTARTUP'", encoding="utf-8")
    (project / "own").mkdir()
    settings = {"MPLBACKEND": "Agg", "IPYTHONDIR": startup.parents[1], "PYTHONSTARTUP": project / "startup.py"}
    for name, value in (settings | {"GENCAP_DATA": "own"}).items():
        monkeypatch.setenv(name, str(value))
    path = notebook(
        folder / "00_a.ipynb",
        "import os, sys\nprint(os.environ['GENCAP_DATA'], sys.flags.utf8_mode, seed)",
        "import matplotlib.pyplot as plt\nplt.plot([1, 2]);",
        parameters="seed: int = 7",
    )
    monkeypatch.setattr("gencap.run.saving.page", lambda *_: 1 / 0)
    record = runner.run(path, {"seed": 8})
    assert record["status"] == "done" and record["notebook"] == "ü {x} {seed}/00_a.ipynb"
    kept = runner.run_folder(path, {"seed": 8})
    assert sorted(f.name for f in kept.iterdir()) == ["00_a.ipynb", "run.json"]
    assert runner.read_record(kept / "run.json") == record and runner.finished(path, {"seed": 8}) == record
    said = capfd.readouterr().err
    assert said.startswith("gencap: 00_a.ipynb is kept without its page: ") and said.count("\n") == 1
    cells = nbformat.read(kept / "00_a.ipynb", 4).cells
    assert cells[-2].outputs[0].text == f"{project / 'own'} 1 8\n"
    assert "image/png" in cells[-1].outputs[0].data
    (kept / "00_a.ipynb").unlink()
    assert runner.finished(path, {"seed": 8}) is None


def test_a_failure_takes_the_place_of_an_older_success_and_the_other_way_round(project):
    path = notebook(project / "notebooks" / "00_a.ipynb", "1", parameters="")
    folder = runner.run_folder(path, {})
    runner.run(path, {})
    assert runner.finished(path, {})
    notebook(path, "1 / 0", parameters="")
    with pytest.raises(runner.NotebookFailed):
        runner.run(path, {})
    assert sorted(f.name for f in folder.iterdir()) == ["failed-00_a.html", "failed-00_a.ipynb", "run.json"]
    notebook(path, "2", parameters="")
    runner.run(path, {})
    assert sorted(f.name for f in folder.iterdir()) == ["00_a.html", "00_a.ipynb", "run.json"]


def test_every_input_counts(project, monkeypatch):
    path = notebook(project / "notebooks" / "00_a.ipynb", "1")
    values = runner.read_values(path, [])
    before = runner.inputs(path, values)
    assert runner.inputs(path, values) == before

    def changed(values=values):
        return {k for k, v in runner.inputs(path, values).items() if v != before[k]}

    assert changed(values | {"seed": 8}) == {"parameters"}
    (project / "library" / "models").mkdir(parents=True)
    with monkeypatch.context() as patch:
        patch.setattr(runner, "PACKAGE", project / "library")
        assert changed() == {"lib"}
    assert runner.PACKAGE == Path(__main__.__file__).parent  # all wings
    (project / "constraints.txt").write_text("numpy==2.0\n", encoding="utf-8")
    assert changed() == {"constraints"}
    (project / "constraints.txt").unlink()
    extra = project / "extra"
    extra.mkdir()
    (extra / "mussel.csv").write_text("1", encoding="utf-8")
    monkeypatch.setenv("GENCAP_DATA", str(extra))
    assert changed() == {"data"}
    monkeypatch.delenv("GENCAP_DATA")
    saved = nbformat.read(path, 4)
    saved.cells[-1].outputs = [nbformat.v4.new_output("stream", text="other outputs are no other source")]
    nbformat.write(saved, path)
    assert changed() == set()
    saved.cells[0].source = "# Another title"
    nbformat.write(saved, path)
    assert changed() == {"notebook"}
    notebook(path, "2")
    assert changed() == {"notebook", "code"}
    notebook(path, "1")
    assert changed() == set()
    monkeypatch.setattr(runner, "versions", lambda: {"python": "3.11.0", "numpy": "1.99.old", "processor": "another"})
    assert runner.inputs(path, values)["packages"] == {"python": "3.11.0", "numpy": "1.99.old"}
    assert changed() == {"packages"}


def test_after_another_version_of_a_package_a_notebook_is_run_again(project, monkeypatch):
    path = notebook(project / "notebooks" / "00_a.ipynb", "1")
    values = runner.read_values(path, [])
    assert fake_run(path, values, "quick", "reproduced", changed=()) == runner.finished(path, values)
    before = runner.versions()
    monkeypatch.setattr(runner, "versions", lambda: before | {"numpy": "1.99.old"})
    assert runner.finished(path, values) is None and runner.last_record(path)["stale"]


def test_a_copy_elsewhere_is_another_notebook(project):
    first = notebook(project / "notebooks" / "00_a.ipynb", "1")
    places = [project / "other" / "00_a.ipynb", project / "notebooks" / "solutions" / "00_a.ipynb"]
    folders = {runner.run_folder(path, {}) for path in (first, *places)}
    assert len(folders) == 3 and {f.parent.parent for f in folders} == {project / "build" / "runs"}
    assert runner.run_folder(first, {}) == runner.run_folder("notebooks/00_a.ipynb", {})
    assert runner.run_folder(first, {}).parent.name == "00_a"
    dots = {runner.run_folder(project / "notebooks" / name, {}).parent.parent for name in ("...ipynb", "..ipynb")}
    assert dots == {project / "build" / "runs"}
    values = runner.read_values(first, [])
    record = fake_run(first, values, "quick", "refuted", changed=())
    copy = fake_run(notebook(places[0], "2"), values, "quick", "reproduced", changed=(), started="2026-01-02")
    assert runner.last_record(first) == record | {"stale": False}
    assert runner.last_record(places[0])["claims"] == copy["claims"] != record["claims"]


# Interruption -------------------------------------------------------------------------------------------------------


@pytest.fixture
def start():
    """A function that starts the command line in a process of its own; what still runs at the end is interrupted."""
    started = []

    def go(*words, encoding="utf-8"):
        command = [sys.executable, "-m", "gencap", *map(str, words)]
        started.append(subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding=encoding))
        return started[-1]

    yield go
    for child in started:
        if child.poll() is None:
            child.send_signal(signal.SIGINT)
        child.communicate(timeout=30)


def wait_for(condition, seconds=60):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it never came"
        time.sleep(0.05)


def alive(pid):
    """Whether a process runs (a zombie does not)."""
    try:
        os.kill(pid, 0)
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except (ProcessLookupError, FileNotFoundError):
        return False


@pytest.mark.skipif(os.name != "posix", reason="SIGINT from outside exists on POSIX only")
def test_an_interrupted_run_leaves_nothing_half_written_and_no_process(project, start):
    slow = "import os, pathlib, time\npathlib.Path('pid').write_text(str(os.getpid()))\ntime.sleep(60)"
    path = notebook(project / "notebooks" / "00_a.ipynb", slow, parameters="")
    child, pid = start("run", path), project / "notebooks" / "pid"
    wait_for(lambda: pid.exists() and pid.read_text())
    child.send_signal(signal.SIGINT)
    assert child.wait(40) == 130
    assert "interrupted" in child.stderr.read()
    assert list(runner.run_folder(path, {}).iterdir()) == []
    wait_for(lambda: not alive(int(pid.read_text())), 20)


@pytest.mark.skipif(os.name != "posix", reason="SIGKILL exists on POSIX only")
def test_when_all_is_killed_its_notebooks_and_their_kernels_end(project, start):
    slow = "import os, pathlib, time\npathlib.Path('pid').write_text(f'{os.getppid()} {os.getpid()}')\ntime.sleep(60)"
    path = notebook(project / "notebooks" / "00_a.ipynb", slow, parameters="")
    child, pids = start("all"), project / "notebooks" / "pid"
    wait_for(lambda: pids.exists() and " " in pids.read_text())
    child.kill()
    for pid in map(int, pids.read_text().split()):
        wait_for(lambda pid=pid: not alive(pid), 20)
    wait_for(lambda: list(runner.run_folder(path, {}).iterdir()) == [], 20)


@pytest.mark.skipif(os.name != "posix", reason="SIGINT from outside exists on POSIX only")
def test_after_an_interruption_only_the_unfinished_notebooks_run_again(project, start):
    quick = "import pathlib\nwith pathlib.Path('runs').open('a') as f: f.write('quick ')"
    slow = "import pathlib, time\npathlib.Path('started').touch()\nif not pathlib.Path('go').exists(): time.sleep(60)"
    folder = project / "notebooks"
    first = notebook(folder / "00_quick.ipynb", quick, parameters="")
    notebook(folder / "01_slow.ipynb", slow, parameters="")
    child = start("all")
    wait_for(lambda: (runner.run_folder(first, {}) / "run.json").exists() and (folder / "started").exists())
    child.send_signal(signal.SIGINT)
    assert child.wait(40) == 130
    assert runner.read_record(runner.run_folder(folder / "01_slow.ipynb", {}) / "run.json") is None
    (folder / "go").touch()
    page = runner.run_folder(first, {}) / "00_quick.html"
    page.unlink(missing_ok=True)  # as if the interruption had come before it
    child = start("all")
    _, errors = child.communicate(timeout=120)
    assert child.returncode == 0
    assert "00_quick.ipynb: unchanged" in errors and "01_slow.ipynb: unchanged" not in errors
    assert (folder / "runs").read_text() == "quick " and page.exists()


# All of them, and the report ----------------------------------------------------------------------------------------


def test_a_failing_notebook_is_in_report_and_exit_status_and_the_others_run(project, capsys):
    folder = project / "notebooks"
    notebook(
        folder / "00_good.ipynb",
        "import gencap as gc\ngc.claims.check('cc-075', 4, holds=4 > 4, reasons=[(4 < 5, 'noise <b> & more')])",
        "import matplotlib.pyplot as plt\nplt.plot([1, 2]);",
    )
    notebook(folder / "01_bad.ipynb", "int('x')")
    (folder / "02_broken.ipynb").write_text("{", encoding="utf-8")
    notebook(folder / "scratch.ipynb", "1")  # not one of the numbered ones
    assert __main__.main(["all", "--jobs", "2"]) == 1
    said = capsys.readouterr()
    assert "3 notebooks, 2 failed; quick run: 1 refuted, " in said.out
    assert "01_bad.ipynb: cell 2 raised ValueError: invalid literal" in said.err
    assert "02_broken.ipynb cannot be read as a notebook" in said.err
    page = (project / "build" / "report.html").read_text(encoding="utf-8")
    assert "<script" not in page and "src='http" not in page and "href='http" not in page
    assert "invalid literal for int()" in page and "noise &lt;b&gt; &amp; more" in page
    assert "data:image/jpeg;base64," in page and ">refuted</span>" in page
    assert all(f"<td class=id>{id}<" in page for id in claims.published())
    links = {part.split("'")[0] for part in page.split("href='")[1:]}
    assert len(links) == 2 and all((project / "build" / link).is_file() for link in links)
    kept = json.loads((project / "build" / "claims.json").read_text(encoding="utf-8"))
    assert [set(c) for c in kept] == [{"id", "published", "obtained", "verdict", "reason", "notebook", "profile"}]
    assert (kept[0]["notebook"], kept[0]["profile"], kept[0]["obtained"]) == ("00_good.ipynb", "quick", 4)
    (project / "build" / "report.html").unlink()
    assert __main__.main(["report"]) == 0
    page = (project / "build" / "report.html").read_text(encoding="utf-8")
    assert "invalid literal" in page and "changed since" not in page
    (project / "constraints.txt").write_text("numpy==2.0\n", encoding="utf-8")
    assert __main__.main(["report"]) == 0
    assert "changed since" in (project / "build" / "report.html").read_text(encoding="utf-8")


def test_dying_kernels_and_odd_letters_end_no_other_notebook(project, start, monkeypatch):
    folder = project / "notebooks"
    dies = """\
import os
import gencap as gc
gc.claims.check("cc-075", 5, holds=True)
with open(os.environ["GENCAP_CLAIMS_FILE"], "a") as file: file.write('{"id": "cc-0')
os._exit(3)"""
    notebook(folder / "00_dies.ipynb", "print('hours of work')", dies, "1", parameters="")
    shutil.copy(notebook(folder / "x.ipynb", "raise ValueError('Größe → fehlt')"), folder / "01_umlaut.ipynb")
    monkeypatch.setenv("PYTHONIOENCODING", "cp1252")
    child = start("all", encoding="cp1252")
    out, errors = child.communicate(timeout=120)
    assert child.returncode == 1 and "2 notebooks, 2 failed" in out, errors
    assert "notebooks/00_dies.ipynb: cell 2 raised DeadKernelError: Kernel died" in errors
    assert "notebooks/01_umlaut.ipynb: cell 2 raised ValueError: Größe \\u2192 fehlt" in errors
    kept = runner.run_folder(folder / "00_dies.ipynb", {})
    assert sorted(f.name for f in kept.iterdir()) == ["failed-00_dies.html", "failed-00_dies.ipynb", "run.json"]
    record = runner.read_record(kept / "run.json")
    assert [c["id"] for c in record["claims"]] == ["cc-075"]  # a line that was not written to its end is none
    error = record["error"]
    assert (error["cell"], error["name"], error["traceback"]) == (
        2,
        "DeadKernelError",
        "exit status of the kernel: 3",
    )
    cells = nbformat.read(kept / "failed-00_dies.ipynb", 4).cells
    assert cells[1].outputs[0].text == "hours of work\n" and cells[2].outputs[0].ename == "DeadKernelError"
    page = (project / "build" / "report.html").read_text(encoding="utf-8")
    assert "DeadKernelError" in page and "Größe → fehlt" in page


def test_before_anything_starts_the_build_folder_is_tried(project, monkeypatch, capsys):
    notebook(project / "notebooks" / "00_a.ipynb", "1")
    (project / "build").mkdir()
    (project / "build" / "runs").write_text("in the way", encoding="utf-8")
    monkeypatch.setattr(subprocess, "Popen", None)  # nothing can be started
    assert __main__.main(["all"]) == 1
    said = capsys.readouterr().err
    assert str(project / "build" / "runs") in said and said.count("\n") == 1


@pytest.mark.skipif(os.name != "posix", reason="a shell script")
def test_a_pipe_that_stays_open_does_not_keep_all(project, monkeypatch):
    """Something that a child started holds the pipe; the child itself has ended."""
    script = project / "python"
    script.write_text("#!/bin/sh\nsleep 100 &\necho $! > pid\necho said\nexit 3\n", encoding="utf-8")
    script.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(script))
    paths = [notebook(project / "notebooks" / f"0{n}_a.ipynb", "1", parameters="") for n in range(2)]
    start = time.monotonic()
    try:
        records = runner.run_all(paths, jobs=1)
    finally:
        os.kill(int((project / "pid").read_text()), signal.SIGTERM)
    assert time.monotonic() - start < 30
    assert [(r["error"]["name"], r["error"]["message"], r["error"]["traceback"]) for r in records] == [
        ("exit status", 3, "said")
    ] * 2
    assert runner.last_record(paths[0])["error"] == records[0]["error"]  # the report of later shows it as well


def test_whatever_goes_wrong_with_one_notebook_the_others_go_on(project, monkeypatch):
    paths = [notebook(project / "notebooks" / f"0{n}_a.ipynb", "1") for n in range(2)]
    values = runner.read_values(paths[1], [])
    second = fake_run(paths[1], values, "quick", "reproduced", changed=())

    def finished(path, values):
        if path == paths[0]:
            raise PermissionError("locked")
        return second

    monkeypatch.setattr(runner, "finished", finished)
    first, other = runner.run_all(paths)
    assert first["error"]["name"] == "PermissionError" and other == second


def test_a_child_that_dies_is_a_failure(project, monkeypatch):
    path = notebook(project / "notebooks" / "00_a.ipynb", "1", parameters="")
    monkeypatch.setattr(sys, "executable", "false" if os.name == "posix" else "where")
    (record,) = runner.run_all([path], jobs=1)
    assert record["status"] == "failed" and record["error"]["message"] == 1
    assert "exit status" in report.write([record]).read_text(encoding="utf-8")


def fake_run(path, values, profile, verdict, changed=("profile",), started="2026-01-01T00:00:00+00:00"):
    """A finished run's record without running it."""
    claim = {"id": "cc-075", "published": "5", "obtained": None, "verdict": verdict, "reason": "", "held": ""}
    claim["rule"] = runner._rule("cc-075")
    record = {
        "notebook": path.relative_to(runner.project_folder()).as_posix(),
        "parameters": values,
        "changed": list(changed),
        "profile": profile,
        "status": "done",
        "started": started,
        "seconds": 1.5,
        "seed": 7,
        "versions": runner.versions(),
        "inputs": runner.inputs(path, values),
        "error": None,
        "claims": [claim],
    }
    folder = runner.run_folder(path, values)
    runner.write_json(folder / "run.json", record)
    shutil.copy(path, folder)
    return record


def test_full_profile_records_are_merged_while_their_inputs_are_unchanged(project):
    path = notebook(project / "notebooks" / "00_a.ipynb", "1")
    quick, full = (runner.read_values(path, [("profile", p)]) for p in ("quick", "full"))
    record = fake_run(path, quick, "quick", "needs full profile", changed=())
    fake_run(path, full | {"seed": 8}, "full", "refuted", changed=("profile", "seed"))  # other parameters: no
    assert [(c["verdict"], c["profile"]) for c in runner.gather_claims([record])] == [("needs full profile", "quick")]
    fake_run(path, full, "full", "reproduced")
    assert [(c["verdict"], c["profile"]) for c in runner.gather_claims([record])] == [("reproduced", "full")]
    notebook(path, "2")
    assert [c["verdict"] for c in runner.gather_claims([record])] == ["needs full profile"]


def cells(page, id):
    """The texts of a claim's cells for the quick and for the full run in the report."""
    row = page.split(f"<td class=id>{id}<")[1].split("</tr>")[0]
    return [re.sub("<[^>]*>", " ", cell).split() for cell in row.split("<td>")[4:6]]


def test_a_kept_full_run_is_shown_beside_the_quick_one_and_says_when_it_is_older(project, capsys, monkeypatch):
    first, second = (notebook(project / "notebooks" / f"0{n}_a.ipynb", "1") for n in range(2))
    page, file = project / "build" / "report.html", project / "data" / "results" / "full.json"
    quick, full = (runner.read_values(first, [("profile", p)]) for p in ("quick", "full"))
    record = fake_run(first, quick, "quick", "needs full profile", changed=())

    def reported():
        assert __main__.main(["report"]) == 0
        return capsys.readouterr().out, cells(page.read_text(encoding="utf-8"), "cc-075")

    assert __main__.main(["keep"]) == 0 and "nothing new" in capsys.readouterr().out
    all_but_one = len(claims.published()) - 1
    said, shown = reported()
    assert shown == [["needs", "full", "profile"], []]
    assert f"quick run: 1 needs full profile, {all_but_one} not yet\nfull run: {all_but_one + 1} not yet" in said

    fake_run(first, full, "full", "refuted")
    fake_run(first, full | {"seed": 8}, "full", "reproduced", changed=("profile", "seed"))
    assert __main__.main(["keep"]) == 0 and "kept: 00_a.ipynb\n" in capsys.readouterr().out
    kept = json.loads(file.read_text(encoding="utf-8"))
    assert list(kept) == ["00_a.ipynb"] and str(project) not in file.read_text(encoding="utf-8")
    assert kept["00_a.ipynb"]["versions"]["processor"] and kept["00_a.ipynb"]["seconds"] == 1.5
    shutil.rmtree(project / "build")  # another machine: the quick run only
    fake_run(first, quick, "quick", "needs full profile", changed=())
    said, shown = reported()
    assert shown == [["needs", "full", "profile"], ["refuted", "2026-01-01"]]
    assert f"full run of 2026-01-01: 1 refuted, {all_but_one} not yet\n" in said
    assert [c["verdict"] for c in runner.gather_claims([record])] == ["needs full profile"]  # of these runs alone

    older = ["refuted", "2026-01-01", "older", "than", "the", "code"]
    row = claims.published()["cc-075"]
    with monkeypatch.context() as patch:
        patch.setitem(row, "share", "10")  # decided by another rule now
        assert reported()[1][1] == older
    assert reported()[1][1] == older[:1] + ["2026-01-01"]
    nb = nbformat.read(first, 4)
    nb.cells[0].source = "# Another title"
    nbformat.write(nb, first)
    assert reported()[1][1] == older[:1] + ["2026-01-01"]
    notebook(first, "2")
    said, shown = reported()
    assert shown == [["needs", "full", "profile", "older", "than", "the", "code"], older]
    assert "not yet; of an older state: 1 needs full profile\nfull run" in said and said.endswith("state: 1 refuted\n")

    # Kept notebook by notebook: another one joins, an earlier run changes nothing, a later one replaces.
    fake_run(second, full, "full", "in part")
    fake_run(first, full, "full", "reproduced", started="2025-12-31T00:00:00+00:00")
    assert runner.keep() == ["01_a.ipynb"]
    fake_run(first, full, "full", "reproduced", started="2026-01-02T00:00:00+00:00")
    assert runner.keep() == ["00_a.ipynb"] and runner.keep() == []
    kept = json.loads(file.read_text(encoding="utf-8"))
    assert {name: r["claims"][0]["verdict"] for name, r in kept.items()} == {
        "00_a.ipynb": "reproduced",
        "01_a.ipynb": "in part",
    }
    assert reported()[1][1] == ["reproduced", "2026-01-02"]
    second.unlink()
    runner.keep()
    assert list(json.loads(file.read_text(encoding="utf-8"))) == ["00_a.ipynb"]


def test_keeping_a_record_makes_no_run_stale(project, monkeypatch):
    (project / "embedded" / "results").mkdir(parents=True)
    (project / "embedded" / "table.csv").write_text("1", encoding="utf-8")
    monkeypatch.setattr(runner, "data_path", lambda name="": project / "embedded" / name)
    path = notebook(project / "notebooks" / "00_a.ipynb", "1")
    before = runner.inputs(path, {})
    (project / "embedded" / "results" / "full.json").write_text("{}", encoding="utf-8")
    assert runner.inputs(path, {}) == before
    (project / "embedded" / "table.csv").write_text("2", encoding="utf-8")
    assert {k for k, v in runner.inputs(path, {}).items() if v != before[k]} == {"data"}


def test_records_of_another_ledger_or_form_do_not_stop_the_report(project):
    path = notebook(project / "notebooks" / "00_a.ipynb", "1")
    values = runner.read_values(path, [])
    record = fake_run(path, values, "quick", "reproduced", changed=())
    gone = record["claims"][0] | {"id": "left-the-ledger"}
    assert [c["id"] for c in runner.gather_claims([record | {"claims": [gone, *record["claims"]]}])] == ["cc-075"]
    for n, broken in enumerate(([1], {"status": "done"}, record | {"status": "failed"}, record | {"claims": [{}]})):
        runner.write_json(runner.run_folder(path, values | {"seed": n}) / "run.json", broken)
        assert runner.last_record(path) == record | {"stale": False}
    path.write_text("{", encoding="utf-8")
    assert runner.last_record(path)["stale"]
    assert runner.finished(path, values) is None


def test_a_dangling_link_in_the_data_folder_is_no_input(project, monkeypatch):
    (project / "data").mkdir()
    (project / "data" / "link").symlink_to(project / "nowhere")
    monkeypatch.setenv("GENCAP_DATA", str(project / "data"))
    path = notebook(project / "notebooks" / "00_a.ipynb", "1")
    assert set(runner.inputs(path, {})) >= {"data"}


def test_data_lists_every_known_file(capsys):
    assert __main__.main(["data"]) == 0
    output = capsys.readouterr().out
    assert all(row.name in output for row in datasets.registry()) and "embedded" in output
