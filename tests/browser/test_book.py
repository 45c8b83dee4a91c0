"""A small book in headless Chromium, from files: no error, no request, an explorer by keyboard, search, a fold."""

import base64
import io
import re
import shutil
from pathlib import Path

import pytest

import gencap
from gencap import __main__

ROOT = Path(__file__).resolve().parents[2]
README = """\
# A small book

- **000** A thesis.

| lesson | topic |
|---|---|
| **All** | |
| [01_explore](notebooks/01_explore.ipynb) | an explorer |
| [02_from_weights_to_bits](notebooks/02_from_weights_to_bits.ipynb) | formulas |
"""
WIDE = f"# 1. Explore\n\nA kaleidoscope, `{'long_name.' * 9}` and ${'+'.join(map(str, range(25)))}$.\n"
EXPLORE = """\
import gencap as gc

def draw(figure, rank):
    figure.add_subplot().plot([0, rank])

gc.widgets.Explorer({"rank": [1, 2, 3, 4]}, draw, lambda rank: f"The line ends at {rank}.")"""


@pytest.fixture(scope="module")
def small_book(tmp_path_factory):
    """Folder of a book with a real lesson and one of an explorer, which is run for it."""
    for name in ("sphinx", "myst_nb", "sphinx_book_theme", "numpydoc"):
        pytest.importorskip(name, reason=f"{name} is not installed (extra book)")
    import nbformat
    from PIL import Image

    project, stream, v4 = tmp_path_factory.mktemp("project"), io.BytesIO(), nbformat.v4
    (project / "notebooks" / "solutions").mkdir(parents=True)
    (project / "README.md").write_text(README, encoding="utf-8")
    for folder in ("notebooks", "notebooks/solutions"):
        shutil.copy(ROOT / folder / "02_from_weights_to_bits.ipynb", project / folder)
    formulas = project / "notebooks" / "02_from_weights_to_bits.ipynb"  # without its links to lessons that are not here
    text = re.sub(r"\[([^][\n]*)\]\(\d\d_\w+\.ipynb\)", r"\1", formulas.read_text(encoding="utf-8"))
    formulas.write_text(text, encoding="utf-8")
    Image.new("RGB", (8, 8)).save(stream, "png")
    view = {"application/vnd.jupyter.widget-view+json": {"model_id": "a"}, "text/plain": "Explorer(rank: 4)"}
    view["image/png"] = base64.b64encode(stream.getvalue()).decode()
    cell = v4.new_code_cell(EXPLORE, outputs=[v4.new_output("display_data", view)])
    lesson = v4.new_notebook(cells=[v4.new_markdown_cell(WIDE), cell])
    lesson.metadata.language_info = {"name": "python"}
    nbformat.write(lesson, project / "notebooks" / "01_explore.ipynb")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(project)
        patch.setattr(gencap, "__all__", ["CorrelationClustering", "claims", "aic"])
        yield project / "build" / "book", __main__.main(["book"])


@pytest.fixture
def page(chromium):
    """A page of headless Chromium; `problems` gathers errors of its console and requests that leave the files."""
    chromium.problems = found = []
    chromium.on("pageerror", lambda error: found.append(f"{error}"))
    chromium.on("console", lambda message: message.type == "error" and found.append(message.text))
    chromium.on("request", lambda one: one.url.startswith(("file:", "data:")) or found.append(f"asks for {one.url}"))
    chromium.on("requestfailed", lambda one: found.append(f"not there: {one.url}"))
    return chromium


def test_every_page_opens_without_error_and_asks_for_nothing(page, small_book):
    folder, status = small_book
    files = [file for file in sorted(folder.rglob("*.html")) if "_static" not in file.parts]
    assert status == 0 and len(files) > 15
    for file in files:
        page.goto(file.as_uri())
        assert page.evaluate("[...document.images].filter(one => one.complete && !one.naturalWidth).length") == 0, file
        for width in (1300, 400):
            page.set_viewport_size({"width": width, "height": 1000})
            assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0, (file, width)
    assert page.problems == []


def test_an_explorer_moves_by_keyboard(page, small_book):
    page.goto((small_book[0] / "notebooks" / "01_explore.html").as_uri())
    frame = page.frame_locator("iframe")
    picture, slider, words = frame.locator("#picture"), frame.locator("input").first, frame.locator("#words")
    slider.focus()
    page.keyboard.press("Home")
    seen = [(picture.get_attribute("src"), words.inner_text())]
    for _ in range(3):
        page.keyboard.press("ArrowRight")
        seen.append((picture.get_attribute("src"), words.inner_text()))
    assert len({source for source, _ in seen}) == 4 and [text[-2] for _, text in seen] == list("0123")
    page.get_by_role("link", name="The explorer on a page of its own").click()
    assert page.locator("input").count() == 1 and page.problems == []


def test_search_finds_a_word(page, small_book):
    page.goto((small_book[0] / "index.html").as_uri())
    page.keyboard.press("Control+K")
    page.keyboard.type("kaleidoscope")
    page.keyboard.press("Enter")
    page.locator("#search-results a", has_text="1. Explore").first.click()
    assert page.url.split("?")[0].endswith("notebooks/01_explore.html") and page.problems == []


def test_folds_open_by_keyboard_and_formulas_are_drawn(page, small_book):
    page.goto((small_book[0] / "notebooks" / "02_from_weights_to_bits.html").as_uri())
    fold = page.locator("details.fold").first
    assert not fold.locator("pre").first.is_visible()
    fold.locator("summary").focus()
    page.keyboard.press("Enter")
    assert fold.locator("pre").first.is_visible()
    formula = page.locator(".formula math").first
    assert formula.bounding_box()["height"] > 30 and formula.locator("msubsup, munderover").count() > 0
    assert not page.locator(".formula span").first.is_visible()  # TeX, for browsers without MathML
    page.goto((small_book[0] / "notebooks" / "solutions" / "02_from_weights_to_bits.html").as_uri())
    assert not page.get_by_text("only the list of temperatures changes").is_visible() and page.problems == []
