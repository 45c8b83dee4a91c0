"""Gene expression: the yeast and mussel tables of the source, and tables of a reader's own.

Every table goes through one reader that recognises the format by its content, takes nothing for data that is none, and
says of a fault in which file, line and column it stands, what was found and what is accepted.
"""

import csv
import gzip
import io
import re
import warnings
import zlib
from pathlib import Path

import numpy as np
from sklearn.impute import KNNImputer
from sklearn.utils import Bunch

from ..checks import check_option

FORMATS = (
    "accepted formats are CSV, tab-delimited text (TSV), Cluster/TreeView tables (.txt, .pcl, .cdt), GCT and GEO "
    "series-matrix text, as they are or .gz, in UTF-8 and with decimal points (commas between semicolons)"
)
_NUMBERS = (
    "accepted are numbers like 1.5 or -2e-3, no %, unit or separator of thousands; a missing value is an empty cell, "
    "NA, NaN or null"
)
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?", re.ASCII | re.IGNORECASE)  # float() takes 1_000 and inf
_MISSING = ("", "na", "nan", "null")
IMPUTED = {None: "NaN", "mean": "the gene's mean", "knn": "the 10 nearest genes' mean"}
_LARGEST_LOG = 50.0  # 2**50 is beyond every scanner and sequencer
_FAR = 30.0  # columns of measurements differ less in scale
# What headers of identifiers and of annotation say, in lower case and without blanks and signs.
_IDENTIFIERS = re.compile(
    "(gene|y?orf|probe|probeset|spot|clone|locus|transcript|protein|entrez|ensembl|sample|array|condition)?s?"
    "(u?id|uniqid|idref|name|symbol|accession|feature|time|hour|day)?s?"
)
_ANNOTATION = re.compile(
    "number|index|chr|chrom(osome)?|arm|start|end|stop|pos(ition)?|strand|length|width|cytoband|annotation|identifier|"
    "(gene)?(symbol|description|title|name)s?|(entrez|ensembl|gene|spot|probe|clone)+(id|no|number)?"
)
# Genes as a spreadsheet shows them (1-Mar, Sep-02, 2023-03-01, 1/3/23, 01.03.2023), or stores them (44256, 2.31E+13).
_MONTH = "(jan|feb|mar(ch)?|mär|mrz|apr|ma[yi]|ju[nl]|aug|sept?|o[ck]t|nov|de[cz])"
_DATE = re.compile(
    rf"(?i)\d\d?[-./ ]+{_MONTH}([-./ ]+(\d\d)+)?|{_MONTH}[-./ ]+(\d\d?|\d{{4}})|\d{{4}}-\d\d-\d\d( [\d:.]+)?|"
    r"\d\d?/\d\d?/(\d\d)+|\d\d?\.\d\d?\.(\d\d)+"
)
_SERIAL = re.compile(r"(?i)[34]\d{4}|\d(\.\d+)?E\+?\d+")
_ROWS = {"AID": re.compile(r"(?i)ARRY\d+X"), "EWEIGHT": _NUMBER, "EORDER": _NUMBER}  # of Cluster and TreeView
_NODE = re.compile(r"(?i)GENE\d+X")


def _number(cell):
    """Value of a cell, NaN if it is missing, None if it is text."""
    if _NUMBER.fullmatch(cell):
        return float(cell)
    return np.nan if cell.lower() in _MISSING else None


_numbers = np.frompyfunc(_number, 1, 1)


def _says(pattern, name):
    return pattern.fullmatch(re.sub(r"[\W_]", "", name).lower()) is not None


def _shape(name):
    """Kinds of characters in order, A9A for YAL001C."""
    return re.sub("[a-z]+", "a", re.sub("[A-Z]+", "A", re.sub("[0-9]+", "9", name)))


