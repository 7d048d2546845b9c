"""Pages to explore maps in a browser, written to files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from lowfold.errors import FileError
from lowfold.explorer import Contents, make_scene, write_page
from lowfold.files import Table


def check_page(path: Any) -> None:
    """Refuses what no browser would take for a page."""
    if Path(path).suffix.lower() not in (".html", ".htm"):
        raise FileError(f"{path} is no page: its ending must be .html. Rename it.")


def page(path: Any, maps: Any, table: Table, contents: Contents) -> None:
    """Writes the maps of a file's rows, with their labels, names and images."""
    images = None if table.shape is None else table.X.reshape(-1, *table.shape)
    columns = None if table.names is None else {"name": table.names}
    scene = make_scene(table.X, maps, labels=table.labels, columns=columns, images=images, contents=contents)
    write_page(path, scene)
