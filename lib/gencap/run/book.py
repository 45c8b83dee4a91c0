"""build/book: lessons, answers, glossary, verdicts, errata and all public names as pages that need no network.

Lessons are shown with their saved outputs; nothing is executed but, where it is asked for, the lessons whose explorers
have no page yet. Formulas become MathML while the pages are made. build/book-source keeps the sources of the pages and
what Sphinx has read of them, so that a second call is quick; build/book is replaced when all pages are there.

This room is a Sphinx extension, too, of its own pages only: `setup`. What Sphinx is told stands in book.toml, pages
that are made of tables in book.j2.
"""

import html
import inspect
import io
import json
import os
import re
import shutil
import sys
import time
import tomllib
from collections import defaultdict
from pathlib import Path
from urllib.parse import unquote, urlsplit

import nbformat
from jinja2 import Environment, FileSystemLoader

from .. import __version__
from ..resources import fingerprint, project_folder
from . import claims, runner
from .saving import AT_START, VIEW

HERE = Path(__file__).parent
TEXTS = "README.md COURSE.md CONTRIBUTING.md CHANGELOG.md data/README.md".split()
WINGS = "models validation views datasets theory show run ground".split()  # as a reader meets them
GROUND = "What all the others stand on: checks of arguments, files and threads, probabilities at every temperature."
STILL = "One picture of the explorer: `gencap book` shows here the one that moves, and the notebook has it as well."
DECIDED = re.compile(r"^(\S+): (?:published|truth) .*\| (.+)$", re.MULTILINE)  # by claims.check, claims.erratum
_TEMPLATES = Environment(loader=FileSystemLoader(HERE), trim_blocks=True, lstrip_blocks=True)
_TEMPLATES.filters["plain"] = lambda text: re.sub(r"([!-/:-@\[-`{-~])", r"\\\1", " ".join(str(text).split()))


def write(run=True):
    """Make build/book and check its links and pictures.

    Parameters
    ----------
    run : bool
        Run the lessons whose explorers have no page, in the quick profile; without it these show a picture.

    Returns
    -------
    said : list of str
        What there is, external links included.
    problems : list of str
        Lessons that failed, warnings of Sphinx, broken links, pictures without alternative text.
    """
    from sphinx.application import Sphinx
    from sphinx.util.docutils import docutils_namespace, patch_docutils

    start, build, warnings, failed = time.perf_counter(), project_folder() / "build", io.StringIO(), []
    work, lessons = build / "book-source", {path: runner.read_notebook(path) for path in runner.project_notebooks()}
    moving = [path for path, lesson in lessons.items() if any(VIEW in data for data in _shown(lesson))]
    if missing := [path for path in moving if run and _frames(path) is None]:
        words = f"lessons to run for the pages of their explorers: {len(missing)}, up to a minute each"
        print(f"gencap: {words} (gencap book --no-run shows pictures instead)", file=sys.stderr)
        failed = [str(runner.NotebookFailed(one)) for one in runner.run_all(missing) if one["status"] == "failed"]
    frames = {path: _frames(path) or [] for path in lessons}
    sources, complete = _sources(lessons, frames), work / "complete"
    made_of = fingerprint([*sorted(sources), *(path.read_text("utf-8") for path in sorted(HERE.glob("book.*")))])
    if not complete.exists() or complete.read_text() != made_of:  # begun and not ended, or of other pages: all anew
        shutil.rmtree(work, ignore_errors=True)
    complete.unlink(missing_ok=True)
    _fill(work / "pages", sources)
    settings = tomllib.loads((HERE / "book.toml").read_text(encoding="utf-8"))
    settings["html_static_path"] = [str(work / "pages" / "static")]
    print("gencap: making the pages, about a minute when all are new", file=sys.stderr)
    with patch_docutils(), docutils_namespace():
        status = sys.stderr if sys.stderr.isatty() else None  # its line with percents
        places = (work / "pages", None, work / "html", work / "read")
        Sphinx(*places, "html", settings, status, warnings).build()
    warned = re.sub(r"\x1b\[[0-9;]*m", "", warnings.getvalue()).replace(f"{work}{os.sep}", "").splitlines()
    pages = {f"{path.stem}/{page.name}": page.read_bytes() for path, found in frames.items() for _, page in found}
    _fill(work / "html" / "explorers", pages)
    said, broken = check(work / "html")
    for name in ("new", "old"):
        shutil.rmtree(work / name, ignore_errors=True)
    shutil.copytree(work / "html", work / "new")
    if (book := build / "book").exists():
        book.rename(work / "old")
    (work / "new").rename(book)
    if not warned:  # Sphinx says them only when it reads a page
        complete.write_text(made_of)
    size = sum(file.stat().st_size for file in book.rglob("*") if file.is_file()) / 1e6
    said.append(f"{size:.1f} MB, {time.perf_counter() - start:.0f} s: {book / 'index.html'}")
    return said, failed + warned + broken


