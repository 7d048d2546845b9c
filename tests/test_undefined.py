"""Metrics and kernels that have no number for some pair of rows: refused by name, in a fit and for new rows."""

from __future__ import annotations

import signal
import threading
import time

import numpy as np
import pytest
from scipy.sparse import csr_array

from conftest import cloud
from lowfold import MDS, PCA, ClassicalMDS, DataError, DiffusionMap, KernelPCA, ParameterError
from lowfold.backend import pieces


def rows(n=60):
    return np.abs(cloud(n, 5))


def undefined_of_zeros(a, b):
    return np.nan if a[0] == 0 or b[0] == 0 else float(np.abs(a - b).sum())


def with_zeros():
    X = rows()
    X[[3, 4]] = 0
    return X


@pytest.mark.parametrize(
    ("model", "X"),
    [
        (ClassicalMDS(metric="braycurtis"), with_zeros()),
        (ClassicalMDS(metric="braycurtis", landmarks=20), with_zeros()),
        (ClassicalMDS(metric=undefined_of_zeros, landmarks=20), with_zeros()),
        (ClassicalMDS(metric="correlation"), np.vstack([rows(), np.ones((1, 5))])),
        (DiffusionMap(metric="braycurtis"), with_zeros()),
        (MDS(metric="braycurtis"), with_zeros()),
        (KernelPCA(kernel=undefined_of_zeros), with_zeros()),
        (KernelPCA(kernel=undefined_of_zeros, landmarks=20), with_zeros()),
    ],
)
def test_a_fit_to_rows_without_a_distance_is_refused(model, X):
    with pytest.raises(DataError, match=r"(metric|kernel)=.*not finite for (some pair of rows|these data)"):
        model.fit(X)


@pytest.mark.parametrize("model", [ClassicalMDS(metric="correlation"), MDS(metric="correlation")])
def test_a_new_row_without_a_distance_is_refused(model):
    with pytest.raises(DataError, match="metric='correlation' gives a distance that is not finite"):
        model.fit(rows()).transform(np.full((1, 5), 2.0))


def test_a_new_row_without_a_kernel_value_is_refused():
    X = rows()
    with pytest.raises(DataError, match="kernel='poly'.*degree=2.5.*not finite"):
        KernelPCA(kernel="poly", degree=2.5).fit(X).transform(-20 * X[:2])


def test_negative_distances_of_all_pairs_are_refused():
    with pytest.raises(DataError, match="gives the negative distance -1"):
        ClassicalMDS(metric=lambda a, b: -1.0).fit(rows())


@pytest.mark.parametrize("metric", ["chebyshev", "canberra", "correlation", "jaccard"])
@pytest.mark.parametrize("method", [ClassicalMDS, MDS], ids=["ClassicalMDS", "MDS"])
@pytest.mark.filterwarnings("ignore:metric='jaccard'")
def test_a_metric_that_sparse_rows_do_not_have_is_refused_by_name(method, metric):
    with pytest.raises(ParameterError, match=f"metric='{metric}' cannot be used for these data.*or 'euclidean'"):
        method(metric=metric).fit(csr_array(rows()))


@pytest.mark.parametrize("value", ["a", np.ones(2)], ids=["text", "array"])
def test_a_kernel_that_gives_no_number_is_refused_by_name(value):
    with pytest.raises(ParameterError, match="kernel=<function.*It needs one number for each pair of rows"):
        KernelPCA(kernel=lambda a, b: value).fit(rows())


@pytest.mark.parametrize("Y", [[[np.nan, 1]], [[np.inf, 1]], [[1, 2, 3]], [[1, 2], [3]], None, {"a": 1}])
@pytest.mark.parametrize("method", [PCA, KernelPCA], ids=["PCA", "KernelPCA"])
def test_places_that_are_none_are_refused_with_a_remedy(method, Y):
    with pytest.raises(DataError, match=r"Leave out|Pass"):
        method().fit(rows()).inverse_transform(Y)


@pytest.mark.parametrize("X", [{"a": 1}, {1, 2}, "text", 3, None, [[1, 2], [3]]])
def test_what_holds_no_rows_is_refused_with_what_is_needed(X):
    with pytest.raises(DataError, match=r"The data are .*Pass"):
        PCA().fit(X)


def test_work_in_hand_ends_with_ctrl_c_where_it_asks():
    begun, asked = threading.Event(), []

    def work(rows):
        begun.set()
        for _ in range(10**6):
            pieces.check()
            asked.append(rows)
            time.sleep(1e-3)

    def interrupt():
        begun.wait()
        signal.raise_signal(signal.SIGINT)

    threading.Thread(target=interrupt).start()
    with pytest.raises(KeyboardInterrupt):
        pieces.in_pieces(work, 2, threads=2, height=1)
    assert len(asked) < 10**5


def test_an_error_that_ctrl_c_has_caused_is_ctrl_c(monkeypatch):
    def interrupted(pool, work, part):
        try:
            raise KeyboardInterrupt
        finally:
            raise RuntimeError("cannot release un-acquired lock")

    monkeypatch.setattr(pieces.ThreadPoolExecutor, "submit", interrupted)
    with pytest.raises(KeyboardInterrupt):
        pieces.in_pieces(lambda rows: None, 2, threads=2, height=1)


def test_an_error_of_the_work_stays_what_it_is():
    def work(rows):
        raise RuntimeError("of the work")

    with pytest.raises(RuntimeError, match="of the work"):
        pieces.in_pieces(work, 2, threads=2, height=1)


@pytest.mark.parametrize("model", [ClassicalMDS(metric=undefined_of_zeros), KernelPCA(kernel=undefined_of_zeros)])
def test_functions_of_pairs_are_asked_row_by_row_so_that_ctrl_c_is_heard(model, monkeypatch):
    asked = []
    monkeypatch.setattr(pieces, "check", lambda: asked.append(0))
    model.fit(rows(50))
    assert len(asked) >= 50
