"""Files of the reader's own: a table, a similarity or distance matrix, or the weighted edges of a graph.

What a file holds is told by its cells where they leave no doubt; where they do, the error asks for `kind`. Nothing is
left out, filled in, reordered or doubted without words about it.
"""

import csv
import re
import warnings
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas
import scipy.sparse

from ..checks import check_option
from . import expression
from .expression import cell_value, fault, some

KINDS = ("table", "similarity", "distance", "edges")
ACCEPTED = "accepted are text of tables, square matrices or edges (CSV, tabs, blanks; UTF-8, also .gz), and .npy"
ASK = "say which: kind='table', 'similarity', 'distance' or 'edges'"
FEWEST, FEW = 8, 25  # objects: without which nothing can be computed, without which little can be shown


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
        first, other = pandas.Index(self.objects), pandas.Index(second.objects)
        named, both = self.named and second.named, f"{self.path} and {second.path}"
        if self.kind != second.kind or not (named or len(first) == len(other)):
            found = f"{both} are {self.kind!r} and {second.kind!r}, have {len(first)} and {len(other)} objects"
            raise ValueError(f"{found}; accepted are one kind and, if not all are named, equal numbers")
        other, how = (other, "order") if named else (first, "order, paired by position as not all are named,")
        common, absent = first[first.isin(other)], first.symmetric_difference(other, sort=False)
        lacking = f"{len(absent)} objects that only one of {self.path.name}, {second.path.name} has ({some(absent)})"
        if len(common) < 0.9 * max(len(first), len(other)):
            raise ValueError(f"{both} share {len(common)} objects, accepted are 90 % of the larger; {lacking}")
        said = [f"left out: {lacking}"] * bool(len(absent))
        same = named and common.equals(other[other.isin(first)])
        moved = [f"objects put into the {how} of {self.path.name}"] * (not same)
        taken = (self, first, said), (second, other, moved + said)
        return tuple(one._take(names.get_indexer(common), [*common], words) for one, names, words in taken)

    def _take(self, at, names, said):
        X = self.data if self.kind == "edges" else self.data.to_numpy()
        X = X[at] if self.kind == "table" else X[np.ix_(at, at)]
        data = X if self.kind == "edges" else pandas.DataFrame(X, names, self.columns or names)
        classes = None if self.classes is None else self.classes[at]
        return replace(self, data=data, objects=names, classes=classes, words="; ".join([self.words, *said]))


def _text(path):
    """Format and cells, labelled by the lines and columns of the file, and whether `load_expression` knows the form.

    What it knows by the first line has the format "table" and no cells here.
    """
    lines = enumerate(expression.text_lines(path, accepted=ACCEPTED), 1)
    filled = {n: line.strip("\r\n ") for n, line in lines if line.strip()}
    if re.match(r'(?i)"?(!|#1\.[23]|sep=)', next(iter(filled.values()), "")):
        return "table", pandas.DataFrame(), True
    lines = {n: line for n, line in filled.items() if line[0] not in "#%"}
    comments = len(filled) - len(lines)
    if not lines:
        raise ValueError(f"{path} is empty; {ACCEPTED}")
    first = re.sub('"[^"]*"', "", next(iter(lines.values())))
    sep = next((sep for sep in "\t;," if sep in first), " ")
    rows = [[*map(str.strip, row)] for row in csv.reader(lines.values(), delimiter=sep, skipinitialspace=True)]
    if short := {*map(len, rows[1:])} == {len(rows[0]) + 1}:
        rows[0].insert(0, "")  # R writes no cell above the names
    if sep == ";":
        rows = [[re.sub(r"^([+-]?\d*),(\d+)$", r"\1.\2", cell) for cell in row] for row in rows]
    lines = [*lines][: len(rows)]  # a cell may hold an end of line
    width = max((n for row in rows for n, cell in enumerate(row, 1) if cell), default=1)  # without delimiters at ends
    for n in (n for n, row in enumerate(rows) if len(row) < width):
        raise fault(path, lines[n], f"{len(rows[n])} cells; accepted are {width} as in the longest line")
    cells = pandas.DataFrame([row[:width] for row in rows], lines, range(1, width + 1), dtype=object)
    form = {" ": "text", "\t": "TSV"}.get(sep, "CSV") + f", {comments} lines of comments" * bool(comments)
    return form, cells, not (short or comments or sep == " ")


