"""Approximation set coding against explicit sets of tuples, closed forms and exact identities."""

import functools
import itertools
import warnings
from math import comb, factorial, log

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning

from gencap.theory import coding


def explicit_set(distances, gamma):
    """Approximation set as a set of tuples, by plain enumeration."""
    n_objects, n_clusters = distances.shape
    costs = {
        code: sum(distances[i, k] for i, k in enumerate(code))
        for code in itertools.product(range(n_clusters), repeat=n_objects)
    }
    limit = min(costs.values()) + gamma + 1e-12
    return {code for code, cost in costs.items() if cost <= limit}


def explicit_transform(codes, transformation, transformations, n_clusters):
    moved = set()
    for code in codes:
        if transformations == "xor":
            moved.add(tuple((c + t) % n_clusters for c, t in zip(code, transformation, strict=True)))
        else:
            renamed = [0] * len(code)
            for c, place in zip(code, transformation, strict=True):
                renamed[place] = c
            moved.add(tuple(renamed))
    return moved


def pair(n_objects, n_clusters, noise, seed):
    rng = np.random.default_rng(seed)
    labels = np.arange(n_objects) % n_clusters
    return [coding.noisy_distances(labels, noise, n_clusters, random_state=rng) for _ in range(2)]


def to_set(mask, n_objects, n_clusters):
    return {tuple(map(int, code)) for code in coding.enumerate_codes(n_objects, n_clusters)[mask]}


@pytest.mark.parametrize("n_objects, n_clusters", [(1, 2), (8, 2), (12, 2), (5, 3), (4, 4)])
def test_sets_equal_plain_enumeration(n_objects, n_clusters):
    first, second = pair(n_objects, n_clusters, 0.8, 0)
    gammas = np.array([0.0, 0.7, 2.0, 5.0, 1e3])
    sizes = coding.set_sizes(coding.code_costs(first), coding.code_costs(second), gammas)
    for g, gamma in enumerate(gammas):
        one, two = explicit_set(first, gamma), explicit_set(second, gamma)
        assert to_set(coding.approximation_set(coding.code_costs(first), gamma), n_objects, n_clusters) == one
        counted = np.exp([sizes.log_first[g], sizes.log_second[g], sizes.log_joint[g]])
        np.testing.assert_allclose(counted, [len(one), len(two), len(one & two)], rtol=1e-12)


def test_two_centroids_are_plus_and_minus_one():
    """For K=2 the difference of the distances has the law of (x+1)^2 - (x-1)^2 = 4x, x = 1 + noise N."""
    distances = coding.noisy_distances(np.zeros(20_000, dtype=int), 0.5, 2, random_state=0)
    difference = distances[:, 1] - distances[:, 0]
    assert difference.mean() == pytest.approx(4, abs=0.05)
    assert difference.std() == pytest.approx(2, rel=0.02)


@pytest.mark.parametrize("transformations", ["xor", "permutation"])
@pytest.mark.parametrize("n_clusters", [2, 3])
def test_scores_equal_intersections_of_explicit_sets(transformations, n_clusters):
    n_objects, gamma = 5, 3.0
    first, second = pair(n_objects, n_clusters, 0.6, 1)
    book = coding.draw_codebook(9, n_objects, n_clusters, transformations=transformations, random_state=2)
    received = coding.transform(second, book[4], transformations=transformations)
    scores = coding.decoding_scores(first, received, book, gamma, transformations=transformations)
    arrived = explicit_transform(explicit_set(second, gamma), book[4], transformations, n_clusters)
    assert explicit_set(received, gamma) == arrived
    sender = explicit_set(first, gamma)
    expected = [len(explicit_transform(sender, t, transformations, n_clusters) & arrived) for t in book]
    np.testing.assert_array_equal(scores, expected)


@pytest.mark.parametrize("n_objects, n_clusters", [(10, 2), (5, 3)])
def test_step_8b_is_exact_for_xor(n_objects, n_clusters):
    """Summed over the whole group, the overlaps are |C1| |C2|, whatever the problems are."""
    first, second = pair(n_objects, n_clusters, 0.9, 3)
    group = coding.enumerate_codes(n_objects, n_clusters).astype(int)
    for gamma in (0.0, 1.0, 4.0):
        scores = coding.decoding_scores(first, second, group, gamma)
        sizes = [coding.approximation_set(coding.code_costs(d), gamma).sum() for d in (first, second)]
        assert scores.sum() == sizes[0] * sizes[1]


