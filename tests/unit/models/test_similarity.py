"""Sweep kernels against the plug-in cost, plain loops and enumeration; the state that similarity models share."""

import ast
import shutil
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from numba import vectorize
from oracles import (
    assignments,
    boltzmann,
    coclustering,
    expected_potentials,
    hardened_costs,
    plain_sweep,
    plug_in_cost,
    random_similarity,
    valley,
)
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

import gencap as gc
from gencap.kernels import kmeans
from gencap.kernels import similarity as kernels
from gencap.kernels.similarity import ASSOCIATION, GIBBS, MEANFIELD, METROPOLIS, QUADRATIC, RATIO
from gencap.models.similarity import Rule, State
from gencap.models.spectrum import temperature_unit, top_eigenvalue

RULES = [
    Rule(QUADRATIC),
    Rule(QUADRATIC, shift=-0.7, scale=-1.0),
    Rule(ASSOCIATION),
    Rule(ASSOCIATION, scale=0.5),  # counts the diagonal
    Rule(RATIO, p=1.0),
    Rule(RATIO, p=1.3),
    Rule(RATIO, p=2.0),
]
IDS = [f"{('quadratic', 'association', 'ratio')[r.kind]}-{n}" for n, r in enumerate(RULES)]


def random_state(rule, n_clusters, n_objects=11, seed=0, sparse=False):
    """A State at random soft assignments, with the matrix and weights it is made of."""
    rng = np.random.default_rng(seed)
    X = random_similarity(n_objects, rng, positive=rule.kind == RATIO, diagonal=rule == RULES[3])
    weights = rng.random(n_objects) + 0.5 if rule.kind == ASSOCIATION else np.ones(n_objects)
    state = State(scipy.sparse.csr_array(X) if sparse else X, rule, weights, n_clusters, np.random.default_rng(seed))
    Q = rng.dirichlet(np.ones(n_clusters), n_objects)
    state.start(Q)
    return state, Q, X, weights


def probabilities(state):
    return state.Q.copy() if state.sparse else state.Q.T.copy()


@pytest.mark.parametrize("n_clusters", [2, 3, 4])
@pytest.mark.parametrize("rule", RULES, ids=IDS)
@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "sparse"])
def test_potentials_are_the_cost_with_one_row_hardened(rule, n_clusters, sparse):
    state, Q, X, weights = random_state(rule, n_clusters, sparse=sparse)
    h = state.potentials(1.0)
    for i in range(len(Q)):
        wanted = hardened_costs(Q, i, X, rule, weights)
        np.testing.assert_allclose(h[i] - h[i, 0], wanted - wanted[0], atol=1e-12)
    np.testing.assert_array_equal(probabilities(state), Q)


def test_potentials_where_a_cluster_is_empty():
    for rule in RULES:
        _, _, X, weights = random_state(rule, 3)
        labels = np.array([0, 1, 1, 0, 0, 1, 1, 1, 0, 1, 0])
        state = State(X, rule, weights, 3, np.random.default_rng(0))
        state.start_labels(labels)
        h = state.potentials(1.0)
        for i in range(len(X)):
            wanted = hardened_costs(np.eye(3)[labels], i, X, rule, weights)
            np.testing.assert_allclose(h[i] - h[i, 0], wanted - wanted[0], atol=1e-12)


@pytest.mark.parametrize("rule", RULES, ids=IDS)
@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "sparse"])
def test_sweeps_follow_the_plain_loop(rule, sparse):
    state, Q, X, weights = random_state(rule, 3, seed=1, sparse=sparse)
    orders = np.random.default_rng(1)
    for _ in range(4):
        moved = state.sweep(MEANFIELD, 0.8)
        before, Q = Q, plain_sweep(Q, orders.permutation(len(Q)), 0.8, X, rule, weights)
        np.testing.assert_allclose(probabilities(state), Q, atol=1e-12)
        assert moved == pytest.approx(np.abs(Q - before).max(axis=1).mean(), abs=1e-12)


