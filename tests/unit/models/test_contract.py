"""Every estimator of the library keeps the contract of `models.base`, and scikit-learn's.

The estimators are found through the package: a new one is taken along without a word here. It is tried on vectors, or
on similarities where its tag `pairwise` says so; what it does otherwise stands in the tables below, with the reason.
"""

import importlib
import inspect
import pickle
import pkgutil
import warnings
from functools import cache

import joblib
import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from oracles import random_similarity
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import check_estimator

import gencap as gc
import gencap.models
from gencap.trajectory import Trajectory

GLOBAL_STATE = np.random.get_state  # noqa: NPY002 - which nothing may touch
ABSTRACT = {"Bottleneck", "ClusteringModel", "SimilarityClustering", "VectorModel"}
N_OBJECTS = 24
GROUP = np.arange(N_OBJECTS) % 3
RNG = np.random.default_rng(0)
SIMILARITIES = 0.3 * random_similarity(N_OBJECTS, RNG, positive=True, diagonal=False) + (GROUP[:, None] == GROUP)
np.fill_diagonal(SIMILARITIES, 0)
VECTORS = 6 * np.eye(3)[GROUP] + RNG.standard_normal((N_OBJECTS, 3))
BITS = (np.eye(3, dtype=bool)[GROUP].repeat(4, axis=1) ^ (RNG.random((N_OBJECTS, 12)) < 0.03)).astype(float)

HISTOGRAMS = ["HistogramClustering", "ParametricDistributionalClustering"]
COUNTED = ["ConditionalBottleneck", "InformationBottleneck", "MixtureModel", "SideInformationBottleneck", *HISTOGRAMS]
OPTIONS = {  # several ways to build a class; groups that attract each other where the cost is one of cuts
    "AnnealedKMeans": [{}, {"splitting": "exact"}, {"splitting": "mass"}, {"inference": "metropolis"}],
    "CorrelationClustering": [{"shift": -0.6}],
    "DominantSets": [{"max_steps": 20}],
    "InformationBottleneck": [
        {},
        {"features": "gaussian"},
        {"algorithm": "sequential"},
        {"algorithm": "agglomerative"},
    ],
    "NoisyOrFactorization": [{"n_refinements": 1, "max_roles": 1}],
    "PairwiseClustering": [{}, {"embedding": True}],
}
DATA = {  # what a tag cannot say
    "MinCut": SIMILARITIES
    - 0.6 * (1 - np.eye(N_OBJECTS)),  # without a shift the cut of positive weights is one cluster
    "MaxCut": (GROUP[:, None] != GROUP) + SIMILARITIES % 0.3,  # clusters of objects that are not alike
    "LeastAngleClustering": VECTORS - 2,  # directions of groups at right angles would cost the same in one cluster
    "NoisyOrFactorization": BITS,
    "ConstrainedModelClustering": BITS,
    "InformationBottleneck-features=gaussian": VECTORS,
} | dict.fromkeys(COUNTED, 1 + 4 * BITS)
SIZE = {"NoisyOrFactorization": "n_components"}  # its clusters are sets of roles
ONLY_BITS = {"NoisyOrFactorization", "ConstrainedModelClustering"}  # refuse other numbers: there is no scale
NO_START = {  # refuse an `init`, as their docstrings say
    *("DominantSets", "NoisyOrFactorization", "ConstrainedModelClustering", "ConditionalEnsemble"),
    "InformationBottleneck-algorithm=agglomerative",
}
NUMBERED = {"SelfOrganizingClustering"}  # clusters have neighbours, so that their numbers mean something
FITTED_COST = {"NoisyOrFactorization", "ConditionalEnsemble"}  # of fitted roles or clusterings: others need no fit
UNIT_POWER = {  # unit(c X) = c^power unit(X); elsewhere -1 for similarities, -2 for vectors with squared distances
    "NormalizedCut": 0,  # a ratio of similarities
    "DominantSets": 0,  # steps are no temperatures
    "LeastAngleClustering": 0,  # the length of a vector does not count
    "NoisyOrFactorization": 0,  # the potential is a log likelihood
    "ConditionalEnsemble": 0,  # no temperatures
    "InformationBottleneck-features=gaussian": -2,
} | dict.fromkeys(COUNTED, 0)  # of counts only their ratios


