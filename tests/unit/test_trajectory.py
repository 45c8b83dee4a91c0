"""Trajectories: grids, hard labels, entropies, merging of coincident clusters, storage."""

import time
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import log_softmax
from scipy.stats import entropy

import gencap as gc
from gencap.trajectory import Trajectory, beta_grid, check_betas, check_start, one_hot


def trajectory(n_steps=3, n_objects=12, n_clusters=4, seed=0, potentials=True):
    rng = np.random.default_rng(seed)
    betas = np.geomspace(0.5, 40, n_steps)
    h = rng.random((n_steps, n_objects, n_clusters)) * 3
    P = np.exp(log_softmax(-betas[:, None, None] * h, axis=2))
    return Trajectory(
        betas, P, h if potentials else None, rng.random(n_steps), rng.random((n_steps, n_clusters, 2)), 0.7
    )


def test_grid_ascends_in_units():
    grid = beta_grid(3.0, 0.8, 20, 25)
    assert grid[0] == pytest.approx(2.4) and grid[-1] == pytest.approx(60) and len(grid) == 25
    np.testing.assert_allclose(grid[1:] / grid[:-1], grid[1] / grid[0])


@pytest.mark.parametrize(
    "bad",
    [
        [],
        [[1.0, 2.0]],
        [0.0, 1.0],
        [-1.0, 1.0],
        [1.0, np.nan],
        [1.0, np.inf],
        [2.0, 1.0],
        [1.0, 1.0],
        3.0,
        "cold",
        [1j],
    ],
)
def test_bad_grids_are_refused(bad):
    with pytest.raises(ValueError, match="betas"):
        check_betas(bad)


def test_readings_of_a_step():
    run = trajectory()
    assert (run.n_steps, run.n_objects, run.n_clusters) == (3, 12, 4)
    for t in (0, 2, -1):
        P = run.probabilities[t]
        assert (run.labels(t) == [max(range(4), key=lambda k: p[k]) for p in P]).all()
        assert run.entropy(t) == pytest.approx(entropy(P.mean(axis=0), base=2), abs=1e-12)


def steps(*rows):
    """A run of one step with these rows, ten objects each."""
    P = np.repeat(np.array(rows, float), 10, axis=0)[None]
    return Trajectory(np.ones(1), P, None, np.zeros(1))


def test_coincident_and_empty_clusters_are_not_counted():
    assert steps([0.25, 0.25, 0.25, 0.25], [0.25, 0.25, 0.25, 0.25]).n_effective(0) == 1
    assert steps([1, 0, 0], [0, 1, 0]).n_effective(0) == 2
    run = steps([0.5, 0.5, 0, 0], [0, 0, 0.3, 0.7])
    assert run.n_effective(0) == 2
    assert list(run.groups(0)) == [0, 0, 1, 1]
    assert list(steps([1, 0, 0], [0, 0, 1]).groups(0)) == [0, -1, 1]
    # Memberships 0.2 apart (total variation) differ, 0.05 apart they do not.
    assert steps([0.6, 0.4], [0.4, 0.6]).n_effective(0) == 2
    assert steps([0.51, 0.49], [0.49, 0.51]).n_effective(0) == 1


def test_groups_link_in_a_chain():
    rows = [[1 + 0.08 * s * k for k in (-1, 0, 1)] for s in (-1, 1)]
    assert steps(*(np.array(r) / sum(r) for r in rows)).n_effective(0) == 1


@given(st.permutations(range(4)), st.permutations(range(12)))
@settings(max_examples=20, deadline=None)
def test_count_and_entropy_do_not_depend_on_names(clusters, objects):
    run = trajectory(1, seed=3)
    other = Trajectory(run.betas, run.probabilities[:, objects][:, :, clusters], None, run.costs)
    assert other.n_effective(0) == run.n_effective(0)
    assert other.entropy(0) == pytest.approx(run.entropy(0), abs=1e-12)


@pytest.mark.parametrize("potentials", [True, False])
def test_saved_run_comes_back(tmp_path, potentials):
    run = trajectory(potentials=potentials)
    run.save(tmp_path / "run.npz")
    back = Trajectory.load(tmp_path / "run.npz")
    assert [p.name for p in tmp_path.iterdir()] == ["run.npz"]
    for name in ("betas", "probabilities", "costs", "centroids"):
        np.testing.assert_array_equal(getattr(back, name), getattr(run, name))
    assert (back.potentials is None) == (not potentials) and back.unit == 0.7
    if potentials:
        np.testing.assert_array_equal(back.potentials, run.potentials)