def test_step_8b_fails_for_permutations():
    """All 8! permutations: the mean overlap is not |C1| |C2| / |Sigma|, because permutations keep the type."""
    first, second = pair(8, 2, 0.5, 4)
    group = np.array(list(itertools.permutations(range(8))))
    scores = coding.decoding_scores(first, second, group, 4.0, transformations="permutation")
    sizes = [coding.approximation_set(coding.code_costs(d), 4.0).sum() for d in (first, second)]
    ratio = sizes[0] * sizes[1] / comb(8, 4) / scores.mean()
    assert 1.5 < ratio < 4


def test_channel_equals_protocol_played_step_by_step():
    """The same random numbers, but every set built as Python tuples."""
    n_objects, gamma, n_messages, n_codebooks = 6, 2.5, 5, 40
    first, second = pair(n_objects, 2, 0.8, 5)
    result = coding.simulate_channel(first, second, gamma, n_messages, n_codebooks=n_codebooks, random_state=6)
    rng = np.random.default_rng(6)
    books = rng.integers(2, size=(n_codebooks, n_messages, n_objects))
    messages = rng.integers(n_messages, size=n_codebooks)
    sender, receiver = explicit_set(first, gamma), explicit_set(second, gamma)
    errors, random_errors, competitors, ratios = [], [], [], []
    for book, sent in zip(books, messages, strict=True):
        arrived = explicit_transform(receiver, book[sent], "xor", 2)
        scores = np.array([len(explicit_transform(sender, t, "xor", 2) & arrived) for t in book])
        best = np.flatnonzero(scores == scores.max())
        errors.append(not (best.size == 1 and best[0] == sent))
        random_errors.append(1 - (sent in best) / best.size)
        competitors.append((scores >= scores[sent]).sum() - 1)
        ratios.append(scores.sum() / scores[sent] - 1)
    assert 0 < np.mean(errors) < 1
    assert result.error == pytest.approx(np.mean(errors))
    assert result.error_random_tie == pytest.approx(np.mean(random_errors))
    assert result.union == pytest.approx(np.mean(competitors))
    assert result.markov == pytest.approx(np.mean(ratios))


def test_bound_is_markov_step_over_the_whole_group():
    first, second = pair(8, 2, 0.6, 7)
    result = coding.simulate_channel(first, second, 3.0, 16, n_codebooks=4000, random_state=8)
    # M-1 wrong messages in the simulation, M in Eq. 10
    assert result.markov == pytest.approx(result.bound * 15 / 16, rel=0.05)


@pytest.mark.parametrize("transformations", ["xor", "permutation"])
def test_bound_counts_the_transformations_that_differ(transformations):
    """Two of eight objects in the smaller cluster: 28 distinct images of the best code by permutation."""
    rng = np.random.default_rng(3)
    first, second = (coding.noisy_distances([0, 0, 1, 1, 1, 1, 1, 1], 0.5, 2, random_state=rng) for _ in range(2))
    assert sorted(np.bincount(first.argmin(axis=1))) == [2, 6]
    sets = [explicit_set(distances, 4.0) for distances in (first, second)]
    number = {"xor": 2**8, "permutation": 28}[transformations]
    wanted = 5 * len(sets[0]) * len(sets[1]) / (number * len(sets[0] & sets[1]))
    result = coding.simulate_channel(
        first, second, 4.0, 5, n_codebooks=10, transformations=transformations, random_state=0
    )
    assert result.bound == pytest.approx(wanted)


def test_disjoint_sets_are_always_decoded_wrongly():
    first = np.array([[0.0, 4.0]] * 6)
    result = coding.simulate_channel(first, first[:, ::-1], 1.0, 4, n_codebooks=50, random_state=0)
    assert result.error == 1
    assert result.bound == result.markov == np.inf
    sizes = coding.set_sizes(coding.code_costs(first), coding.code_costs(first[:, ::-1]), [1.0])
    assert coding.information(sizes, coding.log_transformations(6), 6)[0] == -np.inf


