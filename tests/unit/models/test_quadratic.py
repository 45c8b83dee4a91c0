"""Correlation clustering, Min Cut and Max Cut against enumeration of all assignments, and their invariances."""

import pickle

import joblib
import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import (
    assignments,
    boltzmann,
    coclustering,
    correlation_cost,
    cut_cost,
    expected_potentials,
    random_similarity,
    valley,
)
from scipy.special import logsumexp, softmax
from sklearn.base import clone

import gencap as gc
from gencap.kernels.similarity import QUADRATIC
from gencap.models.similarity import Rule, State

SHIFTS = [0.0, -0.4, 0.9]
MODELS = [gc.CorrelationClustering(3), gc.CorrelationClustering(3, shift=-0.3), gc.MinCut(3), gc.MaxCut(3)]
IDS = ["correlation", "shifted", "mincut", "maxcut"]


def all_costs(X, n_clusters, shift=0.0):
    """Costs of correlation clustering up to its constant, for all K^N assignments, and these."""
    labelings = assignments(len(X), n_clusters)
    same = labelings[:, :, None] == labelings[:, None, :]
    return -(np.triu(X + shift, 1) * same).sum(axis=(1, 2)), labelings


def planted(n_objects=60, noise=0.3, seed=0):
    return gc.datasets.planted_correlation_graphs(n_objects, 3, noise=noise, random_state=seed)


@pytest.mark.parametrize("shift", SHIFTS)
@pytest.mark.parametrize("n_clusters", [2, 3])
def test_costs_are_sums_over_pairs(n_clusters, shift):
    rng = np.random.default_rng(0)
    X = random_similarity(8, rng)
    correlation = gc.CorrelationClustering(n_clusters, shift)
    for labels in rng.integers(n_clusters, size=(40, 8)):
        assert correlation.cost(labels, X) == pytest.approx(correlation_cost(labels, X, shift), abs=1e-12)
        assert gc.MinCut(n_clusters).cost(labels, X) == pytest.approx(cut_cost(labels, X), abs=1e-12)
        assert gc.MaxCut(n_clusters).cost(labels, X) == pytest.approx(-cut_cost(labels, X), abs=1e-12)


@pytest.mark.parametrize("shift", SHIFTS)
def test_costs_of_sparse_input(shift):
    rng = np.random.default_rng(1)
    X = random_similarity(9, rng) * (random_similarity(9, rng) > 0.3)
    sparse = scipy.sparse.coo_matrix(X)
    for labels in rng.integers(3, size=(10, 9)):
        for model in (gc.CorrelationClustering(3, shift), gc.MinCut(3), gc.MaxCut(3)):
            assert model.cost(labels, sparse) == pytest.approx(model.cost(labels, X), abs=1e-12)


def test_correlation_clustering_is_min_cut_is_max_cor():
    rng = np.random.default_rng(2)
    X = random_similarity(8, rng)
    labelings = rng.integers(3, size=(30, 8))
    correlation = np.array([gc.CorrelationClustering(3).cost(c, X) for c in labelings])
    cut = np.array([gc.MinCut(3).cost(c, X) for c in labelings])
    # Max Cor sums the ordered pairs inside clusters, with a minus sign (000 Eq. 143).
    max_cor = np.array(
        [-sum(X[i, j] for i in range(8) for j in range(8) if i != j and c[i] == c[j]) for c in labelings]
    )
    assert np.ptp(correlation - cut) < 1e-12
    assert np.ptp(cut - max_cor / 2) < 1e-12


@pytest.mark.parametrize("model", MODELS, ids=IDS)
def test_ground_states_of_random_graphs_are_found(model):
    rng = np.random.default_rng(3)
    labelings = assignments(8, 3)
    same = labelings[:, :, None] == labelings[:, None, :]
    for seed in range(50):
        X = random_similarity(8, rng)
        if isinstance(model, gc.MaxCut):
            energies = (np.triu(X, 1) * same).sum(axis=(1, 2))
        else:
            energies = -(np.triu(X + getattr(model, "shift", 0.0), 1) * same).sum(axis=(1, 2))
        best = model.cost(labelings[energies.argmin()], X)
        fitted = clone(model).set_params(random_state=seed, n_init=10).fit(X)
        # At the default cold end, states this close together are still mixed.
        assert model.cost(fitted.labels_, X) == pytest.approx(best, abs=0.05)
        colder = fitted.anneal(X, betas=fitted.trajectory_.unit * np.array([20.0, 400.0]))
        assert colder.costs[-1] == pytest.approx(best, abs=1e-5)


