"""Parameters: one declaration gives the default, what is allowed, the help text and the error message."""

from __future__ import annotations

import dataclasses
import math
import numbers
import types
import typing
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from lowfold.errors import ParameterError

THREADS = "number of threads; None uses every core that this process may use"

RandomState: TypeAlias = int | np.random.RandomState | np.random.Generator | None


def option(
    default: Any,
    *,
    help: str,
    low: float | None = None,
    high: float | None = None,
    above: float | None = None,
    choices: tuple[str, ...] = (),
) -> Any:
    """A dataclass field that knows what it accepts.

    `low` and `high` belong to the range, `above` is its open lower end. The annotation of the field gives the types:
    `float` takes every real number, `int` every integer but True and False, and `str` one of the `choices`, or any
    where there are none; `tuple[float, ...]` and `list[float]` take one or more of what `float` takes.
    """
    bounds = Option(help=help, low=low, high=high, above=above, choices=choices)
    return dataclasses.field(default=default, metadata={"option": bounds})


def n_jobs_option() -> Any:
    """The number of threads, as every estimator declares it."""
    help = f"{THREADS}, -2 all but one, and so on down to one"
    return dataclasses.field(default=None, metadata={"option": Option(help=help, high=1024, never=0)})


def random_state_option(of: str) -> Any:
    """A seed, as every estimator that draws anything declares it."""
    return option(0, low=0, high=2**63 - 1, help=f"seed of {of}; None draws one")


def memory_limit_option() -> Any:
    """The memory that a fit may use, as every method declares it."""
    return option(
        None, above=0, help="number of bytes that a fit may need beside the data; None: all that is available"
    )


def callback_option() -> Any:
    """The function that watches an optimisation, as every loop declares it."""
    return option(None, help="function that is called with each Step; if it returns True, the optimisation ends there")


@dataclass(frozen=True, slots=True)
class Option:
    """What one parameter accepts, without its name and types."""

    help: str
    low: float | None = None
    high: float | None = None
    above: float | None = None
    never: float | None = None
    choices: tuple[str, ...] = ()

    def allows_number(self, value: float) -> bool:
        """Whether a number lies in the range; NaN, infinity and what float cannot hold never do."""
        return (
            _fits_float(value)
            and (self.low is None or value >= self.low)
            and (self.high is None or value <= self.high)
            and (self.above is None or value > self.above)
            and value != self.never
        )

    def range_text(self) -> str:
        """The range in words, to follow the name of a type; empty if there is none."""
        ends = [("at least", self.low), ("above", self.above), ("at most", self.high), ("other than", self.never)]
        words = [f"{word} {end:g}" for word, end in ends if end is not None]
        return " " + " and ".join(words) if words else ""


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of a class: its name, default, types and bounds."""

    name: str
    default: Any
    types: tuple[Any, ...]
    option: Option

    def allows(self, value: object) -> bool:
        """Whether the value is one that the parameter can have."""
        return any(_is_of(kind, value, self.option) for kind in self.types)

    def needs(self) -> str:
        """What the value must be, in words: 'an int at least 1 or None'."""
        return " or ".join(_words(kind, self.option) for kind in self.types)

    def constraints(self) -> list[Any]:
        """The same in scikit-learn's vocabulary, for its own checks."""
        return [_constraint(kind, self.option) for kind in self.types]


class Declared(Protocol):
    """Anything whose parameters are declared with `option`: an estimator or an engine."""

    __dataclass_fields__: typing.ClassVar[dict[str, dataclasses.Field[Any]]]


def parameters(cls: type[Declared]) -> Iterator[Parameter]:
    """The declared parameters of a class, in order."""
    hints = typing.get_type_hints(cls)
    for field in dataclasses.fields(cls):
        hint = hints[field.name]
        union = typing.get_origin(hint) in (typing.Union, types.UnionType)
        kinds = typing.get_args(hint) if union else (hint,)
        yield Parameter(field.name, field.default, kinds, field.metadata["option"])


def documented(cls: type[Any]) -> type[Any]:
    """The class, its docstring followed by its parameters."""
    lines = [f"{p.name}: {p.option.help} ({p.needs()}; default {p.default!r})" for p in parameters(cls)]
    if lines:
        text = "\n    ".join([(cls.__doc__ or "").rstrip(), "", "Parameters, by keyword:", *lines])
        cls.__doc__ = text + "\n"
    return cls


def validate(declared: Declared, called: str | None = None) -> None:
    """Raises ParameterError for the first parameter whose value is not allowed. Reads only.

    called: what the user knows it by, where that is not its class.
    """
    name = called or type(declared).__name__
    for parameter in parameters(type(declared)):
        value = getattr(declared, parameter.name)
        if not parameter.allows(value):
            raise ParameterError(
                f"The '{parameter.name}' parameter of {name} must be {parameter.needs()}. Got {value!r} instead. "
                f"Use for example {name}({parameter.name}={parameter.default!r}); it is the {parameter.option.help}."
            )
        if dataclasses.is_dataclass(value) and not isinstance(value, type):
            validate(value)