def _some(names):
    """The first five names and the number of the others."""
    rest = f" and {len(names) - 5} more" if len(names) > 5 else ""
    return ", ".join(repr(str(name)) for name in names[:5]) + rest


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
    wide = raw.startswith((b"\xff\xfe", b"\xfe\xff"))  # a spreadsheet's "Unicode text"
    try:
        text = raw.decode("utf-16" if wide else "utf-8")
        wrong = -1 if wide else raw.find(b"\0")
    except UnicodeDecodeError as error:
        wrong = error.start
    if wrong >= 0:
        line = raw.count(b"\n", 0, wrong) + 1
        raise _fault(path, line, f"byte {raw[wrong]:#04x} is no text in UTF-8: save it so; {FORMATS}")
    return list(io.StringIO(text, newline=""))


def _table_part(path, lines):
    """Format, delimiter, slice of the lines that holds the table, sample titles of a series matrix, sizes of a GCT.

    Marks are known in any case, in quotes, and padded with blanks or delimiters.
    """
    bare = [re.sub(r'[\s",;]', "", line[:99]).lower() for line in lines]
    filled = [n for n, line in enumerate(bare) if line] or [0]
    form, titles, sizes = "CSV", "", []
    mark = re.match(r'(?i)\s*"?sep=([,;\t|])"?[\s,;|]*$', lines[filled[0]] if lines else "")  # of Excel
    begin, filled = (filled[0] + 1, filled[1:]) if mark else (0, filled)
    marks = ["!series_matrix_table_begin", "!series_matrix_table_end"]
    top = bare[filled[0]] if lines and filled else ""
    if top.startswith("!"):
        if absent := [mark for mark in marks if mark not in bare]:
            raise _fault(path, len(lines), f"the file ends without a line {absent[0]}; {FORMATS}")
        form, begin = "GEO series matrix", bare.index(marks[0]) + 1
        titles = next((line for line, mark in zip(lines, bare, strict=True) if mark.startswith("!sample_title")), "")
    elif re.fullmatch(r"#1\.[23]", top) and len(filled) > 1:
        form, begin, sizes = "GCT", filled[1] + 1, [int(size) for size in re.findall(r"\d+", lines[filled[1]])]
    first = next((n for n in filled if n >= begin), begin)
    text = lines[first].strip("\r\n ") if first < len(lines) else ""
    plain = re.sub('"[^"]*"', "", text)
    tabs = "\t" in plain and not ("," in plain and ".csv" in path.name.lower())
    sep = mark[1] if mark else "\t" if tabs else re.search("[,;]|$", plain).group()
    if text.startswith("<") or not sep:
        found = "numbers, no header, and " if text and None not in map(_number, text.split()) else ""
        found += "a web page" if text.startswith("<") else "neither tabs nor commas between cells"
        raise _fault(path, first + 1, (f"{text[:40]!r}, {found}" if text else "the file is empty") + f"; {FORMATS}")
    titles = [cell.strip() for row in csv.reader([titles], delimiter=sep) for cell in row[1:]]
    form, end = "TSV" if form == "CSV" and sep == "\t" else form, (bare + marks[1:]).index(marks[1])
    return form, sep, slice(begin, end), titles, sizes


