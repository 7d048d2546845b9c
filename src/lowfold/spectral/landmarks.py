"""A few of the points, chosen at random: the problem is solved for them, and the others are placed by it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from lowfold.backend import native
from lowfold.errors import ParameterError
from lowfold.options import RandomState, option, seed_of

STREAM = 1 << 33  # of the random numbers: apart from those of the neighbour search


def landmarks_option() -> Any:
    """The number of landmarks, as every method that can use them declares it."""
    return option(None, low=2, help="number of points to solve the problem for, the others being placed; None: all")


def chosen_landmarks(n: int, count: int | None, m: int, random_state: RandomState) -> NDArray[np.intp] | None:
    """Sorted numbers of the landmarks, or None if all points take part."""
    if count is None:
        return None
    if not m < count <= n:
        raise ParameterError(
            f"landmarks={count} must be more than n_components={m} and at most n_samples = {n}. "
            f"Use landmarks=None to solve for all points, or a number in between."
        )
    order = np.argsort(native.kernels.random_bits(seed_of(random_state), STREAM, n), kind="stable")
    return np.sort(order[:count])