@pytest.mark.parametrize("n_clusters", [1, 2, 3, 5, 6, 7, 10, 12])
@pytest.mark.parametrize("n_objects", [8, 23])
def test_blocked_sweep_follows_the_plain_loop(n_clusters, n_objects):
    rule = RULES[1]
    state, Q, X, weights = random_state(rule, n_clusters, n_objects, seed=2)
    orders = np.random.default_rng(2)
    for _ in range(2):
        moved = state.fresh_sweep(0.3)
        before, Q = Q, plain_sweep(Q, orders.permutation(n_objects), 0.3, X, rule, weights)
        np.testing.assert_allclose(state.Q.T, Q, atol=1e-6 if X.dtype == np.float32 else 1e-12)
        assert moved == pytest.approx(np.abs(Q - before).max(axis=1).mean(), abs=1e-12)
        np.testing.assert_allclose(state.size, Q.sum(axis=0), atol=1e-12)
    assert not state.padded[n_clusters:].any()


@pytest.mark.parametrize("n_clusters", range(1, 14))
@pytest.mark.parametrize("n_objects", [8, 24, 25, 27])
def test_blocked_fields_are_the_product(n_clusters, n_objects):
    state, Q, X, _ = random_state(Rule(QUADRATIC), n_clusters, n_objects, seed=20)
    np.testing.assert_allclose(state.F, Q.T @ X, atol=1e-12)


def test_blocked_and_stored_sweeps_in_single_precision():
    rng = np.random.default_rng(3)
    X = random_similarity(130, rng, dtype=np.float32, diagonal=False)
    Q = rng.dirichlet(np.ones(10), 130)
    states = [State(X, Rule(QUADRATIC, shift=0.1), np.ones(130), 10, np.random.default_rng(4)) for _ in range(2)]
    for state in states:
        state.start(Q)
    for _ in range(60):
        states[0].fresh_sweep(0.1)
        states[1].sweep(MEANFIELD, 0.1)
    assert states[0].Q.dtype == np.float32
    np.testing.assert_allclose(states[0].Q, states[1].Q, atol=1e-5)


@pytest.mark.parametrize("rule", RULES, ids=IDS)
@pytest.mark.parametrize("mode", [GIBBS, METROPOLIS], ids=["gibbs", "metropolis"])
def test_samplers_draw_alike_on_dense_and_sparse(rule, mode):
    dense, _, _, _ = random_state(rule, 4, seed=5)
    sparse, _, _, _ = random_state(rule, 4, seed=5, sparse=True)
    for state in (dense, sparse):
        state.start_labels(np.arange(11) % 4)
    for _ in range(5):
        dense.sweep(mode, 0.7)
        sparse.sweep(mode, 0.7)
        assert (dense.labels() == sparse.labels()).all()
        assert (probabilities(dense).max(axis=1) == 1).all()


@pytest.mark.parametrize("rule", RULES, ids=IDS)
def test_fields_and_books_do_not_drift(rule):
    state, _, X, weights = random_state(rule, 3, n_objects=40, seed=6)
    for mode in (MEANFIELD, GIBBS, METROPOLIS):
        for _ in range(50):
            state.sweep(mode, 0.5)
    stored = state.F.copy(), state.size.copy(), np.triu(state.links)
    state.refresh()
    exact = state.F, state.size, np.triu(state.links)
    for kept, fresh in zip(stored, exact, strict=True):
        if rule.kind == ASSOCIATION and kept.shape == (3, 3):
            kept, fresh = np.diag(kept), np.diag(fresh)
        elif rule.kind == RATIO and kept.shape == (3, 3):
            kept, fresh = np.triu(kept, 1), np.triu(fresh, 1)
        np.testing.assert_allclose(kept, fresh, atol=1e-10)


