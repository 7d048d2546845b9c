"""Euclid's distance between rows in which numbers are missing."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from lowfold.backend import stopping
from lowfold.types import Floats

NUMBERS_AT_ONCE = 1 << 20


class RowsWithGaps:
    """`kneighbors` as scikit-learn's NearestNeighbors has it under nan_euclidean, equal distances by index.

    d(x, y)^2 = D / |P| sum_{p in P} (x_p - y_p)^2 over the columns P that both rows have; NaN where they share none.
    scikit-learn's products of matrices have other bits for other numbers of rows, and lose digits beside large numbers.
    """

    def __init__(self, X: Floats, dtype: Any) -> None:
        """dtype: of the distances, by which the nearest are chosen."""
        self._dtype = dtype
        self._columns = np.ascontiguousarray(X.T, dtype=np.float64)
        self._present = ~np.isnan(self._columns)
        self._columns[~self._present] = 0

    def kneighbors(self, X: Floats, k: int) -> tuple[Floats, NDArray[np.intp]]:
        """(distances, indices) of the nearest k."""
        distances, indices = np.empty((len(X), k), self._dtype), np.empty((len(X), k), np.intp)
        step = max(1, NUMBERS_AT_ONCE // self._columns.shape[1])
        for rows in (slice(begin, begin + step) for begin in range(0, len(X), step)):
            stopping.check()
            distances[rows], indices[rows] = _nearest(self._distances(X[rows].astype(np.float64)), k)
        return distances, indices

    def _distances(self, X: NDArray[np.float64]) -> Floats:
        """A column at a time: the same operations for each pair, whatever is beside it."""
        D, n = self._columns.shape
        there = ~np.isnan(X)
        known = np.where(there, X, 0)
        squares, shared, off = np.zeros((len(X), n)), np.zeros((len(X), n)), np.empty((len(X), n))
        for p in range(D):
            both = there[:, p, None] & self._present[p]
            np.subtract(known[:, p, None], self._columns[p], out=off)
            off *= off
            off *= both
            squares += off
            shared += both
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray(np.sqrt(squares * (D / shared)), self._dtype)


def _nearest(distances: Floats, k: int) -> tuple[Floats, NDArray[np.intp]]:
    """The k smallest of each row, equal ones by their place; NaN is larger than all."""
    order = np.argpartition(distances, k - 1, axis=1)[:, :k]
    last = np.take_along_axis(distances, order, 1).max(axis=1, keepdims=True)
    far = ~(distances <= last)  # NaN among them
    row, place = np.nonzero(~far | np.isnan(last))
    lengths = distances[row, place]
    order = np.lexsort((place, lengths, row))
    begin = np.searchsorted(row, np.arange(len(distances)))
    chosen = order[begin[:, None] + np.arange(k)]
    return lengths[chosen], place[chosen]
