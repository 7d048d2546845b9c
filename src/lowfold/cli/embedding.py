"""`lowfold embed` and `lowfold transform`."""

from __future__ import annotations

import sys
from argparse import Namespace
from pathlib import Path
from typing import Any

import numpy as np

from lowfold import files
from lowfold.cli.flags import model_of
from lowfold.cli.outputs import check_map, check_outputs
from lowfold.cli.pages import page
from lowfold.cli.pictures import picture
from lowfold.cli.progress import Progress
from lowfold.cli.watched import Interrupted, check_same_columns, fit, note_columns, placed, read_model, read_table
from lowfold.estimator import tell_share
from lowfold.explorer import contents_for
from lowfold.methods import METHODS
from lowfold.model_file import save

INTERRUPTED = 130
PRINTED = 10_000  # rows that are written to standard output at once


def embed(chosen: Namespace) -> int:
    """Fits a method to a file; writes the map, its picture and the model. Ctrl-C keeps the best map so far."""
    check_outputs(chosen)
    model = model_of(METHODS[chosen.method], chosen)
    progress = Progress(quiet=chosen.quiet)
    table = read_table(chosen, progress, missing=getattr(model, "metric", None) == "precomputed")
    status = 0
    try:
        model = fit(model, table.X, progress)
    except Interrupted as interrupt:
        model, status = interrupt.model, INTERRUPTED
    except KeyboardInterrupt:
        chosen.interrupted = "before there was a map"
        raise
    _write_map(chosen, model.embedding_, table, chosen.method)
    if chosen.html:
        contents = contents_for(model, table.X, title=Path(chosen.data).name, features=table.columns)
        page(chosen.html, model, table, contents, progress)
        chosen.written.append(chosen.html)
    if chosen.save:
        note_columns(model, table)
        with progress.running(f"writing {Path(chosen.save).name}"):
            save(model, chosen.save)
        chosen.written.append(chosen.save)
    if status:
        kept = f"the best map so far, after {getattr(model, 'n_iter_', 0)} iterations, was kept"
        print(f"lowfold: interrupted; {kept}.", file=sys.stderr)
    elif not chosen.quiet:
        points, dimensions = model.embedding_.shape
        _report(chosen, f"{chosen.method}: {points} points in {dimensions} dimensions\n{model.report_}")
    return status


def transform(chosen: Namespace) -> int:
    """Places the rows of a file in a saved map."""
    check_outputs(chosen)
    progress = Progress(quiet=chosen.quiet)
    model = read_model(chosen.model, progress)
    table = read_table(chosen, progress, missing=getattr(model, "metric", None) == "precomputed")
    check_same_columns(model, table, chosen.data)
    names = {cls: name for name, cls in METHODS.items()}
    method = names.get(type(model), type(model).__name__.lower())
    if chosen.output:
        check_map(chosen.output, chosen.data, method)
    Y = placed(model, table.X, progress)
    if chosen.plot:
        picture(chosen.plot, lambda plot: _on_map(plot, model.embedding_, Y, table.labels), progress)
        chosen.written.append(chosen.plot)
    _write_map(chosen, Y, table, method, plot=False)
    if not chosen.quiet:
        _report(chosen, f"{method}: placed {len(Y)} points")
    return 0


def _write_map(chosen: Namespace, Y: Any, table: files.Table, method: str, *, plot: bool = True) -> None:
    progress = Progress(quiet=chosen.quiet)
    if chosen.output:
        with progress.running(f"writing {Path(chosen.output).name}"):
            files.write(chosen.output, Y, method=method, labels=table.labels, source=chosen.data)
        chosen.written.append(chosen.output)
    if plot and chosen.plot:
        title = f"{method}: {Path(chosen.data).name}"
        picture(chosen.plot, lambda draw: draw.scatter(Y, table.labels, title=title).figure, progress)
        chosen.written.append(chosen.plot)
    if _is_printed(chosen):
        _print_map(Y, method, chosen.quiet)


def _is_printed(chosen: Namespace) -> bool:
    """Whether the map goes to standard output: where no file is asked for."""
    return not any(getattr(chosen, name, None) for name in ("output", "plot", "html", "save"))


def _report(chosen: Namespace, text: str) -> None:
    """Says what was done; not among the rows of a map."""
    print(text, file=sys.stderr if _is_printed(chosen) else sys.stdout)


def _print_map(Y: Any, method: str, quiet: bool) -> None:
    """Writes the map to standard output, in pieces whose number is shown, unless they are seen to pass by anyway."""
    with Progress(quiet=quiet or sys.stdout.isatty()).running("writing the map"):
        print(",".join(f"{method}{axis + 1}" for axis in range(Y.shape[1])))
        for begin in range(0, len(Y), PRINTED):
            np.savetxt(sys.stdout, Y[begin : begin + PRINTED], delimiter=",", fmt="%.9g")
            tell_share(begin + PRINTED, len(Y))


def _on_map(plot: Any, old: Any, new: Any, labels: Any) -> Any:
    """The fitted map in grey, and the new points on it."""
    ax = plot.scatter(np.concatenate([old, new]), None, legend=False)
    ax.collections[0].set_color("#cccccc") if ax.collections else None
    plot.scatter(new, labels, ax=ax, title=f"{len(new)} new points among {len(old)}")
    return ax.figure
