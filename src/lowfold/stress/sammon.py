"""Sammon's mapping (Sammon 1969).

Sammon's stress 1 / sum delta_ij * sum (d_ij - delta_ij)^2 / delta_ij weighs errors of small dissimilarities more: it is
the normalised stress sum w (d - delta)^2 / sum w delta^2 with w = 1 / delta. So the majorisation of the family serves
it, where Sammon took steps along the gradient divided by second derivatives, which may overshoot.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lowfold.options import option
from lowfold.stress.method import StressMethod
from lowfold.stress.pairs import Pairs
from lowfold.stress.problem import Problem, StressProblem, Weighting, sammon_weights


class Sammon(StressMethod):
    """Sammon's mapping: minimises sum (d - delta)^2 / delta over pairs, divided by sum delta.

    embedding_, sammon_stress_ (also normalized_stress_), raw_stress_ (not divided by sum delta), stress_1_ (the root of
    raw over sum d^2 / delta), stress_error_ (standard error of sammon_stress_ if landmarks were used, which make it an
    estimate; else 0), residuals_ (of each point the root of the weighted mean of (d - delta)^2), history_ (iteration,
    raw stress), n_iter_, converged_, landmarks_, report_.
    """

    zeros: str = option(
        "together",
        choices=("together", "ignore", "error"),
        help="treatment of pairs at dissimilarity 0, which 1 / delta does not weigh: 'together' as heavy as the "
        "smallest other, 'ignore' without weight, 'error' refused",
    )

    @property
    def sammon_stress_(self) -> float:
        """Sammon's stress of the embedding."""
        return self.normalized_stress_

    def _weighting(self, pairs: Pairs) -> Weighting:
        found = sammon_weights(pairs, self.zeros, self._threads)
        self._at_zero = found.law[1] * pairs.scale
        return found

    def _problem(self, pairs: Pairs, weighting: Weighting) -> Problem:
        return StressProblem(pairs, weighting, self._threads)

    def _pair_weights(self, first: Any, second: Any, deltas: Any) -> Any:
        return 1 / np.where(deltas > 0, deltas, self._at_zero)
