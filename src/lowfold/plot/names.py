"""Names beside points, where they cover neither each other nor other points."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lowfold.errors import DataError
from lowfold.plot.canvas import plane

# Sides of a point, in the order in which they are tried: (direction, horizontal and vertical alignment).
SIDES: tuple[tuple[tuple[int, int], str, str], ...] = (
    ((1, 0), "left", "center"),
    ((-1, 0), "right", "center"),
    ((0, 1), "center", "bottom"),
    ((0, -1), "center", "top"),
    ((1, 1), "left", "bottom"),
    ((1, -1), "left", "top"),
    ((-1, 1), "right", "bottom"),
    ((-1, -1), "right", "top"),
)
ROOM = np.array([4.0, 0.0])  # pixels between a name and the next
POINT = 10.0  # how much worse it is to cover a point than a part of another name
WRONG = 200.0  # square pixels of names that one may rather cover than stand nearer to another point than to its own
DISTANCES = (5.0, 12.0, 20.0)  # typographical points; beyond the first, a line leads to the name


def names(ax: Any, Y: Any, texts: Any, *, size: float = 9.0) -> list[Any]:
    """Writes a name beside each point of an embedding Y that is drawn in `ax`; returns the texts of Matplotlib.

    For each in turn the first place is taken, of eight sides and three distances, at which it covers no other name, no
    point and not the frame; where there is none, the one that covers least. Sizes are those of the figure as it is now.
    size: of the letters, in points.
    """
    points = plane(Y)
    if len(texts) != len(points):
        raise DataError(f"{len(texts)} names were given for {len(points)} points. Pass one for each.")
    ax.figure.draw_without_rendering()  # places on the page are known after that
    dots = np.asarray(ax.transData.transform(points))
    dots = np.hstack([dots - 3, dots + 3])
    taken = np.empty((0, 4))
    drawn = []
    for number in np.argsort(_crowding(dots), kind="stable"):
        place = _Place(points[number], dots[number], np.delete(dots, number, axis=0), taken)
        text, box = _best(ax, place, str(texts[number]), size)
        drawn.append(text)
        taken = np.vstack([taken, box])
    return drawn


def _crowding(dots: NDArray[np.float64]) -> NDArray[np.float64]:
    """The distance to the nearest other point: the most crowded choose first."""
    D = np.linalg.norm(dots[:, None, :2] - dots[None, :, :2], axis=2)
    np.fill_diagonal(D, np.inf)
    return np.asarray(D.min(axis=1))


@dataclass(frozen=True, slots=True)
class _Place:
    """A point in the data, its box on the page and those of other points and of names: each (x0, y0, x1, y1)."""

    point: NDArray[np.float64]
    dot: NDArray[np.float64]
    others: NDArray[np.float64]
    names: NDArray[np.float64]

    def cost(self, box: NDArray[np.float64]) -> float:
        """What speaks against a name there: what it covers, and if it seems to belong to another point."""
        nearer = len(self.others) > 0 and _apart(box, self.others).min() < _apart(box, self.dot[None]).min()
        return POINT * _covered(box, self.others) + _covered(box, self.names) + WRONG * nearer


def _best(ax: Any, place: _Place, text: str, size: float) -> tuple[Any, NDArray[np.float64]]:
    frame = ax.get_window_extent()
    best = None
    for distance in DISTANCES:
        for direction, across, along in SIDES:
            line = {"arrowstyle": "-", "lw": 0.5, "color": "#888888"} if distance > DISTANCES[0] else None
            offset = distance * np.array(direction) / np.linalg.norm(direction)
            label = ax.annotate(
                text,
                place.point,
                offset,
                textcoords="offset points",
                ha=across,
                va=along,
                fontsize=size,
                arrowprops=line,
            )
            box = label.get_window_extent()
            corners = np.array([box.x0, box.y0, box.x1, box.y1])
            outside = max(frame.x0 - box.x0, box.x1 - frame.x1, frame.y0 - box.y0, box.y1 - frame.y1, 0.0)
            cost = place.cost(corners) + outside * (box.y1 - box.y0)
            if best is None or cost < best[0]:
                if best is not None:
                    best[1].remove()
                best = cost, label, corners
            else:
                label.remove()
            if cost == 0:
                return best[1], best[2]
    assert best is not None
    return best[1], best[2]


def _apart(box: NDArray[np.float64], others: NDArray[np.float64]) -> NDArray[np.float64]:
    """The distance from a box to each of others; 0 where they overlap."""
    gap = np.maximum(0, np.maximum(box[:2] - others[:, 2:], others[:, :2] - box[2:]))
    return np.asarray(np.linalg.norm(gap, axis=1))


def _covered(box: NDArray[np.float64], others: NDArray[np.float64]) -> float:
    """The area that a box has in common with others, each (x0, y0, x1, y1)."""
    low, high = np.maximum(box[:2] - ROOM, others[:, :2]), np.minimum(box[2:] + ROOM, others[:, 2:])
    return float(np.prod(np.maximum(high - low, 0), axis=1).sum())
