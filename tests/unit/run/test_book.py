"""The book of a made-up project: two lessons, the solutions to one, a finished run whose explorer has a page."""

import base64
import io
import re

import nbformat
import pytest
from PIL import Image
from test_runner import fake_run, project  # noqa: F401

import gencap
from gencap import __main__
from gencap.run import claims, runner
from gencap.run.saving import VIEW

for name in ("sphinx", "myst_nb", "sphinx_book_theme", "numpydoc"):
    pytest.importorskip(name, reason=f"{name} is not installed (extra book)")
from gencap.run import book  # noqa: E402

v4 = nbformat.v4
README = """\
# Little project

See [the first](notebooks/00_first.ipynb) and [the table of the boxes](CONTRIBUTING.md#boxes).

- **000** A thesis.

| lesson | topic |
|---|---|
| **Beginning** | |
| [00_first](notebooks/00_first.ipynb) | one |
| [01_second](notebooks/01_second.ipynb) | two |
"""
BOXES = """\
# Boxes

## Boxes

Back to [the start](README.md), a file: [the list](data/list.csv).

```mermaid
flowchart BT
  a["kernels: loops"] --> b
  b["models: | and *"]
```
"""
CLAIM = 'import gencap\nprint("cc-075: published 5 | refuted")'


def png(colour):
    """A picture as an output holds it."""
    stream = io.BytesIO()
    Image.new("RGB", (8, 8), colour).save(stream, "png")
    return base64.b64encode(stream.getvalue()).decode()


def shown(data, source="draw()", metadata=None, **more):
    """A code cell with one output."""
    return v4.new_code_cell(source, outputs=[v4.new_output("display_data", data, metadata=metadata or {})], **more)


def write_lesson(path, *cells):
    """Write a notebook of texts and cells."""
    cells = [v4.new_markdown_cell(cell) if isinstance(cell, str) else cell for cell in cells]
    for number, cell in enumerate(cells):
        cell["id"] = f"cell-{number}"
    path.parent.mkdir(parents=True, exist_ok=True)
    nbformat.write(v4.new_notebook(cells=cells, metadata={"language_info": {"name": "python"}}), path)


@pytest.fixture
def lessons(project, monkeypatch):  # noqa: F811
    """The project's folder; of the library, only a few names are shown."""
    monkeypatch.setattr(gencap, "__all__", ["CorrelationClustering", "claims", "aic"])
    (project / "README.md").write_text(README, encoding="utf-8")
    (project / "CONTRIBUTING.md").write_text(BOXES, encoding="utf-8")
    (project / "data").mkdir()
    (project / "data" / "list.csv").write_text("a\n")
    alt = {"image/png": {"alt": 'a red square, "R" < 1'}}
    hidden = {"tags": ["hide-input"], "jupyter": {"source_hidden": True}}
    answer = {"tags": ["hide-input"], "jupyter": {"source_hidden": True, "outputs_hidden": True}}
    write_lesson(
        project / "notebooks" / "00_first.ipynb",
        "# 0. First\n\nOf [the second](01_second.ipynb), $x_i^2$ and $\\nosuchmacro$:\n\n$$\\frac{1}{2}\\sum_k p_k$$",
        v4.new_code_cell("folded_away = 1", metadata=hidden),
        shown({"image/png": png("red"), "text/plain": "<Figure>"}, metadata=alt),
        shown({"text/plain": "bars: 100%|████| 3/3"}),
        v4.new_code_cell("", metadata={"tags": ["exercise"]}),
        v4.new_code_cell("answered = 2", metadata=answer, outputs=[v4.new_output("stream", text="the answer\n")]),
        shown({VIEW: {"model_id": "a"}, "image/png": png("blue"), "text/plain": "Explorer(a: 2)"}, "explore()"),
        v4.new_code_cell(CLAIM, outputs=[v4.new_output("stream", text="cc-075: published 5 | refuted\n")]),
    )
    write_lesson(
        project / "notebooks" / "solutions" / "00_first.ipynb",
        "# Solutions\n\nTry first.",
        v4.new_code_cell("prepared = 0"),
        "## Exercise 0.1\n\nBecause.",
        v4.new_code_cell("solved = 3"),
        "So it is.\n\n## Exercise 0.2\n\nBy the way.",
    )
    write_lesson(
        project / "notebooks" / "01_second.ipynb",
        "# 1. Second\n\nBack to [the first](00_first.ipynb) and [the answers](solutions/00_first.ipynb).",
        shown({"image/png": png("green")}),
        "**Figure 1.1** (ours). A $p_k$ in green.\n\n## Glossary\n\n*shift*: see [the first](00_first.ipynb).",
    )
    return project


