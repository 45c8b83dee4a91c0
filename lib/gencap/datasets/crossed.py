"""Data with several independent labelings at once, the first of them dominant: what a second clustering is tried on.

What holds for the random states of all generators is said in the package's docstring.
"""

import numpy as np
from scipy.sparse import csr_array
from sklearn.utils import Bunch

from ..checks import as_array, check_integer, check_number, generator

__all__ = ["crossed_bits", "crossed_counts", "crossed_faces", "crossed_text"]


def _of_each(name, values, check, low, high=np.inf):
    """The checked numbers of an argument that holds one for each labeling."""
    values = [check(name, value, low, high) for value in as_array(name, values, None).ravel().tolist()]
    if not values:
        raise ValueError(f"{name} is empty, accepted is one number for each labeling")
    return values


def crossed_counts(n_objects=200, n_clusters=2, *, total=400, orthogonality=1.0, random_state=None):
    """Counts of three outcomes in the plane of two labelings (document 001, section 8.3.1).

    Cluster k of a labelling has probability k / (K - 1). Of the counts of an object half of the first probability go to
    the first outcome, half of the second to the second, and the rest to the third.

    Parameters
    ----------
    n_objects : int
        N.
    n_clusters : int
        K of both labelings, at least 2.
    total : int
        M, the sum of the counts of every object.
    orthogonality : float
        In [0, 1]. The probability of the second labelling is moved towards the first one's by what this is below 1;
        with 0 they are the same.
    random_state : int, Generator or None

    Returns
    -------
    Bunch
        `data` (N, 3) counts, `labels` (N, 2).

    Raises
    ------
    ValueError
        A number outside its range.

    Notes
    -----
    Of the readings of the source's description this is the one that reproduces its tables: M counts for every object,
    not for the whole set, and a rest besides the two dimensions.

    Examples
    --------
    >>> import gencap as gc
    >>> plane = gc.datasets.crossed_counts(6, total=10, random_state=0)
    >>> plane.data.sum(axis=1).tolist(), plane.labels.shape
    ([10, 10, 10, 10, 10, 10], (6, 2))
    """
    n_objects, total = check_integer("n_objects", n_objects), check_integer("total", total)
    n_clusters = check_integer("n_clusters", n_clusters, 2)
    share = check_number("orthogonality", orthogonality, 0.0, 1.0)
    rng = generator(random_state)
    labels = rng.integers(n_clusters, size=(n_objects, 2))
    first, second = (labels / (n_clusters - 1)).T
    second = share * second + (1 - share) * first
    data = rng.multinomial(total, np.column_stack([first / 2, second / 2, 1 - (first + second) / 2]))
    return Bunch(data=data, labels=labels)


