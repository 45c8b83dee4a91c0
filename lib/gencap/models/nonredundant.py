r"""Clusterings that do not repeat a known one: a penalised mixture, and an ensemble of clusterings within known groups.

`ConstrainedModelClustering` maximises the likelihood of a mixture of Bernoulli features plus a reward for a large
H(C | Z) = H(C, Z) - H(Z), C the clusters and Z the known structure. With d outcomes and the index of coincidence
IC = sum p^2, entropies have parabolas as bounds, tight at the uniform distribution:

.. math:: \delta_d - \beta_d \, IC \le H \le \ln d - S_d (IC - 1/d), \quad
          \delta_d = \ln(d+1) + d \ln(1 + 1/d), \quad \beta_d = (d+1) \, d \ln(1 + 1/d),

and S_d = (d-1) ln(d-1) / (d-2), S_2 = 1. The lower one of H(C, Z) less the upper one of H(Z) is quadratic in the
probabilities of the features, which makes every maximisation step the root of a cubic. What a feature says of Z is
counted in the data, p(z | k) = mean_j sum_y p(z | y_j = y) p(y_j = y | k), over the distinct values z.

`ConditionalEnsemble` clusters the objects of each known group by themselves, extends these clusterings to all objects,
and combines them by quadratic mutual information: what all groups agree on is not what tells them apart.

References: 001 chapters 5 and 7. The upper bound printed there is violated, and its solution of the maximisation step
has wrong signs; both are corrected here.
"""

import inspect
import warnings

import numpy as np
from scipy.spatial.distance import cdist
from scipy.special import log1p, xlogy
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.neighbors import KNeighborsClassifier
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from .. import checks
from ..kernels import constrained as kernels
from ..trajectory import Trajectory, check_betas, one_hot, softmax
from .base import ClusteringModel, follow, warn_caller

TOLERANCE = 1e-3  # largest move of a probability in a sweep at which a temperature counts as done
MAX_SWEEPS = 1000
PERTURBATION = 0.01  # of the probabilities at every temperature; equal clusters would never part without it
SURE = 0.99  # probability of every object in its cluster, from which on cooling changes nothing
COLDEST = 0.5  # temperature at which the default grid ends


def _codes(name, values, n_objects=None, binary=False):
    """Categories of the objects as 0..n-1: labels of any kind; with `binary` also the distinct rows of a 0/1 array."""
    if not binary or np.ndim(values) != 2:
        return checks.check_classes(name, values, n_objects)[1]
    values = checks.check_vectors(name, values)
    if n_objects not in (None, len(values)):
        raise ValueError(f"{name} has {len(values)} entries, accepted is one for each of the {n_objects} objects")
    checks.check_boolean(name, values)
    return np.unique(values, axis=0, return_inverse=True)[1].ravel()


def _groups(known, n_objects):
    """What is known of the objects, as the codes of at least two groups."""
    if known is None:
        raise ValueError("known is missing: give the known structure of the objects, fit(X, known=z)")
    codes = _codes("known", known, n_objects, binary=True)
    if not codes.any():
        raise ValueError(f"known has one class for all {len(codes)} objects, accepted are two or more classes")
    return codes


def _tell_unused(model, labels, n_clusters):
    if (used := np.unique(labels).size) < n_clusters:
        warn_caller(f"{model} was offered {n_clusters} clusters, and only {used} of them hold objects: the solution is "
                    "degenerate; try other starts, another penalty or fewer clusters", ConvergenceWarning)  # fmt: skip


def lower_bound(coincidence, index):
    """Parabola below the entropy, in nats, for every whole `index`; tight at the uniform one on `index` outcomes.

    Parameters
    ----------
    coincidence : float or ndarray
        Index of coincidence sum p^2.
    index : int

    Returns
    -------
    float or ndarray

    Examples
    --------
    >>> import gencap as gc
    >>> float(gc.models.nonredundant.lower_bound(1 / 2, 2).round(6)), round(float(np.log(2)), 6)
    (0.693147, 0.693147)
    """
    growth = np.log1p(1 / index)
    return np.log(index + 1) + index * growth - (index + 1) * index * growth * coincidence


def upper_slope(n_outcomes):
    """S_d of the parabola ln d - S_d (IC - 1/d) above the entropy of d >= 2 outcomes."""
    return 1.0 if n_outcomes == 2 else (n_outcomes - 1) * np.log(n_outcomes - 1) / (n_outcomes - 2)


