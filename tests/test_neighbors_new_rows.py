"""New rows of another type than the points, with gaps, without direction."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.spatial.distance import cdist
from sklearn.neighbors import NearestNeighbors

from conftest import cloud, same_bits
from lowfold import Cells, DataError, Isomap, NeighborGraph, ParameterError, build_index, connect
from lowfold.backend import pieces
from lowfold.neighbors import external, spatial
from test_neighbors import expected
from test_neighbors_unlike import share

GAPPED = pytest.mark.parametrize("gaps_in_points", [True, False])


@pytest.mark.parametrize("metric", ["euclidean", "sqeuclidean", "manhattan", "chebyshev"])
def test_rows_that_float32_has_no_room_for_are_measured_as_they_are(metric):
    points = (1e6 + cloud(400, 3)).astype(np.float32)
    new = 1e6 + cloud(50, 3, seed=1)
    found = (
        build_index(points).query(new, 6) if metric == "euclidean" else build_index(points, metric=metric).query(new, 6)
    )
    indices, distances = expected(cdist(new, points.astype(float), metric.replace("manhattan", "cityblock")), 6)
    np.testing.assert_allclose(found.distances, distances, rtol=1e-6)
    assert (found.indices == indices).mean() > 0.999  # what is equal in float32 is ordered by index
    alone = [build_index(points, metric=metric).query(new[i : i + 1], 6).distances[0] for i in range(5)]
    assert same_bits(np.array(alone), found.distances[:5])
    assert found.distances.dtype == np.float32


@pytest.mark.parametrize("metric", ["euclidean", "sqeuclidean", "manhattan", "chebyshev"])
def test_float64_rows_have_the_neighbors_that_float64_points_would_give(metric):
    # A lattice: many distances that differ by what float32 makes of the rows.
    X = np.stack(np.meshgrid(*3 * [np.arange(9.0)]), axis=-1).reshape(-1, 3).astype(np.float32) / 8
    new = X[::7].astype(np.float64) + 1e-7 * cloud(len(X[::7]), 3)
    found = build_index(X, metric=metric, search="exact").query(new, 10)
    norm = {"manhattan": 1, "chebyshev": np.inf}.get(metric, 2)
    D = np.linalg.norm(new[:, None] - X.astype(np.float64), norm, axis=2)
    own = np.take_along_axis(D, found.indices.astype(np.intp), 1)
    np.testing.assert_allclose(own, np.sort(D, axis=1)[:, :10], rtol=2e-7)  # equal in float32: by index
    one = build_index(X, metric=metric, search="exact").query(new[[5]], 10)
    np.testing.assert_array_equal(one.indices, found.indices[[5]])


def test_a_row_that_float32_rounds_to_a_point_is_not_at_distance_0():
    X = cloud(400, 12).astype(np.float32)
    new = X[:20].astype(np.float64) + 2e-8 * cloud(20, 12, seed=1)
    found = build_index(X, search="exact").query(new, 3)
    np.testing.assert_allclose(found.distances[:, 0], np.linalg.norm(new - X[:20], axis=1), rtol=1e-6)


@pytest.mark.parametrize("search", ["exact", "cells"])
def test_float64_copies_of_the_points_are_measured_anew_without_another_search(search, monkeypatch):
    monkeypatch.setattr(spatial.SpatialIndex, "_in_wider_type", lambda *_: pytest.fail("another search"))
    X = cloud(3000, 12)
    points = X.astype(np.float32)
    found = build_index(points, search=search).query(X[:500], 5)
    D = cdist(X[:500], points.astype(np.float64))
    own = np.take_along_axis(D, found.indices.astype(np.intp), 1)
    np.testing.assert_allclose(found.distances, own, rtol=1e-6)
    np.testing.assert_allclose(found.distances[:, 0], np.linalg.norm(X[:500] - points[:500], axis=1), rtol=1e-6)
    assert share(found.indices, expected(D, 5)[0]) >= (1 if search == "exact" else 0.985)


def test_an_approximate_search_keeps_its_recall_for_float64_rows_that_float32_has_no_room_for():
    points = (1e6 + cloud(6000, 6)).astype(np.float32)
    new = 1e6 + cloud(100, 6, seed=1)
    found = build_index(points, search="cells").query(new, 5)
    indices, distances = expected(cdist(new, points.astype(np.float64)), 5)
    assert share(found.indices, indices) >= 0.985
    assert (found.distances <= distances[:, -1:] * (1 + 1e-6)).mean() >= 0.985
    alone = np.vstack([build_index(points, search="cells").query(row[None], 5).indices for row in new[:3]])
    np.testing.assert_array_equal(alone, found.indices[:3])


def test_each_row_of_a_mixed_batch_is_searched_for_once(monkeypatch):
    """Some rows are the same in float32, others are not."""
    points, rows = cloud(300, 4, dtype=np.float32), []
    new = np.vstack([cloud(20, 4, seed=1), cloud(30, 4, seed=2, dtype=np.float32)])[
        np.random.default_rng(0).permutation(50)
    ]
    index = build_index(points)
    alone = [index.query(row[None], 5) for row in new]
    nearest = spatial.SpatialIndex.nearest
    monkeypatch.setattr(
        spatial.SpatialIndex, "nearest", lambda self, given, k: rows.extend(given) or nearest(self, given, k)
    )
    together = index.query(new, 5)
    assert len(rows) == 50
    for field in ("indices", "distances"):
        assert same_bits(np.concatenate([getattr(found, field) for found in alone]), getattr(together, field))


@pytest.mark.parametrize("metric", ["hamming", "jaccard"])
def test_float64_rows_equal_the_float32_points_that_they_were_stored_as_where_equality_counts(metric):
    points = np.round(np.abs(cloud(60, 4)), 1)
    if metric == "jaccard":
        points = np.where(points > 0.5, 1e-50, 0)  # which float32 has no room for
    index = build_index(points.astype(np.float32), metric=metric)
    given, stored = index.query(points, 3), index.query(points.astype(np.float32), 3)
    assert (given.distances[:, 0] == 0).all()
    np.testing.assert_array_equal(given.indices, stored.indices)


@pytest.mark.parametrize("metric", ["canberra", "braycurtis"])
def test_other_metrics_measure_float64_rows_as_they_are_in_one_search_made_for_them(metric, monkeypatch):
    points = 1 + np.abs(cloud(60, 4, dtype=np.float32))
    new = points[:20].astype(float) + 1e-9
    index, made = build_index(points, metric=metric), []
    search = external.ExternalIndex._search_among
    monkeypatch.setattr(
        external.ExternalIndex, "_search_among", lambda self, X: made.append(X.dtype) or search(self, X)
    )
    for _ in range(2):
        found = index.query(new, 3)
    np.testing.assert_allclose(found.distances, np.sort(cdist(new, points.astype(float), metric), axis=1)[:, :3], 1e-6)
    assert made == [np.float64]


@pytest.mark.parametrize("metric", ["euclidean", "cosine", "manhattan"])
def test_float64_rows_beside_sparse_float32_points_are_measured_as_they_are(metric):
    X = np.where(cloud(200, 12) > 0.3, 1e3 + cloud(200, 12, seed=1), 0).astype(np.float32)
    new = np.where(X[:40] != 0, X[:40] + 1e-5 * cloud(40, 12, seed=2), 0)
    found = build_index(csr_array(X), metric=metric).query(csr_array(new), 3)
    D = cdist(new, X.astype(np.float64), metric.replace("manhattan", "cityblock"))
    assert found.distances.dtype == np.float32
    np.testing.assert_allclose(found.distances, np.sort(D, axis=1)[:, :3], rtol=1e-6, atol=1e-15)


@pytest.mark.parametrize("columns", [3, 1000, 20000])
def test_constant_rows_have_no_direction_whatever_their_length(columns):
    X = np.random.default_rng(0).standard_normal((6, columns))
    X[1], X[4] = 0.1, 0.1 * 1.7
    found = build_index(X, metric="correlation").query(None, 5)
    np.testing.assert_array_equal(found.distances[[1, 4]], 1)
    np.testing.assert_array_equal(found.indices[1], [0, 2, 3, 4, 5])


@pytest.mark.parametrize("metric", ["dice", "sokalsneath", "jaccard"])
def test_sets_of_nothing_are_equal_and_as_far_from_others_as_scikit_learn_says(metric):
    X = np.random.default_rng(0).random((40, 12)) < 0.3
    X[[3, 8]] = False
    found = build_index(X, metric=metric).query(None, 39)
    theirs, order = NearestNeighbors(metric=metric, algorithm="brute").fit(X).kneighbors(X, 40)
    D = np.nan_to_num(np.take_along_axis(theirs, np.argsort(order, axis=1), axis=1))
    np.fill_diagonal(D, np.inf)
    np.testing.assert_array_equal(found.indices, expected(D.round(12), 39)[0])
    assert found.distances[3, 0] == 0
    np.testing.assert_array_equal(build_index(X, metric=metric).query(None, 4).indices, found.indices[:, :4])


def test_many_ties_are_decided_by_index_in_few_searches(monkeypatch):
    X = np.random.default_rng(0).integers(0, 2, (200, 6)).astype(float)
    index = build_index(X, metric="hamming", n_jobs=1)
    calls, search = [], index._search.kneighbors
    monkeypatch.setattr(index._search, "kneighbors", lambda rows, k: calls.append(k) or search(rows, k))
    monkeypatch.setattr(pieces, "MOMENT", np.inf)  # however slow the machine
    found = index.query(None, 5)
    D = cdist(X, X, "hamming")
    np.fill_diagonal(D, np.inf)
    np.testing.assert_array_equal(found.indices, expected(D.round(12), 5)[0])
    assert len(calls) <= 20  # not one for each row


@GAPPED
def test_rows_with_gaps_have_the_neighbors_that_scikit_learn_finds(gaps_in_points):
    X, new = cloud(80, 6), cloud(20, 6, seed=1)
    for rows in (X, new) if gaps_in_points else (new,):
        rows[np.random.default_rng(2).random(rows.shape) < 0.15] = np.nan
    index = build_index(X, metric="nan_euclidean")
    lengths, order = NearestNeighbors(metric="nan_euclidean").fit(X).kneighbors(new, 5)
    found = index.query(new, 5)
    np.testing.assert_array_equal(found.indices, order)
    np.testing.assert_allclose(found.distances, lengths)
    assert same_bits(np.vstack([index.query(new[i : i + 1], 5).distances for i in range(20)]), found.distances)


def test_maps_of_rows_with_gaps_are_made_of_their_graph():
    X = cloud(60, 6)
    X[np.random.default_rng(0).random(X.shape) < 0.1] = np.nan
    transformer = NeighborGraph(metric="nan_euclidean", n_neighbors=12)
    graph = transformer.fit_transform(X)
    assert transformer.__sklearn_tags__().input_tags.allow_nan
    assert not NeighborGraph().__sklearn_tags__().input_tags.allow_nan
    np.testing.assert_array_equal(graph.diagonal(), 0)
    assert np.isfinite(Isomap(metric="precomputed", n_neighbors=8).fit(graph).embedding_).all()
    with pytest.raises(DataError, match=r"contains NaN.*nan_euclidean_distances\(X\) and metric='precomputed'"):
        Isomap(metric="nan_euclidean").fit(X)
    with pytest.raises(DataError, match="contains NaN"):
        NeighborGraph().fit(X)
    X[0] = np.nan
    with pytest.raises(DataError, match="not finite for some pair of rows. Remove rows"):
        NeighborGraph(metric="nan_euclidean").fit_transform(X)


def test_a_graph_that_holds_more_than_was_asked_for_is_joined_by_what_it_holds():
    X = cloud(300, 2)
    stored, rows = build_index(NeighborGraph(n_neighbors=60).fit_transform(X), metric="precomputed"), build_index(X)
    joined, whole = connect(stored.query(None, 1), stored), connect(rows.query(None, 1), rows)
    assert joined[1].count == whole[1].count > 50
    np.testing.assert_array_equal(joined[1].bridges, whole[1].bridges)
    apart = build_index(NeighborGraph(n_neighbors=4).fit_transform(np.vstack([X, X + 99])), metric="precomputed")
    with pytest.raises(DataError, match="holds no distances between some of them"):
        connect(apart.query(None, 1), apart)


@pytest.mark.parametrize("search", ["cells", Cells(recall=0.5)])
def test_an_approximate_search_that_there_is_not_is_refused(search):
    X = np.abs(cloud(50))
    for rows, metric in ((cdist(X, X), "precomputed"), (X, "canberra"), (csr_array(X), "euclidean"), (X, cityblock)):
        with pytest.raises(ParameterError, match=r"search=.* has nothing to act on.*Leave search='auto'"):
            build_index(rows, metric=metric, search=search)
        build_index(rows, metric=metric, search="exact")


def cityblock(a, b):
    return float(np.abs(a - b).sum())


def test_a_graph_has_the_type_of_the_rows_that_it_is_asked_for():
    X = cloud(50)
    model = NeighborGraph(n_neighbors=4).fit(X)
    assert model.transform(X.astype(np.float32)).dtype == np.float32
    assert model.transform(X).dtype == np.float64


def test_connect_says_what_it_needs():
    index = build_index(cloud(20))
    with pytest.raises(
        ParameterError, match=r"given a tuple and a SpatialIndex.*Pass index.query\(None, k\) and index"
    ):
        connect((1, 2), index)
