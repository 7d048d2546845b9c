"""Principal component analysis: theorems, the four solvers, dense and sparse."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import scipy.sparse
from scipy.linalg import subspace_angles
from scipy.sparse import csr_array
from sklearn.decomposition import PCA as SklearnPCA

from conftest import LEVELS, cloud, same_bits
from lowfold import PCA, DataError, MemoryLimitError, ParameterError
from lowfold.backend import native, resources
from lowfold.backend.native import load
from lowfold.comparison import PeakMemory
from lowfold.errors import ConvergenceWarning

SOLVERS = ("covariance", "lanczos", "randomized", "power")
# Residual of the iterations over the relative gaps of the data below.
TOLERANCE = {"covariance": 1e-10, "lanczos": 1e-10, "randomized": 1e-3, "power": 1e-3}


def ellipsoid(n=300, d=12, seed=0):
    """A Gaussian cloud whose axes have well separated lengths, off the origin."""
    rng = np.random.default_rng(seed)
    rotation = np.linalg.qr(rng.standard_normal((d, d)))[0]
    return rng.standard_normal((n, d)) * 2.0 ** -np.arange(d) @ rotation + 5


@pytest.mark.parametrize("shape", [(300, 12), (15, 40)])
@pytest.mark.parametrize("solver", SOLVERS)
def test_every_solver_agrees_with_the_singular_value_decomposition(solver, shape):
    X = ellipsoid(*shape)
    model = PCA(n_components=4, solver=solver).fit(X)
    centred = X - X.mean(axis=0)
    U, s, Vt = np.linalg.svd(centred, full_matrices=False)
    np.testing.assert_allclose(model.singular_values_, s[:4], rtol=1e-5)
    np.testing.assert_allclose(model.explained_variance_, s[:4] ** 2 / (len(X) - 1), rtol=1e-5)
    np.testing.assert_allclose(model.explained_variance_ratio_, s[:4] ** 2 / (s**2).sum(), rtol=1e-5)
    assert subspace_angles(model.components_.T, Vt[:4].T).max() < TOLERANCE[solver]
    np.testing.assert_allclose(np.abs(model.embedding_), np.abs(U[:, :4] * s[:4]), atol=10 * TOLERANCE[solver])


@pytest.mark.parametrize("solver", SOLVERS)
def test_components_are_orthonormal_with_their_largest_entry_positive(solver):
    components = PCA(n_components=6, solver=solver).fit(ellipsoid()).components_
    np.testing.assert_allclose(components @ components.T, np.eye(6), atol=1e-8)
    assert (components[np.arange(6), np.abs(components).argmax(axis=1)] > 0).all()


def test_coordinates_are_uncorrelated_with_the_variances_reported():
    model = PCA(n_components=5).fit(ellipsoid())
    np.testing.assert_allclose(np.cov(model.embedding_.T), np.diag(model.explained_variance_), atol=1e-10)


def test_all_components_keep_all_distances_and_invert_exactly():
    X = ellipsoid(40, 6)
    model = PCA(n_components=6)
    Y = model.fit_transform(X)
    np.testing.assert_allclose(np.linalg.norm(Y[0] - Y[1:], axis=1), np.linalg.norm(X[0] - X[1:], axis=1))
    np.testing.assert_allclose(model.inverse_transform(Y), X, atol=1e-10)
    assert model.explained_variance_ratio_.sum() == pytest.approx(1)


@pytest.mark.parametrize("whiten", [False, True])
def test_the_inverse_is_the_projection_onto_the_plane_of_components(whiten):
    X = ellipsoid()
    model = PCA(n_components=3, whiten=whiten).fit(X)
    V = model.components_.T
    back = model.inverse_transform(model.transform(X))
    np.testing.assert_allclose(back, (X - X.mean(axis=0)) @ V @ V.T + X.mean(axis=0), atol=1e-10)


def test_whitened_coordinates_have_variance_one():
    Y = PCA(n_components=4, whiten=True).fit_transform(ellipsoid())
    np.testing.assert_allclose(np.cov(Y.T), np.eye(4), atol=1e-8)


def test_whitening_a_direction_without_variance_stays_finite():
    X = np.column_stack([np.arange(10.0), np.zeros(10), np.zeros(10)])
    model = PCA(n_components=3, whiten=True)
    assert np.isfinite(model.fit_transform(X)).all()
    np.testing.assert_allclose(model.inverse_transform(model.embedding_), X, atol=1e-10)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("shape", [(200, 30), (30, 90)])
def test_sparse_rows_give_what_dense_rows_give(solver, shape):
    X = ellipsoid(*shape)
    X[np.random.default_rng(1).random(shape) < 0.7] = 0
    sparse, dense = (PCA(n_components=3, solver=solver).fit(data) for data in (scipy.sparse.csr_array(X), X))
    np.testing.assert_allclose(sparse.explained_variance_, dense.explained_variance_, rtol=1e-6)
    np.testing.assert_allclose(sparse.embedding_, dense.embedding_, atol=1e-3)
    np.testing.assert_allclose(sparse.transform(scipy.sparse.csr_matrix(X)), sparse.embedding_)


def test_sparse_rows_are_never_made_dense():
    X = scipy.sparse.random_array((3000, 200_000), density=1e-5, rng=np.random.default_rng(0), format="csr")
    model = PCA(n_components=2, solver="randomized")
    assert model.estimate(*X.shape) < 8 * 3000 * 200_000 / 20
    assert model.fit(X).embedding_.shape == (3000, 2)


@pytest.mark.skipif(not resources.forget_peak(), reason="the system does not count the peak of memory")
@pytest.mark.parametrize("shape", [(30_000, 1000), (1500, 15_000)])
@pytest.mark.parametrize("solver", SOLVERS)
def test_no_solver_takes_the_memory_of_dense_rows_for_sparse_ones(solver, shape):
    X = scipy.sparse.random_array(shape, density=0.002, rng=np.random.default_rng(0), format="csr")
    X.data *= np.where(X.indices < 4, 50.0 / (1 + X.indices), 1.0)  # a few long axes
    PCA(solver=solver).fit(X[:50, :60])  # what a first fit loads is not its own
    with PeakMemory() as memory:
        model = PCA(solver=solver).fit(X)
        model.transform(X)
    assert memory.peak < 8 * shape[0] * shape[1] / 3


@pytest.mark.parametrize("make", [np.asarray, scipy.sparse.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize("shape", [(20, 120), (2, 9), (60, 61)])
def test_power_iteration_on_fewer_samples_than_features_gives_what_covariances_give(shape, make):
    X = ellipsoid(*shape)
    X[np.abs(X - 5) < 0.01] = 0
    m = min(3, shape[0] - 1)
    power, covariance = (PCA(n_components=m, solver=solver).fit(make(X)) for solver in ("power", "covariance"))
    assert power.report_.findings["solver"] == "power"
    np.testing.assert_allclose(power.explained_variance_, covariance.explained_variance_, rtol=1e-6)
    np.testing.assert_allclose(power.explained_variance_ratio_, covariance.explained_variance_ratio_, rtol=1e-6)
    np.testing.assert_allclose(power.components_, covariance.components_, atol=TOLERANCE["power"])
    np.testing.assert_allclose(power.embedding_, covariance.embedding_, atol=10 * TOLERANCE["power"])
    np.testing.assert_allclose(power.components_ @ power.components_.T, np.eye(m), atol=1e-8)


@pytest.mark.parametrize("dtype", [np.float32, np.float64], ids=["float32", "float64"])
@pytest.mark.parametrize("wide", [False, True], ids=["tall", "wide"])
@pytest.mark.parametrize("solver", SOLVERS)
def test_every_solver_gives_the_same_bits_for_any_number_of_threads(solver, wide, dtype):
    X = ellipsoid(9000, 40).astype(dtype)
    X = np.ascontiguousarray(X.T) if wide else X
    alone, *others = (PCA(n_components=3, solver=solver, n_jobs=n_jobs).fit(X) for n_jobs in (1, 2, 3, 8))
    assert alone.report_.findings["solver"] == solver
    for model in others:
        assert same_bits(model.embedding_, alone.embedding_)
        assert same_bits(model.components_, alone.components_)
        assert same_bits(model.transform(X[:7] + 1), alone.transform(X[:7] + 1))


def test_agreement_with_scikit_learn_up_to_sign():
    X = ellipsoid()
    ours, theirs = PCA(n_components=5).fit(X), SklearnPCA(n_components=5).fit(X)
    np.testing.assert_allclose(np.abs(ours.components_), np.abs(theirs.components_), atol=1e-8)
    np.testing.assert_allclose(ours.explained_variance_ratio_, theirs.explained_variance_ratio_)
    np.testing.assert_allclose(np.abs(ours.transform(X)), np.abs(theirs.transform(X)), atol=1e-8)


def test_float32_far_from_the_origin_agrees_with_float64():
    X = ellipsoid() + 1000
    single, double = PCA(n_components=3).fit(X.astype(np.float32)), PCA(n_components=3).fit(X)
    assert single.embedding_.dtype == np.float32
    np.testing.assert_allclose(single.embedding_, double.embedding_, atol=2e-3)


def test_too_many_components_are_refused_with_the_shape():
    with pytest.raises(ParameterError, match="n_components=5 .*n_samples = 20 and n_features = 3.*at most 3"):
        PCA(n_components=5).fit(np.ones((20, 3)) * np.arange(20)[:, None])


def test_coordinates_of_the_wrong_width_cannot_be_inverted():
    with pytest.raises(DataError, match="Y has 3 columns, but the embedding has 2"):
        PCA().fit(ellipsoid()).inverse_transform(np.zeros((4, 3)))


def test_equal_variances_end_the_power_iteration_with_a_warning_or_a_valid_answer():
    X = np.vstack([np.eye(8), -np.eye(8)])
    model = PCA(n_components=3, solver="power").fit(X)
    np.testing.assert_allclose(model.explained_variance_, 2 / 15, rtol=1e-4)
    slow = np.diag(1 + 2e-4 * np.arange(8.0))
    with pytest.warns(ConvergenceWarning, match="Use solver='covariance'"):
        PCA(n_components=1, solver="power").fit(np.vstack([slow, -slow]))


def test_memory_is_estimated_before_anything_is_allocated():
    assert PCA(solver="covariance").estimate(100_000, 50_000) > 8 * 50_000**2
    assert PCA(solver="randomized").estimate(100_000, 50_000) < 1e9
    assert PCA(solver="lanczos").estimate(100_000, 50_000) < 1e9
    with pytest.raises(MemoryLimitError, match="GB are allowed by memory_limit. Use solver='lanczos'"):
        PCA(solver="covariance", memory_limit=1e3).fit(ellipsoid())


def test_the_report_says_solver_residual_and_stages():
    report = PCA(solver="randomized").fit(ellipsoid()).report_
    assert report.findings["solver"] == "randomized"
    assert report.findings["residual"] <= 1e-5
    assert list(report.seconds) == ["centre", "eigenvectors", "project"]
    assert "memory: about" in str(report)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_whitening_leaves_directions_of_mere_rounding_alone(solver, dtype):
    rng = np.random.default_rng(0)
    X = (rng.standard_normal((500, 3)) @ rng.standard_normal((3, 10))).astype(dtype)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the null space has no gaps
        model = PCA(n_components=8, whiten=True, solver=solver).fit(X)
    spread = model.embedding_.std(axis=0, ddof=1)
    np.testing.assert_allclose(spread[:3], 1, rtol=1e-5)
    assert (spread[3:] < 1e-4).all()
    assert np.abs(model.transform(rng.standard_normal((100, 10)).astype(dtype))).max() < 100
    np.testing.assert_allclose(model.inverse_transform(model.embedding_), X, atol=1e-5)


def test_small_but_real_variances_are_whitened():
    X = np.random.default_rng(0).standard_normal((500, 4)) * [1, 1e-2, 1e-4, 1e-5]
    for dtype in (np.float32, np.float64):
        Y = PCA(n_components=4, whiten=True).fit_transform(X.astype(dtype))
        np.testing.assert_allclose(Y.std(axis=0, ddof=1), 1, rtol=1e-5)


@pytest.mark.parametrize("solver", SOLVERS)
def test_full_columns_of_sparse_rows_lose_no_digits_to_their_mean(solver):
    X = cloud(300, 6)
    X[:, 2] = 1.7e9
    X[:, 4] *= np.arange(300) % 3 == 0
    sparse, dense = (PCA(n_components=3, solver=solver).fit(rows) for rows in (csr_array(X), X))
    np.testing.assert_allclose(sparse.explained_variance_, dense.explained_variance_, rtol=1e-6)
    np.testing.assert_allclose(sparse.explained_variance_ratio_, dense.explained_variance_ratio_, rtol=1e-6)


def test_constant_sparse_rows_are_whitened_to_nothing():
    model = PCA(whiten=True).fit(csr_array(np.full((7, 5), 0.3)))
    assert np.abs(model.embedding_).max() < 1e-12
    assert (model.explained_variance_ >= 0).all()


@pytest.mark.parametrize("level", LEVELS)
def test_signs_do_not_hang_on_rounding_where_entries_are_equal(level, monkeypatch):
    monkeypatch.setattr(native, "kernels", load(level))
    for seed in range(10):
        X = cloud(200, 2, seed=seed)
        X[:, 1] += X[:, 0]
        X = (X - X.mean(axis=0)) / X.std(axis=0)  # the components of two such features are (1, 1) and (1, -1)
        for rows in (X, X[::-1], X.astype(np.float32)):
            for solver in SOLVERS:
                signs = np.sign(PCA(solver=solver).fit(rows).components_)
                np.testing.assert_array_equal(signs, [[1, 1], [1, -1]])


def stamped(n=500):
    """A time in seconds, an age and a temperature: standard deviations of 3e7, 15 and 3."""
    rng = np.random.default_rng(0)
    return np.column_stack([rng.uniform(1.6e9, 1.7e9, n), rng.normal(50, 15, n), rng.normal(0, 3, n)])


def rotation(columns):
    return np.linalg.qr(cloud(columns, columns, seed=7))[0]


UNEVEN = {
    "a time stamp": stamped,
    "four digits": lambda: ellipsoid(500, 5) @ np.diag([1e4, 1.0, 0.9, 0.8, 0.7]),
    "four digits of float32": lambda: (cloud(2000, 5) * [1e4, 1, 0.8, 0.6, 0.4]).astype(np.float32),
    "fewer samples than features": lambda: cloud(6, 40) * np.geomspace(1e5, 1, 40),
    "sparse rows": lambda: csr_array(cloud(300, 4) * [1e5, 1, 0.8, 0.6]),
    "seven digits": lambda: ellipsoid(500, 12) @ np.diag(np.r_[1e7, np.geomspace(3, 1, 11)]) @ rotation(12),
    "seven digits and three": lambda: cloud(400, 9) * np.r_[1e7, 1e3, np.geomspace(3, 1, 7)] @ rotation(9),
}


@pytest.mark.parametrize("solver", ["auto", *SOLVERS])
@pytest.mark.parametrize("kind", UNEVEN)
def test_components_of_little_variance_are_right_beside_one_of_much(kind, solver):
    X = UNEVEN[kind]()
    rows = (X.toarray() if scipy.sparse.issparse(X) else X).astype(np.float64)
    _, s, Vt = np.linalg.svd(rows - rows.mean(axis=0), full_matrices=False)
    model = PCA(n_components=3, solver=solver).fit(X)
    np.testing.assert_allclose(model.singular_values_, s[:3], rtol=1e-5)
    np.testing.assert_allclose(np.abs((model.components_ * Vt[:3]).sum(axis=1)), 1, atol=1e-5)
    whitened = PCA(n_components=3, solver=solver, whiten=True).fit_transform(X)
    np.testing.assert_allclose(np.cov(whitened.T), np.eye(3), atol=1e-4)


def test_the_order_of_the_columns_changes_nothing_but_the_order_of_the_loads():
    X = cloud(400, 5) * [1e5, 1, 0.8, 0.6, 0.4]
    order = [3, 1, 0, 4, 2]
    one, other = PCA(n_components=5).fit(X), PCA(n_components=5).fit(X[:, order])
    np.testing.assert_allclose(other.explained_variance_, one.explained_variance_, rtol=1e-9)
    np.testing.assert_allclose(np.abs(other.components_), np.abs(one.components_[:, order]), atol=1e-6)
