"""Argument checks shared by every room: the error names the argument, what was given and what is accepted."""

import math
import numbers
from collections.abc import Iterable

import numpy as np
import scipy.sparse

LARGEST = 1e30  # magnitude that single precision can sum over many objects
DOMINANT = 100.0  # a mean this many standard deviations large is taken off before similarities become single precision
DIGITS = 8.0  # units of rounding that the standard deviation of similarities must have; less is no data


def check_number(name, value, low=-np.inf, high=np.inf, high_name=None, integer=False):
    """Return `value`, or raise if it is not a finite real number (`integer`: an integer) in [low, high].

    Parameters
    ----------
    name : str
        The argument's name, for the message.
    value : float or int
    low, high : float
        Accepted range, both ends included.
    high_name : str or None
        What the upper end is, e.g. "n_objects".
    integer : bool

    Returns
    -------
    float (`integer`: int)

    Raises
    ------
    TypeError
        `value` is no number, or no integer where one is meant (bool does not count as one).
    ValueError
        `value` lies outside the range, is NaN or infinite.

    Examples
    --------
    >>> from gencap.checks import check_number
    >>> check_number("share", 1.5, 0, 1)
    Traceback (most recent call last):
    ...
    ValueError: share=1.5 must be finite and >= 0 and <= 1
    """
    kind, word = (numbers.Integral, "an integer") if integer else (numbers.Real, "a real number")
    if isinstance(value, bool) or not isinstance(value, kind):
        raise TypeError(f"{name} must be {word}, got {value!r} of type {type(value).__name__}")
    if not low <= value <= high or abs(value) == np.inf:
        top = f"<= {high_name}={high}" if high_name else f"<= {high}"
        limits = ("finite", not integer), (f">= {low}", low > -np.inf), (top, high < np.inf)
        raise ValueError(f"{name}={value} must be {' and '.join(word for word, holds in limits if holds)}")
    return int(value) if integer else float(value)


def check_integer(name, value, low=1, high=np.inf, high_name=None):
    """`check_number` for integers, positive ones where no range is given."""
    return check_number(name, value, low, high, high_name, integer=True)


def check_option(name, value, accepted):
    """Return `value`, or raise ValueError if it is not one of `accepted`."""
    if np.ndim(value) or value not in accepted:
        raise ValueError(f"{name}={value!r} is not one of {', '.join(map(repr, accepted))}")
    return value


def profile(name):
    """Whether the profile of a notebook is "full".

    Parameters
    ----------
    name : {"quick", "full"}

    Raises
    ------
    ValueError
        Any other word: a notebook would take it for the quick profile.
    """
    return check_option("profile", name, ("quick", "full")) == "full"


def check_n_clusters(n_clusters, n_objects):
    """Return K as int; it must be an integer in 1..N, and the message names both."""
    return check_integer("n_clusters", n_clusters, 1, n_objects, "n_samples")


def check_offered(n_clusters, high=np.inf, high_name=None, name="n_clusters"):
    """Return the numbers of clusters offered, one int or distinct ints, as a list in the order given.

    Each lies within 1..`high` (see `check_integer`); `name` is the argument's.
    """
    given = n_clusters if isinstance(n_clusters, Iterable) else [n_clusters]
    offered = [check_integer(name, k, 1, high, high_name) for k in given]
    if not offered or len(set(offered)) < len(offered):
        raise ValueError(f"{name} is {offered or 'empty'}, accepted is one number >= 1 or several distinct ones")
    return offered


def check_size(what, shape, most=2**27):
    """Raise ValueError if an array of `shape` would hold more than `most` numbers; `what` names it and its origin."""
    count = math.prod(map(int, shape))  # Python's integers do not overflow
    if count > most:
        raise ValueError(f"{what} would hold {count:.3g} numbers, accepted are at most {most}")


def object_names(X):
    """Names of the objects as str: the index of a labelled table, or what a Trajectory kept of it; else None."""
    index = getattr(X, "index", None)
    if index is None or callable(index):  # a list has a method of this name
        return getattr(X, "objects", None)
    return np.array([str(name) for name in index], dtype=str)


