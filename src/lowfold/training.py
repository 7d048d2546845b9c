"""The rows that a model was fitted to, so that each of them can be found again and get its own coordinates."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse

from lowfold.backend import native

ROWS_AT_ONCE = 1 << 16  # that are looked up before Ctrl-C is heard again


class TrainingRows:
    """Rows, dense or sparse, that are found again by their values.

    They may be the caller's own array, which the contract says not to change. A copy would cost the size of X; seven
    methods fitted to 10,000 x 784 numbers keep 0.1 (MDS with landmarks) to 2.3 times that (LLE) beside X, most 1.3.
    """

    def __init__(self, values: Any, threads: int) -> None:
        self._values = values
        self._prints = fingerprints(values, threads)
        self._order = np.argsort(self._prints, kind="stable")  # of equal rows the first one is found

    @property
    def values(self) -> Any:
        """The rows themselves; nobody writes to them."""
        return self._values

    def stored_alike(self, new: Any) -> Any:
        """New rows, sparse where the training rows are and nowhere else."""
        if issparse(new) == issparse(self._values):
            return new
        return new.toarray() if issparse(new) else csr_array(new)

    def alike(self, new: Any) -> Any:
        """The same, in the type of the training rows."""
        return self.stored_alike(new).astype(self._values.dtype, copy=False)

    def find(self, new: Any, threads: int) -> NDArray[np.intp]:
        """For each new row the number of the training row with the same values, or -1."""
        prints = fingerprints(new, threads)
        pieces = range(0, len(prints), ROWS_AT_ONCE)
        at = np.empty(len(prints), np.intp)
        for rows in (slice(begin, begin + ROWS_AT_ONCE) for begin in pieces):
            at[rows] = np.searchsorted(self._prints, prints[rows], sorter=self._order)
        candidates = self._order[np.minimum(at, len(self._order) - 1)]
        known = np.flatnonzero(self._prints[candidates] == prints)
        equal = known[equal_rows(new[known], self._values[candidates[known]])]
        found = np.full(new.shape[0], -1, np.intp)
        found[equal] = candidates[equal]
        return found

    def first_equals(self, threads: int) -> NDArray[np.intp]:
        """For each training row the number of the first one with the same values, mostly its own."""
        prints = self._prints[self._order]
        as_before = np.append(False, prints[1:] == prints[:-1])
        again = np.sort(self._order[as_before | np.append(as_before[1:], False)])
        found = self.find(self._values[again], threads)
        first = np.arange(len(prints))
        first[again] = np.where(found < 0, again, found)
        return first


def fingerprints(values: Any, threads: int) -> NDArray[np.uint64]:
    """64 bits of each row, dense or sparse: the same for equal rows, and seldom for others."""
    if not issparse(values):
        return np.asarray(native.kernels.fingerprints(np.ascontiguousarray(values), threads))
    rows = csr_array(values)
    columns, numbers = rows.indices.astype(np.int64), rows.data.astype(np.float64) + 0.0
    ends = zip(rows.indptr[:-1], rows.indptr[1:], strict=True)
    digests = [_digest(columns[begin:end].tobytes() + numbers[begin:end].tobytes()) for begin, end in ends]
    return np.frombuffer(b"".join(digests), np.uint64)


def _digest(content: bytes) -> bytes:
    """Eight bytes, the same in every process."""
    return hashlib.blake2b(content, digest_size=8).digest()


def equal_rows(a: Any, b: Any) -> NDArray[np.bool_]:
    """Which rows of a equal those of b."""
    if issparse(a):
        return np.asarray((csr_array(a) != csr_array(b)).sum(axis=1) == 0).ravel()
    return np.asarray(((a == b) | ((a != a) & (b != b))).all(axis=1))  # a missing distance equals a missing one
