"""Bits of structure or bits of procedure: the capacity of data without clusters, seen through the same protocol.

A capacity above 0 says that two views agree, not why. Views share more than clusters: a direction of large variance
splits stably wherever it is cut, a stiff shift balances the sizes, objects matched on the measured quantity agree by
construction. `capacity_null` makes tables without clusters and repeats the whole protocol on them:

* "permuted": the values of every row in an order of their own; no relation between objects is left;
* "gaussian": rows of one Gaussian with the mean and covariance of the table; the directions stay, the clusters go.

With R null tables the p-value (1 + #{null >= observed}) / (R + 1) is exact when the data are one more table of the same
kind. Ties count against the data: a capacity of 0 has p = 1. Small tables without clusters often tie at 0, so the test
is conservative there: with N=20, D=10, R=9, P(p <= .1) was .075 to .090 for "permuted" tables and .040 to .070 for
"gaussian" ones (200 tables each).
"""

import inspect
import json
import time
import warnings
from contextlib import closing
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import NamedTuple

import joblib
import numpy as np
from joblib import Parallel, delayed
from sklearn.base import clone
from sklearn.utils import get_tags
from tqdm.auto import tqdm

from .annealing import beta_grid
from .capacity import generalization_capacity, hamming_capacity
from .checks import (
    as_array,
    check_integer,
    check_number,
    check_offered,
    check_option,
    check_same_order,
    check_seed,
    check_vectors,
    generator,
)
from .cuts import AdaptiveRatioCut
from .keys import made_by
from .metrics import entropy_bits
from .protocols import MEASURES, Views, interleave, random_split
from .resources import one_thread, replacing
from .selection import twin
from .similarity import SimilarityInput

__all__ = ["CapacityNull", "Evaluation", "capacity_null", "evaluate", "gaussian_table", "permuted_table"]

PROTOCOLS = {"interleave": interleave, "random_split": random_split}
RESULTS = ("capacity", "n_effective", "entropy", "shift", "relative_shift", "seconds")  # of one evaluation
ROUNDING = 1e-9  # bits; equal capacities come out of different sums, and no capacity as 1e-15
GRID_RATIO = 0.206  # natural log of the step between temperatures


class Evaluation(NamedTuple):
    """Capacity of a model on a pair of similarity matrices.

    Attributes
    ----------
    value : float
        Capacity, bits per object.
    n_effective : int
        Distinct clusters of view 1 at the optimum.
    entropy : float
        H in the capacity: entropy of the cluster sizes of view 1, bits per object.
    labels : ndarray of int, shape (N,)
        Labels of view 1 at the optimum.
    """

    value: float
    n_effective: int
    entropy: float
    labels: np.ndarray


def evaluate(model, pair):
    """Capacity of a model on a pair of similarity matrices: Hamming where it has no cost, else annealed.

    Parameters
    ----------
    model : estimator on similarity matrices; it is not fitted.
    pair : SimilarityPair, or two array_like of shape (N, N)

    Returns
    -------
    Evaluation

    Notes
    -----
    The grid runs from .8 to 40 temperature units, to 160 if the information still rises at its cold end, and from .02
    if the views are frozen apart already at its hot end. The second view has a random state of its own,
    derived from the model's.

    Raises
    ------
    TypeError
        A model that does not cluster similarity matrices, or not two matrices.

    Source: document 000, Algorithms 1 and 6.
    """
    check_model(model)
    if not isinstance(pair, tuple | list | np.ndarray) or len(pair) != 2:
        raise TypeError(f"pair is a {type(pair).__name__}, accepted are two matrices: Views.similarities() or (X1, X2)")
    check_same_order("pair[1]", pair[1], "pair[0]", pair[0])
    if model.capacity_entropy == "same":  # no temperatures of one cost
        labels, others = (clone(model).fit(X).labels_ for X in pair)
        share = np.bincount(labels) / len(labels)
        value = hamming_capacity(labels, others, model.n_clusters)
        return Evaluation(value, int(np.count_nonzero(share)), entropy_bits(share), labels)
    model = clone(model)  # a generator that the caller gave it stays where it is
    other, unit = twin(model), model.unit(pair[0])
    low, high = 0.8, 40.0
    while True:
        first = model.anneal(pair[0], betas=beta_grid(unit, low, high, 1 + round(np.log(high / low) / GRID_RATIO)))
        found = generalization_capacity(first, other.anneal(pair[1], betas=first.betas))
        rises = found.index == first.n_steps - 1 and found.value > 0
        frozen = found.stability[0] < -np.log2(model.n_clusters) - 0.1  # less agreement than of the uniform state
        if (low, high) != (0.8, 40.0) or not (rises or frozen):
            break
        # Still rising in the cold (path distances), or frozen at the hot end (ratio cuts of small p): a wider grid.
        low, high = 0.02 if frozen else low, 160.0 if rises else high
    return Evaluation(found.value, found.n_effective, found.entropy, first.labels(found.index))