def mean_field(X, beta, n_clusters, seed):
    """Q and log Z_MF = S(Q) - beta E_Q[R] of the best of ten mean-field solutions."""
    best = -np.inf, None
    for start in range(10):
        state = State(X, Rule(QUADRATIC), np.ones(len(X)), n_clusters, np.random.default_rng([seed, start]))
        state.start(state.rng.dirichlet(np.ones(n_clusters), len(X)))
        for _ in range(2000):
            if state.sweep(0, beta) < 1e-12:
                break
        Q = state.Q.T
        bound = -(Q * np.log(np.maximum(Q, 1e-300))).sum() + beta * np.triu(X * (Q @ Q.T), 1).sum()
        if bound > best[0]:
            best = bound, Q.copy()
            h = state.potentials(beta)
            again = logsumexp(-beta * h, axis=1).sum() - beta * np.triu(X * (Q @ Q.T), 1).sum()
            assert bound == pytest.approx(again, abs=1e-6)
    return best


@pytest.mark.parametrize("n_clusters", [2, 3])
def test_mean_field_bounds_the_partition_function(n_clusters):
    rng = np.random.default_rng(4)
    for seed in range(6):
        X = random_similarity(8, rng, diagonal=False)
        energies, _ = all_costs(X, n_clusters)
        for beta in (0.3, 1.0, 2.0):
            assert mean_field(X, beta, n_clusters, seed)[0] <= logsumexp(-beta * energies) + 1e-9


def test_cold_mean_field_sees_one_of_the_k_factorial_ground_states():
    rng = np.random.default_rng(5)
    for seed in range(4):
        X = random_similarity(8, rng, diagonal=False)
        energies, _ = all_costs(X, 2)
        gap = np.unique(np.round(energies, 9))[1] - energies.min()
        beta = 12 / gap
        missed = logsumexp(-beta * energies) - mean_field(X, beta, 2, seed)[0]
        assert np.exp(missed) == pytest.approx(2, rel=1e-3)


@pytest.mark.parametrize("n_clusters", [2, 3])
@pytest.mark.parametrize("inference", ["meanfield", "gibbs", "metropolis"])
def test_marginals_of_objects_without_ties_are_exact(inference, n_clusters):
    """Two objects in the field of clusters that stand still: nothing is left for mean field or a sample to miss."""
    X, labelings = valley(n_clusters, np.random.default_rng(6), strength=12.0, tie=0.0)
    energies = -(np.triu(X, 1) * (labelings[:, :, None] == labelings[:, None])).sum(axis=(1, 2))
    exact = coclustering(labelings, boltzmann(energies, 1.0))[6:, [0, 3]]
    assert ((exact > 0.05) & (exact < 0.95)).all()
    run = gc.CorrelationClustering(n_clusters, inference=inference, random_state=0).anneal(X, betas=[1.0])
    P = run.probabilities[0]
    np.testing.assert_allclose((P @ P.T)[6:, [0, 3]], exact, atol=2e-3)


@pytest.mark.parametrize("model", MODELS, ids=IDS)
def test_sparse_input_gives_the_dense_result(model):
    X = planted()[0] * (np.random.default_rng(7).random((60, 60)) < 0.4)
    X = np.minimum(X, X.T) * (X == X.T)
    model = clone(model).set_params(random_state=0)
    dense = model.anneal(X)
    for kind in (scipy.sparse.csr_matrix, scipy.sparse.coo_array, scipy.sparse.csc_array):
        sparse = model.anneal(kind(X))
        np.testing.assert_allclose(sparse.betas, dense.betas, rtol=1e-4)
        assert sparse.costs[-1] == pytest.approx(dense.costs[-1], abs=1e-3)
        np.testing.assert_allclose(sparse.entropy(-1), dense.entropy(-1), atol=0.01)


def test_sparse_input_is_never_made_dense(monkeypatch):
    def refuse(*args, **kwargs):
        raise AssertionError("made dense")

    for kind in (scipy.sparse.csr_array, scipy.sparse.csr_matrix, scipy.sparse.csc_array, scipy.sparse.coo_array):
        for name in ("toarray", "todense"):
            monkeypatch.setattr(kind, name, refuse)
    X = np.random.default_rng(8).random((200, 200))
    X = scipy.sparse.csr_array(np.where(X < 0.02, X, 0))
    X = X + X.T
    for model in MODELS:
        fitted = clone(model).set_params(random_state=0).fit(X)
        model.cost(fitted.labels_, X)


