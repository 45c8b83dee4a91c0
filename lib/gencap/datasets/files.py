"""Files of the reader's own: a table, a similarity or distance matrix, or the weighted edges of a graph.

What a file holds is told by its cells where they leave no doubt; where they do, the error asks for `kind`. Nothing is
left out, filled in, reordered or doubted without words about it.
"""

import csv
import re
import warnings
import zipfile
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas
import scipy.sparse
from scipy.stats import skew
from sklearn.utils import Bunch

from ..checks import check_option, check_similarity
from . import expression
from .expression import cell_value, fault, some

MATRICES = ("similarity", "distance")
KINDS = ("table", *MATRICES, "edges")
ACCEPTED = "accepted are text of tables, square matrices or edges (CSV, tabs, blanks; UTF-8, also .gz), .npy and .npz"
ASK = "say which: kind='table', 'similarity', 'distance' or 'edges'"
FEWEST, FEW = 8, 25  # objects: without which nothing can be computed, without which little can be shown
_ENDS = re.compile(
    r"(?i)(source|target|from|to|node|gene|protein|object|name|id|interactor|vertex|[abijuvxy])[ _]?[ab\d]?"
)


@dataclass(eq=False)
class OwnData:
    """What `read_own` found in a file.

    Attributes
    ----------
    kind : {"table", "similarity", "distance", "edges"}
    data : DataFrame, shape (N, D) or (N, N), or scipy.sparse.csr_array, shape (N, N)
        Sparse for edges; without missing values.
    objects : list of str
        Names; numbers from 1 where the file has none.
    named : bool
        The names are the file's.
    columns : list of str or None
        Of a table; numbers from 1 where the file has none.
    classes : ndarray of str, shape (N,), or None
        Annotation, which is no data.
    words : str
        What was read: format, size, missing values, what was left out.
    warnings : list of str
        Sentences: what makes a result doubtful.
    path : Path
    """

    kind: str
    data: object
    objects: list
    named: bool
    columns: list | None
    classes: np.ndarray | None
    words: str
    warnings: list
    path: Path

    def align(self, second):
        """This and a second file, the objects of which are put into this one's order by their names.

        Objects that only one has are left out of both, if both share 90 % of the larger file's. Without names rows are
        paired by position.

        Parameters
        ----------
        second : OwnData
            Of the same kind.

        Returns
        -------
        first, second : OwnData
            With what was done in their `words`.

        Raises
        ------
        ValueError
            Another kind, too few common names, or another number of objects without names.
        """
        size, both = max(len(self.objects), len(second.objects)), f"{self.path} and {second.path}"
        if self.kind != second.kind:
            raise ValueError(f"{both} are {self.kind!r} and {second.kind!r}; accepted are two of one kind")
        if not (self.named and second.named):
            if len(self.objects) != len(second.objects):
                text = f"{len(self.objects)} and {len(second.objects)} objects, not all named"
                raise ValueError(f"{both} have {text}; accepted are equal numbers")
            said = [f"rows paired by position with {self.path.name}, as not all have names"]
            return self, second._take(range(size), self.objects, said)
        first, other = pandas.Index(self.objects), pandas.Index(second.objects)
        common, absent = first[first.isin(other)], [*first.difference(other, False), *other.difference(first, False)]
        lacking = f"{len(absent)} objects that only one of {self.path.name}, {second.path.name} has ({some(absent)})"
        if len(common) < 0.9 * size:
            raise ValueError(f"{both} share {len(common)} objects, accepted are 90 % of the larger; {lacking}")
        said = [f"left out: {lacking}"] if absent else []
        moved = [f"objects put into the order of {self.path.name}"] if [*common] != [*other[other.isin(first)]] else []
        taken = (self, first, said), (second, other, moved + said)
        return tuple(one._take(names.get_indexer(common), [*common], words) for one, names, words in taken)

    def _take(self, at, names, said):
        data = self.data[at] if self.kind == "edges" else self.data.iloc[at].set_axis(names)
        if self.kind != "table":
            data = data[:, at] if self.kind == "edges" else data.iloc[:, at].set_axis(names, axis=1)
        classes = None if self.classes is None else self.classes[at]
        return replace(self, data=data, objects=names, classes=classes, words="; ".join([self.words, *said]))


