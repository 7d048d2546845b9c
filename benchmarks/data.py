"""The real data, each set as one float32 array, from the folder that LOWFOLD_DATA names (default: ../shared/data)."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

ROOT = Path(__file__).resolve().parent.parent
SMOKE_ROWS = 3000  # enough for every method's own minimum, and gone in a moment
REDUCED = 50  # dimensions of mnist50, as in most pipelines before a neighbour search
USPS_SCALE = 1000  # the grey values -1 .. 1 are stored as thousandths


def load(name: str, *, smoke: bool = False) -> NDArray[np.float32]:
    """The rows of a data set, C-contiguous float32; the first few of them for a smoke run.

    mnist, flow_1m, glove_60k, usps, masscyt_thymus, coil20 as stored, and mnist50: mnist in 50 dimensions by PCA.
    """
    X = _mnist50() if name == "mnist50" else _stored(name)
    if name == "usps":
        X /= USPS_SCALE
    return np.ascontiguousarray(X[:SMOKE_ROWS]) if smoke else X


def labels(name: str) -> NDArray[np.int_]:
    """The class of each row."""
    with np.load(_file(name)) as arrays:
        return np.asarray(arrays["y"], dtype=int)


def require(names: Iterable[str]) -> None:
    """Ends the run before anything is measured if one of these sets is missing."""
    for name in names:
        _file("mnist" if name == "mnist50" else name)


def _stored(name: str) -> NDArray[np.float32]:
    with np.load(_file(name)) as arrays:
        return np.ascontiguousarray(arrays["X"], dtype=np.float32)


def _file(name: str) -> Path:
    folder = Path(os.environ.get("LOWFOLD_DATA", ROOT / ".." / "shared" / "data")).resolve()
    path = folder / f"{name}.npz"
    if not path.is_file():
        sys.exit(
            f"The data set {name} is not there: {path.name} is missing in {folder}. "
            f"Set LOWFOLD_DATA to the folder that holds it."
        )
    return path


def _mnist50() -> NDArray[np.float32]:
    """mnist in 50 dimensions by scikit-learn's PCA, computed once and kept in the temporary folder."""
    path = Path(tempfile.gettempdir()) / "lowfold-benchmarks" / "mnist50.npy"
    if path.is_file():
        cached: NDArray[np.float32] = np.load(path)
        return cached
    X = _reduced(_stored("mnist"))
    path.parent.mkdir(exist_ok=True)
    unfinished = path.with_suffix(f".{os.getpid()}.npy")
    np.save(unfinished, X)
    unfinished.replace(path)  # at once: another run never reads half a file
    return X


def _reduced(X: Any) -> NDArray[np.float32]:
    from sklearn.decomposition import PCA

    return np.ascontiguousarray(PCA(REDUCED, svd_solver="covariance_eigh").fit_transform(X), dtype=np.float32)
