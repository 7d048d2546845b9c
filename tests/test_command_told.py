"""Whatever takes long says how much of it is done, and gives the same as when nobody listens."""

from __future__ import annotations

import io
import itertools
import sys
import time

import numpy as np
import pytest

import lowfold
from conftest import cloud, listening
from lowfold import files
from lowfold.cli import comparing, describing, main, pictures, planning, progress
from lowfold.estimator import share_listener, stage_listener
from lowfold.explorer import Contents, make_scene, page
from lowfold.explorer.scene import sources_of
from lowfold.judging import Judging, look_at_stress, looks_at, taken
from lowfold.metrics import label_accuracy, labels, silhouette
from lowfold.model_file import container
from lowfold.neighbors.sharing import SharedIndex


def rises(told):
    """Whether several shares were told, each more than the one before, up to all."""
    return len(told) > 2 and told[-1] == 1 and all(np.diff(told) > 0)


def test_a_model_tells_how_much_of_it_is_written_and_read(tmp_path, monkeypatch):
    monkeypatch.setattr(container, "PIECE", 1000)
    X = cloud(80, 5)
    model = lowfold.Isomap(n_neighbors=8).fit(X)
    lowfold.save(model, tmp_path / "plain.lowfold")
    with listening(share_listener) as written:
        lowfold.save(model, tmp_path / "told.lowfold")
    assert (tmp_path / "plain.lowfold").read_bytes() == (tmp_path / "told.lowfold").read_bytes()
    with listening(share_listener) as read:
        again = lowfold.load(tmp_path / "told.lowfold")
    np.testing.assert_array_equal(again.transform(X + 0.1), model.transform(X + 0.1))
    assert rises(written)
    assert len(read) > 2
    assert all(np.diff(read) > 0)
    assert read[-1] > 0.9, "what lies between the arrays is not read"


def test_a_copy_of_cells_tells_how_much_of_it_is_written(tmp_path, monkeypatch):
    h5py = pytest.importorskip("h5py")
    files.write(tmp_path / "old.h5ad", cloud(3000, 4), method="pca")
    monkeypatch.setattr(files.single_cell, "COPIED", 1 << 12)
    with listening(share_listener) as told:
        files.write(tmp_path / "new.h5ad", cloud(3000, 2), method="umap", source=tmp_path / "old.h5ad")
    assert len(set(told)) > 2
    assert told[-1] == 1
    with h5py.File(tmp_path / "new.h5ad") as cells:
        np.testing.assert_array_equal(cells["obsm/X_pca"], cloud(3000, 4))
        np.testing.assert_array_equal(cells["obsm/X_umap"], cloud(3000, 2))


def test_a_page_tells_how_much_of_it_is_written(tmp_path, monkeypatch):
    scene = make_scene(cloud(300, 4), cloud(300, 2))
    page.write_page(tmp_path / "plain.html", scene)
    monkeypatch.setattr(page, "CHUNK", 3000)
    with listening(share_listener) as told:
        page.write_page(tmp_path / "told.html", scene)
    assert rises(told)
    assert (tmp_path / "told.html").stat().st_size > (tmp_path / "plain.html").stat().st_size, "in more pieces"


@pytest.mark.parametrize("sample", [None, 150])
def test_scores_of_labels_are_the_same_in_pieces(sample, monkeypatch):
    Y, kinds = np.repeat(cloud(150, 2), 2, axis=0), np.arange(300) % 7  # each point twice: ties, and no own place
    plain = [score(Y, kinds, sample=sample) for score in (label_accuracy, silhouette)]
    monkeypatch.setattr(labels, "PIECE", 40)
    monkeypatch.setattr(labels, "BLOCK_BYTES", 8 * 300 * 30)
    for score, wanted in zip((label_accuracy, silhouette), plain, strict=True):
        with listening(share_listener) as told:
            found = score(Y, kinds, sample=sample)
        np.testing.assert_array_equal(found.per_point, wanted.per_point)
        assert rises(told)


def test_the_plan_of_a_page_has_its_stages_in_their_order(monkeypatch):
    X, kinds = cloud(400, 4), np.arange(400) % 3
    maps = {"first": cloud(400, 2), "second": lowfold.PCA().fit(X)}
    assert planning.plan_for_page(X, sources_of(maps), kinds, Contents()) == {}, "not worth it"
    monkeypatch.setattr(planning, "PLANNED_FROM", 300)
    monkeypatch.setattr(planning, "TRIALS", (50, 100))
    plan = planning.plan_for_page(X, sources_of(maps), kinds, Contents(k=5))
    trials = []
    planning.plan_for_page(X, sources_of(maps), kinds, Contents(k=5), lambda *trial: trials.append(trial))
    names, shares = zip(*trials, strict=True)
    looks = ("neighbours kept", "distances", "labels", "silhouette")
    judged = [f"judging, {look}, {some} points" for look in looks for some in (16, 66)]
    assert names == (*judged, "neighbours of the data, 25 rows", "neighbours of the data, 100 rows")
    assert shares[0] == 0
    assert all(np.diff(shares) > 0)
    assert shares[-1] < 1
    with listening(stage_listener) as told:
        make_scene(X, maps, labels=kinds, contents=Contents(k=5))
    assert [stage for stage in told if stage in plan] == list(plan)
    assert list(plan) == ["neighbours of the data", "judging first", "judging second"]
    assert all(seconds > 0 for seconds in plan.values())
    wide = Contents(k=300)  # more than a trial has rows
    assert list(planning.plan_for_page(X, sources_of(maps), None, wide)) == list(plan)
    distances = np.linalg.norm(X[:, None] - X[None], axis=2)
    plan = planning.plan_for_page(distances, sources_of(maps), None, Contents(metric="precomputed"))
    assert list(plan) == ["neighbours of the data", "judging first", "judging second"]
    graph = lowfold.NeighborGraph(n_neighbors=5).fit_transform(X)
    assert planning.plan_for_page(graph, sources_of(maps), None, Contents(metric="precomputed")) == {}


