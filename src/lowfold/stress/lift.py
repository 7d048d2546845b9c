"""A way out of local minima: a coordinate more, in which points can pass each other, and which is then pressed flat.

What holds a point on the wrong side are the points in between. In one more dimension it goes around them: with enough
coordinates the stress has no other minimum than the lowest (de Leeuw and Groenen 1993).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lowfold.stress.problem import Problem
from lowfold.types import Floats

PASSES = 60
HEIGHT = 0.05  # of the size of the embedding: the standard deviation of the new coordinate at first
PRESSURE = 0.01, 1.0  # first and last: a pass divides the new coordinate by 1 + pressure
MOMENTUM = 0.8  # share of the last pass' way that is gone again


def lifted(
    problem: Problem,
    Y: NDArray[np.float64],
    stiffness: NDArray[np.float64],
    tidied: Callable[[Any], Any],
    seed: int,
) -> Iterator[NDArray[np.float64]]:
    """The embedding on its way through one more dimension and back, after each pass without that coordinate."""
    n, d = Y.shape
    size = float(np.sqrt(np.square(Y).sum(axis=1).mean()))
    height = HEIGHT * size * np.random.default_rng((n, seed)).standard_normal((n, 1))
    at = before = tidied(np.hstack([Y, height]))
    for pressure in np.geomspace(*PRESSURE, PASSES):
        ahead = at + MOMENTUM * (at - before)
        step = ahead - problem.evaluate(ahead.astype(problem.dtype)).gradient / stiffness
        step[:, d:] /= 1 + pressure
        at, before = tidied(step), at
        yield at[:, :d]


def turned(Y: NDArray[np.float64], to: Floats) -> NDArray[np.float64]:
    """Y turned, or mirrored, as near to another embedding as it can be: a map that comes back lies as it lay before."""
    u, _, v = np.linalg.svd(np.einsum("ni,nj->ij", Y, to.astype(np.float64)))
    return np.asarray(np.einsum("ni,ij->nj", Y, np.einsum("ik,kj->ij", u, v)))
