"""Orders: what a page asks for, checked, and turned into runs."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lowfold.errors import DataError, LowfoldError, ParameterError
from lowfold.explorer.forms import model_from
from lowfold.explorer.panels import exploring
from lowfold.explorer.runs import Listener, Order, Run, Workshop

MOST_RUNS = 8  # of one page that wait or work
LARGEST_NUMBER = 2**31 - 1
WORDS = {"action", "run", "method", "parameters", "rows"}


class Orders:
    """The runs of one page: started, stopped, and told about to a listener."""

    def __init__(self, workshop: Workshop, listener: Listener) -> None:
        self._workshop, self._listener = workshop, listener
        self._runs: dict[int, Run] = {}
        self._refused = 0

    @property
    def runs(self) -> list[Run]:
        """Those that wait or work."""
        return [run for run in self._runs.values() if run.is_alive]

    def abandon(self) -> None:
        """Ends all runs, of which nobody wants to hear any more."""
        for run in list(self._runs.values()):
            run.abandon()

    def hear(self, text: str | None) -> None:
        """Does what a message asks for, or says why not."""
        number: int | None = None
        try:
            asked = _read(text)
            number = _number(asked.get("run"))
            if asked.get("action") == "start":
                self._start(number, asked)
            elif asked.get("action") != "stop":
                raise ParameterError("action must be 'start' or 'stop'.")
            elif number in self._runs:
                self._runs[number].stop()
        except (LowfoldError, ValueError) as error:
            self._refused += 1
            message = {"type": "error", "run": number, "message": " ".join(str(error).split())}
            self._listener.tell(("refused", self._refused), message)

    def _start(self, number: int, asked: dict[str, Any]) -> None:
        shop = self._workshop
        if shop.X is None:
            raise DataError("There are only maps here, and no data to fit a method to. Start again with the data.")
        self._runs = {run.number: run for run in self.runs}
        if number in self._runs:
            raise ParameterError(f"run {number} was started already. Give each run a number of its own.")
        if len(self._runs) >= MOST_RUNS:
            raise ParameterError(f"{MOST_RUNS} runs wait or work already. Wait for one of them, or stop one.")
        if set(asked) - WORDS:
            raise ParameterError("A start has action, run, method, parameters and rows, and nothing else.")
        rows = _rows(asked.get("rows"), shop.scene.n)
        method, parameters = asked.get("method"), asked.get("parameters", {})
        if isinstance(parameters, dict) and isinstance(method, str):
            shape = shop.scene.n if rows is None else len(rows), shop.X.shape[1]
            parameters = exploring(method, np.broadcast_to(0.0, shape)) | parameters
        run = Run(Order(number, model_from(method, parameters), rows), shop, self._listener)
        self._runs[number] = run
        run.start()


def _read(text: str | None) -> dict[str, Any]:
    if text is None:
        raise ParameterError("A message is text: a JSON object with action and run.")
    try:
        asked = json.loads(text, parse_constant=_no_number)
    except (ValueError, RecursionError) as error:
        raise ParameterError(f"The message is no JSON: {error}.") from error
    if not isinstance(asked, dict):
        raise ParameterError("A message is a JSON object with action and run.")
    return asked


def _number(given: Any) -> int:
    if type(given) is not int or not 0 <= given <= LARGEST_NUMBER:
        raise ParameterError(f"run must be a whole number from 0 to {LARGEST_NUMBER}.")
    return given


def _no_number(name: str) -> Any:
    raise ValueError(f"{name} is no number in JSON")


def _rows(given: Any, n: int) -> NDArray[np.int32] | None:
    """The rows that a run is to be fitted to, in order and each once; None for all."""
    if given is None:
        return None
    if not isinstance(given, list) or not given or not all(type(row) is int and 0 <= row < n for row in given):
        raise ParameterError(f"rows must be numbers of points from 0 to {n - 1}, at least one. Select some first.")
    return np.unique(np.array(given, np.int32))
