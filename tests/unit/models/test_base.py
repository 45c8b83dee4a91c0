"""The contract: what every model gives, tested on all of them at once."""

import warnings

import numpy as np
import pandas as pd
import pytest
from oracles import random_similarity
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.utils import get_tags

import gencap as gc
from gencap.models.base import follow
from gencap.trajectory import Trajectory

RNG = np.random.default_rng(0)
GROUP = np.arange(25) % 3
SIMILARITIES = 0.3 * random_similarity(25, RNG, positive=True, diagonal=False) + 0.5 * (GROUP[:, None] == GROUP)
np.fill_diagonal(SIMILARITIES, 0)
VECTORS = 3 * np.eye(3)[GROUP] + RNG.standard_normal((25, 3))
BITS = np.eye(3, dtype=bool)[GROUP].repeat(4, axis=1) ^ (RNG.random((25, 12)) < 0.05)
QUICK = {"n_init": 1, "random_state": 0}
MODELS = {
    "correlation": (gc.CorrelationClustering(3, shift=-0.4, **QUICK), SIMILARITIES),
    "mincut": (gc.MinCut(3, **QUICK), SIMILARITIES - 0.4 * (1 - np.eye(25))),
    "maxcut": (gc.MaxCut(2, **QUICK), SIMILARITIES),
    "pairwise": (gc.PairwiseClustering(3, **QUICK), SIMILARITIES),
    "embedded": (gc.PairwiseClustering(3, embedding=True, **QUICK), SIMILARITIES),
    "normalized": (gc.NormalizedCut(3, **QUICK), SIMILARITIES),
    "ratio": (gc.AdaptiveRatioCut(3, **QUICK), SIMILARITIES),
    "dominant": (gc.DominantSets(3, max_steps=20), SIMILARITIES),
    "k-means": (gc.AnnealedKMeans(3, **QUICK), VECTORS),
    "roles": (gc.NoisyOrFactorization(3, n_refinements=1, random_state=0), BITS),
}
WITH_COST = [name for name, (model, X) in MODELS.items() if X.shape == (25, 25) and name != "dominant"]


@pytest.fixture(scope="module")
def fitted():
    return {name: clone(model).fit(X) for name, (model, X) in MODELS.items()}


@pytest.mark.parametrize("name", MODELS)
def test_every_model_keeps_the_contract(name, fitted):
    (model, X), fit = MODELS[name], fitted[name]
    assert isinstance(fit, gc.ClusteringModel) and isinstance(fit.trajectory_, Trajectory)
    np.testing.assert_array_equal(fit.labels_, fit.trajectory_.labels())
    assert fit.n_iter_ == fit.trajectory_.n_iter > 0 and fit.n_features_in_ == X.shape[1]
    assert fit.trajectory_.capacity_entropy == model.capacity_entropy
    assert fit.unit(X) == pytest.approx(fit.trajectory_.unit) and fit.unit(X) > 0
    assert fit.cost(fit.labels_, X) == pytest.approx(fit.trajectory_.costs[-1], rel=1e-4)
    tags = get_tags(model).input_tags
    assert tags.pairwise == (X.shape == (25, 25)) == (tags.sparse or name == "embedded")
    assert tags.positive_only == (name in ("normalized", "dominant", "roles"))
    h = fit.potentials(X[:7])
    assert h.shape == (7, fit.trajectory_.n_clusters) and np.isfinite(h.min(axis=1)).all()
    before = dict(vars(fit))
    np.testing.assert_array_equal(fit.coldest_labels(X), fit.labels_)
    assert vars(fit) == before
    with pytest.raises(NotFittedError):
        clone(model).potentials(X[:7])
    with pytest.raises(ValueError, match="features"):
        fit.potentials(X[:7, :2])


