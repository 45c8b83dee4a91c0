"""A course: assignments handed out, submissions graded on one machine, a page back to every student.

The source of an assignment is notebooks/assignments/NN_topic.ipynb in nbgrader's form. A submission is graded as it
stands in the source: every locked cell comes from there with its hidden tests, every solution cell from the student,
and a cell of the student's own stays behind the cell that it followed.

A cell has a limit of time and of memory (that of its kernel, which Linux alone bounds; elsewhere the time alone is).
What goes beyond the time is interrupted, and the kernel goes on. A kernel that does not answer the interrupt, that
ends, or that ran out of memory is replaced, and everything before is run again in the new one, except the cells that
were interrupted or ended a kernel. What a cell did the first time counts. A test that was not run has no points.

Points are nbgrader's: all if a test cell raises nothing, or the number that is its last value. Other than there what
a test writes to stderr costs nothing, a NumPy number is a number, and one outside of 0 to the most points is worth 0.
A text that somebody has to read is listed in by_hand.csv; the points and the comment that are written there count as
long as the text stays the same.
"""

import contextlib
import hashlib
import html
import json
import os
import re
import shutil
import tempfile
from collections import Counter
from copy import deepcopy
from pathlib import Path

import nbformat
import pandas as pd
from nbclient import NotebookClient
from nbclient.exceptions import CellTimeoutError, DeadKernelError
from nbformat import v4

from .. import __version__
from ..resources import fingerprint, map_with_bar, project_folder, replacing
from .execution import running_kernel
from .runner import ParameterError, read_notebook, write_notebook
from .saving import page

PATIENCE = 10  # seconds for a kernel to answer an interrupt, and for what it wrote to arrive
RESERVED = 2e9  # bytes of addresses that a kernel with numba and threads takes beyond the memory that it uses
MOST_WRITTEN = 500_000  # characters that are kept of what a cell writes, pictures included
STUB = "YOUR ANSWER HERE"  # what nbgrader puts in place of a text
NOT_RUN = ("not run", "")
COLUMNS = ["student", "assignment", "cell", "points", "max_points", "what_happened", "message"]


def assignments(names=()):
    """Return the sources of the assignments, or of those named: {name: path}.

    Raises
    ------
    ParameterError
        There is none, or none of a given name.
    """
    folder = project_folder() / "notebooks" / "assignments"
    known = {path.stem: path for path in sorted(folder.glob("[0-9][0-9]_*.ipynb"))}
    for name in names or [""] * (not known):
        if name not in known:
            raise ParameterError(f"{name!r} is no assignment; accepted are {', '.join(known) or f'none in {folder}'}")
    return {name: known[name] for name in names or known}


class _Client(NotebookClient):
    """A client that keeps the last reply, and no more of what a cell writes than somebody reads."""

    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **options)
        self.written, self.reply = Counter(), {}
        self.on_cell_executed = lambda execute_reply, **_: self.reply.update(execute_reply["content"])

    def output(self, outs, msg, display_id, cell_index):
        """Add an output to a cell; beyond the limit only the value that decides about points."""
        content, left = msg["content"], MOST_WRITTEN - self.written[cell_index]
        self.written[cell_index] += (size := len(str(content)))
        if size > left and msg["msg_type"] == "execute_result":
            content["data"] = {"text/plain": content["data"].get("text/plain", "")[:99]}
        elif size > left > 0 and "text" in content:
            content["text"] = content["text"][:left]
        elif size > left:
            return None
        with contextlib.suppress(nbformat.ValidationError):  # no output at all by the notebook's format
            return super().output(outs, msg, display_id, cell_index)


