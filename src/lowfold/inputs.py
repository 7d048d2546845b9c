"""What a method is given, decided once for all methods: rows, sparse rows, distances or a neighbour graph."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_array, validate_data

from lowfold.backend import native, resources
from lowfold.errors import DataError
from lowfold.number_types import float_type, is_sparse
from lowfold.tables import as_table, check_two_dimensional, explained

ROWS = "rows of numbers"
SPARSE_ROWS = "sparse rows of numbers"
DISTANCES = "precomputed distances"
GAPS = "rows of which some numbers are missing (NaN), with metric='nan_euclidean'"
PARTIAL = "precomputed distances of which some are missing (NaN)"
GRAPH = "a precomputed neighbour graph"
KERNEL = "a precomputed kernel matrix"
AFFINITY = "precomputed affinities"

# In the order in which a message names them; neighbours can be found in those of the first kinds.
KINDS = (ROWS, GAPS, SPARSE_ROWS, DISTANCES, PARTIAL, GRAPH, KERNEL, AFFINITY)
NEIGHBOR_KINDS = (ROWS, SPARSE_ROWS, DISTANCES, GRAPH)
SQUARE_KINDS = (DISTANCES, GRAPH, KERNEL, AFFINITY)

# What a method that cannot take rows with gaps itself can still do with them.
OTHER_WAY = ", or pass NeighborGraph(metric='nan_euclidean').fit_transform(X) and metric='precomputed' here"

_ROWS_AT_ONCE = 64

# Where the largest entry lies outside of these, squared distances would leave the range of their type.
_MAGNITUDES = {np.dtype(np.float32): (1e-15, 1e17), np.dtype(np.float64): (1e-140, 1e140)}


@dataclass(frozen=True, slots=True)
class Data:
    """Checked input: its kind, and a C-ordered float32 or float64 array or a CSR matrix. Nothing writes to it.

    target: y as it was given to `fit`, for methods that use it.
    """

    kind: str
    values: Any
    target: Any = None

    @property
    def n(self) -> int:
        """The number of points."""
        return int(self.values.shape[0])


def read(estimator: BaseEstimator, X: Any, accepts: frozenset[str], *, fitting: bool, among: Any = None) -> Data:
    """Checks X for an estimator and says of which kind it is.

    among: the type of the points that rows of X are new beside; no number may be too large for that type either.

    float32 and float64 stay as they are; other types become the smallest of the two that holds their values exactly
    (uint8 and float16: float32; int64: float64). With `metric="precomputed"` a dense array holds distances, a vector
    those of all pairs in the order of SciPy's `pdist`, and a sparse one a neighbour graph as scikit-learn's
    KNeighborsTransformer writes it. A distance may be missing (NaN) if the estimator accepts PARTIAL, a number of a row
    if it accepts GAPS and has the metric for them.
    """
    X = as_table(X)
    dtype, sparse = float_type(X), is_sparse(X)
    kind = _kind(estimator, sparse=sparse)
    if fitting and kind == DISTANCES:
        X = _squared_form(X)
    if kind not in accepts:
        taken = [known for known in KINDS if known in accepts]
        raise DataError(
            f"{type(estimator).__name__} was given {kind}, which it cannot use. It takes {' or '.join(taken)}. "
            f"{_remedy(kind)}"
        )
    if sparse and kind == KERNEL:
        raise DataError(
            f"X is a {type(X).__name__}, but {KERNEL} has a value for every pair, zeros too. Pass X.toarray()."
        )
    check_two_dimensional(X)
    with explained("X", pairs=kind in SQUARE_KINDS):
        values = validate_data(
            estimator,
            X,
            reset=fitting,
            accept_sparse="csr" if sparse else False,
            dtype=dtype,
            order=None if sparse else "C",
            ensure_all_finite=False,  # seen below, on all threads
        )
    if issparse(values):
        values = _canonical(values, kind)
    for_gaps = kind == ROWS and getattr(estimator, "metric", None) == "nan_euclidean"
    missing = (kind == DISTANCES and PARTIAL in accepts) or (for_gaps and GAPS in accepts)
    threads = resources.thread_count(getattr(estimator, "n_jobs", None))
    largest = _largest(values, threads, missing=missing, otherwise=OTHER_WAY if for_gaps else "")
    if fitting and among is None:
        _check_scale(largest, values.dtype)
    else:
        _check_reach(largest, values.dtype, values.dtype if among is None else among)
    if kind in SQUARE_KINDS:
        _check_pairs(values, kind, fitting=fitting)
    return Data(kind, values)


def read_numbers(A: Any, name: str) -> Any:
    """A table of numbers beside the data, C-ordered float32 or float64; some may be missing."""
    A = as_table(A, name)
    dtype = float_type(A, name)
    check_two_dimensional(A, name)
    with explained(name):
        return check_array(A, dtype=dtype, order="C", input_name=name, ensure_all_finite=False)


def read_coordinates(Y: Any, columns: int) -> Any:
    """Checked places in an embedding of so many coordinates, C-ordered float32 or float64."""
    Y = read_numbers(Y, "Y")
    _check_finite(Y, Y, missing=False, otherwise="", name="Y")
    if Y.shape[1] != columns:
        raise DataError(
            f"Y has {Y.shape[1]} columns, but the embedding has {columns}. Pass coordinates as transform gives them."
        )
    return Y


def is_pairwise(estimator: BaseEstimator) -> bool:
    """Whether X has a column for each point instead of one for each feature."""
    return getattr(estimator, "metric", None) in ("precomputed", "affinity") or (
        getattr(estimator, "kernel", None) == "precomputed"
    )


def _kind(estimator: BaseEstimator, *, sparse: bool) -> str:
    if getattr(estimator, "metric", None) == "affinity":
        return AFFINITY
    if getattr(estimator, "kernel", None) == "precomputed":
        return KERNEL
    precomputed = getattr(estimator, "metric", None) == "precomputed"
    if sparse:
        return GRAPH if precomputed else SPARSE_ROWS
    return DISTANCES if precomputed else ROWS


def _remedy(kind: str) -> str:
    if kind == SPARSE_ROWS:
        return "Use X.toarray(), or X.sparse.to_dense() of a table, if it fits into memory, or reduce X with PCA first."
    return "Pass the rows themselves and a metric."


def _canonical(X: Any, kind: str) -> csr_array:
    """The same matrix with sorted indices and no entry twice, rows without stored zeros; the caller's stays as it is.

    A zero that a row stores is a number like one that it leaves out; in a neighbour graph it is a distance of zero.
    """
    zeros = kind == SPARSE_ROWS and np.count_nonzero(X.data) < X.nnz
    if zeros or not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
        if kind == SPARSE_ROWS:
            X.eliminate_zeros()  # also those that duplicates add up to
    return csr_array(X)


def _squared_form(X: Any) -> Any:
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


def _largest(values: Any, threads: int, *, missing: bool, otherwise: str) -> float:
    """The size of the largest entry; what is not finite is refused, with what else can be done."""
    numbers = values.data[:, None] if issparse(values) else values
    largest = float(native.kernels.largest_entry(numbers, np.zeros(numbers.shape[1]), threads))
    if np.isfinite(largest):
        return largest
    _check_finite(values, numbers, missing=missing, otherwise=otherwise)
    return max((float(np.nanmax(np.abs(row), initial=0.0)) for row in numbers), default=0.0)


def _check_finite(values: Any, numbers: Any, *, missing: bool, otherwise: str, name: str = "X") -> None:
    """Names the first entry that is not a finite number; NaN may be there where some distances are missing."""
    bad = np.isinf(numbers) if missing else ~np.isfinite(numbers)
    if not bad.any():
        return
    at, column = (int(place) for place in np.argwhere(bad)[0])
    if issparse(values):
        at, column = int(np.searchsorted(values.indptr, at, side="right")) - 1, int(values.indices[at])
    what, remedy = "NaN", "or fill the gaps first, for example with sklearn.impute.SimpleImputer"
    if not np.isnan(numbers[bad]).any():
        what, remedy = "infinity", "or replace what is infinite by numbers"
    raise DataError(
        f"Input {name} contains {what}: {int(bad.sum())} of its entries are not finite, the first in row {at}, column "
        f"{column} (counted from 0). Leave out such rows or columns, {remedy}{otherwise}."
    )


def _check_scale(largest: float, dtype: Any) -> None:
    low, high = _MAGNITUDES[dtype]
    if largest and not low <= largest <= high:
        raise DataError(
            f"The largest entry of X has size {largest:.3g}; distances in {dtype} need it between {low:g} and "
            f"{high:g}. {'Use float64, or scale' if dtype == np.float32 else 'Scale'} X by a constant."
        )


def _check_reach(largest: float, dtype: Any, among: Any) -> None:
    # No least size: distances must not vanish between the points of the fit, and each new row counts by itself.
    narrower = min(dtype, among, key=lambda known: _MAGNITUDES[known][1])
    high = _MAGNITUDES[narrower][1]
    if largest > high:
        wider = "Use float64 here and in the fit, or scale" if narrower == np.float32 else "Scale"
        raise DataError(
            f"The largest entry of X has size {largest:.3g}; distances to points in {narrower} need it at most "
            f"{high:g}. {wider} X and the data of the fit by the same constant."
        )


def _check_pairs(values: Any, kind: str, *, fitting: bool) -> None:
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


def _smallest(numbers: Any) -> float:
    """The smallest number; 0 if there is none."""
    if not numbers.size:
        return 0.0
    smallest = float(numbers.min())
    return smallest if smallest == smallest else min(float(np.nanmin(row, initial=np.inf)) for row in numbers)


def _asymmetric_entries(values: Any) -> int:
    """How many entries differ from their mirror image by more than rounding, or are missing where that is not."""
    if issparse(values):
        return int((abs(values - values.T) > 1e-5 * abs(values).max()).sum())
    n = len(values)
    pieces = [slice(begin, min(begin + _ROWS_AT_ONCE, n)) for begin in range(0, n, _ROWS_AT_ONCE)]
    largest = max((float(np.nanmax(np.abs(values[piece]), initial=0.0)) for piece in pieces), default=0.0)
    count = 0
    for piece in pieces:  # no temporary of the size of the matrix
        rows, columns = values[piece], values[:, piece].T
        alike = (abs(rows - columns) <= 1e-5 * largest) | (np.isnan(rows) & np.isnan(columns))
        count += int(alike.size - np.count_nonzero(alike))
    return count
