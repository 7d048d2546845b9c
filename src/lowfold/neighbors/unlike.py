"""New rows that are unlike the points, for which what a sample of these tells of the reach does not hold."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from lowfold.neighbors.interface import lengths_of
from lowfold.types import Floats

USUAL = 0.99  # of the sampled points have their last neighbour as near as a row's of their kind is
LANDMARKS = 4  # points of the sample, the nearest ones, that say what is usual where a row lies
BEYOND = 1.5  # times as far as the farthest of theirs: one in a hundred new digits, and all rows between far clusters
LARGE = 1.25  # times the size of usual points: 10,000 rows of twice their size took four times as long by 8 bits
MANY = 1000  # rows that large, for which another index is made
ROWS_AT_ONCE = 1 << 12


def usual_reach(distances: Floats) -> float:
    """Of the distances to the true neighbours of a sample, that to the last one which few exceed.

    To those found it would be too far where a few points found some in a group that is not their own.
    """
    return float(np.quantile(distances[:, -1], USUAL, method="higher"))


def unlike(distances: Floats, usual: float | None, around: Floats | None, metric: str) -> NDArray[np.intp]:
    """Rows whose last neighbour is farther away than those of the points; each is judged by itself.

    Than nearly all of them (usual), or than those of the landmarks around the row: where some points lie far from all
    others, nearly all is no measure for a row between two clusters.
    """
    last = distances[:, -1]
    far = last > (np.inf if usual is None else usual)
    if around is not None:
        far |= lengths_of(last, metric) > BEYOND * lengths_of(around.max(axis=1), metric)
    return np.flatnonzero(far)


def with_reaches(plans: dict[int, Any]) -> dict[int, Any]:
    """The plans of an index, without those that were pickled before there were reaches: they are made again."""
    return {k: plan for k, plan in plans.items() if plan is None or hasattr(plan, "reaches")}


class Sizes:
    """How large points usually are, from the middle of a sample of them."""

    def __init__(self, sample: Floats) -> None:
        self._middle = sample.mean(axis=0)
        self._usual = np.quantile(np.abs(sample - self._middle).max(axis=1), USUAL)

    def exceeded_by(self, queries: Floats) -> NDArray[np.bool_]:
        """Rows so much larger that 8 bits tell few points apart beside them; each by itself."""
        large = np.empty(len(queries), bool)
        for rows in (slice(begin, begin + ROWS_AT_ONCE) for begin in range(0, len(queries), ROWS_AT_ONCE)):
            large[rows] = np.abs(queries[rows] - self._middle).max(axis=1) > LARGE * self._usual
        return large
