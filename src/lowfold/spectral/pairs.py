"""Distances between all pairs of points, a few rows at a time, for methods that need every one of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.sparse import issparse

from lowfold import inputs
from lowfold.backend import native
from lowfold.backend.pieces import in_pieces
from lowfold.errors import ParameterError
from lowfold.neighbors.external import as_seen, learnt_from
from lowfold.neighbors.interface import Metric
from lowfold.types import Floats

ALL = slice(None)


class PairDistances:
    """Distances from new points to fixed ones: rows under a metric, or columns of distances that are given."""

    def __init__(self, data: inputs.Data, metric: Metric, chosen: Any = None) -> None:
        self._given = data.kind == inputs.DISTANCES
        self._chosen = chosen
        self._metric = metric
        values = data.values
        if not self._given:
            self._points = values if chosen is None else values[chosen]
            self._learnt = learnt_from(values, metric)
            self._euclidean = metric in ("euclidean", "l2") and not issparse(values)
            if self._euclidean:
                self._mean = values.mean(axis=0, dtype=np.float64)
                self._columns = np.ascontiguousarray((self._points - self._mean).T)

    def learn_from(self, other: PairDistances) -> None:
        """Takes over what the metric learnt from other data, of which these are a part."""
        if not self._given:
            self._learnt = other._learnt

    def rows(self, values: Any, threads: int) -> Floats:
        """(rows, points) in float64, each row by itself."""
        if self._given:
            return np.asarray(values if self._chosen is None else values[:, self._chosen], np.float64)
        if not self._euclidean:
            return self.between(values, self._points)
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
        """By scikit-learn's metric, from rows to any points, each row by itself."""
        from sklearn.metrics import pairwise_distances

        values, points = as_seen(values, self._metric), as_seen(points, self._metric)
        try:
            # Each row by itself: a product of matrices has other bits for other batches.
            return np.vstack(
                [
                    pairwise_distances(values[i : i + 1], points, metric=self._metric, **self._learnt)
                    for i in range(values.shape[0])
                ]
            ).astype(np.float64)
        except ValueError as error:
            raise ParameterError(
                f"metric={self._metric!r} cannot be used for these data: {str(error).rstrip('.')}. "
                f"Use a metric that sklearn.metrics.pairwise_distances accepts, or 'euclidean'."
            ) from error


def filled(rows: Callable[[slice], Floats], n: int, dtype: Any, threads: int) -> Floats:
    """The n x n matrix whose rows the function gives, made on all threads, a few rows at a time."""
    out = np.empty((n, n), dtype)

    def work(part: slice) -> None:
        out[part] = rows(part)

    in_pieces(work, n, threads)
    return out
