"""Pairwise clustering: the similarity inside clusters, each cluster normalised by its size (000 chapter 6.1.1).

With X = -D for squared Euclidean distances D the cost is the k-means cost, sum_i ||x_i - mu_c(i)||^2, so pairwise
clustering is k-means without vectors.  (With the Gram matrix in the place of X it is half of that minus a constant: the
same clusterings, at twice the inverse temperature.)  Constant-shift embedding runs the equality backwards: any
symmetric X has vectors whose k-means cost is the pairwise clustering cost up to a constant.
"""

import numpy as np

from ..checks import as_array, check_option
from ..kernels import similarity as kernels
from ..trajectory import beta_grid
from ..views.measures import constant_shift_embedding
from .centroid import AnnealedKMeans
from .similarity import Rule, SimilarityClustering
from .spectrum import centring, temperature_unit, top_eigenvalue


class PairwiseClustering(SimilarityClustering):
    """Pairwise clustering (000 Eq. 98): R = -1/2 sum_k sum_{i,j in k} X_ij / |O_k|, self-similarities included.

    A constant added to all similarities, the diagonal included, changes every cost by the same amount and no
    clustering. Added off the diagonal only, it changes the cost by -shift (N - K') / 2, which depends on the number K'
    of non-empty clusters.

    Parameters
    ----------
    n_clusters : int
        Number of clusters K offered.
    inference : {"meanfield", "gibbs", "metropolis"}
        How the probabilities on the grid are computed. "gibbs" is exact sequential sampling: after every object the
        cluster sizes and sums follow.
    embedding : bool
        Take the way over vectors: constant-shift embedding of D = -X, then annealed k-means on the vectors (by
        expectation-maximisation for "meanfield", else sequential sampling), from hot to cold on its grid, .9 to
        120 units in 40 steps, and at every temperature from the branch of the search without vectors; the lower coldest
        cost is kept. The trajectory then has centroids, from which an `init` starts, and X must be dense.
    n_init : int
        Random starts that are cooled, beside one from the leading eigenvectors (with `embedding`: annealing runs); the
        lowest cost is kept.
    n_sweeps : int
        Sweeps that the samplers average over at every temperature.
    random_state : int, Generator, RandomState or None

    Attributes
    ----------
    labels_, trajectory_, n_iter_, n_features_in_, feature_names_in_
        See `ClusteringModel`.

    Notes
    -----
    `fit` gives the labels at the coldest step of a temperature grid, not those of k-means: the default grid ends at 20
    units (120 with `embedding`), and clusters that are closer than its last temperature resolves share their members by
    the search at zero temperature, whose lowest cost is that of k-means. `anneal` with colder betas resolves them.

    The temperature unit is N / l1 with the top eigenvalue l1 of the centred X; for X = -D it is the 1 / (2 lambda_max)
    of k-means.

    Examples
    --------
    >>> import numpy as np, gencap as gc
    >>> X = -gc.measures.squared_euclidean_distances(np.array([[0.0], [0.1], [5.0], [5.2]]))
    >>> labels = gc.PairwiseClustering(n_clusters=2, random_state=0).fit(X).labels_
    >>> bool(labels[0] == labels[1] != labels[2] == labels[3])
    True
    """

    def __init__(self, n_clusters=2, inference="meanfield", embedding=False, n_init=3, n_sweeps=120, random_state=None):
        super().__init__(n_clusters, inference, n_init, n_sweeps, random_state)
        self.embedding = embedding

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = not self.embedding
        return tags

    _use_diagonal = _centred = True

    @property
    def _heats(self):
        return not self.embedding

    def _rule(self):
        return Rule(kernels.ASSOCIATION, scale=0.5)

    def _unit(self, X):
        diagonal = X.diagonal().astype(np.float64)
        centred = centring(X.sum(axis=1, dtype=np.float64))
        return temperature_unit(X.shape[0], top_eigenvalue(X, lambda v: diagonal * v + centred(v)))

    def _cost(self, links, size, constant):
        return -0.5 * (np.einsum("...kk->...k", links) / np.maximum(size, 1) + self._offset * size).sum(axis=-1)

    def _anneal(self, X, betas, init):
        if not check_option("embedding", self.embedding, (False, True)) or X.shape[0] == 1:  # one object: no distances
            return super()._anneal(X, betas, init)
        unit = self._unit(X)
        betas = beta_grid(unit, 0.9, 120, 40) if betas is None else betas
        vectors = constant_shift_embedding(-as_array("X", X, None)).vectors  # a sparse X is refused
        search = self.n_init, self.n_sweeps, self.random_state
        model, prepared = AnnealedKMeans(self.n_clusters, self.inference, "sequential", *search)._prepared(vectors)
        runs = [model._anneal(prepared, betas, init)]
        if init is None:  # in many dimensions, annealing may lose its way: the search offers its solution
            searched = super()._anneal(X, betas, None)
            mass = np.maximum(searched.probabilities.sum(axis=1, dtype=np.float64), 1e-300)
            searched.centroids = searched.probabilities.transpose(0, 2, 1) @ vectors / mass[:, :, None]
            runs.append(model._anneal(prepared, betas, searched))
        for run in runs:
            run.costs = np.array([self._labels_cost(run.labels(t), X, 0.0) for t in range(run.n_steps)])
        best = min(runs, key=lambda run: run.costs[-1])
        best.unit, best.learned = unit, self._solved(best.labels(), X)
        return best
