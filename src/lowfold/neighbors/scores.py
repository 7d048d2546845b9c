"""How candidates are scored in the first pass of the search (cpp/core/engine.hpp): the quickest way that tells them.

A score by products errs by a share of |x|^2, x from the centre of the data, in 8 bits by a far larger one; where the
nearest points are nearer than that, all that lie around are candidates and have to be measured. Differences err by a
share of |x| alone and take twice as long.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from lowfold.backend import native
from lowfold.neighbors.samples import spread_points
from lowfold.types import Floats

BYTES, PRODUCTS, DIFFERENCES = "bytes", "products", "differences"
LEAST_POINTS = 4096  # below, all of them are measured in a moment
AMONG, EACH = 1024, 8  # rows that are looked at, and of which every eighth has its nearest among all of them found
MOST_DOUBT = 0.1  # of them may be nearer to others than scores tell
BYTE_ERROR = 1e-3  # share of |x|^2 by which a score in 8 bits is off, about, and seldom by more
BYTES_FROM = 16  # dimensions from which 8-bit scores are faster than float32 ones
# Shares of the 8-bit scores' worst-case error to allow for. Errors of sums grow with the square root of the
# dimensions, worst cases with the dimensions: BYTE_SHARE / sqrt(d) is about one standard deviation.
BYTE_SHARE = 0.15
CERTAIN = 6  # times that: no score is off by so much
SPREAD = 5.0  # times its error by which a score may be above the last that is wanted (candidates.hpp)


def fitting_scores(X: Floats, threads: int, *, bytes_too: bool) -> str:
    """The first of bytes, products and differences by which most points are told from their nearest."""
    if len(X) < LEAST_POINTS:
        return BYTES if bytes_too else PRODUCTS
    ratio, _ = _shares_of_size(X, threads)
    for scores, error in ((BYTES, BYTE_ERROR), (PRODUCTS, _sum_error(X)))[not bytes_too :]:
        if _tells_most(ratio, error):
            return scores
    return DIFFERENCES


def size_of_confused(X: Floats, threads: int) -> float | None:
    """|x| of the points that differences, which err by a share of it, cannot tell from their nearest; None if they can
    tell most of many points."""
    ratio, size = _shares_of_size(X, threads)
    error = _sum_error(X) ** 2
    return None if _tells_most(ratio, error) else float(np.sqrt(np.median(size[ratio < SPREAD * error])))


def _sum_error(X: Floats) -> float:
    """Share by which a sum over the columns in float32 may be off."""
    return 2 * (min(X.shape[1], 256) + 8) * float(np.finfo(np.float32).eps)


def _tells_most(ratio: Any, error: float) -> bool:
    return bool(np.mean(ratio < SPREAD * error) <= MOST_DOUBT)


def _shares_of_size(X: Floats, threads: int) -> tuple[Any, Any]:
    """(the squared distance from some rows to the nearest of some, as a share of |x|^2; |x|^2)."""
    rows = X[spread_points(len(X), AMONG)].astype(np.float64)
    asked = np.ascontiguousarray(rows[::EACH])
    apart = native.kernels.cross_distances(asked, rows, threads)
    apart[apart == 0] = np.inf  # of a point itself, and of others that equal it
    size = np.maximum(_sizes(asked), np.finfo(np.float64).tiny)
    return np.square(apart.min(axis=1)) / size, size


def _sizes(rows: Any) -> Any:
    """|x|^2 of each row from where most of them are: the mean, or the medians if they are nearer (frame.hpp)."""
    around = [np.square(rows - centre).sum(axis=1) for centre in (rows.mean(axis=0), np.median(rows, axis=0))]
    return around[1] if np.median(around[1]) < 0.25 * np.median(around[0]) else around[0]


def deviation(scores: str, dimensions: int) -> float:
    """About one standard deviation of the errors of scores, of their worst case."""
    return BYTE_SHARE / math.sqrt(dimensions) if scores == BYTES else 1.0
