"""The one loop of the family: descent with momentum through phases, yielding a Step each time."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from lowfold.backend import native
from lowfold.force.problem import PULL, ForceProblem, Forces
from lowfold.force.schedule import CHECK_EVERY, Phase
from lowfold.types import Floats

LONGEST_STEP = 5.0  # in units of the kernel's width: what goes farther has left its neighbours behind

PATIENCE = 4  # looks in a row at which the loss is above its lowest: momentum makes it swing a little on its way down
SWING = 0.02  # of the lowest loss: so far above it after PATIENCE looks, the steps are too long
RISE = 0.1  # of the lowest loss seen, or of 1: an optimisation that ends so far above it went astray


class Descent:
    """The state of an optimisation: where the points are and how they move. It can be continued at any time.

    Y (n, d) float32, centred, in the problem's order. loss: at the last look. converged: whether the last phase with a
    tolerance ended by it; unfinished: whether it ran out of iterations instead. diverged: whether the loss left the
    range of numbers, or rose far above what it was.
    """

    def __init__(self, problem: ForceProblem, Y: Floats) -> None:
        self.problem = problem
        self.Y = np.array(Y, np.float32, order="C")
        self.iteration = 0
        self.loss = np.inf
        self.gradient_norm = np.inf
        self.history: list[tuple[int, float]] = []
        self.converged = self.unfinished = self.diverged = False
        self._best = self.Y.copy()
        self._best_loss = self._first_loss = np.inf
        self._start_loss = problem.loss(self.Y)  # most starts lie in one place: who ends above that found nothing
        self._velocity = np.zeros_like(self.Y)
        self._gains: Floats | None = None
        self._by_degree = (1 / np.maximum(problem.degrees, np.finfo(np.float32).tiny)).astype(np.float32)
        self._ones = np.ones(problem.n, np.float32)

    def run(self, phases: list[Phase]) -> Iterator[Phase]:
        """Goes through the phases; yields after each iteration."""
        for phase in phases:
            self._gains = np.ones_like(self.Y) if phase.gains and self._gains is None else self._gains
            if phase.tolerance is not None:
                self.converged = self.unfinished = False
            lowest, idle = np.inf, 0
            if self.diverged:
                return
            for i in range(phase.iterations):
                looks = (i + 1) % CHECK_EVERY == 0 or i + 1 == phase.iterations
                self._step(phase, phase.factor(i), looks=looks)
                yield phase
                if self.diverged:
                    return
                if looks and phase.tolerance is not None:
                    rises = self.loss > lowest
                    idle = idle + 1 if rises else 0
                    if idle == PATIENCE or (not rises and lowest - self.loss < phase.tolerance * abs(self.loss)):
                        self.diverged = self.loss - lowest > SWING * abs(lowest)
                        self.converged = not self.diverged
                        break
                    if rises:
                        self._velocity[:] = 0  # it was carried past a minimum (O'Donoghue and Candes 2015)
                    lowest = min(lowest, self.loss)
                    self.unfinished = i + 1 == phase.iterations

    def _step(self, phase: Phase, exaggeration: float, *, looks: bool) -> None:
        forces = self.problem.forces(self.Y)
        if looks:
            self._look(forces, exaggeration, watched=phase.watched)
        weights = self._by_degree if phase.by_degree else self._ones
        native.kernels.advance_inplace(
            self.Y,
            self._velocity,
            self._gains if phase.gains else None,
            (forces.attraction, forces.repulsion, weights),
            (PULL * exaggeration, forces.scale, phase.rate, phase.momentum, LONGEST_STEP),
            self.problem.threads,
        )
        self.iteration += 1
        if phase.smallest:
            self._blow_up(phase.smallest)

    def _blow_up(self, smallest: float) -> None:
        """Exaggeration may shrink data without structure to a point, where forces are rounding errors. Scaled back, the
        embedding keeps its shape, and the phase is a power iteration towards the Laplacian's lowest eigenvectors."""
        size = float(self.Y.std())
        if 0 < size < smallest:
            self.Y *= np.float32(smallest / size)
            self._velocity *= np.float32(smallest / size)

    def _look(self, forces: Forces, exaggeration: float, *, watched: bool) -> None:
        """Takes the loss, without exaggeration, before the step that follows. While exaggeration lasts it may rise."""
        self.loss = self.problem.loss(self.Y, forces.repulsive)
        self.gradient_norm = float(np.linalg.norm(forces.gradient(exaggeration).astype(np.float64)))
        self.history.append((self.iteration, self.loss))
        if not watched:
            self.diverged = not np.isfinite(self.loss)
            return
        if np.isinf(self._first_loss):
            self._first_loss = self.loss
        worst = self._first_loss + max(abs(self._first_loss), 1.0)
        self.diverged = not np.isfinite(self.loss) or self.loss > worst
        if self.loss < self._best_loss:
            self._best, self._best_loss = self.Y.copy(), self.loss

    def turn_to(self, problem: ForceProblem) -> None:
        """Goes on with another problem from where the points are."""
        self.problem = problem
        self._best = self.Y.copy()
        self._best_loss = self._first_loss = self._start_loss = np.inf

    def settle(self) -> None:
        """Takes the loss where the points are now; if they diverged, returns to the best place that was seen."""
        forces = self.problem.forces(self.Y)
        self.loss = self.problem.loss(self.Y, forces.repulsive)
        worse = self.loss - min(self._best_loss, self._start_loss)
        self.diverged = self.diverged or not np.isfinite(self.loss) or worse > RISE * max(abs(self._best_loss), 1.0)
        self.converged = self.converged and not self.diverged
        if self.diverged and np.isfinite(self._best_loss):
            self.Y = self._best.copy()
            forces = self.problem.forces(self.Y)
            self.loss = self.problem.loss(self.Y, forces.repulsive)
        self.gradient_norm = float(np.linalg.norm(forces.gradient().astype(np.float64)))
        self.history.append((self.iteration, self.loss))
