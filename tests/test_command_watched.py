"""What a person at the terminal sees while the command works: time left, needs beforehand, and what Ctrl-C leaves."""

from __future__ import annotations

import dataclasses
import io
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

import lowfold
from conftest import cloud, write_matlab_73
from lowfold import MDS, METHODS, UMAP, KernelPCA, files
from lowfold.backend import resources
from lowfold.cli import comparing, embedding, estimates, main, progress
from lowfold.comparison import PeakMemory
from lowfold.estimator import share_listener
from lowfold.files import hdf5, reading
from lowfold.stress.starts import Runs


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


def test_rows_that_are_placed_in_pieces_are_where_they_are_at_once(shown, monkeypatch):
    monkeypatch.setattr(progress, "SMALLEST_PIECE", 7)
    X = cloud(60, 4)
    model = lowfold.Isomap(n_neighbors=8).fit(X)
    np.testing.assert_array_equal(progress.placed(model, X[:50] + 0.1, shown), model.transform(X[:50] + 0.1))


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


def trials(n_iter=0, products=0, **seconds):
    """Two trials, of 2,000 and 4,000 rows, from functions of n."""
    return [
        estimates.Trial(n, {stage: at(n) for stage, at in seconds.items()}, n_iter, products, 0.0) for n in (2000, 4000)
    ]


def test_seconds_are_continued_by_what_each_stage_looks_at():
    def continued(model, stage, n, **how):
        return estimates._continued(model, stage, trials(**how), n)

    pairs, rows = (lambda n: 0.5 + 3e-8 * n**2), (lambda n: 0.2 + 1e-5 * n)
    assert continued(MDS(), "optimisation", 20_000, optimisation=pairs) == pytest.approx(pairs(20_000))
    assert continued(KernelPCA(), "eigenvectors", 9_000, eigenvectors=pairs) == pytest.approx(pairs(9_000))
    assert continued(lowfold.PCA(), "project", 10**6, project=rows) == pytest.approx(rows(10**6))
    # Beyond 10,000 rows the kernel is made anew for each product.
    found = continued(KernelPCA(), "eigenvectors", 20_000, kernel=pairs, eigenvectors=pairs, products=7)
    assert found == pytest.approx(estimates.RENEWED * 7 * pairs(20_000))
    # 500 epochs up to 10,000 rows, 200 beyond.
    assert continued(UMAP(), "layout", 50_000, n_iter=500, layout=rows) == pytest.approx(0.4 * rows(50_000))


@pytest.mark.filterwarnings("ignore")
def test_needs_are_of_the_stages_that_the_fit_has_and_grow_with_the_rows(monkeypatch):
    X = cloud(1600, 5)
    small = {"isomap": lowfold.Isomap(), "umap": UMAP(schedule=lowfold.Epochs(n_epochs=5)), "mds": MDS()}
    for model in small.values():
        assert estimates.needs_for(model, X[:300]).seconds > 0, "few rows are all tried"
    monkeypatch.setattr(estimates, "TRIALS", (200, 400))
    for name, model in small.items():
        needs = [estimates.needs_for(model, X[:n]) for n in (800, 1600)]
        assert list(needs[0].stages) == [*model.fit(X[:400]).report_.seconds, "rest"], name
        assert all(seconds >= 0 for need in needs for seconds in need.stages.values())
        assert needs[1].memory > needs[0].memory
    assert estimates.needs_for(lowfold.Isomap(n_neighbors=5000), X) is None


@pytest.mark.skipif(not resources.forget_peak(), reason="the system does not count the peak of memory")
@pytest.mark.parametrize("name", list(METHODS))
@pytest.mark.filterwarnings("ignore")
def test_a_fit_takes_about_the_memory_that_was_foreseen(name):
    X, model = cloud(3000, 20), METHODS[name]()
    quick = {"schedule": "classical"} if name in ("sne", "symmetric_sne") else {}
    model.set_params(**quick)
    model.fit(X[:700])  # what a first fit loads and starts is not its own
    with PeakMemory() as memory:
        model.fit(X)
    foreseen, slack = model.estimate(*X.shape), 40e6  # what threads and the allocator keep
    assert memory.peak < 3 * foreseen + slack
    assert foreseen < 3 * memory.peak + slack


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


def test_the_callback_of_the_command_is_gone_from_the_fitted_model(shown):
    model = lowfold.TSNE(schedule=lowfold.Annealed(max_iter=3), perplexity=5.0)
    fitted = progress.fit(model, cloud(60, 3), shown)
    assert fitted.schedule == model.schedule
    assert dataclasses.asdict(fitted.schedule)["callback"] is None


def test_fits_to_few_wide_rows_have_a_time_left_too(shown, monkeypatch):
    X = cloud(600, 4)
    assert not estimates.worth_planning(X)
    monkeypatch.setattr(estimates, "LEAST_WORK", 1e6)
    assert estimates.worth_planning(X)
    progress.fit(lowfold.Isomap(n_neighbors=8), X, shown)
    assert set(shown.plan) >= {"neighbours", "shortest paths", "eigenvectors"}
    assert all(seconds >= 0 for seconds in shown.plan.values())


def test_methods_that_are_compared_without_a_plan_are_counted(clock, shown):
    with shown.running("comparing"):
        comparing._begin(shown, ["pca", "isomap", "umap", "tsne"], "pca")
        clock(6)
        comparing._begin(shown, ["pca", "isomap", "umap", "tsne"], "umap")
        assert shown.line().endswith("0:06, about 0:06 left")
