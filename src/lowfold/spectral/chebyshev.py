"""The largest eigenvalues of a sparse matrix with spectrum in [-1, 1], by Chebyshev-filtered subspace iteration.

Zhou, Saad, Tiago, Chelikowsky, "Self-consistent-field calculations using Chebyshev-filtered subspace iteration" (2006).
A polynomial of A that is small on the unwanted part of the spectrum and large above it is applied to a block of
vectors; Rayleigh-Ritz in float64 reads the eigenvectors off it and says where the unwanted part begins. Most of the
work is done in float32, which halves the memory to be read. Lanczos on such a polynomial, with few vectors at once,
takes fewer products, but no less time: its basis has to be kept orthogonal.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg

from lowfold.backend import native
from lowfold.spectral.krylov import Ritz, gap_behind, orthonormal, symmetric
from lowfold.spectral.problem import Block, EigenProblem, SparseMatrix, panels

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
# Of V^T V with columns of length 1, up to which eigenvalues are read off with eight digits, in float32 with three.
WORST_CONDITION = {np.float64: 1e8, np.float32: 1e4}


def largest(problem: EigenProblem, matrix: SparseMatrix, start: Any, m: int) -> Ritz:
    """The m largest eigenvalues beside the trivial ones; the start has `block_size(m)` columns."""
    kind: Any = np.float32
    V, high, degree, products, last = start.astype(kind), FIRST_HIGH, FIRST_DEGREE, 0, math.inf
    careful = False  # whether vectors are read off in float64: those of the last filter, and small differences
    for number in range(MAX_ROUNDS):
        filtered = _filtered(matrix, V.astype(kind, copy=False), high, degree)
        V, values, residuals = _read_off(problem, matrix, filtered.astype(np.float64) if careful else filtered, m)
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
    vectors = V[:, :m].astype(np.float64, copy=False)
    return Ritz(values[:m], vectors, residuals, gap, products, converged, float(values[m]))


def block_size(m: int) -> int:
    """A multiple of what one product takes, with room for the guards."""
    return WIDTH * math.ceil((m + GUARDS) / WIDTH)


def suitable_degree(high: float, at: float, factor: float) -> int:
    """The degree for which the polynomial is `factor` times as large at an eigenvalue as on [LOWEST, high]."""
    ratio = (2 * at - LOWEST - high) / (high - LOWEST)
    return max(FIRST_DEGREE, min(MAX_DEGREE, math.ceil(math.log(2 * factor) / math.acosh(max(ratio, 1 + 1e-12)))))


def _filtered(matrix: SparseMatrix, V: Any, high: float, degree: int) -> Block:
    """p(A) V computed in the type of V, p being small on [LOWEST, high] and 1 at 1."""
    entries = matrix.entries(V.dtype)
    done = []
    for panel, width in panels(V, WIDTH):
        native.kernels.chebyshev_inplace(entries, panel, (LOWEST, high, 1.0), degree, matrix.threads)
        done.append(panel[:, :width])
    return np.ascontiguousarray(done[0] if len(done) == 1 else np.concatenate(done, axis=1))


def _read_off(problem: EigenProblem, matrix: SparseMatrix, V: Any, m: int) -> tuple[Any, Any, Any]:
    """(vectors, values, the first m residuals) of A in the span of V, largest first, in the type of V, which is
    overwritten."""
    tall = TallProducts(matrix.threads)
    if problem.trivial is not None:
        trivial = problem.trivial.astype(V.dtype)
        V -= tall.times(trivial, tall.cross(trivial, V))
    lengths = tall.cross(V, V)
    if _condition(lengths) > WORST_CONDITION[V.dtype.type]:
        V = orthonormal(V.astype(np.float64)).astype(V.dtype)
        lengths = tall.cross(V, V)
    AV = matrix.times(V)
    values, rotation = scipy.linalg.eigh(symmetric(tall.cross(V, AV)), symmetric(lengths))
    values, rotation = values[::-1], rotation[:, ::-1]
    V, AV = tall.times(V, rotation), tall.times(AV, rotation[:, :m])
    AV -= V[:, :m] * values[:m].astype(V.dtype)
    return V, values, np.sqrt(np.einsum("ij,ij->j", AV, AV, dtype=np.float64))


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

    def times(self, A: Block, B: Block) -> Block:
        """A B."""
        zeros = np.zeros(A.shape[1])
        return np.asarray(native.kernels.project(A, zeros, np.ascontiguousarray(B, A.dtype), self.threads))
