"""Explorers without a browser: sliders pick, picture and sentence follow, nothing is computed twice or left open."""

import asyncio
import base64
import html
import io
import json
import re
import time
from functools import cache
from types import SimpleNamespace

import numpy as np
import pytest
from matplotlib import image, pyplot
from traitlets import TraitError

from gencap.show.explorers import Axis, ClusterCountExplorer, Explorer, TemperatureExplorer
from gencap.trajectory import Trajectory


def line(figure, rank, noise=0):
    figure.add_subplot().plot([0, rank + 1], [0, noise + 1])


def make_run(n_steps=6, n_objects=12, n_clusters=3, centroids=False):
    """Trajectory in which object i moves from no cluster in particular to cluster i % K."""
    target = np.eye(n_clusters)[np.arange(n_objects) % n_clusters]
    mix = np.linspace(0, 1, n_steps)[:, None, None] if n_steps > 1 else np.ones((1, 1, 1))
    probabilities = (1 - mix) / n_clusters + mix * target
    places = np.zeros((n_steps, n_clusters, 2)) if centroids else None
    return Trajectory(np.geomspace(1, 10, n_steps) * 2, probabilities, None, np.zeros(n_steps), places, 2.0)


def make_capacity(run):
    curve = np.sin(np.linspace(0.1, 3, run.n_steps))
    best = int(np.argmax(curve))
    return SimpleNamespace(value=float(curve[best]), index=best, betas=run.betas, curve=curve)


def words(explorer):
    return html.unescape(re.sub("<[^>]*>", "", explorer.text.value))


def test_moving_a_slider_changes_picture_and_text():
    explorer = Explorer(
        {"rank": Axis([1, 2, 4], "rank"), "noise": [0.0, 0.5]},
        line,
        lambda rank, noise: f"rank {rank} & noise {noise}",
        start={"noise": 1},
    )
    assert words(explorer) == "rank 0 & noise 1"
    assert "&amp;" in explorer.text.value and 'aria-live="polite"' in explorer.text.value
    before = explorer.picture.value
    assert image.imread(io.BytesIO(before)).shape[:2] == (320, 720)
    explorer.sliders["rank"].index = 2
    assert words(explorer) == "rank 2 & noise 1"
    assert explorer.picture.value != before
    explorer.select(rank=0)
    assert explorer.picture.value == before  # one reused figure, and nothing of the last picture stays in it
    assert explorer.indices == {"rank": 0, "noise": 1}


def test_select_draws_once():
    drawn = []
    explorer = Explorer({"rank": [1, 2], "noise": [0, 1]}, lambda figure, **at: drawn.append(at), start={"noise": 1})
    explorer.select(rank=1, noise=0)
    explorer.sliders["noise"].index = 1
    assert drawn == [{"rank": 0, "noise": 1}, {"rank": 1, "noise": 0}, {"rank": 1, "noise": 1}]


def test_sliders_show_labels_units_and_values():
    explorer = Explorer(
        {"step": Axis([0.125, 2], "time", "s", ".2f"), "mode": ["slow", "fast"]}, lambda figure, **at: None
    )
    step, mode = explorer.sliders.values()
    assert step.description == "time (s)"
    assert [label for label, _ in step.options] == ["0.12", "2.00"]
    assert [label for label, _ in mode.options] == ["slow", "fast"]
    assert words(explorer) == ""


def test_classes_by_which_a_page_finds_the_parts():
    explorer = TemperatureExplorer(lambda **values: make_run(), shift=[0, 1], n_clusters=[2, 3], min_size=[1, 2])
    classes = [slider._dom_classes for slider in explorer.sliders.values()]
    assert classes == [("gencap-temperature",), ("gencap-shift",), ("gencap-clusters",), ("gencap-min-size",)]
    assert explorer.picture._dom_classes == ("gencap-picture",)
    assert explorer.text._dom_classes == ("gencap-text",)


def test_play_is_linked_to_the_first_slider_with_a_choice():
    explorer = Explorer({"noise": [0], "rank": [1, 2, 4]}, line, start={"rank": 1})
    assert explorer.link.source == (explorer.play, "value")
    assert explorer.link.target == (explorer.sliders["rank"], "index")
    assert (explorer.play.min, explorer.play.value, explorer.play.max) == (0, 1, 2)


def test_an_axis_with_one_value_has_no_slider_on_the_page():
    explorer = Explorer({"rank": [3]}, line)
    assert explorer.play is None
    assert explorer.sliders["rank"] not in explorer.children
    assert explorer.children[0].value == "rank: 3"


