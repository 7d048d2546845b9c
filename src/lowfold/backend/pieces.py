"""Work on the rows of large arrays that NumPy does, cut into pieces and spread over threads."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from lowfold.backend import blas

ROWS_AT_ONCE = 256
MANY_ROWS = 8192  # of short ones


def in_pieces(work: Callable[[slice], None], n: int, threads: int, height: int = ROWS_AT_ONCE) -> None:
    """Calls work(rows) for pieces of n rows; what a piece gives must not depend on which thread takes it.

    BLAS has one thread meanwhile. An exception or Ctrl-C leaves what has not begun undone.
    """
    pieces = [slice(begin, min(begin + height, n)) for begin in range(0, n, height)]
    if threads == 1:
        with blas.single_threaded():
            for piece in pieces:
                work(piece)
        return
    pool = ThreadPoolExecutor(threads)
    try:
        with blas.single_threaded():
            for _ in pool.map(work, pieces):
                pass
    finally:
        pool.shutdown(cancel_futures=True)


def rows_in_work(n: int, threads: int) -> int:
    """The most of n rows that threads have in hand at once."""
    return min(threads * ROWS_AT_ONCE, n)
