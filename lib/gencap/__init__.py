"""Information-theoretic validation of clustering: how many bits per object does a clustering carry over to new data?

The public names are loaded on first use, so a worker or a headless user pays for neither matplotlib nor ipywidgets.
"""

import importlib

__version__ = "0.1.0"

# room -> the names it gives to the package; a room without names is used as gc.ROOM
_ROOMS = {
    "annealing": ("Trajectory",),
    "capacity": (
        "Capacity",
        "generalization_capacity",
        "hamming_capacity",
        "kary_capacity",
        "kary_information",
        "kary_optimal_beta",
        "shannon_capacity",
    ),
    "centroid": ("AnnealedKMeans",),
    "checks": ("profile",),
    "claims": (),
    "coding": (),
    "comparison": ("Comparison", "compare_models"),
    "criteria": (
        "CriteriaTable",
        "Gap",
        "compare_criteria",
        "description_length",
        "effective_dimension",
        "gap_statistic",
        "kmeans_bic",
        "mixture_parameters",
    ),
    "cuts": ("NormalizedCut", "AdaptiveRatioCut"),
    "datasets": (),
    "dominant": ("DominantSets",),
    "execution": (),
    "expression": (),
    "factorization": (),
    "keys": (),
    "measures": (),
    "metrics": ("align_labels",),
    "nulls": ("CapacityNull", "capacity_null"),
    "pairwise": ("PairwiseClustering",),
    "phases": (),
    "plots": (),
    "protocols": ("SimilarityPair", "Views", "interleave", "random_split", "replicates"),
    "quadratic": ("CorrelationClustering", "MinCut", "MaxCut"),
    "report": (),
    "resources": (),
    "roles": ("NoisyOrFactorization",),
    "runner": (),
    "saving": (),
    "selection": (
        "Instability",
        "Selection",
        "aic",
        "bic",
        "disagreement",
        "instability",
        "relative_instability",
        "select_n_clusters",
    ),
    "similarity": ("RestartWarning", "SimilarityClustering"),
    "sources": (),
    "transfer": (
        "TransferSelection",
        "select_by_transfer_cost",
        "split_similarities",
        "transfer_cost",
        "transfer_costs",
        "transfer_labels",
    ),
    "widgets": (),
}
_HOME = {name: room for room, names in _ROOMS.items() for name in names}
__all__ = sorted([*_ROOMS, *_HOME])


def __getattr__(name):
    if name in _HOME:
        value = getattr(importlib.import_module(f"{__name__}.{_HOME[name]}"), name)
    elif name in _ROOMS:
        value = importlib.import_module(f"{__name__}.{name}")
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__():
    return sorted([*globals(), *__all__])
