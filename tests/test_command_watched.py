"""What a person at the terminal sees while the command works: time left, needs beforehand, and what Ctrl-C leaves."""

from __future__ import annotations

import dataclasses
import io
import os
import sys
from functools import partial

import numpy as np
import pytest

import lowfold
from conftest import cloud, write_matlab_73
from lowfold import comparison, files
from lowfold.cli import comparing, embedding, estimates, progress, watched
from lowfold.estimator import share_listener
from lowfold.files import hdf5, reading


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def clock(monkeypatch):
    """Seconds that pass only where a test says so."""
    now = [100.0]
    monkeypatch.setattr(progress.time, "perf_counter", lambda: now[0])

    def passes(seconds):
        now[0] += seconds

    return passes


@pytest.fixture
def shown():
    return progress.Progress(stream=Terminal())


def test_what_can_be_counted_has_a_time_left(clock, shown):
    with shown.running("reading"):
        clock(10)
        shown.share(0.25)
        assert shown.line().endswith("0:10, about 0:30 left")


def test_stages_have_the_time_left_that_was_foreseen_at_the_pace_of_those_before(clock, shown):
    with shown.running("Isomap", plan={"neighbours": 10.0, "eigenvectors": 20.0}):
        assert shown.line().endswith("0:00, about 0:30 left")
        shown.stage("neighbours")
        clock(20)
        assert shown.line().endswith("0:20, longer than foreseen, about 0:30 left"), "as much again as it is late"
        shown.stage("eigenvectors")  # the first took twice as long, so will this one
        assert shown.line().endswith("0:20, about 0:40 left")
        clock(15)
        assert shown.line().endswith("0:35, about 0:25 left")
    with shown.running("drawing"):
        clock(3)
        assert shown.line() == "drawing · 0:03", "what was foreseen of one work says nothing about the next"


def test_an_optimisation_takes_at_most_its_largest_number_of_iterations(clock, shown):
    with shown.running("TSNE", total=101):
        for iteration in (1, 2, 3):
            clock(2)
            shown.step(lowfold.types.Step(iteration, "descent", None, None, 0.5, None))
        assert "iteration 3 of 101 · loss 0.5" in shown.line()
        assert shown.line().endswith("at most 3:16 left")
        shown.plan, shown._planned = {"optimisation": 30.0}, "optimisation"
        assert shown.line().endswith("about 0:24 left"), "fewer are foreseen"


def test_methods_that_are_compared_have_one_time_left(clock, shown):
    with shown.running("comparing", plan={"pca": 1.0, "umap": 9.0, "judging pca": 5.0, "judging umap": 5.0}):
        shown.part("pca")
        clock(1)
        shown.part("umap")
        shown.stage("layout")
        clock(4)
        assert shown.line().startswith("comparing · umap · layout [")
        assert shown.line().endswith("about 0:15 left")
        shown.stage("judging pca")
        shown.stage("distances")
        assert shown.line().startswith("comparing · judging pca · distances [")


@pytest.mark.parametrize("ending", ["csv", "labelled.csv", "npy", "npz", "parquet", "feather", "h5ad", "mat"])
def test_a_file_tells_how_much_of_it_is_read_and_reads_the_same(ending, tmp_path, monkeypatch):
    X, labels = cloud(30_000, 3), np.array(["a", "b", "c"] * 10_000)
    path, name = tmp_path / f"x.{ending}", "label" if ending == "labelled.csv" else None
    if ending == "npy":
        np.save(path, X)
    elif ending == "npz":
        np.savez_compressed(path, X=X, more=X)
    elif ending in ("parquet", "feather"):
        columns = pytest.importorskip("pyarrow").table({f"y{axis + 1}": column for axis, column in enumerate(X.T)})
        if ending == "parquet":
            pytest.importorskip("pyarrow.parquet").write_table(columns, path)  # in one group
            monkeypatch.setattr(reading, "BATCH", 7000)
        else:
            pytest.importorskip("pyarrow.feather").write_feather(columns, path, chunksize=7000)
    elif ending == "h5ad":
        monkeypatch.setattr(hdf5, "AT_ONCE", 10_000)
        with pytest.importorskip("h5py").File(path, "w") as file:
            file["X"] = X
    elif ending == "mat":
        monkeypatch.setattr(hdf5, "AT_ONCE", 10_000)
        write_matlab_73(path, X=X, more=X[:9])
    else:
        files.write(path, X, labels=labels if name else None)
    plain = files.read(path, labels=name)
    told = []
    token = share_listener.set(told.append)
    try:
        listened = files.read(path, labels=name)
    finally:
        share_listener.reset(token)
    np.testing.assert_array_equal(plain.X, listened.X)
    np.testing.assert_array_equal(plain.X, X)
    assert name is None or list(listened.labels) == list(labels)
    assert len(set(told)) > 1
    assert all(0 <= share <= 1 for share in told)
    assert all(np.diff(told) >= 0), "one share of the whole, however often a part of the file is looked at"


