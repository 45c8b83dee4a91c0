"""Quadratic models: correlation clustering with a shift, Min Cut and Max Cut (000 chapter 6.3).

With every unordered pair counted once, R_CC = R_MinCut(X + shift) + constant, so one kernel serves them all; the
potentials are h_ik = -sum_{j != i} (X_ij + shift) q_jk (000 Eq. 138 up to a constant in k).
"""

import numpy as np
import scipy.sparse

from ..checks import LARGEST, check_number
from ..kernels import similarity as kernels
from .similarity import Rule, SimilarityClustering
from .spectrum import temperature_unit, top_eigenvalue


class CorrelationClustering(SimilarityClustering):
    """Correlation clustering with a fixed number of clusters and a shift of the similarities (000 Eq. 137-139).

    The cost is the weight of disagreement: negative similarities inside clusters plus positive ones between them,
    every unordered pair once, after `shift` was added to all of them. A negative shift favours balanced clusters.

    Parameters
    ----------
    n_clusters : int
        Number of clusters K offered; surplus ones may stay empty.
    shift : float
        Added to every off-diagonal similarity, in units of X. It is never written into the matrix.
    inference : {"meanfield", "gibbs", "metropolis"}
        How the probabilities on the fine grid are computed; cooling is always Gibbs.
    n_init : int
        Random starts that are cooled, beside one from the leading eigenvectors; the lowest cost is kept.
    n_sweeps : int
        Sweeps that the samplers average over at every temperature (not used by mean field).
    random_state : int, Generator, RandomState or None

    Attributes
    ----------
    labels_, trajectory_, n_iter_, n_features_in_, feature_names_in_
        See `ClusteringModel`.

    Examples
    --------
    >>> import numpy as np, gencap as gc
    >>> X = np.kron(np.eye(2), np.ones((4, 4))) * 2 - 1
    >>> labels = gc.CorrelationClustering(n_clusters=2, random_state=0).fit(X).labels_
    >>> bool(np.all(labels[:4] == labels[0]) and labels[0] != labels[-1])
    True
    """

    def __init__(self, n_clusters=2, shift=0.0, inference="meanfield", n_init=3, n_sweeps=120, random_state=None):
        super().__init__(n_clusters, inference, n_init, n_sweeps, random_state)
        self.shift = shift

    _centred = cost_per_pair = True

    def _rule(self):
        return Rule(kernels.QUADRATIC, shift=check_number("shift", self.shift, -LARGEST, LARGEST) + self._offset)

    def _unit(self, X):
        # A constant moved from X into the shift changes no cost, so the mean of X must not count in the unit either.
        n_objects = X.shape[0]
        mean = X.sum(dtype=np.float64) / max(n_objects * (n_objects - 1), 1)
        return temperature_unit(self.n_clusters, top_eigenvalue(X, lambda v: -mean * (v.sum() - v)))

    def _constant(self, X):
        shift = self._rule().shift
        if not scipy.sparse.issparse(X):
            return kernels.positive_pairs(X, shift)
        upper = scipy.sparse.triu(X, 1)
        pairs = X.shape[0] * (X.shape[0] - 1) / 2
        return np.maximum(upper.data.astype(np.float64) + shift, 0).sum() + (pairs - upper.nnz) * max(shift, 0.0)

    def _cost(self, links, size, constant):
        inside = np.trace(links, axis1=-2, axis2=-1)
        return constant - (inside + self._rule().shift * (size * (size - 1)).sum(axis=-1)) / 2


class MinCut(SimilarityClustering):
    """Min Cut into at most K clusters: the sum of similarities between clusters, every pair once (000 Eq. 142).

    Correlation clustering without shift differs from it by a constant only. Max Cor (000 Eq. 143), which sums
    ordered pairs inside clusters, is -2 times the similarity kept: MinCut = constant + MaxCor / 2.

    Parameters
    ----------
    n_clusters, inference, n_init, n_sweeps, random_state
        As for `CorrelationClustering`.

    Attributes
    ----------
    labels_, trajectory_, n_iter_, n_features_in_, feature_names_in_
        See `ClusteringModel`.

    Examples
    --------
    >>> import numpy as np, gencap as gc
    >>> X = np.kron(np.eye(2), np.ones((4, 4))) * 2 - 1
    >>> float(gc.MinCut(n_clusters=2, random_state=0).fit(X).trajectory_.costs[-1])
    -16.0
    """

    _sign = 1.0
    _centred = cost_per_pair = True

    def _rule(self):
        return Rule(kernels.QUADRATIC, shift=self._offset, scale=self._sign)

    def _unit(self, X):
        constant = self._sign * self._offset
        return temperature_unit(self.n_clusters, top_eigenvalue(X, lambda v: constant * (v.sum() - v), self._sign))

    def _cost(self, links, size, constant):
        pairs = size.sum(axis=-1) ** 2 - (size**2).sum(axis=-1)
        between = links.sum(axis=(-2, -1)) - np.trace(links, axis1=-2, axis2=-1)
        return self._sign * (between + self._offset * pairs) / 2


class MaxCut(MinCut):
    """Max Cut into at most K clusters: minus the sum of similarities between clusters (000 Eq. 146).

    Parameters
    ----------
    n_clusters, inference, n_init, n_sweeps, random_state
        As for `CorrelationClustering`.

    Attributes
    ----------
    labels_, trajectory_, n_iter_, n_features_in_, feature_names_in_
        See `ClusteringModel`.

    Examples
    --------
    >>> import numpy as np, gencap as gc
    >>> X = 1 - 2 * np.kron(np.eye(2), np.ones((4, 4)))
    >>> float(gc.MaxCut(n_clusters=2, random_state=0).fit(X).trajectory_.costs[-1])
    -16.0
    """

    _sign = -1.0
