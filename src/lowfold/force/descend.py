"""The one loop of the family: descent with momentum through phases, yielding a Step each time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol

import numpy as np

from lowfold.backend import blas, native
from lowfold.force.problem import PULL, ForceProblem, Forces
from lowfold.force.schedule import CHECK_EVERY, SAFE_RATE, Phase
from lowfold.types import Floats

LONGEST_STEP = 5.0  # in units of the kernel's width: what goes farther has left its neighbours behind

PATIENCE = 4  # looks in a row at which the loss is above its lowest: momentum makes it swing a little on its way down
SWING = 0.02  # of the lowest loss: so far above it, the steps are too long
LEAST = 1e-3  # loss of which SWING is taken at least: below, it is rounding
HURRIED = 0.01  # share of points that go the longest step at once: where the rest of a map settles, none do
RISE = 0.1  # of the lowest loss seen, or of 1: an optimisation that ends so far above it went astray


class Course(Protocol):
    """A way down that needs no momentum."""

    def forces_at(self, problem: ForceProblem, Y: Floats) -> Forces:
        """The forces at Y, where they may be known."""

    def next(self, problem: ForceProblem, Y: Floats, forces: Forces, how: tuple[float, float]) -> Floats:
        """The next embedding; how: the exaggeration, and the longest step in units of the course's own."""


