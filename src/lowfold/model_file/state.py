"""What an object of this package consists of, and an object made of it without running its constructor."""

from __future__ import annotations

import dataclasses
from typing import Any

from lowfold.errors import FileError


def state_of(value: Any) -> dict[str, Any]:
    """What an object consists of: its fields, or what it says itself where it leaves out what can be made again."""
    cls = type(value)
    if dataclasses.is_dataclass(value) and not hasattr(value, "__dict__"):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    own = next((c.__dict__["__getstate__"] for c in cls.__mro__ if "__getstate__" in c.__dict__ and _ours(c)), None)
    return dict(own(value)) if own is not None else dict(value.__dict__)


def with_state(cls: Any, state: dict[str, Any]) -> Any:
    """An object of the class that consists of these fields, without running its constructor."""
    made: Any = cls.__new__(cls)
    name = cls.__name__
    if dataclasses.is_dataclass(cls) and not hasattr(made, "__dict__"):
        for field in dataclasses.fields(cls):
            if field.name not in state and field.default is dataclasses.MISSING:
                raise FileError(f"The model file holds a {name} without {field.name}.")
            object.__setattr__(made, field.name, state.pop(field.name, field.default))
        if state:
            raise FileError(f"The model file holds a {name} with {', '.join(state)}, which it cannot have.")
        return made
    if any("__setstate__" in c.__dict__ and _ours(c) for c in cls.__mro__):
        made.__setstate__(state)
    else:
        made.__dict__.update(state)
    return made


def _ours(cls: type) -> bool:
    return cls.__module__.startswith("lowfold.")
