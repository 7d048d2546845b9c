"""Eigenvalues with many copies, eigenvalues of very different sizes, and matrices of any size."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array, eye_array, kron

from conftest import cloud
from lowfold import PCA, ClassicalMDS
from lowfold.spectral import eigen
from lowfold.spectral.problem import BOTTOM, TOP, DenseMatrix, EigenProblem


@pytest.mark.parametrize("m", [10, 20, 39])
@pytest.mark.parametrize("solver", ["lanczos", "covariance"])
def test_classes_of_equal_size_have_components_of_equal_variance(solver, m):
    X = csr_array((np.ones(1400), (np.arange(1400), np.arange(1400) % 40 * 30)), shape=(1400, 1200))
    model = PCA(n_components=m, solver=solver).fit(X)
    np.testing.assert_allclose(model.explained_variance_ * 1399, 35)
    assert model.report_.findings["converged"]


@pytest.mark.parametrize("m", [18, 30, 64])
def test_equal_blocks_have_each_eigenvalue_as_often_as_there_are_blocks(m):
    X = csr_array(kron(eye_array(60), cloud(20, 18)))
    dense = X.toarray() - X.toarray().mean(axis=0)
    model = PCA(n_components=m).fit(X)
    np.testing.assert_allclose(model.singular_values_, np.linalg.svd(dense, compute_uv=False)[:m])


@pytest.mark.parametrize("end", [TOP, BOTTOM])
@pytest.mark.parametrize("copies", [16, 30])
def test_copies_are_found_beside_a_trivial_vector(copies, end):
    n, m = 800, 20
    Q = np.linalg.qr(cloud(n, n))[0]
    values = np.r_[9.0, np.full(copies, 3.0), np.linspace(2, 1, n - 1 - copies)] * (1 if end == TOP else -1)
    found = eigen.solve(EigenProblem(DenseMatrix((Q * values) @ Q.T, 2), end=end, trivial=Q[:, :1]), m)
    np.testing.assert_allclose(found.values, values[1 : m + 1])


@pytest.mark.parametrize("solver", ["covariance", "lanczos"])
@pytest.mark.parametrize("columns", [300, 700])
def test_components_beside_a_time_stamp_are_those_of_the_other_columns(columns, solver):
    X = cloud(1500, columns)
    X[:, 1:5] *= [9, 7, 5, 4]
    X[:, 0] = np.random.default_rng(0).uniform(1.6e9, 1.7e9, 1500)
    _, s, Vt = np.linalg.svd(X - X.mean(axis=0), full_matrices=False)
    model = PCA(n_components=4, solver=solver).fit(X)
    np.testing.assert_allclose(model.singular_values_, s[:4], rtol=1e-6)
    np.testing.assert_allclose(np.abs((model.components_ * Vt[:4]).sum(axis=1)), 1, atol=1e-6)
    assert model.report_.findings["converged"]


def test_long_axes_within_long_axes_are_taken_off_one_after_another():
    X = np.linalg.qr(cloud(900, 6))[0] * np.geomspace(1e10, 1, 6) @ np.linalg.qr(cloud(6, 6))[0]
    model = PCA(n_components=6).fit(X)
    expected = np.linalg.svd(X - X.mean(axis=0), compute_uv=False)
    np.testing.assert_allclose(model.singular_values_, expected, rtol=1e-4)  # rounding: 1e-6 of the last
    np.testing.assert_allclose(model.components_ @ model.components_.T, np.eye(6), atol=1e-12)


@pytest.mark.parametrize("n", [300, 1510])
def test_columns_of_ninety_sizes_have_orthonormal_components(n):
    X = cloud(n + 100, n) * 10.0 ** -np.linspace(0, 90, n)
    components = PCA(n_components=n).fit(X).components_
    np.testing.assert_allclose(components @ components.T, np.eye(n), atol=1e-12)


@pytest.mark.parametrize("size", [1e-130, 1e-80, 1e78, 1e100])
@pytest.mark.parametrize(("n", "m"), [(700, 3), (1600, 200)])  # by Lanczos, and in steps
def test_distances_of_any_size_have_the_same_map(n, m, size):
    D = np.abs(cloud(n, 1) - cloud(n, 1).T) + np.sqrt(np.abs(cloud(n, 1, seed=1) - cloud(n, 1, seed=1).T))
    one, other = (ClassicalMDS(n_components=m, metric="precomputed").fit(D * factor) for factor in (1.0, size))
    np.testing.assert_allclose(other.eigenvalues_ / size / size, one.eigenvalues_, rtol=1e-9)
    assert other.report_.findings["converged"]
