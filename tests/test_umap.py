"""UMAP: its layout, new points, what it says and what it refuses."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn.manifold import trustworthiness
from sklearn.neighbors import KNeighborsClassifier

from conftest import cloud, same_bits
from lowfold import UMAP, Curve, DataError, Epochs, Fuzzy, ParameterError, build_index
from lowfold.backend import native
from lowfold.force.umap import drawn_together

SHORT = Epochs(n_epochs=30)


# The map


def test_digits_lie_among_their_own(digits):
    X, y = digits
    model = UMAP().fit(X)
    assert KNeighborsClassifier(10).fit(model.embedding_, y).score(model.embedding_, y) > 0.94
    assert trustworthiness(X, model.embedding_, n_neighbors=15) > 0.96
    assert model.graph_.shape == (600, 600)
    assert abs(model.graph_ - model.graph_.T).max() == 0
    assert model.loss_ < model.history_[0, 1] - 3 * model.loss_error_
    assert model.n_iter_ == 500


def test_the_order_of_the_rows_does_not_matter(digits):
    X = digits[0]
    order = np.random.default_rng(0).permutation(len(X))
    maps = [UMAP(random_state=seed).fit_transform(X) for seed in range(3)]
    shuffled = [UMAP(random_state=seed).fit_transform(X[order]) for seed in range(3)]
    quality = [np.mean([trustworthiness(X, Y, n_neighbors=15) for Y in maps])]
    quality.append(np.mean([trustworthiness(X[order], Y, n_neighbors=15) for Y in shuffled]))
    assert abs(quality[0] - quality[1]) < 0.005


def test_float32_is_as_good_as_float64(digits):
    X = digits[0]
    maps = [UMAP(schedule=Epochs(n_epochs=200)).fit_transform(X.astype(dtype)) for dtype in (np.float32, np.float64)]
    assert maps[0].dtype == np.float32
    single, double = (trustworthiness(X, Y, n_neighbors=15) for Y in maps)
    assert abs(single - double) < 0.01


def test_data_without_structure_have_a_map_without_any():
    # A direction that depends on the order of edges in memory would stretch it, spokes would show in the angles.
    Y = UMAP(random_state=0).fit_transform(cloud(3000, 30))
    Y = Y - Y.mean(axis=0)
    lengths = np.sqrt(np.linalg.eigvalsh(np.cov(Y.T)))
    assert lengths[1] / lengths[0] < 1.6
    angles = np.histogram(np.arctan2(Y[:, 1], Y[:, 0]), bins=24, range=(-np.pi, np.pi))[0]
    assert angles.min() > 0.4 * angles.mean()
    assert angles.max() < 2 * angles.mean()
    # In clumps the nearest point is far nearer than the thirtieth: 0.16 of its distance at random, 0.03 in tens.
    distances = build_index(Y).query(None, 30).distances
    assert np.median(distances[:, 0] / distances[:, 29]) > 0.13


def test_a_few_points_far_away_leave_the_start_its_size():
    Y = cloud(1000, 2)
    Y[:5] *= 1000
    drawn = drawn_together(Y)
    assert np.abs(drawn).max() < 4
    assert 1 < np.quantile(np.abs(drawn), 0.68, axis=0).max() < 1.2
    np.testing.assert_array_equal(np.argsort(drawn, axis=0), np.argsort(Y, axis=0))
    few = np.zeros((1000, 2))
    few[:3] = [[1, 0], [0, 2], [-3, 0]]
    drawn = drawn_together(few)
    assert 1 < np.abs(drawn).max() < 4
    assert not drawn_together(np.zeros((5, 2))).any()


@pytest.mark.parametrize("n_components", [1, 2, 3, 6])
def test_any_number_of_components_has_the_same_bits_for_any_threads(n_components, digits):
    maps = [UMAP(n_components=n_components, schedule=SHORT, n_jobs=t).fit_transform(digits[0]) for t in (1, 2, 3)]
    assert maps[0].shape == (600, n_components)
    assert all(same_bits(maps[0], other) for other in maps[1:])


def test_new_digits_are_placed_with_their_class_each_by_itself(digits):
    X, y = digits
    model = UMAP().fit(X[:500])
    placed = model.transform(X[500:])
    assert KNeighborsClassifier(10).fit(model.embedding_, y[:500]).score(placed, y[500:]) > 0.8  # 0.85 by the pixels
    assert same_bits(placed[40:41], model.transform(X[540:541]))


def test_distances_and_graphs_can_be_given_instead_of_rows(digits):
    X, y = digits
    by_distances = UMAP(metric="precomputed", schedule=Epochs(n_epochs=100)).fit_transform(cdist(X, X))
    assert KNeighborsClassifier(5).fit(by_distances, y).score(by_distances, y) > 0.9


def test_a_callback_sees_every_epoch_and_can_end_the_layout(digits):
    seen = []
    schedule = Epochs(n_epochs=50, callback=lambda step: seen.append(step.iteration) or step.iteration == 20)
    model = UMAP(schedule=schedule).fit(digits[0])
    assert seen == list(range(1, 21))
    assert model.n_iter_ == 20
    resumed = UMAP(schedule=SHORT).fit(digits[0]).resume(10)
    assert resumed.n_iter_ == resumed.report_.findings["epochs"] == 40


@pytest.mark.parametrize("init", ["auto", "spectral", "pca", "random"])
def test_points_without_a_mutual_neighbour_are_held_by_their_nearest_and_that_is_said(init):
    X = cloud(120, 6)
    model = UMAP(n_neighbors=6, graph=Fuzzy(set_op_mix_ratio=0.0), init=init, schedule=SHORT).fit(X)
    indices = build_index(X).query(None, 5).indices
    near = np.zeros((120, 120), bool)
    np.put_along_axis(near, indices, True, axis=1)
    alone = ~(near & near.T).any(axis=1)
    assert 0 < alone.sum() < 60
    edges = near & near.T
    edges[alone, indices[alone, 0]] = edges[indices[alone, 0], alone] = True
    np.testing.assert_array_equal(model.graph_.toarray() > 0, edges)
    assert model.graph_.nnz == edges.sum() == 2 * model.report_.findings["edges"]
    assert model.report_.findings["points without a mutual neighbour"].startswith(f"{alone.sum()}, each with an edge")
    assert np.isfinite(model.embedding_).all()
    assert np.isfinite(model.transform(X[:5] + 0.01)).all()


def test_where_every_point_has_a_mutual_neighbour_no_edge_is_added_and_nothing_is_said():
    found = [
        UMAP(n_neighbors=30, graph=Fuzzy(set_op_mix_ratio=mix), schedule=SHORT).fit(cloud(60, 2)) for mix in (0.0, 0.5)
    ]
    assert "points without a mutual neighbour" not in found[0].report_.findings
    assert found[0].graph_.nnz < found[1].graph_.nnz


# What it says


def test_two_far_groups_are_said_and_lie_apart():
    X = np.vstack([cloud(60, 4), cloud(60, 4, seed=1) + 1000])
    model = UMAP().fit(X)
    assert "2, of sizes 60, 60" in model.report_.findings["components"]
    near = np.argsort(cdist(model.embedding_, model.embedding_), axis=1)[:, 1:6]
    assert ((near < 60) == (np.arange(120) < 60)[:, None]).all()
    with pytest.raises(DataError, match=r"2 components.*Raise n_neighbors"):
        UMAP(graph=Fuzzy(components="error")).fit(X)


def test_the_curve_follows_min_dist_and_spread_or_is_given():
    findings = UMAP(schedule=SHORT).fit(cloud(40)).report_.findings
    assert (findings["a"], findings["b"]) == pytest.approx((1.5769, 0.8951), abs=1e-3)
    given = UMAP(min_dist=Curve(a=2.0, b=1.0), schedule=SHORT).fit(cloud(40)).report_.findings
    assert (given["a"], given["b"]) == (2.0, 1.0)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"min_dist": 2.0}, r"min_dist=2 is larger than spread=1"),
        ({"min_dist": Curve(a=1.0)}, r"a=1.0 and b=None; pass both"),
        ({"n_neighbors": 41}, r"n_neighbors=41 .* n_samples = 40"),
        ({"n_components": 40}, r"n_components=40 needs more samples"),
        ({"init": "pca", "metric": "precomputed"}, r"init='pca' needs rows"),
    ],
)
def test_what_cannot_be_done_is_refused_with_a_remedy(settings, message):
    X = cloud(40)
    with pytest.raises(ParameterError, match=message):
        UMAP(**settings).fit(cdist(X, X) if settings.get("metric") else X)


def test_a_point_that_was_pushed_far_is_carried_on_a_little_only(monkeypatch):
    real, seen = native.kernels, []

    class Pushing:
        def __getattr__(self, name):
            return getattr(real, name)

        def layout_epoch(self, edges, Y, *rest):
            seen.append(Y.copy())
            return Y + np.float32([100, 0.5])

    monkeypatch.setattr(native, "kernels", Pushing())
    UMAP(schedule=Epochs(n_epochs=2)).fit(cloud(50, 3))
    np.testing.assert_allclose(seen[1] - seen[0], np.tile(np.float32([101, 0.9]), (50, 1)), rtol=1e-5)