def _run(notebook, folder, seconds, memory):
    """Run the cells; return {index: (what happened, message)} of those that were run."""
    code = [n for n, cell in enumerate(notebook.cells) if cell.cell_type == "code" and cell.source.strip()]
    options = {"client": _Client, "allow_errors": True, "timeout_func": lambda _: seconds, "interrupt_on_timeout": True}
    options |= {"error_on_timeout": {"ename": "CellTimeoutError", "evalue": "", "traceback": []}}
    options |= {"iopub_timeout": PATIENCE, "store_widget_state": False, "shutdown_kernel": "immediate"}
    if os.name == "posix":
        limits = f"((r.RLIMIT_DATA, {memory * 1e9:.0f}), (r.RLIMIT_AS, {memory * 1e9 + RESERVED:.0f}))"
        line = f"(lambda r: [r.setrlimit(kind, (n, n)) for kind, n in {limits}])(__import__('resource'));"
        options["extra_arguments"] = [f"--IPKernelApp.exec_lines={line}"]
    slow, large = ("time", f"took longer than {seconds:g} s"), ("memory", f"needed more than {memory:g} GB")
    happened, lost = {}, set()  # lost: the cells that are not run again
    while len(happened) < len(code):
        index = None
        try:
            with running_kernel(notebook, folder, os.environ | {"GENCAP_DATA": ""}, **options) as client:
                for index in (n for n in code if n not in lost):
                    cell, reply = notebook.cells[index], client.reply
                    reply.clear()
                    client.execute_cell(deepcopy(cell) if index in happened else cell, index)
                    name, payload = reply.get("ename", ""), reply.get("payload", ())
                    if name.endswith("MemoryError") or any(part.get("source") == "ask_exit" for part in payload):
                        raise DeadKernelError(name)
                    if name == "CellTimeoutError":
                        lost.add(index)
                    raised = ("failed", f"raised {name}: {reply.get('evalue', '')[:500]}".rstrip(": "))
                    what = slow if index in lost else raised if name else ("passed", "") if reply else NOT_RUN
                    happened.setdefault(index, what)
        except (DeadKernelError, CellTimeoutError) as error:
            if index is None:
                raise
            lost.add(index)
            no_room = re.search("MemoryError|bad_alloc|[Cc]annot allocate", "\n".join([str(error), *error.last_words]))
            what = large if no_room else ("kernel died", "the kernel ended while this cell was run")
            happened.setdefault(index, slow if isinstance(error, CellTimeoutError) else what)
    return happened


def _name(cell):
    """The name by which nbgrader knows a cell, or None; a student's file may hold anything there."""
    mark = cell.metadata.get("nbgrader")
    return str(mark["grade_id"]) if isinstance(mark, dict) and mark.get("grade_id") else None


def _source(path):
    """The source of an assignment, and the most points of its graded cells: {name: points}."""
    from nbgrader.nbgraderformat import MetadataValidator
    from nbgrader.utils import is_grade

    notebook = read_notebook(path)
    try:
        MetadataValidator().validate_nb(notebook)
    except Exception as error:  # jsonschema's, nbgrader's
        raise ParameterError(f"{path.name}: {' '.join(str(error).split())[:300]}") from None
    return notebook, {_name(cell): float(cell.metadata.nbgrader["points"]) for cell in notebook.cells if is_grade(cell)}


def _restored(source, submission):
    """A submission in the order of the source, with the source's locked cells.

    Raises
    ------
    ParameterError
        It has no cell of the assignment, or one of them twice.
    """
    known = {_name(cell): cell for cell in source.cells if _name(cell)}
    found, own, last = {}, {}, None  # own: cells of the student's own, by the cell that they follow
    for cell in submission.cells:
        if (name := _name(cell)) in found:
            raise ParameterError(f"its cell {name} is there twice; delete the one that does not count")
        if name in known:
            found[name], last = cell.source, name
        else:
            own.setdefault(last, []).append(cell | {"metadata": {}})
    if not found:
        raise ParameterError("it has no cell of this assignment")
    cells = own.get(None, [])
    for name, cell in known.items():
        answer = {"source": found.get(name, "")} if cell.metadata.nbgrader["solution"] else {}
        cells += [cell | answer, *own.get(name, ())]
    cells = [nbformat.from_dict(deepcopy({k: v for k, v in cell.items() if k != "id"})) for cell in cells]
    for cell in cells:
        cell.update({"outputs": [], "execution_count": None} if cell.cell_type == "code" else {})
    return v4.new_notebook(cells=cells, nbformat_minor=4)


