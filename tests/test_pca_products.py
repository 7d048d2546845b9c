"""Principal components from products with the data alone, where neither side of them is short."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from scipy.sparse import csr_array

from conftest import cloud, same_bits
from lowfold import PCA, KernelPCA, MemoryLimitError
from lowfold.backend import pieces, steps, stopping
from lowfold.spectral import centred as module
from lowfold.spectral.centred import centred
from lowfold.spectral.pca import DIRECT_SIZE, SPARSE_DIRECT_SIZE


def _noise(shape, seed=0):
    """Mostly zeros; no direction varies much more than the next."""
    rng = np.random.default_rng(seed)
    return np.where(rng.random(shape) < 0.02, rng.standard_normal(shape), 0.0)


@pytest.mark.parametrize("make", [np.asarray, csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", [(900, 700), (700, 900)])
def test_products_give_what_covariances_give(shape, dtype, make):
    X = (_noise(shape) + 0.5 * (np.arange(shape[1]) == 3)).astype(dtype)  # one column is full and off the origin
    products, covariances = (PCA(n_components=20, solver=solver).fit(make(X)) for solver in ("lanczos", "covariance"))
    assert products.report_.findings["iterations"] > 1
    np.testing.assert_allclose(products.explained_variance_, covariances.explained_variance_, rtol=1e-5)
    np.testing.assert_allclose(
        products.components_, covariances.components_, atol=2e-3 if dtype == np.float32 else 1e-4
    )


def test_products_have_the_same_bits_for_any_number_of_threads():
    one, two = (PCA(n_components=5, solver="lanczos", n_jobs=jobs).fit(_noise((900, 700))) for jobs in (1, 2))
    np.testing.assert_array_equal(one.embedding_, two.embedding_)


@pytest.mark.parametrize("make", [np.asarray, csr_array], ids=["dense", "sparse"])
def test_a_square_matrix_is_made_where_it_is_small(make):
    size = DIRECT_SIZE if make is np.asarray else SPARSE_DIRECT_SIZE
    for side, solver in ((size, "covariance"), (size + 1, "lanczos")):
        X = np.zeros((side, side + 5), np.float32)
        X[: min(40, side), :40] = _noise((40, 40), 1)
        assert PCA().fit(make(X)).report_.findings["solver"] == solver
    assert PCA(n_components=size // 8 + 1)._solver(size + 1, 10 * size, make is csr_array) == "covariance"


def test_sparse_data_of_the_caller_are_not_changed_by_a_column_that_is_full():
    X = csr_array(np.column_stack([np.full(1200, 7.0), _noise((1200, 1100))]))
    before = X.copy()
    PCA(n_components=2).fit(X)
    np.testing.assert_array_equal(X.data, before.data)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_products_with_wide_data_have_the_same_bits_in_panels_of_columns(dtype, monkeypatch):
    X, Z = cloud(30, 1000).astype(dtype), cloud(30, 5, seed=1)
    whole = centred(X, 2).transposed_times(Z)
    monkeypatch.setattr(module, "PACKED_ROWS", 16)
    monkeypatch.setattr(module, "PANEL_SIZE", 30 * 77)
    assert same_bits(centred(X, 2).transposed_times(Z), whole)


def test_the_kernel_is_given_no_more_columns_than_it_has_a_small_place_for():
    for shape in ((10, 300_000), (2000, 5000), (4096, 5000)):
        panels = centred(np.broadcast_to(np.float64(0), shape), 1, np.zeros(shape[1]))._panels()
        assert [panel.stop for panel in panels[:-1]] == [panel.start for panel in panels[1:]]
        assert (panels[0].start, panels[-1].stop) == (0, shape[1])
        widest = max(panel.stop - panel.start for panel in panels)
        assert widest * max(shape[0], module.PACKED_ROWS) <= module.PANEL_SIZE


@pytest.mark.parametrize("solver", ["lanczos", "randomized"])
def test_the_memory_of_products_with_long_rows_is_foreseen_and_small(solver):
    X = cloud(300, 40_000)
    tracemalloc.start()
    squares = centred(X, 2).sum_of_squares()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert squares == pytest.approx(np.square(X - X.mean(axis=0)).sum())
    assert peak < 16 * module.SQUARED_AT_ONCE + 2**20
    packed = 8 * 2 * module.PACKED_ROWS * 20_000  # by the kernel, for a moment
    assert packed < PCA(solver=solver).estimate(5000, 20_000) < 2 * packed
    with pytest.raises(MemoryLimitError, match="allowed by memory_limit"):
        PCA(solver=solver, memory_limit=1e8).fit(np.broadcast_to(X[:1, :20_000], (5000, 20_000)))


@pytest.mark.parametrize("solver", ["covariance", "lanczos", "randomized", "power"])
def test_the_memory_of_sparse_rows_with_many_entries_is_foreseen(solver):
    rng = np.random.default_rng(0)
    X = csr_array((rng.random(400_000), (rng.integers(0, 20_000, 400_000), rng.integers(0, 60, 400_000))))
    X.sum_duplicates()
    model = PCA(solver=solver)
    tracemalloc.start()
    model.fit(X)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak / 1.3 < model.estimate(*X.shape, X.nnz) < 3 * peak
    with pytest.raises(MemoryLimitError, match="allowed by memory_limit"):
        PCA(solver=solver, memory_limit=peak / 3).fit(X)


def test_a_stop_is_heard_between_panels_of_columns():
    stop = stopping.Stop()
    stop.ask()
    with stopping.stoppable(stop), pytest.raises(stopping.Stopped):
        centred(cloud(5, 20), 1).transposed_times(cloud(5, 2))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("threads", [1, 3])
def test_copies_in_pieces_are_those_made_at_once(dtype, threads, monkeypatch):
    monkeypatch.setattr(pieces, "NUMBERS_AT_ONCE", 50)
    X, shift = cloud(40, 33).astype(dtype), cloud(1, 33, seed=1)[0]
    assert same_bits(pieces.shifted(X, shift, threads), X - shift)
    assert same_bits(pieces.shifted_columns(X, shift, threads), np.ascontiguousarray((X - shift).T))


def test_kernels_of_wide_rows_are_made_in_steps_between_which_ctrl_c_is_heard(monkeypatch):
    X = cloud(60, 500)
    whole = KernelPCA(n_jobs=1).fit(X).embedding_
    asked, check = [], pieces.check
    monkeypatch.setattr(steps, "OPERATIONS", 2 * 60 * 500 * 7)
    monkeypatch.setattr(pieces, "check", lambda: asked.append(1) or check())
    np.testing.assert_allclose(KernelPCA(n_jobs=1).fit(X).embedding_, whole, atol=1e-10)
    assert len(asked) >= 60 // 7
