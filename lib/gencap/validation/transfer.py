"""Transfer costs: what a solution found on one data set costs on another (000 chapters 3 and 5.4.2, 002).

A transfer has two parts: a *mapping* carries the solution of data set 1 to the objects of data set 2, and the model's
own cost judges it there. A solution that has fitted the noise of data set 1 is dear on data set 2; the number of
clusters of least transfer cost is selected.

On similarities a mapping is a labelling (the functions `map_...`). On vectors it is a matrix M of probabilities, one
distribution over the clusters of data set 1 for every object of data set 2, and k-means costs

    R^T = mean_i' sum_k M[i', k] d(mu_k, x2_i')                                (002 Eq. 3, 11 to 14; 000 Eq. 29 to 33)

with d the squared Euclidean distance, which is Hamming's for Boolean data and rounded centroids. Mixtures need no
mapping: their density judges any object.
"""

from dataclasses import dataclass

import numpy as np
import scipy.sparse
from joblib import Parallel, delayed
from scipy.spatial.distance import cdist
from sklearn.base import clone
from tqdm.auto import tqdm

from .. import checks
from ..kernels.similarity import QUADRATIC
from ..models.pairwise import PairwiseClustering
from ..models.similarity import SimilarityClustering
from ..resources import one_thread
from ..trajectory import Trajectory, one_hot, softmax
from ..views.measures import map_rows, match_objects
from ..views.protocols import random_halves
from .selection import one_standard_error_rank


def transfer_costs(trajectory, X2):
    """Cost of data set 2 under the centroids and assignment probabilities of data set 1, at every temperature.

    Objects are paired by construction: row i of X2 is the second measurement of object i (000 Eq. 94).

    Parameters
    ----------
    trajectory : Trajectory
        A run of a model with centroids on data set 1, whose potentials are squared distances (`AnnealedKMeans`).
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
    checks.check_same_order("X2", X2, "trajectory", trajectory)
    if trajectory.centroids is None:
        raise ValueError("trajectory has no centroids; transfer costs need a model on vectors")
    X2 = checks.check_vectors("X2", X2)
    wanted = (trajectory.n_objects, trajectory.centroids.shape[2])
    if X2.shape != wanted:
        raise ValueError(f"X2 has shape {X2.shape}, accepted is the shape of data set 1, {wanted}")
    return np.array(
        [
            (probabilities * cdist(X2, centroids, "sqeuclidean")).sum() / len(X2)
            for probabilities, centroids in zip(trajectory.probabilities, trajectory.centroids, strict=True)
        ]
    )


def _check_cross(cross, n_objects):
    """Cross similarities (N2, N1) as float64 array or sparse matrix, finite, N1 = n_objects."""
    sparse = scipy.sparse.issparse(cross)
    cross = scipy.sparse.csr_array(cross, dtype=np.float64) if sparse else checks.check_vectors("cross", cross)
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
    n_clusters = checks.check_integer("n_clusters", n_clusters)
    labels1 = checks.check_labels("labels1", labels1, n_clusters=n_clusters)
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
    X1 = checks.check_similarity("X1", X1, np.float64)
    cross = _check_cross(cross, len(X1))
    if len(cross) != len(X1):
        raise ValueError(f"cross has shape {cross.shape}, accepted is {X1.shape}: a one-to-one mapping")
    return match_objects(cross, X1, "squared_euclidean")


def coldest_labels(model, X):
    """Labels of `model.fit(X)`; models that heat from the cold end do without the rest of their path."""
    if isinstance(model, SimilarityClustering) and not getattr(model, "embedding", False):  # an embedding cools
        return clone(model).anneal(X, betas=[20 * model.unit(X)]).labels(-1)
    return clone(model).fit(X).labels_


MAPPINGS = ("nearest_cluster", "hungarian", "identity")


def transfer_labels(model, labels1, X1, cross=None, mapping="nearest_cluster"):
    """Carry the labels of data set 1 over to the objects of data set 2.

    Parameters
    ----------
    model : CorrelationClustering, MinCut or MaxCut; for "identity" also PairwiseClustering
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
    checks.check_option("mapping", mapping, MAPPINGS)
    rule = _transfer_rule(model, mapping)
    n_objects = X1.shape[0] if hasattr(X1, "shape") else len(X1)
    labels1 = checks.check_labels("labels1", labels1, n_objects, model.n_clusters)
    if mapping == "identity":
        return labels1
    if cross is None:
        raise ValueError(f"cross is missing: mapping={mapping!r} needs the similarities between the data sets")
    if mapping == "hungarian":
        return labels1[map_hungarian(cross, X1)]
    cross = rule.scale * _check_cross(cross, labels1.size)
    return map_nearest_cluster(cross, labels1, model.n_clusters, rule.scale * rule.shift)