def test_the_shift_is_not_written_into_the_matrix_and_balances():
    X = planted(90)[0]
    before = X.copy()
    apart = gc.CorrelationClustering(3, shift=-0.2, random_state=0).fit(X)
    np.testing.assert_array_equal(X, before)
    # Balanced planted groups minimise both costs: the shift does not change them.
    plain = gc.CorrelationClustering(3, random_state=0).fit(X)
    assert gc.metrics.matched_precision(apart.labels_, plain.labels_) == 1
    shifted = X - np.float32(0.2)
    assert gc.CorrelationClustering(3).cost(apart.labels_, shifted) == pytest.approx(
        gc.CorrelationClustering(3, shift=-0.2).cost(apart.labels_, X), rel=1e-5
    )


def test_a_strong_shift_joins_all_or_balances():
    X = random_similarity(30, np.random.default_rng(9))
    joined = gc.CorrelationClustering(3, shift=10.0, random_state=0).fit(X).labels_
    assert len(set(joined)) == 1
    apart = gc.CorrelationClustering(3, shift=-10.0, random_state=0).fit(X).labels_
    assert list(np.bincount(apart)) == [10, 10, 10]


@pytest.mark.parametrize("model", MODELS, ids=IDS)
@pytest.mark.parametrize("inference", ["meanfield", "gibbs", "metropolis"])
def test_same_seed_same_result(model, inference):
    X = planted(40)[0]
    model = clone(model).set_params(random_state=5, inference=inference, n_sweeps=10)
    first, second = model.anneal(X, betas=[0.1, 0.4]), clone(model).anneal(X, betas=[0.1, 0.4])
    np.testing.assert_array_equal(first.probabilities, second.probabilities)
    np.testing.assert_array_equal(first.costs, second.costs)


def test_costs_of_a_run_are_those_of_its_labels():
    X = planted()[0]
    for model in MODELS:
        run = clone(model).set_params(random_state=0).anneal(X)
        for t in range(0, run.n_steps, 6):
            assert run.costs[t] == pytest.approx(model.cost(run.labels(t), X), rel=1e-9, abs=1e-9)


def test_a_run_reports_a_mean_field_fixed_point():
    X = planted()[0]
    run = gc.CorrelationClustering(3, random_state=0).anneal(X)
    assert run.probabilities.dtype == np.float32
    np.testing.assert_allclose(run.betas, run.unit * np.geomspace(0.8, 20, 25))
    for t in range(run.n_steps):
        P = run.probabilities[t].astype(float)
        h = -(X @ P)
        wanted = np.exp(-run.betas[t] * (h - h.min(axis=1, keepdims=True)))
        wanted /= wanted.sum(axis=1, keepdims=True)
        assert np.abs(wanted - P).mean() < 0.01
        np.testing.assert_allclose(P, softmax(-run.betas[t] * run.potentials[t].astype(float), axis=1), atol=1e-6)


def test_unit_is_where_order_appears():
    # Complete two-block graph: lambda_max(X) = N - 1 = 39, the uniform state is unstable from K / 39 on. The unit is
    # that of X less its mean off the diagonal, -1 / 39: off by less than 1 / N, but the same for X plus a constant.
    X = np.kron(np.array([[1.0, -1], [-1, 1]]), np.ones((20, 20)))
    run = gc.CorrelationClustering(2, random_state=0).anneal(X)
    assert run.unit == pytest.approx(2 / (39 - 1 / 39), rel=1e-4)
    near = gc.CorrelationClustering(2, random_state=0).anneal(X, betas=run.unit * np.array([0.9, 1.1]))
    assert near.n_effective(0) == 1 and near.n_effective(1) == 2


@pytest.mark.parametrize("n_clusters", [2, 3, 5])
@pytest.mark.parametrize(("model", "sign"), [(gc.MinCut, 1.0), (gc.MaxCut, -1.0)])
def test_unit_of_the_cuts_grows_with_the_clusters(model, sign, n_clusters):
    X = random_similarity(40, np.random.default_rng(12), diagonal=False)
    wanted = n_clusters / np.linalg.eigvalsh(sign * X)[-1]
    model = model(n_clusters, random_state=0)
    assert model.unit(X) == model.anneal(X, betas=[wanted]).unit == pytest.approx(wanted, rel=1e-4)
    # In n_clusters blocks that attract themselves and repel each other order appears there, for more than two of them
    # at once and from .74 units on (K = 5; the transition of the mean-field Potts model).
    labels = np.arange(60) % n_clusters
    blocks = sign * np.where(labels[:, None] == labels, 1.0, -1.0 / (n_clusters - 1)) * (1 - np.eye(60))
    near = model.anneal(blocks, betas=model.unit(blocks) * np.array([0.6, 1.1]))
    assert near.n_effective(0) == 1 and near.n_effective(1) == n_clusters


