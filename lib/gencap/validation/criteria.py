"""The classical criteria for the number of clusters, and all of them side by side on one data set.

* Penalised likelihoods: AIC and BIC, and the description length, BIC in other units.
* BIC for hard k-means. With one Gaussian of variance R / (N D) around every centroid, R the cost of the labels,

      -log p(X, c) = N D / 2 log(2 pi e R / (N D)) + N H(c),                    (004 section 7.1)

  H the entropy of the cluster sizes: a code has to name the cluster of every object too. The notes leave the likelihood
  open; with the errors only, without that term, the largest number of clusters offered wins.
* The gap statistic: how much more than in structureless data do the clusters shrink? (004 section 7.2)
* The instability of the labels (in `stability`), the minimum transfer cost (in `transfer`), the capacity.
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.linalg import eigvalsh
from scipy.stats import entropy as entropy_of
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.mixture import GaussianMixture
from sklearn.preprocessing import KernelCenterer

from .. import checks
from ..models.centroid import AnnealedKMeans
from ..resources import map_with_bar, one_thread
from ..views.measures import match_objects
from ..views.protocols import random_halves
from .selection import listed, select_n_clusters
from .stability import instability
from .transfer import select_by_transfer_cost


def aic(log_likelihood, n_parameters):
    """Akaike's criterion -2 log L + 2 p; the smaller the better.

    Parameters
    ----------
    log_likelihood : float or array_like
        Maximised natural-log likelihood of all objects together.
    n_parameters : int or array_like
        Number of free parameters p.

    Returns
    -------
    float or ndarray

    Examples
    --------
    >>> import gencap as gc
    >>> float(gc.aic(-100.0, 6))
    212.0
    """
    return -2.0 * np.asarray(log_likelihood) + 2.0 * np.asarray(n_parameters)


def bic(log_likelihood, n_parameters, n_objects):
    """Bayesian information criterion -2 log L + p log N; the smaller the better (000 chapter 5.4.2).

    Parameters
    ----------
    log_likelihood : float or array_like
        Maximised natural-log likelihood of all objects together.
    n_parameters : int or array_like
        Number of free parameters p.
    n_objects : int
        N.

    Returns
    -------
    float or ndarray

    Examples
    --------
    >>> import gencap as gc
    >>> round(float(gc.bic(-100.0, 6, 150)), 2)
    230.06
    """
    n_objects = checks.check_integer("n_objects", n_objects)
    return -2.0 * np.asarray(log_likelihood) + np.asarray(n_parameters) * np.log(n_objects)


def description_length(log_likelihood, n_parameters, n_objects):
    """Bits to describe the data: -log2 L for the data given the model, and half of log2 N for every parameter.

    More digits of a parameter than its standard error, of the order 1 / sqrt(N), would be wasted. Least description
    length and least `bic` are the same choice: bic = 2 ln 2 times the description length.

    Parameters
    ----------
    log_likelihood : float or array_like
        Maximised natural-log likelihood of all objects together.
    n_parameters : int or array_like
    n_objects : int

    Returns
    -------
    float or ndarray

    References
    ----------
    Document 004, section 7.1.

    Examples
    --------
    >>> import gencap as gc
    >>> round(float(gc.description_length(-100.0, 6, 150)), 2)
    165.96
    """
    return bic(log_likelihood, n_parameters, n_objects) / (2 * np.log(2))


def effective_dimension(X, *, gram=False):
    """Number of dimensions that matter: trace / largest eigenvalue, between 1 and the rank (000 Eq. 150).

    Parameters
    ----------
    X : array_like
        Vectors (N, D), whose covariance is meant; or, with `gram`, a matrix of inner products (N, N), centred here.
    gram : bool

    Returns
    -------
    float

    Raises
    ------
    ValueError
        All objects are equal; or the centred matrix has a negative eigenvalue, so it holds no inner products. (A zero
        diagonal makes the trace 0; a constant on the diagonal moves every eigenvalue. `constant_shift_embedding`
        gives vectors for such similarities.)

    Examples
    --------
    >>> import numpy as np, gencap as gc
    >>> gc.effective_dimension([[1, 0, 0], [-1, 0, 0], [0, 1, 0], [0, -1, 0]])
    2.0
    """
    if gram:
        X = checks.check_similarity("X", X, np.float64)
        X = X.toarray() if hasattr(X, "toarray") else X
        values = eigvalsh(KernelCenterer().fit_transform(X))
        if values[0] < -1e-8 * max(values[-1], 0.0) - 1e-300:
            accepted = "inner products, without any below 0 (constant_shift_embedding makes vectors of others)"
            raise ValueError(f"X has the eigenvalue {values[0]:.3g} after centring; accepted are {accepted}")
    else:
        X = checks.check_vectors("X", X)
        X = X - X.mean(axis=0)
        values = np.linalg.svd(X, compute_uv=False)[::-1] ** 2
    if values[-1] <= 1e-300:
        raise ValueError("X has no spread: all objects are equal; accepted are objects that differ")
    return float(values.sum() / values[-1])


def kmeans_bic(labels, X, *, n_dimensions=None, entropy=True):
    """BIC of a hard k-means clustering, -2 log p(X, c) + K D log N; the smaller the better.

    Parameters
    ----------
    labels : array_like of int, shape (N,)
        Clusters without members do not count.
    X : array_like, shape (N, D)
    n_dimensions : float or None
        D; None takes the number of columns, `effective_dimension(X)` counts correlated ones less.
    entropy : bool
        Count the bits that name every object's cluster. False counts the errors only, which selects the largest number
        of clusters offered.

    Returns
    -------
    float

    Raises
    ------
    ValueError
        Every object is equal to its centroid, so the likelihood is infinite.

    References
    ----------
    Document 004, section 7.1 (k' = number of clusters times number of dimensions).

    Examples
    --------
    >>> import gencap as gc
    >>> X = [[0.0], [2.0], [10.0], [12.0]]
    >>> gc.kmeans_bic([0, 0, 1, 1], X) < gc.kmeans_bic([0, 0, 0, 0], X)
    True
    """
    X = checks.check_vectors("X", X)
    labels = np.unique(checks.check_labels("labels", labels, len(X)), return_inverse=True)[1]
    n_objects, n_dimensions = len(X), X.shape[1] if n_dimensions is None else n_dimensions
    checks.check_number("n_dimensions", n_dimensions, 0.0)
    size = np.bincount(labels)
    means = np.array([np.bincount(labels, column) for column in X.T]).T / size[:, None]
    cost = ((X - means[labels]) ** 2).sum()
    if cost <= 1e-300:
        raise ValueError("labels leave no spread: every object is equal to its centroid; accepted are coarser clusters")
    log_likelihood = -0.5 * n_objects * n_dimensions * np.log(2 * np.pi * np.e * cost / (n_objects * n_dimensions))
    if entropy:
        log_likelihood -= n_objects * entropy_of(size)
    return float(bic(log_likelihood, size.size * n_dimensions, n_objects))


@dataclass(eq=False, repr=False)
class Gap:
    """Result of `gap_statistic`.

    Attributes
    ----------
    n_clusters : int
        The offered number of largest gap.
    one_standard_error : int
        The smallest offered number whose gap is not exceeded by that of the next larger one by more than its error;
        the largest if there is none.
    offered : list of int
    gaps, errors : ndarray, shape (len(offered),)
        Natural-log units; errors are standard deviations over the references times sqrt(1 + 1 / references).
    log_dispersions : ndarray, shape (len(offered),)
        log W of the data; W = sum of squared distances to the centroids.
    reference : ndarray, shape (n_repeats, len(offered))
        The same for the structureless data.
    """

    offered: list
    log_dispersions: np.ndarray
    reference: np.ndarray

    def __post_init__(self):
        self.gaps = self.reference.mean(axis=0) - self.log_dispersions
        self.errors = self.reference.std(axis=0) * np.sqrt(1 + 1 / len(self.reference))
        self.n_clusters = self.offered[int(self.gaps.argmax())]
        order = np.argsort(self.offered)
        enough = np.append(self.gaps[order[:-1]] >= (self.gaps - self.errors)[order[1:]], True)
        self.one_standard_error = self.offered[order[int(enough.argmax())]]

    def __repr__(self):
        gaps = listed(self.offered, self.gaps)
        return f"Gap({self.n_clusters} clusters, {self.one_standard_error} by one standard error; gap {gaps})"


def _log_dispersions(model, X, offered, per_object):
    with one_thread():
        costs = np.array([clone(model).set_params(n_clusters=k).fit(X, **per_object).inertia_ for k in offered])
    if costs.min() <= 1e-300:
        raise ValueError(f"X: {offered[int(costs.argmin())]} clusters leave no spread, so log W is not finite")
    return np.log(costs)


def gap_statistic(
    X, n_clusters, *, model=None, n_repeats=20, per_object=None, random_state=None, n_jobs=None, progress=True
):
    """Gap statistic: mean log within-cluster spread of structureless data minus that of X (004 section 7.2).

    Parameters
    ----------
    X : array_like, shape (N, D)
    n_clusters : int or iterable of int
        Numbers of clusters to offer, below N.
    model : estimator with `n_clusters` and `inertia_`, optional
        None takes scikit-learn's KMeans with five starts.
    n_repeats : int
        Structureless data sets, uniform in the bounding box of X.
    per_object : dict name -> array_like of shape (N, ...), or None
        What the model's `fit` takes for every object, of X and of the structureless data.
    random_state : int, numpy.random.Generator or None
    n_jobs : int or None
        Worker processes (joblib); the result does not depend on it.
    progress : bool
        Show a progress bar.

    Returns
    -------
    Gap

    Raises
    ------
    ValueError
        `n_clusters` is empty or repeats itself, K >= N, or clusters without any spread.

    Notes
    -----
    The lecture notes give no rule of selection, so both usual ones are reported. Counting pairs of objects once or
    twice changes log W by a constant that drops out.

    References
    ----------
    Document 004, section 7.2; Tibshirani, Walther and Hastie, J. Royal Stat. Soc. B 63 (2001).

    Examples
    --------
    >>> import numpy as np, gencap as gc
    >>> X = np.repeat([[0.0, 0], [8, 0]], 20, axis=0) + np.random.default_rng(0).random((40, 2))
    >>> gc.gap_statistic(X, [1, 2, 3], n_repeats=5, random_state=0, progress=False).n_clusters
    2
    """
    X = checks.check_vectors("X", X)
    offered = checks.check_offered(n_clusters, len(X) - 1, "n_samples - 1")
    model, per_object = KMeans(n_init=5, random_state=0) if model is None else model, per_object or {}
    rngs = checks.generator(random_state).spawn(checks.check_integer("n_repeats", n_repeats))
    calls = ((model, rng.uniform(X.min(axis=0), X.max(axis=0), X.shape), offered, per_object) for rng in rngs)
    found = map_with_bar(_log_dispersions, calls, total=n_repeats, desc="references", n_jobs=n_jobs, progress=progress)
    return Gap(offered, _log_dispersions(model, X, offered, per_object), np.array(found))


def compare_criteria(
    X, X2=None, n_clusters=range(1, 9), *, covariance_type="full", n_repeats=20, random_state=None, progress=True
):
    """Every criterion for the number of clusters on one data set.

    Parameters
    ----------
    X : array_like, shape (N, D)
    X2 : array_like, shape (N, D), optional
        The same objects in the same order measured again, for the capacity. Without it X is split at random into
        halves, whose objects are paired one to one by least distance (Hungarian).
    n_clusters : int or iterable of int
        Numbers of clusters to offer.
    covariance_type : str
        Of the Gaussian mixtures behind AIC, BIC and one of the transfer costs.
    n_repeats : int
        Structureless data sets of the gap, random halves of instability and transfer costs.
    random_state : int or None
    progress : bool
        Show a progress bar.

    Returns
    -------
    pandas.DataFrame
        A row for every criterion. Columns: n_clusters, the number selected; a column for every number offered (int)
        with the scores, NaN where undefined; rule, "lowest" or "highest" or the rule in words; unit.

    Raises
    ------
    ValueError
        `n_clusters` is empty, repeats itself or exceeds N / 2, X2 of another shape than X or with its objects in
        another order, or what a criterion refuses.

    References
    ----------
    Document 004, section 7; document 002.

    Examples
    --------
    >>> import numpy as np, gencap as gc
    >>> X = np.repeat([[0.0, 0], [8, 0]], 20, axis=0) + np.random.default_rng(0).random((40, 2))
    >>> found = gc.compare_criteria(X, None, [1, 2], n_repeats=2, random_state=0, progress=False)
    >>> int(found.n_clusters["BIC, mixture"])
    2
    """
    checks.check_same_order("X2", X2, "X", X)
    X = checks.check_vectors("X", X)
    offered = checks.check_offered(n_clusters, len(X) // 2, "n_samples / 2")
    rngs = checks.generator(random_state).spawn(5)
    if X2 is None:
        X1, X2, *_ = random_halves(X, False, rngs[0])
        X1 = X1[: len(X2)]
        X2 = X2[match_objects(X1, X2)]
    else:
        X1, X2 = X, checks.check_vectors("X2", X2)
        checks.check_same_shape("X2", X2, "X", X)
    rows = []

    def add(criterion, scores, unit="", rule="lowest", chosen=None):
        chosen = chosen or offered[int((np.nanargmax if rule == "highest" else np.nanargmin)(scores))]
        rows.append([criterion, chosen, *scores, rule, unit])

    seed = int(rngs[1].integers(2**31))
    kmeans = KMeans(n_init=5, random_state=seed)
    mixture = GaussianMixture(covariance_type=covariance_type, n_init=2, random_state=seed)
    models = [clone(kmeans).set_params(n_clusters=k) for k in offered]
    options = {"n_repeats": n_repeats, "progress": progress}
    with one_thread():
        fits = [clone(mixture).set_params(n_components=k).fit(X) for k in offered]
        add("AIC, mixture", [fit.aic(X) for fit in fits], "nats")
        add("BIC, mixture", [fit.bic(X) for fit in fits], "nats")
        labels = [model.fit(X).labels_ for model in models]
        add("BIC, k-means errors only", [kmeans_bic(c, X, entropy=False) for c in labels], "nats")
        add("BIC, k-means with entropy", [kmeans_bic(c, X) for c in labels], "nats")
        gap = gap_statistic(X, offered, random_state=rngs[2], **options)
        add("gap, largest", gap.gaps, "nats", "highest")
        add("gap, one standard error", gap.gaps, "nats", "first within an error", gap.one_standard_error)
        if max(offered) > 1:
            splits = {"n_repeats": n_repeats, "random_state": rngs[3]}
            found = [instability(model, X, **splits).value if model.n_clusters > 1 else np.nan for model in models]
            add("instability", found, "of guessing")
        names = {"nearest_cluster": "nearest centroid", "soft": "soft"}
        costs = select_by_transfer_cost(kmeans, X, offered, mapping=tuple(names), random_state=rngs[4], **options)
        for mapping, name in names.items():
            add(f"transfer, k-means {name}", costs[mapping].median, "squared distance")
        costs = select_by_transfer_cost(mixture, X, offered, random_state=rngs[4], **options)
        add("transfer, mixture", costs.median, "nats per object")
        # Restarts of annealing find the same path; those of k-means above do not.
        found = select_n_clusters(AnnealedKMeans(random_state=seed), X1, X2, offered, progress=progress)
        add("capacity", found.capacities, "bits per object", "smallest within .02", found.n_clusters)
    return pd.DataFrame(rows, columns=["criterion", "n_clusters", *offered, "rule", "unit"]).set_index("criterion")
