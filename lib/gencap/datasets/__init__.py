"""Data: generators of synthetic sets, in pairs where a capacity needs two, and loaders of real ones.

Generators pair objects by construction: object i has the same source in both sets and independent noise. The two sets
come from two child generators of `random_state` (int, `numpy.random.Generator` or None), so that the second does not
depend on how many numbers the first drew.

Loaders return a scikit-learn `Bunch`; those of gene expression live in `expression`. `registry` lists the files
and where they are found (see `sources`).
"""

from .expression import load_expression
from .generators import (
    PairedGraphs,
    boolean_roles,
    five_gaussians,
    four_gaussians,
    kary_code_pair,
    paired_gaussian_sources,
    planted_correlation_graphs,
    planted_group_graphs,
    three_sources,
    two_clouds,
    two_sources_high_dimensional,
)
from .loaders import load_access_control, load_image, load_mussel, load_webkb, load_yeast
from .sources import registry

__all__ = [
    "PairedGraphs",
    "boolean_roles",
    "five_gaussians",
    "four_gaussians",
    "kary_code_pair",
    "load_access_control",
    "load_expression",
    "load_image",
    "load_mussel",
    "load_webkb",
    "load_yeast",
    "paired_gaussian_sources",
    "planted_correlation_graphs",
    "planted_group_graphs",
    "registry",
    "three_sources",
    "two_clouds",
    "two_sources_high_dimensional",
]
