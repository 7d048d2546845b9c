"""The neighbour graph that a method is fitted to: its components, and the neighbours of new points in it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from lowfold import inputs
from lowfold.backend import resources
from lowfold.errors import DataError, ParameterError
from lowfold.neighbors.components import POLICIES, connect_graph, findings_of, symmetric_graph
from lowfold.neighbors.index import index_of
from lowfold.neighbors.interface import NeighborIndex, Settings
from lowfold.neighbors.radius import Within, within
from lowfold.options import option
from lowfold.types import Components, Neighbors


def components_option(default: str = "join") -> Any:
    """What to do about a graph in several components, as every graph method declares it."""
    return option(
        default,
        choices=POLICIES,
        help="way to treat a neighbour graph that falls into components: join them by their shortest bridges, keep "
        "them separate, take the largest and place the other points as new ones, or raise an error",
    )


@dataclass(frozen=True, slots=True)
class Neighborhood:
    """The neighbour graph of the training points.

    graph: symmetric distances, bridges included. members: the points in it, in order; all of them unless the policy is
    `largest`. Points of `graph`, `index` and `labels` are numbered within the members. neighbors is None for a radius.
    """

    index: NeighborIndex
    size: int | Within
    neighbors: Neighbors | None
    graph: csr_array
    components: Components
    members: NDArray[np.intp]
    labels: NDArray[np.int32]
    recall: float = 1.0

    def pieces(self) -> list[NDArray[np.intp]]:
        """The points to embed together: all, or each component by itself."""
        if self.components.policy == "separate":
            return [np.flatnonzero(self.labels == label) for label in range(self.components.count)]
        return [np.arange(len(self.members))]

    def rows(self, values: Any, *, nearest_at_least: bool = False) -> csr_array:
        """The distances of new points to their neighbours; those of the nearest one's component only.

        A point with nobody within the radius is refused, or gets its nearest neighbour alone.
        """
        if isinstance(self.size, Within) and nearest_at_least:
            rows = self.index.query(values, 1).to_csr()
        elif isinstance(self.size, Within):
            rows, _ = within(values, self.size, self.index, itself=False)
        else:
            rows = self.index.query(values, min(self.size, self.index.n)).to_csr()
        return _in_one_piece(rows, self.labels) if self.components.policy == "separate" else rows

    def findings(self) -> dict[str, Any]:
        """For the report of a fit."""
        return {"neighbour recall": self.recall} | findings_of(self.components)


def neighborhood_of(data: inputs.Data, size: int | Within, settings: Settings, policy: str) -> Neighborhood:
    """Finds the neighbours of the training points and applies the policy for components."""
    if not isinstance(size, Within) and size >= data.n:
        raise ParameterError(
            f"n_neighbors={size} needs at least {size + 1} samples, but X has n_samples = {data.n}. "
            f"Lower n_neighbors, or pass more samples."
        )
    index = index_of(data, settings)
    threads = resources.thread_count(settings.n_jobs)
    if isinstance(size, Within):
        neighbors = None
        graph, recall = within(data.values, size, index, itself=True)
    else:
        neighbors = index.query(None, size)
        recall = neighbors.recall
        graph = symmetric_graph(neighbors, threads)
    graph, found = connect_graph(graph, index, policy)
    everyone = np.arange(data.n)
    if policy != "largest" or found.count == 1:
        return Neighborhood(index, size, neighbors, graph, found, everyone, found.labels, recall)
    members = np.flatnonzero(found.labels == 0)
    if neighbors is not None:
        rank = np.cumsum(found.labels == 0) - 1
        nearest = rank[neighbors.indices[members]].astype(np.int32)
        neighbors = Neighbors(nearest, neighbors.distances[members], len(members), recall)
    inner = csr_array(graph[members][:, members])
    zeros = np.zeros(len(members), np.int32)
    return Neighborhood(
        index_among(index, data, members, settings), size, neighbors, inner, found, members, zeros, recall
    )


def index_among(
    index: NeighborIndex, data: inputs.Data, members: NDArray[np.intp], settings: Settings
) -> NeighborIndex:
    """The index of some of the points alone, under the very same metric."""
    part = index.part(members)
    return index_of(part_of(data, members), settings) if part is None else part


def part_of(data: inputs.Data, chosen: NDArray[np.intp]) -> inputs.Data:
    """The data of some of the points alone."""
    rows = data.values[chosen]
    square = data.kind in (inputs.DISTANCES, inputs.GRAPH)
    return inputs.Data(data.kind, rows[:, chosen] if square else rows)


def against(data: inputs.Data, rows: NDArray[np.intp], members: NDArray[np.intp]) -> Any:
    """What a query for some of the points among the members needs."""
    if data.kind == inputs.GRAPH:
        raise DataError(
            f"{len(rows)} points lie outside the largest component, and the neighbour graph holds no distances from "
            f"them to it. Pass the data or a full matrix of distances, or use the policy 'separate'."
        )
    values = data.values[rows]
    return values[:, members] if data.kind == inputs.DISTANCES else values


def _in_one_piece(rows: csr_array, labels: NDArray[np.int32]) -> csr_array:
    """Each row's entries in the component of its smallest one."""
    row = np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr))
    order = np.lexsort((rows.indices, rows.data, row))
    nearest = rows.indices[order][rows.indptr[:-1]]
    kept = labels[rows.indices] == labels[nearest][row]
    begin = np.concatenate([[0], np.cumsum(np.bincount(row[kept], minlength=rows.shape[0]))])
    return csr_array((rows.data[kept], rows.indices[kept], begin), shape=rows.shape)
