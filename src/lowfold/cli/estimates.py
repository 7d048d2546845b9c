"""What a fit will take: trials on a few thousand rows, continued by how the time of each stage grows.

A stage takes a + b n^p seconds; two trials tell a and b, and what the stage does tells p: 1 where rows are treated one
by one, 2 where all pairs are. An optimisation's time is that of an iteration, times how many the schedule takes for n
points. Memory is the method's own estimate, corrected by the larger trial. What cannot be seen in a few rows is how
long an optimisation or an eigensolver will go on.
"""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias

import numpy as np
from scipy.sparse import csr_array, issparse
from sklearn.base import clone

from lowfold.comparison import PeakMemory
from lowfold.errors import LowfoldError
from lowfold.estimator import Estimator
from lowfold.inputs import is_pairwise
from lowfold.methods import METHODS
from lowfold.neighbors.graph import NeighborGraph
from lowfold.spectral.graph_method import GraphMethod
from lowfold.spectral.kernel_pca import KEPT_SIZE, KernelPCA
from lowfold.spectral.patch_method import PatchMethod
from lowfold.watching import schedule_in

TRIALS = (2_000, 4_000)  # rows: enough for each method to go the way it goes on many
SEARCH, PAIRS = 1.15, 2.0  # powers of n in the time of a neighbour search, and of what looks at all pairs
GROWTH = {
    "neighbours": SEARCH, "graph": SEARCH, "affinities": SEARCH, "local problems": 1.0, "centre": 1.0,
    "project": 1.0, "layout": 1.0, "optimisation": 1.0, "finish": 1.0, "rest": 1.0, "shortest paths": 2.4,
    "kernel": PAIRS, "distances": PAIRS,
}  # fmt: skip
ITERATED = ("optimisation", "layout")
SOLVED = 0.7  # in that of eigenvectors of a sparse graph: past a few thousand points a filter takes over from factors
TRIAL_WORK = {"spectral": 1.0, "stress": 10.0, "force": 3.0}  # how long the trials of a method take beside each other
RENEWED = 1.7  # what a product with a kernel made anew takes, beside making it; and more are needed of more rows
TRIAL_GROWTH = 1.5  # power of n in the time of a trial, of which no more is known
TELLING = 30_000_000  # bytes: a trial that needs less tells nothing about the estimate of memory
LIKENESS = 3  # dimensions of the points whose graph stands for another
FACTORS, MOST_FILL = 2.25, 1.6  # powers of n in the time and the memory of factors that fill in

Told: TypeAlias = Callable[[str, float], Any]  # hears of each trial its name, and the share of the work before it


def unheard(name: str, done: float) -> None:
    """Tells nobody."""


@dataclass(frozen=True, slots=True)
class Needs:
    """Seconds of each stage, in their order, and bytes of memory, of a fit."""

    stages: dict[str, float]
    memory: float

    @property
    def seconds(self) -> float:
        """Of the whole fit."""
        return sum(self.stages.values())


@dataclass(frozen=True, slots=True)
class Trial:
    """A fit to n rows: seconds of each stage, iterations, products with an eigenproblem's matrix, bytes at the peak."""

    n: int
    stages: dict[str, float]
    iterations: int
    products: int
    memory: float


