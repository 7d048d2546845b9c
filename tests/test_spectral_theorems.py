"""The family is one: methods that are equal on paper are equal here, and known shapes come out as they are."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from scipy.stats import spearmanr

import lowfold
from conftest import cloud
from lowfold import (
    LLE,
    LTSA,
    PCA,
    ClassicalMDS,
    DiffusionMap,
    Heat,
    HessianLLE,
    Isomap,
    KernelPCA,
    LaplacianEigenmaps,
    ModifiedLLE,
    Nearest,
    diffmap,
)
from shapes import flat_sheet, subspace_sine, swiss_roll, unexplained, up_to_signs

# Equal methods


@pytest.mark.parametrize("n", [50, 900])
def test_pca_is_linear_kernel_pca_is_classical_scaling_of_euclidean_distances(n):
    X = cloud(n, 6) * np.arange(1, 7)
    expected = PCA(n_components=3).fit_transform(X)
    assert up_to_signs(KernelPCA(n_components=3, kernel="linear").fit_transform(X), expected) < 1e-5
    assert up_to_signs(ClassicalMDS(n_components=3).fit_transform(X), expected) < 1e-12
    D = cdist(X, X)
    assert up_to_signs(ClassicalMDS(n_components=3, metric="precomputed").fit_transform(D), expected) < 1e-5


def test_the_equal_methods_place_new_points_alike():
    X, new = cloud(80, 6) * np.arange(1, 7), cloud(20, 6, seed=1) * np.arange(1, 7)
    expected = PCA(n_components=3).fit(X).transform(new)
    assert up_to_signs(KernelPCA(n_components=3, kernel="linear").fit(X).transform(new), expected) < 1e-8
    model = ClassicalMDS(n_components=3, metric="precomputed").fit(cdist(X, X))
    assert up_to_signs(model.transform(cdist(new, X)), expected) < 1e-8


@pytest.mark.parametrize("n", [60, 700])
def test_isomap_on_the_complete_graph_is_classical_scaling(n):
    X = cloud(n, 5)
    Y = Isomap(n_components=2, n_neighbors=n - 1).fit_transform(X)
    assert up_to_signs(Y, ClassicalMDS(n_components=2).fit_transform(X)) < 1e-5


def test_landmark_isomap_with_all_points_as_landmarks_is_isomap():
    X, _ = swiss_roll(300)
    Y = Isomap(n_neighbors=8, landmarks=300).fit_transform(X)
    assert up_to_signs(Y, Isomap(n_neighbors=8).fit_transform(X)) < 1e-6


def test_kernel_pca_with_all_points_as_landmarks_is_kernel_pca():
    X = cloud(120, 4)
    Y = KernelPCA(landmarks=120, gamma=0.2).fit_transform(X)
    assert up_to_signs(Y, KernelPCA(gamma=0.2).fit_transform(X)) < 1e-8


def test_a_diffusion_map_at_time_zero_without_density_correction_is_laplacian_eigenmaps():
    X = cloud(150, 3)
    W = np.exp(-(cdist(X, X) ** 2) / 2)
    Y = DiffusionMap(sigma=1.0, alpha=0.0, t=0.0).fit_transform(X)
    d = W.sum(axis=1)
    S = W / np.sqrt(np.outer(d, d))
    V = np.linalg.eigh(S)[1]
    assert up_to_signs(Y, (V / np.sqrt(d)[:, None])[:, [-2, -3]]) < 1e-8
    graph = LaplacianEigenmaps(n_neighbors=149, weights=Heat(1.0)).fit(X)
    W0 = W - np.eye(150)  # the neighbour graph has no loops
    P = W0 / W0.sum(axis=1)[:, None]
    for lam, psi in zip(graph.walk_eigenvalues_, graph.embedding_.T, strict=True):
        assert np.abs(P @ psi - lam * psi).max() < 1e-10
    assert np.allclose(graph.eigenvalues_, 1 - graph.walk_eigenvalues_)


def test_the_notes_own_function_is_the_diffusion_map():
    X = cloud(100, 3)
    W = np.exp(-(cdist(X, X) ** 2) / (2 * 0.8**2))
    M = W / W.sum(axis=1)[:, None]
    values, vectors = np.linalg.eig(M)
    order = np.argsort(-values.real)[1:4]
    Y, lam = diffmap(X, 0.8, 2, 3)
    assert np.allclose(lam, values.real[order], atol=1e-10)
    expected = vectors.real[:, order] * values.real[order] ** 2
    cosines = (Y * expected).sum(axis=0) / np.linalg.norm(Y, axis=0) / np.linalg.norm(expected, axis=0)
    assert np.allclose(np.abs(cosines), 1)


# The random walk


@pytest.mark.parametrize("alpha", [0.0, 0.5, 1.0, 0.3])
@pytest.mark.parametrize("t", [0, 1, 3, 10])
def test_distances_in_the_full_map_are_distances_between_rows_of_the_walk(alpha, t):
    X = cloud(40, 3)
    model = DiffusionMap(n_components=39, sigma=0.7, alpha=alpha, t=t).fit(X)
    W = np.exp(-(cdist(X, X) ** 2) / (2 * 0.7**2))
    q = W.sum(axis=1)
    W /= np.outer(q, q) ** alpha
    d = W.sum(axis=1)
    rows = np.linalg.matrix_power(W / d[:, None], t)
    expected = np.sqrt((((rows[:, None] - rows[None]) ** 2) / d).sum(axis=2))
    assert np.allclose(cdist(model.embedding_, model.embedding_), expected, rtol=1e-6, atol=1e-6 * expected.max())
    i, j = np.arange(10), np.arange(20, 30)
    assert np.allclose(model.diffusion_distance(i, j), expected[i, j], rtol=1e-6)
    assert np.allclose(model.diffusion_distance(i, j, source="walk"), expected[i, j], rtol=1e-8)
    assert model.diffusion_distance(3, 5) == pytest.approx(expected[3, 5], rel=1e-6)


def test_left_and_right_eigenvectors_are_dual_and_the_walk_settles_at_the_stationary_distribution():
    X = cloud(60, 3)
    model = DiffusionMap(n_components=10, sigma=0.8).fit(X)
    assert np.allclose(model.left_eigenvectors_.T @ model.right_eigenvectors_, np.eye(10), atol=1e-10)
    chain = lowfold.markov.chain_of(model)
    assert np.allclose(chain.stationary, model.stationary_distribution_)
    assert np.allclose(chain.P.T @ model.stationary_distribution_, model.stationary_distribution_)
    assert np.allclose(chain.P @ model.right_eigenvectors_, model.right_eigenvectors_ * model.eigenvalues_)
    assert np.allclose(chain.P.T @ model.left_eigenvectors_, model.left_eigenvectors_ * model.eigenvalues_)


def test_another_time_needs_no_new_fit():
    X = cloud(60, 3)
    model = DiffusionMap(n_components=3, sigma=0.8, t=1.0).fit(X)
    later = model.at_time(2.5)
    again = DiffusionMap(n_components=3, sigma=0.8, t=2.5).fit(X)
    assert np.allclose(later.embedding_, again.embedding_, atol=1e-12)
    assert np.allclose(later.transform(cloud(5, 3, seed=1)), again.transform(cloud(5, 3, seed=1)), atol=1e-12)
    assert model.t == 1.0


def test_the_number_of_coordinates_follows_from_delta_and_time():
    X = cloud(60, 3)
    lam = DiffusionMap(n_components=59, sigma=0.8).fit(X).eigenvalues_
    for delta, t in [(0.5, 1.0), (0.9, 2.0), (0.99, 1.0), (0.999, 1.0)]:
        model = DiffusionMap(n_components=lowfold.Significant(delta), sigma=0.8, t=t).fit(X)
        expected = max(1, int((np.abs(lam) ** t >= 1 - delta).sum()))
        assert model.embedding_.shape == (60, expected)
        assert model.transform(X[:3] + 0.01).shape == (3, expected)


# Known shapes


def test_an_open_curve_is_ordered_by_the_first_coordinate():
    X, theta = lowfold.datasets.spiral()
    for model in (
        DiffusionMap(n_components=1),
        DiffusionMap(n_components=1, graph=Nearest(k=8)),
        LaplacianEigenmaps(n_components=1, n_neighbors=6),
        Isomap(n_components=1, n_neighbors=3),
    ):
        assert abs(spearmanr(model.fit_transform(X)[:, 0], theta).statistic) > 0.999999, model


def test_a_long_spiral_is_ordered_too_although_its_eigenvalues_nearly_touch():
    position = np.sort(np.random.default_rng(0).random(5000))
    angle = 2 * np.pi * (1 + 3 * position)
    X = np.column_stack([angle * np.cos(angle), angle * np.sin(angle)])
    Y = LaplacianEigenmaps(n_components=1, n_neighbors=10).fit_transform(X)
    assert abs(spearmanr(Y[:, 0], position).statistic) > 0.999999


def test_a_closed_curve_becomes_a_circle():
    angle = 2 * np.pi * np.random.default_rng(0).random(600) ** 1.5  # not evenly
    X = np.column_stack([3 * np.cos(angle), np.sin(angle), np.sin(2 * angle)])
    Y = DiffusionMap(sigma=0.25, alpha=1.0).fit_transform(X)
    radius = np.linalg.norm(Y, axis=1)
    assert radius.std() / radius.mean() < 0.1
    found = np.unwrap(np.arctan2(*Y[np.argsort(angle)].T))
    assert abs(abs(found[-1] - found[0]) - 2 * np.pi) < 0.5
    assert (np.diff(found) * np.sign(found[-1] - found[0]) > 0).mean() > 0.99


def test_a_bottleneck_lengthens_diffusion_distances_but_not_shortest_paths():
    rng = np.random.default_rng(0)
    disk = rng.standard_normal((4000, 2))
    disk = disk[np.linalg.norm(disk, axis=1) < 1.0][:900]
    shift = np.array([1.4, 0.0])
    left, right = disk[:450] - shift, disk[450:] + shift
    bridge = np.column_stack([np.linspace(-0.5, 0.5, 15), np.zeros(15)])
    A, B, C = np.array([-0.6, 0.0]), np.array([0.6, 0.0]), np.array([2.0, 0.0])
    X = np.vstack([A, B, C, left, right, bridge])
    model = DiffusionMap(n_components=40, sigma=0.12, alpha=0.0, t=200).fit(X)
    assert model.diffusion_distance(0, 1) > 10 * model.diffusion_distance(1, 2)
    paths = Isomap(n_neighbors=10).fit(X)._solved[0].state.graph.from_points(np.array([1]), 1)[0]
    assert 0.5 < paths[0] / paths[2] < 2


# The LLE family


@pytest.mark.parametrize("n", [400, 900])
def test_tangent_alignment_and_the_hessian_are_exact_on_a_flat_sheet(n):
    X, sheet = flat_sheet(n)
    for model in (LTSA(), HessianLLE()):
        Y = model.fit_transform(X)
        assert unexplained(Y, sheet) < 1e-8, model
        assert (model.eigenvalues_ < 1e-10).all()


def test_the_family_unrolls_the_swiss_roll():
    X, sheet = swiss_roll(2000)
    limits = {LTSA: 0.02, HessianLLE: 0.02, ModifiedLLE: 0.02, Isomap: 0.02, LLE: 0.6}
    for cls, limit in limits.items():
        Y = cls(n_neighbors=12).fit_transform(X)
        assert unexplained(Y, sheet) < limit, cls


def test_weights_sum_to_one_and_ignore_rotation_shift_and_scale():
    from lowfold.backend import native

    X = cloud(60, 4)
    near = lowfold.build_index(X).query(None, 6).indices
    weights = native.kernels.barycentric_weights(X, X, near, 1e-3, 2)
    assert np.allclose(weights.sum(axis=1), 1)
    turn = np.linalg.qr(cloud(4, 4, seed=3))[0]
    moved = np.ascontiguousarray(7.3 * X @ turn + 100)
    assert np.allclose(native.kernels.barycentric_weights(moved, moved, near, 1e-3, 2), weights, atol=1e-9)


def test_lumpable_clusters_land_on_the_corners_of_a_simplex():
    labels = np.repeat(np.arange(3), 40)
    W = np.where(labels[:, None] == labels, 1.0, 0.02)
    model = DiffusionMap(n_components=2, metric="affinity", alpha=0.0).fit(W)
    corners = np.array([model.embedding_[labels == label].mean(axis=0) for label in range(3)])
    assert all(np.allclose(model.embedding_[labels == label], corners[label], atol=1e-10) for label in range(3))
    sides = cdist(corners, corners)[np.triu_indices(3, 1)]
    assert np.allclose(sides, sides[0])


# Rows, types, sizes


# What UMAP draws by lot depends on the last bits and on the order of the rows: test_umap.py holds its quality instead.
SETTLED = [cls for cls in lowfold.METHODS.values() if cls is not lowfold.UMAP]


@pytest.mark.parametrize("cls", [m for m in SETTLED if m is not PCA])
def test_rows_permuted_in_are_rows_permuted_out(cls):
    X, _ = swiss_roll(500)
    model = cls(n_neighbors=12) if "n_neighbors" in cls().get_params() else cls()
    order = np.random.default_rng(0).permutation(len(X))
    Y, permuted = model.fit_transform(X), model.fit_transform(X[order])
    assert subspace_sine(permuted, Y[order]) < 1e-4
    assert up_to_signs(permuted, Y[order]) < 1e-3


@pytest.mark.parametrize("cls", SETTLED)
def test_float32_agrees_with_float64(cls):
    X, _ = swiss_roll(700)
    X = X.astype(np.float32).astype(np.float64)
    model = cls(n_neighbors=12) if "n_neighbors" in cls().get_params() else cls()
    single, double = model.fit_transform(X.astype(np.float32)), model.fit_transform(X)
    assert single.dtype == np.float32
    assert up_to_signs(single.astype(float), double) < 2e-3