def test_saved_form_is_constant_and_has_a_picture():
    explorer = Explorer({"rank": [1, 2, 4]}, line)
    bundle, _ = explorer._repr_mimebundle_()
    assert bundle["text/plain"] == repr(explorer) == "Explorer(rank: 3)"
    assert base64.b64decode(bundle["image/png"]) == explorer.picture.value
    explorer.select(rank=1)
    assert repr(explorer) == "Explorer(rank: 3)"


def test_a_picture_has_an_alternative_text_at_every_position(tmp_path):
    told = Explorer({"rank": [1, 2, 4]}, line, lambda rank: f"rank {rank}")
    for rank in (1, 0):
        told.select(rank=rank)
        assert told._repr_mimebundle_()[1] == {"image/png": {"alt": f"rank {rank}"}}
    silent = Explorer({"rank": [1, 2, 4]}, line)  # no sentence of its own: the figure is described
    assert words(silent) == ""
    silent.select(rank=2)
    assert silent.picture.tooltip == "x is 0 to 3; y is 0 to 1; curve: rises from 0 at 0 to 1 at 3."
    *_, pages = saved(silent, tmp_path / "silent.html")
    assert [found[2].count("to") for found in pages] == [3, 3, 3] and [found[1] for found in pages] == [""] * 3
    assert {"tooltip", "description"} <= set(silent.picture.keys)  # the view asks for both


def test_no_pyplot_figure_is_opened():
    before = pyplot.get_fignums()
    run = make_run()
    TemperatureExplorer((run, make_capacity(run))).select(temperature=0)
    assert pyplot.get_fignums() == before


def test_a_picture_is_drawn_once():
    drawn = []
    explorer = Explorer({"rank": [1, 2]}, lambda figure, rank: drawn.append(rank))
    for rank in (1, 0, 1):
        explorer.select(rank=rank)
    assert drawn == [0, 1]


def test_neighbours_are_drawn_while_nothing_else_is_to_do():
    drawn = []

    async def look():
        explorer = Explorer(
            {"rank": range(5), "noise": range(2)}, lambda figure, **at: drawn.append(tuple(at.values()))
        )
        await asyncio.sleep(0.2)
        assert drawn == [(0, 0)]  # before the first key press nobody may ever look
        explorer.sliders["rank"].index = 2
        assert drawn[1:] == [(2, 0)]
        while len(drawn) < 5:
            await asyncio.sleep(0.05)
        await asyncio.sleep(0.2)
        assert sorted(drawn[2:]) == [(1, 0), (2, 1), (3, 0)]
        explorer.sliders["rank"].index = 3
        explorer.sliders["rank"].index = 4  # the slider went on: what was near before is not drawn any more
        await asyncio.sleep(0.5)
        assert sorted(drawn[5:]) == [(4, 0), (4, 1)]

    asyncio.run(asyncio.wait_for(look(), 60))


def test_an_error_ahead_waits_for_the_reader():
    def draw(figure, rank):
        if rank == 2:
            raise RuntimeError("no rank 2")

    async def look():
        asyncio.get_running_loop().set_exception_handler(lambda loop, context: problems.append(context))
        explorer = Explorer({"rank": range(3)}, draw)
        explorer.sliders["rank"].index = 1
        await asyncio.sleep(0.5)
        assert problems == [] and "no rank" not in explorer.text.value
        with pytest.raises(RuntimeError, match="no rank 2"):
            explorer.select(rank=2)

    problems = []
    asyncio.run(asyncio.wait_for(look(), 60))


def saved(explorer, path, **options):
    """The sentence of `save_html`, the axes' texts and the (picture, words, alternative text) in the page."""
    said = explorer.save_html(path, **options)
    text = path.read_text("utf-8")
    axes, pages = (json.loads(re.search(f"const {name} = (.*);", text)[1]) for name in ("axes", "pages"))
    return said, axes, [(base64.b64decode(picture), *words) for picture, *words in pages]


def test_saved_page_has_every_picture_in_order(tmp_path):
    axes = {"rank": Axis([1, 2, 4], "rank", "</script>"), "noise": [0.0, 0.5]}
    explorer = Explorer(axes, line, lambda rank, noise: f"rank {rank} & <noise> {noise}", start={"rank": 1})
    said, texts, pages = saved(explorer, tmp_path / "all.html", title="Ranks & noise")
    assert said.startswith("6 of 6 pictures, ")
    assert texts == [["1", "2", "4"], ["0", "0.5"]]
    for (rank, noise), (picture, sentence, alternative) in zip(np.ndindex(3, 2), pages, strict=True):
        explorer.select(rank=rank, noise=noise)
        assert (picture, sentence) == (explorer.picture.value, words(explorer))
        assert alternative == sentence == explorer.picture.tooltip
    text = (tmp_path / "all.html").read_text("utf-8")
    assert "<h1>Ranks &amp; noise</h1>" in text and "rank (&lt;/script&gt;)" in text
    assert text.count("</script>") == 1 and "http" not in text and "left out" not in text
    assert re.findall('value="(.)"', text) == ["1", "0"]


