"""What the methods on a neighbour graph share: the graph, its components, and new points by their neighbours in it."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from lowfold import inputs
from lowfold.errors import ParameterError
from lowfold.estimator import Estimator, Stopwatch
from lowfold.neighbors.engines import Cells, Exact
from lowfold.neighbors.interface import SEEDED, Settings, metric_option, search_option
from lowfold.neighbors.neighborhood import Neighborhood, against, components_option, neighborhood_of
from lowfold.options import memory_limit_option, n_jobs_option, option, random_state_option
from lowfold.spectral.problem import Block, Spectrum
from lowfold.types import Floats

MARGIN = 0.1  # of the width of a component: the free space beside it


@dataclass(frozen=True, slots=True)
class Piece:
    """Points that are embedded together: their numbers among the members of the graph, and the graph between them."""

    points: NDArray[np.intp]
    graph: csr_array
    values: Any  # the rows of these points, or of the distances or the graph given instead

    @property
    def n(self) -> int:
        """How many points there are."""
        return len(self.points)


@dataclass(frozen=True, slots=True)
class Solved:
    """The coordinates of a piece, the spectrum they come from, and what the method needs to place new points."""

    Y: Block
    spectrum: Spectrum
    state: Any = None


class GraphMethod(Estimator):
    """A method on the neighbour graph of its data: `_solve` embeds points that hang together, `_follow` places new
    ones. What a neighbourhood is, `n_neighbors`, the method declares itself."""

    accepts: ClassVar[frozenset[str]] = frozenset(inputs.NEIGHBOR_KINDS)
    skip: ClassVar[int] = 1  # trivial eigenvectors: a piece of n points has at most n - skip coordinates

    n_components: int = option(2, low=1, help="number of coordinates of the embedding")
    metric: str | Callable[..., float] = metric_option()
    components: str = components_option()
    search: str | Exact | Cells = search_option()
    n_jobs: int | None = n_jobs_option()
    random_state: int | np.random.RandomState | np.random.Generator | None = random_state_option(SEEDED)
    memory_limit: float | None = memory_limit_option()

    @abstractmethod
    def _solve(self, piece: Piece, m: int, watch: Stopwatch) -> Solved: ...

    @abstractmethod
    def _follow(self, values: Any, rows: csr_array, solved: Solved) -> Floats:
        """Coordinates of new points: `rows` has their distances to their neighbours among the points of a piece."""

    def _fit(self, data: inputs.Data, watch: Stopwatch, findings: dict[str, Any]) -> Floats:
        self._check_components(data.n)
        with watch.stage("neighbours"):
            self._hood = self._neighborhood(data)
        findings.update(self._hood.findings())
        self._solved = [self._solve_piece(points, data, watch) for points in self._hood.pieces()]
        findings.update(self._solved[0].spectrum.findings())
        self._offsets = side_by_side([solved.Y for solved in self._solved])
        self._keep(self._solved[0])
        embedding = np.empty((data.n, self.n_components))
        for points, solved, offset in zip(self._hood.pieces(), self._solved, self._offsets, strict=True):
            embedding[self._hood.members[points]] = solved.Y + offset
        if len(self._hood.members) < data.n:
            outside = np.setdiff1d(np.arange(data.n), self._hood.members)
            embedding[outside] = self._placed(against(data, outside, self._hood.members), outside=True)
        return embedding

    def _neighborhood(self, data: inputs.Data) -> Neighborhood:
        settings = Settings(metric=self.metric, search=self.search, n_jobs=self.n_jobs, random_state=self.random_state)
        return neighborhood_of(data, self.n_neighbors, settings, self.components)

    def _solve_piece(self, points: NDArray[np.intp], data: inputs.Data, watch: Stopwatch) -> Solved:
        whole = len(points) == data.n
        graph = self._hood.graph if len(points) == self._hood.graph.shape[0] else self._hood.graph[points][:, points]
        values = data.values if whole else data.values[self._hood.members[points]]
        m = min(self.n_components, len(points) - self.skip)
        if m < 1:
            return Solved(np.zeros((len(points), self.n_components)), NOTHING)
        solved = self._solve(Piece(points, csr_array(graph), values), m, watch)
        missing = self.n_components - m
        return Solved(np.pad(solved.Y, ((0, 0), (0, missing))), solved.spectrum, solved.state)

    def _keep(self, solved: Solved) -> None:
        """Stores what users read: of the only piece, or of the largest."""
        self.eigenvalues_ = solved.spectrum.values

    def _place(self, data: inputs.Data) -> Floats:
        given = data.kind in (inputs.DISTANCES, inputs.GRAPH)
        members = self._hood.members
        outside = given and len(members) < data.values.shape[1]  # columns of points outside the largest component
        return self._placed(data.values[:, members] if outside else data.values)

    def _placed(self, values: Any, *, outside: bool = False) -> Floats:
        """New points, or those outside the largest component, each among the piece that its nearest neighbour is in."""
        rows = self._hood.rows(values, nearest_at_least=outside)
        placed = np.zeros((rows.shape[0], self.n_components))
        piece_of = self._hood.labels[rows.indices[rows.indptr[:-1]]] if len(self._solved) > 1 else None
        for number, (points, solved) in enumerate(zip(self._hood.pieces(), self._solved, strict=True)):
            mine = np.arange(rows.shape[0]) if piece_of is None else np.flatnonzero(piece_of == number)
            if not len(mine):
                continue
            inner = rows[mine] if piece_of is None else csr_array(rows[mine][:, points])
            if solved.spectrum is not NOTHING:
                placed[mine, : len(solved.spectrum.values)] = self._follow(values[mine], inner, solved)
            placed[mine] += self._offsets[number]
        return placed

    def _check_components(self, n: int) -> None:
        if self.n_components > n - self.skip:
            raise ParameterError(
                f"n_components={self.n_components} needs at least {self.n_components + self.skip} samples, but X has "
                f"n_samples = {n}. Lower n_components, or pass more samples."
            )


NOTHING = Spectrum(np.empty(0), np.empty((0, 0)), np.empty(0), np.inf, "none", 0, True)


def side_by_side(parts: list[Block]) -> list[NDArray[np.float64]]:
    """Shifts along the first axis that keep several embeddings apart; none for a single one."""
    m = parts[0].shape[1]
    shifts, edge = [np.zeros(m)], float(parts[0][:, 0].max())
    for part in parts[1:]:
        low, high = float(part[:, 0].min()), float(part[:, 0].max())
        gap = MARGIN * max(high - low, float(np.ptp(parts[0][:, 0])))
        shift = np.zeros(m)
        shift[0] = edge + gap - low
        shifts.append(shift)
        edge += gap + high - low
    return shifts
