"""Selecting the number of clusters: by hand-made capacities, on planted structure, and independent of workers."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal
from sklearn.base import BaseEstimator
from sklearn.mixture import GaussianMixture

import gencap as gc
from gencap.annealing import Trajectory


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
    monkeypatch.setattr("gencap.selection.clone", lambda model: Staged(calls=calls))
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
    with pytest.raises(TypeError, match=r"n_clusters=3 must be an iterable of integers, such as range"):
        gc.select_n_clusters(gc.MinCut(), X, X, 3, progress=False)
    with pytest.raises(ValueError, match=r"X2 has shape \(5, 5\), accepted are the same objects as in X1, \(6, 6\)"):
        gc.select_n_clusters(gc.MinCut(), X, X[:5, :5], [2], progress=False)
    with pytest.raises(TypeError, match="random_state='a'"):
        gc.instability(gc.MinCut(), X, random_state="a")
