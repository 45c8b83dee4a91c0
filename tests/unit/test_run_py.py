"""run.py: what it says when it cannot start, and when it installs; no real environment is made here."""

import importlib.util
import json
import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def run(tmp_path, monkeypatch):
    """run.py as a module that works in a copy of the project's two files."""
    spec = importlib.util.spec_from_file_location("run", ROOT / "run.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    for name in ("pyproject.toml", "constraints.txt"):
        (tmp_path / name).write_bytes((ROOT / name).read_bytes())
    monkeypatch.setattr(module, "ROOT", str(tmp_path))
    monkeypatch.setattr(module, "VENV", str(tmp_path / ".venv"))
    monkeypatch.setattr(module, "STAMP", str(tmp_path / ".venv" / "gencap-installed"))
    monkeypatch.delenv("CONDA_PREFIX", raising=False)
    return module


@pytest.fixture
def calls(run, monkeypatch):
    """The commands that set_up gives, carried out only as far as the files they leave."""
    given = []

    def check_call(command, **_):
        given.append(command)
        if "venv" in command:
            python = Path(run.venv_python())
            python.parent.mkdir(parents=True, exist_ok=True)
            python.touch()

    monkeypatch.setattr(run.subprocess, "check_call", check_call)
    return given


@pytest.mark.parametrize("version", [(2, 7, 18), (3, 10, 14)])
def test_a_python_that_is_too_old_gets_one_line(run, version):
    message = run.problem(version)
    assert "\n" not in message and "3.11" in message and "{}.{}".format(*version) in message
    assert run.problem((3, 11, 0, "final", 0)) is None and run.problem((4, 0)) is None


@pytest.mark.parametrize("missing", ["venv", "ensurepip"])
def test_a_missing_module_gets_one_line(run, missing, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, missing, None)
    assert run.main([]) == 1
    message = capsys.readouterr().err
    assert message.count("\n") == 1 and missing in message and "python3-venv" in message


def test_run_py_needs_nothing_but_the_standard_library():
    code = "import sys; sys.path[:] = [p for p in sys.path if 'site-packages' not in p]; import run"
    subprocess.run([sys.executable, "-S", "-c", code], cwd=ROOT, check=True)


def test_it_installs_once_and_again_when_an_input_changed(run, calls):
    python = run.set_up(["test"])
    assert python == run.venv_python() and [("venv" in c, "pip" in c) for c in calls] == [(True, False), (False, True)]
    install = calls[1]
    assert install[0] == python and ".[test]" in install and install[-2:] == ["--constraint", "constraints.txt"]
    run.set_up(["test"])
    assert len(calls) == 2
    for name in ("pyproject.toml", "constraints.txt"):
        with open(Path(run.ROOT) / name, "a") as stream:
            stream.write("# changed\n")
        before = len(calls)
        run.set_up(["test"])
        assert [("pip" in c) for c in calls[before:]] == [True]  # into the .venv that is there


@pytest.mark.parametrize("other", ["copied", "a moved {one}, über all"])
def test_a_checkout_in_another_place_gets_a_new_environment(run, calls, monkeypatch, tmp_path, capsys, other):
    (tmp_path / "first").mkdir()
    for name in ("pyproject.toml", "constraints.txt"):
        (tmp_path / name).rename(tmp_path / "first" / name)

    def stand(folder):
        monkeypatch.setattr(run, "ROOT", str(folder))
        monkeypatch.setattr(run, "VENV", str(folder / ".venv"))
        monkeypatch.setattr(run, "STAMP", str(folder / ".venv" / "gencap-installed"))

    stand(tmp_path / "first")
    run.set_up(["test", "bench"])
    if other == "copied":
        shutil.copytree(tmp_path / "first", tmp_path / other)
    else:
        (tmp_path / "first").rename(tmp_path / other)
    stand(tmp_path / other)
    calls.clear()
    assert Path(run.set_up(["test"])).is_relative_to(tmp_path / other)
    (*_, clear, made), install = calls
    assert (clear, made) == ("--clear", run.VENV) and install[0] == run.venv_python() and ".[bench,test]" in install
    assert "copied or moved" in capsys.readouterr().out
    run.set_up(["test"])
    assert len(calls) == 2
    if other == "copied":  # and the original is as it was; so it is by another name of the same folder
        stand(tmp_path / "first")
        run.set_up(["test"])
        (tmp_path / "link").symlink_to(tmp_path / "first")
        stand(tmp_path / "link")
        run.set_up(["test"])
        assert len(calls) == 2


@pytest.mark.parametrize("text", ["", "cut"])
def test_a_stamp_that_is_cut_off_counts_as_none(run, calls, text):
    run.set_up(["test"])
    Path(run.STAMP).write_text(text)
    calls.clear()
    run.set_up(["test"])
    assert len(calls) == 1 and Path(run.STAMP).read_text().split()[2:] == ["test"]


def test_the_data_folder_is_meant_from_where_the_command_is_given(run, monkeypatch, tmp_path):
    monkeypatch.setattr(run, "set_up", lambda extras: "python")
    monkeypatch.setattr(run, "hand_over", lambda command: os.environ.get("GENCAP_DATA"))
    monkeypatch.chdir(tmp_path)
    for given, wanted in (("mine", str(tmp_path / "mine")), (str(tmp_path), str(tmp_path)), ("", "")):
        monkeypatch.setenv("GENCAP_DATA", given)
        assert run.main(["data"]) == wanted


def test_more_extras_stay_installed(run, calls):
    run.set_up(["test"])
    run.set_up(["test", "bench"])
    assert ".[bench,test]" in calls[-1]
    before = len(calls)
    run.set_up(["test"])
    assert len(calls) == before


def test_an_installation_that_failed_is_done_again(run, calls, monkeypatch, capsys):
    works = run.subprocess.check_call

    def fails(command, **_):
        works(command)
        if "pip" in command:
            raise subprocess.CalledProcessError(1, command)

    monkeypatch.setattr(run.subprocess, "check_call", fails)
    assert run.main([]) == 1
    assert "setting up failed" in capsys.readouterr().err
    monkeypatch.setattr(run.subprocess, "check_call", works)
    before = len(calls)
    run.set_up(["test"])
    assert [("pip" in c) for c in calls[before:]] == [True]


def test_in_a_conda_environment_nothing_is_made(run, calls, monkeypatch):
    monkeypatch.setenv("CONDA_PREFIX", sys.prefix)
    assert run.set_up(["test"]) == sys.executable and calls == []


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ([], ["-m", "gencap", "all"]),
        (["run", "a.ipynb", "-p", "seed", "3"], ["-m", "gencap", "run", "a.ipynb", "-p", "seed", "3"]),
        (["bench"], ["-m", "pytest", "tests/benchmarks", "-s"]),
        (["lab"], ["-m", "jupyterlab", str(Path("notebooks", "00_start_here.ipynb"))]),
    ],
)
def test_words_are_handed_over(run, monkeypatch, words, expected):
    monkeypatch.setattr(run, "set_up", lambda extras: "python of " + ",".join(extras))
    monkeypatch.setattr(run, "hand_over", lambda command: command)
    python, *rest = run.main(words)
    assert rest == expected and python == "python of " + ("bench,notebooks,test" if words == ["bench"] else "notebooks")


