"""Files of real data: which are embedded, and where the others are looked for; nothing is downloaded.

Embedded files are read from the package. Others are looked for in the folder that the environment variable GENCAP_DATA
names; data/sources.csv has their checksums and public homes, data/README.md the form in which they are read. What is
found under a registered name with another checksum is refused: a result would be told of data that it is not from.
"""

import hashlib
import os
import warnings
from collections import namedtuple
from pathlib import Path

from ..resources import data_path, embedded_rows

SOURCES = embedded_rows("sources.csv", "name")  # {name: {"file", "sha256", "home"}}, an embedded one without home


class RegistryRow(namedtuple("RegistryRow", "name file state path home")):
    """One line of `registry`.

    state is "embedded", "GENCAP_DATA", "other content" (there, with another sha256) or "missing"; path is None for a
    missing file; home is where the public can get a file that is not embedded.
    """


def registry():
    """Known files: where each is found now, or that it is missing.

    Returns
    -------
    list of RegistryRow

    Examples
    --------
    >>> import gencap as gc
    >>> [row.name for row in gc.datasets.registry() if row.state == "embedded"]
    ['yeast_brown', 'yeast_spellman', 'yeast_all']
    """
    rows = []
    for name, source in SOURCES.items():
        path = Path(os.environ.get("GENCAP_DATA") or os.devnull) / source["file"]
        if not source["home"]:
            state, path = "embedded", data_path(source["file"])
        elif not path.is_file():
            state, path = "missing", None
        else:
            state = "GENCAP_DATA" if _sha256(path) == source["sha256"] else "other content"
        rows.append(RegistryRow(name, source["file"], state, path, source["home"]))
    return rows


def _sha256(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def locate(name, *, verify=True):
    """Path of a file of `SOURCES`.

    Parameters
    ----------
    name : str
    verify : bool
        Whether a file of GENCAP_DATA with another sha256 than the registered one is refused; otherwise a warning.

    Raises
    ------
    ValueError
        The file in GENCAP_DATA is another one.
    FileNotFoundError
        It is nowhere.
    """
    _, file, state, path, home = next(row for row in registry() if row.name == name)
    if state == "missing":
        tried = f"{file} is not embedded, and GENCAP_DATA={os.environ.get('GENCAP_DATA')!r} has no such file"
        help_ = f"set the environment variable GENCAP_DATA to a folder that holds {file} (data/README.md: its form)"
        raise FileNotFoundError(f"{tried}: get it from {home}, then {help_}")
    if state == "other content":
        message = f"{path} is not the registered {file}: sha256 {_sha256(path)}, accepted is {SOURCES[name]['sha256']}"
        if verify:
            raise ValueError(f"{message}; with verify=False it is read as it is")
        warnings.warn(f"{message}; it is read as it is", stacklevel=4)
    return path
