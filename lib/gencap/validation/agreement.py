"""Agreement between clusterings: alignment of labels, matched precision, mutual information, variation of information.

All of them are read off the contingency table n_ab (objects with label a in one clustering, b in the other) and do
not depend on how clusters are numbered. Information is in bits.
"""

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.stats import entropy
from sklearn.metrics import homogeneity_score
from sklearn.metrics.cluster import contingency_matrix

from ..checks import check_integer, check_labels, check_same_order, check_size
from ..trajectory import entropy_bits


def _codes(name, labels):
    """Labels of any categorical kind (numbers or names) as 0..K-1."""
    labels = np.asarray(labels)
    if labels.ndim != 1 or labels.size == 0 or labels.dtype.kind == "f":
        found = f"dtype {labels.dtype}, shape {labels.shape}"
        raise ValueError(f"{name} must be a non-empty 1-D array of labels, integers or names, got {found}")
    try:
        return np.unique(labels, return_inverse=True)[1]
    except TypeError as error:
        raise TypeError(f"{name} must be all integers or all names: {error}") from None


def contingency(name1, labels1, name2, labels2):
    """Joint counts of two labelings of the same objects.

    Parameters
    ----------
    name1 : str
        What a message calls the first labels.
    labels1 : array_like of int or str, shape (N,)
    name2 : str
    labels2 : array_like of int or str, shape (N,)

    Returns
    -------
    ndarray of int, shape (K1, K2)

    Examples
    --------
    >>> import gencap as gc
    >>> gc.metrics.contingency("labels", [0, 0, 1], "reference", ["a", "b", "b"]).tolist()
    [[1, 1], [0, 1]]
    """
    check_same_order(name2, labels2, name1, labels1)
    first = _codes(name1, labels1)
    second = check_labels(name2, _codes(name2, labels2), first.size)
    check_size(f"the table of {name1} by {name2}", (first.max() + 1, second.max() + 1))
    return contingency_matrix(first, second)


def align_labels(labels1, labels2, n_clusters=None):
    """Rename the clusters of `labels2` so that they agree with `labels1` for as many objects as possible (Hungarian).

    Parameters
    ----------
    labels1, labels2 : array_like of int, shape (N,)
        Labels 0..K-1 of the same objects.
    n_clusters : int or None
        K; None takes the largest label of both plus one. Labels may be far apart: only those that occur count.

    Returns
    -------
    ndarray of int64, shape (N,)
        `labels2` under a permutation of 0..K-1.

    Raises
    ------
    ValueError
        Different lengths, or labels outside 0..K-1.

    Examples
    --------
    >>> import gencap as gc
    >>> gc.align_labels([0, 0, 1, 1], [1, 1, 0, 1]).tolist()
    [0, 0, 1, 0]
    """
    if n_clusters is not None:
        n_clusters = check_integer("n_clusters", n_clusters)
    check_same_order("labels2", labels2, "labels1", labels1)
    labels1 = check_labels("labels1", labels1, n_clusters=n_clusters)
    labels2 = check_labels("labels2", labels2, labels1.size, n_clusters)
    n_clusters = n_clusters or int(max(labels1.max(), labels2.max())) + 1
    (names, codes2), targets = np.unique(labels2, return_inverse=True), np.unique(labels1)
    missing = max(names.size - targets.size, 0)
    check_size(f"the table of {names.size} x {targets.size} labels", (names.size, targets.size + missing))
    # Where there are more clusters than in labels1: the smallest names not taken there.
    free = np.setdiff1d(np.arange(min(n_clusters, names.size + targets.size)), targets)
    targets = np.append(targets, free[:missing])
    counts = np.pad(contingency_matrix(labels2, labels1), ((0, 0), (0, missing)))
    return targets[linear_sum_assignment(counts, maximize=True)[1]][codes2]


def matched_precision(labels, reference):
    """Fraction of objects in the class that the Hungarian method matches to their cluster, one cluster to one class.

    With more clusters than classes the objects of unmatched clusters count as wrong.

    Parameters
    ----------
    labels, reference : array_like of int or str, shape (N,)

    Returns
    -------
    float

    References
    ----------
    Document 001, Eq 8.1.1 with the correspondence by the Hungarian method.

    Examples
    --------
    >>> import gencap as gc
    >>> gc.metrics.matched_precision([0, 0, 1, 1], ["b", "b", "a", "b"])
    0.75
    """
    counts = contingency("labels", labels, "reference", reference)
    return float(counts[linear_sum_assignment(counts, maximize=True)].sum() / counts.sum())


def normalized_mutual_information(labels, reference):
    """I(labels; reference) / H(reference), in [0, 1]; not symmetric: more clusters are not punished.

    Parameters
    ----------
    labels, reference : array_like of int or str, shape (N,)

    Returns
    -------
    float

    Raises
    ------
    ValueError
        The reference has a single class (0/0), or the lengths differ.

    References
    ----------
    Document 001, Eq 8.1.2.

    Examples
    --------
    >>> import gencap as gc
    >>> round(gc.metrics.normalized_mutual_information([0, 1, 2, 3], ["a", "a", "b", "b"]), 6)
    1.0
    """
    if contingency("labels", labels, "reference", reference).shape[1] == 1:
        raise ValueError("reference has a single class, so H(reference) = 0; accepted are two and more classes")
    return float(np.clip(homogeneity_score(_codes("reference", reference), _codes("labels", labels)), 0.0, 1.0))


def variation_of_information(labels1, labels2):
    """H(1|2) + H(2|1) = 2 H(1,2) - H(1) - H(2) in bits: a metric on clusterings, at most log2 N.

    Parameters
    ----------
    labels1, labels2 : array_like of int or str, shape (N,)

    Returns
    -------
    float

    References
    ----------
    Document 001, section 3.4.1.

    Examples
    --------
    >>> import gencap as gc
    >>> gc.metrics.variation_of_information([0, 1, 0, 1], [0, 0, 1, 1])
    2.0
    """
    counts = contingency("labels1", labels1, "labels2", labels2)
    first, second, joint = (entropy(n, base=2) for n in (counts.sum(axis=1), counts.sum(axis=0), counts.ravel()))
    return max(float(2 * joint - first - second), 0.0)


def coclustering(assignments):
    """Probability that two objects share a cluster.

    Parameters
    ----------
    assignments : array_like
        Hard labels, shape (N,), or assignment probabilities, shape (N, K), independent between objects.

    Returns
    -------
    ndarray, shape (N, N)
        Symmetric, diagonal 1; entries 0 and 1 for hard labels.

    Examples
    --------
    >>> import gencap as gc
    >>> gc.metrics.coclustering([0, 1, 0]).tolist()
    [[1.0, 0.0, 1.0], [0.0, 1.0, 0.0], [1.0, 0.0, 1.0]]
    """
    assignments = np.asarray(assignments)
    if assignments.ndim == 2:
        entropy_bits(assignments)  # raises unless every row is a distribution
        together = assignments.astype(np.float64) @ assignments.T.astype(np.float64)
        np.fill_diagonal(together, 1.0)
        return together
    codes = _codes("assignments", assignments)
    return (codes[:, None] == codes).astype(np.float64)
