"""The co-ranking family: theorems, ties, agreement with scikit-learn, samples with their errors."""

from __future__ import annotations

import numpy as np
import pytest
import sklearn.manifold
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.distance import cdist

from conftest import cloud, same_bits
from lowfold import DataError, ParameterError
from lowfold.comparison import PeakMemory
from lowfold.estimator import share_listener
from lowfold.metrics import (
    Sample,
    continuity,
    coranking,
    neighbor_recall,
    quality_curve,
    r_nx,
    r_nx_area,
    trustworthiness,
)

FAMILY = (trustworthiness, continuity, neighbor_recall, r_nx)


@pytest.mark.parametrize("k", [1, 5, 20])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_trustworthiness_is_scikit_learns(digits, k, dtype):
    X = digits[0].astype(dtype)
    Y = (X @ cloud(64, 2)).astype(dtype)
    wanted = sklearn.manifold.trustworthiness(X, Y, n_neighbors=k)
    assert float(trustworthiness(X, Y, k)) == pytest.approx(wanted, abs=1e-4)  # scikit-learn breaks ties by position


def test_without_ties_trustworthiness_is_scikit_learns_to_rounding():
    X, Y = cloud(300, 6), cloud(300, 2, seed=1)
    wanted = sklearn.manifold.trustworthiness(X, Y, n_neighbors=7)
    assert float(trustworthiness(X, Y, 7)) == pytest.approx(wanted, abs=1e-12)


@pytest.mark.parametrize("metric", ["manhattan", "cosine", "precomputed", lambda a, b: abs(a - b).max()])
def test_other_metrics_rank_by_their_distances(metric):
    X, Y = cloud(80, 4), cloud(80, 2, seed=1)
    names = {"precomputed": "cityblock", "manhattan": "cityblock"}
    D = cdist(X, X, names.get(metric, metric))
    wanted = sklearn.manifold.trustworthiness(D, Y, n_neighbors=6, metric="precomputed")
    given = D if metric == "precomputed" else X
    assert float(trustworthiness(given, Y, 6, metric=metric)) == pytest.approx(wanted, abs=1e-12)


@pytest.mark.parametrize("metric", FAMILY)
def test_an_embedding_with_the_same_distances_is_perfect_everywhere(metric):
    X = cloud(70, 3)
    turn = np.linalg.qr(cloud(3, 3, seed=1))[0]
    score = metric(X, 7 * X @ turn + 3, 10)
    np.testing.assert_allclose(score.per_point, 1)
    assert score.error == 0


def test_continuity_is_trustworthiness_with_the_spaces_exchanged():
    X, Y = cloud(90, 4), cloud(90, 2, seed=1)
    np.testing.assert_array_equal(continuity(X, Y, 9).per_point, trustworthiness(Y, X, 9).per_point)


def test_a_random_embedding_keeps_as_many_neighbours_as_chance():
    X, Y = cloud(1500, 4), cloud(1500, 2, seed=1)
    assert float(neighbor_recall(X, Y, 30)) == pytest.approx(30 / 1499, abs=0.002)
    assert abs(float(r_nx(X, Y, 30))) < 0.002
    assert abs(float(r_nx_area(X, Y))) < 0.01


def test_the_worst_embedding_has_trustworthiness_zero():
    # Distances turned round: who was last comes first.
    n, k = 40, 5
    D = np.abs(np.subtract.outer(np.arange(n), np.arange(n))).astype(float)
    x = np.arange(n, dtype=float)[:, None]
    score = trustworthiness(D.max() + 1 - D - np.diag(np.full(n, D.max() + 1)), x, k, metric="precomputed")
    assert score.per_point[0] == pytest.approx(0, abs=1e-12)  # an end: its neighbours are its farthest


@pytest.mark.parametrize("k", [1, 7, 30, 58])
def test_a_collapsed_embedding_is_the_mean_over_all_orders(k):
    X, Y = cloud(60, 3), np.zeros((60, 2))
    rng = np.random.default_rng(0)
    drawn = [trustworthiness(X, rng.standard_normal((60, 2)), k).value for _ in range(60)]
    spread = np.std(drawn) / np.sqrt(60)
    assert float(neighbor_recall(X, Y, k)) == pytest.approx(k / 59)
    assert abs(float(trustworthiness(X, Y, k)) - np.mean(drawn)) < 5 * spread + 1e-12


def test_ties_do_not_depend_on_the_order_of_the_points():
    X, Y = np.round(cloud(120, 3)), np.round(cloud(120, 2, seed=1))
    order = np.random.default_rng(2).permutation(120)
    for metric in FAMILY:
        np.testing.assert_allclose(metric(X, Y, 8).per_point[order], metric(X[order], Y[order], 8).per_point)
    np.testing.assert_allclose(r_nx_area(X, Y).per_point[order], r_nx_area(X[order], Y[order]).per_point)


def test_the_curve_is_the_family_at_each_k_and_its_area_the_mean_over_log_k():
    X, Y = cloud(50, 4), cloud(50, 2, seed=1)
    curve = quality_curve(X, Y, np.arange(1, 49))
    for m in (0, 10, 47):
        k = int(curve.k[m])
        assert curve.trustworthiness[m] == float(trustworthiness(X, Y, k))
        assert curve.continuity[m] == float(continuity(X, Y, k))
        assert curve.recall[m] == pytest.approx(float(neighbor_recall(X, Y, k)))
        assert curve.r_nx[m] == pytest.approx(float(r_nx(X, Y, k)))
    assert float(curve.area) == pytest.approx(np.average(curve.r_nx, weights=1 / curve.k))
    assert float(curve.area) == float(r_nx_area(X, Y))
    assert quality_curve(X, Y).k[-1] == 48


