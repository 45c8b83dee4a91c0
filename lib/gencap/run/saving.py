"""Notebooks with their outputs: saved in place, small and the same from run to run, or as a page without network."""

import base64
import contextlib
import functools
import html
import io
import json
import logging
import os
import re
import sys
import warnings
from pathlib import Path

import nbformat
from PIL import Image

from .. import __version__
from ..resources import fingerprint, project_folder, replacing
from .execution import execute

VIEW, STATE = "application/vnd.jupyter.widget-view+json", "application/vnd.jupyter.widget-state+json"
CELL_FILE = r"\S*ipykernel_\d+[/\\]\d+\.py"  # where a warning says that a cell stands; nbval's rules say CELL as well
AT_START = r"\d+(%\||it \[)"  # what tqdm writes of a loop with a total, and of one without or of none


def save_executed(path):
    """Execute a notebook with the parameters in it and write it back, outputs included.

    The run sees the embedded data only, as the tests that compare the saved outputs do. Pictures get a palette, and
    timing marks and empty widget settings go: a saved notebook stays under about 400 KB. Its metadata names the
    library's version and the hash of its cells, so that `faults` knows it again.

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
    ValueError
        The outputs have `faults`; the file is left as it was.
    """
    path = Path(path).resolve()
    notebook = nbformat.read(path, as_version=4)
    execute(notebook, path.parent, os.environ | {"GENCAP_DATA": ""})
    finish_bars(notebook)
    shrink(notebook)
    notebook.metadata["gencap"] = {"sources": _sources(notebook), "version": __version__}
    # Widgets are named at random: by their order they are the same every time.
    names = {name: f"{n:032x}" for n, name in enumerate(_state(notebook))}
    text = re.sub("(?<![0-9a-f])[0-9a-f]{32}(?![0-9a-f])", lambda m: names.get(m[0], m[0]), nbformat.writes(notebook))
    notebook = nbformat.reads(text, as_version=4)
    if found := faults(notebook):
        raise ValueError(f"its outputs cannot be saved: {'; '.join(found)}")
    with replacing(path, "w") as stream:
        nbformat.write(notebook, stream)
    return path.stat().st_size


def faults(notebook):
    """Return what shows, in words, that a notebook is not as `save_executed` left it; an empty list if nothing does."""
    mark, state = notebook.metadata.get("gencap", {}).get("sources"), _state(notebook)
    found = ["was edited after gencap save" if mark else "was not saved by gencap save"] * (mark != _sources(notebook))
    for number, cell in enumerate(notebook.cells):
        for output in cell.get("outputs", []):
            data, known = output.get("data", {}), output.get("metadata", {})
            if any(kind.startswith("image/") and not known.get(kind, {}).get("alt", "").strip() for kind in data):
                found.append(f"cell {number} shows a picture without alternative text, which gc.plots.style() gives")
            if VIEW in data and data[VIEW]["model_id"] not in state:
                found.append(f"cell {number} shows a widget without its state")
            elif VIEW in data and re.search(r"\b0(%\||it \[)", data.get("text/plain", "")):
                found.append(f"cell {number} shows a progress bar at 0 %")
    if set(_parts(state)) - state.keys():
        found.append("parts of widgets have no state")
    return found


def _sources(notebook):
    """Hash of the kinds and sources of the cells."""
    return fingerprint([(c.cell_type, c.source) for c in notebook.cells])


def _state(notebook):
    """The models of the notebook's widgets: {id: model}."""
    return notebook.metadata.get("widgets", {}).get(STATE, {}).get("state", {})


def _parts(model):
    """The ids of the widgets that a model is made of."""
    return re.findall(r"IPY_MODEL_(\w+)", json.dumps(model))


def finish_bars(notebook):
    """Put the last state of each progress bar, a line of text, in place of its widget, which shows the first one."""
    state = _state(notebook)
    for data in (output.get("data", {}) for cell in notebook.cells for output in cell.get("outputs", [])):
        label = re.match(rf"(.*?) *{AT_START}", data.get("text/plain", ""))
        gone = [data[VIEW]["model_id"]] if VIEW in data and label else []
        models = [state[part] for name in gone for part in _parts(state.get(name)) if part in state]
        bar = next((m["state"] for m in models if m["model_name"] == "FloatProgressModel"), None)
        if bar:
            total = bar["max"]
            done = bar["value"] if bar["bar_style"] == "danger" else total  # danger: its loop was left early
            share = done / max(total, 1)
            last = f"{share:4.0%}|{'█' * int(10 * share):10}| {done:.0f}/{total:.0f}"
            if label[2] == "it [":  # the bar does not count; the words beside it do, as in 3/?
                words = [m["state"]["value"] for m in models if m["model_name"] == "HTMLModel"]
                last = re.search(r"\d+/[\d?]+", words[-1])[0]
            data["text/plain"] = f"{label[1]} {last}".lstrip()
            del data[VIEW]
            while gone:
                gone += _parts(state.pop(gone.pop(), None))


