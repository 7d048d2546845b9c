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
from lowfold.backend.packed import Packed
from lowfold.errors import DataError
from lowfold.options import documented, option
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
        self.threads, self._primary = threads, how.ties == "primary"
        self._targets = Packed(lambda i, j: pairs.rows(i)[:, j], self.n, self.dtype, threads)
        self._order = _Order(self._targets, weighting.weights)
        self._fitted: NDArray[np.float64] = np.zeros(0)

    def with_threads(self, threads: int) -> OrdinalProblem:
        """A copy with targets of its own."""
        other = copy.copy(self)
        other.threads, other._targets = threads, copy.deepcopy(self._targets)
        return other

    def evaluate(self, Y: Floats) -> Evaluation:
        """The stress of `scale` Y, in units in which sum w disparity^2 is `total`."""
        order = self._order
        d = native.kernels.pair_lengths(Y, order.first, order.second, self.threads)
        fitted = self._isotonic(d)
        w = 1.0 if order.weights is None else order.weights
        square, length = float((w * d * d).sum()), float((w * fitted * fitted).sum())
        if not square * length > 0:
            raise DataError(
                f"All {len(d)} distances of the embedding are 0, or too small to be seen beside the largest: their "
                f"order says nothing. Start from init='random', or use scaling='metric'."
            )
        share = length / square
        self._fitted = fitted / share
        self._targets.entries[order.place] = self._fitted
        gradient, residuals, _ = native.kernels.stress_of_packed(
            self._targets.entries, self.weighting.weights, Y, self.weighting.law, self.threads
        )
        misfit = float((w * np.square(d - fitted)).sum()) / square
        unit = self.total * share / square
        return Evaluation(self.total * misfit, gradient, unit * residuals, unit * square, float(np.sqrt(unit)))

    def targets(self, points: NDArray[np.intp]) -> tuple[Floats, Floats | None]:
        """The disparities, at the length at which the embedding needs no scaling."""
        deltas = np.vstack([self._targets.rows(slice(i, i + 1)) for i in points])
        given = self.weighting.weights
        return deltas, None if given is None else given[points]

    def monotone(self, scale: float) -> Monotone:
        """The disparities of the last evaluation, times its scale, as a function of the dissimilarities."""
        delta, begin = self._order.delta, self._order.begin
        count = np.diff(begin, append=len(delta))
        values = scale * np.add.reduceat(self._fitted, begin) / count
        inside = (np.diff(values, prepend=-1.0) == 0) & (np.diff(values, append=np.inf) == 0)
        return Monotone(delta[begin][~inside], np.maximum.accumulate(values[~inside]))

    def _isotonic(self, d: NDArray[np.float64]) -> NDArray[np.float64]:
        """The disparities of distances in the order of the dissimilarities."""
        order, w = self._order, self._order.weights
        if len(order.begin) == len(d):
            return regression(d, w)
        if self._primary:
            within = np.arange(len(d))
            within[order.tied] = order.tied[np.lexsort((d[order.tied], order.group))]
            fitted = np.empty_like(d)
            fitted[within] = regression(d[within], None if w is None else w[within])
            return fitted
        mass = np.add.reduceat(np.ones_like(d) if w is None else w, order.begin)
        mean = np.add.reduceat(d if w is None else w * d, order.begin) / mass
        return np.repeat(regression(mean, mass), np.diff(order.begin, append=len(d)))


def regression(values: NDArray[np.float64], weights: NDArray[np.float64] | None) -> NDArray[np.float64]:
    """The numbers nearest to the values, by weighted squares, that never fall (pool adjacent violators)."""
    from scipy.optimize import isotonic_regression  # slow to import, and needed here alone

    return np.asarray(isotonic_regression(values, weights=weights).x, np.float64)


class _Order:
    """The pairs that count, by rising dissimilarity: their points, their place among the packed entries, their weights,
    where each group of equal dissimilarities begins, and those of groups of several with their groups' numbers."""

    def __init__(self, deltas: Packed, weights: Floats | None) -> None:
        n = deltas.shape[0]
        first, second, place = [], [], []
        for begin, strip in deltas.strips():
            wanted = np.triu(strip >= 0, 1)
            if weights is not None:
                wanted &= weights[begin : begin + len(strip), begin:] > 0
            i, j = np.nonzero(wanted)
            first.append((i + begin).astype(np.int32))
            second.append((j + begin).astype(np.int32))
            place.append(i * (n - begin) + j + deltas.place(begin))
        self.first, self.second, self.place = (np.concatenate(parts) for parts in (first, second, place))
        self.delta = deltas.entries[self.place].astype(np.float64)
        by_size = np.argsort(self.delta, kind="stable")
        self.first, self.second, self.place = self.first[by_size], self.second[by_size], self.place[by_size]
        self.delta = self.delta[by_size]
        self.weights = None if weights is None else weights[self.first, self.second].astype(np.float64)
        self.begin = np.flatnonzero(np.diff(self.delta, prepend=-1.0) > 0)
        sizes = np.diff(self.begin, append=len(self.delta))
        self.tied = np.flatnonzero(np.repeat(sizes > 1, sizes))  # among all, these alone have to be sorted each time
        self.group = np.repeat(np.arange(len(self.begin)), sizes)[self.tied]
