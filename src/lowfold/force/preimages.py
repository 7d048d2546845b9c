"""The way back from an embedding to the data: rows for coordinates, and whether there are any points near."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse

from lowfold import inputs
from lowfold.affinity.fuzzy import fuzzy_rows, mean_distance
from lowfold.backend import resources
from lowfold.errors import DataError
from lowfold.neighbors.index import build_index
from lowfold.types import Floats


class Preimages:
    """Rows of the data space for points of the embedding: means of their nearest embedded points' rows."""

    def __init__(self, data: inputs.Data, embedding: Floats, k: int, n_jobs: int | None) -> None:
        if data.kind not in (inputs.ROWS, inputs.SPARSE_ROWS):
            raise DataError(
                f"inverse_transform and in_support need the rows that the embedding was made of, but fit was given "
                f"{data.kind}. Fit with the rows and a metric by name or function."
            )
        self._X, self._Y = data.values, np.ascontiguousarray(embedding, np.float32)
        self._k = min(k, len(self._Y) - 1)
        self._threads = resources.thread_count(n_jobs)
        self._index = build_index(self._Y, search="exact", n_jobs=n_jobs)
        own = self._index.query(None, self._k).distances
        self._reach, self._mean = own[:, -1], mean_distance(own)

    def read(self, Y: Any) -> Floats:
        """Checked coordinates."""
        return inputs.read_coordinates(Y, self._Y.shape[1])

    def supported(self, Y: Floats) -> NDArray[np.bool_]:
        """Whether the nearest embedded point is no farther away than that point's own k-th neighbour."""
        found = self._index.query(Y, 1)
        return np.asarray(found.distances[:, 0] <= self._reach[found.indices[:, 0]])

    def rows(self, Y: Floats) -> Any:
        """Dense or sparse, as the data are."""
        found = self._index.query(Y, self._k)
        P = fuzzy_rows(found.distances, 1.0, self._mean, self._threads)
        P = P.astype(np.float64)
        here = found.distances[:, 0] == 0
        P[here] = np.arange(self._k) == 0  # the first of the points that lie there, in the order of the data
        P /= P.sum(axis=1, keepdims=True)
        n, k = P.shape
        weights = csr_array((P.ravel(), found.indices.ravel(), np.arange(0, n * k + 1, k)), shape=(n, len(self._Y)))
        rows = weights @ self._X  # each row by itself, neighbours in the order of their distance
        return csr_array(rows).astype(self._X.dtype) if issparse(self._X) else np.asarray(rows, self._X.dtype)
