"""What is known of stress: when it is 0, that it never rises, what its minimum looks like, what does not change it."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import isotonic_regression
from scipy.spatial.distance import cdist, pdist, squareform

import lowfold
from conftest import cloud, same_bits
from lowfold import MDS, ClassicalMDS, GradientDescent, Majorisation, Nonmetric, Sammon, Starts, stresses
from lowfold.backend import native
from lowfold.backend.reference import stress as reference

METHODS = {
    "metric": MDS(),
    "weighted": MDS(weights=squareform(np.random.default_rng(5).random(1770) ** 4)),
    "nonmetric": MDS(scaling="nonmetric"),
    "Sammon": Sammon(),
    "gradient": Sammon(solver="gradient"),
    "plain": MDS(solver=Majorisation(momentum=False)),
}
EVERY = pytest.mark.parametrize("name", METHODS)


def fresh(name, **changes):
    model = METHODS[name]
    return type(model)(**(model.get_params(deep=False) | changes))


def aligned(Y, wanted):
    """Y turned, mirrored, moved and scaled to lie on `wanted` as well as it can."""
    a, b = Y - Y.mean(axis=0), wanted - wanted.mean(axis=0)
    u, s, v = np.linalg.svd(a.T @ b)
    return s.sum() / (a**2).sum() * a @ u @ v + wanted.mean(axis=0)


@EVERY
@pytest.mark.parametrize("init", ["classical", "random"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_stress_never_rises(name, init, dtype):
    for seed in range(3):
        model = fresh(name, init=init, random_state=seed).fit(cloud(seed=seed, dtype=dtype))
        assert (np.diff(model.history_[:, 1]) <= 0).all()
        assert model.history_[-1, 1] < model.history_[0, 1]
        assert list(model.history_[:, 0]) == list(range(model.n_iter_ + 1))


@pytest.mark.parametrize("weighted", [False, True])
def test_guttmans_transform_never_raises_the_stress_and_ours_is_it_where_weights_are_equal(weighted):
    rng = np.random.default_rng(0)
    for seed in range(20):
        D, Y = cdist(cloud(30, seed=seed), cloud(30, seed=seed)), rng.standard_normal((30, 2))
        W = squareform(rng.random(435)) if weighted else 1 - np.eye(30)
        step = reference.guttman(D, W, Y)
        before, after = stresses(D, Y, W).raw, stresses(D, step, W).raw
        assert after <= before
        if not weighted:
            G = native.kernels.stress_of_matrix(D, None, Y, ("unit", 1.0), 1)[0]
            assert np.allclose(Y - G / 30 - Y.mean(axis=0), step, atol=1e-12)
        else:  # twice the degrees lie above V: their step is shorter, and safe as well
            G = native.kernels.stress_of_matrix(D, W, Y, ("given", 1.0), 1)[0]
            assert stresses(D, Y - G / (2 * W.sum(axis=1)[:, None]), W).raw <= before


@pytest.mark.filterwarnings("ignore:The stress still fell")
def test_iterations_without_momentum_are_guttmans_transform():
    D, Y = cdist(cloud(), cloud()), cloud(60, 2, seed=3)
    for count in (1, 2, 3):
        solver = Majorisation(max_iter=count, momentum=False)
        model = MDS(metric="precomputed", init=cloud(60, 2, seed=3), solver=solver).fit(D)
        Y = reference.guttman(D, 1 - np.eye(60), Y)
        assert np.allclose(model.embedding_, Y, atol=1e-12)


@EVERY
def test_the_end_is_a_stationary_point_of_the_stress_as_numpy_has_it(name):
    X = cloud()
    model = fresh(name, solver=Majorisation(tolerance=1e-12, max_iter=20_000)).fit(X)
    pairs = model.shepard()
    Y = model.embedding_
    gradient = np.zeros_like(Y)
    for i, j, delta, w in zip(pairs.first, pairs.second, pairs.disparity, pairs.weight, strict=True):
        apart = Y[i] - Y[j]
        pull = w * (1 - delta / np.linalg.norm(apart)) * apart
        gradient[i] += pull
        gradient[j] -= pull
    size = np.sqrt((pairs.weight * pairs.distance**2).sum() * pairs.weight.sum())
    assert np.abs(gradient).max() < 1e-5 * size


@pytest.mark.parametrize("name", ["metric", "Sammon", "weighted"])
@pytest.mark.parametrize("n_components", [1, 2, 3])
def test_distances_that_fit_are_matched_exactly_from_the_classical_start(name, n_components):
    wanted = cloud(60, n_components, seed=2)
    model = fresh(name, n_components=n_components, metric="precomputed").fit(cdist(wanted, wanted))
    assert model.normalized_stress_ < 1e-10
    assert np.allclose(aligned(model.embedding_, wanted), wanted, atol=1e-4)


def test_missing_distances_do_not_matter_where_the_rest_determines_the_places():
    rng = np.random.default_rng(1)
    wanted = cloud(60, 2, seed=2)
    D = cdist(wanted, wanted)
    gaps = np.triu(rng.random(D.shape) < 0.5, 1)
    D[gaps | gaps.T] = np.nan
    for model in (MDS(metric="precomputed"), Sammon(metric="precomputed")):
        model.set_params(solver=Majorisation(max_iter=3000)).fit(D)
        assert model.normalized_stress_ < 1e-8
        assert np.allclose(aligned(model.embedding_, wanted), wanted, atol=1e-2)


def test_a_missing_distance_is_a_weight_of_zero():
    X = cloud(50)
    W = 1 - squareform((np.random.default_rng(0).random(1225) < 0.3).astype(float)) - np.eye(50)
    D = cdist(X, X)
    start = cloud(50, 2, seed=1)
    missing = MDS(metric="precomputed", init=start).fit(np.where(W + np.eye(50) > 0, D, np.nan))
    weighted = MDS(metric="precomputed", init=start, weights=W).fit(D)
    assert missing.raw_stress_ == pytest.approx(weighted.raw_stress_, rel=1e-9)
    assert np.allclose(missing.embedding_, weighted.embedding_, atol=1e-6)


def test_integer_weights_are_repeated_observations():
    X, start = cloud(30), cloud(30, 2, seed=1)
    D = cdist(X, X)
    twice = MDS(metric="precomputed", init=start, weights=np.full((30, 30), 2.0)).fit(D)
    once = MDS(metric="precomputed", init=start).fit(D)
    assert twice.raw_stress_ == pytest.approx(2 * once.raw_stress_, rel=1e-6)
    assert twice.normalized_stress_ == pytest.approx(once.normalized_stress_, rel=1e-6)


@EVERY
def test_named_stresses_are_those_of_the_embedding_by_their_definition(name):
    X = cloud()
    D, model = cdist(X, X), fresh(name).fit(X)
    Y, pairs = model.embedding_, model.shepard()
    w, d, target = pairs.weight, pairs.distance, pairs.disparity
    assert len(w) == 60 * 59 / 2
    assert np.allclose(d, pdist(Y))
    assert np.allclose(pairs.dissimilarity, pdist(X))
    assert model.raw_stress_ == pytest.approx((w * (d - target) ** 2).sum(), rel=1e-6)
    assert model.normalized_stress_ == pytest.approx(model.raw_stress_ / (w * target**2).sum(), rel=1e-6)
    assert model.stress_error_ == 0
    if name in ("metric", "plain"):
        found = stresses(D, Y)
        assert (found.raw, found.normalized, found.kruskal) == pytest.approx(
            (model.raw_stress_, model.normalized_stress_, model.stress_1_), rel=1e-9
        )
    if name == "Sammon":
        by_notes = ((pdist(Y) - pdist(X)) ** 2 / pdist(X)).sum() / pdist(X).sum()
        assert model.sammon_stress_ == pytest.approx(by_notes, rel=1e-9)
    if name == "nonmetric":
        fitted = isotonic_regression(d[np.argsort(pdist(X), kind="stable")]).x
        kruskal = np.sqrt(((fitted - d[np.argsort(pdist(X), kind="stable")]) ** 2).sum() / (d**2).sum())
        assert model.stress_1_ == pytest.approx(kruskal, rel=1e-6)
        assert (target**2).sum() == pytest.approx((pdist(X) ** 2).sum(), rel=1e-6)


@EVERY
def test_residuals_of_points_are_those_of_their_pairs(name):
    model = fresh(name).fit(cloud())
    pairs = model.shepard()
    for i in (0, 17, 59):
        own = (pairs.first == i) | (pairs.second == i)
        w = pairs.weight[own]
        mean = (w * (pairs.distance[own] - pairs.disparity[own]) ** 2).sum() / w.sum()
        assert model.residuals_[i] == pytest.approx(np.sqrt(mean), rel=1e-6)


@pytest.mark.parametrize("ties", ["primary", "secondary"])
def test_only_the_order_counts_for_nonmetric_scaling(ties):
    X = np.round(cloud(40), 0) if ties == "secondary" else cloud(40)
    D, start = cdist(X, X), cloud(40, 2, seed=1)
    options = {"metric": "precomputed", "init": start, "scaling": Nonmetric(ties=ties)}
    still = Majorisation(max_iter=0)  # the first step of a fit is a metric one, the stress is not
    seen = [MDS(**options, solver=still).fit(A).stress_1_ for A in (D, np.expm1(D))]
    assert seen[0] == pytest.approx(seen[1], rel=1e-9)
    plain = MDS(**options).fit(D)
    assert plain.stress_1_ < MDS(metric="precomputed", init=start).fit(D).stress_1_
    disparities = plain.shepard().disparity[np.argsort(pdist(X), kind="stable")]
    assert (np.diff(disparities) >= -1e-12).all()


def test_primary_ties_never_end_with_more_stress_than_secondary_ones_have():
    X = np.round(cloud(40), 0)
    primary, secondary = (MDS(scaling=Nonmetric(ties=ties)).fit(X) for ties in ("primary", "secondary"))
    assert primary.stress_1_ < secondary.stress_1_


def test_strain_is_least_for_classical_scaling_and_stress_for_majorisation():
    X = cloud(80)
    D = cdist(X, X)

    def strain(Y):
        return ((D**2 - cdist(Y, Y) ** 2) ** 2).sum()

    classical, metric = ClassicalMDS().fit(X).embedding_, MDS().fit(X).embedding_
    assert stresses(D, metric).raw < stresses(D, classical).raw
    centred = X - X.mean(axis=0)

    def gram_error(Y):
        return ((centred @ centred.T - Y @ Y.T) ** 2).sum()

    assert gram_error(classical) < gram_error(metric)
    assert strain(classical) != strain(metric)


def test_several_starts_keep_the_best_whatever_the_number_of_threads():
    X = cloud(40)
    models = [MDS(init=Starts(count=5, first="random"), n_jobs=jobs).fit(X) for jobs in (1, 2, 8)]
    ends = models[0].report_.findings["starts"]
    assert len(ends) == 5
    assert models[0].raw_stress_ == pytest.approx(min(ends))
    assert max(ends) > min(ends)
    assert all(same_bits(model.embedding_, models[0].embedding_) for model in models)
    ordinal = [MDS(scaling="nonmetric", init=Starts(count=3), n_jobs=jobs).fit(X) for jobs in (1, 3)]
    assert same_bits(ordinal[0].embedding_, ordinal[1].embedding_)


def test_both_solvers_of_sammon_reach_the_same_minimum_and_majorisation_in_fewer_passes():
    X = cloud(100, 4)
    fast = Sammon(solver=Majorisation(relocations=0, lifts=0)).fit(X)
    slow = Sammon(solver=GradientDescent(max_iter=5000, tolerance=1e-8)).fit(X)
    assert fast.sammon_stress_ == pytest.approx(slow.sammon_stress_, rel=1e-3)
    assert fast.n_iter_ < slow.n_iter_
    assert lowfold.GradientDescent().learning_rate == "auto"
