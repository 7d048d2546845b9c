"""Neighbours read off what the user has computed: a matrix of distances, or a sparse neighbour graph."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse

from lowfold.errors import DataError
from lowfold.neighbors.components import edges_to_graph
from lowfold.neighbors.interface import NeighborIndex, lowest_entry, read_distances
from lowfold.types import Floats, Neighbors

ROWS_AT_ONCE = 1024
ENTRIES_AT_ONCE = 1 << 18  # of a sparse graph: so many are sorted in the caches


class DistanceIndex(NeighborIndex):
    """A symmetric matrix of distances between the points."""

    def __init__(self, D: Floats) -> None:
        self.n = len(D)
        self._D = D

    def _points_query(self, k: int) -> Neighbors:
        return self.nearest_points(np.arange(self.n), k)

    def nearest_points(self, points: NDArray[np.intp], k: int) -> Neighbors:
        """Of the rows of the matrix."""
        return _nearest_in_rows(self._D, k, points)

    def _new_query(self, X: Any, k: int) -> Neighbors:
        D = read_distances(X, self._D.dtype)
        if issparse(D) or D.shape[1] != self.n:
            raise DataError(
                f"Distances of new points need an array, not sparse, with a column for each of the {self.n} indexed "
                f"points; X is {type(D).__name__} of shape {D.shape}. Pass the distances to every indexed point."
            )
        return _nearest_in_rows(D, k)

    def closest_pair(self, a: NDArray[np.intp], b: NDArray[np.intp]) -> tuple[int, int, float]:
        """The smallest entry of the block of the matrix."""
        return lowest_entry(self._D[np.ix_(a, b)], a, b)


class GraphIndex(NeighborIndex):
    """A sparse graph whose stored entries are distances, as KNeighborsTransformer and NeighborGraph write it.

    A stored zero is a distance of zero; an entry on the diagonal is the point itself and is passed over.
    """

    def __init__(self, graph: csr_array) -> None:
        self.n = graph.shape[1]
        self._graph = graph
        self._both: csr_array | None = None  # with each entry in both directions, once that is needed

    def __getstate__(self) -> dict[str, Any]:
        # What is a function of the rest is not stored.
        return {"n": self.n, "_graph": self._graph}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.n, self._graph, self._both = state["n"], state["_graph"], None

    def _points_query(self, k: int) -> Neighbors:
        return _nearest_stored(self._graph, k, exclude_self=True)

    def _new_query(self, X: Any, k: int) -> Neighbors:
        graph = read_distances(X, self._graph.dtype)
        if not isinstance(graph, csr_array) or graph.shape[1] != self.n:
            raise DataError(
                f"Neighbours of new points must come as a sparse matrix with {self.n} columns, one for each indexed "
                f"point; X is {type(graph).__name__} of shape {graph.shape}. Use transform of the transformer that "
                f"made the graph."
            )
        return _nearest_stored(graph, k, exclude_self=False)

    def closest_pair(self, a: NDArray[np.intp], b: NDArray[np.intp]) -> tuple[int, int, float]:
        """The shortest distance that is stored, from either side; a graph does not know those that it leaves out."""
        if self._both is None:
            rows = np.repeat(np.arange(self.n), np.diff(self._graph.indptr))
            self._both = edges_to_graph(rows, self._graph.indices, self._graph.data, self.n)
        place = np.full(self.n, -1)  # in b
        place[b] = np.arange(len(b))
        ways = self._both[a]
        crossing = np.flatnonzero(place[ways.indices] >= 0)
        if len(crossing):
            row = np.searchsorted(ways.indptr, crossing, side="right") - 1
            first = np.lexsort((place[ways.indices[crossing]], row, ways.data[crossing]))[0]
            best = crossing[first]
            return int(a[row[first]]), int(ways.indices[best]), float(ways.data[best])
        raise DataError(
            "The neighbour graph has separate components and holds no distances between some of them, so they cannot "
            "be joined. Pass the data or a full matrix of distances, more neighbours, or another component policy."
        )


def _nearest_in_rows(D: Floats, k: int, points: NDArray[np.intp] | None = None) -> Neighbors:
    """Of all rows, or of those of some points, without each its own self."""
    count = len(D) if points is None else len(points)
    indices = np.empty((count, k), np.int32)
    distances = np.empty((count, k), D.dtype)
    for begin in range(0, count, ROWS_AT_ONCE):
        own = None if points is None else points[begin : begin + ROWS_AT_ONCE]
        block = D[begin : begin + ROWS_AT_ONCE].copy() if own is None else D[own]
        if own is not None:
            block[np.arange(len(block)), own] = np.inf
        farthest = np.partition(block, k - 1, axis=1)[:, k - 1 : k]
        rows, columns = np.nonzero(block <= farthest)  # k of each row, and what ties with the last of them
        counts = np.bincount(rows, minlength=len(block))
        values = block[rows, columns]
        chosen = _nearest_first(columns, values, np.cumsum(counts) - counts, counts)[:, :k]
        indices[begin : begin + len(block)], distances[begin : begin + len(block)] = columns[chosen], values[chosen]
    return Neighbors(indices, distances, D.shape[1])


def _nearest_stored(graph: csr_array, k: int, *, exclude_self: bool) -> Neighbors:
    rows = np.repeat(np.arange(graph.shape[0]), np.diff(graph.indptr))
    kept = rows != graph.indices if exclude_self else np.ones(len(rows), bool)
    rows, columns, values = rows[kept], graph.indices[kept], graph.data[kept]
    counts = np.bincount(rows, minlength=graph.shape[0])
    if counts.size and counts.min() < k:
        row = int(np.argmin(counts))
        raise DataError(
            f"The neighbour graph has {counts[row]} neighbours for row {row}, but {k} are needed here. "
            f"Ask for fewer neighbours, or pass a graph with more."
        )
    begin = np.cumsum(counts) - counts
    indices, distances = np.empty((len(counts), k), np.int32), np.empty((len(counts), k), values.dtype)
    step = max(1, ENTRIES_AT_ONCE // max(1, int(counts.max(initial=0))))
    for first in range(0, len(counts), step):
        some = slice(first, first + step)
        chosen = _nearest_first(columns, values, begin[some], counts[some])[:, :k]
        indices[some], distances[some] = columns[chosen], values[chosen]
    return Neighbors(indices, distances, graph.shape[1])


def _nearest_first(columns: Any, values: Any, begin: NDArray[np.intp], counts: NDArray[np.intp]) -> NDArray[np.intp]:
    """Where the entries of some rows stand, nearest first, ties by column: a table that is as wide as the longest row;
    what stands behind a shorter one's entries is of no meaning."""
    width = np.arange(int(counts.max(initial=0)))
    at, beyond = begin[:, None] + np.minimum(width, counts[:, None] - 1), width >= counts[:, None]
    by_column = np.argsort(np.where(beyond, np.iinfo(np.int32).max, columns[at]), axis=1, kind="stable")
    at = np.take_along_axis(at, by_column, axis=1)
    by_value = np.argsort(np.where(beyond, np.inf, values[at]), axis=1, kind="stable")
    return np.take_along_axis(at, by_value, axis=1)