@pytest.mark.parametrize("metric", FAMILY)
def test_a_sample_is_right_within_its_error_and_is_part_of_the_whole(metric):
    X = cloud(3000, 5)
    Y = X[:, :2]
    whole, some = metric(X, Y, 10), metric(X, Y, 10, sample=400)
    assert 0 < some.error < 0.03
    assert abs(some.value - whole.value) < 4 * some.error
    np.testing.assert_array_equal(some.per_point, whole.per_point[some.points])
    assert metric(X, Y, 10, sample=400).value == some.value
    assert metric(X, Y, 10, sample=Sample(points=400, random_state=1)).value != some.value


def test_errors_of_samples_are_as_large_as_samples_differ():
    X = cloud(2000, 5)
    found = [trustworthiness(X, X[:, :2], 10, sample=Sample(points=100, random_state=seed)) for seed in range(60)]
    assert np.std([score.value for score in found]) == pytest.approx(np.mean([s.error for s in found]), rel=0.35)


def test_more_than_ten_thousand_points_are_sampled_by_themselves():
    X = cloud(10_001, 2)
    score = trustworthiness(X, X)
    assert len(score.points) == 1000
    assert len(trustworthiness(X, X, sample=None).points) == 10_001


@given(n=st.integers(3, 12), seed=st.integers(0, 1000), ties=st.booleans())
def test_every_score_of_small_data_is_in_range(n, seed, ties):
    X, Y = cloud(n, 3, seed=seed), cloud(n, 2, seed=seed + 1)
    if ties:
        X, Y = np.round(X), np.round(Y)
    for k in range(1, n - 1):
        for metric in (trustworthiness, continuity, neighbor_recall):
            values = metric(X, Y, k).per_point
            assert (values >= -1e-12).all()
            assert (values <= 1 + 1e-12).all()


def test_any_number_of_threads_gives_the_same_bits():
    X, Y = cloud(500, 5), cloud(500, 2, seed=1)
    one = trustworthiness(X, Y, n_jobs=1).per_point
    assert same_bits(one, trustworthiness(X, Y, n_jobs=3).per_point)


@pytest.mark.parametrize("metric", [*FAMILY, r_nx_area])
def test_no_matrix_of_all_pairs_is_made(metric):
    X, Y = cloud(5000, 4), cloud(5000, 2)
    metric(X[:100], Y[:100])
    with PeakMemory() as memory:
        assert len(metric(X, Y).points) == 5000
    if np.isnan(memory.peak):
        pytest.skip("the system does not tell")
    assert memory.peak < 5000**2 / 2, "half a byte for each pair"


@pytest.mark.parametrize("metric", ["manhattan", "precomputed"])
def test_blocks_of_points_have_the_bits_of_all_at_once(metric, monkeypatch):
    X, Y = np.round(cloud(150, 4), 1), np.round(cloud(150, 2, seed=1), 1)
    X = cdist(X, X) if metric == "precomputed" else X
    plain = [score(X, Y, 9, metric=metric) for score in FAMILY] + [r_nx_area(X, Y, metric=metric)]
    monkeypatch.setattr(coranking, "BLOCK_BYTES", 8 * 150 * 7)  # 22 blocks, the last a part of one
    parts = [score(X, Y, 9, metric=metric) for score in FAMILY] + [r_nx_area(X, Y, metric=metric)]
    for one, other in zip(plain, parts, strict=True):
        assert same_bits(one.per_point, other.per_point)
        assert one.value == other.value


def test_pieces_between_which_shares_are_told_have_the_bits_of_all_at_once(monkeypatch):
    X, Y = np.round(cloud(150, 4), 1), np.round(cloud(150, 2, seed=1), 1)
    plain = [score(X, Y, 9) for score in FAMILY] + [r_nx_area(X, Y)]
    monkeypatch.setattr(coranking, "SMALLEST_PIECE", 7)
    told = []
    token = share_listener.set(told.append)
    try:
        parts = [score(X, Y, 9) for score in FAMILY] + [r_nx_area(X, Y)]
    finally:
        share_listener.reset(token)
    assert len(told) > 15 * len(parts)
    for one, other in zip(plain, parts, strict=True):
        assert same_bits(one.per_point, other.per_point)


def test_inputs_stay_as_they_are():
    X, Y = cloud(60, 3), cloud(60, 2, seed=1)
    X.flags.writeable = Y.flags.writeable = False
    before = X.copy(), Y.copy()
    quality_curve(X, Y)
    assert same_bits(X, before[0])
    assert same_bits(Y, before[1])


@pytest.mark.parametrize("k", [0, 59, 2.5, True, "5"])
def test_a_size_that_cannot_be_is_refused_with_the_range(k):
    with pytest.raises(ParameterError, match="from 1 to 58"):
        trustworthiness(cloud(60), cloud(60, 2), k)


def test_what_does_not_fit_together_is_refused():
    with pytest.raises(DataError, match="59 points, but X has 60"):
        trustworthiness(cloud(60), cloud(59, 2))
    with pytest.raises(ParameterError, match="sample="):
        trustworthiness(cloud(60), cloud(60, 2), sample="some")
    with pytest.raises(ValueError, match="NaN"):
        trustworthiness(cloud(60), np.full((60, 2), np.nan))
