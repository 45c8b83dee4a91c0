"""How far above the best known cost every model ends: default parameters, seeds 0 to 4, every run counted.

The gap of a run is (cost - best) / (|best| + spread), the spread being the standard deviation of the costs of 20
random labelings. "Search" is the lowest cost that the search of a model on similarities found; the labels are those at
the coldest step of the default grid, whose temperature may not resolve what the search found. Other models have only
the labels.

The best known costs stand in `best_known.json`. `python tests/benchmarks/test_search.py [beginning of a name]` looks
for better ones: scikit-learn, many starts of the library, slow cooling and the truth, each brought to where no single
move helps, then seconds of kicks of the best. The benchmark itself lowers a stored cost that a run undercuts, and fails
saying so.
"""

import json
import sys
import time
import warnings
from functools import cache
from pathlib import Path

import numpy as np
import scipy.sparse
from sklearn.cluster import KMeans, SpectralClustering
from sklearn.neighbors import kneighbors_graph

import gencap as gc
from gencap.models.similarity import State
from gencap.views.measures import constant_shift_embedding, pearson_similarity, squared_euclidean_distances

STORE = Path(__file__).with_name("best_known.json")
SEEDS = range(5)
CLOSE = 0.005


# Data: (X, true labels or None) -----------------------------------------------------------------------------------


def signed(n_objects, n_clusters, noise, seed=0, sizes=None):
    graphs = gc.datasets.planted_correlation_graphs(n_objects, n_clusters, noise=noise, random_state=seed, sizes=sizes)
    return graphs[0].astype(np.float64), graphs.labels


def blocks(sizes, strengths, between, noise=0.5, seed=0, positive=True):
    """Similarity `strengths[k]` inside cluster k and `between` elsewhere; noise relative to it or added."""
    rng, labels = np.random.default_rng(seed), np.repeat(np.arange(len(sizes)), sizes)
    A = np.where(labels[:, None] == labels, np.take(strengths, labels)[:, None], between)
    A = A * rng.uniform(1 - noise, 1 + noise, A.shape) if positive else A + noise * rng.standard_normal(A.shape)
    A = np.triu(A, 1)
    return A + A.T, labels


def random_matrix(n_objects, seed, positive=False):
    rng = np.random.default_rng(seed)
    A = np.triu(rng.random((n_objects, n_objects)) if positive else rng.standard_normal((n_objects, n_objects)), 1)
    return A + A.T, None


def groups(seed):
    graphs = gc.datasets.planted_group_graphs(50, random_state=seed)
    return graphs[0].astype(np.float64), graphs.labels


def points(sizes, spreads, centers, seed=0):
    rng, labels = np.random.default_rng(seed), np.repeat(np.arange(len(sizes)), sizes)
    centers = np.asarray(centers, float)
    return centers[labels] + np.take(spreads, labels)[:, None] * rng.standard_normal(
        (len(labels), centers.shape[1])
    ), labels


def scattered(n_clusters, size, spread, n_features=2, seed=0):
    """Clusters of equal size and spread around standard normal centres."""
    centers = np.random.default_rng([seed, 1]).standard_normal((n_clusters, n_features))
    return points([size] * n_clusters, [spread] * n_clusters, centers, seed)


def nested(seed=0):
    """Three groups of three groups of three: distances 100, 10 and 1, spread .2; 270 points."""
    grid = np.array([[0, 0], [1, 0], [0, 1]])
    centers = (100 * grid[:, None, None] + 10 * grid[:, None] + grid).reshape(-1, 2)
    return points([10] * 27, [0.2] * 27, centers, seed)


def kernel(data, width):
    Z, labels = data
    X = np.exp(-squared_euclidean_distances(Z) / (2 * width**2))
    np.fill_diagonal(X, 0)
    return X, labels


def neighbours(data, n_neighbors):
    A = kneighbors_graph(data[0], n_neighbors)
    return scipy.sparse.csr_array(A + A.T), data[1]


