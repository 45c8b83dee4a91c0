"""Your own data: is there more in it than a table without clusters would show, and if so, which clusters?

Every model is searched over measures, shifts and numbers of clusters on two views of the data, and the same search
is made on data without clusters (`validation.nulls`). A setting s has c[s, b] bits, b = 0 for the data and 1..R for the
null; with mean m[s, b] and variance v[s, b] over the R others of them,

    z[s, b] = (c[s, b] - m[s, b]) / sqrt(v[s, b] + .1^2),  T_b = max_s z[s, b],
    p = (1 + #{b > 0: T_b >= T_0}) / (R + 1).

The largest z over the whole search is judged, so the search is paid for: data and null go through it alike, and p is
exact if the data are one more table of the null's kind. A clustering is recommended where p <= .05 for every null asked
for: by the model, measure and shift of the largest z, with the fewest clusters that carry the same bits (within .02),
fitted to all that was measured.
"""

import sys
import time
import warnings
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.sparse.linalg import eigsh
from scipy.spatial.distance import pdist
from scipy.stats import kurtosis
from sklearn.base import clone
from sklearn.utils import get_tags

from ..checks import check_offered, check_option, check_seed
from ..checks import profile as check_profile
from ..datasets.files import OwnData, read_own
from ..models.centroid import AnnealedKMeans
from ..models.cuts import AdaptiveRatioCut, NormalizedCut
from ..models.pairwise import PairwiseClustering
from ..models.quadratic import CorrelationClustering
from ..models.similarity import RestartWarning
from ..resources import project_folder, require
from ..validation.evaluation import PROTOCOLS, ROUNDING, evaluate, evaluate_all, evaluate_over, make_views, pair_of
from ..validation.nulls import CapacityNull, null_graphs, null_views
from ..views.graphs import GraphViews, paired_graphs
from ..views.measures import standardised_rows
from ..views.protocols import MEASURES, Views, replicates

# The words by which a person asks for a model, and what is searched for it beside measures and numbers of clusters.
MODELS = {
    "correlation": CorrelationClustering(n_init=2),
    "kmeans": AnnealedKMeans(),
    "pairwise": PairwiseClustering(n_init=2),
    "normalized_cut": NormalizedCut(n_init=2),
    "ratio_cut": AdaptiveRatioCut(n_init=2),
}
RELATIVE_SHIFTS = (0.6, 0.8, 1.0)  # neutral distance over the median one
LEVELS = (0.0, 0.5, 1.0)  # neutral weight of a graph: standard deviations above the mean
LEVEL = 0.05  # of the p-value
BIMODAL = 1.7  # kurtosis; 1 for two values, 1.5 for three, 1.8 if all between two ends are as frequent
TOLERANCE, LEAST_SPREAD = 0.02, 0.1  # bits: what does not count, and what no null is known better than
QUICK = {"objects": 400, "nulls": ("matched",), "draws": 19, "n_clusters": range(2, 8)}
FULL = {"objects": None, "nulls": ("permuted", "gaussian", "matched"), "draws": 99, "n_clusters": range(2, 11)}


