"""Metrics that weigh columns by what they learn of the data: Euclid's, between rows in other coordinates."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from lowfold.backend import blas, native, resources
from lowfold.backend.eigenpairs import eigenpairs
from lowfold.errors import DataError
from lowfold.neighbors.duplicates import rows_index
from lowfold.neighbors.interface import NeighborIndex, Settings, given_queries, nearest_rounded, rounded, some_of
from lowfold.options import seed_of
from lowfold.types import Floats, Neighbors

LEARNING_METRICS = ("seuclidean", "mahalanobis")
ROWS_AT_ONCE = 4096  # that are written out in float64


_Ask: TypeAlias = Callable[[NDArray[np.intp] | None, int], Any]  # the nearest of some rows, or of all for None


class Whitening:
    """Coordinates u in which a metric is Euclid's.

    u = (x - mean) / s under seuclidean, with s the standard deviations of the columns; u = ((x - mean) / s) V lam^-1/2
    under mahalanobis, with V lam V^T the matrix of their correlations. Directions in which the data vary by rounding
    alone, copies of other columns among them, count for nothing. In float64 whatever the rows: where columns hang
    together closely, u is a small difference of large products.
    """

    def __init__(self, X: Any, metric: str, threads: int) -> None:
        _check_rows(X, metric)
        self._threads = threads
        self._mean = native.kernels.column_means(X, threads)
        variances = sum(np.square(block - self._mean).sum(axis=0) for block in _blocks(X)) / (len(X) - 1)
        self._scales = 1 / np.sqrt(variances, out=np.full(X.shape[1], np.inf), where=variances > 0)
        if metric == "seuclidean":
            _check_variances(variances)
        self._turn = self._inverse_root(X) if metric == "mahalanobis" else None

    def _inverse_root(self, X: Floats) -> NDArray[np.float64]:
        """B of shape (columns, directions that vary) with B B^T the inverse of the correlations."""
        zeros = np.zeros(X.shape[1])
        products = (
            native.kernels.scatter((block - self._mean) * self._scales, zeros, self._threads) for block in _blocks(X)
        )
        with blas.single_threaded():
            lam, V = eigenpairs(np.asarray(sum(products)) / (len(X) - 1), 0, X.shape[1] - 1)
        varies = lam > max(X.shape) * np.finfo(float).eps * lam[-1]
        return np.ascontiguousarray(V[:, varies] / np.sqrt(lam[varies])) if varies.any() else np.zeros((X.shape[1], 1))

    def rows(self, X: Floats) -> NDArray[np.float64]:
        """The rows of X in those coordinates, each by itself."""
        turn = self._turn
        u = np.empty((len(X), X.shape[1] if turn is None else turn.shape[1]))
        begin = 0
        for block in _blocks(X):
            scaled = (block - self._mean) * self._scales
            u[begin : begin + len(block)] = scaled if turn is None else self._turned(scaled, turn)
            begin += len(block)
        return u

    def _turned(self, scaled: NDArray[np.float64], turn: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray(native.kernels.project(scaled, np.zeros(scaled.shape[1]), turn, self._threads))


class WhitenedIndex(NeighborIndex):
    """A search among the rows in coordinates in which the metric is Euclid's."""

    def __init__(self, X: Floats, settings: Settings) -> None:
        self.n = X.shape[0]
        self._X = X
        self._threads = resources.thread_count(settings.n_jobs)
        self._settings = dataclasses.replace(settings, random_state=seed_of(settings.random_state))
        self._whitening = Whitening(X, str(settings.metric), self._threads)
        self._search_among(self._whitening.rows(X))

    def _search_among(self, rows: NDArray[np.float64]) -> None:
        self._rows = rows
        self._index = rows_index(rows, "euclidean", self._settings)

    @property
    def is_exact(self) -> bool:
        """As the search among them."""
        return self._index.is_exact

    def part(self, points: NDArray[np.intp]) -> WhitenedIndex:
        """What was learnt of all of them stays."""
        some = copy.copy(self)
        some.n, some._X = len(points), self._X[points]
        some._search_among(self._rows[points])
        return some

    def _points_query(self, k: int) -> Neighbors:
        index = self._index
        return self._typed(
            lambda rows, k: index.query(None, k) if rows is None else index.nearest_points(rows, k),
            k,
            self.n - 1,
            exact=self.is_exact,
        )

    def _new_query(self, X: Any, k: int) -> Neighbors:
        given = self._whitening.rows(given_queries(X, self._X, self._threads))
        return self._typed(lambda rows, k: self._index.query(some_of(given, rows), k), k, self.n, exact=self.is_exact)

    def nearest_points(self, points: NDArray[np.intp], k: int) -> Neighbors | None:
        """As all neighbours here."""
        among = self._index
        return self._typed(lambda rows, k: among.nearest_points(some_of(points, rows), k), k, self.n - 1, exact=True)

    def closest_pair(self, a: NDArray[np.intp], b: NDArray[np.intp]) -> tuple[int, int, float]:
        """Among the rows in those coordinates."""
        return self._index.closest_pair(a, b)

    def rows_measured(self) -> tuple[Floats, str] | None:
        """Those in these coordinates."""
        return self._index.rows_measured()

    def _typed(self, ask: _Ask, k: int, most: int, *, exact: bool) -> Neighbors:
        """Distances in the type of the points; those that become equal are ordered by index again."""
        dtype = self._X.dtype
        if dtype == self._rows.dtype or not exact:
            return rounded(ask(None, k), dtype)
        return nearest_rounded(ask, k, most, dtype)


def _blocks(X: Floats) -> Iterator[NDArray[np.float64]]:
    """A few rows at a time, in float64."""
    for begin in range(0, len(X), ROWS_AT_ONCE):
        yield X[begin : begin + ROWS_AT_ONCE].astype(np.float64)


def _check_rows(X: Any, metric: str) -> None:
    if issparse(X) or X.shape[0] < 2:
        given = "sparse rows" if issparse(X) else "a single row"
        raise DataError(
            f"metric={metric!r} learns the variances of the columns, for which it was given {given}. "
            f"Pass an array of at least 2 rows, or use metric='euclidean'."
        )


def _check_variances(variances: NDArray[np.float64]) -> None:
    constant = np.flatnonzero(variances == 0)
    if len(constant):
        raise DataError(
            f"metric='seuclidean' divides by the variance of each column, and column {constant[0]} has none "
            f"({len(constant)} such columns in all). Leave out columns that never vary, or use metric='euclidean'."
        )
