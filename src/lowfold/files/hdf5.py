"""Arrays in HDF5 files, read in pieces so that a person can be told how far it is."""

from __future__ import annotations

from typing import Any

import numpy as np

from lowfold.estimator import tell_share

AT_ONCE = 4_000_000  # values that are read between two words about how many are


def read_array(part: Any, before: int, whole: int) -> Any:
    """All of an array, some rows at a time: how many values are read is told, of so many, after those before.

    Rows that are stored together are read together: they would be unpacked again for each piece.
    """
    if part.ndim == 0:
        return part[()]
    out = np.empty(part.shape, part.dtype)
    together = part.chunks[0] if part.chunks else 1
    step = max(1, -(-AT_ONCE * len(part) // (max(1, part.size) * together))) * together
    for begin in range(0, len(part), step):
        out[begin : begin + step] = part[begin : begin + step]
        tell_share(before + part.size * min(1.0, (begin + step) / len(part)), whole)
    return out


def read_arrays(parts: dict[str, Any]) -> dict[str, Any]:
    """Several arrays one after another."""
    whole, arrays, before = sum(part.size for part in parts.values()), {}, 0
    for name, part in parts.items():
        arrays[name] = read_array(part, before, whole)
        before += part.size
    return arrays
