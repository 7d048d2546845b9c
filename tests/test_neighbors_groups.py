"""Tight groups of points far from each other, and the points of two sets that face each other."""

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist

from lowfold import Cells, Isomap, build_index
from lowfold.neighbors import bridges, groups
from lowfold.neighbors.components import connect
from lowfold.neighbors.facing import facing
from lowfold.neighbors.groups import GroupedIndex, tight_groups
from lowfold.neighbors.interface import lengths_of
from lowfold.neighbors.scores import size_of_confused
from lowfold.neighbors.spatial import SpatialIndex

METRICS = ["euclidean", "sqeuclidean", "manhattan", "chebyshev", "cosine"]
SPREAD = {np.float32: 3e-6, np.float64: 1e-9}


def tight(n=6000, columns=3, count=3, spread=1e-9, dtype=np.float64, seed=0):
    rng = np.random.default_rng(seed)
    centres = rng.standard_normal((count, columns))
    return (centres[rng.integers(0, count, n)] + spread * rng.standard_normal((n, columns))).astype(dtype)


def nested(n=60_000):
    rng = np.random.default_rng(1)
    inner = 1e-7 * rng.standard_normal((4, 3))[rng.integers(0, 4, n)] + 1e-13 * rng.standard_normal((n, 3))
    return rng.standard_normal((3, 3))[rng.integers(0, 3, n)] + inner


