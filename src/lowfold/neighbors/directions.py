"""Cosine and correlation distance: a search among unit vectors."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix, issparse

from lowfold.backend import native, resources
from lowfold.neighbors.duplicates import rows_index, sparse_index
from lowfold.neighbors.interface import (
    NeighborIndex,
    Settings,
    first_of,
    given_queries,
    in_order,
    nearest_rounded,
    rounded,
    some_of,
    with_rows,
    without_self,
)
from lowfold.neighbors.samples import SAMPLE, sample_points
from lowfold.neighbors.sparse_rows import row_lengths
from lowfold.options import seed_of
from lowfold.types import Floats, Neighbors

# Distances below which the rounding of unit vectors to float32 may decide between two: |u - v| of a thousandth is off
# by up to a ten-thousandth of itself.
CLOSE = 5e-7
MERGED_AT_ONCE = 1 << 22  # distances
MISLED = 1e-3  # share of the points so close to their second neighbour that makes an approximate search go by float64
ALIKE = 1e-4  # variance of unit vectors, all together, below which all distances are as small as that or nearly so


class DirectionIndex(NeighborIndex):
    """1 - cos(x, y), or for correlation the same of rows less their mean.

    Among unit vectors u, v it is |u - v|^2 / 2. A row without direction (zero, or constant under correlation) is at
    distance 1 from every other row, as scikit-learn has it for the cosine (its correlation gives NaN, which has no
    place in an order); such rows are kept apart and merged into the answers. The unit vectors of float32 rows are
    float32, but float64 where they are all alike, in an approximate search where some, and in an exact one for each
    row that has two neighbours closer than their rounding can tell apart.
    """

    # Of an index that was stored before it had them.
    _threads = 1
    _wide = False

    def __init__(self, X: Any, settings: Settings) -> None:
        self.n = X.shape[0]
        self._X = X
        self._centred = settings.metric == "correlation"
        self._threads = resources.thread_count(settings.n_jobs)
        units, has_direction = self._directions(X)
        in_float32 = X.dtype == np.float32 and not issparse(X)
        self._wide = in_float32 and _variance(units, self._threads) < ALIKE
        self._take(*self._directions(X) if self._wide else (units, has_direction), settings)
        if in_float32 and not self._wide and self._is_misled(seed_of(settings.random_state)):
            self._wide = True
            self._take(*self._directions(X), settings)

    def _take(self, units: Any, has_direction: NDArray[np.bool_], settings: Settings) -> None:
        self._directed = np.flatnonzero(has_direction).astype(np.int32)
        self._undirected = np.flatnonzero(~has_direction).astype(np.int32)
        self._units = units if not len(self._undirected) else units[self._directed]
        self._index = self._search_of_units(settings) if len(self._directed) else None

    def _is_misled(self, seed: int) -> bool:
        """Whether an approximate search would take neighbours, and those by which it is judged, from roundings."""
        if self._index is None or self._index.is_exact or self._index.n <= 2:
            return False
        sample = sample_points(self._index.n, seed, SAMPLE).astype(np.intp)
        nearest = self._index.nearest_points(sample, 2)
        return nearest is not None and float(np.mean(nearest.distances[:, 1] < CLOSE)) > MISLED

    @property
    def is_exact(self) -> bool:
        """As the search among the unit vectors."""
        return self._index is None or self._index.is_exact

    def _search_of_units(self, settings: Settings) -> NeighborIndex:
        if issparse(self._units):
            return sparse_index(self._units, settings, self._X.dtype)
        return rows_index(self._units, "cosine", settings)

    def _directions(self, X: Any) -> tuple[Any, NDArray[np.bool_]]:
        if issparse(X):
            return sparse_directions(X)
        # New rows in the type of the points where that is the wider one, or equal rows would be apart.
        wider = np.float64 if self._wide else np.promote_types(X.dtype, self._X.dtype)
        rows = X.astype(wider, copy=False)
        units, has_direction = native.kernels.directions(rows, self._centred, self._threads)
        return units.astype(np.float64 if self._wide else self._X.dtype, copy=False), has_direction

    def _points_query(self, k: int) -> Neighbors:
        if not len(self._undirected) and self._index is not None:
            ask = _Ask(functools.partial(_of_points, self._index), _of_points)
            return self._sharpened(ask, k, self.n - 1, exact=self.is_exact)
        # One more, so that each point itself can be dropped.
        return without_self(self._new_query(self._X, k + 1))

    def _new_query(self, X: Any, k: int) -> Neighbors:
        given = given_queries(X, self._X, self._threads)
        units, has_direction = self._directions(given)
        indices = np.empty((units.shape[0], 0), np.int32)
        distances = np.empty((units.shape[0], 0), self._X.dtype)
        recall = 1.0
        if self._index is not None:
            among = self._index
            ask = _Ask(
                lambda rows, k: among.query(some_of(units, rows), k),
                lambda wide, rows, k: wide.query(_in_float64(given[rows], self._centred, self._threads), k),
            )
            found = self._sharpened(ask, min(k, self._index.n), self._index.n, exact=self.is_exact)
            indices, distances, recall = self._directed[found.indices], found.distances, found.recall
            # Everything is at distance 1 from a query without direction: the first points are as near as any.
            indices[~has_direction] = self._directed[: indices.shape[1]]
            distances[~has_direction] = 1
        return self._merged(indices, distances, k, recall)

    def _sharpened(self, ask: _Ask, k: int, most: int, *, exact: bool) -> Neighbors:
        """The nearest k, in the type of the rows; if they have to be exact, as float64 finds them."""
        dtype = self._X.dtype
        if issparse(self._X):  # whose search knows the type of the distances
            return ask.nearest(None, k)
        if self._units.dtype != dtype:
            return nearest_rounded(ask.nearest, k, most, dtype) if exact else rounded(ask.nearest(None, k), dtype)
        if not exact or dtype != np.float32:
            return ask.nearest(None, k)
        found = ask.nearest(None, min(max(k, 2), most))  # the second is looked at whatever k is
        doubtful = np.flatnonzero(found.distances[:, min(1, found.k - 1)] < CLOSE)
        found = first_of(found, k)
        if not len(doubtful):
            return found
        units = _in_float64(self._X[self._directed], self._centred, self._threads)
        wide = rows_index(units, "cosine", Settings(search="exact", n_jobs=self._threads))
        sharp = nearest_rounded(
            lambda rows, wanted: ask.in_float64(wide, some_of(doubtful, rows), wanted), k, most, dtype
        )
        return with_rows(found, doubtful, sharp)

    def _merged(self, indices: Any, distances: Any, k: int, recall: float) -> Neighbors:
        """The nearest k of those found and of the points without direction, which are all at distance 1."""
        found, extra = indices.shape[1], self._undirected[:k]
        nearest, lengths = np.empty((len(indices), k), np.int32), np.empty((len(indices), k), distances.dtype)
        nearest[:, :found], lengths[:, :found] = indices, distances
        last = distances[:, -1] if found == k else np.ones(len(indices))
        far = np.flatnonzero(last >= 1) if len(extra) else np.zeros(0, np.intp)
        step = max(1, MERGED_AT_ONCE // k)
        for rows in (far[begin : begin + step] for begin in range(0, len(far), step)):
            both = np.hstack([indices[rows], np.broadcast_to(extra, (len(rows), len(extra)))])
            away = np.hstack([distances[rows], np.ones((len(rows), len(extra)), distances.dtype)])
            nearest[rows], lengths[rows] = in_order(both, away, k)
        return Neighbors(nearest, lengths, self.n, recall)

    def closest_pair(self, a: NDArray[np.intp], b: NDArray[np.intp]) -> tuple[int, int, float]:
        """Among the unit vectors; a row without direction is at distance 1 from every other."""
        in_a, in_b = np.isin(a, self._directed), np.isin(b, self._directed)
        pairs: list[tuple[float, int, int]] = []
        if self._index is not None and in_a.any() and in_b.any():
            places = (np.searchsorted(self._directed, points) for points in (a[in_a], b[in_b]))
            i, j, distance = self._index.closest_pair(*places)
            i, j = int(self._directed[i]), int(self._directed[j])
            if distance < CLOSE and self._X.dtype == np.float32 and not issparse(self._X):  # as float64 has it
                u, v = _in_float64(self._X[[i, j]], self._centred, self._threads)
                distance = float(self._X.dtype.type(np.square(u - v).sum() / 2))
            pairs.append((distance, i, j))
        pairs += [(1.0, int(i), int(b[0])) for i in a[~in_a][:1]] + [(1.0, int(a[0]), int(j)) for j in b[~in_b][:1]]
        distance, i, j = min(pairs)
        return i, j, distance

    def rows_measured(self) -> tuple[Floats, str] | None:
        """Unit vectors, where every row has a direction."""
        return None if len(self._undirected) or self._index is None else self._index.rows_measured()

    def nearest_points(self, points: NDArray[np.intp], k: int) -> Neighbors | None:
        """Where every row has a direction."""
        if len(self._undirected) or self._index is None:
            return None
        among = self._index
        ask = _Ask(
            lambda rows, k: among.nearest_points(some_of(points, rows), k),
            lambda wide, rows, k: wide.nearest_points(points[rows], k),
        )
        return self._sharpened(ask, k, self.n - 1, exact=True)


@dataclass(frozen=True, slots=True)
class _Ask:
    """One question in two ways: nearest(rows, k) among the unit vectors as they are, of some rows or (None) of all, and
    in_float64(index, rows, k), of some of the rows, in an index of unit vectors in float64."""

    nearest: Callable[[NDArray[np.intp] | None, int], Any]
    in_float64: Callable[[Any, NDArray[np.intp], int], Neighbors]


def _of_points(index: Any, points: NDArray[np.intp] | None, k: int) -> Neighbors:
    """The nearest of some points of an index, or of all."""
    found: Neighbors = index.query(None, k) if points is None else index.nearest_points(points, k)
    return found


def _in_float64(X: Floats, centred: bool, threads: int) -> Any:
    """Unit vectors in the directions of dense rows."""
    return native.kernels.directions(X.astype(np.float64), centred, threads)[0]


def _variance(units: Floats, threads: int) -> float:
    """The mean of |u - mean|^2, for vectors u of length 1 or 0."""
    mean = native.kernels.column_means(units, threads)
    return float(1 - mean @ mean)


def sparse_directions(X: Any) -> tuple[csr_matrix, NDArray[np.bool_]]:
    """(rows divided by their lengths in float64, whether they have one), each row by itself."""
    lengths = row_lengths(csr_matrix(X, dtype=np.float64))
    units = csr_matrix(X, dtype=np.float64, copy=True)
    units.data /= np.repeat(lengths, np.diff(units.indptr))
    return units, lengths > 0
