"""Searches, products and new points: what the kernels promise in every shape, on every instruction set."""

from __future__ import annotations

import itertools
import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agreeing import KINDS, adversarial
from conftest import LEVELS, cloud
from lowfold.backend import reference, stopping
from lowfold.backend.native import kernels as best
from lowfold.backend.native import load
from lowfold.backend.reference.forces import pull
from lowfold.errors import BackendError

METRICS = ("euclidean", "sqeuclidean", "cosine", "manhattan", "chebyshev")
# Rounding of sums of a few hundred terms, relative to their size.
TOLERANCE = {np.float32: 2e-5, np.float64: 1e-12}


def make_index(kernels, X, metric, cells=1, scores="products", threads=2):
    make = kernels.Index32 if X.dtype == np.float32 else kernels.Index64
    return make(X, metric, cells, scores, 0, threads)


def assert_same_neighbors(found, X, queries, k, metric):
    """Distances agree in order; indices too, but for points whose distances rounding can exchange."""
    indices, distances = found
    expected_indices, expected = reference.search(X, queries, k, metric)
    scale = np.abs(expected).max(axis=1, keepdims=True) + np.finfo(X.dtype).tiny
    tolerance = TOLERANCE[X.dtype.type] * scale
    assert (np.abs(distances - expected) <= tolerance).all()
    own = X if queries is None else queries
    true = np.array([reference.distances(own[i : i + 1], X[row], metric)[0] for i, row in enumerate(indices)])
    assert (np.abs(true - distances) <= tolerance).all()
    assert (np.abs(true - expected) <= tolerance)[indices != expected_indices].all()
    assert (np.diff(distances, axis=1) >= 0).all()
    tied = np.diff(distances, axis=1) == 0
    assert (np.diff(indices, axis=1)[tied] > 0).all()
    assert all(len(set(row)) == k for row in indices)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("metric", METRICS)
def test_exact_search_equals_the_reference_on_every_instruction_set(kernels, metric, kind, dtype):
    X = adversarial(kind, 300, 7, dtype)
    queries = adversarial(kind, 40, 7, dtype, seed=1)
    index = make_index(kernels, X, metric, cells=9)
    assert_same_neighbors(index.search(None, None, 12, 1.0, 1.0, 2), X, None, 12, metric)
    assert_same_neighbors(index.search(queries, None, 12, 1.0, 1.0, 2), X, queries, 12, metric)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("scores", ["bytes", "differences"])
def test_search_by_other_scores_with_full_caution_equals_the_reference(kernels, kind, scores):
    X = adversarial(kind, 300, 19, np.float32)
    index = make_index(kernels, X, "euclidean", cells=5, scores=scores)
    assert_same_neighbors(index.search(None, None, 9, 1.0, 1.0, 2), X, None, 9, "euclidean")


@settings(max_examples=60, deadline=None)
@given(
    n=st.integers(2, 70),
    d=st.integers(1, 40),
    cells=st.integers(1, 8),
    kind=st.sampled_from(KINDS),
    level=st.sampled_from(LEVELS),
    data=st.data(),
)
def test_any_shape_and_number_of_cells_gives_the_reference(n, d, cells, kind, level, data):
    k = data.draw(st.integers(1, n - 1))
    X = adversarial(kind, n, d, np.float32)
    index = make_index(load(level), X, "euclidean", cells)
    assert_same_neighbors(index.search(None, None, k, 1.0, 1.0, 3), X, None, k, "euclidean")


@pytest.mark.parametrize("metric", METRICS)
def test_exact_search_has_the_same_bits_on_every_instruction_set(metric):
    X = adversarial("scales", 500, 23, np.float32)
    results = [make_index(load(level), X, metric, 7).search(None, None, 10, 1.0, 1.0, 2) for level in LEVELS]
    for indices, distances in results[1:]:
        np.testing.assert_array_equal(indices, results[0][0])
        np.testing.assert_array_equal(distances, results[0][1])


