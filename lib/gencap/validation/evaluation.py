"""One capacity of one model on two views, and the kept results of many."""

import inspect
import json
import time
import warnings
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import joblib
import numpy as np
from scipy.stats import entropy
from sklearn.base import clone
from sklearn.utils import get_tags

from ..checks import check_option, check_same_order
from ..resources import map_with_bar, one_thread, replacing
from ..trajectory import beta_grid
from ..views.protocols import Views, interleave, random_split, take_objects
from .capacity import Capacity, generalization_capacity, hamming_capacity
from .keys import made_by
from .selection import check_model, twin

PROTOCOLS = {"interleave": interleave, "random_split": random_split}
RESULTS = "n_clusters capacity n_effective entropy shift relative_shift seconds".split()  # of one evaluation
ROUNDING = 1e-9  # bits; equal capacities come out of different sums, and no capacity as 1e-15
GRID_RATIO = 0.206  # natural log of the step between temperatures


class Evaluation(NamedTuple):
    """Capacity of a model on two data sets.

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
    result : Capacity or None
        With the optimum and the renaming of clusters; None where there is no cost.
    trajectories : (Trajectory, Trajectory) or None
    """

    value: float
    n_effective: int
    entropy: float
    labels: np.ndarray
    result: Capacity | None = None
    trajectories: tuple | None = None


def evaluate(model, pair, *, per_object=None):
    """Capacity of a model on two data sets of the same objects: Hamming where it has no cost, else annealed.

    Parameters
    ----------
    model : estimator with `anneal`
        It is not fitted.
    pair : SimilarityPair, or two array_like
        Two similarity matrices (N, N), or two tables (N, D1) and (N, D2), as the model takes them.
    per_object : dict name -> array_like of shape (N, ...), or None
        What the model's `fit` and `anneal` take for every object; of both data sets.

    Returns
    -------
    Evaluation

    Raises
    ------
    TypeError
        A model without `anneal`, or not two data sets.

    Notes
    -----
    The grid runs from .8 to 40 temperature units, to 160 if the information still rises at its cold end, and from .02
    if the views are frozen apart already at its hot end. The second view has a random state of its own,
    derived from the model's.

    References
    ----------
    Document 000, Algorithms 1 and 6.

    Examples
    --------
    >>> import numpy as np, gencap as gc
    >>> X = np.kron(np.eye(2), np.ones((4, 4)))
    >>> found = gc.evaluate(gc.CorrelationClustering(2, shift=-0.5, random_state=0), (X, X))
    >>> round(found.value, 2), found.n_effective
    (1.0, 2)
    """
    check_model(model)
    if not isinstance(pair, tuple | list | np.ndarray) or len(pair) != 2:
        raise TypeError(f"pair is a {type(pair).__name__}, accepted are two: Views.similarities() or (X1, X2)")
    check_same_order("pair[1]", pair[1], "pair[0]", pair[0])
    return _evaluated(model, pair, [per_object or {}] * 2)


def _evaluated(model, pair, arrays):
    """`evaluate` with the arrays per object of each data set."""
    if model.capacity_entropy == "same":  # no temperatures of one cost
        labels, others = (clone(model).fit(X, **own).labels_ for X, own in zip(pair, arrays, strict=True))
        sizes = np.bincount(labels)
        value = hamming_capacity(labels, others, model.n_clusters)
        return Evaluation(value, int(np.count_nonzero(sizes)), float(entropy(sizes, base=2)), labels)
    model = clone(model)  # a generator that the caller gave it stays where it is
    own = arrays[0] if "per_object" in inspect.signature(model.unit).parameters else {}
    other, unit = twin(model), model.unit(pair[0], **own)
    low, high = 0.8, 40.0
    while True:
        grid = beta_grid(unit, low, high, 1 + round(np.log(high / low) / GRID_RATIO))
        first = model.anneal(pair[0], betas=grid, **arrays[0])
        second = other.anneal(pair[1], betas=first.betas, **arrays[1])
        found = generalization_capacity(first, second)
        rises = found.index == first.n_steps - 1 and found.value > 0
        frozen = found.stability[0] < -np.log2(model.n_clusters) - 0.1  # less agreement than of the uniform state
        if (low, high) != (0.8, 40.0) or not (rises or frozen):
            break
        # Still rising in the cold (path distances), or frozen at the hot end (ratio cuts of small p): a wider grid.
        low, high = 0.02 if frozen else low, 160.0 if rises else high
    labels = first.labels(found.index)
    return Evaluation(found.value, found.n_effective, found.entropy, labels, found, (first, second))


