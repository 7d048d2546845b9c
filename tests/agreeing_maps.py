"""The cases of the kernels that move points and judge maps."""

from __future__ import annotations

import numpy as np

from agreeing import Pair, case, strips, written_out
from conftest import entries
from lowfold.backend import reference
from lowfold.backend.reference.rows import unpacked

LAW = ("student", 1.0)
CURVE = (1.5, 0.9, 1.0)
GRID = ([40, 44], [-6.0, -6.5], 0.3)  # around everything that is on a map

# Exponentials and logarithms in float32, and weights from bisections that end at 1e-5 of an entropy.
SINGLE, BISECTED = 2e-5, 5e-4


# Affinities


@case
def perplexity_rows(kernels, data):
    distances, perplexities = data.neighbors()[2], np.array([2.0, 5.0])
    found = kernels.perplexity_rows(distances, perplexities, 2)
    return Pair(found, reference.perplexity_rows(distances, perplexities), BISECTED)


def memberships(data):
    _, near, distances = data.neighbors()
    return near, reference.fuzzy_rows(distances, 1.0, float(distances.mean())).astype(np.float32)


@case
def joint_affinity(kernels, data):
    near, P = memberships(data)
    found = kernels.joint_affinity(near, P, 0.25, 2)
    return Pair(written_out(found, data.n), reference.joint_affinity(near, P, 0.25), SINGLE)


@case
def fuzzy_rows(kernels, data):
    distances = data.neighbors()[2]
    mean = float(distances.mean())
    return Pair(kernels.fuzzy_rows(distances, 1.0, mean, 2), reference.fuzzy_rows(distances, 1.0, mean), BISECTED)


@case
def fuzzy_union(kernels, data):
    near, P = memberships(data)
    return Pair(written_out(kernels.fuzzy_union(near, P, 0.7, 2), data.n), reference.fuzzy_union(near, P, 0.7), SINGLE)


def membership_graph(data):
    near, P = memberships(data)
    return np.arange(0, P.size + 1, P.shape[1], dtype=np.int64), near.ravel(), P.ravel()


@case
def firing_edges(kernels, data):
    graph = membership_graph(data)
    return Pair(kernels.firing_edges(graph, 1.0, 50, 5, 2), reference.firing_edges(graph, 1.0, 50, 5), 0)


# Forces


@case
def layout_epoch(kernels, data):
    edges, Y = reference.firing_edges(membership_graph(data), 1.0, 50, 5), data.map().astype(np.float32)
    order, how = np.random.default_rng(1).permutation(data.n).astype(np.int32), (3, 0.1, 7, 77)
    found = kernels.layout_epoch(edges, Y, order, CURVE, how, 2)
    return Pair(found, reference.layout_epoch(edges, Y, order, CURVE, how), 1e-3)


@case
def placing_epoch(kernels, data):
    edges = reference.firing_edges(membership_graph(data), 1.0, 50, 5)
    Y, others = (data.map(seed=seed).astype(np.float32) for seed in (0, 1))
    found = kernels.placing_epoch(edges, Y, others, CURVE, (3, 0.1, 4, 77), 2)
    return Pair(found, reference.placing_epoch(edges, Y, others, CURVE, (3, 0.1, 4, 77)), 1e-3)


@case
def attraction(kernels, data):
    P, Y = data.affinity(), data.map()
    found = kernels.attraction(entries(P), Y, LAW, 2)
    return Pair(found, reference.attraction(P.toarray(), Y.astype(np.float64), LAW))


@case
def attraction_cost(kernels, data):
    P, Y = data.affinity(), data.map()
    found = kernels.attraction_cost(entries(P), Y, LAW, 2)
    return Pair(found, reference.attraction_cost(P.toarray(), Y.astype(np.float64), LAW), SINGLE)


@case
def pair_field(kernels, data):
    W, Y = data.affinity(), data.map()
    found = kernels.pair_field(entries(W), Y, LAW, 2)
    return Pair(found, reference.pair_field(W.toarray(), Y.astype(np.float64), LAW))


@case
def exact_field(kernels, data):
    Y, charges, own = data.map(), data.chance(data.n), np.arange(0, data.n, 3, dtype=np.int32)
    found = kernels.exact_field(Y, charges, LAW, Y[own], own, 2)
    return Pair(found, reference.exact_field(Y.astype(np.float64), charges, LAW, Y[own].astype(np.float64), own))


@case
def tree_field(kernels, data):
    # On a lattice: float32 and float64 then agree about which groups are one.
    Y, charges = np.round(8 * data.map(d=4)) / data.dtype(8), np.ones(data.n, data.dtype)
    return Pair(kernels.tree_field(Y, charges, LAW, 0.7, 2), reference.tree_field(Y, charges, LAW, 0.7))


@case
def spread(kernels, data):
    Y, charges = data.map().astype(np.float32), data.chance(data.n).astype(np.float32)
    return Pair(kernels.spread(Y, charges, GRID, 2), reference.spread(Y, charges, GRID), SINGLE)


@case
def gather(kernels, data):
    values, Y = np.random.default_rng(0).random(40 * 44).astype(np.float32), data.map().astype(np.float32)
    return Pair(kernels.gather(values, GRID, Y, 2), reference.gather(values, GRID, Y), 5 * SINGLE)


@case
def run_inplace(kernels, data):
    values, kernel = data.map(40 * 45, 1).ravel().astype(np.float32), np.abs(data.map(80, 46)).astype(np.float32)
    kernel += np.roll(kernel[::-1], 1, axis=0)  # even, as that of a law is
    wanted = reference.convolved(values, (40, 45), kernel)
    kernels.Convolution([40, 45], kernel).run_inplace(values, 2)
    return Pair(values, wanted, SINGLE)


