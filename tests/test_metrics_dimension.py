"""The intrinsic dimension: of known manifolds, of points that are there more than once, at each point."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.spatial.distance import cdist

from conftest import cloud
from lowfold import DataError, ParameterError
from lowfold.metrics import Sample, intrinsic_dimension
from shapes import swiss_roll

BOTH = pytest.mark.parametrize("method", ["two_nn", "mle"])


@BOTH
@pytest.mark.parametrize("d", [1, 2, 5])
def test_the_dimension_of_a_cube_in_a_larger_space_is_found(method, d):
    X = np.random.default_rng(0).random((4000, d)) @ np.linalg.qr(cloud(10, 10))[0][:d]
    found = intrinsic_dimension(X, method)
    assert float(found) == pytest.approx(d, rel=0.15)  # edges of the cube make it a little less
    assert 0 < found.error < 0.2 * d


def test_the_dimension_of_a_swiss_roll_with_equal_points_is_two():
    X = swiss_roll(3000)[0]
    X[:100] = X[100:200]
    assert float(intrinsic_dimension(X)) == pytest.approx(2, abs=0.2)


COPIES = {
    "each twice": np.repeat(np.arange(300), 2),
    "all three times": np.tile(np.arange(300), 3),
    "some twice": np.concatenate([np.arange(300), np.arange(80)]),
    "one very often": np.concatenate([np.arange(300), np.full(400, 7)]),
}


@BOTH
@pytest.mark.parametrize("copies", COPIES.values(), ids=COPIES)
@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "braycurtis"])
def test_equal_points_count_once(method, copies, metric):
    X = np.abs(swiss_roll(300)[0])
    once, several = intrinsic_dimension(X, method, metric=metric), intrinsic_dimension(X[copies], method, metric=metric)
    assert several.value == pytest.approx(once.value, rel=1e-12)
    assert several.error == pytest.approx(once.error, rel=1e-9)
    np.testing.assert_array_equal(several.points, np.sort(np.unique(copies, return_index=True)[1]))
    np.testing.assert_allclose(several.per_point, once.per_point[copies[several.points]])


@BOTH
def test_equal_points_count_once_among_distances_and_sparse_rows_too(method):
    X = cloud(300, 3)
    copies = X[COPIES["some twice"]]
    wanted = pytest.approx(intrinsic_dimension(X, method).value)
    assert intrinsic_dimension(cdist(copies, copies), method, metric="precomputed").value == wanted
    assert intrinsic_dimension(csr_array(copies), method).value == wanted


def test_too_few_different_points_are_refused_with_their_number():
    with pytest.raises(DataError, match="1 different points among its 50.* at least 4"):
        intrinsic_dimension(np.zeros((50, 3)))
    with pytest.raises(DataError, match="10 different points among its 50.* at least 22.* lower k"):
        intrinsic_dimension(np.repeat(cloud(10, 3), 5, axis=0), "mle")
    with pytest.raises(DataError, match="3 different points among its 3"):
        intrinsic_dimension(np.eye(3))
    with pytest.raises(DataError, match="3 different points among its 3.* at least 22"):
        intrinsic_dimension(np.eye(3), "mle")
    with pytest.raises(ParameterError, match="from 2 to 28"):
        intrinsic_dimension(cloud(30, 3), "mle", k=29)


def test_the_dimension_at_a_point_is_that_of_its_own_neighbours():
    X = cloud(400, 3)
    D = np.sort(cdist(X, X), axis=1)[:, 1:]
    two = intrinsic_dimension(X)
    np.testing.assert_allclose(two.per_point, 1 / np.log(D[:, 1] / D[:, 0]))
    many = intrinsic_dimension(X, "mle", k=12)
    np.testing.assert_allclose(many.per_point, 10 / np.log(D[:, 11:12] / D[:, :11]).sum(axis=1))
    assert many.value == pytest.approx(1 / np.mean(1 / many.per_point)), "the mean of 1 / d"


@pytest.mark.parametrize("d", [2, 6])
def test_the_dimensions_at_all_points_are_spread_around_the_whole_as_theory_says(d):
    X = np.random.default_rng(0).random((5000, d))
    two = intrinsic_dimension(X)
    # log mu has an exponential distribution: its mean is 1 / d, its median log(2) / d.
    assert 1 / np.mean(1 / two.per_point) == pytest.approx(two.value, rel=0.05)
    assert np.median(two.per_point) * np.log(2) == pytest.approx(two.value, rel=0.05)
    many = intrinsic_dimension(X, "mle", k=30)
    assert np.median(many.per_point) == pytest.approx(many.value, rel=0.05)


@BOTH
def test_the_dimension_of_a_sample_is_right_within_its_error(method):
    X = np.random.default_rng(0).random((4000, 3))
    whole = intrinsic_dimension(X, method)
    found = [intrinsic_dimension(X, method, sample=Sample(points=400, random_state=seed)) for seed in range(20)]
    off = np.array([(score.value - whole.value) / score.error for score in found])
    assert np.abs(off).max() < 4
    assert 0.6 < np.sqrt(np.mean(off**2)) < 1.5
    for score in found:
        np.testing.assert_array_equal(score.per_point, whole.per_point[score.points])
