"""Two views of a graph: every pair in one of them, on a scale of its own, made again in the same way."""

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st

import gencap as gc
from gencap.views.graphs import neutral_weight


def graph(n_objects=12, seed=0):
    X = np.random.default_rng(seed).normal(size=(n_objects, n_objects))
    return X + X.T


@given(st.integers(4, 15), st.integers(0, 99), st.floats(-2, 2))
def test_each_pair_is_in_one_view_less_the_neutral_weight(n_objects, seed, level):
    X = graph(n_objects, seed)
    views = gc.paired_graphs(X, neutral=level, random_state=seed)
    off = X[~np.eye(n_objects, dtype=bool)]
    expected = X - (off.mean() + level * off.std())
    np.fill_diagonal(expected, 0)
    seen = [view != 0 for view in views[:2]]
    assert not (seen[0] & seen[1]).any()
    assert np.allclose(views.first + views.second, expected)
    assert np.array_equal(views.first, views.first.T) and np.array_equal(views.second, views.second.T)


def test_both_views_get_half_of_the_pairs():
    views = gc.paired_graphs(graph(60), random_state=0)
    assert 0.45 < (views.first != 0).sum() / (60 * 59) < 0.55


@given(st.floats(0.01, 100), st.floats(-50, 50))
def test_scale_and_offset_of_the_weights_do_not_matter(scale, offset):
    X = graph()
    pair = (gc.paired_graphs(Y, neutral=0.5, random_state=3).first for Y in (X, scale * X + offset))
    assert np.allclose(next(pair) * scale, next(pair), atol=1e-8 * (scale + abs(offset)))


def test_two_measurements_are_the_views():
    X, Y = graph(seed=1), graph(seed=2)
    views = gc.paired_graphs([X, Y], neutral=None)
    off = ~np.eye(12, dtype=bool)
    assert np.allclose(views.first[off], X[off]) and np.allclose(views.second[off], Y[off])
    assert not views.first.diagonal().any() and "measured twice" in repr(views)
    assert views.diagnostics["weights"] == pytest.approx(
        np.corrcoef(X[np.triu_indices(12, 1)], Y[np.triu_indices(12, 1)])[0, 1]
    )
    assert gc.paired_graphs(X, random_state=0).diagnostics is None


def test_made_again_on_other_weights():
    views = gc.paired_graphs(graph(), neutral=1.0, random_state=0)
    again = views.remake(views.data + 7.0, random_state=0)
    assert np.allclose(again.first, views.first) and again.protocol == views.protocol
    with pytest.raises(ValueError, match="X"):
        views.remake(np.zeros((2, 12, 12)))


def test_sparse_is_dense():
    X = np.where(graph() > 1, 1.0, 0.0)
    dense, sparse = (gc.paired_graphs(Y, random_state=0) for Y in (X, scipy.sparse.csr_array(X)))
    assert np.array_equal(dense.first, sparse.first)


def test_models_see_it_and_those_of_weights_above_zero_are_told():
    views = gc.paired_graphs(np.abs(graph()), neutral=None, random_state=0)
    found = gc.evaluate(gc.NormalizedCut(2, random_state=0), views.similarities(positive=True))
    assert found.value >= 0
    with pytest.raises(ValueError, match="neutral=None"):
        gc.paired_graphs(graph(), random_state=0).similarities(positive=True)


@pytest.mark.parametrize(
    ("X", "words"),
    [
        (np.zeros((3, 3)), "objects of X"),
        (np.arange(16.0).reshape(4, 4), "symmetric"),
        (np.full((4, 4), np.nan), "X"),
        ([np.eye(4)] * 3, "number of graphs"),
        (np.zeros((4, 5)), "square"),
    ],
)
def test_refused(X, words):
    with pytest.raises(ValueError, match=words):
        gc.paired_graphs(X)


def test_neutral_weight_of_several_graphs_is_one():
    X, Y = graph(seed=1), graph(seed=2)
    off = ~np.eye(12, dtype=bool)
    both = np.concatenate([X[off], Y[off]])
    assert neutral_weight([X, Y], level=2.0) == pytest.approx(both.mean() + 2 * both.std())
