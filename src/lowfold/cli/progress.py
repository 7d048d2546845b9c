"""A line on the terminal that says how far a fit has come, and how long it will take; silent everywhere else.

The time left is known in three ways. Of what can be counted (rows of a file, rows that are placed, methods) it follows
from the share that is done, of each stage by itself. Of an optimisation it is at most what its largest number of
iterations takes at the pace so far. Of all else it is what the stages took on a few of the rows, continued to all of
them (`estimates.py`), and scaled by how long the stages that are over really took. Where a stage takes longer, the line
says so, and counts with as much again as it is late.
"""

from __future__ import annotations

import sys
import threading
import time
from argparse import Namespace
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import issparse

from lowfold import files
from lowfold.cli.estimates import plan_for, worth_planning
from lowfold.comparison import JUDGING
from lowfold.errors import DataError, FileError
from lowfold.estimator import Estimator, share_listener, stage_listener, tell_share
from lowfold.model_file import load
from lowfold.types import Step
from lowfold.watching import with_callback

PATIENCE = 1.0  # seconds before anything is shown
INTERVAL = 0.1
WIDTH = 24
PIECES, SMALLEST_PIECE = 25, 500  # in which rows are placed, so that their share can be told
TELLING = 0.3  # seconds: stages that were foreseen to take less tell nothing about the others


class Foreseen(NamedTuple):
    """Seconds left, and whether the work that goes on is late."""

    seconds: float
    late: bool

    @classmethod
    def of(cls, here: float, later: float = 0.0) -> Foreseen:
        """Of the seconds left of this work and those after it; late work may go on as long again as it is late."""
        return cls(abs(here) + later, here < 0)


class Progress:
    """Stage, iteration, loss and time left, rewritten in place on a terminal."""

    def __init__(self, *, quiet: bool = False, stream: Any = None) -> None:
        self.stream = sys.stderr if stream is None else stream
        self.shown = not quiet and bool(getattr(self.stream, "isatty", lambda: False)())
        self._drawn = 0
        self._stop = threading.Event()
        self._begin("", 0, {})

    def _begin(self, title: str, total: int, plan: dict[str, float]) -> None:
        self.title, self._total = title, total
        self.plan = plan
        self._part = self._stage = self._planned = ""
        self._iteration, self._loss, self._done = 0, float("nan"), 0.0
        self._whole = 0.0
        self._furthest = 0.0  # the bar never goes back, whatever is known better by now
        self._taken: dict[str, float] = {}
        self._start = self._planned_start = self._share_start = self._first_step = time.perf_counter()

    @contextmanager
    def running(self, title: str, total: int = 0, plan: dict[str, float] | None = None) -> Iterator[None]:
        """Shows what goes on inside; total: of iterations; plan: seconds foreseen of each stage, in their order."""
        self._begin(title, total, plan or {})
        self._stop.clear()
        tokens = stage_listener.set(self.stage), share_listener.set(self.share if self.shown else None)
        thread = threading.Thread(target=self._draw, daemon=True) if self.shown else None
        if thread:
            thread.start()
        try:
            yield
        finally:
            self._stop.set()
            if thread:
                thread.join()
            self._wipe()
            stage_listener.reset(tokens[0])
            share_listener.reset(tokens[1])

    def part(self, name: str, done: float = 0.0) -> None:
        """A part of the work begins that has stages of its own; done: the share of the whole before it, if known."""
        self._whole = done
        self._next_planned(name)
        self._part, self._stage = name, ""

    def stage(self, name: str) -> None:
        """A stage of the work begins."""
        if name.startswith(JUDGING):
            self.part(name)
        elif not self._part:
            self._next_planned(name)
        self._stage, self._done, self._share_start = name, 0.0, time.perf_counter()

    def _next_planned(self, name: str) -> None:
        now = time.perf_counter()
        if self._planned in self.plan:
            self._taken[self._planned] = now - self._planned_start
        self._planned, self._planned_start = name, now

    def share(self, done: float) -> None:
        """So much of the stage is done, from 0 to 1."""
        self._done = done

    def step(self, step: Step) -> None:
        """An iteration is done."""
        if self._iteration == 0:
            self._first_step = time.perf_counter()
        self._iteration, self._stage = step.iteration, step.phase
        self._loss = self._loss if step.loss is None else step.loss

    def line(self) -> str:
        """What is shown now."""
        now = time.perf_counter()
        parts = [self.title, self._part, self._stage if self._stage != self._part else ""]
        share, left = self._remaining(now)
        if self._iteration:
            parts.append(f"iteration {self._iteration}" + (f" of {self._total}" if self._total else ""))
        if not np.isnan(self._loss):
            parts.append(f"loss {self._loss:.4g}")
        text = " · ".join(part for part in parts if part)
        elapsed = _clock(now - self._start)
        if share is None:
            return f"{text} · {elapsed}{left}"
        filled = round(WIDTH * min(share, 1.0))
        return f"{text} [{'#' * filled}{'.' * (WIDTH - filled)}] {elapsed}{left}"

    def _remaining(self, now: float) -> tuple[float | None, str]:
        """(the share that is done, what is to be said about the time left)."""
        elapsed, foreseen = now - self._start, self._foreseen(now)
        if self._iteration > 1 and self._total:
            pace = (now - self._first_step) / (self._iteration - 1)
            most = pace * max(0, self._total - self._iteration)
            if foreseen is None or foreseen.late or foreseen.seconds >= most:
                self._furthest = max(self._furthest, self._iteration / self._total)
                return self._furthest, f", at most {_clock(most)} left"
        if foreseen is None and self._done:
            left = (now - self._share_start) * (1 - self._done) / self._done
            return self._done, f", about {_clock(left)} left" + (" of this stage" if self._stage else "")
        if foreseen is None:
            return None, ""
        self._furthest = max(self._furthest, elapsed / max(elapsed + foreseen.seconds, 1e-9))
        return self._furthest, f"{', longer than foreseen' * foreseen.late}, about {_clock(foreseen.seconds)} left"

    def _foreseen(self, now: float) -> Foreseen | None:
        """What is left by the plan, or by the share of the whole that is done; None if neither is known."""
        spent = now - self._planned_start
        if self._planned in self.plan:
            names = list(self.plan)
            planned = sum(self.plan[name] for name in self._taken)
            pace = sum(self._taken.values()) / planned if planned > TELLING else 1.0
            later = pace * sum(self.plan[name] for name in names[names.index(self._planned) + 1 :])
            return Foreseen.of(pace * self.plan[self._planned] - spent, later)
        if self._whole:
            before = self._planned_start - self._start
            return Foreseen.of(before * (1 - self._whole) / self._whole - spent)
        return Foreseen.of(sum(self.plan.values())) if self.plan and not self._planned else None

    def _draw(self) -> None:
        if self._stop.wait(PATIENCE):
            return
        while True:
            text = self.line()[:150]
            self.stream.write("\r" + text + " " * (self._drawn - len(text)))
            self.stream.flush()
            self._drawn = len(text)
            if self._stop.wait(INTERVAL):
                return

    def _wipe(self) -> None:
        if self._drawn:
            self.stream.write("\r" + " " * self._drawn + "\r")
            self.stream.flush()
            self._drawn = 0


