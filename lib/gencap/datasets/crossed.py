"""Data with several independent labelings at once, the first of them dominant: what a second clustering is tried on.

Made ones, and two collections that are read from files of the reader's own. Every result is a `Bunch` with `data` and
`labels` (N, L), a column for each labeling; made labels are drawn uniformly, so that every combination of them is
equally probable. What holds for the random states of all generators is said in the package's docstring.
"""

import gzip
import re
import zlib
from pathlib import Path

import numpy as np
import pandas
from scipy.sparse import csr_array
from sklearn.datasets import fetch_rcv1
from sklearn.utils import Bunch

from ..checks import as_array, check_integer, check_number, check_option, generator
from ..resources import require

__all__ = ["crossed_bits", "crossed_counts", "crossed_faces", "crossed_text", "load_cmu_faces", "load_rcv1"]

_CMU = {  # part of a file's name: what it may be
    "person": "[a-z0-9]+",
    "direction": "left|right|straight|up",
    "expression": "angry|happy|neutral|sad",
    "eyes": "open|sunglasses",
}
_CMU_NAME = re.compile("_".join(f"(?P<{part}>{words})" for part, words in _CMU.items()) + r"(_(?P<scale>[124]))?\.pgm")


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
    features = [check_integer("features", m, n_clusters, np.inf) for m in np.atleast_1d(features).tolist()]
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


