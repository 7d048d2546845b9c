"""Lowfold's own search over dense rows, exact and approximate (see cpp/core/knn.hpp)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lowfold.backend import native, resources
from lowfold.neighbors.engines import Cells, resolve
from lowfold.neighbors.interface import NeighborIndex, Settings, read_queries
from lowfold.options import seed_of
from lowfold.types import Floats, Indices, Neighbors

MIN_CELL = 250  # points below which dividing space costs more than it saves
BYTES_FROM = 16  # dimensions from which 8-bit scores are faster than float32 ones
# Shares of the 8-bit scores' worst-case error to allow for. Errors of sums grow with the square root of the
# dimensions, worst cases with the dimensions: BYTE_SHARE / sqrt(d) is about one standard deviation.
BYTE_SHARE = 0.15
CERTAIN = 6  # times that: no score is off by so much
SAMPLE = 1024  # points whose true neighbours set the reach of the search, and (the first of them) test it
TESTED = 384
NOISE = 0.1  # of what may be missed, kept back for the chance that the test was lucky
SAMPLE_STREAM = 1 << 32  # of the random numbers: apart from those that the cells use
# Attempts at the recall before the search becomes exact: the share of what may be missed that is left to the reach, and
# a factor on the allowance for the scores' errors. The search sees a little more than the sample counts, since its
# radius only shrinks to the last distance, and a little less, since scores err: the first attempt is mostly right.
ATTEMPTS = ((0.9, 1), (0.6, 1), (0.4, 2), (0.2, 8))


class SpatialIndex(NeighborIndex):
    """Dense rows under euclidean, sqeuclidean, manhattan, chebyshev, or "cosine" for rows of length 1."""

    def __init__(self, X: Floats, metric: str, settings: Settings) -> None:
        self.n = len(X)
        self._X = X
        self._metric = metric
        self._threads = resources.thread_count(settings.n_jobs)
        self._seed = seed_of(settings.random_state)
        self._engine = resolve(settings.search, self.n, X.shape[1])
        self._plans: dict[int, _Plan] = {}
        self._build()

    def __getstate__(self) -> dict[str, Any]:
        # The compiled index is a function of the rest: it is built again rather than stored.
        return {name: value for name, value in self.__dict__.items() if name != "_index"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._build()

    def _build(self) -> None:
        make = native.kernels.Index32 if self._X.dtype == np.float32 else native.kernels.Index64
        cells = max(1, min(round(math.sqrt(self.n)), self.n // MIN_CELL))
        self._bytes = isinstance(self._engine, Cells) and self._X.shape[1] >= BYTES_FROM
        self._index = make(self._X, self._metric, cells, self._bytes, self._seed, self._threads)

    def _points_query(self, k: int) -> Neighbors:
        return self._search(None, k)

    def _new_query(self, X: Any, k: int) -> Neighbors:
        return self._search(read_queries(X, self._X), k)

    def _search(self, queries: Floats | None, k: int) -> Neighbors:
        plan = self._plan(k)
        indices, distances = self._index.search(queries, None, k, plan.alpha, plan.caution, self._threads)
        return Neighbors(indices, distances, self.n, plan.recall)

    def _plan(self, k: int) -> _Plan:
        if not isinstance(self._engine, Cells) or self._index.cells == 1:
            return EXACT
        if k not in self._plans:
            self._plans[k] = self._calibrated(k, self._engine.recall)
        return self._plans[k]

    def _calibrated(self, k: int, target: float) -> _Plan:
        """The smallest reach that gives the recall on one part of a sample and keeps it on the other."""
        sample = sample_points(self.n, self._seed)
        k_sample = min(k, self.n - 1)
        caution = BYTE_SHARE / math.sqrt(self._X.shape[1]) if self._bytes else 1.0
        true, needed = self._index.calibrate(sample, k_sample, min(1.0, CERTAIN * caution), self._threads)
        for share, factor in ATTEMPTS:
            alpha = float(np.quantile(needed[TESTED:], 1 - share * (1 - target), method="higher"))
            allowance = min(1.0, factor * caution)
            found, _ = self._index.search(None, sample[:TESTED], k_sample, alpha, allowance, self._threads)
            recall = share_found(found, true[:TESTED])
            if recall >= target + NOISE * (1 - target):
                return _Plan(alpha, allowance, recall)
        return EXACT

    def closest_pair(self, a: NDArray[np.intp], b: NDArray[np.intp]) -> tuple[int, int, float]:
        """Searches the larger set for each point of the smaller one's index."""
        if len(a) > len(b):
            j, i, distance = self.closest_pair(b, a)
            return i, j, distance
        exact = Settings(search="exact", n_jobs=self._threads)
        nearest = SpatialIndex(self._X[a], self._metric, exact)._search(self._X[b], 1)
        best = int(np.argmin(nearest.distances[:, 0]))
        return int(a[nearest.indices[best, 0]]), int(b[best]), float(nearest.distances[best, 0])


@dataclass(frozen=True, slots=True)
class _Plan:
    """How far to search, how much to allow for the scores' errors, and what recall that gave on a sample."""

    alpha: float
    caution: float
    recall: float


EXACT = _Plan(alpha=1.0, caution=1.0, recall=1.0)


def sample_points(n: int, seed: int) -> Indices:
    """Some of 0 .. n - 1 in random order, the same for a seed."""
    chosen = np.argsort(native.kernels.random_bits(seed, SAMPLE_STREAM, n), kind="stable")[:SAMPLE]
    return chosen.astype(np.int32)


def share_found(found: Indices, true: Indices) -> float:
    """The mean share of each row of `true` that is in the same row of `found`."""
    return float((found[:, :, None] == true[:, None, :]).any(axis=1).mean())
