"""What all models on similarity matrices share: one state, one way to cool and one way to heat.

**Cool, then heat.** A few random starts are cooled on a coarse grid by Gibbs sampling and end in a zero-temperature
descent; the one of lowest cost is kept.  From there the fine grid is swept from cold to hot, and the assignment
probabilities are read off that branch.  Cooling alone gets stuck: the transition into the ordered state is of first
order, and a run that is cooled through it may keep two of the true clusters merged far below the temperature where
they should part.

**Units.** Similarity models order first at an inverse temperature set by the top eigenvalue of their matrix
(`unit`); the default grid is .8 to 20 of it in 25 steps.
"""

from dataclasses import dataclass

import numpy as np
import scipy.sparse
from scipy.sparse.linalg import LinearOperator, eigsh
from sklearn.base import BaseEstimator, ClusterMixin

from .annealing import Trajectory, beta_grid, check_betas, check_start, signed
from .checks import check_integer, check_labels, check_n_clusters, check_option, check_seed, check_similarity
from .kernels import similarity as kernels

__all__ = ["SimilarityClustering"]

INFERENCES = ("meanfield", "gibbs", "metropolis")
MODES = {"meanfield": kernels.MEANFIELD, "gibbs": kernels.GIBBS, "metropolis": kernels.METROPOLIS}
COOLING = np.geomspace(0.9, 6, 10)  # units; a random start needs to be cooled only from just above the transition
COOLING_SWEEPS = 12
HEATING_SWEEPS = 60
SETTLED, TOLERANCE, SKIP = 0.003, 2e-4, 1e-3  # mean changes of a row's probabilities; see `State.relax`


@dataclass(frozen=True)
class Rule:
    """How a model turns fields into potentials; the arguments of the sweep kernels (see `kernels.similarity`)."""

    kind: int
    shift: float = 0.0
    p: float = 2.0
    scale: float = 1.0
    floor: float = 0.0
    use_diagonal: bool = False


