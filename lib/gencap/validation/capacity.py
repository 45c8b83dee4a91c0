"""Generalization capacity: how many bits per object two noisy data sets agree on.

A clustering model that is cooled on two data sets of the same objects turns each into a set of plausible solutions,
wide when hot and narrow when cold.  Wide sets say little; narrow ones contradict each other.  The rate

    J(beta) = H + mean_i log2 sum_k P1[i, k] P2[i, pi(k)]                        (000 Eq. 65)

weighs the two: H is the entropy of the cluster sizes, the second term the agreement of the assignment probabilities
under the best renaming pi of the clusters.  Its maximum over the temperature is the capacity.  For K-ary codes it is
Shannon's capacity of the symmetric channel.
"""

from dataclasses import dataclass

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.special import xlogy
from scipy.stats import entropy as entropy_of

from ..checks import check_integer, check_labels, check_option, check_same_order, check_same_shape
from ..kernels.capacity import mean_log_overlap
from ..trajectory import ENTROPIES, Trajectory
from .agreement import align_labels

ABOVE = 0.01  # bits by which rounding may lift a capacity above log2 of the distinct clusters


@dataclass(eq=False, repr=False)
class Capacity:
    """Capacity of two annealing runs and the curve it is the maximum of; see `generalization_capacity`.

    Parameters
    ----------
    value : float
        max(0, max J), bits per object.
    index, beta : int, float
        Step and inverse temperature (data set 1's) of the maximum of J.
    betas, curve, stability : ndarray, shape (T,)
        Inverse temperatures of data set 1, J(beta), and its second term; bits per object.
    entropy : float
        H at the optimum, bits per object.
    n_effective : int
        Distinct clusters of data set 1 at the optimum.
    permutations : ndarray of int, shape (T, K)
        Cluster of data set 2 that corresponds to each cluster of data set 1.

    Examples
    --------
    >>> import gencap as gc
    >>> gc.Capacity(1.5, 0, 0.25, [0.25], [1.5], [-0.1], 1.6, 4, [[0, 1, 2, 3]])
    Capacity(1.500 bits per object at beta=0.25, 4 clusters)
    """

    value: float
    index: int
    beta: float
    betas: np.ndarray
    curve: np.ndarray
    stability: np.ndarray
    entropy: float
    n_effective: int
    permutations: np.ndarray

    def __repr__(self):
        return f"Capacity({self.value:.3f} bits per object at beta={self.beta:.4g}, {self.n_effective} clusters)"


def _check_pair(first, second):
    if not isinstance(first, Trajectory) or not isinstance(second, Trajectory):
        raise TypeError(f"t1 and t2 are {type(first).__name__} and {type(second).__name__}, accepted are Trajectories")
    check_same_shape("t2 (steps, objects, clusters)", second.probabilities, "t1", first.probabilities)
    check_same_order("t2", second, "t1", first)
    ratio = second.betas / first.betas
    if ratio.min() < 0.8 or ratio.max() > 1.25:
        found = f"betas of t2 / betas of t1 lie in {ratio.min():.3g}..{ratio.max():.3g}"
        raise ValueError(f"{found}, accepted is 0.8..1.25: anneal both data sets on one grid (betas=t1.betas)")


