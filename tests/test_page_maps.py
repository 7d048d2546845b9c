"""The page in a browser: time, coordinates, images, many points, maps that come and go, small and dark screens."""

from __future__ import annotations

import numpy as np
import pytest

import lowfold
from browsing import opened
from lowfold import explorer

N = 150
DIFFUSION, LINE = "map 0", "map 1"


@pytest.fixture(scope="module")
def model(digits):
    return lowfold.DiffusionMap(n_components=5, t=1).fit(digits[0][:N])


@pytest.fixture(scope="module")
def path(digits, model, tmp_path_factory):
    X, y = digits[0][:N], digits[1][:N]
    maps = {"Diffusion": model, "Line": np.arange(N, dtype=float)[:, None], "PCA": lowfold.PCA(n_components=3).fit(X)}
    target = tmp_path_factory.mktemp("maps") / "map.html"
    explorer.write_page(target, explorer.make_scene(X, maps, labels=y, images=X))
    return target


@pytest.fixture
def page(chromium, path):
    with opened(chromium, path) as found:
        yield found


def places(page, panel, rows=N):
    return np.array([page.place(panel, row) for row in range(rows)])


def assert_same_up_to_size(shown, expected):
    """One unit for both axes, y upwards: shown = s (x, -y) + a place."""
    centred = (expected - expected.mean(axis=0)) * [1, -1]
    moved = shown - shown.mean(axis=0)
    size = (moved * centred).sum() / (centred**2).sum()
    assert size > 0
    np.testing.assert_allclose(moved, size * centred, atol=0.01)


def count_uploads(page):
    page.ask(
        """() => {
          window.uploads = 0;
          for (const name of ["bufferData", "bufferSubData"]) {
            const real = lowfold.gl[name].bind(lowfold.gl);
            lowfold.gl[name] = (...given) => { window.uploads += given[2] === lowfold.gl.STATIC_DRAW; real(...given); };
          }
        }"""
    )


def test_the_slider_moves_the_points_as_the_eigenvalues_say_and_sends_nothing(page, model):
    plot = page.plot(DIFFUSION)
    plot.click(position={"x": 3, "y": 3})
    count_uploads(page)
    assert_same_up_to_size(places(page, DIFFUSION), model.embedding_[:, :2])
    page.page.locator("#time").focus()
    for _ in range(6):
        page.page.keyboard.press("ArrowRight")
    page.drawn()
    assert page.ask("lowfold.panel('map 0').time") == 4
    assert "t = 4" in page.page.locator("#details").inner_text()
    shown = places(page, DIFFUSION)
    assert_same_up_to_size(shown, model.at_time(4).embedding_[:, :2])
    assert all(page.colour(x, y)[3] > 0 for x, y in shown), "the card drew them where they are said to be"
    inside = np.ptp(shown, axis=0)
    assert inside.min() > 20
    assert page.ask("window.uploads") == 0


def test_any_pair_of_coordinates_can_be_picked_without_sending_them_again(page, model):
    page.plot(DIFFUSION).click(position={"x": 3, "y": 3})
    count_uploads(page)
    page.page.locator("#axis-x").select_option(index=2)
    page.page.locator("#axis-y").select_option(index=4)
    page.drawn()
    shown = places(page, DIFFUSION)
    assert_same_up_to_size(shown, model.embedding_[:, [2, 4]])
    assert all(page.colour(x, y)[3] > 0 for x, y in shown)
    assert page.ask("window.uploads") == 0
    assert "Of coordinates 1 and 2 at t = 1" in page.page.locator("#details").inner_text()


def test_a_map_of_one_coordinate_is_a_band(page):
    shown = places(page, LINE)
    steps = np.diff(shown[:, 0])
    np.testing.assert_allclose(steps, steps[0], atol=1e-3)
    assert 0 < np.ptp(shown[:, 1]) < 0.2 * np.ptp(shown[:, 0])


def test_images_appear_when_there_is_room_and_never_overlap(page, digits):
    shown = "Array.from(lowfold.pictures.shown.get(lowfold.panel('map 0')) ?? [])"
    page.page.locator("summary", has_text="View").click()
    page.page.locator("#images").select_option("never")
    page.drawn()
    assert page.ask(shown) == []
    page.page.locator("#images").select_option("near")
    page.page.keyboard.press("Escape")
    assert not page.page.locator("#images").is_visible()
    page.drawn()
    rows = page.ask(shown)
    side = page.ask("lowfold.pictures.choose(lowfold.panel('map 0')).side")
    assert len(rows) > 10
    at = np.array([page.place(DIFFUSION, row) for row in rows])
    apart = np.abs(at[:, None] - at[None]) + np.where(np.eye(len(rows)), np.inf, 0)[:, :, None]
    assert ((apart >= np.array(side) - 1e-6).any(axis=2)).all()
    pixels = digits[0][:N].reshape(N, 8, 8)
    for row, (x, y) in zip(rows[:5], at[:5], strict=True):
        for i, j in ((3, 3), (1, 4), (6, 2)):
            place = (x + side[0] * ((j + 0.5) / 8 - 0.5), y + side[1] * ((i + 0.5) / 8 - 0.5))
            assert page.colour(*place)[0] == pytest.approx(255 - pixels[row, i, j] * 255 / 16, abs=3)