def capacity_by_shift(model, pair, nulls, shifts):
    """Capacity of a model at every shift, of data and of data without clusters.

    Parameters
    ----------
    model : estimator with a parameter `shift`
        It is not fitted.
    pair : SimilarityPair, or two array_like
        As for `evaluate`.
    nulls : sequence of such pairs
        What would be found without clusters; may be empty.
    shifts : sequence of float

    Returns
    -------
    ndarray, shape (shifts, 1 + nulls)
        Bits per object: first the data, then every null.

    References
    ----------
    Document 000, section 6.4.

    Examples
    --------
    >>> import numpy as np, gencap as gc
    >>> X = np.kron(np.eye(2), np.ones((4, 4)))
    >>> model = gc.CorrelationClustering(2, random_state=0)
    >>> gc.capacity_by_shift(model, (X, X), [], [-0.5, 0.5]).round(2).tolist()
    [[1.0], [0.0]]
    """
    models = [clone(model).set_params(shift=float(shift)) for shift in shifts]
    return np.array([[evaluate(one, data).value for data in (pair, *nulls)] for one in models])


def make_views(X, protocol, random_state):
    """Views of a table by a protocol: its name, or a callable (X, random_state=) -> Views."""
    if not callable(protocol):
        protocol = PROTOCOLS[check_option("protocol", protocol, tuple(PROTOCOLS))]
    views = protocol(X, random_state=random_state)
    if not isinstance(views, Views):
        raise TypeError(f"protocol {protocol!r} returned {type(views).__name__}, accepted are Views")
    return views


def pair_of(model, views, measure):
    """What a model sees of two views: similarities by a measure, or the views themselves."""
    tags = get_tags(model).input_tags
    if not tags.pairwise:
        return views.first, views.second
    return views.similarities(measure, positive=tags.positive_only or getattr(model, "means_positive", False))


def evaluate_over(model, views, measure, n_clusters, relative_shift, per_object, folder, key):
    """Rows (dict) of a model on views for every number of clusters: one task of a parallel run.

    A model on similarities gets those of the views by `measure`, any other the views themselves. With a key (of model
    and versions, see `evaluate_all`), every row is a file in `folder`, named by a hash of all that it depends on, and
    read when it exists.
    """
    rows, pair, pairwise = [], None, get_tags(model).input_tags.pairwise
    arrays = take_objects(per_object, len(views.data), views.rows1, views.rows2)
    if key:
        parts = views.first, views.second, views.data, views.rows1, views.rows2
        # What a worker gets has other strides, or is a memory map, and would have another hash.
        parts = [np.ascontiguousarray(part) for part in parts[: 5 if measure == "path_union" else 2]]
        key = joblib.hash((parts, arrays, measure if pairwise else None, relative_shift, key))
    with one_thread():
        for k in n_clusters:
            path = key and Path(folder) / f"{joblib.hash((key, k))}.json"
            with suppress(FileNotFoundError, ValueError, TypeError, KeyError):  # a damaged file is written again
                kept = json.loads(path.read_text()) if path else {}
                rows.append({name: 0 + kept[name] for name in RESULTS})
                continue
            pair = pair_of(model, views, measure) if pair is None else pair
            ready, relative = clone(model).set_params(n_clusters=k), relative_shift
            if relative is not None:
                ready.set_params(shift=pair.shift(relative))
            start, shift = time.process_time(), float(ready.get_params().get("shift", np.nan))
            found = _evaluated(ready, pair, arrays)
            seconds = time.process_time() - start
            if relative is None:
                relative = pair.relative(shift) if shift == shift and pairwise else np.nan
            values = k, *found[:3], shift, float(relative), seconds
            rows.append(dict(zip(RESULTS, values, strict=True)))
            if path:
                with replacing(path, "w") as stream:
                    json.dump(rows[-1], stream)
    return rows


def _key(model, folder):
    """Hash of a model's class, parameters (but n_clusters) and versions; None where nothing is to be kept."""
    try:
        return folder and made_by((type(model), clone(model).set_params(n_clusters=None).get_params()))
    except Exception as error:  # pickling fails in many ways
        lost = f"neither kept in folder={str(folder)!r} nor taken from it"
        warnings.warn(f"capacities of {model!r} are {lost}, as not all that made them is known: {error}", stacklevel=5)


def evaluate_all(tasks, total, folder, *, function=evaluate_over, **options):
    """Results of `evaluate_over` for every tuple of arguments, in order; `options` as for `map_with_bar`.

    `function` may stand in for it. What is kept in `folder` is keyed here, once for each model: a worker does not have
    the globals of the session.
    """
    try:
        if folder:
            Path(folder).mkdir(parents=True, exist_ok=True)
    except (OSError, TypeError) as error:
        raise type(error)(f"folder={folder!r}: {error}; accepted is a folder, made if need be") from None
    keys = {}  # by identity, as a model need not be hashable, which is held, or its identity might be another's

    def call(model, *rest):
        if id(model) not in keys:
            keys[id(model)] = _key(model, folder), model
        return model, *rest, folder, keys[id(model)][0]

    return map_with_bar(function, (call(*task) for task in tasks), total=total, **options)
