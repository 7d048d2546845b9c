"""Eigenvectors of a symmetric tridiagonal matrix by divide and conquer, in steps between which Ctrl-C is heard.

Cuppen, "A divide and conquer method for the symmetric tridiagonal eigenproblem" (1981): less its middle entry, T falls
into two halves Q_1 D_1 Q_1^T and Q_2 D_2 Q_2^T, so that T = Q (D + rho z z^T) Q^T with z from the rows of Q_1 and Q_2
that meet there. Between each two entries of D lies a root of 1 + rho sum_i z_i^2 / (d_i - lam), the eigenvalues of T.
Gu and Eisenstat, "A stable and efficient algorithm for the rank-one modification of the symmetric eigenproblem" (1994):
vectors made of the z for which the roots found are exact are orthogonal, however close the roots.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from lowfold.backend import stopping

LEAF = 200  # rows for which LAPACK takes hundredths of a second
AT_ONCE = 500_000  # numbers of a step: some hundredths of a second, and products of a tenth for 8,000 rows
EPS = float(np.finfo(np.float64).eps)
NOTHING = 8 * EPS  # of the largest entry: what is left out of the sum, as LAPACK has it
MOST_STEPS = 100  # to a root; a handful is usual, and halving alone takes as many

Vector = NDArray[np.float64]
Block = NDArray[np.float64]


def tridiagonal_eigenpairs(diagonal: Vector, beside: Vector, first: int, last: int) -> tuple[Vector, Block]:
    """(values, vectors) from the first to the last of them, counted from the smallest.

    Cost up to 4/3 n^3 for all vectors, far less where eigenvalues are alike, in products of matrices.
    """
    size = max(np.abs(diagonal).max(), np.abs(beside).max(initial=0.0))
    if size == 0:
        return np.zeros(last - first + 1), np.eye(len(diagonal), last - first + 1, -first)
    values, Q = _solve(diagonal / size, beside / size, slice(first, last + 1))
    return values * size, Q


def _solve(diagonal: Vector, beside: Vector, wanted: slice) -> tuple[Vector, Block]:
    if len(diagonal) <= LEAF:
        stopping.check()
        values, Q = scipy.linalg.eigh_tridiagonal(diagonal, beside, lapack_driver="stev")
        return values[wanted], Q[:, wanted]
    half = len(diagonal) // 2
    b = beside[half - 1]
    diagonal = diagonal.copy()
    diagonal[half - 1 : half + 1] -= abs(b)
    upper, Q_upper = _solve(diagonal[:half], beside[: half - 1], slice(None))
    lower, Q_lower = _solve(diagonal[half:], beside[half:], slice(None))
    z = np.r_[Q_upper[-1], np.copysign(1.0, b) * Q_lower[0]] / np.sqrt(2)
    halves = _Halves(Q_upper, Q_lower)
    del Q_upper, Q_lower  # a quarter of the memory each
    return _joined(_deflate_inplace(np.r_[upper, lower], z, 2 * abs(b), halves), halves, wanted)


class _Halves:
    """The columns of Q = diag(Q_1, Q_2), each with zeros below or above until it is turned with one of the others."""

    def __init__(self, upper: Block, lower: Block) -> None:
        n, half = len(upper) + len(lower), len(upper)
        self.Q = np.zeros((n, n), order="F")
        self.rows = slice(0, half), slice(half, n)
        for rows, part in zip(self.rows, (upper, lower), strict=True):
            _take_inplace(part, np.arange(len(part)), self.Q[rows, rows])
        here = np.arange(n) < half
        self.used = here, ~here

    def turn(self, i: int, j: int, c: float, s: float) -> None:
        """Columns i and j become c q_i + s q_j and c q_j - s q_i."""
        q = self.Q[:, i].copy()
        self.Q[:, i] = c * q + s * self.Q[:, j]
        self.Q[:, j] = c * self.Q[:, j] - s * q
        for used in self.used:
            used[[i, j]] = used[i] or used[j]

    def taken(self, rows: slice, columns: NDArray[np.intp]) -> Block:
        """A copy of some rows and columns."""
        copy = np.empty((rows.stop - rows.start, len(columns)), order="F")
        _take_inplace(self.Q[rows], columns, copy)
        return copy


def _take_inplace(A: Block, columns: NDArray[np.intp], out: Block) -> None:
    for piece in _slices(len(columns), len(A)):
        out[:, piece] = A[:, columns[piece]]


@dataclass(frozen=True, slots=True)
class _Sum:
    """diag(d) + rho z z^T on some columns of Q, d rising, and the others, of which the eigenvalues are known."""

    d: Vector
    z: Vector
    rho: float
    columns: NDArray[np.intp]
    known: Vector
    known_columns: NDArray[np.intp]


def _deflate_inplace(d: Vector, z: Vector, rho: float, halves: _Halves) -> _Sum:
    """The sum without what rounding would hide; d, z and the columns are changed.

    Where rho z_i is nothing, d_i is an eigenvalue; so it is where d_i and d_j are so close that their columns can be
    turned until z_i is.
    """
    nothing = NOTHING * max(np.abs(d).max(), np.abs(z).max())
    left: list[int] = []
    known: list[int] = []
    for j in np.argsort(d, kind="stable").tolist():
        if rho * abs(z[j]) <= nothing:
            known.append(j)
            continue
        if left:
            i = left[-1]
            length = np.hypot(z[i], z[j])
            c, s = z[j] / length, -z[i] / length
            if abs((d[j] - d[i]) * c * s) <= nothing:
                halves.turn(i, j, c, s)
                d[i], d[j] = d[i] * c * c + d[j] * s * s, d[i] * s * s + d[j] * c * c
                z[i], z[j] = 0, length
                known.append(left.pop())
        left.append(j)
    return _Sum(d[left], z[left], rho, np.array(left, np.intp), d[known], np.array(known, np.intp))


def _joined(part: _Sum, halves: _Halves, wanted: slice) -> tuple[Vector, Block]:
    """The eigenvalues of both halves together, and the vectors of those wanted."""
    roots = _roots(part)
    z = _exact_for(part, roots)
    values = np.r_[roots.values(part.d), part.known]
    order = np.argsort(values, kind="stable")[wanted]
    out = np.empty((len(halves.Q), len(order)), order="F")
    for place in np.flatnonzero(order >= len(part.d)):
        out[:, place] = halves.Q[:, part.known_columns[order[place] - len(part.d)]]
    places = np.flatnonzero(order < len(part.d))
    some = [np.flatnonzero(used[part.columns]) for used in halves.used]
    Q = [halves.taken(rows, part.columns[of]) for rows, of in zip(halves.rows, some, strict=True)]
    for piece in _slices(len(places), len(part.d)):
        S = z / roots.distances(part.d, order[places[piece]])
        S /= np.linalg.norm(S, axis=1)[:, None]
        for rows, of, columns in zip(halves.rows, some, Q, strict=True):
            out[rows, places[piece]] = columns @ S[:, of].T
    return values[order], out


@dataclass(frozen=True, slots=True)
class _Roots:
    """lam_j = d[origin_j] + offset_j: the distance from the nearest entry of d keeps all its digits."""

    origin: NDArray[np.intp]
    offset: Vector

    def values(self, d: Vector) -> Vector:
        """lam."""
        return np.asarray(d[self.origin] + self.offset)

    def distances(self, d: Vector, roots: NDArray[np.intp] | slice) -> Block:
        """d_i - lam_j for some roots j, one in each row."""
        return np.asarray((d - d[self.origin[roots], None]) - self.offset[roots, None])


def _roots(part: _Sum) -> _Roots:
    """The roots of 1 / rho + sum_i z_i^2 / (d_i - lam): root i above d_i and below the next."""
    n = len(part.d)
    roots = _Roots(np.arange(n), np.empty(n))
    for piece in _slices(n, n):
        _find_inplace(part, roots, np.arange(n)[piece])
    return roots


def _find_inplace(part: _Sum, roots: _Roots, j: NDArray[np.intp]) -> None:
    """Fills in the roots j by rational interpolation, within brackets that shrink.

    Bunch, Nielsen, Sorensen (1978): the terms up to d_j are taken for r + s / (d_j - lam), those behind for the same
    with d_j+1, both with the value and the slope they have here.
    """
    d, squares, n = part.d, part.z**2, len(part.d)
    last = j == n - 1
    widest = part.rho * squares.sum() * (1 + NOTHING)
    half = np.where(last, widest, d[np.minimum(j + 1, n - 1)] - d[j]) / 2
    middle = 1 / part.rho + (squares / ((d - d[j, None]) - half[:, None])).sum(axis=1)
    from_below = (middle >= 0) | last
    roots.origin[j] = np.where(from_below, j, j + 1)
    low, high = np.where(from_below, 0.0, -half), np.where(last, widest, np.where(from_below, half, 0.0))
    at = np.where(from_below, half, -half)
    for _ in range(MOST_STEPS):
        roots.offset[j] = at
        delta = roots.distances(d, j)
        terms = squares / delta
        lower, upper = _split(terms, j)
        value = 1 / part.rho + lower + upper
        low, high = np.where(value < 0, at, low), np.where(value < 0, high, at)
        terms /= delta
        step = _interpolated(delta, value, _split(terms, j), j)
        new = at + step
        new = np.where((new > low) & (new < high), new, (low + high) / 2)
        unknown = np.abs(value) > NOTHING * (1 / part.rho - lower + upper)
        unknown &= np.abs(new - at) > EPS * np.abs(at)
        if not unknown.any():
            break
        j, at, low, high = j[unknown], new[unknown], low[unknown], high[unknown]


def _split(terms: Block, j: NDArray[np.intp]) -> tuple[Vector, Vector]:
    """The sums of row r up to column j_r and behind it."""
    first, behind = j[0], j[-1] + 1
    between = terms[:, first:behind]
    upto = np.arange(first, behind) <= j[:, None]
    lower = terms[:, :first].sum(axis=1) + np.where(upto, between, 0).sum(axis=1)
    return lower, terms[:, behind:].sum(axis=1) + np.where(upto, 0, between).sum(axis=1)


def _interpolated(delta: Block, value: Vector, slopes: tuple[Vector, Vector], j: NDArray[np.intp]) -> Vector:
    """How far the root of the interpolation is."""
    rows, lower, upper = np.arange(len(j)), *slopes
    a, b = delta[rows, j], delta[rows, np.minimum(j + 1, delta.shape[1] - 1)]
    p = (a + b) * value - a * b * (lower + upper)
    q = a * b * value
    r = value - a * lower - b * upper
    with np.errstate(all="ignore"):  # what is not finite is outside of the bracket
        root = np.sqrt(np.maximum(p * p - 4 * q * r, 0))
        two_poles = np.where(p <= 0, (p - root) / (2 * r), 2 * q / (p + root))
        one_pole = a * value / (value - a * lower)
    return np.asarray(np.where(j == delta.shape[1] - 1, one_pole, two_poles))


def _exact_for(part: _Sum, roots: _Roots) -> Vector:
    """z for which the roots found are exact, but for a factor: z_i^2 = prod_j (lam_j - d_i) / prod_j!=i (d_j - d_i)."""
    d, squares = part.d, np.ones(len(part.d))
    for piece in _slices(len(d), len(d)):
        j = np.arange(len(d))[piece]
        apart = d - d[j, None]
        apart[np.arange(len(j)), j] = 1
        squares *= (roots.distances(d, j) / apart).prod(axis=0)
    return np.asarray(np.copysign(np.sqrt(np.abs(squares)), part.z))


def _slices(count: int, width: int) -> Iterator[slice]:
    """Slices of `count` rows of some width, between which the fit may be stopped."""
    height = max(1, AT_ONCE // max(width, 1))
    for begin in range(0, count, height):
        stopping.check()
        yield slice(begin, min(begin + height, count))
