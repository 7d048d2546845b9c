"""Stresses by name, of a fit or of any embedding, and the pairs of a Shepard diagram."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lowfold import inputs
from lowfold.errors import DataError
from lowfold.stress.place import Measure
from lowfold.types import Floats, Indices

SAMPLE_ROWS, SAMPLE_COLUMNS = 1000, 200  # points of a sample, and others that each is measured to


@dataclass(frozen=True, slots=True)
class Stresses:
    """raw: sum w (d - delta)^2 over pairs. normalized: raw / sum w delta^2, S^2. kruskal: sqrt(raw / sum w d^2),
    stress-1. error: standard error of `normalized` if pairs were sampled, else 0."""

    raw: float
    normalized: float
    kruskal: float
    error: float = 0.0


@dataclass(frozen=True, slots=True)
class Shepard:
    """Pairs of points for a Shepard diagram: what was wanted beside what came out.

    first, second: numbers of the points. dissimilarity: delta as given. disparity: the target that came of it (for a
    metric method the same). distance: in the embedding. weight: of the pair in the stress.
    """

    first: Indices = field(repr=False)
    second: Indices = field(repr=False)
    dissimilarity: NDArray[np.float64]
    disparity: NDArray[np.float64]
    distance: NDArray[np.float64]
    weight: NDArray[np.float64]


def stresses(D: Any, Y: Any, weights: Any = None) -> Stresses:
    """The stresses of an embedding Y (n, d) of points with dissimilarities D (n, n), NaN for missing ones.

    weights (n, n): of pairs; None: 1. Sammon's stress is `normalized` with weights 1 / D.
    """
    D, Y = (inputs.read_numbers(values, name).astype(np.float64) for values, name in ((D, "D"), (Y, "Y")))
    if D.shape != (len(Y), len(Y)):
        raise DataError(
            f"D has shape {D.shape} and Y {Y.shape}; stresses need a square D with a row and a column for each row of "
            f"Y. Pass an (n, n) and an (n, d) array."
        )
    raw = wanted = size = 0.0
    for i in range(len(Y) - 1):
        delta, d = D[i, i + 1 :], np.sqrt(np.square(Y[i + 1 :] - Y[i]).sum(axis=1))
        w = np.ones_like(delta) if weights is None else np.asarray(weights[i][i + 1 :], np.float64)
        w = np.where(np.isnan(delta), 0.0, w)
        delta = np.where(w > 0, delta, 0.0)
        raw += float((w * np.square(d - delta))[w > 0].sum())
        wanted += float((w * delta**2)[w > 0].sum())
        size += float((w * d**2)[w > 0].sum())
    return of_sums(raw, wanted, size)


def of_sums(raw: float, wanted: float, size: float, error: float = 0.0) -> Stresses:
    """From sum w (d - delta)^2, sum w delta^2 and sum w d^2."""
    return Stresses(
        raw, raw / wanted if wanted > 0 else 0.0, float(np.sqrt(raw / size)) if size > 0 else float(raw > 0), error
    )


@dataclass(frozen=True, slots=True)
class Sampler:
    """Draws pairs of fitted points. values: the data; weigh: weights of pairs by their points and dissimilarities."""

    values: Any
    measure: Measure
    target: Callable[[Any], Any]
    weigh: Callable[[Any, Any, Any], Any]

    def pairs(self, Y: Floats, first: Any, second: Any) -> Shepard:
        """The pairs of these points; `first` ascends."""
        rows, begin = np.unique(first, return_index=True)
        parts = np.split(second, begin[1:])
        measured = [self.measure.between(self.values, i, own) for i, own in zip(rows, parts, strict=True)]
        deltas = np.concatenate(measured).astype(np.float64) if measured else np.zeros(0)
        apart = Y[first].astype(np.float64) - Y[second]
        return Shepard(
            first.astype(np.int32),
            second.astype(np.int32),
            deltas,
            np.asarray(self.target(deltas), np.float64),
            np.sqrt(np.square(apart).sum(axis=1)),
            np.where(deltas >= 0, self.weigh(first, second, deltas), 0.0),
        )

    def diagram(self, Y: Floats, most: int, seed: int) -> Shepard:
        """All pairs, or so many drawn by lot."""
        n = len(Y)
        if n * (n - 1) // 2 <= most:
            return self.pairs(Y, *np.triu_indices(n, 1))
        rng = np.random.default_rng((seed, most))
        first = np.sort(rng.integers(n, size=most))
        second = rng.integers(n - 1, size=most)
        return self.pairs(Y, first, second + (second >= first))

    def stresses(self, Y: Floats, seed: int) -> Stresses:
        """Estimated from SAMPLE_ROWS points, drawn with replacement, each with SAMPLE_COLUMNS others of its own.

        The points are independent, so that the spread of their sums tells the standard error of their ratio.
        """
        n, shape = len(Y), (SAMPLE_ROWS, SAMPLE_COLUMNS)
        rng = np.random.default_rng((seed, n))
        first = np.repeat(np.sort(rng.integers(n, size=SAMPLE_ROWS)), SAMPLE_COLUMNS)
        second = rng.integers(n - 1, size=first.size)
        drawn = self.pairs(Y, first, second + (second >= first))
        w, target = drawn.weight, np.where(drawn.weight > 0, drawn.disparity, 0.0)
        parts = [w * np.square(drawn.distance - target), w * target**2, w * drawn.distance**2]
        raw, wanted, size = (part.reshape(shape).mean(axis=1) for part in parts)
        if not wanted.any():
            return of_sums(0.0, 0.0, 0.0)
        ratio = raw.mean() / wanted.mean()
        error = float(np.std(raw - ratio * wanted) / wanted.mean() / np.sqrt(SAMPLE_ROWS))
        count = n * (n - 1) / 2
        return of_sums(count * raw.mean(), count * wanted.mean(), count * size.mean(), error)
