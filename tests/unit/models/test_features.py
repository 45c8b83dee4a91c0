"""Families of features against scipy's distributions and scikit-learn's generalised linear models."""

import numpy as np
import pytest
import scipy.sparse
from scipy import stats
from sklearn.linear_model import LogisticRegression, PoissonRegressor, Ridge

from gencap.models.features import RIDGE, Regression, as_rows, check_features, natural, scales

RNG = np.random.default_rng(0)


def prepared(family, n=30, m=4, rng=RNG):
    if family == "gaussian":
        return rng.standard_normal((n, m))
    if family == "bernoulli":
        return (rng.random((n, m)) < 0.4).astype(float)
    return rng.dirichlet(np.ones(m), n)


def test_natural_parameters_give_the_log_likelihood_of_scipy():
    weights = RNG.random(30)
    for family in ("multinomial", "bernoulli", "gaussian"):
        F = prepared(family)
        mean = weights @ F / weights.sum()
        W, a = natural(weights @ F, weights.sum(), family, F.mean(axis=0), 0.0)
        found = F @ W + a
        if family == "bernoulli":
            expected = stats.bernoulli(mean).logpmf(F.astype(int)).sum(axis=1)
        elif family == "gaussian":  # prepared rows are x / sqrt(2 variance)
            expected = stats.norm(mean, np.sqrt(0.5)).logpdf(F).sum(axis=1) + (F**2).sum(axis=1)
            expected = expected + 0.5 * F.shape[1] * np.log(np.pi)
        else:
            expected = (F * np.log(mean)).sum(axis=1)
        np.testing.assert_allclose(found, expected, atol=1e-12)


def test_an_empty_cell_is_like_all_objects():
    for family in ("multinomial", "bernoulli", "gaussian"):
        F = prepared(family)
        empty = natural(np.zeros(4), np.zeros(()), family, F.mean(axis=0), 1e-9)
        everything = natural(F.sum(axis=0), np.array(30.0), family, F.mean(axis=0), 0.0)
        for one, other in zip(empty, everything, strict=True):
            np.testing.assert_allclose(one, other, atol=1e-6)


def test_scales_are_variances():
    p = np.array([0.2, 0.5, 0.0])
    np.testing.assert_allclose(scales(p, "bernoulli"), [0.16, 0.25, 1.0])
    np.testing.assert_allclose(scales(p, "multinomial"), [0.2, 0.5, 1.0])
    np.testing.assert_allclose(scales(p, "gaussian"), 0.5)


def test_rows_of_the_kernels():
    F = np.array([[0, 1.0, 2.0], [3.0, 0, 0]])
    data, columns, ends = as_rows(F, "multinomial")
    assert (data.tolist(), columns.tolist(), ends.tolist()) == ([1, 2, 3], [1, 2, 0], [0, 2, 3])
    data, columns, ends = as_rows(scipy.sparse.csr_array(F), "bernoulli")
    assert (data.tolist(), columns.tolist(), ends.tolist()) == ([0, 1, 2, 3, 0, 0], [0, 1, 2, 0, 1, 2], [0, 3, 6])


def test_generalised_linear_models_are_those_of_scikit_learn():
    rng = np.random.default_rng(1)
    known, weights = rng.standard_normal((60, 2)), rng.random((60, 2)) + 0.05
    design = np.column_stack([known, np.ones(60)])
    for family in ("bernoulli", "gaussian", "multinomial"):
        F = prepared(family, 60, 3, rng)
        model = Regression(F, known, family, 2)
        model.update(weights, 50)
        for k in range(2):
            for j in range(3):
                y, w = F[:, j], weights[:, k]
                if family == "bernoulli":
                    other = LogisticRegression(C=1 / RIDGE, fit_intercept=False, tol=1e-10, max_iter=1000)
                elif family == "gaussian":
                    other = Ridge(alpha=RIDGE, fit_intercept=False)
                else:
                    other, y = PoissonRegressor(alpha=RIDGE / w.sum(), fit_intercept=False, tol=1e-10), 3 * y
                other.fit(design, y, sample_weight=w)
                np.testing.assert_allclose(model.coefficients[k, j], np.ravel(other.coef_), rtol=2e-3, atol=2e-4)


def test_likelihoods_of_the_regression():
    known = RNG.standard_normal((20, 1))
    for family in ("bernoulli", "multinomial", "gaussian"):
        F = prepared(family, 20, 3)
        model = Regression(F, known, family, 1)
        model.update(np.ones((20, 1)), 20)
        eta = np.column_stack([known, np.ones(20)]) @ model.coefficients[0].T
        if family == "bernoulli":
            expected = stats.bernoulli(1 / (1 + np.exp(-eta))).logpmf(F.astype(int)).sum(axis=1)
        elif family == "multinomial":
            q = np.exp(eta) / np.exp(eta).sum(axis=1, keepdims=True)
            expected = (F * np.log(q)).sum(axis=1)
        else:
            expected = (F**2).sum(axis=1) - ((F - eta) ** 2).sum(axis=1)
        np.testing.assert_allclose(model.log_likelihoods()[:, 0], expected, atol=1e-10)


WRONG = [
    ("multinomial", [[1.0, -2.0], [1, 1]], "Negative values in data: X has -2, accepted are counts >= 0"),
    ("multinomial", [[1.0, 2.0], [0, 0]], "X has no counts in row 1"),
    ("multinomial", scipy.sparse.csr_array([[1.0, 2.0], [0, 0]]), "X has no counts in row 1"),
    ("multinomial", scipy.sparse.csr_array([[1.0, np.nan]]), "finite numbers only, no NaN"),
    ("bernoulli", [[0, 1], [0.5, 1]], "X must hold only 0 and 1, got 0.5"),
    ("bernoulli", scipy.sparse.csr_array([[0, 3.0]]), "X must hold only 0 and 1, got 3"),
    ("gaussian", [[np.inf, 1.0]], "X holds NaN or infinite values"),
    ("gaussian", scipy.sparse.csr_array([[1.0, 2.0]]), "X is a sparse csr_array, accepted is a dense array"),
]


@pytest.mark.parametrize(("family", "X", "words"), WRONG)
def test_wrong_features_are_named(family, X, words):
    with pytest.raises((ValueError, TypeError), match=words):
        check_features("X", X, family)
