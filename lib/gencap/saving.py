"""Saving notebooks with their outputs: executed top to bottom, small, and without what changes from run to run."""

import base64
import io
import os

import nbformat
from PIL import Image

from .execution import execute
from .resources import project_folder, replacing

__all__ = ["save_executed"]

COLOURS = 64  # of a picture's palette; figures have few, and a palette is a quarter of the size


def save_executed(path):
    """Execute a notebook with the parameters in it and write it back, outputs included.

    The run sees the embedded data only, as the tests that compare the saved outputs do. Pictures get a palette, and
    timing marks and empty widget settings go: a saved notebook stays under about 400 KB.

    Parameters
    ----------
    path : path-like

    Returns
    -------
    int
        Size of the written file in bytes.

    Raises
    ------
    nbclient.exceptions.CellExecutionError
        A cell failed; the file is left as it was.
    """
    notebook = nbformat.read(path, as_version=4)
    environment = {name: value for name, value in os.environ.items() if name != "GENCAP_DATA"}
    execute(notebook, os.path.dirname(path) or ".", environment)
    shrink(notebook)
    with replacing(path, "w") as stream:
        nbformat.write(notebook, stream)
    return os.path.getsize(path)


def shrink(notebook):
    """Take from an executed notebook what no reader sees; pictures keep their looks."""
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)
        for output in cell.get("outputs", []):
            if "text" in output:  # a warning names its file: not where that lies on this machine
                output["text"] = output["text"].replace(f"{project_folder()}{os.sep}", "")
            if "image/png" in output.get("data", {}):
                output["data"]["image/png"] = _with_palette(output["data"]["image/png"])
    state = notebook.metadata.get("widgets", {}).get("application/vnd.jupyter.widget-state+json", {}).get("state", {})
    for model in state.values():
        if model["model_name"] == "LayoutModel":
            model["state"] = {name: value for name, value in model["state"].items() if value is not None}


def _with_palette(encoded):
    """A base64 PNG with at most 64 colours, or as given if that is smaller."""
    given = base64.b64decode(encoded)
    picture = Image.open(io.BytesIO(given))
    if picture.mode == "P":
        return encoded
    flat = Image.new("RGB", picture.size, "white")
    flat.paste(picture, mask=picture.getchannel("A") if picture.mode == "RGBA" else None)
    stream = io.BytesIO()
    flat.quantize(COLOURS, Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE).save(stream, "png", optimize=True)
    return base64.b64encode(stream.getvalue()).decode() if stream.tell() < len(given) else encoded
