"""Dominant sets: clusters as stable states of replicator dynamics, peeled off one after the other (000 chapter 6.2).

A cluster is a vector v on the simplex, v_i the participation of object i, and its cohesion is v'Xv.  The replicator
equation v_i <- v_i (Xv)_i / v'Xv raises the cohesion until v has settled on a dense part of the graph; the objects
that still take part are cut off and the dynamics starts again on the rest.  The algorithm minimises no cost, so its
trajectory is one of steps, not of temperatures, and its capacity is read off the final labels by a Hamming metric
(`capacity.hamming_capacity`).
"""

import numpy as np
import scipy.sparse

from ..checks import LARGEST, check_integer, check_n_clusters, check_number, check_similarity
from ..trajectory import Trajectory, check_betas
from .base import ClusteringModel
from .similarity import sums_of_links

CONVERGED = 1e-7  # total change of v in a step; from there on v is taken as settled


def replicator_dynamics(X, v, n_steps, shift=0.0):
    """States of the replicator equation, one after the other (000 Eq. 129).

    Parameters
    ----------
    X : ndarray or sparse array, shape (N, N)
        Symmetric and non-negative after the shift; the diagonal is ignored.
    v : ndarray, shape (N,)
        Start on the simplex. Objects with v=0 stay out.
    n_steps : int
    shift : float
        Added to every off-diagonal similarity.

    Yields
    ------
    v : ndarray, shape (N,)
        After each step; ends early when v has settled or its cohesion is 0 (no two of its objects are similar).

    Examples
    --------
    >>> import numpy as np, gencap as gc
    >>> X = np.zeros((5, 5))
    >>> X[:3, :3] = 1
    >>> *_, v = gc.replicator_dynamics(X, np.full(5, 0.2), 50)
    >>> v.round(3).tolist()
    [0.333, 0.333, 0.333, 0.0, 0.0]
    """
    for _ in range(n_steps):
        # The shift and the missing diagonal never touch the matrix. Below the normal numbers of single precision a
        # product takes ten times as long.
        w = np.where(v > 1e-30, v, 0.0)
        gain = (X @ w.astype(X.dtype)).astype(np.float64) - X.diagonal() * w + shift * (w.sum() - w)
        cohesion = v @ gain
        if cohesion <= 0:
            return
        following = v * gain / cohesion
        following /= following.sum()  # keeps rounding errors of float32 products off the simplex
        change = np.abs(following - v).sum()
        v = following
        yield v
        if change < CONVERGED:
            return


