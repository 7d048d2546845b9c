"""Arguments that several functions share: what they are is said once, and stands in the docstring of each function."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

Function = TypeVar("Function", bound=Callable[..., Any])


def telling(shared: Mapping[str, str]) -> Callable[[Function], Function]:
    """A decorator: the function, its docstring followed by a line for each of its arguments that is `shared`.

    What the function says of an argument itself, as in `sample: ...`, is not said again.
    """

    def told(function: Function) -> Function:
        text = (function.__doc__ or "").rstrip()
        names = [name for name in inspect.signature(function).parameters if name in shared]
        lines = [f"{name}: {shared[name]}" for name in names if not re.search(rf"\b{name}: ", text)]
        if text and lines:
            function.__doc__ = "\n    ".join([text, "", *lines]) + "\n    "
        return function

    return told
