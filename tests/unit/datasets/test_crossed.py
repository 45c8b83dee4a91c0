"""Crossed labelings against the probabilities that they are made of."""

import numpy as np
import pytest
from scipy import stats

import gencap as gc

counts, bits = gc.datasets.crossed_counts, gc.datasets.crossed_bits


def test_counts_have_the_expected_shares():
    plane = counts(60_000, 3, total=20, orthogonality=0.75, random_state=0)
    assert plane.data.shape == (60_000, 3) and (plane.data.sum(axis=1) == 20).all()
    for a in range(3):
        for b in range(3):
            members = (plane.labels == (a, b)).all(axis=1)
            assert members.mean() == pytest.approx(1 / 9, abs=0.01)
            first, second = a / 2, 0.75 * b / 2 + 0.25 * a / 2
            expected = np.array([first / 2, second / 2, 1 - (first + second) / 2])
            np.testing.assert_allclose(plane.data[members].mean(axis=0) / 20, expected, atol=0.01)


def test_without_orthogonality_both_dimensions_tell_the_first_labelling():
    plane = counts(5000, 4, total=200, orthogonality=0.0, random_state=1)
    for column in (0, 1):
        assert stats.spearmanr(plane.data[:, column], plane.labels[:, 0])[0] > 0.95
    assert abs(stats.spearmanr(plane.data[:, 1], plane.labels[:, 1])[0]) < 0.05


def bayes(data, labels, features, column, flip):
    """Share of objects whose most probable cluster, the profiles known, is their own; ties by lot."""
    own = data[:, features == column]
    K, m = labels.max() + 1, own.shape[1]
    profiles = np.arange(m) * K // m == np.arange(K)[:, None]
    logs = stats.bernoulli(np.where(profiles, 1 - flip, flip)[:, None]).logpmf(own.astype(int)).sum(axis=2).T
    best = np.isclose(logs, logs.max(axis=1, keepdims=True))
    return (best[np.arange(len(data)), labels[:, column]] / best.sum(axis=1)).mean()


@pytest.mark.parametrize(("K", "expected"), [(2, 0.972), (3, 0.907), (4, 0.792)])
def test_the_best_precision_is_the_ceiling_of_the_published_tables(K, expected):
    made = bits(40_000, K, features=(10, 4), random_state=0)
    assert bayes(made.data, made.labels, made.features, 1, 0.1) == pytest.approx(expected, abs=0.006)


def test_bits_without_flips_are_blocks():
    made = bits(50, 3, features=(6, 3, 4), flip=0.0, random_state=2)
    assert made.data.shape == (50, 13) and made.labels.shape == (50, 3) and set(np.unique(made.data)) == {0.0, 1.0}
    for column, m in enumerate((6, 3, 4)):
        own = made.data[:, made.features == column]
        for k in range(3):
            members = own[made.labels[:, column] == k]
            assert len(members) and (members == (np.arange(m) * 3 // m == k)).all()


def test_flips_have_their_share():
    clean, noisy = (bits(4000, 2, features=(4, 4), flip=flip, random_state=3) for flip in (0.0, 0.2))
    np.testing.assert_array_equal(clean.labels, noisy.labels)
    assert (clean.data != noisy.data).mean() == pytest.approx(0.2, abs=0.01)


def test_the_same_seed_gives_the_same_set():
    for make in (counts, bits):
        one, again, other = (make(20, random_state=seed) for seed in (5, 5, 6))
        np.testing.assert_array_equal(one.data, again.data)
        assert (one.data != other.data).any()


@pytest.mark.parametrize(
    ("make", "words", "message"),
    [
        (counts, {"n_objects": 0}, "n_objects=0"),
        (counts, {"total": 0}, "total=0"),
        (counts, {"n_clusters": 1}, "n_clusters=1"),
        (counts, {"orthogonality": 1.5}, "orthogonality=1.5"),
        (counts, {"random_state": -1}, "random_state=-1"),
        (bits, {"n_objects": 2.5}, "n_objects must be an integer"),
        (bits, {"n_clusters": 1}, "n_clusters=1"),
        (bits, {"n_clusters": 5}, "features=4 must be >= 5"),
        (bits, {"features": (4, 0)}, "features=0"),
        (bits, {"flip": -0.1}, "flip=-0.1"),
        (bits, {"flip": np.nan}, "flip=nan"),
    ],
)
def test_wrong_arguments_are_named(make, words, message):
    with pytest.raises((ValueError, TypeError), match=message):
        make(**words)
