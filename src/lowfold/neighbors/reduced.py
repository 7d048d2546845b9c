"""Rows of many features: candidates are looked for in a subspace, and ranked by their distance in all features.

With V of orthonormal columns, |V^T (x - y)| <= |x - y|. Where V spans most of the variance, the two differ by little,
and the k nearest points are among the few nearest in the subspace, where a distance costs a fraction.
"""

from __future__ import annotations

import dataclasses
import functools
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lowfold.backend import blas, native, resources
from lowfold.neighbors.engines import Cells, resolve
from lowfold.neighbors.interface import Settings, lengths_of
from lowfold.neighbors.rows import RowsIndex
from lowfold.neighbors.samples import SAMPLE, TESTED, in_same_row, sample_points, share_found
from lowfold.neighbors.spatial import EXACT, NOISE, Plan, SpatialIndex
from lowfold.neighbors.unlike import LANDMARKS, unlike, usual_reach, with_reaches
from lowfold.options import seed_of
from lowfold.types import Floats, Indices, Neighbors

LEAST_WORK = 3e11  # multiplications of all pairs from which a subspace is looked for: half a second's
LEAST_FEATURES = 128  # with fewer, a third of them is searched no faster than all
NARROWER, MOST_DIMENSIONS = 3, 256  # a third of the features, or this many: with more, ranking saves nothing
SHARE = 0.92  # of the variance, to be kept: of the digits' 784 features 128, which is as quick as 0.87 (96) and 0.94
ROWS, ITERATIONS = 2048, 2  # of the subspace: enough that its variance is within a hundredth of the best one's
MULTIPLE = 32  # dimensions come in whole registers
INNER = ("euclidean", "sqeuclidean", "cosine")  # metrics that an orthogonal map does not change
# Attempts at the recall, as shares of what may be missed: neighbours that are not among the candidates to be kept, and
# candidates that are not found, the farthest of which come first and are seldom neighbours.
ATTEMPTS = ((0.25, 1.0), (0.15, 0.5), (0.05, 0.1))
MOST_KEPT = 8  # times k: with more candidates, all features from the first are quicker
DEEP = 16  # times k: candidates among which true neighbours are looked for at first
NUMBERS_AT_ONCE = 1 << 23  # of candidates, many times as many as neighbours, and of copied rows: tens of megabytes
TRUTH_SHARE = 0.02  # of all pairs, that may be looked at for the true neighbours of the sample


def index_of_many_features(X: Floats, metric: str, settings: Settings) -> SpatialIndex | ReducedIndex:
    """The index of dense rows that scores can tell apart, without many equal ones."""
    n, features = X.shape
    engine = resolve(settings.search, n, features)
    enough = n >= SAMPLE + ROWS and features >= LEAST_FEATURES and float(n) * n * features >= LEAST_WORK
    if enough and metric in INNER and isinstance(engine, Cells):
        settings = dataclasses.replace(settings, search=engine, random_state=seed_of(settings.random_state))
        space = subspace(X, seed_of(settings.random_state))
        if space is not None:
            return ReducedIndex(X, metric, settings, space)
    return SpatialIndex(X, metric, settings)


@dataclass(frozen=True, slots=True)
class Subspace:
    """mean (D,), and basis (D, d) with orthonormal columns."""

    mean: NDArray[np.float64]
    basis: Floats

    def coordinates(self, X: Floats, threads: int) -> Floats:
        """Of each row by itself."""
        return native.kernels.project(X, self.mean, self.basis, threads)


