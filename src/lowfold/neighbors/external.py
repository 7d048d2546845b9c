"""Every other metric, functions and sparse rows: scikit-learn's search, with the same contract."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix, issparse

from lowfold.backend import resources
from lowfold.errors import DataError, ParameterError
from lowfold.neighbors.interface import NeighborIndex, Settings, lowest_entry, read_queries, without_self
from lowfold.types import Neighbors

# Trees rely on the triangle inequality. scikit-learn builds them for dissimilarities without it too (Bray-Curtis, a
# user's function) and then misses neighbours, so they are used only where it is known to hold.
ROWS_AT_ONCE = 512
TREE_METRICS = ("canberra", "hamming", "haversine")


class ExternalIndex(NeighborIndex):
    """scikit-learn's NearestNeighbors; equal distances are ordered by index, also at the last place."""

    def __init__(self, X: Any, settings: Settings) -> None:
        self.n = X.shape[0]
        self._X = csr_matrix(X) if issparse(X) else X
        self._metric = settings.metric
        self._learnt = learnt_from(self._X, settings.metric)
        self._threads = resources.thread_count(settings.n_jobs)
        self._build()

    def __getstate__(self) -> dict[str, Any]:
        # The search is a function of the rest: it is built again rather than stored.
        return {name: value for name, value in self.__dict__.items() if name != "_search"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._build()

    def _build(self) -> None:
        # Here and below, not at the top: together they take longer to import than all of Lowfold.
        from sklearn.neighbors import NearestNeighbors

        try:
            self._search = NearestNeighbors(
                metric=self._metric,
                metric_params=self._learnt or None,
                algorithm="auto" if self._metric in TREE_METRICS else "brute",
                n_jobs=self._threads,
            ).fit(self._X)
        except (ValueError, TypeError) as error:
            raise ParameterError(
                f"metric={self._metric!r} cannot be used for these data: {error}. "
                f"Use a metric that sklearn.metrics.pairwise_distances accepts for them, or 'euclidean'."
            ) from error

    def _points_query(self, k: int) -> Neighbors:
        return without_self(self._nearest(self._X, k + 1))

    def _new_query(self, X: Any, k: int) -> Neighbors:
        return self._nearest(read_queries(X, self._X), k)

    def _nearest(self, X: Any, k: int) -> Neighbors:
        # A few rows at a time: between them Ctrl-C is heard.
        pieces = [X[begin : begin + ROWS_AT_ONCE] for begin in range(0, X.shape[0], ROWS_AT_ONCE)]
        found = [self._search.kneighbors(piece, min(k + 1, self.n)) for piece in pieces]
        distances, indices = (np.concatenate([part[which] for part in found]) for which in (0, 1))
        if not np.isfinite(distances).all():
            raise DataError(
                f"metric={self._metric!r} gives a distance that is not finite for some pair of rows. "
                f"Remove rows for which it is undefined, or use another metric."
            )
        order = np.lexsort((indices, distances), axis=1)
        distances, indices = np.take_along_axis(distances, order, 1), np.take_along_axis(indices, order, 1)
        if k < self.n:
            for row in np.flatnonzero(distances[:, k - 1] == distances[:, k]):
                indices[row, :k], distances[row, :k] = self._row_by_row(X[row : row + 1], k)
        return Neighbors(np.ascontiguousarray(indices[:, :k], np.int32), np.ascontiguousarray(distances[:, :k]), self.n)

    def _row_by_row(self, x: Any, k: int) -> tuple[Any, Any]:
        """All distances of one row, where a tie at the last place has to be decided by the index."""
        distances = self._distances(x, self._X)[0]
        order = np.argsort(distances, kind="stable")[:k]
        return order, distances[order]

    def closest_pair(self, a: NDArray[np.intp], b: NDArray[np.intp]) -> tuple[int, int, float]:
        """By blocks of the matrix of distances."""
        blocks = np.array_split(a, max(1, len(a) * len(b) // 10**7))
        pairs = (lowest_entry(self._distances(self._X[block], self._X[b]), block, b) for block in blocks)
        return min(pairs, key=lambda pair: pair[2])

    def _distances(self, a: Any, b: Any) -> Any:
        from sklearn.metrics import pairwise_distances

        return pairwise_distances(a, b, metric=self._metric, **self._learnt)


def learnt_from(X: Any, metric: Any) -> dict[str, Any]:
    """What a metric needs to know of the data: the variances, or the inverse of the covariance."""
    if metric == "seuclidean":
        return {"V": np.var(X, axis=0, ddof=1, dtype=np.float64)}
    if metric == "mahalanobis":
        return {"VI": np.linalg.pinv(np.cov(X, rowvar=False, dtype=np.float64).reshape(X.shape[1], X.shape[1]))}
    return {}
