"""What users ask of the force methods: watching, continuing, other input and new points."""

from __future__ import annotations

import os
import pickle
import signal
import threading

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.spatial.distance import cdist
from sklearn.datasets import load_digits
from sklearn.neighbors import KNeighborsClassifier, KNeighborsTransformer

from conftest import FORCE_METHODS, SHORT, same_bits
from lowfold import (
    SNE,
    TSNE,
    Annealed,
    Classical,
    DataError,
    ElasticEmbedding,
    Homotopy,
    SymmetricSNE,
)
from shapes import joint_by_definition, swiss_roll


def to_others(X):
    """Squared distances, with no point its own neighbour."""
    return cdist(X, X, "sqeuclidean") + np.diag(np.full(len(X), np.inf))


def affinities_to_nearest(D, perplexities):
    """The mean over perplexities of affinities by rows of squared distances, the entropies' equations solved."""
    P = np.zeros(D.shape)
    for r, p in zip(D, P, strict=True):
        near = np.argsort(r)[: int(3 * max(perplexities))]

        def gaussian(log_b, r=r[near] - r[near[0]]):
            w = np.exp(-np.exp(log_b) * r)
            return w / w.sum()

        def excess(log_b, wanted, gaussian=gaussian):
            return -np.sum(gaussian(log_b) * np.log(np.maximum(gaussian(log_b), 1e-300))) - np.log(wanted)

        p[near] = np.mean([gaussian(brentq(excess, -30, 30, (wanted,))) for wanted in perplexities], axis=0)
    return P


# What users ask


def test_a_callback_sees_every_step_and_can_end_the_optimisation(digits):
    seen = []

    def callback(step):
        seen.append(step)
        return step.iteration == 30

    model = TSNE(schedule=Annealed(callback=callback)).fit(digits[0])
    assert [step.iteration for step in seen] == list(range(1, 31))
    assert model.n_iter_ == 30
    assert {step.phase for step in seen} == {"early exaggeration"}
    assert [step.loss is not None for step in seen].count(True) == 2  # the first and the twentieth
    assert np.array_equal(seen[-1].embedding.astype(np.float64), model.embedding_)
    assert not np.array_equal(seen[-2].embedding, seen[-1].embedding)  # a step keeps what it saw


def test_an_optimisation_goes_on_from_where_it_stopped(digits):
    model = TSNE(schedule=Annealed(max_iter=40)).fit(digits[0])
    before, iterations, place = model.kl_divergence_, model.n_iter_, model.embedding_.copy()
    assert model.resume(100) is model
    assert model.n_iter_ == iterations + 100
    assert model.kl_divergence_ < before
    assert model.report_.findings["loss"] == model.kl_divergence_
    assert not np.array_equal(place, model.embedding_)
    assert same_bits(model.transform(digits[0]), model.embedding_)


@pytest.mark.parametrize(
    ("method", "rate"), [(TSNE, "auto"), (SymmetricSNE, 10.0), (SNE, 0.05), (ElasticEmbedding, 0.05)]
)
def test_a_classical_optimisation_that_goes_on_ends_where_a_longer_one_does(method, rate, digits):
    X = digits[0][:300]
    early = 0 if method is ElasticEmbedding else 20  # it has no early phase
    short, long = (Classical(early_iter=early, max_iter=count, learning_rate=rate) for count in (30, 60))
    resumed, straight = method(schedule=short).fit(X).resume(30), method(schedule=long).fit(X)
    assert same_bits(resumed.embedding_, straight.embedding_)
    assert (resumed.loss_, resumed.n_iter_) == (straight.loss_, straight.n_iter_)


def test_ctrl_c_keeps_the_best_so_far(digits):
    def interrupt(step):
        if step.iteration == 50:
            os.kill(os.getpid(), signal.SIGINT)

    assert threading.current_thread() is threading.main_thread()
    model = TSNE(schedule=Annealed(callback=interrupt))
    with pytest.raises(KeyboardInterrupt):
        model.fit(digits[0])
    assert 50 <= model.n_iter_ <= 52
    assert np.isfinite(model.embedding_).all()
    assert np.ptp(model.embedding_) > 0
    model.schedule = "annealed"
    assert model.resume(30).n_iter_ >= 80


