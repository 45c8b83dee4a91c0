r"""Low-rank and Boolean factorizations, and the rules that choose their rank.

Patches of an image (rows of X) are denoised by the best approximation of rank k,

.. math:: X_k = \sum_{t \le k} s_t u_t v_t^\top ,

and a Boolean matrix by the same sum, rounded at 1/2. The rank is chosen by the minimum transfer cost: rows of a second
half X2 are compared with the reconstruction of the rows of X1 they are mapped to,

.. math:: R^T(k) = \frac{1}{N_2} \sum_{i'} \| x^{(2)}_{i'} - (X^{(1)}_k)_{\psi(i')} \|^2 ,

with the nearest row or a one-to-one assignment as the mapping psi. Its competitors are Owen and Perry's
bi-cross-validation, the 80-20 rule and the increment rule; the optimum is the oracle that knows the noise-free matrix.

Role mining explains a Boolean matrix by roles that users may hold at the same time. `NoisyOrFactorization` fits

.. math:: p(x_{ij} = 1 \mid L) = \epsilon r + (1 - \epsilon) \Bigl(1 - \prod_{t \in L} \beta_{tj}\Bigr),
          \qquad |L| \le M ,

where L is the set of roles of user i, beta the probability that a role does NOT grant a permission, and epsilon the
share of bits that are noise and equal 1 with probability r.

Source: 002 sections 4 and 5 (Eq 7, Figures 2-4), 000 section 3.4 (Eq 34, Figure 4).
"""

from dataclasses import dataclass
from itertools import combinations

import numpy as np
from joblib import Parallel, delayed
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist
from scipy.special import logsumexp
from sklearn.base import BaseEstimator, clone
from sklearn.model_selection import KFold
from sklearn.utils.validation import check_is_fitted, validate_data
from tqdm.auto import tqdm

from gencap.checks import check_integer, check_labels, check_number, check_option, check_vectors, generator

_MAPPINGS = ("nearest", "hungarian")
_FLOOR = 1e-10  # probabilities stay this far from 0 and 1, so that no bit costs an infinite amount


@dataclass(frozen=True)
class RankSelection:
    """What a rule chose, and why.

    Attributes
    ----------
    rank : int
        The chosen rank (number of factors); the median where the rule is repeated on random splits.
    ranks : ndarray of int, shape (R,)
        The ranks offered, ascending.
    costs : ndarray, shape (n_splits, R)
        The rule's score at every rank in every repetition; the unit is the rule's own.
    selected : ndarray of int, shape (n_splits,)
        The rank each repetition would choose alone.
    """

    rank: int
    ranks: np.ndarray
    costs: np.ndarray
    selected: np.ndarray


# ---------------------------------------------------------------------------------------------------------- images


def image_patches(image, size=8):
    """Cut a grey image into non-overlapping square patches, row by row; an incomplete border is left out.

    Parameters
    ----------
    image : array_like, shape (height, width)
    size : int
        Edge of a patch, pixels.

    Returns
    -------
    ndarray, shape (height // size * (width // size), size ** 2)

    Source
    ------
    002 section 4.1.
    """
    image = check_vectors("image", image)
    size = check_integer("size", size, 1, min(image.shape), "smaller edge of the image")
    rows, columns = image.shape[0] // size, image.shape[1] // size
    tiles = image[: rows * size, : columns * size].reshape(rows, size, columns, size)
    return tiles.swapaxes(1, 2).reshape(rows * columns, size * size)


def image_from_patches(patches, width):
    """Put the patches of `image_patches` back together.

    Parameters
    ----------
    patches : array_like, shape (n_patches, size ** 2)
    width : int
        Width of the image they were cut from, pixels; the result lacks the incomplete border.

    Returns
    -------
    ndarray, shape (n_patches // columns * size, columns * size) with columns = width // size
    """
    patches = check_vectors("patches", patches)
    size = round(patches.shape[1] ** 0.5)
    if size * size != patches.shape[1]:
        raise ValueError(f"patches must hold square patches, got {patches.shape[1]} pixels a patch")
    columns = check_integer("width", width, size) // size
    if len(patches) % columns:
        raise ValueError(
            f"width={width} is {columns} patches of {size} pixels; {len(patches)} patches do not fill rows"
        )
    tiles = patches.reshape(-1, columns, size, size)
    return tiles.swapaxes(1, 2).reshape(-1, columns * size)


