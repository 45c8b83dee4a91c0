"""Rate-distortion functions against closed forms, and the information plane against sums over joint tables."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import mutual_info_score

import gencap as gc


def h(p):
    return gc.trajectory.entropy_bits(np.stack([p, 1 - np.asarray(p)], axis=-1))


@settings(max_examples=30, deadline=None)
@given(st.floats(0.02, 0.5), st.floats(0.6, 8))
def test_a_bernoulli_source_has_the_rate_h_p_minus_h_d(p, beta):
    found = gc.rate_distortion([p, 1 - p], 1 - np.eye(2), [beta])
    D = found.distortions[0]
    assert found.rates[0] == pytest.approx(h(p) - h(D) if D < p - 1e-6 else 0.0, abs=1e-4)
    if D < p - 1e-3:  # the slope of h at D is beta
        assert np.log((1 - D) / D) == pytest.approx(beta, rel=1e-3)


def test_a_uniform_source_of_many_letters():
    """R(D) = log K - h(D) - D log(K - 1) for equal letters and Hamming distortion."""
    K = 5
    found = gc.rate_distortion(np.full(K, 1 / K), 1 - np.eye(K), [2.0, 3.0, 5.0])
    D = found.distortions
    np.testing.assert_allclose(found.rates, np.log2(K) - h(D) - D * np.log2(K - 1), atol=1e-8)
    assert found.converged.all() and (np.diff(found.rates) > 0).all() and (np.diff(D) < 0).all()
    np.testing.assert_allclose(found.conditionals.sum(axis=2), 1)


def test_no_other_description_is_cheaper():
    rng = np.random.default_rng(0)
    p, d, beta = rng.dirichlet(np.ones(4)), rng.random((4, 3)), 4.0
    found = gc.rate_distortion(p, d, [beta])

    def lagrangian(P):
        q = p @ P
        return (p[:, None] * P * (np.log(P / q) + beta * d)).sum()

    best = lagrangian(found.conditionals[0])
    for _ in range(300):
        assert lagrangian(0.9 * found.conditionals[0] + 0.1 * rng.dirichlet(np.ones(3), 4)) >= best - 1e-9


def test_letters_that_nobody_wants_lose_their_share():
    found = gc.rate_distortion([0.5, 0.5], [[0, 1, 2], [1, 0, 2]], [3.0])
    assert found.conditionals[0][:, 2].max() < 1e-6


def test_a_limit_of_iterations_is_told():
    assert not gc.rate_distortion([0.3, 0.7], 1 - np.eye(2), [1.0], max_iter=2).converged[0]


def test_the_plane_of_hard_clusters_is_that_of_tables():
    rng = np.random.default_rng(1)
    labels, features = rng.integers(3, size=40), rng.integers(4, size=40)
    X = np.eye(4)[features]
    run = gc.Trajectory([1.0], [np.eye(3)[labels]], None, [0.0])
    cost, kept, everything = gc.information_plane(run, X)
    assert kept[0] == pytest.approx(mutual_info_score(labels, features) / np.log(2))
    assert cost[0] == pytest.approx(run.entropy()) and everything == pytest.approx(
        mutual_info_score(features, features) / np.log(2)
    )


def test_a_bottleneck_stays_below_its_bounds():
    """I(C;Y) <= min(I(X;C), I(X;Y)), and both rise along the run."""
    X = np.random.default_rng(2).integers(1, 20, (40, 6))
    cost, kept, everything = gc.information_plane(gc.InformationBottleneck(5, random_state=0).anneal(X), X)
    assert (kept <= np.minimum(cost, everything) + 1e-9).all()
    assert (np.diff(kept) > -0.02).all() and kept[-1] > 0.5 * everything


WRONG = [
    ({"p": [0.5, 0.6]}, "p must hold probabilities"),
    ({"p": [1.5, -0.5]}, "p must hold probabilities"),
    ({"distortion": [[0, 1]]}, r"distortion of shape \(1, 2\)"),
    ({"distortion": [[0, -1], [1, 0]]}, "distortion of shape"),
    ({"betas": [2.0, 1.0]}, "betas must ascend"),
    ({"tol": -1}, "tol=-1"),
    ({"max_iter": 0}, "max_iter=0"),
]


@pytest.mark.parametrize(("wrong", "message"), WRONG)
def test_wrong_arguments_are_named(wrong, message):
    words = {"p": [0.5, 0.5], "distortion": [[0, 1], [1, 0]], "betas": [1.0]} | wrong
    with pytest.raises(ValueError, match=message):
        gc.rate_distortion(words.pop("p"), words.pop("distortion"), words.pop("betas"), **words)


def test_a_plane_of_other_data_is_refused():
    run = gc.Trajectory([1.0], [np.eye(3)], None, [0.0])
    for X in (np.ones((2, 2)), -np.ones((3, 2)), np.zeros((3, 2)), np.ones(3)):
        with pytest.raises(ValueError, match="X of shape .* must hold counts >= 0 of 3 objects"):
            gc.information_plane(run, X)
