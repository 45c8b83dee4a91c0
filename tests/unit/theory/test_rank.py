"""Rank rules, image patches and the number of roles against loops, enumeration and matrices of known rank."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gencap import datasets
from gencap.datasets import images
from gencap.datasets.generators import ROLE_SIZES
from gencap.models.roles import NoisyOrFactorization
from gencap.theory import rank as ranks
from gencap.validation import selection
from gencap.views import measures


@pytest.fixture
def exact():
    """A matrix of rank exactly 5."""
    rng = np.random.default_rng(3)
    return rng.normal(size=(60, 5)) @ rng.normal(size=(5, 24))


@pytest.fixture
def blocks():
    """A Boolean matrix of rank exactly 6: disjoint blocks of different size (the rank adds one after the other)."""
    roles = np.kron(np.eye(6), np.ones((1, 9)))
    return roles[np.random.default_rng(0).permutation(np.repeat(np.arange(6), [26, 23, 20, 17, 14, 11]))]


# --- images ---------------------------------------------------------------------------------------------------


@settings(deadline=None, max_examples=30)
@given(st.integers(1, 4), st.integers(1, 5), st.integers(1, 6), st.integers(0, 3))
def test_patches_and_back(size, rows, columns, border):
    border = min(border, size - 1)
    image = np.random.default_rng(0).random((rows * size + border, columns * size + border))
    patches = images.image_patches(image, size=size)
    assert patches.shape == (rows * columns, size * size)
    np.testing.assert_array_equal(patches[-1].reshape(size, size)[0, 0], image[(rows - 1) * size, (columns - 1) * size])
    back = images.image_from_patches(patches, image.shape[1])
    np.testing.assert_array_equal(back, image[: rows * size, : columns * size])


def test_psnr_closed_form():
    image = np.zeros((4, 4))
    assert images.psnr(image, image + 255.0) == pytest.approx(0.0)
    assert images.psnr(image, image + 25.5) == pytest.approx(20.0)
    assert images.psnr(image, image) == np.inf
    assert images.psnr(image, image + 0.1, peak=1.0) == pytest.approx(20.0)


def test_psnr_of_every_rank_equals_direct_reconstruction(exact):
    noisy = exact + np.random.default_rng(1).normal(scale=0.5, size=exact.shape)
    curve = ranks.reconstruction_psnr(noisy, exact)
    direct = [images.psnr(exact, ranks.low_rank(noisy, k)) for k in range(1, 25)]
    np.testing.assert_allclose(curve, direct)


# --- rank rules -----------------------------------------------------------------------------------------------


def test_owen_perry_residual_vanishes_at_the_true_rank(exact):
    selection = ranks.bicross_validation_rank(exact, n_repeats=5, random_state=0)
    assert (selection.costs[:, 3] > 1e-3).all()
    assert (selection.costs[:, 4:] < 1e-18).all()
    assert selection.rank == 5 and (selection.selected == 5).all()


@pytest.mark.parametrize("rank", [2, 5])
def test_owen_perry_equals_the_printed_formula(rank):
    X, p, q = np.random.default_rng(0).normal(size=(9, 8)), 4, 3
    X[p:, q:] = ranks.low_rank(X[p:, q:], rank)  # what is held out need not lie in its span
    errors = ranks._owen_perry_errors(X, p, q, 4)
    for k in range(1, 5):
        kept = ranks.low_rank(X[p:, q:], k)
        # rcond cuts the directions that are zero in a matrix of rank k.
        residual = X[:p, :q] - X[:p, q:] @ np.linalg.pinv(kept, rcond=1e-8) @ X[p:, :q]
        assert errors[k - 1] == pytest.approx(np.mean(residual**2))


def test_bicross_validation_takes_the_lowest_median_and_not_the_median_of_the_lowest(monkeypatch):
    errors = iter([[1.0, 2, 3], [9, 1, 1.1], [9, 8, 0.5]])
    monkeypatch.setattr(ranks, "_owen_perry_errors", lambda *_: np.array(next(errors)))
    found = ranks.bicross_validation_rank(np.eye(6), n_repeats=3, random_state=0)
    assert found.selected.tolist() == [1, 2, 3] and found.rank == 3


def test_no_row_is_predicted_from_itself():
    """At full rank the rows of the first half come back exactly: the cost is the distance to the nearest of them."""
    X = np.random.default_rng(0).normal(size=(40, 5))
    apart = np.sort((((X[:, None] - X) ** 2).sum(axis=2) + 1e9 * np.eye(40)).min(axis=1))
    costs = ranks.transfer_rank(X, n_repeats=5, random_state=0).costs
    assert costs.shape == (5, 5) and (costs[:, -1] >= apart[:20].mean()).all()


@pytest.mark.parametrize("mapping", ["nearest", "hungarian"])
def test_rules_on_a_real_matrix_of_known_rank(exact, mapping):
    rows = np.repeat(exact, 2, axis=0)  # every row twice, so that a half holds a neighbour of most rows
    assert ranks.optimal_rank(exact, exact).rank == 5
    assert ranks.transfer_rank(rows, mapping=mapping, n_repeats=9, random_state=0).rank == 5
    both = ranks.svd_transfer_costs(exact, exact, mapping=mapping)
    assert both[3] > 1e-3 and both[4] == pytest.approx(0.0, abs=1e-9)


def test_rules_on_a_boolean_matrix_of_known_rank(blocks):
    assert ranks.optimal_rank(blocks, blocks, boolean=True).rank == 6
    assert ranks.transfer_rank(blocks, boolean=True, n_repeats=5, random_state=0).rank == 6
    assert ranks.bicross_validation_rank(blocks, n_repeats=5, random_state=0).rank == 6
    assert ranks.increment_rank(blocks).rank == 6
    assert ranks.increment_rank(blocks).costs[0, :6] == pytest.approx(
        [23 / 111, 20 / 111, 17 / 111, 14 / 111, 11 / 111, 0]
    )
    assert ranks.coverage_rank(blocks).rank == 5  # the five largest blocks hold 90 % of the ones, four 77 %


def test_rules_on_a_full_rank_matrix():
    assert ranks.increment_rank(np.eye(5)).rank == 5
    corner = np.ones((3, 3)) - np.diag([0, 0, 1])
    assert ranks.coverage_rank(corner).costs[0, 0] == 1.0  # the zero that rank 1 rounds to one counts for nothing
    empty = ranks.coverage_rank(np.zeros((4, 3)))
    assert empty.rank == 1 and (empty.costs == 1.0).all()  # nothing to cover: the smallest rank does it


def test_random_half_median_is_reproducible(exact):
    first = ranks.transfer_rank(exact, n_repeats=4, random_state=1)
    second = ranks.transfer_rank(exact, n_repeats=4, random_state=1)
    np.testing.assert_array_equal(first.costs, second.costs)
    assert first.rank == int(np.median(first.selected)) and first.costs.shape == (4, len(first.ranks))


@pytest.mark.parametrize("boolean", [False, True])
def test_transfer_cost_equals_a_direct_loop(boolean):
    rng = np.random.default_rng(5)
    X1, X2 = rng.normal(size=(12, 7)), rng.normal(size=(10, 7))
    if boolean:
        X1, X2 = X1 > 0, X2 > 0
    costs = ranks.svd_transfer_costs(X1, X2, mapping="nearest", boolean=boolean, random_state=0)
    origin = measures.map_rows(X1, X2, random_state=0)
    for k in range(1, 8):
        U, s, V = np.linalg.svd(np.asarray(X1, float), full_matrices=False)
        total = 0.0
        for i, row in zip(origin, np.asarray(X2, float), strict=True):
            reconstruction = sum(s[t] * U[i, t] * V[t] for t in range(k))
            total += np.sum((row - ((reconstruction > 0.5) if boolean else reconstruction)) ** 2)
        assert costs[k - 1] == pytest.approx(total / 10)


def test_mappings_against_brute_force():
    rng = np.random.default_rng(2)
    X1, X2 = rng.normal(size=(6, 3)), rng.normal(size=(6, 3))
    distances = ((X2[:, None] - X1) ** 2).sum(-1)
    np.testing.assert_array_equal(measures.map_rows(X1, X2), distances.argmin(axis=1))
    best = min(itertools.permutations(range(6)), key=lambda p: sum(distances[i, j] for i, j in enumerate(p)))
    np.testing.assert_array_equal(measures.map_rows(X1, X2, mapping="hungarian"), best)


def test_known_pairs_make_the_transfer_cost_an_oracle(exact):
    """With the same rows measured twice, cost minus noise of the second copy is the error to the noise-free matrix."""
    rng = np.random.default_rng(0)
    first, noise = exact + rng.normal(size=exact.shape), rng.normal(size=exact.shape)
    transferred = ranks.svd_transfer_costs(first, exact, mapping=np.arange(60))
    np.testing.assert_allclose(transferred * 60, ranks.optimal_rank(first, exact).costs[0])
    noisy = ranks.svd_transfer_costs(first, exact + noise, mapping=np.arange(60))
    assert noisy.argmin() == transferred.argmin()


def test_ties_are_drawn_at_random():
    origin = measures.map_rows(np.zeros((4, 2)), np.zeros((400, 2)), random_state=0)
    assert (np.bincount(origin, minlength=4) > 60).all()


def test_one_standard_error_rule():
    costs = np.array([[5.0, 2.0, 1.0, 0.9], [5.0, 2.0, 1.0, 1.2]])
    assert selection.one_standard_error_rank(costs, [2, 3, 4, 5]) == 4
    # A shift of a whole repetition changes nothing.
    assert selection.one_standard_error_rank(costs + [[0.0], [50.0]], [2, 3, 4, 5]) == 4


# --- number of roles ------------------------------------------------------------------------------------------


def test_number_of_roles_and_the_variant_that_overfits():
    planted = datasets.boolean_roles("pairs", flip=0.1, n_users=200, n_permissions=40, n_roles=4, random_state=0)
    model = NoisyOrFactorization(random_state=0, n_refinements=3)
    offered = [2, 3, 4, 6, 9]
    both = ranks.select_n_roles(model, planted.data, offered, n_folds=3, random_state=0)
    assert both.rank == 4 and both.costs.shape == (3, 5)
    fixed = ranks.select_n_roles(model, planted.data, offered, n_folds=3, mapping="components", random_state=0)
    # Roles chosen anew for every test row can only get fewer bits wrong, and go on doing so beyond the planted number.
    assert (fixed.costs <= both.costs).all()
    assert fixed.costs.mean(axis=0)[-1] < fixed.costs.mean(axis=0)[2]


# --- bad input ------------------------------------------------------------------------------------------------

B = np.eye(6)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: images.image_patches(np.zeros(5)), ValueError, "image must be a non-empty 2-D"),
        (lambda: images.image_patches(np.zeros((5, 9)), size=8), ValueError, "size=8"),
        (lambda: images.image_from_patches(np.zeros((4, 5)), 8), ValueError, "square patches"),
        (lambda: images.image_from_patches(np.zeros((5, 4)), 4), ValueError, "width=4"),
        (lambda: images.psnr(np.zeros((2, 2)), np.zeros((2, 3))), ValueError, r"image has shape \(2, 3\)"),
        (lambda: ranks.low_rank(B, 7), ValueError, r"rank=7 .*min\(N, D\)=6"),
        (lambda: ranks.low_rank(B, 2.0), TypeError, "rank must be an integer"),
        (lambda: ranks.coverage_rank(B * 0.5), ValueError, "X must hold only 0 and 1, got 0.5"),
        (lambda: ranks.optimal_rank(B, B[:4]), ValueError, "clean has shape"),
        (lambda: ranks.svd_transfer_costs(B, B[:, :3]), ValueError, "X2 has 3 columns"),
        (lambda: ranks.svd_transfer_costs(B, B, mapping="identity"), ValueError, "mapping='identity'"),
        (lambda: ranks.svd_transfer_costs(B, B, mapping=[0, 1]), ValueError, "mapping has 2 entries"),
        (lambda: ranks.svd_transfer_costs(B[:3], B, mapping=np.arange(6)), ValueError, r"mapping holds values 0..5"),
        (lambda: measures.map_rows(B[:3], B, mapping="hungarian"), ValueError, "at most as many test"),
        (lambda: ranks.transfer_rank(B, n_repeats=0), ValueError, "n_repeats=0"),
        (lambda: ranks.transfer_rank(B, max_rank=4), ValueError, "max_rank=4"),
        (lambda: ranks.transfer_rank(B[:1]), ValueError, r"X has shape \(1, 6\), accepted is \(2, 1\) and more"),
        (lambda: ranks.bicross_validation_rank(B, held_out=1.5), ValueError, "held_out=1.5"),
        (
            lambda: ranks.bicross_validation_rank(B[:, :1]),
            ValueError,
            r"X has shape \(6, 1\), accepted is \(2, 2\) and more",
        ),
        (lambda: ranks.coverage_rank(B * np.nan), ValueError, "NaN or infinite"),
        (lambda: ranks.select_n_roles(NoisyOrFactorization(), B, [2], n_folds=1), ValueError, "n_folds=1"),
        (lambda: datasets.boolean_roles("star"), ValueError, "kind='star'"),
        (lambda: datasets.boolean_roles("tree", n_roles=12), ValueError, "power of 2"),
        (lambda: datasets.boolean_roles("pairs", flip=1.2), ValueError, "flip=1.2"),
    ],
)
def test_bad_input_is_named(call, error, message):
    with pytest.raises(error, match=message):
        call()


@pytest.mark.parametrize("kind", ["tree", "functional", "random", "templates", "pairs"])
def test_planted_configurations(kind):
    planted = datasets.boolean_roles(kind, flip=0.1, random_state=0)
    product = np.array([[any(z & u) for u in planted.roles.T] for z in planted.assignments[:40]])
    np.testing.assert_array_equal(product, planted.clean[:40])
    assert planted.data.shape == ROLE_SIZES[kind][:2] and planted.roles.shape[0] == ROLE_SIZES[kind][2]
    assert np.mean(planted.data != planted.clean) == pytest.approx(0.1, abs=0.01)
    again = datasets.boolean_roles(kind, flip=0.1, random_state=0)
    np.testing.assert_array_equal(again.data, planted.data)


def test_the_error_is_that_of_the_mean_and_not_the_spread():
    """Rank 2 costs .5 more in the mean, with a spread of 1 over sixteen repetitions: two standard errors."""
    rng = np.random.default_rng(0)
    noise = rng.standard_normal(16)
    noise = (noise - noise.mean()) / noise.std(ddof=1)
    costs = np.column_stack([0.5 + noise, np.zeros(16)])
    assert selection.one_standard_error_rank(costs, [2, 3]) == 3
    assert selection.one_standard_error_rank(np.column_stack([0.2 + noise, np.zeros(16)]), [2, 3]) == 2
    assert (
        selection.one_standard_error_rank(np.column_stack([np.zeros(16), 0.2 + noise]), [3, 2]) == 2
    )  # whatever the order
