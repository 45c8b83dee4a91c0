"""Running notebooks: parameters checked before anything starts, results complete or absent, finished work not redone.

A run lives in build/runs/NAME/PARAMETERS-HASH/: the executed notebook, the same as HTML, and run.json, which is written
last and names the inputs (notebook source, lib/, data/, parameters, constraints.txt) by their hashes. A run is finished
while run.json says "done" and its inputs are still the same.

The parameters cell of a notebook holds one entry a line, `name: type = default  # unit or meaning`, whose comment may
end in a list, `one of: a, b`, or hold a range, `low..high`, and special values, `0 = the profile's size`.
"""

import ast
import contextlib
import difflib
import hashlib
import importlib.metadata
import io
import json
import math
import os
import platform
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
import tokenize
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from gencap import claims
from gencap.resources import data_path, project_folder, replacing

PACKAGES = ("gencap", "numpy", "scipy", "numba", "scikit-learn", "matplotlib", "papermill", "ipykernel")
# Two threads inside a sweep are slower than one, and notebooks run side by side.
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"), "1")
# A kernel "python3" that the user once installed may belong to another Python than this one.
THIS_PYTHON = {"JUPYTER_PREFER_ENV_PATH": "1"}

_NUMBER = r"[-+]?(?:\d+(?:\.\d+)?(?:[eE][-+]?\d+)?|inf)"


class ParameterError(ValueError):
    """A parameter that the notebook does not know or accept; the message names what it accepts."""


class NotebookFailed(RuntimeError):
    """A cell raised; `record` is what run.json holds."""

    def __init__(self, record):
        error = record["error"]
        super().__init__(f"{record['notebook']}: cell {error['cell']} raised {error['name']}: {error['message']}")
        self.record = record


# Parameters ---------------------------------------------------------------------------------------------------------


@dataclass
class Parameter:
    """One entry of the parameters cell."""

    name: str
    type: str
    default: object
    comment: str

    @property
    def options(self):
        found = re.search(r"one of:([^;]*)", self.comment)
        return [word.strip() for word in found[1].split(",")] if found else None

    @property
    def range(self):
        found = re.search(rf"({_NUMBER})\.\.({_NUMBER})", self.comment)
        return (float(found[1]), float(found[2])) if found else None

    def __str__(self):
        return f"{self.name} ({self.type}, default {self.default!r}" + (f"; {self.comment})" if self.comment else ")")

    def read(self, text):
        """Return the value that `text` stands for.

        Raises
        ------
        ParameterError
            Not of the type, or outside the list or range.
        """
        try:
            value = _convert(text, self.type)
        except ValueError:
            raise ParameterError(f"{self.name}: {text!r} is not of type {self.type}; accepted is {self}") from None
        if value != self.default:
            special = [float(v) for v in re.findall(rf"({_NUMBER}) (?:=|stands for) ", self.comment)]
            for each in value if isinstance(value, list) else [value]:
                outside = self.range and each not in special and not self.range[0] <= each <= self.range[1]
                if outside or (self.options and str(each) not in self.options):
                    raise ParameterError(f"{self.name}: {each!r} is not accepted; accepted is {self}")
        return value


def _convert(text, type):
    """Text to a value of an annotated type: bool, int, float, str or list[one of them]."""
    if type.startswith(("list", "tuple")):
        inner = (re.search(r"\[(\w+)", type) or [None, "float"])[1]
        return [_convert(word.strip().strip("'\""), inner) for word in text.strip("[]() ").rstrip(",").split(",")]
    if type == "bool":
        return bool(("false", "true").index(text.lower()))
    value = {"int": int, "float": float}.get(type, str)(text)
    if isinstance(value, float) and math.isnan(value):
        raise ValueError("NaN is no value")
    return value


def read_notebook(path):
    """Return the notebook as a dict.

    Raises
    ------
    ParameterError
        It cannot be read or is not a notebook.
    """
    try:
        notebook = json.loads(Path(path).read_text(encoding="utf-8"))
        for cell in notebook["cells"]:
            cell["cell_type"] + "".join(cell["source"])
        return notebook
    except (KeyError, OSError, ValueError, TypeError) as error:
        why = f"it has no {error}" if isinstance(error, KeyError) else error
        raise ParameterError(f"{path} cannot be read as a notebook: {why}") from None


