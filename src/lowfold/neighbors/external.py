"""Every other metric and functions: scikit-learn's search, with the same contract."""

from __future__ import annotations

import copy
import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix, issparse

from lowfold.backend import resources
from lowfold.backend.pieces import in_timed_pieces
from lowfold.errors import DataError, ParameterError, warn
from lowfold.neighbors import trees
from lowfold.neighbors.gaps import RowsWithGaps
from lowfold.neighbors.interface import MORE, NeighborIndex, Settings, given_queries, without_self
from lowfold.types import Floats, Indices, Neighbors

# Trees rely on the triangle inequality. scikit-learn builds them for dissimilarities without it too (Bray-Curtis, a
# user's function) and then misses neighbours, so they are used only where it is known to hold.
TREE_METRICS = ("canberra", "hamming", "haversine")
# scikit-learn asks of these metrics whether numbers are 0, and says so at each call that is given numbers.
BOOLEAN_METRICS = ("dice", "jaccard", "rogerstanimoto", "russellrao", "sokalmichener", "sokalsneath", "yule")
# New rows are rounded as the points are where it matters whether two numbers are equal: 0.1 is not float32's 0.1.
EQUALITY_METRICS = ("hamming", *BOOLEAN_METRICS)
# Two sets of nothing are equal; by these metrics of scikit-learn they are at 0 / 0 from each other.
UNDEFINED_OF_NOTHING = ("dice", "sokalsneath")
NUMBERS_AT_ONCE = 1 << 22  # distances to all points that are kept while ties are decided
MOST_ROWS = 512  # that are searched for at once, and as many fewer as metrics take longer


