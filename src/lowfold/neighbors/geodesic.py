"""Shortest paths along a neighbour graph."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from lowfold.backend import native
from lowfold.types import Floats, Indices


class GeodesicGraph:
    """A symmetric graph of distances, its points renumbered so that neighbours lie near each other in memory."""

    def __init__(self, graph: csr_array) -> None:
        entries = graph.indptr.astype(np.int64), graph.indices.astype(np.int32), graph.data
        order = native.kernels.banded_order(entries)
        self.n = graph.shape[0]
        self.rank = np.empty(self.n, np.int32)
        self.rank[order] = np.arange(self.n, dtype=np.int32)
        self._graph = native.kernels.permuted(entries, order, True, 1)

    def from_points(self, sources: NDArray[Any], threads: int, targets: NDArray[Any] | None = None) -> Floats:
        """(len(sources), len(targets)): the shortest way from each source to each target (None: to every point)."""
        nodes = self.rank[sources][:, None]
        return self._solve(nodes, np.zeros(nodes.shape, self._graph[2].dtype), targets, threads)

    def from_outside(self, rows: csr_array, threads: int, targets: NDArray[Any] | None = None) -> Floats:
        """The same for points outside the graph: rows (m, n) hold the distances of each to its neighbours in it."""
        counts = np.diff(rows.indptr)
        width = int(counts.max(initial=1))
        # Rows with fewer neighbours repeat their last one.
        at = rows.indptr[:-1, None] + np.minimum(np.arange(width), counts[:, None] - 1)
        lengths = np.ascontiguousarray(rows.data[at], self._graph[2].dtype)
        return self._solve(self.rank[rows.indices[at]], lengths, targets, threads)

    def _solve(self, nodes: Indices, lengths: Floats, targets: NDArray[Any] | None, threads: int) -> Floats:
        ends = self.rank if targets is None else self.rank[targets]
        return np.asarray(native.kernels.geodesics(self._graph, nodes, lengths, ends, threads))
