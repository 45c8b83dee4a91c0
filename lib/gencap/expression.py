"""Gene expression: the yeast and mussel tables of the source, and tables of a reader's own.

Every table goes through one reader that recognises the format by its content, takes nothing for data that is none, and
says of a fault in which file, line and column it stands, what was found and what is accepted.
"""

import csv
import gzip
import io
import re
import zlib
from pathlib import Path

import numpy as np
from sklearn.impute import KNNImputer
from sklearn.utils import Bunch

from gencap.checks import check_option
from gencap.sources import fetch

__all__ = ["load_expression", "load_mussel", "load_yeast"]

FORMATS = (
    "accepted formats are CSV, tab-delimited text (TSV), Cluster/TreeView tables (.txt, .pcl, .cdt) and GEO "
    "series-matrix text, as they are or .gz, in UTF-8 and with decimal points"
)
_NUMBERS = "accepted are numbers like 1.5 or -2e-3; a missing value is an empty cell, NA, NaN or null"
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?", re.ASCII | re.IGNORECASE)  # float() takes 1_000 and inf
_MISSING = ("", "na", "nan", "null")
_IMPUTED = {None: "NaN", "mean": "the gene's mean", "knn": "the 10 nearest genes' mean"}


def _number(cell):
    """Value of a cell, NaN if it is missing, None if it is text."""
    if cell.lower() in _MISSING:
        return np.nan
    return float(cell) if _NUMBER.fullmatch(cell) else None


def _fault(path, line, text, column=None, name=None):
    """ValueError that names the file, the line and, where there is one, the column (both counted from 1)."""
    where = "" if column is None else f", column {column} ({name!r})"
    return ValueError(f"{path}, line {line}{where}: {text}")


def _read_lines(path):
    """Lines of a text file, unpacked, without byte-order mark, with their ends."""
    if not path.exists():
        raise FileNotFoundError(f"there is no {path.absolute()}; accepted is a full path, or one from {Path.cwd()}")
    if path.is_dir():
        raise ValueError(f"{path} is a folder, accepted is a file; {FORMATS}")
    raw = path.read_bytes()
    try:
        raw = gzip.decompress(raw) if raw.startswith(b"\x1f\x8b") else raw
    except (OSError, EOFError, zlib.error) as error:
        raise ValueError(f"{path} is a damaged .gz file ({error})") from None
    if raw.startswith((b"PK\3\4", b"\xd0\xcf\x11\xe0")):
        raise ValueError(f"{path} is a workbook or an archive: save the sheet as CSV; {FORMATS}")
    raw = raw.removeprefix(b"\xef\xbb\xbf")
    try:
        text, wrong = raw.decode(), raw.find(b"\0")
    except UnicodeDecodeError as error:
        wrong = error.start
    if wrong >= 0:
        line = raw.count(b"\n", 0, wrong) + 1
        raise _fault(path, line, f"byte {raw[wrong]:#04x} is no text in UTF-8: save it so; {FORMATS}")
    return list(io.StringIO(text, newline=""))


def _table_part(path, lines):
    """Format, delimiter, slice of the lines that holds the table, sample titles of series-matrix text."""
    number, first = next(((n, line) for n, line in enumerate(lines, 1) if line.strip()), (1, ""))
    if first.startswith("!"):
        marks, ends = [line.strip().lower() for line in lines], []
        for mark in ("!series_matrix_table_begin", "!series_matrix_table_end"):
            if mark not in marks:
                raise _fault(path, len(lines), f"the file ends without a line {mark}; {FORMATS}")
            ends.append(marks.index(mark))
        titles = csv.reader([line for line in lines if line.startswith("!Sample_title\t")][:1], delimiter="\t")
        return "GEO series matrix", "\t", slice(ends[0] + 1, ends[1]), [cell.strip() for t in titles for cell in t[1:]]
    if "\t" in first and not ("," in first and ".csv" in path.name.lower()):
        return "TSV", "\t", slice(0, None), []
    mark = re.search("[,;]|$", first).group()
    if mark == ",":
        return "CSV", ",", slice(0, None), []
    found = f"{first.strip()[:40]!r}, {'semicolons' if mark else 'neither tabs nor commas'} between cells"
    found = found if first else "the file is empty"
    raise _fault(path, number, f"{found}; {FORMATS}")