class DominantSets(ClusteringModel):
    """Dominant set clustering by replicator dynamics and peeling (000 Algorithm 6, its condition read as AND).

    Parameters
    ----------
    n_clusters : int
        Clusters K that are peeled off; objects left over join the cluster to whose core they are most similar.
    max_steps : int
        Replicator steps per cluster. Few leave most objects in, many shrink a cluster to the densest few.
    cutoff : float
        Objects with at least this share of the largest participation are cut off, in (0, 1].
    shift : float
        Added to every off-diagonal similarity; a positive one gives coarser clusters.

    Attributes
    ----------
    cores_ : ndarray of int, shape (N,)
        Cluster each object was cut off with, -1 for those assigned afterwards.
    labels_, trajectory_, n_iter_, n_features_in_, feature_names_in_
        See `ClusteringModel`; iterations are replicator steps.

    Notes
    -----
    The steps of `anneal` are no temperatures: `betas` are ascending step counts in 1..n_clusters * max_steps (None
    takes up to 60, evenly spaced, the last included), so the loop over them is the model's own. An `init` is refused:
    the dynamics starts from equal participation (up to a thousandth, to break ties). Probabilities are 0 or 1, and 1/K
    for objects that have no cluster yet; at the last step everybody has one. There are no potentials along the run.

    `cost` is minus the sum over clusters of the cohesion v'Xv at equal participation of the members, shift included.
    The algorithm does not minimise it; it is there to compare labellings.

    Examples
    --------
    The larger of two equally tight groups has the larger cohesion and comes off first.

    >>> import numpy as np, gencap as gc
    >>> X = np.zeros((8, 8))
    >>> X[:3, :3] = X[3:, 3:] = 1
    >>> gc.DominantSets(n_clusters=2).fit(X).labels_.tolist()
    [1, 1, 1, 0, 0, 0, 0, 0]
    """

    capacity_entropy = "same"  # at a step that shows one cluster, the entropy of the last one is none of it
    _pairwise = _positive_only = True

    def __init__(self, n_clusters=2, max_steps=100, cutoff=1e-3, shift=0.0):
        self.n_clusters, self.max_steps, self.cutoff, self.shift = n_clusters, max_steps, cutoff, shift

    def _exact(self, X):
        X = check_similarity("X", X, use_diagonal=False)
        check_n_clusters(self.n_clusters, X.shape[0])
        check_integer("max_steps", self.max_steps)
        check_number("cutoff", self.cutoff, np.nextafter(0, 1), 1.0)
        shift = check_number("shift", self.shift, -LARGEST, LARGEST)
        lowest = float(X.min()) + shift
        if lowest < 0 and shift < 0 and not scipy.sparse.issparse(X):  # the diagonal is 0, and does not count
            lowest = float(np.where(np.eye(len(X), dtype=bool), np.inf, X).min()) + shift
        if lowest < 0:
            raise ValueError(f"Negative values in data: X + shift must be non-negative off the diagonal, got "
                             f"{lowest:.4g}; add a constant to the similarities or give a larger shift")  # fmt: skip
        return X

    def _labels_cost(self, labels, X):
        links, size = sums_of_links(labels, X, int(self.n_clusters))
        return -float(((links.diagonal() + self.shift * size * (size - 1)) / np.maximum(size, 1) ** 2).sum())

    def _anneal(self, X, betas, init):
        if init is not None:
            raise ValueError("init must be None: the dynamics starts from equal participation")
        # NumPy's small integers would overflow in the products.
        n_objects, n_clusters, max_steps = X.shape[0], int(self.n_clusters), int(self.max_steps)
        last = n_clusters * max_steps
        steps = np.unique(np.linspace(1, last, min(last, 60)).round()) if betas is None else check_betas(betas)
        if (steps != steps.round()).any() or steps[-1] > last:
            raise ValueError(f"betas must be whole step counts in 1..n_clusters * max_steps = {last}, got {betas!r}")
        cores, n_iter, shown = np.full(n_objects, -1), 0, np.full((len(steps), n_objects), -1)
        # Equal blocks would balance each other forever: a thousandth of unevenness lets one of them win.
        uneven = 1 + 1e-3 * np.random.default_rng(0).random(n_objects)
        for k in range(n_clusters):
            free = cores < 0
            if not free.any():
                break
            start = free * uneven
            states = replicator_dynamics(X, start / start.sum(), max_steps, self.shift)
            members = [free & (v >= self.cutoff * v.max()) for v in states]
            n_iter += len(members)
            members = members or [free]
            for row in np.flatnonzero((steps > k * max_steps) & (steps <= (k + 1) * max_steps)):
                shown[row] = np.where(members[min(int(steps[row]) - k * max_steps, len(members)) - 1], k, cores)
            cores[members[-1]] = k
        labels, free = cores.copy(), cores < 0
        labels[free] = self._mean_similarity(X, cores)[free].argmax(axis=1)
        # Steps after the last object was cut off, and the very last one, at which the rest is assigned.
        shown[(steps > (cores.max() + 1) * max_steps) | (steps == last)] = labels
        costs = np.array([self._labels_cost(labels, X) for labels in np.maximum(shown, 0)])
        one = np.vstack([np.eye(n_clusters), np.full(n_clusters, 1 / n_clusters)]).astype(np.float32)  # the last: none
        return Trajectory(steps, one[shown], None, costs, n_iter=n_iter, learned={"cores_": cores})

    def _mean_similarity(self, X, cores):
        """Mean similarity to the objects of every core, shape (N, K), minus infinity where a core is empty."""
        members = np.eye(self.n_clusters)[cores] * (cores >= 0)[:, None]
        size = members.sum(axis=0)
        return np.where(size > 0, X @ members.astype(X.dtype) / np.maximum(size, 1), -np.inf)

    def potentials(self, X_new):
        """Minus the mean similarity of new objects to the cores of the fitted clusters, by which the rest is assigned.

        Parameters
        ----------
        X_new : array_like or scipy.sparse matrix, shape (N_new, N)
            Similarities of the new objects to the fitted ones.

        Returns
        -------
        ndarray, shape (N_new, K)
            Infinite for empty clusters.
        """
        return -self._mean_similarity(self._checked("X_new", X_new), self.cores_)
