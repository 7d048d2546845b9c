"""The explorer's server: the page, its scene, the methods there are, and runs of them, on 127.0.0.1 behind a token."""

from __future__ import annotations

import contextlib
import importlib
import socket
import sys
import threading
import time
import typing
import webbrowser
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from lowfold.errors import LowfoldError, ParameterError
from lowfold.explorer.connection import Connection, longest_message
from lowfold.explorer.forms import declared_methods
from lowfold.explorer.page import page_parts
from lowfold.explorer.runs import Workshop
from lowfold.explorer.scene import Scene
from lowfold.explorer.security import HOST, PAGE, SOCKET, App, Guard, new_token

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.websockets import WebSocket

MOST_CONNECTIONS = 8  # pages at once
TRY_AGAIN_LATER = 1013  # closes a WebSocket
PATIENCE = 5.0  # seconds for runs and pages to end
START_TIMEOUT = 30.0


def needed(module: str, extra: str) -> Any:
    """A module of an extra; where it is missing, the error says how to install it."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise LowfoldError(
            f"The package {module.split('.')[0]} is not installed, which this needs. "
            f'Install it with pip install "lowfold[{extra}]".'
        ) from error


class Explorer:
    """A server that shows a scene until it is closed: `with Explorer(scene, X) as explorer: print(explorer.address)`.

    It runs on a thread of its own. X: what methods are fitted to when the page asks for it; None: there is nothing.
    """

    def __init__(self, scene: Scene, X: Any = None, *, port: int = 0) -> None:
        self.token = new_token()
        self._socket = _bound(port)
        self.port = int(self._socket.getsockname()[1])
        self._workshop = Workshop(X, scene)
        self._connections = 0
        app = Guard(self._app(), self.port, self.token)
        uvicorn = needed("uvicorn", "explore")
        config = uvicorn.Config(
            app,
            log_level="warning",
            access_log=False,  # it would write the token
            server_header=False,
            ws="websockets-sansio",
            ws_max_size=longest_message(scene.n),
            ws_per_message_deflate=False,  # coordinates do not shrink, and it would take longer than to send them
            timeout_graceful_shutdown=1,
            lifespan="off",
        )
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._server.run, args=([self._socket],), daemon=True, name="explorer")
        self._thread.start()
        self._wait_for_start()

    @property
    def address(self) -> str:
        """Where the page is; whoever has it can run methods on the data."""
        return f"http://{HOST}:{self.port}{PAGE}?token={self.token}"

    @property
    def is_running(self) -> bool:
        """Whether it answers."""
        return self._thread.is_alive()

    def open(self) -> None:
        """Opens the page in a browser, where there is one."""
        with contextlib.suppress(webbrowser.Error):
            webbrowser.open(self.address)

    def wait(self) -> None:
        """Serves until Ctrl-C, which ends it."""
        try:
            while self._thread.is_alive():
                self._thread.join(0.2)
        except KeyboardInterrupt:
            pass
        finally:
            self.close()

    def close(self) -> None:
        """Stops all runs and ends the server."""
        self._server.should_exit = True
        self._workshop.close(PATIENCE)
        self._thread.join(PATIENCE)
        self._socket.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        return {"text/plain": f"Lowfold's explorer at {self.address}"}

    def _wait_for_start(self) -> None:
        deadline = time.monotonic() + START_TIMEOUT
        while not self._server.started:
            if not self._thread.is_alive() or time.monotonic() > deadline:
                raise LowfoldError("The explorer's server did not start; what it said stands above.")
            time.sleep(0.005)

    def _app(self) -> App:
        """The few things there are. None of them reads a path, a name or code from a request."""
        applications = needed("starlette.applications", "explore")
        routing = needed("starlette.routing", "explore")
        responses = needed("starlette.responses", "explore")
        scene, methods = self._workshop.scene.pack(), declared_methods()
        html = "".join(page_parts(f"'self' ws://{HOST}:{self.port} ws://localhost:{self.port}"))

        async def page(_: Request) -> Response:
            return responses.HTMLResponse(html)

        async def pack(_: Request) -> Response:
            return responses.Response(scene, media_type="application/octet-stream")

        async def declarations(_: Request) -> Response:
            return responses.JSONResponse({"runs": self._workshop.X is not None, "methods": methods})

        routes = [
            routing.Route(PAGE, page, methods=["GET"]),
            routing.Route("/scene", pack, methods=["GET"]),
            routing.Route("/methods", declarations, methods=["GET"]),
            routing.WebSocketRoute(SOCKET, self._connect),
        ]
        app = applications.Starlette(routes=routes)
        app.router.redirect_slashes = False
        return typing.cast(App, app)

    async def _connect(self, websocket: WebSocket) -> None:
        if self._connections >= MOST_CONNECTIONS:
            await websocket.close(TRY_AGAIN_LATER, f"{MOST_CONNECTIONS} pages are open already.")
            return
        self._connections += 1
        try:
            await Connection(websocket, self._workshop).serve()
        finally:
            self._connections -= 1


def _bound(port: int) -> socket.socket:
    """A socket that listens on this machine alone."""
    if not isinstance(port, int) or not 0 <= port < 2**16:
        raise ParameterError(f"port={port!r} must be a whole number from 0 to 65535; 0 takes one that is free.")
    bound = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    if sys.platform != "win32":  # there it would let another program in
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        bound.bind((HOST, port))
    except OSError as error:
        bound.close()
        raise ParameterError(f"port={port} cannot be used: {error.strerror}. Use another, or 0 for any.") from error
    return bound
