"""The co-ranking kernel does what its NumPy reference says, on every instruction set."""

from __future__ import annotations

import numpy as np
import pytest

from conftest import same_bits
from lowfold.backend import reference

DTYPES = (np.float32, np.float64)
SHAPES = {"random": (60, 5), "ties": (60, 3), "collapsed": (400, 2), "few": (3, 1), "many": (120, 4)}


def spaces(kind, dtype):
    n, d = SHAPES[kind]
    rng = np.random.default_rng(0)
    X, Y = rng.standard_normal((n, d)), rng.standard_normal((n, 2))
    if kind == "ties":  # small whole numbers: many distances are equal, and some points
        X, Y = X.round(), Y.round()
    if kind == "collapsed":
        Y[:] = 1.0
    return X.astype(dtype), Y.astype(dtype)


@pytest.mark.parametrize("kind", SHAPES)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("area", [False, True])
def test_coranking_equals_the_reference(kernels, dtype, kind, area):
    X, Y = spaces(kind, dtype)
    rows = np.arange(0, len(X), 3, dtype=np.int32)[:20]
    ks = np.unique(np.array([1, min(7, len(X) - 2), len(X) // 2, len(X) - 2], np.int64))
    found = kernels.coranking(X, Y, rows, ks, (False, area), 2)
    wanted = reference.coranking(X.astype(float), Y.astype(float), rows, ks, (False, area))
    for a, b in zip(found, wanted, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-9)  # sums of up to n^2 / 2 halves


@pytest.mark.parametrize("dtype", DTYPES)
def test_given_distances_are_ranked_as_those_of_points(kernels, dtype):
    X, Y = spaces("ties", dtype)
    rows, ks = np.array([4, 0, 59], np.int32), np.array([1, 10], np.int64)
    D = reference.distances(X[rows], X, "euclidean").astype(dtype)
    given = kernels.coranking(D, Y, rows, ks, (True, True), 1)
    points = kernels.coranking(X, Y, rows, ks, (False, True), 1)
    assert all(same_bits(a, b) for a, b in zip(given, points, strict=True))


@pytest.mark.parametrize("threads", [2, 3, 7])
def test_coranking_has_the_same_bits_on_any_number_of_threads(kernels, threads):
    X, Y = spaces("many", np.float32)
    rows, ks = np.arange(120, dtype=np.int32), np.array([3, 90], np.int64)
    one, several = (kernels.coranking(X, Y, rows, ks, (False, True), t) for t in (1, threads))
    assert all(same_bits(a, b) for a, b in zip(one, several, strict=True))


def test_rows_and_sizes_that_do_not_exist_are_refused(kernels):
    X, Y = spaces("random", np.float64)
    row, k = np.array([0], np.int32), np.array([5], np.int64)
    for wrong in (np.array([-1], np.int32), np.array([60], np.int32)):
        with pytest.raises(ValueError, match="no point"):
            kernels.coranking(X, Y, wrong, k, (False, False), 1)
    for wrong in (np.array([0], np.int64), np.array([60], np.int64)):
        with pytest.raises(ValueError, match="k must be"):
            kernels.coranking(X, Y, row, wrong, (False, False), 1)
    with pytest.raises(ValueError, match="row for each"):
        kernels.coranking(X[:-1], Y, row, k, (False, False), 1)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(1, 1), (63, 3), (64, 5), (200, 2)])
def test_squared_distances_equal_the_reference_and_are_symmetric_in_every_bit(kernels, dtype, shape):
    X = np.random.default_rng(1).standard_normal(shape).astype(dtype)
    everyone = np.arange(len(X), dtype=np.int32)
    D = kernels.squared_distances(X, everyone, 2)
    np.testing.assert_allclose(D, reference.squared_distances(X, everyone), rtol=1e-5 if dtype == np.float32 else 1e-13)
    assert same_bits(D, np.ascontiguousarray(D.T))


METRICS = ("euclidean", "sqeuclidean", "cosine", "manhattan", "chebyshev")


def lists_of(n, queries, count, seed=0):
    return np.random.default_rng(seed).permuted(np.tile(np.arange(n, dtype=np.int32), (queries, 1)), axis=1)[:, :count]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("d", [1, 7, 16, 45])
def test_candidates_are_ranked_as_by_the_reference(kernels, metric, d, dtype):
    rng = np.random.default_rng(0)
    X, queries = (rng.integers(0, 4, (n, d)).astype(dtype) for n in (90, 30))  # many are equally far
    candidates = lists_of(90, 30, 40).copy()
    indices, distances = kernels.rank_candidates(X, queries, candidates, metric, 2)
    wanted, lengths = reference.rank_candidates(X, queries, candidates, metric)
    np.testing.assert_allclose(distances, lengths, rtol=1e-6)
    np.testing.assert_array_equal(indices, wanted)
    wider = kernels.rank_candidates(X, queries.astype(np.float64) / 3, candidates, metric, 2)
    among = kernels.rank_candidates(X.astype(np.float64), queries.astype(np.float64) / 3, candidates, metric, 2)
    assert all(same_bits(a, b) for a, b in zip(wider, among, strict=True))


@pytest.mark.parametrize("metric", METRICS)
def test_ranked_candidates_have_the_bits_of_a_search(kernels, metric):
    X = np.random.default_rng(1).standard_normal((200, 21)).astype(np.float32)
    index = kernels.Index32(X, metric, 4, "products", 0, 2)
    found = index.search(None, None, 12, 1.0, 1.0, 2)
    turned = np.ascontiguousarray(found[0][:, ::-1])
    ranked = kernels.rank_candidates(X, X, turned, metric, 3)
    assert same_bits(ranked[0], found[0])
    assert same_bits(ranked[1], found[1])
    np.testing.assert_array_equal(np.sort(index.order()), np.arange(200))


def test_candidates_that_do_not_fit_are_refused(kernels):
    X = np.ones((5, 3))
    right = np.zeros((5, 2), np.int32)
    for queries, candidates, text in (
        (np.ones((5, 2)), right, "features of X"),
        (np.ones((4, 3)), right, "as many rows"),
        (X, right + 5, "candidates must be rows of X"),
        (X, right - 1, "candidates must be rows of X"),
    ):
        with pytest.raises(ValueError, match=text):
            kernels.rank_candidates(X, queries, candidates, "euclidean", 1)
