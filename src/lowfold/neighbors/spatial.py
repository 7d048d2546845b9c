"""Lowfold's own search over dense rows, exact and approximate (see cpp/core/knn.hpp)."""

from __future__ import annotations

import dataclasses
import functools
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lowfold.backend import native, resources
from lowfold.neighbors.engines import Cells, resolve
from lowfold.neighbors.interface import Settings
from lowfold.neighbors.rows import RowsIndex
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
MADE_AGAIN = ("_index", "_by_products", "_landmarks", "_sizes")  # of the rest, when it is needed, rather than stored
NOISE = 0.1  # of what may be missed, kept back for the chance that the test was lucky
# Attempts at the recall before the search becomes exact: the share of what may be missed that is left to the reach, and
# a factor on the allowance for the scores' errors. The first is mostly right: the radius shrinks, scores err.
ATTEMPTS = ((0.9, 1), (0.6, 1), (0.4, 2), (0.2, 8), (0.05, 8))


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

    def _like(self, X: Floats, settings: Settings) -> SpatialIndex:
        return SpatialIndex(X, self._metric, settings)

    def nearest(self, queries: Floats | None, k: int) -> Neighbors:
        """`query` for rows that have been checked."""
        plan = self._plan(k)
        if queries is None:
            return Neighbors(*self.search(plan, k), self.n, plan.recall)
        large = np.flatnonzero(self._scores == BYTES and self._sizes.exceeded_by(queries))
        usual = np.delete(np.arange(len(queries)), large) if len(large) else slice(None)
        indices, distances = np.empty((len(queries), k), np.int32), np.zeros((len(queries), k), self._X.dtype)
        indices[usual], distances[usual] = self.search(plan, k, queries[usual])
        around = None if plan.reaches is None else plan.reaches[self._landmarks.search(EXACT, LANDMARKS, queries)[0]]
        far = unlike(distances, plan.usual, around, self._metric)
        # A few large rows are not worth another index; both are exact, so that a row's neighbours do not depend on it.
        exact = BY_PRODUCTS if len(large) >= MANY else EXACT
        for rows, certain in ((np.setdiff1d(far, large), self.certain()), (large, exact)):
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
