"""Protocols: objects stay matched, similarities are what they say, and every view can be made again."""

import itertools
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.cluster.hierarchy import cophenet, linkage
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import pdist, squareform

import gencap as gc
from gencap.views.protocols import ALIGNMENTS, MEASURES, random_halves, take_objects


def table(n=24, d=8, seed=0):
    return np.random.default_rng(seed).standard_normal((n, d))


def twins(n=20, d=6, seed=0, noise=1e-3):
    """Rows 2i and 2i + 1 are the same object measured twice, far from all others."""
    rng = np.random.default_rng(seed)
    objects = rng.standard_normal((n, d)) * 10
    return np.repeat(objects, 2, axis=0) + noise * rng.standard_normal((2 * n, d))


# Interleaved columns and replicates


def test_interleave_keeps_objects_and_alternates_columns():
    data = table(5, 7)
    views = gc.interleave(data)
    assert np.array_equal(views.first, data[:, [0, 2, 4, 6]]) and np.array_equal(views.second, data[:, [1, 3, 5]])
    assert views.rows1.tolist() == views.rows2.tolist() == list(range(5))
    assert "4/3" in views.protocol


def test_replicates_keep_both_tables_and_can_be_remade():
    first, second = table(6, 4, 1), table(6, 5, 2)
    views = gc.replicates(first, second)
    assert np.array_equal(views.first, first) and np.array_equal(views.second, second)
    other = views.remake(np.hstack([second[:, :4], first, first[:, :1]]), random_state=3)
    assert np.array_equal(other.first, second[:, :4]) and other.second.shape == (6, 5)


# Random halves


def best_pairing(cost):
    """Smallest sum over all pairings, by enumeration."""
    rows = range(len(cost))
    return min(sum(cost[i, j] for i, j in zip(rows, order, strict=True)) for order in itertools.permutations(rows))


@pytest.mark.parametrize("align", ["correlation", "euclidean", "path", "path_correlation"])
@pytest.mark.parametrize("seed", range(3))
def test_pairing_is_the_best_of_all(align, seed):
    data = table(13, 5, seed)
    distances = {
        "correlation": 1 - np.corrcoef(data),
        "euclidean": squareform(pdist(data)),
        "path": squareform(cophenet(linkage(pdist(data, "sqeuclidean"), "single"))),
        "path_correlation": squareform(cophenet(linkage(pdist(data, "correlation"), "single"))),
    }[align]
    views = gc.random_split(data, align=align, random_state=seed)
    assert len(views.rows1) == 6 and not set(views.rows1) & set(views.rows2)
    assert np.array_equal(views.first, data[views.rows1]) and np.array_equal(views.second, data[views.rows2])
    found = distances[views.rows1, views.rows2].sum()
    assert found == pytest.approx(best_pairing(distances[np.ix_(views.rows1, views.rows2)]), abs=1e-9)


@pytest.mark.parametrize("align, beneath", [("path", "sqeuclidean"), ("path_correlation", "correlation")])
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e4])
def test_equally_good_path_pairings_are_told_apart_by_the_distances_beneath(align, beneath, seed, unit):
    data = table(12, 5, seed) * unit
    plain = squareform(pdist(data, beneath))
    paths = squareform(cophenet(linkage(squareform(plain), "single")))
    views = gc.random_split(data, align=align, random_state=seed)
    sums = {
        order: [D[views.rows1, list(order)].sum() for D in (paths, plain)]
        for order in itertools.permutations(views.rows2.tolist())
    }
    least = min(along for along, _ in sums.values())
    tied = [below for along, below in sums.values() if along < least * (1 + 1e-9)]
    assert len(tied) > 1 and max(tied) > min(tied) * (1 + 1e-4)
    found = sums[tuple(views.rows2.tolist())]
    assert found == pytest.approx([least, min(tied)], rel=1e-9, abs=0)


