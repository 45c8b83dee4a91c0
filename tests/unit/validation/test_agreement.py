"""Metrics against scikit-learn, enumeration of all label permutations, and the properties that define them."""

import itertools

import numpy as np
import pytest
import sklearn.metrics
from hypothesis import given, settings
from hypothesis import strategies as st

from gencap.trajectory import entropy_bits
from gencap.validation import agreement as metrics

SIZES = st.integers(1, 30)


@st.composite
def labelings(draw, count, n_clusters=5):
    """`count` labelings of the same objects."""
    n = draw(SIZES)
    return [np.array(draw(st.lists(st.integers(0, n_clusters - 1), min_size=n, max_size=n))) for _ in range(count)]


def mutual_information_bits(a, b):
    return sklearn.metrics.mutual_info_score(a, b) / np.log(2)


def test_entropy_of_known_distributions():
    assert entropy_bits([0.5, 0.5]) == 1
    assert entropy_bits([1.0, 0, 0]) == 0
    assert entropy_bits(np.full(8, 1 / 8)) == 3
    assert np.allclose(entropy_bits([[0.5, 0.25, 0.25], [0, 1, 0]]), [1.5, 0])
    assert entropy_bits([0.2, 0.2, 0.6]) == pytest.approx(1.37095, abs=1e-5)


@given(labelings(2, 4))
@settings(max_examples=60, deadline=None)
def test_align_labels_is_the_best_of_all_permutations(pair):
    first, second = pair
    aligned = metrics.align_labels(first, second, 4)
    best = max((first == np.array(p)[second]).sum() for p in itertools.permutations(range(4)))
    assert (first == aligned).sum() == best
    assert np.array_equal(metrics.coclustering(aligned), metrics.coclustering(second))


def test_align_labels_infers_the_number_of_clusters():
    assert metrics.align_labels([0, 0, 1, 1], [3, 3, 0, 0]).tolist() == [0, 0, 1, 1]
    assert metrics.align_labels([0, 0, 0], [0, 0, 0], 1).tolist() == [0, 0, 0]


@given(labelings(2, 4))
@settings(max_examples=60, deadline=None)
def test_matched_precision_is_the_best_injective_matching(pair):
    first, second = pair
    best = max((second == np.array(p)[first]).sum() for p in itertools.permutations(range(4)))
    assert metrics.matched_precision(first, second) == pytest.approx(best / first.size)


def test_matched_precision_counts_surplus_clusters_as_wrong():
    assert metrics.matched_precision([0, 0, 1, 2], ["a", "a", "b", "b"]) == 0.75
    assert metrics.matched_precision([0, 0, 0, 0], ["a", "a", "b", "c"]) == 0.5


@given(labelings(2))
@settings(max_examples=80, deadline=None)
def test_mutual_information_and_variation_agree_with_scikit_learn(pair):
    first, second = pair
    information = mutual_information_bits(first, second)
    entropies = mutual_information_bits(first, first), mutual_information_bits(second, second)
    assert metrics.variation_of_information(first, second) == pytest.approx(sum(entropies) - 2 * information, abs=1e-9)
    if np.unique(second).size > 1:
        expected = information / entropies[1]
        assert metrics.normalized_mutual_information(first, second) == pytest.approx(expected, abs=1e-9)


@given(labelings(3))
@settings(max_examples=150, deadline=None)
def test_variation_of_information_is_a_metric(three):
    a, b, c = three
    vi = metrics.variation_of_information
    assert vi(a, b) == pytest.approx(vi(b, a), abs=1e-12)
    assert vi(a, b) >= 0 and vi(a, a) == pytest.approx(0, abs=1e-12)
    same_partition = np.array_equal(metrics.coclustering(a), metrics.coclustering(b))
    assert same_partition == (vi(a, b) < 1e-9)
    assert vi(a, c) <= vi(a, b) + vi(b, c) + 1e-9
    assert vi(a, b) <= np.log2(a.size) + 1e-9


@given(labelings(2), st.permutations(range(5)), st.integers(0, 1000))
@settings(max_examples=60, deadline=None)
def test_names_of_clusters_and_order_of_objects_do_not_matter(pair, names, seed):
    first, second = pair
    order = np.random.default_rng(seed).permutation(first.size)
    renamed = np.array(names)[first][order]
    for metric in (metrics.matched_precision, metrics.variation_of_information):
        assert metric(renamed, second[order]) == pytest.approx(metric(first, second), abs=1e-12)
        assert metric(renamed.astype(str), second[order]) == metric(renamed, second[order])


