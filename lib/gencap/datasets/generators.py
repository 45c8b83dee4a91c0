"""Generators of synthetic data: vectors, graphs, code words and access-control configurations with planted truth.

What holds for the random states of all of them is said in the package's docstring.
"""

import numpy as np
from scipy.stats import truncnorm
from sklearn.utils import Bunch

from ..checks import as_array, check_integer, check_number, check_option, check_size, generator

__all__ = """FIVE_CENTERS FOUR_CENTERS PairedGraphs boolean_roles five_gaussians four_gaussians kary_code_pair
    mixed_histograms paired_gaussian_sources planted_correlation_graphs planted_group_graphs three_regions three_sources
    two_clouds two_sources_high_dimensional""".split()
FIVE_CENTERS = np.array([(1, 0), (0, 1.5), (-2, 0), (0, -3), (4.25, -4)])  # document 000, section 5.4
FOUR_CENTERS = np.array([(4, 4), (-4, 4), (-4, -4), (4, -4)], dtype=float)  # document 000, section 6.1.1
_BLOCK = 256  # rows of a graph drawn at once; part of what a seed means


def _source_labels(n_objects, n_sources, sizes):
    """Labels arange(N) % K, or blocks of the given sizes."""
    n_objects = check_integer("n_objects", n_objects)
    check_integer("n_clusters", n_sources, 1, n_objects, "n_objects")
    if sizes is None:
        return np.arange(n_objects) % n_sources
    sizes = [check_integer("sizes", size) for size in np.atleast_1d(sizes)]
    if len(sizes) != n_sources or sum(sizes) != n_objects:
        raise ValueError(f"sizes={sizes} must hold {n_sources} numbers that sum to n_objects={n_objects}")
    return np.repeat(np.arange(n_sources), sizes)


def paired_gaussian_sources(n_objects, centers, *, variance=1.0, random_state=None, sizes=None):
    """Two data sets from the same isotropic Gaussian sources, object i from the same source in both.

    Parameters
    ----------
    n_objects : int
        N.
    centers : array_like, shape (K, D)
    variance : float or array_like of shape (K,)
        Sigma = variance I, of all sources or of each.
    random_state : int, Generator or None
    sizes : sequence of K ints or None
        Objects of each source, in blocks; None deals the sources out in turn, labels = arange(N) % K.

    Returns
    -------
    X1, X2 : ndarray, shape (N, D)
    labels : ndarray of int64, shape (N,)

    Raises
    ------
    ValueError
        N < K, sizes that do not sum to N, a negative variance, centers that are not a finite (K, D) array.

    Examples
    --------
    >>> import gencap as gc
    >>> X1, X2, labels = gc.datasets.paired_gaussian_sources(6, [[0, 0], [5, 5]], variance=0.1, random_state=0)
    >>> X1.shape, labels.tolist()
    ((6, 2), [0, 1, 0, 1, 0, 1])
    """
    centers = as_array("centers", centers, np.float64)
    if centers.ndim != 2 or 0 in centers.shape or not np.isfinite(centers).all():
        raise ValueError(f"centers must be a finite array (sources, features), got shape {centers.shape}")
    deviations = np.sqrt([check_number("variance", v, 0.0) for v in np.ravel(variance).tolist()])
    if np.ndim(variance) > 1 or deviations.size not in (1, len(centers)):
        raise ValueError(f"variance must be one number or {len(centers)}, got shape {np.shape(variance)}")
    labels = _source_labels(n_objects, len(centers), sizes)
    deviation = np.broadcast_to(deviations, len(centers))[labels][:, None]
    noise = (rng.standard_normal((n_objects, centers.shape[1])) for rng in generator(random_state).spawn(2))
    return *(centers[labels] + deviation * one for one in noise), labels


def five_gaussians(n_objects=10000, *, random_state=None):
    """Five overlapping sources in the plane, Sigma = I/2 (document 000, section 5.4).

    Parameters
    ----------
    n_objects : int
    random_state : int, Generator or None

    Returns
    -------
    X1, X2 : ndarray, shape (N, 2)
    labels : ndarray of int64, shape (N,)

    Examples
    --------
    >>> import gencap as gc
    >>> X1, X2, labels = gc.datasets.five_gaussians(10, random_state=0)
    >>> X1.shape, labels.max().item()
    ((10, 2), 4)
    """
    return paired_gaussian_sources(n_objects, FIVE_CENTERS, variance=0.5, random_state=random_state)


