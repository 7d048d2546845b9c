"""The kernels on graphs and neighbourhoods in NumPy, written to be read: the specification of the C++ ones."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from lowfold.types import Floats, Indices


def symmetric_graph(neighbors: Indices, lengths: Floats) -> NDArray[Any]:
    """The graph as a dense matrix, NaN where there is no edge; the lower point's length where both have one."""
    n = len(neighbors)
    graph = np.full((n, n), np.nan, lengths.dtype)
    for i in reversed(range(n)):
        graph[i, neighbors[i]] = lengths[i]
        graph[neighbors[i], i] = lengths[i]
    return graph


def components(graph: csr_array) -> Indices:
    """Every point takes the lowest number that it can reach, an edge at a time."""
    lowest = np.arange(graph.shape[0], dtype=np.int32)
    rows = np.repeat(np.arange(graph.shape[0]), np.diff(graph.indptr))
    while True:
        lower = lowest.copy()
        np.minimum.at(lower, graph.indices, lowest[rows])
        if np.array_equal(lower, lowest):
            return lowest
        lowest = lower


def geodesics(graph: csr_array, nodes: Indices, behind: Floats, targets: Indices) -> Floats:
    """Bellman and Ford: as long as some edge offers a shorter way, take it."""
    rows = np.repeat(np.arange(graph.shape[0]), np.diff(graph.indptr))
    out = np.empty((len(nodes), len(targets)), behind.dtype)
    for r in range(len(nodes)):
        labels = np.full(graph.shape[0], np.inf, behind.dtype)
        np.minimum.at(labels, nodes[r], behind[r])
        while True:
            shorter = labels.copy()
            np.minimum.at(shorter, graph.indices, labels[rows] + graph.data)
            if np.array_equal(shorter, labels):
                break
            labels = shorter
        out[r] = labels[targets]
    return out


def banded_order(graph: csr_array) -> Indices:
    """Breadth first from points with few neighbours, neighbours with few of their own first; reversed."""
    degrees = np.diff(graph.indptr)
    order: list[int] = []
    seen: set[int] = set()
    waiting: list[int] = []
    for start in np.argsort(degrees, kind="stable").tolist():
        if start not in seen:
            waiting, seen = [start], seen | {start}
        while waiting:
            point = waiting.pop(0)
            order.append(point)
            near = [j for j in graph.indices[graph.indptr[point] : graph.indptr[point + 1]].tolist() if j not in seen]
            waiting += sorted(near, key=lambda j: int(degrees[j]))
            seen.update(near)
    return np.array(order[::-1], np.int32)


def permuted(A: csr_array, order: Indices) -> Floats:
    """Entry (i, j) is A's (order[i], order[j]), written out."""
    return np.asarray(A.toarray()[np.ix_(order, order)])


def scaled_values(A: csr_array, scale: Floats) -> Floats:
    """scale_i A_ij scale_j, row by row."""
    rows = np.repeat(np.arange(A.shape[0]), np.diff(A.indptr))
    return scale[rows] * A.data * scale[A.indices]


def sparse_times(A: csr_array, V: Floats) -> NDArray[np.float64]:
    """A V in float64, row by row."""
    out = np.zeros((A.shape[0], V.shape[1]))
    for i in range(A.shape[0]):
        row = slice(A.indptr[i], A.indptr[i + 1])
        out[i] = A.data[row].astype(np.float64) @ V[A.indices[row]]
    return out


def chebyshev(A: csr_array, V: Floats, ends: tuple[float, float, float], degree: int) -> Floats:
    """T(A') V / T(top'), with x' = (x - c) / e the map of [low, high] to [-1, 1]."""
    low, high, top = ends
    c, e = (high + low) / 2, (high - low) / 2
    before, current = V, (A @ V - c * V) / e
    for _ in range(2, degree + 1):
        before, current = current, 2 * (A @ current - c * current) / e - before
    return current / np.cosh(degree * np.arccosh((top - c) / e))


def barycentric_weights(queries: Floats, X: Floats, neighbors: Indices, regularisation: float) -> NDArray[np.float64]:
    """(G + r trace(G) I) w = 1 with G the Gram matrix of the neighbours less the query; w divided by its sum."""
    weights = []
    for q, near in zip(queries.astype(np.float64), neighbors, strict=True):
        Z = X[near] - q
        G = Z @ Z.T
        trace = np.trace(G)
        w = (
            np.linalg.solve(G + regularisation * trace * np.eye(len(G)), np.ones(len(G)))
            if trace > 0
            else np.ones(len(G))
        )
        weights.append(w / w.sum())
    return np.array(weights)


