"""Gaussian affinities w_ij = exp(-d_ij^2 / (2 sigma_i sigma_j)), dense or on the edges of a graph."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from lowfold.errors import DataError
from lowfold.types import Floats

Width: TypeAlias = float | NDArray[np.float64]  # one sigma, or one for each point

LEAST_WEIGHT = 1e-10  # of an edge that is there: a bridge, or a far point, would otherwise fall off the graph
LOCAL_RANK = 7  # the neighbour whose distance is a point's own sigma (Zelnik-Manor and Perona 2004)


@dataclass(frozen=True, slots=True)
class Bandwidth:
    """sigma for every pair, or each training point's own."""

    sigma: Width

    def between(self, rows: Any, columns: Any) -> Any:
        """sigma_i sigma_j for the training points i and j."""
        if isinstance(self.sigma, np.ndarray):
            return self.sigma[rows] * self.sigma[columns]
        return self.sigma * self.sigma


def gaussian(distances: Any, product: Any) -> Any:
    """exp(-d^2 / (2 product)) in the type of the distances; product is sigma_i sigma_j."""
    return gaussian_inplace(np.square(np.asarray(distances)), product)


def gaussian_inplace(squares: Any, product: Any) -> Any:
    """The same from squared distances, which are overwritten."""
    squares /= np.asarray(-2.0 * product).astype(squares.dtype)
    return np.exp(squares, out=squares)


def typical_width(nearest: Floats) -> float:
    """The rule for sigma="auto": the median, over points, of the distance to the last neighbour looked at.

    Points within one sigma of each other are strongly connected, and there are as many of them as neighbours were asked
    for. Distances of zero, of equal points, are left out.
    """
    last = nearest[:, -1].astype(np.float64)
    positive = last[last > 0]
    return float(np.median(positive)) if len(positive) else 1.0


def own_widths(nearest: Floats) -> NDArray[np.float64]:
    """The rule for sigma="local": the distance of each point to its LOCAL_RANK-th neighbour.

    Where that is zero, since so many points are equal, the smallest one that is not zero.
    """
    rank = min(LOCAL_RANK, nearest.shape[1]) - 1
    widths = nearest[:, rank].astype(np.float64)
    positive = widths[widths > 0]
    return np.maximum(widths, positive.min() if len(positive) else 1.0)


def new_widths(last: Any, known: NDArray[np.float64]) -> NDArray[np.float64]:
    """The same for new points, from their distances to that neighbour; zero becomes the smallest of those known."""
    widths = np.asarray(last, np.float64)
    return np.where(widths > 0, widths, known.min())


def check_width(W_sums: NDArray[np.float64], own: float, sigma: object) -> None:
    """Raises DataError where sigma is so small that a point has no affinity to any other; own is that to itself."""
    alone = np.flatnonzero(W_sums - own <= 1e-14 * np.maximum(own, 1.0))
    if len(alone) and len(W_sums) > 1:
        points = f"{len(alone)} of {len(W_sums)} points (the first is point {alone[0]})"
        if isinstance(sigma, str):
            other = "" if sigma == "local" else "use sigma='local', by which each point has its own, "
            raise DataError(
                f"{points} lie so far from all others that they have no affinity to any, with the width that the data "
                f"give for sigma={sigma!r}. Leave them out, {other}or give a larger sigma."
            )
        raise DataError(
            f"sigma={sigma} is so small that {points} have no affinity to any other. Use a larger sigma, or the "
            f"default, which is chosen by the data."
        )
