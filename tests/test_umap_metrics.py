"""UMAP under every metric of the neighbour search: the graph by its definition, a map that shows the groups."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.metrics import pairwise_distances
from sklearn.metrics.pairwise import _VALID_METRICS
from sklearn.neighbors import KNeighborsClassifier, kneighbors_graph

from conftest import cloud, same_bits
from lowfold import UMAP, Epochs
from lowfold.backend.reference import layout as reference
from lowfold.neighbors.index import DIRECTION_METRICS, SPATIAL_METRICS

OF_BITS = {"dice", "jaccard", "rogerstanimoto", "russellrao", "sokalsneath", "yule"}
GONE = {"matching", "wminkowski"}  # names that scikit-learn lists and SciPy has dropped
METRICS = sorted({*_VALID_METRICS, *SPATIAL_METRICS, *DIRECTION_METRICS} - {"precomputed"} - GONE)
N, K = 120, 10
OPTIONS = {"n_neighbors": K + 1, "schedule": Epochs(n_epochs=150)}


def groups(metric, seed=0):
    """(rows, group of each): three groups that the metric can tell apart, in no order; no pattern of distances ties."""
    rng = np.random.default_rng((3, seed))
    of = rng.integers(3, size=N)
    lots = np.random.default_rng(1)  # the same groups whatever the seed
    if metric == "haversine":
        places = np.array([[0.3, -1.0], [0.5, 1.5], [-0.7, 0.2]])
        return places[of] + 0.05 * rng.standard_normal((N, 2)), of
    if metric in OF_BITS:
        return (lots.random((3, 60)) < 0.5)[of] ^ (rng.random((N, 60)) < 0.08), of
    if metric == "hamming":
        return np.where(
            rng.random((N, 40)) < 0.2, rng.integers(5, size=(N, 40)), lots.integers(5, size=(3, 40))[of]
        ), of
    return np.abs(lots.uniform(0.5, 4.0, (3, 8))[of] + 0.3 * rng.standard_normal((N, 8))), of


def by_definition(D, k=K):
    """The fuzzy graph of a matrix of distances, by the reference."""
    D = np.array(D, np.float64)
    np.fill_diagonal(D, np.inf)
    near = np.argsort(D, axis=1, kind="stable")[:, :k]
    apart = np.take_along_axis(D, near, axis=1)
    mean = apart.sum() / (len(D) * (k + 1))  # a point is its own neighbour at 0
    return reference.fuzzy_union(near, reference.fuzzy_rows(apart, 1.0, mean), 1.0)


def shows(Y, of):
    """Whether the points lie among their own group."""
    return np.isfinite(Y).all() and KNeighborsClassifier(5).fit(Y, of).score(Y, of) > 0.95


@pytest.mark.filterwarnings("ignore:Data was converted to boolean")
@pytest.mark.parametrize("metric", METRICS)
def test_every_metric_has_the_graph_of_its_distances_and_a_map_of_the_groups(metric):
    (X, of), (new, of_new) = groups(metric), groups(metric, seed=1)
    D = pairwise_distances(X, metric=metric)
    model = UMAP(metric=metric, **OPTIONS).fit(X)
    assert np.allclose(model.graph_.toarray(), by_definition(D), atol=1e-4)
    assert shows(model.embedding_, of)
    placed = model.transform(new)
    assert KNeighborsClassifier(5).fit(model.embedding_, of).score(placed, of_new) > 0.95
    assert np.allclose(model.transform(new[7:8]), placed[7:8], atol=0)
    assert same_bits(model.transform(X[:5]), model.embedding_[:5])
    given = UMAP(metric="precomputed", **OPTIONS).fit(D)
    assert np.allclose(given.graph_.toarray(), model.graph_.toarray(), atol=1e-4)
    assert shows(given.embedding_, of)


@pytest.mark.parametrize("metric", sorted(GONE))
def test_a_metric_that_is_no_more_is_refused(metric):
    with pytest.raises(ValueError, match=r"metric"):
        UMAP(metric=metric, **OPTIONS).fit(groups("euclidean")[0])


def test_a_function_is_a_metric_too():
    X, of = groups("euclidean")
    model = UMAP(metric=lambda x, y: float(np.abs(x - y).sum()), **OPTIONS).fit(X)
    assert np.allclose(model.graph_.toarray(), UMAP(metric="manhattan", **OPTIONS).fit(X).graph_.toarray(), atol=1e-6)
    assert shows(model.embedding_, of)


@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "cosine"])
def test_given_neighbours_are_those_of_the_rows(metric):
    (X, of), (new, of_new) = groups(metric), groups(metric, seed=1)
    wanted = UMAP(metric=metric, **OPTIONS).fit(X)
    graph = kneighbors_graph(X, K, mode="distance", metric=metric)
    model = UMAP(metric="precomputed", **OPTIONS).fit(graph)
    assert np.allclose(model.graph_.toarray(), wanted.graph_.toarray(), atol=1e-6)
    assert shows(model.embedding_, of)
    D = pairwise_distances(new, X, metric=metric)
    order = np.argsort(D, axis=1, kind="stable")[:, :K]
    begin = np.arange(0, N * K + 1, K)
    to = csr_array((np.take_along_axis(D, order, axis=1).ravel(), order.ravel(), begin), shape=(N, N))
    placed = model.transform(to)
    assert KNeighborsClassifier(5).fit(model.embedding_, of).score(placed, of_new) > 0.95


@pytest.mark.parametrize("metric", ["euclidean", "l1", "cosine"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sparse_rows_have_the_graph_of_dense_ones(metric, dtype):
    (X, of), (new, of_new) = groups(metric), groups(metric, seed=1)
    X, new = (np.where(A > 1.5, A, 0.0).astype(dtype) for A in (X, new))
    dense, sparse = (UMAP(metric=metric, **OPTIONS).fit(form(X)) for form in (np.asarray, csr_array))
    close = 2e-3 if dtype == np.float32 else 1e-5  # scikit-learn's distances in float32 come from inner products
    assert np.allclose(sparse.graph_.toarray(), dense.graph_.toarray(), atol=close)
    assert shows(sparse.embedding_, of)
    placed = sparse.transform(csr_array(new))
    assert KNeighborsClassifier(5).fit(sparse.embedding_, of).score(placed, of_new) > 0.95
    assert same_bits(sparse.transform(csr_array(X[:3])), sparse.embedding_[:3])


@pytest.mark.parametrize("metric", ["euclidean", "cosine", "manhattan"])
@pytest.mark.parametrize("k", [5, 15, 40])
@pytest.mark.filterwarnings("ignore")
def test_the_fuzzy_set_of_few_points_is_that_of_umap_learn(k, metric):
    umap = pytest.importorskip("umap")
    X = cloud(400, 10).astype(np.float32)
    theirs = umap.UMAP(n_neighbors=k, metric=metric, transform_mode="graph").fit(X).graph_.toarray()  # none left out
    ours = UMAP(n_neighbors=k, metric=metric, schedule=Epochs(n_epochs=1), init="random").fit(X).graph_.toarray()
    assert np.abs(ours - theirs).max() < 1e-4