class ConstrainedModelClustering(ClusteringModel):
    """Mixture of Bernoulli features with a penalty on clusters that repeat a known structure (CMBC).

    Parameters
    ----------
    n_clusters : int
        Number of clusters K, equally likely.
    update : {"batch", "partial"}
        "batch" updates all probabilities of the features one after the other with the assignments held; "partial" takes
        an expectation after each of them, and is several times slower for the same result.
    annealed : bool
        Cool from temperature M, the number of features, down to 1/2; else one run at temperature 1.
    penalty : float
        c >= 0; the bound on H(C | Z), in nats, counts c N M^2 times beside the log-likelihood. 0 does not look at Z.
        With many distinct known values 1 or 2 are better than 10: their counts are noisy.
    start : {"assignments", "probabilities"}
        What is drawn first: soft assignments of the objects, or, as in the source, the probabilities of the features.
        Cooling does not mind; without it the second start often ends in a poor local optimum.
    rate : float
        Factor of the temperature from step to step, in (0, 1).
    n_init : int
        Runs from random starts; the one of lowest cost at the cold end is kept.
    random_state : int, Generator, RandomState or None

    Attributes
    ----------
    cluster_centers_ : ndarray, shape (K, M)
        Probabilities of the features at the coldest step.
    labels_, trajectory_, n_iter_, n_features_in_, feature_names_in_
        See `ClusteringModel`.

    Notes
    -----
    `fit(Y, known=z)` and `anneal(Y, known=z)` take binary features Y (N, M) and what is known of every object: labels
    (N,) of any kind, or a binary array (N, d) of which every distinct row is one known value. `cost` takes it as well.

    Potentials are -log p(y_i | k), in nats. The unit is the first split without a penalty, 1 / lambda_max of the
    correlations of the features; lambda_max <= M, so that the default grid begins above it. Once all objects belong to
    one cluster with a probability above .99 the rest of the grid is read off without further sweeps. An `init` is
    refused. `costs` are those of hard labels: minus the log-likelihood with the means of the clusters in use as
    probabilities, less c N M^2 times the bound on H(C | Z).

    Where fewer clusters hold objects than are offered a `ConvergenceWarning` says so.

    References
    ----------
    001 chapter 5.

    Examples
    --------
    >>> import numpy as np, gencap as gc
    >>> shape, colour = np.arange(40) % 2, np.arange(40) // 20
    >>> Y = np.column_stack([shape] * 6 + [colour] * 4)
    >>> model = gc.ConstrainedModelClustering(2, random_state=0).fit(Y, known=shape)
    >>> gc.metrics.matched_precision(model.labels_, colour)
    1.0
    """

    _positive_only = True

    def __init__(self, n_clusters=2, update="batch", annealed=True, penalty=10.0, start="assignments", rate=0.8,
                 n_init=1, random_state=None):  # fmt: skip
        self.n_clusters, self.update, self.annealed, self.penalty = n_clusters, update, annealed, penalty
        self.start, self.rate, self.n_init, self.random_state = start, rate, n_init, random_state

    def _exact(self, X):
        X = clone(self)._checked("X", X, reset=True)
        checks.check_n_clusters(self.n_clusters, len(X))
        checks.check_option("update", self.update, ("batch", "partial"))
        checks.check_option("annealed", self.annealed, (True, False))
        checks.check_option("start", self.start, ("assignments", "probabilities"))
        checks.check_number("penalty", self.penalty, 0.0)
        checks.check_number("rate", self.rate, np.nextafter(0, 1), np.nextafter(1, 0))
        checks.check_integer("n_init", self.n_init)
        return X

    def _checked(self, name, X, reset=False):
        X = super()._checked(name, X, reset)
        checks.check_boolean(name, X)
        return X

    def _unit(self, X):
        spread = X.std(axis=0)
        varying = spread > 0
        correlations = np.corrcoef(X[:, varying].T).reshape(2 * [varying.sum()])
        return 1 / np.linalg.norm(correlations, 2) if varying.any() else 1.0

    def _labels_cost(self, labels, X, known=None):
        D, r = _tables(X, _groups(known, len(X)))
        members = one_hot(labels, self.n_clusters)
        members = members[:, members.any(axis=0)]
        size, (n_features, n_known) = members.sum(axis=0), D.shape
        theta = members.T @ X / size[:, None]
        given = (theta @ D + r) / (n_features * len(size))  # p(z, k)
        likelihood = size @ (xlogy(theta, theta) + xlogy(1 - theta, 1 - theta)).sum(axis=1) - len(X) * np.log(len(size))
        bound = lower_bound((given**2).sum(), given.size) - np.log(n_known)
        bound += upper_slope(n_known) * ((given.sum(axis=0) ** 2).sum() - 1 / n_known)
        return float(-likelihood - self.penalty * X.size * n_features * bound)

    def _anneal(self, X, betas, init, known=None):
        if init is not None:
            raise ValueError("init must be None: a run starts from random assignments")
        n_features, known = X.shape[1], _groups(known, len(X))
        if betas is None:
            n_steps = 1 + int(np.log(COLDEST / n_features) / np.log(self.rate) + 1e-9) if self.annealed else 1
            checks.check_size(f"the trajectory cooled by rate={self.rate}", (n_steps, len(X), self.n_clusters))
            betas = self.rate ** -np.arange(float(n_steps)) / (n_features if self.annealed else 1)
        betas, unit = check_betas(betas), self._unit(X)
        seeds = np.random.SeedSequence(checks.check_seed(self.random_state)).spawn(self.n_init)
        runs = (self._run(X, betas, known, unit, np.random.default_rng(seed)) for seed in seeds)
        run = min(runs, key=lambda run: run.costs[-1])
        _tell_unused(type(self).__name__, run.labels(), self.n_clusters)
        return run

    def _run(self, X, betas, known, unit, rng):
        (D, r), columns = _tables(X, known), np.ascontiguousarray(X.T)
        pull, index = 2 * self.penalty * len(X) / self.n_clusters, self.n_clusters * len(r)
        own = pull * (index + 1) * index * np.log1p(1 / index) / self.n_clusters
        shared = pull * upper_slope(len(r))
        drawn = rng.dirichlet(np.ones(self.n_clusters), len(X))
        theta, path, sweeps, sure = drawn.T @ X / drawn.sum(axis=0)[:, None], [], 0, False
        if self.start == "probabilities":
            theta = rng.uniform(0.25, 0.75, theta.shape)

        def cool(t):
            nonlocal theta, sweeps, sure
            settled = True
            if not sure:
                theta = theta * rng.uniform(1 - PERTURBATION, 1 + PERTURBATION, theta.shape)
                theta = np.clip(theta, kernels.EDGE, 1 - kernels.EDGE)
                how = own, shared, 1 / betas[t], self.update == "partial", TOLERANCE, MAX_SWEEPS
                done, settled = kernels.settle(columns, theta, D, r, *how)
                sweeps += done
            h = _surprise(X, theta)
            sure = sure or softmax(-betas[t] * h).max(axis=1).min() > SURE
            path.append(theta)
            return h, settled

        steps = follow(betas, cool, lambda labels: self._labels_cost(labels, X, known), hot_first=True)
        return Trajectory(**steps, centroids=path, unit=unit, n_iter=sweeps, learned={"cluster_centers_": theta})

    def potentials(self, X_new):
        """Minus the log-probability of new objects in every cluster of the fit.

        Parameters
        ----------
        X_new : array_like, shape (N_new, M)
            Binary features.

        Returns
        -------
        ndarray, shape (N_new, K)
            Nats.
        """
        return _surprise(self._checked("X_new", X_new), self.cluster_centers_)

    def predict(self, X):
        """Most probable cluster of every object; what is known of it is not asked.

        Parameters
        ----------
        X : array_like, shape (N_new, M)

        Returns
        -------
        ndarray of int, shape (N_new,)
        """
        return self.potentials(X).argmin(axis=1)


