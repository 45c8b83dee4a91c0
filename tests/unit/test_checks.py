"""Argument checks: every refusal names the argument, what was given and what is accepted."""

import numpy as np
import pytest
import scipy.sparse
from sklearn.cluster import KMeans
from sklearn.utils import get_tags

import gencap as gc
from gencap.checks import (
    check_integer,
    check_number,
    check_option,
    check_seed,
    check_similarity,
    check_vectors,
    generator,
)

X = np.array([[2.0, 1.0], [1.0, 3.0]])


@pytest.mark.parametrize("check", [check_vectors, check_similarity])
@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        (X + 1j, ValueError, "X is complex; accepted are real"),
        (np.ma.masked_greater(X, 2.5), ValueError, "X has masked entries; accepted are finite"),
        (
            np.array([["NaT", "2020"], ["2020", "NaT"]], "M8[D]"),
            ValueError,
            r"X holds dates or times \(datetime64\[D\]\)",
        ),
        ([[1, 2], [3]], ValueError, "X is no array of numbers"),
        ([["a", "b"], ["b", "a"]], ValueError, "X is no array of numbers.*'a'"),
        ([[{}, {}], [{}, {}]], TypeError, "X is no array of numbers"),
        (3.0, ValueError, r"X must be .* got shape \(\)"),
        (np.array([[np.inf, -np.inf], [-np.inf, 0]]), ValueError, "X holds NaN or infinite"),
        (X * 1e200, ValueError, "X .*accepted"),
        (X * 1e-200, ValueError, "largest magnitude in X is 3e-200, accepted is 0 or"),
    ],
    ids=["complex", "masked", "dates", "ragged", "words", "objects", "scalar", "opposite infinities", "huge", "tiny"],
)
@pytest.mark.filterwarnings("error")
def test_what_is_no_finite_real_matrix_is_refused(check, given, error, message):
    with pytest.raises(error, match=message):
        check("X", given)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("scale", [1e-60, 1e-40, 1e32, 1e60])
@pytest.mark.parametrize("form", [np.asarray, scipy.sparse.csr_array, scipy.sparse.lil_matrix, scipy.sparse.dok_array])
def test_single_precision_neither_overflows_nor_vanishes_silently(scale, form):
    with pytest.raises(ValueError, match=r"X.* accepted .*1e\+30"):
        check_similarity("X", form(X * scale))


def test_what_fits_is_taken_as_it_is():
    for scale in (1e-29, 1.0, 1e29, 0.0):
        np.testing.assert_array_equal(check_similarity("X", X * scale), (X * scale).astype(np.float32))
    read_only = X.copy()
    read_only.flags.writeable = False
    assert check_vectors("X", read_only) is read_only
    assert check_vectors("X", np.asfortranarray(np.ones((3, 2)))).flags.c_contiguous


def test_sparse_entries_given_twice_are_added_and_the_given_matrix_stays():
    entries = np.float32([0.5, 0.5, 1]), np.array([1, 1, 0]), np.array([0, 2, 3])
    given = scipy.sparse.csr_array(tuple(a.copy() for a in entries), shape=(2, 2))
    checked = check_similarity("X", given, np.float32)
    assert np.array_equal(checked.toarray(), [[0, 1], [1, 0]])
    for found, was in zip((given.data, given.indices, given.indptr), entries, strict=True):
        assert np.array_equal(found, was)


def test_sparse_vectors_are_named():
    with pytest.raises(TypeError, match=r"X is a sparse csr_array, accepted is a dense array: X\.toarray\(\)"):
        check_vectors("X", scipy.sparse.csr_array(X))


def test_seeds():
    assert check_seed(None) is None
    assert check_seed(np.int64(3)) == 3
    assert check_seed(np.random.default_rng(1)) == check_seed(np.random.default_rng(1))
    generator = np.random.RandomState(1)
    assert check_seed(generator) != check_seed(generator)
    for given in (True, 1.5, "a", [1, 2]):
        with pytest.raises(TypeError, match="random_state=.* accepted are an integer >= 0, a Generator, a RandomState"):
            check_seed(given)
    with pytest.raises(ValueError, match="random_state=-1 must be >= 0"):
        check_seed(-1)


def test_a_generator_is_used_as_it_is():
    given = np.random.default_rng(5)
    assert generator(given) is given
    assert generator(5).random() == np.random.default_rng(5).random()
    with pytest.raises(TypeError, match="random_state='a'"):
        generator("a")


def test_options_and_numbers():
    with pytest.raises(ValueError, match="inference=array.* is not one of 'gibbs'"):
        check_option("inference", np.array(["gibbs", "gibbs"]), ("gibbs",))
    with pytest.raises(ValueError, match="^shift=nan must be finite$"):
        check_number("shift", float("nan"))
    with pytest.raises(ValueError, match="^p=3.0 must be finite and >= 1 and <= 2$"):
        check_number("p", 3.0, 1, 2)
    with pytest.raises(ValueError, match="^alpha=0 must be finite and >= 5e-324$"):
        check_number("alpha", 0, np.nextafter(0, 1))
    with pytest.raises(TypeError, match="^K must be an integer, got inf of type float$"):
        check_integer("K", float("inf"))
    with pytest.raises(ValueError, match="^K=0 must be >= 1 and <= N=3$"):
        check_integer("K", 0, 1, 3, "N")
    assert check_integer("K", 10**400, 2) == 10**400 and check_integer("seed", -3, -5) == -3


def test_masked_values_and_dates_are_refused_outside_matrices_of_similarities_too():
    masked, dates = np.ma.masked_less([0.0, 1.0], 0.5), np.array(["2020", "NaT"], "M8[D]")
    flags = np.ma.masked_array(np.eye(2, dtype=bool), mask=np.eye(2, dtype=bool))
    fitted = gc.AnnealedKMeans(1, random_state=0).fit([[0.0, 1.0], [1.0, 0.0]])
    for call, message in (
        (lambda: gc.coding.approximation_set(masked, 0.1), "costs has masked entries"),
        (lambda: gc.coding.approximation_set(dates, 0.1), "costs holds dates"),
        (lambda: gc.NoisyOrFactorization(1).fit(flags), "X has masked entries"),
        (lambda: fitted.predict(masked[None]), "X has masked entries"),
        (lambda: fitted.transform(dates[None]), "X holds dates"),
    ):
        with pytest.raises(ValueError, match=message):
            call()
    with pytest.raises(TypeError, match="model=KMeans.* accepted are models with `anneal`"):
        gc.select_n_clusters(KMeans(), np.eye(4), np.eye(4), [2], progress=False)
    assert [get_tags(gc.PairwiseClustering(embedding=way)).input_tags.sparse for way in (False, True)] == [True, False]
