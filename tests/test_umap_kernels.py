"""UMAP's kernels against their definition in NumPy, on every instruction set."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array

from conftest import cloud, same_bits
from lowfold import build_index
from lowfold.backend.reference import layout as reference

CURVE = (1.5, 0.9, 1.0)


def neighbors_of(n=80, d=4, k=9, dtype=np.float32):
    X = cloud(n, d, dtype=dtype)
    X[10:14] = X[10]  # some in one place
    return build_index(X).query(None, k)


# Kernels


@pytest.mark.parametrize("connectivity", [0.0, 0.5, 1.0, 2.3, 50.0])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_degrees_of_belonging_equal_the_reference(kernels, dtype, connectivity):
    D = neighbors_of(dtype=dtype).distances
    found = kernels.fuzzy_rows(D, connectivity, float(D.mean()), 2)
    assert found.dtype == np.float32
    assert np.allclose(found, reference.fuzzy_rows(D, connectivity, float(D.mean())), atol=1e-5)
    assert same_bits(found, kernels.fuzzy_rows(D, connectivity, float(D.mean()), 1))


@pytest.mark.parametrize("mix", [0.0, 0.4, 1.0])
def test_the_fuzzy_union_equals_the_reference(kernels, mix):
    near = neighbors_of()
    P = kernels.fuzzy_rows(near.distances, 1.0, 1.0, 1)
    begin, columns, values = kernels.fuzzy_union(near.indices, P, mix, 2)
    found = csr_array((values, columns, begin), shape=(near.n, near.n)).toarray()
    assert np.allclose(found, reference.fuzzy_union(near.indices, P, mix), atol=1e-6)
    assert np.array_equal(found, found.T)


def edges_of(near):
    words = np.random.default_rng(0).integers(1, 2**32, near.indices.size, dtype=np.uint32)
    return np.arange(0, near.indices.size + 1, near.k, dtype=np.int64), near.indices.ravel(), words


@pytest.mark.parametrize("seed", [None, 5])
def test_firing_edges_equal_the_reference(kernels, seed):
    near = neighbors_of()
    P = kernels.fuzzy_rows(near.distances, 1.0, 1.0, 1)
    P[3] = 1e-3  # all of them too rare to fire in 50 epochs
    graph = np.arange(0, P.size + 1, near.k, dtype=np.int64), near.indices.ravel(), P.ravel()
    found = kernels.firing_edges(graph, 0.9, 50, seed, 2)
    for part, wanted in zip(found, reference.firing_edges(graph, 0.9, 50, seed), strict=True):
        assert same_bits(part, wanted)
    assert found[0][4] == found[0][3]
    fired = sum((t * found[2].astype(np.uint64)) % 2**32 < found[2] for t in range(1, 51))
    assert np.array_equal(fired, 50 * found[2].astype(np.uint64) // 2**32)  # each as often as its weight says


@pytest.mark.parametrize("n", [12, 80, 300])  # fewer points than lanes, a part of a chunk, more than one chunk
@pytest.mark.parametrize("d", [1, 2, 3, 5])
def test_an_epoch_equals_the_reference(kernels, d, n):
    near = neighbors_of(n=n) if n > 20 else build_index(cloud(n, 4, dtype=np.float32)).query(None, 9)
    edges, Y = edges_of(near), (5 * cloud(near.n, d, seed=1)).astype(np.float32)
    order, how = np.random.default_rng(1).permutation(near.n).astype(np.int32), (3, 0.1, 7, 77)
    found = kernels.layout_epoch(edges, Y, order, CURVE, how, 2)
    assert np.allclose(found, reference.layout_epoch(edges, Y, order, CURVE, how), atol=2e-3)
    assert not np.allclose(found, Y, atol=1e-2)
    assert all(same_bits(found, kernels.layout_epoch(edges, Y, order, CURVE, how, t)) for t in (1, 3, 8))


@pytest.mark.parametrize("d", [1, 2, 3, 5])
def test_an_epoch_among_fixed_points_equals_the_reference_and_each_row_goes_by_itself(kernels, d):
    near = neighbors_of()
    edges, Y, others = edges_of(near), *((5 * cloud(near.n, d, seed=seed)).astype(np.float32) for seed in (1, 2))
    how = (3, 0.1, 4, 77)
    found = kernels.placing_epoch(edges, Y, others, CURVE, how, 2)
    assert np.allclose(found, reference.placing_epoch(edges, Y, others, CURVE, how), atol=2e-3)
    assert all(same_bits(found, kernels.placing_epoch(edges, Y, others, CURVE, how, t)) for t in (1, 3, 8))
    begin, columns, words = edges
    alone = begin[40:42] - begin[40], columns[begin[40] : begin[41]], words[begin[40] : begin[41]]
    assert same_bits(found[40:41], kernels.placing_epoch(alone, Y[40:41], others, CURVE, how, 1))


def test_the_pushes_of_an_epoch_are_the_exact_ones_in_the_mean(kernels):
    # All edges lead from a point to itself, so that nothing pulls; the mean over many lots is the sum over all points.
    n, m = 40, 4000
    Y = (2 * cloud(n, 2)).astype(np.float32)
    edges = np.arange(n + 1, dtype=np.int64), np.arange(n, dtype=np.int32), np.full(n, 2**32 - 1, np.uint32)
    order, step = np.arange(n, dtype=np.int32), 1e-3
    moves = np.zeros((n, 2))
    for seed in range(m):
        moves += kernels.layout_epoch(edges, Y, order, CURVE, (2, step, 5, seed), 1).astype(np.float64) - Y
    a, b, _ = CURVE
    way = Y[:, None].astype(np.float64) - Y
    r = np.maximum(np.square(way).sum(axis=2), 1e-12)[:, :, None]
    exact = 5 * np.clip(2 * b / ((r + 1e-3) * (1 + a * r**b)) * way, -4, 4).mean(axis=1)
    assert np.allclose(moves / (m * step), exact, atol=0.1)  # of pushes up to 4, 20,000 of each point
