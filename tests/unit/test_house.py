"""The house: imports run downwards, private names stay at home, models are known by their contract, and it is small.

Room = module, wing = folder, arrow = an import. The picture stands in CONTRIBUTING.md.
"""

import ast
import io
import re
import tokenize
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

LIBRARY = Path(__file__).parents[2] / "lib/gencap"
MOST_LINES = 8_200  # with own data, course and book; of code: no comments, docstrings, blank lines
MOST_LINES_OF_A_ROOM = 400  # a room that outgrows them is split by concept
MOST_ROOMS = {"models": 16}  # of a wing; ten elsewhere
BY_NAME = {
    "validation.criteria": {"AnnealedKMeans"},  # the model of the gap statistic where the caller gives none
    "run.own": set("AdaptiveRatioCut AnnealedKMeans CorrelationClustering NormalizedCut PairwiseClustering".split())
    | {"RestartWarning"},
}  # the second: what the words of a command stand for, and what is not told of each of hundreds of coolings
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


@cache
def private_names(tree):
    """Private names that a room defines, gives to itself or declares in its head, and those it asks of other things."""
    own, asked = set(re.findall(r"`(_\w+)", ast.get_docstring(tree) or "")), set()
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            own.add(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            own.add(node.id)
        elif isinstance(node, ast.Attribute):
            by_itself = isinstance(node.value, ast.Name) and node.value.id in ("self", "cls")
            (own if by_itself else asked).add(node.attr)
    return tuple({name for name in names if name.startswith("_") and not name.endswith("__")} for names in (own, asked))


@pytest.mark.parametrize("room", PATHS)
def test_private_names_stay_in_their_room(room):
    """No `from ..room import _name`, and no `thing._name` that only another room gave to the thing."""
    taken = {name for _, name in imports(room) if name and name.startswith("_") and name != "__version__"}
    own, asked = private_names(TREES[room])
    if wing(room) == "models":  # the head of the base says what a model gives
        own = own | private_names(TREES["models.base"])[0]
    others = {name for other in PATHS if other != room for name in private_names(TREES[other])[0]}
    wrong = taken | (asked & others - own)
    assert sorted(wrong) == []


@pytest.mark.parametrize("room", [room for room in PATHS if wing(room) in ("validation", "theory", "show", "run")])
def test_models_are_known_by_their_contract(room):
    """Tags and methods say what a model can do: outside of docstrings its class has no name here."""
    models = {cls.name for path, tree in TREES.items() if wing(path) == "models" for cls in classes(tree)}
    words = set()
    for node in ast.walk(TREES[room]):
        if isinstance(node, ast.Name | ast.Attribute):
            words.add(node.id if isinstance(node, ast.Name) else node.attr)
        elif isinstance(node, ast.ImportFrom):
            words |= {alias.name for alias in node.names}
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and " " not in node.value:
            words.add(node.value)
    assert words & models == BY_NAME.get(room, set())


def classes(tree):
    return (node for node in ast.walk(tree) if isinstance(node, ast.ClassDef) and not node.name.startswith("_"))


def test_only_the_package_loads_rooms_by_name():
    """What `import_module` is given no reader of imports can see."""
    asked = {
        room
        for room, tree in TREES.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Name | ast.Attribute)
        and getattr(node, "id", getattr(node, "attr", "")) in ("import_module", "__import__")
    }
    assert "__init__" in asked and asked <= {"__init__", "resources"}  # these ask for the packages of an extra


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


@pytest.mark.parametrize("room", PATHS)
def test_a_room_is_small(room):
    assert lines_of_code(room) <= MOST_LINES_OF_A_ROOM


