"""Connected components of a neighbour graph, and what to do when there are several."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csr_array

from lowfold.backend import native
from lowfold.errors import DataError, ParameterError
from lowfold.neighbors.bridges import shortest_bridges
from lowfold.neighbors.interface import NeighborIndex
from lowfold.options import documented, option, validate
from lowfold.types import Components, Floats, Indices, Neighbors

POLICIES = ("join", "separate", "largest", "error")


@documented
@dataclass(frozen=True, slots=True)
class _Policy:
    """What `connect` is told, checked as the option of a method is."""

    policy: str = option("join", choices=POLICIES, help="way to treat a neighbour graph that falls into components")


def connect(neighbors: Neighbors, index: NeighborIndex, *, policy: str = "join") -> tuple[csr_array, Components]:
    """(graph, components): the symmetric graph of distances after the policy, and what it found.

    neighbors: index.query(None, k) of the index.
    An edge i - j is there if either point is among the other's neighbours. If the graph falls into components:
    join      adds the shortest bridges that connect them all (a minimum spanning tree between components)
    separate  leaves them; the method treats each by itself
    largest   keeps the edges of the largest component alone
    error     raises DataError
    """
    validate(_Policy(policy), "connect")
    if not isinstance(neighbors, Neighbors) or not isinstance(index, NeighborIndex):
        raise ParameterError(
            f"connect was given a {type(neighbors).__name__} and a {type(index).__name__}; it needs the neighbours "
            f"that an index gives, and that index. Pass index.query(None, k) and index."
        )
    if not neighbors.n == neighbors.n_points == index.n:
        raise DataError(
            f"The neighbours of {neighbors.n} rows among {neighbors.n_points} points were given, with an index of "
            f"{index.n}. A graph needs those of the indexed points themselves: pass index.query(None, k)."
        )
    own = (neighbors.indices == np.arange(neighbors.n)[:, None]).any(axis=1)
    if own.any():
        raise DataError(
            f"{int(own.sum())} of {neighbors.n} rows are among their own neighbours, the first of them row "
            f"{int(np.argmax(own))}: the points were asked for as if they were new. A graph needs the neighbours of "
            f"each point beside itself: pass index.query(None, k)."
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
    found = bridged(found, index)
    return _with_edges(graph, found.bridges, found.bridge_lengths), found


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
    return by_size(native.kernels.components(entries))


def by_size(labels: NDArray[Any]) -> tuple[NDArray[np.int32], tuple[int, ...]]:
    """Labels of any kind as 0, 1, ... by falling size (equal sizes: by first point), and the sizes."""
    _, first, inverse, sizes = np.unique(labels, return_index=True, return_inverse=True, return_counts=True)
    order = np.lexsort((first, -sizes))
    rank = np.empty(len(order), np.int32)
    rank[order] = np.arange(len(order))
    return rank[inverse], tuple(int(size) for size in sizes[order])


def listed(sizes: tuple[int, ...]) -> str:
    """The first few sizes, and how many more there are."""
    shown = ", ".join(map(str, sizes[:5]))
    return shown if len(sizes) <= 5 else f"{shown} … and {len(sizes) - 5} more"


def findings_of(found: Components) -> dict[str, Any]:
    """For the report of a fit: sizes, and with several components the policy and the first few bridges."""
    report: dict[str, Any] = {
        "components": found.count if found.count == 1 else f"{found.count}, of sizes {listed(found.sizes)}"
    }
    if found.count > 1:
        report["component policy"] = found.policy
    if len(found.bridges):
        report["bridges"] = ", ".join(
            f"{i}-{j} ({length:.3g})"
            for (i, j), length in zip(found.bridges[:5], found.bridge_lengths[:5], strict=True)
        ) + (f" and {len(found.bridges) - 5} more" if len(found.bridges) > 5 else "")
    return report


def bridged(found: Components, index: NeighborIndex) -> Components:
    """The same with the shortest bridges that connect all components."""
    return Components(found.labels, found.sizes, found.policy, *shortest_bridges(found.labels, index))


def _without_others(graph: csr_array, labels: NDArray[np.int32]) -> csr_array:
    edges = graph.tocoo()
    kept = labels[edges.row] == 0
    return csr_array(coo_array((edges.data[kept], (edges.row[kept], edges.col[kept])), shape=graph.shape))


def _with_edges(graph: csr_array, bridges: Indices, lengths: Floats) -> csr_array:
    edges = graph.tocoo()
    a = np.concatenate([edges.row, bridges[:, 0]])
    b = np.concatenate([edges.col, bridges[:, 1]])
    return edges_to_graph(a, b, np.concatenate([edges.data, lengths.astype(edges.data.dtype)]), graph.shape[0])
