r"""Maximum entropy: the distribution that minimises mean cost minus temperature times entropy, and walks that visit it.

Of all distributions p over solutions c of cost E(c), the Gibbs distribution has the smallest

.. math:: G(p) = \sum_c p(c) E(c) - \tfrac1\beta H(p) = F(\beta) + \tfrac1\beta D(p \,\|\, p_\beta) , \qquad
          F(\beta) = -\tfrac1\beta \log \sum_c e^{-\beta E(c)} ,

so that G(p_beta) = F. All logarithms are natural.

References: 004 sections 3.2, 3.4, 9.3 and 9.6. Printed there are G(p_beta) = 0, and constants of the partition function
of least-angle clustering that do not agree with the sum over all assignments; see `least_angle_log_partition`.
"""

import numpy as np
from scipy.special import entr, logsumexp, roots_hermite, softmax

from ..checks import as_array, check_integer, check_number, check_same_shape, check_size
from ..models.codebook import directions

LEAST, MOST = 1e-300, 1e300  # inverse temperatures whose inverse is a number, too
SURE = 1e-3  # nats by which a rule of three quarters of the nodes may differ; the whole rule errs much less


def _warmth(beta):
    return check_number("beta", beta, LEAST, MOST)


def _energies(energies):
    energies = as_array("energies", energies, np.float64)
    if energies.ndim != 1 or energies.size == 0 or not np.isfinite(energies).all():
        raise ValueError(f"energies must be finite, non-empty and 1-D, got shape {energies.shape}")
    return energies


def gibbs_distribution(energies, beta):
    """Gibbs distribution over solutions of the given costs (004 section 9.3).

    Parameters
    ----------
    energies : array_like, shape (M,)
    beta : float
        Inverse temperature, > 0.

    Returns
    -------
    ndarray, shape (M,)

    Raises
    ------
    ValueError
        Energies that are not finite or not 1-D, a beta that is not positive.

    Examples
    --------
    >>> import numpy as np
    >>> from gencap.theory import maxent
    >>> maxent.gibbs_distribution([0.0, np.log(3)], 1.0).round(6).tolist()
    [0.75, 0.25]
    """
    beta, energies = _warmth(beta), _energies(energies)
    with np.errstate(over="ignore"):
        return softmax(-beta * (energies - energies.min()))


def free_energy(energies, beta):
    """Free energy F(beta), the smallest value of `gibbs_functional` (004 section 9.3).

    Parameters
    ----------
    energies : array_like, shape (M,)
    beta : float
        Inverse temperature, > 0.

    Returns
    -------
    float
        In the unit of the energies.

    Raises
    ------
    ValueError
        As for `gibbs_distribution`.

    Examples
    --------
    >>> from gencap.theory import maxent
    >>> round(maxent.free_energy([1.0, 1.0], 2.0), 6)  # 1 - log(2) / 2
    0.653426
    """
    beta, energies = _warmth(beta), _energies(energies)
    with np.errstate(over="ignore"):
        return float(energies.min() - logsumexp(-beta * (energies - energies.min())) / beta)


def gibbs_functional(p, energies, beta):
    """Mean cost minus entropy over beta, of any distribution over the solutions (004 section 9.3).

    Parameters
    ----------
    p : array_like, shape (M,)
        Probabilities.
    energies : array_like, shape (M,)
    beta : float
        Inverse temperature, > 0.

    Returns
    -------
    float
        In the unit of the energies.

    Raises
    ------
    ValueError
        As for `gibbs_distribution`; p of another shape, negative, or not of sum 1.

    Examples
    --------
    >>> from gencap.theory import maxent
    >>> energies = [0.0, 1.0, 3.0]
    >>> best = maxent.gibbs_functional(maxent.gibbs_distribution(energies, 2.0), energies, 2.0)
    >>> best - maxent.free_energy(energies, 2.0) < 1e-12 < maxent.gibbs_functional([1, 0, 0], energies, 2.0) - best
    True
    """
    p, energies = as_array("p", p, np.float64), _energies(energies)
    check_same_shape("p", p, "energies", energies)
    if not (p >= 0).all() or not abs(p.sum() - 1) <= 1e-9:
        raise ValueError(f"p must hold probabilities >= 0 of sum 1, got {p.min()}..{p.max()} of sum {p.sum()}")
    return float(p @ energies - entr(p).sum() / _warmth(beta))


