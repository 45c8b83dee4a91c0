"""build/report.html: one page without scripts that shows every claim, notebook, version, seed, time and failure."""

import base64
import html
import io
import json
import re
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path

from gencap import claims, runner
from gencap.resources import project_folder, replacing

SOURCES = (
    "Sources: 000 thesis on generalization capacity; 001 thesis on non-redundant clustering; 002 minimum transfer "
    "cost; 003 approximation set coding; 004 lecture notes on statistical learning theory. The full run was made where "
    "the project was released, unless a full-profile run stands here; older means that library, notebook or rule are "
    "others now. Statements that no notebook has decided come last."
)

_STYLE = """
:root { color-scheme: light; }
body { font: 16px/1.5 system-ui, sans-serif; color: #1b1f24; background: #fff; max-width: 82rem; margin: 2rem auto;
  padding: 0 1.25rem; }
h1 { font-size: 1.7rem; margin-bottom: .2rem; } h2 { font-size: 1.25rem; margin: 2.2rem 0 .6rem; }
p.sub { color: #57606a; margin-top: 0; }
a { color: #0550ae; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-size: .88rem; }
th, td { text-align: left; vertical-align: top; padding: .4rem .6rem; border-bottom: 1px solid #d8dee4; }
th { background: #f6f8fa; position: sticky; top: 0; }
td.id { white-space: nowrap; font-family: ui-monospace, monospace; font-size: .82rem; }
td .reason { color: #57606a; }
.verdict { display: inline-block; padding: 0 .55rem; border-radius: 1rem; white-space: nowrap; font-weight: 600;
  border: 1px solid; }
.reproduced { color: #0a4f9e; background: #ddf0ff; } .in-part { color: #7a4b00; background: #fff3cd; }
.in-part-corrected { color: #4d5900; background: #f0f7c8; } .refuted { color: #8f1d14; background: #ffe3df; }
.not-yet { color: #57606a; background: #fff; } .older { color: #8f1d14; font-weight: 600; }
.needs-data, .needs-full-profile { color: #454c54; background: #eaeef2; }
.cards { display: grid; grid-template-columns: repeat(auto-fill, minmax(17rem, 1fr)); gap: 1rem; }
.card { border: 1px solid #d8dee4; border-radius: .5rem; overflow: hidden; display: flex; flex-direction: column; }
.card img, .card .none { width: 100%; height: 11rem; object-fit: contain; background: #fff; }
.card .none { display: grid; place-items: center; color: #57606a; background: #f6f8fa; }
.card div.text { padding: .6rem .8rem; border-top: 1px solid #d8dee4; font-size: .88rem; }
.card b { font-size: .98rem; }
pre { background: #f6f8fa; border-left: 4px solid #8f1d14; padding: .8rem; overflow-x: auto; font-size: .8rem; }
"""


def count(found, ledger=()):
    """Return how many claims have which verdict, in words; those of the ledger that are not found are "not yet"."""
    counts = Counter(c["verdict"] for c in found)
    counts["not yet"] += len(set(ledger) - {c["id"] for c in found})
    return ", ".join(f"{counts[v]} {v}" for v in claims.VERDICTS if counts[v]) or "no claims checked"


def verdicts():
    """Return what the last quick and the last full-profile runs say: twice {(id, notebook): claim}."""
    last = [runner.last_record(path, ["quick"]) for path in runner.notebooks()]
    last = [r for r in last if r and r["status"] == "done"]
    quick = [c | {"notebook": Path(r["notebook"]).name, "older": r["stale"]} for r in last for c in r["claims"]]
    quick = [c for c in quick if c["id"] in claims.published()]
    return [{(c["id"], c["notebook"]): c for c in found} for found in (quick, runner.full_claims())]


def summary():
    """Return how many claims got which verdict in the quick and in the full run, in two lines."""
    quick, full = (list(found.values()) for found in verdicts())
    dates = sorted({c["date"] for c in full})
    when = f" of {' to '.join(sorted({dates[0], dates[-1]}))}" if dates else ""
    older = f"; {sum(c['older'] for c in full)} of them older than the code" if any(c["older"] for c in full) else ""
    ledger = claims.published()
    return f"quick run: {count(quick, ledger)}\nfull run{when}: {count(full, ledger)}{older}"


def write(records):
    """Write build/report.html from the runs' records; return its path."""
    page = project_folder() / "build" / "report.html"
    done = sum(r["status"] == "done" for r in records)
    seconds = sum(r["seconds"] for r in records)
    failures = [r for r in records if r["status"] == "failed"]
    parts = [
        "<!DOCTYPE html><html lang=en><head><meta charset=utf-8><title>gencap report</title>"
        f"<meta name=viewport content='width=device-width'><style>{_STYLE}</style></head><body>",
        "<h1>gencap: what reproduces</h1>",
        f"<p class=sub>{done} of {len(records)} notebooks done, {seconds:.0f} s of notebook time; "
        f"written {datetime.now(UTC):%Y-%m-%d %H:%M} UTC.<br>{summary().replace(chr(10), '<br>')}</p>",
        *(["<h2>Failures</h2>", *map(_failure, failures)] if failures else []),
        "<h2>Notebooks</h2><div class=cards>",
        *map(_card, records),
        f"</div><h2>Claims</h2><p class=sub>{SOURCES}</p>",
        *_table("id, source, statement, published, rule, quick run, full run, notebook", _claim_rows(records)),
        "<h2>Runs</h2>",
        *_table("notebook, status, profile, seed, seconds, started (UTC), parameters", map(_run_row, records)),
        "<h2>Versions</h2>",
        "<p>" + ", ".join(f"{_text(name)} {_text(version)}" for name, version in runner.versions().items()) + "</p>",
        "</body></html>\n",
    ]
    with replacing(page, "w") as stream:
        stream.write("\n".join(parts))
    return page


