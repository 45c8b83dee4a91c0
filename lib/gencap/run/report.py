"""build/report.html: one page without scripts that shows every claim, notebook, run, version, time and failure.

The page's template escapes all that it is given. What cannot be read or drawn is named or left out; the rest stands.
"""

import contextlib
import json
import os
import re
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path, PurePath
from urllib.parse import quote

from jinja2 import Environment, FileSystemLoader
from markupsafe import Markup

from ..resources import project_folder, replacing
from . import claims, runner

LONGEST = 20_000  # characters of one entry; a longer one would make the page unusable


def _plain(value):
    """Text for the page: of bounded length, without control characters (nor those that turn the reading direction)."""
    if isinstance(value, Markup):
        return value
    text = re.sub("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]", "\ufffd", str(value))
    return text if len(text) <= LONGEST else f"{text[:LONGEST]} ... ({len(text)} characters)"


def count(found, ledger=()):
    """Return how many claims have which verdict, in words, those of an older state apart.

    Those of the ledger that are not found are "not yet".
    """
    now, before = (Counter(c["verdict"] for c in found if bool(c.get("older")) == older) for older in (False, True))
    now["not yet"] += len(set(ledger) - {c["id"] for c in found})
    now, before = (", ".join(f"{counts[v]} {v}" for v in claims.VERDICTS if counts[v]) for counts in (now, before))
    return "; ".join(filter(None, (now, before and f"of an older state: {before}"))) or "no claims checked"


_TEMPLATE = Environment(autoescape=True, finalize=_plain, loader=FileSystemLoader(Path(__file__).parent))
_TEMPLATE.globals |= {"count": count, "band": claims.band, "show": claims.show, "failure": runner.failure}


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
    quick, full = verdicts()
    runs = {run["name"]: run for run in map(_run, records)}
    made = [*runs.values(), *(claim | {"name": f"{_name(claim)} (full)"} for claim in full.values())]
    made = [(run["name"], ", ".join(f"{k} {v}" for k, v in run["versions"].items())) for run in made]
    given = {"quick": quick, "full": full, "decided": sorted(quick.keys() | full.keys()), "runs": runs, "made": made}
    given |= {"ledger": claims.published(), "summary": summary(), "now": f"{datetime.now(UTC):%Y-%m-%d %H:%M}"}
    page = project_folder() / "build" / "report.html"
    with replacing(page, "w") as stream:
        stream.write(_TEMPLATE.get_template("report.html.j2").render(given))
    return page


def _name(record):
    return PurePath(record["notebook"]).stem


def _run(record):
    """What the page shows of a run."""
    failed = record["status"] == "failed"
    run = record | {"name": _name(record)}
    run["claims"] = [claim | {"older": record.get("stale")} for claim in record["claims"]]
    with contextlib.suppress(Exception):  # a name, a title or a picture: nothing of these ends a report
        kept = runner.kept_notebook(project_folder() / record["notebook"], record["parameters"], failed)
        if (page := kept.with_suffix(".html")).exists():
            run["page"] = quote(os.fsencode(page.relative_to(project_folder() / "build").as_posix()))
        notebook = json.loads(kept.read_text(encoding="utf-8"))
        text = "\n".join("".join(c["source"]) for c in notebook["cells"] if c["cell_type"] == "markdown")
        run["title"] = next(iter(re.findall("^# (.*)", text, re.MULTILINE)), None)
        run["picture"], run["words"] = _picture(notebook)
    return run


def _picture(notebook):
    """The first figure that can be drawn as a small data address, and its alternative text."""
    from .saving import encoded, on_white

    for output in (o for c in notebook["cells"] for o in c.get("outputs", [])):
        with contextlib.suppress(Exception):
            picture = on_white("".join(output["data"]["image/png"]))
            picture.thumbnail((560, 360))
            words = output.get("metadata", {}).get("image/png", {}).get("alt")
            return Markup("data:image/jpeg;base64,") + encoded(picture, "JPEG", quality=82), words
    return None, None
