"""Sparse systems are solved as Gauss would, on every instruction set, with few new entries and in the same bits."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import block_diag, csr_array, diags_array, eye_array, kron, random_array

from conftest import LEVELS, entries, same_bits
from lowfold.backend import reference
from lowfold.backend.native import load

ROUNDING = 1e-12  # of well-conditioned systems, relative to the largest entry of the solution


def chain(n):
    return diags_array([np.full(n - 1, -1.0), np.full(n - 1, -0.7)], offsets=[1, -1], shape=(n, n))


def sheet(n):
    """A square grid of about n points, each with its four neighbours."""
    side = max(int(np.sqrt(n)), 1)
    line = chain(side) if side > 1 else csr_array((1, 1))
    return kron(line, eye_array(side)) + kron(eye_array(side), line)


def arrow(n):
    """One point that all the others touch, and they nothing else."""
    A = np.zeros((n, n))
    A[0, 1:], A[1:, 0] = 0.3, -0.4
    return A


def scattered(n):
    return random_array(
        (n, n), density=min(1.0, 6 / n), rng=np.random.default_rng(n), data_sampler=lambda size: np.full(size, -0.5)
    )


PATTERNS = {
    "diagonal": lambda n: csr_array((n, n)),
    "chain": chain,
    "sheet": sheet,
    "arrow": arrow,
    "scattered": scattered,
    "full": lambda n: np.random.default_rng(n).uniform(-1, 1, (n, n)),
    "apart": lambda n: block_diag([sheet(n // 2 + 1), chain(n // 2 + 1), csr_array((1, 1))]),
}


def system(pattern, n, symmetric):
    """(A, B): a diagonal stronger than the rest of each row and column, and eleven right-hand sides."""
    A = csr_array(PATTERNS[pattern](n))
    if symmetric:
        A = csr_array(A + A.T)
    strong = np.maximum(abs(A).sum(axis=0), abs(A).sum(axis=1)) + 1
    A = csr_array(A + diags_array(strong))
    A.sort_indices()
    return A, np.random.default_rng(1).standard_normal((A.shape[0], 11))


def solution(kernels, A, B, symmetric, transposed=False, threads=2):
    found = kernels.Factorisation(entries(A), symmetric)
    found.factorise(entries(A), threads)
    return found.solve(B, transposed, threads)


@pytest.mark.parametrize("symmetric", [True, False])
@pytest.mark.parametrize("n", [1, 2, 5, 63, 64, 65, 200, 700])
@pytest.mark.parametrize("pattern", PATTERNS)
def test_solutions_are_those_of_the_reference(kernels, pattern, n, symmetric):
    A, B = system(pattern, n, symmetric)
    for transposed in (False, True):
        wanted = reference.solve(A.toarray(), B, transposed)
        found = solution(kernels, A, B, symmetric, transposed)
        assert np.allclose(found, wanted, rtol=0, atol=ROUNDING * np.abs(wanted).max())


@pytest.mark.parametrize("columns", [1, 7, 8, 9])
def test_any_number_of_right_hand_sides_gives_the_same_bits_for_each(kernels, columns):
    A, B = system("sheet", 900, False)
    alone = solution(kernels, A, B[:, :1].copy(), False)
    together = solution(kernels, A, np.ascontiguousarray(B[:, :columns]), False)
    assert same_bits(np.ascontiguousarray(together[:, :1]), alone)


@pytest.mark.parametrize("symmetric", [True, False])
@pytest.mark.parametrize("pattern", ["sheet", "scattered", "full", "apart"])
def test_the_bits_do_not_depend_on_the_number_of_threads(kernels, pattern, symmetric):
    A, B = system(pattern, 1500, symmetric)
    alone = solution(kernels, A, B, symmetric, threads=1)
    for threads in (2, 3, 8):
        assert same_bits(solution(kernels, A, B, symmetric, threads=threads), alone)


@given(st.integers(1, 40), st.integers(0, 10**6), st.booleans(), st.sampled_from(LEVELS))
def test_any_pattern_is_solved(n, seed, symmetric, level):
    rng = np.random.default_rng(seed)
    A = np.where(rng.random((n, n)) < rng.random(), rng.uniform(-1, 1, (n, n)), 0.0)
    A = A + A.T if symmetric else A
    A += np.diag(np.abs(A).sum(axis=0) + np.abs(A).sum(axis=1) + 1)
    B = rng.standard_normal((n, 3))
    wanted = reference.solve(A, B, False)
    found = solution(load(level), csr_array(A), B, symmetric)
    assert np.allclose(found, wanted, rtol=0, atol=ROUNDING * np.abs(wanted).max())


def test_of_a_symmetric_matrix_one_half_is_enough(kernels):
    A, B = system("sheet", 400, True)
    half = kernels.Factorisation(entries(A), True)
    half.factorise(entries(A), 1)
    both = kernels.Factorisation(entries(A), False)
    assert 2 * half.entries == both.entries
    both.factorise(entries(A), 1)
    assert np.allclose(half.solve(B, False, 1), both.solve(B, False, 1), rtol=1e-12)


@pytest.mark.parametrize(("pattern", "most"), [("chain", 6), ("arrow", 6), ("diagonal", 4)])
def test_trees_hardly_fill_in(kernels, pattern, most):
    A, _ = system(pattern, 3000, True)
    assert kernels.Factorisation(entries(A), True).entries <= most * A.shape[0]


def test_a_sheet_fills_in_far_less_than_its_band(kernels):
    A, _ = system("sheet", 10000, True)
    found = kernels.Factorisation(entries(A), True)
    assert found.entries < 0.5 * 10000 * 100
    assert found.entries < found.peak < 2 * found.entries


@pytest.mark.parametrize("value", [0.0, np.inf, np.nan])
def test_a_pivot_that_is_no_pivot_is_refused(kernels, value):
    A = csr_array(np.diag([2.0, 3.0, 4.0]))
    found = kernels.Factorisation(entries(A), True)
    A.data[1] = value
    with pytest.raises(ValueError, match="singular"):
        found.factorise(entries(A), 1)


def test_right_hand_sides_of_another_length_are_refused(kernels):
    A, B = system("chain", 10, True)
    found = kernels.Factorisation(entries(A), True)
    with pytest.raises(ValueError, match="row for each row"):
        found.solve(B[:9], False, 1)
    with pytest.raises(ValueError, match="factorise"):
        found.solve(B, False, 1)
    for other in (system("sheet", 9, True)[0], system("arrow", 10, True)[0]):
        with pytest.raises(ValueError, match="pattern"):
            found.factorise(entries(other), 1)


@pytest.mark.parametrize("level", LEVELS)
def test_a_pattern_that_is_symmetric_by_name_alone_is_refused(level):
    A = csr_array(np.array([[9.0, 1, 0, 0], [0, 9, 1, 1], [0, 1, 9, 1], [0, 1, 1, 9]]))
    with pytest.raises(ValueError, match="not among the neighbours of its neighbour"):
        load(level).Factorisation(entries(A), True)
