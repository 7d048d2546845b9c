"""Layouts by sampled forces: the loop of UMAP, its curve and its epochs."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from lowfold.affinity.walk import sums_of_runs
from lowfold.backend import native
from lowfold.backend.embedding_protocol import Sparse
from lowfold.errors import ParameterError
from lowfold.options import callback_option, documented, option
from lowfold.types import Floats, Step

Ab: TypeAlias = tuple[float, float]

SMALL, MANY, FEW = 10_000, 500, 200  # points up to which there are many epochs, else few
# Steps have the length FIRST (1 - t / T)^DECAY: long ones at first settle where groups lie, and short ones at the end
# where points do. A straight line leaves points less at home among their neighbours on every data set tried.
FIRST, DECAY = 0.6, 1.75
PLACING = 0.25, 2.0  # the same for new points, which begin among their neighbours and move alone
PLACING_EPOCHS = 100
# Of the way that a point came in the last epoch, it goes on so much before the next: since all points move at once,
# what one end of a sheet does would else reach the other too late, and folds would stay.
MOMENTUM = 0.8
CARRIED = 1.0  # at most, in a direction: a point that one close by has pushed far must not fly on
LOOKS = 20  # at the loss
STILL = 2  # looks one after another without a fall, where the loss may end the layout
SAMPLE = 20_000  # edges, and pairs, of each look
LEAST = 1e-6  # of r in the loss, which has no bound at 0


@documented
@dataclass(frozen=True, slots=True)
class Curve:
    """How close pairs lie that belong together: `UMAP(min_dist=Curve(min_dist=0.5, spread=2.0))`, or a and b."""

    min_dist: float = option(0.1, low=0, help="distance up to which pairs belong together wholly")
    spread: float = option(1.0, above=0, help="distance over which the degree falls by a factor of e")
    a: float | None = option(None, above=0, help="a of 1 / (1 + a r^b); None: by min_dist and spread")
    b: float | None = option(None, above=0, help="b of 1 / (1 + a r^b); None: by min_dist and spread")


@documented
@dataclass(frozen=True, slots=True)
class Epochs:
    """How long a layout lasts, and its forces: `UMAP(schedule=Epochs(n_epochs=1000))`."""

    n_epochs: int | str = option(
        "auto", low=0, choices=("auto",), help="number of epochs; 'auto': 500 up to 10,000 points, else 200"
    )
    learning_rate: float = option(1.0, above=0, help="factor of the length of all steps")
    repulsion_strength: float = option(1.0, low=0, help="factor of the force by which points push each other away")
    negative_sample_rate: int = option(5, low=0, help="number of points that push, each time an edge pulls")
    tolerance: float | None = option(
        None,
        low=0,
        help="ends where the sampled loss falls by less than so many of its standard errors, twice; None: all epochs",
    )
    callback: Callable[[Step], Any] | None = callback_option()

    def count(self, n: int) -> int:
        """The epochs for n points."""
        if isinstance(self.n_epochs, str):
            return MANY if n <= SMALL else FEW
        return self.n_epochs


def epochs_of(schedule: str | Epochs) -> Epochs:
    """The epochs that a name stands for."""
    return Epochs() if isinstance(schedule, str) else schedule


def curve_of(min_dist: float | Curve) -> Ab:
    """a and b with which 1 / (1 + a r^b) is nearest to exp(-(x - min_dist) / spread), r = x^2, by least squares."""
    from scipy.optimize import curve_fit

    curve = min_dist if isinstance(min_dist, Curve) else Curve(min_dist=float(min_dist))
    if curve.a is not None and curve.b is not None:
        if curve != Curve(a=curve.a, b=curve.b):
            raise ParameterError(
                f"Curve was given a={curve.a:g} and b={curve.b:g}, and min_dist={curve.min_dist:g}, "
                f"spread={curve.spread:g}, from which a and b would follow. Pass one pair or the other."
            )
        return float(curve.a), float(curve.b)
    if curve.a is not None or curve.b is not None:
        raise ParameterError(f"Curve was given a={curve.a} and b={curve.b}; pass both, or none of them.")
    if curve.min_dist > curve.spread:
        raise ParameterError(
            f"min_dist={curve.min_dist:g} is larger than spread={curve.spread:g}: the curve would never fall. Lower "
            f"min_dist, or raise spread with Curve(min_dist, spread)."
        )
    x = np.linspace(0, 3 * curve.spread, 300)
    y = np.where(x < curve.min_dist, 1.0, np.exp(-(x - curve.min_dist) / curve.spread))
    (a, b), _ = curve_fit(lambda x, a, b: 1 / (1 + a * x ** (2 * b)), x, y)
    return float(a), float(b)


def placed(entries: Sparse, Y: Floats, others: Floats, curve: Ab, epochs: Epochs, threads: int) -> Floats:
    """New points, from where they begin to where their edges draw them among others, which stay. Each goes alone."""
    edges = native.kernels.firing_edges(entries, 1.0, PLACING_EPOCHS, None, threads)
    forces, (first, decay) = (*curve, epochs.repulsion_strength), PLACING
    for t in range(PLACING_EPOCHS):
        step = first * epochs.learning_rate * (1 - t / PLACING_EPOCHS) ** decay
        how = t + 1, step, epochs.negative_sample_rate, t
        Y = native.kernels.placing_epoch(edges, Y, others, forces, how, threads)
    return Y


class Layout:
    """The state of a layout: where the points are, the epoch, the history of the loss. It can be continued.

    Y (n, d) float32, in the order of the entries.
    """

    def __init__(self, entries: Sparse, Y: Floats, curve: Ab, epochs: Epochs, run: tuple[int, int]) -> None:
        """run: seed and threads."""
        self.Y = np.array(Y, np.float32, order="C")
        self.epoch = 0
        self.ended = False  # by the loss
        self.history: list[tuple[int, float, float]] = []
        epochs = dataclasses.replace(epochs, callback=None)  # who watches is no part of the state
        self._entries, self._curve, self._epochs = entries, curve, epochs
        self._seed, self._threads = run[0] & 0xFFFFFFFF, run[1]
        self._largest = float(entries[2].max(initial=0.0)) or 1.0
        self._sums: Any = None
        self._order = np.random.default_rng(self._seed).permutation(len(self.Y)).astype(np.int32)

    @property
    def unchanging(self) -> tuple[Any, ...]:
        """Arrays that nothing writes to, which a copy may share."""
        return (*self._entries, self._order)

    def run(self, count: int, rate: float) -> Iterator[tuple[int, Floats, float | None]]:
        """Some epochs; yields (epoch, Y, loss at every so many epochs) after each."""
        edges = native.kernels.firing_edges(self._entries, self._largest, count, self._seed, self._threads)
        forces, before = (*self._curve, self._epochs.repulsion_strength), self.Y
        for t in range(count):
            step = FIRST * rate * (1 - t / count) ** DECAY
            how = t + 1, step, self._epochs.negative_sample_rate, (self._seed + self.epoch) & 0xFFFFFFFF
            ahead = self.Y - before
            ahead *= np.float32(MOMENTUM)
            np.clip(ahead, -CARRIED, CARRIED, out=ahead)
            ahead += self.Y
            before = self.Y
            self.Y = native.kernels.layout_epoch(edges, ahead, self._order, forces, how, self._threads)
            self.epoch += 1
            looks = (t + 1) % max(1, count // LOOKS) == 0
            yield self.epoch, self.Y, self.look() if looks else None
            if looks and self._stands_still():
                self.ended = True
                return

    def _stands_still(self) -> bool:
        """Whether the loss has not fallen by `tolerance` standard errors from look to look, STILL times."""
        if self._epochs.tolerance is None or len(self.history) <= STILL:
            return False
        _, loss, error = np.array(self.history[-STILL - 1 :]).T
        falls, errors = loss[:-1] - loss[1:], np.hypot(error[:-1], error[1:])
        return bool((falls < self._epochs.tolerance * errors).all())

    def look(self) -> float:
        """An unbiased sample of the cross-entropy that the forces lower, kept in the history with its standard error.

        sum_(i<j) -w_ij log v_ij - c_ij log(1 - v_ij), w relative to its largest entry: each time an edge fires, some
        points push, which makes c_ij = negatives (d_i + d_j) / 4n with the degrees d of w (Damrich and Hamprecht
        2021). The first part is from edges drawn by lot, the second from pairs.
        """
        if self.history and self.history[-1][0] == self.epoch:
            return self.history[-1][1]
        n = len(self.Y)
        begin, columns, values = self._entries
        rng = np.random.default_rng((self._seed, self.epoch))
        i, j = rng.integers(n, size=SAMPLE), rng.integers(n - 1, size=SAMPLE) if n > 1 else np.zeros(SAMPLE, int)
        j = j + (j >= i)
        degrees, largest = self._degrees(), self._largest
        pushes = self._epochs.repulsion_strength * self._epochs.negative_sample_rate / (4 * n)
        _, apart = self._logs(i, j)
        pairs, count = -pushes * (degrees[i] + degrees[j]) * apart, n * (n - 1) / 2
        loss, error = count * pairs.mean(), count * pairs.std() / np.sqrt(SAMPLE)
        if len(values):
            chosen = np.sort(rng.integers(len(values), size=SAMPLE))
            together, _ = self._logs(np.searchsorted(begin, chosen, side="right") - 1, columns[chosen])
            edges, half = -values[chosen] / largest * together, len(values) / 2
            loss, error = loss + half * edges.mean(), np.hypot(error, half * edges.std() / np.sqrt(SAMPLE))
        self.history.append((self.epoch, float(loss), float(error)))
        return float(loss)

    def _degrees(self) -> Any:
        """sum_j w_ij / largest, found once."""
        if self._sums is None:
            begin, _, values = self._entries
            self._sums = sums_of_runs(values, begin) / self._largest
        return self._sums

    def _logs(self, i: Any, j: Any) -> tuple[Any, Any]:
        """log v and log(1 - v)."""
        a, b = self._curve
        r = np.maximum(np.square(self.Y[i].astype(np.float64) - self.Y[j]).sum(axis=1), LEAST)
        together = -np.log1p(a * r**b)
        return together, np.log(a) + b * np.log(r) + together