def estimators():
    """Names of the concrete estimators that `gc.__all__` gives."""
    found = {name: getattr(gc, name) for name in gc.__all__}
    found = {name: one for name, one in found.items() if inspect.isclass(one) and issubclass(one, gc.ClusteringModel)}
    return {name: one for name, one in found.items() if name not in ABSTRACT}


def every_second(n_objects):
    """Known structure that has nothing to do with the groups."""
    return np.arange(n_objects) % 2


class Informed:
    """A model that has to be told something of the objects, told of every second one where a test says nothing."""

    def _told(self, X, per_object):
        shape = getattr(X, "shape", None) or np.shape(X)
        return {"known": every_second(shape[0] if shape else 0)} | per_object

    def anneal(self, X, betas=None, init=None, **per_object):
        return super().anneal(X, betas, init, **self._told(X, per_object))

    def cost(self, labels, X, **per_object):
        return super().cost(labels, X, **self._told(X, per_object))

    def unit(self, X, **per_object):
        return super().unit(X, **self._told(X, per_object))

    def potentials(self, X):
        method = super().potentials
        return method(X, **self._told(X, {})) if "known" in inspect.signature(method).parameters else method(X)

    def predict(self, X):
        """Told nothing: what is told by place would not stay with objects in another order."""
        return super().potentials(X).argmin(axis=1)


@cache
def informed(cls):
    """The class under its own name, made an `Informed` one if it asks for known structure."""
    if "known" in inspect.signature(cls._anneal).parameters:
        cls = type(cls.__name__, (Informed, cls), {"__module__": __name__})
        globals()[cls.__name__] = cls  # where pickle looks for it
    return cls


def quick(cls, options):
    """An estimator of three clusters, in as few runs as it can do."""
    model = informed(cls)(**options)
    own = {SIZE.get(cls.__name__, "n_clusters"): 3, "n_init": 1, "random_state": 0}
    return model.set_params(**{key: value for key, value in own.items() if key in model.get_params()})


MODELS = {
    "-".join([name, *(f"{key}={value}" for key, value in options.items() if len(ways) > 1)]): quick(cls, options)
    for name, cls in estimators().items()
    for ways in [OPTIONS.get(name, [{}])]
    for options in ways
}
every_model = pytest.mark.parametrize("name", MODELS)


def data(name):
    model = MODELS[name]
    return DATA.get(
        name, DATA.get(type(model).__name__, SIMILARITIES if get_tags(model).input_tags.pairwise else VECTORS)
    )


def kind(name):
    return type(MODELS[name]).__name__


@pytest.fixture(scope="module")
def fitted():
    return {name: clone(model).fit(data(name)) for name, model in MODELS.items()}


def test_no_estimator_is_forgotten():
    for room in pkgutil.iter_modules(gencap.models.__path__):
        importlib.import_module(f"gencap.models.{room.name}")
    waiting, found = [gc.ClusteringModel], set()
    while waiting:
        cls = waiting.pop()
        found |= {cls.__name__} if cls.__module__.startswith("gencap.") and not cls.__name__.startswith("_") else set()
        waiting += cls.__subclasses__()
    assert found - ABSTRACT == set(estimators()) and len(MODELS) >= len(estimators()) > 8
    tables = {*OPTIONS, *DATA, *SIZE, *NO_START, *NUMBERED, *FITTED_COST, *UNIT_POWER}
    assert tables <= found | set(MODELS)


@every_model
def test_what_a_fit_leaves(name, fitted):
    fit, X = fitted[name], data(name)
    run = fit.trajectory_
    assert isinstance(run, Trajectory) and run.n_objects == N_OBJECTS and fit.labels_.shape == (N_OBJECTS,)
    np.testing.assert_array_equal(fit.labels_, run.labels(-1))
    assert fit.n_iter_ == run.n_iter > 0 and isinstance(fit.n_iter_, int)
    assert fit.n_features_in_ == X.shape[1] and not hasattr(fit, "feature_names_in_")
    assert run.converged.shape == (run.n_steps,) and run.converged.dtype == bool
    assert run.capacity_entropy == fit.capacity_entropy in ("final", "same")
    assert (np.diff(run.betas) > 0).all() and run.probabilities.shape == (run.n_steps, N_OBJECTS, run.n_clusters)
    assert len(set(zip(fit.labels_, GROUP, strict=True))) == 3, "the planted groups are the clusters"


