"""Neighbours within a radius, instead of a number of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import coo_array, csr_array

from lowfold.backend import resources
from lowfold.errors import DataError
from lowfold.neighbors.components import edges_to_graph
from lowfold.neighbors.interface import NeighborIndex
from lowfold.neighbors.precomputed import GraphIndex
from lowfold.options import documented, option

FIRST_LOOK = 16  # neighbours asked for at first; twice as many for those points that have more
EDGE_BYTES, PLACE_BYTES = 128, 24  # of a neighbour until there is a graph, and of one that is asked for


@documented
@dataclass(frozen=True, slots=True)
class Within:
    """All points within a radius are neighbours: `Isomap(n_neighbors=Within(radius=2.5))`."""

    radius: float = option(1.0, above=0, help="distance up to which points are neighbours")


def within(values: Any, size: Within, index: NeighborIndex, *, itself: bool) -> tuple[csr_array, float]:
    """(rows, n): the distances up to the radius, for the indexed points (`itself`, symmetric) or for new ones; and the
    share of these neighbours that were found, by the search's own estimate.

    The index is asked for more and more neighbours, of those rows whose last one is still inside.
    """
    if isinstance(index, GraphIndex):
        return _within_stored(csr_array(values), size, itself=itself), 1.0
    count = values.shape[0]
    pending, k, recall = np.arange(count), FIRST_LOOK, 1.0
    edges, found = 0, list[tuple[Any, Any, Any]]()
    while len(pending):
        k = min(k, index.n)
        # Points are asked for like new ones; each finds itself too.
        nearest = index.query(values[pending], k)
        recall = min(recall, nearest.recall)
        inside = nearest.distances <= size.radius
        complete = ~inside.all(axis=1) if k < index.n else np.ones(len(pending), bool)
        rows = np.repeat(pending[complete], inside[complete].sum(axis=1))
        found.append((rows, nearest.indices[complete][inside[complete]], nearest.distances[complete][inside[complete]]))
        pending, k = pending[~complete], 2 * k
        edges += len(rows)
        resources.check_allowed(
            EDGE_BYTES * edges + PLACE_BYTES * len(pending) * min(k, index.n),
            f"A radius of {size.radius:g}, within which {count} points have at least {edges + len(pending) * k // 2} "
            f"neighbours,",
            "Use a smaller radius.",
        )
    rows, columns, lengths = (np.concatenate(part) for part in zip(*found, strict=True))
    if itself:
        other = rows != columns
        return edges_to_graph(rows[other], columns[other], lengths[other], count), recall
    _check_not_alone(rows, count, size)
    return csr_array(coo_array((lengths, (rows, columns)), shape=(count, index.n))), recall


def _within_stored(graph: csr_array, size: Within, *, itself: bool) -> csr_array:
    """Those of the stored distances that lie within the radius."""
    rows = np.repeat(np.arange(graph.shape[0]), np.diff(graph.indptr))
    kept = (graph.data <= size.radius) & ((rows != graph.indices) | (not itself))
    rows, columns, lengths = rows[kept], graph.indices[kept], graph.data[kept]
    if itself:
        return edges_to_graph(rows, columns, lengths, graph.shape[0])
    _check_not_alone(rows, graph.shape[0], size)
    return csr_array(coo_array((lengths, (rows, columns)), shape=graph.shape))


def _check_not_alone(rows: Any, count: int, size: Within) -> None:
    alone = np.flatnonzero(np.bincount(rows, minlength=count) == 0)
    if len(alone):
        raise DataError(
            f"Row {alone[0]} of X has no fitted point within radius={size.radius:g} ({len(alone)} such rows in all). "
            f"Leave such rows out, or fit with a larger radius."
        )
