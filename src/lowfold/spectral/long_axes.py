"""Components beside which others are longer by far: a time stamp among measurements.

Eigenvalues of Xc^T Xc are off by the rounding of the largest one, and below it nothing is right. What the long axes
leave of the data, Xc (I - V V^T), has a largest eigenvalue of its own, and may have long axes again.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from lowfold.backend import steps
from lowfold.spectral.centred import CentredMatrix
from lowfold.spectral.principal import Eigenpairs, measured

DEEP = 1e-8  # of the largest eigenvalue: smaller ones have half their digits
NOTHING = (64 * np.finfo(float).eps) ** 2  # of the squares of all numbers: what rounding leaves of nothing
COLUMNS = 256  # that a square matrix is written by

Block = NDArray[np.float64]
Solve: TypeAlias = Callable[[CentredMatrix, int], Eigenpairs]  # the m largest eigenpairs


def resolved(X: CentredMatrix, m: int, solve: Solve) -> Eigenpairs:
    """The m largest eigenpairs, those far smaller than the first as the data beside its axis have them."""
    pairs = solve(X, m)
    return _resolved(X, pairs, solve, NOTHING * (pairs.total + X.shape[0] * float(X.mean @ X.mean)))


def _resolved(X: CentredMatrix, pairs: Eigenpairs, solve: Solve, nothing: float) -> Eigenpairs:
    """nothing: the sum of squares that rounding leaves."""
    values = pairs.values
    long = int((values >= DEEP * values[0]).sum())
    if long == len(values) or not values[0] > 0:
        return measured(X, pairs)
    rest = Beside(X.precise(), pairs.vectors[:, :long])
    if rest.sum_of_squares() <= nothing:
        return measured(X, pairs)
    short = _resolved(rest, solve(rest, len(values) - long), solve, nothing)
    # Among vectors along which nothing varies may be those that were taken off.
    vectors, R = steps.orthonormal(np.hstack([pairs.vectors[:, :long], short.vectors]))
    return dataclasses.replace(
        pairs,
        values=np.r_[values[:long], short.values],
        vectors=vectors * np.where(np.diag(R) < 0, -1.0, 1.0),
        residual=max(pairs.residual, short.residual * float(short.values[0] / values[0])),
        gap=short.gap,
        iterations=pairs.iterations + short.iterations,
    )


class Beside(CentredMatrix):
    """Xc (I - V V^T) for orthonormal columns V, never written out as a whole."""

    def __init__(self, X: CentredMatrix, V: Block) -> None:
        self.shape, self.mean = X.shape, X.mean
        self._X, self._V = X, V

    def _off(self, B: Block) -> Block:
        for _ in range(2):  # the first time rounds beside what it takes away
            B = B - self._V @ (self._V.T @ B)
        return B

    def times(self, B: Block) -> Block:
        """Xc (I - V V^T) B."""
        return np.asarray(self._X.times(self._off(np.asarray(B, np.float64))), np.float64)

    def transposed_times(self, Z: Block) -> Block:
        """(I - V V^T) Xc^T Z."""
        return self._off(self._X.transposed_times(Z))

    def scatter(self) -> Block:
        """Of a few columns at a time."""
        return self._square(self.shape[1], lambda E: self.transposed_times(self.times(E)))

    def gram(self) -> Block:
        """Of a few columns at a time."""
        return self._square(self.shape[0], lambda E: self.times(self.transposed_times(E)))

    def _square(self, n: int, times: Callable[[Block], Block]) -> Block:
        out = np.empty((n, n))
        for begin in range(0, n, COLUMNS):
            columns = slice(begin, min(begin + COLUMNS, n))
            out[:, columns] = times(np.eye(n, columns.stop - begin, -begin))
        return (out + out.T) / 2

    def sum_of_squares(self) -> float:
        """About it, from products with a few random vectors."""
        G = np.random.default_rng(0).standard_normal((self.shape[1], 16))
        return float(np.square(self.times(G)).sum() / G.shape[1])
