"""Numbers that are too large or too small for distances in their type: of data, and of new rows, each by itself."""

from __future__ import annotations

import contextlib

import numpy as np
import pytest
from scipy.sparse import csr_array

from conftest import ESTIMATORS, cloud, model_of, name_of, place, same_bits
from lowfold import PCA, UMAP, DataError, NeighborGraph, build_index, inputs

SPARSE_TAKERS = [cls for cls in ESTIMATORS if inputs.SPARSE_ROWS in cls.accepts]


def read(X):
    return inputs.read(NeighborGraph(), X, NeighborGraph.accepts, fitting=True)


@pytest.mark.parametrize(("dtype", "limit"), [(np.float32, 1e17), (np.float64, 1e140)])
@pytest.mark.parametrize("make", [np.asarray, csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize("sign", [1, -1])
def test_numbers_whose_squares_overflow_are_refused_with_their_size(dtype, limit, make, sign):
    X = cloud(dtype=dtype)
    X[3, 2] = sign * limit * 0.99
    assert read(make(X)).n == 60
    X[3, 2] = sign * limit * 1.01
    with pytest.raises(
        DataError, match=r"has size 1\.01e\+\d+; .*float.* need it between .* and 1e\+\d+\. .*[Ss]cale X"
    ):
        read(make(X))


@pytest.mark.parametrize(("dtype", "size"), [(np.float32, 1e-16), (np.float64, 1e-141)])
def test_data_whose_squares_vanish_are_refused_with_their_size(dtype, size):
    X = cloud(dtype=dtype)
    with pytest.raises(DataError, match=r"has size .*e-\d+; .* need it between 1e-\d+ and .*[Ss]cale X"):
        read(X * dtype(size) / np.abs(X).max())
    assert read(np.zeros_like(X)).n == 60


# Rows so small that they would be refused as data, and zeros of both signs.
TINY = {np.float32: (1e-16, 1e-30, 1e-40), np.float64: (1e-141, 1e-200, 1e-310)}


def rows_of_any_size(dtype):
    """Some usual rows, and among them some tiny ones."""
    X = cloud(9, seed=1, dtype=dtype)
    for row, size in enumerate((*TINY[dtype], 0.0, -0.0)):
        X[2 * row - 1] = 0
        X[2 * row - 1, 0] = size
    return X


def one_by_one(model, X):
    return np.concatenate([place(model, X[i : i + 1]) for i in range(X.shape[0])])


@pytest.mark.parametrize("dtype", TINY, ids=["float32", "float64"])
def test_a_tiny_row_is_placed_by_itself_as_it_is_among_others(estimator, dtype):
    model, X = model_of(estimator).fit(cloud(dtype=dtype)), rows_of_any_size(dtype)
    together = place(model, X)
    assert np.isfinite(together).all()
    assert same_bits(together, one_by_one(model, X))


@pytest.mark.parametrize("dtype", TINY, ids=["float32", "float64"])
@pytest.mark.parametrize("cls", SPARSE_TAKERS, ids=name_of)
def test_a_tiny_sparse_row_is_placed_by_itself_too(cls, dtype):
    model, X = model_of(cls).fit(csr_array(cloud(dtype=dtype))), csr_array(rows_of_any_size(dtype))
    together = place(model, X)
    assert np.isfinite(together).all()
    assert same_bits(together, one_by_one(model, X))


@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "cosine", "correlation", "canberra"])
def test_a_tiny_query_has_the_neighbours_that_it_has_among_others(metric):
    X = rows_of_any_size(np.float32)
    index = build_index(cloud(dtype=np.float32), metric=metric)
    together = index.query(X, 5)
    for i in range(len(X)):
        alone = index.query(X[i : i + 1], 5)
        assert same_bits(alone.indices[0], together.indices[i])
        assert same_bits(alone.distances[0], together.distances[i])


# Numbers that float64 holds, and that would be infinite, or have infinite squares, in float32.
WIDE = (1.01e17, 1e20, 1e39, 1e130)


@pytest.mark.parametrize("size", WIDE)
@pytest.mark.parametrize("make", [np.asarray, csr_array], ids=["dense", "sparse"])
def test_new_rows_too_large_for_the_type_of_the_fit_are_refused_with_both(estimator, make, size):
    if make is csr_array and inputs.SPARSE_ROWS not in estimator.accepts:
        pytest.skip("takes no sparse rows")
    model = model_of(estimator).fit(make(cloud(dtype=np.float32)))
    new = cloud(3, seed=1)
    new[1, 2] = -size
    with pytest.raises(DataError, match=r"has size 1.*; .* points in float32 need it at most 1e\+17\. Use float64"):
        model.transform(make(new))
    new[1, 2] = 0.99e17
    with contextlib.suppress(DataError):  # of a diffusion map, whose affinities vanish long before
        assert np.isfinite(place(model, make(new))).all()


@pytest.mark.parametrize("size", WIDE)
@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "cosine", "canberra"])
def test_a_query_too_large_for_the_type_of_the_index_is_refused(metric, size):
    index = build_index(cloud(dtype=np.float32), metric=metric)
    with pytest.raises(DataError, match="points in float32 need it at most"):
        index.query(np.full((1, 5), size), 3)


def test_a_place_too_far_away_for_the_way_back_is_refused():
    model = UMAP(n_neighbors=6).fit(cloud())
    with pytest.raises(DataError, match="points in float32 need it at most"):
        model.inverse_transform(np.full((1, 2), 1e39))


def test_small_rows_are_as_good_as_any_in_a_model_of_float64(estimator):
    model = model_of(estimator).fit(cloud())
    assert np.isfinite(place(model, np.full((1, 5), 1e-40, np.float32))).all()
    with pytest.raises(DataError, match="points in float32 need it at most"):
        place(model, np.full((1, 5), 1e18, np.float32))


@pytest.mark.parametrize("store", [np.asarray, csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize(("value", "name"), [(np.nan, "NaN"), (-np.inf, "infinity")])
def test_what_is_not_finite_is_named_with_its_place_and_a_remedy(value, name, store):
    X = cloud(30, 4)
    X[7, 2] = X[20, 0] = value
    with pytest.raises(DataError, match=f"contains {name}: 2 of its entries.*first in row 7, column 2.*Leave out"):
        PCA().fit(store(X))
