"""Balls about groups of points, which tell which groups cannot hold the point nearest to another one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from lowfold.backend import stopping
from lowfold.neighbors.interface import lengths_of
from lowfold.types import Floats

NUMBERS_AT_ONCE = 1 << 20
SLACK = 1e-4  # of the lengths, by which they may be off in float32
ORDERS = {"manhattan": 1, "chebyshev": np.inf}  # of the norms; of the others Euclid's


@dataclass(frozen=True, slots=True)
class Balls:
    """A centre and a radius for each group, in the lengths of differences that belong to a metric."""

    centres: Floats
    radii: Floats
    metric: str

    def bounds(self, some: NDArray[Any]) -> NDArray[np.float64]:
        """(some, all): lengths below which no pair of points lies, one from each group; infinite among these groups."""
        rounding = 16 * float(np.finfo(self.centres.dtype).eps) * float(np.abs(self.centres).max())
        least = np.full((len(some), len(self.radii)), np.inf)
        others = np.setdiff1d(np.arange(len(self.radii)), some)
        for row, group in zip(least, some, strict=True):
            apart = np.linalg.norm(self.centres[others] - self.centres[group], ORDERS.get(self.metric), axis=1)
            both = self.radii[others] + self.radii[group]
            row[others] = apart - both - SLACK * (apart + both) - rounding * self.centres.shape[1]
        return least

    def reach(self, distance: float) -> float:
        """The length that belongs to a distance."""
        return float(lengths_of(np.array([distance]), self.metric)[0]) * (1 + SLACK)


def balls_about(X: Floats, metric: str, groups: NDArray[Any]) -> Balls:
    """About the rows of each group 0, 1, ..., the mean of which is the centre."""
    n, count = len(X), int(groups.max()) + 1
    sizes = np.bincount(groups, minlength=count)
    order = np.argsort(groups, kind="stable")
    begin = np.concatenate([[0], np.cumsum(sizes)])
    members = csr_array((np.ones(n, X.dtype), order, begin), shape=(count, n))
    centres = np.asarray(members @ X) / sizes[:, None].astype(X.dtype)
    lengths = np.empty(n, X.dtype)
    step = max(1, NUMBERS_AT_ONCE // X.shape[1])
    for rows in (slice(first, first + step) for first in range(0, n, step)):
        stopping.check()
        lengths[rows] = np.linalg.norm(X[rows] - centres[groups[rows]], ORDERS.get(metric), axis=1)
    return Balls(centres, np.maximum.reduceat(lengths[order], begin[:-1]), metric)