class _Table:
    """Cells of an expression table, genes as rows, and where they stand in the file.

    Attributes: form, the format's name; cells (1 + N, 1 + D) of str, the identifiers in front; places, the lines and
    the columns of the file, counted from 1, in the order of the cells' axes; labels (N,), the genes' classes, or None;
    notes, what a reader should know.
    """

    def __init__(self, path, orientation, class_column, annotations):
        self.path, self.labels, self.notes = path, None, []
        cells, lines, first = self._read_rows()
        header, columns = cells[0], np.arange(cells.shape[1])
        upper = np.array([name.upper() for name in header])
        weights = np.isin(upper, ["GWEIGHT", "GORDER"])
        nodes = (upper == "GID") & [all(map(_NODE.fullmatch, column)) for column in cells[1:].T]
        named = set(annotations or ()) - {class_column}
        out = weights | nodes | [name in named for name in header]
        own = int(out.argmin())  # the first column that is not left out holds the identifiers
        if unknown := named.difference(header, cells[:, own]):
            raise ValueError(f"{path}: annotations name {_some(sorted(unknown))}, accepted are e.g. {_some(header)}")
        start = min(columns[(columns > own) & ~out & (upper != "NAME")], default=len(columns))
        if (weights | nodes).any() or "NAME" in upper[own + 1 : start]:
            self.form = "Cluster/TreeView"
        # Annotation stands before the genes' weights, as the format has it, unless the values do.
        first = max([start, first, *columns[1:-1][weights[:-2]]])
        # A class may stand in a column of annotation; a spreadsheet may leave empty columns behind.
        taken = (columns > own) & ~out & ((columns >= first) | (header == class_column)) & (cells != "").any(axis=0)
        taken[own] = True
        kept = np.append(True, [name not in named.difference(header) for name in cells[1:, own]])
        self.cells, self.places = cells[kept][:, taken], [lines[kept], columns[taken] + 1]
        self.turned = orientation == "conditions"
        self.other_way = f"orientation={'genes' if self.turned else 'conditions'!r}"
        if self.turned:
            self.cells, self.places = self.cells.T, self.places[::-1]
        self._check_names()

    def _read_rows(self):
        """Stripped cells (lines, columns), the header first; the lines they stand in; where values begin at least."""
        file_lines = _read_lines(self.path)
        self.form, sep, part, titles, sizes = _table_part(self.path, file_lines)
        self.commas, first = sep == ";", 1
        rows, lines, line = [], [], part.start + 1
        reader = csv.reader(file_lines[part], delimiter=sep, strict=True)
        try:
            for row in reader:
                row = [cell.strip() for cell in row]
                # Cluster and TreeView add rows of weights, and AID, the leaves of the conditions' tree.
                at = next((j for j, cell in enumerate(row[:4]) if rows and cell.upper() in _ROWS), len(row))
                values = [j for j in range(at + 1, len(row)) if _ROWS[row[at].upper()].fullmatch(row[j])]
                if values:
                    self.form, first = "Cluster/TreeView", max(first, values[0])
                elif any(row):
                    rows.append(row)
                    lines.append(line)
                line = part.start + reader.line_num + 1
        except csv.Error as error:
            raise _fault(self.path, line, f"{error}; accepted are cells, quoted as a whole or not at all") from None
        width = len(rows[0]) if rows else 0
        if len(rows) < 2 or width < 2:
            found = f"{len(rows)} lines and {width} columns"
            raise _fault(self.path, [*lines, line][0], f"{found}; accepted are a header, then identifiers and values")
        for row, line in zip(rows, lines, strict=True):
            if not any(row[width:]) and not any(rows[0][len(row) :]):  # delimiters at the end of some lines
                row[width:] = [""] * (width - len(row))
            if len(row) != width:
                hint = " (no name for the identifiers, or a delimiter at the end?)" if len(row) == width + 1 else ""
                raise _fault(self.path, line, f"{len(row)} cells, accepted are {width} as in the header{hint}")
        if self.form == "GEO series matrix":
            if rows[0][0].upper() != "ID_REF":
                raise _fault(self.path, lines[0], "accepted is the table's header, ID_REF first", 1, rows[0][0])
            n_samples = sum(map(bool, rows[0])) - 1
            if len({*titles[:n_samples]} - {""}) == n_samples and not any(titles[n_samples:]):
                rows[0][1 : n_samples + 1] = titles[:n_samples]
        if self.form == "GCT":  # a column of descriptions; in version 1.3 also more, and lines that describe samples
            first, above = 1 + sum(sizes[2:3] or [1]), sum(sizes[3:4])
            del rows[1 : above + 1], lines[1 : above + 1]
        return np.array(rows, dtype=object), np.array(lines), first

    def _check_names(self):
        """Identifiers have to differ, arrays are made to; names that are all numbers could be data."""
        for axis, (corner, *names) in ((1, self.cells[0]), (0, self.cells[:, 0])):
            numbers = _numbers(names).tolist()
            if self.form in ("CSV", "TSV") and None not in numbers:
                good = all(name.isdigit() for name in names)
                if axis == 0:
                    good &= len(set(names)) == len(names)
                else:  # a first gene's name in the place of the header's looks like those below it
                    alike = _shape(corner) in map(_shape, self.cells[1:, 0])
                    good = _says(_IDENTIFIERS, corner) or ((good or np.all(np.diff(numbers) > 0)) and not alike)
                if not good or (corner and _number(corner) is not None):
                    where = "header" if (axis == 1) != self.turned else "column of identifiers"
                    accepted = "names, also whole numbers or increasing ones (time points) below a name like 'gene'"
                    text = f"numbers for names, is the {where} missing? accepted are {accepted}"
                    raise self.fault(1 - axis, axis, text)
            seen, renamed = {}, []
            for k, name in enumerate(names, 1):
                at = (0, k) if axis else (k, 0)
                if axis and name and name in seen:
                    tries = (f"{name} ({n})" for n in range(2, len(names) + 2))
                    self.cells[at] = name = next(new for new in tries if new not in seen and new not in names)
                    renamed.append(name)
                if not name or name in seen:
                    found = "the same name as in line {}, column {}".format(*seen[name]) if name else "no name"
                    found += ", made a date by a spreadsheet?" if _DATE.fullmatch(name) else ""
                    raise self.fault(*at, f"{found}; accepted are identifiers that differ")
                seen[name] = self.place(*at)
            if renamed:
                self.notes.append(f"{len(renamed)} repeated names of conditions are now {_some(renamed)}")
        few = 2 * sum(number is not None for number in numbers) < len(names)
        if dates := [name for name in names if _DATE.fullmatch(name) or (few and _SERIAL.fullmatch(name))]:
            found = f"{len(dates)} genes' names look like dates or numbers of a spreadsheet (MARCH1 becomes 1-Mar)"
            self.notes.append(f"{found}: {_some(dates)}; take the names from the original table")

    def place(self, i, j):
        """Line and column of a cell in the file."""
        at = int(self.places[0][i]), int(self.places[1][j])
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

    def leave_out(self, axis, wrong):
        """Without the genes (axis 0) or conditions (axis 1) where `wrong`."""
        keep = np.append(True, ~wrong)
        self.cells, self.places[axis] = self.cells.compress(keep, axis), self.places[axis][keep]
        if axis == 0 and self.labels is not None:
            self.labels = self.labels[~wrong]

    def take_classes(self, name):
        """Put the genes' classes from the cells into `labels`."""
        genes, conditions = self.cells[1:, 0].tolist(), self.cells[0, 1:].tolist()
        if name not in conditions:
            hint = f"; it is a gene's name: {self.other_way}?" if name in genes else ""
            raise self.fault(0, 1, f"class_column={name!r} is none of {', '.join(conditions[:5])}, ...{hint}")
        k = conditions.index(name)
        self.labels = self.cells[1:, 1 + k]
        if not all(self.labels):
            raise self.fault(1 + self.labels.tolist().index(""), 1 + k, "no class; accepted is a name for each gene's")
        self.leave_out(1, np.arange(len(conditions)) == k)

    def values(self, annotations, drop_empty):
        """Values (N, D), NaN where missing, after what is left out."""
        cells = self.cells[1:, 1:]
        if self.commas and (commas := [cell for cell in cells.flat if "," in cell]):
            points = np.char.find(cells.astype(str), ".") >= 0
            self.refuse(points, f"a point, but {commas[0]!r} has a decimal comma; accepted is one of them")
            cells = np.char.replace(cells.astype(str), ",", ".")
        numbers = _numbers(cells)
        text = np.equal(numbers, None).astype(bool)
        data = np.where(text, np.nan, numbers).astype(float)
        names, genes = self.cells[0, 1:], self.cells[1:, 0]
        known = np.array([_says(_ANNOTATION, name) for name in names], dtype=bool)
        columns = text.any(axis=0) & (known | np.isnan(data).all(axis=0))
        lines = text.any(axis=1) & np.isnan(data).all(axis=1)
        hint, left = "", f"annotations=[{_some(names[columns] if columns.any() else genes[lines])}]"
        foreign = all(re.match(r"[-+−]?\.?\d", cell) for cell in cells[text])  # numbers in another notation
        if not foreign and columns.any() and not text[:, ~columns].any():
            hint = f"; are these the genes' classes (class_column={names[columns][0]!r}) or to be left out ({left})?"
        elif not foreign and lines.any() and not text[~lines].any():
            hint = f"; the other way round it would do: {self.other_way}, class_column={genes[lines][0]!r}; or {left}"
        self.refuse(text, _NUMBERS + hint)
        self.refuse(np.isinf(data), "too large; " + _NUMBERS)
        if len(names) and annotations != []:
            left = self._annotation(data, known, annotations is None)
            self.leave_out(1, left)
            data = data[:, ~left]
        for axis, what in enumerate(("gene", "condition")):
            empty = np.isnan(data).all(axis=1 - axis)
            if not empty.any():
                continue
            names, k = self.cells.take(0, 1 - axis)[1:][empty], empty.argmax() + 1
            found = f"{f'a {what}' if len(names) == 1 else f'{len(names)} {what}s'} without any value ({_some(names)})"
            if not drop_empty:
                accepted = "accepted is one or more, drop_empty=True leaves them out"
                raise self.fault(k * (1 - axis), k * axis, f"{found}; {accepted}")
            self.notes.append(f"left out: {found}")
            self.leave_out(axis, empty)
            data = data.compress(~empty, axis)
        if min(data.shape) < 2:
            raise self.fault(-1, -1, "{} genes x {} conditions; accepted are at least 2 x 2".format(*data.shape))
        return data

    def _annotation(self, data, known, leave):
        """Conditions (D,) to `leave` out: annotation by header and values; notes on what may be annotation, too."""
        names, missing = self.cells[0, 1:], np.isnan(data)
        with np.errstate(over="ignore"):
            size = np.nansum(np.abs(data), axis=0) / np.maximum((~missing).sum(axis=0), 1)
        whole = (missing | ((data >= 0) & (data == np.floor(data)))).all(axis=0) & (size > 0)
        others = ~known & (size > 0) if (size[~known] > 0).any() else size > -1
        usual, odd = np.median(size[others]), whole & (whole[others].mean() < 0.5)  # whole beside fractions
        left = leave & known & whole & (odd | (size / _FAR > usual))
        left &= (~left).sum() > 1
        doubtful = ~left & ((size / _FAR > usual) | (odd & (size / 3 > usual)) | (known & whole))
        if left.any():
            found = f"left out as annotation by header and values: {_some(names[left])}"
            self.notes.append(f"{found}; annotations=[] takes all columns, annotations=[...] leaves out these")
        if doubtful.any():
            sizes = ", ".join(f"{mean:.4g}" for mean in size[doubtful][:5])
            found = f"{_some(names[doubtful])} taken as data, annotation? mean size {sizes}"
            out = f"annotations=[{_some(names[doubtful])}] leaves out, annotations=[] takes all without this warning"
            self.notes.append(f"{found}, of the other columns {usual:.3g}; {out}")
        return left


