"""Every kernel on graphs and neighbourhoods does what its NumPy reference says, on every instruction set."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

from conftest import LEVELS, entries, same_bits
from lowfold.backend import reference
from lowfold.backend.native import load

DTYPES = (np.float32, np.float64)

# Rounding of sums of some hundred terms, relative to the sum of their sizes.
ROUNDING = {np.float32: 2e-5, np.float64: 1e-12}
# Local problems are solved in float64 whatever the data are. Weights lose the condition number of the regularised Gram
# matrix, 1e3 at most; eigenvectors the ratio of the largest variance to the gaps between them.
WEIGHTS = 1e-10
BLOCKS = 1e-9
REGULARISATION = 1e-3


# Graphs

GRAPHS = ("random", "ties", "zeros", "apart", "far")


def neighbor_lists(kind, n, k, dtype, seed=0):
    """(neighbors, lengths): k other points for each of n, in no order, with lengths that need not agree."""
    rng = np.random.default_rng(seed)
    others = np.array([rng.permutation(np.delete(np.arange(n), i))[:k] for i in range(n)])
    lengths = rng.random((n, k))
    if kind == "ties":
        lengths = rng.integers(1, 3, (n, k))
    elif kind == "zeros":
        lengths = rng.integers(0, 2, (n, k))
    elif kind == "apart":  # even and odd points keep to themselves, as far as there are enough
        others = (np.arange(n)[:, None] + 2 * np.arange(1, k + 1)) % n if n % 2 == 0 and n > 2 * k else others
    elif kind == "far":  # most edges are so short that the others lie beyond all buckets
        lengths = np.where(rng.random((n, k)) < 0.2, 1e4 + lengths, 1e-3 * lengths)
    return np.ascontiguousarray(others, np.int32), np.ascontiguousarray(lengths, dtype)


def graph_of(matrix):
    """A dense matrix with NaN where there is no edge, as a sparse one that keeps edges of length 0."""
    there = ~np.isnan(matrix)
    begin = np.append(0, np.cumsum(there.sum(axis=1))).astype(np.int64)
    columns = np.nonzero(there)[1].astype(np.int32)
    return csr_array((matrix[there], columns, begin), shape=matrix.shape)


@pytest.mark.parametrize("shape", [(2, 1), (3, 2), (9, 8), (60, 5), (1100, 3)])
@pytest.mark.parametrize("kind", GRAPHS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_the_symmetric_graph_equals_the_reference_in_every_bit(kernels, dtype, kind, shape):
    neighbors, lengths = neighbor_lists(kind, *shape, dtype)
    begin, columns, values = kernels.symmetric_graph(neighbors, lengths, 2)
    expected = graph_of(reference.symmetric_graph(neighbors, lengths))
    np.testing.assert_array_equal(begin, expected.indptr)
    np.testing.assert_array_equal(columns, expected.indices)
    assert same_bits(values, expected.data)


def assert_same_ways(kernels, graph, nodes, behind, targets):
    """Equal bits: the smallest sum over paths, each added up from its start, is one number."""
    found = kernels.geodesics(entries(graph), nodes, behind, targets, 2)
    assert same_bits(found, reference.geodesics(graph, nodes, behind, targets))


@pytest.mark.parametrize("shape", [(2, 1), (9, 8), (150, 4)])
@pytest.mark.parametrize("kind", GRAPHS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_shortest_ways_between_all_points_equal_the_reference_in_every_bit(kernels, dtype, kind, shape):
    neighbors, lengths = neighbor_lists(kind, *shape, dtype)
    graph = graph_of(reference.symmetric_graph(neighbors, lengths))
    everyone = np.arange(shape[0], dtype=np.int32)
    assert_same_ways(kernels, graph, everyone[:, None], np.zeros((shape[0], 1), dtype), everyone)


@given(
    n=st.integers(1, 14),
    rows=st.integers(1, 80),  # more than the starts that are served together
    starts=st.integers(1, 4),
    density=st.sampled_from([0.0, 0.1, 0.3, 0.9]),
    kind=st.sampled_from(["whole", "real", "zero"]),
    dtype=st.sampled_from(DTYPES),
    level=st.sampled_from(LEVELS),
    seed=st.integers(0, 1000),
)
def test_several_starts_with_a_length_behind_them_on_any_directed_graph_give_the_reference(
    n, rows, starts, density, kind, dtype, level, seed
):
    rng = np.random.default_rng(seed)
    make = {"whole": lambda s: rng.integers(0, 4, s), "real": rng.random, "zero": np.zeros}[kind]
    matrix = np.where(rng.random((n, n)) < density, make((n, n)), np.nan).astype(dtype)
    nodes = rng.integers(0, n, (rows, starts)).astype(np.int32)
    behind = make((rows, starts)).astype(dtype)
    targets = rng.integers(0, n, rng.integers(1, 9)).astype(np.int32)
    assert_same_ways(load(level), graph_of(matrix), nodes, behind, targets)


@pytest.mark.parametrize("shape", [(2, 1), (40, 1), (40, 3)])
@pytest.mark.parametrize("dtype", DTYPES)
def test_points_are_in_one_component_if_and_only_if_there_is_a_way_between_them(kernels, dtype, shape):
    for kind in GRAPHS:
        graph = graph_of(reference.symmetric_graph(*neighbor_lists(kind, *shape, dtype)))
        lowest, everyone = kernels.components(entries(graph)), np.arange(shape[0], dtype=np.int32)
        np.testing.assert_array_equal(lowest, reference.components(graph))
        ways = kernels.geodesics(entries(graph), everyone[:, None], np.zeros((shape[0], 1), dtype), everyone, 2)
        np.testing.assert_array_equal(np.isfinite(ways), lowest[:, None] == lowest)


# Neighbourhoods

POINTS = ("gaussian", "offset", "duplicates", "scales", "tiny")


def neighborhoods(kind, n, d, k, dtype, seed=0):
    """(X, neighbors): points with a variance of its own along each axis, and the k nearest of each."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) * np.linspace(1, 2, d)
    if kind == "offset":
        X += 1e4
    elif kind == "duplicates":
        X[1::2] = X[: 2 * (n // 2) : 2]
    elif kind == "lattice":
        X = rng.integers(0, 4, (n, d))
    elif kind == "scales":
        X *= np.logspace(-2, 2, d)
    elif kind == "tiny":
        X *= 1e-15
    X = np.ascontiguousarray(X, dtype)
    return X, reference.search(X, None, k, "euclidean")[0]


@pytest.mark.parametrize("shape", [(2, 1, 1), (5, 3, 4), (90, 3, 7), (90, 20, 7)])
@pytest.mark.parametrize("kind", [*POINTS, "lattice"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_barycentric_weights_equal_the_reference(kernels, dtype, kind, shape):
    X, neighbors = neighborhoods(kind, *shape, dtype)
    for queries in (X, np.ascontiguousarray(X[::-1] + X[0] / 8), X[:1]):
        near = neighbors[: len(queries)]
        found = kernels.barycentric_weights(queries, X, near, REGULARISATION, 2)
        expected = reference.barycentric_weights(queries, X, near, REGULARISATION)
        np.testing.assert_allclose(found, expected, rtol=0, atol=WEIGHTS * np.abs(expected).max())
        np.testing.assert_allclose(found.sum(axis=1), 1, rtol=0, atol=WEIGHTS)


def test_neighbors_equal_to_the_query_have_equal_weights(kernels):
    weights = kernels.barycentric_weights(np.ones((1, 3)), np.ones((5, 3)), np.arange(5, dtype="i4")[None], 0.0, 1)
    np.testing.assert_array_equal(weights, np.full((1, 5), 0.2))


# (n, D, k, d): as few neighbours as a block needs, all other points, more neighbours than axes, and fewer.
BLOCK_SHAPES = [(12, 4, 6, 2), (11, 5, 10, 3), (90, 3, 9, 1), (90, 3, 12, 2), (90, 24, 12, 3)]
# Products of the coordinates of too few different points depend on each other, and their span is not unique.
BLOCK_CASES = [(f"{name}_blocks", kind) for name in ("tangent", "hessian", "modified") for kind in POINTS]
BLOCK_CASES.remove(("hessian_blocks", "duplicates"))


@pytest.mark.parametrize("shape", BLOCK_SHAPES)
@pytest.mark.parametrize(("name", "kind"), BLOCK_CASES)
@pytest.mark.parametrize("dtype", DTYPES)
def test_blocks_equal_the_reference(kernels, dtype, name, kind, shape):
    X, neighbors = neighborhoods(kind, *shape[:3], dtype)
    options = (shape[3], REGULARISATION) if name == "modified_blocks" else (shape[3],)
    expected = getattr(reference, name)(X, neighbors, *options)
    found = getattr(kernels, name)(X, neighbors, *options, 2)
    np.testing.assert_allclose(found, expected, rtol=0, atol=BLOCKS * np.abs(expected).max())


@pytest.mark.parametrize("name", ["tangent_blocks", "hessian_blocks"])
def test_points_on_a_line_have_one_tangent_direction_however_many_are_asked_for(kernels, name):
    X = np.random.default_rng(0).integers(-50, 50, (30, 1)) * np.array([[1.0, -2.0, 3.0]])
    near = np.array([np.random.default_rng(i).permutation(30)[:8] for i in range(30)], np.int32)
    expected = getattr(reference, name)(X, near, 1)
    np.testing.assert_allclose(getattr(kernels, name)(X, near, 2, 2), expected, rtol=0, atol=BLOCKS)


def test_equal_points_have_no_tangent_and_finite_blocks(kernels):
    X, near = np.full((4, 3), 1e4), np.array([[0, 1, 2, 3]], np.int32)
    np.testing.assert_allclose(kernels.tangent_blocks(X, near, 2, 1)[0], np.eye(4) - 0.25, rtol=0, atol=1e-15)
    np.testing.assert_array_equal(kernels.hessian_blocks(X, near, 2, 1)[0], np.zeros((4, 4)))
    assert np.isfinite(kernels.modified_blocks(X, near, 2, REGULARISATION, 1)).all()


@given(points=st.integers(1, 30), rows=st.integers(1, 40), level=st.sampled_from(LEVELS), data=st.data())
def test_aligned_blocks_are_their_sum_in_the_order_of_the_patches(points, rows, level, data):
    side = data.draw(st.integers(1, points))
    rng = np.random.default_rng(data.draw(st.integers(0, 1000)))
    patches = np.array([rng.permutation(points)[:side] for _ in range(rows)], np.int32)
    blocks = rng.standard_normal((rows, side, side))
    begin, columns, values = load(level).align(patches, blocks, points, 3)
    found = csr_array((values, columns, begin), shape=(points, points))
    assert found.has_canonical_format
    np.testing.assert_array_equal(found.toarray(), reference.align(patches, blocks, points))


def graph_calls(kernels, dtype):
    neighbors, lengths = neighbor_lists("random", 1500, 6, dtype)
    graph = kernels.symmetric_graph(neighbors, lengths, 1)
    V = np.random.default_rng(0).standard_normal((1500, 16)).astype(dtype)
    X, near = neighborhoods("gaussian", 300, 5, 12, dtype)
    blocks = kernels.tangent_blocks(X, near, 2, 1)

    def filtered(threads):
        out = V.copy()
        kernels.chebyshev_inplace(graph, out, (-6.0, 6.0, 7.0), 5, threads)
        return (out,)

    yield "symmetric_graph", lambda threads: kernels.symmetric_graph(neighbors, lengths, threads)
    yield "geodesics", lambda threads: (kernels.geodesics(graph, neighbors[::7], lengths[::7], near[0], threads),)
    yield "times", lambda threads: (kernels.times(V, V[:16], threads),)
    yield "sparse_times", lambda threads: (kernels.sparse_times(graph, V, threads),)
    yield "chebyshev_inplace", filtered
    yield "barycentric_weights", lambda threads: (kernels.barycentric_weights(X, X, near, 1e-3, threads),)
    yield "tangent_blocks", lambda threads: (kernels.tangent_blocks(X, near, 2, threads),)
    yield "hessian_blocks", lambda threads: (kernels.hessian_blocks(X, near, 2, threads),)
    yield "modified_blocks", lambda threads: (kernels.modified_blocks(X, near, 2, 1e-3, threads),)
    yield "align", lambda threads: kernels.align(near, blocks, 300, threads)


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_kernel_has_the_same_bits_for_any_number_of_threads(kernels, dtype):
    for name, call in graph_calls(kernels, dtype):
        once = call(1)
        for threads in (2, 3, 8):
            assert all(map(same_bits, call(threads), once)), (name, threads)