@dataclass(eq=False, repr=False)
class Findings:
    """What was found in somebody's data; see `investigate`.

    Attributes
    ----------
    name : str
    source : OwnData
        What was read; with a second file, of both in one order.
    words : dict name -> str
        How the views were made, how much they agree, what was searched, and how long it took.
    warnings : list of str
    table : DataFrame
        A row for every null, model, measure, neutral point (median distances, or standard deviations above the mean
        weight; NaN without shift) and number of clusters: bits of the data, mean and standard deviation of the null,
        excess, z (see the head of the room), p (of this row alone).
    bits : dict null -> ndarray, shape (1 + R, settings, numbers of clusters)
        Of the data and of R data sets without clusters; settings as in the column `setting`.
    p_values : dict null -> float
        Over the whole search.
    best : Series or None
        The row of the recommended setting; None where nothing holds above every null.
    clusters : DataFrame or None
        object, cluster (1 is the largest), probability at the chosen temperature, stability (probability that both
        views put the object into the same cluster; not with random halves) of every object.
    fit : dict
        For the pictures: `trajectory` of all data, `step` of its temperature, `similarity` and `places` of the objects,
        `capacity` of the two views.
    """

    name: str
    source: OwnData
    words: dict
    warnings: list
    table: pd.DataFrame
    bits: dict
    p_values: dict
    best: pd.Series | None
    clusters: pd.DataFrame | None
    fit: dict

    def __repr__(self):
        return f"Findings({self.name}: {self.verdict})"

    @property
    def verdict(self):
        """The result in one sentence."""
        p = ", ".join(f"p = {value:.2g} ({null})" for null, value in self.p_values.items())
        if self.best is None:
            return f"no clusters: nothing in the search holds above data without clusters, {p}"
        bits = f"{self.best.bits:.2f} bits per object, {self.best.excess:.2f} more than without clusters"
        return f"{self.clusters.cluster.nunique()} clusters by {self.best.model} ({self.best.measure}): {bits}, {p}"

    def write(self, folder=None):
        """Write the page, its tables and its pictures.

        Parameters
        ----------
        folder : path or None
            None takes build/own/NAME.

        Returns
        -------
        Path
            Of index.html.
        """
        require("notebooks", "matplotlib", "jinja2")
        from .own_page import write_page

        return write_page(self, folder or own_folder(self.name))


@dataclass(frozen=True)
class _Setting:
    """One thing to search: a model on a measure at a neutral point."""

    word: str
    model: object
    measure: str
    neutral: float = np.nan

    def views(self, views):
        """What the model sees: k-means by correlation sees rows of mean 0 and length 1; a graph its neutral weight."""
        if callable(views):
            return views(None if np.isnan(self.neutral) else self.neutral)
        if self.measure != "correlation" or get_tags(self.model).input_tags.pairwise:
            return views
        rows = [standardised_rows(name, getattr(views, name)) for name in ("first", "second")]
        return Views(*rows, *views[2:])

    def task(self, views, offered):
        """Arguments of `evaluate_over`."""
        relative = None if callable(views) or np.isnan(self.neutral) else self.neutral
        return self.model, self.views(views), self.measure, offered, relative, None


def _settings(models, measures, graph, state):
    """Everything to search, in order."""
    found = []
    for word in models:
        model = clone(MODELS[check_option("model", word, tuple(MODELS))]).set_params(random_state=state)
        tags = get_tags(model).input_tags
        if graph and not tags.pairwise:
            raise ValueError(f"model {word!r} needs a table, accepted for a graph or matrix are models on similarities")
        shifts = (LEVELS if graph else RELATIVE_SHIFTS) if "shift" in model.get_params() else (np.nan,)
        asked = ("weights",) if graph else measures if tags.pairwise else [m for m in measures if "path" not in m]
        found += [_Setting(word, model, measure, shift) for measure in asked for shift in shifts]
    return found


