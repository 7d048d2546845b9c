"""What is known of random walks holds here: chains with a known spectrum, Cheeger's inequality, lumps and clusters."""

from __future__ import annotations

from unittest import SkipTest

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array
from scipy.spatial.distance import cdist
from sklearn.metrics import adjusted_rand_score
from sklearn.utils.estimator_checks import estimator_checks_generator

from conftest import cloud
from lowfold import PCA, DiffusionMap, Heat, LaplacianEigenmaps
from lowfold.errors import DataError, ParameterError
from lowfold.markov import chain_of, find_lumps, from_affinity, from_transition, lumpability, sweep_cut
from lowfold.markov.clustering import SpectralClustering

ROUNDING = 1e-10  # of sums and eigenvalues of small matrices with entries of size 1, with room to spare
KINDS = pytest.mark.parametrize("kind", [np.asarray, csr_array], ids=["dense", "sparse"])


def alternating(nodes):
    """Steps to both neighbours with equal probability, from the ends inwards."""
    P = (np.eye(nodes, k=1) + np.eye(nodes, k=-1)) / 2
    P[0, 1] = P[-1, -2] = 1
    return P


def affinity(n, seed=0):
    """Random affinities, many of them 0, on a graph that hangs together."""
    rng = np.random.default_rng(seed)
    W = np.where(rng.random((n, n)) < 0.4, rng.random((n, n)), 0) + 0.1 * np.eye(n, k=1)
    return W + W.T


def conductance(W, members):
    """Of each row of members, a set."""
    degrees = W.sum(axis=1)
    cut = ((members @ W) * ~members).sum(axis=1)
    return cut / np.minimum(members @ degrees, ~members @ degrees)


# The chain of the lecture notes


@KINDS
@pytest.mark.parametrize("n", [1, 2, 4, 10])
def test_the_alternating_chain_has_the_eigenvalues_of_the_cosine(kind, n):
    chain = from_transition(kind(alternating(2 * n)))
    lam, psi = chain.eigenvectors(2 * n - 1)
    expected = np.cos(np.pi * np.arange(1, 2 * n) / (2 * n - 1))
    np.testing.assert_allclose(lam, expected, rtol=0, atol=ROUNDING)
    np.testing.assert_allclose(chain.P @ psi, psi * lam, rtol=0, atol=ROUNDING * np.abs(psi).max())
    assert chain.eigenvectors(1, "bottom")[0] == pytest.approx(-1, abs=ROUNDING)


def test_the_alternating_chain_of_eight_nodes_has_the_second_eigenvector_of_the_notes():
    lam, psi = from_transition(alternating(8)).eigenvectors(1)
    printed = np.array([0.4714, 0.4247, 0.2939, 0.1049, -0.1049, -0.2939, -0.4247, -0.4714])
    assert lam[0] == pytest.approx(0.9010, abs=5e-5)  # half of the last digit printed
    np.testing.assert_allclose(psi[:, 0] / np.linalg.norm(psi) * np.sign(psi[0, 0]), printed, rtol=0, atol=5e-5)


@KINDS
@pytest.mark.parametrize("nodes", [6, 8, 80])
def test_even_and_odd_nodes_are_lumps_that_the_chain_swaps(kind, nodes):
    chain = from_transition(kind(alternating(nodes)))
    given = lumpability(chain, np.arange(nodes) % 2)
    assert given.defect == 0
    np.testing.assert_allclose(given.chain.P, [[0, 1], [1, 0]], rtol=0, atol=ROUNDING)
    found = find_lumps(chain, 2)
    assert found.defect <= ROUNDING
    assert adjusted_rand_score(found.labels, np.arange(nodes) % 2) == 1


# Chains


@KINDS
def test_the_walk_on_an_affinity_settles_where_the_degrees_are(kind):
    W = affinity(20)
    chain = from_affinity(kind(W))
    np.testing.assert_allclose(chain.stationary, W.sum(axis=1) / W.sum(), rtol=0, atol=ROUNDING)
    np.testing.assert_allclose(chain.P.T @ chain.stationary, chain.stationary, rtol=0, atol=ROUNDING)
    np.testing.assert_allclose(chain.P.sum(axis=1), 1, rtol=0, atol=ROUNDING)
    assert chain.is_reversible()
    np.testing.assert_allclose(from_transition(chain.P).stationary, chain.stationary, rtol=0, atol=ROUNDING)


