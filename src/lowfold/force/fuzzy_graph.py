"""The fuzzy graph of UMAP: neighbours' degrees of belonging, joined, in an order that is good for memory."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from lowfold import inputs
from lowfold.affinity.fuzzy import fuzzy_rows, fuzzy_union, mean_distance
from lowfold.backend import native, resources
from lowfold.errors import DataError
from lowfold.force.affinities import ORDER_NEIGHBORS, good_order
from lowfold.force.start import spectral
from lowfold.neighbors.index import index_of
from lowfold.neighbors.interface import Settings
from lowfold.options import documented, option
from lowfold.types import Floats

GAP = 1.5  # of the widest component: how far apart components are set at the start


@documented
@dataclass(frozen=True, slots=True)
class Fuzzy:
    """How neighbours become a graph: `UMAP(graph=Fuzzy(local_connectivity=2.0))`."""

    local_connectivity: float = option(1.0, low=0, help="number of nearest neighbours that belong wholly to a point")
    set_op_mix_ratio: float = option(
        1.0, low=0, high=1, help="1: an edge is there if one end has it; 0: if both have; between: a mixture"
    )
    components: str = option(
        "separate", choices=("separate", "error"), help="way to treat a graph that falls into components"
    )


class FuzzyGraph:
    """w_ij between the training points.

    order (n,): the points in an order in which neighbours lie near each other in memory; entries are in it. count,
    labels: the components.
    """

    def __init__(self, data: inputs.Data, n_neighbors: int, settings: Settings, graph: str | Fuzzy) -> None:
        self.fuzzy = Fuzzy() if isinstance(graph, str) else graph
        threads = resources.thread_count(settings.n_jobs)
        self.index = index_of(data, settings)
        found = self.index.query(None, n_neighbors - 1)
        self._recall = found.recall
        self.mean = mean_distance(found.distances)
        P = fuzzy_rows(found.distances, self.fuzzy.local_connectivity, self.mean, threads)
        self.order = good_order(found.indices[:, :ORDER_NEIGHBORS], threads)
        place = np.empty(data.n, np.int32)
        place[self.order] = np.arange(data.n, dtype=np.int32)
        self.entries = fuzzy_union(
            place[found.indices[self.order]], P[self.order], self.fuzzy.set_op_mix_ratio, threads
        )
        lowest = native.kernels.components(self.entries)
        _, self.labels, sizes = np.unique(lowest, return_inverse=True, return_counts=True)
        self.sizes = np.sort(sizes)[::-1]
        self.count = len(sizes)
        if self.count > 1 and self.fuzzy.components == "error":
            raise DataError(
                f"The fuzzy graph has {self.count} components, the largest of {self.sizes[0]} points. Raise "
                f"n_neighbors, or use Fuzzy(components='separate')."
            )

    def matrix(self) -> csr_array:
        """In the order of the data."""
        begin, columns, values = self.entries
        n = len(self.order)
        rows = np.repeat(self.order, np.diff(begin))
        return csr_array((values, (rows, self.order[columns])), shape=(n, n))

    def findings(self) -> dict[str, Any]:
        """For the report of a fit."""
        found: dict[str, Any] = {"neighbour recall": self._recall, "edges": len(self.entries[1]) // 2}
        listed = ", ".join(str(size) for size in self.sizes[:5]) + (" ..." if self.count > 5 else "")
        found["components"] = 1 if self.count == 1 else f"{self.count}, of sizes {listed}, set side by side"
        return found


def start_by_components(graph: FuzzyGraph, d: int, n_jobs: int | None) -> Floats:
    """Each component's own Laplacian eigenmap, as wide as the root of its size, in rows and columns side by side."""
    begin, columns, values = graph.entries
    n = len(begin) - 1
    W = csr_array((values, columns, begin), shape=(n, n))
    Y = np.zeros((n, d))
    across = math.ceil(math.sqrt(graph.count))
    step = GAP * math.sqrt(float(graph.sizes[0]) / n)
    for rank, label in enumerate(np.argsort(-np.bincount(graph.labels), kind="stable")):
        members = np.flatnonzero(graph.labels == label)
        Z: Floats = np.zeros((len(members), d))
        if len(members) > d + 1:
            part = csr_array(W[members][:, members])
            entries = part.indptr.astype(np.int64), part.indices.astype(np.int32), part.data
            Z = spectral(entries, d, n_jobs)
            Z = Z * (math.sqrt(len(members) / n) / max(float(np.ptp(Z, axis=0).max()), 1e-12))
        Z[:, 0] += step * (rank % across)
        if d > 1:
            Z[:, 1] += step * (rank // across)
        Y[members] = Z
    return Y
