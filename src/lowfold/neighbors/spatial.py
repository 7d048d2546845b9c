"""Lowfold's own search over dense rows, exact and approximate (see cpp/core/knn.hpp)."""

from __future__ import annotations

import dataclasses
import functools
import math
from abc import abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lowfold.backend import native, resources
from lowfold.neighbors.engines import Cells, resolve
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
from lowfold.neighbors.samples import SAMPLE, TESTED, sample_points, share_found
from lowfold.neighbors.scores import BYTES, BYTES_FROM, CERTAIN, PRODUCTS, deviation, fitting_scores
from lowfold.neighbors.unlike import LANDMARKS, MANY, Sizes, unlike, usual_reach, with_reaches
from lowfold.options import seed_of
from lowfold.types import Floats, Indices, Neighbors

MIN_CELL = 250  # points below which dividing space costs more than it saves
# The same in an exact search among more columns than one group (wide_sums.hpp): to look at all of them for the cells
# costs as much as comparing hundreds of points, and queries are made ready once for each cell (2,000 x 10,000 random
# numbers: 0.76 s in 8 cells, 0.50 s in one).
WIDE, MIN_WIDE_CELL = 1024, 2000
SEEN = 16  # roundings of a distance, by which that of a new row may move it, and those of a sum of squares do
ROWS_AT_ONCE = 4096  # that are compared
MADE_AGAIN = ("_index", "_by_products", "_landmarks", "_sizes")  # of the rest, when it is needed, rather than stored
NOISE = 0.1  # of what may be missed, kept back for the chance that the test was lucky
# Attempts at the recall before the search becomes exact: the share of what may be missed that is left to the reach, and
# a factor on the allowance for the scores' errors. The first is mostly right: the radius shrinks, scores err.
ATTEMPTS = ((0.9, 1), (0.6, 1), (0.4, 2), (0.2, 8), (0.05, 8))


class RowsIndex(NeighborIndex):
    """Dense rows, and new rows beside them that may be of a wider type."""

    _X: Floats
    _metric: str
    _threads: int

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
        order = {"manhattan": 1, "chebyshev": np.inf}.get(self._metric, 2)
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
        wide = SpatialIndex(self._X.astype(given.dtype), self._metric, Settings(search="exact", n_jobs=self._threads))
        return nearest_rounded(
            lambda rows, wanted: wide.nearest(some_of(given, rows), wanted), k, self.n, self._X.dtype
        )


