"""The page in a browser: hover, click, lasso, colours, filters, search, files, keys."""

from __future__ import annotations

import csv
import io

import numpy as np
import pytest

import lowfold
from browsing import opened
from lowfold import explorer
from lowfold.plot.colors import as_rgb, look

N = 200
HOSTILE = '<img src=x onerror="window.hacked=1"></script><script>window.hacked=1</script>'
FIRST, SECOND = "map 0", "map 1"


@pytest.fixture(scope="module")
def data(digits):
    X, y = digits
    return X[:N], y[:N]


@pytest.fixture(scope="module")
def path(data, tmp_path_factory):
    """A page with two maps: one of places in rings, which do not overlap, and PCA."""
    X, y = data
    angle, radius = np.arange(N) * 2.4, np.sqrt(np.arange(N) + 0.5)
    rings = np.column_stack([radius * np.cos(angle), radius * np.sin(angle)])
    columns = {
        "height": np.arange(N) / N,
        HOSTILE: np.array([HOSTILE, "plain"])[np.arange(N) % 2],
        "name": [f"point {i}, {HOSTILE}" if i == 7 else f'"p" {i}' for i in range(N)],
    }
    made = explorer.make_scene(
        X, {"Rings": rings, HOSTILE: lowfold.PCA().fit(X)}, labels=y, columns=columns,
        contents=explorer.Contents(title=HOSTILE, k=8, features=None),
    )  # fmt: skip
    target = tmp_path_factory.mktemp("page") / "map.html"
    explorer.write_page(target, made)
    return target


@pytest.fixture
def page(chromium, path):
    with opened(chromium, path) as found:
        yield found


def around(page, panel, low, high):
    """A rectangle, in shares of a panel, in pixels of the page."""
    box = page.plot(panel).bounding_box()
    xs, ys = ([box[at] + share * box[size] for share in (low, high)] for at, size in (("x", "width"), ("y", "height")))
    return [(xs[0], ys[0]), (xs[1], ys[0]), (xs[1], ys[1]), (xs[0], ys[1])]


def inside(page, panel, path):
    xs, ys = zip(*path, strict=True)
    places = [page.place(panel, row) for row in range(N)]
    return [row for row, (x, y) in enumerate(places) if min(xs) < x < max(xs) and min(ys) < y < max(ys)]


def test_a_lasso_in_one_map_selects_in_all(page):
    path = around(page, FIRST, 0.3, 0.62)
    page.lasso(path)
    chosen = page.selection()
    assert chosen == inside(page, FIRST, path)
    assert 10 < len(chosen) < N / 2
    faint = {row: page.colour(*page.place(FIRST, row))[3] for row in range(N)}
    assert min(faint[row] for row in chosen) > 180
    assert max(faint[row] for row in range(N) if row not in chosen) < 90
    other = set(range(N)) - set(chosen)
    lonely = [row for row in other if page.colour(*page.place(SECOND, row))[3] < 90]
    assert len(lonely) > len(other) / 2, "most of the others are faint in the second map too"
    assert min(page.colour(*page.place(SECOND, row))[3] for row in chosen) > 180
    text = page.page.locator("#chosen").inner_text()
    assert f"{len(chosen)} of {N} points" in text


def test_a_second_lasso_adds_and_removes(page):
    first, second = around(page, FIRST, 0.3, 0.5), around(page, FIRST, 0.45, 0.7)
    one, two = set(inside(page, FIRST, first)), set(inside(page, FIRST, second))
    page.lasso(first)
    page.lasso(second, key="Control")
    assert page.selection() == sorted(one | two)
    page.lasso(second, key="Alt")
    assert page.selection() == sorted(one - two)


def test_clicks_select_a_point_add_one_and_clear(page):
    page.page.mouse.click(*page.place(FIRST, 30))
    assert page.selection() == [30]
    page.page.keyboard.down("Control")
    page.page.mouse.click(*page.place(FIRST, 90))
    assert page.selection() == [30, 90]
    page.page.mouse.click(*page.place(FIRST, 30))
    page.page.keyboard.up("Control")
    assert page.selection() == [90]
    box = page.plot(FIRST).bounding_box()
    page.page.mouse.click(box["x"] + 3, box["y"] + 3)
    assert page.selection() == []


