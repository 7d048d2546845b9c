"""One page's connection: what it asks for, and what it is told, over a WebSocket."""

from __future__ import annotations

import asyncio
import contextlib
import json
import threading
from collections.abc import Hashable
from typing import TYPE_CHECKING, Any

from lowfold.explorer.orders import Orders
from lowfold.explorer.runs import Workshop

if TYPE_CHECKING:
    from starlette.websockets import WebSocket

MOST_WAITING = 1_000  # messages that a page has not taken: it is gone, or does not want to listen
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
    """A page that is open. When it goes, its runs are stopped."""

    def __init__(self, socket: WebSocket, workshop: Workshop) -> None:
        self._socket = socket
        self._limit = longest_message(workshop.scene.n)
        self._outbox = Outbox()
        self._orders = Orders(workshop, self._outbox)

    async def serve(self) -> None:
        """Answers the page until it goes."""
        await self._socket.accept()
        sending = asyncio.create_task(self._send())
        receiving = asyncio.create_task(self._receive())
        try:
            await asyncio.wait([sending, receiving], return_when=asyncio.FIRST_COMPLETED)
        finally:
            self._orders.abandon()
            for task in (sending, receiving):
                task.cancel()
            await asyncio.gather(sending, receiving, return_exceptions=True)

    async def _send(self) -> None:
        while True:
            message = await self._outbox.take()
            if isinstance(message, bytes):
                await self._socket.send_bytes(message)
            else:
                await self._socket.send_text(json.dumps(message, allow_nan=False))

    async def _receive(self) -> None:
        while True:
            message = await self._socket.receive()
            if message["type"] != "websocket.receive":
                return None
            text = message.get("text")
            if len(text or message.get("bytes") or b"") > self._limit:
                return await self._socket.close(TOO_LARGE, f"A message has at most {self._limit} bytes.")
            if self._outbox.is_full:
                return await self._socket.close(TOO_SLOW, "Answers are not taken.")
            self._orders.hear(text)
