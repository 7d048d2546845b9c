"""The cases of the kernels of rows of numbers: searches and products."""

from __future__ import annotations

from typing import Any

import numpy as np

from agreeing import Data, Pair, case, strips
from lowfold.backend import reference


def index_of(kernels: Any, data: Data, *, scores: str = "products") -> Any:
    make = kernels.Index32 if data.dtype == np.float32 else kernels.Index64
    return make(data.rows(), "euclidean", 6, scores, 0, 2)


@case
def random_bits(kernels, data):
    return Pair(kernels.random_bits(2**40 + 7, 3, data.n), reference.random_bits(2**40 + 7, 3, data.n), 0)


@case
def fingerprints(kernels, data):
    return Pair(kernels.fingerprints(data.rows(), 2), reference.fingerprints(data.rows()), 0)


@case
def directions(kernels, data):
    X = data.rows()
    X[3], X[5] = 0, 0.3
    return Pair(kernels.directions(X, True, 2), reference.directions(X, True))


def nearest(found, wanted, X, queries):
    """Distances, and those to the points that are named, each of them once and ties by index: rounding can exchange
    equally near ones."""
    indices, distances = found
    named = [reference.distances(q[None], X[row], "euclidean")[0] for q, row in zip(queries, indices, strict=True)]
    assert all(len(set(row)) == len(row) for row in indices)
    assert (np.diff(indices, axis=1)[np.diff(distances, axis=1) == 0] > 0).all()
    return Pair((distances, np.array(named)), (wanted[1], wanted[1]), each=True)


@case
def search(kernels, data):
    X = data.rows()
    found = index_of(kernels, data, scores="bytes").search(None, None, 9, 1.0, 1.0, 2)
    assert not (found[0] == np.arange(data.n)[:, None]).any(), "a point is not its own neighbour"
    return nearest(found, reference.search(X, None, 9, "euclidean"), X, X)


@case
def calibrate(kernels, data):
    """The true neighbours, and a reach with which the search finds them."""
    X, index, subset = data.rows(), index_of(kernels, data), np.arange(0, data.n, 5, dtype=np.int32)
    indices, needed = index.calibrate(subset, 9, 1.0, 2)
    again, _ = index.search(None, subset, 9, float(needed.max()) * 1.001, 1.0, 2)
    wanted = reference.calibrate(X, subset, 9, "euclidean")

    def lengths(rows):
        own = zip(X[subset], rows, strict=True)
        return np.array([reference.distances(x[None], X[row], "euclidean")[0] for x, row in own])

    return Pair((lengths(indices), again), (lengths(wanted), indices), each=True)


@case
def order(kernels, data):
    return Pair(np.sort(index_of(kernels, data).order()), np.arange(data.n), 0)


@case
def rank_candidates(kernels, data):
    X, queries = data.rows(), data.rows(20, seed=1)
    candidates = np.random.default_rng(0).permuted(np.tile(np.arange(data.n, dtype=np.int32), (20, 1)), axis=1)
    candidates = np.ascontiguousarray(candidates[:, :12])
    found = kernels.rank_candidates(X, queries, candidates, "euclidean", 2)
    return nearest(found, reference.rank_candidates(X, queries, candidates, "euclidean"), X, queries)


@case
def column_means(kernels, data):
    return Pair(kernels.column_means(data.rows(), 2), reference.column_means(data.rows()), 1e-12)


@case
def largest_entry(kernels, data):
    X, mean = data.rows(), reference.column_means(data.rows())
    return Pair(kernels.largest_entry(X, mean, 2), reference.largest_entry(X, mean))


@case
def scatter(kernels, data):
    X, mean = data.rows(), reference.column_means(data.rows())
    return Pair(kernels.scatter(X, mean, 2), reference.scatter(X, mean))


@case
def cross(kernels, data):
    A, B = data.rows(), data.rows(d=9, seed=1)
    means = reference.column_means(A), reference.column_means(B)
    return Pair(kernels.cross(A, means[0], B, means[1], 2), reference.cross(A, means[0], B, means[1]))


@case
def project(kernels, data):
    X, mean, B = data.rows(), reference.column_means(data.rows()), data.chance(5, 3)
    return Pair(kernels.project(X, mean, B, 2), reference.project(X, mean, B))


@case
def times(kernels, data):
    A, V = data.rows(), data.chance(5, 3)
    return Pair(kernels.times(A, V, 2), reference.times(A, V))


@case
def symmetric_times(kernels, data):
    A, V = data.rows(d=data.n), data.chance(data.n, 3)
    return Pair(kernels.symmetric_times(A, V, 2), reference.symmetric_times(A, V))


@case
def packed_times(kernels, data):
    A, V = strips(data.rows(d=data.n)), data.chance(data.n, 3)
    return Pair(kernels.packed_times(A, V, 2), reference.packed_times(A, V))
