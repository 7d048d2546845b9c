"""Where an optimisation begins."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from lowfold import inputs
from lowfold.affinity.walk import row_sums, walk_of
from lowfold.backend import resources
from lowfold.backend.embedding_protocol import Sparse
from lowfold.errors import DataError
from lowfold.options import option
from lowfold.spectral.eigen import solve
from lowfold.spectral.pca import PCA
from lowfold.spectral.problem import EigenProblem, SparseMatrix
from lowfold.types import Floats

NOISE = 1e-2  # of the size of the start: keeps points apart that a start puts in one place


def init_option() -> Any:
    """The start, as every force method declares it."""
    return option(
        "auto",
        choices=("auto", "pca", "spectral", "random"),
        help="start, by name or as an array (n_samples, n_components); 'auto': the method's own",
    )


def start_of(
    init: Any,
    data: inputs.Data,
    affinities: tuple[Sparse, NDArray[np.intp]],
    shape: tuple[int, float, int],
    n_jobs: int | None,
) -> Floats:
    """The start in the order of the affinities: coordinates from an array as they are, else of the wanted size.

    affinities: entries, and the rows of the data that they are of. shape: number of coordinates, standard deviation of
    the first one, seed.
    """
    P, order = affinities
    d, size, seed = shape
    if not isinstance(init, str):
        return given_start(init, (data.n, d))[order]
    rng = np.random.default_rng(seed)
    n = len(order)  # fewer than there are data where some are placed later
    noise = rng.standard_normal((n, d))
    if init == "random":
        return _sized(noise, size).astype(np.float32)
    Y = _principal_of(data, order, d, n_jobs) if init == "pca" else spectral(P, min(d, n - 1), n_jobs)
    Y = np.pad(Y, ((0, 0), (0, d - Y.shape[1])))
    Y = _sized(Y, size)
    # Coordinates that the data do not have are filled with noise, and so are points that all lie in one place.
    flat = Y.std(axis=0) < 1e-6 * size
    Y[:, flat] = NOISE * size * noise[:, flat]
    return Y.astype(np.float32) if not flat.all() else _sized(noise, size).astype(np.float32)


def given_start(init: Any, shape: tuple[int, int]) -> Floats:
    """The user's own start, checked."""
    Y = np.asarray(init)
    if Y.shape != shape or Y.dtype.kind not in "fiu":
        raise DataError(
            f"init has shape {Y.shape} and type {Y.dtype}; it needs {shape[0]} rows of {shape[1]} real numbers, one "
            f"row for each sample. Pass such an array, or a name."
        )
    Y = Y.astype(np.float32)
    if not np.isfinite(Y).all():
        raise DataError(
            f"init has NaN or infinite entries (the first in row {int(np.argmin(np.isfinite(Y).all(axis=1)))}). "
            f"Replace them, or pass init='pca'."
        )
    inputs.check_apart(Y)
    return Y


def _principal_of(data: inputs.Data, order: NDArray[np.intp], d: int, n_jobs: int | None) -> Floats:
    """The first principal coordinates of these rows of the data by themselves, in their order."""
    members = np.sort(order)
    values = data.values if len(members) == data.n else data.values[members]
    return principal(values, d, n_jobs)[np.searchsorted(members, order)]


def principal(values: Any, d: int, n_jobs: int | None) -> Floats:
    """The first principal coordinates, as many as there are."""
    return PCA(n_components=min(d, *values.shape), n_jobs=n_jobs).fit(values).embedding_.astype(np.float64)


def spectral(P: Sparse, d: int, n_jobs: int | None) -> Floats:
    """The Laplacian eigenmap of the affinities: eigenvectors of the random walk behind the constant one."""
    begin, columns, values = P
    n, threads = len(begin) - 1, resources.thread_count(n_jobs)
    W = csr_array((values.astype(np.float64), columns, begin), shape=(n, n))
    walk = walk_of(W, row_sums(W), 0.0, threads)
    found = solve(EigenProblem(SparseMatrix(walk.S, threads), trivial=walk.root[:, None]), d)
    return found.vectors / np.sqrt(walk.degrees)[:, None]


def _sized(Y: Any, size: float) -> Any:
    """Centred, and scaled so that the first coordinate has the given standard deviation."""
    Y = Y - Y.mean(axis=0)
    spread = float(Y[:, 0].std())
    return Y * (size / spread) if spread > 0 else Y
