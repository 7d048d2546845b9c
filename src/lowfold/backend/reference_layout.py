"""The kernels of UMAP in NumPy, written to be read: what each of them returns."""

from __future__ import annotations

from typing import Any

import numpy as np

from lowfold.types import Floats, Indices

LONGEST, SOFT, TINY = 4.0, 1e-3, 1e-12
WORD = 2**32


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


def layout_epoch(edges: Any, Y: Floats, others: Floats | None, curve: Any, epoch: Any) -> Floats:
    """Each point by itself, through its edges that fire, in an order by lot; all others stay where they were."""
    begin, columns, words = edges
    a, b, strength = curve
    number, step, negatives, seed = epoch
    fixed = Y if others is None else others
    out = np.array(Y, np.float64)
    for i, y in enumerate(out):
        state = _scrambled(seed ^ _scrambled(number ^ _scrambled(i if others is None else 0)))
        row = slice(begin[i], begin[i + 1])
        fires = (number * words[row].astype(np.uint64)) % WORD < words[row]
        for j in _shuffled(columns[row][fires].tolist(), state):
            way = y - fixed[j]
            for _ in range(2 if others is None else 1):  # from both ends, which both have moved
                r = max(way @ way, TINY)
                move = step * np.clip(-2 * a * b * r**b / (r * (1 + a * r**b)) * way, -LONGEST, LONGEST)
                y += move
                way += 2 * move
            for _ in range(negatives):
                state = (state + 0x9E3779B9) % WORD
                way = y - fixed[_scrambled(state) * len(fixed) >> 32]
                r = max(way @ way, TINY)
                y += step * np.clip(2 * strength * b / ((r + SOFT) * (1 + a * r**b)) * way, -LONGEST, LONGEST)
    return out


def _shuffled(items: list[int], lot: int) -> list[int]:
    for left in range(len(items), 1, -1):
        lot = _scrambled((lot + 0x9E3779B9) % WORD)
        at = lot * left >> 32
        items[left - 1], items[at] = items[at], items[left - 1]
    return items


def _scrambled(x: int) -> int:
    x ^= x >> 16
    x = x * 0x7FEB352D % WORD
    x ^= x >> 15
    x = x * 0x846CA68B % WORD
    return x ^ x >> 16
