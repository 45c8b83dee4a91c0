"""One thread inside every annealing loop, whatever the libraries' own setting is."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from sklearn.cluster import KMeans
from threadpoolctl import threadpool_info, threadpool_limits

import gencap as gc
from gencap import resources
from gencap.models import centroid, dominant, similarity
from gencap.resources import one_thread


def blas_threads():
    return max(library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas")


X = np.random.default_rng(0).standard_normal((30, 3))
GRAPH = np.abs(np.corrcoef(X))
GRAPH = (GRAPH + GRAPH.T) / 2
LOOPS = {
    "k-means": (centroid, "centroid_fixed_point", lambda: gc.AnnealedKMeans(2).fit(X)),
    "similarities": (similarity.State, "relax", lambda: gc.MinCut(2).fit(GRAPH)),
    "dominant sets": (dominant, "replicator_dynamics", lambda: gc.DominantSets(2, max_steps=5).fit(GRAPH)),
    "transfer": (
        KMeans,
        "fit",
        lambda: gc.select_by_transfer_cost(KMeans(2, n_init=1), X, [1, 2], n_repeats=1, progress=False),
    ),
    "instability": (KMeans, "predict", lambda: gc.instability(KMeans(2, n_init=1), X, n_repeats=1)),
    "gap": (
        KMeans,
        "fit",
        lambda: gc.gap_statistic(X, [1, 2], model=KMeans(2, n_init=1), n_repeats=2, progress=False),
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


SCRIPT = """
import os, sys
for folder in (os.environ["HOME"], os.path.join(os.environ["HOME"], "gencap", "kernels")):
    try:
        open(os.path.join(folder, "new"), "w")
    except PermissionError:
        continue
    sys.exit(folder + " can be written to")
import numpy as np, gencap as gc
from gencap.kernels import capacity, coding, kmeans, similarity
assert gc.__file__.startswith(os.environ["HOME"])
print(capacity.mean_log_overlap(*np.ones((2, 3, 1)), np.zeros(1, int), np.empty((0, 0)), 1.0, np.empty((0, 0)), 1.0))
print(os.environ["NUMBA_CACHE_DIR"])
"""


@pytest.mark.skipif(sys.platform == "win32", reason="folders are made read-only by their mode")
def test_where_nothing_can_be_written_models_run_and_one_warning_names_the_variable(tmp_path):
    home = tmp_path / "home"
    ignore = shutil.ignore_patterns("__pycache__")
    shutil.copytree(Path(gc.__file__).parent, home / "gencap", ignore=ignore)
    folders = [home, *(path for path in home.rglob("*") if path.is_dir())]
    for folder in folders:
        folder.chmod(0o555)
    command = [sys.executable, "-c", SCRIPT]
    if os.geteuid() == 0:  # whom no mode binds as long as it has this capability
        if not shutil.which("setpriv"):
            pytest.skip("root can write everywhere, and there is no setpriv")
        command = ["setpriv", "--bounding-set", "-dac_override,-dac_read_search", *command]
    environment = {k: v for k, v in os.environ.items() if k not in ("NUMBA_CACHE_DIR", "XDG_CACHE_HOME")}
    environment |= {"HOME": str(home), "PYTHONPATH": str(home)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    for folder in folders:
        folder.chmod(0o755)
    assert done.returncode == 0, done.stderr
    overlap, place = done.stdout.split()
    assert overlap == "0.0" and not Path(place).exists()
    assert done.stderr.count("UserWarning") == 1 == done.stderr.count("NUMBA_CACHE_DIR to a folder")


def stop_at_three(i):
    if i == 3:
        raise ValueError("three")
    return i


def test_results_come_in_order_and_an_exception_leaves_no_worker(capfd):
    assert resources.map_with_bar(pow, [(k, 2) for k in range(5)], n_jobs=2, progress=False) == [0, 1, 4, 9, 16]
    assert capfd.readouterr().err == ""
    assert resources.map_with_bar(pow, ((k, 2) for k in range(2)), total=2, desc="squares") == [0, 1]
    assert "squares: 100%" in capfd.readouterr().err
    with pytest.raises(ValueError, match="three"):
        resources.map_with_bar(stop_at_three, [(i,) for i in range(50)], n_jobs=2, progress=False)
