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
    name, schedule = schedule_in(model)
    if schedule is None:
        return copy, 0
    if schedule.callback is None:
        setattr(copy, name, dataclasses.replace(schedule, callback=callback))
    return copy, most_steps(schedule, n) + copy._steps_before(n)


def schedule_in(model: Estimator) -> tuple[str, Any]:
    """(the name of the parameter that says how an optimisation goes, its value as a dataclass); ("", None) if none."""
    for parameter in parameters(type(model)):
        kinds = [kind for kind in parameter.types if "callback" in getattr(kind, "__dataclass_fields__", {})]
        if kinds:
            value = getattr(model, parameter.name)
            return parameter.name, value if dataclasses.is_dataclass(value) else _named(str(value), kinds)()
    return "", None


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
