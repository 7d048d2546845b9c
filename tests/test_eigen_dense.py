"""The eigenvectors of dense matrices between the small ones, solved all at once, and the large ones."""

from __future__ import annotations

import signal

import numpy as np
import pytest

from lowfold.backend import eigenpairs, stopping, tridiagonal
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


def _tridiagonals(n):
    rng = np.random.default_rng(n)
    hills = np.tile(np.abs(np.arange(21) - 10.0), n // 21 + 1)[:n]  # Wilkinson's, with pairs of equal eigenvalues
    seams = np.where(np.arange(1, n) % 21 == 0, 1.0, 0.0)
    size = 10.0 ** rng.uniform(-15, 0, (2, n))
    return {
        "random": (1.4 * rng.standard_normal(n), np.sqrt(rng.chisquare(np.arange(n - 1, 0, -1)))),
        "second differences": (np.full(n, 2.0), np.full(n - 1, -1.0)),
        "one hill": (np.abs(np.arange(n) - (n - 1) / 2), np.ones(n - 1)),
        "hills loosely joined": (hills, np.where(seams, 1e-8, 1.0)),
        "hills hardly joined": (hills, np.where(seams, 1e-14, 1.0)),
        "graded": (10.0 ** -np.linspace(0, 16, n), 0.3 * 10.0 ** -np.linspace(0, 16, n)[1:]),
        "whole numbers": (np.zeros(n), np.sqrt(np.arange(1, n) * np.arange(n - 1, 0, -1.0))),
        "diagonal": (rng.standard_normal(n), np.zeros(n - 1)),
        "nothing": (np.zeros(n), np.zeros(n - 1)),
        "one entry": (np.zeros(n), np.r_[1, np.zeros(n)][: n - 1]),
        "low rank": (
            np.r_[5, 3, 1e-15 * rng.standard_normal(n)][:n],
            np.r_[1, 1e-15 * rng.standard_normal(n)][: n - 1],
        ),
        "nearly equal": (np.ones(n), 1e-9 * rng.standard_normal(n - 1)),
        "of all sizes": (size[0], rng.choice([-1, 1], n - 1) * size[1, 1:]),  # which fails by LAPACK's stemr
        "tiny": (1e-300 * rng.standard_normal(n), 1e-300 * rng.standard_normal(n - 1)),
        "huge": (1e300 * rng.standard_normal(n), 1e300 * rng.standard_normal(n - 1)),
    }


@pytest.mark.parametrize("leaf", [1, 10])
@pytest.mark.parametrize("n", [1, 2, 3, 21, 150, 211])
@pytest.mark.parametrize("kind", list(_tridiagonals(2)))
def test_a_tridiagonal_matrix_is_that_of_its_eigenvectors(kind, n, leaf, monkeypatch):
    monkeypatch.setattr(tridiagonal, "LEAF", leaf)
    monkeypatch.setattr(tridiagonal, "AT_ONCE", 1000)
    diagonal, beside = _tridiagonals(n)[kind]
    size = max(np.abs(diagonal).max(), np.abs(beside).max(initial=0)) or 1.0
    values, vectors = tridiagonal.tridiagonal_eigenpairs(diagonal, beside, 0, n - 1)
    T = np.diag(diagonal / size) + np.diag(beside / size, 1) + np.diag(beside / size, -1)
    assert (np.diff(values) >= 0).all()
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(n), atol=2e-14)
    np.testing.assert_allclose(T @ vectors, vectors * (values / size), atol=2e-14)
    some, part = tridiagonal.tridiagonal_eigenpairs(diagonal, beside, n // 3, n // 2)
    np.testing.assert_array_equal(some, values[n // 3 : n // 2 + 1])
    np.testing.assert_allclose(part, vectors[:, n // 3 : n // 2 + 1], atol=2e-14)


@pytest.mark.parametrize("kind", ["random", "hills loosely joined", "whole numbers"])
def test_halves_take_a_few_steps_to_each_root(kind, monkeypatch):
    steps = []
    split = tridiagonal._split
    monkeypatch.setattr(tridiagonal, "_split", lambda terms, j: (steps.append(len(j)), split(terms, j))[1])
    monkeypatch.setattr(tridiagonal, "LEAF", 100)
    tridiagonal.tridiagonal_eigenpairs(*_tridiagonals(200)[kind], 0, 199)
    assert sum(steps) / 2 < 8 * 200  # each step adds up the terms and their slopes


def test_a_stop_is_heard_while_a_large_matrix_is_reduced():
    stop = stopping.Stop()
    stop.ask()
    with stopping.stoppable(stop), pytest.raises(stopping.Stopped):
        eigenpairs.in_steps(_matrix("random", 100), 0, 10)


@pytest.mark.parametrize("beyond", [0, 3, 14, 200])
def test_the_whole_of_the_last_eigenspace_is_found_in_one_go(beyond, monkeypatch):
    n, m = 300, 5
    Q = np.linalg.qr(np.random.default_rng(0).standard_normal((n, n)))[0]
    values = np.r_[9, 8, 7, np.full(2 + beyond, 3.0), np.linspace(2, 1, n - 5 - beyond)]
    calls = []
    by_lapack = eigen._by_lapack
    monkeypatch.setattr(eigen, "_by_lapack", lambda problem, count: (calls.append(count), by_lapack(problem, count))[1])
    one, other = (
        eigen.solve(EigenProblem(DenseMatrix((R * values) @ R.T, 2)), m)
        for R in (Q, np.hstack([Q[:, :3], Q[:, 3 : 5 + beyond][:, ::-1], Q[:, 5 + beyond :]]))  # in another order
    )
    assert calls == [n, n]
    np.testing.assert_allclose(one.values, values[:m])
    if beyond <= 14:  # few enough to be found whole: the same vectors whatever rounding does
        np.testing.assert_allclose(one.vectors, other.vectors, atol=1e-9)
    assert one.gap == pytest.approx(1.0)  # to the first value that differs
