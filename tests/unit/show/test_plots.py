"""Pictures: what is in them, what is refused, and that they survive colour blindness, grey print and tiny inputs."""

import re
from types import SimpleNamespace

import matplotlib
import numpy as np
import pytest
from matplotlib import pyplot
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from gencap.show import plots
from gencap.trajectory import Trajectory

# Two pairs of clusters on a line: they split at beta 1 into pairs, at beta 10 into four.
PLACES = np.array([[-11.0, 0.0], [-9.0, 0.0], [9.0, 1.0], [11.0, 1.0]])


@pytest.fixture
def tree():
    """Trajectory of eight objects whose four clusters, shuffled, split two by two."""
    X = np.repeat(PLACES, 2, axis=0)
    order = [2, 0, 3, 1]  # cluster k is source order[k]
    middle = np.array([[-10.0, 0.0], [-10.0, 0.0], [10.0, 1.0], [10.0, 1.0]])
    centroids = np.array([np.zeros((4, 2)), middle, PLACES])[:, order]
    betas = np.array([0.1, 1.0, 10.0])
    potentials = ((X[None, :, None] - centroids[:, None]) ** 2).sum(axis=3)
    scores = -betas[:, None, None] * potentials
    probabilities = np.exp(scores - scores.max(axis=2, keepdims=True))
    probabilities /= probabilities.sum(axis=2, keepdims=True)
    return Trajectory(betas, probabilities, potentials, np.zeros(3), centroids, 0.1)


@pytest.fixture
def capacity(tree):
    return SimpleNamespace(betas=tree.betas, curve=np.array([0.0, 1.0, -40.0]), value=1.0, index=1)


def simulate(colour, kind):
    """Colour as a dichromat sees it (projection in linear light after Vienot, Brettel and Mollon 1999)."""
    red, green, blue = np.array(to_rgb(colour)) ** 2.2
    share = {"protan": 0.11238, "deutan": 0.29275}[kind]
    seen = (1 - share) * green + share * red
    return np.array([seen, seen, blue]) ** (1 / 2.2)


def test_cluster_order_puts_the_halves_of_a_pair_side_by_side(tree):
    order = list(plots.cluster_order(tree))
    assert sorted(order) == [0, 1, 2, 3]
    assert {frozenset(order[:2]), frozenset(order[2:])} == {frozenset((1, 3)), frozenset((0, 2))}


def test_distinct_labels_merge_what_has_not_split(tree):
    assert len(set(plots.distinct_labels(tree, 0))) == 1
    middle, cold = plots.distinct_labels(tree, 1), plots.distinct_labels(tree, -1)
    assert len(set(middle[:4])) == len(set(middle[4:])) == 1 and middle[0] != middle[-1]
    assert [len(set(cold[2 * k : 2 * k + 2])) for k in range(4)] == [1, 1, 1, 1] and len(set(cold)) == 4
    assert set(middle) < set(cold)  # a pair keeps the number of one half


@pytest.mark.parametrize("kind", ["protan", "deutan"])
def test_palette_can_be_told_apart(kind):
    seen = np.array([simulate(colour, kind) for colour in plots.COLOURS[:6]])
    apart = np.linalg.norm(seen[:, None] - seen[None], axis=2)[np.triu_indices(6, 1)]
    assert apart.min() > 0.15
    grey = np.array([to_rgb(colour) for colour in plots.COLOURS]) @ [0.299, 0.587, 0.114]
    assert np.abs(np.diff(grey)).min() > 0.12  # neighbours, printed in grey
    assert len(set(plots.MARKERS)) == len(set(plots.COLOURS)) == 10


def contrast(colour):
    """Contrast to white by the Web Content Accessibility Guidelines 2.2: 1 to 21; 4.5 for text, 3 for lines."""
    parts = np.array(to_rgb(colour))
    linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
    return 1.05 / (linear @ [0.2126, 0.7152, 0.0722] + 0.05)


