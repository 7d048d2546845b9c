"""What a case of agreement is made of: data of every kind, and what a kernel and its reference make of them.

The cases are in `agreeing_rows`, `agreeing_graphs` and `agreeing_maps`, one for each kernel of the protocols.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from lowfold.backend import reference

KINDS = ("gaussian", "lattice", "offset", "outlier", "duplicates", "scales", "tiny")
CASES: dict[str, Callable[[Any, Data], Pair]] = {}


def adversarial(name: str, n: int, d: int, dtype: type, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    if name == "lattice":
        X = rng.integers(0, 3, (n, d)).astype(float)
    elif name == "offset":
        X += 1000
    elif name == "outlier":
        X[0] = 1e4
    elif name == "duplicates":
        X = X[rng.integers(0, max(1, n // 4), n)]
    elif name == "scales":
        X *= np.logspace(-3, 3, d)
    elif name == "tiny":
        X *= 1e-15
    return np.ascontiguousarray(X, dtype=dtype)


@dataclass(frozen=True)
class Pair:
    """What the kernel gives and what its reference does: arrays that agree but for rounding, in every bit where
    `close` is 0, by default as far as sums of some hundred terms in the type of the data do. What rounding leaves is
    in proportion to the largest number of an array, or to `each` of its numbers."""

    found: Any
    wanted: Any
    close: float | None = None
    each: bool = False


@dataclass(frozen=True)
class Data:
    """Inputs of one kind, as any kernel takes them."""

    kind: str
    dtype: type
    n: int = 70

    def rows(self, n: int | None = None, d: int = 5, seed: int = 0) -> np.ndarray:
        return adversarial(self.kind, n or self.n, d, self.dtype, seed)

    def map(self, n: int | None = None, d: int = 2, seed: int = 0) -> np.ndarray:
        """Rows between -3 and 3, as the places of points are."""
        Y = self.rows(n, d, seed).astype(np.float64)
        Y -= Y.mean(axis=0)
        return np.ascontiguousarray(3 * Y / np.abs(Y).max(), self.dtype)

    def chance(self, *shape: int, seed: int = 1) -> np.ndarray:
        return np.random.default_rng(seed).random(shape).astype(self.dtype)

    def neighbors(self, k: int = 8) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(X, the nearest of each row, how far they are)."""
        X = self.rows()
        indices, distances = reference.search(X, None, k, "euclidean")
        return X, indices, distances.astype(self.dtype)

    def graph(self) -> csr_array:
        """The symmetric graph of the neighbours; edges of length 0 are edges."""
        matrix = reference.symmetric_graph(*self.neighbors()[1:])
        there = ~np.isnan(matrix)
        begin = np.append(0, np.cumsum(there.sum(axis=1)))
        return csr_array((matrix[there], np.nonzero(there)[1], begin), shape=matrix.shape)

    def affinity(self) -> csr_array:
        """The same graph with weights by lot, as large on both sides, that sum to less than 1 in each row."""
        graph, lots = self.graph(), self.chance(self.n, self.n)
        rows = np.repeat(np.arange(self.n), np.diff(graph.indptr))
        graph.data = ((lots + lots.T)[rows, graph.indices] / (4 * self.n)).astype(self.dtype)
        return graph


def case(function: Callable[[Any, Data], Pair]) -> Callable[[Any, Data], Pair]:
    """Made the case of the kernel of its name."""
    CASES[function.__name__] = function
    return function


def written_out(sparse: Any, n: int) -> np.ndarray:
    begin, columns, values = sparse
    return csr_array((values, columns, begin), shape=(n, n)).toarray()


def strips(A: np.ndarray) -> np.ndarray:
    return np.concatenate([A[first : first + 64, first:].ravel() for first in range(0, len(A), 64)])
