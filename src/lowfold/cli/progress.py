"""A line on the terminal that says how far a fit has come, and how long it will take; silent everywhere else."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from lowfold.cli.estimates import seconds_for
from lowfold.estimator import Estimator, stage_listener
from lowfold.types import Step
from lowfold.watching import with_callback

PATIENCE = 1.0  # seconds before anything is shown
INTERVAL = 0.1
WIDTH = 24
ESTIMATED_FROM = 5_000  # rows, from which a trial on a few of them takes little beside the fit


class Progress:
    """Stage, iteration, loss and time left, rewritten in place on a terminal."""

    def __init__(self, *, quiet: bool = False, stream: Any = None) -> None:
        self.stream = sys.stderr if stream is None else stream
        self.shown = not quiet and bool(getattr(self.stream, "isatty", lambda: False)())
        self.title = ""
        self.estimate: float | None = None  # seconds of the whole, where it can be told beforehand
        self._stage = ""
        self._iteration, self._total, self._loss = 0, 0, float("nan")
        self._start = self._first_step = time.perf_counter()
        self._drawn = 0
        self._stop = threading.Event()

    @contextmanager
    def running(self, title: str, total: int = 0) -> Iterator[None]:
        """Shows what goes on inside."""
        self.title, self._total, self._iteration, self._stage = title, total, 0, ""
        self._start = time.perf_counter()
        self._stop.clear()
        token = stage_listener.set(self.stage)
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
            stage_listener.reset(token)

    def stage(self, name: str) -> None:
        """A stage of the fit begins."""
        self._stage = name

    def step(self, step: Step) -> None:
        """An iteration is done."""
        if self._iteration == 0:
            self._first_step = time.perf_counter()
        self._iteration, self._stage = step.iteration, step.phase
        self._loss = self._loss if step.loss is None else step.loss

    def line(self) -> str:
        """What is shown now."""
        elapsed = time.perf_counter() - self._start
        parts = [self.title, self._stage]
        share, left = self._share(elapsed)
        if self._iteration:
            parts.append(f"iteration {self._iteration}" + (f" of {self._total}" if self._total else ""))
        if not np.isnan(self._loss):
            parts.append(f"loss {self._loss:.4g}")
        text = " · ".join(part for part in parts if part)
        if share is None:
            return f"{text} · {_clock(elapsed)}"
        filled = round(WIDTH * min(share, 1.0))
        return f"{text} [{'#' * filled}{'.' * (WIDTH - filled)}] {_clock(elapsed)}, about {_clock(left)} left"

    def _share(self, elapsed: float) -> tuple[float | None, float]:
        if self._iteration > 1 and self._total:
            pace = (time.perf_counter() - self._first_step) / (self._iteration - 1)
            return self._iteration / self._total, pace * max(0, self._total - self._iteration)
        if self.estimate:
            return min(0.99, elapsed / self.estimate), max(0.0, self.estimate - elapsed)
        return None, 0.0

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


def fit(model: Estimator, X: Any, progress: Progress) -> Estimator:
    """Fits the model; its steps and stages are shown."""
    watched, total = with_callback(model, progress.step, X.shape[0])
    if progress.shown and not total and X.shape[0] >= ESTIMATED_FROM:
        progress.estimate = seconds_for(model, X)
    with progress.running(type(model).__name__, total):
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


def _clock(seconds: float) -> str:
    minutes, rest = divmod(int(seconds), 60)
    return f"{minutes}:{rest:02d}"