@case
def column_bounds(kernels, data):
    Y = data.map().astype(np.float32)
    return Pair(kernels.column_bounds(Y), reference.column_bounds(Y), 0)


@case
def advance_inplace(kernels, data):
    Y, velocity, pulled, pushed = (data.map(seed=seed).astype(np.float32) for seed in range(4))
    gains, weights = (data.chance(data.n, *more).astype(np.float32) + np.float32(0.02) for more in ((2,), ()))
    forces, how = (pulled, pushed, weights), (3.0, 0.5, 0.4, 0.9, 1.5)
    wanted = reference.advance(Y, velocity, gains, forces, how)
    kernels.advance_inplace(Y, velocity, gains, forces, how, 2)
    return Pair((Y, velocity, gains), wanted, SINGLE)


@case
def placed(kernels, data):
    frozen, start = data.map().astype(np.float32), data.map(20, seed=1).astype(np.float32)
    near = np.random.default_rng(0).permuted(np.tile(np.arange(data.n, dtype=np.int32), (20, 1)), axis=1)[:, :8].copy()
    points = start, near, np.full((20, 8), 1 / 8, np.float32)
    along = [origin + GRID[2] * np.arange(nodes) for nodes, origin in zip(*GRID[:2], strict=True)]
    nodes = np.stack(np.meshgrid(*along, indexing="ij"), axis=-1).reshape(-1, 2)
    grid = reference.exact_field(frozen, None, LAW, nodes)[0].astype(np.float32), GRID
    ways = [(strength, field) for strength in (0.0, 0.02) for field in (None, grid)]
    found = [kernels.placed(points, (frozen, None), LAW, *way, 2) for way in ways]
    # A place is known to the square root of the digits of the energy, which are those of float32.
    return Pair(found, [reference.placed(points, (frozen, None), LAW, *way) for way in ways], 1e-2)


# Stress


@case
def cross_distances(kernels, data):
    A, B = data.rows(), data.rows(30, seed=1)
    return Pair(kernels.cross_distances(A, B, 2), reference.cross_distances(A, B), each=True)


@case
def disparities_inplace(kernels, data):
    Y, (first, second) = data.map(), (part.astype(np.int32) for part in np.triu_indices(data.n, 1))
    pairs, chosen = len(first), np.random.default_rng(0).permutation(len(first))
    w = 0.1 + data.chance(pairs).astype(np.float64)
    order = first[chosen], second[chosen], np.arange(0, pairs, 3, dtype=np.int64), w
    fitted, targets = np.empty(pairs), strips(np.zeros((data.n, data.n), data.dtype))
    sums = kernels.disparities_inplace(fitted, targets, Y, order, "primary", 2)
    d, f = reference.disparities(Y, order, "primary")
    wanted = (w * d**2).sum(), (w * f**2).sum(), (w * (d - f) ** 2).sum()
    f = f * wanted[0] / wanted[1]
    whole = np.zeros((data.n, data.n))
    whole[order[0], order[1]] = whole[order[1], order[0]] = f
    return Pair((sums, fitted, unpacked(targets, data.n)), (wanted, f, whole))


def stressed(data):
    X, Y = data.rows(), data.map()
    return X, reference.cross_distances(X, X).astype(data.dtype), Y, ("inverse", float(np.ptp(X)))


def on_one_scale(found, wanted):
    """Half the gradient, residuals and the sum are of the same terms."""
    return Pair(*(np.concatenate([G.ravel(), residuals, [size]]) for G, residuals, size in (found, wanted)))


@case
def stress_of_matrix(kernels, data):
    _, D, Y, law = stressed(data)
    found = kernels.stress_of_matrix(D, None, Y, law, 2)
    return on_one_scale(found, reference.stress_of_matrix(D, None, Y, law))


@case
def stress_of_packed(kernels, data):
    _, D, Y, law = stressed(data)
    found = kernels.stress_of_packed(strips(D), None, Y, law, 2)
    return on_one_scale(found, reference.stress_of_packed(strips(D), None, Y, law))


@case
def stress_of_rows(kernels, data):
    X, _, Y, law = stressed(data)
    found = kernels.stress_of_rows(X, None, Y, law, 2)
    return on_one_scale(found, reference.stress_of_rows(X, None, Y, law))


@case
def placed_by_stress(kernels, data):
    Y, new = data.map(), data.map(9, seed=1).astype(np.float64)
    deltas = (reference.cross_distances(new, Y) * (1 + 0.1 * data.chance(9, data.n))).astype(data.dtype)
    found = kernels.placed_by_stress(new + 0.3, deltas, None, Y, ("unit", 1.0), 2)
    # That they stay: which of several minima is found is a matter of the steps. The stress is flat there, so that a
    # place is known to half of its digits.
    wanted = reference.placed_by_stress(found[0], deltas, None, Y, ("unit", 1.0), steps=100)
    return Pair(found, wanted, 1e-3 if data.dtype == np.float32 else 1e-4)


# Judgement


@case
def coranking(kernels, data):
    rows, ks = np.arange(0, data.n, 3, dtype=np.int32), np.array([1, 7, 30], np.int64)
    # What is equally far is so in float32 and float64: the one as it is given, the other on a lattice.
    D = reference.distances(data.rows()[rows], data.rows(), "euclidean").astype(data.dtype)
    Y = np.round(8 * data.map(seed=1)) / data.dtype(8)
    found = kernels.coranking(D, Y, rows, ks, (True, True), 2)
    return Pair(found, reference.coranking(D.astype(float), Y.astype(float), rows, ks, (True, True)), 1e-9)


@case
def squared_distances(kernels, data):
    X, rows = data.rows(), np.arange(0, data.n, 3, dtype=np.int32)
    return Pair(kernels.squared_distances(X, rows, 2), reference.squared_distances(X, rows), each=True)
