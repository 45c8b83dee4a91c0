"""Pictures of trajectories, capacities and clusters.

Every function draws one thing into an optional matplotlib Axes and returns that Axes; without one it opens a figure.
Colours come from one palette for colour-blind readers; since grey prints lose them, curves also differ in dash and
marker, clusters in marker, and colour maps rise in lightness from end to end.  matplotlib's settings stay as they are:
`style()` is a context.
"""

import contextlib
from pathlib import Path

import matplotlib
import numpy as np
from matplotlib import collections, colors, patches, ticker
from sklearn.metrics.cluster import contingency_matrix

from ..checks import check_labels, check_same_shape, check_vectors
from ..views.measures import standardised_rows
from . import description

# After Okabe and Ito's palette, dark and light in turn, so that neighbours also differ on a grey print.
COLOURS = ("#0072B2", "#E69F00", "#1A1A1A", "#56B4E9", "#A8382B", "#8FD14F", "#332288", "#CC79A7", "#007A5A", "#C9B800")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">", "*")
# Pairs of labels (reference, alternative) = (0, 0), (0, 1), (1, 0), (1, 1): dark blue, red, light blue, yellow as in
# the source, chosen so that grey print keeps them apart.
PAIRS = ("#14285A", "#C8372D", "#7DBEEB", "#FFF05A")
DASHES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)))
SEQUENTIAL = "cividis"  # lightness rises evenly from end to end
TEMPERATURE = r"inverse temperature $\beta$ (first split = 1)"
MARK = {"color": "0.35", "linewidth": 1.2, "linestyle": ":", "zorder": 0, "label": "_step"}  # at the value of interest
BACKING = {"frameon": True, "framealpha": 0.9, "edgecolor": "none", "borderpad": 0.1}  # of legends over lines
LARGEST_IMAGE = 400  # rows of a heat map; a picture on screen has no more pixels for them
OFFERED = {"xlabel": "number of clusters offered $K$", "ylabel": "capacity (bits per object)"}
PLANE = {"xlabel": "first coordinate", "ylabel": "second coordinate", "aspect": "equal", "adjustable": "datalim"}
describe = description.describe
SETTINGS = matplotlib.rc_params_from_file(Path(__file__).with_name("lesson.mplstyle"), use_default_template=False)


@contextlib.contextmanager
def style():
    """Context in which the figures of the suite are drawn; nothing remains changed after it.

    In a notebook, figures shown from then on carry what `describe` says of them as alternative text.

    Yields
    ------
    None

    Examples
    --------
    >>> import gencap as gc
    >>> with gc.plots.style():
    ...     ax = gc.plots.labels_scatter([[0, 0], [1, 1]], [0, 1])
    """
    with matplotlib.rc_context(SETTINGS):
        yield
        interactive = matplotlib.is_interactive()
    # The first figure of a notebook loads its backend, which turns interactive mode on; if the context turned it off
    # again, no later figure would be shown.
    matplotlib.interactive(interactive)
    description.attach()


def _figure(size):
    """New figure of `size` inches."""
    from matplotlib import pyplot  # here only: explorers draw without pyplot, which would keep their figures open

    return pyplot.figure(figsize=size, layout="constrained")


def _axes(ax, size=(4.4, 3.3), **settings):
    """Return `ax`, or the Axes of a new figure of `size` inches, with its labels and what else `Axes.set` takes."""
    with style():
        ax = _figure(size).subplots() if ax is None else ax
    ax.set(**settings)
    return ax


def _temperature_ticks(axis):
    """Ticks 1, 2, 5, 10, ... in view on a logarithmic axis; ticks are what takes the time of a drawing."""
    low, high = axis.get_view_interval()
    decades = 10.0 ** np.arange(np.floor(np.log10(low)), np.ceil(np.log10(high)) + 1)
    ticks = np.outer(decades, [1, 2, 5]).ravel()
    axis.set_ticks(ticks[(ticks >= low) & (ticks <= high)])
    axis.set_ticks([], minor=True)
    axis.set_major_formatter("{x:g}")


