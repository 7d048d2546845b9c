"""Files of data and of embeddings: every kind, with its edges, there and back."""

from __future__ import annotations

import importlib

import numpy as np
import pytest
import scipy.io
import scipy.sparse

from conftest import cloud, write_matlab_73
from lowfold import FileError
from lowfold.files import hdf5, read, write

X = cloud(9, 3).round(3)
SPECIES = np.array(["cat", "dog, small", "cow"] * 3)


KINDS_OF_TEXT = [("csv", ","), ("tsv", "\t"), ("csv", ";"), ("txt", " "), ("csv", "\t")]


def text(path, content, encoding="utf-8"):
    path.write_text(content, encoding=encoding)
    return path


def lines(rows, delimiter=","):
    return "\n".join(delimiter.join(map(str, row)) for row in rows) + "\n"


@pytest.mark.parametrize(("ending", "delimiter"), KINDS_OF_TEXT)
@pytest.mark.parametrize("header", [True, False])
def test_text_is_read_with_any_delimiter_and_with_or_without_a_header(tmp_path, ending, delimiter, header):
    rows = [["a", "b", "c"], *X.tolist()] if header else X.tolist()
    table = read(text(tmp_path / f"data.{ending}", lines(rows, delimiter)))
    np.testing.assert_array_equal(table.X, X)
    assert table.columns == (["a", "b", "c"] if header else ["column1", "column2", "column3"])


def test_a_column_of_labels_is_taken_by_name_and_quotes_are_understood(tmp_path):
    rows = [["x", "kind", "y"], *([a, f'"{kind}"', b] for (a, b, _), kind in zip(X, SPECIES, strict=True))]
    table = read(text(tmp_path / "data.csv", lines(rows)), labels="kind")
    np.testing.assert_array_equal(table.X, X[:, :2])
    np.testing.assert_array_equal(table.labels, SPECIES)
    with pytest.raises(FileError, match="--labels kind"):
        read(tmp_path / "data.csv")
    with pytest.raises(FileError, match="no column 'species', but 'x', 'kind', 'y'"):
        read(tmp_path / "data.csv", labels="species")


@pytest.mark.parametrize("names", [["0", "1", "2"], ["cell a", "cell b", "7"]])
def test_a_first_column_without_a_name_holds_the_names_of_the_rows(tmp_path, names):
    rows = [["", "p", "q"], *([name, 2 * i, 0.5 - i] for i, name in enumerate(names))]
    table = read(text(tmp_path / "data.csv", lines(rows)))
    assert (table.names, table.columns) == (names, ["p", "q"])
    np.testing.assert_array_equal(table.X, [[0, 0.5], [2, -0.5], [4, -1.5]])
    unnamed = read(text(tmp_path / "data.csv", ",0,1\n5,1,2\n6,3,4\n"))  # as pandas writes columns without names
    assert (unnamed.names, unnamed.columns, unnamed.X.tolist()) == (["5", "6"], ["0", "1"], [[1, 2], [3, 4]])
    with pytest.raises(FileError, match="Row 1, column 'column1' .* holds nothing where numbers stand otherwise"):
        read(text(tmp_path / "data.csv", ",2,3\n4,5,6\n7,8,9\n"))  # no header: a number is missing
    with pytest.raises(FileError, match="Column 2 of .* has no name"):
        read(text(tmp_path / "other.csv", "p,,q\n1,2,3\n"))


def test_labels_without_a_header_and_a_byte_order_mark(tmp_path):
    rows = [[a, b, kind[:3]] for (a, b, _), kind in zip(X, SPECIES, strict=True)]
    table = read(text(tmp_path / "data.csv", lines(rows), "utf-8-sig"), labels="column3")
    np.testing.assert_array_equal(table.X, X[:, :2])
    assert list(table.labels[:3]) == ["cat", "dog", "cow"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "is empty"),
        ("a,b\n", "no rows"),
        ("a,b\n1,2\n3\n5,6\n", "Row 3 .* has 1 cells"),
        ("a,b\n1,2\n3,\n5,6\n", "Row 3, column 'b' .* holds nothing"),
        ("a,b\n1,2\n3,x\n5,6\n", "Row 3, column 'b' .* holds 'x'"),
        ("a,a\n1,2\n", "two columns called 'a'"),
    ],
)
def test_what_is_wrong_in_a_text_file_is_said_with_its_place(tmp_path, content, message):
    with pytest.raises(FileError, match=message):
        read(text(tmp_path / "data.csv", content))