def _fill(folder, files):
    """Let a folder hold {name: text or bytes} and nothing else; a file that stays as it is keeps its date."""
    for old in [path for path in folder.rglob("*") if path.is_file()]:
        if old.relative_to(folder).as_posix() not in files:
            old.unlink()
    for name, content in files.items():
        content, path = content.encode() if isinstance(content, str) else content, folder / name
        if not path.is_file() or path.read_bytes() != content:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)


def _shown(notebook):
    """What the outputs of a notebook hold: a dict of kinds each, empty for what was printed."""
    return [output.get("data", {}) for cell in notebook.cells for output in cell.get("outputs", [])]


def _printed(cells):
    return "\n".join(output.get("text", "") for cell in cells for output in cell.get("outputs", []))


def _frames(path):
    """The explorers that the last quick run of a lesson shows: [(frame in HTML, page)]; None without such a run."""
    record = runner.last_record(path, ["quick"])
    if record and record["status"] == "done" and not record["stale"]:
        kept = runner.kept_notebook(path, record["parameters"])
        shown = [data["text/html"] for data in _shown(runner.read_notebook(kept)) if "text/html" in data]
        named = [(frame, re.match('<iframe src="(.*?)"', frame)) for frame in shown]
        return [(frame, kept.with_name(name[1])) for frame, name in named if name]


def _sources(lessons, frames):
    """What Sphinx reads: {name of a file: its text or bytes}."""
    project, decided = project_folder(), defaultdict(list)
    texts = {name: name for name in TEXTS if (project / name).exists()} | {"README.md": "index.md"}
    answers = {path: path.parent / "solutions" / path.name for path in lessons}
    known = {path.relative_to(project).as_posix() for path in [*lessons, *answers.values()]} | texts.keys()
    files = {file.relative_to(project).as_posix(): file.read_bytes() for file in project.glob("notebooks/images/*")}
    files["static/book.css"] = (HERE / "book.css").read_bytes()
    prose = "\n## \n".join(cell.source for lesson in lessons.values() for cell in lesson.cells)
    glossary = re.search(r"^#(# Glossary\n.*?)(?=^## |\Z)", prose, re.MULTILINE | re.DOTALL)
    for path, lesson in lessons.items():
        for id, words in DECIDED.findall(_printed(lesson.cells)):
            decided[id].append((path.stem, words))
        if (file := answers[path]).exists():
            solutions = runner.read_notebook(file)
            solutions.cells[0].source += f"\n\n**Lesson**: [](../{path.name})"
            files[f"notebooks/solutions/{path.name}"] = _readable(solutions, file, known, [])
            lesson.cells[0].source += f"\n\n**Solutions**: [answers to the exercises](solutions/{path.name})"
        files[f"notebooks/{path.name}"] = _readable(lesson, path, known, frames[path])
    for name, page in texts.items():
        files[page] = _relinked((project / name).read_text(encoding="utf-8"), project / name, known)
    rows = r"^\| (?:\*\*(.+?)\*\*|\[\w+\]\(notebooks/(\w+)\.ipynb\))"  # of README's table: a part, or a lesson
    given = {"parts": re.findall(rows, files["index.md"], re.MULTILINE), "texts": [*texts.values()][1:]}
    given |= {"documents": dict(re.findall(r"^- \*\*(\d+)\*\* (.+)$", files["index.md"], re.MULTILINE))}
    given |= {"claims": claims, "decided": decided, "full": runner.full_claims(), "wings": _wings()}
    given |= {"glossary": glossary[1] if glossary else ""}
    _, *made = re.split(r"^==== (\S+)\n", _TEMPLATES.get_template("book.j2").render(given), flags=re.MULTILINE)
    made = dict(zip(made[::2], made[1::2], strict=True))
    return files | made | {"index.md": files["index.md"] + made["index.md"]}


