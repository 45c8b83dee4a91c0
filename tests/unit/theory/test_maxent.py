"""Gibbs distribution, walks and a partition function against enumeration and closed forms."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import assignments, boltzmann
from scipy.special import logsumexp

import gencap as gc
from gencap.theory import maxent

ENERGIES = np.array([0.3, -1.0, 2.0, 0.9, 0.0])


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 8), st.floats(0.01, 50), st.integers(0, 10**6))
def test_the_functional_is_free_energy_and_divergence(n, beta, seed):
    rng = np.random.default_rng(seed)
    energies, p = 3 * rng.standard_normal(n), rng.dirichlet(np.ones(n))
    best, F = maxent.gibbs_distribution(energies, beta), maxent.free_energy(energies, beta)
    np.testing.assert_allclose(best, boltzmann(energies, beta), atol=1e-12)
    assert maxent.gibbs_functional(best, energies, beta) == pytest.approx(F, abs=1e-9)
    divergence = sum(a * (np.log(a) + beta * (e - F)) for a, e in zip(p, energies, strict=True) if a > 0)
    assert maxent.gibbs_functional(p, energies, beta) == pytest.approx(F + divergence / beta, abs=1e-8)
    assert divergence >= -1e-9 and F <= energies.min() + 1e-12


def test_free_energy_has_mean_cost_and_entropy_as_derivatives():
    beta, step = 1.3, 1e-5
    p = maxent.gibbs_distribution(ENERGIES, beta)
    slope = [b * maxent.free_energy(ENERGIES, b) for b in (beta - step, beta + step)]
    assert np.diff(slope)[0] / (2 * step) == pytest.approx(p @ ENERGIES, abs=1e-8)
    low, high = (maxent.free_energy(ENERGIES, b) for b in (beta - step, beta + step))
    assert beta**2 * (high - low) / (2 * step) == pytest.approx(-(p * np.log(p)).sum(), abs=1e-6)


def test_walks_keep_the_gibbs_distribution_and_a_wrong_rule_does_not():
    rng, beta = np.random.default_rng(0), 1.1
    gibbs = maxent.gibbs_distribution(ENERGIES, beta)
    lopsided = rng.dirichlet(np.ones(5), size=5)
    lopsided[0, 3] = 0.0  # one way only: never taken
    lopsided /= lopsided.sum(axis=1, keepdims=True)
    symmetric = np.full((5, 5), 0.2)
    for proposal, hastings in ((symmetric, True), (symmetric, False), (lopsided, True)):
        P = maxent.metropolis_matrix(ENERGIES, beta, proposal, hastings=hastings)
        flow = gibbs[:, None] * P
        assert (P >= 0).all()
        np.testing.assert_allclose(P.sum(axis=1), 1, atol=1e-12)
        np.testing.assert_allclose(flow, flow.T, atol=1e-12)
        np.testing.assert_allclose(gibbs @ P, gibbs, atol=1e-12)
    P = maxent.metropolis_matrix(ENERGIES, beta, lopsided, hastings=False)
    assert np.abs(gibbs @ P - gibbs).max() > 1e-3
    by_hand = [[q * min(1, np.exp(-beta * (f - e))) for q, f in zip(row, ENERGIES, strict=True)]
               for row, e in zip(lopsided, ENERGIES, strict=True)]  # fmt: skip
    off = ~np.eye(5, dtype=bool)
    np.testing.assert_allclose(P[off], np.array(by_hand)[off], atol=1e-12)


@pytest.mark.parametrize("n_objects, n_clusters, n_features", [(6, 2, 2), (4, 3, 1), (5, 2, 1), (4, 1, 3), (4, 3, 2)])
def test_partition_function_of_angles_is_the_sum_over_all_assignments(n_objects, n_clusters, n_features):
    X = np.random.default_rng(n_objects).standard_normal((n_objects, n_features))
    model = gc.LeastAngleClustering(n_clusters)
    costs = np.array([model.cost(labels, X) for labels in assignments(n_objects, n_clusters)])
    nodes, precision = (10, 1e-6) if n_clusters * n_features > 4 else (24, 1e-9)
    for beta in (0.3, 1.0, 2.0):
        found = maxent.least_angle_log_partition(X, n_clusters, beta, n_nodes=nodes)
        assert found == pytest.approx(logsumexp(-beta * costs), abs=precision)
        printed = found - 1.5 * beta - n_clusters * n_features / 2 * np.log(2)  # only the constants before the integral
        assert abs(printed - logsumexp(-beta * costs)) > 0.1


BAD = {
    "energies": (maxent.gibbs_distribution, ([[1.0]], 1.0), "energies must be finite, non-empty and 1-D"),
    "infinite": (maxent.free_energy, ([np.inf], 1.0), "energies must be finite"),
    "beta": (maxent.free_energy, ([1.0], 0.0), "beta=0.0"),
    "hot": (maxent.gibbs_functional, ([1.0], [1.0], -1.0), "beta=-1.0"),
    "p": (maxent.gibbs_functional, ([0.5, 0.4], [1.0, 2.0], 1.0), "p must hold probabilities"),
    "length": (maxent.gibbs_functional, ([1.0], [1.0, 2.0], 1.0), "p has shape"),
    "proposal": (maxent.metropolis_matrix, ([1.0, 2.0], 1.0, [[1, 0], [0.5, 0.4]]), "proposal of shape"),
    "square": (maxent.metropolis_matrix, ([1.0, 2.0], 1.0, [[1, 0]]), "proposal of shape"),
    "zero": (maxent.least_angle_log_partition, ([[0.0, 0.0]], 2, 1.0), "X has the vector 0 as object 0"),
    "rule": (maxent.least_angle_log_partition, (np.eye(6), 4, 1.0), "n_nodes=16 in 24 directions"),
    "clusters": (maxent.least_angle_log_partition, (np.eye(2), 0, 1.0), "n_clusters=0"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_named(case):
    function, arguments, message = BAD[case]
    with pytest.raises(ValueError, match=message):
        function(*arguments)


def test_moves_without_a_way_back_are_not_accepted_however_much_they_gain():
    for fall in (1.0, 1000.0):
        P = maxent.metropolis_matrix([fall, 0.0], 1.0, [[0.5, 0.5], [0.0, 1.0]])
        np.testing.assert_array_equal(P, np.eye(2))


def test_extreme_energies_and_temperatures_are_numbers_or_refused():
    np.testing.assert_array_equal(maxent.gibbs_distribution([1e300, 2e300], 1e300), [1, 0])
    assert maxent.free_energy([1e300, 2e300], 1e300) == 1e300
    with pytest.raises(ValueError, match="beta=1e-320"):
        maxent.free_energy([0.0, 1.0], 1e-320)


def test_a_rule_too_coarse_for_the_cold_is_refused():
    X = [[1.0, 0.2], [0.3, 1.0], [-1.0, 0.4]]
    with pytest.raises(ValueError, match="n_nodes=16 are too few at beta=100"):
        maxent.least_angle_log_partition(X, 2, 100.0)
    with pytest.raises(ValueError, match="1000 objects would hold"):
        maxent.least_angle_log_partition(np.ones((1000, 5)), 1, 1.0)
