"""Running notebooks: parameters checked before anything starts, results complete or absent, finished work not redone.

A run lives in build/runs/NAME/PARAMETERS-HASH/: the executed notebook and run.json, which names the inputs (notebook
source, lib/, data/, parameters, constraints.txt, package versions); the same as HTML comes after them, and nothing is
lost without it. A run is finished while run.json says "done", the notebook is there and the inputs are still the same.
NAME is that of the notebook; one outside notebooks/ has a hash of its place behind it.

A folder is a project of gencap's if a numbered notebook in its notebooks/ imports gencap.

The parameters cell of a notebook holds one entry a line, `name: type = default  # unit or meaning`, of type bool, int,
float, str or list[one of them]. Its comment may hold a list up to a semicolon or the end, `one of: a, b`, or a range,
`low..high`, and special values, `0 = the profile's size`. A str without list whose comment has the word file, folder,
path or table is a path: a relative one starts where the command was given.
"""

import ast
import contextlib
import difflib
import functools
import hashlib
import importlib.metadata
import json
import os
import platform
import re
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from tqdm import tqdm

from ..resources import PACKAGE, data_path, fingerprint, project_folder, replacing
from . import claims
from .execution import UTF8, execute

PACKAGES = ("gencap", "numpy", "scipy", "numba", "scikit-learn", "pandas", "matplotlib", "nbclient", "ipykernel")
_NUMBER = r"[-+]?(?:\d+(?:\.\d+)?(?:[eE][-+]?\d+)?|inf)"
_TYPE = r"(list\[)?(bool|int|float|str)(?(1)\])"
_READ = {"bool": lambda text: bool(("false", "true").index(text.lower())), "int": int, "float": float, "str": str}


class ParameterError(ValueError):
    """A parameter that the notebook does not know or accept; the message names what it accepts."""


class NotebookFailed(RuntimeError):
    """A cell raised, or the kernel died; `record` is what run.json holds."""

    def __init__(self, record):
        super().__init__(f"{record['notebook']}: {failure(record)}")
        self.record = record


def failure(record):
    """Return what went wrong in a run, in words."""
    error = record["error"]
    cell = "" if error["cell"] is None else f"cell {error['cell']} raised "
    return f"{cell}{error['name']}: {error['message']}"


@dataclass
class Parameter:
    """One entry of the parameters cell."""

    name: str
    type: str
    default: object
    comment: str

    def __post_init__(self):
        found = re.search(r"one of:([^;]*)", self.comment)
        self.options = found and [word.strip() for word in found[1].split(",")]
        found = None if "str" in self.type else re.search(rf"({_NUMBER})\.\.({_NUMBER})", self.comment)
        self.range = found and tuple(map(float, found.groups()))

    def __str__(self):
        return f"{self.name} ({self.type}, default {self.default!r}" + (f"; {self.comment})" if self.comment else ")")

    def read(self, text):
        """Return the value that `text` stands for.

        Raises
        ------
        ParameterError
            Not of the type, or outside the list or range.
        """
        several, one = re.fullmatch(_TYPE, self.type).groups()
        words = re.sub(r"^(?:\[(.*)\]|\((.*)\))$", r"\1\2", text.strip()).rstrip().removesuffix(",").split(",")
        words = [word.strip(" '\"") for word in words] if several else [text]
        # NaN is no value, and 1_0 is a slip.
        slips = one in ("int", "float") and re.search("_|nan", text, re.IGNORECASE)
        try:
            values = [_READ[one](word) for word in ([] if slips else words)]
        except ValueError:
            values = []
        if not values:
            raise ParameterError(f"{self.name}: {text!r} is not of type {self.type}; accepted is {self}")
        named = re.search(r"\b(file|folder|path|table)\b", self.comment)
        if self.type == "str" and named and not self.options and text and "://" not in text:
            return os.path.abspath(text)
        value = values if several else values[0]
        special = [float(v) for v in re.findall(rf"({_NUMBER}) (?:=|stands for) ", self.comment)]
        for each in values if value != self.default else []:
            outside = self.range and each not in special and not self.range[0] <= each <= self.range[1]
            if outside or (self.options and str(each) not in self.options):
                raise ParameterError(f"{self.name}: {each!r} is not accepted; accepted is {self}")
        return value


