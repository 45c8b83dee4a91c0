"""Notebooks saved by the project: executed, small, known again, untouched when a cell fails; their pages offline."""

import base64
import io
import re
from html.parser import HTMLParser
from pathlib import Path

import nbformat
import pytest
from nbclient.exceptions import CellExecutionError
from PIL import Image

from gencap.resources import project_folder
from gencap.run.saving import STATE, VIEW, faults, finish_bars, page, save_executed, shrink

NOTEBOOKS = [
    path for where in ("*", "solutions/*") for path in sorted((project_folder() / "notebooks").glob(f"{where}.ipynb"))
]


def write(path, *sources):
    nbformat.write(nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(s) for s in sources]), path)
    return path


def test_outputs_are_saved_in_order_without_timing_marks(tmp_path, monkeypatch):
    monkeypatch.setenv("GENCAP_DATA", "somewhere")
    path = write(tmp_path / "a.ipynb", "x = 6 * 7", "x", "import os; bool(os.environ.get('GENCAP_DATA'))")
    assert save_executed(path) == path.stat().st_size
    cells = nbformat.read(path, 4).cells
    assert [cell.execution_count for cell in cells] == [1, 2, 3]
    assert [cell.outputs[0].data["text/plain"] for cell in cells[1:]] == ["42", "False"]
    assert all("execution" not in cell.metadata for cell in cells)


def test_a_failing_cell_leaves_the_file_as_it_was(tmp_path):
    path = write(tmp_path / "a.ipynb", "1 / 0")
    before = path.read_bytes()
    with pytest.raises(CellExecutionError, match="ZeroDivisionError"):
        save_executed(path)
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["a.ipynb"]


def test_pictures_keep_size_and_colours_within_the_palette():
    picture = Image.linear_gradient("L").convert("RGBA")
    stream = io.BytesIO()
    picture.save(stream, "png", dpi=(110, 110))
    data, words = {"image/png": base64.b64encode(stream.getvalue()).decode()}, {"image/png": {"alt": "greys"}}
    output = nbformat.v4.new_output("display_data", data, metadata=words)
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("", outputs=[output])])
    shrink(notebook)
    data = base64.b64decode(notebook.cells[0].outputs[0].data["image/png"])
    after = Image.open(io.BytesIO(data))
    assert [round(dpi) for dpi in after.info["dpi"]] == [110, 110]
    assert notebook.cells[0].outputs[0].metadata == words
    assert after.size == picture.size and len(data) <= len(stream.getvalue())
    differences = [
        abs(a - b) for a, b in zip(picture.convert("L").tobytes(), after.convert("L").tobytes(), strict=True)
    ]
    assert max(differences) <= 8  # the octree gives a grey ramp 16 of its 256 greys


def test_a_warning_is_saved_without_the_folder_of_the_project(tmp_path):
    path = write(tmp_path / "a.ipynb", f"print({str(project_folder() / 'lib' / 'x.py')!r})")
    save_executed(path)
    assert nbformat.read(path, 4).cells[0].outputs[0].text == f"{Path('lib') / 'x.py'}\n"


def test_a_warning_of_a_cell_is_saved_without_the_file_of_its_kernel(tmp_path):
    path = write(tmp_path / "a.ipynb", "import warnings\nwarnings.warn('odd')")
    save_executed(path)
    assert nbformat.read(path, 4).cells[0].outputs[0].text.startswith("CELL:2: UserWarning: odd\n")


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_no_saved_output_names_a_folder_of_the_machine(path):
    for cell in nbformat.read(path, 4).cells:
        for output in cell.get("outputs", []):
            found = re.search(r"(?<![\w/.])/(?:home|root|tmp|work|Users|usr|opt)/\S+", output.get("text", ""))
            assert found is None, found


WIDGETS = """\
import ipywidgets
from IPython.display import display
from tqdm.auto import tqdm
for _ in tqdm(range(3), desc="halves", leave=False): pass
for n in tqdm(range(4)):
    if n == 2: break
for _ in tqdm([], desc="seeds"): pass
for _ in tqdm(iter(range(3)), desc="pairs"): pass
slider, play = ipywidgets.IntSlider(), ipywidgets.Play()
link = ipywidgets.jslink((play, "value"), (slider, "value"))
ipywidgets.VBox([slider, play])
"""


