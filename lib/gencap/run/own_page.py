"""One page about somebody's data, read in two minutes, with its tables and pictures; see `own.investigate`."""

import base64
import io
from pathlib import Path

import numpy as np
from jinja2 import Environment, FileSystemLoader
from matplotlib.figure import Figure

from .. import __version__
from ..resources import replacing
from ..show import plots

MEASURED = {  # how a measure is called in a sentence
    "correlation": "correlation of rows",
    "euclidean": "squared Euclidean distance",
    "path": "path distance (Euclidean steps)",
    "path_correlation": "path distance (steps of 1 - correlation)",
    "path_union": "path distance over all objects",
    "weights": "weights of the graph",
}
_TEMPLATE = Environment(autoescape=True, loader=FileSystemLoader(Path(__file__).parent))


def write_page(findings, folder):
    """Write index.html, capacities.csv, pictures and, if clusters are recommended, clusters.csv; see `Findings.write`.

    Files of an earlier result that this one has not are removed.
    """
    folder = Path(folder)
    with plots.style():
        drawn = {name: made for name, draw in FIGURES.items() if (made := draw(findings))}
    tables = {"capacities.csv": findings.table.drop(columns="setting"), "clusters.csv": findings.clusters}
    for old in (*folder.glob("*.csv"), *folder.glob("*.png"), *folder.glob("*.svg")):
        old.unlink()
    for name, table in tables.items():
        if table is not None:
            with replacing(folder / name, "w") as stream:
                table.to_csv(stream, index=False, float_format="%.6g", lineterminator="\n")
    pictures = []
    for name, (figure, caption) in drawn.items():
        for kind in ("png", "svg"):
            stream = io.BytesIO()
            figure.savefig(stream, format=kind, dpi=130, metadata={"Date": None} if kind == "svg" else None)
            with replacing(folder / f"{name}.{kind}") as file:
                file.write(stream.getvalue())
            if kind == "png":
                encoded = base64.b64encode(stream.getvalue()).decode()
                pictures.append({"name": name, "png": encoded, "caption": caption, "alt": plots.describe(figure)})
    page = _TEMPLATE.get_template("own.html.j2").render(
        found=findings, pictures=pictures, sentence=sentence(findings), version=__version__, sizes=_sizes(findings),
        top=_top(findings), files=sorted(path.name for path in folder.iterdir() if path.is_file()),
    )  # fmt: skip
    with replacing(folder / "index.html", "w") as stream:
        stream.write(page)
    return folder / "index.html"


def sentence(found):
    """What may be written in a paper, as it was done."""
    objects, p = len(found.source.objects), max(found.p_values.values())
    searched = f"a search of {found.words['search']}, against {found.words['null']}"
    if found.best is None:
        text = f"We found no clustering of the {objects} objects whose generalization capacity exceeds that of data"
        return f"{text} without clusters (p = {p:.2g} over {searched}; gencap {__version__})."
    best, how = found.best, f"{NAMES[found.best.model]} ({MEASURED[found.best.measure]})"
    return (
        f"The {objects} objects were divided into {found.clusters.cluster.nunique()} clusters by {how}; model, "
        f"temperature and number of clusters were chosen by generalization capacity, {best.bits:.2f} bits per object, "
        f"{best.excess:.2f} bits above the mean of data without clusters (p = {p:.2g} over {searched}; {best.null} "
        f"null; gencap {__version__})."
    )


def _figure(width, height):
    """A figure that pyplot does not keep."""
    return Figure(figsize=(width, height), layout="constrained")


def _capacities(found):
    """Capacity against the number of clusters, a panel for each model and measure at its best neutral point."""
    table = found.table[found.table.null == found.table.groupby("null").z.max().idxmin()]  # the hardest to pass
    best = table.loc[table.groupby(["model", "measure"], sort=False).z.idxmax()]
    figure = _figure(3.9 * min(len(best), 2), 2.9 * -(-len(best) // 2))
    axes = figure.subplots(-(-len(best) // 2), min(len(best), 2), squeeze=False, sharey=True).ravel()
    top = 0.0
    for ax, (_, row) in zip(axes, best.iterrows(), strict=False):
        rows = table[table.setting == row.setting]
        own, *draws = found.bits[row.null][:, row.setting]
        plots.capacity_with_null(rows.n_clusters, own, draws, ax=ax, label="your data")
        ax.set_title(f"{NAMES[row.model]}, {MEASURED[row.measure]}", fontsize=8)
        ax.xaxis.get_major_locator().set_params(integer=True)
        top = max(top, ax.get_ylim()[1])
    axes[0].set_ylim(-0.03 * top, top)  # all have it; each drawing had set its own
    for ax in axes[len(best) :]:
        ax.set_axis_off()
    return figure, (
        "Bits per object that two looks at the data agree on, against the number of clusters offered. Grey: the same "
        "search on data without clusters, mean and one standard deviation to each side. Clusters are where the line "
        "leaves the grey band."
    )


def _clusters(found):
    """Ordered similarities, and the tree of splits."""
    if found.best is None:
        return None
    figure = _figure(9.2, 3.7)
    left, right = figure.subplots(1, 2, width_ratios=(1.15, 1))
    label = {"weights": "weight less the neutral one"}.get(found.best.measure, "similarity")
    plots.similarity_heatmap(found.fit["similarity"], found.clusters.cluster.to_numpy() - 1, ax=left, label=label)
    plots.centroid_tree(found.fit["trajectory"], found.fit["places"], step=found.fit["step"], ax=right)
    return figure, (
        "Left: similarities of all pairs, objects ordered by cluster; light blocks on the diagonal are what the "
        "clusters are made of. Right: how the clusters part while the temperature falls (to the right); dotted: the "
        "temperature at which the two looks agree most, where the clusters were taken."
    )


def _profiles(found):
    """Profiles of the clusters of a table."""
    if found.best is None or found.source.kind != "table":
        return None
    X = np.asarray(found.source.data, float)
    varying = np.ptp(X, axis=1) > 0
    labels = found.clusters.cluster.to_numpy()[varying] - 1
    columns = min(len(np.unique(labels)), 5)
    figure = _figure(1.9 * max(columns, 2), 1.6 * -(-len(np.unique(labels)) // 5) + 0.3)
    plots.expression_profiles(X[varying], labels, found.source.columns, figure=figure)
    return figure, "Rows of each cluster, every row with mean 0 and variance 1: their mean and one standard deviation."


NAMES = {
    "correlation": "correlation clustering",
    "kmeans": "annealed k-means",
    "pairwise": "pairwise clustering",
    "normalized_cut": "normalized cut",
    "ratio_cut": "adaptive ratio cut",
}
FIGURES = {"capacities": _capacities, "clusters": _clusters, "profiles": _profiles}


def _sizes(found):
    """Of each cluster: number, objects, how many of them are stable, names of the surest."""
    if found.best is None:
        return []
    rows, sure = [], "stability" if "stability" in found.clusters else "probability"
    for number, members in found.clusters.groupby("cluster"):
        names = members.sort_values(sure, ascending=False, kind="stable").object.astype(str)[:5]
        row = {"number": number, "objects": len(members), "stable": int((members[sure] > 0.9).sum())}
        rows.append(row | {"names": ", ".join(names)})
    return rows


def _top(found):
    """The best number of clusters of every model and measure, for a small table."""
    table = found.table.sort_values("z", ascending=False, kind="stable")
    return table.drop_duplicates(["null", "model", "measure"]).to_dict("records")
