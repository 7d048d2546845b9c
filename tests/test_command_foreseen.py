"""What is foreseen of a work before it is done: seconds of each stage, and memory."""

from __future__ import annotations

import io

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.spatial.distance import cdist

import lowfold
from conftest import cloud, listening
from lowfold import MDS, METHODS, UMAP, KernelPCA, files
from lowfold import judging as judging_module
from lowfold.backend import resources
from lowfold.cli import describing, estimates, planning, progress, watched
from lowfold.comparison import PeakMemory
from lowfold.estimator import stage_listener


class Terminal(io.StringIO):
    def isatty(self):
        return True


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
    many = KernelPCA(n_jobs=64)  # whose own memory hides that of the pairs
    assert continued(many, "eigenvectors", 9_000, eigenvectors=pairs) == pytest.approx(pairs(9_000))
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


@pytest.mark.skipif(not resources.forget_peak(), reason="the system does not count the peak of memory")
@pytest.mark.parametrize("m", [2, 300])
@pytest.mark.parametrize("method", [lowfold.ClassicalMDS, KernelPCA, lowfold.Isomap])
@pytest.mark.filterwarnings("ignore")
def test_methods_with_a_square_matrix_take_no_more_memory_than_was_foreseen(method, m):
    X = cloud(2000, 2500) if method is lowfold.ClassicalMDS else cloud(2000, 10)
    given = {"metric": "precomputed"} if method is lowfold.ClassicalMDS else {}
    if given:  # none of them is negative, and many lie close together
        X = cdist(X, X)
    model = method(n_components=m, n_jobs=2, **given)  # of many threads not all have rows in hand at once
    method(n_components=2, n_jobs=2, **given).fit(X[:300, :300])
    with PeakMemory() as memory:
        model.fit(X)
    foreseen, slack = model.estimate(*X.shape), 20e6  # what threads and the allocator keep
    assert memory.peak < foreseen + slack
    assert foreseen < 2 * memory.peak + slack


@pytest.mark.parametrize("name", ["kernel_pca", "diffusion_map"])
def test_threads_have_no_more_rows_in_hand_than_there_are(name):
    few, enough, many = (METHODS[name](n_jobs=jobs).estimate(1000, 5) for jobs in (1, 4, 64))
    assert few < enough == many


def test_fits_to_few_wide_rows_have_a_time_left_too(monkeypatch):
    shown = progress.Progress(stream=Terminal())
    X = cloud(600, 4)
    assert not planning.worth_planning(X)
    monkeypatch.setattr(planning, "LEAST_WORK", 1e6)
    assert planning.worth_planning(X)
    watched.fit(lowfold.Isomap(n_neighbors=8), X, shown)
    assert set(shown.plan) >= {"neighbours", "shortest paths", "eigenvectors"}
    assert all(seconds >= 0 for seconds in shown.plan.values())


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ["isomap", "mds", "classical_mds", "tsne", "umap"])
def test_precomputed_distances_have_a_plan_too(name):
    X = cloud(400, 4)
    D = np.linalg.norm(X[:, None] - X[None], axis=2)
    told = []
    model = METHODS[name](metric="precomputed")
    plan = planning.plan_for(model, D, lambda *trial: told.append(trial))
    assert [trial for trial, _ in told] == ["13 rows", "50 rows", "100 rows"]
    assert set(plan) == set(model.fit(D[:100, :100]).report_.seconds)
    assert all(seconds >= 0 for seconds in plan.values())


def test_some_points_of_a_square_have_their_own_columns():
    X = cloud(30, 2)
    D = np.linalg.norm(X[:, None] - X[None], axis=2)
    some = estimates.some_of(D, 7, pairwise=True)
    assert some.shape == (7, 7)
    assert not np.diag(some).any()
    np.testing.assert_array_equal(some, some.T)
    assert estimates.some_of(X, 7, pairwise=True) is X, "no square: it will be refused as it is"
    assert estimates.some_of(X, 7).shape == (7, 2)


