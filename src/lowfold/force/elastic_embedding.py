"""Elastic embedding (Carreira-Perpinan 2010).

E(Y; lambda) = sum_ij w+_ij |y_i - y_j|^2 + lambda sum_ij w-_ij exp(-|y_i - y_j|^2): Laplacian eigenmaps' energy, and a
repulsion instead of their constraint. w+ are neighbour affinities (row sums near 1), or just those given with
metric="affinity"; w-_ij = m_i m_j with masses m, or any that are given. At lambda -> 0 everything lies in one point,
which opens along the Laplacian's lowest eigenvectors as lambda grows; following the minimum from there (homotopy)
avoids poor ones. Steps are divided by each point's stiffness 4 sum_j w+_ij, the diagonal of the attraction's Hessian,
or taken along the spectral direction where the whole of it is cheap to invert: on sheets.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from lowfold import inputs
from lowfold.affinity.perplexity import WIDTH, scales
from lowfold.force.descend import Course
from lowfold.force.homotopy import Homotopy
from lowfold.force.method import ForceMethod
from lowfold.force.problem import NONE
from lowfold.force.repulsion import Engine
from lowfold.force.schedule import Annealed, Phase, schedule_of
from lowfold.force.spectral_direction import MOST_FILL, SpectralDirection
from lowfold.options import option
from lowfold.types import Floats, Step

AT_EACH_STRENGTH = 60  # iterations, at most, on the way to the last one


class ElasticEmbedding(ForceMethod):
    """Elastic embedding: springs between neighbours, and a repulsion of strength lambda between all points.

    embedding_, path_ (the strengths passed through and the embedding at each), loss_ (also energy_), history_,
    gradient_norm_, n_iter_, report_.
    """

    normalisation: ClassVar[str] = NONE
    default_init: ClassVar[str] = "spectral"

    strength: float | Homotopy = option(
        0.1, above=0, help="strength lambda of the repulsion, or Homotopy(strength, ...)"
    )

    @property
    def energy_(self) -> float:
        """The energy that was reached."""
        return self.loss_

    def _optimise(self, phases: list[Phase], along: Course | None = None) -> Iterator[Step]:
        """Follows the minimum over the strengths; the last one as long as the schedule says."""
        problem = self._descent.problem
        if along is None and isinstance(schedule_of(self.schedule), Annealed):  # a classical one's steps are its own
            along = SpectralDirection.where_it_wins(problem)
        self._steps = "stiffness" if along is None else "spectral direction"
        strengths = self._homotopy.strengths(problem.n, self._affinities.degree)
        self.path_: list[tuple[float, Floats]] = []
        last = ("descent", "cooling") if along is None else ("descent",)  # only momentum has to be cooled
        descent = [phase for phase in phases if phase.name in last]
        for strength in strengths[:-1]:
            self._descent.turn_to(problem.with_strength(float(strength)))
            step = None
            homotopy = Phase("homotopy", AT_EACH_STRENGTH, descent[0].rate, 0.9, tolerance=1e-3)
            for step in super()._optimise([homotopy], along):
                yield step
            if step is not None:
                self.path_.append((float(strength), step.embedding))
        self._descent.turn_to(problem)
        yield from super()._optimise(descent, along)

    def _finished(self, findings: dict[str, object]) -> Floats:
        Y = super()._finished(findings)
        findings["steps"] = self._steps
        final = self._homotopy.strength
        self.path_ = [*(step for step in self.path_ if step[0] != final), (final, Y)]
        return Y

    def _steps_before(self, n_samples: int) -> int:
        return AT_EACH_STRENGTH * (len(self._homotopy.strengths(n_samples)) - 1)

    def _strength(self) -> float:
        return self._homotopy.strength

    @property
    def _homotopy(self) -> Homotopy:
        return self.strength if isinstance(self.strength, Homotopy) else Homotopy(strength=self.strength)

    def _masses(self, data: inputs.Data) -> Floats | None:
        return self._homotopy.masses(data.n)

    def _engine(self) -> Engine:
        if self._homotopy.pairs is None:
            return super()._engine()
        return self._homotopy.engine(self._law, self._affinities.order, self.repulsion, self._threads)

    def _memory(self, n_samples: int, n_features: int) -> int:
        """The factors of a sheet, while they are found, beside two copies of the affinities."""
        k = min(WIDTH * max(scales(self.perplexity), default=1.0), n_samples)
        return super()._memory(n_samples, n_features) + int(1.5 * k * n_samples * (16 * MOST_FILL + 24))