@given(st.permutations(range(24)), st.sampled_from([1e-3, 1.0, 1e4]))
@settings(max_examples=10, deadline=None)
def test_order_of_objects_and_scale_do_not_matter(order, scale):
    X = planted(24, noise=0.2)[0].astype(np.float64)
    model = gc.CorrelationClustering(3, random_state=1)
    order = np.array(order)
    first, second = model.fit(X).labels_, clone(model).fit(scale * X[np.ix_(order, order)]).labels_
    assert model.cost(second, scale * X[np.ix_(order, order)]) == pytest.approx(scale * model.cost(first, X), rel=1e-5)
    assert gc.metrics.matched_precision(second, first[order]) == 1


@given(st.permutations(range(3)), st.lists(st.integers(0, 2), min_size=8, max_size=8))
@settings(max_examples=30, deadline=None)
def test_cost_does_not_depend_on_names(renaming, labels):
    X = random_similarity(8, np.random.default_rng(11))
    for model in MODELS:
        assert model.cost(np.array(renaming)[labels], X) == pytest.approx(model.cost(labels, X), abs=1e-12)


def test_paired_start_begins_from_the_other_run():
    first, second = planted(45)
    model = gc.CorrelationClustering(3, random_state=0)
    run = model.anneal(first)
    paired = model.anneal(second, betas=run.betas, init=run)
    assert (paired.labels(-1) == run.labels(-1)).mean() > 0.95  # same names, no alignment needed
    with pytest.raises(ValueError, match="init"):
        model.anneal(second, betas=run.betas[:3], init=run)
    with pytest.raises(TypeError, match="init"):
        model.anneal(second, init=run.probabilities)


@pytest.mark.parametrize("X", [np.zeros((1, 1)), np.zeros((5, 5)), np.ones((5, 5)), -np.ones((4, 4))])
def test_nothing_to_order_is_no_error(X):
    for model in (gc.CorrelationClustering(1), gc.CorrelationClustering(len(X)), gc.MaxCut(1), gc.MinCut(len(X))):
        run = model.set_params(random_state=0).anneal(X)
        assert np.isfinite(run.probabilities).all() and np.isfinite(run.costs).all() and run.unit > 0
        np.testing.assert_allclose(run.probabilities.sum(axis=2), 1, atol=1e-5)


GOOD = np.array([[0, 1.0, -1], [1, 0, 1], [-1, 1, 0]])
BAD = {
    "not square": (GOOD[:2], {}, "square"),
    "one-dimensional": (GOOD[0], {}, "square"),
    "empty": (np.zeros((0, 0)), {}, "square"),
    "asymmetric": (np.triu(GOOD), {}, "symmetric"),
    "slightly asymmetric": (GOOD + np.array([[0, 1e-5, 0], [0] * 3, [0] * 3]), {}, "symmetric"),
    "nan": (np.where(GOOD == 0, np.nan, GOOD), {}, "NaN"),
    "inf": (np.where(GOOD == -1, np.inf, GOOD), {}, "NaN or infinite"),
    "sparse asymmetric": (scipy.sparse.csr_array(np.triu(GOOD)), {}, "symmetric"),
    "sparse nan": (scipy.sparse.csr_array(np.where(GOOD == 1, np.nan, GOOD)), {}, "NaN"),
    "no clusters": (GOOD, {"n_clusters": 0}, "n_clusters"),
    "more clusters than objects": (GOOD, {"n_clusters": 4}, "n_clusters=4 .*n_samples=3"),
    "inference": (GOOD, {"inference": "em"}, "inference='em'.*meanfield.*gibbs.*metropolis"),
    "no starts": (GOOD, {"n_init": 0}, "n_init"),
    "no sweeps": (GOOD, {"n_sweeps": 0}, "n_sweeps"),
    "overflowing shift": (GOOD, {"shift": 1e300}, r"shift=1e\+300 must be .*1e\+30"),
    "nan shift": (GOOD, {"shift": np.nan}, "shift"),
    "inf shift": (GOOD, {"shift": np.inf}, "shift"),
}