UNIT = Path(__file__).parent
TESTED_IN = {  # rooms without a test file of their own -> file, and the word by which it calls them
    "__main__": "run/test_runner.py __main__",
    "datasets.images": "theory/test_rank.py images",
    "datasets.loaders": "datasets/test_generators.py load_webkb",
    "models.spectrum": "models/test_similarity.py top_eigenvalue",
    "run.execution": "run/test_runner.py runner",
    "theory.codes": "validation/test_capacity.py kary_capacity",
    "validation.evaluation": "validation/test_comparison.py evaluate",
}
OF_NO_ROOM = {  # tests of more than a room
    "test_calls.py": "notebooks and README",
    "test_lessons.py": "the form of the lessons",
    "test_docs.py": "docstrings and signatures of all public names",
    "test_environment.py": "dependencies",
    "test_house.py": "this file",
    "test_package.py": "the package as a whole",
    "test_run_py.py": "run.py, which is no part of the package",
    "test_toy_model.py": "a model of one's own in all wings",
    "models/test_contract.py": "all models",
    "run/test_notebook_parameters.py": "notebooks",
    "run/test_notebook_series.py": "notebook 15",
    "run/test_notebook_text.py": "notebook 23",
    "run/test_notebook_yeast.py": "notebook 19",
    "validation/test_noise.py": "every way to a capacity",
    "validation/test_transfer_graphs.py": "half of validation.transfer",
    "validation/test_transfer_vectors.py": "half of validation.transfer",
}


def test_tests_mirror_the_wings():
    """Kernels aside: they are tested by what the rooms that call them compute."""
    rooms = {room for room in PATHS if not room.endswith("__init__") and wing(room) != "kernels"}
    files = {path.relative_to(UNIT).as_posix() for path in UNIT.rglob("test_*.py")}
    own = {room: "/".join([*room.split(".")[:-1], f"test_{room.split('.')[-1]}.py"]) for room in rooms}
    assert {room for room, file in own.items() if file not in files} == set(TESTED_IN)
    assert files - set(own.values()) == set(OF_NO_ROOM)
    for file, word in map(str.split, TESTED_IN.values()):
        assert word in (UNIT / file).read_text(encoding="utf-8"), (file, word)


# Guards that never saw a fault may be asleep: each is shown one here.
FAULTS = {
    "upwards": ("views.measures", "from ..validation.capacity import Capacity", test_imports_run_downwards),
    "upwards, absolute": ("views.measures", "from gencap.run import runner", test_imports_run_downwards),
    "upwards, whole": ("kernels.kmeans", "import gencap.models.base", test_imports_run_downwards),
    "upwards, later": ("trajectory", "def f():\n    from .show import plots", test_imports_run_downwards),
    "the package": ("models.base", "import gencap", test_imports_run_downwards),
    "flat": ("models.base", "from .. import Trajectory", test_imports_run_downwards),
    "circle": ("models.base", "from .centroid import AnnealedKMeans", test_no_circle),
    "private import": ("models.cuts", "from .centroid import _frozen", test_private_names_stay_in_their_room),
    "private attribute": ("validation.capacity", "model._anneal(X)", test_private_names_stay_in_their_room),
    "isinstance": (
        "validation.capacity",
        "from ..models.pairwise import PairwiseClustering as P\nisinstance(m, P)",
        test_models_are_known_by_their_contract,
    ),
    "name": ("show.plots", 'type(m).__name__ == "DominantSets"', test_models_are_known_by_their_contract),
    "attribute": ("theory.phases", "isinstance(m, centroid.AnnealedKMeans)", test_models_are_known_by_their_contract),
    "hidden import": ("views.measures", "importlib.import_module(name)", test_only_the_package_loads_rooms_by_name),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_guard_wakes_up(fault, monkeypatch):
    room, code, guard = FAULTS[fault]
    source = f"{PATHS[room].read_text(encoding='utf-8')}\n{code}\n"
    monkeypatch.setitem(TREES, room, ast.parse(source))
    with pytest.raises((AssertionError, CycleError)):
        guard(room) if guard.__code__.co_argcount else guard()


def test_guards_of_size_wake_up(monkeypatch, tmp_path):
    long = tmp_path / "room.py"
    long.write_text('"""Head."""\n\n# No line of code.\n' + "x = 1\n" * 6000)
    (tmp_path / "short.py").write_text("x = 1\n")
    for number in range(17):
        path = tmp_path / "short.py" if number else long
        monkeypatch.setitem(PATHS, f"models.new{number}", path)
        monkeypatch.setitem(TREES, f"models.new{number}", ast.parse(path.read_text()))
    assert lines_of_code("models.new0") == 6000
    for guard in (test_a_wing_has_few_rooms, test_the_library_is_small, test_tests_mirror_the_wings):
        with pytest.raises(AssertionError):
            guard()
    with pytest.raises(AssertionError):
        test_a_room_is_small("models.new0")
