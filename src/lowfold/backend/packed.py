"""Symmetric matrices of which one half is kept."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lowfold.backend import native
from lowfold.backend.pieces import in_pieces
from lowfold.types import Floats

STRIP = 64  # rows, as the kernel has them


class Packed:
    """A symmetric n x n matrix by strips of rows, each from the diagonal of its first row on."""

    def __init__(self, rows: Callable[[slice, slice], Floats], n: int, dtype: Any, threads: int) -> None:
        """rows(i, j) gives the entries of rows i and columns j; strips are made on all threads."""
        self.shape = n, n
        self.dtype = np.dtype(dtype)
        self._begin = np.cumsum([0, *(min(STRIP, n - first) * (n - first) for first in range(0, n, STRIP))])
        self._entries = np.empty(self._begin[-1], dtype)

        def work(part: slice) -> None:
            self._strip(part)[:] = rows(part, slice(part.start, n))

        in_pieces(work, n, threads, STRIP)

    def _strip(self, rows: slice) -> Floats:
        at = rows.start // STRIP
        entries: Floats = self._entries[self._begin[at] : self._begin[at + 1]]
        return entries.reshape(rows.stop - rows.start, self.shape[0] - rows.start)

    def times(self, V: Floats, threads: int) -> NDArray[np.float64]:
        """The product with a few vectors, in float64."""
        return native.kernels.packed_times(self._entries, np.ascontiguousarray(V, self.dtype), threads)

    def dense(self) -> Floats:
        """The whole matrix."""
        n = self.shape[0]
        whole = np.empty(self.shape, self.dtype)
        for first in range(0, n, STRIP):
            rows = slice(first, min(first + STRIP, n))
            strip = self._strip(rows)
            whole[rows, first:] = strip
            whole[first:, rows] = strip.T
            square = np.triu(strip[:, : len(strip)])
            whole[rows, rows] = square + np.triu(square, 1).T
        return whole
