"""Spearman's correlation, of pairs that are kept or of more of them than memory holds."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

HELD = 1 << 23  # pairs whose ranks are counted at once, in less than a gigabyte
STREAMED = 1 << 22  # pairs that they are counted among at a time

Pairs = tuple[NDArray[Any], NDArray[Any]]


def rank_correlation(a: NDArray[Any], b: NDArray[Any]) -> float:
    """Spearman's: Pearson's of the ranks, equal values having the mean of theirs; 0 where one side does not vary."""
    return _correlation(_sums(row_ranks(a[None])[0], row_ranks(b[None])[0]))


def streamed_rank_correlation(stream: Callable[[], Iterable[Pairs]], count: int) -> float:
    """The same over the `count` pairs of a stream that can be had again and again, in memory that does not grow.

    Up to HELD pairs are ranked by sorting them. Of more, so many at a time are held, and all pairs pass by to be
    counted: of a value v, less(v) + equal(v) / 2 is the rank. That is exact, and takes count / HELD passes.
    """
    sums = np.zeros(3)
    for a, b in _gathered(stream(), HELD):
        if len(a) == count:
            return rank_correlation(a, b)
        sums += _sums(*_ranks_among(a, b, stream, count))
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
    a: NDArray[Any], b: NDArray[Any], stream: Callable[[], Iterable[Pairs]], count: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The ranks, around 0, that held pairs have among all."""
    orders = [np.argsort(values) for values in (a, b)]
    held = [values[order] for values, order in zip((a, b), orders, strict=True)]
    twice = [np.zeros(len(values), np.int64) for values in held]  # less(v) + less or equal(v)
    for part in _gathered(stream(), STREAMED):
        for values, ascending, counts in zip(part, held, twice, strict=True):
            values.sort()
            counts += np.searchsorted(values, ascending, "left")
            counts += np.searchsorted(values, ascending, "right")
    ranks = []
    for order, counts in zip(orders, twice, strict=True):
        rank = np.empty(len(order))
        rank[order] = (counts - count) / 2
        ranks.append(rank)
    return ranks[0], ranks[1]


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
                yield _joined(waiting)
                waiting, number = [], 0
    if number:
        yield _joined(waiting)


def _joined(parts: list[Pairs]) -> Pairs:
    a, b = (np.concatenate(side) for side in zip(*parts, strict=True))
    return a, b


def _sums(r: NDArray[np.float64], s: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.array([r @ s, r @ r, s @ s])


def _correlation(sums: NDArray[np.float64]) -> float:
    """Of ranks around 0, from the sums of r s, r^2 and s^2."""
    size = float(np.sqrt(sums[1]) * np.sqrt(sums[2]))
    return float(sums[0] / size) if size > 0 else 0.0
