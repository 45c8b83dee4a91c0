r"""Clusters and objects that have neighbours: self-organising maps, k-means on images, and the Ising model of an image.

*Self-organising clustering* (004 section 3.5). The index of a centroid is sent over a channel that mistakes a for nu
with probability T[a, nu], so that an object in cluster a costs

.. math:: h_{ia} = \sum_\nu T_{a\nu} \|x_i - y_\nu\|^2 , \qquad
          y_\nu = \frac{\sum_{ia} P_{ia} T_{a\nu} x_i}{\sum_{ia} P_{ia} T_{a\nu}} .

Centroids that are often mistaken for each other come to lie side by side. Equal centroids part at beta =
1 / (2 lambda_max(cov) rho), rho the largest eigenvalue of D^-1 T' (1 - 11'/K) T, D the column sums of T.

*Smooth k-means* (section 6.6). An object pays for each neighbour in another cluster; in mean field

.. math:: h_{ia} = \|x_i - y_a\|^2 + \lambda \sum_{j \in N(i)} (1 - q_{ja}) .

*Ising model* (section 9.1) with energy -beta/2 sum_i x_i / |N_i| sum_{j in N(i)} x_j - mu sum_i x_i y_i. The field that
acts on x_i is beta/2 sum_j x_j (1/|N_i| + 1/|N_j|) + mu y_i: at a border the two halves of a bond differ.
"""

import copy
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array
from scipy.spatial import cKDTree
from scipy.spatial.distance import cdist
from scipy.special import entr
from sklearn.cluster import k_means
from sklearn.exceptions import ConvergenceWarning

from ..checks import (
    check_integer,
    check_n_clusters,
    check_number,
    check_option,
    check_same_shape,
    check_seed,
    check_size,
    check_vectors,  # fmt: skip
    generator,
)
from ..kernels import fields as kernels
from ..trajectory import Trajectory, beta_grid, check_betas, check_start, one_hot, softmax
from .base import VectorModel, follow, warn_caller
from .spectrum import largest_variance, temperature_unit

PERTURBATION, TOLERANCE, MAX_SWEEPS = 1e-3, 1e-4, 1000  # of the data's spread; largest step that counts as none
SETTLED = 1e-3  # change of a probability that counts as none
ALIKE = 1e-17  # eigenvalue of a channel that tells no index from another


class _Centroids(VectorModel):
    """Both models of vectors: annealing of centroids that follow the assignment probabilities."""

    def _exact(self, X):
        X = check_vectors("X", X)
        check_n_clusters(self.n_clusters, len(X))
        return X

    def _prepared(self, X):
        model, X = copy.copy(self), self._exact(X)
        check_integer("n_init", self.n_init)
        model._offset = X.mean(axis=0)
        return model, X - model._offset

    def _spread(self, X):
        return largest_variance(X, self._offset)

    def _cooled(self, X, betas, init, graph):
        unit, K = self._unit(X), int(self.n_clusters)
        betas = beta_grid(unit, *self._grid) if betas is None else check_betas(betas)
        init, spread = check_start(init, betas, len(X), K), np.sqrt((X**2).sum() / len(X))
        if init is not None and np.shape(init.centroids)[-1:] != X.shape[1:]:
            raise ValueError(f"init has centroids of shape {np.shape(init.centroids)}, accepted is a Trajectory of a "
                             f"model with centroids of {X.shape[1]} features")  # fmt: skip
        seeds = np.random.SeedSequence(check_seed(self.random_state)).spawn(int(self.n_init))
        runs = [self._run(X, betas, init, spread, graph, rng) for rng in map(np.random.default_rng, seeds)]
        steps, path, sweeps = min(runs, key=lambda run: run[0]["costs"][-1])
        path += self._offset
        return Trajectory(**steps, centroids=path, unit=unit, n_iter=sweeps, learned={"cluster_centers_": path[-1]})

    def _run(self, X, betas, init, spread, graph, rng):
        path, sweeps = np.empty((len(betas), int(self.n_clusters), X.shape[1])), 0
        centroids, P = self._start(X, betas[0], rng)

        def settle(t):
            nonlocal centroids, P, sweeps
            if init is None:
                centroids = centroids + PERTURBATION * spread * rng.standard_normal(centroids.shape)
            else:
                centroids, P = init.centroids[t] - self._offset, init.probabilities[t].astype(np.float64)
            for _ in range(MAX_SWEEPS):
                P, weights, change = self._sweep(X, centroids, P, betas[t], graph)
                mass = weights.sum(axis=0)[:, None]
                moved = np.where(mass > 1e-12, weights.T @ X / np.maximum(mass, 1e-12), centroids)
                step, centroids, sweeps = np.abs(moved - centroids).max(), moved, sweeps + 1
                settled = step <= self._tolerance * spread and change <= SETTLED
                if settled:
                    break
            path[t] = centroids
            return self._fields(X, centroids, P, graph), settled

        return follow(betas, settle, lambda labels: self._cost(labels, X, graph), hot_first=True), path, sweeps


