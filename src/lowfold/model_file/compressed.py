"""Sparse matrices by rows or by columns, looked at before compiled code, which trusts them, may see them.

SciPy's own check_format does not: it passes over the numbers in between where the last of indptr is 0.
"""

from __future__ import annotations

from typing import Any

from lowfold.errors import FileError

NUMBERS = "fiub"  # kinds of types that entries may have
WHOLE = "iu"


def check_matrix(matrix: Any, what: str) -> None:
    """Raises FileError unless a SciPy matrix of any format can be trusted; the formats left out look for themselves."""
    if matrix.format in ("csr", "csc"):
        check_compressed((matrix.data, matrix.indices, matrix.indptr), matrix.shape, matrix.format, what)
    elif matrix.format == "bsr":
        blocks = tuple(side // size for side, size in zip(matrix.shape, matrix.blocksize, strict=True))
        check_compressed((matrix.data[:, 0, 0], matrix.indices, matrix.indptr), blocks, "csr", what)


def check_compressed(parts: tuple[Any, Any, Any], shape: tuple[int, ...], kind: str, what: str) -> None:
    """Raises FileError unless (data, indices, indptr) are a matrix of this shape, by rows ("csr") or by columns."""
    fault = fault_of(parts, shape if kind == "csr" else shape[::-1])
    if fault is not None:
        raise FileError(f"{what} is no sparse matrix of shape {shape}: {fault}. Write the file again.")


def fault_of(parts: tuple[Any, Any, Any], shape: tuple[int, ...]) -> str | None:
    """What is wrong with (data, indices, indptr) as a matrix by rows, or None.

    Row i has the columns indices[indptr[i]:indptr[i + 1]]: indptr goes from 0 to their number and never falls.
    """
    data, indices, indptr = parts
    if len(shape) != 2 or any(part.ndim != 1 for part in parts):
        return "it needs two sides and three arrays of one dimension"
    if data.dtype.kind not in NUMBERS or indices.dtype.kind not in WHOLE or indptr.dtype.kind not in WHOLE:
        return f"data, indices and indptr have the types {data.dtype}, {indices.dtype} and {indptr.dtype}"
    if len(indptr) != shape[0] + 1 or len(indices) != len(data):
        return f"data, indices and indptr have the lengths {len(data)}, {len(indices)} and {len(indptr)}"
    if indptr[0] != 0 or indptr[-1] != len(indices):
        return f"indptr goes from {indptr[0]} to {indptr[-1]}, not from 0 to {len(indices)}"
    if (indptr[1:] < indptr[:-1]).any():  # no differences, which may leave the range of their type
        return "indptr falls"
    if len(indices) and not (indices.min() >= 0 and indices.max() < shape[1]):
        return f"indices go from {indices.min()} to {indices.max()}, not from 0 to {shape[1] - 1} at most"
    return None
