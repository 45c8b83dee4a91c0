"""Normalised cuts: what a partition cuts, each cluster normalised by its degree or its size (000 chapter 6.1).

Both are costs of K non-empty clusters: one cluster that holds everything cuts nothing and costs 0. So no sampler moves
the last member of a cluster, and mean field keeps every assignment probability above a floor. Self-similarities
are not used.
"""

import numpy as np

from ..checks import check_number
from ..kernels import similarity as kernels
from .quadratic import CorrelationClustering
from .similarity import Rule, SimilarityClustering
from .spectrum import centring, degrees, temperature_unit, top_eigenvalue

# Smallest assignment probabilities; without them, an empty cluster of no cost absorbs every run. The cut of a cluster
# of such probabilities only must stand out from the rounding errors of single precision, hence the second.
NORMALIZED_FLOOR, RATIO_FLOOR = 1e-9, 1e-6
KINK = 1.1  # the cut with p below it is cooled with this p first: at p = 1 the cost has a kink at equal sizes
STIFF = 1.3  # below this p a balanced start that is held cold is offered as well
LATEST = 8.0  # units; a lopsided start must not be heated before it had its chance


def _random_labels(n_objects, n_clusters, rng, alone=()):
    """Random labels, every cluster taken; the objects `alone` have the last clusters for themselves."""
    order = rng.permutation(np.setdiff1d(np.arange(n_objects), alone))
    n_shared = n_clusters - len(alone)
    labels = np.empty(n_objects, np.int64)
    labels[np.asarray(alone, int)] = n_shared + np.arange(len(alone))
    labels[order] = rng.integers(n_shared, size=len(order))
    labels[order[:n_shared]] = np.arange(n_shared)
    return labels


class NormalizedCut(SimilarityClustering):
    """Normalised cut (000 Eq. 101): R = sum_k links(O_k, rest) / degree(O_k).

    For clusters of equal size whose objects have equal degrees it orders the clusterings as pairwise clustering does.
    It is not invariant under a shift of the similarities.

    Parameters
    ----------
    n_clusters : int
        Number of clusters K.
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

    Raises
    ------
    ValueError
        From `cost`, `anneal` and `fit`: also when an object's similarities to the others sum to 0 or less.

    Notes
    -----
    Given the fields, the new potentials of an object take O(K): the links and degrees of the clusters are kept up to
    date (000 Eq. 105-112). The temperature unit is sum(d) / (2 l1(X - dd'/sum(d))) with the degrees d of X, its
    diagonal filled so that it counts as no structure.

    Examples
    --------
    >>> import numpy as np, gencap as gc
    >>> X = np.kron(np.eye(2), np.ones((4, 4))) + 0.1
    >>> labels = gc.NormalizedCut(n_clusters=2, random_state=0).fit(X).labels_
    >>> bool(np.all(labels[:4] == labels[0]) and labels[0] != labels[-1])
    True
    """

    _positive_only = True

    def _rule(self):
        return Rule(kernels.ASSOCIATION, floor=NORMALIZED_FLOOR)

    def _weights(self, X):
        degree = degrees(X)
        low = np.flatnonzero(~(degree > 0))
        if low.size:
            rows = ", ".join(map(str, low[:10]))
            raise ValueError(f"Negative values in data, or only zeros: X has {low.size} rows ({rows}) whose "
                             "similarities to the others sum to 0 or less; accepted are positive degrees")  # fmt: skip
        return degree

    def _unit(self, X):
        degree = self._weights(X)
        total = degree.sum()
        # The diagonal is not counted, so it is filled with what the degrees let expect; zeros would be structure.
        expected = degree**2 / np.maximum(total - degree, 1e-300)
        filled = degree + expected
        eigenvalue = top_eigenvalue(X, lambda v: expected * v - filled * (filled @ v / filled.sum()))
        return temperature_unit(total, 2 * eigenvalue)

    def _starts(self, X, rng):
        return [(_random_labels(X.shape[0], self.n_clusters, rng), 0.0) for _ in range(self.n_init)]

    def _cost(self, links, size, constant):
        taken = size > 0
        degree = np.where(taken, links.sum(axis=-1), 1.0)
        return (taken - np.where(taken, np.einsum("...kk->...k", links), 0.0) / degree).sum(axis=-1)