@pytest.mark.parametrize("n_clusters", [2, 3, 4])
def test_noise_free_balanced_problem_carries_log_k(n_clusters):
    n_objects = 8 if n_clusters != 3 else 9
    first, second = pair(n_objects, n_clusters, 0.0, 0)
    sizes = coding.set_sizes(coding.code_costs(first), coding.code_costs(second), [0.0])
    number = coding.log_transformations(n_objects, n_clusters)
    assert coding.information(sizes, number, n_objects, unit="nats")[0] == pytest.approx(log(n_clusters), abs=1e-12)
    assert coding.information(sizes, number, n_objects)[0] == pytest.approx(np.log2(n_clusters), abs=1e-12)


def test_number_of_transformations():
    assert coding.log_transformations(7, 3) == pytest.approx(7 * log(3))
    multinomial = factorial(9) / (factorial(2) * factorial(3) * factorial(4))
    assert coding.log_transformations(9, 3, transformations="permutation", sizes=[2, 3, 4]) == pytest.approx(
        log(multinomial)
    )
    assert coding.log_transformations(12, 3, transformations="entropy", sizes=[0, 6, 6]) == pytest.approx(12 * log(2))
    kinds, sizes = ("permutation", "entropy"), [2000, 3000, 4000]
    large = [coding.log_transformations(9000, 3, transformations=kind, sizes=sizes) for kind in kinds]
    assert large[0] == pytest.approx(large[1], rel=2e-3)
    assert large[0] < large[1]


@pytest.mark.parametrize("n_objects, n_clusters", [(9, 2), (5, 3)])
def test_lattice_counts_equal_enumeration(n_objects, n_clusters):
    first, second = (np.rint(2 * d) for d in pair(n_objects, n_clusters, 0.7, 9))
    lattice = coding.lattice_set_sizes(first, second, 40)
    counted = coding.set_sizes(coding.code_costs(first), coding.code_costs(second), np.arange(41))
    for name in ("log_first", "log_second", "log_joint"):
        np.testing.assert_allclose(getattr(lattice, name), getattr(counted, name), atol=1e-9)


@pytest.mark.parametrize("noise, step, top", [(0.7, 0.5, 320), (1.0, 1.0, 480)])
def test_canonical_and_microcanonical_maxima_agree(noise, step, top):
    """n=1024: the maxima of I agree within .01 bit, printed form included, although the printed sizes do not."""
    first, second = (np.rint(d / step) for d in pair(1024, 2, noise, 1))
    exact = coding.lattice_set_sizes(first, second, top)
    shown = np.arange(0, top + 1, 8)
    number = coding.log_transformations(1024)
    counted = coding.information(exact, number, 1024)
    legendre = coding.boltzmann_set_sizes(first, second, shown)
    estimate = coding.information(legendre, number, 1024)
    printed = coding.boltzmann_set_sizes(first, second, shown, legendre=False)
    assert 0 < counted.argmax() < top
    assert estimate.max() == pytest.approx(counted.max(), abs=0.01)
    assert coding.information(printed, number, 1024).max() == pytest.approx(counted.max(), abs=0.01)
    inside = np.isfinite(legendre.log_joint) & (shown > 0)
    np.testing.assert_allclose(legendre.log_first[inside], exact.log_first[shown][inside], atol=0.006 * 1024)
    np.testing.assert_allclose(estimate[inside], counted[shown][inside], atol=0.01)
    assert exact.log_first[top] - printed.log_first[-1] > 0.1 * 1024  # Eq. 14 errs at leading order


def test_sizes_beyond_the_range_of_floats():
    """4000 objects: 2^4000 codes do not fit into a float; against exact sums of binomials."""
    alike = np.tile([0.0, 1.0], (4000, 1))
    changed = np.r_[alike[:3000], alike[3000:, ::-1]]  # the best codes differ in 1000 places
    exact = coding.lattice_set_sizes(alike, changed, 600)
    counts = [comb(4000, j) for j in range(601)]
    expected = [log(sum(counts[: top + 1])) for top in (0, 1, 300, 600)]
    np.testing.assert_allclose(exact.log_first[[0, 1, 300, 600]], expected, rtol=1e-10)
    assert exact.log_joint[499] == -np.inf
    assert exact.log_joint[500] == pytest.approx(log(comb(1000, 500)), rel=1e-10)