def crossed_bits(n_objects=200, n_clusters=2, *, features=(10, 4), flip=0.1, random_state=None):
    """Bits of several independent labelings, each with features of its own (document 001, appendix E.1).

    The features of a labelling are cut into K blocks; an object of its cluster k has ones in block k and zeros in the
    others, and then every bit is flipped with a small probability.

    Parameters
    ----------
    n_objects : int
        N.
    n_clusters : int
        K of every labelling, at least 2.
    features : sequence of int
        Features of every labelling, each at least K.
    flip : float
        In [0, 1].
    random_state : int, Generator or None

    Returns
    -------
    Bunch
        `data` (N, D) of 0.0 and 1.0, `labels` (N, L), `features` (D,) the labelling that a column belongs to.

    Raises
    ------
    ValueError
        A number outside its range, or fewer features than clusters.

    Examples
    --------
    >>> import gencap as gc
    >>> gc.datasets.crossed_bits(3, 2, features=(2, 4), flip=0, random_state=0).data.sum(axis=1).tolist()
    [3.0, 3.0, 3.0]
    """
    n_objects, n_clusters = check_integer("n_objects", n_objects), check_integer("n_clusters", n_clusters, 2)
    flip, rng = check_number("flip", flip, 0.0, 1.0), generator(random_state)
    features = _of_each("features", features, check_integer, n_clusters)
    labels = rng.integers(n_clusters, size=(n_objects, len(features)))
    blocks = [np.arange(m) * n_clusters // m == own[:, None] for m, own in zip(features, labels.T, strict=True)]
    data = np.hstack(blocks) ^ (rng.random((n_objects, sum(features))) < flip)
    return Bunch(data=data.astype(np.float64), labels=labels, features=np.repeat(np.arange(len(features)), features))


def crossed_faces(n_objects=369, *, size=40, random_state=None):
    """Drawn grey images of faces: how they are framed, and under that how long the hair is.

    Smooth ellipses for hair, face, eyes, mouth and shoulders; position, size, length of hair, tones and pixels vary by
    small normal amounts. Pixels end at 0 (black) and 1 (white).

    Parameters
    ----------
    n_objects : int
        N.
    size : int
        Edge of an image, pixels, at least 8.
    random_state : int, Generator or None

    Returns
    -------
    Bunch
        data (N, size ** 2) float64 and the same as images (N, size, size); labels (N, 2): framing (0 the face only, 1
        with shoulders), which has most of the variance, and hair (0 short, 1 long); label_names.

    Raises
    ------
    ValueError
        A number outside its range.

    References
    ----------
    .. [1] Document 001, section 8.4.1, has photographs of such a kind: 369 images of 40 x 40 pixels.

    Examples
    --------
    >>> import gencap as gc
    >>> faces = gc.datasets.crossed_faces(10, size=16, random_state=0)
    >>> faces.images.shape, faces.label_names
    ((10, 16, 16), ['framing', 'hair'])
    """
    n_objects, size = check_integer("n_objects", n_objects), check_integer("size", size, 8)
    rng = generator(random_state)
    labels = rng.integers(2, size=(n_objects, 2))

    def varied(mean, deviation):
        return (mean + deviation * rng.standard_normal(n_objects))[:, None, None]

    framing, long = labels.T
    y, x = np.ogrid[-1 : 1 : size * 1j, -1 : 1 : size * 1j]
    scale, hair = varied(np.where(framing, 0.55, 0.85), 0.02), varied(long, 0.2)
    x = (x - varied(0.0, 0.02)) / scale  # from the middle of the face, its half height is the unit
    y = (y - varied(np.where(framing, -0.35, 0.05), 0.02)) / scale
    images = np.zeros((n_objects, size, size)) + varied(0.5, 0.03)

    def paint(tone, middle_x, middle_y, width, height):
        distance = np.hypot((x - middle_x) / width, (y - middle_y) / height)
        images[:] += (tone - images) / (1 + np.exp(np.minimum(15 * (distance - 1), 50)))

    dark = varied(0.15, 0.03)
    paint(dark, 0, 0.45 * hair - 0.25, 0.78 + 0.32 * hair, 0.85 + 0.3 * hair)
    paint(varied(0.3, 0.03), 0, 2.05, 1.6, 0.95)  # outside the picture where the face fills it
    paint(varied(0.8, 0.03), 0, 0, 0.7, 0.95)
    paint(dark, 0, -0.85, 0.6, 0.3)
    for side in (-0.3, 0.3):
        paint(0.2, side, -0.15, 0.13, 0.09)
    paint(0.35, 0, 0.5, 0.28, 0.08)
    images = np.clip(images + 0.04 * rng.standard_normal(images.shape), 0, 1)
    return Bunch(data=images.reshape(n_objects, -1), images=images, labels=labels, label_names=["framing", "hair"])


def crossed_text(n_objects=600, n_clusters=(4, 5), *, n_terms=1000, length=100, shares=(0.15, 0.1), random_state=None):
    """Made-up documents as counts of words, with labelings like university and type of a web page.

    A word comes from the topic of the document's label in one of the labelings, or from a background that all documents
    have. In the background, term r has a probability proportional to 1 / (r + 1); a topic has the same law on
    n_terms // 20 terms drawn for it. How a document divides its words among the sources is Dirichlet with concentration
    8: some documents have hardly a word of a topic, and no method finds their labels.

    Parameters
    ----------
    n_objects : int
        Documents.
    n_clusters : sequence of L ints
        Labels of each labeling, at least 2.
    n_terms : int
        At least 20.
    length : float
        Mean of the Poisson number of words of a document, at least 1; a document that would be empty has one word.
    shares : sequence of L floats
        Mean share of each labeling's topics in the words of a document, in [0, 1], with a sum of at most 1.
    random_state : int, Generator or None

    Returns
    -------
    Bunch
        data : csr_array (n_objects, n_terms) int64, no row of it empty; labels (n_objects, L).

    Raises
    ------
    ValueError
        A number outside its range, or another number of shares than of labelings.

    References
    ----------
    .. [1] Document 001, section 8.4.2: what its two collections have in common.

    Examples
    --------
    >>> import gencap as gc
    >>> text = gc.datasets.crossed_text(50, (2, 3), n_terms=200, random_state=0)
    >>> text.data.shape, text.labels.max(axis=0).tolist()
    ((50, 200), [1, 2])
    """
    n_objects, n_terms = check_integer("n_objects", n_objects), check_integer("n_terms", n_terms, 20)
    n_clusters = _of_each("n_clusters", n_clusters, check_integer, 2)
    shares, length = _of_each("shares", shares, check_number, 0.0, 1.0), check_number("length", length, 1.0)
    if len(shares) != len(n_clusters) or sum(shares) > 1 + 1e-12:
        raise ValueError(f"shares={shares} must be {len(n_clusters)} numbers, as n_clusters, with a sum of at most 1")
    rng = generator(random_state)
    labels = rng.integers(n_clusters, size=(n_objects, len(n_clusters)))
    documents = np.repeat(np.arange(n_objects), np.maximum(rng.poisson(length, n_objects), 1))
    law = 1 / np.arange(1, n_terms + 1)
    words = rng.choice(n_terms, documents.size, p=law / law.sum())
    parts = rng.standard_gamma(np.maximum(8 * np.array([*shares, 1 - sum(shares)]), 0), (n_objects, len(shares) + 1))
    bounds = np.cumsum(parts, axis=1)[documents]
    origin = (rng.random((documents.size, 1)) * bounds[:, -1:] >= bounds).sum(axis=1)
    law = law[: n_terms // 20]
    for labeling, clusters in enumerate(n_clusters):
        for label in range(clusters):
            topic = rng.choice(n_terms, law.size, replace=False)
            own = (origin == labeling) & (labels[documents, labeling] == label)
            words[own] = rng.choice(topic, own.sum(), p=law / law.sum())
    where = np.array([documents, words], np.int32)  # scikit-learn takes no wider indices
    data = csr_array((np.ones(words.size, np.int64), tuple(where)), shape=(n_objects, n_terms))
    return Bunch(data=data, labels=labels)
