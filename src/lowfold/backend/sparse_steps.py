"""SciPy's products of sparse matrices, in steps between which Ctrl-C is heard: one of them can take many seconds."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from lowfold.backend import stopping

SPARSE_STEP = 50_000_000  # multiplications of sparse with sparse at once: about a tenth of a second
DENSE_STEP = 200_000_000  # and of sparse with dense


def product(A: Any, B: Any) -> NDArray[np.float64]:
    """A B as an array, of sparse matrices, some columns of B at a time; an entry has the same bits in any step."""
    A, B = A.tocsc(), B.tocsc()
    out = np.zeros((A.shape[0], B.shape[1]))
    column = np.repeat(np.arange(B.shape[1]), np.diff(B.indptr))
    cost = np.bincount(column, weights=np.diff(A.indptr)[B.indices], minlength=B.shape[1])
    for columns in _steps(np.cumsum(cost)):
        stopping.check()
        out[:, columns] = (A @ B[:, columns]).toarray()
    return out


def times(A: Any, B: NDArray[Any]) -> NDArray[Any]:
    """A B of a sparse and a dense matrix, some columns of B at a time; an entry has the same bits in any step."""
    width = max(1, DENSE_STEP // max(1, A.nnz))
    if width >= B.shape[1]:
        return np.asarray(A @ B)
    out = np.empty((A.shape[0], B.shape[1]), np.result_type(A.dtype, B.dtype))
    for begin in range(0, B.shape[1], width):
        stopping.check()
        out[:, begin : begin + width] = A @ B[:, begin : begin + width]
    return out


def _steps(cost: NDArray[np.float64]) -> list[slice]:
    """Ranges of columns that cost about as much as a step each, or hold one; cost: of all up to each."""
    number = (cost // SPARSE_STEP).astype(np.int64)
    ends = np.flatnonzero(np.diff(number, append=number[-1:] + 1)) + 1
    return [slice(begin, end) for begin, end in zip([0, *ends[:-1]], ends, strict=True)]