def read_notebook(path):
    """Return a notebook of format 4.

    Raises
    ------
    ParameterError
        It cannot be read or is not a notebook.
    """
    import nbformat

    try:
        notebook = json.loads(Path(path).read_text(encoding="utf-8-sig"))
        if notebook.get("nbformat") != 4:
            raise ValueError(f"it is of format {notebook.get('nbformat')}, accepted is 4; Jupyter saves it as that")
        nbformat.validate(notebook)
        return nbformat.v4.to_notebook(notebook)
    except Exception as error:  # no file, no JSON, another format: all end here
        raise ParameterError(f"{path} cannot be read as a notebook: {' '.join(str(error).split())[:300]}") from None


def parameters(path):
    """Return the entries of the parameters cell: {name: Parameter}; without such a cell there are none."""
    tagged = [c for c in read_notebook(path).cells if "parameters" in c.metadata.get("tags", [])]
    source = tagged[0].source if tagged else ""
    found, lines = {}, source.split("\n")
    try:
        for node in ast.parse(source).body:
            type_ = isinstance(node, ast.AnnAssign) and ast.unparse(node.annotation)
            if not re.fullmatch(_TYPE, type_ or ""):
                raise ValueError(f"see line {node.lineno}; types are bool, int, float, str, list[one of them]")
            comment = lines[node.end_lineno - 1].encode()[node.end_col_offset :].decode().lstrip("# ").rstrip()
            found[node.target.id] = Parameter(node.target.id, type_, ast.literal_eval(node.value), comment)
    except (SyntaxError, ValueError, AttributeError) as error:
        raise ParameterError(f"{path}: the parameters cell is not of lines name: type = literal: {error}") from None
    return found


def read_values(path, pairs):
    """Return the values of all parameters of a notebook: the defaults, changed by (name, text) pairs.

    Raises
    ------
    ParameterError
        Unknown or repeated name, wrong type, or a value outside the list or range.
    """
    known = parameters(path)
    values = {name: p.default for name, p in known.items()}
    names = [name for name, _ in pairs]
    for name, text in pairs:
        if names.count(name) > 1:
            raise ParameterError(f"{name} is given {names.count(name)} times; accepted is once")
        if name not in known:
            near = "".join(f" (did you mean {word}?)" for word in difflib.get_close_matches(name, known, n=1))
            accepted = ", ".join(map(str, known.values())) or "none"
            raise ParameterError(f"unknown parameter {name!r}{near}; accepted are {accepted}")
        values[name] = known[name].read(text)
    return values


def _files(folder, pattern):
    """Hashes of a folder's files, but for those kept there about runs: keeping a record must not make a run stale."""
    files = {f.relative_to(folder): f for f in sorted(folder.rglob(pattern)) if f.is_file()}
    counted = [(name, f) for name, f in files.items() if not {"__pycache__", "results"} & set(name.parts)]
    return [(name.as_posix(), hashlib.sha256(f.read_bytes()).hexdigest()) for name, f in counted]


def inputs(path, values):
    """Return the hashes and versions of everything that a run depends on; GENCAP_DATA counts by names and sizes."""
    cells = [(c.cell_type, c.source) for c in read_notebook(path).cells]
    extra = Path(os.environ.get("GENCAP_DATA") or os.devnull)
    sizes = sorted((f.name, f.stat().st_size) for f in extra.iterdir() if f.is_file()) if extra.is_dir() else []
    return {
        "notebook": fingerprint(cells),
        "code": fingerprint([source for kind, source in cells if kind == "code"]),
        "lib": fingerprint(_files(PACKAGE, "*.py")),
        "data": fingerprint([_files(data_path(""), "*"), sizes]),
        "parameters": fingerprint(values),
        "constraints": fingerprint([f.read_text(errors="replace") for f in project_folder().glob("constraints.txt")]),
        "packages": {name: versions()[name] for name in ("python", *PACKAGES) if name in versions()},
    }


