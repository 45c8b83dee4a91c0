"""Largest eigenvalue and leading vectors of a similarity matrix: units of temperature, and starts of the search."""

import numpy as np
import scipy.sparse
from scipy.linalg import eigvalsh
from scipy.sparse.linalg import LinearOperator, eigsh

KRYLOV_STEPS = 6  # at least; see `leading_vectors`
ROUNDING = 4 * np.finfo(float).eps  # of a mean


def degrees(X):
    """Sums of the rows of X, shape (N,), in double precision."""
    return X.sum(axis=1, dtype=np.float64)


def top_eigenvalue(X, add=lambda v: 0.0, sign=1.0):
    """Largest eigenvalue of `sign` times the symmetric matrix X without its diagonal, plus the operator `add`.

    Parameters
    ----------
    X : ndarray or sparse array, shape (N, N)
    add : callable (v -> vector)
    sign : float

    Returns
    -------
    float
        0 for a matrix of zeros or a single object, and where the value is rounding: below 1e-6 of the size of X's
        products, |X| / sqrt(N).

    Examples
    --------
    >>> import numpy as np, gencap as gc
    >>> round(gc.top_eigenvalue(np.ones((4, 4))), 6)
    3.0
    """
    entries = X.data if scipy.sparse.issparse(X) else X.ravel()
    n_objects, diagonal = X.shape[0], X.diagonal().astype(np.float64)
    # In double precision, piece by piece: the squares of single precision overflow at 1e19 and vanish at 1e-23.
    pieces = np.array_split(entries, entries.size // 2**16 + 1)
    size = float(np.linalg.norm([np.linalg.norm(piece.astype(np.float64)) for piece in pieces]))
    if size == 0.0:
        return 0.0

    def product(v):
        v = np.asarray(v, np.float64).ravel()
        return sign * ((X @ v.astype(X.dtype)).astype(np.float64) - diagonal * v) + add(v)

    if n_objects < 50:
        matrix = np.array([product(row) for row in np.eye(n_objects)])
        value = float(np.linalg.eigvalsh((matrix + matrix.T) / 2)[-1])
    else:
        operator = LinearOperator((n_objects, n_objects), matvec=product, dtype=np.float64)
        start = np.random.default_rng(0).standard_normal(n_objects)
        value = float(eigsh(operator, k=1, which="LA", v0=start, tol=1e-4, return_eigenvectors=False)[0])
    return value if value > 1e-6 * size / np.sqrt(n_objects) else min(value, 0.0)


def centring(sums):
    """The operator (u = ones): (v -> (I - uu'/N) X (I - uu'/N) v - X v), for a matrix X with row sums `sums`."""
    n_objects, total = len(sums), sums.sum()
    return lambda v: (total / n_objects**2 * v.sum() - sums @ v / n_objects) - sums * (v.sum() / n_objects)


def temperature_unit(numerator, eigenvalue):
    """`numerator / eigenvalue`, or 1 where nothing can order: one object, equal objects, a zero matrix."""
    return numerator / eigenvalue if eigenvalue > 0 else 1.0


def largest_variance(X, mean):
    """Largest eigenvalue of the covariance of objects (N, D) whose `mean` is taken off; 0 where that is rounding."""
    covariance = X.T @ X / len(X)
    value = float(eigvalsh(covariance, subset_by_index=[len(covariance) - 1] * 2)[0])
    return value if value > (ROUNDING * np.linalg.norm(mean)) ** 2 else 0.0


def leading_vectors(X, weights, diagonal, sign, n_vectors, dimension, rng):
    """Vectors that part the objects at zero temperature, shape (N, n_vectors): a low-rank view of the cost.

    Leading eigenvectors of W^-1/2 (sign X + diagonal) W^-1/2 without its constant direction W^1/2, times W^-1/2 and the
    roots of their eigenvalues (above the lowest). A block Krylov space of about `dimension` dimensions will do: a
    descent follows, so no digits are needed.

    Parameters
    ----------
    X : (N, N), its diagonal not used; weights, diagonal : (N,); sign : 1.0 or -1.0
    """
    root = (1 / np.sqrt(weights)).astype(X.dtype)[:, None]
    constant = (np.sqrt(weights) / np.linalg.norm(np.sqrt(weights))).astype(X.dtype)[:, None]
    sign = X.dtype.type(sign)
    diagonal = (diagonal - sign * X.diagonal()).astype(X.dtype)[:, None]

    def product(V):
        V = root * (V - constant * (constant.T @ V))
        V = root * (sign * (X @ V) + diagonal * V)
        return V - constant * (constant.T @ V)

    blocks = [np.linalg.qr(rng.standard_normal((len(weights), n_vectors + 2), X.dtype))[0]]
    for _ in range(max(KRYLOV_STEPS, dimension // (n_vectors + 2))):
        blocks.append(np.linalg.qr(product(blocks[-1]))[0])
    V = np.linalg.qr(np.hstack(blocks))[0]
    small = (V.T @ product(V)).astype(np.float64)
    values, turn = np.linalg.eigh((small + small.T) / 2)
    return root * (V @ turn[:, -n_vectors:]) * np.sqrt(values[-n_vectors:] - min(values[0], 0.0))
