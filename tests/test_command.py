"""The `lowfold` command: what it reads, writes and says, and how it ends."""

from __future__ import annotations

import contextlib
import os
import shlex
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

import lowfold
from conftest import cloud
from lowfold import METHODS, files
from lowfold.cli import main
from lowfold.cli.flags import help_of
from lowfold.options import parameters

X = cloud(60, 4)
LABELS = np.array(["a", "b", "c"] * 20)
QUICK = {"umap": ["--schedule", "Epochs(n_epochs=20)"], "tsne": ["--schedule", "Annealed(max_iter=5)"]}
SMALL = {"n_neighbors": ["--n-neighbors", "6"], "perplexity": ["--perplexity", "5"]}


@pytest.fixture
def data(tmp_path):
    """A csv file with a header and a column of labels."""
    rows = ["p,q,r,s,kind", *(",".join([*map(repr, row), kind]) for row, kind in zip(X.tolist(), LABELS, strict=True))]
    (tmp_path / "data.csv").write_text("\n".join(rows))
    return tmp_path / "data.csv"


def small_flags(name):
    declared = {parameter.name for parameter in parameters(METHODS[name])}
    return [part for key, flags in SMALL.items() if key in declared for part in flags] + QUICK.get(name, [])


@pytest.mark.parametrize("name", list(METHODS))
@pytest.mark.filterwarnings("ignore")
def test_embed_writes_the_map_that_the_method_gives(name, data, capsys):
    out, model = data.with_name("map.csv"), data.with_name("m.lowfold")
    outputs = ["-o", str(out), "--save", str(model)]
    assert main(["embed", str(data), "-m", name, "--labels", "kind", *small_flags(name), *outputs]) == 0
    table = files.read(out, labels="label")
    assert table.columns == [f"{name}1", f"{name}2"]
    assert list(table.labels) == list(LABELS)
    loaded = lowfold.load(model)
    assert type(loaded) is METHODS[name]
    np.testing.assert_array_equal(table.X.astype(loaded.embedding_.dtype), loaded.embedding_)
    assert f"{name}: 60 points in 2 dimensions" in capsys.readouterr().out
    new = data.with_name("new.npy")
    np.save(new, np.concatenate([X[:3], X[:5] + 0.1]))
    assert main(["transform", str(model), str(new), "-o", str(data.with_name("new.csv")), "-q"]) == 0
    np.testing.assert_allclose(files.read(data.with_name("new.csv")).X[:3], loaded.embedding_[:3], rtol=1e-6)


def test_flags_are_the_parameters_as_they_are_declared(capsys):
    for name, method in METHODS.items():
        with pytest.raises(SystemExit) as stopped:
            main(["embed", "-m", name, "--help"])
        assert stopped.value.code == 0
        text = " ".join(capsys.readouterr().out.split())
        for parameter in parameters(method):
            assert f"--{parameter.name.replace('_', '-')} " in text
            assert " ".join(help_of(parameter).split())[:40] in text


@pytest.mark.parametrize("arguments", [["embed", "-m", name, "--help"] for name in METHODS] + [["methods"]])
def test_no_help_offers_what_cannot_be_typed(arguments, capsys):
    with contextlib.suppress(SystemExit):
        main(arguments)
    text = " ".join(capsys.readouterr().out.split())
    assert len(text) > 1000
    assert not any(words in text for words in ("a function", "as an array"))


def test_a_help_keeps_what_can_be_typed():
    shown = [help_of(parameter) for parameter in parameters(lowfold.TSNE) if parameter.name in ("init", "metric")]
    names = "metric, by name (one that scikit-learn's NearestNeighbors knows, or 'precomputed')"
    assert shown == ["start, by name; 'auto': the method's own", names]


