"""What a method is given is recognised once for all of them, checked, and never changed."""

from __future__ import annotations

import numpy as np
import pandas
import polars
import pytest
from scipy.sparse import coo_array, coo_matrix, csc_array, csc_matrix, csr_array, csr_matrix, dia_array, lil_array
from scipy.spatial.distance import cdist
from sklearn.neighbors import KNeighborsTransformer

from conftest import ESTIMATORS, cloud, declared, dense, in_short, model_of, name_of, place, same_bits
from lowfold import DataError, LowfoldError, NeighborGraph, inputs
from lowfold.estimator import Declaring
from lowfold.options import option


class Anything(Declaring):
    """Takes data of any kind."""

    accepts = frozenset(inputs.KINDS)
    metric: str = option("euclidean", help="metric")


class RowsOnly(Anything):
    """Takes dense rows."""

    accepts = frozenset({inputs.ROWS})


class DistancesOnly(Anything):
    """Takes rows, or distances between them."""

    accepts = frozenset({inputs.ROWS, inputs.DISTANCES})


def read(X, *, metric="euclidean", cls=Anything):
    return inputs.read(cls(metric=metric), X, cls.accepts, fitting=True)


def precomputed(X):
    return read(X, metric="precomputed")


def half_empty(n=30, d=8, dtype=np.float64):
    return np.where(cloud(n, d, seed=1) > 0, cloud(n, d), 0).astype(dtype)


def untidy(X):
    """The same matrix in CSR with rows written backwards and one entry given in two halves."""
    tidy = csr_array(X)
    indices, data, indptr = [], [], [0]
    for i in range(X.shape[0]):
        row = slice(tidy.indptr[i], tidy.indptr[i + 1])
        indices += [*tidy.indices[row][::-1], *tidy.indices[row][:1]]
        data += [*tidy.data[row][::-1][:-1], *(tidy.data[row][:1] / 2), *(tidy.data[row][:1] / 2)]
        indptr.append(len(data))
    return csr_array((np.asarray(data), np.asarray(indices), np.asarray(indptr)), shape=X.shape)


def parts(S):
    names = ("data", "indices", "indptr", "row", "col", "offsets")
    return {name: np.array(getattr(S, name), copy=True) for name in names if hasattr(S, name)}


# Kinds


@pytest.mark.parametrize("make", [np.asarray, list, pandas.DataFrame, polars.DataFrame], ids=lambda make: make.__name__)
def test_dense_rows_are_rows(make):
    X = cloud()
    data = read(make(X))
    assert data.kind == inputs.ROWS
    assert data.n == 60
    assert same_bits(data.values, X)


SPARSE = (csr_array, csc_array, coo_array, lil_array, dia_array, csr_matrix, csc_matrix, coo_matrix, untidy)


@pytest.mark.parametrize("make", SPARSE, ids=lambda make: make.__name__)
def test_sparse_rows_in_any_format_become_the_same_tidy_csr(make):
    X = half_empty()
    data = read(make(X))
    assert data.kind == inputs.SPARSE_ROWS
    assert isinstance(data.values, csr_array)
    assert data.values.has_canonical_format
    assert same_bits(data.values.toarray(), X)


@pytest.mark.parametrize("make", SPARSE, ids=lambda make: make.__name__)
def test_sparse_data_are_left_as_they_were(make):
    S = make(half_empty())
    before, kind = parts(S), type(S)
    read(S)
    assert type(S) is kind
    assert parts(S).keys() == before.keys()
    assert all(same_bits(values, before[name]) for name, values in parts(S).items())


def with_stored_zeros(X):
    """The same rows in CSR, every zero written out, some with a sign."""
    full = csr_array(np.where(X == 0, 1, X))
    full.data[:] = np.where(X == 0, -0.0 * (np.arange(X.shape[1]) % 2), X).ravel()
    return full


