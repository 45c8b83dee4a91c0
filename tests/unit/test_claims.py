"""The ledger: every row decides something, verdicts follow the rules, and nothing printed shows the obtained value."""

import json
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gencap import claims


@pytest.fixture
def records(tmp_path, monkeypatch):
    """A function that reads what was recorded so far."""
    file = tmp_path / "claims.jsonl"
    monkeypatch.setenv("GENCAP_CLAIMS_FILE", str(file))
    monkeypatch.setattr(claims, "_session", {})
    return lambda: [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


def test_the_ledger_has_every_published_statement_once_and_knows_how_to_decide_it():
    rows = list(claims.published().values())
    assert len(rows) == len({row["id"] for row in rows}) == 86
    for row in rows:
        assert row["kind"] in ("equal", "within", "order", "report"), row["id"]
        assert row["target"] and row["values"] and row["statement"], row["id"]
        if row["kind"] in ("equal", "within"):
            sizes = len(row["target"].split(";")), len((row["tolerance"] or "0").split(";"))
            assert sizes[1] in (1, sizes[0]), row["id"]
        else:
            assert not row["tolerance"], row["id"]


def hits(row):
    """Values in the middle of every accepted band, read from the text by a second, simpler reader."""
    for target in row["target"].split(";"):
        number = re.fullmatch(r"(<=|>=|<|>)?(-?[\d.]+)", target)
        if number is None:
            yield target
        else:
            yield float(number[2]) + {"<": -0.01, "<=": -0.01, ">": 0.01, ">=": 0.01, None: 0.0}[number[1]]


@pytest.mark.parametrize(
    "row", [r for r in claims.published().values() if r["kind"] in ("equal", "within")], ids=lambda r: r["id"]
)
def test_every_decided_claim_can_be_met_and_missed(row, capsys):
    good = list(hits(row))
    claims.check(row["id"], good)
    for position in range(len(good)):
        bad = list(good)
        bad[position] = np.nan
        with pytest.raises(ValueError, match="refuted"):
            claims.check(row["id"], bad)
    assert capsys.readouterr().out.endswith("| reproduced\n")


@pytest.mark.parametrize(
    ("id", "obtained", "verdict"),
    [
        ("gc-kary", 1e-6, "reproduced"),
        ("gc-kary", [0, -9e-7, 2e-6], "refuted"),  # one target for all values
        ("mtc-gmm-easy", (3, 3, 3), "reproduced"),
        ("mtc-gmm-easy", (3, 4, 3), "refuted"),
        ("mtc-kmeans-soft-low", (2, 3), "refuted"),  # < is strict
        ("ph-unsplit-ordered", 0.9, "reproduced"),  # >= is not
        ("cc-shift-zero", 1.45, "reproduced"),  # the end of a decimal band is in it
        ("cc-shift-zero", 1.4499, "refuted"),
        ("mussel-cor", (1.3, 9, 1.0, 7), "reproduced"),
        ("mussel-cor", (1.3, 8, 1.0, 7), "refuted"),  # a tolerance for each target
        ("stab-k1", "Undefined", "reproduced"),
        ("stab-k1", 0.0, "refuted"),
        ("cc-075", np.int64(5), "reproduced"),
        ("cc-075", "five", "refuted"),
        ("da-better", 1.0 + 5e-7, "reproduced"),
        ("da-better", np.inf, "refuted"),
    ],
)
def test_equal_and_within_are_decided_by_the_band(id, obtained, verdict, records):
    claims.check(id, obtained, reason="why")
    assert records()[0]["verdict"] == verdict
    assert records()[0]["reason"] == ("" if verdict == "reproduced" else "why")


@given(st.floats(-10, 10))
def test_within_is_the_distance_to_the_target(value):
    row = claims.published()["pc-sep"]
    distance = abs(value - 2.0)
    if abs(distance - 0.05) > 1e-8:
        assert claims._hit(row, value) == (distance < 0.05)


@pytest.mark.parametrize(
    ("id", "obtained", "holds", "verdict"),
    [
        ("cc-075", 4, None, "refuted"),
        ("cc-075", 4, True, "refuted"),  # never upgraded
        ("cc-075", 4, "in part", "in part"),
        ("cc-075", 5, "in part", "in part"),
        ("cc-075", 5, False, "refuted"),
        ("cc-075", 5, np.True_, "reproduced"),
        ("yeast-path", (2.7, 13), True, "reproduced"),
        ("yeast-path", (2.7, 13), np.False_, "refuted"),
        ("yeast-path", (2.7, 13), "in part", "in part"),
    ],
)
def test_holds_decides_order_and_can_only_lower_the_others(id, obtained, holds, verdict, records):
    claims.check(id, obtained, holds=holds, reason="why")
    assert records()[0]["verdict"] == verdict


@pytest.mark.parametrize(
    ("id", "obtained", "words", "message"),
    [
        ("cc-75", 5, {}, "unknown claim 'cc-75'; near it: cc-075"),
        ("mtc-gmm-easy", (3, 3), {}, "got 2 values, accepted are 3: K of BIC, AIC, MTC"),
        ("mtc-gmm-easy", [], {}, "got 0 values"),
        ("cc-075", 4, {}, "cc-075 is refuted: say why"),
        ("cc-075", None, {}, "obtained is None"),
        ("yeast-path", 2.7, {}, "say holds=True"),
        ("yeast-path", 2.7, {"holds": "partly"}, "holds='partly'"),
        ("yeast-path", 2.7, {"holds": "in part"}, "yeast-path is in part: say why"),
        ("mussel-cor", None, {"needs": "time"}, "needs='time'"),
        ("mussel-cor", 1.2, {"needs": "data"}, "obtained must be None"),
    ],
)
def test_what_is_missing_or_wrong_is_named(id, obtained, words, message, capsys):
    with pytest.raises(ValueError, match=re.escape(message)):
        claims.check(id, obtained, **words)
    assert capsys.readouterr().out == ""


def test_one_line_without_the_obtained_value(capsys, records):
    claims.check("cc-shift-zero", 1.4567891)
    claims.check("cc-shift-zero", 77.7, reason="the band is 12345 wide")
    claims.check("mussel-cor", None, needs="data")
    assert capsys.readouterr().out.splitlines() == [
        "cc-shift-zero: published 1.46 | accepted 1.46 ± 0.01 | reproduced",
        "cc-shift-zero: published 1.46 | accepted 1.46 ± 0.01 | refuted",
        "mussel-cor: published 1.28;9;1.06;7 | accepted 1.28 ± 0.1; 9; 1.06 ± 0.1; 7 | needs data",
    ]
    assert [r["verdict"] for r in records()] == ["reproduced", "refuted", "needs data"]


def test_records_are_json_whatever_was_obtained(records):
    odd = {"CC": (np.float32(2.5), np.int64(13)), "nan": np.nan, "flags": np.array([True]), "none": None}
    claims.check("yeast-path", odd, holds=True)
    claims.check("yeast-cor", np.array([1.5, -np.inf]), holds=True)
    first, second = records()
    assert first["obtained"] == {"CC": [2.5, 13], "nan": "nan", "flags": [True], "none": None}
    assert second["obtained"] == [1.5, "-inf"]
    assert set(first) == {"id", "published", "obtained", "verdict", "reason"}


def test_without_the_runner_nothing_is_written(tmp_path, monkeypatch):
    monkeypatch.delenv("GENCAP_CLAIMS_FILE", raising=False)
    monkeypatch.chdir(tmp_path)
    claims.check("cc-075", 5)
    assert list(tmp_path.iterdir()) == []


def test_with_other_parameters_a_miss_does_not_raise(records, monkeypatch):
    monkeypatch.setenv("GENCAP_OTHER_PARAMETERS", "n_objects=50")
    claims.check("cc-075", 4)
    assert records()[0]["reason"] == "with other parameters: n_objects=50"


def test_the_table_shows_the_obtained_values_of_this_session(records):
    claims.check("cc-shift-zero", 1.456789)
    claims.check("cc-075", 4, reason="a < b & c")
    claims.check("cc-shift-zero", [1.4611, -0.0], reason="later")  # replaces the first
    text, page = repr(claims.table()), claims.table()._repr_html_()
    assert "obtained 1.461; 0 | refuted (later)" in text and "1.457" not in text
    assert "a &lt; b &amp; c" in page and "000, Fig. 29" in page and page.count("<tr>") == 3
