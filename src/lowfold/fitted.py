"""A fitted model answers with the parameters of its fit: what `set_params` changes is for the next one."""

from __future__ import annotations

import copy
import dataclasses
import functools
from collections.abc import Callable
from typing import Any, Concatenate, ParamSpec, TypeVar

from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

AS_THEY_ARE_NOW = ("n_jobs", "memory_limit")  # how much of the machine to use, on which no result depends

Model = TypeVar("Model", bound=BaseEstimator)
Arguments = ParamSpec("Arguments")
Answer = TypeVar("Answer")


def of_fitted(
    method: Callable[Concatenate[Any, Arguments], Answer],
) -> Callable[Concatenate[Any, Arguments], Answer]:
    """A method of fitted models, which sees the parameters of the fit. One that is not fitted raises NotFittedError."""

    @functools.wraps(method)
    def answer(model: Any, /, *arguments: Arguments.args, **keywords: Arguments.kwargs) -> Answer:
        check_is_fitted(model)
        return method(as_fitted(model), *arguments, **keywords)

    return answer


def note_parameters(model: BaseEstimator) -> None:
    """Keeps the parameters of a fit that begins, without the functions that only watch it."""
    names = (field.name for field in dataclasses.fields(model))
    model._fitted_with = {name: _unwatched(getattr(model, name)) for name in names if name not in AS_THEY_ARE_NOW}


def as_fitted(model: Model) -> Model:
    """The model with the parameters of its fit: itself, or, where some were set since, a shallow copy."""
    fitted_with: dict[str, Any] = model.__dict__.get("_fitted_with", {})  # none in a model that was stored before
    changed = {name: value for name, value in fitted_with.items() if not _same(model.__dict__.get(name), value)}
    if not changed:
        return model
    as_before = copy.copy(model)
    as_before.__dict__.update(changed)
    return as_before


def _unwatched(value: Any) -> Any:
    """A schedule or solver without its callback; anything else as it is."""
    watched = dataclasses.is_dataclass(value) and getattr(value, "callback", None) is not None
    return dataclasses.replace(value, callback=None) if watched else value


def _same(a: Any, b: Any) -> bool:
    """Whether two values are one, or equal numbers or words."""
    return a is b or (type(a) is type(b) and isinstance(a, str | int | float) and a == b)