def load_cmu_faces(folder, *, scale=4):
    """The CMU face images: 20 people who look in four directions, with four expressions, with and without sunglasses.

    Parameters
    ----------
    folder : str or Path
        Holds the files person_direction_expression_eyes.pgm, or with _2 or _4 before .pgm the smaller ones, also in
        folders of its own. They are not distributed with gencap; data/README.md names their home.
    scale : {1, 2, 4}
        1: 120 x 128 pixels; 2 and 4: a half and a quarter of it in both directions. Files of other scales are left out.

    Returns
    -------
    Bunch
        data (N, pixels) float64 in 0..1 and the same as images (N, height, width); labels (N, 4), whose columns
        label_names are also there by name, person, direction, expression and eyes (N,), with person_names and so on;
        files, the names; description.

    Raises
    ------
    ValueError
        A .pgm file that cannot be read, or has a name or size that none of these images has, or a name that is there
        twice.
    FileNotFoundError
        No image of this scale.

    References
    ----------
    .. [1] Mitchell, Machine Learning, McGraw Hill 1997; UCI repository, CMU Face Images.

    Examples
    --------
    >>> import gencap as gc
    >>> gc.datasets.load_cmu_faces("faces_4").data.shape  # doctest: +SKIP
    (624, 960)
    """
    check_option("scale", scale, (1, 2, 4))
    require("plots", "PIL")
    found, shape = {}, (120 // scale, 128 // scale)
    for path in sorted(Path(folder).rglob("*.pgm")):
        name = _CMU_NAME.fullmatch(path.name)
        if not name:
            accepted = ", ".join(f"{part} {words}" for part, words in _CMU.items())
            raise ValueError(
                f"{path} is no name of a CMU face; accepted is person_direction_expression_eyes: {accepted}"
            )
        if int(name["scale"] or 1) != scale:
            continue
        if path.name in found:
            raise ValueError(f"{path} is there twice, accepted is one file of a name below {folder}")
        try:
            with require("plots", "PIL.Image").open(path) as image:
                pixels = np.asarray(image)
        except (OSError, ValueError, SyntaxError) as error:
            raise ValueError(f"{path} cannot be read as an image: {error}") from None
        if pixels.shape != shape or pixels.dtype != np.uint8:
            given = f"{pixels.shape} pixels of {pixels.dtype}"
            raise ValueError(f"{path} has {given}, accepted at scale {scale} are {shape} of uint8, grey")
        found[path.name] = [name[part] for part in _CMU], pixels
    if not found:
        raise FileNotFoundError(f"{folder} holds no .pgm image of scale {scale}; data/README.md names their home")
    names, images = zip(*found.values(), strict=True)
    result = Bunch(images=np.stack(images) / 255, files=list(found), label_names=list(_CMU))
    result.data = result.images.reshape(len(images), -1)
    for part, column in zip(_CMU, np.array(names).T, strict=True):
        result[f"{part}_names"], result[part] = np.unique(column, return_inverse=True)
    result.labels = np.stack([result[part] for part in _CMU], axis=1)
    result.description = f"{len(images)} CMU face images of {shape[0]} x {shape[1]} pixels"
    return result


def _codes(name, given, known, where):
    """The labels asked for, all different and all known."""
    given, known = as_array(name, given, None).ravel().tolist(), set(known)
    if not given or len(set(given)) < len(given) or not known.issuperset(given):
        wrong = [code for code in given if code not in known] or given
        raise ValueError(f"{name} holds {wrong}, accepted are distinct ones of the {len(known)} codes of {where}")
    return np.array(given)


def load_rcv1(
    path, topics, regions, *, n_per_pair=400, min_documents=2, vectors=None, data_home=None, random_state=None
):
    """News of the Reuters collection RCV1-v2 with two labelings, topic and region.

    Taken are documents with exactly one of the topics and exactly one of the regions. Nothing is downloaded.

    Parameters
    ----------
    path : str or Path
        The published file rcv1-v2.regions.qrels.gz: lines of region, number of the document, 1.
    topics, regions : sequence of str
        Codes such as "MCAT" and "UK"; the labels count them in this order.
    n_per_pair : int
        Of a pair of topic and region with more documents, so many are drawn.
    min_documents : int
        Terms in fewer of the selected documents are left out, and then documents without terms.
    vectors : Bunch, dict or None
        What `sklearn.datasets.fetch_rcv1` gives, data (documents, terms), target (documents, topics), sample_id and
        target_names, or counts of words in the same form; None: what that function once stored.
    data_home : str, Path or None
        Where it stored them, as in `fetch_rcv1`. They are weights of terms, rows of length 1, no counts.
    random_state : int, Generator or None

    Returns
    -------
    Bunch
        data : csr_array (documents, terms); labels (documents, 2), columns topic and region; topic_names and
        region_names; sample_id (documents,); terms, columns of the vectors that are left; description.

    Raises
    ------
    ValueError
        An unknown or repeated code, a damaged file, vectors that lack a part, no document left.
    FileNotFoundError
        The file or the stored vectors are not there.

    References
    ----------
    .. [1] Lewis, Yang, Rose, Li 2004, JMLR 5:361-397, and its online appendices; document 001, section 8.4.2.

    Examples
    --------
    >>> import gencap as gc
    >>> path = "rcv1-v2.regions.qrels.gz"
    >>> gc.datasets.load_rcv1(path, ["MCAT", "GCAT"], ["UK", "INDIA"]).data.shape[0]  # doctest: +SKIP
    1600
    """
    n_per_pair, min_documents = check_integer("n_per_pair", n_per_pair), check_integer("min_documents", min_documents)
    rng = generator(random_state)
    try:
        table = pandas.read_csv(path, sep=" ", header=None, dtype=str, keep_default_na=False)
        wrong = np.flatnonzero(~table.get(1, table[0]).str.fullmatch("[0-9]{1,9}", na=False))
        if table.shape[1] != 3 or wrong.size:
            raise ValueError(f"line {[*wrong, 0][0] + 1} has {table.iloc[[*wrong, 0][0]].tolist()}")
    except (ValueError, EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise ValueError(f"{path}: {str(error).strip()}; accepted are lines of region, document number, 1") from None
    if vectors is None:
        try:
            vectors = fetch_rcv1(data_home=data_home, download_if_missing=False)
        except OSError as error:
            help_ = "sklearn.datasets.fetch_rcv1(data_home=...) gets them from their public home"
            raise FileNotFoundError(f"{data_home=} holds no vectors of RCV1: {error}; {help_}") from None
    if missing := {"data", "target", "sample_id", "target_names"} - set(getattr(vectors, "keys", list)()):
        raise ValueError(f"vectors lack {sorted(missing)}, accepted is a Bunch as of sklearn.datasets.fetch_rcv1")
    vectors = Bunch(**vectors)
    sizes = len(vectors.sample_id), len(vectors.target_names)
    if vectors.target.shape != sizes or vectors.data.shape[0] != sizes[0]:
        given = f"data {vectors.data.shape}, target {vectors.target.shape}"
        raise ValueError(
            f"vectors have {given}; accepted are those of {sizes[0]} sample_id and {sizes[1]} target_names"
        )
    names = list(vectors.target_names)
    topics, regions = _codes("topics", topics, names, "vectors"), _codes("regions", regions, table[0], path)
    table = table[table[0].isin(regions)].drop_duplicates([0, 1]).drop_duplicates(1, keep=False)
    place = pandas.Index(table[1].astype(int)).get_indexer(vectors.sample_id)
    member = csr_array(vectors.target)[:, [names.index(topic) for topic in topics]].toarray() > 0
    kept = rng.permutation(np.flatnonzero((place >= 0) & (member.sum(axis=1) == 1)))
    region = pandas.Index(regions).get_indexer(table[0])[place[kept]]
    labels = pandas.DataFrame({"topic": member[kept].argmax(axis=1), "region": region}, kept, dtype=np.int64)
    labels = labels[labels.groupby(["topic", "region"]).cumcount() < n_per_pair].sort_index()
    data = csr_array(vectors.data)[labels.index]
    terms = np.flatnonzero(np.bincount(data.nonzero()[1], minlength=data.shape[1]) >= min_documents)
    full = np.flatnonzero((data[:, terms] != 0).sum(axis=1))
    if not full.size:
        asked = f"one of topics={topics.tolist()} and one of regions={regions.tolist()}"
        raise ValueError(f"{path}: no document has exactly {asked}, and terms of min_documents={min_documents}")
    data, labels = data[full][:, terms], labels.iloc[full]
    found = {"topic_names": topics, "region_names": regions, "terms": terms}
    found |= {"sample_id": np.asarray(vectors.sample_id)[labels.index], "labels": labels.to_numpy()}
    return Bunch(data=data, description=f"{data.shape[0]} news x {data.shape[1]} terms (RCV1-v2)", **found)
