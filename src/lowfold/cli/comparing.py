"""`lowfold compare`."""

from __future__ import annotations

import csv
import io
from argparse import Namespace
from typing import Any, BinaryIO

import numpy as np

from lowfold.cli.estimates import plan_for_all
from lowfold.cli.pictures import picture
from lowfold.cli.progress import ESTIMATED_FROM, Progress, read_table
from lowfold.comparison import Judging, compare
from lowfold.errors import FileError
from lowfold.methods import METHODS
from lowfold.model_file.container import write_whole


def compare_methods(chosen: Namespace) -> int:
    """Fits several methods to a file and prints the table of quality, time and memory."""
    if chosen.output and not str(chosen.output).endswith(".csv"):
        raise FileError(f"{chosen.output} cannot be written: the table is a csv file. Rename it.")
    names = list(METHODS) if chosen.methods == "all" else [name.strip() for name in chosen.methods.split(",")]
    progress = Progress(quiet=chosen.quiet)
    table = read_table(chosen, progress)
    labels = None if table.labels is None else np.unique(table.labels, return_inverse=True)[1]
    judging = Judging(k=chosen.k)
    if progress.shown and table.X.shape[0] >= ESTIMATED_FROM:
        with progress.running("each method on a few rows, to tell the time"):
            plan = plan_for_all(names, table.X)
        progress.plan = plan
    with progress.running("comparing"):
        found = compare(table.X, names, labels=labels, judging=judging, callback=progress.part)
    print(found)
    if chosen.output:
        content = _text(found.rows()).encode()
        write_whole(chosen.output, lambda file: _put(file, content))
        chosen.written.append(chosen.output)
    if chosen.plot:
        with progress.running("drawing"):
            picture(chosen.plot, lambda plot: plot.grid(found.maps, table.labels)[0].figure)
        chosen.written.append(chosen.plot)
    return 0 if found.maps else 1


def _put(file: BinaryIO, content: bytes) -> None:
    file.write(content)


def _text(rows: list[dict[str, Any]]) -> str:
    names = list(dict.fromkeys(name for row in rows for name in row))
    out = io.StringIO()
    writer = csv.DictWriter(out, names, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()
