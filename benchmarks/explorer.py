"""How quickly does the explorer's page open and move, and what does it hold, from 1,797 points to a million?

In headless Chromium with software rendering: no graphics card takes part, so a frame costs far more than on a desktop.
"""

from __future__ import annotations

import os
import shutil
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

import data
import measure
from lowfold import PCA, datasets, explorer
from measure import Bar, Timed

FLAGS = ("--headless", "--no-sandbox", "--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader")
# Moves the first map to and fro for some seconds, a step in each frame, as a drag does; tells when frames were drawn,
# and of how many points. From inside the page: a mouse that is moved from outside would be slower than it.
DRAG = """async (seconds) => {
  const sent = [], { renderer } = lowfold, panel = lowfold.panels[0], real = renderer.noteFrame.bind(renderer);
  renderer.noteFrame = (begin, points) => { sent.push([begin, points]); real(begin, points); };
  const size = [panel.box.width, panel.box.height], start = performance.now();
  for (let now = start; now < start + 1000 * seconds; now = await new Promise(requestAnimationFrame)) {
    panel.view.pan(panel.bounds(), size, 6 * Math.sin(sent.length / 8), 4 * Math.cos(sent.length / 8));
    lowfold.moved(panel, true);
  }
  renderer.noteFrame = real;
  return sent;
}"""
SECONDS = 5


def main() -> None:
    chosen = measure.arguments(__doc__)
    from playwright.sync_api import sync_playwright

    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        for name, scene in _scenes(smoke=chosen.smoke):
            path = Path(folder) / f"{name}.html"
            written = measure.timed(lambda scene=scene, path=path: explorer.write_page(path, scene))
            runs = [_explored(playwright, path) for _ in range(chosen.repeat)]
            rows += _rows(name, written, path.stat().st_size, runs)
            measure.save(__file__, rows, smoke=chosen.smoke)


def _scenes(*, smoke: bool) -> Any:
    X, label = datasets.digits()
    yield "1,797 digits", explorer.make_scene(X, {"PCA": PCA(n_components=10).fit(X)}, labels=label, images=X)
    if not smoke:
        X = data.load("mnist")
        model = PCA(n_components=10).fit(X)
        held = explorer.Contents(judged=False)
        yield "70,000 digits", explorer.make_scene(X, model, labels=data.labels("mnist"), images=X, contents=held)
    X = data.load("flow_1m", smoke=smoke)
    model = PCA(n_components=10).fit(X)
    maps = {"PCA": model, "others": model.embedding_[:, 2:4]}
    labels = data.labels("flow_1m")[: len(X)]
    yield f"{len(X):,} cells", explorer.make_scene(X, maps, labels=labels)


def _explored(playwright: Any, path: Path) -> dict[str, float]:
    """Seconds until the page is ready and drawn, milliseconds of a frame of a drag, points in it, megabytes."""
    before = _processes()
    browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=list(FLAGS))
    page = browser.new_page(viewport={"width": 1400, "height": 880})
    begin = time.perf_counter()
    page.goto(path.as_uri())
    page.wait_for_selector("body[data-ready]", timeout=120_000)
    ready = time.perf_counter() - begin
    _rest(page)
    drawn = time.perf_counter() - begin
    sent = page.evaluate(DRAG, SECONDS)
    gaps = np.diff([at for at, _ in sent])
    memory = sum(_resident(process) for process in _processes() - before)
    heap = page.evaluate("performance.memory.usedJSHeapSize")
    browser.close()
    later = len(sent) // 3  # the pace is found by then
    return {
        "ready": ready,
        "drawn": drawn,
        "frame": float(np.median(gaps[later:])),
        "slowest": float(np.quantile(gaps[later:], 0.95)),
        "points": statistics.median(points for _, points in sent[later:]),
        "heap": heap / 1e6,
        "memory": memory / 1e6,
    }


def _rest(page: Any) -> None:
    while not page.evaluate("lowfold.renderer.isComplete"):
        page.wait_for_timeout(10)


def _rows(name: str, written: Timed, size: int, runs: list[dict[str, float]]) -> list[dict[str, Any]]:
    parts = {key: [run[key] for run in runs] for key in runs[0]}
    middle = {key: statistics.median(values) for key, values in parts.items()}
    loaded = {"drawn after s": middle["drawn"], "file MB": size / 1e6, "written in s": written.seconds}
    held = {"JavaScript MB": middle["heap"], "all processes MB": middle["memory"]}
    moved = {"95 % within ms": middle["slowest"], "points drawn": middle["points"]}
    return [
        measure.row(f"page, {name}: open from disk", _entry(parts["ready"], loaded | held), {}, Bar()),
        measure.row(f"page, {name}: frame while panning", _entry(parts["frame"], moved), {}, Bar(), unit="ms"),
    ]


def _entry(values: list[float], quality: dict[str, float]) -> dict[str, Any]:
    return measure.entry(values, [quality] * len(values))


def _processes() -> set[int]:
    """Chromium's processes."""
    found = set()
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if b"chromium" in (folder / "cmdline").read_bytes().split(b"\0")[0]:
                found.add(int(folder.name))
        except OSError:  # it has ended
            continue
    return found


def _resident(process: int) -> int:
    """Bytes that belong to a process alone, or its share of what it has in common with others."""
    try:
        text = Path(f"/proc/{process}/smaps_rollup").read_text(encoding="utf-8")
        return 1024 * next(int(line.split()[1]) for line in text.splitlines() if line.startswith("Pss:"))
    except (OSError, StopIteration):
        return 0


if __name__ == "__main__":
    os.environ.setdefault("PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD", "1")
    main()
