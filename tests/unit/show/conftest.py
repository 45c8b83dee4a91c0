"""What the tests of pictures need."""

import pytest
from matplotlib import pyplot
from matplotlib.figure import Figure


@pytest.fixture(autouse=True)
def _closed():
    yield
    pyplot.close("all")


@pytest.fixture
def ax():
    return Figure().add_subplot()
