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

from lowfold.backend import native
from lowfold.backend.pieces import in_pieces


@dataclass(frozen=True, slots=True)
class Walk:
    """S, dense or sparse; the degrees d of W^(a); the densities q of W; the exponent a."""

    S: Any
    degrees: NDArray[np.float64]
    densities: NDArray[np.float64]
    alpha: float

    @property
    def root(self) -> NDArray[np.float64]:
        """sqrt(d), of length 1: the eigenvector of S with eigenvalue 1."""
        root = np.sqrt(self.degrees)
        return root / np.linalg.norm(root)


def walk_of(W: Any, alpha: float, threads: int) -> Walk:
    """The walk on a symmetric affinity; every row sum must be positive. A dense W is overwritten."""
    q = row_sums(W, threads)
    thinned = q**-alpha
    d = thinned * _product(W, thinned, threads) if alpha else q
    both = thinned * d**-0.5
    return Walk(scaled(W, both, both, threads), d, q, alpha)


def row_sums(W: Any, threads: int = 1) -> NDArray[np.float64]:
    """W 1, in float64."""
    if issparse(W):
        return np.add.reduceat(np.append(W.data, 0.0), W.indptr[:-1]) * (np.diff(W.indptr) > 0)
    return _product(W, np.ones(W.shape[1]), threads)


def _product(W: Any, v: NDArray[np.float64], threads: int) -> NDArray[np.float64]:
    if issparse(W):
        return np.asarray(W @ v)
    column = np.ascontiguousarray(v[:, None], dtype=W.dtype)
    return np.asarray(native.kernels.times(np.ascontiguousarray(W), column, threads))[:, 0]


def scaled(W: Any, left: NDArray[np.float64] | None, right: NDArray[np.float64] | None, threads: int = 1) -> Any:
    """diag(left) W diag(right); a dense W is overwritten, a sparse one copied."""
    if issparse(W):
        data = W.data.astype(np.float64)
        if left is not None:
            data *= np.repeat(left, np.diff(W.indptr))
        if right is not None:
            data *= right[W.indices]
        return csr_array((data, W.indices, W.indptr), shape=W.shape)

    def scale(rows: slice) -> None:
        if left is not None:
            W[rows] *= left[rows, None].astype(W.dtype)
        if right is not None:
            W[rows] *= right.astype(W.dtype)

    in_pieces(scale, len(W), threads)
    return W
