"""What a backend offers: the few kernels that everything else is built on.

`threads` never changes a result. Arrays are C-ordered, float32 or float64, and are only read.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from lowfold.backend.embedding_protocol import ForceKernels, MetricKernels, Sparse, StressKernels
from lowfold.types import Floats, Indices


class SearchIndex(Protocol):
    """Points in cells, ready for neighbour search (cpp/core/knn.hpp)."""

    cells: int

    def search(
        self, queries: Floats | None, subset: Indices | None, k: int, alpha: float, caution: float, threads: int, /
    ) -> tuple[Indices, Floats]:
        """(indices, distances) of the k nearest points of new rows, of all points, or of some of the points.

        `alpha` is how far to look, as a share of the distance to the k-th neighbour (1: exact); `caution` how much of
        the scores' worst-case error to allow for (1: exact).
        """

    def calibrate(
        self, subset: Indices, k: int, caution: float, threads: int, /
    ) -> tuple[Indices, NDArray[np.float32]]:
        """(indices, needed): true neighbours of some points, and the alpha at which each is found."""

    def order(self) -> Indices:
        """The points, cell by cell."""


class MakeIndex(Protocol):
    """Builds a SearchIndex. scores: "products", "bytes" (of 8 bits, where the instruction set has them; else products)
    or "differences", of points that lie far nearer to each other than to their centre."""

    def __call__(self, X: Floats, metric: str, cells: int, scores: str, seed: int, threads: int, /) -> SearchIndex:
        """The index of the rows of X."""


class Factorisation(Protocol):
    """A = L U for a sparse A, without exchange of rows (cpp/core/factorisation.hpp)."""

    entries: int  # numbers in the factors
    peak: int  # the most numbers kept at once while they are found

    def factorise(self, A: Sparse, threads: int, /) -> None:
        """Finds the factors."""

    def solve(self, B: NDArray[np.float64], transposed: bool, threads: int, /) -> NDArray[np.float64]:
        """A^-1 B, or A^-T B."""


class MakeFactorisation(Protocol):
    """Builds a Factorisation: its order of elimination, from the places of A's entries."""

    def __call__(self, A: Sparse, symmetric: bool, /) -> Factorisation:
        """For a matrix of this pattern; of a symmetric one only what is on and above the diagonal is read later."""


class Kernels(ForceKernels, StressKernels, MetricKernels, Protocol):
    """The kernels of one instruction set; `backend/reference` says in NumPy what each returns."""

    simd: str
    Index32: MakeIndex
    Index64: MakeIndex
    Factorisation: MakeFactorisation

    def supported_simd(self) -> list[str]:
        """The instruction sets of this machine that kernels are compiled for, best last."""

    def random_bits(self, seed: int, stream: int, count: int, /) -> NDArray[np.uint64]:
        """64 random bits of each item."""

    def fingerprints(self, X: Floats, threads: int, /) -> NDArray[np.uint64]:
        """64 bits of each row, equal for equal rows."""

    def directions(self, X: Floats, centred: bool, threads: int, /) -> tuple[Floats, NDArray[np.bool_]]:
        """(unit vectors along the rows of X, or of X less each row's mean; which rows have a direction at all)."""

    def rank_candidates(
        self, X: Floats, queries: Floats, candidates: Indices, metric: str, threads: int, /
    ) -> tuple[Indices, Floats]:
        """(indices, distances) of each query's candidates, which are rows of X, nearest first; float64 queries beside
        float32 X are measured in float64.
        """

    def column_means(self, X: Floats, threads: int, /) -> NDArray[np.float64]:
        """The mean of each column."""

    def largest_entry(self, X: Floats, mean: NDArray[np.float64], threads: int, /) -> float:
        """max |x_ip - mean_p|."""

    def scatter(self, X: Floats, mean: NDArray[np.float64], threads: int, /) -> NDArray[np.float64]:
        """sum_i (x_i - mean)(x_i - mean)^T."""

    def cross(
        self, A: Floats, a_mean: NDArray[np.float64], B: Floats, b_mean: NDArray[np.float64], threads: int, /
    ) -> NDArray[np.float64]:
        """sum_i (a_i - a_mean)(b_i - b_mean)^T."""

    def project(self, X: Floats, mean: NDArray[np.float64], B: Floats, threads: int, /) -> Floats:
        """(X - mean) B, each row by itself."""

    def times(self, A: Floats, V: Floats, threads: int, /) -> NDArray[np.float64]:
        """A V for a V with few columns, in float64."""

    def symmetric_times(self, A: Floats, V: Floats, threads: int, /) -> NDArray[np.float64]:
        """The same for a symmetric A, of which only the entries on and above the diagonal are read."""

    def packed_times(self, A: Floats, V: Floats, threads: int, /) -> NDArray[np.float64]:
        """The same for a packed A: strips of 64 rows, one after another, each from its first row's diagonal on."""

    def symmetric_graph(self, neighbors: Indices, lengths: Floats, threads: int, /) -> Sparse:
        """The graph with an edge wherever one point is the other's neighbour."""

    def components(self, graph: Sparse, /) -> Indices:
        """The lowest point of the component that each point of a symmetric graph is in."""

    def geodesics(self, graph: Sparse, nodes: Indices, behind: Floats, targets: Indices, threads: int, /) -> Floats:
        """The shortest way from each start (a row of nodes, each with a length behind it) to each target."""

    def sparse_times(self, A: Sparse, V: Floats, threads: int, /) -> Floats:
        """A V for 2, 4, 8 or 16 vectors."""

    def chebyshev_inplace(
        self, A: Sparse, V: Floats, ends: tuple[float, float, float], degree: int, threads: int, /
    ) -> None:
        """V <- p(A) V, with p the Chebyshev polynomial on [ends[0], ends[1]] divided by its value at ends[2]."""

    def banded_order(self, graph: Sparse, /) -> Indices:
        """The points of a symmetric graph in an order in which neighbours stand near each other."""

    def permuted(self, A: Sparse, order: Indices, ascending: bool, threads: int, /) -> Sparse:
        """A with rows and columns in an order, the columns of each row ascending, or as they stood in A."""

    def scaled_values(self, A: Sparse, scale: Floats, threads: int, /) -> Floats:
        """The values of diag(scale) A diag(scale)."""

    def barycentric_weights(
        self, queries: Floats, X: Floats, neighbors: Indices, regularisation: float, threads: int, /
    ) -> NDArray[np.float64]:
        """The weights of sum 1 with which each query is rebuilt best from its neighbours."""

    def tangent_blocks(self, X: Floats, neighbors: Indices, d: int, threads: int, /) -> NDArray[np.float64]:
        """I - 1 1^T / k - Q Q^T of each neighbourhood, Q its best d coordinates."""

    def hessian_blocks(self, X: Floats, neighbors: Indices, d: int, threads: int, /) -> NDArray[np.float64]:
        """H^T H of each neighbourhood, H its second derivatives in d tangent coordinates."""

    def modified_blocks(
        self, X: Floats, neighbors: Indices, d: int, regularisation: float, threads: int, /
    ) -> NDArray[np.float64]:
        """S S^T of each point and its neighbours, S the weights of modified LLE."""

    def align(self, patches: Indices, blocks: NDArray[np.float64], points: int, threads: int, /) -> Sparse:
        """The sum of the blocks, each at the rows and columns of its points."""
