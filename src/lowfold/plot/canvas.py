"""Axes to draw into, and the few habits that all pictures share."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lowfold.errors import DataError, LowfoldError
from lowfold.inputs import read_numbers

# Of every function that draws.
ARGUMENTS = {
    "X": "the data",
    "Y": "the embedding, of which the first two coordinates are drawn",
    "color": "labels or numbers, one for each point; None: all alike",
    "metric": "how distances in X are measured, by name or as a function",
    "columns": "how many pictures stand in a row of new Axes",
    "axes": "as many Axes as there are pictures; None: new ones",
    "ax": "Axes; None: new ones",
    "title": "what stands above; None: the function's own, or nothing",
}

PANEL = 3.2  # inches
BESIDE: dict[str, Any] = {"loc": "center left", "bbox_to_anchor": (1.0, 0.5), "frameon": False}  # of a legend


def pyplot() -> Any:
    """Matplotlib's pyplot; asked for by name where it is missing."""
    try:
        return importlib.import_module("matplotlib.pyplot")
    except ImportError as error:
        raise LowfoldError(
            'Pictures need Matplotlib, which is not installed. Use pip install "lowfold[plot]".'
        ) from error


def axes_or_new(ax: Any, size: tuple[float, float] = (6.0, 5.0)) -> Any:
    """The Axes given, or new ones."""
    return ax if ax is not None else pyplot().subplots(figsize=size, layout="constrained")[1]


def panels(count: int, columns: int, axes: Any = None) -> list[Any]:
    """So many Axes in rows of `columns`, those given or new ones; left-over ones are hidden."""
    if axes is None:
        columns = max(1, min(columns, count))
        rows = -(-count // columns)
        size = (PANEL * columns, PANEL * rows)
        axes = pyplot().subplots(rows, columns, figsize=size, layout="constrained", squeeze=False)[1]
    flat = list(np.ravel(axes))
    if len(flat) < count:
        raise DataError(f"{len(flat)} axes were given for {count} pictures. Pass as many, or None.")
    for spare in flat[count:]:
        spare.set_visible(False)
    return flat[:count]


def plane(Y: Any) -> NDArray[np.float64]:
    """The first two coordinates; a single one gets a second that spreads points a little, the same each time."""
    values = read_numbers(Y, "Y").astype(np.float64)
    if not np.isfinite(values).all() or not values.size:
        raise DataError(f"Y has shape {values.shape}; a picture needs finite coordinates (n, d). Pass an embedding.")
    length = float(np.ptp(values[:, :2], axis=0).max())
    if length > 0 and not 1e-6 < length < 1e9:
        values = values / length  # where Matplotlib would see a single point, or run out of digits
    if values.shape[1] >= 2:
        return values[:, :2]
    jitter = np.random.default_rng(0).uniform(-0.5, 0.5, len(values))
    return np.column_stack([values[:, 0], 0.1 * np.ptp(values) * jitter])


def as_map(ax: Any, Y: NDArray[np.float64], title: str | None, *, equal: bool = True) -> None:
    """No ticks, as coordinates of a map mean nothing by themselves; room around the points."""
    ax.set_xticks([])
    ax.set_yticks([])
    ax.use_sticky_edges = False
    ax.margins(0.04)
    # A map that is much longer than wide would become a line.
    lengths = np.ptp(Y, axis=0)
    if equal and lengths.min() > 0.05 * lengths.max():
        ax.set_aspect("equal", adjustable="datalim")
    if title is not None:
        ax.set_title(title)