@every_model
def test_names_of_columns_and_objects_are_kept(name):
    X = data(name)
    rows = [f"object {i}" for i in range(N_OBJECTS)]
    columns = rows if X.shape[1] == N_OBJECTS else [f"feature {j}" for j in range(X.shape[1])]
    fit = clone(MODELS[name]).fit(pd.DataFrame(X, rows, columns))
    assert fit.feature_names_in_.tolist() == columns and fit.n_features_in_ == len(columns)
    assert fit.trajectory_.objects.tolist() == rows
    fit = clone(MODELS[name]).fit(pd.DataFrame(X))
    assert not hasattr(fit, "feature_names_in_"), "numbers are no names"


@every_model
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_anneal_changes_nothing_of_the_callers(name, dtype, fitted):
    X = np.ascontiguousarray(data(name), dtype)
    kept, params, state = X.copy(), MODELS[name].get_params(), GLOBAL_STATE()[1].copy()
    X.flags.writeable = False  # an attempt to write raises
    model = clone(MODELS[name])
    before = dict(vars(model))
    run = model.anneal(X)
    assert vars(model) == before and model.get_params() == params
    np.testing.assert_array_equal(X, kept)
    np.testing.assert_array_equal(GLOBAL_STATE()[1], state)
    if dtype == np.float64:
        np.testing.assert_array_equal(run.probabilities, fitted[name].trajectory_.probabilities)
    old = dict(vars(fitted[name]))
    fitted[name].anneal(X, betas=run.betas[-2:])
    assert vars(fitted[name]) == old, "a fitted model keeps its fit"


@every_model
def test_cost_is_one_of_partitions(name, fitted):
    """It needs no fit, does not see how clusters are called, and an empty cluster costs nothing."""
    fit, X = fitted[name], data(name)
    assert fit.cost(fit.labels_, X) == pytest.approx(fit.trajectory_.costs[-1], rel=1e-4)
    if kind(name) in FITTED_COST:
        return
    model, rng = clone(MODELS[name]), np.random.default_rng(1)
    drawn = rng.permutation(GROUP)
    for labels in (GROUP, drawn, np.zeros(N_OBJECTS, int)):
        value = model.cost(labels, X)
        if kind(name) not in NUMBERED:
            assert np.isfinite(value) and model.cost(np.array([2, 0, 1])[labels], X) == pytest.approx(value, rel=1e-9)
            assert clone(model).set_params(n_clusters=6).cost(5 - labels, X) == pytest.approx(value, rel=1e-9, abs=1e-9)
        order = rng.permutation(N_OBJECTS)
        there = X[order][:, order] if X.shape[1] == N_OBJECTS else X[order]
        moved = model.cost(labels[order], there, known=every_second(N_OBJECTS)[order])
        assert moved == pytest.approx(value, rel=1e-9, abs=1e-9)
    assert model.cost(GROUP, X) < model.cost(drawn, X)
    for wrong in (GROUP[:-1], GROUP + 1, GROUP - 1, GROUP + 0.5):
        with pytest.raises(ValueError, match="labels"):
            model.cost(wrong, X)


@every_model
def test_potentials_tell_where_a_new_object_belongs(name, fitted):
    """What an object would cost in each cluster: where groups are clear, the fitted ones are sent to their own."""
    fit, X = fitted[name], data(name)
    h = fit.potentials(X)
    assert h.shape == (N_OBJECTS, fit.trajectory_.n_clusters) and h.dtype == np.float64
    assert np.isfinite(h.min(axis=1)).all() and not np.isnan(h).any()
    np.testing.assert_array_equal(h.argmin(axis=1), fit.labels_)
    np.testing.assert_allclose(fit.potentials(X[:1])[0], h[0], rtol=1e-9)  # one by one as well
    with pytest.raises(NotFittedError):
        clone(fit).potentials(X)
    with pytest.raises(ValueError, match="features"):
        fit.potentials(X[:, :2])
    if hasattr(fit, "predict") and fit.predict(X).ndim == 1:
        np.testing.assert_array_equal(fit.predict(X), h.argmin(axis=1))


