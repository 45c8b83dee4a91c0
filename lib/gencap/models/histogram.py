r"""Objects that are histograms, and clusters that are distributions over the same bins (004 chapter 4).

An object in a cluster costs the divergence of its relative frequencies from what the cluster expects,

.. math:: h_{i\nu} = D_{KL}(\hat p_i \,\|\, q_\nu) = \sum_j \hat p(j|i) \log \frac{\hat p(j|i)}{q(j|\nu)} ,

in nats. With free q(j|nu) the best ones are the mean histograms of the members: histogram clustering, the bottleneck
without the cost I(X;C). It does not know which bins are neighbours. Parametric distributional clustering does:

.. math:: q(j|\nu) = \sum_\alpha p(\alpha|\nu)\, \tilde G_\alpha(j) ,

where the prototypes G are Gaussians on [0, 1], cut off at its ends and rectified to sum to 1 over the bins. The best
mixing weights of a cluster are found by expectation-maximisation with alpha as the hidden variable,

.. math:: p(\alpha|\nu) \leftarrow p(\alpha|\nu) \sum_j s_\nu(j)\, \tilde G_\alpha(j) / q(j|\nu) ,

s the mean histogram of the members. Section 4.2 says that no closed form exists; that holds for the means of the
prototypes only, which stay where they are here. The likelihood is concave in the weights, so the optimum is one.
"""

import numpy as np
from scipy.linalg import eigh
from scipy.ndimage import gaussian_filter1d
from scipy.special import ndtr, xlogy

from ..checks import as_array, check_integer, check_number, check_size
from ..kernels import bottleneck as kernels
from ..trajectory import beta_grid
from .base import VectorModel
from .bottleneck import HIGH, LOW, STEPS, Bottleneck
from .features import dense
from .spectrum import temperature_unit

EXACT, MOST_STEPS = 1e-8, 10_000  # nats per count from the largest likelihood of mixing weights; steps to it
FEW_STEPS = 100  # of mixing weights between two updates of the assignments
RARE = 1e-5  # mixing weight that a prototype starts with at least: it may come back
ABSENT = 1e-4  # mixing weight of a prototype that a split does not use
RAREST = 1e-100  # probability of a bin in a prototype
EQUAL = 1e-20  # eigenvalue that is rounding: all objects are alike to the prototypes


def rectified_gaussians(n_bins, centers, width):
    """Gaussians on [0, 1], cut off at both ends, as distributions over equal bins.

    Parameters
    ----------
    n_bins : int
    centers : array_like, shape (s,)
        Within [0, 1].
    width : float
        Standard deviation before the cut.

    Returns
    -------
    ndarray, shape (s, n_bins)
        Rows of sum 1.

    Raises
    ------
    ValueError
        No bin, centers outside [0, 1], a width that is not above 0.

    References
    ----------
    004 section 4.2.

    Examples
    --------
    >>> import gencap as gc
    >>> gc.rectified_gaussians(4, [0.0, 0.5], 0.2).round(3).tolist()
    [[0.789, 0.199, 0.012, 0.0], [0.101, 0.399, 0.399, 0.101]]
    """
    check_number("width", width, np.finfo(float).tiny)
    centers = as_array("centers", centers, np.float64)
    if centers.ndim != 1 or centers.size == 0 or not ((centers >= 0) & (centers <= 1)).all():
        raise ValueError(f"centers={centers} must be numbers within [0, 1], shape (s,)")
    check_size("prototypes over n_bins", (len(centers), check_integer("n_bins", n_bins)))
    edges = np.linspace(0, 1, n_bins + 1)
    inside = np.maximum(np.diff(ndtr((edges - centers[:, None]) / width), axis=1), RAREST)
    return inside / inside.sum(axis=1, keepdims=True)