def run_folder(path, values):
    """Return build/runs/NAME/PARAMETERS-HASH; a relative `path` starts in the project.

    A notebook outside notebooks/ has a hash of its place behind its name: a copy is another notebook.
    """
    project = project_folder()
    path = (project / path).resolve()
    inside = path.parent == (project / "notebooks").resolve() and path.stem.strip(".")
    name = path.stem if inside else f"{path.stem}-{fingerprint(path)[:8]}"
    return project / "build" / "runs" / name / fingerprint(values)[:12]


def kept_notebook(path, values, failed=False):
    """Return where a run leaves the executed notebook; its page stands beside it as .html."""
    return run_folder(path, values) / f"{'failed-' if failed else ''}{Path(path).stem}.ipynb"


def finished(path, values):
    """Return the record of a finished run whose results are there and whose inputs did not change, else None."""
    kept = kept_notebook(path, values)
    record = read_record(kept.with_name("run.json"))
    done = record and record["status"] == "done" and kept.is_file()
    return record if done and _unchanged(path, record, values) else None


def _unchanged(path, record, values):
    """Whether the inputs in a record are those of now; a notebook that can no longer be read has changed."""
    with contextlib.suppress(ParameterError):
        return record["inputs"].items() <= inputs(path, values).items()
    return False


# What every reader of a run.json may rely on; one of another version, or edited, that lacks some of it is no record.
_RECORD = {"notebook": str, "parameters": dict, "changed": list, "profile": object, "seed": object, "versions": dict}
_RECORD |= {"started": str, "inputs": dict, "seconds": float, "status": str, "claims": list}
_ERROR = {"cell": object, "name": str, "message": object, "traceback": str}
_CLAIM = {"id": str, "published": str, "obtained": object, "verdict": str, "reason": str}


def read_record(path):
    """Return what a run.json holds, or None if there is none that has all that is read of it."""
    with contextlib.suppress(OSError, ValueError, KeyError, TypeError, RecursionError):
        record = json.loads(path.read_text(encoding="utf-8"))
        whole = [(record, _RECORD), *((claim, _CLAIM) for claim in record["claims"])]
        whole += [(record["error"], _ERROR)] * (record["status"] != "done")
        "".join(record["changed"])  # a TypeError if they are no names
        if all(isinstance(part[key], kind) for part, keys in whole for key, kind in keys.items()):
            return record


@functools.cache
def versions():
    """Return {package: version} of what a result may depend on, with platform and processor."""
    from llvmlite.binding import get_host_cpu_name  # numba compiles for this one

    found = {"python": platform.python_version()}
    for package in PACKAGES:
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            found[package] = importlib.metadata.version(package)
    return found | {"platform": platform.platform(terse=True), "processor": get_host_cpu_name()}


