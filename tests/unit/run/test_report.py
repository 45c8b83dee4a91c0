"""The report on records that are broken, of another version or mean harm: complete, and without markup of theirs."""

import base64
import json
import os
import re
from html.parser import HTMLParser
from urllib.parse import unquote_to_bytes

import nbformat
import pytest
from test_runner import cells, fake_run, notebook, project  # noqa: F401

from gencap import __main__
from gencap.run import claims, report, runner

MARKUP = """"><script>alert(1)</script><img src=x onerror=alert(2)>' onload='alert(3) {{ 7 * 7 }} {% raw %} {# -->"""
STRANGE = MARKUP + "\x00\x07\x1b[31m\u202e\ud800" + "long " * 5_000
PNG = base64.b64encode(
    bytes.fromhex(
        "89504e470d0a1a0a0000000d4948445200000001000000010802000000907753de"
        "0000000c49444154789c63f8ffff3f0005fe02fe0def46b80000000049454e44ae426082"
    )
).decode()


class Tags(HTMLParser):
    """What a browser would make elements of: tags with the names of their attributes, in order; and the text."""

    def __init__(self, page):
        super().__init__()
        self.tags, self.links, self.words, self.text = [], [], [], ""
        self.feed(page)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, *(name for name, _ in attributes)))
        self.links += [value for name, value in attributes if name == "href"]
        self.words += [value for name, value in attributes if name == "alt"]

    def handle_data(self, data):
        self.text += data


def keep_run(path, said, pictures, status="done", **changes):
    """A run that was made elsewhere: record, executed notebook with pictures, and page."""
    record = fake_run(path, {}, "quick", "reproduced", changed=())
    error = {"cell": said, "name": said, "message": said, "traceback": said}
    record |= {"profile": said, "seed": said, "parameters": {said: [said]}, "versions": {said: said}, "status": status}
    record |= {"error": error if status == "failed" else None, **changes}
    record["claims"][0] |= {"verdict": said, "reason": said, "obtained": {said: [said, 1.5]}}
    folder = runner.run_folder(path, record["parameters"])
    folder.mkdir(parents=True, exist_ok=True)
    name = ("failed-" if status == "failed" else "") + path.stem
    v4 = nbformat.v4
    words = {"image/png": {"alt": said}}
    outputs = [v4.new_output("display_data", {"image/png": data}, metadata=words) for data in pictures]
    written = v4.new_notebook(cells=[v4.new_markdown_cell(f"# {said}"), v4.new_code_cell("", outputs=outputs)])
    (folder / f"{name}.ipynb").write_text(json.dumps(written), encoding="utf-8")
    (folder / f"{name}.html").write_text("page", encoding="utf-8")
    runner.write_json(folder / "run.json", record)
    (runner.run_folder(path, {}) / "run.json").unlink()
    return record


@pytest.fixture
def seen(monkeypatch):
    """Quick runs count whatever their profile is called."""
    last = runner.last_record
    monkeypatch.setattr(runner, "last_record", lambda path, profiles=(): last(path, (*profiles, "plain", STRANGE)))


def page(project):  # noqa: F811
    return (project / "build" / "report.html").read_text(encoding="utf-8")


def test_a_hostile_run_changes_the_words_of_the_page_and_none_of_its_markup(project, seen):  # noqa: F811
    names = "00_{x} ü #%&'=;", "01_b"
    names = tuple(f"{name}<i>?" for name in names) if os.name == "posix" else names
    paths = [notebook(project / "notebooks" / f"{name}.ipynb", "1", parameters="") for name in names]
    pages = []
    for said, pictures in (("plain", [PNG]), (STRANGE, ["", "no picture", base64.b64encode(b"\x89PNG").decode(), PNG])):
        keep_run(paths[0], said, pictures)
        keep_run(paths[1], said, pictures, status="failed")
        assert __main__.main(["report"]) == 0
        pages.append(Tags(page(project)))
        for path in paths:
            for file in runner.run_folder(path, {said: [said]}).glob("run.json"):
                file.unlink()
    plain, hostile = pages
    assert hostile.tags == plain.tags
    assert plain.words == ["plain"] * 2 and all(words.startswith(MARKUP) for words in hostile.words)
    assert {tag for tag, *_ in plain.tags}.isdisjoint({"script", "i"}) and sum(t == "img" for t, *_ in plain.tags) == 2
    assert hostile.text.count(MARKUP) == 14 and not re.search("[\x00-\x08\x0e-\x1f\u202e]", hostile.text)
    assert all(id in hostile.text for id in claims.published()) and len(hostile.text) < 1_000_000
    assert len(plain.links) == 6  # card, claim and run of the one, failure, card and run of the other
    for link in plain.links:
        assert (project / "build" / os.fsdecode(unquote_to_bytes(link))).is_file(), link