class Descent:
    """The state of an optimisation: where the points are and how they move. It can be continued at any time.

    Y (n, d) float32, centred, in the problem's order. loss: at the last look, without exaggeration. converged: whether
    the last phase with a tolerance ended by it; unfinished: whether it ran out of iterations instead. diverged: whether
    the loss left the range of numbers, or rose far above what it was. pace: factor of the steps, lowered where they
    proved too long. promise: the share of the loss that one more step of a safe length would take off it; None unless
    the optimisation went to its end. cut_short: whether somebody else ended it, wherever it was on its way.
    """

    def __init__(self, problem: ForceProblem, Y: Floats) -> None:
        self.problem = problem
        self.Y = np.array(Y, np.float32, order="C")
        self.iteration = 0
        self.loss = np.inf
        self.gradient_norm = np.inf
        self.history: list[tuple[int, float]] = []
        self.converged = self.unfinished = self.diverged = False
        self.pace = 1.0
        self.cut_short = False
        self.promise: float | None = None
        self._ended_by_itself = False
        self._best = self.Y.copy()
        self._best_loss = self._first_loss = np.inf
        self._start = problem.loss(self.Y), problem.cost(self.Y)  # who ends above that found nothing
        self._objective = self._lowest = np.inf  # the loss with exaggeration, which is what falls
        self._exaggeration = 1.0
        self._idle = 0
        self._velocity = np.zeros_like(self.Y)
        self._gains: Floats | None = None
        self._degrees = problem.degrees
        self._ease: Floats | None = None
        self._ones = np.ones(problem.n, np.float32)

    @property
    def unchanging(self) -> tuple[Any, ...]:
        """Arrays that nothing writes to, which a copy may share."""
        return self.problem.P

    def run(self, phases: list[Phase], along: Course | None = None) -> Iterator[Phase]:
        """Goes through the phases, along a course of its own or that given; yields after each iteration."""
        self._ended_by_itself = False
        every = CHECK_EVERY if along is None else 1
        for phase in phases:
            self._gains = np.ones_like(self.Y) if phase.gains and self._gains is None else self._gains
            self._lowest, self._idle = np.inf, 0
            if phase.tolerance is not None:
                self.converged = self.unfinished = False
            for i in range(phase.iterations):
                looks = i == 0 or (i + 1) % every == 0 or i + 1 == phase.iterations
                if along is None:
                    self._step(phase, phase.factor(i), looks=looks)
                else:
                    self._follow(along, phase, phase.factor(i))
                yield phase
                if looks and self._ended(phase, every / CHECK_EVERY):
                    break
            else:
                self.unfinished = self.unfinished or (phase.tolerance is not None and phase.iterations > 0)
            if self.diverged:
                return
        self._ended_by_itself = True

    def _ended(self, phase: Phase, share: float) -> bool:
        """Whether a phase is over, after a look: because the loss hardly falls any more, or rose for too long. The
        looks are this share of CHECK_EVERY iterations apart.

        Points that are held back by the longest step swing to and fro, and the loss seems to rest.
        """
        if phase.by_degree and self._hurries():
            self.pace /= 4
            self._velocity[:] = 0
            self._lowest = np.inf
            return False
        if phase.tolerance is None:
            return self.diverged
        fall = self._lowest - self._objective
        if fall >= 0:
            self._idle = 0
            self._lowest = self._objective
            self.converged = fall < share * phase.tolerance * abs(self._objective)
            return self.converged
        self._idle += 1
        self._velocity[:] = 0  # it was carried past a minimum (O'Donoghue and Candes 2015)
        astray = self.diverged or -fall > SWING * max(abs(self._lowest), LEAST)
        if self._idle == PATIENCE:
            self.converged, self.diverged = not astray, astray
            return True
        if astray:  # it was not that: the steps are too long for how points lie
            self.pace /= 2
            self.Y[:] = self._best
            self.diverged = False
        return False

    def _step(self, phase: Phase, exaggeration: float, *, looks: bool) -> None:
        forces = self.problem.forces(self.Y)
        if looks:
            self._look(forces, exaggeration, watched=phase.watched)
        if looks or self._ease is None or self.problem.law.resistance:
            self._ease = self._eased(forces)
        native.kernels.advance_inplace(
            self.Y,
            self._velocity,
            self._gains if phase.gains else None,
            (forces.attraction, forces.repulsion, self._ease if phase.by_degree else self._ones),
            (PULL * exaggeration, forces.scale, self.pace * phase.rate, phase.momentum, LONGEST_STEP),
            self.problem.threads,
        )
        self.iteration += 1
        if phase.smallest:
            self._blow_up(phase.smallest)

    def _follow(self, course: Course, phase: Phase, exaggeration: float) -> None:
        """A step of a course, which never raises the loss."""
        forces = course.forces_at(self.problem, self.Y)
        self._look(forces, exaggeration, watched=phase.watched)
        self.Y = course.next(self.problem, self.Y, forces, (exaggeration, phase.rate / SAFE_RATE))
        self.iteration += 1

    def _promised(self, forces: Forces) -> float:
        slope = forces.gradient(self._exaggeration).astype(np.float64)
        fall = SAFE_RATE * float((self._eased(forces) * (slope**2).sum(axis=1)).sum())
        return fall / max(abs(self._objective), LEAST)

    def _hurries(self) -> bool:
        return bool((np.linalg.norm(self._velocity, axis=1) > 0.99 * LONGEST_STEP).mean() > HURRIED)

    def _eased(self, forces: Forces) -> Floats:
        """One over the stiffness of each point: its attraction, and its repulsion as far as that resists."""
        stiffness = self._degrees + self.problem.law.resistance * np.maximum(forces.weight, 0)
        return (1 / np.maximum(stiffness, np.finfo(np.float32).tiny)).astype(np.float32)

    def _blow_up(self, smallest: float) -> None:
        """Exaggeration may shrink data without structure to a point, where forces are rounding errors. Scaled back, the
        embedding keeps its shape, and the phase is a power iteration towards the Laplacian's lowest eigenvectors."""
        size = float(self.Y.std())
        if 0 < size < smallest:
            self.Y *= np.float32(smallest / size)
            self._velocity *= np.float32(smallest / size)

    def _take(self, forces: Forces) -> None:
        """The loss where the points are, and the objective: the same with exaggeration."""
        cost = self.problem.cost(self.Y)
        self.loss = self.problem.constant + cost + forces.repulsive
        self._objective = self.loss + (self._exaggeration - 1) * cost
        self.gradient_norm = blas.length(forces.gradient(self._exaggeration))
        self.history.append((self.iteration, self.loss))

    def _look(self, forces: Forces, exaggeration: float, *, watched: bool) -> None:
        """Takes the loss before the step that follows. While early exaggeration lasts it may rise."""
        self._exaggeration = exaggeration if watched else 1.0
        self._take(forces)
        if not watched:
            self.diverged = not np.isfinite(self.loss)
            return
        if np.isinf(self._first_loss):
            self._first_loss = self._objective
        worst = self._first_loss + max(abs(self._first_loss), 1.0)
        self.diverged = not np.isfinite(self._objective) or self._objective > worst
        if self._objective < self._best_loss:
            self._best, self._best_loss = self.Y.copy(), self._objective

    def turn_to(self, problem: ForceProblem) -> None:
        """Goes on with another problem from where the points are."""
        self.problem = problem
        self._ease = None
        self._best = self.Y.copy()
        self._best_loss = self._first_loss = np.inf
        self._start = np.inf, 0.0

    def settle(self) -> None:
        """Takes the loss where the points are now; if they diverged, or were stopped on their way, returns to the best
        place that was seen."""
        forces = self.problem.forces(self.Y)
        self._take(forces)
        self.promise = self._promised(forces) if self._ended_by_itself else None
        start, cost = self._start
        worse = self._objective - min(self._best_loss, start + (self._exaggeration - 1) * cost)
        allowed = RISE * max(abs(self._best_loss), 1.0)
        self.diverged = self.diverged or not np.isfinite(self._objective) or worse > allowed or self._hurries()
        self.converged = self.converged and not self.diverged
        astray = self.diverged or (self.cut_short and self._objective > self._best_loss)
        self.cut_short = False
        if astray and np.isfinite(self._best_loss):
            self.Y = self._best.copy()
            self.history.pop()
            self._take(self.problem.forces(self.Y))
