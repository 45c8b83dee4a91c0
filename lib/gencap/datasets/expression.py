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
from itertools import count
from pathlib import Path

import numpy as np
import pandas
from sklearn.impute import KNNImputer
from sklearn.utils import Bunch

from ..checks import check_option

FORMATS = "accepted are CSV, tab-delimited text, Cluster/TreeView, GCT and GEO series-matrix text in UTF-8, also as .gz"
_NUMBERS = "accepted are numbers like 1.5 or -2e-3, no % or unit; a missing value is an empty cell, NA, NaN or null"
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?", re.ASCII | re.IGNORECASE)  # float() takes 1_000 and inf
MISSING = ("", "na", "nan", "null")
IMPUTED = {None: "NaN", "mean": "the gene's mean", "knn": "the 10 nearest genes' mean"}
# What headers of identifiers and of annotation say, in lower case and without blanks and signs.
IDENTIFIERS = re.compile(
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
# Of Cluster and TreeView: lines of weights and of the arrays' tree, up to their first value.
_WEIGHTS = re.compile(r"(?i)([^\t]*\t){0,3}?(AID\t+(?=ARRY\d+X)|E(WEIGHT|ORDER)\t+(?=[-+.]?\d))")


def cell_value(cell):
    """Value of a cell, NaN if it is missing, None if it is text."""
    if _NUMBER.fullmatch(cell):
        return float(cell)
    return np.nan if cell.lower() in MISSING else None


def says(pattern, name):
    return pattern.fullmatch(re.sub(r"[\W_]", "", name).lower()) is not None


def _shape(name):
    """Kinds of characters in order, A9A for YAL001C."""
    return re.sub("[a-z]+", "a", re.sub("[A-Z]+", "A", re.sub("[0-9]+", "9", name)))


def some(names):
    """The first five names and the number of the others."""
    rest = f" and {len(names) - 5} more" if len(names) > 5 else ""
    return ", ".join(repr(str(name)) for name in names[:5]) + rest


def fault(path, line, text, *, column=None, name=None):
    """ValueError that names the file, the line and, where there is one, the column (both counted from 1)."""
    where = "" if column is None else f", column {column} ({name!r})"
    return ValueError(f"{path}, line {line}{where}: {text}")


def check_file(path):
    """Raise FileNotFoundError unless a Path is that of a file."""
    if not path.is_file():
        raise FileNotFoundError(f"{path.absolute()} is no file; accepted is a full path, or one from {Path.cwd()}")


def text_lines(path, *, accepted=FORMATS):
    """Lines of a text with their ends, and one that is empty; it may be packed and have a byte-order mark."""
    check_file(path)
    raw = path.read_bytes()
    try:
        raw = gzip.decompress(raw) if raw.startswith(b"\x1f\x8b") else raw
    except (OSError, EOFError, zlib.error) as error:
        raise ValueError(f"{path} is a damaged .gz file ({error})") from None
    code = "utf-16" if raw.startswith((b"\xff\xfe", b"\xfe\xff")) else "utf-8-sig"  # a spreadsheet's "Unicode text"
    lines = [*io.StringIO(raw.decode(code, "replace"), newline=""), ""]
    for line in filter(re.compile("[\0-\x08\ufffd]").search, lines):
        found = f"{line[:40]!r} is no text in UTF-8 (a workbook?): save it as CSV; {accepted}"
        raise fault(path, lines.index(line) + 1, found)
    return lines


def _table_part(path):
    """Format, delimiter, begin (counted from 0) and lines of a file's table; titles of samples, sizes of a GCT.

    Marks of formats are known in any case, in quotes, and padded with blanks or delimiters.
    """
    lines = text_lines(path)
    bare = [re.sub(r'[\s",;]', "", line[:99]).lower() for line in lines]
    filled = [n for n, line in enumerate(bare) if line] or [0]
    form, begin, titles, sizes = "CSV", 0, "", []
    if mark := re.match(r'(?i)\s*"?sep=([,;\t|])"?[\s,;|]*$', lines[filled[0]]):  # of Excel
        begin, filled = filled[0] + 1, filled[1:] or [filled[0] + 1]
    marks, top = ["!series_matrix_table_begin", "!series_matrix_table_end"], bare[filled[0]]
    if top.startswith("!"):
        if absent := [mark for mark in marks if mark not in bare]:
            raise fault(path, len(lines) - 1, f"the file ends without a line {absent[0]}; {FORMATS}")
        form, begin = "GEO series matrix", bare.index(marks[0]) + 1
        titles = next((line for line, mark in zip(lines, bare, strict=True) if mark.startswith("!sample_title")), "")
    elif re.fullmatch(r"#1\.[23]", top) and len(filled) > 1:
        form, begin, sizes = "GCT", filled[1] + 1, [int(size) for size in re.findall(r"\d+", lines[filled[1]])]
    first = next((n for n in filled if n >= begin), begin)
    text = lines[first].strip("\r\n ")
    plain = re.sub('"[^"]*"', "", text)
    tabs = "\t" in plain and not ("," in plain and ".csv" in path.name.lower())
    sep = mark[1] if mark else "\t" if tabs else re.search("[,;]|$", plain).group()
    if text.startswith("<") or not sep:
        found = "no header with tabs or commas between cells (an empty file, a web page, numbers only?)"
        raise fault(path, first + 1, f"{text[:40]!r} is {found}; {FORMATS}")
    titles = [cell.strip() for row in csv.reader([titles], delimiter=sep) for cell in row[1:]]
    lines = lines[begin : (bare + marks[1:]).index(marks[1])]
    return "TSV" if form == "CSV" and sep == "\t" else form, sep, begin, lines, titles, sizes


class _Table:
    """An expression table, genes as rows.

    Attributes: form, the format's name; header, the names of the file's columns; genes (N,), conditions (D,) and cells
    (N, D) of str, labelled by the lines and columns of the file, counted from 1, as corner, what stands above the
    identifiers, is by `origin`; other_way, the other orientation; notes, what a reader should know.
    """

    def __init__(self, path, orientation, class_column, annotations, cells=None):
        self.path, self.notes, self.turned = path, [], orientation == "conditions"
        self.other_way = f"orientation={'genes' if self.turned else 'conditions'!r}"
        self.form, self.commas = "text", False
        cells, first = self._read_rows() if cells is None else (cells, 1)
        header, upper, at = cells.iloc[0], cells.iloc[0].str.upper(), np.arange(cells.shape[1])
        weights = upper.isin(["GWEIGHT", "GORDER"]).to_numpy()
        nodes = [name == "GID" and cells[k][1:].str.fullmatch(r"(?i)GENE\d+X").all() for k, name in upper.items()]
        named = set(annotations or ()) - {class_column}
        out = weights | nodes | header.isin(named)
        own = int(out.argmin())  # the first column that is not left out holds the identifiers
        if unknown := named.difference(header, cells.iloc[:, own]):
            raise ValueError(f"{path}: annotations name {some(sorted(unknown))}, accepted are e.g. {some(header)}")
        start = min(at[(at > own) & ~out & (upper != "NAME")], default=len(at))
        if (weights | nodes).any() or "NAME" in upper.tolist()[own + 1 : start]:
            self.form = "Cluster/TreeView"
        # Annotation stands before the genes' weights, as the format has it, unless the values do.
        first = max([start, first, *at[1:-1][weights[:-2]]])
        # A class may stand in a column of annotation; a spreadsheet may leave empty columns behind.
        taken = (at > own) & ~out & ((at >= first) | (header == class_column)) & (cells != "").any()
        cells = cells.loc[~cells.iloc[:, own].isin(named.difference(header)), taken | (at == own)]
        cells = cells.T if self.turned else cells
        self.header, self.origin, self.corner = header, (cells.index[0], cells.columns[0]), cells.iloc[0, 0]
        self.conditions, self.genes, self.cells = cells.iloc[0, 1:].copy(), cells.iloc[1:, 0], cells.iloc[1:, 1:]
        self._check_names()

    def _read_rows(self):
        """Stripped cells, the header first, labelled by line and column of the file; where values begin at least."""
        self.form, sep, begin, lines, titles, sizes = _table_part(self.path)
        self.commas = sep == ";"
        first = 1 + sum(sizes[2:3] or [self.form == "GCT"])  # descriptions, in version 1.3 any number
        rows, reader = {}, csv.reader(lines, delimiter=sep, strict=True)
        try:
            for row in reader:
                rows[begin + reader.line_num] = [cell.strip() for cell in row]
        except csv.Error as error:
            line = max(rows, default=begin) + 1
            raise fault(self.path, line, f"{error}; accepted are cells, quoted as a whole or not at all") from None
        rows = {line: row for line, row in rows.items() if any(row)}
        top, header = next(iter(rows.items()), (begin + 1, []))
        if len(rows) < 2 or len(header) < 2:
            raise fault(self.path, top, f"{len(rows)} lines and {len(header)} columns; accepted are a header, genes")
        for line, row in list(rows.items())[1:]:
            if weights := _WEIGHTS.match("\t".join(row)):
                self.form, first = "Cluster/TreeView", max(first, weights[0].count("\t"))
                del rows[line]
            if any(row[len(header) :]) or any(header[len(row) :]):  # delimiters at the end of some lines are no cells
                accepted = f"accepted are {len(header)} as in the header, which names the identifiers, too"
                raise fault(self.path, line, f"{len(row)} cells, {accepted}")
            row[len(header) :] = [""] * (len(header) - len(row))
        if self.form == "GEO series matrix" and header[0].upper() != "ID_REF":
            raise fault(self.path, top, "accepted is the table's header, ID_REF first", column=1, name=header[0])
        n_samples = sum(map(bool, header)) - 1
        if len({*titles[:n_samples]} - {""}) == n_samples and not any(titles[n_samples:]):
            header[1 : n_samples + 1] = titles[:n_samples]
        cells = pandas.DataFrame.from_dict(rows, orient="index", columns=range(1, len(header) + 1), dtype=object)
        return cells.drop(cells.index[1 : 1 + sum(sizes[3:4])]), first  # without a GCT's lines that describe samples

    def _check_names(self):
        """Names that are all numbers could be data; identifiers have to differ, conditions are made to."""
        for axis, names in ("column", self.conditions), ("line", self.genes):
            numbers = [*map(cell_value, names)]
            if numbers and None not in numbers and self.form in ("CSV", "TSV"):
                good = all(map(str.isdigit, names)) and (axis == "column" or names.is_unique)
                if axis == "column":  # a first gene's name in the place of the header's looks like those below it
                    alike = _shape(self.corner) in map(_shape, self.genes)
                    good = says(IDENTIFIERS, self.corner) or ((good or np.all(np.diff(numbers) > 0)) and not alike)
                if not good or (self.corner and cell_value(self.corner) is not None):
                    found = "numbers for names, is the header or the column of identifiers missing?"
                    accepted = "names, also whole numbers or increasing ones (time points) below a name like 'gene'"
                    raise self.fault(f"{found} accepted are {accepted}", **{axis: names.index[0]})
            again = names.index[names.duplicated() & (names != "") & (axis == "column")]
            for at in again:
                names[at] = next(new for n in count(2) if (new := f"{names[at]} ({n})") not in names.tolist())
            if len(again):
                self.notes.append(f"{len(again)} repeated names of conditions are now {some(names[again].tolist())}")
            if (wrong := names.duplicated() | (names == "")).any():
                name = names[wrong.idxmax()]
                found = "the same name as in line {}, column {}".format(*self.place(**{axis: names.eq(name).idxmax()}))
                found += ", made a date by a spreadsheet?" if _DATE.fullmatch(name) else ""
                text = f"{found if name else 'no name'}; accepted are identifiers that differ"
                raise self.fault(text, **{axis: wrong.idxmax()})
        few = 2 * numbers.count(None) > len(names)
        if dates := [name for name in names if _DATE.fullmatch(name) or (few and _SERIAL.fullmatch(name))]:
            found = f"{len(dates)} genes' names look like dates or numbers of a spreadsheet (MARCH1 becomes 1-Mar)"
            self.notes.append(f"{found}: {some(dates)}; take the names from the original table")

    def place(self, line=None, column=None):
        """Line and column in the file of a cell by its labels; None is where the names of the other axis stand."""
        at = line or self.origin[0], column or self.origin[1]
        return at[::-1] if self.turned else at

    def fault(self, text, **labels):
        """ValueError for a cell, at its `place`."""
        line, column = self.place(**labels)
        return fault(self.path, line, text, column=column, name=self.header[column])

    def refuse(self, wrong, accepted):
        """Raise for the first value that is wrong, DataFrame (N, D) of bool."""
        for i, j in np.argwhere(wrong.to_numpy())[:1]:
            line, column = wrong.index[i], wrong.columns[j]
            raise self.fault(f"{self.cells.at[line, column]!r}; {accepted}", line=line, column=column)

    def take_classes(self, name):
        """The genes' classes (N,), which no longer are cells."""
        found = self.conditions.index[self.conditions == name]
        if found.empty:
            hint = f"; it is a gene's name: {self.other_way}?" if name in self.genes.tolist() else ""
            raise self.fault(f"class_column={name!r} is none of {', '.join(self.conditions[:5])}, ...{hint}")
        del self.conditions[found[0]]
        labels = self.cells.pop(found[0])
        for line in labels.index[labels == ""]:
            raise self.fault("no class; accepted is a name for each gene's", line=line, column=found[0])
        return labels

    def values(self, annotations, drop_empty):
        """Values, DataFrame (N, D) labelled as the cells, NaN where missing, after what is left out."""
        cells = self.cells
        if self.commas and cells.map(lambda cell: "," in cell).any(axis=None):
            self.refuse(cells.map(lambda cell: "." in cell), "a point beside decimal commas; accepted is one of them")
            cells = cells.map(lambda cell: cell.replace(",", "."))
        data = cells.map(cell_value).astype(float)
        text = data.isna() & ~cells.map(str.lower).isin(MISSING)
        known = np.array([says(_ANNOTATION, name) for name in self.conditions], dtype=bool)
        # Text that begins like a number is one in another notation.
        foreign = all(re.match(r"[-+−]?\.?\d", cell) for cell in cells.to_numpy(str)[text.to_numpy(bool)])
        none, hint = data.isna(), ""
        for axis, names, odd in (1, self.genes, none.all(axis=1)), (0, self.conditions, none.all() | known):
            odd &= text.any(axis=axis)
            if not foreign and not text.drop(odd.index[odd], axis=1 - axis).any(axis=None):
                way = f"{self.other_way}, " if axis else ""
                hint = f"; are these the genes' classes ({way}class_column={names[odd].iloc[0]!r}) or to be left out "
                hint += f"(annotations=[{some(names[odd])}])?"
        self.refuse(text, _NUMBERS + hint)
        self.refuse(np.isinf(data), "too large; " + _NUMBERS)
        if len(known) and annotations != []:
            data = data.loc[:, ~self._annotation(data.to_numpy(), known, annotations is None)]
        for axis, what, names in ("line", "genes", self.genes), ("column", "conditions", self.conditions):
            empty = names[data.index[data.isna().all(axis=1)]]
            found = f"{len(empty)} {what} without any value ({some(empty.tolist())})"
            if len(empty) and not drop_empty:
                raise self.fault(f"{found}; drop_empty=True leaves them out", **{axis: empty.index[0]})
            if len(empty):
                self.notes.append(f"left out: {found}")
            data = data.drop(empty.index).T
        if min(data.shape) < 2:
            raise self.fault("{} genes x {} conditions; accepted are at least 2 x 2".format(*data.shape))
        return data

    def _annotation(self, data, known, leave):
        """Conditions (D,) to `leave` out: annotation by header and values; notes on what may be annotation, too."""
        names, missing = self.conditions.to_numpy(), np.isnan(data)
        with np.errstate(over="ignore"):
            size = np.nansum(np.abs(data), axis=0) / np.maximum((~missing).sum(axis=0), 1)
        whole = (missing | ((data >= 0) & (data == np.floor(data)))).all(axis=0) & (size > 0)
        others = ~known & (size > 0) if (size[~known] > 0).any() else size > -1
        usual, odd = np.median(size[others]), whole & (whole[others].mean() < 0.5)  # whole beside fractions
        far = size / 30 > usual  # columns of measurements differ less in scale
        left = leave & known & whole & (odd | far)
        left &= (~left).sum() > 1
        doubtful = ~left & (far | (odd & (size / 3 > usual)) | (known & whole))
        if left.any():
            found = f"left out as annotation by header and values: {some(names[left])}"
            self.notes.append(f"{found}; annotations=[] takes all columns, annotations=[...] leaves out these")
        if doubtful.any():
            sizes = ", ".join(f"{mean:.4g}" for mean in size[doubtful][:5])
            found = f"{some(names[doubtful])} taken as data, annotation? mean size {sizes}"
            out = f"annotations=[{some(names[doubtful])}] leaves out, annotations=[] takes all without this warning"
            self.notes.append(f"{found}, of the other columns {usual:.3g}; {out}")
        return left


def load_expression(path, *, values="log", orientation="genes", impute=None, class_column=None, annotations=None,
                    drop_empty=False, cells=None):  # fmt: skip
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
    cells : DataFrame of str or None
        The table, if it has been read: the header first, labelled by the lines and columns of the file.

    Returns
    -------
    Bunch
        data (N, D) float64, genes (N,), conditions (D,), classes (N,) int64 or None, class_names (classes[i] is its
        index) or None, n_missing (before imputation), format (its name), description.

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
    table = _Table(Path(path), orientation, class_column, annotations, cells)
    kinds = None if class_column is None else table.take_classes(class_column)
    frame = table.values(annotations, drop_empty)
    data, missing = np.asfortranarray(frame), frame.isna().to_numpy()
    lowest, largest = np.nanmin(data), np.nanmax(data)
    whole = lowest >= 0 and np.all(missing | (data == np.floor(data)))
    if values != "log":
        accepted = "counts >= 0" if values == "counts" else "intensities > 0 (values='counts' takes zeros, too)"
        wrong = (frame < 0) | ((frame == 0) & (values == "raw"))
        table.refuse(wrong, f"accepted are {accepted}; values='log' takes log ratios as they are")
        data = np.log2(data + (values == "counts"))
    elif np.median(np.nanmax(np.abs(data), axis=0)) > 50 or (whole and data.size > 100):  # beyond every scanner
        kind, option = ("counts", "counts") if whole else ("intensities", "raw" if lowest else "counts")
        found = f"values from {lowest:g} to {largest:g} are taken as logarithms and look like {kind}"
        table.notes.append(f"{found}: values={option!r} takes their logarithm")
    for note in table.notes:
        warnings.warn(f"{path}: {note}", stacklevel=2)
    data = imputed(data, impute)
    genes, conditions = table.genes[frame.index].to_numpy(str), table.conditions[frame.columns].to_numpy(str)
    names, classes = (None, None) if kinds is None else np.unique(kinds[frame.index].to_numpy(str), return_inverse=True)
    text = f"{len(genes)} genes x {len(conditions)} conditions ({table.form}, {table.path.name})"
    text = f"{text}; {missing_values(missing.sum(), impute)}"
    said = {"n_missing": int(missing.sum()), "format": table.form, "description": text}
    return Bunch(data=data, genes=genes, conditions=conditions, classes=classes, class_names=names, **said)


def imputed(data, impute):
    """Data (N, D) whose missing values are filled by the rule of `load_expression`."""
    if impute == "mean":
        return np.where(np.isnan(data), np.nanmean(data, axis=1, keepdims=True), data)
    return KNNImputer(n_neighbors=10).fit_transform(data) if impute == "knn" and np.isnan(data).any() else data


def missing_values(n_missing, impute):
    return f"{n_missing} missing values" + (f" as {IMPUTED[impute]}" if n_missing else "")
