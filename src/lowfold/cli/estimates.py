"""How long a fit will take: trials on few rows, continued by the power of n that they show."""

from __future__ import annotations

import math
import time
import warnings
from typing import Any

import numpy as np
from sklearn.base import clone

from lowfold.errors import LowfoldError
from lowfold.estimator import Estimator

TRIALS = (500, 1_000)  # rows
LEAST_POWER, MOST_POWER = 1.0, 3.0  # of n, in the time of any method


def seconds_for(model: Estimator, X: Any) -> float | None:
    """About how long a fit to X will take; None where it cannot be done."""
    n = X.shape[0]
    sizes = [size for size in TRIALS if size < n] or [n]
    rng = np.random.default_rng(0)
    times = []
    for size in sizes:
        rows = X if size == n else X[np.sort(rng.choice(n, size, replace=False))]
        seconds = _trial(model, rows)
        if seconds is None:
            return None
        times.append(seconds)
    if len(times) == 1:
        return times[0]
    power = math.log(max(times[1], 1e-6) / max(times[0], 1e-6)) / math.log(sizes[1] / sizes[0])
    return times[1] * (n / sizes[1]) ** min(MOST_POWER, max(LEAST_POWER, power))


def _trial(model: Estimator, rows: Any) -> float | None:
    start = time.perf_counter()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            clone(model).fit(rows)
    except (LowfoldError, ValueError):
        return None
    return time.perf_counter() - start
