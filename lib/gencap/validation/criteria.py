"""The classical criteria for the number of clusters, and all of them side by side on one data set.

* Penalised likelihoods: AIC and BIC (in `selection`), and the description length, BIC in other units.
* BIC for hard k-means. With one Gaussian of variance R / (N D) around every centroid, R the cost of the labels,

      -log p(X, c) = N D / 2 log(2 pi e R / (N D)) + N H(c),                    (004 section 7.1)

  H the entropy of the cluster sizes: a code has to name the cluster of every object too. Without that term, as printed,
  the first one falls so fast that the largest number of clusters offered wins.
* The gap statistic: how much more than in structureless data do the clusters shrink? (004 section 7.2)
* The instability of the labels (in `selection`), the minimum transfer cost (in `transfer`), the capacity.
"""

import html
from dataclasses import dataclass

import numpy as np
from joblib import Parallel, delayed
from scipy.linalg import eigvalsh
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.mixture import GaussianMixture
from tqdm.auto import tqdm

from .. import checks
from ..models.centroid import AnnealedKMeans
from ..resources import one_thread
from ..trajectory import entropy_bits
from ..views.measures import match_objects
from ..views.protocols import random_halves
from .selection import select_n_clusters
from .stability import instability
from .transfer import select_by_transfer_cost


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

    Source: document 004, section 7.1.
    """
    return bic(log_likelihood, n_parameters, n_objects) / (2 * np.log(2))


def mixture_parameters(n_clusters, n_features, covariance_type="full"):
    """Free parameters of a Gaussian mixture: K D means, K - 1 weights, and the covariances of the type.

    Parameters
    ----------
    n_clusters : int or array_like of int
    n_features : int
    covariance_type : {"full", "tied", "diag", "spherical"}
        As scikit-learn's GaussianMixture.
    """
    checks.check_option("covariance_type", covariance_type, ("full", "tied", "diag", "spherical"))
    k, d = np.asarray(n_clusters), checks.check_integer("n_features", n_features)
    covariances = {"full": k * d * (d + 1) // 2, "tied": d * (d + 1) // 2, "diag": k * d, "spherical": k}
    return k * d + k - 1 + covariances[covariance_type]


def effective_dimension(X, gram=False):
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
    """
    if gram:
        X = checks.check_similarity("X", X, np.float64)
        X = X.toarray() if hasattr(X, "toarray") else X
        means = X.mean(axis=0)
        values = eigvalsh(X - means - means[:, None] + means.mean())
        if values[0] < -1e-8 * max(values[-1], 0.0) - 1e-300:
            raise ValueError(
                f"X has the eigenvalue {values[0]:.3g} after centring; accepted are inner products, whose eigenvalues "
                "are >= 0 (constant_shift_embedding turns other similarities into vectors)"
            )
    else:
        X = checks.check_vectors("X", X)
        X = X - X.mean(axis=0)
        values = np.linalg.svd(X, compute_uv=False)[::-1] ** 2
    if values[-1] <= 1e-300:
        raise ValueError("X has no spread: all objects are equal; accepted are objects that differ")
    return float(values.sum() / values[-1])