@pytest.fixture
def explored(lessons):
    """A finished run of the first lesson has left its explorer's page."""
    path = lessons / "notebooks" / "00_first.ipynb"
    fake_run(path, {}, "quick", "refuted", changed=())
    kept = runner.kept_notebook(path, {})
    run = nbformat.read(kept, 4)
    run.cells[6].outputs[0].data["text/html"] = '<iframe src="explorer_1.html" title="Explorer(a)" height="9"></iframe>'
    nbformat.write(run, kept)
    kept.with_name("explorer_1.html").write_text("<!DOCTYPE html><title>moves</title>")
    return lessons


def page(folder, name):
    return (folder / "build" / "book" / name).read_text(encoding="utf-8")


def test_the_book_shows_what_a_lesson_holds(explored, capsys):
    assert __main__.main(["book"]) == 0  # the explorer has its page: nothing is run
    said = capsys.readouterr()
    numbers = r"\d+ pages, 0 images without alternative text, 0 broken links, [1-9] formulas shown as TeX"
    assert re.search(numbers, said.out) and re.search(r"\d+\.\d MB, \d+ s: ", said.out)
    assert "to run" not in said.err and "widget" not in said.out
    first = page(explored, "notebooks/00_first.html")
    assert "<msubsup>" in first and "<mfrac>" in first and '<code class="tex">\\nosuchmacro</code>' in first
    assert "<span hidden> (x_i^2)</span>" in first and "require.js" not in first and VIEW not in first
    assert 'href="01_second.html"' in first and 'href="solutions/00_first.html"' in first
    assert 'alt="a red square, &quot;R&quot; &lt; 1"' in first and "100%" not in first
    folds = re.findall(r'<details class="fold"><summary>(\w+)</summary>(.*?)</details>', first, re.DOTALL)
    assert [words for words, _ in folds] == ["Code", "Answer"]
    assert "folded_away" in folds[0][1] and "answered" in folds[1][1] and "the answer" in folds[1][1]
    assert '<iframe src="../explorers/00_first/explorer_1.html" title="Explorer(a)"' in first
    assert '<a href="../explorers/00_first/explorer_1.html">' in first and "One picture of" not in first
    assert page(explored, "explorers/00_first/explorer_1.html").endswith("moves</title>")
    second = page(explored, "notebooks/01_second.html")
    assert 'alt="Figure 1.1 (ours). A p_k in green."' in second and 'href="00_first.html"' in second
    answers = page(explored, "notebooks/solutions/00_first.html")
    folds = re.findall(r'<details class="fold"><summary>Answer</summary>(.*?)</details>', answers, re.DOTALL)
    assert (
        len(folds) == 2
        and "Because" in folds[0]
        and answers.count("Because") == 1
        and "solved" in folds[0]
        and "So it is" in folds[0]
    )
    assert "By the way" in folds[1] and "prepared" not in "".join(folds) and 'href="../00_first.html"' in answers


