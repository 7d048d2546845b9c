"""Principal components of data that vary in few directions, in none, or by very different amounts."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy.sparse import csr_array

from conftest import cloud
from lowfold import PCA
from lowfold.errors import ConvergenceWarning

SOLVERS = ("covariance", "lanczos", "randomized", "power")


def _equal_columns():
    return np.repeat((np.arange(300) % 2)[:, None], 30, axis=1).astype(float)


def _two_distinct_rows():
    return np.repeat(cloud(2, 41), 20, axis=0)


def _rank_three():
    rng = np.random.default_rng(3)
    return (rng.integers(-3, 4, (100, 3)) @ rng.integers(-3, 4, (3, 30))).astype(float)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("make", [_equal_columns, _two_distinct_rows, _rank_three])
@pytest.mark.parametrize("solver", SOLVERS)
def test_more_components_than_directions_are_orthonormal_and_without_variance(solver, make, dtype):
    X = make().astype(dtype)
    exact = X.astype(float) - X.astype(float).mean(axis=0)
    variances = np.linalg.svd(exact, compute_uv=False) ** 2 / (len(X) - 1)
    for m in (1, 2, 4, 20, 30):
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # what has no variance needs no convergence
            model = PCA(n_components=m, solver=solver).fit(X)
        np.testing.assert_allclose(model.components_ @ model.components_.T, np.eye(m), atol=1e-12)
        rounding = 1e-12 if dtype == np.float64 else 1e-5
        np.testing.assert_allclose(model.explained_variance_, variances[:m], atol=rounding * variances[0])
        assert model.explained_variance_ratio_.sum() <= 1 + rounding


@pytest.mark.parametrize("value", [3.3, 0.1, 1e6 + 0.1])
@pytest.mark.parametrize("solver", SOLVERS)
def test_data_that_never_vary_have_no_variance_and_are_not_whitened(solver, value):
    model = PCA(n_components=2, solver=solver, whiten=True).fit(np.full((3000, 5), value))
    assert not model.explained_variance_.any()
    assert not model.embedding_.any()
    assert (model.mean_ == value).all()


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("shape", [(300, 25), (25, 300)])
def test_sparse_data_that_never_vary_have_no_variance_either(solver, shape):
    model = PCA(n_components=4, solver=solver).fit(csr_array(np.full(shape, 0.1)))
    assert not model.explained_variance_.any()
    assert model.report_.findings["converged"]


@pytest.mark.parametrize("storage", [np.asarray, csr_array])
@pytest.mark.parametrize(("dtype", "offset"), [(np.float32, 1e6), (np.float32, 1e7), (np.float64, 1e14)])
@pytest.mark.parametrize("solver", SOLVERS)
def test_what_varies_by_more_than_its_rounding_is_whitened(solver, dtype, offset, storage):
    X = (offset + cloud(500, 10)).astype(dtype)
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message="whiten=True")
        model = PCA(n_components=10, solver=solver, whiten=True).fit(storage(X))
    assert model.report_.findings["not whitened"] == 0
    # The mean is itself off by up to half a spacing, 1 / 128 in float64, and so are coordinates of sparse rows.
    np.testing.assert_allclose(model.embedding_.astype(float).var(axis=0, ddof=1), 1, rtol=2e-2)


@pytest.mark.parametrize("storage", [np.asarray, csr_array])
@pytest.mark.parametrize(("dtype", "offset"), [(np.float32, 0), (np.float32, 1e6), (np.float64, 0), (np.float64, 1e6)])
@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("shape", [(400, 30), (40, 200)])
def test_what_rounding_makes_of_nothing_is_not_whitened(solver, dtype, offset, storage, shape):
    n, D = shape
    X = (offset + cloud(n, 3) @ cloud(3, D, seed=1)).astype(dtype)  # its rounding is all that varies in more directions
    with pytest.warns(UserWarning, match=r"in 3 of 6 directions, the first of them number 3 .* Lower"):
        model = PCA(n_components=6, solver=solver, whiten=True).fit(storage(X))
    assert model.report_.findings["not whitened"] == 3
    np.testing.assert_allclose(model.embedding_[:, :3].astype(float).var(axis=0, ddof=1), 1, rtol=1e-3)
    assert np.abs(model.embedding_[:, 3:]).max() < 1


def test_a_column_with_a_large_mean_does_not_keep_others_from_being_whitened():
    X = cloud(400, 3) * [1, 1, 1e-3]
    X[:, 0] += 1e6
    model = PCA(n_components=3, whiten=True).fit(X.astype(np.float32))
    np.testing.assert_allclose(model.embedding_.astype(float).var(axis=0, ddof=1), 1, rtol=1e-2)


@pytest.mark.parametrize("solver", SOLVERS)
def test_small_variances_in_float32_are_right_in_every_solver(solver):
    X = (cloud(3000, 10) * np.geomspace(1, 1e-6, 10)).astype(np.float32)
    exact = X.astype(float) - X.astype(float).mean(axis=0)
    variances = np.linalg.svd(exact, compute_uv=False) ** 2 / (len(X) - 1)
    model = PCA(n_components=10, solver=solver).fit(X)
    np.testing.assert_allclose(model.explained_variance_, variances, rtol=1e-5)


@pytest.mark.parametrize("solver", SOLVERS)
def test_the_gap_behind_all_columns_that_vary_is_the_last_variance(solver):
    X = np.insert(cloud(400, 3) * [3.0, 2.0, 1.0], [1, 2], 5.0, axis=1)
    model = PCA(n_components=3, solver=solver).fit(X)
    scatter = model.explained_variance_[-1] * (len(X) - 1)
    np.testing.assert_allclose(model.report_.findings["spectral gap"], scatter, rtol=1e-6)


@pytest.mark.parametrize("solver", SOLVERS)
def test_there_is_no_gap_behind_all_components(solver):
    assert "spectral gap" not in PCA(n_components=3, solver=solver).fit(cloud(400, 3)).report_.findings


@pytest.mark.parametrize("whiten", [False, True])
def test_training_rows_have_their_own_coordinates_in_every_type_and_storage(whiten):
    X = (np.random.default_rng(0).standard_normal((200, 6)) * np.arange(1, 7) + 5).astype(np.float32)
    model = PCA(n_components=3, whiten=whiten).fit(X)
    wide = model.transform(X.astype(np.float64))
    assert wide.dtype == np.float64
    np.testing.assert_array_equal(wide, model.embedding_)
    sparse = PCA(n_components=3, whiten=whiten).fit(csr_array(X))
    np.testing.assert_array_equal(sparse.transform(X), sparse.embedding_)


def test_the_report_says_that_components_were_not_told_apart_where_the_fit_warns_of_it():
    rng = np.random.default_rng(0)
    Q = np.linalg.qr(rng.normal(size=(300, 60)))[0]
    Q = np.linalg.qr(Q - Q.mean(axis=0))[0]
    X = Q * np.sqrt(np.r_[1, 0.5, 0.4999, 0.3, np.linspace(0.2, 0.01, 56)])
    with pytest.warns(ConvergenceWarning, match="too close together"):
        model = PCA(n_components=3, solver="power").fit(X)
    assert not model.report_.findings["converged"]
