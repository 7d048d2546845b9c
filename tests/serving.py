"""What the tests of the explorer's server share: requests by the byte, and a page's side of the WebSocket."""

from __future__ import annotations

import json
import socket
from typing import Any

from lowfold.explorer.pack import unpack

PATIENCE = 120  # seconds for a message: far more than any takes


def request(port: int, text: str) -> tuple[int, str, bytes]:
    """(status, headers, body) of what answers exactly these bytes; lines end in newlines here."""
    with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as wire:
        wire.sendall(text.replace("\n", "\r\n").encode("latin-1"))
        answer = b""
        while part := wire.recv(65536):
            answer += part
    head, _, body = answer.partition(b"\r\n\r\n")
    return int(head.split()[1]), head.decode("latin-1").lower(), body


def get(explorer: Any, path: str = "/", method: str = "GET", **headers: str) -> tuple[int, str, bytes]:
    """A request with the right Host and token, unless others are given; an empty value leaves a header out."""
    usual = {"host": f"127.0.0.1:{explorer.port}", "x_lowfold_token": explorer.token, "connection": "close"}
    lines = [f"{name.replace('_', '-')}: {value}" for name, value in (usual | headers).items() if value]
    return request(explorer.port, "\n".join([f"{method} {path} HTTP/1.1", *lines, "\n"]))


class Page:
    """A page as the server sees it: sends orders, collects what it is told about each run."""

    def __init__(self, explorer: Any, token: str | None = None, **how: Any) -> None:
        from websockets.sync.client import connect

        address = f"ws://127.0.0.1:{explorer.port}/runs?token={explorer.token if token is None else token}"
        self._opened = connect(address, max_size=None, **how)
        self.socket = self._opened.__enter__()

    def __enter__(self) -> Page:
        return self

    def __exit__(self, *_: object) -> None:
        self.socket.close()

    def send(self, message: Any) -> None:
        """Text or bytes as they are, anything else as JSON."""
        self.socket.send(message if isinstance(message, str | bytes) else json.dumps(message))

    def start(self, run: int, method: str, rows: Any = None, **parameters: Any) -> None:
        self.send({"action": "start", "run": run, "method": method, "parameters": parameters, "rows": rows})

    def stop(self, run: int) -> None:
        self.send({"action": "stop", "run": run})

    def take(self) -> dict[str, Any]:
        """The next message; of a pack its header, with its arrays under "values"."""
        message = self.socket.recv(timeout=PATIENCE)
        if isinstance(message, str):
            return json.loads(message)
        header, arrays = unpack(message)
        return header | {"type": header["kind"], "values": arrays}

    def until(self, *kinds: str, run: int | None = None) -> dict[str, Any]:
        """The first message of one of the kinds, of a certain run if it is given."""
        while True:
            message = self.take()
            if message["type"] in kinds and run in (None, message["run"]):
                return message

    def to_the_end(self, run: int) -> tuple[list[dict[str, Any]], dict[str, Any]]:
        """(all messages before the last about a run, the last)."""
        before: list[dict[str, Any]] = []
        while True:
            message = self.take()
            if message["run"] == run and message["type"] in ("done", "stopped", "error"):
                return before, message
            before.append(message)
