"""The form of a lesson: `violations` says what a notebook lacks, `row` measures it; both only read what they are given.

Run as a script for the table and the list: python tests/unit/lessons.py [notebooks...]
"""

import base64
import csv
import functools
import json
import re
import statistics
import struct
import sys
from collections import namedtuple
from pathlib import Path

import nbformat

PROJECT = Path(__file__).parents[2]
LESSONS = sorted((PROJECT / "notebooks").glob("[0-9][0-9]_*.ipynb"))
GLOSSARY = "02_from_weights_to_bits.ipynb"
PARTS = {
    "Foundations": range(0, 5),
    "Vectors": [*range(5, 9), 18, 28],
    "Graphs and similarities": range(9, 15),
    "Real data": (15, 16, 19),
    "Other yardsticks": (17,),
    "Non-redundant clustering": range(20, 26),
    "Distributions and fields": (26, 27),
    "Your own": (29, 30),
}
HEADER = ("You will find out.", "You need.", "You will be able to", "Minutes.", "Source.", "Part.")
MEDIAN, LONGEST, COLUMNS, DPI, BYTES = 4, 12, 88, 110, 500_000
VIEW = "application/vnd.jupyter.widget-view+json"
Violation = namedtuple("Violation", "cell rule sentence")

_MATHS = r"\$\$.*?\$\$|\\begin\{(\w+\*?)\}.*?\\end\{\1\}|\$[^$\n]+(?:\n[^$\n]+)*\$"
_ASIDE = rf"(?s:```.*?```|`[^`]*`|{_MATHS})|!?\[[^\]]*\]\([^)]*\)|<[^>]+>|https?://\S+|(?i:doi|arxiv):\S+"
_PLACE = r"\b(?:(?:Eq|Fig)s?\.|(?:Equation|Figure|Table|Algorithm|Exercise|[Cc]hapter|[Ss]ection|[Ll]esson)s?)"
_AND = r"(?:\s*[,;–-]\s*|,?\s+(?:and|or|to)\s+)"


def _places(item):
    return rf"{_PLACE}[\s*]*\(?{item}(?:{_AND}{item})*"


# Sections (9.1, 9.2) and whole numbers (20, 21b-d) apart: in "Fig. 20, 1.44 bits" only the first names a place.
_SECTION = r"[A-Z]?[0-9]+(?:[.][0-9]+)+"
_WHOLE = r"[0-9]+(?:[a-z](?:[-–][a-z])?)?(?![0-9]|[.][0-9]| ?%)"
_REFERENCE = rf"{_places(_SECTION)}|{_places(_WHOLE)}"
_NUMBER = r"(?<![\w.])([-−]?)(\d{1,3}(?:,\d{3})+(?![\d,])(?:\.\d+)?|\d+(?:\.\d+)?|\.\d+)"
_NUMBER += r"([eE][-+]?\d+)?(?!\.?\d)(\s?%)?"


def folded(cell):
    return bool(cell.metadata.get("jupyter", {}).get("source_hidden")) or "hide-input" in tags(cell)


def tags(cell):
    return cell.metadata.get("tags", [])


def visible(notebook):
    """Pairs (index, cell) of the code that the reader sees and did not write."""
    for n, cell in enumerate(notebook.cells):
        if cell.cell_type == "code" and not folded(cell) and not {"parameters", "exercise"} & set(tags(cell)):
            yield n, cell


def markdown(notebook):
    return [(n, cell.source) for n, cell in enumerate(notebook.cells) if cell.cell_type == "markdown"]


def paragraphs(source):
    return [part.strip() for part in re.split(r"\n\s*\n", source) if part.strip()]


def sentences(text):
    text = re.sub(rf"\b(?:Eqs?|Figs?|e\.g|i\.e)\.|{_ASIDE}", "x", text)
    return len(re.findall(r"[.!?][\"')*]*(?=\s+[^a-z\s]|\s*$)", text))


def lines(cell):
    return [line for line in cell.source.splitlines() if line.strip()]


