"""Flags from the declarations of parameters, and values from what is typed."""

from __future__ import annotations

import argparse
import ast
import dataclasses
import re
import typing
from typing import Any

from lowfold.errors import ParameterError
from lowfold.options import Parameter, parameters, validate

# How helps name what Python alone can give: "..., or as a function of two rows", "... or as an array (n, d)".
NOT_TYPED = re.compile(r",? or as (?:an array|a function)(?: \([^)]*\)| of [\w ]+)?")


def add_method_flags(parser: argparse.ArgumentParser, method: type[Any]) -> None:
    """A flag for each parameter of the method: --n-components for n_components."""
    group = parser.add_argument_group(f"parameters of {method.__name__}")
    for parameter in parameters(method):
        group.add_argument(
            f"--{parameter.name.replace('_', '-')}",
            dest=f"parameter_{parameter.name}",
            metavar=_metavar(parameter),
            help=_help(parameter),
        )


def whole_number(low: int, high: int | None = None) -> Any:
    """What argparse makes of a flag that takes a whole number in a range."""

    def number(text: str) -> int:
        value = int(text)
        if value < low or (high is not None and value > high):
            ending = f" to {high:,}" if high is not None else " on"
            raise argparse.ArgumentTypeError(f"must be a whole number from {low}{ending}, not {text}")
        return value

    return number


def model_of(method: type[Any], chosen: argparse.Namespace) -> Any:
    """The estimator with the parameters that were given, validated."""
    values = {}
    for parameter in parameters(method):
        typed = getattr(chosen, f"parameter_{parameter.name}", None)
        if typed is not None:
            values[parameter.name] = parsed(parameter, typed)
    model = method(**values)
    validate(model)
    return model


def parsed(parameter: Parameter, text: str) -> Any:
    """The value that is meant: a number, none, true, several numbers with commas, Grid(spacing=0.3), or text."""
    for value in _readings(parameter, text.strip()):
        if parameter.allows(value):
            return value
    engines = list(_engines(parameter))
    also = f", such as {engines[0]}()" if engines else ""
    raise ParameterError(
        f"--{parameter.name.replace('_', '-')} {text} is not allowed: it must be {parameter.needs()}{also}. "
        f"It is the {help_of(parameter)}."
    )


def _readings(parameter: Parameter, text: str) -> typing.Iterator[Any]:
    """What the text can mean, in the order in which it is tried."""
    words = {"none": None, "true": True, "false": False}
    if text.lower() in words:
        yield words[text.lower()]
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError):
        value = None
    if isinstance(value, int | float | tuple):
        yield value
    engine = _engine(parameter, text)
    if engine is not None:
        yield engine
    yield text


def _engine(parameter: Parameter, text: str) -> Any:
    """Name(field=value, ...) for one of the parameter's own small classes; nothing else is ever called."""
    kinds = _engines(parameter)
    try:
        call = ast.parse(text, mode="eval").body
    except SyntaxError:
        return None
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name) or call.func.id not in kinds:
        return None
    kind = kinds[call.func.id]
    fields = {field.name for field in dataclasses.fields(kind)}
    if call.args or any(keyword.arg not in fields for keyword in call.keywords):
        raise ParameterError(f"{text}: {call.func.id} takes {', '.join(sorted(fields))}, by name and nothing else.")
    given: dict[str, Any] = {}
    for keyword in call.keywords:
        try:
            given[str(keyword.arg)] = ast.literal_eval(keyword.value)
        except ValueError as error:
            raise ParameterError(f"{text}: {keyword.arg} must be a number, text, None, True or False.") from error
    engine = kind(**given)
    validate(engine)
    return engine


def _engines(parameter: Parameter) -> dict[str, Any]:
    """The small classes that the parameter takes a value of, by name."""
    kinds: list[Any] = [kind for kind in parameter.types if dataclasses.is_dataclass(kind)]
    return {kind.__name__: kind for kind in kinds}


def _metavar(parameter: Parameter) -> str:
    names = {int: "N", float: "X", str: "NAME", bool: "true|false"}
    shown = [names[kind] for kind in parameter.types if kind in names]
    if parameter.option.choices:
        shown = ["|".join(parameter.option.choices) if part == "NAME" else part for part in shown]
    shown += [f"{name}(...)" for name in _engines(parameter)]
    return "|".join(shown) or "VALUE"


def _help(parameter: Parameter) -> str:
    return f"{help_of(parameter)} (default: {parameter.default})".replace("%", "%%")


def help_of(parameter: Parameter) -> str:
    """The declared help without what cannot be typed."""
    return NOT_TYPED.sub("", parameter.option.help)