def test_the_book_looks_up_and_loads_nothing_from_elsewhere(explored):
    assert book.write()[1] == []
    start, boxes = page(explored, "index.html"), page(explored, "CONTRIBUTING.html")
    assert 'href="notebooks/00_first.html"' in start and 'href="CONTRIBUTING.html#boxes"' in start
    assert 'href="index.html"' in boxes and "list.csv" not in boxes and "<p>kernels: loops" in boxes
    glossary = page(explored, "notebooks/glossary.html")
    assert "<em>shift</em>" in glossary and 'href="00_first.html"' in glossary
    row = next(part for part in page(explored, "claims_000.html").split("<tr") if '<span class="pre">cc-075' in part)
    assert 'href="notebooks/00_first.html#cc-075">lesson 0</a>: <strong>refuted</strong>' in row
    assert '<a id="cc-075"></a>' in page(explored, "notebooks/00_first.html")
    ledger = [one for one in claims.published().values() if "000" in one["source"]]
    assert page(explored, "claims_000.html").count("not yet") == len(ledger) - 1
    assert all(one["place"] in page(explored, "errata.html") for one in claims.errata().values())
    models = page(explored, "api/models.html")
    assert 'id="gencap.CorrelationClustering"' in models and "set_fit_request" not in models
    about = [(gencap.models, models), (gencap.run, page(explored, "api/run.html"))]
    assert all(wing.__doc__.splitlines()[0] in text for wing, text in about)
    assert 'href="run.html#gencap.claims.check"' in page(explored, "api/index.html")
    loaded = r'<(?:script|link|img|iframe|source)\b[^>]*\b(?:src|href)="([^"]*)"'
    pages = [file.read_text(encoding="utf-8") for file in (explored / "build" / "book").rglob("*.html")]
    assert [url for text in pages for url in re.findall(loaded, text) if "//" in url.removeprefix("data:")] == []


def test_what_is_missing_is_named(lessons, capsys):
    second = lessons / "notebooks" / "01_second.ipynb"
    write_lesson(
        second,
        "# 1. Second\n\nTo [a lesson](02_third.ipynb), <a href='#nowhere'>down</a> and <a href=\"x.html\">x</a>.",
    )
    first = lessons / "notebooks" / "00_first.ipynb"
    cells = nbformat.read(first, 4).cells
    cells[2].outputs[0].metadata = {}
    write_lesson(first, *cells)
    assert __main__.main(["book", "--no-run"]) == 1
    said = capsys.readouterr().out
    assert "notebooks/01_second.ipynb" in said and "02_third.ipynb" in said
    assert all(f"notebooks/01_second.html: {link} leads nowhere" in said for link in ("x.html", "#nowhere"))
    assert len(re.findall(r"notebooks/00_first.html: <img .*> has no alternative text", said)) == 2
    assert "2 images without alternative text, 3 broken links" in said
    shown = page(lessons, "notebooks/00_first.html")
    assert "One picture of the explorer" in shown and "<iframe" not in shown and VIEW not in shown


def test_a_second_call_is_quick_and_an_interrupted_one_leaves_the_book(explored, monkeypatch):
    from sphinx.application import Sphinx

    book.write()
    kept = explored / "build" / "book-source" / "read"
    dates = {file: file.stat().st_mtime_ns for file in kept.rglob("*.doctree")}
    (explored / "CONTRIBUTING.md").write_text(BOXES + "\nA new line.\n", encoding="utf-8")
    book.write()
    again = {file.relative_to(kept).as_posix() for file, date in dates.items() if file.stat().st_mtime_ns != date}
    assert "CONTRIBUTING.doctree" in again and not any(name.startswith("notebooks/") for name in again)
    before = page(explored, "index.html")
    (explored / "README.md").write_text(README + "\nAnother word.\n", encoding="utf-8")

    def broken_off(self, *args):
        (kept.parent / "html" / "errata.html").write_text("half")
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Sphinx, "build", broken_off)
        assert __main__.main(["book"]) == 130
    assert page(explored, "index.html") == before and not (kept.parent / "complete").exists()
    assert book.write()[1] == [] and "Another word." in page(explored, "index.html")
    assert len(page(explored, "errata.html")) > 1000
    (explored / "notebooks" / "01_second.ipynb").unlink()  # and its page goes with it
    (explored / "README.md").write_text(re.sub(".*01_second.*\n", "", README), encoding="utf-8")
    book.write(run=False)
    assert not (explored / "build" / "book" / "notebooks" / "01_second.html").exists()


def test_lessons_without_a_page_are_run_and_failures_are_named(lessons, monkeypatch, capsys):
    asked = []

    def run_all(paths):
        asked.append([path.name for path in paths])
        record = runner._lost(paths[0], {}, "ZeroDivisionError", "division by zero")
        return [record]

    monkeypatch.setattr(runner, "run_all", run_all)
    assert __main__.main(["book"]) == 1
    said = capsys.readouterr()
    assert asked == [["00_first.ipynb"]] and "lessons to run for the pages of their explorers: 1," in said.err
    assert "ZeroDivisionError: division by zero" in said.out
