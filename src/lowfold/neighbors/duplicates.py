"""Many equal rows: each distinct row is searched for once, and the answer is spread over its copies.

A cell of m equal points would cost m^2 distances, all of them zero; among sparse rows, what is as far away as the last
neighbour is measured one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lowfold.backend import resources, stopping
from lowfold.neighbors.groups import dense_index
from lowfold.neighbors.interface import NeighborIndex, Settings, without_self
from lowfold.neighbors.samples import spread_points
from lowfold.neighbors.sparse_rows import SPARE, SparseIndex
from lowfold.training import equal_rows, fingerprints
from lowfold.types import Floats, Neighbors

LOOK = 2048  # rows looked at first: a group too small to show among them costs little
MANY, MANY_SPARSE = 256, SPARE  # equal rows from which it pays to keep one
ROWS_AT_ONCE = 4096  # that are compared
NUMBERS_AT_ONCE = 1 << 19  # neighbours that are spread: hundredths of a second


def rows_index(X: Floats, metric: str, settings: Settings) -> NeighborIndex:
    """The index of dense rows under a metric that has a kernel."""
    groups = groups_of_equals(X, MANY, resources.thread_count(settings.n_jobs))
    if groups is None:
        return dense_index(X, metric, settings)
    return DistinctIndex(X, groups, lambda rows: dense_index(rows, metric, settings))


def sparse_index(X: Any, settings: Settings, dtype: Any = None) -> NeighborIndex:
    """The index of sparse rows under Euclid's metric and its kin; dtype: of the distances, if not that of X."""
    groups = groups_of_equals(X, MANY_SPARSE, resources.thread_count(settings.n_jobs))
    if groups is None:
        return SparseIndex(X, settings, dtype)
    return DistinctIndex(X, groups, lambda rows: SparseIndex(rows, settings, dtype))


