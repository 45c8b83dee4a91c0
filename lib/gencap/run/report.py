"""build/report.html: one page without scripts that shows every claim, notebook, run, version, time and failure.

The page's template escapes all that it is given. What cannot be read or drawn is named or left out; the rest stands.
"""

import base64
import contextlib
import io
import json
import os
import re
from collections import Counter
from datetime import UTC, datetime
from pathlib import PurePath
from urllib.parse import quote

from jinja2 import Environment
from markupsafe import Markup

from ..resources import project_folder, replacing
from . import claims, runner

LONGEST = 20_000  # characters of one entry; a longer one would make the page unusable
_PAGE = """\
{%- macro link(run, text) -%}
{% if run.page %}<a href='{{ run.page }}'>{{ text }}</a>{% else %}{{ text }}{% endif %}
{%- endmacro -%}
{%- macro head(columns) -%}
<div class=wide><table><thead><tr>{% for column in columns.split(", ") %}<th>{{ column }}{% endfor %}</tr></thead>
{%- endmacro -%}
{%- macro verdict(claim) -%}
<td>{% if claim %}<span class='verdict {{ claim.css }}'>{{ claim.verdict }}</span>
{%- if claim.value %}<br>{{ claim.value }}{% endif %}
{%- if claim.reason %}<br><span class=reason>{{ claim.reason }}</span>{% endif %}
{%- if claim.date %}<br>{{ claim.date }}{% endif %}
{%- if claim.older %}<br><span class=older>older</span> than the code{% endif %}{% endif %}
{%- endmacro -%}
<!DOCTYPE html><html lang=en><head><meta charset=utf-8><title>gencap report</title>
<meta name=viewport content='width=device-width'><style>
:root { color-scheme: light; }
body { font: 16px/1.5 system-ui, sans-serif; color: #1b1f24; background: #fff; max-width: 82rem; margin: 2rem auto;
  padding: 0 1.25rem; }
h1 { font-size: 1.7rem; margin-bottom: .2rem; } h2 { font-size: 1.25rem; margin: 2.2rem 0 .6rem; }
p.sub { color: #57606a; margin-top: 0; }
a { color: #0550ae; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-size: .88rem; }
th, td { text-align: left; vertical-align: top; padding: .4rem .6rem; border-bottom: 1px solid #d8dee4; }
td, p, h3 { overflow-wrap: break-word; } td { max-width: 30rem; }
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
.card div.text { padding: .6rem .8rem; border-top: 1px solid #d8dee4; font-size: .88rem; overflow-wrap: anywhere; }
.card b { font-size: .98rem; }
pre { background: #f6f8fa; border-left: 4px solid #8f1d14; padding: .8rem; overflow-x: auto; font-size: .8rem; }
</style></head><body>
<h1>gencap: what reproduces</h1>
<p class=sub>{{ runs | selectattr("status", "eq", "done") | list | length }} of {{ runs | length }} notebooks done,
{{ "%.0f" | format(runs | sum("seconds")) }} s of notebook time; written {{ now }} UTC.
{%- for line in summary.splitlines() %}<br>{{ line }}{% endfor %}</p>
{%- for run in runs if run.error %}{% if loop.first %}<h2>Failures</h2>{% endif %}
<h3>{{ link(run, run.name) }}</h3><p>{{ run.failure }}</p><pre>{{ run.error.traceback }}</pre>{% endfor %}
<h2>Notebooks</h2><div class=cards>
{%- for run in runs %}
<div class=card>{% if run.picture %}<img alt='first figure of {{ run.name }}' src='{{ run.picture }}'>
{%- else %}<div class=none>no figure</div>{% endif %}
<div class=text><b>{{ link(run, run.title or run.name) }}</b><br>{{ run.name }}: {{ run.text }}</div></div>
{%- endfor %}</div>
<h2>Claims</h2><p class=sub>Sources: 000 thesis on generalization capacity; 001 thesis on non-redundant clustering;
002 minimum transfer cost; 003 approximation set coding; 004 lecture notes on statistical learning theory. The full run
was made where the project was released, unless a full-profile run stands here; older means that library, notebook,
data, packages or rule are others now. Statements that no notebook has decided come last.</p>
{{ head("id, source, statement, published, rule, quick run, full run, notebook") }}
{%- for row, run, quick, full in rows %}
<tr><td class=id>{{ row.id }}<td>{{ row.source }}, {{ row.place }}<td>{{ row.statement }}<td>{{ row.published }}
{#- #}<td>{{ band(row) }}
{%- if run %}{{ verdict(quick) }}{{ verdict(full) }}<td>{{ link(run, run.name) }}
{%- else %}{{ verdict({"verdict": "not yet", "css": "not-yet"}) * 2 }}<td>{% endif %}</tr>
{%- endfor %}</table></div>
<h2>Runs</h2>{{ head("notebook, status, profile, seed, seconds, started (UTC), parameters") }}
{%- for run in runs %}
<tr><td>{{ link(run, run.name) }}<td>{{ run.status }}{% if run.stale %}, inputs have changed since{% endif %}
{#- #}<td>{{ run.profile }}<td>{{ run.seed }}<td>{{ "%.1f" | format(run.seconds) }}<td>{{ run.started }}
{#- #}<td>{% for name, value in run.parameters.items() %}{{ "%s=%r" | format(name, value) }}
{%- if not loop.last %}, {% endif %}{% endfor %}</tr>
{%- endfor %}</table></div>
<h2>Versions</h2>{% for made, names in versions.items() %}<p>{{ names | join(", ") }}: {{ made }}</p>{% endfor %}
</body></html>
"""


