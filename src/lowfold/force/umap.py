"""Uniform manifold approximation and projection (McInnes, Healy and Melville 2018).

Each point's neighbours belong to it to a degree of exp(-max(0, d - rho) / sigma); the union of both directions' degrees
is w_ij. In the embedding a pair belongs together to the degree v = 1 / (1 + a r^b), r its squared distance, and the
cross-entropy of w and v is lowered by sampled forces: an edge pulls as often as it weighs, and each time some points
drawn by lot push (`sampled.py` says which cross-entropy that makes). Steps shorten to nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn.utils.validation import check_is_fitted

from lowfold import inputs
from lowfold.errors import ParameterError, warn
from lowfold.estimator import Stopwatch
from lowfold.fitted import of_fitted
from lowfold.force.fuzzy_components import start_by_components
from lowfold.force.fuzzy_graph import Fuzzy, FuzzyGraph
from lowfold.force.preimages import Preimages
from lowfold.force.sampled import Curve, Epochs, Layout, curve_of, epochs_of, placed
from lowfold.force.start import init_option, start_of
from lowfold.force.watched import Watched
from lowfold.neighbors.interface import SEEDED, Settings, metric_option
from lowfold.options import (
    check_whole,
    memory_limit_option,
    n_jobs_option,
    option,
    random_state_option,
    refuse_ignored,
    seed_of,
    validate,
)
from lowfold.spectral.eigen import factor_memory
from lowfold.types import Floats, Indices, Step

# Of the start: two thirds of the points lie within WIDTH of the middle, where groups a few units across can still pass
# each other, and none farther away than FARTHEST.
WIDTH, FARTHEST = 1.2, 4.0
MIDDLE = 0.68  # as many as within a standard deviation of a Gaussian
LEAST_MIDDLE = 1e-4  # of the farthest point's distance: less is none
NOISE = 1e-4  # keeps points apart that a start puts in one place


class UMAP(Watched):
    """UMAP: lowers the cross-entropy between fuzzy neighbourhoods in the data and in the embedding.

    embedding_, graph_ (the fuzzy union, sparse), loss_ and loss_error_ (sampled cross-entropy and its standard error),
    history_ (epoch, loss, error), n_iter_ (epochs), report_. The same bits for any number of threads.

    `fit(X, y)` draws points with the same label (-1: unknown), or with near numbers, together: Fuzzy(target=...).
    """

    accepts: ClassVar[frozenset[str]] = frozenset(inputs.NEIGHBOR_KINDS) | {inputs.AFFINITY}
    supervised: ClassVar[bool] = True
    _optimiser: ClassVar[str] = "_layout"

    n_components: int = option(2, low=1, help="number of coordinates of the embedding")
    n_neighbors: int = option(15, low=2, help="number of neighbours of each point, itself counted as the first")
    min_dist: float | Curve = option(
        0.1, low=0, help="distance up to which neighbours may lie as close as they like, or Curve(spread, a, b, ...)"
    )
    graph: str | Fuzzy = option("fuzzy", choices=("fuzzy",), help="fuzzy graph of the data, by name or Fuzzy(...)")
    schedule: str | Epochs = option("epochs", choices=("epochs",), help="epochs and steps, by name or Epochs(...)")
    init: str | np.ndarray = init_option()
    metric: str | Callable[..., float] = metric_option()
    n_jobs: int | None = n_jobs_option()
    random_state: int | np.random.RandomState | np.random.Generator | None = random_state_option(
        "the points that push, of a random start, and of " + SEEDED
    )
    memory_limit: float | None = memory_limit_option()

    def resume(self, n_epochs: int, learning_rate: float = 0.25) -> UMAP:
        """Goes on from the embedding for n_epochs more, with steps that shorten to nothing again.

        learning_rate: factor of their length, as in Epochs.
        """
        check_is_fitted(self)
        count = check_whole(n_epochs, "n_epochs", 0)
        validate(Epochs(n_epochs=count, learning_rate=learning_rate), "resume")
        self._resume(lambda: self._steps(count, float(learning_rate)), given=f"learning_rate={learning_rate!r}")
        return self

    @of_fitted
    def inverse_transform(self, Y: Any) -> Any:
        """Returns rows of the data space for coordinates Y in the embedding, of any dimension, each by itself.

        The mean of the rows of the nearest embedded points, weighted by the degrees to which these belong to y; the
        coordinates of a training point give its own row. A warning says how many lie where there are no points.
        """
        back = self._back()
        Y = back.read(Y)
        outside = int((~back.supported(Y)).sum())
        if outside:
            warn(
                f"{outside} of {len(Y)} coordinates lie outside of the embedding's support, where no points are: the "
                f"rows returned for them say little. in_support(Y) tells which.",
            )
        return back.rows(Y)

    @of_fitted
    def in_support(self, Y: Any) -> NDArray[np.bool_]:
        """Returns for each row of Y, coordinates in the embedding, whether it lies among embedded points.

        It does if its nearest one is no farther away than that one's own last neighbour in the embedding.
        """
        back = self._back()
        return back.supported(back.read(Y))

    @property
    def graph_(self) -> csr_array:
        """The fuzzy graph, a sparse matrix in the order of the data, made anew at each call."""
        check_is_fitted(self)
        return self._graph.matrix()

    def _fit(self, data: inputs.Data, watch: Stopwatch, findings: dict[str, Any]) -> Floats:
        self._check(data)
        epochs, seed = epochs_of(self.schedule), seed_of(self.random_state)
        settings = Settings(metric=self.metric, n_jobs=self.n_jobs, random_state=seed)
        with watch.stage("graph"):
            self._graph = FuzzyGraph(data, self.n_neighbors, settings, self.graph)
        findings.update(self._graph.findings())
        with watch.stage("start"):
            Y = self._start(data, seed)
        self._curve = curve_of(self.min_dist)
        self._layout = Layout(self._graph.entries, Y, self._curve, epochs, (seed, self._threads))
        self._rows = data
        self._equal = None if self._training is None else self._training.find(data.values, self._threads)
        with watch.stage("layout"), self._kept_when_interrupted(data, watch, findings):
            self._drain(self._steps(epochs.count(len(self._layout.Y)), epochs.learning_rate))
        with self._kept_when_interrupted(data, watch, findings):
            return self._finished(findings)

    def _start(self, data: inputs.Data, seed: int) -> Floats:
        """In the order of the graph, drawn together; a given one as it is."""
        init = "spectral" if isinstance(self.init, str) and self.init == "auto" else self.init
        d, graph = self.n_components, self._graph
        if isinstance(init, str) and init == "spectral" and graph.parts > 1:
            Y = start_by_components(graph.entries, d, self.n_jobs)
        else:
            Y = start_of(init, data, (graph.entries, graph.rows), (d, 1.0, seed), self.n_jobs)
        if not isinstance(init, str):
            return Y.astype(np.float32)
        noise = NOISE * np.random.default_rng(seed).standard_normal(Y.shape)
        return (drawn_together(Y) + noise).astype(np.float32)

    def _steps(self, count: int, rate: float) -> Iterator[Step]:
        for epoch, Y, loss in self._layout.run(count, rate):
            inner, order = self._with_outside(Y)
            yield Step(epoch, "layout", inner, order, loss, None)

    def _with_outside(self, Y: Floats) -> tuple[Floats, NDArray[np.intp]]:
        """(coordinates, rows of the data) at an epoch; points outside the layout stand among their neighbours in it."""
        outside = self._graph.outside
        if outside is None:
            return Y, self._graph.order
        inside = self._graph.by_member(Y)
        own = among(outside.neighbors, outside.degrees, inside)
        return np.concatenate([inside, own]), np.concatenate([outside.members, outside.points])

    def _callback(self) -> Callable[[Step], Any] | None:
        return epochs_of(self.schedule).callback

    def _finished(self, findings: dict[str, Any]) -> Floats:
        layout = self._layout
        layout.look()
        self.history_ = np.array(layout.history)
        self.n_iter_ = layout.epoch
        self.loss_, self.loss_error_ = (float(value) for value in self.history_[-1, 1:])
        findings.update(epochs=self.n_iter_, loss=self.loss_, **{"loss error": self.loss_error_})
        if layout.ended:
            findings["ended"] = "by the loss, which no longer fell by more than its error"
        findings.update(a=self._curve[0], b=self._curve[1])
        Y, outside = self._graph.by_member(layout.Y), self._graph.outside
        if outside is not None:
            Y = outside.with_members(Y, self._drawn((outside.neighbors, outside.degrees), Y))
        if self._equal is not None:
            Y = Y[self._equal]  # equal rows lie in one place
        self._frozen = Y
        self._preimages: Preimages | None = None
        return Y

    def _back(self) -> Preimages:
        if self._preimages is None:
            self._preimages = Preimages(self._rows, self._frozen, self.n_neighbors - 1, self.n_jobs)
        return self._preimages

    def _place(self, data: inputs.Data) -> Floats:
        outside = self._graph.outside
        members = self._frozen if outside is None else self._frozen[outside.members]
        return self._drawn(self._graph.new(data, self.n_neighbors), members)

    def _drawn(self, found: tuple[Indices, Floats], members: Floats) -> Floats:
        """New points, by their neighbours among the members and the degrees of those, which stay where they are."""
        neighbors, P = found
        n, k = P.shape
        entries = np.arange(0, n * k + 1, k, dtype=np.int64), neighbors.ravel(), P.ravel()
        start, epochs = among(neighbors, P, members), epochs_of(self.schedule)
        return placed(entries, start, members, self._curve, epochs, self._threads)

    def _check(self, data: inputs.Data) -> None:
        if self.metric == "affinity":
            given = "With metric='affinity' X holds the affinities"
            refuse_ignored(self, ("n_neighbors",), given)
            if isinstance(self.graph, Fuzzy):
                refuse_ignored(self.graph, ("local_connectivity", "set_op_mix_ratio"), given)
        if data.target is None and isinstance(self.graph, Fuzzy):
            refuse_ignored(self.graph, ("target", "target_weight"), "fit was given no y")
        if self.n_neighbors > data.n and self.metric != "affinity":
            raise ParameterError(
                f"n_neighbors={self.n_neighbors} (each point itself counted) needs at least as many samples, but X has "
                f"n_samples = {data.n}. Lower n_neighbors, or pass more samples."
            )
        if self.n_components >= data.n:
            raise ParameterError(
                f"n_components={self.n_components} needs more samples than that, but X has n_samples = {data.n}. "
                f"Lower n_components to {max(1, data.n - 1)} or less."
            )
        if isinstance(self.init, str) and self.init == "pca" and self.metric in ("precomputed", "affinity"):
            raise ParameterError(f"init='pca' needs rows of numbers, but metric={self.metric!r}. Use init='spectral'.")

    def _memory(self, n_samples: int, n_features: int) -> int:
        # Neighbours, distances, degrees; both directions while they are merged; entries of the graph and of the layout.
        k = min(self.n_neighbors, n_samples)
        rows = int(n_samples * (8 * n_features + 100 * k + 100 * self.n_components + 300))
        return rows + (factor_memory(n_samples, k) if isinstance(self.init, str) and self.init != "pca" else 0)

    def _cheaper(self) -> str:
        return "Lower n_neighbors, or fit fewer samples and place the rest with transform."


def among(neighbors: Indices, P: Floats, Y: Floats) -> Floats:
    """The mean of each point's neighbours, weighted by their degrees."""
    return np.einsum("ij,ijd->id", P / P.sum(axis=1, keepdims=True), Y[neighbors]).astype(np.float32)


def drawn_together(Y: Floats) -> NDArray[np.float64]:
    """A start of the right size: the widest coordinate's middle is WIDTH to either side, and nothing beyond FARTHEST.

    A few points far away, as a vector has that is large at them alone, would make the others one point, or stay away.
    """
    Y = Y - np.median(Y, axis=0).astype(np.float64)
    away = np.abs(Y)
    middle = float(np.quantile(away, MIDDLE, axis=0).max(initial=0.0))
    if middle <= LEAST_MIDDLE * float(away.max(initial=0.0)):  # most points are in one place
        middle = float(Y.std(axis=0).max(initial=0.0))
    Y *= WIDTH / max(middle, 1e-12)
    return Y / np.sqrt(1 + np.square(Y / FARTHEST))
