"""The widget itself. Imported when it is first needed: what it is made of comes with an extra."""

from __future__ import annotations

import json
import threading
from collections.abc import Hashable
from pathlib import Path
from typing import Any

import anywidget
import numpy as np
import traitlets

from lowfold.errors import ParameterError
from lowfold.explorer.forms import declared_methods
from lowfold.explorer.orders import Orders
from lowfold.explorer.page import page_parts
from lowfold.explorer.runs import Workshop

SCRIPT = Path(__file__).with_name("notebook.js")
HEIGHT = 640  # pixels


class Telling:
    """Sends messages about runs to the page of a widget; steps only as fast as it takes them."""

    def __init__(self, send: Any) -> None:
        self._send = send
        self._steps: set[Hashable] = set()
        self._lock = threading.Lock()

    def tell(self, key: Hashable, message: dict[str, Any] | bytes) -> None:
        """Sends a message."""
        with self._lock:
            if isinstance(message, bytes):
                self._steps.add(key)
                self._send({}, buffers=[message])
            else:
                self._send(message)

    def waits(self, key: Hashable) -> bool:
        """Whether the page has not said yet that it took the last pack under this key."""
        return key in self._steps

    def taken(self) -> None:
        """The page took what it was sent."""
        with self._lock:
            self._steps.clear()


class ExplorerWidget(anywidget.AnyWidget):
    """The page, its scene, and the rows that are selected in it."""

    _esm = SCRIPT.read_text(encoding="utf-8")
    _page = traitlets.Unicode().tag(sync=True)
    _scene = traitlets.Bytes().tag(sync=True)
    _methods = traitlets.Unicode().tag(sync=True)
    _rows = traitlets.Bytes().tag(sync=True, from_json=lambda value, _: bytes(value))  # a view of the message
    height = traitlets.Int(HEIGHT).tag(sync=True)

    def __init__(self, workshop: Workshop) -> None:
        before, after = page_parts()
        told = {"runs": workshop.X is not None, "methods": declared_methods()}
        super().__init__(
            _page=before.replace("<body>", '<body data-server="frame">', 1) + after,
            _scene=workshop.scene.pack(),
            _methods=json.dumps(told),
        )
        self._n = workshop.scene.n
        self._telling = Telling(self.send)
        self._orders = Orders(workshop, self._telling)
        self.on_msg(self._heard)

    @property
    def selection(self) -> Any:
        """The rows that are selected, ascending."""
        return np.frombuffer(self._rows, "<u4").astype(np.intp)

    @selection.setter
    def selection(self, rows: Any) -> None:
        """Selects rows."""
        chosen = np.unique(np.asarray(rows))
        whole = chosen.size == 0 or chosen.dtype.kind in "iu"
        if not whole or (chosen.size and not 0 <= chosen[0] <= chosen[-1] < self._n):
            raise ParameterError(f"selection={rows!r} must be numbers of points from 0 to {self._n - 1}.")
        self._rows = chosen.astype("<u4").tobytes()

    def close(self) -> None:
        """Stops all runs and ends the widget."""
        if hasattr(self, "_orders"):
            self._orders.abandon()
        super().close()

    def _heard(self, _: Any, content: Any, __: Any) -> None:
        if isinstance(content, dict) and content.get("taken"):
            self._telling.taken()
        elif isinstance(content, dict) and isinstance(content.get("text"), str):
            self._orders.hear(content["text"])
