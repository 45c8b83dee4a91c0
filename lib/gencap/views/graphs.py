"""Two views of a graph: where the second look at the same pairs of objects comes from.

A graph that was measured twice brings its views. One that was measured once is divided by lot, pair by pair: each pair
of objects is seen in one of the views only, and says nothing in the other. Noise of a single pair is then in one view,
so what the views agree on is more than noise.

Both views come with their neutral weight taken off: above it two objects attract each other, below it they repel. It
is a level of the weights, their mean plus some standard deviations, so it means the same on every scale.
"""

from functools import partial

import numpy as np

from ..checks import check_integer, check_number, check_same_order, check_same_shape, check_similarity, generator
from .protocols import SimilarityPair, Views


class GraphViews(Views):
    """Two graphs of the same objects; `data` are the measured graphs, shape (1, N, N) or (2, N, N).

    `first` and `second`, shape (N, N), are weights less the neutral one, 0 where a pair is not seen. See
    `paired_graphs`.

    Parameters
    ----------
    first, second, data, rows1, rows2, protocol, again
        As in `Views`.

    Examples
    --------
    >>> import numpy as np, gencap as gc
    >>> gc.paired_graphs([np.ones((4, 4)), np.ones((4, 4))])
    GraphViews(4 objects: same pairs of objects measured twice)
    """

    __slots__ = ()

    @property
    def diagnostics(self):
        """Correlation of the weights of all pairs in both graphs; None where no pair is in both."""
        if len(self.data) == 1:
            return None
        pairs = np.triu_indices(len(self.first), 1)
        return {"weights": float(np.corrcoef(*(X[pairs] for X in self.data))[0, 1])}

    def remake(self, X, random_state=None):
        """Views of other graphs, made in the same way; one graph is divided afresh.

        Parameters
        ----------
        X : array_like
            Of the shape of `data`.
        random_state : int, Generator or None

        Returns
        -------
        GraphViews
        """
        check_same_shape("X", X, "the first graphs", self.data)
        return self.again(X, random_state=random_state)

    def check_rows(self, measure):
        """Nothing is refused: a graph has no rows that could lack a correlation.

        Parameters
        ----------
        measure : str
        """

    def similarities(self, measure="weights", positive=False):
        """The two graphs as they are, for models on similarities.

        Parameters
        ----------
        measure : ignored
            A graph has one.
        positive : bool
            For models that need weights >= 0.

        Returns
        -------
        SimilarityPair

        Raises
        ------
        ValueError
            A model needs weights >= 0, and there are others.
        """
        if positive and min(self.first.min(), self.second.min()) < 0:
            raise ValueError("a model for weights >= 0 on weights below 0, accepted are graphs with neutral=None")
        pair = SimilarityPair(X.astype(np.float32) for X in (self.first, self.second))
        pair.measure, pair.maximum, pair.median = "weights", 0.0, 1.0
        return pair


def neutral_weight(X, *, level=0.0):
    """Mean of the weights off the diagonal plus `level` standard deviations.

    Parameters
    ----------
    X : array_like, shape (N, N) or (m, N, N)
    level : float

    Returns
    -------
    float

    Examples
    --------
    >>> from gencap.views.graphs import neutral_weight
    >>> neutral_weight([[0, 1, 3], [1, 0, 2], [3, 2, 0]])
    2.0
    """
    X = np.asarray(X, float)
    weights = X[..., ~np.eye(X.shape[-1], dtype=bool)]
    return float(weights.mean() + check_number("level", level) * weights.std())


def paired_graphs(X, *, neutral=0.0, random_state=None):
    """Two views of a graph: two measurements of it, or one whose pairs are divided by lot.

    Parameters
    ----------
    X : array_like or scipy.sparse matrix, shape (N, N); or two of them
        Symmetric weights; the diagonal is not used.
    neutral : float or None
        Level of the weight that neither attracts nor repels, see `neutral_weight`; None leaves the weights as they are.
    random_state : int, numpy.random.Generator or None
        Of the lots; two measurements need none.

    Returns
    -------
    GraphViews

    Raises
    ------
    ValueError
        Fewer than four objects, no symmetric matrix, two graphs of other objects.

    Examples
    --------
    >>> import numpy as np, gencap as gc
    >>> X = np.kron(np.eye(2), np.ones((3, 3)))
    >>> views = gc.paired_graphs(X, random_state=0)
    >>> views, bool(((views.first == 0) | (views.second == 0)).all())
    (GraphViews(6 objects: each pair of objects in one of two views, by lot), True)
    """
    both = isinstance(X, tuple | list | np.ndarray) and np.ndim(X[0]) == 2
    graphs = X if both else [X]
    check_integer("number of graphs", len(graphs), 1, 2)
    if len(graphs) == 2:
        check_same_order("the second graph", graphs[1], "the first", graphs[0])
    graphs = [check_similarity("X", one, np.float64, use_diagonal=False) for one in graphs]
    graphs = np.stack([one.toarray() if hasattr(one, "toarray") else one for one in graphs])
    n_objects = check_integer("objects of X", graphs.shape[1], 4)
    shifted = graphs if neutral is None else graphs - neutral_weight(graphs, level=neutral)
    shifted = shifted * ~np.eye(n_objects, dtype=bool)
    words, rows = "same pairs of objects measured twice", np.arange(n_objects)
    if len(graphs) == 1:
        lots = np.triu(generator(random_state).random((n_objects, n_objects)) < 0.5, 1)
        lots = lots | lots.T
        shifted, words = [shifted[0] * lots, shifted[0] * ~lots], "each pair of objects in one of two views, by lot"
    return GraphViews(*shifted, graphs, rows, rows, words, partial(paired_graphs, neutral=neutral))
