"""The eigenvectors of dense matrices between the small ones, solved all at once, and the large ones."""

from __future__ import annotations

import numpy as np
import pytest

from lowfold.spectral import eigen
from lowfold.spectral.problem import BOTTOM, TOP, DenseMatrix, EigenProblem
from shapes import subspace_sine


@pytest.mark.parametrize("end", [TOP, BOTTOM])
@pytest.mark.parametrize("kind", ["falling", "alike", "many equal"])
def test_many_of_a_dense_matrix_are_those_of_all_at_once(kind, end):
    n, m = 700, 20
    Q = np.linalg.qr(np.random.default_rng(0).standard_normal((n, n)))[0]
    values = {"falling": 0.97 ** np.arange(n), "alike": 1 + np.linspace(0.1, 0, n)}.get(kind, np.ones(n))
    if kind == "many equal":  # the last one wanted, and more than are looked at behind it
        values[:10], values[-10:] = np.linspace(3, 2, 10), np.linspace(-2, -3, 10)
    A, trivial = (Q * values) @ Q.T, Q[:, [0]] if end == TOP else Q[:, [-1]]
    found = eigen.solve(EigenProblem(DenseMatrix(A, 2), end=end, trivial=trivial), m)
    order = np.argsort(values if end == BOTTOM else -values, kind="stable")[1 : m + 2]  # the first is the trivial one
    expected, vectors = values[order], Q[:, order]
    assert found.solver == ("lanczos" if kind == "many equal" else "dense")
    np.testing.assert_allclose(found.values, expected[:m], atol=1e-12)
    assert np.linalg.norm(A @ found.vectors - found.vectors * found.values) < 1e-10
    if kind != "many equal":
        assert found.gap == pytest.approx(abs(expected[m] - expected[m - 1]), rel=1e-6)
        assert subspace_sine(found.vectors, vectors[:, :m]) < 1e-6


@pytest.mark.parametrize("n", [700, 1300])
@pytest.mark.parametrize("rank", [0, 1, 10])
def test_a_matrix_of_low_rank_has_as_many_vectors_as_are_wanted(n, rank):
    V = np.linalg.qr(np.random.default_rng(0).standard_normal((n, 10)))[0][:, :rank]
    values = np.linspace(2, 1, rank)
    found = eigen.solve(EigenProblem(DenseMatrix((V * values) @ V.T, 2)), 30)
    np.testing.assert_allclose(found.values, np.r_[values, np.zeros(30 - rank)], atol=1e-12)
    np.testing.assert_allclose(found.vectors.T @ found.vectors, np.eye(30), atol=1e-10)