def check_model(model, relative_shift=None):
    """Raise unless `model` clusters similarity matrices, and has a shift if a relative one is asked for."""
    if not isinstance(model, SimilarityInput):
        raise TypeError(
            f"model={model!r} is not accepted; accepted are gencap's estimators that cluster similarity matrices"
        )
    if relative_shift is not None:
        check_number("relative_shift", relative_shift)
        if "shift" not in model.get_params():
            raise ValueError(f"relative_shift={relative_shift} for {model!r}, accepted are models with a shift")


def check_table(data):
    """Return a table as finite float64, or raise; missing values are counted."""
    data = as_array("data", data, np.float64)
    if np.isnan(data).any():
        raise ValueError(f"data has {np.isnan(data).sum()} missing values (NaN), accepted is none: impute them first")
    return check_vectors("data", data)


def check_protocol(protocol):
    """Return a protocol as a callable (data, random_state=) -> Views."""
    if not callable(protocol):
        return PROTOCOLS[check_option("protocol", protocol, tuple(PROTOCOLS))]
    try:
        inspect.signature(protocol).bind(None, random_state=None)
    except (TypeError, ValueError) as error:
        raise TypeError(f"protocol={protocol!r} is not called as (data, random_state=...): {error}") from None
    return protocol


def make_views(data, protocol, random_state):
    """Views of a table by a protocol (a callable)."""
    views = protocol(data, random_state=random_state)
    if not isinstance(views, Views):
        raise TypeError(f"protocol {protocol!r} returned {type(views).__name__}, accepted are Views")
    return views


@cache
def _code():
    """Hash of the library: kept results of another one do not count."""
    return joblib.hash([path.read_bytes() for path in sorted(Path(__file__).parent.rglob("*.py"))])


def evaluate_over(model, views, measure, n_clusters, relative_shift=None, folder=None, key=None):
    """Rows (dict) of a model on views for every number of clusters: one task of a parallel run.

    With a key (of model and versions, see `run_parallel`), every row is a file in `folder`, named by a hash of all that
    it depends on, and read when it exists.
    """
    rows, pair = [], None
    if key:
        arrays = (views.first, views.second, views.data, views.rows1, views.rows2)[
            : 5 if measure == "path_union" else 2
        ]
        # What a worker gets has other strides, or is a memory map, and would have another hash.
        known = [np.ascontiguousarray(array) for array in arrays]
        known = joblib.hash((known, measure, relative_shift, _code(), key))
    with one_thread():
        for k in n_clusters:
            ready = clone(model).set_params(n_clusters=k)
            path = key and Path(folder) / f"{joblib.hash((known, int(k)))}.json"
            row = _stored(path)
            if row is None:
                if pair is None:
                    pair = views.similarities(measure, positive=_positive(model))
                if relative_shift is not None:
                    ready.set_params(shift=pair.shift(relative_shift))
                row = _row(ready, pair, relative_shift)
                if path:
                    with replacing(path, "w") as stream:
                        json.dump(row, stream)
            rows.append(row)
    return rows


def _positive(model):
    """Whether similarities are made >= 0: a ratio cut accepts negative ones, but means something else by them."""
    return get_tags(model).input_tags.positive_only or isinstance(model, AdaptiveRatioCut)


def _row(model, pair, relative_shift):
    shift = model.get_params().get("shift")
    start = time.process_time()
    found = evaluate(model, pair)
    seconds = time.process_time() - start
    if shift is None:
        shift = relative_shift = np.nan
    elif relative_shift is None:
        relative_shift = pair.relative(shift)
    values = dict(capacity=found.value, n_effective=found.n_effective, entropy=found.entropy)
    return values | dict(shift=float(shift), relative_shift=float(relative_shift), seconds=seconds)


