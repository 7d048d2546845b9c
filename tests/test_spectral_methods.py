"""What each spectral method offers beside its embedding, and what it says to input that it cannot use."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn.datasets import load_digits

from conftest import GRAPH_METHODS, cloud, same_bits
from lowfold import (
    LLE,
    LTSA,
    ClassicalMDS,
    DataError,
    HessianLLE,
    Isomap,
    KernelPCA,
    ModifiedLLE,
    ParameterError,
)
from lowfold.spectral import eigen
from shapes import subspace_sine, swiss_roll, unexplained, up_to_signs


def islands(sizes=(60, 30, 20), d=3):
    return np.vstack([cloud(n, d, seed=n) + 40 * i for i, n in enumerate(sizes)])


# Kernel PCA


@pytest.mark.parametrize("kernel", ["linear", "poly", "rbf", "sigmoid", "cosine"])
@pytest.mark.parametrize("n", [100, 900])
def test_kernel_pca_agrees_with_scikit_learn_and_places_new_points_alike(kernel, n):
    from sklearn.decomposition import KernelPCA as Peer

    X, new = cloud(n, 5), cloud(20, 5, seed=1)
    options = {"kernel": kernel, "gamma": 0.1, "degree": 2, "coef0": 1.0, "n_components": 3}
    model, peer = KernelPCA(**options).fit(X), Peer(**options, eigen_solver="dense").fit(X)
    assert np.allclose(model.eigenvalues_, peer.eigenvalues_, rtol=1e-6)
    assert up_to_signs(model.embedding_, peer.transform(X)) < 1e-5
    assert up_to_signs(model.transform(new), peer.transform(new)) < 1e-5


def test_the_kernel_of_the_notes_and_a_function_and_a_matrix_are_the_same():
    X, new = cloud(80, 3), cloud(9, 3, seed=1)
    named = KernelPCA(kernel="poly", gamma=1.0, degree=2, coef0=1.0).fit(X)
    function = KernelPCA(kernel=lambda x, y: (x @ y + 1) ** 2).fit(X)
    matrix = KernelPCA(kernel="precomputed").fit((X @ X.T + 1) ** 2)
    for other, rows in ((function, new), (matrix, (new @ X.T + 1) ** 2)):
        assert np.allclose(other.embedding_, named.embedding_, atol=1e-8)
        assert np.allclose(other.transform(rows), named.transform(new), atol=1e-8)


def test_a_streamed_kernel_gives_the_same_map_as_a_kept_one(monkeypatch):
    X = cloud(1500, 6)
    kept = KernelPCA(n_components=3, gamma=0.05).fit_transform(X)
    monkeypatch.setattr("lowfold.spectral.kernel_pca.KEPT_SIZE", 100)
    streamed = KernelPCA(n_components=3, gamma=0.05)
    assert up_to_signs(streamed.fit_transform(X), kept) < 1e-6
    assert KernelPCA(n_jobs=2).estimate(60_000, 50) < 2e9  # blocks of rows for each thread


def test_pre_images_lie_near_the_points_they_come_from():
    X = load_digits().data[:600]
    model = KernelPCA(n_components=30, gamma=5e-4).fit(X)
    back = model.inverse_transform(model.embedding_)
    assert ((back - X) ** 2).sum() < 0.2 * ((X - X.mean(axis=0)) ** 2).sum()
    alone = np.vstack([model.inverse_transform(model.embedding_[i : i + 1]) for i in range(5)])
    assert same_bits(alone, model.inverse_transform(model.embedding_[:5]))
    with pytest.raises(DataError, match=r"7 columns, but the embedding has 30"):
        model.inverse_transform(np.zeros((2, 7)))
    with pytest.raises(DataError, match="needs the rows"):
        KernelPCA(kernel="precomputed").fit(X @ X.T).inverse_transform(np.zeros((2, 2)))


def test_landmarks_come_close_to_all_points():
    X, _ = swiss_roll(2000)
    whole, some = KernelPCA(gamma=0.01).fit(X), KernelPCA(gamma=0.01, landmarks=300).fit(X)
    assert subspace_sine(some.embedding_, whole.embedding_) < 0.2
    assert len(some.landmarks_) == 300
    roll, sheet = swiss_roll(2000)
    assert unexplained(Isomap(landmarks=200).fit_transform(roll), sheet) < 0.02
    D = cdist(roll, roll)
    placed = ClassicalMDS(n_components=3, metric="precomputed", landmarks=100).fit_transform(D)
    assert np.allclose(cdist(placed, placed), D)


def test_kernel_values_that_are_not_finite_are_named():
    with pytest.raises(DataError, match=r"gamma=1, degree=2.5.*not finite.*Scale"):
        KernelPCA(kernel="poly", gamma=1.0, degree=2.5).fit(cloud())


# Scaling


def test_negative_eigenvalues_are_reported_and_never_used():
    D = cdist(cloud(40, 3), cloud(40, 3), "chebyshev")
    model = ClassicalMDS(metric="precomputed").fit(D)
    B = -0.5 * (D**2 - (D**2).mean(axis=0) - (D**2).mean(axis=1)[:, None] + (D**2).mean())
    values = np.linalg.eigvalsh(B)
    assert values[1] < 0
    assert np.allclose(model.negative_eigenvalues_, values[:2])
    assert np.array_equal(model.report_.findings["negative eigenvalues"], model.negative_eigenvalues_)
    euclidean = cdist(cloud(40, 3), cloud(40, 3))
    assert not len(ClassicalMDS(metric="precomputed").fit(euclidean).negative_eigenvalues_)
    assert not len(ClassicalMDS().fit(cloud(40, 3)).negative_eigenvalues_)
    positive = int((values > 0).sum())
    with pytest.raises(ParameterError, match=f"only {positive} positive eigenvalues"):
        ClassicalMDS(metric="precomputed", n_components=39).fit(D)


def test_euclidean_distances_in_many_dimensions_are_known_to_be_so_without_all_their_eigenvalues(monkeypatch):
    sizes, found = [], eigen.eigenpairs
    monkeypatch.setattr(eigen, "eigenpairs", lambda A, *which: sizes.append(len(A)) or found(A, *which))
    X = cloud(700, 900)  # the lowest eigenvalues are all positive, and many
    model = ClassicalMDS(metric="precomputed").fit(cdist(X, X))
    assert model.negative_eigenvalues_.size == 0
    assert max(sizes) < 100


@pytest.mark.parametrize("lowest", [-1e-3, -1e-9, 1e-9])
def test_a_single_eigenvalue_is_negative_or_not_however_small(lowest):
    Q = np.linalg.qr(np.c_[np.ones(40), cloud(40, 39)])[0]
    values = np.r_[0, lowest, np.linspace(1, 2, 38)]
    A = (Q * values) @ Q.T
    D2 = np.add.outer(A.diagonal(), A.diagonal()) - 2 * A
    model = ClassicalMDS(metric="precomputed").fit(np.sqrt(np.maximum((D2 + D2.T) / 2, 0)))
    np.testing.assert_allclose(model.negative_eigenvalues_, [lowest] if lowest < 0 else [], atol=1e-13)


@pytest.mark.parametrize("metric", ["manhattan", "cosine", lambda a, b: np.abs(a - b).max()])
def test_scaling_takes_any_metric(metric):
    X, new = cloud(50, 4), cloud(5, 4, seed=1)
    name = "chebyshev" if callable(metric) else {"manhattan": "cityblock"}.get(metric, metric)
    expected = ClassicalMDS(metric="precomputed").fit(cdist(X, X, name))
    model = ClassicalMDS(metric=metric).fit(X)
    assert np.allclose(model.embedding_, expected.embedding_, atol=1e-8)
    assert np.allclose(model.transform(new), expected.transform(cdist(new, X, name)), atol=1e-8)


def test_isomap_says_how_many_dimensions_count_and_what_is_left():
    X, _ = swiss_roll(800)
    model = Isomap(n_components=5).fit(X)
    variance = model.residual_variance()
    assert variance.shape == (5,)
    assert variance[0] > 5 * variance[1]
    assert (variance[1:] < 0.005).all()
    paths = model._solved[0].state.graph.from_points(np.arange(800), 1)
    H = np.eye(800) - 1 / 800
    B = -0.5 * H @ paths**2 @ H
    Y = model.embedding_
    assert model.reconstruction_error_ == pytest.approx(np.linalg.norm(B - Y @ Y.T) / 800, rel=1e-6)


def test_isomap_paths_are_those_of_scikit_learn():
    from sklearn.manifold import Isomap as Peer

    X, new = swiss_roll(500)[0], swiss_roll(30, seed=1)[0]
    model, peer = Isomap(n_neighbors=8).fit(X), Peer(n_neighbors=8).fit(X)
    assert up_to_signs(model.embedding_, peer.embedding_) < 1e-6
    assert up_to_signs(model.transform(new), peer.transform(new)) < 1e-6


# The LLE family against scikit-learn


@pytest.mark.parametrize(
    ("cls", "peer_method", "angle"),
    [
        (LLE, "standard", 1e-4),
        (ModifiedLLE, "modified", 1e-4),
        (LTSA, "ltsa", 1e-4),
        # scikit-learn penalises all that is not affine, not the second derivatives alone: its matrix is that of LTSA.
        (HessianLLE, "hessian", 2e-2),
        (LTSA, "hessian", 1e-4),
    ],
)
def test_the_lle_family_agrees_with_scikit_learn(cls, peer_method, angle):
    from sklearn.manifold import LocallyLinearEmbedding

    X, _ = swiss_roll(700)
    peer = LocallyLinearEmbedding(n_neighbors=12, method=peer_method, eigen_solver="dense").fit(X)
    model = cls(n_neighbors=12).fit(X)
    assert subspace_sine(model.embedding_, peer.embedding_) < angle
    if angle < 1e-3:
        assert model.reconstruction_error_ == pytest.approx(peer.reconstruction_error_, rel=1e-3, abs=1e-9)


@pytest.mark.parametrize("cls", [LLE, ModifiedLLE, HessianLLE, LTSA, Isomap])
def test_points_that_are_there_twice_do_no_harm(cls):
    X, sheet = swiss_roll(1200)
    doubled = cls(n_neighbors=24).fit_transform(np.repeat(X, 2, axis=0))
    once = unexplained(cls(n_neighbors=12).fit_transform(X), sheet)
    assert unexplained(doubled, np.repeat(sheet, 2, axis=0)) < 2 * once + 1e-3
    assert np.abs(doubled[::2] - doubled[1::2]).max() < 0.1 * doubled.std()


def test_the_hessian_names_the_neighbours_that_it_needs():
    with pytest.raises(ParameterError, match=r"n_components=3 needs n_neighbors of at least 10, but n_neighbors=9"):
        HessianLLE(n_components=3, n_neighbors=9).fit(cloud())


def test_a_point_that_is_nobodys_neighbour_does_not_get_a_coordinate_of_its_own():
    X = np.vstack([cloud(200, 3), [[50.0, 50, 50]]])
    for cls in (LTSA, HessianLLE):
        Y = cls(n_neighbors=12).fit_transform(X)
        assert np.abs(Y[:-1]).max() > 0.05, cls


# Components


@pytest.mark.parametrize("cls", GRAPH_METHODS)
@pytest.mark.parametrize("policy", ["join", "separate", "largest", "error"])
def test_components_are_treated_as_the_policy_says(cls, policy):
    X = islands()
    model = cls(n_neighbors=7, components=policy)
    if policy == "error":
        with pytest.raises(DataError, match="3 components, of sizes 60, 30, 20"):
            model.fit(X)
        return
    Y = model.fit_transform(X)
    assert Y.shape == (110, 2)
    assert np.isfinite(Y).all()
    assert same_bits(model.transform(X), Y)
    assert np.isfinite(model.transform(X + 0.01)).all()
    assert model.report_.findings["components"] == "3, of sizes 60, 30, 20"
    assert model.report_.findings["component policy"] == policy
    if policy == "join":
        assert "bridges" in model.report_.findings
    if policy == "separate":
        alone = cls(n_neighbors=7).fit_transform(X[:60])
        assert np.allclose(Y[:60], alone)
        ends = [(Y[a:b, 0].min(), Y[a:b, 0].max()) for a, b in ((0, 60), (60, 90), (90, 110))]
        assert ends[0][1] < ends[1][0] < ends[1][1] < ends[2][0]
    if policy == "largest":
        assert np.allclose(Y[:60], cls(n_neighbors=7).fit_transform(X[:60]))