def check_same_order(name, X, other_name, other):
    """Raise ValueError if rows of two labelled tables that are paired by position name different objects.

    That is so when both hold the same names in another order; and where names of one's own (not 0..N-1) are unique and
    one that both have stands at another place. Tables of unlike names, or without names, are taken as paired.
    """
    first, second = object_names(other), object_names(X)
    if first is None or second is None or np.array_equal(first, second):
        return
    place = {label: i for i, label in enumerate(first)}
    moved = [i for i, label in enumerate(second) if place.get(label, i) != i]
    counted = any(np.array_equal(names, np.arange(len(names)).astype(str)) for names in (first, second))
    unique = len(place) == len(first) and len(set(second)) == len(second)
    if np.array_equal(np.sort(first), np.sort(second)) or (moved and unique and not counted):
        i = moved[0]
        found = f"{name} has {str(second[i])!r} as object {i}, which is object {place[second[i]]} of {other_name}"
        raise ValueError(f"{found}; accepted are the same objects in the same order: reorder one by the other's names")


def check_same_shape(name, X, other_name, other):
    """Raise ValueError unless the arrays X and `other` have one shape."""
    if X.shape != other.shape:
        raise ValueError(f"{name} has shape {X.shape}, accepted is the shape of {other_name}, {other.shape}")


def check_seed(random_state):
    """Return what seeds a `numpy.random.SeedSequence`: a non-negative int or None.

    Parameters
    ----------
    random_state : int, numpy.random.Generator, numpy.random.RandomState or None
        A generator is asked for one number, so it moves on and the next run differs.

    Raises
    ------
    TypeError
        Anything else.
    ValueError
        A negative int.
    """
    if isinstance(random_state, np.random.Generator | np.random.RandomState):
        return int((getattr(random_state, "integers", None) or random_state.randint)(2**31))
    if isinstance(random_state, bool) or not isinstance(random_state, numbers.Integral | None):
        raise TypeError(f"{random_state=} is refused, accepted are an integer >= 0, a Generator, a RandomState or None")
    return None if random_state is None else check_integer("random_state", random_state, 0)


def generator(random_state):
    """Return a numpy Generator: the one given, or a new one from what `check_seed` accepts."""
    given = isinstance(random_state, np.random.Generator)
    return random_state if given else np.random.default_rng(check_seed(random_state))


def check_labels(name, labels, n_objects=None, n_clusters=None, low=0):
    """Return hard labels as an int64 array of shape (N,).

    Raises
    ------
    ValueError
        Not one-dimensional, empty, of another length than `n_objects`, not integers (with `low` = -1 for unlabelled
        objects: neither booleans), below `low`, or >= `n_clusters`.
    """
    check_unmasked(name, labels)
    labels = np.asarray(labels)
    if labels.ndim != 1 or labels.size == 0 or labels.dtype.kind not in ("iu" if low else "iub"):
        raise ValueError(f"{name} must be integers, non-empty and 1-D, got dtype {labels.dtype}, shape {labels.shape}")
    if n_objects is not None and labels.size != n_objects:
        raise ValueError(f"{name} has {labels.size} entries, accepted is one for each of the {n_objects} objects")
    high = np.inf if n_clusters is None else n_clusters - 1
    if labels.min() < low or labels.max() > high:
        raise ValueError(f"{name} holds values {labels.min()}..{labels.max()}, accepted is {low}..{high}")
    return labels.astype(np.int64)


def check_classes(name, values, n_objects=None):
    """Return the distinct classes of objects, in order, and their numbers from 0 as an int64 array of shape (N,).

    Raises
    ------
    ValueError
        Not one-dimensional, empty, of another length than `n_objects`, neither whole numbers nor names.
    """
    check_unmasked(name, values)
    values = np.asarray(values)
    accepted = f"integers or names, shape ({'N' if n_objects is None else n_objects},)"
    if values.ndim != 1 or values.size == 0 or values.dtype.kind not in "iubfUSO":
        raise ValueError(f"{name} has dtype {values.dtype} and shape {values.shape}, accepted are {accepted}")
    if n_objects not in (None, len(values)):
        raise ValueError(f"{name} has {len(values)} entries, accepted is one for each of the {n_objects} objects")
    if values.dtype.kind == "O" and all(isinstance(value, str) for value in values):
        values = values.astype(str)  # of a table's column
    if values.dtype.kind == "O" or (values.dtype.kind == "f" and not (np.isfinite(values) & (values % 1 == 0)).all()):
        raise ValueError(f"{name} of dtype {values.dtype} holds other values, accepted are {accepted}, no NaN")
    return np.unique(values, return_inverse=True)


