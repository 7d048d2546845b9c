"""What a file does not say clearly is not guessed silently: rows, labels, names of rows, maps that are there."""

from __future__ import annotations

import os
import stat
import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse as sp

from conftest import cloud
from lowfold import FileError
from lowfold.files import read, write
from lowfold.model_file.container import write_whole


def text(path, content):
    path.write_text(content)
    return path


def command(*arguments):
    return subprocess.run([sys.executable, "-m", "lowfold", *map(str, arguments)], capture_output=True, text=True)


def test_a_row_of_empty_cells_is_refused_and_below_the_last_row_left_out(tmp_path):
    with pytest.raises(FileError, match="Row 3, column 'a' of .* holds nothing"):
        read(text(tmp_path / "t.csv", "a,b,lab\n1,2,x\n,,\n3,4,y\n"), labels="lab")
    table = read(text(tmp_path / "t.csv", "a,b,lab\n1,2,x\n\n3,4,y\n,,\n,,\n"), labels="lab")
    np.testing.assert_array_equal(table.X, [[1, 2], [3, 4]])
    assert list(table.labels) == ["x", "y"]


def test_an_underscore_makes_no_number(tmp_path):
    path = text(tmp_path / "t.csv", "plate,a\n1_1,2\n11,4\n1_2,3\n")
    assert list(read(path, labels="plate").labels) == ["1_1", "11", "1_2"]
    with pytest.raises(FileError, match=r"'1_1' in row 1"):
        read(path)


@pytest.mark.parametrize("rows", [["1,2,007", "3,4,7"], ["1,2,9007199254740993", "3,4,9007199254740992"]])
@pytest.mark.parametrize("more", ["", "\n5,6,a"])
def test_labels_that_numbers_cannot_tell_apart_are_text(tmp_path, rows, more):
    table = read(text(tmp_path / "t.csv", "a,b,id\n" + "\n".join(rows) + more), labels="id")
    assert list(table.labels)[:2] == [row.split(",")[2] for row in rows]
    numbers = read(text(tmp_path / "t.csv", "a,b,id\n1,2,3\n3,4,5.5\n"), labels="id").labels
    np.testing.assert_array_equal(numbers, [3, 5.5])
    written = read(text(tmp_path / "t.csv", "x,y\n1,-0.0\n2,0.0\n3,0.1\n4,0.10\n"), labels="y").labels
    np.testing.assert_array_equal(written, [0, 0, 0.1, 0.1])


@pytest.mark.parametrize("end", ["\n5,6,y", "\n5,6,y\n7,8,z"])
def test_a_quote_that_is_left_open_is_refused(tmp_path, end):
    with pytest.raises(FileError, match=r"Row 3 of .*t\.csv opens a quote that is not closed\. Close it"):
        read(text(tmp_path / "t.csv", f'a,b,lab\n1,2,x\n3,4,"open{end}'), labels="lab")
    spaced = read(text(tmp_path / "t.csv", '"x" , "y"\n"1" , "2"\n"3" , "4"\n'))
    np.testing.assert_array_equal(spaced.X, [[1, 2], [3, 4]])
    assert list(read(text(tmp_path / "t.csv", 'l,x\n,1\n"ab"c,2\n'), labels="l").labels) == ["", "abc"]
    table = read(text(tmp_path / "t.csv", 'a,b,lab\n1,2,x\n3,4,"two\nlines"\n'), labels="lab")
    assert list(table.labels) == ["x", "two\nlines"]


def test_a_header_that_counts_the_columns_is_one_above_numbers_with_a_point_and_else_asked_about(tmp_path):
    with pytest.warns(UserWarning, match=r"The first row of .*t\.csv, 0, 1, 2, \.\.\., is taken for the names"):
        table = read(text(tmp_path / "t.csv", "0,1,2\n0.5,1,2\n0.25,3,4\n"))
    assert table.X.shape == (2, 3)
    assert table.columns == ["0", "1", "2"]
    with pytest.warns(UserWarning, match=r"The first row of .*t\.csv, 0, 1, 2, \.\.\., is taken for a point"):
        assert read(text(tmp_path / "t.csv", "0,1,2\n5,1,2\n")).X.shape == (2, 3)
    for content in ("0,1\n1,0\n1,1\n", "0,1\n0.5,1\n1,1\n"):
        assert read(text(tmp_path / "t.csv", content)).X.shape == (3, 2)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("a;b\n1,5;2,5\n3,5;4,5\n", r"holds text \('1,5' in row 1\).* write numbers as 1\.5"),
        ("a,b\nNA,2\n3,4\n", r"'NA' in row 1"),
    ],
)
def test_text_where_numbers_are_needed_is_shown(tmp_path, content, said):
    with pytest.raises(FileError, match=said):
        read(text(tmp_path / "t.csv", content))


