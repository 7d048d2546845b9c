"""Runs that a page asks for: what they tell, how they are stopped, and what cannot bring the server down."""

from __future__ import annotations

import json
import threading
import time

import numpy as np
import pytest

import lowfold
from conftest import FOR_SMALL_DATA, cloud, declared
from lowfold import METHODS, ParameterError
from lowfold.estimator import Estimator
from lowfold.explorer import runs as runs_module
from lowfold.explorer.connection import longest_message
from lowfold.explorer.opening import Serving, explore
from lowfold.explorer.orders import MOST_RUNS
from lowfold.explorer.panels import exploring
from lowfold.options import option
from serving import PATIENCE, Page

pytest.importorskip("uvicorn", reason="needs lowfold[explore]")
pytest.importorskip("websockets", reason="needs lowfold[explore]")
pytestmark = pytest.mark.filterwarnings("ignore")

X = cloud(120, 4)
LABELS = np.array(["a", "b", "<img src=x onerror=alert(1)>"] * 40)
ENDLESS = {"schedule": {"engine": "Classical", "parameters": {"max_iter": 10**9}}, "perplexity": 5.0}


@pytest.fixture(scope="module")
def explorer():
    with explore(X, ["pca"], labels=LABELS, serving=Serving(browser=False)) as running:
        yield running


@pytest.fixture
def page(explorer):
    with Page(explorer) as opened:
        yield opened


def small(name):
    return {key: value for key, value in FOR_SMALL_DATA.items() if key in declared(METHODS[name])}


def coordinates(panel):
    return panel["values"][panel["panel"]["coordinates"]]


@pytest.mark.parametrize("name", METHODS)
def test_every_method_can_be_run_and_gives_the_map_that_it_gives_elsewhere(page, name):
    page.start(1, name, **small(name))
    before, last = page.to_the_end(1)
    assert last == {"type": "done", "run": 1}
    panel = next(message for message in before if message["type"] == "panel")
    model = METHODS[name](**exploring(name, X) | small(name)).fit(X)
    Y = model.right_eigenvectors_ if name == "diffusion_map" else model.embedding_
    np.testing.assert_array_equal(coordinates(panel), Y.astype(np.float32))
    assert panel["panel"]["method"] == name
    assert panel["panel"]["rows"] is None
    assert 0 < panel["panel"]["quality"]["trustworthiness"] <= 1
    assert panel["values"][panel["panel"]["trust"]].shape == (120,)
    stages = [message["stage"] for message in before if message["type"] == "progress"]
    assert stages, "a page hears what goes on"
    assert all(stages)


def test_the_map_moves_while_it_is_optimised_and_stop_keeps_it(page):
    page.start(7, "tsne", **ENDLESS)
    first = page.until("step")
    second = page.until("step")
    assert first["values"]["coordinates"].shape == (120, 2)
    assert first["values"]["coordinates"].dtype == np.float32
    assert second["iteration"] > first["iteration"]
    assert not np.array_equal(first["values"]["coordinates"], second["values"]["coordinates"])
    told = page.until("progress")
    assert told["total"] >= 10**9
    assert told["iteration"] > 0
    page.stop(7)
    panel = page.until("panel", "error")
    assert np.isfinite(coordinates(panel)).all()
    assert panel["panel"]["quality"]
    assert page.until("stopped", "done", "error") == {"type": "stopped", "run": 7}


def test_a_selection_is_embedded_by_itself(page):
    rows = list(range(100, 20, -2))
    page.start(1, "umap", rows=rows, n_neighbors=6)
    panel = page.until("panel", "error")
    held = panel["values"][panel["panel"]["rows"]]
    np.testing.assert_array_equal(held, sorted(rows))
    np.testing.assert_array_equal(
        coordinates(panel), METHODS["umap"](n_neighbors=6).fit(X[held]).embedding_.astype(np.float32)
    )
    assert panel["panel"]["title"] == "UMAP of 40 selected"
    assert panel["values"][panel["panel"]["trust"]].shape == (40,)
    assert page.until("done", "error")["type"] == "done"
    page.start(2, "pca", rows=[3, 1, 2])
    assert page.until("panel", "error")["panel"]["quality"] == {}, "three points cannot be judged"


