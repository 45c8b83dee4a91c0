"""Information-theoretic validation of clustering: how many bits per object does a clustering carry over to new data?

The public names are loaded on first use, so a worker or a headless user pays for neither matplotlib nor ipywidgets.
"""

import importlib

__version__ = "0.1.0"

# room -> the names that it gives to the package; NAME=room is a room that is used as gc.NAME
_NAMES = {
    "models.base": "ClusteringModel",
    "models.centroid": "AnnealedKMeans",
    "models.cuts": "AdaptiveRatioCut NormalizedCut",
    "models.dominant": "DominantSets replicator_dynamics",
    "models.pairwise": "PairwiseClustering",
    "models.quadratic": "CorrelationClustering MaxCut MinCut",
    "models.roles": "NoisyOrFactorization",
    "models.similarity": "RestartWarning SimilarityClustering",
    "models.spectrum": "top_eigenvalue",
    "checks": "profile",
    "theory.codes": "kary_capacity kary_information kary_optimal_beta shannon_capacity",
    "trajectory": "Trajectory",
    "validation.agreement": "align_labels",
    "validation.capacity": "Capacity generalization_capacity hamming_capacity",
    "validation.comparison": "Comparison compare_models",
    "validation.criteria": """Gap aic bic compare_criteria description_length effective_dimension
        gap_statistic kmeans_bic""",
    "validation.evaluation": "evaluate",
    "validation.nulls": "CapacityNull capacity_null gaussian_table permuted_table",
    "validation.selection": "Selection select_n_clusters twin",
    "validation.stability": "Instability disagreement instability relative_instability",
    "validation.transfer": """TransferSelection coldest_labels mapping_probabilities
        select_by_transfer_cost transfer_cost transfer_costs transfer_labels""",
    "views.protocols": "SimilarityPair Views interleave random_split replicates split_similarities",
}
_ROOMS = """checks=checks claims=run.claims coding=theory.coding datasets=datasets measures=views.measures
    metrics=validation.agreement phases=theory.phases plots=show.plots rank=theory.rank resources=resources
    trajectory=trajectory widgets=show.explorers"""
_HOME = {name: (room, name) for room, names in _NAMES.items() for name in names.split()}
_HOME |= {name: (room, None) for name, room in (word.split("=") for word in _ROOMS.split())}
__all__ = sorted(_HOME)


def __getattr__(name):
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    room, part = _HOME[name]
    room = importlib.import_module(f"{__name__}.{room}")
    globals()[name] = value = getattr(room, part) if part else room
    return value


def __dir__():
    return sorted([*globals(), *__all__])
