"""What the force methods refuse or warn of, where they begin, and that nothing breaks on the way."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn.neighbors import KNeighborsTransformer, kneighbors_graph

from conftest import FORCE_METHODS, SHORT, cloud
from lowfold import (
    PCA,
    SNE,
    TSNE,
    Classical,
    DataError,
    ElasticEmbedding,
    Homotopy,
    LaplacianEigenmaps,
    ParameterError,
    SymmetricSNE,
)
from lowfold.errors import ConvergenceWarning
from shapes import up_to_signs

AS_IT_STARTS = Classical(early_iter=0, max_iter=0)


def test_a_graph_with_fewer_neighbours_than_the_perplexity_spreads_over_is_said_or_refused():
    X = cloud(60)
    graph = KNeighborsTransformer(n_neighbors=12, mode="distance").fit_transform(X)
    with pytest.warns(UserWarning, match=r"perplexity=8 spreads over 24 .* with 12; 12 of each point are used"):
        model = TSNE(metric="precomputed", perplexity=8.0, schedule=SHORT).fit(graph)
    assert model.report_.findings["neighbours"] == 12
    with pytest.raises(ParameterError, match=r"perplexity=13 .* points with 12\. Lower perplexity to 4 .* with 39"):
        TSNE(metric="precomputed", perplexity=13.0).fit(graph)


def test_a_perplexity_that_cannot_be_had_is_refused_with_a_remedy():
    with pytest.raises(
        ParameterError, match=r"perplexity=30 needs more than 30 .* n_samples = 20.*Lower perplexity to 6"
    ):
        TSNE().fit(cloud(20))


def test_a_perplexity_that_leaves_no_room_is_warned_of_with_the_value_used():
    with pytest.warns(UserWarning, match=r"perplexity=10 spreads over 30 neighbours .* only 19 other points; all 19"):
        TSNE(perplexity=10.0, schedule=SHORT).fit(cloud(20))


@pytest.mark.parametrize("method", FORCE_METHODS)
def test_a_perplexity_as_large_as_the_data_is_refused_and_a_smaller_one_taken(method):
    X = cloud(20)
    for perplexity in (20.0, (5.0, 20.0)):
        with pytest.raises(ParameterError, match=r"perplexity=20 .* n_samples = 20\. Lower perplexity to 6"):
            method(perplexity=perplexity).fit(X)
    with pytest.warns(UserWarning, match=r"perplexity=19.9 spreads over 60 .* only 19 other points; all 19 are used"):
        model = method(perplexity=19.9).fit(X)
    assert model.report_.findings["neighbours"] == 19
    assert np.isfinite(model.embedding_).all()
    assert model.embedding_.std() > 0


@pytest.mark.parametrize("method", FORCE_METHODS)
def test_equal_points_get_one_place_and_nothing_breaks(method):
    X = np.repeat(cloud(30), 2, axis=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        Y = method(perplexity=5.0).fit_transform(X)
        assert np.array_equal(Y[::2], Y[1::2])
        assert np.isfinite(method(perplexity=5.0).fit_transform(np.ones((30, 3)))).all()


@pytest.mark.parametrize("d", [1, 2, 3])
@pytest.mark.parametrize("method", FORCE_METHODS)
def test_a_start_is_the_principal_components_or_the_laplacian_eigenmap_made_small(method, d, digits):
    X = digits[0][:150]
    more = {"strength": Homotopy(steps=1)} if method is ElasticEmbedding else {}
    settings = {"n_components": d, "schedule": AS_IT_STARTS} | more

    def small(Y):
        Y = Y - Y.mean(axis=0)
        return 1e-4 * Y / Y[:, 0].std()

    Y = method(init="pca", perplexity=10.0, **settings).fit_transform(X)
    assert up_to_signs(Y, small(PCA(n_components=d).fit_transform(X))) < 1e-5
    if method is not SNE:  # whose rows are brought to the same sum before
        graph = kneighbors_graph(X, 8)
        Y = method(init="spectral", metric="affinity", **settings).fit_transform(graph.maximum(graph.T))
        eigenmap = LaplacianEigenmaps(n_components=d, n_neighbors=8, weights="binary").fit_transform(X)
        assert up_to_signs(Y, small(eigenmap)) < 1e-5


def test_starts_that_cannot_be_used_are_refused(digits):
    X = digits[0]
    with pytest.raises(DataError, match=r"init has shape \(600, 3\).*needs 600 rows of 2"):
        TSNE(init=np.zeros((600, 3))).fit(X)
    bad = np.zeros((600, 2))
    bad[4, 1] = np.nan
    with pytest.raises(DataError, match=r"init has NaN or infinite entries \(the first in row 4\)"):
        TSNE(init=bad).fit(X)
    with pytest.raises(ParameterError, match=r"init='pca' needs rows of numbers, but metric='precomputed'"):
        TSNE(init="pca", metric="precomputed").fit(cdist(X, X))


def test_affinities_that_cannot_be_used_are_refused():
    W = np.ones((20, 20))
    W[3] = W[:, 3] = 0
    with pytest.raises(DataError, match=r"1 of 20 points \(the first is point 3\) have no affinity"):
        TSNE(metric="affinity").fit(W)
    uneven = np.ones((20, 20))
    uneven[0, 1] = 5
    with pytest.raises(DataError, match="must be symmetric"):
        TSNE(metric="affinity").fit(uneven)
    with pytest.raises(DataError, match="cannot be negative"):
        TSNE(metric="affinity").fit(-np.ones((20, 20)))


def test_a_perplexity_beside_affinities_is_refused():
    with pytest.raises(ParameterError, match=r"perplexity=5.0 has nothing to act on"):
        TSNE(metric="affinity", perplexity=5.0).fit(np.ones((20, 20)))


def test_an_optimisation_that_runs_out_of_iterations_says_so(digits):
    with pytest.warns(ConvergenceWarning, match=r"still fell after .* Raise max_iter"):
        model = TSNE(schedule=SHORT).fit(digits[0])
    assert not model.report_.findings["converged"]


def test_a_start_that_is_a_finished_embedding_is_no_divergence(digits):
    Y = TSNE().fit_transform(digits[0])
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        again = TSNE(init=Y).fit(digits[0])
    assert again.n_iter_ > 100


def test_a_grid_of_four_dimensions_is_refused_by_name():
    with pytest.raises(ParameterError, match=r"n_components=4 .* at most 3 dimensions. Use repulsion='tree'"):
        TSNE(n_components=4, repulsion="grid", perplexity=5.0).fit(cloud())


def test_a_start_beyond_all_measure_gets_a_coarser_grid_and_says_so(digits):
    far = 1e6 * np.random.default_rng(0).standard_normal((600, 2))
    few = Classical(early_iter=2, max_iter=2)  # each of them over millions of nodes
    model = TSNE(init=far, repulsion="grid", schedule=few).fit(digits[0])
    assert np.isfinite(model.embedding_).all()
    assert model.report_.findings["grid spacing"] > 100
    assert TSNE(repulsion="grid", schedule=SHORT).fit(digits[0]).report_.findings["grid spacing"] == 0.5


def test_masses_that_cannot_be_used_are_refused():
    with pytest.raises(DataError, match=r"mass has shape \(3,\).*each of the 60 samples"):
        ElasticEmbedding(perplexity=5.0, strength=Homotopy(mass=np.ones(3))).fit(cloud())


def test_the_classical_schedule_has_its_own_options():
    model = TSNE(perplexity=5.0, schedule=Classical(early_iter=10, max_iter=15, learning_rate=10.0)).fit(cloud())
    assert model.n_iter_ == 25
    assert Classical().phases(1200)[0].rate == 100


# A rate at which steps are too long, but not yet by so much that three of them tear the embedding.
HASTY = {TSNE: 3000.0, SymmetricSNE: 1000.0, SNE: 2.0, ElasticEmbedding: 1.0}


@pytest.mark.parametrize("method", FORCE_METHODS)
def test_ctrl_c_keeps_no_embedding_that_is_worse_than_one_seen_before(method, digits):
    X = digits[0][:300]
    more = {"strength": Homotopy(steps=1)} if method is ElasticEmbedding else {}
    reached = []

    def interrupt(step):
        reached.append(step)
        if step.iteration == 3:
            raise KeyboardInterrupt

    def loss_at(Y):
        return method(init=Y, schedule=AS_IT_STARTS, **more).fit(X).loss_

    hasty = Classical(early_iter=0, learning_rate=HASTY[method], callback=interrupt)
    model = method(init=method().fit_transform(X), schedule=hasty, **more)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X)
    seen = [step.loss for step in reached if step.loss is not None]
    assert loss_at(reached[-1].embedding) > 1.001 * min(seen)
    assert model.loss_ <= min(*seen, *model.history_[:, 1])
    assert loss_at(model.embedding_) == pytest.approx(model.loss_, rel=1e-6)


def test_ctrl_c_on_the_way_down_keeps_what_was_reached(digits):
    """Exaggeration takes a finished embedding apart; from there on the loss falls, though not yet to what it was."""
    X = digits[0][:300]
    reached = []

    def interrupt(step):
        reached.append(step.embedding)
        if step.iteration == 55:
            raise KeyboardInterrupt

    model = TSNE(init=TSNE().fit_transform(X), schedule=Classical(early_iter=20, callback=interrupt))
    with pytest.raises(KeyboardInterrupt):
        model.fit(X)
    assert model.loss_ <= TSNE(init=reached[-1], schedule=AS_IT_STARTS).fit(X).loss_ * (1 + 1e-6)