@pytest.mark.parametrize("align, beneath", [("path", "sqeuclidean"), ("path_correlation", "correlation")])
def test_the_distances_beneath_cost_no_path(align, beneath):
    """Among many objects path distances lie close together, and what tells equal pairings apart must weigh less."""
    data = table(160, 5)
    paths = squareform(cophenet(linkage(pdist(data, beneath), "single")))
    views = gc.random_split(data, align=align, random_state=0)
    between = paths[np.ix_(views.rows1, views.rows2)]
    best = between[linear_sum_assignment(between)].sum()
    assert best <= np.trace(between) * (1 + 1e-12) and np.trace(between) <= best + 1e-6 * between.max() * 80


def test_planted_pairs_are_found():
    found = 0
    for seed in range(20):
        views = gc.random_split(twins(seed=seed), align="euclidean", random_state=seed)
        partner = {row: row ^ 1 for row in range(40)}
        torn = [a for a, b in zip(views.rows1, views.rows2, strict=True) if partner[a] != b]
        # Twins that fell into the same half cannot be paired; all others must be.
        assert all(partner[a] in set(views.rows1) for a in torn)
        found += 20 - len(torn)
    # Of 20 pairs of twins 20 * 20 / 39 fall into different halves, with variance 5.1: four standard errors.
    assert abs(found - 20 * 400 / 39) < 4 * np.sqrt(20 * 5.1)


def test_planted_partners_raise_the_matched_correlation():
    """A half of every pair of twins in each view: the pairing finds all of them, whatever the order."""
    data = twins(15, 12)
    first, second = data[::2], data[1::2][np.random.default_rng(1).permutation(15)]
    order = gc.measures.match_objects(first, second, distance="correlation")
    views = gc.replicates(first, second[order])
    assert views.diagnostics["matched"] > 0.999
    assert views.diagnostics["matched"] == pytest.approx(views.diagnostics["nearest"])
    assert abs(views.diagnostics["random"]) < 0.2


def test_diagnostics_are_correlations_between_the_views():
    views = gc.random_split(table(20, 7), align="correlation", random_state=1)
    rho = np.corrcoef(views.first, views.second)[:10, 10:]
    assert views.diagnostics == pytest.approx(
        {"matched": np.diag(rho).mean(), "nearest": rho.max(axis=1).mean(), "random": rho.mean()}
    )


def test_pairing_at_random_pairs_strangers():
    views = gc.random_split(twins(100, 20), align="random", random_state=0)
    assert views.diagnostics["matched"] < 0.2
    assert gc.random_split(twins(100, 20), random_state=0).diagnostics["nearest"] > 0.6


def test_number_of_objects_and_seed():
    data = table(30, 5)
    views = gc.random_split(data, n_objects=6, random_state=4)
    again = gc.random_split(data, n_objects=6, random_state=4)
    assert len(views.first) == 6 and np.array_equal(views.rows2, again.rows2)
    assert not np.array_equal(views.rows1, gc.random_split(data, n_objects=6, random_state=5).rows1)
    assert len(gc.random_split(table(9, 5)).first) == 4  # an odd object stays out


@pytest.mark.parametrize("align", ALIGNMENTS)
def test_remake_is_the_same_protocol(align):
    views = gc.random_split(table(16, 6, 0), align=align, n_objects=5, random_state=0)
    other = table(16, 6, 1)
    remade, direct = (
        views.remake(other, random_state=9),
        gc.random_split(other, align=align, n_objects=5, random_state=9),
    )
    assert remade.protocol == views.protocol
    assert np.array_equal(remade.rows1, direct.rows1) and np.array_equal(remade.second, direct.second)


# Similarities


