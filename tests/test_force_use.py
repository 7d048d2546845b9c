"""What users ask of the force methods: watching, continuing, other input and new points."""

from __future__ import annotations

import os
import pickle
import signal
import threading

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn.datasets import load_digits
from sklearn.neighbors import KNeighborsClassifier, KNeighborsTransformer

from conftest import FORCE_METHODS, SHORT, same_bits
from lowfold import (
    SNE,
    TSNE,
    Annealed,
    DataError,
    ElasticEmbedding,
    Homotopy,
    SymmetricSNE,
)
from shapes import joint_by_definition, swiss_roll

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
    X = digits[0][:200]
    both = TSNE(perplexity=(5.0, 20.0), schedule=SHORT).fit(X)
    assert np.isfinite(both.embedding_).all()
    one, two = (TSNE(perplexity=p, schedule=SHORT).fit(X).report_.findings["neighbours"] for p in (5.0, 20.0))
    assert one < two == both.report_.findings["neighbours"] == 60


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
    model = method().fit(X[:1200])
    placed = model.transform(X[1200:])
    score = KNeighborsClassifier(10).fit(model.embedding_, y[:1200]).score(placed, y[1200:])
    among = KNeighborsClassifier(10).fit(model.embedding_[:1000], y[:1000]).score(model.embedding_[1000:], y[1000:1200])
    assert score > among - 0.05  # as good as points that took part
    assert same_bits(placed[7:8], model.transform(X[1207:1208]))
    assert same_bits(placed[::-1], model.transform(X[1200:][::-1]))
    assert same_bits(placed, pickle.loads(pickle.dumps(model)).transform(X[1200:]))


def test_new_rows_of_distances_and_affinities_are_placed_as_rows_are(digits):
    X, _ = digits
    rows = TSNE(perplexity=10.0).fit(X[:500])
    distances = TSNE(perplexity=10.0, metric="precomputed", init=rows.embedding_).fit(cdist(X[:500], X[:500]))
    assert np.isfinite(distances.transform(cdist(X[500:], X[:500]))).all()
    model = TSNE(metric="affinity").fit(joint_by_definition(X[:500], 10.0))
    new = np.exp(-cdist(X[500:], X[:500], "sqeuclidean") / 200)
    new[new < np.sort(new, axis=1)[:, -30:-29]] = 0
    assert np.isfinite(model.transform(new)).all()
    with pytest.raises(DataError, match="Row 1 of X has no affinity"):
        model.transform(np.vstack([new[0], np.zeros(500)]))


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
