"""What is known about the points beside their features: labels or numbers that sharpen a fuzzy graph."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from lowfold.backend.embedding_protocol import Sparse
from lowfold.errors import DataError
from lowfold.tables import as_labels

UNKNOWN = -1
UNKNOWN_DISTANCE = 1.0  # between labels of which one is not known
FAR_DISTANCE = 2.5  # between different labels, divided by 1 - weight
LEAST, MOST_LEAST = 1e-8, 1e-4  # of what stands for a degree of 0 where one of two graphs has no edge


@dataclass(frozen=True, slots=True)
class Target:
    """Labels (codes from 0 on, -1 unknown) or rows of numbers (n, m), one for each point."""

    codes: NDArray[np.int64] | None
    numbers: NDArray[np.float64] | None

    def taken(self, order: Any) -> Target:
        """In another order."""
        return Target(
            None if self.codes is None else self.codes[order], None if self.numbers is None else self.numbers[order]
        )

    def findings(self) -> str:
        """For the report of a fit."""
        if self.codes is None:
            assert self.numbers is not None
            return f"numbers, {self.numbers.shape[1]} for each point"
        unknown = int((self.codes == UNKNOWN).sum())
        return f"{int(self.codes.max(initial=-1)) + 1} labels, {unknown} of {len(self.codes)} points without one"


def read_target(y: Any, n: int, kind: str) -> Target:
    """Checked labels or numbers. kind "auto": numbers if y has any that is not whole, else labels."""
    y = as_labels(y, "y")
    if y.ndim not in (1, 2) or y.shape[0] != n:
        raise DataError(
            f"y has shape {y.shape}, but X has {n} samples: y needs a label, or numbers, for each of them. Pass as "
            f"many rows as X has, with -1 for labels that are not known."
        )
    if y.ndim == 2 and y.shape[1] == 1:
        y = y[:, 0]
    numeric = y.dtype.kind in "fiub"
    if kind == "numbers" and not numeric:
        raise DataError(f"y has type {y.dtype}, but target='numbers'. Pass numbers, or use target='labels'.")
    whole = not numeric or bool((y == np.floor(y)).all() if y.dtype.kind == "f" else True)
    if kind == "labels" or (kind == "auto" and y.ndim == 1 and whole):
        return Target(_codes(y, n), None)
    numbers = np.asarray(y, np.float64).reshape(n, -1)
    if not np.isfinite(numbers).all():
        raise DataError(
            f"y has NaN or infinite entries (the first in row {int(np.argmin(np.isfinite(numbers).all(axis=1)))}). "
            f"Leave such samples out, or pass labels, of which -1 is one that is not known."
        )
    return Target(None, numbers)


def _codes(y: Any, n: int) -> NDArray[np.int64]:
    if y.ndim != 1:
        raise DataError(f"y has shape {y.shape}, but labels are one for each sample. Pass an array of {n} labels.")
    if y.dtype.kind == "f" and not np.isfinite(y).all():
        raise DataError("y has NaN or infinity among its labels. Pass -1 for a label that is not known.")
    known = y != UNKNOWN if y.dtype.kind in "fiu" else np.ones(n, bool)
    codes = np.full(n, UNKNOWN, np.int64)
    if known.any():
        codes[known] = np.unique(y[known], return_inverse=True)[1]
    return codes


def with_labels(graph: Sparse, codes: NDArray[np.int64], weight: float) -> Sparse:
    """Edges between different labels times exp(-2.5 / (1 - weight)), those of unknown ones times exp(-1), `renewed`.

    The intersection with a fuzzy set in which labels are a distance 0 or far apart. Weight 1 cuts different labels off.
    """
    begin, columns, values = graph
    rows = np.repeat(np.arange(len(begin) - 1), np.diff(begin))
    a, b = codes[rows], codes[columns]
    far = FAR_DISTANCE / (1 - weight) if weight < 1 else np.inf
    distance = np.where((a == UNKNOWN) | (b == UNKNOWN), UNKNOWN_DISTANCE, np.where(a == b, 0.0, far))
    return renewed((begin, columns, (values * np.exp(-distance)).astype(np.float32)))


def with_numbers(graph: Sparse, other: Sparse, weight: float) -> Sparse:
    """The intersection with the degrees between the targets: products of powers of both degrees, `renewed`.

    `other` has for each point the degrees of its own neighbours, without their union, as umap-learn has it. Where only
    one graph has an edge, half the other's least degree stands for its degree. Weight 0 would be the first alone, 1 the
    second, 1/2 the product.
    """
    n = len(graph[0]) - 1
    left, right = (
        csr_array((values, columns, begin), shape=(n, n), copy=True) for begin, columns, values in (graph, other)
    )
    for part in (left, right):
        part.eliminate_zeros()
    least = max(float(left.data.min(initial=1.0)) / 2, LEAST), max(float(right.data.min(initial=1.0)) / 2, LEAST)
    least = least[0], min(least[1], MOST_LEAST)
    both = csr_array(left + right)
    both.sort_indices()
    a, b = (_at(part, both, low) for part, low in zip((left, right), least, strict=True))
    first, second = (1.0, weight / (1 - weight)) if weight < 0.5 else ((1 - weight) / weight, 1.0)
    values = (a**first * b**second).astype(np.float32)
    return renewed((both.indptr.astype(np.int64), both.indices.astype(np.int32), values))


def _at(part: csr_array, pattern: csr_array, otherwise: float) -> Any:
    """The entries of a matrix at the places of a pattern that contains its own."""
    n = part.shape[0]
    keys = [
        np.repeat(np.arange(n, dtype=np.int64), np.diff(matrix.indptr)) * n + matrix.indices
        for matrix in (part, pattern)
    ]
    found = np.full(len(keys[1]), otherwise)
    found[np.searchsorted(keys[1], np.sort(keys[0]))] = part.data[np.argsort(keys[0], kind="stable")]
    return found


def renewed(graph: Sparse) -> Sparse:
    """Each point's degrees divided by its largest, so that it wholly belongs to someone again, and both ends joined.

    Entries of 0 are left out.
    """
    begin, columns, values = graph
    n = len(begin) - 1
    rows = np.repeat(np.arange(n), np.diff(begin))
    largest = np.maximum.reduceat(np.append(values, np.float32(0)), begin[:-1]) * (np.diff(begin) > 0)
    share = csr_array((values / np.where(largest > 0, largest, 1)[rows], columns, begin), shape=(n, n))
    back = share.T.tocsr()
    joined = csr_array((share + back) - share * back)
    joined.eliminate_zeros()
    joined.sort_indices()
    return joined.indptr.astype(np.int64), joined.indices.astype(np.int32), joined.data.astype(np.float32)