def in_a_cloud(n=6000):
    return np.vstack([tight(n // 2), np.random.default_rng(2).standard_normal((n // 2, 3))])


def whole(X, monkeypatch, **settings):
    """The index of all points at once."""
    with monkeypatch.context() as patch:
        patch.setattr(groups, "LEAST_POINTS", len(X) + 1)
        return build_index(X, **settings)


def same(a, b):
    np.testing.assert_array_equal(a.indices, b.indices)
    np.testing.assert_array_equal(a.distances, b.distances)


@pytest.mark.parametrize("make", [tight, nested, in_a_cloud, lambda: tight(columns=1), lambda: tight(columns=20)])
def test_the_points_of_each_part_are_told_apart(make):
    X = make()
    index = build_index(X)
    assert isinstance(index, GroupedIndex)
    np.testing.assert_array_equal(np.sort(np.concatenate(index._points)), np.arange(len(X)))
    for part in innermost(index):
        assert len(part._X) < groups.LEAST_POINTS or size_of_confused(part._X, 1) is None
    for points, centre, radius in zip(index._points, index._centres, index._radii, strict=True):
        assert (np.diff(points) > 0).all()
        assert (cdist(X[points], centre[None])[:, 0] <= radius * (1 + 1e-12)).all()


def innermost(index):
    """The indices of parts that are not divided."""
    return [part for whole in index._parts for part in (innermost(whole) if hasattr(whole, "_parts") else [whole])]


@pytest.mark.parametrize("metric", METRICS)
def test_each_row_measures_few_points_outside_of_its_own_group(metric, monkeypatch):
    rng = np.random.default_rng(9)
    centres = np.eye(9) + (metric == "cosine")
    X = centres[rng.integers(0, 9, 9000)] + 1e-9 * rng.standard_normal((9000, 9))  # no column divides them well
    index = build_index(X, metric=metric)
    asked, nearest = [], SpatialIndex.nearest
    monkeypatch.setattr(SpatialIndex, "nearest", lambda self, rows, k: asked.append(rows) or nearest(self, rows, k))
    index.query(None, 8)
    assert asked == [None] * 9
    asked.clear()
    index.query(X[::50] + 1e-10, 8)
    assert sum(len(rows) for rows in asked) == 180


@pytest.mark.parametrize(("dtype", "scale"), [(np.float32, 1e-23), (np.float32, 1e-9), (np.float64, 1e-162)])
@pytest.mark.parametrize("metric", ["sqeuclidean", "euclidean"])
def test_groups_so_small_that_squares_vanish_are_ordered_as_among_all(dtype, scale, metric, monkeypatch):
    X = 1e-6 * np.random.default_rng(0).standard_normal((6000, 4))
    X[::3] *= 1e6 * scale
    X[1::3, 0] += 1
    X[2::3, 1] += 1
    X = X.astype(dtype)
    index, one = build_index(X, metric=metric), whole(X, monkeypatch, metric=metric)
    same(index.query(None, 5), one.query(None, 5))
    same(index.query(X[:60], 5), one.query(X[:60], 5))


@pytest.mark.parametrize("shares", [(0.55, 0.45), (0.45, 0.45, 0.1), (0.55, 0.15, 0.15, 0.15)])
def test_groups_of_any_shares_are_divided(shares):
    rng = np.random.default_rng(1)
    X = np.eye(4)[rng.choice(len(shares), 12_000, p=shares)] + 1e-8 * rng.standard_normal((12_000, 4))
    assert len(tight_groups(X, "euclidean", 1)) == len(shares)
    X[0] = 1e9
    assert len(tight_groups(X, "euclidean", 1)) >= len(shares)


def test_more_neighbors_than_the_groups_have_are_looked_for_among_all(monkeypatch):
    X = tight(n=9000, columns=4, count=9)
    index = build_index(X)
    assert isinstance(index, GroupedIndex)
    monkeypatch.setattr(GroupedIndex, "_nearest_of", None)
    same(index.query(None, 1100), whole(X, monkeypatch).query(None, 1100))
    same(index.nearest_points(np.arange(9), 1100), whole(X, monkeypatch).nearest_points(np.arange(9), 1100))


def test_many_small_groups_are_not_divided():
    assert isinstance(build_index(tight(n=20_000, columns=5, count=400)), SpatialIndex)


@pytest.mark.parametrize("spread", [1e-3, 1.0])
def test_other_points_stay_together(spread):
    assert len(tight_groups(tight(spread=spread), "euclidean", 1)) == 1
    assert isinstance(build_index(tight(spread=spread)), SpatialIndex)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("metric", METRICS)
def test_points_and_new_rows_have_the_neighbors_that_one_index_of_all_finds(metric, dtype, monkeypatch):
    X = tight(spread=SPREAD[dtype], dtype=dtype)
    X[:200] = X[200:400]  # ties
    index, one = build_index(X, metric=metric), whole(X, monkeypatch, metric=metric)
    asked = np.random.default_rng(3).permutation(len(X))[:300]
    near = X[asked] + SPREAD[dtype] * np.random.default_rng(4).standard_normal((300, 3)).astype(dtype)
    far = 2 * np.random.default_rng(5).standard_normal((300, 3)).astype(dtype)
    for k in (1, 7, 1400):  # more than are in one part
        some = asked[:20] if k > 7 else asked
        same(index.nearest_points(some, k), one.nearest_points(some, k))
        for rows in (near, far, X[asked]):
            same(index.query(rows[: len(some)], k), one.query(rows[: len(some)], k))
    same(index.query(None, 7), one.query(None, 7))


def test_they_are_those_of_all_distances():
    X = in_a_cloud()
    found = build_index(X).query(None, 6)
    distances = cdist(X, X)
    np.fill_diagonal(distances, np.inf)
    np.testing.assert_allclose(found.distances, np.sort(distances, axis=1)[:, :6], rtol=1e-6)


def test_rows_of_a_wider_type_find_what_one_index_of_all_finds(monkeypatch):
    X = tight(spread=3e-6, dtype=np.float32)
    rows = X[:100] + 1e-7 * np.random.default_rng(6).standard_normal((100, 3))
    same(build_index(X).query(rows, 5), whole(X, monkeypatch).query(rows, 5))


def test_a_row_is_answered_the_same_alone_after_pickling_and_by_any_number_of_threads():
    X = tight(n=20_000, columns=6)
    rows = X[::500] + 1e-9
    index = build_index(X, search=Cells(recall=0.9))
    assert isinstance(index, GroupedIndex)
    assert not index.is_exact
    together, points = index.query(rows, 5), index.query(None, 5)
    for i in range(0, len(rows), 8):
        alone = index.query(rows[i : i + 1], 5)
        np.testing.assert_array_equal(alone.indices[0], together.indices[i])
    for other in (pickle.loads(pickle.dumps(index)), build_index(X, search=Cells(recall=0.9), n_jobs=3)):
        same(other.query(rows, 5), together)
        same(other.query(None, 5), points)
    exact = build_index(X, search="exact")
    true = exact.query(None, 5)
    found = (points.indices[:, :, None] == true.indices[:, None, :]).any(axis=1).mean()
    assert found >= points.recall - 0.03
    assert points.recall >= 0.9
    same(index.nearest_points(np.arange(50), 5), exact.nearest_points(np.arange(50), 5))


def test_columns_without_a_width_are_not_divided_for_ever():
    X = np.zeros((5000, 40))
    X[np.arange(5000), np.random.default_rng(7).integers(0, 40, 5000)] = np.arange(1, 5001) * 1e-12
    X[0] = 1
    same(build_index(X).query(None, 3), build_index(X, n_jobs=2).query(None, 3))


@pytest.mark.parametrize("metric", METRICS[:4])
@given(
    seed=st.integers(0, 10_000), apart=st.sampled_from([0.0, 1.0, 30.0, 1e5]), scale=st.sampled_from([1e-18, 1, 1e9])
)
@settings(max_examples=40, deadline=None)
def test_the_closest_pair_faces(metric, seed, apart, scale):
    rng = np.random.default_rng(seed)
    X = np.round(rng.standard_normal((60, 3)), 1)  # ties
    X[30:] += apart * rng.standard_normal(3)
    X = (scale * X).astype(rng.choice([np.float32, np.float64]))
    a, b = np.array_split(rng.permutation(60), 2) if apart == 0 else (np.arange(30), np.arange(30, 60))
    some_a, some_b = facing(X, metric, a, b)
    np.testing.assert_array_equal(some_a, a[np.isin(a, some_a)])
    distances = cdist(X[a].astype(float), X[b].astype(float), "cityblock" if metric == "manhattan" else metric)
    near_a, near_b = np.nonzero(distances <= distances.min() * (1 + np.finfo(X.dtype).eps))
    assert np.isin(a[near_a], some_a).all()
    assert np.isin(b[near_b], some_b).all()
    if apart == 30 and lengths_of(distances, metric).min() > 20 * scale >= 1:
        assert len(some_a) * len(some_b) < 300


def test_bridges_between_tight_groups_are_the_shortest_and_looked_for_among_few(monkeypatch):
    X = tight(n=4500)
    index = build_index(X)
    asked, nearest = [], SpatialIndex.nearest
    neighbors = index.query(None, 10)
    monkeypatch.setattr(SpatialIndex, "nearest", lambda self, X, k: asked.append(len(X)) or nearest(self, X, k))
    _, found = connect(neighbors, index)
    distances = cdist(X, X)
    assert found.count == 3
    for (i, j), length in zip(found.bridges, found.bridge_lengths, strict=True):
        between = distances[np.ix_(found.labels == found.labels[i], found.labels == found.labels[j])]
        assert length == pytest.approx(between.min(), rel=1e-14)
    assert 0 < sum(asked) < 100


def test_points_of_small_components_are_asked_again_only_where_they_may_be_nearest(monkeypatch):
    rng = np.random.default_rng(8)
    X = np.repeat(rng.standard_normal((400, 8)), 12, axis=0) + 1e-3 * rng.standard_normal((4800, 8))
    index = build_index(X)
    neighbors = index.query(None, 6)
    asked, nearest = [], SpatialIndex.nearest_points
    monkeypatch.setattr(
        SpatialIndex, "nearest_points", lambda self, rows, k: asked.append(len(rows)) or nearest(self, rows, k)
    )
    _, found = connect(neighbors, index)
    assert found.count >= 400
    assert len(X) <= sum(asked) < 3 * len(X)
    monkeypatch.setattr(bridges, "WIDTHS", ())
    _, one_by_one = connect(neighbors, index)
    np.testing.assert_array_equal(found.bridges, one_by_one.bridges)


def test_a_map_of_tight_groups():
    model = Isomap(n_neighbors=8).fit(tight(n=300))
    assert np.isfinite(model.embedding_).all()
