"""Annotated matrices of single cells (.h5ad): X and obs in, obsm out."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from scipy.sparse import csc_array, csr_array

from lowfold.errors import FileError
from lowfold.files.counted import Counted
from lowfold.files.hdf5 import read_array, read_arrays
from lowfold.files.table import Table, matrix, needed
from lowfold.model_file.compressed import check_compressed
from lowfold.types import Floats

COPIED = 1 << 22  # bytes that are copied at once
WRITER = "lowfold"  # attribute of the maps that `write` has put into a file


def read_h5ad(path: Path, labels: str | None, name: str | None) -> Table:
    """X, or obsm[name], or layers[name]; labels from obs."""
    h5py = needed("h5py", "h5py", path)
    with h5py.File(path, "r") as file:
        place = next((part for part in _places(name) if part in file), None)
        if place is None:
            there = ["X", *(f"obsm/{key}" for key in file.get("obsm", {}))]
            raise FileError(f"{path} has no {name or 'X'!r}, but {', '.join(there)}. Use one of these.")
        X = _matrix(file[place], path)
        groups = None if labels is None else _observation(file, labels, path)
    if groups is not None and len(groups) != X.shape[0]:
        raise FileError(
            f"obs column {labels!r} of {path} has {len(groups)} values for {X.shape[0]} rows. Write it again."
        )
    return Table(X, groups)


def _places(name: str | None) -> list[str]:
    return ["X"] if name in (None, "X") else [f"obsm/{name}", f"layers/{name}", str(name)]


def _matrix(part: Any, path: Any) -> Any:
    if not hasattr(part, "keys"):
        return matrix(read_array(part, 0, part.size), path)
    shape = tuple(int(side) for side in part.attrs.get("shape", part.attrs.get("h5sparse_shape", ())))
    kind = "csc" if "csc" in str(part.attrs.get("encoding-type", part.attrs.get("h5sparse_format", ""))) else "csr"
    if len(shape) != 2 or not {"data", "indices", "indptr"} <= set(part):
        raise FileError(f"{path} holds an X that is neither an array nor a sparse matrix. Store it as one of these.")
    stored = read_arrays({name: part[name] for name in ("data", "indices", "indptr")})
    entries = (stored["data"], stored["indices"], stored["indptr"])
    check_compressed(entries, shape, kind, f"{part.name} in {path}")
    return csr_array((csc_array if kind == "csc" else csr_array)(entries, shape=shape))


def _observation(file: Any, name: str, path: Any) -> Any:
    obs = file["obs"]
    if name not in obs:
        raise FileError(f"{path} has no obs column {name!r}, but {', '.join(sorted(obs))}. Use one of these.")
    column = obs[name]
    if hasattr(column, "keys"):  # a categorical: codes into categories
        known, codes = column["categories"], column["codes"][:]
        categories = known.asstr()[:] if _is_text(known) else known[:]
        return np.array([categories[code] if code >= 0 else "missing" for code in codes])
    return column.asstr()[:] if _is_text(column) else column[:]


def _is_text(column: Any) -> bool:
    return column.dtype.kind in "OS"


def write_h5ad(target: Path, Y: Floats, method: str, source: Path | None, content: Any) -> None:
    """Writes obsm["X_<method>"] into a copy of the source, or into a new file that holds nothing else."""
    h5py = needed("h5py", "h5py", target)
    key = f"X_{method}"
    if source is not None:
        check_free(source, method)

    def fill(file: BinaryIO) -> None:
        if source is not None:
            with Counted(source) as old:
                shutil.copyfileobj(old, file, COPIED)
            file.flush()
            file.seek(0)
        with h5py.File(file, "r+" if source is not None else "w") as cells:
            if source is None:
                _empty(cells, len(Y), h5py)
            else:
                _check_cells(cells, len(Y), source)
            obsm = cells.require_group("obsm")
            obsm.attrs.update({"encoding-type": "dict", "encoding-version": "0.1.0"})
            if key in obsm:
                del obsm[key]
            part = obsm.create_dataset(key, data=Y)
            part.attrs.update({"encoding-type": "array", "encoding-version": "0.2.0", WRITER: True})

    content(target, fill)


def check_free(source: Path, method: str) -> None:
    """Raises FileError if the source holds a map by another program under the name that the method's would have."""
    h5py = needed("h5py", "h5py", source)
    try:
        with h5py.File(source, "r") as file:
            there = file.get(f"obsm/X_{method}")
            taken = there is not None and WRITER not in there.attrs
    except OSError:  # no such file: said where it is read
        return
    if taken:
        raise FileError(
            f"{source} holds obsm['X_{method}'] already, and Lowfold has not written it. Write the map to a file of "
            f"another kind (-o map.npy), or give the one that is there another name first."
        )


def _check_cells(cells: Any, n: int, source: Path | None) -> None:
    """Raises FileError unless the file has n cells."""
    obs = cells.get("obs")
    index = None if obs is None else obs.get(obs.attrs.get("_index", "_index"))
    if index is None:
        raise FileError(f"{source} has no table obs with the names of its cells. Write it again with anndata.")
    if index.shape[0] != n:
        raise FileError(f"{source} has another number of cells than the embedding's {n}.")


def _empty(cells: Any, n: int, h5py: Any) -> None:
    """An annotated matrix of n cells and no genes."""
    cells.attrs.update({"encoding-type": "anndata", "encoding-version": "0.1.0"})
    for name, count in (("obs", n), ("var", 0)):
        frame = cells.create_group(name)
        frame.attrs.update({"encoding-type": "dataframe", "encoding-version": "0.2.0", "_index": "_index"})
        frame.attrs.create("column-order", np.array([], dtype=h5py.string_dtype()))
        index = frame.create_dataset("_index", data=np.array([str(i) for i in range(count)], dtype=h5py.string_dtype()))
        index.attrs.update({"encoding-type": "string-array", "encoding-version": "0.2.0"})
    for name in ("layers", "obsp", "varm", "varp", "uns"):
        cells.create_group(name).attrs.update({"encoding-type": "dict", "encoding-version": "0.1.0"})
