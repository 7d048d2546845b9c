"""Several of scikit-learn's trees in place of one, which takes seconds for a million points and hears no Ctrl-C."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from lowfold.backend import stopping
from lowfold.types import Floats

MOST_FEATURES = 15  # with more scikit-learn builds no tree, which would have to be searched as a whole
MOST_POINTS = 1 << 17  # in one tree: some tenths of a second
BALLS = 16  # about each tree: few rows then look into one that holds none of their neighbours
# Of distances, by which their difference may be off: near the antipodes a haversine distance has half of its digits.
SLACK = 1e-6


class Trees:
    """`kneighbors` as scikit-learn's NearestNeighbors has it, of points under a metric with the triangle inequality.

    The points are divided at the median of their widest column until each part fits a tree, and those further into
    balls. A row looks into the tree of the nearest ball, then into each other that can hold a nearer point: that has a
    ball with |x - centre| - radius below the k-th distance.
    """

    def __init__(self, X: Floats, metric: str) -> None:
        from sklearn.metrics import DistanceMetric
        from sklearn.neighbors import BallTree

        self._metric = DistanceMetric.get_metric(metric)
        self._points = divided(X, np.arange(len(X)), MOST_POINTS)
        self._trees = []
        centres, radii, begin = [], [], [0]
        for points in self._points:
            stopping.check()
            self._trees.append(BallTree(X[points], metric=metric))
            for ball in divided(X, points, -(-MOST_POINTS // BALLS)):
                centres.append(self._central(X[ball]))
                radii.append(self._from(X[ball], centres[-1]).max())
            begin.append(len(radii))
        self._centres, self._radii, self._begin = np.vstack(centres), np.array(radii), np.array(begin)

    def _central(self, X: Floats) -> Any:
        """The row nearest to the mean, which itself may be far from all rows (under hamming)."""
        nearest = np.argmin(self._from(X, X.mean(axis=0, keepdims=True)))
        return X[nearest : nearest + 1].astype(np.float64)

    def _from(self, X: Floats, Y: Any) -> NDArray[np.float64]:
        distances: NDArray[np.float64] = self._metric.pairwise(np.asarray(X, np.float64), np.asarray(Y, np.float64))
        return distances

    def kneighbors(self, X: Floats, k: int) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
        """(distances, indices) of the nearest k, equal distances by index."""
        away = self._from(X, self._centres)
        least = np.minimum.reduceat(away - self._radii - SLACK * (away + self._radii), self._begin[:-1], axis=1)
        home = np.searchsorted(self._begin, away.argmin(axis=1), side="right") - 1
        distances, indices = np.full((len(X), k), np.inf), np.full((len(X), k), -1, np.intp)
        for number in range(len(self._trees)):
            self._look(number, X, np.flatnonzero(home == number), (distances, indices))
        for number in range(len(self._trees)):
            near = (home != number) & (least[:, number] <= distances[:, -1])
            self._look(number, X, np.flatnonzero(near), (distances, indices))
        return distances, indices

    def _look(self, number: int, X: Floats, rows: NDArray[np.intp], found: tuple[Any, Any]) -> None:
        """Has some rows look into one tree, and those found so far say what it adds to them."""
        if not len(rows):
            return
        points, k = self._points[number], found[0].shape[1]
        distances, indices = self._trees[number].query(X[rows], min(k, len(points)))
        distances = np.hstack([found[0][rows], distances])
        indices = np.hstack([found[1][rows], points[indices]])
        order = np.lexsort((indices, distances), axis=1)[:, :k]
        found[0][rows] = np.take_along_axis(distances, order, 1)
        found[1][rows] = np.take_along_axis(indices, order, 1)


def divided(X: Floats, points: NDArray[np.intp], most: int) -> list[NDArray[np.intp]]:
    """Parts of the points that lie together, none of more than so many."""
    if len(points) <= most:
        return [np.sort(points)]
    stopping.check()
    own = X[points]
    column = own[:, np.argmax(own.max(axis=0) - own.min(axis=0))]
    order = points[np.argpartition(column, len(points) // 2)]
    return [part for half in np.array_split(order, 2) for part in divided(X, half, most)]
