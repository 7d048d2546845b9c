"""What the spectral methods can be given, and what they say to what they cannot use."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.spatial.distance import cdist
from sklearn.metrics import pairwise_distances
from sklearn.neighbors import kneighbors_graph

import lowfold
from conftest import GRAPH_METHODS, cloud
from lowfold import (
    LTSA,
    PCA,
    ClassicalMDS,
    DataError,
    DiffusionMap,
    Heat,
    Isomap,
    KernelPCA,
    LaplacianEigenmaps,
    Nearest,
    ParameterError,
    Within,
    build_index,
    datasets,
)
from lowfold.errors import ConvergenceWarning
from shapes import swiss_roll

# Kinds of input


def test_distances_and_graphs_give_the_map_of_the_rows():
    X, new = swiss_roll(200)[0], swiss_roll(10, seed=1)[0]
    D, rows = cdist(X, X), cdist(new, X)
    graph = kneighbors_graph(X, 9, mode="distance")
    for cls in (Isomap, LaplacianEigenmaps):
        expected = cls(n_neighbors=8).fit(X)
        model = cls(n_neighbors=8, metric="precomputed").fit(D)
        assert np.allclose(model.embedding_, expected.embedding_, atol=1e-7)
        assert np.allclose(model.transform(rows), expected.transform(new), atol=1e-7)
        from_graph = cls(n_neighbors=8, metric="precomputed").fit(graph)
        assert np.allclose(from_graph.embedding_, expected.embedding_, atol=1e-7)
    dense = DiffusionMap(sigma=3.0).fit(X)
    assert np.allclose(DiffusionMap(sigma=3.0, metric="precomputed").fit(D).embedding_, dense.embedding_, atol=1e-9)
    W = np.exp(-(D**2) / 18)
    given = DiffusionMap(metric="affinity").fit(W)
    assert np.allclose(given.embedding_, dense.embedding_, atol=1e-9)
    assert np.allclose(given.transform(np.exp(-(rows**2) / 18)), dense.transform(new), atol=1e-9)
    assert np.allclose(DiffusionMap(metric="affinity").fit(csr_array(W)).embedding_, dense.embedding_, atol=1e-9)


@pytest.mark.parametrize("cls", [Isomap, LaplacianEigenmaps])
def test_a_radius_can_stand_for_a_number_of_neighbours(cls):
    X = np.random.default_rng(0).random((300, 2))
    D = cdist(X, X)
    model = cls(n_neighbors=Within(radius=0.2)).fit(X)
    assert model._hood.graph.nnz == ((D <= 0.2).sum() - 300)
    assert np.isfinite(model.transform(X + 1e-3)).all()
    assert np.allclose(cls(n_neighbors=Within(radius=0.2), metric="precomputed").fit(D).embedding_, model.embedding_)
    with pytest.raises(DataError, match=r"Row 0 of X has no fitted point within radius=0\.2 .*larger radius"):
        model.transform(np.array([[9.0, 9.0]]))


def test_binary_weights_and_a_width_of_the_heat_kernel_can_be_chosen():
    X = cloud(100, 3)
    walk = LaplacianEigenmaps(weights="binary").fit(X).random_walk()
    assert np.allclose(walk.S.toarray() * np.sqrt(np.outer(walk.degrees, walk.degrees)), (walk.S != 0).toarray())
    with pytest.raises(DataError, match=r"sigma=0.001 is so small that \d+ of 100 points"):
        LaplacianEigenmaps(weights=Heat(0.001)).fit(X)


# Widths of the diffusion kernel


def test_a_width_too_small_leaves_points_alone_and_is_refused():
    with pytest.raises(DataError, match=r"sigma=0.0001 is so small that 60 of 60 points .* or the default"):
        DiffusionMap(sigma=1e-4).fit(cloud())
    with pytest.raises(DataError, match="is so small"):
        DiffusionMap(sigma=1e-4, graph="nearest").fit(cloud())


@pytest.mark.parametrize("graph", ["dense", "nearest"])
def test_a_point_too_far_for_the_width_of_the_data_is_named(graph):
    X = cloud(100, 3)
    X[7] = 40
    with pytest.raises(DataError, match=r"1 of 100 points \(the first is point 7\) lie so far .*use sigma='local'"):
        DiffusionMap(graph=graph).fit(X)
    assert np.isfinite(DiffusionMap(graph=graph, sigma="local").fit_transform(X)).all()
    X[7] = 1e6
    with pytest.raises(DataError, match=r"for sigma='local'. Leave them out, or give a larger sigma"):
        DiffusionMap(graph=graph, sigma="local").fit(X)


def test_a_width_too_large_makes_all_points_equal_and_the_map_stays_finite():
    model = DiffusionMap(sigma=1e8).fit(cloud())
    assert np.isfinite(model.embedding_).all()
    assert np.abs(model.eigenvalues_).max() < 1e-8


def test_the_local_width_follows_the_density():
    X = np.concatenate([np.linspace(0, 1, 60), np.linspace(1.1, 20, 60)])[:, None] * [1.0, 0.5]
    model = DiffusionMap(sigma="local", n_components=1).fit(X)
    assert model.sigma_.shape == (120,)
    assert model.sigma_[:50].max() < model.sigma_[70:].min()
    assert np.isfinite(model.transform(X + 0.01)).all()
    nearest = DiffusionMap(sigma="local", n_components=1, graph=Nearest(k=15)).fit(X)
    assert np.isfinite(nearest.transform(X + 0.01)).all()


def test_a_new_point_far_from_all_others_is_refused_with_its_row():
    with pytest.raises(DataError, match="Row 1 of X is so far"):
        DiffusionMap(sigma=0.5).fit(cloud()).transform(np.vstack([cloud()[:1] + 0.1, np.full((1, 5), 1e3)]))


def test_a_bipartite_affinity_is_warned_of():
    chain = np.diag(np.ones(7), 1) + np.diag(np.ones(7), -1)
    with pytest.warns(UserWarning, match="bipartite"):
        model = DiffusionMap(metric="affinity", alpha=0.0).fit(chain)
    assert model.eigenvalues_[0] == pytest.approx(np.cos(np.pi / 7))


def test_bad_affinities_distances_and_times_are_refused():
    W = np.exp(-cdist(cloud(), cloud()))
    with pytest.raises(DataError, match="Affinities cannot be negative"):
        DiffusionMap(metric="affinity").fit(-W)
    with pytest.raises(DataError, match=r"must be symmetric, but X differs .* in \d+ entries"):
        DiffusionMap(metric="affinity").fit(np.triu(W))
    with pytest.raises(DataError, match="2 components, the largest of 30"):
        DiffusionMap(metric="affinity").fit(np.kron(np.eye(2), np.ones((30, 30))))
    with pytest.raises(ParameterError, match="nothing to act on"):
        DiffusionMap(metric="affinity", sigma=1.0).fit(W)
    for cls in (Isomap, ClassicalMDS, LaplacianEigenmaps):
        with pytest.raises(DataError, match="cannot be negative"):
            cls(metric="precomputed").fit(-W)
        with pytest.raises(DataError, match="must be symmetric"):
            cls(metric="precomputed").fit(np.triu(W))
    model = DiffusionMap(metric="affinity", n_components=59).fit(W - np.diag(np.diag(W)))
    with pytest.raises(ParameterError, match=r"t=0.5 is not a whole number, but eigenvalue -"):
        model.at_time(0.5)
    with pytest.raises(ParameterError, match="source='walk' with t=0.5"):
        DiffusionMap().fit(cloud()).diffusion_distance(0, 1, 0.5, source="walk")


@pytest.mark.parametrize("cls", GRAPH_METHODS)
def test_as_many_neighbours_as_points_are_refused(cls):
    with pytest.raises(ParameterError, match=r"n_neighbors=60 needs at least 61 samples, but X has n_samples = 60"):
        cls(n_neighbors=60).fit(cloud())


@pytest.mark.parametrize("cls", lowfold.METHODS.values())
def test_more_coordinates_than_exist_are_refused(cls):
    with pytest.raises(ParameterError, match="n_components=99"):
        cls(n_components=99).fit(cloud(30, 3))


@pytest.mark.parametrize("cls", lowfold.METHODS.values())
def test_equal_points_end_in_a_finite_map_or_a_clear_error(cls):
    X = np.ones((40, 3))
    model = cls(n_neighbors=8) if "n_neighbors" in cls().get_params() else cls()
    assert np.isfinite(model.fit_transform(X)).all()


def test_the_digits_of_the_notes_separate_in_the_diffusion_map():
    X, y = datasets.digits()
    few = y < 5
    Y = DiffusionMap(n_components=4, t=1).fit_transform(X[few])
    centres = np.array([Y[y[few] == digit].mean(axis=0) for digit in range(5)])
    nearest = np.argmin(cdist(Y, centres), axis=1)
    assert (nearest == y[few]).mean() > 0.9


@pytest.mark.parametrize("cls", [Isomap, LaplacianEigenmaps])
def test_the_largest_component_of_distances_takes_new_distances_to_all_points(cls):
    X = np.vstack([cloud(50, 3), cloud(20, 3, seed=1) + 40])
    new = cloud(5, 3, seed=2)
    rows = cls(n_neighbors=7, components="largest").fit(X)
    distances = cls(n_neighbors=7, components="largest", metric="precomputed").fit(cdist(X, X))
    np.testing.assert_allclose(distances.embedding_, rows.embedding_, atol=1e-8)
    np.testing.assert_allclose(distances.transform(cdist(new, X)), rows.transform(new), atol=1e-8)
    within = cls(n_neighbors=Within(radius=5.0), components="largest").fit(X)
    assert np.isfinite(within.embedding_).all()


# What a careful reader tried


def test_distances_after_a_walk_go_by_pairs_of_any_shape():
    model = DiffusionMap(n_components=59, sigma=1.0).fit(cloud(60))
    for i, j in (([1, 2, 3], 0), (0, [1, 2, 3]), ([[1], [2]], [[3, 4]])):
        i, j = np.array(i), np.array(j)
        by_walk = model.diffusion_distance(i, j, 2, source="walk")
        assert by_walk.shape == np.broadcast_shapes(i.shape, j.shape)
        assert np.allclose(by_walk, model.diffusion_distance(i, j, 2), rtol=1e-6)


@pytest.mark.parametrize("t", [-1, float("nan"), float("inf"), "a", True])
def test_times_that_are_none_are_refused(t):
    model = DiffusionMap().fit(cloud(30))
    with pytest.raises(ParameterError, match="is no time: it must be a number of at least 0"):
        model.at_time(t)
    with pytest.raises(ParameterError, match="is no time"):
        model.diffusion_distance(0, 1, t)


@pytest.mark.parametrize("metric", ["seuclidean", "mahalanobis"])
def test_metrics_that_are_learnt_from_the_data_are_those_of_scikit_learn(metric):
    X = cloud(50, 4) * [1, 5, 10, 0.1]
    D = pairwise_distances(X, metric=metric)
    found = build_index(X, metric=metric).query(None, 5)
    assert np.allclose(found.distances, np.sort(D, axis=1)[:, 1:6])
    ours, given = ClassicalMDS(metric=metric).fit(X), ClassicalMDS(metric="precomputed").fit(D)
    assert np.allclose(ours.eigenvalues_, given.eigenvalues_)


def test_coordinates_that_do_not_exist_are_said_to_be_zero():
    X = cloud(60, 3)
    for model in (ClassicalMDS(n_components=10), KernelPCA(kernel="linear", n_components=10)):
        with pytest.warns(UserWarning, match=r"n_components=10, but there are only 3 coordinates .*Lower .* to 3"):
            Y = model.fit_transform(X)
        assert np.abs(Y[:, 3:]).max() < 1e-6
    with pytest.warns(UserWarning, match=r"n_components=59, but there are only .* no more positive"):
        Isomap(n_components=59, n_neighbors=5).fit(X)


def test_remedies_name_what_the_method_has():
    X = cloud(60, 3)
    with pytest.raises(ParameterError, match=r"Nearest\(k=30\) needs at least 31 samples"):
        DiffusionMap(graph="nearest").fit(X[:20])
    with pytest.raises(ParameterError, match=r"landmarks=100 .* at most n_samples = 60"):
        Isomap(landmarks=100).fit(X)
    with pytest.raises(ParameterError, match=r"X has n_samples = 60: lower n_components"):
        LTSA(n_components=59).fit(X)


def test_power_iteration_says_where_it_cannot_tell_components_apart():
    rng = np.random.default_rng(0)
    U, V = np.linalg.qr(rng.standard_normal((400, 6)))[0], np.linalg.qr(rng.standard_normal((6, 6)))[0]
    U -= U.mean(axis=0)
    U = np.linalg.qr(U)[0]
    close = U * [1, 0.5, 0.5 * (1 - 1e-5), 0.2, 0.1, 0.05] @ V
    with pytest.warns(ConvergenceWarning, match="too close together"):
        model = PCA(n_components=2, solver="power").fit(close)
    assert not model.report_.findings["converged"]
    for solver in ("power", "randomized", "covariance"):
        findings = PCA(n_components=2, solver=solver).fit(U * [1, 0.7, 0.3, 0.2, 0.1, 0.05] @ V).report_.findings
        assert findings["converged"]
        assert findings["spectral gap"] == pytest.approx(0.7**2 - 0.3**2, rel=1e-3)


def test_a_function_that_is_no_kernel_is_refused():
    with pytest.raises(DataError, match=r"must be symmetric: k\(x, y\) = k\(y, x\)"):
        KernelPCA(kernel=lambda x, y: float(x[0] + 2 * y[0])).fit(cloud(30, 3))