def _transfer_rule(model, mapping):
    rule = model._rule() if isinstance(model, SimilarityClustering) else None
    paired = mapping == "identity" and isinstance(model, PairwiseClustering)
    if rule is None or not (rule.kind == QUADRATIC or paired):
        raise ValueError(
            f"model is {type(model).__name__}, accepted are quadratic models: CorrelationClustering, MinCut, MaxCut, "
            "and with mapping='identity' PairwiseClustering"
        )
    return rule


def _cost_per_term(model, labels, X):
    """Cost divided by the number of pairs, or of objects where clusters are normalised by their sizes."""
    n_objects = labels.size
    terms = n_objects if isinstance(model, PairwiseClustering) else n_objects * (n_objects - 1) / 2
    return model.cost(labels, X) / terms


VECTOR_MAPPINGS = ("nearest_cluster", "identity", "nearest_object", "hungarian", "soft", "soft_object")


def one_cluster_cost(X1):
    """Mean cost of an object when all of X1 (N, D) is one cluster: squared distance to the mean, or, for Boolean
    data, number of bits that differ from the majority's."""
    X1 = _check_rows("X1", X1)
    centre = X1.mean(axis=0)
    return float(((X1 - (centre > 0.5 if X1.dtype == bool else centre).astype(float)) ** 2).sum() / len(X1))


def mapping_probabilities(mapping, X1, X2, labels1, centroids, factor=0.75):
    """Probability that an object of data set 2 is mapped to each cluster of data set 1.

    Parameters
    ----------
    mapping : str
        "nearest_cluster": to the nearest centroid (002 Eq. 4, 000 Eq. 30).
        "identity": row i of X2 is object i, the generative mapping of generated data (002 Eq. 5).
        "nearest_object": to the cluster of the nearest object (002 Eq. 1); ties are drawn at random.
        "hungarian": to the cluster of an object of its own, least sum of distances (000 Eq. 26).
        "soft": exp(-beta d) over the centroids (002 Eq. 14, 000 Eq. 32).
        "soft_object": exp(-beta d) over the objects, then their clusters (002 Eq. 12 and 13).
    X1, X2 : array_like, shapes (N1, D) and (N2, D)
    labels1 : array_like of int, shape (N1,)
    centroids : array_like, shape (K, D)
    factor : float
        Of the soft mappings: beta = factor / `one_cluster_cost(X1)`; the source has 0.75. Its R(s, X, 1) must be
        read as the MEAN cost: with the sum beta is so small that every object belongs to all clusters.

    Returns
    -------
    ndarray, shape (N2, K)
        Rows sum to 1; zeros and ones unless the mapping is soft.

    Raises
    ------
    ValueError
        Unknown mapping, shapes that do not fit ("identity": N1 = N2, "hungarian": N2 <= N1), factor < 0.
    """
    checks.check_option("mapping", mapping, VECTOR_MAPPINGS)
    X1, X2 = checks.check_vectors("X1", X1), checks.check_vectors("X2", X2)
    centroids = checks.check_vectors("centroids", centroids)
    for name, rows in (("X2", X2), ("centroids", centroids)):
        if rows.shape[1] != X1.shape[1]:
            raise ValueError(f"{name} has {rows.shape[1]} columns, accepted is {X1.shape[1]} as in X1")
    labels1 = checks.check_labels("labels1", labels1, len(X1), len(centroids))
    beta = checks.check_number("factor", factor, 0.0) / (one_cluster_cost(X1) or 1.0)
    if mapping == "soft":
        return softmax(-beta * cdist(X2, centroids, "sqeuclidean"))
    clusters = one_hot(labels1, len(centroids))
    if mapping == "soft_object":
        return softmax(-beta * cdist(X2, X1, "sqeuclidean")) @ clusters
    if mapping == "nearest_cluster":
        return one_hot(cdist(X2, centroids, "sqeuclidean").argmin(axis=1), len(centroids))
    if mapping == "identity":
        if len(X1) != len(X2):
            raise ValueError(
                f"X2 has {len(X2)} objects, accepted are {len(X1)} as in X1: mapping='identity' pairs rows"
            )
        return clusters
    # Ties occur in Boolean data; the fixed seed draws them at random and yet the same way in every run.
    return clusters[map_rows(X1, X2, mapping.removesuffix("_object"), random_state=0)]