def headings(notebook):
    """Pairs (index, text) of the headings of second order."""
    sources = ((n, re.sub(r"(?s)```.*?```", "", source)) for n, source in markdown(notebook))
    return [(n, text.strip()) for n, source in sources for text in re.findall(r"(?m)^## +(.+)$", source)]


def begins(notebook, heading):
    """Index of the cell with this heading, behind the last cell if there is none."""
    return next((n for n, text in headings(notebook) if text == heading), len(notebook.cells))


def printed(cell):
    """What a cell shows as text."""
    for output in cell.get("outputs", []):
        data = output.get("data", {})
        yield output.get("text", "")
        yield "" if "image/png" in data or VIEW in data else data.get("text/plain", "")
        yield re.sub(r"<style.*?</style>|<[^>]+>", " ", data.get("text/html", ""), flags=re.S)


def pictures(cell):
    """The PNG pictures of a cell as bytes; an explorer is none."""
    shown = (output.get("data", {}) for output in cell.get("outputs", []))
    return [base64.b64decode(data["image/png"]) for data in shown if "image/png" in data and VIEW not in data]


def dots_per_inch(png):
    """From the chunk pHYs; None if there is none."""
    at = png.find(b"pHYs")
    return None if at < 0 else round(struct.unpack(">I", png[at + 4 : at + 8])[0] * 0.0254)


def exercises(notebook):
    """Triples (index, number, text) of the exercises."""
    found = []
    for n, source in markdown(notebook):
        for text in re.split(r"(?m)^(?=\*\*Exercise )", source)[1:]:
            title = re.match(r"\*\*Exercise (\d+\.\d+)\*\* \((\d+) minutes?\)\.", text)
            found.append((n, title and title[1], text))
    return found


def minutes(notebook):
    found = re.search(r"\*\*Minutes\.\*\* *(\d+)", notebook.cells[0].source)
    return int(found[1]) if found else 0


# Numbers ------------------------------------------------------------------------------------------------------------


def numbers(text):
    """Yield (as written, value, decimals) for every number; a percentage also as a share."""
    for found in re.finditer(_NUMBER, text):
        sign, digits, power, percent = found.groups()
        value = float(digits.replace(",", "") + (power or "")) * (-1 if sign else 1)
        decimals = len(digits.partition(".")[2]) - int((power or "e0")[1:])
        yield found[0].strip(), value, decimals
        if percent:
            yield found[0].strip(), value / 100, decimals + 2


def prose(source):
    """Text without what the rule of numbers leaves out."""
    text = re.sub(r"(?m)^#+ +(?:Appendix:? *)?[\d.]+", "", re.sub(_ASIDE, " ¤ ", source))
    return re.sub(_REFERENCE, " ¤ ", text)


def decimal_numbers(source):
    """{as written: [(value, decimals), ...]} of the numbers with decimals in the prose of a markdown source."""
    found = {}
    for written, value, decimals in numbers(prose(source)):
        if "." in written:
            found.setdefault(written, []).append((value, decimals))
    return found


def is_printed(readings, known):
    """Whether one reading is a known number at the precision of the prose; without a sign either sign will do."""
    for value, decimals in readings:
        near = 0.5 * 10.0**-decimals * (1 + 1e-6) + 1e-12
        if any(abs(value - k) <= near or (value > 0 and abs(value + k) <= near) for k in known):
            return True
    return False


def outputs_numbers(cells):
    return {value for cell in cells for text in printed(cell) for _, value, _ in numbers(text)}


@functools.cache
def ledger():
    with open(PROJECT / "data/published/claims.csv", encoding="utf-8", newline="") as stream:
        return {row["id"]: " ; ".join(row.values()) for row in csv.DictReader(stream)}


@functools.cache
def results():
    return json.loads((PROJECT / "data/results/full.json").read_text(encoding="utf-8"))


def parameters(notebook):
    """Numbers of the parameters, with their ranges."""
    texts = (cell.source.replace("..", " ") for cell in notebook.cells if "parameters" in tags(cell))
    return {value for text in texts for _, value, _ in numbers(text)}


