"""The kernels of UMAP in NumPy, written to be read: what each of them returns."""

from __future__ import annotations

from typing import Any

import numpy as np

from lowfold.types import Floats, Indices

LONGEST, SOFT, TINY = 4.0, 1e-3, 1e-12
WORD = 2**32
CHUNK, SIDE_BY_SIDE, BATCH = 256, 32, 5


def fuzzy_rows(distances: Floats, connectivity: float, mean: float) -> Floats:
    """Bisection of the width of each row until its degrees add up to log2(k + 1)."""
    out = np.empty(distances.shape, np.float32)
    for i, d in enumerate(distances.astype(np.float64)):
        beyond = d - _nearest(d[d > 0], connectivity)
        low, high, sigma = 0.0, np.inf, 1.0
        for _ in range(64):
            total = _degrees(beyond, sigma).sum()
            if abs(total - np.log2(len(d) + 1)) < 1e-5:
                break
            low, high = (low, sigma) if total > np.log2(len(d) + 1) else (sigma, high)
            sigma = 2 * sigma if np.isinf(high) else (low + high) / 2
        own = d.sum() / (len(d) + 1) if (beyond < d).any() else mean
        out[i] = _degrees(beyond, max(sigma, 1e-3 * own))
    return out


def _degrees(beyond: Any, sigma: float) -> Any:
    return np.where(beyond <= 0, 1.0, np.exp(-np.maximum(beyond, 0) / max(sigma, 1e-300)))


def _nearest(apart: Any, connectivity: float) -> float:
    """The distance up to which neighbours belong wholly, from those of points in other places."""
    if not len(apart):
        return 0.0
    if len(apart) < connectivity:
        return float(apart[-1])
    return float(np.interp(connectivity, np.arange(len(apart) + 1), np.append(0.0, apart)))


def fuzzy_union(neighbors: Indices, P: Floats, mix: float) -> Floats:
    """mix (P + P^T - P o P^T) + (1 - mix) P o P^T, written out."""
    n = len(neighbors)
    dense = np.zeros((n, n))
    np.put_along_axis(dense, neighbors.astype(np.intp), P.astype(np.float64), axis=1)
    both = dense * dense.T
    return mix * (dense + dense.T - both) + (1 - mix) * both


def firing_edges(graph: Any, largest: float, epochs: int, seed: int | None) -> Any:
    """The edges that fire in so many epochs, with 2^32 w / largest; each row shuffled by its lots."""
    begin, columns, values = graph
    words = np.minimum(WORD * values.astype(np.float64) / np.float32(largest), WORD - 1).astype(np.uint32)
    starts, ends, numbers = [0], [], []
    for i in range(len(begin) - 1):
        row = [
            (int(j), int(word))
            for j, word in zip(columns[begin[i] : begin[i + 1]], words[begin[i] : begin[i + 1]], strict=True)
            if int(word) * epochs >= WORD - 1
        ]
        if seed is not None:
            lots = _lots(seed, 0, i)
            for left in range(len(row), 1, -1):
                chosen = next(lots) * left >> 32
                row[chosen], row[left - 1] = row[left - 1], row[chosen]
        ends += [j for j, _ in row]
        numbers += [word for _, word in row]
        starts.append(len(ends))
    return np.array(starts, np.int64), np.array(ends, np.int32), np.array(numbers, np.uint32)


def layout_epoch(edges: Any, Y: Floats, order: Indices, curve: Any, epoch: Any) -> Floats:
    """Each point by itself, through its edges that fire; all others stay where they were before.

    Rows go in chunks of 256, in each of them by their number of edges, 32 side by side: the i-th of them meets the i-th
    point of `order` from a place by lot on.
    """
    number, _, _, seed = epoch
    n, out = len(Y), np.array(Y, np.float64)
    for first in range(0, n, CHUNK):
        rows = np.arange(first, min(first + CHUNK, n))
        fired = {i: _fired(edges, i, number) for i in rows}
        rows = np.array(sorted(rows, key=lambda i: -len(fired[i])))
        for rank in range(0, len(rows), SIDE_BY_SIDE):
            for lane, i in enumerate(rows[rank : rank + SIDE_BY_SIDE]):
                lots = _lots(seed ^ (WORD - 1), number, (first + rank) // 16)
                places = (order[((next(lots) * n >> 32) + lane) % n] for _ in iter(int, 1))
                start = next(_lots(seed, number, int(i))) * len(fired[i]) >> 32
                _move(out[i], np.roll(fired[i], -start), (Y, Y, places), curve, epoch, both=True)
    return out


def placing_epoch(edges: Any, Y: Floats, others: Floats, curve: Any, epoch: Any) -> Floats:
    """The same for new points among fixed ones: all of them have the same lots."""
    number, _, _, seed = epoch
    out = np.array(Y, np.float64)
    for i, y in enumerate(out):
        lots = _lots(seed ^ (WORD - 1), number, 0)
        places = (next(lots) * len(others) >> 32 for _ in iter(int, 1))
        fired = _fired(edges, i, number)
        start = next(_lots(seed, number, 0)) * len(fired) >> 32
        _move(y, np.roll(fired, -start), (others, others, places), curve, epoch, both=False)
    return out


def _fired(edges: Any, i: Any, number: int) -> Any:
    begin, columns, words = edges
    row = slice(begin[i], begin[i + 1])
    return columns[row][(number * words[row].astype(np.uint64)) % WORD < words[row]]


def _move(y: Any, fired: Any, among: Any, curve: Any, epoch: Any, *, both: bool) -> None:
    """Moves y in place: an edge pulls from one end or from both, then the negatives push, BATCH of them at once."""
    a, b, strength = curve
    _, step, negatives, _ = epoch
    near, others, places = among
    for j in fired:
        way = y - near[j]
        for _ in range(2 if both else 1):  # from both ends, which both have moved
            r = max(way @ way, TINY)
            move = step * np.clip(-2 * a * b * r**b / (r * (1 + a * r**b)) * way, -LONGEST, LONGEST)
            y += move
            way += 2 * move
        for begin in range(0, negatives, BATCH):
            total = np.zeros_like(y)
            for _ in range(min(BATCH, negatives - begin)):
                way = y - others[next(places)]
                r = max(way @ way, TINY)
                total += np.clip(2 * strength * b / ((r + SOFT) * (1 + a * r**b)) * way, -LONGEST, LONGEST)
            y += step * total


def _lots(seed: int, epoch: int, number: int) -> Any:
    """An endless row of random words."""
    state = _scrambled(seed ^ _scrambled(epoch ^ _scrambled(number)))
    while True:
        state = (state + 0x9E3779B9) % WORD
        yield _scrambled(state)


def _scrambled(x: int) -> int:
    x ^= x >> 16
    x = x * 0x7FEB352D % WORD
    x ^= x >> 15
    x = x * 0x846CA68B % WORD
    return x ^ x >> 16
