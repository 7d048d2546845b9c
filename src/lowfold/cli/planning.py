"""Seconds that are foreseen of each stage of a work, for who watches it."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import numpy as np
from scipy.sparse import issparse

from lowfold.cli.estimates import (
    SEARCH,
    TRIALS,
    Told,
    needs_for,
    needs_of_all,
    some_of,
    told_within,
    trial_work,
    unheard,
)
from lowfold.comparison import JUDGING
from lowfold.estimator import Estimator
from lowfold.explorer.panels import Source
from lowfold.explorer.scene import SEARCHING, Contents
from lowfold.judging import Judging, Look, looks_at
from lowfold.metrics.score import EXACT_UP_TO, chosen_points
from lowfold.neighbors.index import build_index

SHARES = (1 / 8, 1 / 4)  # of fewer rows, in the trials of a plan for them: of all pairs, these are less than a tenth
PLANNED_FROM, LEAST_ROWS, LEAST_WORK = 5_000, 500, 5e8  # rows, or rows and rows^2 columns, that are worth a plan
JUDGED_SHARE = 0.8  # of the trials for a page, judging's
JUDGING_WORK = 2.0  # how long trials of judging take, beside those of a spectral method
FEW, MORE = 25, 6  # parts of the points that two trials of judging look at
FIRST_TRIAL = 0.3  # the share of the time of both that the smaller one takes


def worth_planning(X: Any) -> bool:
    """Whether trials on a few rows of X take little beside a fit to all of them."""
    n, columns = X.shape
    return n >= PLANNED_FROM or (n >= LEAST_ROWS and n * n * columns >= LEAST_WORK)


def plan_for(model: Estimator, X: Any, callback: Told = unheard) -> dict[str, float]:
    """Seconds of each stage of a fit to X, in their order; nothing where that cannot be told."""
    needs = needs_for(model, X, trial_sizes(X.shape[0]), callback)
    return {} if needs is None else {stage: seconds for stage, seconds in needs.stages.items() if stage != "rest"}


def trial_sizes(n: int) -> tuple[int, int]:
    """Rows of the trials for a plan, which is of use only where they are few beside n."""
    small, large = TRIALS if n >= PLANNED_FROM else (max(2, int(n * share)) for share in SHARES)
    return small, large


def plan_for_all(names: Iterable[str], X: Any, labels: Any, judging: Judging, callback: Told) -> dict[str, float]:
    """Seconds of each method's fit to X, then of judging each."""
    plans = needs_of_all(names, X, callback, trial_sizes(X.shape[0]), JUDGING_WORK)
    fits = {name: needs.seconds for name, needs in plans.items() if needs is not None}
    if not fits:
        return {}
    share = JUDGING_WORK / (JUDGING_WORK + trial_work(plans))
    seconds = _judging(X, labels, judging, partial(told_within, callback, JUDGING, 1 - share, share))
    return fits | {f"{JUDGING} {name}": seconds for name in fits}


def plan_for_page(
    X: Any, sources: list[Source], labels: Any, how: Contents, callback: Told = unheard
) -> dict[str, float]:
    """Seconds of the neighbours that a page shows, then of judging each map; nothing where it takes no time, or where
    it cannot be told by some of the rows."""
    n = X.shape[0]
    if not worth_planning(X) or not isinstance(how.metric, str) or (how.metric == "precomputed" and issparse(X)):
        return {}
    how_judged = Judging(k=how.k, metric=how.metric, n_jobs=how.n_jobs)
    judging = _judging(X, labels, how_judged, partial(told_within, callback, JUDGING, 0.0, JUDGED_SHARE))
    searching = partial(told_within, callback, SEARCHING, JUDGED_SHARE, 1 - JUDGED_SHARE)
    plan = {SEARCHING: search_seconds(X, how, searching)}
    Y = np.random.default_rng(0).standard_normal((n, 2))
    trust = search_seconds(Y, Contents(k=how.k)) if n > EXACT_UP_TO else 0.0
    return plan | {f"{JUDGING} {each.title}": (0.0 if each.scores else judging) + trust for each in sources}


def search_seconds(X: Any, how: Contents, callback: Told = unheard) -> float:
    """Seconds of a search for the neighbours of all rows, from a search among a few."""

    def search(rows: Any) -> None:
        build_index(rows, metric=how.metric, n_jobs=how.n_jobs).query(None, min(how.k, rows.shape[0] - 1))

    return seconds_for(search, X, callback, pairwise=how.metric == "precomputed")


def seconds_for(work: Callable[[Any], Any], X: Any, callback: Told = unheard, *, pairwise: bool = False) -> float:
    """Seconds of work on all rows that grows as a search does, from that on a few; fewer tell how long those take."""
    size = trial_sizes(X.shape[0])[-1]
    for trial, done in ((-(-size // 4), 0.0), (size, 1 / (1 + 4**SEARCH))):
        callback(f"{trial} rows", done)
        rows = some_of(X, trial, pairwise=pairwise)
        start = time.perf_counter()
        work(rows)
    return (time.perf_counter() - start) * (X.shape[0] / rows.shape[0]) ** SEARCH


def plan_for_scores(looks: dict[str, Look], n: int, callback: Told = unheard) -> dict[str, float]:
    """Seconds of each look at a map of n points, in their order, from looks at a few of the points."""
    plan = {}
    for number, (stage, look) in enumerate(looks.items()):
        told = partial(told_within, callback, stage, number / len(looks), 1 / len(looks))
        plan[stage] = _over_points(look.scores, len(chosen_points(n, look.sample)), told)
    return plan


def _judging(X: Any, labels: Any, judging: Judging, callback: Told = unheard) -> float:
    """Seconds of judging a map of X."""
    n = X.shape[0]
    Y = np.random.default_rng(0).standard_normal((n, 2))
    return math.fsum(plan_for_scores(looks_at(X, Y, labels, judging), n, callback).values())


def _over_points(work: Callable[[int], Any], points: int, callback: Told = unheard) -> float:
    """Seconds of work on so many points, continued along a line from two trials on a few; no more than by the second
    alone."""
    sizes, taken = (max(2, points // FEW), max(4, points // MORE)), []
    for number, some in enumerate(sizes):
        callback(f"{some} points", number * FIRST_TRIAL)
        start = time.perf_counter()
        work(some)
        taken.append(time.perf_counter() - start)
    slope = max(0.0, taken[1] - taken[0]) / (sizes[1] - sizes[0])
    return min(taken[1] + slope * max(0, points - sizes[1]), taken[1] * max(1.0, points / sizes[1]))
