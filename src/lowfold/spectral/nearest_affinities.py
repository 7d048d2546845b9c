"""The affinities of a diffusion map between nearest points, and what becomes of several components."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from lowfold import inputs
from lowfold.affinity.gaussian import (
    LEAST_WEIGHT,
    LOCAL_RANK,
    Bandwidth,
    check_width,
    gaussian,
    new_widths,
    own_widths,
    typical_width,
)
from lowfold.affinity.walk import row_sums, scaled
from lowfold.backend.pieces import MANY_ROWS, in_pieces
from lowfold.errors import ParameterError
from lowfold.neighbors.engines import Cells, Exact
from lowfold.neighbors.interface import Settings, search_option
from lowfold.neighbors.neighborhood import Neighborhood, against, components_option, neighborhood_of
from lowfold.options import documented, option
from lowfold.spectral.affinities import AUTO_RANK, Affinities, Options


@documented
@dataclass(frozen=True, slots=True)
class Nearest:
    """Affinities to the nearest points only, for large data: `DiffusionMap(graph=Nearest(k=30))`.

    An edge of the graph has an affinity of at least 1e-10, so that a bridge between components holds.
    """

    k: int = option(30, low=1, help="number of neighbours of each point")
    components: str = components_option()
    search: str | Exact | Cells = search_option()


class NearestAffinities(Affinities):
    """The same on the edges of the neighbour graph, and 1 from each point to itself."""

    def __init__(self, data: inputs.Data, options: Options, settings: Settings) -> None:
        nearest = options.graph if isinstance(options.graph, Nearest) else Nearest()
        self._sigma = options.sigma
        if nearest.k >= data.n:
            raise ParameterError(
                f"graph=Nearest(k={nearest.k}) needs at least {nearest.k + 1} samples, but X has n_samples = {data.n}. "
                f"Lower k, or use graph='dense'."
            )
        self._square = data.kind in (inputs.DISTANCES, inputs.GRAPH)
        self._hood: Neighborhood = neighborhood_of(data, nearest.k, settings, nearest.components)
        assert self._hood.neighbors is not None
        distances = self._hood.neighbors.distances
        if isinstance(options.sigma, str):
            first = distances[:, : min(AUTO_RANK, nearest.k)]
            self.bandwidth = Bandwidth(own_widths(first) if options.sigma == "local" else typical_width(first))
        else:
            self.bandwidth = Bandwidth(float(options.sigma))

    def between(self, threads: int) -> csr_array:
        """The sparse matrix, in float64."""
        graph = self._hood.graph
        graph.sort_indices()
        n, begin = graph.shape[0], graph.indptr
        W, columns = np.empty(len(graph.data) + n), np.empty(len(graph.data) + n, graph.indices.dtype)

        def work(part: slice) -> None:
            edges, own = slice(begin[part.start], begin[part.stop]), np.arange(part.start, part.stop)
            rows, ends = np.repeat(own, np.diff(begin[part.start : part.stop + 1])), graph.indices[edges]
            weights = gaussian(graph.data[edges].astype(np.float64), self.bandwidth.between(rows, ends))
            # Each row is longer by its own point, which stands behind the lower ones.
            at = np.arange(edges.start, edges.stop) + rows + (ends > rows)
            W[at], columns[at] = np.maximum(weights, LEAST_WEIGHT), ends
            at = begin[own] + own + np.bincount(rows[ends < rows] - part.start, minlength=len(own))
            W[at], columns[at] = 1.0, own

        in_pieces(work, n, threads, MANY_ROWS)
        return csr_array((W, columns, begin + np.arange(n + 1)), shape=graph.shape)

    def check(self, W: csr_array, q: NDArray[np.float64]) -> None:
        """No point may be alone; an affinity that is no more than the least does not count."""
        check_width(q - LEAST_WEIGHT * (np.diff(W.indptr) - 1), 1.0, self._sigma)

    def members(self, n: int) -> NDArray[np.intp]:
        """All, or those of the largest component."""
        return self._hood.members

    def pieces(self, n: int) -> list[NDArray[np.intp]]:
        """All members, or each component."""
        return self._hood.pieces()

    def from_new(self, values: Any, threads: int) -> Iterator[csr_array]:
        """Rows to the nearest members."""
        members = self._hood.members
        if self._square and len(members) < values.shape[1]:
            values = values[:, members]
        rows = self._hood.rows(values)
        W = np.exp(self._exponents(rows))
        yield csr_array((W, rows.indices, rows.indptr), shape=rows.shape)

    def outside_rows(self, data: inputs.Data, thinned: NDArray[np.float64]) -> csr_array:
        """Rows of the walk for the points outside the largest component, however far they are from it."""
        outside = np.setdiff1d(np.arange(data.n), self._hood.members)
        rows = self._hood.rows(against(data, outside, self._hood.members))
        exponents, count = self._exponents(rows), np.diff(rows.indptr)
        # The largest affinity of a row is made 1, which its sum takes out again.
        exponents -= np.repeat(np.maximum.reduceat(exponents, rows.indptr[:-1]), count)
        W = scaled(csr_array((np.exp(exponents), rows.indices, rows.indptr), shape=rows.shape), None, thinned)
        return csr_array(scaled(W, 1 / row_sums(W), None))

    def _exponents(self, rows: csr_array) -> NDArray[np.float64]:
        """-d^2 / (2 sigma_i sigma_j) of new points' distances, nearest first."""
        sigma, product = self.bandwidth.sigma, np.asarray(1.0)
        if isinstance(sigma, np.ndarray):
            count = np.diff(rows.indptr)
            own = new_widths(rows.data[rows.indptr[:-1] + np.minimum(LOCAL_RANK, count) - 1], sigma)
            product = np.repeat(own, count) * sigma[rows.indices]
        else:
            product = np.asarray(sigma**2)
        return np.asarray(rows.data.astype(np.float64) ** 2 / (-2 * product))

    def findings(self) -> dict[str, Any]:
        """The graph, and the width."""
        return self._hood.findings() | super().findings()
