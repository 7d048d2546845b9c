"""Indices of dense rows, and new rows beside them that may be of a wider type than the points."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lowfold.backend import native
from lowfold.neighbors.balls import ORDERS
from lowfold.neighbors.facing import facing
from lowfold.neighbors.interface import (
    EQUAL,
    NeighborIndex,
    Settings,
    first_of,
    given_queries,
    joined,
    lengths_of,
    nearest_rounded,
    rounded,
    some_of,
    some_rows,
    with_rows,
)
from lowfold.types import Floats, Neighbors

SEEN = 16  # roundings of a distance, by which that of a new row may move it, and those of a sum of squares do
ROWS_AT_ONCE = 4096  # that are compared


class RowsIndex(NeighborIndex):
    """Dense rows, and new rows beside them that may be of a wider type."""

    _X: Floats
    _metric: str
    _threads: int

    @abstractmethod
    def _like(self, X: Floats, settings: Settings) -> RowsIndex:
        """An index of this kind of other rows."""

    @abstractmethod
    def nearest(self, queries: Floats | None, k: int) -> Neighbors:
        """`query` for rows that have been checked, in the type of the points."""

    def _points_query(self, k: int) -> Neighbors:
        return self.nearest(None, k)

    def _new_query(self, X: Any, k: int) -> Neighbors:
        given = given_queries(X, self._X, self._threads)
        if given.dtype == self._X.dtype:
            return self.nearest(given, k)
        rows = given.astype(self._X.dtype)
        off = self._distances_moved(given, rows)
        same, other = np.flatnonzero(off == 0), np.flatnonzero(off)
        if not len(other):
            return self.nearest(rows, k)
        found = self._near_rounded(given[other], rows[other], off[other], k)
        return found if not len(same) else joined((same, self.nearest(rows[same], k)), (other, found))

    def _near_rounded(self, given: Floats, rows: Floats, off: NDArray[np.float64], k: int) -> Neighbors:
        """The nearest k of rows that the type of the points moves by `off`."""
        found = self.nearest(rows, min(k + EQUAL, self.n))
        moved = self._moved(off, found.distances[:, : k + self.is_exact])
        nearest = first_of(found, k)
        if not len(moved):
            return nearest
        own, undecided = self._measured_anew(given[moved], off[moved], some_rows(found, moved), k)
        if len(undecided):
            own = with_rows(own, undecided, self._in_wider_type(given[moved[undecided]], k))
        return with_rows(nearest, moved, own)

    def _distances_moved(self, given: Floats, rows: Floats) -> NDArray[np.float64]:
        """How far each row is moved by the type of the points."""
        parts = (slice(begin, begin + ROWS_AT_ONCE) for begin in range(0, len(rows), ROWS_AT_ONCE))
        order = ORDERS.get(self._metric)
        return np.concatenate([np.linalg.norm(given[part] - rows[part], order, axis=1) for part in parts])

    def _moved(self, off: NDArray[np.float64], distances: Floats) -> NDArray[np.intp]:
        """Rows that the type of the points has no room for: rounding them is seen in their distances, or may have
        exchanged two of their neighbours in an exact search."""
        distances = lengths_of(distances, self._metric).astype(np.float64)
        rounding = SEEN * np.finfo(self._X.dtype).eps * distances
        moved = off > rounding[:, 0]
        if self.is_exact:
            moved |= np.diff(distances, axis=1).min(axis=1, initial=np.inf) < 2 * off + rounding[:, -1]
        return np.flatnonzero(moved)

    def _measured_anew(
        self, given: Floats, off: NDArray[np.float64], found: Neighbors, k: int
    ) -> tuple[Neighbors, NDArray[np.intp]]:
        """(the nearest k of those found for the moved rows, as they are; those of them that may have nearer ones)."""
        ranked = native.kernels.rank_candidates(self._X, given, found.indices, self._metric, self._threads)
        nearest = first_of(rounded(Neighbors(*ranked, self.n, found.recall), self._X.dtype), k)
        if found.k == self.n:
            return nearest, np.zeros(0, np.intp)
        # Where a row was moved to, no other point is nearer than the last one found; where it is, than that less `off`.
        eps = SEEN * np.finfo(self._X.dtype).eps
        last = lengths_of(found.distances[:, -1], self._metric).astype(np.float64) * (1 - eps) - off
        return nearest, np.flatnonzero(last <= lengths_of(nearest.distances[:, -1], self._metric) * (1 + eps))

    def _in_wider_type(self, given: Floats, k: int) -> Neighbors:
        """The nearest k by distances in the type of the rows, which are rounded at the end, not at the beginning."""
        settings = Settings(search="exact", n_jobs=self._threads)
        wide = self._like(self._X.astype(given.dtype), settings)
        return nearest_rounded(
            lambda rows, wanted: wide.nearest(some_of(given, rows), wanted), k, self.n, self._X.dtype
        )

    def rows_measured(self) -> tuple[Floats, str] | None:
        """The rows themselves."""
        return self._X, self._metric

    def closest_pair(self, a: NDArray[np.intp], b: NDArray[np.intp]) -> tuple[int, int, float]:
        """By an exact search: each point of the larger set looks for the nearest one of the smaller."""
        a, b = facing(self._X, self._metric, a, b)
        few, many = (a, b) if len(a) <= len(b) else (b, a)
        settings = Settings(search="exact", n_jobs=self._threads)
        nearest = self._like(self._X[few], settings).nearest(self._X[many], 1)
        shortest = nearest.distances[:, 0].min()
        in_many = np.flatnonzero(nearest.distances[:, 0] == shortest)
        in_few = nearest.indices[in_many, 0]  # the first of each, so that the first pair is among these
        in_a, in_b = (in_few, in_many) if len(a) <= len(b) else (in_many, in_few)
        first = np.lexsort((in_b, in_a))[0]
        return int(a[in_a[first]]), int(b[in_b[first]]), float(shortest)