def parameters(path):
    """Return the entries of the parameters cell: {name: Parameter}; without such a cell there are none."""
    tagged = [c for c in read_notebook(path)["cells"] if "parameters" in c.get("metadata", {}).get("tags", [])]
    source = "".join(tagged[0]["source"]) if tagged else ""
    found = {}
    try:
        comments = {
            token.start[0]: token.string.lstrip("# ").rstrip()
            for token in tokenize.generate_tokens(io.StringIO(source).readline)
            if token.type == tokenize.COMMENT
        }
        for node in ast.parse(source).body:
            if isinstance(node, ast.Assign | ast.AnnAssign):
                name = (node.targets[0] if isinstance(node, ast.Assign) else node.target).id
                default = ast.literal_eval(node.value)
                type_ = ast.unparse(node.annotation) if isinstance(node, ast.AnnAssign) else type(default).__name__
                found[name] = Parameter(name, type_, default, comments.get(node.end_lineno, ""))
    except (SyntaxError, tokenize.TokenError, ValueError, AttributeError) as error:
        raise ParameterError(f"{path}: the parameters cell is not of lines name: type = literal: {error}") from None
    return found


def read_values(path, pairs):
    """Return the values of all parameters of a notebook: the defaults, changed by (name, text) pairs.

    Raises
    ------
    ParameterError
        Unknown name, wrong type, or a value outside the list or range.
    """
    known = parameters(path)
    values = {name: p.default for name, p in known.items()}
    for name, text in pairs:
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            raise ParameterError(
                f"unknown parameter {name!r}"
                + (f" (did you mean {near[0]}?)" if near else "")
                + f"; accepted are {', '.join(map(str, known.values())) or 'none'}"
            )
        values[name] = known[name].read(text)
    return values


# One run ------------------------------------------------------------------------------------------------------------


def _hash(*parts):
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part if isinstance(part, bytes) else str(part).encode())
        digest.update(b"\0")
    return digest.hexdigest()[:16]


def _hash_files(folder, pattern):
    """Hash of a folder's files, but for those kept there about runs: keeping a record must not make a run stale."""
    files = {f.relative_to(folder): f for f in sorted(folder.rglob(pattern)) if f.is_file()}
    counted = [(name, f) for name, f in files.items() if not {"__pycache__", "results"} & set(name.parts)]
    return _hash(*(part for name, f in counted for part in (name.as_posix(), f.read_bytes())))


def inputs(path, values):
    """Return the hashes of everything that a run depends on; GENCAP_DATA counts by names and sizes."""
    cells = [(c["cell_type"], "".join(c["source"])) for c in read_notebook(path)["cells"]]
    extra = Path(os.environ.get("GENCAP_DATA") or os.devnull)
    sizes = sorted((f.name, f.stat().st_size) for f in extra.iterdir() if f.is_file()) if extra.is_dir() else []
    constraints = project_folder() / "constraints.txt"
    return {
        "notebook": _hash(json.dumps(cells)),
        "code": _hash(json.dumps([source for kind, source in cells if kind == "code"])),
        "lib": _hash_files(Path(__file__).parent, "*.py"),
        "data": _hash(_hash_files(data_path(""), "*"), sizes),
        "parameters": _hash(json.dumps(values, sort_keys=True)),
        "constraints": _hash(constraints.read_bytes() if constraints.is_file() else ""),
    }


def run_folder(path, values):
    """Return build/runs/NAME/PARAMETERS-HASH."""
    name = _hash(json.dumps(values, sort_keys=True))[:12]
    return project_folder() / "build" / "runs" / Path(path).stem / name


def finished(path, values):
    """Return the record of a finished run whose inputs did not change, else None."""
    record = read_record(run_folder(path, values) / "run.json")
    return record if record and record["status"] == "done" and _unchanged(path, record, values) else None


def _unchanged(path, record, values):
    """Whether the inputs in a record are those of now; a notebook that can no longer be read has changed."""
    with contextlib.suppress(ParameterError):
        return record["inputs"].items() <= inputs(path, values).items()
    return False


def read_record(path):
    """Return what a run.json holds, or None if there is none."""
    with contextlib.suppress(OSError, ValueError):
        record = json.loads(path.read_text(encoding="utf-8"))
        return record if isinstance(record, dict) and "status" in record else None


def versions():
    """Return {package: version} of what a result may depend on, with platform and processor."""
    found = {"python": platform.python_version()}
    for package in PACKAGES:
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            found[package] = importlib.metadata.version(package)
    model = None
    with contextlib.suppress(OSError):
        model = re.search(r"model name\s*: (.+)", Path("/proc/cpuinfo").read_text(encoding="utf-8"))
    processor = model[1] if model else platform.processor() or platform.machine()
    return found | {"platform": platform.platform(terse=True), "processor": processor}


