"""Non-metric stress (Kruskal 1964): only the order of the dissimilarities counts.

The targets are the disparities: the numbers nearest to the distances d that never fall as delta rises, by isotonic
regression. With c = |disparities|^2 / |d|^2 (norms over pairs, weighted), Kruskal's stress-1 is sqrt(1 - c). Divided by
c the disparities have the length at which the embedding needs no scaling; majorisation of the metric stress to these
targets then never raises stress-1: the new disparities are at least as near, and a scale that fits better only helps.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lowfold.backend import native
from lowfold.backend.embedding_protocol import PairOrder
from lowfold.backend.packed import Packed
from lowfold.errors import DataError
from lowfold.options import documented, option
from lowfold.stress.order import group_begins, group_means, run_ends, stable_order, taken
from lowfold.stress.pairs import Pairs
from lowfold.stress.problem import Evaluation, StressProblem, Weighting
from lowfold.types import Floats


@documented
@dataclass(frozen=True, slots=True)
class Nonmetric:
    """How the order of the dissimilarities binds: `MDS(scaling=Nonmetric(ties="secondary"))`."""

    ties: str = option(
        "primary",
        choices=("primary", "secondary"),
        help="treatment of equal dissimilarities: 'primary' lets their distances differ, 'secondary' wants them equal",
    )


@dataclass(frozen=True, slots=True)
class Monotone:
    """A function that never falls, by its values at knots; straight between them and beyond them."""

    knots: NDArray[np.float64]
    values: NDArray[np.float64]

    def __call__(self, delta: Any) -> Any:
        """The disparities; NaN stays NaN."""
        x = np.asarray(delta, np.float64)
        first, last = self.knots[0], self.knots[-1]
        out = np.interp(x, self.knots, self.values)
        slope = self.values[-1] / last if last > 0 else 1.0
        out = np.where(x > last, self.values[-1] + slope * (x - last), out)
        return np.where(x < first, self.values[0] * x / (first if first > 0 else 1.0), out)


class OrdinalProblem:
    """Stress to the disparities of an embedding; `evaluate` fits them anew each time."""

    def __init__(self, pairs: Pairs, weighting: Weighting, how: Nonmetric, threads: int) -> None:
        self.metric = metric = StressProblem(pairs, weighting, threads)
        self.n, self.dtype, self.degrees, self.total = metric.n, metric.dtype, metric.degrees, metric.total
        self.stiffness, self.stiffest, self.weighting = metric.stiffness, metric.stiffest, weighting
        self.threads, self._ties = threads, how.ties
        self._targets = Packed(lambda i, j: pairs.rows(i)[:, j], self.n, self.dtype, threads)
        self._order = _Order(self._targets, weighting.weights)
        self._fitted = np.empty(len(self._order.delta))

    def with_threads(self, threads: int) -> OrdinalProblem:
        """A copy with disparities of its own."""
        other = copy.copy(self)
        other.threads, other._targets, other._fitted = threads, copy.deepcopy(self._targets), self._fitted.copy()
        return other

    def evaluate(self, Y: Floats) -> Evaluation:
        """The stress of `scale` Y, in units in which sum w disparity^2 is `total`."""
        square, length, misfit = self._fit(self._fitted, Y, self._order)
        if not square * length > 0:
            raise DataError(
                f"All {len(self._order.delta)} distances of the embedding are 0, or too small to be seen beside the "
                f"largest: their order says nothing. Start from init='random', or use scaling='metric'."
            )
        gradient, residuals, _ = native.kernels.stress_of_packed(
            self._targets.entries, self.weighting.weights, Y, self.weighting.law, self.threads
        )
        unit = self.total * (length / square) / square
        stress = self.total * (misfit / square)
        return Evaluation(stress, gradient, unit * residuals, unit * square, float(np.sqrt(unit)))

    def targets(self, points: NDArray[np.intp]) -> tuple[Floats, Floats | None]:
        """The disparities, at the length at which the embedding needs no scaling."""
        deltas = np.vstack([self._targets.rows(slice(i, i + 1)) for i in points])
        given = self.weighting.weights
        return deltas, None if given is None else given[points]

    def monotone(self, Y: Floats, scale: float, most: int | None = None) -> tuple[Monotone, int]:
        """(f, m): the disparities of an embedding, times its scale, as a function of the dissimilarities.

        most: pairs to fit it to, every m-th of all.
        """
        step = 1 if most is None else max(1, -(-len(self._order.delta) // most))
        order = self._order if step == 1 else self._order.thinned(step)
        fitted = self._fitted if step == 1 else np.empty(len(order.delta))
        square, length, _ = self._fit(fitted, Y, order)
        if step > 1 and not square * length > 0:  # those that differ are not among these
            return self.monotone(Y, scale)
        values = group_means(fitted, order.begin)
        ends = run_ends(values)
        knots = taken(order.delta, taken(order.begin, ends)).astype(np.float64)
        return Monotone(knots, np.maximum.accumulate(scale * values[ends])), step

    def _fit(self, fitted: NDArray[np.float64], Y: Floats, order: _Order) -> tuple[float, float, float]:
        return native.kernels.disparities_inplace(
            fitted, self._targets.entries, Y, order.pairs, self._ties, self.threads
        )


class _Order:
    """The pairs that count by rising dissimilarity, `delta`; `pairs`: their first and second points, where each group
    of equal dissimilarities begins, their weights."""

    def __init__(self, deltas: Packed, weights: Floats | None) -> None:
        first, second, found = [], [], []
        for begin, strip in deltas.strips():
            wanted = np.triu(strip >= 0, 1)
            if weights is not None:
                wanted &= weights[begin : begin + len(strip), begin:] > 0
            i, j = np.nonzero(wanted)
            first.append((i + begin).astype(np.int32))
            second.append((j + begin).astype(np.int32))
            found.append(strip[i, j])
        delta = np.concatenate(found)
        by_size = stable_order(delta)
        self.delta = taken(delta, by_size)
        self.begin = group_begins(self.delta)
        ends = taken(np.concatenate(first), by_size), taken(np.concatenate(second), by_size)
        self.pairs: PairOrder = (*ends, self.begin, None if weights is None else taken(weights, ends).astype(float))

    def thinned(self, step: int) -> _Order:
        """Every so many-th of the pairs."""
        other = copy.copy(self)
        first, second, _, weights = self.pairs
        other.delta = self.delta[::step].copy()
        other.begin = group_begins(other.delta)
        few = first[::step].copy(), second[::step].copy()
        other.pairs = (*few, other.begin, None if weights is None else weights[::step].copy())
        return other
