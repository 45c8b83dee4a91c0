r"""Information bottlenecks: clusters C of objects X that keep what is known about features Y, and not what is known.

The assignment probabilities p(c|x) maximise, at the inverse temperature beta (nats per object),

.. math:: a\, I(C;Y|Z) + \lambda\, I(C;Y) - \gamma\, I(C;Z) - \tfrac1\beta I(C;X) ,

Z being what is known of the objects. a = 0, gamma = 0 is the information bottleneck (Tishby et al. 1999), a = 0 the
one with side information (Chechik and Tishby 2002), and a = 1, gamma = 0 the conditional one (001 chapter 6), which
lambda > 0 coordinates: without it the clusters of one known group have nothing to do with those of another. The fixed
point is

.. math:: p(c|x) \propto q(c)\, e^{-\beta h_{xc}}, \quad h_{xc} = -a \sum_y p(y|x) \log q(y|c,z_x)
          - \lambda \sum_y p(y|x) \log q(y|c) + \gamma \log \frac{q(z_x|c)}{p(z_x)} .

Every model is solved at its own temperatures from hot to cold ("annealed"), at each alone from random memberships
("iterative"), or for hard clusters by moving one object after the other ("sequential") or by merging
("agglomerative").

References: 001 chapters 3.5.3 and 6, Algorithms 3.4 to 3.6 and 6.1 to 6.6; the signs are those of the derivation.
"""

import copy

import numpy as np
from scipy.sparse.linalg import LinearOperator, eigsh
from scipy.special import logsumexp
from sklearn.metrics import mutual_info_score

from ..checks import (
    check_classes,
    check_integer,
    check_labels,
    check_n_clusters,
    check_number,
    check_option,
    check_seed,
    check_size,  # fmt: skip
    check_vectors,
)
from ..kernels import bottleneck as kernels
from ..trajectory import Trajectory, beta_grid, check_betas, check_start, one_hot
from .base import VectorModel, follow
from .features import FAMILIES, Regression, as_rows, check_features, dense, natural, scales

ALGORITHMS = ("annealed", "iterative", "sequential", "agglomerative")
LOW, HIGH, STEPS = 0.8, 100.0, 44  # of the default grid, in units of the first split
NOTHING = 1e-12  # eigenvalue that is rounding: objects that are all alike
PRIOR = 1e-9  # objects; keeps the logarithm of an empty cell finite
PERTURBATION = 5e-2  # of the memberships from one temperature to the next; coincident clusters would never part
TOLERANCE, MAX_SWEEPS = 5e-4, 3000  # change of a membership that counts as none, unless it grows: a split begins so
FEWEST_SWEEPS = 5  # until what a split adds to the change is more than what dies away
MOST_DAMPING = 0.95  # share of the old potentials where an update jumps between two states
PASSES = 100  # of the sequential algorithm, which ends when nothing moves
CERTAIN = 700.0  # potential times beta of the clusters that a labelled object is not in


