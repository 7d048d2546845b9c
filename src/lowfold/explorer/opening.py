"""`explore`: data and maps, however they are given, in a browser."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import issparse

from lowfold import inputs
from lowfold.comparison import Comparison, method_of
from lowfold.errors import DataError, ParameterError
from lowfold.estimator import Estimator
from lowfold.explorer.panels import exploring, method_title
from lowfold.explorer.scene import Contents, make_scene
from lowfold.explorer.server import Explorer, needed
from lowfold.methods import METHODS
from lowfold.neighbors.sharing import shared_neighbors
from lowfold.options import documented, option, validate

FIRST_MAPS = ("pca", "umap")  # what one sees before anything else: the plainest map, and one of the neighbourhoods

Fit = Callable[[Estimator, Any], Estimator]


@documented
@dataclass(frozen=True, slots=True)
class Serving:
    """How a page is served: `explore(X, serving=Serving(port=8000, browser=False))`."""

    port: int = option(0, low=0, high=65535, help="port on this machine; 0 takes one that is free")
    browser: bool = option(True, help="switch that opens the page in a browser")
    contents: Contents | None = option(
        None, help="contents of the page: its title, which neighbours count; None: usual"
    )


def explore(
    X: Any,
    maps: Any = FIRST_MAPS,
    *,
    labels: Any = None,
    columns: Any = None,
    images: Any = None,
    serving: Serving | None = None,
) -> Explorer:
    """Serves maps of X to a browser on this machine, where further methods can be run; returns the running server.

    maps: names of the registry, estimators, fitted or not, or coordinates (n, c); several in a sequence, by title in a
    mapping, or what `compare` returned. X may be None where all of them are there already: then nothing can be run.
    labels, columns, images: as in `make_scene`. serving: port, browser and contents, as a `Serving`.
    A script goes on at once: `explore(X).wait()` stays until Ctrl-C.
    """
    how = Serving() if serving is None else serving
    validate(how)
    needed("uvicorn", "explore")  # before any work is done
    needed("starlette", "explore")
    data = None if X is None else rows_of(X)
    shown = maps if isinstance(maps, Comparison) else fitted_maps(data, maps, _fit)
    scene = make_scene(data, shown, labels=labels, columns=columns, images=images, contents=how.contents)
    explorer = Explorer(scene, data, port=how.port)
    if how.browser:
        explorer.open()
    return explorer


def rows_of(X: Any) -> Any:
    """X as every fit takes it without a copy: sparse rows, or a C-ordered array of floats."""
    if issparse(X):
        return X.tocsr()
    values = np.asarray(X)
    if values.ndim != 2 or values.dtype.kind not in "fiub":
        raise DataError(
            f"X has type {values.dtype} and shape {values.shape}; a row of numbers for each point is needed. "
            f"Pass a two-dimensional array or a DataFrame of numbers."
        )
    return np.ascontiguousarray(values, np.float32 if np.result_type(values, np.float32) == np.float32 else np.float64)


def fitted_maps(X: Any, maps: Any, fit: Fit) -> dict[str, Any]:
    """Each map by its title; what is not fitted yet is fitted to X, all with one neighbour search."""
    with shared_neighbors():
        return {title: _fitted(X, given, fit) for title, given in _titled(maps).items()}


def data_of(model: Estimator) -> Any:
    """The rows that a model was fitted to, where it keeps them and they are rows; else None."""
    training = getattr(model, "_training", None)
    return None if training is None or inputs.is_pairwise(model) else training.values


def _fitted(X: Any, given: Any, fit: Fit) -> Any:
    if not isinstance(given, str | Estimator) or hasattr(given, "embedding_"):
        return given
    if X is None:
        raise ParameterError(f"There are no data to fit {given!r} to. Pass X, or a map that is there already.")
    model = method_of(given)
    if isinstance(given, str):
        model.set_params(**exploring(given, X))
    return fit(model, X)


def _fit(model: Estimator, X: Any) -> Estimator:
    return model.fit(X)


def _titled(maps: Any) -> dict[str, Any]:
    if isinstance(maps, Mapping):
        return {str(title): given for title, given in maps.items()}
    several = isinstance(maps, list | tuple) and not (len(maps) and np.ndim(maps[0]) == 1)
    titled: dict[str, Any] = {}
    for given in maps if several else [maps]:
        title = _title(given)
        number = 2
        while title in titled:
            title, number = f"{_title(given)} {number}", number + 1
        titled[title] = given
    return titled


def _title(given: Any) -> str:
    if isinstance(given, str) and given in METHODS:
        return method_title(METHODS[given])
    return method_title(type(given)) if isinstance(given, Estimator) else given if isinstance(given, str) else "Map"
