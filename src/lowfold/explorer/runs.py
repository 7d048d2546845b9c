"""Runs: fits that a page asked for, each on a thread of its own, told while they go on, and stopped when asked."""

from __future__ import annotations

import contextvars
import dataclasses
import math
import sys
import threading
import time
import traceback
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from lowfold.backend.stopping import Stop, Stopped, stoppable
from lowfold.errors import LowfoldError
from lowfold.estimator import Estimator, stage_listener
from lowfold.explorer.pack import pack
from lowfold.explorer.panels import Source, Truth, make_panel, method_title
from lowfold.explorer.scene import Scene
from lowfold.neighbors.index import build_index
from lowfold.neighbors.sharing import shared_neighbors
from lowfold.types import Step
from lowfold.watching import with_callback

AT_ONCE = 2  # fits; each uses every core, and the others wait
STEP_INTERVAL = 0.05  # seconds between two steps that are told
STEP_SHARE = 0.1  # of a fit's time, at most, that telling its steps may take
LEAST_ROWS = 4  # that are judged


class Listener(Protocol):
    """Who is told about runs; from any thread."""

    def tell(self, key: Hashable, message: dict[str, Any] | bytes) -> None:
        """Sends a message: JSON, or a pack. Of one that waits under the same key, this one takes the place."""
        ...

    def waits(self, key: Hashable) -> bool:
        """Whether a message under this key has not been sent yet."""
        ...


@dataclass(frozen=True, slots=True)
class Order:
    """What was asked for: the number that the page gave it, an estimator, and the rows it is to be fitted to."""

    run: int
    model: Estimator
    rows: NDArray[np.int32] | None = None


class Workshop:
    """The data that are fitted to, and the places at which that is done; full fits share one neighbour search."""

    def __init__(self, X: Any, scene: Scene) -> None:
        self.X, self.scene = X, scene
        self.places = threading.Semaphore(AT_ONCE)
        self.runs: list[Run] = []  # that wait or work
        with shared_neighbors():
            self._sharing = contextvars.copy_context()

    def context(self, order: Order) -> contextvars.Context:
        """What a run finds around it: the searches of others, if it is about the same rows."""
        return self._sharing.copy() if order.rows is None else contextvars.copy_context()

    def close(self, patience: float) -> None:
        """Ends all runs, and waits for that for so many seconds."""
        deadline = time.monotonic() + patience
        alive = list(self.runs)
        for run in alive:
            run.abandon()
        for run in alive:
            run.join(max(0.0, deadline - time.monotonic()))

    def rows(self, order: Order) -> Any:
        """The data of a run."""
        return self.X if order.rows is None else self.X[order.rows]

    def truth(self, order: Order) -> Truth | None:
        """What a run's map is judged by."""
        truth = self.scene.truth
        if truth is None or order.rows is None:
            return truth
        if len(order.rows) < LEAST_ROWS:
            return None
        X, k = self.rows(order), min(truth.judging.k, len(order.rows) - 2)
        judging = dataclasses.replace(truth.judging, k=k)
        found = build_index(X, metric=judging.metric, n_jobs=judging.n_jobs).query(None, k)
        labels = None if truth.labels is None else np.asarray(truth.labels)[order.rows]
        return Truth(X, labels, found.indices, judging)