def psnr(reference, image, peak=255.0):
    """Peak signal-to-noise ratio 20 log10(peak / root mean squared error), in dB; infinite for equal images."""
    reference, image = check_vectors("reference", reference), check_vectors("image", image)
    _check_same_shape("image", image, "reference", reference)
    return _psnr_of_error(np.mean((reference - image) ** 2), peak)


def _psnr_of_error(mean_squared_error, peak=255.0):
    with np.errstate(divide="ignore"):
        return 20 * np.log10(peak) - 10 * np.log10(mean_squared_error)


# ------------------------------------------------------------------------------------------------- truncated SVD


def low_rank(X, rank, boolean=False):
    """Best approximation of `X` of the given rank; rounded at 1/2 to a Boolean matrix if `boolean`.

    Parameters
    ----------
    X : array_like, shape (N, D)
    rank : int
        1..min(N, D).
    boolean : bool

    Returns
    -------
    ndarray, shape (N, D), float (`boolean`: bool)
    """
    X, rank = _check_matrix("X", X, boolean, rank, "rank")
    U, s, V = np.linalg.svd(X, full_matrices=False)
    approximation = (U[:, :rank] * s[:rank]) @ V[:rank]
    return approximation > 0.5 if boolean else approximation


def reconstruction_psnr(X, clean, max_rank=None, peak=255.0):
    """PSNR (dB) of the rank-limited approximations of `X` against the noise-free matrix.

    Parameters
    ----------
    X, clean : array_like, shape (N, D)
        Noisy and noise-free matrix.
    max_rank : int or None
        Largest rank; None means min(N, D).

    Returns
    -------
    ndarray, shape (max_rank,)
        Entry k - 1 belongs to rank k.

    Source
    ------
    002 Figure 2, 000 Figure 4.
    """
    errors = optimal_rank(X, clean, max_rank).costs[0]
    return _psnr_of_error(errors / np.size(clean), peak)


def optimal_rank(X, clean, max_rank=None, boolean=False):
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

    Source
    ------
    002 Figures 2 and 3.
    """
    X, max_rank = _check_matrix("X", X, boolean, max_rank, "max_rank")
    clean, _ = _check_matrix("clean", clean, boolean)
    _check_same_shape("clean", clean, "X", X)
    costs = _errors_by_rank(X, clean, np.arange(len(X)), max_rank, boolean)
    return _single(costs)


def svd_transfer_costs(X1, X2, max_rank=None, mapping="nearest", boolean=False, random_state=None):
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

    Source
    ------
    002 Eq 7 (read with the Frobenius norm), 000 Eq 34.
    """
    X1, max_rank = _check_matrix("X1", X1, boolean, max_rank, "max_rank")
    X2, _ = _check_matrix("X2", X2, boolean)
    if isinstance(mapping, str):
        origin = map_rows(X1, X2, mapping, random_state)
    else:
        origin = check_labels("mapping", mapping, len(X2), len(X1))
    return _errors_by_rank(X1, X2, origin, max_rank, boolean) / len(X2)


def map_rows(X1, X2, mapping="nearest", random_state=None):
    """Index of the training row (in `X1`) that stands for each test row (in `X2`), shape (N2,).

    See `svd_transfer_costs` for the arguments.
    """
    check_option("mapping", mapping, _MAPPINGS)
    X1, X2 = check_vectors("X1", X1), check_vectors("X2", X2)
    if X1.shape[1] != X2.shape[1]:
        raise ValueError(f"X2 has {X2.shape[1]} columns, accepted is {X1.shape[1]} as in X1")
    distances = cdist(X2, X1, "sqeuclidean")
    if mapping == "nearest":
        # Noise far below any difference between two distances decides between equal ones only.
        scale = 1e-9 * max(distances.max(), 1e-300)
        return np.argmin(distances + scale * generator(random_state).random(distances.shape), axis=1)
    if len(X2) > len(X1):
        raise ValueError(f"mapping='hungarian' needs at most as many test as training rows, got {len(X2)} > {len(X1)}")
    return linear_sum_assignment(distances)[1]