def _plain(value):
    """Text for the page: of bounded length, without control characters (nor those that turn the reading direction)."""
    if isinstance(value, Markup):
        return value
    text = re.sub("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]", "\ufffd", str(value))
    return text if len(text) <= LONGEST else f"{text[:LONGEST]} ... ({len(text)} characters)"


_TEMPLATE = Environment(autoescape=True, finalize=_plain).from_string(_PAGE)


def count(found, ledger=()):
    """Return how many claims have which verdict, in words, those of an older state apart.

    Those of the ledger that are not found are "not yet".
    """
    now, before = (Counter(c["verdict"] for c in found if bool(c.get("older")) == older) for older in (False, True))
    now["not yet"] += len(set(ledger) - {c["id"] for c in found})
    now, before = (", ".join(f"{counts[v]} {v}" for v in claims.VERDICTS if counts[v]) for counts in (now, before))
    return "; ".join(filter(None, (now, before and f"of an older state: {before}"))) or "no claims checked"


def verdicts():
    """Return what the last quick and the last full-profile runs say: twice {(id, notebook): claim}."""
    last = [runner.last_record(path, ["quick"]) for path in runner.notebooks()]
    last = [r for r in last if r and r["status"] == "done"]
    quick = [c | {"notebook": r["notebook"], "older": r["stale"]} for r in last for c in r["claims"]]
    quick = [c for c in quick if c["id"] in claims.published()]
    return [{(c["id"], _name(c)): c for c in found} for found in (quick, runner.full_claims())]


def summary():
    """Return how many claims got which verdict in the quick and in the full run, and which runs cannot be read."""
    quick, full = (list(found.values()) for found in verdicts())
    dates = sorted({c["date"] for c in full})
    when = f" of {' to '.join(sorted({dates[0], dates[-1]}))}" if dates else ""
    ledger, here = claims.published(), project_folder()
    files = sorted((here / "build" / "runs").rglob("run.json"))
    lost = [f.relative_to(here).as_posix() for f in files if not runner.read_record(f)]
    lines = [f"quick run: {count(quick, ledger)}", f"full run{when}: {count(full, ledger)}"]
    return "\n".join(lines + [f"cannot be read as a run: {', '.join(lost)}"] * bool(lost))


def write(records):
    """Write build/report.html from the runs' records; return its path."""
    runs = [_run(r) for r in records]
    names, (quick, full) = {run["name"]: run for run in runs}, verdicts()
    places, versions = {}, {}
    for id, name in sorted(quick.keys() | full.keys()):
        places.setdefault(id, []).append(name)
    rows = [
        (row, names.get(name, {"name": name}) if name else None, _cell(quick, row, name), _cell(full, row, name))
        for row in sorted(claims.published().values(), key=lambda row: row["id"] not in places)
        for name in places.get(row["id"], [""])
    ]
    for run in [*runs, *(c | {"name": f"{_name(c)} (full)"} for c in full.values())]:
        made = ", ".join(f"{k} {v}" for k, v in run.get("versions", {}).items())
        versions.setdefault(made or "not run", {})[run["name"]] = None
    said = {"summary": summary(), "now": f"{datetime.now(UTC):%Y-%m-%d %H:%M}"}
    page = project_folder() / "build" / "report.html"
    with replacing(page, "w") as stream:
        stream.write(_TEMPLATE.render(runs=runs, rows=rows, versions=versions, band=claims.band, **said))
    return page


def _name(record):
    return PurePath(record["notebook"]).stem


def _cell(found, row, name):
    """What the page shows of a claim."""
    if claim := found.get((row["id"], name)):
        css = re.sub(r"\W+", "-", claim["verdict"]).strip("-")
        return claim | {"css": css, "value": claims.show(claim["obtained"])}


def _run(record):
    """What the page shows of a run."""
    started = record.get("started", "").removesuffix("+00:00").replace("T", " ")
    run = record | {"name": _name(record), "started": started}
    failed, older = record["status"] == "failed", record.get("stale")
    status = "failed" if failed else count([c | {"older": older} for c in record["claims"]])
    run["text"] = f"{record['seconds']:.0f} s, {status}"
    if failed:
        error = record["error"]
        cell = "" if error["cell"] is None else f"cell {error['cell']} raised "
        run["failure"] = f"{cell}{error['name']}: {error['message']}"
    with contextlib.suppress(Exception):  # a name, a title or a picture: nothing of these ends a report
        folder = runner.run_folder(project_folder() / record["notebook"], record["parameters"])
        stem = "failed-" * failed + run["name"]
        if (page := folder / f"{stem}.html").exists():
            run["page"] = quote(os.fsencode(page.relative_to(project_folder() / "build").as_posix()))
        notebook = json.loads((folder / f"{stem}.ipynb").read_text(encoding="utf-8"))
        text = "\n".join("".join(c["source"]) for c in notebook["cells"] if c["cell_type"] == "markdown")
        run["title"] = (re.search("^# (.*)", text, re.MULTILINE) or [None, None])[1]
        run["picture"] = _picture(notebook)
    return run


def _picture(notebook):
    """The first figure that can be drawn as a small data address."""
    from PIL import Image

    for output in (o for c in notebook["cells"] for o in c.get("outputs", [])):
        with contextlib.suppress(Exception):
            data = base64.b64decode("".join(output["data"]["image/png"]))
            picture = Image.open(io.BytesIO(data)).convert("RGBA")
            picture = Image.alpha_composite(Image.new("RGBA", picture.size, "white"), picture).convert("RGB")
            picture.thumbnail((560, 360))
            small = io.BytesIO()
            picture.save(small, "JPEG", quality=82)
            return Markup("data:image/jpeg;base64,") + base64.b64encode(small.getvalue()).decode()
