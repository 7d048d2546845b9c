"""The random walk on an affinity W, and the symmetric matrix with the same eigenvalues.

W^(a) = W_ij / (q_i q_j)^a with q = W 1 (Coifman and Lafon 2006): a = 1 takes the density of the sample out, a = 0
leaves it. Then P = D^-1 W^(a) with D = diag(W^(a) 1), and S = D^-1/2 W^(a) D^-1/2 is similar to it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse

from lowfold.backend import blas, native
from lowfold.backend.packed import Packed
from lowfold.errors import ParameterError


@dataclass(frozen=True, slots=True)
class Walk:
    """W, sparse, packed, or dense and only read on and above its diagonal; scale, with which
    S_ij = scale_i W_ij scale_j; the degrees d of W^(a); the densities q of W; the exponent a."""

    W: Any
    scale: NDArray[np.float64]
    degrees: NDArray[np.float64]
    densities: NDArray[np.float64]
    alpha: float
    threads: int = 1

    @property
    def S(self) -> Any:
        """Written out, sparse if W is."""
        if issparse(self.W):
            W = csr_array(self.W, dtype=np.float64)
            entries = W.indptr.astype(np.int64, copy=False), W.indices.astype(np.int32, copy=False), W.data
            values = native.kernels.scaled_values(entries, self.scale, self.threads)
            return csr_array((values, W.indices, W.indptr), shape=W.shape)
        W = self.W.dense() if isinstance(self.W, Packed) else np.triu(self.W) + np.triu(self.W, 1).T
        return scaled(W, self.scale, self.scale)

    @property
    def root(self) -> NDArray[np.float64]:
        """sqrt(d), of length 1: the eigenvector of S with eigenvalue 1."""
        root = np.sqrt(self.degrees)
        return root / blas.length(root)

    def part(self, points: NDArray[np.intp]) -> Walk:
        """The walk on some points that it never leaves; of a sparse W."""
        if len(points) == len(self.degrees):
            return self
        W = csr_array(self.W[points][:, points])
        return Walk(W, self.scale[points], self.degrees[points], self.densities[points], self.alpha, self.threads)


def walk_of(W: Any, q: NDArray[np.float64], alpha: float, threads: int) -> Walk:
    """The walk on a symmetric affinity with the densities q, all positive."""
    with np.errstate(over="ignore", under="ignore"):  # seen next
        thinned = q**-alpha
        d = thinned * symmetric_product(W, thinned, threads) if alpha else q
    if not (np.isfinite(d).all() and d.min(initial=1.0) > 0):
        raise ParameterError(
            f"alpha={alpha:g} is too large for these data: their densities, from {q.min():.3g} to {q.max():.3g}, "
            f"raised to it leave the range of numbers. Use alpha=1, which takes the density out of the walk, or less."
        )
    return Walk(W, thinned * d**-0.5, d, q, alpha, threads)


def densities(W: Any, threads: int) -> NDArray[np.float64]:
    """The row sums of a symmetric affinity."""
    return row_sums(W) if issparse(W) else symmetric_product(W, np.ones(W.shape[0]), threads)


def row_sums(W: Any, threads: int = 1) -> NDArray[np.float64]:
    """W 1, in float64."""
    if issparse(W):
        return sums_of_runs(W.data, W.indptr)
    ones = np.ones((W.shape[1], 1), W.dtype)
    return np.asarray(native.kernels.times(np.ascontiguousarray(W), ones, threads))[:, 0]


def sums_of_runs(values: Any, begin: Any) -> NDArray[np.float64]:
    """The sum of each run of values, in float64; run i ends where the next begins, and the order in which it is added
    up depends on nothing but itself."""
    some = np.flatnonzero(np.diff(begin))
    sums = np.zeros(len(begin) - 1)
    sums[some] = np.add.reduceat(values, begin[:-1][some], dtype=np.float64) if len(some) else 0
    return sums


def symmetric_product(W: Any, v: NDArray[np.float64], threads: int) -> NDArray[np.float64]:
    """W v; of a dense W only what is on and above the diagonal is read."""
    if issparse(W):
        return np.asarray(W @ v)
    if isinstance(W, Packed):
        return W.times(v[:, None], threads)[:, 0]
    column = np.ascontiguousarray(v[:, None], dtype=W.dtype)
    return np.asarray(native.kernels.symmetric_times(W, column, threads))[:, 0]


def scaled(W: Any, left: NDArray[np.float64] | None, right: NDArray[np.float64] | None) -> Any:
    """diag(left) W diag(right); a dense W is overwritten, a sparse one copied."""
    if issparse(W):
        data = W.data.astype(np.float64)
        if left is not None:
            data *= np.repeat(left, np.diff(W.indptr))
        if right is not None:
            data *= right[W.indices]
        return csr_array((data, W.indices, W.indptr), shape=W.shape)
    if left is not None:
        W *= left[:, None].astype(W.dtype)
    if right is not None:
        W *= right.astype(W.dtype)
    return W
