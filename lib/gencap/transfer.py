"""Transfer costs: what a solution found on one data set costs on another (000 chapters 3 and 5.4.2)."""

import numpy as np
from scipy.spatial.distance import cdist

from .annealing import Trajectory
from .checks import check_vectors

__all__ = ["transfer_costs"]


def transfer_costs(trajectory, X2):
    """Cost of data set 2 under the centroids and assignment probabilities of data set 1, at every temperature.

    Objects are paired by construction: row i of X2 is the second measurement of object i (000 Eq. 94).

    Parameters
    ----------
    trajectory : Trajectory
        A run of a model with centroids on data set 1.
    X2 : array_like, shape (N, D)

    Returns
    -------
    ndarray, shape (T,)
        mean_i sum_k P1_ik ||x2_i - mu_k||^2, in the squared units of the data.

    Raises
    ------
    TypeError
        `trajectory` is not a Trajectory.
    ValueError
        It has no centroids, or X2 has another shape than data set 1.
    """
    if not isinstance(trajectory, Trajectory):
        raise TypeError(f"trajectory must be a Trajectory, got {type(trajectory).__name__}")
    if trajectory.centroids is None:
        raise ValueError("trajectory has no centroids; transfer costs need a model on vectors")
    X2 = check_vectors("X2", X2)
    wanted = (trajectory.n_objects, trajectory.centroids.shape[2])
    if X2.shape != wanted:
        raise ValueError(f"X2 has shape {X2.shape}, accepted is the shape of data set 1, {wanted}")
    return np.array(
        [
            (probabilities * cdist(X2, centroids, "sqeuclidean")).sum() / len(X2)
            for probabilities, centroids in zip(trajectory.probabilities, trajectory.centroids, strict=True)
        ]
    )
