"""The package as a whole: every public name is there, and nothing heavy is loaded before it is used."""

import subprocess
import sys

import pytest

import gencap


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
