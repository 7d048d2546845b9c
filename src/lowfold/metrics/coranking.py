"""The co-ranking family: which neighbours of each point an embedding keeps, loses and makes up.

With r_ij the rank of j among the others by distance from i in the data, s_ij in the embedding (Lee and Verleysen 2009):
    trustworthiness T(k) = 1 - g sum_i sum_(s_ij <= k) max(r_ij - k, 0)  (Venna and Kaski 2001; g: 0 at worst)
    continuity      C(k) = 1 - g sum_i sum_(r_ij <= k) max(s_ij - k, 0)
    recall       Q_NX(k) = 1 / (n k) sum_i |{j: r_ij <= k and s_ij <= k}|
    R_NX(k) = ((n - 1) Q_NX(k) - k) / (n - 1 - k), and its area over log k: sum_k R_NX(k) / k over sum_k 1 / k.
All are means over points. Each row of distances is made, ranked and dropped: memory O(n), cost O(n^2 D), or O(m n D)
for a sample of m points.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lowfold import inputs
from lowfold.arguments import telling
from lowfold.backend import native, resources
from lowfold.errors import ParameterError
from lowfold.estimator import share_listener, tell_share
from lowfold.metrics.score import (
    ARGUMENTS,
    Sample,
    Sampling,
    Score,
    chosen_points,
    mean_score,
    read_data,
    read_embedding,
)
from lowfold.neighbors.interface import Metric
from lowfold.spectral.pairs import PairDistances

BLOCK_BYTES = 64_000_000  # of distances under a metric that has no kernel
FEWER_FROM, FEWER = 100_000, 250  # rows from which the area, which sorts each of them, looks at so many points
PIECES, SMALLEST_PIECE = 20, 50  # of the points, between two words about how many are done
CURVE_POINTS = 40  # neighbourhood sizes of a curve, in equal ratios


@telling(ARGUMENTS)
def trustworthiness(
    X: Any, Y: Any, k: int = 5, *, metric: Metric = "euclidean", sample: Sampling = "auto", n_jobs: int | None = None
) -> Score:
    """1 minus the weighted share of intruders: points among the k nearest in Y that are far in X.

    Equals scikit-learn's `trustworthiness`.
    """
    found = coranked(X, Y, [k], _Setting(metric, sample, n_jobs))
    return found.score(found.trustworthiness)


@telling(ARGUMENTS)
def continuity(
    X: Any, Y: Any, k: int = 5, *, metric: Metric = "euclidean", sample: Sampling = "auto", n_jobs: int | None = None
) -> Score:
    """1 minus the weighted share of lost neighbours: points among the k nearest in X that are far in Y."""
    found = coranked(X, Y, [k], _Setting(metric, sample, n_jobs))
    return found.score(found.continuity)


@telling(ARGUMENTS)
def neighbor_recall(
    X: Any, Y: Any, k: int = 15, *, metric: Metric = "euclidean", sample: Sampling = "auto", n_jobs: int | None = None
) -> Score:
    """Q_NX(k): the mean share of the k nearest in X that are among the k nearest in Y."""
    found = coranked(X, Y, [k], _Setting(metric, sample, n_jobs))
    return found.score(found.recall)


@telling(ARGUMENTS)
def r_nx(
    X: Any, Y: Any, k: int = 15, *, metric: Metric = "euclidean", sample: Sampling = "auto", n_jobs: int | None = None
) -> Score:
    """R_NX(k): the recall with chance taken out; 1: all neighbours are kept, 0: as many as in a random embedding."""
    found = coranked(X, Y, [k], _Setting(metric, sample, n_jobs))
    return found.score(found.r_nx)


@telling(ARGUMENTS)
def r_nx_area(
    X: Any, Y: Any, *, metric: Metric = "euclidean", sample: Sampling = "auto", n_jobs: int | None = None
) -> Score:
    """The area under R_NX(k) over log k, k = 1 .. n - 2: one number for neighbourhoods of all sizes.

    sample: "auto" looks at all points up to 10,000, at 1,000 up to 100,000, else at 250, as each row is sorted.
    """
    found = coranked(X, Y, [], _Setting(metric, sample, n_jobs), area=True)
    return mean_score(found.areas, found.points, found.n)


@dataclass(frozen=True, slots=True)
class QualityCurve:
    """The family at several neighbourhood sizes k (m,): each an array (m,) of means over points, with their errors.

    area: the area under R_NX over log k, over every k.
    """

    k: NDArray[np.int64]
    trustworthiness: NDArray[np.float64]
    continuity: NDArray[np.float64]
    recall: NDArray[np.float64]
    r_nx: NDArray[np.float64]
    errors: dict[str, NDArray[np.float64]]
    area: Score


@telling(ARGUMENTS)
def quality_curve(
    X: Any,
    Y: Any,
    k: Any = None,
    *,
    metric: Metric = "euclidean",
    sample: Sampling = "auto",
    n_jobs: int | None = None,
) -> QualityCurve:
    """The family at several k (None: 40 sizes in equal ratios up to n - 2), and the area under R_NX.

    sample: as in `r_nx_area`.
    """
    setting = _Setting(metric, sample, n_jobs)
    n = read_data(X, metric).n
    if n < 3:
        raise ParameterError(f"A curve needs at least 3 points, but X has {n}. Pass more points.")
    sizes = np.unique(np.geomspace(1, n - 2, CURVE_POINTS).round().astype(np.int64)) if k is None else k
    found = coranked(X, Y, sizes, setting, area=True)
    parts = {name: getattr(found, name) for name in ("trustworthiness", "continuity", "recall", "r_nx")}
    scores = {
        name: [mean_score(part[:, m], found.points, n) for m in range(len(found.ks))] for name, part in parts.items()
    }
    means = {name: np.array([score.value for score in at]) for name, at in scores.items()}
    errors = {name: np.array([score.error for score in at]) for name, at in scores.items()}
    return QualityCurve(found.ks, **means, errors=errors, area=mean_score(found.areas, found.points, n))


@dataclass(frozen=True, slots=True)
class _Setting:
    metric: Metric
    sample: Sampling
    n_jobs: int | None


@dataclass(frozen=True, slots=True)
class Coranked:
    """What ranks say about some of n points, each array (points, ks): one row for each point."""

    n: int
    ks: NDArray[np.int64]
    points: NDArray[np.intp]
    agreement: NDArray[np.float64]  # (points, ks, 3): common neighbours, intruders, lost
    areas: NDArray[np.float64]

    @property
    def trustworthiness(self) -> NDArray[np.float64]:
        """1 - intruders by their worst."""
        return 1 - self.agreement[:, :, 1] / self._worst

    @property
    def continuity(self) -> NDArray[np.float64]:
        """1 - lost neighbours by their worst."""
        return 1 - self.agreement[:, :, 2] / self._worst

    @property
    def recall(self) -> NDArray[np.float64]:
        """Common neighbours of k."""
        return self.agreement[:, :, 0] / self.ks

    @property
    def r_nx(self) -> NDArray[np.float64]:
        """The recall with chance taken out."""
        others = self.n - 1
        return (others * self.recall - self.ks) / (others - self.ks)

    @property
    def _worst(self) -> NDArray[np.float64]:
        """The largest sum by which k ranks can lie beyond k: the k last of n - 1, or as many as there are beyond."""
        n, k = self.n, self.ks
        few = k * (2 * n - 3 * k - 1) / 2
        many = (n - k) * (n - k - 1) / 2
        return np.where(2 * k < n, few, many)

    def score(self, part: NDArray[np.float64]) -> Score:
        """Of the only k."""
        return mean_score(part[:, 0], self.points, self.n)


def points_for_area(n: int, sample: Sampling) -> Sampling:
    """The sample for an area, which sorts all other points for each that it looks at: fewer of many."""
    automatic = isinstance(sample, str) and sample == "auto" and n > FEWER_FROM
    return Sample(points=FEWER) if automatic else sample


def coranked(X: Any, Y: Any, ks: Any, setting: Any, *, area: bool = False) -> Coranked:
    """The ranks of X and Y at several k; setting: metric, sample, n_jobs."""
    data = read_data(X, setting.metric)
    embedding = read_embedding(Y, data.n)
    sizes = _checked_sizes(ks, data.n)
    if area and data.n < 3:
        raise ParameterError(f"The area under R_NX needs at least 3 points, but X has {data.n}. Pass more points.")
    points = chosen_points(data.n, points_for_area(data.n, setting.sample) if area else setting.sample)
    threads = resources.thread_count(setting.n_jobs)
    if data.kind == inputs.ROWS and setting.metric in ("euclidean", "l2", "sqeuclidean"):
        agreement, areas = _by_points(data.values, embedding, (points, sizes, area), threads)
    else:
        agreement, areas = _by_blocks(data, embedding, (points, sizes, area), setting.metric, threads)
    return Coranked(data.n, sizes, points, agreement, areas)


def _by_points(X: Any, Y: Any, what: Any, threads: int) -> tuple[Any, Any]:
    """From the rows themselves: all points at once, or in pieces if somebody wants to hear how many are done."""
    points, sizes, area = what
    wide = np.result_type(X, Y)
    X, Y = X.astype(wide, copy=False), Y.astype(wide, copy=False)
    step = len(points) if share_listener.get() is None else max(SMALLEST_PIECE, -(-len(points) // PIECES))
    parts = []
    for begin in range(0, len(points), max(1, step)):
        some = points[begin : begin + step].astype(np.int32)
        parts.append(native.kernels.coranking(X, Y, some, sizes, (False, area), threads))
        tell_share(begin + step, len(points))
    return np.concatenate([part[0] for part in parts]), np.concatenate([part[1] for part in parts])


def _by_blocks(data: inputs.Data, Y: Any, what: Any, metric: Metric, threads: int) -> tuple[Any, Any]:
    """The same from rows of distances under any metric, a few at a time."""
    points, sizes, area = what
    distances = PairDistances(data, metric)
    Y = np.ascontiguousarray(Y, np.float64)
    step = max(1, BLOCK_BYTES // (8 * data.n))
    parts = []
    for begin in range(0, len(points), step):
        some = points[begin : begin + step]
        D = np.ascontiguousarray(distances.rows(data.values[some], threads))
        parts.append(native.kernels.coranking(D, Y, some.astype(np.int32), sizes, (True, area), threads))
        tell_share(begin + step, len(points))
    return np.concatenate([part[0] for part in parts]), np.concatenate([part[1] for part in parts])


def _checked_sizes(ks: Any, n: int) -> NDArray[np.int64]:
    sizes = np.asarray(ks)
    whole = sizes.size == 0 or (sizes.dtype.kind in "iu" and sizes.ndim == 1)
    if not whole or (sizes.size and not (sizes.min() >= 1 and sizes.max() <= n - 2)):
        given = ks[0] if len(np.atleast_1d(sizes)) == 1 else ks
        raise ParameterError(
            f"k={given!r} is no size of a neighbourhood among n_samples = {n}: it must be an int from 1 to "
            f"{n - 2}. Use for example k={max(1, min(15, (n - 2) // 2))}."
        )
    return sizes.astype(np.int64)
