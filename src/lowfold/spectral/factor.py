"""Sparse factorisations, for the end of a spectrum where eigenvalues crowd: the largest of A^-1 lie far apart."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, eye_array

from lowfold.backend import native, resources
from lowfold.spectral.problem import Block, SparseMatrix

Solve: TypeAlias = Callable[[Block], Block]

SHIFT = 1e-10  # of the largest diagonal entry: makes a singular matrix invertible, far below the eigenvalues wanted
# A band of this mean width is eliminated quickly, however many rows there are: curves and sheets, not clouds.
NARROW_BAND = 2500


def inverse(A: csr_array, threads: int) -> Solve:
    """x -> (A + shift I)^-1 x for a positive semidefinite A, by a factorisation that keeps symmetry."""
    shift = SHIFT * float(A.diagonal().max())
    return Factors(csr_array(A + shift * eye_array(A.shape[0])), threads, symmetric=True).computed().solve


def inverse_of_complement(A: csr_array, threads: int) -> Solve:
    """The same for I - A: the largest eigenvalues of A, at most 1, become the smallest."""
    shift = SHIFT * (1 - float(A.diagonal().min()))
    return Factors(csr_array((1 + shift) * eye_array(A.shape[0]) - A), threads, symmetric=True).computed().solve


def inverse_of_square(B: csr_array, threads: int) -> Solve:
    """x -> the y orthogonal to 1 with B^T B y = x, for x orthogonal to 1 and B 1 = 0; by a factorisation of B.

    B has fewer entries than B^T B and the root of its condition number. It is singular: C = B + e e^T with e a unit
    vector is not, and C^T y = x gives B^T y = x, since 1^T C^T y = y_e and 1^T x = 0. The left null vector u, B^T u =
    0, is taken out of y, so that B z = y has a solution, which C finds in the same way.
    B has a strong diagonal: it is factorised as it stands, without exchanging rows, and what precision that costs one
    step of refinement brings back.
    """
    n = B.shape[0]
    chosen = int(np.argmax(np.abs(B).sum(axis=0)))  # a point that many others lean on: u is not small there
    unit = csr_array(([1.0], ([chosen], [chosen])), shape=(n, n))
    C = csr_array(B + unit)
    transposed = csr_array(C.T)
    lu = Factors(C, threads).computed()

    def backward(x: Block) -> Block:
        y = lu.solve(x, transposed=True)
        return np.asarray(y + lu.solve(x - transposed @ y, transposed=True))

    def forward(y: Block) -> Block:
        z = lu.solve(y)
        return np.asarray(z + lu.solve(y - C @ z))

    u = backward(np.eye(n, 1, -chosen))
    u /= np.linalg.norm(u)

    def solve(x: Block) -> Block:
        y = backward(x)
        return forward(y - u @ (u.T @ y))

    return solve


class Factors:
    """A = L U for a sparse A whose pivots need no exchange of rows. Their places are known before their values."""

    def __init__(self, A: csr_array, threads: int, symmetric: bool = False) -> None:
        self._matrix, self._threads = SparseMatrix(A, threads), threads
        self._factorisation = native.kernels.Factorisation(self._matrix.entries(np.float64), symmetric)

    @property
    def entries(self) -> int:
        """How many numbers the factors have; a solution reads each of them twice."""
        return self._factorisation.entries

    def computed(self) -> Factors:
        """With their values. Raises MemoryLimitError if they would not fit into the memory that they may use."""
        resources.check_allowed(
            8 * self._factorisation.peak,
            f"The factorisation for {self._matrix.n} samples, whose graph has no narrow parts to begin with,",
            "Fit fewer samples, and place the rest with transform.",
        )
        self._factorisation.factorise(self._matrix.entries(np.float64), self._threads)
        return self

    def solve(self, x: Block, transposed: bool = False) -> Block:
        """A^-1 x, or A^-T x."""
        return self._factorisation.solve(np.ascontiguousarray(x), transposed, self._threads)


@dataclass(frozen=True, slots=True)
class Ordering:
    """An order of the points in which neighbours stand near each other, and how near.

    order (n,): the points. band: the mean distance from the diagonal of the first entry of a row of the matrix in this
    order.
    """

    order: NDArray[np.int32]
    band: float


def ordering(matrix: SparseMatrix) -> Ordering:
    """Cuthill and McKee's order, reversed."""
    begin, columns, _ = entries = matrix.entries(np.float64)
    order = native.kernels.banded_order(entries)
    place = np.empty_like(order)
    place[order] = np.arange(len(order), dtype=order.dtype)
    filled = np.flatnonzero(np.diff(begin))
    first = np.minimum.reduceat(place[columns], begin[filled]) if len(filled) else place[filled]
    reach = np.maximum(place[filled] - first, 0).sum()  # a row without entries reaches nowhere
    return Ordering(order, float(reach / len(order)))
