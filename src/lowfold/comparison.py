"""Several methods on one data set: one neighbour search for all, and a table of quality, time and memory."""

from __future__ import annotations

import math
import threading
import time
import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from sklearn.base import clone

from lowfold.affinity.perplexity import WIDTH, scales
from lowfold.backend import resources
from lowfold.errors import LowfoldError, ParameterError
from lowfold.estimator import Estimator, tell_stage
from lowfold.judging import Judging, judge
from lowfold.methods import METHODS
from lowfold.metrics.score import Score, read_data
from lowfold.neighbors.index import index_of
from lowfold.neighbors.interface import Metric, Settings
from lowfold.neighbors.sharing import shared_neighbors
from lowfold.options import validate
from lowfold.types import Floats

JUDGING = "judging"  # what the stage is called, before the method's name
Methods = Iterable[str | Estimator] | Mapping[str, str | Estimator]


@dataclass(frozen=True, slots=True)
class Entry:
    """One method's row: its scores by name, seconds, bytes of memory at its peak beside what was there before (NaN
    where the system does not tell), the fitted model; or why there is none."""

    name: str
    model: Estimator | None = field(repr=False)
    scores: dict[str, Score]
    seconds: float
    memory: float
    error: str | None = None

    @property
    def embedding(self) -> Floats | None:
        """The map."""
        return None if self.model is None else self.model.embedding_


@dataclass(frozen=True, slots=True)
class Comparison:
    """What `compare` found: a row for each method, in their order; str() is the table."""

    entries: list[Entry]
    searches: int  # how often neighbours of all points were looked for, over all methods

    @property
    def maps(self) -> dict[str, Floats]:
        """The embedding of each method that has one."""
        return {entry.name: entry.model.embedding_ for entry in self.entries if entry.model is not None}

    def rows(self) -> list[dict[str, Any]]:
        """The table as plain values, for a DataFrame or a file."""
        return [
            {"method": entry.name}
            | {name: score.value for name, score in entry.scores.items()}
            | {"seconds": entry.seconds, "megabytes": entry.memory / 1e6, "error": entry.error}
            for entry in self.entries
        ]

    def __str__(self) -> str:
        names = list(dict.fromkeys(name for entry in self.entries for name in entry.scores))
        width = max([6, *(len(entry.name) for entry in self.entries)])
        head = f"{'method':<{width}}" + "".join(f"{name:>{max(9, len(name) + 2)}}" for name in names)
        lines = [head + f"{'seconds':>10}{'MB':>8}"]
        for entry in self.entries:
            cells = "".join(_cell(entry.scores.get(name), max(9, len(name) + 2)) for name in names)
            memory = "-" if np.isnan(entry.memory) else f"{entry.memory / 1e6:.0f}"
            line = f"{entry.name:<{width}}" + cells + f"{entry.seconds:>10.2f}{memory:>8}"
            lines.append(line if entry.error is None else f"{entry.name:<{width}}  {entry.error}")
        return "\n".join(lines)


def compare(
    X: Any,
    methods: Methods = ("pca", "isomap", "laplacian_eigenmaps", "tsne", "umap"),
    *,
    labels: Any = None,
    judging: Judging | None = None,
    callback: Callable[[str], Any] | None = None,
) -> Comparison:
    """Fits several methods to X, judges each by the same neighbours, and returns the table and the maps.

    methods: names of the registry, unfitted estimators, or a mapping from titles to either. Those that look for
    neighbours share one search. What a method cannot do with these data stands in its row instead of a map.
    labels: one for each point, by which the maps are judged too. judging: how they are, as a `Judging`.
    callback: called with each method's title before it starts.
    """
    if not isinstance(judging, Judging | None):
        raise ParameterError(f"judging={judging!r} must be a Judging or None. Use for example judging=Judging(k=15).")
    running = Running(X, methods, Judging() if judging is None else judging)
    running.fit(callback)
    running.judge(labels)
    return running.found


