"""Work on the rows of large arrays that NumPy does, cut into pieces and spread over threads."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

from lowfold.backend import blas, stopping

ROWS_AT_ONCE = 256
MANY_ROWS = 8192  # of short ones


class _Own(threading.local):
    """Of a thread that works on a piece: whether it need not any more."""

    ended: threading.Event | None = None


_own = _Own()


class Ended(Exception):
    """A piece that nobody waits for."""


def check() -> None:
    """Within a long piece: ends it if Ctrl-C or another piece's failure has ended the work."""
    if _own.ended is not None and _own.ended.is_set():
        raise Ended


def in_pieces(work: Callable[[slice], None], n: int, threads: int, height: int = ROWS_AT_ONCE) -> None:
    """Calls work(rows) for pieces of n rows; what a piece gives must not depend on which thread takes it.

    BLAS has one thread meanwhile. An exception or Ctrl-C leaves what has not begun undone, and ends what has begun
    where it asks (`check`).
    """
    pieces = [slice(begin, min(begin + height, n)) for begin in range(0, n, height)]
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
            for _ in pool.map(begin, pieces):
                stopping.check()
    finally:
        ended.set()
        pool.shutdown(cancel_futures=True)


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


def rows_in_work(n: int, threads: int) -> int:
    """The most of n rows that threads have in hand at once."""
    return min(threads * ROWS_AT_ONCE, n)
