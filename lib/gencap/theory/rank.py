r"""Low-rank and Boolean factorizations, and the rules that choose their rank.

Patches of an image (rows of X) are denoised by the best approximation of rank k,

.. math:: X_k = \sum_{t \le k} s_t u_t v_t^\top ,

and a Boolean matrix by the same sum, rounded at 1/2. The rank is chosen by the minimum transfer cost: rows of a second
half X2 are compared with the reconstruction of the rows of X1 they are mapped to,

.. math:: R^T(k) = \frac{1}{N_2} \sum_{i'} \| x^{(2)}_{i'} - (X^{(1)}_k)_{\psi(i')} \|^2 ,

with the nearest row or a one-to-one assignment as the mapping psi. Its competitors are Owen and Perry's
bi-cross-validation, the 80-20 rule and the increment rule; the optimum is the oracle that knows the noise-free matrix.

The number of roles of a `NoisyOrFactorization` is chosen by the same rule (`select_n_roles`).

References
----------
Document 002, sections 4 and 5 (Eq. 7, Figures 2-4); document 000, section 3.4 (Eq. 34, Figure 4).
"""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import KFold

from .. import checks
from ..datasets.images import psnr_of_error
from ..resources import map_with_bar
from ..validation.selection import one_standard_error_rank
from ..views.measures import map_rows


@dataclass(frozen=True)
class RankSelection:
    """What a rule chose, and why.

    Parameters
    ----------
    rank : int
        The chosen rank (number of factors); the median where the rule is repeated on random splits.
    ranks : ndarray of int, shape (R,)
        The ranks offered.
    costs : ndarray, shape (n_repeats, R)
        The rule's score at every rank in every repetition; the unit is the rule's own.
    selected : ndarray of int, shape (n_repeats,)
        The rank each repetition would choose alone.

    Examples
    --------
    >>> from gencap.theory import rank
    >>> rank.coverage_rank([[1, 1, 0], [1, 1, 0], [0, 0, 1]]).rank
    1
    """

    rank: int
    ranks: np.ndarray
    costs: np.ndarray
    selected: np.ndarray


def argmins(costs):
    """Smallest rank within rounding of the least cost, for each repetition.

    Parameters
    ----------
    costs : ndarray, shape (n_repeats, R)

    Returns
    -------
    ndarray of int, shape (n_repeats,)

    Examples
    --------
    >>> import numpy as np
    >>> from gencap.theory.rank import argmins
    >>> argmins(np.array([[2.0, 1.0, 1.0], [1.0, 2.0, 3.0]])).tolist()
    [2, 1]
    """
    least = costs.min(axis=1, keepdims=True)
    return 1 + np.argmax(costs <= least + 1e-12 * np.abs(costs).max(axis=1, keepdims=True), axis=1)


def low_rank(X, rank):
    """Best approximation of `X` of the given rank.

    Parameters
    ----------
    X : array_like, shape (N, D)
    rank : int
        1..min(N, D).

    Returns
    -------
    ndarray, shape (N, D)

    Examples
    --------
    >>> from gencap.theory.rank import low_rank
    >>> low_rank([[3, 0], [0, 1]], 1).round(6).tolist()
    [[3.0, 0.0], [0.0, 0.0]]
    """
    X = _check_matrix("X", X)
    U, V = _factors(X, checks.check_integer("rank", rank, 1, min(X.shape), "min(N, D)"))
    return U @ V


def reconstruction_psnr(X, clean):
    """PSNR (dB) of the rank-limited approximations of `X` against the noise-free matrix of grey values 0..255.

    Parameters
    ----------
    X, clean : array_like, shape (N, D)
        Noisy and noise-free matrix.

    Returns
    -------
    ndarray, shape (min(N, D),)
        Entry k - 1 belongs to rank k.

    References
    ----------
    Document 002, Figure 2; document 000, Figure 4.

    Examples
    --------
    >>> import numpy as np
    >>> from gencap.theory import rank
    >>> clean = np.outer([0, 100, 200], [1, 1, 1])
    >>> rank.reconstruction_psnr(clean + np.eye(3), clean).shape
    (3,)
    """
    return psnr_of_error(optimal_rank(X, clean).costs[0] / np.size(clean), peak=255.0)


