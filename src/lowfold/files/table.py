"""What a file holds: rows of numbers, and what their names and labels are."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from lowfold.errors import FileError
from lowfold.model_file.compressed import check_matrix


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of numbers X (n, D), dense or sparse; labels (n,), names of the columns and of the rows where there are any.

    shape: of each image, where the rows are images.
    """

    X: Any
    labels: NDArray[Any] | None = None
    columns: list[str] | None = None
    names: list[str] | None = None
    shape: tuple[int, int] | None = None


def needed(module: str, package: str, path: Any) -> Any:
    """A module that only some files need; asked for by name where it is missing."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise FileError(
            f"{path} needs the package {package}, which is not installed. Use pip install {package}, or install "
            f"lowfold[files]."
        ) from error


def matrix(values: Any, path: Any) -> Any:
    """Rows of numbers, checked: two dimensions, a numeric type."""
    if issparse(values):
        check_matrix(values, str(path))
        return values.tocsr()
    array = np.asarray(values)
    if array.ndim and len(array) == 0:
        raise FileError(f"{path} holds an array without rows. Pass a file with a row for each point.")
    if array.ndim == 1 and array.dtype.kind in "fiub":
        array = array[:, None]
    if array.ndim > 2 and array.dtype.kind in "fiub":
        array = array.reshape(len(array), -1)  # a stack of images: a row for each
    if array.ndim != 2 or array.dtype.kind not in "fiub":
        raise FileError(
            f"{path} holds an array of type {array.dtype} and shape {array.shape}; a row of numbers for each point is "
            f"needed. Store the numbers as a two-dimensional array."
        )
    return array


def chosen(arrays: dict[str, Any], wanted: str | None, path: Any, usual: tuple[str, ...] = ("X",)) -> str:
    """The name of the array that is wanted, or the usual or only one."""
    if wanted is not None:
        if wanted not in arrays:
            there = ", ".join(map(repr, arrays)) or "nothing"
            raise FileError(f"{path} holds no {wanted!r}, but {there}. Use one of these.")
        return wanted
    for name in usual:
        if name in arrays:
            return name
    large = [name for name, value in arrays.items() if issparse(value) or np.ndim(value) >= 2]
    if len(large) != 1:
        raise FileError(
            f"{path} holds {', '.join(map(repr, arrays)) or 'nothing'}, and it is not clear which is the data. "
            f"Say it by name (--name on the command line)."
        )
    return large[0]
