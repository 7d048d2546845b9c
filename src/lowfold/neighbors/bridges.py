"""The shortest bridges between components of a neighbour graph."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from lowfold.neighbors.balls import Balls, balls_about
from lowfold.neighbors.interface import NUMBERS_AT_ONCE, NeighborIndex

# Sizes of components up to which each point is asked for as many neighbours, one of which must lie outside; with more
# points, the closest pair of a component and all the rest is looked for at once.
WIDTHS = (8, 32, 128, 512)
FEW, MOST_GROUPS = 1, 2048  # large components, and components, between which balls about them tell what is far
_Groups: TypeAlias = tuple[NDArray[np.int32], Balls]


def shortest_bridges(labels: NDArray[np.int32], index: NeighborIndex) -> tuple[Any, Any]:
    """Borůvka's algorithm: every component but the largest takes its shortest way out, until one is left."""
    current, groups, small = labels, _groups_of(labels, index), _SmallOnes(labels, index)
    bridges: list[tuple[int, int]] = []
    lengths: list[float] = []
    while current.max() > 0:
        joined = list(range(int(current.max()) + 1))
        for distance, i, j in sorted(_ways_out(current, index, groups, small)):
            a, b = sorted((_root(joined, int(current[i])), _root(joined, int(current[j]))))
            if a != b:  # not yet connected by a shorter bridge of this round
                joined[b] = a
                bridges.append((i, j))
                lengths.append(distance)
        roots = np.array([_root(joined, label) for label in range(len(joined))])
        current = _relabelled(roots[current])
    return np.asarray(bridges, np.int32).reshape(-1, 2), np.asarray(lengths)


def _groups_of(labels: NDArray[np.int32], index: NeighborIndex) -> _Groups | None:
    """The components and balls about them, where several are large and the index can tell their rows."""
    rows = index.rows_measured()
    if (
        rows is None
        or np.count_nonzero(np.bincount(labels) > max(WIDTHS, default=0)) <= FEW
        or labels.max() >= MOST_GROUPS
    ):
        return None
    return labels, balls_about(*rows, labels)


def _root(joined: list[int], label: int) -> int:
    """The component that a component has been joined to, shortening the way there."""
    while joined[label] != label:
        joined[label] = joined[joined[label]]
        label = joined[label]
    return label


def _ways_out(
    current: NDArray[Any], index: NeighborIndex, groups: _Groups | None, small: _SmallOnes
) -> list[tuple[float, int, int]]:
    """(distance, i, j) for every component but the first: its closest pair with a point of another one."""
    ways, rest = small.ways_out(current)
    for label in rest:
        i, j, distance = _closest_pair(current == label, index, groups)
        ways.append((distance, i, j))
    return ways


class _SmallOnes:
    """Points of components that were small at first, and how far each is from all points of others.

    Each is asked for its neighbours until one lies outside its component, and again only when that has been joined to
    it and no other of its points is known to be nearer to the outside than it may be.
    """

    def __init__(self, labels: NDArray[np.int32], index: NeighborIndex) -> None:
        self._index = index
        self._are_small = np.bincount(labels)[labels] <= max(WIDTHS, default=0)
        self._width = np.zeros(index.n, np.intp)  # neighbours that a point was asked for
        self._away = np.zeros(index.n)  # no point outside is nearer
        self._other = np.full(index.n, -1, np.int32)  # the one that is as near, if it is known

    def ways_out(self, current: NDArray[Any]) -> tuple[list[tuple[float, int, int]], NDArray[np.intp]]:
        """(the ways out of components of such points alone, the other components but the first)."""
        sizes = np.bincount(current)
        mine = np.ones(len(sizes), bool)
        mine[current[~self._are_small]] = mine[0] = False
        while True:
            points = np.flatnonzero(mine[current])
            own, other, away = current[points], self._other[points], self._away[points]
            known = (other >= 0) & (current[other] != own)
            nearest = np.full(len(sizes), np.inf)
            np.minimum.at(nearest, own[known], away[known])
            pending = points[~known & (away <= nearest[own])]
            hopeless = pending[(self._width[pending] == max(WIDTHS, default=0)) & (self._other[pending] < 0)]
            if len(hopeless):
                mine[current[hopeless]] = False
            elif not len(pending):
                break
            elif not self._ask(pending, current, sizes):
                mine[:] = False
        points, own, other, away = points[known], own[known], other[known], away[known]
        order = np.lexsort((other, points, away, own))
        best = order[np.unique(own[order], return_index=True)[1]]
        ways = [(float(away[row]), int(points[row]), int(other[row])) for row in best]
        return ways, np.setdiff1d(np.arange(1, len(sizes)), own)

    def _ask(self, points: NDArray[np.intp], current: NDArray[Any], sizes: NDArray[np.intp]) -> bool:
        """Asks for the neighbours of some, more than before where those would not do; False if there is no way to."""
        before, size = self._width[points], sizes[current[points]]
        too_few = (self._other[points] < 0) | (size >= before)
        wanted = np.where(before == 0, size, before + too_few)
        self._width[points] = np.array(WIDTHS)[np.minimum(np.searchsorted(WIDTHS, wanted), len(WIDTHS) - 1)]
        for width in WIDTHS:
            rows = points[self._width[points] == width]
            step = max(1, NUMBERS_AT_ONCE // width)
            for some in (rows[begin : begin + step] for begin in range(0, len(rows), step)):
                found = self._index.nearest_points(some, min(width, self._index.n - 1))
                if found is None:
                    return False
                outside = current[found.indices] != current[some][:, None]
                outside[:, -1] |= (none := ~outside.any(axis=1))
                place = np.arange(len(some)), outside.argmax(axis=1)
                self._away[some] = found.distances[place]
                self._other[some] = np.where(none, -1, found.indices[place])
        return True


def _closest_pair(inside: NDArray[np.bool_], index: NeighborIndex, groups: _Groups | None) -> tuple[int, int, float]:
    """(i, j, distance) of the closest pair of a point inside and one outside: of all, or of those of near groups."""
    if groups is None:
        return index.closest_pair(np.flatnonzero(inside), np.flatnonzero(~inside))
    labels, balls = groups
    mine = np.unique(labels[inside])
    bounds = balls.bounds(mine)
    a, b = np.unravel_index(int(bounds.argmin()), bounds.shape)
    pair = index.closest_pair(np.flatnonzero(labels == mine[a]), np.flatnonzero(labels == b))
    near = bounds <= balls.reach(pair[2])  # in whose balls there may be a nearer pair than that
    if np.count_nonzero(near) == 1:
        return pair
    own = np.isin(labels, mine[near.any(axis=1)])
    others = np.isin(labels, np.flatnonzero(near.any(axis=0)))
    return index.closest_pair(np.flatnonzero(own), np.flatnonzero(others))


def _relabelled(current: NDArray[np.int32]) -> NDArray[np.int32]:
    """Labels 0, 1, ... by falling size."""
    values, inverse, sizes = np.unique(current, return_inverse=True, return_counts=True)
    rank = np.empty(len(values), np.int32)
    rank[np.lexsort((values, -sizes))] = np.arange(len(values))
    return rank[inverse]
