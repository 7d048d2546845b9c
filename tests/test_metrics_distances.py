"""Shepard correlations, stress, Procrustes, stability, spectra: against SciPy and theorems."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
import scipy.spatial
import scipy.stats
from scipy.spatial.distance import cdist, pdist

import lowfold
from conftest import cloud
from lowfold import PCA, TSNE, DataError, DiffusionMap, Isomap, ParameterError
from lowfold.metrics import (
    Sample,
    eigenvalue_gaps,
    neighbor_recall,
    normalized_stress,
    procrustes_distance,
    ranks,
    residual_variance,
    shepard,
    shepard_correlation,
    stability,
)
from shapes import swiss_roll


@pytest.mark.parametrize(("method", "wanted"), [("spearman", scipy.stats.spearmanr), ("pearson", scipy.stats.pearsonr)])
@pytest.mark.parametrize("ties", [False, True])
def test_shepard_correlation_is_scipys_over_all_pairs(method, wanted, ties):
    X, Y = cloud(150, 5), cloud(150, 5)[:, :2] + 0.1
    if ties:
        X, Y = X.round(), Y.round()
    found = shepard_correlation(X, Y, method)
    assert float(found) == pytest.approx(wanted(pdist(X), pdist(Y))[0], abs=1e-7)
    assert found.error == 0
    D, E = (np.linalg.norm(A - A[7], axis=1) for A in (X, Y))
    others = np.arange(150) != 7
    assert found.per_point[7] == pytest.approx(wanted(D[others], E[others])[0], abs=1e-7)


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_ranks_counted_in_passes_are_those_of_all_pairs_at_once(ties, dtype, monkeypatch):
    X, Y = cloud(120, 5).astype(dtype), cloud(120, 5)[:, 1:3].astype(dtype)
    if ties:
        X, Y = X.round(), Y.round()
    at_once = shepard_correlation(X, Y)
    monkeypatch.setattr(ranks, "SORTED", 1000)  # of 7,140 pairs
    monkeypatch.setattr(ranks, "HELD", 1000)
    monkeypatch.setattr(ranks, "STREAMED", 333)
    found = shepard_correlation(X, Y)
    assert found.value == pytest.approx(at_once.value, abs=1e-13)
    np.testing.assert_array_equal(found.per_point, at_once.per_point)
    assert shepard_correlation(X, np.zeros_like(Y)).value == 0


def test_the_exact_rank_correlation_keeps_no_pairs(monkeypatch):
    X = cloud(1200, 3)
    monkeypatch.setattr(ranks, "SORTED", 30_000)
    monkeypatch.setattr(ranks, "HELD", 30_000)
    monkeypatch.setattr(ranks, "STREAMED", 10_000)
    monkeypatch.setattr(shepard, "BLOCK_BYTES", 100_000)
    shepard_correlation(X[:50], X[:50, :2])
    tracemalloc.start()
    shepard_correlation(X, X[:, :2], sample=None)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 8 * 1200 * 1199 / 2, "less than one number for each pair"


@pytest.mark.parametrize("method", ["spearman", "pearson"])
def test_a_sample_of_pairs_is_right_within_its_error(method):
    X = cloud(2500, 4)
    whole = shepard_correlation(X, X[:, :2], method, sample=None)
    found = [shepard_correlation(X, X[:, :2], method, sample=Sample(points=100, random_state=s)) for s in range(12)]
    errors = np.array([score.value - whole.value for score in found])
    assert 0 < np.mean([score.error for score in found]) < 0.03
    assert np.sqrt(np.mean(errors**2)) < 2 * np.mean([score.error for score in found])


def test_stress_ignores_size_and_is_the_root_of_what_the_best_size_leaves():
    X, Y = cloud(90, 4), cloud(90, 4)[:, :2]
    a, b = pdist(X), pdist(Y)
    s = a @ b / (b @ b)
    wanted = np.sqrt(((a - s * b) ** 2).sum() / (a @ a))
    assert float(normalized_stress(X, Y)) == pytest.approx(wanted)
    assert float(normalized_stress(X, 100 * Y)) == pytest.approx(wanted)
    assert float(normalized_stress(X, Y, scaled=False)) == pytest.approx(np.sqrt(((a - b) ** 2).sum() / (a @ a)))
    assert float(normalized_stress(X, X)) < 1e-6
    assert normalized_stress(X, X).per_point.max() < 1e-6


@pytest.mark.parametrize("scaled", [True, False])
def test_stress_at_a_point_is_that_of_its_pairs_and_all_points_make_the_whole(scaled):
    X, Y = cloud(90, 4), 3 * cloud(90, 4)[:, :2]
    A, B = cdist(X, X), cdist(Y, Y)
    found = normalized_stress(X, Y, scaled=scaled)
    s = (A * B).sum() / (B * B).sum() if scaled else 1.0
    np.testing.assert_allclose(found.per_point, np.sqrt(((A - s * B) ** 2).sum(axis=1) / (A * A).sum(axis=1)))
    assert found.value**2 == pytest.approx(np.average(found.per_point**2, weights=(A * A).sum(axis=1)))


def test_a_sampled_stress_is_right_within_its_error():
    X = cloud(3000, 4)
    whole = normalized_stress(X, X[:, :2], sample=None)
    assert whole.error == 0
    found = [normalized_stress(X, X[:, :2], sample=Sample(points=150, random_state=s)) for s in range(12)]
    off = np.array([(score.value - whole.value) / score.error for score in found])
    assert np.abs(off).max() < 5
    assert 0.3 < np.sqrt(np.mean(off**2)) < 2


def test_procrustes_distance_squared_is_scipys_disparity_and_ignores_rotation_size_and_shift():
    A, B = cloud(80, 3), cloud(80, 3, seed=1) + cloud(80, 3)
    found = procrustes_distance(A, B)
    assert float(found) ** 2 == pytest.approx(scipy.spatial.procrustes(A, B)[2])
    assert float(found) == pytest.approx(np.sqrt(np.mean(found.per_point**2)))
    turned = 5 * A @ np.linalg.qr(cloud(3, 3, seed=2))[0] + 7
    assert float(procrustes_distance(A, turned)) < 1e-7
    assert float(procrustes_distance(A[:, :2], np.pad(A[:, :2], ((0, 0), (0, 1))))) < 1e-7
    with pytest.raises(DataError, match="one place"):
        procrustes_distance(A, np.zeros((80, 3)))


def test_stability_is_perfect_where_the_seed_does_not_matter_and_not_where_it_does(digits):
    X = digits[0][:150]
    still = stability(PCA(), X, (0, 1, 2))
    assert float(still.distance) < 1e-6
    assert float(still.recall) == 1
    moving = stability(TSNE(perplexity=10.0, init="random"), cloud(150, 10), (0, 1, 2))
    assert 0.01 < float(moving.distance) < 1
    assert moving.distance.error > 0
    assert len(moving.distance.per_point) == len(moving.maps[0]) == 150
    with pytest.raises(ParameterError, match="at least two"):
        stability(PCA(), X, (1,))


def test_stability_at_a_point_is_the_mean_over_pairs_of_seeds():
    found = stability(TSNE(perplexity=10.0, init="random"), cloud(90, 10), (0, 1, 2), k=6)
    pairs = [(found.maps[a], found.maps[b]) for a, b in ((0, 1), (0, 2), (1, 2))]
    distances = [procrustes_distance(A, B) for A, B in pairs]
    recalls = [neighbor_recall(A, B, 6) for A, B in pairs]
    for whole, parts in ((found.distance, distances), (found.recall, recalls)):
        np.testing.assert_allclose(whole.per_point, np.mean([part.per_point for part in parts], axis=0))
        assert whole.value == pytest.approx(np.mean([part.value for part in parts]))
    assert found.recall.value == pytest.approx(found.recall.per_point.mean())
    assert (np.ptp(found.distance.per_point), np.ptp(found.recall.per_point)) > (0, 0)


def test_residual_variance_falls_to_nothing_at_the_true_dimension():
    X = cloud(300, 3) @ np.linalg.qr(cloud(8, 8))[0][:3] * 1.0
    left = residual_variance(X, PCA(n_components=4).fit_transform(X))
    assert (np.diff(left) <= 1e-9).all()
    assert left[1] > 0.05
    assert left[2] < 1e-9


def test_the_largest_gap_is_behind_the_coordinates_that_stand_out():
    X = cloud(400, 6) * [10, 8, 0.1, 0.09, 0.08, 0.07]
    assert eigenvalue_gaps(PCA(n_components=6).fit(X)).suggested == 2
    clusters = np.concatenate([cloud(80, 3, seed=s) * 0.1 + 4 * np.eye(4, 3)[s] for s in range(4)])
    assert eigenvalue_gaps(DiffusionMap(n_components=8, sigma=0.6).fit(clusters)).suggested == 3
    roll = Isomap(n_components=5).fit(swiss_roll(800)[0])
    assert eigenvalue_gaps(roll).suggested in (1, 2)
    with pytest.raises(ParameterError, match="no eigenvalues"):
        eigenvalue_gaps(lowfold.TSNE().fit(cloud(100)))