def test_the_summary_counts_and_returns_the_worst_status(run, monkeypatch, capsys):
    (Path(run.ROOT) / "notebooks" / "solutions").mkdir(parents=True)
    both = [str(Path("notebooks", name)) for name in ("00_a.ipynb", "12_long.ipynb")]
    both.append(str(Path("notebooks", "solutions", "00_a.ipynb")))
    verdict = {"outputs": [{"text": ["cc-075: published 5 | reproduced"]}]}
    for file in both:
        (Path(run.ROOT) / file).write_text(json.dumps({"cells": [verdict] * ("12_" in file)}))
    environments, files = [], []

    def call(command, env, **_):
        environments.append(env)
        files.append([word for word in command if word.endswith(".ipynb")])
        file = Path(command[command.index("--junitxml") + 1])
        file.parent.mkdir(parents=True, exist_ok=True)
        if file.stem == "notebooks":
            record = {"id": "cc-075", "verdict": "reproduced"}
            Path(env["GENCAP_CLAIMS_FILE"]).write_text(json.dumps(record) + "\n")
            return 2  # it ended without a report
        numbers = 'tests="7" failures="1" errors="1" skipped="2" time="1.5"'
        file.write_text(f"<testsuites><testsuite {numbers}/></testsuites>")
        return 1

    monkeypatch.setenv("GENCAP_DATA", "somewhere")
    monkeypatch.setattr(run.subprocess, "call", call)
    assert run.test("python") == 2
    lines = capsys.readouterr().out.splitlines()
    assert lines[-1] == "6 passed, 4 failed, 4 skipped" and "pytest ended with 2" in lines[-3]
    assert ["GENCAP_DATA" in e for e in environments] == [True, False, True]
    monkeypatch.setattr(run.platform, "machine", lambda: "x86_64")
    assert run.test("python", ["--with-processor", "generic"]) == 2
    lines = capsys.readouterr().out.splitlines()
    assert lines[-1] == "9 passed, 6 failed, 6 skipped" and "==== generic: 0 compared outputs changed ====" in lines
    assert [e.get("NUMBA_CPU_NAME") for e in environments[3:]] == [None, None, None, "generic"]
    assert "==== verdicts that differ: 0 ====" in lines  # the long lesson was not run again
    assert "GENCAP_DATA" not in environments[-1] and files[3:] == [
        [],
        both,
        [],
        both[:1],
    ]  # short lessons alone once more
    monkeypatch.setattr(run.platform, "machine", lambda: "arm64")
    assert run.test("python", ["--processors", "generic", "nehalem"]) == 0 and len(environments) == 7
    assert "left out on arm64: generic, nehalem" in capsys.readouterr().out