def _surprise(X, theta):
    """-log p(y_i | k), shape (N, K)."""
    return -(X @ np.log(theta / (1 - theta)).T + log1p(-theta).sum(axis=1))


def _tables(X, codes):
    """D (M, n) with p(z | y_j = 1) - p(z | y_j = 0), and r (n,), the sum of p(z | y_j = 0); n distinct values z.

    A feature that is never (or always) 1 says nothing: both of its rows are p(z).
    """
    checks.check_size("the table of objects by values of known", (len(X), codes.max() + 1))
    members = one_hot(codes, codes.max() + 1)
    on, everywhere = X.sum(axis=0)[:, None], members.mean(axis=0)
    ones, zeros = X.T @ members, (1 - X).T @ members
    inside = np.where(on > 0, ones / np.maximum(on, 1), everywhere)
    outside = np.where(on < len(X), zeros / np.maximum(len(X) - on, 1), everywhere)
    return inside - outside, outside.sum(axis=0)


def _labelings(labelings):
    """Several labelings of the same objects as their codes, shape (l, N)."""
    found = [_codes(f"labelings[{j}]", one) for j, one in enumerate(labelings)]
    if not found:
        raise ValueError("labelings is empty, accepted are one or more labelings of the same objects")
    return np.array([_codes(f"labelings[{j}]", one, len(found[0])) for j, one in enumerate(found)])


