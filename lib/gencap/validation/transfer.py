"""Transfer costs: what a solution found on one data set costs on another (000 chapters 3 and 5.4.2, 002).

A transfer has two parts: a *mapping* carries the solution of data set 1 to the objects of data set 2, and the model's
own cost judges it there. A solution that has fitted the noise of data set 1 is dear on data set 2; the number of
clusters of least transfer cost is selected.

On similarities a mapping is a labelling, and the model's `cost` judges it. On vectors it is a matrix M of
probabilities, one distribution over the clusters of data set 1 for every object of data set 2, and costs

    R^T = mean_i' sum_k M[i', k] h_k(x2_i')                                    (002 Eq. 3, 11 to 14; 000 Eq. 29 to 33)

with the model's own potentials h, for k-means the squared distances to its centroids. Mixtures need no mapping: their
density judges any object.
"""

from dataclasses import dataclass

import numpy as np
from scipy.spatial.distance import cdist
from scipy.special import softmax
from sklearn.base import clone
from sklearn.utils import check_array, get_tags
from sklearn.utils.validation import validate_data

from .. import checks
from ..resources import map_with_bar, one_thread
from ..trajectory import one_hot
from ..views.measures import map_rows, match_objects
from ..views.protocols import random_halves, take_objects
from .selection import listed, one_standard_error_rank

