"""Forms from the declarations of parameters, and estimators from what is filled in; nothing is typed twice.

A parameter is described by the ways in which its value can be given, in the order of its types: an integer, a number, a
choice, text, true or false, none, several numbers, or an engine with parameters of its own. What a page cannot give (a
function, an array) is left out. Values come back as JSON; an engine as {"engine": "Grid", "parameters": {...}}. Only
classes that the declarations name are made, and `options.validate` says what is wrong with a value.
"""

from __future__ import annotations

import dataclasses
import inspect
import typing
from collections.abc import Mapping
from functools import cache
from typing import Any

from lowfold.errors import ParameterError
from lowfold.estimator import Estimator
from lowfold.explorer.panels import method_title
from lowfold.methods import METHODS
from lowfold.options import Parameter, parameters, validate

MOST_NUMBERS = 64  # in a value of several
LONGEST_TEXT = 200  # characters of a value

Json: typing.TypeAlias = Any
SIMPLE = {int: "integer", float: "number", bool: "boolean", type(None): "none"}


@cache
def declared_methods() -> list[dict[str, Json]]:
    """Every method: its registry name, title, purpose, family and parameters."""
    return [_described(name, method) for name, method in METHODS.items()]


def _described(name: str, method: type[Estimator]) -> dict[str, Json]:
    purpose = (method.__doc__ or "").splitlines()[0].partition(": ")[2]
    return {
        "name": name,
        "title": method_title(method),
        "purpose": purpose,
        "family": method.__module__.split(".")[1],
        "parameters": _fields(method),
    }


def _fields(cls: type[Any]) -> list[dict[str, Json]]:
    """The fields of a class: first those that it declares itself, then those that others have too."""
    own = inspect.get_annotations(cls)
    ordered = sorted(parameters(cls), key=lambda parameter: parameter.name not in own)
    described = [(parameter, _ways(parameter)) for parameter in ordered]
    return [_field(parameter, ways) for parameter, ways in described if any(way["kind"] != "none" for way in ways)]


def _field(parameter: Parameter, ways: list[dict[str, Json]]) -> dict[str, Json]:
    bounds = parameter.option
    return {
        "name": parameter.name,
        "default": parameter.default,
        "ways": ways,
        "low": bounds.low,
        "high": bounds.high,
        "above": bounds.above,
        "help": bounds.help,
        "needs": parameter.needs(),
    }


def _ways(parameter: Parameter) -> list[dict[str, Json]]:
    return [way for kind in parameter.types if (way := _way(kind, parameter)) is not None]


def _way(kind: Any, parameter: Parameter) -> dict[str, Json] | None:
    if kind in SIMPLE:
        return {"kind": SIMPLE[kind]}
    if kind is str:
        choices = list(parameter.option.choices)
        return {"kind": "choice", "choices": choices} if choices else {"kind": "text"}
    if typing.get_origin(kind) is tuple:
        return {"kind": "numbers"}
    if dataclasses.is_dataclass(kind):
        engine = typing.cast("type[Any]", kind)
        purpose = (engine.__doc__ or "").splitlines()[0]
        return {"kind": "engine", "name": engine.__name__, "purpose": purpose, "parameters": _fields(engine)}
    return None  # a function, an array, a generator of random numbers: nothing that a form can hold


def model_from(name: Json, given: Json) -> Estimator:
    """The estimator that a filled-in form asks for, validated; ParameterError says what is wrong with it."""
    if not isinstance(name, str) or name not in METHODS:
        raise ParameterError(f"There is no method {_shown(name)}. Use one of {', '.join(METHODS)}.")
    model = _made(METHODS[name], given)
    validate(model)
    return typing.cast(Estimator, model)


def _made(cls: type[Any], given: Json) -> Any:
    """An instance of a declaring class with the values that were given; the others keep their defaults."""
    declared = {parameter.name: parameter for parameter in parameters(cls)}
    if not isinstance(given, Mapping):
        raise ParameterError(f"The parameters of {cls.__name__} were given as {_shown(given)}. Give them by name.")
    unknown = [name for name in given if name not in declared]
    if unknown:
        raise ParameterError(f"{cls.__name__} has no parameter {_shown(unknown[0])}. It has {', '.join(declared)}.")
    return cls(**{name: _value(declared[name], value) for name, value in given.items()})


def _value(parameter: Parameter, value: Json) -> Any:
    """What a value in JSON means for the parameter."""
    if isinstance(value, Mapping):
        engines: dict[str, Any] = {
            typing.cast(type, kind).__name__: kind for kind in parameter.types if dataclasses.is_dataclass(kind)
        }
        engine = value.get("engine")
        if not isinstance(engine, str) or engine not in engines or set(value) - {"engine", "parameters"}:
            raise ParameterError(
                f"The '{parameter.name}' parameter must be {parameter.needs()}. Got {_shown(value)} instead."
            )
        return _made(engines[engine], value.get("parameters", {}))
    if isinstance(value, list):
        numbers = len(value) <= MOST_NUMBERS and all(type(part) in (int, float) for part in value)
        if not numbers or not any(typing.get_origin(kind) is tuple for kind in parameter.types):
            raise ParameterError(
                f"The '{parameter.name}' parameter must be {parameter.needs()}. Got {_shown(value)} instead."
            )
        return tuple(float(part) for part in value)
    if isinstance(value, str) and len(value) > LONGEST_TEXT:
        raise ParameterError(f"The '{parameter.name}' parameter was given {len(value)} characters. Use a short name.")
    return value


def _shown(value: Json) -> str:
    """What was given, cut short where it is long."""
    text = repr(value)
    return text if len(text) <= LONGEST_TEXT else text[:LONGEST_TEXT] + "..."