def test_single_precision_fields_stay_close_over_a_long_run():
    X = random_similarity(200, np.random.default_rng(7), dtype=np.float32, diagonal=False)
    state = State(X, Rule(QUADRATIC), np.ones(200), 5, np.random.default_rng(7))
    state.start_labels(np.arange(200) % 5)
    for _ in range(100):
        state.sweep(GIBBS, 0.05)
    kept = state.F.copy()
    state.refresh()
    assert np.abs(kept - state.F).max() < 1e-3 * np.abs(state.F).max()


def test_a_row_that_moves_less_than_skip_stays():
    state, Q, _, _ = random_state(RULES[0], 3)
    assert state.sweep(MEANFIELD, 0.4, skip=np.inf) == 0
    np.testing.assert_array_equal(probabilities(state), Q)
    state.sweep(MEANFIELD, 0.4, skip=0.2)
    changes = np.abs(probabilities(state) - Q).max(axis=1)
    assert (changes == 0).any() and (changes > 0.2).any() and not ((changes > 0) & (changes <= 0.2)).any()


def test_floor_holds_in_mean_field():
    state, _, _, _ = random_state(Rule(ASSOCIATION, floor=0.01), 3)
    state.sweep(MEANFIELD, 50.0)
    assert probabilities(state).min() >= 0.01 / 1.03
    np.testing.assert_allclose(probabilities(state).sum(axis=1), 1, atol=1e-12)


def visit_first(state, mode, beta):
    """A sweep over object 0 only."""
    r = state.rule
    kernels.incremental_sweep(
        state.X, state.diagonal, state.Q, state.F, np.array([0]), r.kind, mode, beta, r.shift, r.p, r.scale, r.floor,
        0.0, state.weights, state.size, state.count, state.links, np.empty((0, 0)), state.rng.random(2),
    )  # fmt: skip


@pytest.mark.parametrize("rule", [RULES[1], RULES[3], RULES[5]], ids=["quadratic", "association", "ratio"])
def test_gibbs_draws_from_the_conditional_distribution(rule):
    state, _, X, weights = random_state(rule, 3, n_objects=7, seed=8)
    labels = np.array([0, 1, 2, 2, 1, 0, 1])
    state.start_labels(labels)
    beta = 0.9
    wanted = boltzmann(hardened_costs(np.eye(3)[labels], 0, X, rule, weights), beta)
    counts = np.zeros(3)
    for _ in range(4000):
        visit_first(state, GIBBS, beta)
        counts[state.labels()[0]] += 1
    assert (np.delete(state.labels(), 0) == labels[1:]).all()
    np.testing.assert_allclose(counts / 4000, wanted, atol=4 * np.sqrt(0.25 / 4000))


@pytest.mark.parametrize("rule", [RULES[1], RULES[3], RULES[5]], ids=["quadratic", "association", "ratio"])
def test_metropolis_moves_with_the_metropolis_probabilities(rule):
    state, _, X, weights = random_state(rule, 3, n_objects=7, seed=8)
    labels = np.array([0, 1, 2, 2, 1, 0, 1])
    state.start_labels(labels)
    beta = 0.9
    costs = hardened_costs(np.eye(3)[labels], 0, X, rule, weights)
    accepted = np.minimum(1, np.exp(-beta * (costs[None, :] - costs[:, None]))) / 3
    np.fill_diagonal(accepted, 0)
    np.fill_diagonal(accepted, 1 - accepted.sum(axis=1))
    counts = np.zeros((3, 3))
    for _ in range(6000):
        before = state.labels()[0]
        visit_first(state, METROPOLIS, beta)
        counts[before, state.labels()[0]] += 1
    visits = counts.sum(axis=1, keepdims=True)
    assert (np.abs(counts / visits - accepted) < 4.5 * np.sqrt(0.25 / visits)).all()