def _check_rows(name, X):
    """Vectors as float64, or Boolean if they are: that decides the distance."""
    return checks.check_vectors(name, X, bool if np.asarray(X).dtype == bool else np.float64)


def _fit_centroids(model, X1):
    """Centroids (K, D) and labels (N1,) of the model on X1; for Boolean data those of k-means with Hamming distance."""
    fitted = clone(model).fit(X1.astype(np.float64))
    if not hasattr(fitted, "cluster_centers_"):
        raise ValueError(
            f"model is {type(model).__name__}, accepted are quadratic models, models with centroids, and mixtures"
        )
    centroids, labels = fitted.cluster_centers_, fitted.labels_
    given, own = ((X1 - centroids[labels]) ** 2).sum(), getattr(fitted, "inertia_", np.nan)
    if not abs(given - own) <= 1e-6 * given + 1e-12 * (X1.astype(np.float64) ** 2).sum():
        raise ValueError(
            f"model is {type(model).__name__} with inertia_={own:.6g}, accepted with centroids are models whose "
            f"inertia_ is the sum of squared distances to them, here {given:.6g}"
        )
    for _ in range(100 if X1.dtype == bool else 0):
        centroids, before = (centroids > 0.5).astype(np.float64), labels
        labels = cdist(X1, centroids, "sqeuclidean").argmin(axis=1)
        clusters = one_hot(labels, len(centroids))
        size = clusters.sum(axis=0)[:, None]
        if (labels == before).all():
            break
        centroids = np.where(size > 0, clusters.T @ X1 / np.maximum(size, 1), centroids)
    return centroids, labels


def transfer_cost(model, X1, X2, mapping="nearest_cluster", cross=None, factor=0.75):
    """Cost of data set 2 under the solution of data set 1 (002 Eq. 3, 6, 8-14).

    Parameters
    ----------
    model : estimator
        Fitted to X1. CorrelationClustering, MinCut, MaxCut, and PairwiseClustering by "identity": the hard labels at
        the coldest step are transferred.
        With `cluster_centers_` (AnnealedKMeans, scikit-learn's KMeans): centroids and hard labels. With
        `score_samples` (scikit-learn's GaussianMixture): the density.
    X1, X2 : array_like or scipy.sparse matrix
        Similarities inside the two data sets, (N1, N1) and (N2, N2), e.g. from `split_similarities`; or vectors
        (N1, D) and (N2, D). Boolean vectors are compared by Hamming distance, others by the squared Euclidean one.
    mapping : str
        See `transfer_labels` (similarities) and `mapping_probabilities` (centroids); mixtures have no other than the
        default.
    cross : array_like or scipy.sparse matrix, shape (N2, N1)
        For similarities, see `transfer_labels`.
    factor : float
        For soft mappings, see `mapping_probabilities`.

    Returns
    -------
    float
        Quadratic models: `model.cost` on X2 divided by N2 (N2 - 1) / 2; for edges of +-1 and no shift, correlation
        clustering's is the share of pairs that disagree with the labels. Pairwise clustering: `model.cost` on X2 per
        object; its self-similarities make every further cluster cheaper, even one drawn at random. Centroids:
        distance per object, in squared units of the data or in bits that differ. Mixtures: negative log likelihood
        per object, in nats.

    Raises
    ------
    ValueError
        Any other model or mapping, a missing `cross` (similarities) or a needless one (vectors), shapes that do not
        fit, or what the model refuses. Of models with centroids those whose `inertia_` is not the sum of squared
        distances to them: their cost is another.
    """
    return _costs(model, X1, X2, (mapping,), cross, factor)[1]