@pytest.mark.parametrize("words", [["--processors", "nehalen"], ["--processors", "no*.ipynb"], ["unit"]])
def test_what_a_test_command_does_not_accept_is_said_before_anything_is_installed(run, calls, words, capsys):
    with pytest.raises(SystemExit):
        run.main(["test", *words])
    assert words[-1] in capsys.readouterr().err and calls == []


@pytest.mark.skipif(platform.machine().lower() not in ("x86_64", "amd64"), reason="settings of x86-64")
def test_a_setting_changes_what_numpy_openblas_and_numba_use(run, monkeypatch):
    monkeypatch.setenv("NPY_DISABLE_CPU_FEATURES", "")
    code = """
import json, numpy, threadpoolctl
from numba.core.registry import cpu_target
from numpy._core._multiarray_umath import __cpu_dispatch__ as names, __cpu_features__ as has
wide = [n for n in names if has[n] and n.startswith(("AVX", "FMA", "X86_V3", "X86_V4"))]
blas = {i["architecture"] for i in threadpoolctl.threadpool_info() if i["internal_api"] == "openblas"}
print(json.dumps([wide, sorted(blas), cpu_target.target_context.codegen().magic_tuple()[1:]]))
"""

    def used(setting):
        """What is in use under a setting; NumPy's warning of a name that it does not accept is an error."""
        environment = {**run.os.environ, **run.variables(sys.executable, setting)}
        found = subprocess.check_output([sys.executable, "-W", "error", "-c", code], env=environment, text=True)
        return json.loads(found)

    features, blas, target = used("nehalem")
    assert features == [] and blas in ([], ["Nehalem"]) and target == used("as-is")[2]
    features, blas, target = used("generic")
    assert target == ["generic", ""] and [features, blas] == used("as-is")[:2]


def test_changed_outputs_and_verdicts_are_listed(run, tmp_path, monkeypatch, capsys):
    """On a notebook as it is: nbval's own comparison, the sanitising and the tags decide what counts."""
    v4 = nbformat.v4

    def cell(source, saved, *tags):
        output = v4.new_output("stream", name="stdout", text=saved)
        return v4.new_code_cell(source, execution_count=1, outputs=[output], metadata={"tags": list(tags)})

    record = '{"id": "cc-075", "verdict": "refuted"}'
    check = f"import os; print({record!r}, file=open(os.environ['GENCAP_CLAIMS_FILE'], 'a'))"
    cells = [
        cell("print('same')", "same\n"),
        cell("print('twice 3 is', 2 * 3)", "twice 3 is 7\n"),
        cell("print('ran in 3.1 s')", "ran in 2.7 s\n"),
        cell(check + "; print('free')", "cc-075: published 5 | reproduced\n", "nbval-ignore-output"),
    ]
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    nbformat.write(v4.new_notebook(cells=cells, metadata={"kernelspec": kernel}), tmp_path / "a.ipynb")
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "nbval_sanitize.cfg").write_bytes((ROOT / "tests" / "nbval_sanitize.cfg").read_bytes())
    monkeypatch.chdir(tmp_path)
    assert run.test(sys.executable, ["--processors", "as-is", "a.ip*"]) == 1
    output = capsys.readouterr().out
    assert "==== as-is: 1 compared outputs changed ====\na.ipynb, Cell 1 (+ saved, - here)" in output
    assert "  + twice 3 is 7\n" in output and "  - twice 3 is 6\n" in output
    assert "==== verdicts that differ: 1 ====\ncc-075: saved reproduced; as-is refuted\n" in output
    assert output.endswith("3 passed, 1 failed, 0 skipped\n")


def test_a_verdict_differs_by_word_and_by_number_of_notebooks(run):
    same = {"a": ["refuted"], "b": ["in part (corrected)"]}
    assert run.differing({"saved": same, "generic": dict(same)}) == []
    assert run.differing({"saved": same, "generic": {"a": ["refuted", "refuted"]}, "nehalem": same}) == [
        "a: saved refuted; generic refuted, refuted; nehalem refuted",
        "b: saved in part (corrected); generic none; nehalem in part (corrected)",
    ]
