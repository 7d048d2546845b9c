"""The kernels of the force family in NumPy, written to be read: what each of them returns."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from lowfold.backend.embedding_protocol import GridShape, LawCode
from lowfold.types import Floats, Indices

MIN_GAIN = 0.01
MOST_STEPS, SHORTEST_SHARE, ARRIVED = 100, 1e-3, 1e-4  # of a new point; it has arrived when a step is so short


def weight(law: LawCode, r: Any) -> Any:
    """w(r)."""
    name, dof = law
    return np.exp(-r) if name == "gaussian" else (1 + r / dof) ** (-(dof + 1) / 2)


def pull(law: LawCode, r: Any) -> Any:
    """-w'(r) / w(r)."""
    name, dof = law
    return np.ones_like(r) if name == "gaussian" else (dof + 1) / (2 * dof) / (1 + r / dof)


def perplexity_rows(distances: Floats, perplexities: NDArray[np.float64]) -> Floats:
    """Bisection of the precision b of each row until the entropy is log(perplexity)."""
    s = distances.astype(np.float64) ** 2
    s -= s.min(axis=1, keepdims=True)
    mean = np.zeros_like(s)
    for perplexity in perplexities:
        target = np.log(min(perplexity, s.shape[1]))
        low, high = np.full(len(s), -80.0), np.full(len(s), 80.0)
        scale = np.where(s.mean(axis=1) > 0, s.mean(axis=1), 1.0)
        for _ in range(100):
            b = (np.exp((low + high) / 2) / scale)[:, None]
            w = np.exp(-b * s)
            entropy = np.log(w.sum(axis=1)) + (b * s * w).sum(axis=1) / w.sum(axis=1)
            wide = entropy > target
            low, high = np.where(wide, (low + high) / 2, low), np.where(wide, high, (low + high) / 2)
        mean += w / w.sum(axis=1, keepdims=True) / len(perplexities)
    return mean.astype(np.float32)


def joint_affinity(neighbors: Indices, P: Floats, scale: float) -> Floats:
    """scale (P + P^T), written out."""
    n = len(neighbors)
    dense = np.zeros((n, n))
    np.put_along_axis(dense, neighbors.astype(np.intp), P.astype(np.float64), axis=1)
    return scale * (dense + dense.T)


def attraction(P: Floats, Y: Floats, law: LawCode) -> Floats:
    """sum_j p_ij (-w' / w)(r_ij) (y_i - y_j), P written out."""
    differences = Y[:, None] - Y
    stiffness = P * pull(law, (differences**2).sum(axis=-1))
    return np.einsum("ij,ijd->id", stiffness, differences)


def attraction_cost(P: Floats, Y: Floats, law: LawCode) -> float:
    """sum_ij p_ij (-log w(r_ij)), P written out."""
    r = ((Y[:, None] - Y) ** 2).sum(axis=-1)
    return float(-(P * np.log(weight(law, r))).sum())


def pair_field(W: Floats, Y: Floats, law: LawCode) -> tuple[Floats, Floats]:
    """sum_j W_ij w(r_ij) and its gradient in y_i, 2 sum_j W_ij w'(r_ij) (y_i - y_j), W written out."""
    differences = Y[:, None] - Y
    r = (differences**2).sum(axis=-1)
    w = W * weight(law, r)
    return w.sum(axis=1), -2 * np.einsum("ij,ijd->id", w * pull(law, r), differences)


def exact_field(
    Y: Floats, charges: Floats | None, law: LawCode, at: Floats, skip: Indices | None = None
) -> tuple[Floats, Floats]:
    """sum_j c_j w(|y - y_j|^2), and its gradient sum_j c_j 2 w'(r) (y - y_j), in row i without j = skip[i]."""
    c = np.ones(len(Y)) if charges is None else charges
    differences = at[:, None] - Y
    r = (differences**2).sum(axis=-1)
    w = c * weight(law, r)
    if skip is not None:
        w[np.arange(len(at)), skip] = 0
    return w.sum(axis=1), -2 * np.einsum("ij,ijd->id", w * pull(law, r), differences)


def spread(Y: Floats, charges: Floats | None, shape: GridShape) -> Floats:
    """Each charge times the product of the splines of its distances to the nodes."""
    values = np.zeros(shape[0])
    for i, y in enumerate(Y):
        nodes, weights, _ = _around(y, shape)
        values[np.ix_(*nodes)] += (1.0 if charges is None else charges[i]) * _product(weights)
    return values.ravel()


def gather(values: Floats, shape: GridShape, Y: Floats) -> tuple[Floats, Floats]:
    """The sum over nodes of their values times the splines, and its derivatives."""
    grid = np.asarray(values, np.float64).reshape(shape[0])
    potential, gradient = np.empty(len(Y)), np.empty(Y.shape)
    for i, y in enumerate(Y):
        nodes, weights, slopes = _around(y, shape)
        here = grid[np.ix_(*nodes)]
        potential[i] = (here * _product(weights)).sum()
        for p in range(Y.shape[1]):
            mixed = [slopes[q] if q == p else weights[q] for q in range(Y.shape[1])]
            gradient[i, p] = (here * _product(mixed)).sum() / shape[2]
    return potential, gradient


