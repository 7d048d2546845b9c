"""Every other metric, functions and sparse rows: scikit-learn's search, with the same contract."""

from __future__ import annotations

import copy
import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix, issparse

from lowfold.backend import blas, resources
from lowfold.backend.pieces import in_pieces
from lowfold.errors import DataError, ParameterError
from lowfold.neighbors.interface import NeighborIndex, Settings, read_queries, without_self
from lowfold.types import Floats, Indices, Neighbors

# Trees rely on the triangle inequality. scikit-learn builds them for dissimilarities without it too (Bray-Curtis, a
# user's function) and then misses neighbours, so they are used only where it is known to hold.
TREE_METRICS = ("canberra", "hamming", "haversine")
# scikit-learn asks of these metrics whether numbers are 0, and says so at each call that is given numbers.
BOOLEAN_METRICS = ("dice", "jaccard", "rogerstanimoto", "russellrao", "sokalmichener", "sokalsneath", "yule")
# Rows, and multiplications for them, between which Ctrl-C is heard: a tenth of a second.
MOST_ROWS, WORK_AT_ONCE = 512, 2e8


class ExternalIndex(NeighborIndex):
    """scikit-learn's NearestNeighbors; equal distances are ordered by index, also at the last place."""

    def __init__(self, X: Any, settings: Settings) -> None:
        self.n = X.shape[0]
        self._X = csr_matrix(X) if issparse(X) else X
        self._metric = settings.metric
        self._learnt = learnt_from(self._X, settings.metric)
        # Functions of Python keep each other waiting on several threads, and Ctrl-C waits for the last of them.
        self._threads = 1 if callable(settings.metric) else resources.thread_count(settings.n_jobs)
        self._search = self._search_among(self._X)

    def __getstate__(self) -> dict[str, Any]:
        # The search is a function of the rest: it is built again rather than stored.
        return {name: value for name, value in self.__dict__.items() if name != "_search"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._search = self._search_among(self._X)

    def part(self, points: NDArray[np.intp]) -> ExternalIndex:
        """What was learnt of all of them stays."""
        some = copy.copy(self)
        some.n, some._X = len(points), self._X[points]
        some._search = some._search_among(some._X)
        return some

    def _search_among(self, X: Any) -> Any:
        # Here, not at the top: it takes longer to import than all of Lowfold.
        from sklearn.neighbors import NearestNeighbors

        try:
            return NearestNeighbors(
                metric=self._metric,
                metric_params=self._learnt or None,
                algorithm="auto" if self._metric in TREE_METRICS else "brute",
                n_jobs=1,  # its own threads would be at work still when Ctrl-C has ended the search
            ).fit(as_seen(X, self._metric))
        except (ValueError, TypeError) as error:
            raise ParameterError(
                f"metric={self._metric!r} cannot be used for these data: {error}. "
                f"Use a metric that sklearn.neighbors.NearestNeighbors accepts for them, or 'euclidean'."
            ) from error

    def _points_query(self, k: int) -> Neighbors:
        return without_self(self._nearest(self._X, k + 1))

    def nearest_points(self, points: NDArray[np.intp], k: int) -> Neighbors:
        """As all neighbours here."""
        return without_self(self._nearest(self._X[points], k + 1), points)

    def _new_query(self, X: Any, k: int) -> Neighbors:
        return self._nearest(read_queries(X, self._X, self._threads), k)

    def _nearest(self, X: Any, k: int) -> Neighbors:
        distances, indices = self._measured(self._search, X, min(k + 1, self.n))
        if k < self.n:  # a tie at the last place has to be decided by the index
            for row in np.flatnonzero(distances[:, k - 1] == distances[:, k]):
                every_distance, order = self._measured(self._search, X[row : row + 1], self.n)
                indices[row, :k], distances[row, :k] = order[0, :k], every_distance[0, :k]
        return Neighbors(np.ascontiguousarray(indices[:, :k]), np.ascontiguousarray(distances[:, :k]), self.n)

    def _measured(self, search: Any, X: Any, k: int) -> tuple[Floats, Indices]:
        """(distances in the type of the points, indices) of the k that scikit-learn finds, ties among them by index."""
        work = float(search.n_samples_fit_) * X.shape[1] * (X.shape[1] if self._metric == "mahalanobis" else 1)
        height = max(1, min(MOST_ROWS, int(WORK_AT_ONCE / work)))
        distances, indices = np.empty((X.shape[0], k), self._X.dtype), np.empty((X.shape[0], k), np.int32)

        def measure(rows: slice) -> None:
            found, indices[rows] = self._asked(search, X[rows], k)
            self._check(found)
            distances[rows] = found

        in_pieces(measure, X.shape[0], self._threads, height)
        order = np.lexsort((indices, distances), axis=1)
        return np.take_along_axis(distances, order, 1), np.take_along_axis(indices, order, 1)

    def _asked(self, search: Any, X: Any, k: int) -> tuple[Any, Any]:
        try:
            found: tuple[Any, Any] = search.kneighbors(as_seen(X, self._metric), k)
        except (ValueError, TypeError) as error:
            raise ParameterError(
                f"metric={self._metric!r} failed on these data: {str(error).rstrip('.')}. It needs a distance, one "
                f"number of at least 0, for each pair of rows. Mend it, or use 'euclidean'."
            ) from error
        return found

    def _check(self, distances: Floats) -> None:
        if not np.isfinite(distances).all():
            raise DataError(
                f"metric={self._metric!r} gives a distance that is not finite for some pair of rows. "
                f"Remove rows for which it is undefined, or use another metric."
            )
        if distances.min(initial=0) < 0:
            raise DataError(
                f"metric={self._metric!r} gives the negative distance {distances.min():.3g} for some pair of rows; a "
                f"distance is at least 0. Use a function of it that is, such as max(0.0, distance)."
            )

    def closest_pair(self, a: NDArray[np.intp], b: NDArray[np.intp]) -> tuple[int, int, float]:
        """By a search of a's points among those of b."""
        among_b = self._search_among(self._X[b])
        shortest = self._measured(among_b, self._X[a], 1)[0][:, 0]
        i = int(np.argmin(shortest))
        _, order = self._measured(among_b, self._X[a[i : i + 1]], len(b))
        return int(a[i]), int(b[order[0, 0]]), float(shortest[i])


def learnt_from(X: Any, metric: Any) -> dict[str, Any]:
    """What a metric needs to know of the data: the variances, or the inverse of the covariance."""
    if metric in BOOLEAN_METRICS:
        _warn_of_numbers(X, metric)
    if metric not in ("seuclidean", "mahalanobis"):
        return {}
    if issparse(X) or X.shape[0] < 2:
        given = "sparse rows" if issparse(X) else "a single row"
        raise DataError(
            f"metric={metric!r} learns the variances of the columns, for which it was given {given}. "
            f"Pass an array of at least 2 rows, or use metric='euclidean'."
        )
    if metric == "mahalanobis":
        with blas.single_threaded():
            covariance = np.cov(X, rowvar=False, dtype=np.float64).reshape(X.shape[1], X.shape[1])
            return {"VI": np.linalg.pinv(covariance, hermitian=True)}
    constant = np.flatnonzero(np.ptp(X, axis=0) == 0)
    if len(constant):
        raise DataError(
            f"metric='seuclidean' divides by the variance of each column, and column {constant[0]} has none "
            f"({len(constant)} such columns in all). Leave out columns that never vary, or use metric='euclidean'."
        )
    return {"V": np.var(X, axis=0, ddof=1, dtype=np.float64)}


def as_seen(X: Any, metric: Any) -> Any:
    """Rows as scikit-learn takes them for a metric."""
    return X != 0 if metric in BOOLEAN_METRICS and not issparse(X) else X


def _warn_of_numbers(X: Any, metric: str) -> None:
    """Once, where it matters."""
    values = X.data if issparse(X) else X
    if ((values != 0) & (values != 1)).any():
        warnings.warn(
            f"metric={metric!r} sees of each number only whether it is 0, and X has others than 0 and 1. "
            f"Pass X != 0 if that is meant, or use a metric of numbers such as 'euclidean'.",
            UserWarning,
            stacklevel=2,
        )