def test_zooming_in_keeps_what_is_under_the_pointer_and_shows_larger_images(page):
    row = 10
    start = page.place(DIFFUSION, row)
    spot = [round(value) for value in start]  # a wheel has whole pixels
    before = page.ask("lowfold.pictures.choose(lowfold.panel('map 0')).side[0]")
    page.page.mouse.move(*spot)
    for _ in range(6):
        page.page.mouse.wheel(0, -120)
    page.drawn()
    zoom = page.ask("lowfold.panel('map 0').view.zoom")
    assert zoom > 3
    expected = [at + zoom * (value - at) for at, value in zip(spot, start, strict=True)]
    assert page.place(DIFFUSION, row) == pytest.approx(expected, abs=0.01)
    assert page.ask("lowfold.pictures.choose(lowfold.panel('map 0')).side[0]") > before


def test_maps_can_be_added_moved_replaced_and_removed(page, digits):
    page.ask(
        """() => {
          const values = Float32Array.from({ length: 20 }, (_, at) => at % 2 ? (at - 1) ** 2 : at);
          const header = { id: "new", method: "given", title: "Some", family: "given", parameters: {}, quality: {},
            coordinates: "xy", eigenvalues: null, time: null, trust: null, rows: "rows", seconds: null };
          window.arrays = new Map([["xy", { values, shape: [10, 2] }],
            ["rows", { values: Int32Array.from({ length: 10 }, (_, at) => 140 - 3 * at), shape: [10] }]]);
          window.header = header;
          lowfold.addPanel(header, window.arrays);
        }"""
    )
    page.drawn()
    assert page.plot("new").is_visible()
    first = page.place("new", 140)
    assert page.colour(*first)[3] > 0
    page.page.mouse.click(*first)
    assert page.selection() == [140]
    page.ask("lowfold.moveTo('new', Float32Array.from({ length: 20 }, (_, at) => at % 2 ? 0 : -at))")
    page.drawn()
    assert page.place("new", 140)[0] > page.place("new", 113)[0]
    assert page.colour(*page.place("new", 113))[3] > 0
    page.ask("lowfold.replacePanel('new', { ...window.header, title: 'Others' }, window.arrays)")
    page.drawn()
    assert page.plot("new").count() == 1
    assert page.page.get_by_role("heading", name="Others").first.is_visible()
    page.ask("lowfold.removePanel('new')")
    page.drawn()
    assert page.plot("new").count() == 0


def test_while_the_map_moves_a_sample_is_drawn_and_then_all(chromium, tmp_path):
    n = 120_000
    rng = np.random.default_rng(0)
    target = tmp_path / "many.html"
    explorer.write_page(target, explorer.make_scene(None, rng.normal(size=(n, 2)), columns={"x": rng.random(n)}))
    with opened(chromium, target) as page:
        page.ask("lowfold.renderer.pace.points = () => 3000")  # as if the card could draw no more in a frame
        page.ask(
            """() => {
              window.seen = [];
              const { renderer } = lowfold, real = renderer.advance.bind(renderer);
              renderer.advance = (panel, share) => {
                const fresh = !renderer.drawn.has(panel), sent = real(panel, share);
                if (fresh) window.seen.push(sent);
                return sent;
              };
            }"""
        )
        box = page.plot("map 0").bounding_box()
        page.page.mouse.move(box["x"] + 200, box["y"] + 200)
        page.page.mouse.down()
        for step in range(8):
            page.page.mouse.move(box["x"] + 200 + 9 * step, box["y"] + 200)
            page.page.wait_for_timeout(30)
        page.page.mouse.up()
        moving = page.ask("Math.max(...window.seen)")
        assert moving == 3000
        page.ask("delete lowfold.renderer.pace.points")
        page.drawn()
        assert page.ask("lowfold.renderer.drawn.get(lowfold.panels[0])") == n
        order = page.ask("Array.from(lowfold.scene.order.slice(0, 2000))")
        assert abs(np.mean(order) / n - 0.5) < 0.03, "the first points drawn are a fair sample"


def test_a_phone_s_width_is_enough(chromium, path):
    with opened(chromium, path, viewport={"width": 390, "height": 780}, has_touch=True, is_mobile=True) as page:
        assert page.ask("document.documentElement.scrollWidth") <= 390
        box = page.plot(DIFFUSION).bounding_box()
        assert box["width"] > 330
        page.page.touchscreen.tap(*page.place(DIFFUSION, 20))
        assert len(page.selection()) == 1
        assert f"row {page.selection()[0]}" in page.page.locator("#card").inner_text(), (
            "it stays when the finger is gone"
        )
        page.page.locator("#chosen").scroll_into_view_if_needed()
        assert "1 of 150 points" in page.page.locator("#chosen").inner_text()


def test_every_control_has_a_name_and_the_theme_follows_the_system(chromium, path):
    with opened(chromium, path, color_scheme="dark") as page:
        assert page.ask("document.documentElement.dataset.theme") == "dark"
        nameless = page.ask(
            """Array.from(document.querySelectorAll("button, select, input, [tabindex='0']")).filter((one) =>
              !(one.ariaLabel || one.textContent.trim() || one.labels?.length || one.title)).length"""
        )
        assert nameless == 0
        background = page.ask("getComputedStyle(document.body).backgroundColor")
        assert sum(int(part) for part in background[4:-1].split(",")) < 120


def test_a_browser_that_cannot_draw_says_so(chromium, path):
    where = chromium.new_context(offline=True)
    page = where.new_page()
    page.add_init_script("HTMLCanvasElement.prototype.getContext = () => null")
    page.goto(path.as_uri())
    assert "no WebGL2" in page.get_by_role("alert").inner_text()
    where.close()
