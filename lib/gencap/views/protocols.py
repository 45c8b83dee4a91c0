"""Two views of one data set: where the second, independent look at the same objects comes from.

A capacity compares two noisy measurements of the same objects. Real data sets are measured once, so a protocol makes
two views of them: every other column for a series (`interleave`), two halves of the objects that are paired by
likeness (`random_split`), or true repetitions (`replicates`). What the pairing itself knows is part of the result:
with objects matched on the quantity that is clustered, even a table without any relation between its rows has a large
capacity. So views say how alike their pairs are (`Views.diagnostics`), and can be made again, in the same way, from
data without clusters (`Views.remake`), which is what `capacity_null` compares with.

Similarities are written X = M - D with one maximum M for both views, so that one absolute shift s means one distance
D_0 = M + s in both: X + s = D_0 - D, objects nearer than D_0 attract each other. M rests on the two most distant
objects and differs between splits; the relative shift D_0 / median(D) does not.
"""

from collections import namedtuple
from functools import cached_property, partial

import numpy as np
from scipy.optimize import linear_sum_assignment

from .. import checks
from .measures import match_objects, path_distances, pearson_similarity, squared_euclidean_distances, standardised_rows

_DISTANCES = {
    "correlation": lambda X: 1.0 - pearson_similarity(X),
    "euclidean": squared_euclidean_distances,
    "path": lambda X: path_distances(squared_euclidean_distances(X)),
    "path_correlation": lambda X: path_distances(1.0 - pearson_similarity(X)),
}
MEASURES = (*_DISTANCES, "path_union")
PRECISION = 1e5  # largest M / median: single precision then keeps the median to a percent
STEPS = {"path": "euclidean", "path_correlation": "correlation"}  # what the longest step of a path is measured in
TIE = 1e-6  # of the largest path distance: pairings whose mean distances differ by less count as equally good
ALIGNMENTS = ("correlation", "euclidean", "path", "path_correlation", "random")


class SimilarityPair(tuple):
    """Similarities X1, X2 of two views, float32 matrices (N, N) with diagonal M.

    Attributes
    ----------
    measure : str
    maximum : float
        M in X = M - D, the same for both: 1 for correlations, else the largest distance; more if made positive.
    median : float
        Median distance of two different objects, over both views.
    """

    def shift(self, relative):
        """Absolute shift at which the distance `relative` x median is neutral.

        Parameters
        ----------
        relative : float

        Returns
        -------
        float
            relative * median - M.
        """
        return checks.check_number("relative", relative) * self.median - self.maximum

    def relative(self, shift):
        """Relative shift D_0 / median(D) of an absolute one; below 0 every shifted similarity is negative.

        Parameters
        ----------
        shift : float

        Returns
        -------
        float
        """
        return (checks.check_number("shift", shift) + self.maximum) / self.median


