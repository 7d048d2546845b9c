"""Rows of numbers: products, neighbours, directions, fingerprints, and random bits."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from lowfold.types import Floats, Indices

STRIP = 64  # rows


def column_means(X: Floats) -> NDArray[np.float64]:
    """The mean of each column."""
    return X.mean(axis=0, dtype=np.float64)


def largest_entry(X: Floats, mean: NDArray[np.float64]) -> float:
    """max |x_ip - mean_p|, or NaN if some x is not finite."""
    return float(np.abs(X - mean).max(initial=0)) if np.isfinite(X).all() else float("nan")


def scatter(X: Floats, mean: NDArray[np.float64]) -> NDArray[np.float64]:
    """S = sum_i (x_i - mean)(x_i - mean)^T."""
    centred = X - mean
    return centred.T @ centred


def cross(A: Floats, a_mean: NDArray[np.float64], B: Floats, b_mean: NDArray[np.float64]) -> NDArray[np.float64]:
    """C = sum_i (a_i - a_mean)(b_i - b_mean)^T."""
    return (A - a_mean).T @ (B - b_mean)


def project(X: Floats, mean: NDArray[np.float64], B: Floats) -> Floats:
    """Y = (X - mean) B, each row by itself, in the type of X."""
    rows = [(x - mean) @ B for x in X]
    return np.asarray(rows, dtype=X.dtype).reshape(len(X), B.shape[1])


def times(A: Floats, V: Floats) -> NDArray[np.float64]:
    """A V in float64."""
    return A.astype(np.float64) @ V


def symmetric_times(A: Floats, V: Floats) -> NDArray[np.float64]:
    """A V in float64, for the symmetric A with these entries on and above the diagonal."""
    return times(np.triu(A) + np.triu(A, 1).T, V)


def packed_times(A: Floats, V: Floats) -> NDArray[np.float64]:
    """A V in float64, for the symmetric A whose strips of STRIP rows are given one after another."""
    return times(unpacked(A, len(V)), V)


def unpacked(A: Floats, n: int) -> Floats:
    """The symmetric matrix of n rows whose strips are given: of STRIP rows, each from its first row's diagonal on."""
    begin, full = 0, np.zeros((n, n), A.dtype)
    for first in range(0, n, STRIP):
        rows = full[first : first + STRIP, first:]
        rows[:] = A[begin : begin + rows.size].reshape(rows.shape)
        begin += rows.size
    return np.triu(full) + np.triu(full, 1).T


def distances(X: Floats, Y: Floats, metric: str) -> NDArray[np.float64]:
    """The matrix of distances between the rows of X and of Y."""
    difference = X[:, None, :].astype(np.float64) - Y[None, :, :]
    if metric == "manhattan":
        return np.abs(difference).sum(axis=2)
    if metric == "chebyshev":
        return np.abs(difference).max(axis=2)
    squared = (difference**2).sum(axis=2)
    return {"euclidean": np.sqrt(squared), "sqeuclidean": squared, "cosine": squared / 2}[metric]


def calibrate(X: Floats, subset: Indices, k: int, metric: str) -> Indices:
    """The true neighbours of some of the points; the reach at which cells find each is not told here."""
    return search(X, None, k, metric)[0][subset]


def search(X: Floats, queries: Floats | None, k: int, metric: str) -> tuple[Indices, NDArray[np.float64]]:
    """The k nearest rows of X for each query, nearest first, ties by index; for X itself without each its own self."""
    D = distances(X if queries is None else queries, X, metric)
    if queries is None:
        np.fill_diagonal(D, np.inf)
    order = np.argsort(D, axis=1, kind="stable")[:, :k]
    return order.astype(np.int32), np.take_along_axis(D, order, axis=1)


def rank_candidates(
    X: Floats, queries: Floats, candidates: Indices, metric: str
) -> tuple[Indices, NDArray[np.float64]]:
    """Each query's candidates, which are rows of X, nearest first, ties by index."""
    rows = zip(queries, candidates, strict=True)
    D = np.concatenate([distances(query[None], X[row], metric) for query, row in rows])
    order = np.lexsort((candidates, D), axis=1)
    return np.take_along_axis(candidates, order, axis=1), np.take_along_axis(D, order, axis=1)


def fingerprints(X: Floats) -> NDArray[np.uint64]:
    """64 bits of each row, equal for equal rows; one missing number (NaN) equals another."""
    numbers = X.astype(np.float64) + 0.0
    numbers[np.isnan(numbers)] = np.nan
    bits = numbers.view(np.uint64)
    hash = np.full(len(X), 0x9E3779B97F4A7C15, np.uint64)
    for column in bits.T:
        hash = (((hash << np.uint64(23)) | (hash >> np.uint64(41))) ^ column) * np.uint64(0xD6E8FEB86659FD93)
    return hash ^ (hash >> np.uint64(32))


def directions(X: Floats, centred: bool) -> tuple[Floats, NDArray[np.bool_]]:
    """(unit vectors along the rows of X, or of X less each row's mean; which rows have a direction at all).

    A row without direction comes back as it is: zero, or what rounding leaves of a nearly constant one.
    """
    rows = X.astype(np.float64)
    smallest = np.zeros(len(rows))
    if centred:
        smallest = 8 * np.finfo(float).eps * np.abs(rows).max(axis=1)
        rows = rows - rows.mean(axis=1, keepdims=True)
        rows[(X[:, :1] == X).all(axis=1)] = 0  # of which the mean may be off
    largest = np.abs(rows).max(axis=1)
    has_direction = largest > smallest
    rows = rows / np.where(has_direction, largest, 1)[:, None]  # so that squares neither overflow nor vanish
    lengths = np.linalg.norm(rows, axis=1)
    return (rows / np.where(has_direction, lengths, 1)[:, None]).astype(X.dtype), has_direction


def random_bits(seed: int, stream: int, count: int) -> NDArray[np.uint64]:
    """64 random bits for each item 0 .. count - 1: Philox-4x32-10 of (item, stream) under the key `seed`."""
    items = np.arange(count, dtype=np.uint64)
    counter = [*_halves(items), *_halves(np.full(count, stream, np.uint64))]
    key = [int(half) for half in _halves(np.uint64(seed))]
    for _ in range(10):
        high_0, low_0 = _wide_product(0xD2511F53, counter[0])
        high_1, low_1 = _wide_product(0xCD9E8D57, counter[2])
        counter = [high_1 ^ counter[1] ^ np.uint64(key[0]), low_1, high_0 ^ counter[3] ^ np.uint64(key[1]), low_0]
        key = [(key[0] + 0x9E3779B9) & 0xFFFFFFFF, (key[1] + 0xBB67AE85) & 0xFFFFFFFF]
    return (counter[1] << np.uint64(32)) | counter[0]


def _halves(x: Any) -> tuple[Any, Any]:
    """The low and the high 32 bits."""
    return x & np.uint64(0xFFFFFFFF), x >> np.uint64(32)


def _wide_product(a: int, b: NDArray[np.uint64]) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """The high and the low 32 bits of a product of 32-bit numbers."""
    low, high = _halves(np.uint64(a) * b)
    return high, low
