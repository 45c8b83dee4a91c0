"""Models that represent a cluster by its centroid: k-means under annealing (000 chapters 5.2.1 and 5.4).

The potential of object i in cluster k is h_ik = ||x_i - mu_k||^2, without a factor 1/2, so beta = 1/(2 sigma^2) is the
temperature at which the assignment probabilities are those of a Gaussian mixture of variance sigma^2, and the first
split comes at beta = 1 / (2 lambda_max), lambda_max the largest eigenvalue of the data's covariance.
"""

import copy
from typing import NamedTuple

import numpy as np
from scipy.linalg import eigh
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import LinearOperator, eigsh
from scipy.spatial.distance import cdist
from scipy.special import logsumexp, xlogy
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.cluster import kmeans_plusplus

from ..checks import check_integer, check_n_clusters, check_option, check_seed, check_vectors, generator
from ..kernels import kmeans as kernels
from ..trajectory import Trajectory, beta_grid, check_betas, check_start, one_hot, softmax
from ..views.measures import all_coordinates, few_coordinates
from .base import ClusteringModel, VectorModel, fixed_point, follow
from .spectrum import largest_variance, temperature_unit

PERTURBATION = 1e-3  # of the data's spread; coincident centroids could never part without it
TOLERANCE = 2e-4  # of the data's spread, largest step of a centroid at which a temperature counts as done
MAX_SWEEPS = 1000  # close to a split, convergence is slow without end
LONGEST_LEAP = 16.0  # of the extrapolation, in steps
UNSTABLE = 1.001  # growth of a split per sweep that counts as one
OVERDUE = 2.0  # growth at which a single centroid may borrow; less would draw copies to whatever splits first
COPIES = 1e-2  # of the data's spread; centroids closer than this are copies of one
COLDEST = 1e15  # units; beyond, differences of squared distances that are rounding would decide
FROZEN = 1e6  # units at which the search beside the annealing runs: hard assignments
MELTED = 2.0  # units; hotter grids have nothing to gain from solutions at zero temperature
STARTS = 10  # of k-means++ for that search, beside the cold end of the annealing
LIKELY = 1.05  # of the lowest cost at zero temperature; dearer solutions are not tried at the coldest step
LEAST_SHARE = 1e-12  # of the objects; keeps the logarithm of an empty cluster's share finite
CHEAPER = 1e-4  # of the cost; less does not count as a better solution


def centroid_fixed_point(X, centroids, shares, beta, tolerance, price=None):
    """A fixed point of expectation-maximisation with P_ik ~ exp(-beta (||x_i - mu_k||^2 - price log share_k)).

    Parameters
    ----------
    X : ndarray, shape (N, D)
    centroids : ndarray, shape (K, D)
    shares : ndarray, shape (K,)
    beta : float
    tolerance : float
        Length of a step of the centroids that counts as none.
    price : float or None
        With a price the shares follow the clusters' mass; None: they stay, at the price 1 / beta.

    Returns
    -------
    centroids, shares : ndarray
    n_sweeps : int
    converged : bool
    """
    mass, sums, width = np.empty(len(centroids)), np.empty_like(centroids), X.shape[1]
    unit = tolerance / TOLERANCE or 1.0  # a change of a share counts like one of the centroids by as much of the spread

    def step(state):
        kept = shares if price is None else np.maximum(state[:, width] / unit, LEAST_SHARE)
        offsets = -np.log(kept) * (1 / beta if price is None else price)
        kernels.em_sweep(X, np.ascontiguousarray(state[:, :width]), offsets, beta, mass, sums)
        alive = mass > 1e-12  # a centroid that nobody is assigned to stays where it is
        moved = np.where(alive[:, None], sums / np.where(alive, mass, 1.0)[:, None] - state[:, :width], 0.0)
        return moved if price is None else np.column_stack([moved, unit * (mass / len(X)) - state[:, width]])

    start = centroids if price is None else np.column_stack([centroids, unit * shares])
    state, sweeps, converged = fixed_point(step, start, tolerance, MAX_SWEEPS, LONGEST_LEAP)
    if price is not None:
        shares = np.maximum(state[:, width] / unit, LEAST_SHARE)
    return np.ascontiguousarray(state[:, :width]), shares, sweeps, converged


