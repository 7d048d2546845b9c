"""Long calls of BLAS and LAPACK cut into steps between which Ctrl-C is heard; short ones are made as they are."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.linalg
from numpy.typing import NDArray
from scipy.linalg import lapack

from lowfold.backend import pieces

OPERATIONS = 4e9  # of one step: a tenth or two of a second
PANEL = 64  # columns that are made orthonormal before those behind them are
ROWS = 512  # that a panel is taken off at once

Block = NDArray[Any]  # float32 or float64


def product(A: Block, B: Block) -> Block:
    """A B."""
    work = 2.0 * A.shape[0] * A.shape[1]
    if work * B.shape[1] <= OPERATIONS:
        return np.asarray(A @ B)
    out = np.empty((A.shape[0], B.shape[1]), np.result_type(A, B))
    for columns in _columns(B.shape[1], work):
        out[:, columns] = A @ B[:, columns]
    return out


def orthonormal(A: Block) -> tuple[Block, Block]:
    """(Q, R) with A = Q R, the columns of Q orthonormal even where those of A are not independent, R upper triangular.

    By Householder's reflections, a panel of columns after another, as LAPACK does it.
    """
    n, m = A.shape
    if 4.0 * n * m * min(n, m) <= OPERATIONS:
        Q, R = np.linalg.qr(A)
        return Q, R
    R = np.array(A, np.float64, order="F")
    done = []
    for begin in range(0, min(n, m), PANEL):
        end = min(begin + PANEL, n, m)
        reflections, lengths = lapack.dgeqrf(R[begin:, begin:end])[:2]
        V = np.tril(reflections, -1)
        np.fill_diagonal(V, 1)
        R[begin:, begin:end] = np.triu(reflections)
        T = joint(V, lengths)
        reflect_inplace(V, T.T, R[begin:, end:])
        done.append((V, T))
    Q = np.eye(n, min(n, m), order="F")
    for V, T in reversed(done):
        begin = n - len(V)
        reflect_inplace(V, T, Q[begin:, begin:])
    return np.ascontiguousarray(Q, A.dtype), R[: min(n, m)].astype(A.dtype, copy=False)


def solve_positive(K: Block, B: Block) -> Block:
    """K^-1 B for a symmetric positive definite K that one step is enough to factor (3,000 rows: 0.4 s)."""
    factor = scipy.linalg.cho_factor(K)
    out = np.empty(B.shape)
    for columns in _columns(B.shape[1], 2.0 * K.size):
        out[:, columns] = scipy.linalg.cho_solve(factor, B[:, columns])
    return out


def is_positive_inplace(A: Block) -> bool:
    """Whether a symmetric matrix is positive definite: whether it has Cholesky's factor. It is written over.

    By panels, of which each is taken off what is on and below the diagonal behind it. Cost n^3 / 3.
    """
    n = len(A)
    for begin in range(0, n, PANEL):
        end = min(begin + PANEL, n)
        try:
            L = np.linalg.cholesky(A[begin:end, begin:end])
        except np.linalg.LinAlgError:
            return False
        below = scipy.linalg.solve_triangular(L, A[end:, begin:end].T, lower=True).T
        for first in range(end, n, ROWS):
            pieces.check()
            rows = slice(first, min(first + ROWS, n))
            A[rows, end : rows.stop] -= below[first - end : rows.stop - end] @ below[: rows.stop - end].T
    return True


def joint(V: Block, lengths: Block) -> Block:
    """T with the product of all I - t v v^T, in the order of the columns of V, being I - V T V^T."""
    T = np.zeros((len(lengths), len(lengths)))
    for i, length in enumerate(lengths):
        T[:i, i] = -length * (T[:i, :i] @ (V[:, :i].T @ V[:, i]))
        T[i, i] = length
    return T


def reflect_inplace(V: Block, T: Block, rows: Block) -> None:
    """rows <- (I - V T V^T) rows."""
    for columns in _columns(rows.shape[1], 4.0 * V.size):
        part = rows[:, columns]
        part -= V @ (T @ (V.T @ part))


def _columns(count: int, work: float) -> Iterator[slice]:
    """Slices of columns, each of which takes so many operations."""
    width = max(1, int(OPERATIONS // work))
    for begin in range(0, count, width):
        pieces.check()
        yield slice(begin, min(begin + width, count))
