"""Of what type the numbers are that were given, as an array, lists or a table; dates, times and text are none."""

from __future__ import annotations

import datetime
import re
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from lowfold.errors import DataError, DataTypeError
from lowfold.tables import is_table

_DATES = (np.datetime64, np.timedelta64, datetime.date, datetime.time, datetime.timedelta)
_TEXT = (str, bytes)
_NUMBER_NAME = re.compile(r"u?int(8|16|32|64)|float(32|64)")  # as polars spells them, in lower case


def float_type(X: Any, name: str = "X") -> Any:
    """The smallest of float32 and float64 that holds X exactly, as far as its type tells; float64 where it does not.

    Refuses what NumPy would turn into numbers without a word: what a mask hides, dates, times, and text.
    """
    if isinstance(X, np.ma.MaskedArray):
        raise DataError(
            f"{name} is a masked array, and its mask would be lost. Fill the gaps, or drop the rows with gaps."
        )
    types = _types(X)
    kinds = {dtype.kind for dtype in types}
    if kinds & set("mM"):
        raise DataError(
            f"{name} holds dates or times, which have no unit here. Convert them to numbers in a unit first."
        )
    if kinds & set("SU"):
        raise DataError(
            f"{name} holds text (strings or bytes), and only numbers have distances, even where text spells a number. "
            f"Convert it first, as with {name}.astype(float), or encode categories as numbers."
        )
    if "c" in kinds:
        raise DataError(
            f"Complex data not supported: {name} holds complex numbers, but distances are of real ones. Pass the real "
            f"and the imaginary parts as columns of their own."
        )
    if "V" in kinds:
        raise DataTypeError(
            f"{name} is a structured array, whose entries are records, but rows of numbers are needed. Pass a column "
            f"for each field: numpy.lib.recfunctions.structured_to_unstructured({name}), of one dimension."
        )
    exact = kinds <= set("fiub") and np.result_type(np.float32, *types) == np.float32
    return np.float32 if types and exact else np.float64


def is_sparse(X: Any) -> bool:
    """Whether X is a sparse matrix, or a table of pandas whose columns are all sparse."""
    if issparse(X):
        return True
    if not (is_table(X) and len(X.columns) and hasattr(X, "sparse")):  # pandas has no X.sparse where a column is dense
        return False
    for name, dtype in zip(X.columns, X.dtypes, strict=True):
        if dtype.fill_value != 0:
            raise DataError(
                f"X is a sparse table whose column {name!r} leaves out {dtype.fill_value}, but what a sparse matrix "
                f"leaves out is 0. Use X.sparse.to_dense(), or columns of the type pandas.SparseDtype(float, 0)."
            )
    return True


def _types(X: Any) -> list[np.dtype[Any]]:
    """Of an array one type, of a table that of each column."""
    if issparse(X):
        return [X.dtype]
    if not is_table(X):
        return [_type_of(X)]
    return [_column_type(X, number, dtype) for number, dtype in enumerate(X.dtypes)]


def _type_of(X: Any) -> np.dtype[Any]:
    """The type of an array; of one of objects that of the first date or text in it, if there is any."""
    known = getattr(X, "dtype", None)
    if isinstance(known, np.dtype) and known.kind != "O":
        return known
    try:
        values: NDArray[Any] = np.asarray(X)
    except Exception as error:  # each library of tables has its own
        raise DataTypeError(
            f"Data of type {known} cannot be read as numbers ({error}). Convert them to float64 first."
        ) from error
    if values.dtype.kind == "O":
        for value in values.flat:
            if isinstance(value, _DATES) or type(value).__name__ == "Period":  # of pandas
                return np.dtype("M8[s]")
            if isinstance(value, _TEXT):
                return np.dtype("U")
    return values.dtype


def _column_type(table: Any, number: int, dtype: Any) -> np.dtype[Any]:
    # What pandas adds to NumPy's types says which of those it stands for; polars' names are nearly NumPy's.
    for known in (dtype, getattr(dtype, "numpy_dtype", None), getattr(dtype, "subtype", None)):
        if isinstance(known, np.dtype) and known.kind != "O" and known.kind == dtype.kind:
            return known
    name = str(dtype).lower()
    if _NUMBER_NAME.fullmatch(name):
        return np.dtype(name)
    return _type_of(table.iloc[:, number] if hasattr(table, "iloc") else table.to_series(number))