def test_steps_of_a_selection_are_of_its_rows_alone(page):
    page.start(1, "tsne", rows=list(range(50)), **ENDLESS)
    assert page.until("step")["values"]["coordinates"].shape == (50, 2)
    page.stop(1)
    assert page.until("stopped", "error", run=1)["type"] == "stopped"


def test_runs_beyond_the_places_wait_and_can_be_stopped_before_they_begin(page):
    for number in range(runs_module.AT_ONCE):
        page.start(number, "tsne", **ENDLESS)
        page.until("step", run=number)
    page.start(50, "pca")
    assert page.until("progress", "error", run=50)["stage"] == "waiting"
    page.stop(50)
    before, last = page.to_the_end(50)
    assert last["type"] == "stopped"
    assert not [message for message in before if message["type"] == "panel" and message["run"] == 50]
    for number in range(60, 60 + MOST_RUNS):
        page.start(number, "pca")
    refused = page.until("error")
    assert "runs wait or work already" in refused["message"]


def test_a_number_in_use_is_refused_and_a_free_one_can_be_used_again(page):
    page.start(3, "tsne", **ENDLESS)
    page.until("step")
    page.start(3, "pca")
    assert "was started already" in page.until("error")["message"]
    page.stop(3)
    page.until("stopped")
    page.stop(99)  # there is none: nothing happens
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        page.start(3, "pca")
        if page.until("done", "error")["type"] == "done":
            return
    raise AssertionError("the number did not become free")


def our_runs():
    return [thread for thread in threading.enumerate() if thread.name.startswith("run ") and thread.is_alive()]


def test_a_page_that_goes_away_stops_its_runs(explorer):
    with Page(explorer) as page:
        page.start(1, "tsne", **ENDLESS)
        page.until("step")
        assert our_runs()
    for thread in our_runs():
        thread.join(PATIENCE)
    assert not our_runs()


@pytest.mark.parametrize(
    ("method", "parameters", "made"),
    [
        ("tsne", {"perplexity": -3}, lambda: METHODS["tsne"](perplexity=-3).fit(X)),
        ("tsne", {"perplexity": 500.0}, lambda: METHODS["tsne"](perplexity=500.0).fit(X)),
        ("umap", {"n_neighbors": "many"}, lambda: METHODS["umap"](n_neighbors="many").fit(X)),
        ("isomap", {"n_neighbors": 10**6}, lambda: METHODS["isomap"](n_neighbors=10**6).fit(X)),
        ("pca", {"n_components": 50}, lambda: METHODS["pca"](n_components=50).fit(X)),
        ("mds", {"metric": "precomputed"}, lambda: METHODS["mds"](metric="precomputed").fit(X)),
        ("tsne", {"repulsion": {"engine": "Grid", "parameters": {"spacing": -1}}},
         lambda: METHODS["tsne"](repulsion=lowfold.Grid(spacing=-1)).fit(X)),
    ],
)  # fmt: skip
def test_what_the_library_refuses_is_refused_in_its_own_words(page, method, parameters, made):
    with pytest.raises((lowfold.LowfoldError, ValueError)) as direct:
        made()
    page.start(1, method, **parameters)
    assert page.until("error", "done")["message"] == " ".join(str(direct.value).split())