class State:
    """Assignment probabilities of one run on one matrix, with the fields and books that the kernels keep."""

    def __init__(self, X, rule, weights, n_clusters, rng):
        self.X, self.rule, self.weights, self.n_clusters, self.rng = X, rule, weights, n_clusters, rng
        self.sparse = scipy.sparse.issparse(X)
        self.n_objects = X.shape[0]
        self.diagonal = X.diagonal().astype(np.float64)
        self.degree = None

    def start(self, probabilities):
        """Take the assignment probabilities (N, K) as the state."""
        if self.sparse:
            self.Q = np.array(probabilities, self.X.dtype, order="C")
        else:
            # The blocked kernel works on five clusters at a time.
            self.padded = np.zeros((max(self.n_clusters, 5), self.n_objects), self.X.dtype)
            self.Q = self.padded[: self.n_clusters]
            self.Q[:] = np.asarray(probabilities).T
        self.refresh()

    def start_labels(self, labels):
        self.start(np.eye(self.n_clusters, dtype=self.X.dtype)[labels])

    def refresh(self):
        """Compute fields and books afresh; rounding errors of incremental updates end here."""
        rule, Q = self.rule, self.Q.T if self.sparse else self.Q
        self.size = Q.astype(np.float64) @ self.weights
        if self.sparse:
            self.F = (self.X @ self.Q).T
        else:
            self.F = np.empty_like(self.Q)
            kernels.fill_fields(self.X, self.padded, self.F)
        self.links = np.zeros((self.n_clusters, self.n_clusters))
        if rule.kind != kernels.QUADRATIC:
            Q = Q.astype(np.float64)
            self.links = Q @ self.F.T.astype(np.float64)
            if not rule.use_diagonal:
                self.links -= (Q * self.diagonal) @ Q.T

    def sweep(self, mode, beta, skip=0.0, total=None):
        """One sweep in random order; returns the mean change of a row."""
        rule = self.rule
        order = self.rng.permutation(self.n_objects)
        total = np.empty((0, 0)) if total is None else total
        rest = (order, rule.kind, mode, beta, rule.shift, rule.p, rule.scale, rule.floor, skip, self.weights,
                rule.use_diagonal, self.size, self.links, total, self.rng)  # fmt: skip
        if self.sparse:
            X = self.X
            return kernels.sparse_sweep(X.indptr, X.indices, X.data, self.Q, *rest)
        return kernels.incremental_sweep(self.X, self.diagonal, self.Q, self.F, *rest)

    def fresh_sweep(self, beta):
        """One blocked mean-field sweep of a quadratic model on a dense matrix; returns the mean change of a row."""
        rule, order = self.rule, self.rng.permutation(self.n_objects)
        if self.degree is None:
            self.degree = self.X.sum(axis=1, dtype=np.float64)
        return kernels.fresh_sweep(
            self.X, self.diagonal, self.degree, self.padded, order, beta, rule.shift, rule.scale, self.size
        )

    def relax(self, beta, max_sweeps=HEATING_SWEEPS):
        """Mean-field sweeps until the mean change of a row is below 2e-4.

        Stored fields are cheap once few rows move; as long as many do, a quadratic model computes them on the way.
        """
        blocked = self.rule.kind == kernels.QUADRATIC and not self.sparse
        stored = True
        if self.rule.floor > 0.0:
            np.maximum(self.Q, self.rule.floor, out=self.Q)  # rows that do not move are left as they are
            self.refresh()
        for _ in range(max_sweeps):
            moved = self.sweep(kernels.MEANFIELD, beta, SKIP) if stored else self.fresh_sweep(beta)
            if stored:
                stored = not (blocked and moved > SETTLED)
            elif moved < SETTLED:
                stored = True
                self.refresh()
            if moved < TOLERANCE:
                break
            if self.rule.kind != kernels.QUADRATIC:
                self.refresh()  # the books of normalised costs must not drift: their clusters may be tiny
        return moved

    def potentials(self, beta):
        """Potentials (N, K) of the present state; nothing moves."""
        self.refresh()
        h = np.zeros((self.n_objects, self.n_clusters))
        self.sweep(kernels.MEANFIELD, beta, np.inf, h)
        return h

    def sample(self, mode, beta, n_sweeps):
        """Potentials (N, K) averaged over `n_sweeps` sweeps of the sampler, after a third as many to settle."""
        for _ in range(max(n_sweeps // 3, 1)):
            self.sweep(mode, beta)
        h = np.zeros((self.n_objects, self.n_clusters))
        for _ in range(n_sweeps):
            self.sweep(mode, beta, 0.0, h)
        return h / n_sweeps

    def labels(self):
        return self.Q.argmax(axis=1 if self.sparse else 0)

    def descend(self, beta, max_sweeps=100):
        """Zero-temperature Gibbs sweeps until no object moves; ties are drawn."""
        for _ in range(max_sweeps):
            if self.sweep(kernels.GIBBS, beta) == 0.0:
                break
            if self.rule.kind != kernels.QUADRATIC:
                self.refresh()


def softmax(scores):
    """Rows of exp(scores), normalised; overwrites `scores`."""
    scores -= scores.max(axis=1, keepdims=True)
    np.exp(scores, out=scores)
    scores /= scores.sum(axis=1, keepdims=True)
    return scores


def top_eigenvalue(X, add=None, sign=1.0):
    """Largest eigenvalue of `sign` times the symmetric matrix X without its diagonal, plus the operator `add`.

    Parameters
    ----------
    X : ndarray or sparse array, shape (N, N)
    add : callable (v -> vector) or None
    sign : float

    Returns
    -------
    float
        0 for a matrix of zeros or a single object, and where the value is rounding: below 1e-6 of the size of X.
    """
    entries = X.data if scipy.sparse.issparse(X) else X.ravel()
    # In double precision, piece by piece: the squares of single precision overflow at 1e19 and vanish at 1e-23.
    pieces = np.array_split(entries, entries.size // 2**16 + 1)
    size = float(np.linalg.norm([np.linalg.norm(piece.astype(np.float64)) for piece in pieces]))
    if size == 0.0:
        return 0.0
    value = _top_eigenvalue(X, add, sign)
    return value if value > 1e-6 * size else min(value, 0.0)


def _top_eigenvalue(X, add, sign):
    n_objects, diagonal = X.shape[0], X.diagonal().astype(np.float64)

    def product(v):
        v = np.asarray(v, np.float64).ravel()
        result = sign * ((X @ v.astype(X.dtype)).astype(np.float64) - diagonal * v)
        return result if add is None else result + add(v)

    if n_objects < 50:
        matrix = np.array([product(row) for row in np.eye(n_objects)])
        return float(np.linalg.eigvalsh((matrix + matrix.T) / 2)[-1])
    operator = LinearOperator((n_objects, n_objects), matvec=product, dtype=np.float64)
    start = np.random.default_rng(0).standard_normal(n_objects)
    return float(eigsh(operator, k=1, which="LA", v0=start, tol=1e-4, return_eigenvectors=False)[0])


def centring(sums):
    """The operator (u = ones): (v -> (I - uu'/N) X (I - uu'/N) v - X v), for a matrix X with row sums `sums`."""
    n_objects, total = len(sums), sums.sum()
    return lambda v: (total / n_objects**2 * v.sum() - sums @ v / n_objects) - sums * (v.sum() / n_objects)


def temperature_unit(numerator, eigenvalue):
    """`numerator / eigenvalue`, or 1 where nothing can order: one object, equal objects, a zero matrix."""
    return numerator / eigenvalue if eigenvalue > 0 else 1.0


class SimilarityInput:
    """Mixin of estimators whose data are a similarity matrix, dense or sparse.

    `capacity_entropy` says where a capacity takes its entropy (see `Trajectory`); "same" also means that there is no
    cost function, so that final labels are compared by `capacity.hamming_capacity`.
    """

    capacity_entropy = "final"

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = True
        tags.input_tags.sparse = True
        return tags


class SimilarityClustering(SimilarityInput, ClusterMixin, BaseEstimator):
    """Base of the estimators that cluster a similarity matrix; a subclass says what its cost is.

    A subclass gives `_rule()` (a `Rule`), `_cost(links, diagonal, size, constant)`, and where they differ from the
    quadratic models' `_weights(X)`, `_unit(X)`, `_constant(X)` and `_starts(...)`.
    """

    def __init__(self, n_clusters=2, inference="meanfield", n_init=3, n_sweeps=120, random_state=None):
        self.n_clusters = n_clusters
        self.inference = inference
        self.n_init = n_init
        self.n_sweeps = n_sweeps
        self.random_state = random_state

    def _weights(self, X):
        return np.ones(X.shape[0])

    def _constant(self, X):
        self._rule()  # `cost` refuses what `anneal` refuses
        self._weights(X)
        return 0.0

    def _check(self, X):
        X = check_similarity("X", X)
        check_n_clusters(self.n_clusters, X.shape[0])
        check_option("inference", self.inference, INFERENCES)
        check_integer("n_init", self.n_init)
        check_integer("n_sweeps", self.n_sweeps)
        return X

    def cost(self, labels, X):
        """Exact cost of a hard labelling; needs no fit, and an empty cluster costs nothing.

        Parameters
        ----------
        labels : array_like of int, shape (N,)
            Values in 0..n_clusters-1.
        X : array_like or sparse matrix, shape (N, N)

        Returns
        -------
        float

        Raises
        ------
        ValueError
            X is no symmetric finite square matrix, or `labels` has another length or values outside 0..K-1.
        """
        X = check_similarity("X", X, np.float64 if getattr(X, "dtype", None) != np.float32 else np.float32)
        check_n_clusters(self.n_clusters, X.shape[0])
        labels = check_labels("labels", labels, X.shape[0], self.n_clusters)
        return self._labels_cost(labels, X, self._constant(X))

    def _labels_cost(self, labels, X, constant):
        n_clusters = int(self.n_clusters)  # the square of one of NumPy's small integers would overflow
        if scipy.sparse.issparse(X):
            rows, columns = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr)), X.indices
            values, inside = X.data.astype(np.float64), rows != columns
            pairs = labels[rows] * n_clusters + labels[columns]
            links = np.bincount(pairs[inside], values[inside], n_clusters**2).reshape(n_clusters, n_clusters)
            diagonal = np.bincount(labels, X.diagonal().astype(np.float64), n_clusters)
        else:
            links, diagonal = kernels.cluster_links(X, labels, n_clusters)
        size = np.bincount(labels, minlength=n_clusters).astype(np.float64)
        return float(self._cost(links, diagonal, size, constant))

    def _cool(self, X, unit, rng, start, rule=None):
        """Labels of one start, cooled to zero temperature."""
        state = State(X, rule or self._rule(), self._weights(X), self.n_clusters, rng)
        labels, first = start
        state.start_labels(labels)
        for step in COOLING[COOLING >= first]:
            for _ in range(COOLING_SWEEPS):
                if state.sweep(kernels.GIBBS, step * unit) == 0.0:
                    break
            if state.rule.kind != kernels.QUADRATIC:
                state.refresh()
        if state.rule.kind == kernels.QUADRATIC:  # the others were refreshed at the start or after their last step
            state.refresh()
        state.descend(1e9 * unit)
        return state.labels()

    def _starts(self, X, rng):
        """(labels, first cooling step in units) of every restart."""
        return [(rng.integers(self.n_clusters, size=X.shape[0]), 0.0) for _ in range(self.n_init)]

    def anneal(self, X, betas=None, init=None):
        """Anneal on X and return the run.

        Parameters
        ----------
        X : array_like or scipy.sparse matrix, shape (N, N)
            Symmetric similarities; a sparse matrix is never made dense. X is not written to.
        betas : array_like, shape (T,), or None
            Ascending inverse temperatures; None takes .8 to 20 units in 25 steps.
        init : Trajectory or None
            At every beta start from its assignment probabilities instead of the cooled solution (paired starts).

        Returns
        -------
        Trajectory
            float32 probabilities and potentials.

        Raises
        ------
        ValueError
            X not square, symmetric (1e-6 relative), finite; n_clusters not in 1..N; unknown inference; betas not
            ascending and positive; init of another shape.
        """
        given, X = X, self._check(X)
        unit = self._unit(X)
        betas = beta_grid(unit, 0.8, 20, 25) if betas is None else check_betas(betas)
        init = check_start(init, betas, X.shape[0], self.n_clusters)
        seeds = np.random.SeedSequence(check_seed(self.random_state)).spawn(self.n_init + 2)
        rng, constant = np.random.default_rng(seeds[-1]), self._constant(X)
        state = State(X, self._rule(), self._weights(X), self.n_clusters, rng)
        if init is None:
            starts = self._starts(X, np.random.default_rng(seeds[-2]))
            ends = [
                self._cool(X, unit, np.random.default_rng(seed), start)
                for seed, start in zip(seeds, starts, strict=False)
            ]
            state.start_labels(min(ends, key=lambda labels: self._labels_cost(labels, X, constant)))
        return signed(self._heat(state, betas, unit, init, constant), self, given)

    def _heat(self, state, betas, unit, init, constant):
        mode = MODES[self.inference]
        shape = (len(betas), state.n_objects, state.n_clusters)
        probabilities, potentials = np.empty(shape, np.float32), np.empty(shape, np.float32)
        costs, known = np.empty(len(betas)), (None, 0.0)
        for t in range(len(betas) - 1, -1, -1):
            if init is not None:
                start = init.probabilities[t]
                state.start(start) if mode == kernels.MEANFIELD else state.start_labels(start.argmax(axis=1))
            if mode == kernels.MEANFIELD:
                state.relax(betas[t])
                h = state.potentials(betas[t])
            else:
                h = state.sample(mode, betas[t], self.n_sweeps)
            h -= h.min(axis=1, keepdims=True)  # only differences matter, and small numbers keep their digits
            potentials[t] = h
            probabilities[t] = softmax(-betas[t] * h)
            labels = probabilities[t].argmax(axis=1)
            if known[0] is None or (labels != known[0]).any():
                known = labels, self._labels_cost(labels, state.X, constant)
            costs[t] = known[1]
        return Trajectory(betas, probabilities, potentials, costs, None, unit)

    def fit(self, X, y=None):
        """Anneal on X; `labels_` are the hard labels at the coldest step, `trajectory_` is the run.

        Parameters
        ----------
        X : array_like or scipy.sparse matrix, shape (N, N)
        y : ignored

        Returns
        -------
        self
        """
        self.trajectory_ = self.anneal(X)
        self.labels_ = self.trajectory_.labels(-1)
        self.n_features_in_ = self.trajectory_.n_objects
        return self