@pytest.mark.parametrize(
    ("flags", "wanted"),
    [
        (["--perplexity", "10,30"], {"perplexity": (10.0, 30.0)}),
        (["--perplexity", "12.5"], {"perplexity": 12.5}),
        (["--repulsion", "Grid(spacing=0.3)"], {"repulsion": lowfold.Grid(spacing=0.3)}),
        (["--n-jobs", "none", "--metric", "cosine"], {"n_jobs": None, "metric": "cosine"}),
        (["--random-state", "7", "--n-components", "3"], {"random_state": 7, "n_components": 3}),
    ],
)
def test_values_are_read_as_the_parameter_takes_them(flags, wanted, tmp_path):
    np.save(tmp_path / "x.npy", cloud(120, 4))
    quick = ["--schedule", "Annealed(max_iter=2)"]
    assert main(["embed", str(tmp_path / "x.npy"), *flags, *quick, "--save", str(tmp_path / "m"), "-q"]) == 0
    parameters = lowfold.load(tmp_path / "m").get_params()
    assert {name: parameters[name] for name in wanted} == wanted


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["--perplexity", "many"], "--perplexity many is not allowed"),
        (["--n-components", "0"], "--n-components 0 is not allowed"),
        (["--repulsion", "Grid(step=0.3)"], "Grid takes spacing"),
        (["--repulsion", "__import__('os').system('true')"], "is not allowed"),
        (["--perplexity", "500"], "perplexity=500"),
        (["--labels", "species"], "no column 'species'"),
        (["-o", "map.doc"], "ending must be one of"),
        (["--plot", "map.doc"], "is no picture"),
        (["-o", "nowhere/map.csv"], "folder does not exist"),
    ],
)
def test_what_cannot_be_done_is_one_line_and_exit_code_1(flags, said, data, capsys, monkeypatch):
    monkeypatch.chdir(data.parent)
    labels = [] if "--labels" in flags else ["--labels", "kind"]
    assert main(["embed", "data.csv", *labels, *flags]) == 1
    output = capsys.readouterr()
    assert said in output.err
    assert output.err.count("\n") == 1
    assert output.err.startswith("lowfold: ")
    assert "Traceback" not in output.err
    assert sorted(path.name for path in data.parent.iterdir()) == ["data.csv"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["embed", "nan.npy", "-m", "pca"], "holds a value that is missing or infinite, the first in row 3, column 2"),
        (["compare", "nan.npy"], "missing or infinite"),
        (["score", "data.csv", "map.npy", "--labels", "kind", "-k", "59"], "Use a number from 1 to 58"),
        (["compare", "one.npy", "--methods", "pca"], "No method could embed one.npy"),
        (["compare", "data.csv", "--labels", "kind", "-o", "nowhere/t.csv"], "folder does not exist"),
        (["score", "data.csv", "map.npy", "--labels", "kind", "-o", "."], "it is a folder"),
        (["demo", "-o", "data.csv", "--only", "spiral"], "no folder for pictures"),
    ],
)
def test_what_cannot_be_done_is_said_in_one_sentence_by_every_command(arguments, said, data, capsys, monkeypatch):
    monkeypatch.chdir(data.parent)
    np.save("nan.npy", np.where(np.arange(240).reshape(60, 4) == 9, np.nan, X))
    np.save("map.npy", X[:, :2])
    np.save("one.npy", X[:1])
    before = sorted(data.parent.iterdir())
    assert main(arguments) == 1
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1
    assert sorted(data.parent.iterdir()) == before


@pytest.mark.parametrize(
    "wrong", [[], ["embed"], ["embed", "x.csv", "-m", "tsnee"], ["embed", "x.csv", "--perplexty", "3"]]
)
def test_a_wrong_command_line_is_exit_code_2_with_usage(wrong, capsys):
    with pytest.raises(SystemExit) as stopped:
        main(wrong)
    assert stopped.value.code == 2
    assert "usage:" in capsys.readouterr().err


