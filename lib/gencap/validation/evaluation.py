"""One capacity of one model on two views, and the kept results of many."""

import inspect
import json
import time
import warnings
from contextlib import closing
from functools import cache
from pathlib import Path
from typing import NamedTuple

import joblib
import numpy as np
from joblib import Parallel, delayed
from sklearn.base import clone
from sklearn.utils import get_tags
from tqdm.auto import tqdm

from ..checks import as_array, check_number, check_option, check_same_order, check_vectors
from ..models.cuts import AdaptiveRatioCut
from ..resources import one_thread, replacing
from ..trajectory import beta_grid, entropy_bits
from ..views.protocols import Views, interleave, random_split
from .capacity import generalization_capacity, hamming_capacity
from .keys import made_by
from .selection import twin

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
    if isinstance(model, type) or not (hasattr(model, "anneal") and get_tags(model).input_tags.pairwise):
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
            stacklevel=4,
        )


def run_parallel(tasks, total, n_jobs, progress, desc, folder):
    """Results of `evaluate_over` for every tuple of arguments, in order; an exception leaves no worker running.

    What is kept in `folder` is keyed here: a worker does not have the globals of the session.
    """
    calls = (delayed(evaluate_over)(*task, folder, _key(task[0], folder)) for task in tasks)
    done = Parallel(n_jobs=n_jobs, return_as="generator")(calls)
    with closing(done):
        return list(tqdm(done, total=total, desc=desc, disable=not progress))