class Views(namedtuple("Views", "first second data rows1 rows2 protocol again")):
    """Two views of the same objects: row i of `first` and of `second` are one object, or a matched pair.

    Parameters
    ----------
    first, second : ndarray, shape (N, D1), (N, D2)
    data : ndarray, shape (M, D)
        The table that the views were made of.
    rows1, rows2 : ndarray of int, shape (N,)
        Rows of `data` in the views.
    protocol : str
        How they were made, in words.
    again : callable (X, random_state=) -> Views
        The protocol, see `remake`.

    Examples
    --------
    >>> import numpy as np, gencap as gc
    >>> gc.interleave(np.arange(12.0).reshape(3, 4))
    Views(3 objects: same objects, 2/2 interleaved columns)
    """

    def __repr__(self):
        return f"{type(self).__name__}({len(self.first)} objects: {self.protocol})"

    def remake(self, X, random_state=None):
        """Views of another table, made by the same protocol; split afresh if it is random.

        Parameters
        ----------
        X : array_like
            Of the shape of `data`.
        random_state : int, Generator or None

        Returns
        -------
        Views
        """
        X = checks.check_vectors("X", X)
        checks.check_same_shape("X", X, "the first table", self.data)
        return self.again(X, random_state=random_state)

    def check_rows(self, measure):
        """Refuse rows without a correlation, and name the view.

        Parameters
        ----------
        measure : str
            As in `similarities`; nothing is refused where it needs no correlation.

        Raises
        ------
        ValueError
            A row is constant.
        """
        for name in ("first", "second") if "correlation" in measure else ():
            standardised_rows(name, getattr(self, name))

    @cached_property
    def diagnostics(self):
        """Mean correlation between rows of the two views: `matched` pairs, the `nearest` row, `random` pairs.

        Rows of different lengths are compared over the columns both have; in interleaved series these are
        neighbouring points. A matched value close to the random one says that the pairing pairs strangers.
        """
        width = min(self.first.shape[1], self.second.shape[1])
        rho = standardised_rows("first", self.first[:, :width]) @ standardised_rows("second", self.second[:, :width]).T
        return {"matched": rho.diagonal().mean(), "nearest": rho.max(axis=1).mean(), "random": rho.mean()}

    def similarities(self, measure="correlation", positive=False):
        """Similarities of the objects in each view.

        Parameters
        ----------
        measure : {"correlation", "euclidean", "path", "path_correlation", "path_union"}
            Pearson's rho; squared Euclidean distance; minimax path over squared Euclidean distances, or over 1 - rho,
            inside each view; the path over all rows of `data`, from which each view takes its part (random halves
            only: the views then share what the whole table says about each object).
        positive : bool
            For models that need similarities >= 0 and degrees > 0: correlations as 1 + rho, the others with M one
            percent above the largest distance (an outlier is equally far from all by path, and would have degree 0).

        Returns
        -------
        SimilarityPair

        Raises
        ------
        ValueError
            Unknown measure, constant rows with correlations, "path_union" of views that do not share columns, distances
            with a median of 0 or one that single precision cannot hold beside M.

        References
        ----------
        Document 000, Eqs 15-19; the printed shifts fit the squared Euclidean distance only.
        """
        checks.check_option("measure", measure, MEASURES)
        if measure == "path_union":
            if self.first.shape[1] != self.data.shape[1]:
                raise ValueError(f"measure='path_union' needs views that are rows of one table, got {self.protocol}")
            whole = _DISTANCES["path"](self.data)
            distances = [whole[np.ix_(rows, rows)] for rows in (self.rows1, self.rows2)]
            maximum = float(whole.max())
        else:
            self.check_rows(measure)
            distances = [_DISTANCES[measure](X) for X in (self.first, self.second)]
            maximum = float(max(D.max() for D in distances))
        if measure == "correlation":
            maximum = 2.0 if positive else 1.0
        elif positive:
            maximum *= 1.01
        off = ~np.eye(len(self.first), dtype=bool)
        median = float(np.median([D[off] for D in distances])) if len(off) > 1 else 0.0
        # In single precision M - D has lost the distances that are small beside M.
        if maximum > checks.LARGEST or median < 1 / checks.LARGEST or maximum > PRECISION * median:
            found = f"data has a median distance of {median:.3g} by {measure!r} and X = M - D with M = {maximum:.3g}"
            accepted = f"1e-30..1e30 and M up to {PRECISION:g} medians"
            raise ValueError(f"{found}, accepted are {accepted}: rescale, or leave out rows far from all or alike")
        pair = SimilarityPair((maximum - D).astype(np.float32) for D in distances)
        pair.measure, pair.maximum, pair.median = measure, maximum, median
        return pair


def _columns(X, first, second, words, random_state=None):
    """Views of two sets of columns of the same objects; `random_state` is ignored, nothing is random."""
    X = checks.check_vectors("X", X).copy()  # views must not change with the caller's array
    rows = np.arange(len(X))
    again = partial(_columns, first=first, second=second, words=words)
    return Views(X[:, first], X[:, second], X, rows, rows, words, again)


def interleave(X, *, random_state=None):
    """Same objects, columns 1, 3, 5, ... in one view and 2, 4, 6, ... in the other: for series.

    Parameters
    ----------
    X : array_like, shape (N, D)
        D >= 4.
    random_state : ignored
        Nothing is random.

    Returns
    -------
    Views

    References
    ----------
    Document 000, sections 3.6 and 7.1.1.

    Examples
    --------
    >>> import numpy as np, gencap as gc
    >>> gc.interleave(np.arange(12.0).reshape(3, 4)).second[0]
    array([1., 3.])
    """
    width = checks.check_integer("columns of X", checks.check_vectors("X", X).shape[1], 4)
    words = f"same objects, {width - width // 2}/{width // 2} interleaved columns"
    return _columns(X, slice(0, None, 2), slice(1, None, 2), words)


def replicates(X1, X2):
    """Same objects measured twice.

    Parameters
    ----------
    X1, X2 : array_like, shape (N, D1), (N, D2)

    Returns
    -------
    Views
        `data` holds both side by side.

    Examples
    --------
    >>> import numpy as np, gencap as gc
    >>> gc.replicates(np.eye(3), np.ones((3, 2)))
    Views(3 objects: same objects measured twice)
    """
    checks.check_same_order("X2", X2, "X1", X1)
    X1, X2 = checks.check_vectors("X1", X1), checks.check_vectors("X2", X2)
    checks.check_same_shape("the first column of X2", X2[:, 0], "that of X1", X1[:, 0])
    width = X1.shape[1]
    return _columns(np.hstack([X1, X2]), slice(width), slice(width, None), "same objects measured twice")