def test_binomial_sizes_and_legendre_rate():
    """All objects alike: |C_gamma| is a sum of binomials, and the Legendre transform is the binary entropy."""
    distances = np.tile([0.0, 1.0], (300, 1))
    exact = coding.lattice_set_sizes(distances, distances, 90)
    assert exact.log_first[60] == pytest.approx(log(sum(comb(300, j) for j in range(61))), rel=1e-10)
    np.testing.assert_allclose(exact.log_joint, exact.log_first, rtol=1e-10)
    p = 0.2
    entropy = -p * log(p) - (1 - p) * log(1 - p)
    estimate = coding.boltzmann_set_sizes(distances, distances, [0.0, 60.0, 1000.0])
    np.testing.assert_allclose(estimate.log_first, [0, 300 * entropy, 300 * log(2)], rtol=1e-6, atol=1e-4)
    np.testing.assert_allclose(estimate.log_joint, estimate.log_first, rtol=1e-5, atol=1e-4)


def brute_posterior(costs, weight):
    weights = [weight(c - min(costs)) for c in costs]
    return [w / sum(weights) for w in weights]


@pytest.mark.parametrize(
    "kind, weight",
    [
        ("boltzmann", lambda r: np.exp(-1.3 * r)),
        ("fermi", lambda r: 1 / (1 + np.exp(1.3 * (r - 2.0)))),
        ("binary", lambda r: float(r <= 2.0)),
    ],
)
def test_posterior_agreement_against_plain_sums(kind, weight):
    costs = [coding.code_costs(d) for d in pair(6, 2, 0.7, 10)]
    posteriors = [coding.posterior(c, 1.3, weights=kind, gamma=2.0) for c in costs]
    expected = [brute_posterior(list(c), weight) for c in costs]
    np.testing.assert_allclose(posteriors, expected, rtol=1e-6, atol=1e-12)
    plain = sum(p * q for p, q in zip(*expected, strict=True))
    assert coding.posterior_agreement(*posteriors) == pytest.approx(plain, rel=1e-6)


def test_binary_agreement_is_information():
    costs = [coding.code_costs(d) for d in pair(8, 2, 0.7, 11)]
    agreement = coding.posterior_agreement(*(coding.posterior(c, 0.0, weights="binary", gamma=6.0) for c in costs))
    number = coding.log_transformations(8)
    expected = coding.information(coding.set_sizes(*costs, [6.0]), number, 8)[0]
    assert (number + np.log(agreement)) / 8 / np.log(2) == pytest.approx(expected, rel=1e-12)


def test_weights_never_rise_with_cost():
    costs = coding.code_costs(pair(6, 2, 0.7, 12)[0])
    order = costs.argsort()
    for kind in ("boltzmann", "fermi", "binary"):
        assert (np.diff(coding.posterior(costs, 2.0, weights=kind, gamma=3.0)[order]) <= 0).all()
    np.testing.assert_allclose(coding.posterior(costs, 0.0), 1 / costs.size)


problems = st.tuples(st.integers(2, 6), st.integers(2, 3), st.floats(0, 1.5), st.integers(0, 10**6))


@settings(max_examples=40, deadline=None)
@given(problems, st.floats(0, 20), st.sampled_from(["xor", "permutation"]))
def test_transforming_both_problems_changes_nothing(problem, gamma, transformations):
    n_objects, n_clusters, _, seed = problem
    first, second = pair(*problem)
    tau = coding.draw_codebook(2, n_objects, n_clusters, transformations=transformations, random_state=seed)[0]
    moved = [coding.transform(d, tau, transformations=transformations) for d in (first, second)]
    before, after = (
        coding.set_sizes(coding.code_costs(a), coding.code_costs(b), [gamma]) for a, b in ((first, second), moved)
    )
    for name in ("log_first", "log_second", "log_joint"):
        np.testing.assert_array_equal(getattr(before, name), getattr(after, name))