def decided(notebook):
    """Numbers of the ledger's rows that the notebook names."""
    code = " ".join(cell.source for cell in notebook.cells if cell.cell_type == "code")
    rows = (ledger().get(name, "") for name in set(re.findall(r"[\"']([\w-]+)[\"']", code)))
    return {value for row in rows for _, value, _ in numbers(row)}


def unprinted(notebook, name="", other=None):
    """Pairs (index, number as written) of decimal numbers in the prose that nothing in the notebook gives.

    A cell that names data/results may quote its lesson's records there, a solution the outputs of its lesson, `other`.
    """
    known = parameters(notebook) | decided(notebook) | outputs_numbers(notebook.cells + (other.cells if other else []))
    # In a late lesson "(14.8)" is its section; in an early one "3.2" could be bits, and "section 3.2" is due.
    sections = {text.split()[0] for _, text in headings(notebook) if re.match(r"\d\d\.", text)}
    for n, source in markdown(notebook):
        kept = json.dumps(results().get(name, {}).get("claims", [])) if "data/results" in source else ""
        here = known | {value for _, value, _ in numbers(kept)}
        for written, readings in decimal_numbers(source).items():
            if written not in sections and not is_printed(readings, here):
                yield n, written


# Rules: each yields (index of the cell, sentence) -------------------------------------------------------------------


def rule_header(notebook, number, **_):
    source, texts = notebook.cells[0].source, {}
    if not re.match(rf"# {number}\. \S", source):
        yield 0, f"the title does not begin with '# {number}. '"
    at = [source.find(f"\n**{name}**") for name in HEADER]
    for name, place in zip(HEADER, at, strict=True):
        if place < 0:
            yield 0, f"no paragraph begins with **{name}**"
        end = min([other for other in at if other > place], default=len(source))
        texts[name] = source[place + len(name) + 5 : end] if place >= 0 else None
    if at != sorted(at) and -1 not in at:
        yield 0, "the paragraphs of the header are in another order"
    found, need, able, _, origin, part = texts.values()
    if found and sentences(found) != 2:
        yield 0, f"{sentences(found)} sentences instead of 2 say what you will find out"
    if need and number and ".ipynb)" not in need:
        yield 0, "what you need has no link to a lesson"
    if able and len(re.findall(r"(?m)^[-*] ", able)) != 3:
        yield 0, "what you will be able to do is not a list of three"
    if origin and not re.search(r"\b(19|20)\d\d\b", origin):
        yield 0, "the source has no year"
    if part and number in sum(map(list, PARTS.values()), []):
        if not any(number in numbers and part.strip().startswith(name) for name, numbers in PARTS.items()):
            yield 0, "the part is not the one of this number"
    if part and ".ipynb)" not in part:
        yield 0, "the part has no link to the previous or next lesson"
    if not 30 <= minutes(notebook) <= 60:
        yield 0, f"{minutes(notebook)} minutes are not 30 to 60"


def rule_parameters(notebook, number, **_):
    given = [n for n, cell in enumerate(notebook.cells) if "parameters" in tags(cell)]
    if len(given) != 1:
        yield 0, f"{len(given)} cells are tagged parameters"
        return
    for line in lines(notebook.cells[given[0]]):
        if not re.fullmatch(r"\w+: [^|=]+ = .+?  # \S[^|]*", line):
            yield given[0], f"not 'name: type = default  # meaning, range': {line}"
    after = notebook.cells[given[0] + 1 :]
    first = next((cell for cell in after if cell.cell_type == "code"), None)
    if first is None or "gc.profile(profile)" not in first.source:
        yield given[0] + 1, "the first code after the parameters does not call gc.profile(profile)"
    if number > 2:
        words = [(n, source) for n, source in markdown(notebook) if source.startswith("**Words.**")]
        if not words:
            yield given[0] + 1, "no cell begins with **Words.**"
        if not any(GLOSSARY in source for _, source in words):
            yield given[0] + 1, f"**Words.** does not link to {GLOSSARY}"