@pytest.mark.parametrize("ending", ["parquet", "feather"])
def test_an_index_of_pandas_names_the_rows_or_is_the_labels(tmp_path, ending):
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    frame = pandas.DataFrame(cloud(5, 2), columns=["a", "b"], index=pandas.Index(list("vwxyz"), name="cell"))
    path = tmp_path / f"t.{ending}"
    _store(frame, path)
    table = read(path)
    assert (table.columns, table.names, table.labels) == (["a", "b"], list("vwxyz"), None)
    assert list(read(path, labels="cell").labels) == list("vwxyz")
    _store(frame.set_index([[1, 2, 3, 4, 5], frame.index]), path)
    assert read(path).columns == ["a", "b"]


def test_a_table_that_has_lost_the_index_of_pandas_is_read(tmp_path):
    pandas, parquet = pytest.importorskip("pandas"), pytest.importorskip("pyarrow.parquet")
    frame = pandas.DataFrame({"id": [1, 2, 9], "x": [3.0, 4, 5], "y": [5.0, 6, 7]}).set_index("id")
    frame.to_parquet(tmp_path / "a.parquet")
    parquet.write_table(parquet.read_table(tmp_path / "a.parquet").drop_columns(["id"]), tmp_path / "b.parquet")
    assert read(tmp_path / "b.parquet").columns == ["x", "y"]


def _store(frame, path):
    import pyarrow
    from pyarrow import feather, parquet

    table = pyarrow.Table.from_pandas(frame)
    (parquet.write_table if path.suffix == ".parquet" else feather.write_feather)(table, path)


def test_a_label_that_is_missing_is_called_so(tmp_path):
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    frame = pandas.DataFrame(cloud(60, 3), columns=list("abc"))
    frame["kind"] = [None if i % 7 == 0 else f"k{i % 3}" for i in range(60)]
    frame.to_parquet(tmp_path / "t.parquet")
    assert set(read(tmp_path / "t.parquet", labels="kind").labels) == {"missing", "k0", "k1", "k2"}
    done = command("compare", tmp_path / "t.parquet", "--methods", "pca", "--labels", "kind", "-q")
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("make", [sp.dia_array, sp.coo_array, sp.coo_matrix])
def test_sparse_matrices_of_other_kinds_are_read_as_what_they_are(tmp_path, make):
    S = sp.diags_array([np.arange(1.0, 101)] * 3, offsets=[0, 1, -1], shape=(100, 100))
    sp.save_npz(tmp_path / "s.npz", make(S))
    np.testing.assert_array_equal(read(tmp_path / "s.npz").X.toarray(), S.toarray())
    others = {"data": np.ones((4, 2)), "shape": np.ones(3), "format": np.ones(3)}
    np.savez(tmp_path / "s.npz", X=np.eye(3), **others)
    np.testing.assert_array_equal(read(tmp_path / "s.npz").X, np.eye(3))


@pytest.mark.parametrize("ending", ["npy", "csv"])
def test_a_name_of_an_array_is_refused_where_there_is_but_one(tmp_path, ending):
    write(tmp_path / f"x.{ending}", cloud(5, 2))
    with pytest.raises(FileError, match="no array called 'nope'"):
        read(tmp_path / f"x.{ending}", name="nope")


def test_paths_that_name_nothing_or_no_folder_are_refused(tmp_path):
    write(tmp_path / "x.npy", cloud(5, 2))
    with pytest.raises(FileError, match="path of the file is empty"):
        read("")
    with pytest.raises(FileError, match="is no folder"):
        read(f"{tmp_path / 'x.npy'}/")
    done = command("embed", tmp_path / "x.npy", "-m", "pca", "--save", f"{tmp_path}/models/")
    assert done.returncode == 1
    assert not (tmp_path / "models").exists()


@pytest.mark.parametrize("Y", [None, np.zeros(3), sp.csr_array(np.eye(3)), [["a", "b"]]])
def test_what_is_no_map_is_not_written(tmp_path, Y):
    for ending in ("csv", "npy"):
        with pytest.raises(FileError, match="was not written: Y is .*, not coordinates"):
            write(tmp_path / f"y.{ending}", Y)
    assert not list(tmp_path.iterdir())


def test_labels_of_two_columns_are_refused(tmp_path):
    with pytest.raises(FileError, match=r"labels have the shape \(4, 2\)"):
        write(tmp_path / "y.csv", cloud(4, 2), labels=np.zeros((4, 2)))