def _read_rows(path):
    """Format, rows of stripped cells (the first is the header) and the lines of the file they begin on."""
    lines = _read_lines(path)
    form, delimiter, part, titles = _table_part(path, lines)
    rows, begins, line = [], [], part.start + 1
    reader = csv.reader(lines[part], delimiter=delimiter, strict=True)
    try:
        for row in reader:
            row = [cell.strip() for cell in row]
            # Cluster and TreeView add rows of weights, and AID, the leaves of the conditions' tree.
            if row and (row[0] in ("EWEIGHT", "EORDER") or (row[0] == "AID" and re.fullmatch(r"ARRY\d+X", row[-1]))):
                form = "Cluster/TreeView"
            elif any(row):
                rows.append(row)
                begins.append(line)
            line = part.start + reader.line_num + 1
    except csv.Error as error:
        raise _fault(path, line, f"{error}; accepted are cells, quoted as a whole or not at all") from None
    if len(rows) < 2 or len(rows[0]) < 2:
        found = f"{len(rows)} lines and {len(rows[0]) if rows else 0} columns"
        raise _fault(path, begins[0] if rows else line, f"{found}; accepted are a header, then identifiers and values")
    for row, line in zip(rows, begins, strict=True):
        if len(row) != len(rows[0]):
            hint = " (no name for the identifiers, or a delimiter at the end?)" if len(row) == len(rows[0]) + 1 else ""
            raise _fault(path, line, f"{len(row)} cells, accepted are {len(rows[0])} as in the header{hint}")
    if form == "GEO series matrix":
        if rows[0][0] != "ID_REF":
            raise _fault(path, begins[0], "accepted is the table's header, ID_REF first", 1, rows[0][0])
        if len(titles) == len(set(titles)) == len(rows[0]) - 1 and all(titles):
            rows[0][1:] = titles
    return form, rows, begins


class _Table:
    """Cells of an expression table, genes as rows, and where they stand in the file.

    Attributes: form, the format's name; cells (1 + N, 1 + D) of str, the identifiers in front; places, the lines and
    the columns of the file, counted from 1, in the order of the cells' axes.
    """

    def __init__(self, path, orientation, class_column):
        self.path = path
        self.form, rows, lines = _read_rows(path)
        names = [cell.upper() for cell in rows[0]]
        own = int(names[0] == "GID" and all(re.fullmatch(r"GENE\d+X", row[0]) for row in rows[1:]))
        first = own + 1
        while first < len(names) and names[first] in ("NAME", "GWEIGHT", "GORDER"):
            first += 1
        if first > 1:
            self.form = "Cluster/TreeView"
        # A class may stand in a column of annotation; a spreadsheet may leave empty columns behind.
        columns = [own] + [
            j
            for j in range(own + 1, len(names))
            if (j >= first or rows[0][j] == class_column) and any(row[j] for row in rows)
        ]
        self.cells = np.array([[row[j] for j in columns] for row in rows], dtype=object)
        self.places = [lines, [j + 1 for j in columns]]
        self.turned = orientation == "conditions"
        self.other_way = f"orientation={'genes' if self.turned else 'conditions'!r}"
        if self.turned:
            self.cells, self.places = self.cells.T, self.places[::-1]
        self._check_names()

    def _check_names(self):
        """Identifiers have to differ; if all are numbers, they could be data."""
        for of_genes, (corner, *names) in enumerate((self.cells[0], self.cells[:, 0])):
            seen = {}
            for k, name in enumerate(names, 1):
                at = (k, 0) if of_genes else (0, k)
                if not name or name in seen:
                    found = "no name" if not name else "the same name as in line {}, column {}".format(*seen[name])
                    raise self.fault(*at, f"{found}; accepted are identifiers that differ")
                seen[name] = self.place(*at)
            numbers = [_number(name) for name in names]
            if self.form != "GEO series matrix" and None not in numbers:
                plausible = np.all(np.diff(numbers) > 0) or (of_genes and all(name.isdigit() for name in names))
                if not plausible or (corner and _number(corner) is not None):
                    where = "column of identifiers" if of_genes != self.turned else "header"
                    accepted = "names, also whole numbers (genes) or increasing ones (time points) below a name"
                    at = (1, 0) if of_genes else (0, 1)
                    raise self.fault(*at, f"numbers for names, is the {where} missing? accepted are {accepted}")

    def place(self, i, j):
        """Line and column of a cell in the file."""
        at = self.places[0][i], self.places[1][j]
        return at[::-1] if self.turned else at

    def fault(self, i, j, text):
        """ValueError for a cell."""
        name = self.cells[i, 0] if self.turned else self.cells[0, j]
        line, column = self.place(i, j)
        return _fault(self.path, line, text, column, name)

    def refuse(self, wrong, accepted):
        """Raise for the first value that is wrong, (N, D) bool."""
        if wrong.any():
            i, j = np.argwhere(wrong)[0] + 1
            raise self.fault(i, j, f"{self.cells[i, j]!r}; {accepted}")

    def take_classes(self, name):
        """Class names and the genes' classes; their column is no longer among the cells."""
        genes, conditions = self.cells[1:, 0].tolist(), self.cells[0, 1:].tolist()
        if name not in conditions:
            hint = f"; it is a gene's name: {self.other_way}?" if name in genes else ""
            raise self.fault(0, 1, f"class_column={name!r} is none of {', '.join(conditions[:5])}, ...{hint}")
        k = conditions.index(name) + 1
        labels = self.cells[1:, k]
        if not all(labels):
            raise self.fault(1 + labels.tolist().index(""), k, "no class; accepted is a name for each gene's")
        self.cells = np.delete(self.cells, k, axis=1)
        self.places[1] = self.places[1][:k] + self.places[1][k + 1 :]
        return np.unique(labels.astype(str), return_inverse=True)

    def values(self):
        """Values (N, D), NaN where missing."""
        numbers = [[_number(cell) for cell in row] for row in self.cells[1:, 1:]]
        text = np.array([[number is None for number in row] for row in numbers])
        n_genes, n_conditions = text.shape
        if min(text.shape) < 2:
            raise self.fault(-1, -1, f"{n_genes} genes x {n_conditions} conditions; accepted are at least 2 x 2")
        hint, full_genes, full_conditions = "", text.all(axis=1), text.all(axis=0)
        if full_conditions.any() and text.sum() == n_genes:
            name = self.cells[0, 1 + full_conditions.argmax()]
            hint = f"; are these the genes' classes (class_column={name!r}) or to be left out?"
        elif full_genes.any() and text.sum() == n_conditions:
            name = self.cells[1 + full_genes.argmax(), 0]
            hint = f"; the other way round it would do: {self.other_way}, class_column={name!r}"
        self.refuse(text, _NUMBERS + hint)
        data = np.array(numbers)
        self.refuse(np.isinf(data), "too large; " + _NUMBERS)
        for axis, what in ((1, "gene"), (0, "condition")):
            if (empty := np.isnan(data).all(axis=axis)).any():
                k = empty.argmax() + 1
                raise self.fault(*((k, 0) if axis else (0, k)), f"a {what} without any value; accepted is one or more")
        return data


