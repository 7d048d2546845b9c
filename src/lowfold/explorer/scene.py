"""A scene: the maps of one data set, with what there is to know about its points, as the page shows it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from lowfold.comparison import Comparison
from lowfold.errors import DataError, ParameterError, warn
from lowfold.estimator import Estimator, tell_stage
from lowfold.explorer.columns import feature_columns, make_columns, named_columns
from lowfold.explorer.pack import pack
from lowfold.explorer.panels import Arrays, Source, Truth, make_panel, method_title
from lowfold.judging import Judging, neighbors_judged
from lowfold.methods import METHODS
from lowfold.neighbors.index import build_index
from lowfold.options import documented, option
from lowfold.tables import as_table, check_two_dimensional

SEARCHING = "neighbours of the data"  # what the stage is called
INK_SHARE = 0.1  # grey pictures whose median lies below this share of their range are ink on empty paper


@documented
@dataclass(frozen=True, slots=True)
class Contents:
    """What a scene holds beside its maps: `make_scene(X, maps, contents=Contents(title="Digits"))`."""

    title: str | None = option(None, help="what stands at the top of the page")
    k: int = option(15, low=1, help="number of neighbours that are shown and compared")
    metric: Any = option("euclidean", help="metric of the data that counts")
    judged: bool = option(True, help="whether maps are judged: quality numbers, trust at each point, true neighbours")
    features: Any = option("auto", help="names of the data's columns; None leaves them out; 'auto': x1, x2, ...")
    n_jobs: int | None = option(None, help="number of threads; None uses every core")


@dataclass(frozen=True, slots=True)
class Scene:
    """The header of a scene and its arrays by name; `truth` is what further maps of the same data are judged by."""

    header: dict[str, Any]
    arrays: Arrays
    truth: Truth | None = None

    @property
    def n(self) -> int:
        """The number of points."""
        return int(self.header["n"])

    def pack(self) -> bytes:
        """The scene as the page reads it."""
        return pack(self.header, self.arrays)


def make_scene(
    X: Any,
    maps: Any,
    *,
    labels: Any = None,
    columns: Any = None,
    images: Any = None,
    contents: Contents | None = None,
) -> Scene:
    """A scene of one data set.

    X: the data, or None where there are only maps, which are then not judged. maps: a fitted estimator or coordinates
    (n, c), several of them in a sequence or by title in a mapping, or what `lowfold.compare` returned. labels: one for
    each point. columns: a mapping or DataFrame of further values for each point. images: (n, height, width),
    (n, height, width, 3), or (n, pixels) if they are square. contents: what else there is, as `Contents`.
    """
    how = Contents() if contents is None else contents
    _check(how)
    sources = sources_of(maps)
    if X is not None:
        X = as_table(X)
        check_two_dimensional(X)
    n = _count(X, sources)
    truth = _truth(X, labels, how, n)
    header: dict[str, Any] = {"kind": "scene", "title": how.title or "", "n": n, "panels": []}
    arrays: Arrays = {}
    for identity, source in _identified(sources).items():
        panel, own = make_panel(identity, source, truth)
        header["panels"].append(panel)
        arrays |= own
    values = named_columns(labels, columns)
    if how.features is not None and images is None:
        names = None if isinstance(how.features, str) else how.features
        values |= {name: column for name, column in feature_columns(X, names).items() if name not in values}
    header["columns"], stored = make_columns(values, n)
    arrays |= stored
    header["neighbors"] = None if truth is None else "neighbors"
    if truth is not None:
        arrays["neighbors"] = truth.neighbors
    header["images"] = None
    if images is not None:
        header["images"], arrays["pixels"] = _images(images, n)
    return Scene(header, arrays, truth)


def contents_for(model: Estimator, X: Any, *, title: str, features: Any = "auto") -> Contents:
    """Contents that judge a map by the metric that its model was fitted with; not at all where that leaves no ranks.

    X: the data of the fit. title, features: as in `Contents`.
    """
    metric = getattr(model, "metric", "euclidean")
    kernel = getattr(model, "kernel", None)
    graph = issparse(X) and metric == "precomputed"
    whole = issparse(X) or (np.ndim(X) == 2 and bool(np.isfinite(np.asarray(X)).all()))
    judged = whole and not graph and metric != "affinity" and kernel != "precomputed"
    return Contents(title=title, metric=metric, judged=judged, features="auto" if features is None else features)


def _check(how: Contents) -> None:
    if isinstance(how.k, bool) or not isinstance(how.k, int | np.integer) or how.k < 1:
        raise ParameterError(f"k={how.k!r} is no number of neighbours: it must be an int of at least 1. Use k=15.")
    if not isinstance(how.title, str | None):
        raise ParameterError(f"title={how.title!r} is no title: it must be a str or None. Use str(title).")


def sources_of(maps: Any) -> list[Source]:
    """Maps, however they were given, as a list."""
    if isinstance(maps, Comparison):
        fitted = [entry for entry in maps.entries if entry.model is not None]
        return [
            Source(
                _title(entry.model) if entry.name in METHODS else entry.name,
                entry.model,
                entry.seconds,
                entry.scores if entry.scores and _is_plane(entry.model) else None,
            )
            for entry in fitted
        ]
    if isinstance(maps, Mapping):
        return [Source(str(title), given) for title, given in maps.items()]
    several = isinstance(maps, list | tuple) and not (len(maps) and np.ndim(maps[0]) == 1)
    return [Source(_title(given), given) for given in (maps if several else [maps])]


def _is_plane(model: Estimator | None) -> bool:
    return model is not None and model.embedding_.shape[1] <= 2


def _title(given: Any) -> str:
    return method_title(type(given)) if isinstance(given, Estimator) else "Map"


def _identified(sources: list[Source]) -> dict[str, Source]:
    """Each map under a name of its own."""
    return {f"map {number}": source for number, source in enumerate(sources)}


def _count(X: Any, sources: list[Source]) -> int:
    if not sources:
        raise ParameterError("maps is empty. Pass at least one fitted estimator or array of coordinates.")
    sizes = [_size(source) for source in sources]
    n = sizes[0] if X is None else int(np.shape(X)[0])
    wrong = [at for at, size in enumerate(sizes) if size != n]
    if wrong:
        raise DataError(
            f"Map {sources[wrong[0]].title!r} has {sizes[wrong[0]]} points, but "
            f"{'the first has' if X is None else 'the data have'} {n}. Pass maps of the same rows in the same order."
        )
    return n


def _size(source: Source) -> int:
    """The number of points of a map."""
    if isinstance(source.map, Estimator):
        if not hasattr(source.map, "embedding_"):
            raise DataError(f"{type(source.map).__name__} has not been fitted. Call fit(X) first.")
        return len(source.map.embedding_)
    if np.ndim(source.map) != 2:
        raise DataError(
            f"Map {source.title!r} is a {type(source.map).__name__} of {np.ndim(source.map)} dimensions, neither a "
            f"fitted estimator nor coordinates (n, c). Pass one of these."
        )
    return len(source.map)


def _truth(X: Any, labels: Any, how: Contents, n: int) -> Truth | None:
    if X is None or not how.judged:
        return None
    if n < 4:
        warn(f"{n} points are too few to judge a map by its neighbours: no quality is shown.")
        return None
    k = neighbors_judged(how.k, n)
    tell_stage(SEARCHING)
    found = build_index(X, metric=how.metric, n_jobs=how.n_jobs).query(None, k)
    return Truth(X, labels, found.indices, Judging(k=k, metric=how.metric, n_jobs=how.n_jobs))


def _images(images: Any, n: int) -> tuple[dict[str, Any], NDArray[np.uint8]]:
    stack = np.asarray(images)
    if stack.ndim == 2:
        edge = round(float(np.sqrt(stack.shape[1])))
        stack = stack.reshape(len(stack), edge, edge) if edge * edge == stack.shape[1] else stack
    colour = stack.ndim == 4 and stack.shape[3] == 3
    if len(stack) != n or not (stack.ndim == 3 or colour) or stack.dtype.kind not in "fiub" or not stack.size:
        raise DataError(
            f"images has type {stack.dtype} and shape {np.shape(images)}; {n} pictures (n, height, width), "
            f"(n, height, width, 3) or rows of square ones are needed. Reshape them."
        )
    if stack.dtype != np.uint8:
        low, high = float(stack.min()), float(stack.max())
        if not np.isfinite(low) or not np.isfinite(high):
            raise DataError("images holds values that are missing or infinite. Fill them, or leave those pictures out.")
        stack = ((stack - low) * (255 / (high - low if high > low else 1.0))).round().astype(np.uint8)
    ink = not colour and float(np.median(stack[:: max(1, n // 1000)])) < 255 * INK_SHARE
    height, width = stack.shape[1:3]
    header = {"width": width, "height": height, "channels": 3 if colour else 1, "pixels": "pixels", "ink": ink}
    return header, np.ascontiguousarray(stack)
