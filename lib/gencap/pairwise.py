"""Pairwise clustering: the similarity inside clusters, each cluster normalised by its size (000 chapter 6.1.1).

With X = -D for squared Euclidean distances D the cost is the k-means cost, sum_i ||x_i - mu_c(i)||^2, so pairwise
clustering is k-means without vectors.  (With the Gram matrix in the place of X it is half of that minus a constant: the
same clusterings, at twice the inverse temperature.)  Constant-shift embedding runs the equality backwards: any
symmetric X has vectors whose k-means cost is the pairwise clustering cost up to a constant.
"""

import numpy as np
import scipy.sparse

from .annealing import Trajectory, beta_grid, signed
from .centroid import AnnealedKMeans
from .checks import check_option
from .kernels import similarity as kernels
from .measures import constant_shift_embedding
from .similarity import Rule, SimilarityClustering, centring, temperature_unit, top_eigenvalue

__all__ = ["PairwiseClustering"]


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
        expectation-maximisation for "meanfield", sequential sampling for "gibbs"), from hot to cold. The
        trajectory then has centroids, and X must be dense.
    n_init : int
        Random starts that are cooled; the one of lowest cost is kept.
    n_sweeps : int
        Sweeps that the samplers average over at every temperature.
    random_state : int, Generator, RandomState or None

    Attributes
    ----------
    labels_ : ndarray of int, shape (N,)
    trajectory_ : Trajectory

    Notes
    -----
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

    def _rule(self):
        return Rule(kernels.ASSOCIATION, scale=0.5, use_diagonal=True)

    def _unit(self, X):
        diagonal = X.diagonal().astype(np.float64)
        centred = centring(X.sum(axis=1, dtype=np.float64))
        return temperature_unit(X.shape[0], top_eigenvalue(X, lambda v: diagonal * v + centred(v)))

    def _cost(self, links, diagonal, size, constant):
        return -0.5 * ((np.diag(links) + diagonal) / np.maximum(size, 1)).sum()

    def anneal(self, X, betas=None, init=None):
        """Anneal on X and return the run; as for every model on similarities.

        Parameters
        ----------
        X : array_like or scipy.sparse matrix, shape (N, N)
            Symmetric similarities, not written to.
        betas : array_like, shape (T,), or None
            Ascending inverse temperatures; None takes .8 to 20 units in 25 steps.
        init : Trajectory or None
            At every beta start from its assignments (with `embedding`, its centroids): paired starts.

        Returns
        -------
        Trajectory

        Raises
        ------
        ValueError
            As for the other models; with `embedding` also X sparse or of a single object, or inference "metropolis".
        """
        if not check_option("embedding", self.embedding, (False, True)):
            return super().anneal(X, betas, init)
        if scipy.sparse.issparse(X):
            raise ValueError("X is sparse, accepted with embedding=True is a dense matrix: its vectors would be dense")
        if self.inference == "metropolis":
            raise ValueError("inference='metropolis', accepted with embedding=True is 'meanfield' or 'gibbs'")
        given, X = X, self._check(X)
        unit = self._unit(X)
        model = AnnealedKMeans(
            self.n_clusters, self.inference, "sequential", self.n_init, self.n_sweeps, self.random_state
        )
        vectors = constant_shift_embedding(-X).vectors
        run = model.anneal(vectors, beta_grid(unit, 0.8, 20, 25) if betas is None else betas, init)
        costs = np.array([self._labels_cost(run.labels(t), X, 0.0) for t in range(run.n_steps)])
        run = Trajectory(run.betas, run.probabilities, run.potentials, costs, run.centroids, unit)
        return signed(run, self, given)
