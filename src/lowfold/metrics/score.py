"""The value that every metric returns, and which points it looks at."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from lowfold import inputs
from lowfold.backend import native
from lowfold.errors import DataError, ParameterError
from lowfold.neighbors.interface import Metric, read_points
from lowfold.options import THREADS, documented, option, validate
from lowfold.spectral.pairs import PairDistances
from lowfold.tables import as_labels
from lowfold.types import Floats

EXACT_UP_TO = 10_000  # points, for sample="auto": there every point takes a second or two
SAMPLED = 1_000  # points beyond that: the error of a share near 0.9 is about 0.01
GROUPS = 20  # of sampled points, whose spread tells the error of what is no mean over points


@documented
@dataclass(frozen=True, slots=True)
class Sample:
    """Points drawn by lot, without any twice: `trustworthiness(X, Y, sample=Sample(points=5000))`."""

    points: int = option(SAMPLED, low=2, help="number of points that are looked at; all if there are fewer")
    random_state: int | None = option(0, low=0, high=2**63 - 1, help="seed of the draw; None draws one")


Sampling: TypeAlias = str | int | Sample | None

# Of every function that judges an embedding.
ARGUMENTS = {
    "X": "the data, rows or with metric='precomputed' their distances",
    "Y": "the embedding, a row for each point",
    "labels": "one for each point",
    "metric": "how distances in X are measured, by name or as a function",
    "sample": "the points looked at: 'auto' all up to 10,000, else 1,000; None all; a number of them, or a Sample",
    "n_jobs": THREADS,
}


@dataclass(frozen=True, slots=True)
class Score:
    """A number that judges an embedding; float(score) is the number.

    error: its standard error, 0 if every point was looked at. per_point (m,): the same at each of the points
    `points` (m,), all of them if nothing was sampled.
    """

    value: float
    error: float
    per_point: NDArray[np.float64] = field(repr=False)
    points: NDArray[np.intp] = field(repr=False)

    def __float__(self) -> float:
        return self.value

    def __str__(self) -> str:
        return f"{self.value:.4f}" + (f" ± {self.error:.4f}" if self.error else "")

    def __format__(self, how: str) -> str:
        return format(self.value, how) if how else str(self)


def chosen_points(n: int, sample: Sampling) -> NDArray[np.intp]:
    """The points to look at, ascending."""
    if isinstance(sample, str) and sample == "auto":
        sample = None if n <= EXACT_UP_TO else Sample()
    if isinstance(sample, int | np.integer) and not isinstance(sample, bool):
        sample = Sample(points=int(sample))
    if sample is None:
        return np.arange(n)
    if not isinstance(sample, Sample):
        raise ParameterError(
            f"sample={sample!r} is no choice of points: it must be 'auto', None for all, a number of points, or "
            f"Sample(points, random_state). Use for example sample=1000."
        )
    validate(sample)
    if sample.points >= n:
        return np.arange(n)
    return np.sort(np.random.default_rng(sample.random_state).choice(n, sample.points, replace=False))


def mean_score(per_point: NDArray[np.float64], points: NDArray[np.intp], n: int) -> Score:
    """The mean over points; its error with the correction for a sample that is a large part of all."""
    m = len(points)
    error = 0.0 if m == n else float(per_point.std(ddof=1) / np.sqrt(m) * np.sqrt(1 - m / n))
    return Score(float(per_point.mean()), error, per_point, points)


def read_data(X: Any, metric: Metric) -> inputs.Data:
    """The data that an embedding is judged by: rows, sparse rows or distances."""
    data = read_points(X, metric)
    if data.kind == inputs.GRAPH:
        raise DataError(
            f"X is a sparse graph of {data.values.nnz} distances, but ranks need the distances between all pairs of "
            f"its {data.n} points. Pass the rows themselves, or a full matrix of distances."
        )
    return data


def read_embedding(Y: Any, n: int | None = None, name: str = "Y") -> Floats:
    """An embedding, checked; it has n points."""
    if issparse(Y):
        raise DataError(f"{name} is sparse; an embedding has a few coordinates for each point. Pass {name}.toarray().")
    values: Floats = read_points(inputs.read_numbers(Y, name), "euclidean").values
    if n is not None and len(values) != n:
        raise DataError(
            f"{name} has {len(values)} points, but X has {n}. Pass the embedding of X, a row for each of its rows."
        )
    return values


def check_labels(labels: Any, n: int) -> NDArray[np.intp]:
    """Labels as numbers 0, 1, ...; one for each of n points."""
    values = as_labels(labels, "labels")
    if values.shape != (n,):
        raise DataError(
            f"labels has shape {values.shape}, but there are {n} points. Pass one label for each point, in their order."
        )
    return np.unique(values, return_inverse=True)[1].astype(np.intp)


def grouped_error(values: NDArray[np.float64], share: float = 0.0) -> float:
    """The standard error of a number that was also found for each of several groups; `share` of all was looked at."""
    return float(values.std(ddof=1) / np.sqrt(len(values)) * np.sqrt(1 - share)) if share < 1 else 0.0


def rows_of(data: inputs.Data, metric: Metric, threads: int) -> Callable[[NDArray[np.intp]], Floats]:
    """A function from points to their rows of distances to all. Equal distances have equal bits wherever they can."""
    if data.kind == inputs.ROWS and metric in ("euclidean", "l2"):
        return lambda points: np.sqrt(native.kernels.squared_distances(data.values, points.astype(np.int32), threads))
    distances = PairDistances(data, metric)
    return lambda points: distances.rows(data.values[points], threads)
