"""New rows that are not like the points: between clusters, far from all of them."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from conftest import cloud
from lowfold import Cells, build_index
from lowfold.neighbors import reduced, spatial


def share(found, true):
    return np.mean([np.isin(a, b).mean() for a, b in zip(true, found, strict=True)])


def clusters(n, d, count, seed=0):
    rng = np.random.default_rng(seed)
    centres = 10 * rng.standard_normal((count, d))
    return centres[rng.integers(count, size=n)] + 0.3 * rng.standard_normal((n, d)), centres


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_recall_that_is_told_holds_for_new_rows_between_clusters_too(dtype):
    X, centres = clusters(12000, 20, 150)
    X, new = X.astype(dtype), np.vstack([(centres[:75] + centres[75:]) / 2, np.zeros((1, 20))]).astype(dtype)
    found = build_index(X, search=Cells(recall=0.95)).query(new, 15)
    assert found.recall < 1  # else nothing is shown
    assert share(found.indices, build_index(X, search="exact").query(new, 15).indices) >= found.recall


def test_it_holds_beside_small_groups_some_of_which_lie_in_two_cells():
    rng = np.random.default_rng(2)  # whose sample finds the last neighbours of a few points in another group
    centres = rng.standard_normal((1500, 24))
    X = (np.repeat(centres, 16, axis=0) + 0.02 * rng.standard_normal((24000, 24))).astype(np.float32)
    new = rng.standard_normal((100, 24)).astype(np.float32)
    for metric in ("euclidean", "cosine"):
        found = build_index(X, metric=metric, search="cells").query(new, 15)
        assert 0.99 <= found.recall < 1
        true = build_index(X, metric=metric, search="exact").query(new, 15)
        assert share(found.indices, true.indices) >= 0.99


@pytest.mark.parametrize("subspace", [False, True])
def test_it_holds_between_clusters_where_some_points_lie_far_from_all_others(subspace, monkeypatch):
    monkeypatch.setattr(reduced, "LEAST_WORK", 0 if subspace else np.inf)
    rng = np.random.default_rng(11)
    X, centres = clusters(12000, 40, 120)
    far = rng.random(12000) < 0.03
    X[far] = 100 * rng.standard_normal((far.sum(), 40))
    new = np.array([centres[rng.choice(120, 3, replace=False)].mean(axis=0) for _ in range(100)])
    if subspace:
        turned = np.linalg.qr(rng.standard_normal((130, 40)))[0].T
        X, new = (rows @ turned for rows in (X, new))
    X, new = X.astype(np.float32), new.astype(np.float32)
    index = build_index(X, search=Cells(recall=0.97))
    found = index.query(new, 15)
    assert isinstance(index, reduced.ReducedIndex) == subspace
    assert found.recall < 1
    assert share(found.indices, build_index(X, search="exact").query(new, 15).indices) >= 0.97
    for row in (0, 57):
        np.testing.assert_array_equal(index.query(new[row : row + 1], 15).indices[0], found.indices[row])


def test_rows_that_are_too_large_for_scores_in_bytes_are_searched_for_by_others(monkeypatch):
    X = cloud(6000, 30, dtype=np.float32)
    new = np.vstack([cloud(50, 30, seed=1), cloud(50, 30, seed=2) + 20]).astype(np.float32)
    index = build_index(X, search="cells")
    asked, search = [], spatial.SpatialIndex.search

    def listening(self, plan, k, queries=None, subset=None):
        if queries is not None and self is index:
            asked.append((plan.in_bytes, len(queries)))
        return search(self, plan, k, queries, subset)

    monkeypatch.setattr(spatial.SpatialIndex, "search", listening)
    few = index.query(new, 10)  # by the same index
    assert all(in_bytes for in_bytes, _ in asked)
    asked.clear()
    monkeypatch.setattr(spatial, "MANY", 50)
    found = index.query(new, 10)
    assert asked[0] == (True, 50)
    assert asked[-1] == (False, 50)
    np.testing.assert_array_equal(few.indices, found.indices)
    true = build_index(X, search="exact").query(new, 10)
    np.testing.assert_array_equal(found.indices[50:], true.indices[50:])
    assert share(found.indices[:50], true.indices[:50]) >= 0.98
    np.testing.assert_array_equal(index.query(new[::-1], 10).indices[::-1], found.indices)


def test_a_row_that_is_somewhat_larger_is_answered_with_few_others_as_among_many():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60_000, 20)).astype(np.float32)
    X[:540] *= 0.7  # a few larger points, of which the approximate search misses some for as large rows
    X[:540, 0] += 12
    new = (0.7 * rng.standard_normal((3000, 20))).astype(np.float32)
    new[:, 0] += 12
    index = build_index(X, search="cells")
    assert index._sizes.exceeded_by(new).sum() > spatial.MANY
    many, few = index.query(new, 15), index.query(new[:900], 15)
    np.testing.assert_array_equal(few.indices, many.indices[:900])
    np.testing.assert_array_equal(few.distances, many.distances[:900])
    for row in (49, 396, 636, 893):
        np.testing.assert_array_equal(index.query(new[row : row + 1], 15).indices[0], many.indices[row])


def test_memory_that_nobody_has_written_is_not_read(monkeypatch):
    index = build_index(cloud(6000, 30, dtype=np.float32), metric="sqeuclidean", search="cells")
    new = np.vstack([cloud(30, 30, seed=1), cloud(30, 30, seed=2) + 20]).astype(np.float32)
    index.query(new, 10)
    monkeypatch.setattr(spatial.np, "empty", lambda shape, dtype=float: np.full(shape, -1).astype(dtype))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        index.query(new, 10)


def test_it_holds_for_noise_beside_rows_that_are_searched_in_a_subspace(monkeypatch):
    monkeypatch.setattr(reduced, "LEAST_WORK", 0)
    rng = np.random.default_rng(0)
    low = clusters(4000, 8, 30)[0] @ rng.standard_normal((8, 130))
    X = (low + 0.5 * rng.standard_normal(low.shape)).astype(np.float32)
    new = 20 * rng.standard_normal((40, 130)).astype(np.float32)
    index = build_index(X, search=Cells(recall=0.9))
    found = index.query(new, 10)
    assert isinstance(index, reduced.ReducedIndex)
    assert found.recall < 1
    np.testing.assert_array_equal(found.indices, build_index(X, search="exact").query(new, 10).indices)
    np.testing.assert_array_equal(index.query(new[7:8], 10).indices[0], found.indices[7])


def test_an_index_that_was_pickled_before_there_were_reaches_makes_its_plans_again():
    X = cloud(6000, 20, dtype=np.float32)
    index = build_index(X, search="cells")
    wanted = index.query(X[:9] + 0.1, 5)
    old = object.__new__(spatial.Plan)  # of whose fields the last was never set
    for name in ("alpha", "caution", "recall", "usual", "in_bytes"):
        object.__setattr__(old, name, getattr(index._plans[5], name))
    again = object.__new__(spatial.SpatialIndex)
    again.__setstate__(index.__getstate__() | {"_plans": {5: old}})
    np.testing.assert_array_equal(again.query(X[:9] + 0.1, 5).indices, wanted.indices)
