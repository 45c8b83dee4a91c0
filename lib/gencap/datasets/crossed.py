"""Data with several independent labelings at once, the first of them dominant: what a second clustering is tried on.

What holds for the random states of all generators is said in the package's docstring.
"""

import numpy as np
from sklearn.utils import Bunch

from ..checks import check_integer, check_number, generator

__all__ = ["crossed_bits", "crossed_counts"]


def crossed_counts(n_objects=200, n_clusters=2, *, total=400, orthogonality=1.0, random_state=None):
    """Counts of three outcomes in the plane of two labelings (document 001, section 8.3.1).

    Cluster k of a labelling has probability k / (K - 1). Of the counts of an object half of the first probability go to
    the first outcome, half of the second to the second, and the rest to the third.

    Parameters
    ----------
    n_objects : int
        N.
    n_clusters : int
        K of both labelings, at least 2.
    total : int
        M, the sum of the counts of every object.
    orthogonality : float
        In [0, 1]. The probability of the second labelling is moved towards the first one's by what this is below 1;
        with 0 they are the same.
    random_state : int, Generator or None

    Returns
    -------
    Bunch
        `data` (N, 3) counts, `labels` (N, 2).

    Raises
    ------
    ValueError
        A number outside its range.

    Notes
    -----
    Of the readings of the source's description this is the one that reproduces its tables: M counts for every object,
    not for the whole set, and a rest besides the two dimensions.

    Examples
    --------
    >>> import gencap as gc
    >>> plane = gc.datasets.crossed_counts(6, total=10, random_state=0)
    >>> plane.data.sum(axis=1).tolist(), plane.labels.shape
    ([10, 10, 10, 10, 10, 10], (6, 2))
    """
    n_objects, total = check_integer("n_objects", n_objects), check_integer("total", total)
    n_clusters = check_integer("n_clusters", n_clusters, 2)
    share = check_number("orthogonality", orthogonality, 0.0, 1.0)
    rng = generator(random_state)
    labels = rng.integers(n_clusters, size=(n_objects, 2))
    first, second = (labels / (n_clusters - 1)).T
    second = share * second + (1 - share) * first
    data = rng.multinomial(total, np.column_stack([first / 2, second / 2, 1 - (first + second) / 2]))
    return Bunch(data=data, labels=labels)


def crossed_bits(n_objects=200, n_clusters=2, *, features=(10, 4), flip=0.1, random_state=None):
    """Bits of several independent labelings, each with features of its own (document 001, appendix E.1).

    The features of a labelling are cut into K blocks; an object of its cluster k has ones in block k and zeros in the
    others, and then every bit is flipped with a small probability.

    Parameters
    ----------
    n_objects : int
        N.
    n_clusters : int
        K of every labelling, at least 2.
    features : sequence of int
        Features of every labelling, each at least K.
    flip : float
        In [0, 1].
    random_state : int, Generator or None

    Returns
    -------
    Bunch
        `data` (N, D) of 0.0 and 1.0, `labels` (N, L), `features` (D,) the labelling that a column belongs to.

    Raises
    ------
    ValueError
        A number outside its range, or fewer features than clusters.

    Examples
    --------
    >>> import gencap as gc
    >>> gc.datasets.crossed_bits(3, 2, features=(2, 4), flip=0, random_state=0).data.sum(axis=1).tolist()
    [3.0, 3.0, 3.0]
    """
    n_objects, n_clusters = check_integer("n_objects", n_objects), check_integer("n_clusters", n_clusters, 2)
    flip, rng = check_number("flip", flip, 0.0, 1.0), generator(random_state)
    features = [check_integer("features", m, n_clusters, np.inf) for m in np.atleast_1d(features).tolist()]
    labels = rng.integers(n_clusters, size=(n_objects, len(features)))
    blocks = [np.arange(m) * n_clusters // m == own[:, None] for m, own in zip(features, labels.T, strict=True)]
    data = np.hstack(blocks) ^ (rng.random((n_objects, sum(features))) < flip)
    return Bunch(data=data.astype(np.float64), labels=labels, features=np.repeat(np.arange(len(features)), features))
