"""The affinities of a force method: from neighbours by perplexity, or as given; and those of new points."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse

from lowfold import inputs
from lowfold.affinity.perplexity import WIDTH, Perplexity, neighbors_needed, perplexity_rows, scales, symmetrized
from lowfold.backend import native
from lowfold.backend.embedding_protocol import Sparse
from lowfold.backend.pieces import MANY_ROWS, in_pieces
from lowfold.errors import DataError, ParameterError, warn
from lowfold.neighbors.index import index_of
from lowfold.neighbors.interface import Settings
from lowfold.types import Floats, Indices

ORDER_NEIGHBORS = 8  # of each point: enough to put neighbours near each other in memory


class Affinities(ABC):
    """Affinities between the training points, and from new points to them.

    order (n,): the points in an order in which neighbours lie near each other in memory; the entries are in it. degree:
    the mean sum of a row, before the entries are brought to a total.
    """

    order: NDArray[np.intp]
    degree: float = 1.0

    @abstractmethod
    def entries(self, total: float, threads: int) -> Sparse:
        """(P + P^T) / 2 by rows, float32, with rows P of equal sums and entries of the given sum."""

    @abstractmethod
    def information(self, total: float, *, joint: bool) -> float:
        """sum p log p of the symmetric (joint) or of the row-wise affinities, of the given sum."""

    @abstractmethod
    def new(self, values: Any, threads: int) -> tuple[Indices, Floats]:
        """(neighbours, affinities of sum 1) of each new point."""

    @abstractmethod
    def findings(self) -> dict[str, Any]:
        """For the report of a fit."""


class NeighborAffinities(Affinities):
    """Gaussian affinities to the nearest neighbours, with a given perplexity."""

    def __init__(self, data: inputs.Data, perplexity: Perplexity, settings: Settings, threads: int) -> None:
        self._perplexity = perplexity
        self._k = neighbors_needed(perplexity, data.n)
        if data.kind == inputs.GRAPH:
            self._k = _enough(self._k, _fewest_neighbors(data.values), perplexity)
        self._index = index_of(data, settings)
        found = self._index.query(None, self._k)
        self._recall = found.recall
        self._neighbors: Indices = found.indices
        self._P = perplexity_rows(found.distances, perplexity, threads)
        self.order = good_order(found.indices[:, :ORDER_NEIGHBORS], threads)

    def entries(self, total: float, threads: int) -> Sparse:
        """In the good order."""
        n = len(self.order)
        place = np.empty(n, np.int32)
        place[self.order] = np.arange(n, dtype=np.int32)
        neighbors, P = np.empty_like(self._neighbors), np.empty_like(self._P)

        def work(part: slice) -> None:
            chosen = self.order[part]
            neighbors[part], P[part] = place[self._neighbors[chosen]], self._P[chosen]

        in_pieces(work, n, threads, MANY_ROWS)
        entries = symmetrized(neighbors, P, total / (2 * n), threads)
        self._joint = float(_information(entries[2]))
        return entries

    def information(self, total: float, *, joint: bool) -> float:
        """Known once the entries are made."""
        if joint:
            return self._joint
        n = len(self.order)
        return float(_information(self._P)) * total / n + total * float(np.log(total / n))

    def forget(self) -> None:
        """Lets go of what only the fit needs."""
        del self._neighbors, self._P

    def new(self, values: Any, threads: int) -> tuple[Indices, Floats]:
        """By the same rule as those of the training points."""
        found = self._index.query(values, self._k)
        return found.indices, perplexity_rows(found.distances, self._perplexity, threads)

    def findings(self) -> dict[str, Any]:
        """The neighbours."""
        return {"neighbours": self._k, "neighbour recall": self._recall}


class GivenAffinities(Affinities):
    """A symmetric matrix of the user's own; what is on its diagonal is passed over.

    as_it_is: neither its rows nor the whole of it are brought to another sum.
    """

    def __init__(self, W: Any, *, as_it_is: bool = False) -> None:
        W = csr_array(W, dtype=np.float64, copy=True)
        W.setdiag(0)
        W.eliminate_zeros()
        sums = np.asarray(W.sum(axis=1))
        alone = np.flatnonzero(sums == 0)
        if len(alone):
            raise DataError(
                f"{len(alone)} of {len(sums)} points (the first is point {alone[0]}) have no affinity to any other, so "
                f"nothing holds them. Leave them out, or add affinities to them."
            )
        entries = W.indptr.astype(np.int64), W.indices.astype(np.int32), W.data
        self.order = native.kernels.banded_order(entries).astype(np.intp)
        self._W, self._sums = W, sums
        self._as_it_is = as_it_is
        self.degree = float(sums.mean()) if as_it_is else 1.0

    def entries(self, total: float, threads: int) -> Sparse:
        """In the good order; rows are first brought to the same sum where the total asks for that."""
        n = len(self.order)
        W = self._W if self._as_it_is else self._W / self._W.sum() if total == 1 else self._rows(total / n)
        W = csr_array((W + W.T) / 2)[self.order][:, self.order].tocsr()
        W.sort_indices()
        self._joint = float(_information(W.data))
        return W.indptr.astype(np.int64), W.indices.astype(np.int32), W.data.astype(np.float32)

    def _rows(self, each: float) -> csr_array:
        data = self._W.data * np.repeat(each / self._sums, np.diff(self._W.indptr))
        return csr_array((data, self._W.indices, self._W.indptr), shape=self._W.shape)

    def information(self, total: float, *, joint: bool) -> float:
        """Known once the entries are made."""
        return self._joint if joint else float(_information(self._rows(total / len(self.order)).data))

    def new(self, values: Any, threads: int) -> tuple[Indices, Floats]:
        """Rows of affinities to the training points, filled up with zeros to the same length."""
        rows = csr_array(values) if issparse(values) else csr_array(np.asarray(values, np.float64))
        rows.eliminate_zeros()
        counts = np.diff(rows.indptr)
        if (counts == 0).any():
            raise DataError(
                f"Row {int(np.argmin(counts))} of X has no affinity to any training point, so nothing says where it "
                f"belongs. Leave such rows out."
            )
        shape = (rows.shape[0], int(counts.max()))
        filled = np.arange(shape[1]) < counts[:, None]
        neighbors, P = np.zeros(shape, np.int32), np.zeros(shape, np.float32)
        neighbors[filled] = rows.indices
        sums = np.ones(len(counts)) if self._as_it_is else np.asarray(rows.sum(axis=1))
        P[filled] = rows.data / np.repeat(sums, counts)
        return neighbors, P

    def forget(self) -> None:
        """Lets go of what only the fit needs."""
        del self._W

    def findings(self) -> dict[str, Any]:
        """Nothing was looked for."""
        return {"affinities": "given"}


def affinities_of(
    data: inputs.Data, perplexity: Perplexity, settings: Settings, threads: int, *, as_they_are: bool
) -> NeighborAffinities | GivenAffinities:
    """By perplexity, or as given; as_they_are: without bringing those to any sum."""
    if data.kind == inputs.AFFINITY:
        return GivenAffinities(data.values, as_it_is=as_they_are)
    return NeighborAffinities(data, perplexity, settings, threads)


def good_order(neighbors: Indices, threads: int) -> NDArray[np.intp]:
    """An order in which neighbours lie near each other (Cuthill and McKee 1969)."""
    graph = native.kernels.symmetric_graph(
        np.ascontiguousarray(neighbors), np.ones(neighbors.shape, np.float32), threads
    )
    return native.kernels.banded_order(graph).astype(np.intp)


def _fewest_neighbors(graph: csr_array) -> int:
    """The smallest number of stored neighbours of a point, itself not counted."""
    rows = np.repeat(np.arange(graph.shape[0]), np.diff(graph.indptr))
    counts = np.bincount(rows[rows != graph.indices], minlength=graph.shape[0])
    alone = np.flatnonzero(counts == 0)
    if len(alone):
        raise DataError(
            f"{len(alone)} of {len(counts)} points (the first is point {alone[0]}) have no neighbours in the graph, so "
            f"nothing holds them. Leave them out, or pass a graph with neighbours of every point."
        )
    return int(counts.min())


def _enough(wanted: int, stored: int, perplexity: Perplexity) -> int:
    """How many of a graph's neighbours are used: as many as wanted, or with a warning all that each point has."""
    largest = max(scales(perplexity))
    if largest > stored:
        raise ParameterError(
            f"perplexity={largest:g} needs at least as many neighbours of each point, but the graph has points with "
            f"{stored}. Lower perplexity to {max(1, stored // WIDTH)} or less, or make the graph with {wanted}."
        )
    if wanted > stored:
        warn(
            f"perplexity={largest:g} spreads over {wanted} neighbours ({WIDTH} x perplexity), but the graph has points "
            f"with {stored}; {stored} of each point are used. A graph with {wanted} neighbours avoids this.",
        )
    return min(wanted, stored)


def _information(p: Any) -> Any:
    """sum p log p, in float64; 0 log 0 is 0."""
    p = np.asarray(p).ravel()
    parts = [p[begin : begin + 2**20].astype(np.float64) for begin in range(0, len(p), 2**20)]
    return sum(float(np.sum(part * np.log(np.where(part > 0, part, 1.0)))) for part in parts)
