"""Explorers: sliders that pick from finished results, one picture, one sentence that says what the picture shows.

Everything is computed before the sliders appear; a slider only picks.  The picture is an image widget fed from one
reused figure, the quickest way to the browser and one that does not flicker.  Sliders work by mouse and by arrow
keys, the play button lets the first one run by itself.
"""

import base64
import html
import io
import itertools
from collections.abc import Mapping
from dataclasses import dataclass

import ipywidgets
import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from PIL import Image

from ..checks import check_integer
from ..trajectory import Trajectory
from . import plots

LARGEST_SCATTER = 1500  # more points take longer to draw than a slider may


@dataclass
class Axis:
    """What one slider runs over.

    Attributes
    ----------
    values : sequence
        What the slider's positions stand for.
    label : str
        Name shown before the slider.
    unit : str
        Shown after the label, e.g. "bits".
    spec : str
        Format of a number.
    """

    values: object
    label: str
    unit: str = ""
    spec: str = ".3g"

    def text(self, index):
        """The value at position `index` in words."""
        value = self.values[index]
        return value if isinstance(value, str) else format(value, self.spec)

    @property
    def title(self):
        """Label with its unit."""
        return f"{self.label} ({self.unit})" if self.unit else self.label


def _axis(values, label, argument):
    """Axis with at least one value; a plain sequence gets the label."""
    axis = values if isinstance(values, Axis) else Axis(list(values), label)
    if len(axis.values) == 0:
        raise ValueError(f"{argument} has no values, accepted is at least one")
    return axis


