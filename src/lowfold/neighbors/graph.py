"""`NeighborGraph`: the search as a scikit-learn transformer, for pipelines of scikit-learn and others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, Self

import numpy as np
from scipy.sparse import csr_array, csr_matrix
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import Tags

from lowfold import inputs
from lowfold.backend import resources
from lowfold.errors import ParameterError
from lowfold.estimator import Declaring
from lowfold.fitted import of_fitted
from lowfold.neighbors.engines import Cells, Exact
from lowfold.neighbors.index import SAME_METRIC, SPATIAL_METRICS, index_of
from lowfold.neighbors.interface import SEEDED, Settings, metric_option, search_option
from lowfold.options import n_jobs_option, option, random_state_option, validate
from lowfold.pairwise import squared_form
from lowfold.training import TrainingRows
from lowfold.types import Neighbors


class NeighborGraph(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Declaring):
    """The sparse graph of nearest neighbours, as KNeighborsTransformer of scikit-learn gives it.

    transform(X) has a row for each row of X and a column for each fitted point. With mode="distance" it holds the
    distances to the n_neighbors nearest points and to the point itself (n_neighbors + 1 entries in all, so that a
    method can drop the point); with mode="connectivity" ones for n_neighbors points. A row that was fitted is at 0
    from itself and from those equal to it, also where the metric says otherwise (that of a zero row under cosine is
    1), and they are among its entries, the first of them if there are more than entries. `index_` is the fitted
    search: index_.query(X, k) is by the metric alone, and says which share of the neighbours it finds, as `recall`.
    """

    accepts: ClassVar[frozenset[str]] = frozenset({*inputs.NEIGHBOR_KINDS, inputs.GAPS})

    mode: str = option("distance", choices=("distance", "connectivity"), help="kind of entries")
    n_neighbors: int = option(15, low=1, help="number of neighbours of each point")
    metric: str | Callable[..., float] = metric_option()
    search: str | Exact | Cells = search_option()
    n_jobs: int | None = n_jobs_option()
    random_state: int | np.random.RandomState | np.random.Generator | None = random_state_option(SEEDED)

    def fit(self, X: Any, y: Any = None) -> Self:
        """Indexes the rows of X. `y` is ignored, as pipelines expect."""
        with self._fitting():
            self._learn(X)
        return self

    def fit_transform(self, X: Any, y: Any = None) -> csr_matrix:
        """Indexes the rows of X and returns their graph; y is ignored."""
        if self.metric == "precomputed":
            X = squared_form(X)
        graph: csr_matrix = self.fit(X).transform(X)
        return graph

    def _learn(self, X: Any) -> None:
        validate(self)
        data = self._read(X, fitting=True)
        if self._entries > data.n:
            raise ParameterError(
                f"n_neighbors={self.n_neighbors} needs at least {self._entries} samples, but X has "
                f"n_samples = {data.n}. Lower n_neighbors, or pass more samples."
            )
        settings = Settings(metric=self.metric, search=self.search, n_jobs=self.n_jobs, random_state=self.random_state)
        self.index_ = index_of(data, settings)
        self._itself = self._own_places(data)
        self.n_samples_fit_ = data.n

    def _own_places(self, data: inputs.Data) -> _OwnPlaces | None:
        """Needed where other rows can be as near as a row itself, or sums be rounded, as scikit-learn's of sparse rows
        are; distances and graphs come with their own zeros."""
        own_nearest = isinstance(self.metric, str) and SAME_METRIC.get(self.metric, self.metric) in SPATIAL_METRICS
        if (data.kind == inputs.ROWS and own_nearest) or data.kind in (inputs.DISTANCES, inputs.GRAPH):
            return None
        return _OwnPlaces(data.values, resources.thread_count(self.n_jobs))

    @of_fitted
    def transform(self, X: Any) -> csr_matrix:
        """Returns the graph from the rows of X to the fitted points."""
        data = self._read(X, fitting=False)
        neighbors = self.index_.query(data.values, self._entries)
        itself = getattr(self, "_itself", None)  # a model that was stored before there were any has none
        if itself is not None:
            neighbors = itself.restored(neighbors, data.values)
        graph = neighbors.to_csr()
        if self.mode == "connectivity":
            graph = csr_array((np.ones_like(graph.data), graph.indices, graph.indptr), shape=graph.shape)
        return csr_matrix(graph, dtype=data.values.dtype)

    @property
    def _entries(self) -> int:
        """Of a row: distances come with that to the point itself."""
        return self.n_neighbors + (self.mode == "distance")

    @property
    def _n_features_out(self) -> int:
        return int(self.n_samples_fit_)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.metric == "nan_euclidean"
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


class _OwnPlaces:
    """Which fitted rows are equal, for metrics that do not always put a row nearest to itself."""

    def __init__(self, values: Any, threads: int) -> None:
        self._threads = threads
        self._rows = TrainingRows(values, threads)
        self._first = self._rows.first_equals(threads)

    def restored(self, neighbors: Neighbors, X: Any) -> Neighbors:
        """The neighbours of the rows of X, with a 0 for the fitted rows that each equals, as many as there is room."""
        first = self._rows.find(self._rows.alike(X), self._threads)
        own = (self._first[neighbors.indices] == first[:, None]) & (neighbors.distances == 0)
        room = np.minimum(np.bincount(self._first, minlength=len(self._first))[first], neighbors.k)
        indices, distances = neighbors.indices.copy(), neighbors.distances.copy()
        for row in np.flatnonzero((first >= 0) & (own.sum(axis=1) < room)):
            equal = np.flatnonzero(self._first == first[row])[: neighbors.k]
            others = ~np.isin(indices[row], equal)
            places = np.concatenate([equal, indices[row][others]])[: neighbors.k]
            lengths = np.concatenate([np.zeros(len(equal)), distances[row][others]])[: neighbors.k]
            order = np.lexsort((places, lengths))
            indices[row], distances[row] = places[order], lengths[order]
        return Neighbors(indices, distances, neighbors.n_points, neighbors.recall)
