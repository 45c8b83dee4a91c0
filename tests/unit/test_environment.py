"""pyproject.toml, environment.yml and constraints.txt say the same; no file names a machine or a registry."""

import re
import subprocess
import tomllib
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

import gencap

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS = PROJECT["optional-dependencies"]
NEEDED = [r for e in ("plots", "notebooks", "course", "book", "test") for r in EXTRAS[e] if not r.startswith("gencap[")]
NEEDED = [*map(Requirement, dict.fromkeys(NEEDED + PROJECT["dependencies"]))]
ENVIRONMENT = yaml.safe_load((ROOT / "environment.yml").read_text(encoding="utf-8"))
CONDA = [spec for spec in ENVIRONMENT["dependencies"] if isinstance(spec, str)]
PIP = next(spec["pip"] for spec in ENVIRONMENT["dependencies"] if isinstance(spec, dict))
PINNED = dict(line.split("==") for line in (ROOT / "constraints.txt").read_text().splitlines() if line[0] != "#")


def test_environment_has_the_names_and_bounds_of_pyproject():
    specs = [spec for spec in CONDA if spec != "pip"] + [spec for spec in PIP if spec != "-e ."]
    assert "-e ." in PIP and "pip" in CONDA
    # Python has a version of its own there, one that the library accepts.
    python = next(spec for spec in specs if spec.startswith("python="))
    assert SpecifierSet(PROJECT["requires-python"]).contains(python.removeprefix("python="))
    assert sorted(specs) == sorted([python] + [str(r) for r in NEEDED])


def test_environment_names_channels_only():
    assert ENVIRONMENT["channels"] == ["conda-forge", "nodefaults"]


def test_every_conda_spec_is_valid():
    rattler = pytest.importorskip("rattler")
    for spec in CONDA:
        parsed = rattler.MatchSpec(spec, strict=True)
        assert spec.startswith(parsed.name.normalized if hasattr(parsed.name, "normalized") else str(parsed.name))


def test_every_dependency_has_a_lower_bound_that_the_pin_meets():
    for requirement in NEEDED:
        assert [s.operator for s in requirement.specifier] == [">="], requirement
        assert requirement.specifier.contains(PINNED[canonicalize_name(requirement.name)]), requirement


def test_constraints_are_plain_pins():
    assert all(re.fullmatch(r"[a-z0-9-]+", name) for name in PINNED)
    assert all(re.fullmatch(r"[0-9][0-9a-z.]*", version) for version in PINNED.values())
    assert list(PINNED) == sorted(PINNED)


def test_versions_agree():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert citation["version"] == gencap.__version__


def test_no_file_names_a_machine_or_a_registry():
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=False)
    if listed.returncode:
        pytest.skip("not a git checkout")
    # Assembled from parts, so that this file does not find itself.
    words = ["/" + "work/", "/" + "tmp/", "/" + "root/", "/" + "home/", "pypi" + ".org", "pythonhosted" + ".org"]
    words += ["anaconda" + ".org", "--" + "index-url", "--" + "find-links"]
    pattern = re.compile("|".join(rf"(?<![\w.]){re.escape(word)}" for word in words))
    found = []
    for name in filter(None, listed.stdout.decode().split("\0")):
        file = ROOT / name
        if file.is_file() and file.suffix not in (".gz", ".png", ".npz"):
            found += [f"{name}: {m[0]}" for m in pattern.finditer(file.read_text(encoding="utf-8"))]
    assert found == []
