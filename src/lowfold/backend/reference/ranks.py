"""The kernels that judge an embedding in NumPy, written to be read: what each of them returns."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from lowfold.backend.reference.rows import distances
from lowfold.types import Floats, Indices


def coranking(
    X: Floats, Y: Floats, rows: Indices, ks: NDArray[np.int64], how: tuple[bool, bool]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Means over all ways to break ties by lot; see `metrics/coranking.py` for what is made of them."""
    given, area = how
    n = len(Y)
    first = X if given else distances(X[rows], X, "sqeuclidean")
    second = distances(Y[rows], Y, "sqeuclidean")
    out, areas = np.empty((len(rows), len(ks), 3)), np.zeros(len(rows))
    for row, i in enumerate(rows):
        x, y = (_places(np.delete(D[row], i)) for D in (first, second))
        for m, k in enumerate(ks):
            out[row, m] = (_among(x, k) @ _among(y, k), _among(y, k) @ _beyond(x, k), _among(x, k) @ _beyond(y, k))
        if area:
            every = np.arange(1, n - 1)
            R = [((n - 1) * (_among(x, k) @ _among(y, k)) / k - k) / (n - 1 - k) for k in every]
            areas[row] = np.average(R, weights=1 / every)
    return out, areas


def squared_distances(X: Floats, rows: Indices) -> NDArray[np.float64]:
    """From some points to all."""
    return distances(X[rows], X, "sqeuclidean")


def _places(d: Any) -> tuple[Any, Any]:
    """(how many are nearer, how many are as near, itself counted) of each."""
    ascending = np.sort(d)
    below = np.searchsorted(ascending, d, side="left")
    return below, np.searchsorted(ascending, d, side="right") - below


def _among(places: tuple[Any, Any], k: Any) -> Any:
    """The chance to be among the first k."""
    below, equal = places
    return np.clip((k - below) / equal, 0, 1)


def _beyond(places: tuple[Any, Any], k: Any) -> Any:
    """The mean of max(rank - k, 0) over the ranks below + 1 .. below + equal."""
    below, equal = places
    return np.array([np.maximum(np.arange(b + 1, b + e + 1) - k, 0).mean() for b, e in zip(below, equal, strict=True)])
