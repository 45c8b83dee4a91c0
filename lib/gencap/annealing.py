"""Annealing: temperature schedules, and the `Trajectory` of assignment probabilities that a model leaves behind.

A model that assigns object i to cluster k at potential h_ik has, at inverse temperature beta, the assignment
probabilities P_ik = exp(-beta h_ik) / sum_k' exp(-beta h_ik').  Annealing follows them over a grid of betas.  Hot, all
clusters coincide; they split one after the other as the temperature falls, and what the capacity, the transfer
cost and the pictures need is the whole path, not only its cold end.

Every model measures temperature in its own unit: the inverse temperature at which the state "all clusters alike"
loses its stability (the first split).  Grids are fixed multiples of that unit, so that one default fits all data.
"""

import zipfile
import zlib
from dataclasses import dataclass, field

import numpy as np
from scipy.sparse.csgraph import connected_components
from scipy.special import entr, log_softmax

from .checks import as_array, check_labels

__all__ = ["Trajectory", "beta_grid", "check_betas"]

COINCIDENT = 0.1  # clusters whose normalised memberships differ by less (total variation) are counted once
STORED = ("betas", "probabilities", "potentials", "costs", "centroids", "unit")  # what `Trajectory.save` writes
OCCUPIED = 0.01  # share of the mass below which a cluster counts as empty


def beta_grid(unit, low, high, n_steps):
    """Inverse temperatures `unit * geomspace(low, high, n_steps)`, ascending: the coldest comes last.

    Parameters
    ----------
    unit : float
        Inverse temperature of the first split.
    low, high : float
        Ends of the grid in units of `unit`.
    n_steps : int

    Returns
    -------
    ndarray, shape (n_steps,)
    """
    return unit * np.geomspace(low, high, n_steps)


def check_betas(betas):
    """Return a user's grid as float64; it must be a non-empty ascending sequence of positive finite numbers."""
    betas = as_array("betas", betas, np.float64)
    if betas.ndim != 1 or betas.size == 0 or not np.isfinite(betas).all() or betas.min() <= 0:
        raise ValueError(f"betas must be a non-empty 1-D sequence of positive finite numbers, got {betas!r}")
    if (np.diff(betas) <= 0).any():
        raise ValueError("betas must ascend (the coldest last), got a sequence that falls or repeats")
    return betas