def test_the_plan_of_scores_has_the_stages_that_are_told_and_the_points_that_each_looks_at(monkeypatch):
    def looks_of(n):
        X, Y, how = cloud(n, 4), cloud(n, 2), Judging(k=5)
        return looks_at(X, Y, np.arange(n) % 3, how) | {"stress": look_at_stress(X, Y, how)}

    looks = looks_of(400)
    plan = planning.plan_for_scores(looks, 400)
    with listening(stage_listener) as told:
        scores = taken(looks)
    assert told == list(plan) == ["neighbours kept", "distances", "labels", "silhouette", "stress"]
    assert all(seconds > 0 for seconds in plan.values())
    names = ["trustworthiness", "continuity", "recall", "R_NX area", "Shepard", "labels", "silhouette", "stress"]
    assert list(scores) == [*names, "Pearson"]
    monkeypatch.setattr(planning, "_over_points", lambda _, points, __: points)
    for n, points in {5_000: [5000, 500, 5000, 5000, 1000], 120_000: [250, 500, 1000, 1000, 1000]}.items():
        looks = looks_of(n)
        assert list(planning.plan_for_scores(looks, n).values()) == points
        if n > 100_000:
            assert all(len(score.points) == points[0] for score in looks["neighbours kept"].scores("auto").values())


