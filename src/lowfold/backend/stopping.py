"""Ending a fit from another thread: what Ctrl-C is to the main one.

Inside `stoppable(stop)`, `stop.ask()` of any thread ends the fit that runs there: kernels look twenty times a second, a
fit before each of its stages. `Stopped` is a KeyboardInterrupt, so a method whose optimisation had begun keeps what it
has reached.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_current: ContextVar[Stop | None] = ContextVar("lowfold_stop", default=None)


class Stopped(KeyboardInterrupt):
    """The fit was ended from another thread."""


class Stop:
    """A wish that a fit may end; it is heard once, so that the fit can still finish what it keeps."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting = False
        self.asked = False

    def ask(self) -> None:
        """Says it; again is no more."""
        with self._lock:
            self._waiting = self._waiting or not self.asked
            self.asked = True

    def heard(self) -> bool:
        """Whether it was said and nobody has heard it yet; True once."""
        if not self._waiting:
            return False
        with self._lock:
            waiting, self._waiting = self._waiting, False
            return waiting


@contextmanager
def stoppable(stop: Stop) -> Iterator[None]:
    """Fits inside, on this thread, end when they are asked to."""
    token = _current.set(stop)
    try:
        yield
    finally:
        _current.reset(token)


def check() -> None:
    """Raises Stopped if the fit of this thread was asked to end."""
    stop = _current.get()
    if stop is not None and stop.heard():
        raise Stopped