def optimal_rank(X, clean, max_rank=None, *, boolean=False):
    """The oracle: the rank whose approximation of `X` is closest to the noise-free matrix.

    Parameters
    ----------
    X, clean : array_like, shape (N, D)
    max_rank : int or None
        Largest rank offered; None means min(N, D).
    boolean : bool
        Count wrong bits after rounding at 1/2; otherwise squared error.

    Returns
    -------
    RankSelection
        `costs` is the squared error or the number of wrong bits.

    References
    ----------
    Document 002, Figures 2 and 3.

    Examples
    --------
    >>> import numpy as np
    >>> from gencap.theory import rank
    >>> clean = np.outer([0, 100, 200], [1, 1, 1])
    >>> rank.optimal_rank(clean + np.eye(3), clean).rank
    1
    """
    X, clean = _check_matrix("X", X, boolean), _check_matrix("clean", clean, boolean)
    checks.check_same_shape("clean", clean, "X", X)
    return _selection([_errors_by_rank(X, clean, np.arange(len(X)), max_rank, boolean)])


def svd_transfer_costs(X1, X2, max_rank=None, *, mapping="nearest", boolean=False, random_state=None):
    """Transfer cost of every rank: rows of `X2` against the rank-limited reconstruction of the rows of `X1`.

    Parameters
    ----------
    X1 : array_like, shape (N1, D)
        Training matrix, whose SVD is truncated.
    X2 : array_like, shape (N2, D)
        Test matrix; for mapping="hungarian" N2 <= N1.
    max_rank : int or None
        Largest rank; None means min(N1, D).
    mapping : {"nearest", "hungarian"} or array_like of int, shape (N2,)
        Test row to its nearest training row (many to one), or one to one with the least sum of distances. The
        distance is squared Euclidean, which is Hamming for Boolean rows. Ties are drawn at random. An array names the
        training row of every test row: for generated data, whose pairs are known.
    boolean : bool
        Round the reconstruction at 1/2 and count wrong bits.
    random_state : int, Generator or None
        For ties.

    Returns
    -------
    ndarray, shape (max_rank,)
        Mean over test rows.

    References
    ----------
    Document 002, Eq. 7 (read with the Frobenius norm); document 000, Eq. 34.

    Examples
    --------
    >>> import numpy as np
    >>> from gencap.theory import rank
    >>> X = np.eye(4)
    >>> rank.svd_transfer_costs(X, X, mapping=np.arange(4)).round(6).tolist()
    [0.75, 0.5, 0.25, 0.0]
    """
    X1, X2 = _check_matrix("X1", X1, boolean), _check_matrix("X2", X2, boolean)
    if isinstance(mapping, str):
        origin = map_rows(X1, X2, mapping=mapping, random_state=random_state)
    else:
        origin = checks.check_labels("mapping", mapping, len(X2), len(X1))
    return _errors_by_rank(X1, X2, origin, max_rank, boolean) / len(X2)


def _errors_by_rank(X, target, origin, max_rank, boolean):
    """Sum over rows i of |target_i - (X_k)_origin(i)|^2 for k = 1..max_rank, shape (max_rank,)."""
    U, V = _factors(X, _check_rank(max_rank, min(X.shape), "min(N, D)"))
    U = U[origin]
    if not boolean:
        # The right singular vectors are orthonormal: each rank changes the error by |s u|^2 - 2 <target v, s u>.
        steps = np.sum(U * U, axis=0) - 2 * np.sum((target @ V.T) * U, axis=0)
        return np.maximum(np.sum(target * target) + np.cumsum(steps), 0.0)
    wanted = target > 0.5
    return np.array([np.count_nonzero(rounded != wanted) for rounded in _rounded_sums(U, V)], dtype=float)


def _factors(X, rank=None):
    """The best factors U (N, rank) and V (rank, D) with X = U V up to the rank; None is all."""
    U, s, V = np.linalg.svd(X, full_matrices=False)
    return U[:, :rank] * s[:rank], V[:rank]


def _rounded_sums(U, V):
    """Partial sums of U[:, t] V[t], rounded at 1/2, one after the other (N, D)."""
    total = np.zeros((len(U), V.shape[1]))
    for u, v in zip(U.T, V, strict=True):
        total += np.multiply.outer(u, v)
        yield total > 0.5


