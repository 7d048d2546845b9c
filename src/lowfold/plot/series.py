"""Several embeddings side by side: of several methods, at several times, along a path."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sklearn.utils.validation import check_is_fitted

from lowfold.arguments import telling
from lowfold.errors import DataError, ParameterError
from lowfold.plot.canvas import ARGUMENTS, panels
from lowfold.plot.colors import coloring
from lowfold.plot.points import is_shaded, legend_beside, point_size, scatter


@telling(ARGUMENTS)
def grid(maps: Mapping[str, Any], color: Any = None, *, columns: int = 4, axes: Any = None) -> list[Any]:
    """Draws embeddings, a mapping from titles (as `compare(...).maps`), side by side; returns the list of Axes."""
    if not maps:
        raise DataError("maps is empty: there is nothing to draw. Pass titles and embeddings.")
    drawn = panels(len(maps), columns, axes)
    for ax, (title, Y) in zip(drawn, maps.items(), strict=True):
        scatter(Y, color, ax=ax, title=title, legend=False, size=_small(len(Y)))
    _one_legend(drawn, maps, color)
    return drawn


@telling(ARGUMENTS)
def diffusion_times(
    model: Any, color: Any = None, *, times: Sequence[float] = (1, 2, 4, 8, 16, 32), columns: int = 3, axes: Any = None
) -> list[Any]:
    """Draws a fitted diffusion map, the model, at several times, each in its own scale; returns the list of Axes."""
    check_is_fitted(model)
    if not hasattr(model, "at_time"):
        raise ParameterError(f"{type(model).__name__} has no time. Pass a fitted DiffusionMap.")
    maps = {f"t = {t:g}": model.at_time(t).embedding_ for t in times}
    return grid(maps, color, columns=columns, axes=axes)


@telling(ARGUMENTS)
def homotopy(model: Any, color: Any = None, *, most: int = 8, columns: int = 4, axes: Any = None) -> list[Any]:
    """Draws a fitted elastic embedding, the model, at its strengths λ, up to `most`; returns the list of Axes."""
    check_is_fitted(model)
    path = getattr(model, "path_", None)
    if not path:
        raise ParameterError(f"{type(model).__name__} has no path. Pass a fitted ElasticEmbedding.")
    step = max(1, -(-(len(path) - 1) // max(1, most - 1)))
    chosen = [*path[:-1:step], path[-1]][-most:]
    return grid({f"λ = {strength:.3g}": Y for strength, Y in chosen}, color, columns=columns, axes=axes)


def _small(n: int) -> float:
    return max(1.0, 0.4 * point_size(n))


def _one_legend(drawn: list[Any], maps: Mapping[str, Any], color: Any) -> None:
    """For all panels, beside the last of the first row."""
    if color is None:
        return
    how = coloring(color, len(next(iter(maps.values()))))
    if how.names is not None:
        rows = {round(ax.get_position().y0, 3) for ax in drawn}
        first = [ax for ax in drawn if round(ax.get_position().y0, 3) == max(rows)]
        legend_beside(first[-1], how, shaded=is_shaded(len(next(iter(maps.values())))))
