"""Choosing the number of clusters: by generalization capacity, and by the classical penalised likelihoods."""

from dataclasses import dataclass

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import clone
from tqdm.auto import tqdm

from .capacity import generalization_capacity
from .checks import check_integer, check_number

__all__ = ["Selection", "aic", "bic", "select_n_clusters"]


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
        pairs = ", ".join(f"{k}: {value:.3f}" for k, value in zip(self.offered, self.capacities, strict=True))
        return f"Selection({self.n_clusters} clusters; bits per object {pairs})"


def _evaluate(model, X1, X2, paired_start):
    first = model.anneal(X1)
    second = model.anneal(X2, betas=first.betas, init=first if paired_start else None)
    return generalization_capacity(first, second), (first, second)


def select_n_clusters(model, X1, X2, n_clusters, paired_start=False, tol=0.02, n_jobs=None, progress=True):
    """Anneal a model on two data sets for every number of clusters offered, and select by capacity (000 Alg. 2).

    Parameters
    ----------
    model : estimator with `anneal` and the parameter `n_clusters`
    X1, X2 : array_like
        Two data sets of the same objects, in the same order.
    n_clusters : iterable of int
        Numbers of clusters to offer.
    paired_start : bool
        Start data set 2 at every temperature from data set 1's assignments. Meant for pairwise clustering of
        overlapping sources (000 chapter 6.1); with stiff models it leaks the answer from one set to the other.
    tol : float
        Differences of capacity (bits per object) that do not count.
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
        `n_clusters` is empty, or anything that `anneal` refuses.
    """
    offered = [check_integer("n_clusters", k) for k in n_clusters]
    if not offered:
        raise ValueError("n_clusters is empty, accepted is one number of clusters or more")
    check_number("tol", tol, 0.0)
    tasks = (delayed(_evaluate)(clone(model).set_params(n_clusters=k), X1, X2, paired_start) for k in offered)
    done = tqdm(
        Parallel(n_jobs=n_jobs, return_as="generator")(tasks), total=len(offered), desc="clusters", disable=not progress
    )
    results, trajectories = map(list, zip(*done, strict=True))
    capacities = np.array([result.value for result in results])
    good = [k for k, value in zip(offered, capacities, strict=True) if value >= capacities.max() - tol]
    return Selection(min(good), offered, capacities, results, trajectories)


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
    n_objects = check_integer("n_objects", n_objects)
    return -2.0 * np.asarray(log_likelihood) + np.asarray(n_parameters) * np.log(n_objects)
