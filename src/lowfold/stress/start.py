"""Where an optimisation begins: classical scaling, a random cloud, an array, or several of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lowfold import inputs
from lowfold.backend import blas
from lowfold.backend.packed import Packed
from lowfold.errors import DataError
from lowfold.options import documented, option
from lowfold.spectral.centred import centred
from lowfold.spectral.eigen import solve
from lowfold.spectral.principal import by_covariance
from lowfold.spectral.problem import Centred, DenseMatrix, EigenProblem
from lowfold.stress.pairs import GivenPairs, Pairs
from lowfold.types import Floats

CLASSICAL, RANDOM = "classical", "random"
NOISE = 1e-2  # of the size of the start: coordinates that are 0 for all points would stay so for ever
FARTHEST = 1e12  # times the size of the dissimilarities: so far out all is well in float32 too
COVARIANCE_SIZE = 2000  # features up to which Euclidean rows are scaled through their covariance


@documented
@dataclass(frozen=True, slots=True)
class Starts:
    """Several starts, of which the one that ends with the lowest stress is kept: `MDS(init=Starts(count=8))`."""

    count: int = option(8, low=1, help="number of starts; all but the first are random")
    first: str = option("classical", choices=(CLASSICAL, RANDOM), help="way in which the first start is made")


def init_option() -> Any:
    """The start, as every stress method declares it."""
    return option(
        CLASSICAL,
        choices=(CLASSICAL, RANDOM),
        help="start, by name or Starts(...) for several, or as an array (n_samples, n_components)",
    )


def starts_of(init: Any, count: int, d: int) -> tuple[int, Any]:
    """(number of starts, the first one: a name or a checked array) for count points."""
    if isinstance(init, Starts):
        return init.count, init.first
    return 1, init if isinstance(init, str) else given_start(init, (count, d))


def given_start(init: Any, shape: tuple[int, int]) -> NDArray[np.float64]:
    """The user's own start, checked."""
    Y = np.asarray(init)
    if Y.shape != shape or Y.dtype.kind not in "fiu" or not np.isfinite(Y).all():
        raise DataError(
            f"init has shape {Y.shape} and type {Y.dtype}; it needs {shape[0]} rows of {shape[1]} finite real numbers, "
            f"one row for each sample. Pass such an array, or a name."
        )
    inputs.check_apart(Y)
    return Y.astype(np.float64)


def in_reach(Y: NDArray[np.float64], size: float) -> NDArray[np.float64]:
    """The user's own start, unless it is out of all proportion to dissimilarities of this size."""
    largest = float(np.abs(Y).max())
    if largest > FARTHEST * size:
        raise DataError(
            f"init has coordinates up to {largest / size:.3g} times as large as the dissimilarities are in the mean: "
            f"sums of its squared distances would leave the range of numbers. Divide it by that."
        )
    return Y


def random_start(n: int, d: int, size: float, seed: tuple[int, int]) -> NDArray[np.float64]:
    """A normal cloud in which two points lie about as far apart as `size`."""
    cloud = np.random.default_rng(seed).standard_normal((n, d))
    return np.asarray(cloud * (size / np.sqrt(2 * d)))


def classical_start(pairs: Pairs, rows: Floats | None, d: int, size: float, threads: int) -> NDArray[np.float64]:
    """Classical scaling: of Euclidean rows through their covariance, else of the squared dissimilarities.

    Coordinates that it does not have, because the dissimilarities have too few positive eigenvalues, are filled with a
    little noise. Missing dissimilarities are taken as if centred inner products were 0 there.
    """
    n = pairs.n
    found = min(d, n if rows is None else min(rows.shape), n)
    with blas.single_threaded():
        Y = _from_rows(rows, found, threads) if rows is not None else _from_pairs(pairs, found, threads)
    largest = np.abs(Y).argmax(axis=0)
    Y = np.pad(Y * np.where(Y[largest, np.arange(found)] < 0, -1.0, 1.0), ((0, 0), (0, d - found)))
    flat = np.sqrt(np.square(Y).mean(axis=0)) <= 1e-6 * size
    Y[:, flat] = NOISE * random_start(n, d, size, (0, 0))[:, flat]
    return Y


def _from_rows(rows: Floats, d: int, threads: int) -> NDArray[np.float64]:
    X = centred(rows, threads)
    found = by_covariance(X, d, threads)
    return np.asarray(X.times(found.vectors), np.float64)


def _from_pairs(pairs: Pairs, d: int, threads: int) -> NDArray[np.float64]:
    fill = _fill_of(pairs)

    def squares(i: slice, j: slice) -> Floats:
        D2 = np.square(pairs.rows(i)[:, j], dtype=np.float64)
        if fill is not None:
            means, grand = fill
            expected = np.maximum(means[i][:, None] + means[j] - grand, 0.0)
            D2 = np.where(np.isnan(D2), expected, D2)
        D2[np.arange(len(D2)), np.arange(len(D2)) + i.start - j.start] = 0.0
        return D2

    matrix = Centred(DenseMatrix(Packed(squares, pairs.n, pairs.dtype, threads), threads), -0.5)
    spectrum = solve(EigenProblem(matrix), d)
    return np.asarray(spectrum.vectors * np.sqrt(np.maximum(spectrum.values, 0.0)))


def _fill_of(pairs: Pairs) -> tuple[NDArray[np.float64], float] | None:
    """Means of the squares that are known, of each point and of all: -1/2 H D^2 H is 0 at m_i + m_j - m."""
    if not isinstance(pairs, GivenPairs) or not any(np.isnan(row).any() for row in pairs.D):
        return None
    rows = [np.square(row[np.isfinite(row)], dtype=np.float64) for row in pairs.D]
    means = np.array([row.mean() if len(row) else 0.0 for row in rows])
    return means, float(means.mean())


def euclidean_rows(data: inputs.Data, metric: Any, chosen: NDArray[np.intp] | None, scale: float) -> Floats | None:
    """The rows themselves if classical scaling can go through their covariance, in the pairs' units."""
    dense = data.kind == inputs.ROWS and metric in ("euclidean", "l2") and data.values.shape[1] <= COVARIANCE_SIZE
    if not dense:
        return None
    values = data.values if chosen is None else data.values[chosen]
    return values if scale == 1 else (values / values.dtype.type(scale)).astype(values.dtype)
