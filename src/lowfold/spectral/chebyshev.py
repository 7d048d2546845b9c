"""The largest eigenvalues of a sparse matrix with spectrum in [-1, 1], by Chebyshev-filtered subspace iteration.

Zhou, Saad, Tiago, Chelikowsky, "Self-consistent-field calculations using Chebyshev-filtered subspace iteration" (2006).
A polynomial of A that is small on the unwanted part of the spectrum and large above it is applied to a block of
vectors; Rayleigh-Ritz reads the eigenvectors off it and says where the unwanted part begins. Most of the work is done
in float32, which halves the memory to be read, and in an order of the points in which neighbours are near each other in
memory, where products take half the time. What is returned is read off in float64 and from the matrix as it came.
Lanczos on such a polynomial, with few vectors at once, takes fewer products, but no less time: its basis has to be kept
orthogonal.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from lowfold.backend import native
from lowfold.backend.pieces import in_pieces
from lowfold.spectral.krylov import Ritz, gap_behind, orthonormal, symmetric
from lowfold.spectral.problem import Block, EigenProblem, SparseMatrix, SparseProducts, panels

WIDTH = 16  # vectors that one product takes
GUARDS = 5  # vectors beyond those wanted: the filter tells the last one apart from what comes behind these
FIRST_DEGREE, MAX_DEGREE = 12, 160
FIRST_HIGH = 0.5  # where the unwanted part of the spectrum is taken to begin
# By which a filter raises the eigenvalue 1 over the unwanted ones: little at first, while it is not yet known where the
# unwanted part of the spectrum begins, then more, since reading vectors off takes time too.
FIRST_FACTORS, FACTOR = (200.0, 200.0), 2000.0
SPARE = 4.0  # by which the last filter does more than the residuals seem to need
MAX_ROUNDS = 40
ACCURACY = 1e-2  # wanted error of the subspace: residual relative to the gap, a bound that lies far above most errors
FLOAT32_NOISE = 2e-6  # residual that float32 filters can reach with ease
LOWEST = -1.0
START_SEED = 0  # of the start vectors: the result does not depend on it beyond rounding
# Of V^T V with columns of length 1, up to which eigenvalues are read off with eight digits, in float32 with three.
WORST_CONDITION = {np.float64: 1e8, np.float32: 1e4}
ROWS_AT_ONCE = 4096


def largest(problem: EigenProblem, matrix: SparseMatrix, order: NDArray[np.int32], m: int) -> Ritz:
    """The m largest eigenvalues beside the trivial ones. order: of the points, in which the filters work."""
    kind: Any = np.float32
    inner = Reordered(matrix, order)
    trivial = None if problem.trivial is None else problem.trivial[order]
    V, high, degree, products, last = _start(matrix.n, m), FIRST_HIGH, FIRST_DEGREE, 0, math.inf
    careful = restored = False  # whether vectors are read off in float64, from the matrix as it came; whether V is
    for number in range(MAX_ROUNDS):
        V = _filtered(inner, inner.ordered(V, kind) if restored else V.astype(kind, copy=False), high, degree)
        restored = careful
        if careful:  # the last filter, and small differences
            V, values, residuals = _read_off(matrix, problem.trivial, inner.restored(V), m)
        else:
            V, values, residuals = _read_off(inner, trivial, V, m)
        products += degree + 1
        gap, worst = gap_behind(values, m), float(residuals.max())
        converged = careful and worst <= max(ACCURACY * gap, 1e-12)
        if converged:
            break
        if kind is np.float32 and last / 10 < worst < FLOAT32_NOISE:
            kind = np.float64  # float32 brings no more
        last, high = worst, float(values[-1])
        most = suitable_degree(high, 1.0, FIRST_FACTORS[number] if number < len(FIRST_FACTORS) else FACTOR)
        enough = suitable_degree(high, float(values[m - 1]), SPARE * worst / (ACCURACY * gap))
        degree, careful = min(most, enough), enough <= most or worst < 10 * FLOAT32_NOISE
    vectors = V if restored else inner.restored(V)
    return Ritz(values[:m], vectors[:, :m], residuals, gap, products, converged, float(values[m]))


class Reordered(SparseProducts):
    """A sparse matrix with its points in another order, in each type that is asked for."""

    def __init__(self, matrix: SparseMatrix, order: NDArray[np.int32]) -> None:
        super().__init__(matrix.n, matrix.threads)
        self._matrix, self._order = matrix, order
        self._entries: dict[Any, tuple[Any, Any, Any]] = {}

    def entries(self, dtype: Any) -> tuple[Any, Any, Any]:
        """(begin, columns, values); the columns of a row in no order, as products need none."""
        kind = np.dtype(dtype)
        if kind not in self._entries:
            entries = self._matrix.entries(kind)
            self._entries[kind] = native.kernels.permuted(entries, self._order, False, self.threads)
        return self._entries[kind]

    def ordered(self, V: Block, kind: Any) -> Any:
        """V in this order and in another type."""
        inner = np.empty(V.shape, kind)

        def work(rows: slice) -> None:
            inner[rows] = V[self._order[rows]]

        in_pieces(work, self.n, self.threads, ROWS_AT_ONCE)
        return inner

    def restored(self, V: Any) -> Block:
        """V from this order to that in which the points came, in float64."""
        outer = np.empty(V.shape)

        def work(rows: slice) -> None:
            outer[self._order[rows]] = V[rows]

        in_pieces(work, self.n, self.threads, ROWS_AT_ONCE)
        return outer


def _start(n: int, m: int) -> Any:
    """Random vectors, as many as products take at a time, with room for the guards."""
    start = np.random.default_rng(START_SEED).random((n, WIDTH * math.ceil((m + GUARDS) / WIDTH)), np.float32)
    start -= np.float32(0.5)
    return start


def suitable_degree(high: float, at: float, factor: float) -> int:
    """The degree for which the polynomial is `factor` times as large at an eigenvalue as on [LOWEST, high]."""
    ratio = (2 * at - LOWEST - high) / (high - LOWEST)
    return max(FIRST_DEGREE, min(MAX_DEGREE, math.ceil(math.log(2 * factor) / math.acosh(max(ratio, 1 + 1e-12)))))


def _filtered(matrix: Reordered, V: Any, high: float, degree: int) -> Any:
    """p(A) V computed in the type of V, which is overwritten, p being small on [LOWEST, high] and 1 at 1."""
    entries = matrix.entries(V.dtype)
    done = []
    for panel, width in panels(V, WIDTH):
        native.kernels.chebyshev_inplace(entries, panel, (LOWEST, high, 1.0), degree, matrix.threads)
        done.append(panel[:, :width])
    return np.ascontiguousarray(done[0] if len(done) == 1 else np.concatenate(done, axis=1))


def _read_off(matrix: SparseProducts, trivial: Block | None, V: Any, m: int) -> tuple[Any, Any, Any]:
    """(vectors, values, the first m residuals) of A in the span of V, largest first, in the type of V, which is
    overwritten: new memory takes longer to be had than to be filled."""
    tall = TallProducts(matrix.threads)
    if trivial is not None:
        tall.subtract(trivial.astype(V.dtype), V)
    lengths = tall.cross(V, V)
    if _condition(lengths) > WORST_CONDITION[V.dtype.type]:
        V = orthonormal(V.astype(np.float64)).astype(V.dtype)
        lengths = tall.cross(V, V)
    AV = matrix.times(V)
    values, rotation = scipy.linalg.eigh(symmetric(tall.cross(V, AV)), symmetric(lengths))
    values, rotation = values[::-1], rotation[:, ::-1]
    return V, values, tall.turn(V, AV, np.ascontiguousarray(rotation, V.dtype), values[:m])


def _condition(lengths: Block) -> float:
    """Of V^T V once the columns of V have length 1: how long they are does not matter to Cholesky's factors."""
    root = np.sqrt(np.diag(lengths))
    return float(np.linalg.cond(lengths / np.outer(root, root))) if (root > 0).all() else math.inf