def grid_transmission(shape, width=1.0):
    """Transmission matrix of clusters on a grid: T[a, nu] falls with their distance like a Gaussian.

    Parameters
    ----------
    shape : int or tuple of int
        Clusters of a chain, or sides of a grid; the clusters are counted row by row.
    width : float
        Standard deviation, in steps of the grid; 0 has no mistakes.

    Returns
    -------
    ndarray, shape (K, K)
        Rows of sum 1.

    Raises
    ------
    ValueError
        Sides below 1, a width below 0.

    References
    ----------
    004 section 3.5.

    Examples
    --------
    >>> import gencap as gc
    >>> gc.grid_transmission(3).round(2).tolist()
    [[0.57, 0.35, 0.08], [0.27, 0.45, 0.27], [0.08, 0.35, 0.57]]
    """
    shape = [check_integer("shape", side) for side in np.atleast_1d(np.array(shape, dtype=object))]
    width = max(check_number("width", width, 0.0), 1e-3)
    if not shape:
        raise ValueError("shape has no sides, accepted are one or more")
    check_size(f"transmission of shape={shape}", (*shape, *shape))
    nodes = np.indices(shape).reshape(len(shape), -1).T
    T = np.exp(-0.5 * cdist(nodes / width, nodes / width, "sqeuclidean"))
    return T / T.sum(axis=1, keepdims=True)


def check_transmission(T, n_clusters, name="transmission"):
    """Return a transmission matrix (K, K), or raise ValueError unless its rows are probabilities."""
    T = check_vectors(name, T)
    if T.shape != (n_clusters, n_clusters) or T.min() < 0 or np.abs(T.sum(axis=1) - 1).max() > 1e-6:
        raise ValueError(f"{name} has shape {T.shape}, least entry {T.min():.3g} and sums of rows from "
                         f"{T.sum(axis=1).min():.8g} to {T.sum(axis=1).max():.8g}; accepted are probabilities of shape "
                         f"{(n_clusters, n_clusters)} with rows of sum 1")  # fmt: skip
    return T


def transmitted_distortion(X, codebook, transmission, *, nearest=False):
    """Mean squared distance of vectors to what arrives of them over a channel that mistakes one index for another.

    Parameters
    ----------
    X : array_like, shape (N, D)
    codebook : array_like, shape (K, D)
    transmission : array_like, shape (K, K)
        Probability that index nu arrives where a was sent, rows of sum 1.
    nearest : bool
        The sender knows nothing of the channel and sends the index of the nearest vector, not that of the smallest
        expected distance.

    Returns
    -------
    float

    Raises
    ------
    ValueError
        Arrays that do not fit each other, rows that are no probabilities.

    References
    ----------
    004 section 3.5.

    Examples
    --------
    >>> import gencap as gc
    >>> gc.transmitted_distortion([[0.0], [1.0]], [[0.0], [1.0]], [[0.9, 0.1], [0.1, 0.9]])
    0.1
    """
    X, codebook = check_vectors("X", X), check_vectors("codebook", codebook)
    check_same_shape("the first vector of codebook", codebook[0], "the first vector of X", X[0])
    distances = cdist(X, codebook, "sqeuclidean")
    expected = distances @ check_transmission(transmission, len(codebook)).T
    sent = (distances if nearest else expected).argmin(axis=1)
    return float(expected[np.arange(len(X)), sent].mean())