@pytest.mark.parametrize("measure", ["correlation", "euclidean", "path", "path_correlation"])
def test_similarities_against_scipy(measure):
    views = gc.random_split(table(21, 6), random_state=0)
    pair = views.similarities(measure)
    metric = "correlation" if "correlation" in measure else "sqeuclidean"
    found = [pdist(X, metric) for X in (views.first, views.second)]
    if measure.startswith("path"):
        found = [cophenet(linkage(D, "single")) for D in found]
    maximum = 1.0 if measure == "correlation" else max(D.max() for D in found)
    assert pair.maximum == pytest.approx(maximum) and pair.median == pytest.approx(np.median(np.concatenate(found)))
    for X, D in zip(pair, found, strict=True):
        assert X.dtype == np.float32 and X == pytest.approx(maximum - squareform(D), rel=1e-5, abs=1e-5)
        assert np.array_equal(X, X.T) and X.diagonal() == pytest.approx(maximum)


def test_both_views_have_the_larger_maximum_whichever_has_it():
    data = table(12, 6)
    data[:, 1::2] *= 3  # the second view
    for factor in (1, 9):
        data[:, ::2] *= factor
        pair = gc.interleave(data).similarities("euclidean")
        wide = max(pdist(X, "sqeuclidean").max() for X in (data[:, ::2], data[:, 1::2]))
        assert pair.maximum == pytest.approx(wide) and min(X.min() for X in pair) >= -1e-5 * wide
        above = gc.interleave(data).similarities("euclidean", positive=True)
        assert above.maximum == pytest.approx(1.01 * wide) and min(X.min() for X in above) > 0.009 * wide


def test_path_over_the_union_is_a_part_of_one_matrix():
    data = table(20, 4)
    views = gc.random_split(data, align="path", n_objects=6, random_state=0)
    whole = squareform(cophenet(linkage(pdist(data, "sqeuclidean"), "single")))
    pair = views.similarities("path_union")
    assert pair.maximum == pytest.approx(whole.max())
    for X, rows in zip(pair, (views.rows1, views.rows2), strict=True):
        assert X == pytest.approx(whole.max() - whole[np.ix_(rows, rows)], rel=1e-5, abs=1e-5)
    assert (views.similarities("path")[0] <= views.similarities("path").maximum).all()


def test_positive_correlations():
    views = gc.interleave(table(10, 12))
    plain, positive = views.similarities(), views.similarities(positive=True)
    assert all(np.allclose(Y, X + 1, atol=1e-6) and Y.min() >= 0 for X, Y in zip(plain, positive, strict=True))
    assert plain.shift(0.5) == pytest.approx(positive.shift(0.5) + 1)


@settings(deadline=None)
@given(st.floats(-20, 20), st.sampled_from(MEASURES))
def test_relative_and_absolute_shift_are_inverse(relative, measure):
    pair = VIEWS.similarities(measure)
    assert pair.relative(pair.shift(relative)) == pytest.approx(relative, abs=1e-9)
    # At this shift the distance `relative` x median is neutral.
    assert pair.maximum + pair.shift(relative) == pytest.approx(relative * pair.median, abs=1e-9)


VIEWS = gc.random_split(table(14, 6), random_state=0)


@settings(deadline=None)
@given(st.floats(0.01, 100), st.sampled_from(["euclidean", "path", "path_union"]))
def test_the_relative_shift_has_no_unit(scale, measure):
    scaled = gc.random_split(table(14, 6) * scale, random_state=0).similarities(measure)
    pair = VIEWS.similarities(measure)
    assert scaled.shift(-0.5) == pytest.approx(scale**2 * pair.shift(-0.5), rel=1e-6)


def test_pairs_and_views_survive_pickling():
    pair = pickle.loads(pickle.dumps(VIEWS.similarities("euclidean")))
    assert pair.measure == "euclidean" and pair.shift(0.3) == VIEWS.similarities("euclidean").shift(0.3)
    views = pickle.loads(pickle.dumps(VIEWS))
    assert np.array_equal(views.remake(views.data, 1).rows1, VIEWS.remake(VIEWS.data, 1).rows1)


def test_a_constant_in_the_similarities_is_a_shift():
    """Correlation clustering of M - D with shift -M is that of -D: the same run at the same temperatures."""
    X = gc.random_split(twins(12, 5, noise=3.0), align="euclidean", random_state=0).similarities("euclidean")[0]
    far = gc.CorrelationClustering(3, shift=-float(X.max()) - 40, random_state=0).anneal(X)
    near = gc.CorrelationClustering(3, shift=-40.0, random_state=0).anneal(X - X.max())
    assert far.unit == pytest.approx(near.unit, rel=1e-3)
    assert np.abs(far.probabilities - near.probabilities).max() < 0.05


