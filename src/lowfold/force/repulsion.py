"""Repulsion: the field phi(y) = sum_j c_j w(|y - y_j|^2) of all points, and its gradient, at every point.

With one charge per point, phi gives the normalisation (Z = sum_i phi(y_i) - w(0)) and its gradient the forces: of a
kernel like 1 / (1 + r), sum_j (y_i - y_j) / (1 + r)^2 = -1/2 grad phi(y_i).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.fft import next_fast_len
from scipy.sparse import csr_array

from lowfold.backend import native
from lowfold.backend.embedding_protocol import Convolution, GridShape
from lowfold.errors import ConvergenceWarning, warn
from lowfold.force.law import GAUSSIAN, Law
from lowfold.neighbors.engines import Exact
from lowfold.options import documented, option
from lowfold.types import Floats

Field: TypeAlias = tuple[Floats, Floats]  # phi (n,) and its gradient (n, d)

GRID_DIMENSIONS = 3  # a grid has spacing^-d nodes
EXACT_SIZE = 1000  # points up to which all pairs take no longer than a grid in the plane
FEWEST_CELLS = 24  # across the embedding: a small one gets a finer grid, or its forces would be lost in the error
MOST_NODES = 2**23  # of a grid: with more, points have left each other far behind, and the spacing grows instead
USUAL_NODES = 500_000  # of a grid of the default spacing, as large as embeddings become
NODE_BYTES = 25  # of a node of a grid with its transforms, times 2 for each dimension
ROOM = 1.3  # by which a grid may be larger than needed before it is made anew


@documented
@dataclass(frozen=True, slots=True)
class Grid:
    """Repulsion by convolution on a regular grid, O(n + g log g): `TSNE(repulsion=Grid(spacing=0.3))`."""

    spacing: float = option(
        0.5, above=0, high=2, help="distance of grid nodes, in units of the kernel's width; smaller is more exact"
    )


@documented
@dataclass(frozen=True, slots=True)
class Tree:
    """Repulsion by a tree of points, O(n log n) in any number of dimensions: `TSNE(repulsion=Tree(theta=0.2))`.

    A group of points counts as one where the kernel changes by less than the share theta over it.
    """

    theta: float = option(0.45, low=0, high=1, help="largest change of the kernel over a group; 0 is exact")


def repulsion_option() -> Any:
    """The engine, as every force method declares it."""
    return option(
        "auto",
        choices=("auto", "exact", "grid", "tree"),
        help="way to sum the repulsion over all points, by name or engine",
    )


class Engine(Protocol):
    """A way to the field of all points."""

    name: str
    charges: Floats | None  # of the points that new ones meet, where the engine has its own

    def findings(self) -> dict[str, Any]:
        """For the report of a fit."""

    def field(self, Y: Floats, charges: Floats | None = None) -> Field:
        """phi and its gradient at each point; a charge is 1 unless given."""

    def frozen(self, Y: Floats, charges: Floats | None) -> Any:
        """The field of points that stay, for `native.kernels.placed`: (values, shape) on a grid, or None."""


class ExactEngine:
    """Every pair, in blocks."""

    name = "exact"
    charges: Floats | None = None

    def __init__(self, law: Law, threads: int) -> None:
        self._law = law.code
        self._threads = threads

    def findings(self) -> dict[str, Any]:
        """The name says it all."""
        return {"repulsion": self.name}

    def field(self, Y: Floats, charges: Floats | None = None) -> Field:
        """phi and its gradient at each point."""
        return native.kernels.exact_field(Y, charges, self._law, Y, None, self._threads)

    def frozen(self, Y: Floats, charges: Floats | None) -> None:
        """The points themselves are all that is needed."""


class TreeEngine:
    """Groups of points that are far for their size as one (Barnes and Hut 1986)."""

    name = "tree"
    charges: Floats | None = None

    def __init__(self, law: Law, theta: float, threads: int) -> None:
        self._law = law.code
        self._theta = theta
        self._threads = threads

    def findings(self) -> dict[str, Any]:
        """How coarse it is."""
        return {"repulsion": self.name, "theta": self._theta}

    def field(self, Y: Floats, charges: Floats | None = None) -> Field:
        """phi and its gradient at each point."""
        return native.kernels.tree_field(Y, charges, self._law, self._theta, self._threads)

    def frozen(self, Y: Floats, charges: Floats | None) -> None:
        """New points are few: the points themselves."""


class PairsEngine:
    """Each pair with a weight of its own: phi_i = 1 + sum_j W_ij w(r_ij), with W sparse and symmetric."""

    name = "pairs"

    def __init__(self, law: Law, W: csr_array, threads: int) -> None:
        self._law = law.code
        self._W = W.indptr.astype(np.int64), W.indices.astype(np.int32), W.data
        self._threads = threads
        self.charges: Floats | None = np.asarray(W.sum(axis=1), np.float32) / np.float32(max(W.shape[0] - 1, 1))

    def findings(self) -> dict[str, Any]:
        """How many weights there are."""
        return {"repulsion": self.name, "pairs": len(self._W[2])}

    def field(self, Y: Floats, charges: Floats | None = None) -> Field:
        """phi and its gradient at each point."""
        begin, columns, values = self._W
        entries = begin, columns, values.astype(Y.dtype, copy=False)
        phi, slope = native.kernels.pair_field(entries, Y, self._law, self._threads)
        return phi + phi.dtype.type(1), slope  # the point itself, as every engine has it

    def frozen(self, Y: Floats, charges: Floats | None) -> None:
        """New points meet the points themselves, each with its mean weight."""


class GridEngine:
    """Charges are spread to a grid by cubic B-splines, convolved with the kernel, and read off by the same splines.

    The kernel's coefficients c make sum_gh c_(g-h) B(y - g) B(y' - h) interpolate w between the nodes: its transform is
    that of w on the nodes over the square of the spline's. They depend on the spacing and the size of the grid alone
    and are kept while both last. coarsest: the largest spacing so far.
    """

    name = "grid"
    charges: Floats | None = None

    def __init__(self, law: Law, spacing: float, threads: int) -> None:
        self._law = law
        self._spacing = spacing
        self._threads = threads
        self._kernel: tuple[Any, Convolution] | None = None
        self.coarsest = 0.0

    def findings(self) -> dict[str, Any]:
        """The coarsest grid that was used: wider than asked for only if the embedding grew beyond all measure."""
        return {"repulsion": self.name, "grid spacing": self.coarsest}

    @property
    def asked(self) -> float:
        """The spacing that was asked for."""
        return self._spacing

    def __getstate__(self) -> dict[str, Any]:
        """Without the kernel, which is made anew when it is needed."""
        return self.__dict__ | {"_kernel": None}

    def field(self, Y: Floats, charges: Floats | None = None) -> Field:
        """phi and its gradient at each point."""
        shape = self._shape(Y, margin=0.0)
        values = self._convolved(Y, charges, shape)
        return native.kernels.gather(values, shape, Y, self._threads)

    def frozen(self, Y: Floats, charges: Floats | None) -> tuple[Floats, GridShape]:
        """The field on a grid with room around the points."""
        shape = self._shape(Y, margin=0.1 * float(np.ptp(Y, axis=0).max()) + 2.0)
        return self._convolved(Y, charges, shape), shape

    def _shape(self, Y: Floats, margin: float) -> GridShape:
        bounds = native.kernels.column_bounds(Y)
        low, high = bounds[0].astype(np.float64) - margin, bounds[1].astype(np.float64) + margin
        span = high - low
        finer = max(0, int(np.ceil(np.log2(FEWEST_CELLS * self._spacing / max(float(span.max()), 1e-12)))))
        spacing = self._spacing / 2.0**finer
        while np.prod(span / spacing + 5) > MOST_NODES:
            spacing *= 2
        self.coarsest = max(self.coarsest, spacing)
        needed = np.ceil(span / spacing).astype(int) + 5
        size = self._size(needed, spacing)
        origin = (low + high) / 2 - spacing * (size - 1) / 2
        return size.tolist(), origin.tolist(), spacing

    def _size(self, needed: NDArray[np.int_], spacing: float) -> NDArray[np.int_]:
        """The size of the last grid if it will do, else one with some room to grow."""
        if self._kernel is not None:
            (size, last), _ = self._kernel
            if last == spacing and (needed <= size).all() and (np.asarray(size) <= ROOM * needed + 8).all():
                return np.asarray(size)
        return np.array([next_fast_len(int(1.1 * cells), real=True) for cells in needed])

    def _convolved(self, Y: Floats, charges: Floats | None, shape: GridShape) -> Floats:
        size, _, spacing = shape
        values = native.kernels.spread(Y, charges, shape, self._threads)
        if self._kernel is None or self._kernel[0] != (size, spacing):
            self._kernel = (size, spacing), native.kernels.Convolution(size, kernel_transform(self._law, size, spacing))
        self._kernel[1].run_inplace(values, self._threads)
        return values


def kernel_transform(law: Law, size: list[int], spacing: float) -> NDArray[np.float32]:
    """The real transform of the kernel's coefficients on a grid of twice the size, wrapped around.

    The kernel is even in every direction, so that a cosine transform of one corner tells all.
    """
    r = np.zeros((1,) * len(size))
    smoothing = np.ones((1,) * len(size))
    for axis, cells in enumerate(size):
        along = [1] * len(size)
        along[axis] = -1
        steps = np.arange(cells + 1).reshape(along)
        r = r + (spacing * steps) ** 2
        smoothing = smoothing * (4 + 2 * np.cos(np.pi * steps / cells)) / 6
    transform = law.weight(r)
    for axis in range(len(size)):
        transform = np.fft.rfft(_mirrored(transform, axis), axis=axis).real
    transform /= smoothing**2
    for axis in range(len(size) - 1):
        transform = _mirrored(transform, axis)
    return np.ascontiguousarray(transform, dtype=np.float32)


def _mirrored(corner: Any, axis: int) -> Any:
    """What is even and periodic, from one half of it."""
    return np.concatenate([corner, np.flip(corner, axis)[(slice(None),) * axis + (slice(1, -1),)]], axis)


def grid_memory(repulsion: Any, d: int) -> int:
    """Bytes that a grid of this repulsion may need, if it has one."""
    finer = 0.5 / repulsion.spacing if isinstance(repulsion, Grid) else 1.0
    dimensions = min(d, GRID_DIMENSIONS)
    nodes = MOST_NODES if finer > MOST_NODES else min(MOST_NODES, USUAL_NODES * finer**dimensions)
    return int(NODE_BYTES * 2**dimensions * nodes)


def warn_of_coarse(engine: Any) -> None:
    """Where a grid would have had too many nodes."""
    if isinstance(engine, GridEngine) and engine.coarsest > engine.asked:
        warn(
            f"repulsion=Grid(spacing={engine.asked:g}) would have needed more than {MOST_NODES:,} nodes; the spacing "
            f"was up to {engine.coarsest:g} instead. Use a larger spacing, or repulsion='tree' or 'exact'.",
            ConvergenceWarning,
        )


def _dimensions_of_grid(law: Law) -> int:
    """Up to how many a grid is quicker than a tree. Under heavy tails embeddings are a hundred times as wide as the
    kernel, and a grid in space has millions of nodes; under a Gaussian ten times, where no tree saves anything."""
    return GRID_DIMENSIONS if law == GAUSSIAN else 2


def engine_of(repulsion: Any, law: Law, shape: tuple[int, int], threads: int) -> Engine:
    """The engine asked for; "auto" chooses by cost."""
    n, d = shape
    if repulsion == "auto":
        repulsion = "exact" if n <= EXACT_SIZE else "grid" if d <= _dimensions_of_grid(law) else "tree"
    if isinstance(repulsion, Exact) or repulsion == "exact":
        return ExactEngine(law, threads)
    if isinstance(repulsion, Tree) or repulsion == "tree":
        tree = repulsion if isinstance(repulsion, Tree) else Tree()
        return TreeEngine(law, tree.theta, threads)
    grid = repulsion if isinstance(repulsion, Grid) else Grid()
    return GridEngine(law, grid.spacing, threads)