def distances(data):
    return -squared_euclidean_distances(data[0]), data[1]


@cache
def yeast():
    rows = gc.datasets.load_yeast("brown", impute="mean").data
    return pearson_similarity(rows), None


def reaching(data, offset):
    """All similarities moved by `offset`."""
    return data[0] + offset, data[1]


CC, PC, NC, ARC = gc.CorrelationClustering, gc.PairwiseClustering, gc.NormalizedCut, gc.AdaptiveRatioCut
WIDE = [[0, 0], [0.3, 0], [12, 0]]  # the middle one is close to the first, the third wide
SQUARE = 2.5 * np.array([[np.cos(a), np.sin(a)] for a in np.arange(4)])
RING = [[np.cos(a), np.sin(a)] for a in np.arange(6)]

# name: (model, data)
PROBLEMS = {
    # Correlation clustering with shifts
    "cc graph 500": (CC(5), lambda: signed(500, 5, 0.74, 7)),
    "cc graph 200, ten offered": (CC(10), lambda: signed(200, 5, 0.6, 1)),
    "cc graph 200, unequal": (CC(5), lambda: signed(200, 5, 0.5, 2, (110, 50, 25, 10, 5))),
    "cc graph 30": (CC(3), lambda: signed(30, 3, 0.3, 3)),
    "cc graph 300, shift -.3": (CC(5, shift=-0.3), lambda: signed(300, 5, 0.8, 4)),
    "cc graph 120, shift .4": (CC(4, shift=0.4), lambda: signed(120, 4, 0.5, 5)),
    "cc strengths 1 to 100": (CC(4), lambda: blocks((60, 50, 40, 30), (100, 20, 5, 1), -1, 5, 0, False)),
    "cc small and strong, 250": (
        CC(6),
        lambda: blocks((100, 60, 40, 25, 15, 10), (1, 2, 4, 8, 16, 32), -1, 4, 1, False),
    ),
    "cc noise 100": (CC(3), lambda: random_matrix(100, 2)),
    "cc yeast, shift -.35": (CC(6, shift=-0.35), yeast),
    # Cuts
    "mincut groups 200": (gc.MinCut(2), lambda: groups(1)),
    "mincut graph 150, unequal": (gc.MinCut(4), lambda: signed(150, 4, 0.6, 6, (80, 40, 20, 10))),
    "mincut strengths 160": (gc.MinCut(4), lambda: blocks((40, 40, 40, 40), (50, 10, 2, 0.5), -0.3, 1, 3, False)),
    "mincut noise 60": (gc.MinCut(4), lambda: random_matrix(60, 4)),
    "mincut yeast": (gc.MinCut(5), lambda: reaching(yeast(), -0.5)),
    "maxcut groups 200": (gc.MaxCut(2), lambda: groups(2)),
    "maxcut distances 150": (gc.MaxCut(3), lambda: reaching((-distances(scattered(3, 50, 0.5))[0], None), 0)),
    "maxcut graph 300": (gc.MaxCut(4), lambda: reaching((-signed(300, 4, 0.7, 8, (150, 80, 40, 30))[0], None), 0)),
    "maxcut positive noise 100": (gc.MaxCut(3), lambda: random_matrix(100, 5, True)),
    "maxcut noise 40": (gc.MaxCut(5), lambda: random_matrix(40, 6)),
    # Pairwise clustering (the points also with embedding and by annealed k-means)
    "points two tight, one wide": (PC(3), lambda: points((60, 60, 60), (0.02, 0.02, 1), WIDE)),
    "points two tight, one wide, four offered": (PC(4), lambda: points((60, 60, 60), (0.02, 0.02, 1), WIDE)),
    "points four sources 200": (PC(4), lambda: points((50,) * 4, (1,) * 4, [[0, 0], [0, 5], [5, 0], [5, 5]])),
    "points eight in ten dimensions": (PC(8), lambda: scattered(8, 40, 0.8, 10)),
    "points unequal sizes": (PC(4), lambda: points((200, 20, 10, 5), (0.5,) * 4, [[0, 0], [3, 0], [0, 3], [3, 3]])),
    "points nested, nine": (PC(9), nested),
    "points nested, five": (PC(5), lambda: nested(1)),
    "points ten sources 500": (PC(10), lambda: scattered(10, 50, 0.2, seed=2)),
    "points noise 120": (PC(6), lambda: points((120,), (1,), [[0, 0]])),
    "points spreads .01 to 1": (PC(6), lambda: points((50,) * 6, np.geomspace(0.01, 1, 6), np.multiply(RING, 4))),
    "points 30": (PC(5), lambda: scattered(5, 6, 0.4, seed=3)),
    "pc graph 200": (PC(5), lambda: signed(200, 5, 0.6, 9)),
    "pc strengths": (PC(4), lambda: blocks((20, 40, 60, 80), (30, 10, 3, 1), 0.1, 0.9, 5)),
    "pc noise 60": (PC(3), lambda: random_matrix(60, 7)),
    "pc yeast": (PC(6), yeast),
    # Normalised cut
    "ncut strengths 1, .01": (NC(2), lambda: blocks((16, 16), (1, 1e-2), 5e-4, seed=1)),
    "ncut strengths 1, .002": (NC(2), lambda: blocks((16, 16), (1, 2e-3), 1e-4, seed=1)),
    "ncut strengths 1, 1e-4, 60 and 30": (NC(2), lambda: blocks((60, 30), (1, 1e-4), 1e-5, seed=2)),
    "ncut four strengths 1 to .001": (NC(4), lambda: blocks((60,) * 4, (1, 0.1, 0.01, 0.001), 1e-4, 0.9, 3)),
    "ncut ten strengths 500": (NC(10), lambda: blocks((50,) * 10, np.geomspace(1, 100, 10), 0.1, 0.9, 4)),
    "ncut kernel, spreads .2 to 3": (
        NC(3),
        lambda: kernel(points((40, 40, 60), (0.2, 0.2, 2), [[0, 0], [3, 0], [9, 9]]), 0.8),
    ),
    "ncut neighbours 400": (NC(6), lambda: neighbours(scattered(6, 66, 0.35, seed=5), 10)),
    "ncut unequal sizes": (NC(3), lambda: blocks((300, 50, 10), (1, 1, 1), 0.2, 0.9, 6)),
    "ncut noise 60": (NC(3), lambda: random_matrix(60, 8, True)),
    "ncut weak blocks 200": (NC(5), lambda: blocks((40,) * 5, (1.5,) * 5, 1, 1, 7)),
    "ncut yeast": (NC(5), lambda: reaching(yeast(), 1)),
    # Adaptive ratio cut
    **{
        f"arc {p:g} {name}": (ARC(n_clusters, p=p), data)
        for p, chosen in ((1.0, "abcd"), (1.2, "abde"), (1.5, "abcef"), (2.0, "acdf"))
        for key, (name, n_clusters, data) in {
            "a": ("kernel, unequal", 4, lambda: kernel(points((80, 60, 40, 20), (0.3, 0.6, 0.9, 1.2), SQUARE), 1)),
            "b": ("noise 60", 3, lambda: random_matrix(60, 9, True)),
            "c": ("two clouds", 2, lambda: kernel(points((100, 100), (1, 1), [[0, 0], [3, 0]]), 1)),
            "d": ("blocks 300", 6, lambda: blocks((100, 80, 60, 30, 20, 10), (1,) * 6, 0.3, 0.9, 8)),
            "e": ("neighbours 300", 5, lambda: neighbours(scattered(5, 60, 0.4, seed=6), 8)),
            "f": ("yeast", 4, lambda: reaching(yeast(), 1)),
        }.items()
        if key in chosen
    },
}  # fmt: skip


