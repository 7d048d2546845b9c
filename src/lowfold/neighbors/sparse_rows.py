"""Euclid's distances between sparse rows: scikit-learn's search, and the differences themselves."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from lowfold.backend import pieces
from lowfold.neighbors.external import ExternalIndex
from lowfold.neighbors.interface import Settings, given_queries
from lowfold.types import Floats, Indices, Neighbors

SPARE = 8  # neighbours more than are wanted: those of equal length are mostly among them
NUMBERS_AT_ONCE = 1 << 20  # that differences of rows may hold


class SparseIndex(ExternalIndex):
    """euclidean, sqeuclidean, or half of the latter: "cosine" for rows of length 1.

    scikit-learn takes |x|^2 + |y|^2 - 2 x.y, which loses the digits of rows that are close beside their length. What it
    finds is ranked by |x - y|; that nothing is missed is known from how far such a sum can be off, and where it is
    not, every row is looked at that could be near.
    """

    _dtype: Any = None  # of an index that was stored before it had one

    def __init__(self, X: Any, settings: Settings, dtype: Any = None) -> None:
        self._dtype = X.dtype if dtype is None else np.dtype(dtype)
        # Of the longest row's sum of m products: m roundings, and a few more.
        self._most_entries = int(np.diff(X.indptr).max(initial=0))
        super().__init__(X, settings)

    @property
    def dtype(self) -> Any:
        """The type of the distances, by which they are equal or not."""
        return self._X.dtype if self._dtype is None else self._dtype

    def _search_among(self, X: Any) -> Any:
        return _Sums(X)

    def _new_query(self, X: Any, k: int) -> Neighbors:
        return self._nearest(given_queries(X, self._X, self._threads, self._metric), k)

    def _nearest(self, X: Any, k: int) -> Neighbors:
        distances, indices = self._measured(X, k)
        return Neighbors(indices, distances, self.n)

    def _measured(self, X: Any, k: int) -> tuple[Floats, Indices]:
        distances, indices = np.empty((X.shape[0], k), self.dtype), np.empty((X.shape[0], k), np.int32)

        def measure(rows: slice) -> None:
            distances[rows], indices[rows] = self._ranked(X[rows].astype(np.float64), k)

        self._in_pieces(measure, X.shape[0])
        return distances, indices

    def _ranked(self, X: Any, k: int) -> tuple[Floats, Indices]:
        """(distances, indices) of the k nearest, each row by itself."""
        scores, found = self._search.kneighbors(X, min(k + SPARE, self.n))
        lengths = self._lengths(X, found)
        distances, indices = self._first(lengths, found, k)
        if found.shape[1] < self.n:
            size = np.sqrt(np.asarray(X.multiply(X).sum(axis=1)).ravel())
            # The k-th, and what is equal to it in the type of the distances.
            reach = np.partition(lengths, k - 1, axis=1)[:, k - 1] * (1 + 4 * np.finfo(self.dtype).eps)
            # Of a row no farther than the k-th, whose own length is at most |x| + reach.
            products = np.maximum(self._most_entries, np.diff(X.indptr)) + 8
            doubt = products * np.finfo(float).eps * np.square(2 * size + reach)
            doubtful = np.flatnonzero(np.square(scores[:, -1]) <= np.square(reach) + doubt)
            step = max(1, NUMBERS_AT_ONCE // self.n)
            for rows in (doubtful[begin : begin + step] for begin in range(0, len(doubtful), step)):
                pieces.check()
                near = self._search.squares(X[rows]) <= (np.square(reach) + doubt)[rows, None]
                np.put_along_axis(near, found[rows], True, axis=1)  # so that there are k at least
                distances[rows], indices[rows] = self._among_near(X[rows], near, k)
        return distances, indices

    def _among_near(self, X: Any, near: NDArray[np.bool_], k: int) -> tuple[Floats, Indices]:
        """(distances, indices) of the k nearest among those near to each row."""
        row, column = np.nonzero(near)
        distances = self._as_distances(self._pair_lengths(X, row, column))
        order = np.lexsort((column, distances, row))
        chosen = order[np.searchsorted(row, np.arange(X.shape[0]))[:, None] + np.arange(k)]
        return distances[chosen], column[chosen].astype(np.int32)

    def _first(self, lengths: NDArray[np.float64], found: Indices, k: int) -> tuple[Floats, Indices]:
        """The first k by distance, as it is returned, and index."""
        distances = self._as_distances(lengths)
        order = np.lexsort((found, distances), axis=1)[:, :k]
        return np.take_along_axis(distances, order, 1), np.take_along_axis(found, order, 1)

    def _as_distances(self, lengths: NDArray[np.float64]) -> Floats:
        distances = lengths if self._metric == "euclidean" else np.square(lengths)
        return (distances / 2 if self._metric == "cosine" else distances).astype(self.dtype)

    def _lengths(self, X: Any, found: Indices) -> NDArray[np.float64]:
        """|x_i - y_j| for each j in row i of those found."""
        row = np.repeat(np.arange(X.shape[0]), found.shape[1])
        return self._pair_lengths(X, row, found.ravel()).reshape(found.shape)

    def _pair_lengths(self, X: Any, row: NDArray[np.intp], column: NDArray[Any]) -> NDArray[np.float64]:
        """|x_i - y_j| for pairs of i and j."""
        lengths = np.empty(len(column))
        entries = self._most_entries + int(np.diff(X.indptr).max(initial=0))
        step = max(1, NUMBERS_AT_ONCE // max(1, entries))
        for begin in range(0, len(column), step):
            pieces.check()
            pairs = slice(begin, begin + step)
            lengths[pairs] = row_lengths(csr_matrix(X[row[pairs]] - self._X[column[pairs]].astype(np.float64)))
        return lengths


class _Sums:
    """|x|^2 + |y|^2 - 2 x.y between new rows x and points y, all in float64."""

    def __init__(self, points: Any) -> None:
        from sklearn.neighbors import NearestNeighbors  # not at the top: it takes longer to import than all of Lowfold

        self._points = points.astype(np.float64, copy=False)
        self._sizes = np.asarray(self._points.multiply(self._points).sum(axis=1)).ravel()
        self._search = NearestNeighbors(metric="euclidean", algorithm="brute", n_jobs=1).fit(self._points)

    def kneighbors(self, X: Any, k: int) -> tuple[NDArray[np.float64], Any]:
        """The roots of the k least and the points that they belong to."""
        found: tuple[NDArray[np.float64], Any] = self._search.kneighbors(X, k)
        return found

    def squares(self, X: Any) -> NDArray[np.float64]:
        """All of them."""
        sizes = np.asarray(X.multiply(X).sum(axis=1)).reshape(-1, 1)
        return np.asarray(sizes + self._sizes - 2 * (X @ self._columns).toarray())

    @functools.cached_property
    def _columns(self) -> csr_matrix:
        return csr_matrix(self._points.T)


def row_lengths(differences: Any) -> NDArray[np.float64]:
    """Of sparse rows; none is lost because its squares leave the range of numbers."""
    largest = abs(differences).max(axis=1).toarray().ravel()
    scale = np.exp2(np.floor(np.log2(np.where(largest > 0, largest, 1))))  # powers of two: equal sums stay equal
    squares = np.square(differences.data / np.repeat(scale, np.diff(differences.indptr)))
    sums = np.bincount(np.repeat(np.arange(len(scale)), np.diff(differences.indptr)), squares, len(scale))
    return np.asarray(scale * np.sqrt(sums))
