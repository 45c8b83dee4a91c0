#!/usr/bin/env python3
"""Sets gencap up in .venv and runs it: python3 run.py [test | lab | bench | any command of gencap].

Without a word it runs every notebook and writes build/report.html. Standard library only, and no syntax that an old
Python could not read, so that it can say which one is needed.
"""

import hashlib
import os
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.abspath(__file__))
VENV = os.path.join(ROOT, ".venv")
STAMP = os.path.join(VENV, "gencap-installed")
OLDEST = (3, 11)


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


def installed():
    """Return the stamp and the extras of the last complete installation."""
    try:
        with open(STAMP) as stream:
            return stream.read().split()
    except OSError:
        return [""]


def venv_python():
    """Return the Python of .venv."""
    return os.path.join(VENV, *(("Scripts", "python.exe") if os.name == "nt" else ("bin", "python")))


def set_up(extras):
    """Make or renew .venv where needed; return the Python to hand over to."""
    conda = os.environ.get("CONDA_PREFIX")
    if conda and os.path.realpath(conda) == os.path.realpath(sys.prefix):
        return sys.executable  # environment.yml has installed everything
    before, *had = installed()
    extras = sorted(set(extras) | set(had))
    if before == stamp(extras) and os.path.exists(venv_python()):
        return venv_python()
    start = time.time()
    if not os.path.exists(venv_python()):
        print("gencap: making .venv", flush=True)
        subprocess.check_call([sys.executable, "-m", "venv", "--clear", VENV])
    print("gencap: installing into .venv (about a minute, 900 MB)", flush=True)
    what = ["--editable", ".[{}]".format(",".join(extras)), "--constraint", "constraints.txt"]
    subprocess.check_call([venv_python(), "-m", "pip", "install", "--disable-pip-version-check"] + what, cwd=ROOT)
    with open(STAMP, "w") as stream:
        stream.write("\n".join([stamp(extras)] + extras))
    print("gencap: set up in {:.0f} s".format(time.time() - start), flush=True)
    return venv_python()


def hand_over(command):
    """Run a command in place of this one; return its exit status where that is not possible."""
    os.chdir(ROOT)
    os.environ["JUPYTER_PREFER_ENV_PATH"] = "1"  # a kernel of .venv, not one that the user installed elsewhere
    if os.name == "posix":  # Ctrl-C then reaches it directly; Windows has no such replacement
        os.execv(command[0], command)
    return subprocess.call(command)


def test(python):
    """Run the whole test suite; return the worst exit status."""
    two = ["-n", "2", "--dist", "loadfile", "-p", "no:benchmark"]
    notebooks = sorted(name for name in os.listdir(os.path.join(ROOT, "notebooks")) if name.endswith(".ipynb"))
    notebooks = [os.path.join("notebooks", name) for name in notebooks]
    suites = [
        ("unit", two + ["--doctest-modules", "tests/unit", "lib/gencap"]),
        ("notebooks", two + ["--nbval", "--nbval-sanitize-with", "tests/nbval_sanitize.cfg"] + notebooks),
        ("browser", ["-s", "-p", "no:benchmark", "tests/browser"]),
    ]
    environment = dict(os.environ, JUPYTER_PREFER_ENV_PATH="1", OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")
    results = []
    for name, words in suites:
        print("\n==== {} ====".format(name), flush=True)
        file = os.path.join(ROOT, "build", "tests", name + ".xml")
        if os.path.exists(file):
            os.remove(file)
        # The saved outputs are those of the embedded data, which everybody has.
        own = {k: v for k, v in environment.items() if (name, k) != ("notebooks", "GENCAP_DATA")}
        command = [python, "-m", "pytest", "--junitxml", file] + words
        results.append((name, subprocess.call(command, cwd=ROOT, env=own)) + counts(file))
    print("\n==== summary ====")
    for name, status, passed, failed, skipped, seconds in results:
        line = "{:10} {:5} passed {:4} failed {:4} skipped {:6.0f} s".format(name, passed, failed, skipped, seconds)
        print(line + ("" if status in (0, 1) else "  (pytest ended with {})".format(status)))
    print("{} passed, {} failed, {} skipped".format(*(sum(r[k] for r in results) for k in (2, 3, 4))), flush=True)
    return max(status for _, status, *_ in results)


def counts(file):
    """Return passed, failed (errors included), skipped and seconds of a JUnit file; zeros if there is none."""
    import xml.etree.ElementTree

    if not os.path.exists(file):
        return 0, 0, 0, 0.0
    suite = next(xml.etree.ElementTree.parse(file).getroot().iter("testsuite"))
    tests, failures, errors, skipped = (int(suite.get(k)) for k in ("tests", "failures", "errors", "skipped"))
    return tests - failures - errors - skipped, failures + errors, skipped, float(suite.get("time"))


def main(words):
    """Set up, then hand over; return the exit status."""
    message = problem()
    if message:
        print(message, file=sys.stderr)
        return 1
    word = words[0] if words else "all"
    try:
        python = set_up(["test", "bench"] if word == "bench" else ["test"])
    except subprocess.CalledProcessError as error:
        print("gencap: setting up failed: {}".format(error), file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("gencap: interrupted; the same command starts the set-up again", file=sys.stderr)
        return 130
    if word == "test":
        return test(python)
    if word == "lab":
        return hand_over([python, "-m", "jupyterlab", os.path.join("notebooks", "00_start_here.ipynb")] + words[1:])
    if word == "bench":
        return hand_over([python, "-m", "pytest", "tests/benchmarks", "-s"] + words[1:])
    return hand_over([python, "-m", "gencap"] + (words or ["all"]))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
