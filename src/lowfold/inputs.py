"""What a method is given, decided once for all methods: rows, sparse rows, distances or a neighbour graph."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_array, validate_data

from lowfold.backend import native, resources
from lowfold.errors import DataError, ParameterError
from lowfold.number_types import float_type, is_sparse
from lowfold.pairwise import AFFINITY as AFFINITY
from lowfold.pairwise import DISTANCES as DISTANCES
from lowfold.pairwise import GRAPH as GRAPH
from lowfold.pairwise import KERNEL as KERNEL
from lowfold.pairwise import SQUARE_KINDS, check_pairs, squared_form
from lowfold.tables import as_table, check_two_dimensional, explained

ROWS = "rows of numbers"
SPARSE_ROWS = "sparse rows of numbers"
GAPS = "rows of which some numbers are missing (NaN), with metric='nan_euclidean'"
PARTIAL = "precomputed distances of which some are missing (NaN)"

# In the order in which a message names them; neighbours can be found in those of the first kinds.
KINDS = (ROWS, GAPS, SPARSE_ROWS, DISTANCES, PARTIAL, GRAPH, KERNEL, AFFINITY)
NEIGHBOR_KINDS = (ROWS, SPARSE_ROWS, DISTANCES, GRAPH)

# What a method that cannot take rows with gaps itself can still do with them, by what it takes instead.
WITH_GAPS = {
    DISTANCES: ", or pass sklearn.metrics.pairwise.nan_euclidean_distances(X) and metric='precomputed' here",
    GRAPH: ", or pass NeighborGraph(metric='nan_euclidean').fit_transform(X) and metric='precomputed' here",
}

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
    (uint8 and float16: float32; int64: float64, though beyond 2^53 that rounds whole numbers). With
    `metric="precomputed"` a dense array holds distances, a vector those of all pairs in the order of SciPy's `pdist`,
    and a sparse one a neighbour graph as scikit-learn's KNeighborsTransformer writes it. A distance may be missing
    (NaN) if the estimator accepts PARTIAL, a number of a row if it accepts GAPS and has the metric for them.
    """
    X = as_table(X)
    dtype, sparse = float_type(X), is_sparse(X)
    kind = _kind(estimator, sparse=sparse)
    if fitting and kind == DISTANCES:
        X = squared_form(X)
    _check_kind(estimator, X, kind, accepts, fitting=fitting)
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
    remedy = _remedy_of_gaps(kind, accepts, for_gaps=for_gaps)
    largest = _largest(values, threads, missing=missing, remedy=remedy)
    if fitting and among is None:
        _check_scale(largest, values.dtype)
    else:
        _check_reach(largest, values.dtype, values.dtype if among is None else among)
    if kind in SQUARE_KINDS:
        check_pairs(values, kind, fitting=fitting)
    return Data(kind, values)


def _check_kind(estimator: BaseEstimator, X: Any, kind: str, accepts: frozenset[str], *, fitting: bool) -> None:
    """Raises DataError unless X is what the estimator takes, in the form that its kind has."""
    if kind not in accepts:
        taken = [known for known in KINDS if known in accepts]
        raise DataError(
            f"{type(estimator).__name__} was given {kind}, which it cannot use. It takes {' or '.join(taken)}. "
            f"{_remedy(kind)}"
        )
    if is_sparse(X) and kind == KERNEL:
        raise DataError(
            f"X is a {type(X).__name__}, but {KERNEL} has a value for every pair, zeros too. Pass X.toarray()."
        )
    if kind == DISTANCES and not fitting and np.ndim(X) == 1:
        raise DataError(
            f"X is a vector of {len(X)} distances, but those of new points to each training point are needed. Pass an "
            f"array with a row for each new point; scipy.spatial.distance.squareform(X) holds those of training points."
        )
    check_two_dimensional(X)


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
    _check_finite(Y, Y, missing=False, remedy=_remedy_of_gaps(ROWS, frozenset()), name="Y")
    if Y.shape[1] != columns:
        raise DataError(
            f"Y has {Y.shape[1]} columns, but the embedding has {columns}. Pass coordinates as transform gives them."
        )
    return Y


def check_places(points: Any, n: int) -> NDArray[np.intp]:
    """Numbers of training points, one or an array of them; negative ones count from the end, truth values choose."""
    places = np.asarray(points)
    if places.dtype == bool and places.shape == (n,):
        return np.flatnonzero(places)
    if not places.size:
        return places.astype(np.intp)
    if places.dtype.kind not in "iu" or not (places.min() >= -n and places.max() < n):
        raise ParameterError(
            f"{points!r} was given for points; these must be whole numbers from {-n} to {n - 1}, as n_samples = {n}. "
            f"Pass such numbers, or an array of them."
        )
    return places.astype(np.intp)


def check_apart(Y: Any) -> None:
    """Raises DataError where a start has all points in one place: nothing would ever move them."""
    if len(Y) > 1 and not np.ptp(Y, axis=0).any():
        raise DataError(
            f"init puts all {len(Y)} points in one place, where nothing tells them apart. Pass coordinates that "
            f"differ, or init='random'."
        )


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


def _remedy_of_gaps(kind: str, accepts: frozenset[str], *, for_gaps: bool = False) -> str:
    """What to do about missing numbers."""
    if kind in SQUARE_KINDS:
        embedding = "MDS or Sammon, which know missing distances" if kind == DISTANCES else "numbers in their place"
        return f"Leave out such points, both their rows and their columns, or use {embedding}"
    other = next((way for taken, way in WITH_GAPS.items() if for_gaps and taken in accepts), "")
    fill = "or fill the gaps first, for example with sklearn.impute.SimpleImputer"
    return f"Leave out such rows or columns, {fill}{other}"


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


def _largest(values: Any, threads: int, *, missing: bool, remedy: str) -> float:
    """The size of the largest entry; what is not finite is refused, with what can be done about gaps."""
    numbers = values.data[:, None] if issparse(values) else values
    largest = float(native.kernels.largest_entry(numbers, np.zeros(numbers.shape[1]), threads))
    if np.isfinite(largest):
        return largest
    _check_finite(values, numbers, missing=missing, remedy=remedy)
    return max((float(np.nanmax(np.abs(row), initial=0.0)) for row in numbers), default=0.0)


def _check_finite(values: Any, numbers: Any, *, missing: bool, remedy: str, name: str = "X") -> None:
    """Names the first entry that is not a finite number; NaN may be there where some distances are missing."""
    bad = np.isinf(numbers) if missing else ~np.isfinite(numbers)
    if not bad.any():
        return
    at, column = (int(place) for place in np.argwhere(bad)[0])
    if issparse(values):
        at, column = int(np.searchsorted(values.indptr, at, side="right")) - 1, int(values.indices[at])
    what = "NaN"
    if not np.isnan(numbers[bad]).any():
        what, remedy = "infinity", "Leave out such rows or columns, or replace what is infinite by numbers"
    raise DataError(
        f"Input {name} contains {what}: {int(bad.sum())} of its entries are not finite, the first in row {at}, column "
        f"{column} (counted from 0). {remedy}."
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