def _table(columns, rows):
    head = "".join(f"<th>{column}" for column in columns.split(", "))
    return [f"<div class=wide><table><thead><tr>{head}</tr></thead><tbody>", *rows, "</tbody></table></div>"]


def _text(value):
    return html.escape(str(value))


def _stem(record):
    return Path(record["notebook"]).stem


def _file(record, suffix):
    """Path of a run's notebook or page."""
    name = ("failed-" if record["status"] == "failed" else "") + _stem(record) + suffix
    return runner.run_folder(record["notebook"], record["parameters"]) / name


def _link(record, text):
    page = _file(record, ".html")
    if not page.exists():
        return _text(text)
    return f"<a href='{_text(page.relative_to(project_folder() / 'build').as_posix())}'>{_text(text)}</a>"


def _claim_rows(records):
    """A row for each claim of the ledger, once for each notebook that decides it."""
    runs = {Path(r["notebook"]).name: r for r in records}
    quick, full = verdicts()
    places = {}
    for id, notebook in sorted(quick.keys() | full.keys()):
        places.setdefault(id, []).append(notebook)
    for row in sorted(claims.published().values(), key=lambda row: row["id"] not in places):
        for notebook in places.get(row["id"], [""]):
            source = f"{row['source']}, {row['place']}"
            texts = "".join(f"<td>{_text(t)}" for t in (source, row["statement"], row["published"], claims.band(row)))
            key, run = (row["id"], notebook), runs.get(notebook)
            empty = "<td><span class='verdict not-yet'>not yet</span>" if not notebook else "<td>"
            runs_say = "".join(_verdict(found[key]) if key in found else empty for found in (quick, full))
            link = _link(run, _stem(run)) if run else _text(notebook.removesuffix(".ipynb"))
            yield f"<tr><td class=id>{_text(row['id'])}{texts}{runs_say}<td>{link}</tr>"


def _verdict(claim):
    """A cell: verdict, value obtained, reason; for a full run its date, and whether the code has changed since."""
    name = re.sub(r"\W+", "-", claim["verdict"]).strip("-")
    parts = [f"<span class='verdict {name}'>{_text(claim['verdict'])}</span>", _text(claims.show(claim["obtained"]))]
    parts.append(f"<span class=reason>{_text(claim['reason'])}</span>" if claim["reason"] else "")
    parts += [_text(claim.get("date", "")), "<span class=older>older</span> than the code" if claim["older"] else ""]
    return "<td>" + "<br>".join(filter(None, parts))


def _card(record):
    name = _text(_stem(record))
    picture, title = _picture_and_title(_file(record, ".ipynb"))
    image = f"<img alt='first figure of {name}' src='{picture}'>" if picture else "<div class=none>no figure</div>"
    status = count(record["claims"]) if record["status"] == "done" else "failed"
    text = f"<b>{_link(record, title or _stem(record))}</b><br>{name}: {record['seconds']:.0f} s, {status}"
    return f"<div class=card>{image}<div class=text>{text}</div></div>"


def _picture_and_title(path):
    """The first figure as a small data address, and the first heading."""
    try:
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    except (OSError, ValueError):
        return None, None
    lines = (line for c in cells if c["cell_type"] == "markdown" for line in "".join(c["source"]).splitlines())
    title = next((line.removeprefix("# ") for line in lines if line.startswith("# ")), None)
    outputs = (o.get("data", {}).get("image/png") for c in cells for o in c.get("outputs", []))
    data = next(filter(None, outputs), None)
    if data is None:
        return None, title
    from PIL import Image

    picture = Image.open(io.BytesIO(base64.b64decode("".join(data)))).convert("RGBA")
    picture = Image.alpha_composite(Image.new("RGBA", picture.size, "white"), picture).convert("RGB")
    picture.thumbnail((560, 360))
    small = io.BytesIO()
    picture.save(small, "JPEG", quality=82)
    return "data:image/jpeg;base64," + base64.b64encode(small.getvalue()).decode(), title


def _failure(record):
    error = record["error"]
    head = f"cell {error['cell']} raised {error['name']}: {error['message']}"
    return f"<h3>{_link(record, _stem(record))}</h3><p>{_text(head)}</p><pre>{_text(error['traceback'])}</pre>"


def _run_row(record):
    values = ", ".join(f"{k}={v!r}" for k, v in record["parameters"].items())
    status = record["status"] + (", inputs have changed since" if record.get("stale") else "")
    started = record.get("started", "").removesuffix("+00:00").replace("T", " ")
    cells = (status, record["profile"], record["seed"], f"{record['seconds']:.1f}", started, values)
    return f"<tr><td>{_link(record, _stem(record))}" + "".join(f"<td>{_text(cell)}" for cell in cells) + "</tr>"
