"""The schedules of an optimisation: phases, each with its exaggeration, momentum and rate."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from lowfold.options import callback_option, documented, option
from lowfold.types import Step

# Of the stiffness of a point's springs, 4 sum_j p_ij: with momentum m a step of up to 2 (1 + m) over the largest
# eigenvalue is stable, and the eigenvalues of a graph's Laplacian, divided by its degrees, are at most 2.
SAFE_RATE = 0.4
CHECK_EVERY = 20  # iterations between two looks at the loss


@dataclass(frozen=True, slots=True)
class Phase:
    """Some iterations of descent: v <- momentum v - rate gradient, y <- y + v.

    The affinities are multiplied by a factor that goes from `exaggeration` to `final` in equal ratios. If `by_degree`,
    the rate is divided by each point's stiffness. tolerance: ends early once the loss falls by less than this share of
    itself in CHECK_EVERY iterations; None: never. smallest: standard deviation below which the embedding is blown up
    again. watched: whether a loss that rises means that the optimisation went astray.
    """

    name: str
    iterations: int
    rate: float
    momentum: float
    exaggeration: float = 1.0
    final: float = 1.0
    by_degree: bool = True
    gains: bool = False
    tolerance: float | None = None
    smallest: float = 0.0
    watched: bool = True

    def factor(self, iteration: int) -> float:
        """The exaggeration at an iteration of this phase."""
        share = (iteration + 1) / self.iterations if self.final != self.exaggeration else 0.0
        return float(self.exaggeration * (self.final / self.exaggeration) ** share)


@documented
@dataclass(frozen=True, slots=True)
class Annealed:
    """Exaggeration that falls slowly, steps scaled by each point's stiffness, and an end when the loss stops falling.

    Each phase's rate is the largest that is stable for any graph. A sudden end of the exaggeration freezes what it
    crumpled; lowering it in 120 iterations (up to four times as many below 10,000 points) lets the embedding unfold.
    """

    exaggeration: float | str = option(
        "auto",
        low=1,
        choices=("auto",),
        help="factor of the affinities at the start; 'auto': 12, and up to 20 below 2,500 points",
    )
    late_exaggeration: float = option(1.0, above=0, help="factor of the affinities at the end")
    tolerance: float | str = option(
        "auto",
        low=0,
        choices=("auto",),
        help="share by which the loss must fall in 20 iterations for the optimisation to go on; 'auto': in proportion "
        "to the root of n_samples, 2.5e-4 at 600 and 2e-3 at 10,000",
    )
    max_iter: int = option(2000, low=0, help="largest number of iterations after the exaggeration")
    learning_rate: float = option(
        1.0, above=0, help="factor of the step length; 1 is the largest that is stable for any graph"
    )
    callback: Callable[[Step], Any] | None = callback_option()

    def phases(self, n: int, total: float = 1.0) -> list[Phase]:
        """The phases for n points; steps are divided by stiffness, so that the total of affinities changes nothing."""
        rate, late = SAFE_RATE * self.learning_rate, self.late_exaggeration
        longer = min(4.0, max(1.0, math.sqrt(LONGER_BELOW / n), SMALL / n))
        exaggeration = self._exaggeration(longer)
        early = 0.9 * rate / exaggeration
        high = exaggeration * late
        early_on: dict[str, Any] = {"smallest": START_SIZE, "watched": False}
        return [
            Phase("early exaggeration", round(EARLY * longer), early / late, 0.9, high, high, **early_on),
            Phase("annealing", round(ANNEALING * longer), early / late, 0.95, high, late, **early_on),
            Phase("descent", self.max_iter, rate / late, 0.98, late, late, tolerance=self._tolerance(n)),
            Phase("cooling", 30 if self.max_iter else 0, rate / late, 0.9, late, late),
        ]

    def _tolerance(self, n: int) -> float:
        if isinstance(self.tolerance, str):
            return TOLERANCE * math.sqrt(max(1.0, n / TOLERANCE_SIZE)) * min(1.0, max(0.5, n / SMALL))
        return self.tolerance

    def _exaggeration(self, longer: float) -> float:
        """Clumps of near-duplicates move as wholes and find their places only under a strong pull."""
        if isinstance(self.exaggeration, str):
            return EXAGGERATION * min(MOST_EXAGGERATION / EXAGGERATION, max(1.0, longer / 2))
        return self.exaggeration

    @property
    def start_size(self) -> float:
        """The standard deviation of the first coordinate at the start."""
        return START_SIZE


EARLY, ANNEALING = 60, 120  # iterations
EXAGGERATION, MOST_EXAGGERATION = 12.0, 20.0
SMALL = 4000  # points: with fewer, even more of them
LONGER_BELOW = 10_000  # points: with fewer, iterations cost little, and rolled-up sheets unroll better
# The more points, the longer the loss goes on falling by ever less that can be seen.
TOLERANCE, TOLERANCE_SIZE = 5e-4, 600
START_SIZE = 1e-2  # smaller ones drown in the error of a grid


@documented
@dataclass(frozen=True, slots=True)
class Classical:
    """The schedule of van der Maaten (2008) with the learning rate of Belkina et al. (2019)."""

    exaggeration: float = option(12.0, low=1, help="factor of the affinities in the early phase")
    early_iter: int = option(250, low=0, help="number of iterations of the early phase")
    late_exaggeration: float = option(1.0, above=0, help="factor of the affinities afterwards")
    max_iter: int = option(500, low=0, help="number of iterations after the early phase")
    learning_rate: float | str = option(
        "auto",
        above=0,
        choices=("auto",),
        help="step length; 'auto': the number of points over the exaggeration and the sum of the affinities",
    )
    callback: Callable[[Step], Any] | None = callback_option()

    def phases(self, n: int, total: float = 1.0) -> list[Phase]:
        """The phases for n points whose affinities have this total."""
        auto = isinstance(self.learning_rate, str)
        early, late = self.exaggeration, self.late_exaggeration
        rates = [n / (early * total), n / (late * total)] if auto else [float(self.learning_rate)] * 2
        shared: dict[str, Any] = {"by_degree": False, "gains": True}
        return [
            Phase("early exaggeration", self.early_iter, rates[0], 0.5, early, early, **shared, watched=False),
            Phase("descent", self.max_iter, rates[1], 0.8, late, late, **shared),
        ]

    @property
    def start_size(self) -> float:
        """The standard deviation of the first coordinate at the start."""
        return 1e-4


def schedule_option() -> Any:
    """The schedule, as every force method declares it."""
    return option("annealed", choices=("annealed", "classical"), help="schedule of the optimisation, by name or value")


def schedule_of(schedule: str | Annealed | Classical) -> Annealed | Classical:
    """The schedule that a name stands for."""
    if isinstance(schedule, str):
        return Annealed() if schedule == "annealed" else Classical()
    return schedule
