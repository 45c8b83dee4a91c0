"""The contract of every model, and what all models share: checks once, one loop over a grid, one `fit`.

A model gives

* `_prepared(X)`: a copy of itself that may carry what was taken off the data, and the data as its loops take them;
* `_unit(X)`: the inverse temperature at which its clusters begin to differ, of prepared data;
* `_anneal(X, betas, init)`: its `Trajectory` on prepared data; per-object arrays it knows are further arguments;
* `_labels_cost(labels, X)`: the exact cost of hard labels, of the checked data that `_exact(X)` returns; per-object
  arrays that it depends on are further arguments;
* `potentials(X_new)`: what an object not seen before would cost in each cluster of the fitted solution.

Validation, pictures and explorers call the public methods of `ClusteringModel` only, and ask its tags for the kind of
data.
"""

import copy
import inspect
import sys
import warnings

import numpy as np
from sklearn.base import BaseEstimator, ClusterMixin, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted, validate_data

from ..checks import check_labels, check_n_clusters, check_same_order, check_unmasked, object_names
from ..resources import one_thread
from ..trajectory import softmax

FEWEST_SWEEPS = 4  # of `fixed_point`


def warn_caller(message, category):
    """Warn at the line outside the package that led here, however deep this is."""
    frame, level = sys._getframe(), 1
    while frame.f_back and frame.f_globals.get("__name__", "").partition(".")[0] in ("gencap", "contextlib"):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)


def follow(betas, settle, cost, dtype=np.float64, hot_first=False):
    """The loop over a grid of temperatures: let the state settle, read its potentials, their probabilities and cost.

    Parameters
    ----------
    betas : ndarray, shape (T,)
    settle : callable (t) -> (potentials (N, K), whether the step converged)
        Called once for every step of the grid, from the cold end to the hot one; the state goes on from where it is.
    cost : callable (labels) -> float
    dtype : dtype
        Of the probabilities and potentials that are kept.
    hot_first : bool
        From the hot end to the cold one.

    Returns
    -------
    dict
        `betas`, `probabilities`, `potentials`, `costs` and `converged` of a `Trajectory`.
    """
    n_steps, known = len(betas), None
    costs, converged = np.empty(n_steps), np.empty(n_steps, bool)
    for t in range(n_steps)[:: 1 if hot_first else -1]:
        h, converged[t] = settle(t)
        if known is None:
            probabilities, potentials = (np.empty((n_steps, *h.shape), dtype) for _ in range(2))
        potentials[t], probabilities[t] = h, softmax(-betas[t] * h)
        labels = probabilities[t].argmax(axis=1)
        if known is None or (labels != known[0]).any():
            known = labels, cost(labels)
        costs[t] = known[1]
    return dict(betas=betas, probabilities=probabilities, potentials=potentials, costs=costs, converged=converged)


def fixed_point(step, state, tolerance, max_sweeps, longest_leap=16.0):
    """A fixed point of an iteration that slows down close to a split: the state, sweeps, whether it was reached.

    There the steps shrink by a factor near 1. Two steps show the factor, and the third leaps (squared extrapolation
    after Varadhan and Roland 2008); every leap is followed by plain steps, whose fixed points are kept.

    Parameters
    ----------
    step : callable (state) -> ndarray
        What one sweep adds to a state.
    state : ndarray
    tolerance : float
        Norm of a step that counts as none, unless it grows: a split begins so.
    max_sweeps : int
    longest_leap : float
        In steps.

    Returns
    -------
    ndarray, int, bool
    """
    for sweeps in range(2, max_sweeps + 1, 2):
        first = step(state)
        second = step(state + first)
        length, following = np.linalg.norm(first), np.linalg.norm(second)
        # A split begins as a small step that grows; it shows once the others have died away.
        if sweeps > FEWEST_SWEEPS and following <= length <= tolerance:
            return state + first + second, sweeps, True
        bend = np.linalg.norm(second - first)
        leap = min(max(length / bend, 1.0), longest_leap) if bend > 0 else 1.0
        state = state + 2 * leap * first + leap**2 * (second - first)
    return state, sweeps, False