def _temperature_axis(ax, beta, unit, step=None, curve=None):
    """Logarithmic axis of inverse temperatures, named after what it counts; a mark at `step`, a dot on the curve."""
    if step is not None:
        ax.axvline(beta[step], **MARK)
        if curve is not None:
            ax.plot(beta[step], curve[step], "o", color="black", markersize=6, clip_on=False, label="_step")
    ax.set(xscale="log", xlabel=r"inverse temperature $\beta$" if unit == 1 else TEMPERATURE)
    _temperature_ticks(ax.xaxis)


def _ring(ax, x, y, best, marker, colour):
    """Ring around the best point of a curve."""
    ax.plot(x[best], y[best], marker, markersize=9, markerfacecolor="none", markeredgecolor=colour, label="_best")


def _colourbar(ax, picture, label, **layout):
    """Colour bar without a frame."""
    bar = ax.figure.colorbar(picture, ax=ax, label=label, **layout)
    bar.outline.set_visible(False)
    return bar


def _curves(*axes):
    """The curves with a name; marks have none."""
    return [line for ax in axes for line in ax.lines if not str(line.get_label()).startswith("_")]


def _plane(places):
    """First two coordinates of places; those on a line get height 0."""
    return places[..., :2] if places.shape[-1] > 1 else np.concatenate([places, np.zeros_like(places)], axis=-1)


def _look(number, **more):
    """Colour and marker of a cluster or curve."""
    return {"color": COLOURS[number % len(COLOURS)], "marker": MARKERS[number % len(MARKERS)], **more}


def _curve_style(ax):
    """Colour, dash and marker of the next curve in `ax`."""
    number = len(_curves(ax))
    return _look(number, linestyle=DASHES[number % len(DASHES)], markersize=3.5)


def cluster_order(trajectory):
    """Clusters in the order of the leaves of the annealing tree: those that split late stand side by side.

    Parameters
    ----------
    trajectory : Trajectory

    Returns
    -------
    ndarray of int, shape (K,)
        Clusters from left to right.

    Examples
    --------
    >>> import gencap as gc
    >>> run = gc.AnnealedKMeans(2, random_state=0).anneal([[0.0], [1.0], [9.0]])
    >>> sorted(gc.plots.cluster_order(run).tolist())
    [0, 1]
    """
    groups = [trajectory.groups(t) for t in range(trajectory.n_steps)]
    return np.lexsort((np.arange(trajectory.n_clusters), *groups[::-1]))


def distinct_labels(trajectory, t=-1):
    """Hard labels at step `t` with coincident clusters merged, numbered by their place in `cluster_order`.

    A group keeps the number of its first leaf, so that a cluster does not change its colour when another one
    splits off.

    Parameters
    ----------
    trajectory : Trajectory
    t : int

    Returns
    -------
    ndarray of int, shape (N,)

    Examples
    --------
    >>> import gencap as gc
    >>> run = gc.AnnealedKMeans(2, random_state=0).anneal([[0.0], [1.0], [9.0]])
    >>> len(set(gc.plots.distinct_labels(run, 0))), len(set(gc.plots.distinct_labels(run)))
    (1, 2)
    """
    place, groups = np.argsort(cluster_order(trajectory)), trajectory.groups(t)
    merged = np.array([place[groups == g].min() if g >= 0 else own for g, own in zip(groups, place, strict=True)])
    return merged[trajectory.labels(t)]


def colour_limits(X):
    """Ends of the colour scale of a similarity matrix: the 1st and 99th percentile off the diagonal.

    Parameters
    ----------
    X : ndarray, shape (N, N)

    Returns
    -------
    (float, float)

    Examples
    --------
    >>> import numpy as np, gencap as gc
    >>> [round(float(end), 3) for end in gc.plots.colour_limits(np.array([[9.0, 0.0], [1.0, 9.0]]))]
    [0.01, 0.99]
    """
    off_diagonal = X[~np.eye(len(X), dtype=bool)]
    return np.percentile(off_diagonal, [1, 99]) if off_diagonal.size else (float(X[0, 0]) - 1, float(X[0, 0]) + 1)


def _image(ax, values, extent, low=0, high=1, cmap=SEQUENTIAL, aspect=None):
    """Heat map of `values` without smoothing."""
    return ax.imshow(values, cmap, aspect=aspect, interpolation="nearest", vmin=low, vmax=high, extent=extent)