def test_arrays_are_read_by_name_or_where_it_is_clear(tmp_path):
    np.save(tmp_path / "a.npy", X.astype(np.float32))
    assert read(tmp_path / "a.npy").X.dtype == np.float32
    np.savez(tmp_path / "a.npz", X=X, y=np.arange(9), other=X + 1)
    table = read(tmp_path / "a.npz", labels="y")
    np.testing.assert_array_equal(table.X, X)
    np.testing.assert_array_equal(table.labels, np.arange(9))
    np.testing.assert_array_equal(read(tmp_path / "a.npz", name="other").X, X + 1)
    np.savez(tmp_path / "b.npz", first=X, second=X)
    with pytest.raises(FileError, match="'first', 'second'"):
        read(tmp_path / "b.npz")
    with pytest.raises(FileError, match="no 'z'"):
        read(tmp_path / "a.npz", labels="z")
    scipy.sparse.save_npz(tmp_path / "c.npz", scipy.sparse.csr_array(np.eye(5)))
    assert read(tmp_path / "c.npz").X.shape == (5, 5)


def test_objects_in_arrays_are_never_unpickled(tmp_path):
    np.save(tmp_path / "a.npy", np.array([{"a": 1}], dtype=object))
    with pytest.raises(FileError, match="cannot be read"):
        read(tmp_path / "a.npy")


def test_stacks_of_images_become_rows(tmp_path):
    np.save(tmp_path / "a.npy", np.zeros((7, 4, 5), np.uint8))
    assert read(tmp_path / "a.npy").X.shape == (7, 20)


@pytest.mark.parametrize("ending", ["parquet", "feather"])
def test_columns_are_read_and_written(tmp_path, ending):
    path = tmp_path / f"map.{ending}"
    write(path, X, method="tsne", labels=SPECIES)
    table = read(path, labels="label")
    np.testing.assert_array_equal(table.X, X)
    np.testing.assert_array_equal(table.labels, SPECIES)
    assert table.columns == ["tsne1", "tsne2", "tsne3"]


