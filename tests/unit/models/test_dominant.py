"""Dominant sets against hand-made states, brute force and the theory of replicator dynamics."""

import itertools

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

import gencap as gc
from gencap.models.dominant import DominantSets, replicator_dynamics


def similarities(n_objects, seed, symmetric=True):
    X = np.random.default_rng(seed).random((n_objects, n_objects))
    X = X + X.T
    np.fill_diagonal(X, 0)
    return X


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10**6), shift=st.floats(0, 3))
def test_cohesion_rises_and_the_state_stays_on_the_simplex(seed, shift):
    X = similarities(12, seed)
    shifted = X + shift * (1 - np.eye(12))
    v = np.random.default_rng(seed).dirichlet(np.ones(12))
    before = v @ shifted @ v
    for state in replicator_dynamics(X, v, 40, shift):
        assert state.min() >= 0 and abs(state.sum() - 1) < 1e-12
        assert state @ shifted @ state >= before - 1e-12
        before = state @ shifted @ state


def test_settled_state_is_a_maximal_clique_of_an_unweighted_graph():
    """Motzkin and Straus: on a 0/1 graph the maximum of v'Xv is 1 - 1/omega, reached at equal weights on a clique."""
    X = np.zeros((9, 9))
    for i, j in itertools.combinations(range(5), 2):
        X[i, j] = X[j, i] = 1
    for i, j in [(4, 5), (5, 6), (6, 7), (7, 8)]:
        X[i, j] = X[j, i] = 1
    *_, v = replicator_dynamics(X, np.full(9, 1 / 9), 4000)
    np.testing.assert_allclose(v[:5], 0.2, atol=1e-4)
    assert v @ X @ v == pytest.approx(1 - 1 / 5, abs=1e-6)


@pytest.mark.parametrize("shift", [0.0, 0.7, 2.5])
def test_settled_state_is_stationary_on_the_simplex(shift):
    """Kuhn and Tucker: nothing outside of the support gains more than v'Xv, and all inside gain just that."""
    for seed in range(5):
        X = similarities(10, seed)
        *_, v = replicator_dynamics(X, np.full(10, 0.1), 20000, shift)
        gain = (X + shift * (1 - np.eye(10))) @ v
        inside = v > 1e-4
        np.testing.assert_allclose(gain[inside], v @ gain, atol=1e-5)
        assert (gain[~inside] <= v @ gain + 1e-5).all()


def test_full_shift_moves_the_cohesion_and_not_the_state():
    """000 Eq. 131: v'(X + s 11')v = v'Xv + s. Off the diagonal only, it pulls towards equal participation."""
    X, s = similarities(10, 3), 2.5
    *_, plain = replicator_dynamics(X, np.full(10, 0.1), 20000)
    *_, shifted = replicator_dynamics(X, np.full(10, 0.1), 20000, s)
    assert (plain > 1e-4).sum() < (shifted > 1e-4).sum()
    # With the diagonal the shift adds s to every gain, so the state of the plain matrix stays where it is.
    gain = (X + s) @ plain
    assert gain[plain > 1e-4] == pytest.approx(plain @ X @ plain + s, abs=1e-5) and gain.max() <= plain @ gain + 1e-5


def test_shift_argument_is_a_shift_of_the_off_diagonal():
    X = similarities(30, 1)
    shifted = X + 0.7 * (1 - np.eye(30))
    one = DominantSets(3, max_steps=15, cutoff=0.3, shift=0.7).fit(X)
    other = DominantSets(3, max_steps=15, cutoff=0.3).fit(shifted)
    np.testing.assert_array_equal(one.labels_, other.labels_)
    np.testing.assert_allclose(one.trajectory_.costs, other.trajectory_.costs, rtol=1e-5)


@pytest.mark.parametrize("fill", [0.0, 5.0])
def test_separated_blocks_are_found_whatever_the_diagonal(fill):
    X = np.kron(np.eye(3), np.ones((6, 6)))
    np.fill_diagonal(X, fill)
    labels = DominantSets(3).fit(X).labels_
    assert sorted(np.bincount(labels)) == [6, 6, 6]
    assert all(len(set(labels[k * 6 : k * 6 + 6])) == 1 for k in range(3))


def test_sparse_equals_dense():
    X = similarities(40, 5) * (similarities(40, 6) > 1.2)
    dense, sparse = (DominantSets(3, max_steps=30, shift=0.1).fit(M) for M in (X, scipy.sparse.csr_array(X)))
    np.testing.assert_array_equal(dense.labels_, sparse.labels_)
    np.testing.assert_array_equal(dense.trajectory_.probabilities, sparse.trajectory_.probabilities)


def test_trajectory_follows_the_peeling():
    X1, _, _ = gc.datasets.three_sources(10, random_state=0)
    X = gc.measures.similarity_from_distances(gc.measures.euclidean_distances(X1))
    model = DominantSets(3, max_steps=100).fit(X)
    run = model.trajectory_
    assert run.betas[-1] == 300 and run.potentials is None
    np.testing.assert_allclose(run.probabilities.sum(axis=2), 1, atol=1e-6)
    np.testing.assert_array_equal(run.labels(-1), model.labels_)
    first = run.probabilities[np.searchsorted(run.betas, 100)]
    assert set(np.unique(first.round(4))) <= {0.0, np.float32(1 / 3).round(4), 1.0}
    assert (first[:, 0] == 1).sum() == (model.cores_ == 0).sum()
    assert run.costs[-1] == pytest.approx(model.cost(model.labels_, X))


