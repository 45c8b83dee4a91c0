r"""Clusters of vectors with other costs than k-means: the angle between vectors, and the price of a code.

Least-angle clustering (004 section 3.4) has the cost, of unit vectors e_i = x_i / |x_i|,

.. math:: -\tfrac1N \sum_k \sum_{i \le j \in k} e_i \cdot e_j = -\tfrac1{2N} \sum_k \Big|\sum_{i \in k} e_i\Big|^2
          - \tfrac12 .

It is quadratic in the assignments. A field y_k for every cluster decouples the objects, and its fixed point is
y_k = (1/N) sum_i P_ik e_i with P_ik ~ exp(beta e_i . y_k). All fields are alike down to beta = K / lambda_max, the
largest eigenvalue of sum_i e_i e_i' / N.

Complexity-constrained clustering (section 3.6; entropy-constrained vector quantisation) pays for the description of the
labels,

.. math:: \sum_i \big( |x_i - y_{c(i)}|^2 - \lambda \log p_{c(i)} \big) , \qquad p_k = n_k / N ,

and so finds the number of clusters.
"""

import numpy as np
from scipy.spatial.distance import cdist
from sklearn.cluster import kmeans_plusplus

from ..checks import check_integer, check_n_clusters, check_number, check_seed, check_vectors
from ..trajectory import Trajectory, beta_grid, check_betas, check_start, one_hot, softmax
from ..views.measures import all_coordinates, few_coordinates
from .base import VectorModel, fixed_point, follow
from .centroid import LEAST_SHARE, best_split, centroid_fixed_point, code_length
from .spectrum import largest_variance, temperature_unit

TOLERANCE, MAX_SWEEPS = 1e-7, 4000  # of a step of the fields, whose length is at most 1
PERTURBATION = 1e-3  # of the fields, divided by the number of clusters
PRECISE = 1e-4  # of the data's spread, the same for codebooks
COLD = 30.0  # beta times price that the default grid reaches: codebooks finer than the noise are warm at 120 units
PRICE = 0.1  # of the mean squared distance from the mean, where no price is given
CHEAPER = 1e-9  # of the cost; less does not count as a better codebook


def directions(X):
    """Vectors divided by their lengths.

    Parameters
    ----------
    X : array_like, shape (N, D)

    Returns
    -------
    ndarray, shape (N, D)

    Raises
    ------
    ValueError
        A vector of length 0, or X not finite or not 2-D.

    Examples
    --------
    >>> directions([[3.0, 4.0]]).tolist()
    [[0.6, 0.8]]
    """
    X = check_vectors("X", X)
    lengths = np.linalg.norm(X, axis=1, keepdims=True)
    for i in np.flatnonzero(lengths == 0)[:1]:
        raise ValueError(f"X has the vector 0 as object {i}, accepted are vectors with a direction")
    return X / lengths


class _Restarted(VectorModel):
    """A model whose runs are seeded one by one."""

    def _prepared(self, X):
        model, X = super()._prepared(X)
        check_n_clusters(self.n_clusters, len(X))
        check_integer("n_init", self.n_init)
        return model, X

    def _rngs(self):
        return map(np.random.default_rng, np.random.SeedSequence(check_seed(self.random_state)).spawn(self.n_init))