def _stored(path):
    try:
        row = json.loads(path.read_text()) if path else None
        return row if row and all(isinstance(row[key], float | int) for key in RESULTS) else None
    except (FileNotFoundError, ValueError, TypeError, KeyError):  # a damaged file is written again
        return None


def check_folder(folder):
    """Make the folder of kept results, or raise OSError or TypeError."""
    if folder:
        try:
            Path(folder).mkdir(parents=True, exist_ok=True)
        except (OSError, TypeError) as error:
            raise type(error)(f"folder={folder!r}: {error}; accepted is a folder, made if need be") from None


def _key(model, folder):
    """Hash of a model's class, parameters (but n_clusters) and versions; None where nothing is to be kept."""
    try:
        return folder and made_by((type(model), clone(model).set_params(n_clusters=None).get_params()))
    except Exception as error:  # pickling fails in many ways
        warnings.warn(
            f"capacities of {model!r} are neither kept in folder={str(folder)!r} nor taken from it, as not everything "
            f"that its class and parameters use can be compared with another day's: {error}",
            stacklevel=5,
        )


def run_parallel(tasks, total, n_jobs, progress, desc, folder):
    """Results of `evaluate_over` for every tuple of arguments, in order; an exception leaves no worker running.

    What is kept in `folder` is keyed here, once for each model: a worker does not have the globals of the session.
    """
    keys = {}  # by identity: a model need not be hashable

    def call(model, *rest):
        if id(model) not in keys:
            keys[id(model)] = _key(model, folder), model  # held, or its identity might be another's
        return delayed(evaluate_over)(model, *rest, folder, keys[id(model)][0])

    done = Parallel(n_jobs=n_jobs, return_as="generator")(call(*task) for task in tasks)
    with closing(done):
        return list(tqdm(done, total=total, desc=desc, disable=not progress))


def permuted_table(data, random_state=None):
    """The table with the values of every row in an independent random order.

    Parameters
    ----------
    data : array_like, shape (N, D)
    random_state : int, numpy.random.Generator or None

    Returns
    -------
    ndarray, shape (N, D)
    """
    return generator(random_state).permuted(check_table(data), axis=1)


def gaussian_table(data, random_state=None):
    """A table of the same shape, its rows from one Gaussian with the column means and covariance of the data.

    Parameters
    ----------
    data : array_like, shape (N, D)
        N >= 2; a singular covariance is accepted.
    random_state : int, numpy.random.Generator or None

    Returns
    -------
    ndarray, shape (N, D)
    """
    data = check_table(data)
    if len(data) < 2:
        raise ValueError("data has 1 object, accepted are 2 and more: one has no covariance")
    mean, covariance = data.mean(axis=0), np.atleast_2d(np.cov(data, rowvar=False))
    return generator(random_state).multivariate_normal(mean, covariance, len(data), "ignore", method="eigh")


NULLS = {"permuted": permuted_table, "gaussian": gaussian_table}


def null_views(views, null, measure, rng):
    """Views of a table without clusters, made as `views` were; its rows may lack a correlation where theirs do not."""
    again = views.remake(NULLS[null](views.data, rng), rng)
    try:
        again._check_rows(measure)
    except ValueError as error:
        raise ValueError(f"a {null!r} table by {measure!r}: {error}; use another null or measure") from None
    return again


