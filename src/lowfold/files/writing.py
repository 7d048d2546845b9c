"""`write`: an embedding to a file, whole or not at all."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from lowfold.errors import FileError
from lowfold.estimator import tell_share
from lowfold.files.single_cell import write_h5ad
from lowfold.files.table import needed
from lowfold.model_file.container import write_whole
from lowfold.types import Floats

NEEDED = {".parquet": "pyarrow", ".feather": "pyarrow", ".h5ad": "h5py"}
AT_ONCE = 20_000  # rows between two words about how many are written
ENDINGS = (".npy", ".csv", ".tsv", ".parquet", ".feather", ".h5ad")


def check_ending(path: Any) -> str:
    """The ending of a file that can be written; what it needs is asked for by name where it is missing."""
    ending = Path(path).suffix.lower()
    if ending not in ENDINGS:
        raise FileError(f"{path} cannot be written: its ending must be one of {', '.join(ENDINGS)}. Rename it.")
    if ending in NEEDED:
        needed(NEEDED[ending], NEEDED[ending], path)
    return ending


def write(path: Any, Y: Any, *, method: str = "y", labels: Any = None, source: Any = None) -> None:
    """Writes coordinates Y to a file at path, in columns <method>1, <method>2, ..., and beside them the labels, if any.

    .h5ad: into obsm["X_<method>"] of a copy of `source`, or of a new file.
    """
    ending, Y = check_ending(path), np.asarray(Y)
    if Y.ndim != 2 or Y.dtype.kind not in "fiu":
        raise FileError(
            f"{path} was not written: Y is {_what(Y)}, not coordinates. Pass an array with a row for each point."
        )
    if labels is not None and np.shape(labels) not in ((len(Y),), (len(Y), 1)):
        raise FileError(
            f"{path} was not written: labels have the shape {np.shape(labels)} for {len(Y)} points. Pass one for each."
        )
    if ending == ".npy":
        write_whole(path, lambda file: np.save(file, Y))
    elif ending == ".h5ad":
        given = Path(source) if source is not None and Path(source).suffix.lower() == ".h5ad" else None
        write_h5ad(Path(path), Y, method, given, write_whole)
    else:
        columns = {f"{method}{axis + 1}": column for axis, column in enumerate(Y.T)}
        if labels is not None:
            columns["label"] = np.asarray(labels).reshape(len(Y), -1)[:, 0]
        _write_columns(path, columns, ending)


def _what(Y: Any) -> str:
    """What was given in the place of coordinates, in words."""
    return f"of shape {Y.shape} and type {Y.dtype}" if Y.dtype != object else f"a {type(Y.item()).__name__}"


def _write_columns(path: Any, columns: dict[str, Any], ending: str) -> None:
    if ending in (".csv", ".tsv"):
        write_whole(path, lambda file: _delimited(file, columns, "\t" if ending == ".tsv" else ","))
        return
    table = needed("pyarrow", "pyarrow", path).table(columns)
    if ending == ".parquet":
        parquet = needed("pyarrow.parquet", "pyarrow", path)
        write_whole(path, lambda file: parquet.write_table(table, file))
    else:
        feather = needed("pyarrow.feather", "pyarrow", path)
        write_whole(path, lambda file: feather.write_feather(table, file))


def _delimited(file: BinaryIO, columns: dict[str, Any], delimiter: str) -> None:
    text = io.TextIOWrapper(file, encoding="utf-8", newline="", write_through=True)
    writer = csv.writer(text, delimiter=delimiter, lineterminator="\n")
    writer.writerow(columns)
    n = len(next(iter(columns.values()), []))
    for begin in range(0, n, AT_ONCE):
        some = [column[begin : begin + AT_ONCE] for column in columns.values()]
        writer.writerows(zip(*((c.astype(str) if _is_floats(c) else c).tolist() for c in some), strict=True))
        tell_share(begin + AT_ONCE, n)
    text.flush()
    text.detach()


def _is_floats(column: Floats) -> bool:
    return column.dtype.kind == "f"  # written with as many digits as it takes to read the same number
