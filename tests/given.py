"""The same points as every kind of data that a method may take."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import csr_array
from scipy.spatial.distance import cdist
from sklearn.neighbors import KNeighborsTransformer

from lowfold import inputs


def told_of(kind: str) -> dict[str, Any]:
    """The parameters that tell a method that it is given data of a kind."""
    told: dict[str, dict[str, Any]] = {
        inputs.GAPS: {"metric": "nan_euclidean"},
        inputs.DISTANCES: {"metric": "precomputed"},
        inputs.PARTIAL: {"metric": "precomputed"},
        inputs.GRAPH: {"metric": "precomputed"},
        inputs.KERNEL: {"kernel": "precomputed"},
        inputs.AFFINITY: {"metric": "affinity"},
    }
    return told.get(kind, {})


def given_as(kind: str, rows: Any, X: Any) -> Any:
    """Rows as data of a kind, beside the points X where pairs are told; float32 stays float32."""
    D = cdist(rows, X).astype(X.dtype)
    missing = np.arange(rows.size).reshape(rows.shape) % 17 == 7
    ways = {
        inputs.ROWS: lambda: rows,
        inputs.GAPS: lambda: np.where(missing, X.dtype.type(np.nan), rows),
        inputs.SPARSE_ROWS: lambda: csr_array(np.where(rows > 0, rows, 0)),
        inputs.DISTANCES: lambda: D,
        inputs.PARTIAL: lambda: np.where(np.isclose(D, D.max()), X.dtype.type(np.nan), D),
        inputs.GRAPH: lambda: KNeighborsTransformer(n_neighbors=9).fit(X).transform(rows).astype(X.dtype),
        inputs.KERNEL: lambda: rows @ X.T,
        inputs.AFFINITY: lambda: np.exp(-D),
    }
    return ways[kind]()
