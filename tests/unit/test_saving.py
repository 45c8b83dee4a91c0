"""Notebooks saved by the project: executed, small, and untouched when a cell fails."""

import base64
import io
import re
from pathlib import Path

import nbformat
import pytest
from nbclient.exceptions import CellExecutionError
from PIL import Image

from gencap.resources import project_folder
from gencap.saving import save_executed, shrink


def write(path, *sources):
    nbformat.write(nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(s) for s in sources]), path)
    return path


def test_outputs_are_saved_in_order_without_timing_marks(tmp_path, monkeypatch):
    monkeypatch.setenv("GENCAP_DATA", "somewhere")
    path = write(tmp_path / "a.ipynb", "x = 6 * 7", "x", "import os; 'GENCAP_DATA' in os.environ")
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
    picture.save(stream, "png")
    output = nbformat.v4.new_output("display_data", {"image/png": base64.b64encode(stream.getvalue()).decode()})
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("", outputs=[output])])
    shrink(notebook)
    data = base64.b64decode(notebook.cells[0].outputs[0].data["image/png"])
    after = Image.open(io.BytesIO(data))
    assert after.size == picture.size and len(data) <= len(stream.getvalue())
    differences = [
        abs(a - b) for a, b in zip(picture.convert("L").tobytes(), after.convert("L").tobytes(), strict=True)
    ]
    assert max(differences) <= 8  # the octree gives a grey ramp 16 of its 256 greys


def test_a_warning_is_saved_without_the_folder_of_the_project(tmp_path):
    path = write(tmp_path / "a.ipynb", f"print({str(project_folder() / 'lib' / 'x.py')!r})")
    save_executed(path)
    assert nbformat.read(path, 4).cells[0].outputs[0].text == f"{Path('lib') / 'x.py'}\n"


@pytest.mark.parametrize("path", sorted((project_folder() / "notebooks").glob("*.ipynb")), ids=lambda path: path.stem)
def test_no_saved_output_names_a_folder_of_the_machine(path):
    for cell in nbformat.read(path, 4).cells:
        for output in cell.get("outputs", []):
            found = re.search(r"(?<![\w/.])/(?:home|root|tmp|work|Users|usr|opt)/\S+", output.get("text", ""))
            assert found is None, found
