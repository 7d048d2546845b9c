"""Elastic embedding (Carreira-Perpinan 2010).

E(Y; lambda) = sum_ij w+_ij |y_i - y_j|^2 + lambda sum_ij w-_ij exp(-|y_i - y_j|^2): Laplacian eigenmaps' energy, and a
repulsion instead of their constraint. w+ are neighbour affinities (row sums near 1), or just those given with
metric="affinity"; w-_ij = m_i m_j with masses m, or any that are given. At lambda -> 0 everything lies in one point,
which opens along the Laplacian's lowest eigenvectors as lambda grows; following the minimum from there (homotopy)
avoids poor ones. Steps are divided by each point's stiffness 4 sum_j w+_ij, the diagonal of the attraction's Hessian,
or taken along the spectral direction where the whole of it is cheap to invert: on sheets.
"""

from __future__ import annotations

from typing import ClassVar

from lowfold import inputs
from lowfold.affinity.perplexity import WIDTH, scales
from lowfold.force.following import FollowingMethod
from lowfold.force.problem import NONE
from lowfold.force.repulsion import Engine
from lowfold.force.spectral_direction import MOST_FILL
from lowfold.types import Floats


class ElasticEmbedding(FollowingMethod):
    """Elastic embedding: springs between neighbours, and a repulsion of strength lambda between all points.

    embedding_, path_ (the strengths passed through and the embedding at each), loss_ (also energy_), history_,
    gradient_norm_, n_iter_, report_.
    """

    normalisation: ClassVar[str] = NONE
    default_init: ClassVar[str] = "spectral"

    @property
    def energy_(self) -> float:
        """The energy that was reached."""
        return self.loss_

    def _masses(self, data: inputs.Data) -> Floats | None:
        return self._homotopy.masses(data.n)

    def _engine(self) -> Engine:
        if self._homotopy.pairs is None:
            return super()._engine()
        return self._homotopy.engine(self._law, self._affinities.order, self.repulsion, self._threads)

    def _memory(self, n_samples: int, n_features: int) -> int:
        """The factors of a sheet, while they are found, beside two copies of the affinities."""
        k = min(WIDTH * max(scales(self.perplexity)), n_samples)
        return super()._memory(n_samples, n_features) + int(1.5 * k * n_samples * (16 * MOST_FILL + 24))
