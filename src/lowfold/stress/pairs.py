"""The dissimilarities of all pairs: a matrix that is given, half a matrix that is kept, or rows measured each time.

All three give the stress with the same bits, so that the choice between them is one of time and memory alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from lowfold import inputs
from lowfold.backend import native
from lowfold.backend.embedding_protocol import StressCode, Stressed
from lowfold.backend.packed import Packed
from lowfold.backend.pieces import ROWS_AT_ONCE, in_pieces
from lowfold.neighbors.interface import Metric
from lowfold.spectral.pairs import PairDistances
from lowfold.types import Floats

KEPT_POINTS = 16_384  # above, half a matrix takes more memory than a fit should: 0.5 GB in float32
CACHED_POINTS = 4_000  # up to which it stays in the cache
# Nanoseconds of a pair in float32: measured by one core, and read by all cores together from memory. With few cores
# reading is never the limit; with many it is.
MEASURING, MEASURING_FEATURE, READING = 0.61, 0.03, 0.25
MODERATE = 1e-6, 1e6  # sizes of the largest distance whose squares can be added up in float32 without a thought


class Pairs(Protocol):
    """The dissimilarities of all pairs of points."""

    @property
    def n(self) -> int:
        """The number of points."""

    @property
    def dtype(self) -> np.dtype[Any]:
        """float32 or float64."""

    @property
    def scale(self) -> float:
        """What the dissimilarities were divided by."""

    def stress(self, Y: Floats, weights: Floats | None, law: StressCode, threads: int) -> Stressed:
        """Half the gradient of the stress, each point's part of it, and sum w d^2."""

    def rows(self, part: slice, threads: int = 1) -> Floats:
        """The dissimilarities of some points to all."""


@dataclass(frozen=True, slots=True)
class GivenPairs:
    """A symmetric matrix; NaN is missing."""

    D: Floats
    scale: float = 1.0

    @property
    def n(self) -> int:
        """The number of points."""
        return len(self.D)

    @property
    def dtype(self) -> np.dtype[Any]:
        """float32 or float64."""
        return self.D.dtype

    def stress(self, Y: Floats, weights: Floats | None, law: StressCode, threads: int) -> Stressed:
        """From the half above the diagonal."""
        return native.kernels.stress_of_matrix(self.D, weights, Y, law, threads)

    def rows(self, part: slice, threads: int = 1) -> Floats:
        """Rows of the matrix."""
        return self.D[part]


@dataclass(frozen=True, slots=True)
class MeasuredPairs:
    """Euclidean distances between rows of numbers, computed from them in each pass."""

    X: Floats
    scale: float = 1.0

    @property
    def n(self) -> int:
        """The number of points."""
        return len(self.X)

    @property
    def dtype(self) -> np.dtype[Any]:
        """float32 or float64."""
        return self.X.dtype

    def stress(self, Y: Floats, weights: Floats | None, law: StressCode, threads: int) -> Stressed:
        """From the rows."""
        return native.kernels.stress_of_rows(self.X, weights, Y, law, threads)

    def rows(self, part: slice, threads: int = 1) -> Floats:
        """Measured."""
        return native.kernels.cross_distances(self.X[part], self.X, threads)


class KeptPairs:
    """Half of the matrix of distances between rows, kept."""

    def __init__(self, packed: Packed, scale: float = 1.0) -> None:
        self.packed = packed
        self.n = packed.shape[0]
        self.dtype = packed.dtype
        self.scale = scale

    def stress(self, Y: Floats, weights: Floats | None, law: StressCode, threads: int) -> Stressed:
        """From the packed half."""
        return native.kernels.stress_of_packed(self.packed.entries, weights, Y, law, threads)

    def rows(self, part: slice, threads: int = 1) -> Floats:
        """Put together from both sides of the diagonal."""
        return self.packed.rows(part)


def pairs_of(data: inputs.Data, metric: Metric, chosen: NDArray[np.intp] | None, threads: int) -> Pairs:
    """The pairs of all points of the data, or of some of them."""
    values = data.values if chosen is None else data.values[chosen]
    if data.kind == inputs.DISTANCES:
        D = values if chosen is None else np.ascontiguousarray(values[:, chosen])
        scale = _unit(_largest(D))
        return GivenPairs(D if scale == 1 else (D / scale).astype(D.dtype), scale)
    if is_euclidean(data, metric):
        spread = float(np.ptp(values, axis=0).max(initial=0.0))
        scale = _unit(spread)
        X = values if scale == 1 else (values / values.dtype.type(scale)).astype(values.dtype)
        if is_measured(values.shape[0], values.shape[1], threads):
            return MeasuredPairs(X, scale)
        cross = native.kernels.cross_distances
        return KeptPairs(Packed(lambda i, j: cross(X[i], X[j], 1), len(X), X.dtype, threads), scale)
    return _by_metric(data, metric, values, threads)


def is_euclidean(data: inputs.Data, metric: Metric) -> bool:
    """Whether the kernels measure these data themselves."""
    return data.kind == inputs.ROWS and not issparse(data.values) and metric in ("euclidean", "l2")


def is_measured(n: int, features: int, threads: int) -> bool:
    """Whether distances are measured again in each pass, because that takes less time or memory than keeping them."""
    cheaper = MEASURING + MEASURING_FEATURE * features < READING * threads
    return n > KEPT_POINTS or (n > CACHED_POINTS and cheaper)


def _by_metric(data: inputs.Data, metric: Metric, values: Any, threads: int) -> Pairs:
    distances = PairDistances(inputs.Data(data.kind, data.values), metric)
    among = distances if values is data.values else distances.among(values)
    n, dtype = values.shape[0], values.dtype
    packed = Packed(lambda i, j: among.rows(values[i], 1)[:, j], n, dtype, threads)
    scale = _unit(float(packed.entries.max(initial=0.0)))
    if scale != 1:
        packed.entries[:] /= dtype.type(scale)
    return KeptPairs(packed, scale)


def _unit(largest: float) -> float:
    """1, or a power of 2 near the largest distance, if that is far from 1."""
    if largest == 0 or MODERATE[0] <= largest <= MODERATE[1]:
        return 1.0
    return float(2.0 ** np.round(np.log2(largest)))


def _largest(D: Floats) -> float:
    return max((float(np.nanmax(row, initial=0.0)) for row in D), default=0.0)


@dataclass(frozen=True, slots=True)
class Survey:
    """What one look at all pairs tells: of each point how many others are known, how many of them are at 0, and
    sum 1 / delta over the rest; of all the smallest delta above 0, infinite if there is none."""

    known: NDArray[np.float64]
    zeros: NDArray[np.float64]
    inverse: NDArray[np.float64]
    smallest: float


def survey(pairs: Pairs, threads: int) -> Survey:
    """Reads all pairs once, a few rows at a time on all threads."""
    n = pairs.n
    known, zeros, inverse, smallest = np.zeros(n), np.zeros(n), np.zeros(n), np.full(n, np.inf)

    def work(part: slice) -> None:
        D = np.array(pairs.rows(part), np.float64)
        D[np.arange(len(D)), np.arange(part.start, part.stop)] = np.nan  # no point is a pair with itself
        positive = D > 0
        known[part] = (D >= 0).sum(axis=1)
        zeros[part] = (D == 0).sum(axis=1)
        inverse[part] = np.divide(1.0, D, out=np.zeros_like(D), where=positive).sum(axis=1)
        smallest[part] = np.where(positive, D, np.inf).min(axis=1)

    in_pieces(work, n, threads, min(ROWS_AT_ONCE, 64))
    return Survey(known, zeros, inverse, float(smallest.min(initial=np.inf)))
