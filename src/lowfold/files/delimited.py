"""Text files of rows: commas, tabs, semicolons or spaces, with or without a header."""

from __future__ import annotations

import contextlib
import csv
import io
import re
import warnings
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lowfold.errors import FileError, warn
from lowfold.estimator import tell_share
from lowfold.files.counted import counted_lines, part_of_share

DELIMITERS = (",", "\t", ";")


def read_delimited(path: Path, delimiter: str | None, labels: str | None = None) -> dict[str, NDArray[Any]]:
    """The columns by their names (without a header: column1, column2, ...): float64, or text.

    labels: the column of these; they are text where numbers would make one of two (007 and 7).
    """
    with path.open(newline="", encoding="utf-8-sig") as file:
        first = next((line for line in file if line.strip()), "")
    if not first:
        raise FileError(f"{path} is empty. Pass a file with a row for each point.")
    delimiter = delimiter or max(DELIMITERS, key=first.count)
    if delimiter not in first:
        delimiter = " " if len(first.split()) > 1 else ","
    cells = next(csv.reader([first.strip() if delimiter == " " else first], delimiter=delimiter, skipinitialspace=True))
    text = any(cell.strip() and not is_number(cell) for cell in cells)
    header = _is_numbered(path, cells, delimiter) or (
        text and (not any(is_number(cell) for cell in cells) or _second_differs(path, cells, delimiter))
    )
    names = [cell.strip() for cell in cells] if header else counted(len(cells))
    if "" in names[1:]:
        place = names.index("", 1) + 1
        raise FileError(f"Column {place} of {path} has no name, as only that of the rows' names may. Give it one.")
    if len(set(names)) < len(names):
        repeated = next(name for name in names if names.count(name) > 1)
        raise FileError(f"{path} has two columns called {repeated!r}. Rename one.")
    if not header and _counts(cells):
        warn(
            f"The first row of {path}, {', '.join(cells[:3])}, ..., is taken for a point. If it counts the columns, as "
            f"pandas does where they have no names, leave it out (to_csv(header=False)), or give them names."
        )
    return _values(path, delimiter, names, labels, header=header)


def _is_numbered(path: Path, cells: list[str], delimiter: str) -> bool:
    """Whether a first row is the header that pandas gives to columns without names: beside the names of the rows, or
    above numbers with a point. Elsewhere nothing among numbers is a number that is missing."""
    if len(cells) > 1 and cells == ["", *map(str, range(len(cells) - 1))]:
        return True
    if not _counts(cells) or not any("." in cell and is_number(cell) for cell in _row(path, delimiter, 1)):
        return False
    warn(
        f"The first row of {path}, {', '.join(cells[:3])}, ..., is taken for the names of the columns, which pandas "
        f"counts so. If it is a point, write 0.0 for its 0."
    )
    return True


def _counts(cells: list[str]) -> bool:
    """Whether these are 0, 1, 2 and perhaps so on: two may well be a point."""
    return len(cells) > 2 and cells == [str(number) for number in range(len(cells))]


def counted(count: int) -> list[str]:
    """The names of so many columns that have none."""
    return [f"column{i + 1}" for i in range(count)]


def is_counted(names: Sequence[str]) -> bool:
    """Whether these may be names that the columns of a file without a header were given."""
    found = [re.fullmatch(r"column([1-9]\d{0,8})", name) for name in names]
    places = [int(match[1]) for match in found if match]
    return len(places) == len(names) and places == sorted(set(places))


def _values(
    path: Path, delimiter: str, names: list[str], labels: str | None, *, header: bool
) -> dict[str, NDArray[Any]]:
    with warnings.catch_warnings(), contextlib.suppress(ValueError):
        warnings.simplefilter("ignore", UserWarning)  # no rows: said below
        return _quickly(path, delimiter, names, labels, header=header)
    with part_of_share(0.0, 0.5), path.open(newline="", encoding="utf-8-sig") as file:
        rows = [row for row in _rows(file, path, delimiter) if _is_row(row)]
    rows = rows[1:] if header else rows
    while rows and not any(rows[-1]):  # spreadsheets write them below the last row that holds something
        rows.pop()
    if not rows:
        raise FileError(f"{path} has a header and no rows. Pass a file with a row for each point.")
    for number, row in enumerate(rows, 1 + header):
        if len(row) != len(names):
            raise FileError(f"Row {number} of {path} has {len(row)} cells, the first has {len(names)}. Fill or cut it.")
    columns = {}
    for at, name in enumerate(names):
        cells = [row[at] for row in rows]
        columns[name] = _text_or_numbers(cells) if name == labels else _column(cells, name, path, header)
        tell_share(len(names) + at + 1, 2 * len(names))
    return columns


