#!/usr/bin/env python3
"""Sets gencap up in .venv and runs it: python3 run.py [test | lab | bench | any command of gencap].

Without a word it runs every notebook and writes build/report.html. Standard library only, and no syntax that an old
Python could not read, so that it can say which one is needed.
"""

import argparse
import glob
import hashlib
import json
import os
import platform
import re
import subprocess
import sys
import time
import xml.etree.ElementTree

ROOT = os.path.dirname(os.path.abspath(__file__))
VENV = os.path.join(ROOT, ".venv")
STAMP = os.path.join(VENV, "gencap-installed")
OLDEST = (3, 11)
# What a command needs beyond the library's own dependencies; any other one needs what notebooks need.
EXTRAS = {
    "bench": ["bench", "notebooks", "test"],
    "book": ["book", "notebooks"],
    "course": ["course", "notebooks"],
    "test": ["book", "course", "notebooks", "test"],
}
# Ways to compute here as on another processor: numba without this one's vector units, then OpenBLAS and NumPy without.
SETTINGS = ("as-is", "generic", "nehalem")
# The three lessons that take longest, a third of the time of all; --with-processor leaves them to --processors.
LONGEST = ("12_", "13_", "15_")
# NumPy warns of a name that it cannot switch off here, so it is asked for its own.
WIDE = """
from numpy._core._multiarray_umath import __cpu_dispatch__ as names, __cpu_features__ as has
print(*(n for n in names if has[n] and n.startswith(("AVX", "FMA", "F16C", "XOP", "X86_V3", "X86_V4"))))
"""


def problem(version=sys.version_info):
    """Return in one line what to install first, or None."""
    if tuple(version[:2]) < OLDEST:
        return "gencap needs Python {}.{} or newer, this is {}.{}: install one from python.org or your system.".format(
            *OLDEST + tuple(version[:2])
        )
    try:
        import ensurepip  # noqa: F401
        import venv  # noqa: F401
    except ImportError as error:
        return "gencap needs Python's {} module: install it (Debian, Ubuntu: apt install python3-venv).".format(
            error.name or "venv"
        )
    return None


def stamp(extras):
    """Return what an installation depends on, as a hash."""
    digest = hashlib.sha256(",".join(sorted(extras)).encode())
    for name in ("pyproject.toml", "constraints.txt"):
        with open(os.path.join(ROOT, name), "rb") as stream:
            digest.update(stream.read())
    return digest.hexdigest()


def place():
    """Return where the checkout is, as a hash: .venv holds its path in many files, and a copy's leads back to it."""
    return hashlib.sha256(os.fsencode(os.path.realpath(ROOT))).hexdigest()


def installed():
    """Return place, stamp and extras of the last complete installation."""
    try:
        with open(STAMP) as stream:
            where, before, *had = stream.read().split()
    except (OSError, ValueError):  # none, or cut off
        return "", "", []
    return where, before, had


def venv_python():
    """Return the Python of .venv."""
    return os.path.join(VENV, *(("Scripts", "python.exe") if os.name == "nt" else ("bin", "python")))


def set_up(extras):
    """Make or renew .venv where needed; return the Python to hand over to."""
    conda = os.environ.get("CONDA_PREFIX")
    if conda and os.path.realpath(conda) == os.path.realpath(sys.prefix):
        return sys.executable  # environment.yml has installed everything
    where, before, had = installed()
    extras = sorted(set(extras) | set(had))
    if (where, before) == (place(), stamp(extras)) and os.path.exists(venv_python()):
        return venv_python()
    start = time.time()
    moved = where not in ("", place())
    if moved:
        print("gencap: .venv was made in another place (this checkout was copied or moved), or long ago", flush=True)
    if moved or not os.path.exists(venv_python()):
        print("gencap: making .venv", flush=True)
        subprocess.check_call([sys.executable, "-m", "venv", "--clear", VENV])
    print("gencap: installing into .venv (about a minute, 900 MB)", flush=True)
    what = ["--editable", ".[{}]".format(",".join(extras)), "--constraint", "constraints.txt"]
    subprocess.check_call([venv_python(), "-m", "pip", "install", "--disable-pip-version-check"] + what, cwd=ROOT)
    with open(STAMP, "w") as stream:
        stream.write("\n".join([place(), stamp(extras)] + extras))
    print("gencap: set up in {:.0f} s".format(time.time() - start), flush=True)
    return venv_python()


def hand_over(command):
    """Run a command in place of this one; return its exit status where that is not possible."""
    os.chdir(ROOT)
    os.environ["JUPYTER_PREFER_ENV_PATH"] = "1"  # a kernel of .venv, not one that the user installed elsewhere
    if os.name == "posix":  # Ctrl-C then reaches it directly; Windows has no such replacement
        os.execv(command[0], command)
    return subprocess.call(command)


