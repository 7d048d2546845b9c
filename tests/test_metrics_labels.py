"""Whether labels stay together: against scikit-learn, and with ties by the definition."""

from __future__ import annotations

import tracemalloc
from fractions import Fraction

import numpy as np
import pytest
import sklearn.metrics
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.distance import cdist, pdist
from sklearn.neighbors import KNeighborsClassifier

from conftest import cloud, same_bits
from lowfold import PCA, DataError, ParameterError
from lowfold.metrics import Sample, label_accuracy, silhouette


@pytest.mark.parametrize("k", [1, 5, 10])
def test_without_equal_distances_label_accuracy_is_scikit_learns_leave_one_out(digits, k):
    X, y = digits
    Y = PCA().fit_transform(X)
    assert len(np.unique(pdist(Y))) == 600 * 599 / 2
    found = label_accuracy(Y, y, k)
    model = KNeighborsClassifier(n_neighbors=k).fit(Y, y)
    votes = model.predict_proba(None)  # of each point's neighbours, itself left out
    winners = votes == votes.max(axis=1, keepdims=True)
    np.testing.assert_array_equal(found.per_point, winners[np.arange(600), y] / winners.sum(axis=1))
    clear = winners.sum(axis=1) == 1  # of equal votes scikit-learn takes the first label's
    np.testing.assert_array_equal(found.per_point[clear], (model.predict(None) == y)[clear])
    some = label_accuracy(Y, y, k, sample=200)
    np.testing.assert_array_equal(some.per_point, found.per_point[some.points])


def test_equally_frequent_labels_count_by_their_share():
    Y = np.array([[0.0], [1.0], [1.1], [50.0]])
    assert label_accuracy(Y, ["a", "a", "b", "b"], 2).per_point[0] == 0.5
    np.testing.assert_array_equal(label_accuracy(Y, ["a", "a", "b", "b"], 3).per_point, np.zeros(4))


MAPS = {
    "collapsed": np.zeros((240, 2)),
    "two places": np.repeat(np.eye(2), 120, axis=0),
    "few places": cloud(240, 2).round(),
    "a grid": np.stack(np.divmod(np.arange(240), 16), axis=1).astype(np.float32),
    "some twice": np.concatenate([cloud(200, 2), cloud(200, 2)[:40]]),
    "six coordinates": (2 * cloud(240, 6)).round(),
}


@pytest.mark.parametrize("name", MAPS)
@pytest.mark.parametrize("k", [1, 5, 10, 100])
def test_label_accuracy_does_not_depend_on_the_order_of_the_points(name, k):
    rng = np.random.default_rng(0)
    Y, y = MAPS[name], rng.integers(0, 4, 240)
    plain = label_accuracy(Y, y, k)
    for order in (rng.permutation(240), np.argsort(y), np.arange(240)[::-1]):
        found = label_accuracy(Y[order], y[order], k)
        assert same_bits(found.per_point, plain.per_point[order])
        assert found.value == pytest.approx(plain.value, abs=1e-14)


def by_definition(Y, y, k, i):
    """The share of point i, in fractions: of T others as far as the k-th, each has the T-th part of the votes left."""
    others = np.delete(np.arange(len(Y)), i)
    distances = cdist(Y[i : i + 1], Y[others])[0]
    last = np.sort(distances)[k - 1]
    votes = dict.fromkeys(y.tolist(), Fraction(0))
    for label in y[others[distances < last]].tolist():
        votes[label] += 1
    left = k - sum(votes.values())
    equal = y[others[distances == last]].tolist()
    for label in equal:
        votes[label] += Fraction(left, len(equal))
    winners = [label for label, count in votes.items() if count == max(votes.values())]
    return (y[i] in winners) / len(winners)


@given(n=st.integers(3, 30), places=st.integers(1, 5), kinds=st.integers(1, 5), seed=st.integers(0, 1000))
def test_equally_far_points_share_the_votes_that_are_left(n, places, kinds, seed):
    rng = np.random.default_rng(seed)
    Y, y = rng.integers(0, places, (n, 2)).astype(float), rng.integers(0, kinds, n)
    k = int(rng.integers(1, n))
    wanted = [by_definition(Y, y, k, i) for i in range(n)]
    np.testing.assert_array_equal(label_accuracy(Y, y, k).per_point, wanted)


def test_in_a_collapsed_map_the_most_frequent_label_wins():
    y = np.arange(2000) < 1100
    np.testing.assert_array_equal(label_accuracy(np.zeros((2000, 2)), y).per_point, y)


def test_label_accuracy_needs_no_memory_for_points_times_labels():
    Y, y = cloud(20_000, 2), np.arange(20_000)
    label_accuracy(Y[:100], y[:100])
    tracemalloc.start()
    label_accuracy(Y, y // 2, sample=None)
    label_accuracy(Y.round(2), y, sample=None)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 20_000 * 10_000 / 2, "less than half a byte for each point and label"


def test_silhouette_is_scikit_learns(digits):
    X, y = digits
    Y = PCA().fit_transform(X)
    np.testing.assert_allclose(silhouette(Y, y).per_point, sklearn.metrics.silhouette_samples(Y, y), atol=1e-9)
    alone = np.where(np.arange(len(y)) == 3, 99, y)
    wanted = sklearn.metrics.silhouette_samples(Y, alone)
    np.testing.assert_allclose(
        silhouette(Y, alone, sample=100).per_point, wanted[silhouette(Y, alone, sample=100).points], atol=1e-9
    )


@pytest.mark.parametrize("metric", [label_accuracy, silhouette])
@pytest.mark.parametrize("tied", [False, True])
def test_a_sample_of_points_is_right_within_its_error(metric, tied):
    y = np.arange(3000) % 3
    Y = cloud(3000, 2) + y[:, None]
    Y = Y.round() if tied else Y
    whole = metric(Y, y, sample=None)
    assert whole.error == 0
    found = [metric(Y, y, sample=Sample(points=200, random_state=seed)) for seed in range(20)]
    off = np.array([(score.value - whole.value) / score.error for score in found])
    assert np.abs(off).max() < 4
    assert 0.6 < np.sqrt(np.mean(off**2)) < 1.5
    for score in found:
        np.testing.assert_allclose(score.per_point, whole.per_point[score.points], atol=1e-12)


@pytest.mark.parametrize("metric", [label_accuracy, silhouette])
def test_labels_that_do_not_fit_are_refused(metric):
    with pytest.raises(DataError, match="59"):
        metric(cloud(60, 2), np.zeros(59))
    with pytest.raises(DataError, match="different values"):
        silhouette(cloud(60, 2), np.zeros(60))


@pytest.mark.parametrize("k", [0, 60, 2.5, True])
def test_a_number_of_neighbours_that_cannot_be_is_refused_with_the_range(k):
    with pytest.raises(ParameterError, match="from 1 to 59"):
        label_accuracy(cloud(60, 2), np.zeros(60), k)
