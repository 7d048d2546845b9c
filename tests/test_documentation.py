"""What the documentation of functions says of their arguments."""

from __future__ import annotations

import importlib
import inspect
import re

import pytest

import lowfold
from lowfold.arguments import telling

PLACES = ("lowfold", *(f"lowfold.{name}" for name in ("datasets", "explorer", "files", "markov", "metrics", "plot")))
PUBLIC = {
    f"{place}.{name}": getattr(importlib.import_module(place), name)
    for place in PLACES
    for name in importlib.import_module(place).__all__
}
METHODS = {
    f"{name}.{method}": (cls, function)
    for name, cls in PUBLIC.items()
    if inspect.isclass(cls)
    for method, function in inspect.getmembers(cls, inspect.isfunction)
    if not method.startswith("_") and function.__module__.startswith("lowfold")
}


def unsaid(function, text):
    names = [name for name in inspect.signature(function).parameters if name not in ("self", "cls")]
    return [name for name in names if not re.search(rf"\b{name}\b", text)]


@pytest.mark.parametrize("name", [name for name, value in PUBLIC.items() if inspect.isfunction(value)])
def test_every_argument_of_a_public_function_stands_in_its_docstring(name):
    assert not unsaid(PUBLIC[name], PUBLIC[name].__doc__)


@pytest.mark.parametrize("name", METHODS)
def test_every_argument_of_a_public_method_stands_in_its_docstring_or_that_of_its_class(name):
    cls, function = METHODS[name]
    assert not unsaid(function, f"{function.__doc__} {cls.__doc__}")


def test_the_public_places_are_those_with_public_names_of_their_own():
    packages = {name for name in lowfold.__all__ if inspect.ismodule(getattr(lowfold, name))}
    assert {f"lowfold.{name}" for name in packages} == set(PLACES[1:])


def test_what_functions_share_is_said_once_in_each():
    @telling({"a": "the first", "b": "the second", "c": "not here"})
    def told(a, b):
        """What it does. a: something else."""

    assert inspect.getdoc(told) == "What it does. a: something else.\n\nb: the second"
    assert told.__name__ == "told"
