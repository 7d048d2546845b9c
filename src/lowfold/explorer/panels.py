"""A map as a panel of a scene: its coordinates, eigenvalues, parameters, quality, and how far each point is kept."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lowfold.comparison import JUDGING
from lowfold.estimator import Estimator, tell_stage
from lowfold.judging import Judging, judge
from lowfold.methods import METHODS
from lowfold.metrics.score import Score, read_embedding
from lowfold.neighbors.index import build_index
from lowfold.spectral.diffusion_map import DiffusionMap

MOST_COORDINATES = 10  # of a spectral method: what a reader picks pairs from
BLOCK = 65_536  # points whose neighbours are compared at once

Arrays = dict[str, NDArray[Any]]


@dataclass(frozen=True, slots=True)
class Truth:
    """What a map is judged by: the data, their labels, and the nearest neighbours (n, k) of each point in them."""

    X: Any
    labels: Any
    neighbors: NDArray[np.int32]
    judging: Judging


@dataclass(frozen=True, slots=True)
class Source:
    """Where a panel's map comes from: an estimator that has been fitted, or coordinates (n, c)."""

    title: str
    map: Any
    seconds: float | None = None
    scores: dict[str, Score] | None = None  # of its first two coordinates, where they are known


def make_panel(
    identity: str, source: Source, truth: Truth | None = None, rows: NDArray[np.int32] | None = None
) -> tuple[dict[str, Any], Arrays]:
    """(panel, arrays) of a map. truth: what it is judged by. rows: those of the scene that it holds, None for all."""
    model = source.map if isinstance(source.map, Estimator) else None
    coordinates, eigenvalues, time = _coordinates(source.map)
    shown = read_embedding(coordinates if model is None else model.embedding_)[:, :2]
    scores = source.scores
    if truth is not None:
        tell_stage(f"{JUDGING} {source.title}")
    if truth is not None and scores is None:
        scores = judge(truth.X, shown, truth.labels, truth.judging)
    trust = None if truth is None else _trust(truth, shown, scores or {})
    named = {"coordinates": _in_float32(coordinates), "eigenvalues": eigenvalues, "trust": trust, "rows": rows}
    arrays = {f"{identity} {name}": values for name, values in named.items() if values is not None}
    places = {name: f"{identity} {name}" if values is not None else None for name, values in named.items()}
    seconds = source.seconds if source.seconds is not None or model is None else sum(model.report_.seconds.values())
    panel = {
        "id": identity,
        "method": method_name(model),
        "title": source.title,
        "family": "given" if model is None else type(model).__module__.split(".")[1],
        "parameters": {} if model is None else parameter_texts(model),
        "time": time,
        "quality": {name: round(float(score), 6) for name, score in (scores or {}).items() if np.isfinite(score.value)},
        "seconds": seconds,
        **places,
    }
    return panel, arrays


def method_name(model: Estimator | None) -> str:
    """The name of a model's method in the registry; "given" for coordinates."""
    names = {cls: name for name, cls in METHODS.items()}
    return "given" if model is None else names.get(type(model), type(model).__name__)


def method_title(cls: type[Estimator]) -> str:
    """What a method is called, from the first words of its docstring."""
    return (cls.__doc__ or cls.__name__).split(":", 1)[0].strip()


def parameter_texts(model: Estimator) -> dict[str, str]:
    """The parameters of a model as text, without what is only about the machine."""
    return {
        name: value if isinstance(value, str) else repr(value)
        for name, value in model.get_params(deep=False).items()
        if name not in ("n_jobs", "memory_limit")
    }


def exploring(name: str, X: Any) -> dict[str, Any]:
    """Parameters with which a method is fitted for the page: as many coordinates as can be had without changing the
    first two."""
    n, d = np.shape(X)
    free = {"pca", "kernel_pca", "classical_mds", "isomap", "lle", "laplacian_eigenmaps", "diffusion_map"}
    if name not in free:
        return {}
    most = min(n - 2, d if name in ("pca", "classical_mds") else n)
    return {"n_components": max(1, min(MOST_COORDINATES, most))}


def _coordinates(given: Any) -> tuple[Any, NDArray[np.float32] | None, float | None]:
    """(coordinates, eigenvalues, time): those of diffusion maps at time 0, so that the page can choose the time."""
    if not isinstance(given, Estimator):
        return read_embedding(given), None, None
    values = getattr(given, "eigenvalues_", getattr(given, "explained_variance_", None))
    m = given.embedding_.shape[1]
    eigenvalues = None if values is None else np.asarray(values[:m], np.float32)
    if isinstance(given, DiffusionMap) and len(given._modes.volumes) == 1:
        return np.asarray(given.right_eigenvectors_)[:, :m], eigenvalues, float(given.t)
    return given.embedding_, eigenvalues, None


def _in_float32(Y: Any) -> NDArray[np.float32]:
    """Coordinates in single precision; of an extreme size, where that has no digits left, in units of the largest."""
    largest = float(np.abs(Y).max(initial=0.0))
    return (Y if largest == 0 or 1e-20 < largest < 1e20 else Y / largest).astype(np.float32)


def _trust(truth: Truth, Y: Any, scores: dict[str, Score]) -> NDArray[np.float32]:
    """The share of its nearest neighbours that each point keeps among as many nearest ones in the map."""
    recall = scores.get("recall")
    k = truth.neighbors.shape[1]
    if recall is not None and len(recall.points) == len(Y) and k == truth.judging.k:
        return recall.per_point.astype(np.float32)
    tell_stage("neighbours in the map")
    found = build_index(Y, n_jobs=truth.judging.n_jobs).query(None, k).indices
    kept = np.empty(len(Y), np.float32)
    for begin in range(0, len(Y), BLOCK):
        some = slice(begin, begin + BLOCK)
        common = (truth.neighbors[some, :, None] == found[some, None, :]).any(axis=2)
        kept[some] = common.mean(axis=1)
    return kept
