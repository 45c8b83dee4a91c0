"""Phase transitions of learning: when can two sources in many dimensions be told apart at all? (000 chapter 5.5)

N objects come from two Gaussians of variance sigma0 in D dimensions; alpha = N / D.  The direction between the two
estimated centroids is the leading direction of a random matrix with one planted spike.  Below a critical alpha the
spike drowns in the bulk of the spectrum and the direction found is random, however low the temperature (Baik, Ben
Arous and Peche 2005).  With u = |mu1 - mu2| / sqrt(2 sigma0) the spike has the strength u^2 / 2 relative to the noise,
and the transition lies at alpha_c = 4 u^-4.
"""

from typing import NamedTuple

import numpy as np
from sklearn.base import clone

from ..checks import check_number, check_same_shape, check_seed, check_vectors
from ..trajectory import Trajectory, check_betas
from ..views.measures import all_coordinates, few_coordinates

SPLIT = 1e-6  # squared distance of two centroids, in that of the sources, from which they count as two
TINY = np.nextafter(0, 1)  # the smallest number above 0


class OrderParameters(NamedTuple):
    """How far apart two estimated centroids are, and how much of it is along the true direction.

    Attributes
    ----------
    separation : ndarray, shape (T,)
        |d_hat|^2 / |d|^2, with the half differences d_hat of the estimated and d of the true centroids.
    cosine : ndarray, shape (T,)
        |d_hat . d| / (|d_hat| |d|); 0 where the centroids have not split.
    projection : ndarray, shape (T,)
        |d_hat . d| / |d|^2; near 1 for a perfect estimate, 0 both in the unsplit and in the random phase.
    """

    separation: np.ndarray
    cosine: np.ndarray
    projection: np.ndarray


def order_parameters(trajectory, centers):
    """Order parameters of a run with two clusters (000 Eq. 96-97, made free of units).

    Parameters
    ----------
    trajectory : Trajectory
        A run of a model with centroids and K=2.
    centers : array_like, shape (2, D)
        True centroids.

    Returns
    -------
    OrderParameters

    Raises
    ------
    ValueError
        No centroids, K other than 2, centers of another shape or equal.

    Examples
    --------
    >>> import gencap as gc
    >>> X, *_ = gc.datasets.two_sources_high_dimensional(60, 4, random_state=0)
    >>> run = gc.AnnealedKMeans(2, random_state=0).anneal(X)
    >>> gc.phases.order_parameters(run, [[3, 0, 0, 0], [0, 3, 0, 0]]).cosine.shape == run.betas.shape
    True
    """
    if getattr(trajectory, "centroids", None) is None or trajectory.n_clusters != 2:
        raise ValueError(f"trajectory must be a Trajectory with centroids and 2 clusters, got {trajectory!r}")
    centers = check_vectors("centers", centers)
    check_same_shape("centers", centers, "the centroids at one temperature", trajectory.centroids[0])
    truth = (centers[0] - centers[1]) / 2
    if not truth.any():
        raise ValueError("centers are equal, accepted are two different ones")
    found, length = (trajectory.centroids[:, 0] - trajectory.centroids[:, 1]) / 2, truth @ truth
    separation, projection = (found**2).sum(axis=1) / length, np.abs(found @ truth) / length
    split = separation >= SPLIT
    cosine = np.where(split, projection / np.sqrt(np.where(split, separation, 1.0)), 0.0)
    return OrderParameters(separation, cosine, np.where(split, projection, 0.0))


def quench(model, X, betas):
    """Run a model at every temperature from a fresh random start, instead of following one state down.

    What a sampler reaches in a given number of sweeps after a quench shows the glassy states that slow annealing
    avoids; the number of sweeps is part of the result.

    Parameters
    ----------
    model : AnnealedKMeans
        With `inference="gibbs"`; its `random_state` seeds a run of its own at every temperature. It is not changed.
    X : array_like, shape (N, D)
    betas : array_like, shape (T,)
        Ascending inverse temperatures.

    Returns
    -------
    Trajectory

    Examples
    --------
    >>> import gencap as gc
    >>> X, *_ = gc.datasets.two_sources_high_dimensional(20, 4, random_state=0)
    >>> model = gc.AnnealedKMeans(2, inference="gibbs", n_sweeps=2, random_state=0)
    >>> gc.phases.quench(model, X, [0.1, 1.0]).n_steps
    2
    """
    betas = check_betas(betas)
    few, offset, basis = few_coordinates(check_vectors("X", X))  # once, and not at every temperature
    seeds = np.random.SeedSequence(check_seed(model.random_state)).generate_state(len(betas), np.uint64)
    models = (clone(model).set_params(random_state=int(seed)) for seed in seeds)
    runs = [own.anneal(few, betas=[beta]) for own, beta in zip(models, betas, strict=True)]
    names = "probabilities", "potentials", "costs", "centroids"
    *parts, centroids = (np.concatenate([getattr(run, name) for run in runs]) for name in names)
    return Trajectory(betas, *parts, all_coordinates(centroids, offset, basis), runs[0].unit)


def critical_alpha(u):
    """Objects per dimension below which nothing can be learned, 4 u^-4 (000 chapter 5.5.1).

    Parameters
    ----------
    u : float
        |mu1 - mu2| / sqrt(2 sigma0), 1e-70 to 1e70, so that the result is a number.

    Returns
    -------
    float

    Examples
    --------
    >>> from gencap.theory.phases import critical_alpha
    >>> critical_alpha(2)
    0.25
    """
    return 4.0 / check_number("u", u, 1e-70, 1e70) ** 4


def learnable_cosine(alpha, u):
    """Cosine between the leading direction of N = alpha D objects and the truth, in the limit of large D.

    Parameters
    ----------
    alpha : float
        Objects per dimension, > 0.
    u : float
        |mu1 - mu2| / sqrt(2 sigma0), > 0.

    Returns
    -------
    float
        sqrt((1 - g / l^2) / (1 + g / l)) with g = 1 / alpha and the spike l = u^2 / 2; 0 below alpha_c.

    Examples
    --------
    >>> from gencap.theory.phases import learnable_cosine
    >>> [round(learnable_cosine(alpha, 2), 2) for alpha in (0.2, 1, 10)]
    [0.0, 0.71, 0.96]
    """
    g, spike = _noise_and_spike(alpha, u)
    return float(np.sqrt((1 - g / spike**2) / (1 + g / spike))) if spike**2 > g else 0.0


def critical_beta(alpha, u, *, variance=0.5):
    """Inverse temperature of the first split, 1 / (2 lambda_max), in the limit of large D.

    Parameters
    ----------
    alpha, u : float
        As for `learnable_cosine`.
    variance : float
        sigma0, variance of a source in every direction.

    Returns
    -------
    float
        1 / (2 sigma0 (1 + l) (1 + g / l)) above alpha_c, 1 / (2 sigma0 (1 + sqrt g)^2) below, where the split
        follows the noise.

    Examples
    --------
    >>> from gencap.theory.phases import critical_beta
    >>> round(critical_beta(1, 2), 4)
    0.2222
    """
    g, spike = _noise_and_spike(alpha, u)
    top = (1 + spike) * (1 + g / spike) if spike**2 > g else (1 + np.sqrt(g)) ** 2
    return 1 / (2 * check_number("variance", variance, TINY) * top)


def _noise_and_spike(alpha, u):
    return 1 / check_number("alpha", alpha, TINY), check_number("u", u, TINY) ** 2 / 2
