"""Distances between all pairs of points, a few rows at a time, for methods that need every one of them."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.sparse import issparse

from lowfold import inputs
from lowfold.backend import native, pieces
from lowfold.errors import ParameterError
from lowfold.neighbors.external import BOOLEAN_METRICS, UNDEFINED_OF_NOTHING, as_seen, check_distances, warn_of_numbers
from lowfold.neighbors.interface import Metric
from lowfold.neighbors.whitening import LEARNING_METRICS, Whitening
from lowfold.types import Floats

ALL = slice(None)


class PairDistances:
    """Distances from new points to fixed ones: rows under a metric, or columns of distances that are given."""

    _whitening: Whitening | None = None  # of one that was stored before there were any

    def __init__(self, data: inputs.Data, metric: Metric, chosen: Any = None) -> None:
        self._given = data.kind == inputs.DISTANCES
        self._chosen = chosen
        self._metric = metric
        if self._given:
            return
        if metric in BOOLEAN_METRICS:
            warn_of_numbers(data.values, str(metric))
        if metric in LEARNING_METRICS:
            self._whitening = Whitening(data.values, str(metric), threads=1)
        self._euclidean = metric in ("euclidean", "l2") and not issparse(data.values)
        if self._euclidean:
            self._mean = data.values.mean(axis=0, dtype=np.float64)
        self._take(data.values if chosen is None else data.values[chosen])

    def _take(self, points: Any) -> None:
        self._points = points if self._whitening is None else self._whitening.rows(points)
        if self._euclidean:
            self._columns = pieces.shifted_columns(points, self._mean, threads=1)

    def among(self, points: Any) -> PairDistances:
        """Distances to other points, by what the metric has learnt already."""
        other = copy.copy(self)
        other._take(points)
        return other

    def rows(self, values: Any, threads: int) -> Floats:
        """(rows, points) in float64, each row by itself."""
        if self._given:
            return np.asarray(values if self._chosen is None else values[:, self._chosen], np.float64)
        if self._whitening is not None:
            return native.kernels.cross_distances(self._whitening.rows(values), self._points, threads)
        if not self._euclidean:
            return self._measured(values, self._points)
        squared = self.squares(values, threads)
        return np.sqrt(squared, out=squared)

    def squares(self, values: Any, threads: int, to: slice = ALL) -> Floats:
        """The squares of the distances to some of the points, in an array that may be overwritten."""
        if self._given or not self._euclidean:
            return np.square(self.rows(values, threads)[:, to])
        new, columns = np.ascontiguousarray(values - self._mean), np.ascontiguousarray(self._columns[:, to])
        squared = np.asarray(native.kernels.project(new, np.zeros(new.shape[1]), columns, threads))
        squared *= -2
        squared += np.einsum("ij,ij->i", new, new)[:, None]
        squared += np.einsum("ij,ij->j", columns, columns)
        return np.maximum(squared, 0, out=squared)

    def between(self, values: Any, points: Any) -> Floats:
        """From rows to any points, each row by itself, not by products of matrices."""
        if self._whitening is not None:
            return native.kernels.cross_distances(self._whitening.rows(values), self._whitening.rows(points), 1)
        return self._measured(values, points)

    def _measured(self, values: Any, points: Any) -> Floats:
        """By scikit-learn's metric."""
        from sklearn.metrics import pairwise_distances

        values, points = as_seen(values, self._metric), as_seen(points, self._metric)
        distances = np.empty((values.shape[0], points.shape[0]))
        try:
            for i in range(len(distances)):  # by itself: a product of matrices has other bits for other batches
                pieces.check()
                distances[i] = pairwise_distances(values[i : i + 1], points, metric=self._metric)
        except (ValueError, TypeError) as error:
            raise ParameterError(
                f"metric={self._metric!r} cannot be used for these data: {str(error).rstrip('.')}. "
                f"Use a metric that sklearn.metrics.pairwise_distances accepts for them, or 'euclidean'."
            ) from error
        if self._metric in UNDEFINED_OF_NOTHING:
            distances[np.isnan(distances)] = 0
        check_distances(distances, self._metric)
        return distances


def filled(rows: Callable[[slice], Floats], n: int, dtype: Any, threads: int) -> Floats:
    """The n x n matrix whose rows the function gives, made on all threads, a few rows at a time."""
    out = np.empty((n, n), dtype)

    def work(part: slice) -> None:
        out[part] = rows(part)

    pieces.in_pieces(work, n, threads)
    return out
