"""What becomes of a fuzzy graph that falls into components: bridges, one of them alone, or a start for each."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from lowfold import inputs
from lowfold.backend import native
from lowfold.backend.embedding_protocol import Sparse
from lowfold.errors import DataError
from lowfold.force.start import spectral
from lowfold.neighbors.components import by_size, listed
from lowfold.types import Components, Floats, Indices

GAP = 1.5  # of the widest component: how far apart components are set at the start


@dataclass(frozen=True, slots=True)
class Remainder:
    """The points outside the largest component, and how they belong to those inside, the members.

    points (q,), members (m,): rows of the data, ascending. neighbors, degrees (q, k): among the members.
    """

    points: NDArray[np.intp]
    members: NDArray[np.intp]
    neighbors: Indices
    degrees: Floats

    def with_members(self, inside: Floats, own: Floats) -> Floats:
        """Coordinates of all points in the order of the data, of those of the members and of the others'."""
        Y = np.empty((len(self.members) + len(self.points), inside.shape[1]), inside.dtype)
        Y[self.members], Y[self.points] = inside, own
        return Y


def components_of(graph: Sparse, order: NDArray[np.intp], policy: str) -> Components:
    """The components of a graph between points in this order; labels are in the order of the data."""
    labels = np.empty(len(order), np.int32)
    labels[order] = native.kernels.components(graph)
    return Components(*by_size(labels), policy)


def check_policy(found: Components, data: inputs.Data) -> None:
    """Raises DataError for several components if the policy is `error`, or asks for what is not there."""
    if found.count == 1 or found.policy == "separate":
        return
    sizes = f"{found.count} components, of sizes {listed(found.sizes)}"
    if found.policy == "error":
        raise DataError(
            f"The fuzzy graph has {sizes}. Raise n_neighbors, or use Fuzzy(components='separate'), 'join' or 'largest'."
        )
    if found.policy == "largest" and found.sizes[0] == 1:
        raise DataError(
            f"None of the {found.count} points has an edge to another one, so there is no largest component to lay "
            f"out. Lower target_weight, or use Fuzzy(components='join')."
        )
    if data.kind == inputs.AFFINITY:
        raise DataError(
            f"The affinities fall into {sizes}; Fuzzy(components={found.policy!r}) needs distances between them, which "
            f"affinities do not hold. Pass the rows or a matrix of distances, add affinities between the components, "
            f"or use Fuzzy(components='separate')."
        )


def with_bridges(graph: Sparse, order: NDArray[np.intp], bridges: Indices) -> Sparse:
    """The graph with edges of degree 1 between these pairs of rows of the data, which have none yet."""
    begin, columns, values = graph
    n = len(order)
    place = np.empty(n, np.int32)
    place[order] = np.arange(n, dtype=np.int32)
    a, b = place[bridges].T
    added = csr_array((np.ones(len(a), np.float32), (a, b)), shape=(n, n))
    return _entries(csr_array((values, columns, begin), shape=(n, n)) + added + added.T)


def between_members(graph: Sparse, order: NDArray[np.intp], inside: NDArray[np.bool_]) -> tuple[Sparse, Any]:
    """(graph, order) of the points inside alone, both in the same order as before; they are numbered anew.

    inside (n,): in the order of the data.
    """
    begin, columns, values = graph
    n, kept = len(order), np.flatnonzero(inside[order])
    rank = np.cumsum(inside) - 1
    return _entries(csr_array((values, columns, begin), shape=(n, n))[kept][:, kept]), rank[order[kept]]


def start_by_components(graph: Sparse, d: int, n_jobs: int | None) -> Floats:
    """Each component's own Laplacian eigenmap, as wide as the root of its size, in rows and columns side by side."""
    begin, columns, values = graph
    n = len(begin) - 1
    W = csr_array((values, columns, begin), shape=(n, n))
    Y = np.zeros((n, d))
    _, labels, sizes = np.unique(native.kernels.components(graph), return_inverse=True, return_counts=True)
    across = math.ceil(math.sqrt(len(sizes)))
    step = GAP * math.sqrt(float(sizes.max()) / n)
    for rank, label in enumerate(np.argsort(-sizes, kind="stable")):
        members = np.flatnonzero(labels == label)
        Z: Floats = np.zeros((len(members), d))
        if len(members) > d + 1:
            Z = spectral(_entries(W[members][:, members]), d, n_jobs)
            Z = Z * (math.sqrt(len(members) / n) / max(float(np.ptp(Z, axis=0).max()), 1e-12))
        Z[:, 0] += step * (rank % across)
        if d > 1:
            Z[:, 1] += step * (rank // across)
        Y[members] = Z
    return Y


def _entries(W: Any) -> Sparse:
    """A sparse matrix as the kernels take it."""
    W = csr_array(W)
    W.sort_indices()
    return W.indptr.astype(np.int64), W.indices.astype(np.int32), W.data
