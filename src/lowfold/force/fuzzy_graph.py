"""The fuzzy graph of UMAP: neighbours' degrees of belonging, joined, in an order that is good for memory."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from lowfold import inputs
from lowfold.affinity.fuzzy import fuzzy_rows, fuzzy_union, held, mean_distance
from lowfold.affinity.targets import Target, read_target, with_labels, with_numbers
from lowfold.backend import native, resources
from lowfold.errors import DataError
from lowfold.force.affinities import ORDER_NEIGHBORS, GivenAffinities, good_order
from lowfold.force.start import spectral
from lowfold.neighbors.index import build_index, index_of
from lowfold.neighbors.interface import Settings
from lowfold.options import documented, option
from lowfold.types import Floats, Indices

GAP = 1.5  # of the widest component: how far apart components are set at the start


@documented
@dataclass(frozen=True, slots=True)
class Fuzzy:
    """How neighbours become a graph: `UMAP(graph=Fuzzy(local_connectivity=2.0))`."""

    local_connectivity: float = option(1.0, low=0, help="number of nearest neighbours that belong wholly to a point")
    set_op_mix_ratio: float = option(
        1.0,
        low=0,
        high=1,
        help="1: an edge is there if one end has it; 0: if both have, and from a point without any to its nearest "
        "neighbour; between: a mixture",
    )
    components: str = option(
        "separate", choices=("separate", "error"), help="way to treat a graph that falls into components"
    )
    target: str = option(
        "auto",
        choices=("auto", "labels", "numbers"),
        help="what y holds, where it is given; 'auto': numbers if any of them is not whole, else labels, -1 unknown",
    )
    target_weight: float = option(0.5, low=0, high=1, help="how much y counts against the data: 0 little, 1 alone")


class FuzzyGraph:
    """w_ij between the training points.

    order (n,): the points in an order in which neighbours lie near each other in memory; entries are in it. count,
    labels: the components.
    """

    def __init__(self, data: inputs.Data, n_neighbors: int, settings: Settings, graph: str | Fuzzy) -> None:
        self.fuzzy = Fuzzy() if isinstance(graph, str) else graph
        self._threads = resources.thread_count(settings.n_jobs)
        self._target = None if data.target is None else read_target(data.target, data.n, self.fuzzy.target)
        self._recall: float | None = None
        self._alone = 0
        if data.kind == inputs.AFFINITY:
            self._given(data.values)
        else:
            self._built(data, n_neighbors, settings)
        if self._target is not None:
            self._sharpen(self._target.taken(self.order), n_neighbors, settings)
        lowest = native.kernels.components(self.entries)
        _, self.labels, sizes = np.unique(lowest, return_inverse=True, return_counts=True)
        self.sizes = np.sort(sizes)[::-1]
        self.count = len(sizes)
        if self.count > 1 and self.fuzzy.components == "error":
            raise DataError(
                f"The fuzzy graph has {self.count} components, the largest of {self.sizes[0]} points. Raise "
                f"n_neighbors, or use Fuzzy(components='separate')."
            )

    def _built(self, data: inputs.Data, n_neighbors: int, settings: Settings) -> None:
        """By the neighbours of each point."""
        self.index = index_of(data, settings)
        found = self.index.query(None, n_neighbors - 1)
        self._recall = found.recall
        self.mean = mean_distance(found.distances)
        P = fuzzy_rows(found.distances, self.fuzzy.local_connectivity, self.mean, self._threads)
        self.order = good_order(found.indices[:, :ORDER_NEIGHBORS], self._threads)
        place = np.empty(data.n, np.int32)
        place[self.order] = np.arange(data.n, dtype=np.int32)
        neighbors, P = place[found.indices[self.order]], P[self.order]
        union = fuzzy_union(neighbors, P, self.fuzzy.set_op_mix_ratio, self._threads)
        self.entries, self._alone = held(union, neighbors, P)

    def _given(self, W: Any) -> None:
        """The user's own degrees, as shares of the largest one."""
        self._affinities = GivenAffinities(W)
        self.order = self._affinities.order
        begin, columns, values = self._affinities.entries(1.0, self._threads)
        self.entries = begin, columns, values / values.max()

    def _sharpen(self, target: Target, n_neighbors: int, settings: Settings) -> None:
        if target.codes is not None:
            self.entries = with_labels(self.entries, target.codes, self.fuzzy.target_weight)
            return
        assert target.numbers is not None
        found = build_index(target.numbers, n_jobs=settings.n_jobs).query(None, n_neighbors - 1)
        P = fuzzy_rows(found.distances, 1.0, mean_distance(found.distances), self._threads)
        order = np.argsort(found.indices, axis=1)
        begin = np.arange(0, P.size + 1, P.shape[1], dtype=np.int64)
        columns = np.take_along_axis(found.indices, order, axis=1).ravel()
        other = begin, columns, np.take_along_axis(P, order, axis=1).ravel()
        self.entries = with_numbers(self.entries, other, self.fuzzy.target_weight)

    def new(self, values: Any, k: int) -> tuple[Indices, Floats]:
        """(neighbours, degrees) of each new point."""
        if self._recall is None:
            neighbors, P = self._affinities.new(values, self._threads)
            return neighbors, P / np.maximum(P.max(axis=1, keepdims=True), np.finfo(np.float32).tiny)
        found = self.index.query(values, k)
        return found.indices, fuzzy_rows(found.distances, self.fuzzy.local_connectivity, self.mean, self._threads)

    def matrix(self) -> csr_array:
        """In the order of the data."""
        n = len(self.order)
        place = np.empty(n, np.int32)
        place[self.order] = np.arange(n, dtype=np.int32)
        begin, columns, values = native.kernels.permuted(self.entries, place, True, self._threads)
        return csr_array((values, columns, begin), shape=(n, n))

    def findings(self) -> dict[str, Any]:
        """For the report of a fit."""
        found: dict[str, Any] = {} if self._recall is None else {"neighbour recall": self._recall}
        found["edges"] = len(self.entries[1]) // 2
        if self._alone:
            found["points without a mutual neighbour"] = f"{self._alone}, each with an edge to its nearest neighbour"
        if self._target is not None:
            found["target"] = self._target.findings()
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
