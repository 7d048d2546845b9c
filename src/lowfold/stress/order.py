"""The order of many numbers, found in pieces between which Ctrl-C is heard: NumPy sorts them all in one call."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from lowfold.backend import stopping

PIECE = 1 << 19  # numbers in hand at once: some hundredths of a second
BUCKET = 1 << 17  # numbers that are sorted at once, about
DRAWN = 64  # numbers drawn for each bucket: none is then much larger than the others
MOST_BUCKETS = 1 << 14  # two for each, beside the values that end them, are counted in 16 bits


def stable_order(values: NDArray[np.floating[Any]]) -> NDArray[np.intp]:
    """np.argsort(values, kind="stable"), bit for bit: the numbers are dealt into buckets by size, and those sorted."""
    if len(values) <= BUCKET:
        return np.argsort(values, kind="stable")
    ends = _ends(values)
    buckets, counts = _buckets(values, ends)
    order = _dealt(buckets, counts)
    alike = np.zeros(len(counts), bool)
    alike[1:-1] = _next(ends[:-1]) == ends[1:]
    begin = np.cumsum(counts) - counts
    for first, count in zip(begin[~alike], counts[~alike], strict=True):
        stopping.check()
        part = order[first : first + count]
        part[:] = part[np.argsort(values[part], kind="stable")]
    return order


def taken(values: Any, order: Any) -> Any:
    """values[order] for a long order, or a tuple of them, one for each axis."""
    places = order if isinstance(order, tuple) else (order,)
    out = np.empty(len(places[0]), values.dtype)
    for piece in _pieces(len(out)):
        out[piece] = values[tuple(place[piece] for place in places)]
    return out


def group_begins(rising: Any) -> NDArray[np.int64]:
    """Where each group of equal numbers begins, in numbers that never fall."""
    found = [np.zeros(min(1, len(rising)), np.int64)]
    for piece in _pieces(len(rising) - 1):
        after = slice(piece.start + 1, piece.stop + 1)
        found.append(np.flatnonzero(rising[after] > rising[piece]) + after.start)
    return np.concatenate(found)


def group_means(values: NDArray[np.float64], begin: NDArray[np.int64]) -> NDArray[np.float64]:
    """The mean of each group of numbers; the numbers themselves where each is a group."""
    if len(begin) == len(values):
        return values
    means = np.empty(len(begin))
    for piece in _pieces(len(begin)):
        first, end = begin[piece.start], begin[piece.stop] if piece.stop < len(begin) else len(values)
        within = begin[piece] - first
        means[piece] = np.add.reduceat(values[first:end], within) / np.diff(within, append=end - first)
    return means


def run_ends(values: Any) -> NDArray[np.intp]:
    """The places of the first and the last of each run of equal numbers."""
    ends = np.zeros(len(values), bool)
    ends[:1] = ends[-1:] = True
    for piece in _pieces(len(values) - 1):
        after = slice(piece.start + 1, piece.stop + 1)
        differ = values[after] != values[piece]
        ends[piece] |= differ
        ends[after] |= differ
    return np.flatnonzero(ends)


def _ends(values: Any) -> Any:
    """Where buckets of about the same size begin; values that are there often have a bucket of their own."""
    count = min(len(values) // BUCKET, MOST_BUCKETS)
    drawn = np.sort(values[np.random.default_rng(0).integers(len(values), size=DRAWN * count)])
    ends = drawn[DRAWN::DRAWN]
    return np.unique(np.concatenate([ends, _next(ends)]))


def _next(numbers: Any) -> Any:
    """The least numbers above; infinity above the largest."""
    with np.errstate(over="ignore"):
        return np.nextafter(numbers, numbers.dtype.type(np.inf))


def _buckets(values: Any, ends: Any) -> tuple[NDArray[np.uint16], NDArray[np.intp]]:
    """The bucket of each number, and the size of each bucket."""
    buckets, counts = np.empty(len(values), np.uint16), np.zeros(len(ends) + 1, np.intp)
    for piece in _pieces(len(values)):
        buckets[piece] = np.searchsorted(ends, values[piece], side="right")
        counts += np.bincount(buckets[piece], minlength=len(counts))
    return buckets, counts


def _dealt(buckets: NDArray[np.uint16], counts: NDArray[np.intp]) -> NDArray[np.intp]:
    """The places of the numbers, bucket after bucket, and in each as they came."""
    order, free = np.empty(len(buckets), np.intp), np.cumsum(counts) - counts
    for piece in _pieces(len(order)):
        order[piece] = 0  # else the first numbers, dealt all over it, would have the system find all its memory at once
    for piece in _pieces(len(buckets)):
        by_bucket = np.argsort(buckets[piece], kind="stable")
        here = np.bincount(buckets[piece], minlength=len(counts))
        order[np.repeat(free - (np.cumsum(here) - here), here) + np.arange(len(by_bucket))] = by_bucket + piece.start
        free += here
    return order


def _pieces(n: int) -> Any:
    for begin in range(0, n, PIECE):
        stopping.check()
        yield slice(begin, min(begin + PIECE, n))
