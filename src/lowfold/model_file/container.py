"""Arrays and a JSON tree in one file; sizes are checked before they are read."""

from __future__ import annotations

import json
import math
import os
import stat
import tempfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from io import BufferedReader
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from lowfold.errors import FileError
from lowfold.estimator import tell_share

MAGIC, WITHOUT_CHECKSUM = b"LOWFOLD2", b"LOWFOLD1"  # of a header with a checksum, and of older files
NUMBER = 8  # bytes
ALIGNMENT = 64
MOST_HEADER = 64 << 20  # bytes: far more than the tree of any model
MOST_ARRAYS = 100_000
PIECE = 1 << 26  # bytes that are written or read between two words about how many are done
TYPES = ("<f4", "<f8", "<i1", "<i2", "<i4", "<i8", "|i1", "|u1", "<u2", "<u4", "<u8", "|b1")


def write(path: Any, header: dict[str, Any], arrays: list[NDArray[Any]]) -> None:
    """Writes the file whole or not at all."""
    entries: list[dict[str, Any]] = []
    place = 0
    passed = _Passed(2 * sum(array.nbytes for array in arrays))
    for array in arrays:
        dtype = array.dtype.newbyteorder("<").str
        if dtype not in TYPES:
            raise FileError(f"An array of type {array.dtype} cannot be stored; only numbers can. Use pickle instead.")
        place = _aligned(place)
        checksum = 0
        for piece in passed.pieces(_bytes_of(array, dtype)):
            checksum = zlib.crc32(piece, checksum)
        entries.append({"dtype": dtype, "shape": list(array.shape), "place": place, "crc32": checksum})
        place += array.nbytes
    text = json.dumps(header | {"arrays": entries, "size": place}, allow_nan=False).encode()

    def content(file: BinaryIO) -> None:
        begin = MAGIC + b"".join(number.to_bytes(NUMBER, "little") for number in (len(text), zlib.crc32(text)))
        start = _aligned(len(begin) + len(text))
        file.write(begin + text)
        for entry, array in zip(entries, arrays, strict=True):
            file.seek(start + entry["place"])
            for piece in passed.pieces(_bytes_of(array, entry["dtype"])):
                file.write(piece)
        file.truncate(start + place)

    write_whole(path, content)


def write_whole(path: Any, content: Callable[[BinaryIO], None]) -> None:
    """Calls content(file) on a file that takes its name when it is complete: no half of it is ever seen there."""
    target = Path(os.path.realpath(path))  # not in the place of a link to it
    if target.exists() and not target.is_file():
        raise FileError(f"{target} cannot be written: it is no file that could be replaced. Choose another name.")
    try:
        handle, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    except OSError as error:
        raise FileError(f"{target} cannot be written: {error.strerror}. Choose a folder that exists.") from error
    try:
        with os.fdopen(handle, "w+b") as file:
            content(file)
        Path(name).chmod(_mode(target))
        Path(name).replace(target)
    except BaseException as error:
        Path(name).unlink(missing_ok=True)
        if isinstance(error, OSError):
            raise FileError(f"{target} cannot be written: {error.strerror or error}.") from error
        raise


def _mode(target: Path) -> int:
    """Who may read and write it, as if it had been opened under its name."""
    if target.exists():
        return stat.S_IMODE(target.stat().st_mode)
    umask = os.umask(0)
    os.umask(umask)
    return 0o666 & ~umask


def read(path: Any) -> tuple[dict[str, Any], list[NDArray[Any]]]:
    """(header, arrays) of a file; FileError if anything about it is wrong."""
    try:
        with Path(path).open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            header, start = _header(file, size, str(path))
            places = [_place(entry, str(path)) for entry in header["arrays"]]
            _check_places(places, header["size"], str(path))
            passed = _Passed(header["size"])
            return header, [_array(file, start, place, passed) for place in places]
    except OSError as error:
        raise FileError(f"{path} cannot be read: {error.strerror or error}.") from error