def _sheet(path, form, rows, body=(), plain=True):
    """A file before its kind is known.

    rows: the cells by line, empty for an array and for what `load_expression` knows by its first line (form "table");
    body: cells or values between names and columns, those of the file; plain: not for `load_expression`.
    """
    return Bunch(path=path, form=form, rows=rows, body=body, plain=plain, names=None, columns=None)


def _numbers(sheet):
    """Values (M, D), NaN where missing."""
    values = [[*map(cell_value, row)] if sheet.rows else row for row in sheet.body]
    lines = [*sheet.rows][-len(values) :] or range(1, len(values) + 1)
    for line, row, found in zip(lines, sheet.body, values, strict=True):
        if len(row) != len(values[0]):
            raise fault(sheet.path, line, f"{len(row)} cells, accepted are {len(values[0])} as above")
        for j in (j for j, value in enumerate(found) if value is None or abs(value) == np.inf):
            text = f"{row[j]!r}; accepted are numbers, or an empty cell, NA, NaN where one is missing"
            name = sheet.columns[j] if sheet.columns else ""
            raise fault(sheet.path, line, text, column=j + 1 + bool(sheet.names), name=name)
    return np.array(values, dtype=float)


def _text(path):
    """A text as a sheet, its body not yet found."""
    filled = {
        n: line.rstrip("\r\n")
        for n, line in enumerate(expression.text_lines(path, accepted=ACCEPTED), 1)
        if line.strip()
    }
    if re.match(r'(?i)\s*"?(!|#1\.[23]|sep=)', next(iter(filled.values()), "")):
        return _sheet(path, "table", {}, plain=False)
    lines = {n: line for n, line in filled.items() if line[0] not in "#%"}
    if not lines:
        raise ValueError(f"{path} is empty; {ACCEPTED}")
    first, above = next(iter(lines)), [n for n in filled if n < min(lines)]
    sep = next((sep for sep in "\t;," if sep in re.sub('"[^"]*"', "", lines[first])), None)
    if above and sep and filled[above[-1]].count(sep) == lines[first].count(sep):  # a header behind the mark
        lines = {above[-1]: filled[above[-1]].lstrip("#% "), **lines}
    cells = csv.reader(lines.values(), delimiter=sep) if sep else map(str.split, lines.values())
    rows = {n: [cell.strip() for cell in row] for n, row in zip(lines, cells, strict=False)}  # a quoted end of a line
    if sep == ";":
        rows = {n: [re.sub(r"^([+-]?\d*),(\d)", r"\1.\2", cell) for cell in row] for n, row in rows.items()}
    top, *others = rows.values()
    if short := len(top) > 1 and {*map(len, others)} == {len(top) + 1}:
        top.insert(0, "")  # R writes no cell above the names
    comments = len(filled) - len(lines)
    form = {",": "CSV", ";": "CSV", "\t": "TSV"}.get(sep, "text") + f", {comments} lines of comments" * bool(comments)
    return _sheet(path, form, rows, plain=bool(short or comments or not sep))


def _array(path):
    """A NumPy file as a sheet; a sparse matrix stays one."""
    expression.check_file(path)
    try:
        found = np.load(path, allow_pickle=False)
        if isinstance(found, np.lib.npyio.NpzFile):
            name, *others = found.files
            found = scipy.sparse.load_npz(path) if "format" in found else None if others else found[name]
    except (ValueError, OSError, EOFError, zipfile.BadZipFile) as error:
        raise ValueError(f"{path}: {error}; {ACCEPTED}") from None
    if found is None or found.ndim != 2 or 0 in found.shape or found.dtype.kind not in "iufb":
        size = "several arrays" if found is None else f"{found.dtype}, shape {found.shape}"
        raise ValueError(f"{path} holds {size}; accepted is one array of numbers in two dimensions")
    return _sheet(path, "NumPy", {}, found.astype(float))


