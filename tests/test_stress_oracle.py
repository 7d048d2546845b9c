"""From the same start our stress is not above scikit-learn's, once both have converged."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn.isotonic import IsotonicRegression
from sklearn.manifold import smacof

from lowfold import MDS, Majorisation, stresses


def random_problem(seed):
    """Dissimilarities of 30 to 70 points, in three kinds: Euclidean, bent, and with errors; and a random start."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(30, 70))
    X = rng.standard_normal((n, int(rng.integers(3, 10))))
    D = cdist(X, X)
    if seed % 3 == 0:
        D = np.sqrt(D)
    if seed % 3 == 1:
        error = np.abs(rng.standard_normal(D.shape))
        D = D + 0.3 * (error + error.T)
        np.fill_diagonal(D, 0)
    return D, rng.standard_normal((n, 2))


def kruskal(D, Y):
    """Stress-1 against scikit-learn's isotonic regression."""
    pairs = np.triu_indices(len(D), 1)
    d = cdist(Y, Y)[pairs]
    fitted = IsotonicRegression().fit_transform(D[pairs], d)
    return float(np.sqrt(np.square(d - fitted).sum() / np.square(d).sum()))


@pytest.mark.parametrize("seed", range(10))
def test_metric_stress_is_not_above_scikit_learns_from_the_same_start(seed):
    D, start = random_problem(seed)
    theirs = stresses(D, smacof(D, init=start, n_init=1, max_iter=20_000, eps=1e-9, normalized_stress=False)[0]).raw
    plain = Majorisation(tolerance=1e-9, max_iter=20_000, momentum=False, relocations=0, lifts=0)
    same = MDS(metric="precomputed", init=start, solver=plain).fit(D)
    assert same.raw_stress_ <= theirs * (1 + 1e-6)  # the same steps
    ours = MDS(metric="precomputed", init=start).fit(D)
    assert ours.raw_stress_ <= theirs * (1 + 1e-6)
    assert ours.converged_


def test_lifts_lead_to_lower_valleys_and_end_where_they_do_not():
    ratios, lifts = [], []
    for seed in range(10, 30):
        D, start = random_problem(seed)
        models = [MDS(metric="precomputed", init=start, solver=Majorisation(lifts=most)).fit(D) for most in (0, 3)]
        ratios.append(models[1].raw_stress_ / models[0].raw_stress_)
        lifts.append(models[1].report_.findings["lifts"])
        assert (np.diff(models[1].history_[:, 1]) <= 0).all()
    assert max(ratios) < 1.005
    assert np.mean(ratios) < 0.99
    assert 0 < np.mean(lifts) < 3
    X = np.random.default_rng(0).standard_normal((40, 2))
    assert MDS().fit(X).report_.findings["lifts"] == 0  # nothing is left to gain


@pytest.mark.parametrize("seed", range(10))
def test_nonmetric_stress_is_not_above_scikit_learns_from_the_same_start(seed):
    D, start = random_problem(seed)
    theirs = smacof(D, metric=False, init=start, n_init=1, max_iter=3000, eps=1e-9)[0]
    ours = MDS(metric="precomputed", scaling="nonmetric", init=start).fit(D)
    assert kruskal(D, ours.embedding_) <= kruskal(D, theirs) * (1 + 1e-6)
    assert kruskal(D, ours.embedding_) == pytest.approx(ours.stress_1_, rel=1e-6)