@KINDS
def test_a_directed_cycle_with_a_chord_settles_but_is_not_reversible(kind):
    P = np.roll(np.eye(4), 1, axis=1)
    P[0, 1] = P[0, 2] = 0.5
    chain = from_transition(kind(P))
    # Everybody passes 0, 2 and 3 in each round, and every second time 1.
    np.testing.assert_allclose(chain.stationary, np.array([2, 1, 2, 2]) / 7, rtol=0, atol=ROUNDING)
    assert not chain.is_reversible()
    assert chain.reversibility_defect() == pytest.approx(2 / 7)


@KINDS
def test_points_that_the_walk_leaves_for_good_have_no_share(kind):
    chain = from_transition(kind(np.array([[0.4, 0.3, 0.3, 0], [0, 0.5, 0.5, 0], [0, 1, 0, 0], [0.5, 0, 0, 0.5]])))
    np.testing.assert_allclose(chain.stationary, [0, 2 / 3, 1 / 3, 0], rtol=0, atol=ROUNDING)


@KINDS
def test_the_walk_after_t_steps_is_a_power_of_its_matrix(kind):
    P = from_affinity(affinity(12)).P
    chain = from_transition(kind(P))
    start = np.arange(12) / 66
    for t in (0, 1, 2, 7):
        power = np.linalg.matrix_power(P, t)
        np.testing.assert_allclose(chain.distribution(3, t), power[3], rtol=0, atol=ROUNDING)
        np.testing.assert_allclose(chain.distribution(start, t), start @ power, rtol=0, atol=ROUNDING)
        np.testing.assert_allclose(chain.distribution(chain.stationary, t), chain.stationary, rtol=0, atol=ROUNDING)


@pytest.mark.parametrize("alpha", [0.0, 0.5, 1.0])
def test_diffusion_distances_of_the_chain_are_those_of_the_map(alpha):
    X = cloud(30, 3)
    for t in (0, 1, 4):
        model = DiffusionMap(n_components=29, sigma=0.8, alpha=alpha, t=t).fit(X)
        chain = chain_of(model)
        for i, j in [(0, 1), (5, 20), (7, 7)]:
            # Equal up to the rounding of 29 coordinates and their squares.
            expected = pytest.approx(model.diffusion_distance(i, j), rel=1e-6, abs=1e-9)
            assert chain.diffusion_distance(i, j, t) == expected


# Cuts and lumps


@given(n=st.integers(2, 10), seed=st.integers(0, 1000))
def test_cheegers_inequality_and_the_certificate_hold_on_any_graph(n, seed):
    W = affinity(n, seed)
    cut = sweep_cut(W)
    sets = (np.arange(1, 2**n - 1)[:, None] >> np.arange(n) & 1).astype(bool)
    h, h_f, lam = conductance(W, sets).min(), cut.conductance, cut.eigenvalue
    assert 2 * h >= lam - ROUNDING
    assert lam >= h_f**2 / 2 - ROUNDING
    assert h_f >= h - ROUNDING
    assert cut.certificate == (lam / 2, h_f)
    prefixes = np.tri(n, dtype=bool)[:-1][:, np.argsort(cut.order)]
    np.testing.assert_allclose(cut.profile, conductance(W, prefixes), rtol=0, atol=ROUNDING)
    assert conductance(W, cut.members[None])[0] == pytest.approx(h_f, abs=ROUNDING)


@given(n=st.integers(2, 12), seed=st.integers(0, 1000))
def test_a_sweep_along_a_given_function_takes_its_best_level_and_has_no_smaller_eigenvalue(n, seed):
    W, f = affinity(n, seed), np.random.default_rng(seed).standard_normal(n)
    cut = sweep_cut(W, f)
    assert (np.diff(f[cut.order]) <= 0).all()
    levels = f >= np.sort(f)[:0:-1, None]
    assert cut.conductance == pytest.approx(conductance(W, levels).min(), abs=ROUNDING)
    assert cut.eigenvalue >= sweep_cut(W).eigenvalue - ROUNDING


@pytest.mark.parametrize("sizes", [(3, 3), (6, 9), (20, 5)])
def test_two_cliques_joined_by_an_edge_are_cut_there(sizes):
    left = np.arange(sum(sizes)) < sizes[0]
    W = (left[:, None] == left).astype(float) - np.eye(sum(sizes))
    W[0, -1] = W[-1, 0] = 1
    cut = sweep_cut(W)
    assert cut.members.tolist() in (left.tolist(), (~left).tolist())
    assert cut.conductance == pytest.approx(1 / (min(sizes) * (min(sizes) - 1) + 1))


