"""Explorers: sliders that pick from finished results, one picture, one sentence that says what the picture shows.

Everything is computed before the sliders appear; a slider only picks.  The picture is an image widget fed from one
reused figure, the quickest way to the browser and one that does not flicker.  A picture is drawn once; while the
reader looks at one, its neighbours are drawn, as the next key press asks for one of them.  Sliders work by mouse and
by arrow keys, the play button lets the first one run by itself.  `Explorer.save_html` writes a page without a kernel.
"""

import asyncio
import base64
import contextlib
import html
import io
import itertools
import math
import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from PIL import Image
from tqdm.auto import tqdm

from ..checks import check_integer, check_option
from ..resources import replacing, require
from ..trajectory import Trajectory
from . import plots

ipywidgets, jinja2 = require("notebooks", "ipywidgets"), require("notebooks", "jinja2")
traitlets = require("notebooks", "traitlets")
_TEMPLATE = jinja2.Environment(
    loader=jinja2.FileSystemLoader(Path(__file__).parent), autoescape=True, trim_blocks=True
).get_template("explorer.html.j2")
LARGEST_SCATTER = 1500  # more points take longer to draw than a slider may


class _Picture(ipywidgets.Image):
    """Image whose tooltip is its accessible name; in ipywidgets 8.1 its view needs a description to show one."""

    description = traitlets.Unicode("").tag(sync=True)


@dataclass
class Axis:
    """What one slider runs over.

    Parameters
    ----------
    values : sequence
        What the slider's positions stand for.
    label : str
        Name shown before the slider.
    unit : str
        Shown after the label, e.g. "bits".
    spec : str
        Format of a number.

    Examples
    --------
    >>> import gencap as gc
    >>> gc.widgets.Axis([1, 2, 4], "rate", "bits")
    Axis(values=[1, 2, 4], label='rate', unit='bits', spec='.3g')
    """

    values: object
    label: str
    unit: str = ""
    spec: str = ".3g"