@settings(max_examples=40, deadline=None)
@given(problems, st.floats(-50, 50), st.floats(0.01, 100))
def test_constants_drop_out_and_units_follow(problem, constant, unit):
    first, second = pair(*problem)
    gammas = np.array([0.0, 1.3, 4.1])
    before = coding.set_sizes(coding.code_costs(first), coding.code_costs(second), gammas)
    changed = [coding.code_costs(unit * d + constant) for d in (first, second)]
    after = coding.set_sizes(*changed, unit * gammas)
    for name in ("log_first", "log_second", "log_joint"):
        np.testing.assert_array_equal(getattr(before, name), getattr(after, name))
        assert (np.diff(np.exp(getattr(before, name))) >= 0).all()


@pytest.mark.parametrize("unit", [1e-12, 1e12])
def test_no_unit_is_too_small_or_too_large(unit):
    first, second = pair(6, 3, 0.7, 1)
    gammas = np.array([0.0, 1.3, 4.1])
    for name in ("log_first", "log_second", "log_joint"):
        before, after = (
            getattr(coding.set_sizes(coding.code_costs(u * first), coding.code_costs(u * second), u * gammas), name)
            for u in (1, unit)
        )
        np.testing.assert_array_equal(before, after)


@pytest.mark.parametrize("legendre", [True, False])
def test_a_minimum_that_was_not_found_is_reported_once(monkeypatch, legendre):
    problem, gammas = pair(20, 3, 0.2, 0), [0.5, 1.0, 2.0]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = coding.boltzmann_set_sizes(*problem, gammas, legendre=legendre)
    monkeypatch.setattr(coding, "minimize", functools.partial(coding.minimize, options={"maxiter": 1}))
    message = rf"not found for \d of {9 if legendre else 3} set sizes"
    with pytest.warns(ConvergenceWarning, match=message) as caught:
        short = coding.boltzmann_set_sizes(*problem, gammas, legendre=legendre)
    assert len(caught) == 1 and caught[0].filename == __file__
    assert (short.log_first >= found.log_first - 1e-9).all()


@settings(max_examples=40, deadline=None)
@given(problems, st.floats(0, 30))
def test_legendre_estimate_is_an_upper_bound(problem, gamma):
    """Chernoff: a Boltzmann sum times exp(beta gamma) counts every member of the set with a weight of at least 1."""
    first, second = pair(*problem)
    exact = coding.set_sizes(coding.code_costs(first), coding.code_costs(second), [gamma])
    estimate = coding.boltzmann_set_sizes(first, second, [gamma])
    for name in ("log_first", "log_second", "log_joint"):
        assert getattr(estimate, name)[0] >= getattr(exact, name)[0] - 1e-6


@settings(max_examples=25, deadline=None)
@given(problems, st.floats(0, 10), st.integers(2, 20))
def test_chain_of_inequalities(problem, gamma, n_messages):
    first, second = pair(*problem)
    result = coding.simulate_channel(first, second, gamma, n_messages, n_codebooks=20, random_state=problem[3])
    assert 0 <= result.error_random_tie <= result.error <= min(1, result.union)
    assert result.union <= result.markov * (1 + 1e-12)
    again = coding.simulate_channel(first, second, gamma, n_messages, n_codebooks=20, random_state=problem[3])
    assert result == again


GOOD = np.array([[0.0, 1.0], [2.0, 1.0]])


