"""What notebooks and README take from the library exists, stays what it is, and is called as it wants to be called."""

import ast
import importlib
import inspect
import json
import re
import types
from pathlib import Path

import pytest

import gencap

ROOT = Path(__file__).parents[2]
TEXTS = [*sorted((ROOT / "notebooks").rglob("*.ipynb")), ROOT / "README.md"]
MISSING = object()


def code(path):
    """The code of a notebook, without what only IPython understands, or the blocks of a page."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".md":
        return "\n".join(re.findall(r"^```python\n(.*?)^```", text, re.S | re.M))
    cells = [cell for cell in json.loads(text)["cells"] if cell["cell_type"] == "code"]
    return "\n".join(re.sub(r"^(\s*)[%!?].*", r"\1pass", "".join(cell["source"]), flags=re.M) for cell in cells)


def names(tree):
    """Dict of name -> what it stands for, of all that is imported from the library."""
    found = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.asname or alias.name: gencap for alias in node.names if alias.name == "gencap"}
        elif isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "gencap":
            module = importlib.import_module(node.module)
            for alias in node.names:
                if not hasattr(module, alias.name):  # a room that nobody has loaded yet
                    importlib.import_module(f"{node.module}.{alias.name}")
                found[alias.asname or alias.name] = getattr(module, alias.name)
    return found


def meaning(node, known):
    """What an expression like `gc.plots.style` stands for; MISSING if the library has no such thing, else None."""
    if isinstance(node, ast.Name):
        return known.get(node.id)
    if not isinstance(node, ast.Attribute):
        return None
    holder = meaning(node.value, known)
    is_ours = isinstance(holder, types.ModuleType) or inspect.isclass(holder)
    return getattr(holder, node.attr, MISSING) if is_ours else holder if holder is MISSING else None


def wrong(tree):
    known = names(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node.id in known:
            yield f"{node.id} is assigned, and was the library's"
        if meaning(node, known) is MISSING and meaning(node.value, known) is not MISSING:
            yield f"{ast.unparse(node)} does not exist"
        function = meaning(node.func, known) if isinstance(node, ast.Call) else None
        if inspect.isfunction(function) or inspect.isclass(function):
            given = [arg for arg in node.args if not isinstance(arg, ast.Starred)]
            keywords = {word.arg: word.value for word in node.keywords if word.arg}
            whole = len(given) == len(node.args) and len(keywords) == len(node.keywords)
            signature = inspect.signature(function)
            try:
                (signature.bind if whole else signature.bind_partial)(*given, **keywords)
            except TypeError as error:
                yield f"{ast.unparse(node)[:80]}: {error}"


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: path.name)
def test_calls_fit_the_library(path):
    assert list(wrong(ast.parse(code(path)))) == []


FAULTS = """gc.no_such_thing
gc.measures.no_such_thing(X)
ranks.map_rows_of(X)
ranks = 3
gc.bic(1.0, 2)
gc.gaussian_table(X, 3)
gc.AnnealedKMeans(3, n_inits=2)
gc.Trajectory.read(path)""".splitlines()


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_found(fault):
    head = "import gencap as gc\nfrom gencap.theory import rank as ranks\n"
    assert list(wrong(ast.parse(head + "ranks.low_rank(X, 3)\ngc.gaussian_table(X, random_state=3)"))) == []
    assert len(list(wrong(ast.parse(head + fault)))) == 1