def investigate(
    data, second=None, *, kind=None, protocol="interleave", models=None, measures=("correlation", "euclidean"),
    n_clusters=None, profile="quick", name=None, seed=0, n_jobs=2, progress=True,
):  # fmt: skip
    """Search data of your own for clusters, and data without clusters in the same way.

    Parameters
    ----------
    data : path or OwnData
        A table, a similarity or distance matrix, or a list of edges, see `gencap.datasets.read_own`.
    second : path or OwnData, optional
        The same objects measured again.
    kind : {"table", "similarity", "distance", "edges"} or None
        None looks at the file.
    protocol : {"interleave", "random_split"}
        How one table is made two views: every other column, or halves of the objects paired by likeness. Not asked
        where there is a second measurement, nor for graphs: their pairs are divided by lot.
    models : sequence of str or None
        Among the keys of `MODELS`; None takes correlation clustering and, for tables, k-means.
    measures : sequence of str
        As in `Views.similarities`; for tables. k-means knows correlation (rows of mean 0 and length 1) and Euclidean.
    n_clusters : iterable of int or None
        None: 2 to 7, with profile "full" 2 to 10.
    profile : {"quick", "full"}
        Quick: search on at most 400 objects drawn by lot, and 19 data sets of the matched null; what is recommended is
        then fitted to all objects. Full: all objects, three nulls, 99 data sets each.
    name : str or None
        Of the folder build/own/NAME; None takes that of the file.
    seed : int
    n_jobs : int or None
        Worker processes; the result does not depend on it.
    progress : bool
        Show bars.

    Returns
    -------
    Findings
        Finished capacities are kept in build/own/NAME/parts, so the same call after an interruption goes on.

    Raises
    ------
    ValueError
        What the reader, the views and the models refuse; an unknown model, measure, protocol, profile; fewer objects
        than clusters.

    Examples
    --------
    >>> import gencap as gc
    >>> gc.investigate("genes.csv")  # doctest: +SKIP
    """
    size = FULL if check_profile(profile) else QUICK
    sources = [
        one if isinstance(one, OwnData) else read_own(one, kind=kind) for one in (data, second) if one is not None
    ]
    sources = sources if second is None else list(sources[0].align(sources[1]))
    source, seed = sources[0], check_seed(seed)
    graph, arrays = source.kind != "table", [_array(one) for one in sources]
    name = name or source.path.name.split(".")[0]
    measures = [check_option("measure", measure, MEASURES) for measure in measures]
    check_option("protocol", protocol, tuple(PROTOCOLS))
    settings = _settings(models or (["correlation"] if graph else ["correlation", "kmeans"]), measures, graph, seed)
    kept, left_out = _with_values(sources, arrays, measures, protocol)
    arrays, n_objects = [X[kept] if len(kept) < len(X) else X for X in arrays], len(kept)
    offered = check_offered(size["n_clusters"] if n_clusters is None else n_clusters, n_objects - 1, "objects - 1")
    lot, split, *draws = np.random.SeedSequence(seed).spawn(2 + len(size["nulls"]) * size["draws"])
    chosen = np.arange(n_objects)
    if size["objects"] and n_objects > size["objects"]:
        chosen = np.sort(np.random.default_rng(lot).choice(n_objects, size["objects"], replace=False))
    few = [X[np.ix_(chosen, chosen)] if graph else X[chosen] for X in arrays]

    def make(arrays, state):  # views of a table; of a graph by its neutral weight, with the same lots for all of them
        if graph:
            return lambda level: paired_graphs(arrays, neutral=level, random_state=np.random.default_rng(state))
        one = len(arrays) == 1
        return make_views(arrays[0], protocol, np.random.default_rng(state)) if one else replicates(*arrays)

    def without(null, state):
        table, lots = map(np.random.default_rng, state.spawn(2))
        if graph:
            return make(null_graphs(few, null, random_state=table), lots.integers(2**63))
        return null_views(views, null, "correlation" if "correlation" in measures else "", table)

    def search(many, total, words):
        tasks = (setting.task(one, offered) for one in many for setting in settings)
        options = {"function": _quietly, "n_jobs": n_jobs, "progress": progress, "desc": words}
        found = evaluate_all(tasks, total * len(settings), own_folder(name) / "parts", **options)
        bits = [[row["capacity"] for row in rows] for rows in found]
        seconds = sum(row["seconds"] for rows in found for row in rows) / (n_jobs or 1)
        return np.reshape(bits, (total, len(settings), len(offered))), seconds

    start = time.perf_counter()
    try:
        views = make(few, split)
        bits, seconds = search([views], 1, "data")
    except ValueError as error:  # what the reader doubted is often why
        raise ValueError("; ".join([str(error), *source.warnings])) from None
    nulls = [null for null in size["nulls"] for _ in range(size["draws"])]
    if progress:
        words = f"{len(nulls)} data sets without clusters: about"
        print(f"{words} {seconds * len(nulls) / 60:.1f} minutes more", file=sys.stderr, flush=True)
    empty, _ = search((without(*both) for both in zip(nulls, draws, strict=True)), len(nulls), "without clusters")
    tables, p_values, all_bits = [], {}, {}
    for null in size["nulls"]:
        all_bits[null] = np.concatenate([bits, empty[[one == null for one in nulls]]])
        z = _standardised(all_bits[null])
        tables.append(_rows(null, settings, offered, all_bits[null], z[0]))
        largest = z.max(axis=(1, 2))
        p_values[null] = float(np.mean(largest >= largest[0] - ROUNDING))
    table = pd.concat(tables, ignore_index=True)
    best, clusters, fit = _best(table) if max(p_values.values()) <= LEVEL else None, None, {}
    if best is not None:
        whole = sum(arrays) / len(arrays) if graph else np.hstack(arrays)
        seen = [settings[best.setting].views(make(given, split)) for given in (arrays, [whole, whole])]
        clusters, fit = _fitted(settings[best.setting], int(best.n_clusters), *seen)
        clusters.insert(0, "object", np.array(source.objects, dtype=object)[kept])
        if source.classes is not None:
            clusters["class"] = source.classes[kept]
    words = {
        "objects": f"{len(chosen)} of {n_objects} objects, drawn by lot" if len(chosen) < n_objects else "all objects",
        "views": (views(0.0) if graph else views).protocol,
        "agreement": _agreement(views(0.0) if graph else views),
        "search": f"{len(settings) * len(offered)} settings: {', '.join(dict.fromkeys(s.word for s in settings))}; "
        f"{', '.join(dict.fromkeys(s.measure for s in settings))}; {len(offered)} numbers of clusters, "
        f"{min(offered)} to {max(offered)}",
        "null": f"{size['draws']} data sets without clusters ({', '.join(size['nulls'])})",
        "seconds": f"{time.perf_counter() - start:.0f}",
    }
    said = left_out + _warnings(sources, measures, offered, best)
    return Findings(name, source, words, said, table, all_bits, p_values, best, clusters, fit)