def transfer_rank(X, max_rank=None, *, mapping="nearest", boolean=False, n_repeats=20, random_state=None):
    """Rank of minimum transfer cost: the median over random halves.

    Parameters
    ----------
    X : array_like, shape (N, D)
    max_rank : int or None
        Largest rank offered; None means min(N // 2, D).
    mapping : {"nearest", "hungarian"}
    boolean : bool
    n_repeats : int
    random_state : int, Generator or None

    Returns
    -------
    RankSelection
        `costs` are transfer costs a row, one line for each pair of halves.

    References
    ----------
    Document 002, sections 4.1 and 4.2; document 000, section 3.4.

    Examples
    --------
    >>> import numpy as np
    >>> from gencap.theory import rank
    >>> X = np.outer(np.tile([1, 2], 20), [1, 0, 2])
    >>> rank.transfer_rank(X, n_repeats=3, random_state=0).rank
    1
    """
    X = _check_matrix("X", X, boolean, at_least=(2, 1))
    max_rank = _check_rank(max_rank, min(len(X) // 2, X.shape[1]), "min(N // 2, D)")
    rng = checks.generator(random_state)
    orders = (rng.permutation(len(X)) for _ in range(checks.check_integer("n_repeats", n_repeats)))
    halves = ((X[order[len(X) // 2 :]], X[order[: len(X) // 2]]) for order in orders)
    how = {"mapping": mapping, "boolean": boolean, "random_state": rng}
    return _selection([svd_transfer_costs(*pair, max_rank, **how) for pair in halves])


def bicross_validation_rank(X, max_rank=None, *, held_out=0.5, n_repeats=20, random_state=None):
    """Owen and Perry's bi-cross-validation: the rank of the lowest median error over random permutations.

    A held-out block A (rows and columns) is predicted from the other three, X = [[A, B], [C, D]]: the error of rank k
    is the squared norm of A - B pinv(D_k) C, which is 0 for a matrix of rank k.

    Parameters
    ----------
    X : array_like, shape (N, D)
    max_rank : int or None
        Largest rank offered; None means the smaller edge of the block D.
    held_out : float
        Share of the rows and of the columns in the held-out block, (0, 1).
    n_repeats : int
    random_state : int, Generator or None

    Returns
    -------
    RankSelection
        `costs` are squared errors an entry of A.

    References
    ----------
    Document 002, section 4.2; A. Owen, P. Perry, Annals of Applied Statistics 3 (2009).

    Examples
    --------
    >>> import numpy as np
    >>> from gencap.theory import rank
    >>> X = np.random.default_rng(0).random((20, 1)) * [1, 2, 0, 4]
    >>> rank.bicross_validation_rank(X, n_repeats=3, random_state=0).rank
    1
    """
    X = _check_matrix("X", X, at_least=(2, 2))
    held_out = checks.check_number("held_out", held_out, 0.0, 1.0)
    p, q = (min(max(round(held_out * n), 1), n - 1) for n in X.shape)
    max_rank = _check_rank(max_rank, min(X.shape[0] - p, X.shape[1] - q), "edge of D")
    rng = checks.generator(random_state)
    orders = (map(rng.permutation, X.shape) for _ in range(checks.check_integer("n_repeats", n_repeats)))
    costs = [_owen_perry_errors(X[np.ix_(*order)], p, q, max_rank) for order in orders]
    return _selection(costs, lowest=argmins(np.median(costs, axis=0)[None])[0])


def _owen_perry_errors(X, p, q, max_rank):
    """Squared error an entry of the block held out, X[:p, :q], at every rank."""
    residual, B, C = X[:p, :q].copy(), X[:p, q:], X[p:, :q]
    U, s, V = np.linalg.svd(X[p:, q:], full_matrices=False)
    left, right, errors = B @ V.T, U.T @ C, np.empty(max_rank)
    for t in range(max_rank):
        # The pseudo-inverse leaves out directions in which D is zero up to rounding.
        if s[t] > 1e-12 * s[0] * max(X.shape):
            residual -= np.multiply.outer(left[:, t] / s[t], right[t])
        errors[t] = np.mean(residual * residual)
    return errors


def coverage_rank(X):
    """The 80-20 rule: the smallest rank whose rounded approximation covers 80 % of the ones of `X`.

    Ones are counted, not all entries: of a sparse matrix, rank 1 has 80 % of the entries right.

    Parameters
    ----------
    X : array_like of bool, shape (N, D)

    Returns
    -------
    RankSelection
        `costs` is the share of ones that are covered.

    References
    ----------
    Document 002, section 4.2.

    Examples
    --------
    >>> from gencap.theory import rank
    >>> rank.coverage_rank([[1, 1, 1, 0], [1, 1, 1, 0], [0, 0, 0, 1]]).rank  # six of seven
    1
    """
    X = _check_matrix("X", X, boolean=True)
    ones = np.count_nonzero(X)  # without any, rank 1 covers them all
    sums = _rounded_sums(*_factors(X))
    covered = [np.count_nonzero(rounded & (X > 0.5)) / ones if ones else 1.0 for rounded in sums]
    return _selection([covered], [1 + np.greater_equal(covered, 0.8).argmax()])  # all of them at full rank


def increment_rank(X):
    """The increment rule: the smallest rank k after which rounded approximations change less than one in a thousand.

    The change from k to k + 1 is the number of changed bits divided by the number of ones of `X`.

    Parameters
    ----------
    X : array_like of bool, shape (N, D)

    Returns
    -------
    RankSelection
        `costs` is the change that follows each rank; it is 0 at full rank.

    References
    ----------
    Document 002, section 4.2.

    Examples
    --------
    >>> import numpy as np
    >>> from gencap.theory import rank
    >>> rank.increment_rank(np.eye(5)).rank
    5
    """
    X = _check_matrix("X", X, boolean=True)
    ones = max(np.count_nonzero(X), 1)
    sums = pairwise(_rounded_sums(*_factors(X)))
    changes = [np.count_nonzero(after != before) / ones for before, after in sums] + [0.0]
    return _selection([changes], [1 + np.less(changes, 0.001).argmax()])


def select_n_roles(
    model, X, n_components, *, n_folds=5, mapping="nearest", random_state=None, n_jobs=None, progress=True
):
    """Number of roles by cross-validated transfer cost: the smallest within one standard error of the least.

    Parameters
    ----------
    model : NoisyOrFactorization
        Its `n_components` is overridden.
    X : array_like of bool, shape (N, D)
    n_components : int or iterable of int
        Numbers of roles offered.
    n_folds : int
        >= 2.
    mapping : {"nearest", "hungarian", "components"}
        See `NoisyOrFactorization.transfer_cost`.
    random_state : int or None
        For the folds and for ties.
    n_jobs : int or None
        Worker processes (joblib).
    progress : bool
        Show a progress bar.

    Returns
    -------
    RankSelection
        `costs` (n_folds, R) in bits a row.

    References
    ----------
    Document 002, section 5 and Figure 4.

    Examples
    --------
    >>> import numpy as np, gencap as gc
    >>> X = np.kron(np.eye(2, dtype=bool), np.ones((6, 3), bool))
    >>> model = gc.NoisyOrFactorization(n_refinements=0, random_state=0)
    >>> gc.rank.select_n_roles(model, X, [1, 2], n_folds=2, random_state=0, progress=False).rank
    2
    """
    X = np.asarray(X)
    offered = np.array(checks.check_offered(n_components, name="n_components"))
    checks.check_integer("n_folds", n_folds, 2, len(X), "n_samples")
    calls = [
        (clone(model).set_params(n_components=int(k)), X[train], X[test], mapping, random_state)
        for train, test in KFold(n_folds, shuffle=True, random_state=random_state).split(X)
        for k in offered
    ]
    found = map_with_bar(_fold_cost, calls, desc="folds", n_jobs=n_jobs, progress=progress)
    costs = np.reshape(found, (n_folds, len(offered)))
    return RankSelection(one_standard_error_rank(costs, offered), offered, costs, offered[argmins(costs) - 1])


def _fold_cost(model, train, test, mapping, random_state):
    return model.fit(train).transfer_cost(train, test, mapping, random_state)


def _selection(costs, selected=None, lowest=None):
    """The rank `lowest`, else the median of those selected in each row of costs, else of those of the lowest cost."""
    costs = np.array(costs)
    selected = argmins(costs) if selected is None else np.array(selected)
    rank = int(np.median(selected) if lowest is None else lowest)
    return RankSelection(rank, np.arange(1, costs.shape[1] + 1), costs, selected)


def _check_rank(max_rank, limit, limit_name):
    """The largest rank as int (None: `limit`), or raise."""
    return limit if max_rank is None else checks.check_integer("max_rank", max_rank, 1, limit, limit_name)


def _check_matrix(name, X, boolean=False, at_least=(1, 1)):
    """Return X as float, or raise."""
    X = checks.check_vectors(name, X)
    if np.less(X.shape, at_least).any():
        raise ValueError(f"{name} has shape {X.shape}, accepted is {at_least} and more")
    if boolean:
        checks.check_boolean(name, X)
    return X
