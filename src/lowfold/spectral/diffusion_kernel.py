"""The affinities of a diffusion map: between all points, between nearest ones, or as given."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse
from scipy.sparse.csgraph import breadth_first_order, connected_components

from lowfold import inputs
from lowfold.affinity.gaussian import (
    LOCAL_RANK,
    Bandwidth,
    check_width,
    gaussian,
    gaussian_inplace,
    new_widths,
    own_widths,
    typical_width,
)
from lowfold.backend.packed import Packed
from lowfold.backend.pieces import ROWS_AT_ONCE
from lowfold.errors import DataError, warn
from lowfold.neighbors.index import index_of
from lowfold.neighbors.interface import NeighborIndex, Settings
from lowfold.spectral.affinities import AUTO_RANK, Affinities, Options
from lowfold.spectral.nearest_affinities import Nearest, NearestAffinities
from lowfold.spectral.pairs import PairDistances
from lowfold.types import Floats


def affinities_of(data: inputs.Data, options: Options) -> Affinities:
    """The affinities that the options ask for."""
    if data.kind == inputs.AFFINITY:
        return GivenAffinities(data.values)
    settings = Settings(
        metric=options.metric,
        search=options.graph.search if isinstance(options.graph, Nearest) else "auto",
        n_jobs=options.n_jobs,
        random_state=options.random_state,
    )
    if options.graph == "dense":
        if data.kind == inputs.GRAPH:
            raise DataError(
                f"graph='dense' needs the affinities of all pairs, but X is a sparse graph of {data.values.nnz} "
                f"distances between {data.n} points. Use graph='nearest', or pass a full matrix of distances."
            )
        return DenseAffinities(data, options, settings)
    return NearestAffinities(data, options, settings)


class DenseAffinities(Affinities):
    """exp(-d^2 / (2 sigma_i sigma_j)) between all pairs."""

    def __init__(self, data: inputs.Data, options: Options, settings: Settings) -> None:
        self._data = data
        self._sigma = options.sigma
        self._distances = PairDistances(data, options.metric)
        self._index: NeighborIndex | None = None
        if isinstance(options.sigma, str):
            self._index = index_of(data, settings)
            nearest = self._index.query(None, min(AUTO_RANK, data.n - 1)).distances
            self.bandwidth = Bandwidth(own_widths(nearest) if options.sigma == "local" else typical_width(nearest))
        else:
            self.bandwidth = Bandwidth(float(options.sigma))

    def between(self, threads: int) -> Packed:
        """The matrix in the type of the data."""
        values = self._data.values

        def rows(part: slice, rest: slice) -> Floats:
            squares = self._distances.squares(values[part], 1, rest)
            gaussian_inplace(squares, _products(self.bandwidth, part, rest))
            np.fill_diagonal(squares, 1)
            return squares

        return Packed(rows, self._data.n, values.dtype, threads)

    def check(self, W: Packed, q: NDArray[np.float64]) -> None:
        """No point may be alone."""
        check_width(q, 1.0, self._sigma)

    def from_new(self, values: Any, threads: int) -> Iterator[Floats]:
        """Rows to all training points."""
        for begin in range(0, values.shape[0], ROWS_AT_ONCE):
            part = values[begin : begin + ROWS_AT_ONCE]
            distances = self._distances.rows(part, threads)
            if isinstance(self.bandwidth.sigma, np.ndarray):
                rank = min(LOCAL_RANK, self._data.n - 1) - 1
                own = new_widths(np.sort(distances, axis=1)[:, rank], self.bandwidth.sigma)
                yield gaussian(distances, own[:, None] * self.bandwidth.sigma)
            else:
                yield gaussian(distances, self.bandwidth.sigma**2)


class GivenAffinities(Affinities):
    """The user's own matrix."""

    def __init__(self, W: Any) -> None:
        self._W = W
        self.bandwidth = Bandwidth(float("nan"))

    def between(self, threads: int) -> Any:
        """As they are, in float64 where they are sparse."""
        return csr_array(self._W).astype(np.float64) if issparse(self._W) else self._W

    def check(self, W: Any, q: NDArray[np.float64]) -> None:
        """The graph of positive affinities must hold together; a bipartite one is warned of."""
        pattern = csr_array(W)
        pattern.eliminate_zeros()
        count, labels = connected_components(pattern, directed=False)
        if count > 1:
            raise DataError(
                f"The affinities fall into {count} components, the largest of {np.bincount(labels).max()} points: a "
                f"walk never leaves its own. Embed each by itself, or add affinities between them."
            )
        if is_bipartite(pattern):
            warn(
                "The affinities form a bipartite graph: a walk changes sides at each step and never settles "
                "(eigenvalue -1). The map shows the top of the spectrum without it. Add affinities of points to "
                "themselves.",
            )

    def from_new(self, values: Any, threads: int) -> Iterator[Any]:
        """As they are given."""
        yield csr_array(values).astype(np.float64) if issparse(values) else np.array(values, np.float64)

    def findings(self) -> dict[str, Any]:
        """There is no width."""
        return {"affinities": "given"}


def is_bipartite(graph: csr_array) -> bool:
    """Whether the points of a connected graph fall into two sides with edges only between them."""
    order, before = breadth_first_order(graph, 0, directed=False)
    side = np.zeros(graph.shape[0], np.int8)
    for point in order[1:]:
        side[point] = 1 - side[before[point]]
    rows = np.repeat(np.arange(graph.shape[0]), np.diff(graph.indptr))
    return bool((side[rows] != side[graph.indices]).all())


def _products(bandwidth: Bandwidth, rows: slice, columns: slice) -> Any:
    if isinstance(bandwidth.sigma, np.ndarray):
        return bandwidth.sigma[rows][:, None] * bandwidth.sigma[columns]
    return bandwidth.sigma**2
