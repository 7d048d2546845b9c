"""`build_index`: one way to all neighbour searches."""

from __future__ import annotations

import dataclasses
from typing import Any

from lowfold import inputs
from lowfold.errors import ParameterError
from lowfold.neighbors.directions import DirectionIndex
from lowfold.neighbors.duplicates import rows_index, sparse_index
from lowfold.neighbors.engines import Cells, Exact
from lowfold.neighbors.external import ExternalIndex
from lowfold.neighbors.interface import Metric, NeighborIndex, Settings, read_points
from lowfold.neighbors.precomputed import DistanceIndex, GraphIndex
from lowfold.neighbors.sharing import shared_index
from lowfold.neighbors.whitening import LEARNING_METRICS, WhitenedIndex
from lowfold.options import RandomState, validate

SPATIAL_METRICS = {"euclidean", "sqeuclidean", "manhattan", "chebyshev"}
DIRECTION_METRICS = {"cosine", "correlation"}
OWN_METRICS = SPATIAL_METRICS | DIRECTION_METRICS | set(LEARNING_METRICS)
# Other names in scikit-learn for what has one here; Minkowski's is Euclid's unless somebody gives it another exponent.
SAME_METRIC = {
    "l2": "euclidean", "minkowski": "euclidean", "p": "euclidean", "l1": "manhattan",
    "cityblock": "manhattan", "infinity": "chebyshev", "sokalmichener": "rogerstanimoto",
}  # fmt: skip


def build_index(
    X: Any,
    *,
    metric: Metric = "euclidean",
    search: Exact | Cells | str = "auto",
    n_jobs: int | None = None,
    random_state: RandomState = 0,
) -> NeighborIndex:
    """An index of the rows of X, for `query(X_new or None, k)`.

    X is an array, a DataFrame or a SciPy sparse matrix; with metric="precomputed" a square array of distances or a
    sparse neighbour graph; with metric="nan_euclidean" numbers may be missing (NaN). The metrics euclidean,
    sqeuclidean, cosine, correlation, manhattan, chebyshev, seuclidean and mahalanobis on arrays run on Lowfold's own
    search; other metrics of scikit-learn, functions and sparse rows run on scikit-learn's. `search` is "exact", "cells"
    (approximate, its recall estimated), an engine, or "auto", which is exact where that is quick. The result is the
    same for any `n_jobs`. random_state: seed of the cells and samples of the approximate search; None draws one.
    """
    settings = Settings(metric=metric, search=search, n_jobs=n_jobs, random_state=random_state)
    validate(settings, "build_index")
    return index_of(read_points(X, metric, n_jobs), settings).of_table(X)


def index_of(data: inputs.Data, settings: Settings) -> NeighborIndex:
    """The index for checked data."""
    return shared_index(data, settings, lambda: _new_index(data, settings))


def _new_index(data: inputs.Data, settings: Settings) -> NeighborIndex:
    if isinstance(settings.metric, str):
        settings = dataclasses.replace(settings, metric=SAME_METRIC.get(settings.metric, settings.metric))
    if data.kind != inputs.ROWS or settings.metric not in OWN_METRICS:
        _refuse_cells(data.kind, settings)
    if data.kind == inputs.DISTANCES:
        return DistanceIndex(data.values)
    if data.kind == inputs.GRAPH:
        return GraphIndex(data.values)
    if not isinstance(settings.metric, str):
        return ExternalIndex(data.values, settings)
    if settings.metric in LEARNING_METRICS:
        return WhitenedIndex(data.values, settings)
    if data.kind == inputs.ROWS and settings.metric in SPATIAL_METRICS:
        return rows_index(data.values, settings.metric, settings)
    if settings.metric == "cosine" or (data.kind == inputs.ROWS and settings.metric in DIRECTION_METRICS):
        return DirectionIndex(data.values, settings)
    if data.kind == inputs.SPARSE_ROWS and settings.metric in ("euclidean", "sqeuclidean"):
        return sparse_index(data.values, settings)
    return ExternalIndex(data.values, settings)


def _refuse_cells(kind: str, settings: Settings) -> None:
    if settings.search == "cells" or isinstance(settings.search, Cells):
        raise ParameterError(
            f"search={settings.search!r} has nothing to act on: {kind} with metric={settings.metric!r} are searched "
            f"exactly. Leave search='auto', or pass rows in an array and a metric such as 'euclidean'."
        )
