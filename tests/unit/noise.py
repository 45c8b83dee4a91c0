"""Capacities of pairs of unrelated data sets: what every model and every public way to a capacity finds in nothing."""

import numpy as np

import gencap as gc
from gencap.validation.selection import twin

MODELS = {
    "CorrelationClustering": gc.CorrelationClustering(n_init=1, random_state=0),
    "CorrelationClustering, shift -1": gc.CorrelationClustering(shift=-1.0, n_init=1, random_state=0),
    "MinCut": gc.MinCut(n_init=1, random_state=0),
    "MaxCut": gc.MaxCut(n_init=1, random_state=0),
    "PairwiseClustering": gc.PairwiseClustering(n_init=1, random_state=0),
    "PairwiseClustering, gibbs": gc.PairwiseClustering(inference="gibbs", n_init=1, n_sweeps=20, random_state=0),
    "PairwiseClustering, embedding": gc.PairwiseClustering(embedding=True, n_init=1, random_state=0),
    "NormalizedCut": gc.NormalizedCut(n_init=1, random_state=0),
    "AdaptiveRatioCut, p=1": gc.AdaptiveRatioCut(p=1.0, n_init=2, random_state=0),
    "AdaptiveRatioCut, p=1.5": gc.AdaptiveRatioCut(n_init=2, random_state=0),
    "AdaptiveRatioCut, p=2": gc.AdaptiveRatioCut(p=2.0, n_init=2, random_state=0),
    "DominantSets": gc.DominantSets(),
    "DominantSets, 10 steps": gc.DominantSets(max_steps=10, cutoff=0.1),
    "AnnealedKMeans": gc.AnnealedKMeans(random_state=0),
    "AnnealedKMeans, gibbs": gc.AnnealedKMeans(inference="gibbs", n_sweeps=20, random_state=0),
}
WAYS = ("trajectories", "select", "evaluate", "null", "compare", "hamming")


def unrelated(kind, n_objects, rng):
    """Two tables (N, 12) that share nothing: without clusters ("cloud"), or each with four of its own ("clusters")."""

    def table():
        noise = rng.standard_normal((n_objects, 12))
        if kind == "cloud":
            return noise
        return noise + 3 * rng.standard_normal((4, 12))[rng.integers(4, size=n_objects)]

    return table(), table()


def capacities(model, tables, offered, ways=WAYS):
    """Dict way -> capacities (len(offered),) of one model on a pair of tables; a way it does not have is left out."""
    found = {}
    views = gc.replicates(*tables)
    vectors = isinstance(model, gc.AnnealedKMeans)
    positive = not isinstance(model, gc.CorrelationClustering | gc.PairwiseClustering | gc.MinCut)
    pair = tables if vectors else tuple(views.similarities(positive=positive))
    models = [type(model)(**model.get_params() | {"n_clusters": k}) for k in offered]
    if "trajectories" in ways:
        found["trajectories"] = []
        for one in models:
            first = one.anneal(pair[0])
            second = twin(one).anneal(pair[1], betas=first.betas)
            found["trajectories"].append(gc.generalization_capacity(first, second).value)
    if "select" in ways:
        found["select"] = gc.select_n_clusters(model, *pair, offered, progress=False).capacities
    if "hamming" in ways:
        found["hamming"] = [
            gc.hamming_capacity(one.fit(pair[0]).labels_, twin(one).fit(pair[1]).labels_, one.n_clusters)
            for one in models
        ]
    if not vectors:
        if "evaluate" in ways:
            found["evaluate"] = [gc.validation.evaluation.evaluate(one, pair).value for one in models]
        if "null" in ways:
            found["null"] = gc.capacity_null(model, views, n_clusters=offered, n_repeats=1, progress=False).observed
        if "compare" in ways:
            found["compare"] = gc.compare_models(
                {"model": model}, views, n_clusters=offered, progress=False
            ).table.capacity.to_numpy()
    return {way: np.asarray(values) for way, values in found.items()}
