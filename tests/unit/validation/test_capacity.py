"""Capacity against sums over all K^N assignments, against Shannon's formula, and where numbers underflow."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import assignments, random_similarity
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax, logsumexp
from scipy.stats import entropy

import gencap as gc
from gencap.theory.codes import kary_information, kary_optimal_beta
from gencap.trajectory import Trajectory


def run_of(potentials, betas, keep=True):
    """A Trajectory with these potentials (T, N, K)."""
    P = np.exp(log_softmax(-betas[:, None, None] * potentials, axis=2))
    return Trajectory(betas, P, potentials if keep else None, np.zeros(len(betas)))


def random_pair(n_objects=8, n_clusters=3, n_steps=4, seed=0, similar=0.5):
    """Two runs whose potentials resemble each other, with the clusters of the second renamed."""
    rng = np.random.default_rng(seed)
    betas = np.geomspace(0.2, 4, n_steps)
    h = rng.standard_normal((n_objects, n_clusters))
    other = h + similar * rng.standard_normal(h.shape)
    paths = [np.repeat(x[None], n_steps, axis=0) for x in (h, other[:, rng.permutation(n_clusters)])]
    return run_of(paths[0], betas), run_of(paths[1], 1.1 * betas)


@pytest.mark.parametrize("n_clusters", [2, 3])
@pytest.mark.parametrize("seed", range(4))
def test_information_is_that_of_all_assignments(n_clusters, seed):
    """000 Eq. 58: N J = N H + log DeltaZ - log Z1 - log Z2, sums over all K^N assignments."""
    first, second = random_pair(8, n_clusters, seed=seed)
    capacity = gc.generalization_capacity(first, second)
    labelings = assignments(8, n_clusters)
    objects = np.arange(8)
    H = entropy(first.probabilities[-1].mean(axis=0), base=2)
    for t in range(first.n_steps):
        renamed = second.potentials[t][:, capacity.permutations[t]]
        cost1 = first.betas[t] * first.potentials[t][objects, labelings].sum(axis=1)
        cost2 = second.betas[t] * renamed[objects, labelings].sum(axis=1)
        joint = logsumexp(-cost1 - cost2) - logsumexp(-cost1) - logsumexp(-cost2)
        assert capacity.stability[t] == pytest.approx(joint / np.log(2) / 8, abs=1e-12)
        assert capacity.curve[t] - capacity.stability[t] < H + 1e-12  # no more than the surprise at chance
    assert capacity.value == max(0, capacity.curve.max())
    assert capacity.beta == first.betas[capacity.index] and capacity.curve[capacity.index] == capacity.curve.max()


def test_renaming_is_the_best_of_all():
    first, second = random_pair(30, 4, seed=5)
    permutations = gc.generalization_capacity(first, second).permutations
    for t, permutation in enumerate(permutations):
        P1, P2 = first.probabilities[t], second.probabilities[t]
        agreement = [(P1 * P2[:, p]).sum() for p in set(map(tuple, assignments(4, 4))) if len(set(p)) == 4]
        assert (P1 * P2[:, permutation]).sum() == pytest.approx(max(agreement), abs=1e-12)


@pytest.mark.parametrize("where", ["final", "same"])
def test_entropy_is_taken_where_it_is_asked_for(where):
    first, second = random_pair(40, 4, n_steps=6)
    result = gc.generalization_capacity(first, second, entropy=where)
    m, other = first.probabilities.mean(axis=1), second.probabilities.mean(axis=1)
    H = entropy(m, base=2, axis=1)
    chance = []
    for t, names in enumerate(result.permutations):
        P1, P2 = first.probabilities[t], second.probabilities[t]
        pairs = (
            [sum(m[t, k] * row[names[k]] for k in range(4)) for row in P2],
            [sum(other[t, names[k]] * row[k] for k in range(4)) for row in P1],
        )
        chance.append(max(-np.mean(np.log2(overlaps)) for overlaps in pairs))
    wanted = np.minimum(H if where == "same" else H[-1], chance)
    np.testing.assert_allclose(result.curve - result.stability, wanted, atol=1e-12)
    assert result.entropy == pytest.approx(wanted[result.index])


def test_where_probabilities_underflow():
    rng = np.random.default_rng(1)
    h1 = np.round(rng.random((1, 20, 3)) * 4) * 1000
    h2 = np.round(rng.random((1, 20, 3)) * 4) * 1000
    betas = np.array([1.0])
    first, second = run_of(h1, betas), run_of(h2, betas)
    assert (first.probabilities == 0).any()
    result = gc.generalization_capacity(first, second)
    a = log_softmax(-h1[0], axis=1)
    b = log_softmax(-h2[0], axis=1)[:, result.permutations[0]]
    assert result.stability[0] == pytest.approx(logsumexp(a + b, axis=1).mean() / np.log(2), rel=1e-12)
    assert result.stability[0] < -100 and result.value == 0
    # Without potentials nothing is known about how improbable it is.
    bare = gc.generalization_capacity(run_of(h1, betas, False), run_of(h2, betas, False))
    assert bare.stability[0] == -np.inf and bare.value == 0


def test_one_contradicting_object_is_seen_in_single_precision():
    h1 = np.zeros((1, 10, 2), np.float32)
    h1[0, :5, 1] = h1[0, 5:, 0] = 300
    h2 = h1.copy()
    h2[0, 0] = [300, 0]
    first, second = run_of(h1, np.ones(1)), run_of(h2, np.ones(1))
    for run in (first, second):
        run.probabilities = run.probabilities.astype(np.float32)
    stability = gc.generalization_capacity(first, second).stability[0]
    assert stability == pytest.approx((-300 + np.log(2)) / np.log(2) / 10, rel=1e-6)


@given(st.permutations(range(4)), st.permutations(range(4)), st.permutations(range(25)))
@settings(max_examples=25, deadline=None)
def test_names_and_order_do_not_matter(names1, names2, order):
    first, second = random_pair(25, 4, seed=2)
    wanted = gc.generalization_capacity(first, second)
    renamed = [
        Trajectory(
            run.betas, run.probabilities[:, order][:, :, names], run.potentials[:, order][:, :, names], run.costs
        )
        for run, names in ((first, names1), (second, names2))
    ]
    result = gc.generalization_capacity(*renamed)
    np.testing.assert_allclose(result.curve, wanted.curve, atol=1e-12)
    assert (result.index, result.n_effective) == (wanted.index, wanted.n_effective)


def test_one_cluster_is_exactly_nothing():
    rng = np.random.default_rng(3)
    betas = np.array([0.5, 3.0])
    runs = [run_of(rng.random((2, 9, 1)), betas) for _ in range(2)]
    result = gc.generalization_capacity(*runs)
    assert result.value == 0.0 and (result.curve == 0.0).all()
    assert gc.hamming_capacity([0, 0], [0, 0], 1) == 0.0


def test_equal_cold_runs_carry_their_entropy_and_noise_carries_nothing():
    rng = np.random.default_rng(4)
    h = 50.0 * (1 - np.eye(4)[np.arange(40) % 4])[None]
    run = run_of(h, np.ones(1))
    assert gc.generalization_capacity(run, run).value == pytest.approx(2, abs=1e-12)
    noise = [run_of(rng.random((5, 400, 4)), np.geomspace(0.1, 50, 5)) for _ in range(2)]
    assert gc.generalization_capacity(*noise).value < 0.02


def test_mean_field_overstates_by_the_k_factorial_solutions():
    """J_MF - J_exact -> log2(K!) / N where the ground states are unique: mean field sits in one of K! copies."""
    labelings = assignments(8, 2)
    same = labelings[:, :, None] == labelings[:, None, :]
    rng = np.random.default_rng(6)
    checked = 0
    for seed in range(12):
        X1 = random_similarity(8, rng, diagonal=False)
        noise = 0.05 * random_similarity(8, rng, diagonal=False)
        graphs = X1, X1 + noise
        energies = [-(np.triu(X, 1) * same).sum(axis=(1, 2)) for X in graphs]
        gaps = [np.unique(np.round(e, 9))[1] - e.min() for e in energies]
        if min(gaps) < 0.3 or (labelings[energies[0].argmin()] != labelings[energies[1].argmin()]).any():
            continue
        beta = 15 / min(gaps)
        model = gc.CorrelationClustering(2, n_init=10, random_state=seed)
        mean_field = gc.generalization_capacity(*(model.anneal(X, betas=[beta]) for X in graphs))
        exact = mean_field.entropy * 8 + (
            logsumexp(-beta * (energies[0] + energies[1])) - sum(logsumexp(-beta * e) for e in energies)
        ) / np.log(2)
        assert mean_field.curve[0] - exact / 8 == pytest.approx(1 / 8, abs=2e-3)
        checked += 1
    assert checked >= 4


def test_runs_that_do_not_belong_together_are_refused():
    first, second = random_pair(20, 3, n_steps=4)
    for other in (random_pair(19, 3)[1], random_pair(20, 4)[1], random_pair(20, 3, n_steps=5)[1]):
        with pytest.raises(ValueError, match="steps, objects, clusters"):
            gc.generalization_capacity(first, other)
    for factor in (0.79, 1.26):
        with pytest.raises(ValueError, match="0.8..1.25"):
            gc.generalization_capacity(
                first, Trajectory(factor * first.betas, second.probabilities, None, second.costs)
            )
    for factor in (0.81, 1.24):
        gc.generalization_capacity(first, Trajectory(factor * first.betas, second.probabilities, None, second.costs))
    with pytest.raises(ValueError, match="entropy='cold'.*final.*same"):
        gc.generalization_capacity(first, second, entropy="cold")
    with pytest.raises(TypeError, match="t2"):
        gc.generalization_capacity(first, second.probabilities)


def hamming_information(H, delta, n_clusters, beta):
    """000 Eq. 86, in natural units."""
    K, wrong = n_clusters, np.exp(-beta)
    stay = (1 - delta) * np.log(1 + (K - 1) * wrong**2) + delta * np.log(2 + (K - 2) * wrong)
    return H - beta * delta - 2 * np.log(1 + (K - 1) * wrong) + stay


@pytest.mark.parametrize("n_clusters", [2, 3, 5])
@pytest.mark.parametrize("errors", [1, 5, 15])
def test_hamming_capacity_is_the_maximum_over_temperature(n_clusters, errors):
    rng = np.random.default_rng(7)
    labels = np.arange(60) % n_clusters
    other = labels.copy()
    other[:errors] = (other[:errors] + 1) % n_clusters
    H = entropy(np.bincount(labels) / 60)
    best = minimize_scalar(
        lambda b: -hamming_information(H, errors / 60, n_clusters, b), bounds=(0, 40), options={"xatol": 1e-9}
    )
    renamed = rng.permutation(n_clusters)[other]
    assert gc.hamming_capacity(labels, renamed, n_clusters) == pytest.approx(-best.fun / np.log(2), abs=1e-9)


def test_hamming_capacity_of_equal_and_unrelated_results():
    labels = np.repeat([0, 1, 2], [20, 20, 60])
    assert gc.hamming_capacity(labels, (labels + 1) % 3, 3) == pytest.approx(entropy([0.2, 0.2, 0.6], base=2))
    rng = np.random.default_rng(8)
    assert gc.hamming_capacity(rng.integers(3, size=3000), rng.integers(3, size=3000), 3) < 0.01


@pytest.mark.parametrize("labels2", [[0, 1], [0, 1, 3], [0, -1, 1], [0.0, 1.0, 1.0]])
def test_hamming_capacity_refuses_bad_labels(labels2):
    with pytest.raises(ValueError, match="labels2"):
        gc.hamming_capacity([0, 1, 2], labels2, 3)


@pytest.mark.parametrize("K", range(2, 9))
def test_code_capacity_is_shannons(K):
    for delta in np.linspace(0, (K - 1) / K, 13):
        wanted = np.log2(K)
        if delta > 0:
            wanted += (1 - delta) * np.log2(1 - delta) + delta * np.log2(delta / (K - 1))
        assert gc.kary_capacity(K, delta) == pytest.approx(wanted, abs=1e-12)
        assert gc.shannon_capacity(K, delta) == pytest.approx(wanted, abs=1e-12)
        best = minimize_scalar(
            lambda b, delta=delta: -kary_information(K, delta, b), bounds=(0, 60), options={"xatol": 1e-10}
        )
        assert -best.fun == pytest.approx(wanted, abs=1e-7)
    for delta in np.linspace((K - 1) / K, 1, 4):
        assert gc.kary_capacity(K, delta) == pytest.approx(0, abs=1e-12) and kary_optimal_beta(K, delta) < 1e-6
    assert gc.kary_capacity(K, 0.0) == pytest.approx(np.log2(K), abs=1e-15)
    assert kary_optimal_beta(K, 0.0) == np.inf


def test_code_information_is_the_capacity_of_a_run_of_codes():
    """000 Eq. 54 from the assignment probabilities of a code book, one symbol in ten changed."""
    K, N, beta = 4, 40, 1.3
    sent = np.arange(N) % K
    received = sent.copy()
    received[:4] = (received[:4] + 1) % K
    h = [(1.0 - np.eye(K)[symbols])[None] for symbols in (sent, received)]
    curve = gc.generalization_capacity(*(run_of(x, np.array([beta])) for x in h)).curve[0]
    assert kary_information(K, 0.1, [beta])[0] == pytest.approx(curve, abs=1e-12)


@pytest.mark.parametrize("function", [gc.kary_capacity, gc.shannon_capacity])
@pytest.mark.parametrize("K, delta", [(1, 0.1), (0, 0.1), (3, -0.1), (3, 1.1), (3, np.nan)])
def test_codes_that_do_not_exist(function, K, delta):
    with pytest.raises(ValueError, match="K=|delta="):
        function(K, delta)


def test_codes_need_an_integer_alphabet_and_temperatures():
    with pytest.raises(TypeError, match="K"):
        gc.kary_capacity(2.5, 0.1)
    for betas in ([-1.0], [np.nan]):
        with pytest.raises(ValueError, match="betas"):
            kary_information(3, 0.1, betas)


def test_more_than_the_clusters_told_apart_is_never_found(monkeypatch):
    """Two runs that agree on one cluster at step 0 and on three at step 1: H of step 1 is no information of step 0."""
    P = np.eye(3)[[np.zeros(30, int), np.arange(30) % 3]]
    for rule in ("final", "same"):
        run = Trajectory(np.array([1.0, 2.0]), P, None, np.zeros(2), capacity_entropy=rule)
        result = gc.generalization_capacity(run, run)
        np.testing.assert_allclose(result.curve, [0, np.log2(3)], atol=1e-12)
        assert result.index == 1 and result.n_effective == 3
    # Without that bound, H of step 1 at step 0 is refused.
    monkeypatch.setattr("gencap.validation.capacity._surprise", lambda *_: np.inf)
    with pytest.raises(ValueError, match=r"entropy='final' gives 1.585 bits at step 0 .*tell apart 1 clusters, 0.000"):
        gc.generalization_capacity(run, run, entropy="final")


def test_clusters_are_counted_at_the_optimum():
    """Three groups that both runs see, each divided in two at the coldest step, by chance in each run."""
    rng = np.random.default_rng(0)
    runs = []
    for _ in range(2):
        cold = 2 * (np.arange(60) % 3) + rng.permutation(np.arange(60) // 3 % 2)
        h = 8.0 * (1 - np.eye(6)[[2 * (np.arange(60) % 3), cold]])
        runs.append(run_of(h, np.array([1.0, 1.1])))
    result = gc.generalization_capacity(*runs, entropy="same")
    assert result.index == 0 and result.n_effective == 3
    assert runs[0].n_effective(-1) == 6


def test_hard_clusters_keep_their_entropy():
    """Sizes that differ between the data sets do not lower the capacity of hard labels that agree elsewhere."""
    rng = np.random.default_rng(0)
    for _ in range(20):
        labels = rng.choice(3, 60, p=[0.6, 0.3, 0.1])
        run = Trajectory(np.ones(1), np.eye(3)[labels][None], None, np.zeros(1))
        other = np.clip(np.eye(3)[np.where(rng.random(60) < 0.05, rng.integers(3, size=60), labels)], 1e-3, None)
        other = Trajectory(np.ones(1), (other / other.sum(axis=1, keepdims=True))[None], None, np.zeros(1))
        assert gc.generalization_capacity(run, other).entropy == pytest.approx(run.entropy(), abs=1e-12)


def test_one_uneven_distribution_for_all_objects_is_no_information():
    """Every object prefers the same cluster, no matter how much, and at the coldest step more clusters are taken."""
    rows = np.array([[0.7, 0.1, 0.1, 0.1], [0.97, 0.01, 0.01, 0.01], [0.4, 0.3, 0.2, 0.1]])
    run = Trajectory(np.arange(1.0, 4.0), np.repeat(rows[:, None], 60, axis=1), None, np.zeros(3))
    assert run.entropy() + 2 * np.log2(0.97) > 1.7  # what the entropy of the coldest step would give
    for rule in (None, "final", "same"):
        assert abs(gc.generalization_capacity(run, run, entropy=rule).value) < 1e-12


def test_what_all_pairings_of_unrelated_runs_have_in_common_is_nothing():
    """Objects in one large cluster or in none, as the first steps of dominant sets: chance agrees often."""
    rng = np.random.default_rng(0)
    runs = []
    for _ in range(2):
        P = np.full((400, 6), 1 / 6)
        P[rng.random(400) < 0.8] = np.eye(6)[0]
        runs.append(Trajectory(np.ones(1), P[None], None, np.zeros(1), capacity_entropy="same"))
    assert runs[0].entropy() + np.log2((runs[0].probabilities[0] ** 2).sum(axis=1)).mean() > 0.2
    assert gc.generalization_capacity(*runs).value < 0.02


@given(st.integers(0, 10**6))
@settings(max_examples=40, deadline=None)
def test_the_rate_against_renamed_objects_is_below_log_of_the_clusters_told_apart(seed):
    rng = np.random.default_rng(seed)
    P1, P2 = rng.dirichlet(np.full(4, rng.uniform(0.05, 3)) * rng.random(4), (2, 30))
    P1 += 1e-12
    P1 /= P1.sum(axis=1, keepdims=True)
    P2 = P1 if seed % 2 else P2
    rate = np.log2((P1 * P2).sum(axis=1) / (P2 @ P1.mean(axis=0))).mean()
    assert rate <= np.log2(Trajectory(np.ones(1), P1[None], None, np.zeros(1)).n_distinct()) + 1e-9


def test_labels_may_be_names_far_apart():
    labels1, labels2 = np.array([0, 0, 5 * 10**8, 7]), np.array([10**9 - 1, 10**9 - 1, 3, 10**8])
    assert gc.hamming_capacity(labels1, labels2, 10**9) == pytest.approx(1.5)
    assert gc.disagreement(labels1, labels2, 10**9) == 0
    assert gc.kary_capacity(10**30, 0.1) == pytest.approx(gc.shannon_capacity(10**30, 0.1), rel=1e-12)
    assert gc.kary_capacity(10**30, 0.1) == pytest.approx(0.9 * np.log2(1e30) - entropy([0.1, 0.9], base=2), rel=1e-9)
    with pytest.raises(ValueError, match=r"K=.* 10[*][*]150"):
        gc.kary_capacity(10**200, 0.1)
