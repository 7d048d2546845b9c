"""BLAS and LAPACK on one thread, while the library calls them.

Their threads would add up numbers in another order on another machine, and spin for a while after the work, taking a
core from the kernels that follow.
"""

from __future__ import annotations

import functools
import math
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from threadpoolctl import OpenBLASController, ThreadpoolController


class _Own(threading.local):
    """How often the calling thread is inside; of all threads, it alone lives on in a child that it forks."""

    inside = 0


_lock = threading.RLock()  # re-entrant, since a signal's handler may fork while its thread holds it
_inside = 0
_own = _Own()
_limit: Any = None


@contextmanager
def single_threaded() -> Iterator[None]:
    """Limits BLAS to one thread inside; the first to enter sets the limit, the last to leave takes it away."""
    global _inside, _limit
    with _lock:
        if _inside == 0:
            _take_control()
            _limit = _controller().limit(limits=1, user_api="blas")
        _inside += 1
        _own.inside += 1
    try:
        yield
    finally:
        with _lock:
            _inside -= 1
            _own.inside -= 1
            if _inside == 0:
                _take_limit_away()


def length(A: Any) -> float:
    """The root of the sum of the squares, in float64 and without BLAS, as NumPy's norm of a long vector is not."""
    return math.sqrt(float(np.square(A, dtype=np.float64).sum()))


def _take_limit_away() -> None:
    _take_control()
    _limit.restore_original_limits()
    _take_control()


def _take_control() -> None:
    """threadpoolctl lets only the thread that set a limit change it; here the last to leave may be another."""
    clear = getattr(OpenBLASController, "clear_controlling_thread", None)  # since 3.8
    if clear is not None:
        clear(force=True)


@functools.cache
def _controller() -> ThreadpoolController:
    """Finding the libraries takes longer than limiting them; NumPy's and SciPy's are loaded by now."""
    return ThreadpoolController()


def _wait() -> None:
    """Before a fork: OpenBLAS has a lock while its number of threads is set, which a child would wait for in vain."""
    _lock.acquire()


def _go_on() -> None:
    _lock.release()


def _begin_anew() -> None:
    """In a forked child: threads that were inside or waited for the lock are gone."""
    global _lock, _inside
    others = _inside - _own.inside
    _lock, _inside = threading.RLock(), _own.inside
    if others and not _inside:
        _take_limit_away()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_wait, after_in_parent=_go_on, after_in_child=_begin_anew)
