"""Whatever is given in the place of rows: it is read rightly, or refused by the library in three parts."""

from __future__ import annotations

import datetime

import numpy as np
import pytest
from scipy import sparse
from scipy.spatial.distance import cdist

from conftest import cloud, same_bits
from lowfold import (
    PCA,
    SNE,
    TSNE,
    UMAP,
    Annealed,
    DataError,
    DiffusionMap,
    ElasticEmbedding,
    Epochs,
    Isomap,
    KernelPCA,
    LowfoldError,
    NeighborGraph,
    SymmetricSNE,
    build_index,
    explorer,
    metrics,
    plot,
    stresses,
)

X = np.where(np.abs(cloud(30, 3)) < 0.3, 0.0, cloud(30, 3))
D = cdist(X, X)

# Of each way to read data one: with and without a model's own check, dense and sparse, by features and by pairs.
DOORS = {
    "fit": lambda given: PCA().fit(given),
    "transform": lambda given: PCA().fit(X).transform(given),
    "neighbours": lambda given: UMAP(n_neighbors=5, schedule=Epochs(n_epochs=3)).fit(given),
    "affinities": lambda given: TSNE(perplexity=2, schedule=Annealed(max_iter=3)).fit(given),
    "dense alone": lambda given: KernelPCA().fit(given),
    "pairs": lambda given: Isomap(metric="precomputed", n_neighbors=3).fit(given),
    "graph": lambda given: NeighborGraph(n_neighbors=3).fit(given),
    "index": lambda given: build_index(given),
    "query": lambda given: build_index(X).query(given, 3),
    "sparse query": lambda given: build_index(sparse.csr_array(X)).query(given, 3),
    "way back": lambda given: PCA().fit(X).inverse_transform(given),
    "stresses": lambda given: stresses(D, given),
    "judged": lambda given: metrics.trustworthiness(X, given),
    "picture": lambda given: plot.scatter(given),
    "scene": lambda given: explorer.make_scene(given, X[:, :2]),
}


def _holding(value):
    given = X.astype(object)
    given[0, 0] = value
    return given


