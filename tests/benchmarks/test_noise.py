"""What every model and every public way to a capacity finds in 40 independent pairs of unrelated data sets, K = 2..6.

Run with `-k NAME` for one model; `NOISE_PAIRS=4` takes fewer pairs.
"""

import os
import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "unit"))
import noise

PAIRS = int(os.environ.get("NOISE_PAIRS", 40))
OFFERED = [2, 3, 4, 5, 6]


@pytest.mark.parametrize("kind", ["cloud", "clusters"])
@pytest.mark.parametrize("name", noise.MODELS)
def test_capacity_of_noise(name, kind, bench_table):
    found = {}
    for seed in range(PAIRS):
        tables = noise.unrelated(kind, 400, np.random.default_rng([seed, kind == "cloud"]))
        for way, values in noise.capacities(noise.MODELS[name], tables, OFFERED).items():
            found.setdefault(way, []).append(values)
    for way, values in found.items():
        at_95, largest = np.quantile(values, 0.95, axis=0), float(np.max(values))
        row = [name, kind, way, *at_95.round(3).tolist(), round(largest, 3)]
        bench_table(
            f"Capacity of noise, 95 % of {PAIRS} pairs (bits)",
            ["model", "data", "way", *(f"K={k}" for k in OFFERED), "largest"],
            row,
        )
        assert at_95.max() <= 0.05, (way, at_95)
