"""What made a result, as a hash: the code of a user's own classes and functions, and the versions of what is installed.

A name says nothing about a class that is being worked on. What a notebook or a module of the user's own defines is
therefore followed as Python runs it: byte code, defaults, enclosed values, class attributes, and the globals that are
read, with their own code in turn. What is installed counts by its version, gencap itself by its files.
"""

import dis
import functools
import pickle
import platform
import sys
from importlib.metadata import version
from pathlib import Path
from types import BuiltinFunctionType, CellType, CodeType, FunctionType, MappingProxyType, ModuleType

from joblib.hashing import NumpyHasher

from ..resources import PACKAGE

PACKAGES = ("numpy", "scipy", "numba", "scikit-learn")  # a capacity is computed with these
LIBRARY = [path.read_bytes() for path in sorted(PACKAGE.rglob("*.py"))]
# Of code everything but where it stands, so that a line added above it changes nothing; of a class likewise.
CODE = """code consts names varnames freevars cellvars flags argcount posonlyargcount kwonlyargcount
exceptiontable""".split()
# Python puts some of them there when they are asked for.
PLACE = """__dict__ __doc__ __module__ __weakref__ __firstlineno__ __static_attributes__ __slotnames__ __annotations__
__annotations_cache__ __annotate_func__ _abc_impl""".split()
HOLDERS = property | classmethod | staticmethod | functools.cached_property
HELD = "fget fset fdel func __wrapped__ targetoptions".split()  # functools.cache and numba wrap a function too


def made_by(obj):
    """Hash of an object with all the code of the user's own behind it, and of the versions of Python and packages.

    Raises
    ------
    Exception
        Of any kind, where something cannot be followed: compiled code, an open file, a lock.
    """
    return _Maker().hash((platform.python_version(), [version(name) for name in PACKAGES], LIBRARY, obj))


def _own(name):
    """Whether a module is the user's: not gencap, not Python's, not installed."""
    if name == "__main__" or name not in sys.modules:
        return True
    file = Path(getattr(sys.modules[name], "__file__", None) or "")
    known = name.partition(".")[0] in {"gencap", *sys.stdlib_module_names}
    return not known and not {"site-packages", "dist-packages"} & {*file.parts}


def _globals(code):
    """Names of the globals that code reads, in functions inside it as well."""
    names = {step.argval for step in dis.get_instructions(code) if step.opname in ("LOAD_GLOBAL", "LOAD_NAME")}
    return names.union(*(_globals(inner) for inner in code.co_consts if isinstance(inner, CodeType)))


class _Maker(NumpyHasher):
    """joblib's hash, which knows modules, classes and functions by name only, with what is behind the names."""

    def __init__(self):
        super().__init__()
        self.seen = set()

    def save(self, obj):
        super().save(self._parts(obj))

    def save_global(self, obj, name=None):
        if _own(pickle.whichmodule(obj, name)):
            raise pickle.PicklingError(f"{obj!r} has no Python code")
        super().save_global(obj, name)

    def _batch_setitems(self, items, *args):  # joblib's tries twice, and what failed once would be known by name then
        pickle._Pickler._batch_setitems(self, iter(sorted(items, key=lambda item: repr(item[0]))), *args)

    def _parts(self, obj):
        """An object that joblib's hash takes as it is, or what it consists of."""
        if isinstance(obj, set | frozenset):
            return [type(obj).__name__, sorted(obj, key=repr)]
        if isinstance(obj, MappingProxyType):
            return dict(obj)
        if isinstance(obj, CodeType):
            return [getattr(obj, f"co_{name}") for name in CODE]
        if isinstance(obj, CellType):
            return [] if obj == CellType() else [obj.cell_contents]
        compiled = isinstance(obj, BuiltinFunctionType) and isinstance(obj.__self__, ModuleType)
        if not compiled and not isinstance(obj, ModuleType | FunctionType | type):
            holds = isinstance(obj, HOLDERS) or "__wrapped__" in (getattr(obj, "__dict__", None) or {})
            return [type(obj).__name__, *(getattr(obj, name, None) for name in HELD)] if holds else obj
        module = obj.__name__ if isinstance(obj, ModuleType) else obj.__module__ or "builtins"
        called = getattr(obj, "__qualname__", module)
        if not _own(module):
            return module, called, getattr(sys.modules.get(module.partition(".")[0]), "__version__", None)
        if compiled:
            self.save_global(obj, called)
        if id(obj) in self.seen:
            return called
        self.seen.add(id(obj))
        if isinstance(obj, ModuleType):
            path = Path(obj.__file__)
            files = sorted(path.parent.rglob("*.py")) if hasattr(obj, "__path__") else [path]
            return called, [file.read_bytes() for file in files]
        if isinstance(obj, type):
            members = {k: v for k, v in vars(obj).items() if k not in PLACE and not hasattr(v, "__objclass__")}
            return called, obj.__bases__, members
        known = {name: obj.__globals__[name] for name in _globals(obj.__code__) & obj.__globals__.keys()}
        return called, obj.__code__, obj.__defaults__, obj.__kwdefaults__, obj.__closure__, known, vars(obj)