def test_saving_keeps_link_and_permissions_says_what_it_left_and_is_the_same_the_next_time(tmp_path, capfd):
    (tmp_path / "real").mkdir()
    bad = "display({'image/png': 'bm8gcGljdHVyZQ=='}, raw=True, metadata={'image/png': {'alt': 'no picture'}})"
    bad += "; open('here', 'w').close()"
    real, link = write(tmp_path / "real" / "a.ipynb", WIDGETS, bad), tmp_path / "link.ipynb"
    real.chmod(0o640)
    link.symlink_to(real)
    with pytest.warns(UserWarning, match="the picture of cell 1 is kept as it is: cannot identify image file"):
        size = save_executed(link)
    first = real.read_bytes()
    assert link.is_symlink() and real.stat().st_mode & 0o777 == 0o640 and size == len(first)
    assert sorted(f.name for f in real.parent.iterdir()) == ["a.ipynb", "here"]
    assert capfd.readouterr().err == ""  # the kernel is quiet
    notebook = nbformat.read(real, 4)
    assert notebook.cells[1].outputs[0].data["image/png"] == "bm8gcGljdHVyZQ=="
    done, left, none, pairs, box = (output.data for output in notebook.cells[0].outputs)
    assert done == {"text/plain": "halves: 100%|██████████| 3/3"} and left == {"text/plain": "50%|█████     | 2/4"}
    assert none == {"text/plain": "seeds: 0/0"} and pairs == {"text/plain": "pairs: 3/?"}
    models = notebook.metadata.widgets[STATE]["state"]
    assert box[VIEW]["model_id"] in models
    kinds = {model["model_name"] for model in models.values()}  # those of the bars are gone, a link stays
    assert {"VBoxModel", "IntSliderModel", "LinkModel"} <= kinds and "FloatProgressModel" not in kinds
    with pytest.warns(UserWarning):
        save_executed(real)
    assert real.read_bytes() == first


def test_a_notebook_that_was_edited_or_saved_by_others_is_known(tmp_path):
    path = write(tmp_path / "a.ipynb", "1")
    assert faults(nbformat.read(path, 4)) == ["was not saved by gencap save"]
    save_executed(path)
    notebook = nbformat.read(path, 4)
    assert faults(notebook) == []
    notebook.cells[0].source += " "
    assert faults(notebook) == ["was edited after gencap save"]
    notebook.cells[0].source = "1"
    view = {VIEW: {"model_id": "a"}, "text/plain": "shifts:   0%|          | 0/5 [00:00<?, ?it/s]"}
    notebook.cells[0].outputs.append(nbformat.v4.new_output("display_data", view))
    assert faults(notebook) == ["cell 0 shows a widget without its state"]
    box = {"model_name": "VBoxModel", "state": {"children": ["IPY_MODEL_b"]}}
    notebook.metadata["widgets"] = {STATE: {"state": {"a": box}}}
    for words in (view["text/plain"], "seeds: 0it [00:00, ?it/s]"):
        notebook.cells[0].outputs[-1].data["text/plain"] = words
        finish_bars(notebook)  # no bar among its parts: it stays
        assert faults(notebook) == ["cell 0 shows a progress bar at 0 %", "parts of widgets have no state"]


@pytest.mark.parametrize(
    ("shown", "fault"),
    [
        (f"display({{{VIEW!r}: {{'model_id': 'gone'}}}}, raw=True)", "a widget without its state"),
        ("import matplotlib.pyplot as plt; plt.plot([1, 2]);", "a picture without alternative text"),
        ("display({'image/jpeg': 'AA=='}, raw=True, metadata={'image/jpeg': {'alt': ' '}})", "a picture without"),
    ],
)
def test_outputs_that_cannot_be_shown_again_or_to_all_are_not_saved(tmp_path, shown, fault):
    path = write(tmp_path / "a.ipynb", shown)
    before = path.read_bytes()
    with pytest.raises(ValueError, match=f"cannot be saved: cell 0 shows {fault}"):
        save_executed(path)
    assert path.read_bytes() == before


def test_pictures_are_saved_and_shown_with_their_words(tmp_path):
    first = "import gencap as gc\nax = gc.plots.capacity_against_clusters([2, 3, 4], [0.9, 1.5, 1.4])"
    named = 'import matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.gcf().set_label("\'<b>\' & \\"line\\"")'
    explorer = "gc.widgets.Explorer({'rank': [1, 2]}, lambda figure, rank: figure.add_subplot(), lambda rank: 'at <1>')"
    path = write(tmp_path / "a.ipynb", first, f"{named};", explorer)
    save_executed(path)
    outputs = [output for cell in nbformat.read(path, 4).cells for output in cell.outputs]
    words = [output.metadata["image/png"]["alt"] for output in outputs]
    assert "capacity: from 0.9 at 2 to 1.4 at 4, maximum 1.5 at 3" in words[0]
    assert words[1].startswith("'<b>' & \"line\". ") and words[2] == "at <1>"
    shown = page(path, tmp_path)
    assert Addresses(shown).words == words and "No description" not in shown


