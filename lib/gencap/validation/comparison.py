"""Which model, which similarity, how many clusters? All of them on the same splits (000 Algorithm 4).

Every model is evaluated with every similarity measure, setting and number of clusters on the same views, and the
largest mean capacity wins. Two things temper the verdict: the capacity of tables without clusters at the same setting
(see `nulls`), and how often the winner still wins when the splits are drawn again.

Tasks know their seeds from their place (split, number of the null table), not from the order in which they are done, so
the table is the same for any number of workers; and with a folder every finished capacity is kept.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.model_selection import ParameterGrid
from sklearn.utils import get_tags

from ..checks import check_integer, check_offered, check_option, check_seed, check_vectors
from ..views.protocols import MEASURES, Views
from .evaluation import RESULTS, evaluate_all, make_views
from .nulls import NULLS, null_views
from .selection import check_model

RESAMPLES = 2000  # bootstrap resamples of the splits


@dataclass(eq=False, repr=False)
class Comparison:
    """Result of `compare_models`.

    Attributes
    ----------
    table : pandas.DataFrame
        A row for every capacity. Columns: model, measure, protocol (in words), split (0..), null (0 for the data, 1..
        for the null tables), setting (the grid point in words), a column for every other parameter in a grid,
        n_clusters, capacity and entropy (bits per object), n_effective, shift and relative_shift (both NaN for models
        without a shift), seconds (CPU time of both views).
    """

    table: pd.DataFrame

    def __repr__(self):
        names = ", ".join(map(str, self.table.model.unique()))
        return f"Comparison({len(self.table)} capacities of {names} on {self.table.split.nunique()} splits)"

    def ranking(self):
        """The best setting of every model on every measure, the largest capacity first (000 Algorithm 4).

        Returns
        -------
        pandas.DataFrame
            A row for every (measure, model). Columns: measure, model, setting, n_clusters, capacity (mean over the
            splits), error (standard error of it; NaN for one split), null (mean at the same setting; NaN without
            nulls), excess (capacity - null), rank (within the measure, ties share the smaller number), first (share of
            bootstrap resamples of the splits in which the model is first within its measure, ties shared; NaN for one
            split).

        Notes
        -----
        The best of many settings is picked on the splits that it is then judged by, so `capacity` is optimistic, the
        more so the more settings a model has; the null mean at that setting is not. Of equal settings the one with
        fewest clusters is taken, then the first of the grid. In the bootstrap all models see the same resampled
        splits, and each picks its best setting anew. The splits share their objects, so error and share describe the
        procedure on these data, not on others from the same source.
        """
        keys, pairs = ["measure", "model", "n_clusters", "setting"], ["measure", "model"]
        real, null = self.table[self.table.null == 0], self.table[self.table.null > 0]
        if real.empty:
            raise ValueError("table has no capacities of data (null = 0), accepted are one and more")
        splits = real.pivot_table("capacity", keys, "split", sort=False)
        # Equal settings stay equal, in whatever order they are summed; of them the fewest clusters are taken.
        mean = splits.mean(axis=1).round(12).sort_index(level="n_clusters", kind="stable", sort_remaining=False)
        best = mean.loc[mean.groupby(level=pairs, sort=False).idxmax()]
        result = best.rename("capacity").reset_index()[["measure", "model", "setting", "n_clusters", "capacity"]]
        result["error"] = splits.loc[best.index].sem(axis=1).to_numpy()
        result["null"] = null.groupby(keys).capacity.mean().reindex(best.index).to_numpy()
        result["excess"] = result.capacity - result.null
        result["rank"] = result.groupby("measure").capacity.rank(method="min", ascending=False).astype(int)
        result["first"], n_splits = np.nan, splits.shape[1]
        if n_splits > 1:
            weights = np.random.default_rng(0).multinomial(n_splits, np.full(n_splits, 1 / n_splits), RESAMPLES)
            means = pd.DataFrame(splits.to_numpy() @ (weights / n_splits).T, splits.index)
            values = means.groupby(level=pairs, sort=False).max().round(12)
            won = values == values.groupby(level="measure").transform("max")
            shares = (won / won.groupby(level="measure").transform("sum")).mean(axis=1)
            result["first"] = shares.loc[best.index.droplevel(["n_clusters", "setting"])].to_numpy()
        return result.sort_values("capacity", ascending=False, kind="stable", ignore_index=True)


def _settings(models):
    """(name, model, grid point, relative shift) of everything to evaluate; raises for what no model can be."""
    if not isinstance(models, Mapping) or not models or not all(isinstance(name, str) for name in models):
        raise TypeError(f"models={models!r} must be a non-empty dict name (str) -> model or (model, grid)")
    settings = []
    for name, given in models.items():
        model, grid = given if isinstance(given, tuple) and len(given) == 2 else (given, {})
        check_model(model)
        known = (model.get_params().keys() - {"n_clusters"}) | {"relative_shift"}
        if not isinstance(grid, Mapping) or grid.keys() - known or {"shift", "relative_shift"} <= grid.keys():
            accepted = f"a dict with keys among {sorted(known)}, and one of the shifts"
            raise ValueError(f"grid of {name!r} is {grid!r}, accepted is {accepted}")
        for point in ParameterGrid(dict(grid)):
            others = dict(point)
            check_model(model, relative_shift=(relative := others.pop("relative_shift", None)))
            settings.append((name, clone(model).set_params(**others), point, relative))
    return settings


def compare_models(
    models, X, n_clusters=range(2, 16), *, measures=("correlation",), protocol="random_split", n_repeats=10, null=None,
    n_nulls=1, per_object=None, n_jobs=None, folder=None, random_state=0, progress=True,
):  # fmt: skip
    """Capacity of every model, measure, setting and number of clusters on the same splits (000 Algorithm 4).

    Parameters
    ----------
    models : dict
        name -> estimator with `anneal`, or (estimator, grid) with a dict grid: parameter -> list of values.
        The key "relative_shift" (D_0 / median distance) becomes an absolute `shift` for every pair of views.
        `random_state` of the estimators is used as it is: with None the numbers change from call to call.
        Models on similarities get those of the views; models on vectors or tables get the views themselves, whatever
        the measure: beside the others of every measure they are ranked.
    X : array_like of shape (N, D), Views, or sequence of Views
        Views are the splits; `protocol` and `n_repeats` do not count then.
    n_clusters : int or iterable of int
    measures : sequence of str, or dict measure -> protocol
        As in `Views.similarities`; a dict gives every measure its own protocol (pairs aligned inside the measure).
    protocol : callable (X, random_state=) -> Views, "interleave" or "random_split"
    n_repeats : int
        Splits.
    null : {None, "permuted", "gaussian", "matched"}
        Evaluate everything on tables without clusters as well, see `capacity_null`.
    n_nulls : int
        Null tables for every split.
    per_object : dict name -> array_like of shape (N, ...), or None
        What the models' `fit` and `anneal` take for every row of the table.
    n_jobs : int or None
        Worker processes (joblib); the table does not depend on it, but for the seconds.
    folder : path or None
        Every capacity is kept there, so that the same call after an interruption, or one with more models, splits or
        clusters, computes only what is missing.
    random_state : int, numpy.random.Generator or None
        Of splits and null tables.
    progress : bool

    Returns
    -------
    Comparison

    Raises
    ------
    ValueError
        Missing values, an unknown measure, protocol, null or parameter, no models, measures or clusters, counts < 1,
        relative_shift for a model without shift, or anything that protocols and models refuse.
    TypeError
        models is no dict, or one of them has no `anneal`.
    OSError
        The folder cannot be made.

    Examples
    --------
    >>> import numpy as np, gencap as gc
    >>> centres = np.repeat(np.eye(3, 4), 2, axis=1)
    >>> data = np.repeat(centres, 6, axis=0) + 0.1 * np.random.default_rng(0).standard_normal((18, 8))
    >>> models = {"CC": (gc.CorrelationClustering(random_state=0), {"relative_shift": [0.3, 0.6]}),
    ...           "PC": gc.PairwiseClustering(random_state=0)}
    >>> found = gc.compare_models(models, data, [2, 3], protocol="interleave", n_repeats=1, progress=False)
    >>> found.table.shape[0], found.ranking().n_clusters.tolist()
    (6, [3, 3])
    """
    settings, offered, own = _settings(models), check_offered(n_clusters), isinstance(measures, Mapping)
    single = isinstance(measures, str) or not isinstance(measures, Iterable)
    names = [check_option("measure", measure, MEASURES) for measure in ([measures] if single else measures)]
    ways = dict(measures) if own else dict.fromkeys(names, protocol)
    X = [X] if isinstance(X, Views) else X
    split_before = isinstance(X, Sequence) and len(X) > 0 and all(isinstance(views, Views) for views in X)
    if not names or (own and split_before):
        raise ValueError(f"measures={measures!r}, accepted are one and more, and beside Views without protocols")
    n_splits = len(X) if split_before else check_integer("n_repeats", n_repeats)
    X = X if split_before else check_vectors("X", X)
    check_option("null", null, (None, *NULLS))
    n_nulls = 0 if null is None else check_integer("n_nulls", n_nulls)
    seed = np.random.SeedSequence(check_seed(random_state)).entropy
    pairwise = any(get_tags(model).input_tags.pairwise for _, model, _, _ in settings)
    places = []

    def rng(*place):
        return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=place))

    def tasks():
        for split in range(n_splits):
            real = {way: X[split] if split_before else make_views(X, way, rng(split, 0)) for way in {*ways.values()}}
            for number, (measure, way) in product(range(n_nulls + 1), ways.items()):
                views = real[way]
                if number:  # every measure sees the same null table
                    views = null_views(views, null, measure if pairwise else "", rng(split, number))
                for name, model, point, relative in settings:
                    place = dict(model=name, measure=measure, protocol=views.protocol, split=split, null=number)
                    place["setting"] = ", ".join(f"{key}={value}" for key, value in point.items())
                    places.append(place | point)
                    yield model, views, measure, offered, relative, per_object

    total = n_splits * (n_nulls + 1) * len(ways) * len(settings)
    found = evaluate_all(tasks(), total, folder, n_jobs=n_jobs, progress=progress, desc="capacities")
    rows = [place | row for place, done in zip(places, found, strict=True) for row in done]
    others = dict.fromkeys(key for _, _, point, _ in settings for key in point if not key.endswith("shift"))
    columns = ["model", "measure", "protocol", "split", "null", "setting", *others, *RESULTS]
    return Comparison(pd.DataFrame(rows, columns=columns))
