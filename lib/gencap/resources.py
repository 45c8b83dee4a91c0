"""Where the project's own files are, and how files are written without ever being half there."""

import os
import threading
from contextlib import contextmanager
from pathlib import Path

__all__ = ["data_path", "project_folder", "replacing"]


def data_path(name=""):
    """Path of an embedded data file, in a checkout (its `data/`) or in an installed wheel (`gencap/data/`).

    Raises
    ------
    FileNotFoundError
        No such file in either place.
    """
    package = Path(__file__).resolve().parent
    places = [package / "data" / name, package.parents[1] / "data" / name]
    for place in places:
        if place.exists():
            return place
    raise FileNotFoundError(f"{name!r} is not among the embedded data files in {places[-1].parent}")


def project_folder():
    """The folder of notebooks/ to run and build/ to write: the current one if it has notebooks/, or the checkout."""
    folders = (Path.cwd(), Path(__file__).resolve().parents[2])
    return next((folder for folder in folders if (folder / "notebooks").is_dir()), Path.cwd())


@contextmanager
def replacing(path, mode="wb"):
    """Open a temporary file beside `path`; it takes the name `path` only when the block ends without an error."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}-{threading.get_ident()}")
    try:
        with temporary.open(mode, encoding=None if "b" in mode else "utf-8") as stream:
            yield stream
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
