"""Eigenvectors of a dense symmetric matrix: by LAPACK, or in steps between which Ctrl-C is heard.

LAPACK does it in one call, which nothing can end and during which no other thread of Python runs: 5 s for 3,000 rows.
Large matrices are reduced by Householder's reflections instead: A = Q T Q^T with T tridiagonal, whose eigenvectors are
Z (`tridiagonal.py`); those of A are Q Z.
"""

from __future__ import annotations

import numpy as np
import scipy.linalg
from numpy.typing import NDArray
from scipy.linalg import blas

from lowfold.backend import stopping
from lowfold.backend.steps import joint, reflect_inplace
from lowfold.backend.tridiagonal import tridiagonal_eigenpairs

LAPACK_SIZE = 1500  # rows for which LAPACK takes up to a second
PANEL = 32  # columns that are reduced before the rest of the matrix is
COLUMNS = 256  # copied or reflected at once, a small part of a second for as many rows as memory has room for

Vector = NDArray[np.float64]
Block = NDArray[np.float64]


def eigenpairs(A: Block, first: int, last: int) -> tuple[Vector, Block]:
    """(values, vectors) from the first to the last of them, counted from the smallest."""
    if len(A) > LAPACK_SIZE:
        return in_steps(A, first, last)
    subset = None if last - first + 1 == len(A) else (first, last)
    values, vectors = scipy.linalg.eigh(A, subset_by_index=subset)
    return values, vectors


def in_steps(A: Block, first: int, last: int) -> tuple[Vector, Block]:
    """The same, by reflections; A is read above its diagonal.

    Cost 4/3 n^3 for T, half of it in products that read the matrix at the speed of memory, n^3 / 3 for the eigenvectors
    of its halves, and 3 n^2 for each vector wanted.
    """
    diagonal, beside, reflections = _tridiagonal(A)
    values, Z = tridiagonal_eigenpairs(diagonal, beside, first, last)
    for begin in range(0, len(values), COLUMNS):
        part = Z[:, begin : begin + COLUMNS]
        for V, T in reversed(reflections):
            reflect_inplace(V, T, part[len(Z) - len(V) :])
    return values, Z


def _tridiagonal(A: Block) -> tuple[Vector, Vector, list[tuple[Block, Block]]]:
    """(diagonal and subdiagonal of T, Q as a product of I - V T V^T, each in the last rows of what it is applied to).

    Dongarra, Hammarling, Sorensen, "Block reduction of matrices to condensed forms" (1989): the reflections of a panel
    are put off, A - V W^T - W V^T standing for what they would leave, and then done at once.
    """
    n = len(A)
    diagonal, beside = np.zeros(n), np.zeros(n - 1)
    reflections = []
    rest = _columns(A.T)  # on and below its diagonal, as BLAS reads it
    for begin in range(0, n - 1, PANEL):
        size = min(PANEL, n - 1 - begin)
        V, W, lengths = np.zeros((n - begin, size)), np.zeros((n - begin, size)), np.zeros(size)
        for i in range(size):
            stopping.check()
            column = rest[i:, i] - V[i:, :i] @ W[i, :i] - W[i:, :i] @ V[i, :i]
            diagonal[begin + i] = column[0]
            V[i + 1 :, i], lengths[i], beside[begin + i] = _reflection(column[1:])
            v = V[:, i]
            product = blas.dsymv(1.0, rest, v, lower=1)
            product -= V[:, :i] @ (W[:, :i].T @ v) + W[:, :i] @ (V[:, :i].T @ v)
            product[: i + 1] = 0  # rows that are done
            product *= lengths[i]
            W[:, i] = product - (lengths[i] / 2 * (product @ v)) * v
        rest = _columns(rest[size:, size:])
        rest = blas.dsyr2k(-1.0, V[size:], W[size:], beta=1.0, c=rest, lower=1, overwrite_c=1)
        reflections.append((V, joint(V, lengths)))
    diagonal[-1] = rest[-1, -1]
    return diagonal, beside, reflections


def _columns(A: Block) -> Block:
    """A copy, column by column."""
    copy = np.empty(A.shape, order="F")
    for begin in range(0, len(A), COLUMNS):
        copy[:, begin : begin + COLUMNS] = A[:, begin : begin + COLUMNS]
    return copy


def _reflection(x: Vector) -> tuple[Vector, float, float]:
    """(v, t, y) with (I - t v v^T) x = (y, 0, 0, ...) and v_0 = 1."""
    if not x[1:].any():
        return np.eye(1, len(x))[0], 0.0, float(x[0])
    size = np.abs(x).max()  # squares neither overflow nor vanish
    x = x / size
    y = -np.copysign(np.linalg.norm(x), x[0])
    v = x / (x[0] - y)
    v[0] = 1
    return v, float((y - x[0]) / y), float(y * size)
