"""Who is let in: the page that was opened with the token that was printed, from this machine, and nobody else.

The server listens on 127.0.0.1, which keeps other machines out, but not other programs and pages on this one. A program
of another user does not know the token. A page from elsewhere that guesses the port does not know it either; its
requests carry its own Origin, and, where it had its name point to 127.0.0.1, its own Host. What is not GET, asks for
another path than the few there are, or brings a body along is refused before anything reads it.
"""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias
from urllib.parse import parse_qsl

Scope: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send: TypeAlias = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App: TypeAlias = Callable[[Scope, Receive, Send], Awaitable[None]]

HOST = "127.0.0.1"
NAMES = (HOST, "localhost")
TOKEN_HEADER = b"x-lowfold-token"
PAGE, SOCKET = "/", "/runs"  # where a browser cannot set a header, the token may stand in the address
LONGEST_QUERY = 1000  # bytes
POLICY_VIOLATION = 1008  # closes a WebSocket

HEADERS = {
    b"cache-control": b"no-store",
    b"referrer-policy": b"no-referrer",  # the token stands in the page's address
    b"x-content-type-options": b"nosniff",
    b"x-frame-options": b"DENY",
    b"cross-origin-opener-policy": b"same-origin",
    b"cross-origin-resource-policy": b"same-origin",
}


def new_token() -> str:
    """A token that cannot be guessed."""
    return secrets.token_urlsafe(32)


@dataclass(frozen=True, slots=True)
class Guard:
    """An ASGI application in front of another, which sees only what may be asked."""

    app: App = field(repr=False)
    port: int
    token: str = field(repr=False)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Passes a request on, or refuses it."""
        if scope["type"] == "lifespan":
            return await self.app(scope, receive, send)
        refused = self.refusal(scope)
        if refused is None:
            return await self.app(scope, receive, _with_headers(send) if scope["type"] == "http" else send)
        if scope["type"] == "websocket":
            await receive()
            return await send({"type": "websocket.close", "code": POLICY_VIOLATION, "reason": refused[1]})
        return await _answer(send, *refused)

    def refusal(self, scope: Scope) -> tuple[int, str] | None:
        """(status, why) if the request is not let in."""
        headers = scope["headers"]
        if not self._is_here(headers):
            return 403, "This server answers only pages from its own address."
        if not self._is_known(scope):
            return 403, "The token is missing or wrong. Open the address that lowfold printed."
        if scope["type"] == "http" and scope["method"] != "GET":
            return 405, "Only GET is answered."
        if _values(headers, b"transfer-encoding") or any(
            length != b"0" for length in _values(headers, b"content-length")
        ):
            return 413, "A request has no body here."
        return None

    def _is_here(self, headers: Iterable[tuple[bytes, bytes]]) -> bool:
        """Whether the request was sent to this server by its own name, and, if by a page, by one of its own."""
        own = {f"{name}:{self.port}" for name in NAMES} | (set(NAMES) if self.port == 80 else set())
        hosts, origins = _values(headers, b"host"), _values(headers, b"origin")
        if len(hosts) != 1 or hosts[0].decode("latin-1").lower() not in own or len(origins) > 1:
            return False
        return not origins or origins[0].decode("latin-1").lower() == f"http://{hosts[0].decode('latin-1').lower()}"

    def _is_known(self, scope: Scope) -> bool:
        """Whether it carries the token, once."""
        given = _values(scope["headers"], TOKEN_HEADER)
        if scope["path"] in (PAGE, SOCKET) and len(scope["query_string"]) <= LONGEST_QUERY:
            query = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
            given += [value.encode("utf-8", "replace") for name, value in query if name == "token"]
        return len(given) == 1 and hmac.compare_digest(given[0], self.token.encode())


def _values(headers: Iterable[tuple[bytes, bytes]], name: bytes) -> list[bytes]:
    return [value for key, value in headers if key.lower() == name]


def _with_headers(send: Send) -> Send:
    async def sending(message: MutableMapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            message = {**message, "headers": [*message.get("headers", ()), *HEADERS.items()]}
        await send(message)

    return sending


async def _answer(send: Send, status: int, why: str) -> None:
    content = why.encode()
    headers = [(b"content-type", b"text/plain; charset=utf-8"), (b"content-length", str(len(content)).encode())]
    sending = _with_headers(send)
    await sending({"type": "http.response.start", "status": status, "headers": headers})
    await sending({"type": "http.response.body", "body": content})
