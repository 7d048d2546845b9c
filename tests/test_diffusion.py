"""Diffusion maps: their limit on manifolds, and graphs in several components."""

from __future__ import annotations

import numpy as np
import pytest

import lowfold
from conftest import cloud, same_bits
from lowfold import DataError, DiffusionMap, Nearest, ParameterError, Significant
from lowfold.markov import chain_of, from_affinity, from_transition, sweep_cut

# The Laplace-Beltrami operator


def circle(n, seed):
    """Points of the unit circle, nine times as dense on one side as on the other."""
    rng = np.random.default_rng(seed)
    angle = 2 * np.pi * rng.random(8 * n)
    angle = angle[rng.random(8 * n) < (1 + 0.8 * np.cos(angle)) / 1.8][:n]
    return np.column_stack([np.cos(angle), np.sin(angle)])


def sphere(n, seed):
    """Points of the unit sphere, nine times as dense at one pole as at the other."""
    rng = np.random.default_rng(seed)
    points = rng.standard_normal((8 * n, 3))
    points /= np.linalg.norm(points, axis=1)[:, None]
    return points[rng.random(8 * n) < (1 + 0.8 * points[:, 2]) / 1.8][:n]


MANIFOLDS = {
    # points, eigenvalues m^2 or l (l + 1), sigma = width (n / 500)^-rate, largest relative error at 8,000 points
    "circle": (circle, np.array([1, 1, 4, 4, 9, 9]), 0.25, 1 / 4, 0.04),
    "sphere": (sphere, np.array([2, 2, 2, 6, 6, 6, 6, 6]), 0.3, 1 / 6, 0.08),
}


@pytest.mark.parametrize("name", MANIFOLDS)
def test_generator_eigenvalues_tend_to_those_of_laplace_and_beltrami_only_without_the_density(name):
    points, expected, width, rate, bound = MANIFOLDS[name]

    def error(n, alpha):
        """Largest relative error of an eigenvalue, in absolute units, mean of two samples."""
        model = DiffusionMap(n_components=len(expected), sigma=width * (n / 500) ** -rate, alpha=alpha)
        found = [model.fit(points(n, seed)).generator_eigenvalues() for seed in (0, 1)]
        return np.mean([np.abs(values / expected - 1).max() for values in found])

    small, middle, large = (error(n, 1.0) for n in (500, 2000, 8000))
    assert small > 1.3 * middle > 1.3**2 * large
    assert large < bound
    assert min(error(n, 0.0) for n in (500, 2000)) > 0.4


def test_generator_eigenvalues_need_a_unit_of_time():
    X = cloud(60, 3)
    for model in (DiffusionMap(sigma="local").fit(X), DiffusionMap(metric="affinity").fit(np.exp(-np.abs(X @ X.T)))):
        with pytest.raises(ParameterError, match="needs one width of the kernel"):
            model.generator_eigenvalues()
    model = DiffusionMap(sigma=0.5).fit(X)
    assert np.allclose(np.exp(-model.generator_eigenvalues() * 0.5**2 / 2), model.eigenvalues_)
    assert np.isinf(DiffusionMap(sigma=1e8).fit(X).generator_eigenvalues()).any()


# Components


def islands(sizes=(60, 30, 20), d=3):
    return np.vstack([cloud(n, d, seed=n) + 40 * i for i, n in enumerate(sizes)])


