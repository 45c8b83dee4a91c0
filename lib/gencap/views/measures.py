"""Distances and similarities between objects, the conversions between them, and the pairing of two sets of objects.

A distance matrix D has small entries for alike objects, a similarity matrix X large ones: X = max(D) - D.
Path distances are minimax distances: over all paths from i to j the smallest possible longest step. They equal the
merging heights of single linkage, since both are read off the minimum spanning tree.
Constant-shift embedding turns any symmetric D into squared Euclidean distances by adding the smallest constant that
makes the centred matrix positive semi-definite; the pairwise clustering cost only changes by a constant.
"""

from collections import namedtuple

import numpy as np
from scipy.cluster.hierarchy import cophenet, linkage
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist, pdist, squareform

from .. import checks

_CROSS_DISTANCES = ("euclidean", "squared_euclidean", "correlation", "hamming")
ROW_MAPPINGS = ("nearest", "hungarian")  # many to one, or one to one


def euclidean_distances(X):
    """Euclidean distances (N, N) between the rows of X; exactly symmetric, zero diagonal.

    Parameters
    ----------
    X : array_like, shape (N, D)

    Returns
    -------
    ndarray, shape (N, N)

    Examples
    --------
    >>> import gencap as gc
    >>> gc.measures.euclidean_distances([[0, 0], [3, 4]])
    array([[0., 5.],
           [5., 0.]])
    """
    return squareform(pdist(checks.check_vectors("X", X), "euclidean"), checks=False)


def squared_euclidean_distances(X):
    """Squared Euclidean distances (N, N) between the rows of X; exactly symmetric, zero diagonal.

    Parameters
    ----------
    X : array_like, shape (N, D)

    Returns
    -------
    ndarray, shape (N, N)

    Examples
    --------
    >>> import gencap as gc
    >>> gc.measures.squared_euclidean_distances([[0, 0], [3, 4]])
    array([[ 0., 25.],
           [25.,  0.]])
    """
    return squareform(pdist(checks.check_vectors("X", X), "sqeuclidean"), checks=False)


def pearson_similarity(X):
    """Pearson correlations between the rows of X, in [-1, 1] with diagonal 1.

    Parameters
    ----------
    X : array_like, shape (N, D)

    Returns
    -------
    ndarray, shape (N, N)

    Raises
    ------
    ValueError
        A row is constant (its correlation is undefined); the message names the rows.

    Examples
    --------
    >>> import gencap as gc
    >>> gc.measures.pearson_similarity([[1, 2, 3], [3, 2, 1]]).round(6)
    array([[ 1., -1.],
           [-1.,  1.]])
    """
    X = standardised_rows("X", checks.check_vectors("X", X))
    correlation = X @ X.T
    # Rounding leaves 1 + 2e-16 here and there, which would make a distance 1 - rho negative.
    np.clip(correlation, -1.0, 1.0, out=correlation)
    np.fill_diagonal(correlation, 1.0)
    return (correlation + correlation.T) / 2


def standardised_rows(name, X):
    """Rows of mean 0 and length 1.

    Parameters
    ----------
    name : str
        The argument's name, for the message about constant rows.
    X : ndarray, shape (N, D)

    Returns
    -------
    ndarray, shape (N, D)

    Examples
    --------
    >>> import numpy as np, gencap as gc
    >>> gc.measures.standardised_rows("X", np.array([[1.0, 3.0]])).round(3)
    array([[-0.707,  0.707]])
    """
    centred = X - X.mean(axis=1, keepdims=True)
    length = np.linalg.norm(centred, axis=1)
    # The mean of equal numbers may differ from them in the last bits, hence not a comparison with 0.
    constant = np.flatnonzero(length <= 8 * np.finfo(float).eps * np.linalg.norm(X, axis=1))
    if constant.size:
        shown = ", ".join(map(str, constant[:10])) + (", ..." if constant.size > 10 else "")
        found = f"{name} has {constant.size} constant rows ({shown})"
        raise ValueError(f"{found}: correlation is undefined; accepted are rows that vary")
    return centred / length[:, None]


def _check_dense(name, X):
    """A dense symmetric matrix as float32 if it is, else float64."""
    dtype = np.float32 if getattr(X, "dtype", None) == np.float32 else np.float64
    return checks.check_similarity(name, checks.as_array(name, X, dtype), dtype)


def _check_distances(D):
    """Return D as float32 if it is, else float64; square, symmetric, finite, no negative entry off the diagonal."""
    D = _check_dense("D", D)
    if D.min() < 0:
        raise ValueError(f"D holds negative values down to {D.min():.6g}; accepted are distances >= 0")
    return D


