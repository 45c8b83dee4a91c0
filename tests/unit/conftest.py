"""What several rooms' tests need."""

import pytest


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty GENCAP_DATA folder."""
    (tmp_path / "data").mkdir()
    monkeypatch.setenv("GENCAP_DATA", str(tmp_path / "data"))
    return tmp_path / "data"