def load_expression(path, values="log", orientation="genes", impute=None, class_column=None):
    """Gene expression from a table of the reader's own.

    Parameters
    ----------
    path : str or Path
        CSV, tab-delimited text, a Cluster/TreeView table (its weights, names and tree nodes are left out) or GEO
        series-matrix text, plain or gzip. A header; identifiers in the first column; a missing value is an empty cell,
        NA, NaN or null. Samples of a series matrix go by their titles where these differ, else by their accession.
    values : {"log", "raw"}
        Log ratios, taken as they are; or intensities > 0, of which the logarithm to base 2 is taken.
    orientation : {"genes", "conditions"}
        What the lines below the header are.
    impute : {None, "mean", "knn"}
        Missing values: None keeps NaN; "mean" the gene's mean over its other conditions (neutral for correlations);
        "knn" the mean of the 10 nearest genes.
    class_column : str or None
        Name of a column of text, the classes of the genes (a line of text when the lines are conditions).

    Returns
    -------
    Bunch
        data (N, D) float64, genes (N,), conditions (D,), classes (N,) int64 or None, class_names (classes[i] is its
        index) or None, n_missing (before imputation), description.

    Raises
    ------
    ValueError
        A format that is not recognised; a faulty table: file, line, column, what was found and what is accepted.
    OSError
        The file cannot be read.
    """
    check_option("values", values, ("log", "raw"))
    check_option("orientation", orientation, ("genes", "conditions"))
    check_option("impute", impute, tuple(_IMPUTED))
    table = _Table(Path(path), orientation, class_column)
    class_names, classes = (None, None) if class_column is None else table.take_classes(class_column)
    data = table.values()
    if values == "raw":
        table.refuse(data <= 0, "accepted are intensities > 0 (values='log' takes log ratios as they are)")
        data = np.log2(data)
    missing = np.isnan(data)
    if impute == "mean":
        data = np.where(missing, np.nanmean(data, axis=1, keepdims=True), data)
    elif impute == "knn" and missing.any():
        data = KNNImputer(n_neighbors=10).fit_transform(data)
    n_missing = int(missing.sum())
    shape = f"{data.shape[0]} genes x {data.shape[1]} conditions"
    return Bunch(
        data=data,
        genes=table.cells[1:, 0].astype(str),
        conditions=table.cells[0, 1:].astype(str),
        classes=classes,
        class_names=class_names,
        n_missing=n_missing,
        description=f"{shape} ({table.form}, {table.path.name}); {_missing_values(n_missing, impute)}",
    )


def _missing_values(n_missing, impute):
    return f"{n_missing} missing values" + (f" as {_IMPUTED[impute]}" if n_missing else "")


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
    check_option("impute", impute, tuple(_IMPUTED))
    yeast = load_expression(fetch(f"yeast_{subset}"), impute=impute, class_column=class_column)
    yeast.description = f"{description}; {_missing_values(yeast.n_missing, impute)}"
    return yeast


def load_mussel(path, impute=None):
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

    Source: Banni et al. 2011, PLoS ONE 6:e18904 (295 genes x 12 months); document 000, section 7.1.
    """
    mussel = load_expression(path, impute=impute)
    n_genes, n_months = mussel.data.shape
    if not 10 <= n_months <= 12:
        hint = " (months as lines? turn the table round)" if 10 <= n_genes <= 12 else ""
        raise ValueError(
            f"{path}: {n_genes} genes x {n_months} columns of values{hint}; accepted are 10 to 12, one a month "
            "(January is the reference; the source uses the ten from March to December)"
        )
    form = "" if n_genes == 295 else " (295 in the publication)"
    mussel.description = (
        f"{n_genes} mussel genes{form} x {n_months} months, from {Path(path).name}; "
        + _missing_values(mussel.n_missing, impute)
    )
    return mussel