def rule_headings(notebook, number, **_):
    texts = [text for _, text in headings(notebook)]
    sections = [text for text in texts if re.match(r"\d", text)]
    for k, text in enumerate(sections, 1):
        if not re.match(rf"{number}\.{k} \S", text):
            yield next(n for n, t in headings(notebook) if t == text), f"section {number}.{k} is called '{text}'"
    known = {"What to remember": "R", "Exercises": "E", "Claims": "C", "Glossary": "G"}
    kinds = [known.get(t) or ("s" if t in sections else "A" if t.startswith("Appendix: ") else "?") for t in texts]
    kinds = "".join(kinds)
    if not re.fullmatch("s+RG?A*G?EG?CG?" if number == 2 else "s+RA*EC", kinds):
        yield 0, "headings are not sections, What to remember, Appendix: ..., Exercises, Claims: " + "; ".join(texts)
    if number == 2 and "G" not in kinds:
        yield 0, "no heading ## Glossary"


def rule_code(notebook, **_):
    counts = [len(lines(cell)) for _, cell in visible(notebook)]
    if counts and statistics.median(counts) > MEDIAN:
        yield 0, f"the median visible cell has {statistics.median(counts):g} lines, {MEDIAN} are allowed"
    for n, cell in visible(notebook):
        if len(lines(cell)) > LONGEST:
            yield n, f"{len(lines(cell))} visible lines, {LONGEST} are allowed"
        if (longest := max(map(len, lines(cell)), default=0)) > COLUMNS:
            yield n, f"a line of {longest} columns, {COLUMNS} are allowed"
    for n, cell in enumerate(notebook.cells):
        if folded(cell) and not (cell.metadata.get("jupyter", {}).get("source_hidden") and "hide-input" in tags(cell)):
            yield n, "folded by half: source_hidden and the tag hide-input belong together"


def rule_booleans(notebook, **_):
    for n, cell in visible(notebook):
        shown = "\n".join(printed(cell)).splitlines()
        if found := [line.strip() for line in shown if re.search(r"\b(?:True|False)\b", line)]:
            yield n, f"prints a boolean: {found[0][:60]}"


def rounds(notebook):
    """Triples (index of the prediction, indices of its code, index of what was seen or None)."""
    for n, source in markdown(notebook):
        if re.search(r"(?m)^\*\*Predict\.\*\*", source):
            end = next((m for m, _ in markdown(notebook) if m > n), len(notebook.cells))
            seen = end < len(notebook.cells) and notebook.cells[end].source.startswith("**Seen.**")
            yield n, range(n + 1, end), end if seen else None


def rule_predictions(notebook, **_):
    good, code = 0, {n for n, _ in visible(notebook)}
    for n, run, seen in rounds(notebook):
        wrong = []
        last = paragraphs(notebook.cells[n].source)[-1]
        if not (last.startswith("**Predict.**") and last.endswith("?")):
            wrong.append((n, "the cell does not end in **Predict.** and a question"))
        if not code & set(run):
            wrong.append((n, "no visible code answers the prediction"))
        if seen is None:
            wrong.append((n, "no **Seen.** follows the code that answers the prediction"))
        else:
            text = paragraphs(notebook.cells[seen].source)[0].removeprefix("**Seen.**")
            if sentences(text) not in (1, 2):
                wrong.append((seen, f"**Seen.** has {sentences(text)} sentences, one or two are allowed"))
            cells = [notebook.cells[m] for m in run]
            known = outputs_numbers(cells) | parameters(notebook)
            for written, readings in decimal_numbers(text).items():
                if not is_printed(readings, known):
                    wrong.append((seen, f"{written} is not printed by the cell that answers the prediction"))
        good += not wrong
        yield from wrong
    if good < 3:
        yield 0, f"{good} complete rounds of prediction, three are due"