def four_gaussians(variance, n_objects=800, *, random_state=None):
    """Four sources at (+-4, +-4), Sigma = variance I (document 000, section 6.1.1).

    Parameters
    ----------
    variance : float
    n_objects : int
    random_state : int, Generator or None

    Returns
    -------
    X1, X2 : ndarray, shape (N, 2)
    labels : ndarray of int64, shape (N,)

    Examples
    --------
    >>> import gencap as gc
    >>> X1, X2, labels = gc.datasets.four_gaussians(5, n_objects=8, random_state=0)
    >>> labels.tolist()
    [0, 1, 2, 3, 0, 1, 2, 3]
    """
    return paired_gaussian_sources(n_objects, FOUR_CENTERS, variance=variance, random_state=random_state)


def two_sources_high_dimensional(n_objects, n_features, *, distance=4.5, random_state=None):
    """Two sources in D dimensions with orthogonal means of equal length, Sigma = I/2.

    The means are `distance` sqrt(100 / D) apart: distance is what it would be at D = 100.

    Parameters
    ----------
    n_objects, n_features : int
        N and D.
    distance : float
    random_state : int, Generator or None

    Returns
    -------
    X1, X2 : ndarray, shape (N, D)
    labels : ndarray of int64, shape (N,)

    References
    ----------
    .. [1] Document 000, section 5.5.1.

    Examples
    --------
    >>> import gencap as gc
    >>> X1, X2, labels = gc.datasets.two_sources_high_dimensional(10, 100, random_state=0)
    >>> X1.shape
    (10, 100)
    """
    n_features = check_integer("n_features", n_features, 2)
    apart = check_number("distance", distance, 0.0) * np.sqrt(100 / n_features)
    centers = np.eye(2, n_features) * apart / np.sqrt(2)
    return paired_gaussian_sources(n_objects, centers, variance=0.5, random_state=random_state)


def three_sources(separation, sizes=(100, 100, 300), *, random_state=None):
    """Three sources of unit variance at the corners of an equilateral triangle with side `separation`.

    Parameters
    ----------
    separation : float
    sizes : sequence of 3 ints
        Objects of each source, in blocks.
    random_state : int, Generator or None

    Returns
    -------
    X1, X2 : ndarray, shape (N, 2)
    labels : ndarray of int64, shape (N,)

    References
    ----------
    .. [1] Document 000, section 6.2.2, Figs 24 and 25 (sizes 1:1:3 have 1.37 bits).

    Examples
    --------
    >>> import gencap as gc
    >>> X1, X2, labels = gc.datasets.three_sources(4, (1, 1, 3), random_state=0)
    >>> labels.tolist()
    [0, 1, 2, 2, 2]
    """
    separation = check_number("separation", separation, 0.0)
    corners = separation * np.array([(0, 0), (1, 0), (0.5, np.sqrt(0.75))])
    return paired_gaussian_sources(int(np.sum(sizes)), corners, variance=1.0, random_state=random_state, sizes=sizes)


def two_clouds(variance, n_per_cloud=100, *, distance=2.83, random_state=None):
    """Two isotropic clouds in the plane, `distance` apart.

    Parameters
    ----------
    variance : float
    n_per_cloud : int
        n.
    distance : float
    random_state : int, Generator or None
        The same one gives the same standard normal numbers at every variance.

    Returns
    -------
    X : ndarray, shape (2 n, 2)
    labels : ndarray of int64, shape (2 n,)

    References
    ----------
    .. [1] Document 000, section 6.1.3, Fig 23.

    Examples
    --------
    >>> import gencap as gc
    >>> X, labels = gc.datasets.two_clouds(0.1, n_per_cloud=3, random_state=0)
    >>> X.shape, labels.tolist()
    ((6, 2), [0, 0, 0, 1, 1, 1])
    """
    n_per_cloud = check_integer("n_per_cloud", n_per_cloud)
    deviation = np.sqrt(check_number("variance", variance, 0.0))
    labels = np.repeat(np.arange(2), n_per_cloud)
    X = deviation * generator(random_state).standard_normal((2 * n_per_cloud, 2))
    X[:, 0] += labels * check_number("distance", distance, 0.0)
    return X, labels


class PairedGraphs(tuple):
    """Two similarity matrices (N, N) of the same objects, with `labels` (N,): the planted groups.

    Parameters
    ----------
    iterable : iterable of two ndarrays, shape (N, N)

    Examples
    --------
    >>> import gencap as gc
    >>> graphs = gc.datasets.planted_correlation_graphs(6, n_clusters=2, random_state=0)
    >>> first, second = graphs
    >>> first.shape, graphs.labels.tolist()
    ((6, 6), [0, 1, 0, 1, 0, 1])
    """


