"""Colours that colour-blind readers can tell apart, and what kind of colouring some values ask for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lowfold.errors import DataError

# Okabe and Ito 2008, black last: it is taken for text.
OKABE_ITO = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442", "#000000")
# Petroff 2021: ten, where eight are too few; less far apart from each other.
PETROFF = (
    "#3f90da", "#ffa90e", "#bd1f01", "#94a4a2", "#832db6", "#a96b59", "#e76300", "#b9ac70", "#717581", "#92dadd"
)  # fmt: skip
SHAPES = ("o", "s", "^", "D", "v", "P", "X", "*")  # change when the colours begin again
MOST_CLASSES = len(PETROFF) * len(SHAPES)
CONTINUOUS = "cividis"  # of even lightness, the same to most colour-blind readers
MOST_WHOLE_NUMBERS = 24  # different ones, up to which they are taken for classes
PLAIN = OKABE_ITO[0]


@dataclass(frozen=True, slots=True)
class Coloring:
    """Classes (names and the number of each point's), or numbers, or neither."""

    names: list[str] | None = None
    classes: NDArray[np.intp] | None = None
    numbers: NDArray[np.float64] | None = None


def coloring(color: Any, n: int) -> Coloring:
    """What to colour by: text, truth values and few different whole numbers are classes, other numbers a scale."""
    if color is None:
        return Coloring()
    values = np.asarray(color)
    if values.shape != (n,):
        raise DataError(f"color has shape {values.shape}, but there are {n} points. Pass one label or number for each.")
    whole = values.dtype.kind in "iu" and len(np.unique(values)) <= MOST_WHOLE_NUMBERS
    if values.dtype.kind in "fiu" and not whole:
        return Coloring(numbers=values.astype(np.float64))
    names, classes = np.unique(values.astype(str) if values.dtype.kind == "O" else values, return_inverse=True)
    if len(names) > MOST_CLASSES:
        raise DataError(
            f"color has {len(names)} different labels, but {MOST_CLASSES} can be told apart. Pass fewer, or numbers."
        )
    return Coloring([str(name) for name in names], classes.astype(np.intp))


def look(number: int, count: int) -> tuple[str, str]:
    """(colour, shape) of a class among so many; the shape changes when the colours begin again."""
    colors = palette(count)
    return colors[number % len(colors)], SHAPES[number // len(colors) % len(SHAPES)]


def palette(count: int) -> tuple[str, ...]:
    """Colours for so many classes."""
    return OKABE_ITO if count <= len(OKABE_ITO) else PETROFF


def as_rgb(colour: str) -> NDArray[np.float64]:
    """Red, green and blue from 0 to 1."""
    return np.array([int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)])
