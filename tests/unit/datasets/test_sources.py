"""The registry of files: what is embedded, what is found in GENCAP_DATA, what is missing and where it can be had."""

import gzip
import hashlib
import warnings
from pathlib import Path

import pytest

from gencap import datasets
from gencap.__main__ import main
from gencap.datasets import sources


def test_embedded_files_are_those_of_the_registry():
    rows = [row for row in sources.registry() if row.state == "embedded"]
    assert [row.name for row in rows] == ["yeast_brown", "yeast_spellman", "yeast_all"]
    for row in rows:
        assert hashlib.sha256(row.path.read_bytes()).hexdigest() == sources.SOURCES[row.name]["sha256"]


def test_another_file_under_a_registered_name_is_refused(folder, monkeypatch, capsys):
    source = sources.SOURCES["access_domino"]
    own, text = folder / source["file"], b"user,permission\n1,1\n2,3\n1,2\n"
    own.write_bytes(gzip.compress(text))
    with pytest.raises(
        ValueError, match=rf"{own} is not the registered .*, accepted is {source['sha256']}; .*verify=False"
    ):
        datasets.load_access_control("domino")
    with pytest.warns(UserWarning, match=f"{own} is not the registered") as caught:
        table = datasets.load_access_control("domino", verify=False)
    assert table.data.shape == (2, 3) and len(caught) == 1 and caught[0].filename == __file__
    assert main(["data"]) == 0
    assert ["access_domino", "other", "content", str(own)] in map(str.split, capsys.readouterr().out.splitlines())
    sha256 = hashlib.sha256(own.read_bytes()).hexdigest()
    monkeypatch.setitem(sources.SOURCES, "access_domino", source | {"sha256": sha256})
    with warnings.catch_warnings(action="error"):
        assert datasets.load_access_control("domino").data.shape == (2, 3)
    assert next(row.state for row in sources.registry() if row.name == "access_domino") == "GENCAP_DATA"


def test_the_data_of_data_readme_are_those_of_the_registry():
    text = (Path(__file__).parents[3] / "data" / "README.md").read_text(encoding="utf-8")
    assert all(f"\n{source['sha256']}  {source['file']}\n" in text for source in sources.SOURCES.values())


def test_what_is_missing_is_named_with_its_public_home(folder, monkeypatch, capsys):
    assert {row.state for row in sources.registry() if not row.name.startswith("yeast")} == {"missing"}
    with pytest.raises(FileNotFoundError, match="GENCAP_DATA=.* has no such file.* linqs.org.* folder that holds web"):
        datasets.load_webkb()
    monkeypatch.delenv("GENCAP_DATA")
    assert main(["data"]) == 0
    lines = [line for line in capsys.readouterr().out.splitlines() if not line.startswith("yeast")]
    assert len(lines) == 5 and all(" missing " in line and ", from " in line for line in lines)
