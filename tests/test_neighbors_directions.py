"""Cosine and correlation between rows whose directions float32 can hardly tell apart."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array

from conftest import cloud, same_bits
from lowfold.neighbors import directions, engines, interface
from lowfold.neighbors.index import build_index


def _beside(offset):
    return cloud(400, 12) + offset


def _bundles():
    """Rows in a few directions, and those of one direction a hundred-thousandth apart."""
    return 1000 * cloud(8, 12, seed=1)[np.arange(400) % 8] + 0.01 * cloud(400, 12)


def _pairs():
    """Each row twice, at another length and a little beside."""
    return np.repeat(cloud(200, 12), 2, axis=0) * np.tile([1, 3], 200)[:, None] + 1e-6 * cloud(400, 12, seed=1)


DATA = {
    "plain": lambda: cloud(400, 12),
    "a thousand aside": lambda: _beside(1e3),
    "a hundred thousand aside": lambda: _beside(1e5),
    "a million aside": lambda: _beside(1e6),
    "bundles": _bundles,
    "pairs": _pairs,
    "bundles and nothing": lambda: np.vstack([_bundles(), np.zeros((3, 12))]),
}


def _check(found, queries, points, centred=False):
    """That those found are as near as the nearest, by extended precision and but for the rounding of a distance."""
    u, v = (_units(X, centred) for X in (queries, points))
    D = np.array([np.square(v - row).sum(axis=1) / 2 for row in u])
    if queries is points:
        np.fill_diagonal(D, np.inf)
    nearest, own = np.sort(D, axis=1)[:, : found.shape[1]], np.take_along_axis(D, found.astype(np.intp), 1)
    np.testing.assert_allclose(own.astype(float), nearest.astype(float), rtol=1e-6, atol=1e-20)


def _units(X, centred):
    X = np.asarray(X, np.longdouble)
    X = X - X.mean(axis=1, keepdims=True) if centred else X
    lengths = np.sqrt(np.square(X).sum(axis=1, keepdims=True))
    return X / np.where(lengths > 0, lengths, 1)


@pytest.mark.parametrize("metric", ["cosine", "correlation"])
@pytest.mark.parametrize("data", list(DATA))
def test_the_exact_search_finds_the_nearest_directions_of_float32_rows(data, metric):
    X = DATA[data]().astype(np.float32)
    found = build_index(X, metric=metric, search="exact").query(None, 10)
    assert found.distances.dtype == np.float32
    own = X[:400]  # those that have a direction
    _check(found.indices[:400], own, own, metric == "correlation")


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("data", ["a million aside", "bundles", "bundles and nothing"])
def test_new_rows_have_their_nearest_directions_each_by_itself(data, dtype):
    X = DATA[data]().astype(np.float32)
    new = (X[:50].astype(float) * 1.7 + 1e-3 * cloud(50, 12, seed=2)).astype(dtype)
    index = build_index(X, metric="cosine", search="exact")
    found = index.query(new, 10)
    _check(found.indices, new, X[:400])
    np.testing.assert_array_equal(index.query(new[[7]], 10).indices, found.indices[[7]])
    np.testing.assert_array_equal(index.query(new[::-1], 10).distances, found.distances[::-1])


@pytest.mark.parametrize("data", ["plain", "a million aside", "bundles", "pairs"])
def test_sparse_rows_in_float32_have_the_nearest_directions_too(data):
    X = DATA[data]().astype(np.float32)
    found = build_index(csr_array(X), metric="cosine").query(None, 10)
    assert found.distances.dtype == np.float32
    _check(found.indices, X, X)


def test_rows_far_aside_keep_the_recall_of_an_approximate_search():
    X = (cloud(3000, 12) + 1e6).astype(np.float32)
    found = build_index(X, metric="cosine", search="cells").query(None, 10)
    true = build_index(_units(X, False).astype(float), search="exact").query(None, 10)
    shares = [len(set(a) & set(b)) / 10 for a, b in zip(found.indices, true.indices, strict=True)]
    assert np.mean(shares) > 0.985  # 0.99 is asked for; rounded unit vectors would give 0.95


def test_many_rows_of_equal_rounded_directions_are_told_apart():
    X = np.repeat(cloud(2, 12), 300, axis=0)
    X = (1000 * X + 1e-3 * cloud(600, 12, seed=1)).astype(np.float32)
    _check(build_index(X, metric="cosine", search="exact").query(None, 5).indices, X, X)


def test_some_points_have_the_neighbors_that_all_have():
    X = _bundles().astype(np.float32)
    index = build_index(X, metric="cosine", search="exact")
    some = np.array([3, 399, 12])
    np.testing.assert_array_equal(index.nearest_points(some, 7).indices, index.query(None, 7).indices[some])
    i, j, distance = index.closest_pair(np.arange(0, 200), np.arange(200, 400))
    u, v = _units(X[[i, j]], False)
    assert distance == pytest.approx(float(np.square(u - v).sum() / 2), rel=1e-6)


@pytest.mark.parametrize("metric", ["cosine", "correlation"])
def test_float64_rows_are_centred_and_measured_before_they_are_rounded(metric):
    points, new = (cloud(400, 12) + 1e6).astype(np.float32), cloud(50, 12, seed=1) + 1e6
    found = build_index(points, metric=metric, search="exact").query(new, 5)
    _check(found.indices, new, points, metric == "correlation")
    tiny = build_index(points, metric="cosine", search="exact").query(points[:3].astype(float) * 1e-60, 1)
    np.testing.assert_array_equal(tiny.indices[:, 0], [0, 1, 2])


@pytest.mark.parametrize("without", [0, 1, 7])
def test_rows_with_and_without_a_direction_are_merged_in_order_some_at_a_time(without, monkeypatch):
    monkeypatch.setattr(directions, "MERGED_AT_ONCE", 90)
    monkeypatch.setattr(interface, "NUMBERS_AT_ONCE", 50)
    X = cloud(120, 3)
    X[::17][:without] = 0
    new = np.vstack([X[:20], -X[:20], np.zeros((1, 3))])
    lengths = [np.linalg.norm(rows.astype(float), axis=1) for rows in (new, X)]
    with np.errstate(invalid="ignore", divide="ignore"):
        D = 1 - new @ X.T / np.outer(*lengths)
    D = np.nan_to_num(D, nan=1.0).round(12)
    for k in (1, 30, 120):
        found = build_index(X, metric="cosine").query(new, k)
        np.testing.assert_array_equal(found.indices, np.argsort(D, axis=1, kind="stable")[:, :k])


@pytest.mark.parametrize("metric", ["cosine", "correlation"])
def test_float32_rows_beside_float64_points_are_measured_as_the_points_are(metric):
    X = (5 + 1e-4 * cloud(400, 10)).astype(np.float32)
    index = build_index(X.astype(np.float64), metric=metric)
    narrow, wide = index.query(X[:50], 5), index.query(X[:50].astype(np.float64), 5)
    assert same_bits(narrow.distances, wide.distances)
    np.testing.assert_array_equal(narrow.indices, wide.indices)
    assert (narrow.indices[:, 0] == np.arange(50)).all()
    assert (narrow.distances[:, 0] == 0).all()


def test_rows_that_float32_tells_apart_are_searched_for_once(monkeypatch):
    monkeypatch.setattr(directions, "rounded", None)  # of float64 alone
    monkeypatch.setattr(directions, "nearest_rounded", None)
    X = cloud(400, 12).astype(np.float32)
    index = build_index(X, metric="cosine", search="exact")
    index.query(None, 5)
    index.query(X, 5)  # each is its own neighbour, and no other is as close


@pytest.mark.parametrize("metric", ["cosine", "correlation"])
@pytest.mark.parametrize("sparse", [False, True])
def test_fewer_neighbors_are_the_first_of_more_also_where_float64_decides(metric, sparse):
    rng = np.random.default_rng(0)
    X = np.full((200, 400), 0.0 if sparse else 0.1)
    X[np.arange(200), rng.integers(0, 150, 200)] += 1  # some share their direction, all others are equally far
    X = (X if sparse else X + 1e-6 * rng.normal(size=X.shape)).astype(np.float32)
    index = build_index(csr_array(X) if sparse and metric == "cosine" else X, metric=metric, search="exact")
    for queries, most in ((None, 199), (X[:50], 200)):
        every = index.query(queries, most)
        assert ((np.diff(every.indices, axis=1) > 0) | (np.diff(every.distances, axis=1) > 0)).all()
        for k in (1, 2, 5, 40):
            some = index.query(queries, k)
            np.testing.assert_array_equal(some.indices, every.indices[:, :k])
            np.testing.assert_array_equal(some.distances, every.distances[:, :k])


@pytest.mark.parametrize(("sparse", "empty_columns"), [(False, 0), (True, 0), (True, 50_000)])
def test_any_number_of_directions_that_are_equally_far_once_rounded_go_by_index(sparse, empty_columns):
    n, t = 700, np.float32(0.00017263479821849614)
    X = np.zeros((n, n + 1), np.float32)
    X[:, 0] = 1
    # Two points with t are t^2 apart, those with t and the next number a little more, and the same in float32.
    X[np.arange(n), np.arange(1, n + 1)] = np.where(np.arange(n) < 350, np.nextafter(t, np.float32(1)), t)
    if sparse:
        X = csr_array(X)
        X.resize(n, n + 1 + empty_columns)
    index = build_index(X, metric="cosine")
    some = np.arange(350, n, 50)
    found = index.nearest_points(some, 5)
    assert len(np.unique(found.distances)) == 1
    np.testing.assert_array_equal(found.indices, np.tile(np.arange(5), (len(some), 1)))
    if not sparse:  # which takes seconds
        np.testing.assert_array_equal(index.query(None, 5).indices[some], found.indices)
    np.testing.assert_array_equal(index.query(X[[500, 600]], 3).indices, [[500, 0, 1], [600, 0, 1]])


def test_what_is_searched_exactly_is_sharpened_also_where_only_the_rows_with_a_direction_are_few_enough(monkeypatch):
    monkeypatch.setattr(engines, "EXACT_WORK", 300 * 300 * 20)
    X = np.zeros((600, 20), np.float32)
    X[::2] = 1 + 1e-5 * cloud(300, 20)
    found = build_index(X, metric="cosine").query(None, 3)
    unit = X[::2].astype(np.float64)
    unit /= np.linalg.norm(unit, axis=1, keepdims=True)
    D = np.square(unit[:, None] - unit).sum(axis=2) / 2
    np.fill_diagonal(D, np.inf)
    np.testing.assert_allclose(found.distances[::2], np.sort(D, axis=1)[:, :3], rtol=1e-4)
    assert found.recall == 1


@pytest.mark.parametrize(("share", "spread"), [(0.5, 3e-6), (0.08, 1e-6)])
def test_an_approximate_search_tells_its_recall_among_directions_that_float32_confuses(share, spread):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((8000, 12))
    X[: int(8000 * share)] = 5 + spread * X[: int(8000 * share)]
    X = X.astype(np.float32)
    found = build_index(X, metric="cosine", search="cells").query(None, 15)
    units = X.astype(np.longdouble)
    units /= np.sqrt((units * units).sum(axis=1, keepdims=True))
    hits = []
    for i in range(0, 8000, 41):
        away = np.square(units - units[i]).sum(axis=1)
        away[i] = np.inf
        hits.append(np.mean(away[found.indices[i]] <= np.partition(away, 14)[14]))
    assert np.mean(hits) >= min(0.985, found.recall - 0.01)
    assert found.recall >= 0.99


@pytest.mark.parametrize("metric", ["cosine", "correlation"])
def test_two_rows_with_a_direction_are_searched_approximately(metric):
    X = np.zeros((600, 4), np.float32)
    X[[5, 77]] = cloud(2, 4)
    assert build_index(X[[5, 77]], metric=metric, search="cells").query(None, 1).indices.tolist() == [[1], [0]]
    assert build_index(X, metric=metric, search="cells").query(None, 1).indices[5, 0] in (0, 77)
