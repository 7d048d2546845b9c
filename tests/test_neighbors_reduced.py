"""Rows of many features are searched in a subspace, and their neighbours are those in all features."""

from __future__ import annotations

import dataclasses
import pickle

import numpy as np
import pytest

import lowfold
from lowfold import build_index
from lowfold.errors import FileError
from lowfold.neighbors import reduced
from lowfold.neighbors.reduced import ReducedIndex, places, subspace
from lowfold.neighbors.spatial import SpatialIndex

N, D, K = 4000, 180, 10


@pytest.fixture(autouse=True)
def _from_few_rows_on(monkeypatch):
    monkeypatch.setattr(reduced, "LEAST_WORK", 0)


def bent(n: int = N, dtype: type = np.float32, seed: int = 0) -> np.ndarray:
    """Ten numbers bent into many features, with a little noise in each: a few directions hold most of the variance."""
    rng = np.random.default_rng(3)
    inner, outer = rng.standard_normal((10, 60)), rng.standard_normal((60, D)) / 5
    rng = np.random.default_rng(seed)
    X = np.tanh(np.tanh(rng.standard_normal((n, 10)) @ inner) @ outer)
    return (X + 0.05 * rng.standard_normal((n, D))).astype(dtype)


def round_groups(n: int = N) -> np.ndarray:
    """Groups whose centres span little and whose points lie around them in every direction alike."""
    rng = np.random.default_rng(0)
    centres = 40 * rng.standard_normal((8, D))
    return (centres[rng.integers(8, size=n)] + rng.standard_normal((n, D))).astype(np.float32)


def recall(found: np.ndarray, true: np.ndarray) -> float:
    return float((found[:, :, None] == true[:, None, :]).any(axis=1).mean())


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("metric", ["euclidean", "sqeuclidean", "cosine", "correlation"])
def test_neighbors_are_those_of_all_features(metric, dtype):
    X = bent(dtype=dtype)
    index = build_index(X, metric=metric, search="cells")
    inside = getattr(index, "_index", index)
    assert isinstance(inside, ReducedIndex)
    found, true = index.query(None, K), build_index(X, metric=metric, search="exact").query(None, K)
    assert inside._plans[K].kept < 4 * K
    assert recall(found.indices, true.indices) >= 0.988
    assert found.recall == pytest.approx(recall(found.indices, true.indices), abs=0.006)
    same = found.indices == true.indices
    assert same.mean() > 0.8
    np.testing.assert_array_equal(found.distances[same], true.distances[same])
    assert (np.diff(found.distances, axis=1) >= 0).all()


def test_a_higher_recall_is_kept_too():
    X = bent()
    index = build_index(X, search=lowfold.Cells(recall=0.999))
    assert isinstance(index, ReducedIndex)
    assert recall(index.query(None, K).indices, build_index(X, search="exact").query(None, K).indices) >= 0.9985


def test_same_bits_for_any_number_of_threads_and_after_storing():
    X, new = bent(), bent(40, seed=1)
    first = build_index(X, search="cells", n_jobs=1)
    for index in (build_index(X, search="cells", n_jobs=3), pickle.loads(pickle.dumps(first))):
        for queries in (None, new):
            found, expected = index.query(queries, K), first.query(queries, K)
            np.testing.assert_array_equal(found.indices, expected.indices)
            np.testing.assert_array_equal(found.distances, expected.distances)


def test_new_rows_are_found_each_by_itself_and_points_find_themselves():
    X, new = bent(), bent(30, seed=1)
    index = build_index(X, search="cells")
    found = index.query(new, K)
    for i in (0, 7, 29):
        alone = index.query(new[i : i + 1], K)
        np.testing.assert_array_equal(alone.indices[0], found.indices[i])
        np.testing.assert_array_equal(alone.distances[0], found.distances[i])
    backwards = index.query(new[::-1], K)
    np.testing.assert_array_equal(backwards.indices[::-1], found.indices)
    own = index.query(X[:50], 1)
    np.testing.assert_array_equal(own.indices[:, 0], np.arange(50))
    np.testing.assert_array_equal(own.distances, 0)