def read_test(words):
    """Return what a test command asks for: --processors (its words, or None) and --with-processor."""
    parser = argparse.ArgumentParser("run.py test", description="Tests the library, the saved notebooks, the browser.")
    parser.add_argument(
        "--processors",
        nargs="*",
        metavar="WORD",
        help="run only the notebooks, as other processors would: under these settings (of {}; default all), of these "
        "files (default all)".format(", ".join(SETTINGS)),
    )
    parser.add_argument("--with-processor", choices=SETTINGS[1:], help="most lessons under this setting as well")
    asked = parser.parse_args(words)
    for word in asked.processors or ():
        if word not in SETTINGS and not glob.glob(word):
            parser.error("{!r} is no file; settings are {}".format(word, ", ".join(SETTINGS)))
    return asked


def variables(python, setting):
    """Return the environment variables under which this processor computes as another one would."""
    if setting == "generic":
        return {"NUMBA_CPU_NAME": "generic"}  # numba keeps its machine code apart by this name
    if setting == "nehalem":
        free = {k: v for k, v in os.environ.items() if k != "NPY_DISABLE_CPU_FEATURES"}
        names = subprocess.check_output([python, "-c", WIDE], env=free, universal_newlines=True)
        return {"OPENBLAS_CORETYPE": "Nehalem", "NPY_DISABLE_CPU_FEATURES": names.strip()}
    return {}


