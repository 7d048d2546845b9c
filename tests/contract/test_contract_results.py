"""Every estimator gives results that can be repeated, stored, extended row by row and explained."""

from __future__ import annotations

import pickle
import random
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import numpy as np
import pytest
from scipy.sparse import coo_array, csr_array
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from conftest import ESTIMATORS, cloud, declared, embed, model_of, name_of, place, same_bits
from lowfold import MemoryLimitError, inputs
from lowfold.backend import native, resources

DTYPES = pytest.mark.parametrize("dtype", [np.float32, np.float64], ids=["float32", "float64"])


@pytest.fixture
def random_generators():
    """Puts Python's and NumPy's global generators back."""
    states = random.getstate(), np.random.get_state()
    yield
    random.setstate(states[0])
    np.random.set_state(states[1])


# Storing


def test_a_clone_has_the_same_parameters_and_no_result(estimator):
    model = model_of(estimator).fit(cloud())
    copy = clone(model)
    assert copy.get_params() == model.get_params()
    with pytest.raises(NotFittedError):
        copy.transform(cloud())


@DTYPES
def test_a_stored_model_transforms_to_the_same_bits(estimator, dtype):
    X = cloud(dtype=dtype)
    model = model_of(estimator).fit(X)
    restored = pickle.loads(pickle.dumps(model))
    assert restored.get_params() == model.get_params()
    for rows in (X, cloud(7, seed=1, dtype=dtype)):
        assert same_bits(place(restored, rows), place(model, rows))


def test_an_unfitted_model_that_was_stored_fits_to_the_same_bits(estimator):
    restored = pickle.loads(pickle.dumps(model_of(estimator)))
    assert same_bits(embed(restored, cloud()), embed(model_of(estimator), cloud()))


def test_a_stored_report_says_the_same(method):
    model = model_of(method).fit(cloud())
    assert str(pickle.loads(pickle.dumps(model)).report_) == str(model.report_)


# New rows


@DTYPES
def test_each_row_is_placed_by_itself(estimator, dtype):
    model = model_of(estimator).fit(cloud(dtype=dtype))
    X = np.concatenate([cloud(dtype=dtype)[:10], cloud(200, seed=1, dtype=dtype)])
    together = place(model, X)
    alone = np.concatenate([place(model, X[i : i + 1]) for i in range(len(X))])
    assert same_bits(together, alone)


@pytest.mark.parametrize("n_neighbors", [8, 16, 32])  # sums of such lengths are taken several at once
def test_each_row_is_placed_by_itself_among_any_number_of_neighbors(estimator, n_neighbors):
    if "n_neighbors" not in declared(estimator):
        pytest.skip("it has no neighbours")
    model = model_of(estimator, n_neighbors=n_neighbors).fit(cloud())
    X = cloud(40, seed=1)
    alone = np.concatenate([place(model, X[i : i + 1]) for i in range(len(X))])
    assert same_bits(place(model, X), alone)


@DTYPES
def test_the_order_of_new_rows_does_not_change_their_places(estimator, dtype):
    model = model_of(estimator).fit(cloud(dtype=dtype))
    X = cloud(300, seed=1, dtype=dtype)
    order = np.random.default_rng(2).permutation(len(X))
    assert same_bits(place(model, X[order]), place(model, X)[order])


@DTYPES
def test_training_rows_return_their_own_stored_coordinates(method, dtype):
    X = cloud(200, dtype=dtype)
    model = model_of(method).fit(X)
    order = np.random.default_rng(2).permutation(len(X))[:50]
    assert same_bits(model.transform(X), model.embedding_)
    assert same_bits(model.transform(X[order]), model.embedding_[order])
    mixed = np.concatenate([cloud(3, seed=1, dtype=dtype), X[order]])
    assert same_bits(model.transform(mixed)[3:], model.embedding_[order])


SPARSE_TAKERS = [cls for cls in ESTIMATORS if inputs.SPARSE_ROWS in cls.accepts]


