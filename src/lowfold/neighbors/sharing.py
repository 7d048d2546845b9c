"""One neighbour search for several methods: inside `shared_neighbors`, the same data are indexed and searched once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from lowfold import inputs
from lowfold.neighbors.interface import NeighborIndex, Settings
from lowfold.types import Floats, Neighbors

MOST_INDICES = 8  # that are kept: other metrics and seeds are tried over hours where a server shares them

_shared: ContextVar[Shared | None] = ContextVar("lowfold_shared_neighbors", default=None)


@contextmanager
def shared_neighbors() -> Iterator[Shared]:
    """Inside, fits to one array share its index, and a search for fewer neighbours than before is read off that one.

    Exact searches give the same bits as alone. Approximate ones are at least as good.
    """
    shared = Shared()
    token = _shared.set(shared)
    try:
        yield shared
    finally:
        _shared.reset(token)


class Shared:
    """The indices made so far; `searches` counts how often neighbours of all points were looked for."""

    def __init__(self) -> None:
        self._indices: dict[Any, SharedIndex] = {}
        self._forgotten = 0  # searches of indices that are no longer kept

    @property
    def searches(self) -> int:
        """Over all indices."""
        return self._forgotten + sum(index.searches for index in list(self._indices.values()))

    def index(self, data: inputs.Data, settings: Settings, make: Callable[[], NeighborIndex]) -> NeighborIndex:
        """The index of these data, made if there is none yet."""
        key = _key(data, settings)
        found = self._indices.get(key)
        if found is None:
            found = self._indices[key] = SharedIndex(make(), data.values)
            for old in list(self._indices)[:-MOST_INDICES]:
                dropped = self._indices.pop(old, None)
                self._forgotten += 0 if dropped is None else dropped.searches
        return found


def shared_index(data: inputs.Data, settings: Settings, make: Callable[[], NeighborIndex]) -> NeighborIndex:
    """The common index inside `shared_neighbors`, else a new one."""
    shared = _shared.get()
    if shared is None or issparse(data.values) or not isinstance(settings.random_state, int | None):
        return make()
    return shared.index(data, settings, make)


class SharedIndex(NeighborIndex):
    """An index that remembers its longest answer about its own points."""

    def __init__(self, index: NeighborIndex, values: Any) -> None:
        self.n = index.n
        self.searches = 0
        self._index = index
        self._values = values  # kept: its address is what tells these data from others
        self._known: Neighbors | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {
            "n": self.n,
            "searches": 0,
            "_index": self._index,
            "_values": None,
            "_known": None,
            "_columns": self._columns,
        }

    def _points_query(self, k: int) -> Neighbors:
        if self._known is None or self._known.k < k:
            self._known = self._index.query(None, k)
            self.searches += 1
        known = self._known
        indices, distances = np.ascontiguousarray(known.indices[:, :k]), np.ascontiguousarray(known.distances[:, :k])
        return Neighbors(indices, distances, known.n_points, known.recall)

    def _new_query(self, X: Any, k: int) -> Neighbors:
        return self._index.query(X, k)

    def closest_pair(self, a: NDArray[np.intp], b: NDArray[np.intp]) -> tuple[int, int, float]:
        """Of the index itself."""
        return self._index.closest_pair(a, b)

    def nearest_points(self, points: NDArray[np.intp], k: int) -> Neighbors | None:
        """Of the index itself."""
        return self._index.nearest_points(points, k)

    def rows_measured(self) -> tuple[Floats, str] | None:
        """Of the index itself."""
        return self._index.rows_measured()

    def part(self, points: NDArray[np.intp]) -> NeighborIndex | None:
        """Of the index itself."""
        return self._index.part(points)


def _key(data: inputs.Data, settings: Settings) -> Any:
    """What two searches must have in common to be one."""
    values = data.values
    metric = settings.metric if isinstance(settings.metric, str) else id(settings.metric)
    return data.kind, values.ctypes.data, values.shape, values.dtype.str, metric, settings.search, settings.random_state
