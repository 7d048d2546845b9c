"""UMAP with labels or numbers, given affinities, the way back to the data, and the end by the loss."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline

from conftest import cloud, same_bits
from lowfold import UMAP, DataError, Epochs, Fuzzy, ParameterError
from lowfold.affinity.targets import renewed, with_labels, with_numbers

SHORT = Epochs(n_epochs=50)


def graph_of(n=40, k=6):
    """A fuzzy graph, and the same as a matrix."""
    W = UMAP(n_neighbors=k, schedule=Epochs(n_epochs=0)).fit(cloud(n)).graph_
    return (W.indptr.astype(np.int64), W.indices, W.data), W.toarray().astype(np.float64)


def dense(graph):
    begin, columns, values = graph
    return csr_array((values, columns, begin), shape=(len(begin) - 1,) * 2).toarray()


# Targets


def joined(W):
    R = W / np.where(W.max(axis=1) > 0, W.max(axis=1), 1)[:, None]
    return R + R.T - R * R.T


@pytest.mark.parametrize("weight", [0.0, 0.5, 0.9, 1.0])
def test_labels_weaken_edges_as_they_are_defined_to(weight):
    graph, W = graph_of()
    codes = np.arange(40) % 3
    codes[::5] = -1
    a, b = codes[:, None], codes[None]
    far = np.exp(-2.5 / (1 - weight)) if weight < 1 else 0.0
    factor = np.where((a < 0) | (b < 0), np.exp(-1.0), np.where(a == b, 1.0, far))
    assert np.allclose(dense(with_labels(graph, codes, weight)), joined(W * factor), atol=1e-6)


@pytest.mark.parametrize("weight", [0.0, 0.3, 0.5, 0.8, 1.0])
def test_numbers_meet_the_graph_in_powers_of_both_degrees(weight):
    graph, W = graph_of()
    begin, columns, values = graph_of(k=9)[0]
    rows = np.repeat(np.arange(40), np.diff(begin))
    some = values * ((2 * rows + columns) % 3 > 0)  # edges that are there one way only, and entries of 0
    one_way = csr_array((some, (rows, columns)), shape=(40, 40))
    other = one_way.indptr.astype(np.int64), one_way.indices.astype(np.int32), one_way.data.astype(np.float32)
    V = one_way.toarray().astype(np.float64)
    W = np.where(W > 0, W, max(W[W > 0].min() / 2, 1e-8))
    V = np.where(V > 0, V, min(max(V[V > 0].min() / 2, 1e-8), 1e-4))
    first, second = (1, weight / (1 - weight)) if weight < 0.5 else ((1 - weight) / weight, 1)
    wanted = W**first * V**second * ((dense(graph) > 0) | (dense(other) > 0))
    assert np.allclose(dense(with_numbers(graph, other, weight)), joined(wanted), atol=1e-5)


def test_after_labels_each_point_belongs_wholly_to_someone_and_the_graph_is_symmetric():
    graph, _ = graph_of()
    W = dense(renewed(with_labels(graph, np.arange(40) % 4, 0.5)))
    assert np.array_equal(W, W.T)
    assert np.allclose(W.max(axis=1), 1)


def apart(Y, y):
    """How far classes lie apart: distance of their centres over their widths."""
    centres = np.array([Y[y == c].mean(axis=0) for c in np.unique(y)])
    widths = np.mean([np.sqrt(Y[y == c].var(axis=0).sum()) for c in np.unique(y)])
    return np.linalg.norm(centres[:, None] - centres, axis=2)[np.triu_indices(len(centres), 1)].min() / widths


def test_labels_draw_classes_apart_and_half_of_them_help():
    # Three classes that overlap in the data.
    rng = np.random.default_rng(0)
    y = np.arange(300) % 3
    X = rng.standard_normal((300, 6)) + 1.2 * np.eye(6)[y]
    half = np.where(rng.random(300) < 0.5, y, -1)
    plain, some, all_ = (UMAP().fit(X, target) for target in (None, half, y))
    assert apart(all_.embedding_, y) > 2 * apart(plain.embedding_, y)
    score = [KNeighborsClassifier(10).fit(m.embedding_, y).score(m.embedding_, y) for m in (plain, some, all_)]
    assert score[0] + 0.05 < score[1] < score[2]
    assert all_.report_.findings["target"] == "3 labels, 0 of 300 points without one"
    assert "150 of 300" in UMAP(schedule=SHORT).fit(X, np.where(np.arange(300) < 150, y, -1)).report_.findings["target"]


def test_unknown_labels_alone_change_nothing_but_the_weights():
    X = cloud(80)
    plain, unknown = (UMAP(schedule=SHORT).fit(X, y) for y in (None, np.full(80, -1)))
    assert ((plain.graph_ > 0) != (unknown.graph_ > 0)).sum() == 0


def test_numbers_order_the_embedding():
    # The number is noise to the features: only y can bring it in.
    X, t = cloud(400, 4), np.linspace(0, 1, 400)
    t = np.random.default_rng(3).permutation(t)
    errors = []
    for target, weight in ((None, 0.5), (t, 0.5), (t, 0.9)):
        Y = UMAP(graph=Fuzzy(target_weight=weight)).fit(X, target).embedding_
        near = np.argsort(((Y[:, None] - Y) ** 2).sum(axis=2), axis=1)[:, 1:6]
        errors.append(np.abs(t[near] - t[:, None]).mean())
    assert errors[1] < 0.6 * errors[0]
    assert errors[2] < errors[1]


def test_kinds_of_targets_are_told_apart_and_names_are_labels():
    X = cloud(60)
    findings = [
        UMAP(schedule=SHORT).fit(X, y).report_.findings["target"]
        for y in (np.arange(60) % 4, np.arange(60) % 4 * 1.0, np.array(list("abc"))[np.arange(60) % 3], cloud(60, 1))
    ]
    assert [text.split(",")[0] for text in findings] == ["4 labels", "4 labels", "3 labels", "numbers"]
    as_numbers = UMAP(schedule=SHORT, graph=Fuzzy(target="numbers")).fit(X, np.arange(60))
    assert as_numbers.report_.findings["target"] == "numbers, 1 for each point"


@pytest.mark.parametrize(
    ("y", "kind", "message"),
    [
        (np.zeros(59), "auto", r"y has shape \(59,\), but X has 60 samples"),
        (np.zeros((60, 2)), "labels", r"labels are one for each sample"),
        (np.full(60, np.nan), "labels", r"NaN or infinity among its labels"),
        (np.r_[np.inf, np.arange(59.0)], "auto", r"NaN or infinity among its labels"),
        (np.r_[np.nan, np.full(59, 0.5)], "auto", r"y has NaN or infinite entries \(the first in row 0\)"),
        (np.array(["a"] * 60), "numbers", r"y has type <U1, but target='numbers'"),
    ],
)
def test_targets_that_cannot_be_are_refused(y, kind, message):
    with pytest.raises(DataError, match=message):
        UMAP(schedule=SHORT, graph=Fuzzy(target=kind)).fit(cloud(60), y)


def test_a_pipeline_hands_labels_on_and_new_points_are_placed(digits):
    X, y = digits
    model = make_pipeline(UMAP(schedule=Epochs(n_epochs=100)), KNeighborsClassifier(5)).fit(X[:500], y[:500])
    assert model.score(X[500:], y[500:]) > 0.8  # 0.85 by the pixels


# Given affinities


def test_the_graph_of_one_fit_can_be_given_to_another(digits):
    X, y = digits
    whole = UMAP(schedule=SHORT).fit(X)
    given = UMAP(metric="affinity", schedule=Epochs(n_epochs=200)).fit(whole.graph_)
    assert abs(given.graph_ - whole.graph_).max() < 1e-6
    assert KNeighborsClassifier(10).fit(given.embedding_, y).score(given.embedding_, y) > 0.94
    placed = given.transform(whole.graph_[:20])
    assert same_bits(placed, given.embedding_[:20])
    rows = csr_array(whole.graph_[:20] * 0.5)  # no training rows any more
    assert np.linalg.norm(given.transform(rows) - given.embedding_[:20], axis=1).mean() < 2
    with pytest.raises(ParameterError, match="n_neighbors=7 has nothing to act on"):
        UMAP(metric="affinity", n_neighbors=7).fit(whole.graph_)
    with pytest.raises(ParameterError, match=r"local_connectivity=2.0 and set_op_mix_ratio=0.5 have nothing to act on"):
        UMAP(metric="affinity", graph=Fuzzy(local_connectivity=2.0, set_op_mix_ratio=0.5)).fit(whole.graph_)
    assert UMAP(metric="affinity", graph=Fuzzy(components="separate"), schedule=SHORT).fit(whole.graph_)
    with pytest.raises(DataError, match="inverse_transform and in_support need the rows"):
        given.inverse_transform(given.embedding_)


# The way back


@pytest.mark.parametrize("d", [1, 2, 4])
def test_training_coordinates_give_their_rows_and_new_ones_near_rows(d, digits):
    X = digits[0]
    model = UMAP(n_components=d).fit(X[:500])
    assert np.array_equal(model.inverse_transform(model.embedding_), X[:500])
    assert model.in_support(model.embedding_).all()
    placed = model.transform(X[500:])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        back, alone = model.inverse_transform(placed), model.inverse_transform(placed[7:8])
    assert same_bits(back[7:8], alone)
    error = np.linalg.norm(back - X[500:], axis=1).mean()
    assert error < (0.95 if d == 1 else 0.75) * np.linalg.norm(X[500:] - X[:500].mean(axis=0), axis=1).mean()


def test_coordinates_far_from_all_points_are_flagged(digits):
    model = UMAP(schedule=SHORT).fit(digits[0][:200])
    far = model.embedding_.max(axis=0, keepdims=True) + 100
    inside = model.embedding_[:3] + 1e-4
    assert model.in_support(np.vstack([far, inside])).tolist() == [False, True, True, True]
    with pytest.warns(UserWarning, match=r"1 of 4 coordinates lie outside of the embedding's support"):
        model.inverse_transform(np.vstack([far, inside]))
    with pytest.raises(DataError, match=r"Y has 3 columns, but the embedding has 2"):
        model.inverse_transform(np.zeros((2, 3)))


def test_sparse_rows_come_back_sparse():
    X = csr_array(np.where(cloud(80, 12) > 0.5, cloud(80, 12), 0))
    model = UMAP(schedule=SHORT).fit(X)
    back = model.inverse_transform(model.embedding_)
    assert isinstance(back, csr_array)
    assert abs(back - X).max() == 0


# The end by the loss


def test_the_loss_can_end_a_layout_early(digits):
    model = UMAP(schedule=Epochs(n_epochs=2000, tolerance=4.0)).fit(digits[0])
    assert model.n_iter_ < 2000
    assert "by the loss" in model.report_.findings["ended"]
    _, loss, error = model.history_[-3:].T
    assert (loss[:-1] - loss[1:] < 4 * np.hypot(error[:-1], error[1:])).all()
    assert UMAP(schedule=Epochs(n_epochs=40)).fit(digits[0]).n_iter_ == 40
    assert clone(model).schedule == model.schedule