class Interrupted(KeyboardInterrupt):
    """Ctrl-C, after an optimisation had begun: the model has the best embedding so far."""

    def __init__(self, model: Estimator) -> None:
        super().__init__()
        self.model = model


def read_table(chosen: Namespace, progress: Progress, *, missing: bool = False) -> files.Table:
    """The data of a command; missing: some of them may be, as distances that are not known are."""
    with progress.running(f"reading {Path(chosen.data).name}"):
        table = files.read(chosen.data, labels=chosen.labels, name=chosen.name)
    if not missing and not is_finite(table.X):
        bad = np.argwhere(~np.isfinite(table.X.data[:, None] if issparse(table.X) else table.X))
        column = table.columns[bad[0, 1]] if table.columns else bad[0, 1] + 1
        where = "" if issparse(table.X) else f", the first in row {bad[0, 0] + 1}, column {column} of the data"
        count = "a value that is" if len(bad) == 1 else f"{len(bad)} values that are"
        raise DataError(f"{chosen.data} holds {count} missing or infinite{where}. Fill them, or leave the rows out.")
    return table


def read_map(path: str, progress: Progress) -> Any:
    """Coordinates in a file; a column called label, as embed writes it, is left out."""
    with progress.running(f"reading {Path(path).name}"):
        try:
            return files.read(path, labels="label").X
        except FileError:
            return files.read(path).X


def read_model(path: str, progress: Progress) -> Any:
    """A fitted model in a file."""
    with progress.running(f"reading {Path(path).name}"):
        return load(path)


def is_finite(X: Any) -> bool:
    """Whether no value is missing or infinite."""
    return bool(np.isfinite(X.data if issparse(X) else X).all())


def fit(model: Estimator, X: Any, progress: Progress) -> Estimator:
    """Fits the model; its steps and stages are shown."""
    name = type(model).__name__
    watched, total = with_callback(model, progress.step, X.shape[0])
    plan = {}
    if progress.shown and worth_planning(X):
        with progress.running(f"{name} on a few rows, to tell the time"):
            plan = plan_for(model, X, progress.part)
    with progress.running(name, total, plan):
        try:
            watched.fit(X)
        except KeyboardInterrupt:
            if hasattr(watched, "embedding_"):
                raise Interrupted(watched) from None
            raise
        finally:
            for name, value in model.get_params(deep=False).items():
                setattr(watched, name, value)  # without the callback, which is ours
    return watched


def placed(model: Estimator, X: Any, progress: Progress) -> Any:
    """The rows of X in the model's map: in pieces, where somebody watches; each row is placed by itself anyway."""
    n = X.shape[0]
    piece = max(SMALLEST_PIECE, -(-n // PIECES)) if progress.shown else max(1, n)
    parts = []
    with progress.running("placing"):
        for begin in range(0, n, piece):
            parts.append(model.transform(X[begin : begin + piece]))
            tell_share(begin + piece, n)
    return np.concatenate(parts)


def _clock(seconds: float) -> str:
    minutes, rest = divmod(int(seconds), 60)
    return f"{minutes}:{rest:02d}"