def _blocks(labels, tie=None):
    """Objects ordered by label (then `tie`), those of them shown, the labels present, and the edges of their blocks."""
    order = np.lexsort((labels if tie is None else tie, labels))
    present, sizes = np.unique(labels, return_counts=True)
    return order, order[:: -(-len(order) // LARGEST_IMAGE)], present, np.concatenate([[0], np.cumsum(sizes)])


def _block_numbers(ax, present, edges, least=0.0):
    """Cluster numbers beside the blocks of more than a share `least`: those of smaller ones would lie on each other."""
    named = np.diff(edges) > least * edges[-1]
    ax.set_yticks(((edges[1:] + edges[:-1]) / 2)[named], (present + 1)[named])
    ax.tick_params(axis="y", length=0)


def similarity_heatmap(X, labels=None, *, ax=None, label="similarity", limits=None, colourbar=True):
    """Similarity matrix, objects ordered by cluster, a frame around each cluster (numbered from 1).

    Parameters
    ----------
    X : array_like, shape (N, N)
    labels : array_like of int, shape (N,), optional
        Clusters; None keeps the order of the objects.
    ax : Axes, optional
    label : str
        Name of the quantity, for the colour bar.
    limits : (float, float), optional
        Ends of the colour scale; None takes the 1st and 99th percentile off the diagonal.
    colourbar : bool

    Returns
    -------
    Axes

    Examples
    --------
    >>> import gencap as gc
    >>> ax = gc.plots.similarity_heatmap([[1, 0.9, 0], [0.9, 1, 0], [0, 0, 1]], [0, 0, 1])
    """
    X = np.asarray(X)
    if X.ndim != 2 or X.shape[0] != X.shape[1] or X.shape[0] == 0:
        raise ValueError(f"X must be a non-empty square matrix (objects, objects), got shape {X.shape}")
    labels = check_labels("labels", np.zeros(len(X), int) if labels is None else labels, len(X))
    ax = _axes(ax, (4.6, 3.8), xlabel="objects", ylabel="objects")
    _, shown, present, edges = _blocks(labels)
    image = X[np.ix_(shown, shown)]
    picture = _image(ax, image, (0, len(X), len(X), 0), *(colour_limits(image) if limits is None else limits))
    if len(present) > 1:
        for start, size in zip(edges[:-1], np.diff(edges), strict=True):
            for colour, width in (("white", 2.6), ("black", 1.1)):
                ax.add_patch(patches.Rectangle((start, start), size, size, fill=False, ec=colour, linewidth=width))
        _block_numbers(ax, present, edges, 0.03)
        sizes = ", ".join(map(str, np.diff(edges)))
        ax.set(xlabel="objects, ordered by cluster", ylabel="cluster", label=f"clusters of {sizes} objects")
    ax.spines[:].set_visible(False)
    if colourbar:
        _colourbar(ax, picture, label, fraction=0.046, pad=0.03, extend="both")
    return ax


def information_curve(capacity, *, unit=1.0, transfer=None, step=None, label="information $J$", ax=None):
    """Information J against inverse temperature, its maximum (the generalization capacity) marked.

    Values far below zero are cut off: they all say that nothing generalizes.

    Parameters
    ----------
    capacity : Capacity
    unit : float
        Inverse temperature of the first split (`trajectory.unit`); 1 leaves the axis in the model's own numbers.
    transfer : array_like, shape (T,), optional
        Transfer costs at the same temperatures, drawn on a second axis, their minimum marked.
    step : int, optional
        Temperature marked by a vertical line.
    label : str
        Name of the curve; call again with the same `ax` and another name to compare.
    ax : Axes, optional

    Returns
    -------
    Axes

    Examples
    --------
    >>> import gencap as gc
    >>> runs = [gc.AnnealedKMeans(2, random_state=0).anneal([[0.0], [1.0], [x]]) for x in (9.0, 9.5)]
    >>> ax = gc.plots.information_curve(gc.generalization_capacity(*runs), unit=runs[0].unit)
    """
    ax = _axes(ax, ylabel="information (bits per object)")
    beta, curve, best = np.asarray(capacity.betas) / unit, np.asarray(capacity.curve), capacity.index
    drawn, first, top = _curve_style(ax), not ax.lines, max(float(curve.max()), 0.05)
    ax.plot(beta, curve, label=label, **drawn)
    _ring(ax, beta, curve, best, "o", drawn["color"])
    low, high = (0, 0) if first else ax.get_ylim()
    ax.set_ylim(min(low, -0.12 * top), max(high, 1.2 * top))
    words, side = f"{max(curve[best], 0.0):.2f} bits", "right" if best > 0.8 * len(curve) else "center"
    box = {"facecolor": "white", "edgecolor": "none", "alpha": 0.8, "pad": 0.5}
    ax.annotate(words, (beta[best], curve[best]), (0, 8), textcoords="offset points", ha=side, bbox=box)
    if first:
        ax.axhline(0, color="0.6", linewidth=0.8, zorder=0)
    _temperature_axis(ax, beta, unit, step, np.maximum(curve, ax.get_ylim()[0]))
    if transfer is not None:
        _second_curve(ax, beta, transfer, "transfer cost", "transfer cost per object")
    elif not first:
        ax.legend(loc="best", **BACKING)
    return ax


def _second_curve(ax, x, y, label, axis_label):
    """Curve on a second axis, minimum ringed, one legend for both."""
    y = np.asarray(y, dtype=float)
    twin = ax.twinx()
    twin.spines["right"].set_visible(True)
    twin.plot(x, y, "s--", color=COLOURS[4], markersize=3.5, label=label)
    _ring(twin, x, y, int(np.nanargmin(y)), "s", COLOURS[4])
    low, span = np.nanmin(y), float(np.nanmax(y) - np.nanmin(y)) or 1.0
    twin.set(ylabel=axis_label, ylim=(low - 0.1 * span, np.nanmax(y) + 0.3 * span))
    ax.legend(handles=_curves(ax, twin), loc="upper left", ncols=2, **BACKING)
    ax.set_ylim(ax.get_ylim()[0], ax.get_ylim()[1] * 1.1)


def capacity_against_clusters(n_clusters, capacities, selected=None, *, second=None, second_label="", ax=None):
    """Capacity against the number of clusters offered.

    Parameters
    ----------
    n_clusters : array_like of int, shape (M,)
    capacities : array_like, shape (M,)
        Bits per object.
    selected : int, optional
        Number of clusters that was chosen, marked.
    second : array_like, shape (M,), optional
        Another score (BIC, instability), drawn on a second axis, its minimum ringed.
    second_label : str
    ax : Axes, optional

    Returns
    -------
    Axes

    Examples
    --------
    >>> import gencap as gc
    >>> ax = gc.plots.capacity_against_clusters([2, 3, 4], [0.9, 1.5, 1.4], 3)
    """
    n_clusters, capacities = np.asarray(n_clusters), np.asarray(capacities, dtype=float)
    check_same_shape("capacities", capacities, "n_clusters", n_clusters)
    ax = _axes(ax, **OFFERED)
    ax.plot(n_clusters, capacities, label="capacity", **_curve_style(ax))
    ax.set_ylim(min(0.0, capacities.min()), max(1.2 * capacities.max(), 0.1))
    if selected is not None:
        value = capacities[list(n_clusters).index(selected)]
        ax.axvline(selected, **MARK)
        ax.annotate(f"K = {selected}, {value:.2f} bits", (selected, value), (5, 7), textcoords="offset points")
    ax.xaxis.set_major_locator(ticker.MaxNLocator(integer=True))
    if second is not None:
        _second_curve(ax, n_clusters, second, second_label, second_label)
    return ax


def n_effective_curve(trajectory, *, step=None, ax=None):
    """Number of distinct clusters against inverse temperature, in units of the first split.

    Parameters
    ----------
    trajectory : Trajectory
    step : int, optional
        Temperature marked by a vertical line.
    ax : Axes, optional

    Returns
    -------
    Axes

    Examples
    --------
    >>> import gencap as gc
    >>> ax = gc.plots.n_effective_curve(gc.AnnealedKMeans(2, random_state=0).anneal([[0.0], [1.0], [9.0]]))
    """
    ax = _axes(ax, ylabel="distinct clusters", ylim=(0, trajectory.n_clusters + 0.5))
    beta = trajectory.betas / trajectory.unit
    count = [trajectory.n_effective(t) for t in range(trajectory.n_steps)]
    ax.step(beta, count, where="mid", **(_curve_style(ax) | {"linestyle": "-"}))
    _temperature_axis(ax, beta, trajectory.unit, step, count)
    ax.yaxis.set_major_locator(ticker.MaxNLocator(integer=True))
    return ax


def _centroid_paths(trajectory, X):
    """Centroids (T, K, D) of a trajectory; without own ones, the mean places in X under the probabilities."""
    if trajectory.centroids is not None:
        return np.asarray(trajectory.centroids, dtype=float)
    if np.ndim(X) != 2 or len(X) != trajectory.n_objects:
        accepted = f"({trajectory.n_objects}, D), a place for each object, as the trajectory has no centroids"
        raise ValueError(f"X has shape {np.shape(X)}, accepted is {accepted}")
    mass = trajectory.probabilities.sum(axis=1)[:, :, None]
    return np.einsum("tnk,nd->tkd", trajectory.probabilities, np.asarray(X, float)) / np.maximum(mass, 1e-12)


def centroid_tree(trajectory, X=None, *, direction=None, step=None, ax=None):
    """Centroids on one line against inverse temperature: the tree of splits (000 Fig. 13a).

    Parameters
    ----------
    trajectory : Trajectory
    X : array_like, shape (N, D), optional
        Places of the objects, needed when the trajectory has no centroids of its own.
    direction : array_like, shape (D,), optional
        Direction on which the centroids are projected; None takes their first principal component over all
        temperatures, the best line by classical multidimensional scaling.
    step : int, optional
        Temperature marked by a vertical line.
    ax : Axes, optional

    Returns
    -------
    Axes

    Examples
    --------
    >>> import gencap as gc
    >>> ax = gc.plots.centroid_tree(gc.AnnealedKMeans(2, random_state=0).anneal([[0.0], [1.0], [9.0]]))
    """
    paths, mass = _centroid_paths(trajectory, X), trajectory.probabilities.mean(axis=1)
    ax = _axes(ax, ylabel="centroid position, projected")
    paths = paths - (mass[:, :, None] * paths).sum(axis=1, keepdims=True)
    if direction is None:
        direction = np.linalg.svd(paths.reshape(-1, paths.shape[2]), full_matrices=False)[2][0]
        direction = direction * np.sign(direction[np.abs(direction).argmax()])  # the sign of a singular vector is free
    places = paths @ (np.asarray(direction, dtype=float) / np.linalg.norm(direction))
    beta = trajectory.betas / trajectory.unit
    for number, k in reversed([*enumerate(cluster_order(trajectory))]):  # first leaf on top: its colour is the stem's
        ax.plot(beta, places[:, k], color=_look(number)["color"], linewidth=1.3)
        ax.plot(beta[-1], places[-1, k], **_look(number, linestyle="none", markersize=5, clip_on=False))
    _temperature_axis(ax, beta, trajectory.unit, step)
    return ax


def cluster_trajectories(trajectory, X=None, *, ax=None):
    """Paths of the centroids in the plane, their colour the inverse temperature (000 Fig. 22b).

    Parameters
    ----------
    trajectory : Trajectory
    X : array_like, shape (N, D), optional
        Places of the objects, drawn in grey (first two coordinates); needed when the trajectory has no centroids.
    ax : Axes, optional

    Returns
    -------
    Axes

    Examples
    --------
    >>> import gencap as gc
    >>> X = [[0.0, 1.0], [1.0, 1.0], [9.0, 0.0]]
    >>> ax = gc.plots.cluster_trajectories(gc.AnnealedKMeans(2, random_state=0).anneal(X), X)
    """
    paths = _plane(_centroid_paths(trajectory, X))
    ax = _axes(ax, (4.6, 3.6), **PLANE)
    if X is not None:
        shown = _plane(np.asarray(X, dtype=float)[:: -(-len(X) // 1500)])
        ax.plot(*shown.T, ".", color="0.82", markersize=3, zorder=0)
    beta = trajectory.betas / trajectory.unit
    norm = colors.LogNorm(beta[0], beta[-1] if len(beta) > 1 else 2 * beta[0])
    pieces = np.stack([paths[:-1], paths[1:]], axis=2).transpose(1, 0, 2, 3).reshape(-1, 2, 2)
    look = {"cmap": SEQUENTIAL, "norm": norm, "array": np.tile(beta[1:], paths.shape[1]), "linewidths": 2.4}
    drawn = ax.add_collection(collections.LineCollection(pieces, **look))
    ax.plot(*paths[-1].T, "o", markersize=6, color="black", markerfacecolor="white", zorder=3)
    ax.margins(0.08)
    _temperature_ticks(_colourbar(ax, drawn, TEMPERATURE).ax.yaxis)
    return ax


def assignment_probabilities(trajectory, t=-1, *, ax=None, colourbar=True):
    """Assignment probabilities at step `t`, objects in columns ordered by their coldest labels, clusters in rows.

    Parameters
    ----------
    trajectory : Trajectory
    t : int
    ax : Axes, optional
    colourbar : bool

    Returns
    -------
    Axes

    Examples
    --------
    >>> import gencap as gc
    >>> ax = gc.plots.assignment_probabilities(gc.AnnealedKMeans(2, random_state=0).anneal([[0.0], [1.0], [9.0]]))
    """
    ax = _axes(ax, xlabel="objects, ordered by their coldest cluster", ylabel="cluster")
    clusters = cluster_order(trajectory)
    order, *_, edges = _blocks(np.argsort(clusters)[trajectory.labels(-1)])
    image = trajectory.probabilities[t][np.ix_(order, clusters)].T
    picture = _image(ax, image, (0, trajectory.n_objects, trajectory.n_clusters + 0.5, 0.5), aspect="auto")
    for edge in edges[1:-1]:
        ax.axvline(edge, color="white", linewidth=0.6)
    ax.yaxis.set_major_locator(ticker.MaxNLocator(integer=True, min_n_ticks=1))
    if colourbar:
        _colourbar(ax, picture, "assignment probability", fraction=0.06, pad=0.03)
    return ax


def labels_scatter(X, labels, centroids=None, *, ax=None):
    """Objects in the plane (first two coordinates of X), a colour and a marker for each cluster.

    Parameters
    ----------
    X : array_like, shape (N, D)
    labels : array_like of int, shape (N,)
    centroids : array_like, shape (K, D), optional
        Drawn as crosses.
    ax : Axes, optional

    Returns
    -------
    Axes

    Examples
    --------
    >>> import gencap as gc
    >>> ax = gc.plots.labels_scatter([[0, 0], [1, 1], [5, 5]], [0, 0, 1], centroids=[[0.5, 0.5], [5, 5]])
    """
    X = check_vectors("X", X)
    labels = check_labels("labels", labels, len(X))
    ax = _axes(ax, **PLANE)
    size = np.clip(110 / np.sqrt(len(X)), 2.5, 6)
    look = {"linestyle": "none", "markersize": size, "markeredgewidth": 0, "alpha": 0.75}
    for k in np.unique(labels):
        ax.plot(*_plane(X[labels == k]).T, label=f"cluster {k + 1}", **_look(k, **look))
    if centroids is not None:
        places = _plane(np.asarray(centroids, dtype=float)).T
        for width, colour in ((4.5, "white"), (2.0, "black")):
            ax.plot(*places, "x", color=colour, markersize=8, markeredgewidth=width, zorder=3)
    return ax


def clusters_against_classes(labels, classes, class_names=None, *, ax=None):
    """How many objects of each known class each cluster holds, as a table in shades.

    Parameters
    ----------
    labels, classes : array_like of int, shape (N,)
    class_names : sequence of str, optional
    ax : Axes, optional

    Returns
    -------
    Axes

    Examples
    --------
    >>> import gencap as gc
    >>> ax = gc.plots.clusters_against_classes([0, 0, 1], [1, 1, 0], ["a", "b"])
    """
    labels = check_labels("labels", labels)
    classes = check_labels("classes", classes, len(labels))
    clusters, kinds = np.unique(labels), np.unique(classes)
    counts = contingency_matrix(labels, classes)
    names = kinds if class_names is None else [class_names[kind] for kind in kinds]
    ax = _axes(ax, (1.6 + 0.8 * len(kinds), 1.2 + 0.4 * len(clusters)), xlabel="class", ylabel="cluster")
    ax.imshow(counts, cmap=SEQUENTIAL, vmin=0, aspect="auto")
    for (row, column), count in np.ndenumerate(counts):
        ax.text(column, row, count, ha="center", va="center", color="black" if count > 0.6 * counts.max() else "white")
    ax.set_xticks(range(len(kinds)), names)
    ax.set_yticks(range(len(clusters)), clusters + 1)
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    return ax


def median_and_quartiles(x, values, *, label="", minimum=False, ax=None):
    """Median over repetitions, and the quartiles as a band with thin borders.

    Parameters
    ----------
    x : array_like, shape (M,)
    values : array_like, shape (n_repeats, M)
    label : str
        Name of the curve; call again with the same `ax` and another name to compare.
    minimum : bool
        Ring the lowest median.
    ax : Axes, optional

    Returns
    -------
    Axes

    Examples
    --------
    >>> import gencap as gc
    >>> ax = gc.plots.median_and_quartiles([1, 2], [[3, 1], [4, 2], [9, 2]], label="cost", minimum=True)
    """
    x, values = np.asarray(x), np.asarray(values, dtype=float)
    if values.ndim != 2 or x.shape != values.shape[1:]:
        raise ValueError(f"values has shape {values.shape}, accepted is (n_repeats, {x.size}), one column for each x")
    drawn = _curve_style(ax := _axes(ax))
    low, middle, high = np.quantile(values, [0.25, 0.5, 0.75], axis=0)
    ax.fill_between(x, low, high, color=drawn["color"], alpha=0.15, linewidth=0.6)
    ax.plot(x, middle, label=label, **drawn)
    if minimum:
        _ring(ax, x, middle, int(middle.argmin()), drawn["marker"], drawn["color"])
    return ax


def capacity_with_null(n_clusters, observed, null, *, ax=None, label="data"):
    """Capacity against the number of clusters, and what the same procedure finds in data without structure.

    Parameters
    ----------
    n_clusters : array_like, shape (L,)
        Or any other setting on the horizontal axis.
    observed : array_like, shape (L,)
        Bits per object.
    null : array_like, shape (R, L)
        Capacities of R data sets made without structure; drawn are their mean, in the dash of the curve, and a grey
        band of one standard deviation to each side.
    ax : Axes, optional
    label : str
        Name of the curve; call again with the same `ax` and another name to compare.

    Returns
    -------
    Axes

    Examples
    --------
    >>> import gencap as gc
    >>> ax = gc.plots.capacity_with_null([2, 3], [0.5, 0.9], [[0.1, 0.2], [0.2, 0.3]])
    """
    n_clusters, observed, null = np.asarray(n_clusters), np.asarray(observed, float), np.asarray(null, float)
    if null.ndim != 2 or not n_clusters.shape == observed.shape == null.shape[1:]:
        accepted = f"({n_clusters.size},) and (n_repeats, {n_clusters.size}), one column for each of n_clusters"
        raise ValueError(f"observed has shape {observed.shape} and null {null.shape}, accepted are {accepted}")
    ax = _axes(ax, **OFFERED)
    drawn, mean, spread = _curve_style(ax), null.mean(axis=0), null.std(axis=0, ddof=min(1, len(null) - 1))
    ax.fill_between(n_clusters, mean - spread, mean + spread, color="0.55", alpha=0.3, linewidth=0.6)
    ax.plot(n_clusters, mean, color="0.4", linestyle=drawn["linestyle"], linewidth=1.1, label=f"_null of {label}")
    ax.plot(n_clusters, observed, label=label, **drawn)
    top = max(1.15 * observed.max(), 1.1 * (mean + spread).max(), 0.1)
    ax.set_ylim(-0.03 * top, max(top, ax.get_ylim()[1] if len(ax.lines) > 2 else 0))
    lines = _curves(ax)
    ax.legend([*lines, ax.lines[0]], [*(line.get_label() for line in lines), "without structure"], **BACKING)
    return ax


def coclustering_comparison(reference, alternative, *, ax=None):
    """Pairs of objects in four colours: in one cluster by both solutions, by one of them, by none (000 Fig. 41).

    Objects are ordered by the reference clusters, which become blocks on the diagonal; yellow outside of a block
    cannot be, light blue in a block says that the alternative splits it, red outside that it merges.

    Parameters
    ----------
    reference, alternative : array_like of int, shape (N,)
    ax : Axes, optional

    Returns
    -------
    Axes

    References
    ----------
    Document 000, section 7.1.5, Eq. 151.

    Examples
    --------
    >>> import gencap as gc
    >>> ax = gc.plots.coclustering_comparison([0, 0, 1, 1], [0, 1, 2, 2])
    """
    reference = check_labels("reference", reference)
    alternative = check_labels("alternative", alternative, len(reference))
    ax = _axes(ax, (4.6, 3.4), xlabel="objects, ordered by reference cluster", ylabel="reference cluster")
    order, shown, present, edges = _blocks(reference, alternative)
    together, also = (np.equal.outer(names[shown], names[shown]) for names in (reference, alternative))
    _image(ax, 2 * together + also, (0, len(order), len(order), 0), high=3, cmap=colors.ListedColormap(PAIRS))
    _block_numbers(ax, present, edges)
    words = ("together in neither", "in the alternative only", "in the reference only", "together in both")
    squares = [patches.Patch(fc=colour, ec="0.3", label=word) for colour, word in zip(PAIRS, words, strict=True)]
    ax.legend(handles=squares[::-1], loc="upper left", bbox_to_anchor=(1.02, 1))
    return ax


def expression_profiles(data, labels, conditions=None, *, figure=None):
    """One panel a cluster: its objects' profiles, each with mean 0 and variance 1, and their mean (000 Figs 42, 43).

    Parameters
    ----------
    data : array_like, shape (N, D)
        D measurements of every object, in their order.
    labels : array_like of int, shape (N,)
    conditions : sequence of str, shape (D,), optional
        Names of the measurements; the first, the last and some between are shown.
    figure : Figure or SubFigure, optional

    Returns
    -------
    ndarray of Axes, shape (number of non-empty clusters,)
        Thin grey: up to 10 members; line and band: mean of the cluster and one standard deviation to each side.

    Examples
    --------
    >>> import gencap as gc
    >>> axes = gc.plots.expression_profiles([[0, 1, 2], [2, 1, 0], [0, 2, 4]], [0, 1, 0])
    >>> len(axes)
    2
    """
    data = check_vectors("data", data)
    labels = check_labels("labels", labels, len(data))
    profiles = standardised_rows("data", data) * np.sqrt(data.shape[1])
    present = np.unique(labels)
    rows, columns = -(-len(present) // 5), min(len(present), 5)
    figure = figure or _figure((1.9 * columns, 1.6 * rows + 0.3))
    axes = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False).ravel()
    points = range(data.shape[1])
    for ax, k in zip(axes, present, strict=False):
        mine = profiles[labels == k]
        mean, spread, colour = mine.mean(axis=0), mine.std(axis=0), COLOURS[k % len(COLOURS)]
        ax.plot(points, mine[:: -(-len(mine) // 10)].T, color="0.85", linewidth=0.4, zorder=0)
        ax.fill_between(points, mean - spread, mean + spread, color=colour, alpha=0.3, linewidth=0)
        ax.plot(points, mean, color=colour, label=f"cluster {k + 1}")
        ax.set_title(f"cluster {k + 1}: {len(mine)}", fontsize=8)
    for ax in axes[len(present) :]:
        ax.set_axis_off()
    if conditions is not None:
        ticks = np.unique(np.linspace(0, len(points) - 1, min(len(points), 4)).round().astype(int))
        axes[0].set_xticks(ticks, [str(conditions[tick]) for tick in ticks])
    return axes[: len(present)]
