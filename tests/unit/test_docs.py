"""What the public names say of themselves: numpydoc's rules, examples that run, the same words for the same things."""

import ast
import importlib
import inspect
import pkgutil
import re
import types
from pathlib import Path

import pytest
from numpydoc.validate import validate

import gencap as gc

ROOT = Path(__file__).parents[2]
# A short list: what a reader misses, or what would make a page wrong. Style is left to the reader of the page.
RULES = {
    "GL05": "tabs",
    "GL06": "an unknown section",
    "GL07": "sections in another order",
    "GL08": "no docstring",
    "SS03": "a summary that is no sentence",
    "PR01": "a parameter that is not described",
    "PR02": "a parameter that does not exist",
    "PR03": "parameters in another order",
    "PR10": "no space before the colon of a type",
    "RT01": "what is returned is not described",
    "YD01": "what is yielded is not described",
    "EX01": "no example",
}
FOR_ROOMS = ("checks", "resources")  # names that rooms give each other: not for the reader of a lesson
# Examples on files that may not be embedded, and one that writes into build/.
NO_DATA = {"investigate", "load_webkb", "load_access_control", "load_mussel", "load_cmu_faces", "load_rcv1"}


def public():
    """Dict of dotted name -> object: what `gc.NAME` and `gc.ROOM.NAME` give, and the methods of the classes."""
    found = {}
    for name in gc.__all__:
        thing = getattr(gc, name)
        if not isinstance(thing, types.ModuleType):
            things = [thing]
        elif name in FOR_ROOMS:
            continue
        else:
            things = [getattr(thing, key) for key in dir(thing) if not key.startswith("_")]
        for one in things:
            home = str(getattr(one, "__module__", ""))
            is_code = inspect.isfunction(one) or inspect.isclass(one)
            if is_code and home.startswith("gencap") and home.removeprefix("gencap.") not in FOR_ROOMS:
                found[f"{home}.{one.__qualname__}"] = one
    for name, cls in list(found.items()):
        if inspect.isclass(cls):
            methods = {key: one for key, one in vars(cls).items() if inspect.isfunction(one) and key[0] != "_"}
            found |= {f"{name}.{key}": one for key, one in methods.items()}
    return dict(sorted(found.items()))


PUBLIC = public()
FUNCTIONS = {name: one for name, one in PUBLIC.items() if inspect.isfunction(one) and name.count(".") == 3}


def is_result(thing):
    """Classes of what functions give back: their attributes are described, and nobody makes one by hand."""
    given = inspect.isclass(thing) and (hasattr(thing, "__dataclass_fields__") or issubclass(thing, tuple | Warning))
    return given and (issubclass(thing, Warning) or "Attributes\n" in (thing.__doc__ or ""))


def excepted(name, thing):
    """Rules that do not hold for a thing."""
    if is_result(thing):
        return {"PR01", "EX01"}
    return {"EX01"} if name not in FUNCTIONS and not inspect.isclass(thing) else set()  # a class shows its methods


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of what widgets inherit
@pytest.mark.parametrize("name", PUBLIC)
def test_the_docstring_keeps_numpydocs_rules(name):
    wanted = RULES.keys() - excepted(name, PUBLIC[name])
    assert [f"{code} {text}" for code, text in validate(name)["errors"] if code in wanted] == []


@pytest.mark.parametrize("name", [name for name, one in PUBLIC.items() if inspect.isclass(one)])
def test_every_property_says_what_it_is(name):
    """`validate` has no rule for what a class keeps: properties have a docstring of their own."""
    kept = {key: value for key, value in vars(PUBLIC[name]).items() if isinstance(value, property) and key[0] != "_"}
    assert [key for key, value in kept.items() if not (value.__doc__ or "").strip()] == []


def test_examples_run():
    """The suite collects the docstrings of the library, and leaves out only what needs files from elsewhere."""
    assert '"--doctest-modules", "tests/unit", "lib/gencap"' in (ROOT / "run.py").read_text(encoding="utf-8")
    skipped = {one.__name__ for one in PUBLIC.values() if "+SKIP" in (one.__doc__ or "")}
    assert skipped <= NO_DATA
    rooms = {path: ast.parse(path.read_text(encoding="utf-8")) for path in (ROOT / "lib/gencap").rglob("*.py")}
    kinds = (ast.FunctionDef, ast.ClassDef)
    texts = [node for tree in rooms.values() for node in ast.walk(tree) if isinstance(node, kinds)]
    assert {node.name for node in texts if "+SKIP" in (ast.get_docstring(node) or "")} == skipped


# Wings whose functions are called by hand, also as ROOM.NAME: all that have no underscore.
WINGS = "datasets views validation theory show".split()
ROOMS = [importlib.import_module(f"gencap.{wing}.{room.name}") for wing in WINGS
         for room in pkgutil.iter_modules(importlib.import_module(f"gencap.{wing}").__path__)]  # fmt: skip
BY_HAND = {
    f"{room.__name__.removeprefix('gencap.')}.{name}": one
    for room in ROOMS
    for name, one in vars(room).items()
    if inspect.isfunction(one) and one.__module__ == room.__name__ and name[0] != "_"
}
# Parameters with a default that may stand without a name: data, and the numbers that are offered or drawn.
DATA = set("X X2 labels centroids classes class_names conditions selected n_clusters max_rank n_objects sizes".split())
DATA |= {"n_per_group", "n_per_cloud"}
POSITIONAL = {  # function and parameter -> reason
    "distinct_labels.t": "the step of a trajectory, as in Trajectory.labels(t)",
    "assignment_probabilities.t": "the step of a trajectory, as in Trajectory.labels(t)",
    "load_yeast.subset": "the name of the data set",
}


@pytest.mark.parametrize("name", BY_HAND)
def test_options_are_keywords(name):
    """After the data, the model and the offered numbers: what has a default is an option."""
    function = BY_HAND[name]
    parameters = inspect.signature(function).parameters.values()
    options = [p for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD and p.default is not p.empty]
    names = [p.name for p in options if p.name not in DATA and f"{function.__name__}.{p.name}" not in POSITIONAL]
    assert names == []


def test_exceptions_have_a_user():
    known = {f"{one.__name__}.{key}" for one in BY_HAND.values() for key in inspect.signature(one).parameters}
    assert known >= POSITIONAL.keys() | OTHER_COUNTS.keys()


REPEATS = re.compile(
    "n_(repetitions|repeat|splits|references|random|nulls|draws|resamples|trials|runs|folds|codebooks)"
)
OTHER_COUNTS = {  # function and parameter -> reason
    "compare_models.n_nulls": "null tables for every split, beside n_repeats, the splits",
    "select_n_roles.n_folds": "parts of one partition, as scikit-learn calls them; nothing is repeated",
    "simulate_channel.n_codebooks": "what is drawn, beside n_messages; the noise is not drawn again",
}


def test_repeats_are_called_n_repeats():
    callables = [one for one in PUBLIC.values() if not (inspect.isclass(one) and issubclass(one, Warning))]
    names = {
        f"{one.__name__}.{key}" for one in [*callables, *BY_HAND.values()] for key in inspect.signature(one).parameters
    }
    assert {name for name in names if REPEATS.fullmatch(name.split(".")[1])} <= OTHER_COUNTS.keys()
    assert "select_by_transfer_cost.n_repeats" in names