class ExternalIndex(NeighborIndex):
    """scikit-learn's NearestNeighbors; equal distances are ordered by index, also at the last place."""

    def __init__(self, X: Any, settings: Settings) -> None:
        self.n = X.shape[0]
        self._X = csr_matrix(X) if issparse(X) else X
        self._metric = settings.metric
        if self._metric in BOOLEAN_METRICS:
            warn_of_numbers(self._X, str(self._metric))
        # Functions of Python keep each other waiting on several threads, and Ctrl-C waits for the last of them.
        self._threads = 1 if callable(settings.metric) else resources.thread_count(settings.n_jobs)
        self._search = self._search_among(self._X)

    def __getstate__(self) -> dict[str, Any]:
        # The searches are functions of the rest: they are built again rather than stored.
        return {name: value for name, value in self.__dict__.items() if name not in ("_search", "_in_wider_type")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._search = self._search_among(self._X)

    def part(self, points: NDArray[np.intp]) -> ExternalIndex:
        """By the same search."""
        some = copy.copy(self)
        some.n, some._X = len(points), self._X[points]
        some.__dict__.pop("_in_wider_type", None)
        some._search = some._search_among(some._X)
        return some

    @property
    def dtype(self) -> Any:
        """The type of the distances."""
        return self._X.dtype

    def _search_among(self, X: Any) -> Any:
        # Here, not at the top: it takes longer to import than all of Lowfold.
        from sklearn.neighbors import VALID_METRICS, NearestNeighbors

        known = sorted({name for kind in VALID_METRICS.values() for name in kind} - {"pyfunc", "precomputed"})
        if isinstance(self._metric, str) and self._metric not in known:
            raise ParameterError(f"metric={self._metric!r} is not known. Use one of {', '.join(known)}, or a function.")
        if self._metric == "nan_euclidean" and not issparse(X):
            return RowsWithGaps(X, self._X.dtype)
        by_tree = self._metric in TREE_METRICS
        try:
            if by_tree and not issparse(X) and X.shape[0] > trees.MOST_POINTS and X.shape[1] <= trees.MOST_FEATURES:
                return trees.Trees(X, str(self._metric))
            return NearestNeighbors(
                metric=_Checked(self._metric) if callable(self._metric) else self._metric,
                algorithm="auto" if by_tree else "brute",
                n_jobs=1,  # its own threads would be at work still when Ctrl-C has ended the search
            ).fit(as_seen(X, self._metric))
        except (ValueError, TypeError) as error:
            raise ParameterError(
                f"metric={self._metric!r} cannot be used for these data: {str(error).rstrip('.')}. "
                f"Use a metric that sklearn.neighbors.NearestNeighbors accepts for them, or 'euclidean'."
            ) from error

    @functools.cached_property
    def _in_wider_type(self) -> Any:
        # scikit-learn would convert the points anew for each piece of work, and measure them by a slower way.
        return self._search_among(self._X.astype(np.float64))

    def _points_query(self, k: int) -> Neighbors:
        return without_self(self._nearest(self._X, k + 1))

    def nearest_points(self, points: NDArray[np.intp], k: int) -> Neighbors:
        """As all neighbours here."""
        return without_self(self._nearest(self._X[points], k + 1), points)

    def _new_query(self, X: Any, k: int) -> Neighbors:
        given, stored = given_queries(X, self._X, self._threads, self._metric), self._X.dtype
        dtype = stored if self._metric in EQUALITY_METRICS else np.promote_types(given.dtype, stored)
        return self._nearest(given.astype(dtype, copy=False), k)

    def _nearest(self, X: Any, k: int) -> Neighbors:
        decided = isinstance(self._search, RowsWithGaps)  # between equal distances, whatever is asked for
        wanted = k if decided else min(k + 1, self.n)
        distances, indices = self._measured(X, wanted)
        nearest = Neighbors(np.ascontiguousarray(indices[:, :k]), np.ascontiguousarray(distances[:, :k]), self.n)
        if decided:
            return nearest
        # A tie at the last place has to be decided by the index.
        tied = np.flatnonzero((distances[:, k - 1] == distances[:, -1]) | self._may_be_undefined(X))
        while len(tied) and wanted < self.n:
            wanted = min(MORE * wanted, self.n)
            tied = self._decided(X, tied, wanted, nearest)
        return nearest

    def _decided(self, X: Any, tied: NDArray[np.intp], wanted: int, nearest: Neighbors) -> NDArray[np.intp]:
        """Puts the nearest of so many in the places of some rows; returns those in which others may be as near."""
        k, rest = nearest.k, []
        step = max(1, NUMBERS_AT_ONCE // wanted)
        for rows in (tied[begin : begin + step] for begin in range(0, len(tied), step)):
            distances, indices = self._measured(X[rows], wanted)
            nearest.indices[rows], nearest.distances[rows] = indices[:, :k], distances[:, :k]
            rest.append(rows[(distances[:, k - 1] == distances[:, -1]) | self._may_be_undefined(X[rows])])
        return np.concatenate(rest)

    def _measured(self, X: Any, k: int) -> tuple[Floats, Indices]:
        """(distances in the type of the points, indices) of the k that scikit-learn finds, ties among them by index."""
        distances, indices = np.empty((X.shape[0], k), self._X.dtype), np.empty((X.shape[0], k), np.int32)

        def measure(rows: slice) -> None:
            found, indices[rows] = self._asked(X[rows], k)
            if self._metric in UNDEFINED_OF_NOTHING:
                found[np.isnan(found)] = 0
            check_distances(found, self._metric)
            distances[rows] = found
            order = np.lexsort((indices[rows], distances[rows]), axis=1)
            distances[rows] = np.take_along_axis(distances[rows], order, 1)
            indices[rows] = np.take_along_axis(indices[rows], order, 1)

        self._in_pieces(measure, X.shape[0])
        return distances, indices

    def _may_be_undefined(self, X: Any) -> NDArray[np.bool_]:
        """Rows whose nearest points scikit-learn may take for the farthest, having no distance for them."""
        if self._metric not in UNDEFINED_OF_NOTHING:
            return np.zeros(X.shape[0], bool)
        return np.asarray(~as_seen(X, self._metric).any(axis=1))

    def _in_pieces(self, work: Callable[[slice], None], n: int) -> None:
        # A pair of rows costs 0.3 to 10 ns for each feature by one metric or another, and any time by a function.
        in_timed_pieces(work, n, self._threads, MOST_ROWS)

    def _asked(self, X: Any, k: int) -> tuple[Any, Any]:
        try:
            search = self._search if X.dtype == self._X.dtype else self._in_wider_type
            distances, indices = search.kneighbors(as_seen(X, self._metric), k)
        except DataError:
            raise
        except (ValueError, TypeError) as error:
            raise ParameterError(
                f"metric={self._metric!r} failed on these data: {str(error).rstrip('.')}. It needs a distance, one "
                f"number of at least 0, for each pair of rows. Mend it, or use 'euclidean'."
            ) from error
        return distances, indices

    def closest_pair(self, a: NDArray[np.intp], b: NDArray[np.intp]) -> tuple[int, int, float]:
        """By a search of a's points among those of b."""
        among = self.part(b)
        i = int(np.argmin(among._measured(self._X[a], 1)[0][:, 0]))
        nearest = among._nearest(self._X[a[i : i + 1]], 1)
        return int(a[i]), int(b[nearest.indices[0, 0]]), float(nearest.distances[0, 0])


class _Checked:
    """A function of two rows, each of whose values is looked at: scikit-learn takes NaN for the farthest."""

    def __init__(self, metric: Callable[..., Any]) -> None:
        self._metric = metric

    def __call__(self, x: Any, y: Any) -> Any:
        distance = self._metric(x, y)
        if not 0 <= distance < math.inf:
            check_distances(np.asarray(distance, np.float64), self._metric)
        return distance


def check_distances(distances: Floats, metric: Any) -> None:
    """Raises DataError where a metric gives what is no distance."""
    if not np.isfinite(distances).all():
        raise DataError(
            f"metric={metric!r} gives a distance that is not finite for some pair of rows. "
            f"Remove rows for which it is undefined, or use another metric."
        )
    if distances.min(initial=0) < 0:
        raise DataError(
            f"metric={metric!r} gives the negative distance {distances.min():.3g} for some pair of rows; a "
            f"distance is at least 0. Use a function of it that is, such as max(0.0, distance)."
        )


def as_seen(X: Any, metric: Any) -> Any:
    """Rows as scikit-learn takes them for a metric."""
    return X != 0 if metric in BOOLEAN_METRICS and not issparse(X) else X


def warn_of_numbers(X: Any, metric: str) -> None:
    """Once, where it matters."""
    values = X.data if issparse(X) else X
    if ((values != 0) & (values != 1)).any():
        warn(
            f"metric={metric!r} sees of each number only whether it is 0, and X has others than 0 and 1. "
            f"Pass X != 0 if that is meant, or use a metric of numbers such as 'euclidean'.",
        )
