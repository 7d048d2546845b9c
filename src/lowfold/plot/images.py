"""The data themselves, drawn at their places in the embedding."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from lowfold.arguments import telling
from lowfold.errors import DataError
from lowfold.plot.canvas import ARGUMENTS, as_map, axes_or_new, plane, pyplot
from lowfold.plot.colors import coloring, look


@telling(ARGUMENTS)
def images(
    Y: Any, pictures: Any, color: Any = None, *, across: float = 22.0, ax: Any = None, title: str | None = None
) -> Any:
    """Draws pictures (n, height, width), or (n, pixels) if they are square, at their places; returns the Axes.

    Of pictures that would overlap, the first is drawn. across: how many fit side by side. color: labels for frames.
    """
    ax, points = axes_or_new(ax, (8.0, 8.0)), plane(Y)
    stack = _stack(pictures, len(points))
    how = coloring(color, len(points))
    as_map(ax, points, title, equal=False)
    height, width = stack.shape[1:3]
    side = np.ptp(points, axis=0) / across
    side = np.where(side > 0, side, 1.0) * np.array([1.0, height / width])
    ax.scatter(*points.T, s=2, c="#cccccc", linewidths=0, zorder=0)
    white, black = np.quantile(stack, 0.0), np.quantile(stack, 1.0)
    chosen = without_overlap(points, side)
    for i in chosen:
        (x, y), (w, h) = points[i], side / 2 * 0.94
        box = (x - w, x + w, y - h, y + h)
        ax.imshow(stack[i], extent=box, cmap="gray_r", vmin=white, vmax=black, aspect="auto", zorder=1)
        if how.classes is not None:
            edge = look(int(how.classes[i]), len(how.names or ()))[0]
            frame = pyplot().Rectangle((x - w, y - h), 2 * w, 2 * h, fill=False, ec=edge, lw=0.8)
            ax.add_patch(frame).set_zorder(2)
    room = side / 2
    ax.set_xlim(points[:, 0].min() - room[0], points[:, 0].max() + room[0])
    ax.set_ylim(points[:, 1].min() - room[1], points[:, 1].max() + room[1])
    return ax


def without_overlap(points: NDArray[np.float64], side: NDArray[np.float64]) -> list[int]:
    """Points, in their order, around which boxes of these sides do not overlap."""
    cells: dict[tuple[int, int], list[int]] = {}
    kept = []
    for i, (column, row) in enumerate(np.floor(points / side).astype(int).tolist()):
        near = [j for a in (-1, 0, 1) for b in (-1, 0, 1) for j in cells.get((column + a, row + b), ())]
        if all((np.abs(points[i] - points[j]) >= side).any() for j in near):
            cells.setdefault((column, row), []).append(i)
            kept.append(i)
    return kept


def _stack(pictures: Any, n: int) -> NDArray[Any]:
    stack = np.asarray(pictures)
    if stack.ndim == 2:
        edge = round(float(np.sqrt(stack.shape[1])))
        if edge * edge == stack.shape[1]:
            stack = stack.reshape(len(stack), edge, edge)
    if stack.ndim != 3 or len(stack) != n:
        raise DataError(
            f"pictures has shape {np.shape(pictures)}; {n} pictures (n, height, width) are needed, or rows of square "
            f"ones. Reshape them."
        )
    return stack