@dataclass(frozen=True, slots=True)
class TallProducts:
    """Products with matrices of many rows and few columns, on all threads and with the same bits for any number."""

    threads: int

    def cross(self, A: Block, B: Block) -> Block:
        """A^T B."""
        zeros = np.zeros(A.shape[1]), np.zeros(B.shape[1])
        return np.asarray(native.kernels.cross(A, zeros[0], B, zeros[1], self.threads))

    def subtract(self, U: Block, V: Block) -> None:
        """Takes the part along the orthonormal U out of V."""
        along = self.cross(U, V).astype(V.dtype)

        def work(rows: slice) -> None:
            V[rows] -= U[rows] @ along

        in_pieces(work, len(V), self.threads, ROWS_AT_ONCE)

    def turn(self, V: Block, AV: Block, rotation: Block, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Turns V into the vectors V rotation; returns |A v - lam v| of the first of them, one for each value."""
        m = len(values)
        squares = np.empty((-(-len(V) // ROWS_AT_ONCE), m))

        def work(rows: slice) -> None:
            V[rows] = V[rows] @ rotation
            rest = AV[rows] @ rotation[:, :m] - V[rows, :m] * values.astype(V.dtype)
            squares[rows.start // ROWS_AT_ONCE] = np.einsum("ij,ij->j", rest, rest, dtype=np.float64)

        in_pieces(work, len(V), self.threads, ROWS_AT_ONCE)
        return np.asarray(np.sqrt(squares.sum(axis=0)))