def test_a_generator_is_asked_once():
    generator, other = np.random.default_rng(5), np.random.default_rng(5)
    build_index(np.ones((10, 2)), random_state=other)
    index = build_index(bent(), search="cells", random_state=generator)
    index.query(None, K)
    index.query(bent(5, seed=1), K + 1)
    assert generator.bit_generator.state == other.bit_generator.state


@pytest.mark.parametrize("share", [0.5, 0.9, 0.99])
@pytest.mark.parametrize("copies", [0, 300])
def test_as_many_neighbors_are_found_as_were_asked_for(share, copies):
    rng = np.random.default_rng(0)
    X = (rng.standard_normal((N, 12)) @ rng.standard_normal((12, D))).astype(np.float32)  # twelve directions say all
    X[:copies] = X[0]
    index = build_index(X, search=lowfold.Cells(recall=share))
    assert isinstance(getattr(index, "_distinct", index), ReducedIndex)
    for k in (1, 50, 100):
        for queries, n in ((None, N), (X[:7] + 1, 7)):
            found = index.query(queries, k)
            assert found.indices.shape == found.distances.shape == (n, k)
            assert all(len(set(row)) == k for row in found.indices[:100].tolist())


def test_where_a_subspace_says_too_little_all_features_are_searched():
    X = round_groups()
    index = build_index(X, search="cells")
    assert isinstance(index, ReducedIndex)
    found = index.query(None, K)
    assert index._plans == {K: None}
    plain = SpatialIndex(X, "euclidean", index._settings())
    np.testing.assert_array_equal(found.indices, plain.query(None, K).indices)
    np.testing.assert_array_equal(index.query(X[:5] + 1, K).indices, plain.query(X[:5] + 1, K).indices)
    assert recall(found.indices, build_index(X, search="exact").query(None, K).indices) >= 0.985


def test_rows_without_a_narrow_subspace_are_searched_as_they_are():
    rng = np.random.default_rng(0)
    for X in (rng.standard_normal((N, D)), np.full((N, D), 3.0) + 1e-9 * rng.standard_normal((N, D))):
        assert subspace(X, 0) is None
        assert isinstance(build_index(X, search="cells"), SpatialIndex)
    assert subspace(np.ones((N, D)), 0) is None


@pytest.mark.parametrize("choice", [{"metric": "manhattan"}, {"search": "exact"}])
def test_other_metrics_and_the_exact_search_look_at_all_features(choice):
    assert isinstance(build_index(bent(), **{"search": "cells"} | choice), SpatialIndex)


def test_few_rows_and_few_features_are_searched_as_they_are(monkeypatch):
    narrow = np.repeat(bent()[:, :5], 26, axis=1)[:, : reduced.LEAST_FEATURES]
    assert isinstance(build_index(narrow, search="cells"), ReducedIndex)
    assert isinstance(build_index(narrow[:, :-1], search="cells"), SpatialIndex)
    assert isinstance(build_index(bent(3000), search="cells"), SpatialIndex)
    monkeypatch.setattr(reduced, "LEAST_WORK", float(N) ** 2 * D + 1)
    assert isinstance(build_index(bent(), search="cells"), SpatialIndex)


def test_the_subspace_is_orthonormal_and_holds_the_variance():
    X = bent(dtype=np.float64)
    space = subspace(X, 0)
    np.testing.assert_allclose(space.basis.T @ space.basis, np.eye(space.basis.shape[1]), atol=1e-5)
    centred = X - X.mean(axis=0)
    held = ((centred @ space.basis) ** 2).sum() / (centred**2).sum()
    best = np.sort(np.linalg.eigvalsh(centred.T @ centred))[::-1]
    assert 0.9 <= held <= best[: space.basis.shape[1]].sum() / best.sum()
    assert space.basis.shape[1] <= D // 3


@pytest.mark.parametrize(("dtype", "size"), [(np.float32, 1e15), (np.float32, 1e-13), (np.float64, 1e137)])
def test_data_of_any_size_have_the_same_neighbors(dtype, size):
    X = bent(dtype=np.float64)
    scale = 2.0 ** np.round(np.log2(size))  # a power of two rounds nothing
    index = build_index((X * scale).astype(dtype), search="cells")
    assert isinstance(index, ReducedIndex)
    found = index.query(None, K)
    np.testing.assert_array_equal(found.indices, build_index(X.astype(dtype), search="cells").query(None, K).indices)


