"""One thread inside every annealing loop, whatever the libraries' own setting is."""

import numpy as np
import pytest
from sklearn.cluster import KMeans
from threadpoolctl import threadpool_info, threadpool_limits

import gencap as gc
from gencap import centroid, dominant, similarity
from gencap.resources import one_thread


def blas_threads():
    return max(library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas")


X = np.random.default_rng(0).standard_normal((30, 3))
GRAPH = np.abs(np.corrcoef(X))
GRAPH = (GRAPH + GRAPH.T) / 2
LOOPS = {
    "k-means": (centroid, "_fixed_point", lambda: gc.AnnealedKMeans(2).fit(X)),
    "similarities": (similarity.SimilarityClustering, "_heat", lambda: gc.MinCut(2).fit(GRAPH)),
    "dominant sets": (dominant, "replicator_dynamics", lambda: gc.DominantSets(2, max_steps=5).fit(GRAPH)),
    "transfer": (
        KMeans,
        "fit",
        lambda: gc.select_by_transfer_cost(KMeans(2, n_init=1), X, [1, 2], n_repetitions=1, progress=False),
    ),
    "instability": (KMeans, "predict", lambda: gc.instability(KMeans(2, n_init=1), X, n_splits=1, n_random=1)),
    "gap": (
        KMeans,
        "fit",
        lambda: gc.gap_statistic(X, [1, 2], model=KMeans(2, n_init=1), n_references=2, progress=False),
    ),
}


@pytest.mark.parametrize("name", LOOPS)
def test_loops_run_on_one_thread_and_give_the_others_back(name, monkeypatch):
    place, function, run = LOOPS[name]
    inner, seen = getattr(place, function), []

    def watched(*arguments, **options):
        seen.append(blas_threads())
        return inner(*arguments, **options)

    monkeypatch.setattr(place, function, watched)
    with threadpool_limits(2):
        assert blas_threads() == 2
        run()
        assert blas_threads() == 2
    assert seen and set(seen) == {1}


def test_threads_come_back_after_an_error():
    with threadpool_limits(2):
        with pytest.raises(ZeroDivisionError), one_thread():
            assert blas_threads() == 1
            raise ZeroDivisionError
        assert blas_threads() == 2