def runs():
    """(problem, name of the model, estimator, X of the estimator) of every row of the table."""
    for name, (model, data) in PROBLEMS.items():
        X = data()[0]
        if not name.startswith("points"):
            yield name, type(model).__name__, model, X
        else:
            yield name, "PairwiseClustering", model, -squared_euclidean_distances(X)
            embedded = PC(model.n_clusters, embedding=True)
            yield name, "PairwiseClustering(embedding)", embedded, -squared_euclidean_distances(X)
            yield name, "AnnealedKMeans", gc.AnnealedKMeans(model.n_clusters), X
        if name.startswith("pc"):
            yield name, "PairwiseClustering(embedding)", PC(model.n_clusters, embedding=True), X


def similarities(name):
    """Model, similarity matrix and true labels of a problem."""
    model, data = PROBLEMS[name]
    X, truth = distances(data()) if name.startswith("points") else data()
    return model, X, truth


def spread(model, X):
    rng = np.random.default_rng(0)
    return np.std([model.cost(rng.integers(model.n_clusters, size=X.shape[0]), X) for _ in range(20)])


# The best known ---------------------------------------------------------------------------------------------------


def settled(model, X, labels, rng):
    """Cost and labels after single moves until none helps."""
    state = State(X, model._rule(), model._weights(X), model.n_clusters, rng)
    state.start_labels(np.asarray(labels, np.int64))
    state.descend(1e12 * model._unit(X), 500)
    return model.cost(state.labels(), X), state.labels()


