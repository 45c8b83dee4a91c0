"""Sweeps over a similarity matrix, counted in passes over it, and the cost of a whole capacity."""

import time

import numpy as np
import pytest
from numba import njit
from threadpoolctl import threadpool_limits

import gencap as gc
from gencap.kernels import similarity as kernels
from gencap.kernels.similarity import FAST, GIBBS, MEANFIELD, QUADRATIC
from gencap.models.similarity import Rule, State

K = 10


@njit(fastmath=FAST)
def read_once(X):
    total = np.float32(0)
    for i in range(X.shape[0]):
        for j in range(X.shape[1]):
            total += X[i, j]
    return total


def shortest(functions, seconds):
    """Shortest time of each function (s); they take turns, so that all of them see the same machine."""
    times = [[] for _ in functions]
    for function in functions:
        function()
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        for function, taken in zip(functions, times, strict=True):
            for _ in range(3):
                start = time.perf_counter()
                function()
                taken.append(time.perf_counter() - start)
    return [min(taken) for taken in times]


def graph(n_objects):
    return gc.datasets.planted_correlation_graphs(n_objects, noise=0.85, random_state=7)[0]


def soft_state(X):
    state = State(X, Rule(QUADRATIC), np.ones(len(X)), K, np.random.default_rng(0))
    state.start(np.random.default_rng(1).dirichlet(np.ones(K), len(X)))
    return state


def settled_state(X, beta):
    state = State(X, Rule(QUADRATIC), np.ones(len(X)), K, np.random.default_rng(0))
    state.start_labels(np.arange(len(X)) % 5)
    state.relax(beta, max_sweeps=200)
    return state


def numpy_sweep(X, Q, beta, order):
    """The same update, row by row: fields, softmax, and the next row sees it."""
    for i in order:
        h = X[i] @ Q
        h -= X[i, i] * Q[i]
        p = np.exp(beta * (h - h.max()))
        Q[i] = p / p.sum()


@pytest.mark.parametrize("n_objects, most", [(1500, 1.5), (6000, 2.0)])
def test_mean_field_sweep(n_objects, most, bench_table):
    """Against the roofline: a pass over X, or its work (2 N^2 K) at the speed of a product that stays in the caches.

    At N=6000 the matrix comes from memory, not from a cache; the sweep that visits the same few rows again and again
    does all of the work without that, so the difference of the two is what the memory costs.
    """
    X = graph(n_objects)
    unit = gc.CorrelationClustering(K)._unit(X)
    dense, settled = soft_state(X), settled_state(X, 2 * unit)
    Q, order = np.ascontiguousarray(dense.Q.T), np.random.default_rng(2).permutation(n_objects)
    few = np.resize(order[:40], n_objects)
    degree = X.sum(axis=1, dtype=np.float64)
    square = np.random.default_rng(3).random((2000, 2000), np.float32)
    product = np.empty_like(square)

    def fresh_sweep(order):
        kernels.fresh_sweep(X, degree, dense.padded, order, 0.5 * unit, 0.0, 1.0, dense.size)

    measured = [
        lambda: read_once(X),
        lambda: np.matmul(square, square, out=product),
        lambda: fresh_sweep(order),
        lambda: settled.sweep(MEANFIELD, 2 * unit, 1e-3),
    ]
    with threadpool_limits(1):
        one_pass, multiplied, fresh, still = shortest(measured, 20.0)
        cached, peer = shortest([lambda: fresh_sweep(few), lambda: numpy_sweep(X, Q, 0.5 * unit, order)], 2.0)
    speed = 2 * 2000**3 / multiplied
    work = 2 * n_objects**2 * K / speed
    header = ["objects", "one pass (ms)", "work at the speed of a product (ms)", "dense sweep (ms)", "of the roofline",
              "GFLOP/s", "of", "rows from the cache (ms)", "settled sweep (ms)", "NumPy (ms)"]  # fmt: skip
    row = [n_objects, one_pass * 1e3, work * 1e3, fresh * 1e3, fresh / max(one_pass, work),
           work * speed / fresh / 1e9, speed / 1e9, cached * 1e3, still * 1e3, peer * 1e3]  # fmt: skip
    bench_table("Mean-field sweep, K=10, single precision", header, row)
    assert fresh <= most * max(one_pass, work)
    assert still < 0.5 * one_pass
    assert fresh < peer


def test_gibbs_sweep(benchmark):
    X = graph(1500)
    state = settled_state(X, gc.CorrelationClustering(K)._unit(X))
    benchmark(state.sweep, GIBBS, 0.1)


def test_evaluation_of_the_capacity(benchmark):
    graphs = gc.datasets.planted_correlation_graphs(1500, noise=0.75, random_state=7)
    model = gc.CorrelationClustering(K, n_init=1, random_state=0)
    first = model.anneal(graphs[0])
    second = model.anneal(graphs[1], betas=first.betas)
    result = benchmark(gc.generalization_capacity, first, second)
    assert result.value > 2


def capacity_seconds(n_objects):
    """CPU seconds of a whole capacity: two graphs, three restarts, 25 temperatures."""
    # The same share of the sum of the noise and of the structure at every size: clusters as hard to find.
    noise = 1 - 0.15 * np.sqrt(1500 / n_objects)
    graphs = gc.datasets.planted_correlation_graphs(n_objects, noise=noise, random_state=7)
    model = gc.CorrelationClustering(K, random_state=0)
    start = time.process_time()
    first = model.anneal(graphs[0])
    result = gc.generalization_capacity(first, model.anneal(graphs[1], betas=first.betas))
    return time.process_time() - start, result.value


def test_whole_capacity_and_its_growth(bench_table):
    capacity_seconds(100)
    sizes = np.array([500, 1000, 2000, 4000])
    seconds = []
    for n_objects in sizes:
        taken, value = min(capacity_seconds(n_objects) for _ in range(2))
        seconds.append(taken)
        bench_table("Whole capacity, K=10", ["objects", "CPU (s)", "bits per object"], [n_objects, taken, value])
    exponent = np.polyfit(np.log(sizes), np.log(seconds), 1)[0]
    bench_table("Growth of the whole capacity", ["from", "to", "exponent"], [500, 4000, float(exponent)])
    assert seconds[2] < 1.5