class LeastAngleClustering(_Restarted):
    """Clusters of directions, by the sum of the cosines within clusters.

    Parameters
    ----------
    n_clusters : int
    n_init : int
        Annealing runs; the one of lowest cost at the cold end is kept.
    random_state : int, Generator, RandomState or None

    Attributes
    ----------
    cluster_centers_ : ndarray, shape (K, D)
        Fields y_k at the coldest step, of length at most 1.
    labels_, trajectory_, n_iter_, n_features_in_, feature_names_in_
        See `ClusteringModel`.

    Notes
    -----
    The length of a vector does not count, and the vector 0 is refused. The cost favours large clusters: they may take
    in others that are well apart (004 section 3.4). The default grid is .8 to 40 units in 30 steps, the unit being
    K / lambda_max of the mean of e_i e_i'. Potentials are -e_i . y_k; `init` starts at every beta from its
    probabilities.

    References
    ----------
    004 section 3.4, whose cost has the constants + sum M^2 / N and + 1; right are -1/2 and -1/2.

    Examples
    --------
    >>> import numpy as np, gencap as gc
    >>> angles = np.repeat([0.0, 2.1, 4.2], 10) + np.tile(np.linspace(-0.2, 0.2, 10), 3)
    >>> X = np.column_stack([np.cos(angles), np.sin(angles)])
    >>> np.bincount(gc.LeastAngleClustering(3, random_state=0).fit(X).labels_).tolist()
    [10, 10, 10]
    """

    def __init__(self, n_clusters=8, n_init=3, random_state=None):
        self.n_clusters, self.n_init, self.random_state = n_clusters, n_init, random_state

    def _exact(self, X):
        return directions(X)

    def _unit(self, E):
        return temperature_unit(self.n_clusters, np.linalg.norm(E, 2) ** 2 / len(E))

    def _labels_cost(self, labels, E):
        return float(-((one_hot(labels, self.n_clusters).T @ E) ** 2).sum() / (2 * len(E)) - 0.5)

    def _anneal(self, E, betas, init):
        unit = self._unit(E)
        betas = beta_grid(unit, 0.8, 40, 30) if betas is None else check_betas(betas)
        init = check_start(init, betas, len(E), self.n_clusters)
        runs = (self._run(E, betas, init, rng) for rng in self._rngs())
        paths, converged, n_iter = min(runs, key=lambda run: self._labels_cost((E @ run[0][-1].T).argmax(axis=1), E))
        steps = follow(betas, lambda t: (-E @ paths[t].T, converged[t]), lambda labels: self._labels_cost(labels, E))
        learned = {"cluster_centers_": paths[-1]}
        return Trajectory(**steps, centroids=paths, unit=unit, n_iter=n_iter, learned=learned)

    def _run(self, E, betas, init, rng):
        fields, sweeps = np.tile(E.mean(axis=0) / self.n_clusters, (self.n_clusters, 1)), 0
        paths, converged = np.empty((len(betas), *fields.shape)), np.empty(len(betas), bool)
        for t, beta in enumerate(betas):
            if init is None:
                fields = fields + PERTURBATION / self.n_clusters * rng.standard_normal(fields.shape)
            else:
                fields = init.probabilities[t].T @ E / len(E)

            def step(fields, beta=beta):
                return softmax(beta * (E @ fields.T)).T @ E / len(E) - fields

            fields, done, converged[t] = fixed_point(step, fields, TOLERANCE, MAX_SWEEPS)
            paths[t], sweeps = fields, sweeps + done
        return paths, converged, sweeps

    def potentials(self, X_new):
        """Minus the product of the directions of new objects with the fitted fields.

        Parameters
        ----------
        X_new : array_like, shape (M, D)

        Returns
        -------
        ndarray, shape (M, K)
        """
        return -self._exact(self._checked("X", X_new)) @ self.cluster_centers_.T