def test_a_link_stays_one_and_a_file_keeps_who_may_read_it(tmp_path):
    (tmp_path / "kept").write_text("old")
    (tmp_path / "kept").chmod(0o640)
    (tmp_path / "link").symlink_to(tmp_path / "kept")
    write_whole(tmp_path / "link", lambda file: file.write(b"new"))
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "kept").read_text() == "new"
    assert (tmp_path / "kept").stat().st_mode & 0o777 == 0o640


def test_what_is_no_file_is_not_replaced(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(FileError, match="no file that could be replaced"):
        write_whole(tmp_path / "pipe", lambda file: file.write(b"new"))
    assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)
    write(tmp_path / "x.npy", cloud(30, 4))
    for path in (tmp_path / "pipe", ""):
        done = command("embed", tmp_path / "x.npy", "-m", "pca", "--save", path)
        assert done.returncode == 1
        assert "no file" in done.stderr


def test_a_map_that_another_program_left_in_an_h5ad_file_is_not_overwritten(tmp_path):
    h5py = pytest.importorskip("h5py")
    path = tmp_path / "d.h5ad"
    write(path, cloud(40, 3), method="old")
    with h5py.File(path, "r+") as file:
        file["X"] = cloud(40, 6)
        file["obsm/X_pca"] = cloud(40, 30)
    for output in (path, tmp_path / "copy.h5ad"):
        done = command("embed", path, "-m", "pca", "-o", output, "-q")
        assert done.returncode == 1
        assert "holds obsm['X_pca'] already, and Lowfold has not written it" in done.stderr
    assert not (tmp_path / "copy.h5ad").exists()
    for _ in range(2):  # its own map is written anew
        assert command("embed", path, "-m", "isomap", "-o", path, "-q").returncode == 0
    assert command("embed", path, "-m", "pca", "--save", tmp_path / "m.lowfold", "-q").returncode == 0
    assert command("transform", tmp_path / "m.lowfold", path, "-o", path).returncode == 1
    with h5py.File(path) as file:
        assert file["obsm/X_pca"].shape == (40, 30)
        assert file["obsm/X_isomap"].shape == (40, 2)


def test_flags_are_those_of_the_method_however_it_is_written(tmp_path):
    write(tmp_path / "x.npy", cloud(30, 4))
    for flags in (["-qm", "pca"], ["-qmpca"], ["-q", "--method=pca"]):
        done = command("embed", tmp_path / "x.npy", *flags, "--whiten", "true", "-o", tmp_path / "y.npy")
        assert done.returncode == 0, done.stderr
        assert command("embed", tmp_path / "x.npy", *flags, "--perplexity", "5").returncode == 2
    assert command("embed", tmp_path / "x.npy", "--meth", "pca").returncode == 2
    for flag in ("-o", "-m"):
        assert "usage: lowfold embed" in command("embed", tmp_path / "x.npy", flag).stderr


@pytest.mark.parametrize("typed", ["Annealed(5)", "Annealed(5, max_iter=3)"])
def test_values_of_engines_without_a_name_are_refused(tmp_path, typed):
    write(tmp_path / "x.npy", cloud(30, 4))
    done = command("embed", tmp_path / "x.npy", "-m", "tsne", "--perplexity", "5", "--schedule", typed)
    assert done.returncode == 1
    assert "by name and nothing else" in done.stderr


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["explore", "--port", "99999"], "argument --port: must be a whole number from 0 to 65,535, not 99999"),
        (["explore", "--port", "x"], "argument --port: invalid number value: 'x'"),
        (["score", "map.npy", "--sample", "0"], "argument --sample: must be a whole number from 2 on, not 0"),
    ],
)
def test_numbers_out_of_range_are_refused_by_the_name_of_the_flag(given, said):
    done = command(given[0], "x.npy", *given[1:])
    assert done.returncode == 2
    assert said in done.stderr


def test_spaces_within_quotes_are_kept_and_those_at_the_ends_of_lines_are_none(tmp_path):
    for more in ("", ' "y",3\n'):
        labels = read(text(tmp_path / "t.csv", f'lab,a\nx,1\n" x",2\n{more}'), labels="lab").labels
        assert list(labels)[:2] == ["x", " x"]
    for content in ("1 2 \n3 4 \n", "a b \n1 2 \n3 4 \n", "1 2\n3 4 \n", " 1  2 \n 3  4\n"):
        np.testing.assert_array_equal(read(text(tmp_path / "t.txt", content)).X, [[1, 2], [3, 4]])
