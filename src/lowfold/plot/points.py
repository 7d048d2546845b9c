"""An embedding as points, or as shades where there are too many of them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from lowfold.arguments import telling
from lowfold.errors import ParameterError
from lowfold.metrics import neighbor_recall, trustworthiness
from lowfold.plot.canvas import ARGUMENTS, BESIDE, as_map, axes_or_new, plane, pyplot
from lowfold.plot.colors import CONTINUOUS, PLAIN, Coloring, as_rgb, coloring, look, palette

SHADED_FROM = 100_000  # points: beyond, they would hide each other, and take long to draw
PIXELS = 500  # of a shaded picture, in each direction
TRUST = {"recall": neighbor_recall, "trustworthiness": trustworthiness}
LARGEST, SMALLEST = 60.0, 1.0  # area of a point, in square typographical points


@telling(ARGUMENTS)
def scatter(
    Y: Any, color: Any = None, *, ax: Any = None, title: str | None = None, legend: bool = True, size: Any = None
) -> Any:
    """Draws an embedding, coloured by labels or numbers; returns the Axes.

    Classes differ in colour, and in shape where there are more than ten; the legend stands beside the picture, not on
    it. size: area of a point; None: by their number. Beyond 100,000 points density is shaded instead: it has no shapes,
    and the legend names all classes of a colour together.
    """
    ax, points = axes_or_new(ax), plane(Y)
    how = coloring(color, len(points))
    if is_shaded(len(points)):
        drawn = _shade(ax, points, how)
    else:
        drawn = _draw(ax, points, how, point_size(len(points)) if size is None else size)
    as_map(ax, points, title)
    if legend and how.names is not None:
        legend_beside(ax, how, shaded=is_shaded(len(points)))
    elif legend and how.numbers is not None:
        bar = ax.figure.colorbar(drawn, ax=ax, fraction=0.046, pad=0.02)
        bar.outline.set_visible(False)
    return ax


@telling(ARGUMENTS)
def trust(X: Any, Y: Any, k: int = 15, *, of: str = "recall", ax: Any = None, title: str | None = None) -> Any:
    """Draws the embedding coloured by how far each point can be trusted; returns the Axes.

    of: "recall", the share of its k nearest that the map keeps, or "trustworthiness". Beyond 10,000 points a sample is
    drawn.
    """
    if not isinstance(of, str) or of not in TRUST:
        raise ParameterError(f"of={of!r} must be one of {', '.join(map(repr, TRUST))}. Use for example of='recall'.")
    score = TRUST[of](X, Y, k)
    order = np.argsort(-score.per_point, kind="stable")  # the doubtful ones on top
    shown = np.asarray(Y)[score.points[order]]
    name = f"{of} of {k} neighbours: {score}"
    return scatter(shown, score.per_point[order], ax=ax, title=name if title is None else title)


def point_size(n: int) -> float:
    """The area of a point with which n of them fill a picture without hiding each other."""
    return float(np.clip(20_000 / n, SMALLEST, LARGEST))


def is_shaded(n: int) -> bool:
    """Whether so many points are drawn as density."""
    return n > SHADED_FROM


def _draw(ax: Any, points: NDArray[np.float64], how: Coloring, size: Any) -> Any:
    style: dict[str, Any] = {"s": size, "linewidths": 0, "alpha": 0.85 if len(points) < 5000 else 0.6}
    if how.classes is None:
        color = PLAIN if how.numbers is None else how.numbers
        return ax.scatter(*points.T, c=color, cmap=None if how.numbers is None else CONTINUOUS, **style)
    drawn = []
    for number in range(len(how.names or ())):
        color, shape = look(number, len(how.names or ()))
        chosen = how.classes == number
        drawn.append(ax.scatter(*points[chosen].T, c=color, marker=shape, **style))
    return drawn


def _shade(ax: Any, points: NDArray[np.float64], how: Coloring) -> Any:
    """A picture of pixels: the mean colour of their points, the darker the more there are, on a logarithmic scale."""
    low, high = points.min(axis=0), points.max(axis=0)
    scale = (PIXELS - 1) / np.where(high > low, high - low, 1.0)
    column, row = ((points - low) * scale).astype(np.intp).T
    place = row * PIXELS + column
    counts = np.bincount(place, minlength=PIXELS**2)
    strength = np.log1p(counts) / np.log1p(counts.max())
    if how.numbers is not None:
        norm = pyplot().Normalize(*np.quantile(how.numbers, (0.01, 0.99)))
        means = np.bincount(place, how.numbers, PIXELS**2) / np.maximum(counts, 1)
        rgb = pyplot().get_cmap(CONTINUOUS)(norm(means))[:, :3]
        key = pyplot().matplotlib.cm.ScalarMappable(norm, CONTINUOUS)
    else:
        colors = np.array([as_rgb(colour) for colour in palette(len(how.names or ()))])
        classes = np.zeros(len(points), np.intp) if how.classes is None else how.classes % len(colors)
        rgb = np.column_stack([np.bincount(place, colors[classes, c], PIXELS**2) for c in range(3)])
        rgb = rgb / np.maximum(counts, 1)[:, None]
        key = None
    alpha = np.where(counts > 0, 0.25 + 0.75 * strength, 0.0)
    image = np.column_stack([rgb, alpha]).reshape(PIXELS, PIXELS, 4)
    ax.imshow(image, origin="lower", extent=(low[0], high[0], low[1], high[1]), interpolation="nearest", aspect="auto")
    return key


def legend_beside(ax: Any, how: Coloring, *, shaded: bool = False) -> None:
    """The names of the classes, beside the picture; in shades, which have no shapes, all those of a colour together."""
    names = how.names or []
    looks = [look(number, len(names)) for number in range(len(names))]
    if shaded:
        colors = list(dict.fromkeys(color for color, _ in looks))
        names = [", ".join(name for name, (color, _) in zip(names, looks, strict=True) if color == c) for c in colors]
        looks = [(color, "s") for color in colors]
    line = pyplot().matplotlib.lines.Line2D
    handles = [line([], [], linestyle="", marker=shape, color=color, markersize=6) for color, shape in looks]
    title = "classes of each colour" if shaded and len(names) < len(how.names or ()) else None
    ax.legend(handles, names, ncols=1 + (len(names) - 1) // 20, handletextpad=0.3, title=title, **BESIDE)