@pytest.mark.parametrize(
    ("message", "answer"),
    [
        ("", "no JSON"),
        ("{", "no JSON"),
        ("[" * 50_000, "no JSON"),
        ('{"run": NaN, "action": "stop"}', "NaN is no number"),
        ("[1, 2]", "JSON object"),
        ("null", "JSON object"),
        (b"\x00\x01", "text"),
        ({"action": "start"}, "run must be"),
        ({"action": "start", "run": -1}, "run must be"),
        ({"action": "start", "run": True}, "run must be"),
        ({"action": "start", "run": 1.5}, "run must be"),
        ({"action": "start", "run": 2**31}, "run must be"),
        ({"action": "open", "run": 1}, "action must be"),
        ({"action": "start", "run": 1}, "no method None"),
        ({"action": "start", "run": 1, "method": ["pca"]}, "no method"),
        ({"action": "start", "run": 1, "method": "../pca"}, "no method '../pca'"),
        ({"action": "start", "run": 1, "method": "__class__"}, "no method"),
        ({"action": "start", "run": 1, "method": "pca", "code": "1"}, "nothing else"),
        ({"action": "start", "run": 1, "method": "pca", "parameters": [1]}, "by name"),
        ({"action": "start", "run": 1, "method": "pca", "parameters": {"power": 1}}, "no parameter 'power'"),
        ({"action": "start", "run": 1, "method": "pca", "parameters": {"__class__": 1}}, "no parameter"),
        ({"action": "start", "run": 1, "method": "pca", "parameters": {"solver": {"engine": "Grid"}}}, "must be"),
        ({"action": "start", "run": 1, "method": "tsne", "parameters": {"repulsion": {"engine": "object"}}}, "must be"),
        (
            {"action": "start", "run": 1, "method": "tsne", "parameters": {"repulsion": {"engine": "Grid", "x": 1}}},
            "must be",
        ),
        ({"action": "start", "run": 1, "method": "tsne", "parameters": {"metric": "m" * 300}}, "short name"),
        ({"action": "start", "run": 1, "method": "tsne", "parameters": {"perplexity": [1, "a"]}}, "must be"),
        ({"action": "start", "run": 1, "method": "tsne", "parameters": {"perplexity": [1.0] * 100}}, "must be"),
        ({"action": "start", "run": 1, "method": "pca", "rows": []}, "rows must be"),
        ({"action": "start", "run": 1, "method": "pca", "rows": [120]}, "rows must be"),
        ({"action": "start", "run": 1, "method": "pca", "rows": [-1]}, "rows must be"),
        ({"action": "start", "run": 1, "method": "pca", "rows": ["1"]}, "rows must be"),
        ({"action": "start", "run": 1, "method": "pca", "rows": "all"}, "rows must be"),
        ({"action": "start", "run": 1, "method": "pca", "rows": {"0": 1}}, "rows must be"),
    ],
)
def test_what_makes_no_sense_is_answered_and_the_page_goes_on(page, message, answer):
    page.send(message)
    told = page.take()
    assert told["type"] == "error"
    assert answer in told["message"]
    page.start(1, "pca")
    assert page.to_the_end(1)[1]["type"] == "done"


def test_a_message_that_is_too_large_ends_the_connection(explorer):
    from websockets.exceptions import ConnectionClosedError

    with Page(explorer) as page:
        page.send(json.dumps({"action": "start", "run": 1, "rows": "x" * longest_message(len(X))}))
        with pytest.raises(ConnectionClosedError) as closed:
            page.take()
        assert closed.value.rcvd.code == 1009
    with Page(explorer) as page:
        page.start(1, "pca", rows=list(range(120)) * 2)
        assert page.to_the_end(1)[1]["type"] == "done"


class Broken(Estimator):
    """Broken: has a fault."""

    kind: str = option("bug", choices=("bug", "exit", "memory"), help="kind of the fault")

    def _fit(self, data, watch, findings):
        raise {"bug": ZeroDivisionError("<b>inside</b>"), "exit": SystemExit(3), "memory": MemoryError()}[self.kind]

    def _memory(self, n_samples, n_features):
        return 0


@pytest.mark.parametrize(("kind", "message"), [("bug", "should not happen: ZeroDivisionError"), ("exit", "SystemExit"),
                                               ("memory", "MemoryError")])  # fmt: skip
def test_a_fault_ends_its_run_and_nothing_else(page, monkeypatch, kind, message):
    monkeypatch.setitem(METHODS, "broken", Broken)
    page.start(1, "broken", kind=kind)
    assert message in page.until("error")["message"]
    page.start(2, "pca")
    assert page.to_the_end(2)[1]["type"] == "done"


def test_without_data_nothing_can_be_run():
    with explore(None, {"given": X[:, :2]}, serving=Serving(browser=False)) as maps, Page(maps) as page:
        page.start(1, "pca")
        assert "Start again with the data" in page.until("error")["message"]
    with pytest.raises(ParameterError, match="no data to fit 'pca' to"):
        explore(None, ["pca"], serving=Serving(browser=False))