def path_distances(D):
    """Minimax path distances: the smallest possible longest step on a way from i to j.

    Parameters
    ----------
    D : array_like, shape (N, N)
        Symmetric, non-negative. The diagonal is not used. float32 is kept, everything else becomes float64.

    Returns
    -------
    ndarray, shape (N, N), unit of D
        Zero diagonal, an ultrametric.

    Raises
    ------
    ValueError
        D is not square, symmetric, finite and non-negative.

    Notes
    -----
    They are the merging heights of single linkage (both are read off the minimum spanning tree). Time O(N^2).

    References
    ----------
    Document 000, Eq 19.

    Examples
    --------
    >>> import gencap as gc
    >>> gc.measures.path_distances([[0, 1, 5], [1, 0, 2], [5, 2, 0]])
    array([[0., 1., 2.],
           [1., 0., 2.],
           [2., 2., 0.]])
    """
    D = _check_distances(D)
    if len(D) < 2:
        return np.zeros_like(D)
    return squareform(cophenet(linkage(squareform(D, checks=False), "single"))).astype(D.dtype, copy=False)


def similarity_from_distances(D):
    """X = max(D) - D. The diagonal is kept: a self-distance 0 becomes the largest similarity.

    Parameters
    ----------
    D : array_like, shape (N, N)
        Symmetric, non-negative.

    Returns
    -------
    ndarray, shape (N, N)

    Examples
    --------
    >>> import gencap as gc
    >>> gc.measures.similarity_from_distances([[0, 3], [3, 0]])
    array([[3., 0.],
           [0., 3.]])
    """
    D = _check_distances(D)
    return D.max() - D


class ConstantShiftEmbedding(namedtuple("ConstantShiftEmbedding", "vectors eigenvalues shift distances")):
    """Result of `constant_shift_embedding`.

    Attributes
    ----------
    vectors : ndarray, shape (N, d)
        One row for each object, axes by falling eigenvalue.
    eigenvalues : ndarray, shape (N - 1,)
        Falling, after the shift; the constant direction (always 0) is left out.
    shift : float
        -lambda_min of the centred similarities, >= 0. The pairwise clustering cost grows by shift (N - K) for K
        non-empty clusters.
    distances : ndarray, shape (N, N)
        D_ij + 2 shift for i != j: squared Euclidean distances of the vectors when all d = N - 1 axes are kept.
    """


def constant_shift_embedding(D, *, n_dimensions=None):
    """Vectors whose squared Euclidean distances are D plus the smallest constant that makes this possible.

    With A = I - ee'/N: W = -A D A / 2, then W - lambda_min I, centred again. (The printed "add lambda_min to the
    off-diagonal elements" has the wrong place and sign; and without the second centring the constant vector would
    keep the eigenvalue -lambda_min.)

    Parameters
    ----------
    D : array_like, shape (N, N)
        Symmetric dissimilarities, negative ones too. A non-zero diagonal is removed by D_ij - (D_ii + D_jj) / 2,
        which changes pairwise clustering costs by a constant only.
    n_dimensions : int or None
        Axes to keep, 1..N-1; None keeps all with an eigenvalue above rounding.

    Returns
    -------
    ConstantShiftEmbedding

    Raises
    ------
    ValueError
        D is not square, symmetric and finite, has a single object, or n_dimensions lies outside 1..N-1.

    References
    ----------
    Document 000, section 6.1.1, steps 1-6; document 004, section 9.10.

    Examples
    --------
    >>> import gencap as gc
    >>> embedded = gc.measures.constant_shift_embedding([[0, 1, 4], [1, 0, 1], [4, 1, 0]])
    >>> embedded.vectors.shape, embedded.shift
    ((3, 1), 0.0)
    """
    D = _check_dense("D", D).astype(np.float64)
    n = checks.check_integer("objects of D", len(D), 2)
    if n_dimensions is not None:
        checks.check_integer("n_dimensions", n_dimensions, 1, n - 1, "n_samples - 1")
    self_distance = np.diag(D)
    D = D - (self_distance[:, None] + self_distance) / 2
    row_mean = D.mean(axis=1)
    W = -0.5 * (D - row_mean[:, None] - row_mean + D.mean())
    # The constant vector is an eigenvector with eigenvalue 0. Moved below all others it cannot mix with them.
    scale = np.linalg.norm(W)
    eigenvalues, axes = np.linalg.eigh(W - 2 * scale / n)
    eigenvalues, axes = eigenvalues[:0:-1], axes[:, :0:-1]
    rounding = n * np.finfo(float).eps * scale
    shift = -float(eigenvalues[-1]) if eigenvalues[-1] < -rounding else 0.0
    eigenvalues = np.maximum(eigenvalues + shift, 0.0)
    n_kept = n_dimensions or max(1, int(np.count_nonzero(eigenvalues > rounding)))
    axes = axes[:, :n_kept]
    # An eigenvector's sign is arbitrary: its largest entry is made positive, so that pictures do not flip.
    axes = axes * np.sign(axes[np.abs(axes).argmax(axis=0), np.arange(n_kept)])
    vectors = axes * np.sqrt(eigenvalues[:n_kept])
    return ConstantShiftEmbedding(vectors, eigenvalues, shift, D + 2 * shift * (1 - np.eye(n)))