def run(path, values, progress=None):
    """Execute a notebook with the given values of its parameters and keep the result.

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
        A cell raised. The notebook up to it is kept as failed-NAME.ipynb, and no other result stands beside it.
    """
    from nbconvert import HTMLExporter

    path, folder = Path(path).resolve(), run_folder(path, values)
    folder.mkdir(parents=True, exist_ok=True)
    defaults = {name: p.default for name, p in parameters(path).items()}
    changed = {k: v for k, v in values.items() if v != defaults[k]}
    record = {
        "notebook": path.name,
        "parameters": values,
        "changed": sorted(changed),
        "profile": values.get("profile", "quick"),
        "seed": values.get("seed", values.get("random_state")),
        "versions": versions(),
        "started": datetime.now(UTC).isoformat(timespec="seconds"),
        "inputs": inputs(path, values),
    }
    start = time.perf_counter()
    with tempfile.TemporaryDirectory(prefix=".running-", dir=folder, ignore_cleanup_errors=True) as temporary:
        claims_file, output = Path(temporary) / "claims.jsonl", Path(temporary) / path.name
        environment = os.environ | ONE_THREAD | THIS_PYTHON | {claims.RECORD_FILE: str(claims_file)}
        environment.pop(claims.OTHER_PARAMETERS, None)
        if changed.keys() - {"profile"}:
            environment[claims.OTHER_PARAMETERS] = ", ".join(f"{k}={v!r}" for k, v in changed.items())
        error = _execute(path, output, changed, environment, progress)
        lines = claims_file.read_text(encoding="utf-8").splitlines() if claims_file.exists() else []
        record |= {
            "seconds": round(time.perf_counter() - start, 2),
            "status": "failed" if error else "done",
            "error": error,
            "claims": list({c["id"]: c | {"rule": _rule(c["id"])} for c in map(json.loads, lines)}.values()),
        }
        page = HTMLExporter(template_name="lab").from_filename(str(output))[0]
        # run.json goes first and comes last: whatever stands in the folder without it counts as nothing.
        kept, other = (f"failed-{path.stem}", path.stem)[:: 1 if error else -1]
        for old in ("run.json", f"{other}.ipynb", f"{other}.html"):
            (folder / old).unlink(missing_ok=True)
        os.replace(output, folder / f"{kept}.ipynb")
        (folder / f"{kept}.html").write_text(page, encoding="utf-8")
        write_json(folder / "run.json", record)
    if error:
        raise NotebookFailed(record)
    return record


def _execute(path, output, changed, environment, progress):
    """Execute with papermill; return None, or which cell raised what."""
    import papermill
    from papermill.clientwrap import PapermillNotebookClient
    from papermill.engines import Engine, papermill_engines
    from papermill.log import logger

    class _WithEnvironment(Engine):
        """papermill's own engine, with an environment for the kernel and a call after every cell."""

        @classmethod
        def execute_managed_notebook(cls, nb_man, kernel_name, **_):
            complete, total = nb_man.cell_complete, len(nb_man.nb.cells)

            def cell_complete(cell, cell_index=None, **kwargs):
                complete(cell, cell_index=cell_index, **kwargs)
                if progress:
                    progress(cell_index + 1, total)

            nb_man.cell_complete = cell_complete
            quiet = {"log": logger, "extra_arguments": ["--IPKernelApp.log_level=40"]}
            return PapermillNotebookClient(nb_man, kernel_name=kernel_name, **quiet).execute(env=environment)

    papermill_engines.register("gencap", _WithEnvironment)
    logger.setLevel("ERROR")  # it warns of entries it cannot parse; ours are checked already
    try:
        papermill.execute_notebook(
            path,
            output,
            changed,
            engine_name="gencap",
            kernel_name="python3",
            language="python",
            progress_bar=False,
            cwd=path.parent,
        )
    except papermill.PapermillExecutionError as error:
        plain = re.sub(r"\x1b\[[0-9;]*m", "", "\n".join(error.traceback))
        return {"cell": error.exec_count, "name": error.ename, "message": error.evalue, "traceback": plain}


def write_json(path, value):
    """Write JSON under a temporary name first."""
    with replacing(path, "w") as stream:
        json.dump(value, stream, indent=1)


# All of them --------------------------------------------------------------------------------------------------------


