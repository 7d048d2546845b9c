"""Quality by code that belongs to no contestant: NumPy in float64."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh, orth, subspace_angles

SAMPLE = 1000  # rows whose neighbours are judged: recall is then known to about 0.001
SPARE = 8  # candidates beyond k that are measured again: rounding may have changed their order
# A neighbour as far as the k-th, within what float32 can tell of a squared distance, is as good as the k-th.
TIE = 1e-5
BLOCK = 5 * 10**7  # distances held at a time


class NeighborJudge:
    """The true k-th distances of a fixed sample of rows, against which the answers of a search are held."""

    def __init__(self, X: Any, k: int, metric: str = "euclidean") -> None:
        self._X = _measurable(X, metric)
        self.k = k
        self.rows = np.sort(np.random.default_rng(0).choice(len(X), min(SAMPLE, len(X)), replace=False))
        self._limit = self._kth_squared() * (1 + TIE)

    def recall(self, indices: Any) -> float:
        """The share of true neighbours in the answers for all points: (n, k), or (n, k + 1) with the point itself."""
        return self.recall_of_rows(indices[self.rows])

    def recall_of_rows(self, indices: Any) -> float:
        """The same, for answers to the sampled rows alone."""
        found = self._others(np.asarray(indices, dtype=np.int64))
        hits = self._squared(self.rows, found) <= self._limit[:, None]
        hits &= (found >= 0) & (found != self.rows[:, None]) & ~_repeated(found)
        return float(hits.mean())

    def _others(self, indices: NDArray[np.int64]) -> NDArray[np.int64]:
        """k columns: without the point itself, or without the last neighbour where the point is not among them."""
        if indices.shape[1] == self.k:
            return indices
        own = indices == self.rows[:, None]
        own[~own.any(axis=1), -1] = True
        own &= np.cumsum(own, axis=1) == 1
        return indices[~own].reshape(len(indices), -1)[:, : self.k]

    def _kth_squared(self) -> NDArray[np.float64]:
        squares = np.einsum("ij,ij->i", self._X, self._X)
        count = min(self.k + SPARE, len(self._X) - 1)
        limits = []
        for rows in np.array_split(self.rows, max(1, len(self.rows) * len(self._X) // BLOCK)):
            r = squares - 2 * (self._X[rows] @ self._X.T)  # less the row's own square, which changes no order
            r[np.arange(len(rows)), rows] = np.inf
            nearest = np.argpartition(r, count - 1, axis=1)[:, :count]
            limits.append(np.sort(self._squared(rows, nearest), axis=1)[:, self.k - 1])
        return np.concatenate(limits)

    def _squared(self, rows: NDArray[np.intp], columns: NDArray[np.int64]) -> NDArray[np.float64]:
        """Squared distances from rows[i] to columns[i, j], one column at a time to save memory."""
        return np.column_stack([((self._X[rows] - self._X[column]) ** 2).sum(axis=1) for column in columns.T])


class SubspaceJudge:
    """The true principal subspace of X, against which components are held."""

    def __init__(self, X: Any, m: int) -> None:
        self._centred = X - X.mean(axis=0, dtype=np.float64)
        self._scatter = self._centred.T @ self._centred
        D = len(self._scatter)
        self._values, self._vectors = eigh(self._scatter, subset_by_index=[D - m, D - 1])

    def quality(self, components: Any, Y: Any) -> dict[str, float]:
        """What the components (m, D) and the coordinates Y lack, each 0 at best.

        lost variance: 1 - trace(V^T S V) / (sum of the top m eigenvalues of S), for the scatter matrix S.
        angle: the largest between the two subspaces, in radians.
        projection error: |Y - Xc V| / |Xc V|, in the Frobenius norm.
        """
        V = np.asarray(components, dtype=np.float64).T
        basis = orth(V)
        kept = np.einsum("ij,ij->", basis, self._scatter @ basis)
        true = self._centred @ V
        return {
            "lost variance": float(1 - kept / self._values.sum()),
            "angle": float(subspace_angles(basis, self._vectors).max()),
            "projection error": float(np.linalg.norm(Y - true) / np.linalg.norm(true)),
        }


def _measurable(X: Any, metric: str) -> NDArray[np.float64]:
    """Rows whose euclidean distances order like the metric: centred, so that squares lose no digits, or of length 1."""
    X = np.asarray(X, dtype=np.float64)
    if metric == "cosine":
        return X / np.linalg.norm(X, axis=1, keepdims=True)
    return X - X.mean(axis=0)


def _repeated(indices: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Which entries have stood in their row before."""
    order = np.argsort(indices, axis=1, kind="stable")
    in_order = np.take_along_axis(indices, order, 1)
    repeated = np.zeros(indices.shape, bool)
    np.put_along_axis(repeated, order[:, 1:], in_order[:, 1:] == in_order[:, :-1], 1)
    return repeated
