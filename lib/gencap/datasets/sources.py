"""Files of real data: which are embedded, where the others are looked for, and how they are fetched.

Embedded files are read from the package. Others are looked for in the folder that the environment variable GENCAP_DATA
names, then in the cache, then at the address in `SOURCES`, the one table of addresses and checksums. What is found
under a registered name with another checksum is refused: a result would be told of data that it is not from.
"""

import hashlib
import os
import warnings
from pathlib import Path
from typing import NamedTuple

import pooch

from ..resources import data_path


class Source(NamedTuple):
    """Where a file comes from: `embedded` in the package, or at `url` (None: no address known) with `sha256`."""

    file: str
    sha256: str
    url: str | None = None
    embedded: bool = False


SOURCES = {
    "yeast_brown": Source(
        "yeast_brown2000_186x79.csv",
        "b8a14c0c98c6684624e9161949b499e0103da02684b8e532ad84bcb797fc218f",
        embedded=True,
    ),
    "yeast_spellman": Source(
        "yeast_spellman1998_800x77.csv.gz",
        "53b23fe535a6982e34a36c072c2183bacae55fd6e3db3f9dc0f6e05b2447bd65",
        embedded=True,
    ),
    "yeast_all": Source(
        "yeast_eisen1998_2467x79.csv.gz",
        "96f01f6a5afbd796fb1e37ab1c9706b73acc72a42a1c2b2c6884a643fc8e72bb",
        embedded=True,
    ),
    "webkb": Source("webkb_linqs_877x1703.tsv.gz", "48f6bff67c2a177a99815416340012b9fa402727985f0f18e7b1f1395285d81f"),
    "access_domino": Source(
        "rolemining_domino.csv.gz", "25145f1fd962a38e7947987aecd480e49b67c1da695eb1c920cf718b822bd438"
    ),
    "access_healthcare": Source(
        "rolemining_healthcare.csv.gz", "c008817ee9c836314b44b22f59685cfdbb7b7df1c67db3309f4bea635a84f6ff"
    ),
    "access_emea": Source("rolemining_emea.csv.gz", "4d298e564b620a9407b18522659a25857806e337debb4c0e12da3123336321e1"),
    "access_americas_small": Source(
        "rolemining_americas_small.csv.gz", "26fce1d86b2c7bb9bb2a9c282154ee0a0b4f3a8adea0b535063e3bcb533e2dcb"
    ),
}


class RegistryRow(NamedTuple):
    """One line of `registry`.

    state is "embedded", "GENCAP_DATA", "other content" (there, with another sha256), "cached", "fetchable", "missing".
    """

    name: str
    file: str
    state: str
    path: Path | None


def cache_folder():
    """Folder into which files are fetched."""
    return Path(pooch.os_cache("gencap"))


def registry():
    """Return a `RegistryRow` for each known file: where it is found now, or that it can be fetched or is missing."""
    return [RegistryRow(name, source.file, *_locate(source)) for name, source in SOURCES.items()]


def _locate(source):
    """State and path of a file, without fetching it."""
    if source.embedded:
        return "embedded", data_path(source.file)
    for state, folder in (("GENCAP_DATA", os.environ.get("GENCAP_DATA")), ("cached", cache_folder())):
        if folder and (path := Path(folder) / source.file).is_file():
            return ("other content" if state == "GENCAP_DATA" and _sha256(path) != source.sha256 else state), path
    return ("missing" if source.url is None else "fetchable"), None


def _sha256(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def fetch(name, verify=True):
    """Path of a file of `SOURCES`, fetched into the cache when it is nowhere else.

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
        It is nowhere and no address is known.
    OSError
        The transfer failed or brought another file; the cache is left without it.
    """
    source = SOURCES[name]
    state, path = _locate(source)
    if state == "other content":
        message = f"{path} is not the registered {source.file}: sha256 {_sha256(path)}, accepted is {source.sha256}"
        if verify:
            raise ValueError(f"{message}; with verify=False it is read as it is")
        warnings.warn(f"{message}; it is read as it is", stacklevel=3)
    if path is not None and (source.url is None or state != "cached"):
        return path
    folder = os.environ.get("GENCAP_DATA")
    tried = f" (GENCAP_DATA={folder!r} has no such file)" if folder else ""
    help_ = f"set the environment variable GENCAP_DATA to a folder that holds {source.file} (data/README.md: its form)"
    if state == "missing":
        raise FileNotFoundError(
            f"{source.file} is not embedded and no address to fetch it from is known{tried}: {help_}"
        )
    try:
        # pooch writes to a temporary name, compares the checksum, then renames; a cached file is compared, too.
        return Path(
            pooch.retrieve(source.url, f"sha256:{source.sha256}", source.file, cache_folder(), progressbar=True)
        )
    except (OSError, ValueError) as error:
        raise OSError(f"{source.file} could not be fetched ({error}); try again, or {help_}") from error