def random_split(X, *, align="correlation", n_objects=None, random_state=None):
    """Two random halves of the objects, paired one to one by the Hungarian method.

    Parameters
    ----------
    X : array_like, shape (M, D)
    align : {"correlation", "euclidean", "path", "path_correlation", "random"}
        What pairs have in common: their sum of 1 - rho, of Euclidean distances, or of path distances over the whole
        table (squared Euclidean or 1 - rho) is the smallest possible; "random" pairs strangers.
    n_objects : int or None
        Objects in each half; None takes half of them all.
    random_state : int, numpy.random.Generator or None

    Returns
    -------
    Views

    Raises
    ------
    ValueError
        Fewer than four objects, n_objects above M / 2, an unknown align.

    Notes
    -----
    Matching on path distances pairs objects that are equally far from everything, not objects that are alike: path
    distances are ruled by the distance to the nearest neighbour. See `Views.diagnostics`. Very many pairings then have
    the same, smallest sum, and which of them it is moves a capacity by tenths of a bit; the one taken has the smallest
    sum of the distances beneath (squared Euclidean or 1 - rho). Row order and solver then decide only where these tie
    as well (counts, points on a lattice), or where one group lies so far out that the others' differences are rounding.

    References
    ----------
    Document 000, section 7.2.1.

    Examples
    --------
    >>> import numpy as np, gencap as gc
    >>> X = np.random.default_rng(0).standard_normal((10, 6))
    >>> gc.random_split(X, align="euclidean", random_state=0)
    Views(5 objects: random halves of 5, matched on euclidean)
    """
    X = checks.check_vectors("X", X).copy()
    checks.check_option("align", align, ALIGNMENTS)
    most = checks.check_integer("objects of X", len(X), 4) // 2
    n_half = most if n_objects is None else checks.check_integer("n_objects", n_objects, 2, most, "half of the objects")
    if "correlation" in align:
        standardised_rows("X", X)  # rows of the table are named, not rows of a half
    rows1, rows2 = checks.generator(random_state).permutation(len(X))[: 2 * n_half].reshape(2, -1)
    if align.startswith("path"):
        whole = _DISTANCES[STEPS[align]](X)
        paths, steps = (D[np.ix_(rows1, rows2)] for D in (path_distances(whole), whole))
        scale = TIE * paths.max() / max(steps.max(), np.finfo(float).tiny)
        rows2 = rows2[linear_sum_assignment(paths + scale * steps)[1]]
    elif align != "random":
        rows2 = rows2[match_objects(X[rows1], X[rows2], distance=align)]
    words = f"random halves of {n_half}, " + ("paired at random" if align == "random" else f"matched on {align}")
    again = partial(random_split, align=align, n_objects=n_objects)
    return Views(X[rows1], X[rows2], X, rows1, rows2, words, again)


def split_similarities(X, *, random_state=None):
    """Split the objects of a similarity matrix at random into two halves.

    Parameters
    ----------
    X : array_like or scipy.sparse matrix, shape (N, N)
        N >= 2; the first half gets the odd object.
    random_state : int, numpy.random.Generator or None

    Returns
    -------
    X1 : (N1, N1), X2 : (N2, N2)
        Similarities inside the halves; N1 = N - N2, N2 = N // 2.
    cross : (N2, N1)
        Similarities of the objects of half 2 with those of half 1, which no clustering of a half has seen.
    first, second : ndarray of int
        The objects of the halves.

    Raises
    ------
    ValueError
        X is no finite symmetric matrix of at least two objects.

    Examples
    --------
    >>> import numpy as np, gencap as gc
    >>> X1, X2, cross, first, second = gc.split_similarities(np.eye(5), random_state=0)
    >>> X1.shape, cross.shape
    ((3, 3), (2, 3))
    """
    X = checks.check_similarity("X", X)
    order = checks.generator(random_state).permutation(checks.check_integer("objects of X", X.shape[0], 2))
    first, second = np.array_split(order, 2)
    return X[first][:, first], X[second][:, second], X[second][:, first], first, second


def random_halves(X, pairwise, rng):
    """Random halves of a data set and their rows, (X1, X2, cross, rows1, rows2).

    `cross` holds the similarities of the objects of half 2 with those of half 1 where X is a similarity matrix, and is
    None where the rows of X are vectors.
    """
    if pairwise:
        return split_similarities(X, random_state=rng)
    first, second = np.array_split(rng.permutation(len(X)), 2)
    return X[first], X[second], None, first, second


def take_objects(per_object, n_objects, *rows):
    """The arrays per object of every one of `rows`: a list of dicts, as `fit` and `anneal` take them.

    Parameters
    ----------
    per_object : dict name -> array_like of shape (n_objects, ...), or None
    n_objects : int
    *rows : ndarray of int

    Raises
    ------
    ValueError
        An array has another length.
    """
    per_object = {name: np.asarray(values) for name, values in (per_object or {}).items()}
    for name, values in per_object.items():
        if values.shape[:1] != (n_objects,):
            raise ValueError(f"per_object[{name!r}] has shape {values.shape}, accepted are {n_objects} entries")
    return [{name: values[one] for name, values in per_object.items()} for one in rows]