def _paired_graphs(labels, draw, random_state):
    """Symmetric float32 matrices with zero diagonal; draw(rng, labels_i, labels_j) gives a block's weights.

    Drawn block by block of rows: besides the graphs, memory holds only one block.
    """
    pair = PairedGraphs(np.zeros((labels.size, labels.size), np.float32) for _ in range(2))
    pair.labels = labels
    for graph, rng in zip(pair, generator(random_state).spawn(2), strict=True):
        for start in range(0, labels.size, _BLOCK):
            rows, columns = slice(start, start + _BLOCK), slice(start, None)
            upper = np.triu(draw(rng, labels[rows, None], labels[None, columns]), 1)
            graph[rows, columns] += upper
            graph[columns, rows] += upper.T
    return pair


def planted_correlation_graphs(n_objects, n_clusters=5, *, complexity=0.35, noise=0.85, random_state=None, sizes=None):
    """Two signed graphs that hide the same partition.

    Edges are +1 inside a group and -1 between groups; an edge between groups is turned to +1 with probability
    `complexity`, then any edge is replaced by a random sign with probability `noise`, independently in both graphs.

    Parameters
    ----------
    n_objects, n_clusters : int
        N and K.
    complexity, noise : float
        xi and eta, in [0, 1].
    random_state : int, Generator or None
    sizes : sequence of K ints or None
        Group sizes, in blocks; None makes them equal, labels = arange(N) % K.

    Returns
    -------
    PairedGraphs
        Two float32 matrices (N, N), symmetric, entries +-1, zero diagonal; `.labels` (N,).

    References
    ----------
    .. [1] Document 000, section 6.3.1 (construction before Fig 27) and 3.5; document 002, Fig 5.

    Examples
    --------
    >>> import gencap as gc
    >>> graphs = gc.datasets.planted_correlation_graphs(4, n_clusters=2, complexity=0, noise=0, random_state=0)
    >>> graphs[0].astype(int)
    array([[ 0, -1,  1, -1],
           [-1,  0, -1,  1],
           [ 1, -1,  0, -1],
           [-1,  1, -1,  0]])
    """
    complexity = check_number("complexity", complexity, 0.0, 1.0)
    noise = check_number("noise", noise, 0.0, 1.0)
    labels = _source_labels(n_objects, n_clusters, sizes)

    def draw(rng, labels_i, labels_j):
        # Both steps together: the probability that an edge ends as +1. One random number for each edge.
        planted = np.where(labels_i == labels_j, np.float32(1), np.float32(complexity))
        positive = np.float32(1 - noise) * planted + np.float32(noise / 2)
        return np.where(rng.random(positive.shape, dtype=np.float32) < positive, np.float32(1), np.float32(-1))

    return _paired_graphs(labels, draw, random_state)


def planted_group_graphs(n_per_group=100, *, noise=0.5, random_state=None):
    """Two graphs of four groups with one structure for Min Cut and another for Max Cut.

    Weights: +2 between groups 0-1 and 2-3, +1 inside groups, -1 between 0-3 and 1-2, -2 between 0-2 and 1-3; each is
    replaced by a random one of -2, -1, 1, 2 with probability `noise`.

    Parameters
    ----------
    n_per_group : int
    noise : float
        In [0, 1].
    random_state : int, Generator or None

    Returns
    -------
    PairedGraphs
        Two float32 matrices (N, N), N = 4 n_per_group, symmetric, zero diagonal. `.labels` are the groups 0..3, in
        blocks; Min Cut's true clusters are `labels // 2`, Max Cut's `labels % 2`.

    References
    ----------
    .. [1] Document 000, section 6.3.3, Eqs 147 and 148.

    Examples
    --------
    >>> import gencap as gc
    >>> graphs = gc.datasets.planted_group_graphs(1, noise=0, random_state=0)
    >>> graphs[0].astype(int)
    array([[ 0,  2, -2, -1],
           [ 2,  0, -1, -2],
           [-2, -1,  0,  2],
           [-1, -2,  2,  0]])
    """
    labels = np.repeat(np.arange(4), check_integer("n_per_group", n_per_group))
    noise = check_number("noise", noise, 0.0, 1.0)
    weights = np.array([(1, 2, -2, -1), (2, 1, -1, -2), (-2, -1, 1, 2), (-1, -2, 2, 1)], np.float32)
    values = np.array([-2, -1, 1, 2], np.float32)

    def draw(rng, labels_i, labels_j):
        planted = weights[labels_i, labels_j]
        replaced = rng.random(planted.shape, dtype=np.float32) < noise
        return np.where(replaced, values[rng.integers(4, size=planted.shape)], planted)

    return _paired_graphs(labels, draw, random_state)


