"""What every neighbour index is: points, and `query`."""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix, issparse
from sklearn.base import BaseEstimator

from lowfold import inputs
from lowfold.backend import resources, stopping
from lowfold.errors import DataError, ParameterError
from lowfold.neighbors.engines import Cells, Exact
from lowfold.options import documented, n_jobs_option, option, random_state_option
from lowfold.tables import check_columns, column_names
from lowfold.types import Floats, Indices, Neighbors

Metric: TypeAlias = str | Callable[..., float]


SEEDED = "the cells and samples of the approximate search"
EQUAL = 4  # neighbours more, at first, that may be as far away as the last once distances are rounded
MORE = 4  # times as many for those that still may
NUMBERS_AT_ONCE = 1 << 22  # distances that are kept while these are looked for
WORTH_ASKING = 1 << 28  # bytes: whether there are fewer is not asked at each call
BYTES_FOUND = 24  # for each neighbour: index and distance, as they are found and in order
FEWER = "Ask for fewer neighbours, or for those of some points at a time."


def metric_option() -> Any:
    """The metric, as every method that looks for neighbours declares it."""
    return option(
        "euclidean",
        help="metric, by name (one that scikit-learn's NearestNeighbors knows, or 'precomputed') or as a function",
    )


def search_option() -> Any:
    """The way of searching, as every method that looks for neighbours declares it."""
    return option("auto", choices=("auto", "exact", "cells"), help="way of searching, by name or as an engine")