@pytest.mark.parametrize("cls", [cls for cls in ESTIMATORS if inputs.SPARSE_ROWS in cls.accepts], ids=name_of)
def test_zeros_that_a_sparse_row_stores_are_as_good_as_those_that_it_leaves_out(cls):
    X = half_empty(60)
    S = with_stored_zeros(X)
    before = parts(S)
    assert S.nnz == X.size
    fitted, expected = model_of(cls).fit(S), model_of(cls).fit(csr_array(X))
    assert all(same_bits(values, before[name]) for name, values in parts(S).items())
    for rows in (S, csr_array(X), X):
        assert same_bits(place(fitted, rows), place(expected, rows))
    assert same_bits(place(fitted, S), place(fitted, csr_array(X)))
    if getattr(cls, "remembers", False):
        assert same_bits(place(fitted, X), fitted.embedding_)


def test_untidy_rows_are_what_they_are_meant_to_be():
    S = untidy(half_empty())
    assert not S.has_sorted_indices
    assert not S.has_canonical_format
    assert same_bits(S.toarray(), half_empty())


def test_coordinates_given_twice_add_up():
    S = coo_array(([1.0, 2.0, 4.0], ([0, 0, 1], [1, 1, 0])), shape=(2, 2))
    assert read(S).values.toarray().tolist() == [[0, 3], [4, 0]]
    assert S.data.tolist() == [1, 2, 4]


def test_a_dense_matrix_of_distances_is_one_only_if_the_metric_says_so():
    D = cdist(cloud(), cloud())
    assert precomputed(D).kind == inputs.DISTANCES
    assert read(D).kind == inputs.ROWS
    assert same_bits(precomputed(D).values, D)


def test_a_sparse_matrix_of_distances_is_a_neighbour_graph():
    graph = KNeighborsTransformer(n_neighbors=5).fit_transform(cloud())
    data = precomputed(graph)
    assert data.kind == inputs.GRAPH
    assert same_bits(data.values.toarray(), graph.toarray())
    assert data.values.nnz == graph.nnz == 60 * 6  # zeros that are stored stay stored


@pytest.mark.parametrize(
    ("cls", "metric", "X", "pattern"),
    [
        (RowsOnly, "euclidean", csr_array(half_empty()), r"given sparse rows.* takes rows of numbers\. .*toarray"),
        (RowsOnly, "precomputed", cdist(cloud(), cloud()), "given precomputed distances.* Pass the rows themselves"),
        (RowsOnly, "precomputed", csr_array(half_empty(8, 8)), "given a precomputed neighbour graph.* takes rows"),
        (DistancesOnly, "euclidean", csr_array(half_empty()), "given .* rows of numbers or precomputed distances"),
        (DistancesOnly, "precomputed", csr_array(half_empty(8, 8)), "given a precomputed neighbour graph"),
    ],
)
def test_a_kind_that_a_method_cannot_take_is_refused_by_name_with_a_remedy(cls, metric, X, pattern):
    with pytest.raises(DataError, match=f"{cls.__name__} was {pattern}"):
        read(X, metric=metric, cls=cls)


def test_every_method_takes_rows_and_only_kinds_that_there_are(method):
    assert inputs.ROWS in method.accepts
    assert method.accepts <= set(inputs.KINDS)


# Distances and graphs


def test_distances_that_are_not_square_are_refused_with_their_shape():
    with pytest.raises(DataError, match=r"must be square, but X has shape \(20, 60\)\. Pass"):
        precomputed(cdist(cloud(20), cloud()))


@pytest.mark.parametrize("make", [np.asarray, csr_array], ids=["distances", "graph"])
def test_a_negative_distance_is_refused_with_its_value(make):
    D = cdist(cloud(), cloud())
    D[2, 3] = D[3, 2] = -0.25
    with pytest.raises(DataError, match=r"negative, but the smallest entry of X is -0\.25\. If X holds similarities"):
        precomputed(make(D))


