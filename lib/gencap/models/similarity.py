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
from functools import cached_property
from typing import NamedTuple

import numpy as np
import scipy.sparse
from scipy.cluster.vq import kmeans2

from .. import checks
from ..kernels import similarity as kernels
from ..trajectory import Trajectory, beta_grid, check_betas, check_start, softmax
from .base import ClusteringModel, follow, warn_caller
from .spectrum import degrees, leading_vectors

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
NOTHING = np.empty((0, 0))  # no potentials wanted of a sweep
DRAWS = {kernels.MEANFIELD: 0, kernels.GIBBS: 1, kernels.METROPOLIS: 2}  # random numbers that a row asks for
SETTLED, TOLERANCE, SKIP = 0.003, 2e-4, 1e-3  # mean changes of a row's probabilities; see `State.relax`


class Rule(NamedTuple):
    """How a model turns fields into potentials; the arguments of the sweep kernels, in their order."""

    kind: int
    shift: float = 0.0
    p: float = 2.0
    scale: float = 1.0
    floor: float = 0.0


class State:
    """Assignment probabilities of one run on one matrix, with the fields and books that the kernels keep."""

    def __init__(self, X, rule, weights, n_clusters, rng):
        self.X, self.rule, self.weights, self.n_clusters, self.rng = X, rule, weights, n_clusters, rng
        self.sparse = scipy.sparse.issparse(X)
        self.n_objects = X.shape[0]
        self.diagonal = X.diagonal().astype(np.float64)
        self.n_sweeps, self.drift = 0, 0.0

    @cached_property
    def degree(self):
        return degrees(self.X)

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
        Q, self.drift = self.Q.T if self.sparse else self.Q, 0.0
        self.count, Q = Q.sum(axis=1, dtype=np.float64), Q.astype(np.float64)
        self.size = Q @ self.weights
        if self.sparse:
            self.F = (self.X @ self.Q).T
        else:
            self.F = np.empty_like(self.Q)
            kernels.fill_fields(self.X, self.padded, self.F)
        self.links = NOTHING if self.rule.kind == kernels.QUADRATIC else Q @ self.F.T.astype(np.float64)

    def sweep(self, mode, beta, skip=0.0, total=NOTHING):
        """One sweep in random order; returns the mean change of a row."""
        (kind, *numbers), order = self.rule, self.rng.permutation(self.n_objects)
        books = self.weights, self.size, self.count, self.links
        draws = self.rng.random(DRAWS[mode] * self.n_objects)
        rest = order, kind, mode, beta, *numbers, skip, *books, total, draws
        self.n_sweeps += skip < np.inf
        if self.sparse:
            X = self.X
            return kernels.sparse_sweep(X.indptr, X.indices, X.data, self.Q, *rest)
        return kernels.incremental_sweep(self.X, self.diagonal, self.Q, self.F, *rest)

    def fresh_sweep(self, beta):
        """One blocked mean-field sweep of a quadratic model on a dense matrix; returns the mean change of a row."""
        rule, order = self.rule, self.rng.permutation(self.n_objects)
        self.n_sweeps += 1
        return kernels.fresh_sweep(self.X, self.degree, self.padded, order, beta, rule.shift, rule.scale, self.size)

    def relax(self, beta, max_sweeps):
        """Mean-field sweeps until the mean change of a row is below 2e-4.

        Stored fields are cheap once few rows move; as long as many do, a quadratic model computes them on the way, and
        the books of the others are made afresh.
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
            self.refresh_books(moved, SETTLED)
        return moved

    def refresh_books(self, moved, most=0.0):
        """The books of normalised costs must not drift: their clusters may be tiny, or of tiny weights."""
        self.drift += moved
        if self.rule.kind != kernels.QUADRATIC and self.drift > most:
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
            self.refresh_books(self.sweep(mode, beta, 0.0, h if sweep >= 0 else NOTHING))
        return h / n_sweeps

    def labels(self):
        return self.Q.argmax(axis=1 if self.sparse else 0)

    def descend(self, beta, max_sweeps=100):
        """Zero-temperature Gibbs sweeps until no object moves; returns the labels.

        Ties are drawn, so objects with two best clusters go on moving; what is left to gain is taken up, and reported,
        at the coldest temperature of the fine grid.
        """
        for _ in range(max_sweeps):
            if (moved := self.sweep(kernels.GIBBS, beta)) == 0.0:
                break
            self.refresh_books(moved)
        return self.labels()


def sums_of_links(labels, X, n_clusters):
    """Links between clusters (K, K), self-similarities included, and sizes (K,)."""
    if scipy.sparse.issparse(X):
        pairs = np.repeat(labels * n_clusters, np.diff(X.indptr)) + labels[X.indices]
        links = np.bincount(pairs, X.data.astype(np.float64), n_clusters**2).reshape(n_clusters, n_clusters)
    else:
        links = kernels.cluster_links(X, labels, n_clusters)
    return links, np.bincount(labels, minlength=n_clusters).astype(np.float64)


class RestartWarning(UserWarning):
    """The search was led to clearly different costs by its best starts: more of them might find a lower one.

    Given once per call of `anneal` or `fit` of a model on similarities: when one start alone ended within 5 percent of
    the lowest cost, and neither merging and parting the clusters of the next best nor more embedded starts led there.
    """


class SimilarityClustering(ClusteringModel):
    """Base of the estimators that cluster a similarity matrix; a subclass says what its cost is.

    A subclass gives `_rule()` (a `Rule`), `_cost(links, size, constant)`, and where they differ from the quadratic
    models' `_weights(X)`, `_unit(X)`, `_constant(X)`, `_starts(...)` and `_quadratic_form(X)`. `_cost` takes stacks of
    sums as well: links (..., K, K) and size (..., K). All of them see the matrix as `_prepared` leaves it: in single
    precision, without the diagonal unless the cost counts it, and where a constant in all similarities would cost them
    their digits and the model can count it by itself (`_centred`), without that constant, `_offset`.

    Parameters
    ----------
    n_clusters : int
        Number of clusters K offered.
    inference : {"meanfield", "gibbs", "metropolis"}
        How the probabilities on the fine grid are computed; cooling is always Gibbs.
    n_init : int
        Random starts that are cooled.
    n_sweeps : int
        Sweeps that the samplers average over at every temperature (not used by mean field).
    random_state : int, Generator, RandomState or None

    Attributes
    ----------
    labels_, trajectory_, n_iter_, n_features_in_, feature_names_in_
        See `ClusteringModel`.

    Warns
    -----
    RestartWarning
        From `anneal` and `fit`: the best ways of the search ended at clearly different costs.

    Notes
    -----
    The default grid is .8 to 20 units in 25 steps; `Trajectory.start_costs` says where the starts of the search ended.
    Probabilities and potentials are kept in single precision. Where clusters are one at the coldest step (at 10 units
    or more), the labels are those of the lowest cost found.

    Examples
    --------
    >>> import gencap as gc
    >>> [issubclass(model, gc.SimilarityClustering) for model in (gc.MinCut, gc.AnnealedKMeans)]
    [True, False]
    """

    _pairwise = _heats = True
    _use_diagonal = _centred = False
    _offset = 0.0

    def __init__(self, n_clusters=2, inference="meanfield", n_init=3, n_sweeps=120, random_state=None):
        self.n_clusters, self.inference, self.n_init = n_clusters, inference, n_init
        self.n_sweeps, self.random_state = n_sweeps, random_state

    def _weights(self, X):
        return np.ones(X.shape[0])

    def _constant(self, X):
        self._rule()  # `cost` refuses what `anneal` refuses
        self._weights(X)
        return 0.0

    def _prepared(self, X):
        """A copy of the model that knows what was taken off X, and X as the sweeps take it."""
        model = copy.copy(self)
        X, model._offset = checks.centred_similarity("X", X, self._use_diagonal, centre=self._centred)
        checks.check_n_clusters(self.n_clusters, X.shape[0])
        checks.check_option("inference", self.inference, tuple(MODES))
        checks.check_integer("n_init", self.n_init)
        checks.check_integer("n_sweeps", self.n_sweeps)
        return model, X

    def _exact(self, X):
        dtype = np.float32 if getattr(X, "dtype", None) == np.float32 else np.float64
        return checks.check_similarity("X", X, dtype, self._use_diagonal)

    def _labels_cost(self, labels, X, constant=None):
        constant = self._constant(X) if constant is None else constant
        # The square of one of NumPy's small integers would overflow.
        return float(self._cost(*sums_of_links(labels, X, int(self.n_clusters)), constant))

    def _descend(self, X, labels, unit, rng, rule=None, weights=None, n_clusters=None):
        """Labels after single moves until none lowers the cost."""
        weights = self._weights(X) if weights is None else weights
        state = State(X, rule or self._rule(), weights, n_clusters or self.n_clusters, rng)
        state.start_labels(labels)
        return state.descend(1e9 * unit)

    def _cool(self, X, unit, rng, labels, first, rule=None):
        """Labels of one start, cooled from `first` units to zero temperature."""
        state = State(X, rule or self._rule(), self._weights(X), self.n_clusters, rng)
        state.start_labels(labels)
        for step in COOLING[COOLING >= first]:
            for _ in range(COOLING_SWEEPS):
                if state.sweep(kernels.GIBBS, step * unit) == 0.0:
                    break
            state.refresh_books(np.inf)
        return self._descend(X, state.labels(), unit, rng, rule)

    def _starts(self, X, rng):
        """(labels, first cooling step in units) of every start, the random ones first."""
        return [(rng.integers(self.n_clusters, size=X.shape[0]), 0.0) for _ in range(self.n_init)]

    def _quadratic_form(self, X):
        """Rule, weights (N,) and diagonal (N,) of the quadratic or association cost nearest to the model's."""
        return self._rule(), self._weights(X), X.diagonal()

    def _embedded_start(self, X, unit, constant, rng):
        """Labels by k-means on the leading vectors; of a few tries those of lowest cost, after single moves."""
        rule, weights, diagonal = self._quadratic_form(X)
        # What normalised costs look for may lie close together at the end of the spectrum.
        dimension, n_tries = (60, 2) if rule.kind == kernels.QUADRATIC else (120, 10)
        vectors = leading_vectors(X, weights, diagonal, np.sign(rule.scale), self.n_clusters, dimension, rng)
        tries = []
        for _ in range(n_tries):
            with warnings.catch_warnings(action="ignore"):  # equal objects leave clusters empty
                labels = kmeans2(vectors, self.n_clusters, minit="++", seed=rng)[1].astype(np.int64)
            if len(np.unique(labels)) < self.n_clusters:
                labels[rng.permutation(len(labels))[: self.n_clusters]] = np.arange(self.n_clusters)
            tries.append(labels)
        best = min(tries, key=lambda labels: self._labels_cost(labels, X, constant))
        return self._descend(X, best, unit, rng)

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
        (links, size), n_clusters = sums, self.n_clusters
        names, halves = np.arange(n_clusters), np.arange(2 * n_clusters)
        base, before = halves // 2, 0.0

        def rise(groups, offered=n_clusters):
            Z = np.eye(offered)[groups]
            turned = np.swapaxes(Z, -1, -2)
            return self._cost(turned @ links @ Z, turned @ size, constant) - before

        before = rise(base)
        parted = rise(np.where(halves == 2 * names[:, None] + 1, n_clusters, base), n_clusters + 1)
        shifted = np.array([rise(np.where(halves == h, names[:, None], base)) for h in halves])
        merged = np.array([rise(np.where(base == k, names[:, None], base)) for k in names])
        whole = size.reshape(-1, 2).min(axis=1) > 0  # clusters with two halves
        parted[~whole] = shifted[~whole[base]] = shifted[halves, base] = merged[np.triu_indices(n_clusters)] = np.inf
        # Two clusters become one, and no other (the last entry) or one of the others is parted.
        both = merged[:, :, None] + np.append(parted, 0.0 if may_empty else np.inf)
        both[names, :, names] = both[:, names, names] = np.inf
        rises = np.append(shifted, both)
        for move in np.argsort(rises, kind="stable")[:TRIED]:
            if rises[move] == np.inf:
                return
            if move < shifted.size:
                h, v = np.unravel_index(move, shifted.shape)
                yield np.where(halves == h, v, base)
            else:
                k, v, u = np.unravel_index(move - shifted.size, both.shape)
                yield np.where(base == k, v, np.where(halves == 2 * u + 1, k, base))

    def _rearranged(self, X, labels, unit, constant, rng):
        """Labels and cost after moves of whole halves of clusters, as long as the cost falls.

        Every cluster is cut in two along its leading vector. What it costs to move one of the halves, to merge two
        clusters, or to merge two and part a third one follows from the links between the halves; the best of these
        moves are tried, each followed by single moves. No temperature, and so no scale, is involved.
        """
        form, known, may_empty = self._quadratic_form(X), {}, self._rule().floor == 0
        cost, improved = self._labels_cost(labels, X, constant), self.n_clusters > 1
        while improved:
            improved, fine = False, self._halves(X, labels, form, unit, rng, known)
            for groups in self._moves(sums_of_links(fine, X, 2 * self.n_clusters), constant, may_empty):
                other = self._descend(X, groups[fine], unit, rng)
                value = self._labels_cost(other, X, constant)
                if value < cost - 1e-6 * abs(cost):
                    labels, cost, improved = other, value, True
                    break
        return labels, cost

    def _anneal(self, X, betas, init):
        unit = self._unit(X)
        betas = beta_grid(unit, 0.8, 20, 25) if betas is None else check_betas(betas)
        init = check_start(init, betas, X.shape[0], self.n_clusters)
        sequence = np.random.SeedSequence(checks.check_seed(self.random_state))
        seeds = sequence.spawn(self.n_init + 2)
        rng, constant = np.random.default_rng(seeds[-1]), self._constant(X)
        state = State(X, self._rule(), self._weights(X), self.n_clusters, rng)
        mode, cold, start_costs = MODES[self.inference], None, None
        if init is None:
            starts = self._starts(X, np.random.default_rng(seeds[-2]))
            seeds = seeds[: self.n_init] + sequence.spawn(len(starts) - self.n_init)
            cold, start_costs = self._search(X, unit, constant, starts, seeds, sequence.spawn(1)[0])
            state.start_labels(cold)

        def settle(t):
            moved = 0.0
            if init is not None:
                start = init.probabilities[t]
                state.start(start) if mode == kernels.MEANFIELD else state.start_labels(start.argmax(axis=1))
            if mode == kernels.MEANFIELD:
                moved = state.relax(betas[t], HEATING_SWEEPS)
                h = state.potentials(betas[t])
            else:
                h = state.sample(mode, betas[t], self.n_sweeps)
            h -= h.min(axis=1, keepdims=True)  # only differences matter, and small numbers keep their digits
            if cold is not None and t == len(betas) - 1 and betas[t] >= COLD * unit:
                # Which of two clusters that are one at this temperature is the more probable is rounding; the cold
                # solution decides it.
                labels = softmax(-betas[t] * h).astype(np.float32).argmax(axis=1)
                tied = np.flatnonzero((labels != cold) & (betas[t] * h[np.arange(len(h)), cold] <= TIED))
                h[tied, cold[tied]] = -TIED / betas[t]
                h -= h.min(axis=1, keepdims=True)
            return h, moved < TOLERANCE

        heated = follow(betas, settle, lambda labels: self._labels_cost(labels, X, constant), np.float32)
        run = Trajectory(**heated, unit=unit, n_iter=state.n_sweeps, start_costs=start_costs)
        run.learned = self._solved(run.labels(), X)
        return run

    def _solved(self, labels, X):
        """What the potentials of new objects depend on: the links inside the clusters."""
        return {"_solution": (self._offset, *sums_of_links(labels, X, int(self.n_clusters)))}

    def _search(self, X, unit, constant, starts, seeds, seed):
        """Labels of the lowest cost found; the costs at which every start ended, and last that lowest one."""
        rng = np.random.default_rng(seed)
        rngs = map(np.random.default_rng, seeds)
        ends = [self._cool(X, unit, own, *start) for own, start in zip(rngs, starts, strict=True)]
        if self.n_clusters > 1:
            ends.append(self._embedded_start(X, unit, constant, rng))
        costs = np.array([self._labels_cost(labels, X, constant) for labels in ends])
        first, *others = np.argsort(costs, kind="stable")
        found = [self._rearranged(X, ends[first], unit, constant, rng)]
        by_lot = self._labels_cost(starts[0][0], X, constant)
        clear = DISAGREEMENT * max(abs(found[0][1]), DISAGREEMENT * (by_lot - found[0][1]))
        if others and costs[others[0]] > found[0][1] + clear:  # one start alone: do other ways lead there, or lower?
            found.append(self._rearranged(X, ends[others[0]], unit, constant, rng))
            for _ in range(MORE):
                found.append(self._rearranged(X, self._embedded_start(X, unit, constant, rng), unit, constant, rng))
            found.sort(key=lambda way: way[1])
            if found[1][1] > found[0][1] + clear:
                ends = f"the best ways of the search ended at the costs {found[0][1]:.6g} and {found[1][1]:.6g}"
                warn_caller(f"{ends}: a lower one may have been missed; more starts than n_init={self.n_init} may "
                            "find it", RestartWarning)  # fmt: skip
        labels, cost = found[0]
        alone = others and costs[others[0]] > cost + 1e-3 * clear
        if alone and X.shape[0] <= FEW:
            # A glass: what is warmed up again just above the freezing ends lower than a new start does.
            for _ in range(REHEATED):
                again = self._cool(X, unit, rng, labels, WARM)
                if (value := self._labels_cost(again, X, constant)) < cost - 1e-6 * abs(cost):
                    labels, cost = again, value
            labels, cost = self._rearranged(X, labels, unit, constant, rng)
        return labels, np.append(costs, cost)

    def potentials(self, X_new):
        """What a new object would add to the cost in each cluster of the fitted solution, but for a constant.

        Parameters
        ----------
        X_new : array_like or scipy.sparse matrix, shape (N_new, N)
            Similarities of the new objects to the fitted ones. A new object's similarity to itself counts as 0.

        Returns
        -------
        ndarray, shape (N_new, K)
            Infinite for empty clusters: they have no members to be near to.
        """
        X_new = self._checked("X_new", X_new)
        one, rule = np.eye(int(self.n_clusters)), self._rule()
        fields, size = X_new @ one[self.labels_], np.bincount(self.labels_, minlength=len(one))
        if rule.kind == kernels.QUADRATIC:
            h = -rule.scale * (fields + rule.shift * size)
        else:
            model, h = copy.copy(self), np.empty_like(fields)
            model._offset, links, size = self._solution
            own = self._use_diagonal * model._offset * one[:, :, None] * one[:, None]
            for i, field in enumerate(fields - model._offset * size):
                entering = one[:, :, None] * field
                h[i] = model._cost(links + entering + np.swapaxes(entering, 1, 2) - own, size + one, 0.0)
            h -= model._cost(links, size, 0.0)
        h[:, size == 0] = np.inf
        return h
