"""One page's connection: what it asks for, and what it is told, over a WebSocket."""

from __future__ import annotations

import asyncio
import contextlib
import json
import threading
from collections.abc import Hashable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from lowfold.errors import DataError, LowfoldError, ParameterError
from lowfold.explorer.forms import model_from
from lowfold.explorer.panels import exploring
from lowfold.explorer.runs import Order, Run, Workshop

if TYPE_CHECKING:
    from starlette.websockets import WebSocket

MOST_RUNS = 8  # of one page that wait or work
MOST_WAITING = 1_000  # messages that a page has not taken: it is gone, or does not want to listen
LARGEST_NUMBER = 2**31 - 1
TOO_LARGE, TOO_SLOW = 1009, 1013  # what closes a WebSocket
SPARE = 65_536  # bytes of a message beside its rows
BYTES_PER_ROW = 12


def longest_message(n: int) -> int:
    """The most bytes that a page about n points has reason to send at once: all their numbers, and a form."""
    return SPARE + BYTES_PER_ROW * n


class Outbox:
    """Messages on their way to a page. Threads put them in; a newer one takes the place of an older of the same key."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._filled = asyncio.Event()
        self._waiting: dict[Hashable, dict[str, Any] | bytes] = {}
        self._lock = threading.Lock()
        self.is_full = False

    def tell(self, key: Hashable, message: dict[str, Any] | bytes) -> None:
        """Puts a message in."""
        with self._lock:
            self.is_full = len(self._waiting) >= MOST_WAITING
            if not self.is_full:
                self._waiting[key] = message
        with contextlib.suppress(RuntimeError):  # the loop has ended, and nobody listens
            self._loop.call_soon_threadsafe(self._filled.set)

    def waits(self, key: Hashable) -> bool:
        """Whether a message under this key has not been taken yet."""
        return key in self._waiting

    async def take(self) -> dict[str, Any] | bytes:
        """The next message, in the order in which their keys first came."""
        while True:
            with self._lock:
                if self._waiting:
                    return self._waiting.pop(next(iter(self._waiting)))
                self._filled.clear()
            await self._filled.wait()


class Connection:
    """The runs of one page. When it goes, they are stopped."""

    def __init__(self, socket: WebSocket, workshop: Workshop) -> None:
        self._socket, self._workshop = socket, workshop
        self._outbox = Outbox()
        self._runs: dict[int, Run] = {}
        self._refused = 0

    async def serve(self) -> None:
        """Answers the page until it goes."""
        await self._socket.accept()
        sending = asyncio.create_task(self._send())
        receiving = asyncio.create_task(self._receive())
        try:
            await asyncio.wait([sending, receiving], return_when=asyncio.FIRST_COMPLETED)
        finally:
            self.stop()
            for task in (sending, receiving):
                task.cancel()
            await asyncio.gather(sending, receiving, return_exceptions=True)

    def stop(self) -> None:
        """Ends all runs."""
        for run in self._runs.values():
            run.stop()

    @property
    def runs(self) -> list[Run]:
        """Those that wait or work."""
        return [run for run in self._runs.values() if run.is_alive]

    async def _send(self) -> None:
        while True:
            message = await self._outbox.take()
            if isinstance(message, bytes):
                await self._socket.send_bytes(message)
            else:
                await self._socket.send_text(json.dumps(message, allow_nan=False))

    async def _receive(self) -> None:
        limit = longest_message(self._workshop.scene.n)
        while True:
            message = await self._socket.receive()
            if message["type"] != "websocket.receive":
                return None
            text = message.get("text")
            if len(text or message.get("bytes") or b"") > limit:
                return await self._socket.close(TOO_LARGE, f"A message has at most {limit} bytes.")
            if self._outbox.is_full:
                return await self._socket.close(TOO_SLOW, "Answers are not taken.")
            self._hear(text)

    def _hear(self, text: str | None) -> None:
        """Does what a message asks for, or says why not."""
        number: Any = None
        try:
            asked = _read(text)
            number = asked.get("run")
            if type(number) is not int or not 0 <= number <= LARGEST_NUMBER:
                number = None
                raise ParameterError(f"run must be a whole number from 0 to {LARGEST_NUMBER}.")
            if asked.get("action") == "stop":
                if number in self._runs:
                    self._runs[number].stop()
            elif asked.get("action") == "start":
                self._start(number, asked)
            else:
                raise ParameterError("action must be 'start' or 'stop'.")
        except (LowfoldError, ValueError) as error:
            self._refused += 1
            message = {"type": "error", "run": number, "message": " ".join(str(error).split())}
            self._outbox.tell(("refused", self._refused), message)

    def _start(self, number: int, asked: dict[str, Any]) -> None:
        if self._workshop.X is None:
            raise DataError(
                "There are only maps here, and no data to fit a method to. Start lowfold explore with --data FILE."
            )
        self._runs = {run.number: run for run in self.runs}
        if number in self._runs:
            raise ParameterError(f"run {number} was started already. Give each run a number of its own.")
        if len(self._runs) >= MOST_RUNS:
            raise ParameterError(f"{MOST_RUNS} runs wait or work already. Wait for one of them, or stop one.")
        unknown = set(asked) - {"action", "run", "method", "parameters", "rows"}
        if unknown:
            raise ParameterError("A start has action, run, method, parameters and rows, and nothing else.")
        rows = _rows(asked.get("rows"), self._workshop.scene.n)
        method, parameters = asked.get("method"), asked.get("parameters", {})
        if isinstance(parameters, dict) and isinstance(method, str):
            n = self._workshop.scene.n if rows is None else len(rows)
            parameters = exploring(method, np.broadcast_to(0.0, (n, self._workshop.X.shape[1]))) | parameters
        order = Order(number, model_from(method, parameters), rows)
        self._runs[number] = run = Run(order, self._workshop, self._outbox)
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


def _no_number(name: str) -> Any:
    raise ValueError(f"{name} is no number in JSON")


def _rows(given: Any, n: int) -> NDArray[np.int32] | None:
    """The rows that a run is to be fitted to, in order and each once; None for all."""
    if given is None:
        return None
    if not isinstance(given, list) or not given or not all(type(row) is int and 0 <= row < n for row in given):
        raise ParameterError(f"rows must be numbers of points from 0 to {n - 1}, at least one. Select some first.")
    return np.unique(np.array(given, np.int32))