def _looks_like_edges(rows):
    """Whether rows are edges, None in doubt: a table names an object once, and a tree hardly repeats its names."""
    body = list(rows.values())[1:]
    if not body or {*map(len, rows.values())} not in ({2}, {3}):
        return False
    names = [cell for row in body for cell in row[:2]]
    if any(cell_value(name) is not None and not name.isdigit() for name in {*names}):
        return False
    if any(cell_value("".join(row[2:])) is None for row in body):
        return False
    repeated, shared = len({*names[::2]}) < len(body), bool({*names[::2]} & {*names[1::2]})
    return (repeated or shared) and (True if repeated and shared and len(body) >= len({*names}) else None)


def _find_names(sheet):
    """Names of rows and columns, where there are any, and what is between them."""
    cells = list(sheet.rows.values())
    top, below = cells[0], [row[0] for row in cells[1:]]
    if not below or len(top) < 2:
        raise fault(sheet.path, min(sheet.rows), f"{len(cells)} lines, {len(top)} cells in the first; {ACCEPTED}")
    values = [cell_value(cell) for cell in top[1:]]
    number = cell_value(top[0]) is not None and top[0] != ""  # of a first row; a symmetric one is the first column, too
    same, corner = top[1:] == below and not number, expression.says(expression.IDENTIFIERS, top[0])  # an empty one, too
    times = None not in values and len(values) > 4 and (np.diff(values) > 0).all() and not number
    header = bool(corner or same or times or 2 * values.count(None) > len(values))
    names = below if header else [top[0], *below]
    counted = names in ([str(n) for n in range(start, start + len(names))] for start in (0, 1))
    fractions = any("." in cell for row in cells[1:] for cell in row[1:])
    whole = all(map(str.isdigit, names)) and len({*names}) == len(names) and (counted or fractions)
    texts = 2 * sum(cell_value(name) is None for name in names) > len(names)
    index = texts or whole or (header and (corner or same))
    sheet.names, sheet.columns = names if index else None, top[index:] if header else None
    sheet.body = [row[index:] for row in cells[header:]]


def _check_names(path, names):
    for again in pandas.Index(names)[pandas.Index(names).duplicated()][:1]:
        raise ValueError(f"{path}: two rows named {again!r}; accepted are names that differ")


def _symmetric(values):
    """Pair whose two values differ most, and whether that is within 1e-6 of the largest off the diagonal."""
    off = np.abs(values - values.T)
    largest = np.abs(values[~np.eye(len(values), dtype=bool)]).max(initial=0)
    return np.unravel_index(off.argmax(), off.shape), bool(off.max() <= 1e-6 * largest)


def _is_matrix(sheet, kind):
    """Whether a sheet is a square matrix; without the same names on both sides only a symmetric one is."""
    names, columns = sheet.names, sheet.columns
    if kind or {*map(len, sheet.body)} != {len(sheet.body)} or (names and columns and {*names} != {*columns}):
        return kind in MATRICES
    try:
        return bool(names and columns) or _symmetric(_numbers(sheet))[1]
    except ValueError:  # with text in it: a table, which will say where
        return False


