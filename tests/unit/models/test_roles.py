"""Noisy-OR roles against loops, enumeration and planted roles."""

import itertools
import pickle

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from gencap import datasets
from gencap.models import roles
from gencap.views.measures import map_rows


def test_label_sets():
    sets = roles.label_sets(5, 2)
    assert sets.shape == (1 + 5 + 10, 5) and sets.sum(axis=1).max() == 2 and not sets[0].any()
    assert len(np.unique(sets, axis=0)) == 16


def test_likelihood_equals_enumeration():
    """Bit by bit, over label sets, noise switches and role switches, without the closed form of the noisy OR."""
    X = np.random.default_rng(0).integers(0, 2, size=(7, 4))
    model = roles.NoisyOrFactorization(3, random_state=0, n_refinements=1).fit(X)
    beta, noise, one = model.off_probabilities_, model.noise_, model.noise_one_
    total = 0.0
    for row in X:
        evidence = 0.0
        for label_set, prior in zip(model.label_sets_, model.label_set_probabilities_, strict=True):
            held = np.flatnonzero(label_set)
            likelihood = 1.0
            for j, bit in enumerate(row):
                p = noise * (one if bit else 1 - one)
                for switches in itertools.product([0, 1], repeat=len(held)):
                    chance = np.prod(
                        [1 - beta[t, j] if on else beta[t, j] for t, on in zip(held, switches, strict=True)]
                    )
                    p += (1 - noise) * chance * (int(any(switches)) == bit)
                likelihood *= p
            evidence += prior * likelihood
        total += np.log(evidence)
    assert model.log_likelihood_ == pytest.approx(total, rel=1e-6)


@pytest.mark.parametrize("temperature", [1.0, 3.0])
def test_em_never_raises_the_free_energy(temperature):
    data = datasets.boolean_roles("pairs", flip=0.1, n_users=80, n_permissions=20, n_roles=4, random_state=1).data
    rng = np.random.default_rng(0)
    sets = roles.label_sets(4, 2)
    state = (rng.uniform(0.2, 0.9, (4, 20)), 0.2, 0.4, np.full(len(sets), 1 / len(sets)))
    energies = []
    for _ in range(60):
        state, energy = roles._em_step(data.astype(float), sets, state, temperature)
        energies.append(energy)
    assert np.diff(energies).max() < 1e-9 and energies[0] - energies[-1] > 0.1


def test_em_step_is_stationary_only_at_the_gradient_zero():
    """Converged parameters are a stationary point of the likelihood (finite differences in beta, noise)."""
    data = datasets.boolean_roles("pairs", flip=0.1, n_users=60, n_permissions=8, n_roles=2, random_state=1)
    strangers = np.random.default_rng(0).random((20, 8)) < 0.15  # what users without a role hold is noise
    X, sets = np.vstack([data.data, strangers]).astype(float), roles.label_sets(2, 2)
    rng = np.random.default_rng(0)
    state = (rng.uniform(0.3, 0.7, (2, 8)), 0.2, 0.4, np.full(4, 0.25))
    for _ in range(5000):
        state, _ = roles._em_step(X, sets, state, 1.0)

    def energy(noise_shift=0.0, beta_shift=0.0, t=0, j=0):
        beta = state[0].copy()
        beta[t, j] += beta_shift
        return roles._em_step(X, sets, (beta, state[1] + noise_shift, *state[2:]), 1.0)[1]

    step = 1e-5
    inner = np.argwhere((state[0] > 0.01) & (state[0] < 0.99))
    assert len(inner)
    for t, j in inner:
        assert abs(energy(0.0, step, t, j) - energy(0.0, -step, t, j)) / (2 * step) < 1e-6
    assert 0.1 < state[1] < 0.3 and abs(energy(step) - energy(-step)) / (2 * step) < 1e-6


@pytest.mark.parametrize("seed", [0, 1])
def test_planted_roles_are_recovered_exactly_without_noise(seed):
    planted = datasets.boolean_roles("pairs", flip=0.0, n_users=300, n_permissions=60, n_roles=6, random_state=seed)
    model = roles.NoisyOrFactorization(6, random_state=0).fit(planted.data)
    distance = (model.components_[:, None] != planted.roles).sum(axis=2)
    found, role = linear_sum_assignment(distance)
    assert distance[found, role].sum() == 0
    np.testing.assert_array_equal(model.assignments_[:, found[np.argsort(role)]], planted.assignments)
    np.testing.assert_array_equal(roles.boolean_product(model.assignments_, model.components_), planted.data)


