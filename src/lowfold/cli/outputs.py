"""What a command was asked to write, and whether it can be: checked before any work is done."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path

from lowfold.cli.pages import check_page
from lowfold.cli.pictures import check_picture
from lowfold.errors import FileError
from lowfold.files.writing import check_ending


def check_outputs(chosen: Namespace, *, table: bool = False) -> None:
    """Refuses what cannot be written. table: the output is a table as csv, not a map."""
    for name in ("output", "plot", "html", "save"):
        path = getattr(chosen, name, None)
        if path is None:
            continue
        if not Path(path).absolute().parent.is_dir():
            raise FileError(f"{path} cannot be written: its folder does not exist. Make it, or choose another.")
        if Path(path).is_dir():
            raise FileError(f"{path} cannot be written: it is a folder. Choose another name.")
        if name == "plot":
            check_picture(path)
        elif name == "html":
            check_page(path)
        elif name == "output" and table and Path(path).suffix.lower() != ".csv":
            raise FileError(f"{path} cannot be written: the table is a csv file. Rename it.")
        elif name == "output":
            check_ending(path)