class _State:
    """Objects sorted by known group, and the fixed-point equations on them."""

    def __init__(self, model, X, groups, table, fixed):
        self.order = np.argsort(groups, kind="stable")
        self.back = np.argsort(self.order)
        self.F, self.groups, self.fixed = X[self.order], groups[self.order], fixed[self.order]
        ends = np.bincount(groups).cumsum()
        self.blocks = [slice(start, end) for start, end in zip([0, *ends[:-1]], ends, strict=True)]
        self.sizes = np.diff([0, *ends]).astype(float)
        self.family, self.n_clusters, self.prior = model.features, int(model.n_clusters), model._prior
        self.natural, self.score, self.sized = model._natural, model._score, model._sized
        self.weights, self.damping = model._weights, model._damping
        self.tolerance, self.max_sweeps = model._tolerance, model._max_sweeps
        self.mean = np.asarray(self.F.mean(axis=0)).ravel()
        self.labelled = np.flatnonzero(self.fixed >= 0)
        # A table of known numbers, in place of groups.
        self.regression, self.table = None, table
        if table is not None:
            self.table = table[self.order]
            self.single, self.regression = (
                Regression(dense(self.F), self.table, self.family, K) for K in (1, self.n_clusters)
            )
            self.single.update(np.ones((len(groups), 1)), 25)

    def unit(self):
        """Inverse temperature at which equal clusters lose their stability: 1 / lambda_max of the linearised update."""
        conditional, coordination, redundancy = self.weights
        N, scale = len(self.groups), scales(self.mean, self.family)
        means = np.array([np.asarray(self.F[block].mean(axis=0)).ravel() for block in self.blocks])
        scale_z = np.array([scales(mean, self.family) for mean in means])

        def product(v):
            v = v.ravel()
            out = coordination / N * self._outer(self.F, self.mean, scale, v)
            for z, block in enumerate(self.blocks):
                if conditional and self.regression is None:
                    inner = self._outer(self.F[block], means[z], scale_z[z], v[block])
                    out[block] += conditional / self.sizes[z] * inner
                out[block] -= redundancy / self.sizes[z] * v[block].sum()
            if conditional and self.regression is not None:
                out += conditional * self._regressed(v)
            return out + redundancy * v.mean()

        operator = LinearOperator((N, N), product, dtype=float)
        if N < 8:
            top = np.linalg.eigvalsh(np.column_stack([product(e) for e in np.eye(N)]))[-1]
        else:
            start = np.random.default_rng(0).standard_normal(N)
            known = np.abs(product(start)).max() > NOTHING * np.abs(start).max()  # equal objects leave nothing
            top = eigsh(operator, k=1, which="LA", v0=start, tol=1e-6)[0][0] if known else 0.0
        return 1 / top if top > NOTHING else 1.0

    @staticmethod
    def _outer(F, mean, scale, v):
        """sum_y (F_xy - m_y) (F_x'y - m_y) / s_y, applied to v."""
        y = (np.asarray(F.T @ v).ravel() - mean * v.sum()) / scale
        return np.asarray(F @ y).ravel() - mean @ y

    def _regressed(self, v):
        """The same for residuals of the regression, through its hat matrices."""
        model = self.single
        mean, variance = model.expected(model.design @ model.coefficients[0].T)
        left = self.regression.F - mean / model.factor
        bend = np.einsum("im,id,ie->mde", variance / model.factor, model.design, model.design, optimize=True)
        if self.family == "gaussian":
            bend *= 0.5
        bend += 1e-9 * np.eye(bend.shape[1])
        known = np.linalg.solve(bend, ((left * v[:, None]).T @ model.design)[:, :, None])[:, :, 0]
        return (left * (model.design @ known.T)).sum(axis=1)

    def cells(self, P):
        """Sums of features (Z, K, m) and numbers of objects (Z, K) in the parts of the clusters."""
        if isinstance(self.F, np.ndarray):
            return kernels.gather(self.F, self.groups, P, len(self.blocks))
        sums = np.array([np.asarray(self.F[block].T @ P[block]).T for block in self.blocks])
        return sums, np.array([P[block].sum(axis=0) for block in self.blocks])

    def whole(self, sums, n):
        """Natural parameters of the clusters, W (K, m) and a (K,)."""
        return self.natural(sums.sum(axis=0), n.sum(axis=0), self.mean)

    def parts(self, sums, n):
        """Natural parameters of their parts in the known groups, W (Z, K, m) and a (Z, K)."""
        means = sums.sum(axis=1) / self.sizes[:, None]
        return self.natural(sums, n, means[:, None])

    def shares(self, n):
        """log q(z|c) / p(z) of numbers of objects (Z, K)."""
        inside = (n + self.prior) / (n.sum(axis=0) + self.prior)
        return np.log(inside) - np.log(self.sizes / self.sizes.sum())[:, None]

    def potentials(self, P):
        """h (N, K) at memberships P, in nats."""
        conditional, coordination, redundancy = self.weights
        sums, n = self.cells(P)
        W, a = self.whole(sums, n)
        both, offset = np.stack([coordination * W] * len(self.blocks)), coordination * a - redundancy * self.shares(n)
        if conditional and self.regression is None:
            W_z, a_z = self.parts(sums, n)
            both, offset = both + conditional * W_z, offset + conditional * a_z
        if isinstance(self.F, np.ndarray):
            h = kernels.project(self.F, self.groups, both, offset)
        else:
            h = -np.vstack([self.F[block] @ W.T + a for block, W, a in zip(self.blocks, both, offset, strict=True)])
        if self.regression is not None and conditional:
            self.regression.update(P)
            h -= conditional * self.regression.log_likelihoods()
        return h

    def settle(self, P, beta):
        """A fixed point at one temperature from memberships P: them, potentials that give them, sweeps, whether."""
        start, before, last, h = P, None, np.inf, None
        damping = 0.0 if self.damping == "auto" else self.damping
        for sweep in range(1, self.max_sweeps + 1):
            new = self.potentials(P) - self.sized * np.log(np.maximum(P.mean(axis=0), 1e-300)) / beta
            new[self.labelled] = CERTAIN / beta
            new[self.labelled, self.fixed[self.labelled]] = 0.0
            h = new if h is None or not damping else damping * h + (1 - damping) * new
            following = kernels.boltzmann(h, beta)
            change = np.abs(following - P).max()
            if sweep >= FEWEST_SWEEPS and change < self.tolerance and change <= last:
                return following, h, sweep, True
            # A step back and forth between two states: the way between them is half as long, and shorter.
            if before is not None and np.abs(following - before).max() < 0.1 * change:
                if self.damping != "auto" or damping == MOST_DAMPING:
                    return following, h, sweep, False
                damping, before = min(0.5 + damping / 2, MOST_DAMPING), None
                following, h, change = start, None, np.inf  # what has jumped may have lost a cluster
            else:
                before = P
            P, last = following, change
        return P, h, sweep, False

    def cost(self, labels):
        """Minus the number of objects times the objective of hard labels (N,) in the caller's order, in nats."""
        P = one_hot(labels[self.order], self.n_clusters)
        sums, n = self.cells(P)
        conditional, coordination, redundancy = self.weights

        def gained(sums, n):  # n H(Y) of all objects minus that of the clusters
            return sum(map(self.score, sums, n)) - self.score(sums.sum(axis=0), n.sum())

        found = -coordination * gained(sums.sum(axis=0), n.sum(axis=0))
        if conditional and self.regression is None:
            found -= conditional * sum(gained(*cell) for cell in zip(sums, n, strict=True))
        elif conditional:
            model = Regression(self.regression.F, self.table, self.family, self.n_clusters)
            model.update(P, 25)
            found -= conditional * float((P * (model.log_likelihoods() - self.single.log_likelihoods())).sum())
        return float(found + redundancy * n.sum() * mutual_info_score(None, None, contingency=n)) + 0.0

    def learned(self, P):
        """What a fit keeps, of memberships in the state's own order."""
        cells = sums, n = self.cells(P)
        features = sums.sum(axis=0)
        total = features.sum(axis=1) if self.family == "multinomial" else n.sum(axis=0)
        kept = {
            "cluster_centers_": features / np.maximum(total, 1e-300)[:, None],
            "log_sizes_": np.log(P.mean(axis=0) + 1e-300),
        }
        kept |= {"natural_": self.whole(*cells), "natural_by_group_": self.parts(*cells)}
        kept |= {"shares_": self.shares(n), "regression_": None}
        if self.regression is not None and self.weights[0]:
            self.regression.update(P, 25)
            kept["regression_"] = self.regression
        return kept


