"""`lowfold compare`."""

from __future__ import annotations

import csv
import io
import sys
from argparse import Namespace
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from lowfold import comparison, files
from lowfold.cli.outputs import check_outputs
from lowfold.cli.pages import page
from lowfold.cli.pictures import picture
from lowfold.cli.planning import LEAST_ROWS, plan_for_all
from lowfold.cli.progress import Progress
from lowfold.cli.scoring import neighbors_to_compare
from lowfold.cli.watched import read_table
from lowfold.comparison import JUDGING, Comparison, Judging, judge
from lowfold.errors import DataError
from lowfold.estimator import tell_stage
from lowfold.explorer import Contents
from lowfold.methods import METHODS
from lowfold.metrics.score import read_data
from lowfold.model_file.container import write_whole
from lowfold.neighbors.sharing import shared_neighbors

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
    found, plan = Rows(table.X, names), {}
    if progress.shown and table.X.shape[0] >= LEAST_ROWS:
        with progress.running("each method on a few rows, to tell the time"):
            plan = plan_for_all(names, table.X, labels, judging, progress.part)
    with progress.running("comparing", plan=plan):
        found.fit(progress)
        found.judge(labels, judging)
    if found.interrupted and not found.entries:
        chosen.interrupted = "before a method was finished"
        raise KeyboardInterrupt
    _write(chosen, Comparison(found.entries, found.searches), table, judging, progress)
    if found.interrupted:
        finished = ", ".join(entry.name for entry in found.entries)
        print(f"lowfold: interrupted; what was finished was kept: {finished}.", file=sys.stderr)
        return INTERRUPTED
    if all(entry.model is None for entry in found.entries):
        raise DataError(f"No method could embed {chosen.data}; the table says why of each. Choose others.")
    return 0


class Rows:
    """The rows of a table as `lowfold.comparison.compare` makes them; those that are there when Ctrl-C is pressed stay.

    While methods are fitted, it ends the fits, and what is fitted is judged; again, it ends that too.
    """

    def __init__(self, X: Any, names: list[str]) -> None:
        self._models = comparison.models_of(names)
        self._data = read_data(X, Judging().metric)
        self.entries: list[comparison.Entry] = []
        self.searches, self.interrupted = 0, False

    def fit(self, progress: Progress) -> None:
        """Fits the methods one after another. Without a plan, the number of those before tells how much is done."""
        with self._until_ctrl_c(), shared_neighbors() as shared:
            comparison.search_once(self._data, list(self._models.values()))
            for number, (name, model) in enumerate(self._models.items()):
                progress.part(name, 0.0 if progress.plan else number / len(self._models))
                self.entries.append(comparison.fitted(name, model, self._data.values))
                self.searches = shared.searches

    def judge(self, labels: Any, judging: Judging) -> None:
        """Adds the scores of each map that is there."""
        with self._until_ctrl_c():
            for number, entry in enumerate(self.entries):
                tell_stage(f"{JUDGING} {entry.name}")
                if entry.embedding is not None:
                    scores = judge(self._data.values, entry.embedding, labels, judging)
                    self.entries[number] = replace(entry, scores=scores)

    @contextmanager
    def _until_ctrl_c(self) -> Iterator[None]:
        try:
            yield
        except KeyboardInterrupt:
            self.interrupted = True


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