def test_contrast_to_the_white_page():
    assert [contrast(grey) for grey in ("black", "0.5", "white")] == pytest.approx([21, 3.98, 1], abs=0.01)
    with plots.style():
        texts = {
            name: value for name, value in matplotlib.rcParams.items() if re.search("text.*color|labelcolor", name)
        }
        texts |= {name: matplotlib.rcParams[f"{name}.color"] for name in ("text", "xtick", "ytick")}
        assert matplotlib.rcParams["figure.facecolor"] == matplotlib.rcParams["axes.facecolor"] == "white"
    colours = {name: value for name, value in texts.items() if value not in (None, "inherit", "auto", "None")}
    assert len(colours) >= 4 and min(map(contrast, colours.values())) >= 4.5, colours
    assert contrast(plots.MARK["color"]) >= 3
    light = {colour for colour in plots.COLOURS if contrast(colour) < 3}
    # Orange, sky blue, light green, yellow: each between two dark ones, and never the only cue.
    assert light == set(plots.COLOURS[1::2]) - {"#CC79A7"} and len(set(plots.MARKERS)) == len(plots.COLOURS)
    assert all(plots.DASHES[k % 5] != plots.DASHES[(k + 1) % 5] for k in range(5))


def test_colour_map_rises_in_lightness():
    grey = matplotlib.colormaps[plots.SEQUENTIAL](np.linspace(0, 1, 50))[:, :3] @ [0.299, 0.587, 0.114]
    assert (np.diff(grey) > 0).all()


def test_settings_stay_as_they_were(tree, capacity):
    before = dict(matplotlib.rcParams)
    with plots.style():
        plots.information_curve(capacity, unit=tree.unit)
    plots.n_effective_curve(tree)
    assert dict(matplotlib.rcParams) == before


def test_the_style_is_one_of_matplotlib():
    with pyplot.style.context("gencap.show.lesson"):
        as_file = dict(matplotlib.rcParams)
    with plots.style():
        assert dict(matplotlib.rcParams) == as_file
    assert plots.SETTINGS["font.size"] == 9 and not plots.SETTINGS["axes.spines.top"]


def test_number_of_clusters_is_drawn_at_every_temperature(tree, ax):
    plots.n_effective_curve(tree, step=1, ax=ax)
    assert list(ax.lines[0].get_xdata()) == pytest.approx([1, 10, 100])
    assert list(ax.lines[0].get_ydata()) == [1, 2, 4] and ax.get_ylim() == (0, 4.5)


def test_heatmap_orders_objects_and_frames_clusters(ax):
    labels = np.array([1, 0, 2, 0, 1])
    X = (labels[:, None] == labels).astype(float)
    assert plots.similarity_heatmap(X, labels, ax=ax) is ax
    image = ax.images[0].get_array()
    assert [list(row) for row in image] == [list(row) for row in X[np.ix_([1, 3, 0, 4, 2], [1, 3, 0, 4, 2])]]
    frames = {(patch.get_x(), patch.get_width()) for patch in ax.patches if isinstance(patch, Rectangle)}
    assert frames == {(0, 2), (2, 2), (4, 1)}


def test_heatmap_of_many_objects_is_thinned(ax):
    plots.similarity_heatmap(np.eye(1001), ax=ax)
    assert max(ax.images[0].get_array().shape) <= plots.LARGEST_IMAGE
    assert ax.get_xlim() == (0, 1001)


def test_information_curve_marks_the_maximum_and_cuts_below(tree, capacity, ax):
    plots.information_curve(capacity, unit=tree.unit, step=2, ax=ax)
    assert ax.lines[0].get_xdata() == pytest.approx([1, 10, 100])
    assert [text.get_text() for text in ax.texts] == ["1.00 bits"]
    assert ax.texts[0].xy == pytest.approx((10, 1))
    assert ax.get_ylim()[0] > -1


def test_two_curves_differ_in_colour_dash_and_marker(capacity, ax):
    for name in ("one", "two"):
        plots.information_curve(capacity, label=name, ax=ax)
    one, two = (line for line in ax.lines if not line.get_label().startswith("_"))
    assert one.get_color() != two.get_color()
    assert one.get_linestyle() != two.get_linestyle()
    assert one.get_marker() != two.get_marker()
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["one", "two"]


def test_transfer_costs_have_their_own_axis(capacity, ax):
    plots.information_curve(capacity, transfer=[9.0, 4.0, 5.0], ax=ax)
    twin = ax.figure.axes[1]
    assert list(twin.lines[0].get_ydata()) == [9, 4, 5]
    assert list(twin.lines[1].get_ydata()) == [4]
    assert len(ax.get_legend().get_texts()) == 2