def test_what_did_not_settle_is_kept(tmp_path):
    run = trajectory()
    assert run.converged.tolist() == [True] * 3 and run.n_iter == 0
    run.converged[1], run.n_iter = False, 70
    run.save(tmp_path / "run.npz")
    back = Trajectory.load(tmp_path / "run.npz")
    assert back.converged.tolist() == [True, False, True] and back.converged.dtype == bool and back.n_iter == 70
    # A file written before these were kept.
    np.savez(tmp_path / "old.npz", betas=run.betas, probabilities=run.probabilities, costs=run.costs, unit=1.0)
    old = Trajectory.load(tmp_path / "old.npz")
    assert old.converged.all() and old.n_iter == 0


@pytest.mark.parametrize("content", ["cut off", "text", "array", "other arrays", "empty"])
def test_a_file_that_save_did_not_write_is_named(tmp_path, content):
    path = tmp_path / "run.npz"
    trajectory().save(path)
    if content == "cut off":
        path.write_bytes(path.read_bytes()[:-200])
    elif content == "text":
        path.write_text("0.1, 0.2")
    elif content == "array":
        with path.open("wb") as stream:
            np.save(stream, np.ones(3))
    elif content == "other arrays":
        np.savez(path, betas=np.ones(3))
    else:
        path.write_bytes(b"")
    with pytest.raises(ValueError, match=r"run\.npz is not a Trajectory written by save"):
        Trajectory.load(path)
    with pytest.raises(FileNotFoundError, match=r"other\.npz"):
        Trajectory.load(tmp_path / "other.npz")


def test_start_must_have_the_shape_of_the_run():
    run = trajectory()
    assert check_start(None, run.betas, 12, 4) is None
    assert check_start(run, run.betas, 12, 4) is run
    with pytest.raises(ValueError, match=r"init .*\(3, 12, 4\).*\(3, 12, 5\)"):
        check_start(run, run.betas, 12, 5)
    with pytest.raises(TypeError, match="init .*ndarray"):
        check_start(run.probabilities, run.betas, 12, 4)


def test_one_hot():
    np.testing.assert_array_equal(one_hot([2, 0], 3), [[0, 0, 1], [1, 0, 0]])
    with pytest.raises(ValueError, match="labels"):
        one_hot([0, 3], 3)


def test_the_thresholds_of_emptiness_and_coincidence():
    """1 % of the mass and a total variation of .1: 3 % is a cluster of its own, .5 % is none; .12 parts, .09 joins."""
    assert steps(*[[0.97, 0.03]] * 2, [1, 0]).n_effective(0) == 2 and steps([0.97, 0.03], [1, 0]).groups(0)[1] == 1
    assert steps(*[[1, 0]] * 199, [0, 1]).groups(0).tolist() == [0, -1]
    for distance, wanted in ((0.12, 2), (0.09, 1)):
        assert (
            steps([0.5 + distance / 2, 0.5 - distance / 2], [0.5 - distance / 2, 0.5 + distance / 2]).n_effective(0)
            == wanted
        )


def test_many_clusters_are_counted():
    for K in (120, 300):
        for P in (np.eye(K), np.full((K, K), 0.5 / K) + 0.5 * np.eye(K)):
            assert Trajectory(np.ones(1), P[None], None, np.zeros(1)).n_effective() == K


def test_counts_follow_the_probabilities():
    run = steps([0.5, 0.5], [0.5, 0.5])
    assert run.n_effective(0) == 1
    run.probabilities = steps([1, 0], [0, 1]).probabilities
    assert run.n_effective(0) == 2


def test_clusters_told_apart():
    assert steps([0.9, 0.1], [0.9, 0.1]).n_distinct() == pytest.approx(1)
    assert steps([1, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]).n_distinct() == pytest.approx(3)
    half = steps([1, 0], [0, 1], [0.5, 0.5], [0.5, 0.5])  # half of the objects are told apart
    assert half.n_distinct() == pytest.approx(1.5)
    # Copies of a cluster add nothing, whatever their weights.
    copied = np.concatenate([half.probabilities[0] * w for w in (0.7, 0.3)], axis=1)[None]
    assert Trajectory(np.ones(1), copied, None, np.zeros(1)).n_distinct() == pytest.approx(1.5)