class Explorer(ipywidgets.VBox):
    """Sliders, a picture and a sentence.

    Parameters
    ----------
    axes : dict of str -> Axis or sequence
        One slider each, in this order; a plain sequence is named by its key.  An axis with a single value gets no
        slider.
    draw : callable(figure, **indices)
        Draws into an empty matplotlib Figure; gets the position (int) on every axis by the axis' name.
    describe : callable(**indices) -> str, optional
        Says in words what is seen, for those who do not see the picture.  (The image widget has no alternative text,
        and in ipywidgets 8.1 a tooltip on it stops its view.)
    start : dict of str -> int, optional
        Positions at the beginning, 0 where none is given.
    size : (float, float)
        Picture in inches, at 100 dots per inch.

    Raises
    ------
    TypeError, ValueError
        `axes` is no dict, or it or one of its axes is empty; `draw` or `describe` cannot be called; `start` names an
        unknown axis or a position outside of it.

    Notes
    -----
    CSS classes: every slider `gencap-NAME` (underscores become hyphens, a leading `n_` goes), the picture
    `gencap-picture`, the sentence `gencap-text`, the play button `gencap-play`.

    Examples
    --------
    >>> Explorer({"rank": Axis([1, 2, 4], "rank")}, lambda figure, rank: figure.add_subplot().plot([0, rank]))
    Explorer(rank: 3)
    """

    def __init__(self, axes, draw, describe=None, start=None, size=(7.2, 3.2)):
        if not isinstance(axes, Mapping):
            raise TypeError(f"axes must be a dict of name -> Axis or sequence, got {type(axes).__name__}")
        if not axes:
            raise ValueError("axes is empty, accepted is a dict with at least one axis")
        describe = (lambda **indices: "") if describe is None else describe
        for name, function in (("draw", draw), ("describe", describe)):
            if not callable(function):
                raise TypeError(f"{name} must be callable, got {type(function).__name__}")
        self.axes = {name: _axis(values, name.replace("_", " "), f"axes[{name!r}]") for name, values in axes.items()}
        self._draw, self._describe = draw, describe
        self._figure = Figure(figsize=size, dpi=100)
        self._canvas = FigureCanvasAgg(self._figure)
        self._places = []
        self.picture = ipywidgets.Image(format="png", layout={"width": f"{100 * size[0]:.0f}px", "max_width": "100%"})
        self.picture.add_class("gencap-picture")
        self.text = ipywidgets.HTML().add_class("gencap-text")
        self.sliders = {name: self._slider(name, axis) for name, axis in self.axes.items()}
        for slider in self.sliders.values():
            slider.observe(self._moved, "index")
        self.select(**(start or {}))
        super().__init__([*self._controls(), self.picture, self.text])

    def _slider(self, name, axis):
        return ipywidgets.SelectionSlider(
            options=[(axis.text(index), index) for index in range(len(axis.values))],
            description=axis.title,
            style={"description_width": "initial"},
            layout={"width": "42em", "max_width": "100%"},
        ).add_class("gencap-" + name.removeprefix("n_").replace("_", "-"))

    def _controls(self):
        """Rows above the picture; the first axis with a choice gets the play button."""
        rows, self.play = [], None
        for name, axis in self.axes.items():
            if len(axis.values) == 1:  # the browser's slider refuses a range without extent
                rows.append(ipywidgets.Label(f"{axis.title}: {axis.text(0)}"))
            elif self.play is None:
                last = len(axis.values) - 1
                self.play = ipywidgets.Play(min=0, max=last, value=self.sliders[name].index, interval=250)
                self.play.add_class("gencap-play")
                self.play.tooltip = f"run through {axis.label}"
                # Linked in the browser: the slider does not wait for the kernel.
                self.link = ipywidgets.jslink((self.play, "value"), (self.sliders[name], "index"))
                rows.append(ipywidgets.HBox([self.sliders[name], self.play], layout={"flex_flow": "row wrap"}))
            else:
                rows.append(self.sliders[name])
        return rows

    @property
    def indices(self):
        """Position of every slider, by name."""
        return {name: slider.index for name, slider in self.sliders.items()}

    def select(self, **indices):
        """Move sliders to the given positions, e.g. `select(temperature=3)`, and draw once.

        Raises
        ------
        ValueError
            Unknown name, or a position outside of the axis.
        """
        for name, index in indices.items():
            if name not in self.axes:
                raise ValueError(f"{name!r} is not one of the axes {', '.join(map(repr, self.axes))}")
            check_integer(name, index, 0, len(self.axes[name].values) - 1)
        self._selecting = True
        try:
            for name, index in indices.items():
                self.sliders[name].index = int(index)
        finally:
            self._selecting = False
        self._update()

    def _moved(self, change):
        if not self._selecting:
            self._update()

    def _update(self):
        indices = self.indices
        try:
            self._figure.clear()
            self._figure.set_layout_engine("constrained", w_pad=0.08, h_pad=0.08)
            with plots.style():
                self._draw(self._figure, **indices)
                self._arrange()
                self._canvas.draw()
            words = self._describe(**indices)
        except Exception as error:
            # An error behind a slider would only reach the log; the reader shall see that the picture is not current.
            self.text.value = f"<b>Not drawn: {html.escape(str(error))}</b>"
            raise
        # A palette makes the picture four times smaller, on the way to the browser and in the saved notebook.
        pixels = Image.fromarray(np.asarray(self._canvas.buffer_rgba())[:, :, :3])
        buffer = io.BytesIO()
        pixels.quantize(128, Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE).save(buffer, "png")
        self.picture.value = buffer.getvalue()
        self.text.value = f'<div role="status" aria-live="polite">{html.escape(words)}</div>'

    def _arrange(self):
        """Lay out once, then keep the places: finding them costs half the time, and axes should not jump."""
        drawn = self._figure.axes
        if len(drawn) != len(self._places):
            self._figure.draw_without_rendering()
            self._places = [ax.get_position(original=True) for ax in drawn]
        self._figure.set_layout_engine("none")
        for ax, place in zip(drawn, self._places, strict=True):
            ax.set_position(place)

    def __repr__(self):
        return f"{type(self).__name__}({', '.join(f'{name}: {len(axis.values)}' for name, axis in self.axes.items())})"

    def _repr_mimebundle_(self, **kwargs):
        """The live view; where there is none (a page that shows saved notebooks), the first picture."""
        bundle = super()._repr_mimebundle_(**kwargs)
        bundle["image/png"] = base64.b64encode(self.picture.value).decode("ascii")
        return bundle


