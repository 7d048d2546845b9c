"""Elastic embedding (Carreira-Perpinan 2010).

E(Y; lambda) = sum_ij w+_ij |y_i - y_j|^2 + lambda sum_ij w-_ij exp(-|y_i - y_j|^2): Laplacian eigenmaps' energy, and a
repulsion instead of their constraint. w+ are neighbour affinities (row sums near 1), or those given with
metric="affinity"; w-_ij = m_i m_j with masses m, or any that are given. At lambda -> 0 everything lies in one point,
which opens along the Laplacian's lowest eigenvectors as lambda grows; following the minimum from there (homotopy)
avoids poor ones. Steps are divided by each point's stiffness 4 sum_j w+_ij, the diagonal of the attraction's Hessian.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from lowfold import inputs
from lowfold.force.homotopy import Homotopy
from lowfold.force.method import ForceMethod
from lowfold.force.problem import NONE
from lowfold.force.repulsion import Engine
from lowfold.force.schedule import Phase
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

    def _optimise(self, phases: list[Phase]) -> Iterator[Step]:
        """Follows the minimum over the strengths; the last one as long as the schedule says."""
        problem = self._descent.problem
        strengths = self._homotopy.strengths(problem.n)
        self.path_: list[tuple[float, Floats]] = []
        descent = [phase for phase in phases if phase.name in ("descent", "cooling")]
        for strength in strengths[:-1]:
            self._descent.turn_to(problem.with_strength(float(strength)))
            step = None
            for step in super()._optimise([Phase("homotopy", AT_EACH_STRENGTH, descent[0].rate, 0.9, tolerance=1e-3)]):
                yield step
            if step is not None:
                self.path_.append((float(strength), step.embedding))
        self._descent.turn_to(problem)
        yield from super()._optimise(descent)

    def _finished(self, findings: dict[str, object]) -> Floats:
        Y = super()._finished(findings)
        final = self._homotopy.strength
        self.path_ = [*(step for step in self.path_ if step[0] != final), (final, Y)]
        return Y

    def _steps_before(self, n_samples: int) -> int:
        return AT_EACH_STRENGTH * (len(self._homotopy.strengths(n_samples)) - 1)

    def _constant(self, total: float) -> float:
        return 0.0

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