@pytest.mark.parametrize(
    "change, message",
    [
        (dict(betas=np.ones(2)), "betas must ascend"),
        (dict(betas=np.arange(1.0, 6)), r"betas has shape \(5,\), accepted beside .* is \(3,\)"),
        (dict(betas=np.array([-1.0, 1, 2])), "betas must be .* positive"),
        (dict(costs=np.zeros(7)), r"costs has shape \(7,\)"),
        (dict(costs=np.array([1, np.nan, 2])), "costs holds NaN"),
        (dict(converged=np.ones(2, bool)), r"converged has shape \(2,\)"),
        (dict(potentials=np.zeros((3, 12, 3))), r"potentials has shape \(3, 12, 3\)"),
        (dict(potentials=np.full((3, 12, 4), np.inf)), "potentials holds NaN or inf"),
        (dict(centroids=np.zeros((3, 5, 2))), r"centroids has shape \(3, 5, 2\)"),
        (dict(centroids=np.zeros((3, 4))), r"centroids has shape \(3, 4\)"),
        (dict(objects=np.array(["a", "b"])), r"objects has shape \(2,\)"),
        (dict(probabilities=np.full((3, 12, 4), 2.5)), "probabilities of object 0 at step 0 are .* sum 1"),
        (dict(probabilities=np.tile([1.5, -0.5, 0, 0], (3, 12, 1))), "probabilities of object 0 at step 0"),
        (dict(probabilities=np.full((3, 12, 4), np.nan)), "probabilities of object 0 at step 0"),
        (dict(probabilities=np.ones((3, 12))), r"probabilities has shape \(3, 12\)"),
        (dict(capacity_entropy="cold"), "capacity_entropy='cold'"),
    ],
)
def test_contradictions_are_named_and_not_loaded(tmp_path, change, message):
    run = trajectory()
    with pytest.raises(ValueError, match=message):
        replace(run, **change)
    for name, value in change.items():
        setattr(run, name, value)
    run.save(tmp_path / "run.npz")
    with pytest.raises(ValueError, match=r"run\.npz is not a Trajectory written by save: "):
        Trajectory.load(tmp_path / "run.npz")


def test_names_and_the_rule_of_the_entropy_come_back(tmp_path):
    frame = pd.DataFrame(np.eye(4), list("abcd"), list("abcd"))
    gc.DominantSets(2).fit(frame).trajectory_.save(tmp_path / "run.npz")
    back = Trajectory.load(tmp_path / "run.npz")
    assert back.objects.tolist() == list("abcd") and back.capacity_entropy == "same"


def test_validation_is_cheap():
    P = np.full((25, 6000, 10), 0.1, np.float32)
    times = []
    for _ in range(5):
        start = time.process_time()
        Trajectory(np.arange(1.0, 26), P, P, np.zeros(25))
        times.append(time.process_time() - start)
    assert min(times) < 0.05


def test_schedules_cool_as_their_names_say():
    for schedule in ("exponential", "linear", "logarithmic"):
        betas = gc.cooling_schedule(schedule, 0.5, 20, 50)
        assert betas[[0, -1]] == pytest.approx([0.5, 20]) and (np.diff(betas) > 0).all() and betas.shape == (50,)
        T, t = 1 / betas, np.arange(1, 51)
        if schedule == "exponential":
            np.testing.assert_allclose(T[1:] / T[:-1], (0.5 / 20) ** (1 / 49))
        elif schedule == "linear":
            np.testing.assert_allclose(np.diff(T), (1 / 20 - 2) / 49)
        else:  # T = 1 / (a + b log t)
            np.testing.assert_allclose(np.polyval(np.polyfit(np.log(t), betas, 1), np.log(t)), betas)


@pytest.mark.parametrize(
    "arguments, message",
    [
        (("geometric", 1.0, 2.0, 3), "schedule='geometric'.*exponential.*linear.*logarithmic"),
        (("linear", 0.0, 2.0, 3), "hot=0.0"),
        (("linear", 2.0, 1.0, 3), "cold=1.0 is not above hot=2.0"),
        (("linear", 1.0, np.inf, 3), "cold=inf"),
        (("linear", 1.0, 2.0, 1), "n_steps=1"),
    ],
)
def test_bad_schedules_are_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        gc.cooling_schedule(*arguments)


def test_a_schedule_ascends_or_is_refused():
    with pytest.raises(ValueError, match="hot=1e-310"):
        gc.cooling_schedule("linear", 1e-310, 1.0, 5)
    with pytest.raises(ValueError, match="too close to ascend"):
        gc.cooling_schedule("linear", 1.0, 1 + 1e-15, 50)