@documented
@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How to search, beside the data."""

    metric: str | Callable[..., float] = metric_option()
    search: str | Exact | Cells = search_option()
    n_jobs: int | None = n_jobs_option()
    random_state: int | np.random.RandomState | np.random.Generator | None = random_state_option(SEEDED)


class NeighborIndex(ABC):
    """Points among which neighbours are found."""

    n: int
    _columns: list[str] | None = None  # names of the columns of a table that was indexed

    @property
    def is_exact(self) -> bool:
        """Whether no neighbour is ever missed."""
        return True

    def query(self, X: Any = None, k: int = 15) -> Neighbors:
        """The k nearest points of each row of X by itself, or of each indexed point (itself excluded) for None."""
        most = self.n - (X is None)
        if most == 0:
            raise DataError("n_samples = 1: a single point has no neighbours. Index at least 2 points.")
        if not isinstance(k, int | np.integer) or isinstance(k, bool) or not 1 <= k <= most:
            raise ParameterError(
                f"k={k!r} neighbours were asked for; k must be an int from 1 to {most}, as n_samples = {self.n}. "
                f"Lower k, or index more points."
            )
        check_columns(column_names(X), self._columns, "the indexed points")
        shape = getattr(X, "shape", None)  # of what may be no table yet
        rows = self.n if X is None else shape[0] if isinstance(shape, tuple) and shape else 1
        needed = BYTES_FOUND * float(rows) * int(k)
        if needed > WORTH_ASKING:
            resources.check_allowed(needed, f"A search for {k} neighbours of {rows} points", FEWER)
        return self._points_query(int(k)) if X is None else self._new_query(X, int(k))

    def of_table(self, X: Any) -> NeighborIndex:
        """The index, which takes only tables with the columns that X has, if X is a table with names."""
        names = column_names(X)
        if names is None:
            return self
        named = object.__new__(type(self))  # others may hold this one, for tables of other names
        named.__dict__.update(self.__dict__, _columns=names)
        return named

    @abstractmethod
    def _points_query(self, k: int) -> Neighbors: ...

    @abstractmethod
    def _new_query(self, X: Any, k: int) -> Neighbors: ...

    @abstractmethod
    def closest_pair(self, a: NDArray[np.intp], b: NDArray[np.intp]) -> tuple[int, int, float]:
        """(i, j, distance) of the closest pair with indexed point i in a and j in b.

        Among equals the one whose i comes first in a, then whose j comes first in b.
        """

    def nearest_points(self, points: NDArray[np.intp], k: int) -> Neighbors | None:
        """The k nearest of some indexed points, each itself excluded, none of them missed whatever the engine.

        None where there is no quick way to tell.
        """
        return None

    def rows_measured(self) -> tuple[Floats, str] | None:
        """(a row for each point, the metric between them), where that is one of our own."""
        return None

    def part(self, points: NDArray[np.intp]) -> NeighborIndex | None:
        """The index of some of the points under the very same metric, if it has learnt that from all of them."""
        return None


def lowest_entry(D: Any, a: NDArray[np.intp], b: NDArray[np.intp]) -> tuple[int, int, float]:
    """The smallest entry of the matrix D of distances between a and b, as (i, j, distance)."""
    row, column = np.unravel_index(int(np.argmin(D)), D.shape)
    return int(a[row]), int(b[column]), float(D[row, column])


def nearest_rounded(
    ask: Callable[[NDArray[np.intp] | None, int], Neighbors], k: int, most: int, dtype: Any
) -> Neighbors:
    """The nearest k by distances in another type, in which more of them may be equal: those go by index.

    ask: of some rows, or of all for None, the nearest so many, at most `most`, by distances as they are. A row asks for
    more as long as the last of them is as far away as the k-th.
    """
    wanted = min(k + EQUAL, most)
    found = rounded(ask(None, wanted), dtype)
    nearest, undecided = first_of(found, k), _undecided(found, k)
    while len(undecided) and wanted < most:
        wanted = min(MORE * wanted, most)
        step = max(1, NUMBERS_AT_ONCE // wanted)
        rest = []
        for rows in (undecided[begin : begin + step] for begin in range(0, len(undecided), step)):
            found = rounded(ask(rows, wanted), dtype)
            nearest.indices[rows], nearest.distances[rows] = found.indices[:, :k], found.distances[:, :k]
            rest.append(rows[_undecided(found, k)])
        undecided = np.concatenate(rest)
    return nearest


def _undecided(found: Neighbors, k: int) -> NDArray[np.intp]:
    """Rows in which some that were not found may be as far away as the k-th; at 0 none was rounded."""
    last, kth = found.distances[:, -1], found.distances[:, k - 1]
    return np.flatnonzero((last == kth) & (kth > 0))


def some_of(values: Any, rows: NDArray[np.intp] | None) -> Any:
    """These rows of values, or all of them."""
    return values if rows is None else values[rows]


def lengths_of(distances: Floats, metric: str) -> Floats:
    """The lengths of differences that belong to distances by a metric."""
    if metric == "cosine":
        return np.sqrt(2 * distances)
    return np.sqrt(distances) if metric == "sqeuclidean" else distances


def some_rows(found: Neighbors, rows: NDArray[np.intp]) -> Neighbors:
    """The neighbours of some of the rows."""
    return dataclasses.replace(found, indices=found.indices[rows], distances=found.distances[rows])


def first_of(found: Neighbors, k: int) -> Neighbors:
    """The nearest k of those found."""
    indices, distances = found.indices[:, :k].copy(), found.distances[:, :k].copy()
    return dataclasses.replace(found, indices=indices, distances=distances)


def rounded(found: Neighbors, dtype: Any) -> Neighbors:
    """The same with distances in another type, in which more of them may be equal: those go by index."""
    indices, distances = in_order(found.indices, found.distances.astype(dtype), found.k)
    return dataclasses.replace(found, indices=indices, distances=distances)


def in_order(indices: Indices, distances: Floats, k: int) -> tuple[Indices, Floats]:
    """The first k of each row by distance, then by index; some rows at a time, between which Ctrl-C is heard."""
    n, width = distances.shape
    nearest = indices[:, :k].astype(np.int32), distances[:, :k].copy()
    step = max(1, NUMBERS_AT_ONCE // max(1, width))
    for begin in range(0, n, step):
        stopping.check()
        i, d = indices[begin : begin + step], distances[begin : begin + step]
        falls = (d[:, 1:] < d[:, :-1]) | ((d[:, 1:] == d[:, :-1]) & (i[:, 1:] < i[:, :-1]))
        rows = np.flatnonzero(falls.any(axis=1))  # few, which saves most of the time
        order = np.lexsort((i[rows], d[rows]), axis=1)[:, :k]
        for values, ordered in zip((i, d), nearest, strict=True):
            ordered[begin + rows] = np.take_along_axis(values[rows], order, 1)
    return nearest


def with_rows(found: Neighbors, rows: NDArray[np.intp], others: Neighbors) -> Neighbors:
    """Those found, with the neighbours of some rows as others are, in the same type."""
    indices, distances = found.indices.copy(), found.distances.copy()
    indices[rows], distances[rows] = others.indices, others.distances
    return dataclasses.replace(found, indices=indices, distances=distances)


def joined(*parts: tuple[NDArray[np.intp], Neighbors]) -> Neighbors:
    """The neighbours of all rows, given for some and for the others; the recall is that of the worst part."""
    rows = np.concatenate([numbers for numbers, _ in parts])
    place = np.empty_like(rows)
    place[rows] = np.arange(len(rows))
    indices, distances = (
        np.concatenate([getattr(found, field) for _, found in parts])[place] for field in ("indices", "distances")
    )
    return Neighbors(indices, distances, parts[0][1].n_points, min(found.recall for _, found in parts))


def without_self(neighbors: Neighbors, points: NDArray[np.intp] | None = None) -> Neighbors:
    """Drops from each row the point that it belongs to, or the last neighbour where that is not among them.

    points: those that the rows belong to; all of them, in order, by default.
    """
    own = neighbors.indices == (np.arange(neighbors.n) if points is None else points)[:, None]
    own[~own.any(axis=1), -1] = True
    shape = (neighbors.n, neighbors.k - 1)
    kept = [values[~own].reshape(shape) for values in (neighbors.indices, neighbors.distances)]
    return Neighbors(kept[0], kept[1], neighbors.n_points, neighbors.recall)


class _Points(BaseEstimator):
    """Stands in for an estimator where data are read without one."""

    def __init__(self, metric: Metric = "euclidean", n_jobs: int | None = None) -> None:
        self.metric = metric
        self.n_jobs = n_jobs


_Points.__name__ = "build_index"  # what messages call it


def read_points(X: Any, metric: Metric, n_jobs: int | None = None, among: Any = None) -> inputs.Data:
    """Checked data of any kind; `among` is the type of the points that they are new beside, if they are."""
    kinds = frozenset({*inputs.NEIGHBOR_KINDS, inputs.GAPS})
    return inputs.read(_Points(metric, n_jobs), X, kinds, fitting=True, among=among)


def read_distances(X: Any, among: Any) -> Any:
    """Distances of new points to the indexed ones, as an array or a sparse matrix in which zeros count."""
    return inputs.read(_Points("precomputed"), X, frozenset(inputs.NEIGHBOR_KINDS), fitting=False, among=among).values


def given_queries(X: Any, points: Any, threads: int, metric: Metric = "euclidean") -> Any:
    """New rows for an index, sparse where its points are; the features must agree."""
    values = read_points(X, metric, threads, points.dtype).values
    if issparse(values) != issparse(points):  # scikit-learn measures between dense and sparse rows in another way
        values = values.toarray() if issparse(values) else csr_matrix(values)
    if values.shape[1] != points.shape[1]:
        raise DataError(
            f"X has {values.shape[1]} features, but the indexed points have {points.shape[1]}. "
            f"Pass the same columns in the same order."
        )
    return values
