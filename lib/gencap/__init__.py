"""Information-theoretic validation of clustering: how many bits per object does a clustering carry over to new data?

The public names are loaded on first use, so a worker or a headless user pays for neither matplotlib nor ipywidgets.
"""

import importlib

__version__ = "0.1.0"

# room -> the names it gives to the package
_ROOMS = {
    "checks": ("profile",),
    "models.centroid": ("AnnealedKMeans",),
    "models.cuts": (
        "NormalizedCut",
        "AdaptiveRatioCut",
    ),
    "models.dominant": (
        "DominantSets",
        "replicator_dynamics",
    ),
    "models.pairwise": ("PairwiseClustering",),
    "models.quadratic": (
        "CorrelationClustering",
        "MinCut",
        "MaxCut",
    ),
    "models.roles": ("NoisyOrFactorization",),
    "models.similarity": (
        "RestartWarning",
        "SimilarityClustering",
    ),
    "models.spectrum": ("top_eigenvalue",),
    "theory.codes": (
        "kary_capacity",
        "kary_information",
        "kary_optimal_beta",
        "shannon_capacity",
    ),
    "trajectory": ("Trajectory",),
    "validation.agreement": ("align_labels",),
    "validation.capacity": (
        "Capacity",
        "generalization_capacity",
        "hamming_capacity",
    ),
    "validation.comparison": (
        "Comparison",
        "compare_models",
    ),
    "validation.criteria": (
        "Gap",
        "aic",
        "bic",
        "compare_criteria",
        "description_length",
        "effective_dimension",
        "gap_statistic",
        "kmeans_bic",
    ),
    "validation.evaluation": ("evaluate",),
    "validation.nulls": (
        "CapacityNull",
        "capacity_null",
        "gaussian_table",
        "permuted_table",
    ),
    "validation.selection": (
        "Selection",
        "select_n_clusters",
        "twin",
    ),
    "validation.stability": (
        "Instability",
        "disagreement",
        "instability",
        "relative_instability",
    ),
    "validation.transfer": (
        "TransferSelection",
        "coldest_labels",
        "mapping_probabilities",
        "select_by_transfer_cost",
        "transfer_cost",
        "transfer_costs",
        "transfer_labels",
    ),
    "views.protocols": (
        "SimilarityPair",
        "Views",
        "interleave",
        "random_split",
        "replicates",
        "split_similarities",
    ),
}
# rooms that are used as gc.NAME
_NAMED = {
    "checks": "checks",
    "claims": "run.claims",
    "coding": "theory.coding",
    "datasets": "datasets",
    "measures": "views.measures",
    "metrics": "validation.agreement",
    "phases": "theory.phases",
    "plots": "show.plots",
    "rank": "theory.rank",
    "resources": "resources",
    "trajectory": "trajectory",
    "widgets": "show.explorers",
}
_HOME = {name: room for room, names in _ROOMS.items() for name in names}
__all__ = sorted([*_NAMED, *_HOME])


def __getattr__(name):
    if name in _HOME:
        value = getattr(importlib.import_module(f"{__name__}.{_HOME[name]}"), name)
    elif name in _NAMED:
        value = importlib.import_module(f"{__name__}.{_NAMED[name]}")
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__():
    return sorted([*globals(), *__all__])
