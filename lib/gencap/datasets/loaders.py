"""Loaders of real data: each returns a scikit-learn `Bunch`."""

from pathlib import Path

import numpy as np
import pandas
from sklearn.datasets import load_sample_image
from sklearn.utils import Bunch

from ..checks import check_option
from ..resources import require
from .expression import load_expression, missing_values
from .sources import SOURCES, locate

__all__ = ["load_access_control", "load_image", "load_mussel", "load_webkb", "load_yeast"]

WEBKB_WORDS = 1703
_CONFIGURATIONS = tuple(name.removeprefix("access_") for name in SOURCES if name.startswith("access_"))
_YEAST = {  # subset: what it is, the column of classes
    "brown": ("186 yeast genes x 79 conditions (Brown et al. 2000, from Eisen et al. 1998)", "function"),
    "spellman": ("800 yeast cell-cycle genes x 77 time points (Spellman et al. 1998)", "phase"),
    "all": ("2467 yeast genes x 79 conditions (Eisen et al. 1998)", None),
}


def _read(name, verify, columns, dtype):
    """Path and table (DataFrame) of a file that is not embedded, or ValueError if it is of another form."""
    path = locate(name, verify=verify)
    try:
        table = pandas.read_csv(path, sep="\t" if ".tsv" in path.name else ",", dtype=str, keep_default_na=False)
        if table.columns.tolist() != columns or table.empty:
            raise ValueError(f"header {table.columns.tolist()}, {len(table)} lines; accepted is {columns}, one or more")
        return path, table.astype(dtype)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None


def load_webkb(*, verify=True):
    """Web pages as binary word vectors with two labelings: university and page type.

    Parameters
    ----------
    verify : bool
        False reads a file of GENCAP_DATA with a warning even if its sha256 is not the registered one.

    Returns
    -------
    Bunch
        data (877, 1703) uint8, university and page_type (877,) int64, university_names, page_type_names, description.

    Raises
    ------
    ValueError
        A file of other content or of another form.
    FileNotFoundError
        There is none.

    References
    ----------
    .. [1] CMU WebKB, LINQS selection (document 001, section 8.2).

    Examples
    --------
    >>> import gencap as gc
    >>> gc.datasets.load_webkb().data.shape  # doctest: +SKIP
    (877, 1703)
    """
    path, pages = _read("webkb", verify, ["university", "page_type", "word_ids"], str)
    words = pages.word_ids.str.split().explode().dropna()
    wrong = words[~words.str.isdecimal() | (pandas.to_numeric(words, errors="coerce") >= WEBKB_WORDS)]
    if len(wrong):
        raise ValueError(f"{path}: word id {wrong.iloc[0]!r}, accepted are 0 to {WEBKB_WORDS - 1}")
    data = np.zeros((len(pages), WEBKB_WORDS), np.uint8)
    data[words.index, words.astype(int)] = 1
    found = {"description": f"{len(data)} web pages x {WEBKB_WORDS} binary words (WebKB, LINQS selection)"}
    for name in ("university", "page_type"):
        found[f"{name}_names"], found[name] = np.unique(pages[name].to_numpy(str), return_inverse=True)
    return Bunch(data=data, **found)


def load_access_control(name, *, verify=True):
    """An access-control configuration: which user has which permission.

    Parameters
    ----------
    name : {"domino", "healthcare", "emea", "americas_small"}
    verify : bool
        False reads a file of GENCAP_DATA with a warning even if its sha256 is not the registered one.

    Returns
    -------
    Bunch
        data (users, permissions) bool, description.

    Raises
    ------
    ValueError
        An unknown name, a file of other content or of another form.
    FileNotFoundError
        There is none.

    References
    ----------
    .. [1] HP Labs, Ene et al., SACMAT 2008 (document 002, sections 4 and 5).

    Examples
    --------
    >>> import gencap as gc
    >>> gc.datasets.load_access_control("domino").data.shape  # doctest: +SKIP
    (79, 231)
    """
    check_option("name", name, _CONFIGURATIONS)
    path, pairs = _read(f"access_{name}", verify, ["user", "permission"], np.int64)
    low, high = pairs.min(axis=None), pairs.max(axis=None)
    if low < 1 or high > len(pairs):  # each of them is in one pair at least
        raise ValueError(f"{path}: users and permissions are counted from 1, got {low} to {high} in {len(pairs)} pairs")
    data = np.zeros(pairs.max(), bool)
    data[pairs.user - 1, pairs.permission - 1] = True
    return Bunch(data=data, description=f"{name}: {data.shape[0]} users x {data.shape[1]} permissions (HP Labs)")


