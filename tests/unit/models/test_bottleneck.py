"""The bottlenecks against sums over joint distributions, finite differences and all labelings of a few objects."""

import itertools
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import assignments
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

import gencap as gc
from gencap.kernels import bottleneck as kernels
from gencap.models.bottleneck import _State
from gencap.models.features import FAMILIES

CCIB, SIDE, IB = gc.ConditionalBottleneck, gc.SideInformationBottleneck, gc.InformationBottleneck


def plane(n, n_draws, n_clusters, rng):
    """Counts of two crossed labelings (document 001, section 8.3.1), and the labelings."""
    a, b = rng.integers(n_clusters, size=(2, n))
    theta = np.linspace(0, 1, n_clusters)
    p = np.column_stack([theta[a] / 2, theta[b] / 2, 1 - (theta[a] + theta[b]) / 2])
    return rng.multinomial(n_draws, p), a, b


def bits(n, n_clusters, features, rng, flip=0.1):
    """Bits in complementary blocks, and the labelings."""
    labels = rng.integers(n_clusters, size=(len(features), n))
    blocks = [np.arange(m) * n_clusters // m == own[:, None] for m, own in zip(features, labels, strict=True)]
    return (np.hstack(blocks) ^ (rng.random((n, sum(features))) < flip)).astype(float), labels


def small(family, rng, n=12, m=3):
    if family == "multinomial":
        return rng.integers(1, 9, (n, m)).astype(float)
    return rng.standard_normal((n, m)) if family == "gaussian" else (rng.random((n, m)) < 0.5).astype(float)


def state_of(model, X, known=None):
    prepared, F = model._prepared(X)
    return prepared._state(F, known, None)


def information(joint):
    """I in nats of a table of probabilities."""
    joint = joint / joint.sum()
    apart = np.outer(joint.sum(axis=1), joint.sum(axis=0))
    held = joint > 0
    return float((joint[held] * np.log(joint[held] / apart[held])).sum())


def objective(P, X, known, family, weights):
    """a I(C;Y|Z) + lambda I(C;Y) - gamma I(C;Z) for memberships P, by sums over tables; not for numbers."""
    if family == "multinomial":
        tables = [X / X.sum(axis=1, keepdims=True)]
    else:  # one binary variable for each feature, and their informations added
        tables = [np.column_stack([x, 1 - x]) for x in X.T]
    total = 0.0
    for F in tables:
        total += weights[1] * information(P.T @ F)
        for z in np.unique(known):
            rows = known == z
            total += weights[0] * rows.mean() * information(P[rows].T @ F[rows])
    return total - weights[2] * information(P.T @ (known[:, None] == np.unique(known)))


CASES = [
    (IB(3, random_state=0), (0, 1, 0)),
    (CCIB(3, 0.4, random_state=0), (1, 0.4, 0)),
    (CCIB(3, 0.0, random_state=0), (1, 0, 0)),
    (SIDE(3, 0.7, random_state=0), (0, 1, 0.7)),
]
every_case = pytest.mark.parametrize(("model", "weights"), CASES)


@every_case
@pytest.mark.parametrize("family", ["multinomial", "bernoulli"])
def test_cost_is_the_objective_by_tables(model, weights, family):
    rng = np.random.default_rng(3)
    X, known = small(family, rng), rng.integers(2, size=12)
    model = clone(model).set_params(features=family)
    passed = {} if isinstance(model, IB) else {"known": known}
    for labels in rng.integers(3, size=(5, 12)):
        expected = -12 * objective(np.eye(3)[labels], X, known, family, weights)
        assert model.cost(labels, X, **passed) == pytest.approx(expected, abs=1e-10)
        names = np.array(["left", "right"])[known]
        if passed:
            for given in (names, pd.Series(names), names.astype(object)):
                assert model.cost(labels, X, known=given) == pytest.approx(expected, abs=1e-10)


def test_cost_of_numbers_is_that_of_k_means():
    rng = np.random.default_rng(0)
    X, known = rng.standard_normal((12, 2)) + 5, rng.integers(2, size=12)

    def scatter(rows):
        return ((X[rows] - X[rows].mean(axis=0)) ** 2).sum() if rows.any() else 0.0

    labels = rng.integers(3, size=12)
    by_cluster = sum(scatter(labels == k) for k in range(3)) - scatter(labels >= 0)
    by_group = sum(scatter((labels == k) & (known == z)) for k in range(3) for z in (0, 1))
    by_group -= sum(scatter(known == z) for z in (0, 1))
    found = CCIB(3, 0.4, "gaussian", variance=2.0).cost(labels, X, known=known)
    assert found == pytest.approx((0.4 * by_cluster + by_group) / (2 * 2.0))


@every_case
@pytest.mark.parametrize("family", ["multinomial", "bernoulli"])
def test_a_fixed_point_is_stationary(model, weights, family):
    """The slope of the objective minus I(C;X)/beta along p(c|x) is the same for all clusters of an object."""
    rng = np.random.default_rng(5)
    X, known = small(family, rng, 10), rng.integers(2, size=10)
    model = clone(model).set_params(features=family)
    passed = {} if isinstance(model, IB) else {"known": known}
    beta = 1.5 * model.unit(X, **passed)
    state = state_of(model, X, passed.get("known"))
    P = rng.dirichlet(np.ones(3), 10)
    for _ in range(500):
        P, *_ = state.settle(P, beta)
    P = P[state.back]

    def lagrangian(P):
        held = P * np.log(P / P.mean(axis=0))
        return objective(P, X, known, family, weights) - held.sum() / len(P) / beta

    for i in range(10):
        slopes = []
        for k in np.flatnonzero(P[i] > 1e-4):  # the others are at the border
            up, down = P.copy(), P.copy()
            up[i, k] += 1e-6
            down[i, k] -= 1e-6
            slopes.append((lagrangian(up) - lagrangian(down)) / 2e-6)
        assert np.ptp(slopes) < 3e-3, (slopes, P[i])


@pytest.mark.parametrize("coordination", [0.0, 0.5])
def test_no_update_lowers_the_objective(coordination):
    """001 section 6.1.4, with the signs of the derivation; what is printed as 6.2.10 would fail here."""
    rng, lowered = np.random.default_rng(1), 0
    for _ in range(30):
        X, known = small("multinomial", rng, 10, 4), rng.integers(2, size=10)
        state = state_of(CCIB(3, coordination), X, known)
        P, beta, values = rng.dirichlet(np.ones(3), 10), rng.uniform(0.5, 20), []
        for _ in range(15):
            Q = P[state.back]
            held = (Q * np.log(np.maximum(Q, 1e-300) / np.maximum(Q.mean(axis=0), 1e-300))).sum() / 10
            values.append(objective(Q, X, known, "multinomial", (1, coordination, 0)) - held / beta)
            h = state.potentials(P) - np.log(P.mean(axis=0)) / beta
            P = gc.trajectory.softmax(-beta * h)
        lowered += (np.diff(values) < -1e-9).sum()
    assert lowered == 0


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("kind", ["plain", "conditional", "side", "table"])
def test_the_unit_is_where_equal_clusters_lose_their_stability(family, kind):
    rng = np.random.default_rng(2)
    X, known = small(family, rng, 40, 5), rng.integers(2, size=40)
    model = {"plain": IB(2, family), "side": SIDE(2, 0.1, features=family)}.get(kind, CCIB(2, 0.3, family))
    if kind == "table":
        known = np.column_stack([known, rng.standard_normal(40)])
    known = None if kind == "plain" else known
    state, rest = state_of(model, X, known), []
    unit = state.unit()
    for factor in (0.93, 1.07):
        P, h = 0.5 + 1e-4 * rng.standard_normal((40, 1)) * np.array([1, -1]), 0.0
        slow = 0.9 if kind == "side" else 0.0  # what is known would make it jump long before
        for _ in range(4000 if slow else 600):
            h = slow * h + (1 - slow) * (state.potentials(P) - np.log(P.mean(axis=0)) / (factor * unit))
            P = gc.trajectory.softmax(-factor * unit * h)
        rest.append(np.abs(P - P.mean(axis=0)).max())
    assert rest[0] < 1e-6 and rest[1] > 1e-2, rest


@every_case
@pytest.mark.parametrize("family", FAMILIES)
def test_the_sequential_end_is_a_local_optimum_and_the_best_of_several_the_global_one(model, weights, family):
    rng = np.random.default_rng(7)
    X, known = small(family, rng, 7), rng.integers(2, size=7)
    model = clone(model).set_params(features=family, algorithm="sequential", n_init=1)
    passed = {} if isinstance(model, IB) else {"known": known}
    costs = [model.cost(labels, X, **passed) for labels in assignments(7, 3)]
    labels = model.fit(X, **passed).labels_
    best = model.cost(labels, X, **passed)
    assert model.trajectory_.costs[-1] == pytest.approx(best) and model.capacity_entropy == "same"
    for i, k in itertools.product(range(7), range(3)):
        moved = labels.copy()
        moved[i] = k
        assert model.cost(moved, X, **passed) >= best - 1e-9
    several = clone(model).set_params(n_init=30).fit(X, **passed)
    assert several.trajectory_.costs[-1] == pytest.approx(min(costs), abs=1e-9)


def test_the_quick_logarithm_is_right_in_its_last_digits():
    x = np.concatenate([np.geomspace(1e-12, 1e9, 20001), np.linspace(0.7, 1.5, 20001), 2.0 ** np.arange(-39, 30)])
    expected = np.log(x)
    assert (np.abs([kernels._log(value) for value in x] - expected) <= 4.5e-16 * np.abs(expected)).all()


def test_asked_for_two_passes_the_sequential_algorithm_makes_two():
    X = small("multinomial", np.random.default_rng(8), 40, 6)
    model = IB(4, algorithm="sequential", random_state=0)
    whole, two = model.anneal(X), model.anneal(X, betas=[2])
    assert len(whole.betas) > two.n_iter == 2
    np.testing.assert_array_equal(two.labels(), whole.labels(1))


@every_case
@pytest.mark.parametrize("family", FAMILIES)
def test_mergers_are_the_cheapest_one_by_one(model, weights, family):
    rng = np.random.default_rng(4)
    X, known = small(family, rng, 9, 8), rng.integers(2, size=9)
    whole = clone(model).set_params(features=family, n_clusters=9)
    model = clone(model).set_params(features=family, algorithm="agglomerative", n_clusters=3)
    passed = {} if isinstance(model, IB) else {"known": known}
    labels = np.arange(9)
    losses = []
    while len(np.unique(labels)) > 3:
        now, ways = whole.cost(labels, X, **passed), []
        for a, b in itertools.combinations(np.unique(labels), 2):
            merged = np.where(labels == b, a, labels)
            ways.append((whole.cost(merged, X, **passed) - now, a, b))
        loss, a, b = min(ways)
        losses.append(loss)
        labels = np.where(labels == b, a, labels)
    model.fit(X, **passed)
    np.testing.assert_allclose(model.merger_losses_, losses, atol=1e-9)
    assert gc.metrics.matched_precision(model.labels_, np.unique(labels, return_inverse=True)[1]) == 1


@pytest.mark.parametrize("family", ["multinomial", "bernoulli"])
@pytest.mark.parametrize("algorithm", ["annealed", "iterative", "sequential", "agglomerative"])
def test_compressed_rows_give_the_same(family, algorithm):
    rng = np.random.default_rng(8)
    X, known = small(family, rng, 18, 6), rng.integers(3, size=18)
    X[:, 1:] *= rng.random((18, 5)) < 0.6
    for model in (IB(2), SIDE(2, 0.2), CCIB(2)):
        model.set_params(features=family, algorithm=algorithm, random_state=1)
        passed = {} if isinstance(model, IB) else {"known": known}
        dense = model.fit(X, **passed)
        h = dense.potentials(X)
        sparse = clone(model).fit(scipy.sparse.csr_array(X), **passed)
        np.testing.assert_array_equal(sparse.labels_, dense.labels_)
        np.testing.assert_allclose(sparse.potentials(scipy.sparse.csr_matrix(X)), h, atol=1e-8)
        assert sparse.cost(dense.labels_, scipy.sparse.coo_array(X), **passed) == pytest.approx(
            dense.trajectory_.costs[-1]
        )


def test_the_second_labeling_is_found_and_the_first_where_theory_says_so():
    """lambda m_A < (1 + lambda) m_B: with .3 and four bits the border is at 17."""
    for m_known, column in ((10, 1), (100, 0)):
        X, labels = bits(200, 2, (m_known, 4), np.random.default_rng(0))
        for algorithm in ("annealed", "sequential"):
            model = CCIB(2, 0.3, "bernoulli", algorithm, n_init=5, random_state=0).fit(X, known=labels[0])
            assert gc.metrics.matched_precision(model.labels_, labels[column]) > 0.93
    counts, known, other = plane(200, 400, 2, np.random.default_rng(1))
    assert gc.metrics.matched_precision(CCIB(2, 0.5, random_state=0).fit(counts, known=known).labels_, other) == 1


def test_without_coordination_the_groups_have_nothing_to_do_with_each_other():
    """Permuting the clusters in one known group costs nothing (001 proposition 1)."""
    X, labels = bits(60, 3, (6, 6), np.random.default_rng(0))
    swapped = np.where(labels[0] == 1, (labels[1] + 1) % 3, labels[1])
    cost = [
        CCIB(3, weight, "bernoulli").cost(each, X, known=labels[0])
        for weight in (0, 0.3)
        for each in (labels[1], swapped)
    ]
    assert cost[0] == pytest.approx(cost[1]) and cost[2] < cost[3] - 1


def test_a_jump_is_damped_from_where_its_temperature_began():
    """What the jumps left, all objects in one cluster, was kept as a fixed point."""
    rng = np.random.default_rng([0, 25, 0])
    one = gc.datasets.crossed_bits(1000, 2, features=(8, 6, 4, 3), flip=0.2, random_state=rng)
    known = one.labels[:, :3] @ [1, 2, 4]
    model = gc.SideInformationBottleneck(2, 5.0, features="bernoulli", random_state=0)
    run = model.anneal(one.data, model.unit(one.data, known=known) * np.geomspace(2, 100, 12), known=known)
    assert run.converged.all()
    assert run.costs[-1] < model.cost(one.labels[:, 3], one.data, known=known)


def test_one_hot_tables_are_like_groups():
    X, labels = bits(120, 2, (8, 6), np.random.default_rng(3))
    groups = CCIB(2, 0.3, "bernoulli", random_state=0).fit(X, known=labels[0])
    table = CCIB(2, 0.3, "bernoulli", random_state=0).fit(X, known=np.eye(2)[labels[0]])
    assert gc.metrics.matched_precision(table.labels_, groups.labels_) > 0.98
    assert table.trajectory_.unit == pytest.approx(groups.trajectory_.unit, rel=0.05)
    new = table.potentials(X, known=np.eye(2)[labels[0]])
    assert (new.argmin(axis=1) == table.labels_).mean() > 0.97


def test_a_table_of_numbers_explains_what_depends_on_it():
    """Numbers that follow a line in z carry two groups of different offset; k-means finds the ends of the line."""
    rng = np.random.default_rng(1)
    z, group = rng.uniform(-1, 1, (200, 1)), rng.integers(2, size=200)
    Y = z * [3.0, -2.0, 1.0] + group[:, None] * [1.0, 1.0, -1.0] + 0.3 * rng.standard_normal((200, 3))
    known = CCIB(2, 0.05, "gaussian", variance=0.1, random_state=0).fit(Y, known=z)
    nothing = IB(2, "gaussian", variance=0.1, random_state=0).fit(Y)
    precision = gc.metrics.matched_precision
    assert precision(known.labels_, group) > 0.98 and precision(nothing.labels_, group) < 0.65
    assert known.trajectory_.costs[-1] <= known.cost(group, Y, known=z) + 1e-6


def test_labelled_objects_stay_where_they_are():
    X, labels = bits(100, 2, (10, 4), np.random.default_rng(2))
    fixed = np.where(np.arange(100) < 20, labels[1], -1)
    for model in (CCIB(2), CCIB(2, algorithm="sequential"), IB(2), gc.MixtureModel(2)):
        model.set_params(features="bernoulli", random_state=0)
        passed = {"known": labels[0]} if isinstance(model, CCIB) else {}
        fit = model.fit(X, fixed=fixed, **passed)
        np.testing.assert_array_equal(fit.labels_[:20], labels[1][:20])
        assert (fit.trajectory_.probabilities[:, range(20), labels[1][:20]] > 1 - 1e-6).all()


def test_an_update_that_jumps_is_seen_and_slowed_down():
    """Gamma times beta is large: the plain update has period two, and gives back what is known."""
    X, labels = bits(300, 2, (8, 4), np.random.default_rng(0), 0.3)
    with pytest.warns(ConvergenceWarning, match="did not settle"):
        plain = SIDE(2, 20.0, 0.0, "bernoulli", random_state=0).fit(X, known=labels[0])
    assert not plain.trajectory_.converged.all()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        damped = SIDE(2, 20.0, "auto", "bernoulli", random_state=0).fit(X, known=labels[0])
    assert damped.trajectory_.converged.mean() > plain.trajectory_.converged.mean()
    redundant = [information(np.eye(2)[fit.labels_].T @ np.eye(2)[labels[0]]) for fit in (plain, damped)]
    assert redundant[1] < 0.05


def test_a_mixture_is_the_expectation_maximisation_of_its_definition():
    rng = np.random.default_rng(6)
    for family in ("bernoulli", "multinomial"):
        X = small(family, rng, 50, 5)
        model = gc.MixtureModel(3, family, smoothing=0.0, random_state=0).fit(X)
        P = model.trajectory_.probabilities[0]
        for _ in range(5000):  # from where it ended, in the plainest form
            if family == "bernoulli":
                p = np.clip((P.T @ X) / P.sum(axis=0)[:, None], 1e-12, 1 - 1e-12)
                logs = X @ np.log(p).T + (1 - X) @ np.log1p(-p).T
            else:
                q = P.T @ X
                logs = X @ np.log(np.maximum(q / q.sum(axis=1, keepdims=True), 1e-300)).T
            P = gc.trajectory.softmax(logs + np.log(P.mean(axis=0)))
        assert np.abs(P - model.trajectory_.probabilities[0]).max() < 0.02
        likely = np.log(np.exp(logs + np.log(P.mean(axis=0))).sum(axis=1)).sum()
        assert model.log_likelihood_ == pytest.approx(likely, abs=1e-2)


def test_with_equal_sums_the_bottleneck_at_their_beta_is_the_mixture():
    X, _, _ = plane(80, 30, 3, np.random.default_rng(9))
    mixture = gc.MixtureModel(3, smoothing=0.0, n_init=5, random_state=0).fit(X)
    run = IB(3, algorithm="iterative", random_state=0).anneal(X, betas=[30.0], init=mixture.trajectory_)
    assert np.abs(run.probabilities[0] - mixture.trajectory_.probabilities[0]).max() < 5e-3


@settings(max_examples=5, deadline=None)
@given(st.permutations(range(3)), st.floats(-50, 50), st.integers(1, 9))
def test_names_offsets_and_lengths_do_not_matter(names, offset, factor):
    rng = np.random.default_rng(0)
    known, X = rng.integers(3, size=30), rng.standard_normal((30, 3))
    run = CCIB(2, features="gaussian", random_state=0).anneal(X, known=known)
    other = CCIB(2, features="gaussian", random_state=0).anneal(X + offset, known=np.array(names)[known] * 10 - 4)
    assert gc.metrics.matched_precision(run.labels(), other.labels()) > 0.96
    assert other.costs[-1] == pytest.approx(run.costs[-1], rel=1e-2)
    counts = small("multinomial", rng, 30, 4)
    run, other = (IB(2, random_state=0).anneal(c * counts) for c in (1, factor))
    np.testing.assert_allclose(run.probabilities, other.probabilities, atol=1e-6)


def test_potentials_of_new_objects():
    X, labels = bits(200, 2, (10, 4), np.random.default_rng(0))
    new, others = bits(50, 2, (10, 4), np.random.default_rng(1))
    model = CCIB(2, 0.3, "bernoulli", random_state=0).fit(X, known=labels[0])
    assert (model.predict(X, labels[0]) == model.labels_).mean() > 0.99
    assert gc.metrics.matched_precision(model.predict(new, others[0]), others[1]) > 0.9
    with pytest.raises(ValueError, match=r"known must hold one of \[0 1\] for each of 50 objects"):
        model.potentials(new, known=others[0] + 1)
    with pytest.raises(ValueError, match="known must hold one of"):
        model.potentials(new, known=others[0][:-1])


def test_a_capacity_counts_the_bits_of_the_second_labeling():
    """Two halves of the bits of both labelings: what the second clustering says in one holds in the other."""
    X, labels = bits(300, 2, (8, 24), np.random.default_rng(0), 0.1)
    halves = X[:, ::2], X[:, 1::2]
    model = CCIB(2, 0.3, "bernoulli", random_state=0)
    found = gc.evaluate(model, halves, per_object={"known": labels[0]})
    assert 0.6 < found.value <= 1.0 and gc.metrics.matched_precision(found.labels, labels[1]) > 0.9


COUNTS = np.arange(1.0, 13).reshape(4, 3)
WRONG = [
    (IB(2, "counts"), {}, "features='counts'"),
    (IB(2, algorithm="fast"), {}, "algorithm='fast'"),
    (IB(2, n_init=0), {}, "n_init=0"),
    (IB(2, "gaussian", variance=0.0), {}, "variance=0"),
    (IB(2, "bernoulli"), {}, "X must hold only 0 and 1, got 2"),
    (CCIB(2, -0.1), {"known": [0, 1, 0, 1]}, "coordination=-0.1"),
    (CCIB(2, np.nan), {"known": [0, 1, 0, 1]}, "coordination=nan"),
    (CCIB(2), {"known": [0, 1, 0]}, "known has 3 entries"),
    (CCIB(2), {"known": np.zeros((4, 2, 2))}, r"known has shape \(4, 2, 2\), accepted is \(4,\) or \(4, d\)"),
    (CCIB(2), {"known": [[np.nan], [0], [1], [2]]}, "known holds NaN"),
    (
        CCIB(2),
        {"known": [np.nan, 0, 1, 0]},
        "known of dtype float64 holds other values, accepted are integers or names",
    ),
    (
        CCIB(2),
        {"known": np.array([None, 1, "a", 2])},
        "known of dtype object holds other values, accepted are integers or names",
    ),
    (CCIB(2, algorithm="sequential"), {"known": np.eye(4)}, "known is a table of numbers; accepted by algorithm='seq"),
    (SIDE(2, -1.0), {"known": [0, 1, 0, 1]}, "gamma=-1"),
    (SIDE(2, 1.0, 1.0), {"known": [0, 1, 0, 1]}, "damping=1.0"),
    (SIDE(2), {"known": np.eye(4)}, "accepted by SideInformationBottleneck"),
    (IB(2), {"fixed": [0, 1, 2, -1]}, "fixed holds values"),
    (IB(2), {"fixed": [0.5, 1, -1, -1]}, "fixed must be integers"),
    (IB(2, algorithm="agglomerative"), {"fixed": [0, 1, -1, -1]}, "fixed must be None"),
    (IB(2, algorithm="sequential"), {"betas": [0.5, 1]}, "betas must be whole step counts"),
    (gc.MixtureModel(2, smoothing=-1), {}, "smoothing=-1"),
    (gc.MixtureModel(2), {"betas": [1.0, 2.0]}, "accepted is the single temperature 1"),
]


@pytest.mark.parametrize(("model", "words", "message"), WRONG)
def test_wrong_arguments_are_named(model, words, message):
    with pytest.raises((ValueError, TypeError), match=message):
        model.anneal(COUNTS, **words)


def test_a_state_keeps_the_order_of_the_caller():
    rng = np.random.default_rng(0)
    X, known = small("multinomial", rng, 9), rng.integers(3, size=9)
    state = state_of(CCIB(2), X, known)
    assert isinstance(state, _State)
    np.testing.assert_array_equal(state.groups[state.back], known)
    P = rng.dirichlet(np.ones(2), 9)
    order = rng.permutation(9)
    other = state_of(CCIB(2), X[order], known[order])
    one, two = state.potentials(P[state.order])[state.back], other.potentials(P[order][other.order])[other.back]
    np.testing.assert_allclose(one[order], two, atol=1e-12)