def test_a_cut_is_the_same_from_a_chain_a_model_and_an_affinity():
    X = np.vstack([cloud(20, 2) / 2, cloud(25, 2, seed=1) / 2 + 2.5])
    W = np.exp(-(cdist(X, X) ** 2) / 2) - np.eye(45)
    neighbors = LaplacianEigenmaps(n_components=1, n_neighbors=44, weights=Heat(1.0)).fit(X)
    diffusion = DiffusionMap(n_components=1, metric="affinity", alpha=0.0).fit(W)
    expected = sweep_cut(W)
    assert adjusted_rand_score(expected.members, np.arange(45) < 20) == 1
    for source in (csr_array(W), from_affinity(W), chain_of(neighbors), neighbors, diffusion):
        cut = sweep_cut(source)
        np.testing.assert_array_equal(cut.members, expected.members)
        np.testing.assert_allclose(cut.profile, expected.profile, rtol=0, atol=ROUNDING)
        assert cut.eigenvalue == pytest.approx(expected.eigenvalue, abs=ROUNDING)


@KINDS
def test_one_class_and_singletons_are_always_lumpable_and_a_random_partition_is_not(kind):
    W = affinity(15)
    assert lumpability(kind(W), np.zeros(15)).defect <= ROUNDING
    alone = lumpability(kind(W), np.arange(15))
    assert alone.defect == 0
    np.testing.assert_allclose(alone.chain.P, from_affinity(W).P, rtol=0, atol=ROUNDING)
    assert lumpability(kind(W), np.random.default_rng(0).permutation(15) % 3).defect > 0.1


@settings(max_examples=20)
@given(sizes=st.lists(st.integers(2, 7), min_size=2, max_size=5), seed=st.integers(0, 1000))
def test_a_chain_of_blocks_is_lumpable_into_its_blocks_which_are_found(sizes, seed):
    k, names = len(sizes), np.array(list("edcba")[: len(sizes)])
    B = np.random.default_rng(seed).random((k, k)) + np.eye(k)
    P = B / B.sum(axis=1, keepdims=True)
    labels = np.repeat(np.arange(k), sizes)
    lumping = lumpability(from_transition((P / sizes)[labels][:, labels]), names[labels])
    assert lumping.defect <= ROUNDING
    np.testing.assert_allclose(lumping.chain.P, P[::-1, ::-1], rtol=0, atol=ROUNDING)  # classes by the order of names
    assert find_lumps((B + B.T)[labels][:, labels], k).defect <= ROUNDING


# Clusters


def blobs(n=40, seed=0):
    corners = np.array([[0, 0], [7, 0], [0, 7]])
    return (cloud(3 * n, 2, seed=seed).reshape(3, n, 2) + corners[:, None]).reshape(-1, 2), np.repeat(range(3), n)


def rings(n=150):
    rng = np.random.default_rng(0)
    angle, ring = 2 * np.pi * rng.random(2 * n), np.repeat([0, 1], n)
    radius = 1 + 2 * ring + 0.1 * rng.standard_normal(2 * n)
    return np.column_stack([radius * np.cos(angle), radius * np.sin(angle)]), ring


@pytest.mark.parametrize("form", ["njw", "walk"])
@pytest.mark.parametrize("shape", [blobs, rings])
def test_blobs_and_rings_are_told_apart_and_new_points_follow(shape, form):
    X, truth = shape()
    model = SpectralClustering(n_clusters=len(set(truth)), n_neighbors=10, form=form, random_state=0).fit(X)
    assert adjusted_rand_score(model.labels_, truth) == 1
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    new, placed = X + 0.05 * cloud(len(X), 2, seed=5), model.labels_.copy()
    np.testing.assert_array_equal(model.predict(new), placed)
    np.testing.assert_array_equal(placed, np.concatenate([model.predict(row[None]) for row in new]))
    for jobs in (1, 2, 3):
        np.testing.assert_array_equal(model.set_params(n_jobs=jobs).fit(X).labels_, placed)


@pytest.mark.parametrize(("size", "k"), [(20, 12), (40, 10), (100, 15)])
def test_the_number_of_clusters_is_where_the_eigenvalues_have_their_largest_gap(size, k):
    X, truth = blobs(size)
    model = SpectralClustering(n_neighbors=k).fit(X)
    assert model.n_clusters_ == 3
    assert adjusted_rand_score(model.labels_, truth) == 1