def _matrix(sheet, kind):
    """A checked matrix with its names, and its kind; what differs within rounding becomes the mean."""
    values, path, names, columns = _numbers(sheet), sheet.path, sheet.names, sheet.columns
    if values.shape[0] != values.shape[1] or (names and columns and {*names} != {*columns}):
        found = f"shape {values.shape} or names are not the same for rows and columns"
        raise ValueError(f"{path}: {found}; accepted is a square matrix, or another kind: {ASK}")
    if names and columns:
        _check_names(path, names)
        values = values[:, pandas.Index(columns).get_indexer(names)]
    names = names or columns or [str(n + 1) for n in range(len(values))]
    for i, j in np.argwhere(~np.isfinite(values))[:1]:
        raise ValueError(
            f"{path}: {values[i, j]} for {names[i]!r} and {names[j]!r}; accepted are numbers, none missing"
        )
    (i, j), good = _symmetric(values)
    if not good:
        pair = f"{values[i, j]:g} from {names[i]!r} to {names[j]!r}, {values[j, i]:g} back"
        raise ValueError(f"{path} is not symmetric: {pair}; accepted are equal numbers, or kind='table'")
    lowest, own = values.min(), values.diagonal()
    near = lowest < 0 or own.any()  # no distances
    if kind == "distance" and near:
        found = f"{lowest:g} as the least distance, {own[np.abs(own).argmax()]:g} of an object to itself"
        raise ValueError(f"{path}: {found}; accepted are distances >= 0, and 0 to itself")
    if kind is None and ((own < values.max(axis=1)).any() if near else np.median(values) == 0):
        found = "the diagonal is not all 0 with nothing below and most values above, nor largest in each row"
        raise ValueError(f"{path}: a symmetric matrix, but {found}; {ASK}")
    return pandas.DataFrame((values + values.T) / 2, names, names), kind or MATRICES[not near]


def _edges(sheet):
    """Sparse weights (N, N), names or None, and words."""
    if not sheet.rows:
        graph = check_similarity(str(sheet.path), sheet.body, np.float64, use_diagonal=False)
        graph.eliminate_zeros()
        return graph, None, [f"{graph.nnz // 2} edges"]
    path, lines, cells = sheet.path, [*sheet.rows], [*sheet.rows.values()]
    for line, row in sheet.rows.items():
        if len(row) not in (2, 3) or len(row) != len(cells[0]):
            raise fault(path, line, f"{len(row)} cells; accepted are two names and, if the first line has it, a weight")
    texts = any(cell_value(name) is None for row in cells[1:] for name in row[:2])
    header = (not texts and cell_value(cells[0][0]) is None) or all(map(_ENDS.fullmatch, cells[0][:2]))
    header |= cell_value("".join(cells[0][2:])) is None
    lines, cells = lines[header:], cells[header:]
    if not cells:
        raise fault(path, 1, "a header only; accepted are edges below it")
    weights = np.array([cell_value(row[2]) if row[2:] else 1 for row in cells], dtype=float)
    for n in np.flatnonzero(~np.isfinite(weights) | [not (row[0] and row[1]) for row in cells])[:1]:
        raise fault(path, lines[n], f"{' '.join(cells[n])!r}; accepted are two names and a finite weight")
    codes, names = pandas.factorize(np.array([name for row in cells for name in row[:2]], dtype=object))
    ends = np.sort(codes.reshape(-1, 2), axis=1)
    table = pandas.DataFrame({"a": ends[:, 0], "b": ends[:, 1], "weight": weights, "line": lines}).query("a != b")
    edges = table.drop_duplicates(["a", "b"])
    for row in table.merge(edges, on=["a", "b"]).query("weight_x != weight_y").head(1).itertuples():
        pair = f"{names[row.a]!r} and {names[row.b]!r}: weight {row.weight_x:g}, in line {row.line_y} {row.weight_y:g}"
        raise fault(path, row.line_x, f"{pair}; accepted is one weight for a pair, in either order (or kind='table')")
    graph = scipy.sparse.coo_array((edges.weight, (edges.a, edges.b)), (len(names),) * 2).tocsr()
    graph.eliminate_zeros()
    counts = {"of an object with itself left out": len(ends) - len(table), "given again": len(table) - len(edges)}
    counts["of weight 0 left out"] = len(edges) - graph.nnz
    said = [f"{graph.nnz} edges", *(f"{n} {what}" for what, n in counts.items() if n)]
    return (graph + graph.T).tocsr(), [*map(str, names)], said