def test_every_notebook_is_as_gencap_save_left_it():
    found = {path.name: faults(nbformat.read(path, 4)) for path in NOTEBOOKS}
    sizes = {path.name: path.stat().st_size for path in NOTEBOOKS}
    lines = [f"{name}: {', '.join(words)}" for name, words in found.items() if words]
    lines += [f"{name}: {size} bytes, accepted are 500000" for name, size in sizes.items() if size > 500_000]
    assert not lines, "run `gencap save` on\n" + "\n".join(lines)


class Addresses(HTMLParser):
    """What a page would fetch, the tags in it, its alternative texts, and the text outside of formulas."""

    def __init__(self, text):
        super().__init__()
        self.fetched, self.tags, self.words, self.text, self._open = [], [], [], "", []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self._open += [tag] if tag in ("math", "style", "pre", "code") else []
        self.words += [value for name, value in attributes if name == "alt"]
        names = ("src", "srcset", "data", "poster") + (("href",) if tag == "link" else ())
        self.fetched += [v for name, v in attributes if name in names and not v.startswith("data:")]

    def handle_endtag(self, tag):
        if self._open[-1:] == [tag]:
            self._open.pop()

    def handle_data(self, data):
        self.text += "" if self._open else data


def fetches_nothing(shown):
    """Whether the page is whole without network; return what it is made of."""
    found = Addresses(shown)
    assert found.fetched == [] and "script" not in found.tags
    assert re.findall(r"url\((?!['\"]?(?:data:|#))[^)]*|@import[^;]*", shown) == []
    return found


def test_every_formula_of_the_notebooks_is_mathml_in_their_pages(tmp_path):
    v4, cells, formulas = nbformat.v4, [], 0
    for cell in (cell for path in NOTEBOOKS for cell in nbformat.read(path, 4).cells):
        if cell.cell_type == "markdown":
            cells.append(v4.new_markdown_cell(cell.source))
            text = re.sub(r"```.*?```|`[^`]*`", "", cell.source, flags=re.DOTALL)
            formulas += len(re.findall(r"\$\$.+?\$\$|\$.+?\$", text, re.DOTALL))
        else:  # with what it printed, for the addresses in it
            for output in cell.outputs:
                output.get("data", {}).pop("image/png", None)
            cells.append(v4.new_code_cell("", outputs=cell.outputs))
    nbformat.write(v4.new_notebook(cells=cells), tmp_path / "all.ipynb")
    found = fetches_nothing(page(tmp_path / "all.ipynb", NOTEBOOKS[0].parent))
    assert found.tags.count("math") == formulas > 500 and "$" not in found.text


def test_a_page_shows_the_pictures_of_its_notebook_and_of_its_explorers():
    path = next(path for path in NOTEBOOKS if VIEW in path.read_text(encoding="utf-8"))
    outputs = [o for cell in nbformat.read(path, 4).cells for o in cell.get("outputs", [])]
    pictures = [o for o in outputs if "image/png" in o.get("data", {})]
    shown = page(path, path.parent)
    assert fetches_nothing(shown).words == [o.metadata["image/png"]["alt"] for o in pictures]
    assert any(VIEW in o.data for o in pictures)
    assert all(o.data["image/png"].strip() in shown for o in pictures)


def test_what_a_page_cannot_convert_is_shown_as_it_is_written(tmp_path):
    text = """# A <b>$x^2$</b>
$$\\begin{pmatrix} 1 & 2 \\\\ 3 & 4 \\end{pmatrix}$$ and $\\nonsense{<i>}$ and ![a <plan>](attachment:plan.png)
and ![dots](.) and ![here](here.png)

\\begin{align} a &= b \\end{align}
"""
    Image.new("RGB", (1, 1)).save(tmp_path / "here.png")
    v4 = nbformat.v4
    latex = v4.new_output("display_data", {"text/latex": "$\\displaystyle y$"})
    cells = [v4.new_markdown_cell(text.replace("\\\\", "\\")), v4.new_code_cell("", outputs=[latex])]
    nbformat.write(v4.new_notebook(cells=cells), tmp_path / "a.ipynb")
    shown = page(tmp_path / "a.ipynb", tmp_path)
    assert shown.count("<math") == 4 and shown.count("<mtd") >= 4 and "<msup>" in shown
    assert "<code>\\nonsense{&lt;i&gt;}</code>" in shown and "a &lt;plan&gt;" in shown
    assert 'src="data:image/png;base64,' in shown and "attachment:" not in shown