def match_objects(X1, X2, *, distance="euclidean"):
    """Pair the objects of two data sets one to one so that the sum of their distances is smallest (Hungarian).

    Parameters
    ----------
    X1, X2 : array_like, shape (N, D)
        Two halves of a data set in the same features.
    distance : {"euclidean", "squared_euclidean", "correlation", "hamming"}
        "correlation" is 1 - Pearson's rho.

    Returns
    -------
    ndarray of int64, shape (N,)
        X2[order] is paired with X1, row by row.

    Raises
    ------
    ValueError
        Different shapes, an unknown distance, or constant rows under "correlation".

    References
    ----------
    Document 000, Eq 26 (its double sum is a single one).

    Examples
    --------
    >>> import gencap as gc
    >>> gc.measures.match_objects([[0.0], [5.0]], [[4.0], [1.0]]).tolist()
    [1, 0]
    """
    checks.check_option("distance", distance, _CROSS_DISTANCES)
    X1, X2 = checks.check_vectors("X1", X1), checks.check_vectors("X2", X2)
    checks.check_same_shape("X2", X2, "X1", X1)
    for name, X in (("X1", X1), ("X2", X2)) if distance == "correlation" else ():
        standardised_rows(name, X)
    return linear_sum_assignment(cdist(X1, X2, distance.replace("squared_", "sq")))[1]


def map_rows(X1, X2, *, mapping="nearest", random_state=None):
    """Index of the training row (in `X1`) that stands for each test row (in `X2`).

    Parameters
    ----------
    X1, X2 : array_like, shape (N1, D), (N2, D)
    mapping : {"nearest", "hungarian"}
        The row of least distance, ties drawn at random; or one of its own, least sum of squared distances.
    random_state : int, Generator or None

    Returns
    -------
    ndarray of int64, shape (N2,)

    Examples
    --------
    >>> import gencap as gc
    >>> gc.measures.map_rows([[0.0], [5.0]], [[4.0], [6.0]]).tolist()
    [1, 1]
    """
    checks.check_option("mapping", mapping, ROW_MAPPINGS)
    X1, X2 = checks.check_vectors("X1", X1), checks.check_vectors("X2", X2)
    if X1.shape[1] != X2.shape[1]:
        raise ValueError(f"X2 has {X2.shape[1]} columns, accepted is {X1.shape[1]} as in X1")
    distances = cdist(X2, X1, "sqeuclidean")
    if mapping == "nearest":
        # Noise far below any difference between two distances decides between equal ones only.
        scale = 1e-9 * max(distances.max(), 1e-300)
        return np.argmin(distances + scale * checks.generator(random_state).random(distances.shape), axis=1)
    if len(X2) > len(X1):
        raise ValueError(f"mapping='hungarian' needs at most as many test as training rows, got {len(X2)} > {len(X1)}")
    return linear_sum_assignment(distances)[1]


def few_coordinates(X):
    """Coordinates with the same distances, as few as the objects span, around their mean.

    Distances of points far from the origin would lose their digits, and N objects span at most N dimensions.

    Parameters
    ----------
    X : ndarray, shape (N, D)

    Returns
    -------
    coordinates : ndarray, shape (N, min(N, D))
    offset : ndarray, shape (D,)
    basis : ndarray, shape (D, N), or None
        X = coordinates @ basis.T + offset; None where D <= N and X = coordinates + offset.

    Examples
    --------
    >>> import numpy as np, gencap as gc
    >>> X = np.arange(10.0).reshape(2, 5)
    >>> few, offset, basis = gc.measures.few_coordinates(X)
    >>> few.shape, np.allclose(gc.measures.all_coordinates(few, offset, basis), X)
    ((2, 2), True)
    """
    offset = X.mean(axis=0)
    X = X - offset
    if X.shape[1] <= len(X):
        return X, offset, None
    basis, triangle = np.linalg.qr(X.T)
    return np.ascontiguousarray(triangle.T), offset, basis


def all_coordinates(few, offset, basis):
    """Points of the given few coordinates; the way back from `few_coordinates`.

    Parameters
    ----------
    few : ndarray, shape (..., n)
    offset, basis : ndarray
        From `few_coordinates`.

    Returns
    -------
    ndarray, shape (..., D)

    Examples
    --------
    >>> import numpy as np, gencap as gc
    >>> gc.measures.all_coordinates(np.ones((1, 2)), np.array([1.0, 2.0]), None)
    array([[2., 3.]])
    """
    return (few if basis is None else few @ basis.T) + offset
