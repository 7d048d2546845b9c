"""Long calls of BLAS and LAPACK in steps give what one call gives."""

from __future__ import annotations

import numpy as np
import pytest

from conftest import cloud
from lowfold.backend import steps, stopping


@pytest.fixture
def short_steps(monkeypatch):
    monkeypatch.setattr(steps, "OPERATIONS", 1000)
    monkeypatch.setattr(steps, "PANEL", 3)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shapes", [(30, 20, 10), (1, 5, 40), (200, 30, 1)])
def test_a_product_in_steps_is_the_product(shapes, dtype, short_steps):
    n, inner, m = shapes
    A, B = cloud(n, inner).astype(dtype), cloud(inner, m, seed=1).astype(dtype)
    found = steps.product(A, B)
    assert found.dtype == dtype
    np.testing.assert_allclose(found, A @ B, atol=1e-4 if dtype == np.float32 else 1e-12)


@pytest.mark.parametrize("make", [lambda A: A, lambda A: A[:, :1] * A[0], lambda A: 0 * A, lambda A: A * 1e-170])
@pytest.mark.parametrize("shape", [(40, 17), (17, 40), (12, 12), (40, 1), (1, 40)])
def test_columns_become_orthonormal_in_steps_even_where_they_are_not_independent(shape, make, short_steps):
    A = make(cloud(*shape))
    Q, R = steps.orthonormal(A)
    assert Q.shape == (shape[0], min(shape))
    np.testing.assert_allclose(Q.T @ Q, np.eye(min(shape)), atol=1e-13)
    np.testing.assert_allclose(Q @ R, A, atol=1e-13 * np.abs(A).max())
    np.testing.assert_array_equal(R, np.triu(R))


def test_a_system_of_equations_is_solved_in_steps(short_steps):
    K, B = cloud(30, 30), cloud(30, 25, seed=1)
    K = K @ K.T + np.eye(30)
    np.testing.assert_allclose(K @ steps.solve_positive(K, B), B, atol=1e-12)


@pytest.mark.parametrize("work", [steps.product, lambda A, B: steps.orthonormal(A), steps.solve_positive])
def test_a_stop_is_heard_between_steps(work, short_steps):
    stop = stopping.Stop()
    stop.ask()
    with stopping.stoppable(stop), pytest.raises(stopping.Stopped):
        work(np.eye(30) + 0.01, cloud(30, 25))


@pytest.mark.parametrize("n", [1, 5, 64, 200])
def test_a_matrix_is_positive_where_its_least_eigenvalue_is(n, monkeypatch):
    monkeypatch.setattr(steps, "ROWS", 50)
    A = cloud(n, n)
    A = (A + A.T) / 2
    least = np.linalg.eigvalsh(A)[0]
    for above in (-1e-9, 1e-9):
        assert steps.is_positive_inplace(A + (above - least) * np.eye(n)) == (above > 0)


def test_a_stop_is_heard_while_a_matrix_is_found_positive():
    stop = stopping.Stop()
    stop.ask()
    with stopping.stoppable(stop), pytest.raises(stopping.Stopped):
        steps.is_positive_inplace(np.eye(steps.PANEL + 1))