class ComplexityConstrainedClustering(_Restarted):
    """Clusters whose number follows from the price of a code: entropy-constrained vector quantisation.

    Parameters
    ----------
    n_clusters : int
        Number of clusters offered; how many are used depends on the price.
    price : float or None
        lambda > 0, what a nat of the labels' code costs, as a squared distance. None: a tenth of the mean squared
        distance from the mean.
    n_init : int
        Starts of the search for the codebook of lowest cost.
    random_state : int, Generator, RandomState or None

    Attributes
    ----------
    cluster_centers_ : ndarray, shape (K, D)
        Codebook vectors at the coldest step; those of clusters that are not used lie at the mean of the data.
    n_clusters_ : int
        Clusters that have objects at the coldest step.
    offsets_ : ndarray, shape (K,)
        -lambda log p_k, what is added to the squared distances; that of a cluster not used is large.
    labels_, trajectory_, n_iter_, n_features_in_, feature_names_in_
        See `ClusteringModel`.

    Notes
    -----
    The codebook is searched at temperature zero: alternate minimisation from k-means++, which loses clusters that do
    not pay, then mergers of two clusters and halvings of one as long as the cost falls. Alternate minimisation alone
    would keep most of the clusters it began with. The path goes from there to the hot end. The default grid is .9 to
    120 units (or 30 / lambda, if that is colder) in 40 steps, the unit being 1 / (2 lambda_max) as in `AnnealedKMeans`;
    with a price the transition lies elsewhere. Where beta lambda = 1, the fixed points are those of mass-constrained
    annealing. `init` starts at every beta from its probabilities.

    References
    ----------
    004 section 3.6; Chou, Lookabaugh and Gray, Entropy-constrained vector quantization (1989).

    Examples
    --------
    >>> import numpy as np, gencap as gc
    >>> X = np.add.outer([0.0, 5.0, 20.0], np.linspace(-0.5, 0.5, 20)).reshape(-1, 1)
    >>> [gc.ComplexityConstrainedClustering(k, price=1.0, random_state=0).fit(X).n_clusters_ for k in (5, 20)]
    [3, 3]
    """

    def __init__(self, n_clusters=20, price=None, n_init=3, random_state=None):
        self.n_clusters, self.price, self.n_init, self.random_state = n_clusters, price, n_init, random_state

    def _exact(self, X):
        if self.price is not None:
            check_number("price", self.price, 1e-300, 1e300)
        return check_vectors("X", X)

    def _prepared(self, X):
        model, X = super()._prepared(X)
        X, *model._coordinates = few_coordinates(X)
        return model, X

    def _price(self, X):
        return (PRICE * X.var(axis=0).sum() or 1.0) if self.price is None else self.price

    def _unit(self, X):
        return temperature_unit(0.5, largest_variance(X, self._coordinates[0]))

    def _labels_cost(self, labels, X):
        members = one_hot(labels, self.n_clusters).astype(np.float64)
        mass, X = members.sum(axis=0), X - X.mean(axis=0)
        means = members.T @ X / np.maximum(mass, 1)[:, None]
        nats = -mass @ np.log(np.maximum(mass, 1) / len(X))
        return float(((X - means[labels]) ** 2).sum() + self._price(X) * nats)

    def _anneal(self, X, betas, init):
        unit, price, sweeps, learned = self._unit(X), self._price(X), 0, {}
        cold = max(120.0, COLD / (price * unit))
        betas = beta_grid(unit, 0.9, cold, 40) if betas is None else check_betas(betas)
        init = check_start(init, betas, len(X), self.n_clusters)
        tolerance, path = PRECISE / np.sqrt(2 * unit), np.empty((len(betas), self.n_clusters, X.shape[1]))
        if init is None:
            ends = [self._searched(X, price, rng) for rng in self._rngs()]
            sweeps, state = sum(end[2] for end in ends), _codebook(X, min(ends, key=lambda end: end[1])[0])

        def settle(t):
            nonlocal state, sweeps
            start = state if init is None else _codebook(X, init.probabilities[t].astype(np.float64))
            *state, done, converged = centroid_fixed_point(X, *start, betas[t], tolerance, price)
            path[t], offsets, sweeps = state[0], -price * np.log(state[1]), sweeps + done
            learned.setdefault("offsets_", offsets)  # the coldest step comes first
            return cdist(X, state[0], "sqeuclidean") + offsets, converged

        steps = follow(betas, settle, lambda labels: self._labels_cost(labels, X))
        path = all_coordinates(path, *self._coordinates)
        used = len(np.unique(steps["probabilities"][-1].argmax(axis=1)))
        learned |= {"cluster_centers_": path[-1], "n_clusters_": used}
        return Trajectory(**steps, centroids=path, unit=unit, n_iter=sweeps, learned=learned)

    def _searched(self, X, price, rng):
        """Memberships (N, K) of a codebook that no merger, halving or move of objects makes cheaper, cost, sweeps."""
        n_clusters, best, lowest, sweeps = self.n_clusters, None, np.inf, 0
        centroids = kmeans_plusplus(X, n_clusters, random_state=int(rng.integers(2**31)))[0]
        labels = cdist(X, centroids, "sqeuclidean").argmin(axis=1)
        while True:
            for _ in range(MAX_SWEEPS):
                centroids, shares = _codebook(X, one_hot(labels, n_clusters))
                before, sweeps = labels, sweeps + 1
                labels = (cdist(X, centroids, "sqeuclidean") - price * np.log(shares)).argmin(axis=1)
                if (labels == before).all():
                    break
            cost = self._labels_cost(labels, X)
            if best is not None and cost >= lowest * (1 - CHEAPER):
                return best, lowest, sweeps
            best, lowest = one_hot(labels, n_clusters), cost
            mass = best.sum(axis=0)
            used, free = np.flatnonzero(mass), np.flatnonzero(mass == 0)
            size, together = mass[used], np.add.outer(mass[used], mass[used])
            losses = cdist(centroids[used], centroids[used], "sqeuclidean") * np.outer(size, size) / together
            losses -= price * code_length(size[:, None], size)
            losses[np.diag_indices(len(used))] = 0.0
            first, second = used[list(np.unravel_index(losses.argmin(), losses.shape))]
            gains = [(best_split(X[labels == k], price), k) for k in used if mass[k] > 1 and free.size]
            (gain, halves), parted = max(gains, key=lambda split: split[0][0], default=((0.0, None), None))
            if max(gain, -losses.min()) <= 0.0:
                return best, lowest, sweeps
            if gain > -losses.min():
                members = np.flatnonzero(labels == parted)
                labels[members[cdist(X[members], halves).argmin(axis=1) == 1]] = free[0]
            else:
                labels[labels == second] = first

    def potentials(self, X_new):
        """Squared Euclidean distances of new objects to the codebook, plus `offsets_`.

        Parameters
        ----------
        X_new : array_like, shape (M, D)

        Returns
        -------
        ndarray, shape (M, K)
        """
        return cdist(self._checked("X", X_new), self.cluster_centers_, "sqeuclidean") + self.offsets_


def _codebook(X, P):
    """Centroids (K, D) and shares (K,) of assignment probabilities (N, K); an empty cluster lies at the mean, 0."""
    mass = P.sum(axis=0)
    return P.T @ X / np.maximum(mass, LEAST_SHARE)[:, None], np.maximum(mass / len(X), LEAST_SHARE)
