"""A line on the terminal that says how far a fit has come, and how long it will take; silent everywhere else.

The time left is known in three ways. Of what can be counted (rows of a file, rows that are placed, methods) it follows
from the share that is done, of each stage by itself. Of an optimisation it is at most what its largest number of
iterations takes at the pace so far. Of all else it is what the stages took on a few of the rows, continued to all of
them (`estimates.py`), and scaled by how long the stages that are over really took: of fits, or of judging. Where a
stage takes longer, the line says so, and counts with as much again as it is late.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from lowfold.comparison import JUDGING
from lowfold.estimator import share_listener, stage_listener
from lowfold.types import Step

PATIENCE = 1.0  # seconds before anything is shown
INTERVAL = 0.1
BAR, SHORTEST_BAR = 24, 6  # signs
WIDEST = 150  # signs of a line where the terminal does not say how many it has
TELLING, TENTH = 0.3, 0.1  # seconds, and share of another stage: what was foreseen to take less tells nothing of it


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
        if name.startswith(JUDGING) and (name in self.plan or self._part not in self.plan):
            self.part(name)
        elif not self._part:
            self._next_planned(name)
        self._stage, self._done, self._share_start = name, 0.0, time.perf_counter()

    def _next_planned(self, name: str) -> None:
        now = time.perf_counter()
        if self._planned in self.plan:
            self._taken[self._planned] = self._spent(now)
        self._planned, self._planned_start = name, now

    def share(self, done: float) -> None:
        """So much of the stage is done, from 0 to 1; less than before, if it is gone through once more."""
        if done < self._done:
            self._share_start = time.perf_counter()
        self._done = done

    def step(self, step: Step) -> None:
        """An iteration is done."""
        if self._iteration == 0:
            self._first_step = time.perf_counter()
        self._iteration, self._stage = step.iteration, step.phase
        self._loss = self._loss if step.loss is None else step.loss

    def line(self, width: int = WIDEST) -> str:
        """What is shown now, in so many signs: the bar gives way first, then what goes on."""
        now = time.perf_counter()
        parts = [self.title, self._part, self._stage if self._stage != self._part else ""]
        share, left = self._remaining(now)
        if self._iteration:
            parts.append(f"iteration {self._iteration}" + (f" of {self._total}" if self._total else ""))
        if not np.isnan(self._loss):
            parts.append(f"loss {self._loss:.4g}")
        text, times = " · ".join(part for part in parts if part), f"{_clock(now - self._start)}{left}"
        if share is None:
            return f"{_cut(text, width - len(times) - 3)} · {times}"
        signs = min(BAR, max(SHORTEST_BAR, width - len(text) - len(times) - 4))
        filled = round(signs * min(share, 1.0))
        return f"{_cut(text, width - signs - len(times) - 4)} [{'#' * filled}{'.' * (signs - filled)}] {times}"

    def _remaining(self, now: float) -> tuple[float | None, str]:
        """(the share that is done, what is to be said about the time left)."""
        foreseen, most = self._foreseen(now), self._most(now)
        if most is not None and (foreseen is None or foreseen.late or foreseen.seconds >= most):
            return self._further(now, most), f", at most {_clock(most)} left"
        if foreseen is None and self._done:
            left = (now - self._share_start) * (1 - self._done) / self._done
            return self._done, f", about {_clock(left)} left" + (" of this stage" if self._stage else "")
        if foreseen is None:
            return None, ""
        late = ", longer than foreseen" if foreseen.late else ""
        return self._further(now, foreseen.seconds), f"{late}, about {_clock(foreseen.seconds)} left"

    def _further(self, now: float, left: float) -> float:
        """The share of the time that is over."""
        elapsed = now - self._start
        self._furthest = max(self._furthest, elapsed / max(elapsed + left, 1e-9))
        return self._furthest

    def _most(self, now: float) -> float | None:
        """Seconds left if the optimisation goes on to its last iteration; None where there is none."""
        if self._iteration < 2 or not self._total:
            return None
        pace = (now - self._first_step) / (self._iteration - 1)
        return pace * max(0, self._total - self._iteration) + self._later()

    def _foreseen(self, now: float) -> Foreseen | None:
        """What is left by the plan, or by the share of the whole that is done; None if neither is known."""
        if self._planned in self.plan:
            return Foreseen.of(self._expected(self._planned) - self._spent(now), self._later())
        if self._whole:
            before = self._planned_start - self._start
            return Foreseen.of(before * (1 - self._whole) / self._whole - (now - self._planned_start))
        rest = [name for name in self.plan if name not in self._taken]
        return Foreseen.of(sum(map(self._expected, rest))) if rest else None

    def _spent(self, now: float) -> float:
        """Seconds in the stage that goes on, and in it before if it came before."""
        return self._taken.get(self._planned, 0.0) + now - self._planned_start

    def _later(self) -> float:
        """Seconds of the stages after the one that goes on."""
        names = list(self.plan)
        after = names.index(self._planned) + 1 if self._planned in self.plan else len(names)
        return sum(map(self._expected, names[after:]))

    def _expected(self, name: str) -> float:
        """Seconds of a stage: as planned, at the pace of those of its kind that are over."""
        judged = name.startswith(JUDGING)
        over = [other for other in list(self._taken) if other != name and other.startswith(JUDGING) == judged]
        planned = sum(self.plan[other] for other in over)
        telling = planned > max(TELLING, TENTH * self.plan[name])
        return self.plan[name] * (sum(self._taken[other] for other in over) / planned if telling else 1.0)

    def _draw(self) -> None:
        if self._stop.wait(PATIENCE):
            return
        while True:
            text = self.line(self._width())
            self.stream.write("\r" + text + " " * (self._drawn - len(text)))
            self.stream.flush()
            self._drawn = len(text)
            if self._stop.wait(INTERVAL):
                return

    def _width(self) -> int:
        """Signs that fit into a line of the terminal: a longer one could not be written over."""
        try:
            return min(WIDEST, (os.get_terminal_size(self.stream.fileno()).columns or WIDEST + 1) - 1)
        except (OSError, AttributeError):
            return WIDEST

    def _wipe(self) -> None:
        if self._drawn:
            self.stream.write("\r" + " " * self._drawn + "\r")
            self.stream.flush()
            self._drawn = 0


def _cut(text: str, width: int) -> str:
    """So many signs of it, less what joins the parts."""
    return text if len(text) <= width else text[: max(0, width)].rstrip(" ·")


def _clock(seconds: float) -> str:
    minutes, rest = divmod(int(seconds), 60)
    return f"{minutes}:{rest:02d}"
