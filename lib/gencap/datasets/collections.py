"""Collections with more than one labelling, read from files of one's own: face images and news.

Every result is a `Bunch` with `data` and `labels` (N, L) int64, a column for each labelling.
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

from ..checks import as_array, check_integer, check_option, generator
from ..resources import require

__all__ = ["load_cmu_faces", "load_rcv1"]

_CMU = {  # part of a file's name: what it may be
    "person": "[a-z0-9]+",
    "direction": "left|right|straight|up",
    "expression": "angry|happy|neutral|sad",
    "eyes": "open|sunglasses",
}
_CMU_NAME = re.compile("_".join(f"(?P<{part}>{words})" for part, words in _CMU.items()) + r"(_(?P<scale>[124]))?\.pgm")


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