class Running:
    """A comparison on its way: what is fitted and judged by now is there, also if Ctrl-C ends it."""

    def __init__(self, X: Any, methods: Methods, judging: Judging) -> None:
        self._models = _models(methods)
        self._judging = judging
        self._data = read_data(X, judging.metric)
        self._searches = 0
        self.entries: list[Entry] = []

    @property
    def found(self) -> Comparison:
        """The table so far."""
        return Comparison(self.entries, self._searches)

    def fit(self, callback: Callable[[str], Any] | None = None) -> None:
        """Fits the methods one after another."""
        with shared_neighbors() as shared:
            _search_once(self._data, list(self._models.values()))
            for title, model in self._models.items():
                if callback is not None:
                    callback(title)
                self.entries.append(_fitted(title, model, self._data.values))
                self._searches = shared.searches

    def judge(self, labels: Any) -> None:
        """Adds the scores of each map that is there."""
        for number, entry in enumerate(self.entries):
            tell_stage(f"{JUDGING} {entry.name}")
            if entry.embedding is not None:
                scores = judge(self._data.values, entry.embedding, labels, self._judging)
                self.entries[number] = replace(entry, scores=scores)


def _models(methods: Methods) -> dict[str, Estimator]:
    """The estimators of a comparison by their titles."""
    named = methods if isinstance(methods, Mapping) else {_title(method): method for method in methods}
    models = {title: method_of(method) for title, method in named.items()}
    if not models:
        raise ParameterError(f"methods={methods!r} names no method. Use some of {', '.join(METHODS)}.")
    return models


def _title(method: str | Estimator) -> str:
    if isinstance(method, str):
        return method
    names = {cls: name for name, cls in METHODS.items()}
    return names.get(type(method), type(method).__name__)


def method_of(method: str | Estimator) -> Estimator:
    """An unfitted estimator, by its name in the registry or as it is."""
    if isinstance(method, Estimator):
        return clone(method)
    if method not in METHODS:
        raise ParameterError(f"There is no method {method!r}. Use one of {', '.join(METHODS)}.")
    return METHODS[method]()


def _search_once(data: Any, models: list[Estimator]) -> None:
    """Looks for as many neighbours as any of the methods will want, so that the others read them off."""
    wanted: dict[Metric, int] = {}
    for model in models:
        metric, k = getattr(model, "metric", "euclidean"), _neighbors_of(model)
        if isinstance(metric, str) and metric not in ("precomputed", "affinity"):
            wanted[metric] = max(wanted.get(metric, 0), min(k, data.n - 1))
    for metric, k in wanted.items():
        if k > 0:
            index_of(data, Settings(metric=metric)).query(None, k)


def _neighbors_of(model: Estimator) -> int:
    """How many neighbours of each point a method will want; 0 where it wants none, or will be refused."""
    try:
        validate(model)
    except ParameterError:
        return 0  # its row will say why
    size, perplexity = getattr(model, "n_neighbors", None), getattr(model, "perplexity", None)
    if isinstance(size, int):
        return size
    return 0 if perplexity is None else math.ceil(WIDTH * max(scales(perplexity)))


def _fitted(title: str, model: Estimator, X: Any) -> Entry:
    """The model fitted to X, with its seconds and memory, or with what it refused X for."""
    start = time.perf_counter()
    try:
        with warnings.catch_warnings(), PeakMemory() as memory:
            warnings.simplefilter("ignore")  # what did not converge stands in the model's report
            model.fit(X)
    except LowfoldError as error:
        return Entry(title, None, {}, time.perf_counter() - start, float("nan"), str(error))
    return Entry(title, model, {}, time.perf_counter() - start, memory.peak)


class PeakMemory:
    """Watches how far the memory of this process rises above what it was: `peak`, in bytes.

    The system's own count of the peak is taken where it can be begun anew; else the memory is looked at all the time.
    """

    INTERVAL = 0.005  # seconds between two looks

    def __init__(self) -> None:
        self.peak = float("nan")
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> PeakMemory:
        self._counted = resources.forget_peak()
        self._start = resources.resident_memory()
        if not self._counted:
            self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._counted:
            self._take(resources.peak_memory())
        else:
            self._stop.set()
            self._thread.join()

    def _take(self, now: int | None) -> None:
        if now is not None and self._start is not None:
            self.peak = float(np.fmax(self.peak, max(0, now - self._start)))

    def _watch(self) -> None:
        while True:
            self._take(resources.resident_memory())
            if self._stop.wait(self.INTERVAL):
                return


def _cell(score: Score | None, width: int) -> str:
    return f"{'-' if score is None else format(score.value, '.3f'):>{width}}"