@pytest.mark.parametrize("name", ["isomap", "laplacian_eigenmaps", "diffusion_map", "tsne", "umap"])
@pytest.mark.filterwarnings("ignore")
def test_a_sparse_graph_is_tried_by_one_like_it(name, monkeypatch):
    monkeypatch.setattr(planning, "TRIALS", (150, 300))
    monkeypatch.setattr(planning, "PLANNED_FROM", 1000)
    affinity = name == "diffusion_map"  # which takes no distances to some of the points
    graph = lowfold.NeighborGraph(n_neighbors=90 if name == "tsne" else 20).fit_transform(cloud(1000, 5))
    graph = csr_array(graph.maximum(graph.T)) if affinity else graph
    some = estimates.some_of(graph, 300, pairwise=True)
    assert some.shape == (300, 300)
    assert some.nnz / 300 == pytest.approx(graph.nnz / 1000, rel=0.4)
    model = METHODS[name](metric="affinity" if affinity else "precomputed")
    plan = planning.plan_for(model, graph)
    assert list(plan) == list(model.fit(graph).report_.seconds)
    assert sum(plan.values()) > 0


def test_the_plan_of_a_comparison_has_the_silhouette_where_there_are_labels(monkeypatch):
    X, kinds, told, judged = cloud(200, 4), np.arange(200) % 3, [], []
    silhouette = judging_module.silhouette
    monkeypatch.setattr(
        judging_module, "silhouette", lambda *given, **how: judged.append(how) or silhouette(*given, **how)
    )
    judging = planning.Judging(k=5)
    plan = planning.plan_for_all(["pca", "unknown", "isomap"], X, kinds, judging, lambda *part: told.append(part))
    assert list(plan) == ["pca", "isomap", "judging pca", "judging isomap"]
    assert plan["judging pca"] > 0
    assert [how["sample"] for how in judged] == [8, 33]
    names, shares = zip(*told, strict=True)
    assert names[-2:] == ("judging, silhouette, 8 points", "judging, silhouette, 33 points")
    assert all(np.diff(shares) > 0)
    first = names.index("judging, neighbours kept, 8 points")
    assert shares[first] == pytest.approx(0.5), "two methods, and judging that takes as long as both"
    judged.clear()
    planning.plan_for_all(["pca"], X, None, judging, estimates.unheard)
    assert not judged
    assert planning.plan_for_all(["unknown"], X, None, judging, estimates.unheard) == {}


@pytest.mark.parametrize(("dear", "cheap"), [(1.0, 1.0), (3.0, 1.0), (1.0, 3.0)])
def test_work_on_points_is_continued_by_a_line_and_by_no_more_than_its_second_trial(dear, cheap, monkeypatch):
    now = [0.0]
    monkeypatch.setattr(planning.time, "perf_counter", lambda: now[0])

    def work(some):
        now[0] += cheap + dear * some / 100

    def noisy(some):
        now[0] += 0.1 if some < 100 else 90.0

    assert planning._over_points(work, 1000) == pytest.approx(cheap + dear * 10)
    assert planning._over_points(noisy, 1000) == pytest.approx(90.0 * 1000 / 166)


def test_info_foresees_its_stages_also_of_few_wide_rows(monkeypatch):
    told = []
    plan = describing._plan(cloud(600, 40), lambda *trial: told.append(trial))
    assert list(plan) == [describing.SCALES, describing.COPIES, describing.SEARCHING]
    assert all(seconds >= 0 for seconds in plan.values())
    assert [name for name, _ in told] == ["38 rows", "150 rows"]
    monkeypatch.setattr(describing, "MOST_COMPARED", 100)
    assert list(describing._plan(cloud(600, 40), estimates.unheard)) == [describing.SCALES, describing.SEARCHING]
    assert list(describing._plan(csr_array(cloud(600, 4)), estimates.unheard)) == [describing.SEARCHING]
    with listening(stage_listener) as stages:
        list(describing._description(cloud(60, 4), files.Table(cloud(60, 4))))
    assert stages[:3] == [describing.SCALES, describing.COPIES, describing.SEARCHING]