def plain_numbers(declared: Declared) -> dict[str, Any]:
    """The parameters that hold numbers of other types than Python's, themselves or in an engine, as Python's own.

    NumPy's small integers overflow where they are multiplied, and its functions do not know fractions.
    """
    given = ((parameter.name, getattr(declared, parameter.name)) for parameter in parameters(type(declared)))
    return {name: plain for name, value in given if (plain := _plain(value)) is not value}


def _plain(value: Any) -> Any:
    """A number as Python has it, an engine with such numbers; the very same value where it is as it should be."""
    if type(value) in (bool, int, float, str) or value is None:
        return value
    if isinstance(value, np.bool_):
        return bool(value)
    if isinstance(value, numbers.Integral):
        return int(value)
    if isinstance(value, numbers.Real) and _fits_float(value):
        return float(value)
    if isinstance(value, tuple | list):
        parts = [_plain(part) for part in value]
        return value if all(a is b for a, b in zip(parts, value, strict=True)) else type(value)(parts)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        changed = plain_numbers(value)
        return dataclasses.replace(value, **changed) if changed else value
    return value


def _fits_float(value: Any) -> bool:
    try:
        return math.isfinite(float(value))
    except OverflowError:
        return False


def refuse_ignored(declared: Declared, names: tuple[str, ...], why: str) -> None:
    """Raises ParameterError if any of these parameters, which nothing will read, is not at its default."""
    given, defaults = [], []
    for parameter in parameters(type(declared)):
        value = getattr(declared, parameter.name)
        if parameter.name in names and value != parameter.default:
            given.append(f"{parameter.name}={value!r}")
            defaults.append(repr(parameter.default))
    if given:
        have, them = ("has", "it at its default") if len(given) == 1 else ("have", "them at their defaults")
        raise ParameterError(
            f"{why}, so {' and '.join(given)} {have} nothing to act on. Leave {them}, {' and '.join(defaults)}."
        )


def check_whole(value: Any, name: str, low: int, high: int | None = None) -> int:
    """The argument of a function as Python's own int; ParameterError unless it is a whole number in the range."""
    bounds = Option(help="", low=low, high=high)
    if not _is_of(int, value, bounds):
        usual = max(low, 10) if high is None else high
        raise ParameterError(f"{name}={value!r} must be {_words(int, bounds)}. Pass for example {name}={usual}.")
    return int(value)


def seed_of(random_state: RandomState) -> int:
    """A seed below 2^63: the integer itself, one drawn from the generator, or a fresh one for None."""
    if isinstance(random_state, numbers.Integral):
        return int(random_state)
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31 - 1))
    return int(np.random.default_rng(random_state).integers(2**63))


def _is_of(kind: Any, value: object, bounds: Option) -> bool:
    if kind is Any:
        return True
    if kind is type(None):
        return value is None
    if kind is bool:
        return isinstance(value, bool | np.bool_)
    if kind is int:
        integer = isinstance(value, numbers.Integral) and not isinstance(value, bool | np.bool_)
        return integer and bounds.allows_number(typing.cast(float, value))
    if kind is float:
        real = isinstance(value, numbers.Real) and not isinstance(value, bool | np.bool_)
        return real and bounds.allows_number(typing.cast(float, value))
    if kind is str:
        return isinstance(value, str) and (not bounds.choices or value in bounds.choices)
    if typing.get_origin(kind) is Callable or kind is Callable:
        return callable(value)
    if typing.get_origin(kind) in (tuple, list):
        parts = list(value) if isinstance(value, tuple | list) and isinstance(value, typing.get_origin(kind)) else []
        return bool(parts) and all(_is_of(typing.get_args(kind)[0], part, bounds) for part in parts)
    return isinstance(value, typing.get_origin(kind) or kind)


def _words(kind: Any, bounds: Option) -> str:
    if kind is Any:
        return "anything"
    if kind is type(None):
        return "None"
    if kind is bool:
        return "True or False"
    if kind is int:
        return "an int" + bounds.range_text()
    if kind is float:
        return "a number" + bounds.range_text()
    if kind is str:
        return "one of " + ", ".join(map(repr, bounds.choices)) if bounds.choices else "a str"
    if typing.get_origin(kind) is Callable or kind is Callable:
        return "a function"
    if typing.get_origin(kind) in (tuple, list):
        several = {int: "ints", float: "numbers"}[typing.get_args(kind)[0]]
        return f"a {kind.__name__} of {several}{bounds.range_text()}"
    return f"an instance of {kind.__name__}"


def _constraint(kind: Any, bounds: Option) -> Any:
    if kind is type(None):
        return None
    if kind is bool:
        return "boolean"
    if kind in (int, float):
        low = bounds.low if bounds.above is None else bounds.above
        ends = (bounds.low is not None, bounds.high is not None)
        closed = {(True, True): "both", (True, False): "left", (False, True): "right", (False, False): "neither"}[ends]
        return Interval(numbers.Integral if kind is int else numbers.Real, low, bounds.high, closed=closed)
    if kind is str:
        return StrOptions(set(bounds.choices)) if bounds.choices else str
    if typing.get_origin(kind) is Callable or kind is Callable:
        return callable
    return typing.get_origin(kind) or kind