class SpatialIndex(RowsIndex):
    """Dense rows under euclidean, sqeuclidean, manhattan, chebyshev, or "cosine" for rows of length 1."""

    def __init__(self, X: Floats, metric: str, settings: Settings) -> None:
        self.n = len(X)
        self._X = X
        self._metric = metric
        self._threads = resources.thread_count(settings.n_jobs)
        self._seed = seed_of(settings.random_state)
        self._engine = resolve(settings.search, self.n, X.shape[1])
        self._plans: dict[int, Plan] = {}
        self._build()

    def __getstate__(self) -> dict[str, Any]:
        # The compiled indices are functions of the rest: they are built again rather than stored.
        return {name: value for name, value in self.__dict__.items() if name not in MADE_AGAIN}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, _plans=with_reaches(state["_plans"]))
        self._build()

    def _build(self) -> None:
        self._scores = PRODUCTS
        if self._metric not in ("manhattan", "chebyshev"):
            in_bytes = isinstance(self._engine, Cells) and self._X.shape[1] >= BYTES_FROM
            self._scores = fitting_scores(self._X, self._threads, bytes_too=in_bytes)
        self._index = self._made(self._scores)
        self._by_products: Any = None

    def _made(self, scores: str) -> Any:
        make = native.kernels.Index32 if self._X.dtype == np.float32 else native.kernels.Index64
        least = MIN_WIDE_CELL if self.is_exact and self._X.shape[1] > WIDE else MIN_CELL
        cells = max(1, min(round(math.sqrt(self.n)), self.n // least))
        return make(self._X, self._metric, cells, scores, self._seed, self._threads)

    def nearest(self, queries: Floats | None, k: int) -> Neighbors:
        """`query` for rows that have been checked."""
        plan = self._plan(k)
        if queries is None:
            return Neighbors(*self.search(plan, k), self.n, plan.recall)
        large = np.flatnonzero(self._scores == BYTES and self._sizes.exceeded_by(queries))
        large = large if len(large) >= MANY else large[:0]  # not worth another index
        usual = np.delete(np.arange(len(queries)), large) if len(large) else slice(None)
        indices, distances = np.empty((len(queries), k), np.int32), np.empty((len(queries), k), self._X.dtype)
        indices[usual], distances[usual] = self.search(plan, k, queries[usual])
        around = None if plan.reaches is None else plan.reaches[self._landmarks.search(EXACT, LANDMARKS, queries)[0]]
        far = unlike(distances, plan.usual, around, self._metric)
        for rows, certain in ((np.setdiff1d(far, large), self.certain()), (large, BY_PRODUCTS)):
            if len(rows):
                indices[rows], distances[rows] = self.search(certain, k, queries[rows])
        return Neighbors(indices, distances, self.n, plan.recall)

    @functools.cached_property
    def _landmarks(self) -> SpatialIndex:
        return SpatialIndex(self._X[self._sample], self._metric, Settings(search="exact", n_jobs=self._threads))

    @functools.cached_property
    def _sizes(self) -> Sizes:
        return Sizes(self._X[self._sample])

    @property
    def _sample(self) -> Indices:
        return sample_points(self.n, self._seed, SAMPLE)

    def search(
        self, plan: Plan, k: int, queries: Floats | None = None, subset: Indices | None = None
    ) -> tuple[Indices, Floats]:
        """(indices, distances) of the neighbours of new rows, of all points, or of some of them."""
        return self._scored(plan.in_bytes).search(queries, subset, k, plan.alpha, plan.caution, self._threads)

    def _scored(self, in_bytes: bool) -> Any:
        """The index, or, if it scores in 8 bits and they were not enough, one that does not."""
        if in_bytes or self._scores != BYTES:
            return self._index
        if self._by_products is None:
            self._by_products = self._made(PRODUCTS)
        return self._by_products

    def order(self) -> Indices:
        """The points, those near each other together."""
        return self._index.order()

    @property
    def is_exact(self) -> bool:
        """Whether the engine is."""
        return not isinstance(self._engine, Cells)

    def _plan(self, k: int) -> Plan:
        if isinstance(self._engine, Cells) and k not in self._plans:
            self._plans[k] = self.plan(k, self._engine.recall)
        return self._plans.get(k, EXACT)

    def plan(self, k: int, target: float) -> Plan:
        """The smallest reach that gives the recall on one part of a sample and keeps it on the other."""
        if self._index.cells == 1:
            return EXACT
        plan = self._calibrated(k, target, in_bytes=True)
        if plan is None and self._scores == BYTES:
            plan = self._calibrated(k, target, in_bytes=False)
        return BY_PRODUCTS if plan is None else plan

    def _calibrated(self, k: int, target: float, *, in_bytes: bool) -> Plan | None:
        sample, k_sample = self._sample, min(k, self.n - 1)
        caution = deviation(self._scores, self._X.shape[1]) if in_bytes else 1.0
        index = self._scored(in_bytes)
        true, needed = index.calibrate(sample, k_sample, min(1.0, CERTAIN * caution), self._threads)
        for share, factor in ATTEMPTS:
            alpha = float(np.quantile(needed[TESTED:], 1 - share * (1 - target), method="higher"))
            plan = Plan(alpha, min(1.0, factor * caution), 0.0, in_bytes=in_bytes)
            found, _ = self.search(plan, k_sample, subset=sample[:TESTED])
            recall = share_found(found, true[:TESTED])
            if recall >= target + NOISE * (1 - target):
                rows = self._X[sample]
                _, distances = native.kernels.rank_candidates(self._X, rows, true, self._metric, self._threads)
                last = distances[:, -1].copy()
                return dataclasses.replace(plan, recall=recall, usual=usual_reach(distances), reaches=last)
        return None

    def certain(self) -> Plan:
        """A plan by which no neighbour is missed, as far as scores err like sums do, not as they might at worst."""
        return dataclasses.replace(EXACT, caution=min(1.0, CERTAIN * deviation(self._scores, self._X.shape[1])))

    @property
    def dtype(self) -> Any:
        """The type of the distances."""
        return self._X.dtype

    def nearest_points(self, points: NDArray[np.intp], k: int) -> Neighbors:
        """In the same cells."""
        indices, distances = self.search(EXACT, k, subset=points.astype(np.int32))
        return Neighbors(indices, distances, self.n)

    def rows_measured(self) -> tuple[Floats, str] | None:
        """The rows themselves."""
        return self._X, self._metric

    def closest_pair(self, a: NDArray[np.intp], b: NDArray[np.intp]) -> tuple[int, int, float]:
        """By an exact search among the rows themselves."""
        return closest_rows(self._X, self._metric, self._threads, a, b)


@dataclass(frozen=True, slots=True)
class Plan:
    """How far to search, how much to allow for the scores' errors, and what recall that gave on a sample.

    usual: the distance of the last neighbour that few points exceed; reaches: those of the sample's points. A sample
    says nothing of a new row that exceeds them, between clusters or far from all points: its neighbours lie in many
    cells, and none of them is missed.
    in_bytes: by an index that may score in 8 bits.
    """

    alpha: float
    caution: float
    recall: float
    usual: float | None = None
    in_bytes: bool = True
    reaches: Floats | None = None


EXACT = Plan(alpha=1.0, caution=1.0, recall=1.0)
BY_PRODUCTS = dataclasses.replace(EXACT, in_bytes=False)


def closest_rows(
    X: Floats, metric: str, threads: int, a: NDArray[np.intp], b: NDArray[np.intp]
) -> tuple[int, int, float]:
    """`closest_pair` of the rows of X: each point of the larger set looks for the nearest one of the smaller."""
    few, many = (a, b) if len(a) <= len(b) else (b, a)
    nearest = SpatialIndex(X[few], metric, Settings(search="exact", n_jobs=threads)).nearest(X[many], 1)
    shortest = nearest.distances[:, 0].min()
    in_many = np.flatnonzero(nearest.distances[:, 0] == shortest)
    in_few = nearest.indices[in_many, 0]  # the first of each, so that the first pair is among these
    in_a, in_b = (in_few, in_many) if len(a) <= len(b) else (in_many, in_few)
    first = np.lexsort((in_b, in_a))[0]
    return int(a[in_a[first]]), int(b[in_b[first]]), float(shortest)