def test_capacity_against_clusters_marks_the_selected(ax):
    plots.capacity_against_clusters([4, 2, 3], [1.4, 1.0, 1.5], selected=3, second=[3, 2, 1], second_label="BIC", ax=ax)
    assert [text.get_text() for text in ax.texts] == ["K = 3, 1.50 bits"]
    assert ax.figure.axes[1].get_ylabel() == "BIC"


def test_capacity_against_clusters_refuses_lengths_that_differ():
    with pytest.raises(ValueError, match=r"capacities has shape \(2,\).*\(3,\)"):
        plots.capacity_against_clusters([1, 2, 3], [1.0, 2.0])


def test_centroid_tree_projects_on_the_main_direction(tree, ax):
    plots.centroid_tree(tree, ax=ax)
    cold = sorted(line.get_ydata()[-1] for line in ax.lines if len(line.get_xdata()) == 3)
    # The main direction maximises the sum of squares over all temperatures; here both lie on one line.
    centred = PLACES - PLACES.mean(axis=0)
    pairs = [(-10, -0.5), (10, 0.5)]
    scatter = centred.T @ centred + 2 * np.transpose(pairs) @ pairs
    angle = np.arctan2(2 * scatter[0, 1], scatter[0, 0] - scatter[1, 1]) / 2
    assert cold == pytest.approx(np.sort(centred @ [np.cos(angle), np.sin(angle)]), abs=1e-6)
    assert all(line.get_ydata()[0] == pytest.approx(0) for line in ax.lines if len(line.get_xdata()) == 3)


def test_centroid_tree_in_a_given_direction(tree, ax):
    plots.centroid_tree(tree, direction=[0, 3], ax=ax)
    cold = sorted(line.get_ydata()[-1] for line in ax.lines if len(line.get_xdata()) == 3)
    assert cold == pytest.approx([-0.5, -0.5, 0.5, 0.5])


def test_paths_without_centroids_are_mean_places(tree, ax):
    X = np.repeat(PLACES, 2, axis=0)
    bare = Trajectory(tree.betas, tree.probabilities, None, tree.costs)
    with pytest.raises(ValueError, match=r"X has shape \(\), accepted is \(8, D\)"):
        plots.cluster_trajectories(bare)
    with pytest.raises(ValueError, match=r"X has shape \(3, 2\).*\(8, D\)"):
        plots.centroid_tree(bare, X[:3])
    plots.cluster_trajectories(bare, X, ax=ax)
    ends = np.array(sorted(map(tuple, np.column_stack(ax.lines[-1].get_data()))))
    assert ends == pytest.approx(PLACES, abs=1e-6)
    assert list(ax.collections[0].get_array()) == pytest.approx([1, 10] * 4)


def test_assignment_probabilities_follow_tree_and_coldest_labels(tree, ax):
    plots.assignment_probabilities(tree, -1, ax=ax)
    image = np.asarray(ax.images[0].get_array())
    assert image == pytest.approx(np.repeat(np.eye(4), 2, axis=1), abs=1e-6)


def test_scatter_has_a_marker_for_each_cluster(ax):
    plots.labels_scatter([[0, 0], [1, 1], [2, 0]], [0, 4, 0], centroids=[[1, 1]], ax=ax)
    assert [line.get_marker() for line in ax.lines[:2]] == [plots.MARKERS[0], plots.MARKERS[4]]
    assert [len(line.get_xdata()) for line in ax.lines[:2]] == [2, 1]


def test_table_counts_objects(ax):
    plots.clusters_against_classes([0, 0, 3, 3, 3], [1, 2, 1, 1, 2], ["a", "b", "c"], ax=ax)
    assert [text.get_text() for text in ax.texts] == ["1", "1", "2", "1"]
    assert [tick.get_text() for tick in ax.get_xticklabels()] == ["b", "c"]
    assert [tick.get_text() for tick in ax.get_yticklabels()] == ["1", "4"]


