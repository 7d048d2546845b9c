"""How a command ends: exit codes, errors in one sentence, and what Ctrl-C leaves."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import lowfold
from conftest import cloud
from lowfold import MDS, comparison, files
from lowfold.cli import embedding, main
from lowfold.stress.starts import Runs

WAYS = {"module": [sys.executable, "-m", "lowfold"], "command": [str(Path(sys.executable).with_name("lowfold"))]}


@pytest.mark.parametrize("way", WAYS)
def test_both_ways_to_start_the_command_give_its_exit_codes(way, tmp_path):
    if not Path(WAYS[way][0]).exists():
        pytest.skip("the command is not installed beside this Python")
    np.save(tmp_path / "x.npy", cloud(20, 3))
    for arguments, code, out, err in (
        (["embed", "x.npy", "-m", "pca", "-q"], 0, "pca1,pca2", ""),
        (["embed", "none.npy"], 1, "", "lowfold: none.npy does not exist."),
        (["embed"], 2, "", "usage: lowfold embed"),
    ):
        ended = subprocess.run([*WAYS[way], *arguments], cwd=tmp_path, capture_output=True, text=True, check=False)
        assert ended.returncode == code
        assert ended.stdout.startswith(out)
        assert ended.stderr.startswith(err)
        assert bool(ended.stdout) == bool(out), "nothing is said where nothing is done"
        assert "Traceback" not in ended.stderr


@pytest.mark.parametrize("arguments", [["methods"], ["--help"]])
def test_kernels_that_there_are_not_are_named_in_one_line(arguments):
    ended = subprocess.run(
        [*WAYS["module"], *arguments],
        env=os.environ | {"LOWFOLD_SIMD": "sse9"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 1
    assert ended.stderr.startswith("lowfold: LOWFOLD_SIMD=sse9 was asked for")
    assert len(ended.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["transform", "none.lowfold", "x.npy"], "none.lowfold cannot be read: No such file"),
        (["transform", "x.npy", "x.npy"], "x.npy is no model"),
        (["transform", "m.lowfold", "none.npy"], "none.npy does not exist"),
        (["transform", "m.lowfold", "wide.npy"], "expecting 3 features"),
        (["transform", "m.lowfold", "nan.npy"], "missing or infinite, the first in row 2, column 1"),
        (["transform", "m.lowfold", "x.npy", "--plot", "map.doc"], "map.doc is no picture"),
        (["transform", "m.lowfold", "x.npy", "-o", "nowhere/y.csv"], "its folder does not exist"),
        (["transform", "m.lowfold", "words.csv"], "holds text ('"),
        (["info", "none.npy"], "none.npy does not exist"),
        (["info", "words.csv"], "holds text ('"),
        (["info", "x.npy", "--labels", "kind"], "no labels called 'kind'"),
        (["info", "m.lowfold"], "is of an unknown kind"),
        (["info", "."], "holds no images"),
        (["info", "broken.npy"], "broken.npy cannot be read as .npy"),
    ],
)
def test_what_transform_and_info_cannot_do_is_one_sentence(arguments, said, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    X = cloud(20, 3)
    np.save("x.npy", X)
    np.save("wide.npy", cloud(20, 4))
    np.save("nan.npy", np.where(np.arange(60).reshape(20, 3) == 3, np.nan, X))
    Path("words.csv").write_text("a,b,c\n1,2,one\n3,4,two\n")
    Path("broken.npy").write_bytes(Path("x.npy").read_bytes()[:100])
    lowfold.save(lowfold.PCA().fit(X), "m.lowfold")
    before = sorted(tmp_path.iterdir())
    assert main(arguments) == 1
    error = capsys.readouterr().err
    assert said in error
    assert error.startswith("lowfold: ")
    assert error.count("\n") == 1
    assert "Traceback" not in error
    assert sorted(tmp_path.iterdir()) == before


def interrupting(function, at):
    """The function, but that Ctrl-C is pressed in its at-th call."""
    calls = []

    def interrupted(*given, **by_name):
        calls.append(given)
        if len(calls) == at:
            signal.raise_signal(signal.SIGINT)
        return function(*given, **by_name)

    return interrupted


def test_ctrl_c_while_methods_are_compared_keeps_those_that_are_finished(tmp_path, monkeypatch, capsys):
    pytest.importorskip("matplotlib")
    monkeypatch.chdir(tmp_path)
    np.save("x.npy", cloud(40, 4))
    monkeypatch.setattr(comparison, "_fitted", interrupting(comparison._fitted, 3))
    outputs = ["-o", "table.csv", "--plot", "maps.png", "--html", "maps.html"]
    assert main(["compare", "x.npy", "--methods", "pca,isomap,mds,lle", "-k", "5", *outputs]) == 130
    said = capsys.readouterr()
    assert said.err == "lowfold: interrupted; what was finished was kept: pca, isomap.\n"
    assert [line.split()[0] for line in said.out.splitlines()] == ["method", "pca", "isomap"]
    rows = Path("table.csv").read_text().splitlines()
    assert [row.split(",")[0] for row in rows] == ["method", "pca", "isomap"]
    assert all(0 < float(row.split(",")[1]) <= 1 for row in rows[1:]), "they are judged"
    assert Path("maps.png").read_bytes().startswith(b"\x89PNG")
    assert Path("maps.html").stat().st_size > 0


def test_ctrl_c_while_maps_are_judged_leaves_the_others_in_the_table_without_scores(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    np.save("x.npy", cloud(40, 4))
    monkeypatch.setattr(comparison, "judge", interrupting(comparison.judge, 2))
    assert main(["compare", "x.npy", "--methods", "pca,isomap", "-k", "5"]) == 130
    said = capsys.readouterr()
    assert said.err == "lowfold: interrupted; what was finished was kept: pca, isomap.\n"
    rows = [line.split() for line in said.out.splitlines()[1:]]
    assert [(row[0], row[1] == "-") for row in rows] == [("pca", False), ("isomap", True)]


def test_ctrl_c_before_a_method_is_finished_says_so(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    np.save("x.npy", cloud(40, 4))
    monkeypatch.setattr(comparison, "_fitted", interrupting(comparison._fitted, 1))
    assert main(["compare", "x.npy", "--methods", "pca,lle", "-o", "table.csv"]) == 130
    said = capsys.readouterr()
    assert said.err == "lowfold: interrupted before a method was finished; nothing was written.\n"
    assert said.out == ""
    assert not Path("table.csv").exists()


def test_the_report_does_not_stand_among_the_rows_of_the_map(tmp_path, capsys):
    np.save(tmp_path / "x.npy", cloud(20, 3))
    assert main(["embed", str(tmp_path / "x.npy"), "-m", "pca"]) == 0
    said = capsys.readouterr()
    assert len(said.out.splitlines()) == 21
    assert said.err.startswith("pca: 20 points in 2 dimensions\n")


def started(folder, arguments):
    code = f"import sys; from lowfold.cli import main; print('ready', flush=True); sys.exit(main({arguments!r}))"
    process = subprocess.Popen(
        [sys.executable, "-c", code], cwd=folder, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdout.readline() == "ready\n"
    return process


@pytest.mark.parametrize("method", ["mds", "sammon"])
def test_ctrl_c_keeps_the_best_map_of_scaling_too(method, tmp_path):
    np.save(tmp_path / "x.npy", cloud(4000, 30))
    endless = ["--init", "random", "--solver", "GradientDescent(max_iter=10000000, tolerance=0, learning_rate=1e-9)"]
    process = started(tmp_path, ["embed", "x.npy", "-m", method, *endless, "-o", "map.csv", "--save", "m.lowfold"])
    time.sleep(6)
    process.send_signal(signal.SIGINT)
    said = process.communicate(timeout=120)[1]
    assert process.returncode == 130
    assert "best map so far" in said
    assert said.count("\n") == 1
    kept = lowfold.load(tmp_path / "m.lowfold")
    np.testing.assert_array_equal(files.read(tmp_path / "map.csv").X, kept.embedding_)
    assert kept.transform(cloud(5, 30) + 0.1).shape == (5, 2)


def test_an_interrupt_before_the_first_start_is_there_leaves_no_map(monkeypatch):
    def interrupted(self, threads):
        raise KeyboardInterrupt

    monkeypatch.setattr(Runs, "drain", interrupted)
    model = MDS()
    with pytest.raises(KeyboardInterrupt):
        model.fit(cloud(30, 4))
    assert not hasattr(model, "embedding_")


def test_ctrl_c_says_what_had_been_written(tmp_path, capsys, monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    np.save(tmp_path / "x.npy", cloud(30, 4))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(embedding, "picture", interrupted)
    outputs = ["-o", "map.csv", "--plot", "map.png"]
    assert main(["embed", "x.npy", "-m", "pca", "-q", *outputs]) == 130
    assert capsys.readouterr().err == "lowfold: interrupted; map.csv had been written.\n"
    monkeypatch.setattr(embedding, "read_table", interrupted)
    assert main(["embed", "x.npy", "-m", "pca", "-q"]) == 130
    assert capsys.readouterr().err == "lowfold: interrupted; nothing was written.\n"