def rule_figures(notebook, number, **_):
    drawn = [(n, png) for n, cell in enumerate(notebook.cells) for png in pictures(cell)]
    drawn += [(n, None) for n, source in markdown(notebook) for _ in re.findall(r"!\[", source)]
    drawn.sort(key=lambda pair: pair[0])
    captions = []
    for n, source in markdown(notebook):
        parts = paragraphs(source)
        edge = [bool(re.match(r"\*\*(Figure|Seen\.|Predict\.)|#|!\[", part)) for part in parts]
        for k, part in enumerate(parts):
            if found := re.match(r"\*\*Figure (\d+\.\d+)\*\*", part):
                captions.append((n, found[1]))
                if not re.match(r"\*\*Figure [\d.]+\*\* \((?=.*(?:ours|source)).+?\)\. \S", part):
                    yield n, f"Figure {found[1]} lacks '(source Fig. ...).' or '(ours).' or what to see"
                if not (all(edge[:k]) or all(edge[k:])):
                    yield n, f"Figure {found[1]} stands neither at the beginning nor at the end of its cell"
    if [found for _, found in captions] != [f"{number}.{k}" for k in range(1, len(captions) + 1)]:
        yield 0, "figures are not numbered one after the other: " + ", ".join(found for _, found in captions)
    if len(captions) != len(drawn):
        yield 0, f"{len(drawn)} pictures have {len(captions)} numbers"
    for (n, _), (m, found) in zip(drawn, captions, strict=False):
        if any(min(n, m) < k < max(n, m) for k, _ in markdown(notebook)):
            yield m, f"Figure {found} does not stand next to its picture in cell {n}"


def rule_dpi(notebook, **_):
    for n, cell in enumerate(notebook.cells):
        for found in map(dots_per_inch, pictures(cell)):
            if found is None:
                yield n, "a picture does not say its dpi: save it again"
            elif found < DPI:
                yield n, f"a picture has {found} dpi, at least {DPI} are due"


def rule_size(notebook, **_):
    if (size := len(nbformat.writes(notebook).encode())) >= BYTES:
        yield 0, f"{size / 1000:.0f} KB, less than {BYTES / 1000:.0f} are allowed"


def rule_remember(notebook, **_):
    start = begins(notebook, "What to remember")
    if start < len(notebook.cells):
        text = re.split(r"(?m)^## ", notebook.cells[start].source.split("## What to remember")[1])[0]
        marks = [bool(re.match("[-*] ", line)) for line in text.splitlines() if line.strip()]
        if marks != [True] * 3:
            yield start, f"{sum(marks)} bullets in {len(marks)} lines, exactly three lines are due"


def rule_exercises(notebook, number, **_):
    found, end = exercises(notebook), begins(notebook, "Exercises")
    if len(found) not in (5, 6):
        yield end, f"{len(found)} exercises, 5 or 6 are due"
    for k, (n, name, text) in enumerate(found, 1):
        if name != f"{number}.{k}":
            yield n, f"no title '**Exercise {number}.{k}** (m minutes).': {text[:40]!r}"
    inside = [n for n, _, _ in found if n < begins(notebook, "What to remember")]
    if len(inside) != 2:
        yield end, f"{len(inside)} exercises stand inside the text, two are due"
    if any(begins(notebook, "What to remember") <= n < end for n, _, _ in found):
        yield end, "an exercise stands between the text and ## Exercises"
    for n in inside:
        empty, answer = (notebook.cells[n + 1 : n + 3] + [None, None])[:2]
        if not (empty and "exercise" in tags(empty) and not empty.source.strip()):
            yield n, "no empty code cell tagged exercise follows"
        jupyter = answer.metadata.get("jupyter", {}) if answer else {}
        if not (answer and folded(answer) and jupyter.get("outputs_hidden")):
            yield n, "no folded cell with hidden outputs follows the empty one"
        elif not outputs_numbers([answer]):
            yield n, "the folded cell prints no expected number"
    texts = " ".join(text for _, _, text in found)
    if found and not re.search(r"(?i)\b(derive|prove|proof|derivation|show that)\b", texts):
        yield end, "no exercise is a proof or a derivation"
    if found and not re.search(r"(?i)\b(own data|your data|data of your own)\b", texts):
        yield end, "no exercise goes to own data"


