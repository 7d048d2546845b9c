"""What methods share whose optimisation can be watched, stopped and continued."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, ClassVar

from lowfold import inputs
from lowfold.backend import native
from lowfold.estimator import Estimator, Stopwatch
from lowfold.types import Floats, Report, Step


class Watched(Estimator):
    """A method whose `_finished` can be called at any time and returns the embedding reached so far."""

    _optimiser: ClassVar[str]  # the attribute that holds the state of the optimisation

    @contextmanager
    def _kept_when_interrupted(self, data: inputs.Data, watch: Stopwatch, findings: dict[str, Any]) -> Iterator[None]:
        """If Ctrl-C ends the work inside, what was reached by then is kept, and the interrupt raised again."""
        try:
            yield
        except KeyboardInterrupt:
            self._return_to_best()
            self.embedding_ = self._finished(findings).astype(data.values.dtype)
            memory = self._needed(data)
            self.report_ = Report(watch.seconds, self._threads, native.kernels.simd, memory, findings)
            raise

    def _resume(self, steps: Callable[[], Iterator[Step]], given: str = "") -> None:
        """Goes on from the embedding; the report says what has been reached, also if Ctrl-C ends it.

        Whatever else fails leaves the model as it was: it is a copy of the optimisation that goes on. given: what is to
        blame, beside parameters, where numbers leave their range.
        """
        with self._as_before_on_failure():
            state = getattr(self, self._optimiser)
            setattr(self, self._optimiser, copy.deepcopy(state, {id(part): part for part in state.unchanging}))
            try:
                self._drain(steps())
            except KeyboardInterrupt:
                self._return_to_best()
                self._keep_resumed(given)
                raise
            self._keep_resumed(given)

    def _keep_resumed(self, given: str) -> None:
        findings = dict(self.report_.findings)
        self.embedding_ = self._finished(findings).astype(self.embedding_.dtype)
        self._check_embedding(given)
        self.report_ = dataclasses.replace(self.report_, findings=findings)

    def _drain(self, steps: Iterator[Step]) -> None:
        """Takes all steps, or as many as the callback wants."""
        callback = self._callback()
        for step in steps:
            if callback is not None and callback(step) is True:
                break

    def _return_to_best(self) -> None:
        """The work was cut short: what is kept is the best that was seen, where a loss tells what is better."""

    def _callback(self) -> Callable[[Step], Any] | None:
        raise NotImplementedError

    def _finished(self, findings: dict[str, Any]) -> Floats:
        raise NotImplementedError
