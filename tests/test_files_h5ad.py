"""Annotated matrices of single cells, in the layout that anndata writes: there, back, and damaged."""

from __future__ import annotations

import json

import numpy as np
import pytest
import scipy.io
import scipy.sparse

from conftest import cloud
from lowfold import FileError
from lowfold.files import read, write

h5py = pytest.importorskip("h5py")

X = np.where(cloud(9, 4) > 0, cloud(9, 4).round(3), 0)
SPECIES = np.array(["cat", "dog, small", "cow"] * 3)
SPARSE = {"csr": scipy.sparse.csr_array(X), "csc": scipy.sparse.csc_array(X)}
KINDS = ["dense", "csr", "csc", "old csr", "old csc"]


def encoded(part, kind, version="0.2.0"):
    part.attrs.update({"encoding-type": kind, "encoding-version": version})
    return part


def strings(group, name, values):
    data = np.array(list(values), dtype=h5py.string_dtype())
    encoded(group.create_dataset(name, data=data), "string-array")


def store_matrix(file, name, kind, parts):
    """Dense values, or (data, indices, indptr, shape); "old": as anndata wrote it before version 0.7."""
    if kind == "dense":
        encoded(file.create_dataset(name, data=parts), "array")
        return
    group = file.create_group(name)
    for field, values in zip(("data", "indices", "indptr"), parts, strict=False):
        group.create_dataset(field, data=values)
    if kind.startswith("old"):
        group.attrs.update({"h5sparse_format": kind[-3:], "h5sparse_shape": parts[3]})
    else:
        encoded(group, f"{kind}_matrix", "0.1.0").attrs["shape"] = parts[3]


def parts_of(matrix):
    return matrix.data, matrix.indices, matrix.indptr, matrix.shape


def annotated(path, kind="dense", parts=None):
    """A file of nine cells: labels by category and as they are, two embeddings, a layer."""
    parts = parts or (X if kind == "dense" else parts_of(SPARSE[kind[-3:]]))
    with h5py.File(path, "w") as file:
        encoded(file, "anndata", "0.1.0")
        store_matrix(file, "X", kind, parts)
        store_matrix(file, "layers/counts", "csr", parts_of(SPARSE["csr"]))
        obs = encoded(file.create_group("obs"), "dataframe")
        obs.attrs["_index"] = "cell"
        strings(obs, "cell", "abcdefghi")
        strings(obs, "name", SPECIES)
        encoded(obs.create_dataset("depth", data=np.arange(9.0)), "array")
        categorical(obs, "kind", ["cat", "cow", "dog, small"], [0, 2, 1] * 3)
        categorical(obs, "year", [1999, 2024], [1, -1, 0] * 3)
        store_matrix(file, "obsm/X_pca", "dense", X[:, :2])
    return path


def categorical(obs, name, categories, codes):
    group = encoded(obs.create_group(name), "categorical")
    group.attrs["ordered"] = False
    group.create_dataset("codes", data=np.array(codes, np.int8))
    if isinstance(categories[0], str):
        strings(group, "categories", categories)
    else:
        group.create_dataset("categories", data=categories)


def whole(values):
    return values.toarray() if scipy.sparse.issparse(values) else values


def everything(path):
    """Each array and each attribute of a file, but for the embeddings."""
    found = {}

    def note(name, part):
        if not name.startswith("obsm"):
            found[name] = part[()].tolist() if isinstance(part, h5py.Dataset) else None
            found[name, "attributes"] = {key: np.asarray(value).tolist() for key, value in part.attrs.items()}

    with h5py.File(path) as file:
        file.visititems(note)
    return found


@pytest.mark.parametrize("kind", KINDS)
def test_annotated_matrices_are_read_with_their_labels(tmp_path, kind):
    path = annotated(tmp_path / "a.h5ad", kind)
    table = read(path, labels="kind")
    assert scipy.sparse.issparse(table.X) == (kind != "dense")
    np.testing.assert_array_equal(whole(table.X), X)
    np.testing.assert_array_equal(table.labels, SPECIES)
    np.testing.assert_array_equal(read(path, labels="name").labels, SPECIES)
    np.testing.assert_array_equal(read(path, labels="depth").labels, np.arange(9.0))
    np.testing.assert_array_equal(read(path, labels="year").labels, ["2024", "missing", "1999"] * 3)


