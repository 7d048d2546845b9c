"""Arrays and a JSON header in one run of bytes, as the page reads them.

`LFSC`, the version and the header's length (32 bits each, little-endian), the header in UTF-8, padded with spaces so
that the arrays begin at a multiple of 8; then the arrays, little-endian in C order, each at a multiple of 8. The
header's `arrays` says of each its type, shape and place behind the header. Browsers read them where they lie, without a
copy.
"""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lowfold.errors import DataError

MAGIC = b"LFSC"
VERSION = 1
ALIGNMENT = 8  # bytes: of the widest typed array that a page may want to lay over them
HEAD = struct.Struct("<4sII")
TYPES = {"f4": np.float32, "i4": np.int32, "u4": np.uint32, "u2": np.uint16, "u1": np.uint8}
NAMES = {np.dtype(kind): name for name, kind in TYPES.items()}
MOST_DIMENSIONS = 4  # n colour images


def pack(header: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> bytes:
    """The bytes of a header and its arrays; the header's own `arrays` is written here."""
    places: dict[str, Any] = {}
    parts: list[bytes] = []
    offset = 0
    for name, values in arrays.items():
        if values.dtype not in NAMES:
            raise DataError(
                f"Array {name!r} has type {values.dtype}; a pack holds {', '.join(map(str, NAMES))}. Convert it."
            )
        places[name] = {"dtype": NAMES[values.dtype], "shape": list(values.shape), "offset": offset}
        content = np.ascontiguousarray(values).astype(values.dtype.newbyteorder("<"), copy=False).tobytes()
        room = -len(content) % ALIGNMENT
        parts += [content, bytes(room)]
        offset += len(content) + room
    text = json.dumps({**header, "arrays": places}, ensure_ascii=False, allow_nan=False).encode()
    text += b" " * (-(HEAD.size + len(text)) % ALIGNMENT)
    return b"".join([HEAD.pack(MAGIC, VERSION, len(text)), text, *parts])


def unpack(content: bytes | bytearray | memoryview) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """(header, arrays) of a pack; DataError if anything about it is wrong. The arrays are views that none can write."""
    view = memoryview(content).toreadonly()
    if len(view) < HEAD.size:
        raise _wrong("it is too short")
    magic, version, length = HEAD.unpack_from(view)
    if magic != MAGIC or version != VERSION:
        raise _wrong(f"it begins with {magic!r}, version {version}, not {MAGIC!r}, version {VERSION}")
    begin = HEAD.size + length
    if begin > len(view) or begin % ALIGNMENT:
        raise _wrong(f"its header of {length} bytes does not end inside it at a multiple of {ALIGNMENT}")
    try:
        header = json.loads(bytes(view[HEAD.size : begin]).decode())
    except (ValueError, RecursionError) as error:  # also what is no UTF-8
        raise _wrong("its header is no JSON") from error
    if not isinstance(header, dict) or not isinstance(header.get("arrays"), dict):
        raise _wrong("its header names no arrays")
    body = view[begin:]
    return header, {name: _array(name, place, body) for name, place in header["arrays"].items()}


def _array(name: str, place: Any, body: memoryview) -> NDArray[Any]:
    if not isinstance(place, dict) or str(place.get("dtype")) not in TYPES:
        raise _wrong(f"array {name!r} has no type that is known")
    kind = np.dtype(TYPES[place["dtype"]]).newbyteorder("<")
    shape, offset = place.get("shape"), place.get("offset", -1)
    if not isinstance(shape, list) or len(shape) > MOST_DIMENSIONS or not all(map(_is_size, [*shape, offset])):
        raise _wrong(f"array {name!r} has shape {shape!r} at {offset!r}")
    size = math.prod(shape)
    if offset % ALIGNMENT or offset + size * kind.itemsize > len(body):
        raise _wrong(f"array {name!r} does not lie inside it at a multiple of {ALIGNMENT}")
    return np.frombuffer(body, kind, size, offset).reshape(shape)


def _is_size(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**53


def _wrong(why: str) -> DataError:
    return DataError(f"This is no pack of arrays: {why}. Write it with lowfold.explorer.pack.pack.")
