"""The command line: python -m gencap, or gencap."""

import _thread
import argparse
import os
import re
import signal
import sys
import threading
from pathlib import Path

from gencap import __version__
from gencap.resources import require
from gencap.run import runner

NEEDED = "nbformat PIL ipykernel jinja2 math_core nbclient nbconvert papermill".split()


def main(words=None):
    """Run one command; return the exit status: 0 done, 1 a notebook failed, 2 not accepted, 130 interrupted."""
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell may have started us with it ignored
    for stream in (sys.stdout, sys.stderr):  # a code page that lacks a letter is no reason to end
        stream.reconfigure(errors="backslashreplace")
    parser = argparse.ArgumentParser("gencap", description="Run the notebooks of gencap and gather their results.")
    parser.add_argument("--version", action="version", version=f"gencap {__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for command, options in COMMANDS.items():
        added = commands.add_parser(command.__name__.strip("_"), help=command.__doc__)
        added.set_defaults(command=command)
        for name, settings in options.items():
            added.add_argument(name, **settings)
        added._negative_number_matcher = re.compile("-[^-]")  # a value may begin like -3e-1, -0.5,-1 or -inf
    arguments = vars(parser.parse_args(words))
    command = arguments.pop("command")
    try:
        if command is not _data:
            require("notebooks", *NEEDED)
        return command(**arguments) or 0
    # OSError: a full disk, a lost file
    except (runner.ParameterError, runner.NotebookFailed, ImportError, OSError) as error:
        print(f"gencap: {error}", file=sys.stderr)
        return 2 if isinstance(error, runner.ParameterError) else 1
    except KeyboardInterrupt:
        print("gencap: interrupted; finished notebooks are kept, the same command goes on from there", file=sys.stderr)
        return 130


def _run(notebook, p, help_notebook, child):
    """Run one notebook, with other parameters if wanted."""
    if help_notebook:
        return print(*runner.parameters(notebook).values() or ["no parameters"], sep="\n")
    values = runner.read_values(notebook, p)
    if child:
        # Nothing comes on stdin: it ends when run_all closes it or is killed.
        threading.Thread(target=lambda: os.read(0, 1) or _thread.interrupt_main(), daemon=True).start()
        return runner.run(notebook, values, lambda done, total: print(f"cell {done}/{total}", flush=True)) and 0
    with runner.CellBar(notebook) as bar:
        record = runner.run(notebook, values, bar.show)
    for claim in record["claims"]:
        print(f"{claim['id']}: {claim['verdict']}" + (f" ({claim['reason']})" if claim["reason"] else ""))
    print(f"{record['seconds']:.1f} s, in {runner.run_folder(notebook.resolve(), values)}")


def _all(profile, jobs):
    """Run every notebook and write build/report.html and build/claims.json."""
    from gencap.run import report

    records = runner.run_all(runner.project_notebooks(), profile, jobs and int(jobs))
    runner.write_json(runner.project_folder() / "build" / "claims.json", runner.gather_claims(records))
    failed = [r for r in records if r["status"] == "failed"]
    for record in failed:
        print(runner.NotebookFailed(record), file=sys.stderr)
    page = report.write(records)
    print(f"{len(records)} notebooks, {len(failed)} failed; {report.summary()}\n{page}")
    return int(bool(failed))


def _save(notebooks):
    """Execute notebooks in place and save them with their outputs (for authors)."""
    from gencap.run.saving import save_executed

    list(map(runner.read_notebook, notebooks))  # all are read before one is run
    for path in notebooks:
        try:
            print(f"{path}: {save_executed(path) / 1000:.0f} KB", flush=True)
        except Exception as error:  # a cell, the kernel, an output that cannot be saved
            print(f"gencap: {path} is left as it was: {error}", file=sys.stderr)
            return 1


def _keep():
    """Put finished full-profile runs into data/results/full.json (for authors)."""
    print("kept:", ", ".join(runner.keep()) or "nothing new (gencap all --profile full makes the runs)")


def _own(data, second, clusters, jobs, **options):
    """Look for clusters in a table, matrix or graph of your own: a page, tables and figures in build/own/NAME."""
    from gencap.run.own import investigate

    try:
        found = investigate(data, second, n_clusters=clusters, n_jobs=int(jobs or 2), **options)
    except (ValueError, TypeError) as error:
        raise runner.ParameterError(str(error)) from error
    print(found.verdict, *(f"note: {warning}" for warning in found.warnings), found.write(), sep="\n")


def _report():
    """Write build/report.html from the runs there are."""
    from gencap.run import report

    records = list(filter(None, map(runner.last_record, runner.project_notebooks())))
    print(report.write(records), report.summary(), sep="\n")


def _book(no_run):
    """Make build/book: the lessons and all that belongs to them as pages that need no network."""
    require("book", "sphinx", "myst_nb", "numpydoc", "sphinx_book_theme")
    from gencap.run import book

    said, problems = book.write(run=not no_run)
    print(*problems, *said, sep="\n")
    return int(bool(problems))


def _data():
    """Say what is embedded, what is in GENCAP_DATA, and where the public can get the rest."""
    from gencap import datasets

    for row in datasets.registry():
        print(f"{row.name:24} {row.state:14} {row.path or f'{row.file}, from {row.home}'}")


def _course(what, names, out, cell_seconds, memory, jobs):
    """Release assignments, grade submissions, or write pages of feedback (for lecturers)."""
    require("course", "nbgrader")
    from gencap.run import course

    if not (cell_seconds >= 1 and 0.5 <= memory < 1e6):
        given = f"{cell_seconds:g} and {memory:g} are given"
        raise runner.ParameterError(f"--cell-seconds, --memory: {given}; accepted are 1 or more s, 0.5 or more GB")
    jobs = int(jobs or 2)
    settings = (out, cell_seconds, memory, jobs)
    if what == "feedback":
        return print(*course.feedback(names, out, jobs), sep="\n")
    if what == "release":
        lines, passed = zip(*course.release(names, *settings), strict=True)
        print(*lines, sep="\n")
        return int(not all(passed))
    if not names:
        raise runner.ParameterError("the folder of submissions is missing: gencap course grade FOLDER [NAME ...]")
    grades, totals, new, others = course.grade(names[0], names[1:], *settings)
    short = totals.rename(columns=lambda name: name.split("_")[0])
    print(short.to_string(na_rep="", float_format="{:g}".format))
    print("; ".join(f"{what} {count}" for what, count in grades["what_happened"].value_counts().items()))
    broken = grades[grades["what_happened"] == "broken file"].drop_duplicates(["student", "assignment"])
    lines = [f"broken file: {row.student}, {row.assignment}: {row.message}" for row in broken.itertuples()]
    lines += [f"not graded, no such assignment: {path}" for path in others]
    if wait := grades["points"].isna().sum():
        lines += [f"texts without points yet: {wait}, in {Path(out) / 'by_hand.csv'}"]
    print(*lines, f"{new} graded now; {Path(out) / 'grades.csv'}, {Path(out) / 'totals.csv'}", sep="\n")


JOBS = {"choices": [*map(str, range(1, 33))], "metavar": "N", "help": "how many at a time (default: 2)"}
COMMANDS = {  # what a command does is its docstring
    _run: {
        "notebook": {"type": Path},
        "-p": {"nargs": 2, "action": "append", "default": [], "metavar": ("NAME", "VALUE")},
        "--help-notebook": {"action": "store_true", "help": "list the notebook's parameters"},
        "--child": {"action": "store_true", "help": argparse.SUPPRESS},  # of run_all: progress as lines
    },
    _all: {
        "--profile": {"choices": ("quick", "full"), "default": "quick"},
        "--jobs": JOBS,
    },
    _own: {
        "data": {"help": "table, similarity or distance matrix, or list of edges"},
        "second": {"nargs": "?", "help": "the same objects measured again"},
        "--kind": {"choices": ("table", "similarity", "distance", "edges"), "help": "default: looks at the file"},
        "--protocol": {
            "choices": ("interleave", "random_split"),
            "default": "interleave",
            "help": "two views of a table",
        },
        "--models": {"nargs": "+", "help": "of correlation, kmeans, pairwise, normalized_cut, ratio_cut"},
        "--measures": {"nargs": "+", "default": ("correlation", "euclidean"), "help": "for tables; also path, ..."},
        "--clusters": {"nargs": "+", "type": int, "metavar": "K", "help": "numbers to offer (default: 2 to 7)"},
        "--profile": {
            "choices": ("quick", "full"),
            "default": "quick",
            "help": "full: hours; all objects, three nulls",
        },
        "--name": {"help": "of the folder (default: the file's)"},
        "--seed": {"type": int, "default": 0},
        "--jobs": JOBS,
    },
    _save: {"notebooks": {"type": Path, "nargs": "+", "metavar": "notebook"}},
    _course: {
        "what": {"choices": ("release", "grade", "feedback")},
        "names": {"nargs": "*", "metavar": "NAME", "help": "assignments (default: all); grade: FOLDER comes first"},
        "--out": {"default": "build/course", "metavar": "FOLDER"},
        "--cell-seconds": {"type": float, "default": 60, "metavar": "S", "help": "limit of a cell (default: 60)"},
        "--memory": {"type": float, "default": 2, "metavar": "GB", "help": "limit of a cell (default: 2; on Linux)"},
        "--jobs": JOBS,
    },
    _book: {"--no-run": {"action": "store_true", "help": "show pictures of explorers that have no page yet"}},
    **dict.fromkeys((_keep, _report, _data), {}),
}


if __name__ == "__main__":
    sys.exit(main())
