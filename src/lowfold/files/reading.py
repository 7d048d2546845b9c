"""`read`: a file, or a folder of images, as a Table."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from lowfold.errors import FileError
from lowfold.estimator import tell_share
from lowfold.files.counted import counted
from lowfold.files.delimited import is_number, read_delimited
from lowfold.files.hdf5 import read_arrays
from lowfold.files.images import read_images
from lowfold.files.single_cell import read_h5ad
from lowfold.files.table import Table, chosen, matrix, needed

BATCH = 1 << 16  # rows of a parquet file that are read at once
LABEL = "label"  # what `write` calls the column of labels beside a map


def read(path: Any, *, labels: str | None = None, name: str | None = None) -> Table:
    """The rows of numbers in the file at path, or of the images in a folder.

    labels: the name of the column, array or field that holds a label for each row ("folder" for images). name: which
    array of a file with several.
    """
    path = _path(path)
    if path.is_dir():
        return read_images(path, labels)
    with _in_words(path):
        return READERS[path.suffix.lower()](path, labels, name)


def read_map(path: Any) -> Any:
    """The coordinates in a file; a column called label, as `write` puts it beside them, is left out."""
    path = _path(path)
    if path.is_dir() or path.suffix.lower() not in COLUMNS:
        return read(path).X
    with _in_words(path):
        columns = COLUMNS[path.suffix.lower()](path, LABEL)
        return from_columns(columns, LABEL if LABEL in columns else None, path).X


def _path(path: Any) -> Path:
    """The path, which names something, and a folder if it ends like one."""
    if not str(path):
        raise FileError("The path of the file is empty. Pass a file or a folder of images.")
    if str(path).endswith(("/", os.sep)) and Path(path).is_file():
        raise FileError(f"{path} is no folder. Pass {Path(path)} for the file.")
    return Path(path)


@contextmanager
def _in_words(path: Path) -> Iterator[None]:
    """Refuses a file that is not there or of no known kind, and what a library says of it becomes one sentence."""
    if not path.is_file():
        raise FileError(f"{path} does not exist. Pass a file or a folder of images.")
    if path.suffix.lower() not in READERS:
        raise FileError(f"{path} is of an unknown kind. Use one of {', '.join(READERS)}, or a folder of images.")
    try:
        yield
    except FileError:
        raise
    except UnicodeDecodeError as error:
        raise FileError(f"{path} is not text in UTF-8. Save it as that.") from error
    except Exception as error:  # libraries raise what they like for a file that is not what it says it is
        raise FileError(f"{path} cannot be read as {path.suffix}: {_first_line(error)}.") from error


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0].rstrip(".")


def _npy(path: Path, labels: str | None, name: str | None) -> Table:
    _refuse(path, labels, "labels")
    _refuse(path, name, "array")
    _begins(path, b"\x93NUMPY")
    with counted(path) as file:
        return Table(matrix(np.load(file, allow_pickle=False), path))


def _npz(path: Path, labels: str | None, name: str | None) -> Table:
    _begins(path, b"PK")
    with counted(path) as file, np.load(file, allow_pickle=False) as stored:
        arrays = {key: stored[key] for key in stored.files}
    if {"format", "data", "shape"} <= set(arrays) and arrays["format"].dtype.kind in "SU":
        _refuse(path, labels, "labels")
        return Table(matrix(_sparse(arrays), path))
    X = matrix(arrays[chosen(arrays, name, path)], path)
    return Table(X, _labels(arrays, labels, len(X), path))


def _sparse(arrays: dict[str, Any]) -> Any:
    """The matrix that scipy.sparse.save_npz has written."""
    import scipy.sparse

    kind = arrays["format"].item()
    kind = kind.decode() if isinstance(kind, bytes) else kind
    make = {
        "csr": scipy.sparse.csr_array,
        "csc": scipy.sparse.csc_array,
        "bsr": scipy.sparse.bsr_array,
        "dia": scipy.sparse.dia_array,
        "coo": scipy.sparse.coo_array,
    }[kind]
    if kind == "coo":
        places = arrays["coords"] if "coords" in arrays else (arrays["row"], arrays["col"])
        return make((arrays["data"], tuple(places)), shape=tuple(arrays["shape"]))
    others = [arrays[name] for name in (("offsets",) if kind == "dia" else ("indices", "indptr"))]
    return make((arrays["data"], *others), shape=tuple(arrays["shape"]))


def _mat(path: Path, labels: str | None, name: str | None) -> Table:
    loaded = _matlab_73(path) if _is_matlab_73(path) else _matlab(path)
    arrays = {key: value for key, value in loaded.items() if not key.startswith("__")}
    X = matrix(arrays[chosen(arrays, name, path)], path)
    return Table(X, _labels(arrays, labels, X.shape[0], path))


def _is_matlab_73(path: Path) -> bool:
    """Whether a file is HDF5 behind MATLAB's header."""
    with path.open("rb") as file:
        file.seek(512)
        return file.read(4) == b"\x89HDF"


def _matlab_73(path: Path) -> dict[str, Any]:
    """The arrays of HDF5, in which rows and columns are exchanged."""
    h5py = needed("h5py", "h5py", path)
    with h5py.File(path, "r") as file:
        parts = {key: value for key, value in file.items() if isinstance(value, h5py.Dataset)}
        return {key: np.asarray(value).T for key, value in read_arrays(parts).items()}


def _matlab(path: Path) -> dict[str, Any]:
    import scipy.io

    with counted(path) as file:
        return dict(scipy.io.loadmat(file))


def _columns(path: Path, labels: str | None, name: str | None) -> Table:
    _refuse(path, name, "array")
    return from_columns(COLUMNS[path.suffix.lower()](path, labels), labels, path)