class SelfOrganizingClustering(_Centroids):
    """k-means whose clusters are mistaken for their neighbours: an annealed self-organising map.

    Parameters
    ----------
    n_clusters : int
        Number of clusters K.
    topology : "chain", tuple of 2 ints, or array_like of shape (K, K)
        Neighbourhood of the clusters: in a row, on a grid of (rows, columns) with K = rows x columns, or the
        transmission matrix itself.
    width : float
        Of the Gaussian by which T falls with the distance on chain or grid, in steps.
    n_init : int
        Annealing runs; the one of lowest cost at the cold end is kept.
    random_state : int, Generator, RandomState or None

    Attributes
    ----------
    cluster_centers_ : ndarray, shape (K, D)
    transmission_ : ndarray, shape (K, K)
        T.
    labels_, trajectory_, n_iter_, n_features_in_, feature_names_in_
        See `ClusteringModel`.

    Notes
    -----
    Clusters have neighbours here: `cost` depends on their numbers. With a large width some are left empty. The
    default grid is .9 to 1000 units in 40 steps.
    `init` starts at every beta from its centroids.

    References
    ----------
    004 section 3.5.

    Examples
    --------
    >>> import numpy as np, gencap as gc
    >>> X = np.random.default_rng(0).random((200, 1))
    >>> centers = gc.SelfOrganizingClustering(6, random_state=0).fit(X).cluster_centers_[:, 0]
    >>> sorted(centers) in (centers.tolist(), centers[::-1].tolist())
    True
    """

    _grid, _tolerance = (0.9, 1000, 40), 1e-6  # equal centroids leave slowly

    def __init__(self, n_clusters=8, topology="chain", width=0.5, n_init=1, random_state=None):
        self.n_clusters, self.topology, self.width = n_clusters, topology, width
        self.n_init, self.random_state = n_init, random_state

    def _anneal(self, X, betas, init):
        run = self._cooled(X, betas, init, None)
        run.learned["transmission_"] = self._T
        return run

    def _transmission(self):
        K, shape = int(self.n_clusters), self.topology
        if isinstance(shape, str):
            shape = check_option("topology", shape, ("chain",)) and K
        elif np.ndim(shape) != 1:
            return check_transmission(shape, K, "topology").copy()
        T = grid_transmission(shape, self.width)
        if len(T) != K:
            raise ValueError(f"topology={shape} has {len(T)} places, accepted are n_clusters={K}")
        return T

    def _prepared(self, X):
        model, X = super()._prepared(X)
        model._T = self._transmission()
        return model, X

    def _unit(self, X):
        T = self._T
        parted = np.linalg.eigvals((T.T / np.maximum(T.sum(axis=0), 1e-300)[:, None]) @ (T - T.mean(axis=0)))
        return temperature_unit(0.5, self._spread(X) * parted.real.max() if parted.real.max() > ALIKE else 0.0)

    def _start(self, X, beta, rng):
        return np.zeros((len(self._T), X.shape[1])), None

    def _fields(self, X, centroids, P, graph):
        return cdist(X, centroids, "sqeuclidean") @ self._T.T

    def _sweep(self, X, centroids, P, beta, graph):
        P = softmax(-beta * self._fields(X, centroids, P, graph))
        return P, P @ self._T, 0.0

    def _cost(self, labels, X, graph):
        weights = self._T[labels]
        mass = np.maximum(weights.sum(axis=0), 1e-300)
        return float((weights * cdist(X, weights.T @ X / mass[:, None], "sqeuclidean")).sum())

    def _labels_cost(self, labels, X):
        model, X = self._prepared(X)
        return model._cost(labels, X, None)

    def potentials(self, X_new):
        """Expected squared distances of new objects to what arrives in place of each cluster.

        Parameters
        ----------
        X_new : array_like, shape (M, D)

        Returns
        -------
        ndarray, shape (M, K)
        """
        return cdist(self._checked("X_new", X_new), self.cluster_centers_, "sqeuclidean") @ self.transmission_.T


def _neighbors(positions, reach, n_objects):
    """Sites at most `reach` apart as a matrix of ones (N, N) in compressed rows."""
    positions = check_vectors("positions", positions)
    if len(positions) != n_objects:
        raise ValueError(f"positions has {len(positions)} entries, accepted is one for each of the {n_objects} objects")
    tree = cKDTree(positions)
    check_size(f"neighbours within reach={reach}", (tree.count_neighbors(tree, check_number("reach", reach, 0.0)),))
    pairs = tree.query_pairs(reach, output_type="ndarray")
    ends = np.concatenate([pairs, pairs[:, ::-1]]).T
    return csr_array((np.ones(len(ends[0])), tuple(ends)), (n_objects, n_objects))


