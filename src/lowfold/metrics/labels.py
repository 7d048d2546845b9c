"""Whether points with the same label lie together in an embedding."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from lowfold import inputs
from lowfold.arguments import telling
from lowfold.backend import resources
from lowfold.errors import DataError, ParameterError
from lowfold.estimator import share_listener, tell_share
from lowfold.metrics.score import (
    ARGUMENTS,
    Sampling,
    Score,
    check_labels,
    chosen_points,
    mean_score,
    read_embedding,
    rows_of,
)
from lowfold.metrics.votes import shares_of_tied, winning_shares
from lowfold.neighbors.index import build_index
from lowfold.types import Floats, Neighbors

BLOCK_BYTES = 16_000_000
PIECE = 20_000  # points whose neighbours are looked for at once, if somebody wants to hear how many are done


@telling(ARGUMENTS)
def label_accuracy(Y: Any, labels: Any, k: int = 10, *, sample: Sampling = "auto", n_jobs: int | None = None) -> Score:
    """The share of points whose label most of their k nearest others have.

    Where several labels are equally frequent, the right one among them counts by its share. Where more others are
    equally far than are still wanted, they share the votes that are left.
    """
    embedding = read_embedding(Y)
    n = len(embedding)
    classes = check_labels(labels, n).astype(np.int32)
    if not isinstance(k, int | np.integer) or isinstance(k, bool) or not 1 <= k <= n - 1:
        raise ParameterError(f"k={k!r} must be an int from 1 to {n - 1}, as n_samples = {n}. Lower k.")
    points = chosen_points(n, sample)
    nearest = _nearest_others(embedding, points, min(int(k) + 1, n - 1), n_jobs)
    shares = winning_shares(classes[nearest.indices[:, :k]], classes[points])
    tied = (nearest.distances[:, k - 1] == nearest.distances[:, -1]) & (k < n - 1)
    if tied.any():
        shares[tied] = shares_of_tied(embedding, classes, points[tied], int(k), n_jobs)
    return mean_score(shares, points, n)


@telling(ARGUMENTS)
def silhouette(Y: Any, labels: Any, *, sample: Sampling = "auto", n_jobs: int | None = None) -> Score:
    """The mean of (b - a) / max(a, b), a the mean distance to points of the same label, b to those of the next one.

    Equals scikit-learn's `silhouette_score`; a point that is alone with its label counts 0.
    """
    embedding = read_embedding(Y)
    n = len(embedding)
    classes = check_labels(labels, n)
    sizes = np.bincount(classes)
    if not 2 <= len(sizes) < n:
        raise DataError(
            f"labels has {len(sizes)} different values for {n} points; a silhouette needs from 2 to {n - 1}. "
            f"Pass labels that group the points."
        )
    points = chosen_points(n, sample)
    order = np.argsort(classes, kind="stable")  # so that each class is a run
    places = np.empty(n, np.intp)
    places[order] = np.arange(n)
    rows = rows_of(inputs.Data(inputs.ROWS, embedding[order]), "euclidean", resources.thread_count(n_jobs))
    step = max(1, BLOCK_BYTES // (8 * n))
    values = []
    for begin in range(0, len(points), step):
        some = points[begin : begin + step]
        D = rows(places[some]).astype(np.float64, copy=False)
        D[np.arange(len(some)), places[some]] = 0
        values.append(_silhouettes(D, classes[some], sizes))
        tell_share(begin + step, len(points))
    return mean_score(np.concatenate(values), points, n)


def _silhouettes(D: Any, own: NDArray[np.intp], sizes: NDArray[np.intp]) -> NDArray[np.float64]:
    """Of points of the classes `own`, from their distances to all, which stand class by class."""
    sums = np.add.reduceat(D, np.concatenate([[0], np.cumsum(sizes)[:-1]]), axis=1)
    rows = np.arange(len(own))
    inside = sums[rows, own] / np.maximum(sizes[own] - 1, 1)
    means = sums / sizes
    means[rows, own] = np.inf
    outside = means.min(axis=1)
    larger = np.maximum(inside, outside)
    alone = (sizes[own] == 1) | (larger == 0)
    return np.where(alone, 0.0, (outside - inside) / np.where(larger > 0, larger, 1.0))


def _nearest_others(embedding: Floats, points: NDArray[np.intp], k: int, n_jobs: int | None) -> Neighbors:
    """The k nearest to each of the points, itself left out."""
    n, listened = len(embedding), share_listener.get() is not None
    index = build_index(embedding, search="exact", n_jobs=n_jobs)
    if len(points) == n and not (listened and n > PIECE):
        return index.query(None, k)
    piece = PIECE if listened else n
    parts = []
    for begin in range(0, len(points), piece):
        some = points[begin : begin + piece]
        parts.append(_others(index.query(embedding[some], k + 1), some))
        tell_share(begin + piece, len(points))
    indices, distances = (np.concatenate(part) for part in zip(*parts, strict=True))
    return Neighbors(indices, distances, n)


def _others(nearest: Neighbors, points: NDArray[np.intp]) -> tuple[Any, Any]:
    """Drops each point from its own neighbours, or the last of them where equal points stand before it."""
    own = nearest.indices == points[:, None]
    own[~own.any(axis=1), -1] = True
    shape = (len(points), nearest.k - 1)
    return nearest.indices[~own].reshape(shape), nearest.distances[~own].reshape(shape)