@dataclass(eq=False, repr=False)
class CapacityNull:
    """Capacities of data beside those of tables without clusters; see `capacity_null`.

    Attributes
    ----------
    kind : {"permuted", "gaussian"}
    n_clusters : ndarray of int, shape (L,)
    observed : ndarray, shape (L,)
        Capacity of the data, bits per object.
    null : ndarray, shape (R, L)
        Capacities of R null tables.
    """

    kind: str
    n_clusters: np.ndarray
    observed: np.ndarray
    null: np.ndarray

    @property
    def mean(self):
        """Mean of the null, shape (L,)."""
        return self.null.mean(axis=0)

    @property
    def spread(self):
        """Standard deviation of the null, shape (L,); NaN with one repeat."""
        return self.null.std(axis=0, ddof=1) if len(self.null) > 1 else np.full(self.null.shape[1], np.nan)

    @property
    def excess(self):
        """Observed minus the mean of the null, bits per object, shape (L,)."""
        return self.observed - self.mean

    @property
    def p_value(self):
        """(1 + #{null >= observed}) / (R + 1) for every number of clusters, shape (L,)."""
        return (1 + (self.null >= self.observed - ROUNDING).sum(axis=0)) / (len(self.null) + 1)

    @property
    def p_value_max(self):
        """The same for the largest capacity over all numbers of clusters, so that choosing among them is paid for."""
        return float((1 + (self.null.max(axis=1) >= self.observed.max() - ROUNDING).sum()) / (len(self.null) + 1))

    def __repr__(self):
        best = int(self.observed.argmax())
        return (
            f"CapacityNull({self.kind}, {len(self.null)} repeats; K={self.n_clusters[best]}: "
            f"{self.observed[best]:.3f} bits, null {self.mean[best]:.3f}, p={self.p_value[best]:.3g}, "
            f"over all K p={self.p_value_max:.3g})"
        )


def capacity_null(
    model,
    views_or_data,
    protocol=None,
    null="permuted",
    measure="correlation",
    n_clusters=None,
    n_repeats=19,
    relative_shift=None,
    random_state=None,
    n_jobs=None,
    folder=None,
    progress=True,
):
    """Capacity of a model on two views, and on views of tables without clusters made by the same protocol.

    Parameters
    ----------
    model : estimator on similarity matrices
        Its own `random_state` is used for data and nulls alike; give it a seed for repeatable numbers.
    views_or_data : Views, or array_like of shape (N, D)
    protocol : callable (data, random_state=) -> Views, "interleave", "random_split", or None
        For a table; views bring theirs.
    null : {"permuted", "gaussian"}
        See the head of this room. The Gaussian is the harder one: it keeps what correlated columns alone explain.
    measure : str
        As in `Views.similarities`.
    n_clusters : int, sequence of int, or None
        A curve over K; None takes the model's own.
    n_repeats : int
        Null tables R; the smallest p-value is 1 / (R + 1).
    relative_shift : float or None
        D_0 / median distance, turned into the model's absolute shift for every pair of views. Without it `shift` is
        used as it is, which means something else in the null: its distances are others.
    random_state : int, numpy.random.Generator or None
    n_jobs : int or None
        Worker processes (joblib); the result does not depend on it.
    folder : path or None
        Finished capacities are kept there, so that the same call after an interruption goes on where it was. They are
        known by all that made them: data, model with the code of a class of your own, gencap, Python and packages.
    progress : bool

    Returns
    -------
    CapacityNull

    Raises
    ------
    ValueError
        Missing values, n_repeats < 1, unknown null, measure or protocol, a protocol beside views, relative_shift for
        a model without shift, or anything that protocol and model refuse.
    TypeError
        A model that does not cluster similarity matrices.
    OSError
        The folder cannot be made.
    """
    check_model(model, relative_shift)
    check_option("null", null, tuple(NULLS))
    check_option("measure", measure, MEASURES)
    check_integer("n_repeats", n_repeats)
    offered = check_offered(model.get_params()["n_clusters"] if n_clusters is None else n_clusters)
    seeds = [np.random.default_rng(s) for s in np.random.SeedSequence(check_seed(random_state)).spawn(n_repeats + 1)]
    views = views_or_data
    if not isinstance(views, Views):
        views = make_views(check_table(views), check_protocol(protocol), seeds[0])
    elif protocol is not None:
        raise ValueError(f"protocol={protocol!r} beside Views, accepted is None: the views' own is repeated")
    check_folder(folder)

    def tasks():
        yield model, views, measure, offered, relative_shift
        for rng in seeds[1:]:
            yield model, null_views(views, null, measure, rng), measure, offered, relative_shift

    rows = run_parallel(tasks(), n_repeats + 1, n_jobs, progress, f"{null} null", folder)
    capacities = np.array([[row["capacity"] for row in one] for one in rows])
    return CapacityNull(null, np.array(offered), capacities[0], capacities[1:])