@pytest.mark.parametrize("n_clusters", [2, 3])
def test_gibbs_samples_the_boltzmann_distribution(n_clusters):
    X = random_similarity(8, np.random.default_rng(10), diagonal=False)
    labelings = assignments(8, n_clusters)
    same = labelings[:, :, None] == labelings[:, None, :]
    costs = -(np.triu(X, 1) * same).sum(axis=(1, 2))
    state = State(X, Rule(QUADRATIC), np.ones(8), n_clusters, np.random.default_rng(11))
    state.start_labels(np.arange(8) % n_clusters)
    visited = np.empty((30000, 8), int)
    for labels in visited:
        state.sweep(GIBBS, 0.4)
        labels[:] = state.labels()
    obtained = coclustering(visited, np.ones(len(visited)))
    assert np.abs(obtained - coclustering(labelings, boltzmann(costs, 0.4))).max() < 0.01


@pytest.mark.parametrize("mode", [GIBBS, METROPOLIS], ids=["gibbs", "metropolis"])
def test_samplers_average_the_potentials_of_the_boltzmann_distribution(mode):
    _, _, X, weights = random_state(RULES[3], 2, n_objects=6, seed=21)
    labelings = assignments(6, 2)
    hard = np.eye(2)[labelings]
    share = boltzmann(np.array([plug_in_cost(Q, X, RULES[3], weights) for Q in hard]), 0.7)
    wanted = np.zeros((6, 2))
    for Q, p in zip(hard, share, strict=True):
        for i in range(6):
            without = np.where(np.arange(6)[:, None] == i, 0.0, Q)
            wanted[i] += p * (hardened_costs(Q, i, X, RULES[3], weights) - plug_in_cost(without, X, RULES[3], weights))
    state = State(X, RULES[3], weights, 2, np.random.default_rng(22))
    state.start_labels(np.arange(6) % 2)
    np.testing.assert_allclose(state.sample(mode, 0.7, 6000), wanted, atol=0.03)


@pytest.mark.parametrize("mode", [GIBBS, METROPOLIS], ids=["gibbs", "metropolis"])
def test_samplers_settle_before_they_average(mode):
    # So hot that one or two sweeps forget the start, in which every object is in cluster 0.
    X = 1.0 - np.eye(20)
    state = State(X, Rule(QUADRATIC), np.ones(20), 2, np.random.default_rng(23))
    difference = np.zeros(300)
    for n in range(300):
        state.start_labels(np.zeros(20, int))
        h = state.sample(mode, 1e-9, 30)
        difference[n] = (h[:, 0] - h[:, 1]).mean()
    assert abs(difference.mean()) < 4 * difference.std() / np.sqrt(300)


@pytest.mark.parametrize("p", [1.0, 1.05, 1.5, 2.0])
def test_ratio_factor(p):
    for a, b in [(1.0, 1.0), (3.0, 5.0), (1e-8, 700.0), (400.0, 0.5)]:
        if p == 1:
            wanted = 1 / min(a, b)
        else:
            e = 1 / (p - 1)
            wanted = np.exp((p - 1) * np.logaddexp(-e * np.log(a), -e * np.log(b)))
        assert kernels.ratio_factor(a, b, p) == pytest.approx(wanted, rel=1e-12)


def test_links_between_clusters_and_positive_pairs():
    rng = np.random.default_rng(12)
    X, labels = random_similarity(30, rng), rng.integers(4, size=30)
    Z = np.eye(4)[labels]
    np.testing.assert_allclose(kernels.cluster_links(X, labels, 4), Z.T @ X @ Z, atol=1e-12)
    assert kernels.positive_pairs(X, 0.3) == pytest.approx(np.triu(np.maximum(X + 0.3, 0), 1).sum(), rel=1e-12)


@pytest.mark.parametrize("n_objects", [1, 2, 20, 90])
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_top_eigenvalue(n_objects, sign):
    X = random_similarity(n_objects, np.random.default_rng(13))
    bare = sign * (X - np.diag(np.diag(X)))
    wanted = np.linalg.eigvalsh(bare)[-1]
    assert top_eigenvalue(X, sign=sign) == pytest.approx(wanted, rel=1e-4, abs=1e-12)
    assert top_eigenvalue(scipy.sparse.csr_array(X), sign=sign) == pytest.approx(wanted, rel=1e-4, abs=1e-12)
    mean = np.full((n_objects, n_objects), 1 / n_objects)
    wanted = np.linalg.eigvalsh(bare - 3 * mean)[-1]
    assert top_eigenvalue(X, lambda v: -3 * mean @ v, sign) == pytest.approx(wanted, rel=1e-4, abs=1e-12)