@every_model
def test_the_unit_scales_with_the_data(name, fitted):
    X, model = data(name), MODELS[name]
    power = UNIT_POWER.get(name, UNIT_POWER.get(kind(name), -1 if get_tags(model).input_tags.pairwise else -2))
    unit = model.unit(X)
    assert unit > 0 and unit == pytest.approx(fitted[name].trajectory_.unit)
    if kind(name) in ONLY_BITS:
        return
    assert model.unit(4 * X) == pytest.approx(4.0**power * unit, rel=1e-5)


@every_model
def test_the_coldest_labels_are_those_of_the_fit(name, fitted):
    fit = fitted[name]
    before = dict(vars(fit))
    np.testing.assert_array_equal(fit.coldest_labels(data(name)), fit.labels_)
    assert vars(fit) == before


@every_model
def test_tags_say_what_is_accepted(name):
    model, X = clone(MODELS[name]), data(name)
    tags = get_tags(model).input_tags
    wide = np.hstack([X, X[:, :1]])
    if tags.pairwise:
        with pytest.raises(ValueError, match="square"):
            model.anneal(wide)
    else:
        model.anneal(wide)
    if tags.sparse:
        sparse = model.anneal(scipy.sparse.csr_array(X))
        assert sparse.costs[-1] == pytest.approx(model.anneal(X).costs[-1], rel=1e-4)
    else:
        for call in (model.anneal, model.fit):
            with pytest.raises((TypeError, ValueError), match="[Ss]parse"):
                call(scipy.sparse.csr_array(X))
    negative = -data(name)
    if tags.positive_only:
        with pytest.raises(ValueError, match="Negative values|only 0 and 1"):
            model.anneal(negative)
    else:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", gc.RestartWarning)
            assert model.anneal(negative).n_objects == N_OBJECTS


@every_model
def test_a_model_survives_clone_pickle_and_joblib(name, fitted, tmp_path):
    fit, X = fitted[name], data(name)
    assert not hasattr(clone(fit), "labels_") and clone(fit).get_params() == fit.get_params()
    joblib.dump(fit, tmp_path / "model")
    for again in (pickle.loads(pickle.dumps(fit)), joblib.load(tmp_path / "model")):
        np.testing.assert_array_equal(again.labels_, fit.labels_)
        np.testing.assert_array_equal(again.trajectory_.probabilities, fit.trajectory_.probabilities)
        np.testing.assert_array_equal(again.potentials(X), fit.potentials(X))


@every_model
def test_a_run_starts_from_another(name, fitted):
    model, run = clone(MODELS[name]), fitted[name].trajectory_
    if {name, kind(name)} & NO_START:
        with pytest.raises(ValueError, match="init must be None"):
            model.anneal(data(name), init=run)
        return
    start = run if run.centroids is not None else Trajectory(run.betas, run.probabilities, run.potentials, run.costs)
    again = model.anneal(data(name), betas=run.betas, init=start)
    np.testing.assert_array_equal(again.labels(), run.labels())
    with pytest.raises(ValueError, match="init"):
        model.anneal(data(name), betas=run.betas[1:], init=start)
    with pytest.raises(TypeError, match="init"):
        model.anneal(data(name), betas=run.betas, init=run.probabilities)


@every_model
def test_betas_ascend(name, fitted):
    model, betas = clone(MODELS[name]), fitted[name].trajectory_.betas[-3:]
    np.testing.assert_array_equal(model.anneal(data(name), betas=betas).betas, betas)
    more = np.append(betas, betas[-1] + 1)
    for wrong in (more[::-1], more[[0, 0, 1]], [], -betas, np.append(betas, np.inf), [betas]):
        with pytest.raises(ValueError, match="betas"):
            model.anneal(data(name), betas=wrong)


