"""Gathers the rows that the benchmarks measure into build/bench.md."""

import platform
from pathlib import Path

import pytest

from gencap.resources import replacing
from gencap.run.runner import versions

_tables = {}


@pytest.fixture
def bench_table():
    """A function (title, header, row): appends a row of values to the table of that title and prints it.

    `header` and `row` are sequences of the same length; numbers are shown with five significant digits.
    """

    def add(title, header, row):
        if len(header) != len(row):
            raise ValueError(f"{title}: a row of {len(row)} values under a header of {len(header)}")
        cells = [f"{v:.5g}" if isinstance(v, float) else str(v) for v in row]
        _tables.setdefault(title, [list(map(str, header))]).append(cells)
        print(f"\n{title}: " + ", ".join(f"{h} {c}" for h, c in zip(header, cells, strict=True)))

    return add


def _markdown(rows):
    header, *body = rows
    return "\n".join("| " + " | ".join(row) + " |" for row in [header, ["---"] * len(header), *body])


def pytest_sessionfinish(session):
    """Write what was measured, with the times of pytest-benchmark below."""
    timed = getattr(session.config, "_benchmarksession", None)
    timed = [b for b in timed.benchmarks if b.stats.rounds] if timed else []
    if timed:
        rows = [[b.name, f"{b.stats.median * 1e3:.4g}", str(b.stats.rounds)] for b in timed]
        _tables["Times"] = [["benchmark", "median (ms)", "rounds"], *rows]
    if not _tables:
        return
    machine = ", ".join(f"{name} {version}" for name, version in versions().items())
    parts = ["# Benchmarks", f"{machine}, {platform.machine()}."]
    for title, rows in _tables.items():
        parts += [f"## {title}", _markdown(rows)]
    with replacing(Path(session.config.rootpath) / "build" / "bench.md", "w") as stream:
        stream.write("\n\n".join(parts) + "\n")
