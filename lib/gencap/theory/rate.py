r"""How few bits describe an object: the rate-distortion function, and the plane in which the bottleneck trades bits.

A description c of x costs I(X;C) bits. Rate-distortion theory asks for the fewest at a given mean distortion,

.. math:: R(D) = \min_{p(c|x):\; E\,d(x,c) \le D} I(X;C) , \qquad p(c|x) \propto q(c)\, e^{-\beta\, d(x,c)} ,

for a distortion that somebody chose (Blahut-Arimoto). The information bottleneck lets another variable choose it: what
c says about the features y counts, I(C;Y), and the distortion becomes the divergence of p(y|x) from q(y|c).

References: 004 section 4.4; 001 section 3.5.3.
"""

from typing import NamedTuple

import numpy as np
from scipy.special import entr, logsumexp, xlogy

from ..checks import as_array, check_integer, check_number
from ..trajectory import check_betas


class RateDistortion(NamedTuple):
    """Points of a rate-distortion function.

    Attributes
    ----------
    betas : ndarray, shape (T,)
        Minus the slope of the rate, in nats per unit of distortion.
    rates : ndarray, shape (T,)
        Bits.
    distortions : ndarray, shape (T,)
    conditionals : ndarray, shape (T, N, K)
        p(c|x) at every point.
    converged : ndarray of bool, shape (T,)

    Examples
    --------
    >>> import gencap as gc
    >>> gc.rate_distortion([0.5, 0.5], [[0, 1], [1, 0]], [100.0]).rates.round(3).tolist()
    [1.0]
    """

    betas: np.ndarray
    rates: np.ndarray
    distortions: np.ndarray
    conditionals: np.ndarray
    converged: np.ndarray


def rate_distortion(p, distortion, betas, *, tol=1e-10, max_iter=20_000):
    """Rate-distortion function of a source by the Blahut-Arimoto iteration.

    Parameters
    ----------
    p : array_like, shape (N,)
        Probabilities of the source's letters.
    distortion : array_like, shape (N, K)
        Of letter x described by c, at least 0.
    betas : array_like, shape (T,)
        Ascending; minus the slope of the rate, in nats per unit of distortion.
    tol : float
        Largest distance from the minimum, in nats.
    max_iter : int
        Iterations at every beta.

    Returns
    -------
    RateDistortion

    Raises
    ------
    ValueError
        p that are no probabilities, a distortion of another shape, negative or not finite, betas that do not ascend.

    References
    ----------
    004 section 4.4.

    Examples
    --------
    >>> import gencap as gc
    >>> found = gc.rate_distortion([0.5, 0.5], [[0, 1], [1, 0]], [1.0, 2.0])
    >>> found.distortions.round(3).tolist(), found.rates.round(3).tolist()
    ([0.269, 0.119], [0.16, 0.473])
    """
    p, d, betas = as_array("p", p, np.float64), as_array("distortion", distortion, np.float64), check_betas(betas)
    if p.ndim != 1 or p.size == 0 or not (p >= 0).all() or not abs(p.sum() - 1) <= 1e-9:
        raise ValueError(f"p must hold probabilities >= 0 of sum 1, got shape {p.shape} and sum {p.sum()}")
    if d.ndim != 2 or len(d) != len(p) or d.shape[1] == 0 or not (np.isfinite(d) & (d >= 0)).all():
        raise ValueError(f"distortion of shape {d.shape} must be finite, >= 0, and have one row for each of {len(p)} p")
    check_number("tol", tol, 0.0)
    check_integer("max_iter", max_iter)
    rates, distortions = np.empty(len(betas)), np.empty(len(betas))
    conditionals, converged = np.empty((len(betas), *d.shape)), np.zeros(len(betas), bool)
    for t, beta in enumerate(betas):
        q = np.full(d.shape[1], 1 / d.shape[1])
        for _ in range(max_iter):
            logs = np.log(np.maximum(q, 1e-300)) - beta * d
            partition = logsumexp(logs, axis=1)
            # How much every letter c is wanted: above 1 more, and the largest bounds what is left to gain.
            wanted = p @ np.exp(-beta * d - partition[:, None])
            q = q * wanted
            if np.log(max(wanted.max(), 1.0)) <= tol:
                converged[t] = True
                break
        q /= q.sum()
        logs = np.log(np.maximum(q, 1e-300)) - beta * d
        conditionals[t] = np.exp(logs - logsumexp(logs, axis=1, keepdims=True))
        distortions[t] = p @ (conditionals[t] * d).sum(axis=1)
        rates[t] = (entr(p @ conditionals[t]).sum() - p @ entr(conditionals[t]).sum(axis=1)) / np.log(2)
    return RateDistortion(betas, np.maximum(rates, 0.0), distortions, conditionals, converged)


def information_plane(trajectory, X):
    """What a clustering costs and what it says about the features, at every step.

    Parameters
    ----------
    trajectory : Trajectory
    X : array_like, shape (N, m)
        Counts of the features of every object.

    Returns
    -------
    cost : ndarray, shape (T,)
        I(X;C), bits.
    kept : ndarray, shape (T,)
        I(C;Y), bits.
    all : float
        I(X;Y), the most that can be kept.

    Raises
    ------
    ValueError
        X of another length, negative, or with a row of sum 0.

    Examples
    --------
    >>> import numpy as np, gencap as gc
    >>> X = np.kron(np.eye(2), np.ones((3, 2)))
    >>> cost, kept, everything = gc.information_plane(gc.InformationBottleneck(2, random_state=0).anneal(X), X)
    >>> cost[-1].round(3).item(), kept[-1].round(3).item(), round(everything, 3)
    (1.0, 1.0, 1.0)
    """
    X = as_array("X", X, np.float64)
    if X.ndim != 2 or len(X) != trajectory.n_objects or not (X >= 0).all() or not X.sum(axis=1).all():
        raise ValueError(
            f"X of shape {X.shape} must hold counts >= 0 of {trajectory.n_objects} objects, none without any"
        )
    F = X / X.sum(axis=1, keepdims=True)

    def information(joint):
        apart = np.outer(joint.sum(axis=1), joint.sum(axis=0))
        return float(xlogy(joint, joint / np.where(apart > 0, apart, 1.0)).sum() / np.log(2))

    runs = trajectory.probabilities.astype(np.float64) / trajectory.n_objects
    return (
        np.array([information(P) for P in runs]),
        np.array([information(P.T @ F) for P in runs]),
        information(F / len(F)),
    )
