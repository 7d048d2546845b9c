"""Every metric by name: scikit-learn's neighbours, ties by index, and each new row by itself."""

from __future__ import annotations

import contextlib
import signal
import subprocess
import sys
import warnings

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn.metrics.pairwise import nan_euclidean_distances
from sklearn.neighbors import VALID_METRICS, NearestNeighbors
from threadpoolctl import threadpool_limits

from conftest import cloud, same_bits
from lowfold import MDS, Cells, DataError, ParameterError, build_index
from lowfold.neighbors import external, gaps, trees
from test_neighbors import NATIVE, distances, expected

DTYPES = pytest.mark.parametrize("dtype", [np.float32, np.float64], ids=["float32", "float64"])
BOOLEAN = ("dice", "jaccard", "rogerstanimoto", "russellrao", "sokalmichener", "sokalsneath", "yule")

# scikit-learn turns what are only zeros and ones into booleans, and says so.
pytestmark = pytest.mark.filterwarnings("ignore:Data was converted to boolean")


def rows_for(metric, n, d=6, seed=0):
    """Rows for which a metric means something."""
    rng = np.random.default_rng(seed)
    if metric == "haversine":
        return rng.random((n, 2)) * [3, 6] - [1.5, 3]
    if metric in BOOLEAN:
        X = rng.random((n, d)) < 0.4
        X[~X.any(axis=1), 0] = True  # nothing but zeros has no distance from itself under some of them
        return X
    if metric == "hamming":
        return rng.integers(0, 3, (n, d)).astype(float)
    return np.abs(rng.standard_normal((n, d)))


def needs_nothing_more(metric):
    """Whether scikit-learn finds neighbours by a metric's name alone."""
    with contextlib.suppress(ValueError, TypeError):
        NearestNeighbors(metric=metric, algorithm="auto").fit(rows_for(metric, 20)).kneighbors(rows_for(metric, 3))
        return True
    return False


NAMES = [metric for metric in sorted(set().union(*VALID_METRICS.values())) if needs_nothing_more(metric)]


def test_most_names_of_scikit_learn_need_nothing_more():
    assert {*NATIVE, *BOOLEAN, "minkowski", "l1", "l2", "cityblock", "canberra", "braycurtis", "hamming"} <= set(NAMES)


@pytest.mark.parametrize("metric", NAMES)
def test_every_name_that_scikit_learn_knows_gives_its_neighbors(metric):
    X, new = rows_for(metric, 200), rows_for(metric, 40, seed=1)
    theirs = NearestNeighbors(metric=metric, algorithm="auto").fit(X)
    index = build_index(X, metric=metric)
    for rows, found in ((X, index.query(None, 7)), (new, index.query(new, 7))):
        lengths, order = theirs.kneighbors(rows, 200)
        D = np.take_along_axis(lengths, np.argsort(order, axis=1), axis=1)
        if rows is X:
            np.fill_diagonal(D, np.inf)
        indices, nearest = expected(D.round(12), 7)
        np.testing.assert_array_equal(found.indices, indices)
        np.testing.assert_allclose(found.distances, nearest, rtol=1e-7, atol=1e-12)


@DTYPES
@pytest.mark.parametrize("metric", [*(name for name in NAMES if name != "haversine"), "seuclidean", "mahalanobis"])
def test_new_rows_of_many_features_are_searched_for_each_by_itself(metric, dtype):
    X, new = (rows_for(metric, n, 64, seed).astype(dtype) for n, seed in ((300, 0), (20, 1)))
    index = build_index(X, metric=metric, n_jobs=1)
    together = index.query(new, 7)
    for size in (1, 7):
        parts = [index.query(new[begin : begin + size], 7) for begin in range(0, 20, size)]
        np.testing.assert_array_equal(np.concatenate([part.indices for part in parts]), together.indices)
        assert same_bits(np.concatenate([part.distances for part in parts]), together.distances)


