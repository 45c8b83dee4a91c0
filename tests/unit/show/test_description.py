"""What is said of a figure is what is in it; nothing that can be drawn stops it; notebooks hand it on."""

import inspect
import re
import sys
import time
from types import SimpleNamespace

import numpy as np
import pytest
from IPython.core.formatters import DisplayFormatter
from matplotlib import pyplot
from matplotlib.figure import Figure

import gencap as gc
from gencap.show import description, plots
from gencap.show.description import LONGEST, describe


@pytest.mark.parametrize(
    ("written", "said"),
    [
        (r"inverse temperature $\beta$ (first split = 1)", "inverse temperature beta (first split = 1)"),
        (r"$\beta\,\lambda_{\max}/K$", "beta lambda max/K"),
        (r"$\tau_s\circ X^{(2)}$" + "\nanew", "tau s circ X (2) anew"),
        (r"$\mathbf{w}_1, w_2$ and $\sqrt{N}$, noise .3", "w 1, w 2 and sqrt N, noise .3"),
        ("beta_c, 5 %", "beta_c, 5 %"),
    ],
)
def test_formulas_are_said_in_words(ax, written, said):
    ax.plot([0, 1], [0, 1])
    ax.set_title(written)
    assert describe(ax.figure).startswith(f"{said}: x is 0 to 1")


def test_curves_are_said_by_ends_and_extremes(ax):
    x = np.linspace(0, 10, 101)
    ax.plot(x, 5 - (x - 3) ** 2 / 10, label="hill")
    ax.plot(x, 1234.5 * x / 10, label="line")
    ax.plot(x[::-1], -(x[::-1] ** 2), label="left")
    ax.plot(x, 0 * x + 0.30004, label="flat")
    ax.plot([0, 5, 2, 0], [0, 0, 4, 0], label="triangle")
    ax.set(xlabel="$x$ (m)", ylabel="cost")
    words = describe(ax.figure)
    assert words.startswith("x is x (m), 0 to 10; y is cost, -100 to 1230")
    assert "hill: from 4.1 at 0 to 0.1 at 10, maximum 5 at 3" in words
    assert "line: rises from 0 at 0 to 1230 at 10, half way at 5" in words
    assert "left: falls from 0 at 0 to -100 at 10, half way at 7.1" in words
    assert "flat: 0.3 throughout" in words and "triangle: path of 4 points from 0 at 0 to 0 at 0" in words


def test_only_what_is_in_view_is_said_and_rounding_is_zero(ax):
    ax.plot([0, 1, 2, 3], [1e-17, 2, 1, 50], label="known")
    ax.set(xlim=(0, 2))
    assert "known: from 0 at 0 to 1 at 2, maximum 2 at 1." in describe(ax.figure)


def test_lines_without_a_name_are_counted_and_marks_gathered(ax):
    for k in range(12):
        ax.plot([1, 2], [0, k])
    ax.plot([1, 2], [0, 5])  # a halo: drawn twice
    for place in (1.5, 1.75):
        ax.axvline(place)
    ax.axhline(11, label="limit")
    words = describe(ax.figure)
    assert "12 lines without a name, beginning at 0 to 0 and ending at 0 to 11" in words
    assert "line: vertical at 1.5; line: vertical at 1.75; limit: 11 throughout" in words


def test_points_are_counted_by_group_and_their_trend_is_said(ax):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(40, 2))
    ax.scatter(*x.T, label="round")
    ax.plot(x[:, 0], np.exp(x[:, 0]), "o", label="growing")
    words = describe(ax.figure)
    assert (
        "80 points in 2 groups" in words and f"round: 40 around ({x[:, 0].mean():.3g}, {x[:, 1].mean():.3g})" in words
    )
    assert re.search(r"growing: 40 around \([^)]*\); rank correlation 1\b", words)


def test_bars_are_said_by_name_or_by_the_largest(ax):
    for k, name in enumerate(("first", "second")):
        ax.bar(np.arange(3) + 0.3 * k, [1, 2.5, k], 0.3, label=name)
    ax.set_xticks(range(3), ["ant", "bee", "cat"])
    words = describe(ax.figure)
    assert words.startswith("x is ant, bee, cat; y is 0 to 2.5; ")
    assert "first bars: 1 at ant, 2.5 at bee, 0 at cat; second bars: 1 at ant, 2.5 at bee, 1 at cat." in words
    heights, edges, _ = (histogram := Figure().add_subplot()).hist(np.arange(100) ** 2, bins=50)
    best = np.argmax(heights)
    middle = float(f"{(edges[best] + edges[best + 1]) / 2:.3g}")
    assert f"bars: 50, the largest {heights[best]:g} at {middle:g}." in describe(histogram.figure)