@pytest.mark.parametrize("cls", SPARSE_TAKERS, ids=name_of)
def test_sparse_rows_are_placed_by_themselves_and_training_rows_where_they_were(cls):
    X = np.where(cloud(80, 10, seed=1) > 0, cloud(80, 10), 0)
    model = model_of(cls)
    fitted = embed(model, csr_array(X))
    together = place(model, coo_array(X))
    alone = np.concatenate([place(model, csr_array(X[i : i + 1])) for i in range(len(X))])
    assert same_bits(together, alone)
    assert same_bits(together, fitted)


def test_what_is_returned_can_be_changed_without_harm_to_the_model(method):
    model = model_of(method)
    Y = model.fit_transform(cloud())
    assert same_bits(Y, model.embedding_)
    Y[:] = model.transform(cloud())[:] = 0
    assert same_bits(model.embedding_, model_of(method).fit(cloud()).embedding_)


def test_a_pipeline_gives_what_its_steps_give(estimator):
    X = cloud()
    pipeline = make_pipeline(StandardScaler(), model_of(estimator))
    scaled = StandardScaler().fit_transform(X)
    assert same_bits(embed(pipeline, X), embed(model_of(estimator), scaled))
    assert same_bits(place(pipeline, X[:5]), place(model_of(estimator).fit(scaled), scaled[:5]))


# Repeating


@DTYPES
def test_any_number_of_threads_gives_the_same_bits(estimator, dtype):
    X, new = cloud(600, 8, dtype=dtype), cloud(300, 8, seed=1, dtype=dtype)
    alone = model_of(estimator, n_jobs=1)
    expected = embed(alone, X), place(alone, new)
    for n_jobs in (1, 2, 3, 8, None):
        model = model_of(estimator, n_jobs=n_jobs)
        assert same_bits(embed(model, X), expected[0]), n_jobs
        assert same_bits(place(model, new), expected[1]), n_jobs


def test_a_fit_on_other_data_leaves_no_trace(estimator):
    model = model_of(estimator)
    first = embed(model, cloud())
    embed(model, cloud(80, 7, seed=1))
    assert same_bits(embed(model, cloud()), first)


@pytest.mark.usefixtures("random_generators")
def test_global_random_generators_are_neither_read_nor_moved(estimator):
    results = []
    for seed in (1, 2):
        random.seed(seed)
        np.random.seed(seed)
        states = random.getstate(), np.random.get_state(legacy=False)
        results.append(embed(model_of(estimator), cloud()))
        assert random.getstate() == states[0]
        np.testing.assert_equal(np.random.get_state(legacy=False), states[1])
    assert same_bits(*results)


@pytest.mark.usefixtures("random_generators")
def test_transform_neither_reads_nor_moves_global_random_generators(estimator):
    model, new, results = model_of(estimator).fit(cloud()), cloud(9, seed=1), []
    for seed in (1, 2):
        random.seed(seed)
        np.random.seed(seed)
        states = random.getstate(), np.random.get_state(legacy=False)
        results.append(place(model, new))
        assert random.getstate() == states[0]
        np.testing.assert_equal(np.random.get_state(legacy=False), states[1])
    assert same_bits(*results)


@pytest.mark.usefixtures("random_generators")
def test_a_fresh_seed_does_not_come_from_the_global_generator(estimator):
    if "random_state" in declared(estimator):
        np.random.seed(1)
        state = np.random.get_state(legacy=False)
        embed(model_of(estimator, random_state=None), cloud())
        np.testing.assert_equal(np.random.get_state(legacy=False), state)
    else:
        assert same_bits(embed(model_of(estimator), cloud()), embed(model_of(estimator), cloud()))


def test_four_python_threads_at_once_get_the_results_of_one(estimator):
    data = [cloud(300, 6, seed=seed) for seed in range(4)]
    expected = [embed(model_of(estimator, n_jobs=2), X) for X in data]
    barrier = Barrier(4)

    def work(X):
        barrier.wait(60)
        return [embed(model_of(estimator, n_jobs=2), X) for _ in range(3)]

    with ThreadPoolExecutor(4) as pool:
        for found, wanted in zip(pool.map(work, data), expected, strict=True):
            assert all(same_bits(Y, wanted) for Y in found)