def needs_for(model: Estimator, X: Any, sizes: tuple[int, ...] | None = None, callback: Told = unheard) -> Needs | None:
    """About what a fit to X will need, by trials on so many rows; None where it cannot be done."""
    n = X.shape[0]
    sizes = sizes or (TRIALS if n > TRIALS[-1] else (n,))
    pairwise = is_pairwise(model)
    first = -(-sizes[0] // 4)  # it tells only how long the trials themselves will take, and loads what a fit needs
    work = [size**TRIAL_GROWTH for size in (first, *sizes)]
    trials = []
    try:
        memory = _own_estimate(model, X, n)
        callback(f"{first} rows", 0.0)
        with suppress(LowfoldError, ValueError):  # too few for the model's neighbourhoods
            _trial(model, some_of(X, first, pairwise=pairwise))
        for number, size in enumerate(sizes, start=1):
            callback(f"{size} rows", sum(work[:number]) / sum(work))
            trials.append(_trial(model, some_of(X, size, pairwise=pairwise)))
    except (LowfoldError, ValueError):
        return None
    if len(trials) == 1:
        return Needs(trials[0].stages, max(memory, trials[0].memory))
    stages = {stage: _continued(model, stage, trials, n) for stage in trials[-1].stages}
    return Needs(stages, _memory(model, memory, trials, X))


def _memory(model: Estimator, memory: float, trials: list[Trial], X: Any) -> float:
    """The method's own estimate, corrected by the larger trial where it depends on more than the shape of the data.

    Matrices of all pairs have the data's own type; factors of a sparse matrix fill in by how the points lie.
    """
    small, large = trials
    if large.memory < TELLING:
        return memory
    if isinstance(model, PatchMethod):
        growth = math.log(large.memory / max(small.memory, 1.0)) / math.log(large.n / small.n)
        return large.memory * (X.shape[0] / large.n) ** min(MOST_FILL, max(1.0, growth))
    if _is_quadratic(model, X.shape[0]):
        return memory * min(1.0, large.memory / _own_estimate(model, X, large.n))
    return memory


def _own_estimate(model: Estimator, X: Any, n: int) -> float:
    """The method's, of n rows as those of X."""
    columns = n if is_pairwise(model) else X.shape[1]
    return float(model.estimate(n, columns, X.nnz * n // X.shape[0] if issparse(X) else None))


def needs_of_all(
    names: Iterable[str], X: Any, callback: Told, sizes: tuple[int, ...] | None = None, later: float = 0.0
) -> dict[str, Needs | None]:
    """What each method would need. later: the work that follows, beside the trials of a spectral method."""
    found: dict[str, Needs | None] = {}
    known = [name for name in names if name in METHODS]
    whole = trial_work(known) + later
    for number, name in enumerate(known):
        before, own = trial_work(known[:number]), trial_work([name])
        within = partial(told_within, callback, name, before / whole, own / whole)
        found[name] = needs_for(METHODS[name](), X, sizes, within)
    return found


def trial_work(names: Iterable[str]) -> float:
    """How long the trials of some methods take, beside those of a spectral one."""
    return sum(TRIAL_WORK[METHODS[name].__module__.split(".")[1]] for name in names)


def told_within(callback: Told, name: str, before: float, share: float, trial: str, done: float) -> None:
    """Tells of a trial of one method as a part of the trials of all."""
    callback(f"{name}, {trial}", before + share * done)


def _continued(model: Estimator, stage: str, trials: list[Trial], n: int) -> float:
    """Seconds of a stage for n rows: a + b n^p through both trials, if it grew at all; else b n^p."""
    small, large = trials
    if isinstance(model, KernelPCA) and stage == "eigenvectors" and n > KEPT_SIZE:  # each product makes it anew
        return RENEWED * large.products * _continued(model, "kernel", trials, n)
    power = _power(model, stage, n)
    iterations = [1.0, 1.0, 1.0]
    if stage in ITERATED and large.iterations and power < PAIRS:
        iterations = [small.iterations, large.iterations, _iterations(model, large, n)]
    before, after = small.stages.get(stage, 0.0) / iterations[0], large.stages[stage] / iterations[1]
    slope = max(0.0, after - before) / (large.n**power - small.n**power)
    constant = after - slope * large.n**power
    if constant < 0 or slope == 0:  # more growth than the power allows, or none: noise
        slope, constant = after / large.n**power, 0.0
    return iterations[2] * (constant + slope * n**power)


def _power(model: Estimator, stage: str, n: int) -> float:
    """Of n, in the time of a stage."""
    family = type(model).__module__.split(".")[1]
    if family != "stress" and stage in GROWTH:
        return GROWTH[stage]
    if isinstance(model, PatchMethod):
        return FACTORS
    if family == "stress" or _is_quadratic(model, n):
        return PAIRS
    return SOLVED if family == "force" or isinstance(model, GraphMethod) else 1.0


def _is_quadratic(model: Estimator, n: int) -> bool:
    """Whether memory grows by the pairs of rows, without the rows that many threads hold."""
    alone = clone(model).set_params(n_jobs=1)
    return alone.estimate(n, 1) > 3 * alone.estimate(max(1, n // 2), 1)


def _iterations(model: Estimator, trial: Trial, n: int) -> float:
    """How many a fit to n rows takes: those that the schedule prescribes, and of the others as many as the trial."""
    planned = [_prescribed(model, size) for size in (trial.n, n)]
    return max(1.0, trial.iterations - planned[0] + planned[1])


def _prescribed(model: Estimator, n: int) -> int:
    schedule = schedule_in(model)[1]
    if hasattr(schedule, "phases"):
        return sum(phase.iterations for phase in schedule.phases(n) if phase.tolerance is None)
    return int(schedule.count(n)) if hasattr(schedule, "count") else 0


def some_of(X: Any, size: int, *, pairwise: bool = False) -> Any:
    """So many rows, drawn at random; pairwise: with the columns of the same points alone, or a graph like it."""
    n = X.shape[0]
    if size >= n or (pairwise and n != X.shape[1]):  # what is not square will be refused
        return X
    if pairwise and issparse(X):
        return _graph_like(X, size)
    rows = np.sort(np.random.default_rng(0).choice(n, size, replace=False))
    return X[rows][:, rows] if pairwise else X[rows]


def _graph_like(X: Any, size: int) -> Any:
    """A symmetric graph of so many points by lot, with about as many neighbours as in X: a part of X itself would lack
    most of its edges."""
    each = min(size - 1, max(1, round(X.nnz / X.shape[0]) - 1))
    points = np.random.default_rng(0).standard_normal((size, LIKENESS))
    graph = NeighborGraph(n_neighbors=each).fit_transform(points)
    return csr_array(graph.maximum(graph.T))


def _trial(model: Estimator, rows: Any) -> Trial:
    fitted = clone(model)
    with warnings.catch_warnings(), PeakMemory() as memory:
        warnings.simplefilter("ignore")
        start = time.perf_counter()
        fitted.fit(rows)
        seconds = time.perf_counter() - start
    stages = dict(fitted.report_.seconds)
    stages["rest"] = max(0.0, seconds - math.fsum(stages.values()))
    products = int(fitted.report_.findings.get("products", 0))
    return Trial(rows.shape[0], stages, int(getattr(fitted, "n_iter_", 0)), products, memory.peak)
