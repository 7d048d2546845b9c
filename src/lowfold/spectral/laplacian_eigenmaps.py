"""Laplacian eigenmaps (Belkin and Niyogi 2003).

Neighbours are to stay together: minimise sum_ij w_ij |y_i - y_j|^2 = 2 trace(Y^T (D - W) Y) over Y^T D Y = I. The
solutions are the eigenvectors of the random walk P = D^-1 W with the largest eigenvalues behind the constant one, or of
L = I - P with the smallest: Y = D^-1/2 V with V the top of S = D^-1/2 W D^-1/2, which needs no factorisation.
A new point goes to the mean of its neighbours under its own row of P, divided by the eigenvalue.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.sparse import csr_array

from lowfold.affinity.gaussian import LEAST_WEIGHT, check_width, gaussian
from lowfold.affinity.walk import Walk, row_sums, walk_of
from lowfold.estimator import Stopwatch
from lowfold.fitted import of_fitted
from lowfold.neighbors.radius import Within
from lowfold.options import documented, option
from lowfold.spectral.eigen import factor_memory, solve
from lowfold.spectral.graph_method import GraphMethod, Piece, Solved
from lowfold.spectral.problem import EigenProblem, SparseMatrix
from lowfold.spectral.rows import inverses, walked
from lowfold.types import Floats


@documented
@dataclass(frozen=True, slots=True)
class Heat:
    """Weights exp(-d^2 / (2 sigma^2)) on the edges of the graph, but at least 1e-10."""

    sigma: float | None = option(
        None,
        above=0,
        help="width of the heat kernel; None: the median over points of the distance to the last neighbour",
    )


class LaplacianEigenmaps(GraphMethod):
    """Laplacian eigenmaps: Y = D^-1/2 V, with V the eigenvectors of D^-1/2 W D^-1/2 behind the trivial one.

    eigenvalues_ (of L = I - P, smallest first), walk_eigenvalues_ (of P, largest first), embedding_, report_.
    """

    n_neighbors: int | Within = option(15, low=1, help="number of neighbours of each point, or Within(radius)")
    weights: str | Heat = option(
        "heat",
        choices=("heat", "binary"),
        help="weights of the edges: a heat kernel, by name or as Heat(sigma), or 0/1",
    )

    skip: ClassVar[int] = 1

    @of_fitted
    def random_walk(self) -> Walk:
        """Returns the walk that the map is read off; of the largest piece, where there are several."""
        walk: Walk = self._solved[0].state[1]
        return walk

    def _solve(self, piece: Piece, m: int, watch: Stopwatch) -> Solved:
        with watch.stage("affinity"):
            sigma = self._sigma(piece.graph)
            W = self._weigh(piece.graph, sigma)
            if isinstance(self.weights, Heat):
                check_width(row_sums(W) - LEAST_WEIGHT * np.diff(W.indptr), 0.0, self.weights.sigma)
            walk = walk_of(W, row_sums(W), alpha=0.0, threads=self._threads)
        with watch.stage("eigenvectors"):
            matrix = SparseMatrix(walk.S, self._threads)
            spectrum = solve(EigenProblem(matrix, trivial=walk.root[:, None]), m)
        Y = spectrum.vectors / np.sqrt(walk.degrees)[:, None]
        return Solved(Y, spectrum, (sigma, walk))

    def _keep(self, solved: Solved) -> None:
        self.walk_eigenvalues_ = solved.spectrum.values
        self.eigenvalues_ = 1 - self.walk_eigenvalues_

    def _sigma(self, graph: csr_array) -> float:
        """The width given, or a typical distance to the farthest neighbour."""
        if isinstance(self.weights, Heat) and self.weights.sigma is not None:
            return self.weights.sigma
        farthest = np.maximum.reduceat(graph.data, graph.indptr[:-1])
        positive = farthest[farthest > 0]
        return float(np.median(positive)) if len(positive) else 1.0

    def _weigh(self, graph: csr_array, sigma: float) -> csr_array:
        if self.weights == "binary":
            data = np.ones(graph.nnz)
        else:
            data = np.maximum(gaussian(graph.data.astype(np.float64), sigma * sigma), LEAST_WEIGHT)
        return csr_array((data, graph.indices, graph.indptr), shape=graph.shape)

    def _follow(self, values: Any, rows: csr_array, solved: Solved) -> Floats:
        sigma, _ = solved.state
        return walked(self._weigh(rows, sigma), solved.Y[:, : len(solved.spectrum.values)] * inverses(solved.spectrum))

    def _memory(self, n_samples: int, n_features: int) -> int:
        k = 30 if isinstance(self.n_neighbors, Within) else 2 * self.n_neighbors
        block = 16 * -(-(self.n_components + 5) // 16)
        rows = n_samples * (40 * k + 8 * 6 * block + 16 * n_features + 200)
        return rows + factor_memory(n_samples, k // 2)

    def _cheaper(self) -> str:
        return "Use fewer neighbours, or fit fewer samples and place the rest with transform."