def _axis(values, name, argument):
    """Axis with at least one value; a plain sequence is named after the argument."""
    label = name.replace("n_clusters", "clusters offered").replace("_", " ")
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
        Says in words what is seen, below the picture and as its alternative text; without it the alternative text is
        that of `gc.plots.describe`.
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
    >>> from gencap.show.explorers import Axis, Explorer
    >>> Explorer({"rank": Axis([1, 2, 4], "rank")}, lambda figure, rank: figure.add_subplot().plot([0, rank]))
    Explorer(rank: 3)
    """

    def __init__(self, axes, draw, describe=None, *, start=None, size=(7.2, 3.2)):
        if not isinstance(axes, dict) or not axes:
            raise TypeError(f"axes must be a dict of name -> Axis or sequence with at least one entry, got {axes!r}")
        self._draw, self._describe = draw, describe or (lambda **indices: "")
        for name, function in (("draw", draw), ("describe", self._describe)):
            if not callable(function):
                raise TypeError(f"{name} must be callable, got {type(function).__name__}")
        self.axes = {name: _axis(values, name, f"axes[{name!r}]") for name, values in axes.items()}
        self._canvas, self._places, self._pages = FigureCanvasAgg(Figure(figsize=size, dpi=100)), [], {}
        layout = {"width": f"{100 * size[0]:.0f}px", "max_width": "100%"}
        self.picture = _Picture(format="png", layout=layout).add_class("gencap-picture")
        self.text = ipywidgets.HTML().add_class("gencap-text")
        self.sliders, self.play, rows = {}, None, []
        looks = {"style": {"description_width": "initial"}, "layout": {"width": "42em", "max_width": "100%"}}
        for name, axis in self.axes.items():
            title = f"{axis.label} ({axis.unit})" if axis.unit else axis.label
            texts = [value if isinstance(value, str) else format(value, axis.spec) for value in axis.values]
            options = list(zip(texts, range(len(texts)), strict=True))
            row = slider = ipywidgets.SelectionSlider(options=options, description=title, **looks)
            slider.observe(lambda change: self._selecting or (self._update(), self._draw_ahead()), "index")
            self.sliders[name] = slider.add_class("gencap-" + name.removeprefix("n_").replace("_", "-"))
            if len(texts) == 1:  # the browser's slider refuses a range without extent
                row = ipywidgets.Label(f"{title}: {texts[0]}")
            elif self.play is None:  # the first axis with a choice
                self.play = ipywidgets.Play(max=len(texts) - 1, interval=250, tooltip=f"run through {axis.label}")
                # Linked in the browser: the slider does not wait for the kernel.
                self.link = ipywidgets.jslink((self.play, "value"), (slider, "index"))
                row = ipywidgets.HBox([slider, self.play.add_class("gencap-play")], layout={"flex_flow": "row wrap"})
            rows.append(row)
        self.select(**(start or {}))
        if self.play is not None:
            self.play.value = self.link.target[0].index
        super().__init__([*rows, self.picture, self.text])

    @property
    def indices(self):
        """Position of every slider, by name."""
        return {name: slider.index for name, slider in self.sliders.items()}

    def select(self, **indices):
        """Move sliders to the given positions, e.g. `select(temperature=3)`, and draw once.

        Parameters
        ----------
        **indices : int
            Position on every axis that is to move, by the axis' name.

        Raises
        ------
        ValueError
            Unknown name, or a position outside of the axis.
        """
        for name, index in indices.items():
            check_option("axis", name, self.axes)
            check_integer(name, index, 0, len(self.axes[name].values) - 1)
        self._selecting = True  # the sliders do not draw
        for name, index in indices.items():
            self.sliders[name].index = int(index)
        self._selecting = False
        self._update()

    def _update(self):
        try:
            picture, words, alternative = self._page(tuple(self.indices.values()))
        except Exception as error:
            # An error behind a slider would only reach the log; the reader shall see that the picture is not current.
            self.text.value = f"<b>Not drawn: {html.escape(str(error))}</b>"
            raise
        with self.picture.hold_sync():  # its view is renewed at every change: at one, not at two
            self.picture.value, self.picture.tooltip = picture, alternative
        self.text.value = f'<div role="status" aria-live="polite">{html.escape(words)}</div>'

    def _page(self, position):
        """Picture (PNG), sentence and alternative text at a position of the sliders; drawn at the first call."""
        if position in self._pages:
            return self._pages[position]
        figure, indices = self._canvas.figure, dict(zip(self.axes, position, strict=True))
        figure.clear()
        figure.set_layout_engine("constrained", w_pad=0.08, h_pad=0.08)
        with plots.style():
            self._draw(figure, **indices)
            # Laid out once: finding the places costs half the time, and axes should not jump.
            if len(figure.axes) != len(self._places):
                figure.draw_without_rendering()
                self._places = [ax.get_position(original=True) for ax in figure.axes]
            figure.set_layout_engine("none")
            for ax, place in zip(figure.axes, self._places, strict=True):
                ax.set_position(place)
            self._canvas.draw()
        words = self._describe(**indices)
        # A palette makes the picture four times smaller, on the way to the browser and in the saved notebook.
        pixels = Image.fromarray(np.asarray(self._canvas.buffer_rgba())[:, :, :3])
        buffer = io.BytesIO()
        pixels.quantize(128, Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE).save(buffer, "png")
        self._pages[position] = buffer.getvalue(), words, words or plots.describe(figure)
        return self._pages[position]

    def _draw_ahead(self):
        """Draw the neighbours of the present position, one at a time, whenever the kernel has nothing else to do."""
        here = tuple(self.indices.values())
        steps = np.vstack([np.eye(len(here), dtype=int), -np.eye(len(here), dtype=int)])
        sizes = [len(axis.values) for axis in self.axes.values()]
        near = [tuple(map(int, here + step)) for step in steps if np.all((0 <= here + step) & (here + step < sizes))]

        def draw_next():
            missing = [position for position in near if position not in self._pages]
            if missing and here == tuple(self.indices.values()):  # else the slider went on, and so does its own call
                with contextlib.suppress(Exception):  # shown when the reader comes there
                    self._page(missing[0])
                near.remove(missing[0])
                loop.call_later(0.02, draw_next)

        with contextlib.suppress(RuntimeError):  # no loop: a script, where nobody presses a key
            loop = asyncio.get_running_loop()
            loop.call_later(0.02, draw_next)

    def save_html(self, path, *, title="Explorer", limit=3e6):
        """Write the explorer as one page that needs neither a kernel nor a network.

        Parameters
        ----------
        path : str or Path
            Where the page goes, usually NAME.html.
        title : str
            Heading of the page.
        limit : float
            Bytes that the page may take.  Where all positions of the sliders are more, every second position of the
            longest axis is left out until they are not; the page and the returned sentence say so.

        Returns
        -------
        str
            How many pictures the page has, of how many, and its size.

        Raises
        ------
        ValueError
            One picture alone is larger than the limit.

        Examples
        --------
        >>> import tempfile
        >>> explorer = Explorer({"rank": [1, 2]}, lambda figure, rank: figure.add_subplot().plot([0, rank]))
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     explorer.save_html(f"{folder}/rank.html").split(",")[0]
        '2 of 2 pictures'
        """
        start = tuple(self.indices.values())
        kept = [range(len(axis.values)) for axis in self.axes.values()]
        offered = math.prod(map(len, kept))
        # The picture that is shown tells about how many there may be; what is drawn is then measured.
        while (drawn := math.prod(map(len, kept))) * 4 / 3 * len(self.picture.value) > limit or (
            len(text := self._html(kept, title)) > limit
        ):
            if drawn == 1:
                raise ValueError(f"limit={limit:g} bytes, one picture alone is larger")
            longest = max(range(len(kept)), key=lambda i: len(kept[i]))
            kept[longest] = kept[longest][kept[longest].index(start[longest]) % 2 :: 2]
        with replacing(path, "w") as stream:
            stream.write(text)
        return f"{drawn} of {offered} pictures, {len(text) / 1024:.0f} KB"

    def _html(self, kept, title):
        """The page with the positions `kept`, a sequence of them for every axis."""
        here, rows = tuple(self.indices.values()), []
        for index, positions, slider in zip(here, kept, self.sliders.values(), strict=True):
            texts = [slider.options[i][0] for i in positions]
            rows.append({"label": slider.description, "texts": texts, "index": positions.index(index)})
        pages = [self._page(position) for position in itertools.product(*kept)]
        pages = [(base64.b64encode(picture).decode("ascii"), *words) for picture, *words in pages]
        left_out = math.prod(len(axis.values) for axis in self.axes.values()) - len(pages)
        return _TEMPLATE.render(title=title, rows=rows, pages=pages, left_out=left_out)

    def __repr__(self):
        return f"{type(self).__name__}({', '.join(f'{name}: {len(axis.values)}' for name, axis in self.axes.items())})"

    def _repr_mimebundle_(self, **kwargs):
        """The live view; where there is none (a page that shows saved notebooks), the first picture and its words.

        A folder in the environment variable GENCAP_EXPLORERS (`gencap run` sets it) gets the page of `save_html`, and
        the notebook's page a frame with it.
        """
        picture = base64.b64encode(self.picture.value).decode("ascii")
        bundle = super()._repr_mimebundle_(**kwargs) | {"image/png": picture}
        if folder := os.environ.get("GENCAP_EXPLORERS"):
            name = f"explorer_{len(list(Path(folder).glob('explorer_*.html'))) + 1}.html"
            self.save_html(Path(folder) / name, limit=1e6)
            height = 240 + 40 * len(self.axes) + self._canvas.get_width_height()[1]
            bundle["text/html"] = f'<iframe src="{name}" title="{self!r}" width="100%" height="{height}"></iframe>'
        return bundle, {"image/png": {"alt": self.picture.tooltip}}


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

    Examples
    --------
    >>> import gencap as gc
    >>> run = gc.AnnealedKMeans(2, random_state=0).anneal([[0.0], [1.0], [9.0]])
    >>> gc.widgets.TemperatureExplorer(run)
    TemperatureExplorer(temperature: 40)
    """

    def __init__(self, run, X=None, **parameters):
        if parameters and not callable(run):
            raise TypeError(f"run must be callable to vary {', '.join(parameters)}, got {type(run).__name__}")
        axes = {name: _axis(values, name, name) for name, values in parameters.items()}
        positions = list(itertools.product(*(range(len(axis.values)) for axis in axes.values())))
        self._results = {}
        for position in tqdm(positions, desc="annealing", leave=False, disable=len(positions) < 2):
            values = {name: axis.values[i] for (name, axis), i in zip(axes.items(), position, strict=True)}
            result = run(**values) if callable(run) else run
            trajectory, capacity = result if isinstance(result, tuple) and len(result) == 2 else (result, None)
            if not isinstance(trajectory, Trajectory):
                raise TypeError(f"run must give a Trajectory or (Trajectory, Capacity), got {type(result).__name__}")
            self._results[position] = trajectory, capacity
        trajectories, capacities = zip(*self._results.values(), strict=True)
        sizes = sorted({(trajectory.n_steps, trajectory.n_objects) for trajectory in trajectories})
        if len(sizes) > 1:
            raise ValueError(f"trajectories have (temperatures, objects) {sizes}, accepted is one pair for all")
        n_steps, n_objects = sizes[0]
        self._X = X if X is None else np.asarray(X)
        if X is not None and (self._X.ndim != 2 or len(self._X) != n_objects):
            raise ValueError(f"X has shape {self._X.shape}, accepted is a matrix with {n_objects} rows, one an object")
        similar = X is not None and self._X.shape == (n_objects, n_objects) and np.allclose(self._X, self._X.T)
        self._limits = plots.colour_limits(self._X) if similar else None
        self._top = max([0.1, *(1.25 * float(np.max(capacity.curve)) for capacity in capacities if capacity)])
        temperature = Axis(trajectories[0].betas / trajectories[0].unit, "inverse temperature", "first split = 1")
        start = {"temperature": capacities[0].index if capacities[0] else n_steps - 1}
        super().__init__({"temperature": temperature, **axes}, self._picture, self._sentence, start=start)

    def _picture(self, figure, temperature, **others):
        trajectory, capacity = self._results[tuple(others.values())]
        left, right = figure.subplots(1, 2, width_ratios=(1.15, 1))
        labels = plots.distinct_labels(trajectory, temperature)
        if self._X is None:
            plots.assignment_probabilities(trajectory, temperature, ax=left, colourbar=False)
            left.set_title("assignment probability, bright = 1")
        elif self._limits is not None:
            plots.similarity_heatmap(self._X, labels, ax=left, limits=self._limits, colourbar=False)
            left.set_title("similarity, bright = high")
        else:
            every = -(-len(labels) // LARGEST_SCATTER)
            centroids = None if trajectory.centroids is None else trajectory.centroids[temperature]
            plots.labels_scatter(self._X[::every], labels[::every], centroids, ax=left)
        if capacity is None:
            plots.n_effective_curve(trajectory, step=temperature, ax=right)
        else:
            plots.information_curve(capacity, unit=trajectory.unit, step=temperature, ax=right)
            right.set_ylim(-0.1 * self._top, self._top)

    def _sentence(self, temperature, **others):
        trajectory, capacity = self._results[tuple(others.values())]
        groups = trajectory.groups(temperature)[trajectory.labels(temperature)]
        sizes = np.sort(np.bincount(groups[groups >= 0]))[::-1]
        count, rest = trajectory.n_effective(temperature), np.sum(groups < 0)
        words = (
            f"Inverse temperature {trajectory.betas[temperature] / trajectory.unit:.3g} times that of the first split "
            f"(beta = {trajectory.betas[temperature]:.3g}), step {temperature + 1} of {trajectory.n_steps}: "
            f"{count} distinct cluster{'s' * (count != 1)} of {trajectory.n_clusters} offered, "
            f"with {', '.join(map(str, sizes))} objects{f' ({rest} more in tiny clusters)' if rest else ''}."
        )
        if capacity is None:
            return words
        best = f"the maximum, the capacity, is {capacity.value:.2f} bits at step {capacity.index + 1}."
        return f"{words} Information {capacity.curve[temperature]:z.2f} bits per object; {best}"  # z: no -0.00


class ClusterCountExplorer(TemperatureExplorer):
    """`TemperatureExplorer` with a slider for the number of clusters offered; `run(n_clusters=value)`.

    Parameters
    ----------
    run : callable(n_clusters)
        As for `TemperatureExplorer`.
    n_clusters : Axis or sequence of int
    X : array_like, optional
        As for `TemperatureExplorer`.

    Examples
    --------
    >>> import gencap as gc
    >>> def run(n_clusters):
    ...     return gc.AnnealedKMeans(n_clusters, random_state=0).anneal([[0.0], [1.0], [9.0]])
    >>> gc.widgets.ClusterCountExplorer(run, [1, 2])
    ClusterCountExplorer(temperature: 40, n_clusters: 2)
    """

    def __init__(self, run, n_clusters, X=None):
        super().__init__(run, X, n_clusters=n_clusters)
