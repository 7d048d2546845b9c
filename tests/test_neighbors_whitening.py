"""Metrics that learn from the data: the same distances as scikit-learn's, by the search of Euclid's."""

from __future__ import annotations

import signal

import numpy as np
import pytest
from sklearn.metrics import pairwise_distances
from sklearn.neighbors import NearestNeighbors

from conftest import cloud, same_bits
from lowfold import MDS, Cells, Isomap, build_index, inputs, load, save
from lowfold.backend import eigenpairs
from lowfold.neighbors.whitening import Whitening
from lowfold.spectral.pairs import PairDistances
from test_neighbors import expected

METRICS = pytest.mark.parametrize("metric", ["seuclidean", "mahalanobis"])
DTYPES = pytest.mark.parametrize("dtype", [np.float32, np.float64], ids=["float32", "float64"])


def learnt(X, metric):
    """What scikit-learn has to be told."""
    X = X.astype(np.float64)
    return {"V": X.var(axis=0, ddof=1)} if metric == "seuclidean" else {"VI": np.linalg.inv(np.cov(X, rowvar=False))}


@DTYPES
@METRICS
@pytest.mark.parametrize("scales", [[1, 1, 1, 1], [1, 5, 100, 0.01], [1e-9, 1, 1e6, 1]], ids=["alike", "apart", "far"])
def test_neighbors_are_those_of_scikit_learn(metric, dtype, scales):
    mixed = cloud(330, 4) @ (np.eye(4) + 0.5)
    X, new = np.split((mixed * scales + [0, 3, 1e5, 0]).astype(dtype), [300])
    index = build_index(X, metric=metric)
    theirs = NearestNeighbors(metric=metric, metric_params=learnt(X, metric), algorithm="brute").fit(X.astype(float))
    for rows, found in ((X, index.query(None, 7)), (new, index.query(new, 7))):
        lengths, order = theirs.kneighbors(rows.astype(float), 300)
        D = np.take_along_axis(lengths, np.argsort(order, axis=1), axis=1)
        if rows is X:
            np.fill_diagonal(D, np.inf)
        assert found.distances.dtype == dtype
        np.testing.assert_array_equal(found.indices, expected(D, 7)[0])
        np.testing.assert_allclose(found.distances, expected(D, 7)[1], rtol=1e-5)


def test_fewer_neighbors_are_the_first_of_more_also_among_distances_that_are_equal_once_rounded():
    X = np.random.default_rng(3).integers(0, 2, (300, 9)).astype(np.float32)
    index = build_index(X, metric="seuclidean")
    for queries in (None, X[:50] + np.float32(0.25)):
        fewer, more = index.query(queries, 5), index.query(queries, 60)
        np.testing.assert_array_equal(fewer.indices, more.indices[:, :5])
        tied = more.distances[:, 1:] == more.distances[:, :-1]
        assert (np.diff(more.indices, axis=1)[tied] > 0).all()


def test_mahalanobis_does_not_see_what_the_columns_are_multiplied_by_or_that_one_is_there_twice():
    X = cloud(200, 5)
    plain = build_index(X, metric="mahalanobis").query(None, 6)
    scaled = build_index(X * [1e-12, 1, 1e12, 3, 1e5], metric="mahalanobis").query(None, 6)
    again = build_index(np.hstack([X, X[:, :2] - X[:, [3]], np.ones((200, 1))]), metric="mahalanobis").query(None, 6)
    for other in (scaled, again):
        np.testing.assert_array_equal(other.indices, plain.indices)
        np.testing.assert_allclose(other.distances, plain.distances, rtol=1e-9)


def test_under_mahalanobis_all_of_few_rows_are_equally_far():
    X = cloud(20, 60)  # in general position: the covariance has rank 19, and u is a simplex
    found = build_index(X, metric="mahalanobis").query(None, 19)
    np.testing.assert_allclose(found.distances, np.sqrt(2 * 19), rtol=1e-6)


def test_rows_that_never_vary_are_at_0_under_mahalanobis():
    assert (build_index(np.ones((8, 3)), metric="mahalanobis").query(None, 3).distances == 0).all()


@METRICS
def test_the_rows_of_a_fit_and_new_ones_have_the_same_bits_on_any_number_of_threads(metric):
    X, new = cloud(300, 40, dtype=np.float32), cloud(20, 40, seed=1, dtype=np.float32)
    found = [build_index(X, metric=metric, n_jobs=threads).query(new, 5) for threads in (1, 2, 3, 8)]
    alone = build_index(X, metric=metric).query(new[3:4], 5)
    for other in found[1:]:
        assert same_bits(other.distances, found[0].distances)
    assert same_bits(alone.distances[0], found[0].distances[3])


@METRICS
def test_the_approximate_search_serves_them_too(metric):
    X = cloud(4000, 8) * np.arange(1, 9)
    found = build_index(X, metric=metric, search=Cells(recall=0.9)).query(None, 10)
    true = build_index(X, metric=metric, search="exact").query(None, 10)
    share = np.mean([np.isin(a, b).mean() for a, b in zip(found.indices, true.indices, strict=True)])
    assert 0.9 <= found.recall < 1
    assert share == pytest.approx(found.recall, abs=0.03)


@METRICS
def test_all_pairs_are_measured_alike_and_equal_rows_are_at_0(metric):
    X = cloud(60, 4) * [1, 5, 10, 0.1]
    X[7] = X[3]
    D = pairwise_distances(X, metric=metric, **learnt(X, metric))
    pairs = PairDistances(inputs.Data(inputs.ROWS, X), metric)
    np.testing.assert_allclose(pairs.rows(X, 1), D, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(pairs.among(X[5:]).rows(X, 1), D[:, 5:], rtol=1e-9, atol=1e-12)
    assert pairs.rows(X[[3]], 1)[0, 7] == pairs.between(X[[3]], X[[7]])[0, 0] == 0
    stress, expected_stress = (MDS(metric=m).fit(rows).raw_stress_ for m, rows in ((metric, X), ("precomputed", D)))
    assert stress == pytest.approx(expected_stress, rel=1e-5)


@METRICS
def test_models_of_such_metrics_are_stored_and_read(metric, tmp_path):
    X, new = cloud(80, 5), cloud(9, 5, seed=1)
    for components in ("join", "largest"):
        model = Isomap(n_neighbors=6, metric=metric, components=components).fit(np.vstack([X, X[:12] + 50]))
        save(model, tmp_path / "model.lowfold")
        assert same_bits(load(tmp_path / "model.lowfold").transform(new), model.transform(new))


def test_ctrl_c_is_heard_while_many_features_are_turned(monkeypatch):
    X = cloud(300, 200)
    monkeypatch.setattr(eigenpairs, "LAPACK_SIZE", 100)
    reflection, calls = eigenpairs._reflection, []

    def interrupted(x):
        calls.append(x)
        if len(calls) == 20:
            signal.raise_signal(signal.SIGINT)
        return reflection(x)

    monkeypatch.setattr(eigenpairs, "_reflection", interrupted)
    with pytest.raises(KeyboardInterrupt):
        Whitening(X, "mahalanobis", 1)
    assert len(calls) == 20
