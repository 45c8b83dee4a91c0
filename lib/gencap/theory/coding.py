r"""Approximation set coding: how much of a clustering survives the noise, as the rate of a communication channel.

The hypothesis class is every code :math:`c \in \{0..K-1\}^n`, one label per object. A problem is a matrix of
distances :math:`d_{ik}`; the cost of a code is :math:`R(c, X) = \sum_i d_{i, c(i)}`. All codes whose cost is within
:math:`\gamma` of the minimum form the approximation set :math:`C_\gamma(X)`. Transformations :math:`\tau` of the
problem move this set about in the hypothesis class: the moved sets are the code words, the second noisy problem is the
channel, and

.. math:: I(\gamma) = \frac1n \log \frac{|\Sigma|\,|C_\gamma(X_1) \cap C_\gamma(X_2)|}{|C_\gamma(X_1)|\,|C_\gamma(X_2)|}

bounds the rate: a codebook of :math:`2^{nR}` messages is decoded wrongly with probability at most
:math:`e^{-n (I - R \log 2)}`.

Two families of transformations are offered. ``"xor"`` adds a label to every object modulo K (for K=2 the exclusive or
of two bit strings); these K^n transformations reach every code from every code, and the step
:math:`E_\tau |\Delta C_\tau| = |C_1| |C_2| / |\Sigma|` of the proof is an identity. ``"permutation"`` renames the
objects, as in the paper; a permutation keeps the sizes of the clusters, so the same step is only an approximation.

Codes are numbered by :math:`\sum_i c(i) K^i`. Sizes of sets are natural logarithms, information is in bits per object
unless nats are asked for.

References
----------
Document 003 (approximation set coding); document 004, section 8 (weights, posterior agreement).
"""

import warnings
from functools import reduce
from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize
from scipy.special import gammaln, logsumexp
from scipy.stats import entropy
from sklearn.exceptions import ConvergenceWarning

from .. import checks
from ..kernels import coding as kernels

LARGEST_CLASS = 2**22
TRANSFORMATIONS = ("xor", "permutation")


class SetSizes(NamedTuple):
    """Natural logarithms of the sizes of two approximation sets and of their intersection; -inf is an empty set.

    Attributes
    ----------
    gammas : ndarray, shape (G,)
        Widths of the sets, in units of the cost.
    log_first, log_second, log_joint : ndarray, shape (G,)
    """

    gammas: np.ndarray
    log_first: np.ndarray
    log_second: np.ndarray
    log_joint: np.ndarray


class Transmission(NamedTuple):
    """Error of a simulated channel and the steps of its bound, each an average over the codebooks.

    The order error <= union <= markov holds for every single codebook; markov <= bound holds in the mean and with
    transformations that form a transitive group ("xor").

    Attributes
    ----------
    error : float
        Share of messages that were not decoded; a tie counts as an error.
    error_random_tie : float
        The same when a tie is broken by drawing one of the best messages.
    union : float
        Mean number of other messages that score at least as well as the message sent (union bound, Eq. 7).
    markov : float
        Mean of sum_{j != s} |Delta C_j| / |Delta C_s| (step a of Eq. 8); inf if the sets do not meet.
    bound : float
        exp(-n (I - R log 2)) with 2^(n R) messages (Eq. 10); not cut at 1.
    """

    error: float
    error_random_tie: float
    union: float
    markov: float
    bound: float


def noisy_distances(labels, noise, n_clusters=2, *, random_state=None):
    """Problem generator: squared distances of noisy measurements to K known centroids.

    The centroids are the corners of a regular simplex of side 2; for K=2 this is mu = +1, -1 on a line.

    Parameters
    ----------
    labels : array_like of int, shape (n,)
        The centroid from which every object is measured.
    noise : float, >= 0
        Standard deviation of every coordinate (half the distance of two centroids is 1).
    n_clusters : int, >= 2
    random_state : int, numpy Generator or None

    Returns
    -------
    ndarray, shape (n, K)

    Raises
    ------
    ValueError, TypeError
        Labels outside 0..K-1, K < 2, a negative noise.

    Examples
    --------
    >>> from gencap import coding
    >>> coding.noisy_distances([0, 1], 0.0).round(6).tolist()
    [[0.0, 4.0], [4.0, 0.0]]
    """
    n_clusters = checks.check_integer("n_clusters", n_clusters, 2)
    labels = checks.check_labels("labels", labels, n_clusters=n_clusters)
    centroids = np.sqrt(2.0) * np.eye(n_clusters)
    error = checks.generator(random_state).standard_normal((labels.size, n_clusters))
    measured = centroids[labels] + checks.check_number("noise", noise, 0.0) * error
    return np.square(measured[:, None, :] - centroids).sum(axis=2)


