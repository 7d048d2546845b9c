"""The cheapest setting of each approximate peer that reaches the recall asked for, from a short grid.

The peers are tuned on the same rows that judge them, which is in their favour.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from judge import NeighborJudge
from searchers import HNSW, IVF, NN_DESCENT, SEARCHERS, Setting, hnsw_index, ivf_index, unit_rows

TARGET = 0.99
BUDGET = 180.0  # seconds after which no further setting of a peer is tried
TIMED_QUERIES = 4000  # queries from which the time of all is estimated
ROWS_PER_CELL = 39  # faiss asks for at least so many to train on
NPROBE = (1, 2, 3, 4, 6, 8, 10, 12, 16, 20, 24, 32, 40, 48, 64, 96, 128)
EF_SEARCH = (16, 20, 24, 32, 40, 48, 64, 80, 100, 128, 160, 200, 300, 400, 600, 800)


@dataclass(frozen=True, slots=True)
class Trial:
    """A setting with the recall that it gave and the seconds that it takes, as far as can be told from one run."""

    setting: Setting
    recall: float
    seconds: float

    @property
    def reached(self) -> bool:
        """Whether it found enough."""
        return self.recall >= TARGET


@dataclass(frozen=True, slots=True)
class Contest:
    """The data, what is asked of them, and who judges."""

    X: Any
    k: int
    metric: str
    judge: NeighborJudge
    smoke: bool = False

    @property
    def vectors(self) -> Any:
        """The rows as an index of euclidean distance needs them."""
        return unit_rows(self.X) if self.metric == "cosine" else self.X


@dataclass(frozen=True, slots=True)
class Tuned:
    """The best trial of a peer, and all of them."""

    best: Trial
    trials: Sequence[Trial] = field(default_factory=tuple)

    def listed(self) -> list[dict[str, Any]]:
        """The trials as plain values."""
        return [{**trial.setting, "recall": trial.recall, "seconds": trial.seconds} for trial in self.trials]


def tuned_peers(contest: Contest) -> dict[str, Tuned]:
    """The best setting of each approximate peer."""
    ways: Mapping[str, Callable[[Contest], Iterator[Trial]]] = {
        NN_DESCENT: _nn_descent_trials, IVF: _ivf_trials, HNSW: _hnsw_trials
    }  # fmt: skip
    return {name: _tuned(trials(contest)) for name, trials in ways.items()}


def _tuned(trials: Iterator[Trial]) -> Tuned:
    start, done = time.perf_counter(), []
    for trial in trials:
        done.append(trial)
        if time.perf_counter() - start > BUDGET:
            break
    # The quickest that reaches the recall; if none does, the one that comes nearest.
    best = min(done, key=lambda trial: (not trial.reached, trial.seconds if trial.reached else -trial.recall))
    return Tuned(best, tuple(done))


def _nn_descent_trials(contest: Contest) -> Iterator[Trial]:
    """The default and lighter settings; heavier ones only until one of them reaches the recall, if none has."""
    SEARCHERS[NN_DESCENT].warm_up(contest.X, contest.k, contest.metric)
    reached = False
    for setting in _lighter(contest.k)[: 2 if contest.smoke else None]:
        trial = _nn_descent_trial(contest, setting)
        reached |= trial.reached
        yield trial
    for setting in _heavier(contest.k)[: 1 if contest.smoke else None]:
        if reached:
            return
        trial = _nn_descent_trial(contest, setting)
        reached = trial.reached
        yield trial


def _lighter(k: int) -> list[Setting]:
    """pynndescent as it comes, and with less work in one place each."""
    fewer = [count for count in (10, 20, 30) if count < min(60, k + 1)]
    return [
        {},
        {"low_memory": False},
        {"delta": 0.01},
        {"n_trees": 4},
        {"n_iters": 4},
        *({"max_candidates": count} for count in fewer),
    ]


def _heavier(k: int) -> list[Setting]:
    """pynndescent with more work, in rising order."""
    return [
        {"max_candidates": 60},
        {"n_neighbors": 3 * (k + 1) // 2},
        {"n_neighbors": 2 * (k + 1)},
        {"n_neighbors": 2 * (k + 1), "max_candidates": 60},
        {"n_neighbors": 3 * (k + 1), "max_candidates": 60},
        {"n_neighbors": 5 * (k + 1), "max_candidates": 60},
    ]


def _nn_descent_trial(contest: Contest, setting: Setting) -> Trial:
    start = time.perf_counter()
    found = SEARCHERS[NN_DESCENT].search(contest.X, contest.k, contest.metric, setting)
    return Trial(setting, contest.judge.recall(found.indices), time.perf_counter() - start)


def _ivf_trials(contest: Contest) -> Iterator[Trial]:
    X = contest.vectors
    for nlist in _cell_counts(len(X))[: 2 if contest.smoke else None]:
        start = time.perf_counter()
        index = ivf_index(X, {"nlist": nlist})
        built = time.perf_counter() - start
        for nprobe in NPROBE:
            index.nprobe = nprobe
            recall = _sampled_recall(index, X, contest)
            if recall >= TARGET:
                break
        yield Trial({"nlist": nlist, "nprobe": nprobe}, recall, built + _search_seconds(index, X, contest.k))


def _cell_counts(n: int) -> list[int]:
    """From 64 to 1024 cells; fewer for few rows, more for very many."""
    counts = (64, 128) if n < 20_000 else (64, 128, 256, 512, 1024) if n < 500_000 else (1024, 2048, 4096, 8192)
    return [count for count in counts if count * ROWS_PER_CELL <= n]


def _hnsw_trials(contest: Contest) -> Iterator[Trial]:
    X = contest.vectors
    grid = [(M, construction) for M in (16, 32) for construction in (40, 80)]
    for M, construction in grid[: 1 if contest.smoke else None]:
        setting = {"M": M, "efConstruction": construction}
        start = time.perf_counter()
        index = hnsw_index(X, setting)
        built = time.perf_counter() - start
        for ef in (ef for ef in EF_SEARCH if ef > contest.k):
            index.hnsw.efSearch = ef
            recall = _sampled_recall(index, X, contest)
            if recall >= TARGET:
                break
        yield Trial({**setting, "efSearch": ef}, recall, built + _search_seconds(index, X, contest.k))


def _sampled_recall(index: Any, X: Any, contest: Contest) -> float:
    """Recall on the rows of the judge alone: no need to search for all."""
    return contest.judge.recall_of_rows(index.search(X[contest.judge.rows], contest.k + 1)[1])


def _search_seconds(index: Any, X: Any, k: int) -> float:
    """An estimate of the time for all rows, from some."""
    some = np.random.default_rng(1).choice(len(X), min(TIMED_QUERIES, len(X)), replace=False)
    start = time.perf_counter()
    index.search(X[some], k + 1)
    return (time.perf_counter() - start) * len(X) / len(some)
