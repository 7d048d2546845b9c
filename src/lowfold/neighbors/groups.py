"""Tight groups of points far from each other, each searched by itself.

Candidates are scored by float32 differences at best, from one place for all points (cpp/core/frame.hpp). Where a group
is smaller than a millionth of its distance from there, no score tells one of its points from another, and each row has
to measure all of its group. Within a group's own index it has not.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lowfold.backend import resources, stopping
from lowfold.neighbors.interface import Settings, in_order, lengths_of
from lowfold.neighbors.reduced import index_of_many_features
from lowfold.neighbors.rows import SEEN, RowsIndex
from lowfold.neighbors.scores import LEAST_POINTS, are_told_apart
from lowfold.options import seed_of
from lowfold.types import Floats, Neighbors

LEAST_PART = 1024  # points that are divided
LEAST_SHARE = 16  # of the points that are divided, one in so many is on each side
ROWS_AT_ONCE = 1 << 16  # that look round


@dataclass(frozen=True, eq=False)
class Box:
    """Some of the points, the smallest box about them, and the two boxes that they are divided into, if they are."""

    points: NDArray[np.intp]  # ascending, so that ties by their place are ties by index
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    halves: tuple[Box, ...] = ()

    def leaves(self) -> Iterator[Box]:
        """Those that are not divided, from one side to the other."""
        for half in self.halves:
            yield from half.leaves()
        if not self.halves:
            yield self

    def away(self, X: Floats, metric: str) -> NDArray[np.float64]:
        """How far outside each row is: no point in the box is nearer, but for the rounding of distances."""
        outside = np.maximum(np.maximum(self.low - X, X - self.high), 0)
        with np.errstate(over="ignore"):
            lengths = np.linalg.norm(outside, {"manhattan": 1, "chebyshev": np.inf}.get(metric, 2), axis=1)
        return np.asarray(lengths * (1 - (X.shape[1] + SEEN) * np.finfo(X.dtype).eps), np.float64)


def dense_index(X: Floats, metric: str, settings: Settings) -> RowsIndex:
    """The index of dense rows without many equal ones."""
    box = tight_groups(X, resources.thread_count(settings.n_jobs))
    if not box.halves:
        return index_of_many_features(X, metric, settings)
    return GroupedIndex(X, metric, settings, box)


def tight_groups(X: Floats, threads: int) -> Box:
    """The points divided until those of each part can be told apart, which mostly they can be as they are.

    They are divided at the widest gap of the column that is widest without the outermost points: if all lie in few
    groups there is a wide one between two of them.
    """
    points = np.arange(len(X))
    return _divided(X, points, threads) if len(X) >= LEAST_POINTS else _box(X, points)


def _box(own: Floats, points: NDArray[np.intp]) -> Box:
    return Box(points, own.min(axis=0).astype(np.float64), own.max(axis=0).astype(np.float64))


def _divided(X: Floats, points: NDArray[np.intp], threads: int) -> Box:
    stopping.check()
    own = X if len(points) == len(X) else X[points]
    box = _box(own, points)
    if len(points) < LEAST_PART or are_told_apart(own, threads):
        return box
    least = len(points) // LEAST_SHARE
    inner = np.partition(own / 2, (least, len(points) - least - 1), axis=0)  # halved, lest a difference overflow
    widths = inner[len(points) - least - 1] - inner[least]
    if not widths.max() > 0:
        return box
    column = own[:, np.argmax(widths)]
    order = np.argsort(column, kind="stable")
    gaps = np.diff(column[order[least : len(points) - least]] / 2)
    cut = least + int(np.argmax(gaps)) + 1
    halves = tuple(_divided(X, np.sort(points[part]), threads) for part in (order[:cut], order[cut:]))
    return dataclasses.replace(box, halves=halves)


class GroupedIndex(RowsIndex):
    """An index of each part of the points. A row looks into its own part, or that of the nearest box, then into each
    other whose box is no farther than the k-th point so far."""

    def __init__(self, X: Floats, metric: str, settings: Settings, box: Box) -> None:
        self.n = len(X)
        self._X = X
        self._metric = metric
        self._threads = resources.thread_count(settings.n_jobs)
        self._settings = dataclasses.replace(settings, random_state=seed_of(settings.random_state))
        self._build(box)

    def __getstate__(self) -> dict[str, Any]:
        # The parts are functions of the rest.
        made_again = ("_box", "_leaves", "_parts", "_part", "_place", "_exact")
        return {name: value for name, value in self.__dict__.items() if name not in made_again}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._build(tight_groups(self._X, self._threads))

    def _build(self, box: Box) -> None:
        self._box, self._leaves = box, list(box.leaves())
        self._part, self._place = np.empty(self.n, np.intp), np.empty(self.n, np.intp)  # of a point, and where in it
        self._parts = []
        for number, leaf in enumerate(self._leaves):
            stopping.check()
            self._part[leaf.points], self._place[leaf.points] = number, np.arange(len(leaf.points))
            self._parts.append(index_of_many_features(self._X[leaf.points], self._metric, self._settings))

    def _like(self, X: Floats, settings: Settings) -> RowsIndex:
        return dense_index(X, self._metric, settings)

    @functools.cached_property
    def _exact(self) -> GroupedIndex:
        return GroupedIndex(self._X, self._metric, dataclasses.replace(self._settings, search="exact"), self._box)

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
        if queries is None:
            return self._nearest_of(self._X, self._part, k, self._all_at_home)
        home, least = np.zeros(len(queries), np.intp), np.full(len(queries), np.inf)
        for number, leaf in enumerate(self._leaves):
            away = leaf.away(queries, self._metric)
            nearer = away < least
            home[nearer], least[nearer] = number, away[nearer]
        return self._nearest_of(queries, home, k, lambda part, rows, k: self._in_part(part, queries[rows], k))

    def nearest_points(self, points: NDArray[np.intp], k: int) -> Neighbors:
        """In the same parts, searched exactly."""
        if not self.is_exact:
            return self._exact.nearest_points(points, k)
        return self._nearest_of(
            self._X[points], self._part[points], k, lambda part, rows, k: self._some_at_home(part, points[rows], k)
        )

    def _all_at_home(self, part: int, rows: NDArray[np.intp], k: int) -> Neighbors | None:
        k = min(k, len(rows) - 1)
        return self._parts[part].nearest(None, k) if k else None

    def _some_at_home(self, part: int, points: NDArray[np.intp], k: int) -> Neighbors | None:
        k = min(k, len(self._leaves[part].points) - 1)
        return self._parts[part].nearest_points(self._place[points], k) if k else None

    def _in_part(self, part: int, queries: Floats, k: int) -> Neighbors:
        return self._parts[part].nearest(queries, min(k, len(self._leaves[part].points)))

    def _nearest_of(self, X: Floats, home: NDArray[np.intp], k: int, at_home: Callable[..., Any]) -> Neighbors:
        """The nearest k of the rows of X, each from its home on; at_home(part, rows, k): those that are there."""
        found = Neighbors(np.full((len(X), k), -1, np.int32), np.full((len(X), k), np.inf, X.dtype), self.n)
        recall = 1.0
        for part in np.unique(home).tolist():
            rows = np.flatnonzero(home == part)
            recall = min(recall, self._take(found, rows, part, at_home(part, rows, k)))
        for begin in range(0, len(X), ROWS_AT_ONCE):
            rows = np.arange(begin, min(begin + ROWS_AT_ONCE, len(X)))
            recall = min(recall, self._look_round(found, X, home, rows))
        return dataclasses.replace(found, recall=recall)

    def _look_round(self, found: Neighbors, X: Floats, home: NDArray[np.intp], rows: NDArray[np.intp]) -> float:
        """Looks into all other parts that may hold nearer points of the rows; returns the least recall."""
        recall, pending = 1.0, [(self._box, rows)]
        leaves = iter(range(len(self._leaves)))
        while pending:
            box, rows = pending.pop()
            if not box.halves:
                part = next(leaves)
                rows = rows[home[rows] != part]
            reach = lengths_of(found.distances[rows, -1], self._metric)
            rows = rows[box.away(X[rows], self._metric) <= reach]
            if box.halves:
                pending.extend((half, rows) for half in reversed(box.halves))
            elif len(rows):
                recall = min(recall, self._take(found, rows, part, self._in_part(part, X[rows], found.k)))
        return recall

    def _take(self, found: Neighbors, rows: NDArray[np.intp], part: int, there: Neighbors | None) -> float:
        """Puts what a part has for some rows among what was found; returns the recall of that."""
        if there is None:
            return 1.0
        indices = np.hstack([found.indices[rows], self._leaves[part].points[there.indices].astype(np.int32)])
        distances = np.hstack([found.distances[rows], there.distances])
        found.indices[rows], found.distances[rows] = in_order(indices, distances, found.k)
        return there.recall