def _leading_axis(X, weights, work):
    """Largest variance of the objects (N, D) over all directions, and its direction (D,); the weights sum to 1.

    work : (N, D), overwritten; a new array of that size for every cluster would take longer than the products.
    """
    n_features = X.shape[1]
    members = np.flatnonzero(weights > 1e-6 / len(X))  # at a split the others do not count; in the cold most are others
    offsets = np.take(X, members, axis=0, out=work[: len(members)], mode="clip")
    offsets -= weights @ X
    offsets *= np.sqrt(weights[members])[:, None]
    if n_features <= 64:
        values, vectors = eigh(offsets.T @ offsets, subset_by_index=[n_features - 1] * 2)
        return values[0], vectors[:, 0]
    operator = LinearOperator((n_features, n_features), lambda v: (offsets @ v.ravel()) @ offsets)
    values, vectors = eigsh(operator, k=1, which="LA", v0=np.ones(n_features), tol=1e-4)
    return values[0], vectors[:, 0]


def _copies(centroids, length):
    """Group of every centroid, shape (K,), and sizes of the groups: those within `length` are copies of one."""
    groups = connected_components(cdist(centroids, centroids) < length, directed=False)[1]
    return groups, np.bincount(groups)


def _unsettled(X, centroids, shares, beta, scale, rng, work, splitting="copies", search=True):
    """Move centroids of clusters that ought to split at this temperature; True if there were any.

    A cluster is unstable where 2 beta lambda_max of its own covariance passes 1 (Rose 1998). Copies of one centroid
    are then spread along the leading direction: expectation-maximisation alone leaves the symmetric state very
    slowly. Where copies have no weight of their own ("exact", "mass"), one is taken from where it is to spare. Else a
    single centroid cannot split. When its split is long overdue it gets a centroid from where one can be spared: a
    copy, or one of the two clusters that cost least to merge, if the split gains clearly more. Which clusters hold
    the surplus was decided by chance at hotter splits.
    """
    groups, counts = _copies(centroids, COPIES * scale)
    probabilities = softmax(-beta * cdist(X, centroids, "sqeuclidean") + np.log(shares))
    mass, growth, directions = np.zeros(len(counts)), np.zeros(len(counts)), np.zeros((len(counts), X.shape[1]))
    for group in range(len(counts)):
        weights = probabilities[:, groups == group].sum(axis=1)
        mass[group] = weights.sum()
        weights /= max(mass[group], 1e-300)
        variance, directions[group] = _leading_axis(X, weights, work)
        growth[group] = 2 * beta * variance
    torn = (growth > UNSTABLE) & (mass > 1e-9 * len(X))
    if splitting != "copies":
        for group in np.flatnonzero(torn & (counts == 1))[np.argsort(-(mass * growth)[torn & (counts == 1)])]:
            spare = counts - 1 - torn
            if spare.max() < 1:
                break
            moved = np.flatnonzero(groups == spare.argmax())[-1]
            counts[groups[moved]] -= 1
            centroids[moved], groups[moved], counts[group] = centroids[groups == group][0], group, 2
        if splitting == "mass":
            shares[:] = np.maximum(mass[groups] / counts[groups] / len(X), LEAST_SHARE)
    torn = np.flatnonzero(torn & (counts > 1))
    for group in torn:
        copies = np.flatnonzero(groups == group)
        # Close to the split the first steps must still be larger than what counts as done, and the copies not thrown
        # farther than they will part.
        excess = growth[group] - 1
        length = scale * max(COPIES, min(5 * TOLERANCE / excess, np.sqrt(excess)))
        sides = rng.standard_normal(len(copies)) if splitting == "copies" else 1.0 - 2.0 * (np.arange(len(copies)) % 2)
        centroids[copies] += length * sides[:, None] * directions[group]
    if torn.size or not search:
        return torn.size > 0
    gain = np.where((counts == 1) & (growth > OVERDUE), mass * growth / (np.pi * beta), 0.0)
    single = gain.argmax()
    first, second, cost = _cheapest_merger(centroids, groups, counts, mass, single)
    if gain[single] <= 1.25 * cost:
        return False
    together = max(mass[groups[first]] + mass[groups[second]], 1e-300)
    centroids[first] += mass[groups[second]] / together * (centroids[second] - centroids[first])
    length = np.sqrt(growth[single] / (2 * beta))
    centroids[second] = centroids[groups == single][0] + length * directions[single]
    if splitting == "mass":
        shares[first] += shares[second]
        shares[[second, groups.tolist().index(single)]] = shares[groups == single][0] / 2
    return True


