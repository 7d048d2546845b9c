"""Distances in the data against distances in the embedding: their correlation, and the stress that is left.

Pairs are taken by rows: the distances from some points, or all, to all others; sums over pairs need O(n) memory.
Spearman's correlation ranks pairs: of a sample of points at most PAIRS, drawn by lot from each row; of all points every
pair, some millions at a time (`ranks.py`). A sample of points is compared with at most OTHERS more, also drawn by lot,
not with a million.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lowfold import inputs
from lowfold.arguments import telling
from lowfold.backend import native, resources
from lowfold.errors import ParameterError
from lowfold.estimator import tell_share
from lowfold.metrics.ranks import rank_correlation, row_ranks, streamed_rank_correlation
from lowfold.metrics.score import (
    ARGUMENTS,
    GROUPS,
    Sample,
    Sampling,
    Score,
    chosen_points,
    grouped_error,
    read_data,
    read_embedding,
    rows_of,
)
from lowfold.neighbors.interface import Metric
from lowfold.neighbors.neighborhood import part_of

PAIRS = 500_000  # of a sample of points, whose ranks are taken
OTHERS = 5_000  # points to which the distances from a sample are taken
EXACT_UP_TO = 2_000  # points, for sample="auto": two million pairs, ranked in a second
BLOCK_BYTES = 16_000_000
PAIR_STREAM = 2 << 32  # of the random numbers


@telling(ARGUMENTS)
def shepard_correlation(
    X: Any,
    Y: Any,
    method: str = "spearman",
    *,
    metric: Metric = "euclidean",
    sample: Sampling = "auto",
    n_jobs: int | None = None,
) -> Score:
    """The correlation of distances in X and in Y over pairs of points.

    method: "spearman", of their ranks, or "pearson". per_point: the correlation over the pairs that a point is in.
    Where one side does not vary, it is 0.
    sample: "auto" takes all points up to 2,000, else 1,000; None takes all of any number, in less than a gigabyte. The
    time of Spearman's then grows like n^4 from 5,000 points on: all pairs pass by once for each twelve million of them.
    """
    if method not in ("spearman", "pearson"):
        raise ParameterError(f"method={method!r} must be 'spearman' or 'pearson'. Use for example method='spearman'.")
    rows = distance_rows(X, Y, metric, sample, n_jobs)
    if method == "pearson":
        moments = np.concatenate([_moments(a, b) for _, a, b in rows.blocks()])
        return rows.score(_pearson(moments), moments, lambda sums: float(_pearson(sums[None])[0]))
    per_point, pairs = [], []
    for where, a, b in rows.blocks():
        per_point.append(_pearson(_moments(row_ranks(a), row_ranks(b))))
        if rows.share < 1:
            pairs.append(rows.some_pairs(where, a, b))
    if rows.share == 1:
        value = streamed_rank_correlation(rows.all_pairs, rows.n * (rows.n - 1) // 2)
        return Score(value, 0.0, np.concatenate(per_point), rows.drawn)
    first, second, group = (np.concatenate(part) for part in zip(*pairs, strict=True))
    groups = [rank_correlation(first[group == g], second[group == g]) for g in range(GROUPS) if (group == g).any()]
    error = grouped_error(np.array(groups)) if len(groups) > 1 else 0.0
    return Score(rank_correlation(first, second), error, np.concatenate(per_point), rows.drawn)


@telling(ARGUMENTS)
def normalized_stress(
    X: Any,
    Y: Any,
    *,
    scaled: bool = True,
    metric: Metric = "euclidean",
    sample: Sampling = "auto",
    n_jobs: int | None = None,
) -> Score:
    """sqrt(sum (delta - s d)^2 / sum delta^2) over pairs, delta in X and d in Y: 0 if all distances agree.

    s is the best factor, so that the size of an embedding does not matter, or 1 if not `scaled`. per_point: the same
    over the pairs that a point is in, with the common s. sample: as in `shepard_correlation`.
    """
    rows = distance_rows(X, Y, metric, sample, n_jobs)
    moments = np.concatenate([_moments(a, b) for _, a, b in rows.blocks()])

    def stress(sums: NDArray[np.float64], s: float) -> NDArray[np.float64]:
        left = sums[:, 3] - 2 * s * sums[:, 5] + s**2 * sums[:, 4]
        return np.sqrt(np.maximum(left, 0) / np.maximum(sums[:, 3], np.finfo(float).tiny))

    def factor(sums: NDArray[np.float64]) -> float:
        return 1.0 if not scaled else float(sums[5] / sums[4]) if sums[4] > 0 else 0.0

    total = moments.sum(axis=0)
    return rows.score(stress(moments, factor(total)), moments, lambda sums: float(stress(sums[None], factor(sums))[0]))


@dataclass(frozen=True, slots=True)
class DistanceRows:
    """Rows of distances in both spaces from the chosen points."""

    data: inputs.Data
    Y: Any
    metric: Metric
    points: NDArray[np.intp]
    threads: int
    drawn: NDArray[np.intp]  # what the user calls the points
    share: float  # of all points that were looked at

    @property
    def n(self) -> int:
        """The number of points."""
        return self.data.n

    def blocks(self) -> Iterator[tuple[slice, NDArray[np.float64], NDArray[np.float64]]]:
        """(which of the points, distances in X, distances in Y), each row without the point itself."""
        first = rows_of(self.data, self.metric, self.threads)
        second = rows_of(inputs.Data(inputs.ROWS, self.Y), "euclidean", self.threads)
        step = max(1, BLOCK_BYTES // (8 * self.n))
        for begin in range(0, len(self.points), step):
            some = self.points[begin : begin + step]
            others = np.arange(self.n) != some[:, None]
            a, b = (rows(some)[others].reshape(len(some), -1) for rows in (first, second))
            yield slice(begin, begin + len(some)), a, b
            tell_share(begin + len(some), len(self.points))

    def all_pairs(self) -> Iterator[tuple[Any, Any]]:
        """Distances of each pair of all points, once: column c of row i is point c below i, and c + 1 from there on."""
        for where, a, b in self.blocks():
            later = np.arange(self.n - 1) >= self.points[where][:, None]
            yield a[later], b[later]

    def some_pairs(self, where: slice, a: NDArray[np.float64], b: NDArray[np.float64]) -> tuple[Any, Any, Any]:
        """Distances of pairs for a common ranking, some of each row by lot or all, and the group of their points."""
        per_row = min(self.n - 1, max(1, PAIRS // len(self.points)))
        group = np.repeat(np.arange(where.start, where.stop) % GROUPS, per_row)
        if per_row == self.n - 1:
            return a.ravel(), b.ravel(), group
        bits = np.asarray(native.kernels.random_bits(0, PAIR_STREAM + where.start, len(a) * per_row))
        columns = (bits % np.uint64(self.n - 1)).astype(np.intp).reshape(len(a), -1)
        first, second = np.take_along_axis(a, columns, axis=1), np.take_along_axis(b, columns, axis=1)
        return first.ravel(), second.ravel(), group

    def score(self, per_point: NDArray[np.float64], moments: NDArray[np.float64], value: Any) -> Score:
        """A function of the sums over all pairs; its error from groups of points."""
        m = len(self.points)
        groups = np.array([value(moments[g::GROUPS].sum(axis=0)) for g in range(min(GROUPS, m))])
        return Score(value(moments.sum(axis=0)), grouped_error(groups, self.share), per_point, self.drawn)


def points_for_pairs(n: int, sample: Sampling) -> Sampling:
    """The sample for distances of pairs: fewer than of single points."""
    automatic = isinstance(sample, str) and sample == "auto" and n > EXACT_UP_TO
    return Sample() if automatic else sample


def distance_rows(X: Any, Y: Any, metric: Metric, sample: Sampling, n_jobs: int | None) -> DistanceRows:
    """Rows of distances from the points of a sample to all, or to OTHERS and themselves where there are more."""
    data = read_data(X, metric)
    if data.n < 3:
        raise ParameterError(f"Distances of pairs need at least 3 points to be compared, but X has {data.n}.")
    points = chosen_points(data.n, points_for_pairs(data.n, sample))
    embedding, share, drawn = read_embedding(Y, data.n), len(points) / data.n, points
    if len(points) + OTHERS < data.n and share < 1:
        among = np.union1d(points, np.random.default_rng(len(points)).choice(data.n, OTHERS, replace=False))
        data, embedding, points = part_of(data, among), embedding[among], np.searchsorted(among, points)
    return DistanceRows(data, embedding, metric, points, resources.thread_count(n_jobs), drawn, share)


def _moments(a: NDArray[np.float64], b: NDArray[np.float64]) -> NDArray[np.float64]:
    """(count, sum a, sum b, sum a^2, sum b^2, sum a b) of each row."""
    a, b = a.astype(np.float64, copy=False), b.astype(np.float64, copy=False)
    products = [np.einsum("ij,ij->i", u, v) for u, v in ((a, a), (b, b), (a, b))]
    return np.column_stack([np.full(len(a), a.shape[1]), a.sum(axis=1), b.sum(axis=1), *products])


def _pearson(sums: NDArray[np.float64]) -> NDArray[np.float64]:
    """Correlations from moments; 0 where one side does not vary."""
    count, a, b, aa, bb, ab = sums.T
    spread = np.maximum(aa - a * a / count, 0), np.maximum(bb - b * b / count, 0)
    varies = (spread[0] > 1e-14 * aa) & (spread[1] > 1e-14 * bb)
    size = np.sqrt(spread[0] * spread[1])
    return np.where(varies, (ab - a * b / count) / np.where(size > 0, size, 1.0), 0.0)
