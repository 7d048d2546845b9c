"""What a backend offers to the families that move points: the force family, the stress family, and who judges both.

`threads` never changes a result. Arrays are C-ordered, float32 or float64, and are only read.
"""

from __future__ import annotations

from typing import Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from lowfold.types import Floats, Indices

LawCode: TypeAlias = tuple[str, float]  # name, degrees of freedom
GridShape: TypeAlias = tuple[list[int], list[float], float]  # nodes in each direction, the first node, the spacing
Sparse: TypeAlias = tuple[NDArray[np.int64], Indices, Floats]  # a matrix by rows: begin, columns, values

FiringEdges: TypeAlias = tuple[NDArray[np.int64], Indices, NDArray[np.uint32]]  # edges with their words, see firing.hpp
CurveCode: TypeAlias = tuple[float, float, float]  # a, b, strength of the repulsion
EpochCode: TypeAlias = tuple[int, float, int, int]  # its number from 1 on, step, negatives, seed


class Convolution(Protocol):
    """Convolution of values on a grid with a kernel (cpp/core/convolution.hpp)."""

    def run_inplace(self, values: Floats, threads: int, /) -> None:
        """values <- kernel * values."""


class MakeConvolution(Protocol):
    """Builds a Convolution from the kernel's real transform on a grid of twice the size."""

    def __call__(self, size: list[int], kernel: Floats, /) -> Convolution:
        """The convolution on a grid of one to three dimensions."""


class ForceKernels(Protocol):
    """The kernels of the force family; `backend/reference` says in NumPy what each returns."""

    Convolution: MakeConvolution

    def perplexity_rows(self, distances: Floats, perplexities: NDArray[np.float64], threads: int, /) -> Floats:
        """Gaussian affinities of given perplexities, the mean over them, float32."""

    def joint_affinity(self, neighbors: Indices, P: Floats, scale: float, threads: int, /) -> Sparse:
        """scale (P + P^T)."""

    def fuzzy_rows(self, distances: Floats, connectivity: float, mean: float, threads: int, /) -> Floats:
        """The degree to which each neighbour belongs to a point, float32."""

    def fuzzy_union(self, neighbors: Indices, P: Floats, mix: float, threads: int, /) -> Sparse:
        """mix (P + P^T - P o P^T) + (1 - mix) P o P^T."""

    def firing_edges(
        self, graph: Sparse, largest: float, epochs: int, seed: int | None, threads: int, /
    ) -> FiringEdges:
        """The edges that fire in so many epochs with their words 2^32 w / largest; rows in an order by lot (seed)."""

    def layout_epoch(
        self, edges: FiringEdges, Y: Floats, order: Indices, curve: CurveCode, epoch: EpochCode, threads: int, /
    ) -> Floats:
        """Where the points are after an epoch among themselves; order: all of them, by lot."""

    def placing_epoch(
        self, edges: FiringEdges, Y: Floats, others: Floats, curve: CurveCode, epoch: EpochCode, threads: int, /
    ) -> Floats:
        """Where new points are after an epoch among fixed others."""

    def attraction(self, P: Sparse, Y: Floats, law: LawCode, threads: int, /) -> Floats:
        """sum_j p_ij (-w' / w)(r_ij) (y_i - y_j) for each point."""

    def attraction_cost(self, P: Sparse, Y: Floats, law: LawCode, threads: int, /) -> float:
        """sum_ij p_ij (-log w(r_ij))."""

    def exact_field(
        self, Y: Floats, charges: Floats | None, law: LawCode, at: Floats, skip: Indices | None, threads: int, /
    ) -> tuple[Floats, Floats]:
        """The field of charges at Y, sum_j c_j w(|y - y_j|^2), and its gradient, at the rows of `at`; row i without
        charge skip[i]."""

    def tree_field(
        self, Y: Floats, charges: Floats | None, law: LawCode, theta: float, threads: int, /
    ) -> tuple[Floats, Floats]:
        """The same at the points themselves, by a tree: groups over which w changes by a share below theta are one."""

    def pair_field(self, W: Sparse, Y: Floats, law: LawCode, threads: int, /) -> tuple[Floats, Floats]:
        """sum_j W_ij w(|y_i - y_j|^2) over the entries of each row, and its gradient in y_i."""

    def spread(self, Y: Floats, charges: Floats | None, shape: GridShape, threads: int, /) -> Floats:
        """Charges on the nodes of a grid, by cubic B-splines, float32."""

    def gather(self, values: Floats, shape: GridShape, Y: Floats, threads: int, /) -> tuple[Floats, Floats]:
        """The spline through the nodes' values at each point, and its gradient."""

    def column_bounds(self, Y: Floats, /) -> tuple[Floats, Floats]:
        """The smallest and the largest value of each column."""

    def advance_inplace(
        self,
        Y: Floats,
        velocity: Floats,
        gains: Floats | None,
        forces: tuple[Floats, Floats, Floats],
        how: tuple[float, float, float, float, float],
        threads: int,
        /,
    ) -> None:
        """One step of descent: forces are attraction, repulsion, weights; how is pull, push, rate, momentum, limit."""

    def placed(
        self,
        points: tuple[Floats, Indices, Floats],
        frozen: tuple[Floats, Floats | None],
        law: LawCode,
        strength: float,
        field: tuple[Floats, GridShape] | None,
        threads: int,
        /,
    ) -> Floats:
        """New points (start, neighbours, affinities) where they come to rest among frozen ones (places, charges)."""