def test_embeddings_and_layers_are_read_by_name(tmp_path):
    path = annotated(tmp_path / "a.h5ad")
    np.testing.assert_array_equal(read(path, name="X_pca").X, X[:, :2])
    np.testing.assert_array_equal(whole(read(path, name="counts").X), X)
    with pytest.raises(FileError, match="no 'X_umap', but X, obsm/X_pca"):
        read(path, name="X_umap")
    with pytest.raises(FileError, match="no obs column 'type', but cell, depth, kind, name, year"):
        read(path, labels="type")


@pytest.mark.parametrize("kind", KINDS)
def test_an_embedding_is_written_into_a_copy_that_keeps_all_else(tmp_path, kind):
    source = annotated(tmp_path / "a.h5ad", kind)
    before = source.read_bytes()
    write(tmp_path / "b.h5ad", X[:, :2], method="tsne", source=source)
    write(tmp_path / "b.h5ad", X[:, 1:3], method="tsne", source=tmp_path / "b.h5ad")
    assert source.read_bytes() == before
    assert everything(tmp_path / "b.h5ad") == everything(source)
    np.testing.assert_array_equal(read(tmp_path / "b.h5ad", name="X_tsne").X, X[:, 1:3])
    np.testing.assert_array_equal(read(tmp_path / "b.h5ad", name="X_pca").X, X[:, :2])
    with pytest.raises(FileError, match="another number of cells than the embedding's 8"):
        write(tmp_path / "b.h5ad", X[:8], method="tsne", source=source)
    with h5py.File(tmp_path / "b.h5ad", "r+") as cells:
        del cells["obs"]
    with pytest.raises(FileError, match="has no table obs"):
        write(tmp_path / "c.h5ad", X[:, :2], method="tsne", source=tmp_path / "b.h5ad")
    assert not (tmp_path / "c.h5ad").exists()


def test_labels_of_another_number_of_cells_and_matrices_of_text_are_refused(tmp_path):
    with h5py.File(annotated(tmp_path / "a.h5ad"), "r+") as file:
        file["obs"].create_dataset("short", data=np.arange(5))
        categorical(file["obs"], "broken", ["a"], [0, 1] * 4)
        strings(file["obsm"], "words", SPECIES)
        file["obsm"].create_group("empty")
    with pytest.raises(FileError, match="'short' .* has 5 values for 9 rows"):
        read(tmp_path / "a.h5ad", labels="short")
    with pytest.raises(FileError, match="cannot be read as .h5ad"):
        read(tmp_path / "a.h5ad", labels="broken")
    with pytest.raises(FileError, match="type object"):
        read(tmp_path / "a.h5ad", name="words")
    with pytest.raises(FileError, match="neither an array nor a sparse matrix"):
        read(tmp_path / "a.h5ad", name="empty")