def convolved(values: Floats, size: tuple[int, ...], kernel: Floats) -> Floats:
    """By NumPy's transforms of the values padded to twice the size."""
    axes, double = tuple(range(len(size))), tuple(2 * side for side in size)
    waves = np.fft.rfftn(values.reshape(size), s=double, axes=axes) * kernel
    return np.fft.irfftn(waves, s=double, axes=axes)[tuple(slice(side) for side in size)].ravel()


def column_bounds(Y: Floats) -> tuple[Floats, Floats]:
    """The smallest and the largest value of each column."""
    return Y.min(axis=0), Y.max(axis=0)


def advance(
    Y: Floats, velocity: Floats, gains: Floats | None, forces: tuple[Floats, Floats, Floats], how: tuple[float, ...]
) -> tuple[Floats, Floats, Floats | None]:
    """(Y, velocity, gains) after one step."""
    attraction, repulsion, weights = forces
    pulling, push, rate, momentum, limit = how
    slope = pulling * attraction + push * repulsion
    if gains is not None:
        gains = np.where((slope > 0) == (velocity > 0), np.maximum(gains * 0.8, MIN_GAIN), gains + 0.2)
    step = rate * weights[:, None] * slope * (1 if gains is None else gains)
    velocity = momentum * velocity - step
    length = np.linalg.norm(velocity, axis=1, keepdims=True)
    velocity = velocity * np.where(length > limit, limit / np.maximum(length, 1e-30), 1)
    Y = Y + velocity
    return Y - Y.mean(axis=0), velocity, gains


def placed(
    points: tuple[Floats, Indices, Floats],
    frozen: tuple[Floats, Floats | None],
    law: LawCode,
    strength: float,
    field: tuple[Floats, GridShape] | None,
) -> Floats:
    """Each new point at a minimum of sum_j p_j (-log w(|y - y_j|^2)) + log phi(y), or strength phi(y) where that is
    given; phi is the field of the frozen points, or of a grid, which no point leaves.

    Steps against the gradient divided by the stiffness of the springs, 2 sum_j p_j pull(r_j): shorter where it rises.
    """
    others, charges = frozen

    def energy(y: Any, near: Any, p: Any) -> tuple[float, Any, float]:
        """(energy, gradient, stiffness) at y."""
        if field is not None and not _inside(y, field[1]):
            return np.inf, 0 * y, 0.0
        here = gather(*field, y[None]) if field is not None else exact_field(others, charges, law, y[None])
        phi, slope = here[0][0], here[1][0]
        away = y - others[near].astype(np.float64)
        r = (away**2).sum(axis=1)
        springs = 2 * p * pull(law, r)
        cost = (p * -np.log(weight(law, r))).sum() + (strength * phi if strength > 0 else np.log(phi))
        return cost, springs @ away + slope * (strength if strength > 0 else 1 / phi), springs.sum()

    out = points[0].astype(np.float64)
    for i, (near, p) in enumerate(zip(points[1], points[2].astype(np.float64), strict=True)):
        share, (cost, gradient, stiffness) = 1.0, energy(out[i], near, p)
        for _ in range(MOST_STEPS):
            move = share * gradient / stiffness
            if share <= SHORTEST_SHARE or np.linalg.norm(move) <= ARRIVED:
                break
            after = energy(out[i] - move, near, p)
            if after[0] < cost:
                out[i], (cost, gradient, stiffness), share = out[i] - move, after, min(1.0, 1.5 * share)
            else:
                share /= 2
    return out


def _inside(y: Any, shape: GridShape) -> bool:
    """Whether there are two nodes to each side of a point."""
    u = (y - np.array(shape[1])) / shape[2]
    return bool(((u >= 1) & (u < np.array(shape[0]) - 2)).all())


def _around(y: Any, shape: GridShape) -> tuple[list[Any], list[Any], list[Any]]:
    """The four nodes around a point in each direction, the splines there and their derivatives."""
    nodes, weights, slopes = [], [], []
    for coordinate, origin in zip(y, shape[1], strict=True):
        u = (float(coordinate) - origin) / shape[2]
        first = int(np.floor(u)) - 1
        t = u - np.arange(first, first + 4)
        nodes.append(np.arange(first, first + 4))
        weights.append(_spline(t))
        slopes.append(_spline_slope(t))
    return nodes, weights, slopes


def _spline(t: Any) -> Any:
    """The cubic B-spline."""
    a = np.abs(t)
    return np.where(a < 1, (4 - 6 * a**2 + 3 * a**3) / 6, np.where(a < 2, (2 - a) ** 3 / 6, 0))


def _spline_slope(t: Any) -> Any:
    a = np.abs(t)
    return np.sign(t) * np.where(a < 1, (-12 * a + 9 * a**2) / 6, np.where(a < 2, -((2 - a) ** 2) / 2, 0))


def _product(weights: list[Any]) -> Any:
    """The outer product over the directions."""
    out = np.ones(())
    for along in weights:
        out = np.multiply.outer(out, along)
    return out