def test_rows_that_are_placed_in_pieces_are_where_they_are_at_once(shown, monkeypatch):
    monkeypatch.setattr(watched, "SMALLEST_PIECE", 7)
    X = cloud(60, 4)
    model = lowfold.Isomap(n_neighbors=8).fit(X)
    np.testing.assert_array_equal(watched.placed(model, X[:50] + 0.1, shown), model.transform(X[:50] + 0.1))


def test_trials_of_all_methods_tell_how_many_are_done(clock, shown):
    told = []
    estimates.needs_of_all(["pca", "unknown", "mds", "isomap"], cloud(40, 3), lambda *part: told.append(part))
    few, both = 1 / 12, 10**1.5 / (10**1.5 + 40**1.5)  # of all methods' time PCA's, of a method's the first trial's
    assert [name for name, _ in told] == [f"{name}, {n} rows" for name in ("pca", "mds", "isomap") for n in (10, 40)]
    shares = [0, few * both, few, (1 + 10 * both) * few, 11 * few, (11 + both) * few]
    assert [share for _, share in told] == pytest.approx(shares)
    with shown.running("trying"):
        clock(30)
        shown.part("isomap", 0.75)
        shown.stage("eigenvectors")
        assert shown.line().startswith("trying · isomap · eigenvectors [")
        assert shown.line().endswith("0:30, about 0:10 left")
        clock(4)
        assert shown.line().endswith("0:34, about 0:06 left")
        clock(9)
        assert shown.line().endswith("0:43, longer than foreseen, about 0:03 left")


def test_the_callback_of_the_command_is_gone_from_the_fitted_model(shown):
    model = lowfold.TSNE(schedule=lowfold.Annealed(max_iter=3), perplexity=5.0)
    fitted = watched.fit(model, cloud(60, 3), shown)
    assert fitted.schedule == model.schedule
    assert dataclasses.asdict(fitted.schedule)["callback"] is None


def test_methods_that_are_compared_without_a_plan_are_counted(clock, shown, monkeypatch):
    names, lines = ["pca", "isomap", "lle", "ltsa"], []

    def fitted(name, model, X):
        lines.append(shown.line())
        clock(3)

    monkeypatch.setattr(comparison, "_fitted", fitted)
    with shown.running("comparing"):
        comparison.Running(cloud(30, 3), names, comparison.Judging()).fit(partial(comparing._begin, shown, names))
    assert lines[0] == "comparing · pca · 0:00"
    assert lines[2].endswith("0:06, about 0:06 left")


def test_a_share_that_falls_back_is_of_another_pass_and_has_its_own_time(clock, shown):
    with shown.running("reading"):
        clock(40)
        shown.share(0.9)
        clock(1)
        shown.share(0.01)  # once more, in another way
        clock(2)
        shown.share(0.5)
        assert shown.line().endswith("0:43, about 0:02 left")


