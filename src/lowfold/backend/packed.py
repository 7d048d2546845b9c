"""Symmetric matrices of which one half is kept."""

from __future__ import annotations

from collections.abc import Callable, Iterator
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

    @property
    def entries(self) -> Floats:
        """The strips one after another, as the kernels take them."""
        return self._entries

    def strips(self) -> Iterator[tuple[int, Floats]]:
        """(first row, entries) of each strip; its columns begin at its first row."""
        for first in range(0, self.shape[0], STRIP):
            yield first, self._strip(slice(first, min(first + STRIP, self.shape[0])))

    def place(self, first: int) -> int:
        """Where the strip that begins at this row begins among the entries."""
        return int(self._begin[first // STRIP])

    def rows(self, part: slice) -> Floats:
        """Whole rows, put together from both sides of the diagonal."""
        n = self.shape[0]
        out = np.empty((part.stop - part.start, n), self.dtype)
        for first in range(0, part.stop, STRIP):
            rows = slice(first, min(first + STRIP, n))
            strip = self._strip(rows)
            begin, end = max(part.start, first), min(part.stop, rows.stop)
            if begin < end:
                out[begin - part.start : end - part.start, first:] = strip[begin - first : end - first]
            below = max(part.start, rows.stop)  # wanted rows whose entries in these columns stand in this strip
            if below < part.stop:
                out[below - part.start :, rows] = strip[:, below - first : part.stop - first].T
        return out

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
