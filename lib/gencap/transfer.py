"""Transfer costs: what a solution found on one data set costs on another (000 chapters 3 and 5.4.2, 002).

A transfer has two parts: a *mapping* carries the labels of data set 1 to the objects of data set 2 (the functions
`map_...`), and the model's own cost judges them on data set 2. A solution that has fitted the noise of data set 1 is
dear there.
"""

import numpy as np
import scipy.sparse
from scipy.spatial.distance import cdist
from sklearn.base import clone

from .annealing import Trajectory, one_hot
from .checks import check_integer, check_labels, check_option, check_similarity, check_vectors
from .kernels.similarity import QUADRATIC
from .measures import match_objects
from .similarity import SimilarityClustering

__all__ = [
    "map_hungarian",
    "map_nearest_cluster",
    "split_similarities",
    "transfer_cost",
    "transfer_costs",
    "transfer_labels",
]


def transfer_costs(trajectory, X2):
    """Cost of data set 2 under the centroids and assignment probabilities of data set 1, at every temperature.

    Objects are paired by construction: row i of X2 is the second measurement of object i (000 Eq. 94).

    Parameters
    ----------
    trajectory : Trajectory
        A run of a model with centroids on data set 1.
    X2 : array_like, shape (N, D)

    Returns
    -------
    ndarray, shape (T,)
        mean_i sum_k P1_ik ||x2_i - mu_k||^2, in the squared units of the data.

    Raises
    ------
    TypeError
        `trajectory` is not a Trajectory.
    ValueError
        It has no centroids, or X2 has another shape than data set 1.
    """
    if not isinstance(trajectory, Trajectory):
        raise TypeError(f"trajectory must be a Trajectory, got {type(trajectory).__name__}")
    if trajectory.centroids is None:
        raise ValueError("trajectory has no centroids; transfer costs need a model on vectors")
    X2 = check_vectors("X2", X2)
    wanted = (trajectory.n_objects, trajectory.centroids.shape[2])
    if X2.shape != wanted:
        raise ValueError(f"X2 has shape {X2.shape}, accepted is the shape of data set 1, {wanted}")
    return np.array(
        [
            (probabilities * cdist(X2, centroids, "sqeuclidean")).sum() / len(X2)
            for probabilities, centroids in zip(trajectory.probabilities, trajectory.centroids, strict=True)
        ]
    )


def split_similarities(X, random_state=None):
    """Split the objects of a similarity matrix at random into two halves.

    Parameters
    ----------
    X : array_like or scipy.sparse matrix, shape (N, N)
        N >= 2; the first half gets the odd object.
    random_state : int, numpy.random.Generator or None

    Returns
    -------
    X1 : (N1, N1), X2 : (N2, N2)
        Similarities inside the halves; N1 = N - N2, N2 = N // 2.
    cross : (N2, N1)
        Similarities of the objects of half 2 with those of half 1, which no clustering of a half has seen.
    first, second : ndarray of int
        The objects of the halves.

    Raises
    ------
    ValueError
        X is no finite symmetric matrix of at least two objects.
    """
    X = check_similarity("X", X)
    if X.shape[0] < 2:
        raise ValueError("X has 1 object, accepted are 2 and more")
    order = np.random.default_rng(random_state).permutation(X.shape[0])
    first, second = np.array_split(order, 2)
    return X[first][:, first], X[second][:, second], X[second][:, first], first, second


def _check_cross(cross, n_objects):
    """Cross similarities (N2, N1) as float64 array or sparse matrix, finite, N1 = n_objects."""
    sparse = scipy.sparse.issparse(cross)
    cross = scipy.sparse.csr_array(cross, dtype=np.float64) if sparse else check_vectors("cross", cross)
    if cross.shape[1] != n_objects:
        raise ValueError(f"cross has shape {cross.shape}, accepted is (objects of data set 2, {n_objects})")
    if sparse and not np.isfinite(cross.data).all():
        raise ValueError("cross holds NaN or infinite values; accepted are finite numbers only")
    return cross


def map_nearest_cluster(cross, labels1, n_clusters, shift=0.0, average=False):
    """Put every object of data set 2 into the cluster of data set 1 that it is most similar to (002 Eq. 9-10).

    The distance H(i', v) of the source is the weight of the disagreements that i' would add to cluster v. It equals
    a constant minus the sum of the similarities between i' and v, so the most similar cluster is the nearest.

    Parameters
    ----------
    cross : array_like or scipy.sparse matrix, shape (N2, N1)
        Similarities of the objects of data set 2 with those of data set 1.
    labels1 : array_like of int, shape (N1,)
    n_clusters : int
        K; empty clusters are left out, since their sum 0 would win wherever all others are negative.
    shift : float
        Added to every similarity.
    average : bool
        Compare mean similarities instead of sums, for models whose cost divides by the size of the clusters.

    Returns
    -------
    ndarray of int, shape (N2,)

    Raises
    ------
    ValueError
        Shapes that do not fit, NaN or infinite values, labels outside 0..K-1.
    """
    n_clusters = check_integer("n_clusters", n_clusters)
    labels1 = check_labels("labels1", labels1, n_clusters=n_clusters)
    cross = _check_cross(cross, labels1.size)
    size = np.bincount(labels1, minlength=n_clusters)
    fields = cross @ one_hot(labels1, n_clusters) + shift * size
    if average:
        fields /= np.maximum(size, 1)
    fields[:, size == 0] = -np.inf
    return fields.argmax(axis=1)