@pytest.mark.parametrize("name", WITH_COST)
def test_potentials_are_what_a_new_object_adds_to_the_cost(name, fitted):
    (model, X), fit = MODELS[name], fitted[name]
    for shift in (0.0, 50.0) if name == "pairwise" else (0.0,):
        fit = clone(model).fit(X + shift) if shift else fit
        row = np.random.default_rng(1).random(25) + shift
        more = np.block([[X + shift, row[:, None]], [row[None], np.zeros((1, 1))]])
        costs = np.array([fit.cost(np.append(fit.labels_, k), more) for k in range(model.n_clusters)])
        h = fit.potentials(row[None])[0]
        np.testing.assert_allclose(h - h[0], costs - costs[0], atol=1e-3 * max(shift, 1e-3) ** 0.5)


@pytest.mark.parametrize("name", MODELS)
def test_names_of_rows_and_columns_are_kept(name):
    model, X = MODELS[name]
    rows = [f"object {i}" for i in range(25)]
    columns = rows if X.shape[1] == 25 else [f"feature {j}" for j in range(X.shape[1])]
    fit = clone(model).fit(pd.DataFrame(X, rows, columns))
    assert fit.trajectory_.objects.tolist() == rows and fit.feature_names_in_.tolist() == columns


class Weighted(gc.ClusteringModel):
    """One centre of weighted objects; what a model of one's own must give."""

    n_clusters = 1

    def _exact(self, X):
        return np.asarray(X, float)

    def _unit(self, X):
        return 2.0

    def _labels_cost(self, labels, X):
        return 0.0

    def _anneal(self, X, betas, init, weight=None):
        betas = np.array([1.0, 2.0]) if betas is None else betas
        centre = np.average(X, axis=0, weights=weight)
        settle = lambda t: (((X - centre) ** 2).sum(axis=1, keepdims=True), betas[t] < 2)  # noqa: E731
        run = Trajectory(**follow(betas, settle, lambda labels: 0.0), learned={"centre_": centre})
        return run


def test_per_object_arrays_reach_the_model():
    model, X = Weighted(), np.array([[0.0], [1.0]])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert model.fit(X, weight=[3, 1]).centre_ == 0.25 and model.fit(X).centre_ == 0.5
        assert model.coldest_labels(X, weight=[3, 1]).tolist() == [0, 0] and model.cost([0, 0], X) == 0
        with pytest.raises(ValueError, match="weight has 3 entries, accepted is one for each of the 2 objects"):
            model.fit(X, weight=[3, 1, 1])
        with pytest.raises(TypeError, match="known"):
            model.fit(X, known=[0, 1])
    for call in (model.fit, model.anneal):
        with pytest.warns(ConvergenceWarning, match="Weighted did not settle at 1 of 2 temperatures") as caught:
            call(X)
        assert len(caught) == 1 and caught[0].filename == __file__


def test_the_loop_goes_either_way_and_counts_a_labelling_once():
    betas, visited, asked = np.array([1.0, 2.0, 4.0]), [], []
    h = np.array([[0.0, 1.0], [1.0, 0.0]])

    def settle(t):
        visited.append(t)
        return h, t != 1

    def cost(labels):
        asked.append(labels)
        return 7.0

    for hot_first, order in ((False, [2, 1, 0]), (True, [0, 1, 2])):
        steps = follow(betas, settle, cost, np.float32, hot_first)
        assert visited == order and len(asked) == 1 and steps["converged"].tolist() == [True, False, True]
        assert steps["potentials"].dtype == np.float32 and steps["costs"].tolist() == [7, 7, 7]
        np.testing.assert_allclose(steps["probabilities"][:, 0, 0], 1 / (1 + np.exp(-betas)), rtol=1e-6)
        visited.clear(), asked.clear()


@pytest.mark.parametrize("name", ["correlation", "pairwise", "embedded"])
def test_warnings_point_at_the_line_that_called(name, monkeypatch):
    model, X = MODELS[name]
    monkeypatch.setattr("gencap.models.similarity.DISAGREEMENT", -1.0)  # any two ways of the search disagree
    for call in (clone(model).fit, clone(model).anneal):
        with pytest.warns(gc.RestartWarning, match="best ways of the search") as caught:
            call(X)
        assert [warning.filename for warning in caught] == [__file__]