def own_folder(name):
    """Where everything about a data set of your own is kept: build/own/NAME."""
    return project_folder() / "build" / "own" / name


def _quietly(*task):
    """As `evaluate_over`: that one of hundreds of coolings may have missed a lower cost is nothing to tell."""
    with warnings.catch_warnings(action="ignore", category=RestartWarning):
        return evaluate_over(*task)


def _array(source):
    """A table as it is; a graph or matrix as dense similarities with diagonal 0."""
    if source.kind == "table":
        return np.asarray(source.data, dtype=float)
    X = source.data.toarray() if hasattr(source.data, "toarray") else np.array(source.data, dtype=float)
    X = X.max() - X if source.kind == "distance" else X
    np.fill_diagonal(X, 0.0)
    return X


def _with_values(sources, arrays, measures, protocol):
    """Objects that have a correlation in every view, where one is asked for; a sentence about the others."""
    kept = np.arange(len(arrays[0]))
    if sources[0].kind != "table" or not any("correlation" in measure for measure in measures):
        return kept, []
    halves = arrays if len(arrays) == 2 or protocol != "interleave" else [arrays[0][:, ::2], arrays[0][:, 1::2]]
    constant = np.any([np.ptp(half, axis=1) == 0 for half in halves], axis=0)
    if not constant.any() or constant.all():  # all of them: the views themselves say why
        return kept, []
    names = ", ".join(map(str, np.array(sources[0].objects, dtype=object)[constant][:5]))
    words = f"{constant.sum()} rows are constant in a view, have no correlation there and are left out ({names}"
    return kept[~constant], [f"{words}{', ...' if constant.sum() > 5 else ''}); measures without correlation keep them"]


def _standardised(bits):
    """z of the data and of every null, shape (1 + R, settings, numbers of clusters)."""
    others = len(bits) - 1
    mean, square = ((power.sum(axis=0) - power) / others for power in (bits, bits**2))
    return (bits - mean) / np.sqrt(np.maximum(square - mean**2, 0) + LEAST_SPREAD**2)


def _rows(null, settings, offered, bits, z):
    """Rows of `Findings.table` from bits (1 + R, settings, numbers of clusters) and z of the data."""
    tables = []
    for s, setting in enumerate(settings):
        found = CapacityNull(null, np.array(offered), bits[0, s], bits[1:, s])
        row = {"null": null, "setting": s, "model": setting.word, "measure": setting.measure}
        row |= {"neutral": setting.neutral, "n_clusters": offered, "bits": found.observed, "null_mean": found.mean}
        row |= {"null_sd": found.spread, "excess": found.excess, "z": z[s], "p": found.p_value}
        tables.append(pd.DataFrame(row))
    return pd.concat(tables, ignore_index=True)