def test_normalised_mutual_information_does_not_punish_finer_clusterings():
    assert metrics.normalized_mutual_information(np.arange(8), np.arange(8) // 4) == pytest.approx(1)
    assert metrics.normalized_mutual_information(np.arange(8) // 4, np.arange(8)) == pytest.approx(1 / 3)
    assert metrics.normalized_mutual_information([0, 1, 0, 1], [0, 0, 1, 1]) == 0


def test_coclustering_of_labels_and_of_probabilities():
    assert metrics.coclustering([0, 1, 0]).tolist() == [[1, 0, 1], [0, 1, 0], [1, 0, 1]]
    labels = np.random.default_rng(1).integers(3, size=20)
    assert np.array_equal(metrics.coclustering(np.eye(3)[labels]), metrics.coclustering(labels))
    P = np.random.default_rng(2).dirichlet(np.ones(2), size=3)
    together = np.zeros((3, 3))
    for state in itertools.product(range(2), repeat=3):  # all assignments of three independent objects
        together += np.prod(P[np.arange(3), state]) * metrics.coclustering(np.array(state))
    assert np.allclose(metrics.coclustering(P), together)


@pytest.mark.parametrize(
    "metric", [metrics.matched_precision, metrics.normalized_mutual_information, metrics.variation_of_information]
)
@pytest.mark.parametrize(
    ("first", "second", "message"),
    [
        ([0, 1], [0, 1, 1], "has 3 entries, accepted is one for each of the 2"),
        ([], [], "non-empty 1-D"),
        ([[0], [1]], [0, 1], r"non-empty 1-D array of labels.* shape \(2, 1\)"),
        ([0.0, 1.0], [0, 1], "integers or names, got dtype float64"),
    ],
)
def test_bad_labels(metric, first, second, message):
    with pytest.raises(ValueError, match=message):
        metric(first, second)


def test_bad_input():
    with pytest.raises(ValueError, match="reference has a single class"):
        metrics.normalized_mutual_information([0, 1], [1, 1])
    with pytest.raises(ValueError, match=r"labels2 holds values 0\.\.3, accepted is 0\.\.1"):
        metrics.align_labels([0, 1], [0, 3], 2)
    with pytest.raises(ValueError, match="labels2 has 3 entries"):
        metrics.align_labels([0, 1], [0, 1, 1])
    with pytest.raises(ValueError, match="n_clusters=0"):
        metrics.align_labels([0, 1], [0, 1], 0)
    for p in ([0.5, 0.5003], [-0.1, 1.1], [np.nan, 1.0]):
        with pytest.raises(ValueError, match="p of shape .* must hold numbers >= 0 that sum to 1"):
            entropy_bits(p)
    with pytest.raises(ValueError, match="p .*must hold"):
        entropy_bits([])
    with pytest.raises(ValueError, match="must hold numbers >= 0"):
        metrics.coclustering([[0.5, 0.6], [0.5, 0.5]])


def test_probabilities_of_single_precision_are_taken():
    p = np.random.default_rng(0).dirichlet(np.ones(1000)).astype(np.float32)
    assert entropy_bits(p * np.float32(1.00005)) == pytest.approx(entropy_bits(p), abs=1e-3)


def test_mixed_labels_are_named_and_no_information_is_no_negative_zero():
    with pytest.raises(TypeError, match="reference must be all integers or all names"):
        metrics.matched_precision([0, 1], [None, 1])
    assert str(entropy_bits([1.0])) == "0.0"


def test_labels_as_ids_are_aligned_without_a_table_of_all_of_them():
    assert metrics.align_labels([0, 10**9], [0, 5]).tolist() == [0, 10**9]
    assert metrics.align_labels([0, 100_000], [0, 1]).tolist() == [0, 100_000]
    aligned = metrics.align_labels([7, 7, 7], [0, 1, 2], 8)  # more clusters than labels1 has: all get different names
    assert len(set(aligned)) == 3 and (aligned == 7).sum() == 1 and aligned.min() >= 0 and aligned.max() < 8
    with pytest.raises(ValueError, match=r"20000 x 20000 labels would hold 4e\+08 numbers"):
        metrics.align_labels(np.arange(20_000), np.arange(20_000))
    with pytest.raises(ValueError, match="would hold"):
        metrics.matched_precision(np.arange(20_000), np.arange(20_000))


@pytest.mark.parametrize("seed", range(8))
def test_alignment_agrees_as_much_as_the_best_permutation(seed):
    rng = np.random.default_rng(seed)
    first, second = rng.choice(5, 12, p=[0.5, 0.5, 0, 0, 0] if seed % 2 else [0.2] * 5), rng.integers(5, size=12)
    aligned = metrics.align_labels(first, second, 5)
    best = max((np.array(p)[second] == first).sum() for p in itertools.permutations(range(5)))
    assert (aligned == first).sum() == best
    assert len(set(zip(aligned, second, strict=True))) == len(set(second)) == len(set(aligned))