class Bottleneck(VectorModel):
    """What the bottlenecks share: features, known structure, four algorithms; see the classes derived from it."""

    _prior, _damping, _scaled, _tables, _weights = PRIOR, 0.0, True, False, (0.0, 1.0, 0.0)
    _tolerance, _max_sweeps, _sized = TOLERANCE, MAX_SWEEPS, True  # sized: a large cluster is the more probable one

    def _natural(self, sums, n, mean):
        """How cells describe their objects, W and a of `natural`."""
        return natural(sums, n, self.features, mean, self._prior)

    def _score(self, sums, n):
        """Log-likelihood of the objects of a cell."""
        return kernels.score(sums, n, FAMILIES[self.features])

    @property
    def capacity_entropy(self):
        """Where steps are no temperatures, a capacity takes the entropy of the step."""
        return "same" if self.algorithm in ALGORITHMS[2:] else "final"

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.features != "gaussian"
        tags.input_tags.positive_only = self.features != "gaussian"
        return tags

    def _exact(self, X):
        check_option("features", self.features, tuple(FAMILIES))
        X = check_features("X", X, self.features)
        check_n_clusters(self.n_clusters, X.shape[0])
        return X

    def _prepared(self, X):
        model, X = copy.copy(self), self._exact(X)
        check_option("algorithm", self.algorithm, ALGORITHMS)
        check_integer("n_init", self.n_init)
        model._centre = X.mean(axis=0) if self.features == "gaussian" else 0.0
        return model, model._scale(X)

    def _scale(self, X):
        """Rows as their family takes them."""
        if self.features == "gaussian":
            variance = check_number("variance", self.variance, np.nextafter(0, 1))
            return (X - self._centre) / np.sqrt(2 * variance)
        if self.features == "multinomial" and self._scaled:
            X = X.multiply(1 / X.sum(axis=1)).tocsr() if hasattr(X, "tocsr") else X / X.sum(axis=1, keepdims=True)
        return X

    def _state(self, X, known, fixed):
        """The equations on data, with what is known as group numbers or as a table."""
        N = X.shape[0]
        groups, table, self._values = np.zeros(N, np.int64), None, None
        if known is not None and np.ndim(known) == 2:
            if not self._tables:
                raise ValueError(
                    f"known has shape {np.shape(known)}, accepted by {type(self).__name__} is (N,): labels"
                )
            table = check_vectors("known", known)
        elif known is not None:
            if np.ndim(known) != 1:
                raise ValueError(f"known has shape {np.shape(known)}, accepted is ({N},) or ({N}, d)")
            self._values, groups = check_classes("known", known, N)
        if fixed is None:
            fixed = np.full(N, -1)
        else:
            fixed = check_labels("fixed", fixed, N, int(self.n_clusters), low=-1)
        return _State(self, X, groups, table, fixed)

    def _unit(self, X, known=None):
        return 1.0 if self.algorithm in ALGORITHMS[2:] else self._state(X, known, None).unit()

    def _labels_cost(self, labels, X, known=None):
        model = copy.copy(self)
        model._centre = X.mean(axis=0) if self.features == "gaussian" else 0.0
        return model._state(model._scale(X), known, None).cost(labels)

    def _anneal(self, X, betas, init, known=None, fixed=None):
        state = self._state(X, known, fixed)
        rngs = self._rngs()
        if self.algorithm in ALGORITHMS[2:]:
            return self._hard(state, betas, init, rngs)
        unit = state.unit()
        betas = beta_grid(unit, LOW, HIGH, STEPS) if betas is None else check_betas(betas)
        init = check_start(init, betas, X.shape[0], int(self.n_clusters))
        runs = (self._run(state, betas, init, rng) for rng in rngs)
        steps, P, sweeps = min(runs, key=lambda run: run[0]["costs"][-1])
        return Trajectory(**steps, unit=unit, n_iter=sweeps, learned=self._kept(state, P))

    def _rngs(self):
        """A generator for every run."""
        seeds = np.random.SeedSequence(check_seed(self.random_state)).spawn(int(self.n_init))
        return map(np.random.default_rng, seeds)

    def _kept(self, state, P):
        return state.learned(P) | {"known_values_": self._values, "centre_": self._centre}

    def _run(self, state, betas, init, rng):
        sweeps, P = 0, np.full((len(state.groups), state.n_clusters), 1 / state.n_clusters)

        def settle(t):
            nonlocal P, sweeps
            if init is not None:
                P = init.probabilities[t][state.order].astype(float)
            elif self.algorithm == "iterative":
                P = rng.dirichlet(np.ones(state.n_clusters), len(P))[state.order]
            else:
                P = P * (1 + PERTURBATION * rng.random(P.shape)[state.order])
                P /= P.sum(axis=1, keepdims=True)
            P, h, done, settled = state.settle(P, betas[t])
            sweeps += done
            return h[state.back], settled

        steps = follow(betas, settle, state.cost, hot_first=True)
        return steps, P, sweeps

    def _hard(self, state, betas, init, rngs):
        run = self._sequential if self.algorithm == "sequential" else self._merged
        if betas is not None:
            betas = check_betas(betas)
            if (betas != betas.round()).any():
                raise ValueError(f"betas must be whole step counts for algorithm={self.algorithm!r}, got {betas!r}")
        steps = getattr(init, "betas", [1.0]) if betas is None else betas
        check_start(init, steps, len(state.groups), state.n_clusters)
        if state.regression is not None:
            raise ValueError(f"known is a table of numbers; accepted by algorithm={self.algorithm!r} are labels (N,)")
        most = PASSES if betas is None else int(betas[-1])
        runs = [run(state, init, rng, most) for rng in rngs]
        labels, learned = min(runs, key=lambda run: state.cost(run[0][-1][state.back]))
        steps = np.arange(1.0, len(labels) + 1) if betas is None else betas
        shown = [labels[min(int(step), len(labels)) - 1][state.back] for step in steps]
        P = one_hot(np.concatenate(shown), state.n_clusters).reshape(len(shown), *state.back.shape, -1)
        return Trajectory(steps, P, None, np.array([state.cost(each) for each in shown]), n_iter=len(labels),
                          learned=self._kept(state, P[-1][state.order]) | learned)  # fmt: skip

    def _sequential(self, state, init, rng, most):
        """Labels after every pass over the objects, until none moves or `most` passes are done."""
        N, K = len(state.groups), state.n_clusters
        labels = (rng.permutation(N) % K if init is None else init.labels())[state.order]
        labels = np.where(state.fixed >= 0, state.fixed, labels)
        check_size(
            "the sums of features of every cluster in every known group",
            (2, K, *np.shape(state.sizes), state.F.shape[1]),
        )
        P = one_hot(labels, K)
        sums, n = state.cells(P)
        sums = np.ascontiguousarray(sums.swapaxes(1, 2))
        held = [np.stack([s, np.where(s > 1e-12, s * np.log(np.maximum(s, 1e-300)), 0.0)]) for s in (sums, sums.sum(0))]
        rows, path = as_rows(state.F, self.features), []
        own = state.groups, labels, state.fixed < 0
        for _ in range(min(most, PASSES)):
            order = state.back[rng.permutation(N)]
            moved = kernels.sequential_pass(order, *rows, *own, *held, n, state.weights, FAMILIES[self.features])
            path.append(labels.copy())
            if not moved:
                break
        return path, {}

    def _merged(self, state, init, rng, most):
        """Labels after the last of N - K mergers."""
        N, Z = len(state.groups), len(state.sizes)
        for name, given in (("init", init is not None), ("fixed", (state.fixed >= 0).any())):
            if given:
                raise ValueError(f"{name} must be None for algorithm='agglomerative'")
        check_size("the sums of features of every object in every known group", (N, Z, state.F.shape[1]))
        cells, counts = np.zeros((N, Z, state.F.shape[1])), np.zeros((N, Z))
        cells[np.arange(N), state.groups], counts[np.arange(N), state.groups] = dense(state.F), 1
        labels, merged, losses = kernels.agglomerate(
            cells, counts, state.n_clusters, state.weights, FAMILIES[self.features]
        )
        labels = np.unique(labels, return_inverse=True)[1]
        return [labels], {"merged_": state.order[merged], "merger_losses_": losses}

    def potentials(self, X_new, known=None):
        """Potentials h of new objects under the fitted solution, in nats.

        Parameters
        ----------
        X_new : array_like or sparse matrix, shape (M, D)
        known : array_like, shape (M,) or (M, d), or None
            What is known of them; None takes the part that needs no such knowledge.

        Returns
        -------
        ndarray, shape (M, K)
        """
        X = check_features("X_new", self._checked("X_new", X_new), self.features)
        model = copy.copy(self)
        model._centre = self.centre_
        F, (conditional, coordination, redundancy) = model._scale(X), self._weights
        W, a = self.natural_
        h = -coordination * (np.asarray(F @ W.T) + a)
        if not (conditional or redundancy) or known is None:
            return h
        if self.regression_ is not None:
            design = np.column_stack([check_vectors("known", known), np.ones(len(h))])
            return h - conditional * self.regression_.log_likelihoods(dense(F), design)
        known, values = np.asarray(known), self.known_values_
        place = np.searchsorted(values, known).clip(0, len(values) - 1)
        if known.shape != (len(h),) or (values[place] != known).any():
            raise ValueError(f"known must hold one of {values} for each of {len(h)} objects, got {known!r}")
        W, a = self.natural_by_group_
        for z in np.unique(place):
            rows = np.flatnonzero(place == z)
            h[rows] += redundancy * self.shares_[z] - conditional * (np.asarray(F[rows] @ W[z].T) + a[z])
        return h

    def predict(self, X, known=None):
        """Most probable cluster of new objects; see `potentials`.

        Parameters
        ----------
        X : array_like or sparse matrix, shape (M, D)
        known : array_like, shape (M,) or (M, d), or None

        Returns
        -------
        ndarray of int, shape (M,)
        """
        return self.potentials(X, known).argmin(axis=1)


