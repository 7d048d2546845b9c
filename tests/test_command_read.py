"""A command reads a file once, and says how much of it is read."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse
from scipy.sparse import bsr_array, coo_array, csc_array, csr_array, csr_matrix, dia_array

from conftest import cloud, listening
from lowfold import files
from lowfold.cli import progress, watched
from lowfold.estimator import share_listener
from lowfold.files import counted, delimited, reading


def test_whether_a_first_row_is_a_header_is_seen_in_the_second_alone(tmp_path):
    rest = b"1,x\n" * 100_000
    (tmp_path / "x.csv").write_bytes(b"2,kind\n3,4\n" + rest + b"\xff")  # no text at its end
    assert delimited._second_differs(tmp_path / "x.csv", ["2", "kind"], ",")
    assert not delimited._second_differs(tmp_path / "x.csv", ["2", "3"], ",")
    (tmp_path / "one.csv").write_text("2,kind\n")
    assert not delimited._second_differs(tmp_path / "one.csv", ["2", "kind"], ",")


def test_a_text_file_with_labels_is_read_once_and_one_with_faults_in_parts_of_one_share(tmp_path, monkeypatch):
    monkeypatch.setattr(counted, "EVERY", 7)
    loads = []
    load = np.loadtxt
    monkeypatch.setattr(np, "loadtxt", lambda *given, **how: loads.append(how) or load(*given, **how))
    X, kinds = cloud(300, 3), np.array(["one, two", "three", 'f"our'] * 100)
    files.write(tmp_path / "x.csv", X, labels=kinds)
    monkeypatch.setattr(delimited, "_rows", None)  # what a second pass would be by
    with listening(share_listener) as told:
        table = files.read(tmp_path / "x.csv", labels="label")
    np.testing.assert_array_equal(table.X, X)
    assert list(table.labels) == list(kinds)
    assert len(loads) == 1
    assert len(told) > 10
    assert all(np.diff(told) > 0)
    monkeypatch.undo()
    monkeypatch.setattr(counted, "EVERY", 7)
    (tmp_path / "x.csv").write_text("a,b,kind\n" + "1,2,one\n" * 200 + '3,4, "two"\n')  # quotes behind a space
    with listening(share_listener) as told:
        table = files.read(tmp_path / "x.csv", labels="kind")
    assert list(table.labels) == ["one"] * 200 + ["two"]
    falls = np.flatnonzero(np.diff(told) < 0)
    assert len(falls) == 1, "a second pass, in one share"
    assert told[-1] == 1


@pytest.mark.parametrize("ending", ["csv", "parquet", "npy"])
@pytest.mark.parametrize("labels", [None, np.arange(30) % 3, np.array(["a", "b", "c"] * 10)])
def test_a_map_is_read_once_with_or_without_a_column_of_labels(ending, labels, tmp_path, monkeypatch):
    if ending == "parquet":
        pytest.importorskip("pyarrow")
    path, Y, opened = tmp_path / f"map.{ending}", cloud(30, 2), []
    files.write(path, Y, labels=labels)
    for kind, reader in reading.COLUMNS.items():
        monkeypatch.setitem(
            reading.COLUMNS, kind, lambda path, labels, read=reader: opened.append(path) or read(path, labels)
        )
    np.testing.assert_array_equal(watched.read_map(str(path), progress.Progress(quiet=True)), Y)
    assert len(opened) == (ending != "npy")


@pytest.mark.parametrize("make", [csr_array, csr_matrix, csc_array, bsr_array, coo_array, dia_array])
def test_a_sparse_matrix_is_read_once_and_tells_how_much(make, tmp_path, monkeypatch):
    X = np.where(cloud(3000, 40) > 0.5, cloud(3000, 40), 0.0)
    scipy.sparse.save_npz(tmp_path / "x.npz", make(X))
    monkeypatch.setattr(scipy.sparse, "load_npz", None)  # which would read it again
    with listening(share_listener) as told:
        found = files.read(tmp_path / "x.npz").X
    np.testing.assert_array_equal(found.toarray(), X)
    assert found.format == "csr"
    assert all(np.diff(told) >= 0)
    assert told[-1] > 0.9
