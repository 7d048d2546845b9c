"""What a tree of points sums, in NumPy: groups over which the kernel hardly changes count as one point."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from lowfold.backend.embedding_protocol import LawCode
from lowfold.backend.reference.forces import exact_field, pull
from lowfold.types import Floats

LANES_BYTES = 64  # of a leaf's coordinates in one direction
NEGLIGIBLE = 1e-7  # of an average charge
SKEW = 4  # in a uniform interval the farthest squared distance is 3 times the mean, elsewhere less


@dataclass(frozen=True)
class Node:
    """Some points: their numbers, charge, centre, mean squared distance from it, and largest distance at most.

    The mean counts as at least a SKEW-th of the largest.
    """

    points: Any
    mass: float
    centre: Any
    second: float
    reach: float
    children: tuple[Node, ...] = ()


def tree_field(Y: Floats, charges: Floats | None, law: LawCode, theta: float) -> tuple[Floats, Floats]:
    """sum_j c_j w(|y - y_j|^2) and its gradient at each point, with groups of points in one place.

    For the points of a leaf, a group with charge m, centre z and mean squared distance s from it counts as a charge m
    at z if s p (1 + r p) <= theta^2, with r the squared distance from z to the box around the leaf, and to the leaf's
    centre, and p = -w'/w there.
    A Gaussian's groups that add less than 1e-7 of an average charge are left out.
    """
    c = np.ones(len(Y)) if charges is None else np.asarray(charges, np.float64)
    size = LANES_BYTES // Y.itemsize
    Y = np.asarray(Y, np.float64)
    root = _node(Y, c, np.arange(len(Y)), size)
    potential, gradient = np.zeros(len(Y)), np.zeros(Y.shape)
    for leaf in _leaves(root):
        for places, masses in _sources(root, leaf, (Y, c), law, theta):
            phi, slope = exact_field(places, masses, law, Y[leaf.points])
            potential[leaf.points] += phi
            gradient[leaf.points] += slope
    return potential, gradient


def _node(Y: Any, c: Any, points: Any, size: int) -> Node:
    """Halved by whole leaves along the widest direction; a node's centre comes from its children's."""
    leaves = -(-len(points) // size)
    if leaves == 1:
        points = np.sort(points)
        mass = c[points].sum()
        centre = c[points] @ Y[points] / mass if mass > 0 else Y[points[0]]
        r = ((Y[points] - centre) ** 2).sum(axis=1)
        second = max(c[points] @ r / mass, r.max() / SKEW) if mass > 0 else 0.0
        return Node(points, mass, centre, float(second), float(np.sqrt(r.max())))
    along = int(np.argmax(np.ptp(Y[points], axis=0)))
    order = points[np.lexsort((points, Y[points, along]))]
    left, right = (_node(Y, c, part, size) for part in np.split(order, [leaves // 2 * size]))
    mass = left.mass + right.mass
    shares = np.array([left.mass, right.mass]) / mass if mass > 0 else np.array([0.5, 0.5])
    centre = shares[0] * left.centre + shares[1] * right.centre
    r = np.array([((child.centre - centre) ** 2).sum() for child in (left, right)])
    sides = np.maximum(Y[points].max(axis=0) - centre, centre - Y[points].min(axis=0))
    reach = max(child.reach + np.sqrt(square) for child, square in zip((left, right), r, strict=True))
    reach = min(reach, np.linalg.norm(sides))
    second = max(shares @ (np.array([left.second, right.second]) + r), reach**2 / SKEW) if mass > 0 else 0.0
    return Node(points, mass, centre, float(second), float(reach), (left, right))


def _leaves(node: Node) -> list[Node]:
    return [leaf for child in node.children for leaf in _leaves(child)] if node.children else [node]


def _sources(node: Node, leaf: Node, data: tuple[Any, Any], law: LawCode, theta: float) -> list[tuple[Any, Any]]:
    """The places and charges that stand for the points of a node, seen from a leaf."""
    Y, c = data
    if not np.isin(leaf.points[0], node.points):
        low, high = Y[leaf.points].min(axis=0), Y[leaf.points].max(axis=0)
        r = float((np.maximum(np.maximum(low - node.centre, node.centre - high), 0) ** 2).sum())
        gap = max(np.sqrt(r) - node.reach, 0.0)
        if law[0] == "gaussian" and node.mass * np.exp(-(gap**2)) < NEGLIGIBLE * c.mean():
            return []
        between = float(((node.centre - leaf.centre) ** 2).sum())
        changes = [p * (1 + s * p) for s in (r, between) for p in (float(pull(law, np.asarray(s))),)]
        if node.second * max(changes) <= theta**2:
            return [(node.centre[None], np.array([node.mass]))]
    if not node.children:
        return [(Y[node.points], c[node.points])]
    return [source for child in node.children for source in _sources(child, leaf, data, law, theta)]