@dataclass(eq=False)
class Trajectory:
    """Assignment probabilities of N objects to K clusters at T inverse temperatures.

    Attributes
    ----------
    betas : ndarray, shape (T,)
        Inverse temperatures, ascending; they multiply the model's potentials. (Step counts for `DominantSets`.)
    probabilities : ndarray, shape (T, N, K)
        Assignment probabilities, each row sums to 1.
    potentials : ndarray, shape (T, N, K), or None
        Potentials h with probabilities = softmax(-beta h); None for models without a cost function.
    costs : ndarray, shape (T,)
        The model's cost of the hard labels at every step.
    centroids : ndarray, shape (T, K, D), or None
    unit : float
        Inverse temperature of the first split, the unit of the default grid.
    converged : ndarray of bool, shape (T,), or None
        Whether the step settled before the limit of sweeps; None where nothing settles (samplers, step counts).
    """

    betas: np.ndarray
    probabilities: np.ndarray
    potentials: np.ndarray | None
    costs: np.ndarray
    centroids: np.ndarray | None = None
    unit: float = 1.0
    converged: np.ndarray | None = None
    _counted: dict = field(default_factory=dict, repr=False)

    @property
    def n_steps(self):
        """Number of temperatures T."""
        return self.probabilities.shape[0]

    @property
    def n_objects(self):
        """Number of objects N."""
        return self.probabilities.shape[1]

    @property
    def n_clusters(self):
        """Number of clusters offered, K."""
        return self.probabilities.shape[2]

    def __repr__(self):
        return f"Trajectory({self.n_steps} temperatures, {self.n_objects} objects, {self.n_clusters} clusters)"

    def labels(self, t=-1):
        """Hard labels at step `t`: the most probable cluster of every object, shape (N,)."""
        return self.probabilities[t].argmax(axis=1)

    def entropy(self, t=-1):
        """Entropy of the mean assignment probabilities at step `t`, bits per object (000 Eq. 61)."""
        return float(entr(self.probabilities[t].mean(axis=0, dtype=np.float64)).sum() / np.log(2))

    def log_probabilities(self, t):
        """Natural log of the assignment probabilities at step `t`, exact where they underflow; shape (N, K)."""
        if self.potentials is None:
            with np.errstate(divide="ignore"):
                return np.log(self.probabilities[t].astype(np.float64))
        return log_softmax(-self.betas[t] * self.potentials[t].astype(np.float64), axis=1)

    def groups(self, t=-1):
        """Which clusters are one at step `t`.

        Clusters k and l coincide when half of sum_i |P_ik/m_k - P_il/m_l| is below 0.1 (m = column sums); groups are
        formed by single linkage.

        Returns
        -------
        ndarray of int, shape (K,)
            Number of the group, -1 for a cluster with under 1 % of the mass.
        """
        t = range(self.n_steps)[t]
        if t not in self._counted:
            mass = self.probabilities[t].sum(axis=0, dtype=np.float64)
            occupied = np.flatnonzero(mass >= OCCUPIED * self.n_objects)
            members = (self.probabilities[t][:, occupied] / mass[occupied]).T
            distance = np.array([0.5 * np.abs(members - row).sum(axis=1) for row in members])
            groups = np.full(self.n_clusters, -1)
            groups[occupied] = connected_components(distance < COINCIDENT, directed=False)[1]
            self._counted[t] = groups
        return self._counted[t]

    def n_effective(self, t=-1):
        """Number of distinct clusters with at least 1 % of the mass at step `t`; coincident ones count once."""
        return int(self.groups(t).max()) + 1

    def save(self, path):
        """Write to `path` as compressed npz, through a temporary name so that an interruption leaves no half file."""
        from .resources import replacing

        arrays = {name: value for name in STORED if (value := getattr(self, name)) is not None}
        with replacing(path) as stream:
            np.savez_compressed(stream, **arrays)

    @classmethod
    def load(cls, path):
        """Read what `save` wrote.

        Raises
        ------
        ValueError
            The file is damaged or holds something else.
        FileNotFoundError, OSError
            It cannot be read.
        """
        try:
            with np.load(path) as stored:
                arrays = {name: stored[name] for name in STORED if name in stored.files}
            missing = [name for name in STORED if name not in (*arrays, "potentials", "centroids")]
        except (ValueError, EOFError, TypeError, AttributeError, zipfile.BadZipFile, zlib.error) as error:
            raise ValueError(f"{path} is not a Trajectory written by save: {error}") from None
        if missing:
            raise ValueError(f"{path} is not a Trajectory written by save: it has no {', '.join(missing)}")
        return cls(**{"potentials": None} | arrays | {"unit": float(arrays["unit"])})


def check_start(init, betas, n_objects, n_clusters):
    """Raise ValueError unless the Trajectory `init` has the steps, objects and clusters of the run it starts."""
    if init is None:
        return None
    if not isinstance(init, Trajectory):
        raise TypeError(f"init must be a Trajectory or None, got {type(init).__name__}")
    given, wanted = init.probabilities.shape, (len(betas), n_objects, n_clusters)
    if given != wanted:
        raise ValueError(f"init has (steps, objects, clusters) = {given}, accepted is {wanted}")
    return init


def one_hot(labels, n_clusters, dtype=np.float64):
    """Hard labels as assignment probabilities, shape (N, K)."""
    labels = check_labels("labels", labels, n_clusters=n_clusters)
    return np.eye(n_clusters, dtype=dtype)[labels]