def check_vectors(name, X, dtype=np.float64):
    """Return data vectors as a finite C-contiguous array of shape (N, D).

    Raises
    ------
    ValueError
        Not two-dimensional, empty, complex, masked, holding NaN or infinite values, or of magnitudes whose squares
        overflow or vanish (beyond 1e-150..1e150).
    TypeError
        Sparse.
    """
    given, X = X, as_array(name, X, dtype)
    if X.ndim != 2 or 0 in X.shape:
        raise ValueError(f"{name} must be a non-empty 2-D array (objects, features), got shape {X.shape}")
    if X.dtype.kind == "f":
        largest = float(np.maximum(X.max(), -X.min()))
        largest = largest or float(np.abs(np.asarray(given, np.float64)).max())  # what vanished in the conversion
        _check_magnitude(name, largest, LARGEST if X.dtype == np.float32 else 1e150)
    return X


def check_boolean(name, X):
    """Raise ValueError unless all entries of X are 0 or 1."""
    for wrong in X[(X != 0) & (X != 1)][:1]:
        raise ValueError(f"{name} must hold only 0 and 1, got {wrong:g}")


def check_unmasked(name, X):
    """Raise ValueError if X has masked entries or dates: what is behind mask or NaT would be taken for a number."""
    if np.ma.is_masked(X):
        raise ValueError(f"{name} has masked entries; accepted are finite numbers only, fill them first")
    if getattr(getattr(X, "dtype", None), "kind", "") in ("m", "M"):
        raise ValueError(f"{name} holds dates or times ({X.dtype}); accepted are finite numbers only")


def as_array(name, X, dtype):
    """Return X as a C-contiguous array of `dtype`; copied only if it must be."""
    if scipy.sparse.issparse(X):
        raise TypeError(f"{name} is a sparse {type(X).__name__}, accepted is a dense array: {name}.toarray()")
    check_unmasked(name, X)
    try:
        if not np.iscomplexobj(X):
            with np.errstate(over="ignore"):  # what overflows is refused later, with the argument's name
                return np.asarray(X, dtype=dtype, order="C")
    except (TypeError, ValueError) as error:
        raise type(error)(f"{name} is no array of numbers: {error}") from None
    raise ValueError(f"Complex data not supported: {name} is complex; accepted are real numbers only")


def _check_magnitude(name, largest, high):
    """Raise for NaN and infinite values, and where sums or squares would overflow or vanish; not silently."""
    if not np.isfinite(largest):
        raise ValueError(f"{name} holds NaN or infinite values; accepted are finite numbers only, up to {high:.0e}")
    if largest > high or 0.0 < largest < 1 / high:
        accepted = f"0 or {1 / high:.0e}..{high:.0e}"
        raise ValueError(f"the largest magnitude in {name} is {largest:.3g}, accepted is {accepted}: rescale it")


def check_similarity(name, X, dtype=np.float32, use_diagonal=True):
    """Return a similarity matrix, dense or sparse, as `dtype`; a dense one is copied only if it must be.

    Parameters
    ----------
    name : str
    X : array_like or scipy.sparse matrix, shape (N, N)
        Symmetric within 1e-6 of its largest entry off the diagonal. Any finite diagonal is accepted.
    dtype : dtype
    use_diagonal : bool
        False: the matrix returned has a zero diagonal, and the given one does not count in any check.

    Returns
    -------
    ndarray (C-contiguous) or scipy.sparse.csr_array, shape (N, N)
        A dense X itself if it has the dtype and, where it must, the zero diagonal; else a copy.

    Raises
    ------
    ValueError
        Not a non-empty square matrix, complex, masked, NaN or inf inside, not symmetric, or of magnitudes that single
        precision (1e-30..1e30) or the squares of double precision (1e-150..1e150) cannot hold; or entries that differ
        by less than single precision resolves beside the constant that they share.
    """
    return centred_similarity(name, X, use_diagonal, dtype, centre=False)[0]