def _best(table):
    """The row to recommend: of the largest z over the null that leaves least, the fewest clusters for its bits.

    More clusters often have the same bits and a lower null; the bits are then those of fewer clusters.
    """
    least = table.loc[table.groupby(["setting", "n_clusters"]).z.idxmin()]
    top = least.loc[least.z.idxmax()]
    same = least[(least.setting == top.setting) & (least.bits >= top.bits - TOLERANCE) & (least.excess > 0)]
    return same.loc[same.n_clusters.idxmin()]


def _agreement(views):
    """How much two views agree, in words."""
    if isinstance(views, GraphViews):
        if views.diagnostics is None:
            return "no pair of objects is in both views, so that only groups can make them agree"
        return f"the weights of both measurements correlate by {views.diagnostics['weights']:.2f}"
    rho = np.corrcoef(pdist(views.first), pdist(views.second))[0, 1]
    return f"distances between objects in one view correlate with those in the other by {rho:.2f}"


def _warnings(sources, measures, offered, best):
    """What a reader of the result should know, in sentences."""
    found = [warning for source in sources for warning in source.warnings]
    if paths := ", ".join(measure for measure in measures if "path" in measure):
        found.append(
            f"{paths}: path distances follow nearest neighbours; many bits are the procedure's: see the excess"
        )
    if best is None and sources[0].kind == "table":
        X = np.asarray(sources[0].data, float)
        parted = (kurtosis(X[:, np.ptp(X, axis=0) > 0], fisher=False) < BIMODAL).sum()
        if parted > 0.2 * X.shape[1]:
            text = f"{parted} of {X.shape[1]} columns fall into groups of values that lie apart, which the null keeps"
            found.append(f"{text}: clusters that make such groups are not ruled out, look at these columns")
    if best is not None and best.n_clusters == max(offered):
        found.append(f"the largest number of clusters offered, {max(offered)}, was chosen: offer more")
    return found


def _fitted(setting, n_clusters, views, whole):
    """Clusters of all objects, and what the pictures need.

    The temperature is the one at which the two views agree most, in units of the first split; the clusters are those
    of everything that was measured, at that temperature.
    """
    model = clone(setting.model).set_params(n_clusters=n_clusters)
    shifted = setting.measure in MEASURES and not np.isnan(setting.neutral)  # a graph comes less its neutral weight

    def ready(views):
        pair, own = pair_of(model, views, setting.measure), clone(model)
        return (own.set_params(shift=pair.shift(setting.neutral)) if shifted else own), pair

    found = evaluate(*ready(views))
    (first, second), step = found.trajectories, found.result.index
    own, pair = ready(whole)
    run = own.anneal(pair[0], betas=first.betas / first.unit * own.unit(pair[0]))
    labels = run.labels(step)
    order = np.argsort(-np.bincount(labels, minlength=n_clusters), kind="stable")
    rank = np.empty(n_clusters, int)
    rank[order] = np.arange(n_clusters)
    clusters = pd.DataFrame({"cluster": 1 + rank[labels], "probability": run.probabilities[step].max(axis=1)})
    if np.array_equal(views.rows1, views.rows2):
        again = second.probabilities[step][:, found.result.permutations[step]]
        clusters["stability"] = (first.probabilities[step] * again).sum(axis=1)
    pairwise = get_tags(model).input_tags.pairwise
    similarity = pair[0] if pairwise else whole.similarities("euclidean")[0]
    places = whole.first
    if setting.measure == "weights":  # a graph has no places: its leading directions
        values, vectors = eigsh(np.asarray(similarity, float), 3, v0=np.ones(len(similarity)))
        places = vectors * np.sqrt(np.abs(values))
    fit = {"trajectory": run, "step": step, "similarity": similarity, "places": places, "capacity": found.result}
    return clusters, fit