def _begun(path, values, changed):
    """The part of a record that is known before the run."""
    project = project_folder().resolve()
    return {
        "notebook": path.relative_to(project).as_posix() if path.is_relative_to(project) else str(path),
        "parameters": values,
        "changed": sorted(changed),
        "profile": values.get("profile", "quick"),
        "seed": values.get("seed", values.get("random_state")),
        "versions": versions(),
        "started": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def run(path, values, progress=None):
    """Execute a notebook with the given values of its parameters and keep the result.

    Notebook and record are kept first. The page comes after them: if it cannot be made, a line on stderr says so.

    Parameters
    ----------
    path : path
    values : dict
        From `read_values`.
    progress : callable, optional
        Called with (cells done, cells in all).

    Returns
    -------
    dict
        The record that run.json holds.

    Raises
    ------
    NotebookFailed
        A cell raised, or the kernel died. The notebook up to it is kept as failed-NAME.ipynb, and no other result
        stands beside it.
    """
    from nbformat.v4 import new_code_cell, upgrade
    from papermill.translators import PythonTranslator

    path, folder = Path(path).resolve(), run_folder(Path(path).resolve(), values)
    notebook, known = read_notebook(path), parameters(path)
    changed = {k: v for k, v in values.items() if v != known[k].default}
    record = _begun(path, values, changed) | {"inputs": inputs(path, values)}
    if changed:  # into a cell of their own, as papermill does
        cells = [cell for cell in upgrade(notebook).cells if "injected-parameters" not in cell.metadata.get("tags", [])]
        place = next(n for n, cell in enumerate(cells, start=1) if "parameters" in cell.metadata.get("tags", []))
        cell = new_code_cell(PythonTranslator.codify(changed), metadata={"tags": ["injected-parameters"]})
        notebook.cells = [*cells[:place], cell, *cells[place:]]
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("explorer_*.html"):
        old.unlink()
    start, error = time.perf_counter(), None
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as temporary:
        claims_file = Path(temporary) / "claims.jsonl"
        others = ", ".join(f"{k}={v!r}" for k, v in changed.items()) if changed.keys() - {"profile"} else ""
        environment = os.environ | {claims.RECORD_FILE: str(claims_file), claims.OTHER_PARAMETERS: others}
        environment["GENCAP_EXPLORERS"] = str(folder)
        try:
            execute(notebook, path.parent, environment, progress)
        except Exception as raised:  # whatever ended the cells, what was computed is kept
            if not (error := getattr(raised, "record", None)):
                raise
        # Whole lines only: a kernel may die while it writes one.
        lines = claims_file.read_text(encoding="utf-8").split("\n")[:-1] if claims_file.exists() else []
    record |= {
        "seconds": round(time.perf_counter() - start, 2),
        "status": "failed" if error else "done",
        "error": error,
        "claims": list({c["id"]: c | {"rule": _rule(c["id"])} for c in map(json.loads, lines)}.values()),
    }
    # run.json goes first and comes last: whatever stands in the folder without it counts as nothing.
    results = [kept_notebook(path, values, failed) for failed in (False, True)]
    for old in (folder / "run.json", *results, *(kept.with_suffix(".html") for kept in results)):
        old.unlink(missing_ok=True)
    kept = results[bool(error)]
    write_notebook(kept, notebook)
    write_json(folder / "run.json", record)
    _write_page(kept, path.parent)
    if error:
        raise NotebookFailed(record)
    return record


def _write_page(kept, folder):
    """Write a kept notebook as HTML beside it, or say in a line why not; `folder` has the pictures it names."""
    from .saving import page

    try:
        with replacing(kept.with_suffix(".html")) as stream:
            stream.write(page(kept, folder).encode("utf-8", "replace"))
    except Exception as problem:
        why = " ".join(f"{type(problem).__name__}: {problem}".split())
        print(f"gencap: {kept.name} is kept without its page: {why[:300]}", file=sys.stderr)


def write_notebook(path, notebook):
    """Write a notebook of format 4 under a temporary name first.

    Half a surrogate pair that a cell printed is written as JSON escapes it.
    """
    from nbformat.v4 import writes

    with replacing(path) as stream:
        stream.write(writes(notebook).encode("utf-8", "backslashreplace"))


def write_json(path, value):
    """Write JSON under a temporary name first."""
    with replacing(path, "w") as stream:
        json.dump(value, stream, indent=1)


def notebooks():
    """Return the paths of the teaching notebooks, in order."""
    return sorted((project_folder() / "notebooks").glob("[0-9][0-9]_*.ipynb"))


def project_notebooks():
    """Return `notebooks()` of a folder that is a project of gencap's.

    Raises
    ------
    ParameterError
        There are none, or the folder is somebody else's.
    """
    paths, project = notebooks(), project_folder()
    if any(re.search(rb"(import|from) gencap\b", path.read_bytes()) for path in paths):
        return paths
    looked = f"looked for NN_name.ipynb, one of which imports gencap; {len(paths)} others are there"
    raise ParameterError(f"no notebooks of gencap in {project / 'notebooks'}: {looked}")


def run_all(paths, profile="quick", jobs=None):
    """Execute notebooks side by side, each in a process of its own, with a bar for each; finished ones are skipped.

    Parameters
    ----------
    paths : list of path
    profile : "quick" or "full"
    jobs : int, optional
        Notebooks at a time; by default two, or one on a single core.

    Returns
    -------
    list of dict
        The record of each notebook, in the order given; those that failed say so.

    Raises
    ------
    OSError
        build/ cannot be written; nothing was started.
    """
    runs, stop = project_folder() / "build" / "runs", threading.Event()
    runs.mkdir(parents=True, exist_ok=True)
    tempfile.TemporaryFile(dir=runs).close()  # an error here names the folder, and nothing was started

    def one(path):
        values = {}
        try:
            pairs = [("profile", profile)] if "profile" in parameters(path) else []
            values = read_values(path, pairs)
            return _run_apart(path, pairs, values, stop)
        except Exception as error:  # never ends the others
            return _lost(path, values, type(error).__name__, str(error)) | {"profile": profile}

    with ThreadPoolExecutor(jobs or min(2, os.cpu_count() or 1)) as pool:
        try:
            return list(pool.map(one, map(Path, paths)))
        except BaseException:
            stop.set()
            raise


class CellBar(tqdm):
    """A bar on stderr for a notebook's cells."""

    def __init__(self, path):
        quiet = 0.1 if sys.stderr.isatty() else 30
        super().__init__(desc=Path(path).stem, unit="cell", mininterval=quiet, dynamic_ncols=True)

    def show(self, done, total):
        """Move the bar."""
        self.total = total
        self.update(done - self.n)


def _run_apart(path, pairs, values, stop):
    """The record of a notebook, run in a process of its own unless it is finished; None if the event `stop` came."""
    kept = kept_notebook(path, values)
    result = kept.with_name("run.json")
    if record := finished(path, values):
        CellBar.write(f"{path.name}: unchanged since its last run", file=sys.stderr)
        if not kept.with_suffix(".html").exists():
            _write_page(kept, path.parent)
        return record
    result.unlink(missing_ok=True)
    command = [sys.executable, "-m", "gencap", "run", str(path), "--child"]
    command += [word for pair in pairs for word in ("-p", *pair)]
    # A group of its own, on POSIX and on Windows: Ctrl-C reaches a child once, through us.
    own = {"start_new_session": True, "creationflags": getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0)}
    own |= {"stdin": subprocess.PIPE, "stderr": subprocess.STDOUT, "env": os.environ | UTF8}
    with (
        tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder,
        open(Path(folder) / "said", "wb") as file,  # no pipe: something that the child started may hold that open
        CellBar(path) as bar,
    ):
        process = subprocess.Popen(command, stdout=file, **own)
        ended = False
        while not ended:
            ended = stop.wait(0.1) or process.poll() is not None
            said = Path(file.name).read_text(encoding="utf-8", errors="replace")
            for done, total in re.findall(r"^cell (\d+)/(\d+)\n", said, re.MULTILINE)[-1:]:
                bar.show(int(done), int(total))
        process.stdin.close()  # after an interruption it ends by that, as it does when we are killed
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(20)
        process.kill()
    if (record := read_record(result)) or stop.is_set():
        CellBar.write("".join(re.findall(".* is kept without its page.*\n", said)), sys.stderr, end="")
        return record
    said = re.sub(r"^cell \d+/\d+\n", "", said, flags=re.MULTILINE).strip()
    record = _lost(path, values, "exit status", process.returncode, said, inputs(path, values))
    with contextlib.suppress(OSError):
        write_json(result, record)
    return record


