"""`build_index(...).query(...)`: one contract over every kind of index."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.spatial.distance import cdist
from sklearn.metrics import pairwise_distances

from conftest import same_bits
from lowfold import Cells, DataError, Exact, ParameterError, build_index
from lowfold.backend import resources
from lowfold.comparison import PeakMemory
from lowfold.neighbors.duplicates import DistinctIndex
from lowfold.neighbors.spatial import SpatialIndex

NATIVE = {
    "euclidean": "euclidean",
    "sqeuclidean": "sqeuclidean",
    "cosine": "cosine",
    "correlation": "correlation",
    "manhattan": "cityblock",
    "chebyshev": "chebyshev",
}
EXTERNAL = {"canberra": "canberra", "braycurtis": "braycurtis", "minkowski": "minkowski"}


def points(n=400, d=6, seed=0):
    return np.random.default_rng(seed).standard_normal((n, d))


def points_for(metric, n=400, seed=0):
    """Not negative where scikit-learn and SciPy define a metric differently for negative numbers."""
    return np.abs(points(n, seed=seed)) if metric in EXTERNAL else points(n, seed=seed)


def expected(D, k):
    order = np.argsort(D, axis=1, kind="stable")[:, :k]
    return order, np.take_along_axis(D, order, axis=1)


def distances(X, name):
    D = cdist(X, X, name)
    np.fill_diagonal(D, np.inf)
    return D


@pytest.mark.parametrize("metric", [*NATIVE, *EXTERNAL])
def test_every_metric_gives_the_nearest_rows_in_order(metric):
    X = points_for(metric)
    found = build_index(X, metric=metric).query(None, 7)
    indices, lengths = expected(distances(X, (NATIVE | EXTERNAL)[metric]), 7)
    np.testing.assert_array_equal(found.indices, indices)
    np.testing.assert_allclose(found.distances, lengths, rtol=1e-9)
    assert found.indices.dtype == np.int32
    assert found.recall == 1.0


@pytest.mark.parametrize("metric", [*NATIVE, *EXTERNAL])
def test_new_rows_find_the_indexed_ones_each_by_itself(metric):
    X, new = points_for(metric), points_for(metric, 30, seed=1)
    index = build_index(X, metric=metric)
    found = index.query(new, 5)
    order, _ = expected(cdist(new, X, (NATIVE | EXTERNAL)[metric]), 5)
    np.testing.assert_array_equal(found.indices, order)
    for i in (0, 13, 29):
        alone = index.query(new[i : i + 1], 5)
        np.testing.assert_array_equal(alone.indices[0], found.indices[i])
        np.testing.assert_array_equal(alone.distances[0], found.distances[i])


@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "canberra", "precomputed"])
def test_equal_distances_are_ordered_by_index_also_at_the_last_place(metric):
    X = np.random.default_rng(0).integers(0, 3, (150, 3)).astype(float)
    X[X.sum(axis=1) == 0] = 1  # canberra has no distance between zeros
    D = distances(X, {"manhattan": "cityblock", "precomputed": "euclidean"}.get(metric, metric))
    data = np.where(np.isinf(D), 0, D) if metric == "precomputed" else X
    found = build_index(data, metric=metric).query(None, 9)
    np.testing.assert_array_equal(found.indices, expected(D.round(12), 9)[0])


def test_a_function_as_metric_agrees_with_its_name_at_every_size():
    for n in (30, 600):
        X = points(n)
        by_function = build_index(X, metric=lambda x, y: np.abs(x - y).sum()).query(None, 4)
        np.testing.assert_array_equal(by_function.indices, build_index(X, metric="manhattan").query(None, 4).indices)


def test_sparse_rows_agree_with_dense_ones():
    X = points()
    X[np.abs(X) < 1] = 0
    for metric in ("euclidean", "cosine", "manhattan"):
        sparse = build_index(csr_array(X), metric=metric).query(None, 5)
        dense = build_index(X, metric=metric).query(None, 5)
        np.testing.assert_allclose(sparse.distances, dense.distances, atol=1e-7)


@pytest.mark.parametrize("k", [0, 400, -1, 2.5, True])
def test_a_k_that_cannot_be_is_refused_with_the_range(k):
    with pytest.raises(ParameterError, match="k must be an int from 1 to 399"):
        build_index(points()).query(None, k)


def test_an_unknown_metric_is_refused_with_a_remedy():
    with pytest.raises(ParameterError, match="metric='nonsense' is not known. Use one of"):
        build_index(points(), metric="nonsense")


def test_rows_without_direction_are_at_cosine_distance_one_from_all():
    X = points(60, 4)
    X[[5, 20]] = 0
    D = pairwise_distances(X, metric="cosine")
    np.fill_diagonal(D, np.inf)
    found = build_index(X, metric="cosine").query(None, 58)
    order, lengths = expected(D.round(12), 58)
    np.testing.assert_array_equal(found.indices, order)
    np.testing.assert_allclose(found.distances, lengths, atol=1e-12)
    assert (build_index(np.zeros((5, 3)), metric="cosine").query(None, 2).indices[0] == [1, 2]).all()


def test_a_constant_row_has_no_correlation_with_any():
    X = points(50, 5)
    X[7] = 3.3
    found = build_index(X, metric="correlation").query(X[7:8], 50)
    assert (found.distances == 1).all()
    assert (found.indices[0] == np.arange(50)).all()


@pytest.mark.parametrize("metric", ["euclidean", "cosine", "manhattan"])
def test_many_equal_rows_are_ordinary_input(metric):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((8, 5))[rng.integers(0, 8, 3000)]
    new = rng.standard_normal((20, 5))
    index = build_index(X, metric=metric)
    found, found_new = index.query(None, 500), index.query(new, 500)
    D = distances(X, NATIVE[metric]).round(12)
    np.testing.assert_array_equal(found.indices, expected(D, 500)[0])
    np.testing.assert_array_equal(found_new.indices, expected(cdist(new, X, NATIVE[metric]).round(12), 500)[0])


@pytest.mark.parametrize("n", [8192, 65536])
def test_equal_rows_are_seen_wherever_they_stand(n):
    X = np.random.default_rng(0).standard_normal((n, 2))
    X[1::2] = 0
    assert isinstance(build_index(X), DistinctIndex)
    X[:] = np.arange(n)[:, None] % 3 // 2
    assert isinstance(build_index(X), DistinctIndex)


def test_many_equal_rows_are_searched_for_once():
    X = np.repeat(points(10), 300, axis=0)
    assert isinstance(build_index(X), DistinctIndex)
    assert isinstance(build_index(points(3000)), SpatialIndex)


def test_all_points_equal_gives_the_first_points_as_neighbors():
    found = build_index(np.ones((1000, 3))).query(None, 4)
    assert (found.indices[10] == [0, 1, 2, 3]).all()
    assert (found.indices[2] == [0, 1, 3, 4]).all()


def families():
    """Data of different kinds, large enough for cells."""
    rng = np.random.default_rng(0)
    centres = rng.standard_normal((40, 20)) * 4
    walk = np.cumsum(rng.standard_normal((6000, 12)), axis=0)
    heavy = rng.standard_t(1.5, (6000, 16))
    near = np.repeat(rng.standard_normal((600, 10)), 10, axis=0) + 1e-4 * rng.standard_normal((6000, 10))
    return {
        "clusters": centres[rng.integers(0, 40, 6000)] + rng.standard_normal((6000, 20)),
        "curve": walk,
        "heavy tails": heavy,
        "near duplicates": near,
        "gaussian": rng.standard_normal((6000, 30)),
        "plane": rng.random((6000, 2)),
        "offset": rng.standard_normal((6000, 20)) + 1e4,
    }


@pytest.mark.parametrize("name", families())
def test_cells_reach_the_recall_they_promise_on_data_of_any_kind(name):
    X = families()[name].astype(np.float32)
    true = build_index(X, search=Exact()).query(None, 15)
    found = build_index(X, search=Cells(recall=0.98)).query(None, 15)
    recall = np.mean([np.isin(a, b).mean() for a, b in zip(true.indices, found.indices, strict=True)])
    # The sample has 384 x 15 neighbours; its estimate is off by less than 0.01 with near certainty.
    assert recall >= 0.975
    assert found.recall == pytest.approx(recall, abs=0.01)


# Large enough for the search to be approximate unless somebody asks for another.
LARGE = {
    "clusters": lambda rng: 4 * rng.standard_normal((40, 64))[rng.integers(0, 40, 20_000)],
    "sheet": lambda rng: 100 * rng.random((20_000, 3)) @ rng.standard_normal((3, 64)),
    "curve": lambda rng: np.cumsum(rng.standard_normal((20_000, 64)), axis=0),
}


@pytest.mark.parametrize("name", LARGE)
def test_by_default_ninety_nine_in_a_hundred_neighbors_are_found(name):
    X = (LARGE[name](np.random.default_rng(0)) + points(20_000, 64)).astype(np.float32)
    true = build_index(X, search="exact").query(None, 15).indices
    found = build_index(X).query(None, 15)
    assert found.recall < 1, "the search was exact"
    assert np.mean([np.isin(a, b).mean() for a, b in zip(true, found.indices, strict=True)]) >= 0.99
    assert found.recall >= 0.99


@pytest.mark.skipif(not resources.forget_peak(), reason="the system does not count the peak of memory")
@pytest.mark.parametrize("metric", NATIVE)
def test_the_exact_search_keeps_no_distances_of_all_pairs(metric):
    X = points(20_000, 8)
    build_index(X[:500], metric=metric, search="exact").query(None, 15)  # what a first search loads is not its own
    with PeakMemory() as memory:
        build_index(X, metric=metric, search="exact").query(None, 15)
    assert memory.peak < len(X) ** 2 / 10  # a tenth of a byte for each pair


def test_more_recall_can_be_asked_for_up_to_all():
    X = families()["gaussian"].astype(np.float32)
    true = build_index(X, search="exact").query(None, 10).indices
    shares = [
        (build_index(X, search=Cells(recall=recall)).query(None, 10).indices == true).mean()
        for recall in (0.6, 0.9, 1.0)
    ]
    assert shares[0] < shares[1] < shares[2] > 0.999


def test_the_approximate_search_is_the_same_for_any_threads_batch_and_after_pickling():
    X = families()["clusters"].astype(np.float32)
    index = build_index(X, search="cells", n_jobs=1)
    whole = index.query(X, 12)
    for n_jobs in (2, 3, 8):
        again = build_index(X, search="cells", n_jobs=n_jobs).query(X, 12)
        np.testing.assert_array_equal(again.indices, whole.indices)
        np.testing.assert_array_equal(again.distances, whole.distances)
    for rows in (slice(0, 1), slice(100, 117), slice(5999, 0, -3)):
        part = index.query(X[rows], 12)
        np.testing.assert_array_equal(part.indices, whole.indices[rows])
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(index)).query(X, 12).indices, whole.indices)


@pytest.mark.parametrize("metric", NATIVE)
def test_approximate_neighbors_of_the_points_themselves_are_the_same_for_any_threads(metric):
    X = families()["clusters"].astype(np.float32)
    alone, *others = (build_index(X, metric=metric, search="cells", n_jobs=n).query(None, 12) for n in (1, 2, 3, 8))
    assert alone.recall < 1, "the search was exact"
    for found in others:
        assert same_bits(found.indices, alone.indices)
        assert same_bits(found.distances, alone.distances)
        assert found.recall == alone.recall


def test_the_seed_alone_decides_between_approximate_results():
    X = families()["gaussian"].astype(np.float32)
    first, again, other = (
        build_index(X, search=Cells(recall=0.8), random_state=seed).query(None, 10).indices for seed in (3, 3, 4)
    )
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()


def test_permuted_rows_give_permuted_neighbors():
    X = points()
    order = np.random.default_rng(1).permutation(len(X))
    found, permuted = build_index(X).query(None, 5), build_index(X[order]).query(None, 5)
    np.testing.assert_array_equal(order[permuted.indices], found.indices[order])


def test_float32_agrees_with_float64():
    X = points(800, 15)
    single, double = build_index(X.astype(np.float32)).query(None, 5), build_index(X).query(None, 5)
    assert single.distances.dtype == np.float32
    assert (single.indices == double.indices).mean() > 0.999
    np.testing.assert_allclose(single.distances, double.distances, rtol=1e-5)


def test_extreme_magnitudes_are_searched_in_or_refused_never_wrong():
    X = points()
    for scale in (1e-139, 1e-30, 1e30, 1e139):
        np.testing.assert_array_equal(
            build_index(X * scale).query(None, 5).indices, build_index(X).query(None, 5).indices
        )
    for scale in (1e20, 1e-20):
        with pytest.raises(DataError, match="Use float64, or scale X by a constant"):
            build_index((X * scale).astype(np.float32))
