"""The one loop of the family: majorisation with momentum, or plain descent; the stress never rises."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from lowfold.backend import blas
from lowfold.options import callback_option, documented, option
from lowfold.stress.lift import lifted, turned
from lowfold.stress.problem import Evaluation, Problem
from lowfold.stress.relocate import better_places
from lowfold.types import Floats, Step

CALM = 0.003  # of the stress: where it falls by more in a pass, the arrangement of the points is not yet settled
WINDOW = 10  # iterations over which the fall of the stress is looked at: momentum makes single ones small
FLOOR = 1e-6  # of sum w delta^2: a stress below is as good as none, and need not fall in proportion to itself
COARSE = 10  # times the tolerance: near enough to a minimum to be lifted out of it
STIFFER = 2.0  # factor of the stiffness after a step that raised the stress
SMALLEST_RATE = 1e-12  # of the first one: a descent that has to go so slowly does not move any more


@documented
@dataclass(frozen=True, slots=True)
class Majorisation:
    """Steps to the minimum of a quadratic function above the stress: `MDS(solver=Majorisation(max_iter=1000))`.

    With momentum (Nesterov 1983) they are taken from a point ahead. Where the stress there is above the last one, the
    momentum is given up for the plain step, which cannot raise it: of the embeddings that are kept none is above the
    one before. Once the stress falls slowly, all points are lifted into one more dimension, where they can pass each
    other, and pressed flat again; the end is kept if it is lower. Once it has stopped falling, points with large
    residuals that fit better elsewhere are moved there, if that lowers it, and the majorisation goes on.
    """

    max_iter: int = option(1000, low=0, help="largest number of passes over the pairs")
    tolerance: float = option(
        1e-7, low=0, help="share of itself by which the stress must fall in an iteration, on the mean of ten, to go on"
    )
    momentum: bool = option(True, help="switch for the acceleration; without it the steps are Guttman's (SMACOF)")
    relocations: int = option(5, low=0, help="number of times that points which fit better elsewhere are moved there")
    lifts: int = option(2, low=0, help="most times that all points are lifted into one more dimension, while it helps")
    callback: Callable[[Step], Any] | None = callback_option()


@documented
@dataclass(frozen=True, slots=True)
class GradientDescent:
    """Descent by a common rate, y <- y - rate dS/dy, S the normalised stress: `Sammon(solver=GradientDescent())`.

    A step that raises the stress is taken back, and the rate halved.
    """

    learning_rate: float | str = option(
        "auto", above=0, choices=("auto",), help="rate of descent; 'auto': the largest that suits the heaviest point"
    )
    max_iter: int = option(1000, low=0, help="largest number of passes over the pairs")
    tolerance: float = option(
        1e-6, low=0, help="share of itself by which the stress must fall in an iteration, on the mean of ten, to go on"
    )
    callback: Callable[[Step], Any] | None = callback_option()


Solver: TypeAlias = Majorisation | GradientDescent


def solver_option() -> Any:
    """The solver, as every stress method declares it."""
    return option("majorisation", choices=("majorisation", "gradient"), help="solver of the problem, by name or value")


def solver_of(solver: str | Solver) -> Solver:
    """The solver that a name stands for."""
    if isinstance(solver, str):
        return Majorisation() if solver == "majorisation" else GradientDescent()
    return solver


class Optimisation:
    """The state of one run: the embedding kept last, its stress, and where to look next.

    Y (n, d) in the problem's type, centred. together (n,): the point that each is one with, if some are equal.
    history: (iteration, stress), one for each pass. converged: ended because the stress hardly fell; stopped: by a
    callback; hurried: by Ctrl-C, so that somebody waits. relocated, lifted: how often points were moved to where they
    fit better, and all of them by a lift.
    """

    def __init__(self, problem: Problem, start: Any, solver: Solver, together: NDArray[np.intp] | None = None) -> None:
        self.problem, self.solver, self._together = problem, solver, together
        self._next = self._tidied(np.asarray(start, np.float64))
        self.Y: Floats = self._next.astype(problem.dtype)
        self.evaluation: Evaluation = problem.evaluate(self.Y)
        self.history: list[tuple[int, float]] = [(0, self.evaluation.stress)]
        self.converged = self.stopped = self.hurried = False
        self.relocated = self.lifted = 0
        self._ahead = False
        self._momentum = isinstance(solver, Majorisation) and solver.momentum
        self._stiffness, self._stiffest = self._steps()
        self._plain: NDArray[np.float64] = self._next
        self._t = 1.0
        self._since = 1
        self._aim(first=True)

    @property
    def stress(self) -> float:
        """The stress of the embedding that was kept last."""
        return self.evaluation.stress

    @property
    def gradient_norm(self) -> float:
        """The length of the gradient of the stress there."""
        return 2 * blas.length(self.evaluation.gradient)

    @property
    def iteration(self) -> int:
        """The passes over the pairs since the start was seen."""
        return self.history[-1][0]

    def run(self) -> Iterator[None]:
        """Passes until the stress stops falling or max_iter is reached; yields after each."""
        solver = self.solver
        relocations, lifts = (solver.relocations, solver.lifts) if isinstance(solver, Majorisation) else (0, 0)
        if lifts:
            yield from self._settle(0, COARSE * solver.tolerance)
        for number in range(lifts):
            before = self.stress
            if self.converged and self.stress > FLOOR * self.problem.total and self.problem.n > 2:
                yield from self._lift(number)
            if not self.stress < before:
                break
            self.lifted += 1
        if lifts:  # so far to the coarse tolerance alone
            self.converged = False
            self._aim(first=True)
        yield from self._settle(relocations, solver.tolerance)

    def _settle(self, relocations: int, tolerance: float) -> Iterator[None]:
        """Passes until the stress falls by less than the tolerance, also after points were moved so many times."""
        self._since = len(self.history)
        for number in range(relocations + 1):
            while not self._ended(tolerance) and self.iteration < self.solver.max_iter:
                self._pass()
                yield
            if number < relocations and self.converged:
                yield from self._relocate()

    def _relocate(self) -> Iterator[None]:
        """Moves points that fit better elsewhere: all that do, or the better half of them and so on, if that helps."""
        self.problem.evaluate(self.Y)  # the last look may have been elsewhere, and disparities are of the last one
        points, places = better_places(self.problem, self.Y, self.evaluation, self._together)
        count = len(points)
        while count and self.iteration < self.solver.max_iter:
            moved = self.Y.astype(np.float64)
            moved[points[:count]] = places[:count]
            Y = self._tidied(moved).astype(self.problem.dtype)
            found = self.problem.evaluate(Y)
            better = found.stress < self.stress
            if better:
                self.Y, self.evaluation, self.converged, count = Y, found, False, 0
                self.relocated += 1
                self._aim(first=True)
            count //= 2
            self._count()
            yield

    def _lift(self, number: int) -> Iterator[None]:
        """Leads the embedding through one more dimension and from there to rest; kept once that is below."""
        solver, start = self.solver, self.Y.astype(np.float64)
        assert isinstance(solver, Majorisation)
        for flat in lifted(self.problem, start, self._stiffness, self._tidied, number):
            if self.iteration >= solver.max_iter:
                return
            start = flat
            self._count()
            yield
        most = solver.max_iter - self.iteration
        rest = dataclasses.replace(solver, max_iter=most, tolerance=COARSE * solver.tolerance, relocations=0, lifts=0)
        other = Optimisation(self.problem, turned(start, self.Y), rest, self._together)
        for _ in other.run():
            if other.stress < self.stress:
                self.Y, self.evaluation = other.Y, other.evaluation
            self._count()
            yield

    def _count(self) -> None:
        self.history.append((self.iteration + 1, self.stress))

    def _pass(self) -> None:
        Y = self._next.astype(self.problem.dtype)
        found = self.problem.evaluate(Y)
        if found.stress <= self.stress:
            self.Y, self.evaluation = Y, found
            self._aim(first=False)
        elif self._ahead:  # momentum led too far: the plain step, and a new run-up
            self._next, self._before, self._ahead, self._t = self._plain, self._plain, False, 1.0
        elif (self._stiffness < self._stiffest).any():
            self._stiffness = np.minimum(STIFFER * self._stiffness, self._stiffest)
            self._aim(first=True)
        else:
            self.converged = True  # a step that cannot raise the stress does, by rounding: there is nothing below
        self._count()

    def _aim(self, *, first: bool) -> None:
        """Sets where to look next: the plain step from where the points are, and what momentum adds to it."""
        at = self.Y.astype(np.float64)
        self._before = self._plain
        self._plain = self._tidied(at - self.evaluation.gradient / self._stiffness)
        if first:
            self._before, self._t = self._plain, 1.0
        share = 0.0
        if self._momentum and self._is_calm():
            following = (1 + np.sqrt(1 + 4 * self._t**2)) / 2
            share, self._t = (self._t - 1) / following, following
        self._next = self._tidied(self._plain + share * (self._plain - self._before))
        self._ahead = share > 0

    def _is_calm(self) -> bool:
        """Whether the stress falls slowly enough for momentum: before, that leads into other valleys, often worse."""
        return self.history[-1][1] - self.stress < CALM * self.stress

    def _steps(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """What the gradient is divided by, and the most that this may become."""
        degrees = np.maximum(self.problem.degrees, np.finfo(np.float64).tiny)[:, None]
        if isinstance(self.solver, Majorisation):
            return self.problem.stiffness * degrees, self.problem.stiffest * degrees
        auto = isinstance(self.solver.learning_rate, str)
        # y - rate dS/dy with S = stress / total, and dstress/dy = 2 gradient.
        rate = 2 * float(self.solver.learning_rate) / self.problem.total if not auto else 0.0
        stiffness = np.full_like(degrees, self.problem.stiffness * degrees.max() if auto else 1 / rate)
        return stiffness, stiffness / SMALLEST_RATE

    def _tidied(self, Y: NDArray[np.float64]) -> NDArray[np.float64]:
        """Centred, equal points in one place: neither changes what the stress can reach."""
        if self._together is not None:
            Y = Y[self._together]
        return Y - Y.mean(axis=0)

    def _ended(self, tolerance: float) -> bool:
        if self.converged or len(self.history) < self._since + WINDOW:
            return self.converged
        fall = self.history[-1 - WINDOW][1] - self.stress
        self.converged = fall <= WINDOW * tolerance * max(self.stress, FLOOR * self.problem.total)
        return self.converged
