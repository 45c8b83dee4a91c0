"""Transfer costs of a run: against the sum they are, and where they must be lowest."""

import numpy as np
import pytest

import gencap as gc


def pair(n_objects=400, seed=0):
    centers = np.array([[0, 0], [4, 0], [0, 4], [4, 4.0]])
    first, second, _ = gc.datasets.paired_gaussian_sources(n_objects, centers, random_state=seed)
    return first, second


def test_costs_are_the_mean_over_objects_and_clusters():
    X1, X2 = pair(40)
    run = gc.AnnealedKMeans(3, random_state=0).anneal(X1)
    costs = gc.transfer_costs(run, X2)
    assert costs.shape == (run.n_steps,)
    for t in (0, 15, -1):
        wanted = 0.0
        for i in range(40):
            for k in range(3):
                wanted += run.probabilities[t, i, k] * ((X2[i] - run.centroids[t, k]) ** 2).sum() / 40
        assert costs[t] == pytest.approx(wanted, rel=1e-12)


def test_hottest_cost_is_the_variance_and_the_best_step_generalises():
    X1, X2 = pair(2000)
    run = gc.AnnealedKMeans(12, random_state=0).anneal(X1)
    costs = gc.transfer_costs(run, X2)
    assert costs[0] == pytest.approx(((X2 - X1.mean(axis=0)) ** 2).sum(axis=1).mean(), rel=0.02)
    # On data set 1 the mean cost keeps falling as the clusters divide noise; on data set 2 it does not.
    training = np.array([(P * h).sum() / len(X1) for P, h in zip(run.probabilities, run.potentials, strict=True)])
    assert training.argmin() == len(costs) - 1
    assert costs.argmin() < len(costs) - 5
    assert 4 <= run.n_effective(int(costs.argmin())) < run.n_effective(-1) == 12


def test_names_of_clusters_do_not_matter():
    X1, X2 = pair(60)
    run = gc.AnnealedKMeans(4, random_state=0).anneal(X1)
    costs = gc.transfer_costs(run, X2)
    order = [2, 0, 3, 1]
    renamed = gc.Trajectory(run.betas, run.probabilities[:, :, order], None, run.costs, run.centroids[:, order])
    np.testing.assert_allclose(gc.transfer_costs(renamed, X2), costs, rtol=1e-12)


def test_moving_or_scaling_both_sets():
    X1, X2 = pair(60)
    model = gc.AnnealedKMeans(3, random_state=0)
    costs = gc.transfer_costs(model.anneal(X1), X2)
    moved = gc.transfer_costs(model.anneal(X1 + 10), X2 + 10)
    scaled = gc.transfer_costs(model.anneal(3 * X1), 3 * X2)
    np.testing.assert_allclose(moved, costs, rtol=1e-6)
    np.testing.assert_allclose(scaled, 9 * costs, rtol=1e-6)


def test_bad_input_is_named():
    X1, X2 = pair(40)
    run = gc.AnnealedKMeans(3, random_state=0).anneal(X1)
    for bad in (X2[:39], X2[:, :1], np.where(X2 == X2[3, 0], np.nan, X2), X2[:, 0]):
        with pytest.raises(ValueError, match="X2"):
            gc.transfer_costs(run, bad)
    with pytest.raises(TypeError, match="trajectory"):
        gc.transfer_costs(X1, X2)
    run.centroids = None
    with pytest.raises(TypeError, match="trajectory is Trajectory without centroids"):
        gc.transfer_costs(run, X2)