def test_labels_depend_on_the_order_of_objects_only_by_name():
    X1, _, _ = gc.datasets.three_sources(9, random_state=2)
    X = gc.measures.similarity_from_distances(gc.measures.euclidean_distances(X1))
    order = np.random.default_rng(0).permutation(len(X))
    labels = DominantSets(3).fit(X).labels_
    permuted = DominantSets(3).fit(X[np.ix_(order, order)]).labels_
    assert gc.metrics.matched_precision(permuted, labels[order]) > 0.995  # ties in float32 products


def test_cost_by_definition():
    X = similarities(8, 4)
    model = DominantSets(3)
    for seed in range(10):
        labels = np.random.default_rng(seed).integers(3, size=8)
        expected = 0.0
        for k in set(labels):
            v = (labels == k) / (labels == k).sum()
            expected -= v @ X @ v
        assert model.cost(labels, X) == pytest.approx(expected)


def test_hamming_capacity_of_separated_sources_is_the_entropy_of_their_sizes():
    pair = gc.datasets.three_sources(10, random_state=1)[:2]
    labels = [
        DominantSets(3).fit(gc.measures.similarity_from_distances(gc.measures.euclidean_distances(X))).labels_
        for X in pair
    ]
    assert gc.hamming_capacity(*labels, 3) == pytest.approx(1.3710, abs=1e-4)


def test_binary_weights_break_at_the_first_inconsistent_object():
    pair = gc.datasets.three_sources(3, random_state=0)[:2]
    runs = [
        DominantSets(3).anneal(gc.measures.similarity_from_distances(gc.measures.euclidean_distances(X))) for X in pair
    ]
    capacity = gc.generalization_capacity(*runs, entropy="same")
    torn = [(p * q[:, order]).sum(axis=1).min() == 0 for p, q, order in zip(
        *(run.probabilities for run in runs), capacity.permutations, strict=True)]  # fmt: skip
    np.testing.assert_array_equal(capacity.curve == -np.inf, torn)
    assert torn[-1] and not torn[0] and capacity.value > 0
    # Before that an object counts log2 of the share on which its two rows agree, by hand: the objects in the first
    # cluster of both (1), of one (1/3), without a cluster in both (1/3). At chance those in the first cluster meet its
    # weight in the other run.
    t = capacity.index
    assert runs[0].betas[t] < 100 and capacity.permutations[t][0] == 0
    first, second = ((run.probabilities[t, :, 0] == 1) for run in runs)
    share, mass = [first.mean(), second.mean()], [(1 + 2 * first.mean()) / 3, (1 + 2 * second.mean()) / 3]
    entropy = -(mass[0] * np.log2(mass[0]) + (1 - mass[0]) * np.log2((1 - mass[0]) / 2))
    chance = max(-share[n] * np.log2(mass[1 - n]) + (1 - share[n]) * np.log2(3) for n in (0, 1))
    wanted = min(entropy, chance) - (1 - (first & second).mean()) * np.log2(3)
    assert capacity.value == pytest.approx(wanted, abs=1e-6)


@pytest.mark.parametrize(
    ("parameters", "X", "message"),
    [
        ({}, -np.ones((4, 4)), "non-negative"),
        ({"shift": np.nan}, np.ones((4, 4)), "shift"),
        ({"shift": 1e300}, np.ones((4, 4)), "shift=1e[+]300"),
        ({"max_steps": 0}, np.ones((4, 4)), "max_steps"),
        ({"cutoff": 0.0}, np.ones((4, 4)), "cutoff"),
        ({"n_clusters": 5}, np.ones((4, 4)), "n_clusters=5.*4"),
        ({}, np.ones((4, 3)), "square"),
        ({}, np.full((4, 4), np.nan), "NaN"),
    ],
)
def test_bad_input_is_named(parameters, X, message):
    for call in ("fit", "anneal"):
        with pytest.raises(ValueError, match=message):
            getattr(DominantSets(**parameters), call)(X)


@pytest.mark.parametrize("betas", [[0, 5], [5, 5], [1, 10_000], [1.5, 2], [], "late"])
def test_steps_outside_the_run_are_refused(betas):
    with pytest.raises(ValueError, match="betas"):
        DominantSets(2).anneal(np.ones((4, 4)), betas=betas)


def test_small_integer_types_do_not_overflow():
    X = np.kron(np.eye(2), np.ones((4, 4)))
    run = DominantSets(np.int8(2), max_steps=np.int8(100)).anneal(X)
    np.testing.assert_array_equal(run.betas, DominantSets(2).anneal(X).betas)


def test_small_and_degenerate_inputs():
    assert DominantSets(1).fit(np.zeros((1, 1))).labels_.tolist() == [0]
    assert DominantSets(2).fit(np.zeros((4, 4))).labels_.tolist() == [0, 0, 0, 0]
    negative_diagonal = np.ones((4, 4)) - 5 * np.eye(4)
    assert DominantSets(2).fit(negative_diagonal).labels_.tolist() == [0, 0, 0, 0]
    assert clone(DominantSets(3, cutoff=0.2)).cutoff == 0.2