def test_one_model_places_rows_for_four_python_threads_at_once(estimator):
    fitted = pickle.dumps(model_of(estimator, n_jobs=2).fit(cloud(200, 6)))
    data = [cloud(100, 6, seed=seed) for seed in range(1, 5)]
    alone = pickle.loads(fitted)
    expected = [place(alone, X) for X in data]
    model, barrier = pickle.loads(fitted), Barrier(4)  # one that has placed nothing yet

    def work(X):
        barrier.wait(60)
        return [place(model, X) for _ in range(5)]

    with ThreadPoolExecutor(4) as pool:
        for found, wanted in zip(pool.map(work, data), expected, strict=True):
            assert all(same_bits(Y, wanted) for Y in found)


# Memory and report


@pytest.mark.parametrize("integer", [int, np.int32, np.int64])
def test_the_memory_of_a_fit_is_known_before_it(method, integer):
    model = model_of(method)
    needed = [model.estimate(integer(n), integer(20)) for n in (50, 500, 50_000)]
    assert all(type(size) is int for size in needed)
    assert 0 < needed[0] < needed[1] < needed[2]
    assert needed == [model.estimate(n, 20) for n in (50, 500, 50_000)]


def test_the_estimate_checks_the_parameters_first(method):
    with pytest.raises(ValueError, match="'n_components' parameter"):
        model_of(method, n_components=0).estimate(100, 10)


def test_past_its_memory_limit_a_method_stops_before_the_work_and_names_a_cheaper_way(method, monkeypatch):
    monkeypatch.setattr(method, "_fit", lambda *_: pytest.fail("the work began"))
    model = model_of(method, memory_limit=1)
    with pytest.raises(MemoryLimitError, match=r"needs about .* GB, but .* memory_limit\. \w+") as refused:
        model.fit(cloud())
    assert isinstance(refused.value, MemoryError)
    assert not hasattr(model, "embedding_")


def test_without_a_limit_the_memory_that_is_left_is_the_limit(method, monkeypatch):
    monkeypatch.setattr(resources, "available_memory", lambda: 1)
    with pytest.raises(MemoryLimitError, match=r"available\. \w+"):
        model_of(method).fit(cloud())


def test_a_limit_of_just_the_estimate_is_enough(method):
    X = cloud()
    model = model_of(method)
    model.set_params(memory_limit=model.estimate(*X.shape))
    assert same_bits(embed(model, X), embed(model_of(method), X))


def test_sparse_rows_need_memory_for_what_they_hold(method):
    if inputs.SPARSE_ROWS not in method.accepts:
        pytest.skip("takes no sparse rows")
    rows, columns, held = 2000, 200_000, 2000 * 30
    model = model_of(method)
    assert model.estimate(rows, columns, held) < 8 * rows * columns / 8
    copied = 36 * rows * 40  # rows by columns beside them as they are, for covariances of sparse rows
    assert model.estimate(rows, 40, rows * 40) <= 2 * model.estimate(rows, 40) + copied
    wide = csr_array((np.ones(80), (np.arange(80) % 40, np.arange(80) * 2500 % 199_999)), shape=(40, 200_000))
    model.fit(wide)
    assert model.report_.memory < 8 * 40 * 200_000 * 2


def test_the_report_says_time_threads_instruction_set_memory_and_findings(method):
    X = cloud()
    model = model_of(method, n_jobs=2).fit(X)
    report = model.report_
    assert report.seconds
    assert all(seconds >= 0 for seconds in report.seconds.values())
    assert report.threads == 2
    assert report.simd in native.load("baseline").supported_simd()
    assert report.memory == model.estimate(*X.shape)
    assert isinstance(report.findings, Mapping)
    assert report.findings
    for word in (*report.seconds, "2 threads", report.simd, *report.findings):
        assert word in str(report)