def _is_row(row: list[str]) -> bool:
    """Whether a line holds a row, if only of empty cells."""
    return len(row) > 1 or any(row)


def _text_or_numbers(cells: list[str]) -> NDArray[Any]:
    """Labels: numbers, unless two names that consist of digits are the same number."""
    if not all(is_number(cell) for cell in cells):
        return np.array(cells)
    names = {cell.strip() for cell in cells if cell.strip().isdigit()}
    return np.array(cells, np.float64) if len({float(name) for name in names}) == len(names) else np.array(cells)


def _quickly(
    path: Path, delimiter: str, names: list[str], labels: str | None, *, header: bool
) -> dict[str, NDArray[Any]]:
    """The columns, by NumPy in one pass; ValueError where a cell or a row is not what the first row promises."""
    first = _row(path, delimiter, int(header))
    text = [not is_number(cell) or name == labels for cell, name in zip(first, names, strict=False)]
    words: dict[int, dict[str, int]] = {int(at): {} for at in np.flatnonzero(text)}
    if len(first) != len(names) or len(words) == len(first) or not all(first[at].strip() for at in words):
        raise ValueError
    with path.open(encoding="utf-8-sig") as file:
        X = np.loadtxt(
            counted_lines(file, path.stat().st_size),
            delimiter=None if delimiter == " " else delimiter,
            skiprows=_lines_before(path) if header else 0,
            converters={at: partial(_number_of, known) for at, known in words.items()} or None,
            quotechar='"' if words else None,
            encoding=None,
            ndmin=2,
            comments=None,
        )
    return {name: _text(X[:, at], words[at]) if at in words else X[:, at] for at, name in enumerate(names)}


def _number_of(known: dict[str, int], cell: str) -> int:
    """The number that stands for a text among the numbers around it: how many others came before."""
    if cell.startswith(" ") or "\n" in cell:  # NumPy takes quotes behind a space for text, and one left open for all
        raise ValueError
    return known.setdefault(cell, len(known))


def _text(numbers: NDArray[Any], known: dict[str, int]) -> NDArray[Any]:
    return _text_or_numbers(list(known))[numbers.astype(np.intp)]


def _rows(file: Any, path: Path, delimiter: str) -> Iterator[list[str]]:
    """The rows; one that opens a quote which nothing closes, and so swallows all that follows, is refused."""
    record: list[str] = []
    number, last = 0, ""
    lines = _trimmed(counted_lines(file, path.stat().st_size), delimiter)
    for row in csv.reader(_kept(lines, record), **_way(delimiter)):
        number += _is_row(row)
        yield row
        last = "".join(record)
        record.clear()
    with contextlib.suppress(StopIteration):
        try:
            next(csv.reader(io.StringIO(last, newline=""), **_way(delimiter), strict=True))
        except csv.Error as error:
            if "end of data" in str(error):
                raise FileError(f"Row {number} of {path} opens a quote that is not closed. Close it.") from error


def _kept(lines: Iterable[str], record: list[str]) -> Iterator[str]:
    """The lines, those of the row that is being read into `record`."""
    for line in lines:
        record.append(line)
        yield line


def _trimmed(lines: Iterable[str], delimiter: str) -> Iterable[str]:
    """The lines, between spaces without those at their ends."""
    return (f"{line.strip()}\n" for line in lines) if delimiter == " " else lines


def _way(delimiter: str) -> dict[str, Any]:
    return {"delimiter": delimiter, "skipinitialspace": True}


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
    second = _row(path, delimiter, 1)
    return any(not is_number(a) and is_number(b) for a, b in zip(cells, second, strict=False))


def _row(path: Path, delimiter: str, number: int) -> list[str]:
    """One row, counted from 0, without reading what follows it; no cells where there is none."""
    with path.open(newline="", encoding="utf-8-sig") as file:
        rows = (row for row in csv.reader(_trimmed(file, delimiter), **_way(delimiter)) if _is_row(row))
        return next(islice(rows, number, None), [])


def _lines_before(path: Path) -> int:
    """Lines up to and with the header."""
    with path.open(encoding="utf-8-sig") as file:
        return 1 + next(number for number, line in enumerate(file) if line.strip())


def is_number(cell: str) -> bool:
    """Whether a cell is a number that is there; 1_1 is one to Python alone."""
    try:
        if "_" in cell:
            return False
        return np.isfinite(float(cell)) or cell.strip().lower().lstrip("+-") in ("nan", "inf", "infinity")
    except ValueError:
        return False
