"""What a method is given, decided once for all methods: rows, sparse rows, distances or a neighbour graph."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse
from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data

from lowfold.errors import DataError

ROWS = "rows of numbers"
SPARSE_ROWS = "sparse rows of numbers"
DISTANCES = "precomputed distances"
GRAPH = "a precomputed neighbour graph"

# In the order in which a message names them.
KINDS = (ROWS, SPARSE_ROWS, DISTANCES, GRAPH)

# Beyond these a squared distance would leave the range of its type.
_LARGEST = {np.dtype(np.float32): 1e18, np.dtype(np.float64): 1e150}


@dataclass(frozen=True, slots=True)
class Data:
    """Checked input: its kind, and a C-ordered float32 or float64 array or a CSR matrix. Nothing writes to it."""

    kind: str
    values: Any

    @property
    def n(self) -> int:
        """The number of points."""
        return int(self.values.shape[0])


def read(estimator: BaseEstimator, X: Any, accepts: frozenset[str], *, fitting: bool) -> Data:
    """Checks X for an estimator and says of which kind it is.

    float32 and float64 stay as they are; other types become the smallest of the two that holds their values exactly
    (uint8 and float16: float32; int64: float64). With `metric="precomputed"` a dense array holds distances and a
    sparse one a neighbour graph as scikit-learn's KNeighborsTransformer writes it.
    """
    kind = _kind(estimator, X)
    if kind not in accepts:
        taken = [known for known in KINDS if known in accepts]
        raise DataError(
            f"{type(estimator).__name__} was given {kind} and cannot use them. It takes {' or '.join(taken)}. "
            f"{_remedy(kind)}"
        )
    values = validate_data(
        estimator,
        X,
        reset=fitting,
        accept_sparse="csr" if kind in (SPARSE_ROWS, GRAPH) else False,
        dtype=_float_type(X),
        order=None if issparse(X) else "C",
    )
    if issparse(values):
        values = _canonical(values)
    _check_range(values)
    if kind in (DISTANCES, GRAPH):
        _check_distances(values, kind, square=fitting)
    return Data(kind, values)


def _kind(estimator: BaseEstimator, X: Any) -> str:
    precomputed = getattr(estimator, "metric", None) == "precomputed"
    if issparse(X):
        return GRAPH if precomputed else SPARSE_ROWS
    return DISTANCES if precomputed else ROWS


def _remedy(kind: str) -> str:
    if kind == SPARSE_ROWS:
        return "Use X.toarray() if it fits into memory, or reduce X with PCA first."
    return "Pass the rows themselves and a metric."


def _float_type(X: Any) -> Any:
    dtype = getattr(X, "dtype", None)
    if isinstance(dtype, np.dtype) and dtype.kind in "fiub":
        return np.float32 if np.result_type(dtype, np.float32) == np.float32 else np.float64
    return [np.float64, np.float32]


def _canonical(X: Any) -> csr_array:
    """The same matrix with sorted indices and no entry twice; the caller's stays as it is."""
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    return csr_array(X)


def _check_range(values: Any) -> None:
    numbers = values.data if issparse(values) else values
    largest = max(abs(numbers.max(initial=0)), abs(numbers.min(initial=0)))
    limit = _LARGEST[numbers.dtype]
    if largest > limit:
        advice = "Use float64, or divide X by a constant." if numbers.dtype == np.float32 else "Divide X by a constant."
        raise DataError(
            f"X has an entry of size {largest:.3g}; {numbers.dtype} distances need entries of at most {limit:g}. "
            f"{advice}"
        )


def _check_distances(values: Any, kind: str, *, square: bool) -> None:
    n, m = values.shape
    if square and n != m:
        raise DataError(
            f"{kind.capitalize()} must be square, but X has shape ({n}, {m}). "
            f"Pass one row and one column for each point, or rows of numbers and another metric than 'precomputed'."
        )
    numbers = values.data if issparse(values) else values
    if numbers.size and numbers.min() < 0:
        raise DataError(
            f"Distances cannot be negative, but the smallest entry of X is {numbers.min():.3g}. "
            f"If X holds similarities, pass a decreasing function of them, such as X.max() - X."
        )
    if square and kind == DISTANCES and not np.allclose(values, values.T, rtol=1e-5, atol=1e-8 * numbers.max()):
        raise DataError(
            "Precomputed distances must be symmetric, but X differs from its transpose. "
            "Pass (X + X.T) / 2 if the difference is noise."
        )
