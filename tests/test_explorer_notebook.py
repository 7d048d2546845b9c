"""The notebook widget: the page in a frame, methods run in the kernel, the selection on both sides."""

from __future__ import annotations

import base64
import importlib
import json
import queue

import numpy as np
import pytest

from browsing import browser
from conftest import cloud
from lowfold.errors import LowfoldError, ParameterError
from lowfold.explorer.notebook import widget
from lowfold.explorer.pack import unpack

pytestmark = pytest.mark.filterwarnings("ignore")
X = cloud(150, 4)
WAIT = 120_000  # milliseconds

# A notebook in short: the widget's traits and messages, over functions that reach Python.
NOTEBOOK = """async ({ script, traits }) => {
  const binary = (text) => new DataView(Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0)).buffer);
  const values = new Map(Object.entries(traits).map(([name, value]) =>
    [name, value && value.binary !== undefined ? binary(value.binary) : value]));
  const listeners = new Map();
  window.model = {
    get: (name) => values.get(name),
    set: (name, value) => values.set(name, value),
    on: (name, listener) => listeners.set(name, listener),
    off: (name) => listeners.delete(name),
    save_changes: () => toKernel({ rows: Array.from(new Uint32Array(values.get("_rows").buffer)) }),
    send: (content) => toKernel({ content }),
    told: (content, pack) => listeners.get("msg:custom")(content, pack === null ? [] : [binary(pack)]),
    changed: (name, text) => { values.set(name, binary(text)); listeners.get(`change:${name}`)(); },
    count: () => listeners.size,
  };
  const url = URL.createObjectURL(new Blob([script], { type: "text/javascript" }));
  const module = await import(url);
  window.cleanup = module.default.render({ model, el: document.body });
}"""


@pytest.fixture
def shown():
    pytest.importorskip("anywidget", reason="needs lowfold[notebook]")
    made = widget(X, {"first": X[:, :2], "second": X[:, 2:]}, labels=["a", "b", "<b>c</b>"] * 50)
    yield made
    made.close()


def test_the_widget_holds_the_same_page_and_the_scene(shown):
    header, _ = unpack(shown._scene)
    assert header["n"] == 150
    assert '<body data-server="frame">' in shown._page
    assert "connect-src 'none'" in shown._page, "inside the frame nothing can be asked of the network"
    assert json.loads(shown._methods)["runs"] is True
    assert shown.height == 640


def test_the_selection_can_be_set_and_read(shown):
    assert shown.selection.tolist() == []
    shown.selection = [5, 3, 5]
    assert shown.selection.tolist() == [3, 5]
    shown.selection = []
    assert shown.selection.tolist() == []
    for wrong in ([150], [-1], [0.5], ["a"]):
        with pytest.raises(ParameterError, match="from 0 to 149"):
            shown.selection = wrong


def test_the_selection_of_the_page_arrives_as_a_notebook_sends_it(shown):
    shown.set_state({"_rows": memoryview(np.array([4, 7], "<u4").tobytes())})
    assert shown.selection.tolist() == [4, 7]


def test_messages_that_make_no_sense_are_answered(shown, monkeypatch):
    told = []
    monkeypatch.setattr(shown._telling, "_send", lambda message, buffers=None: told.append(message))
    for content in (None, [], {"text": 5}, {"other": 1}):
        shown._heard(shown, content, [])
    assert told == []
    shown._heard(shown, {"text": "{"}, [])
    assert "no JSON" in told[0]["message"]


def test_missing_packages_are_asked_for_by_name(monkeypatch):
    real = importlib.import_module

    def missing(name, *rest):
        if name == "anywidget":
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.setattr(importlib, "import_module", missing)
    with pytest.raises(LowfoldError, match=r'pip install "lowfold\[notebook\]"'):
        widget(X, {"first": X[:, :2]})


@pytest.fixture
def notebook(shown):
    """(page, frame, messages from the page): the widget in a browser, as a notebook shows it."""
    with browser() as chromium:
        page = chromium.new_page(viewport={"width": 1200, "height": 800})
        page.set_default_timeout(WAIT)
        heard = []
        page.expose_function("toKernel", lambda message: heard.append(message))
        traits = {name: getattr(shown, name) for name in ("_page", "_scene", "_methods", "_rows", "height")}
        binary = {key: {"binary": encode(value)} for key, value in traits.items() if isinstance(value, bytes)}
        page.evaluate(NOTEBOOK, {"script": shown._esm, "traits": traits | binary})
        frame = next(part for part in page.frames if part != page.main_frame)
        frame.wait_for_selector("body[data-ready]")
        yield page, frame, heard


def encode(content):
    return base64.b64encode(content).decode()


def pump(page, shown, heard, told, ended):
    """Carries messages both ways, as a notebook does, until a condition holds."""
    for _ in range(WAIT // 20):
        while heard:
            message = heard.pop(0)
            if "rows" in message:
                shown._rows = np.array(message["rows"], "<u4").tobytes()
            else:
                shown._heard(shown, message["content"], [])
        while not told.empty():
            content, buffers = told.get()
            pack = encode(buffers[0]) if buffers else None
            page.evaluate("([content, pack]) => model.told(content, pack)", [content, pack])
        if ended():
            return
        page.wait_for_timeout(20)
    raise AssertionError("it never came")


def test_a_method_runs_in_the_kernel_and_the_selection_goes_both_ways(shown, notebook, monkeypatch):
    page, frame, heard = notebook
    told, packs = queue.Queue(), []

    def send(message, buffers=None):
        packs.extend(unpack(buffer)[0]["kind"] for buffer in buffers or [])
        told.put((message, buffers))

    monkeypatch.setattr(shown._telling, "_send", send)
    frame.select_option("#runner select[aria-label=Method]", "umap")
    frame.click("#runner button[type=submit]")
    pump(page, shown, heard, told, lambda: frame.locator('.run[data-state="done"]').count() == 1)
    assert frame.evaluate("lowfold.panels.map((panel) => panel.header.title)") == ["first", "second", "UMAP"]
    assert "step" in packs, "it moved on the way"
    assert packs.count("panel") == 1
    frame.evaluate("lowfold.select(new Uint32Array([2, 7]))")
    pump(page, shown, heard, told, lambda: shown.selection.tolist() == [2, 7])
    shown.selection = [1, 4, 9]
    page.evaluate("(text) => model.changed('_rows', text)", encode(shown._rows))
    pump(page, shown, heard, told, lambda: frame.evaluate("Array.from(lowfold.selection)") == [1, 4, 9])
    assert frame.locator("#side b").count() == 0, "a label is text"
    assert page.evaluate("(cleanup(), model.count())") == 0