class Run:
    """One fit. It tells its stages, steps and result; whatever happens to it ends in one message and no exception."""

    def __init__(self, order: Order, workshop: Workshop, listener: Listener) -> None:
        self._order, self._workshop, self._listener = order, workshop, listener
        self._stop, self._judging = Stop(), Stop()
        self._is_judged = False
        self._begin = time.perf_counter()
        self._total = 0
        self._last: Step | None = None
        self._loss: float | None = None
        self._told, self._interval = -math.inf, STEP_INTERVAL
        context = workshop.context(order)
        self._thread = threading.Thread(target=context.run, args=(self._work,), daemon=True, name=f"run {order.run}")

    @property
    def number(self) -> int:
        """The number that the page gave it."""
        return self._order.run

    @property
    def is_alive(self) -> bool:
        """Whether it waits or works."""
        return self._thread.is_alive()

    def start(self) -> None:
        """Begins, at once or when there is a place."""
        self._workshop.runs.append(self)
        self._thread.start()

    def stop(self) -> None:
        """Asks it to end; what an optimisation has reached is kept and judged, or, if it is being judged, shown so."""
        (self._judging if self._is_judged else self._stop).ask()

    def abandon(self) -> None:
        """Asks it to end as soon as it can: nobody looks any more."""
        self._stop.ask()
        self._judging.ask()

    def join(self, timeout: float | None = None) -> None:
        """Waits for its end."""
        self._thread.join(timeout)

    def _work(self) -> None:
        try:
            self._progress("waiting")
            while not self._workshop.places.acquire(timeout=STEP_INTERVAL):
                if self._stop.asked:
                    return self._end("stopped")
            try:
                self._fit()
            finally:
                self._workshop.places.release()
        except Stopped:
            self._end("stopped")
        except (LowfoldError, ValueError, MemoryError) as error:
            self._failed(" ".join(str(error).split()) or type(error).__name__)
        except BaseException as error:  # a fault of ours: the run ends, the server does not
            traceback.print_exc(file=sys.stderr)
            self._failed(f"This should not happen: {type(error).__name__}: {' '.join(str(error).split())[:300]}")
        finally:
            self._workshop.runs.remove(self)

    def _fit(self) -> None:
        self._begin = time.perf_counter()
        X = self._workshop.rows(self._order)
        model, self._total = with_callback(self._order.model, self._step, X.shape[0])
        stage_listener.set(self._progress)
        try:
            with stoppable(self._stop):
                model.fit(X)
        except Stopped:
            if self._last is None and not hasattr(model, "embedding_"):
                raise  # before there was anything to keep
        seconds = time.perf_counter() - self._begin
        stage_listener.set(None)
        for name, value in self._order.model.get_params(deep=False).items():
            setattr(model, name, value)  # without the callback, which is ours
        self._is_judged = True
        self._progress("judging")
        with stoppable(self._judging):
            self._show(model, seconds)
        self._end("stopped" if self._stop.asked or self._judging.asked else "done")

    def _show(self, model: Estimator, seconds: float) -> None:
        """Tells the finished panel; if its judging is stopped, the map alone."""
        fitted: Any = model if hasattr(model, "embedding_") else getattr(self._last, "embedding", None)
        rows = self._order.rows
        title = method_title(type(model)) + ("" if rows is None else f" of {len(rows):,} selected")
        source = Source(title, fitted, seconds)
        identity = f"run {self.number}"
        try:
            panel, arrays = make_panel(identity, source, self._workshop.truth(self._order), rows)
        except Stopped:
            panel, arrays = make_panel(identity, source, None, rows)
        self._listener.tell(("panel", self.number), pack({"kind": "panel", "run": self.number, "panel": panel}, arrays))

    def _step(self, step: Step) -> bool:
        self._last, now = step, time.perf_counter()
        if now - self._told >= self._interval:
            self._told = now
            self._progress(step.phase, step)
            self._move(step)
            self._interval = max(STEP_INTERVAL, (time.perf_counter() - now) / STEP_SHARE)
        return self._stop.heard()

    def _move(self, step: Step) -> None:
        """Tells where the points are, unless the page has not taken the last such message yet."""
        key = "step", self.number
        n = self._workshop.scene.n if self._order.rows is None else len(self._order.rows)
        if len(step.inner) != n or self._listener.waits(key):  # of landmarks alone there is no map yet
            return
        Y = np.zeros((n, 2), np.float32)
        d = min(2, step.inner.shape[1])
        Y[step.order, :d] = step.inner[:, :d]
        header = {"kind": "step", "run": self.number, "iteration": step.iteration}
        self._listener.tell(key, pack(header, {"coordinates": Y}))

    def _progress(self, stage: str, step: Step | None = None) -> None:
        if step is not None and step.loss is not None and math.isfinite(step.loss):
            self._loss = float(step.loss)
        message = {
            "type": "progress",
            "run": self.number,
            "stage": stage,
            "iteration": 0 if step is None else step.iteration,
            "total": self._total or None,
            "loss": self._loss,
            "seconds": time.perf_counter() - self._begin,
        }
        self._listener.tell(("progress", self.number), message)

    def _failed(self, message: str) -> None:
        self._listener.tell(("end", self.number), {"type": "error", "run": self.number, "message": message})

    def _end(self, kind: str) -> None:
        self._listener.tell(("end", self.number), {"type": kind, "run": self.number})