def _table(sheet, impute, options):
    """DataFrame (N, D), classes or None, number of missing values, words and notes of a table."""
    path, columns, cells = sheet.path, sheet.columns, [*zip(*sheet.body, strict=False)]
    if sheet.plain:
        values = _numbers(sheet)
        for axis, what in (1, "row"), (0, "column"):
            for n in np.flatnonzero(np.isnan(values).all(axis=axis))[:1]:
                raise ValueError(f"{path}: {what} {n + 1} of the numbers is empty; accepted is one that has a value")
        absent = [what for what, names in (("header", columns), ("names of rows", sheet.names)) if not names]
        frame = pandas.DataFrame(expression.imputed(values, impute), sheet.names, columns)
        return frame, None, int(np.isnan(values).sum()), [f"no {what}" for what in absent], []
    if columns and not {"class_column", "orientation"} & options.keys():
        texts = [n for n, column in enumerate(cells) if all(cell_value(cell) is None for cell in column)]
        if len(texts) == 1 and 2 * len({*cells[texts[0]]}) <= len(sheet.body) and columns[texts[0]].upper() != "NAME":
            options = {**options, "class_column": columns[texts[0]]}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        table = expression.load_expression(path, impute=impute, drop_empty=True, **options)
    notes = [str(one.message).removeprefix(f"{path}: ") for one in caught]
    said, classes = [note for note in notes if note.startswith("left out")], None
    if table.classes is not None:
        classes = table.class_names[table.classes]
        said.append(f"classes from {options['class_column']!r}, {len(table.class_names)} names")
    sheet.form, sheet.names, sheet.columns = table.format, [*table.genes.tolist()], [*table.conditions.tolist()]
    frame = pandas.DataFrame(table.data, sheet.names, sheet.columns)
    return frame, classes, table.n_missing, said, [note for note in notes if note not in said]


def _doubts(frame, missing, notes):
    """Sentences on a table (N, D) without gaps, of which a share had been missing, beside the reader's notes."""
    values, names = frame.to_numpy(), frame.index
    far = np.linalg.norm(values - np.median(values, axis=0), axis=1)
    lowest, middle, largest = values.min(), np.median(values), values.max()
    raw = lowest >= 0 and largest > 100 * middle and skew(values.ravel()) > 2 and "look like" not in "".join(notes)
    flat, still = (np.ptp(values, axis=axis) == 0 for axis in (1, 0))
    copies, out = frame.duplicated().to_numpy(), far > 10 * np.median(far)
    cases = (
        (raw, f"values from {lowest:g} to {largest:g}, median {middle:g}, look like raw intensities: take logarithms"),
        (flat.any(), f"{flat.sum()} constant rows have no correlation: {some(names[flat])}"),
        (copies.any(), f"{copies.sum()} rows are copies of others, which agree by themselves: {some(names[copies])}"),
        (still.any(), f"{still.sum()} constant columns say nothing: {some(frame.columns[still])}"),
        (values.shape[1] < 4, f"{values.shape[1]} columns cannot be interleaved: give a second file of replicates"),
        (missing > 0.2, f"{missing:.0%} of the values were missing: what fills them may make clusters"),
        (out.any(), f"{out.sum()} rows lie over ten times as far from the median as others: {some(names[out])}"),
    )
    return [text for holds, text in cases if holds]