def map_hungarian(cross, X1):
    """Assign every object of data set 2 an object of data set 1 of its own (000 Eq. 26).

    Two objects are alike if they have alike similarities with all objects of data set 1: the sum of the squared
    Euclidean distances between row i' of `cross` and row i of `X1` is smallest.

    Parameters
    ----------
    cross : array_like, shape (N1, N1)
        Similarities of the objects of data set 2 (rows) with those of data set 1.
    X1 : array_like, shape (N1, N1)

    Returns
    -------
    ndarray of int, shape (N1,)
        Object of data set 1 for each object of data set 2; a permutation.

    Raises
    ------
    ValueError
        Sparse input, data sets of different sizes, NaN or infinite values.
    """
    if scipy.sparse.issparse(cross) or scipy.sparse.issparse(X1):
        raise ValueError("cross and X1 must be dense: the Hungarian mapping compares all pairs of rows")
    X1 = check_similarity("X1", X1, np.float64)
    cross = _check_cross(cross, len(X1))
    if len(cross) != len(X1):
        raise ValueError(f"cross has shape {cross.shape}, accepted is {X1.shape}: a one-to-one mapping")
    return match_objects(cross, X1, "squared_euclidean")


def coldest_labels(model, X):
    """Labels of `model.fit(X)`; models that heat from the cold end do without the rest of their path."""
    if isinstance(model, SimilarityClustering):
        X = model._check(X)
        return model.anneal(X, betas=[20 * model._unit(X)]).labels(-1)
    return clone(model).fit(X).labels_


MAPPINGS = ("nearest_cluster", "hungarian", "identity")


def transfer_labels(model, labels1, X1, cross=None, mapping="nearest_cluster"):
    """Carry the labels of data set 1 over to the objects of data set 2.

    Parameters
    ----------
    model : CorrelationClustering, MinCut or MaxCut
        Gives the number of clusters, the shift, and the sign of the similarities; needs no fit.
    labels1 : array_like of int, shape (N1,)
    X1 : array_like or scipy.sparse matrix, shape (N1, N1)
    cross : array_like or scipy.sparse matrix, shape (N2, N1)
        Similarities of the objects of data set 2 with those of data set 1; not needed for "identity".
    mapping : {"nearest_cluster", "hungarian", "identity"}
        `map_nearest_cluster`, `map_hungarian` (N1 = N2), or object by object (the same objects measured twice).

    Returns
    -------
    ndarray of int, shape (N2,)

    Raises
    ------
    ValueError
        Any other model or mapping, a missing `cross`, shapes that do not fit.
    """
    check_option("mapping", mapping, MAPPINGS)
    rule = _quadratic_rule(model)
    labels1 = check_labels("labels1", labels1, X1.shape[0] if hasattr(X1, "shape") else len(X1), model.n_clusters)
    if mapping == "identity":
        return labels1
    if cross is None:
        raise ValueError(f"cross is missing: mapping={mapping!r} needs the similarities between the data sets")
    if mapping == "hungarian":
        return labels1[map_hungarian(cross, X1)]
    cross = rule.scale * _check_cross(cross, labels1.size)
    return map_nearest_cluster(cross, labels1, model.n_clusters, rule.scale * rule.shift)


def _quadratic_rule(model):
    rule = model._rule() if isinstance(model, SimilarityClustering) else None
    if rule is None or rule.kind != QUADRATIC:
        raise ValueError(
            f"model is {type(model).__name__}, accepted are quadratic models: CorrelationClustering, MinCut, MaxCut"
        )
    return rule


def transfer_cost(model, X1, X2, mapping="nearest_cluster", cross=None):
    """Cost of data set 2 under the clustering of data set 1, per pair of objects (002 Eq. 8-10).

    Parameters
    ----------
    model : CorrelationClustering, MinCut or MaxCut
        Clusters X1; the hard labels at the coldest step are transferred.
    X1, X2 : array_like or scipy.sparse matrix, shapes (N1, N1) and (N2, N2)
        Similarities inside the two data sets, e.g. from `split_similarities`.
    mapping : {"nearest_cluster", "hungarian", "identity"}
        See `transfer_labels`.
    cross : array_like or scipy.sparse matrix, shape (N2, N1)
        See `transfer_labels`.

    Returns
    -------
    float
        `model.cost` on X2 divided by N2 (N2 - 1) / 2; for edges of +-1 and no shift, correlation clustering's is the
        share of pairs that disagree with the labels.

    Raises
    ------
    ValueError
        Any other model or mapping, a missing `cross`, shapes that do not fit, or what `anneal` refuses.
    """
    check_option("mapping", mapping, MAPPINGS)
    _quadratic_rule(model)
    X1, X2 = check_similarity("X1", X1), check_similarity("X2", X2)
    n_objects = X2.shape[0]
    if n_objects < 2:
        raise ValueError("X2 has 1 object, accepted are 2 and more")
    labels2 = transfer_labels(model, coldest_labels(model, X1), X1, cross, mapping)
    if labels2.size != n_objects:
        raise ValueError(f"X2 has {n_objects} objects, accepted are {labels2.size}, as many as labels are transferred")
    return model.cost(labels2, X2) / (n_objects * (n_objects - 1) / 2)
