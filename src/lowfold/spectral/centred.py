"""The centred data matrix Xc = X - 1 mean^T as an operator, dense or sparse, never written out."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from lowfold.backend import native, sparse_steps, stopping
from lowfold.backend.pieces import shifted_columns
from lowfold.types import Floats

ROWS_AT_ONCE = 4096  # that are written out in float64, and fewer of them if they are long:
NUMBERS_AT_ONCE, SQUARED_AT_ONCE = 1 << 23, 1 << 19
# The kernel of products has a place for so many rows of all columns, even where there are fewer: 4 GB for 500,000.
# Where X is not much larger than that, its columns are copied in panels of so many numbers; the bits stay the same.
PACKED_ROWS, PANEL_SIZE = 1024, 1 << 22


class CentredMatrix(ABC):
    """Xc of shape (n, D): its products, and the mean it is centred by."""

    mean: NDArray[np.float64]
    shape: tuple[int, int]

    single = False  # whether products are taken in float32

    @abstractmethod
    def scatter(self) -> NDArray[np.float64]:
        """Xc^T Xc, of shape (D, D)."""

    def precise(self) -> CentredMatrix:
        """The same with all products in float64, whatever the data are."""
        return self

    @abstractmethod
    def gram(self) -> NDArray[np.float64]:
        """Xc Xc^T, of shape (n, n)."""

    @abstractmethod
    def times(self, B: NDArray[Any]) -> Floats:
        """Xc B, each row by itself, in the type of X."""

    @abstractmethod
    def transposed_times(self, Z: NDArray[Any]) -> NDArray[np.float64]:
        """Xc^T Z, of shape (D, columns of Z)."""

    @abstractmethod
    def sum_of_squares(self) -> float:
        """The sum of all squared entries of Xc: n - 1 times the total variance."""


def products_memory(n: int, D: int) -> int:
    """Bytes that products with n rows of D numbers take for a moment: two blocks of packed rows, and a few centred."""
    width = D if n > 4 * PACKED_ROWS else min(D, PANEL_SIZE // max(n, PACKED_ROWS))
    panel = 0 if width == D else min(n * width, PANEL_SIZE)
    return 8 * (2 * PACKED_ROWS * width + panel + 2 * min(n * D, SQUARED_AT_ONCE))


def copied_memory(n: int, stored: int) -> int:
    """Bytes that the covariances of sparse rows take for a moment, each of which takes as much as `stored` numbers: its
    means, and the rows by columns beside them as they are."""
    return 22 * n * stored


def centred(X: Any, threads: int, mean: NDArray[np.float64] | None = None) -> CentredMatrix:
    """X less its own column means, or less those given."""
    return SparseCentred(X, mean) if issparse(X) else DenseCentred(X, threads, mean)


class DenseCentred(CentredMatrix):
    """Rows in an array; every product has the same bits for any number of threads."""

    def __init__(self, X: Floats, threads: int, mean: NDArray[np.float64] | None = None) -> None:
        self.shape = X.shape
        self._X = X
        self.single = X.dtype == np.float32
        self._threads = threads
        self.mean = native.kernels.column_means(X, threads) if mean is None else mean

    def precise(self) -> CentredMatrix:
        """By blocks of rows, where these have to be written in float64."""
        return InFloat64(self._X, self._threads, self.mean) if self.single else self

    def scatter(self) -> NDArray[np.float64]:
        """Xc^T Xc."""
        return np.asarray(native.kernels.scatter(self._X, self.mean, self._threads))

    def gram(self) -> NDArray[np.float64]:
        """Xc Xc^T."""
        columns = shifted_columns(self._X, self.mean, self._threads)
        return np.asarray(native.kernels.scatter(columns, np.zeros(self.shape[0]), self._threads))

    def times(self, B: NDArray[Any]) -> Floats:
        """Xc B."""
        B = np.ascontiguousarray(B, dtype=self._X.dtype)
        return np.asarray(native.kernels.project(self._X, self.mean, B, self._threads))

    def transposed_times(self, Z: NDArray[Any]) -> NDArray[np.float64]:
        """Xc^T Z."""
        Z = np.ascontiguousarray(Z, dtype=self._X.dtype)
        zeros, out = np.zeros(Z.shape[1]), np.empty((Z.shape[1], self.shape[1]))
        for columns in self._panels():
            stopping.check()
            out[:, columns] = native.kernels.cross(Z, zeros, self._panel(columns), self.mean[columns], self._threads)
        return out.T

    def _panel(self, columns: slice) -> Floats:
        return np.ascontiguousarray(self._X[:, columns])

    def _panels(self) -> list[slice]:
        """Columns that are multiplied at once: all, or as many as the kernel has a small place for."""
        n, D = self.shape
        width = D if n > 4 * PACKED_ROWS else PANEL_SIZE // max(n, PACKED_ROWS)
        return [slice(begin, min(begin + width, D)) for begin in range(0, D, width)]

    def sum_of_squares(self) -> float:
        """A few rows at a time, in float64."""
        n, D = self.shape
        step, total = max(1, min(ROWS_AT_ONCE, SQUARED_AT_ONCE // D)), 0.0
        for begin in range(0, n, step):
            stopping.check()
            block = self._X[begin : begin + step] - self.mean
            total += float(np.einsum("ij,ij->", block, block, dtype=np.float64))
        return total


class InFloat64(DenseCentred):
    """Rows in float32, of which a few at a time are multiplied in float64."""

    def __init__(self, X: Floats, threads: int, mean: NDArray[np.float64]) -> None:
        super().__init__(X, threads, mean)
        self.single = False

    def _blocks(self) -> Iterator[tuple[slice, DenseCentred]]:
        step = max(1, min(ROWS_AT_ONCE, NUMBERS_AT_ONCE // self.shape[1]))
        for begin in range(0, self.shape[0], step):
            rows = slice(begin, begin + step)
            yield rows, DenseCentred(self._X[rows].astype(np.float64), self._threads, self.mean)

    def scatter(self) -> NDArray[np.float64]:
        """The sum of those of the blocks."""
        return np.asarray(sum(block.scatter() for _, block in self._blocks()))

    def times(self, B: NDArray[Any]) -> Floats:
        """Block by block."""
        return np.vstack([block.times(B) for _, block in self._blocks()])

    def transposed_times(self, Z: NDArray[Any]) -> NDArray[np.float64]:
        """The sum of those of the blocks."""
        return np.asarray(sum(block.transposed_times(Z[rows]) for rows, block in self._blocks()))


class SparseCentred(CentredMatrix):
    """Rows in CSR; the mean enters the products as a correction, so that the matrix stays sparse.

    Such a correction loses digits where a column varies little beside its mean. A column in which an entry is not
    stored varies by mean^2 / n at least, which is no danger; one in which all are is shifted by its mean itself.
    """

    def __init__(self, X: Any, mean: NDArray[np.float64] | None = None) -> None:
        self.shape = X.shape
        self._X = X
        self.mean = self._column_means() if mean is None else mean

    def _column_means(self) -> NDArray[np.float64]:
        """Of a column of equal numbers that number itself, which a sum of many would miss by a rounding.

        A full column's is made exact by the mean of what is left of it: it may be all but equal numbers.
        """
        X, (n, D) = self._float64, self.shape
        means = np.asarray(X.sum(axis=0) / n)
        first = X[[0]].toarray()[0]
        others = np.bincount(X.indices[X.data != first[X.indices]], minlength=D)
        full = np.bincount(X.indices, minlength=D) == n
        left = np.bincount(X.indices, weights=X.data - means[X.indices], minlength=D) / n
        return np.where(full, np.where(others == 0, first, means + left), means)

    @cached_property
    def _float64(self) -> Any:
        return self._X.astype(np.float64, copy=False)

    @cached_property
    def _shifted(self) -> tuple[Any, NDArray[np.float64]]:
        """(X with its full columns centred, the means of the others)."""
        X = self._float64
        full = np.bincount(X.indices, minlength=self.shape[1]) == self.shape[0]
        if full.any():
            X = X.copy()
            X.data -= np.where(full, self.mean, 0)[X.indices]
        return X, np.where(full, 0, self.mean)

    def scatter(self) -> NDArray[np.float64]:
        """X^T X - n mean mean^T."""
        X, mean = self._shifted
        S = sparse_steps.product(X.T, X)
        S -= self.shape[0] * np.outer(mean, mean)
        return np.asarray(S)

    def gram(self) -> NDArray[np.float64]:
        """X X^T less the products with the mean."""
        X, mean = self._shifted
        with_mean = X @ mean
        K = sparse_steps.product(X, X.T)
        K -= with_mean[:, None]
        K -= with_mean
        K += mean @ mean
        return np.asarray(K)

    def times(self, B: NDArray[Any]) -> Floats:
        """X B - 1 (mean^T B); not shifted, since which columns are full is not a matter of one row."""
        return np.asarray(sparse_steps.times(self._float64, B) - self.mean @ B, dtype=self._X.dtype)

    def transposed_times(self, Z: NDArray[Any]) -> NDArray[np.float64]:
        """X^T Z - mean (1^T Z)."""
        X, mean = self._shifted
        Z = Z.astype(np.float64)
        return np.asarray(sparse_steps.times(X.T, Z) - np.outer(mean, Z.sum(axis=0)))

    def sum_of_squares(self) -> float:
        """Of the stored entries, less n |mean|^2."""
        X, mean = self._shifted
        return max(0.0, float((X.data**2).sum() - self.shape[0] * (mean @ mean)))