def _lost(path, values, name, message, traceback="", made_from=()):
    """The record of a notebook that could not leave one itself."""
    error = {"cell": None, "name": name, "message": message, "traceback": traceback}
    record = _begun(path.resolve(), values, []) | {"inputs": dict(made_from), "claims": [], "seconds": 0.0}
    return record | {"status": "failed", "error": error}


def gather_claims(records):
    """Return the records of build/claims.json: those of the given runs, with those of full-profile runs merged in.

    A full-profile run counts while its inputs are unchanged and nothing but the profile was changed; it replaces the
    quick profile's record of the same claim in the same notebook. What is shipped in data/results/ was run elsewhere
    and does not count here.
    """
    merged = {}
    unchanged = [record for record in _full_runs().values() if not record["stale"]]
    for run_ in [r for r in records if r["status"] == "done"] + unchanged:
        for claim in run_["claims"]:
            key = claim["id"], Path(run_["notebook"]).name
            if claim["verdict"] != "needs data" or key not in merged:
                kept = {k: claim[k] for k in ("id", "published", "obtained", "verdict", "reason")}
                merged[key] = kept | {"notebook": Path(run_["notebook"]).name, "profile": run_["profile"]}
    # An older run may hold a claim that has left the ledger since.
    order = {id: n for n, id in enumerate(claims.published())}
    return sorted((c for c in merged.values() if c["id"] in order), key=lambda c: (order[c["id"]], c["notebook"]))


