"""Metric and non-metric multidimensional scaling by majorisation (Kruskal 1964, de Leeuw 1977).

Stress sum w_ij (d_ij - delta_ij)^2 compares distances, where classical scaling's strain compares inner products. By
Cauchy and Schwarz, d_ij |z_i - z_j| >= (y_i - y_j)'(z_i - z_j): with that in the place of d_ij in the mixed term, the
stress lies below a quadratic function of Y that touches it at Z. Its minimum, Guttman's transform
y_i = z_i - 1/n sum_j (1 - delta_ij / |z_i - z_j|)(z_i - z_j) for equal weights, never has a higher stress than Z.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from lowfold.options import option
from lowfold.stress.majorise import Optimisation
from lowfold.stress.measures import Stresses, of_sums
from lowfold.stress.method import StressMethod
from lowfold.stress.ordinal import Nonmetric, OrdinalProblem
from lowfold.stress.pairs import Pairs
from lowfold.stress.problem import Problem, StressProblem, Weighting, given_weights, unit_weights
from lowfold.types import Floats

HURRIED = 1 << 20  # pairs that the disparities of new points are fitted to after Ctrl-C: hundredths of a second


class MDS(StressMethod):
    """Multidimensional scaling: minimises sum w (d - delta)^2, or with scaling='nonmetric' the same to the order alone.

    embedding_, raw_stress_ (sum w (d - delta)^2), normalized_stress_ (over sum w delta^2), stress_1_ (Kruskal's, the
    root of raw over sum w d^2), stress_error_ (standard error of normalized_stress_ if landmarks were used, which make
    it an estimate; else 0), residuals_ (of each point the root of the mean of w (d - delta)^2), history_ (iteration,
    raw stress), n_iter_, converged_, landmarks_, report_. Non-metric: delta is the disparity, in units in which
    disparities are as long as the dissimilarities.

    A non-metric pass fits a disparity to each of the n (n - 1) / 2 pairs: 0.6 s for 8,000 points on two cores, more
    than ten times a metric one, and there may be max_iter = 1000 of them. `landmarks=1000` makes that seconds;
    `Majorisation(lifts=0, relocations=0)` takes a quarter of the passes to a stress up to two thousandths higher.

    `weights` are of pairs of training points: with landmarks, those beside them are placed by their own. A new point
    has none, so `transform` weighs all fitted points equally; a NaN among its given dissimilarities is no pair.
    """

    scaling: str | Nonmetric = option(
        "metric",
        choices=("metric", "nonmetric"),
        help="kind of scaling: 'metric' matches the dissimilarities, 'nonmetric' or Nonmetric(...) their order",
    )
    weights: np.ndarray | None = option(
        None,
        help="array (n_samples, n_samples) of weights of pairs of training points (new ones have none); None: 1 each",
    )

    @property
    def _is_metric(self) -> bool:
        return isinstance(self.scaling, str) and self.scaling == "metric"

    def _weighting(self, pairs: Pairs) -> Weighting:
        if self.weights is None:
            return unit_weights(pairs, self._threads)
        chosen = self.landmarks_
        return given_weights(
            pairs, self.weights if chosen is None else np.asarray(self.weights)[np.ix_(chosen, chosen)]
        )

    def _problem(self, pairs: Pairs, weighting: Weighting) -> Problem:
        metric = StressProblem(pairs, weighting, self._threads)
        if self._is_metric or metric.total == 0:
            return metric
        how = Nonmetric() if isinstance(self.scaling, str) else self.scaling
        return OrdinalProblem(pairs, weighting, how, self._threads)

    def _target(self, best: Optimisation, findings: dict[str, Any]) -> Callable[[Any], Any] | None:
        if not isinstance(best.problem, OrdinalProblem):
            return None
        function, step = best.problem.monotone(best.Y, best.evaluation.scale, HURRIED if best.hurried else None)
        if step > 1:
            findings["disparities of new points"] = f"fitted to one pair in {step}: Ctrl-C ended the fit"
        return function

    def _named(self, stress: float, total: float, size: float, unit: float) -> Stresses:
        found = of_sums(stress * unit, total * unit, size * unit)
        if self._is_metric:
            return found
        # Kruskal's disparities are the nearest to d of any length, not of that of the dissimilarities.
        return Stresses(found.raw, found.normalized, float(np.sqrt(found.normalized)))

    def _pair_weights(self, first: Any, second: Any, deltas: Any) -> Any:
        return np.ones_like(deltas) if self.weights is None else np.asarray(self.weights, np.float64)[first, second]

    def _weights_of_others(self) -> Floats | None:
        return None if self.weights is None else np.asarray(self.weights)[:, self.landmarks_]

    def _memory(self, n_samples: int, n_features: int) -> int:
        # Non-metric: targets, and in the order of the dissimilarities points, places, distances, disparities, sorting.
        m = self.landmarks or n_samples
        return super()._memory(n_samples, n_features) + (0 if self._is_metric else 40 * m * m)
