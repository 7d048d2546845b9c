"""How many coordinates the data need: intrinsic dimension from distances to neighbours, elbows and gaps of spectra."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from sklearn.utils.validation import check_is_fitted

from lowfold import inputs
from lowfold.arguments import telling
from lowfold.errors import DataError, ParameterError
from lowfold.metrics.score import ARGUMENTS, GROUPS, Sampling, Score, chosen_points, grouped_error, read_embedding
from lowfold.metrics.shepard import shepard_correlation
from lowfold.neighbors.index import index_of
from lowfold.neighbors.interface import Metric, Settings, read_points
from lowfold.neighbors.neighborhood import part_of
from lowfold.options import check_whole, validate

KEPT = 0.9  # of the ratios, the smaller ones: the largest come from the edge of the data and from outliers


@telling(ARGUMENTS)
def intrinsic_dimension(
    X: Any,
    method: str = "two_nn",
    *,
    k: int = 20,
    metric: Metric = "euclidean",
    sample: Sampling = None,
    n_jobs: int | None = None,
) -> Score:
    """The dimension of the manifold that the points of X lie on.

    method: "two_nn" (Facco et al. 2017): the ratio mu of each point's second to its first neighbour's distance has the
    distribution 1 - mu^-d; d is the slope of -log(1 - F) over log mu, of nine tenths of the points. per_point:
    1 / log mu.
    "mle" (Levina and Bickel 2005): 1 / d is the mean over neighbours j < k of log(r_k / r_j), averaged over points
    (MacKay and Ghahramani 2005). per_point: each point's own d. Equal points count once, and only the first of
    them is among `points`; k only matters to "mle".
    """
    if method not in ("two_nn", "mle"):
        raise ParameterError(f"method={method!r} must be 'two_nn' or 'mle'. Use for example method='two_nn'.")
    settings = Settings(metric=metric, n_jobs=n_jobs)
    validate(settings)
    data = read_points(X, metric, n_jobs)
    wanted = 2 if method == "two_nn" else check_whole(k, "k", 2)
    if wanted > data.n - 2 >= 2:  # of fewer points no k is right, which is said below
        raise ParameterError(f"k={k!r} needs k from 2 to {data.n - 2}, as n_samples = {data.n}. Lower k.")
    distinct, distances = _distances_of_distinct(data, settings, wanted)
    chosen = chosen_points(len(distinct), sample)
    values = _two_nn(distances[chosen]) if method == "two_nn" else _likelihood(distances[chosen])
    if not np.isfinite(values[0]):
        raise DataError("All neighbours of every point are equally far, so their distances tell no dimension.")
    return Score(values[0], values[1], values[2], distinct[chosen])


def _distances_of_distinct(
    data: inputs.Data, settings: Settings, k: int
) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """(the first of each group of equal points, the distances of each of them to its k nearest of the others).

    Points are equal if their distance is 0. Only the k nearest are seen, so that a large group may be found in parts.
    """
    points, some = np.arange(data.n), data
    while len(points) >= k + 2:
        nearest = index_of(some, settings).query(None, k)
        row, column = np.nonzero(nearest.distances == 0)
        if not len(row):
            return points, nearest.distances.astype(np.float64)
        pairs = coo_array((np.ones(len(row)), (row, nearest.indices[row, column])), shape=(len(points), len(points)))
        points = points[np.sort(np.unique(connected_components(pairs, directed=False)[1], return_index=True)[1])]
        some = part_of(data, points)
    raise DataError(
        f"X has {len(points)} different points among its {data.n}, but the distances to {k} neighbours need at least "
        f"{k + 2}. Pass more that differ{', or lower k' if k > 2 else ''}."
    )


def _two_nn(distances: NDArray[np.float64]) -> tuple[float, float, NDArray[np.float64]]:
    logs = np.log(distances[:, 1] / distances[:, 0])
    with np.errstate(divide="ignore"):
        per_point = 1 / logs
    groups = np.array([_slope(logs[g::GROUPS]) for g in range(GROUPS)]) if len(logs) >= 10 * GROUPS else np.zeros(2)
    return _slope(logs), grouped_error(groups), per_point


def _slope(logs: NDArray[np.float64]) -> float:
    """Of the line through 0 that fits -log(1 - F) over log mu best."""
    n = len(logs)
    x = np.sort(logs)[: max(2, int(KEPT * n))]
    y = -np.log1p(-np.arange(1, len(x) + 1) / (n + 1))
    # Not x @ y: BLAS would take it on as many threads as there are, and its last digits with them.
    return float(np.einsum("i,i->", x, y) / np.einsum("i,i->", x, x)) if x.any() else float("inf")


def _likelihood(distances: NDArray[np.float64]) -> tuple[float, float, NDArray[np.float64]]:
    k = distances.shape[1]
    logs = np.log(distances[:, -1:] / distances[:, :-1])
    inverse = logs.sum(axis=1) / max(k - 2, 1)  # k - 2, not k - 1, makes the mean of it right
    with np.errstate(divide="ignore"):
        value, per_point = float(1 / inverse.mean()), 1 / inverse
    error = value**2 * float(inverse.std(ddof=1) / np.sqrt(len(inverse)))
    return value, error, per_point


@telling(ARGUMENTS)
def residual_variance(
    X: Any, Y: Any, *, metric: Metric = "euclidean", sample: Sampling = "auto", n_jobs: int | None = None
) -> NDArray[np.float64]:
    """1 - r^2 between distances in X and in the first 1, 2, ... coordinates of Y: see the elbow.

    sample: as in `shepard_correlation`.
    For Isomap's shortest paths instead of distances in X: `Isomap.residual_variance()`.
    """
    embedding = read_embedding(Y)
    counts = range(1, embedding.shape[1] + 1)
    found = [
        shepard_correlation(X, embedding[:, :m], "pearson", metric=metric, sample=sample, n_jobs=n_jobs) for m in counts
    ]
    return np.array([1 - score.value**2 for score in found])


@dataclass(frozen=True, slots=True)
class EigenvalueGaps:
    """The eigenvalues of a fitted spectral method, the gaps between them, and where the largest gap is.

    relative (m - 1,): each gap as a share of the larger of its two ends. suggested: the number of coordinates before
    the largest relative gap.
    """

    values: NDArray[np.float64]
    gaps: NDArray[np.float64]
    relative: NDArray[np.float64]
    suggested: int


def eigenvalue_gaps(model: Any) -> EigenvalueGaps:
    """The spectrum of a fitted spectral model: a gap behind the m-th value says that m coordinates stand out.

    For walks (diffusion maps, Laplacian eigenmaps) the gap is that of 1 - eigenvalue, the rate at which the coordinate
    fades. Fit with more components than you want, to see what comes behind.
    """
    check_is_fitted(model)
    values = getattr(model, "eigenvalues_", getattr(model, "explained_variance_", None))
    if values is None:
        raise ParameterError(f"{type(model).__name__} has no eigenvalues. Pass a fitted spectral method, such as PCA.")
    values = np.asarray(values, np.float64)
    if len(values) < 2:
        raise ParameterError(f"A gap lies between two eigenvalues, but the model has {len(values)}. Fit with more.")
    gaps = np.abs(np.diff(values))
    # Values near 1 that fall are those of a walk: how fast they fade is what differs between them.
    fading = np.all(np.diff(values) <= 0) and hasattr(model, "right_eigenvectors_")
    sizes = np.abs(1 - values) if fading else np.abs(values)
    relative = np.abs(np.diff(sizes)) / np.maximum(np.maximum(sizes[1:], sizes[:-1]), np.finfo(float).tiny)
    return EigenvalueGaps(values, gaps, relative, int(np.argmax(relative)) + 1)