def tangent_coordinates(X: Floats, near: Indices, d: int) -> NDArray[np.float64]:
    """The best d coordinates of a neighbourhood: the first left singular vectors of its centred points."""
    Z = X[near].astype(np.float64)
    return np.linalg.svd(Z - Z.mean(axis=0), full_matrices=False)[0][:, :d]


def tangent_blocks(X: Floats, neighbors: Indices, d: int) -> NDArray[np.float64]:
    """I - 1 1^T / k - Q Q^T."""
    k = neighbors.shape[1]
    coordinates = (tangent_coordinates(X, near, d) for near in neighbors)
    return np.array([np.eye(k) - 1 / k - Q @ Q.T for Q in coordinates])


def hessian_blocks(X: Floats, neighbors: Indices, d: int) -> NDArray[np.float64]:
    """H H^T with H the last columns of the QR factorisation of (1, Q, products of two columns of Q)."""
    blocks = []
    for near in neighbors:
        Q = tangent_coordinates(X, near, d)
        products = [Q[:, i] * Q[:, j] for i in range(d) for j in range(i, d)]
        H = np.linalg.qr(np.column_stack([np.ones(len(near)), Q, *products]))[0][:, d + 1 :]
        blocks.append(H @ H.T)
    return np.array(blocks)


def modified_blocks(X: Floats, neighbors: Indices, d: int, regularisation: float) -> NDArray[np.float64]:
    """S S^T with S = (-1; V H + (1 - alpha) w 1^T) as in Zhang and Wang (2007), steps 3 and 4."""
    k = neighbors.shape[1]
    spectra = []
    for x, near in zip(X.astype(np.float64), neighbors, strict=True):
        values, V = np.linalg.eigh((X[near] - x) @ (X[near] - x).T)
        spectra.append((np.maximum(values[::-1], 0), V[:, ::-1]))
    eta = np.median([values[d:].sum() / values[:d].sum() for values, _ in spectra])
    blocks = []
    for values, V in spectra:
        w = V @ ((V.T @ np.ones(k)) / (values + regularisation * values.sum()))
        w /= w.sum()
        s = max(1, sum(values[k - size :].sum() / values[: k - size].sum() < eta for size in range(1, k)))
        V_s = V[:, k - s :]
        v = V_s.sum(axis=0)
        alpha = np.linalg.norm(v) / np.sqrt(s)
        h = alpha - v
        h = h / np.linalg.norm(h) if np.linalg.norm(h) > 1e-12 else 0 * h
        S = np.vstack([-np.ones(s), V_s - 2 * np.outer(V_s @ h, h) + (1 - alpha) * w[:, None]])
        blocks.append(S @ S.T)
    return np.array(blocks)


def align(patches: Indices, blocks: NDArray[np.float64], points: int) -> NDArray[np.float64]:
    """The sum of the blocks, dense."""
    M = np.zeros((points, points))
    for patch, block in zip(patches, blocks, strict=True):
        M[np.ix_(patch, patch)] += block
    return M


def factorise(A: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """(L, U) with A = L U, by Gauss's elimination without exchange of rows."""
    L, U = np.eye(len(A)), A.copy()
    for q in range(len(A)):
        L[q + 1 :, q] = U[q + 1 :, q] / U[q, q]
        U[q + 1 :] -= np.outer(L[q + 1 :, q], U[q])
    return L, U


def solve(A: NDArray[np.float64], B: NDArray[np.float64], transposed: bool) -> NDArray[np.float64]:
    """A^-1 B, L y = B and U x = y; or A^-T B, U^T y = B and L^T x = y."""
    L, U = factorise(A)
    lower, upper = (U.T, L.T) if transposed else (L, U)
    y, x = np.empty_like(B), np.empty_like(B)
    for q in range(len(A)):
        y[q] = (B[q] - lower[q, :q] @ y[:q]) / lower[q, q]
    for q in reversed(range(len(A))):
        x[q] = (y[q] - upper[q, q + 1 :] @ x[q + 1 :]) / upper[q, q]
    return x
