"""The house: imports run downwards, private names stay at home, models are known by their contract, and it is small.

Room = module, wing = folder, arrow = an import. The picture stands in CONTRIBUTING.md.
"""

import ast
import re
import io
import tokenize
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

LIBRARY = Path(__file__).parents[2] / "lib/gencap"
MOST_LINES = 5_000  # of code: no comments, docstrings, blank lines
MOST_ROOMS = {"models": 16}  # of a wing; ten elsewhere
# From the ground up. A wing may use what stands before it, and itself.
FLOORS = (
    ("kernels",),
    ("checks", "resources", "trajectory"),
    ("datasets",),
    ("views",),
    ("models",),
    ("validation",),
    ("theory",),
    ("show",),
    ("run",),
    ("__main__",),
)
FLOOR = {wing: number for number, wings in enumerate(FLOORS) for wing in wings}
PATHS = {".".join(path.relative_to(LIBRARY).with_suffix("").parts): path for path in sorted(LIBRARY.rglob("*.py"))}
TREES = {room: ast.parse(path.read_text(encoding="utf-8")) for room, path in PATHS.items()}


def wing(room):
    return room.split(".")[0]


def imports(room):
    """Pairs (room, name) of what a room takes from the library, anywhere in it; name None: the room as a whole."""
    for node in ast.walk(TREES[room]):
        if isinstance(node, ast.Import):
            yield from ((alias.name.removeprefix("gencap."), None) for alias in node.names if "gencap" in alias.name)
        elif isinstance(node, ast.ImportFrom) and (node.level or (node.module or "").split(".")[0] == "gencap"):
            here = room.split(".")[: -node.level] if node.level else []
            module = [*here, *(node.module or "").removeprefix("gencap").strip(".").split(".")]
            module = ".".join(part for part in module if part)
            for alias in node.names:
                whole = ".".join(part for part in (module, alias.name) if part)
                is_room = whole in PATHS or f"{whole}.__init__" in PATHS
                yield (whole, None) if is_room else (module or "__init__", alias.name)


@pytest.mark.parametrize("room", [room for room in PATHS if room != "__init__"])
def test_imports_run_downwards(room):
    assert wing(room) in FLOOR, "a new wing: name its floor in FLOORS"
    upwards = {
        (other, name)
        for other, name in imports(room)
        if (other, name) != ("__init__", "__version__") and FLOOR.get(wing(other), 99) > FLOOR[wing(room)]
    }
    assert sorted(upwards) == []


def test_no_circle():
    order = TopologicalSorter({room: {other for other, _ in imports(room)} - {"__init__"} for room in PATHS})
    assert list(order.static_order())  # CycleError names the circle


def private_names(room):
    """Private names that a room defines or gives to itself, and those that it asks of other things."""
    own, asked = set(), set()
    for node in ast.walk(TREES[room]):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            own.add(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            own.add(node.id)
        elif isinstance(node, ast.Attribute):
            by_itself = isinstance(node.value, ast.Name) and node.value.id in ("self", "cls")
            (own if by_itself else asked).add(node.attr)
    return ({name for name in names if name.startswith("_") and not name.endswith("__")} for names in (own, asked))


@pytest.mark.parametrize("room", PATHS)
def test_private_names_stay_in_their_room(room):
    """No `from ..room import _name`, and no `thing._name` that only another room gave to the thing."""
    taken = {name for _, name in imports(room) if name and name.startswith("_") and name != "__version__"}
    own, asked = private_names(room)
    others = {name for other in PATHS if other != room for name in next(private_names(other))}
    if wing(room) == "models":  # what the base says that a model gives, asked of a prepared copy of it
        own |= set(re.findall(r"`(_\w+)\(", ast.get_docstring(TREES["models.base"])))
    wrong = taken | (asked & others - own)
    assert sorted(wrong) == []


@pytest.mark.parametrize("room", [room for room in PATHS if wing(room) in ("validation", "theory", "show", "run")])
def test_models_are_known_by_their_contract(room):
    """No isinstance of a model: tags and methods say what it can do."""
    models = {name for other, name in imports(room) if wing(other) == "models"}
    asked = {
        name.id
        for node in ast.walk(TREES[room])
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") in ("isinstance", "issubclass")
        for name in ast.walk(node.args[1])
        if isinstance(name, ast.Name)
    }
    assert sorted(asked & models) == []


def test_a_wing_has_few_rooms():
    rooms = {}
    for room in PATHS:
        if "." in room and not room.endswith("__init__"):
            rooms.setdefault(wing(room), []).append(room)
    assert not {name: found for name, found in rooms.items() if len(found) > MOST_ROOMS.get(name, 10)}


def lines_of_code(room):
    """Lines that hold a token, docstrings and comments aside."""
    kinds = (ast.Module, ast.FunctionDef, ast.ClassDef)
    texts = (node.body[0] for node in ast.walk(TREES[room]) if isinstance(node, kinds) and ast.get_docstring(node))
    docstrings = {line for text in texts for line in range(text.lineno, text.end_lineno + 1)}
    empty = {getattr(tokenize, kind) for kind in "COMMENT NL NEWLINE INDENT DEDENT ENDMARKER".split()}
    tokens = tokenize.generate_tokens(io.StringIO(PATHS[room].read_text(encoding="utf-8")).readline)
    spans = (range(token.start[0], token.end[0] + 1) for token in tokens if token.type not in empty)
    return len({line for span in spans for line in span} - docstrings)


def test_the_library_is_small():
    counted = {}
    for room in PATHS:
        name = wing(room) if "." in room else "root"
        counted[name] = counted.get(name, 0) + lines_of_code(room)
    assert sum(counted.values()) <= MOST_LINES, counted
