"""`lowfold compare`."""

from __future__ import annotations

import csv
import io
from argparse import Namespace
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from lowfold import files
from lowfold.cli.pages import check_page, page
from lowfold.cli.pictures import picture
from lowfold.cli.progress import Progress
from lowfold.comparison import Judging, compare
from lowfold.errors import FileError
from lowfold.explorer import Contents
from lowfold.methods import METHODS
from lowfold.model_file.container import write_whole


def compare_methods(chosen: Namespace) -> int:
    """Fits several methods to a file and prints the table of quality, time and memory."""
    if chosen.output and not str(chosen.output).endswith(".csv"):
        raise FileError(f"{chosen.output} cannot be written: the table is a csv file. Rename it.")
    if chosen.html:
        check_page(chosen.html)
    names = list(METHODS) if chosen.methods == "all" else [name.strip() for name in chosen.methods.split(",")]
    table = files.read(chosen.data, labels=chosen.labels, name=chosen.name)
    labels = None if table.labels is None else np.unique(table.labels, return_inverse=True)[1]
    progress = Progress(quiet=chosen.quiet)
    with progress.running("comparing"):
        found = compare(
            table.X, names, labels=labels, judging=Judging(k=chosen.k), callback=lambda name: _named(progress, name)
        )
    print(found)
    if chosen.output:
        content = _text(found.rows()).encode()
        write_whole(chosen.output, lambda file: _put(file, content))
    if chosen.html and found.maps:
        with progress.running("judging"):
            contents = Contents(title=Path(chosen.data).name, k=chosen.k, features=table.columns or "auto")
            page(chosen.html, found, table, contents)
    if chosen.plot:
        picture(chosen.plot, lambda plot: plot.grid(found.maps, table.labels)[0].figure)
    return 0 if found.maps else 1


def _put(file: BinaryIO, content: bytes) -> None:
    file.write(content)


def _named(progress: Progress, name: str) -> None:
    progress.title = name


def _text(rows: list[dict[str, Any]]) -> str:
    names = list(dict.fromkeys(name for row in rows for name in row))
    out = io.StringIO()
    writer = csv.DictWriter(out, names, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()
