"""Text files of rows: commas, tabs, semicolons or spaces, with or without a header."""

from __future__ import annotations

import contextlib
import csv
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lowfold.errors import FileError
from lowfold.files.counted import counted_lines

DELIMITERS = (",", "\t", ";")


def read_delimited(path: Path, delimiter: str | None) -> dict[str, NDArray[Any]]:
    """The columns by their names (without a header: column1, column2, ...): float64, or text."""
    with path.open(newline="", encoding="utf-8-sig") as file:
        first = next((line for line in file if line.strip()), "")
    if not first:
        raise FileError(f"{path} is empty. Pass a file with a row for each point.")
    delimiter = delimiter or max(DELIMITERS, key=first.count)
    if delimiter not in first:
        delimiter = " " if len(first.split()) > 1 else ","
    cells = next(csv.reader([first.strip() if delimiter == " " else first], delimiter=delimiter, skipinitialspace=True))
    header = not any(is_number(cell) for cell in cells) or (
        not all(is_number(cell) for cell in cells) and _second_differs(path, cells, delimiter)
    )
    names = [cell.strip() for cell in cells] if header else [f"column{i + 1}" for i in range(len(cells))]
    if len(set(names)) < len(names):
        repeated = next(name for name in names if names.count(name) > 1)
        raise FileError(f"{path} has two columns called {repeated!r}. Rename one.")
    return _values(path, delimiter, names, header=header)


def _values(path: Path, delimiter: str, names: list[str], *, header: bool) -> dict[str, NDArray[Any]]:
    with warnings.catch_warnings(), contextlib.suppress(ValueError):
        warnings.simplefilter("ignore", UserWarning)  # no rows: said below
        return _quickly(path, delimiter, names, header=header)
    with path.open(newline="", encoding="utf-8-sig") as file:
        rows = [row for row in _rows(file, path, delimiter) if any(row)]
    rows = rows[1:] if header else rows
    if not rows:
        raise FileError(f"{path} has a header and no rows. Pass a file with a row for each point.")
    for number, row in enumerate(rows, 1 + header):
        if len(row) != len(names):
            raise FileError(f"Row {number} of {path} has {len(row)} cells, the first has {len(names)}. Fill or cut it.")
    return {name: _column([row[at] for row in rows], name, path, header) for at, name in enumerate(names)}


def _quickly(path: Path, delimiter: str, names: list[str], *, header: bool) -> dict[str, NDArray[Any]]:
    """The columns, those of numbers by NumPy; ValueError where a cell or a row is not what the first row promises."""
    with path.open(newline="", encoding="utf-8-sig") as file:
        rows = (row for row in csv.reader(file, delimiter=delimiter, skipinitialspace=True) if any(row))
        first = next((row for number, row in enumerate(rows) if number == header), [])
    text = [at for at, cell in enumerate(first) if not is_number(cell)]
    numbers = [at for at in range(len(first)) if at not in text]
    if len(first) != len(names) or not numbers:
        raise ValueError
    with path.open(encoding="utf-8-sig") as file:
        X = np.loadtxt(
            counted_lines(file, path.stat().st_size),
            delimiter=None if delimiter == " " else delimiter,
            skiprows=_lines_before(path) if header else 0,
            usecols=numbers if text else None,
            quotechar='"' if text else None,
            ndmin=2,
            comments=None,
        )
    columns = dict(zip([names[at] for at in numbers], X.T, strict=True))
    if text:
        columns |= _texts(path, delimiter, {at: names[at] for at in text}, (len(X) + header, len(names)))
    return {name: columns[name][-len(X) :] for name in names}


def _texts(path: Path, delimiter: str, wanted: dict[int, str], shape: tuple[int, int]) -> dict[str, NDArray[Any]]:
    """Some columns as text; ValueError where the rows are not of this shape."""
    cells: dict[int, list[str]] = {at: [] for at in wanted}
    with path.open(newline="", encoding="utf-8-sig") as file:
        for row in _rows(file, path, delimiter):
            if not any(row):
                continue
            if len(row) != shape[1]:
                raise ValueError
            for at, column in cells.items():
                column.append(row[at])
    if len(next(iter(cells.values()))) != shape[0]:
        raise ValueError
    return {wanted[at]: np.array(column) for at, column in cells.items()}


def _rows(file: Any, path: Path, delimiter: str) -> Iterator[list[str]]:
    return csv.reader(counted_lines(file, path.stat().st_size), delimiter=delimiter, skipinitialspace=True)


def _column(cells: list[str], name: str, path: Path, header: bool) -> NDArray[Any]:
    numbers = [is_number(cell) for cell in cells]
    if all(numbers):
        return np.array(cells, dtype=np.float64)
    if sum(numbers) > len(cells) / 2:
        row = numbers.index(False)
        what = repr(cells[row]) if cells[row].strip() else "nothing"
        raise FileError(
            f"Row {row + 1 + header}, column {name!r} of {path} holds {what} where numbers stand otherwise. "
            f"Fill it, or leave the row out."
        )
    return np.array(cells)


def _second_differs(path: Path, cells: list[str], delimiter: str) -> bool:
    """Whether a first row with some text is a header: below some of its text stand numbers."""
    with path.open(newline="", encoding="utf-8-sig") as file:
        rows = [row for row in csv.reader(file, delimiter=delimiter) if any(row)][:2]
    return len(rows) > 1 and any(not is_number(a) and is_number(b) for a, b in zip(cells, rows[1], strict=False))


def _lines_before(path: Path) -> int:
    """Lines up to and with the header."""
    with path.open(encoding="utf-8-sig") as file:
        return 1 + next(number for number, line in enumerate(file) if line.strip())


def is_number(cell: str) -> bool:
    """Whether a cell is a number that is there."""
    try:
        return np.isfinite(float(cell)) or cell.strip().lower().lstrip("+-") in ("nan", "inf", "infinity")
    except ValueError:
        return False
