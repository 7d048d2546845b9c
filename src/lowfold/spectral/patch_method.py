"""What the LLE family shares: a small matrix for each neighbourhood, their sum, and its smallest eigenvectors.

Each method says how badly an embedding fits each neighbourhood, as a quadratic form: y^T block_i y. The sum over all
neighbourhoods is y^T M y with M sparse and positive semidefinite; constants fit perfectly, M 1 = 0, and the embedding
is the eigenvectors of M behind the constant one. New points are rebuilt from their neighbours: the barycentric weights
that fit best in the data space are used in the embedding.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from lowfold import inputs
from lowfold.backend import native
from lowfold.errors import DataError, ParameterError
from lowfold.estimator import Stopwatch
from lowfold.neighbors.neighborhood import Neighborhood
from lowfold.options import option
from lowfold.spectral.eigen import solve
from lowfold.spectral.graph_method import GraphMethod, Piece, Solved
from lowfold.spectral.problem import BOTTOM, EigenProblem, SparseMatrix
from lowfold.spectral.rows import weighted
from lowfold.types import Floats, Indices

REGULARISATION = 1e-3  # of the local trace, where a method does not ask the user


class PatchMethod(GraphMethod):
    """A method of the LLE family: `_alignment` gives M, and a square factor of it where there is one.

    eigenvalues_ (of M, smallest first), reconstruction_error_ (their sum), embedding_, report_.
    """

    accepts: ClassVar[frozenset[str]] = frozenset({inputs.ROWS})

    n_neighbors: int = option(12, low=1, help="number of neighbours of each point")

    @abstractmethod
    def _alignment(self, X: Floats, neighbors: Indices) -> tuple[csr_array, csr_array | None]: ...

    def _least_neighbors(self) -> int:
        """Neighbours without which the local problem has no solution."""
        return self.n_components + 1

    def _check_components(self, n: int) -> None:
        super()._check_components(n)
        least = self._least_neighbors()
        if self.n_neighbors < least:
            raise ParameterError(
                f"{type(self).__name__} with n_components={self.n_components} needs n_neighbors of at least {least}, "
                f"but n_neighbors={self.n_neighbors}. "
                + (f"Raise n_neighbors to {least} or more, or lower" if least < n else f"X has n_samples = {n}: lower")
                + " n_components."
            )

    def _solve(self, piece: Piece, m: int, watch: Stopwatch) -> Solved:
        with watch.stage("local problems"):
            neighbors = _own_neighbors(self._hood, piece)
            M, factor = self._alignment(np.ascontiguousarray(piece.values), neighbors)
        with watch.stage("eigenvectors"):
            constant = np.full((piece.n, 1), piece.n**-0.5)
            spectrum = solve(EigenProblem(SparseMatrix(M, self._threads), BOTTOM, constant, factor), m)
        return Solved(spectrum.vectors, spectrum, piece.values)

    def _keep(self, solved: Solved) -> None:
        self.eigenvalues_ = solved.spectrum.values
        self.reconstruction_error_ = float(solved.spectrum.values.sum())

    def _follow(self, values: Any, rows: csr_array, solved: Solved) -> Floats:
        X = solved.state
        weights = np.empty(rows.nnz)
        counts = np.diff(rows.indptr)
        for count in np.unique(counts):
            mine = np.flatnonzero(counts == count)
            at = rows.indptr[mine][:, None] + np.arange(count)
            queries = np.ascontiguousarray(values[mine], X.dtype)
            weights[at] = self._barycentric(queries, X, rows.indices[at].astype(np.int32))
        placed = csr_array((weights, rows.indices, rows.indptr), shape=rows.shape)
        return weighted(placed, solved.Y[:, : len(solved.spectrum.values)])

    def _barycentric(self, queries: Floats, X: Floats, neighbors: Indices) -> NDArray[np.float64]:
        share = self._regularization()
        return np.asarray(native.kernels.barycentric_weights(queries, X, neighbors, share, self._threads))

    def _regularization(self) -> float:
        """Share of the local trace added to the local Gram matrix."""
        return REGULARISATION

    def _aligned(self, patches: Indices, blocks: NDArray[np.float64], n: int) -> csr_array:
        """M = sum_i of block_i at the rows and columns of the points of patch i."""
        begin, columns, values = native.kernels.align(np.ascontiguousarray(patches), blocks, n, self._threads)
        return csr_array((values, columns, begin), shape=(n, n))

    def _memory(self, n_samples: int, n_features: int) -> int:
        k = self.n_neighbors + 1
        # Blocks, then M with up to as many entries, and its factors, which fill in.
        return n_samples * (8 * 2 * k * k + 12 * k * k + 16 * 40 * k + 16 * n_features + 400)

    def _cheaper(self) -> str:
        return "Use fewer neighbours, or fit fewer samples and place the rest with transform."


def with_itself(neighbors: Indices) -> Indices:
    """Patches of each point and its neighbours, the point first."""
    return np.hstack([np.arange(len(neighbors), dtype=np.int32)[:, None], neighbors])


def with_orphans(neighbors: Indices) -> Indices:
    """Neighbourhoods, and one more for each point that is in none: the point and all but the last of its neighbours.

    A point in no neighbourhood would have a row of zeros in M, and an eigenvector of its own.
    """
    n, k = neighbors.shape
    orphans = np.flatnonzero(np.bincount(neighbors.ravel(), minlength=n) == 0).astype(np.int32)
    return np.vstack([neighbors, np.hstack([orphans[:, None], neighbors[orphans, : k - 1]])])


def _own_neighbors(hood: Neighborhood, piece: Piece) -> Indices:
    """The neighbours of the points of a piece, in its own numbers; bridges take the place of the farthest ones."""
    assert hood.neighbors is not None
    nearest = _with_bridges(hood.neighbors.indices, hood.components.bridges)
    if piece.n == len(nearest):
        return nearest
    rank = np.full(len(nearest), -1, np.int32)
    rank[piece.points] = np.arange(piece.n, dtype=np.int32)
    return rank[nearest[piece.points]]


def _with_bridges(nearest: Indices, bridges: Indices) -> Indices:
    if not len(bridges):
        return nearest
    nearest = nearest.copy()
    k = nearest.shape[1]
    used: dict[int, int] = {}
    for here, there in [*bridges.tolist(), *bridges[:, ::-1].tolist()]:
        used[here] = used.get(here, 0) + 1
        if used[here] >= k:
            raise DataError(
                f"Point {here} has {used[here]} bridges to other components of the neighbour graph, but only {k} "
                f"neighbours. Raise n_neighbors, or use the component policy 'largest' or 'separate'."
            )
        nearest[here, k - used[here]] = there
    return nearest
