"""What must hold between the parts of a model before the kernels, which trust them, may see it.

Everywhere: floating numbers are in a range that distances can be computed in, or are results; sparse matrices point at
rows they have; whole numbers, unless a class is named below, are numbers of training points.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from lowfold.errors import FileError, LowfoldError
from lowfold.fitted import as_fitted
from lowfold.model_file.compressed import fault_of
from lowfold.model_file.state import state_of
from lowfold.neighbors.engines import Cells
from lowfold.neighbors.whitening import LEARNING_METRICS
from lowfold.options import parameters, validate

MOST_THREADS = 1024
# Whole numbers that are no numbers of training points: how large they may be beside n. (A UMAP once stored sizes.)
LARGER = {("TrainingRows", "_prints"): 2**64, ("FuzzyGraph", "sizes"): 1, ("DistinctIndex", "_sizes"): 1}


def check_parts(name: str, state: dict[str, Any]) -> None:
    """Raises FileError unless the fields of an object of the class `name` fit together; called before it is made."""
    check = CHECKS.get(name)
    if check is not None and not check(state):
        raise FileError(f"The model file holds a {name} whose parts do not fit together. Write it again with save.")
    if not 1 <= int(state.get("_threads", 1)) <= MOST_THREADS:
        raise FileError(f"The model file asks for {state['_threads']} threads, which cannot be.")


def check_model(model: Any) -> None:
    """Raises FileError unless the whole model is one that can be used."""
    try:
        fitted_with = model.__dict__.get("_fitted_with", {})
        if not set(fitted_with) <= {parameter.name for parameter in parameters(type(model))}:
            raise FileError(
                f"The {type(model).__name__} in the model file was fitted with parameters it does not have."
            )
        validate(as_fitted(model))
        check_is_fitted(model)
    except (NotFittedError, LowfoldError, AttributeError) as error:
        raise FileError(f"The model file holds no fitted {type(model).__name__}: {error}") from error
    n = _points(model)
    for name, field, value in _parts(model, set()):
        if isinstance(value, np.ndarray) and value.dtype.kind in "iu":
            end = n + LARGER.get((name, field), 0)
            if value.size and not (int(value.min()) >= 0 and int(value.max()) < end):
                raise FileError(f"{name}.{field} in the model file points outside of its {n} points.")
        elif isinstance(value, np.ndarray) and value.dtype.kind == "O":
            if (field, value.shape) != ("feature_names_in_", (getattr(model, "n_features_in_", 0),)):
                raise FileError(f"{name}.{field} in the model file holds names where none are, or too many or few.")
        elif issparse(value) and max(value.shape) > max(n, getattr(model, "n_features_in_", 0)):
            raise FileError(f"{name}.{field} in the model file is larger than its {n} points.")


def _points(model: Any) -> int:
    if hasattr(model, "embedding_"):
        Y = model.embedding_
        if not _is_floats(Y, 2) or not np.isfinite(Y).all() or min(Y.shape) < 1:
            raise FileError("The embedding in the model file is no matrix of finite numbers.")
        return len(Y)
    if hasattr(model, "map_"):
        return _points(model.map_)
    return int(model.index_.n)


def _parts(value: Any, seen: set[int]) -> Iterator[tuple[str, str, Any]]:
    """(class, field, array or matrix) of all that an object consists of."""
    if id(value) in seen:
        return
    seen.add(id(value))
    for field, part in state_of(value).items():
        yield from _inside(type(value).__name__, field, part, seen)


def _inside(name: str, field: str, part: Any, seen: set[int]) -> Iterator[tuple[str, str, Any]]:
    if isinstance(part, np.ndarray) or issparse(part):
        yield name, field, part
    elif isinstance(part, tuple) and _looks_sparse(part):
        if not _is_sparse_triple(part):
            raise FileError(f"{name}.{field} in the model file is a sparse matrix that points outside of itself.")
        yield name, field, part
    elif isinstance(part, list | tuple):
        for item in part:
            yield from _inside(name, field, item, seen)
    elif isinstance(part, dict):
        for item in part.values():
            yield from _inside(name, field, item, seen)
    elif type(part).__module__.startswith("lowfold."):
        yield from _parts(part, seen)


def _looks_sparse(part: tuple[Any, ...]) -> bool:
    return (
        len(part) == 3
        and all(isinstance(array, np.ndarray) and array.ndim == 1 for array in part)
        and part[0].dtype == np.int64
        and part[1].dtype == np.int32
    )


def _is_sparse_triple(part: Any) -> bool:
    """A square matrix by rows: begin, columns, values."""
    if not isinstance(part, tuple) or not _looks_sparse(part):
        return False
    begin, columns, values = part
    rows = len(begin) - 1
    return rows >= 0 and fault_of((values, columns, begin), (rows, rows)) is None


def _is_floats(array: Any, dimensions: int) -> bool:
    return isinstance(array, np.ndarray) and array.dtype in (np.float32, np.float64) and array.ndim == dimensions


def _is_order(array: Any, n: int) -> bool:
    whole = isinstance(array, np.ndarray) and array.dtype.kind in "iu" and array.shape == (n,)
    return whole and bool((np.sort(array) == np.arange(n)).all())


def _rows(values: Any) -> int:
    return int(values.shape[0])


def _spatial(s: dict[str, Any]) -> bool:
    X = s["_X"]
    return _is_floats(X, 2) and min(X.shape) >= 1 and s["n"] == len(X) and bool(np.isfinite(X).all()) and _tame(X)


def _reduced(s: dict[str, Any]) -> bool:
    X, mean, V = s["_X"], s["_space"].mean, s["_space"].basis
    fits = _spatial(s) and _is_floats(mean, 1) and _is_floats(V, 2) and mean.shape == X.shape[1:] == V.shape[:1]
    if not fits or V.dtype != X.dtype or not 1 <= V.shape[1] <= V.shape[0]:
        return False
    orthonormal = np.isfinite(mean).all() and np.abs(V.T @ V - np.eye(V.shape[1])).max() < 1e-3
    plans = [(k, plan) for k, plan in s["_plans"].items() if plan is not None]
    numbers = all(type(k) is type(plan.kept) is int and 1 <= k <= plan.kept < s["n"] for k, plan in plans)
    finite = all(np.isfinite([plan.inner.alpha, plan.inner.caution, plan.recall]).all() for _, plan in plans)
    engine = isinstance(s["_engine"], Cells) and type(s["_seed"]) is int
    return bool(orthonormal and numbers and finite and engine)


def _tame(X: Any) -> bool:
    return bool(np.abs(X).max(initial=0) <= (1e17 if X.dtype == np.float32 else 1e140))


def _neighbors(s: dict[str, Any]) -> bool:
    near = s["indices"]
    shape = near.ndim == 2 and near.shape == s["distances"].shape and near.dtype == np.int32
    return shape and (not near.size or (near.min() >= 0 and near.max() < s["n_points"]))


def _training(s: dict[str, Any]) -> bool:
    n = _rows(s["_values"])
    return s["_prints"].shape == (n,) and s["_prints"].dtype == np.uint64 and _is_order(s["_order"], n)


def _own_places(s: dict[str, Any]) -> bool:
    first, n = s["_first"], _rows(s["_rows"].values)
    whole = isinstance(first, np.ndarray) and first.dtype.kind == "i" and first.shape == (n,)
    return whole and bool((first >= 0).all() and (first <= np.arange(n)).all())


def _distinct(s: dict[str, Any]) -> bool:
    """Groups of equal rows, their members, sizes and beginnings, all whole numbers."""
    parts = [s[name] for name in ("_group", "_members", "_sizes", "_begin")]
    if not all(isinstance(part, np.ndarray) and part.ndim == 1 and part.dtype.kind == "i" for part in parts):
        return False
    group, members, sizes, begin = parts
    count = s["_distinct"].n
    if len(group) != s["n"] or len(sizes) != count or group.min() < 0 or group.max() >= count:
        return False
    right = np.array_equal(np.bincount(group), sizes) and np.array_equal(np.cumsum(sizes) - sizes, begin)
    return right and np.array_equal(np.argsort(group, kind="stable"), members)


def _directions(s: dict[str, Any]) -> bool:
    """Each row has a direction or has none, and those that have are searched."""
    sorts = s["_directed"], s["_undirected"]
    if not all(isinstance(rows, np.ndarray) and rows.ndim == 1 and rows.dtype == np.int32 for rows in sorts):
        return False
    ascend = all((np.diff(rows) > 0).all() for rows in sorts)
    searched = 0 if s["_index"] is None else s["_index"].n
    if not all(issparse(s[name]) or _is_floats(s[name], 2) for name in ("_X", "_units")):
        return False
    same = s["_X"].shape[0] == s["n"] and searched == s["_units"].shape[0] == len(s["_directed"])
    return bool(same and ascend and _is_order(np.concatenate(sorts), s["n"]))


def _whitened(s: dict[str, Any]) -> bool:
    rows = all(_is_floats(s[name], 2) and len(s[name]) == s["n"] for name in ("_X", "_rows"))
    return rows and s["_index"].n == s["n"] and s["_settings"].metric in LEARNING_METRICS


def _whitening(s: dict[str, Any]) -> bool:
    """A number for each column, and a row of the turn if there is one; the kernel refuses what does not fit."""
    turn, columns = s["_turn"], len(s["_mean"])
    vectors = all(_is_floats(s[name], 1) and len(s[name]) == columns for name in ("_mean", "_scales"))
    return vectors and (turn is None or (_is_floats(turn, 2) and len(turn) == columns))


def _sparse_rows(s: dict[str, Any]) -> bool:
    """The bound on roundings holds for the rows; an index that was stored long ago has no type of distances."""
    X, known = s["_X"], s.get("_dtype", np.dtype(float)) in (np.float32, np.float64)
    right = known and issparse(X) and X.shape[0] == s["n"]
    return bool(right and s["_most_entries"] >= np.diff(X.indptr).max(initial=0))


def _descent(s: dict[str, Any]) -> bool:
    Y, n = s["Y"], len(s["problem"].P[0]) - 1
    same = all(_is_floats(s[name], 2) and s[name].shape == Y.shape for name in ("Y", "_velocity", "_best"))
    vectors = all(s[name] is None or s[name].shape[:1] == (n,) for name in ("_degrees", "_ease", "_gains", "_ones"))
    return same and len(Y) == n and Y.dtype == np.float32 and vectors


def _problem(s: dict[str, Any]) -> bool:
    masses = s["masses"]
    return _is_sparse_triple(s["P"]) and (masses is None or masses.shape == (len(s["P"][0]) - 1,))


def _walk(s: dict[str, Any]) -> bool:
    n = len(s["scale"])
    vectors = all(_is_floats(s[name], 1) and len(s[name]) == n for name in ("scale", "degrees", "densities"))
    return vectors and s["W"].shape == (n, n)


def _affinities(s: dict[str, Any]) -> bool:
    return _is_order(s["order"], len(s["order"]))


def _fuzzy_graph(s: dict[str, Any]) -> bool:
    if not _is_sparse_triple(s["entries"]):
        return False
    outside, m = s.get("outside"), len(s["entries"][0]) - 1
    same = _is_order(s["order"], m) and ("index" not in s or s["index"].n == m)
    return same and (outside is None or len(outside.members) == m)


def _remainder(s: dict[str, Any]) -> bool:
    """Each point is a member or not, and those that are not have neighbours among the members."""
    points, members, near, degrees = (s[name] for name in ("points", "members", "neighbors", "degrees"))
    sorts = points, members
    if not all(isinstance(rows, np.ndarray) and rows.ndim == 1 and rows.dtype.kind == "i" for rows in sorts):
        return False
    if not _is_order(np.concatenate(sorts), len(points) + len(members)) or not _is_floats(degrees, 2):
        return False
    whole = isinstance(near, np.ndarray) and near.dtype == np.int32 and near.shape == degrees.shape
    return bool(whole and len(near) == len(points) and near.min(initial=0) >= 0 and near.max(initial=0) < len(members))


def _layout(s: dict[str, Any]) -> bool:
    n = len(s["Y"])
    same = _is_sparse_triple(s["_entries"]) and _is_floats(s["Y"], 2) and n == len(s["_entries"][0]) - 1
    return same and _is_order(s["_order"], n)


def _geodesic(s: dict[str, Any]) -> bool:
    return _is_sparse_triple(s["_graph"]) and s["n"] == len(s["_graph"][0]) - 1 and _is_order(s["rank"], s["n"])


def _path_state(s: dict[str, Any]) -> bool:
    ends, n = s["ends"], s["graph"].n
    inside = ends is None or (ends.ndim == 1 and len(ends) > 0 and ends.min() >= 0 and ends.max() < n)
    return bool(inside and len(s["rows"].means) == (n if ends is None else len(ends)))


def _centred_rows(s: dict[str, Any]) -> bool:
    return _is_floats(s["means"], 1) and _is_floats(s["basis"], 2) and len(s["means"]) == len(s["basis"])


CHECKS = {
    **dict.fromkeys(("SpatialIndex", "GroupedIndex"), _spatial),
    "ReducedIndex": _reduced,
    "Neighbors": _neighbors,
    "TrainingRows": _training,
    "_OwnPlaces": _own_places,
    "DistinctIndex": _distinct,
    "DirectionIndex": _directions,
    "WhitenedIndex": _whitened,
    "Whitening": _whitening,
    "SparseIndex": _sparse_rows,
    "Descent": _descent,
    "ForceProblem": _problem,
    "Walk": _walk,
    "NeighborAffinities": _affinities,
    "GivenAffinities": _affinities,
    "FuzzyGraph": _fuzzy_graph,
    "Remainder": _remainder,
    "Layout": _layout,
    "GeodesicGraph": _geodesic,
    "_State": _path_state,
    "CentredRows": _centred_rows,
}
