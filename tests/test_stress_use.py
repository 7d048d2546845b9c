"""The stress family in use: new points, landmarks, callbacks, and a map of cities."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import orthogonal_procrustes
from scipy.spatial.distance import cdist, squareform

import lowfold
from conftest import cloud, same_bits
from lowfold import MDS, ClassicalMDS, DataError, Majorisation, Sammon, Starts, datasets, stresses

BOTH = pytest.mark.parametrize("method", [MDS, Sammon])


# New points


@BOTH
def test_a_new_point_lies_where_its_own_stress_is_least(method):
    X, new = cloud(80), cloud(6, seed=1)
    model = method().fit(X)
    D, Y = cdist(new, X), model.embedding_
    W = 1 / D if method is Sammon else np.ones_like(D)
    for y, delta, w in zip(model.transform(new), D, W, strict=True):

        def stress(y, delta=delta, w=w):
            return (w * (np.linalg.norm(y - Y, axis=1) - delta) ** 2).sum()

        grid = y + 0.05 * np.stack(np.meshgrid(*[np.arange(-60, 61)] * 2), axis=-1).reshape(-1, 2)
        assert stress(y) <= min(map(stress, grid)) + 1e-9  # no place on a fine grid, as wide as the map, is better


def test_nearly_every_new_point_finds_the_lowest_of_its_minima():
    X, _ = datasets.digits()
    model = MDS().fit(X[:300])
    new, Y = X[300:500], model.embedding_
    D = cdist(new, X[:300])
    found = np.square(cdist(model.transform(new), Y) - D).sum(axis=1)
    best = np.full(200, np.inf)
    for start in np.random.default_rng(0).choice(300, 12, replace=False):  # from a dozen other places
        begin = np.repeat(Y[start : start + 1] + 1e-3, 200, axis=0)
        placed, _ = lowfold.backend.native.kernels.placed_by_stress(begin, D, None, Y, ("unit", 1.0), 2)
        best = np.minimum(best, np.square(cdist(placed, Y) - D).sum(axis=1))
    assert (found <= best * (1 + 1e-5)).mean() >= 0.97
    assert found.sum() <= 1.001 * best.sum()


@BOTH
def test_given_distances_of_new_points_place_them_as_their_rows_do(method):
    X, new = cloud(50), cloud(5, seed=1)
    by_rows = method().fit(X)
    given = method(metric="precomputed").fit(cdist(X, X))
    assert np.allclose(given.embedding_, by_rows.embedding_, atol=1e-6)
    assert np.allclose(given.transform(cdist(new, X)), by_rows.transform(new), atol=1e-4)
    partly = cdist(new, X)
    partly[:, 40:] = np.nan
    assert np.isfinite(given.transform(partly)).all()
    partly[2] = np.nan
    with pytest.raises(DataError, match="Row 2 has no known dissimilarity to any of the 50"):
        given.transform(partly)


def test_new_points_of_a_nonmetric_fit_are_matched_to_its_disparities():
    X, start = cloud(80), cloud(80, 2, seed=1)
    near_by = Majorisation(lifts=0)  # so that both fits end in the same valley
    model = MDS(scaling="nonmetric", init=start, solver=near_by).fit(X)
    near = model.transform(X[:20] + 1e-6)  # as far from all as their twins, but for the twins themselves
    assert np.abs(near - model.embedding_[:20]).max() < 0.1 * model.embedding_.std()
    bent = MDS(scaling="nonmetric", metric="precomputed", init=start, solver=near_by).fit(np.sqrt(cdist(X, X)))
    again = bent.transform(np.sqrt(cdist(X[:20] + 1e-6, X)))
    size = bent.embedding_.std() / model.embedding_.std()
    assert np.allclose(again / size, near, atol=0.1 * model.embedding_.std())


def test_new_points_weigh_all_fitted_ones_equally_whatever_the_weights_of_the_fit_and_the_report_says_so():
    X, new = cloud(60), cloud(5, seed=1)
    W = squareform(np.random.default_rng(0).random(1770) ** 3)
    weighted, plain = MDS(weights=W).fit(X), MDS().fit(X)
    assert "1 each" in weighted.report_.findings["weights of new points"]
    assert "weights of new points" not in plain.report_.findings
    D, Y = cdist(new, X), weighted.embedding_
    for y, delta in zip(weighted.transform(new), D, strict=True):
        apart = y - Y
        d = np.linalg.norm(apart, axis=1)
        pull = ((1 - delta / d)[:, None] * apart).mean(axis=0)
        assert np.abs(pull).max() < 1e-4 * delta.mean()


# Landmarks


@BOTH
def test_landmarks_are_embedded_alone_and_the_others_placed_among_them(method):
    X = cloud(400, 6)
    model = method(landmarks=150).fit(X)
    chosen = model.landmarks_
    assert same_bits(model.embedding_[chosen], method().fit(X[chosen]).embedding_)
    others = np.setdiff1d(np.arange(400), chosen)
    assert np.allclose(method().fit(X[chosen]).transform(X[others]), model.embedding_[others])
    assert model.residuals_.shape == (400,)
    assert model.normalized_stress_ < 1.25 * method().fit(X).normalized_stress_


def test_the_error_bar_of_a_sampled_stress_is_right():
    X = cloud(400, 6)
    off = []
    for seed in range(40):
        model = MDS(landmarks=50, random_state=seed, solver=Majorisation(tolerance=1e-4)).fit(X)
        true = stresses(cdist(X, X), model.embedding_).normalized
        off.append((model.normalized_stress_ - true) / model.stress_error_)
    assert 0.6 < np.std(off) < 1.5
    assert abs(np.mean(off)) < 0.6


def test_all_points_as_landmarks_are_no_landmarks():
    X = cloud(60)
    assert same_bits(MDS(landmarks=60).fit(X).embedding_, MDS().fit(X).embedding_)


def test_weights_and_gaps_count_for_points_beside_the_landmarks_too():
    X, start = cloud(60), cloud(60, 2, seed=1)
    rng = np.random.default_rng(0)
    gaps = squareform(rng.random(1770) < 0.2)
    D = np.where(gaps, np.nan, cdist(X, X))
    missing = MDS(metric="precomputed", landmarks=40, init=start).fit(D)
    weighted = MDS(metric="precomputed", landmarks=40, init=start, weights=1.0 - gaps).fit(cdist(X, X))
    assert np.allclose(missing.embedding_, weighted.embedding_, atol=1e-4)


# On the way


def test_a_callback_sees_every_step_and_can_end_the_optimisation():
    steps = []

    def watch(step):
        steps.append(step)
        return step.iteration == 7

    model = MDS(solver=Majorisation(callback=watch), init="random").fit(cloud())
    assert [step.iteration for step in steps] == list(range(1, 8))
    assert same_bits(steps[-1].embedding, model.embedding_)
    assert steps[-1].loss == model.raw_stress_
    assert steps[-1].gradient_norm > 0
    phases = set()
    MDS(solver=Majorisation(callback=lambda step: phases.add(step.phase)), init=Starts(count=3)).fit(cloud())
    assert phases == {"start 1", "start 2", "start 3"}


def test_an_optimisation_that_ran_out_of_iterations_says_so_and_can_go_on():
    X = cloud(100)
    with pytest.warns(UserWarning, match="still fell after 3 iterations.*init=model.embedding_"):
        short = MDS(init="random", solver=Majorisation(max_iter=3)).fit(X)
    assert not short.converged_
    longer = MDS(init=short.embedding_).fit(X)
    assert longer.history_[0, 1] == pytest.approx(short.raw_stress_)
    assert longer.converged_
    assert longer.raw_stress_ < short.raw_stress_


# Cities


def test_maps_of_european_cities_agree_with_the_compass():
    data = datasets.eurodist()
    assert data.distances.shape == (21, 21)
    assert data.distances[data.cities.index("Athens"), data.cities.index("Barcelona")] == 3313
    D = data.distances
    stress = {}
    for model in (ClassicalMDS, MDS, Sammon):
        Y = model(metric="precomputed").fit(D).embedding_
        Y = Y @ orthogonal_procrustes(Y, data.kilometres)[0]
        at = dict(zip(data.cities, Y, strict=True))
        east, north = Y.T
        assert data.cities[int(np.argmax(east - north))] == "Athens", model  # the most south-eastern
        assert data.cities[int(np.argmax(north))] == "Stockholm", model
        assert at["Lisbon"][0] < at["Madrid"][0] < at["Rome"][0] < at["Athens"][0]
        assert at["Gibraltar"][1] < at["Paris"][1] < at["Copenhagen"][1]
        stress[model] = stresses(D, Y).normalized
    assert stress[MDS] < min(stress[Sammon], stress[ClassicalMDS])
