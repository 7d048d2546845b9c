"""Neighbours of rows of thousands of columns, whose distances hardly differ."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from conftest import LEVELS, cloud
from lowfold import build_index
from lowfold.backend.native import load

METRICS = {"euclidean": "euclidean", "cosine": "cosine", "correlation": "correlation",
           "manhattan": "cityblock", "chebyshev": "chebyshev"}  # fmt: skip


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("columns", [1025, 6300])
def test_rows_of_many_columns_have_their_true_neighbors(metric, columns):
    X = cloud(300, columns)
    new = cloud(40, columns, seed=1)
    index = build_index(X, metric=metric, search="exact")
    D = cdist(X, X, METRICS[metric])
    np.fill_diagonal(D, np.inf)
    np.testing.assert_array_equal(index.query(None, 7).indices, np.argsort(D, axis=1)[:, :7])
    np.testing.assert_array_equal(
        index.query(new, 7).indices, np.argsort(cdist(new, X, METRICS[metric]), axis=1)[:, :7]
    )


@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "chebyshev"])
def test_a_wide_row_finds_the_same_whatever_comes_with_it(metric):
    X, new = cloud(300, 2500, dtype=np.float32), cloud(33, 2500, seed=1, dtype=np.float32)
    index = build_index(X, metric=metric, search="exact")
    together = index.query(new, 5)
    for i in (0, 17, 32):
        alone = index.query(new[i : i + 1], 5)
        np.testing.assert_array_equal(alone.indices[0], together.indices[i])
        np.testing.assert_array_equal(alone.distances[0], together.distances[i])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "chebyshev"])
def test_wide_rows_have_the_same_distances_on_every_instruction_set(metric, dtype):
    X = cloud(90, 3300, dtype=dtype)
    name = "Index32" if dtype == np.float32 else "Index64"
    found = [
        getattr(load(level), name)(X, metric, 3, "products", 0, 2).search(None, None, 6, 1.0, 1.0, 2)
        for level in LEVELS
    ]
    for indices, distances in found[1:]:
        np.testing.assert_array_equal(indices, found[0][0])
        np.testing.assert_array_equal(distances, found[0][1])


def test_distances_of_wide_float32_rows_are_rounded_little():
    X = np.outer(np.arange(4), np.full(60_000, 0.1)).astype(np.float32)  # terms that are all rounded the same way
    found = build_index(X, search="exact").query(X[:1], 4)
    np.testing.assert_allclose(found.distances[0], np.linalg.norm(X.astype(float), axis=1), rtol=1e-6)
