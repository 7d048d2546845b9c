"""Neighbours where data or metrics are awkward: outliers, copies among ties, metrics that cannot be."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.spatial.distance import cdist
from sklearn.neighbors import NearestNeighbors

from conftest import LEVELS, cloud, same_bits
from lowfold import TSNE, UMAP, Cells, DataError, Isomap, MemoryLimitError, NeighborGraph, build_index
from lowfold.backend import native, resources
from lowfold.backend.native import load
from lowfold.neighbors.sharing import shared_neighbors


@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "chebyshev", "cosine", "correlation"])
@pytest.mark.parametrize("recall", [0.6, 0.95])
def test_outliers_do_not_make_a_query_depend_on_its_batch(metric, recall):
    X, queries = cloud(6000, 4, dtype=np.float32), cloud(600, 4, seed=1, dtype=np.float32)
    X[:40] *= 1e5
    if metric in ("cosine", "correlation"):  # outliers in direction: all others look almost the same way
        X[40:, 0] += 30
        queries[:, 0] += 30
    index = build_index(X, metric=metric, search=Cells(recall=recall))
    together, alone = index.query(queries, 10), [index.query(row[None], 10) for row in queries]
    assert same_bits(np.vstack([found.indices for found in alone]), together.indices)
    assert same_bits(np.vstack([found.distances for found in alone]), together.distances)


@pytest.mark.parametrize("metric", ["euclidean", "cosine", "manhattan"])
def test_on_every_instruction_set_an_exact_search_has_the_same_bits_and_an_approximate_one_its_recall(
    metric, monkeypatch
):
    X, new = (cloud(n, 20, seed=n, dtype=np.float32) for n in (6000, 400))
    true = build_index(X, metric=metric, search="exact")
    wanted = [true.query(rows, 10) for rows in (None, new)]
    for level in LEVELS:
        monkeypatch.setattr(native, "kernels", load(level))
        exact, cells = (build_index(X, metric=metric, search=search) for search in ("exact", "cells"))
        for rows, neighbors in zip((None, new), wanted, strict=True):
            found, some = exact.query(rows, 10), cells.query(rows, 10)
            assert same_bits(found.indices, neighbors.indices), level
            assert same_bits(found.distances, neighbors.distances), level
            assert (some.distances <= neighbors.distances[:, -1:]).mean() >= 0.985, level
            assert some.recall >= 0.99, level


@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "chebyshev"])
def test_the_exact_search_misses_nothing_beside_outliers(metric):
    X = cloud(6000, 4, dtype=np.float32)
    X[:40] *= 1e5
    found = build_index(X, metric=metric, search="exact").query(None, 10)
    D = cdist(X, X, "cityblock" if metric == "manhattan" else metric)
    np.fill_diagonal(D, np.inf)
    np.testing.assert_allclose(found.distances, np.sort(D, axis=1)[:, :10], rtol=1e-5)  # float32 rounding


@pytest.mark.parametrize("table", ["pandas", "polars"])
def test_a_table_with_other_columns_than_those_indexed_is_refused(table):
    package = pytest.importorskip(table)
    data = package.DataFrame(dict(zip("abc", cloud(30, 3).T, strict=True)))
    index = build_index(data)
    for columns, word in ((["c", "b", "a"], "in another order"), (["a", "b"], "2 columns, but .* had 3")):
        with pytest.raises(DataError, match=f"{word}.*Pass the same columns in the same order"):
            index.query(data[columns], 2)
    renamed = data.rename(columns={"b": "z"}) if table == "pandas" else data.rename({"b": "z"})
    with pytest.raises(DataError, match="the column 'z' where the indexed points had 'b'"):
        index.query(renamed, 2)
    assert same_bits(index.query(data, 2).indices, index.query(np.asarray(data), 2).indices)
    with shared_neighbors():  # one index serves both, and each keeps its names
        one, other = build_index(data), build_index(renamed)
        assert one.query(data, 2).k == other.query(renamed, 2).k == 2


def test_more_neighbors_than_memory_can_hold_are_refused_before_they_are_looked_for(monkeypatch):
    monkeypatch.setattr(resources, "available_memory", lambda: 10**8)
    index = build_index(cloud(20000, 2))
    with pytest.raises(MemoryLimitError, match=r"19000 neighbours of 20000 points needs 9.12 GB, but 0.1 GB.*fewer"):
        index.query(None, 19000)
    with pytest.raises(MemoryLimitError, match="neighbours of 20000 points"):
        NeighborGraph(n_neighbors=19000).fit_transform(cloud(20000, 2))
    assert index.query(cloud(5, 2), 19000).k == 19000


def test_copies_of_a_row_do_not_change_the_order_of_ties():
    grid = np.stack(np.meshgrid(np.arange(50.0), np.arange(40.0)), axis=-1).reshape(-1, 2)
    X = np.vstack([grid, np.repeat(grid[7:8], 400, axis=0)])
    X = X[np.random.default_rng(0).permutation(len(X))]
    D = cdist(X, X)
    np.fill_diagonal(D, np.inf)
    np.testing.assert_array_equal(build_index(X).query(None, 3).indices, np.argsort(D, axis=1, kind="stable")[:, :3])
    queries = grid[:20] + 0.5
    np.testing.assert_array_equal(
        build_index(X).query(queries, 3).indices, np.argsort(cdist(queries, X), axis=1, kind="stable")[:, :3]
    )


@pytest.mark.parametrize("method", [Isomap, UMAP, TSNE])
def test_a_function_with_negative_values_is_refused_with_a_remedy(method):
    def product(a, b):
        return float(a @ b)

    with pytest.raises(DataError, match=r"negative distance -.*at least 0.*max\(0\.0, distance\)"):
        method(metric=product).fit(cloud(200))


def test_negative_distances_of_new_points_are_refused():
    X = cloud()
    with pytest.raises(DataError, match="cannot be negative, but the smallest entry of X is -1"):
        build_index(cdist(X, X), metric="precomputed").query(cdist(X[:2], X) - 1, 3)


def test_seuclidean_refuses_a_column_without_variance():
    X = cloud()
    X[:, 2] = 1
    with pytest.raises(DataError, match=r"column 2 has none \(1 such columns in all\)\. Leave out"):
        build_index(X, metric="seuclidean")


@pytest.mark.parametrize("metric", ["seuclidean", "mahalanobis"])
@pytest.mark.parametrize(("X", "given"), [(csr_array(cloud()), "sparse rows"), (cloud(1), "a single row")])
def test_metrics_that_learn_from_the_data_say_what_they_cannot_learn_from(metric, X, given):
    with pytest.raises(DataError, match=f"{metric}.*given {given}.*Pass an array of at least 2 rows"):
        build_index(X, metric=metric)


def test_the_largest_component_is_searched_by_what_the_metric_learnt_of_all_points():
    X = np.vstack([cloud(60, 3), cloud(20, 3, seed=1) + np.array([300, 0, 0])])
    model = Isomap(n_neighbors=5, metric="seuclidean", components="largest").fit(X)
    graph, index = model._hood.graph, model._hood.index
    nearest = index.query(X[:1], 2)
    assert graph[0, nearest.indices[0, 1]] == pytest.approx(nearest.distances[0, 1])


def test_ties_under_bray_curtis_are_measured_as_all_others():
    X = cloud(200, 3).round(1)
    expected, _ = NearestNeighbors(metric="braycurtis", algorithm="brute").fit(X).kneighbors(n_neighbors=5)
    np.testing.assert_array_equal(build_index(X, metric="braycurtis").query(None, 5).distances, expected)


@pytest.mark.parametrize("metric", ["canberra", "braycurtis", "haversine", "mahalanobis", "hamming", "euclidean"])
def test_distances_have_the_type_of_the_rows(metric):
    X = np.abs(cloud(50, 2, dtype=np.float32))
    assert NeighborGraph(metric=metric, n_neighbors=3).fit_transform(X).dtype == np.float32
    assert build_index(np.ones((400, 2), np.float32)).query(None, 3).distances.dtype == np.float32


def test_a_single_point_has_no_neighbors():
    with pytest.raises(DataError, match="a single point has no neighbours"):
        build_index(cloud(1)).query(None, 1)


def test_messages_name_what_the_user_called():
    with pytest.raises(ValueError, match="parameter of build_index must be"):
        build_index(cloud(), n_jobs="two")
    with pytest.raises(ValueError, match="required by build_index"):
        build_index(np.zeros((3, 0)))


def test_connectivity_may_take_all_points_as_neighbors():
    X = cloud(6)
    assert NeighborGraph(n_neighbors=6, mode="connectivity").fit_transform(X).nnz == 36


def test_stored_zeros_of_new_rows_are_distances_in_a_graph():
    X = cloud(40)
    X[1] = X[0]
    graph = NeighborGraph(n_neighbors=4).fit(X).transform(X)
    found = build_index(graph, metric="precomputed").query(graph[:2], 5)
    assert (found.indices[:, :2] == [0, 1]).all()
    assert (found.distances[:, :2] == 0).all()


def test_a_refused_neighbor_graph_stays_fitted_to_what_it_was():
    model = NeighborGraph(n_neighbors=4).fit(cloud(40, 3))
    with pytest.raises(ValueError, match="needs at least 42 samples"):
        model.set_params(n_neighbors=41).fit(cloud(40, 5))
    assert model.n_features_in_ == 3
    assert model.set_params(n_neighbors=4).transform(cloud(2, 3)).shape == (2, 40)


@pytest.mark.parametrize("metric", ["cosine", "euclidean", "manhattan", lambda a, b: float(abs(a - b).sum())])
def test_new_rows_are_measured_as_the_points_are_stored(metric):
    X, new = (1e-7 * np.abs(cloud(n, 12, seed=n, dtype=np.float32)) for n in (80, 6))
    index = build_index(csr_array(X), metric=metric)
    found, expected = index.query(new, 5), index.query(csr_array(new), 5)
    np.testing.assert_array_equal(found.indices, expected.indices)
    np.testing.assert_array_equal(found.distances, expected.distances)
    dense = build_index(X, metric=metric).query(new, 5)
    np.testing.assert_allclose(found.distances, dense.distances, rtol=1e-3)


def _of_many_sizes(dtype, about_zero):
    """Rows of about 1, and others so small that squares of their differences leave the range of the type."""
    smallest = {np.float32: -37, np.float64: -300}[dtype]
    sizes = np.repeat([0.0, smallest / 4, smallest / 2, 0.6 * smallest, smallest], 200)
    X = cloud(len(sizes), 6) * 10.0 ** sizes[:, None]
    X = X[np.random.default_rng(1).permutation(len(X))].astype(dtype)
    return np.vstack([X, -X]) if about_zero else X  # small beside the mean too, or not


@pytest.mark.parametrize("about_zero", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rows_whose_squares_vanish_are_found_exactly_beside_rows_of_1(dtype, about_zero):
    X = _of_many_sizes(dtype, about_zero)
    new = X[:20] * dtype(1.5)
    index = build_index(X, search="exact")
    for queries, found in ((X, index.query(None, 5)), (new, index.query(new, 5))):
        D = _distances(queries, X)
        if queries is X:
            np.fill_diagonal(D, np.inf)
        np.testing.assert_allclose(found.distances, np.sort(D, axis=1)[:, :5], rtol=1e-5, atol=0)  # float32 rounding


@pytest.mark.parametrize("about_zero", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_approximate_search_keeps_its_recall_where_squares_vanish(dtype, about_zero):
    X = _of_many_sizes(dtype, about_zero)
    found = build_index(X, search=Cells(recall=0.99)).query(None, 5)
    D = _distances(X, X)
    np.fill_diagonal(D, np.inf)
    near = found.distances <= np.sort(D, axis=1)[:, 4:5] * (1 + 1e-5)
    assert near.mean() >= 0.99


def _distances(queries, X):
    """In a type whose exponents have room for the squares."""
    differences = queries.astype(np.longdouble)[:, None] - X.astype(np.longdouble)
    return np.sqrt(np.square(differences).sum(axis=2))