@pytest.mark.parametrize(
    ("draw", "message"),
    [
        (lambda: plots.similarity_heatmap(np.ones((2, 3))), r"X must be .* square.*\(2, 3\)"),
        (lambda: plots.similarity_heatmap(np.eye(3), [0, 1]), "labels has 2 entries.*3 objects"),
        (lambda: plots.labels_scatter(np.ones(4), [0] * 4), r"X must be .* 2-D.*\(4,\)"),
        (lambda: plots.labels_scatter(np.ones((4, 2)), [0] * 3), "labels has 3 entries"),
        (lambda: plots.clusters_against_classes([0, 1], [0, 1, 1]), "classes has 3 entries"),
        (lambda: plots.clusters_against_classes([0.5, 1], [0, 1]), "labels must be integers"),
    ],
)
def test_bad_input_is_named(draw, message):
    with pytest.raises(ValueError, match=message):
        draw()
    assert pyplot.get_fignums() == []  # refused before a figure was opened


@pytest.mark.parametrize(("steps", "objects", "clusters"), [(1, 1, 1), (1, 4, 2), (3, 1, 1), (3, 4, 1)])
def test_smallest_trajectories_are_drawn(steps, objects, clusters):
    probabilities = np.full((steps, objects, clusters), 1 / clusters)
    betas = np.arange(1.0, steps + 1)
    run = Trajectory(betas, probabilities, None, np.zeros(steps), np.zeros((steps, clusters, 1)))
    flat = SimpleNamespace(betas=betas, curve=np.zeros(steps), value=0.0, index=0)
    drawn = [
        lambda ax: plots.information_curve(flat, transfer=np.zeros(steps), step=0, ax=ax),
        lambda ax: plots.n_effective_curve(run, step=0, ax=ax),
        lambda ax: plots.centroid_tree(run, step=0, ax=ax),
        lambda ax: plots.cluster_trajectories(run, np.zeros((objects, 1)), ax=ax),
        lambda ax: plots.assignment_probabilities(run, ax=ax),
        lambda ax: plots.similarity_heatmap(np.zeros((objects, objects)), plots.distinct_labels(run), ax=ax),
        lambda ax: plots.capacity_against_clusters([1], [0.0], selected=1, ax=ax),
        lambda ax: plots.labels_scatter(np.zeros((objects, 1)), run.labels(), ax=ax),
        lambda ax: plots.clusters_against_classes(run.labels(), run.labels(), ax=ax),
    ]
    figure = Figure()
    for draw, ax in zip(drawn, figure.subplots(3, 3).flat, strict=True):
        assert draw(ax) is ax
    figure.draw_without_rendering()


@pytest.mark.parametrize(
    "name", ["n_effective_curve", "centroid_tree", "cluster_trajectories", "assignment_probabilities"]
)
def test_a_figure_is_opened_when_no_axes_are_given(tree, name):
    ax = getattr(plots, name)(tree)
    assert pyplot.figure(pyplot.get_fignums()[-1]) is ax.figure
    assert ax.get_xlabel() and ax.get_ylabel()


def test_median_and_quartiles_rings_the_lowest_median():
    ax = Figure().add_subplot()
    values = np.array([[3.0, 1.0, 2.0], [4.0, 2.0, 2.5], [9.0, 9.0, 2.6]])
    plots.median_and_quartiles([1, 2, 3], values, label="cost", minimum=True, ax=ax)
    curve, ring = ax.lines
    assert curve.get_ydata().tolist() == [4.0, 2.0, 2.5]
    border = ax.collections[0].get_paths()[0].vertices
    for x, low, high in ((1, 3.5, 6.5), (2, 1.5, 5.5), (3, 2.25, 2.55)):  # half-way between the middle and the ends
        at = border[border[:, 0] == x, 1]
        assert (at.min(), at.max()) == pytest.approx((low, high))
    assert (ring.get_xdata()[0], ring.get_ydata()[0]) == (2, 2.0)
    with pytest.raises(ValueError, match=r"values has shape \(3, 3\), accepted is \(n_repeats, 2\)"):
        plots.median_and_quartiles([1, 2], values, ax=ax)


def test_capacity_with_null_draws_mean_and_spread(ax):
    null = np.array([[0.1, 0.2, 0.3], [0.3, 0.2, 0.5]])
    assert plots.capacity_with_null([2, 3, 4], [0.5, 0.9, 0.7], null, ax=ax, label="CC") is ax
    mean, data = ax.lines
    assert np.allclose(mean.get_ydata(), [0.2, 0.2, 0.4]) and np.allclose(data.get_ydata(), [0.5, 0.9, 0.7])
    band = ax.collections[0].get_paths()[0].vertices
    assert band[:, 1].max() == pytest.approx(0.4 + np.sqrt(0.02)) and band[:, 1].min() == pytest.approx(0.2 - 0.02**0.5)
    assert [text.get_text() for text in ax.get_legend().texts] == ["CC", "without structure"]
    plots.capacity_with_null([2, 3, 4], [0.4, 0.5, 1.7], null[:1], ax=ax, label="PC")  # one null data set has no spread
    assert ax.get_ylim()[1] > 1.7 and ax.lines[3].get_linestyle() != data.get_linestyle()
    assert [text.get_text() for text in ax.get_legend().texts] == ["CC", "PC", "without structure"]