def enumerate_codes(n_objects, n_clusters):
    """All K^n codes in the order of their number.

    Parameters
    ----------
    n_objects, n_clusters : int

    Returns
    -------
    ndarray of int8, shape (K^n, n)

    Raises
    ------
    ValueError
        More than 2^22 codes.

    Examples
    --------
    >>> from gencap import coding
    >>> coding.enumerate_codes(2, 2).tolist()
    [[0, 0], [1, 0], [0, 1], [1, 1]]
    """
    n_objects, n_clusters = _check_class(n_objects, n_clusters, LARGEST_CLASS, 127)  # int8
    numbers = np.arange(n_clusters**n_objects)
    return (numbers[:, None] // n_clusters ** np.arange(n_objects) % n_clusters).astype(np.int8)


def code_costs(distances):
    """Cost of every code, R(c, X) = sum_i d[i, c(i)].

    Parameters
    ----------
    distances : array_like, shape (n, K), K >= 2

    Returns
    -------
    ndarray, shape (K^n,)

    Raises
    ------
    ValueError
        Not a finite matrix with at least two columns, or more than 2^22 codes.

    Examples
    --------
    >>> from gencap import coding
    >>> coding.code_costs([[0, 4], [1, 2]]).tolist()
    [1.0, 5.0, 2.0, 6.0]
    """
    [distances] = _check_distances(distances=distances)
    _check_class(*distances.shape, LARGEST_CLASS)
    return reduce(lambda costs, row: np.add.outer(row, costs).ravel(), distances, np.zeros(1))


def approximation_set(costs, gamma):
    """Mask of the codes with R(c, X) <= min R + gamma (003, Eq. 3).

    Parameters
    ----------
    costs : array_like, shape (n_codes,)
    gamma : float, >= 0
        In units of the cost. Differences of rounding size (1e-9 of the largest cost) are not seen as differences.

    Returns
    -------
    ndarray of bool, shape (n_codes,)

    Examples
    --------
    >>> from gencap import coding
    >>> coding.approximation_set([1.0, 5.0, 2.0], 1.5).tolist()
    [True, False, True]
    """
    return _excess("costs", costs) <= checks.check_number("gamma", gamma, 0.0)


def set_sizes(costs1, costs2, gammas):
    """Count the approximation sets of two problems and their intersection (microcanonical, exact).

    Parameters
    ----------
    costs1, costs2 : array_like, shape (n_codes,)
        Costs of the same codes in both problems, from `code_costs` or any other cost function.
    gammas : array_like, shape (G,)
        Widths >= 0, in units of the cost.

    Returns
    -------
    SetSizes

    Raises
    ------
    ValueError
        Different numbers of codes, NaN or infinite values, a negative width.

    Notes
    -----
    A code is in both sets if the larger of its two excess costs is at most gamma: one sort gives all widths.

    Examples
    --------
    >>> import numpy as np
    >>> from gencap import coding
    >>> sizes = coding.set_sizes([0, 1, 2, 3], [1, 0, 3, 2], [0, 1])
    >>> np.exp(sizes.log_joint).round(6).tolist()
    [0.0, 2.0]
    """
    gammas = _check_line("gammas", gammas, 0.0)
    first, second = _excess("costs1", costs1), _excess("costs2", costs2)
    if first.size != second.size:
        raise ValueError(f"costs1 has {first.size} codes and costs2 {second.size}; accepted is the same number")
    excesses = first, second, np.maximum(first, second)
    with np.errstate(divide="ignore"):
        return SetSizes(gammas, *(np.log(np.searchsorted(np.sort(e), gammas, side="right")) for e in excesses))


def lattice_set_sizes(distances1, distances2, max_gamma):
    """Count the same three sets for integer distances without enumeration, up to some thousand objects.

    A table of the number of codes for every pair of excess costs is extended object by object.

    Parameters
    ----------
    distances1, distances2 : array_like of int, shape (n, K)
        Distances on a lattice, e.g. np.rint(d / step).
    max_gamma : int
        Largest width, in lattice steps; time and memory grow with its square.

    Returns
    -------
    SetSizes
        For gammas 0, 1 ... max_gamma.

    Raises
    ------
    ValueError, TypeError
        Distances that are not integers or of different shape; so many objects that the counts leave the floats.

    Examples
    --------
    >>> import numpy as np
    >>> from gencap import coding
    >>> d = np.tile([0, 1], (4, 1))
    >>> np.exp(coding.lattice_set_sizes(d, d, 2).log_first).round(6).tolist()
    [1.0, 5.0, 11.0]
    """
    size = checks.check_integer("max_gamma", max_gamma, 0, 5000) + 1
    pair = _check_distances(distances1=distances1, distances2=distances2)
    if not np.array_equal(pair, np.rint(pair)):
        raise ValueError("distances1 and distances2 must hold integers, got fractions; divide by a step and round")
    first, second = (_row_excess(d).astype(np.int64) for d in pair)
    single = [_log_counts(excess, np.zeros_like(first), size, 1)[:, 0] for excess in (first, second)]
    return SetSizes(np.arange(size, dtype=float), *single, _log_counts(first, second, size, size).diagonal())


def _log_counts(first, second, height, width):
    """Logarithm of the number of codes whose excess costs are at most (a, b), shape (height, width)."""
    n_objects, n_clusters = first.shape
    both = (first + second).astype(float)
    # Counts leave the range of a float. Weights that fall with the cost, of sum 1, leave probabilities instead; those
    # of the middle of the table are near 1, and a start far above 1 makes room for small ones.
    rest = max(height + width - 2 - both.min(axis=1).sum(), 0.0)  # no label pays less than the smallest of its object
    tilt = min(_legendre(_row_excess(both)[None], rest / 2)[1], 30.0)
    log_sums = logsumexp(-tilt * both, axis=1, keepdims=True)
    start = 600.0
    if log_sums.sum() > start + 700:
        given = f"distances1 has {n_objects} objects and {n_clusters} clusters"
        raise ValueError(f"{given}; accepted are fewer, the sizes of the sets differ by more than a float can hold")
    table = kernels.count_codes(np.exp(-tilt * both - log_sums), first, second, np.exp(start), height, width)
    with np.errstate(divide="ignore"):
        logs = np.log(table) + (log_sums.sum() - start) + tilt * np.add.outer(np.arange(height), np.arange(width))
        logs = np.logaddexp.accumulate(np.logaddexp.accumulate(logs, axis=0), axis=1)
        few = logs < 20
        logs[few] = np.log(np.rint(np.exp(logs[few])))  # small counts are integers, exactly
    return logs


def boltzmann_set_sizes(distances1, distances2, gammas, *, legendre=True):
    r"""Estimate the three sizes by Boltzmann sums (canonical), for any number of objects.

    .. math:: \log |C_\gamma| \approx \min_{\beta \ge 0} \log \sum_c e^{-\beta (R(c) - \min R)} + \beta\gamma

    and for the intersection the same with one inverse temperature per problem, which are found anew: they are not
    those of the single sets. Equations 14 and 15 as printed leave out the term beta gamma and use the single sets'
    beta for the intersection; this is wrong at leading order, but the maximum of the information is right, because the
    missing terms cancel there.

    Parameters
    ----------
    distances1, distances2 : array_like, shape (n, K)
    gammas : array_like, shape (G,)
        Widths >= 0, in units of the cost.
    legendre : bool
        False gives Eq. 14 and 15 as printed, with beta from the first problem.

    Returns
    -------
    SetSizes
        An estimate below one code is reported as empty, -inf.

    Raises
    ------
    ValueError
        Matrices that are not finite or of different shape, a negative width.

    References
    ----------
    Document 003, Eq. 14 and 15.

    Examples
    --------
    >>> import numpy as np
    >>> from gencap import coding
    >>> d = np.tile([0.0, 1.0], (300, 1))
    >>> (coding.boltzmann_set_sizes(d, d, [60.0]).log_first / 300).round(2).tolist()  # nats of 60 among 300
    [0.5]
    """
    gammas = _check_line("gammas", gammas, 0.0)
    first, second = map(_row_excess, _check_distances(distances1=distances1, distances2=distances2))
    sought = (first[None], second[None], np.stack([first, second])) if legendre else (first[None],)
    logs, beta, found = np.array([[_legendre(excesses, gamma) for gamma in gammas] for excesses in sought]).T
    if not found.all():
        missed = f"the minimum over beta was not found for {np.sum(found == 0)} of {found.size} set sizes (SLSQP)"
        warnings.warn(f"{missed}: upper bounds; leave out gammas at the ends", ConvergenceWarning, stacklevel=2)
    if legendre:
        return SetSizes(gammas, *np.where(logs < -1e-6, -np.inf, logs).T)
    # The sum over all codes of exp(-beta R) factorises over objects.
    sums = [[logsumexp(-b * excess, axis=1).sum() for b in beta[:, 0]] for excess in (first, second, first + second)]
    return SetSizes(gammas, *np.array(sums))


def log_transformations(n_objects, n_clusters=2, *, transformations="xor", sizes=None):
    """Natural logarithm of the number of distinct transformations, log |Sigma|.

    Parameters
    ----------
    n_objects, n_clusters : int
    transformations : {"xor", "permutation", "entropy"}
        "xor": n log K. "permutation": log n!/(n_1! ... n_K!), the distinct images of the best code. "entropy": n times
        the entropy of its cluster sizes (Eq. 13), the large-n value of the second.
    sizes : array_like of int, shape (K,), optional
        Cluster sizes of the best code, needed by "permutation" and "entropy".

    Returns
    -------
    float

    Examples
    --------
    >>> from gencap import coding
    >>> round(coding.log_transformations(4, transformations="permutation", sizes=[2, 2]), 6)  # log 6
    1.791759
    """
    checks.check_option("transformations", transformations, (*TRANSFORMATIONS, "entropy"))
    n_objects, n_clusters = _check_class(n_objects, n_clusters)
    if transformations == "xor":
        return float(n_objects * np.log(n_clusters))
    sizes = np.asarray([] if sizes is None else sizes)
    if sizes.shape != (n_clusters,) or (sizes < 0).any() or sizes.sum() != n_objects:
        raise ValueError(f"sizes={sizes} must be {n_clusters} non-negative cluster sizes that sum to {n_objects}")
    if transformations == "permutation":
        return float(gammaln(n_objects + 1) - gammaln(sizes + 1).sum())
    return float(n_objects * entropy(sizes))


def information(sizes, log_n_transformations, n_objects, *, unit="bits"):
    """Information I(gamma) per object that the channel carries (003, Eq. 9).

    Parameters
    ----------
    sizes : SetSizes
    log_n_transformations : float
        log |Sigma| in nats, from `log_transformations`.
    n_objects : int
    unit : {"bits", "nats"}
        Per object.

    Returns
    -------
    ndarray, shape (G,)
        -inf where the two sets do not meet.

    Examples
    --------
    >>> from gencap import coding
    >>> d = coding.noisy_distances([0, 1, 0, 1], 0.0)
    >>> costs = coding.code_costs(d)
    >>> sizes = coding.set_sizes(costs, costs, [0.0])
    >>> coding.information(sizes, coding.log_transformations(4), 4).tolist()
    [1.0]
    """
    checks.check_option("unit", unit, ("bits", "nats"))
    log_number = checks.check_number("log_n_transformations", log_n_transformations, 0.0)
    logs = log_number + sizes.log_joint - sizes.log_first - sizes.log_second
    return logs / checks.check_integer("n_objects", n_objects) / (np.log(2) if unit == "bits" else 1.0)


def draw_codebook(n_messages, n_objects, n_clusters=2, *, transformations="xor", random_state=None):
    """Random transformations, drawn uniformly and independently.

    Parameters
    ----------
    n_messages : int, >= 2
    n_objects, n_clusters : int
    transformations : {"xor", "permutation"}
    random_state : int, numpy Generator or None

    Returns
    -------
    ndarray of int64, shape (n_messages, n_objects)
        "xor": the label added to every object. "permutation": the new place of every object.

    Examples
    --------
    >>> from gencap import coding
    >>> coding.draw_codebook(3, 4, random_state=0).shape
    (3, 4)
    """
    n_messages = checks.check_integer("n_messages", n_messages, 2)
    n_objects, n_clusters = _check_class(n_objects, n_clusters)
    checks.check_option("transformations", transformations, TRANSFORMATIONS)
    checks.check_size(f"a codebook of {n_messages} messages and {n_objects} objects", (n_messages, n_objects))
    rng = checks.generator(random_state)
    if transformations == "xor":
        return rng.integers(n_clusters, size=(n_messages, n_objects))
    return rng.permuted(np.tile(np.arange(n_objects), (n_messages, 1)), axis=1)


def transform(distances, transformation, *, transformations="xor"):
    """Apply one transformation to a problem: what the problem generator does with the message.

    Its approximation set is the transformed approximation set of the original problem (equivariance).

    Parameters
    ----------
    distances : array_like, shape (n, K)
    transformation : array_like of int, shape (n,)
        A row of `draw_codebook`.
    transformations : {"xor", "permutation"}

    Returns
    -------
    ndarray, shape (n, K)

    Examples
    --------
    >>> from gencap import coding
    >>> coding.transform([[0, 4], [1, 2]], [1, 0]).tolist()
    [[4.0, 0.0], [1.0, 2.0]]
    """
    [distances] = _check_distances(distances=distances)
    transformation = _check_codebook([transformation], *distances.shape, transformations)[0]
    if transformations == "permutation":
        return distances[np.argsort(transformation)]
    origin = (np.arange(distances.shape[1]) - transformation[:, None]) % distances.shape[1]
    return np.take_along_axis(distances, origin, axis=1)


def decoding_scores(distances, received, codebook, gamma, *, transformations="xor"):
    """Overlap of every code word with what arrived: |C_gamma(tau_j X1) and C_gamma(received)| (003, Eq. 5).

    Parameters
    ----------
    distances : array_like, shape (n, K)
        The problem X1 known to sender and receiver.
    received : array_like, shape (n, K)
        The transformed second problem.
    codebook : array_like of int, shape (M, n)
    gamma : float, >= 0
    transformations : {"xor", "permutation"}

    Returns
    -------
    ndarray of int64, shape (M,)
        The receiver decodes the largest; a tie is an error.

    Examples
    --------
    >>> from gencap import coding
    >>> d = coding.noisy_distances([0, 1, 0, 1], 0.0)
    >>> coding.decoding_scores(d, d, [[0, 0, 0, 0], [1, 1, 0, 0]], 0.0).tolist()
    [1, 0]
    """
    distances, received = _check_distances(distances=distances, received=received)
    codebook = _check_codebook(codebook, *distances.shape, transformations)
    members = np.flatnonzero(approximation_set(code_costs(distances), gamma))
    mask = approximation_set(code_costs(received), gamma)
    return kernels.overlaps(members, mask, codebook, distances.shape[1], transformations == "permutation")


def simulate_channel(distances1, distances2, gamma, n_messages, *, n_codebooks=100,
                     transformations="xor", random_state=None):  # fmt: skip
    """Send one random message through each of many random codebooks, for one pair of problems.

    Parameters
    ----------
    distances1, distances2 : array_like, shape (n, K)
        The problem that sender and receiver share, and the one that the problem generator draws anew.
    gamma : float, >= 0
    n_messages : int, >= 2
        M = 2^(n R) messages are a rate of R = log2(M) / n bits per object.
    n_codebooks : int
    transformations : {"xor", "permutation"}
    random_state : int, numpy Generator or None

    Returns
    -------
    Transmission

    References
    ----------
    Document 003, sections IV and V.

    Examples
    --------
    >>> from gencap import coding
    >>> d = coding.noisy_distances([0, 1] * 4, 0.0)
    >>> sent = coding.simulate_channel(d, d, 0.0, 4, n_codebooks=50, random_state=0)
    >>> sent.error <= sent.union <= sent.markov
    True
    """
    distances1, distances2 = _check_distances(distances1=distances1, distances2=distances2)
    n_messages = checks.check_integer("n_messages", n_messages, 2)
    n_codebooks = checks.check_integer("n_codebooks", n_codebooks)
    rng, how, shape = checks.generator(random_state), {"transformations": transformations}, distances1.shape
    books = draw_codebook(n_codebooks * n_messages, *shape, **how, random_state=rng)
    books = books.reshape(n_codebooks, n_messages, shape[0])
    sent = np.arange(n_codebooks), rng.integers(n_messages, size=n_codebooks)
    costs = code_costs(distances1), code_costs(distances2)
    members, received = (approximation_set(c, gamma) for c in costs)
    permute = transformations == "permutation"
    scores = kernels.transmit(np.flatnonzero(members), np.flatnonzero(received), books, sent[1], shape[1], permute)
    own = scores[sent]
    above, ties = (scores > own[:, None]).sum(axis=1), (scores == own[:, None]).sum(axis=1) - 1
    log_number = log_transformations(*shape, **how, sizes=np.bincount(distances1.argmin(axis=1), minlength=shape[1]))
    nats = information(set_sizes(*costs, [gamma]), log_number, shape[0], unit="nats")[0]
    averaged = above + ties > 0, np.where(above > 0, 1.0, ties / (ties + 1)), above + ties
    failures = (float(np.mean(each)) for each in averaged)
    if own[0] == 0:  # |Delta C_s| is the same for every message
        return Transmission(*failures, np.inf, np.inf)
    markov = float(np.mean((scores.sum(axis=1) - own) / own))
    return Transmission(*failures, markov, float(n_messages * np.exp(-shape[0] * nats)))


def posterior(costs, beta, *, weights="boltzmann", gamma=0.0):
    """Posterior distribution over the codes from approximation weights (004, section 8.2).

    Parameters
    ----------
    costs : array_like, shape (n_codes,)
    beta : float, >= 0
        Inverse temperature; "binary" does not depend on it.
    weights : {"boltzmann", "fermi", "binary"}
        With the excess cost r = R - min R: exp(-beta r); 1 / (1 + exp(beta (r - gamma))), printed in the source with
        the opposite sign, which would prefer bad codes; 1 where r <= gamma.
    gamma : float, >= 0
        Width, for "fermi" and "binary".

    Returns
    -------
    ndarray, shape (n_codes,)

    Examples
    --------
    >>> from gencap import coding
    >>> coding.posterior([0.0, 1.0, 9.0], 1.0, weights="binary", gamma=2.0).tolist()
    [0.5, 0.5, 0.0]
    """
    checks.check_option("weights", weights, ("boltzmann", "fermi", "binary"))
    beta, gamma = checks.check_number("beta", beta, 0.0), checks.check_number("gamma", gamma, 0.0)
    excess = _excess("costs", costs)
    log_weights = {
        "boltzmann": -beta * excess,
        "fermi": -np.logaddexp(0.0, beta * (excess - gamma)),
        "binary": np.where(excess <= gamma, 0.0, -np.inf),
    }[weights]
    return np.exp(log_weights - logsumexp(log_weights))


def posterior_agreement(posterior1, posterior2):
    """Posterior agreement kernel k(X1, X2) = sum_c P(c | X1) P(c | X2), in [0, 1] (004, section 8.4).

    log(|T| k) / n is the information of the channel; with binary weights it is I(gamma) of `information`.

    Parameters
    ----------
    posterior1, posterior2 : array_like, shape (n_codes,)
        Each non-negative with sum 1.

    Returns
    -------
    float

    Examples
    --------
    >>> from gencap import coding
    >>> coding.posterior_agreement([0.5, 0.5], [1.0, 0.0])
    0.5
    """
    first, second = _check_line("posterior1", posterior1, 0.0), _check_line("posterior2", posterior2, 0.0)
    checks.check_same_shape("posterior2", second, "posterior1", first)
    if max(abs(first.sum() - 1), abs(second.sum() - 1)) > 1e-6:
        raise ValueError(f"posterior1 and posterior2 must have sum 1, got sums {first.sum()} and {second.sum()}")
    return float(first @ second)


def _check_class(n_objects, n_clusters, largest=np.inf, most_clusters=np.inf):
    """Number of objects and of clusters as int, at most `largest` codes."""
    n_objects = checks.check_integer("n_objects", n_objects)
    n_clusters = checks.check_integer("n_clusters", n_clusters, 2, most_clusters)
    if n_objects * np.log(n_clusters) > np.log(largest) + 1e-9:
        raise ValueError(f"{n_clusters} clusters and {n_objects} objects make more codes than accepted, {largest}")
    return n_objects, n_clusters


def _check_distances(**problems):
    """The distances of problems of one shape, given by the names of the arguments."""
    checked = [checks.check_vectors(*problem) for problem in problems.items()]
    for name, distances in zip(problems, checked, strict=True):
        if distances.shape[1] < 2:
            raise ValueError(f"{name} has 1 column; accepted is one for each of K >= 2 clusters")
        checks.check_same_shape(name, distances, next(iter(problems)), checked[0])
    return checked


def _check_line(name, values, low=-np.inf):
    """`values` as a non-empty 1-D array of finite numbers >= `low`."""
    values = checks.as_array(name, values, np.float64)
    if values.ndim != 1 or values.size == 0 or not np.isfinite(values).all() or values.min() < low:
        raise ValueError(f"{name} must be a non-empty 1-D array of finite numbers >= {low}, got {values}")
    return values


def _check_codebook(codebook, n_objects, n_clusters, transformations):
    checks.check_option("transformations", transformations, TRANSFORMATIONS)
    codebook = np.asarray(codebook)
    if codebook.ndim != 2 or codebook.shape[1] != n_objects or codebook.dtype.kind not in "iu":
        raise ValueError(f"codebook must be integers of shape (M, {n_objects}), got {codebook.dtype} {codebook.shape}")
    accepted, valid = f"0..{n_clusters - 1}", (codebook >= 0) & (codebook < n_clusters)
    if transformations == "permutation":
        accepted, valid = f"permutations of 0..{n_objects - 1}", np.sort(codebook) == np.arange(n_objects)
    if not valid.all():
        raise ValueError(f"codebook holds values that are no {transformations} transformation; accepted are {accepted}")
    return codebook.astype(np.int64)


def _excess(name, costs):
    costs = _check_line(name, costs)
    # Sums of the same distances in another order differ in the last bits: a tolerance keeps the set equivariant.
    return np.maximum(costs - costs.min() - 1e-9 * np.abs(costs).max(), 0.0)


def _row_excess(distances):
    return distances - distances.min(axis=1, keepdims=True)


def _legendre(excesses, gamma):
    """min over beta >= 0 of log sum_c exp(-sum_p beta_p R_p(c)) + gamma sum_p beta_p; excesses (P, n, K).

    Returns the minimum, the first beta, and whether the minimum was found. The function is convex. At gamma below the
    smallest excess that all problems share there is no minimum and the value at the largest beta is negative: less
    than one code.
    """
    n_objects = excesses.shape[1]
    unit = excesses.mean() or 1.0  # all codes cost the same

    def per_object(beta):
        logits = -np.tensordot(beta / unit, excesses, axes=1)
        top = logits.max(axis=1, keepdims=True)
        weights = np.exp(logits - top)
        sums = weights.sum(axis=1, keepdims=True)
        mean = np.einsum("pik,ik->p", excesses, weights / sums)
        value = (top + np.log(sums)).sum() + gamma * beta.sum() / unit
        return value / n_objects, (gamma - mean) / unit / n_objects

    start = np.ones(len(excesses))
    found = minimize(per_object, start, jac=True, method="SLSQP", bounds=[(0, 1e4)] * start.size, tol=1e-11)
    return found.fun * n_objects, found.x[0] / unit, found.success
