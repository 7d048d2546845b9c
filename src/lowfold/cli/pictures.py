"""Pictures drawn and written to files, whole or not at all."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO

from lowfold.cli.progress import Progress
from lowfold.errors import FileError
from lowfold.estimator import share_listener, tell_share, tell_stage
from lowfold.model_file.container import write_whole
from lowfold.plot.canvas import pyplot

ENDINGS = ("png", "pdf", "svg", "jpg", "webp")
BYTES = {"svg": 109, "pdf": 15}  # of a point, where each is written by itself
PIXELS = "pixels"  # the stage in which the others are made
PANEL_SECONDS, POINT_SECONDS = 0.03, 5e-7  # of it


def check_picture(path: Any) -> str:
    """The ending of a picture that can be written."""
    ending = Path(path).suffix.lower().lstrip(".")
    if ending not in ENDINGS:
        raise FileError(f"{path} is no picture: its ending must be one of {', '.join(ENDINGS)}. Rename it.")
    pyplot()  # asked for by name where it is missing, before any work is done
    return ending


def picture(path: Any, draw: Callable[[Any], Any], progress: Progress, *, dpi: int = 150) -> None:
    """Writes the figure that draw(lowfold.plot) returns."""
    ending = check_picture(path)
    pyplot().switch_backend("agg")
    with progress.running("drawing"):
        from lowfold import plot

        figure = draw(plot)
    points = _points(figure)
    plan = {} if ending in BYTES else {PIXELS: PANEL_SECONDS * len(figure.axes) + POINT_SECONDS * points}
    try:
        with progress.running(f"writing {Path(path).name}", plan=plan):
            write_whole(path, lambda file: _put(figure, file, ending, dpi))
    finally:
        pyplot().close(figure)


def _points(figure: Any) -> int:
    """How many points a figure shows one by one; not those that are shades."""
    drawn = [part for ax in figure.axes for part in ax.collections if not part.get_rasterized()]
    return sum(len(part.get_offsets()) for part in drawn)


def _put(figure: Any, file: BinaryIO, ending: str, dpi: int) -> None:
    if share_listener.get() is None or ending not in BYTES:
        tell_stage(PIXELS)
        figure.savefig(file, format=ending, dpi=dpi)
        return
    with io.BufferedWriter(Written(file, BYTES[ending] * _points(figure)), buffer_size=1 << 18) as told:
        figure.savefig(told, format=ending, dpi=dpi)


class Written(io.RawIOBase):
    """Tells how much of the bytes that are expected has been written to a file, which it does not close."""

    def __init__(self, file: BinaryIO, expected: float) -> None:
        super().__init__()
        self._file, self._expected = file, expected

    def writable(self) -> bool:
        """True."""
        return True

    def tell(self) -> int:
        """The place."""
        return self._file.tell()

    def write(self, data: Any) -> int:
        """Passes the bytes on; returns how many they are."""
        count = self._file.write(data)
        tell_share(self._file.tell(), self._expected)
        return count
