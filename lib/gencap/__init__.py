"""Information-theoretic validation of clustering: how many bits per object does a clustering carry over to new data?

The public names are loaded on first use, so a worker or a headless user pays for neither matplotlib nor ipywidgets.
"""

import importlib

__version__ = "0.1.0"

# Rooms and the names that they give to the package; NAME= is the room itself as gc.NAME.
_NAMES = """checks checks= profile; resources resources=; trajectory trajectory= Trajectory cooling_schedule;
    datasets datasets=; models.base ClusteringModel; models.bottleneck ConditionalBottleneck InformationBottleneck
    MixtureModel SideInformationBottleneck; models.centroid AnnealedKMeans Cooled simulated_annealing;
    models.codebook ComplexityConstrainedClustering LeastAngleClustering; models.cuts AdaptiveRatioCut NormalizedCut;
    models.dominant DominantSets replicator_dynamics; models.fields Denoised SelfOrganizingClustering SmoothKMeans
    grid_transmission ising_denoising transmitted_distortion; models.histogram HistogramClustering
    ParametricDistributionalClustering rectified_gaussians; models.nonredundant ConditionalEnsemble
    ConstrainedModelClustering
    quadratic_consensus quadratic_information successive_clusterings; models.pairwise PairwiseClustering;
    models.quadratic CorrelationClustering MaxCut MinCut; models.roles NoisyOrFactorization;
    models.similarity RestartWarning SimilarityClustering; models.spectrum top_eigenvalue;
    run.claims claims=; run.own Findings investigate;
    show.explorers widgets=; show.plots plots=; theory.coding coding=; theory.maxent maxent=;
    theory.phases phases=; theory.rank rank=; theory.rate RateDistortion information_plane rate_distortion;
    theory.codes kary_capacity kary_information kary_optimal_beta shannon_capacity;
    validation.agreement metrics= align_labels; validation.capacity Capacity generalization_capacity hamming_capacity;
    validation.comparison Comparison compare_models; validation.criteria Gap aic bic compare_criteria
    description_length effective_dimension gap_statistic kmeans_bic; validation.evaluation capacity_by_shift evaluate;
    validation.nulls CapacityNull capacity_null gaussian_table matched_table permuted_table
    shuffled_graph; validation.selection Selection select_n_clusters twin;
    validation.stability Instability disagreement instability relative_instability;
    validation.transfer TransferSelection coldest_labels mapping_probabilities select_by_transfer_cost transfer_cost
    transfer_costs transfer_labels; views.graphs GraphViews paired_graphs; views.measures measures=;
    views.protocols SimilarityPair Views interleave random_split replicates split_similarities"""
_HOME = {name: room for room, *names in map(str.split, _NAMES.split(";")) for name in names}
__all__ = sorted(name.rstrip("=") for name in _HOME)


def __getattr__(name):
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    room = importlib.import_module(f"{__name__}.{_HOME.get(name) or _HOME[name + '=']}")
    globals()[name] = value = getattr(room, name) if name in _HOME else room
    return value


def __dir__():
    return sorted([*globals(), *__all__])
