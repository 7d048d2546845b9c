"""A force method that follows its minimum while the repulsion grows: at each strength from where the last one ended."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from lowfold import inputs
from lowfold.estimator import Stopwatch
from lowfold.force.descend import Course
from lowfold.force.homotopy import Homotopy
from lowfold.force.method import ForceMethod
from lowfold.force.schedule import Annealed, Phase, schedule_of
from lowfold.force.spectral_direction import SpectralDirection
from lowfold.options import option, refuse_ignored
from lowfold.types import Floats, Step

AT_EACH_STRENGTH = 60  # iterations, at most, on the way to the last one
EARLY = ("exaggeration", "early_iter")  # what a schedule says about the phases in whose place the way is


class FollowingMethod(ForceMethod):
    """path_: the strengths passed through and the embedding at each."""

    strength: float | Homotopy = option(
        0.1, above=0, help="strength lambda of the repulsion, or Homotopy(strength, ...)"
    )

    @property
    def _homotopy(self) -> Homotopy:
        return self.strength if isinstance(self.strength, Homotopy) else Homotopy(strength=self.strength)

    def _strength(self) -> float:
        return self._homotopy.strength

    def _prepare(self, data: inputs.Data, watch: Stopwatch, findings: dict[str, Any]) -> None:
        super()._prepare(data, watch, findings)
        self.path_: list[tuple[float, Floats]] = []

    def _check(self, data: inputs.Data) -> None:
        super()._check(data)
        schedule = schedule_of(self.schedule)
        why = f"{type(self).__name__} follows its minimum while the repulsion grows and has no early phase"
        unheeded = tuple(name for name in EARLY if getattr(schedule, name, 0) != 0)  # no early iterations are right
        refuse_ignored(schedule, unheeded, why)

    def _optimise(self, phases: list[Phase], along: Course | None = None) -> Iterator[Step]:
        """Goes through the strengths that lie ahead; the last one takes as long as the schedule says."""
        problem = self._descent.problem.with_strength(self._strength())
        ahead = self._homotopy.strengths(problem.n, self._affinities.degree)[:-1]
        passed = self.path_[-1][0] if self.path_ else 0.0
        if passed < problem.strength:
            annealed = isinstance(schedule_of(self.schedule), Annealed)  # the steps of a classical one are its own
            along = along or (SpectralDirection.where_it_wins(problem) if annealed else None)
            self._steps = "stiffness" if along is None else "spectral direction"
        descent = [phase for phase in phases if phase.name in ("descent", "cooling")]
        for strength in ahead[ahead > passed]:
            self._descent.turn_to(problem.with_strength(float(strength)))
            step = None
            homotopy = Phase("homotopy", AT_EACH_STRENGTH, descent[0].rate, 0.9, tolerance=1e-3)
            for step in super()._optimise([homotopy], along):
                yield step
            if step is not None:
                self.path_.append((float(strength), step.embedding))
        self._descent.turn_to(problem)
        if (
            along is not None
        ):  # where it rests, the other way soon does too; but groups that hardly hold together may not
            yield from super()._optimise(descent[:1], along)
        yield from super()._optimise(descent)

    def _finished(self, findings: dict[str, Any]) -> Floats:
        Y = super()._finished(findings)
        findings["steps"] = self._steps
        reached = self._descent.problem.strength  # of a fit that was stopped, not the last one
        self.path_ = [*(step for step in self.path_ if step[0] != reached), (reached, Y)]
        return Y

    def _steps_before(self, n_samples: int) -> int:
        return AT_EACH_STRENGTH * (len(self._homotopy.strengths(n_samples)) - 1)