def kary_code_pair(n_objects, n_clusters, error_rate, *, random_state=None):
    """A random K-ary code word and what a symmetric channel makes of it.

    Parameters
    ----------
    n_objects, n_clusters : int
        Length N and alphabet size K >= 2.
    error_rate : float
        delta in [0, 1]: probability that a symbol is replaced by one of the K - 1 others, all alike.
    random_state : int, Generator or None

    Returns
    -------
    sent, received : ndarray of int64, shape (N,)
        Every symbol is sent equally often (within one).

    References
    ----------
    .. [1] Document 000, section 4.3, Eqs 48 to 57.

    Examples
    --------
    >>> import gencap as gc
    >>> sent, received = gc.datasets.kary_code_pair(1000, 4, error_rate=0.1, random_state=0)
    >>> bool(0.05 < (sent != received).mean() < 0.15)
    True
    """
    n_objects = check_integer("n_objects", n_objects)
    n_clusters = check_integer("n_clusters", n_clusters, 2)
    error_rate = check_number("error_rate", error_rate, 0.0, 1.0)
    rng = generator(random_state)
    sent = rng.permutation(np.arange(n_objects) % n_clusters)
    wrong = rng.random(n_objects) < error_rate
    return sent, (sent + wrong * rng.integers(1, n_clusters, n_objects)) % n_clusters


ROLE_SIZES = {  # default users, permissions, roles; the first four have the sizes of document 002, section 4.2
    "tree": (500, 347, 16),
    "functional": (500, 101, 15),
    "random": (500, 190, 20),
    "templates": (493, 56, 12),
    "pairs": (600, 120, 12),
}


def boolean_roles(kind, *, flip=0.05, n_users=None, n_permissions=None, n_roles=None, random_state=None):
    """An access-control configuration with planted roles, and a copy of it with flipped bits.

    Parameters
    ----------
    kind : {"tree", "functional", "random", "templates", "pairs"}
        "tree": a binary organisation; a user sits at a leaf and holds the permissions of all units above.
        "functional": roles share no permission and are bundled to business roles, of which a user holds one or two.
        "random": every user holds a role with probability .1, every role a permission with probability .15.
        "templates": every user is a copy of one role (permission probability .4).
        "pairs": every user holds one or two roles (permission probability .25).
    flip : float
        Probability that a bit of `data` differs from `clean`, [0, 1].
    n_users, n_permissions, n_roles : int or None
        None: the kind's own size. The leaves of a tree are its roles, a power of 2.
    random_state : int, Generator or None

    Returns
    -------
    Bunch
        data, clean (users, permissions), assignments (users, roles), roles (roles, permissions), all bool.

    References
    ----------
    .. [1] Document 002, sections 4.2 and 5; the generators are modelled on its description, not copies of it.

    Examples
    --------
    >>> import gencap as gc
    >>> access = gc.datasets.boolean_roles("pairs", flip=0.05, random_state=0)
    >>> access.data.shape, access.roles.shape
    ((600, 120), (12, 120))
    """
    check_option("kind", kind, tuple(ROLE_SIZES))
    names, given = ("n_users", "n_permissions", "n_roles"), (n_users, n_permissions, n_roles)
    sizes = (default if value is None else value for value, default in zip(given, ROLE_SIZES[kind], strict=True))
    n_users, n_permissions, n_roles = map(check_integer, names, sizes)
    flip = check_number("flip", flip, 0.0, 1.0)
    rng = generator(random_state)
    numbers = np.arange(n_roles)
    assignments = rng.integers(n_roles, size=n_users)[:, None] == numbers
    if kind == "tree":
        depth = n_roles.bit_length() - 1
        if 2**depth != n_roles:
            raise ValueError(f"n_roles={n_roles} must be a power of 2: the leaves of a binary tree")
        # Unit 1 is the root, units 2h and 2h + 1 are below h.
        units_above = (n_roles + numbers)[:, None] >> np.arange(depth + 1)
        unit = np.resize(np.arange(1, 2 * n_roles), n_permissions)
        roles = (units_above[:, :, None] == unit).any(axis=1)
    elif kind == "functional":
        roles = np.resize(numbers, n_permissions) == numbers[:, None]
        size = rng.integers(2, 5, size=2 * n_roles)
        business = rng.random((2 * n_roles, n_roles)).argsort(axis=1).argsort(axis=1) < size[:, None]
        first, second = rng.integers(2 * n_roles, size=(2, n_users))
        assignments = business[first] | (business[second] & (rng.random((n_users, 1)) < 0.5))
    else:
        roles = rng.random((n_roles, n_permissions)) < {"random": 0.15, "templates": 0.4, "pairs": 0.25}[kind]
        if kind == "random":
            assignments = rng.random((n_users, n_roles)) < 0.1
        elif kind == "pairs":
            another = rng.integers(n_roles, size=n_users)[:, None] == numbers
            assignments |= another & (rng.random((n_users, 1)) < 0.5)
    clean = assignments.astype(np.float32) @ roles.astype(np.float32) > 0.5
    data = clean ^ (rng.random(clean.shape) < flip)
    return Bunch(data=data, clean=clean, assignments=assignments, roles=roles)