class DistinctIndex(NeighborIndex):
    """The index of the distinct rows of X, with the copies of each."""

    def __init__(self, X: Any, groups: NDArray[np.intp], make: Callable[[Any], Any]) -> None:
        self.n = X.shape[0]
        self._group = groups
        self._members = np.argsort(groups, kind="stable").astype(np.int32)
        self._sizes = np.bincount(groups)
        self._begin = np.cumsum(self._sizes) - self._sizes
        self._distinct = make(X[self._members[self._begin]])

    @property
    def is_exact(self) -> bool:
        """As the search among the distinct rows."""
        return bool(self._distinct.is_exact)

    def _points_query(self, k: int) -> Neighbors:
        count = self._distinct.n
        others = self._distinct.query(None, min(k, count - 1)) if count > 1 else None
        return self._others(self._with_itself(np.arange(count), others), np.arange(self.n), self._group, k)

    def nearest_points(self, points: NDArray[np.intp], k: int) -> Neighbors:
        """Once for each distinct row."""
        chosen, row = np.unique(self._group[points], return_inverse=True)
        count = self._distinct.n
        others = self._distinct.nearest_points(chosen, min(k, count - 1)) if count > 1 else None
        return self._others(self._with_itself(chosen, others), points, row, k)

    def _with_itself(self, chosen: NDArray[np.intp], others: Neighbors | None) -> Neighbors:
        """Some distinct rows and, behind each, the others nearest to it."""
        itself = chosen.astype(np.int32)[:, None]
        zeros = np.zeros(itself.shape, self._distinct.dtype)
        if others is None:
            return Neighbors(itself, zeros, self._distinct.n)
        indices, distances = np.hstack([itself, others.indices]), np.hstack([zeros, others.distances])
        return Neighbors(indices, distances, self._distinct.n, others.recall)

    def _others(self, found: Neighbors, points: NDArray[np.intp], row: NDArray[np.intp], k: int) -> Neighbors:
        """The k nearest of points[i], whose distinct row's are in row[i] of those found."""
        spread = self._spread(found, k + 1)
        return without_self(Neighbors(spread.indices[row], spread.distances[row], self.n, found.recall), points)

    def _new_query(self, X: Any, k: int) -> Neighbors:
        return self._spread(self._distinct.query(X, min(k, self._distinct.n)), k)

    def _spread(self, found: Neighbors, k: int) -> Neighbors:
        """The first k copies of the distinct rows found, by distance and index."""
        indices = np.empty((found.n, k), np.int32)
        distances = np.empty((found.n, k), found.distances.dtype)
        step = max(1, NUMBERS_AT_ONCE // (k + found.k))
        for begin in range(0, found.n, step):
            groups, far = found.indices[begin : begin + step], found.distances[begin : begin + step]
            sizes = self._copies_wanted(groups, far, k)
            for part in _parts_of(sizes.sum(axis=1)):
                stopping.check()
                rows = slice(begin + part.start, begin + part.stop)
                indices[rows], distances[rows] = self._spread_rows(groups[part], far[part], sizes[part], k)
        return Neighbors(indices, distances, self.n, found.recall)

    def _spread_rows(self, groups: Any, distances: Any, sizes: Any, k: int) -> tuple[Any, Any]:
        """The first k of so many copies of each."""
        copies = np.repeat(groups.ravel(), sizes.ravel())
        ends = np.cumsum(sizes.ravel())
        number = np.arange(ends[-1]) - np.repeat(ends - sizes.ravel(), sizes.ravel())  # 0, 1, ... within each group
        points = self._members[self._begin[copies] + number]
        spread = np.repeat(distances.ravel(), sizes.ravel())
        row = np.repeat(np.arange(len(groups)), sizes.sum(axis=1))
        order = np.lexsort((points, spread, row))
        row_begin = np.cumsum(sizes.sum(axis=1)) - sizes.sum(axis=1)
        chosen = order[row_begin[:, None] + np.arange(k)]
        return points[chosen], spread[chosen]

    def _copies_wanted(self, groups: Any, distances: Any, k: int) -> Any:
        """How many copies of each distinct row, nearest first, may be among the nearest k.

        None of those behind k copies that are nearer; of equally far rows each may have the lowest numbers, so of each
        there are as many as there is room for.
        """
        sizes = np.minimum(self._sizes[groups], k)
        before = np.cumsum(sizes, axis=1) - sizes
        farther = np.ones(distances.shape, bool)
        farther[:, 1:] = distances[:, 1:] > distances[:, :-1]
        nearer = np.maximum.accumulate(np.where(farther, before, 0), axis=1)  # copies of all that are nearer
        return np.minimum(sizes, np.maximum(k - nearer, 0))

    def closest_pair(self, a: NDArray[np.intp], b: NDArray[np.intp]) -> tuple[int, int, float]:
        """The closest pair of their distinct rows; equal rows on both sides are at distance 0."""
        distinct_a, first_a = np.unique(self._group[a], return_index=True)
        distinct_b, first_b = np.unique(self._group[b], return_index=True)
        shared, at_a, at_b = np.intersect1d(distinct_a, distinct_b, return_indices=True)
        if len(shared):
            first = np.argmin(first_a[at_a])
            return int(a[first_a[at_a[first]]]), int(b[first_b[at_b[first]]]), 0.0
        # In the order of a and b, which decides between equal distances.
        i, j, distance = self._distinct.closest_pair(distinct_a[np.argsort(first_a)], distinct_b[np.argsort(first_b)])
        return (
            int(a[first_a[np.searchsorted(distinct_a, i)]]),
            int(b[first_b[np.searchsorted(distinct_b, j)]]),
            distance,
        )


def _parts_of(sizes: NDArray[np.intp]) -> Iterator[slice]:
    """Parts whose sizes add up to no more than are handled at once, or that are one large size each."""
    begin, total = 0, 0
    for end, size in enumerate(sizes.tolist()):
        if end > begin and total + size > NUMBERS_AT_ONCE:
            yield slice(begin, end)
            begin, total = end, 0
        total += size
    yield slice(begin, len(sizes))


def groups_of_equals(X: Any, many: int, threads: int) -> NDArray[np.intp] | None:
    """The number of the group of equal rows that each row is in, or None if no group has so many.

    Groups are numbered by their first rows, so that ties by their number are ties by index.
    """
    n = X.shape[0]
    seen = fingerprints(X if n <= LOOK else X[spread_points(n, LOOK)], threads)
    if n < many or len(np.unique(seen)) == len(seen):
        return None
    prints = fingerprints(X, threads)
    _, first, groups, sizes = np.unique(prints, return_index=True, return_inverse=True, return_counts=True)
    if sizes.max() < many or not _really_equal(X, first, groups):
        return None
    number = np.empty(len(first), np.intp)
    number[np.argsort(first)] = np.arange(len(first))
    return number[groups]


def _really_equal(X: Any, first: NDArray[np.intp], groups: NDArray[np.intp]) -> bool:
    """Whether each row equals the first of its group: equal fingerprints alone do not prove it."""
    return all(
        equal_rows(X[begin : begin + ROWS_AT_ONCE], X[first[groups[begin : begin + ROWS_AT_ONCE]]]).all()
        for begin in range(0, X.shape[0], ROWS_AT_ONCE)
    )