def generalization_capacity(t1, t2, *, entropy=None):
    """Generalization capacity of two annealing runs on two data sets of the same objects (000 Eq. 65, 88).

    Parameters
    ----------
    t1, t2 : Trajectory
        Runs of one model; row i of both is the same object.
    entropy : {"final", "same"} or None
        Where H is taken: at the coldest step of data set 1 (Algorithm 1, line 16), or at the same step as J; either way
        no more than the surprise at chance (see Notes). None takes what the model says, `t1.capacity_entropy`.

    Returns
    -------
    Capacity

    Raises
    ------
    ValueError
        Runs of different numbers of steps, objects or clusters; objects named in another order; grids whose ratio
        leaves 0.8-1.25; unknown `entropy`; more bits than log2 of the clusters told apart (contradictory runs).

    Notes
    -----
    H is the entropy of the mean assignment probabilities, not of hard labels: those are arbitrary among clusters
    that coincide. The renaming of the clusters is found at every step by the Hungarian method on P1' P2: clusters
    are exchangeable until they split, so a renaming fixed while hot means nothing.

    J is a rate only against chance. Where the objects of data set 1 are renamed at random, their weights
    m_k = mean_i P1[i, k] stand in the place of P1[i, k], and what exceeds that,

        mean_i log2 (sum_k P1[i, k] P2[i, k] / sum_k m_k P2[i, k]) <= log2 D,  D = mean_i max_k P1[i, k] / m_k,

    is 0 or less in the mean over all pairings of unrelated data sets (Jensen), and bounded as it is a mean of P1 / m.
    D (`Trajectory.n_distinct`) is at most the number of different clusters. So H counts no more than the surprise
    -mean_i log2 of the denominator, or that with the data sets exchanged, whichever is larger. For hard clusters it is
    never less than H, for equally large ones it is log2 K: it decides where all objects share one uneven distribution,
    or where a colder step has more clusters than the step at hand.

    Examples
    --------
    >>> import numpy as np, gencap as gc
    >>> X = np.kron(np.eye(2), np.ones((4, 4))) - 0.5
    >>> run = gc.CorrelationClustering(2, random_state=0).anneal(X)
    >>> round(gc.generalization_capacity(run, run).value, 2)
    1.0
    """
    _check_pair(t1, t2)
    entropy = check_option("entropy", t1.capacity_entropy if entropy is None else entropy, ENTROPIES)
    steps, n_clusters = t1.n_steps, t1.n_clusters
    stability, permutations = np.empty(steps), np.empty((steps, n_clusters), int)
    for t in range(steps):
        P1, P2 = t1.probabilities[t], t2.probabilities[t]
        permutations[t] = linear_sum_assignment(P1.T @ P2, maximize=True)[1]
        h1, h2 = (np.empty((0, 0)) if run.potentials is None else run.potentials[t] for run in (t1, t2))
        stability[t] = mean_log_overlap(P1, P2, permutations[t], h1, t1.betas[t], h2, t2.betas[t]) / np.log(2)
    at = range(steps) if entropy == "same" else [-1] * steps
    entropies = [min(t1.entropy(at[t]), _surprise(t1, t2, t, permutations[t])) for t in range(steps)]
    # One cluster carries exactly nothing, and rounding must not say otherwise.
    curve = np.array(entropies) + stability if n_clusters > 1 else np.zeros(steps)
    best = int(np.argmax(curve))
    limit = np.log2(max(t1.n_distinct(best), t2.n_distinct(best)))
    if curve[best] > limit + ABOVE:
        found = f"entropy={entropy!r} gives {curve[best]:.3f} bits at step {best} (beta={t1.betas[best]:.4g})"
        told = f"where the assignments tell apart {2**limit:.3g} clusters, {limit:.3f} bits"
        raise ValueError(f"{found}, {told}; accepted are potentials and probabilities of one run")
    value, beta, H = max(0.0, float(curve[best])), float(t1.betas[best]), float(entropies[best])
    return Capacity(value, best, beta, t1.betas, curve, stability, H, t1.n_effective(best), permutations)


def _surprise(t1, t2, t, permutation):
    """-mean_i log2 of the overlap of one data set at step t with the cluster weights of the other, the larger; bits."""
    P1, P2 = t1.probabilities[t], t2.probabilities[t][:, permutation]
    with np.errstate(divide="ignore"):  # clusters that the other leaves empty surprise without bound
        return max(float(-np.log2(P @ Q.mean(axis=0, dtype=np.float64)).mean()) for P, Q in ((P1, P2), (P2, P1)))


def hamming_capacity(labels1, labels2, n_clusters):
    """Capacity of an algorithm without a cost function, from its two hard results (000 Eq. 80-87).

    Parameters
    ----------
    labels1, labels2 : array_like of int, shape (N,)
        Labels of the same objects in data sets 1 and 2.
    n_clusters : int
        Number of clusters K offered.

    Returns
    -------
    float
        max(0, H + (1-d) log2(1-d) + d log2(d/(K-1))) bits per object, with the share d of objects that still
        disagree after the best renaming and the entropy H of data set 1's cluster sizes; 0 for K=1.

    Raises
    ------
    ValueError
        Labels of different lengths, or outside 0..K-1.

    Examples
    --------
    >>> import gencap as gc
    >>> gc.hamming_capacity([0, 0, 1, 1], [1, 1, 0, 0], 2)
    1.0
    """
    n_clusters = check_integer("n_clusters", n_clusters)
    check_same_order("labels2", labels2, "labels1", labels1)
    labels1 = check_labels("labels1", labels1, n_clusters=n_clusters)
    agreed = (align_labels(labels1, labels2, n_clusters) == labels1).mean()
    if n_clusters == 1:
        return 0.0
    sizes = np.unique(labels1, return_counts=True)[1]
    return max(0.0, float((entropy_of(sizes) + stay_or_err(1 - agreed, n_clusters)) / np.log(2)))


def stay_or_err(delta, n_clusters):
    """(1-d) log(1-d) + d log(d/(K-1)), natural log, with 0 log 0 = 0."""
    return xlogy(1 - delta, 1 - delta) + xlogy(delta, delta / (n_clusters - 1))
