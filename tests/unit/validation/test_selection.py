"""Selecting the number of clusters: by hand-made capacities, on planted structure, and independent of workers."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import multivariate_normal
from sklearn.base import BaseEstimator, clone
from sklearn.mixture import GaussianMixture

import gencap as gc
from gencap import checks
from gencap.trajectory import Trajectory


class Staged(BaseEstimator):
    """Makes runs whose capacity is known: N objects in `true` groups, the potentials as hard as they can be."""

    def __init__(self, n_clusters=2, true=4, calls=None):
        self.n_clusters = n_clusters
        self.true = true
        self.calls = calls

    def anneal(self, X, betas=None, init=None):
        if self.calls is not None:
            self.calls.append((self.n_clusters, betas is not None, init is not None))
        labels = np.arange(len(X)) % min(self.n_clusters, self.true)
        P = np.eye(self.n_clusters)[labels][None]
        return Trajectory(np.array([2.0]) if betas is None else betas, P, None, np.zeros(1))


def test_the_smallest_number_within_tolerance_wins():
    X = np.zeros((96, 1))
    offered = [6, 2, 4, 3, 1, 8]
    selection = gc.select_n_clusters(Staged(), X, X, offered, progress=False)
    np.testing.assert_allclose(selection.capacities, [2, 1, 2, np.log2(3), 0, 2], atol=1e-12)
    assert selection.n_clusters == 4 and selection.offered == offered
    assert [r.value for r in selection.results] == list(selection.capacities)
    assert gc.select_n_clusters(Staged(), X, X, offered, tol=0.5, progress=False).n_clusters == 3
    assert gc.select_n_clusters(Staged(), X, X, offered, tol=2.0, progress=False).n_clusters == 1
    assert gc.select_n_clusters(Staged(), X, X, iter(range(1, 4)), progress=False).n_clusters == 3


@pytest.mark.parametrize("paired", [False, True])
def test_second_set_gets_the_grid_and_if_asked_the_start(paired, monkeypatch):
    calls = []
    monkeypatch.setattr("gencap.validation.selection.clone", lambda model: Staged(model.n_clusters, calls=calls))
    X = np.zeros((12, 1))
    selection = gc.select_n_clusters(Staged(), X, X, [3], paired_start=paired, progress=False)
    assert calls == [(3, False, False), (3, True, paired)]
    first, second = selection.trajectories[0]
    assert second.betas is first.betas


def test_model_is_not_changed_and_workers_do_not_matter():
    graphs = gc.datasets.planted_correlation_graphs(40, 3, noise=0.2, random_state=0)
    model = gc.CorrelationClustering(n_clusters=7, random_state=0)
    one = gc.select_n_clusters(model, *graphs, [1, 3, 4], n_jobs=1, progress=False)
    two = gc.select_n_clusters(model, *graphs, [1, 3, 4], n_jobs=2, progress=False)
    assert model.n_clusters == 7 and one.n_clusters == two.n_clusters == 3
    for a, b in zip(one.results, two.results, strict=True):
        np.testing.assert_array_equal(a.curve, b.curve)
    assert one.capacities[0] == 0
    assert one.capacities[1] == pytest.approx(np.log2(3), abs=0.05)


@pytest.mark.parametrize("noise, wanted", [(0.5, 5), (0.93, 1)])
def test_planted_clusters_are_selected_and_noise_is_not(noise, wanted):
    graphs = gc.datasets.planted_correlation_graphs(400, noise=noise, random_state=1)
    model = gc.CorrelationClustering(random_state=0)
    assert gc.select_n_clusters(model, *graphs, [1, 5, 6], progress=False).n_clusters == wanted


def test_sources_of_vectors_are_counted():
    centers = np.array([[-6, 0], [6, 0], [0, 9.0]])
    X1, X2, _ = gc.datasets.paired_gaussian_sources(300, centers, random_state=0)
    selection = gc.select_n_clusters(gc.AnnealedKMeans(random_state=0), X1, X2, range(1, 6), progress=False)
    assert selection.n_clusters == 3
    assert selection.capacities[2] == pytest.approx(np.log2(3), abs=0.02)


def test_bar_can_be_hidden(capfd):
    X = np.zeros((12, 1))
    gc.select_n_clusters(Staged(), X, X, [1, 2], progress=False)
    assert capfd.readouterr().err == ""
    gc.select_n_clusters(Staged(), X, X, [1, 2])
    assert "2/2" in capfd.readouterr().err


@pytest.mark.parametrize("offered", [[], [0], [2, 13]])
def test_bad_offers_are_named(offered):
    X = np.random.default_rng(0).random((12, 2))
    with pytest.raises(ValueError, match="n_clusters"):
        gc.select_n_clusters(gc.AnnealedKMeans(), X, X, offered, progress=False)


def test_other_bad_input_is_named():
    X = np.zeros((12, 2))
    with pytest.raises(TypeError, match="n_clusters"):
        gc.select_n_clusters(Staged(), X, X, [2.0], progress=False)
    with pytest.raises(ValueError, match="tol"):
        gc.select_n_clusters(Staged(), X, X, [2], tol=-0.1, progress=False)
    with pytest.raises(ValueError, match="objects"):
        gc.select_n_clusters(Staged(), X, X[:11], [2], progress=False)


def test_penalised_likelihoods():
    X = np.random.default_rng(1).standard_normal((200, 3)) * 2 + 1
    log_likelihood = multivariate_normal(X.mean(axis=0), np.cov(X.T, bias=True)).logpdf(X).sum()
    peer = GaussianMixture(1, reg_covar=0.0, random_state=0).fit(X)
    assert gc.bic(log_likelihood, 9, 200) == pytest.approx(peer.bic(X), rel=1e-9)
    assert gc.aic(log_likelihood, 9) == pytest.approx(peer.aic(X), rel=1e-9)
    np.testing.assert_allclose(gc.bic([-10.0, -8.0], [2, 5], 100), [20 + 2 * np.log(100), 16 + 5 * np.log(100)])
    with pytest.raises(ValueError, match="n_objects"):
        gc.bic(-10.0, 2, 0)


def test_what_cannot_be_offered_is_named():
    X = np.eye(6)
    assert gc.select_n_clusters(gc.MinCut(), X, X, 3, progress=False).offered == [3]
    with pytest.raises(ValueError, match=r"X2 has shape \(5, 5\), accepted are the same objects as in X1, \(6, 6\)"):
        gc.select_n_clusters(gc.MinCut(), X, X[:5, :5], [2], progress=False)
    with pytest.raises(TypeError, match="random_state='a'"):
        gc.instability(gc.MinCut(), X, random_state="a")


def test_dominant_sets_find_nothing_in_noise_and_three_groups_where_there_are_three():
    rng = np.random.default_rng(0)
    noise = [np.triu(rng.random((100, 100)), 1) for _ in range(2)]
    found = gc.select_n_clusters(gc.DominantSets(), *(A + A.T for A in noise), [2, 3, 4, 6], progress=False)
    assert found.capacities.max() < 0.05 and found.n_clusters == 2
    groups = np.kron(np.eye(3), np.ones((20, 20)))
    found = gc.select_n_clusters(
        gc.DominantSets(),
        *(groups + 0.1 * (A + A.T) for A in (noise[0][:60, :60], noise[1][:60, :60])),
        [2, 3, 6],
        progress=False,
    )
    assert found.capacities[1] == pytest.approx(np.log2(3), abs=0.02) and found.capacities[2] < np.log2(3) + 0.02


def test_one_rule_for_every_list_of_numbers_of_clusters():
    X = np.random.default_rng(0).standard_normal((24, 6))
    graph, roles = np.corrcoef(X), X > 0
    cut, quiet = gc.MinCut(n_init=1, random_state=0), {"progress": False}
    ways = {
        "select_n_clusters": lambda k: gc.select_n_clusters(cut, graph, graph, k, **quiet).offered,
        "gap_statistic": lambda k: gc.gap_statistic(X, k, n_repeats=2, **quiet).offered,
        "select_by_transfer_cost": lambda k: gc.select_by_transfer_cost(cut, graph, k, n_repeats=2, **quiet).offered,
        "capacity_null": lambda k: gc.capacity_null(cut, X, k, protocol="interleave", n_repeats=1, **quiet).n_clusters,
        "compare_models": lambda k: gc.compare_models(
            {"cut": cut}, X, n_repeats=1, n_clusters=k, **quiet
        ).table.n_clusters.unique(),
        "compare_criteria": lambda k: [
            k for k in gc.compare_criteria(X, n_clusters=k, n_repeats=2, **quiet) if isinstance(k, int)
        ],
        "select_n_roles": lambda k: (
            gc.rank.select_n_roles(gc.NoisyOrFactorization(n_refinements=0), roles, k, n_folds=2, **quiet).ranks
        ),
    }
    for name, way in ways.items():
        for given, wanted in ((2, [2]), ([3, 2], [3, 2]), (range(2, 4), [2, 3]), (np.array([3]), [3])):
            if name != "compare_criteria" or given == 2:  # the slowest; it shares the rule
                assert list(way(given)) == wanted, name
        for wrong, error in (
            ([], ValueError),
            ([2, 2], ValueError),
            ([0, 2], ValueError),
            (2.5, TypeError),
            ("2", TypeError),
        ):
            with pytest.raises(error, match="n_clusters|n_components"):
                way(wrong)


NAMES = [f"Q{i}" for i in range(24)]


def tables(kind):
    """A labelled table of the kind, the same with its objects in another order, and one with other objects."""
    X = np.random.default_rng(0).standard_normal((24, 6))
    order = np.random.default_rng(1).permutation(24)
    if kind == "similarities":
        one = pd.DataFrame(1 + np.corrcoef(X), NAMES, NAMES)
        return one, one.iloc[order, order], one.rename(index=str.lower, columns=str.lower)
    if kind == "labels":
        one = pd.Series(np.arange(24) % 3, NAMES)
    else:
        one = pd.DataFrame(X, NAMES)
    return one, one.iloc[order], one.rename(index=str.lower)


def by_trajectory(model):
    def way(X1, X2):
        first = model.anneal(X1)
        return gc.generalization_capacity(first, model.anneal(X2, betas=first.betas))

    return way


CUT, KMEANS = gc.MinCut(2, n_init=1, random_state=0), gc.AnnealedKMeans(2, random_state=0)
PAIRED = {
    "trajectories": ("similarities", by_trajectory(CUT)),
    "trajectories of ratio cuts": ("similarities", by_trajectory(gc.NormalizedCut(2, n_init=1, random_state=0))),
    "trajectories of dominant sets": ("similarities", by_trajectory(gc.DominantSets(2))),
    "trajectories of embeddings": (
        "similarities",
        by_trajectory(gc.PairwiseClustering(2, embedding=True, n_init=1, random_state=0)),
    ),
    "trajectories of vectors": ("vectors", by_trajectory(KMEANS)),
    "fitted trajectories": (
        "vectors",
        lambda X1, X2: (
            gc.generalization_capacity(*(clone(KMEANS).fit(X).trajectory_ for X in (X1, X1))).value
            + gc.generalization_capacity(KMEANS.fit(X1).trajectory_, KMEANS.anneal(X2, KMEANS.trajectory_.betas)).value
        ),
    ),
    "select_n_clusters": ("similarities", lambda X1, X2: gc.select_n_clusters(CUT, X1, X2, 2, progress=False)),
    "evaluate": ("similarities", lambda X1, X2: gc.validation.evaluation.evaluate(CUT, (X1, X2))),
    "instability": ("similarities", lambda X1, X2: gc.instability(CUT, X1, X2, random_state=0)),
    "instability of vectors": ("vectors", lambda X1, X2: gc.instability(KMEANS, X1, X2, random_state=0)),
    "transfer_cost": ("similarities", lambda X1, X2: gc.transfer_cost(CUT, X1, X2, mapping="identity")),
    "transfer_cost of vectors": ("vectors", lambda X1, X2: gc.transfer_cost(KMEANS, X1, X2, mapping="identity")),
    "transfer_costs": ("vectors", lambda X1, X2: gc.transfer_costs(KMEANS.anneal(X1), X2)),
    "replicates": ("vectors", lambda X1, X2: gc.replicates(X1, X2)),
    "compare_criteria": (
        "vectors",
        lambda X1, X2: gc.compare_criteria(X1, X2, [1, 2], n_repeats=2, progress=False),
    ),
    "hamming_capacity": ("labels", lambda a, b: gc.hamming_capacity(a, b, 3)),
    "disagreement": ("labels", lambda a, b: gc.disagreement(a, b, 3)),
    "align_labels": ("labels", lambda a, b: gc.align_labels(a, b)),
    "matched_precision": ("labels", lambda a, b: gc.metrics.matched_precision(a, b)),
}


@pytest.mark.parametrize("name", PAIRED)
def test_the_same_objects_in_another_order_are_refused(name):
    kind, way = PAIRED[name]
    one, other, strangers = tables(kind)
    with pytest.raises(ValueError, match="accepted are the same objects in the same order"):
        way(one, other)
    way(one, one.copy())
    way(one, strangers)  # rows that are paired for another reason than their names
    way(one, other.to_numpy())  # nothing is known about it


def test_which_names_contradict_each_other():
    def names(*index):
        return pd.DataFrame(np.zeros((len(index), 1)), list(index))

    one = names("a", "b", "c")
    checks.check_same_order("X2", one, "X1", names("a", "x", "c"))
    checks.check_same_order("X2", one, "X1", names(0, 1, 2))
    checks.check_same_order("X2", names(5, 1, 7), "X1", names(0, 1, 2))  # rows of a table against rows that are counted
    checks.check_same_order("X2", names("a", "a", "b"), "X1", names("a", "a", "b"))
    for first, second, place in (
        (one, names("b", "c", "d"), "X2 has 'b' as object 0, which is object 1 of X1"),  # one gene less, one more
        (names(0, 1, 2), names(2, 0, 1), "X2 has '2' as object 0"),
        (names("a", "a", "b"), names("a", "b", "a"), "X2 has 'a' as object 0|X2 has 'b' as object 1"),
    ):
        with pytest.raises(ValueError, match=place):
            checks.check_same_order("X2", second, "X1", first)
    with pytest.raises(ValueError, match="columns of X has 'b' as object 0, which is object 1 of its rows"):
        checks.check_similarity("X", pd.DataFrame(np.ones((2, 2)), list("ab"), list("ba")))


def test_two_measurements_are_not_split_alike_by_a_common_start():
    """Two measurements of the same objects have random states of their own; one for both could make them agree."""
    rng = np.random.default_rng(0)
    pair = [X @ X.T for X in rng.random((2, 60, 3)) + 1]
    seeds = []

    class Seen(gc.CorrelationClustering):
        def anneal(self, X, betas=None, init=None):
            seeds.append(self.random_state)
            return super().anneal(X, betas, init)

    gc.instability(Seen(3, n_init=1, random_state=0), *pair, random_state=0)
    assert len(seeds) == len(set(seeds)) == 2


@pytest.mark.parametrize("model", [gc.DominantSets(2), gc.CorrelationClustering(2, random_state=0)])
def test_a_twin_is_another_object(model):
    """Also without a random state: two fits of one object would be one result, seen twice."""
    other = gc.twin(model)
    assert other is not model and type(other) is type(model)
    assert {k: v for k, v in other.get_params().items() if k != "random_state"} == {
        k: v for k, v in model.get_params().items() if k != "random_state"
    }