def _full_runs():
    """The last full-profile run in build/runs of each notebook, if it was finished: {notebook: record}."""
    last = {path.name: last_record(path, ["full"]) for path in notebooks()}
    return {name: record for name, record in last.items() if record and record["status"] == "done"}


def _rule(id):
    """Hash of a claim's row: a verdict by another rule is another verdict."""
    return fingerprint(claims.published().get(id))


def _kept(record):
    """What is kept of a full-profile run: the claims, and what made them."""
    made = {key: record["inputs"].get(key) for key in ("lib", "code")}
    return {key: record[key] for key in ("started", "seconds", "versions", "claims")} | {"inputs": made}


def _shipped():
    """The kept records of full-profile runs: {notebook: record}."""
    for folder in (project_folder() / "data", data_path()):
        if (file := folder / "results" / "full.json").is_file():
            return json.loads(file.read_text(encoding="utf-8"))
    return {}


def keep():
    """Put the finished full-profile runs of build/runs into data/results/full.json; return their notebooks' names.

    The record of a notebook that was not run again stays as it is; that of a notebook that is gone goes.
    """
    before, here, runs = _shipped(), {path.name for path in project_notebooks()}, _full_runs().items()
    new = {name: _kept(r) for name, r in runs if r["started"] > before.get(name, {"started": ""})["started"]}
    records = {name: record for name, record in sorted((before | new).items()) if name in here}
    if records != before:
        write_json(project_folder() / "data" / "results" / "full.json", records)
    return sorted(new)


def full_claims():
    """Return the claims of the last full-profile runs: of those here while their inputs are unchanged, else shipped.

    Returns
    -------
    list of dict
        Like `gather_claims`, with "date" and "older": whether the library, the notebook's code or the claim's rule has
        changed since.
    """
    runs, found = _shipped() | {name: _kept(r) for name, r in _full_runs().items() if not r["stale"]}, []
    for path in notebooks():
        if run_ := runs.get(path.name):
            since = {"notebook": path.name, "date": run_["started"][:10], "versions": run_["versions"]}
            changed = not _unchanged(path, run_, {})
            found += [c | since | {"older": changed or c.get("rule") != _rule(c["id"])} for c in run_["claims"]]
    return [claim for claim in found if claim["id"] in claims.published()]


def last_record(path, profiles=("quick", "full")):
    """Return the record of the latest run of a notebook in these profiles with nothing else changed, or None.

    Its "stale" says whether its inputs have changed since.
    """
    records = filter(None, map(read_record, run_folder(path, {}).parent.glob("*/run.json")))
    found = [r for r in records if set(r["changed"]) <= {"profile"} and r["profile"] in profiles]
    latest = max(found, key=lambda r: r["started"], default=None)
    return latest and latest | {"stale": not _unchanged(path, latest, latest["parameters"])}