def test_distances_must_be_symmetric_but_for_rounding():
    D = cdist(cloud(), cloud())
    D[2, 3] *= 1 + 1e-9
    assert precomputed(D).n == 60
    D[2, 3] *= 1.01
    with pytest.raises(DataError, match=r"must be symmetric, but X differs .* Pass \(X \+ X\.T\) / 2"):
        precomputed(D)


def test_a_neighbour_graph_need_not_be_symmetric():
    graph = KNeighborsTransformer(n_neighbors=3).fit_transform(cloud())
    assert (graph != graph.T).nnz > 0
    assert precomputed(graph).kind == inputs.GRAPH


# New data


@pytest.mark.parametrize("columns", [1, 4, 6])
def test_new_rows_with_another_number_of_features_are_refused_with_both_numbers(estimator, columns):
    model = estimator().fit(cloud(100))
    with pytest.raises(ValueError, match=f"X has {columns} features.* 5 features"):
        model.transform(cloud(3, columns))


def test_new_distances_have_a_row_for_each_new_point_and_a_column_for_each_old_one():
    X, new = cloud(), cloud(7, seed=1)
    model = NeighborGraph(n_neighbors=4, metric="precomputed").fit(cdist(X, X))
    expected = NeighborGraph(n_neighbors=4).fit(X)
    np.testing.assert_allclose(place(model, cdist(new, X)), place(expected, new), rtol=1e-12)
    with pytest.raises(ValueError, match=r"7 features.* 60"):
        model.transform(cdist(new, new))


def test_a_graph_of_new_points_has_a_column_for_each_old_one():
    X, new = cloud(), cloud(7, seed=1)
    neighbors = KNeighborsTransformer(n_neighbors=8).fit(X)
    model = NeighborGraph(n_neighbors=4, metric="precomputed").fit(neighbors.transform(X))
    expected = NeighborGraph(n_neighbors=4).fit(X)
    np.testing.assert_allclose(place(model, neighbors.transform(new)), place(expected, new), rtol=1e-6)


def test_new_data_of_another_kind_than_the_fitted_are_refused():
    neighbors = KNeighborsTransformer(n_neighbors=8).fit(cloud())
    model = NeighborGraph(n_neighbors=4, metric="precomputed").fit(neighbors.transform(cloud()))
    with pytest.raises(LowfoldError, match="sparse"):
        model.transform(cdist(cloud(3, seed=1), cloud()))
    model = NeighborGraph(n_neighbors=4, metric="precomputed").fit(cdist(cloud(), cloud()))
    with pytest.raises(LowfoldError, match=r"sparse|graph"):
        dense(model.transform(neighbors.transform(cloud(3, seed=1))))


@pytest.mark.parametrize(("fitted", "asked"), [(np.asarray, csr_array), (csr_array, np.asarray)])
@pytest.mark.parametrize("cls", [cls for cls in ESTIMATORS if inputs.SPARSE_ROWS in cls.accepts], ids=name_of)
def test_dense_and_sparse_rows_with_the_same_numbers_get_the_same_places(cls, fitted, asked):
    X, new = half_empty(100), half_empty(7)
    model, expected = model_of(cls).fit(fitted(X)), model_of(cls).fit(X)
    # Sparse products round otherwise than dense ones.
    np.testing.assert_allclose(place(model, asked(new)), place(expected, new), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_new_rows_may_be_sparse_where_the_training_rows_are_not_and_the_other_way_round(method, metric):
    if inputs.SPARSE_ROWS not in method.accepts or (metric != "euclidean" and "metric" not in declared(method)):
        pytest.skip("it takes no sparse rows, or has no metric")
    X, new = cloud(60), cloud(6, seed=1)
    more = {} if metric == "euclidean" else {"metric": metric}
    for given in (X, csr_array(X)):
        model = in_short(model_of(method, **more)).fit(given)
        dense, sparse = model.transform(new), model.transform(csr_array(new))
        np.testing.assert_allclose(sparse, dense, rtol=1e-6, atol=1e-9 * np.abs(model.embedding_).max())