def quadratic_information(labels, labelings):
    """Quadratic mutual information of a clustering with several others, summed over these.

    I2(C; C') = 2 sum_k p(k) sum_r p(r | k)^2 - 2 sum_r p(r)^2, twice the category utility.

    Parameters
    ----------
    labels : array_like of int or str, shape (N,)
    labelings : sequence of array_like, each of shape (N,)

    Returns
    -------
    float
        At least 0, and at most 2 (1 - 1/K) for each of the labelings, of K clusters.

    References
    ----------
    001 section 7.2.

    Examples
    --------
    >>> import gencap as gc
    >>> gc.quadratic_information([0, 0, 1, 1], [[1, 1, 0, 0], [0, 1, 0, 1]])
    1.0
    """
    labelings = _labelings(labelings)
    labels = _codes("labels", labels, labelings.shape[1])
    columns, members = _indicators(labelings, labelings), one_hot(labels, labels.max() + 1)
    counts = members.T @ columns
    within, overall = (counts**2 / members.sum(axis=0)[:, None]).sum(), (columns.sum(axis=0) ** 2).sum()
    return float(2 * (within - overall / len(labels)) / len(labels))


def quadratic_consensus(labelings, n_clusters, *, n_init=10, random_state=None):
    """Clustering of the largest quadratic mutual information with several labelings, among some starts.

    With 0/1 columns for the clusters of all labelings, the information and twice the mean squared distance to the means
    have a constant sum: k-means on the columns, neither scaled nor centred, is the search.

    Parameters
    ----------
    labelings : sequence of array_like of int or str, each of shape (N,)
    n_clusters : int
    n_init : int
        Starts of k-means, of which one alone is often poor.
    random_state : int, Generator, RandomState or None

    Returns
    -------
    ndarray of int, shape (N,)

    Warns
    -----
    ConvergenceWarning
        The labelings tell fewer objects apart than there are clusters.

    References
    ----------
    001 section 7.2.

    Examples
    --------
    >>> import gencap as gc
    >>> labels = gc.quadratic_consensus([[0, 0, 1, 1, 1], [1, 1, 0, 0, 1]], 2, random_state=0)
    >>> gc.metrics.matched_precision(labels, [0, 0, 1, 1, 1])
    1.0
    """
    labelings = _labelings(labelings)
    checks.check_n_clusters(n_clusters, labelings.shape[1])
    return _consensus(_indicators(labelings, labelings), n_clusters, n_init, checks.generator(random_state)).labels_


def _indicators(labelings, fitted):
    """A 0/1 column for each cluster of each labeling, by the names that the fitted labelings have."""
    columns = [np.equal.outer(one, np.unique(names)) for one, names in zip(labelings, fitted, strict=True)]
    return np.hstack(columns).astype(np.float64)