@pytest.mark.parametrize(
    "call, error, words",
    [
        (lambda: coding.noisy_distances([0, 2], 1.0), ValueError, "labels"),
        (lambda: coding.noisy_distances([0, 1], -1.0), ValueError, "noise"),
        (lambda: coding.noisy_distances([0, 0], 1.0, 1), ValueError, "n_clusters=1"),
        (lambda: coding.enumerate_codes(40, 2), ValueError, "40 objects"),
        (lambda: coding.code_costs(np.zeros((30, 2))), ValueError, "30 objects"),
        (lambda: coding.code_costs([[1.0], [2.0]]), ValueError, "distances has 1 column"),
        (lambda: coding.code_costs([[1.0, np.nan]]), ValueError, "NaN"),
        (lambda: coding.approximation_set([1.0, 2.0], -1.0), ValueError, "gamma=-1.0"),
        (lambda: coding.approximation_set([1.0, np.inf], 1.0), ValueError, "costs"),
        (lambda: coding.set_sizes([1.0, 2.0], [1.0], [0.0]), ValueError, "2 codes and costs2 1"),
        (lambda: coding.set_sizes([1.0, 2.0], [1.0, 2.0], []), ValueError, "gammas"),
        (lambda: coding.set_sizes([1.0, 2.0], [1.0, 2.0], [-0.5]), ValueError, "gammas"),
        (lambda: coding.lattice_set_sizes(GOOD + 0.5, GOOD, 3), ValueError, "integers"),
        (lambda: coding.lattice_set_sizes(GOOD, GOOD[:1], 3), ValueError, "distances2 has shape .* distances1"),
        (lambda: coding.lattice_set_sizes(GOOD, GOOD, 2.5), TypeError, "max_gamma"),
        (lambda: coding.lattice_set_sizes(np.zeros((2100, 2)), np.zeros((2100, 2)), 3), ValueError, "2100 objects"),
        (lambda: coding.log_transformations(3, 2, transformations="rotation"), ValueError, "rotation"),
        (lambda: coding.log_transformations(3, 2, transformations="permutation"), ValueError, "sizes"),
        (lambda: coding.log_transformations(3, 2, transformations="entropy", sizes=[1, 1]), ValueError, "sum to 3"),
        (lambda: coding.draw_codebook(1, 4), ValueError, "n_messages=1"),
        (lambda: coding.transform(GOOD, [0, 0], transformations="permutation"), ValueError, "permutations of 0..1"),
        (lambda: coding.transform(GOOD, [0, 2]), ValueError, "0..1"),
        (lambda: coding.decoding_scores(GOOD, GOOD, np.zeros((3, 5), dtype=int), 1.0), ValueError, r"\(M, 2\)"),
        (lambda: coding.decoding_scores(GOOD, GOOD, np.zeros((3, 2)), 1.0), ValueError, "float64"),
        (lambda: coding.simulate_channel(GOOD, GOOD, -1.0, 4), ValueError, "gamma"),
        (lambda: coding.simulate_channel(GOOD, GOOD, 1.0, True), TypeError, "n_messages"),
        (lambda: coding.simulate_channel(GOOD, GOOD, 1.0, 4, transformations="swap"), ValueError, "swap"),
        (lambda: coding.posterior([1.0, 2.0], -1.0), ValueError, "beta"),
        (lambda: coding.posterior([1.0, 2.0], 1.0, weights="gauss"), ValueError, "gauss"),
        (lambda: coding.posterior_agreement([0.5, 0.5], [1.0]), ValueError, "posterior2 has shape"),
        (lambda: coding.posterior_agreement([0.5, 0.5], [0.5, 0.6]), ValueError, "posterior2"),
    ],
)
def test_bad_input_names_the_argument(call, error, words):
    with pytest.raises(error, match=words):
        call()


def test_unit_of_information_is_checked():
    sizes = coding.set_sizes([0.0, 1.0], [0.0, 1.0], [0.0])
    with pytest.raises(ValueError, match="'nat'"):
        coding.information(sizes, 1.0, 1, unit="nat")


def test_problems_in_which_all_codes_cost_the_same():
    flat = np.full((4, 2), 3.0)
    sizes = coding.boltzmann_set_sizes(flat, flat, [0.0, 1.0])
    for logs in (sizes.log_first, sizes.log_second, sizes.log_joint):
        np.testing.assert_allclose(logs, 4 * np.log(2))


def test_codebooks_too_large_are_refused_before_they_are_drawn():
    with pytest.raises(ValueError, match="1000000000 messages and 40 objects would hold 4e[+]10 numbers"):
        coding.draw_codebook(10**9, 40)
    d = np.zeros((6, 2))
    with pytest.raises(ValueError, match="would hold 6e[+]11 numbers"):
        coding.simulate_channel(d, d, 1.0, 10**7, n_codebooks=10**4)
