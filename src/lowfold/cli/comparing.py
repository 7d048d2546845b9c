"""`lowfold compare`."""

from __future__ import annotations

import csv
import io
import sys
from argparse import Namespace
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from lowfold import files
from lowfold.cli.outputs import check_outputs
from lowfold.cli.pages import page
from lowfold.cli.pictures import picture
from lowfold.cli.planning import LEAST_ROWS, plan_for_all
from lowfold.cli.progress import Progress
from lowfold.cli.scoring import neighbors_to_compare
from lowfold.cli.watched import read_table
from lowfold.comparison import Comparison, Running
from lowfold.errors import DataError
from lowfold.explorer import Contents
from lowfold.judging import Judging
from lowfold.methods import METHODS
from lowfold.model_file.container import write_whole

INTERRUPTED = 130


def compare_methods(chosen: Namespace) -> int:
    """Fits several methods to a file and prints the table of quality, time and memory; Ctrl-C keeps those that are
    finished."""
    check_outputs(chosen, table=True)
    names = list(METHODS) if chosen.methods == "all" else [name.strip() for name in chosen.methods.split(",")]
    progress = Progress(quiet=chosen.quiet)
    table = read_table(chosen, progress)
    labels = None if table.labels is None else np.unique(table.labels, return_inverse=True)[1]
    judging = Judging(k=neighbors_to_compare(chosen.k, table.X.shape[0]))
    running, ctrl_c, plan = Running(table.X, names, judging), Stoppable(), {}
    if progress.shown and table.X.shape[0] >= LEAST_ROWS:
        with progress.running("each method on a few rows, to tell the time"):
            plan = plan_for_all(names, table.X, labels, judging, progress.part)
    with progress.running("comparing", plan=plan):
        with ctrl_c.until_ctrl_c():
            running.fit(partial(_begin, progress, names))
        with ctrl_c.until_ctrl_c():
            running.judge(labels)
    if ctrl_c.interrupted and not running.entries:
        chosen.interrupted = "before a method was finished"
        raise KeyboardInterrupt
    _write(chosen, running.found, table, judging, progress)
    if ctrl_c.interrupted:
        finished = ", ".join(entry.name for entry in running.entries)
        print(f"lowfold: interrupted; what was finished was kept: {finished}.", file=sys.stderr)
        return INTERRUPTED
    if all(entry.model is None for entry in running.entries):
        raise DataError(f"No method could embed {chosen.data}; the table says why of each. Choose others.")
    return 0


class Stoppable:
    """A piece of work that Ctrl-C ends, and what comes after it goes on."""

    interrupted = False

    @contextmanager
    def until_ctrl_c(self) -> Iterator[None]:
        """Ends what is inside."""
        try:
            yield
        except KeyboardInterrupt:
            self.interrupted = True


def _begin(progress: Progress, names: list[str], name: str) -> None:
    """A method's turn: where nothing was foreseen, the number of those before it tells how much is done."""
    progress.part(name, 0.0 if progress.plan else names.index(name) / len(names))


def _write(chosen: Namespace, found: Comparison, table: files.Table, judging: Judging, progress: Progress) -> None:
    """Prints the table, and writes it, the picture and the page where they are asked for."""
    print(found)
    if chosen.output:
        content = _text(found.rows()).encode()
        write_whole(chosen.output, lambda file: _put(file, content))
        chosen.written.append(chosen.output)
    if chosen.plot and found.maps:
        picture(chosen.plot, lambda plot: plot.grid(found.maps, table.labels)[0].figure, progress)
        chosen.written.append(chosen.plot)
    if chosen.html and found.maps:
        contents = Contents(title=Path(chosen.data).name, k=judging.k, features=table.columns or "auto")
        page(chosen.html, found, table, contents, progress)
        chosen.written.append(chosen.html)


def _put(file: BinaryIO, content: bytes) -> None:
    file.write(content)


def _text(rows: list[dict[str, Any]]) -> str:
    names = list(dict.fromkeys(name for row in rows for name in row))
    out = io.StringIO()
    writer = csv.DictWriter(out, names, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()