def _cheapest_merger(centroids, groups, counts, mass, single):
    """Two centroids outside cluster `single` whose merger adds least to the cost, and what it adds."""
    if counts.max() > 1:
        first, second = np.flatnonzero(groups == counts.argmax())[:2]
        return first, second, 0.0
    weight = mass[groups]
    together = np.maximum(np.add.outer(weight, weight), 1e-300)  # two empty clusters merge for nothing
    cost = cdist(centroids, centroids, "sqeuclidean") * np.outer(weight, weight) / together
    cost[np.diag_indices(len(cost))] = np.inf
    cost[groups == single] = cost[:, groups == single] = np.inf
    first, second = np.unravel_index(cost.argmin(), cost.shape)
    return first, second, cost[first, second]


def code_length(first, second):
    """Nats that tell of every object of two clusters of these sizes in which of them it is; 0 log 0 = 0."""
    return xlogy(first + second, first + second) - xlogy(first, first) - xlogy(second, second)


def best_split(X, price=0.0):
    """What the best halving of objects (N, D) along their leading axis takes off the cost, and the two means.

    `price` : squared distance that a nat of code length costs.
    """
    mean = X.mean(axis=0)
    offsets = X - mean
    order = (offsets @ _leading_axis(X, np.full(len(X), 1 / len(X)), np.empty_like(X))[1]).argsort()
    sums, size = offsets[order].cumsum(axis=0)[:-1], np.arange(1, len(X))
    gains = (sums**2).sum(axis=1) * (1 / size + 1 / size[::-1]) - price * code_length(size, size[::-1])
    best = gains.argmax()
    return gains[best], np.array([mean + sums[best] / size[best], mean - sums[best] / size[::-1][best]])


def _frozen(X, centroids, beta, tolerance):
    """Centroids of a local optimum of the hard cost, the cost and the sweeps it took.

    Single objects cannot take a surplus centroid out of a group. Where the best halving of one cluster gains more
    than the cheapest merger of two others costs, the three centroids move at once.
    """
    best, lowest, sweeps, shares = centroids, np.inf, 0, np.ones(len(centroids))
    names, once = np.arange(len(centroids)), np.ones(len(centroids), int)
    while True:
        centroids, _, done, _ = centroid_fixed_point(X, centroids, shares, beta, tolerance)
        sweeps += done
        distances = cdist(X, centroids, "sqeuclidean")
        labels, cost = distances.argmin(axis=1), distances.min(axis=1).sum()
        if cost >= lowest * (1 - CHEAPER):
            return best, lowest, sweeps
        best, lowest = centroids, cost
        mass, moves = np.bincount(labels, minlength=len(centroids)), [(0.0,) * 5]
        for single in np.flatnonzero(mass > 1):
            first, second, loss = _cheapest_merger(best, names, once, mass, single)
            gain, halves = best_split(X[labels == single])
            moves.append((gain - loss, single, first, second, halves))
        gain, single, first, second, halves = max(moves, key=lambda move: move[0])
        if gain == 0.0:
            return best, lowest, sweeps
        centroids = best.copy()
        centroids[first] += mass[second] / max(mass[first] + mass[second], 1) * (best[second] - best[first])
        centroids[[single, second]] = halves


def _free_energy(X, centroids, shares, beta):
    return -logsumexp(-beta * cdist(X, centroids, "sqeuclidean") + np.log(shares), axis=1).sum() / beta


