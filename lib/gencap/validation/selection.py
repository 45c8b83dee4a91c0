"""Choosing the number of clusters: by capacity, by penalised likelihoods, by the stability of the labels."""

from dataclasses import dataclass

import numpy as np
from scipy.stats import sem
from sklearn.base import clone

from ..checks import check_number, check_offered, check_same_order, check_seed
from ..resources import map_with_bar
from .capacity import generalization_capacity


def listed(offered, values, *, form=".3f"):
    """The values at the numbers offered, in words."""
    return ", ".join(f"{k}: {value:{form}}" for k, value in zip(offered, values, strict=True))


@dataclass(eq=False, repr=False)
class Selection:
    """Result of `select_n_clusters`.

    Attributes
    ----------
    n_clusters : int
        The smallest offered K whose capacity is within `tol` of the best.
    offered : list of int
        The numbers of clusters, in the order given.
    capacities : ndarray, shape (len(offered),)
        Bits per object.
    results : list of Capacity
    trajectories : list of (Trajectory, Trajectory)
    """

    n_clusters: int
    offered: list
    capacities: np.ndarray
    results: list
    trajectories: list

    def __repr__(self):
        return f"Selection({self.n_clusters} clusters; bits per object {listed(self.offered, self.capacities)})"


def twin(model):
    """The same model with a random state of its own, derived from the model's.

    Where a stiff model freezes, one state for both data sets would make them agree on their common start.

    Parameters
    ----------
    model : estimator

    Returns
    -------
    estimator
        The model itself, where it has no random state.

    Examples
    --------
    >>> import gencap as gc
    >>> gc.twin(gc.CorrelationClustering(random_state=0)).random_state == 0
    False
    """
    other = clone(model)
    if "random_state" in model.get_params():
        own = np.random.SeedSequence(check_seed(model.random_state)).generate_state(1)[0]
        other.set_params(random_state=int(own))
    return other


def check_model(model, *, relative_shift=None):
    """Raise unless `model` can be annealed, and has a shift if a relative one is asked for."""
    if isinstance(model, type) or not hasattr(model, "anneal") or "n_clusters" not in model.get_params():
        raise TypeError(f"model={model!r} is not accepted; accepted are models with `anneal` and `n_clusters`")
    if relative_shift is not None:
        check_number("relative_shift", relative_shift)
        if "shift" not in model.get_params():
            raise ValueError(f"relative_shift={relative_shift} for {model!r}, accepted are models with a shift")


def _evaluate(model, X1, X2, paired_start, per_object):
    first = model.anneal(X1, **per_object)
    second = twin(model).anneal(X2, betas=first.betas, init=first if paired_start else None, **per_object)
    return generalization_capacity(first, second), (first, second)


def select_n_clusters(
    model, X1, X2, n_clusters, *, paired_start=False, tol=0.02, per_object=None, n_jobs=None, progress=True
):
    """Anneal a model on two data sets for every number of clusters offered, and select by capacity (000 Alg. 2).

    Data set 2 has a random state of its own, derived from the model's. The entropy of the capacity is taken where the
    model says (`capacity_entropy`).

    Parameters
    ----------
    model : estimator with `anneal` and the parameter `n_clusters`
    X1, X2 : array_like
        Two data sets of the same objects, in the same order.
    n_clusters : int or iterable of int
        Number or distinct numbers of clusters to offer.
    paired_start : bool
        Start data set 2 at every temperature from data set 1's assignments. Meant for pairwise clustering of
        overlapping sources (000 chapter 6.1); with stiff models it leaks the answer from one set to the other.
    tol : float
        Differences of capacity (bits per object) that do not count.
    per_object : dict name -> array_like of shape (N, ...), or None
        What the model's `anneal` takes for every object; of both data sets.
    n_jobs : int or None
        Worker processes (joblib); the result does not depend on it.
    progress : bool
        Show a progress bar.

    Returns
    -------
    Selection

    Raises
    ------
    ValueError
        `n_clusters` is empty or repeats itself, labelled tables of the same objects in another order, or anything that
        `anneal` refuses.

    Examples
    --------
    >>> import gencap as gc
    >>> graphs = gc.datasets.planted_correlation_graphs(40, 3, noise=0.2, random_state=0)
    >>> model = gc.CorrelationClustering(random_state=0)
    >>> gc.select_n_clusters(model, *graphs, range(1, 5), progress=False).n_clusters
    3
    """
    offered = check_offered(n_clusters)
    check_number("tol", tol, 0.0)
    if np.shape(X1)[:1] != np.shape(X2)[:1]:
        raise ValueError(f"X2 has shape {np.shape(X2)}, accepted are the same objects as in X1, {np.shape(X1)}")
    check_same_order("X2", X2, "X1", X1)
    check_model(model)
    calls = ((clone(model).set_params(n_clusters=k), X1, X2, paired_start, per_object or {}) for k in offered)
    done = map_with_bar(_evaluate, calls, total=len(offered), desc="clusters", n_jobs=n_jobs, progress=progress)
    results, trajectories = map(list, zip(*done, strict=True))
    capacities = np.array([result.value for result in results])
    good = [k for k, value in zip(offered, capacities, strict=True) if value >= capacities.max() - tol]
    return Selection(min(good), offered, capacities, results, trajectories)


def one_standard_error_rank(costs, ranks):
    """Smallest rank whose mean cost is within one standard error of the least.

    The standard error is that of the difference to the best rank, repetition by repetition: what all ranks share (an
    easy or a hard test set) does not count.

    Parameters
    ----------
    costs : ndarray, shape (n_repeats, R)
    ranks : sequence of int, length R

    Returns
    -------
    int

    Examples
    --------
    >>> import numpy as np
    >>> from gencap.validation.selection import one_standard_error_rank
    >>> one_standard_error_rank(np.array([[2.0, 1.0, 1.1], [3.0, 1.1, 1.0]]), [1, 2, 3])
    2
    """
    difference = costs - costs[:, [costs.mean(axis=0).argmin()]]
    return int(np.asarray(ranks)[difference.mean(axis=0) <= sem(difference)].min())