def test_elastic_embedding_goes_on_at_its_strength(digits):
    model = ElasticEmbedding(schedule=Annealed(max_iter=20)).fit(digits[0])
    before, path = model.energy_, len(model.path_)
    model.resume(60)
    assert model.energy_ <= before
    assert len(model.path_) == path
    assert np.array_equal(model.path_[-1][1].astype(np.float64), model.embedding_)


@pytest.mark.parametrize("n_components", [1, 2, 3, 5])
@pytest.mark.parametrize("method", FORCE_METHODS)
def test_any_number_of_components_is_given(method, n_components, digits):
    Y = method(n_components=n_components, schedule=SHORT).fit_transform(digits[0])
    assert Y.shape == (600, n_components)
    assert (Y.std(axis=0) > 0).all()


def test_several_perplexities_are_the_mean_of_their_affinities(digits):
    X = digits[0][:150]
    both, listed = (TSNE(perplexity=p, schedule=SHORT).fit(X) for p in ((5.0, 10.0), [5.0, 10.0]))
    assert same_bits(both.embedding_, listed.embedding_)
    assert both.report_.findings["neighbours"] == 30
    P = affinities_to_nearest(to_others(X), (5.0, 10.0))
    P = (P + P.T) / 300
    w = 1 / (1 + cdist(both.embedding_, both.embedding_, "sqeuclidean"))
    q = w / (w.sum() - 150)
    assert both.kl_divergence_ == pytest.approx((P[P > 0] * np.log(P[P > 0] / q[P > 0])).sum(), rel=1e-3)


@pytest.mark.parametrize("method", FORCE_METHODS)
def test_distances_neighbours_and_affinities_can_be_given_instead_of_rows(method, digits):
    X, y = digits
    settings = {"perplexity": 10.0, "init": "spectral"}
    rows = method(**settings).fit(X)
    by_distances = method(metric="precomputed", **settings).fit(cdist(X, X))
    graph = KNeighborsTransformer(n_neighbors=30, mode="distance").fit_transform(X)
    by_graph = method(metric="precomputed", **settings).fit(graph)
    joint = joint_by_definition(X, 10.0)
    by_affinity = method(metric="affinity", init="spectral").fit(joint)
    for other in (by_distances, by_graph):
        assert other.loss_ == pytest.approx(rows.loss_, rel=0.05)
    for model in (rows, by_distances, by_graph, by_affinity):
        assert KNeighborsClassifier(5).fit(model.embedding_, y).score(model.embedding_, y) > 0.9


@pytest.mark.parametrize("method", FORCE_METHODS)
def test_new_digits_are_placed_with_their_class(method):
    X, y = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(X))
    X, y = X[order], y[order]
    model = method().fit(X[:1200])
    placed = model.transform(X[1200:])
    score = KNeighborsClassifier(10).fit(model.embedding_, y[:1200]).score(placed, y[1200:])
    among = KNeighborsClassifier(10).fit(model.embedding_[:1000], y[:1000]).score(model.embedding_[1000:], y[1000:1200])
    assert score > among - 0.05  # as good as points that took part
    assert score >= (0.95 if method is TSNE else 0.9)
    assert same_bits(placed[7:8], model.transform(X[1207:1208]))
    assert same_bits(placed[::-1], model.transform(X[1200:][::-1]))
    assert same_bits(placed, pickle.loads(pickle.dumps(model)).transform(X[1200:]))


@pytest.mark.parametrize("method", FORCE_METHODS)
def test_new_rows_of_distances_and_affinities_are_placed_as_rows_are(method, digits):
    X, new = digits[0][:400], digits[0][400:450]
    rows = method(perplexity=10.0).fit(X)
    placed = rows.transform(new)
    stay = {"init": rows.embedding_, "schedule": Classical(early_iter=0, max_iter=0)}
    if method is ElasticEmbedding:
        stay["strength"] = Homotopy(steps=1)
    distances = method(perplexity=10.0, metric="precomputed", **stay).fit(cdist(X, X))
    assert np.allclose(distances.transform(cdist(new, X)), placed, atol=0.01)
    P = affinities_to_nearest(to_others(X), (10.0,))
    model = method(metric="affinity", **stay).fit((P + P.T) / 2)
    weights = affinities_to_nearest(cdist(new, X, "sqeuclidean"), (10.0,))
    assert np.allclose(model.transform(weights), placed, atol=0.01)
    with pytest.raises(DataError, match="Row 1 of X has no affinity"):
        model.transform(np.vstack([weights[0], np.zeros(400)]))