def test_capacity_with_null_refuses_other_shapes():
    for null in (np.zeros(3), np.zeros((3, 2))):
        with pytest.raises(ValueError, match=r"accepted are \(3,\) and \(n_repeats, 3\)"):
            plots.capacity_with_null([2, 3, 4], [0, 0, 0], null)


def test_coclustering_colours_say_what_the_pairs_are(ax):
    rng = np.random.default_rng(0)
    reference, alternative = rng.integers(3, size=40), rng.integers(2, size=40)
    assert plots.coclustering_comparison(reference, alternative, ax=ax) is ax
    image = ax.images[0].get_array()
    order = np.lexsort((alternative, reference))  # as in `_blocks`
    for i, j in np.ndindex(40, 40):
        together = [labels[order[i]] == labels[order[j]] for labels in (reference, alternative)]
        assert image[i, j] == 2 * together[0] + together[1]
    assert [text.get_text() for text in ax.get_legend().texts] == [
        "together in both", "in the reference only", "in the alternative only", "together in neither"
    ]  # fmt: skip
    assert image.max() == 3 and list(ax.get_yticks()) == pytest.approx(
        np.cumsum(np.bincount(reference)) - np.bincount(reference) / 2
    )
    with pytest.raises(ValueError, match="alternative has 39 entries"):
        plots.coclustering_comparison(reference, alternative[1:], ax=ax)


@pytest.mark.parametrize("kind", ["protan", "deutan"])
def test_pair_colours_can_be_told_apart(kind):
    seen = np.array([simulate(colour, kind) for colour in plots.PAIRS])
    assert np.linalg.norm(seen[:, None] - seen[None], axis=2)[np.triu_indices(4, 1)].min() > 0.15
    grey = np.array([to_rgb(colour) for colour in plots.PAIRS]) @ [0.299, 0.587, 0.114]
    assert np.diff(grey).min() > 0.15  # printed in grey, in the order of agreement


def test_expression_profiles_standardise_every_object():
    rng = np.random.default_rng(1)
    shapes = np.array([[0.0, 1, 2, 3], [3.0, 2, 1, 0]])
    labels = np.repeat([0, 2], [5, 7])
    data = shapes[labels // 2] * rng.uniform(1, 9, (12, 1)) + rng.uniform(-5, 5, (12, 1))
    axes = plots.expression_profiles(data, labels, ["a", "b", "c", "d"], figure=Figure())
    assert [ax.get_title() for ax in axes] == ["cluster 1: 5", "cluster 3: 7"]
    unit = np.array([-3, -1, 1, 3]) / np.sqrt(5)
    for ax, sign in zip(axes, (1, -1), strict=True):
        assert np.allclose(ax.lines[-1].get_ydata(), sign * unit)
        assert np.allclose(ax.collections[0].get_paths()[0].vertices[1:5, 1], sign * unit)  # no spread inside
    assert [text.get_text() for text in axes[0].get_xticklabels()] == ["a", "b", "c", "d"]
    two = plots.expression_profiles(np.array([[0.0, 1, 2, 3], [0, 1, 3, 2]]), [0, 0], figure=Figure())[0]
    band = two.collections[0].get_paths()[0].vertices
    high = band[band[:, 0] == 3, 1]  # the two are at 3 / sqrt(5) and 1 / sqrt(5): mean and half their difference
    assert (high.min(), high.max()) == pytest.approx((1 / np.sqrt(5), 3 / np.sqrt(5)))
    noisy = plots.expression_profiles(rng.standard_normal((200, 4)), np.zeros(200, int), figure=Figure())
    assert len(noisy) == 1 and len(noisy[0].lines) <= 11
    with pytest.raises(ValueError, match="constant rows"):
        plots.expression_profiles(np.ones((12, 4)), labels)
