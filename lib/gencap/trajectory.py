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
from dataclasses import dataclass, field, fields

import numpy as np
from scipy import special
from scipy.sparse.csgraph import connected_components

from .checks import as_array, check_integer, check_labels, check_number, check_option
from .resources import replacing

COINCIDENT = 0.1  # clusters whose normalised memberships differ by less (total variation) are counted once
OCCUPIED = 0.01  # share of the mass below which a cluster counts as empty; with many clusters half of 1/K
ENTROPIES = ("final", "same")


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

    Examples
    --------
    >>> beta_grid(2.0, 0.5, 2, 3).round(6).tolist()
    [1.0, 2.0, 4.0]
    """
    return unit * np.geomspace(low, high, n_steps)


def cooling_schedule(schedule, hot, cold, n_steps):
    """Inverse temperatures of a cooling, ascending from `hot` to `cold` (004 section 9.6).

    Parameters
    ----------
    schedule : {"exponential", "linear", "logarithmic"}
        The temperature falls by a constant factor, by a constant difference, or as 1 / (a + b log t) at step t = 1, 2,
        ..., the rate at which a sampler would find the optimum if it had no end.
    hot, cold : float
        Inverse temperatures at the ends, 0 < hot < cold.
    n_steps : int
        At least 2.

    Returns
    -------
    ndarray, shape (n_steps,)

    Raises
    ------
    ValueError
        Another schedule, ends in another order, fewer than 2 steps.

    Examples
    --------
    >>> for schedule in ("exponential", "linear", "logarithmic"):
    ...     print(cooling_schedule(schedule, 1.0, 4.0, 3).round(2).tolist())
    [1.0, 2.0, 4.0]
    [1.0, 1.6, 4.0]
    [1.0, 2.89, 4.0]
    """
    check_option("schedule", schedule, ("exponential", "linear", "logarithmic"))
    hot, cold = check_number("hot", hot, 1e-300), check_number("cold", cold, high=1e300)
    if cold <= hot:
        raise ValueError(f"cold={cold} is not above hot={hot}: inverse temperatures ascend as it gets colder")
    n_steps = check_integer("n_steps", n_steps, 2)
    if schedule == "exponential":
        betas = np.geomspace(hot, cold, n_steps)
    elif schedule == "linear":
        betas = 1 / np.linspace(1 / hot, 1 / cold, n_steps)
    else:
        betas = hot + (cold - hot) * np.log(np.arange(1, n_steps + 1)) / np.log(n_steps)
    if not (np.diff(betas) > 0).all():
        raise ValueError(f"n_steps={n_steps} from hot={hot} to cold={cold} lie too close to ascend")
    return betas


def check_betas(betas):
    """Return a user's grid as float64; it must be a non-empty ascending sequence of positive finite numbers.

    Parameters
    ----------
    betas : array_like, shape (T,)

    Returns
    -------
    ndarray, shape (T,)

    Examples
    --------
    >>> check_betas([1, 2])
    array([1., 2.])
    """
    betas = as_array("betas", betas, np.float64)
    if betas.ndim != 1 or betas.size == 0 or not np.isfinite(betas).all() or betas.min() <= 0:
        raise ValueError(f"betas must be a non-empty 1-D sequence of positive finite numbers, got {betas!r}")
    if (np.diff(betas) <= 0).any():
        raise ValueError("betas must ascend (the coldest last), got a sequence that falls or repeats")
    return betas


@dataclass(eq=False)
class Trajectory:
    """Assignment probabilities of N objects to K clusters at T inverse temperatures.

    Parameters
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
    converged : ndarray of bool, shape (T,)
        Whether the sweeps at a step settled before their limit; None at construction means that all did.
    n_iter : int
        Sweeps over the data that the run took.
    capacity_entropy : {"final", "same"}
        Where a capacity takes its entropy H: at the coldest step, or, for models whose steps are no temperatures of one
        cost, at the step itself.
    objects : ndarray of str, shape (N,), or None
        Names of the objects, if the data had any.
    start_costs : ndarray, shape (n_starts + 1,), or None
        Costs at which the starts of a model on similarities ended at zero temperature: the random ones, the embedded
        one, and last the lowest cost after merging and parting clusters. How far they differ says how sure it is.
    learned : dict
        What a model's `fit` keeps of the run besides, by the name of its attribute. Not saved.

    Attributes
    ----------
    n_steps, n_objects, n_clusters : int
        T, N and K, the number of clusters offered.

    Raises
    ------
    ValueError
        Arrays that contradict each other's shape, rows of probabilities that do not sum to 1 within 1e-4, values that
        are not finite, or betas that do not ascend from above 0.

    Examples
    --------
    >>> import numpy as np, gencap as gc
    >>> X = np.kron(np.eye(2), np.ones((4, 4))) * 2 - 1
    >>> run = gc.CorrelationClustering(n_clusters=2, random_state=0).anneal(X)
    >>> run, run.n_effective(), run.labels().tolist()[:4] == [run.labels()[0]] * 4
    (Trajectory(25 temperatures, 8 objects, 2 clusters), 2, True)
    """

    betas: np.ndarray
    probabilities: np.ndarray
    potentials: np.ndarray | None
    costs: np.ndarray
    centroids: np.ndarray | None = None
    unit: float = 1.0
    converged: np.ndarray | None = None
    n_iter: int = 0
    capacity_entropy: str = "final"
    objects: np.ndarray | None = None
    start_costs: np.ndarray | None = None
    learned: dict = field(default_factory=dict)

    def __post_init__(self):
        self.betas, P = check_betas(self.betas), np.asarray(self.probabilities)
        self.probabilities = P
        if P.ndim != 3 or 0 in P.shape:
            raise ValueError(f"probabilities has shape {P.shape}, accepted is (steps, objects, clusters)")
        T, N, K = self.n_steps, self.n_objects, self.n_clusters = P.shape
        self.converged = np.ones(T, bool) if self.converged is None else self.converged
        shapes = dict.fromkeys(("betas", "costs", "converged"), (T,)) | {"objects": (N,), "potentials": (T, N, K)}
        shapes["centroids"] = (T, K, *np.shape(self.centroids)[-1:])
        for name in [name for name in shapes if name == "costs" or getattr(self, name) is not None]:
            value = np.asarray(getattr(self, name))
            setattr(self, name, value)
            if value.shape != shapes[name]:
                beside = f"beside probabilities of shape {P.shape}"
                raise ValueError(f"{name} has shape {value.shape}, accepted {beside} is {shapes[name]}")
            # NaN and infinity show at the ends, and need no mask as large as the array.
            if name != "objects" and not np.isfinite([value.min(), value.max()]).all():
                raise ValueError(f"{name} holds NaN or infinite values; accepted are finite numbers only")
        rows = P.reshape(-1, K)
        wrong = ~(np.abs(rows @ np.ones(K, P.dtype) - 1) <= 1e-4) | (rows < 0).any(axis=1)
        if wrong.any():
            step, i = divmod(wrong.argmax(), N)
            found = f"probabilities of object {i} at step {step} are {P[step, i]}"
            raise ValueError(f"{found}; accepted are numbers >= 0 of sum 1")
        check_option("capacity_entropy", self.capacity_entropy, ENTROPIES)

    def __repr__(self):
        return f"Trajectory({self.n_steps} temperatures, {self.n_objects} objects, {self.n_clusters} clusters)"

    def labels(self, t=-1):
        """Hard labels: the most probable cluster of every object.

        Parameters
        ----------
        t : int
            Step.

        Returns
        -------
        ndarray of int64, shape (N,)

        Examples
        --------
        >>> sure = Trajectory([1.0], [[[0.9, 0.1], [0.2, 0.8]]], None, [0.0])
        >>> sure.labels().tolist()
        [0, 1]
        """
        return self.probabilities[t].argmax(axis=1)

    def entropy(self, t=-1):
        """Entropy of the mean assignment probabilities (000 Eq. 61).

        Parameters
        ----------
        t : int
            Step.

        Returns
        -------
        float
            Bits per object.

        Examples
        --------
        >>> Trajectory([1.0], [[[1, 0], [0, 1]]], None, [0.0]).entropy()
        1.0
        """
        return float(special.entr(self.probabilities[t].mean(axis=0, dtype=np.float64)).sum() / np.log(2))

    def groups(self, t=-1):
        """Which clusters are one at step `t`.

        Clusters k and l coincide when half of sum_i |P_ik/m_k - P_il/m_l| is below 0.1 (m = column sums); groups are
        formed by single linkage.

        Parameters
        ----------
        t : int
            Step.

        Returns
        -------
        ndarray of int, shape (K,)
            Number of the group, -1 for a cluster with under 1 % of the mass (or half of 1/K, if that is less).

        Examples
        --------
        >>> Trajectory([1.0], [[[0.5, 0.5, 0], [0, 0, 1]]], None, [0.0]).groups().tolist()
        [0, 0, 1]
        """
        t = range(self.n_steps)[t]
        mass = self.probabilities[t].sum(axis=0, dtype=np.float64)
        occupied = np.flatnonzero(mass >= min(OCCUPIED, 0.5 / self.n_clusters) * self.n_objects)
        members = (self.probabilities[t][:, occupied] / mass[occupied]).T
        distance = np.array([0.5 * np.abs(members - row).sum(axis=1) for row in members])
        groups = np.full(self.n_clusters, -1)
        groups[occupied] = connected_components(distance < COINCIDENT, directed=False)[1]
        return groups

    def n_effective(self, t=-1):
        """Number of distinct clusters with at least min(1 %, half of 1/K) of the mass; coincident ones count once.

        Parameters
        ----------
        t : int
            Step.

        Returns
        -------
        int

        Examples
        --------
        >>> Trajectory([1.0], [[[0.5, 0.5, 0], [0, 0, 1]]], None, [0.0]).n_effective()
        2
        """
        return int(self.groups(t).max()) + 1

    def n_distinct(self, t=-1):
        """How many clusters step `t` tells apart, without a threshold: mean_i max_k P_ik / m_k, m_k = mean_i P_ik.

        It is 1 when all objects have the same probabilities, the number of occupied clusters when they are hard, and
        never more than the number of different columns P_ik / m_k. No message can tell more of them apart.

        Parameters
        ----------
        t : int
            Step.

        Returns
        -------
        float

        Examples
        --------
        >>> Trajectory([1.0], [[[1, 0], [0, 1], [0.5, 0.5], [0.5, 0.5]]], None, [0.0]).n_distinct()
        1.5
        """
        P = self.probabilities[t].astype(np.float64)
        mass = P.mean(axis=0)
        return float((P / np.where(mass > 0, mass, 1.0)).max(axis=1).mean())

    def save(self, path):
        """Write a compressed npz, through a temporary name so that an interruption leaves no half file.

        Parameters
        ----------
        path : str or Path

        Examples
        --------
        >>> import pathlib, tempfile
        >>> path = pathlib.Path(tempfile.mkdtemp(), "run.npz")
        >>> Trajectory([1.0], [[[1, 0], [0, 1]]], None, [0.0]).save(path)
        >>> Trajectory.load(path)
        Trajectory(1 temperatures, 2 objects, 2 clusters)
        """
        parts = {part.name: getattr(self, part.name) for part in fields(self) if part.name != "learned"}
        with replacing(path) as stream:
            np.savez_compressed(stream, **{name: value for name, value in parts.items() if value is not None})

    @classmethod
    def load(cls, path):
        """Read what `save` wrote.

        Parameters
        ----------
        path : str or Path

        Returns
        -------
        Trajectory

        Raises
        ------
        ValueError
            The file is damaged or holds something else.
        FileNotFoundError, OSError
            It cannot be read.
        """
        try:
            with np.load(path) as stored:
                arrays = {name: value if value.ndim else value.item() for name, value in stored.items()}
            return cls(**{"potentials": None} | arrays)
        except (ValueError, EOFError, TypeError, AttributeError, zipfile.BadZipFile, zlib.error) as error:
            raise ValueError(f"{path} is not a Trajectory written by save: {error}") from None


def check_start(init, betas, n_objects, n_clusters):
    """Return `init`, or raise unless it has the steps, objects and clusters of the run that it starts.

    Parameters
    ----------
    init : Trajectory or None
    betas : ndarray, shape (T,)
    n_objects, n_clusters : int

    Returns
    -------
    Trajectory or None

    Examples
    --------
    >>> check_start(None, [1.0], 3, 2) is None
    True
    """
    if not isinstance(init, Trajectory | None):
        raise TypeError(f"init must be a Trajectory or None, got {type(init).__name__}")
    wanted = (len(betas), n_objects, n_clusters)
    if init is not None and init.probabilities.shape != wanted:
        raise ValueError(f"init has (steps, objects, clusters) = {init.probabilities.shape}, accepted is {wanted}")
    return init


def one_hot(labels, n_clusters, dtype=np.float64):
    """Hard labels as assignment probabilities.

    Parameters
    ----------
    labels : array_like of int, shape (N,)
    n_clusters : int
        K.
    dtype : dtype

    Returns
    -------
    ndarray, shape (N, K)

    Examples
    --------
    >>> one_hot([1, 0], 3).astype(int).tolist()
    [[0, 1, 0], [1, 0, 0]]
    """
    labels = check_labels("labels", labels, n_clusters=n_clusters)
    return np.eye(n_clusters, dtype=dtype)[labels]


def softmax(scores):
    """Rows of exp(scores), normalised.

    Parameters
    ----------
    scores : array_like, shape (N, K)

    Returns
    -------
    ndarray, shape (N, K)

    Examples
    --------
    >>> softmax([[0, 0]]).tolist()
    [[0.5, 0.5]]
    """
    return special.softmax(scores, axis=1)


def entropy_bits(p):
    """Entropy -sum p log2 p over the last axis, in bits; 0 log 0 = 0.

    Parameters
    ----------
    p : array_like, shape (..., K)
        Non-negative, each distribution sums to 1 (within 1e-4, for float32 probabilities).

    Returns
    -------
    float, or ndarray of shape (...)

    Examples
    --------
    >>> entropy_bits([[0.5, 0.5], [1, 0]]).tolist()
    [1.0, 0.0]
    """
    p = np.asarray(p, dtype=np.float64)
    if p.ndim == 0 or not (p >= 0).all() or not (np.abs(p.sum(axis=-1) - 1) <= 1e-4).all():
        raise ValueError(f"p of shape {p.shape} must hold numbers >= 0 that sum to 1 within 1e-4 over the last axis")
    entropy = -(p * np.log2(np.where(p > 0, p, 1.0))).sum(axis=-1)
    return np.maximum(entropy, 0.0) if entropy.ndim else max(float(entropy), 0.0) + 0.0