def load_expression(
    path, *, values="log", orientation="genes", impute=None, class_column=None, annotations=None, drop_empty=False
):
    """Gene expression from a table of the reader's own.

    Parameters
    ----------
    path : str or Path
        CSV (commas; or semicolons, then also decimal commas), tab-delimited text, a Cluster/TreeView table (its
        weights, annotation and tree nodes are left out), GCT or GEO series-matrix text, plain or gzip. A header;
        identifiers in the first column; a missing value is an empty cell, NA, NaN or null. Samples of a series matrix
        go by their titles where these differ, else by their accession.
    values : {"log", "raw", "counts"}
        Log ratios, taken as they are; intensities > 0, of which log2 is taken; counts >= 0, of which log2(1 + count).
    orientation : {"genes", "conditions"}
        What the lines below the header are.
    impute : {None, "mean", "knn"}
        Missing values: None keeps NaN; "mean" the gene's mean over its other conditions (neutral for correlations);
        "knn" the mean of the 10 nearest genes.
    class_column : str or None
        Name of a column of text, the classes of the genes (a line of text when the lines are conditions).
    annotations : list of str or None
        Columns or lines that are no data, by name; the first column that is left holds the identifiers. None leaves
        out columns of numbers whose header (number, chromosome, ...) and values say that they are annotation.
    drop_empty : bool
        Leave out genes and conditions without any value; else they are refused.

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

    Warns
    -----
    UserWarning
        What was left out or renamed; what looks like annotation, a spreadsheet's date or no logarithm.

    Examples
    --------
    >>> import gencap as gc
    >>> from gencap.resources import data_path
    >>> path = data_path("yeast_brown2000_186x79.csv")
    >>> table = gc.datasets.load_expression(path, class_column="function", impute="mean")
    >>> table.data.shape, table.n_missing, table.conditions[0].item()
    ((186, 79), 214, 'alpha_0')
    """
    check_option("values", values, ("log", "raw", "counts"))
    check_option("orientation", orientation, ("genes", "conditions"))
    check_option("impute", impute, tuple(IMPUTED))
    if annotations is not None:
        annotations = [annotations] if isinstance(annotations, str) else list(annotations)
    table = _Table(Path(path), orientation, class_column, annotations)
    if class_column is not None:
        table.take_classes(class_column)
    data = table.values(annotations, drop_empty)
    missing, lowest, largest = np.isnan(data), np.nanmin(data), np.nanmax(data)
    whole = lowest >= 0 and np.all(missing | (data == np.floor(data)))
    if values != "log":
        accepted = "counts >= 0" if values == "counts" else "intensities > 0 (values='counts' takes zeros, too)"
        wrong = (data < 0) | ((data == 0) & (values == "raw"))
        table.refuse(wrong, f"accepted are {accepted}; values='log' takes log ratios as they are")
        data = np.log2(data + (values == "counts"))
    elif np.median(np.nanmax(np.abs(data), axis=0)) > _LARGEST_LOG or (whole and data.size > 100):
        kind, option = ("counts", "counts") if whole else ("intensities", "raw" if lowest else "counts")
        found = f"values from {lowest:g} to {largest:g} are taken as logarithms and look like {kind}"
        below = ", which those below 0 have not" if lowest < 0 else ""
        table.notes.append(f"{found}: values={option!r} takes their logarithm{below}")
    for note in table.notes:
        warnings.warn(f"{path}: {note}", stacklevel=2)
    if impute == "mean":
        data = np.where(missing, np.nanmean(data, axis=1, keepdims=True), data)
    elif impute == "knn" and missing.any():
        data = KNNImputer(n_neighbors=10).fit_transform(data)
    genes, conditions = table.cells[1:, 0].astype(str), table.cells[0, 1:].astype(str)
    names, classes = (None, None) if class_column is None else np.unique(table.labels.astype(str), return_inverse=True)
    text = f"{len(genes)} genes x {len(conditions)} conditions ({table.form}, {table.path.name})"
    said = {"n_missing": int(missing.sum()), "description": f"{text}; {missing_values(missing.sum(), impute)}"}
    return Bunch(data=data, genes=genes, conditions=conditions, classes=classes, class_names=names, **said)


def missing_values(n_missing, impute):
    return f"{n_missing} missing values" + (f" as {IMPUTED[impute]}" if n_missing else "")
