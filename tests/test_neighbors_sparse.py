"""Neighbours of sparse rows under Euclid's metric and the cosine: those of the same rows in an array."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array, random_array

from conftest import same_bits
from lowfold import FileError, Isomap, NeighborGraph, build_index, connect, load, save
from lowfold.neighbors import sparse_rows

METRICS = pytest.mark.parametrize("metric", ["euclidean", "sqeuclidean", "cosine"])
DTYPES = pytest.mark.parametrize("dtype", [np.float32, np.float64], ids=["float32", "float64"])


def rows_of(kind, n, seed=0):
    rng = np.random.default_rng(seed)
    words = random_array((n, 400), density=0.05, rng=rng, data_sampler=rng.standard_normal).toarray()
    return {
        "words": words,
        "counts": np.minimum(rng.poisson(0.05, (n, 40)), 3).astype(float),  # ties, copies and rows of zeros
        "far from 0": 1e7 + rng.standard_normal((n, 12)),
        "of all sizes": words * 10.0 ** rng.uniform(-30, 0, (n, 1)),
        "nearly parallel": np.abs(rng.standard_normal((1, 30))) + 1e-6 * rng.standard_normal((n, 30)),
        "an outlier": np.where(np.arange(n)[:, None] == 3, 1e9, words),
    }[kind]


KINDS = pytest.mark.parametrize(
    "kind", ["words", "counts", "far from 0", "of all sizes", "nearly parallel", "an outlier"]
)


def truth(new, X, metric):
    """Distances in long double, whose digits outlast the differences."""
    new, X = new.astype(np.longdouble), X.astype(np.longdouble)
    if metric != "cosine":
        squares = np.square(new[:, None] - X).sum(axis=-1)
        return squares if metric == "sqeuclidean" else np.sqrt(squares)
    new, X = ((A.T / np.where(A.any(axis=1), np.sqrt(np.square(A).sum(axis=1)), 1)).T for A in (new, X))
    D = np.square(new[:, None] - X).sum(axis=-1) / 2
    D[~new.any(axis=1)] = D[:, ~X.any(axis=1)] = 1
    return D


@KINDS
@METRICS
def test_no_row_that_is_left_out_is_nearer_than_one_that_is_found(kind, metric):
    X, new = rows_of(kind, 150), rows_of(kind, 40, seed=1)
    index = build_index(csr_array(X), metric=metric)
    for rows, found in ((X, index.query(None, 7)), (new, index.query(csr_array(new), 7))):
        D = truth(rows, X, metric)
        measured = np.take_along_axis(D, found.indices.astype(int), axis=1)
        # Lengths to rounding; unit vectors are themselves rounded, which shows where rows are nearly parallel.
        rounding = 1e-12 * measured + (1e-15 * np.sqrt(measured) + 1e-31 if metric == "cosine" else 0)
        assert (np.abs(found.distances - measured) <= rounding).all()
        if rows is X:
            np.fill_diagonal(D, np.inf)
        assert (np.sort(D, axis=1)[:, 6] >= measured[:, 6] - rounding[:, 6]).all()


@DTYPES
@METRICS
@pytest.mark.parametrize("kind", ["words", "counts"])
def test_sparse_rows_have_the_neighbors_of_dense_ones_in_the_same_order(kind, metric, dtype):
    X = rows_of(kind, 200).astype(dtype)
    sparse, dense = (build_index(rows, metric=metric).query(None, 9) for rows in (csr_array(X), X))
    assert sparse.distances.dtype == dtype
    if metric != "cosine" or kind == "words":  # where directions are equal but lengths are not, units are rounded
        np.testing.assert_array_equal(sparse.indices, dense.indices)
    np.testing.assert_allclose(sparse.distances, dense.distances, rtol=1e-5, atol=1e-6)


@METRICS
@pytest.mark.parametrize("kind", ["words", "counts", "far from 0"])
def test_each_sparse_row_is_searched_for_by_itself_on_any_number_of_threads(kind, metric):
    X, new = csr_array(rows_of(kind, 120)), csr_array(rows_of(kind, 30, seed=1))
    index = build_index(X, metric=metric, n_jobs=1)
    together = index.query(new, 5)
    parts = [index.query(new[[i]], 5) for i in range(30)]
    threads = build_index(X, metric=metric, n_jobs=3).query(new, 5)
    for name in ("indices", "distances"):
        assert same_bits(np.concatenate([getattr(part, name) for part in parts]), getattr(together, name))
        assert same_bits(getattr(threads, name), getattr(together, name))


@pytest.fixture
def asked(monkeypatch):
    """The rows that are measured against all that could be near."""
    rows = []
    among = sparse_rows.SparseIndex._among_near
    monkeypatch.setattr(
        sparse_rows.SparseIndex, "_among_near", lambda self, X, *rest: rows.extend(X.toarray()) or among(self, X, *rest)
    )
    return rows


def test_only_rows_in_doubt_are_measured_against_all_that_could_be_near(asked):
    build_index(csr_array(rows_of("words", 150))).query(None, 5)
    assert not asked
    build_index(csr_array(rows_of("far from 0", 150))).query(None, 5)
    assert len(asked) == 150


@METRICS
def test_copies_of_sparse_rows_are_searched_for_once(metric, asked):
    X = np.eye(20)[np.random.default_rng(0).integers(20, size=600)] * 2
    found, whole = (build_index(rows, metric=metric).query(None, 70) for rows in (csr_array(X), X))
    np.testing.assert_array_equal(found.indices, whole.indices)
    np.testing.assert_allclose(found.distances, whole.distances, rtol=1e-15)
    assert len(asked) <= 20


def test_the_longest_differences_are_taken_a_few_at_a_time(monkeypatch):
    X, new = csr_array(rows_of("words", 60)), csr_array(rows_of("words", 9, seed=1) + 1)  # rows of 400 entries
    of_points, of_new = (build_index(X).query(rows, 5).distances for rows in (None, new))
    entries = []
    lengths = sparse_rows.row_lengths
    monkeypatch.setattr(sparse_rows, "NUMBERS_AT_ONCE", 1000)
    monkeypatch.setattr(sparse_rows, "row_lengths", lambda rows: entries.append(rows.nnz) or lengths(rows))
    assert same_bits(build_index(X).query(None, 5).distances, of_points)
    assert same_bits(build_index(X).query(new, 5).distances, of_new)
    assert max(entries) <= 1000


def test_a_row_of_more_entries_than_any_point_has_is_in_doubt_by_the_roundings_of_its_own(asked):
    points = csr_array((1e-10 * np.arange(300), (np.arange(300), np.zeros(300, int))), shape=(300, 40_000))
    index = build_index(points)
    new = np.zeros((2, 40_000))
    new[0, 0], new[1] = 20, 0.1  # both are of length 20
    index.query(csr_array(new), 4)
    assert len(asked) == 1
    np.testing.assert_array_equal(asked[0], new[1])


def test_nothing_is_asked_of_points_that_are_not_in_doubt(monkeypatch):
    """The points stay as they are fitted: no copy for each piece of work."""
    X = csr_array(rows_of("words", 150).astype(np.float32))
    index = build_index(X)
    copied = []
    monkeypatch.setattr(type(index._X), "astype", _noted(type(index._X).astype, copied, index._X.shape))
    index.query(csr_array(rows_of("words", 40, seed=1)), 5)
    assert not copied


def _noted(method, calls, shape):
    def noting(self, *args, **kwargs):
        if self.shape == shape:
            calls.append(args)
        return method(self, *args, **kwargs)

    return noting


def test_an_index_that_was_stored_without_a_type_of_distances_has_that_of_its_rows():
    index = build_index(csr_array(rows_of("words", 60).astype(np.float32)))
    before = index.query(None, 5)
    state = index.__getstate__()
    del state["_dtype"]
    stored = sparse_rows.SparseIndex.__new__(sparse_rows.SparseIndex)
    stored.__setstate__(state)
    assert same_bits(stored.query(None, 5).distances, before.distances)


@METRICS
def test_sparse_groups_are_joined_by_their_closest_pair(metric):
    X = rows_of("words", 80)
    X[:40, 0] += 30
    X[40:, 1] += 30
    index = build_index(csr_array(X), metric=metric)
    _, components = connect(index.query(None, 3), index)
    dense = build_index(X, metric=metric)
    _, expected = connect(dense.query(None, 3), dense)
    assert components.count == expected.count > 1
    np.testing.assert_array_equal(components.bridges, expected.bridges)


@METRICS
def test_models_of_sparse_rows_are_stored_and_read(metric, tmp_path):
    X, new = csr_array(rows_of("words", 80)), csr_array(rows_of("words", 9, seed=1))
    for model in (Isomap(n_neighbors=6, metric=metric).fit(X), NeighborGraph(n_neighbors=6, metric=metric).fit(X)):
        save(model, tmp_path / "model.lowfold")
        there, here = load(tmp_path / "model.lowfold").transform(new), model.transform(new)
        assert same_bits(np.asarray(getattr(there, "data", there)), np.asarray(getattr(here, "data", here)))


@pytest.mark.parametrize("metric", ["euclidean", "sqeuclidean"])
def test_ties_of_whole_numbers_are_decided_by_index_as_among_dense_rows(metric):
    X = np.random.default_rng(0).integers(0, 10, (700, 100)).astype(float)
    sparse, dense = (build_index(data, metric=metric).query(None, 16) for data in (csr_array(X), X))
    np.testing.assert_array_equal(sparse.indices, dense.indices)
    np.testing.assert_allclose(sparse.distances, dense.distances, rtol=1e-15)


def test_distances_of_a_type_that_holds_none_are_refused_when_a_model_is_read(tmp_path):
    model = NeighborGraph(n_neighbors=6).fit(csr_array(rows_of("words", 80)))
    model.index_._dtype = np.dtype(np.int32)
    save(model, tmp_path / "model.lowfold")
    with pytest.raises(FileError, match="a SparseIndex whose parts do not fit together"):
        load(tmp_path / "model.lowfold")
