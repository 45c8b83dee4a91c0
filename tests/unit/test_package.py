"""The package as a whole: every public name is there, and nothing heavy is loaded before it is used."""

import ast
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import gencap

ROOT = Path(__file__).resolve().parents[2]
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
MODULES = {"scikit-learn": "sklearn", "pillow": "PIL"}  # imported by another name than that of the distribution
THROUGH = {"llvmlite": "numba", "markupsafe": "jinja2", "jupyter_client": "nbclient", "dateutil": "pandas"}
THROUGH |= {"docutils": "sphinx"}


@pytest.mark.parametrize("name", gencap.__all__)
def test_every_listed_name_resolves(name):
    assert getattr(gencap, name) is not None and name in dir(gencap)


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = gencap.nonsense


def test_the_data_room_gives_its_own_names_and_none_that_it_imports():
    assert gencap.datasets.FIVE_CENTERS.shape == (5, 2) and callable(gencap.datasets.load_expression)
    assert not {"np", "pandas", "Bunch", "check_integer"} & set(vars(gencap.datasets))


def test_importing_the_package_loads_no_plotting_and_no_widgets():
    code = (
        "import sys, gencap as gc; gc.claims; gc.Trajectory;"
        "print([m for m in ('matplotlib', 'ipywidgets', 'papermill', 'nbconvert') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_embedded_files_are_found_and_missing_ones_named():
    assert gencap.resources.data_path("published/claims.csv").is_file()
    with pytest.raises(FileNotFoundError, match="nothing.csv"):
        gencap.resources.data_path("nothing.csv")


def test_a_replaced_file_is_whole_or_as_it_was(tmp_path):
    path = tmp_path / "new" / "a.txt"
    with gencap.resources.replacing(path, "w") as stream:
        stream.write("first")
    with pytest.raises(KeyError), gencap.resources.replacing(path, "w") as stream:
        stream.write("half")
        raise KeyError
    assert path.read_text() == "first" and [f.name for f in path.parent.iterdir()] == ["a.txt"]


def modules(*groups):
    """Names by which the dependencies of these extras are imported; "" is the core."""
    extras = PYPROJECT["project"]["optional-dependencies"]
    listed = [r for group in groups for r in (extras[group] if group else PYPROJECT["project"]["dependencies"])]
    names = {re.split("[<>=[]", r)[0] for r in listed}
    return {MODULES.get(name, name.replace("-", "_")) for name in names}


@pytest.mark.parametrize("path", sorted(Path(gencap.__file__).parent.rglob("*.py")), ids=lambda path: path.name)
def test_a_room_imports_what_its_extra_brings(path):
    room = path.relative_to(Path(gencap.__file__).parent).as_posix()
    groups = {"show": ["", "plots"], "run": ["", "plots", "notebooks"], "__main__.py": ["", "plots", "notebooks"]}
    extra = [path.stem] if room in ("run/book.py", "run/course.py") else []  # rooms with an extra of their name
    known = modules(*groups.get(room.split("/")[0], [""]), *extra) | {"gencap", *sys.stdlib_module_names}
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and not node.level:
            found.add(node.module.split(".")[0])
    assert {name for name in found if THROUGH.get(name, name) not in known} == set()


CORE = """
import sys
for name in {missing!r}:
    sys.modules[name] = None
import gencap as gc
from gencap.__main__ import main
lost = ["plots", "widgets"]
assert all(getattr(gc, name) is not None for name in gc.__all__ if name not in lost)
for name in lost:
    try:
        getattr(gc, name)
    except ImportError as error:
        print(error)
try:
    gc.datasets.load_image("china")
except ImportError as error:
    print(error)
print(main(["report"]), main(["data"]))
"""


def test_with_the_core_alone_everything_else_names_its_extra():
    missing = sorted(modules("plots", "notebooks") - {"gencap"})
    code = CORE.format(missing=missing)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    plots, widgets, image, *rows = done.stdout.splitlines()
    assert plots == widgets and plots.startswith('not installed: matplotlib, PIL; pip install "gencap[plots]"')
    assert image.startswith('not installed: PIL; pip install "gencap[plots]"')
    assert "yeast_brown" in rows[0] and rows[-1] == "1 0" and 'pip install "gencap[notebooks]"' in done.stderr


def test_with_plots_but_without_widgets_the_explorers_name_their_extra():
    code = "import sys; sys.modules['ipywidgets'] = None\nimport gencap as gc; gc.plots\ngc.widgets"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert 'ImportError: not installed: ipywidgets; pip install "gencap[notebooks]"' in done.stderr


def test_every_data_file_has_a_note_on_its_licence():
    text = (ROOT / "data" / "README.md").read_text(encoding="utf-8")
    table = text.split("## Licences")[1].split("\n# ")[0]
    files = {path.relative_to(ROOT / "data").as_posix() for path in (ROOT / "data").rglob("*") if path.is_file()}
    noted = {
        name for row in table.splitlines() if row.startswith("| ") for name in row.split("|")[1].strip().split(", ")
    }
    assert noted - {"file"} == files


def test_the_address_stands_in_one_file_and_makes_every_link_of_the_page_absolute():
    hook = PYPROJECT["tool"]["hatch"]["metadata"]["hooks"]["fancy-pypi-readme"]
    page = (ROOT / "README.md").read_text(encoding="utf-8")
    relative = {link for link in re.findall(r"\]\(([^)]+)\)", page) if not link.startswith(("http", "#"))}
    assert all((ROOT / link).is_file() for link in relative)
    for rule in hook["substitutions"]:
        page = re.sub(rule["pattern"], rule["replacement"], page)
    source = PYPROJECT["project"]["urls"]["Source"]
    assert all(url.startswith(source) for url in PYPROJECT["project"]["urls"].values())
    links = re.findall(r"\]\(([^)]+)\)", page)
    assert len(links) >= len(relative) and all(link.startswith((source, "https://doi.org/")) for link in links)


def test_the_citation_and_the_changes_know_the_version():
    assert f"## {gencap.__version__}" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert (Path(gencap.__file__).parent / "py.typed").is_file()