def rule_claims(notebook, **_):
    start = begins(notebook, "Claims")
    for n, cell in enumerate(notebook.cells):
        if cell.cell_type == "code" and n < start and "claims.check(" in cell.source:
            yield n, "a claim is decided before ## Claims"
        if cell.cell_type == "code" and n > start and not folded(cell):
            yield n, "a cell below ## Claims is not folded"


def rule_numbers(notebook, name, **_):
    for n, written in unprinted(notebook, name):
        yield n, f"{written} is in no output, parameter or row of the ledger (a section is called 'section {written}')"


def rule_solutions(notebook, number, solutions, **_):
    if solutions is None:
        yield 0, "there is no notebook with solutions"
        return
    title = notebook.cells[0].source.partition("\n")[0].removeprefix("# ")
    if solutions.cells[0].source.partition("\n")[0] != f"# Solutions to lesson {title}":
        yield 0, "the solutions are not called '# Solutions to lesson' and the title"
    asked = [f"Exercise {name}" for _, name, _ in exercises(notebook)]
    if asked != (answered := [text for _, text in headings(solutions)]):
        yield 0, f"solutions answer {', '.join(answered) or 'nothing'}"
    for n, cell in enumerate(solutions.cells):
        if cell.cell_type == "code" and cell.source.strip() and cell.execution_count is None:
            yield 0, f"cell {n} of the solutions was not executed"
        if cell.cell_type == "code" and max(map(len, lines(cell)), default=0) > COLUMNS:
            yield 0, f"cell {n} of the solutions has more than {COLUMNS} columns"
    for n, written in unprinted(solutions, other=notebook):
        yield 0, f"{written} in cell {n} of the solutions is in no output or parameter"


RULES = {name.removeprefix("rule_"): rule for name, rule in globals().items() if name.startswith("rule_")}


def violations(notebook, name, solutions=None):
    """What a lesson lacks: a list of Violation(cell, rule, sentence).

    `name` is the file's name, which begins with the lesson's number; `solutions` the notebook with its solutions.
    """
    given = {"number": int(name[:2]), "name": name, "solutions": solutions}
    return [Violation(n, kind, text) for kind, rule in RULES.items() for n, text in rule(notebook, **given)]


def row(notebook, name, solutions=None):
    """One row of the table of lessons."""
    counts = [len(lines(cell)) for _, cell in visible(notebook)] or [0]
    answered = {text for _, text in headings(solutions)} if solutions else set()
    return {
        "lesson": name[:2],
        "minutes": minutes(notebook),
        "words": sum(len(re.findall(r"[A-Za-z]\w*", re.sub(_ASIDE, " ", source))) for _, source in markdown(notebook)),
        "cells": len(counts),
        "median": f"{statistics.median(counts):g}",
        "longest": max(counts),
        "figures": sum(len(pictures(cell)) for cell in notebook.cells),
        "exercises": len(exercises(notebook)),
        "solved": sum(f"Exercise {found}" in answered for _, found, _ in exercises(notebook)),
        "KB": round(len(nbformat.writes(notebook).encode()) / 1000),
    }


def read(path):
    """(notebook, file's name, solutions or None)."""
    other = path.parent / "solutions" / path.name
    return nbformat.read(path, 4), path.name, nbformat.read(other, 4) if other.exists() else None


def main(paths):
    given = [read(Path(path)) for path in paths or LESSONS]
    table = [row(*lesson) for lesson in given]
    print(*table[0])
    for measured in table:
        print(*(f"{value!s:>{len(key)}}" for key, value in measured.items()))
    for lesson in given:
        for found in violations(*lesson):
            print(f"{lesson[1][:2]} cell {found.cell} {found.rule}: {found.sentence}")


if __name__ == "__main__":
    main(sys.argv[1:])
