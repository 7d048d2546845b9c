"""The eigenvectors of dense matrices between the small ones, solved all at once, and the large ones."""

from __future__ import annotations

import signal

import numpy as np
import pytest

from lowfold.backend import eigenpairs, stopping
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


def _matrix(kind, n):
    G = np.random.default_rng(n).standard_normal((n, n))
    scaled = G * 10.0 ** -np.linspace(0, 8, n)
    return {
        "random": G + G.T,
        "low rank": G[:, :2] @ G[:, :2].T,
        "diagonal": np.diag(G[0]),
        "graded": scaled.T @ scaled,
        "nothing": np.zeros((n, n)),
        "one value": np.eye(n),
        "tiny beside 1": np.diag(np.ones(n)) + 1e-200 * (G + G.T),
    }[kind]


@pytest.mark.parametrize("n", [2, 3, 32, 33, 34, 65, 150])  # panels have 32 columns
@pytest.mark.parametrize("kind", ["random", "low rank", "diagonal", "graded", "nothing", "one value", "tiny beside 1"])
def test_reflections_and_a_tridiagonal_matrix_give_the_eigenvectors(kind, n):
    A = _matrix(kind, n)
    expected = np.linalg.eigvalsh(A)
    rounding = 1e-12 * max(1e-300, np.abs(expected).max())
    for first in (0, n // 2):
        values, vectors = eigenpairs.in_steps(np.triu(A), first, n - 1)
        np.testing.assert_allclose(values, expected[first:], atol=rounding)
        np.testing.assert_allclose(vectors.T @ vectors, np.eye(n - first), atol=1e-12)
        np.testing.assert_allclose(A @ vectors, vectors * values, atol=rounding)


@pytest.mark.parametrize("end", [TOP, BOTTOM])
def test_a_matrix_too_large_for_lapack_has_the_same_eigenvectors(end, monkeypatch):
    A = _matrix("random", 300)
    by_lapack = eigen.solve(EigenProblem(DenseMatrix(A, 2), end=end), 40)
    monkeypatch.setattr(eigenpairs, "LAPACK_SIZE", 30)
    found = eigen.solve(EigenProblem(DenseMatrix(A, 2), end=end), 40)
    np.testing.assert_allclose(found.values, by_lapack.values, rtol=1e-12)
    np.testing.assert_allclose(found.vectors, by_lapack.vectors, atol=1e-9)  # rounding over the gaps


def test_ctrl_c_is_heard_while_a_large_matrix_is_reduced():
    calls = []

    def interrupted(*given):
        calls.append(given)
        if len(calls) == 20:
            signal.raise_signal(signal.SIGINT)
        return reflection(*given)

    reflection = eigenpairs._reflection
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(eigenpairs, "_reflection", interrupted)
        with pytest.raises(KeyboardInterrupt):
            eigenpairs.in_steps(_matrix("random", 400), 0, 10)
    assert len(calls) == 20


@pytest.mark.parametrize("kind", ["random", "low rank", "graded", "one value", "diagonal"])
@pytest.mark.parametrize("first", [0, 70])
def test_pieces_of_a_tridiagonal_matrix_give_the_eigenvectors_of_the_whole(kind, first, monkeypatch):
    A, n = _matrix(kind, 200), 200
    whole, _ = eigenpairs.in_steps(A, first, n - 1)
    monkeypatch.setattr(eigenpairs, "AT_ONCE", 0)
    monkeypatch.setattr(eigenpairs, "PIECE", 20 * n)
    values, vectors = eigenpairs.in_steps(A, first, n - 1)
    size = np.abs(whole).max()
    np.testing.assert_allclose(values, whole, atol=1e-13 * size)
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(n - first), atol=1e-11)
    np.testing.assert_allclose(A @ vectors, vectors * values, atol=1e-12 * size)


def test_a_stop_is_heard_while_a_large_matrix_is_reduced():
    stop = stopping.Stop()
    stop.ask()
    with stopping.stoppable(stop), pytest.raises(stopping.Stopped):
        eigenpairs.in_steps(_matrix("random", 100), 0, 10)