def _consensus(columns, n_clusters, n_init, rng):
    search = KMeans(n_clusters, n_init=checks.check_integer("n_init", n_init), random_state=int(rng.integers(2**31)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # said in our words
        search.fit(columns)
    _tell_unused("the consensus", search.labels_, n_clusters)
    return search


def _random_means(X, n_clusters, random_state):
    """Means of a random assignment, as k-means takes a start; objects as seeds are worse where noise is strong."""
    labels = random_state.permutation(np.arange(X.shape[0]) % n_clusters)
    members = one_hot(labels, n_clusters)
    return (X.T @ members / members.sum(axis=0)).T


class ConditionalEnsemble(ClusteringModel):
    """Clusterings within the groups of a known one, extended to all objects and combined (CondEns).

    Parameters
    ----------
    n_clusters : int
        Clusters K of the consensus.
    base : estimator or None
        Any clusterer of scikit-learn's form; a clone of it is fitted to the objects of every known group, with its
        `n_clusters` or `n_components` (where it has one) and `random_state` set. All objects are then labelled by its
        `predict`, or, if it has none, by the nearest mean of its clusters (objects that it labels -1 are in none). None
        is k-means from a random assignment.
    n_local : int or None
        Clusters within a group; None takes `n_clusters`.
    n_init : int
        Starts of the consensus, see `quadratic_consensus`.
    random_state : int, Generator, RandomState or None

    Attributes
    ----------
    estimators_ : list of estimators
        One for every known group, in the order of its values; they extend to new objects.
    labelings_ : ndarray, shape (l, N)
        The labels of all objects by each of them.
    consensus_centers_ : ndarray, shape (K, L)
        Shares of the L clusters of all labelings in the clusters of the consensus.
    labels_, trajectory_, n_iter_, n_features_in_, feature_names_in_
        See `ClusteringModel`; iterations are those of the consensus.

    Notes
    -----
    `fit(X, known=z)` takes labels (N,) of any kind, or a binary array (N, d) of which every distinct row is one known
    group. X may be sparse where `base` accepts that. A group of fewer objects than `n_local` has no clustering: it is
    left out with a `ConvergenceWarning`, and its objects are labelled by the others.

    There is no temperature: the trajectory has the single step 1 with certain assignments, other `betas` and an `init`
    are refused. `cost` is the squared error of the consensus, the sum over objects and labelings of the squared
    distance of the indicators to their mean; it needs the fit, which the labelings come from.

    References
    ----------
    001 chapter 7, Algorithm 7.1.

    Examples
    --------
    >>> import numpy as np, gencap as gc
    >>> shape, colour = np.arange(40) % 2, np.arange(40) // 20
    >>> Y = np.column_stack([shape] * 6 + [colour] * 4)
    >>> model = gc.ConditionalEnsemble(2, random_state=0).fit(Y, known=shape)
    >>> gc.metrics.matched_precision(model.labels_, colour)
    1.0
    """

    capacity_entropy = "same"

    def __init__(self, n_clusters=2, base=None, n_local=None, n_init=10, random_state=None):
        self.n_clusters, self.base, self.n_local = n_clusters, base, n_local
        self.n_init, self.random_state = n_init, random_state

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.base is None or get_tags(self.base).input_tags.sparse
        return tags

    def _exact(self, X):
        has = [hasattr(self.base, name) for name in ("get_params", "predict", "fit_predict")]
        if self.base is not None and not (has[0] and any(has[1:])):
            raise TypeError(f"base must be None or a clusterer with predict or fit_predict, got {self.base!r}")
        X = clone(self)._checked("X", X, reset=True)
        checks.check_n_clusters(self.n_clusters, X.shape[0])
        checks.check_integer("n_local", self.n_clusters if self.n_local is None else self.n_local)
        checks.check_integer("n_init", self.n_init)
        return X

    def _labels_cost(self, labels, X):
        columns, members = _indicators(self._extended(X), self.labelings_), one_hot(labels, self.n_clusters)
        means = members.T @ columns / np.maximum(members.sum(axis=0), 1)[:, None]
        return float(((columns - means[labels]) ** 2).sum())

    def _extended(self, X):
        check_is_fitted(self)
        return [one.predict(X) for one in self.estimators_]

    def _anneal(self, X, betas, init, known=None):
        if init is not None:
            raise ValueError("init must be None: there is no path of temperatures to start on")
        if betas is not None and check_betas(betas).tolist() != [1.0]:
            raise ValueError(f"betas is {betas!r}, accepted are None and [1]: there is a single step")
        codes, rng = _groups(known, X.shape[0]), checks.generator(self.random_state)
        n_local = int(self.n_clusters if self.n_local is None else self.n_local)
        small = np.flatnonzero(np.bincount(codes) < n_local).tolist()
        groups = np.setdiff1d(codes, small)
        if not groups.size:
            raise ValueError(f"known has no group of at least {n_local} objects, the number of clusters within a group")
        if small:
            warn_caller(f"known groups {small}, counted from 0 in the order of their values, have fewer than {n_local} "
                        "objects, the clusters within a group: they are left out", ConvergenceWarning)  # fmt: skip
        estimators = [self._local(X[codes == group], n_local, rng) for group in groups]
        labelings = np.array([one.predict(X) for one in estimators])
        if labelings.ndim != 2:
            raise TypeError(f"base {self.base!r} gives no single label for an object")
        columns = _indicators(labelings, labelings)
        search = _consensus(columns, self.n_clusters, self.n_init, rng)
        learned = {"estimators_": estimators, "labelings_": labelings, "consensus_centers_": search.cluster_centers_}
        cost = ((columns - search.cluster_centers_[search.labels_]) ** 2).sum()
        return Trajectory([1.0], one_hot(search.labels_, self.n_clusters)[None], None, [cost], n_iter=search.n_iter_,
                          learned=learned)  # fmt: skip

    def _local(self, X, n_clusters, rng):
        """The base, or what labels by the nearest mean in its place, fitted to the objects of one group."""
        base = KMeans(init=_random_means, n_init=1) if self.base is None else clone(self.base)
        wanted = {"n_clusters": n_clusters, "n_components": n_clusters, "random_state": int(rng.integers(2**31))}
        names = base.get_params(deep=False)
        base = base.set_params(**{name: value for name, value in wanted.items() if name in names})
        if hasattr(base, "predict"):
            return base.fit(X)
        labels = base.fit_predict(X)
        names = np.unique(labels[labels >= 0])
        if not names.size:
            found = f"base {type(base).__name__} found no cluster"
            raise ValueError(f"{found} among {len(labels)} objects of a known group, accepted are one or more")
        means = np.vstack([np.asarray(X[labels == name].mean(axis=0)).reshape(1, -1) for name in names])
        return KNeighborsClassifier(1, algorithm="brute").fit(means, names)

    def potentials(self, X_new):
        """Squared distances of the indicators of new objects, as the fitted clusterings label them, to the consensus.

        Parameters
        ----------
        X_new : array_like or scipy.sparse matrix, shape (N_new, D)

        Returns
        -------
        ndarray, shape (N_new, K)
        """
        columns = _indicators(self._extended(self._checked("X_new", X_new)), self.labelings_)
        return cdist(columns, self.consensus_centers_, "sqeuclidean")

    def predict(self, X):
        """Nearest cluster of the consensus; what is known of an object is not asked.

        Parameters
        ----------
        X : array_like or scipy.sparse matrix, shape (N_new, D)

        Returns
        -------
        ndarray of int, shape (N_new,)
        """
        return self.potentials(X).argmin(axis=1)


def successive_clusterings(model, X, known, n_more, *, way="product"):
    """Further clusterings of the same objects, each of them not redundant with all before.

    Parameters
    ----------
    model : ClusteringModel
        One whose `fit` takes `known`; clones of it are fitted.
    X : array_like, shape (N, D)
    known : array_like, shape (N,) or (N, d)
        As in `fit`.
    n_more : int
        How many.
    way : {"product", "memberships"}
        How the next one is told what is known: as labels, one for every combination that occurs, or as a binary array,
        a column for each cluster of each clustering (and the columns of `known`, if it has such).

    Returns
    -------
    list of ClusteringModel
        The fitted ones, in order; their clusterings are `labels_`.

    References
    ----------
    001 section 9.2.

    Examples
    --------
    >>> import numpy as np, gencap as gc
    >>> shape, colour = np.arange(40) % 2, np.arange(40) // 20
    >>> Y = np.column_stack([shape] * 6 + [colour] * 4)
    >>> model = gc.ConstrainedModelClustering(2, random_state=0)
    >>> found = gc.successive_clusterings(model, Y, shape, 1)
    >>> [gc.metrics.matched_precision(one.labels_, colour) for one in found]
    [1.0]
    """
    checks.check_option("way", way, ("product", "memberships"))
    if "known" not in inspect.signature(model._anneal).parameters:
        raise TypeError(f"model {type(model).__name__} takes no known structure: its fit has no argument `known`")
    codes = _codes("known", known, binary=True)
    columns, found = np.asarray(known) if np.ndim(known) == 2 else one_hot(codes, codes.max() + 1), []
    for _ in range(checks.check_integer("n_more", n_more)):
        found.append(clone(model).fit(X, known=codes if way == "product" else columns))
        labels = found[-1].labels_
        codes = np.unique(np.column_stack([codes, labels]), axis=0, return_inverse=True)[1].ravel()
        columns = np.hstack([columns, one_hot(labels, labels.max() + 1)])
    return found
