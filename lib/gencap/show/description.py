"""What a figure shows, in words, for those who do not see it: read from its artists, without drawing.

`describe` gives the words.  `attach` hands them to the notebook that runs: every figure that it shows carries them as
alternative text in the metadata of its output, where pages made of saved notebooks find them.
"""

import contextlib
import functools
import re
import sys

import numpy as np
from matplotlib import collections, container, lines, ticker
from matplotlib.figure import Figure
from matplotlib.image import AxesImage

LONGEST = 700  # characters: who listens cannot skim


def _plain(text):
    """Text on one line, formulas in words."""
    text = re.sub(r"\$[^$]+\$", lambda formula: re.sub(r"\\math\w+|\\\W|[$\\{}_^]", " ", formula[0]), str(text))
    return re.sub(r" (?=[,;:)/])", "", " ".join(text.replace("\N{MINUS SIGN}", "-").split()))


def _number(value):
    """Three digits; whole numbers as they are."""
    value = float(value) + 0.0  # no -0
    return f"{value:.0f}" if value.is_integer() and abs(value) < 1e6 else f"{float(f'{value:.3g}'):g}"


def _label(artist):
    """Name of an artist; those that matplotlib or a plot gives for itself begin with an underscore."""
    text = str(artist.get_label())
    return _plain(text if text[:1] != "_" else text[1:] if " " in text else "")


def _ticks(axis):
    """Names at the ticks, {position: name}, where they are not simply the numbers."""
    places, form = axis.get_majorticklocs(), axis.get_major_formatter()
    if isinstance(form, ticker.ScalarFormatter | ticker.LogFormatter | ticker.NullFormatter):
        return {}
    return {float(p): _plain(text) for p, text in zip(places, form.format_ticks(places), strict=True) if str(text)}


def _axis(ax, which):
    """Name, scale and extent of an axis; an inner panel of a grid takes the name from its neighbour."""
    axis, shared = getattr(ax, f"{which}axis"), getattr(ax, f"get_shared_{which}_axes")().get_siblings(ax)
    words = next(filter(None, (getattr(one, f"get_{which}label")() for one in [ax, *shared])), "")
    reach = np.array([getattr(one.dataLim, f"interval{which}") for one in shared])  # without the margin
    ends = np.clip(getattr(ax, f"get_{which}lim")(), reach.min(), reach.max())
    names, said = list(_ticks(axis).values()), map(_number, np.where(abs(ends) < 1e-6 * np.ptp(ends), 0, ends))
    worded = re.search("[a-zA-Z]", "".join(names))
    said = [names[0], names[-1]] if worded or (names and ax.images) else said
    said = ", ".join(names) if worded and len("".join(names)) < 60 else " to ".join(said)
    words = [_plain(words) + " (logarithmic)" * (axis.get_scale() == "log"), said * bool(len(axis.get_majorticklocs()))]
    return f"{which} is {', '.join(filter(None, words))}" if any(words) else ""


def _course(x, y, names):
    """Where a curve begins and ends, and its middle or its extremes; of a path that turns back, its ends."""
    x, y = (x, y) if x[0] <= x[-1] else (x[::-1], y[::-1])
    at, high, low = [names.get(place) or _number(place) for place in x], y.argmax(), y.argmin()
    said = [f"{_number(height)} at {place}" for height, place in zip(y, at, strict=True)]
    y = np.array([float(f"{height:.3g}") for height in y])
    if np.ptp(y) == 0 or np.ptp(x) == 0:
        return f"{_number(y[0])} throughout" if np.ptp(y) == 0 else f"vertical at {at[0]}"
    if (np.diff(x) < 0).any():
        return f"path of {len(x)} points from {said[0]} to {said[-1]}"
    ends, turns = f"from {said[0]} to {said[-1]}", [f", maximum {said[high]}"] * bool(y.max() > max(y[0], y[-1]))
    turns += [f", minimum {said[low]}"] * bool(y.min() < min(y[0], y[-1]))
    if turns:
        return ends + "".join(turns)
    half = f", half way at {at[np.argmax(abs(y - y[0]) >= abs(y[-1] - y[0]) / 2)]}" if len(x) > 5 else ""
    return f"{'rises' if y[-1] > y[0] else 'falls'} {ends}{half}"


def _bars(ax, bars):
    """Heights of few bars; of many the largest."""
    flat, heights = bars.orientation == "horizontal", np.asarray(bars.datavalues)
    middle, names = np.array([bar.get_center()[int(flat)] for bar in bars]), _ticks(ax.yaxis if flat else ax.xaxis)
    middle = middle.round() if np.allclose(np.diff(middle), 1) else middle  # bars side by side
    said = [f"{_number(b)} at {names.get(a) or _number(a)}" for a, b in zip(middle, heights, strict=True)]
    return ", ".join(said) if len(said) < 13 else f"{len(said)}, the largest {said[np.abs(heights).argmax()]}"


def _image(ax, image):
    """Size and values of an image or a mesh; of a table what is written into its cells."""
    values, bar = np.ma.masked_invalid(np.ma.asarray(image.get_array()).astype(float)), image.colorbar
    rows, columns = values.shape[:2]
    if values.size == len(ax.texts) > 1:
        written, names = [_plain(text.get_text()) for text in ax.texts], list(_ticks(ax.yaxis).values())
        names, table = names if len(names) == rows else range(1, rows + 1), np.reshape(written, (rows, columns))
        yield 1, f"table of {rows} rows and {columns} columns"
        yield from ((2, f"row {k}: {', '.join(row)}") for k, row in zip(names, table, strict=True))
    elif values.count():
        name = f" of {_plain(bar.ax.get_ylabel() or bar.ax.get_xlabel())}" if bar else ""
        low, mean, high = map(_number, (values.min(), values.mean(), values.max()))
        yield 1, f"image{name}, {rows} rows, {columns} columns, from {low} to {high}, mean {mean}"


