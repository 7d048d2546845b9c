"""The largest eigenvalues of a sparse matrix with spectrum in [-1, 1], by Chebyshev-filtered subspace iteration.

Zhou, Saad, Tiago, Chelikowsky, "Self-consistent-field calculations using Chebyshev-filtered subspace iteration" (2006).
A polynomial of A that is small on the unwanted part of the spectrum and large above it is applied to a block of
vectors; Rayleigh-Ritz in float64 reads the eigenvectors off it and says where the unwanted part begins. Most of the
work is done in float32, which halves the memory to be read.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy.linalg

from lowfold.backend import native
from lowfold.spectral.krylov import Ritz, gap_behind, orthonormal, symmetric
from lowfold.spectral.problem import Block, EigenProblem, SparseMatrix, panels

WIDTH = 16  # vectors that one product takes
GUARDS = 5  # vectors beyond those wanted: the filter tells the last one apart from what comes behind these
FIRST_DEGREE, MAX_DEGREE = 12, 160
FACTOR = 200  # by which one filter raises the wanted vectors over the unwanted ones
MAX_ROUNDS = 40
ACCURACY = 2e-3  # wanted error of the subspace: residual relative to the gap
FLOAT32_NOISE = 2e-6  # residual that float32 filters can reach with ease
LOWEST = -1.0


def largest(problem: EigenProblem, matrix: SparseMatrix, start: Block, m: int) -> Ritz:
    """The m largest eigenvalues; the start has `block_size(m)` columns."""
    filters = {np.float32: Filter(matrix, np.float32), np.float64: Filter(matrix, np.float64)}
    kind: type[np.floating] = np.float32
    V, high, degree, products = start, 0.5, FIRST_DEGREE, 0
    last = math.inf
    for _ in range(MAX_ROUNDS):
        V = orthonormal(problem.without_trivial(filters[kind].apply(V, high, degree)))
        AV = problem.without_trivial(matrix.times(V))
        values, rotation = scipy.linalg.eigh(symmetric(V.T @ AV))
        values, rotation = values[::-1], rotation[:, ::-1]
        V, AV = V @ rotation, AV @ rotation
        products += degree + 1
        residuals = np.linalg.norm(AV[:, :m] - V[:, :m] * values[:m], axis=0)
        gap = gap_behind(values, m)
        worst = float(residuals.max())
        if worst <= max(ACCURACY * gap, 1e-12):
            return Ritz(values[:m], V[:, :m], residuals, gap, products, True)
        if kind is np.float32 and worst < FLOAT32_NOISE and worst > last / 10:
            kind = np.float64
        last = worst
        high = float(values[-1])
        degree = suitable_degree(high)
    return Ritz(values[:m], V[:, :m], residuals, gap, products, False)


def block_size(m: int) -> int:
    """A multiple of what one product takes, with room for the guards."""
    return WIDTH * math.ceil((m + GUARDS) / WIDTH)


def suitable_degree(high: float) -> int:
    """The degree at which the polynomial at 1 is FACTOR times as large as on [LOWEST, high]."""
    ratio = (2 - LOWEST - high) / (high - LOWEST)
    return max(FIRST_DEGREE, min(MAX_DEGREE, math.ceil(math.log(FACTOR) / math.acosh(max(ratio, 1 + 1e-12)))))


class Filter:
    """p(A) in one precision."""

    def __init__(self, matrix: SparseMatrix, dtype: type[np.floating]) -> None:
        self._matrix = matrix
        self._dtype = dtype
        self._entries: tuple[Any, Any, Any] | None = None

    def apply(self, V: Block, high: float, degree: int) -> Block:
        """The polynomial of the given degree that is small on [LOWEST, high], of A, times V."""
        if self._entries is None:
            self._entries = self._matrix.entries(self._dtype)
        filtered = []
        for panel, width in panels(V.astype(self._dtype), WIDTH):
            ends = (LOWEST, high, 1.0)
            native.kernels.chebyshev_inplace(self._entries, panel, ends, degree, self._matrix.threads)
            filtered.append(panel[:, :width])
        return np.concatenate(filtered, axis=1).astype(np.float64)
