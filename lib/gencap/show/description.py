"""What a figure shows, in words, for those who do not see it: read from its artists, without drawing.

`describe` gives the words.  `attach` hands them to the notebook that runs: every figure that it shows carries them as
alternative text in the metadata of its output, where pages made of saved notebooks find them.
"""

import contextlib
import functools
import re
import sys

import numpy as np
from matplotlib import collections, container, ticker
from matplotlib.figure import Figure

LONGEST = 700  # characters: who listens cannot skim
FEW = 12  # bars that are said one by one
_UNSAID = r"\\(?:math\w+|text|rm|bf|left|right|quad|displaystyle|operatorname)\b|\\[,;:! ]"
_SAID = {"circ": "of", "rightarrow": "to", "to": "to", "leq": "at most", "geq": "at least", "sqrt": "root of"}


def _plain(text):
    """Text on one line, formulas in words."""

    def said(formula):
        formula = re.sub(_UNSAID, " ", formula[1].replace("^2", " squared "))
        return re.sub(r"\\([a-zA-Z]+)|[{}_^]", lambda one: f" {_SAID.get(one[1], one[1] or '')} ", formula)

    text = " ".join(re.sub(r"\$([^$]+)\$", said, str(text)).replace("\N{MINUS SIGN}", "-").split())
    return re.sub(r" (?=[,;:)]|\.(?!\d))|(?<=\() ", "", text)


def _number(value, names=()):
    """The name at a position if it has one; else three digits, whole numbers as they are."""
    value = float(value) + 0.0  # no -0
    if value in names:
        return names[value]
    return f"{value:.0f}" if value.is_integer() and abs(value) < 1e6 else f"{float(f'{value:.3g}'):g}"


def _label(artist):
    """Name of an artist; those that matplotlib or a plot gives for itself begin with an underscore."""
    text = str(artist.get_label())
    return _plain(text if text[:1] != "_" else text[1:] if " " in text else "")


