"""What a command was asked to write, and whether it can be: checked before any work is done."""

from __future__ import annotations

import os
from argparse import Namespace
from pathlib import Path

from lowfold.cli.pages import check_page
from lowfold.cli.pictures import check_picture
from lowfold.errors import FileError
from lowfold.files.single_cell import check_free
from lowfold.files.writing import check_ending


def _place(path: str) -> Path:
    """Where a file is, whatever it is called."""
    return Path(path).resolve()


def _sources(chosen: Namespace) -> list[str]:
    return [path for name in ("data", "model", "map") if (path := getattr(chosen, name, None)) is not None]


def _is_added_to(chosen: Namespace, name: str) -> bool:
    """Whether the output is the data's own .h5ad, into which a map goes beside all that it holds."""
    return name == "output" and _place(chosen.output) == _place(chosen.data) and chosen.data.lower().endswith(".h5ad")


def check_outputs(chosen: Namespace, *, table: bool = False) -> None:
    """Refuses what cannot be written. table: the output is a table as csv, not a map."""
    taken = {_place(path): f"is read by this command ({path})" for path in _sources(chosen)}
    for name in ("output", "plot", "html", "save"):
        path = getattr(chosen, name, None)
        if path is None:
            continue
        within = next((folder for folder in _place(path).parents if folder in taken), _place(path))
        if within in taken and not _is_added_to(chosen, name):
            raise FileError(f"{path} cannot be written: it {taken[within]}. Choose another name.")
        taken[_place(path)] = f"is what --{name} writes too"
        if not Path(path).absolute().parent.is_dir():
            raise FileError(f"{path} cannot be written: its folder does not exist. Make it, or choose another.")
        if not path:
            raise FileError(f"--{name} names no file. Give it a name.")
        if path.endswith(("/", os.sep)) or Path(path).is_dir():
            raise FileError(f"{path} cannot be written: it is a folder. Choose another name.")
        if Path(path).exists() and not Path(path).is_file():
            raise FileError(f"{path} cannot be written: it is no file that could be replaced. Choose another name.")
        if name == "plot":
            check_picture(path)
        elif name == "html":
            check_page(path)
        elif name == "output" and table and Path(path).suffix.lower() != ".csv":
            raise FileError(f"{path} cannot be written: the table is a csv file. Rename it.")
        elif name == "output":
            check_map(path, chosen.data, getattr(chosen, "method", None))


def check_map(path: str, data: str, method: str | None) -> None:
    """Refuses a map that cannot be written, by a method if that is known."""
    if check_ending(path) == ".h5ad" and method is not None and data.lower().endswith(".h5ad"):
        check_free(Path(data), method)
