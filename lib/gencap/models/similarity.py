"""What all models on similarity matrices share: one state, one way to cool and one way to heat.

**Cool, then heat.** A few random starts are cooled on a coarse grid by Gibbs sampling and end in a zero-temperature
descent.  One more start comes from the leading eigenvectors: a single temperature unit is that of the widest or
strongest cluster, and others freeze before the cooling begins.  Where the best start ended, clusters are merged, parted
and their halves moved as long as the exact cost falls.  From there the fine grid is swept from cold to hot, and the
assignment probabilities are read off that branch.  Cooling alone gets stuck: the transition into the ordered state is
of first order, and a run that is cooled through it may keep two of the true clusters merged far below the temperature
where they should part.

**Units.** Similarity models order first at an inverse temperature set by the top eigenvalue of their matrix
(`unit`); the default grid is .8 to 20 of it in 25 steps.
"""

import copy
import warnings
from dataclasses import dataclass

import numpy as np
import scipy.sparse
from scipy.cluster.vq import kmeans2
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.exceptions import ConvergenceWarning

from ..checks import (
    centred_similarity,
    check_integer,
    check_labels,
    check_n_clusters,
    check_option,
    check_seed,
    check_similarity,
)
from ..kernels import similarity as kernels
from ..resources import one_thread
from ..trajectory import Trajectory, beta_grid, check_betas, check_start, signed, softmax
from .spectrum import leading_vectors

INFERENCES = ("meanfield", "gibbs", "metropolis")
MODES = {"meanfield": kernels.MEANFIELD, "gibbs": kernels.GIBBS, "metropolis": kernels.METROPOLIS}
COOLING = np.geomspace(0.9, 6, 10)  # units; a random start needs to be cooled only from just above the transition
COOLING_SWEEPS = 12
HEATING_SWEEPS = 1000  # few temperatures need more than 20, and late sweeps are cheap: few rows move
COLD, TIED = 10, 4e-3  # units; difference of two potentials times beta that is within the tolerance of the sweeps
MORE = 4  # embedded starts where one start alone was best by far
FEW, REHEATED, WARM = 300, 4, 1.5  # objects up to which a solution that one start alone found is cooled again, how
# often, and from where (units)
DISAGREEMENT = 0.05  # of the cost; see `RestartWarning`
TRIED = 3  # moves of halves of clusters before the search gives up
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
        self.degree, self.n_sweeps = None, 0

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
        self.count = Q.sum(axis=1, dtype=np.float64)
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
                rule.use_diagonal, self.size, self.count, self.links, total, self.rng)  # fmt: skip
        self.n_sweeps += skip < np.inf
        if self.sparse:
            X = self.X
            return kernels.sparse_sweep(X.indptr, X.indices, X.data, self.Q, *rest)
        return kernels.incremental_sweep(self.X, self.diagonal, self.Q, self.F, *rest)

    def fresh_sweep(self, beta):
        """One blocked mean-field sweep of a quadratic model on a dense matrix; returns the mean change of a row."""
        rule, order = self.rule, self.rng.permutation(self.n_objects)
        self.n_sweeps += 1
        if self.degree is None:
            self.degree = self.X.sum(axis=1, dtype=np.float64)
        return kernels.fresh_sweep(
            self.X, self.diagonal, self.degree, self.padded, order, beta, rule.shift, rule.scale, self.size
        )

    def relax(self, beta, max_sweeps):
        """Mean-field sweeps until the mean change of a row is below 2e-4.

        Stored fields are cheap once few rows move; as long as many do, a quadratic model computes them on the way, and
        the books of the others are made afresh.
        """
        drift = 0.0
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
            drift += moved
            if drift > SETTLED:
                self.refresh_books()
                drift = 0.0
        return moved

    def refresh_books(self):
        """The books of normalised costs must not drift: their clusters may be tiny, or of tiny weights."""
        if self.rule.kind != kernels.QUADRATIC:
            self.refresh()

    def potentials(self, beta):
        """Potentials (N, K) of the present state; nothing moves."""
        self.refresh()
        h = np.zeros((self.n_objects, self.n_clusters))
        self.sweep(kernels.MEANFIELD, beta, np.inf, h)
        return h

    def sample(self, mode, beta, n_sweeps):
        """Potentials (N, K) averaged over `n_sweeps` sweeps of the sampler, after a third as many to settle."""
        h = np.zeros((self.n_objects, self.n_clusters))
        for sweep in range(-max(n_sweeps // 3, 1), n_sweeps):
            self.sweep(mode, beta, 0.0, h if sweep >= 0 else None)
            self.refresh_books()
        return h / n_sweeps

    def labels(self):
        return self.Q.argmax(axis=1 if self.sparse else 0)

    def descend(self, beta, max_sweeps=100):
        """Zero-temperature Gibbs sweeps until no object moves.

        Ties are drawn, so objects with two best clusters go on moving; what is left to gain is taken up, and reported,
        at the coldest temperature of the fine grid.
        """
        for _ in range(max_sweeps):
            if self.sweep(kernels.GIBBS, beta) == 0.0:
                break
            self.refresh_books()


def _sums(labels, X, n_clusters):
    """Links between clusters (K, K) without the diagonal, sums of the diagonal (K,) and sizes (K,)."""
    if scipy.sparse.issparse(X):
        rows, columns = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr)), X.indices
        values, inside = X.data.astype(np.float64), rows != columns
        pairs = labels[rows] * n_clusters + labels[columns]
        links = np.bincount(pairs[inside], values[inside], n_clusters**2).reshape(n_clusters, n_clusters)
        diagonal = np.bincount(labels, X.diagonal().astype(np.float64), n_clusters)
    else:
        links, diagonal = kernels.cluster_links(X, labels, n_clusters)
    return links, diagonal, np.bincount(labels, minlength=n_clusters).astype(np.float64)