def candidates(model, X, truth):
    """Labelings of other methods, of many starts and of slow cooling, and the truth."""
    n_clusters, n_objects = model.n_clusters, X.shape[0]
    if truth is not None and truth.max() < n_clusters:
        yield truth
    full = (X.toarray() if scipy.sparse.issparse(X) else X) * (-1.0 if isinstance(model, gc.MaxCut) else 1.0)
    for affinity in (np.maximum(full, 0), full - full.min()):
        for n in range(3):
            if (affinity.sum(axis=1) > 0).all():
                yield SpectralClustering(n_clusters, affinity="precomputed", random_state=n).fit_predict(affinity)
    vectors = constant_shift_embedding(-full).vectors
    leading = np.linalg.eigh(full)[1][:, -n_clusters:]
    for Z in (vectors, vectors[:, :n_clusters], leading, leading[:, 1:]):
        yield KMeans(n_clusters, n_init=20, random_state=0).fit_predict(Z)
    for n in range(3):
        yield type(model)(**model.get_params() | {"n_init": 10, "random_state": 100 + n}).fit(X).labels_
    rng, unit = np.random.default_rng(1), model._unit(X)
    for _ in range(3):
        state = State(X, model._rule(), model._weights(X), n_clusters, rng)
        labels = rng.integers(n_clusters, size=n_objects)
        labels[:n_clusters] = np.arange(n_clusters)
        state.start_labels(labels)
        for beta in unit * np.geomspace(0.02, 500, 50):
            for _ in range(10):
                state.sweep(gc.models.similarity.MODES["gibbs"], beta)
            state.refresh()
        yield state.labels()


def kicked(labels, n_clusters, rng):
    """A tenth of the objects at random, or one cluster merged into another and a third one torn by lot."""
    labels, n_objects = labels.copy(), len(labels)
    if rng.random() < 0.5 or n_clusters < 3:
        moved = rng.random(n_objects) < rng.choice([0.02, 0.1, 0.3])
        labels[moved] = rng.integers(n_clusters, size=moved.sum())
        return labels
    first, second, torn = rng.permutation(n_clusters)[:3]
    labels[labels == second] = first
    members = np.flatnonzero(labels == torn)
    labels[members[rng.random(len(members)) < rng.random()]] = second
    return labels