def _taken(method, per_object):
    """Those of the arrays that a method takes."""
    names = inspect.signature(method).parameters
    return {name: values for name, values in per_object.items() if name in names}


def _check_per_object(X, shape, per_object):
    """Raise ValueError unless each of the arrays has an entry for every object of X, in the same order."""
    for name, values in per_object.items():
        check_same_order(name, values, "X", X)
        if (given := np.shape(values)[:1]) != shape:
            raise ValueError(f"{name} has {given[0] if given else 'no'} entries, accepted is one for each of the "
                             f"{shape[0]} objects")  # fmt: skip


class ClusteringModel(ClusterMixin, BaseEstimator):
    """Base of all models: they anneal on a data set, and leave a `Trajectory` behind.

    Attributes
    ----------
    labels_ : ndarray of int, shape (N,)
        Hard labels at the coldest step, not renumbered.
    trajectory_ : Trajectory
        The run.
    n_iter_ : int
        Sweeps over the objects that the run took.
    n_features_in_ : int
        Columns of the data: features, or objects where the data are similarities.
    feature_names_in_ : ndarray of str
        Names of these columns, where the data have names that are strings.

    Notes
    -----
    `capacity_entropy` says where a capacity takes its entropy (see `Trajectory`); "same" also means that there is no
    cost function, so that final labels are compared by `hamming_capacity`. `cost_per_pair`: the cost is a sum over
    pairs of objects, not over objects. `means_positive`: similarities below 0 are accepted and have no meaning; a
    comparison makes its views positive for such a model. The tags `input_tags.pairwise`, `.sparse` and
    `.positive_only` say whether the data are similarities (N, N), may be sparse, and must not be negative.

    Examples
    --------
    >>> import numpy as np, gencap as gc
    >>> X = np.kron(np.eye(2), np.ones((4, 4))) * 2 - 1
    >>> model = gc.CorrelationClustering(n_clusters=2, random_state=0)
    >>> isinstance(model, gc.ClusteringModel), model.fit(X).trajectory_.n_objects
    (True, 8)
    """

    capacity_entropy = "final"
    cost_per_pair = means_positive = False
    _pairwise = _positive_only = _heats = False

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = tags.input_tags.sparse = self._pairwise
        tags.input_tags.positive_only = self._positive_only
        return tags

    def _prepared(self, X):
        return copy.copy(self), self._exact(X)

    def _checked(self, name, X, reset=False):
        """Data as scikit-learn takes them: of the fit (`reset`), or of new objects with the columns of the fit."""
        if not reset:
            check_is_fitted(self)
        check_unmasked(name, X)
        sparse = "csr" if get_tags(self).input_tags.sparse else False
        return validate_data(self, X, accept_sparse=sparse, dtype=np.float64, order="C", reset=reset)

    def _unit(self, X):
        return 1.0

    def unit(self, X, **per_object):
        """Inverse temperature at which the clusters of X begin to differ: the unit of the default grid.

        Parameters
        ----------
        X : array_like or scipy.sparse matrix
            As for `anneal`.
        **per_object : array_like, shape (N, ...)
            As for `anneal`; what the unit does not depend on is left out.

        Returns
        -------
        float
        """
        with one_thread():
            model, prepared = self._prepared(X)
            _check_per_object(X, prepared.shape[:1], per_object)
            return model._unit(prepared, **_taken(model._unit, per_object))

    def cost(self, labels, X, **per_object):
        """Exact cost of a hard labelling; needs no fit, and an empty cluster costs nothing.

        Parameters
        ----------
        labels : array_like of int, shape (N,)
            Values in 0..n_clusters-1.
        X : array_like or sparse matrix
            The data, as `anneal` takes them.
        **per_object : array_like, shape (N, ...)
            As for `anneal`; what the cost does not depend on is left out.

        Returns
        -------
        float

        Raises
        ------
        ValueError
            What `anneal` refuses, or `labels` of another length or with values outside 0..n_clusters-1.
        """
        exact = self._exact(X)
        _check_per_object(X, exact.shape[:1], per_object)
        n_clusters = check_n_clusters(self.n_clusters, exact.shape[0])
        labels = check_labels("labels", labels, exact.shape[0], n_clusters)
        return self._labels_cost(labels, exact, **_taken(self._labels_cost, per_object))

    def anneal(self, X, betas=None, init=None, **per_object):
        """Anneal on X and return the run.

        Parameters
        ----------
        X : array_like or scipy.sparse matrix
            Vectors (N, D), or symmetric similarities (N, N), as the model's class says. X is not written to. Of
            similarities a C-contiguous float32 matrix (with a zero diagonal, where the model does not count it) is used
            as it is, any other is copied once (N^2 x 4 bytes); a sparse matrix is never made dense.
        betas : array_like, shape (T,), or None
            Ascending inverse temperatures; None takes the model's fixed multiples of its `unit`.
        init : Trajectory or None
            At every beta start from its assignment probabilities (or centroids) instead of from the step before
            (paired starts).
        **per_object : array_like, shape (N, ...)
            What a model knows about every object, by the name that its class gives.

        Returns
        -------
        Trajectory

        Raises
        ------
        ValueError
            X not of the required shape, finite, or (similarities) symmetric within 1e-6; n_clusters not in 1..N; an
            argument of the model outside its range; betas not ascending and positive; init of another shape.

        Warns
        -----
        ConvergenceWarning
            At some temperatures the sweeps reached their limit; `Trajectory.converged` says at which.
        """
        with one_thread():
            model, prepared = self._prepared(X)
            _check_per_object(X, prepared.shape[:1], per_object)
            run = model._anneal(prepared, betas, init, **per_object)
        run.objects, run.capacity_entropy = object_names(X), self.capacity_entropy
        if not run.converged.all():
            found = f"{type(self).__name__} did not settle at {np.count_nonzero(~run.converged)} of {run.n_steps}"
            instead = ", or sample with inference='gibbs'" if hasattr(self, "inference") else ""
            warn_caller(f"{found} temperatures within the limit of sweeps (Trajectory.converged says at which): close "
                        "to a transition their probabilities are not those of a fixed point; leave these betas out"
                        f"{instead}", ConvergenceWarning)  # fmt: skip
        return run

    def fit(self, X, y=None, **per_object):
        """Anneal on X; `labels_` are the hard labels at the coldest step, `trajectory_` is the run.

        Parameters
        ----------
        X : array_like or scipy.sparse matrix
            As for `anneal`.
        y : ignored
        **per_object : array_like, shape (N, ...)
            As for `anneal`.

        Returns
        -------
        self
        """
        self.trajectory_ = self.anneal(X, **per_object)
        validate_data(self, X, skip_check_array=True)  # names and number of the columns
        self.labels_, self.n_iter_ = self.trajectory_.labels(-1), self.trajectory_.n_iter
        vars(self).update(self.trajectory_.learned)
        return self

    def coldest_labels(self, X, **per_object):
        """Labels of `fit(X)`, where the model heats without the rest of the path: at 20 units. It stays as it is.

        Parameters
        ----------
        X : array_like or scipy.sparse matrix
            As for `anneal`.
        **per_object : array_like, shape (N, ...)
            As for `anneal`.

        Returns
        -------
        ndarray of int, shape (N,)
        """
        if self._heats:
            return clone(self).anneal(X, [20 * self.unit(X, **per_object)], **per_object).labels()
        return clone(self).fit(X, **per_object).labels_


class VectorModel(ClusteringModel):
    """A model of objects with features: it takes tables as scikit-learn does, and assigns new objects."""

    def fit(self, X, y=None, **per_object):
        checked = self._checked("X", X, reset=True)
        return super().fit(X if hasattr(X, "columns") else checked, y, **per_object)  # a table keeps its names

    fit.__doc__ = ClusteringModel.fit.__doc__

    def predict(self, X):
        """Cluster of lowest potential of every object.

        Parameters
        ----------
        X : array_like, shape (M, D)

        Returns
        -------
        ndarray of int, shape (M,)
        """
        return self.potentials(X).argmin(axis=1)