class InformationBottleneck(Bottleneck):
    """Clusters that keep as many bits as they can about the features (information bottleneck).

    Parameters
    ----------
    n_clusters : int
        Number of clusters K offered.
    features : {"multinomial", "bernoulli", "gaussian"}
        Counts, bits, or numbers around a mean. Counts and bits may be sparse.
    algorithm : {"annealed", "iterative", "sequential", "agglomerative"}
        From hot to cold; at every temperature alone, from random memberships; hard clusters, one object moved at a
        time; hard clusters, two merged at a time.
    n_init : int
        Runs; the one of lowest cost at the end is kept.
    variance : float
        Of every feature in a cluster, for "gaussian".
    random_state : int, Generator, RandomState or None

    Attributes
    ----------
    cluster_centers_ : ndarray, shape (K, D)
        Mean features of the clusters: distributions over terms, probabilities of bits, or means.
    labels_, trajectory_, n_iter_, n_features_in_, feature_names_in_
        See `ClusteringModel`.

    Notes
    -----
    Potentials are in nats: minus the mean log-probability of the object's features in the cluster. The default grid is
    .8 to 100 units in 44 steps. `cost` is minus N I(C;Y) of hard labels, in nats. For "sequential" and "agglomerative"
    `betas` are step counts: passes over the objects, or the single last merger. With counts of equal sums M, the
    mixture of multinomials is the solution at beta = M; with bits or numbers that of Bernoullis or Gaussians at 1.

    `fit` and `anneal` take `fixed` (N,): the cluster of labelled objects, -1 for all others.

    References
    ----------
    001 section 3.5.3, Algorithms 3.4 to 3.6.

    Examples
    --------
    >>> import numpy as np, gencap as gc
    >>> X = np.kron(np.eye(2), np.ones((4, 3))) * 5 + 1
    >>> gc.InformationBottleneck(2, random_state=0).fit(X).labels_.reshape(2, 4).std(axis=1).tolist()
    [0.0, 0.0]
    """

    def __init__(self, n_clusters=2, features="multinomial", algorithm="annealed", n_init=1, variance=1.0,
                 random_state=None):  # fmt: skip
        self.n_clusters, self.features, self.algorithm = n_clusters, features, algorithm
        self.n_init, self.variance, self.random_state = n_init, variance, random_state


