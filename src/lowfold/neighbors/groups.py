"""Tight groups of points far from each other, each searched by itself.

Candidates are scored by float32 differences at best, from one place for all points (cpp/core/frame.hpp). Where a group
is smaller than a millionth of its distance from there, no score tells one of its points from another, and each row has
to measure all of its group. Within a group's own index it has not.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lowfold.backend import native, resources, stopping
from lowfold.neighbors.interface import Settings, in_order, lengths_of
from lowfold.neighbors.reduced import ReducedIndex, index_of_many_features
from lowfold.neighbors.rows import SEEN, RowsIndex
from lowfold.neighbors.samples import spread_points
from lowfold.neighbors.scores import AMONG, LEAST_POINTS, size_of_confused
from lowfold.neighbors.spatial import SpatialIndex
from lowfold.options import seed_of
from lowfold.types import Floats, Neighbors

TIGHT = 0.01  # of the size of the points that are confused: groups are within so much of one of their points
LEAST_PART = 512  # points of a group that is worth an index of its own; with fewer, all of them are measured quickly
FEW_WANTING = 0.1  # of the points may be in parts of fewer than are asked for; else one index of all is quicker
# Times the root of the smallest number, in a part by squares: scores of smaller ones would know more digits than they.
SQUARES_KNOWN = 1e8
NUMBERS_AT_ONCE = 1 << 20


def dense_index(X: Floats, metric: str, settings: Settings) -> RowsIndex:
    """The index of dense rows without many equal ones."""
    parts = tight_groups(X, metric, resources.thread_count(settings.n_jobs))
    if len(parts) == 1:
        return index_of_many_features(X, metric, settings)
    return GroupedIndex(X, metric, settings, parts)


def tight_groups(X: Floats, metric: str, threads: int) -> list[NDArray[np.intp]]:
    """The points, ascending, of each tight group and those in none; all together where scores tell them apart.

    Of a sample those that have others of it near them lead, each those that no earlier one does; then all points follow
    the leader nearest to them. Groups within a group, and those of which the sample has no two, are found when the
    parts are divided in turn. Cost n times the number of leaders, at most half the sample.
    """
    size = size_of_confused(X, threads) if len(X) >= LEAST_POINTS else None
    if size is None:
        return [np.arange(len(X))]
    rows = X[spread_points(len(X), AMONG)].astype(np.float64)
    near = TIGHT * size
    together = native.kernels.cross_distances(rows, rows, threads) <= near
    leaders, free = [], np.ones(len(rows), bool)
    for row in range(len(rows)):
        if free[row]:
            followers = together[row] & free
            free &= ~followers
            leaders += [row] if followers.sum() > 1 else []
    label, radii = np.full(len(X), len(leaders)), np.zeros(len(leaders))
    step = max(1, NUMBERS_AT_ONCE // max(X.shape[1], len(leaders), 1))
    for some in (slice(begin, begin + step) for begin in range(0, len(X) if leaders else 0, step)):
        stopping.check()
        away = native.kernels.cross_distances(X[some].astype(np.float64), rows[leaders], threads)
        first, least = away.argmin(axis=1), away.min(axis=1)
        label[some] = np.where(least <= near, first, len(leaders))
        np.maximum.at(radii, first[least <= near], least[least <= near])
    by_squares = metric in ("sqeuclidean", "cosine")
    smallest = SQUARES_KNOWN * float(np.sqrt(np.finfo(X.dtype).tiny)) if by_squares else 0.0
    count = np.bincount(label, minlength=len(leaders) + 1)[:-1]
    if (radii[count > 1] < smallest).any():
        return [np.arange(len(X))]
    label[~np.isin(label, np.flatnonzero(count >= LEAST_PART))] = len(leaders)
    return [np.flatnonzero(label == number) for number in np.unique(label)]


class GroupedIndex(RowsIndex):
    """An index of each part of the points. A row looks into its own part, or that of the nearest centre, then into each
    other whose ball is no farther than the k-th point so far."""

    def __init__(self, X: Floats, metric: str, settings: Settings, parts: list[NDArray[np.intp]]) -> None:
        self.n = len(X)
        self._X = X
        self._metric = metric
        self._threads = resources.thread_count(settings.n_jobs)
        self._settings = dataclasses.replace(settings, random_state=seed_of(settings.random_state))
        self._build(parts)

    def __getstate__(self) -> dict[str, Any]:
        # The parts are functions of the rest.
        made_again = ("_points", "_parts", "_part", "_place", "_centres", "_radii", "_exact", "_whole")
        return {name: value for name, value in self.__dict__.items() if name not in made_again}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._build(tight_groups(self._X, self._metric, self._threads))

    def _build(self, parts: list[NDArray[np.intp]]) -> None:
        self._points = parts
        self._part, self._place = np.empty(self.n, np.intp), np.empty(self.n, np.intp)  # of a point, and where in it
        self._centres, self._radii = np.empty((len(parts), self._X.shape[1])), np.empty(len(parts))
        self._parts = []
        for number, points in enumerate(parts):
            stopping.check()
            rows = self._X[points]
            self._part[points], self._place[points] = number, np.arange(len(points))
            self._centres[number] = rows.mean(axis=0, dtype=np.float64)
            self._parts.append(dense_index(rows, self._metric, self._settings))
            self._radii[number] = max(away[:, number].max() for _, away in self._from_centres(rows))

    def _like(self, X: Floats, settings: Settings) -> RowsIndex:
        return dense_index(X, self._metric, settings)

    @functools.cached_property
    def _exact(self) -> GroupedIndex:
        return GroupedIndex(self._X, self._metric, dataclasses.replace(self._settings, search="exact"), self._points)

    @functools.cached_property
    def _whole(self) -> SpatialIndex | ReducedIndex:
        return index_of_many_features(self._X, self._metric, self._settings)

    @property
    def is_exact(self) -> bool:
        """Whether the search in every part is."""
        return all(part.is_exact for part in self._parts)

    @property
    def dtype(self) -> Any:
        """The type of the distances."""
        return self._X.dtype

    def nearest(self, queries: Floats | None, k: int) -> Neighbors:
        """`query` for rows that have been checked."""
        if self._are_small_for(k):
            return self._whole.nearest(queries, k)
        if queries is None:
            return self._nearest_of(self._X, self._part, k, self._all_at_home)
        home = np.concatenate([away.argmin(axis=1) for _, away in self._from_centres(queries)])
        return self._nearest_of(queries, home, k, lambda part, rows, k: self._in_part(part, queries[rows], k))

    def nearest_points(self, points: NDArray[np.intp], k: int) -> Neighbors:
        """In the same parts, searched exactly."""
        if self._are_small_for(k):
            return self._whole.nearest_points(points, k)
        if not self.is_exact:
            return self._exact.nearest_points(points, k)
        return self._nearest_of(
            self._X[points], self._part[points], k, lambda part, rows, k: self._some_at_home(part, points[rows], k)
        )

    def _are_small_for(self, k: int) -> bool:
        """Whether many of the points would have to look for so many neighbours in many parts."""
        return sum(len(points) for points in self._points if len(points) <= k) > FEW_WANTING * self.n

    def _all_at_home(self, part: int, rows: NDArray[np.intp], k: int) -> Neighbors | None:
        k = min(k, len(rows) - 1)
        return self._parts[part].nearest(None, k) if k else None

    def _some_at_home(self, part: int, points: NDArray[np.intp], k: int) -> Neighbors | None:
        k = min(k, len(self._points[part]) - 1)
        return self._parts[part].nearest_points(self._place[points], k) if k else None

    def _in_part(self, part: int, queries: Floats, k: int) -> Neighbors:
        return self._parts[part].nearest(queries, min(k, len(self._points[part])))

    def _from_centres(self, X: Floats) -> Any:
        """(rows, their Euclidean distances from the centres), some rows at a time."""
        step = max(1, NUMBERS_AT_ONCE // max(X.shape[1], len(self._centres)))
        for some in (slice(begin, begin + step) for begin in range(0, len(X), step)):
            yield some, native.kernels.cross_distances(X[some].astype(np.float64), self._centres, self._threads)

    def _nearest_of(self, X: Floats, home: NDArray[np.intp], k: int, at_home: Callable[..., Any]) -> Neighbors:
        """The nearest k of the rows of X, each from its home on; at_home(part, rows, k): those that are there."""
        found = Neighbors(np.full((len(X), k), -1, np.int32), np.full((len(X), k), np.inf, X.dtype), self.n)
        recall = 1.0
        for part in np.unique(home).tolist():
            rows = np.flatnonzero(home == part)
            recall = min(recall, self._take(found, rows, part, at_home(part, rows, k)))
        for some, away in self._from_centres(X):
            rows = np.arange(some.start, some.start + len(away))
            recall = min(recall, self._look_round(found, X, home, rows, self._outside(away)))
        return dataclasses.replace(found, recall=recall)

    def _outside(self, away: NDArray[np.float64]) -> NDArray[np.float64]:
        """Lengths by the metric below which no point of each ball is; no length is less than Euclid's, but Chebyshev's
        by a factor of up to the root of the dimensions."""
        D = self._X.shape[1]
        rounding = (D + SEEN) * float(np.finfo(self._X.dtype).eps)
        lost = np.sqrt((D + SEEN) * float(np.finfo(self._X.dtype).smallest_subnormal))  # by squares
        least = away * (1 - rounding) - self._radii * (1 + rounding) - lost
        return np.asarray(least / np.sqrt(D) if self._metric == "chebyshev" else least)

    def _look_round(
        self, found: Neighbors, X: Floats, home: NDArray[np.intp], rows: NDArray[np.intp], outside: NDArray[np.float64]
    ) -> float:
        """Looks into all other parts that may hold nearer points of the rows, the nearest first; returns the least
        recall."""
        recall, least = 1.0, outside.copy()
        least[np.arange(len(rows)), home[rows]] = np.inf
        order = np.argsort(least, axis=1, kind="stable")
        pending = np.arange(len(rows))
        for rank in range(len(self._parts) - 1):
            reach = lengths_of(found.distances[rows[pending], -1], self._metric)
            pending = pending[least[pending, order[pending, rank]] <= reach]
            for part in np.unique(order[pending, rank]).tolist():
                near = rows[pending[order[pending, rank] == part]]
                recall = min(recall, self._take(found, near, part, self._in_part(part, X[near], found.k)))
            if not len(pending):
                break
        return recall

    def _take(self, found: Neighbors, rows: NDArray[np.intp], part: int, there: Neighbors | None) -> float:
        """Puts what a part has for some rows among what was found; returns the recall of that."""
        if there is None:
            return 1.0
        nearer = np.flatnonzero(there.distances[:, 0] <= found.distances[rows, -1])
        rows = rows[nearer]
        indices = np.hstack([found.indices[rows], self._points[part][there.indices[nearer]].astype(np.int32)])
        distances = np.hstack([found.distances[rows], there.distances[nearer]])
        order = np.argsort(distances, axis=1, kind="stable")  # quick for two lists in order
        indices, distances = np.take_along_axis(indices, order, 1), np.take_along_axis(distances, order, 1)
        found.indices[rows], found.distances[rows] = in_order(indices, distances, found.k)
        return there.recall