@pytest.mark.parametrize("sigma", ["auto", "local"])
@pytest.mark.parametrize("policy", ["join", "separate", "largest", "error"])
def test_components_of_a_sparse_diffusion_map_are_treated_as_the_policy_says(policy, sigma):
    X = islands()
    model = DiffusionMap(graph=Nearest(k=7, components=policy), sigma=sigma, t=3.0)
    if policy == "error":
        with pytest.raises(DataError, match="3 components, of sizes 60, 30, 20"):
            model.fit(X)
        return
    Y = model.fit_transform(X)
    assert Y.shape == (110, 2)
    assert np.isfinite(Y).all()
    assert same_bits(model.transform(X), Y)
    near = X + 0.01
    assert np.isfinite(model.transform(near[:60] if policy == "largest" else near)).all()
    assert same_bits(model.transform(near[:2])[1:], model.transform(near[1:2]))
    assert model.report_.findings["component policy"] == policy
    if policy == "join":
        assert model.eigenvalues_[0] < 1  # a bridge is an edge, however long
        return
    # The width is one for all components if each point does not have its own.
    sigma = "local" if sigma == "local" else model.sigma_
    alone = DiffusionMap(graph=Nearest(k=7), sigma=sigma, t=3.0).fit(X[:60])
    assert np.allclose(Y[:60], alone.embedding_)
    assert np.allclose(model.eigenvalues_, alone.eigenvalues_)
    assert np.allclose(model.transform(near[:60]), alone.transform(near[:60]))
    assert np.allclose(chain_of(model).P.toarray(), chain_of(alone).P.toarray())
    later = model.at_time(5.0).embedding_
    assert np.allclose(later[:60], alone.at_time(5.0).embedding_)
    if policy == "separate":
        for Z in (Y, later):
            ends = [(Z[a:b, 0].min(), Z[a:b, 0].max()) for a, b in ((0, 60), (60, 90), (90, 110))]
            assert ends[0][1] < ends[1][0] < ends[1][1] < ends[2][0]
        assert np.allclose([model.stationary_distribution_[a:b].sum() for a, b in ((0, 60), (60, 90), (90, 110))], 1)
    else:
        assert model.stationary_distribution_[60:].max() == 0
        assert np.allclose(model.left_eigenvectors_.T @ model.right_eigenvectors_, np.eye(2), atol=1e-10)


def test_diffusion_distances_between_separate_components_are_those_of_the_walk():
    X = islands((20, 15, 12))
    model = DiffusionMap(n_components=19, graph=Nearest(k=5, components="separate")).fit(X)
    i, j = np.array([0, 3, 21, 1, 40]), np.array([5, 25, 30, 46, 22])
    for t in (0, 1, 4):
        found = model.diffusion_distance(i, j, t)
        assert np.allclose(found, model.diffusion_distance(i, j, t, source="walk"), rtol=1e-6)
    largest = DiffusionMap(graph=Nearest(k=5, components="largest")).fit(X)
    assert np.isfinite(largest.diffusion_distance(0, 30))
    with pytest.raises(ParameterError, match="Point 30 lies outside the largest component"):
        largest.diffusion_distance(0, 30, 1, source="walk")


def test_components_of_distances_and_those_smaller_than_the_map_are_embedded_too():
    from scipy.spatial.distance import cdist

    X, new = islands((40, 12, 3)), cloud(5, 3, seed=7)
    for policy in ("separate", "largest"):
        graph = Nearest(k=2, components=policy)
        rows = DiffusionMap(n_components=4, graph=graph, sigma=1.0).fit(X)
        given = DiffusionMap(n_components=4, graph=graph, sigma=1.0, metric="precomputed").fit(cdist(X, X))
        assert np.allclose(given.embedding_, rows.embedding_, atol=1e-8)
        assert np.allclose(given.transform(cdist(new, X)), rows.transform(new), atol=1e-8)
        assert np.isfinite(rows.embedding_).all()
    counted = DiffusionMap(n_components=Significant(0.5), graph=Nearest(k=7, components="separate")).fit(islands())
    assert counted.embedding_.shape == (110, len(counted.eigenvalues_))


# The same policy for chains


def test_a_walk_that_falls_apart_is_refused_or_mixed_by_name_from_affinities_and_transitions_alike():
    W = np.zeros((7, 7))
    W[:4, :4], W[4:, 4:] = 1.0, 2.0
    P = W / W.sum(axis=1, keepdims=True)
    for make, matrix in ((from_affinity, W), (from_transition, P)):
        with pytest.raises(DataError, match=r"2 classes .* never leaves, the largest of 4.*components='mixture'"):
            make(matrix)
        with pytest.raises(ParameterError, match="components='join' must be 'error' or 'mixture'"):
            make(matrix, components="join")
        mixed = make(matrix, components="mixture")
        assert np.allclose(mixed.P.T @ mixed.stationary, mixed.stationary)
    assert np.allclose(from_affinity(W, components="mixture").stationary[:4], 4 / 34)
    assert np.allclose(from_transition(P, components="mixture").stationary, 1 / 7)
    with pytest.raises(DataError, match="2 components, the largest of 4"):
        DiffusionMap(metric="affinity").fit(W)
    cut = sweep_cut(W)
    assert cut.conductance == 0
    assert cut.certificate == pytest.approx((0, 0), abs=1e-12)
    assert lowfold.markov.lumpability(W, [0] * 4 + [1] * 3).defect == 0