class SideInformationBottleneck(Bottleneck):
    """Clusters that keep bits about the features and are fined for bits about what is known.

    Parameters
    ----------
    n_clusters : int
        Number of clusters K offered.
    gamma : float
        Price of a nat of I(C;Z), in nats of I(C;Y). It has to grow with the number of features.
    damping : float or "auto"
        Share of the old potentials in an update, in [0, 1). Where gamma times beta is large the plain update (0) jumps
        to and fro between two states; "auto" sees that and slows it down.
    features : {"multinomial", "bernoulli", "gaussian"}
        Counts, bits, or numbers around a mean. Counts and bits may be sparse.
    algorithm : {"annealed", "iterative", "sequential", "agglomerative"}
        From hot to cold; at every temperature alone, from random memberships; hard clusters, one object moved at a
        time; hard clusters, two merged at a time.
    n_init : int
        Runs; the one of lowest cost at the end is kept.
    variance : float
        Of every feature in a cluster, for "gaussian".
    random_state : int, Generator, RandomState or None

    Attributes
    ----------
    cluster_centers_ : ndarray, shape (K, D)
        Mean features of the clusters: distributions over terms, probabilities of bits, or means.
    labels_, trajectory_, n_iter_, n_features_in_, feature_names_in_
        See `ClusteringModel`.

    Notes
    -----
    `fit` and `anneal` take `known` (N,), labels of any kind, and `fixed` as `InformationBottleneck`; nothing known is
    all objects in one group. Where the update still jumps at some temperature, `Trajectory.converged` and a warning
    say so.

    References
    ----------
    001 section 8.6.1, Eq. 8.6.1; G. Chechik and N. Tishby, Extracting relevant structures with side information, 2002.

    Examples
    --------
    >>> import numpy as np, gencap as gc
    >>> known, other = np.arange(40) % 2, np.arange(40) // 20
    >>> X = np.repeat(np.column_stack([known, other]), [6, 3], axis=1)
    >>> model = gc.SideInformationBottleneck(2, gamma=4.0, features="bernoulli", random_state=0).fit(X, known=known)
    >>> gc.metrics.matched_precision(model.labels_, other)
    1.0
    """

    def __init__(self, n_clusters=2, gamma=1.0, damping="auto", features="multinomial", algorithm="annealed", n_init=1,
                 variance=1.0, random_state=None):  # fmt: skip
        self.n_clusters, self.gamma, self.damping, self.features = n_clusters, gamma, damping, features
        self.algorithm, self.n_init, self.variance, self.random_state = algorithm, n_init, variance, random_state

    @property
    def _weights(self):
        return 0.0, 1.0, check_number("gamma", self.gamma, 0.0)

    @property
    def _damping(self):
        return self.damping if self.damping == "auto" else check_number("damping", self.damping, 0.0, 0.99)


