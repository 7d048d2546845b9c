"""Principal components from products with the data alone, where neither side of them is short."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array

from lowfold import PCA
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