def test_score_tells_the_time_left_where_somebody_watches(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(planning, "PLANNED_FROM", 300)
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    plans, running = [], progress.Progress.running

    def watched(self, title, total=0, plan=None):
        plans.append((title, list(plan or {})))
        return running(self, title, total, plan)

    monkeypatch.setattr(progress.Progress, "running", watched)
    np.save(tmp_path / "x.npy", cloud(300, 4))
    np.save(tmp_path / "y.npy", cloud(300, 2))
    command = ["score", str(tmp_path / "x.npy"), str(tmp_path / "y.npy")]
    assert main(command) == 0
    assert plans[-1] == ("scoring", []), "nobody watches"
    plain = capsys.readouterr().out
    monkeypatch.setattr(sys, "stderr", Terminal())
    assert main(command) == 0
    assert plans[-2:] == [
        ("scoring a few points, to tell the time", []), ("scoring", ["neighbours kept", "distances", "stress"]),
    ]  # fmt: skip
    assert capsys.readouterr().out == plain


def test_every_piece_of_work_of_a_command_is_shown(tmp_path, monkeypatch, capsys):
    titles = []
    shown = progress.Progress.running

    def running(self, title, *more, **by_name):
        titles.append(title)
        return shown(self, title, *more, **by_name)

    monkeypatch.setattr(progress.Progress, "running", running)
    monkeypatch.chdir(tmp_path)
    np.save("x.npy", cloud(60, 4))
    outputs = ["-o", "map.csv", "--plot", "map.png", "--html", "map.html", "--save", "m.lowfold"]
    assert main(["embed", "x.npy", "-m", "pca", *outputs]) == 0
    assert titles == [
        "reading x.npy", "PCA", "writing map.csv", "drawing", "writing map.png", "map.html", "writing map.html",
        "writing m.lowfold",
    ]  # fmt: skip
    titles.clear()
    assert main(["transform", "m.lowfold", "x.npy", "-o", "new.csv"]) == 0
    assert titles == ["reading m.lowfold", "reading x.npy", "placing", "writing new.csv"]
    titles.clear()
    assert main(["score", "x.npy", "map.csv", "-k", "5", "-o", "s.csv", "--plot", "s.png"]) == 0
    assert titles == ["reading x.npy", "reading map.csv", "scoring", "scoring each point", "drawing", "writing s.png"]
    titles.clear()
    assert main(["compare", "x.npy", "--methods", "pca,lle", "--html", "c.html"]) == 0
    assert titles == ["reading x.npy", "comparing", "c.html", "writing c.html"]


def test_trials_for_a_plan_tell_the_share_before_each(monkeypatch):
    monkeypatch.setattr(planning, "TRIALS", (50, 100))
    monkeypatch.setattr(planning, "PLANNED_FROM", 400)
    told = []
    planning.plan_for(lowfold.PCA(), cloud(400, 4), lambda *trial: told.append(trial))
    names, shares = zip(*told, strict=True)
    assert names == ("13 rows", "50 rows", "100 rows")
    work = np.array([0, 13, 50, 100]) ** 1.5
    np.testing.assert_allclose(shares, work.cumsum()[:3] / work.sum())


def test_info_looks_for_neighbours_once_and_says_of_each_dimension_what_is_wrong(tmp_path, monkeypatch, capsys):
    searches = []
    query = SharedIndex.query

    def counted(self, *arguments):
        searches.append(arguments)
        return query(self, *arguments)

    monkeypatch.setattr(SharedIndex, "query", counted)
    monkeypatch.setattr(describing, "needs_of_all", lambda *_: {})
    np.save(tmp_path / "x.npy", cloud(200, 3))
    assert main(["info", str(tmp_path / "x.npy")]) == 0
    said = capsys.readouterr().out
    assert said.index("intrinsic dimension (two_nn): ") < said.index("intrinsic dimension (mle): ")
    assert [k for _, k in searches] == [20, 2]
    np.save(tmp_path / "few.npy", cloud(12, 3))
    assert main(["info", str(tmp_path / "few.npy")]) == 0
    said = capsys.readouterr().out
    assert "intrinsic dimension (two_nn): not" not in said
    assert "intrinsic dimension (mle): not known (k=20 needs k from 2 to 10" in said


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def lines(monkeypatch):
    """What a person can see of each piece of work, by its title, if each look at the clock takes half a second."""
    seen = {}
    seconds = itertools.count(0.0, 0.5)
    monkeypatch.setattr(time, "perf_counter", lambda: next(seconds))
    for module, name in ((planning, "LEAST_ROWS"), (planning, "LEAST_WORK"), (comparing, "LEAST_ROWS")):
        monkeypatch.setattr(module, name, 1)

    def heard(function):
        def hear(self, *given):
            function(self, *given)
            seen.setdefault(self.title, []).append(self.line())

        return hear

    for name in ("_begin", "part", "stage", "share", "step"):
        monkeypatch.setattr(progress.Progress, name, heard(getattr(progress.Progress, name)))
    return seen


@pytest.mark.filterwarnings("ignore")
def test_every_piece_of_work_that_can_take_long_says_how_much_time_is_left(tmp_path, monkeypatch, lines):
    pytest.importorskip("matplotlib")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "stderr", Terminal())
    monkeypatch.setattr(describing, "METHODS", {name: lowfold.METHODS[name] for name in ("pca", "mds")})
    files.write("x.csv", cloud(60, 4), labels=np.arange(60) % 3)
    outputs = ["-o", "map.csv", "--plot", "map.svg", "--html", "map.html", "--save", "m.lowfold"]
    for arguments in (
        ["embed", "x.csv", "--labels", "label", "-m", "umap", *outputs],
        ["embed", "x.csv", "--labels", "label", "-m", "mds"],
        ["transform", "m.lowfold", "x.csv", "--labels", "label", "-o", "new.csv", "--plot", "new.png"],
        ["score", "x.csv", "map.csv", "--labels", "label", "-k", "5", "-o", "s.csv", "--plot", "s.pdf"],
        ["compare", "x.csv", "--labels", "label", "--methods", "pca,lle", "-k", "5", "--html", "c.html"],
        ["info", "x.csv", "--labels", "label"],
    ):
        assert main(arguments) == 0
    long = {title for title, shown in lines.items() if any(" left" in line for line in shown)}
    assert long == {
        "reading x.csv", "UMAP on a few rows, to tell the time", "UMAP", "writing map.csv", "writing map.svg",
        "judging by a few points, to tell the time", "map.html", "writing map.html", "writing m.lowfold",
        "MDS on a few rows, to tell the time", "MDS", "writing the map", "reading m.lowfold", "placing",
        "writing new.csv", "writing new.png", "reading map.csv", "scoring", "scoring each point", "drawing",
        "scoring a few points, to tell the time",
        "writing s.pdf", "each method on a few rows, to tell the time", "comparing", "c.html", "writing c.html",
        "looking at a few rows, to tell the time", "looking at the data", "trying each method on a few rows",
    }  # fmt: skip
    assert set(lines) == {"", *long}, "and there is no other piece of work"


@pytest.mark.parametrize("ending", ["svg", "pdf"])
def test_a_picture_of_many_points_tells_how_much_of_it_is_written(ending, tmp_path, monkeypatch):
    pytest.importorskip("matplotlib")
    Y, shown, told = cloud(40_000, 2), progress.Progress(stream=Terminal()), []
    monkeypatch.setattr(shown, "share", told.append)
    for name, who in (("plain", progress.Progress(quiet=True)), ("told", shown)):
        pictures.picture(tmp_path / f"{name}.{ending}", lambda plot: plot.scatter(Y).figure, who)
    assert len(told) > 2
    assert all(np.diff(told) >= 0)
    assert told[-1] > 0.9
    sizes = [(tmp_path / f"{name}.{ending}").stat().st_size for name in ("plain", "told")]
    assert sizes[0] == pytest.approx(sizes[1], rel=0.01)
