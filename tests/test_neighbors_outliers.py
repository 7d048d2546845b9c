"""Data with points far away, and groups far from each other: as quickly found as others, and as right."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from conftest import cloud, same_bits
from lowfold import build_index
from lowfold.backend import reference
from lowfold.neighbors import duplicates
from lowfold.neighbors.scores import BYTES, DIFFERENCES, PRODUCTS, fitting_scores
from lowfold.neighbors.spatial import SpatialIndex

N = 5000


def shuffled(*parts):
    return np.random.default_rng(0).permutation(np.concatenate(parts))


DATA = {
    "plain": (lambda: cloud(N, 24), BYTES),
    "one in a hundred far away": (lambda: shuffled(1e-3 * cloud(N - 50, 24), 100 * cloud(50, 24, seed=1)), BYTES),
    "heavy tails": (lambda: cloud(N, 24) * (np.random.default_rng(1).pareto(0.5, (N, 1)) + 1), BYTES),
    "two groups": (lambda: shuffled(cloud(N // 2, 24), 1e4 + cloud(N // 2, 24, seed=1)), DIFFERENCES),
    "most in one place": (lambda: shuffled(1e-6 * cloud(3 * N // 5, 24), cloud(2 * N // 5, 24, seed=1)), BYTES),
    "places in cities": (lambda: np.repeat(cloud(50, 2), N // 50, axis=0) + 1e-5 * cloud(N, 2, seed=1), DIFFERENCES),
}


DATA["a number that stands for none"] = (
    lambda: np.where(np.arange(N * 24).reshape(N, 24) == 777, 9e16, cloud(N, 24)),
    BYTES,
)


def rows_of(data, dtype):
    return np.ascontiguousarray(DATA[data][0](), dtype=dtype)


@pytest.mark.parametrize("data", list(DATA))
def test_scores_are_the_quickest_that_tell_neighbors_apart(data):
    make, wanted = DATA[data]
    X = make()
    in_bytes = X.shape[1] >= 16
    assert fitting_scores(X, 2, bytes_too=in_bytes) == wanted
    without = fitting_scores(X, 2, bytes_too=False)
    assert without == (DIFFERENCES if wanted == DIFFERENCES else PRODUCTS)


@pytest.mark.parametrize("metric", ["euclidean", "sqeuclidean"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("data", list(DATA))
def test_the_exact_search_is_right_whatever_lies_far_away(data, dtype, metric):
    X = rows_of(data, dtype)
    index = build_index(X, metric=metric, search="exact")
    found, some = index.query(None, 10), np.arange(0, N, 97)
    wide = X.astype(np.float64)
    D = reference.distances(wide[some], wide, metric)
    D[np.arange(len(some)), some] = np.inf
    np.testing.assert_allclose(found.distances[some], np.sort(D, axis=1)[:, :10], rtol=1e-5)
    own = index.query(X[some], 11)
    np.testing.assert_array_equal(own.distances[:, 0], 0)
    assert same_bits(own.distances[:, 1:], found.distances[some])
    assert same_bits(index.query(X[some[3:4]], 11).indices, own.indices[3:4])


@pytest.mark.parametrize("data", list(DATA))
def test_the_approximate_search_keeps_its_recall_and_its_bits(data):
    X = rows_of(data, np.float32)
    index = build_index(X, search="cells")
    found, true = index.query(None, 10), build_index(X, search="exact").query(None, 10)
    shares = [len(set(a) & set(b)) / 10 for a, b in zip(found.indices, true.indices, strict=True)]
    assert np.mean(shares) > 0.985
    again = build_index(X, search="cells", n_jobs=3).query(None, 10)
    assert same_bits(again.indices, found.indices)
    stored = pickle.loads(pickle.dumps(index))
    assert same_bits(stored.query(X[:20], 10).indices, index.query(X[:20], 10).indices)


def test_where_bytes_are_not_enough_the_search_goes_on_without_them(monkeypatch):
    calibrated = SpatialIndex._calibrated
    monkeypatch.setattr(
        SpatialIndex,
        "_calibrated",
        lambda index, k, target, *, in_bytes: None if in_bytes else calibrated(index, k, target, in_bytes=False),
    )
    X = rows_of("plain", np.float32)
    index = build_index(X, search="cells")
    found, true = index.query(None, 10), build_index(X, search="exact").query(None, 10)
    assert index._scores == BYTES
    assert not index._plans[10].in_bytes
    assert index._by_products is not None
    shares = [len(set(a) & set(b)) / 10 for a, b in zip(found.indices, true.indices, strict=True)]
    assert np.mean(shares) > 0.985
    stored = pickle.loads(pickle.dumps(index))
    assert same_bits(stored.query(None, 10).indices, found.indices)


def test_copies_are_spread_by_as_many_as_are_wanted():
    X = np.random.default_rng(0).integers(0, 2, (4000, 3)).astype(np.float64)  # 8 distinct rows
    new = np.vstack([X[:5], X[:5] + 0.25])
    for queries, k in ((new, 7), (new, 900), (None, 40)):
        found = build_index(X).query(queries, k)
        rows = X[:10] if queries is None else queries
        D = reference.distances(rows, X, "euclidean")
        if queries is None:
            D[np.arange(10), np.arange(10)] = np.inf
        order = np.lexsort((np.broadcast_to(np.arange(4000), D.shape), D), axis=1)[:, :k]
        np.testing.assert_array_equal(found.indices[:10], order)


def test_copies_behind_those_that_are_wanted_are_not_made():
    X = np.random.default_rng(0).integers(0, 2, (4000, 8)).astype(np.float64)
    index = build_index(np.vstack([np.repeat(X[:1], 300, axis=0), X]))
    inner = index._distinct.query(X[:50], 60)
    sizes = index._sizes[inner.indices]
    copies = index._copies_wanted(inner.indices, inner.distances, 60)
    for distances, size, wanted in zip(inner.distances, sizes, copies, strict=True):
        for distance in np.unique(distances):
            room = 60 - np.minimum(size, 60)[distances < distance].sum()
            np.testing.assert_array_equal(
                wanted[distances == distance], np.minimum(size[distances == distance], max(room, 0))
            )
    assert (copies[:, -1] == 0).any()


def test_equally_far_copies_are_spread_a_few_rows_at_a_time(monkeypatch):
    """Of groups that are all as far away, each may fill all places: k^2 copies for each row."""
    X = np.repeat(np.eye(12), 300, axis=0)  # 12 groups, each at the same distance from every other
    index, new = build_index(X), np.zeros((50, 12))
    D = cdist(new, X)
    handled = []
    spread = duplicates.DistinctIndex._spread_rows
    monkeypatch.setattr(duplicates, "NUMBERS_AT_ONCE", 5000)
    monkeypatch.setattr(
        duplicates.DistinctIndex,
        "_spread_rows",
        lambda self, groups, far, sizes, k: handled.append(sizes.sum()) or spread(self, groups, far, sizes, k),
    )
    found = index.query(new, 100)
    assert len(handled) > 10
    assert max(handled) <= 5000
    np.testing.assert_array_equal(found.indices, np.argsort(D, axis=1, kind="stable")[:, :100])


@pytest.mark.parametrize("metric", ["cosine", "seuclidean", "euclidean"])
def test_few_distinct_rows_among_many_are_searched_exactly(metric):
    rows = np.random.default_rng(0).standard_normal((600, 64)).astype(np.float32)
    X = rows[np.random.default_rng(1).integers(600, size=30_000)]
    X[:300] = X[0]
    assert build_index(X, metric=metric).is_exact
    assert not build_index(np.random.default_rng(0).standard_normal((30_000, 64)), metric=metric).is_exact