# What is no table of numbers, and what the message says of it.
REFUSED = {
    "generator": (lambda: (row for row in X), "can be read only once"),
    "map": (lambda: map(list, X), "can be read only once"),
    "structured array": (lambda: np.array([tuple(row) for row in X], "f8,f8,f8"), "structured array|got 1D"),
    "huge integer": (lambda: _holding(10**400), "float64 cannot hold"),
    "dictionary inside": (lambda: _holding({}), "argument must be .* string.* number"),
    "list inside": (lambda: _holding([1, 2]), "cannot be read as numbers"),
    "complex": (lambda: X.astype(complex), "Complex"),
    "sparse complex": (lambda: sparse.csr_array(X.astype(complex)), "Complex|is sparse"),
    "function": (lambda: cloud, "of type function"),
    "module": (lambda: np, "of type module"),
    "class": (lambda: int, "of type type"),
    "set": (lambda: {1, 2}, "of type set"),
    "dict": (lambda: {"a": [1, 2]}, "of type dict"),
    "text": (lambda: "rows", "of type str"),
    "rows of text": (lambda: X.astype(str).tolist(), "text"),
    "list of dicts": (lambda: [{"a": 1.0}] * 30, "list of dictionaries"),
    "list of sparse rows": (lambda: [sparse.csr_array(X[:1])] * 30, "list of sparse rows"),
    "masked": (lambda: np.ma.array(X, mask=X > 1), "masked array"),
    "vector": (lambda: X[1:, 0], "Expected 2D array, got 1D array|vector of 29 distances"),
    "unequal rows": (lambda: [np.ones(3), np.ones(2)], "rows of one length"),
    "scalar": (lambda: np.array(3.0), "Expected 2D array, got (0D|scalar) array"),
    "images": (lambda: np.ones((30, 4, 4)), "Expected 2D array, got 3D array|with dim 3"),
    "masked rows": (lambda: [np.ma.array([1.0, 2.0], mask=[True, False])] * 30, "masked array"),
    "no rows": (lambda: sparse.csr_array((0, 3)), "sample|Sparse data|sparse rows|is sparse|data have 0"),
    "times": (lambda: X.astype("m8[s]"), "dates or times"),
    "dates": (lambda: [[datetime.date(2020, 1, 1), 1.0]] * 30, "dates or times"),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("what", REFUSED)
def test_what_is_no_table_is_refused_by_the_library_at_every_door(what, door):
    make, words = REFUSED[what]
    with pytest.raises(LowfoldError, match=words) as caught:
        DOORS[door](make())
    assert isinstance(caught.value, DataError)
    assert str(caught.value).count(".") >= 2, "what was given, what is needed, what to do"


@pytest.mark.parametrize("form", ["dok", "coo", "csc", "bsr", "dia", "lil"])
@pytest.mark.parametrize("container", ["array", "matrix"])
def test_every_form_of_a_sparse_matrix_is_read_as_csr(form, container):
    other, usual = getattr(sparse, f"{form}_{container}")(X), sparse.csr_array(X)
    assert same_bits(PCA().fit_transform(other), PCA().fit_transform(usual))
    assert same_bits(PCA().fit(usual).transform(other), PCA().fit_transform(usual))
    index = build_index(usual)
    found = [build_index(other).query(None, 3), index.query(None, 3)]
    assert same_bits(found[0].distances, found[1].distances)
    assert same_bits(index.query(other, 3).indices, index.query(usual, 3).indices)
    graph = NeighborGraph(n_neighbors=3).fit_transform(other)
    assert (graph != NeighborGraph(n_neighbors=3).fit_transform(usual)).nnz == 0
    stored = getattr(sparse, f"{form}_{container}")(graph) if form != "dok" else graph.todok()
    assert Isomap(metric="precomputed", n_neighbors=2, components="separate").fit(stored).embedding_.shape == (30, 2)


def test_indices_of_64_bits_and_entries_that_are_there_twice_are_read_as_what_they_mean():
    usual, given = sparse.csr_array(X), sparse.coo_array(X)
    wide = usual.copy()
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    places = np.tile(given.row, 2), np.tile(given.col, 2)
    twice = sparse.coo_array((np.tile(given.data / 2, 2), places), shape=X.shape)
    for other in (wide, twice):
        assert same_bits(PCA().fit_transform(other), PCA().fit_transform(usual))


@pytest.mark.parametrize("form", ["csr", "csc", "bsr"])
@pytest.mark.parametrize("place", [3, 77_777_777, -1])
def test_entries_outside_of_a_sparse_matrix_are_refused_before_anything_follows_them(form, place):
    broken = getattr(sparse, f"{form}_array")(X[:, :2])
    broken.indices[0] = 30 if form == "csc" and place == 3 else place
    falling = sparse.csr_array(X)
    falling.indptr[1] = falling.indptr[2] + 1
    for matrix in (broken, falling):
        for door in ("fit", "transform", "index", "query", "sparse query", "graph"):
            with pytest.raises(DataError, match="with entries outside of it"):
                DOORS[door](matrix)


LABELS = {
    "masked": (np.ma.array(np.arange(30) % 3, mask=np.arange(30) < 9), "masked array"),
    "complex": (np.arange(30) * 1j, "complex128, which are no labels"),
    "None among text": (["a", None] * 15, "labels of one kind"),
    "dictionaries": ([{}] * 30, "labels of one kind"),
    "generator": ((label for label in "ab" * 15), "of type generator"),
    "unequal": ([[1], [1, 2]] * 15, "cannot be read as labels"),
}


@pytest.mark.parametrize("what", LABELS)
def test_labels_that_cannot_be_told_apart_are_refused(what):
    labels, words = LABELS[what]
    with pytest.raises(DataError, match=words):
        UMAP(n_neighbors=5, schedule=Epochs(n_epochs=3)).fit(X, labels)
    with pytest.raises(DataError, match=words):
        metrics.label_accuracy(X[:, :2], labels)


def test_a_matrix_of_numpy_is_read_as_an_array():
    assert same_bits(PCA().fit_transform(np.asmatrix(X)), PCA().fit_transform(X))


def test_a_sparse_kernel_matrix_is_refused_at_fit_and_transform():
    K = X @ X.T
    model = KernelPCA(kernel="precomputed")
    with pytest.raises(DataError, match=r"value for every pair.*X\.toarray\(\)"):
        model.fit(sparse.csr_array(K))
    with pytest.raises(DataError, match=r"value for every pair.*X\.toarray\(\)"):
        model.fit(K).transform(sparse.csr_array(K[:4]))


@pytest.mark.parametrize(
    "model",
    [
        DiffusionMap(metric="precomputed"),
        Isomap(metric="precomputed", n_neighbors=3),
        TSNE(metric="precomputed", perplexity=2, schedule=Annealed(max_iter=3)),
    ],
    ids=lambda model: type(model).__name__,
)
@pytest.mark.filterwarnings("ignore")
def test_a_graph_of_new_points_is_refused_where_distances_were_fitted(model):
    with pytest.raises(DataError, match="X is a precomputed neighbour graph, but the model was fitted to precomputed"):
        model.fit(D).transform(sparse.csr_array(D[:4] + 0.1))


@pytest.mark.parametrize("method", [TSNE, SymmetricSNE, SNE, ElasticEmbedding])
def test_a_graph_with_a_point_without_neighbors_is_refused_by_its_number(method):
    graph = sparse.lil_array(NeighborGraph(n_neighbors=6).fit_transform(X))
    graph[7] = 0
    graph = sparse.csr_array(graph)
    graph.eliminate_zeros()
    with pytest.raises(DataError, match=r"1 of 30 points \(the first is point 7\) have no neighbours"):
        method(metric="precomputed", perplexity=1.0).fit(graph)


def test_columns_of_another_number_are_refused_with_what_to_pass():
    with pytest.raises(DataError, match="expecting 3 features as input. Pass the columns of the fit"):
        PCA().fit(X).transform(X[:, :2])
    with pytest.raises(DataError, match="expecting 30 features as input. Pass one column for each training point"):
        DiffusionMap(metric="precomputed").fit(D).transform(D[:, :4])


# Tables


def test_tables_of_pandas_that_hold_no_numbers_are_refused_by_the_library():
    pandas = pytest.importorskip("pandas")
    one = np.ones(30)
    tables = [
        pandas.DataFrame({"a": pandas.period_range("2020", periods=30, freq="D"), "b": one}),
        pandas.DataFrame({"a": pandas.interval_range(0, 30), "b": one}),
        pandas.DataFrame({"a": pandas.array([1, None] * 15, dtype="Int64"), "b": one}),
        pandas.DataFrame({"a": pandas.Categorical(["x", "y"] * 15), "b": one}),
        pandas.DataFrame({"a": pandas.Series([10**400] * 30, dtype=object), "b": one}),
        pandas.DataFrame({"a": [[1, 2]] * 30, "b": one}),
        pandas.DataFrame(X, columns=["a", "a", "b"]),
        pandas.DataFrame(X, columns=["a", 1, "b"]),
        pandas.DataFrame(),
        pandas.DataFrame({"a": one})["a"],
    ]
    for table in tables:
        for door in ("fit", "transform", "index", "query"):
            with pytest.raises(DataError):
                DOORS[door](table)
    with pytest.raises(DataError, match="2 columns of the name 'a'"):
        PCA().fit(tables[6])
    with pytest.raises(DataError, match="dates or times"):
        PCA().fit(tables[0])
    with pytest.raises(DataError, match=r"X\.to_frame\(\)"):
        PCA().fit(tables[-1])


def test_tables_of_polars_that_are_not_computed_yet_are_refused_with_the_way_to_do_that():
    polars = pytest.importorskip("polars")
    table = polars.DataFrame({"a": X[:, 0], "b": X[:, 1]})
    for door in ("fit", "transform", "index", "query"):
        with pytest.raises(DataError, match=r"Pass X\.collect\(\)"):
            DOORS[door](table.lazy())
    assert same_bits(PCA().fit_transform(table), PCA().fit_transform(X[:, :2]))
    wide = polars.DataFrame({"a": polars.Series([1, 2, 3], dtype=polars.Int128), "b": [1.0, 2.0, 3.0]})
    with pytest.raises(DataError, match="Int128 cannot be read as numbers"):
        PCA().fit(wide)
