"""`NeighborGraph` keeps KNeighborsTransformer's contract."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array, vstack
from sklearn.cluster import DBSCAN
from sklearn.manifold import Isomap
from sklearn.neighbors import KNeighborsTransformer
from sklearn.pipeline import make_pipeline

from lowfold import NeighborGraph, ParameterError


def points(n=300, d=5, seed=0):
    return np.random.default_rng(seed).standard_normal((n, d))


@pytest.mark.parametrize("mode", ["distance", "connectivity"])
@pytest.mark.parametrize("metric", ["euclidean", "cosine", "manhattan", "canberra"])
def test_the_graph_equals_that_of_scikit_learn(mode, metric):
    X, new = points(), points(40, seed=1)
    ours = NeighborGraph(n_neighbors=7, mode=mode, metric=metric).fit(X)
    theirs = KNeighborsTransformer(n_neighbors=7, mode=mode, metric=metric).fit(X)
    for rows in (X, new):
        a, b = ours.transform(rows), theirs.transform(rows)
        assert a.shape == b.shape
        assert a.nnz == b.nnz
        np.testing.assert_array_equal(a.indptr, b.indptr)
        np.testing.assert_allclose(a.toarray(), b.toarray(), atol=1e-7)


def rows_at_a_distance_from_themselves():
    """(rows, metric) under which the formula of the distance does not give 0 between a row and itself."""
    X = points(30, 12)
    X[11] = 0
    X[20] = 4.0  # no direction either, where the mean is taken off
    return {
        "cosine": (X, "cosine"),
        "correlation": (X, "correlation"),
        "sparse rows": (csr_array(X), "cosine"),
        "of yes and no": (X > 0.5, "russellrao"),
        "a function": (X, lambda a, b: 1 + abs(a - b).sum()),
        # Others are at 0 too, or at less than rounding leaves of a row's own distance.
        "parallel rows": (np.linspace(1, 2, 30)[:, None] * X[:1], "cosine"),
        "sparse parallel rows": (csr_array(np.linspace(1, 2, 30)[:, None] * X[:1]), "cosine"),
        "of as many as none": (X > 0.5, "yule"),
    }


@pytest.mark.parametrize("mode", ["distance", "connectivity"])
@pytest.mark.parametrize("kind", rows_at_a_distance_from_themselves())
def test_a_fitted_row_is_at_zero_from_itself_also_where_the_metric_says_otherwise(kind, mode):
    X, metric = rows_at_a_distance_from_themselves()[kind]
    graph = NeighborGraph(n_neighbors=4, metric=metric, mode=mode).fit(X)
    together = graph.transform(X)
    assert set(together.getnnz(axis=1)) == {4 + (mode == "distance")}
    own = np.array([i in together.indices[together.indptr[i] : together.indptr[i + 1]] for i in range(X.shape[0])])
    assert own.all()
    assert (together.diagonal() == (mode == "connectivity")).all()
    alone = vstack([graph.transform(X[i : i + 1]) for i in range(X.shape[0])])
    np.testing.assert_array_equal(alone.toarray(), together.toarray())
    if kind == "cosine":  # scikit-learn's has it where it is given the very array that it was fitted to
        theirs = KNeighborsTransformer(n_neighbors=4, metric=metric, mode=mode).fit(X).transform(X)
        np.testing.assert_array_equal(theirs.indices[theirs.indptr[11]], 11)
        np.testing.assert_allclose(together.data, theirs.data, atol=1e-12)


def test_rows_equal_to_each_other_are_at_zero_where_they_are_fitted_and_others_are_not():
    X = points(12)
    X[[2, 5]] = 0
    graph = NeighborGraph(n_neighbors=3, metric="cosine").fit(X).transform(X[[5, 2, 0]])
    np.testing.assert_array_equal(graph.indices[:8].reshape(2, 4), [[2, 5, 0, 1]] * 2)
    np.testing.assert_array_equal(graph.data[:8].reshape(2, 4), [[0, 0, 1, 1]] * 2)
    many = np.vstack([points(12), np.zeros((9, 5))])  # more than there is room for: the first of them
    graph = NeighborGraph(n_neighbors=3, metric="cosine").fit(many).transform(many[-1:])
    np.testing.assert_array_equal(graph.indices, [12, 13, 14, 15])
    np.testing.assert_array_equal(graph.data, 0)
    new = NeighborGraph(n_neighbors=3, metric="cosine").fit(points(12)).transform(np.zeros((1, 5)))
    np.testing.assert_array_equal(new.data, 1)


def test_scikit_learn_estimators_take_the_graph_as_precomputed():
    X = points()
    ours = make_pipeline(NeighborGraph(n_neighbors=8), Isomap(n_neighbors=8, metric="precomputed")).fit_transform(X)
    theirs = Isomap(n_neighbors=8).fit_transform(X)
    np.testing.assert_allclose(np.abs(ours), np.abs(theirs), atol=1e-6)
    graph = NeighborGraph(n_neighbors=20).fit_transform(X)
    expected = DBSCAN(eps=1.0, min_samples=4).fit_predict(X)
    np.testing.assert_array_equal(DBSCAN(eps=1.0, min_samples=4, metric="precomputed").fit_predict(graph), expected)


def test_scanpy_takes_the_search_as_its_own():
    scanpy = pytest.importorskip("scanpy")
    anndata = pytest.importorskip("anndata")
    found = []
    for search in (NeighborGraph(n_neighbors=15), KNeighborsTransformer(n_neighbors=15)):
        cells = anndata.AnnData(points(400, 20))
        scanpy.pp.neighbors(cells, n_neighbors=15, transformer=search, use_rep="X")
        found.append(cells.obsp["distances"].toarray())
        assert cells.obsp["connectivities"].nnz > 15 * 400
    np.testing.assert_allclose(found[0], found[1], atol=1e-5)


def read_as_scanpy_does(transformer, X):
    """(indices, distances) that scanpy takes from a search: itself, then as many others as leave n_neighbors in all."""
    n_neighbors = transformer.get_params()["n_neighbors"]
    graph = transformer.fit_transform(X)
    assert bool(getattr(transformer, "index_", True))  # asked for whether it is one of pynndescent's
    assert set(graph.getnnz(axis=1)) == {n_neighbors + 1}, "rows of unequal length are read one by one, with a warning"
    indices, distances = (values.reshape(len(X), n_neighbors + 1) for values in (graph.indices, graph.data))
    return indices[:, :n_neighbors], distances[:, :n_neighbors]


@pytest.mark.parametrize("dtype", [np.float32, np.float64], ids=["float32", "float64"])
def test_rows_are_as_scanpy_reads_them(dtype):
    X = points().astype(dtype)
    X[7] = X[3]  # two equal cells: the second has the first before itself, as scikit-learn's may too
    found = read_as_scanpy_does(NeighborGraph(n_neighbors=15), X)
    expected = read_as_scanpy_does(KNeighborsTransformer(n_neighbors=15), X)
    np.testing.assert_array_equal(np.flatnonzero(found[0][:, 0] != np.arange(len(X))), [7])
    np.testing.assert_array_equal(np.sort(found[0]), np.sort(expected[0]))
    assert (np.diff(found[1]) >= 0).all()  # nearest first, as it cuts off the last
    # scikit-learn's brute force would lose digits to cancellation, but so few features go to a tree.
    np.testing.assert_allclose(found[1], expected[1], rtol=1e-6)


def test_the_search_says_which_share_it_finds():
    graph = NeighborGraph(n_neighbors=5, search="cells").fit(points(3000, 8))
    assert 0.98 < graph.index_.query(None, 5).recall <= 1
    assert NeighborGraph(n_neighbors=5, search="exact").fit(points()).index_.query(None, 5).recall == 1


def test_its_own_graph_is_taken_as_precomputed_neighbors():
    graph = NeighborGraph(n_neighbors=9).fit_transform(points())
    fewer = NeighborGraph(n_neighbors=4, metric="precomputed").fit_transform(graph)
    np.testing.assert_allclose(fewer.toarray(), NeighborGraph(n_neighbors=4).fit_transform(points()).toarray())


def test_more_neighbors_than_there_are_others_is_refused_with_a_remedy():
    with pytest.raises(ParameterError, match="n_neighbors=15 needs at least 16 samples.*n_samples = 10.*Lower"):
        NeighborGraph().fit(points(10))