def _rows(notebook, happened, most, otherwise=NOT_RUN):
    """A row of grades.csv for each graded cell, without student and assignment; "answer" tells texts apart."""
    places, rows = {_name(cell): n for n, cell in enumerate(notebook.cells)}, []
    for name, points in most.items():
        what, message = happened.get(places.get(name), otherwise)
        row = {"cell": name, "points": 0.0, "max_points": points, "answer": ""}
        row |= {"what_happened": what, "message": message}
        cell = notebook.cells[places[name]] if name in places else None
        if cell and cell.metadata.nbgrader["solution"]:
            row |= {"points": None, "what_happened": "by hand", "message": "", "answer": fingerprint(cell.source)}
            if STUB in cell.source or not cell.source.strip():
                row |= {"points": 0.0, "what_happened": "not answered"}
        elif what == "passed":
            row["points"] = got = _points(cell, points)
            row["what_happened"] = "passed" if got == points else "in part" if got else "failed"
        rows.append(row)
    return rows


def _points(cell, most):
    """The points of a test cell that raised nothing."""
    shown = [output.data.get("text/plain", "") for output in cell.outputs if output.output_type == "execute_result"]
    number = re.fullmatch(r"(?:np\.\w+\()?([-+.\w]+?)\)?", shown[-1] if shown else "")
    with contextlib.suppress(ValueError, TypeError):
        return value if 0 <= (value := float(number[1])) <= most else 0.0
    return most if cell.execution_count else 0.0


def _grade(path, submission, kept, seconds, memory):
    """Grade a submission and keep it; False if it was graded before and nothing has changed since."""
    source, most = _source(path)
    notebook, happened, otherwise = v4.new_notebook(), {}, NOT_RUN
    try:
        files = [file for file in sorted(submission.parent.iterdir()) if file.is_file() and file.suffix != ".ipynb"]
        hashes = [(file.name, hashlib.sha256(file.read_bytes()).hexdigest()) for file in (submission, *files)]
        key = fingerprint([source, hashes, seconds, memory, __version__])
        with contextlib.suppress(OSError, ValueError, KeyError, AttributeError):
            if nbformat.read(kept, 4).metadata.gencap["key"] == key:
                return False
        notebook = _restored(source, read_notebook(submission))
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
            for file in files:
                shutil.copy(file, folder)
            happened = _run(notebook, folder, seconds, memory)
    except ParameterError as error:
        otherwise = ("broken file", str(error).removeprefix(f"{submission} "))
    except Exception as error:  # the machine's or ours: the others go on, and this one is graded again the next time
        otherwise, key = ("not run", f"{type(error).__name__}: {error}"), None
    notebook.metadata["gencap"] = {"key": key, "rows": _rows(notebook, happened, most, otherwise)}
    write_notebook(kept, notebook)
    return True


def _release(path, out, seconds, memory):
    """Release an assignment; return a line about it, and whether its source passed."""
    from nbgrader.preprocessors import ClearHiddenTests, ClearOutput, ClearSolutions, ComputeChecksums, LockCells

    source, most = _source(path)
    tried = _restored(source, source)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        happened = _run(tried, folder, seconds, memory)
    faults = [f"cell {n} {what} {message}".rstrip() for n, (what, message) in happened.items() if what != "passed"]
    rows = _rows(tried, happened, most)
    short = [row for row in rows if row["what_happened"] not in ("passed", "by hand")]
    faults += [f"{row['cell']} {row['points']:g} of {row['max_points']:g} points" for row in short]
    if faults:
        return f"{path.stem} is not released, its own solution does not pass: {'; '.join(faults)}", False
    for step in (ClearSolutions, ClearHiddenTests, LockCells, ClearOutput, ComputeChecksums):
        source, _ = step().preprocess(source, {})
    write_notebook(out / "release" / path.stem / path.name, source)
    by_hand = sum(row["max_points"] for row in rows if row["what_happened"] == "by hand")
    words = f", {by_hand:g} of them by hand" if by_hand else ""
    return f"{path.stem}: {len(most)} graded cells, {sum(most.values()):g} points{words}", True


