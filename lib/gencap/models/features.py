r"""Features that a cluster describes by one distribution each: counts, bits, or numbers around a mean.

All three are exponential families, so with rows F_i prepared for it the log-likelihood of object i in a cell with sums
S over n objects is F_i . W + a, up to what is the same for every cell:

* "multinomial": rows of counts divided by their sum, q = S / n, W = log q, a = 0
* "bernoulli": rows of 0 and 1, p = S / n, W = log p/(1-p), a = sum log(1-p)
* "gaussian": rows (x - mean) / sqrt(2 variance), t = S / n, W = 2 t, a = -|t|^2

A known structure that is not categorical (a table of numbers for every object) enters by a generalised linear model
of every feature in every cluster, with the canonical link (001 Algorithm 6.4).
"""

import numpy as np
import scipy.sparse
from scipy.special import expit, logsumexp

from ..checks import check_boolean, check_size, check_unmasked, check_vectors
from ..kernels.bottleneck import BERNOULLI, GAUSSIAN, MULTINOMIAL

FAMILIES = {"multinomial": MULTINOMIAL, "bernoulli": BERNOULLI, "gaussian": GAUSSIAN}
TINY = 1e-12  # probabilities of bits stay this far from 0 and 1
RIDGE = 1e-2  # of the generalised linear models, in objects
NEWTON_STEPS = 2  # of theirs between two updates of the memberships


def check_features(name, X, family):
    """Return features of one family as float64, dense or in compressed rows.

    Raises
    ------
    ValueError
        Not two-dimensional or finite; counts that are negative or a row without any; bits that are not 0 or 1; sparse
        numbers for "gaussian".
    """
    if scipy.sparse.issparse(X) and family != "gaussian":
        check_unmasked(name, X)
        X = scipy.sparse.csr_matrix(X, dtype=np.float64, copy=True)
        X.sum_duplicates()
        values = X.data
        if not np.isfinite(values).all() or 0 in X.shape:
            raise ValueError(f"{name} of shape {X.shape} must be non-empty and hold finite numbers only, no NaN")
    else:
        values = X = check_vectors(name, X)
    if family == "bernoulli":
        check_boolean(name, values)
    if family == "multinomial":
        if values.size and values.min() < 0:
            raise ValueError(f"Negative values in data: {name} has {values.min():g}, accepted are counts >= 0")
        for row in np.flatnonzero(np.asarray(X.sum(axis=1)).ravel() == 0)[:1]:
            raise ValueError(f"{name} has no counts in row {row}; accepted are rows of positive sum")
    return X


def as_rows(F, family):
    """Features as the kernels take them: values, columns and row ends; sparse only for "multinomial"."""
    if family == "multinomial":
        F = scipy.sparse.csr_matrix(F)
        return F.data, F.indices, F.indptr
    F = dense(F)
    n, m = F.shape
    return np.ravel(F), np.tile(np.arange(m, dtype=np.int32), n), np.arange(n + 1, dtype=np.int32) * m


def dense(F):
    """Features as an array, unless it would be too large."""
    if scipy.sparse.issparse(F):
        check_size("the features as a dense array", F.shape)
        return F.toarray()
    return F


def natural(sums, n, family, mean, prior):
    """W and a of cells.

    Parameters
    ----------
    sums : ndarray, shape (..., m)
    n : ndarray, shape (...)
        Objects in every cell.
    family : str
    mean : ndarray, shape (m,)
        Mean features of all objects.
    prior : float
        Objects of these mean features that every cell has beside its own: an empty cell is like all objects.

    Returns
    -------
    W : ndarray, shape (..., m)
    a : ndarray, shape (...)
    """
    sums = sums + prior * mean
    if family == "multinomial":
        return np.log(np.maximum(sums / sums.sum(axis=-1, keepdims=True), 1e-300)), np.zeros(np.shape(n))
    centre = sums / (n + prior)[..., None]
    if family == "gaussian":
        return 2 * centre, -(centre**2).sum(axis=-1)
    p = np.clip(centre, TINY, 1 - TINY)
    return np.log(p / (1 - p)), np.log1p(-p).sum(axis=-1)


def scales(mean, family):
    """Variance of every feature in the family's own distribution, shape (m,); 1 where it does not vary."""
    if family == "gaussian":
        return np.full(len(mean), 0.5)
    variance = mean * (1 - mean) if family == "bernoulli" else mean
    return np.where(variance > 0, variance, 1.0)


class Regression:
    """Generalised linear models of every feature in every cluster, given a table of known numbers.

    Parameters
    ----------
    F : ndarray, shape (N, m)
        Prepared features.
    known : ndarray, shape (N, d)
    family : str
    n_clusters : int
        K.

    Attributes
    ----------
    coefficients : ndarray, shape (K, m, d + 1)
        The intercept last.
    """

    def __init__(self, F, known, family, n_clusters):
        # Rows that sum to the number of terms have predictions around 1, whatever that number is.
        self.F, self.family, self.factor = F, family, F.shape[1] if family == "multinomial" else 1
        self.design = np.column_stack([known, np.ones(len(F))])
        self.squares = (self.design[:, :, None] * self.design[:, None, :]).reshape(len(F), -1)
        start = np.zeros((F.shape[1], self.design.shape[1]))
        if family != "gaussian":
            mean = np.clip(F.mean(axis=0) * self.factor, 1e-3, np.inf if family == "multinomial" else 1 - 1e-3)
            start[:, -1] = np.log(mean) - (np.log1p(-mean) if family == "bernoulli" else 0)
        self.coefficients = np.tile(start, (n_clusters, 1, 1))

    def expected(self, eta):
        """Mean and variance of features at linear predictors eta (N, m)."""
        if self.family == "gaussian":
            return eta, np.ones_like(eta)
        if self.family == "bernoulli":
            mean = expit(eta)
            return mean, mean * (1 - mean)
        mean = np.exp(np.minimum(eta, 30.0))
        return mean, mean

    def update(self, P, steps=NEWTON_STEPS):
        """Newton steps on the likelihood weighted by the memberships P (N, K)."""
        penalty = RIDGE * np.eye(self.design.shape[1])
        for k, weights in enumerate(P.T):
            for _ in range(1 if self.family == "gaussian" else steps):
                mean, variance = self.expected(self.design @ self.coefficients[k].T)
                slope = (weights[:, None] * (self.factor * self.F - mean)).T @ self.design - RIDGE * self.coefficients[
                    k
                ]
                bend = ((weights[:, None] * variance).T @ self.squares).reshape(-1, *penalty.shape) + penalty
                self.coefficients[k] += np.linalg.solve(bend, slope[:, :, None])[:, :, 0]

    def log_likelihoods(self, F=None, design=None):
        """Of objects in every cluster, shape (N, K), up to what is the same for all of them."""
        F, design = (self.F, self.design) if F is None else (F, design)
        found = np.empty((len(F), len(self.coefficients)))
        for k, coefficients in enumerate(self.coefficients):
            eta = design @ coefficients.T
            if self.family == "gaussian":
                found[:, k] = 2 * (F * eta).sum(axis=1) - (eta**2).sum(axis=1)
            elif self.family == "bernoulli":
                found[:, k] = (F * eta - np.logaddexp(0, eta)).sum(axis=1)
            else:
                found[:, k] = (F * eta).sum(axis=1) - logsumexp(eta, axis=1)
        return found