def _relinked(text, path, known):
    """A text whose links to README go to the start page and those to no page are words; a diagram is a list."""

    def changed(match):
        words, target, anchor = match.groups(default="")
        there = Path(os.path.abspath(path.parent / unquote(target)))
        name = Path(os.path.relpath(there, project_folder())).as_posix()
        if name == "README.md":
            return f"[{words}]({target.removesuffix(name)}index.md{anchor})"
        return match[0] if name in known or not there.exists() else words  # what is nowhere, Sphinx is to name

    text = re.sub(r"```mermaid.*?```", lambda m: "\n".join(re.findall(r'\["(.+?)"\]', m[0])), text, flags=re.DOTALL)
    return re.sub(r"(?<!!)\[([^\]]+)\]\((?!\w+:)([^()\s#]+)(#[^)\s]*)?\)", changed, text)


def _readable(notebook, path, known, frames):
    """A saved notebook as the book shows it, as text.

    Room to write in and bars go, a frame or a sentence stands for an explorer, pictures have their words, and before
    the cells that decide statements stand places, to which the tables of verdicts lead.
    """
    cells, frames = [], iter(frames)
    notebook.metadata.pop("widgets", None)
    for number, cell in enumerate(notebook.cells):
        after, marks = "", "".join(f'<a id="{id}"></a>' for id, _ in DECIDED.findall(_printed([cell])))
        if "exercise" in cell.metadata.get("tags", []) and not cell.source.strip():
            continue
        if cell.cell_type == "markdown":
            cell.source = _relinked(cell.source, path, known)
        if cell.metadata.get("jupyter", {}).get("outputs_hidden"):
            cell.metadata |= {"tags": ["hide-cell"], "mystnb": {"code_prompt_show": "Answer"}}
        for output in list(cell.get("outputs", [])):
            data = output.get("data", {})
            if re.match(rf".*? *{AT_START}", data.get("text/plain", "")):
                cell.outputs.remove(output)
            if data.pop(VIEW, None):
                frame, page = next(frames, ("", None))
                after = STILL
                if page:
                    address = f"../explorers/{path.stem}/{page.name}"
                    output.data = data = {"text/html": frame.replace(f'src="{page.name}', f'src="{address}')}
                    after = f'<p><a href="{address}">The explorer on a page of its own</a></p>'
            if "image/png" in data:
                words = output.metadata.get("image/png", {}).get("alt") or _caption(notebook.cells, number)
                cell.metadata.setdefault("mystnb", {})["image"] = {"alt": words}
        beside = [text and nbformat.v4.new_markdown_cell(text, id=f"{number}-{len(text)}") for text in (marks, after)]
        cells += filter(None, (beside[0], cell, beside[1]))
    return json.dumps(notebook | {"cells": cells})


def _caption(cells, number):
    """The caption nearest to a cell, which stands below it or above, without its markup."""
    near = [cell.source for cell in (*cells[number + 1 : number + 4], *cells[max(number - 3, 0) : number][::-1])]
    return re.sub(r"[*$\\{}]", "", "".join(re.findall(r"^\*\*Figure .*", "\n".join(near), re.MULTILINE)[:1]))


def _wings():
    """All public names: {wing: (what it is, {"" or gc.ROOM: [(name, directive of Sphinx, summary)]})}."""
    package = sys.modules["gencap"]  # as the reader has it, with all names; no room imports it
    wings = {wing: defaultdict(list) for wing in WINGS}
    for name in package.__all__:
        thing, named = getattr(package, name), {name: getattr(package, name)}
        home, room = getattr(thing, "__module__", None) or thing.__name__, f"gc.{name}" * inspect.ismodule(thing)
        if room:
            own = {key: one for key, one in vars(thing).items() if str(getattr(one, "__module__", "")).startswith(home)}
            named = {f"{name}.{key}": one for key, one in own.items() if key[0] != "_" and key not in package.__all__}
        for key, one in named.items():
            directive, summary = f"auto{'class' if inspect.isclass(one) else 'function'}", inspect.getdoc(one)
            wings.get(home.split(".")[1], wings["ground"])[room].append((key, directive, summary.splitlines()[0]))
    about = {wing: getattr(sys.modules.get(f"gencap.{wing}"), "__doc__", None) or GROUND for wing in WINGS}
    return {wing: (about[wing].splitlines()[0], rooms) for wing, rooms in wings.items()}


