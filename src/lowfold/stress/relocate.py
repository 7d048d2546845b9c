"""Points that fit better elsewhere: a way out of local minima, which majorisation by itself never leaves."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lowfold.backend import native
from lowfold.stress.place import lowest_of_starts
from lowfold.stress.problem import Evaluation, Problem
from lowfold.types import Floats

SHARE, FEWEST, MOST = 0.1, 200, 1000  # of the points, those with the largest residuals, are tried elsewhere
GAIN = 1e-6  # of the stress that a point must gain by its move
FAR = 0.02  # of the size of the embedding: a shorter move is left to the majorisation


def better_places(
    problem: Problem, Y: Floats, at: Evaluation, together: NDArray[np.intp] | None
) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """(points, places): points whose own stress is lower far from where they are, most gain first.

    Each is placed as a new point among the others would be. at: the evaluation at Y.
    """
    points = _worst(problem, at, together)
    if len(points) == 0 or problem.n < 3:
        return points[:0], np.zeros((0, Y.shape[1]))
    deltas, weights = problem.targets(points)
    deltas[np.arange(len(points)), points] = np.nan
    law = problem.weighting.law
    places, left = lowest_of_starts(deltas, weights, Y, law, problem.threads)
    here = Y[points].astype(np.float64)
    _, own = native.kernels.placed_by_stress(here, deltas, weights, Y, law, problem.threads)
    gain = (own**2 - left**2) * problem.degrees[points]
    size = float(np.sqrt(np.square(Y, dtype=np.float64).sum(axis=1).mean()))
    wanted = (gain > GAIN * at.stress / at.scale**2) & (np.linalg.norm(places - here, axis=1) > FAR * size)
    chosen = np.flatnonzero(wanted)[np.argsort(-gain[wanted], kind="stable")]
    return points[chosen], places[chosen]


def _worst(problem: Problem, at: Evaluation, together: NDArray[np.intp] | None) -> NDArray[np.intp]:
    """The points with the largest residuals; of equal ones the first."""
    order = np.argsort(-at.residuals / np.maximum(problem.degrees, np.finfo(np.float64).tiny), kind="stable")
    if together is not None:
        order = order[together[order] == order]
    return order[: tried_elsewhere(problem.n)]


def tried_elsewhere(n: int) -> int:
    """How many of n points are."""
    return min(n, MOST, max(FEWEST, int(SHARE * n)))
