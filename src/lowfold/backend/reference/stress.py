"""The kernels of the stress family in NumPy, written to be read: what each of them returns."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from lowfold.backend.reference.rows import unpacked
from lowfold.types import Floats, Indices

UNIT, INVERSE, GIVEN = "unit", "inverse", "given"


def cross_distances(A: Floats, B: Floats) -> NDArray[np.float64]:
    """|a_i - b_j|, in difference form."""
    return np.array([np.sqrt(np.square(a.astype(np.float64) - B).sum(axis=1)) for a in A]).reshape(len(A), len(B))


def disparities(
    Y: Floats,
    order: tuple[Indices, Indices, NDArray[np.int64], NDArray[np.float64] | None],
    ties: str,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """(d, f): distances of pairs by rising dissimilarity, and the numbers nearest to them that never fall.

    order: first and second points, where each group of equal dissimilarities begins, weights. ties: 'primary', in a
    group f follows d; 'secondary', it is one number.
    """
    first, second, begin, weights = order
    d = np.sqrt(np.square(Y[first].astype(np.float64) - Y[second]).sum(axis=1))
    w = np.ones_like(d) if weights is None else weights
    group = np.repeat(np.arange(len(begin)), np.diff(begin, append=len(d)))
    if ties == "primary":
        by_distance = np.lexsort((w, d, group))
        f = np.empty_like(d)
        f[by_distance] = pooled(d[by_distance], w[by_distance])
        return d, f
    mass = np.bincount(group, w).astype(np.float64)
    return d, pooled(np.bincount(group, w * d) / mass, mass)[group]


def pooled(values: NDArray[np.float64], weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """The numbers nearest to the values, by weighted squares, that never fall: adjacent ones that do are pooled."""
    pools: list[tuple[float, float, int]] = []
    for value, weight in zip(values.tolist(), weights.tolist(), strict=True):
        pool = (value, weight, 1)
        while pools and pools[-1][0] >= pool[0]:
            mean, mass, count = pools.pop()
            both = mass + pool[1]
            pool = ((mean * mass + pool[0] * pool[1]) / both, both, count + pool[2])
        pools.append(pool)
    means, counts = [mean for mean, _, _ in pools], [count for _, _, count in pools]
    return np.repeat(np.asarray(means, np.float64), counts)


def pair_weights(deltas: Floats, weights: Floats | None, law: tuple[str, float]) -> NDArray[np.float64]:
    """w_ij: 1, 1 / delta_ij or given, and 0 where delta is missing. law: its name, and 1 / w of delta = 0."""
    name, inverse_at_zero = law
    known = deltas >= 0
    if name == GIVEN:
        assert weights is not None
        return np.where(known, weights.astype(np.float64), 0.0)
    if name == INVERSE:
        return np.where(known, 1 / np.where(deltas > 0, deltas.astype(np.float64), inverse_at_zero), 0.0)
    return known.astype(np.float64)


def stress_of_matrix(
    deltas: Floats, weights: Floats | None, Y: Floats, law: tuple[str, float]
) -> tuple[NDArray[np.float64], NDArray[np.float64], float]:
    """(G, residuals, size): G_i = sum_j w_ij (1 - delta_ij / d_ij)(y_i - y_j), each point's part of the stress
    sum_j w_ij (d_ij - delta_ij)^2, and sum w d^2 over all pairs. NaN on or off the diagonal is no pair."""
    W = pair_weights(deltas, weights, law)
    np.fill_diagonal(W, 0.0)
    d = cross_distances(Y, Y)
    e = np.where(W > 0, d - np.where(deltas >= 0, deltas, 0.0), 0.0)
    g = W * e / np.where(d > 0, d, 1.0)
    G = g.sum(axis=1)[:, None] * Y - g @ Y.astype(np.float64)
    return G, (W * e**2).sum(axis=1), float((W * d**2).sum() / 2)


def stress_of_packed(
    deltas: Floats, weights: Floats | None, Y: Floats, law: tuple[str, float]
) -> tuple[NDArray[np.float64], NDArray[np.float64], float]:
    """The same of the matrix whose strips are given."""
    return stress_of_matrix(unpacked(deltas, len(Y)), weights, Y, law)


def stress_of_rows(
    X: Floats, weights: Floats | None, Y: Floats, law: tuple[str, float]
) -> tuple[NDArray[np.float64], NDArray[np.float64], float]:
    """The same of the distances between rows, in their type."""
    return stress_of_matrix(cross_distances(X, X).astype(X.dtype), weights, Y, law)


def guttman(deltas: Floats, W: Floats, Y: Floats) -> NDArray[np.float64]:
    """V^+ B(Y) Y, the minimum of the function that lies on the stress at Y and nowhere below it (de Leeuw 1977).

    V = diag(W 1) - W, and B_ij = -w_ij delta_ij / d_ij beside the diagonal (0 where d_ij = 0), rows of sum 0.
    """
    d = cross_distances(Y, Y)
    B = -np.where(d > 0, W * deltas / np.where(d > 0, d, 1.0), 0.0)
    np.fill_diagonal(B, 0.0)
    np.fill_diagonal(B, -B.sum(axis=1))
    V = np.diag(W.sum(axis=1)) - W
    step: NDArray[np.float64] = np.linalg.pinv(V) @ B @ Y
    return step - step.mean(axis=0)


def placed_by_stress(
    start: Any, deltas: Floats, weights: Floats | None, Y: Floats, law: tuple[str, float], steps: int = 5000
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Plain majorisation of each new point's stress: y <- y - sum_j w_j (1 - delta_j / d_j)(y - y_j) / sum_j w_j.

    Returns the places, and the root of the mean of w (d - delta)^2 that is left of each.
    """
    W = pair_weights(deltas, weights, law)
    out = np.array(start, np.float64)
    for y, w, delta in zip(out, W, np.where(deltas >= 0, deltas, 0.0), strict=True):
        for _ in range(steps):
            apart = y - Y
            d = np.sqrt(np.square(apart).sum(axis=1))
            g = w * (d - delta) / np.where(d > 0, d, 1.0)
            y -= (g[:, None] * apart).sum(axis=0) / w.sum()
    deltas = np.where(deltas >= 0, deltas, 0.0)
    return out, np.sqrt((W * np.square(cross_distances(out, Y) - deltas)).sum(axis=1) / W.sum(axis=1))