def test_a_role_holds_what_most_of_its_users_have():
    """Forty users of one role and forty with nothing; 60 % of the forty have permission 4, 40 % permission 5."""
    X = np.zeros((80, 6))
    X[:40, :4] = 1
    X[:24, 4] = X[16:32, 5] = 1
    model = roles.NoisyOrFactorization(1, random_state=0).fit(X)
    assert model.components_.tolist() == [[True] * 5 + [False]]
    np.testing.assert_allclose(model.off_probabilities_[0], [0, 0, 0, 0, 0.4, 0.6], atol=1e-3)


def test_roles_denoise():
    planted = datasets.boolean_roles("pairs", flip=0.05, n_roles=8, random_state=0)
    model = roles.NoisyOrFactorization(8, random_state=0).fit(planted.data)
    wrong = np.mean(roles.boolean_product(model.assignments_, model.components_) != planted.clean)
    assert wrong < 0.005


def test_transfer_cost_of_roles_equals_a_direct_loop():
    planted = datasets.boolean_roles("pairs", flip=0.1, n_users=60, n_permissions=20, n_roles=3, random_state=0)
    train, test = planted.data[:40], planted.data[40:]
    model = roles.NoisyOrFactorization(3, random_state=0).fit(train)
    origin = map_rows(train, test, random_state=1)
    wrong = 0
    for i, row in zip(origin, test, strict=True):
        for j, bit in enumerate(row):
            wrong += bit != any(model.assignments_[i, t] and model.components_[t, j] for t in range(3))
    assert model.transfer_cost(train, test, random_state=1) == pytest.approx(wrong / 20)
    best = [
        min(np.sum(roles.boolean_product([s], model.components_) != row) for s in model.label_sets_) for row in test
    ]
    assert model.transfer_cost(train, test, "components") == pytest.approx(np.mean(best))


def test_estimator_conventions():
    X = datasets.boolean_roles("pairs", flip=0.05, n_users=50, n_permissions=16, n_roles=3, random_state=0).data
    model = roles.NoisyOrFactorization(3, random_state=4)
    first, second = clone(model).fit(X), clone(model).fit(X)
    assert clone(first).get_params() == model.get_params()
    assert first.log_likelihood_ == second.log_likelihood_ and first.n_iter_ > 0 and first.n_features_in_ == 16
    again = pickle.loads(pickle.dumps(first))
    np.testing.assert_array_equal(again.predict(X), first.assignments_)


def test_one_role_and_one_row():
    model = roles.NoisyOrFactorization(1, max_roles=5, random_state=0).fit([[0, 1, 1]])
    assert model.label_sets_.shape == (2, 1) and np.isfinite(model.log_likelihood_)


B = np.eye(6)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: roles.NoisyOrFactorization(7).fit(B), ValueError, "n_components=7.*n_samples=6"),
        (lambda: roles.NoisyOrFactorization(2).fit(B * 2), ValueError, "only 0 and 1, got 2"),
        (lambda: roles.NoisyOrFactorization(2).fit(B * np.nan), ValueError, "NaN"),
        (lambda: roles.NoisyOrFactorization(2).anneal(B, betas=[0.1, 0.5]), ValueError, "betas end at 0.5"),
        (lambda: roles.NoisyOrFactorization(2, cooling=0.9), TypeError, "cooling"),
        (lambda: roles.NoisyOrFactorization(2, max_roles=0).fit(B), ValueError, "max_roles=0"),
        (lambda: roles.NoisyOrFactorization(2, random_state="a").fit(B), TypeError, "random_state='a'"),
        (lambda: roles.NoisyOrFactorization(2).anneal(B, init=1), ValueError, "init must be None"),
        (lambda: roles.NoisyOrFactorization(2).fit(B).transfer_cost(B[:3], B), ValueError, "X1 has 3 rows"),
        (lambda: roles.NoisyOrFactorization(2).fit(B).predict(B[:, :2]), ValueError, "features"),
    ],
)
def test_bad_input_is_named(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_too_many_label_sets_are_refused_before_they_are_made():
    with pytest.raises(ValueError, match="label sets .at most max_roles=30 of 60 roles. would hold"):
        roles.label_sets(60, 30)
    with pytest.raises(ValueError, match="label sets .at most max_roles=12 of 25 roles. would hold"):
        roles.NoisyOrFactorization(25, max_roles=12).fit(np.eye(30))


def test_an_unfitted_model_says_so():
    for call in ("predict", "potentials"):
        with pytest.raises(NotFittedError):
            getattr(roles.NoisyOrFactorization(), call)(np.eye(4))
