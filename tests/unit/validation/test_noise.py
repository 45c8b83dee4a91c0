"""Nothing is found in nothing: every model and every public way to a capacity on unrelated data sets.

Two pairs of 400 objects a model here; `tests/benchmarks/test_noise.py` takes 40 and every K.
"""

import noise
import numpy as np
import pytest

import gencap as gc

QUICK = ("trajectories", "select", "evaluate", "hamming")


@pytest.mark.parametrize("kind", ["cloud", "clusters"])
@pytest.mark.parametrize("name", [name for name in noise.MODELS if "embedding" not in name and "p=1.5" not in name])
def test_unrelated_data_share_nothing(name, kind):
    model = noise.MODELS[name]
    tables = noise.unrelated(kind, 400, np.random.default_rng(len(name)))
    ways = QUICK[:1] if "Ratio" in name else QUICK
    capacities = noise.capacities(model, tables, [2, 6], ways)
    assert set(capacities) == set(ways) - ({"evaluate"} if name.startswith("AnnealedKMeans") else set())
    for way, found in capacities.items():
        assert found.shape == (2,) and found.max() <= 0.05, way


@pytest.mark.parametrize("name", ["CorrelationClustering", "DominantSets"])
def test_protocols_of_unrelated_tables_share_nothing(name):
    tables = noise.unrelated("clusters", 400, np.random.default_rng(0))
    for way, found in noise.capacities(noise.MODELS[name], tables, [4], ("null", "compare")).items():
        assert found.max() <= 0.05, way
    if name == "CorrelationClustering":
        table = gc.compare_criteria(*tables, [1, 4], n_repeats=1, progress=False)
        assert table.loc["capacity", [1, 4]].max() <= 0.05