class TemperatureExplorer(Explorer):
    """Annealing by slider: the clusters at every temperature, and where on the information curve that is.

    Parameters
    ----------
    run : Trajectory, (Trajectory, Capacity), or callable(**values) returning one of these
        A callable is called once for every combination of the values in `parameters`, with a progress bar.  Wrapped
        in `functools.cache` it loses nothing when the cell is interrupted and started again.
    X : array_like, optional
        What is shown at the left: a symmetric similarity matrix (N, N), ordered by cluster, or places of the objects
        (N, D), the first two coordinates of them; without X, the assignment probabilities.
    **parameters : Axis or sequence
        Further sliders, e.g. `shift=[-.5, 0]`, `n_clusters=range(2, 11)`.

    Raises
    ------
    TypeError, ValueError
        A run that returns something else, trajectories with different numbers of temperatures or objects, X of
        another length, `parameters` without a callable.
    """

    def __init__(self, run, X=None, **parameters):
        if parameters and not callable(run):
            raise TypeError(f"run must be callable to vary {', '.join(parameters)}, got {type(run).__name__}")
        parameters = {
            name: _axis(values, name.replace("n_clusters", "clusters offered"), name)
            for name, values in parameters.items()
        }
        self._results = _compute(run if callable(run) else lambda: run, parameters)
        self._X = None if X is None else np.asarray(X)
        if X is not None and self._X.ndim != 2:
            raise ValueError(f"X must be a matrix, got shape {self._X.shape}")
        self._similarity = X is not None and self._X.shape[0] == self._X.shape[1] and np.allclose(self._X, self._X.T)
        trajectories = [trajectory for trajectory, _ in self._results.values()]
        for what, name in (("temperatures", "n_steps"), ("objects", "n_objects")):
            found = sorted({getattr(trajectory, name) for trajectory in trajectories})
            if len(found) > 1:
                raise ValueError(f"trajectories have {found} {what}, accepted is one number of {what} for all")
        n_objects, n_steps = trajectories[0].n_objects, trajectories[0].n_steps
        if X is not None and len(X) != n_objects:
            raise ValueError(f"X has {len(X)} rows, accepted is one for each of the {n_objects} objects")
        self._limits = plots._colour_limits(self._X) if self._similarity else None
        capacities = [capacity for _, capacity in self._results.values() if capacity is not None]
        self._top = max([0.1, *(1.25 * float(np.max(capacity.curve)) for capacity in capacities)])
        temperature = Axis(trajectories[0].betas / trajectories[0].unit, "inverse temperature", "first split = 1")
        first = next(iter(self._results.values()))[1]
        start = {"temperature": n_steps - 1 if first is None else first.index}
        super().__init__({"temperature": temperature, **parameters}, self._picture, self._sentence, start)

    def _result(self, indices):
        return self._results[tuple(index for name, index in indices.items() if name != "temperature")]

    def _picture(self, figure, temperature, **others):
        trajectory, capacity = self._result(others)
        left, right = figure.subplots(1, 2, width_ratios=(1.15, 1))
        labels = plots.distinct_labels(trajectory, temperature)
        if self._X is None:
            plots.assignment_probabilities(trajectory, temperature, ax=left, colourbar=False)
            left.set_title("assignment probability, bright = 1")
        elif self._similarity:
            plots.similarity_heatmap(self._X, labels, ax=left, limits=self._limits, colourbar=False)
            left.set_title("similarity, bright = high")
        else:
            every = -(-len(labels) // LARGEST_SCATTER)
            centroids = None if trajectory.centroids is None else trajectory.centroids[temperature]
            plots.labels_scatter(self._X[::every], labels[::every], centroids, ax=left)
        if capacity is None:
            plots.n_effective_curve(trajectory, step=temperature, ax=right)
        else:
            plots.information_curve(capacity, trajectory.unit, step=temperature, ax=right)
            right.set_ylim(-0.1 * self._top, self._top)

    def _sentence(self, temperature, **others):
        trajectory, capacity = self._result(others)
        groups = trajectory.groups(temperature)[trajectory.labels(temperature)]
        sizes = np.sort(np.bincount(groups[groups >= 0]))[::-1]
        count, rest = trajectory.n_effective(temperature), np.sum(groups < 0)
        words = [
            f"Inverse temperature {trajectory.betas[temperature] / trajectory.unit:.3g} times that of the first split "
            f"(beta = {trajectory.betas[temperature]:.3g}), step {temperature + 1} of {trajectory.n_steps}: "
            f"{count} distinct cluster{'s' * (count != 1)} of {trajectory.n_clusters} offered, "
            f"with {', '.join(map(str, sizes))} objects{f' ({rest} more in tiny clusters)' if rest else ''}."
        ]
        if capacity is not None:
            now = round(float(capacity.curve[temperature]), 2) + 0.0  # no -0.00
            words.append(
                f"Information {now:.2f} bits per object; the maximum, the capacity, is {capacity.value:.2f} bits "
                f"at step {capacity.index + 1}."
            )
        return " ".join(words)


class ShiftExplorer(TemperatureExplorer):
    """`TemperatureExplorer` with a slider for the shift of the similarities; `run(shift=value)`."""

    def __init__(self, run, shifts, X=None):
        super().__init__(run, X, shift=shifts)


class ClusterCountExplorer(TemperatureExplorer):
    """`TemperatureExplorer` with a slider for the number of clusters offered; `run(n_clusters=value)`."""

    def __init__(self, run, n_clusters, X=None):
        super().__init__(run, X, n_clusters=n_clusters)


def _compute(run, parameters):
    """Results (Trajectory, Capacity or None) for every combination of values, by their positions."""
    from tqdm.auto import tqdm

    positions = list(itertools.product(*(range(len(axis.values)) for axis in parameters.values())))
    results = {}
    for position in tqdm(positions, desc="annealing", leave=False, disable=len(positions) < 2):
        values = {name: axis.values[i] for (name, axis), i in zip(parameters.items(), position, strict=True)}
        result = run(**values)
        result = (result, None) if isinstance(result, Trajectory) else result
        if not (isinstance(result, tuple) and len(result) == 2 and isinstance(result[0], Trajectory)):
            raise TypeError(f"run must give a Trajectory or (Trajectory, Capacity), got {type(result).__name__}")
        results[position] = result
    return results