StressCode: TypeAlias = tuple[str, float]  # how pairs are weighted, and one over the weight of a distance of 0
Stressed: TypeAlias = tuple[NDArray[np.float64], NDArray[np.float64], float]  # half the gradient, residuals, sum w d^2

# Pairs by rising dissimilarity: their first and second points, where each group of equals begins, their weights.
PairOrder: TypeAlias = tuple[Indices, Indices, NDArray[np.int64], NDArray[np.float64] | None]


class StressKernels(Protocol):
    """The kernels of the stress family; `backend/reference` says in NumPy what each returns.

    One pass over the pairs gives sum_j w_ij (1 - delta_ij / d_ij)(y_i - y_j) and sum_j w_ij (d_ij - delta_ij)^2 of each
    point, and sum w d^2. The deltas come as a matrix of which half is read, packed, or as rows to be measured, with the
    same bits. A delta that is NaN is no pair.
    """

    def cross_distances(self, A: Floats, B: Floats, threads: int, /) -> Floats:
        """|a_i - b_j|, each row by itself; 0 for equal rows."""

    def disparities_inplace(
        self, fitted: NDArray[np.float64], targets: Floats, Y: Floats, order: PairOrder, ties: str, threads: int, /
    ) -> tuple[float, float, float]:
        """(sum w d^2, sum w f^2, sum w (d - f)^2) over pairs by rising dissimilarity, of distances d and disparities f.

        fitted (pairs,) and the packed targets become f sum w d^2 / sum w f^2; neither means anything where one of the
        sums is 0. ties: 'primary' or 'secondary'."""

    def stress_of_matrix(
        self, deltas: Floats, weights: Floats | None, Y: Floats, law: StressCode, threads: int, /
    ) -> Stressed:
        """From a matrix of deltas."""

    def stress_of_packed(
        self, deltas: Floats, weights: Floats | None, Y: Floats, law: StressCode, threads: int, /
    ) -> Stressed:
        """From packed deltas."""

    def stress_of_rows(
        self, X: Floats, weights: Floats | None, Y: Floats, law: StressCode, threads: int, /
    ) -> Stressed:
        """From the distances between the rows of X."""

    def placed_by_stress(
        self,
        start: NDArray[np.float64],
        deltas: Floats,
        weights: Floats | None,
        Y: Floats,
        law: StressCode,
        threads: int,
        /,
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """(Y, residuals): new points where their own stress against fixed ones is least, each by itself, and the
        root of the mean of w (d - delta)^2 that is left."""


class MetricKernels(Protocol):
    """The kernels that judge an embedding; `backend/reference` says in NumPy what each returns."""

    def coranking(
        self, X: Floats, Y: Floats, rows: Indices, ks: NDArray[np.int64], how: tuple[bool, bool], threads: int, /
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """(rows, ks, 3): common neighbours, intruders and lost ones by how far they lie beyond k; (rows,) the area.

        how: whether X holds the rows' distances instead of all points, and whether the area is wanted (else 0).
        """

    def squared_distances(self, X: Floats, rows: Indices, threads: int, /) -> Floats:
        """(rows, n) squared Euclidean distances from some points to all, each sum in the order of the coordinates."""
