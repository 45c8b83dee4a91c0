"""Clustering models: each anneals on a data set and leaves a `Trajectory` behind."""
