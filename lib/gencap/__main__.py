"""The command line: python -m gencap, or gencap."""

import _thread
import argparse
import contextlib
import os
import re
import signal
import sys
import threading
from pathlib import Path

from gencap import __version__
from gencap.run import report, runner


def main(words=None):
    """Run one command; return the exit status: 0 done, 1 a notebook failed, 2 not accepted, 130 interrupted."""
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell may have started us with it ignored
    for stream in (sys.stdout, sys.stderr):  # a code page that lacks a letter is no reason to end
        stream.reconfigure(errors="backslashreplace")
    arguments = _parser().parse_args(words)
    try:
        return arguments.command(arguments)
    except (runner.ParameterError, runner.NotebookFailed, OSError) as error:  # OSError: a full disk, a lost file
        print(f"gencap: {error}", file=sys.stderr)
        return 2 if isinstance(error, runner.ParameterError) else 1
    except KeyboardInterrupt:
        print("gencap: interrupted; finished notebooks are kept, the same command goes on from there", file=sys.stderr)
        return 130


def _parser():
    parser = argparse.ArgumentParser("gencap", description="Run the notebooks of gencap and gather their results.")
    parser.add_argument("--version", action="version", version=f"gencap {__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    one = commands.add_parser("run", help="run one notebook, with other parameters if wanted")
    one.add_argument("notebook", type=Path)
    one.add_argument("-p", nargs=2, action="append", default=[], metavar=("NAME", "VALUE"), dest="pairs")
    one._negative_number_matcher = re.compile("-[^-]")  # a value may begin like -3e-1, -0.5,-1 or -inf
    one.add_argument("--help-notebook", action="store_true", help="list the notebook's parameters")
    one.add_argument("--child", action="store_true", help=argparse.SUPPRESS)  # of run_all: progress as lines
    one.set_defaults(command=_run)

    every = commands.add_parser("all", help="run every notebook and write build/report.html and build/claims.json")
    every.add_argument("--profile", choices=("quick", "full"), default="quick")
    every.add_argument("--jobs", type=_positive, help="notebooks at a time (default: 2, or 1 on a single core)")
    every.set_defaults(command=_all)

    keep = commands.add_parser("save", help="execute notebooks in place and save them with their outputs (for authors)")
    keep.add_argument("notebooks", type=Path, nargs="+", metavar="notebook")
    keep.set_defaults(command=_save)

    kept = commands.add_parser("keep", help="put finished full-profile runs into data/results/full.json (for authors)")
    kept.set_defaults(command=_keep)

    commands.add_parser("report", help="write build/report.html from the runs there are").set_defaults(command=_report)
    commands.add_parser("data", help="what is embedded, cached, fetchable").set_defaults(command=_data)
    return parser


def _positive(text):
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not accepted; accepted are whole numbers >= 1")
    return int(text)


def _run(arguments):
    if arguments.help_notebook:
        print(*runner.parameters(arguments.notebook).values() or ["no parameters"], sep="\n")
        return 0
    values = runner.read_values(arguments.notebook, arguments.pairs)
    if arguments.child:
        threading.Thread(target=_end_with_parent, daemon=True).start()
        runner.run(arguments.notebook, values, _say_cell)
        return 0
    from tqdm import tqdm

    with tqdm(desc=arguments.notebook.stem, unit="cell", dynamic_ncols=True) as bar:

        def show(done, total):
            bar.total = total
            bar.update(done - bar.n)

        record = runner.run(arguments.notebook, values, show)
    for claim in record["claims"]:
        print(f"{claim['id']}: {claim['verdict']}" + (f" ({claim['reason']})" if claim["reason"] else ""))
    print(f"{record['seconds']:.1f} s, in {runner.run_folder(arguments.notebook.resolve(), values)}")
    return 0


def _end_with_parent():
    while os.read(0, 1):  # nothing comes; it ends when run_all closes it or is killed
        pass
    _thread.interrupt_main()


def _say_cell(done, total):
    with contextlib.suppress(OSError):  # nobody listens any more
        print(f"cell {done}/{total}", flush=True)


def _all(arguments):
    records = runner.run_all(runner.project_notebooks(), arguments.profile, arguments.jobs)
    runner.write_json(runner.project_folder() / "build" / "claims.json", runner.gather_claims(records))
    failed = [r for r in records if r["status"] == "failed"]
    for record in failed:
        print(runner.NotebookFailed(record), file=sys.stderr)
    page = report.write(records)
    print(f"{len(records)} notebooks, {len(failed)} failed; {report.summary()}\n{page}")
    return 1 if failed else 0


def _save(arguments):
    from nbclient.exceptions import CellExecutionError, DeadKernelError

    from gencap.run.saving import save_executed

    for path in arguments.notebooks:
        runner.read_notebook(path)
    for path in arguments.notebooks:
        try:
            size = save_executed(path)
        except (CellExecutionError, DeadKernelError, ValueError) as error:
            print(f"gencap: {path} is left as it was: {error}", file=sys.stderr)
            return 1
        print(f"{path}: {size / 1000:.0f} KB", flush=True)
    return 0


def _keep(arguments):
    print("kept:", ", ".join(runner.keep()) or "nothing new (gencap all --profile full makes the runs)")
    return 0


def _report(arguments):
    records = list(filter(None, map(runner.last_record, runner.project_notebooks())))
    print(report.write(records), report.summary(), sep="\n")
    return 0


def _data(arguments):
    from gencap import datasets

    for name, file, state, path in datasets.registry():
        print(f"{name:24} {state:12} {path or file}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