def _feedback(kept, to, table):
    """Write the page of a graded notebook whose rows are given."""
    from nbgrader.preprocessors import ClearHiddenTests

    notebook, hidden, rows = nbformat.read(kept, 4), set(), table.set_index("cell").to_dict("index")
    for cell in notebook.cells:
        if (row := rows.get(_name(cell))) and cell.cell_type == "code":
            lines = cell.source.splitlines()
            ClearHiddenTests().preprocess_cell(cell, {}, 0)
            hidden |= {line.strip() for line in set(lines) - {*cell.source.splitlines()} if len(line.strip()) > 9}
            text = f"{row['points']:g} of {row['max_points']:g} points, {row['what_happened']}\n{row['message']}"
            cell.outputs = [v4.new_output("stream", text=text.strip())]
    got, most = table[["points", "max_points"]].sum()
    title = f"<h1>{kept.stem}, {html.escape(kept.parent.name)}: {got:g} of {most:g} points</h1>"
    shown = v4.new_output("display_data", {"text/html": title + table.to_html(index=False, na_rep="")})
    notebook.cells.insert(0, v4.new_code_cell(outputs=[shown], metadata={"transient": {"remove_source": True}}))
    for cell in notebook.cells:
        text = re.sub(r"\\u001b\[[0-9;]*m", "", json.dumps(cell.get("outputs", [])))
        for line in hidden:
            text = text.replace(json.dumps(line)[1:-1], "(hidden)").replace(html.escape(line), "(hidden)")
        cell.update({"outputs": nbformat.from_dict(json.loads(text))} if cell.cell_type == "code" else {})
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        for cells in (notebook.cells, notebook.cells[:1]):  # the table alone where a page cannot hold an output
            notebook.cells = cells
            write_notebook(Path(folder) / kept.name, notebook)
            with contextlib.suppress(Exception):
                shown = page(Path(folder) / kept.name, folder)
                break
    with replacing(to) as stream:
        stream.write(shown.encode("utf-8", "replace"))


def _sheets(out):
    """Write grades.csv, totals.csv and by_hand.csv of all that is graded; return the first two tables."""
    rows, path, keys = [], out / "by_hand.csv", ["student", "assignment", "cell", "answer"]
    for kept in sorted((out / "graded").glob("*/*.ipynb")):
        known = {"student": kept.parent.name, "assignment": kept.stem}
        rows += [known | row for row in nbformat.read(kept, 4).metadata.gencap["rows"]]
    if not rows:
        raise ParameterError(f"nothing graded in {out}; gencap course grade comes first")
    grades = pd.DataFrame(rows, columns=[*COLUMNS, "answer"])
    waiting = grades["what_happened"] == "by hand"
    hand = grades.loc[waiting, [*keys, "max_points"]].assign(points="", comment="").astype(str)
    try:
        if path.exists():  # what somebody has filled in stays, also for what is not here now
            given = pd.read_csv(path, dtype=str, keep_default_na=False, encoding="utf-8-sig")
            hand = pd.concat([given, hand]).drop_duplicates(keys)
        filled = grades.loc[waiting, keys].merge(hand, how="left", on=keys)
        grades.loc[waiting, "points"] = pd.to_numeric(filled["points"]).to_numpy()
        grades.loc[waiting, "message"] = filled["comment"].to_numpy()
    except (KeyError, ValueError) as error:
        raise ParameterError(f"{path}: {error}; accepted are its columns as they were written, and numbers") from None
    grades["points"] = grades["points"].astype(float)
    for row in grades[(grades["points"] < 0) | (grades["points"] > grades["max_points"])].itertuples():
        raise ParameterError(f"{path}: {row.student}, {row.cell}: {row.points:g} of {row.max_points:g} points")
    sums = grades.groupby(["student", "assignment"])[["points", "max_points"]].sum().unstack()
    totals = sums["points"].copy()
    totals.loc["out of"] = sums["max_points"].max()
    totals["total"] = totals.sum(axis=1)
    grades, line = grades[COLUMNS], grades["message"].str.split().str.join(" ")
    sheets = {"grades": grades.assign(message=line).set_index("student"), "totals": totals}
    for name, table in (sheets | {"by_hand": hand.set_index("student")}).items():
        with replacing(out / f"{name}.csv") as stream:
            stream.write(table.to_csv().encode("utf-8", "backslashreplace"))
    return grades, totals


