"""What is known of pairs of points instead of the points: distances, a graph, kernels or affinities."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import issparse

from lowfold.errors import DataError

DISTANCES = "precomputed distances"
GRAPH = "a precomputed neighbour graph"
KERNEL = "a precomputed kernel matrix"
AFFINITY = "precomputed affinities"
SQUARE_KINDS = (DISTANCES, GRAPH, KERNEL, AFFINITY)

ROUNDING = 1e-5  # of the largest entry, by which what should be equal may differ
_ROWS_AT_ONCE = 64


def squared_form(X: Any) -> Any:
    """The symmetric matrix of a vector of the distances of all pairs; anything else as it is."""
    if np.ndim(X) != 1 or not len(X) or np.asarray(X).dtype.kind not in "fiub":
        return X
    pairs = np.asarray(X)
    n = round((1 + np.sqrt(1 + 8 * len(pairs))) / 2)
    if n * (n - 1) // 2 != len(pairs):
        raise DataError(
            f"X is a vector of {len(pairs)} distances, which is not n (n - 1) / 2 for any n: {n} points have "
            f"{n * (n - 1) // 2} pairs. Pass the distances of all pairs in the order of scipy.spatial.distance.pdist, "
            f"or a square (2D) array."
        )
    square = np.zeros((n, n), pairs.dtype)
    begin = 0
    for i in range(n - 1):
        row = pairs[begin : begin + n - 1 - i]
        square[i, i + 1 :] = square[i + 1 :, i] = row
        begin += len(row)
    return square


def check_pairs(values: Any, kind: str, *, fitting: bool) -> None:
    """Raises DataError where numbers are not what their kind needs."""
    n, m = values.shape
    if fitting and n != m:
        raise DataError(
            f"{kind.capitalize()} must be square, but X has shape ({n}, {m}). "
            f"Pass one row and one column for each point, or rows of numbers and a metric or kernel by name."
        )
    numbers = values.data if issparse(values) else values
    smallest = _smallest(numbers)
    if kind != KERNEL and smallest < 0:
        what, remedy = (
            ("Affinities", "Clip or shift them first.")
            if kind == AFFINITY
            else ("Distances", "If X holds similarities, pass a decreasing function of them, such as X.max() - X.")
        )
        raise DataError(f"{what} cannot be negative, but the smallest entry of X is {smallest:.3g}. {remedy}")
    unequal = _asymmetric_entries(values) if fitting and kind != GRAPH else 0
    if unequal:
        raise DataError(
            f"{kind.capitalize()} must be symmetric, but X differs from its transpose in {unequal} entries. "
            f"Pass (X + X.T) / 2 if the difference is noise."
        )
    if fitting and kind == DISTANCES:
        _check_diagonal(values)


def _smallest(numbers: Any) -> float:
    """The smallest number; 0 if there is none."""
    if not numbers.size:
        return 0.0
    smallest = float(numbers.min())
    return smallest if smallest == smallest else min(float(np.nanmin(row, initial=np.inf)) for row in numbers)


def _asymmetric_entries(values: Any) -> int:
    """How many entries differ from their mirror image by more than rounding, or are missing where that is not."""
    if issparse(values):
        return int((abs(values - values.T) > ROUNDING * abs(values).max()).sum())
    n = len(values)
    pieces = [slice(begin, min(begin + _ROWS_AT_ONCE, n)) for begin in range(0, n, _ROWS_AT_ONCE)]
    most = ROUNDING * _largest(values)
    count = 0
    for piece in pieces:  # no temporary of the size of the matrix
        rows, columns = values[piece], values[:, piece].T
        alike = (abs(rows - columns) <= most) | (np.isnan(rows) & np.isnan(columns))
        count += int(alike.size - np.count_nonzero(alike))
    return count


def _check_diagonal(D: Any) -> None:
    own = np.abs(np.diagonal(D))
    off = np.flatnonzero(own > ROUNDING * _largest(D))  # one that is missing is not
    if len(off):
        raise DataError(
            f"The distance of a point to itself must be 0, but that of {len(off)} of {len(own)} points is not (point "
            f"{off[0]}: {own[off[0]]:.3g}). If X holds similarities, pass a decreasing function of them, such as "
            f"X.max() - X; else set the diagonal to 0, as numpy.fill_diagonal(X, 0) does."
        )


def _largest(D: Any) -> float:
    """The largest size of what is there, without a temporary of the size of the matrix."""
    pieces = (D[begin : begin + _ROWS_AT_ONCE] for begin in range(0, len(D), _ROWS_AT_ONCE))
    return max((float(np.nanmax(np.abs(piece), initial=0.0)) for piece in pieces), default=0.0)
