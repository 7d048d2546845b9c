"""The page with its server in a real browser: forms, runs that move, stop, selections, and text that stays text."""

from __future__ import annotations

import numpy as np
import pytest

from conftest import cloud
from lowfold import METHODS
from lowfold.explorer.opening import Serving, explore
from lowfold.options import parameters

pytest.importorskip("uvicorn", reason="needs lowfold[explore]")
pytest.importorskip("websockets", reason="needs lowfold[explore]")
pytestmark = pytest.mark.filterwarnings("ignore")

X = cloud(300, 4)
HOSTILE = '<img src=x onerror="window.hurt=1"></script><script>window.hurt=1</script>'
LABELS = np.array(["plain", HOSTILE, "third"] * 100)
WAIT = 120_000  # milliseconds: far more than anything takes
ENDLESS = "10000000"


@pytest.fixture
def explorer():
    with explore(X, {"first": X[:, :2], HOSTILE: X[:, 2:]}, labels=LABELS, serving=Serving(browser=False)) as running:
        yield running


@pytest.fixture
def page(chromium, explorer):
    opened = chromium.new_page(viewport={"width": 1300, "height": 900})
    opened.set_default_timeout(WAIT)
    faults = []
    opened.on("pageerror", lambda error: faults.append(str(error)))
    opened.on("console", lambda message: faults.append(message.text) if message.type == "error" else None)
    opened.goto(explorer.address)
    opened.wait_for_selector("body[data-ready]")
    yield opened
    opened.close()
    assert faults == []


def panels(page):
    return page.evaluate("lowfold.panels.map((panel) => [panel.id, panel.header.title, panel.count])")


def places(page, panel="run 1"):
    """Where the points of a panel are now."""
    return np.array(page.evaluate("(id) => Array.from(lowfold.panel(id).values)", panel))


