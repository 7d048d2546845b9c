"""The affinities of a diffusion map: between all points, between nearest ones, or as given."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, eye_array, issparse
from scipy.sparse.csgraph import breadth_first_order, connected_components

from lowfold import inputs
from lowfold.affinity.gaussian import Bandwidth, check_width, gaussian, gaussian_inplace, own_widths, typical_width
from lowfold.affinity.walk import Walk, densities, row_sums, scaled, walk_of
from lowfold.backend.packed import Packed
from lowfold.backend.pieces import ROWS_AT_ONCE
from lowfold.errors import DataError, ParameterError
from lowfold.neighbors.engines import Cells, Exact
from lowfold.neighbors.index import index_of
from lowfold.neighbors.interface import NeighborIndex, Settings, search_option
from lowfold.neighbors.neighborhood import Neighborhood, neighborhood_of
from lowfold.options import documented, option
from lowfold.spectral.pairs import PairDistances
from lowfold.types import Floats

AUTO_RANK = 10  # the neighbour whose typical distance is sigma="auto"


@documented
@dataclass(frozen=True, slots=True)
class Nearest:
    """Affinities to the nearest points only, for large data: `DiffusionMap(graph=Nearest(k=30))`."""

    k: int = option(30, low=1, help="number of neighbours of each point")
    components: str = option(
        "join", choices=("join", "error"), help="way to treat a neighbour graph that falls into components"
    )
    search: str | Exact | Cells = search_option()


class Options(Protocol):
    """The options of a diffusion map that its affinities depend on."""

    sigma: float | str
    graph: str | Nearest
    metric: Any
    n_jobs: int | None
    random_state: Any


class Affinities(ABC):
    """Affinities between training points, and from new points to them."""

    bandwidth: Bandwidth

    @abstractmethod
    def between(self, threads: int) -> Any:
        """W, sparse, packed or dense."""

    @abstractmethod
    def from_new(self, values: Any, threads: int) -> Iterator[Any]:
        """Rows of affinities of new points, some at a time."""

    @abstractmethod
    def check(self, W: Any, q: NDArray[np.float64]) -> None:
        """Raises DataError if some point has no affinity to another; q are the row sums of W."""

    def findings(self) -> dict[str, Any]:
        """For the report of a fit."""
        sigma = self.bandwidth.sigma
        return {"sigma": sigma if not isinstance(sigma, np.ndarray) else f"local, median {np.median(sigma):.3g}"}

    def walk(self, alpha: float, threads: int) -> Walk:
        """The random walk on them."""
        W = self.between(threads)
        q = densities(W, threads)
        self.check(W, q)
        return walk_of(W, q, alpha, threads)

    def new_rows(self, values: Any, q: NDArray[np.float64], alpha: float, threads: int) -> Iterator[Any]:
        """Rows of the walk for new points: (q_x q_j)^-alpha w_xj, divided by their sums, in which q_x cancels."""
        begin = 0
        for W in self.from_new(values, threads):
            W = scaled(W, None, q**-alpha)
            sums = row_sums(W)
            if not (sums > 0).all():
                row = begin + int(np.argmin(sums))
                raise DataError(
                    f"Row {row} of X is so far from every training point that all its affinities are 0 at "
                    f"sigma={self.findings()['sigma']}. Leave such rows out, or fit with a larger sigma."
                )
            begin += W.shape[0]
            yield scaled(W, 1 / sums, None)


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
                own = own_widths(np.sort(distances, axis=1)[:, : min(AUTO_RANK, self._data.n - 1)])
                yield gaussian(distances, own[:, None] * self.bandwidth.sigma)
            else:
                yield gaussian(distances, self.bandwidth.sigma**2)


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
        rows = np.repeat(np.arange(graph.shape[0]), np.diff(graph.indptr))
        W = gaussian(graph.data.astype(np.float64), self.bandwidth.between(rows, graph.indices))
        return csr_array(csr_array((W, graph.indices, graph.indptr), shape=graph.shape) + eye_array(graph.shape[0]))

    def check(self, W: csr_array, q: NDArray[np.float64]) -> None:
        """No point may be alone."""
        check_width(q, 1.0, self._sigma)

    def from_new(self, values: Any, threads: int) -> Iterator[csr_array]:
        """Rows to the nearest training points."""
        rows = self._hood.rows(values)
        sigma = self.bandwidth.sigma
        if isinstance(sigma, np.ndarray):
            width = np.diff(rows.indptr)[0]
            own = own_widths(rows.data.reshape(-1, width)[:, : min(AUTO_RANK, width)])
            product = np.repeat(own, width) * sigma[rows.indices]
        else:
            product = sigma**2
        yield csr_array((gaussian(rows.data.astype(np.float64), product), rows.indices, rows.indptr), shape=rows.shape)

    def findings(self) -> dict[str, Any]:
        """The graph, and the width."""
        return self._hood.findings() | super().findings()


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
            warnings.warn(
                "The affinities form a bipartite graph: a walk changes sides at each step and never settles "
                "(eigenvalue -1). The map shows the top of the spectrum without it. Add affinities of points to "
                "themselves.",
                UserWarning,
                stacklevel=6,
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
