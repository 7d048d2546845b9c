"""Small data sets to try methods on: made by a formula, a table of facts, or shipped with scikit-learn."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lowfold.datasets.eurodist import Eurodist, eurodist

__all__ = ["Eurodist", "digits", "eurodist", "spiral"]


def spiral(
    n: int = 500, *, turns: float = 3.0, noise: float = 0.0, random_state: int = 0
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """(X, position): n points scattered, not evenly, along a plane spiral, and how far along it each lies (0 to 1)."""
    rng = np.random.default_rng(random_state)
    position = np.sort(rng.beta(1.0, 1.5, n))
    angle = 2 * np.pi * turns * np.sqrt(0.02 + 0.98 * position)
    X = np.column_stack([angle * np.cos(angle), angle * np.sin(angle)])
    return X + noise * rng.standard_normal(X.shape), position


def digits() -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """(X, label): the 1,797 handwritten digits of scikit-learn, 8 x 8 pixels each."""
    from sklearn.datasets import load_digits  # slow to import, and needed here alone

    return load_digits(return_X_y=True)
