"""Isomap (Tenenbaum, de Silva, Langford 2000); with landmarks: de Silva and Tenenbaum 2003.

Distances along the manifold are taken to be shortest paths in the neighbour graph, and classical scaling finds the
points with these distances: if D_ij = |y_i - y_j| and the y are centred, then -1/2 H D^2 H = Y Y^T, so that
Y = V sqrt(lam) from the top eigenvectors. A new point's distances are its shortest ways through its neighbours; the
same centring and the basis V / sqrt(lam) turn them into coordinates.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from lowfold.backend.pieces import ROWS_AT_ONCE, in_pieces, rows_in_work
from lowfold.estimator import Stopwatch
from lowfold.fitted import of_fitted
from lowfold.neighbors.geodesic import GeodesicGraph
from lowfold.neighbors.interface import SEEDED
from lowfold.neighbors.radius import Within
from lowfold.options import option, random_state_option
from lowfold.spectral.eigen import dense_memory, solve
from lowfold.spectral.graph_method import GraphMethod, Piece, Solved
from lowfold.spectral.landmarks import chosen_landmarks, landmarks_option
from lowfold.spectral.problem import Centred, DenseMatrix, EigenProblem
from lowfold.spectral.rows import CentredRows, inverse_roots, roots, warn_of_zeros
from lowfold.types import Floats

SAMPLE = 512  # points from which paths are followed to judge the embedding


class Isomap(GraphMethod):
    """Isomap: classical scaling of the shortest paths in the neighbour graph.

    eigenvalues_, reconstruction_error_ (None with landmarks), landmarks_, embedding_, report_.
    """

    n_neighbors: int | Within = option(10, low=1, help="number of neighbours of each point, or Within(radius)")
    landmarks: int | None = landmarks_option()
    random_state: int | np.random.RandomState | np.random.Generator | None = random_state_option(
        f"the landmarks and of {SEEDED}"
    )

    skip: ClassVar[int] = 1  # centred points of n - 1 dimensions at most

    @of_fitted
    def residual_variance(self) -> NDArray[np.float64]:
        """1 - r^2 between shortest paths and distances in the first 1, 2, ... coordinates: see the elbow.

        From the paths of up to 512 points to all others; of the largest piece, where there are several.
        """
        solved = self._solved[0]
        n = len(solved.Y)
        sources = np.unique(np.linspace(0, n - 1, min(n, SAMPLE)).astype(np.intp))
        paths = solved.state.graph.from_points(sources, self._threads)
        coordinates = solved.Y.T
        squared = np.cumsum((coordinates[:, sources, None] - coordinates[:, None, :]) ** 2, axis=0)
        return np.array([_unexplained(paths, np.sqrt(distance)) for distance in squared])

    def _solve(self, piece: Piece, m: int, watch: Stopwatch) -> Solved:
        graph = GeodesicGraph(piece.graph)
        # Of a piece of the graph that is smaller than the number of landmarks, all points are.
        whole = self.landmarks is None or (piece.n < self._hood.components.labels.size and self.landmarks > piece.n)
        ends = chosen_landmarks(piece.n, None if whole else self.landmarks, m, self.random_state)
        with watch.stage("shortest paths"):
            paths = graph.from_points(np.arange(piece.n) if ends is None else ends, self._threads)
            D = paths if ends is None else np.ascontiguousarray(paths[:, ends])
            means, squares = _square_inplace(D, self._threads)
        with watch.stage("eigenvectors"):
            matrix = Centred(DenseMatrix(D, self._threads), -0.5)
            spectrum = solve(EigenProblem(matrix), m)
        lam, precision = spectrum.values, matrix.precision
        spread = roots(lam, precision)
        warn_of_zeros(m, int((spread > 0).sum()), "the geodesic distances have no more positive eigenvalues")
        rows = CentredRows(means, float(means.mean()), spectrum.vectors * inverse_roots(lam, precision), -0.5)
        state = _State(graph, ends, rows, _error(means, squares, lam))
        if ends is None:
            return Solved(spectrum.vectors * spread, spectrum, state)
        with watch.stage("place"):
            return Solved(self._place_all(paths, rows), spectrum, state)

    def _place_all(self, paths: Floats, rows: CentredRows) -> Any:
        """Every point by its paths from the landmarks: a path is as long in both directions."""
        parts = [slice(begin, begin + ROWS_AT_ONCE) for begin in range(0, paths.shape[1], ROWS_AT_ONCE)]
        return np.concatenate([rows.place(np.square(paths[:, part].T), self._threads) for part in parts])

    def _keep(self, solved: Solved) -> None:
        self.eigenvalues_ = solved.spectrum.values
        state = solved.state
        self.landmarks_ = None if state is None or state.ends is None else self._hood.members[state.ends]
        self.reconstruction_error_ = None if state is None or state.ends is not None else state.error

    def _follow(self, values: Any, rows: csr_array, solved: Solved) -> Floats:
        state = solved.state
        placed = np.empty((rows.shape[0], state.rows.basis.shape[1]))
        for begin in range(0, rows.shape[0], ROWS_AT_ONCE):
            part = slice(begin, begin + ROWS_AT_ONCE)
            paths = state.graph.from_outside(rows[part], self._threads, targets=state.ends)
            placed[part] = state.rows.place(np.square(paths), self._threads)
        return placed

    def _memory(self, n_samples: int, n_features: int) -> int:
        k = 30 if isinstance(self.n_neighbors, Within) else 2 * self.n_neighbors
        n, m = self.landmarks or n_samples, self.n_components
        matrix = n * n_samples + (n**2 if self.landmarks else 0) + rows_in_work(n, self._threads) * n
        kept = n_samples * (30 * k + 8 * (6 * m + 600) + 16 * n_features)
        return 8 * matrix + dense_memory(n, m) + kept

    def _cheaper(self) -> str:
        return "Use landmarks=1000, which needs 1000 x n_samples numbers instead of n_samples^2, or float32 data."


@dataclass(frozen=True, slots=True)
class _State:
    """The graph, the landmarks (None: all points), how to turn paths into coordinates, and the error left."""

    graph: GeodesicGraph
    ends: NDArray[np.intp] | None
    rows: CentredRows
    error: float


def _square_inplace(D: Floats, threads: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Squares every entry; returns the means of the rows and the sums of the squares of the new entries."""
    means, squares = np.empty(len(D)), np.empty(len(D))

    def work(part: slice) -> None:
        np.square(D[part], out=D[part])
        means[part] = D[part].mean(axis=1, dtype=np.float64)
        squares[part] = np.einsum("ij,ij->i", D[part], D[part], dtype=np.float64)

    in_pieces(work, len(D), threads)
    return means, squares


def _error(means: NDArray[np.float64], squares: NDArray[np.float64], lam: NDArray[np.float64]) -> float:
    """|A - Y Y^T| / n in Frobenius' norm, with A = -1/2 H D^2 H: sqrt(|A|^2 - sum lam^2) / n."""
    n = len(means)
    norm = 0.25 * (squares.sum() - 2 * n * np.sum(means**2) + (n * means.mean()) ** 2)
    return float(np.sqrt(max(norm - np.sum(np.maximum(lam, 0) ** 2), 0.0)) / n)


def _unexplained(a: NDArray[Any], b: NDArray[Any]) -> float:
    """1 - r^2 of Pearson's correlation; 0 where one of them does not vary."""
    a, b = a.ravel() - a.mean(), b.ravel() - b.mean()
    size = float(a @ a) * float(b @ b)
    return 1 - float(a @ b) ** 2 / size if size > 0 else 0.0