def release(names=(), out="build/course", seconds=60, memory=2, jobs=2):
    """Write the students' version of assignments whose own solutions pass all their tests.

    Parameters
    ----------
    names : sequence of str
        Of assignments; all if empty.
    out : path-like
        It goes to out/release/NAME/NAME.ipynb.
    seconds, memory : float
        Limits of a cell: seconds, GB.
    jobs : int
        Assignments at a time.

    Returns
    -------
    list of (str, bool)
        A line about each assignment, and whether it was released.

    Raises
    ------
    ParameterError
        An unknown name, or a source that nbgrader does not accept.
    """
    paths = list(assignments(names).values())
    list(map(_source, paths))  # all are read before one is run
    calls = [(path, Path(out).resolve(), seconds, memory) for path in paths]
    return map_with_bar(_release, calls, desc="assignments", n_jobs=jobs)


def grade(folder, names=(), out="build/course", seconds=60, memory=2, jobs=2):
    """Grade submissions; those that were graded before and did not change since are not run again.

    Parameters
    ----------
    folder : path-like
        Holds STUDENT/NAME.ipynb, or STUDENT/NAME/NAME.ipynb as nbgrader collects them, also in submitted/. Files that
        lie beside a notebook lie beside it when it is run.
    names, out, seconds, memory, jobs
        As for `release`. The graded notebooks go to out/graded, the points of all of them to out/grades.csv (by cell)
        and out/totals.csv, what has to be graded by hand to out/by_hand.csv.

    Returns
    -------
    grades : DataFrame
        All rows of grades.csv.
    totals : DataFrame
        Points of students (rows) by assignment, and "out of"; an empty field where nothing was handed in.
    new : int
        Submissions that were run.
    others : list of str
        Notebooks in the folder that are not taken for submissions.

    Raises
    ------
    ParameterError
        An unknown name, or a folder without submissions.
    """
    sources, out, folder = assignments(names), Path(out).resolve(), Path(folder).resolve()
    list(map(_source, sources.values()))
    folder = folder / "submitted" if (folder / "submitted").is_dir() else folder
    found, others = {}, []
    for path in sorted(folder.rglob("*.ipynb")):
        student, *between = path.parent.relative_to(folder).parts or ("",)
        if student and between in ([], [path.stem]) and path.stem in sources and (student, path.stem) not in found:
            found[student, path.stem] = path
        elif "/." not in f"/{student}/{'/'.join(between)}" and path.stem not in {*assignments()} - {*sources}:
            others.append(path.relative_to(folder).as_posix())
    if not found:
        raise ParameterError(f"no submissions in {folder}: looked for STUDENT/NAME.ipynb, NAME of {', '.join(sources)}")
    places = {key: out / "graded" / key[0] / path.name for key, path in found.items()}
    calls = [(sources[key[1]], path, places[key], seconds, memory) for key, path in found.items()]
    new = sum(map_with_bar(_grade, calls, desc="submissions", n_jobs=jobs))
    return *_sheets(out), new, others


def feedback(names=(), out="build/course", jobs=2):
    """Write a page for every graded submission, out/feedback/STUDENT/NAME.html: points, messages, what its cells show.

    Hidden tests are not in it: a test cell shows its points and what it raised, and a line of a hidden test that
    something else shows is taken out.

    Parameters
    ----------
    names, out, jobs
        As for `release`.

    Returns
    -------
    list of Path

    Raises
    ------
    ParameterError
        Nothing was graded.
    """
    out, calls = Path(out).resolve(), []
    for (student, name), table in _sheets(out)[0].groupby(["student", "assignment"]):
        if name in (names or [name]):
            kept, to = out / "graded" / student / f"{name}.ipynb", out / "feedback" / student / f"{name}.html"
            calls.append((kept, to, table[COLUMNS[2:]]))
    map_with_bar(_feedback, calls, desc="pages", n_jobs=jobs)
    return [to for _, to, _ in calls]
