"""UMAP of a fuzzy graph that falls into components: what each policy makes of it."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from scipy.sparse.csgraph import connected_components
from scipy.spatial.distance import cdist
from sklearn.manifold import trustworthiness
from sklearn.neighbors import kneighbors_graph

from conftest import cloud, same_bits
from lowfold import UMAP, DataError, Epochs, FileError, Fuzzy, build_index, connect, load, save
from lowfold.neighbors.components import POLICIES

SIZES = (60, 40, 20)
SHORT = Epochs(n_epochs=30)


def blobs(seed=0):
    """Three groups far apart, in mixed order, and the group of each point."""
    rng = np.random.default_rng(seed)
    group = rng.permutation(np.repeat(np.arange(3), SIZES))
    return cloud(120, 4, seed=seed) + 100 * group[:, None], group


def umap(policy, **options):
    fuzzy = {name: options.pop(name) for name in ("target_weight", "set_op_mix_ratio") if name in options}
    return UMAP(**({"n_neighbors": 8, "schedule": SHORT} | options), graph=Fuzzy(components=policy, **fuzzy))


def pieces(model):
    return connected_components(model.graph_, directed=False)[0]


# Join


def test_join_connects_the_groups_by_the_shortest_bridges_with_full_membership():
    X, _ = blobs()
    model, apart = umap("join").fit(X), umap("separate").fit(X)
    index = build_index(X)
    _, found = connect(index.query(None, 7), index)
    assert (pieces(apart), pieces(model)) == (3, 1)
    added = (model.graph_ - apart.graph_).tocoo()
    assert {tuple(sorted(pair)) for pair in zip(added.row, added.col, strict=True)} == {
        tuple(sorted(pair)) for pair in found.bridges.tolist()
    }
    np.testing.assert_array_equal(added.data, np.ones(4))
    findings = model.report_.findings
    assert findings["components"] == "3, of sizes 60, 40, 20"
    assert findings["component policy"] == "join"
    (a, b), length = found.bridges[0], found.bridge_lengths[0]
    assert findings["bridges"].startswith(f"{a}-{b} ({length:.3g}), ")
    assert findings["edges"] == apart.report_.findings["edges"] + 2


def test_joined_groups_have_a_map_as_good_as_apart():
    X, group = blobs()
    joined, apart = (umap(policy, schedule=Epochs()).fit_transform(X) for policy in ("join", "separate"))
    for g in range(3):
        own = [trustworthiness(X[group == g], Y[group == g], n_neighbors=7) for Y in (joined, apart)]
        assert own[0] > own[1] - 0.03
    near = np.argsort(cdist(joined, joined), axis=1)[:, 1:4]
    assert (group[near] == group[:, None]).mean() > 0.97


def test_labels_that_cut_classes_off_leave_parts_that_are_joined_by_distance():
    X = cloud(90, 3)
    y = np.arange(90) % 3
    apart = umap("separate", target_weight=1.0).fit(X, y)
    joined = umap("join", target_weight=1.0).fit(X, y)
    assert pieces(apart) >= 3
    assert pieces(joined) == 1
    added = (joined.graph_ - apart.graph_).tocoo()
    D = cdist(X, X)
    shortest = min(D[np.ix_(y == a, y == b)].min() for a, b in ((0, 1), (0, 2), (1, 2)))
    assert D[added.row, added.col].min() == shortest


# Largest


@pytest.mark.parametrize("metric", ["euclidean", "precomputed", "seuclidean"])
def test_largest_lays_out_one_group_and_places_the_others_in_it(metric):
    X, group = blobs()
    data, new = (cdist(X, X), cdist(X + 0.01, X)) if metric == "precomputed" else (X, X + 0.01)
    model = umap("largest", metric=metric).fit(data)
    Y = model.embedding_
    inside = group == 0
    assert Y.shape == (120, 2)
    assert np.isfinite(Y).all()
    assert same_bits(model.transform(data), Y)
    assert same_bits(model.transform(data[5:7]), Y[5:7])
    assert same_bits(model.transform(new)[7:8], model.transform(new[7:8]))
    assert np.isfinite(model.transform(new)).all()
    assert (np.diff(model.graph_.indptr) > 0).tolist() == inside.tolist()
    assert model.report_.findings["components"] == "3, of sizes 60, 40, 20"
    assert model.report_.findings["component policy"] == "largest"
    middle = Y[inside].mean(axis=0)
    reach = np.linalg.norm(Y[inside] - middle, axis=1).max()
    assert (np.linalg.norm(Y[~inside] - middle, axis=1) < 1.5 * reach).all()


@pytest.mark.parametrize("init", ["auto", "pca", "random"])
def test_the_largest_group_lies_as_it_does_alone_and_the_others_as_new_points(init):
    X, group = blobs()
    inside = group == 0
    alone = umap("error", init=init).fit(X[inside])
    model = umap("largest", init=init).fit(X)
    assert same_bits(model.embedding_[inside], alone.embedding_)
    assert same_bits(model.embedding_[~inside], alone.transform(X[~inside]))
    assert same_bits(model.transform(X + 0.01), alone.transform(X + 0.01))


@pytest.mark.parametrize("policy", ["join", "largest"])
@pytest.mark.parametrize("init", ["auto", "random", "pca", "array"])
def test_every_start_will_do_with_the_same_bits_for_any_threads(policy, init):
    X, _ = blobs()
    start = cloud(120, 2, seed=1) if init == "array" else init
    maps = [umap(policy, init=start, n_jobs=threads).fit_transform(X) for threads in (1, 2, 3)]
    assert all(same_bits(maps[0], Y) for Y in maps[1:])
    assert np.isfinite(maps[0]).all()


def test_a_callback_sees_all_points_and_resume_goes_on():
    X, group = blobs()
    seen = []
    model = umap("largest", schedule=Epochs(n_epochs=5, callback=lambda step: seen.append(step))).fit(X)
    assert all(step.embedding.shape == (120, 2) and np.isfinite(step.embedding).all() for step in seen)
    inside = group == 0
    np.testing.assert_array_equal(seen[-1].embedding[inside], model.embedding_[inside].astype(np.float32))
    before = model.embedding_.copy()
    assert model.resume(10).n_iter_ == 15
    assert (model.embedding_ != before).any(axis=1).all()


def test_where_labels_leave_every_point_alone_there_is_no_largest_group():
    X, y = cloud(40), np.arange(40)
    with pytest.raises(DataError, match=r"None of the 40 points has an edge.*Lower target_weight"):
        umap("largest", target_weight=1.0).fit(X, y)
    model = umap("join", target_weight=1.0).fit(X, y)
    assert (pieces(model), model.graph_.nnz) == (1, 78)


def test_a_largest_group_of_two_points_is_laid_out_among_more_coordinates_than_it_has():
    X, y = cloud(40), np.r_[0, 0, 2:40]
    assert np.isfinite(umap("largest", target_weight=1.0, n_neighbors=39, n_components=3).fit_transform(X, y)).all()


# All of them


@pytest.mark.parametrize("policy", POLICIES)
def test_a_graph_in_one_piece_is_left_alone_by_every_policy(policy):
    X = cloud(60)
    model = umap(policy).fit(X)
    assert same_bits(model.embedding_, umap("separate").fit_transform(X))
    assert model.report_.findings["components"] == 1
    assert "component policy" not in model.report_.findings


def test_error_names_the_number_the_sizes_and_the_ways_out():
    with pytest.raises(DataError, match=r"3 components, of sizes 60, 40, 20. Raise n_neighbors, or .*'join'"):
        umap("error").fit(blobs()[0])


@pytest.mark.parametrize("policy", ["join", "separate", "largest"])
def test_models_of_every_policy_are_stored(policy, tmp_path):
    X, _ = blobs()
    model = umap(policy).fit(X)
    save(model, tmp_path / "m")
    for other in (load(tmp_path / "m"), pickle.loads(pickle.dumps(model))):
        assert same_bits(other.transform(X), model.embedding_)
        assert same_bits(other.transform(X + 0.01), model.transform(X + 0.01))
        assert same_bits(other.inverse_transform(model.embedding_), model.inverse_transform(model.embedding_))
        assert abs(other.graph_ - model.graph_).max() == 0
        assert same_bits(other.resume(5).embedding_, pickle.loads(pickle.dumps(model)).resume(5).embedding_)


@pytest.mark.parametrize(("name", "value"), [("neighbors", 60), ("neighbors", -1), ("members", 0), ("points", 1)])
def test_points_outside_that_a_file_puts_elsewhere_are_refused(name, value, tmp_path):
    model = umap("largest").fit(blobs()[0])
    getattr(model._graph.outside, name)[:] = value
    save(model, tmp_path / "m")
    with pytest.raises(FileError, match="a Remainder whose parts do not fit together"):
        load(tmp_path / "m")


# What is not known


@pytest.mark.parametrize("policy", ["join", "largest"])
def test_affinities_hold_no_distances_to_join_or_to_place_by(policy):
    W = umap("separate").fit(blobs()[0]).graph_
    with pytest.raises(DataError, match=r"fall into 3 components, of sizes 60, 40, 20.*needs distances.*'separate'"):
        umap(policy, metric="affinity", n_neighbors=15).fit(W)
    whole = umap("join").fit(blobs()[0]).graph_
    assert umap(policy, metric="affinity", n_neighbors=15).fit(whole).report_.findings["components"] == 1


def test_a_neighbour_graph_is_joined_by_the_distances_that_it_holds_and_no_others():
    X, _ = blobs()
    stored = kneighbors_graph(X, 8, mode="distance")
    with pytest.raises(DataError, match="holds no distances between some of them"):
        umap("join", metric="precomputed").fit(stored)
    with pytest.raises(DataError, match="60 points lie outside the largest component"):
        umap("largest", metric="precomputed").fit(stored)
    every = kneighbors_graph(X, 119, mode="distance")
    assert abs(umap("join", metric="precomputed").fit(every).graph_ - umap("join").fit(X).graph_).max() < 1e-6