def until(page, expression, argument=None):
    """Waits for an expression to hold; the page's policy lets no text be evaluated inside it."""
    for _ in range(WAIT // 20):
        if page.evaluate(expression, argument):
            return
        page.wait_for_timeout(20)
    raise AssertionError(f"{expression} never held")


def choose(page, method):
    page.select_option("#runner select[aria-label=Method]", method)


def open_parameters(page):
    if not page.locator("#runner details").evaluate("(part) => part.open"):
        page.click("#runner summary")


def field(page, name):
    return page.locator(f'#runner [data-parameter="{name}"] > :is(input, select)').first


def endless(page):
    """Fills the form so that UMAP does not end by itself; its sampled forces never come to rest."""
    choose(page, "umap")
    open_parameters(page)
    field(page, "schedule").select_option("Epochs …")
    field(page, "n_epochs").select_option("a number …")
    page.locator('#runner [data-parameter="n_epochs"] .below input').fill(ENDLESS)


def run(page):
    page.click("#runner button[type=submit]")


def test_a_run_started_from_the_page_finishes_and_shows_its_map(page):
    choose(page, "pca")
    run(page)
    page.wait_for_selector('.run[data-state="done"]')
    assert panels(page)[2:] == [["run 1", "Principal component analysis", 300]]
    assert page.locator('article[aria-label="Principal component analysis"]').is_visible()
    model = METHODS["pca"](n_components=4).fit(X)
    np.testing.assert_allclose(places(page).reshape(300, -1), model.embedding_, rtol=1e-6, atol=1e-6)
    assert page.evaluate("lowfold.panel('run 1').header.quality.trustworthiness") > 0.5
    page.click('.run button[aria-label^="Remove"]')
    assert [identity for identity, _, _ in panels(page)] == ["map 0", "map 1"]
    assert page.locator(".run").count() == 0


def test_the_map_moves_while_it_is_optimised_and_stop_keeps_it(page):
    endless(page)
    run(page)
    until(page, "lowfold.panels.length === 3")
    first = places(page)
    until(page, "(x) => lowfold.panel('run 1').values[0] !== x", float(first[0]))
    drawn = page.locator('[data-panel="run 1"]').screenshot()
    until(page, "lowfold.panel('run 1').version > 8")
    assert page.locator('[data-panel="run 1"]').screenshot() != drawn, "what is seen moves too"
    assert "of at most" in page.locator(".run p").inner_text()
    assert page.locator(".run progress").get_attribute("value") is not None
    page.click('.run button:has-text("Stop")')
    page.wait_for_selector('.run[data-state="stopped"]')
    kept = places(page)
    assert kept.shape == (600,)
    assert np.isfinite(kept).all()
    assert not np.array_equal(kept, first)
    assert "trustworthiness" in page.evaluate("Object.keys(lowfold.panel('run 1').header.quality)")
    page.wait_for_timeout(300)
    np.testing.assert_array_equal(places(page), kept)


def test_a_selection_is_embedded_by_itself(page):
    chosen = page.locator('#runner button:has-text("Run on selection")')
    assert chosen.is_disabled()
    box = page.locator('[data-panel="map 0"]').bounding_box()
    page.keyboard.down("Shift")
    corners = [(0.05, 0.05), (0.95, 0.05), (0.95, 0.5), (0.05, 0.5), (0.05, 0.05)]
    page.mouse.move(box["x"] + 0.05 * box["width"], box["y"] + 0.05 * box["height"])
    page.mouse.down()
    for x, y in corners:
        page.mouse.move(box["x"] + x * box["width"], box["y"] + y * box["height"], steps=4)
    page.mouse.up()
    page.keyboard.up("Shift")
    rows = page.evaluate("Array.from(lowfold.selection)")
    assert 20 < len(rows) < 300
    choose(page, "classical_mds")
    page.click(f'#runner button:has-text("Run on {len(rows)} selected")')
    page.wait_for_selector('.run[data-state="done"]')
    assert panels(page)[2] == ["run 1", f"Classical scaling of {len(rows)} selected", len(rows)]
    assert page.evaluate("Array.from(lowfold.panel('run 1').rows)") == rows
    model = METHODS["classical_mds"](n_components=4).fit(X[rows])
    np.testing.assert_allclose(places(page).reshape(len(rows), -1), model.embedding_, rtol=1e-5, atol=1e-5)
    assert page.evaluate("Array.from(lowfold.selection)") == rows, "what was selected stays selected"


def test_the_form_has_every_parameter_that_can_be_typed_with_its_default(page):
    for name, method in METHODS.items():
        choose(page, name)
        shown = page.locator("#runner form > details > div > .parameters > .parameter").evaluate_all(
            "(all) => all.map((part) => part.dataset.parameter)"
        )
        declared = [parameter.name for parameter in parameters(method)]
        assert set(shown) <= set(declared)
        assert set(declared) - set(shown) <= {"weights"}, "an array cannot be typed"
        default = method().n_components
        assert page.locator('[data-parameter="n_components"]').locator("input").first.input_value() == str(default)


def test_a_wrong_value_is_answered_in_the_librarys_own_words(page):
    choose(page, "tsne")
    open_parameters(page)
    field(page, "perplexity").fill("-3")
    run(page)
    alert = page.locator(".run [role=alert]")
    alert.wait_for()
    assert "The 'perplexity' parameter of TSNE must be a number at least 1" in alert.inner_text()
    assert "Got -3 instead" in alert.inner_text()
    field(page, "perplexity").fill("10, 50")
    run(page)
    page.wait_for_selector('.run[data-state="done"]')
    assert page.evaluate("lowfold.panel('run 2').header.parameters.perplexity") == "(10.0, 50.0)"


def test_engines_are_chosen_with_their_own_parameters(page):
    choose(page, "tsne")
    open_parameters(page)
    field(page, "repulsion").select_option("Grid …")
    field(page, "spacing").fill("0.4")
    field(page, "schedule").select_option("classical")
    run(page)
    page.wait_for_selector('.run[data-state="done"]')
    used = page.evaluate("lowfold.panel('run 1').header.parameters")
    assert used["repulsion"] == "Grid(spacing=0.4)"
    assert used["schedule"] == "classical"


def test_a_hostile_label_is_shown_as_text_and_nothing_of_it_runs(page):
    assert page.locator("#side").get_by_text(HOSTILE).first.is_visible()
    assert page.locator(".frame h3").nth(1).inner_text() == HOSTILE
    choose(page, "pca")
    open_parameters(page)
    field(page, "solver").evaluate("(part, text) => part.add(new Option(text))", HOSTILE)
    page.locator("#runner form > details > div > .parameters").evaluate("(part) => part.remove()")
    page.evaluate("(text) => lowfold.announce(text)", HOSTILE)
    assert page.locator("img").count() == 0
    assert page.evaluate("window.hurt") is None


def test_the_page_says_when_its_server_has_ended_and_keeps_the_maps(page, explorer):
    endless(page)
    run(page)
    until(page, "lowfold.panels.length === 3")
    explorer.close()
    page.get_by_text("The server has ended").first.wait_for()
    assert page.locator("#runner button[type=submit]").is_disabled()
    assert len(panels(page)) == 3
    assert page.locator('.run[data-state="stopped"]').count() == 1


def test_the_page_reaches_nothing_but_its_server(chromium, explorer):
    page = chromium.new_page()
    asked = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(explorer.address)
    page.wait_for_selector("body[data-ready]")
    assert {url.split("/")[2] for url in asked if not url.startswith("data:")} == {f"127.0.0.1:{explorer.port}"}
    outcome = page.evaluate("fetch('http://example.com/').then(() => 'let out', () => 'kept in')")
    assert outcome == "kept in"
    page.close()


def test_with_a_wrong_token_there_is_no_page(chromium, explorer):
    page = chromium.new_page()
    answer = page.goto(f"http://127.0.0.1:{explorer.port}/?token=wrong")
    assert answer.status == 403
    assert "Open the address that lowfold printed" in page.inner_text("body")
    page.close()