def notebooks():
    """Return the paths of the teaching notebooks, in order."""
    return sorted((project_folder() / "notebooks").glob("[0-9][0-9]_*.ipynb"))


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
    """
    from tqdm import tqdm

    stop, lock, children = threading.Event(), threading.Lock(), []
    # A group of its own: Ctrl-C reaches a child once, through us.
    group = (
        {"start_new_session": True} if os.name == "posix" else {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP}
    )

    def lost(path, values, name, message, traceback=""):
        """The record of a notebook that could not leave one itself."""
        error = {"cell": "none", "name": name, "message": message, "traceback": traceback}
        record = {"notebook": path.name, "parameters": values, "changed": [], "profile": profile, "seed": None}
        return record | {"seconds": 0.0, "status": "failed", "error": error, "claims": []}

    def one(path):
        try:
            pairs = [("profile", profile)] if "profile" in parameters(path) else []
            values = read_values(path, pairs)
        except ParameterError as error:
            return lost(path, {}, "ParameterError", str(error))
        if record := finished(path, values):
            tqdm.write(f"{path.name}: unchanged since its last run", file=sys.stderr)
            return record
        result = run_folder(path, values) / "run.json"
        result.unlink(missing_ok=True)
        command = [sys.executable, "-m", "gencap", "run", str(path), "--cells"]
        command += [word for pair in pairs for word in ("-p", *pair)]
        with lock:
            if stop.is_set():
                return None
            child = subprocess.Popen(
                command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, encoding="utf-8", **group
            )
            children.append(child)
        said = []
        quiet = 0.1 if sys.stderr.isatty() else 30
        total = len(read_notebook(path)["cells"])
        with tqdm(total=total, desc=path.stem, unit="cell", mininterval=quiet, dynamic_ncols=True) as bar:
            for line in child.stdout:
                if found := re.fullmatch(r"cell (\d+)/(\d+)\n", line):
                    bar.total = int(found[2])
                    bar.update(int(found[1]) - bar.n)
                else:
                    said.append(line)
        child.wait()
        return read_record(result) or lost(path, values, "exit status", child.returncode, "".join(said).strip())

    with ThreadPoolExecutor(jobs or min(2, os.cpu_count() or 1)) as pool:
        try:
            return list(pool.map(one, map(Path, paths)))
        except BaseException:
            stop.set()
            with lock:
                for child in children:  # one that has ended gets no signal
                    child.send_signal(signal.SIGINT) if os.name == "posix" else child.terminate()
            raise


def gather_claims(records):
    """Return the records of build/claims.json: those of the given runs, with those of full-profile runs merged in.

    A full-profile run counts while its inputs are unchanged and nothing but the profile was changed; it replaces the
    quick profile's record of the same claim in the same notebook. What is shipped in data/results/ was run elsewhere
    and does not count here.
    """
    merged = {}
    for run_ in [r for r in records if r["status"] == "done"] + list(_full_runs(unchanged=True).values()):
        for claim in run_["claims"]:
            key = claim["id"], run_["notebook"]
            if claim["verdict"] != "needs data" or key not in merged:
                kept = {k: claim[k] for k in ("id", "published", "obtained", "verdict", "reason")}
                merged[key] = kept | {"notebook": run_["notebook"], "profile": run_["profile"]}
    # An older run may hold a claim that has left the ledger since.
    order = {id: n for n, id in enumerate(claims.published())}
    return sorted((c for c in merged.values() if c["id"] in order), key=lambda c: (order[c["id"]], c["notebook"]))


def _full_runs(unchanged=False):
    """The finished full-profile run in build/runs of each notebook: {notebook: record}."""
    here = {path.name: path for path in notebooks()}
    full = map(read_record, (project_folder() / "build" / "runs").glob("*/*/run.json"))
    full = [r for r in full if r and r["profile"] == "full" and r["changed"] == ["profile"] and r["status"] == "done"]
    full = [r for r in sorted(full, key=lambda r: r["started"]) if r["notebook"] in here]
    return {r["notebook"]: r for r in full if not unchanged or _unchanged(here[r["notebook"]], r, r["parameters"])}


def _rule(id):
    """Hash of a claim's row: a verdict by another rule is another verdict."""
    return _hash(json.dumps(claims.published().get(id)))


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
    before, here = _shipped(), {path.name for path in notebooks()}
    runs = _full_runs().items()
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
    runs, found = _shipped() | {name: _kept(r) for name, r in _full_runs(unchanged=True).items()}, []
    for path in notebooks():
        if run_ := runs.get(path.name):
            since = {"notebook": path.name, "profile": "full", "date": run_["started"][:10]}
            changed = not _unchanged(path, run_, {})
            found += [c | since | {"older": changed or c.get("rule") != _rule(c["id"])} for c in run_["claims"]]
    return [claim for claim in found if claim["id"] in claims.published()]


def last_record(path, profiles=("quick", "full")):
    """Return the record of the latest run of a notebook in these profiles with nothing else changed, or None.

    Its "stale" says whether its inputs have changed since.
    """
    found = (project_folder() / "build" / "runs" / Path(path).stem).glob("*/run.json")
    found = [r for r in map(read_record, found) if r and set(r["changed"]) <= {"profile"} and r["profile"] in profiles]
    latest = max(found, key=lambda r: r["started"], default=None)
    return latest and latest | {"stale": not _unchanged(path, latest, latest["parameters"])}