def test_a_calibrated_reach_finds_every_neighbor_it_was_calibrated_on(kernels):
    X = adversarial("gaussian", 2000, 6, np.float32)
    sample = np.arange(0, 2000, 7, dtype=np.int32)
    index = make_index(kernels, X, "euclidean", 30)
    true, needed = index.calibrate(sample, 8, 1.0, 2)
    found, _ = index.search(None, sample, 8, float(needed.max()) * 1.001, 1.0, 2)
    np.testing.assert_array_equal(found, true)
    np.testing.assert_array_equal(true, reference.search(X, None, 8, "euclidean")[0][sample])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", [(1, 1), (3, 50), (1300, 41)])
def test_dense_products_equal_the_reference(kernels, shape, dtype):
    rng = np.random.default_rng(0)
    X = (rng.standard_normal(shape) + 3).astype(dtype)
    Z = rng.standard_normal((shape[0], 5)).astype(dtype)
    B = rng.standard_normal((shape[1], 35)).astype(dtype)
    mean = reference.column_means(X)
    tolerance = {"rtol": 0, "atol": TOLERANCE[dtype] * shape[0]}
    np.testing.assert_allclose(kernels.column_means(X, 2), mean, rtol=1e-12)
    assert kernels.largest_entry(X, mean, 2) == pytest.approx(reference.largest_entry(X, mean))
    for wrong in (np.nan, np.inf, -np.inf):
        spoilt = X.copy()
        spoilt[shape[0] // 2, -1] = wrong
        assert np.isnan(kernels.largest_entry(spoilt, mean, 2))
    np.testing.assert_allclose(kernels.scatter(X, mean, 2), reference.scatter(X, mean), **tolerance)
    zeros = np.zeros(5)
    np.testing.assert_allclose(kernels.cross(Z, zeros, X, mean, 2), reference.cross(Z, zeros, X, mean), **tolerance)
    projected = kernels.project(X, mean, B, 2)
    assert projected.dtype == dtype
    np.testing.assert_allclose(projected, reference.project(X, mean, B), rtol=0, atol=TOLERANCE[dtype] * shape[1])


def test_kernels_have_the_same_bits_for_any_number_of_threads(kernels):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((3000, 33)).astype(np.float32)
    mean = reference.column_means(X)
    B = np.ascontiguousarray(X[:33, :7])
    calls = {
        "means": lambda threads: kernels.column_means(X, threads),
        "scatter": lambda threads: kernels.scatter(X, mean, threads),
        "project": lambda threads: kernels.project(X, mean, B, threads),
        "search": lambda threads: make_index(kernels, X, "euclidean", 12, "bytes", threads).search(
            None, None, 10, 0.5, 0.05, threads
        )[0],
        "search by differences": lambda threads: make_index(kernels, X, "euclidean", 12, "differences", threads).search(
            None, None, 10, 0.5, 1.0, threads
        )[0],
    }
    for name, call in calls.items():
        for threads in (2, 3, 8):
            np.testing.assert_array_equal(call(1), call(threads), err_msg=name)


def test_a_projected_row_does_not_depend_on_its_batch(kernels):
    X = np.random.default_rng(0).standard_normal((100, 60)).astype(np.float32)
    B = np.ascontiguousarray(X[:60, :33])
    whole = kernels.project(X, np.zeros(60), B, 2)
    for size in (1, 5, 12, 13, 97):
        np.testing.assert_array_equal(kernels.project(X[:size], np.zeros(60), B, 2), whole[:size])


def test_rows_that_differ_in_the_sign_of_zero_have_one_fingerprint(kernels):
    X = adversarial("lattice", 50, 4, np.float32)
    X[0, 0], X[1] = -0.0, X[0]
    X[1, 0] = 0.0
    assert kernels.fingerprints(X, 2)[0] == kernels.fingerprints(X, 2)[1] == reference.fingerprints(X)[1]


def test_random_bits_are_those_of_philox():
    # The published known answer for counter 0 and key 0 (Random123).
    assert int(reference.random_bits(0, 0, 1)[0]) == 0xE169C58D6627E8D5


def test_an_instruction_set_that_the_machine_lacks_is_refused_by_name():
    with pytest.raises(BackendError, match="LOWFOLD_SIMD=sse9 was asked for.*baseline"):
        load("sse9")


# New points


@pytest.mark.parametrize("strength", [0.0, 0.02])
@pytest.mark.parametrize("law", [("student", 1.0), ("gaussian", 1.0)], ids=lambda law: law[0])
def test_new_points_come_to_rest_where_the_forces_of_the_references_end(kernels, law, strength):
    rng = np.random.default_rng(0)
    frozen, start = (rng.standard_normal((n, 2)).astype(np.float32) for n in (60, 20))
    neighbors = rng.permuted(np.tile(np.arange(60, dtype=np.int32), (20, 1)), axis=1)[:, :8].copy()
    P = np.full((20, 8), 1 / 8, np.float32)

    def force(at):
        phi, slope = reference.exact_field(frozen, None, law, at)
        away = at[:, None] - frozen[neighbors]
        springs = 2 * P * pull(law, (away**2).sum(axis=-1))
        push = slope * strength if strength else slope / phi[:, None]
        return np.linalg.norm(np.einsum("ij,ijd->id", springs, away) + push, axis=1)

    Y = kernels.placed((start, neighbors, P), (frozen, None), law, strength, None, 2)
    assert np.median(force(start)) > 0.1
    assert force(Y).max() < 1e-3  # it ends when a step is shorter than 1e-4, or float32 shows no gain


# Beside other Python threads


def searched(n):
    index = make_index(best, adversarial("gaussian", n, 16, np.float32), "euclidean")
    return lambda: index.search(None, None, 10, 1.0, 1.0, 1)


def repelled(n):
    Y = adversarial("gaussian", n, 2, np.float32)
    return lambda: best.exact_field(Y, None, ("student", 1.0), Y, None, 1)


def compared(n):
    X, rows = adversarial("gaussian", n, 10, np.float32), np.arange(n, dtype=np.int32)
    return lambda: best.coranking(X, X[:, :2].copy(), rows, np.array([10]), (False, False), 1)


@pytest.mark.parametrize("long_work", [searched, repelled, compared])
def test_other_python_threads_go_on_while_a_kernel_works(long_work, monkeypatch):
    counts, check, done = {"looks": 0, "ticks": 0}, stopping.check, threading.Event()

    def look():
        counts["looks"] += 1
        check()

    def tick():
        while not done.wait(0.001):
            counts["ticks"] += 1

    monkeypatch.setattr(stopping, "check", look)
    ticking = threading.Thread(target=tick)
    ticking.start()
    try:
        for n in (4000 * 2**step for step in itertools.count()):
            work = long_work(n)
            counts.update(looks=0, ticks=0)
            work()
            found = dict(counts)
            if found["looks"] >= 5:
                break
    finally:
        done.set()
        ticking.join()
    # A kernel that kept the lock to itself would let others in only when it looks whether to stop.
    assert found["ticks"] > 3 * found["looks"]


def test_products_refuse_shapes_that_do_not_fit_together():
    kernels, X = best, cloud(50, 4)
    for call in (
        lambda: kernels.scatter(X, np.zeros(1), 1),
        lambda: kernels.cross(X, np.zeros(4), X[:5].copy(), np.zeros(4), 1),
        lambda: kernels.cross(X, np.zeros(3), X, np.zeros(4), 1),
        lambda: kernels.times(X, cloud(5, 2), 1),
        lambda: kernels.largest_entry(X, np.zeros(9), 1),
        lambda: kernels.project(X, np.zeros(4), cloud(5, 2), 1),
    ):
        with pytest.raises(ValueError, match="must have"):
            call()


def test_the_mean_of_a_column_that_never_changes_is_its_entry():
    X = np.full((5000, 3), 0.1)
    X[:, 1] = cloud(5000, 1)[:, 0]
    mean = best.column_means(X, 2)
    assert mean[0] == mean[2] == 0.1
    np.testing.assert_allclose(mean[1], X[:, 1].mean(), rtol=1e-12)