def test_hovering_shows_values_and_true_lost_and_false_neighbours(page, data):
    X, y = data
    row = 57
    page.page.mouse.move(*page.place(SECOND, row))
    page.page.wait_for_timeout(100)
    shown = page.ask("lowfold.hovered.row")
    Y = lowfold.PCA().fit_transform(X)
    truth = set(lowfold.build_index(X).query(None, 8).indices[shown].tolist())
    near = set(np.argsort(np.linalg.norm(Y - Y[shown], axis=1), kind="stable")[1:9].tolist())
    text = page.page.locator("#card").inner_text()
    assert f"row {shown}" in text
    assert f"label\n{y[shown]}" in text
    kept, lost, false = len(truth & near), len(truth - near), len(near - truth)
    assert f"{kept} kept" in text
    assert f"{lost} lost" in text
    assert f"{false} false" in text
    page.page.mouse.move(2, 2)
    assert not page.page.locator("#card").is_visible()


def test_classes_have_the_colours_of_the_pictures_and_can_be_hidden(page, data):
    _, y = data
    for row in (3, 50, 120):
        expected = np.round(255 * as_rgb(look(int(y[row]), 10)[0]))
        np.testing.assert_allclose(page.colour(*page.place(FIRST, row))[:3], expected, atol=3)
    hidden = int(y[50])
    page.page.locator(f'#legend [data-class="{hidden}"]').click()
    page.drawn()
    seen = [page.colour(*page.place(FIRST, row))[3] > 0 for row in range(N)]
    assert seen == (y != hidden).tolist()
    page.page.mouse.move(*page.place(FIRST, 50))
    page.page.wait_for_timeout(100)
    assert page.ask("lowfold.hovered?.row") != 50
    page.page.locator(f'#legend [data-class="{hidden}"]').click(modifiers=["Alt"])
    page.drawn()
    assert [page.colour(*page.place(FIRST, row))[3] > 0 for row in range(N)] == (y == hidden).tolist()
    page.page.get_by_role("button", name="Show all").click()
    assert page.ask("lowfold.hiddenClasses.size") == 0