def _array(path):
    """The same of a NumPy file."""
    expression.check_file(path)
    try:
        found = np.load(path, allow_pickle=False)
        if found.ndim != 2 or 0 in found.shape or found.dtype.kind not in "iufb":
            raise ValueError(f"holds {found.dtype}, shape {found.shape}; accepted are two dimensions of numbers")
    except (ValueError, OSError, EOFError) as error:
        raise ValueError(f"{path}: {error}; {ACCEPTED}") from None
    cells = np.array([[*map(str, row)] for row in found.astype(float).tolist()], dtype=object)
    return "NumPy", pandas.DataFrame(cells).rename(lambda n: n + 1).rename(columns=lambda n: n + 1), False


def _looks_like_edges(cells):
    """Whether rows are edges, None in doubt: a table names an object once, and a tree hardly repeats its names."""
    ends = cells.iloc[1:, :2].to_numpy(str)
    names = {*ends.flat}
    if cells.shape[1] not in (2, 3) or any(cell_value(name) is not None and not name.isdigit() for name in names):
        return False
    repeated, shared = len({*ends[:, 0]}) < len(ends), not {*ends[:, 0]}.isdisjoint(ends[:, 1])
    return (repeated or shared) and (True if shared and len(ends) > len(names) else None)


def _edges(path, cells):
    """Sparse weights, names and words; a header has text for a weight, or else names that do not come back."""
    if cells.shape[1] not in (2, 3):
        raise fault(path, cells.index[0], f"{cells.shape[1]} cells; accepted are two names and maybe a weight")
    top, weighted = [*cells.iloc[0]], cells.shape[1] == 3
    header = cell_value(top[2]) is None if weighted else {*top}.isdisjoint(cells.iloc[1:].to_numpy().flat)
    rows, lines = cells.to_numpy()[header:], cells.index[header:]
    weights = np.array([cell_value(row[2]) if weighted else 1 for row in rows], dtype=float)
    for n in np.flatnonzero(~np.isfinite(weights) | (rows[:, :2] == "").any(axis=1))[:1]:
        raise fault(path, lines[n], f"{' '.join(rows[n])!r}; accepted are two names and a finite weight")
    codes, names = pandas.factorize(rows[:, :2].ravel())
    a, b = np.sort(codes.reshape(-1, 2), axis=1).T
    table = pandas.DataFrame({"a": a, "b": b, "weight": weights, "line": lines}).query("a != b")
    edges = table.drop_duplicates(["a", "b"])
    for row in table.merge(edges, on=["a", "b"]).query("weight_x != weight_y").head(1).itertuples():
        pair = f"{names[row.a]!r} and {names[row.b]!r}: weight {row.weight_x:g}, in line {row.line_y} {row.weight_y:g}"
        raise fault(path, row.line_x, f"{pair}; accepted is one weight for a pair, in either order (or kind='table')")
    graph = scipy.sparse.coo_array((edges.weight, (edges.a, edges.b)), (len(names),) * 2).tocsr()
    graph.eliminate_zeros()
    counts = graph.nnz, len(edges) - graph.nnz, len(rows) - len(table), len(table) - len(edges)
    said = "{} edges; {} of weight 0 left out; {} of an object with itself left out; {} given again".format(*counts)
    return (graph + graph.T).tocsr(), [*map(str, names)], [said, f"header {some(top)}" if header else "no header"]