@every_model
def test_arrays_per_object_are_checked(name):
    model, X = clone(MODELS[name]), data(name)
    for call in (model.fit, model.anneal, model.coldest_labels):
        with pytest.raises(ValueError, match=f"known has 3 entries, accepted is one for each of the {N_OBJECTS}"):
            call(X, known=[0, 1, 2])
        with pytest.raises(ValueError, match="known has no entries"):
            call(X, known=1)
        with pytest.raises(TypeError, match="nonsense"):
            call(X, nonsense=np.zeros(N_OBJECTS))
    assert not hasattr(model, "labels_")


WRONG_DATA = {
    "a missing value": lambda X: np.where(np.arange(X.size).reshape(X.shape) == 1, np.nan, X),
    "infinity": lambda X: np.where(np.arange(X.size).reshape(X.shape) == 1, np.inf, X),
    "one dimension": lambda X: X[0],
    "three dimensions": lambda X: X[None],
    "no object": lambda X: X[:0, :0],
    "complex": lambda X: X + 1j,
    "masked": lambda X: np.ma.masked_less(X, np.median(X) + 1e-9),
    "dates": lambda X: np.zeros(X.shape, "datetime64[s]"),
    "words": lambda X: np.full(X.shape, "word"),
    "nothing": lambda X: None,
}


@every_model
@pytest.mark.parametrize("wrong", WRONG_DATA)
def test_wrong_data_are_refused_by_every_way_in(name, wrong):
    model, X = clone(MODELS[name]), WRONG_DATA[wrong](data(name))
    calls = [model.fit, model.anneal, model.unit, model.coldest_labels]
    calls += [] if kind(name) in FITTED_COST else [lambda X: model.cost(GROUP, X)]
    for call in calls:
        with pytest.raises((ValueError, TypeError), match="X|array|complex|Complex|NaN|inf|data|convert"):
            call(X)
    assert not hasattr(model, "labels_") and not hasattr(model, "n_features_in_")


@every_model
def test_the_same_seed_gives_the_same_run(name, fitted):
    run = fitted[name].trajectory_
    again = clone(MODELS[name]).fit(data(name)).trajectory_
    for part in ("betas", "probabilities", "costs", "converged"):
        np.testing.assert_array_equal(getattr(again, part), getattr(run, part))
    assert again.n_iter == run.n_iter
    if "random_state" in MODELS[name].get_params():
        draws = [
            clone(MODELS[name]).set_params(random_state=np.random.default_rng(5)).anneal(data(name)).probabilities
            for _ in range(2)
        ]
        np.testing.assert_array_equal(*draws)


@every_model
def test_one_cluster_holds_everything(name):
    model, X = clone(MODELS[name]).set_params(**{SIZE.get(kind(name), "n_clusters"): 1}), data(name)
    fit = model.fit(X)
    assert np.isfinite(fit.trajectory_.costs).all() and fit.potentials(X).shape[0] == N_OBJECTS
    if kind(name) not in SIZE:
        assert fit.labels_.tolist() == [0] * N_OBJECTS and fit.trajectory_.n_clusters == 1
        assert gc.generalization_capacity(fit.trajectory_, fit.trajectory_).value == 0


@every_model
def test_a_wrong_number_of_clusters_is_named(name):
    size = SIZE.get(kind(name), "n_clusters")
    for wrong, error in ((0, ValueError), (N_OBJECTS + 1, ValueError), (2.5, TypeError), (True, TypeError)):
        for call in ("fit", "anneal"):
            with pytest.raises(error, match=f"{size}.*{wrong}"):
                getattr(clone(MODELS[name]).set_params(**{size: wrong}), call)(data(name))


# scikit-learn's own checks ------------------------------------------------------------------------------------------

NOT_SQUARE = {
    "check_clustering": "gives vectors (50, 2) where similarities are meant",
    "check_estimators_empty_data_messages": "12 rows without columns are refused as not square, with other words",
    "check_estimators_nan_inf": "gives 10 rows of 3 numbers where similarities are meant; refused as not square",
}
NO_DEGREE = "similarities of its data leave objects without a positive degree, which have no normalised cut"
EXPECTED = {
    "LeastAngleClustering": {
        "check_estimators_dtypes": "has vectors 0 where numbers become integers",
        "check_clustering": "has centred groups, of which two in one cluster cost less",
    },
    "NormalizedCut": dict.fromkeys(
        """check_estimator_sparse_tag check_estimator_sparse_array check_estimator_sparse_matrix check_fit2d_1sample
        check_fit2d_1feature""".split(),
        NO_DEGREE,
    ),
}