class SmoothKMeans(_Centroids):
    """k-means that pays for neighbouring objects in different clusters: segments of an image, by mean field.

    Parameters
    ----------
    n_clusters : int
        Number of clusters K.
    smoothness : float
        Price lambda of a neighbour in another cluster, in units of squared distances.
    reach : float
        Objects at most so far apart are neighbours: 1 is four pixels around each, 1.5 eight.
    n_init : int
        Runs from k-means; the one of lowest cost at the cold end is kept.
    random_state : int, Generator, RandomState or None

    Attributes
    ----------
    cluster_centers_ : ndarray, shape (K, D)
    labels_, trajectory_, n_iter_, n_features_in_, feature_names_in_
        See `ClusteringModel`.

    Notes
    -----
    `fit`, `anneal`, `cost` and `unit` take `positions` (N, d), places of the objects: for an image of (height, width)
    ``np.indices((height, width)).reshape(2, -1).T``. Without them there are no neighbours. A pair of neighbours in two
    clusters costs lambda. Potentials of new objects are squared distances: nothing is known of their neighbours.

    A run starts from the centroids of k-means, at a temperature at which they are not one: from one centroid the
    neighbours would order first and draw clusters together. The unit is that of k-means, the default grid 2 to 200
    units in 20 steps. `init` starts at every beta from its centroids and probabilities.

    References
    ----------
    004 section 6.6.

    Examples
    --------
    >>> import numpy as np, gencap as gc
    >>> shape = (12, 12)
    >>> halves = (np.arange(12) >= 6) * np.ones(shape)
    >>> noisy = (halves + 0.2 * np.random.default_rng(0).standard_normal(shape)).reshape(-1, 1)
    >>> model = gc.SmoothKMeans(2, smoothness=0.4, random_state=0)
    >>> labels = model.fit(noisy, positions=np.indices(shape).reshape(2, -1).T).labels_
    >>> gc.metrics.matched_precision(labels, halves.ravel().astype(int))
    1.0
    """

    def __init__(self, n_clusters=2, smoothness=0.3, reach=1.0, n_init=1, random_state=None):
        self.n_clusters, self.smoothness, self.reach = n_clusters, smoothness, reach
        self.n_init, self.random_state = n_init, random_state

    _grid, _tolerance = (2.0, 200, 20), TOLERANCE

    def _prepared(self, X):
        check_number("smoothness", self.smoothness, 0.0)
        check_number("reach", self.reach, 0.0)
        return super()._prepared(X)

    def _bonds(self, n_objects, positions):
        """The price of every pair of neighbours, (N, N)."""
        return _neighbors(positions, self.reach, n_objects) * float(self.smoothness)

    def _unit(self, X):
        return temperature_unit(0.5, self._spread(X))

    def _anneal(self, X, betas, init, positions=None):
        bonds = csr_array((len(X), len(X))) if positions is None else self._bonds(len(X), positions)
        return self._cooled(X, betas, init, bonds)

    def _start(self, X, beta, rng):
        centroids = k_means(X, int(self.n_clusters), random_state=int(rng.integers(2**31)), n_init=1)[0]
        return centroids, softmax(-beta * cdist(X, centroids, "sqeuclidean"))

    def _fields(self, X, centroids, P, bonds):
        return cdist(X, centroids, "sqeuclidean") + (bonds.sum(axis=1)[:, None] - bonds @ P)

    def _sweep(self, X, centroids, P, beta, bonds):
        P, own = P.copy(), cdist(X, centroids, "sqeuclidean")
        change = kernels.meanfield_sweep(own, bonds.indptr, bonds.indices, bonds.data, beta, P)
        return P, P, change

    def _cost(self, labels, X, bonds):
        P = one_hot(labels, int(self.n_clusters))
        means = P.T @ X / np.maximum(P.sum(axis=0), 1)[:, None]
        return float(((X - means[labels]) ** 2).sum() + (P * (bonds.sum(axis=1)[:, None] - bonds @ P)).sum() / 2)

    def _labels_cost(self, labels, X, positions=None):
        model, X = self._prepared(X)
        bonds = csr_array((len(X), len(X))) if positions is None else model._bonds(len(X), positions)
        return model._cost(labels, X, bonds)

    def potentials(self, X_new):
        """Squared distances of new objects to the centroids.

        Parameters
        ----------
        X_new : array_like, shape (M, D)

        Returns
        -------
        ndarray, shape (M, K)
        """
        return cdist(self._checked("X_new", X_new), self.cluster_centers_, "sqeuclidean")