def best_known(name, seconds=6.0):
    """Lowest cost that the search finds."""
    model, X, truth = similarities(name)
    rng = np.random.default_rng(0)
    best = min((settled(model, X, labels, rng) for labels in candidates(model, X, truth)), key=lambda found: found[0])
    end = time.process_time() + seconds
    while time.process_time() < end:
        labels = kicked(best[1], model.n_clusters, rng)
        if len(np.unique(labels)) == model.n_clusters or isinstance(model, CC | PC | gc.MinCut):
            best = min(best, settled(model, X, labels, rng), key=lambda found: found[0])
    return best[0]


def read_store():
    return json.loads(STORE.read_text()) if STORE.exists() else {}


def lower_store(found):
    """Keep the lowest cost of every problem; returns the names of those that were lowered by more than rounding."""
    stored = read_store()
    lowered = [n for n, c in found.items() if c < stored.get(n, np.inf) - 1e-6 * abs(c)]
    if lowered:
        merged = {n: found[n] if n in lowered else stored[n] for n in PROBLEMS if n in stored or n in found}
        STORE.write_text(json.dumps(merged, indent=1) + "\n")
    return lowered


# The benchmark ----------------------------------------------------------------------------------------------------


def measure(chosen=""):
    """Rows (model, problem, gaps of the search, gaps of the labels, CPU seconds) and lowest costs of the problems."""
    stored, rows, lowest = read_store(), [], {}
    for name, label, model, X in runs():
        if chosen not in f"{label} {name}":
            continue
        similarity_model, S, _ = similarities(name)
        start = time.process_time()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", gc.RestartWarning)
            fitted = [model.set_params(random_state=seed).anneal(X) for seed in SEEDS]
        seconds = time.process_time() - start
        labelled = np.array([similarity_model.cost(run.labels(-1), S) for run in fitted])
        found = [c if run.start_costs is None else run.start_costs[-1] for c, run in zip(labelled, fitted, strict=True)]
        lowest[name] = min(lowest.get(name, np.inf), *map(float, labelled))
        best, scale = min(stored.get(name, np.inf), lowest[name]), spread(similarity_model, S)
        gaps = [(np.array(costs) - best) / (abs(best) + scale) for costs in (found, labelled)]
        rows.append((label, name, *gaps, seconds))
    return rows, lowest


HEADER = ["model", "problems", "median gap (%)", "worst gap (%)", "runs within .5 % (%)", "of labels (%)", "CPU (s)"]


def table(rows):
    for label in [*dict.fromkeys(row[0] for row in rows), "all"]:
        mine = [row for row in rows if label in (row[0], "all")]
        found, labelled = (np.concatenate([row[column] for row in mine]) for column in (2, 3))
        within = [100 * float((gaps <= CLOSE).mean()) for gaps in (found, labelled)]
        seconds = sum(row[4] for row in mine)
        yield [label, len(mine), 100 * float(np.median(found)), 100 * float(found.max()), *within, seconds]


def test_cost_above_the_best_known(bench_table):
    measure("cc graph 30")
    rows, lowest = measure()
    for label, name, found, labelled, _ in rows:
        if max(found.max(), labelled.max()) > CLOSE:
            print(f"{label}, {name}: search {np.round(100 * found, 2)} %, labels {np.round(100 * labelled, 2)} %")
    for row in table(rows):
        bench_table("Search: cost above the best known, seeds 0-4", HEADER, row)
    lowered = lower_store(lowest)
    assert set(read_store()) == set(PROBLEMS)
    assert not lowered, f"lower costs than the best known were found and stored: {lowered}"
    assert row[4] >= 95


if __name__ == "__main__":
    for problem in PROBLEMS:
        if problem.startswith("".join(sys.argv[1:2])):
            cost = best_known(problem)
            print(problem, read_store().get(problem), "found", cost, "lowered" if lower_store({problem: cost}) else "")