@pytest.mark.parametrize("method", FORCE_METHODS)
def test_a_new_point_comes_to_rest_where_its_own_loss_has_no_slope(method, digits):
    """sum_j p_j (-log w_j) + log sum_j w_j with p of the same perplexity; elastic embedding has no logarithm there."""
    X, new = digits[0][:400], digits[0][400:450]
    model = method(perplexity=10.0, repulsion="exact").fit(X)
    P = affinities_to_nearest(cdist(new, X, "sqeuclidean"), (10.0,))

    def slope(Y):
        apart = Y[:, None] - model.embedding_
        r = (apart**2).sum(axis=2)
        w, pull = (1 / (1 + r), 1 / (1 + r)) if method is TSNE else (np.exp(-r), np.ones(r.shape))
        share = model.strength if method is ElasticEmbedding else 1 / w.sum(axis=1, keepdims=True)
        stiffness = (P * pull).sum(axis=1)
        return np.linalg.norm(np.einsum("ij,ijd->id", (P - share * w) * pull, apart), axis=1) / stiffness

    assert np.median(slope(P @ model.embedding_)) > 0.1
    assert slope(model.transform(new)).max() < 0.005  # units of the kernel's width


# The classes


def class_gap(Y, y):
    """The distance from a point to the nearest one of another class, over that to its own 10 nearest."""
    D = cdist(Y, Y)
    np.fill_diagonal(D, np.inf)
    other = np.where(y[:, None] == y, np.inf, D).min(axis=1)
    return float(np.median(other / np.sort(D, axis=1)[:, :10].mean(axis=1)))


def test_gaussian_methods_crowd_where_t_sne_leaves_gaps(digits):
    """The notes: many moderate distances are crushed together without a heavy tail."""
    X, y = digits
    gaps = {method: class_gap(method().fit_transform(X), y) for method in (TSNE, SymmetricSNE, SNE)}
    assert gaps[TSNE] > 1.5 * gaps[SymmetricSNE]
    assert gaps[TSNE] > 1.5 * gaps[SNE]


def test_the_homotopy_of_elastic_embedding_unrolls_the_swiss_roll():
    X, sheet = swiss_roll(1500)[:2]
    along = np.asarray(sheet)[:, 0] if np.ndim(sheet) > 1 else np.asarray(sheet)
    model = ElasticEmbedding(perplexity=10.0).fit(X)
    strengths = [strength for strength, _ in model.path_]
    assert len(strengths) == 12
    assert np.allclose(np.diff(np.log(strengths)), np.log(0.1 * 1500) / 11)
    sizes = [Y.std() for _, Y in model.path_]
    assert sizes[-1] > 2 * max(sizes[:3])
    assert np.array_equal(model.path_[-1][1].astype(np.float64), model.embedding_)
    # Neighbours in the embedding lie at nearly the same place along the roll.
    D = cdist(model.embedding_, model.embedding_)
    nearest = np.argsort(D, axis=1)[:, 1:6]
    jump = np.abs(along[nearest] - along[:, None]).mean() / np.ptp(along)
    assert jump < 0.02
    assert model.energy_ == model.loss_


def test_heavier_points_keep_more_room(digits):
    X = digits[0][:300]
    mass = np.where(np.arange(300) < 150, 3.0, 1.0)
    Y = ElasticEmbedding(strength=Homotopy(mass=mass)).fit_transform(X)
    D = cdist(Y, Y)
    np.fill_diagonal(D, np.inf)
    nearest = np.sort(D, axis=1)[:, :3].mean(axis=1)
    assert np.median(nearest[:150]) > np.median(nearest[150:])


@pytest.mark.parametrize("method", FORCE_METHODS)
def test_exact_and_grid_place_new_points_in_the_same_places(method, digits):
    X = digits[0]
    more = {"strength": Homotopy(mass=np.where(np.arange(500) < 250, 3.0, 1.0))} if method is ElasticEmbedding else {}
    grid = method(repulsion="grid", **more).fit(X[:500])
    exact = method(repulsion="exact", init=grid.embedding_, schedule=Annealed(max_iter=0), **more)
    placed = []
    for model in (grid, exact.fit(X[:500])):
        model._frozen = grid._frozen
        placed.append(model.transform(X[500:]))
    assert np.median(np.abs(placed[0] - placed[1])) < 0.01
