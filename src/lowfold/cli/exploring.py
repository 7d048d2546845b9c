"""`lowfold explore`."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import Any

import numpy as np

from lowfold import files
from lowfold.cli.flags import whole_number
from lowfold.cli.pages import plan_of
from lowfold.cli.progress import Progress
from lowfold.cli.watched import Interrupted, fit, read_map, read_model
from lowfold.errors import LowfoldError, ParameterError
from lowfold.estimator import Estimator
from lowfold.explorer.opening import FIRST_MAPS, Serving, data_of, explore, fitted_maps
from lowfold.explorer.panels import method_title
from lowfold.explorer.scene import Contents, contents_for
from lowfold.explorer.server import needed
from lowfold.methods import METHODS

MODEL = ".lowfold"


def add_explore(commands: Any) -> ArgumentParser:
    """The command and its flags."""
    explore: ArgumentParser = commands.add_parser(
        "explore", help="maps of a file in a browser, where methods can be run"
    )
    explore.add_argument(
        "sources", nargs="+", metavar="FILE", help="data; or models and maps, of which several are shown side by side"
    )
    explore.add_argument("--data", metavar="FILE", help="the data, if all other files are models or maps of them")
    explore.add_argument(
        "--methods", metavar="A,B,...|all", help="fitted to the data first; default: pca,umap where no map is given"
    )
    explore.add_argument("--port", type=whole_number(0, 65535), default=0, help="default: one that is free")
    explore.add_argument("--no-browser", action="store_true", help="only print the address")
    explore.set_defaults(run=explore_files)
    return explore


def explore_files(chosen: Namespace) -> int:
    """Serves the page until Ctrl-C."""
    needed("uvicorn", "explore")
    progress = Progress(quiet=chosen.quiet)
    table, maps = _opened(chosen, progress)
    X = None if table is None else table.X
    names = None if table is None or table.names is None else {"name": table.names}
    contents = _contents(chosen, table, list(maps.values()))
    serving = Serving(port=chosen.port, browser=not chosen.no_browser, contents=contents)
    labels, images = (None, None) if table is None else (table.labels, _images(table))
    with progress.running("judging", plan=plan_of(table, maps, contents, progress)):
        explorer = explore(X, maps, labels=labels, columns=names, images=images, serving=serving)
    print(f"{explorer.address}\nCtrl-C ends it.", flush=True)
    explorer.wait()
    return 0


def _contents(chosen: Namespace, table: files.Table | None, maps: list[Any]) -> Contents:
    """What the page holds; one model alone is judged by the metric that it was fitted with."""
    title = ", ".join(Path(path).name for path in chosen.sources)
    features = "auto" if table is None or table.columns is None else table.columns
    if table is not None and len(maps) == 1 and isinstance(maps[0], Estimator):
        return contents_for(maps[0], table.X, title=title, features=features)
    return Contents(title=title, features=features)


def _opened(chosen: Namespace, progress: Progress) -> tuple[files.Table | None, dict[str, Any]]:
    """(the data, the maps by title): one file that is no model is the data, else all are maps of --data."""
    models = {path: read_model(path, progress) for path in chosen.sources if Path(path).suffix.lower() == MODEL}
    tables = [path for path in chosen.sources if path not in models]
    data = chosen.data or (tables.pop() if len(tables) == 1 else None)
    if chosen.labels and data is None:
        raise ParameterError(
            f"--labels {chosen.labels} names a column of the data. Say which file that is: --data FILE."
        )
    table = None if data is None else _table(data, chosen, progress)
    maps = {Path(path).stem: model for path, model in models.items()}
    maps |= {Path(path).stem: read_map(path, progress) for path in tables}
    if table is None:
        table = _kept(models)
    if table is not None and (chosen.methods or not maps):
        maps |= _fits(chosen, table.X, progress)
    return table, maps


def _table(path: str, chosen: Namespace, progress: Progress) -> files.Table:
    with progress.running(f"reading {Path(path).name}"):
        return files.read(path, labels=chosen.labels, name=chosen.name)


def _fits(chosen: Namespace, X: Any, progress: Progress) -> dict[str, Any]:
    """The methods that were asked for, fitted; what one cannot do is said, and the others are shown."""
    wanted = chosen.methods or ",".join(FIRST_MAPS)
    names = list(METHODS) if wanted == "all" else [name.strip() for name in wanted.split(",")]
    found: dict[str, Any] = {}
    errors: list[LowfoldError] = []
    for name in names:
        try:
            found |= fitted_maps(X, [name], lambda model, rows: fit(model, rows, progress))
        except Interrupted as interrupt:
            found[method_title(METHODS[name])] = interrupt.model
        except LowfoldError as error:
            errors.append(error)
            print(f"lowfold: note: {name}: {' '.join(str(error).split())}", file=sys.stderr)
    if not found:
        raise errors[0]
    return found


def _kept(models: dict[str, Estimator]) -> files.Table | None:
    """The rows that all models were fitted to, if one of them keeps them."""
    rows = [values for values in map(data_of, models.values()) if values is not None]
    return files.Table(rows[0]) if rows else None


def _images(table: files.Table) -> Any:
    """The pictures of a folder."""
    return None if table.shape is None else np.asarray(table.X).reshape(-1, *table.shape)
