"""Matrices times a few vectors, and rows of length 1: each kernel against its definition, on every instruction set."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array

from conftest import entries, same_bits
from lowfold.backend import reference

DTYPES = (np.float32, np.float64)

# Rounding of sums of some hundred terms, relative to the sum of their sizes.
ROUNDING = {np.float32: 2e-5, np.float64: 1e-12}


@pytest.mark.parametrize("shape", [(1, 1, 1), (7, 3, 2), (9, 1300, 5), (130, 70, 33)])
@pytest.mark.parametrize("dtype", DTYPES)
def test_a_dense_matrix_times_a_few_vectors_equals_the_reference(kernels, dtype, shape):
    rng = np.random.default_rng(0)
    rows, inner, columns = shape
    A = (rng.standard_normal((rows, inner)) * np.logspace(-3, 3, inner)).astype(dtype)
    V = rng.standard_normal((inner, columns)).astype(dtype)
    found = kernels.times(A, V, 2)
    assert found.dtype == np.float64
    size = np.abs(A).astype(np.float64) @ np.abs(V)
    assert (np.abs(found - reference.times(A, V)) <= ROUNDING[dtype] * size).all()


@pytest.mark.parametrize("columns", [1, 5, 8, 19])
@pytest.mark.parametrize("n", [1, 2, 7, 8, 9, 40, 333, 1100])
@pytest.mark.parametrize("dtype", DTYPES)
def test_a_symmetric_matrix_is_read_on_and_above_its_diagonal_alone(kernels, dtype, n, columns):
    rng = np.random.default_rng(n)
    A, V = rng.standard_normal((n, n)).astype(dtype), rng.standard_normal((n, columns)).astype(dtype)
    A[np.tril_indices(n, -1)] = np.nan
    found = kernels.symmetric_times(A, V, 2)
    above = np.triu(A)
    size = reference.symmetric_times(np.abs(above), np.abs(V))
    assert (np.abs(found - reference.symmetric_times(above, V)) <= ROUNDING[dtype] * size).all()
    assert all(same_bits(found, kernels.symmetric_times(A, V, threads)) for threads in (1, 3, 8))
    packed = np.concatenate([A[first : first + 64, first:].ravel() for first in range(0, n, 64)])
    assert same_bits(found, kernels.packed_times(packed, V, 2))
    assert np.array_equal(
        reference.packed_times(np.nan_to_num(packed), V), reference.symmetric_times(np.nan_to_num(A), V)
    )


def test_a_symmetric_product_refuses_what_is_not_square(kernels):
    with pytest.raises(ValueError, match="square"):
        kernels.symmetric_times(np.zeros((3, 4)), np.zeros((3, 1)), 1)
    with pytest.raises(ValueError, match="strips of a matrix"):
        kernels.packed_times(np.zeros(8), np.zeros((3, 1)), 1)


def test_arrays_that_have_to_be_copied_lose_no_digits(kernels):
    rng = np.random.default_rng(0)
    A, V = rng.random((30, 60))[:, ::2], rng.random((60, 4))[::2]
    assert np.allclose(kernels.times(A, V, 1), A @ V, rtol=1e-14)
    S = symmetric_matrix(40, np.float64)
    order = np.arange(40, dtype=np.int32)[::-1]
    assert np.array_equal(np.sort(kernels.permuted(entries(S), order, True, 1)[2]), np.sort(S.data))


def symmetric_matrix(n, dtype, seed=0):
    """A sparse symmetric matrix with eigenvalues in [-1, 1] and an empty row."""
    rng = np.random.default_rng(seed)
    A = np.where(rng.random((n, n)) < min(1, 6 / n), rng.standard_normal((n, n)), 0)
    A = A + A.T
    A[n // 2] = A[:, n // 2] = 0
    return csr_array((A / max(np.abs(A).sum(axis=1).max(), 1)).astype(dtype))


@pytest.mark.parametrize("columns", [2, 4, 8, 16])
@pytest.mark.parametrize("n", [1, 5, 600])
@pytest.mark.parametrize("dtype", DTYPES)
def test_a_sparse_matrix_times_a_few_vectors_is_scipys_product(kernels, dtype, n, columns):
    A = symmetric_matrix(n, dtype)
    V = np.random.default_rng(1).standard_normal((n, columns)).astype(dtype)
    found = kernels.sparse_times(entries(A), V, 2)
    assert found.dtype == dtype
    np.testing.assert_allclose(found, A @ V, rtol=0, atol=ROUNDING[dtype])


@pytest.mark.parametrize("n", [1, 5, 600, 3000])
@pytest.mark.parametrize("dtype", DTYPES)
def test_a_sparse_matrix_in_another_order_equals_the_reference(kernels, dtype, n):
    A = symmetric_matrix(n, dtype)
    order = np.random.default_rng(2).permutation(n).astype(np.int32)
    begin, columns, values = kernels.permuted(entries(A), order, True, 2)
    found = csr_array((values, columns, begin), shape=A.shape)
    assert found.has_canonical_format  # the columns of a row ascend
    np.testing.assert_array_equal(found.toarray(), reference.permuted(A, order))
    plain = kernels.permuted(entries(A), order, False, 2)
    np.testing.assert_array_equal(plain[2], A[order].data, "as they stood in A")
    unsorted = csr_array((plain[2], plain[1], plain[0]), shape=A.shape)
    np.testing.assert_array_equal(unsorted.toarray(), found.toarray())
    scale = np.random.default_rng(3).random(n).astype(dtype)
    scaled = kernels.scaled_values(entries(A), scale, 2)
    np.testing.assert_allclose(scaled, reference.scaled_values(A, scale), rtol=1e-6)
    for threads in (1, 3, 8):
        assert all(
            same_bits(a, b)
            for a, b in zip(kernels.permuted(entries(A), order, True, threads), (begin, columns, values), strict=True)
        )
        assert same_bits(scaled, kernels.scaled_values(entries(A), scale, threads))


@pytest.mark.parametrize("n", [1, 2, 30, 400])
def test_the_order_of_a_graph_is_cuthill_and_mckees(kernels, n):
    A = csr_array(symmetric_matrix(n, np.float64) + symmetric_matrix(n, np.float64, seed=1))
    order = kernels.banded_order(entries(A))
    np.testing.assert_array_equal(order, reference.banded_order(A))
    assert np.array_equal(np.sort(order), np.arange(n))


def test_a_banded_matrix_in_any_order_is_banded_again(kernels):
    n, wide = 500, 3
    chain = csr_array(sum(np.eye(n, k=k) for k in range(-wide, wide + 1)))
    shuffled = np.random.default_rng(0).permutation(n).astype(np.int32)
    begin, columns, values = kernels.permuted(entries(chain), shuffled, True, 1)
    order = kernels.banded_order((begin, columns, values))
    begin, columns, _ = kernels.permuted((begin, columns, values), order, True, 1)
    assert np.abs(np.repeat(np.arange(n), np.diff(begin)) - columns).max() <= 2 * wide


def test_orders_and_scales_of_the_wrong_length_are_refused(kernels):
    A = entries(symmetric_matrix(5, np.float64))
    with pytest.raises(ValueError, match="name each row"):
        kernels.permuted(A, np.arange(4, dtype=np.int32), True, 1)
    with pytest.raises(ValueError, match="number for each row"):
        kernels.scaled_values(A, np.ones(4), 1)


@pytest.mark.parametrize("degree", [1, 2, 3, 8, 25])
@pytest.mark.parametrize("columns", [2, 16])
@pytest.mark.parametrize("n", [1, 5, 600])
@pytest.mark.parametrize("dtype", DTYPES)
def test_the_polynomial_of_a_matrix_equals_the_reference(kernels, dtype, n, columns, degree):
    A = symmetric_matrix(n, dtype)
    V = np.random.default_rng(1).standard_normal((n, columns)).astype(dtype)
    ends = (-1.0, 0.5, 1.0)
    expected = reference.chebyshev(A.astype(np.float64), V.astype(np.float64), ends, degree)
    kernels.chebyshev_inplace(entries(A), V, ends, degree, 2)
    np.testing.assert_allclose(V, expected, rtol=0, atol=ROUNDING[dtype] * degree)


@pytest.mark.parametrize("degree", [1, 6, 30])
def test_the_polynomial_keeps_eigenvectors_at_the_top_and_is_small_below(kernels, degree):
    lam = np.append(np.linspace(-1, 0.5, 30), 1.0)
    V = np.ascontiguousarray(np.eye(31)[:, [30, 7]])
    kernels.chebyshev_inplace(entries(csr_array(np.diag(lam))), V, (-1.0, 0.5, 1.0), degree, 1)
    least = 1 / np.cosh(degree * np.arccosh(5 / 3))  # (1 - c) / e with c = -1/4, e = 3/4
    assert V[30, 0] == pytest.approx(1, abs=1e-10)
    assert np.abs(V[:, 1]).max() <= least + 1e-13  # rounding of numbers of size 1


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("centred", [False, True])
@pytest.mark.parametrize("columns", [1, 2, 16, 37])
def test_directions_agree_with_the_reference(kernels, dtype, centred, columns):
    X = np.random.default_rng(columns).standard_normal((700, columns)).astype(dtype)
    X[3], X[5], X[8] = 0, 0.3, -0.0
    X[7] *= np.finfo(dtype).max / 100
    X[9] *= np.finfo(dtype).tiny * 100
    units, has_direction = kernels.directions(X, centred, 2)
    expected, expected_to_have = reference.directions(X, centred)
    np.testing.assert_array_equal(has_direction, expected_to_have)
    # The order of a sum changes its last digits.
    np.testing.assert_allclose(units, expected, rtol=1e-13 if dtype == np.float64 else 1e-6, atol=1e-15)
    np.testing.assert_array_equal(kernels.directions(X[7:8], centred, 1)[0][0], units[7])