def _stored(path: Path, labels: str | None) -> dict[str, Any]:
    """The columns of a parquet or a feather file. What pandas keeps its index in are the names of the rows, under no
    name, unless it is the labels."""
    needed("pyarrow", "pyarrow", path)
    table = _parquet(path) if path.suffix.lower() == ".parquet" else _feather(path)
    told = (table.schema.pandas_metadata or {}).get("index_columns", [])
    index = [key for key in told if key != labels and key in table.column_names]
    columns = {key: _values(table.column(key)) for key in table.column_names if key not in index}
    return {"": _values(table.column(index[0])), **columns} if len(index) == 1 else columns


def _values(column: Any) -> Any:
    """A column of a table; text that is missing is called so."""
    values = column.to_numpy()
    text = values.dtype == object and any(isinstance(value, str) for value in values)
    return np.array(["missing" if value is None else value for value in values]) if text else values


def _parquet(path: Path) -> Any:
    pyarrow, parquet = needed("pyarrow", "pyarrow", path), needed("pyarrow.parquet", "pyarrow", path)
    file = parquet.ParquetFile(path)
    batches = _in_turn(file.iter_batches(BATCH), lambda batch: batch.num_rows, file.metadata.num_rows)
    return pyarrow.Table.from_batches(batches, file.schema_arrow)


def _feather(path: Path) -> Any:
    pyarrow, ipc = needed("pyarrow", "pyarrow", path), needed("pyarrow.ipc", "pyarrow", path)
    with pyarrow.OSFile(str(path)) as source:
        file = ipc.open_file(source)
        batches = map(file.get_batch, range(file.num_record_batches))
        return pyarrow.Table.from_batches(_in_turn(batches, lambda _: 1, file.num_record_batches), file.schema)


def _in_turn(batches: Iterable[Any], size: Callable[[Any], int], whole: int) -> list[Any]:
    """The batches of a file one after another; who listens hears how far it is."""
    read, done = [], 0
    for batch in batches:
        read.append(batch)
        done += size(batch)
        tell_share(done, whole)
    return read


def from_columns(columns: dict[str, Any], labels: str | None, path: Any) -> Table:
    """A table of named columns; those of text can only be labels, and one without a name the names of the rows."""
    columns = dict(columns)
    names = columns.pop("", None)
    if labels is not None and labels not in columns:
        raise FileError(f"{path} has no column {labels!r}, but {', '.join(map(repr, columns))}. Use one of these.")
    numbers = {key: np.asarray(value) for key, value in columns.items() if key != labels}
    text = [key for key, value in numbers.items() if value.dtype.kind not in "fiub"]
    if text:
        raise FileError(
            f"Column {text[0]!r} of {path} holds {_kind(numbers[text[0]])}, not numbers. Name it as the labels "
            f"(--labels {text[0]} on the command line), leave it out of the file, or write numbers as 1.5."
        )
    if not numbers:
        raise FileError(f"{path} has no column of numbers. Store at least one.")
    X = np.column_stack(list(numbers.values()))
    rows = None if names is None else [_row_name(name) for name in np.asarray(names).tolist()]
    return Table(X, None if labels is None else np.asarray(columns[labels]), list(numbers), rows)


def _row_name(name: Any) -> str:
    return str(int(name)) if isinstance(name, float) and name.is_integer() else str(name)


def _kind(column: Any) -> str:
    """What a column holds that is no number, and the first of that."""
    if column.dtype.kind not in "UOS":
        return f"values of type {column.dtype}"
    row = next((row for row, cell in enumerate(column) if not is_number(str(cell))), 0)
    kind = "text" if isinstance(column[row], str | bytes) else f"values of type {type(column[row]).__name__}"
    return f"{kind} ({str(column[row])[:40]!r} in row {row + 1})"


def _text(path: Path, labels: str | None) -> dict[str, Any]:
    return read_delimited(path, "\t" if path.suffix.lower() == ".tsv" else None, labels)


def _h5ad(path: Path, labels: str | None, name: str | None) -> Table:
    return read_h5ad(path, labels, name)


def _labels(arrays: dict[str, Any], labels: str | None, n: int, path: Any) -> Any:
    if labels is None:
        return None
    if labels not in arrays:
        raise FileError(f"{path} holds no {labels!r}, but {', '.join(map(repr, arrays))}. Use one of these as labels.")
    values = np.asarray(arrays[labels]).ravel()
    if len(values) != n:
        raise FileError(f"{labels!r} in {path} has {len(values)} values for {n} rows. Use one for each row.")
    return values


def _refuse(path: Path, value: str | None, what: str) -> None:
    if value is not None:
        raise FileError(f"{path} holds one array and no {what} called {value!r}. Use a file with names, such as .npz.")


def _begins(path: Path, magic: bytes) -> None:
    with path.open("rb") as file:
        if file.read(len(magic)) != magic:
            raise FileError(f"{path} is no {path.suffix} file: it does not begin as one. Write it again with NumPy.")


# The columns of a file by their names; and the table in a file, by the names of its labels and of its array.
COLUMNS: dict[str, Callable[[Path, str | None], dict[str, Any]]] = {
    ".csv": _text,
    ".tsv": _text,
    ".txt": _text,
    ".parquet": _stored,
    ".feather": _stored,
}
READERS: dict[str, Callable[[Path, str | None, str | None], Table]] = {
    ".npy": _npy,
    ".npz": _npz,
    **dict.fromkeys(COLUMNS, _columns),
    ".h5ad": _h5ad,
    ".mat": _mat,
}