class AnnealedKMeans(ClassNamePrefixFeaturesOutMixin, TransformerMixin, VectorModel):
    """k-means by annealing: a few centroids when hot, more as the temperature falls.

    Parameters
    ----------
    n_clusters : int
        Number of centroids K offered; how many of them differ depends on the temperature.
    inference : {"meanfield", "gibbs", "metropolis"}
        "meanfield" is expectation-maximisation with the centroids as the only parameters; the others sample.
    sampler : {"block", "sequential"}
        For "gibbs": all labels given the centroids, or one by one on the exact cost, n/(n+1) factor included, as
        "metropolis" always does.
    n_init : int
        Annealing runs; the one of lowest cost at the cold end is kept.
    n_sweeps : int
        Sweeps that a sampler averages over at every temperature, after as many to settle.
    random_state : int, Generator, RandomState or None
    splitting : {"copies", "exact", "mass"}
        For "meanfield". "copies": K centroids throughout, shaken at every temperature; copies of one weigh as many
        times. "exact": distinct centroids weigh alike; a cluster splits in two where the temperature passes twice the
        largest eigenvalue of its own covariance, and coincident ones become one (Rose 1998). "mass": split in the same
        way, and weigh by their share of the objects (mass-constrained annealing).
    search : bool
        For "meanfield". True: clusters whose split is overdue borrow a centroid from two that cost little to merge,
        and the cold end is compared with solutions found at temperature zero. False: cooling and splitting alone.

    Attributes
    ----------
    cluster_centers_ : ndarray, shape (K, D)
        Centroids at the coldest step.
    inertia_ : float
        Sum of squared distances of the objects to their centroid.
    offsets_ : ndarray, shape (K,)
        What the weights add to the squared distances at the coldest step: -log(weight) / beta, 0 for "copies".
    labels_, trajectory_, n_iter_, n_features_in_, feature_names_in_
        See `ClusteringModel`.

    Notes
    -----
    The default grid is .9 to 120 units in 40 steps, the unit being the first split 1 / (2 lambda_max); 1000 units in 52
    steps for "exact" and "mass", as weights that are not alike move the borders of warm clusters. Potentials are
    squared distances (averaged over the sweeps for samplers) plus offsets, float64. `init` starts at every beta from
    its centroids. Each run finds its path of centroids from hot to cold, a loop of its own: only of the best run, and
    after its colder end has been compared with solutions found in the cold, are the potentials worth keeping.

    Examples
    --------
    >>> import gencap as gc
    >>> X, _, labels = gc.datasets.five_gaussians(500, random_state=0)
    >>> gc.AnnealedKMeans(n_clusters=5, random_state=0).fit(X).cluster_centers_.shape
    (5, 2)
    """

    def __init__(self, n_clusters=8, inference="meanfield", sampler="block", n_init=1, n_sweeps=30, random_state=None,
                 *, splitting="copies", search=True):  # fmt: skip
        self.n_clusters, self.inference, self.sampler = n_clusters, inference, sampler
        self.n_init, self.n_sweeps, self.random_state = n_init, n_sweeps, random_state
        self.splitting, self.search = splitting, search

    def _exact(self, X):
        return check_vectors("X", X)

    def _prepared(self, X):
        X, model = check_vectors("X", X), copy.copy(self)
        check_n_clusters(self.n_clusters, len(X))
        check_option("inference", self.inference, ("meanfield", "gibbs", "metropolis"))
        check_option("sampler", self.sampler, ("block", "sequential"))
        check_option("splitting", self.splitting, ("copies", "exact", "mass"))
        check_option("search", self.search, (True, False))
        check_integer("n_init", self.n_init)
        check_integer("n_sweeps", self.n_sweeps)
        X, *model._coordinates = few_coordinates(X)
        return model, X

    def _spread(self, X):
        return largest_variance(X, self._coordinates[0])

    def _unit(self, X):
        return temperature_unit(0.5, self._spread(X))

    def _labels_cost(self, labels, X):
        mass = np.bincount(labels, minlength=self.n_clusters)
        sums = np.array([np.bincount(labels, column, self.n_clusters) for column in X.T]).T
        means = sums / np.maximum(mass, 1)[:, None]
        return float(((X - means[labels]) ** 2).sum())

    def _anneal(self, X, betas, init):
        spread, (offset, basis) = self._spread(X), self._coordinates
        unit = temperature_unit(0.5, spread)
        grid = (120, 40) if self.splitting == "copies" else (1000, 52)
        betas = beta_grid(unit, 0.9, *grid) if betas is None else check_betas(betas)
        if betas[-1] > COLDEST * unit and spread > 0:
            raise ValueError(f"betas go up to {betas[-1]:.3g}, accepted is up to {COLDEST:.0e} units of {unit:.3g}")
        init, starts = check_start(init, betas, len(X), self.n_clusters), None
        if init is not None:
            if np.shape(init.centroids)[-1:] != offset.shape:
                raise ValueError(f"init has centroids of shape {np.shape(init.centroids)}, accepted is a Trajectory "
                                 f"of a model with centroids of {len(offset)} features")  # fmt: skip
            centroids = init.centroids - offset
            centroids = centroids if basis is None else centroids @ basis
            shares = np.maximum(init.probabilities.mean(axis=1, dtype=np.float64), LEAST_SHARE)
            starts = centroids, init.probabilities.argmax(axis=2), shares
        run = self._run_em if self.inference == "meanfield" else self._run_gibbs
        seeds = np.random.SeedSequence(check_seed(self.random_state)).spawn(self.n_init + 1)
        *rngs, search = map(np.random.default_rng, seeds)
        runs = (run(X, betas, np.sqrt(spread), starts, rng) for rng in rngs)  # one by one: only the best is kept

        def potentials(run, t):  # a run is (centroids, offsets of the squared distances, converged, sweeps)
            return cdist(X, run[0][t], "sqeuclidean") + run[1][t] if run[1].ndim == 2 else run[1][t]

        best = min(runs, key=lambda run: self._labels_cost(potentials(run, -1).argmin(axis=1), X))
        path, offsets, converged, sweeps = best
        if self.search and offsets.ndim == 2 and init is None and betas[-1] > MELTED * unit and self.n_clusters > 1:
            sweeps += self._cross_over(X, betas, unit, path, offsets, converged, search)

        steps = follow(betas, lambda t: (potentials(best, t), converged[t]),
                       lambda labels: self._labels_cost(labels, X), hot_first=True)  # fmt: skip
        path = all_coordinates(path, offset, basis)
        learned = {"offsets_": offsets[-1] if offsets.ndim == 2 else np.zeros(self.n_clusters)}
        learned["cluster_centers_"] = path[-1]
        return Trajectory(**steps, centroids=path, unit=unit, n_iter=sweeps, learned=learned)

    def _run_em(self, X, betas, scale, starts, rng):
        shape, plain = (self.n_clusters, X.shape[1]), self.splitting == "copies"
        centroids, path, sweeps = np.zeros(shape), np.empty((len(betas), *shape)), 0
        shares, weights = np.full(shape[0], 1.0 if plain else 1 / shape[0]), np.empty((len(betas), shape[0]))
        converged, work = np.empty(len(betas), bool), np.empty_like(X)
        for t, beta in enumerate(betas):
            if starts is not None:
                centroids, shares = starts[0][t], shares if self.splitting != "mass" else starts[2][t]
            length, distinct, idle = scale if plain else 1 / np.sqrt(2 * beta), 0, 0
            for left in range(self.n_clusters)[::-1]:
                if plain:
                    centroids = centroids + PERTURBATION * scale * rng.standard_normal(shape) / np.sqrt(shape[1])
                settled = self._settled(X, centroids, shares, beta, TOLERANCE * scale)
                centroids, shares, done, converged[t] = settled
                sweeps += done
                if self.splitting == "exact":  # every split weighs one more, and may drive others together: no cycles
                    before, distinct = distinct, len(_copies(centroids, COPIES * length)[1])
                    idle += distinct <= before
                    left = left if idle < 2 else 0
                # The last round must not move what nothing settles again.
                if starts is not None or not left or not _unsettled(X, centroids, shares, beta, length, rng, work,
                                                                    self.splitting, self.search):  # fmt: skip
                    break
            path[t], weights[t] = centroids, shares
        return path, -np.log(weights) / betas[:, None], converged, sweeps

    def _settled(self, X, centroids, shares, beta, tolerance):
        """`centroid_fixed_point` at the weights that `splitting` gives the centroids; coincident ones become one."""
        if self.splitting != "exact":
            price = None if self.splitting == "copies" else 1 / beta
            return centroid_fixed_point(X, centroids, shares, beta, tolerance, price)
        sweeps = 0
        for _ in centroids:
            groups, counts = _copies(centroids, COPIES / np.sqrt(2 * beta))
            shares = 1 / counts[groups]
            centroids = (np.eye(len(counts))[groups].T @ centroids / counts[:, None])[groups]
            centroids, _, done, converged = centroid_fixed_point(X, centroids, shares, beta, tolerance)
            sweeps += done
            if len(_copies(centroids, COPIES / np.sqrt(2 * beta))[1]) == len(counts):
                break
        return centroids, shares, sweeps, converged

    def _cross_over(self, X, betas, unit, path, offsets, converged, rng):
        """Take the colder end of the run from a solution of lower free energy, if there is one; returns the sweeps.

        Cooling follows its branch past the temperature where another becomes better. That other one is looked for in
        the cold, from the run's own end and from k-means++, and followed towards the hot as long as it is the better.
        """
        tolerance, shares = TOLERANCE / np.sqrt(2 * unit), np.ones(path.shape[1])
        starts = [kmeans_plusplus(X, path.shape[1], random_state=int(rng.integers(2**31)))[0] for _ in range(STARTS)]
        ends = [_frozen(X, start, max(FROZEN * unit, betas[-1]), tolerance) for start in (path[-1], *starts)]
        cost, sweeps = min(end[1] for end in ends), sum(end[2] for end in ends)
        if self.splitting == "mass":
            shares = np.full(path.shape[1], 1 / path.shape[1])
        thawed = [self._settled(X, end[0], shares, betas[-1], tolerance)[:2] for end in ends if end[1] <= LIKELY * cost]
        centroids, shares = min(thawed, key=lambda state: _free_energy(X, *state, betas[-1]))
        for t in range(len(betas) - 1, -1, -1):
            centroids, shares, done, settled = self._settled(X, centroids, shares, betas[t], tolerance)
            sweeps += done
            kept = np.exp(-betas[t] * offsets[t])
            gain = _free_energy(X, path[t], kept, betas[t]) - _free_energy(X, centroids, shares, betas[t])
            if gain <= CHEAPER * cost:
                break
            path[t], offsets[t], converged[t] = centroids, -np.log(shares) / betas[t], settled
        return sweeps

    def _run_gibbs(self, X, betas, scale, starts, rng):
        n_objects, n_sweeps, shape = len(X), self.n_sweeps, (self.n_clusters, X.shape[1])
        labels = rng.integers(self.n_clusters, size=n_objects)
        centroids = PERTURBATION * scale * rng.standard_normal(shape) / np.sqrt(shape[1])
        none, path = np.empty((0, 0)), np.empty((len(betas), *shape))
        potentials = np.zeros((len(betas), n_objects, self.n_clusters))
        for t, beta in enumerate(betas):
            if starts is not None:
                centroids, labels = starts[0][t], starts[1][t].copy()
            if t == 0 or starts is not None:  # the sweeps keep them up to date
                mass, sums = np.bincount(labels, minlength=self.n_clusters).astype(np.float64), np.zeros(shape)
                np.add.at(sums, labels, X)
            average = np.zeros(shape)
            for sweep in range(2 * n_sweeps):
                kept = potentials[t] if sweep >= n_sweeps else none
                if self.sampler == "block" and self.inference == "gibbs":
                    kernels.block_gibbs_sweep(X, centroids, beta, labels, mass, sums, kept, rng)
                else:
                    kernels.sequential_sweep(X, rng.permutation(n_objects), beta, labels, mass, sums, kept, rng,
                                             self.inference == "metropolis")  # fmt: skip
                # A cluster without members keeps its centroid.
                centroids = np.where(mass[:, None] > 0.5, sums / np.maximum(mass, 1.0)[:, None], centroids)
                average += centroids * (sweep >= n_sweeps)
            path[t] = average / n_sweeps
            potentials[t] /= n_sweeps
        return path, potentials, np.ones(len(betas), bool), 2 * n_sweeps * len(betas)

    def fit(self, X, y=None, **per_object):
        super().fit(X, y, **per_object)
        self.inertia_ = float(((self._checked("X", X) - self.cluster_centers_[self.labels_]) ** 2).sum())
        return self

    fit.__doc__ = ClusteringModel.fit.__doc__

    def transform(self, X):
        """Euclidean distances to the centroids.

        Parameters
        ----------
        X : array_like, shape (M, D)

        Returns
        -------
        ndarray, shape (M, K)
        """
        return cdist(self._checked("X", X), self.cluster_centers_)

    def potentials(self, X_new):
        """Squared Euclidean distances of new objects to the fitted centroids, plus `offsets_`.

        Parameters
        ----------
        X_new : array_like, shape (M, D)

        Returns
        -------
        ndarray, shape (M, K)
        """
        return cdist(self._checked("X", X_new), self.cluster_centers_, "sqeuclidean") + self.offsets_

    @property
    def _n_features_out(self):
        return len(self.cluster_centers_)


