"""Null test: calibrated where there is nothing, powerful where there is something, and the same for any workers."""

import threading
from contextlib import nullcontext

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import softmax
from scipy.stats import kstest
from sklearn.base import BaseEstimator, ClusterMixin, clone
from sklearn.cluster import KMeans, SpectralClustering
from sklearn.metrics import silhouette_score
from sklearn.utils import get_tags

import gencap as gc
from gencap.theory.codes import kary_information
from gencap.trajectory import Trajectory, beta_grid
from gencap.validation import keys
from gencap.validation.evaluation import evaluate
from gencap.validation.nulls import (
    NULLS,
    CapacityNull,
    _copula,
    capacity_null,
    gaussian_table,
    matched_table,
    null_graphs,
    permuted_table,
)
from gencap.views.protocols import interleave, random_split


def planted(seed=0, n=8, k=3, d=12, noise=0.4):
    """k groups of n objects; neighbouring columns of a centre are equal, so that interleaved views share it."""
    rng = np.random.default_rng(seed)
    centres = np.repeat(rng.standard_normal((k, d // 2)), 2, axis=1)
    return np.repeat(centres, n, axis=0) + noise * rng.standard_normal((n * k, d))


class Quick(gc.CorrelationClustering):
    """Quenched once, heated over four temperatures: as good as any model to test the test, and fast."""

    def anneal(self, X, betas=None, init=None):
        return super().anneal(X, betas if len(betas) <= 9 else betas[2::6], init)

    def _search(self, X, unit, constant, starts, seeds, seed):
        return self._descend(X, starts[0][0], unit, np.random.default_rng(seed)), None


def test_shuffled_graph_keeps_the_weights_and_no_group():
    labels = np.arange(30) % 3
    X = np.where(labels[:, None] == labels, 1.0, -1.0) + np.add.outer(range(30), range(30)) * 1e-3
    shuffled = gc.shuffled_graph(X, random_state=0)
    pairs = np.triu_indices(30, 1)
    assert np.array_equal(shuffled, shuffled.T) and not shuffled.diagonal().any()
    assert np.sort(shuffled[pairs]) == pytest.approx(np.sort(X[pairs]))
    inside = shuffled[labels[:, None] == labels].mean()
    assert abs(inside - X[pairs].mean()) < 0.3 < 1 - inside
    with pytest.raises(ValueError, match="X"):
        gc.shuffled_graph(X[:4])


def test_capacity_by_shift_is_evaluate_at_every_shift():
    pair = gc.datasets.planted_correlation_graphs(60, 3, noise=0.4, random_state=0)
    nulls = [[gc.shuffled_graph(X, random_state=n) for X in pair] for n in range(2)]
    model, shifts = gc.CorrelationClustering(3, random_state=0), (-1, 0)
    found = gc.capacity_by_shift(model, pair, nulls, shifts)
    again = [[evaluate(clone(model).set_params(shift=s), one).value for one in (pair, *nulls)] for s in shifts]
    assert found.shape == (2, 3) and np.array_equal(found, again) and model.shift == 0
    assert found[1, 0] > found[1, 1:].max() + 0.5
    with pytest.raises(ValueError, match="shift"):
        gc.capacity_by_shift(gc.NormalizedCut(3), pair, [], [0])


@pytest.fixture
def watched(monkeypatch):
    """A model; `shifts` are those it was annealed with, at the `stop`-th of them it is interrupted."""
    model, inner = Quick(n_clusters=3, n_init=1, random_state=0), gc.CorrelationClustering.anneal
    model.shifts, model.stop = [], None

    def anneal(self, X, betas=None, init=None):
        if len(betas) == 3:  # a wider grid is the same evaluation
            model.shifts.append(self.shift)
        if len(model.shifts) == model.stop:
            raise KeyboardInterrupt
        return inner(self, X, betas, init)

    monkeypatch.setattr(gc.CorrelationClustering, "anneal", anneal)
    return model


QUICK = Quick(n_clusters=3, n_init=1, random_state=0)


def test_permuted_table_keeps_the_values_of_every_row_and_their_order_of_none():
    data = np.arange(60.0).reshape(5, 12)
    table = permuted_table(data, random_state=3)
    assert np.array_equal(np.sort(table, axis=1), data) and np.array_equal(data, np.arange(60.0).reshape(5, 12))
    orders = table - data[:, :1]
    assert len({tuple(row) for row in orders}) == 5  # every row has its own
    assert np.array_equal(table, permuted_table(data, random_state=3)) and not np.array_equal(
        table, permuted_table(data, random_state=4)
    )


def test_gaussian_table_has_the_mean_and_covariance_of_the_data():
    rng = np.random.default_rng(0)
    data = rng.standard_normal((20_000, 3)) @ [[2, 1, 0], [0, 1, 1], [0, 0, 0.5]] + [1, -2, 5]
    table = gaussian_table(data, random_state=1)
    # In axes in which the data are white: five standard errors of 20 000 objects.
    white = (table - data.mean(axis=0)) @ np.linalg.inv(np.linalg.cholesky(np.cov(data, rowvar=False))).T
    assert np.abs(white.mean(axis=0)).max() < 5 / np.sqrt(20_000)
    assert np.abs(np.cov(white, rowvar=False) - np.eye(3)).max() < 5 * np.sqrt(2 / 20_000)
    assert gaussian_table(data[:, :1], random_state=1).shape == (20_000, 1)


def test_gaussian_table_of_fewer_objects_than_columns_stays_in_their_plane():
    data = np.random.default_rng(0).standard_normal((4, 9))
    table = gaussian_table(data, random_state=0)
    centred = data - data.mean(axis=0)
    off = table - data.mean(axis=0)
    off -= off @ np.linalg.pinv(centred) @ centred
    assert table.shape == (4, 9) and np.abs(off).max() < 1e-6
    assert np.linalg.matrix_rank(table - table.mean(axis=0), 1e-6) == 3


def skewed(rng, n=400, scale=0.5):
    """Correlated lognormal columns (n, 8)."""
    axes = np.repeat(rng.standard_normal((4, 4)), 2, axis=1) * 0.7 ** np.arange(4)[:, None]
    return np.exp(scale * (rng.standard_normal((n, 4)) @ axes + 0.3 * rng.standard_normal((n, 8))))


def off_diagonal(X):
    return np.corrcoef(X, rowvar=False)[np.triu_indices(X.shape[1], 1)]


@st.composite
def odd_tables(draw):
    n, d = draw(st.integers(2, 9)), draw(st.integers(1, 12))
    kinds = [st.floats(-1e3, 1e3), st.sampled_from([0.0, 1.0]), st.just(0.1), st.integers(-2, 2)]
    columns = [draw(st.lists(draw(st.sampled_from(kinds)), min_size=n, max_size=n)) for _ in range(d)]
    X = np.array(columns, dtype=float).T
    X[np.abs(X) < 1e-6] = 0.0  # tiny beside the rest: rounding, or refused at the small scale
    return X * draw(st.sampled_from([1.0, 1e-140, 1e140]))


@given(odd_tables(), st.integers(0, 9))
@settings(max_examples=80, deadline=None)
def test_matched_table_keeps_every_column_of_any_table(data, seed):
    given = data.copy()
    table = matched_table(data, random_state=seed)
    assert np.array_equal(np.sort(table, axis=0), np.sort(data, axis=0)) and np.array_equal(data, given)
    assert np.array_equal(table, matched_table(data, random_state=seed))
    assert np.array_equal(8 * table, matched_table(8 * data, random_state=seed))
    order = np.random.default_rng(seed).permutation(data.shape[1])
    rows, moved = _copula(data), _copula(data[:, order])
    np.testing.assert_allclose(moved @ moved.T, (rows @ rows.T)[np.ix_(order, order)], atol=2e-3)


@pytest.mark.parametrize("scale", [0.1, 0.5, 1.0])
def test_matched_tables_vary_about_the_correlations_as_gaussian_ones_do(scale):
    """Independent: tables drawn afresh from the copula and the margins, correlated by the lognormal's closed form."""
    rng = np.random.default_rng(0)
    data = skewed(rng, scale=scale)
    wanted = off_diagonal(data)
    drawn = np.array([off_diagonal(matched_table(data, random_state=n)) for n in range(100)])
    scores = [off_diagonal(gaussian_table(data, random_state=n)) for n in range(100)]
    spread = np.std(scores, axis=0).mean()
    assert np.abs(drawn.mean(axis=0) - wanted).mean() < spread / 2 < np.abs(wanted).mean() / 5
    assert 0.5 < drawn.std(axis=0).mean() / spread < 2
    assert len(np.unique(drawn, axis=0)) == 100


def test_the_copula_of_lognormal_and_of_two_valued_columns_has_a_closed_form():
    rng, pairs = np.random.default_rng(0), np.triu_indices(3, 1)
    wanted = np.array([[1, 0.8, -0.4], [0.8, 1, 0.1], [-0.4, 0.1, 1]])
    normal = rng.multivariate_normal(np.zeros(3), wanted, 20_000)
    for data, solved in (
        (np.exp(0.8 * normal), lambda r: np.log(1 + r * (np.exp(0.64) - 1)) / 0.64),
        (np.where(normal > 0, 7.0, 2.0), lambda r: np.sin(np.pi / 2 * r)),
    ):
        rows = _copula(data)
        assert (rows @ rows.T)[pairs] == pytest.approx(solved(off_diagonal(data)), abs=0.02)
        assert (rows @ rows.T)[pairs] == pytest.approx(wanted[pairs], abs=0.05)


def test_a_correlation_that_two_values_cannot_reach_comes_out_as_the_nearest():
    values = np.sort(np.random.default_rng(0).standard_normal(200))
    step = np.arange(200) >= 100
    data = np.column_stack([values, step, step, ~step, np.full(200, 0.1)])
    table = matched_table(data, random_state=0)
    assert (table[:, 1] == table[:, 2]).mean() > 0.97 and (table[:, 1] != table[:, 3]).mean() > 0.97
    assert np.corrcoef(table[:, 0], table[:, 1])[0, 1] > 0.95 * np.corrcoef(values, step)[0, 1]
    table = matched_table(np.column_stack([values**9, -(values**9)]), random_state=0)  # -1 exactly
    assert np.corrcoef(table.T)[0, 1] < -0.95


def test_matched_table_of_more_columns_than_objects():
    rng = np.random.default_rng(0)
    data = rng.standard_normal((30, 4)) @ rng.standard_normal((4, 90)) + 0.5 * rng.standard_normal((30, 90))
    drawn = np.array([off_diagonal(matched_table(data, random_state=n)) for n in range(20)])
    assert np.corrcoef(off_diagonal(data), drawn.mean(axis=0))[0, 1] > 0.97
    assert np.polyfit(off_diagonal(data), drawn.mean(axis=0), 1)[0] == pytest.approx(1, abs=0.15)


def test_matched_tables_have_no_clusters():
    data = planted(n=40, k=3, d=20, noise=0.3)

    def distinct(X):
        return silhouette_score(X, KMeans(3, random_state=0, n_init=4).fit_predict(X))

    tables = [matched_table(data, random_state=n) for n in range(5)]
    assert max(map(distinct, tables)) < 0.6 * distinct(data) and distinct(data) > 0.6
    known = [silhouette_score(table, np.repeat(range(3), 40)) for table in tables]
    assert max(known) < 0.05


def test_evaluate_is_the_capacity_of_both_views_on_the_grid_of_the_first():
    pair = interleave(planted()).similarities()
    model = gc.CorrelationClustering(n_clusters=4, shift=-0.3, random_state=0)
    unit = model.anneal(pair[0], betas=[1.0]).unit
    betas, own = beta_grid(unit, 0.8, 40, 20), int(np.random.SeedSequence(0).generate_state(1)[0])
    first, second = model.anneal(pair[0], betas), clone(model).set_params(random_state=own).anneal(pair[1], betas)
    wanted, found = gc.generalization_capacity(first, second), evaluate(model, pair)
    assert found[:3] == (wanted.value, wanted.n_effective, wanted.entropy)
    assert np.array_equal(found.labels, first.labels(wanted.index)) and not hasattr(model, "labels_")


@pytest.mark.parametrize(
    "model",
    [gc.CorrelationClustering(3, -0.5), gc.PairwiseClustering(3), gc.NormalizedCut(3), gc.DominantSets(3, cutoff=0.1)],
)
def test_evaluate_finds_log_3_bits_in_three_clear_groups(model):
    pair = interleave(planted(noise=0.05)).similarities(positive=True)
    if isinstance(model, gc.CorrelationClustering):
        pair = interleave(planted(noise=0.05)).similarities()
    found = evaluate(model, pair)
    assert found.value == pytest.approx(np.log2(3), abs=0.02) and found.entropy == pytest.approx(np.log2(3))
    assert found.n_effective == 3 and gc.metrics.matched_precision(found.labels, np.repeat(range(3), 8)) == 1


def test_p_values_count_ties_against_the_data_and_pay_for_the_choice_of_k():
    null = np.array([[0.0, 0.2, 0.9], [0.0, 0.6, 0.1], [0.0, 0.5, 0.1]])
    result = CapacityNull("permuted", np.array([1, 2, 3]), np.array([0.0, 0.5, 0.4]), null)
    assert result.p_value.tolist() == [1.0, 0.75, 0.5]
    assert result.p_value_max == 1.0  # .5 against .9 .6 .5
    assert result.excess == pytest.approx([0.0, 0.5 - 1.3 / 3, 0.4 - 1.1 / 3])
    assert result.spread == pytest.approx([0.0, np.sqrt(0.13 / 3), np.sqrt(0.64 / 3)])
    assert "K=2: 0.500 bits" in repr(result) and "3 repeats" in repr(result)
    assert np.isnan(CapacityNull("permuted", np.array([2]), np.array([0.5]), null[:1, :1]).spread).all()


def test_rounding_does_not_break_ties():
    null = np.array([[0.0, np.log2(3)], [0.0, 0.1]])
    result = CapacityNull("permuted", np.array([2, 3]), np.array([1e-15, np.log2(3) + 1e-15]), null)
    assert result.p_value.tolist() == [1.0, 2 / 3] and result.p_value_max == 2 / 3


def test_a_capacity_of_zero_has_p_value_one():
    noise = np.random.default_rng(0).standard_normal((30, 8))
    result = capacity_null(
        QUICK, noise, protocol="interleave", n_clusters=[1, 5], n_repeats=9, random_state=0, progress=False
    )
    assert result.observed.tolist() == [0.0, 0.0] and result.p_value.tolist() == [1.0, 1.0] == [result.p_value_max] * 2


def p_values(make, null, relative_shift):
    model, rng = Quick(n_clusters=2, n_init=1, random_state=0), np.random.default_rng(0)
    found = [
        capacity_null(
            model,
            make(rng),
            protocol="interleave",
            null=null,
            relative_shift=relative_shift,
            random_state=i,
            progress=False,
        )
        for i in range(40)
    ]
    return np.array([one.p_value[0] for one in found])


def test_gaussian_null_is_calibrated_on_clouds_of_correlated_features():
    def cloud(rng):
        axes = np.repeat(rng.standard_normal((4, 4)), 2, axis=1) * 0.7 ** np.arange(4)[:, None]
        return rng.standard_normal((30, 4)) @ axes + 0.3 * rng.standard_normal((30, 8))

    assert kstest(p_values(cloud, "gaussian", 0.5), "uniform").pvalue > 0.01


def test_matched_null_is_calibrated_on_clouds_of_skewed_columns():
    def cloud(rng):
        return skewed(rng, 30, 1.0)

    assert kstest(p_values(cloud, "matched", 0.5), "uniform").pvalue > 0.01


def test_permuted_null_is_calibrated_on_clouds_of_independent_features():
    assert (p_values(lambda rng: rng.standard_normal((30, 8)), "permuted", -1.0) <= 0.05).sum() <= 5


@pytest.mark.parametrize("null", ["permuted", "gaussian", "matched"])
def test_planted_clusters_are_found(null):
    model, data = gc.CorrelationClustering(n_init=2, random_state=0), planted(n=12, k=4)
    result = capacity_null(
        model,
        data,
        protocol="interleave",
        null=null,
        n_clusters=[3, 4],
        relative_shift=0.5,
        random_state=0,
        progress=False,
    )
    assert result.p_value[1] == result.p_value_max == 1 / 20
    assert result.n_clusters[result.observed.argmax()] == 4 and result.excess[1] > 0.5


def test_permuted_genes_have_less_than_a_tenth_of_a_bit():
    genes = gc.datasets.load_yeast("brown", impute="mean").data
    model = gc.CorrelationClustering(shift=-0.5, n_init=1, random_state=0)
    result = capacity_null(
        model, genes, protocol="interleave", n_clusters=[3, 5, 8], n_repeats=2, random_state=0, progress=False
    )
    assert result.null.max() < 0.1 and result.observed.min() > 1


def test_two_workers_a_folder_and_views_in_place_of_a_table_change_nothing(tmp_path):
    data = planted()
    kwargs = dict(n_clusters=[2, 3], n_repeats=4, relative_shift=0.5, random_state=1, progress=False)
    model = gc.CorrelationClustering(n_init=1, random_state=0)
    wanted = capacity_null(model, data, protocol="interleave", **kwargs)
    for found in (
        capacity_null(model, data, protocol="interleave", n_jobs=2, folder=tmp_path, **kwargs),
        capacity_null(model, data, protocol="interleave", folder=tmp_path, **kwargs),
        capacity_null(model, interleave(data), **kwargs),
    ):
        assert np.array_equal(found.observed, wanted.observed) and np.array_equal(found.null, wanted.null)
    assert len(list(tmp_path.iterdir())) == 5 * 2


def test_the_protocol_is_repeated_whole(watched):
    calls = []

    def halves(data, random_state=None):
        calls.append(data)
        return random_split(data, align="euclidean", n_objects=6, random_state=random_state)

    views = capacity_null(watched, planted(), protocol=halves, n_repeats=3, random_state=0, progress=False)
    assert len(calls) == 1 and views.null.shape == (3, 1)  # nulls are remade by the views
    own = random_split(planted(), align="euclidean", n_objects=6, random_state=0)
    found = capacity_null(watched, own, n_repeats=2, random_state=0, progress=False)
    assert found.observed[0] == evaluate(QUICK, own.similarities()).value
    with pytest.raises(TypeError, match="returned tuple"):
        capacity_null(watched, planted(), protocol=lambda data, random_state: (data, data), progress=False)


def test_a_relative_shift_is_another_absolute_one_for_every_pair(watched):
    views = interleave(planted())
    capacity_null(watched, views, n_repeats=2, relative_shift=0.5, random_state=0, progress=False)
    shifts = np.array(watched.shifts).reshape(3, 2)
    assert np.array_equal(shifts[:, 0], shifts[:, 1]) and len(set(shifts[:, 0])) == 3
    assert shifts[0, 0] == 0.5 * views.similarities().median - 1
    watched.shifts.clear()
    capacity_null(watched.set_params(shift=-0.2), views, n_repeats=1, random_state=0, progress=False)
    assert watched.shifts == [-0.2] * 4


def test_an_interrupted_null_goes_on_where_it_was(watched, tmp_path):
    kwargs = dict(n_clusters=[2, 3], n_repeats=3, random_state=0, progress=False)
    wanted = capacity_null(watched, planted(), protocol="interleave", **kwargs)
    watched.shifts.clear()
    watched.stop = 8  # in the second view of the fourth capacity
    with pytest.raises(KeyboardInterrupt):
        capacity_null(watched, planted(), protocol="interleave", folder=tmp_path, **kwargs)
    assert len(list(tmp_path.iterdir())) == 3
    watched.stop = None
    found = capacity_null(watched, planted(), protocol="interleave", folder=tmp_path, **kwargs)
    assert np.array_equal(found.null, wanted.null) and np.array_equal(found.observed, wanted.observed)
    assert len(watched.shifts) == 8 + 2 * (8 - 3)


OWN = """
class Own(Quick):
    def _unit(self, X):
        return 1.0 * super()._unit(X)
"""


def test_kept_capacities_count_for_what_made_them_only(watched, tmp_path, monkeypatch):
    def computed(source=OWN, **kwargs):
        exec(source, known := {"Quick": Quick, "lock": threading.Lock(), "__name__": "__main__"})
        model = known["Own"](n_clusters=3, n_init=1, random_state=0, **kwargs)
        watched.shifts.clear()
        options = dict(n_repeats=1, random_state=0, folder=tmp_path, progress=False)
        value = capacity_null(model, planted(), protocol="interleave", **options).observed[0]
        return len(watched.shifts), value

    first = computed()
    assert first[0] == 4 and computed() == (0, first[1])
    other = computed(OWN.replace("1.0", "3.0"))  # of the same name; and it is not the first one's value that it gets
    assert other[0] == 4 and other[1] != first[1] and computed(OWN.replace("1.0", "3.0")) == (0, other[1])
    assert computed(shift=-0.1)[0] == 4
    with monkeypatch.context() as patch:
        patch.setattr(keys, "version", lambda name: "0.0")
        assert computed() == first
    assert computed() == (0, first[1])
    for _ in range(2):  # what cannot be followed is not kept, and that is said
        with pytest.warns(UserWarning, match=r"Own\(.* neither kept in folder=.* nor taken from it.*lock"):
            assert computed(OWN.replace("1.0", "(1.0 + lock.locked())")) == first


@pytest.mark.parametrize("entry", ["", "{", "[]", "3", "{}", '{"capacity": "x"}', '{"capacity": NaN}', "\xff"])
def test_a_damaged_entry_is_computed_again(watched, tmp_path, entry):
    kwargs = dict(n_repeats=1, random_state=0, folder=tmp_path, progress=False)
    wanted = capacity_null(watched, planted(), protocol="interleave", **kwargs)
    for path in tmp_path.iterdir():
        path.write_text(entry, "latin-1")
    found = capacity_null(watched, planted(), protocol="interleave", **kwargs)
    assert np.array_equal(found.null, wanted.null) and np.array_equal(found.observed, wanted.observed)
    assert len(watched.shifts) == 8 and all('"seconds"' in path.read_text() for path in tmp_path.iterdir())


def test_a_folder_that_cannot_be_is_refused_before_anything_is_computed(watched, tmp_path):
    (tmp_path / "file").touch()
    for folder, error in ((tmp_path / "file", OSError), (tmp_path / "file" / "below", OSError), (3, TypeError)):
        with pytest.raises(error, match="folder=.*accepted is a folder"):
            capacity_null(watched, planted(), protocol="interleave", folder=folder, progress=False)
        with pytest.raises(error, match="folder=.*accepted is a folder"):
            gc.compare_models({"CC": watched}, planted(), folder=folder, progress=False)
    assert not watched.shifts


def with_gap(data):
    data[2, 3] = np.nan
    return data


@pytest.mark.parametrize(
    "kwargs, message",
    [
        (dict(X=with_gap(planted())), "X holds NaN"),
        (dict(X=with_gap(planted()).tolist()), "X holds NaN"),
        (dict(X=planted()[0]), "2-D array"),
        (dict(X=np.kron(np.eye(6), [1.0, 2])), r"a 'permuted' table by 'correlation': .* constant rows"),
        (dict(n_repeats=0), "n_repeats=0 must be >= 1"),
        (dict(null="shuffled"), "null='shuffled' is not one of 'permuted', 'gaussian', 'matched'"),
        (dict(measure="cosine"), "measure='cosine'"),
        (dict(protocol="halves"), "protocol='halves' is not one of"),
        (dict(protocol=None), "protocol=None"),
        (dict(X=interleave(planted())), "beside Views"),
        (dict(n_clusters=[]), "n_clusters is empty"),
        (dict(n_clusters=[2, 0]), "n_clusters=0"),
        (dict(n_clusters=25), "n_clusters=25 must be >= 1 and <= n_samples=24"),
        (dict(model=gc.NormalizedCut(), relative_shift=0.5), "accepted are models with a shift"),
        (dict(relative_shift=np.inf), "relative_shift=inf must be finite"),
    ],
)
def test_bad_input(kwargs, message):
    given = dict(model=QUICK, X=planted(), protocol="interleave", progress=False) | kwargs
    with pytest.raises(ValueError, match=message):
        capacity_null(**given)


@pytest.mark.parametrize(
    "model", [KMeans(), gc.CorrelationClustering, SpectralClustering(affinity="precomputed"), "CC"]
)
def test_models_that_cannot_be_annealed_are_refused(model):
    with pytest.raises(TypeError, match="models with `anneal`"):
        capacity_null(model, planted(), protocol="interleave")
    with pytest.raises(TypeError, match="models with `anneal`"):
        evaluate(model, interleave(planted()).similarities())


@pytest.mark.parametrize("pair", [None, interleave(planted()), (np.eye(4),) * 3, np.eye(4)])
def test_what_is_no_pair_is_refused(pair):
    with pytest.raises(TypeError, match="accepted are two"):
        evaluate(QUICK, pair)


@pytest.mark.parametrize("protocol", [gc.replicates, lambda data: interleave(data)])
def test_protocols_that_cannot_be_called_are_refused(protocol):
    with pytest.raises(TypeError, match="random_state"):
        capacity_null(QUICK, planted(), protocol=protocol)


def test_tables_that_cannot_be_drawn_are_refused():
    for make in (gaussian_table, matched_table):
        with pytest.raises(ValueError, match="objects of X=1 must be >= 2"):
            make(np.ones((1, 4)))
    with pytest.raises(ValueError, match="correlations of the columns of X would hold 1.44e.08 numbers"):
        matched_table(np.ones((2, 12_000)))
    for make in (permuted_table, gaussian_table, matched_table):
        with pytest.raises(ValueError, match="X holds NaN"):
            make(with_gap(planted()))


def test_views_do_not_share_the_random_start_of_a_frozen_model():
    """A very stiff model freezes where it starts; strangers must not agree for having started alike."""
    rng = np.random.default_rng(0)
    pair = [X @ X.T for X in rng.random((2, 40, 3)) + 1]
    model = gc.CorrelationClustering(4, shift=-1e4, n_init=1, random_state=0)
    first = model.anneal(pair[0])
    # Cooling alone kept the start here, and one state for both gave more than 1 bit; the search leaves it.
    assert gc.generalization_capacity(first, model.anneal(pair[1], betas=first.betas)).value < 0.1
    assert evaluate(model, pair).value < 0.1
    assert gc.select_n_clusters(model, *pair, [4], progress=False).capacities[0] < 0.1


class Scripted(gc.CorrelationClustering):
    """Two clusters at potential `shift`, one object in ten exchanged where the matrix says so; keeps its grids."""

    grids = []

    def _unit(self, X):
        return 1.0

    def anneal(self, X, betas=None, init=None):
        self.grids.append((betas[0], betas[-1]))
        labels = np.arange(40) % 2
        labels[: int(4 * X[0, 1])] ^= 1
        h = np.tile(self.shift * (np.arange(2) != labels[:, None]), (len(betas), 1, 1))
        return Trajectory(betas, softmax(-betas[:, None, None] * h, axis=2), h, np.zeros(len(betas)))


@pytest.mark.parametrize(
    "shift, exchanged, low, high",
    [(5.0, 0, 0.8, 40), (0.02, 0, 0.8, 160), (100.0, 1, 0.02, 40)],
    ids=["inside", "still rising in the cold", "frozen apart when hot"],
)
def test_the_grid_is_widened_where_the_information_is_outside(shift, exchanged, low, high):
    Scripted.grids = []
    pair = np.zeros((40, 40)), np.full((40, 40), float(exchanged))
    found = evaluate(Scripted(2, shift=shift), pair)
    assert Scripted.grids[-1] == pytest.approx((low, high)) == Scripted.grids[-2]
    assert len(Scripted.grids) == (2 if (low, high) == (0.8, 40) else 4)
    grid = beta_grid(1.0, low, high, 1 + round(np.log(high / low) / 0.206))
    wanted = kary_information(2, 0.1 * exchanged, shift * grid).max()
    assert found.value == pytest.approx(wanted, abs=1e-9) and found.value > 0.4


def test_the_random_state_of_the_caller_stays_where_it_is():
    rng = np.random.default_rng(5)
    before = rng.bit_generator.state
    model, pair = gc.CorrelationClustering(2, n_init=1, random_state=rng), interleave(planted()).similarities()
    first, second = evaluate(model, pair), evaluate(model, pair)
    assert first.value == second.value and rng.bit_generator.state == before and model.random_state is rng
    gc.select_n_clusters(model, *pair, [2, 3], progress=False)
    assert rng.bit_generator.state == before


@pytest.mark.parametrize(
    "name, positive", [("NormalizedCut", True), ("DominantSets", True), ("AdaptiveRatioCut", False)]
)
def test_models_say_whether_similarities_must_be_positive(name, positive):
    model = getattr(gc, name)(2)
    if "random_state" in model.get_params():
        model.set_params(random_state=0)
    assert get_tags(model).input_tags.positive_only == positive
    X = np.full((6, 6), -1.0)
    with pytest.raises(ValueError, match="non-negative|0 or less") if positive else nullcontext():
        model.anneal(X)
    # All three are evaluated on similarities >= 0 (correlations as 1 + rho).
    row = gc.compare_models({"model": model}, interleave(planted()), n_clusters=2, progress=False).table.iloc[0]
    assert row.capacity == evaluate(model, interleave(planted()).similarities(positive=True)).value


# Models on vectors and tables


class Counts(ClusterMixin, BaseEstimator):
    """Histogram clustering by rows' mean counts: an annealed model on tables with an array per object."""

    capacity_entropy = "final"

    def __init__(self, n_clusters=2):
        self.n_clusters = n_clusters

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        return tags

    def unit(self, X):
        return 1.0

    def anneal(self, X, betas=None, init=None, weight=None):
        if X.min() < 0:
            raise ValueError("X holds negative counts")
        betas = np.array([1.0]) if betas is None else betas
        shares = (X + 0.5) / (X + 0.5).sum(axis=1, keepdims=True)
        centres = shares[np.linspace(0, len(X) - 1, self.n_clusters).astype(int)]
        h = -X @ np.log(centres).T
        h -= h.min(axis=1, keepdims=True)
        h = np.tile(h, (len(betas), 1, 1))
        return Trajectory(betas, softmax(-betas[:, None, None] * h, axis=2), h, np.zeros(len(betas)))


def counts(seed=0, n=8):
    """Three groups of rows, each with its own pair of columns in both halves of the table."""
    rng = np.random.default_rng(seed)
    return rng.poisson(np.repeat(0.2 + 9 * np.kron(np.eye(3), np.ones((1, 2))), n, axis=0)).astype(float)


def test_models_on_vectors_are_evaluated_on_the_views_themselves():
    X1, X2, _ = gc.datasets.paired_gaussian_sources(90, 8 * np.eye(3), variance=1.0, random_state=0)
    model, views = gc.AnnealedKMeans(3, random_state=0), gc.replicates(X1, X2)
    found = evaluate(model, (X1, X2))
    assert found.value == pytest.approx(np.log2(3), abs=0.02) and found.n_effective == 3
    null = capacity_null(model, views, [2, 3], n_repeats=4, null="gaussian", random_state=0, progress=False)
    assert null.observed[1] == found.value and null.excess[1] > 0.5 and null.p_value_max == 0.2
    models = {"k-means": model, "CC": (gc.CorrelationClustering(n_init=1, random_state=0), {"relative_shift": [0.5]})}
    compared = gc.compare_models(models, views, 3, measures=("euclidean",), progress=False)
    ranking = compared.ranking().set_index("model")
    assert ranking.capacity["k-means"] == pytest.approx(found.value) and ranking["rank"].to_dict()["CC"] <= 2
    table = compared.table.set_index("model")
    assert np.isnan(table["shift"]["k-means"]) and np.isnan(table.relative_shift["k-means"])


def test_both_halves_of_the_columns_and_random_halves_are_views_of_vectors(tmp_path):
    data, model = planted(noise=0.1), gc.AnnealedKMeans(3, random_state=0)
    for protocol in ("interleave", "random_split"):
        options = dict(protocol=protocol, n_repeats=2, random_state=0, progress=False)
        wanted = capacity_null(model, data, **options)
        assert wanted.observed[0] > (1.2 if protocol == "interleave" else 0)
        for _ in range(2):  # computed, and read
            kept = capacity_null(model, data, folder=tmp_path, measure="euclidean", **options)
            assert np.array_equal(kept.null, wanted.null) and np.array_equal(kept.observed, wanted.observed)
    assert len(list(tmp_path.iterdir())) == 6
    capacity_null(model, data, folder=tmp_path, measure="path", **options)  # nothing that such a model sees is another
    assert len(list(tmp_path.iterdir())) == 6


def test_models_on_tables_have_nulls_and_rows_without_a_correlation_do_not_matter():
    found = capacity_null(Counts(3), counts(), protocol="interleave", n_repeats=9, random_state=0, progress=False)
    assert found.p_value_max == 0.1 and found.observed[0] > 1.4
    flat = np.kron(np.eye(3), np.ones((4, 4)))  # rows of a null table may be constant in one view
    assert len(capacity_null(Counts(2), flat, protocol="interleave", n_repeats=3, progress=False).null) == 3
    with pytest.raises(ValueError, match="negative counts"):
        capacity_null(Counts(3), counts(), protocol="interleave", null="gaussian", progress=False)


def test_arrays_per_object_stay_with_their_objects(tmp_path, monkeypatch):
    model, data, seen, inner = Counts(2), counts(), [], Counts.anneal
    weight = data[:, 0] * 100 + data[:, 1]  # tells the rows apart
    views = gc.random_split(data, align="euclidean", random_state=3)
    calls = {
        "evaluate": lambda **options: evaluate(model, (data, data), **options),
        "null": lambda **options: capacity_null(model, views, n_repeats=1, random_state=0, progress=False, **options),
        "compare": lambda **options: gc.compare_models({"C": model}, views, 2, progress=False, **options),
        "select": lambda **options: gc.select_n_clusters(model, data, data, [2], progress=False, **options),
    }
    with monkeypatch.context() as patch:

        def anneal(self, X, betas=None, init=None, weight=None):
            seen.append((X, weight))
            return inner(self, X, betas, init, weight)

        patch.setattr(Counts, "anneal", anneal)
        for call in calls.values():
            call(per_object={"weight": weight})
    assert len(seen) >= 10 and all(given is not None for _, given in seen)
    real = [(X, given) for X, given in seen if any((X[0] == row).all() for row in data)]
    assert len(real) >= 8 and all(np.array_equal(X[:, 0] * 100 + X[:, 1], given) for X, given in real)
    with pytest.raises(ValueError, match=r"per_object\['weight'\] has shape \(5,\), accepted are"):
        calls["null"](per_object={"weight": weight[:5]})
    one = calls["null"](per_object={"weight": weight}, folder=tmp_path)
    calls["null"](per_object={"weight": weight + 1}, folder=tmp_path)
    assert len(list(tmp_path.iterdir())) == 4 and one.null.shape == (1, 1)


# Graphs ---------------------------------------------------------------------------------------------------------------


def grouped_graph(n_objects=48, seed=0):
    """A graph of weights 0 and 1 with four groups."""
    rng, labels = np.random.default_rng(seed), np.arange(n_objects) % 4
    X = np.triu(rng.random((n_objects, n_objects)) < np.where(labels[:, None] == labels, 0.8, 0.1), 1).astype(float)
    return X + X.T


@pytest.mark.parametrize("null", list(NULLS))
def test_a_null_graph_is_one_without_groups(null):
    X = grouped_graph()
    made = null_graphs([X], null, random_state=0)
    assert made.shape == (1, 48, 48) and np.array_equal(made[0], made[0].T) and not made[0].diagonal().any()
    model = gc.CorrelationClustering(4, random_state=0)
    bits = [
        gc.evaluate(model, gc.paired_graphs(Y, neutral=0.5, random_state=1).similarities()).value for Y in (X, made[0])
    ]
    assert bits[0] > 1.5 and bits[1] < 0.6
    assert np.array_equal(made, null_graphs([X], null, random_state=0))
    assert not np.array_equal(made, null_graphs([X], null, random_state=1))


@pytest.mark.parametrize("null", ["permuted", "matched"])
def test_weights_are_kept_exactly(null):
    rng = np.random.default_rng(0)
    graphs = [A + A.T for A in rng.gamma(0.5, size=(2, 20, 20))]
    pairs = np.triu_indices(20, 1)
    for X, made in zip(graphs, null_graphs(graphs, null, random_state=3), strict=True):
        assert np.array_equal(np.sort(made[pairs]), np.sort(X[pairs]))


@pytest.mark.parametrize("null", list(NULLS))
def test_two_measurements_stay_as_alike_as_they_are(null):
    rng = np.random.default_rng(1)
    A, E = (B + B.T for B in rng.normal(size=(2, 60, 60)))
    pairs, graphs = np.triu_indices(60, 1), [A, A + 0.7 * E]
    before = np.corrcoef(*(X[pairs] for X in graphs))[0, 1]
    after = np.mean(
        [np.corrcoef(*(X[pairs] for X in null_graphs(graphs, null, random_state=s)))[0, 1] for s in range(5)]
    )
    assert after == pytest.approx(before, abs=0.03)


def test_the_gaussian_null_turns_all_measurements_alike():
    """A rotation is linear, and one that keeps the vector of ones keeps the sum of all weights."""
    X, Y = grouped_graph(16), grouped_graph(16, seed=1)
    turned = null_graphs([X, Y, X + Y], "gaussian", random_state=0)
    np.testing.assert_allclose(turned[0] + turned[1], turned[2], atol=1e-9)
    np.testing.assert_allclose(turned.sum(axis=(1, 2)), [X.sum(), Y.sum(), X.sum() + Y.sum()])
    assert np.abs(turned[0] - X).max() > 0.5


def test_views_of_a_graph_have_a_null_of_graphs():
    model = gc.CorrelationClustering(4, random_state=0)
    views = gc.paired_graphs(grouped_graph(), neutral=0.5, random_state=1)
    found = gc.capacity_null(model, views, null="matched", n_repeats=4, random_state=0, progress=False)
    assert found.p_value_max == 0.2 and found.observed[0] == gc.evaluate(model, views.similarities()).value
    # By hand: the second of the random states spawned makes the first null graph, and then its lots.
    rng = np.random.default_rng(np.random.SeedSequence(0).spawn(5)[1])
    made = null_graphs(views.data, "matched", random_state=rng)
    again = gc.paired_graphs(made, neutral=0.5, random_state=rng).similarities()
    assert found.null[0, 0] == gc.evaluate(model, again).value


@pytest.mark.filterwarnings("ignore::gencap.models.similarity.RestartWarning")
def test_p_values_of_graphs_without_groups_are_even():
    """30 graphs of independent weights, four null graphs each: p <= .2 for six of them, sd 2.2."""
    model, p = gc.CorrelationClustering(3, random_state=0, n_init=1), []

    def bits(X, state):
        return gc.evaluate(model, gc.paired_graphs(X, random_state=state).similarities()).value

    for seed in range(30):
        A = np.random.default_rng(seed).normal(size=(14, 14))
        null = [bits(null_graphs([A + A.T], "matched", random_state=100 * seed + r)[0], r) for r in range(4)]
        p.append((1 + np.sum(np.array(null) >= bits(A + A.T, 9) - 1e-9)) / 5)
    assert 0 < np.sum(np.array(p) <= 0.2) <= 12 and np.sum(np.array(p) <= 0.6) >= 6


@pytest.mark.parametrize(
    ("graphs", "null", "words"),
    [([np.eye(4)], "other", "null='other' is not one of"), ([np.arange(16.0).reshape(4, 4)], "matched", "symmetric")],
)
def test_null_graphs_refuse(graphs, null, words):
    with pytest.raises(ValueError, match=words):
        null_graphs(graphs, null)