def centred_similarity(name, X, use_diagonal=True, dtype=np.float32, centre=True):
    """`check_similarity` in single precision for models to which a constant in all entries is one number.

    A dense matrix whose mean would cost its entries their digits comes back less that mean (not without `centre`).

    Returns
    -------
    X : ndarray or scipy.sparse.csr_array, shape (N, N)
    offset : float
        What was taken off every entry (off the diagonal, if that is not used), mostly 0.
    """
    sparse = scipy.sparse.issparse(X)
    check_same_order(f"columns of {name}", getattr(X, "T", None), f"its rows, {name}", X)
    if sparse:
        given = scipy.sparse.csr_array(X, dtype=np.result_type(X.dtype, np.float32), copy=True)
        as_array(name, given.data, None)  # real numbers
        given.sum_duplicates()
    else:
        given = as_array(name, X, None)
        given = given if given.dtype.kind in "fiub" else as_array(name, given, np.float64)
    if given.ndim != 2 or given.shape[0] != given.shape[1] or given.shape[0] == 0:
        raise ValueError(f"{name} must be a non-empty square matrix (objects, objects), got shape {given.shape}")
    diagonal = given.diagonal().astype(np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        off_diagonal, mean, spread = _off_diagonal(given)
    # An infinite diagonal is refused, a large one counts only where it is used.
    seen = use_diagonal or not np.isfinite(diagonal).all()
    largest = float(np.maximum(off_diagonal, np.abs(diagonal).max())) if seen else off_diagonal
    _check_magnitude(name, largest, LARGEST if dtype == np.float32 else 1e150)
    centre = centre and not sparse
    precision = np.finfo(np.result_type(given.dtype, np.float32) if centre else dtype).eps
    if dtype == np.float32 and 0.0 < spread < DIGITS * precision * abs(mean):
        found = f"the entries of {name} differ by {spread:.2g} (standard deviation) around {mean:.6g}"
        accepted = f"{DIGITS * precision * abs(mean):.2g} and more, what precision resolves"
        raise ValueError(f"{found}, accepted is {accepted}: subtract the constant they share")
    offset = mean if centre and spread < abs(mean) / DOMINANT else 0.0
    clear = not use_diagonal and bool(offset or diagonal.any())
    with np.errstate(over="ignore"):  # a diagonal that is not used
        X = given.astype(dtype, copy=bool(offset) or (clear and not sparse))
        if offset:
            np.subtract(given, offset, dtype=np.float64, out=X, casting="unsafe")
    if clear:  # sparse entries of 0 stay: the sparsity would have to be found anew
        entries, diagonal = (X.data, _on_diagonal(X)) if sparse else (X, np.diag_indices_from(X))
        entries[diagonal] = 0
    # Block by block: no second matrix of N x N.
    blocks = (np.abs(X[i : i + 512, i:] - X[i:, i : i + 512].T).max() for i in range(0, X.shape[0], 512))
    asymmetry = abs(X - X.T).max() if sparse else float(max(blocks))
    scale = X.max() - X.min() if offset else off_diagonal
    if asymmetry > max(1e-6 * scale, 4 * precision * abs(offset)):
        raise ValueError(f"{name} must be symmetric within 1e-6 of its largest entry, got {asymmetry / scale:.2g}")
    return X, offset


def _on_diagonal(X):
    """Which of the stored entries of a sparse matrix lie on the diagonal."""
    return X.indices == np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))


def _off_diagonal(X):
    """Largest magnitude, mean and standard deviation of the entries off the diagonal, in double precision.

    A dense matrix is read in blocks of rows; the missing entries of a sparse one are zeros.
    """
    sparse, n_objects = scipy.sparse.issparse(X), X.shape[0]
    n_entries = max(n_objects * (n_objects - 1), 1)
    # A number near to all of them is taken off, so that squares keep their digits.
    reference = 0.0 if sparse or n_objects == 1 else float(X[0, -1])
    blocks = [X.data[~_on_diagonal(X)]] if sparse else (X[i : i + 64] for i in range(0, n_objects, 64))
    largest = total = squares = 0.0
    for i, block in enumerate(blocks):
        block = block.astype(np.float64) - reference
        if not sparse:
            np.fill_diagonal(block[:, 64 * i :], 0.0)
        largest = np.maximum(largest, np.abs(block + reference).max(initial=0.0))
        total, squares = total + block.sum(), squares + np.vdot(block, block)
    deviation = total / n_entries
    return float(largest), reference + deviation, float(np.sqrt(max(squares / n_entries - deviation**2, 0.0)))
