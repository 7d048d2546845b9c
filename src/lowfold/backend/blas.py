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

_lock = threading.Lock()
_inside = 0
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
    try:
        yield
    finally:
        with _lock:
            _inside -= 1
            if _inside == 0:
                _take_control()
                _limit.restore_original_limits()
                _take_control()


def length(A: Any) -> float:
    """The root of the sum of the squares, in float64 and without BLAS, as NumPy's norm of a long vector is not."""
    return math.sqrt(float(np.square(A, dtype=np.float64).sum()))


def _take_control() -> None:
    """threadpoolctl lets only the thread that set a limit change it; here the last to leave may be another."""
    clear = getattr(OpenBLASController, "clear_controlling_thread", None)  # since 3.8
    if clear is not None:
        clear(force=True)


@functools.cache
def _controller() -> ThreadpoolController:
    """Finding the libraries takes longer than limiting them; NumPy's and SciPy's are loaded by now."""
    return ThreadpoolController()


def _begin_anew() -> None:
    """In a forked child, where another thread may have held the lock."""
    global _lock, _inside
    _lock, _inside = threading.Lock(), 0


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_begin_anew)