def _labelled(path, cells):
    """Whether there are names of rows, and a header, and the cells with the missing ones: as the others, or numbers."""
    top, below = [*cells.iloc[0]], [*cells.iloc[1:, 0]]
    corner = expression.says(expression.IDENTIFIERS, top[0])  # an empty one, too
    first, *values = map(cell_value, top)
    times = None not in values and first is None and len(values) > 4 and (np.diff(values) > 0).all()
    header = bool(corner or times or 2 * values.count(None) > len(values))
    names = below if header else [top[0], *below]
    whole = all(map(str.isdigit, names)) and len({*names}) == len(names)
    if whole:  # they are names where they count, or stand beside fractions
        whole = {*np.diff([*map(float, names)])} == {1} or "." in "".join(cells.iloc[1:, 1:].to_numpy().flat)
    named = bool(whole or (header and corner) or 2 * sum(cell_value(name) is None for name in names) > len(names))
    square = len(names) == cells.shape[1] - named
    if not named:
        names = top if header and square else [*map(str, range(1, 1 + len(names)))]
        cells.insert(0, 0, [""] * header + names)
    if not header:
        top = ["", *(names if square else map(str, range(1, cells.shape[1])))]
        cells = pandas.concat([pandas.DataFrame([top], [0], cells.columns), cells])
    if len(cells) <= FEWEST or cells.shape[1] < 3:
        raise ValueError(f"{path}: {len(cells) - 1} x {cells.shape[1] - 1}; accepted are {FEWEST} x 2; {ACCEPTED}")
    return named, header, cells


def _matrix(table, sure, kind, path):
    """Kind and values of a symmetric matrix, the mean of what differs within rounding; else, if not `sure`, a table."""
    names, columns = table.genes.tolist(), table.conditions.tolist()
    if sorted(names) != sorted(columns):
        raise ValueError(f"{path}: shape {table.data.shape} or names are not the same; accepted is a square; {ASK}")
    values = table.data[:, pandas.Index(columns).get_indexer(names)]
    largest = np.nanmax(np.abs(values - np.diag(values.diagonal())))
    for i, j in np.argwhere(~(np.abs(values - values.T) <= 1e-6 * largest))[:1]:
        if not sure:
            return "table", table.data
        found = f"{values[i, j]:g} from {names[i]!r} to {names[j]!r}, {values[j, i]:g} back"
        raise ValueError(f"{path} is not symmetric: {found}; accepted are equal numbers, none missing, or kind='table'")
    own, distant = values.diagonal(), values.min() >= 0 and not values.diagonal().any()
    doubt = np.median(values) == 0 if distant else (own < values.max(axis=1)).any()
    if (kind == "distance" and not distant) or (kind is None and doubt):
        found = f"{path}: a symmetric matrix, its diagonal {own.min():g} to {own.max():g}, its least {values.min():g}"
        raise ValueError(f"{found}; accepted are distances (0 there, mostly > 0 elsewhere) or largest there; {ASK}")
    return kind or ("distance" if distant else "similarity"), (values + values.T) / 2


def _doubts(frame, missing, notes):
    """Sentences on a table (N, D) without gaps, of which a share had been missing, beside the reader's notes."""
    data, rows, columns = frame.to_numpy(), frame.index, frame.columns
    far = np.linalg.norm(data - np.median(data, axis=0), axis=1)
    marked = (
        (rows, np.ptp(data, axis=1) == 0, "constant rows have no correlation"),
        (rows, frame.duplicated().to_numpy(), "rows are copies of others, which agree by themselves"),
        (columns, np.ptp(data, axis=0) == 0, "constant columns say nothing"),
        (rows, far > 10 * np.median(far), "rows lie over ten times as far from the median as others"),
    )
    said = [f"{at.sum()} {what}: {some(names[at])}" for names, at, what in marked if at.any()]
    if data.min() >= 0 and data.max() > 100 * np.median(data) > 0 and "look like" not in "".join(notes):
        said.append(f"values from {data.min():g} to {data.max():g} look like raw intensities: take logarithms")
    if len(columns) < 4:
        said.append(f"{len(columns)} columns cannot be interleaved: give a second file of replicates")
    if missing > 0.2:
        said.append(f"{missing:.0%} of the values were missing: what fills them may make clusters")
    return said