def shrink(notebook):
    """Take from an executed notebook what no reader sees; pictures keep their looks."""
    for number, cell in enumerate(notebook.cells):
        cell.metadata.pop("execution", None)
        for output in cell.get("outputs", []):
            if "text" in output:  # a warning names its file: not where that lies on this machine
                for folder in (sys.prefix, project_folder()):
                    output["text"] = output["text"].replace(f"{folder}{os.sep}", "")
                output["text"] = re.sub(CELL_FILE, "CELL", output["text"])
            if given := output.get("data", {}).get("image/png"):
                try:
                    flat = on_white(given).quantize(64, Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE)
                    small = encoded(flat, "png", optimize=True, dpi=flat.info["dpi"])
                    output["data"]["image/png"] = min(given, small, key=len)
                except Exception as error:  # Pillow raises many kinds
                    warnings.warn(f"the picture of cell {number} is kept as it is: {error}", stacklevel=2)
    for model in _state(notebook).values():
        if model["model_name"] == "LayoutModel":
            model["state"] = {name: value for name, value in model["state"].items() if value is not None}


def on_white(encoded):
    """A base64 picture as a Pillow image without transparency; its dpi stay."""
    picture = Image.open(io.BytesIO(base64.b64decode(encoded))).convert("RGBA")
    flat = Image.alpha_composite(Image.new("RGBA", picture.size, "white"), picture).convert("RGB")
    flat.info["dpi"] = picture.info.get("dpi")
    return flat


def encoded(picture, kind, **options):
    """A Pillow image in base64."""
    stream = io.BytesIO()
    picture.save(stream, kind, **options)
    return base64.b64encode(stream.getvalue()).decode()


def page(path, folder):
    """Return an executed notebook as one HTML page that needs no network.

    Formulas are MathML, pictures stand in the page, an explorer is shown by its picture. What cannot be converted is
    shown as it is written: a formula as TeX, a picture that is missing by its alternative text.

    Parameters
    ----------
    path : path-like
        The executed notebook.
    folder : path-like
        Where the pictures lie that its text names.

    Returns
    -------
    str
    """
    from jinja2 import FileSystemLoader, pass_context
    from math_core import LatexError, LatexToMathML
    from nbconvert import HTMLExporter
    from nbconvert.filters.markdown_mistune import IPythonRenderer, MarkdownWithMath

    convert = LatexToMathML().convert_with_local_state

    class _Renderer(IPythonRenderer):
        def block_math(self, body, display=True):
            with contextlib.suppress(LatexError):
                return convert(body, displaystyle=display)
            return f"<code>{html.escape(body)}</code>"

        inline_math = functools.partialmethod(block_math, display=False)

        def latex_environment(self, name, body):
            return self.block_math(f"\\begin{{{name}}}{body}\\end{{{name}}}")

        def image(self, text, url, title=None):
            with contextlib.suppress(Exception):
                return super().image(text, url, title)
            return html.escape(text)

    @pass_context
    def markdown2html(context, source):
        given = {"attachments": context.get("cell", {}).get("attachments", {}), "path": str(folder)}
        return MarkdownWithMath(_Renderer(escape=False, embed_images=True, **given)).render(source)

    notebook = nbformat.read(path, as_version=4)
    finish_bars(notebook)
    notebook.metadata.pop("widgets", None)  # without their state the exporter shows the pictures of views
    # Without a logger of ours it counts the images without alternative text at every page.
    quiet = {"log": logging.Logger("page", logging.ERROR), "template_file": "page.html.j2"}
    loaders, filters = [FileSystemLoader(Path(__file__).parent)], {"markdown2html": markdown2html}
    exporter = HTMLExporter(extra_loaders=loaders, filters=filters, **quiet)
    return exporter.from_notebook_node(notebook, {"metadata": {"name": Path(path).stem}})[0]
