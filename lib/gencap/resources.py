"""Where the files that come with the project are, in a clone (data/) as in an installed wheel (gencap/data/)."""

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent
_CLONE = _PACKAGE.parent.parent


def data_path(name):
    """Return the path of an embedded file.

    Parameters
    ----------
    name : str
        Path below the data folder, e.g. "published/claims.csv"; "" is the folder itself.

    Raises
    ------
    FileNotFoundError
        No such file; the message lists what is there.
    """
    folder = next((f for f in (_PACKAGE / "data", _CLONE / "data") if f.is_dir()), None)
    if folder is None:
        raise FileNotFoundError(f"no data folder in {_PACKAGE} or {_CLONE}; install gencap again")
    if not (folder / name).exists():
        there = sorted(f.relative_to(folder).as_posix() for f in folder.rglob("*") if f.is_file())
        raise FileNotFoundError(f"no embedded file {name!r}; there are {', '.join(there)}")
    return folder / name


def project_folder():
    """Return the clone that the package runs from, or the current folder where it is an installed wheel."""
    return _CLONE if (_CLONE / "notebooks").is_dir() else Path.cwd()
