"""`lowfold embed` and `lowfold transform`."""

from __future__ import annotations

import sys
from argparse import Namespace
from pathlib import Path
from typing import Any

import numpy as np

from lowfold import files
from lowfold.cli.flags import model_of
from lowfold.cli.pages import check_page, page
from lowfold.cli.pictures import check_picture, picture
from lowfold.cli.progress import Interrupted, Progress, fit
from lowfold.errors import FileError
from lowfold.explorer import contents_for
from lowfold.files.writing import check_ending
from lowfold.methods import METHODS
from lowfold.model_file import load, save

INTERRUPTED = 130


def embed(chosen: Namespace) -> int:
    """Fits a method to a file; writes the map, its picture and the model. Ctrl-C keeps the best map so far."""
    _check_outputs(chosen, "output", "plot", "html", "save")
    model = model_of(METHODS[chosen.method], chosen)
    table = files.read(chosen.data, labels=chosen.labels, name=chosen.name)
    progress = Progress(quiet=chosen.quiet)
    status = 0
    try:
        model = fit(model, table.X, progress)
    except Interrupted as interrupt:
        model, status = interrupt.model, INTERRUPTED
    _write_map(chosen, model.embedding_, table, chosen.method)
    if chosen.html:
        with progress.running("judging"):
            contents = contents_for(model, table.X, title=Path(chosen.data).name, features=table.columns)
            page(chosen.html, model, table, contents)
    if chosen.save and status == 0:
        save(model, chosen.save)
    if status:
        kept = f"the best map so far, after {model.n_iter_} iterations, was kept"
        print(f"lowfold: interrupted; {kept}.", file=sys.stderr)
    elif not chosen.quiet:
        print(f"{chosen.method}: {len(model.embedding_)} points in {model.embedding_.shape[1]} dimensions")
        print(model.report_)
    return status


def transform(chosen: Namespace) -> int:
    """Places the rows of a file in a saved map."""
    _check_outputs(chosen, "output", "plot")
    model = load(chosen.model)
    table = files.read(chosen.data, labels=chosen.labels, name=chosen.name)
    progress = Progress(quiet=chosen.quiet)
    with progress.running("placing"):
        Y = model.transform(table.X)
    names = {cls: name for name, cls in METHODS.items()}
    method = names.get(type(model), type(model).__name__.lower())
    if chosen.plot:
        picture(chosen.plot, lambda plot: _on_map(plot, model.embedding_, Y, table.labels))
    _write_map(chosen, Y, table, method, plot=False)
    if not chosen.quiet:
        print(f"{method}: placed {len(Y)} points")
    return 0


def _write_map(chosen: Namespace, Y: Any, table: files.Table, method: str, *, plot: bool = True) -> None:
    if chosen.output:
        files.write(chosen.output, Y, method=method, labels=table.labels, source=chosen.data)
    if plot and chosen.plot:
        title = f"{method}: {Path(chosen.data).name}"
        picture(chosen.plot, lambda draw: draw.scatter(Y, table.labels, title=title).figure)
    if not any(getattr(chosen, name, None) for name in ("output", "plot", "html", "save")):
        np.savetxt(sys.stdout, Y, delimiter=",", fmt="%.9g", header=_header(method, Y), comments="")


def _header(method: str, Y: Any) -> str:
    return ",".join(f"{method}{axis + 1}" for axis in range(Y.shape[1]))


def _on_map(plot: Any, old: Any, new: Any, labels: Any) -> Any:
    """The fitted map in grey, and the new points on it."""
    ax = plot.scatter(np.concatenate([old, new]), None, legend=False)
    ax.collections[0].set_color("#cccccc") if ax.collections else None
    plot.scatter(new, labels, ax=ax, title=f"{len(new)} new points among {len(old)}")
    return ax.figure


def _check_outputs(chosen: Namespace, *names: str) -> None:
    """Refuses what cannot be written before any work is done."""
    for name in names:
        path = getattr(chosen, name, None)
        if path is None:
            continue
        if not Path(path).absolute().parent.is_dir():
            raise FileError(f"{path} cannot be written: its folder does not exist. Make it, or choose another.")
        if name == "output":
            check_ending(path)
        elif name == "plot":
            check_picture(path)
        elif name == "html":
            check_page(path)
