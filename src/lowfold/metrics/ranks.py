"""Spearman's correlation, of pairs that are kept or of more of them than memory holds."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

SORTED = 1 << 22  # pairs up to which all are ranked at once
HELD = 3 << 22  # pairs whose ranks are counted together, of more; all in less than a gigabyte
STREAMED = 1 << 22  # pairs that they are counted among at a time

Pairs = tuple[NDArray[Any], NDArray[Any]]


def rank_correlation(a: NDArray[Any], b: NDArray[Any]) -> float:
    """Spearman's: Pearson's of the ranks, equal values having the mean of theirs; 0 where one side does not vary."""
    return _correlation(_sums(row_ranks(a[None])[0], row_ranks(b[None])[0]))


def streamed_rank_correlation(stream: Callable[[], Iterable[Pairs]], count: int) -> float:
    """The same over the `count` pairs of a stream that can be had again and again, in memory that does not grow.

    Up to SORTED pairs are ranked by sorting them. Of more, HELD at a time are held, and all pairs pass by to be
    counted: of a value v, less(v) + equal(v) / 2 is the rank. That is exact, and takes count / HELD passes.
    """
    if count <= SORTED:
        return rank_correlation(*next(_gathered(stream(), count)))
    sums = np.zeros(3)
    for pairs in _gathered(stream(), HELD):
        sums += _sums(*_ranks_among(pairs, stream, count))
    return _correlation(sums)


def row_ranks(a: NDArray[Any]) -> NDArray[np.float64]:
    """Ranks 0, 1, ... in each row, around 0; equal values have the mean of theirs."""
    m, n = a.shape
    order = np.argsort(a, axis=1)
    ascending = np.take_along_axis(a, order, axis=1)
    starts = np.concatenate([np.ones((m, 1), bool), ascending[:, 1:] != ascending[:, :-1]], axis=1).ravel()
    begin = np.flatnonzero(starts)
    end = np.append(begin[1:], m * n)
    mean = (begin + end - 1) / 2  # of the places in the flat array, which run on from row to row
    ranks = np.empty((m, n))
    np.put_along_axis(ranks, order, np.repeat(mean, end - begin).reshape(m, n), axis=1)
    return ranks - np.arange(m)[:, None] * n - (n - 1) / 2


def _ranks_among(
    pairs: Pairs, stream: Callable[[], Iterable[Pairs]], count: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The ranks, around 0, that held pairs have among all."""
    small = np.int32 if count < 2**30 else np.int64
    orders = [np.argsort(values).astype(np.int32) for values in pairs]
    held = [values[order] for values, order in zip(pairs, orders, strict=True)]
    steps = [np.zeros(len(values) + 1, small) for values in held]
    for part in _gathered(stream(), STREAMED):
        for values, ascending, step in zip(part, held, steps, strict=True):
            values.sort()
            _count(values, ascending, step)
    ranks = []
    for order, step in zip(orders, steps, strict=True):
        rank = np.empty(len(order))
        rank[order] = (np.cumsum(step[:-1], dtype=np.int64) - count) / 2
        ranks.append(rank)
    return ranks[0], ranks[1]


def _count(values: NDArray[Any], ascending: NDArray[Any], step: NDArray[Any]) -> None:
    """Adds to `step` by how much less(v) + less or equal(v) grows from each held value v to the next."""
    first = np.searchsorted(ascending, values)  # the first that is as large: from there on, less or equal
    step += np.bincount(first, minlength=len(step)).astype(step.dtype)
    equal = ascending[np.minimum(first, len(ascending) - 1)] == values
    first[equal] = np.searchsorted(ascending, values[equal], "right")  # the first that is larger: less
    step += np.bincount(first, minlength=len(step)).astype(step.dtype)


def _gathered(stream: Iterable[Pairs], size: int) -> Iterator[Pairs]:
    """The pairs of a stream, `size` at a time."""
    waiting: list[Pairs] = []
    number = 0
    for a, b in stream:
        begin = 0
        while begin < len(a):
            some = slice(begin, begin + size - number)
            waiting.append((a[some], b[some]))
            number += len(waiting[-1][0])
            begin = some.stop
            if number == size:
                whole, waiting, number = _joined(waiting), [], 0
                yield whole
    if number:
        yield _joined(waiting)


def _joined(parts: list[Pairs]) -> Pairs:
    a, b = (np.concatenate(side) for side in zip(*parts, strict=True))
    return a, b


def _sums(r: NDArray[np.float64], s: NDArray[np.float64]) -> NDArray[np.float64]:
    # Not r @ s: BLAS would take it on as many threads as there are, and its last digits with them.
    return np.array([np.einsum("i,i->", a, b) for a, b in ((r, s), (r, r), (s, s))])


def _correlation(sums: NDArray[np.float64]) -> float:
    """Of ranks around 0, from the sums of r s, r^2 and s^2."""
    size = float(np.sqrt(sums[1]) * np.sqrt(sums[2]))
    return float(sums[0] / size) if size > 0 else 0.0
