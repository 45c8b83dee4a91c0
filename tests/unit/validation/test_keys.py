"""What made a result: every change of code or version that could change it changes its hash, and nothing else does."""

import functools
import subprocess
import sys
import threading
import types

import numba
import numpy as np
import pytest
import sklearn

from gencap.validation import keys

SOURCE = """
import functools
import helper
from numpy import sqrt
WEIGHT, TABLE = 2.0, {"a": [1, 2]}

def outer(x):
    return [twice(y) for y in x]

def twice(x):
    return x * 2 if x else outer([1])

class Base:
    factor = 3
    __slots__ = ("a",)
    def scale(self, x, power=1, *, by=1): return x ** power * by

class Model(Base):
    '''Words about it.'''
    @property
    def unit(self): return WEIGHT
    @staticmethod
    def static(x): return outer(x)
    @functools.cached_property
    def kept(self): return TABLE["a"]
    @functools.cache
    def cached(self): return sqrt(helper.number())
    def scale(self, x):
        def inner(y): return y in {"p", "q"} and super(Model, self).scale
        return self.factor + (lambda y: y - 1)(x) + super().scale(x) + inner(x)
"""
HELPER = "def number(): return 1"
CHANGES = [
    ("WEIGHT, TABLE = 2.0", "WEIGHT, TABLE = 2.5"),
    ("[1, 2]", "[1, 3]"),
    ("x * 2", "x * 4"),
    ("outer([1])", "outer([0])"),
    ("factor = 3", "factor = 4"),
    ("power=1", "power=2"),
    ("*, by=1", "*, by=2"),
    ("x ** power", "x * power"),
    ("return WEIGHT", "return -WEIGHT"),
    ("return outer(x)", "return outer(x)[0]"),
    ('TABLE["a"]', 'TABLE["b"]'),
    ("sqrt(helper", "abs(helper"),
    ("import sqrt", "import cbrt as sqrt"),
    ("y - 1", "y - 2"),
    ('"q"}', '"r"}'),
    ("@functools.cache\n    ", ""),
    ("Model(Base)", "Model(Base, __import__('abc').ABC)"),
]


@pytest.fixture
def key(tmp_path, monkeypatch):
    """Hash of the class that a module of the user's own defines, from its source."""
    helper = types.ModuleType("helper")
    helper.__file__ = str(tmp_path / "helper.py")
    monkeypatch.setitem(sys.modules, "helper", helper)

    def key(source=SOURCE, helper=HELPER):
        (tmp_path / "helper.py").write_text(helper)
        module = types.ModuleType("own")
        monkeypatch.setitem(sys.modules, "own", module)
        exec(source, vars(module))
        return keys.made_by(module.Model)

    return key


@pytest.mark.parametrize("old, new", CHANGES)
def test_a_change_of_code_is_another_key(key, old, new):
    assert old in SOURCE and key(SOURCE.replace(old, new)) != key()


def test_a_change_in_a_module_that_it_imports_is_another_key(key):
    assert key(helper=HELPER.replace("1", "2")) != key()


def test_the_same_code_elsewhere_is_the_same_key(key, tmp_path):
    assert key("\n# above\n" + SOURCE.replace("Words about", "Other words about") + "\nclass Other: pass\n") == key()
    # In other processes too, with other orders of sets, whatever has been run before.
    (tmp_path / "own.py").write_text(SOURCE)
    (tmp_path / "helper.py").write_text(HELPER)
    code = "import sys; sys.path[:0] = {!r}; import own; from gencap.validation.keys import made_by as key; "
    code += "print(key(own.Model))"
    code = code.format([str(tmp_path), *sys.path])
    command = [sys.executable, "-c", code]
    found = {
        subprocess.run(command, env={"PYTHONHASHSEED": seed}, capture_output=True, check=True).stdout for seed in "12"
    }
    assert found == {key().encode() + b"\n"}


def test_functions_count_by_what_they_enclose_and_wrap():
    def make(value):
        def double(x):
            return value * x

        return double

    for kind in (make, lambda value: functools.cache(make(value)), lambda value: numba.njit(make(value))):
        assert keys.made_by(kind(2)) == keys.made_by(kind(2)) != keys.made_by(kind(3))
    assert keys.made_by(functools.partial(make(2), 1)) != keys.made_by(functools.partial(make(2), 2))
    assert keys.made_by(numba.njit(make(2))) != keys.made_by(numba.njit(fastmath=True)(make(2)))
    assert keys.made_by(np.random.default_rng(1).normal) != keys.made_by(np.random.default_rng(2).normal)


def test_versions_of_what_is_installed_count(key, monkeypatch):
    found = [key()]
    for package in keys.PACKAGES:
        with monkeypatch.context() as patch:
            patch.setattr(keys, "version", lambda name, own=keys.version, new=package: own(name) + "+" * (name == new))
            found.append(key())
    with monkeypatch.context() as patch:
        patch.setattr(keys.platform, "python_version", lambda: "3.99")
        found.append(key())
    with monkeypatch.context() as patch:
        patch.setattr(sklearn, "__version__", "0.0")
        found.append(keys.made_by(sklearn.base.clone))
    assert len(set(found)) == 7 and found[0] == key() and found[-1] != keys.made_by(sklearn.base.clone)


@pytest.mark.parametrize("value", [threading.Lock(), (i for i in "ab"), types.ModuleType("made_on_the_fly")])
def test_what_cannot_be_followed_raises(value):
    with pytest.raises((TypeError, AttributeError)):
        keys.made_by(lambda: value)
    with pytest.raises((TypeError, AttributeError)):  # a global of a method
        exec("class Model:\n    def f(self): return value", known := {"value": value, "__name__": "__main__"})
        keys.made_by(known["Model"])
