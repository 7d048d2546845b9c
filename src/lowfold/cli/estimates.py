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
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeAlias

import numpy as np
from scipy.sparse import issparse
from sklearn.base import clone

from lowfold.comparison import JUDGING, Judging, PeakMemory, judge
from lowfold.errors import LowfoldError
from lowfold.estimator import Estimator
from lowfold.explorer.panels import Source
from lowfold.explorer.scene import SEARCHING, Contents
from lowfold.methods import METHODS
from lowfold.metrics import silhouette
from lowfold.metrics.coranking import FEWER, FEWER_FROM
from lowfold.metrics.score import EXACT_UP_TO, SAMPLED, check_labels
from lowfold.neighbors.index import build_index
from lowfold.spectral.graph_method import GraphMethod
from lowfold.spectral.kernel_pca import KEPT_SIZE, KernelPCA
from lowfold.spectral.patch_method import PatchMethod
from lowfold.watching import schedule_in

TRIALS = (2_000, 4_000)  # rows: enough for each method to go the way it goes on many
SHARES = (1 / 8, 1 / 4)  # of fewer rows, in the trials of a plan for them: of all pairs, these are less than a tenth
PLANNED_FROM, LEAST_ROWS, LEAST_WORK = 5_000, 500, 5e8  # rows, or rows and rows^2 columns, that are worth a plan
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
FIRST_TRIAL = 0.3  # of two on points, the share of their time that the smaller one takes
TELLING = 30_000_000  # bytes: a trial that needs less tells nothing about the estimate of memory
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
    first = -(-sizes[0] // 4)  # it tells only how long the trials themselves will take, and loads what a fit needs
    work = [size**TRIAL_GROWTH for size in (first, *sizes)]
    trials = []
    try:
        memory = _own_estimate(model, X, n)
        callback(f"{first} rows", 0.0)
        with suppress(LowfoldError, ValueError):  # too few for the model's neighbourhoods
            _trial(model, _some(X, first))
        for number, size in enumerate(sizes, start=1):
            callback(f"{size} rows", sum(work[:number]) / sum(work))
            trials.append(_trial(model, _some(X, size)))
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
    return float(model.estimate(n, X.shape[1], X.nnz * n // X.shape[0] if issparse(X) else None))


def worth_planning(X: Any) -> bool:
    """Whether trials on a few rows of X take little beside a fit to all of them."""
    n, columns = X.shape
    return n >= PLANNED_FROM or (n >= LEAST_ROWS and n * n * columns >= LEAST_WORK)


def plan_for(model: Estimator, X: Any, callback: Told = unheard) -> dict[str, float]:
    """Seconds of each stage of a fit to X, in their order; nothing where that cannot be told."""
    needs = needs_for(model, X, _trial_sizes(X.shape[0]), callback)
    return {} if needs is None else {stage: seconds for stage, seconds in needs.stages.items() if stage != "rest"}


def _trial_sizes(n: int) -> tuple[int, int]:
    """Rows of the trials for a plan, which is of use only where they are few beside n."""
    small, large = TRIALS if n >= PLANNED_FROM else (max(2, int(n * share)) for share in SHARES)
    return small, large


def needs_of_all(
    names: Iterable[str], X: Any, callback: Told, sizes: tuple[int, ...] | None = None
) -> dict[str, Needs | None]:
    """What each method would need."""
    found: dict[str, Needs | None] = {}
    known = [name for name in names if name in METHODS]
    work = [TRIAL_WORK[METHODS[name].__module__.split(".")[1]] for name in known]
    for number, name in enumerate(known):
        before, whole = sum(work[:number]), sum(work)
        within = partial(_told_within, callback, name, before / whole, work[number] / whole)
        found[name] = needs_for(METHODS[name](), X, sizes, within)
    return found


def _told_within(callback: Told, name: str, before: float, share: float, trial: str, done: float) -> None:
    """Tells of a trial of one method as a part of the trials of all."""
    callback(f"{name}, {trial}", before + share * done)


def plan_for_all(names: Iterable[str], X: Any, callback: Told) -> dict[str, float]:
    """Seconds of each method's fit to X, then of judging each."""
    plans = needs_of_all(names, X, callback, _trial_sizes(X.shape[0]))
    fits = {name: needs.seconds for name, needs in plans.items() if needs is not None}
    seconds = _judging(X, None, Judging()) if fits else 0.0
    return fits | {f"{JUDGING} {name}": seconds for name in fits}


def plan_for_page(
    X: Any, sources: list[Source], labels: Any, how: Contents, callback: Told = unheard
) -> dict[str, float]:
    """Seconds of the neighbours that a page shows, then of judging each map; nothing where it takes no time, or where
    it cannot be told by some of the rows."""
    n = X.shape[0]
    if n < PLANNED_FROM or not isinstance(how.metric, str) or how.metric == "precomputed":
        return {}
    judging = _judging(X, labels, Judging(k=how.k, metric=how.metric, n_jobs=how.n_jobs), callback)
    plan = {SEARCHING: search_seconds(X, how)}
    Y = np.random.default_rng(0).standard_normal((n, 2))
    trust = search_seconds(Y, Contents(k=how.k)) if n > EXACT_UP_TO else 0.0
    return plan | {f"{JUDGING} {each.title}": (0.0 if each.scores else judging) + trust for each in sources}


def search_seconds(X: Any, how: Contents) -> float:
    """Seconds of a search for the neighbours of all rows, from a search among a few."""
    rows = _some(X, TRIALS[-1])
    start = time.perf_counter()
    build_index(rows, metric=how.metric, n_jobs=how.n_jobs).query(None, min(how.k, rows.shape[0] - 1))
    return (time.perf_counter() - start) * (X.shape[0] / rows.shape[0]) ** SEARCH


def _judging(X: Any, labels: Any, judging: Judging, callback: Told = unheard) -> float:
    """Seconds of judging a map of X."""
    n = X.shape[0]
    Y = np.random.default_rng(0).standard_normal((n, 2))
    most, fewer = (n, n) if n <= EXACT_UP_TO else (SAMPLED, FEWER if n > FEWER_FROM else SAMPLED)
    seconds = _over_points(lambda some: judge(X, Y, None, replace(judging, sample=some)), fewer, callback)
    classes = None if labels is None else check_labels(labels, n)
    if classes is not None and 2 <= classes.max() + 1 < n:
        seconds += _over_points(lambda some: silhouette(Y, classes, sample=some, n_jobs=judging.n_jobs), most)
    return seconds


def _over_points(work: Callable[[int], Any], points: int, callback: Told = unheard) -> float:
    """Seconds of work on so many points, continued along a line from two trials on a few."""
    few, taken = max(2, points // 25), []
    for number, some in enumerate((few, 2 * few)):
        callback(f"{some} points", number * FIRST_TRIAL)
        start = time.perf_counter()
        work(some)
        taken.append(time.perf_counter() - start)
    return taken[1] + max(0.0, taken[1] - taken[0]) / few * max(0, points - 2 * few)


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
    return model.estimate(n, 1) > 3 * model.estimate(max(1, n // 2), 1)


def _iterations(model: Estimator, trial: Trial, n: int) -> float:
    """How many a fit to n rows takes: those that the schedule prescribes, and of the others as many as the trial."""
    planned = [_prescribed(model, size) for size in (trial.n, n)]
    return max(1.0, trial.iterations - planned[0] + planned[1])


def _prescribed(model: Estimator, n: int) -> int:
    schedule = schedule_in(model)[1]
    if hasattr(schedule, "phases"):
        return sum(phase.iterations for phase in schedule.phases(n) if phase.tolerance is None)
    return int(schedule.count(n)) if hasattr(schedule, "count") else 0


def _some(X: Any, size: int) -> Any:
    n = X.shape[0]
    return X if size >= n else X[np.sort(np.random.default_rng(0).choice(n, size, replace=False))]


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