class ConditionalBottleneck(Bottleneck):
    """Clusters that keep bits about the features beyond those that are known: non-redundant clustering (CIB, CCIB).

    Parameters
    ----------
    n_clusters : int
        Number of clusters K offered.
    coordination : float
        Weight lambda of I(C;Y) beside I(C;Y|Z). With 0 (CIB) the clusters of different known groups have nothing to do
        with each other; a large one finds again what is known. Of two labelings with m_A (known) and m_B bits, the
        second is the better one while lambda m_A < (1 + lambda) m_B.
    features : {"multinomial", "bernoulli", "gaussian"}
        Counts, bits, or numbers around a mean. Counts and bits may be sparse.
    algorithm : {"annealed", "iterative", "sequential", "agglomerative"}
        From hot to cold; at every temperature alone, from random memberships; hard clusters, one object moved at a
        time; hard clusters, two merged at a time.
    n_init : int
        Runs; the one of lowest cost at the end is kept.
    variance : float
        Of every feature in a cluster, for "gaussian".
    random_state : int, Generator, RandomState or None

    Attributes
    ----------
    cluster_centers_ : ndarray, shape (K, D)
        Mean features of the clusters: distributions over terms, probabilities of bits, or means.
    labels_, trajectory_, n_iter_, n_features_in_, feature_names_in_
        See `ClusteringModel`.

    Notes
    -----
    `fit` and `anneal` take `known`: labels (N,) of any kind, or a table of numbers (N, d), which enters by generalised
    linear models of the features in every cluster (normal, binomial or Poisson with canonical link; not for hard
    algorithms). Nothing known is all objects in one group. `fixed` as for `InformationBottleneck`.

    References
    ----------
    001 chapter 6, Eqs. 6.1.16 to 6.1.26, Algorithms 6.1 to 6.6. Of the printed ones, 6.1.27 and 6.2.10 lack terms.

    Examples
    --------
    >>> import numpy as np, gencap as gc
    >>> known, other = np.arange(40) % 2, np.arange(40) // 20
    >>> X = np.repeat(np.column_stack([known, other]), [6, 3], axis=1)
    >>> model = gc.ConditionalBottleneck(2, features="bernoulli", random_state=0).fit(X, known=known)
    >>> gc.metrics.matched_precision(model.labels_, other)
    1.0
    """

    _tables = True

    def __init__(self, n_clusters=2, coordination=0.3, features="multinomial", algorithm="annealed", n_init=1,
                 variance=1.0, random_state=None):  # fmt: skip
        self.n_clusters, self.coordination, self.features = n_clusters, coordination, features
        self.algorithm, self.n_init, self.variance, self.random_state = algorithm, n_init, variance, random_state

    @property
    def _weights(self):
        return 1.0, check_number("coordination", self.coordination, 0.0), 0.0


