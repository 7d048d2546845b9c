"""The `lowfold` command keeps what it is given: no file that it reads is written over, no column taken for another."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pytest

from conftest import cloud
from lowfold import files, load
from lowfold.cli import main

X = cloud(40, 4)


def table(path, names="abcd", columns=(0, 1, 2, 3), header=True):
    rows = [",".join(names)] * header + [",".join(map(repr, row)) for row in X[:, columns].tolist()]
    path.write_text("\n".join(rows))
    return path


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Some data, their map and a model of them."""
    monkeypatch.chdir(tmp_path)
    table(tmp_path / "data.csv")
    np.save(tmp_path / "data.npy", X)
    assert main(["embed", "data.csv", "-m", "pca", "-q", "-o", "map.csv", "--save", "m.lowfold"]) == 0
    return tmp_path


@pytest.mark.parametrize(
    "arguments",
    [
        "embed data.csv -m pca -o data.csv",
        "embed data.npy -m pca -o ./data.npy",
        "embed data.csv -m pca --save data.csv",
        "embed data.csv -m pca -o other.csv --save other.csv",
        "transform m.lowfold data.csv -o data.csv",
        "transform m.lowfold data.csv -o m.lowfold",
        "score data.csv map.csv -o map.csv",
        "compare data.csv --methods pca -o data.csv",
        "embed images -m pca --plot images/b.png",
        "embed images -m pca -o images/../images/map.csv",
    ],
)
def test_no_file_that_a_command_reads_or_writes_is_written_over(arguments, folder, capsys):
    (folder / "images").mkdir()
    plt.imsave(folder / "images" / "b.png", X)
    before = {path: path.read_bytes() for path in folder.rglob("*.*")}
    assert main(arguments.split()) == 1
    said = capsys.readouterr().err
    assert "cannot be written: it is " in said
    assert "Choose another name." in said
    assert {path: path.read_bytes() for path in folder.rglob("*.*")} == before


def test_a_map_goes_into_the_h5ad_file_of_its_data(folder):
    pytest.importorskip("h5py")
    files.write("data.h5ad", X, method="other")
    assert main(["embed", "data.h5ad", "--name", "X_other", "-m", "pca", "-q", "-o", "data.h5ad"]) == 0
    np.testing.assert_array_equal(files.read("data.h5ad", name="X_other").X, X)
    assert files.read("data.h5ad", name="X_pca").X.shape == (40, 2)


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ({"names": "dcba", "columns": (3, 2, 1, 0)}, "new.csv: X has the columns of the fit in another order"),
        ({"names": "awcd"}, "new.csv: X has the column 'w' where the fit had 'b'"),
        ({"names": "ab", "columns": (0, 1)}, "new.csv: X has 2 columns, but the fit had 4"),
    ],
)
def test_other_columns_than_those_of_the_fit_are_refused(how, said, folder, capsys):
    table(folder / "new.csv", **how)
    assert main(["transform", "m.lowfold", "new.csv", "-o", "new-map.csv"]) == 1
    assert said in capsys.readouterr().err
    assert not (folder / "new-map.csv").exists()


def test_columns_without_names_are_taken_as_they_come(folder):
    assert load("m.lowfold").feature_names_in_.tolist() == list("abcd")
    wanted = files.read("map.csv").X
    table(folder / "new.csv", header=False)
    for data in ("new.csv", "data.npy"):
        assert main(["transform", "m.lowfold", data, "-q", "-o", "again.csv"]) == 0
        np.testing.assert_array_equal(files.read("again.csv").X, wanted)
    assert main(["embed", "new.csv", "-m", "pca", "-q", "--save", "n.lowfold"]) == 0
    assert not hasattr(load("n.lowfold"), "feature_names_in_")
    assert main(["transform", "n.lowfold", "data.csv", "-q", "-o", "again.csv"]) == 0
    np.testing.assert_array_equal(files.read("again.csv").X, wanted)