@pytest.mark.parametrize("case", BAD)
@pytest.mark.parametrize("method", ["fit", "anneal"])
def test_bad_input_is_named(case, method):
    X, parameters, message = BAD[case]
    with pytest.raises(ValueError, match=message):
        getattr(gc.CorrelationClustering(2).set_params(**parameters), method)(X)


@pytest.mark.parametrize("parameters", [{"n_clusters": 2.0}, {"n_clusters": "2"}, {"n_clusters": True}, {"shift": "0"}])
@pytest.mark.parametrize("method", ["fit", "anneal"])
def test_wrong_types_are_named(parameters, method):
    with pytest.raises(TypeError, match=next(iter(parameters))):
        getattr(gc.CorrelationClustering(2).set_params(**parameters), method)(GOOD)


@pytest.mark.parametrize("labels", [[0, 1], [0, 1, 2], [0, -1, 1], [0.0, 1.0, 1.0], [[0, 1, 1]]])
def test_bad_labels_are_named(labels):
    with pytest.raises(ValueError, match="labels"):
        gc.CorrelationClustering(2).cost(labels, GOOD)


@pytest.mark.parametrize("diagonal", [0.0, 7.0, -3.0])
def test_the_diagonal_is_ignored(diagonal):
    X = planted(30)[0].copy()
    model = gc.CorrelationClustering(3, random_state=0)
    first = model.anneal(X)
    np.fill_diagonal(X, diagonal)
    second = model.anneal(X)
    np.testing.assert_allclose(second.betas, first.betas, rtol=1e-5)
    ordered = first.betas > first.unit  # hotter, all clusters coincide and rounding draws the hard labels
    np.testing.assert_allclose(second.costs[ordered], first.costs[ordered], rtol=1e-5)
    assert model.cost(first.labels(), X) == pytest.approx(first.costs[-1])


def test_clone_pickle_joblib():
    X = planted(30)[0]
    model = gc.CorrelationClustering(3, shift=-0.1, random_state=4).fit(X)
    assert clone(model).get_params() == model.get_params() and not hasattr(clone(model), "labels_")
    back = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(back.labels_, model.labels_)
    tasks = (joblib.delayed(gc.MinCut(3, random_state=s).fit)(X) for s in range(2))
    for seed, fitted in enumerate(joblib.Parallel(n_jobs=2)(tasks)):
        np.testing.assert_array_equal(fitted.labels_, gc.MinCut(3, random_state=seed).fit(X).labels_)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int8])
def test_read_only_memory_maps_are_read(tmp_path, dtype):
    X = planted(40)[0].astype(dtype)
    np.save(tmp_path / "X.npy", X)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    for model in MODELS:
        model = clone(model).set_params(random_state=0)
        np.testing.assert_array_equal(model.fit(mapped).labels_, clone(model).fit(X).labels_)
        model.cost(model.labels_, mapped)
    np.testing.assert_array_equal(np.load(tmp_path / "X.npy"), X)


def test_tags_say_pairwise_and_sparse():
    tags = gc.CorrelationClustering(2).__sklearn_tags__()
    assert tags.input_tags.pairwise and tags.input_tags.sparse


@pytest.mark.parametrize("inference", ["gibbs", "metropolis"])
@pytest.mark.parametrize("model", MODELS, ids=IDS)
def test_sampled_potentials_are_boltzmann_means(model, inference):
    """What a run keeps is the mean over sweeps of the potentials; the exact one is a sum over all labelings."""
    X, labelings = valley(3, np.random.default_rng(12), strength=12.0)
    X = -X if isinstance(model, gc.MaxCut) else X
    rule, n_sweeps = model._rule(), 10000
    signed = rule.scale * (np.triu(X + rule.shift, 1))
    energies = -(signed * (labelings[:, :, None] == labelings[:, None])).sum(axis=(1, 2))
    wanted, spread = expected_potentials(labelings, boltzmann(energies, 0.8), X, rule, np.ones(8))
    run = clone(model).set_params(inference=inference, n_sweeps=n_sweeps, random_state=1).anneal(X, betas=[0.8])
    names = run.labels()[[0, 3]]
    order = [*names, *(k for k in range(3) if k not in names)]
    h = run.potentials[0].astype(float)[:, order]
    # Five standard errors of a chain that remembers its state for a few sweeps.
    assert (np.abs(h - h[:, :1] - wanted) < 5 * spread * np.sqrt(5 / n_sweeps) + 2e-3).all()
    assert spread[6:].max() > 0.1
