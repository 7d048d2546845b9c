"""Neighbours read off a matrix of distances or a sparse graph."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.neighbors import KNeighborsTransformer

from conftest import cloud
from lowfold import DataError, build_index
from lowfold.neighbors import precomputed


def test_a_precomputed_graph_gives_its_own_neighbors_back():
    X = cloud(400, 6)
    direct = build_index(X).query(None, 6)
    graph = KNeighborsTransformer(n_neighbors=9).fit_transform(X)
    read = build_index(graph, metric="precomputed").query(None, 6)
    np.testing.assert_array_equal(read.indices, direct.indices)
    np.testing.assert_allclose(read.distances, direct.distances)


@pytest.mark.parametrize("kinds", [2, 5, 10**6])
def test_tied_distances_are_read_by_index(kinds, monkeypatch):
    monkeypatch.setattr(precomputed, "ROWS_AT_ONCE", 16)
    D = np.random.default_rng(0).integers(0, kinds, (60, 60)).astype(float)
    D += D.T
    np.fill_diagonal(D, 0)
    D[3, 7] = D[7, 3] = 1e100
    found = build_index(D, metric="precomputed").query(None, 11)
    others = D + np.diag(np.full(60, np.inf))
    wanted = np.argsort(others, axis=1, kind="stable")[:, :11]
    np.testing.assert_array_equal(found.indices, wanted)
    np.testing.assert_array_equal(found.distances, np.take_along_axis(others, wanted, axis=1))
    new = build_index(D, metric="precomputed").query(D[:5], 60)
    np.testing.assert_array_equal(new.indices, np.argsort(D[:5], axis=1, kind="stable"))


@pytest.mark.parametrize("piece", [1, 40, 1 << 18])
def test_a_precomputed_graph_is_read_nearest_first_whatever_its_order_and_the_length_of_its_rows(piece, monkeypatch):
    monkeypatch.setattr(precomputed, "ENTRIES_AT_ONCE", piece)
    rng = np.random.default_rng(0)
    rows = [rng.permutation(50)[: rng.integers(8, 30)].astype(np.int32) for _ in range(50)]
    values = [rng.integers(0, 4, len(row)).astype(float) for row in rows]  # many ties, and zeros
    begin = np.cumsum([0, *map(len, rows)])
    graph = csr_array((np.concatenate(values), np.concatenate(rows), begin), shape=(50, 50))
    found = build_index(graph, metric="precomputed").query(None, 7)
    for i, (row, value) in enumerate(zip(rows, values, strict=True)):
        wanted = sorted((v, j) for v, j in zip(value, row, strict=True) if j != i)[:7]
        np.testing.assert_array_equal(found.indices[i], [j for _, j in wanted])
        np.testing.assert_array_equal(found.distances[i], [v for v, _ in wanted])


def test_a_graph_with_too_few_neighbors_is_refused_with_the_number():
    graph = KNeighborsTransformer(n_neighbors=4).fit_transform(cloud(400, 6))
    with pytest.raises(DataError, match="has 4 neighbours for row 0, but 6 are needed.*fewer neighbours"):
        build_index(graph, metric="precomputed").query(None, 6)
