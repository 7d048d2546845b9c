"""Pictures written to files, whole or not at all."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from lowfold.errors import FileError
from lowfold.model_file.container import write_whole
from lowfold.plot.canvas import pyplot

ENDINGS = ("png", "pdf", "svg", "jpg", "webp")


def check_picture(path: Any) -> str:
    """The ending of a picture that can be written."""
    ending = Path(path).suffix.lower().lstrip(".")
    if ending not in ENDINGS:
        raise FileError(f"{path} is no picture: its ending must be one of {', '.join(ENDINGS)}. Rename it.")
    pyplot()  # asked for by name where it is missing, before any work is done
    return ending


def picture(path: Any, draw: Callable[[Any], Any], *, dpi: int = 150) -> None:
    """Writes the figure that draw(lowfold.plot) returns."""
    ending = check_picture(path)
    pyplot().switch_backend("agg")
    from lowfold import plot

    figure = draw(plot)
    try:
        write_whole(path, lambda file: figure.savefig(file, format=ending, dpi=dpi))
    finally:
        pyplot().close(figure)