def test_images_tables_and_colour_bars():
    figure = Figure()
    axes = figure.subplots(1, 3)
    shown = axes[0].imshow([[0.1, 0.2, 0.3], [0.4, 0.5, 0.61239]])
    figure.colorbar(shown, ax=axes[0], label=r"weight $w_\beta$")
    axes[1].imshow([[0, 1], [0, 0]])
    gc.plots.clusters_against_classes([0, 0, 1], [1, 1, 0], ["a", "b"], ax=axes[2])
    words = describe(figure)
    assert words.startswith("3 panels. Panel 1: ") and "Panel 4" not in words  # a colour bar is none
    assert "image of weight w beta, 2 rows, 3 columns, from 0.1 to 0.612, mean 0.352" in words
    assert "image, 2 rows, 2 columns, from 0 to 1, mean 0.25" in words
    assert "x is class, a, b" in words and "table of 2 rows and 2 columns; row 1: 0, 2; row 2: 1, 0." in words


def test_panels_share_axes_titles_notes_and_the_words_of_the_author():
    figure = Figure()
    axes = figure.subplots(1, 2, sharex=True, sharey=True)
    for k, ax in enumerate(axes):
        ax.plot([1, 10], [k, 3], label="cost")
        ax.set(title=f"model {k}", xscale="log")
    axes[0].set(xlabel="$K$", ylabel="bits")
    axes[1].set_label("The second is flatter")
    axes[1].twinx().plot([1, 10], [7, 8], label="BIC")
    figure.supxlabel("40 objects, seed 0.", fontsize=8)
    figure.suptitle("Two models")
    figure.set_label("Both rise to three.")
    assert describe(figure) == (
        "Both rise to three. Two models. 2 panels. "
        "Panel 1, model 0: x is K (logarithmic), 1 to 10; y is bits, 0 to 3; cost: rises from 0 at 1 to 3 at 10. "
        "Panel 2, model 1: The second is flatter; cost: rises from 1 at 1 to 3 at 10; "
        "y is 7 to 8; BIC: rises from 7 at 1 to 8 at 10. 40 objects, seed 0."
    )


def test_texts_and_what_only_the_legend_names(ax):
    ax.plot([0, 1], [0, 1], label="seen")
    ax.fill_between([0, 1], [0, 1], [1, 2], label="band")
    ax.annotate("here", (0.5, 0.5))
    ax.legend()
    assert describe(ax.figure).endswith("seen: rises from 0 at 0 to 1 at 1; here; band.")
    diagram = Figure().add_subplot()
    diagram.set_axis_off()
    for text in ("data", "model"):
        diagram.text(0.5, 0.5, text)
    assert describe(diagram.figure) == "data; model."
    assert describe(Figure()) == "An empty figure."


def test_error_bars_belong_to_their_curve(ax):
    ax.errorbar([1, 2, 3], [3, 1, 2], [0.1, 0.2, 0.3], capsize=3, label="costs")
    assert describe(ax.figure) == "x is 1 to 3; y is 0.8 to 3.1; costs: from 3 at 1 to 2 at 3, minimum 1 at 2."


def test_what_matters_most_of_every_panel_comes_first():
    figure = Figure()
    for k, ax in enumerate(figure.subplots(3, 4).flat):
        for name in "abcdef":
            ax.plot([1, 2, 3], [k, 1, 2], label=f"curve {name}")
        ax.set_title(f"panel of {k}")
    figure.supxlabel("seed 0")
    words = describe(figure)
    assert LONGEST - 100 < len(words) <= LONGEST + 50 and words.endswith("seed 0. (Shortened.)")
    assert all(f"panel of {k}" in words for k in range(12))


def test_an_odd_artist_is_left_out(ax):
    (odd,) = ax.plot([0, 1, 2], [0, 1, 3], label="odd")
    ax.plot([0, 1, 2], [0, 1, 3.5], label="sound")
    odd.get_data = lambda orig=True: 1 / 0
    ax.plot([], [], label="nothing")
    ax.plot([np.nan, 1], [np.inf, 1], label="holes")
    ax.figure.add_axes((0, 0, 0.1, 0.1)).imshow(np.full((2, 2), np.nan))
    words = describe(ax.figure)
    assert "odd" not in words and "sound: rises from 0 at 0 to 3.5 at 2" in words
    ax.get_xlim = lambda: 1 / 0
    assert describe(ax.figure)  # not even its axes can be read