def read_own(path, *, kind=None, impute="mean", **options):
    """A table, a similarity or distance matrix, or weighted edges from a file of one's own.

    Parameters
    ----------
    path : str or Path
        * Table: what `load_expression` takes, or plain numbers, also separated by blanks or .npy, with or without
          header and names. A column of text that repeats is taken as classes.
        * Matrix: square, symmetric within 1e-6 of its largest entry off the diagonal, with the same names in rows and
          columns or without names; also .npy.
        * Edges: two names and maybe a weight (else 1) a row, header or not. A pair given twice, in either order, needs
          one weight. Edges of an object with itself are left out.

        Lines that begin with # or % are comments in all of them.
    kind : {None, "table", "similarity", "distance", "edges"}
        None: a matrix with zeros in the diagonal and nothing below 0 is a distance, one with the largest values of the
        rows there a similarity; rows are edges if their names repeat and stand in both columns.
    impute : {"mean", "knn"}
        Of missing values of a table, see `load_expression`.
    **options
        More arguments of `load_expression`; they make the file a table.

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
    form, cells, load = (_array if path.suffix.lower() == ".npy" else _text)(path)
    only = form == "table" or bool(options)  # a table, or nothing
    edges = kind == "edges" if kind or only else _looks_like_edges(cells)
    if edges is None or (only and kind not in (None, "table")):
        raise ValueError(f"{path} ({form}) is in doubt, or not of {kind=}; {ASK}")
    columns, classes, notes, named, header = None, None, [], True, True
    if edges:
        kind, (data, names, said) = "edges", _edges(path, cells)
    else:
        if form != "table":
            named, header, cells = _labelled(path, cells)
        same = not only and sorted(cells.iloc[0, 1:]) == sorted(cells.iloc[1:, 0])
        if matrix := kind in KINDS[1:] or (same and not kind):
            options = {"annotations": []}
        elif form != "table" and not {"class_column", "orientation"} & options.keys():
            body = cells.iloc[1:, 1:]
            texts = body.map(lambda cell: cell_value(cell) is None).all() & (2 * body.nunique() <= len(body))
            options |= dict(zip(["class_column"], cells.iloc[0, 1:][texts], strict=False))
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            load &= named and header
            table = expression.load_expression(path, cells=None if load else cells, drop_empty=not matrix, **options)
        kind, data = _matrix(table, kind or (named and header), kind, path) if matrix else ("table", table.data)
        names, said = table.genes.tolist(), []
    if kind == "table":
        columns, gaps = table.conditions.tolist(), table.n_missing
        data = pandas.DataFrame(expression.imputed(data, impute), names, columns)
        notes = [str(one.message).removeprefix(f"{path}: ") for one in caught]
        said = [expression.missing_values(gaps, impute) + f" ({gaps / data.size:.1%})" * bool(gaps)]
        said += [note for note in notes if note.startswith("left out")]
        said += [f"no {what}" for what, there in (("header", header), ("names of rows", named)) if not there]
        notes = [note for note in notes if note not in said] + _doubts(data, gaps / data.size, notes)
        if table.classes is not None:
            classes = table.class_names[table.classes]
            said.append(f"classes from {options['class_column']!r}, {len(table.class_names)} names")
        form = table.format if load else form
    elif not edges:
        named, data = named or header, pandas.DataFrame(data, names, names)
    size = f"{len(names)} x {len(columns)}" if columns else f"{len(names)} objects"
    if len(names) < FEWEST:
        raise ValueError(f"{path}: {size}; accepted are {FEWEST} objects and more")
    if len(names) < FEW:
        notes.append(f"{len(names)} objects are too few: below {FEW} little can be shown")
    words = "; ".join([f"{kind} of {size} ({form}, {path.name})", *said])
    return OwnData(kind, data, names, named, columns, classes, words, notes, path)