MODELS = {
    "correlation": gc.CorrelationClustering(3),
    "mincut": gc.MinCut(5),
    "maxcut": gc.MaxCut(2),
    "pairwise": gc.PairwiseClustering(3),
    "normalized": gc.NormalizedCut(2),
    "ratio": gc.AdaptiveRatioCut(3),
    "dominant": gc.DominantSets(2),
}
UNSEEN = [name for name in MODELS if name != "pairwise"]  # models that do not count the diagonal


def groups(n_objects=24, n_groups=3, seed=4, dtype=np.float64):
    """Positive similarities of blurred groups, the diagonal zero."""
    rng = np.random.default_rng(seed)
    X = 0.3 * random_similarity(n_objects, rng, positive=True, diagonal=False)
    labels = np.arange(n_objects) % n_groups
    X += 0.6 * (labels[:, None] == labels)
    np.fill_diagonal(X, 0)
    return X.astype(dtype)


def annealed(name, X, **parameters):
    model = clone(MODELS[name]).set_params(**parameters)
    return (model if name == "dominant" else model.set_params(random_state=0)).anneal(X)


@given(
    st.sampled_from(list(MODELS)),
    st.sampled_from([2, 3, 5, 7]),
    st.integers(-96, 98) | st.sampled_from([-96, 97, 98]),
    st.booleans(),
)
@settings(max_examples=20, deadline=None)
def test_the_scale_of_the_similarities_changes_nothing(name, n_clusters, exponent, sparse):
    # Powers of 2, so that the numbers differ in their exponents only; 2^99 is 6e29.
    form, X = scipy.sparse.csr_array if sparse else np.asarray, groups(21)
    first = annealed(name, form(X), n_clusters=n_clusters)
    second = annealed(name, form(X * 2.0**exponent), n_clusters=n_clusters)
    np.testing.assert_allclose(second.probabilities, first.probabilities, atol=1e-4)