def every_plot():
    """One figure of each function of the library that draws, and of a few that it does not use."""
    X = np.repeat([[-11.0, 0.0], [-9.0, 0.0], [9.0, 1.0], [11.0, 1.0]], 3, axis=0)
    run = gc.AnnealedKMeans(3, random_state=0).anneal(X)
    capacity = gc.generalization_capacity(run, run)
    labels = run.labels()
    figure = pyplot.figure()
    figure.add_subplot(projection="polar").plot([0, 1], [0, 1])
    figure.add_subplot(projection="3d").plot([0, 1], [0, 1], [1, 2])
    figure.subfigures(1, 2)[0].subplots().boxplot(X)
    drawn = {
        "similarity_heatmap": plots.similarity_heatmap(X @ X.T, labels),
        "information_curve": plots.information_curve(capacity, transfer=capacity.curve, unit=run.unit, step=2),
        "capacity_against_clusters": plots.capacity_against_clusters([1, 2], [0, 1], 2, second=[1, 2]),
        "n_effective_curve": plots.n_effective_curve(run, step=1),
        "centroid_tree": plots.centroid_tree(run),
        "cluster_trajectories": plots.cluster_trajectories(run, X),
        "assignment_probabilities": plots.assignment_probabilities(run),
        "labels_scatter": plots.labels_scatter(X, labels, run.centroids[-1]),
        "clusters_against_classes": plots.clusters_against_classes(labels, labels),
        "median_and_quartiles": plots.median_and_quartiles([1, 2], [[3, 1], [4, 2]], label="cost", minimum=True),
        "capacity_with_null": plots.capacity_with_null([2, 3], [0.5, 0.9], [[0.1, 0.2], [0.2, 0.3]]),
        "coclustering_comparison": plots.coclustering_comparison(labels, labels),
        "expression_profiles": plots.expression_profiles(X @ [[1, 2, 3], [0, 5, 1]] + [0, 0, 1], labels)[0],
    }
    return {name: ax.figure for name, ax in drawn.items()} | {"others": figure}


def test_every_plot_has_words_quickly():
    figures = every_plot()
    functions = {name: one for name, one in vars(plots).items() if inspect.isfunction(one) and name[0] != "_"}
    drawing = {name for name, one in functions.items() if {"ax", "figure"} & inspect.signature(one).parameters.keys()}
    assert drawing - {"describe"} == figures.keys() - {"others"}
    start, said = time.process_time(), {name: describe(figure) for name, figure in figures.items()}
    assert time.process_time() - start < 0.1 * len(figures)
    assert all(len(words) > 40 for words in said.values()), said
    assert len(set(said.values())) == len(said)
    assert re.match(r"clusters of \d, \d, \d objects; x is objects, ordered by cluster", said["similarity_heatmap"])
    assert "together in both" in said["coclustering_comparison"]
    assert "null of data: rises from 0.15 at 2 to 0.25 at 3" in said["capacity_with_null"]


class Shell:
    """What `attach` needs of IPython."""

    def __init__(self, show):
        self.display_formatter = DisplayFormatter()
        if show:
            self.display_formatter.formatters["image/png"].for_type(Figure, show)


@pytest.mark.parametrize("given, expected", [(b"png", {}), ((b"png", {"width": 3}), {"width": 3})])
def test_a_notebook_gets_the_words_beside_the_picture(monkeypatch, ax, given, expected):
    ax.plot([0, 1], [0, 1], label="rise")
    shell = Shell(lambda figure: given)
    monkeypatch.setattr(sys.modules["IPython"], "get_ipython", lambda: shell)
    for _ in range(2):  # attached once, whatever style() is entered
        with plots.style():
            pass
    data, metadata = shell.display_formatter.format(ax.figure, include=["image/png"])
    assert data == {"image/png": b"png"} and metadata["image/png"] == {"alt": describe(ax.figure)} | expected
    assert shell.display_formatter.formatters["image/png"].lookup_by_type(Figure).args[0](None) == given


@pytest.mark.parametrize("shell", [None, SimpleNamespace(), Shell(None), Shell(lambda figure: None)])
def test_without_a_formatter_or_a_picture_nothing_happens(monkeypatch, shell):
    monkeypatch.setattr(sys.modules["IPython"], "get_ipython", lambda: shell)
    description.attach()
    if isinstance(shell, Shell):
        assert "image/png" not in shell.display_formatter.format(Figure(), include=["image/png"])[0]