def test_numbers_are_coloured_on_a_scale(page):
    page.page.locator("#color").select_option(label="height")
    page.drawn()
    low, middle, high = (np.array(page.colour(*page.place(FIRST, row))[:3]) for row in (1, N // 2, N - 2))
    np.testing.assert_allclose(low, [0, 0x22, 0x4E], atol=8)
    np.testing.assert_allclose(middle, [0x7D, 0x7C, 0x78], atol=8)
    np.testing.assert_allclose(high, [0xFE, 0xE8, 0x38], atol=8)
    page.page.locator("#color").select_option("trust")
    page.drawn()
    assert "nearest each point keeps" in page.page.locator("#legend").inner_text()


def test_what_a_map_does_not_keep_can_be_faded(page):
    trust = np.array(page.ask("Array.from(lowfold.panel('map 0').trust)"))
    page.page.locator("summary", has_text="View").click()
    page.page.locator("#faint").check()
    page.drawn()
    opacity = np.array([page.colour(*page.place(FIRST, row))[3] for row in range(N)])
    full = opacity[trust.argmax()] / (0.06 + 0.94 * trust.max())
    np.testing.assert_allclose(opacity, full * (0.06 + 0.94 * trust), atol=4)
    assert trust.min() < trust.max()


def test_search_selects_by_name_category_and_number(page, data):
    _, y = data
    page.page.keyboard.press("/")
    page.page.keyboard.type("label 3")
    page.page.keyboard.press("Enter")
    assert page.selection() == np.flatnonzero(y == 3).tolist()
    page.page.locator("#search").fill('"p" 19')
    page.page.keyboard.press("ArrowDown")
    page.page.keyboard.press("Enter")
    assert page.selection() == [19]
    page.page.locator("#search").fill("#42")
    page.page.keyboard.press("Enter")
    assert page.selection() == [42]


def test_a_hostile_label_is_text_wherever_it_is_shown(page):
    page.page.locator("#color").select_option(label=HOSTILE)
    page.page.mouse.click(*page.place(FIRST, 7))
    page.page.locator("#search").fill("point 7")
    page.plot(SECOND).focus()
    page.page.wait_for_timeout(100)
    shown = page.page.locator("body").inner_text()
    assert shown.count("<img src=x onerror=") >= 5, "title, panel, legend, selection, matches or card"
    assert page.page.title().startswith("<img")
    assert page.ask("window.hacked") is None
    assert page.ask("document.images.length") == 0
    assert page.ask("document.scripts.length") == 1


def test_the_selection_is_saved_as_csv(page, data):
    _, y = data
    page.page.mouse.click(*page.place(FIRST, 7))
    with page.page.expect_download() as download:
        page.page.locator("#chosen").get_by_role("button", name="CSV").click()
    rows = list(csv.reader(io.StringIO(download.value.path().read_text(encoding="utf-8"))))
    assert rows[0] == ["row", "label", "height", HOSTILE, "name", "Rings x", "Rings y", f"{HOSTILE} x", f"{HOSTILE} y"]
    assert len(rows) == 2
    assert rows[1][:5] == ["7", str(y[7]), "0.035", "plain", f"point 7, {HOSTILE}"]
    expected = [np.sqrt(7.5) * np.cos(7 * 2.4), np.sqrt(7.5) * np.sin(7 * 2.4)]
    np.testing.assert_allclose([float(value) for value in rows[1][5:7]], expected, rtol=1e-6)


def test_the_view_is_saved_as_a_picture(page):
    with page.page.expect_download() as download:
        page.page.get_by_role("button", name="PNG").click()
    content = download.value.path().read_bytes()
    assert content.startswith(b"\x89PNG")
    size = [int.from_bytes(content[at : at + 4], "big") for at in (16, 20)]
    assert size == page.ask("[lowfold.gl.canvas.width, lowfold.gl.canvas.height]")
    assert len(content) > 10_000


def test_what_sets_a_selection_apart_is_named(page):
    page.ask("lowfold.select(Uint32Array.from({length: 40}, (_, at) => 160 + at))")
    text = page.page.locator("#chosen").inner_text()
    heights = np.arange(N) / N
    shift = (heights[160:].mean() - heights.mean()) / heights.std()
    assert "What sets it apart" in text
    assert f"+{shift:.1f} sd" in text


def test_everything_can_be_done_by_keys(page):
    plot = page.plot(FIRST)
    plot.focus()
    before = page.place(FIRST, 0)
    page.page.keyboard.press("ArrowLeft")
    page.page.keyboard.press("ArrowUp")
    after = page.place(FIRST, 0)
    assert (after[0] - before[0], after[1] - before[1]) == pytest.approx((40, 40), abs=0.01)
    page.page.keyboard.press("+")
    assert page.ask("lowfold.panel('map 0').view.zoom") == pytest.approx(1.3)
    page.page.keyboard.press("0")
    assert page.place(FIRST, 0) == pytest.approx(before, abs=0.01)
    page.page.keyboard.press("Enter")
    assert page.ask("lowfold.focused.id") == FIRST
    assert not page.plot(SECOND).is_visible()
    page.page.keyboard.press("Escape")
    assert page.plot(SECOND).is_visible()
    page.page.keyboard.press("n")
    page.page.keyboard.press("n")
    assert page.ask("lowfold.hovered.row") == 1
    assert page.page.locator("#announcer").inner_text().startswith("Row 1")
    page.page.keyboard.press("c")
    assert page.ask("lowfold.colorBy.name") == "height"
    page.page.keyboard.press("?")
    assert page.page.get_by_role("dialog").is_visible()
    page.page.keyboard.press("Escape")
    page.page.keyboard.press("d")
    assert page.ask("document.documentElement.dataset.theme") == "dark"
