"""Pages to explore maps in a browser, written to files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from lowfold.cli.planning import plan_for_page
from lowfold.cli.progress import Progress
from lowfold.errors import FileError
from lowfold.explorer import Contents, make_scene, write_page
from lowfold.explorer.scene import sources_of
from lowfold.files import Table


def check_page(path: Any) -> None:
    """Refuses what no browser would take for a page."""
    if Path(path).suffix.lower() not in (".html", ".htm"):
        raise FileError(f"{path} is no page: its ending must be .html. Rename it.")


def page(path: Any, maps: Any, table: Table, contents: Contents, progress: Progress) -> None:
    """Writes the maps of a file's rows, with their labels, names and images."""
    images = None if table.shape is None else table.X.reshape(-1, *table.shape)
    columns = None if table.names is None else {"name": table.names}
    name, plan = Path(path).name, plan_of(table, maps, contents, progress)
    with progress.running(name, plan=plan):
        scene = make_scene(table.X, maps, labels=table.labels, columns=columns, images=images, contents=contents)
    with progress.running(f"writing {name}"):
        write_page(path, scene)


def plan_of(table: Table | None, maps: Any, contents: Contents, progress: Progress) -> dict[str, float]:
    """Seconds of each stage of judging maps, for who watches."""
    if table is None or not progress.shown or not contents.judged:
        return {}
    with progress.running("judging by a few points, to tell the time"):
        return plan_for_page(table.X, sources_of(maps), table.labels, contents, progress.part)
