"""The largest eigenvalues of an operator by block Lanczos with restarts: few products, each with several vectors."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from lowfold.backend import steps
from lowfold.spectral.problem import Block

Times: TypeAlias = Callable[[Block], Block]

BLOCK = 8  # vectors at once: reading the matrix takes as long for one
ROOM = 64  # vectors of the basis beyond those that a restart keeps
WIDE_ROOM = 128  # the same beside a full matrix, which is larger than any such basis: fewer products
MAX_PRODUCTS = 400
ACCURACY = 1e-5  # wanted error of the subspace: residual relative to the gap
SAME = 1e-9  # of an eigenvalue: a smaller difference is none
UNEVEN = 1e-8  # of the square of the longest: lengths are squared no more
SEARCH = 12  # products after which a new block shows what the others have missed
GROUP = 1e-6  # of an eigenvalue: those closer than this may be copies of one


@dataclass(frozen=True, slots=True)
class Ritz:
    """The m largest eigenvalues found, their vectors, |A v - lam v| of each, the gap behind them, products done.

    next: the value behind them, as far as it is known.
    """

    values: NDArray[np.float64]
    vectors: Block
    residuals: NDArray[np.float64]
    gap: float
    products: int
    converged: bool
    next: float = -np.inf

    def times(self, size: float) -> Ritz:
        """The same of A times a number."""
        sizes = {name: getattr(self, name) * size for name in ("values", "residuals", "gap", "next")}
        return dataclasses.replace(self, **sizes)


@dataclass(frozen=True, slots=True)
class Limits:
    """When to stop: the relative rounding error of a product, the wanted error of the subspace (residual relative to
    the gap), the products that may be used; how many vectors to return beyond those wanted, and how many to keep in the
    basis."""

    precision: float
    accuracy: float = ACCURACY
    products: int = MAX_PRODUCTS
    guards: int = 0
    room: int = ROOM


def largest(times: Times, start: Block, m: int, limits: Limits, within: Times = np.asarray) -> Ritz:
    """The m largest eigenvalues of the symmetric operator `times`, from a block of start vectors.

    The orthonormal basis V grows by what A times its newest block adds to it: A V = V T + Q R E^T, with E the columns
    of the newest block. The eigenvectors y of T = V^T A V give the best approximations V y in the span
    (Rayleigh-Ritz), and |A V y - lam V y| = |R E^T y|. When V is full it is cut back to the best of them (Wu and
    Simon 2000). Stops when the residuals are `limits.accuracy` times the gap behind the m-th, or as small as rounding
    lets them be. A few vectors beyond the m are returned too, as many as `limits.guards` says, of which nothing is
    promised. Where as many values are equal as the blocks had columns, another block is begun beside them, which finds
    further copies. within: takes such vectors into the space that `times` acts on. The basis is kept in the type of the
    start vectors.
    """
    n, width = start.shape
    keep = m + limits.guards + width
    basis = np.empty((n, min(n, keep + limits.room)), start.dtype, order="F")
    basis[:, :width] = orthonormal(start)
    T, size, newest, products = np.zeros((0, 0)), width, width, 0
    copies, least = width, 0  # of an eigenvalue that the blocks can hold; products before the end
    while True:
        V = basis[:, :size]
        AQ = times(V[:, size - newest :])
        products += 1
        projected = V.T @ AQ
        T = bordered(T, projected)
        added, R = extension(V, AQ - V @ projected, float(np.linalg.norm(projected)))
        read = _read_off(T, R, m, limits)
        if added.shape[1] == 0 and size < min(m, n):
            added = _with_another(V, added, width, within)  # A maps V into itself, and there are others beside it
        exhausted = added.shape[1] == 0
        found = (read.small and size > m and products >= least) or exhausted
        if found and read.largest_group(m) >= copies and size + added.shape[1] < n:
            # Of an eigenvalue, a block of vectors holds as many copies as it has columns: there may be more.
            added = _with_another(V, added, width, within)
            copies, least, found = copies + width, products + SEARCH, False
        if found or products >= limits.products:
            vectors = steps.product(V, read.rotation[:, : m + limits.guards].astype(V.dtype))
            return read.ritz(m, vectors, products, exhausted)
        if size + added.shape[1] > basis.shape[1]:
            basis[:, :keep] = steps.product(V, read.rotation[:, :keep].astype(V.dtype))
            T, size = np.diag(read.values[:keep]), keep
        newest = added.shape[1]
        basis[:, size : size + newest] = added
        size += newest


@dataclass(frozen=True, slots=True)
class _Reading:
    """All eigenvalues of T, falling, and its eigenvectors; the residuals of those wanted, the gap behind them, the
    rounding of a product, and whether the residuals are small enough."""

    values: NDArray[np.float64]
    rotation: Block
    residuals: NDArray[np.float64]
    gap: float
    rounding: float
    small: bool

    def largest_group(self, m: int) -> int:
        """How many of the first m values are equal, at most, with another one behind them."""
        values = self.values[:m]
        breaks = np.flatnonzero(-np.diff(values) > np.maximum(GROUP * np.abs(values[1:]), 2 * self.rounding)) + 1
        return int(np.diff(breaks, prepend=0).max(initial=0))

    def ritz(self, m: int, vectors: Block, products: int, exhausted: bool) -> Ritz:
        """The first m, with vectors that have been made of the basis."""
        following = float(self.values[m]) if len(self.values) > m else -np.inf
        converged = self.small or exhausted
        return Ritz(self.values[:m], vectors, self.residuals, self.gap, products, converged, following)


def _read_off(T: Block, R: Block, m: int, limits: Limits) -> _Reading:
    """The eigenpairs of T = V^T A V, and what A times the newest block left beside V says of them."""
    values, rotation = scipy.linalg.eigh(T)
    values, rotation = values[::-1], rotation[:, ::-1]
    wanted = min(m, len(T))
    errors = np.linalg.norm(R @ rotation[len(T) - R.shape[1] :, : m + 1], axis=0)
    residuals, gap = errors[:wanted], gap_behind(values, wanted)
    rounding = limits.precision * float(np.abs(values).max(initial=0.0))
    # The value behind the last one wanted must be known too, or the gap would be taken for too large.
    known = residuals.max() <= max(limits.accuracy * gap, 50 * rounding) and errors[-1] <= max(gap / 4, 50 * rounding)
    return _Reading(values, rotation, residuals, gap, rounding, bool(known))


def _with_another(V: Block, added: Block, width: int, within: Times) -> Block:
    """What is added to V, and as many vectors as a block has at right angles to both."""
    both = np.hstack([V, added.astype(V.dtype)])
    return np.hstack([added, _apart(both, min(width, len(V) - both.shape[1]), within)])


def bordered(T: Block, products: Block) -> Block:
    """V^T A V, from its part for the older columns of V and V^T A Q for the newest ones."""
    old, new = len(T), products.shape[1]
    whole = np.empty((old + new, old + new))
    whole[:old, :old] = T
    whole[:, old:] = products
    whole[old:, :old] = products[:old].T
    whole[old:, old:] = symmetric(products[old:])
    return whole


def gap_behind(values: NDArray[np.float64], m: int) -> float:
    """values[m - 1] less the first value behind it that differs; values fall. Where there is none, their spread."""
    spread = float(np.abs(values).max(initial=0.0))
    behind = values[m:]
    rounding = max(SAME * abs(float(values[m - 1])), 1e-14 * spread)
    different = behind[behind < values[m - 1] - rounding]
    return float(values[m - 1] - different[0]) if len(different) else spread


def extension(V: Block, rest: Block, size: float) -> tuple[Block, Block]:
    """(Q, R): an orthonormal basis of `rest` beside the orthonormal V, and `rest` in it.

    `rest` is orthogonal to V up to rounding of something of the given size; what is no larger than that is left out.
    """
    rounding = 50 * float(np.finfo(rest.dtype).eps)
    rest = rest - V @ (V.T @ rest)
    values, rotation = np.linalg.eigh(rest.T @ rest)
    if values[0] < UNEVEN * values[-1]:  # squares would hide the short ones
        _, lengths, turned = np.linalg.svd(rest, full_matrices=False)
        values, rotation = np.square(lengths[::-1]), turned[::-1].T
    large = (values > (rounding * size) ** 2) & (values > rounding**2 * values[-1])
    large[: max(0, len(values) - (len(V) - V.shape[1]))] = False  # there is no room for more
    if not large.any():
        return rest[:, :0], np.zeros((0, rest.shape[1]))
    Q = rest @ (rotation[:, large] / np.sqrt(values[large]))
    if values[large][0] < np.sqrt(rounding) * values[-1] or values[-1] < rounding * size**2:
        Q = orthonormal(Q - V @ (V.T @ Q))  # rounding was magnified
    return Q, Q.T @ rest


def _apart(V: Block, count: int, within: Times) -> Block:
    """Orthonormal vectors at right angles to V, the same for any V of this size."""
    Q = within(np.random.default_rng(V.shape[1]).standard_normal((len(V), count))).astype(V.dtype)
    for _ in range(2):
        Q = orthonormal(Q - V @ (V.T @ Q))
    return Q


def orthonormal(V: Block) -> Block:
    """Orthonormal columns with the same span.

    By Cholesky's factor of V^T V, twice, which takes two passes over V; where V is too badly conditioned for that, by
    Householder's reflections, which take many.
    """
    try:
        for _ in range(2):
            L = np.linalg.cholesky(steps.product(V.T, V))
            V = scipy.linalg.solve_triangular(L, V.T, lower=True).T
    except np.linalg.LinAlgError:
        return steps.orthonormal(V)[0]
    return np.ascontiguousarray(V)


def symmetric(A: Block) -> Block:
    """(A + A^T) / 2."""
    return (A + A.T) / 2
