"""Several optimisations of one problem, side by side, of which the best is kept."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lowfold.backend.pieces import await_outcome, ctrl_c_as_such
from lowfold.backend.stopping import Stop, stoppable
from lowfold.stress.majorise import Majorisation, Optimisation, Solver
from lowfold.stress.ordinal import OrdinalProblem
from lowfold.stress.problem import Problem
from lowfold.types import Step

WARMING = Majorisation(max_iter=1, momentum=False, relocations=0, lifts=0)


class Runs:
    """One optimisation for each start. A callback that returns True, or Ctrl-C, ends all of them where they are."""

    def __init__(
        self,
        problem: Problem,
        starts: Sequence[Callable[[], Any]],
        solver: Solver,
        together: NDArray[np.intp] | None,
    ) -> None:
        self._problem, self._starts, self._solver, self._together = problem, starts, solver, together
        self._found: list[Optimisation | None] = [None] * len(starts)
        self._stop = threading.Event()
        self._lock = threading.Lock()

    @property
    def all(self) -> list[Optimisation]:
        """Those that have begun."""
        return [run for run in self._found if run is not None]

    @property
    def best(self) -> Optimisation:
        """The one with the lowest stress, the first of equals."""
        return min(self.all, key=lambda run: run.stress)

    def drain(self, threads: int) -> None:
        """Runs all to their end; as many at once as there are threads. Their results do not depend on it."""
        workers = min(len(self._starts), threads)
        if workers == 1:
            for number in range(len(self._starts)):
                self._run(number, threads)
            return
        pool, stops = ThreadPoolExecutor(workers), [Stop() for _ in self._starts]

        def run(number: int) -> None:
            with stoppable(stops[number]):
                self._run(number, threads // workers)

        try:
            with ctrl_c_as_such():
                for future in [pool.submit(run, number) for number in range(len(stops))]:
                    await_outcome(future)
        finally:
            self._stop.set()
            for stop in stops:  # a pass over many pairs takes longer than Ctrl-C should have to wait
                stop.ask()
            pool.shutdown(cancel_futures=True)

    def _run(self, number: int, threads: int) -> None:
        if self._stop.is_set():
            return
        problem = self._problem.with_threads(threads)
        start = self._warmed(problem, self._starts[number]())
        run = Optimisation(problem, start, self._solver, self._together)
        self._found[number] = run
        name = "optimisation" if len(self._starts) == 1 else f"start {number + 1}"
        for _ in run.run():
            if self._tells_to_stop(run, name):
                run.stopped = True
                return

    def _warmed(self, problem: Problem, start: Any) -> Any:
        """A start of a non-metric problem after a metric step, if that agrees better with the order.

        The disparities of points in disorder are nearly all equal, and would lead nowhere.
        """
        if not isinstance(problem, OrdinalProblem) or self._solver.max_iter == 0:
            return start
        run = Optimisation(problem.metric.with_threads(problem.threads), start, WARMING, self._together)
        for _ in run.run():
            if self._stop.is_set():
                break
        before = problem.evaluate(np.asarray(start, problem.dtype)).stress
        return run.Y if problem.evaluate(run.Y).stress < before else start

    def _tells_to_stop(self, run: Optimisation, name: str) -> bool:
        callback = self._solver.callback
        if callback is not None:
            order = np.arange(len(run.Y))
            step = Step(run.iteration, name, run.Y.copy(), order, run.stress, run.gradient_norm)
            with self._lock:
                if callback(step) is True:
                    self._stop.set()
        return self._stop.is_set()
