"""The pictures one after another, and the page that shows them."""

from __future__ import annotations

import html
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from lowfold.backend import native, resources
from lowfold.demo import digits, distances, rolls
from lowfold.errors import FileError, ParameterError
from lowfold.explorer import write_page
from lowfold.model_file.container import write_whole

STYLE = """body{font:16px/1.5 system-ui,sans-serif;max-width:62rem;margin:2rem auto;padding:0 1rem;color:#222}
img{max-width:100%}table{border-collapse:collapse;font-size:14px}td,th{padding:.15rem .7rem;text-align:right}
td:first-child,th:first-child{text-align:left}tr:nth-child(even){background:#f4f4f4}figure{margin:2rem 0}
figcaption{color:#444}"""


@dataclass(frozen=True, slots=True)
class Section:
    """A picture with its title and the function that draws it: figure, sentence, and a table where there is one."""

    name: str
    title: str
    draw: Callable[[], Any]


EXPLORE = "explore"  # the page behind the sections
SECTIONS = (
    Section("spiral", "A spiral, straightened", rolls.spiral),
    Section("digits-images", "Digits 0 to 4 under a diffusion map", digits.drawn_digits),
    Section("digits-times", "The same map at later times", digits.times),
    Section("digits-pairs", "The same map, other pairs of coordinates", digits.pairs),
    Section("swiss-roll", "Every method on the swiss roll", rolls.every_method),
    Section("digits-methods", "Every method on the digits", digits.every_method),
    Section("digits-trust", "What can be trusted where", digits.trusted),
    Section("eurodist", "Europe from its roads", distances.cities),
    Section("disks", "Two disks and three distances", distances.disks),
    Section("cheeger", "The Cheeger sweep", distances.sweep),
    Section("homotopy", "Elastic embedding, from a point to a sheet", rolls.homotopy),
)

TITLES = {section.name: section.title for section in SECTIONS} | {EXPLORE: "The page to explore them"}

# Of those sections that take longer than the others, on two cores: what the time left is told by. The methods are
# compared on the digits by the first of those that show it.
SECONDS = {
    "digits-images": 0.7,
    "swiss-roll": 10.0,
    "digits-trust": 5.0,
    "eurodist": 0.6,
    "homotopy": 0.8,
    EXPLORE: 3.5,
}
OTHERS, COMPARING = 0.3, 13.0
COMPARED = ("digits-methods", "digits-trust", EXPLORE)


def planned(only: str | None = None) -> dict[str, float]:
    """Seconds of each section that is drawn, by its title, in their order."""
    chosen = [name for name in TITLES if only in (None, name)]
    first = next((name for name in chosen if name in COMPARED), None)
    return {TITLES[name]: SECONDS.get(name, OTHERS) + COMPARING * (name == first) for name in chosen}


def run(folder: Any, *, only: str | None = None, callback: Callable[[str], Any] | None = None) -> Path:
    """Draws every section into the folder; returns the path of index.html. callback: hears the title of each before."""
    from lowfold.plot.canvas import pyplot

    chosen = [section for section in SECTIONS if only in (None, section.name)]
    if not chosen and only != EXPLORE:
        names = ", ".join([*(section.name for section in SECTIONS), EXPLORE])
        raise ParameterError(f"There is no section {only!r}. Use one of {names}.")
    pyplot().switch_backend("agg")
    target = Path(folder)
    try:
        target.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FileError(f"{target} is no folder for pictures: {error.strerror}. Choose another with -o.") from error
    start, parts, tell = time.perf_counter(), [], callback or (lambda title: None)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what a method says about itself stands in its report
        for section in chosen:
            tell(section.title)
            parts.append(_drawn(section, target))
        if only in (None, EXPLORE):
            tell(TITLES[EXPLORE])
            parts.append(_explored(target))
    page = target / "index.html"
    content = _page(parts, time.perf_counter() - start).encode()
    write_whole(page, lambda file: _put(file, content))
    return page


def _drawn(section: Section, target: Path) -> str:
    """Writes the picture of a section; returns its part of the page."""
    from lowfold.plot.canvas import pyplot

    figure, sentence, table = section.draw()
    _save(figure, target / f"{section.name}.png")
    pyplot().close(figure)
    return _figure(section, sentence, table)


def _explored(target: Path) -> str:
    """Writes the page on which the maps can be explored; returns the paragraph that leads there."""
    write_page(target / f"{EXPLORE}.html", digits.scene())
    return (
        f'<h2 id="{EXPLORE}">The digits, to explore</h2><p><a href="{EXPLORE}.html">Every method on the digits</a>, '
        f"linked: hover, zoom, draw around points, change the time of the diffusion.</p>"
    )


def _save(figure: Any, path: Path) -> None:
    write_whole(path, lambda file: figure.savefig(file, format="png", dpi=90))


def _put(file: Any, content: bytes) -> None:
    file.write(content)


def _figure(section: Section, sentence: str, table: str | None) -> str:
    picture = f'<img src="{section.name}.png" alt="{html.escape(section.title)}">'
    picture = f'<a href="{section.name}.png" title="in full size">{picture}</a>'
    rows = "" if table is None else _table(table)
    return (
        f'<figure id="{section.name}"><h2>{html.escape(section.title)}</h2>{picture}'
        f"<figcaption>{html.escape(sentence)}</figcaption>{rows}</figure>"
    )


def _table(comparison: Any) -> str:
    rows = comparison.rows()
    names = [name for name in dict.fromkeys(key for row in rows for key in row) if name != "error"]
    head = "".join(f"<th>{html.escape(name)}</th>" for name in names)
    body = "".join("<tr>" + "".join(f"<td>{_cell(row.get(name))}</td>" for name in names) + "</tr>" for row in rows)
    return f"<table><tr>{head}</tr>{body}</table>"


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return "–" if value != value else f"{value:.3f}" if abs(value) < 1 else f"{value:.4g}"
    return html.escape(str("–" if value is None else value))


def _page(parts: list[str], seconds: float) -> str:
    machine = f"{resources.thread_count(None)} threads, {native.kernels.simd} kernels"
    head = (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Lowfold</title><style>{STYLE}</style>'
        f"</head><body><h1>Lowfold {version('lowfold')}</h1><p>Every figure below was computed by this installation "
        f"in {seconds:.0f} seconds ({machine}).</p>"
    )
    return head + "".join(parts) + "</body></html>\n"