def _errors_by_rank(X, target, origin, max_rank, boolean):
    """Sum over rows i of |target_i - (X_k)_origin(i)|^2 for k = 1..max_rank, shape (max_rank,)."""
    U, s, V = np.linalg.svd(X, full_matrices=False)
    U = (U[:, :max_rank] * s[:max_rank])[origin]
    V = V[:max_rank]
    if not boolean:
        # The right singular vectors are orthonormal: each rank changes the error by |s u|^2 - 2 <target v, s u>.
        steps = np.sum(U * U, axis=0) - 2 * np.sum((target @ V.T) * U, axis=0)
        return np.maximum(np.sum(target * target) + np.cumsum(steps), 0.0)
    wanted = target > 0.5
    return np.array([np.count_nonzero(rounded != wanted) for rounded in _rounded_sums(U, V)], dtype=float)


def _rounded_sums(U, V):
    """Partial sums of U[:, t] V[t], rounded at 1/2, one after the other (N, D)."""
    total = np.zeros((len(U), V.shape[1]))
    for u, v in zip(U.T, V, strict=True):
        total += np.multiply.outer(u, v)
        yield total > 0.5


# -------------------------------------------------------------------------------------------------- rank rules


def transfer_rank(X, max_rank=None, mapping="nearest", boolean=False, n_splits=20, random_state=None):
    """Rank of minimum transfer cost: the median over random halves.

    Parameters
    ----------
    X : array_like, shape (N, D)
    max_rank : int or None
        Largest rank offered; None means min(N // 2, D).
    mapping : {"nearest", "hungarian"}
    boolean : bool
    n_splits : int
    random_state : int, Generator or None

    Returns
    -------
    RankSelection
        `costs` are transfer costs a row, one line for each split.

    Source
    ------
    002 sections 4.1 and 4.2, 000 section 3.4.
    """
    X, _ = _check_matrix("X", X, boolean, at_least=2)
    limit = min(len(X) // 2, X.shape[1])
    max_rank = limit if max_rank is None else check_integer("max_rank", max_rank, 1, limit, "min(N // 2, D)")
    rng = generator(random_state)
    costs = []
    for _ in range(check_integer("n_splits", n_splits)):
        order = rng.permutation(len(X))
        train, test = X[order[len(X) // 2 :]], X[order[: len(X) // 2]]
        costs.append(svd_transfer_costs(train, test, max_rank, mapping, boolean, rng))
    return _median(np.array(costs))


def bicross_validation_rank(X, held_out=0.5, max_rank=None, n_splits=20, random_state=None):
    """Owen and Perry's bi-cross-validation: the rank of the lowest median error over random permutations.

    A held-out block A (rows and columns) is predicted from the other three, X = [[A, B], [C, D]]: the error of rank k
    is the squared norm of A - B pinv(D_k) C, which is 0 for a matrix of rank k.

    Parameters
    ----------
    X : array_like, shape (N, D)
    held_out : float
        Share of the rows and of the columns in the held-out block, (0, 1).
    max_rank : int or None
        Largest rank offered; None means the smaller edge of the block D.
    n_splits : int
    random_state : int, Generator or None

    Returns
    -------
    RankSelection
        `costs` are squared errors an entry of A.

    Source
    ------
    002 section 4.2; A. Owen, P. Perry, Annals of Applied Statistics 3 (2009).
    """
    X, _ = _check_matrix("X", X, at_least=2)
    if min(X.shape) < 2:
        raise ValueError(f"X must have at least 2 columns to hold some out, got shape {X.shape}")
    held_out = check_number("held_out", held_out, 0.0, 1.0)
    p, q = (min(max(round(held_out * n), 1), n - 1) for n in X.shape)
    limit = min(X.shape[0] - p, X.shape[1] - q)
    max_rank = limit if max_rank is None else check_integer("max_rank", max_rank, 1, limit, "edge of the kept block")
    rng = generator(random_state)
    costs = []
    for _ in range(check_integer("n_splits", n_splits)):
        shuffled = X[rng.permutation(X.shape[0])][:, rng.permutation(X.shape[1])]
        costs.append(_owen_perry_errors(shuffled, p, q, max_rank))
    costs = np.array(costs)
    chosen = _single(np.median(costs, axis=0)).rank
    return RankSelection(chosen, np.arange(1, max_rank + 1), costs, _argmins(costs))


def _owen_perry_errors(X, p, q, max_rank):
    residual, B, C = X[:p, :q].copy(), X[:p, q:], X[p:, :q]
    U, s, V = np.linalg.svd(X[p:, q:], full_matrices=False)
    left, right = B @ V.T, U.T @ C
    errors = np.empty(max_rank)
    for t in range(max_rank):
        # The pseudo-inverse leaves out directions in which D is zero up to rounding.
        if s[t] > 1e-12 * s[0] * max(X.shape):
            residual -= np.multiply.outer(left[:, t] / s[t], right[t])
        errors[t] = np.mean(residual * residual)
    return errors


def coverage_rank(X, share=0.8):
    """The 80-20 rule: the smallest rank whose rounded approximation covers `share` of the ones of `X`.

    Ones are counted, not all entries: of a sparse matrix, rank 1 has 80 % of the entries right.

    Parameters
    ----------
    X : array_like of bool, shape (N, D)
    share : float
        [0, 1].

    Returns
    -------
    RankSelection
        `costs` is the share of ones that are covered.

    Source
    ------
    002 section 4.2.
    """
    X, _ = _check_matrix("X", X, boolean=True)
    share = check_number("share", share, 0.0, 1.0)
    ones = max(np.count_nonzero(X), 1)
    covered = np.array([np.count_nonzero(rounded & (X > 0.5)) / ones for rounded in _approximations(X)])
    return _first(covered, covered >= share)


def increment_rank(X, threshold=0.001):
    """The increment rule: the smallest rank k after which rounded approximations change less than `threshold`.

    The change from k to k + 1 is the number of changed bits divided by the number of ones of `X`.

    Parameters
    ----------
    X : array_like of bool, shape (N, D)
    threshold : float
        >= 0.

    Returns
    -------
    RankSelection
        `costs` is the change that follows each rank; it is 0 at full rank.

    Source
    ------
    002 section 4.2.
    """
    X, _ = _check_matrix("X", X, boolean=True)
    threshold = check_number("threshold", threshold, 0.0)
    ones = max(np.count_nonzero(X), 1)
    changes, previous = [], None
    for rounded in _approximations(X):
        if previous is not None:
            changes.append(np.count_nonzero(rounded != previous) / ones)
        previous = rounded
    changes = np.array([*changes, 0.0])
    return _first(changes, changes < threshold)


def _approximations(X):
    U, s, V = np.linalg.svd(X, full_matrices=False)
    return _rounded_sums(U * s, V)


def _argmins(costs):
    """Smallest rank within rounding of the least cost, for each line of (n_splits, R)."""
    least = costs.min(axis=1, keepdims=True)
    return 1 + np.argmax(costs <= least + 1e-12 * np.abs(costs).max(axis=1, keepdims=True), axis=1)


def _single(costs):
    selected = _argmins(costs[None])
    return RankSelection(int(selected[0]), np.arange(1, len(costs) + 1), costs[None], selected)


def _median(costs):
    selected = _argmins(costs)
    return RankSelection(int(np.median(selected)), np.arange(1, costs.shape[1] + 1), costs, selected)


def _first(scores, satisfied):
    rank = int(np.argmax(satisfied)) + 1 if satisfied.any() else len(scores)
    return RankSelection(rank, np.arange(1, len(scores) + 1), scores[None], np.array([rank]))


def _check_matrix(name, X, boolean=False, rank=None, rank_name="rank", at_least=1):
    """Return X as float and the rank as int (None: full), or raise."""
    X = check_vectors(name, X)
    if len(X) < at_least:
        raise ValueError(f"{name} must have at least {at_least} rows, got shape {X.shape}")
    if boolean:
        _check_boolean(name, X)
    limit = min(X.shape)
    return X, limit if rank is None else check_integer(rank_name, rank, 1, limit, "min(N, D)")


def _check_boolean(name, X):
    wrong = X[(X != 0) & (X != 1)]
    if wrong.size:
        raise ValueError(f"{name} must hold only 0 and 1, got {wrong[0]:g}")


def _check_same_shape(name, X, other_name, other):
    if X.shape != other.shape:
        raise ValueError(f"{name} has shape {X.shape}, accepted is the shape of {other_name}, {other.shape}")


# ------------------------------------------------------------------------------------------------- noisy-OR roles


class NoisyOrFactorization(BaseEstimator):
    """Boolean factorization X ~ assignments OR-AND components, by annealed EM for the noisy-OR mixture-noise model.

    Parameters
    ----------
    n_components : int
        Number of roles K, 1..n_samples.
    max_roles : int
        Most roles a row may hold at once, M >= 1. The label sets are all subsets of at most M of the K roles.
    cooling : float
        Factor of the temperature from step to step, (0, 1); it falls from D / 10 to 1.
    n_init : int
        Restarts; the run of largest likelihood is kept.
    n_refinements : int
        Attempts, after the annealing, to replace a wasted role: two roles are added and the two least useful ones
        dropped, and the result is kept if it is more probable.
    random_state : int, Generator or None

    Attributes
    ----------
    components_ : ndarray of bool, shape (K, D)
        Which role grants which permission: beta < 1/2. Thresholding is needed, as beta absorbs part of the noise.
    off_probabilities_ : ndarray, shape (K, D)
        beta, the probability that a role does not switch a bit on.
    assignments_ : ndarray of bool, shape (N, K)
        Roles of every row: its most probable label set.
    label_sets_ : ndarray of bool, shape (L, K)
    label_set_probabilities_ : ndarray, shape (L,)
    noise_ : float
        epsilon, the share of bits that are noise. It is not identified where beta is free.
    noise_one_ : float
        r, the probability that a noise bit is 1.
    log_likelihood_ : float
        Of all rows at temperature 1, nats.
    n_iter_ : int
        EM steps of the kept run.
    n_features_in_ : int

    Source
    ------
    002 section 5; the model is that of its reference 22 (multi-assignment clustering for Boolean data).
    """

    def __init__(self, n_components=8, max_roles=2, cooling=0.9, n_init=1, n_refinements=5, random_state=None):
        self.n_components = n_components
        self.max_roles = max_roles
        self.cooling = cooling
        self.n_init = n_init
        self.n_refinements = n_refinements
        self.random_state = random_state

    def fit(self, X, y=None):
        """Fit to a Boolean matrix of shape (N, D) and return self.

        Raises
        ------
        ValueError
            X holds other values than 0 and 1, or a parameter is outside its range.
        """
        X = validate_data(self, X, dtype=np.float64)
        _check_boolean("X", X)
        n_components = check_integer("n_components", self.n_components, 1, len(X), "n_samples")
        max_roles = min(check_integer("max_roles", self.max_roles), n_components)
        cooling = check_number("cooling", self.cooling, 0.01, 0.999)
        n_refinements = check_integer("n_refinements", self.n_refinements, 0)
        sets = label_sets(n_components, max_roles)
        rng = generator(self.random_state)
        # Single precision halves the time of the products and leaves the parameters as they are.
        single = X.astype(np.float32)
        runs = [
            _annealed_em(single, sets, cooling, n_refinements, rng) for _ in range(check_integer("n_init", self.n_init))
        ]
        state, _, self.n_iter_ = min(runs, key=lambda run: run[1])
        self.log_likelihood_ = float(np.sum(logsumexp(_log_joint(X, sets, state), axis=1)))
        self.off_probabilities_, self.noise_, self.noise_one_, self.label_set_probabilities_ = state
        self.label_sets_ = sets
        self.components_ = self.off_probabilities_ < 0.5
        self.assignments_ = self._assign(X)
        return self

    def _assign(self, X):
        state = (self.off_probabilities_, self.noise_, self.noise_one_, self.label_set_probabilities_)
        return self.label_sets_[np.argmax(_log_joint(X, self.label_sets_, state), axis=1)]

    def predict(self, X):
        """Roles of new rows under the fitted components, bool, shape (N, K)."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        _check_boolean("X", X)
        return self._assign(X)

    def score(self, X, y=None):
        """Mean log likelihood of a row, nats."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        _check_boolean("X", X)
        state = (self.off_probabilities_, self.noise_, self.noise_one_, self.label_set_probabilities_)
        return float(np.mean(logsumexp(_log_joint(X, self.label_sets_, state), axis=1)))

    def transfer_cost(self, X1, X2, mapping="nearest", random_state=None):
        """Mean number of bits of a test row that the transferred factorization gets wrong.

        Parameters
        ----------
        X1 : array_like of bool, shape (N, D)
            The rows the model was fitted to.
        X2 : array_like of bool, shape (N2, D)
            Test rows.
        mapping : {"nearest", "hungarian", "components"}
            "nearest" and "hungarian" transfer both factors: the test row takes the roles of the row it is mapped to.
            "components" fixes the second factor only and gives the test row the label set with the fewest wrong
            bits; this tolerates overfitting, and is here to show it.
        random_state : int, Generator or None
            For ties of the mapping.

        Source
        ------
        002 section 5 (cost), section 8 ("only the second matrix is fixed").
        """
        check_is_fitted(self)
        check_option("mapping", mapping, (*_MAPPINGS, "components"))
        X2 = validate_data(self, X2, dtype=np.float64, reset=False)
        _check_boolean("X2", X2)
        if mapping == "components":
            offered = boolean_product(self.label_sets_, self.components_)
            return float(np.mean(cdist(X2, offered, "sqeuclidean").min(axis=1)))
        if len(X1) != len(self.assignments_):
            raise ValueError(f"X1 has {len(X1)} rows, accepted are the {len(self.assignments_)} rows of the fit")
        assignments = self.assignments_[map_rows(X1, X2, mapping, random_state)]
        return float(np.mean(np.sum(boolean_product(assignments, self.components_) != X2, axis=1)))


def boolean_product(assignments, components):
    """OR over t of (assignments[:, t] AND components[t]), bool, shape (N, D)."""
    return np.asarray(assignments, dtype=np.float32) @ np.asarray(components, dtype=np.float32) > 0.5


def label_sets(n_components, max_roles):
    """All subsets of at most `max_roles` of `n_components` roles, the empty one first: bool, shape (L, K)."""
    members = [m for size in range(max_roles + 1) for m in combinations(range(n_components), size)]
    sets = np.zeros((len(members), n_components), dtype=bool)
    for row, m in zip(sets, members, strict=True):
        row[list(m)] = True
    return sets


def _one_probabilities(sets, state):
    """p(x_j = 1 | L), shape (L, D), and the probability that no role of L switches bit j on, prod beta."""
    beta, noise, noise_one, _ = state
    all_off = np.exp(sets @ np.log(beta))
    return np.clip(noise * noise_one + (1 - noise) * (1 - all_off), _FLOOR, 1 - _FLOOR), all_off


def _log_joint(X, sets, state, one=None):
    """log p(L) p(x_i | L), shape (N, L), in the precision of X; `one` if p(x_j = 1 | L) is known."""
    if one is None:
        one, _ = _one_probabilities(sets, state)
    log_zero = np.log1p(-one)
    slope, offset = np.log(one) - log_zero, log_zero.sum(axis=1) + np.log(state[3])
    return X @ slope.T.astype(X.dtype) + offset.astype(X.dtype)


def _em_step(X, sets, state, temperature):
    """One generalised EM step at a fixed temperature.

    The free energy F = -T sum_i log sum_L [p(L) p(x_i | L)]^(1/T) never rises: the assignment probabilities are its
    exact minimiser, and the parameters follow by one EM step over the latent switches of the noisy OR.

    Returns
    -------
    state : tuple
        New (beta, noise, noise_one, p(L)).
    free_energy : float
        Of the state that was passed in, nats a row.
    """
    beta, noise, noise_one, prior = state
    one, all_off = _one_probabilities(sets, state)
    probabilities = _log_joint(X, sets, state, one)
    largest = probabilities.max(axis=1, keepdims=True)
    probabilities -= largest
    probabilities /= temperature
    # Below e^-60 a share is nothing to the sums, but as a denormal number it slows the products a hundredfold.
    np.exp(np.maximum(probabilities, -60.0, out=probabilities), out=probabilities)
    norm = probabilities.sum(axis=1, keepdims=True)
    probabilities /= norm
    free_energy = -float(np.mean(largest + temperature * np.log(norm)))
    mass = probabilities.sum(axis=0, dtype=np.float64)
    ones = (probabilities.T @ X).astype(np.float64)
    zeros = np.maximum(mass[:, None] - ones, 0.0)

    # Expected counts, label set by bit: seen as 1 (0) and not noise.
    on = ones * (1 - noise) * (1 - all_off) / one
    off = zeros * (1 - noise) * all_off / (1 - one)
    # Given that the OR of L is 1, role t was off with probability (beta_t - prod beta) / (1 - prod beta).
    sure = ones * (1 - noise) / one
    drawn = sets.T @ (on + off)
    silent = beta * (sets.T @ sure) + sets.T @ (off - sure * all_off)
    new_beta = np.where(drawn > _FLOOR, silent / np.maximum(drawn, _FLOOR), beta)
    noise_ones = max(float(np.sum(ones - on)), 0.0)
    noise_count = noise_ones + max(float(np.sum(zeros - off)), 0.0)
    new_state = (
        np.clip(new_beta, _FLOOR, 1 - _FLOOR),
        min(max(noise_count / X.size, _FLOOR), 1 - _FLOOR),
        min(max(noise_ones / max(noise_count, _FLOOR), _FLOOR), 1 - _FLOOR),
        np.maximum(mass / len(X), _FLOOR),
    )
    return new_state, free_energy


def _descend(X, sets, state, temperature, max_iter, tol):
    """EM at one temperature until a step gains less than `tol` nats a row; (state, free energy, steps)."""
    free_energy, steps, gain = np.inf, 0, np.inf
    while steps < max_iter and gain >= tol:
        previous = free_energy
        state, free_energy = _em_step(X, sets, state, temperature)
        gain, steps = previous - free_energy, steps + 1
    return state, free_energy, steps


def _annealed_em(X, sets, cooling, n_refinements, rng):
    """Cool from D / 10 to 1, then refine; (state, free energy at temperature 1, EM steps)."""
    shape = (sets.shape[1], X.shape[1])
    density = np.clip(X.mean(axis=0, dtype=np.float64), 0.01, 0.99)
    beta = np.clip(1 - density * rng.uniform(0.5, 1.5, shape), _FLOOR, 1 - _FLOOR)
    state = (beta, 0.1, float(density.mean()), np.full(len(sets), 1 / len(sets)))
    temperature, n_steps = max(X.shape[1] / 10, 1.0), 0
    while temperature > 1:
        # Equal roles stay equal under EM: a little noise lets them part where the temperature allows it.
        beta = np.clip(state[0] * rng.uniform(0.99, 1.01, shape), _FLOOR, 1 - _FLOOR)
        state, _, steps = _descend(X, sets, (beta, *state[1:]), temperature, 10, 1e-2)
        n_steps += steps
        temperature = max(temperature * cooling, 1.0)
    state, free_energy, steps = _descend(X, sets, state, 1.0, 100, 1e-3)
    n_steps += steps
    for _ in range(n_refinements):
        candidate, lower, steps = _grow_and_prune(X, sets, state, rng)
        n_steps += steps
        if lower < free_energy:
            state, free_energy = candidate, lower
    return state, free_energy, n_steps


def _grow_and_prune(X, sets, state, rng, n_extra=2):
    """Add roles that look like badly explained rows, reheat, cool, and drop the least useful roles again.

    Annealing alone mostly ends with one role missing and another one double; no small step leads out of that.
    """
    n_roles, max_roles = sets.shape[1], int(sets.sum(axis=1).max())
    poor = np.argsort(logsumexp(_log_joint(X, sets, state), axis=1))[: max(len(X) // 10, n_extra)]
    rows = X[rng.choice(poor, n_extra)]
    sets = label_sets(n_roles + n_extra, max_roles)
    state = (np.vstack([state[0], 0.8 - 0.6 * rows]), *state[1:3], np.full(len(sets), 1 / len(sets)))
    state, _, n_steps = _descend(X, sets, state, 4.0, 8, 1e-2)
    state, _, steps = _descend(X, sets, state, 1.0, 15, 1e-2)
    n_steps += steps
    while sets.shape[1] > n_roles:
        log_joint = _log_joint(X, sets, state)
        share = np.exp(np.maximum(log_joint - log_joint.max(axis=1, keepdims=True), -60.0))
        # The likelihood left when the label sets that hold role t are gone.
        left = np.log(np.maximum(share @ (~sets).astype(X.dtype), np.exp(-60.0))).sum(axis=0)
        role = int(np.argmax(left))
        kept = ~sets[:, role]
        prior = state[3][kept] / state[3][kept].sum()
        state, sets = (np.delete(state[0], role, axis=0), *state[1:3], prior), np.delete(sets[kept], role, axis=1)
        state, _, steps = _descend(X, sets, state, 1.0, 10, 1e-2)
        n_steps += steps
    state, free_energy, steps = _descend(X, sets, state, 1.0, 60, 1e-3)
    return state, free_energy, n_steps + steps


def select_n_roles(
    model, X, n_components, n_folds=5, mapping="nearest", random_state=None, n_jobs=None, progress=False
):
    """Number of roles by cross-validated transfer cost: the smallest within one standard error of the least.

    Parameters
    ----------
    model : NoisyOrFactorization
        Its `n_components` is overridden.
    X : array_like of bool, shape (N, D)
    n_components : iterable of int
        Numbers of roles offered.
    n_folds : int
        >= 2.
    mapping : {"nearest", "hungarian", "components"}
        See `NoisyOrFactorization.transfer_cost`.
    random_state : int or None
        For the folds and for ties.
    n_jobs : int or None
        Parallel fits, as in joblib.
    progress : bool
        Show a bar.

    Returns
    -------
    RankSelection
        `costs` (n_folds, R) in bits a row.

    Source
    ------
    002 section 5 and Figure 4.
    """
    X = np.asarray(X)
    offered = np.array(sorted({check_integer("n_components", k) for k in n_components}))
    check_integer("n_folds", n_folds, 2, len(X), "n_samples")
    folds = list(KFold(n_folds, shuffle=True, random_state=random_state).split(X))
    tasks = (
        delayed(_fold_cost)(clone(model).set_params(n_components=int(k)), X[train], X[test], mapping, random_state)
        for train, test in folds
        for k in offered
    )
    finished = Parallel(n_jobs=n_jobs, return_as="generator")(tasks)
    costs = np.array(list(tqdm(finished, total=n_folds * len(offered), disable=not progress, leave=False)))
    costs = costs.reshape(n_folds, len(offered))
    return RankSelection(one_standard_error_rank(costs, offered), offered, costs, offered[_argmins(costs) - 1])


def _fold_cost(model, train, test, mapping, random_state):
    return model.fit(train).transfer_cost(train, test, mapping, random_state)


def one_standard_error_rank(costs, ranks):
    """Smallest of `ranks` (R,) whose mean cost is within one standard error of the least; `costs` (repetitions, R).

    The standard error is that of the difference to the best rank, repetition by repetition: what all ranks share (an
    easy or a hard test set) does not count.
    """
    best = int(np.argmin(costs.mean(axis=0)))
    difference = costs - costs[:, [best]]
    error = difference.std(axis=0, ddof=1) / np.sqrt(len(costs))
    return int(np.asarray(ranks)[np.argmax(difference.mean(axis=0) <= error)])