def spoilt(matrix):
    """(data, indices, indptr, shape) of a matrix, wrong in one way after another."""
    data, indices, indptr, shape = parts_of(matrix)
    for place in (0, len(indices) // 2, -1):
        for value in (-1, 10**6):
            yield data, replaced(indices, place, value), indptr, shape
            yield data, indices, replaced(indptr, place % len(indptr), value), shape
    yield data, indices, np.array([0, *[10**9] * (len(indptr) - 2), 0]), shape
    yield data, indices, indptr[[0, 2, 1, *range(3, len(indptr))]], shape
    yield data, indices, indptr[:-1], shape
    yield data[:-1], indices, indptr, shape
    yield data, indices, indptr, (*shape[:1], 2)
    yield data, indices, indptr, (2, *shape[1:])


def replaced(array, place, value):
    wrong = np.array(array)
    wrong[place] = value
    return wrong


def damaged(folder):
    """Writes sparse matrices that point outside of themselves, in every kind of file that can hold them."""
    for kind, matrix in SPARSE.items():
        for number, parts in enumerate(spoilt(matrix)):
            annotated(folder / f"{kind}{number}.h5ad", kind, parts)
            fields = dict(zip(("data", "indices", "indptr", "shape"), parts, strict=True))
            np.savez(folder / f"{kind}{number}.npz", format=kind.encode(), **fields)
    scipy.io.savemat(folder / "a.mat", {"X": SPARSE["csc"]})
    old = SPARSE["csc"].indptr.astype("<i4").tobytes()
    content = (folder / "a.mat").read_bytes()
    assert content.count(old) == 1
    (folder / "a.mat").write_bytes(content.replace(old, np.array([0, 10**9, 10**9, 10**9, 0], "<i4").tobytes()))


SCRIPT = """
import json, pathlib, lowfold
from lowfold.files import read

for path in sorted(pathlib.Path(FOLDER).iterdir()):
    print(json.dumps(path.name), flush=True)
    try:
        lowfold.PCA().fit_transform(read(path).X)
        print(json.dumps(["used", path.name]))
    except lowfold.FileError as error:
        print(json.dumps(["refused", str(error)]))
"""


def test_a_sparse_matrix_that_points_outside_of_itself_is_an_error_and_never_a_crash(tmp_path, run_script):
    (tmp_path / "files").mkdir()
    damaged(tmp_path / "files")
    told = [json.loads(line) for line in run_script(f"FOLDER = {str(tmp_path / 'files')!r}\n" + SCRIPT).splitlines()]
    fates = [line for line in told if isinstance(line, list)]
    assert len(fates) == len(list((tmp_path / "files").iterdir())) > 70
    assert not [line for line in fates if line[0] == "used"]


@pytest.mark.parametrize("kind", SPARSE)
def test_what_is_wrong_with_a_sparse_matrix_is_said_with_its_place(tmp_path, kind):
    data, indices, indptr, shape = parts_of(SPARSE[kind])
    path = annotated(tmp_path / "a.h5ad", kind, (data, replaced(indices, 3, 10**6), indptr, shape))
    with pytest.raises(FileError, match=r"/X in .*a\.h5ad is no sparse matrix of shape \(9, 4\): indices go from 0 to"):
        read(path)


def test_a_new_annotated_matrix_holds_the_embedding_alone(tmp_path):
    write(tmp_path / "a.h5ad", X, method="umap")
    np.testing.assert_array_equal(read(tmp_path / "a.h5ad", name="X_umap").X, X)
    with pytest.raises(FileError, match="no 'X', but X, obsm/X_umap"):
        read(tmp_path / "a.h5ad")
    anndata = pytest.importorskip("anndata")
    np.testing.assert_array_equal(anndata.read_h5ad(tmp_path / "a.h5ad").obsm["X_umap"], X)


@pytest.mark.parametrize("kind", ["dense", "csr", "csc"])
def test_what_anndata_writes_goes_there_and_back(tmp_path, kind):
    anndata = pytest.importorskip("anndata")
    pandas = pytest.importorskip("pandas")
    values = {"dense": X, "csr": scipy.sparse.csr_matrix(X), "csc": scipy.sparse.csc_matrix(X)}[kind]
    obs = pandas.DataFrame({"kind": pandas.Categorical(SPECIES), "depth": np.arange(9.0)}, index=list("abcdefghi"))
    anndata.AnnData(values, obs=obs).write_h5ad(tmp_path / "a.h5ad")
    table = read(tmp_path / "a.h5ad", labels="kind")
    np.testing.assert_allclose(whole(table.X), X)
    np.testing.assert_array_equal(table.labels, SPECIES)
    np.testing.assert_array_equal(read(tmp_path / "a.h5ad", labels="depth").labels, np.arange(9.0))
    write(tmp_path / "b.h5ad", X[:, :2], method="tsne", source=tmp_path / "a.h5ad")
    back = anndata.read_h5ad(tmp_path / "b.h5ad")
    np.testing.assert_array_equal(back.obsm["X_tsne"], X[:, :2])
    assert list(back.obs["kind"]) == list(SPECIES)