def mixed_histograms(n_objects=200, n_clusters=4, *, n_counts=20, n_bins=32, concentration=0.3, random_state=None):
    """Histograms of features drawn from mixtures of Gaussians within [0, 1], one mixture a cluster.

    Parameters
    ----------
    n_objects, n_clusters : int
        N and K.
    n_counts : int
        Features of every object.
    n_bins : int
        D, equal parts of [0, 1].
    concentration : float
        Of the Dirichlet distribution of the mixing weights; a small one gives clusters of one Gaussian or two.
    random_state : int, Generator or None

    Returns
    -------
    X : ndarray, shape (N, D)
        Counts.
    labels : ndarray of int64, shape (N,)
        arange(N) % K.
    weights : ndarray, shape (K, 8)
        Mixing weights of eight Gaussians of width .08, centers from 0 to 1; a feature outside is drawn anew.

    Raises
    ------
    ValueError
        N < K, numbers below 1, a concentration that is not above 0.

    References
    ----------
    004 section 4.2.

    Examples
    --------
    >>> import gencap as gc
    >>> X, labels, weights = gc.datasets.mixed_histograms(6, 2, n_counts=10, random_state=0)
    >>> X.shape, X.sum(axis=1).tolist(), labels.tolist()
    ((6, 32), [10.0, 10.0, 10.0, 10.0, 10.0, 10.0], [0, 1, 0, 1, 0, 1])
    """
    labels, rng = _source_labels(n_objects, n_clusters, None), generator(random_state)
    check_integer("n_counts", n_counts)
    check_integer("n_bins", n_bins)
    check_size("histograms of n_bins", (n_objects, n_bins))
    check_number("concentration", concentration, np.finfo(float).tiny, 1e100)
    centers = np.linspace(0, 1, 8)
    weights = rng.dirichlet(np.full(8, concentration), n_clusters)
    X = np.empty((n_objects, n_bins))
    for i, k in enumerate(labels):
        center = rng.choice(centers, n_counts, p=weights[k])
        features = truncnorm.rvs(-center / 0.08, (1 - center) / 0.08, center, 0.08, random_state=rng)
        X[i] = np.histogram(features, n_bins, (0, 1))[0]
    return X, labels, weights


def three_regions(*, shape=(80, 120), noise=0.3, random_state=None):
    """A grey image of two halves, 0 and .5, under a disc of 1, and Gaussian noise.

    Parameters
    ----------
    shape : tuple of 2 ints
        Height and width, pixels.
    noise : float
        Standard deviation.
    random_state : int, Generator or None

    Returns
    -------
    image : ndarray, shape (height, width)
    labels : ndarray of int64, shape (height, width)
        0, 1 and 2.

    Raises
    ------
    ValueError
        Sides below 1, negative noise.

    Examples
    --------
    >>> import gencap as gc
    >>> gc.datasets.three_regions(shape=(4, 6), noise=0.0)[1].tolist()
    [[0, 0, 0, 1, 1, 1], [0, 0, 2, 2, 1, 1], [0, 0, 2, 2, 1, 1], [0, 0, 0, 1, 1, 1]]
    """
    if np.shape(shape) != (2,):
        raise ValueError(f"shape={shape!r} must be (height, width)")
    height, width = (check_integer("shape", side) for side in shape)
    noise, rng = check_number("noise", noise, 0.0, 1e150), generator(random_state)
    row, column = np.indices((height, width)) + 0.5 - np.array([height, width])[:, None, None] / 2
    labels = (column > 0) + np.int64(0)
    labels[np.hypot(row, column) < 0.3 * min(height, width)] = 2
    return labels / 2 + noise * rng.standard_normal(labels.shape), labels