def test_judging_goes_at_its_own_pace_and_short_stages_tell_nothing_of_long_ones(clock, shown):
    plan = {"pca": 0.5, "umap": 20.0, "judging pca": 4.0, "judging umap": 4.0}
    with shown.running("comparing", plan=plan):
        shown.part("pca")
        clock(5)
        shown.part("umap")
        assert shown.line().endswith("about 0:28 left"), "not ten times as long, as what takes half a second did"
        clock(40)
        shown.stage("judging pca")
        assert shown.line().endswith("about 0:08 left")
        clock(8)
        shown.stage("judging umap")
        assert shown.line().endswith("about 0:08 left")


def test_a_stage_that_comes_again_goes_on_where_it_was(clock, shown):
    with shown.running("MDS", plan={"start": 2.0, "optimisation": 20.0}):
        for _ in range(2):
            shown.stage("start")
            clock(1)
            shown.stage("optimisation")
            clock(9)
        assert shown.line().endswith("0:20, about 0:02 left")


def test_a_stage_that_nobody_foresaw_leaves_those_after_it(clock, shown):
    with shown.running("UMAP", plan={"graph": 3.0, "layout": 7.0}):
        shown.stage("graph")
        clock(3)
        shown.stage("bridges")
        clock(2)
        assert shown.line().endswith("0:05, about 0:07 left")


def test_what_comes_after_an_optimisation_is_left_too(clock, shown):
    with shown.running("SNE", total=11, plan={"optimisation": 100.0, "finish": 5.0}):
        shown.stage("optimisation")
        for iteration in (1, 2):
            clock(1)
            shown.step(lowfold.types.Step(iteration, "descent", None, None, 0.5, None))
        assert shown.line().endswith("at most 0:14 left")


def test_a_section_of_the_demo_is_foreseen_as_one_whatever_is_judged_inside(clock, shown):
    with shown.running("demo", plan={"Every method": 10.0, "The page": 3.0}):
        shown.part("Every method")
        shown.stage("optimisation")
        clock(4)
        shown.stage("judging pca")
        shown.stage("distances")
        assert shown.line().startswith("demo · Every method · distances [")
        assert shown.line().endswith("about 0:09 left")


def test_a_line_fits_into_the_terminal_and_keeps_the_time_left(clock, shown):
    with shown.running("each method on a few rows, to tell the time", plan={"isomap, 4000 rows": 60.0}):
        shown.part("isomap, 4000 rows")
        shown.stage("shortest paths")
        clock(15)
        whole = shown.line()
        assert "shortest paths [######..................] 0:15, about 0:45 left" in whole
        for width in (100, 80, 60, 50):
            line = shown.line(width)
            assert len(line) <= width
            assert line.startswith("each method")
            assert line.endswith("0:15, about 0:45 left")


def test_a_terminal_is_asked_how_wide_it_is(monkeypatch):
    told = progress.Progress(stream=Terminal())
    assert told._width() == progress.WIDEST, "a stream without a terminal does not say"
    monkeypatch.setattr(told.stream, "fileno", lambda: 5, raising=False)
    monkeypatch.setattr(progress.os, "get_terminal_size", lambda number: os.terminal_size((80, 24)))
    assert told._width() == 79


def test_the_map_on_standard_output_is_shown_to_who_watches_the_other_stream(monkeypatch, capsys):
    monkeypatch.setattr(embedding, "PRINTED", 10)
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    monkeypatch.setattr(sys, "stderr", Terminal())
    Y, lines, share = cloud(35, 2), [], progress.Progress.share

    def listened(self, done):
        share(self, done)
        lines.append(self.line())

    monkeypatch.setattr(progress.Progress, "share", listened)
    embedding._print_map(Y, "pca", False)
    assert len(lines) == 4
    assert all(line.startswith("writing the map [") and line.endswith(" left") for line in lines)
    written = capsys.readouterr().out
    assert written.splitlines()[0] == "pca1,pca2"
    np.testing.assert_allclose(np.loadtxt(io.StringIO(written), delimiter=",", skiprows=1), Y, rtol=1e-8)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    embedding._print_map(Y, "pca", False)
    assert len(lines) == 4, "rows that pass by are seen anyway"