def _costs(model, X1, X2, mappings, cross=None, factor=0.75):
    """Cost on data set 1, then the transfer cost to data set 2 by each mapping, all of one fit."""
    if "identity" in mappings:
        checks.check_same_order("X2", X2, "X1", X1)
    if isinstance(model, SimilarityClustering):
        return _similarity_costs(model, X1, X2, mappings, cross)
    if cross is not None:
        raise ValueError(f"cross is {type(cross).__name__}, accepted for vectors is None: their distances are computed")
    X1, X2 = _check_rows("X1", X1), _check_rows("X2", X2)
    if X1.dtype != X2.dtype or X1.shape[1] != X2.shape[1]:
        raise ValueError(f"X2 has {X2.shape[1]} {X2.dtype} columns, accepted are {X1.shape[1]} of {X1.dtype} as in X1")
    mixture = hasattr(model, "score_samples")
    for mapping in mappings:
        checks.check_option("mapping", mapping, ("nearest_cluster",) if mixture else VECTOR_MAPPINGS)
    if mixture:
        fitted = clone(model).fit(X1)
        return [-fitted.score(X1)] + [-fitted.score(X2)] * len(mappings)
    centroids, labels1 = _fit_centroids(model, X1)
    costs = [((X1 - centroids[labels1]) ** 2).sum() / len(X1)]
    distances = cdist(X2, centroids, "sqeuclidean")
    for mapping in mappings:
        probabilities = mapping_probabilities(mapping, X1, X2, labels1, centroids, factor)
        costs.append((probabilities * distances).sum() / len(X2))
    return [float(cost) for cost in costs]


def _similarity_costs(model, X1, X2, mappings, cross):
    for mapping in mappings:
        _transfer_rule(model, checks.check_option("mapping", mapping, MAPPINGS))
    checks.check_same_order("rows of cross", cross, "X2", X2)
    checks.check_same_order("columns of cross", getattr(cross, "T", None), "X1", X1)
    X1, X2 = checks.check_similarity("X1", X1), checks.check_similarity("X2", X2)
    for name, X in (("X1", X1), ("X2", X2)):
        if X.shape[0] < 2:
            raise ValueError(f"{name} has 1 object, accepted are 2 and more")
    n_objects = X2.shape[0]
    labels1 = coldest_labels(model, X1)
    costs = [_cost_per_term(model, labels1, X1)]
    for mapping in mappings:
        labels2 = transfer_labels(model, labels1, X1, cross, mapping)
        if labels2.size != n_objects:
            raise ValueError(
                f"X2 has {n_objects} objects, accepted are {labels2.size}, as many as labels are transferred"
            )
        costs.append(_cost_per_term(model, labels2, X2))
    return costs


@dataclass(eq=False, repr=False)
class TransferSelection:
    """Result of `select_by_transfer_cost`.

    Attributes
    ----------
    n_clusters : int
        The offered number of least median transfer cost.
    one_standard_error : int
        The smallest offered number whose mean cost is within one standard error of the least. The error is that of
        the difference, repetition by repetition: what makes a whole data set dear does not count.
    offered : list of int
    costs, training_costs : ndarray, shape (n_repetitions, len(offered))
        Transfer costs, and what the same fits cost on data set 1.
    median : ndarray, shape (len(offered),)
    quartiles : ndarray, shape (2, len(offered))
        Lower and upper quartile of the transfer costs.
    selected : ndarray of int, shape (n_repetitions,)
        What each repetition would have selected alone.
    """

    offered: list
    costs: np.ndarray
    training_costs: np.ndarray

    def __post_init__(self):
        self.median = np.median(self.costs, axis=0)
        self.quartiles = np.quantile(self.costs, [0.25, 0.75], axis=0)
        self.selected = np.array(self.offered)[self.costs.argmin(axis=1)]
        self.n_clusters = self.offered[int(self.median.argmin())]
        few = len(self.costs) < 2
        self.one_standard_error = self.n_clusters if few else one_standard_error_rank(self.costs, self.offered)

    def __repr__(self):
        pairs = ", ".join(f"{k}: {value:.4g}" for k, value in zip(self.offered, self.median, strict=True))
        return (
            f"TransferSelection({self.n_clusters} clusters, {self.one_standard_error} within one standard error; "
            f"median transfer cost {pairs})"
        )


