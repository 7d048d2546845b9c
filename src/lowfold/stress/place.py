"""New points among the fitted ones: each where its own stress against them is least."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lowfold import inputs
from lowfold.backend import native
from lowfold.backend.embedding_protocol import StressCode
from lowfold.backend.pieces import ROWS_AT_ONCE
from lowfold.errors import DataError
from lowfold.neighbors.interface import Metric
from lowfold.spectral.pairs import PairDistances
from lowfold.stress.pairs import is_euclidean
from lowfold.types import Floats


class Measure:
    """Dissimilarities of new points to the fitted ones, in the type and with the bits of those of the fit."""

    def __init__(self, data: inputs.Data, metric: Metric, chosen: NDArray[np.intp] | None) -> None:
        self._euclidean = is_euclidean(data, metric)
        self._given = data.kind == inputs.DISTANCES
        self._dtype = data.values.dtype
        self._points = data.values if chosen is None else data.values[chosen]
        self._chosen = chosen
        self._distances = None if self._euclidean or self._given else PairDistances(data, metric, chosen)

    def rows(self, values: Any, threads: int) -> Floats:
        """(rows, fitted points); NaN where a given one is missing."""
        if self._given:
            return np.asarray(values if self._chosen is None else values[:, self._chosen], self._dtype)
        if self._distances is None:
            return native.kernels.cross_distances(np.ascontiguousarray(values, self._dtype), self._points, threads)
        return self._distances.rows(values, threads).astype(self._dtype)

    def between(self, values: Any, i: int, others: NDArray[np.intp]) -> Floats:
        """The dissimilarities of training row i to some others."""
        if self._given:
            return np.asarray(values[i, others])
        row = values[i : i + 1]
        if self._distances is None:
            return native.kernels.cross_distances(row, values[others], 1)[0]
        return self._distances.between(row, values[others])[0]


@dataclass(frozen=True, slots=True)
class Placing:
    """The fitted points, in units of `scale`, and how new ones are weighted against them.

    target: what becomes of a dissimilarity before it is matched; None: nothing.
    """

    measure: Measure
    Y: Floats
    law: StressCode
    scale: float
    target: Callable[[Any], Any] | None = None

    def place(
        self, values: Any, threads: int, weights: Floats | None = None
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """(Y, residuals): each row by itself, some at a time, and the root of the mean of w (d - delta)^2 of each.

        weights (rows, fitted points): for the law 'given'.
        """
        parts = []
        for begin in range(0, values.shape[0], ROWS_AT_ONCE):
            part = slice(begin, begin + ROWS_AT_ONCE)
            deltas = self._deltas(values[part], threads)
            given = None if weights is None else np.ascontiguousarray(weights[part], self.Y.dtype)
            self._check(deltas, given, begin)
            parts.append(lowest_of_starts(deltas, given, self.Y, self.law, threads))
        Y, residuals = (self.scale * np.concatenate(each) for each in zip(*parts, strict=True))
        return Y, residuals

    def _deltas(self, values: Any, threads: int) -> Floats:
        deltas = self.measure.rows(values, threads)
        if self.scale != 1:
            deltas = (deltas / self.scale).astype(deltas.dtype)
        if self.target is not None:
            deltas = self.target(deltas).astype(deltas.dtype)
        return np.ascontiguousarray(deltas)

    def _check(self, deltas: Floats, weights: Floats | None, begin: int) -> None:
        known = deltas >= 0 if weights is None else (deltas >= 0) & (weights > 0)
        alone = np.flatnonzero(~known.any(axis=1))
        if len(alone):
            raise DataError(
                f"Row {begin + alone[0]} has no known dissimilarity to any of the {len(self.Y)} fitted points, so that "
                f"nothing says where it lies. Give at least n_components + 1 of them."
            )


def lowest_of_starts(
    deltas: Floats, weights: Floats | None, Y: Floats, law: StressCode, threads: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """(places, residuals) of new points by their rows of dissimilarities to Y, each from three starts.

    The stress of a point that fits nowhere has minima on several sides of the embedding.
    """
    ends = [
        native.kernels.placed_by_stress(start, deltas, weights, Y, law, threads)
        for start in _starts(deltas, weights, Y)
    ]
    chosen, rows = np.argmin([left for _, left in ends], axis=0), np.arange(len(deltas))
    return np.stack([place for place, _ in ends])[chosen, rows], np.stack([left for _, left in ends])[chosen, rows]


def _starts(deltas: Floats, weights: Floats | None, Y: Floats) -> list[NDArray[np.float64]]:
    """The nearest fitted point, the mean of all by the fourth power of their nearness, and what faces that."""
    known = deltas >= 0 if weights is None else (deltas >= 0) & (weights > 0)
    squares = np.square(np.where(known, deltas, np.inf), dtype=np.float64)
    nearest = squares.min(axis=1, keepdims=True)
    closeness = np.divide(nearest, squares, out=(squares == 0).astype(float), where=squares > 0) ** 2
    total = closeness.sum(axis=1, keepdims=True)
    mean = np.array([(c[:, None] * Y).sum(axis=0) for c in closeness]) / np.where(total > 0, total, 1.0)
    return [Y[np.argmin(squares, axis=1)].astype(np.float64), mean, -mean]