def subspace(X: Floats, seed: int) -> Subspace | None:
    """The directions that hold most of the variance of a sample of rows, if few enough do.

    By subspace iteration from random vectors (Halko, Martinsson, Tropp 2011). Cost ROWS * D * MOST_DIMENSIONS.
    """
    D = X.shape[1]
    others = sample_points(len(X), seed, SAMPLE + ROWS)[SAMPLE:]  # than those by which the search is judged
    chosen = X[np.sort(others)]
    mean = chosen.mean(axis=0, dtype=np.float64)
    chosen = chosen - mean
    rows = (chosen / (np.abs(chosen).max() or 1)).astype(np.float32)  # squares neither overflow nor vanish
    total = float(np.einsum("ij,ij->", rows, rows, dtype=np.float64))
    start = np.random.default_rng(seed).standard_normal((D, min(MOST_DIMENSIONS, D // NARROWER)), dtype=np.float32)
    with blas.single_threaded():
        Q = np.linalg.qr(start)[0]
        for _ in range(ITERATIONS):
            Q = np.linalg.qr(rows.T @ (rows @ Q))[0]
        values, rotation = np.linalg.eigh((Q.T @ (rows.T @ (rows @ Q))).astype(np.float64))
        kept = np.cumsum(values[::-1]) / total if total > 0 else np.zeros(1)
        if kept[-1] < SHARE:
            return None
        d = min(MULTIPLE * -(-int(np.argmax(kept >= SHARE) + 1) // MULTIPLE), Q.shape[1])
        basis = Q.astype(np.float64) @ rotation[:, : -d - 1 : -1]
    return Subspace(mean, np.ascontiguousarray(basis, dtype=X.dtype))


class ReducedIndex(RowsIndex):
    """An index of the rows' coordinates in a subspace, beside the rows themselves."""

    def __init__(self, X: Floats, metric: str, settings: Settings, space: Subspace) -> None:
        self.n = len(X)
        self._X = X
        self._metric = metric
        self._engine = settings.search
        self._threads = resources.thread_count(settings.n_jobs)
        self._seed = seed_of(settings.random_state)
        self._space = space
        self._plans: dict[int, ReducedPlan | None] = {}
        self._build()

    def __getstate__(self) -> dict[str, Any]:
        # All indices are functions of the rest.
        return {name: value for name, value in self.__dict__.items() if name not in ("_inner", "_whole", "_landmarks")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, _plans=with_reaches(state["_plans"]))
        self._build()

    def _build(self) -> None:
        self._inner = SpatialIndex(self._space.coordinates(self._X, self._threads), "euclidean", self._settings())
        self._whole: SpatialIndex | None = None

    def _settings(self) -> Settings:
        return Settings(search=self._engine, n_jobs=self._threads, random_state=self._seed)

    def _like(self, X: Floats, settings: Settings) -> SpatialIndex:
        return SpatialIndex(X, self._metric, settings)

    def nearest(self, queries: Floats | None, k: int) -> Neighbors:
        """`query` for rows that have been checked."""
        if k not in self._plans:
            self._plans[k] = self._calibrated(k)
        plan = self._plans[k]
        if plan is None:
            return self._in_all_features().nearest(queries, k)
        rows = self._inner.order() if queries is None else np.arange(len(queries), dtype=np.int32)
        found, distances = np.empty((len(rows), k), np.int32), np.empty((len(rows), k), self._X.dtype)
        step = max(1, NUMBERS_AT_ONCE // max(plan.kept, self._X.shape[1]))
        for part in (rows[begin : begin + step] for begin in range(0, len(rows), step)):
            if queries is None:
                found[part], distances[part] = self._among_points(plan, part, k)
            else:
                found[part], distances[part] = self._among_new(plan, queries[part], k)
        return Neighbors(found, distances, self.n, plan.recall)

    def _among_new(self, plan: ReducedPlan, queries: Floats, k: int) -> tuple[Indices, Floats]:
        inside = self._space.coordinates(queries, self._threads)
        found, distances = self._ranked(queries, self._inner.search(plan.inner, plan.kept, inside)[0], k)
        around = None if plan.reaches is None else plan.reaches[self._landmarks.search(EXACT, LANDMARKS, inside)[0]]
        far = unlike(distances, plan.usual, around, self._metric)
        if len(far):
            whole = self._in_all_features()
            found[far], distances[far] = whole.search(whole.certain(), k, queries[far])
        return found, distances

    @functools.cached_property
    def _landmarks(self) -> SpatialIndex:
        rows = self._space.coordinates(self._X[sample_points(self.n, self._seed, SAMPLE)], self._threads)
        return SpatialIndex(rows, "euclidean", Settings(search="exact", n_jobs=self._threads))

    def _among_points(self, plan: ReducedPlan, points: Indices, k: int) -> tuple[Indices, Floats]:
        return self._ranked(self._X[points], self._inner.search(plan.inner, plan.kept, subset=points)[0], k)

    def _ranked(self, queries: Floats, candidates: Indices, k: int) -> tuple[Indices, Floats]:
        """The nearest k of the candidates."""
        ranked = native.kernels.rank_candidates(self._X, queries, candidates, self._metric, self._threads)
        return np.ascontiguousarray(ranked[0][:, :k]), np.ascontiguousarray(ranked[1][:, :k])

    def _in_all_features(self) -> SpatialIndex:
        if self._whole is None:
            self._whole = SpatialIndex(self._X, self._metric, self._settings())
        return self._whole

    def _calibrated(self, k: int) -> ReducedPlan | None:
        """The fewest candidates that give the recall on one part of a sample and keep it on the other."""
        target = self._engine.recall if isinstance(self._engine, Cells) else 1.0
        sample = sample_points(self.n, self._seed, SAMPLE)
        truth = self._truth(sample, k) if MOST_KEPT * k < self.n else None
        if truth is None:
            return None
        (true, ranks, distances), missed = truth, 1 - target
        for share, inner_missed in ATTEMPTS:
            kept = max(k, 1 + int(np.quantile(ranks[TESTED:], 1 - share * missed, method="higher")))
            if kept > MOST_KEPT * k:
                break
            plan = ReducedPlan(kept, self._inner.plan(kept, 1 - inner_missed * missed), 0.0)
            found, _ = self._among_points(plan, sample[:TESTED], k)
            recall = share_found(found, true[:TESTED])
            if recall >= target + NOISE * missed:
                last = distances[:, -1].copy()
                return dataclasses.replace(plan, recall=recall, usual=usual_reach(distances), reaches=last)
        return None

    def _truth(self, sample: Indices, k: int) -> tuple[Indices, NDArray[np.intp], Floats] | None:
        """The true neighbours of some points, the place that each has by distance in the subspace, and its distance.

        No point beyond the last candidate is nearer than that one is in the subspace: where that is farther than the
        k-th neighbour, all are known; elsewhere more candidates are looked at. None where that would take too long.
        """
        true = np.empty((len(sample), k), np.int32)
        ranks, lengths = np.empty((len(sample), k), np.intp), np.empty((len(sample), k), self._X.dtype)
        pending, deep = np.arange(len(sample)), min(DEEP * k, self.n - 1)
        while len(pending):
            if len(pending) * deep > TRUTH_SHARE * float(self.n) ** 2:
                return None
            candidates, inside = self._inner.search(self._inner.certain(), deep, subset=sample[pending])
            true[pending], distances = self._ranked(self._X[sample[pending]], candidates, k)
            ranks[pending] = places(true[pending], candidates)
            lengths[pending] = distances
            known = (inside[:, -1] >= lengths_of(distances[:, -1], self._metric)) | (deep == self.n - 1)
            pending, deep = pending[~known], min(4 * deep, self.n - 1)
            if 2 * len(pending) > len(sample):
                return None  # the subspace says too little
        return true, ranks, lengths

    @property
    def is_exact(self) -> bool:
        """Never: it is made for the approximate search."""
        return False

    @property
    def dtype(self) -> Any:
        """The type of the distances."""
        return self._X.dtype

    def nearest_points(self, points: NDArray[np.intp], k: int) -> Neighbors:
        """In all features: a subspace misses some."""
        return self._in_all_features().nearest_points(points, k)


@dataclass(frozen=True, slots=True)
class ReducedPlan:
    """How many candidates to rank, how to look for them, what recall that gave on a sample, and of which rows that
    holds (see Plan)."""

    kept: int
    inner: Plan
    recall: float
    usual: float | None = None
    reaches: Floats | None = None


def places(chosen: Indices, candidates: Indices) -> NDArray[np.intp]:
    """In each row, the ascending places of the chosen among the candidates, all of which are different."""
    return np.nonzero(in_same_row(candidates, chosen))[1].reshape(chosen.shape)