def test_saved_page_is_thinned_around_the_position_shown(tmp_path):
    axes = {"rank": range(9), "noise": range(3)}
    explorer = Explorer(axes, line, lambda rank, noise: f"{rank} {noise}", start={"rank": 3, "noise": 1})
    whole = explorer.save_html(tmp_path / "whole.html")
    assert whole.startswith("27 of 27")
    size = (tmp_path / "whole.html").stat().st_size
    said, texts, pages = saved(explorer, tmp_path / "page.html", limit=0.6 * size)
    assert texts == [["1", "3", "5", "7"], ["0", "1", "2"]] and said.startswith("12 of 27 pictures, ")
    assert [sentence for _, sentence, _ in pages] == [f"{rank} {noise}" for rank in (1, 3, 5, 7) for noise in range(3)]
    text = (tmp_path / "page.html").read_text("utf-8")
    assert "15 positions of the sliders are left out" in text and len(text) <= 0.6 * size
    with pytest.raises(ValueError, match="limit=100 bytes, one picture alone is larger"):
        explorer.save_html(tmp_path / "none.html", limit=100)
    assert not (tmp_path / "none.html").exists()


def test_the_runner_gets_a_page_of_every_explorer(tmp_path, monkeypatch):
    explorer = Explorer({"rank": [1, 2, 4]}, line)
    assert "text/html" not in explorer._repr_mimebundle_()[0]
    monkeypatch.setenv("GENCAP_EXPLORERS", str(tmp_path))
    for name in ("explorer_1.html", "explorer_2.html"):
        assert f'<iframe src="{name}" title="Explorer(rank: 3)"' in explorer._repr_mimebundle_()[0]["text/html"]
        assert (tmp_path / name).stat().st_size < 1e6


def test_drawing_is_quick_enough_for_a_slider():
    explorer = Explorer({"rank": range(8)}, line, size=(3, 3))
    times = []
    for rank in range(1, 8):
        start = time.process_time()
        explorer.select(rank=rank)
        times.append(time.process_time() - start)
    assert min(times) < 0.15  # the least of seven: other work on the machine is not ours


def test_axes_keep_their_places_between_pictures():
    places = []

    def draw(figure, rank):
        axes = figure.subplots(1, 2)
        axes[0].set_ylabel("long\n" * (rank + 1))
        places.append(axes)

    explorer = Explorer({"rank": [1, 2, 4]}, draw)
    explorer.select(rank=2)
    first, last = (np.array([ax.get_position().bounds for ax in axes]) for axes in (places[0], places[-1]))
    assert first == pytest.approx(last)


def test_error_while_drawing_is_shown_and_raised():
    def draw(figure, rank):
        if rank == 1:
            raise RuntimeError("no <rank> 1")

    explorer = Explorer({"rank": [1, 2]}, draw)
    with pytest.raises(RuntimeError, match="no <rank> 1"):
        explorer.select(rank=1)
    assert words(explorer) == "Not drawn: no <rank> 1"
    explorer.select(rank=0)
    assert "Not drawn" not in words(explorer)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (([1, 2], line), TypeError, r"axes must be a dict.*got \[1, 2\]"),
        (({}, line), TypeError, "axes must be a dict.* at least one entry, got {}"),
        (({"rank": []}, line), ValueError, r"axes\['rank'\] has no values"),
        (({"rank": [1]}, "line"), TypeError, "draw must be callable, got str"),
        (({"rank": [1]}, line, "words"), TypeError, "describe must be callable, got str"),
    ],
)
def test_bad_arguments_are_named(arguments, error, message):
    with pytest.raises(error, match=message):
        Explorer(*arguments)


@pytest.mark.parametrize(
    ("start", "error", "message"),
    [
        ({"noise": 0}, ValueError, "axis='noise' is not one of 'rank'"),
        ({"rank": 1}, ValueError, "rank=1 must be >= 0 and <= 0"),
        ({"rank": 0.5}, TypeError, "rank must be an integer, got 0.5"),
    ],
)
def test_bad_starts_are_named(start, error, message):
    with pytest.raises(error, match=message):
        Explorer({"rank": [1]}, line, start=start)


def test_out_of_range_positions_change_nothing():
    explorer = Explorer({"rank": [1, 2], "noise": [0, 1]}, line)
    before = explorer.picture.value
    for bad in ({"noise": 1, "rank": 2}, {"rank": -1}, {"noise": 1, "shift": 0}):
        with pytest.raises(ValueError):
            explorer.select(**bad)
    with pytest.raises(TraitError):
        explorer.sliders["rank"].index = 2
    assert explorer.picture.value == before
    assert explorer.indices == {"rank": 0, "noise": 0}