def kmeans_bic(labels, X, n_dimensions=None, entropy=True):
    """BIC of a hard k-means clustering, -2 log p(X, c) + K D log N; the smaller the better.

    Parameters
    ----------
    labels : array_like of int, shape (N,)
        Clusters without members do not count.
    X : array_like, shape (N, D)
    n_dimensions : float or None
        D; None takes the number of columns, `effective_dimension(X)` counts correlated ones less.
    entropy : bool
        Count the bits that name every object's cluster. False is the form of the lecture notes, which selects the
        largest number of clusters offered.

    Returns
    -------
    float

    Raises
    ------
    ValueError
        Every object is equal to its centroid, so the likelihood is infinite.

    Source: document 004, section 7.1 (k' = number of clusters times number of dimensions).
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
        log_likelihood -= n_objects * entropy_bits(size / n_objects) * np.log(2)
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
    reference : ndarray, shape (n_references, len(offered))
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
        pairs = ", ".join(f"{k}: {value:.3f}" for k, value in zip(self.offered, self.gaps, strict=True))
        return f"Gap({self.n_clusters} clusters, {self.one_standard_error} by one standard error; gap {pairs})"


def structureless(X, reference="box", random_state=None):
    """Uniform data of the size and extent of X (N, D): in its bounding box, or in that of its principal axes.

    Parameters
    ----------
    X : array_like, shape (N, D)
    reference : {"box", "principal"}
    random_state : int, numpy.random.Generator or None

    Returns
    -------
    ndarray, shape (N, D)
    """
    checks.check_option("reference", reference, ("box", "principal"))
    X = checks.check_vectors("X", X)
    mean = X.mean(axis=0)
    axes = np.eye(X.shape[1]) if reference == "box" else np.linalg.svd(X - mean, full_matrices=False)[2]
    places = (X - mean) @ axes.T
    drawn = checks.generator(random_state).uniform(places.min(axis=0), places.max(axis=0), places.shape)
    return drawn @ axes + mean


def _log_dispersions(model, X, offered, reference=None, rng=None):
    if reference is not None:
        X = structureless(X, reference, rng)
    with one_thread():
        costs = np.array([clone(model).set_params(n_clusters=k).fit(X).inertia_ for k in offered])
    if costs.min() <= 1e-300:
        raise ValueError(f"X: {offered[int(costs.argmin())]} clusters leave no spread, so log W is not finite")
    return np.log(costs)


def gap_statistic(
    X, n_clusters, reference="box", n_references=20, model=None, random_state=None, n_jobs=None, progress=True
):
    """Gap statistic: mean log within-cluster spread of structureless data minus that of X (004 section 7.2).

    Parameters
    ----------
    X : array_like, shape (N, D)
    n_clusters : iterable of int
        Numbers of clusters to offer, below N.
    reference : {"box", "principal"}
        Uniform in the data's bounding box, or in the box along its principal axes.
    n_references : int
        Structureless data sets.
    model : estimator with `n_clusters` and `inertia_`, optional
        None takes scikit-learn's KMeans with five starts.
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
        `n_clusters` is empty or repeats itself, K >= N, an unknown reference, or clusters without any spread.

    Notes
    -----
    The lecture notes give no rule of selection, so both usual ones are reported. Counting pairs of objects once or
    twice changes log W by a constant that drops out.

    Source: document 004, section 7.2; Tibshirani, Walther and Hastie, J. Royal Stat. Soc. B 63 (2001).
    """
    checks.check_option("reference", reference, ("box", "principal"))
    X = checks.check_vectors("X", X)
    offered = checks.check_offered(n_clusters, len(X) - 1, "n_samples - 1")
    model = KMeans(n_init=5, random_state=0) if model is None else model
    rngs = checks.generator(random_state).spawn(checks.check_integer("n_references", n_references))
    tasks = (delayed(_log_dispersions)(model, X, offered, reference, rng) for rng in rngs)
    done = Parallel(n_jobs=n_jobs, return_as="generator")(tasks)
    drawn = list(tqdm(done, total=len(rngs), desc="references", disable=not progress, leave=False))
    return Gap(offered, _log_dispersions(model, X, offered), np.array(drawn))


@dataclass(eq=False, repr=False)
class CriteriaTable:
    """Result of `compare_criteria`: a table in a notebook, `table["name"]` is one row.

    Attributes
    ----------
    offered : list of int
    rows : list of dict
        criterion; n_clusters, the number selected; scores, ndarray (len(offered),), NaN where undefined; best,
        "lowest" or "highest" or the rule in words; unit.
    """

    offered: list
    rows: list

    def __getitem__(self, criterion):
        for row in self.rows:
            if row["criterion"] == criterion:
                return row
        raise KeyError(f"{criterion!r} is not one of {', '.join(repr(row['criterion']) for row in self.rows)}")

    def _cells(self):
        yield ["criterion", "K", *(f"K = {k}" for k in self.offered), "rule", "unit"]
        for row in self.rows:
            scores = ["" if np.isnan(score) else f"{score + 0.0:.4g}" for score in row["scores"]]
            yield [row["criterion"], str(row["n_clusters"]), *scores, row["best"], row["unit"]]

    def __repr__(self):
        cells = list(self._cells())
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        return "\n".join("  ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)).rstrip() for row in cells)

    def _repr_html_(self):
        head, *body = self._cells()
        text = "<tr>" + "".join(f"<th style='text-align:left'>{html.escape(cell)}</th>" for cell in head) + "</tr>"
        for row, cells in zip(self.rows, body, strict=True):
            chosen = 2 + self.offered.index(row["n_clusters"])
            marked = [f"<b>{html.escape(c)}</b>" if n in (1, chosen) else html.escape(c) for n, c in enumerate(cells)]
            text += "<tr>" + "".join(f"<td style='text-align:left'>{cell}</td>" for cell in marked) + "</tr>"
        return f"<table>{text}</table>"


def compare_criteria(
    X, X2=None, n_clusters=range(1, 9), covariance_type="full", n_repetitions=20, random_state=None, progress=True
):
    """Every criterion for the number of clusters on one data set.

    Parameters
    ----------
    X : array_like, shape (N, D)
    X2 : array_like, shape (N, D), optional
        The same objects in the same order measured again, for the capacity. Without it X is split at random into
        halves, whose objects are paired one to one by least distance (Hungarian).
    n_clusters : iterable of int
        Numbers of clusters to offer.
    covariance_type : str
        Of the Gaussian mixtures behind AIC, BIC and one of the transfer costs.
    n_repetitions : int
        Structureless data sets of the gap, random halves of instability and transfer costs.
    random_state : int or None
    progress : bool
        Show a progress bar.

    Returns
    -------
    CriteriaTable

    Raises
    ------
    ValueError
        `n_clusters` is empty, repeats itself or exceeds N / 2, X2 of another shape than X or with its objects in
        another order, or what a criterion refuses.

    Source: document 004, section 7; document 002.
    """
    checks.check_same_order("X2", X2, "X", X)
    X = checks.check_vectors("X", X)
    offered = checks.check_offered(n_clusters, len(X) // 2, "n_samples / 2")
    rngs = checks.generator(random_state).spawn(5)
    if X2 is None:
        X1, X2 = random_halves(X, False, rngs[0])
        X1 = X1[: len(X2)]
        X2 = X2[match_objects(X1, X2)]
    else:
        X1, X2 = X, checks.check_vectors("X2", X2)
        checks.check_same_shape("X2", X2, "X", X)
    rows = []

    def add(criterion, scores, best="lowest", unit="", chosen=None):
        scores = np.asarray(scores, dtype=float)
        best_index = np.nanargmax(scores) if best == "highest" else np.nanargmin(scores)
        chosen = offered[int(best_index)] if chosen is None else chosen
        rows.append({"criterion": criterion, "n_clusters": chosen, "scores": scores, "best": best, "unit": unit})

    seed = int(rngs[1].integers(2**31))
    kmeans = KMeans(n_init=5, random_state=seed)
    mixture = GaussianMixture(covariance_type=covariance_type, n_init=2, random_state=seed)
    bar = tqdm(total=5, desc="criteria", disable=not progress, leave=False)
    with one_thread():
        fits = [clone(mixture).set_params(n_components=k).fit(X) for k in offered]
        likelihoods = [fit.score(X) * len(X) for fit in fits]
        parameters = mixture_parameters(offered, X.shape[1], covariance_type)
        add("AIC, mixture", aic(likelihoods, parameters), unit="nats")
        add("BIC, mixture", bic(likelihoods, parameters, len(X)), unit="nats")
        models = [clone(kmeans).set_params(n_clusters=k) for k in offered]
        labels = [model.fit(X).labels_ for model in models]
        add("BIC, k-means as printed", [kmeans_bic(c, X, entropy=False) for c in labels], unit="nats")
        add("BIC, k-means with entropy", [kmeans_bic(c, X) for c in labels], unit="nats")
        bar.update()
        gap = gap_statistic(X, offered, n_references=n_repetitions, random_state=rngs[2], progress=False)
        add("gap, largest", gap.gaps, "highest", "nats")
        add("gap, one standard error", gap.gaps, "first within an error", "nats", gap.one_standard_error)
        bar.update()
        splits = {"n_splits": n_repetitions, "random_state": rngs[3]}
        found = [instability(model, X, **splits).value if model.n_clusters > 1 else np.nan for model in models]
        if max(offered) > 1:
            add("instability", found, unit="of guessing")
        bar.update()
        options = {"n_repetitions": n_repetitions, "random_state": rngs[4], "progress": False}
        names = {"nearest_cluster": "nearest centroid", "soft": "soft"}
        costs = select_by_transfer_cost(kmeans, X, offered, tuple(names), **options)
        for mapping, name in names.items():
            add(f"transfer, k-means {name}", costs[mapping].median, unit="squared distance")
        add("transfer, mixture", select_by_transfer_cost(mixture, X, offered, **options).median, unit="nats per object")
        bar.update()
        # Restarts of annealing find the same path; those of k-means above do not.
        capacity = select_n_clusters(AnnealedKMeans(random_state=seed), X1, X2, offered, progress=False)
        add("capacity", capacity.capacities, "smallest within .02", "bits per object", capacity.n_clusters)
        bar.update()
    bar.close()
    return CriteriaTable(offered, rows)


def aic(log_likelihood, n_parameters):
    """Akaike's criterion -2 log L + 2 p; the smaller the better.

    Parameters
    ----------
    log_likelihood : float or array_like
        Maximised natural-log likelihood of all objects together.
    n_parameters : int or array_like
        Number of free parameters p.
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
    """
    n_objects = checks.check_integer("n_objects", n_objects)
    return -2.0 * np.asarray(log_likelihood) + np.asarray(n_parameters) * np.log(n_objects)
