"""The explorer's page in headless Chromium: what the browser tests share."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

FLAGS = ("--headless", "--no-sandbox", "--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader")
PATIENCE = 60_000  # milliseconds: machines may be slow, and nothing here is timed


@contextmanager
def browser() -> Iterator[Any]:
    """Chromium; skips where there is none."""
    api = pytest.importorskip("playwright.sync_api", reason="browser tests need the package playwright")
    found = shutil.which("chromium") or shutil.which("google-chrome") or shutil.which("chromium-browser")
    if found is None:
        pytest.skip("browser tests need chromium")
    with api.sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=found, args=list(FLAGS))
        yield opened
        opened.close()


class Opened:
    """An open page; every request, error and broken rule of its policy is kept."""

    def __init__(self, page: Any) -> None:
        self.page = page
        self.requests: list[str] = []
        self.errors: list[str] = []
        page.on("request", lambda request: self.requests.append(request.url))
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("console", lambda message: self.errors.append(message.text) if message.type == "error" else None)

    def open(self, address: str) -> Opened:
        """Opens an address and waits until everything is drawn."""
        self.page.goto(address)
        self.page.wait_for_selector("body[data-ready]", timeout=PATIENCE)
        return self.drawn()

    def drawn(self) -> Opened:
        """Waits until everything that should be seen is drawn."""
        self.page.wait_for_timeout(50)
        for _ in range(PATIENCE // 20):
            if self.ask("lowfold.renderer.isComplete"):
                return self
            self.page.wait_for_timeout(20)
        raise AssertionError("the page never came to rest")

    def ask(self, expression: str, argument: Any = None) -> Any:
        """The value of an expression, or of a function of the argument, in the page."""
        return self.page.evaluate(expression, argument)

    def place(self, panel: str, row: int) -> tuple[float, float]:
        """Where a row is drawn, in pixels of the page."""
        x, y = self.ask(
            """([id, row]) => {
              const panel = lowfold.panel(id), [x, y] = panel.placeOf(panel.pointOf(row));
              const stage = document.getElementById("stage").getBoundingClientRect();
              return [stage.left + panel.box.left + x, stage.top + panel.box.top + y];
            }""",
            [panel, row],
        )
        return x, y

    def colour(self, x: float, y: float) -> list[int]:
        """Red, green, blue and opacity of what is drawn of the maps at a place of the page."""
        return self.ask(
            """([x, y]) => {
              const stage = document.getElementById("stage").getBoundingClientRect(), copy = new OffscreenCanvas(1, 1);
              const context = copy.getContext("2d"), ratio = lowfold.renderer.ratio;
              const at = [x - stage.left, y - stage.top].map((value) => -Math.floor(value * ratio));
              context.drawImage(lowfold.gl.canvas, ...at);
              return [...context.getImageData(0, 0, 1, 1).data];
            }""",
            [x, y],
        )

    def selection(self) -> list[int]:
        """The selected rows."""
        return self.ask("Array.from(lowfold.selection)")

    def lasso(self, path: list[tuple[float, float]], *, key: str | None = None) -> None:
        """Draws a line around points with Shift and the mouse, and another key."""
        keys = ["Shift", *([key] if key else [])]
        for name in keys:
            self.page.keyboard.down(name)
        self.page.mouse.move(*path[0])
        self.page.mouse.down()
        for point in [*path[1:], path[0]]:
            self.page.mouse.move(*point, steps=4)
        self.page.mouse.up()
        for name in keys:
            self.page.keyboard.up(name)
        self.drawn()

    def plot(self, panel: str) -> Any:
        """The element of a panel's map."""
        return self.page.locator(f'.plot[data-panel="{panel}"]')


@contextmanager
def opened(chromium: Any, path: Path, **context: Any) -> Iterator[Opened]:
    """A file from disk in a browser without a network; nothing may have gone wrong when it is closed."""
    settings = {"viewport": {"width": 1280, "height": 800}, "offline": True, "reduced_motion": "reduce"} | context
    where = chromium.new_context(**settings)
    page = Opened(where.new_page()).open(path.as_uri())
    yield page
    where.close()
    assert page.errors == []
    outside = [url for url in page.requests if not url.startswith(("blob:", "data:"))]
    assert outside == [path.as_uri()], "a page from disk asks for itself and for nothing else"
