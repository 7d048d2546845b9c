"""Connected components of a neighbour graph and the four policies."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse.csgraph import connected_components, minimum_spanning_tree
from scipy.spatial.distance import cdist

from lowfold import DataError, Isomap, ParameterError, build_index, connect
from lowfold.neighbors import bridges
from lowfold.neighbors.rows import RowsIndex

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
    with pytest.raises(
        ParameterError, match="of connect must be .* 'join', 'separate', 'largest', 'error'. Got 'glue'"
    ):
        connect(*graph_of(islands()[0]), policy="glue")
    with pytest.raises(ParameterError, match=r"Got \['join'\] instead"):
        connect(*graph_of(islands()[0]), policy=["join"])


def test_a_graph_without_distances_between_components_cannot_be_joined():
    X, _ = islands()
    sparse = build_index(X).query(None, 4).to_csr()
    index = build_index(sparse, metric="precomputed")
    with pytest.raises(DataError, match="holds no distances between some of them.*another component policy"):
        connect(index.query(None, 4), index, policy="join")


def cones(spread, dtype, seed=29):
    """Two bundles of nearly parallel rows, whose cosine distances are a matter of rounding."""
    rng = np.random.default_rng(seed)
    axis = rng.standard_normal(5)
    other = axis + 100 * spread * rng.standard_normal(5)
    return np.vstack([c + spread * rng.standard_normal((40, 5)) for c in (other, axis)]).astype(dtype)


@pytest.mark.parametrize("metric", ["cosine", "correlation"])
@pytest.mark.parametrize(("spread", "dtype"), [(1e-6, np.float32), (1e-9, np.float64)])
def test_a_bridge_between_nearly_parallel_rows_is_the_pair_that_the_search_finds(metric, spread, dtype):
    X = cones(spread, dtype)
    neighbors, index = graph_of(X, metric)
    _, found = connect(neighbors, index)
    every = index.query(None, len(X) - 1)
    apart = found.labels[every.indices] != found.labels[:, None]
    assert found.count > 1
    assert (found.bridge_lengths >= 0).all()
    assert found.bridge_lengths.min() == every.distances[apart].min()


def test_paths_over_a_bridge_between_nearly_parallel_rows_end():
    model = Isomap(n_neighbors=4, metric="cosine").fit(cones(1e-6, np.float32))
    assert np.isfinite(model.embedding_).all()


@pytest.mark.parametrize("metric", METRICS)
def test_small_components_find_the_same_bridges_as_large_ones(metric, monkeypatch):
    X, _ = islands((60, 40, 30, 20, 12, 9, 8, 7, 5, 5), seed=3)
    given = graph_of(X, metric)
    _, quick = connect(*given)
    monkeypatch.setattr(bridges, "WIDTHS", ())  # every component by its closest pair with all the rest
    _, one_by_one = connect(*given)
    np.testing.assert_array_equal(quick.bridges, one_by_one.bridges)
    np.testing.assert_array_equal(quick.bridge_lengths, one_by_one.bridge_lengths)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("metric", ["euclidean", "sqeuclidean", "manhattan", "chebyshev", "cosine", "seuclidean"])
def test_balls_about_large_components_change_no_bridge_and_spare_most_pairs(metric, dtype, monkeypatch):
    X, _ = islands((70, 60, 60, 50, 40, 30, 30, 25, 7, 3), seed=4)
    given = graph_of((X - 100 * (metric == "cosine")).astype(dtype), metric)
    monkeypatch.setattr(bridges, "WIDTHS", (8,))
    asked = []

    closest_pair = RowsIndex.closest_pair

    def listening(index, a, b):
        asked.append(len(a) * len(b))
        return closest_pair(index, a, b)

    monkeypatch.setattr(RowsIndex, "closest_pair", listening)
    _, with_balls = connect(*given)
    pairs = sum(asked)
    monkeypatch.setattr(bridges, "FEW", 100)
    _, without = connect(*given)
    np.testing.assert_array_equal(with_balls.bridges, without.bridges)
    np.testing.assert_array_equal(with_balls.bridge_lengths, without.bridge_lengths)
    assert 0 < 2 * pairs < sum(asked) - pairs


def test_among_equally_close_pairs_the_first_is_the_bridge():
    X = np.array([[0.0, 0], [1, 0], [1, 1], [0, 1]])
    for metric, data in (("euclidean", X), ("manhattan", X), ("canberra", X + 1), ("precomputed", cdist(X, X))):
        index = build_index(data, metric=metric)
        assert index.closest_pair(np.array([0, 1]), np.array([2, 3]))[:2] == (0, 3)
        assert index.closest_pair(np.array([0, 3, 2]), np.array([1]))[:2] == (0, 1)


def test_bridges_of_many_small_components_take_no_search_each(monkeypatch):
    centres = 1000 * np.random.default_rng(0).standard_normal((300, 1, 3))
    X = (centres + 0.01 * np.random.default_rng(1).standard_normal((300, 6, 3))).reshape(-1, 3)
    neighbors, index = graph_of(X)
    searches = []
    closest_pair = RowsIndex.closest_pair
    monkeypatch.setattr(RowsIndex, "closest_pair", lambda *given: searches.append(given) or closest_pair(*given))
    _, found = connect(neighbors, index)
    assert found.count == 300
    assert len(searches) < 10


def test_neighbors_of_other_rows_are_no_graph():
    index = build_index(islands()[0])
    with pytest.raises(DataError, match=r"neighbours of 3 rows among 115 points.*index.query\(None, k\)"):
        connect(index.query(islands()[0][:3], 4), index)


@pytest.mark.parametrize("twice", [False, True])
def test_points_asked_for_as_new_rows_are_no_graph_since_each_is_its_own_neighbor(twice):
    X = np.repeat(islands()[0], 1 + twice, axis=0)
    index = build_index(X)
    with pytest.raises(DataError, match=r"their own neighbours, the first of them row 0.*index.query\(None, k\)"):
        connect(index.query(X, 4), index)
    connect(index.query(None, 4), index)
