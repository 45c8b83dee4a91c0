"""A model of one's own, in under 60 lines: everything else in the library works with it, and nothing is told about it.

Histogram clustering (Pereira, Tishby and Lee 1993): rows are counts n_i over the same bins, a cluster is a distribution
q_k over them, and h_ik = n_i KL(p_i || q_k), in nats, what it costs to code object i by the histogram of cluster k.
"""

import inspect

import numpy as np
import pytest
from scipy.special import rel_entr, xlogy
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted, validate_data

import gencap as gc
from gencap.checks import check_labels, check_n_clusters, check_vectors, generator
from gencap.models.base import follow
from gencap.trajectory import Trajectory, beta_grid, check_betas, check_start, one_hot, softmax


class CountClustering(gc.ClusteringModel):
    """Clusters of rows of counts; `sample_weight` (N,) says how much a row counts in the histogram of its cluster."""

    _positive_only = True

    def __init__(self, n_clusters=2, random_state=None):
        self.n_clusters = n_clusters
        self.random_state = random_state

    def _exact(self, X):
        X = check_vectors("X", X)
        check_n_clusters(self.n_clusters, len(X))
        if X.min() < 0 or not X.sum(axis=1).all():
            raise ValueError(
                "Negative values in data or rows without counts: X must hold counts >= 0, some in each row"
            )
        return X

    def _unit(self, X):
        mean = X.sum(axis=0) / X.sum()
        offsets = (X - np.outer(X.sum(axis=1), mean)) / np.sqrt(np.where(mean > 0, mean, 1.0))
        return X.sum() / (np.linalg.norm(offsets, 2) ** 2 or X.sum())

    def _divergences(self, X, histograms):
        own = xlogy(X, X / np.maximum(X.sum(axis=1, keepdims=True), 1e-300)).sum(axis=1, keepdims=True)
        return own - X @ np.log(np.maximum(histograms, 1e-300)).T

    def _histograms(self, P, X, prior=0.0):
        counts = P.T @ X + prior * X.sum(axis=0) / X.sum()  # `prior` counts as all objects have them
        return counts / np.maximum(counts.sum(axis=1, keepdims=True), 1e-300)

    def _labels_cost(self, labels, X):
        P = one_hot(labels, self.n_clusters)
        return float((P * self._divergences(X, self._histograms(P, X))).sum())

    def _anneal(self, X, betas, init, sample_weight=1.0):
        unit, rng = self._unit(X), generator(self.random_state)
        betas = beta_grid(unit, 0.8, 60, 30) if betas is None else check_betas(betas)
        init, weight = check_start(init, betas, len(X), self.n_clusters), np.reshape(sample_weight, (-1, 1))
        h, sweeps = np.zeros((len(X), self.n_clusters)), 0

        def settle(t):
            nonlocal h, sweeps
            P = softmax(-betas[t] * h) * rng.uniform(0.9, 1.1, h.shape) if init is None else init.probabilities[t]
            for _ in range(300):
                self.histograms_ = self._histograms(weight * P, X, 1.0)
                h, old, sweeps = self._divergences(X, self.histograms_), P, sweeps + 1
                P = softmax(-betas[t] * h)
                if np.abs(P - old).max() < 1e-4:
                    break
            return h, np.abs(P - old).max() < 1e-4

        run = follow(betas, settle, lambda labels: self._labels_cost(labels, X), hot_first=True)
        return Trajectory(**run, unit=unit, n_iter=sweeps, learned={"histograms_": self.histograms_})

    def potentials(self, X_new):
        check_is_fitted(self)
        return self._divergences(validate_data(self, X_new, dtype=float, reset=False), self.histograms_)


pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
N_GROUPS, N_BINS, N_OBJECTS = 3, 8, 150
BINS = np.random.default_rng(3).dirichlet(np.ones(N_BINS), N_GROUPS)
GROUP = np.arange(N_OBJECTS) % N_GROUPS
MODEL = CountClustering(N_GROUPS, random_state=0)


def counts(seed):
    rng = np.random.default_rng(seed)
    totals = rng.integers(20, 200, N_OBJECTS)  # very different ones: Euclid sees these
    return np.array([rng.multinomial(n, BINS[k]) for n, k in zip(totals, GROUP, strict=True)]).astype(float)


X1, X2 = counts(0), counts(1)
WEIGHT = X1.sum(axis=1)


def test_it_is_small():
    lines = [line.strip() for line in inspect.getsource(CountClustering).splitlines()]
    code = [line for line in lines if line and not line.startswith(("#", '"""'))]
    assert len(code) < 60, len(code)


def same_groups(labels):
    return len(set(zip(labels, GROUP, strict=True))) == N_GROUPS


def test_it_keeps_the_contract():
    fit = clone(MODEL).fit(X1)
    assert same_groups(fit.labels_) and not same_groups(gc.AnnealedKMeans(3, random_state=0).fit(X1).labels_)
    assert fit.trajectory_.n_effective(0) == 1 and fit.trajectory_.n_effective() == 3
    # Exact cost: the sum of the divergences from the pooled histograms.
    pooled = np.array([X1[fit.labels_ == k].sum(axis=0) for k in range(3)])
    own, theirs = X1 / X1.sum(axis=1, keepdims=True), pooled / pooled.sum(axis=1, keepdims=True)
    cost = (X1.sum(axis=1) * rel_entr(own, theirs[fit.labels_]).sum(axis=1)).sum()
    assert MODEL.cost(fit.labels_, X1) == pytest.approx(cost) == fit.trajectory_.costs[-1]
    assert clone(MODEL).set_params(n_clusters=5).cost(fit.labels_, X1) == pytest.approx(cost)
    with pytest.raises(ValueError, match="Negative values"):
        MODEL.anneal(-X1)
    check_labels("labels", fit.coldest_labels(X1), N_OBJECTS, 3)