def test_without_outputs_the_map_goes_to_the_terminal(data, capsys):
    assert main(["embed", str(data), "-m", "pca", "--labels", "kind", "-q"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "pca1,pca2"
    assert len(lines) == 61


def test_pictures_are_written(data):
    pytest.importorskip("matplotlib")
    common = [str(data), "--labels", "kind", "-q"]
    folder = data.parent
    shown = {name: ["--plot", str(folder / name)] for name in ("a.png", "b.svg", "c.pdf", "d.png")}
    kept = ["-o", str(folder / "map.csv"), "--save", str(folder / "m")]
    assert main(["embed", *common, "-m", "pca", *shown["a.png"], *kept]) == 0
    assert main(["transform", str(folder / "m"), *common, *shown["b.svg"]]) == 0
    assert main(["compare", *common, "--methods", "pca,isomap", "-k", "5", *shown["c.pdf"]]) == 0
    assert main(["score", common[0], str(folder / "map.csv"), *common[1:], "-k", "5", *shown["d.png"]]) == 0
    starts = {"a.png": b"\x89PNG", "b.svg": b"<?xml", "c.pdf": b"%PDF", "d.png": b"\x89PNG"}
    for name, start in starts.items():
        assert (folder / name).read_bytes().startswith(start)


def test_compare_prints_and_writes_the_table(data, capsys):
    out = data.with_name("table.csv")
    assert main(["compare", str(data), "--labels", "kind", "--methods", "pca, isomap", "-k", "5", "-o", str(out)]) == 0
    printed = capsys.readouterr().out
    assert printed.splitlines()[0].startswith("method")
    assert "isomap" in printed
    assert out.read_text().splitlines()[0].startswith("method,trustworthiness,")
    assert main(["compare", str(data), "--labels", "kind", "--methods", "pcb"]) == 1


def test_score_agrees_with_the_metrics(data, capsys):
    out = data.with_name("map.npy")
    np.save(out, X[:, :2])
    assert main(["score", str(data), str(out), "--labels", "kind", "-k", "5", "-o", str(data.with_name("s.csv"))]) == 0
    printed = capsys.readouterr().out
    wanted = lowfold.metrics.trustworthiness(X, X[:, :2], 5)
    assert f"trustworthiness  {wanted}" in printed
    scores = files.read(data.with_name("s.csv")).X
    np.testing.assert_allclose(scores[:, 1], wanted.per_point)
    assert main(["score", str(data), str(data), "--labels", "kind"]) == 1


def test_methods_lists_every_method_with_every_parameter(capsys):
    assert main(["methods"]) == 0
    printed = capsys.readouterr().out
    for name, method in METHODS.items():
        assert f"{name}: {(method.__doc__ or '').splitlines()[0]}" in printed
        assert all(f"  --{parameter.name.replace('_', '-')} = " in printed for parameter in parameters(method))
    assert main(["methods", "pca"]) == 0
    assert "tsne" not in capsys.readouterr().out


PAGE = Path(__file__).resolve().parent.parent / "docs" / "command-line.md"


@pytest.mark.skipif(not PAGE.is_file(), reason="needs the repository around the package")
@pytest.mark.filterwarnings("ignore")
def test_every_command_of_the_documentation_works_as_it_stands(tmp_path, monkeypatch, capsys):
    pytest.importorskip("matplotlib")
    monkeypatch.chdir(tmp_path)
    files.write("data.csv", cloud(150, 4), labels=np.array(["a", "b", "c"] * 50))
    Path("data.csv").write_text(Path("data.csv").read_text().replace("label", "species", 1))
    files.write("new.csv", cloud(20, 4) + 0.1)
    block = PAGE.read_text(encoding="utf-8").split("```sh")[1].split("```")[0]
    commands = [shlex.split(line, comments=True)[1:] for line in block.splitlines() if line.startswith("lowfold ")]
    for command in commands:
        if command[0] not in ("demo", "explore"):  # which test_demo.py and test_explorer_opening.py run
            assert main(command) == 0, command
    assert {command[0] for command in commands} >= {"info", "embed", "transform", "score", "compare", "explore", "demo"}


SLOW = ["embed", "x.npy", "--schedule", "Classical(max_iter=1000000)", "-o", "map.csv"]


def command(folder, arguments, **how):
    """Starts the command; returns once it is about to begin."""
    code = f"import sys; from lowfold.cli import main; print('ready', flush=True); sys.exit(main({arguments!r}))"
    process = subprocess.Popen([sys.executable, "-c", code], cwd=folder, text=True, stdout=subprocess.PIPE, **how)
    assert process.stdout.readline() == "ready\n"
    return process


def test_ctrl_c_keeps_the_best_map_so_far(tmp_path):
    np.save(tmp_path / "x.npy", cloud(800, 4))
    process = command(tmp_path, SLOW, stderr=subprocess.PIPE)
    time.sleep(5)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "best map so far" in said
    assert said.count("\n") == 1, "no progress and no traceback where there is no terminal"
    assert files.read(tmp_path / "map.csv").X.shape == (800, 2)


def test_ctrl_c_before_there_is_a_map_writes_nothing(tmp_path):
    np.save(tmp_path / "x.npy", cloud(6000, 300))
    slow = ["embed", "x.npy", "-m", "kernel_pca", "--n-components", "2000", "-o", "map.csv"]
    process = command(tmp_path, slow, stderr=subprocess.PIPE)
    time.sleep(3)
    process.send_signal(signal.SIGINT)
    said = process.communicate(timeout=120)[1]
    assert process.returncode == 130
    assert said == "lowfold: interrupted before there was a map; nothing was written.\n"
    assert [path.name for path in tmp_path.iterdir()] == ["x.npy"]


def all_of(terminal):
    """What is written to a terminal until it is closed, in pieces that may end inside of a letter."""
    with contextlib.suppress(OSError):  # so the end is told
        while piece := os.read(terminal, 1 << 16):
            yield piece


@pytest.mark.skipif(not hasattr(os, "openpty"), reason="needs a terminal")
def test_a_terminal_sees_stage_iteration_loss_and_time_left(tmp_path):
    np.save(tmp_path / "x.npy", cloud(1500, 4))
    ours, theirs = os.openpty()
    process = command(tmp_path, SLOW, stderr=theirs)
    parts = []
    reader = threading.Thread(target=lambda: parts.extend(all_of(ours)))
    reader.start()
    time.sleep(8)
    process.send_signal(signal.SIGINT)
    process.wait(timeout=60)
    os.close(theirs)
    reader.join()
    shown = b"".join(parts).decode()
    assert "TSNE · " in shown
    assert "iteration " in shown
    assert "loss " in shown
    assert " left" in shown
