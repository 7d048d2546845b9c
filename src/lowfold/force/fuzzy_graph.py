"""The fuzzy graph of UMAP: neighbours' degrees of belonging, joined, in an order that is good for memory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from lowfold import inputs
from lowfold.affinity.fuzzy import fuzzy_rows, fuzzy_union, held, mean_distance
from lowfold.affinity.targets import Target, read_target, with_labels, with_numbers
from lowfold.backend import native, resources
from lowfold.backend.embedding_protocol import Sparse
from lowfold.force.affinities import ORDER_NEIGHBORS, GivenAffinities, good_order
from lowfold.force.fuzzy_components import Remainder, between_members, check_policy, components_of, with_bridges
from lowfold.neighbors.components import bridged, findings_of
from lowfold.neighbors.index import build_index, index_of
from lowfold.neighbors.interface import NeighborIndex, Settings
from lowfold.neighbors.neighborhood import against, components_option, index_among
from lowfold.options import documented, option
from lowfold.types import Components, Floats, Indices


@documented
@dataclass(frozen=True, slots=True)
class Fuzzy:
    """How neighbours become a graph: `UMAP(graph=Fuzzy(local_connectivity=2.0))`."""

    local_connectivity: float = option(1.0, low=0, help="number of nearest neighbours that belong wholly to a point")
    set_op_mix_ratio: float = option(
        1.0,
        low=0,
        high=1,
        help="1: an edge is there if one end has it; 0: if both have, and from a point without any to its nearest "
        "neighbour; between: a mixture",
    )
    components: str = components_option("separate")
    target: str = option(
        "auto",
        choices=("auto", "labels", "numbers"),
        help="what y holds, where it is given; 'auto': numbers if any of them is not whole, else labels, -1 unknown",
    )
    target_weight: float = option(0.5, low=0, high=1, help="how much y counts against the data: 0 little, 1 alone")


class FuzzyGraph:
    """w_ij between the training points, or with the policy `largest` between those of the largest component.

    order (m,): the points in an order in which neighbours lie near each other in memory; entries are in it. outside:
    what is known of the points outside the largest component, the members being numbered without them; None: all are
    members. parts: how many components are left after the policy.
    """

    index: NeighborIndex  # unless affinities are given
    entries: Sparse
    order: NDArray[np.intp]
    outside: Remainder | None = None

    def __init__(self, data: inputs.Data, n_neighbors: int, settings: Settings, graph: str | Fuzzy) -> None:
        self.fuzzy = Fuzzy() if isinstance(graph, str) else graph
        self._threads = resources.thread_count(settings.n_jobs)
        self._target = None if data.target is None else read_target(data.target, data.n, self.fuzzy.target)
        self._recall: float | None = None
        self._alone = 0
        if data.kind == inputs.AFFINITY:
            self._given(data.values)
        else:
            self._built(data, n_neighbors, settings)
        if self._target is not None:
            self._sharpen(self._target.taken(self.order), n_neighbors, settings)
        found = components_of(self.entries, self.order, self.fuzzy.components)
        check_policy(found, data)
        self.parts = found.count if found.policy == "separate" else 1
        self._findings = findings_of(self._treated(found, data, n_neighbors, settings))

    def _treated(self, found: Components, data: inputs.Data, n_neighbors: int, settings: Settings) -> Components:
        """As the policy says."""
        if found.count > 1 and found.policy == "join":
            found = bridged(found, self.index)
            self.entries = with_bridges(self.entries, self.order, found.bridges)
        if found.count > 1 and found.policy == "largest":
            inside = found.labels == 0
            self.entries, self.order = between_members(self.entries, self.order, inside)
            members, points = np.flatnonzero(inside), np.flatnonzero(~inside)
            values = against(data, points, members)
            self.index = index_among(self.index, data, members, settings)
            self.outside = Remainder(points, members, *self._asked(values, min(n_neighbors - 1, len(members))))
        return found

    def _built(self, data: inputs.Data, n_neighbors: int, settings: Settings) -> None:
        """By the neighbours of each point."""
        self.index = index_of(data, settings)
        found = self.index.query(None, n_neighbors - 1)
        self._recall = found.recall
        self.mean = mean_distance(found.distances)
        P = fuzzy_rows(found.distances, self.fuzzy.local_connectivity, self.mean, self._threads)
        self.order = good_order(found.indices[:, :ORDER_NEIGHBORS], self._threads)
        place = np.empty(data.n, np.int32)
        place[self.order] = np.arange(data.n, dtype=np.int32)
        neighbors, P = place[found.indices[self.order]], P[self.order]
        union = fuzzy_union(neighbors, P, self.fuzzy.set_op_mix_ratio, self._threads)
        self.entries, self._alone = held(union, neighbors, P)

    def _given(self, W: Any) -> None:
        """The user's own degrees, as shares of the largest one."""
        self._affinities = GivenAffinities(W)
        self.order = self._affinities.order
        begin, columns, values = self._affinities.entries(1.0, self._threads)
        self.entries = begin, columns, values / values.max()

    def _sharpen(self, target: Target, n_neighbors: int, settings: Settings) -> None:
        if target.codes is not None:
            self.entries = with_labels(self.entries, target.codes, self.fuzzy.target_weight)
            return
        assert target.numbers is not None
        found = build_index(target.numbers, n_jobs=settings.n_jobs).query(None, n_neighbors - 1)
        P = fuzzy_rows(found.distances, 1.0, mean_distance(found.distances), self._threads)
        order = np.argsort(found.indices, axis=1)
        begin = np.arange(0, P.size + 1, P.shape[1], dtype=np.int64)
        columns = np.take_along_axis(found.indices, order, axis=1).ravel()
        other = begin, columns, np.take_along_axis(P, order, axis=1).ravel()
        self.entries = with_numbers(self.entries, other, self.fuzzy.target_weight)

    def new(self, data: inputs.Data, n_neighbors: int) -> tuple[Indices, Floats]:
        """(neighbours, degrees) of each new point among the members."""
        if self.outside is not None and data.kind == inputs.DISTANCES:
            data = inputs.Data(data.kind, data.values[:, self.outside.members])
        return self._asked(data.values, min(n_neighbors - 1, len(self.order)))

    def _asked(self, values: Any, k: int) -> tuple[Indices, Floats]:
        if self._recall is None:
            neighbors, P = self._affinities.new(values, self._threads)
            return neighbors, P / np.maximum(P.max(axis=1, keepdims=True), np.finfo(np.float32).tiny)
        found = self.index.query(values, k)
        return found.indices, fuzzy_rows(found.distances, self.fuzzy.local_connectivity, self.mean, self._threads)

    @property
    def rows(self) -> NDArray[np.intp]:
        """The rows of the data that the entries are of."""
        return self.order if self.outside is None else self.outside.members[self.order]

    def by_member(self, Y: Any) -> Any:
        """Rows in the order of the entries, brought into that of the data."""
        inside = np.empty_like(Y)
        inside[self.order] = Y
        return inside

    def matrix(self) -> csr_array:
        """In the order of the data; rows and columns of points outside the largest component are empty."""
        m = len(self.order)
        place = self.by_member(np.arange(m, dtype=np.int32))
        begin, columns, values = native.kernels.permuted(self.entries, place, True, self._threads)
        if self.outside is None:
            return csr_array((values, columns, begin), shape=(m, m))
        members, n = self.outside.members, m + len(self.outside.points)
        counts = np.zeros(n, np.int64)
        counts[members] = np.diff(begin)
        begin = np.concatenate([[0], np.cumsum(counts)])
        return csr_array((values, members[columns].astype(np.int32), begin), shape=(n, n))

    def findings(self) -> dict[str, Any]:
        """For the report of a fit."""
        found: dict[str, Any] = {} if self._recall is None else {"neighbour recall": self._recall}
        found["edges"] = len(self.entries[1]) // 2
        if self._alone:
            found["points without a mutual neighbour"] = f"{self._alone}, each with an edge to its nearest neighbour"
        if self.outside is not None:
            found["neighbours of the points outside"] = self.outside.neighbors.shape[1]
        if self._target is not None:
            found["target"] = self._target.findings()
        return found | self._findings