def test_distances_do_as_well_as_rows():
    (X, truth), (new, _) = blobs(), blobs(10, seed=3)
    model = SpectralClustering(n_clusters=3, n_neighbors=10, metric="precomputed").fit(cdist(X, X))
    assert adjusted_rand_score(model.labels_, truth) == 1
    assert adjusted_rand_score(model.predict(cdist(new, X)), np.repeat(range(3), 10)) == 1


# Those of the array API need a process of their own.
CHECKS = estimator_checks_generator(SpectralClustering(n_clusters=2, n_neighbors=6))


@pytest.mark.parametrize(("model", "check"), [c for c in CHECKS if "array_api" not in c[1].func.__name__])
def test_common_check_of_scikit_learn_passes(model, check):
    try:
        check(model)
    except SkipTest as reason:
        pytest.fail(f"the check did not run: {reason}")


# Bad input

CHAIN, CYCLE = from_transition(alternating(8)), from_transition(np.roll(np.eye(4), 1, axis=1))

REFUSED = [
    (lambda: CHAIN.eigenvectors(8), ParameterError, "m=8 eigenvectors.*from 1 to 7.*in between"),
    (lambda: CYCLE.eigenvectors(1), DataError, "not reversible.*0.25.*symmetric affinity"),
    (lambda: CHAIN.distribution(8, 1), ParameterError, "start at 8.*from 0 to 7.*8 probabilities"),
    (lambda: CHAIN.distribution(np.ones(8), 1), ParameterError, r"8 probabilities of sum 1.*\(8,\).*sum 8.*Divide"),
    (lambda: CHAIN.distribution(np.ones(3) / 3, 1), ParameterError, r"8 probabilities.*\(3,\)"),
    (lambda: CHAIN.distribution(np.eye(8)[0] * 3 - 0.25, 1), ParameterError, "8 probabilities"),
    (lambda: CHAIN.distribution(0, 1.5), ParameterError, "t=1.5.*whole number.*Round"),
    (lambda: CHAIN.distribution(0, -1), ParameterError, "t=-1.*0 or more"),
    (lambda: from_affinity(np.ones((3, 2))), DataError, r"Affinities.*square.*\(3, 2\).*Pass"),
    (lambda: from_affinity(np.eye(3) - 2), DataError, "negative.*-2.*Clip"),
    (lambda: from_affinity(csr_array(np.tri(3))), DataError, r"symmetric.*\(3, 3\).*\(W \+ W.T\) / 2"),
    (lambda: from_affinity(np.diag([1.0, 0, 2])), DataError, "Point 1 has no affinity.*Drop"),
    (lambda: from_transition(np.ones((3, 3))), DataError, "rows of sum 1.*from 3 to 3.*Divide"),
    (lambda: from_transition(np.eye(2) * 3 - 1), DataError, "at least 0.*smallest is -1"),
    (lambda: from_transition(np.eye(3)), DataError, "3 classes.*never leaves.*not unique.*by itself"),
    (lambda: chain_of(PCA()), ParameterError, "PCA has no random walk.*DiffusionMap.*from_affinity"),
    (lambda: sweep_cut(np.ones((1, 1))), DataError, "2 points at least.*there are 1.*more points"),
    (lambda: sweep_cut(CHAIN, np.ones(3)), ParameterError, r"each of the 8 points.*\(3,\).*one column"),
    (lambda: sweep_cut(CHAIN, np.full(8, np.nan)), ParameterError, "one finite number"),
    (lambda: lumpability(CHAIN, [0, 1]), ParameterError, r"each of the 8 points.*\(2,\).*column"),
    (lambda: find_lumps(CHAIN, 1), ParameterError, "n_classes=1.*from 2 to 8.*in between"),
    (lambda: SpectralClustering(n_clusters=9).fit(cloud(9)), ParameterError, "n_clusters=9.*n_samples = 9.*Lower"),
    (lambda: SpectralClustering().fit(cloud(1)), ParameterError, "2 at least.*n_samples = 1.*more samples"),
]


@pytest.mark.parametrize(("call", "error", "message"), REFUSED)
def test_bad_input_is_refused_with_a_remedy(call, error, message):
    with pytest.raises(error, match=message):
        call()