def metropolis_matrix(energies, beta, proposal, *, hastings=True):
    """Transition probabilities of the Metropolis-Hastings walk between solutions (004 section 9.6).

    Parameters
    ----------
    energies : array_like, shape (M,)
    beta : float
        Inverse temperature, > 0.
    proposal : array_like, shape (M, M)
        Probability to be offered solution c' (column) in solution c (row).
    hastings : bool
        False: accept with min(1, exp(-beta (E' - E))), which is right for symmetric proposals only.

    Returns
    -------
    ndarray, shape (M, M)
        Rows sum to 1.

    Raises
    ------
    ValueError
        As for `gibbs_distribution`; a proposal of another shape, negative, or with rows not of sum 1.

    Examples
    --------
    >>> import numpy as np
    >>> from gencap.theory import maxent
    >>> P = maxent.metropolis_matrix([0.0, np.log(2)], 1.0, [[0.5, 0.5], [0.5, 0.5]])
    >>> P.round(6).tolist()
    [[0.75, 0.25], [0.5, 0.5]]
    """
    energies, Q = _energies(energies), as_array("proposal", proposal, np.float64)
    if Q.shape != (len(energies),) * 2 or not (Q >= 0).all() or not np.allclose(Q.sum(axis=1), 1, rtol=0, atol=1e-6):
        raise ValueError(f"proposal of shape {Q.shape} must be {(len(energies),) * 2}, >= 0 and have rows of sum 1")
    with np.errstate(over="ignore"):
        rise = _warmth(beta) * (energies[None, :] - energies[:, None])
    both = (Q > 0) & (Q.T > 0)
    if hastings:
        rise = rise + np.log(np.where(both, Q, 1.0)) - np.log(np.where(both, Q.T, 1.0))
    P = np.where(both | (not hastings), Q * np.exp(-np.maximum(rise, 0.0)), 0.0)  # no way back: not accepted
    P[np.diag_indices_from(P)] += np.maximum(1 - P.sum(axis=1), 0.0)
    return P


def least_angle_log_partition(X, n_clusters, beta, *, n_nodes=16):
    r"""Log partition function of least-angle clustering, by the integral that decouples the objects (004 section 3.4).

    .. math:: Z = e^{\beta/2} \Big(\frac{\beta n}{2\pi}\Big)^{kd/2} \int dy_1 \dots dy_k\;
              e^{-\frac{\beta n}{2} \sum_\nu |y_\nu|^2} \prod_i \sum_\nu e^{\beta\, e_i \cdot y_\nu} ,

    the sum over all k^n assignments exactly. Printed are the constants exp(-beta), (beta n / pi)^(d/2) and the exponent
    -beta n y^2.

    Parameters
    ----------
    X : array_like, shape (N, D)
        Vectors of any length but 0.
    n_clusters : int
    beta : float
        Inverse temperature, > 0.
    n_nodes : int
        Of the Gauss-Hermite rule in each of the D n_clusters directions; all together at most 2^20.

    Returns
    -------
    float

    Raises
    ------
    ValueError
        A vector of length 0, a beta that is not positive, too many nodes in too many directions, or too few of them:
        the result changes by more than 1e-3 with three quarters of them.

    Examples
    --------
    >>> import numpy as np
    >>> from gencap.theory import maxent
    >>> exact = float(np.log(2 * np.exp(1.5) + 2 * np.exp(1.0)))  # costs: -3/2 together, -1 apart
    >>> round(maxent.least_angle_log_partition([[1.0], [1.0]], 2, 1.0) - exact, 9) + 0
    0.0
    """
    E, n_clusters = directions(X), check_integer("n_clusters", n_clusters)
    beta, n_nodes = _warmth(beta), check_integer("n_nodes", n_nodes, 4, 200)
    width = n_clusters * E.shape[1]
    check_size(f"a rule of n_nodes={n_nodes} in {width} directions", (n_nodes,) * width, 2**20)
    check_size(f"n_nodes={n_nodes} in {width} directions for {len(E)} objects", (n_nodes,) * width + (len(E),))
    found, coarse = (_least_angle_rule(E, n_clusters, beta, n) for n in (n_nodes, 3 * n_nodes // 4))
    if not abs(found - coarse) <= SURE:
        raise ValueError(f"n_nodes={n_nodes} are too few at beta={beta:g}: with a quarter less log Z changes by "
                         f"{abs(found - coarse):.2g}, accepted is {SURE:g}; take more, or a hotter beta")  # fmt: skip
    return found


def _least_angle_rule(E, n_clusters, beta, n_nodes):
    nodes, weights = roots_hermite(n_nodes)
    chosen = np.indices((n_nodes,) * E.shape[1]).reshape(E.shape[1], -1).T
    logs = np.log(weights)[chosen].sum(axis=1)
    fields = np.sqrt(2 * beta / len(E)) * nodes[chosen] @ E.T
    total, sums = logs, fields  # one cluster after the other joins
    for _ in range(n_clusters - 1):
        total = np.add.outer(total, logs).ravel()
        sums = np.logaddexp(sums[:, None], fields[None]).reshape(-1, len(E))
    return float(beta / 2 + logsumexp(total + sums.sum(axis=1)) - n_clusters * E.shape[1] / 2 * np.log(np.pi))
