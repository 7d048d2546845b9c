"""Which label has most votes of the k nearest; of those that are equally far, as many as are left vote, by lot.

Of T others as far as the k-th, m vote. Labels get as many of these votes as if each of the T voted with chance m / T by
itself, given that m vote in all: labels are then independent, and with z^h for h votes their generating functions
multiply. One of e + 1 labels that have M votes, where none has more, wins with chance 1 / (e + 1), the integral of w^e
from 0 to 1. With s_l votes of nearer ones, b_l(h) binomial and M = s_o + g, the label o wins with chance
    1 / b(m) [z^m] sum_g b_o(g) z^g int prod_l (sum_(h < M - s_l) b_l(h) z^h + w b_l(M - s_l) z^(M - s_l)) dw.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csr_array

from lowfold.neighbors.index import build_index
from lowfold.neighbors.interface import NeighborIndex
from lowfold.types import Floats

BLOCK_BYTES = 16_000_000
NODES = 24  # of the integral over w: exact for up to 47 labels with as many votes, and near it beyond
# Points of the Fourier transform more than votes by lot: as many votes more than m, which it cannot tell from m, have
# a chance below e^-45.
SPARE = 40


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


def shares_by_lot(
    Y: Floats, classes: NDArray[np.int32], points: NDArray[np.intp], k: int, n_jobs: int | None
) -> NDArray[np.float64]:
    """The same for some points whose k-th nearest other is as far as the next: the mean over all ways to choose.

    Points in one place are counted by their labels, once for all of them.
    """
    base, count = len(Y) + 1, int(classes.max()) + 1
    first, place = _places(Y)
    asked, answer = np.unique(place[points] * count + classes[points], return_inverse=True)
    where, row = np.unique(asked // count, return_inverse=True)
    index = build_index(Y[first], search="exact", n_jobs=n_jobs)
    near = _nearest_places(index, Y[first[where]], np.bincount(place), k)
    inside = csr_array(coo_array((np.ones(len(Y), np.int64), (place, classes)), shape=(len(first), count)))
    # A label's votes as one number: those that are nearer times the base, and those that are equally far.
    near.data = np.where(near.data > 0, 1, base)
    itself, votes = near[np.arange(len(where)), where][row], csr_array(near @ inside)
    nearer, equal = np.divmod(votes.sum(axis=1)[row] - itself, base)
    order = np.lexsort((equal, -nearer))  # alike ones together: the hardest of a block sets the cost of all
    widest = int(np.diff(votes.indptr).max())
    step = max(1, BLOCK_BYTES // max(8 * widest, 16 * (k + 1) * min(NODES, k // 2 + 1) * (k + SPARE) // 2))
    shares = np.empty(len(asked))
    for begin in range(0, len(asked), step):
        some = order[begin : begin + step]
        shares[some] = _block_shares(votes[row[some]], itself[some], asked[some] % count, (base, k))
    return shares[answer]


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


def _block_shares(
    votes: csr_array, itself: NDArray[np.int64], own: NDArray[np.intp], setting: tuple[int, int]
) -> NDArray[np.float64]:
    """Of rows of votes, in which each point still votes for itself; equal rows and equal labels are seen to once."""
    lengths = np.diff(votes.indptr)
    is_own = votes.indices == np.repeat(own, lengths)
    mine = votes.data[is_own] - itself
    others = np.zeros((len(own), lengths.max()), np.int64)
    others[np.arange(lengths.max()) < lengths[:, None]] = np.where(is_own, 0, votes.data)
    different, answer = np.unique(np.column_stack([mine, np.sort(others, axis=1)]), axis=0, return_inverse=True)
    others, times = np.unique(different[:, 1:], axis=1, return_counts=True)
    base, k = setting
    nearer, equal = np.divmod(np.column_stack([different[:, 0], others]), base)
    return _chances(nearer, equal, np.append(1, times), k)[answer.ravel()]


def _chances(
    nearer: NDArray[np.int64], equal: NDArray[np.int64], times: NDArray[np.intp], k: int
) -> NDArray[np.float64]:
    """The chance of the first label of each row, of the votes of nearer and of equally far ones for each label.

    times: how many labels each column stands for.
    """
    drawn, among = k - nearer @ times, equal @ times
    most = int(drawn.max())
    size = max(most + 1, min(most + 1 + SPARE, int((among - drawn).max()) + 1))
    z = np.exp(-2j * np.pi / size * np.outer(np.arange(most + 1), np.arange(size // 2 + 1)))
    w, weights = np.polynomial.legendre.leggauss(min(NODES, k // 2 + 1, int(times.sum()) // 2 + 1))
    w, weights = (w[:, None] + 1) / 2, weights / 2
    product = np.ones((len(drawn), most + 1, len(w), z.shape[1]), complex)
    for label in range(1, len(times)):
        terms = _binomial(equal[:, label], drawn / among, most)[:, :, None] * z
        less = np.concatenate([np.zeros_like(terms[:, :1]), np.cumsum(terms, axis=1)], axis=1)
        needed = nearer[:, :1] + np.arange(most + 1) - nearer[:, label : label + 1]  # for as many votes as the first
        as_many = np.take_along_axis(terms, np.clip(needed, 0, most)[:, :, None], axis=1)
        as_many[(needed < 0) | (needed > most)] = 0
        fewer = np.take_along_axis(less, np.clip(needed, 0, most + 1)[:, :, None], axis=1)
        product *= (fewer[:, :, None] + w * as_many[:, :, None]) ** int(times[label])
    own = _binomial(equal[:, 0], drawn / among, most)
    sums = np.fft.irfft(np.einsum("rg,gz,rgwz,w->rz", own, z, product, weights), size)
    at = np.arange(len(drawn)), drawn
    return np.clip(sums[at] / _binomial(among, drawn / among, most)[at], 0.0, 1.0)


def _binomial(count: NDArray[np.int64], chance: NDArray[np.float64], most: int) -> NDArray[np.float64]:
    """(rows, most + 1): the chances of 0, 1, ... of so many."""
    h = np.arange(1, most + 1)
    with np.errstate(divide="ignore"):
        ratios = np.log(np.maximum(count[:, None] - h + 1, 0) / h) + np.log(chance / (1 - chance))[:, None]
    none = (count * np.log1p(-chance))[:, None]
    return np.exp(np.concatenate([none, none + np.cumsum(ratios, axis=1)], axis=1))
