"""Of two sets of points those that face each other: the closest pair is among them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lowfold.backend import stopping
from lowfold.neighbors.balls import ORDERS
from lowfold.types import Floats

ROUNDINGS = 16  # of a distance, beside one for each column
SQUARES_LOST = 1e8  # times the smallest number's root: below, squares vanish and distances are equal that were not
NUMBERS_AT_ONCE = 1 << 20


def facing(
    X: Floats, metric: str, a: NDArray[np.intp], b: NDArray[np.intp]
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Some of the rows a and b of X, in their order: of sets far apart a few, of others all.

    With u of norm 1 in the dual norm |x - y| >= u (x - y): u from centre to centre tells who is in front. A pair is
    farther apart than the first two if it is so along u.
    """
    centres = [X[side].mean(axis=0, dtype=np.float64) for side in (a, b)]
    apart = centres[1] - centres[0]
    if not 0 < np.abs(apart).max() < np.inf:
        return a, b
    u = _unit(apart, metric)
    (behind, one), (beyond, other) = (_along(X, *side, u) for side in zip((a, b), centres, strict=True))
    beyond += apart @ u
    first, last = (X[side[place]].astype(np.float64) for side, place in ((a, behind.argmax()), (b, beyond.argmin())))
    distance = float(np.linalg.norm(last - first, ORDERS.get(metric)))
    if distance < SQUARES_LOST * np.sqrt(np.finfo(X.dtype).tiny):
        return a, b
    sizes = np.array([distance, X.shape[1] * max(one, other, float(np.abs(apart).max()))])
    rounding = np.array([np.finfo(X.dtype).eps, np.finfo(np.float64).eps])
    reach = distance + 2 * (X.shape[1] + ROUNDINGS) * float(rounding @ sizes)
    return a[beyond.min() - behind <= reach], b[beyond - behind.max() <= reach]


def _unit(apart: NDArray[np.float64], metric: str) -> NDArray[np.float64]:
    """The vector of norm 1 in the dual norm whose product with `apart` is the length of that."""
    if metric == "manhattan":
        return np.sign(apart)
    widest = np.abs(apart).argmax()
    shares = apart / np.abs(apart[widest])
    if metric == "chebyshev":
        return np.where(np.arange(len(apart)) == widest, shares, 0.0)
    return np.asarray(shares / np.linalg.norm(shares))


def _along(
    X: Floats, rows: NDArray[np.intp], centre: NDArray[np.float64], u: NDArray[np.float64]
) -> tuple[NDArray[np.float64], float]:
    """(u (x - centre) of each row, the largest entry of all x - centre)."""
    lengths, largest = np.empty(len(rows)), 0.0
    step = max(1, NUMBERS_AT_ONCE // X.shape[1])
    for part in (slice(begin, begin + step) for begin in range(0, len(rows), step)):
        stopping.check()
        off = X[rows[part]] - centre
        lengths[part], largest = np.einsum("ij,j->i", off, u), max(largest, float(np.abs(off).max()))
    return lengths, largest