def tied(metric, n, d, dtype):
    """Points on a lattice; for a metric of directions every point five times."""
    rng = np.random.default_rng(0)
    if metric in ("cosine", "correlation"):
        return np.tile(rng.standard_normal((n // 5, d)), (5, 1)).astype(dtype)
    return rng.integers(0, 3, (n, d)).astype(dtype)


@DTYPES
@pytest.mark.parametrize("metric", NATIVE)
def test_equal_distances_are_ordered_by_index_whatever_the_metric(metric, dtype):
    X = tied(metric, 300, 6, dtype)
    D = distances(X.astype(float), NATIVE[metric])
    index = build_index(X, metric=metric)
    found = index.query(None, 9)
    digits = 12 if dtype == np.float64 else 5
    assert (np.diff(found.distances, axis=1) == 0).mean() > 0.3
    np.testing.assert_array_equal(found.indices, expected(D.round(digits), 9)[0])
    np.fill_diagonal(D, 0)
    np.testing.assert_array_equal(index.query(X, 9).indices, expected(D.round(digits), 9)[0])


@DTYPES
@pytest.mark.parametrize("d", [4, 20])
@pytest.mark.parametrize("metric", NATIVE)
def test_the_approximate_search_too_orders_equal_distances_by_index(metric, d, dtype):
    X = tied(metric, 2000, d, dtype)
    index = build_index(X, metric=metric, search=Cells(recall=0.9))
    for found in (index.query(None, 9), index.query(X[::-1].copy(), 9)):
        equal = np.diff(found.distances, axis=1) == 0
        assert equal.mean() > 0.3
        assert (np.diff(found.distances, axis=1) >= 0).all()
        assert (np.diff(found.indices, axis=1)[equal] > 0).all()
    assert metric == "chebyshev" or d == 4 or index.query(None, 9).recall < 1


@pytest.mark.parametrize("metric", external.BOOLEAN_METRICS)
def test_metrics_of_yes_and_no_warn_once_of_other_numbers_and_never_of_0_and_1(metric):
    X = cloud(60, 8) > 0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        plain = build_index(X, metric=metric).query(None, 4)
        if metric != "sokalmichener":  # of neighbours alone: scikit-learn's distances of all pairs do not know the name
            MDS(metric=metric).fit(X)
    with pytest.warns(UserWarning, match="only whether it is 0") as said:
        other = build_index(X * 2.5, metric=metric).query(None, 4)
    assert len(said) == 1
    assert (plain.indices == other.indices).all()


@pytest.mark.parametrize("value", ["x", np.ones(2)], ids=["text", "array"])
def test_a_function_that_gives_no_number_is_refused_by_name(value):
    def odd(a, b):
        return value

    with pytest.raises(ParameterError, match=r"metric=<function .*odd.*one number of at least 0.*'euclidean'"):
        build_index(cloud(20, 3), metric=odd).query(None, 2)


@pytest.mark.parametrize("value", [np.nan, np.inf, -1.0])
def test_a_function_that_gives_no_distance_for_a_few_pairs_is_refused_also_where_these_are_nobodys_neighbors(value):
    def odd(a, b):
        return value if abs(a[0] - b[0]) > 5 else abs(a[0] - b[0])

    with pytest.raises(DataError, match=r"metric=<function .*odd.* (not finite|negative distance) .*for some pair"):
        build_index(np.arange(10.0)[:, None], metric=odd).query(None, 2)


@pytest.mark.parametrize("metric", ["hamming", "braycurtis", "jaccard"])
def test_ties_are_decided_among_as_few_rows_as_it_takes(metric, monkeypatch):
    X = np.random.default_rng(0).integers(0, 2, (600, 9)) + float(metric == "braycurtis")
    asked = []
    measured = external.ExternalIndex._measured

    def counted(index, rows, k):
        asked.append(len(rows) * k)
        return measured(index, rows, k)

    monkeypatch.setattr(external.ExternalIndex, "_measured", counted)
    found = build_index(X, metric=metric).query(None, 3)
    assert sum(asked) < 600 * 600 / 2
    D = cdist(X, X, metric)
    np.fill_diagonal(D, np.inf)
    np.testing.assert_array_equal(found.indices, expected(D.round(12), 3)[0])


def test_mahalanobis_has_the_same_bits_whatever_threads_blas_has():
    X = cloud(400, 150)
    with threadpool_limits(1, user_api="blas"):
        one = build_index(X, metric="mahalanobis").query(None, 5)
    with threadpool_limits(2, user_api="blas"):
        two = build_index(X, metric="mahalanobis").query(None, 5)
    assert same_bits(one.distances, two.distances)


def test_ctrl_c_in_a_search_by_another_metric_ends_the_process_in_order():
    program = """
import threading, os, signal, time, numpy as np, lowfold
X = np.random.default_rng(0).random((20000, 50)) > 0.5
index = lowfold.build_index(X, metric="jaccard", n_jobs=2)
threading.Thread(target=lambda: (time.sleep(0.7), os.kill(os.getpid(), signal.SIGINT)), daemon=True).start()
try:
    index.query(None, 5)
finally:
    print(sum("ThreadPool" in thread.name for thread in threading.enumerate()), "at work", flush=True)
"""
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=100, check=False)
    assert ended.stderr.strip().endswith("KeyboardInterrupt")
    assert ended.stdout == "0 at work\n"
    assert ended.returncode in (1, 130, -signal.SIGINT)


@DTYPES
@pytest.mark.parametrize("metric", ["canberra", "hamming", "haversine"])
def test_points_in_several_trees_have_the_neighbors_that_they_have_in_one(metric, dtype, monkeypatch):
    X, new = rows_for(metric, 300).astype(dtype), rows_for(metric, 20, seed=1).astype(dtype)
    X[::7] = X[3]  # more equal points than are asked for
    one = build_index(X, metric=metric)
    monkeypatch.setattr(trees, "MOST_POINTS", 40)
    several = build_index(X, metric=metric)
    assert isinstance(several._search, trees.Trees)
    for queries in (None, new):
        for k in (1, 8, 90):  # 90: more than one tree holds
            theirs, ours = one.query(queries, k), several.query(queries, k)
            np.testing.assert_array_equal(ours.indices, theirs.indices)
            assert same_bits(ours.distances, theirs.distances)


def test_a_row_looks_into_few_of_several_trees(monkeypatch):
    X = rows_for("haversine", 4000)
    monkeypatch.setattr(trees, "MOST_POINTS", 250)
    several = trees.Trees(X, "haversine")
    looked = []
    look = several._look
    monkeypatch.setattr(
        several, "_look", lambda number, X, rows, found: (looked.append(len(rows)), look(number, X, rows, found))
    )
    several.kneighbors(X[:500], 10)
    assert len(several._points) == 16
    assert sum(looked) < 500 * 5


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("whole", [True, False])
def test_rows_with_gaps_have_the_neighbors_of_all_distances_each_by_itself(dtype, whole):
    rng = np.random.default_rng(0)
    X = (rng.integers(0, 4, (300, 6)) if whole else rng.standard_normal((300, 6)) + 1e3).astype(dtype)
    X[rng.random(X.shape) < 0.1] = np.nan
    index = build_index(X, metric="nan_euclidean")
    found, exact = index.query(X, 20), nan_euclidean_distances(X.astype(float) - (0 if whole else 1e3))
    np.testing.assert_allclose(found.distances, np.sort(exact, axis=1)[:, :20], rtol=1e-6, atol=1e-6)
    for i in range(300):
        assert (np.lexsort((found.indices[i], found.distances[i])) == np.arange(20)).all()
        alone = index.query(X[i : i + 1], 20)
        np.testing.assert_array_equal(alone.indices[0], found.indices[i])
        np.testing.assert_array_equal(alone.distances[0], found.distances[i])
    if whole:  # all that are as near as the last are there by their index
        last = found.distances[:, -1:].astype(float)
        tied = np.isclose(exact, last, rtol=1e-6)
        for i in range(300):
            among = [j for j in found.indices[i] if tied[i, j]]
            assert among == list(np.flatnonzero(tied[i])[: len(among)])


def test_rows_with_gaps_are_asked_once_for_ties(monkeypatch):
    X = np.random.default_rng(0).integers(0, 2, (400, 4)).astype(float)
    X[::7, 0] = np.nan
    asked, ask = [], gaps.RowsWithGaps.kneighbors
    monkeypatch.setattr(gaps.RowsWithGaps, "kneighbors", lambda self, X, k: asked.append(len(X)) or ask(self, X, k))
    build_index(X, metric="nan_euclidean", n_jobs=1).query(None, 5)
    assert sum(asked) == 400


def test_a_metric_that_nobody_knows_is_refused_with_those_that_are_known():
    with pytest.raises(
        ParameterError, match=r"metric='foo' is not known. Use one of braycurtis, canberra, .*, yule, or"
    ):
        build_index(cloud(20, 3), metric="foo")


def test_rows_with_gaps_tie_by_index_as_they_are_rounded_and_need_no_more_than_are_asked_for():
    X = np.array([[1, 1e-5], [1, 0.7e-5], [1, 0.3e-5], [1, 0], [5, 5]], np.float32)
    index = build_index(X, metric="nan_euclidean")
    for dtype in (np.float32, np.float64):
        for k in (1, 2, 3):
            assert list(index.query(np.zeros((1, 2), dtype), k).indices[0]) == list(range(k))
    gap = np.nan
    some = build_index(np.array([[0, gap], [1, 3], [2, gap], [3, gap], [gap, 1.0]]), metric="nan_euclidean")
    assert list(some.query(None, 1).indices[:, 0]) == [1, 0, 1, 2, 1]