EMPTY_ROWS = dict.fromkeys(
    """check_estimators_dtypes check_estimator_sparse_tag check_estimator_sparse_array check_estimator_sparse_matrix
    check_fit2d_1feature""".split(),
    "has rows without a count",
) | {"check_clustering": "has negative counts"}


class Thresholded:
    """A model of data that are made Boolean: scikit-learn's checks know no Boolean data."""

    _positive_only = False

    def _checked(self, name, X, reset=False):
        return (gc.ClusteringModel._checked(self, name, X, reset) > 1).astype(float)


class ThresholdedRoles(Thresholded, gc.NoisyOrFactorization):
    pass


class ThresholdedMixture(Thresholded, informed(gc.ConstrainedModelClustering)):
    pass


BOOLEAN = dict.fromkeys(
    """check_clustering check_dict_unchanged check_dont_overwrite_parameters check_dtype_object
    check_estimators_dtypes check_estimators_fit_returns_self check_estimators_nan_inf
    check_estimators_overwrite_params check_estimators_pickle check_f_contiguous_array_estimator check_fit2d_1feature
    check_fit2d_1sample check_fit2d_predict1d check_fit_check_is_fitted check_fit_idempotent check_fit_score_takes_y
    check_methods_sample_order_invariance check_methods_subset_invariance check_n_features_in
    check_n_features_in_after_fitting check_pipeline_consistency check_positive_only_tag_during_fit
    check_readonly_memmap_input""".split(),
    "gives real numbers where Boolean ones are meant; see Thresholded",
)
CHECKED = MODELS | {
    "ThresholdedRoles": ThresholdedRoles(n_refinements=1, max_roles=1, random_state=0),
    "ThresholdedMixture": ThresholdedMixture(random_state=0),
}


def expected_failures(model):
    """Names of checks that fail, and why."""
    if type(model).__name__ in ONLY_BITS:
        return BOOLEAN
    if getattr(model, "features", "") == "multinomial":
        return EMPTY_ROWS
    return (NOT_SQUARE if get_tags(model).input_tags.pairwise else {}) | EXPECTED.get(type(model).__name__, {})


@pytest.mark.parametrize("name", CHECKED)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning", "ignore::gencap.RestartWarning")
def test_scikit_learn_accepts_it_but_for_the_failures_that_are_expected(name):
    """Every expected failure must be one."""
    model = clone(CHECKED[name])
    model.set_params(**{size: 2 for size in ("n_clusters", "n_components") if hasattr(model, size)})  # few objects
    expected = expected_failures(model)
    done = check_estimator(model, expected_failed_checks=expected, on_fail=None, on_skip=None)
    failed = {check["check_name"]: repr(check["exception"]) for check in done if check["status"] == "failed"}
    assert failed == {}
    passed = {check["check_name"] for check in done if check["status"] == "passed"}
    assert passed & set(expected) == set(), "mended: take these out of the table"
    assert len(passed) > 15


def test_a_transformer_names_its_columns():
    X = pd.DataFrame(VECTORS, columns=["a", "b", "c"])
    for name, model in MODELS.items():
        if hasattr(model, "transform"):
            table = clone(model).set_output(transform="pandas").fit_transform(X)
            prefix = kind(name).lower()
            assert table.columns.tolist() == [f"{prefix}{k}" for k in range(3)] and table.index.equals(X.index)


def test_a_step_that_does_not_settle_is_told(monkeypatch):
    """At the transition itself mean field has no end of sweeps; the trajectory and the warning say so."""
    monkeypatch.setattr("gencap.models.similarity.HEATING_SWEEPS", 1)
    with pytest.warns(ConvergenceWarning, match="did not settle at"):
        run = clone(MODELS["CorrelationClustering"]).anneal(SIMILARITIES)
    assert not run.converged.all()