def test_equal_rows_and_far_ones_do_no_harm():
    X = bent()
    X[:500] = X[0]
    X[700] = 1e4
    index = build_index(X, search="cells")
    assert isinstance(index._distinct, ReducedIndex)
    found, true = index.query(None, K), build_index(X, search="exact").query(None, K)
    np.testing.assert_array_equal(found.distances[:500], 0)
    assert found.distances[700] == pytest.approx(true.distances[700], rel=1e-4)
    assert recall(found.indices[1000:], true.indices[1000:]) >= 0.985


def test_as_many_neighbors_as_there_are_points():
    X = bent()
    found = build_index(X, search="cells").query(X[:3], N)
    np.testing.assert_array_equal(np.sort(found.indices, axis=1), np.tile(np.arange(N), (3, 1)))


def test_the_closest_pair_of_two_sets_is_exact():
    X = bent()
    a, b = np.arange(0, 300), np.arange(300, 900)
    i, j, distance = build_index(X, search="cells").closest_pair(a, b)
    lengths = np.linalg.norm(X[a].astype(float)[:, None] - X[b].astype(float), axis=2)
    assert (i, j) == tuple(np.unravel_index(lengths.argmin(), lengths.shape) + np.array([0, 300]))
    assert distance == pytest.approx(lengths.min())


def test_a_stored_model_answers_alike_and_a_wrong_one_is_refused(tmp_path):
    X, new = bent(), bent(20, seed=1)
    model = lowfold.NeighborGraph(n_neighbors=K, search="cells").fit(X)
    expected = model.transform(new)
    lowfold.save(model, tmp_path / "graph.lowfold")
    again = lowfold.load(tmp_path / "graph.lowfold").transform(new)
    np.testing.assert_array_equal(again.toarray(), expected.toarray())
    index = model.index_
    plan = next(plan for plan in index._plans.values() if plan is not None)
    space = index._space
    spoilt = space.basis.copy()
    spoilt[3, 2] = np.nan
    wrong = [("_plans", {K: dataclasses.replace(plan, kept=kept)}) for kept in (N, K - 1, True, float(K))]
    wrong.append(("_plans", {K: dataclasses.replace(plan, inner=dataclasses.replace(plan.inner, alpha=np.nan))}))
    bases = (space.basis[:, :-1] * 2, space.basis[1:].copy(), space.basis.astype(np.float64), spoilt)
    wrong += [("_space", dataclasses.replace(space, basis=basis)) for basis in bases]
    wrong += [
        ("_space", dataclasses.replace(space, mean=mean)) for mean in (space.mean[1:].copy(), space.mean * np.nan)
    ]
    wrong += [("_engine", "cells"), ("_seed", None)]
    for name, value in wrong:
        right = getattr(index, name)
        setattr(index, name, value)
        lowfold.save(model, tmp_path / "wrong.lowfold")
        setattr(index, name, right)
        with pytest.raises(FileError, match="ReducedIndex whose parts do not fit together"):
            lowfold.load(tmp_path / "wrong.lowfold")


def test_a_model_of_the_largest_numbers_can_be_read_again(tmp_path):
    X = bent()
    X *= 0.99e17 / np.abs(X).max()
    model = lowfold.NeighborGraph(n_neighbors=K, search="cells").fit(X)
    assert isinstance(model.index_, ReducedIndex)
    lowfold.save(model, tmp_path / "graph.lowfold")
    again = lowfold.load(tmp_path / "graph.lowfold")
    np.testing.assert_array_equal(again.transform(X[:9]).toarray(), model.transform(X[:9]).toarray())


def test_places_are_those_of_the_chosen():
    candidates = np.array([[4, 2, 9, 1], [1, 4, 0, 2]], np.int32)
    np.testing.assert_array_equal(places(np.array([[9, 4], [2, 4]], np.int32), candidates), [[0, 2], [1, 3]])