@pytest.mark.parametrize("form", [np.asarray, scipy.sparse.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize("name", UNSEEN)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_the_diagonal_is_not_seen(name, form, dtype):
    X = groups(dtype=dtype)
    run, model = annealed(name, form(X)), clone(MODELS[name])
    # 1/(D + e) has 1/e there; sums with it would have no digits left for the others.
    for diagonal in (1.0, 1e9, -1e15, 1e30, 1e300 if dtype == np.float64 else 1e38):
        given = X.copy()
        np.fill_diagonal(given, diagonal)
        before = given.copy()
        other = annealed(name, form(given))
        # Sparse sums with a stored zero more are grouped in another way.
        exact = {"rtol": 0, "atol": 0} if form is np.asarray else {"rtol": 1e-6, "atol": 1e-3}
        assert other.unit == pytest.approx(run.unit, rel=1e-6)
        np.testing.assert_allclose(other.probabilities, run.probabilities, **exact)
        np.testing.assert_allclose(other.costs, run.costs, **exact)
        assert model.cost(run.labels(), form(given)) == pytest.approx(model.cost(run.labels(), form(X)), rel=1e-12)
        np.testing.assert_array_equal(given, before)


@pytest.mark.parametrize("form", [np.asarray, scipy.sparse.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize("name", MODELS)
def test_no_diagonal_and_no_constant_hides_an_asymmetry(name, form):
    X = groups()
    X[0, 1] += 0.1
    for method in ("anneal", "cost"):
        arguments = (np.zeros(24, int),) if method == "cost" else ()
        with pytest.raises(ValueError, match="X must be symmetric within 1e-6 of its largest entry"):
            getattr(MODELS[name], method)(*arguments, form(X + 1e7 * np.eye(24)))
    if name in ("correlation", "mincut", "maxcut", "pairwise"):
        with pytest.raises(ValueError, match="X must be symmetric"):
            MODELS[name].anneal(X + 1e7)


@pytest.mark.parametrize("constant", [1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, -1e9])
def test_a_constant_that_the_model_counts_by_itself_costs_no_digits(constant):
    X = groups()
    D = gc.measures.squared_euclidean_distances(np.random.default_rng(5).standard_normal((24, 2)))
    pairs = [
        (gc.CorrelationClustering(3, shift=-0.3), X, gc.CorrelationClustering(3, shift=-0.3 - constant), X + constant),
        (gc.PairwiseClustering(3), -D, gc.PairwiseClustering(3), constant - D),
    ]
    for plain, bare, shifted, moved in pairs:
        first = plain.set_params(random_state=0).anneal(bare)
        second = shifted.set_params(random_state=0).anneal(moved, betas=first.betas)
        assert second.unit == pytest.approx(first.unit, rel=1e-4)
        # Rounding may give the clusters other names, and 1e9 leaves the entries seven digits.
        together = [np.einsum("tik,tjk->tij", P, P) for P in (first.probabilities, second.probabilities)]
        assert np.abs(together[1] - together[0]).mean(axis=(1, 2)).max() < 5e-3
        scale = abs(constant) * 24**2 * 1e-15 + 1e-5
        assert shifted.cost(second.labels(), moved) == pytest.approx(second.costs[-1], rel=1e-6, abs=scale)


@pytest.mark.parametrize("constant", [1e3, 1e6, 1e9, -1e9])
@pytest.mark.parametrize(("model", "sign"), [(gc.MinCut(3), 1.0), (gc.MaxCut(3), -1.0)])
def test_cuts_keep_the_digits_beside_a_constant(model, sign, constant):
    X = groups()
    Q = np.random.default_rng(27).dirichlet(np.ones(3), 24).astype(np.float32)
    prepared, taken = model._prepared(X + constant)
    state = State(taken, prepared._rule(), np.ones(24), 3, np.random.default_rng(0))
    state.start(Q)
    Q = Q.astype(np.float64)
    wanted = -sign * (X @ Q + constant * (Q.sum(axis=0) - Q))
    difference = state.potentials(1.0) - wanted
    np.testing.assert_allclose(
        difference - difference.mean(axis=1, keepdims=True), 0, atol=1e-5 + 1e-14 * abs(constant)
    )
    labels = np.arange(24) % 5 % 3
    exact = model.cost(labels, X + constant)
    assert prepared._labels_cost(labels, taken, 0.0) == pytest.approx(exact, rel=1e-7, abs=1e-5)


def test_digits_that_are_gone_are_named():
    X = groups()
    for name in MODELS:
        with pytest.raises(ValueError, match="entries of X differ by .* around .*subtract the constant"):
            annealed(name, (30 * X + 1e8).astype(np.float32))
    for name in ("normalized", "ratio", "dominant"):
        with pytest.raises(ValueError, match="entries of X differ by .* around .*subtract the constant"):
            annealed(name, X + 1e8)
    with pytest.raises(ValueError, match="entries of X differ by"):
        annealed("pairwise", 1000 * X + 1e18)
    assert annealed("pairwise", np.full((9, 9), 1e18)).unit == 1.0  # nothing but a constant: nothing to order


@pytest.mark.parametrize(("weak", "sparse"), [(1e-3, False), (1e-5, False), (1e-5, True)])
def test_degrees_of_very_different_size(weak, sparse):
    # A strong clique and a weak one; a threshold in units of an object's own degree would hide the weak one from it.
    X = np.full((6, 6), weak)
    X[:3, :3] = 1.0
    X *= random_similarity(6, np.random.default_rng(24), positive=True, diagonal=False)
    model = gc.NormalizedCut(2)
    labelings = assignments(6, 2)
    labelings = labelings[(labelings.min(axis=1) == 0) & (labelings.max(axis=1) == 1)]
    costs = np.array([model.cost(labels, X) for labels in labelings])
    kept = {tuple(labels): cost for labels, cost in zip(labelings.tolist(), costs, strict=True)}
    state = State(scipy.sparse.csr_array(X) if sparse else X, model._rule(), model._weights(X), 2,
                  np.random.default_rng(25))  # fmt: skip
    for labels in labelings:
        state.start_labels(labels)
        h = state.potentials(1.0)
        for i in range(6):
            moved = labels.copy()
            moved[i] = 1 - labels[i]
            if tuple(moved) in kept:
                rise = h[i, moved[i]] - h[i, labels[i]]
                assert rise == pytest.approx(kept[tuple(moved)] - kept[tuple(labels)], abs=1e-6)
    for mode in (GIBBS, METROPOLIS):
        state.start_labels(labelings[3])
        counts = dict.fromkeys(kept, 0)
        for _ in range(12_000):
            state.sweep(mode, 2.0)
            state.refresh()
            counts[tuple(state.labels().tolist())] += 1
        wanted = boltzmann(costs, 2.0)
        assert 0.5 * np.abs(np.array(list(counts.values())) / 12_000 - wanted).sum() < 0.06


def test_small_integer_types_and_generators_are_taken():
    X = random_similarity(14, np.random.default_rng(0))
    model = gc.MaxCut(np.int8(14), random_state=np.random.default_rng(3))
    assert model.cost(np.arange(14), scipy.sparse.csr_array(X)) == pytest.approx(-np.triu(X, 1).sum(), rel=1e-6)
    assert np.isfinite(model.anneal(X, betas=[1.0]).costs).all()
    with pytest.raises(TypeError, match="random_state='a' .*accepted are an integer"):
        model.set_params(random_state="a").fit(X)


def test_temperature_unit_never_divides_by_nothing():
    assert temperature_unit(3.0, 2.0) == 1.5
    assert temperature_unit(3.0, 0.0) == temperature_unit(3.0, -4.0) == 1.0


def test_relaxed_state_is_a_fixed_point():
    X = random_similarity(60, np.random.default_rng(14), dtype=np.float32, diagonal=False)
    state = State(X, Rule(QUADRATIC), np.ones(60), 4, np.random.default_rng(15))
    state.start(np.random.default_rng(16).dirichlet(np.ones(4), 60))
    assert state.relax(0.4, max_sweeps=300) < 2e-4
    h = state.potentials(0.4)
    wanted = np.exp(-0.4 * (h - h.min(axis=1, keepdims=True)))
    wanted /= wanted.sum(axis=1, keepdims=True)
    assert np.abs(state.Q.T - wanted).max() < 0.01


def test_descent_ends_where_no_single_move_helps():
    X = random_similarity(40, np.random.default_rng(17), diagonal=False)
    for rule in RULES[:2]:
        state = State(X, rule, np.ones(40), 4, np.random.default_rng(18))
        state.start_labels(np.arange(40) % 4)
        state.descend(1e9)
        h = state.potentials(1.0)
        assert (h[np.arange(40), state.labels()] <= h.min(axis=1) + 1e-9).all()


@pytest.mark.parametrize("room", [kernels, kmeans])
def test_exponential_of_the_kernels(room):
    exponential = vectorize(nopython=True)(room.exp_negative.py_func)
    x = np.concatenate([-np.geomspace(1e-300, 59.9, 2000), [0.0, -0.0, -60.0, -61.0, -1e300, -np.inf]])
    wanted = np.where(x > -60, np.exp(x), 0.0)
    np.testing.assert_allclose(exponential(x), wanted, rtol=2e-15, atol=0)


@pytest.mark.parametrize("mode", [GIBBS, METROPOLIS], ids=["gibbs", "metropolis"])
@pytest.mark.parametrize("rule", RULES, ids=IDS)
def test_sampled_potentials_are_boltzmann_means(rule, mode):
    """000 section 4.3: potentials averaged over sweeps against the exact expectation, by enumeration."""
    # Sweeps until a chain has forgotten: 70 were measured for Metropolis in normalised costs (16 chains), 3 for Gibbs.
    positive, (n_sweeps, memory) = rule.kind == RATIO, (12000, 5) if mode == GIBBS else (60000, 90)
    X, labelings = valley(2, np.random.default_rng(19))
    X = rule.scale * X if rule.kind == QUADRATIC else X
    X = np.where(np.eye(8, dtype=bool), 0.0, X - X.min() + 0.1) if positive else X
    weights = np.ones(8)
    beta = {QUADRATIC: 0.8, ASSOCIATION: 4.0, RATIO: 2.0}[rule.kind]
    costs = np.array([plug_in_cost(np.eye(2)[row], X, rule, weights) for row in labelings])
    wanted, spread = expected_potentials(labelings, boltzmann(costs, beta), X, rule, weights)
    state = State(X, rule, weights, 2, np.random.default_rng(20))
    state.start_labels(np.array([0, 0, 0, 1, 1, 1, 0, 1]))
    h = state.sample(mode, beta, n_sweeps)
    assert list(state.labels()[[0, 3]]) == [0, 1]  # still in the valley that was enumerated
    assert (np.abs(h - h[:, :1] - wanted) < 5 * spread * np.sqrt(memory / n_sweeps) + 1e-3).all()
    assert spread[6:].max() > 0.01


def test_what_did_not_settle_is_reported_once(monkeypatch):
    X = random_similarity(60, np.random.default_rng(26))
    model = gc.CorrelationClustering(4, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run = model.fit(X).trajectory_
    assert run.converged.all() and model.n_iter_ == run.n_iter > run.n_steps
    monkeypatch.setattr("gencap.models.similarity.HEATING_SWEEPS", 3)
    with pytest.warns(ConvergenceWarning, match=r"did not settle at \d+ of 25 temperatures") as caught:
        short = model.anneal(X)
    assert len(caught) == 1 and caught[0].filename == __file__
    assert not short.converged.all() and f"at {(~short.converged).sum()} of 25" in str(caught[0].message)
    assert short.n_iter <= 3 * 25 < run.n_iter
    # The same path from the cold end, up to the first temperature that was left too early.
    first = np.flatnonzero(~short.converged)[-1]
    np.testing.assert_array_equal(short.probabilities[first + 1 :], run.probabilities[first + 1 :])
    assert np.abs(short.probabilities[first] - run.probabilities[first]).max() > 0


SCRIPT = """
import numpy as np
from {room} import kmeans
print(repr(kmeans.em_sweep(np.eye(3), np.zeros((2, 3)) + [[0], [1]], np.zeros(2), 1.0, np.zeros(2), np.zeros((2, 3)))))
"""


def test_an_edited_helper_is_compiled_into_its_kernels(tmp_path):
    room = tmp_path / "copied"
    shutil.copytree(Path(kernels.__file__).parent, room, ignore=shutil.ignore_patterns("__pycache__"))

    def run():
        command = [sys.executable, "-c", SCRIPT.format(room=room.name)]
        return float(subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, text=True).stdout)

    first = run()
    assert run() == first and list(room.glob("__pycache__/*.nbc"))  # from the cache
    for path in room.glob("*.py"):
        text = path.read_text()
        path.write_text(text.replace("0.6931471803691238", "0.5931471803691238"))  # in exp_negative
    assert abs(run() - first) > 1e-3


def test_kernels_take_nothing_from_each_other():
    for path in Path(kernels.__file__).parent.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            assert not (isinstance(node, ast.ImportFrom) and (node.level or "gencap" in node.module)), path
            assert not (isinstance(node, ast.Import) and any("gencap" in name.name for name in node.names)), path
