"""Connected components of a neighbour graph and the four policies."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse.csgraph import connected_components, minimum_spanning_tree
from scipy.spatial.distance import cdist

from lowfold import DataError, ParameterError, build_index, connect

METRICS = ("euclidean", "cosine", "manhattan", "canberra", "precomputed")


def islands(sizes=(60, 30, 20, 5), seed=0):
    """Groups of points far apart, in mixed order, and the group of each."""
    rng = np.random.default_rng(seed)
    group = rng.permutation(np.repeat(np.arange(len(sizes)), sizes))
    centres = 20 * rng.standard_normal((len(sizes), 3)) + 100
    return centres[group] + 0.1 * rng.standard_normal((len(group), 3)), group


def graph_of(X, metric="euclidean", k=4):
    data = cdist(X, X) if metric == "precomputed" else X
    index = build_index(data, metric=metric)
    return index.query(None, k), index


def test_components_are_counted_with_their_sizes_largest_first():
    X, group = islands()
    _, found = connect(*graph_of(X), policy="separate")
    assert found.sizes == (60, 30, 20, 5)
    assert found.count == 4
    for label, original in enumerate(range(4)):
        np.testing.assert_array_equal(found.labels == label, group == original)


@pytest.mark.parametrize("metric", METRICS)
def test_join_adds_one_bridge_less_than_there_are_components_and_connects_them(metric):
    X, _ = islands()
    graph, found = connect(*graph_of(X, metric), policy="join")
    assert len(found.bridges) == found.count - 1
    pattern = graph.copy()
    pattern.data[:] = 1
    assert connected_components(pattern, directed=False)[0] == 1
    for (i, j), length in zip(found.bridges, found.bridge_lengths, strict=True):
        assert graph[i, j] == graph[j, i] == pytest.approx(length)


def test_the_bridges_are_the_shortest_possible():
    X, group = islands((40, 30, 20, 10, 8, 5, 5))
    _, found = connect(*graph_of(X), policy="join")
    between = np.array([[cdist(X[group == a], X[group == b]).min() for b in range(7)] for a in range(7)])
    assert found.bridge_lengths.sum() == pytest.approx(minimum_spanning_tree(between).sum())


def test_edges_of_length_zero_connect():
    X = np.repeat([[0.0, 0.0], [5.0, 0.0]], 600, axis=0)
    graph, found = connect(*graph_of(X, k=3), policy="join")
    assert found.sizes == (600, 600)
    np.testing.assert_array_equal(found.bridge_lengths, [5])
    assert (graph.data == 0).sum() == graph.nnz - 2


def test_largest_keeps_the_edges_of_the_largest_component_alone():
    X, group = islands()
    graph, _ = connect(*graph_of(X), policy="largest")
    degrees = np.diff(graph.indptr)
    assert (degrees[group == 0] > 0).all()
    assert (degrees[group != 0] == 0).all()


def test_error_names_the_number_the_sizes_and_the_ways_out():
    X, _ = islands((50, 9, 8, 7, 6, 5, 5))
    with pytest.raises(DataError, match=r"graph has 7 components, of sizes 50, 9, 8, 7, 6 … and 2 more.*Raise"):
        connect(*graph_of(X), policy="error")


def test_a_connected_graph_is_left_alone_by_every_policy():
    X = np.random.default_rng(0).standard_normal((100, 2))
    neighbors, index = graph_of(X, k=8)
    for policy in ("join", "separate", "largest", "error"):
        graph, found = connect(neighbors, index, policy=policy)
        assert found.count == 1
        assert not len(found.bridges)
        assert (abs(graph - graph.T)).max() == 0


def test_an_unknown_policy_is_refused_with_the_choices():
    with pytest.raises(ParameterError, match="'join', 'separate', 'largest', 'error'"):
        connect(*graph_of(islands()[0]), policy="glue")


def test_a_graph_without_distances_between_components_cannot_be_joined():
    X, _ = islands()
    sparse = build_index(X).query(None, 4).to_csr()
    index = build_index(sparse, metric="precomputed")
    with pytest.raises(DataError, match="holds no distances between them.*another component policy"):
        connect(index.query(None, 4), index, policy="join")
