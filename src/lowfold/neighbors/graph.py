"""`NeighborGraph`: the search as a scikit-learn transformer, for pipelines of scikit-learn and others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, Self

import numpy as np
from scipy.sparse import csr_array, csr_matrix
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from lowfold import inputs
from lowfold.errors import ParameterError
from lowfold.estimator import Declaring
from lowfold.neighbors.engines import Cells, Exact
from lowfold.neighbors.index import index_of
from lowfold.neighbors.interface import SEEDED, Settings, metric_option, search_option
from lowfold.options import n_jobs_option, option, random_state_option, validate


class NeighborGraph(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Declaring):
    """The sparse graph of nearest neighbours, as KNeighborsTransformer of scikit-learn gives it.

    transform(X) has a row for each row of X and a column for each fitted point. With mode="distance" it holds the
    distances to the n_neighbors nearest points and to the point itself (n_neighbors + 1 entries in all, so that a
    method can drop the point); with mode="connectivity" ones for n_neighbors points. `index_` is the fitted search:
    index_.query(X, k) also says which share of the neighbours it finds, as `recall`.
    """

    accepts: ClassVar[frozenset[str]] = frozenset(inputs.NEIGHBOR_KINDS)

    mode: str = option("distance", choices=("distance", "connectivity"), help="kind of entries")
    n_neighbors: int = option(15, low=1, help="number of neighbours of each point")
    metric: str | Callable[..., float] = metric_option()
    search: str | Exact | Cells = search_option()
    n_jobs: int | None = n_jobs_option()
    random_state: int | np.random.RandomState | np.random.Generator | None = random_state_option(SEEDED)

    def fit(self, X: Any, y: Any = None) -> Self:
        """Indexes the rows of X. `y` is ignored, as pipelines expect."""
        with self._as_before_on_failure():
            self._learn(X)
        return self

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
        self.n_samples_fit_ = data.n

    def transform(self, X: Any) -> csr_matrix:
        """Returns the graph from the rows of X to the fitted points."""
        check_is_fitted(self)
        data = self._read(X, fitting=False)
        neighbors = self.index_.query(data.values, self._entries)
        graph = neighbors.to_csr()
        if self.mode == "connectivity":
            graph = csr_array((np.ones_like(graph.data), graph.indices, graph.indptr), shape=graph.shape)
        return csr_matrix(graph)

    @property
    def _entries(self) -> int:
        """Of a row: distances come with that to the point itself."""
        return self.n_neighbors + (self.mode == "distance")

    @property
    def _n_features_out(self) -> int:
        return int(self.n_samples_fit_)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
