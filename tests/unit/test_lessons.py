"""Every lesson has the form of `lessons`, and the form is checked: a made-up lesson is right, each mutation is not."""

import base64
import copy
import csv
import io

import lessons
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output
from PIL import Image


@pytest.mark.parametrize("path", lessons.LESSONS, ids=lambda path: path.stem)
def test_a_lesson_has_the_form(path):
    assert lessons.violations(*lessons.read(path)) == []


def test_no_picture_is_without_words():
    notebooks = {path: lessons.read(path) for path in lessons.LESSONS}
    given = [(path.name, one) for path, (lesson, _, answers) in notebooks.items() for one in (lesson, answers)]
    assert [(name, *found) for name, one in given for found in lessons.undescribed(one)] == []
    assert sum(len(list(lessons.alternatives(one))) for _, one in given) > 190


def test_every_section_of_the_lecture_notes_has_a_place_or_a_reason():
    """Document 004: chapters with the numbers of their sections."""
    sizes = {1: 1, 2: 2, 3: 6, 4: 4, 5: 4, 6: 6, 7: 3, 8: 5, 9: 11}
    wanted = {str(c) for c in sizes} | {f"{c}.{k}" for c, n in sizes.items() for k in range(1, n + 1)}
    with open(lessons.PROJECT / "data/published/sections_004.csv", encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert {row["section"] for row in rows} == wanted and all(row["place"] or row["reason"] for row in rows)
    cells = set()
    for path in lessons.LESSONS:
        notebook = lessons.read(path)[0]
        cells |= {(path.name, text, notebook.cells[n].id) for n, text in lessons.headings(notebook)}
    assert [row for row in rows if row["place"] and (row["lesson"], row["place"], row["cell"]) not in cells] == []


FOLDED = {"jupyter": {"source_hidden": True}, "tags": ["hide-input"]}
HEADER = """# 9. A title

**You will find out.** One thing. Another thing.

**You need.** [Lesson 2](02_from_weights_to_bits.ipynb).

**You will be able to**
- draw
- count
- doubt

**Minutes.** 45

**Source.** A. Author, A title, 2013, chapter 6, Figs. 18 to 22.

**Part.** Graphs and similarities. Next: [10](10_normalized_and_ratio_cut.ipynb)."""


def png(dpi=110):
    stream = io.BytesIO()
    Image.new("P", (4, 4)).save(stream, "png", dpi=dpi and (dpi, dpi))
    return base64.b64encode(stream.getvalue()).decode()


def code(source, *printed, picture=None, **metadata):
    outputs = [new_output("stream", text=text) for text in printed]
    if picture:
        words = {"image/png": {"alt": f"A curve up to 2.44 in {source}{printed}"}}  # 2.44: not printed, so no output
        data = {"image/png": picture, "text/plain": "<Figure 1.77>"}
        outputs.append(new_output("display_data", data, metadata=words))
    return new_code_cell(source, outputs=outputs, metadata=copy.deepcopy(metadata), execution_count=1)


def correct():
    """A small lesson 9 without a fault, its file's name and its solutions."""
    cells = [
        HEADER,
        code('profile: str = "quick"  # one of: quick, full\nnoise: float = 0.3  # share, 0..1', tags=["parameters"]),
        code("import gencap as gc\ngc.profile(profile)"),
        "**Words.** H and the rest: [lesson 2](02_from_weights_to_bits.ipynb).",
    ]
    for k in (1, 2, 3):
        cells += [
            f"## 9.{k} A section\n\nNoise is .3, $x = 7.77$, Eqs. 9.1, 9.2 and `y=8.88`.\n\n**Predict.** How many?",
            code("gc.plots.curve(x)", f"{k}.4412 bits, 12.5%\n", picture=png()),
            f"**Seen.** It is {k}.44 bits. Good.\n\n**Figure 9.{k}** (source Fig. 20). A curve goes up.",
        ]
    for k in (1, 2):
        cells += [
            f"**Exercise 9.{k}** (5 minutes). Change it.",
            new_code_cell("", metadata={"tags": ["exercise"]}),
            code("expected", "2.5\n", jupyter={"source_hidden": True, "outputs_hidden": True}, tags=["hide-input"]),
        ]
    cells += [
        "## What to remember\n\n- one\n- two\n- three",
        "## Exercises\n\n**Exercise 9.3** (9 minutes). Prove it.\n\n**Exercise 9.4** (9 minutes). Take your own data.",
        "**Exercise 9.5** (1 minute). Think.",
        "## Claims\n\nThe rule says sd .2 of the side.",
        code('gc.claims.check("mtc-gmm-easy", [3])', "reproduced\n", **FOLDED),
    ]
    answers = [f"## Exercise 9.{k}\n\nIt is 2.5." for k in range(1, 6)]
    answers = ["# Solutions to lesson 9. A title", *answers, code("1", "7\n")]
    both = ([new_markdown_cell(c) if isinstance(c, str) else c for c in given] for given in (cells, answers))
    lesson, solutions = (new_notebook(cells=list(given)) for given in both)
    return lesson, "09_made_up.ipynb", solutions


def test_the_made_up_lesson_is_right():
    lesson, name, solutions = correct()
    assert lessons.violations(lesson, name, solutions) == []
    measured = lessons.row(lesson, name, solutions)
    assert (measured["minutes"], measured["cells"], measured["longest"], measured["figures"]) == (45, 4, 2, 3)
    assert measured["exercises"] == measured["solved"] == 5


def replaced(old, new, solutions=False):
    """A mutation: the text in place of the other in the first cell that has it."""

    def change(lesson, answers):
        cell = next(cell for cell in (answers if solutions else lesson).cells if old in cell.source)
        cell.source = cell.source.replace(old, new, 1)

    return change


def at(start, /, **new):
    """A mutation: other fields of the first code cell that begins so."""

    def change(lesson, answers):
        cell = next(cell for cell in lesson.cells if cell.cell_type == "code" and cell.source.startswith(start))
        cell.update(copy.deepcopy(new))

    return change


def moved(start, place):
    """A mutation: the cell that begins so goes elsewhere, or away."""

    def change(lesson, answers):
        cell = next(cell for cell in lesson.cells if cell.source.startswith(start))
        lesson.cells.remove(cell)
        if place is not None:
            lesson.cells.insert(place, cell)

    return change


def described(lesson, metadata):
    """The second picture gets other words."""
    shown = [
        output for cell in lesson.cells for output in cell.get("outputs", []) if "image/png" in output.get("data", {})
    ]
    shown[1].metadata = metadata


def shows(picture):
    return at("gc.plots", outputs=code("", "1.4412\n", picture=picture).outputs)


MUTATIONS = [
    ("header", "the title", replaced("# 9.", "# 09.")),
    *(("header", f"begins with **{name}**", replaced(f"**{name}**", name)) for name in lessons.HEADER),
    ("header", "another order", replaced("**You need.**", "**Minutes.** 40\n\n**You need.**")),
    ("header", "1 sentences", replaced(" Another thing.", "")),
    ("header", "you need has no link", replaced("[Lesson 2](02_from_weights_to_bits.ipynb)", "Lesson 2")),
    ("header", "list of three", replaced("- doubt\n", "")),
    ("header", "no year", replaced("2013", "some day")),
    ("header", "not the one of this number", replaced("Graphs and similarities", "Vectors")),
    ("header", "the part has no link", replaced("[10](10_normalized_and_ratio_cut.ipynb)", "10")),
    ("header", "25 minutes", replaced("45", "25")),
    ("parameters", "0 cells", at("profile", metadata={})),
    ("parameters", "not 'name", replaced("  # share, 0..1", "")),
    ("parameters", "not 'name", replaced("share", "one | two")),
    ("parameters", "gc.profile", replaced("gc.profile(profile)", "pass")),
    ("parameters", "no cell begins", replaced("**Words.** H", "H")),
    ("parameters", "does not link", replaced("rest: [lesson 2](02_from_weights_to_bits.ipynb)", "rest: none")),
    ("headings", "section 9.2", replaced("## 9.2 A", "## 9.4 A")),
    ("headings", "headings are not", replaced("## Exercises", "## More")),
    ("headings", "headings are not", moved("## Claims", 4)),
    ("code", "median", lambda lesson, _: [c.update(source="1\n" * 5) for c in lesson.cells if "curve" in c.source]),
    ("code", "13 visible lines", at("gc.plots", source="1\n" * 13)),
    ("code", "89 columns", at("gc.plots", source="1" * 89)),
    ("code", "by half", at("expected", metadata={"tags": ["hide-input"], "jupyter": {"outputs_hidden": True}})),
    ("booleans", "prints a boolean", at("import", outputs=code("", "holds: True\n").outputs)),
    ("predictions", "2 complete rounds", replaced("**Predict.** How many?", "")),
    ("predictions", "and a question", replaced("How many?", "Many.")),
    ("predictions", "no visible code", at("gc.plots", metadata=FOLDED)),
    ("predictions", "no **Seen.** follows", replaced("**Seen.** It", "It")),
    ("predictions", "has 3 sentences", replaced("Good.", "Good. So.")),
    ("predictions", "2.44 is not printed", replaced("1.44 bits", "2.44 bits")),
    ("figures", "lacks", replaced("(source Fig. 20)", "(Fig. 20)")),
    ("figures", "neither at", replaced("**Figure 9.1**", "A.\n\n**Figure 9.1** (ours). B.\n\nC.\n\n**Figure 9.2**")),
    ("figures", "one after the other", replaced("Figure 9.2", "Figure 9.4")),
    ("figures", "3 pictures have 2 numbers", replaced("**Figure 9.3**", "Here")),
    ("figures", "next to its picture", moved("gc.plots", 1)),
    ("dpi", "72 dpi", shows(png(72))),
    ("dpi", "does not say", shows(png(None))),
    ("alternatives", "cell 8 shows a picture that is described as ''", lambda lesson, _: described(lesson, {})),
    ("alternatives", "described as 'Figure'", lambda lesson, _: described(lesson, {"image/png": {"alt": "Figure"}})),
    (
        "alternatives",
        "described as 'A curve",
        lambda lesson, _: described(lesson, lesson.cells[5].outputs[-1].metadata),
    ),
    ("alternatives", "described as ''", replaced("A curve goes up.", "![](images/plan.png)")),
    ("alternatives", "described as ''", replaced("A curve goes up.", "<img src='plan.png'>")),
    ("alternatives", "cell 0 of the solutions", replaced("# Solutions", "![](a.png)", True)),
    ("size", "500 are allowed", at("import", outputs=code("", "x" * 500_000).outputs)),
    ("remember", "2 bullets", replaced("\n- three", "")),
    ("remember", "in 4 lines", replaced("- one", "- one\nand more")),
    ("exercises", "4 exercises", replaced("**Exercise 9.5** (1 minute). Think.", "Think.")),
    ("exercises", "no title", replaced("(9 minutes)", "(long)")),
    ("exercises", "1 exercises stand inside", moved("**Exercise 9.2", -3)),
    ("exercises", "between the text", replaced("- three", "- three\n\n**Exercise 9.6** (2 minutes). One.")),
    ("exercises", "no empty code cell", lambda lesson, _: [c.update(source="x") for c in lesson.cells if not c.source]),
    ("exercises", "no folded cell", at("expected", metadata=FOLDED)),
    ("exercises", "no expected number", at("expected", outputs=[])),
    ("exercises", "a derivation", replaced("Prove", "Like")),
    ("exercises", "own data", replaced("your own data", "a pen")),
    ("claims", "before ## Claims", moved("gc.claims", 4)),
    ("claims", "is not folded", at("gc.claims", metadata={})),
    ("numbers", "1.45 is in no", replaced("1.44 bits", "1.45 bits")),
    ("solutions", "not called", replaced("# Solutions", "# Answers", True)),
    ("solutions", "answer Exercise 9.1, Exercise 9.2", replaced("## Exercise 9.3", "Exercise 9.3", True)),
    ("solutions", "not executed", lambda _, answers: answers.cells[-1].update(execution_count=None)),
    ("solutions", "88 columns", lambda _, answers: answers.cells[-1].update(source="1" * 89)),
    ("solutions", "9.99 in cell 1", replaced("2.5", "9.99", True)),
]


@pytest.mark.parametrize("rule, words, change", MUTATIONS, ids=[f"{r}-{w}" for r, w, _ in MUTATIONS])
def test_a_mutation_is_caught(rule, words, change):
    lesson, name, solutions = correct()
    change(lesson, solutions)
    found = lessons.violations(lesson, name, solutions)
    assert any(kind == rule and words in text for _, kind, text in found), found


def test_every_rule_has_a_mutation():
    assert {rule for rule, _, _ in MUTATIONS} == set(lessons.RULES)
    lesson, name, _ = correct()
    assert [found.rule for found in lessons.violations(lesson, name)] == ["solutions"]


@pytest.mark.parametrize(
    "text, found",
    [
        ("It is 1.44, or .48.", ["1.44", ".48"]),
        ("from .1-.3 to -0.5, 1,234.5 objects", [".1", ".3", "-0.5", "1,234.5"]),
        ("12.5 % and 3.5%", ["12.5 %", "3.5%"]),
        ("1,000 objects, chapter 15. Then lesson 9.", []),
        ("Eq. 5.3, Figs. 4b-d, 15 and 16, Table 8.1, sections 9.1, 9.2 and 9.3, Algorithm 1.2", []),
        ("**Figure 9.1**, **Exercise 9.2**, $1.5$, $$\n2.5\n$$, `3.5`, [4.5](5.5.ipynb)", []),
        ("## 9.1 It takes 2.5\n\ntext", ["2.5"]),
        ("Fig. 20, 1.44 bits; Table 8.1, .48", ["1.44", ".48"]),
    ],
)
def test_numbers_of_the_prose(text, found):
    assert list(lessons.decimal_numbers(text)) == found


@pytest.mark.parametrize(
    "text, output, same",
    [
        ("1.44", "1.4412", True),
        ("1.44", "1.44", True),
        ("1.44", "1.4", False),
        ("1.44", "1.4462", False),
        ("12.5 %", "0.1250", True),
        ("12.5 %", "12.5%", True),
        ("0.125", "12.5 %", True),
        ("1,234.5", "1234.5", True),
        (".3", "drop of -0.30", True),
        ("-.3", "rise of 0.30", False),
    ],
)
def test_the_printed_precision(text, output, same):
    known = lessons.outputs_numbers([code("", output)])
    assert lessons.is_printed(lessons.decimal_numbers(text)[text], known) is same
