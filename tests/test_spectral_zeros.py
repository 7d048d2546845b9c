"""Eigenvalues of zero: what a new point gets where nothing tells its coordinate."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from conftest import cloud
from lowfold import ClassicalMDS, DiffusionMap, Isomap, KernelPCA, LaplacianEigenmaps
from lowfold.markov import SpectralClustering

STAR = np.vstack([np.zeros((1, 4)), np.eye(4), -np.eye(4)])  # each arm has one neighbour: eigenvalues 1, 0, ..., 0, -1


@pytest.mark.parametrize("weights", ["heat", "binary"])
def test_a_new_point_has_the_mean_coordinate_where_an_eigenvalue_of_the_walk_is_zero(weights):
    X = cloud(5, 2)
    model = LaplacianEigenmaps(n_components=2, n_neighbors=1, weights=weights).fit(X)
    assert abs(model.walk_eigenvalues_[1]) < 1e-12
    with pytest.warns(UserWarning, match="eigenvalue is 0 for 1 of the coordinates, the first in column 1"):
        placed = model.transform(X + 0.01)
    walk = model.random_walk()
    assert abs(walk.degrees @ model.embedding_[:, 1]) < 1e-12  # so that 0 is the mean
    assert (placed[:, 1] == 0).all()
    assert np.abs(placed[:, 0]).max() < 10 * np.abs(model.embedding_[:, 0]).max()
    np.testing.assert_array_equal(model.transform(X), model.embedding_)


def test_the_maps_of_a_walk_without_time_place_new_points_alike_also_where_an_eigenvalue_is_zero():
    W, row = (cdist(STAR, STAR) == 1).astype(float), np.full((1, len(STAR)), 1.0)
    with pytest.warns(UserWarning, match="bipartite"):
        model = DiffusionMap(n_components=3, metric="affinity", alpha=0.0, t=0).fit(W)
    with pytest.warns(UserWarning, match="New points get its mean, 0"):
        placed = model.transform(row)
    assert (placed == 0).all()
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # after one step these coordinates are 0 for all points
        assert not model.at_time(1).transform(row).any()


def test_clusters_are_told_for_new_rows_also_where_an_eigenvalue_is_zero():
    model = SpectralClustering(n_clusters=3, n_neighbors=1).fit(STAR)
    with pytest.warns(UserWarning, match="eigenvalue is 0"):
        assert set(model.predict(STAR + 0.01)) <= {0, 1, 2}
    np.testing.assert_array_equal(model.predict(STAR), model.labels_)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", ["isomap", "scaling", "kernel"])
def test_coordinates_that_are_rounding_are_zero_for_training_points_and_new_ones(name, dtype):
    X, new = np.sort(cloud(300, 1), axis=0).astype(dtype), cloud(50, 1, seed=1).astype(dtype)
    rows = (X, new)
    if name == "scaling":
        rows = tuple(cdist(part, X).astype(dtype) for part in rows)
    model = {
        "isomap": Isomap(n_components=3, n_neighbors=5),
        "scaling": ClassicalMDS(n_components=3, metric="precomputed"),
        "kernel": KernelPCA(n_components=3, kernel="linear"),
    }[name]
    with pytest.warns(UserWarning, match="the other 2 are 0 for all points"):
        model.fit(rows[0])
    assert not model.embedding_[:, 1:].any()
    assert not model.transform(rows[1])[:, 1:].any()
