"""Columns of a scene: what points are coloured, searched and told apart by."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from lowfold.errors import DataError
from lowfold.plot.colors import MOST_WHOLE_NUMBERS

MOST_CATEGORIES = 1000  # different texts, beyond which they are names of points rather than classes
MOST_FEATURES = 100  # columns of the data that a reader can choose from
MOST_VALUES = 20_000_000  # of all columns of the data together: 80 MB in the page
EXACT_UP_TO = 2**24  # float32 holds every whole number up to here

Parts = tuple[list[dict[str, Any]], dict[str, NDArray[Any]]]


def make_columns(given: Mapping[str, Any], n: int) -> Parts:
    """(columns, arrays) of named values, one for each of n points.

    Text, truth values and few different whole numbers are categories, other numbers a scale, many different texts and
    whole numbers too long for float32 are texts. NaN and None are missing.
    """
    columns: list[dict[str, Any]] = []
    arrays: dict[str, NDArray[Any]] = {}
    for name, values in given.items():
        array = np.asarray(values)
        if array.shape != (n,):
            raise DataError(
                f"Column {name!r} has shape {array.shape}, but there are {n} points. Pass one value for each point."
            )
        key = f"column {len(columns)}"
        column, stored = _column(str(name), array, key)
        columns.append(column)
        arrays |= {} if stored is None else {key: stored}
    return columns, arrays


def named_columns(labels: Any, columns: Any) -> dict[str, Any]:
    """Labels, where there are any, and the columns of a mapping or a DataFrame, by name."""
    found = {} if labels is None else {"label": labels}
    if columns is None:
        return found
    names = list(columns) if isinstance(columns, Mapping) else list(getattr(columns, "columns", ()))
    if not names:
        raise DataError(
            f"columns is a {type(columns).__name__} without names. Pass a mapping from names to values, or a DataFrame."
        )
    return found | {str(name): columns[name] for name in names if not (name == "label" and labels is not None)}


def feature_columns(X: Any, names: Any = None) -> dict[str, Any]:
    """The columns of the data themselves, where they are few enough to choose from; else none."""
    names = names if names is not None else list(getattr(X, "columns", ()))
    if X is None or issparse(X) or np.ndim(X) != 2:
        return {}
    values = np.asarray(X)
    if values.dtype.kind not in "fiub" or values.shape[1] > MOST_FEATURES or values.size > MOST_VALUES:
        return {}
    titles = [str(name) for name in names] if len(names) == values.shape[1] else None
    return {(titles[at] if titles else f"x{at + 1}"): column.astype(np.float32) for at, column in enumerate(values.T)}


def _column(name: str, values: NDArray[Any], key: str) -> tuple[dict[str, Any], NDArray[Any] | None]:
    kind = values.dtype.kind
    if kind == "f":
        return {"name": name, "kind": "number", "values": key}, values.astype(np.float32)
    if kind in "iu":
        different = np.unique(values)
        if len(different) <= MOST_WHOLE_NUMBERS:
            return _categories(name, values, key)
        if max(abs(int(different[0])), abs(int(different[-1]))) <= EXACT_UP_TO:
            return {"name": name, "kind": "number", "values": key}, values.astype(np.float32)
    texts = np.array(["" if _is_missing(value) else str(value) for value in values.tolist()], dtype=str)
    if len(np.unique(texts)) > MOST_CATEGORIES:
        return {"name": name, "kind": "text", "values": None, "texts": texts.tolist()}, None
    return _categories(name, texts, key)


def _categories(name: str, values: NDArray[Any], key: str) -> tuple[dict[str, Any], NDArray[Any]]:
    different, codes = np.unique(values, return_inverse=True)
    column = {"name": name, "kind": "category", "values": key, "categories": [str(value) for value in different]}
    return column, codes.astype(np.uint16)


def _is_missing(value: Any) -> bool:
    return value is None or (isinstance(value, float) and np.isnan(value))
