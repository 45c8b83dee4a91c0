"""What several rooms' tests need."""

import pytest

from gencap.datasets import sources


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A GENCAP_DATA folder and an empty cache."""
    (tmp_path / "data").mkdir()
    monkeypatch.setenv("GENCAP_DATA", str(tmp_path / "data"))
    monkeypatch.setattr(sources, "cache_folder", lambda: tmp_path / "cache")
    return tmp_path / "data"
