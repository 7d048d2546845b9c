"""One eigenproblem for the whole family: a symmetric matrix, one end of its spectrum, and what is known beforehand."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from lowfold.backend import native
from lowfold.backend.packed import Packed
from lowfold.backend.pieces import in_pieces
from lowfold.types import Floats

Block = NDArray[np.float64]  # a few vectors side by side, (n, b)

TOP, BOTTOM = "top", "bottom"
SAME = 1e-8  # of an eigenvalue: those closer than this share an eigenspace
ROUNDINGS = 64  # of the largest eigenvalue: smaller differences are none


class Operator(Protocol):
    """A symmetric matrix that can be multiplied with a few vectors at once."""

    n: int
    precision: float  # relative rounding error of a product

    def times(self, V: Block) -> Block:
        """A V."""

    def dense(self) -> Block:
        """A itself."""


@dataclass(frozen=True, slots=True)
class EigenProblem:
    """The eigenvectors of a symmetric matrix at one end of its spectrum.

    trivial (n, s): orthonormal eigenvectors at that end which are known and not wanted. factor: for A = factor^T factor
    with a sparse square factor, which is better conditioned than A; it helps at the bottom end.
    """

    matrix: Operator
    end: str = TOP
    trivial: Block | None = None
    factor: csr_array | None = None

    @property
    def trivial_count(self) -> int:
        """The number of trivial vectors."""
        return 0 if self.trivial is None else self.trivial.shape[1]

    def without_trivial(self, V: Block) -> Block:
        """V less its part along the trivial vectors."""
        return V if self.trivial is None else V - self.trivial @ (self.trivial.T @ V)


def closeness(problem: EigenProblem, values: NDArray[np.float64]) -> NDArray[np.float64]:
    """How near another eigenvalue must be to each of these to share its eigenspace.

    At the top end their own size counts, and the rounding of the largest: where one column of the data has a thousand
    times the spread of others, eigenvalues of 1e-8 of the largest are still right to many digits. At the bottom end the
    largest eigenvalue of the matrix, whose rounding they all share, is not among them.
    """
    largest = float(np.abs(values).max(initial=0.0))
    if problem.end == BOTTOM:
        return np.full(len(values), SAME * largest)
    return np.maximum(SAME * np.abs(values), min(SAME, ROUNDINGS * problem.matrix.precision) * largest)


@dataclass(frozen=True, slots=True)
class Spectrum:
    """Eigenvalues from the wanted end inwards, orthonormal eigenvectors (n, m), and how far they can be trusted.

    residuals: |A v - lam v| of each. gap: distance of the last eigenvalue from the next one inside that differs from
    it. An error in the subspace is about residual / gap. closeness: how near another eigenvalue must be to each to be
    no other one. divided: the next one does not differ, so that the vectors hold only a part of the last eigenspace.
    """

    values: NDArray[np.float64]
    vectors: Block
    residuals: NDArray[np.float64]
    gap: float
    solver: str
    products: int
    converged: bool
    divided: bool = False
    closeness: NDArray[np.float64] | None = None  # of a file of an earlier version

    def first(self, m: int) -> Spectrum:
        """The m outermost eigenvectors alone."""
        if m == len(self.values):
            return self
        assert self.closeness is not None, "of what has just been found"
        step = float(abs(self.values[m - 1] - self.values[m]))
        return dataclasses.replace(
            self,
            values=self.values[:m],
            vectors=self.vectors[:, :m],
            residuals=self.residuals[:m],
            gap=step if step > self.closeness[m - 1] else self.gap,
            closeness=self.closeness[:m],
        )

    def findings(self) -> dict[str, Any]:
        """For the report of a fit."""
        return {
            "solver": self.solver,
            "eigenvalues": self.values,
            "residual": float(self.residuals.max(initial=0.0)),
            "spectral gap": self.gap,
            "products": self.products,
            "converged": self.converged,
        }


class DenseMatrix:
    """A symmetric matrix, float32 or float64, packed, or an array of which one half is read.

    scale (n,): if given, the matrix is diag(scale) A diag(scale). Products have the same bits for any number of
    threads.
    """

    def __init__(self, A: Floats | Packed, threads: int, scale: NDArray[np.float64] | None = None) -> None:
        self.n = A.shape[0]
        self.precision = float(np.finfo(A.dtype).eps)
        self._A = A
        self._threads = threads
        self._scale = None if scale is None else scale[:, None]

    def times(self, V: Block) -> Block:
        """A V."""
        V = V if self._scale is None else self._scale * V
        V = np.ascontiguousarray(V, dtype=self._A.dtype)
        if isinstance(self._A, Packed):
            AV = self._A.times(V, self._threads)
        else:
            AV = np.asarray(native.kernels.symmetric_times(self._A, V, self._threads))
        return AV if self._scale is None else self._scale * AV

    def dense(self) -> Block:
        """A in float64."""
        if isinstance(self._A, Packed):
            A = self._A.dense().astype(np.float64)
        else:
            A = np.triu(self._A).astype(np.float64, copy=False)
            A += np.triu(A, 1).T
        return A if self._scale is None else self._scale * A * self._scale.T


class Centred:
    """scale * H A H with H = I - 1 1^T / n: centred rows and columns, without writing them out."""

    def __init__(self, matrix: Operator, scale: float = 1.0) -> None:
        self.n = matrix.n
        self.precision = matrix.precision
        self._matrix = matrix
        self._scale = scale

    def times(self, V: Block) -> Block:
        """Subtracts the mean of each vector before the product and after it."""
        AV = self._matrix.times(V - V.mean(axis=0))
        return self._scale * (AV - AV.mean(axis=0))

    def dense(self) -> Block:
        """The centred matrix."""
        A = self._matrix.dense()
        A -= A.mean(axis=0)
        A -= A.mean(axis=1)[:, None]
        A = A + A.T
        A *= self._scale  # in place: a square matrix is large
        A /= 2
        return A


class SparseProducts:
    """Products with a symmetric sparse matrix of n rows, by its entries."""

    def __init__(self, n: int, threads: int) -> None:
        self.n = n
        self.threads = threads

    def entries(self, dtype: Any) -> tuple[Any, Any, Any]:
        """(begin, columns, values) with values of the given type."""
        raise NotImplementedError

    def times(self, V: Any) -> Any:
        """A V in the type of V, sixteen vectors at a time."""
        products = [self._times(panel)[:, :width] for panel, width in panels(V)]
        return products[0] if len(products) == 1 else np.concatenate(products, axis=1)

    def _times(self, panel: Any) -> Any:
        return np.asarray(native.kernels.sparse_times(self.entries(panel.dtype), panel, self.threads))


class SparseMatrix(SparseProducts):
    """A symmetric sparse matrix in float64."""

    precision = float(np.finfo(np.float64).eps)

    def __init__(self, A: csr_array, threads: int) -> None:
        super().__init__(A.shape[0], threads)
        self.A = A
        self._pattern = A.indptr.astype(np.int64, copy=False), A.indices.astype(np.int32, copy=False)

    def entries(self, dtype: Any) -> tuple[Any, Any, Any]:
        """(begin, columns, values) with values of the given type."""
        return *self._pattern, self.A.data.astype(dtype, copy=False)

    def dense(self) -> Block:
        """A written out."""
        return np.asarray(self.A.toarray())


class StreamedMatrix:
    """A matrix too large to keep: its rows are computed for each product, some at a time, and forgotten."""

    def __init__(self, rows: Callable[[slice], Floats], n: int, precision: float, threads: int) -> None:
        self.n = n
        self.precision = precision
        self._rows = rows
        self._threads = threads

    def times(self, V: Block) -> Block:
        """A V; each piece of rows has one owner, and which thread that is does not matter."""
        out = np.empty((self.n, V.shape[1]))

        def work(piece: slice) -> None:
            rows = self._rows(piece)
            out[piece] = rows @ V.astype(rows.dtype, copy=False)

        in_pieces(work, self.n, self._threads)
        return out

    def dense(self) -> Block:
        """A written out."""
        return self._rows(slice(0, self.n)).astype(np.float64)


def panels(V: NDArray[Any], width: int = 16) -> Iterator[tuple[NDArray[Any], int]]:
    """Pieces of `width` columns, the last one filled up with zeros, and how many columns of each count."""
    for begin in range(0, V.shape[1], width):
        piece = V[:, begin : begin + width]
        missing = width - piece.shape[1]
        yield np.ascontiguousarray(np.pad(piece, ((0, 0), (0, missing))) if missing else piece), width - missing
