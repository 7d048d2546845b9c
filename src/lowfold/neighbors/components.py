"""Connected components of a neighbour graph, and what to do when there are several."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csr_array

from lowfold.backend import native
from lowfold.errors import DataError, ParameterError
from lowfold.neighbors.interface import NeighborIndex
from lowfold.types import Components, Neighbors

POLICIES = ("join", "separate", "largest", "error")


def connect(neighbors: Neighbors, index: NeighborIndex, *, policy: str = "join") -> tuple[csr_array, Components]:
    """(graph, components): the symmetric graph of distances after the policy, and what it found.

    An edge i - j is there if either point is among the other's neighbours. If the graph falls into components:
    join      adds the shortest bridges that connect them all (a minimum spanning tree between components)
    separate  leaves them; the method treats each by itself
    largest   keeps the edges of the largest component alone
    error     raises DataError
    """
    if policy not in POLICIES:
        raise ParameterError(
            f"The component policy must be one of {', '.join(map(repr, POLICIES))}. Got {policy!r} instead. "
            f"Use 'join' to connect the components by their shortest bridges."
        )
    return connect_graph(symmetric_graph(neighbors), index, policy)


def connect_graph(graph: csr_array, index: NeighborIndex, policy: str) -> tuple[csr_array, Components]:
    """The same for a symmetric graph of distances, of whatever origin."""
    labels, sizes = _components(graph)
    found = Components(labels, sizes, policy)
    if found.count == 1 or policy == "separate":
        return graph, found
    if policy == "error":
        raise DataError(
            f"The neighbour graph has {found.count} components, of sizes {listed(sizes)}. "
            f"Raise the number of neighbours or the radius, or choose the policy 'join', 'separate' or 'largest'."
        )
    if policy == "largest":
        return _without_others(graph, labels), found
    bridges, lengths = _shortest_bridges(labels, index)
    found = Components(labels, sizes, policy, bridges, lengths)
    return _with_edges(graph, bridges, lengths), found


def symmetric_graph(neighbors: Neighbors, threads: int = 1) -> csr_array:
    """The graph with an edge wherever one of two points is a neighbour of the other; zero lengths are kept."""
    begin, columns, lengths = native.kernels.symmetric_graph(neighbors.indices, neighbors.distances, threads)
    return csr_array((lengths, columns, begin), shape=(neighbors.n, neighbors.n))


def edges_to_graph(a: Any, b: Any, lengths: Any, n: int) -> csr_array:
    """Both directions of each edge, once: SciPy's own conversion would add up the two."""
    low, high = np.minimum(a, b).astype(np.int64), np.maximum(a, b)
    _, first = np.unique(low * n + high, return_index=True)
    low, high, lengths = low[first], high[first], lengths[first]
    both = (np.concatenate([low, high]).astype(np.int32), np.concatenate([high, low]).astype(np.int32))
    return csr_array(coo_array((np.concatenate([lengths, lengths]), both), shape=(n, n)))


def _components(graph: csr_array) -> tuple[NDArray[np.int32], tuple[int, ...]]:
    """Labels by falling size (equal sizes: by first point), and the sizes."""
    entries = graph.indptr.astype(np.int64, copy=False), graph.indices.astype(np.int32, copy=False), graph.data
    labels = native.kernels.components(entries)
    _, first, sizes = np.unique(labels, return_index=True, return_counts=True)
    order = np.lexsort((first, -sizes))
    rank = np.empty(len(labels), np.int32)
    rank[first[order]] = np.arange(len(order))  # a component is named after its first point
    return rank[labels], tuple(int(size) for size in sizes[order])


def listed(sizes: tuple[int, ...]) -> str:
    """The first few sizes, and how many more there are."""
    shown = ", ".join(map(str, sizes[:5]))
    return shown if len(sizes) <= 5 else f"{shown} … and {len(sizes) - 5} more"


def _without_others(graph: csr_array, labels: NDArray[np.int32]) -> csr_array:
    edges = graph.tocoo()
    kept = labels[edges.row] == 0
    return csr_array(coo_array((edges.data[kept], (edges.row[kept], edges.col[kept])), shape=graph.shape))


def _with_edges(graph: csr_array, bridges: NDArray[np.int32], lengths: NDArray[np.float64]) -> csr_array:
    edges = graph.tocoo()
    a = np.concatenate([edges.row, bridges[:, 0]])
    b = np.concatenate([edges.col, bridges[:, 1]])
    return edges_to_graph(a, b, np.concatenate([edges.data, lengths.astype(edges.data.dtype)]), graph.shape[0])


def _shortest_bridges(labels: NDArray[np.int32], index: NeighborIndex) -> tuple[Any, Any]:
    """Borůvka's algorithm: every component but the largest takes its shortest way out, until one is left."""
    current = labels.copy()
    bridges: list[tuple[int, int]] = []
    lengths: list[float] = []
    while current.max() > 0:
        ways_out = [_way_out(current, label, index) for label in range(1, current.max() + 1)]
        for i, j, distance in sorted(ways_out, key=lambda way: (way[2], way[0], way[1])):
            a, b = sorted((current[i], current[j]))
            if a != b:  # not yet connected by a shorter bridge of this round
                current[current == b] = a
                bridges.append((i, j))
                lengths.append(distance)
        current = _relabelled(current)
    return np.asarray(bridges, np.int32).reshape(-1, 2), np.asarray(lengths)


def _way_out(current: NDArray[np.int32], label: int, index: NeighborIndex) -> tuple[int, int, float]:
    inside = np.flatnonzero(current == label)
    outside = np.flatnonzero(current != label)
    return index.closest_pair(inside, outside)


def _relabelled(current: NDArray[np.int32]) -> NDArray[np.int32]:
    """Labels 0, 1, ... by falling size."""
    values, inverse, sizes = np.unique(current, return_inverse=True, return_counts=True)
    rank = np.empty(len(values), np.int32)
    rank[np.lexsort((values, -sizes))] = np.arange(len(values))
    return rank[inverse]
