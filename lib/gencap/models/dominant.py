"""Dominant sets: clusters as stable states of replicator dynamics, peeled off one after the other (000 chapter 6.2).

A cluster is a vector v on the simplex, v_i the participation of object i, and its cohesion is v'Xv.  The replicator
equation v_i <- v_i (Xv)_i / v'Xv raises the cohesion until v has settled on a dense part of the graph; the objects
that still take part are cut off and the dynamics starts again on the rest.  The algorithm minimises no cost, so its
trajectory is one of steps, not of temperatures, and its capacity is read off the final labels by a Hamming metric
(`capacity.hamming_capacity`).
"""

import numpy as np
from sklearn.base import BaseEstimator, ClusterMixin

from ..checks import LARGEST, as_array, check_integer, check_labels, check_n_clusters, check_number, check_similarity
from ..resources import one_thread
from ..trajectory import Trajectory, signed
from .similarity import SimilarityInput

CONVERGED = 1e-7  # total change of v in a step; from there on v is taken as settled


def _product(X, v, shift):
    """(X + shift (11' - I) without diagonal) v; the shift and the missing diagonal never touch the matrix."""
    v = np.where(v > 1e-30, v, 0.0)  # below the normal numbers of single precision a product takes ten times as long
    result = (X @ v.astype(X.dtype)).astype(np.float64) - X.diagonal() * v
    return result + shift * (v.sum() - v)


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
    """
    for _ in range(n_steps):
        gain = _product(X, v, shift)
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


class DominantSets(SimilarityInput, ClusterMixin, BaseEstimator):
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
    labels_ : ndarray of int, shape (N,)
    cores_ : ndarray of int, shape (N,)
        Cluster each object was cut off with, -1 for those assigned afterwards.
    trajectory_ : Trajectory
    n_iter_ : int
        Replicator steps of all clusters.

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

    def __init__(self, n_clusters=2, max_steps=100, cutoff=1e-3, shift=0.0):
        self.n_clusters = n_clusters
        self.max_steps = max_steps
        self.cutoff = cutoff
        self.shift = shift

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        return tags

    def _check(self, X):
        X = check_similarity("X", X, use_diagonal=False)
        check_n_clusters(self.n_clusters, X.shape[0])
        check_integer("max_steps", self.max_steps)
        check_number("cutoff", self.cutoff, np.nextafter(0, 1), 1.0)
        shift = check_number("shift", self.shift, -LARGEST, LARGEST)
        if float(X.min()) + shift < 0 and (lowest := _lowest_off_diagonal(X) + shift) < 0:
            raise ValueError(
                f"X + shift must be non-negative off the diagonal, got {lowest:.4g}; "
                "add a constant to the similarities or give a larger shift"
            )
        return X

    def cost(self, labels, X):
        """Minus the sum over clusters of the cohesion v'Xv at equal participation of the members, shift included.

        The algorithm does not minimise it; it is there to compare labellings. An empty cluster counts 0.

        Parameters
        ----------
        labels : array_like of int, shape (N,)
        X : array_like or sparse matrix, shape (N, N)

        Returns
        -------
        float
        """
        X = self._check(X)
        return self._labels_cost(check_labels("labels", labels, X.shape[0], self.n_clusters), X)

    def _labels_cost(self, labels, X):
        members = np.eye(self.n_clusters)[labels]
        size = members.sum(axis=0)
        links = (members * (X @ members.astype(X.dtype))).sum(axis=0)
        return -float(((links + self.shift * size * (size - 1)) / np.maximum(size, 1) ** 2).sum())

    def anneal(self, X, betas=None, init=None):
        """Peel off the clusters and record the assignments at the steps `betas`.

        Parameters
        ----------
        X : array_like or scipy.sparse matrix, shape (N, N)
        betas : array_like, shape (T,), or None
            Ascending step counts in 1..n_clusters * max_steps; None takes up to 60, evenly spaced, the last included.
        init : None
            Not used: the dynamics starts from equal participation (up to a thousandth, to break ties).

        Returns
        -------
        Trajectory
            `betas` are the step counts. Probabilities are 0 or 1, and 1/K for objects that have no cluster yet; at
            the last step everybody has one. No potentials.

        Raises
        ------
        ValueError
            X not square, symmetric, finite, or negative after the shift; n_clusters, max_steps, cutoff or betas
            outside their range; an `init`.
        """
        return signed(self._peel(self._check(X), betas, init)[0], self, X)

    @one_thread()
    def _peel(self, X, betas=None, init=None):
        if init is not None:
            raise ValueError("init must be None: the dynamics starts from equal participation")
        # NumPy's small integers would overflow in the products.
        n_objects, n_clusters, max_steps = X.shape[0], int(self.n_clusters), int(self.max_steps)
        last = n_clusters * max_steps
        steps = _check_steps(betas, last)
        probabilities = np.full((len(steps), n_objects, n_clusters), 1 / n_clusters, np.float32)
        cores, row, n_iter = np.full(n_objects, -1), 0, 0
        # Equal blocks would balance each other forever: a thousandth of unevenness lets one of them win.
        uneven = 1 + 1e-3 * np.random.default_rng(0).random(n_objects)

        def record(until, members, k):
            """The steps below `until` show the clusters cut off so far and `members` as cluster k."""
            nonlocal row
            while row < len(steps) and steps[row] < until:
                current = cores.copy()
                current[members] = k
                found = np.flatnonzero(current >= 0)
                probabilities[row, found] = 0.0
                probabilities[row, found, current[found]] = 1.0
                row += 1

        for k in range(n_clusters):
            free = cores < 0
            if not free.any():
                break
            members = free
            start = free * uneven
            states = replicator_dynamics(X, start / start.sum(), max_steps, self.shift)
            for step, v in enumerate(states, 1):
                n_iter += 1
                record(k * max_steps + step, members, k)
                members = free & (v >= self.cutoff * v.max())
            record((k + 1) * max_steps + 1, members, k)
            cores[members] = k
        labels = self._assign_rest(X, cores)
        # Steps after the last object was cut off, and the very last one, at which the rest is assigned.
        probabilities[row:] = np.eye(n_clusters, dtype=np.float32)[labels]
        probabilities[-1] = np.eye(n_clusters, dtype=np.float32)[labels] if steps[-1] == last else probabilities[-1]
        costs = np.array([self._labels_cost(p.argmax(axis=1), X) for p in probabilities])
        return Trajectory(steps, probabilities, None, costs, n_iter=n_iter), cores, labels

    def _assign_rest(self, X, cores):
        """Objects without a cluster join the one to whose core their mean similarity is largest."""
        labels, free = cores.copy(), cores < 0
        members = np.eye(self.n_clusters)[cores] * ~free[:, None]
        size = members.sum(axis=0)
        mean = (X @ members.astype(X.dtype))[free] / np.maximum(size, 1)
        labels[free] = np.where(size > 0, mean, -np.inf).argmax(axis=1)
        return labels

    def fit(self, X, y=None):
        """Peel off the clusters of X.

        Parameters
        ----------
        X : array_like or scipy.sparse matrix, shape (N, N)
        y : ignored

        Returns
        -------
        self
        """
        run, self.cores_, self.labels_ = self._peel(self._check(X))
        self.trajectory_ = signed(run, self, X)
        self.n_iter_ = run.n_iter
        self.n_features_in_ = len(self.labels_)
        return self


def _check_steps(betas, last):
    if betas is None:
        return np.unique(np.linspace(1, last, min(last, 60)).round())
    steps = as_array("betas", betas, np.float64)
    if steps.ndim != 1 or steps.size == 0 or (steps != np.round(steps)).any() or (np.diff(steps) <= 0).any():
        raise ValueError(f"betas must be ascending whole step counts, got {betas!r}")
    if steps[0] < 1 or steps[-1] > last:
        raise ValueError(f"betas lie in {steps[0]:g}..{steps[-1]:g}, accepted is 1..n_clusters * max_steps = {last}")
    return steps


def _lowest_off_diagonal(X):
    """Smallest similarity of two different objects; the missing entries of a sparse matrix are zeros."""
    if hasattr(X, "tocoo"):
        entries = X.tocoo()
        values = entries.data[entries.row != entries.col]
        return float(min(values.min(initial=np.inf), 0.0 if values.size < X.shape[0] * (X.shape[0] - 1) else np.inf))
    return min((float(np.delete(row, i).min()) for i, row in enumerate(X)), default=0.0) if len(X) > 1 else 0.0
