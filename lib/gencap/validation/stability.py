"""Stability: how often do two halves of the data lead to the same clusters?"""

import warnings
from dataclasses import dataclass

import numpy as np
from sklearn.base import clone
from sklearn.utils import get_tags

from .. import checks
from ..resources import one_thread
from ..views.protocols import random_halves, take_objects
from .agreement import align_labels
from .selection import twin
from .transfer import coldest_labels, transfer_labels

ORDERS = ("n_clusters", "n_components")


@dataclass(frozen=True)
class Instability:
    """How much two clusterings of the same objects disagree, measured by what guessing would do.

    Parameters
    ----------
    value : float
        disagreement / guessing; NaN for one cluster, where both are 0.
    disagreement : float
        Share of objects with different labels after the best renaming, mean over the splits.
    guessing : float
        The same for two labelings drawn at random, mean over the draws.

    Examples
    --------
    >>> import gencap as gc
    >>> gc.Instability(0.5, 0.2, 0.4).value
    0.5
    """

    value: float
    disagreement: float
    guessing: float


def disagreement(labels1, labels2, n_clusters):
    """Share of objects whose labels differ after the best renaming of the clusters (Hungarian); in [0, 1].

    Parameters
    ----------
    labels1, labels2 : array_like of int, shape (N,)
        Values in 0..n_clusters-1.
    n_clusters : int

    Returns
    -------
    float

    References
    ----------
    Document 004, section 7.3, step 3.

    Examples
    --------
    >>> import gencap as gc
    >>> gc.disagreement([0, 0, 1, 1], [1, 1, 0, 1], 2)
    0.25
    """
    checks.check_same_order("labels2", labels2, "labels1", labels1)
    labels1 = checks.check_labels("labels1", labels1, n_clusters=checks.check_integer("n_clusters", n_clusters))
    return float((align_labels(labels1, labels2, n_clusters) != labels1).mean())


def relative_instability(labels1, labels2, n_clusters, *, n_repeats=20, random_state=None):
    """Disagreement of two labelings of the same objects, relative to guessing (004 section 7.3, step 4).

    Parameters
    ----------
    labels1, labels2 : array_like of int, shape (N,)
        One clustering carried over to the objects of a data set, and that data set's own clustering.
    n_clusters : int
        Number of clusters K offered; every cluster is guessed with probability 1/K.
    n_repeats : int
        Pairs of random labelings that are drawn.
    random_state : int, numpy.random.Generator or None

    Returns
    -------
    Instability
        NaN for K = 1, with a warning: one cluster cannot be guessed wrong, and 0 / 0 says nothing.

    Raises
    ------
    ValueError
        Labels of different lengths or outside 0..K-1, `n_repeats` < 1.

    Notes
    -----
    The best renaming lets even random labelings agree on more than 1/K of few objects; with two clusters
    1/2 - 1/sqrt(2 pi N) of them differ. Hence guessing is sampled, at the number of objects at hand.

    Examples
    --------
    >>> import gencap as gc
    >>> gc.relative_instability([0, 1] * 9, [1, 0] * 9, 2, random_state=0).value
    0.0
    """
    return _relative([disagreement(labels1, labels2, n_clusters)], len(labels1), n_clusters, n_repeats, random_state)


def _relative(found, n_objects, n_clusters, n_repeats, random_state):
    rng = checks.generator(random_state)
    drawn = rng.integers(n_clusters, size=(checks.check_integer("n_repeats", n_repeats), 2, n_objects))
    guessing, value = float(np.mean([disagreement(*pair, n_clusters) for pair in drawn])), float(np.mean(found))
    if guessing == 0:
        reason = "after renaming, random labels never disagree"
        found = f"instability is undefined for n_clusters={n_clusters} and {n_objects} objects"
        warnings.warn(f"{found}: {reason}", stacklevel=3)
    return Instability(value / guessing if guessing else np.nan, value, guessing)


def instability(model, X, X2=None, *, n_repeats=10, per_object=None, random_state=None):
    """Instability index of a clustering method: how often a transferred clustering differs from the own one.

    Parameters
    ----------
    model : estimator
        Any model of this package, or an estimator on vectors with `predict` and the parameter `n_clusters` or
        `n_components` (mixtures). It is not changed.
    X : array_like or scipy.sparse matrix
        Similarities (N, N) or vectors (N, D).
    X2 : array_like or scipy.sparse matrix, optional
        The same objects in the same order measured again. Without it X is split at random into disjoint halves.
    n_repeats : int
        Random splits that are averaged (one pair with X2).
    per_object : dict name -> array_like of shape (N, ...), or None
        What the model's `fit` takes for every object.
    random_state : int, numpy.random.Generator or None
        Draws splits and random labelings; the model has its own.

    Returns
    -------
    Instability
        Relative to 20 guesses; NaN for one cluster, with a warning that says why.

    Raises
    ------
    ValueError
        No `predict` or number of clusters, fewer objects in a half than clusters, X2 of another shape.

    Notes
    -----
    The classifier that carries labels over is the model's own: `predict` for vectors, the cluster of least potential
    for similarities.

    References
    ----------
    Document 004, section 7.3; Lange, Roth, Braun and Buhmann, Neural Computation 16 (2004).

    Examples
    --------
    >>> import numpy as np, gencap as gc
    >>> X = np.repeat([[0.0, 0], [8, 0]], 20, axis=0) + np.random.default_rng(0).random((40, 2))
    >>> gc.instability(gc.AnnealedKMeans(2, random_state=0), X, n_repeats=2, random_state=0).value
    0.0
    """
    pairwise, names = get_tags(model).input_tags.pairwise, [name for name in ORDERS if hasattr(model, name)]
    if not names or not any(hasattr(model, way) for way in ("predict", "potentials")):
        accepted = "n_clusters or n_components, and predict or potentials to carry labels over"
        raise ValueError(f"model is {type(model).__name__}, accepted are models that have {accepted}")
    rng, check = checks.generator(random_state), checks.check_similarity if pairwise else checks.check_vectors
    checks.check_same_order("X2", X2, "X", X)
    X = check("X", X)
    most = X.shape[0] // 2 if X2 is None else X.shape[0]
    n_clusters = checks.check_integer(names[0], getattr(model, names[0]), 1, most, "n_samples")
    if X2 is None:
        pairs = [random_halves(X, pairwise, rng) for _ in range(checks.check_integer("n_repeats", n_repeats))]
    else:
        X2, everyone = check("X2", X2), np.arange(X.shape[0])
        checks.check_same_shape("X2", X2, "X", X)
        # No object votes for its own cluster.
        cross = checks.check_similarity("X2", X2, use_diagonal=False) if pairwise else None
        pairs = [(X, X2, cross, everyone, everyone)]
    found = []
    for X1, X2, cross, *rows in pairs:
        first, second = take_objects(per_object, X.shape[0], *rows)
        with one_thread():
            fitted = clone(model).fit(X1, **first)
            if hasattr(fitted, "predict"):
                own, carried = clone(twin(model)).fit(X2, **second).predict(X2), fitted.predict(X2)
            else:
                own = coldest_labels(twin(model), X2, per_object=second)
                carried = transfer_labels(fitted, cross if pairwise else X2)
        found.append(disagreement(own, carried, n_clusters))
    return _relative(found, X2.shape[0], n_clusters, 20, rng)