class _Panel:
    """Reads the axes of a panel; every reader yields pairs (rank, words), and what has rank 0 matters most."""

    def __init__(self, ax):
        self.ax, self.names, self.ends = ax, {}, {"x": ax.get_xlim(), "y": ax.get_ylim()}
        self.written = ax.texts
        self.named, self.parts, self.seen, self.clouds, self.others, self.marks = {}, set(), set(), [], [], {}
        for which, axis in (("x", ax.xaxis), ("y", ax.yaxis)):  # names at the ticks, where they are not the numbers
            places, form = axis.get_majorticklocs(), axis.get_major_formatter()
            numbers = isinstance(form, ticker.ScalarFormatter | ticker.LogFormatter | ticker.NullFormatter)
            pairs = () if numbers else zip(places, map(_plain, form.format_ticks(places)), strict=True)
            names = {float(place): text for place, text in pairs if text}
            self.names[which] = names if any(name != f"{place:g}" for place, name in names.items()) else {}

    def read(self):
        """Pairs (rank, words) of the whole; an artist that cannot be read is left out."""
        ax, said = self.ax, []
        kinds = (self.axis, "xy" * ax.axison), (self.container, ax.containers), (self.line, ax.lines)
        kinds += (self.collection, ax.collections), (self.image, ax.images)
        for reader, artists in (*kinds, (self.gathered, [None]), (self.texts, [None])):
            for one in artists:
                with contextlib.suppress(Exception):
                    said.extend(reader(one) if id(one) not in self.parts else ())
        return said

    def at(self, which, value):
        """A place on an axis in words; on a linear one what is zero but for rounding is zero."""
        span = 0 if getattr(self.ax, f"get_{which}scale")() == "log" else np.ptp(self.ends[which])
        return _number(0 if abs(value) < 1e-6 * span else value, self.names["x"] if which == "x" else {})

    def course(self, x, y):
        """Where a curve in view begins and ends, its middle or its extremes; of a path that turns back, its ends."""
        seen = (x >= min(self.ends["x"])) & (x <= max(self.ends["x"]))
        x, y = (x[seen], y[seen]) if x[0] <= x[-1] else (x[seen][::-1], y[seen][::-1])
        at = [f"{self.at('y', height)} at {self.at('x', place)}" for place, height in zip(x, y, strict=True)]
        highest, lowest, y = y.argmax(), y.argmin(), np.array([float(self.at("y", height)) for height in y])
        if np.ptp(y) == 0:
            return f"{_number(y[0])} throughout"
        if (np.diff(x) < 0).any():
            return f"path of {len(x)} points from {at[0]} to {at[-1]}"
        if len(x) > 2 and ((np.diff(y) >= 0).all() or (np.diff(y) <= 0).all()):
            half = np.argmax(abs(y - y[0]) >= abs(y[-1] - y[0]) / 2)
            way = "rises" if y[-1] > y[0] else "falls"
            return f"{way} from {at[0]} to {at[-1]}, half way at {self.at('x', x[half])}"
        high = f", maximum {at[highest]}" if y.max() > max(y[0], y[-1]) else ""
        low = f", minimum {at[lowest]}" if y.min() < min(y[0], y[-1]) else ""
        return f"from {at[0]} to {at[-1]}{high}{low}"

    def axis(self, which):
        """Name, scale and extent of an axis; an inner panel of a grid takes the name from its neighbour."""
        axis, names = getattr(self.ax, f"{which}axis"), list(self.names[which].values())
        shared = [self.ax, *getattr(self.ax, f"get_shared_{which}_axes")().get_siblings(self.ax)]
        words = next(filter(None, (getattr(ax, f"get_{which}label")() for ax in shared)), "")
        words = [_plain(words) + " (logarithmic)" * (axis.get_scale() == "log")]
        reach, ends = np.array([getattr(ax.dataLim, f"interval{which}") for ax in shared]), self.ends[which]
        ends = np.clip(ends, reach.min(), reach.max()) if np.isfinite(reach).all() else ends  # without the margin
        named = re.search("[a-zA-Z]", "".join(names))
        if named and len("".join(names)) < 60:
            words += names
        elif len(axis.get_majorticklocs()):
            numbers = [self.at(which, end) for end in ends]
            words.append(" to ".join([names[0], names[-1]] if named or names and self.ax.images else numbers))
        if any(words):
            yield 1, f"{which} is {', '.join(filter(None, words))}"

    def container(self, one):
        """Bars: few by name and height, of many the largest; of a curve with error bars its name."""
        if isinstance(one, container.ErrorbarContainer):
            self.named[one.lines[0]] = _label(one) or "curve"
            self.parts |= set(map(id, [*one.lines[1], *one.lines[2]]))
        elif isinstance(one, container.BarContainer):
            self.parts |= set(map(id, one))
            which = "xy"[one.orientation == "horizontal"]
            middle = np.array([bar.get_center()["xy".index(which)] for bar in one])
            middle = middle.round() if np.allclose(np.diff(middle), 1) else middle  # bars side by side
            names, heights = [_number(place, self.names[which]) for place in middle], one.datavalues
            said = ", ".join(f"{name} {_number(height)}" for name, height in zip(names, heights, strict=True))
            if len(names) > FEW:
                best = np.abs(heights).argmax()
                said = f"{len(names)}, the largest {_number(heights[best])} at {names[best]}"
            yield 1, f"{_label(one)} bars: {said}".strip()

    def line(self, line):
        """A line with a name; those that mark a place, points and lines without names are gathered."""
        x, y = np.asarray(line.get_data(orig=False), dtype=float)
        x, y = np.stack([x, y])[:, np.isfinite(x) & np.isfinite(y)]
        name, key = self.named.get(line) or _label(line), (x.tobytes(), y.tobytes())
        if key in self.seen or len(x) == 0:  # drawn twice, as a halo
            return
        self.seen.add(key)
        if len(x) == 2 and np.ptp(x) * np.ptp(y) == 0 and (name or line.get_transform() != self.ax.transData):
            which, way, place = ("x", "vertical", x[0]) if np.ptp(x) == 0 else ("y", "horizontal", y[0])
            self.marks.setdefault(f"{name} {way} line".strip(), []).append(self.at(which, place))
        elif len(x) == 1 and name:
            yield 2, f"{name} at ({self.at('x', x[0])}, {self.at('y', y[0])})"
        elif line.get_linestyle() in ("None", "none") and not (len(x) > 5 and (np.diff(x) > 0).all()):
            self.clouds += [(name, x, y)] * (len(x) > 1)
        elif name:
            yield 1, f"{name}: {self.course(x, y)}"
        elif len(x) > 1:
            self.others.append((x, y))

    def collection(self, one):
        """A mesh; points are gathered."""
        if isinstance(one, collections.QuadMesh):
            yield from self.image(one)
        elif isinstance(one, collections.PathCollection):
            self.clouds.append((_label(one), *np.asarray(one.get_offsets(), dtype=float).T))

    def image(self, image):
        """Size and values of an image or a mesh; of a table what is written into its cells."""
        values = np.ma.filled(np.ma.asarray(image.get_array()).astype(float), np.nan)
        (rows, columns), known, bar = values.shape[:2], values[np.isfinite(values)], image.colorbar
        low, high = known.min(), known.max()
        if values.size == len(self.ax.texts) > 1:
            self.written = []
            yield 1, f"table of {rows} rows and {columns} columns"
            first = 0 if len(self.ax.get_yticks()) else 1
            for y, row in enumerate(np.array([_plain(one.get_text()) for one in self.ax.texts]).reshape(rows, columns)):
                yield 2, f"row {_number(y + first, self.names['y'])}: {', '.join(row)}"
        else:
            name = f" of {_plain(bar.ax.get_ylabel() or bar.ax.get_xlabel())}" if bar else ""
            two = low < high and np.isin(known, (low, high)).all()
            share = f", {np.mean(known == high):.0%} of it {_number(high)}" if two else ""
            yield 1, f"image{name}, {rows} rows, {columns} columns, from {_number(low)} to {_number(high)}{share}"

    def gathered(self, _):
        """Clouds of points, how they lie; lines without a name, few one by one; places that are marked."""
        if self.clouds:
            count, groups = sum(len(x) for _, x, _ in self.clouds), len(self.clouds)
            yield 1, f"{count} points" + f" in {groups} groups" * (groups > 1)
        for k, (name, x, y) in enumerate(self.clouds):
            if len(self.clouds) > 1 or name:
                centre = f"({self.at('x', x.mean())}, {self.at('y', y.mean())})"
                yield 2 + (k > 5), f"{name or 'others'}: {len(x)} around {centre}"
            if self.ax.get_aspect() == "auto" and len(x) > 9 and np.ptp(x) > 0 < np.ptp(y):
                together = np.corrcoef(x.argsort().argsort(), y.argsort().argsort())[0, 1]
                yield 2, f"rank correlation {_number(together)}"
        if len(self.others) < 4:
            yield from ((1, f"curve: {self.course(x, y)}") for x, y in self.others)
        else:
            ends = (np.array([y[k] for _, y in self.others]) for k in (0, -1))
            ends = [f"{self.at('y', y.min())} to {self.at('y', y.max())}" for y in ends]
            yield 2, f"{len(self.others)} lines without a name, beginning at {' and ending at '.join(ends)}"
        for name, marked in self.marks.items():
            yield 2, f"{name}{'s' * (len(marked) > 1)} at {', '.join(marked)}"

    def texts(self, _):
        """What is written in the panel and the entries of its legend."""
        rank, start = (3, "text") if self.ax.axison else (1, "diagram")
        for k, text in enumerate(filter(None, (_plain(one.get_text()) for one in self.written))):
            yield rank, f"{start}: {text}" if k == 0 else text
        legend = self.ax.get_legend()
        yield from ((4, _plain(one.get_text())) for one in (legend.get_texts() if legend else ()))