def _repetition(model, data, offered, mappings, factor, rng):
    """Costs (K, 1 + mappings) of one pair of data sets."""
    if callable(data):
        drawn = data(rng)
        if not isinstance(drawn, tuple | list) or len(drawn) not in (2, 3):
            raise ValueError(
                f"data(rng) is {type(drawn).__name__}, accepted is a tuple (X1, X2) or (X1, X2, cross) of two data sets"
            )
        X1, X2, *cross = drawn
    else:
        pairwise = isinstance(model, SimilarityClustering)
        X1, X2, *cross = random_halves(data if pairwise else _check_rows("X", data), pairwise, rng)
    order = "n_components" if hasattr(model, "score_samples") else "n_clusters"
    with one_thread():
        return [_costs(clone(model).set_params(**{order: k}), X1, X2, mappings, *cross, factor=factor) for k in offered]


def select_by_transfer_cost(
    model,
    data,
    n_clusters,
    mapping="nearest_cluster",
    factor=0.75,
    n_repetitions=20,
    random_state=None,
    n_jobs=None,
    progress=True,
):
    """Transfer costs of every offered number of clusters on repeated pairs of data sets.

    Parameters
    ----------
    model : estimator
        As for `transfer_cost`; its number of clusters is overridden.
    data : array_like, or callable(rng) -> (X1, X2) or (X1, X2, cross)
        One data set, split at random into halves in every repetition; or what draws a new pair from a
        numpy Generator.
    n_clusters : iterable of int
        Numbers of clusters to offer.
    mapping : str or sequence of str
        See `transfer_cost`. Several mappings share the fits.
    factor : float
        For soft mappings, see `mapping_probabilities`.
    n_repetitions : int
    random_state : int, numpy.random.Generator or None
        For splits or draws; the model has its own.
    n_jobs : int or None
        Worker processes (joblib) over repetitions; the result does not depend on it.
    progress : bool
        Show a progress bar.

    Returns
    -------
    TransferSelection, or dict of mapping -> TransferSelection if `mapping` is a sequence

    Raises
    ------
    ValueError
        `n_clusters` is empty or repeats itself, "identity" for random halves (their pairs are unknown), "hungarian"
        for those of an odd number of similarities, `data` that draws no two data sets, or what `transfer_cost` refuses.

    Source: document 002, sections 2.2, 3, 6 and 7; document 000, chapter 3.3.
    """
    offered = checks.check_offered(n_clusters)
    mappings = (mapping,) if isinstance(mapping, str) else tuple(mapping)
    if "identity" in mappings and not callable(data):
        raise ValueError("mapping='identity' needs data as a callable that draws pairs; random halves have no pairs")
    if "hungarian" in mappings and isinstance(model, SimilarityClustering) and not callable(data):
        if np.shape(data)[0] % 2:
            raise ValueError(
                f"data has {np.shape(data)[0]} objects, accepted for mapping='hungarian' is an even number to be halved"
            )
    rngs = checks.generator(random_state).spawn(checks.check_integer("n_repetitions", n_repetitions))
    tasks = (delayed(_repetition)(model, data, offered, mappings, factor, rng) for rng in rngs)
    done = Parallel(n_jobs=n_jobs, return_as="generator")(tasks)
    costs = np.array(list(tqdm(done, total=len(rngs), desc="repetitions", disable=not progress, leave=False)))
    found = {name: TransferSelection(offered, costs[:, :, 1 + m], costs[:, :, 0]) for m, name in enumerate(mappings)}
    return found[mapping] if isinstance(mapping, str) else found