class _Distributions(Bottleneck):
    """Both clusterings of histograms: divergences as potentials and as cost."""

    features, algorithm, variance, _sized = "multinomial", "annealed", 1.0, False

    def _scale(self, X):
        return super()._scale(dense(X))

    def _spread(self, F):
        """Divergences of rows F from a single cluster, summed: what the bottleneck's cost lacks."""
        return float(xlogy(F, F).sum()) - self._score(F.sum(axis=0), len(F))

    def _labels_cost(self, labels, X):
        return super()._labels_cost(labels, X) + self._spread(self._scale(X))

    def _anneal(self, X, betas, init, fixed=None):
        unit = self._unit(X)
        run = super()._anneal(X, beta_grid(unit, LOW, HIGH, STEPS) if betas is None else betas, init, fixed=fixed)
        run.unit, run.costs = unit, run.costs + self._spread(X)
        run.potentials += xlogy(X, X).sum(axis=1, keepdims=True)
        return run

    def potentials(self, X_new):
        """Divergences of new objects from the fitted distributions, in nats.

        Parameters
        ----------
        X_new : array_like or sparse matrix, shape (M, D)
            Counts.

        Returns
        -------
        ndarray, shape (M, K)
        """
        h = super().potentials(X_new)
        F = self._scale(self._checked("X_new", X_new))
        return h + xlogy(F, F).sum(axis=1, keepdims=True)

    predict = VectorModel.predict


class HistogramClustering(_Distributions):
    """Clusters of histograms, each described by the mean histogram of its members.

    Parameters
    ----------
    n_clusters : int
        Number of clusters K offered.
    smoothing : float
        Width in bins (standard deviation of a Gaussian) over which every count is spread beforehand, the bins being
        ordered; what would leave at an end is reflected. 0 keeps the counts as they are, and any order of the bins.
    n_init : int
        Runs; the one of lowest cost at the end is kept.
    random_state : int, Generator, RandomState or None

    Attributes
    ----------
    cluster_centers_ : ndarray, shape (K, D)
        The distributions q.
    labels_, trajectory_, n_iter_, n_features_in_, feature_names_in_
        See `ClusteringModel`.

    Notes
    -----
    `cost` is the sum over objects of the divergence, in nats; 004 has the mean. At beta = n counts per object the
    assignment probabilities are those of multinomial sampling. The default grid is .8 to 100 units in 44 steps. It
    differs from `InformationBottleneck` in what is kept cheap: there large clusters are the more probable ones.

    `fit` and `anneal` take `fixed` (N,): the cluster of labelled objects, -1 for all others.

    References
    ----------
    004 section 4.1.

    Examples
    --------
    >>> import gencap as gc
    >>> X, labels, _ = gc.datasets.mixed_histograms(40, 2, n_counts=60, random_state=1)
    >>> gc.metrics.matched_precision(gc.HistogramClustering(2, random_state=0).fit(X).labels_, labels)
    1.0
    """

    def __init__(self, n_clusters=2, smoothing=0.0, n_init=1, random_state=None):
        self.n_clusters, self.smoothing, self.n_init, self.random_state = n_clusters, smoothing, n_init, random_state

    def _scale(self, X):
        width = check_number("smoothing", self.smoothing, 0.0, 1000 * X.shape[1], "1000 times the bins")
        return super()._scale(gaussian_filter1d(dense(X), width, axis=1, mode="reflect") if width else X)