def describe(figure):
    """Say in words what a figure shows: panels, axes, courses of curves, clouds of points, bars, images, notes.

    What is said is read from the artists, at three digits and in about 700 characters; the less important is left
    out.  Words of one's own come first, of the figure where `figure.set_label("...")` gave some, of a panel where
    `ax.set_label("...")` did.

    Parameters
    ----------
    figure : Figure

    Returns
    -------
    str

    Examples
    --------
    >>> import gencap as gc
    >>> ax = gc.plots.capacity_against_clusters([2, 3, 4], [0.9, 1.5, 1.4])
    >>> gc.plots.describe(ax.figure).split("; ")[-1]
    'capacity: from 0.9 at 2 to 1.4 at 4, maximum 1.5 at 3.'
    """
    places, said, known = {}, [], []
    for ax in figure.axes:
        if ax.get_visible() and ax.get_label() != "<colorbar>" and (ax.axison or ax.has_data() or ax.texts):
            places.setdefault(ax.get_position(original=True).bounds, []).append(ax)  # twins have one place
    for number, axes in enumerate(places.values()):
        title = next(filter(None, (_plain(ax.get_title()) for ax in axes)), "")
        found = [(0, title), *((1, _label(ax)) for ax in axes if _label(ax))]
        for ax in axes:
            with contextlib.suppress(Exception):
                found += _Panel(ax).read()
        said += [(rank, order, number, words) for order, (rank, words) in enumerate(found)]
    count = f"{len(places)} panels" * (len(places) > 1)
    ends = [figure.get_label(), figure.get_suptitle(), count], [figure.get_supxlabel()]
    head, tail = (". ".join(_plain(text).rstrip(".") for text in texts if text) for texts in ends)
    room, panels = LONGEST - len(head + tail), [[] for _ in places]
    for rank, order, number, words in sorted(said):  # what matters most of every panel first
        if (rank == 4 or words[1:5] == " is ") and any(words in one for one in known):  # panels share axes and legend
            continue
        known.append(words)
        room -= len(words) + (2 if rank else 12)
        if rank == 0 or room > 0:
            panels[number].append((order, words))
    for number, found in enumerate(panels):
        title, *rest = (words for _, words in sorted(found))
        title = ", ".join(filter(None, [f"Panel {number + 1}" * (len(panels) > 1), title]))
        panels[number] = ": ".join(filter(None, [title, "; ".join(rest)]))
    return (". ".join(filter(None, [head, *panels, tail])) or "An empty figure") + "." + " (Shortened.)" * (room <= 0)


def _described(show, figure):
    """What a formatter of figures shows, with the words as alternative text in its metadata."""
    shown = show(figure)
    if shown is None:  # a figure without axes
        return None
    picture, metadata = shown if isinstance(shown, tuple) else (shown, {})
    return picture, {"alt": describe(figure)} | metadata


def attach():
    """Let the notebook that runs give every figure its words as alternative text; elsewhere nothing happens."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    for kind in ("image/png", "image/jpeg", "image/svg+xml") if hasattr(shell, "display_formatter") else ():
        formatter = shell.display_formatter.formatters[kind]
        with contextlib.suppress(KeyError):  # it does not show figures
            show = formatter.lookup_by_type(Figure)
            if getattr(show, "func", None) is not _described:
                formatter.for_type(Figure, functools.partial(_described, show))