MAPPINGS = ("nearest_cluster", "hungarian", "identity", "nearest_object", "soft", "soft_object")
ON_SIMILARITIES, ON_MIXTURES = MAPPINGS[:3], MAPPINGS[:1]


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
        `trajectory` has no centroids.
    ValueError
        X2 has another shape than data set 1.

    Examples
    --------
    >>> import numpy as np, gencap as gc
    >>> X1 = np.array([[0.0], [2.0], [10.0], [12.0]])
    >>> run = gc.AnnealedKMeans(2, random_state=0).anneal(X1)
    >>> round(float(gc.transfer_costs(run, X1 + 1)[-1]), 3)
    2.0
    """
    if getattr(trajectory, "centroids", None) is None:
        accepted = "the Trajectory of a model on vectors"
        raise TypeError(f"trajectory is {type(trajectory).__name__} without centroids, accepted is {accepted}")
    checks.check_same_order("X2", X2, "trajectory", trajectory)
    X2 = checks.check_vectors("X2", X2)
    wanted = (trajectory.n_objects, trajectory.centroids.shape[2])
    if X2.shape != wanted:
        raise ValueError(f"X2 has shape {X2.shape}, accepted is the shape of data set 1, {wanted}")
    steps = zip(trajectory.probabilities, trajectory.centroids, strict=True)
    return np.array([(P * cdist(X2, centroids, "sqeuclidean")).sum() / len(X2) for P, centroids in steps])


def coldest_labels(model, X, *, per_object=None):
    """Labels of `model.fit(X)`; models that heat from the cold end do without the rest of their path.

    Parameters
    ----------
    model : estimator
        It is not changed.
    X : array_like or scipy.sparse matrix
        Similarities (N, N) or vectors (N, D), as the model takes them.
    per_object : dict name -> array_like of shape (N, ...), or None
        What the model's `fit` takes for every object.

    Returns
    -------
    ndarray of int, shape (N,)

    Examples
    --------
    >>> import numpy as np, gencap as gc
    >>> X = np.kron(np.eye(2), np.ones((3, 3))) - 0.5
    >>> len(set(gc.coldest_labels(gc.CorrelationClustering(2, random_state=0), X)))
    2
    """
    if hasattr(model, "coldest_labels"):
        return model.coldest_labels(X, **(per_object or {}))
    return clone(model).fit(X, **(per_object or {})).labels_


def potentials(model, X2):
    """Potentials (N2, K) of new objects under a fitted model: its own, or squared distances to its centroids."""
    if hasattr(model, "potentials"):
        return model.potentials(X2)
    if not hasattr(model, "cluster_centers_"):
        accepted = "models with potentials or centroids, and mixtures"
        raise ValueError(f"model is {type(model).__name__}, accepted are {accepted}")
    return cdist(validate_data(model, X2, reset=False), model.cluster_centers_, "sqeuclidean")


def transfer_labels(model, X2):
    """Put every new object into the cluster of least potential; one that is empty in the fitted solution never wins.

    For correlation clustering this is the nearest cluster of 002 Eq. 9-10: the weight of the disagreements that an
    object would add to a cluster is a constant minus the sum of the similarities between them.

    Parameters
    ----------
    model : estimator
        Fitted to data set 1.
    X2 : array_like or scipy.sparse matrix
        Similarities of the objects of data set 2 with those of data set 1, (N2, N1), or vectors (N2, D).

    Returns
    -------
    ndarray of int, shape (N2,)

    Raises
    ------
    ValueError
        Shapes that do not fit, NaN or infinite values, a model without potentials or centroids.

    Examples
    --------
    >>> import gencap as gc
    >>> model = gc.AnnealedKMeans(2, random_state=0).fit([[0.0], [2.0], [10.0], [12.0]])
    >>> bool((gc.transfer_labels(model, [[1.0], [11.0]]) == model.labels_[[0, 2]]).all())
    True
    """
    h = potentials(model, X2)
    return np.where(np.bincount(model.labels_, minlength=h.shape[1]) > 0, h, np.inf).argmin(axis=1)


def mapping_probabilities(model, X1, X2, *, mapping="nearest_cluster", factor=0.75, per_object=None):
    """Probability that an object of data set 2 is mapped to each cluster of data set 1.

    Parameters
    ----------
    model : estimator
        Fitted to X1; with potentials of its own, or with centroids.
    X1, X2 : array_like, shapes (N1, D) and (N2, D)
    mapping : str
        "nearest_cluster": to the cluster of least potential (002 Eq. 4, 000 Eq. 30).
        "identity": row i of X2 is object i, the generative mapping of generated data (002 Eq. 5).
        "nearest_object": to the cluster of the nearest object (002 Eq. 1); ties are drawn at random.
        "hungarian": to the cluster of an object of its own, least sum of squared distances (000 Eq. 26).
        "soft": exp(-beta h) over the clusters (002 Eq. 14, 000 Eq. 32).
        "soft_object": exp(-beta d) over the objects, d their squared distance, then their clusters (002 Eq. 12 and 13).
    factor : float
        Of the soft mappings: beta = factor / R, R the mean potential when all of X1 is one cluster; the source has
        0.75. Its R(s, X, 1) must be read as the MEAN cost: with the sum beta is so small that every object belongs to
        all clusters.
    per_object : dict name -> array_like of shape (N1, ...), or None
        What the model was fitted with.

    Returns
    -------
    ndarray, shape (N2, K)
        Rows sum to 1; zeros and ones unless the mapping is soft.

    Raises
    ------
    ValueError
        Unknown mapping, shapes that do not fit ("identity": N1 = N2, "hungarian": N2 <= N1), factor < 0.

    Examples
    --------
    >>> import gencap as gc
    >>> X1 = [[0.0], [2.0], [10.0], [12.0]]
    >>> model = gc.AnnealedKMeans(2, random_state=0).fit(X1)
    >>> gc.mapping_probabilities(model, X1, [[1.0], [3.0]]).sum(axis=1).tolist()
    [1.0, 1.0]
    """
    checks.check_option("mapping", mapping, MAPPINGS)
    X1, X2 = checks.check_vectors("X1", X1), checks.check_vectors("X2", X2)
    checks.check_number("factor", factor, 0.0)
    h = potentials(model, X2)
    if mapping == "nearest_cluster":
        return one_hot(transfer_labels(model, X2), h.shape[1])
    clusters = one_hot(checks.check_labels("labels_ of model", model.labels_, len(X1)), h.shape[1])
    if mapping.startswith("soft"):
        one_cluster = X1.var(axis=0).sum()
        if hasattr(model, "potentials"):
            one_cluster = potentials(clone(model).set_params(n_clusters=1).fit(X1, **(per_object or {})), X1).mean()
        beta = factor / (one_cluster or 1.0)
        if mapping == "soft":
            return softmax(-beta * h, axis=1)
        return softmax(-beta * cdist(X2, X1, "sqeuclidean"), axis=1) @ clusters
    if mapping == "identity":
        checks.check_same_shape("X2", X2, "X1", X1)
        return clusters
    # Ties occur in Boolean data; the fixed seed draws them at random and yet the same way in every run.
    return clusters[map_rows(X1, X2, mapping=mapping.removesuffix("_object"), random_state=0)]


def transfer_cost(model, X1, X2, *, mapping="nearest_cluster", cross=None, factor=0.75, per_object=None):
    """Cost of data set 2 under the solution of data set 1 (002 Eq. 3, 6, 8-14).

    Parameters
    ----------
    model : estimator
        Fitted to X1. On similarities: the hard labels at the coldest step are transferred. On vectors, with
        `potentials` (gencap's) or `cluster_centers_` (scikit-learn's KMeans): these judge the objects of X2. With
        `score_samples` (scikit-learn's GaussianMixture): the density.
    X1, X2 : array_like or scipy.sparse matrix
        Similarities inside the two data sets, (N1, N1) and (N2, N2), e.g. from `split_similarities`; or vectors
        (N1, D) and (N2, D).
    mapping : str
        See `mapping_probabilities`; on similarities "nearest_cluster" (`transfer_labels`), "identity" (the same objects
        measured twice) or "hungarian" (one to one, N1 = N2: the sum of the squared distances between the rows of
        `cross` and of X1 is smallest, 000 Eq. 26); mixtures have no other than the default.
    cross : array_like or scipy.sparse matrix, shape (N2, N1)
        Similarities of the objects of data set 2 with those of data set 1; not needed for "identity".
    factor : float
        For soft mappings, see `mapping_probabilities`.
    per_object : dict name -> array_like of shape (N1, ...), or None
        What the model's `fit` takes for every object of data set 1.

    Returns
    -------
    float
        Quadratic models: `model.cost` on X2 divided by N2 (N2 - 1) / 2; for edges of +-1 and no shift, correlation
        clustering's is the share of pairs that disagree with the labels. Models whose cost divides by cluster sizes:
        `model.cost` on X2 per object; self-similarities make every further cluster cheaper, even one drawn at random.
        Vectors: potential per object, for k-means in squared units of the data. Mixtures: negative log likelihood
        per object, in nats.

    Raises
    ------
    ValueError
        Any other model or mapping, a missing `cross` (similarities) or a needless one (vectors), shapes that do not
        fit, or what the model refuses. Of models with centroids but no potentials those whose `inertia_` is not the
        sum of squared distances to them: their cost is another.

    Examples
    --------
    >>> import numpy as np, gencap as gc
    >>> X1, X2 = np.array([[0.0], [2.0], [10.0], [12.0]]), np.array([[1.0], [13.0]])
    >>> gc.transfer_cost(gc.AnnealedKMeans(2, random_state=0), X1, X2)
    2.0
    """
    return _costs(model, X1, X2, (mapping,), cross, factor, per_object)[1]


def _costs(model, X1, X2, mappings, cross, factor, per_object):
    """Cost on data set 1, then the transfer cost to data set 2 by each mapping, all of one fit."""
    mixture, pairwise = hasattr(model, "score_samples"), get_tags(model).input_tags.pairwise
    for mapping in mappings:
        checks.check_option("mapping", mapping, ON_SIMILARITIES if pairwise else ON_MIXTURES if mixture else MAPPINGS)
    if "identity" in mappings:
        checks.check_same_order("X2", X2, "X1", X1)
    if cross is None and pairwise and set(mappings) != {"identity"} or cross is not None and not pairwise:
        accepted = "the similarities between the data sets; None for vectors, or mapping='identity'"
        raise ValueError(f"cross is {type(cross).__name__}, accepted are {accepted}")
    checks.check_same_order("rows of cross", cross, "X2", X2)
    checks.check_same_order("columns of cross", getattr(cross, "T", None), "X1", X1)
    check, per_object = checks.check_similarity if pairwise else checks.check_vectors, per_object or {}
    X1, X2 = check("X1", X1), check("X2", X2)
    if pairwise:
        return _similarity_costs(model, X1, X2, mappings, cross, per_object)
    fitted = clone(model).fit(X1, **per_object)
    if mixture:
        return [-fitted.score(X1)] + [-fitted.score(X2)] * len(mappings)
    given, h = potentials(fitted, X1)[np.arange(len(X1)), fitted.labels_].sum(), potentials(fitted, X2)
    own, foreign = getattr(fitted, "inertia_", np.nan), not hasattr(fitted, "anneal") and not per_object
    if foreign and not abs(given - own) <= 1e-6 * given + 1e-12 * (X1**2).sum():
        accepted = f"accepted with centroids are models whose inertia_ is the sum of squared distances, {given:.6g}"
        raise ValueError(f"model is {type(model).__name__} with inertia_={own:.6g}, {accepted}")
    options = {"factor": factor, "per_object": per_object}
    found = [(mapping_probabilities(fitted, X1, X2, mapping=name, **options) * h).sum() for name in mappings]
    return [float(given) / len(X1), *(float(cost) / len(X2) for cost in found)]


def _similarity_costs(model, X1, X2, mappings, cross, per_object):
    n_objects2, n_objects1 = wanted = X2.shape[0], X1.shape[0]
    if min(wanted) < 2 or (n_objects1 != n_objects2 and {*mappings} & {"hungarian", "identity"}):
        accepted = f"2 and more, and as many in both unless mapping='nearest_cluster' (it is {mappings})"
        raise ValueError(f"X1 and X2 have {n_objects1} and {n_objects2} objects, accepted are {accepted}")
    if cross is not None:
        check_array(cross, accept_sparse="hungarian" not in mappings, input_name="cross")
        if np.shape(cross) != wanted:
            raise ValueError(f"cross has shape {np.shape(cross)}, accepted is (objects of X2, of X1), {wanted}")
    fitted = clone(model).fit(X1, **per_object) if "nearest_cluster" in mappings else None
    labels1 = fitted.labels_ if fitted else coldest_labels(model, X1, per_object=per_object)
    ways = {
        "nearest_cluster": lambda: transfer_labels(fitted, cross),
        "hungarian": lambda: labels1[match_objects(cross, X1, distance="squared_euclidean")],
        "identity": lambda: labels1,
    }
    partners = [(n - 1) / 2 if getattr(model, "cost_per_pair", False) else 1 for n in wanted]
    found = [model.cost(ways[mapping](), X2) / (n_objects2 * partners[0]) for mapping in mappings]
    return [model.cost(labels1, X1) / (n_objects1 * partners[1]), *found]


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
    costs, training_costs : ndarray, shape (n_repeats, len(offered))
        Transfer costs, and what the same fits cost on data set 1.
    median : ndarray, shape (len(offered),)
    quartiles : ndarray, shape (2, len(offered))
        Lower and upper quartile of the transfer costs.
    selected : ndarray of int, shape (n_repeats,)
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
        several = len(self.costs) > 1
        self.one_standard_error = one_standard_error_rank(self.costs, self.offered) if several else self.n_clusters

    def __repr__(self):
        chosen = f"{self.n_clusters} clusters, {self.one_standard_error} within one standard error"
        return f"TransferSelection({chosen}; median transfer cost {listed(self.offered, self.median, form='.4g')})"


def _repetition(model, X, offered, mappings, factor, per_object, rng):
    """Costs (K, 1 + mappings) of one pair of data sets."""
    if callable(X):
        drawn = X(rng)
        if not isinstance(drawn, tuple | list) or len(drawn) not in (2, 3):
            raise ValueError(f"X(rng) is {type(drawn).__name__}, accepted is a tuple (X1, X2) or (X1, X2, cross)")
        X1, X2, cross = (*drawn, None)[:3]
    else:
        pairwise = get_tags(model).input_tags.pairwise
        X1, X2, cross, rows, _ = random_halves(X if pairwise else checks.check_vectors("X", X), pairwise, rng)
        per_object = take_objects(per_object, np.shape(X)[0], rows)[0]
    order = "n_components" if hasattr(model, "score_samples") else "n_clusters"
    models = (clone(model).set_params(**{order: k}) for k in offered)
    with one_thread():
        return [_costs(one, X1, X2, mappings, cross, factor, per_object) for one in models]


def select_by_transfer_cost(
    model, X, n_clusters, *, mapping="nearest_cluster", factor=0.75, n_repeats=20, per_object=None, random_state=None,
    n_jobs=None, progress=True,
):  # fmt: skip
    """Transfer costs of every offered number of clusters on repeated pairs of data sets.

    Parameters
    ----------
    model : estimator
        As for `transfer_cost`; its number of clusters is overridden.
    X : array_like, or callable(rng) -> (X1, X2) or (X1, X2, cross)
        One data set, split at random into halves in every repetition; or what draws a new pair from a
        numpy Generator.
    n_clusters : int or iterable of int
        Numbers of clusters to offer.
    mapping : str or sequence of str
        See `transfer_cost`. Several mappings share the fits.
    factor : float
        For soft mappings, see `mapping_probabilities`.
    n_repeats : int
    per_object : dict name -> array_like of shape (N, ...), or None
        What the model's `fit` takes for every object of X, or of every X1 that is drawn.
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
        for those of an odd number of similarities, an X that draws no two data sets, or what `transfer_cost` refuses.

    References
    ----------
    Document 002, sections 2.2, 3, 6 and 7; document 000, chapter 3.3.

    Examples
    --------
    >>> import numpy as np, gencap as gc
    >>> X = np.repeat([[0.0, 0], [8, 0]], 20, axis=0) + np.random.default_rng(0).random((40, 2))
    >>> found = gc.select_by_transfer_cost(
    ...     gc.AnnealedKMeans(random_state=0), X, [1, 2], n_repeats=2, random_state=0, progress=False
    ... )
    >>> found.n_clusters
    2
    """
    offered = checks.check_offered(n_clusters)
    mappings = (mapping,) if isinstance(mapping, str) else tuple(mapping)
    if "identity" in mappings and not callable(X):
        raise ValueError("mapping='identity' needs X as a callable that draws pairs; random halves have no pairs")
    rngs = checks.generator(random_state).spawn(checks.check_integer("n_repeats", n_repeats))
    calls = [(model, X, offered, mappings, factor, per_object, rng) for rng in rngs]
    costs = np.array(map_with_bar(_repetition, calls, desc="repetitions", n_jobs=n_jobs, progress=progress))
    found = {name: TransferSelection(offered, costs[:, :, 1 + m], costs[:, :, 0]) for m, name in enumerate(mappings)}
    return found[mapping] if isinstance(mapping, str) else found