class Denoised(NamedTuple):
    """What `ising_denoising` finds.

    Attributes
    ----------
    image : ndarray of int, shape (height, width)
        -1 and 1.
    means : ndarray, shape (height, width)
        Expected pixels, from -1 to 1; for "annealing" the image itself.
    energies : ndarray, shape (T,)
        After every sweep: of the sample, for "meanfield" the bound on the free energy, which never rises.
    """

    image: np.ndarray
    means: np.ndarray
    energies: np.ndarray


def ising_denoising(image, *, coupling=2.0, flip=0.1, inference="meanfield", reach=1.0, n_sweeps=60, random_state=None):
    """Take flipped pixels out of an image of two values by the Ising model.

    Parameters
    ----------
    image : array_like, shape (height, width)
        -1 and 1.
    coupling : float
        Strength beta of the neighbours.
    flip : float
        Share of flipped pixels that is expected, above 0 and below 1; the field of the data is mu = log((1-p)/p) / 2.
    inference : {"meanfield", "gibbs", "annealing"}
        Expected pixels of the mean-field approximation; their means over the second half of `n_sweeps` sweeps of the
        Gibbs sampler; or the last of `n_sweeps` sweeps that cool geometrically from temperature 2 to 1/20, which is a
        search for the lowest energy.
    reach : float
        Pixels at most so far apart are neighbours: 1 is four around each, 1.5 eight.
    n_sweeps : int
        Of the samplers; mean field ends where no probability changes by more than 1e-3.
    random_state : int, Generator or None

    Returns
    -------
    Denoised

    Raises
    ------
    ValueError
        Pixels that are not -1 or 1, arguments outside their range, an unknown inference.

    Warns
    -----
    ConvergenceWarning
        Mean field did not end within 1000 sweeps.

    References
    ----------
    004 section 9.1.

    Examples
    --------
    >>> import numpy as np, gencap as gc
    >>> image = np.ones((6, 6))
    >>> image[2, 3] = -1
    >>> gc.ising_denoising(image).image.min().item()
    1
    """
    image = check_vectors("image", image)
    if (np.abs(image) != 1).any():
        raise ValueError(f"image must hold only -1 and 1, got {image[np.abs(image) != 1][0]:g}")
    coupling, flip = check_number("coupling", coupling, 0.0, 1e150), check_number("flip", flip, 1e-12, 1 - 1e-12)
    inference = check_option("inference", inference, ("meanfield", "gibbs", "annealing"))
    n_sweeps, rng = check_integer("n_sweeps", n_sweeps), generator(random_state)
    A = _neighbors(np.indices(image.shape).reshape(2, -1).T, reach, image.size).tocoo()
    near = np.maximum(A.sum(axis=1), 1)
    # A bond J x x' is J for like pixels and -J for others: unlike ones cost 2 J more.
    bonds = csr_array((coupling * (1 / near[A.row] + 1 / near[A.col]), (A.row, A.col)), A.shape)
    own = np.outer(image.ravel(), [0.5, -0.5]) * np.log((1 - flip) / flip)  # of labels -1 and 1
    unlike = bonds.data.sum() / 4  # from prices of unlike pixels to J x x'
    field, counts = (own, bonds.indptr, bonds.indices, bonds.data), np.zeros(own.shape)
    P, energies = one_hot((image.ravel() > 0).astype(int), 2), []
    limit = MAX_SWEEPS if inference == "meanfield" else n_sweeps
    betas = np.geomspace(0.5, 20.0, limit) if inference == "annealing" else np.ones(limit)
    for sweep, beta in enumerate(betas):
        if inference == "meanfield":
            change = kernels.meanfield_sweep(*field, beta, P)
        else:
            counts *= inference == "gibbs" and sweep != n_sweeps // 2
            kernels.gibbs_sweep(*field, beta, P, counts, rng)
        energy = (P * (own - bonds @ P / 2)).sum() + unlike
        energies.append(energy - entr(P).sum() if inference == "meanfield" else energy)
        if inference == "meanfield" and change <= SETTLED:
            break
    else:
        if inference == "meanfield":
            warn_caller(f"mean field did not settle within {MAX_SWEEPS} sweeps", ConvergenceWarning)
    P = counts / counts.sum(axis=1, keepdims=True) if inference == "gibbs" else P
    means = (P[:, 1] - P[:, 0]).reshape(image.shape)
    return Denoised(np.where(means >= 0, 1, -1), means, np.array(energies))