@pytest.mark.parametrize("ending", ["npy", "csv", "tsv"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_coordinates_come_back_with_every_digit(tmp_path, ending, dtype):
    Y = cloud(50, 2, dtype=dtype)
    write(tmp_path / f"map.{ending}", Y)
    np.testing.assert_array_equal(read(tmp_path / f"map.{ending}").X.astype(dtype), Y)


def test_matlab_files_are_read(tmp_path):
    scipy.io.savemat(tmp_path / "a.mat", {"X": X, "y": np.arange(9), "thetas": X[:, :1]})
    table = read(tmp_path / "a.mat", labels="y")
    np.testing.assert_array_equal(table.X, X)
    np.testing.assert_array_equal(table.labels, np.arange(9))


@pytest.mark.parametrize("chunks", [None, (2, 5)])
def test_newer_matlab_files_are_read(tmp_path, chunks, monkeypatch):
    monkeypatch.setattr(hdf5, "AT_ONCE", 7)
    write_matlab_73(tmp_path / "b.mat", chunks, X=X)
    np.testing.assert_array_equal(read(tmp_path / "b.mat").X, X)


def test_folders_of_images_are_rows_of_grey_and_folders_are_labels(tmp_path):
    Image = pytest.importorskip("PIL.Image")
    for kind in ("a", "b"):
        (tmp_path / kind).mkdir()
        for number in range(3):
            values = np.full((4, 6), 40 * number + (kind == "b"), np.uint8)
            Image.fromarray(values).save(tmp_path / kind / f"{number}.png")
    table = read(tmp_path, labels="folder")
    assert table.X.shape == (6, 24)
    assert table.shape == (4, 6)
    assert list(table.X[:, 0]) == [0, 40, 80, 1, 41, 81]
    assert list(table.labels) == ["a"] * 3 + ["b"] * 3
    Image.fromarray(np.zeros((5, 5), np.uint8)).save(tmp_path / "b" / "odd.png")
    with pytest.raises(FileError, match="5 x 5 pixels"):
        read(tmp_path)
    (tmp_path / "b" / "odd.png").write_bytes(b"no image")
    with pytest.raises(FileError, match="as an image"):
        read(tmp_path)


@pytest.fixture
def without(monkeypatch):
    """without(name): from now on the package cannot be imported."""
    real, missing = importlib.import_module, set()

    def imported(name, *rest):
        if name.split(".")[0] in missing:
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.setattr(importlib, "import_module", imported)
    return missing.add


def asks_for(package):
    return pytest.raises(FileError, match=rf"needs the package {package}.*pip install {package}.*lowfold\[files\]")


@pytest.mark.parametrize(("ending", "package"), [("parquet", "pyarrow"), ("feather", "pyarrow"), ("h5ad", "h5py")])
def test_a_missing_package_is_asked_for_by_name(tmp_path, without, ending, package):
    path = tmp_path / f"a.{ending}"
    write(path, X)
    before = path.read_bytes()
    without(package)
    with asks_for(package):
        read(path)
    with asks_for(package):
        write(path, X + 1)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_images_ask_for_pillow_by_name(tmp_path, without):
    (tmp_path / "a.png").write_bytes(b"")
    without("PIL")
    with asks_for("pillow"):
        read(tmp_path)


def test_newer_matlab_files_ask_for_h5py_by_name_and_older_ones_do_not(tmp_path, without):
    write_matlab_73(tmp_path / "b.mat", X=X)
    scipy.io.savemat(tmp_path / "a.mat", {"X": X})
    without("h5py")
    with asks_for("h5py"):
        read(tmp_path / "b.mat")
    np.testing.assert_array_equal(read(tmp_path / "a.mat").X, X)


@pytest.mark.parametrize("ending", ["npy", "npz", "parquet", "feather", "h5ad", "mat"])
def test_damaged_files_are_an_error_in_one_line(tmp_path, ending):
    for content in (b"", b"nothing of the kind", bytes(range(256)) * 8):
        (tmp_path / f"a.{ending}").write_bytes(content)
        with pytest.raises(FileError) as caught:
            read(tmp_path / f"a.{ending}")
        assert "\n" not in str(caught.value)


def test_unknown_and_absent_files_are_refused(tmp_path):
    with pytest.raises(FileError, match="does not exist"):
        read(tmp_path / "none.csv")
    with pytest.raises(FileError, match="unknown kind"):
        read(text(tmp_path / "a.doc", "x"))
    with pytest.raises(FileError, match="ending must be one of"):
        write(tmp_path / "a.doc", X)
    with pytest.raises(FileError, match="no images"):
        read(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["a.doc"]


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("x.csv", "größe,b\n1,2\n".encode("latin-1"), "not text in UTF-8"),
        ("x.npy", b"no array", "does not begin as one"),
        ("x.npz", b"no archive", "does not begin as one"),
        ("x.csv", b"a,kind\n1,one\n2,two\n", r"holds text \('one' in row 1\), not numbers"),
        ("x.csv", b"a,b,kind\n1,2,one\n1,two\n", "Row 3 of .* has 2 cells, the first has 3"),
        ("x.csv", b"a,kind\n1,one\n,two\n2,one\n3,two\n", "column 'a' of .* holds nothing"),
    ],
)
def test_a_file_that_is_not_what_it_says_is_refused_in_words_a_person_understands(name, content, said, tmp_path):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(FileError, match=said):
        read(tmp_path / name, labels=None if "text" in said or "begin" in said else "kind")


def test_an_array_without_rows_is_refused(tmp_path):
    np.save(tmp_path / "x.npy", np.zeros((0, 4)))
    with pytest.raises(FileError, match="without rows"):
        read(tmp_path / "x.npy")


def test_quoted_labels_and_blank_lines_are_read_beside_numbers(tmp_path):
    (tmp_path / "x.csv").write_text('kind,a,b\n"one, two",1,2\n\n three ,3,4.5\n')
    table = read(tmp_path / "x.csv", labels="kind")
    np.testing.assert_array_equal(table.X, [[1, 2], [3, 4.5]])
    assert [label.strip() for label in table.labels] == ["one, two", "three"]
    assert table.columns == ["a", "b"]
