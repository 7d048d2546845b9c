"""Small data sets to try methods on: made by a formula, a table of facts, or shipped with scikit-learn."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lowfold.datasets.eurodist import Eurodist, eurodist

__all__ = ["Eurodist", "digits", "eurodist", "spiral", "swiss_roll", "two_disks"]


def spiral(
    n: int = 500, *, turns: float = 3.0, noise: float = 0.0, random_state: int = 0
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """(X, position): n points scattered, not evenly, along a plane spiral, and how far along it each lies (0 to 1).

    turns: how often it goes round. noise: standard deviation of what is added to each coordinate. random_state: seed.
    """
    rng = np.random.default_rng(random_state)
    position = np.sort(rng.beta(1.0, 1.5, n))
    angle = 2 * np.pi * turns * np.sqrt(0.02 + 0.98 * position)
    X = np.column_stack([angle * np.cos(angle), angle * np.sin(angle)])
    return X + noise * rng.standard_normal(X.shape), position


def digits() -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """(X, label): the 1,797 handwritten digits of scikit-learn, 8 x 8 pixels each."""
    from sklearn.datasets import load_digits  # slow to import, and needed here alone

    return load_digits(return_X_y=True)


def swiss_roll(
    n: int = 1000, *, noise: float = 0.0, random_state: int = 0
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """(X, sheet): n points of a rolled-up rectangle in space, and where each lies in the rectangle (along, across).

    noise: standard deviation of what is added to each coordinate. random_state: seed.
    """
    rng = np.random.default_rng(random_state)
    angle = 1.5 * np.pi * (1 + 2 * rng.random(n))
    across = 21 * rng.random(n)
    X = np.column_stack([angle * np.cos(angle), across, angle * np.sin(angle)])
    along = (angle * np.sqrt(1 + angle**2) + np.arcsinh(angle)) / 2  # the length of the spiral up to there
    return X + noise * rng.standard_normal(X.shape), np.column_stack([along, across])


def two_disks(
    n: int = 800, *, random_state: int = 0
) -> tuple[NDArray[np.float64], NDArray[np.int64], tuple[int, int, int]]:
    """(X, side, (a, b, c)): n points of two disks with a narrow bridge, and three points to compare distances between.

    a lies at the bridge's end in the left disk, b at its other end in the right one, c in the right disk, about as far
    from b as a is. random_state: seed.
    """
    rng = np.random.default_rng(random_state)
    bridge = max(8, n // 40)
    radius, angle = np.sqrt(rng.random(n - bridge)), 2 * np.pi * rng.random(n - bridge)
    side = np.arange(n - bridge) % 2
    disks = np.column_stack([radius * np.cos(angle) + 2.6 * side - 1.3, radius * np.sin(angle)])
    path = np.column_stack([np.linspace(-0.3, 0.3, bridge), 0.02 * rng.standard_normal(bridge)])
    X = np.concatenate([disks, path])
    sides = np.concatenate([side, (path[:, 0] > 0).astype(side.dtype)]).astype(np.int64)
    a, b, c = (int(np.argmin(np.linalg.norm(X - place, axis=1))) for place in ((-0.55, 0), (0.55, 0), (1.65, 0)))
    return X, sides, (a, b, c)