class ParametricDistributionalClustering(_Distributions):
    """Clusters of histograms over ordered bins, each described by a mixture of Gaussians that all clusters share.

    Parameters
    ----------
    n_clusters : int
        Number of clusters K offered.
    n_prototypes : int
        Gaussians s, their centers spread evenly over [0, 1], both ends included; the bins part [0, 1] evenly.
    width : float
        Their standard deviation, in the same unit.
    n_init : int
        Runs; the one of lowest cost at the end is kept.
    random_state : int, Generator, RandomState or None

    Attributes
    ----------
    cluster_centers_ : ndarray, shape (K, D)
        The distributions q.
    mixing_weights_ : ndarray, shape (K, s)
        p(alpha | cluster).
    labels_, trajectory_, n_iter_, n_features_in_, feature_names_in_
        See `ClusteringModel`.

    Notes
    -----
    `cost` is the sum over objects of the divergence from the best mixture of their cluster, in nats. Assignment
    probabilities are those of `HistogramClustering` at these divergences: the prior p(c) of 004 section 4.2 is even,
    as large clusters would draw in small ones at the first splits. Prototypes wider than the features of the data blur
    what tells clusters apart; more and narrower ones cost only some of what is won in few counts. The
    default grid is .8 to 100 units in 44 steps.

    `fit` and `anneal` take `fixed` (N,): the cluster of labelled objects, -1 for all others.

    References
    ----------
    004 section 4.2.

    Examples
    --------
    >>> import gencap as gc
    >>> X, labels, _ = gc.datasets.mixed_histograms(40, 2, n_counts=60, random_state=1)
    >>> gc.metrics.matched_precision(gc.ParametricDistributionalClustering(2, random_state=0).fit(X).labels_, labels)
    1.0
    """

    _mixing, _ends = None, ()

    def __init__(self, n_clusters=2, n_prototypes=8, width=0.08, n_init=1, random_state=None):
        self.n_clusters, self.n_prototypes, self.width = n_clusters, n_prototypes, width
        self.n_init, self.random_state = n_init, random_state

    def _prototypes(self, n_bins):
        n_prototypes = check_integer("n_prototypes", self.n_prototypes)
        return rectified_gaussians(n_bins, np.linspace(0, 1, n_prototypes), self.width)

    def _mixtures(self, counts, start, steps):
        """Best mixtures (K, D) for rows of counts, and their weights (K, s), from weights to start with."""
        G = self._prototypes(counts.shape[1])
        weights = np.maximum(np.broadcast_to(start, (len(counts), len(G))), RARE)
        weights, densities = weights / weights.sum(axis=1, keepdims=True), np.ascontiguousarray(G.T)
        for row, own in zip(counts, weights, strict=True):
            kernels.mixing_weights(row, densities, own, EXACT, steps)
        return weights @ G, weights

    def _natural(self, sums, n, mean):
        counts = (sums + self._prior * mean).reshape(-1, sums.shape[-1])
        known = np.shape(self._mixing)[:1] == (len(counts),)
        q, self._mixing = self._mixtures(counts, self._mixing if known else 1.0, FEW_STEPS if known else MOST_STEPS)
        return np.log(q).reshape(sums.shape), np.zeros(np.shape(n))

    def _score(self, sums, n):
        return float(xlogy(sums, self._mixtures(sums[None], 1.0, MOST_STEPS)[0][0]).sum()) if n else 0.0

    def _unit(self, X):
        mean, G = X.mean(axis=0), self._prototypes(X.shape[1])
        (q,), (weights,) = self._mixtures(mean[None], 1.0, MOST_STEPS)
        used = weights > ABSENT
        # A change of the mean histogram moves the weights by A^-1 B of it, A the information about them.
        B = G[used] / q
        moved = B @ (X - mean).T
        A = B * mean @ B.T
        top = eigh(moved @ moved.T / len(X), A + EXACT * np.trace(A) * np.eye(len(A)))[0][-1]
        return temperature_unit(1.0, top if top > EQUAL else 0.0)

    def _run(self, state, betas, init, rng):
        self._mixing = None  # every run begins without those of the one before
        run = super()._run(state, betas, init, rng)
        self._ends = [*self._ends, (run[1], self._mixing)]
        return run

    def _kept(self, state, P):
        self._mixing = next(mixing for end, mixing in self._ends if end is P)
        learned = super()._kept(state, P)
        return learned | {"cluster_centers_": np.exp(learned["natural_"][0]), "mixing_weights_": self._mixing}
