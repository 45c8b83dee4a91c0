"""Loaders of real data: each returns a scikit-learn `Bunch`."""

import csv
import gzip
from pathlib import Path

import numpy as np
from sklearn.datasets import load_sample_image
from sklearn.utils import Bunch

from ..checks import check_option
from .expression import IMPUTED, load_expression, missing_values
from .generators import WEBKB_WORDS
from .sources import fetch


def _read_rows(path, names, delimiter=","):
    """Rows of a text table with the header `names`, plain or gzip."""
    opener = gzip.open if Path(path).suffix == ".gz" else open
    with opener(path, "rt", encoding="utf-8", newline="") as stream:
        header, *rows = list(csv.reader(stream, delimiter=delimiter)) or [[]]
    rows = [row for row in rows if row]
    for number, row in enumerate(rows, start=2):
        if len(row) != len(header):
            raise ValueError(f"{path}, line {number}: {len(row)} cells, accepted are {len(header)} as in the header")
    if not rows:
        raise ValueError(f"{path} holds no data lines below a header")
    if header != names:
        raise ValueError(f"{path}: header {header}, accepted is {', '.join(names)}")
    return rows


def load_webkb(verify=True):
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

    Source: CMU WebKB, LINQS selection (document 001, section 8.2).
    """
    path = fetch("webkb", verify)
    rows = _read_rows(path, ["university", "page_type", "word_ids"], "\t")
    for word in set().union(*(row[2].split() for row in rows)):
        if not word.isdecimal() or int(word) >= WEBKB_WORDS:
            raise ValueError(f"{path}: word id {word!r}, accepted are 0 to {WEBKB_WORDS - 1}")
    words = [np.array(row[2].split(), dtype=np.int64) for row in rows]
    data = np.zeros((len(rows), 1 + max(w.max(initial=-1) for w in words)), np.uint8)
    for row, page in zip(data, words, strict=True):
        row[page] = 1
    universities, university = np.unique([row[0] for row in rows], return_inverse=True)
    page_types, page_type = np.unique([row[1] for row in rows], return_inverse=True)
    return Bunch(
        data=data,
        university=university,
        page_type=page_type,
        university_names=universities,
        page_type_names=page_types,
        description=f"{data.shape[0]} web pages x {data.shape[1]} binary words (WebKB, LINQS selection)",
    )


def load_access_control(name, verify=True):
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

    Source: HP Labs, Ene et al., SACMAT 2008 (document 002, sections 4 and 5).
    """
    check_option("name", name, ("domino", "healthcare", "emea", "americas_small"))
    path = fetch(f"access_{name}", verify)
    rows = _read_rows(path, ["user", "permission"])
    users, permissions = np.array(rows, dtype=np.int64).T - 1
    numbers = np.append(users, permissions) + 1
    if numbers.min() < 1 or numbers.max() > len(rows):  # each of them is in one pair at least
        raise ValueError(
            f"{path}: users and permissions are counted from 1, got {numbers.min()} to {numbers.max()} in {len(rows)} "
            "pairs"
        )
    data = np.zeros((users.max() + 1, permissions.max() + 1), bool)
    data[users, permissions] = True
    return Bunch(data=data, description=f"{name}: {data.shape[0]} users x {data.shape[1]} permissions (HP Labs)")


def load_image(name):
    """A grey photograph, float64 (height, width) in 0..255; "china" or "flower", which scikit-learn ships."""
    check_option("name", name, ("china", "flower"))
    return load_sample_image(f"{name}.jpg") @ np.array([0.299, 0.587, 0.114])


def load_yeast(subset="brown", impute=None):
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

    Source: Brown et al. 2000; Spellman et al. 1998; Eisen et al. 1998 (document 000, chapter 7).
    """
    description, class_column = {
        "brown": ("186 yeast genes x 79 conditions (Brown et al. 2000, from Eisen et al. 1998)", "function"),
        "spellman": ("800 yeast cell-cycle genes x 77 time points (Spellman et al. 1998)", "phase"),
        "all": ("2467 yeast genes x 79 conditions (Eisen et al. 1998)", None),
    }[check_option("subset", subset, ("brown", "spellman", "all"))]
    check_option("impute", impute, tuple(IMPUTED))
    yeast = load_expression(fetch(f"yeast_{subset}"), impute=impute, class_column=class_column)
    yeast.description = f"{description}; {missing_values(yeast.n_missing, impute)}"
    return yeast


def load_mussel(path, impute=None, min_genes=2):
    """Gene expression of mussels over the year, from a file of the reader's own (it is not distributed with gencap).

    Parameters
    ----------
    path : str or Path
        A table of log ratios as `load_expression` reads it, one column a month: all twelve, or without
        January (the reference), or the ten that are split into two views.
    impute, min_genes
        As in `load_expression`.

    Returns
    -------
    Bunch
        As of `load_expression`; the published table has 295 genes, others are read, too.

    Raises
    ------
    ValueError
        As `load_expression`, or other than 10 to 12 columns.

    Source: Banni et al. 2011, PLoS ONE 6:e18904 (295 genes x 12 months); document 000, section 7.1.
    """
    mussel = load_expression(path, impute=impute, min_genes=min_genes)
    n_genes, n_months = mussel.data.shape
    if not 10 <= n_months <= 12:
        hint = " (months as lines? turn the table round)" if 10 <= n_genes <= 12 else ""
        raise ValueError(
            f"{path}: {n_genes} genes x {n_months} columns of values{hint}; accepted are 10 to 12, one a month "
            "(January is the reference; the source uses the ten from March to December)"
        )
    form = "" if n_genes == 295 else " (295 in the publication)"
    shape = f"{n_genes} mussel genes{form} x {n_months} months, from {Path(path).name}"
    mussel.description = f"{shape}; {missing_values(mussel.n_missing, impute)}"
    return mussel