# What is refused


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: gc.interleave(table(5, 3)), "columns of X=3 must be >= 4"),
        (lambda: gc.interleave([[1.0, 2, 3, np.nan]] * 3), "X holds NaN"),
        (lambda: gc.random_split(table(3, 4)), "objects of X=3 must be >= 4"),
        (lambda: gc.random_split(table(9, 4), n_objects=5), "n_objects=5"),
        (lambda: gc.random_split(table(9, 4), align="cosine"), "align='cosine'"),
        (lambda: gc.random_split(np.vstack([table(7, 4), np.ones(4)])), r"X has 1 constant rows \(7\)"),
        (lambda: gc.replicates(table(3, 4), np.diag([1.0, 0, 2])).similarities(), r"second has 1 constant rows \(1\)"),
        (lambda: gc.replicates(table(5, 3), table(6, 3)), r"the first column of X2 has shape \(6,\)"),
        (lambda: VIEWS.remake(table(13, 6)), r"X has shape \(13, 6\)"),
        (lambda: VIEWS.remake([[1.0, 2.0], [3.0]]), "X is no array"),
        (lambda: VIEWS.similarities("cosine"), "measure='cosine'"),
        (lambda: gc.interleave(table(8, 6) * 1e-25).similarities("euclidean"), "rescale"),
        (lambda: gc.interleave(table(8, 6) * 1e25).similarities("euclidean"), "rescale"),
        (lambda: gc.interleave(np.vstack([table(8, 6), np.full(6, 1e4)])).similarities("euclidean"), "leave out rows"),
        (lambda: gc.interleave(table(8, 6)).similarities("path_union"), "path_union"),
        (lambda: gc.interleave(np.ones((8, 6))).similarities("euclidean"), "median distance"),
        (lambda: VIEWS.similarities().shift(np.nan), "relative=nan"),
    ],
)
def test_bad_input_is_named(call, words):
    with pytest.raises(ValueError, match=words):
        call()


def test_views_do_not_change_with_the_table_they_were_made_of():
    for make in (gc.interleave, gc.random_split, lambda data: gc.replicates(data, data)):
        data = np.array(table())
        views = make(data)
        before = [array.copy() for array in (views.first, views.second, views.data)]
        data[:] = 0
        for array, kept in zip((views.first, views.second, views.data), before, strict=True):
            assert np.array_equal(array, kept)


@pytest.mark.parametrize("pairwise", [True, False])
def test_halves_say_which_rows_they_are(pairwise):
    X = np.corrcoef(table(9, 5)) if pairwise else table(9, 5)
    X1, X2, cross, rows1, rows2 = random_halves(X, pairwise, np.random.default_rng(0))
    assert sorted([*rows1, *rows2]) == list(range(9)) and len(rows1) == 5
    if pairwise:
        assert np.allclose(X1, X[np.ix_(rows1, rows1)]) and np.allclose(cross, X[np.ix_(rows2, rows1)])
    else:
        assert np.array_equal(X1, X[rows1]) and np.array_equal(X2, X[rows2]) and cross is None


def test_arrays_per_object_are_taken_row_by_row():
    known, weight = [["a", "b"][i % 2] for i in range(4)], np.arange(8.0).reshape(4, 2)
    first, second = take_objects({"known": known, "weight": weight}, 4, [3, 0], [1])
    assert first["known"].tolist() == ["b", "a"] and np.array_equal(second["weight"], [[2.0, 3.0]])
    assert take_objects(None, 4, [0]) == [{}]
    with pytest.raises(ValueError, match=r"per_object\['known'\] has shape \(4,\), accepted are 5 entries"):
        take_objects({"known": known}, 5, [0])