def load_image(name):
    """A grey photograph that scikit-learn ships.

    Parameters
    ----------
    name : {"china", "flower"}

    Returns
    -------
    ndarray of float64, shape (height, width)
        In 0..255.

    Examples
    --------
    >>> import gencap as gc
    >>> gc.datasets.load_image("china").shape
    (427, 640)
    """
    check_option("name", name, ("china", "flower"))
    require("plots", "PIL")  # scikit-learn reads the file by it
    return load_sample_image(f"{name}.jpg") @ np.array([0.299, 0.587, 0.114])


def load_yeast(subset="brown", *, impute=None):
    """Yeast gene expression: log ratios of genes (rows) in conditions (columns).

    Parameters
    ----------
    subset : {"brown", "spellman", "all"}
        "brown": 186 genes x 79 conditions, three functional classes; "spellman": 800 cell-cycle genes x 77 time
        points, five phases; "all": 2467 genes x 79 conditions, no classes.
    impute : {None, "mean", "knn"}
        As in `load_expression`.

    Returns
    -------
    Bunch
        As of `load_expression`.

    Raises
    ------
    ValueError
        Unknown subset or impute.

    References
    ----------
    .. [1] Brown et al. 2000; Spellman et al. 1998; Eisen et al. 1998 (document 000, chapter 7).

    Examples
    --------
    >>> import gencap as gc
    >>> yeast = gc.datasets.load_yeast("brown")
    >>> yeast.data.shape, yeast.class_names.tolist()
    ((186, 79), ['Proteas', 'Resp', 'Ribo'])
    """
    description, class_column = _YEAST[check_option("subset", subset, tuple(_YEAST))]
    yeast = load_expression(locate(f"yeast_{subset}"), impute=impute, class_column=class_column)
    yeast.description = f"{description}; {missing_values(yeast.n_missing, impute)}"
    return yeast


def load_mussel(path, *, impute=None):
    """Gene expression of mussels over the year, from a file of the reader's own (it is not distributed with gencap).

    Parameters
    ----------
    path : str or Path
        A table of log ratios as `load_expression` reads it, one column a month: all twelve, or without
        January (the reference), or the ten that are split into two views.
    impute : {None, "mean", "knn"}
        As in `load_expression`.

    Returns
    -------
    Bunch
        As of `load_expression`; the published table has 295 genes, others are read, too.

    Raises
    ------
    ValueError
        As `load_expression`, or other than 10 to 12 columns.

    References
    ----------
    .. [1] Banni et al. 2011, PLoS ONE 6:e18904 (295 genes x 12 months); document 000, section 7.1.

    Examples
    --------
    >>> import gencap as gc
    >>> gc.datasets.load_mussel("mussel.csv", impute="mean").data.shape  # doctest: +SKIP
    (295, 12)
    """
    mussel = load_expression(path, impute=impute)
    n_genes, n_months = mussel.data.shape
    if not 10 <= n_months <= 12:
        hint = " (months as lines? turn the table round)" if 10 <= n_genes <= 12 else ""
        accepted = "10 to 12, one a month (January is the reference; the source uses the ten from March to December)"
        raise ValueError(f"{path}: {n_genes} genes x {n_months} columns of values{hint}; accepted are {accepted}")
    form = "" if n_genes == 295 else " (295 in the publication)"
    shape = f"{n_genes} mussel genes{form} x {n_months} months, from {Path(path).name}"
    mussel.description = f"{shape}; {missing_values(mussel.n_missing, impute)}"
    return mussel