class AdaptiveRatioCut(SimilarityClustering):
    """Adaptive ratio cut (000 Eq. 117): every cut normalised by the sizes of the two clusters it separates.

    R = sum_{k<l} links(O_k, O_l) (|O_k|^(-1/(p-1)) + |O_l|^(-1/(p-1)))^(p-1). At p = 2 it is Ratio Cut,
    sum_k links(O_k, rest) / |O_k|; for p -> 1 the bracket tends to 1 / min(|O_k|, |O_l|), the Cheeger cut. The smaller
    p, the less it pays to cut off a single object.

    Parameters
    ----------
    n_clusters : int
        Number of clusters K.
    p : float
        1 (Cheeger) to 2 (Ratio Cut).
    inference : {"meanfield", "gibbs", "metropolis"}
        How the probabilities on the fine grid are computed; cooling is always Gibbs.
    n_init : int
        Starts that are cooled; every second one is lopsided, with objects of low degree alone in their clusters: from
        a random start, the branch that leads to balanced partitions never finds the singletons of Ratio Cut. Below
        p = 1.3 the labels of strongly shifted correlation clustering are offered besides, and always those from the
        leading eigenvectors.
    n_sweeps : int
        Sweeps that the samplers average over at every temperature (not used by mean field).
    random_state : int, Generator, RandomState or None

    Attributes
    ----------
    labels_, trajectory_, n_iter_, n_features_in_, feature_names_in_
        See `ClusteringModel`.

    Notes
    -----
    Given the fields, the new potentials of an object take O(K^2): the links between the clusters are kept up to date
    (000 Eq. 119-125, with q_ju in the last sum of Eq. 121). The temperature unit is N / (2^(p-1) l1), l1 the top
    eigenvalue of the centred X.

    Examples
    --------
    >>> import numpy as np, gencap as gc
    >>> X = np.kron(np.eye(2), np.ones((4, 4))) + 0.1
    >>> labels = gc.AdaptiveRatioCut(n_clusters=2, p=1.2, random_state=0).fit(X).labels_
    >>> bool(np.all(labels[:4] == labels[0]) and labels[0] != labels[-1])
    True
    """

    means_positive = True

    def __init__(self, n_clusters=2, p=1.5, inference="meanfield", n_init=6, n_sweeps=120, random_state=None):
        super().__init__(n_clusters, inference, n_init, n_sweeps, random_state)
        self.p = p

    def _rule(self, lowest=1.0):
        return Rule(kernels.RATIO, p=max(check_number("p", self.p, 1.0, 2.0), lowest), floor=RATIO_FLOOR)

    def _unit(self, X):
        # The diagonal is not counted, so it is filled with the mean; zeros would be structure.
        p, n_objects, degree = self._rule().p, X.shape[0], degrees(X)
        mean = degree.sum() / max(n_objects * (n_objects - 1), 1)
        centred = centring(degree + mean)
        return temperature_unit(n_objects, 2 ** (p - 1) * top_eigenvalue(X, lambda v: mean * v + centred(v)))

    def _starts(self, X, rng):
        starts, order = [], np.argsort(degrees(X), kind="stable")
        for n in range(self.n_init):
            n_alone = 1 + n // 2 % (self.n_clusters - 1) if n % 2 and self.n_clusters > 1 else 0
            alone = order[n // 2 % len(order) :][:n_alone]
            starts.append((_random_labels(len(order), self.n_clusters, rng, alone), LATEST if n_alone else 0.0))
        if self.p < STIFF:
            # Single moves freeze in a cost that is nearly balanced Min Cut; correlation clustering with a very negative
            # shift is nearly the same problem and softer; its labels only need to descend.
            cut = CorrelationClustering(self.n_clusters, shift=-float(max(X.max(), -X.min())))
            labels = cut._cool(X, cut._unit(X), rng, *cut._starts(X, rng)[0])
            if len(np.unique(labels)) == self.n_clusters:
                starts.append((labels, np.inf))
        return starts

    def _quadratic_form(self, X):
        # At p = 2 the cost is that of pairwise clustering of X minus the degrees on the diagonal.
        return Rule(kernels.ASSOCIATION, floor=RATIO_FLOOR), self._weights(X), -degrees(X)

    def _cool(self, X, unit, rng, labels, first):
        labels = super()._cool(X, unit, rng, labels, first, self._rule(KINK))
        if self.p < KINK:
            labels = self._descend(X, labels, unit, rng)
        return labels

    def _cost(self, links, size, constant):
        k, v = np.triu_indices(size.shape[-1], 1)
        few, many = np.minimum(size[..., k], size[..., v]), np.maximum(size[..., k], size[..., v])
        taken, few, many = few > 0, np.maximum(few, 1), np.maximum(many, 1)
        factor = np.exp((self.p - 1) * np.log1p((few / many) ** (1 / max(self.p - 1, 1e-9)))) / few
        return (taken * links[..., k, v] * factor).sum(axis=-1)