def read_own(path, *, kind=None, impute="mean", **options):
    """A table, a similarity or distance matrix, or weighted edges from a file of one's own.

    Parameters
    ----------
    path : str or Path
        * Table: what `load_expression` takes, or plain numbers, also separated by blanks, with or without header and
          names. One column of text that repeats is taken as classes.
        * Matrix: square, symmetric within 1e-6 of its largest entry off the diagonal, with the same names in rows and
          columns or without names; also .npy, .npz.
        * Edges: two names and maybe a weight (else 1) a row, header or not, comments behind # or %; also a sparse .npz.
          A pair given twice, in either order, needs one weight. Edges of an object with itself are left out.
    kind : {None, "table", "similarity", "distance", "edges"}
        None: a matrix with zeros in the diagonal and nothing below 0 is a distance, one with the largest values of the
        rows there a similarity; rows are edges if their names repeat and stand in both columns.
    impute : {"mean", "knn"}
        Of missing values of a table, see `load_expression`.
    **options
        More arguments of `load_expression`, for a table with header and names.

    Returns
    -------
    OwnData

    Raises
    ------
    FileNotFoundError
        No file.
    ValueError
        A file that is damaged or no text, in doubt between two kinds, or faulty: file, place, what was found and what
        is accepted; fewer than 8 objects.

    Examples
    --------
    >>> import gencap as gc
    >>> from gencap.resources import data_path
    >>> own = gc.datasets.read_own(data_path("yeast_brown2000_186x79.csv"))
    >>> own.kind, own.data.shape, own.classes[0].item(), own.warnings
    ('table', (186, 79), 'Proteas', [])
    """
    check_option("kind", kind, (None, *KINDS))
    check_option("impute", impute, tuple(expression.IMPUTED)[1:])
    path = Path(path)
    sheet = (_array if path.suffix.lower() in (".npy", ".npz") else _text)(path)
    sparse = scipy.sparse.issparse(sheet.body)
    edges = kind == "edges" if kind else sparse or _looks_like_edges(sheet.rows)
    if edges is None or (edges and not (sheet.rows or sparse)) or (sheet.form == "table" and kind in MATRICES):
        raise ValueError(f"{path} ({sheet.form}) is in doubt, or not of {kind=}; {ASK}")
    if sparse and not edges:
        sheet.body = sheet.body.toarray()
    if sheet.rows and not edges:
        _find_names(sheet)
        sheet.plain |= not (sheet.names and sheet.columns)
    classes, notes = None, []
    if edges:
        kind, (data, names, said) = "edges", _edges(sheet)
    elif sheet.form != "table" and _is_matrix(sheet, kind):
        (data, kind), names, said = _matrix(sheet, kind), sheet.names or sheet.columns, []
    else:
        data, classes, gaps, said, notes = _table(sheet, impute, options)
        kind, names, share = "table", sheet.names, gaps / data.size
        said.insert(0, expression.missing_values(gaps, impute) + f" ({share:.1%})" * bool(gaps))
        notes += _doubts(data, share, notes)
    if options and (kind != "table" or sheet.plain):
        accepted = "accepted for a table with commas or tabs, a header and names"
        raise ValueError(f"{path}: {', '.join(options)} given; {accepted}")
    objects = names or [str(n + 1) for n in range(data.shape[0])]
    _check_names(path, objects)
    if min(len(objects) - FEWEST, data.shape[1] - 2) < 0:
        size = f"{data.shape[0]} x {data.shape[1]}"
        raise ValueError(f"{path}: {size}; accepted are {FEWEST} objects, 2 columns and more")
    if len(objects) < FEW:
        notes.append(f"{len(objects)} objects are too few: below {FEW} little can be shown")
    columns = None
    if kind == "table":
        columns = sheet.columns or [str(n + 1) for n in range(data.shape[1])]
        data = data.set_axis(objects).set_axis(columns, axis=1)
    size = f"{len(objects)} x {data.shape[1]}" if kind == "table" else f"{len(objects)} objects"
    words = "; ".join([f"{kind} of {size} ({sheet.form}, {path.name})", *said])
    return OwnData(kind, data, objects, bool(names), columns, classes, words, notes, path)
