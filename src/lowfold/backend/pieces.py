"""Work on the rows of large arrays that NumPy does, cut into pieces and spread over threads."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from typing import Any

import numpy as np

from lowfold.backend import blas, stopping
from lowfold.types import Floats

ROWS_AT_ONCE = 256
MANY_ROWS = 8192  # of short ones
NUMBERS_AT_ONCE = 1 << 20  # of a large array that is copied: hundredths of a second
MOMENT = 0.1  # seconds that a piece of unknown cost should take
TURN = 0.1  # seconds that a thread waits for another before it looks around
GROWTH = 4  # times as many rows as a piece before: the next ones may cost more than those
WAITING = 2  # pieces for each thread, at work or next: none is idle while the first of them is waited for


class _Own(threading.local):
    """Of a thread that works on a piece: whether it need not any more."""

    ended: threading.Event | None = None


_own = _Own()


class Ended(Exception):
    """A piece that nobody waits for."""


def check() -> None:
    """Within a long piece: ends it if Ctrl-C or another piece's failure has ended the work."""
    stopping.check()  # of a piece that the fit's own thread works on
    if _own.ended is not None and _own.ended.is_set():
        raise Ended


def in_pieces(work: Callable[[slice], None], n: int, threads: int, height: int = ROWS_AT_ONCE) -> None:
    """Calls work(rows) for pieces of n rows; what a piece gives must not depend on which thread takes it.

    BLAS has one thread meanwhile. An exception or Ctrl-C leaves what has not begun undone, and ends what has begun
    where it asks (`check`).
    """
    _spread(work, (slice(begin, min(begin + height, n)) for begin in range(0, n, height)), threads)


def in_timed_pieces(work: Callable[[slice], None], n: int, threads: int, most: int) -> None:
    """The same where nobody knows beforehand what a row costs: one at first, then as many as take about a tenth of a
    second, at most so many. What a row gives must not depend on the rows beside it.
    """
    pace = _Pace(most)

    def timed(rows: slice) -> None:
        begin = time.perf_counter()
        work(rows)
        pace.learn(rows.stop - rows.start, time.perf_counter() - begin)

    _spread(timed, pace.pieces(n), threads)


class _Pace:
    """How many rows the next piece has, by what those before took."""

    def __init__(self, most: int) -> None:
        self._height, self._most = 1, most

    def pieces(self, n: int) -> Iterator[slice]:
        """Pieces of n rows, each as high as is right when it is asked for."""
        begin = 0
        while begin < n:
            end = min(begin + self._height, n)
            yield slice(begin, end)
            begin = end

    def learn(self, rows: int, seconds: float) -> None:
        """So many rows took so long."""
        enough = int(rows * min(GROWTH, MOMENT / max(seconds, 1e-9)))
        self._height = max(1, min(enough, self._most))


def _spread(work: Callable[[slice], None], pieces: Iterator[slice], threads: int) -> None:
    """Calls work for each piece; of several failures the first piece's is raised."""
    if threads == 1:
        with blas.single_threaded():
            for piece in pieces:
                stopping.check()
                work(piece)
        return
    ended = threading.Event()

    def begin(piece: slice) -> None:
        _own.ended = ended
        work(piece)

    pool = ThreadPoolExecutor(threads)
    try:
        with ctrl_c_as_such(), blas.single_threaded():
            waiting: deque[Future[None]] = deque()
            for piece in pieces:
                waiting.append(pool.submit(begin, piece))
                if len(waiting) == WAITING * threads:
                    await_outcome(waiting.popleft())
            for future in waiting:
                await_outcome(future)
    finally:
        ended.set()
        pool.shutdown(cancel_futures=True)


def await_outcome(future: Future[None]) -> None:
    """Waits for work on another thread, and raises what it raised; a stop is heard meanwhile.

    In turns: Ctrl-C that another thread receives, as from `_thread.interrupt_main`, wakes nobody who waits for a lock.
    """
    while not future.done():
        wait([future], timeout=TURN)
        stopping.check()
    future.result()


@contextmanager
def ctrl_c_as_such() -> Iterator[None]:
    """While threads are waited for: in the middle of taking a lock Ctrl-C ends in an error of releasing it twice."""
    try:
        yield
    except RuntimeError as error:
        behind: BaseException | None = error
        while behind is not None:
            if isinstance(behind, KeyboardInterrupt):
                raise KeyboardInterrupt from None
            behind = behind.__context__
        raise


def shifted(X: Floats, shift: Any, threads: int) -> Floats:
    """X - shift, a row of numbers."""
    out = np.empty(X.shape, np.result_type(X, shift))

    def work(rows: slice) -> None:
        np.subtract(X[rows], shift, out=out[rows])

    in_pieces(work, len(X), threads, max(1, NUMBERS_AT_ONCE // max(1, X.shape[1])))
    return out


def shifted_columns(X: Floats, shift: Any, threads: int) -> Floats:
    """(X - shift)^T, C-ordered, without X - shift beside it."""
    out = np.empty(X.shape[::-1], np.result_type(X, shift))

    def work(columns: slice) -> None:
        np.subtract(X[:, columns].T, shift[columns, None], out=out[columns])

    in_pieces(work, X.shape[1], threads, max(1, NUMBERS_AT_ONCE // max(1, len(X))))
    return out


def rows_in_work(n: int, threads: int) -> int:
    """The most of n rows that threads have in hand at once."""
    return min(threads * ROWS_AT_ONCE, n)