def test(python, words=()):
    """Run the whole test suite, or the notebooks under other processors' settings; return the worst exit status."""
    asked = read_test(words)
    wanted = asked.processors or ()
    files = sorted(file for word in wanted if word not in SETTINGS for file in glob.glob(word))
    folders = (os.path.join(ROOT, "notebooks"), os.path.join(ROOT, "notebooks", "solutions"))
    files = files or [file for folder in folders for file in sorted(glob.glob(os.path.join(folder, "*.ipynb")))]
    files = [os.path.relpath(file, ROOT) for file in files]
    settings = [word for word in wanted if word in SETTINGS] or list(SETTINGS)
    two = ["-n", "2", "--dist", "loadfile", "-p", "no:benchmark"]
    nbval = ["--nbval", "--nbval-sanitize-with", "tests/nbval_sanitize.cfg"]
    notebooks = (two if len(files) > 1 else two[4:]) + nbval + files
    suites, again = [], notebooks
    if asked.processors is None:
        settings = [asked.with_processor] if asked.with_processor else []
        short = [file for file in files if not os.path.basename(file).startswith(LONGEST)]
        again = two + nbval + [file for file in short if os.path.dirname(file) == "notebooks"]
        suites += [("unit", two + ["--doctest-modules", "tests/unit", "lib/gencap"]), ("notebooks", notebooks)]
        suites += [("browser", ["-s", "-p", "no:benchmark", "tests/browser"])]
    if platform.machine().lower() not in ("x86_64", "amd64") and set(settings) - {"as-is"}:
        print("left out on {}: {}, which are settings of x86-64".format(platform.machine(), ", ".join(SETTINGS[1:])))
        settings = [setting for setting in settings if setting == "as-is"]
    listed = ["-q", "--tb=no", "--color=no", "-o", "verbosity_assertions=2"]  # both texts whole, and only in our list
    suites += [(setting, listed + again) for setting in settings]
    environment = dict(os.environ, JUPYTER_PREFER_ENV_PATH="1", OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")
    results, verdicts = [], {"saved": saved_verdicts(files)}
    for name, words in suites:
        other = variables(python, name)
        print("\n==== {} ====".format(" ".join([name] + sorted(map("=".join, other.items())))), flush=True)
        file, record = (os.path.join(ROOT, "build", "tests", name + ending) for ending in (".xml", ".jsonl"))
        for old in filter(os.path.exists, (file, record)):
            os.remove(old)
        os.makedirs(os.path.dirname(file), exist_ok=True)
        own = dict(environment, **other)
        if "--nbval" in words:
            own["GENCAP_CLAIMS_FILE"] = record
            own.pop("GENCAP_DATA", None)  # the saved outputs are those of the embedded data, which everybody has
        command = [python, "-m", "pytest", "--junitxml", file] + words
        results.append((name, subprocess.call(command, cwd=ROOT, env=own)) + counts(file))
        if "--nbval" in words:
            verdicts[name] = given_verdicts(record)
            for id, found in saved_verdicts([file for file in files if file not in words]).items():  # not run: as saved
                verdicts[name][id] = sorted(verdicts[name].get(id, []) + found)
    for setting in settings:
        found = changes(os.path.join(ROOT, "build", "tests", setting + ".xml"))
        print("\n==== {}: {} compared outputs changed ====".format(setting, len(found)))
        print("\n".join("{}\n{}\n".format(*change) for change in found))
    unequal = differing(verdicts)
    if len(verdicts) > 1:
        print("\n==== verdicts that differ: {} ====\n{}".format(len(unequal), "\n".join(unequal)))
    print("\n==== summary ====")
    for name, status, passed, failed, skipped, seconds in results:
        line = "{:10} {:5} passed {:4} failed {:4} skipped {:6.0f} s".format(name, passed, failed, skipped, seconds)
        print(line + ("" if status in (0, 1) else "  (pytest ended with {})".format(status)))
    print("{} passed, {} failed, {} skipped".format(*(sum(r[k] for r in results) for k in (2, 3, 4))), flush=True)
    return max([int(bool(unequal))] + [status for _, status, *_ in results])


def counts(file):
    """Return passed, failed (errors included), skipped and seconds of a JUnit file; zeros if there is none."""
    if not os.path.exists(file):
        return 0, 0, 0, 0.0
    suite = next(xml.etree.ElementTree.parse(file).getroot().iter("testsuite"))
    tests, failures, errors, skipped = (int(suite.get(k)) for k in ("tests", "failures", "errors", "skipped"))
    return tests - failures - errors - skipped, failures + errors, skipped, float(suite.get("time"))


def changes(file):
    """Return (where, nbval's words with both texts) of every failure in a JUnit file; it counts code cells from 0."""
    cases = xml.etree.ElementTree.parse(file).getroot().iter("testcase") if os.path.exists(file) else ()
    return [
        (
            "{}, {} (+ saved, - here)".format(case.get("classname"), case.get("name")),
            (bad.text or "").split("Traceback:")[-1].strip("\n"),
        )
        for case in cases
        for bad in case.findall("failure") + case.findall("error")
    ]


def saved_verdicts(files):
    """Return {claim: sorted verdicts} of the lines that gencap.claims.check has left in notebooks."""
    found = {}
    for file in files:
        with open(os.path.join(ROOT, file), encoding="utf-8") as stream:
            cells = json.load(stream)["cells"]
        texts = ["".join(output.get("text", ())) for cell in cells for output in cell.get("outputs", ())]
        for id, verdict in re.findall(r"^(\S+): published .* \| ([a-z() ]+)$", "\n".join(texts), re.M):
            found[id] = sorted(found.get(id, []) + [verdict])
    return found


def given_verdicts(file):
    """Return {claim: sorted verdicts} of the records that gencap.claims.check has written to a file."""
    found = {}
    if os.path.exists(file):
        with open(file, encoding="utf-8") as stream:
            for record in map(json.loads, stream):
                found[record["id"]] = sorted(found.get(record["id"], []) + [record["verdict"]])
    return found


def differing(verdicts):
    """Return a line for each claim whose verdict is not the same in every one of {name: {claim: verdicts}}."""
    rows = {
        id: [", ".join(found.get(id, ["none"])) for found in verdicts.values()]
        for id in sorted({id for found in verdicts.values() for id in found})
    }
    return [
        "{}: {}".format(id, "; ".join("{} {}".format(*pair) for pair in zip(verdicts, row, strict=True)))
        for id, row in rows.items()
        if len(set(row)) > 1
    ]


def main(words):
    """Set up, then hand over; return the exit status."""
    message = problem()
    if message:
        print(message, file=sys.stderr)
        return 1
    if os.environ.get("GENCAP_DATA"):  # as it is meant where the command is given; the work is done elsewhere
        os.environ["GENCAP_DATA"] = os.path.abspath(os.environ["GENCAP_DATA"])
    word = words[0] if words else "all"
    if word == "test":
        read_test(words[1:])  # what it does not accept is said before anything is installed
    try:
        python = set_up(EXTRAS.get(word, ["notebooks"]))
    except subprocess.CalledProcessError as error:
        print("gencap: setting up failed: {}".format(error), file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("gencap: interrupted; the same command starts the set-up again", file=sys.stderr)
        return 130
    if word == "test":
        return test(python, words[1:])
    if word == "lab":
        return hand_over([python, "-m", "jupyterlab", os.path.join("notebooks", "00_start_here.ipynb")] + words[1:])
    if word == "bench":
        return hand_over([python, "-m", "pytest", "tests/benchmarks", "-s"] + words[1:])
    return hand_over([python, "-m", "gencap"] + (words or ["all"]))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
