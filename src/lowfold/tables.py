"""What rows of numbers may come as; what holds none, or cannot be read, is refused with what to do."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from scipy.sparse import issparse

from lowfold.errors import DataError, DataTypeError, LowfoldError


def as_table(X: Any, name: str = "X") -> Any:
    """X, lists as an array and a dictionary of entries as CSR; what holds no rows, or not yet, is refused."""
    if issparse(X):
        return X.tocsr() if X.format == "dok" else _within_itself(X, name)  # others would see the dictionary
    if isinstance(X, np.matrix):
        return np.asarray(X)
    if isinstance(X, Iterator):
        raise DataTypeError(
            f"The data are of type {type(X).__name__}, whose rows can be read only once, but they are needed more "
            f"often. Pass list({name}), or an array."
        )
    if type(X).__name__ == "LazyFrame":
        raise DataTypeError(
            f"{name} is a LazyFrame, whose rows are not there yet, but numbers are needed. Pass {name}.collect()."
        )
    if isinstance(X, list | tuple):
        return _array_of(X)
    if isinstance(getattr(X, "shape", None), tuple) or hasattr(X, "__array__") or hasattr(X, "__dataframe__"):
        return X
    values = None if X is None or isinstance(X, dict | set | frozenset) or np.isscalar(X) else np.asarray(X)
    if values is None or values.ndim == 0:
        raise DataError(
            f"The data are of type {type(X).__name__}, but rows of numbers are needed. Pass a two-dimensional (2D) "
            f"array, a table or a sparse matrix."
        )
    return values


def column_names(X: Any) -> list[str] | None:
    """The names of the columns of a table, where all are text."""
    columns = getattr(X, "columns", None)
    names = list(columns) if isinstance(columns, Iterable) else []
    return names if names and all(isinstance(name, str) for name in names) else None


def check_columns(given: Sequence[str] | None, known: Sequence[str] | None, what: str) -> None:
    """Raises DataError where both have names of columns, and not the same in the same order."""
    if given is None or known is None or list(given) == list(known):
        return
    if len(given) != len(known):
        difference = f"{len(given)} columns, but {what} had {len(known)}"
    elif set(given) == set(known):
        difference = f"the columns of {what} in another order"
    else:
        place = next(i for i, (a, b) in enumerate(zip(given, known, strict=True)) if a != b)
        difference = f"the column {given[place]!r} where {what} had {known[place]!r}"
    raise DataError(f"X has {difference}. Pass the same columns in the same order.")


def _within_itself(X: Any, name: str) -> Any:
    """A sparse matrix whose entries lie inside of it: compiled code would follow others out of its memory."""
    if X.format in ("csr", "csc", "bsr") and X.ndim == 2:
        begin, minor = X.indptr, X.shape[X.format != "csc"]
        minor //= X.blocksize[1] if X.format == "bsr" else 1
        ordered = begin[0] == 0 and begin[-1] <= min(len(X.indices), len(X.data)) and (np.diff(begin) >= 0).all()
        places = X.indices[: begin[-1]] if ordered else X.indices
        if not ordered or (len(places) and not (places.min() >= 0 and places.max() < minor)):
            raise DataError(
                f"{name} is a {type(X).__name__} of shape {X.shape} with entries outside of it: its indices must be "
                f"below {minor}, and its indptr must rise. Make it again of rows, columns and values."
            )
    return X


def _array_of(X: list[Any] | tuple[Any, ...]) -> Any:
    if any(isinstance(row, dict) or issparse(row) for row in X):
        kind = "dictionaries" if isinstance(X[0], dict) else "sparse rows"
        raise DataTypeError(
            f"The data are a {type(X).__name__} of {kind}, but rows of numbers are needed. Pass one table, as "
            f"pandas.DataFrame or scipy.sparse.vstack makes it."
        )
    if any(isinstance(row, np.ma.MaskedArray) for row in X):
        return np.ma.asarray(X)
    try:
        return np.asarray(X)
    except ValueError as error:
        raise DataError(
            f"The data are a {type(X).__name__} whose rows do not make an array ({error}). Pass rows of one length."
        ) from error


def check_two_dimensional(X: Any, name: str = "X") -> None:
    """Raises DataError unless X has rows and columns, with names that tell them apart where there are any."""
    shape = getattr(X, "shape", (0, 1))
    if len(shape) != 2:
        single = f"{name}.reshape(-1, 1) if it is a single feature, {name}.reshape(1, -1) if it is a single sample"
        if hasattr(X, "to_frame"):
            single = f"{name}.to_frame() if it is a single feature"
        raise DataError(
            f"Expected 2D array, got {len(shape)}D array instead: {name}, a {type(X).__name__}, has shape "
            f"{tuple(shape)}. Reshape your data: "
            f"{f'{name}.reshape(len({name}), -1), a row for each sample' if len(shape) > 2 else single}."
        )
    if is_table(X):
        _check_columns(list(X.columns), tuple(shape))


def as_labels(labels: Any, name: str) -> Any:
    """An array of labels or numbers, one or several for each point; what cannot be told apart is refused."""
    if isinstance(labels, np.ma.MaskedArray):
        raise DataError(
            f"{name} is a masked array, and its mask would be lost. Fill the gaps with a label of their own."
        )
    if isinstance(labels, Iterator | dict | set | frozenset):
        raise DataTypeError(
            f"{name} is of type {type(labels).__name__}, but one label for each point is needed, in their order. Pass "
            f"a list or an array."
        )
    try:
        values = np.asarray(labels)
        if values.dtype == object:
            np.unique(values)  # which needs an order, as all do who ask for labels
    except (TypeError, ValueError, OverflowError) as error:
        raise DataError(
            f"{name} cannot be read as labels: {error}. Pass labels of one kind, one for each point, such as whole "
            f"numbers or text, with one of their own for what is not known."
        ) from error
    if values.dtype.kind in "cV":
        raise DataTypeError(f"{name} has type {values.dtype}, which are no labels. Pass whole numbers or text.")
    return values


def is_table(X: Any) -> bool:
    """Whether X is one of pandas or polars, or like them."""
    return hasattr(X, "dtypes") and hasattr(X, "columns")


def _check_columns(names: list[Any], shape: tuple[int, ...]) -> None:
    if not names:
        raise DataError(
            f"X is a table with 0 feature(s) (shape={shape}) while a minimum of 1 is required. Pass columns of numbers."
        )
    name, count = Counter(names).most_common(1)[0]
    if count > 1:
        raise DataError(
            f"X has {count} columns of the name {name!r}, but features are told apart by their names. Give each column "
            f"a name of its own, or pass X.to_numpy()."
        )


@contextmanager
def explained(name: str, *, pairs: bool = False) -> Iterator[None]:
    """What scikit-learn refuses inside is refused in its words, with what to do, as an error of this library.

    pairs: the data have a column for each training point instead of one for each feature.
    """
    try:
        yield
    except LowfoldError:
        raise
    except OverflowError as error:
        raise DataError(
            f"{name} holds a number that float64 cannot hold ({error}). Scale {name} by a constant, or pass logarithms."
        ) from error
    except TypeError as error:
        raise DataTypeError(_with_remedy(error, name, pairs=pairs)) from error
    except ValueError as error:
        raise DataError(_with_remedy(error, name, pairs=pairs)) from error


def _with_remedy(error: Exception, name: str, *, pairs: bool) -> str:
    text = str(error).rstrip()
    if "is expecting" in text:
        columns = "one column for each training point" if pairs else "the columns of the fit, in the same order"
        return f"{text} Pass {columns}."
    if "eature names" in text:
        return f"{text}\nPass the columns of the fit under the same names in the same order, or arrays in both places."
    if "sample(s)" in text:
        return f"{text} Pass more rows."
    if "feature(s)" in text:
        return f"{text} Pass rows of at least one number each."
    if "Sparse data" in text:
        return text
    return f"{name} cannot be read as numbers: {text.rstrip('.')}. Pass numbers alone, as in an array of float64."
