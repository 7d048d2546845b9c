"""Watching a fit: a copy of an estimator whose optimisation calls back at each step, whichever method it is."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

from lowfold.estimator import Estimator
from lowfold.options import parameters
from lowfold.types import Step


def with_callback(model: Estimator, callback: Callable[[Step], Any], n: int) -> tuple[Estimator, int]:
    """(a copy whose schedule calls back, the most steps it takes); 0 steps for a method that takes none."""
    copy = type(model)(**model.get_params(deep=False))
    for parameter in parameters(type(model)):
        kinds = [kind for kind in parameter.types if "callback" in getattr(kind, "__dataclass_fields__", {})]
        if not kinds:
            continue
        value = getattr(model, parameter.name)
        schedule = value if dataclasses.is_dataclass(value) else _named(str(value), kinds)()
        if getattr(schedule, "callback", None) is None:
            setattr(copy, parameter.name, dataclasses.replace(schedule, callback=callback))  # type: ignore[type-var]
        return copy, most_steps(schedule, n) + copy._steps_before(n)
    return copy, 0


def _named(name: str, kinds: list[Any]) -> Any:
    """The class that a name stands for: "gradient" for GradientDescent."""
    return next(kind for kind in kinds if kind.__name__.lower().startswith(name))


def most_steps(schedule: Any, n: int) -> int:
    """How many steps a schedule takes at most."""
    if hasattr(schedule, "phases"):
        return sum(phase.iterations for phase in schedule.phases(n))
    if hasattr(schedule, "count"):
        return int(schedule.count(n))
    return int(getattr(schedule, "max_iter", 0))