BROKEN = {
    "short": {"status": "done"},
    "list": [1],
    "no error": {"status": "failed", "error": None},
    "other claims": {"claims": [{"id": ["cc-075"]}]},
    "claims in words": {"claims": "none"},
    "seconds in words": {"seconds": "1"},
    "changed": {"changed": [[1]]},
    "versions": {"versions": None},
}


@pytest.mark.parametrize("broken", BROKEN.values(), ids=BROKEN)
def test_a_record_that_cannot_be_read_is_named_and_the_others_are_shown(project, capsys, broken):  # noqa: F811
    first, second = (notebook(project / "notebooks" / f"0{n}_a.ipynb", "1", parameters="") for n in range(2))
    fake_run(first, {}, "quick", "refuted", changed=())
    record = fake_run(second, {}, "quick", "in part", changed=())
    file = runner.run_folder(second, {}) / "run.json"
    whole = len(broken) > 1 or "status" in broken or isinstance(broken, list)
    runner.write_json(file, broken if whole and "error" not in broken else record | broken)
    assert runner.read_record(file) is None
    assert __main__.main(["report"]) == 0
    said = capsys.readouterr().out
    assert f"quick run: 1 refuted, {len(claims.published()) - 1} not yet" in said
    assert f"cannot be read as a run: {file.relative_to(project).as_posix()}\n" in said
    assert file.relative_to(project).as_posix() in page(project) and "</html>" in page(project)


@pytest.mark.parametrize("text", ["", "{", "[" * 100_000, '{"seconds": ' + "9" * 5000 + "}", "\ufeff{}"])
def test_what_is_no_json_is_no_record(tmp_path, text):
    (tmp_path / "run.json").write_text(text, encoding="utf-8")
    assert runner.read_record(tmp_path / "run.json") is None


def test_what_is_older_than_its_inputs_is_marked_and_counted_apart(project, capsys, monkeypatch):  # noqa: F811
    path, other = (notebook(project / "notebooks" / f"0{n}_a.ipynb", "1", parameters="") for n in range(2))
    fake_run(path, {}, "quick", "refuted", changed=())
    record = fake_run(other, {}, "quick", "reproduced", changed=())
    runner.write_json(
        runner.run_folder(other, {}) / "run.json",
        record | {"claims": [record["claims"][0] | {"id": "cc-085"}], "versions": {"numpy": "1.99.old"}},
    )
    rest = len(claims.published()) - 2
    assert report.summary().startswith(f"quick run: 1 reproduced, 1 refuted, {rest} not yet\n")
    notebook(path, "2", parameters="")
    assert __main__.main(["report"]) == 0
    assert f"quick run: 1 reproduced, {rest} not yet; of an older state: 1 refuted\n" in capsys.readouterr().out
    assert cells(page(project), "cc-075")[0] == ["refuted", "older", "than", "the", "code"]
    assert cells(page(project), "cc-085")[0] == ["reproduced"]
    assert "00_a: 2 s, of an older state: 1 refuted<" in page(project)
    lines = re.findall("<p>(0.*?)</p>", page(project))  # versions are those of the runs
    assert len(lines) == 2 and "01_a: numpy 1.99.old" in lines and "python" in "".join(lines)


def test_a_page_whose_folder_or_notebook_is_gone_is_a_name_without_link(project):  # noqa: F811
    path = notebook(project / "notebooks" / "00_a.ipynb", "1", parameters="")
    fake_run(path, {}, "quick", "refuted", changed=())
    assert __main__.main(["report"]) == 0
    assert Tags(page(project)).links == [] and "no figure" in page(project)
