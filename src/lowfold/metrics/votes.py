"""Which label has most votes of the k nearest; those that are equally far share the votes that are left.

Of T others as far as the k-th, m are still wanted: each of them has m / T of a vote, whatever its number.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csr_array

from lowfold.neighbors.index import build_index
from lowfold.neighbors.interface import NeighborIndex
from lowfold.types import Floats

BLOCK_ENTRIES = 2_000_000


def winning_shares(labels: NDArray[np.int32], own: NDArray[np.int32]) -> NDArray[np.float64]:
    """Of each point 1 if its own label is the most frequent in its row of labels, its share among equals, else 0."""
    m, k = labels.shape
    ascending = np.sort(labels, axis=1)
    starts = np.ones((m, k), bool)
    starts[:, 1:] = ascending[:, 1:] != ascending[:, :-1]
    votes = np.diff(np.append(np.flatnonzero(starts), m * k))
    runs = starts.sum(axis=1)
    begin = np.cumsum(runs) - runs
    most = np.maximum.reduceat(votes, begin)
    winners = np.add.reduceat(votes == np.repeat(most, runs), begin, dtype=np.intp)
    return np.where((labels == own[:, None]).sum(axis=1) == most, 1 / winners, 0.0)


def shares_of_tied(
    Y: Floats, classes: NDArray[np.int32], points: NDArray[np.intp], k: int, n_jobs: int | None
) -> NDArray[np.float64]:
    """The same for some points whose k-th nearest other is as far as the next.

    Points in one place are counted by their labels, once for all of them.
    """
    base, count = len(Y) + 1, int(classes.max()) + 1
    first, place = _places(Y)
    asked, answer = np.unique(place[points] * count + classes[points], return_inverse=True)
    where, row = np.unique(asked // count, return_inverse=True)
    index = build_index(Y[first], search="exact", n_jobs=n_jobs)
    near = _nearest_places(index, Y[first[where]], np.bincount(place), k)
    inside = csr_array(coo_array((np.ones(len(Y), np.int64), (place, classes)), shape=(len(first), count)))
    # The votes for a label as one number: those of nearer ones times the base, and those of equally far ones.
    near.data = np.where(near.data > 0, 1, base)
    itself, votes = near[np.arange(len(where)), where][row], csr_array(near @ inside)
    step = max(1, BLOCK_ENTRIES // int(np.diff(votes.indptr).max()))
    pieces = [slice(begin, begin + step) for begin in range(0, len(asked), step)]
    shares = [_shares(votes[row[some]], itself[some], asked[some] % count, (base, k)) for some in pieces]
    return np.concatenate(shares)[answer]


def _places(Y: Floats) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """(the first point of each different place, the number of the place of each point), in the order of the values."""
    order = np.lexsort(Y.T)
    new = np.ones(len(Y), bool)
    new[1:] = (Y[order[1:]] != Y[order[:-1]]).any(axis=1)
    place = np.empty(len(Y), np.intp)
    place[order] = np.cumsum(new) - 1
    return order[new], place


def _nearest_places(index: NeighborIndex, rows: Floats, sizes: NDArray[np.intp], k: int) -> csr_array:
    """(rows, places): 1 for those as far as the k-th other point, -1 for nearer ones.

    The index is asked for more and more places, for those rows whose last one is still as far.
    """
    pending, wanted = np.arange(len(rows)), k + 2
    found: list[tuple[Any, Any, Any]] = []
    while len(pending):
        wanted = min(wanted, index.n)
        nearest = index.query(rows[pending], wanted)
        enough = np.cumsum(sizes[nearest.indices], axis=1) > k  # more than k, as each row finds itself too
        last = np.take_along_axis(nearest.distances, enough.argmax(axis=1)[:, None], axis=1)
        complete = (nearest.distances[:, -1] > last[:, 0]) | (wanted == index.n)
        kept = complete[:, None] & (nearest.distances <= last)
        sides = np.where(nearest.distances == last, 1, -1)[kept]
        found.append((np.repeat(pending, kept.sum(axis=1)), nearest.indices[kept], sides))
        pending, wanted = pending[~complete], 2 * wanted
    where, places, sides = (np.concatenate(part) for part in zip(*found, strict=True))
    return csr_array(coo_array((sides.astype(np.int64), (where, places)), shape=(len(rows), index.n)))


def _shares(
    votes: csr_array, itself: NDArray[np.int64], own: NDArray[np.intp], setting: tuple[int, int]
) -> NDArray[np.float64]:
    """Of rows of votes, in which each point still votes for itself. Whole numbers: T times the votes."""
    base, k = setting
    begin, lengths = votes.indptr[:-1], np.diff(votes.indptr)
    is_own = votes.indices == np.repeat(own, lengths)
    votes.data[is_own] -= itself
    nearer, equal = np.divmod(votes.data, base)
    among, wanted = np.add.reduceat(equal, begin), k - np.add.reduceat(nearer, begin)
    weights = nearer * np.repeat(among, lengths) + equal * np.repeat(wanted, lengths)
    most = np.maximum.reduceat(weights, begin)
    winners = np.add.reduceat(weights == np.repeat(most, lengths), begin, dtype=np.intp)
    return np.where(weights[is_own] == most, 1 / winners, 0.0)