def _read(ax):
    """Pairs (rank, words) of a panel, the lowest rank matters most; an artist that cannot be read is left out."""
    names, clouds, others, seen = _ticks(ax.xaxis), [], [], set()
    yield from ((1, _axis(ax, which)) for which in "xy" * ax.axison)
    for one in [*ax.containers, *ax.lines, *ax.collections, *ax.images]:
        with contextlib.suppress(Exception):
            name, one = _label(one), one.lines[0] if isinstance(one, container.ErrorbarContainer) else one
            if isinstance(one, container.BarContainer):
                yield 1, f"{name} bars: {_bars(ax, one)}".strip()
            elif isinstance(one, AxesImage | collections.QuadMesh):
                yield from _image(ax, one)
            elif isinstance(one, collections.PathCollection):
                clouds.append((name, *np.asarray(one.get_offsets(), dtype=float).T))
            elif isinstance(one, lines.Line2D) and one.get_marker() not in ("_", "|"):  # ends of error bars
                x, y = np.array(one.get_data(orig=False), dtype=float)
                kept, alone = np.isfinite(x + y), one.get_linestyle() in ("None", "none")
                if placed := one.get_transform() == ax.transData:  # else it crosses the whole panel
                    kept &= (x >= min(ax.get_xlim())) & (x <= max(ax.get_xlim()))
                x, y = x[kept], np.where(abs(y) < 1e-6 * np.ptp(ax.get_ylim()), 0, y)[kept]
                if len(x) == 0 or (x.tobytes(), y.tobytes()) in seen:  # a halo
                    continue
                seen.add((x.tobytes(), y.tobytes()))
                if len(x) == 1:
                    yield 2, f"{name} at ({_number(x[0])}, {_number(y[0])})" * bool(name)
                elif alone and not (len(x) > 5 and (np.diff(x) > 0).all()):
                    clouds.append((name, x, y))
                elif name or not placed:
                    yield 1 if placed else 3, f"{name or 'line'}: {_course(x, y, names)}"
                else:
                    others.append((x, y))
    yield from ((1, f"curve: {_course(x, y, names)}") for x, y in others if len(others) < 4)
    if len(others) > 3:
        ends = (sorted(y[k] for _, y in others) for k in (0, -1))
        ends = " and ending at ".join(f"{_number(one[0])} to {_number(one[-1])}" for one in ends)
        yield 2, f"{len(others)} lines without a name, beginning at {ends}"
    if clouds:
        yield 1, f"{sum(len(x) for _, x, _ in clouds)} points" + f" in {len(clouds)} groups" * (len(clouds) > 1)
    for name, x, y in clouds:
        yield 2, f"{name or 'points'}: {len(x)} around ({_number(x.mean().round(9))}, {_number(y.mean().round(9))})"
        if ax.get_aspect() == "auto" and len(x) > 9 and np.ptp(x) > 0 < np.ptp(y):
            ranks = np.corrcoef(x.argsort().argsort(), y.argsort().argsort())[0, 1]
            yield 2, f"rank correlation {_number(ranks)}"
    tables = any(one.get_array().size == len(ax.texts) for one in ax.images)
    yield from ((3 if ax.axison else 1, _plain(one.get_text())) for one in ([] if tables else ax.texts))
    yield from ((4, _plain(one.get_text())) for one in (ax.get_legend().get_texts() if ax.get_legend() else []))


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
        if ax.get_label() != "<colorbar>" and (ax.axison or ax.has_data() or ax.texts):
            places.setdefault(ax.get_position(original=True).bounds, []).append(ax)  # twins have one place
    for number, axes in enumerate(places.values()):
        found = [(0, " ".join(_plain(ax.get_title()) for ax in axes).strip()), *((1, _label(ax)) for ax in axes)]
        for ax in axes:
            with contextlib.suppress(Exception):
                found.extend(_read(ax))
        said += [(rank, order, number, words) for order, (rank, words) in enumerate(found) if words or rank == 0]
    given = (getattr(figure, f"get_{name}")() for name in ("label", "suptitle", "supxlabel"))
    label, title, note = (_plain(text).rstrip(".") for text in given)
    room, panels = LONGEST - len(label + title + note), [[] for _ in places]
    for rank, order, number, words in sorted(said):  # what matters most of every panel first
        if (rank == 4 or words[1:5] == " is ") and any(words in one for one in known):  # panels share axes and legend
            continue
        known.append(words)
        room -= len(words) + (2 if rank else 12)
        if rank == 0 or room > 0:
            panels[number].append((order, words))
    many = len(panels) > 1
    for number, found in enumerate(panels):
        name, *rest = (words for _, words in sorted(found))
        name = ", ".join(filter(None, [f"Panel {number + 1}" * many, name]))
        panels[number] = ": ".join(filter(None, [name, "; ".join(rest)]))
    parts = filter(None, [label, title, f"{len(panels)} panels" * many, *panels, note])
    return (". ".join(parts) or "An empty figure") + "." + " (Shortened.)" * (room <= 0)


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
