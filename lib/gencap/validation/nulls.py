"""Bits of structure or bits of procedure: the capacity of data without clusters, seen through the same protocol.

A capacity above 0 says that two views agree, not why. Views share more than clusters: a direction of large variance
splits stably wherever it is cut, a stiff shift balances the sizes, objects matched on the measured quantity agree by
construction. `capacity_null` makes tables without clusters and repeats the whole protocol on them:

* "permuted": the values of every row in an order of their own; no relation between objects is left;
* "gaussian": rows of one Gaussian with the mean and covariance of the table; the directions stay, the clusters go;
* "matched": the values of every column exactly, in an order that keeps the columns' correlations and no clusters.

With R null tables the p-value (1 + #{null >= observed}) / (R + 1) is exact when the data are one more table of the same
kind. Ties count against the data: a capacity of 0 has p = 1. Small tables without clusters often tie at 0, so the test
is conservative there: with N=20, D=10, R=9, P(p <= .1) was .075 to .090 for "permuted" tables and .040 to .070 for
"gaussian" ones (200 tables each). Of exponentials of correlated Gaussians, s = .01, .5, 1 and 2 times a Gaussian of
variance 1, P(p <= .1) was .060, .095, .100 and .115 by "matched", but .075, .100, .230 and .390 by "gaussian": skewed
columns alone look like clusters to it. "matched" has limits, too. Of columns with s from .6 to 2.3 in one table it was
.195 (.535 by "gaussian"): a few huge values say little of correlations, take logarithms. And columns that fall into
separate groups of values keep them; where few columns that correlate do, the null tables have clusters of their own.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import eval_hermitenorm, factorial, ndtri
from sklearn.utils import get_tags

from ..checks import (
    check_integer,
    check_offered,
    check_option,
    check_seed,
    check_similarity,
    check_size,
    check_vectors,
    generator,
)
from ..views.graphs import GraphViews
from ..views.protocols import MEASURES, Views
from .evaluation import ROUNDING, evaluate_all, make_views
from .selection import check_model


def permuted_table(X, *, random_state=None):
    """The table with the values of every row in an independent random order.

    Parameters
    ----------
    X : array_like, shape (N, D)
    random_state : int, numpy.random.Generator or None

    Returns
    -------
    ndarray, shape (N, D)

    Examples
    --------
    >>> import gencap as gc
    >>> gc.permuted_table([[1.0, 2.0, 3.0]], random_state=0).sum()
    np.float64(6.0)
    """
    return generator(random_state).permuted(check_vectors("X", X), axis=1)


def shuffled_graph(X, *, random_state=None):
    """A graph with the same weights between other pairs of objects: no groups are left.

    Parameters
    ----------
    X : array_like, shape (N, N)
        Symmetric similarities; the diagonal is not used.
    random_state : int, numpy.random.Generator or None

    Returns
    -------
    ndarray, shape (N, N)
        Diagonal 0.

    Examples
    --------
    >>> import gencap as gc
    >>> gc.shuffled_graph([[0, 1], [1, 0]], random_state=0).tolist()
    [[0.0, 1.0], [1.0, 0.0]]
    """
    X = check_similarity("X", X)
    shuffled, pairs = np.zeros_like(X), np.triu_indices(len(X), 1)
    shuffled[pairs] = generator(random_state).permuted(X[pairs])
    return shuffled + shuffled.T


def gaussian_table(X, *, random_state=None):
    """A table of the same shape, its rows from one Gaussian with the column means and covariance of the data.

    Parameters
    ----------
    X : array_like, shape (N, D)
        N >= 2; a singular covariance is accepted.
    random_state : int, numpy.random.Generator or None

    Returns
    -------
    ndarray, shape (N, D)

    Examples
    --------
    >>> import gencap as gc
    >>> gc.gaussian_table([[1.0, 2.0], [3.0, 5.0]], random_state=0).shape
    (2, 2)
    """
    X = check_vectors("X", X)
    check_integer("objects of X", len(X), 2)  # one has no covariance
    covariance = np.atleast_2d(np.cov(X, rowvar=False))
    return generator(random_state).multivariate_normal(X.mean(axis=0), covariance, len(X), "ignore", method="eigh")


TERMS, HALVINGS, CORRECTIONS = 20, 16, 3  # Hermite polynomials; bisection; fixed-point steps after a projection


def _factor(correlation):
    """Rows of unit length (D, D) whose products are the matrix, or a valid one beside it: no negative eigenvalue."""
    values, vectors = np.linalg.eigh(correlation)
    rows = vectors * np.sqrt(np.maximum(values, 0))
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def _copula(X):
    """Gaussians (`_factor`) by whose ranks values of X in a new order correlate as those of X do, or nearly.

    A value is a step function of its Gaussian's normal score. Two functions with Hermite coefficients a, b correlate by
    sum_k a_k b_k g^k where their Gaussians do by g. What the first terms leave goes into two high powers, so that the
    sum is exact at g = 1 and -1, and within .03 for two values. It rises with g, and is solved for every pair; the
    whole need not be a correlation matrix.
    """
    spread = np.where(np.ptp(X, axis=0) > 0, X.std(axis=0), 0)
    scores = np.divide(X - X.mean(axis=0), spread, out=np.zeros_like(X), where=spread > 0)
    wanted, ordered = scores.T @ scores / len(X), np.sort(scores, axis=0)
    edges, order = ndtri(np.arange(1, len(X)) / len(X)), np.arange(1, TERMS + 1)[:, None]
    inner = eval_hermitenorm(order - 1, edges) * np.exp(-(edges**2) / 2) / np.sqrt(2 * np.pi * factorial(order))
    terms = -np.diff(inner, axis=1, prepend=0, append=0) @ ordered
    same, opposite = ordered.T @ ordered / len(X), ordered.T @ ordered[::-1] / len(X)
    odd = (same - opposite) / 2 - terms[::2].T @ terms[::2]
    even = (same + opposite) / 2 - terms[1::2].T @ terms[1::2]

    def missing(g):
        total = (odd + even * g) * g ** (2 * TERMS)
        for a in terms[::-1]:
            total = total * g + np.outer(a, a)
        return wanted - total * g

    g = np.zeros_like(wanted)
    for n in range(1, HALVINGS + 1):
        g += 0.5**n * np.sign(missing(g))
    for _ in range(CORRECTIONS):  # in angles, where the slope of no function is large
        np.fill_diagonal(g, 1)
        rows = _factor(g)
        g = np.clip(rows @ rows.T, -1, 1)
        g = np.sin(np.clip(np.arcsin(g) + np.pi / 2 * missing(g), -np.pi / 2, np.pi / 2))
    np.fill_diagonal(g, 1)
    return _factor(g)


def matched_table(X, *, random_state=None):
    """A table with exactly the values of every column, correlated as the columns are, and no clusters.

    The columns are ordered by the ranks of correlated Gaussians (Gaussian copula). A correlation that no such order of
    the values reaches, or not beside the others, comes out as a near one: mostly nearer to 0, for columns with far
    outliers or two values, or more of them than objects.

    Parameters
    ----------
    X : array_like, shape (N, D)
        N >= 2, D <= 11585.
    random_state : int, numpy.random.Generator or None

    Returns
    -------
    ndarray, shape (N, D)
        Every column is a permutation of the column of X; correlations are those of X but for the error of sampling.

    Raises
    ------
    ValueError
        Missing values, one object, a correlation matrix that is too large.

    References
    ----------
    Iman and Conover, A distribution-free approach to inducing rank correlation, 1982; Cario and Nelson, Modeling and
    generating random vectors with arbitrary marginal distributions and correlation matrix, 1997.

    Examples
    --------
    >>> import numpy as np, gencap as gc
    >>> gc.matched_table(np.arange(6).reshape(3, 2), random_state=0)
    array([[0., 1.],
           [2., 3.],
           [4., 5.]])
    """
    X = check_vectors("X", X)
    check_integer("objects of X", len(X), 2)
    check_size("correlations of the columns of X", (X.shape[1],) * 2)
    ranks = np.argsort(generator(random_state).standard_normal(X.shape) @ _copula(X).T, axis=0)
    table = np.empty_like(X)
    np.put_along_axis(table, ranks, np.sort(X, axis=0), axis=0)
    return table


NULLS = {"permuted": permuted_table, "gaussian": gaussian_table, "matched": matched_table}


def null_graphs(graphs, null, *, random_state=None):
    """Graphs without groups, made of measured ones; two measurements of the same pairs stay as alike as they are.

    Parameters
    ----------
    graphs : array_like, shape (m, N, N)
        Symmetric weights, m measurements of the same N objects; the diagonal is not used.
    null : {"permuted", "gaussian", "matched"}
        "permuted": the weights between other pairs. "gaussian": the objects in random directions; the spectrum of each
        graph and its mean weight stay, so a strong common factor does, too. "matched": the same, and each graph gets
        its own weights back, in the order of the new ones.
    random_state : int, numpy.random.Generator or None

    Returns
    -------
    ndarray, shape (m, N, N)
        Diagonal 0.

    Notes
    -----
    X becomes Q X Q' with one random orthogonal Q for all measurements that keeps the vector of ones: groups are
    directions along the axes of the objects, and of these nothing is left.

    Examples
    --------
    >>> import numpy as np
    >>> from gencap.validation.nulls import null_graphs
    >>> X = np.kron(np.eye(2), np.ones((3, 3)))[None]
    >>> null_graphs(X, "matched", random_state=0).sum(), X.sum() - 6
    (np.float64(12.0), np.float64(12.0))
    """
    check_option("null", null, tuple(NULLS))
    graphs = np.stack([check_similarity("graphs", X, np.float64, use_diagonal=False) for X in graphs])
    rng, n_objects = generator(random_state), graphs.shape[1]
    pairs = np.triu_indices(n_objects, 1)
    weights = graphs[:, *pairs]
    if null == "permuted":
        new = weights[:, rng.permutation(len(pairs[0]))]
    else:
        ones = np.ones((n_objects, 1))
        bases = (np.hstack([ones, rng.standard_normal((n_objects, n_objects - 1))]) for _ in range(2))
        first, second = (np.linalg.qr(basis)[0] for basis in bases)  # the first column of both is that of ones
        turn = first @ second.T
        means = weights.mean(axis=1)[:, None, None] * np.eye(n_objects)
        new = (turn @ (graphs + means) @ turn.T)[:, *pairs]
    if null == "matched":
        np.put_along_axis(new, new.argsort(axis=1), np.sort(weights, axis=1), axis=1)
    made = np.zeros_like(graphs)
    made[:, *pairs] = new
    return made + made.transpose(0, 2, 1)


def null_views(views, null, measure, rng):
    """Views of data without clusters, made as `views` were; rows may lack a correlation where theirs do not.

    `measure` is empty where no model asks for similarities.
    """
    is_graph = isinstance(views, GraphViews)
    made = null_graphs(views.data, null, random_state=rng) if is_graph else NULLS[null](views.data, random_state=rng)
    again = views.remake(made, rng)
    try:
        again.check_rows(measure)
    except ValueError as error:
        raise ValueError(f"a {null!r} table by {measure!r}: {error}; use another null or measure") from None
    return again


@dataclass(eq=False, repr=False)
class CapacityNull:
    """Capacities of data beside those of tables without clusters; see `capacity_null`.

    Parameters
    ----------
    kind : {"permuted", "gaussian", "matched"}
    n_clusters : ndarray of int, shape (L,)
    observed : ndarray, shape (L,)
        Capacity of the data, bits per object.
    null : ndarray, shape (R, L)
        Capacities of R null tables.

    Attributes
    ----------
    mean, spread : ndarray, shape (L,)
        Mean of the null, and its standard deviation; NaN with one repeat.
    excess : ndarray, shape (L,)
        Observed minus the mean of the null, bits per object.
    p_value : ndarray, shape (L,)
        (1 + #{null >= observed}) / (R + 1) for every number of clusters.
    p_value_max : float
        The same for the largest capacity over all numbers of clusters, so that choosing among them is paid for.

    Examples
    --------
    >>> import numpy as np, gencap as gc
    >>> gc.CapacityNull("permuted", np.array([2]), np.array([1.0]), np.array([[0.1], [0.3], [0.2]])).p_value
    array([0.25])
    """

    kind: str
    n_clusters: np.ndarray
    observed: np.ndarray
    null: np.ndarray

    def __post_init__(self):
        repeats, self.mean = len(self.null), self.null.mean(axis=0)
        self.spread = self.null.std(axis=0, ddof=1) if repeats > 1 else np.full(self.mean.shape, np.nan)
        self.excess = self.observed - self.mean
        self.p_value = (1 + (self.null >= self.observed - ROUNDING).sum(axis=0)) / (repeats + 1)
        self.p_value_max = float((1 + (self.null.max(axis=1) >= self.observed.max() - ROUNDING).sum()) / (repeats + 1))

    def __repr__(self):
        best = int(self.observed.argmax())
        values = f"{self.observed[best]:.3f} bits, null {self.mean[best]:.3f}, p={self.p_value[best]:.3g}"
        kind = f"{self.kind}, {len(self.null)} repeats; K={self.n_clusters[best]}"
        return f"CapacityNull({kind}: {values}, over all K p={self.p_value_max:.3g})"


def capacity_null(
    model, X, n_clusters=None, *, protocol=None, null="permuted", measure="correlation", n_repeats=19,
    relative_shift=None, per_object=None, random_state=None, n_jobs=None, folder=None, progress=True,
):  # fmt: skip
    """Capacity of a model on two views, and on views of tables without clusters made by the same protocol.

    Parameters
    ----------
    model : estimator with `anneal`
        On similarities, or on vectors or tables: those see the views themselves. Its own `random_state` is used for
        data and nulls alike; give it a seed for repeatable numbers.
    X : Views, or array_like of shape (N, D)
    n_clusters : int, iterable of int, or None
        A curve over K; None takes the model's own.
    protocol : callable (X, random_state=) -> Views, "interleave", "random_split", or None
        For a table; views bring theirs.
    null : {"permuted", "gaussian", "matched"}
        See the head of this room. The last two are harder: they keep what correlated columns alone explain, "matched"
        with the values' own distributions (skew, outliers, whole numbers).
    measure : str
        As in `Views.similarities`, for models on similarities.
    n_repeats : int
        Null tables R; the smallest p-value is 1 / (R + 1).
    relative_shift : float or None
        D_0 / median distance, turned into the model's absolute shift for every pair of views. Without it `shift` is
        used as it is, which means something else in the null: its distances are others.
    per_object : dict name -> array_like of shape (N, ...), or None
        What the model's `fit` and `anneal` take for every row of the table; it stays with the row in the null tables.
    random_state : int, numpy.random.Generator or None
    n_jobs : int or None
        Worker processes (joblib); the result does not depend on it.
    folder : path or None
        Finished capacities are kept there, so that the same call after an interruption goes on where it was. They are
        known by all that made them: data, model with the code of a class of your own, gencap, Python and packages.
    progress : bool

    Returns
    -------
    CapacityNull

    Raises
    ------
    ValueError
        Missing values, n_repeats < 1, unknown null, measure or protocol, a protocol beside views, relative_shift for
        a model without shift, arrays per object of another length, or anything that protocol and model refuse.
    TypeError
        A model without `anneal`.
    OSError
        The folder cannot be made.

    Examples
    --------
    >>> import numpy as np, gencap as gc
    >>> X = np.repeat(np.eye(3, 6), 8, axis=0) + 0.1 * np.random.default_rng(0).standard_normal((24, 6))
    >>> model = gc.AnnealedKMeans(3, random_state=0)
    >>> found = gc.capacity_null(model, gc.replicates(X, X), n_repeats=4, random_state=0, progress=False)
    >>> found.p_value_max, bool(found.excess[0] > 1)
    (0.2, True)
    """
    check_model(model, relative_shift=relative_shift)
    check_option("null", null, tuple(NULLS))
    check_option("measure", measure, MEASURES)
    check_integer("n_repeats", n_repeats)
    offered = check_offered(model.get_params()["n_clusters"] if n_clusters is None else n_clusters)
    rngs = [np.random.default_rng(s) for s in np.random.SeedSequence(check_seed(random_state)).spawn(n_repeats + 1)]
    if not isinstance(X, Views):
        X = make_views(check_vectors("X", X), protocol, rngs[0])
    elif protocol is not None:
        raise ValueError(f"protocol={protocol!r} beside Views, accepted is None: the views' own is repeated")
    seen = measure if get_tags(model).input_tags.pairwise else ""
    views = (null_views(X, null, seen, rng) if number else X for number, rng in enumerate(rngs))
    tasks = ((model, one, measure, offered, relative_shift, per_object) for one in views)
    found = evaluate_all(tasks, len(rngs), folder, n_jobs=n_jobs, progress=progress, desc=f"{null} null")
    capacities = np.array([[row["capacity"] for row in rows] for rows in found])
    return CapacityNull(null, np.array(offered), capacities[0], capacities[1:])