def _header(file: BinaryIO, size: int, path: str) -> tuple[dict[str, Any], int]:
    magic = file.read(len(MAGIC))
    if magic[:-1] != MAGIC[:-1] or not magic[-1:].isdigit() or magic < WITHOUT_CHECKSUM:
        raise FileError(f"{path} is no model file: it does not begin with {MAGIC.decode()}. Use one that save wrote.")
    if magic > MAGIC:
        raise FileError(f"{path} is a model file of a later version than this one reads. Upgrade lowfold.")
    length = _number(file, path)
    checksum = _number(file, path) if magic == MAGIC else None
    begin = file.tell()
    if length > min(MOST_HEADER, size - begin):
        raise _damaged(path, f"its header of {length} bytes does not fit")
    text = file.read(length)
    if checksum not in (None, zlib.crc32(text)):
        raise _damaged(path, "the checksum of its header is wrong")
    try:
        header = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise _damaged(path, "its header is no JSON") from error
    start = _aligned(begin + length)
    if not isinstance(header, dict) or not isinstance(header.get("arrays"), list):
        raise _damaged(path, "its header lists no arrays")
    if len(header["arrays"]) > MOST_ARRAYS or header.get("size") != max(0, size - start):
        raise _damaged(path, f"it has {size} bytes, not as many as its header says")
    return header, start


def _number(file: BinaryIO, path: str) -> int:
    number = file.read(NUMBER)
    if len(number) < NUMBER:
        raise _damaged(path, "it ends within its first numbers")
    return int.from_bytes(number, "little")


@dataclass(frozen=True, slots=True)
class _Place:
    """Where an array is, in bytes behind the header, and what it is; path: of the file, for messages."""

    begin: int
    dtype: str
    shape: tuple[int, ...]
    crc32: Any
    path: str

    @property
    def bytes(self) -> int:
        return math.prod(self.shape) * np.dtype(self.dtype).itemsize

    @property
    def end(self) -> int:
        return self.begin + self.bytes


def _place(entry: Any, path: str) -> _Place:
    entry = entry if isinstance(entry, dict) else {}
    dtype, shape, begin = entry.get("dtype"), entry.get("shape"), entry.get("place")
    whole = isinstance(shape, list) and len(shape) <= 8 and all(_is_size(side) for side in [*shape, begin])
    if dtype not in TYPES or not whole:
        raise _damaged(path, "an array has no type, shape or place")
    return _Place(begin, dtype, tuple(shape), entry.get("crc32"), path)


def _check_places(places: list[_Place], size: int, path: str) -> None:
    """Refuses arrays that share bytes or lie outside: together they take no more memory than the file has bytes."""
    end = 0
    for place in sorted(places, key=lambda place: (place.begin, place.end)):
        if place.end > size:
            raise _damaged(path, f"an array of shape {place.shape} does not fit into its {size} bytes of arrays")
        if place.begin < end:
            raise _damaged(path, f"an array of shape {place.shape} begins inside of another")
        end = place.end


def _array(file: BufferedReader, start: int, place: _Place, passed: _Passed) -> NDArray[Any]:
    """The array at a place; start: where the first one is."""
    file.seek(start + place.begin)
    content = np.empty(place.bytes, np.uint8)
    checksum, whole = 0, True
    for piece in passed.pieces(content):
        whole = whole and file.readinto(piece) == len(piece)
        checksum = zlib.crc32(piece, checksum)
    if not whole or checksum != place.crc32:
        raise _damaged(place.path, f"the checksum of an array of shape {place.shape} is wrong")
    if place.dtype == "|b1" and len(content) and content.max() > 1:
        raise _damaged(place.path, "a truth value is neither true nor false")
    return content.view(place.dtype).reshape(place.shape).astype(np.dtype(place.dtype).newbyteorder("="), copy=False)


def _is_size(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**48


class _Passed:
    """Tells who listens how many of so many bytes have been written or read."""

    def __init__(self, whole: int) -> None:
        self._whole = whole
        self._done = 0

    def pieces(self, content: NDArray[np.uint8]) -> Iterator[memoryview]:
        """The content a piece at a time; each counts when the next is asked for."""
        for begin in range(0, len(content), PIECE):
            piece = content[begin : begin + PIECE].data
            yield piece
            self._done += len(piece)
            tell_share(self._done, self._whole)


def _bytes_of(array: NDArray[Any], dtype: str) -> NDArray[np.uint8]:
    return np.ascontiguousarray(array, dtype).reshape(-1).view(np.uint8)


def _aligned(place: int) -> int:
    return -(-place // ALIGNMENT) * ALIGNMENT


def _damaged(path: str, what: str) -> FileError:
    return FileError(f"{path} is damaged: {what}. Write it again with save, or fit the model anew.")