def test_weights_of_objects_reach_it():
    weight = np.where(np.arange(N_OBJECTS) < 12, 30.0, 0.1)
    fit = clone(MODEL).fit(X1, sample_weight=weight)
    pooled = np.array([weight[fit.labels_ == k] @ X1[fit.labels_ == k] for k in range(3)])
    pooled /= pooled.sum(axis=1, keepdims=True)
    plain = clone(MODEL).fit(X1).histograms_
    apart = np.abs(pooled[:, None] - plain).sum(axis=2).min(axis=1)
    assert np.abs(fit.histograms_ - pooled).sum(axis=1).max() < 0.2 * apart.min()
    with pytest.raises(ValueError, match="sample_weight has 2 entries"):
        clone(MODEL).fit(X1, sample_weight=[1, 2])


@pytest.mark.parametrize(
    "mapping", ["nearest_cluster", "identity", "hungarian", "nearest_object", "soft", "soft_object"]
)
def test_a_transfer_costs_its_own_divergence(mapping):
    fit = clone(MODEL).fit(X1)
    h = (
        X2.sum(axis=1, keepdims=True)
        * np.array([rel_entr(X2 / X2.sum(axis=1, keepdims=True), q).sum(axis=1) for q in fit.histograms_]).T
    )
    chances = gc.mapping_probabilities(fit, X1, X2, mapping=mapping)
    cost = gc.transfer_cost(MODEL, X1, X2, mapping=mapping)
    assert cost == pytest.approx((chances * h).sum() / N_OBJECTS)
    if mapping == "nearest_cluster":
        assert cost == pytest.approx(h.min(axis=1).mean()) and same_groups(gc.transfer_labels(fit, X2))
    # Another cost than squared Euclid, and another one with weights.
    means = np.array([X1[fit.labels_ == k].mean(axis=0) for k in range(3)])
    assert not np.isclose(cost, ((X2 - means[fit.labels_]) ** 2).sum(axis=1).mean(), rtol=0.5)
    weighted = gc.transfer_cost(MODEL, X1, X2, mapping=mapping, per_object={"sample_weight": WEIGHT})
    assert weighted != cost and np.isclose(weighted, cost, rtol=0.2)


def test_transfer_and_capacity_find_the_number_of_clusters():
    offered = [1, 2, 3, 4, 5]
    weight = {"sample_weight": np.ones(N_OBJECTS)}
    options = {"random_state": 0, "progress": False, "n_repeats": 5}
    found = gc.select_by_transfer_cost(
        MODEL, lambda rng: (counts(rng), counts(rng)), offered, mapping="identity", **options
    )
    assert found.n_clusters == found.one_standard_error == 3 and found.costs.shape == (5, 5)
    halves = gc.select_by_transfer_cost(MODEL, X1, offered, mapping="soft", per_object=weight, **options)
    assert halves.n_clusters == halves.one_standard_error == 3
    chosen = gc.select_n_clusters(MODEL, X1, X2, offered, per_object=weight, progress=False)
    assert chosen.n_clusters == 3 and chosen.capacities[2] == pytest.approx(np.log2(3), abs=0.05)
    assert chosen.capacities[0] == 0
    paired = gc.select_n_clusters(MODEL, X1, X2, [3], paired_start=True, progress=False)
    assert paired.capacities[0] == pytest.approx(chosen.capacities[2], abs=0.02)


def test_stability():
    weight = {"sample_weight": WEIGHT}
    values = [
        gc.instability(clone(MODEL).set_params(n_clusters=k), X1, n_repeats=4, per_object=weight, random_state=0).value
        for k in (2, 3, 5)
    ]
    assert values[1] < 0.05 < min(values[0], values[2])
    assert gc.instability(MODEL, X1, X2, random_state=0).value < 0.05


def test_nulls_and_comparison(tmp_path):
    views, weight = gc.replicates(X1, X2), {"sample_weight": WEIGHT}
    options = {"progress": False, "folder": tmp_path, "per_object": weight, "random_state": 0}
    null = gc.capacity_null(MODEL, views, [2, 3], n_repeats=4, **options)
    assert null.observed[1] == pytest.approx(np.log2(3), abs=0.05) and null.p_value_max == pytest.approx(0.2)
    assert null.excess[1] > 0.5
    kept = sorted(tmp_path.iterdir())
    again = gc.capacity_null(MODEL, views, [2, 3], n_repeats=4, **options)
    np.testing.assert_array_equal(again.null, null.null)
    assert len(kept) == 10 and sorted(tmp_path.iterdir()) == kept, "what is kept is found again"
    models = {"counts": (MODEL, {"random_state": [0, 1]}), "k-means": gc.AnnealedKMeans(random_state=0)}
    found = gc.compare_models(models, views, [2, 3], null="permuted", progress=False).ranking()
    assert found.model.iloc[0] == "counts" and found.n_clusters.iloc[0] == 3 and found.excess.iloc[0] > 0.5
    assert gc.evaluate(MODEL, (X1, X2), per_object=weight).n_effective == 3


def test_the_temperature_explorer_shows_it():
    def run(n_clusters):
        first, second = (clone(MODEL).set_params(n_clusters=n_clusters).anneal(X) for X in (X1, X2))
        return first, gc.generalization_capacity(first, second)

    explorer = gc.widgets.ClusterCountExplorer(run, [2, 3], X1)
    explorer.select(n_clusters=1, temperature=29)
    assert "3 distinct clusters of 3 offered" in explorer.text.value and bytes(explorer.picture.value).startswith(
        b"\x89PNG"
    )
    assert "first split" in explorer.text.value
    gc.widgets.TemperatureExplorer(run(3))
