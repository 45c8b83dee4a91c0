"""What the machine gives: the project's own files, files that are never half there, and one thread for small loops."""

import csv
import hashlib
import importlib.util
import json
import os
import shutil
import threading
from contextlib import closing, contextmanager
from functools import cache
from pathlib import Path

from threadpoolctl import ThreadpoolController

_libraries = cache(ThreadpoolController)  # looking for them takes as long as a small annealing run
PACKAGE = Path(__file__).resolve().parent  # the library's own files


def data_path(name=""):
    """Path of an embedded data file, in a checkout (its `data/`) or in an installed wheel (`gencap/data/`).

    Raises
    ------
    FileNotFoundError
        No such file in either place.

    Examples
    --------
    >>> import gencap as gc
    >>> gc.resources.data_path("published/claims.csv").name
    'claims.csv'
    """
    for folder in (PACKAGE / "data", PACKAGE.parents[1] / "data"):
        if (folder / name).exists():
            return folder / name
    raise FileNotFoundError(f"{name!r} is not among the embedded data files in {folder}")


def embedded_rows(name, key):
    """Rows of an embedded CSV file.

    Parameters
    ----------
    name : str
        As in `data_path`.
    key : str
        A column that tells the rows apart.

    Returns
    -------
    dict
        {value in the column `key`: {column: text}}, in the order of the file.

    Examples
    --------
    >>> import gencap as gc
    >>> gc.resources.embedded_rows("sources.csv", "name")["webkb"]["file"]
    'webkb_linqs_877x1703.tsv.gz'
    """
    with data_path(name).open(encoding="utf-8", newline="") as file:
        return {row[key]: row for row in csv.DictReader(file)}


def fingerprint(value):
    """Hash, 16 letters, of what JSON has; of anything else by its text."""
    return hashlib.sha256(json.dumps(value, sort_keys=True, default=str).encode()).hexdigest()[:16]


def project_folder():
    """The folder of notebooks/ to run and build/ to write: the current one if it has notebooks/, or the checkout."""
    return next((at for at in (Path.cwd(), PACKAGE.parents[1]) if (at / "notebooks").is_dir()), Path.cwd())


def require(extra, *modules):
    """The first of `modules`, imported; where one of them is missing, the error says which extra of gencap brings it.

    Raises
    ------
    ImportError
        One of them is not installed.

    Examples
    --------
    >>> from gencap.resources import require
    >>> require("plots", "json", "pillow_of_the_future")
    Traceback (most recent call last):
        ...
    ImportError: not installed: pillow_of_the_future; pip install "gencap[plots]" brings what is needed here
    """
    if missing := [name for name in modules if importlib.util.find_spec(name) is None]:
        words = f'not installed: {", ".join(missing)}; pip install "gencap[{extra}]" brings what is needed here'
        raise ImportError(words, name=missing[0])
    return importlib.import_module(modules[0])


@contextmanager
def replacing(path, mode="wb"):
    """Open a temporary file beside `path`; it takes the name `path` only when the block ends without an error.

    A file that is there keeps its permissions, a symbolic link stays one.
    """
    path = Path(os.path.realpath(path))
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}-{threading.get_ident()}")
    try:
        with temporary.open(mode, encoding=None if "b" in mode else "utf-8") as stream:
            yield stream
        if path.exists():
            shutil.copymode(path, temporary)
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


@contextmanager
def one_thread():
    """One thread for every linear-algebra library inside; `with one_thread():`, or a decorator `@one_thread()`.

    Threads of small matrix products wait for each other many times longer than they work, worst on a busy machine,
    and sums in another order differ in the last digit, after which chains may part ways.
    """
    with _libraries().limit(limits=1):
        yield


def map_with_bar(function, calls, *, total=None, desc=None, n_jobs=None, progress=True):
    """Results of `function(*call)` for every tuple in `calls`, in their order; an exception leaves no worker running.

    Parameters
    ----------
    function : callable
    calls : iterable of tuple
        Made one by one, as workers become free.
    total : int or None
        Number of calls; None asks for their length.
    desc : str or None
        In front of the bar.
    n_jobs : int or None
        Worker processes (joblib).
    progress : bool
        Show a bar.

    Returns
    -------
    list

    Examples
    --------
    >>> from gencap.resources import map_with_bar
    >>> map_with_bar(pow, [(2, 3), (3, 2)], progress=False)
    [8, 9]
    """
    from joblib import Parallel, delayed
    from tqdm.auto import tqdm

    total = len(calls) if total is None else total
    with closing(Parallel(n_jobs=n_jobs, return_as="generator")(delayed(function)(*call) for call in calls)) as done:
        return list(tqdm(done, total=total, desc=desc, disable=not progress))