def check(folder):
    """Look through all pages of a book but those of explorers: do links lead somewhere, have pictures words?

    Parameters
    ----------
    folder : Path

    Returns
    -------
    said : list of str
        The external links, which are not fetched, and the numbers.
    problems : list of str
        Every link that leads nowhere, every picture without alternative text.
    """
    folder, outside, broken, silent = folder.resolve(), set(), [], []
    files = [f for f in folder.rglob("*.html") if f.relative_to(folder).parts[0] not in ("explorers", "_static")]
    texts = {file: file.read_text(encoding="utf-8") for file in files}
    places = {
        file: {html.unescape(id) for _, id in re.findall(r"""\b(?:id|name)=(["'])(.+?)\1""", text)}
        for file, text in texts.items()
    }
    for file, text in texts.items():
        name = file.relative_to(folder).as_posix()
        pictures = [tag for tag in re.findall("<img [^>]*>", text) if not re.search(r'\balt="[^"]*\w', tag)]
        silent += [f"{name}: {tag} has no alternative text" for tag in pictures]
        for _, link in re.findall(r"""\b(?:href|src)=(["'])(.+?)\1""", text):
            url = urlsplit(html.unescape(link))
            there = (file.parent / unquote(url.path)).resolve() if url.path else file
            if url.scheme:
                outside |= {link} if url.netloc else set()
            elif not there.is_file() or (url.fragment and unquote(url.fragment) not in places.get(there, ())):
                broken.append(f"{name}: {link} leads nowhere")
    formulas = sum(text.count('class="tex"') for text in texts.values())
    numbers = f"{len(files)} pages, {len(silent)} images without alternative text, {len(broken)} broken links"
    outside = [f"external, not fetched: {link}" for link in sorted(outside)]
    return [*outside, f"{numbers}, {formulas} formulas shown as TeX"], broken + silent


def setup(app):
    """Be a Sphinx extension: formulas as MathML, folds with a text for a summary, folded answers.

    Parameters
    ----------
    app : sphinx.application.Sphinx

    Returns
    -------
    dict
    """
    from docutils import nodes
    from math_core import LatexError, LatexToMathML
    from myst_nb.sphinx_ import HideCodeCellNode

    convert = LatexToMathML().convert_with_local_state

    def formula(translator, node):
        tex, block = node.astext(), isinstance(node, nodes.math_block)
        try:
            text = convert(tex, displaystyle=block)
            if block or re.search(r"\^|\\(frac|binom|sqrt)", tex):  # 2^6 is 26 where nobody knows MathML or `hidden`
                text += f"<span hidden> ({html.escape(tex)})</span>"
        except LatexError:
            text = f'<code class="tex">{html.escape(tex)}</code>'
        translator.body.append(f'<div class="formula">{text}</div>' if block else text)
        raise nodes.SkipNode

    def fold(translator, node):
        translator.body.append(f'<details class="fold"><summary>{html.escape(node["prompt_show"])}</summary>')

    def fold_answers(app, doctree):
        for section in doctree.findall(nodes.section) if "/solutions/" in app.env.docname else ():
            if section[0].astext().startswith("Exercise"):
                section[1:] = [HideCodeCellNode("", *section[1:], prompt_show="Answer")]

    def plain(app, what, name, thing, options, lines):  # |x| and **names of a docstring are no markup
        code = r"(^ *>>> .*?(?=\n *\n|\Z)|`+[^`]+`+)|(\||\*\*)"
        escaped = re.sub(f"(?ms){code}", lambda m: m[1] or re.sub("(.)", r"\\\1", m[2]), "\n".join(lines))
        lines[:] = escaped.split("\n")

    app.add_html_math_renderer("mathml", (formula, None), (formula, None))
    app.add_node(HideCodeCellNode, override=True, html=(fold, lambda self, node: self.body.append("</details>")))
    app.connect("doctree-read", fold_answers)
    app.connect("autodoc-process-docstring", plain, 400)  # before numpydoc's
    app.add_js_file(None, body="if (location.protocol === 'file:') DOCUMENTATION_OPTIONS.SHOW_SEARCH_SUMMARY = false;")
    return {"version": __version__, "parallel_read_safe": True, "parallel_write_safe": True}
