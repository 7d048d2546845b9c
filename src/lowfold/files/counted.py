"""A file that says how much of it has been read, to who listens."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from lowfold.estimator import share_listener, tell_share

EVERY = 4096  # lines of text between two words


@contextmanager
def counted(path: Path) -> Iterator[Any]:
    """The open file, or its plain path where nobody listens: libraries read those in their quickest way."""
    if share_listener.get() is None:
        yield path
        return
    with Counted(path) as raw, io.BufferedReader(raw, buffer_size=1 << 18) as file:
        yield file


@contextmanager
def part_of_share(begin: float, end: float) -> Iterator[None]:
    """Inside, a share that is told is one of this part of the whole: work in several passes is done once."""
    listener = share_listener.get()
    if listener is None:
        yield
        return
    token = share_listener.set(lambda done: listener(begin + (end - begin) * done))
    try:
        yield
    finally:
        share_listener.reset(token)


class Counted(io.RawIOBase):
    """Tells how much of it has been read, wherever: the list of what an archive holds stands at its end, and is read
    first. No io.FileIO: NumPy would read that in one go, past Python."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self._file = path.open("rb", buffering=0)
        self._read, self._size = 0, path.stat().st_size

    def readable(self) -> bool:
        """True."""
        return True

    def seekable(self) -> bool:
        """True."""
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Goes to a place; returns it."""
        return self._file.seek(offset, whence)

    def tell(self) -> int:
        """The place."""
        return self._file.tell()

    def readinto(self, buffer: Any) -> int:
        """Fills the buffer; returns how many bytes came."""
        count = self._file.readinto(buffer) or 0
        self._read += count
        tell_share(self._read, self._size)
        return count

    def close(self) -> None:
        """Closes the file."""
        self._file.close()
        super().close()


def counted_lines(file: Any, size: int) -> Iterator[str]:
    """The lines of an open text file of so many bytes."""
    read = 0
    for number, line in enumerate(file):
        read += len(line)
        if number % EVERY == 0:
            tell_share(read, size)
        yield line