class Cooled(NamedTuple):
    """What simulated annealing found.

    Attributes
    ----------
    labels : ndarray of int64, shape (N,)
        Of the lowest cost that was seen at the end of a sweep.
    cost : float
        That cost: the sum of squared distances to the means of the clusters.
    costs : ndarray, shape (T,)
        Cost after every sweep.
    """

    labels: np.ndarray
    cost: float
    costs: np.ndarray


def simulated_annealing(X, n_clusters, betas, *, sampler="metropolis", random_state=None):
    """k-means by a sampler that is cooled while it runs: one sweep over the objects at every temperature.

    Labels move one by one on the exact cost, the centroids being the means of their clusters at any time.

    Parameters
    ----------
    X : array_like, shape (N, D)
    n_clusters : int
    betas : array_like, shape (T,)
        Ascending inverse temperatures, as `cooling_schedule` gives them; a sweep takes one.
    sampler : {"metropolis", "gibbs"}
        Offer an object one cluster at random and accept by the Metropolis rule, or draw from all clusters.
    random_state : int, Generator, RandomState or None

    Returns
    -------
    Cooled

    Raises
    ------
    ValueError
        X not finite or not 2-D, n_clusters not in 1..N, betas that do not ascend, another sampler.

    References
    ----------
    004 sections 3.2 and 9.6.

    Examples
    --------
    >>> import gencap as gc
    >>> X, _, labels = gc.datasets.five_gaussians(200, random_state=0)
    >>> betas = gc.cooling_schedule("exponential", 0.01, 10, 200)
    >>> gc.metrics.matched_precision(gc.simulated_annealing(X, 5, betas, random_state=0).labels, labels) > 0.9
    True
    """
    X, betas, rng = check_vectors("X", X), check_betas(betas), generator(random_state)
    n_objects, n_clusters = len(X), check_n_clusters(n_clusters, len(X))
    check_option("sampler", sampler, ("metropolis", "gibbs"))
    X = X - X.mean(axis=0)
    labels = rng.integers(n_clusters, size=n_objects)
    model, best, costs, none = AnnealedKMeans(n_clusters), labels.copy(), np.empty(len(betas)), np.empty((0, 0))
    mass, sums = np.bincount(labels, minlength=n_clusters).astype(np.float64), one_hot(labels, n_clusters).T @ X
    for t, beta in enumerate(betas):
        order = rng.permutation(n_objects)
        kernels.sequential_sweep(X, order, beta, labels, mass, sums, none, rng, sampler == "metropolis")
        costs[t] = model._labels_cost(labels, X)  # not from the sums: far objects would cancel what is left
        if costs[t] <= costs[:t].min(initial=np.inf):
            best = labels.copy()
    return Cooled(best, float(costs.min()), costs)