class RestartWarning(UserWarning):
    """The search was led to clearly different costs by its best starts: more of them might find a lower one.

    Given once per call of `anneal` or `fit` of a model on similarities: when one start alone ended within 5 percent of
    the lowest cost, and neither merging and parting the clusters of the next best nor more embedded starts led there.
    """


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
    quadratic models' `_weights(X)`, `_unit(X)`, `_constant(X)`, `_starts(...)` and `_quadratic_form(X)`. `_cost` takes
    stacks of sums as well: links (..., K, K), diagonal and size (..., K). All of them see the matrix as `_prepared`
    leaves it: in single precision, without the diagonal unless the cost counts it, and where a constant in all
    similarities would cost them their digits and the model can count it by itself (`_centred`), without that constant,
    `_offset`.
    """

    _use_diagonal = _centred = False
    _offset = 0.0

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

    def _prepared(self, X):
        """A copy of the model that knows what was taken off X, and X as the sweeps take it."""
        model = copy.copy(self)
        if self._centred:
            X, model._offset = centred_similarity("X", X, self._use_diagonal)
        else:
            X = check_similarity("X", X, use_diagonal=self._use_diagonal)
        check_n_clusters(self.n_clusters, X.shape[0])
        check_option("inference", self.inference, INFERENCES)
        check_integer("n_init", self.n_init)
        check_integer("n_sweeps", self.n_sweeps)
        return model, X

    def unit(self, X):
        """Inverse temperature at which the clusters of X (N, N) begin to differ: the unit of the default grid."""
        model, X = self._prepared(X)
        return model._unit(X)

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
        dtype = np.float32 if getattr(X, "dtype", None) == np.float32 else np.float64
        X = check_similarity("X", X, dtype, self._use_diagonal)
        check_n_clusters(self.n_clusters, X.shape[0])
        labels = check_labels("labels", labels, X.shape[0], self.n_clusters)
        return self._labels_cost(labels, X, self._constant(X))

    def _labels_cost(self, labels, X, constant):
        # The square of one of NumPy's small integers would overflow.
        return float(self._cost(*_sums(labels, X, int(self.n_clusters)), constant))

    def _descend(self, X, labels, unit, rng, rule=None, weights=None, n_clusters=None):
        """Labels after single moves until none lowers the cost."""
        weights = self._weights(X) if weights is None else weights
        state = State(X, rule or self._rule(), weights, n_clusters or self.n_clusters, rng)
        state.start_labels(labels)
        state.descend(1e9 * unit)
        return state.labels()

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
        """(labels, first cooling step in units) of every start, the random ones first."""
        return [(rng.integers(self.n_clusters, size=X.shape[0]), 0.0) for _ in range(self.n_init)]

    def _quadratic_form(self, X):
        """Rule, weights (N,) and diagonal (N,) of the quadratic or association cost nearest to the model's."""
        return self._rule(), self._weights(X), X.diagonal() if self._rule().use_diagonal else np.zeros(X.shape[0])

    def _embedded_start(self, X, constant, rng):
        """Labels by k-means on the leading vectors; of a few tries those of lowest cost."""
        rule, weights, diagonal = self._quadratic_form(X)
        # What normalised costs look for may lie close together at the end of the spectrum.
        dimension, n_tries = (60, 2) if rule.kind == kernels.QUADRATIC else (120, 10)
        vectors = leading_vectors(X, weights, diagonal, np.sign(rule.scale), self.n_clusters, dimension, rng)
        tries = []
        for _ in range(n_tries):
            with warnings.catch_warnings():  # equal objects leave clusters empty
                warnings.simplefilter("ignore")
                labels = kmeans2(vectors, self.n_clusters, minit="++", seed=rng)[1].astype(np.int64)
            if len(np.unique(labels)) < self.n_clusters:
                labels[rng.permutation(len(labels))[: self.n_clusters]] = np.arange(self.n_clusters)
            tries.append(labels)
        return min(tries, key=lambda labels: self._labels_cost(labels, X, constant))

    def _halves(self, X, labels, form, unit, rng, known):
        """Fine labels (N,): the objects of cluster k have 2k or 2k + 1, its halves; `known` remembers them."""
        rule, weights, diagonal = form
        fine = 2 * labels
        for k in range(self.n_clusters):
            members = np.flatnonzero(labels == k)
            if len(members) < 2:
                continue
            if (key := members.tobytes()) not in known:
                if scipy.sparse.issparse(X):
                    inside = X[members][:, members].tolil()
                    inside.setdiag(diagonal[members])
                    inside = inside.tocsr()
                else:
                    inside = X[np.ix_(members, members)]
                    np.fill_diagonal(inside, diagonal[members])
                own = weights[members]
                vector = leading_vectors(inside, own, diagonal[members], np.sign(rule.scale), 1, 0, rng)[:, 0]
                half = (vector > min(0.0, vector.max())).astype(np.int64)
                half[vector.argmax()] = 1
                known[key] = self._descend(inside, half, unit, rng, rule, own, 2)
            fine[members] += known[key]
        return fine

    def _moves(self, sums, constant, may_empty):
        """Regroupings of the halves, (M, 2K) clusters 0..K-1 of the halves, those of lowest predicted cost first."""
        n_clusters, n_halves = self.n_clusters, 2 * self.n_clusters
        links, diagonal, size = sums
        base, halves = np.arange(n_halves) // 2, np.arange(n_halves)

        def rise(groups, offered=n_clusters):
            Z = np.eye(offered)[groups]
            turned = np.swapaxes(Z, -1, -2)
            return self._cost(turned @ links @ Z, turned @ diagonal, turned @ size, constant) - before

        before = 0.0
        before = rise(base)
        parted, merged = np.full(n_clusters, np.inf), np.full((n_clusters, n_clusters), np.inf)
        shifted = np.full((n_halves, n_clusters), np.inf)
        whole = size.reshape(-1, 2).min(axis=1) > 0  # clusters with two halves
        for k in range(n_clusters):
            if whole[k]:
                parted[k] = rise(np.where(halves == 2 * k + 1, n_clusters, base), n_clusters + 1)
                others = np.delete(np.arange(n_clusters), k)
                for h in (2 * k, 2 * k + 1):
                    shifted[h, others] = rise(np.where(halves == h, others[:, None], base))
            merged[k, :k] = rise(np.where(base == k, np.arange(k)[:, None], base))
        both = merged[:, :, None] + parted
        both[np.arange(n_clusters), :, np.arange(n_clusters)] = np.inf
        both[:, np.arange(n_clusters), np.arange(n_clusters)] = np.inf
        if not may_empty:
            merged[:] = np.inf
        kinds = np.concatenate([shifted.ravel(), merged.ravel(), both.ravel()])
        for move in np.argsort(kinds, kind="stable")[:TRIED]:
            if kinds[move] == np.inf:
                return
            if move < shifted.size:
                h, v = np.unravel_index(move, shifted.shape)
                yield np.where(halves == h, v, base)
            elif move < shifted.size + merged.size:
                k, v = np.unravel_index(move - shifted.size, merged.shape)
                yield np.where(base == k, v, base)
            else:
                k, v, u = np.unravel_index(move - shifted.size - merged.size, both.shape)
                yield np.where(base == k, v, np.where(halves == 2 * u + 1, k, base))

    def _rearranged(self, X, labels, cost, unit, constant, rng):
        """Labels and cost after moves of whole halves of clusters, as long as the cost falls.

        Every cluster is cut in two along its leading vector. What it costs to move one of the halves, to merge two
        clusters, or to merge two and part a third one follows from the links between the halves; the best of these
        moves are tried, each followed by single moves. No temperature, and so no scale, is involved.
        """
        form, known, may_empty = self._quadratic_form(X), {}, self._rule().floor == 0
        improved = self.n_clusters > 1
        while improved:
            improved, fine = False, self._halves(X, labels, form, unit, rng, known)
            for groups in self._moves(_sums(fine, X, 2 * self.n_clusters), constant, may_empty):
                other = self._descend(X, groups[fine], unit, rng)
                value = self._labels_cost(other, X, constant)
                if value < cost - 1e-6 * abs(cost):
                    labels, cost, improved = other, value, True
                    break
        return labels, cost

    def anneal(self, X, betas=None, init=None):
        """Anneal on X and return the run.

        Parameters
        ----------
        X : array_like or scipy.sparse matrix, shape (N, N)
            Symmetric similarities; a sparse matrix is never made dense. X is not written to. A C-contiguous float32
            matrix with a zero diagonal is used as it is, any other is copied once (N^2 x 4 bytes).
        betas : array_like, shape (T,), or None
            Ascending inverse temperatures; None takes .8 to 20 units in 25 steps.
        init : Trajectory or None
            At every beta start from its assignment probabilities instead of the cooled solution (paired starts).

        Returns
        -------
        Trajectory
            float32 probabilities and potentials; `start_costs` says where the starts of the search ended. Where
            clusters are one at the coldest step (of at least 10 units), the labels are those of the lowest cost found.

        Warns
        -----
        RestartWarning
            The best ways of the search ended at clearly different costs.

        Raises
        ------
        ValueError
            X not square, symmetric (1e-6 relative), finite, or its entries too close to each other for their
            precision; n_clusters not in 1..N; unknown inference; betas not ascending and positive; init of another
            shape.
        """
        model, prepared = self._prepared(X)
        with one_thread():
            run = model._anneal(prepared, betas, init)
        return signed(run, self, X)

    def _anneal(self, X, betas, init):
        unit = self._unit(X)
        betas = beta_grid(unit, 0.8, 20, 25) if betas is None else check_betas(betas)
        init = check_start(init, betas, X.shape[0], self.n_clusters)
        sequence = np.random.SeedSequence(check_seed(self.random_state))
        seeds = sequence.spawn(self.n_init + 2)
        rng, constant = np.random.default_rng(seeds[-1]), self._constant(X)
        state = State(X, self._rule(), self._weights(X), self.n_clusters, rng)
        cold = start_costs = None
        if init is None:
            starts = self._starts(X, np.random.default_rng(seeds[-2]))
            seeds = seeds[: self.n_init] + sequence.spawn(len(starts) - self.n_init)
            cold, start_costs = self._search(X, unit, constant, starts, seeds, sequence.spawn(1)[0])
            state.start_labels(cold)
        run = self._heat(state, betas, unit, init, constant, cold)
        run.start_costs = start_costs
        return run

    def _search(self, X, unit, constant, starts, seeds, seed):
        """Labels of the lowest cost found; the costs at which every start ended, and last that lowest one."""
        rng = np.random.default_rng(seed)
        ends = [
            self._cool(X, unit, np.random.default_rng(seed), start) for seed, start in zip(seeds, starts, strict=True)
        ]
        if self.n_clusters > 1:
            ends.append(self._descend(X, self._embedded_start(X, constant, rng), unit, rng))
        costs = np.array([self._labels_cost(labels, X, constant) for labels in ends])
        first, *others = np.argsort(costs, kind="stable")
        found = [self._rearranged(X, ends[first], costs[first], unit, constant, rng)]
        by_lot = self._labels_cost(starts[0][0], X, constant)
        clear = DISAGREEMENT * max(abs(found[0][1]), DISAGREEMENT * (by_lot - found[0][1]))
        if others and costs[others[0]] > found[0][1] + clear:  # one start alone: do other ways lead there, or lower?
            found.append(self._rearranged(X, ends[others[0]], costs[others[0]], unit, constant, rng))
            for _ in range(MORE):
                labels = self._descend(X, self._embedded_start(X, constant, rng), unit, rng)
                found.append(self._rearranged(X, labels, self._labels_cost(labels, X, constant), unit, constant, rng))
            found.sort(key=lambda way: way[1])
            if found[1][1] > found[0][1] + clear:
                warnings.warn(
                    f"the best ways of the search ended at the costs {found[0][1]:.6g} and {found[1][1]:.6g}: a lower "
                    f"one may have been missed; more starts than n_init={self.n_init} may find it",
                    RestartWarning,
                    stacklevel=4,
                )
        labels, cost = found[0]
        alone = others and costs[others[0]] > cost + 1e-3 * clear
        if alone and X.shape[0] <= FEW:
            # A glass: what is warmed up again just above the freezing ends lower than a new start does.
            for _ in range(REHEATED):
                again = self._cool(X, unit, rng, (labels, WARM))
                if (value := self._labels_cost(again, X, constant)) < cost - 1e-6 * abs(cost):
                    labels, cost = again, value
            labels, cost = self._rearranged(X, labels, cost, unit, constant, rng)
        return labels, np.append(costs, cost)

    def _heat(self, state, betas, unit, init, constant, cold=None):
        mode = MODES[self.inference]
        shape = (len(betas), state.n_objects, state.n_clusters)
        probabilities, potentials = np.empty(shape, np.float32), np.empty(shape, np.float32)
        costs, known, converged = np.empty(len(betas)), (None, 0.0), np.ones(len(betas), bool)
        for t in range(len(betas) - 1, -1, -1):
            if init is not None:
                start = init.probabilities[t]
                state.start(start) if mode == kernels.MEANFIELD else state.start_labels(start.argmax(axis=1))
            if mode == kernels.MEANFIELD:
                converged[t] = state.relax(betas[t], HEATING_SWEEPS) < TOLERANCE
                h = state.potentials(betas[t])
            else:
                h = state.sample(mode, betas[t], self.n_sweeps)
            h -= h.min(axis=1, keepdims=True)  # only differences matter, and small numbers keep their digits
            probabilities[t] = softmax(-betas[t] * h)
            labels = probabilities[t].argmax(axis=1)
            if cold is not None and t == len(betas) - 1 and betas[t] >= COLD * unit:
                # Which of two clusters that are one at this temperature is the more probable is rounding; the cold
                # solution decides it.
                tied = np.flatnonzero((labels != cold) & (betas[t] * h[np.arange(len(h)), cold] <= TIED))
                h[tied, cold[tied]] = -TIED / betas[t]
                h -= h.min(axis=1, keepdims=True)
                probabilities[t, tied] = softmax(-betas[t] * h[tied])
                labels[tied] = cold[tied]
            potentials[t] = h
            if known[0] is None or (labels != known[0]).any():
                known = labels, self._labels_cost(labels, state.X, constant)
            costs[t] = known[1]
        if not converged.all():
            warnings.warn(
                f"mean field did not settle at {np.count_nonzero(~converged)} of {len(betas)} temperatures within "
                f"{HEATING_SWEEPS} sweeps (Trajectory.converged says at which): close to a transition their "
                "probabilities are not those of a fixed point; leave these betas out, or sample with "
                "inference='gibbs'",
                ConvergenceWarning,
                stacklevel=4,
            )
        return Trajectory(betas, probabilities, potentials, costs, None, unit, converged, state.n_sweeps)

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
        self.n_iter_ = self.trajectory_.n_iter
        self.n_features_in_ = self.trajectory_.n_objects
        return self
