"""The largest eigenvalues of an operator by block Lanczos with restarts: few products, each with several vectors."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from lowfold.spectral.problem import Block

BLOCK = 8  # vectors at once: reading the matrix takes as long for one
GROWTH = 8  # blocks between restarts
MAX_PRODUCTS = 400
ACCURACY = 1e-6  # wanted error of the subspace: residual relative to the gap
SAME = 1e-9  # of the largest eigenvalue: a smaller difference is none


@dataclass(frozen=True, slots=True)
class Ritz:
    """The m largest eigenvalues found, their vectors, |A v - lam v| of each, the gap behind them, products done."""

    values: NDArray[np.float64]
    vectors: Block
    residuals: NDArray[np.float64]
    gap: float
    products: int
    converged: bool


def largest(times: Callable[[Block], Block], start: Block, m: int, precision: float) -> Ritz:
    """The m largest eigenvalues of the symmetric operator `times`, from a block of start vectors.

    The basis V grows by A times its newest block, orthogonalised against all of V; the eigenvectors of V^T A V give the
    best approximations in it (Rayleigh-Ritz). When V is full it is cut back to the best of them. Stops when the
    residuals are ACCURACY times the gap behind the m-th, or as small as rounding lets them be.
    """
    keep = m + start.shape[1]
    V = orthonormal(start)
    AV = times(V)
    newest, products = V.shape[1], 1
    while True:
        values, rotation = scipy.linalg.eigh(symmetric(V.T @ AV))
        values, rotation = values[::-1], rotation[:, ::-1]
        wanted = min(m, len(values))
        first = rotation[:, :wanted]
        residuals = np.linalg.norm(AV @ first - (V @ first) * values[:wanted], axis=0)
        gap = gap_behind(values, wanted)
        size = float(np.abs(values).max(initial=0.0))
        small = residuals.max() <= max(ACCURACY * gap, 50 * precision * size)
        converged = bool(small) and len(values) > m
        exhausted = V.shape[1] >= len(V) or newest == 0
        if converged or exhausted or products >= MAX_PRODUCTS:
            vectors = V @ first
            return Ritz(values[:m], vectors, residuals, gap, products, converged or exhausted)
        # What A adds to the whole basis is what the residuals are made of: it has to be found before the basis is cut.
        added = extend(V, AV[:, -newest:])
        newest = added.shape[1]
        if V.shape[1] > keep + GROWTH * start.shape[1]:
            V, AV = V @ rotation[:, :keep], AV @ rotation[:, :keep]
        if newest:
            V, AV = np.hstack([V, added]), np.hstack([AV, times(added)])
            products += 1


def gap_behind(values: NDArray[np.float64], m: int) -> float:
    """values[m - 1] less the first value behind it that differs; values fall. Where there is none, their spread."""
    spread = float(np.abs(values).max(initial=0.0))
    behind = values[m:]
    different = behind[behind < values[m - 1] - SAME * spread]
    return float(values[m - 1] - different[0]) if len(different) else spread


def extend(V: Block, fresh: Block) -> Block:
    """An orthonormal basis of what `fresh` adds to the span of the orthonormal V; directions of rounding are left out."""
    before = np.linalg.norm(fresh, axis=0)
    for _ in range(2):  # once leaves rounding errors of the size of what is subtracted
        fresh = fresh - V @ (V.T @ fresh)
    fresh = fresh[:, np.linalg.norm(fresh, axis=0) > 1e-12 * before.max(initial=0.0)]
    if not fresh.shape[1]:
        return fresh
    Q, R, _ = scipy.linalg.qr(fresh, mode="economic", pivoting=True)
    size = np.abs(np.diag(R))
    Q = Q[:, size > 1e-10 * size[0]]
    Q = Q - V @ (V.T @ Q)
    return orthonormal(Q[:, : len(V) - V.shape[1]])


def orthonormal(V: Block) -> Block:
    """Orthonormal columns with the same span."""
    return np.linalg.qr(V)[0]


def symmetric(A: Block) -> Block:
    """(A + A^T) / 2."""
    return (A + A.T) / 2