class MixtureModel(Bottleneck):
    """Mixture of multinomials, Bernoullis or Gaussians by expectation maximisation, labelled objects included.

    Parameters
    ----------
    n_clusters : int
        Number of clusters K offered.
    features : {"multinomial", "bernoulli", "gaussian"}
        Counts, bits, or numbers of a given variance.
    smoothing : float
        Objects of mean features that every cluster has beside its own.
    n_init : int
        Runs from random memberships; the most probable one is kept.
    variance : float
        Of every feature in a cluster, for "gaussian".
    random_state : int, Generator, RandomState or None

    Attributes
    ----------
    cluster_centers_ : ndarray, shape (K, D)
        Mean features of the clusters: distributions over terms, probabilities of bits, or means.
    labels_, trajectory_, n_iter_, n_features_in_, feature_names_in_
        See `ClusteringModel`.
    log_likelihood_ : float
        Of all objects, in nats, up to what does not depend on the clusters.

    Notes
    -----
    `fit` and `anneal` take `fixed` (N,), the cluster of labelled objects and -1 for the others: naive Bayes with
    unlabelled data (Nigam et al. 2000). There is one temperature, beta = 1.

    References
    ----------
    001 section 3.5.2, Algorithm 3.3, and section 9.3.

    Examples
    --------
    >>> import numpy as np, gencap as gc
    >>> X = np.kron(np.eye(2), np.ones((4, 3)))
    >>> gc.MixtureModel(2, "bernoulli", n_init=3, random_state=0).fit(X).labels_.reshape(2, 4).std(axis=1).tolist()
    [0.0, 0.0]
    """

    _scaled, _tolerance, _max_sweeps = False, 1e-5, 3000  # one temperature, and no colder one after it
    algorithm = "iterative"

    def __init__(self, n_clusters=2, features="multinomial", smoothing=0.01, n_init=1, variance=1.0, random_state=None):
        self.n_clusters, self.features, self.smoothing = n_clusters, features, smoothing
        self.n_init, self.variance, self.random_state = n_init, variance, random_state

    def _unit(self, X):
        return 1.0

    @property
    def _prior(self):
        return check_number("smoothing", self.smoothing, 0.0) + PRIOR

    def _anneal(self, X, betas, init, fixed=None):
        betas = np.ones(1) if betas is None else check_betas(betas)
        if len(betas) != 1 or betas[0] != 1:
            raise ValueError(f"betas={betas!r} for {type(self).__name__}, accepted is the single temperature 1")
        state = self._state(X, None, fixed)
        rngs = self._rngs()
        init = check_start(init, betas, X.shape[0], int(self.n_clusters))
        runs = [self._run(state, betas, init, rng) for rng in rngs]
        likely = [float(logsumexp(-steps["potentials"][0], axis=1).sum()) for steps, *_ in runs]
        steps, P, sweeps = runs[int(np.argmax(likely))]
        learned = self._kept(state, P) | {"log_likelihood_": max(likely)}
        return Trajectory(**steps, n_iter=sweeps, learned=learned)

    def potentials(self, X_new):
        """Minus the log-probability of new objects and of the cluster, in nats.

        Parameters
        ----------
        X_new : array_like or sparse matrix, shape (M, D)

        Returns
        -------
        ndarray, shape (M, K)
        """
        return super().potentials(X_new) - self.log_sizes_

    predict = VectorModel.predict
