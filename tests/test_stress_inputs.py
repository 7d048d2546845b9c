"""What the stress family is given: every kind of input, duplicates, units, and what cannot be embedded."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.spatial.distance import cdist, pdist
from sklearn.metrics import pairwise_distances

from conftest import cloud, same_bits
from lowfold import MDS, DataError, Majorisation, ParameterError, Sammon, Starts
from lowfold.stress import pairs as pairs_module

BOTH = pytest.mark.parametrize("method", [MDS, Sammon])


# Kinds of input


@pytest.mark.parametrize("metric", ["cityblock", "cosine", "mahalanobis", "seuclidean", "braycurtis", "chebyshev"])
def test_rows_with_a_metric_are_as_good_as_their_distances(metric):
    X = np.abs(cloud(50)) + 0.1
    D = pairwise_distances(X, metric=metric)
    model = MDS(metric=metric).fit(X)
    assert model.raw_stress_ == pytest.approx(MDS(metric="precomputed").fit(D).raw_stress_, rel=1e-6)
    assert np.isfinite(model.transform(X[:3] + 0.01)).all()


def test_a_function_sparse_rows_and_a_vector_of_distances_serve_as_well():
    X = np.where(cloud(40, 6) > 0, cloud(40, 6, seed=1), 0)
    expected = MDS(metric="cityblock").fit(X)
    for model, data in (
        (MDS(metric=lambda a, b: np.abs(a - b).sum()), X),
        (MDS(metric="cityblock"), csr_array(X)),
        (MDS(metric="precomputed"), pdist(X, "cityblock")),
        (MDS(metric="precomputed"), list(pdist(X, "cityblock"))),
    ):
        assert np.allclose(model.fit(data).embedding_, expected.embedding_, atol=1e-6)


def test_distances_measured_again_and_again_give_the_bits_of_those_that_are_kept(monkeypatch):
    X = cloud(300, 6)
    kept = MDS().fit(X).embedding_
    assert not pairs_module.is_measured(300, 6, 2)
    monkeypatch.setattr(pairs_module, "KEPT_POINTS", 200)
    assert pairs_module.is_measured(300, 6, 2)
    assert same_bits(MDS().fit(X).embedding_, kept)


@BOTH
@pytest.mark.parametrize("factor", [1e-12, 1e12, 2.0**-40, 2.0**40])
def test_the_unit_of_the_data_changes_nothing_but_the_unit_of_the_map(method, factor):
    X = cloud(50).astype(np.float32)
    exact = factor in (2.0**-40, 2.0**40)
    solver = Majorisation(lifts=2 if exact else 0)  # another rounding may lift points into another valley
    model, scaled = method(solver=solver).fit(X), method(solver=solver).fit(X * np.float32(factor))
    close = 0.0 if exact else 1e-2
    assert np.allclose(scaled.embedding_ / np.float32(factor), model.embedding_, rtol=0, atol=close)
    assert scaled.normalized_stress_ == pytest.approx(model.normalized_stress_, rel=1e-4)
    power = 1 if method is Sammon else 2
    assert scaled.raw_stress_ == pytest.approx(model.raw_stress_ * float(np.float32(factor)) ** power, rel=1e-3)


@BOTH
def test_equal_points_lie_in_one_place(method):
    X = cloud(30)[np.r_[0:30, 0:10, 0, 0]]
    for init in ("classical", "random"):
        Y = method(init=init).fit(X).embedding_
        assert same_bits(Y[30:40], Y[:10])
        assert same_bits(Y[40:], Y[[0, 0]])


def test_zero_distances_are_treated_by_name_in_sammons_mapping():
    X = cloud(30)[np.r_[0:30, 0:10]]
    with pytest.raises(DataError, match=r"10 pairs of points have a dissimilarity of 0.*zeros='together'"):
        Sammon(zeros="error").fit(X)
    together, ignore = (Sammon(zeros=zeros).fit(X) for zeros in ("together", "ignore"))
    assert together.sammon_stress_ == pytest.approx(ignore.sammon_stress_, rel=1e-3)
    D = cdist(cloud(30), cloud(30))
    D[0, 1] = D[1, 0] = 0  # said to be in one place, but not by the others
    apart = [
        np.linalg.norm(np.subtract(*Sammon(zeros=z, metric="precomputed").fit(D).embedding_[:2]))
        for z in ("together", "ignore")
    ]
    assert apart[0] < 0.7 * apart[1]


# What cannot be


BAD = {
    "negative": (lambda D: -D, "Distances cannot be negative"),
    "asymmetric": (lambda D: np.triu(D), "must be symmetric"),
    "missing on one side": (lambda D: np.where(np.triu(D > 3), np.nan, D), "must be symmetric"),
    "infinite": (lambda D: np.where(D > 3, np.inf, D), "infinity"),
    "all missing": (lambda D: np.full_like(D, np.nan), "fall into 40 groups .* known dissimilarities"),
    "one point alone": (lambda D: _without(D, 3), r"fall into 2 groups \(of 39, 1\)"),
    "two groups": (lambda D: _split(D), r"fall into 2 groups \(of 30, 10\) .* embed each group by itself"),
    "not square": (lambda D: D[:20], "must be square"),
    "a vector of no length": (lambda D: D[0], "vector of 40 distances, which is not"),
}


def _without(D, i):
    D = D.copy()
    D[i] = D[:, i] = np.nan
    return D


def _split(D):
    D = D.copy()
    D[:30, 30:] = D[30:, :30] = np.nan
    return D


@BOTH
@pytest.mark.parametrize("kind", BAD)
def test_dissimilarities_that_cannot_be_embedded_are_refused_by_name(method, kind):
    spoil, message = BAD[kind]
    with pytest.raises(ValueError, match=message):
        method(metric="precomputed").fit(spoil(cdist(cloud(40), cloud(40))))


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (np.ones((39, 39)), r"shape \(39, 39\)"),
        (np.ones(40), r"shape \(40,\)"),
        (-np.ones((40, 40)), "not negative"),
        (np.full((40, 40), np.nan), "finite"),
        (np.triu(np.ones((40, 40))), "symmetric"),
        (np.kron(np.eye(2), np.ones((20, 20))), "fall into 2 groups .* weights above 0"),
    ],
)
def test_weights_that_cannot_be_are_refused(weights, message):
    with pytest.raises(DataError, match=message):
        MDS(weights=weights).fit(cloud(40))


@BOTH
@pytest.mark.parametrize("n", [1, 2, 3])
def test_one_two_and_three_points_have_maps_without_stress(method, n):
    X = cloud(n, 5)
    model = method(n_components=min(2, n)).fit(X)
    assert model.normalized_stress_ < 1e-6
    assert np.allclose(cdist(model.embedding_, model.embedding_), cdist(X, X), atol=1e-2)
    with pytest.raises(ParameterError, match=f"n_components={n + 1} needs as many samples"):
        method(n_components=n + 1).fit(X)


@pytest.mark.parametrize("model", [MDS(), Sammon(), Sammon(zeros="ignore"), MDS(scaling="nonmetric")])
def test_equal_points_all_lie_in_the_middle(model):
    model.fit(np.ones((20, 3)))
    assert not model.embedding_.any()
    assert model.raw_stress_ == model.normalized_stress_ == model.stress_1_ == 0


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("method", [MDS, Sammon])
def test_a_start_of_another_size_is_as_good_and_one_out_of_all_proportion_is_refused(method, dtype):
    X, start = cloud(40, dtype=dtype), cloud(40, 2, seed=1)
    usual = method(init=start).fit(X).normalized_stress_
    for factor in (1e-30, 1e11):
        assert method(init=factor * start).fit(X).normalized_stress_ <= 1.2 * usual  # it may end in another valley
    for factor in (1e14, 1e155):
        with pytest.raises(DataError, match=r"init has coordinates up to .* times as large .* Divide it by that"):
            method(init=factor * start).fit(X)


def test_a_row_with_a_missing_distance_is_known_however_nan_is_written():
    D = cdist(cloud(20), cloud(20))
    D[3, 5] = D[5, 3] = np.nan
    model, other = MDS(metric="precomputed").fit(D), D.copy()
    other[3, 5] = other[5, 3] = -np.nan
    assert (other.view(np.uint64) != D.view(np.uint64)).any()
    assert same_bits(model.transform(other), model.embedding_)


def test_a_start_that_cannot_be_is_refused():
    for init in (np.zeros((39, 2)), np.zeros((40, 3)), np.full((40, 2), np.nan)):
        with pytest.raises(DataError, match=r"init has shape .* needs 40 rows of 2"):
            MDS(init=init).fit(cloud(40))
    with pytest.raises(ValueError, match="'count' parameter of Starts"):
        MDS(init=Starts(count=0)).fit(cloud(40))