def test_temperature_explorer_starts_at_the_optimum_and_says_what_is_seen():
    run = make_run()
    capacity = make_capacity(run)
    explorer = TemperatureExplorer((run, capacity))
    assert explorer.indices == {"temperature": capacity.index}
    assert f"the capacity, is {capacity.value:.2f} bits at step {capacity.index + 1}" in words(explorer)
    explorer.select(temperature=0)
    assert words(explorer).startswith(
        "Inverse temperature 1 times that of the first split (beta = 2), step 1 of 6: "
        "1 distinct cluster of 3 offered, with 12 objects. Information 0.10 bits per object;"
    )
    explorer.select(temperature=5)
    assert "3 distinct clusters of 3 offered, with 4, 4, 4 objects" in words(explorer)
    assert explorer.sliders["temperature"].options[-1] == ("10", 5)


@pytest.mark.parametrize("X", [None, np.eye(12), np.random.default_rng(0).normal(size=(12, 5))])
@pytest.mark.parametrize("with_capacity", [True, False])
def test_every_kind_of_data_has_a_picture(X, with_capacity):
    run = make_run(n_steps=3, centroids=True)
    explorer = TemperatureExplorer((run, make_capacity(run)) if with_capacity else run, X)
    pictures = set()
    for t in range(run.n_steps):
        explorer.select(temperature=t)
        pictures.add(explorer.picture.value)
    assert len(pictures) == run.n_steps
    assert ("bits" in words(explorer)) == with_capacity


def test_runs_are_made_once_for_every_combination():
    made = []

    def run(shift, n_clusters):
        made.append((shift, n_clusters))
        result = make_run(n_clusters=n_clusters)
        return result, make_capacity(result)

    explorer = TemperatureExplorer(run, shift=[-0.5, 0.0], n_clusters=range(2, 5))
    assert made == [(s, k) for s in (-0.5, 0.0) for k in (2, 3, 4)]
    explorer.select(temperature=5, shift=1, n_clusters=2)
    assert "4 distinct clusters of 4 offered" in words(explorer)
    explorer.select(n_clusters=0)
    assert "2 distinct clusters of 2 offered" in words(explorer)
    assert len(made) == 6
    assert repr(explorer) == "TemperatureExplorer(temperature: 6, shift: 2, n_clusters: 3)"


def test_one_more_slider_and_cluster_count_explorers():
    explorer = TemperatureExplorer(lambda shift: make_run(n_clusters=int(2 + shift)), shift=[0, 1])
    explorer.select(temperature=5, shift=1)
    assert "3 distinct" in words(explorer)
    explorer = ClusterCountExplorer(lambda n_clusters: make_run(n_clusters=n_clusters), [2, 4])
    explorer.select(temperature=5, n_clusters=1)
    assert "4 distinct" in words(explorer)
    assert [slider.description for slider in explorer.sliders.values()][1] == "clusters offered"


@pytest.mark.parametrize(("steps", "objects", "clusters"), [(1, 1, 1), (1, 4, 2), (3, 1, 1), (3, 4, 1)])
def test_smallest_runs(steps, objects, clusters):
    run = make_run(steps, objects, clusters)
    for X in (None, np.zeros((objects, objects)), np.zeros((objects, 1))):
        explorer = TemperatureExplorer((run, make_capacity(run)), X)
        assert bytes(explorer.picture.value).startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("arguments", "parameters", "error", "message"),
    [
        ((lambda: 3,), {}, TypeError, r"run must give a Trajectory or \(Trajectory, Capacity\), got int"),
        ((make_run(), np.zeros((5, 2))), {}, ValueError, r"X has shape \(5, 2\).*12 rows"),
        ((make_run(), np.zeros(12)), {}, ValueError, r"X has shape \(12,\), accepted is a matrix"),
        ((make_run(),), {"shift": [0]}, TypeError, "run must be callable to vary shift"),
        ((lambda shift: make_run(),), {"shift": []}, ValueError, "shift has no values"),
        (
            (lambda k: make_run(n_steps=k),),
            {"k": [2, 3]},
            ValueError,
            r"trajectories have .temperatures, objects. \[\(2, 12\), \(3, 12\)\]",
        ),
    ],
)
def test_bad_runs_are_named(arguments, parameters, error, message):
    with pytest.raises(error, match=message):
        TemperatureExplorer(*arguments, **parameters)


def test_interrupted_computation_can_go_on():
    made = []

    @cache
    def run(shift):
        made.append(shift)
        if made == [0, 1]:
            raise KeyboardInterrupt
        return make_run()

    with pytest.raises(KeyboardInterrupt):
        TemperatureExplorer(run, shift=[0, 1, 2])
    TemperatureExplorer(run, shift=[0, 1, 2])
    assert made == [0, 1, 1, 2]
