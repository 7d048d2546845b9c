"""Chains at the edge of what can be asked: points that a walk leaves for good, separate parts, odd arguments."""

from __future__ import annotations

import numpy as np
import pandas
import pytest
from sklearn import config_context

from conftest import cloud
from lowfold import DataError, ParameterError
from lowfold.markov import SpectralClustering, find_lumps, from_affinity, from_transition, lumpability, sweep_cut

LEFT_FOR_GOOD = [[0.5, 0.5, 0], [0.5, 0.5, 0], [0.3, 0.3, 0.4]]  # the third point


def test_points_that_a_walk_leaves_for_good_are_named_where_they_have_no_meaning():
    chain = from_transition(LEFT_FOR_GOOD)
    for question in (
        lambda: chain.eigenvectors(1),
        lambda: sweep_cut(chain),
        lambda: chain.diffusion_distance(0, 1, 1),
    ):
        with pytest.raises(DataError, match=r"leaves 1 points for good \(the first is point 2\).*Drop"):
            question()
    assert chain.stationary.tolist() == [0.5, 0.5, 0]


def test_classes_of_such_points_and_separate_parts_are_lumpable_all_the_same():
    found = lumpability(from_transition(LEFT_FOR_GOOD), [0, 0, 1])
    assert found.defect == 0
    np.testing.assert_allclose(found.chain.P, [[1, 0], [0.6, 0.4]])
    parts = np.kron(np.eye(2), np.ones((3, 3)))
    assert lumpability(parts, [0, 0, 0, 1, 1, 1]).defect == 0
    assert find_lumps(parts, 2).defect == 0


def test_the_certificate_holds_for_any_order_of_the_points():
    W = np.kron(np.eye(2), np.ones((5, 5)))
    W[4, 5] = W[5, 4] = 0.01
    low, high = sweep_cut(W, np.tile([1.0, -1.0], 5)).certificate
    best = sweep_cut(W).conductance
    assert low <= best <= high


def test_rounding_in_an_affinity_is_forgiven_everywhere():
    W = np.ones((3, 3))
    W[1, 0] += 8e-6
    assert from_affinity(W).is_reversible()
    assert np.isfinite(sweep_cut(W).conductance)


@pytest.mark.parametrize("t", [np.nan, np.inf, None, 1.5, -1])
def test_only_whole_steps_can_be_taken(t):
    with pytest.raises(ParameterError, match="whole number"):
        from_affinity(np.ones((3, 3))).distribution(0, t)


def test_odd_arguments_are_refused_by_name():
    chain = from_affinity(np.ones((4, 4)))
    with pytest.raises(ParameterError, match="sum 1"):
        chain.distribution(np.full(4, np.nan), 1)
    for m, end in ((1, "botom"), (1.5, "top"), (0, "top")):
        with pytest.raises(ParameterError, match=f"m={m!r} eigenvectors from end={end!r}"):
            chain.eigenvectors(m, end)
    with pytest.raises(ParameterError, match="n_classes=2.5 must be an int"):
        find_lumps(chain, 2.5)


@pytest.mark.filterwarnings("error")
def test_a_table_is_clustered_without_a_warning_about_its_columns():
    X = pandas.DataFrame(cloud(40, 3), columns=list("abc"))
    model = SpectralClustering(n_clusters=2).fit(X)
    assert (model.predict(X) == model.labels_).all()


def test_a_long_chain_given_as_a_full_matrix_has_the_eigenvalues_of_the_cosine():
    n = 1000
    P = (np.eye(n, k=1) + np.eye(n, k=-1)) / 2
    P[0, 1] = P[-1, -2] = 1
    values, _ = from_transition(P).eigenvectors(3)
    assert np.allclose(values, np.cos(np.arange(1, 4) * np.pi / (n - 1)), atol=1e-9)


def test_equal_rows_are_in_one_cluster():
    X = np.repeat(cloud(40), 5, axis=0)
    labels = SpectralClustering(n_clusters=4, n_neighbors=6).fit(X).labels_.reshape(40, 5)
    assert (labels == labels[:, :1]).all()


@pytest.mark.parametrize("k", [15, 20, 33])
def test_many_clusters_are_counted_too(k):
    centres = 100 * np.random.default_rng(0).standard_normal((k, 3))
    X = np.repeat(centres, 30, axis=0) + np.random.default_rng(1).standard_normal((30 * k, 3))
    assert SpectralClustering(n_neighbors=8).fit(X).n_clusters_ == k


@pytest.mark.parametrize("form", ["njw", "walk"])
@pytest.mark.parametrize("container", ["pandas", "polars"])
def test_clusters_are_the_same_where_coordinates_come_as_tables(container, form):
    X = np.concatenate([cloud(40, 2), cloud(40, 2, seed=1) + 7, cloud(40, 2, seed=2) - 7])
    model = SpectralClustering(n_clusters=3, form=form).fit(X)
    with config_context(transform_output=container):
        np.testing.assert_array_equal(model.predict(X), model.labels_)
        np.testing.assert_array_equal(SpectralClustering(n_clusters=3, form=form).fit(X).labels_, model.labels_)
