"""The registry of files, and fetching from a server on the loopback address: success, damage, broken transfer."""

import gzip
import hashlib
import http.server
import threading
import warnings
from pathlib import Path

import pytest

from gencap import datasets
from gencap.__main__ import main
from gencap.datasets import sources


def test_embedded_files_are_those_of_the_registry():
    assert sum(source.embedded for source in sources.SOURCES.values()) == 3
    for row in sources.registry():
        source = sources.SOURCES[row.name]
        if source.embedded:
            assert row.state == "embedded"
            assert hashlib.sha256(row.path.read_bytes()).hexdigest() == source.sha256


TABLE = gzip.compress(b"orf,alpha_0,alpha_7\nYA,0.5,1\nYB,2,3\n", mtime=0)
VALUES = [[0.5, 1], [2, 3]]


class Handler(http.server.BaseHTTPRequestHandler):
    """/good sends the table, /other another file, /broken closes the connection half-way."""

    def do_GET(self):  # noqa: N802, the name http.server calls
        self.server.requests.append(self.path)
        body = TABLE if self.path != "/other" else gzip.compress(b"orf,alpha_0\nYA,0.7\n", mtime=0)
        self.send_response(404 if self.path == "/gone" else 200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body[:20] if self.path == "/broken" else body)

    def log_message(self, *args):
        pass


@pytest.fixture
def server():
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as running:
        running.requests = []
        thread = threading.Thread(target=running.serve_forever, args=(0.01,))
        thread.start()
        yield running
        running.shutdown()
        thread.join()


def use_address(monkeypatch, server, page):
    source = sources.SOURCES["yeast_all"]
    url = f"http://127.0.0.1:{server.server_address[1]}{page}"
    sha256 = hashlib.sha256(TABLE).hexdigest()
    monkeypatch.setitem(sources.SOURCES, "yeast_all", sources.Source(source.file, sha256, url))


def state():
    return next(row.state for row in sources.registry() if row.name == "yeast_all")


def test_fetched_once_then_cached(folder, server, monkeypatch):
    use_address(monkeypatch, server, "/good")
    assert state() == "fetchable"
    for _ in range(2):
        assert datasets.load_yeast("all").data.tolist() == VALUES
    assert server.requests == ["/good"] and state() == "cached"
    assert [f.name for f in sources.cache_folder().iterdir()] == [sources.SOURCES["yeast_all"].file]


def test_own_folder_comes_first(folder, server, monkeypatch):
    use_address(monkeypatch, server, "/good")
    (folder / sources.SOURCES["yeast_all"].file).write_bytes(TABLE)
    assert state() == "GENCAP_DATA" and datasets.load_yeast("all").data.tolist() == VALUES
    assert server.requests == [] and not sources.cache_folder().exists()


def test_another_file_under_a_registered_name_is_refused(folder, monkeypatch, capsys):
    source = sources.SOURCES["access_domino"]
    own, text = folder / source.file, b"user,permission\n1,1\n2,3\n1,2\n"
    own.write_bytes(gzip.compress(text))
    with pytest.raises(
        ValueError, match=rf"{own} is not the registered .*, accepted is {source.sha256}; .*verify=False"
    ):
        datasets.load_access_control("domino")
    with pytest.warns(UserWarning, match=f"{own} is not the registered") as caught:
        table = datasets.load_access_control("domino", verify=False)
    assert table.data.shape == (2, 3) and len(caught) == 1
    assert main(["data"]) == 0
    assert ["access_domino", "other", "content", str(own)] in map(str.split, capsys.readouterr().out.splitlines())
    sha256 = hashlib.sha256(own.read_bytes()).hexdigest()
    monkeypatch.setitem(sources.SOURCES, "access_domino", source._replace(sha256=sha256))
    with warnings.catch_warnings(action="error"):
        assert datasets.load_access_control("domino").data.shape == (2, 3)


def test_the_data_of_data_readme_are_those_of_the_registry():
    text = (Path(__file__).parents[3] / "data" / "README.md").read_text(encoding="utf-8")
    assert all(f"\n{source.sha256}  {source.file}\n" in text for source in sources.SOURCES.values())


@pytest.mark.parametrize("page", ["/other", "/broken", "/gone"])
def test_failed_fetch_leaves_nothing_in_the_cache(folder, server, monkeypatch, page):
    use_address(monkeypatch, server, page)
    with pytest.raises(OSError, match="could not be fetched .* GENCAP_DATA"):
        datasets.load_yeast("all")
    assert server.requests == [page] and state() == "fetchable"
    assert not sources.cache_folder().exists() or not list(sources.cache_folder().iterdir())
    use_address(monkeypatch, server, "/good")
    assert datasets.load_yeast("all").data.tolist() == VALUES


def test_damaged_cache_is_fetched_again(folder, server, monkeypatch):
    use_address(monkeypatch, server, "/good")
    sources.cache_folder().mkdir()
    (sources.cache_folder() / sources.SOURCES["yeast_all"].file).write_bytes(TABLE[:20])
    assert datasets.load_yeast("all").data.tolist() == VALUES


def test_without_address_the_error_says_what_to_set(folder):
    assert {row.state for row in sources.registry() if not row.name.startswith("yeast")} == {"missing"}
    with pytest.raises(FileNotFoundError, match="GENCAP_DATA=.* has no such file.*GENCAP_DATA to a folder that holds"):
        datasets.load_webkb()
