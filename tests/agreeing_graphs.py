"""The cases of the kernels on graphs and neighbourhoods."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array

from agreeing import Pair, case, written_out
from conftest import entries
from lowfold.backend import reference


@case
def symmetric_graph(kernels, data):
    found, wanted = kernels.symmetric_graph(*data.neighbors()[1:], 2), data.graph()
    return Pair(found, entries(wanted), 0)


@case
def components(kernels, data):
    return Pair(kernels.components(entries(data.graph())), reference.components(data.graph()), 0)


@case
def geodesics(kernels, data):
    graph, targets = data.graph(), np.arange(0, data.n, 2, dtype=np.int32)
    nodes, behind = targets[:, None] + np.array([[0, 1]], np.int32), data.chance(len(targets), 2)
    found = kernels.geodesics(entries(graph), nodes, behind, targets, 2)
    return Pair(found, reference.geodesics(graph, nodes, behind, targets), 0)


@case
def sparse_times(kernels, data):
    V = data.rows(d=4, seed=1)
    return Pair(kernels.sparse_times(entries(data.graph()), V, 2), reference.sparse_times(data.graph(), V))


@case
def chebyshev_inplace(kernels, data):
    A, V, ends = data.affinity(), data.rows(d=4, seed=1), (-1.0, 0.5, 1.0)
    wanted = reference.chebyshev(A.astype(np.float64), V.astype(np.float64), ends, 7)
    kernels.chebyshev_inplace(entries(A), V, ends, 7, 2)
    return Pair(V, wanted)


@case
def banded_order(kernels, data):
    return Pair(kernels.banded_order(entries(data.graph())), reference.banded_order(data.graph()), 0)


@case
def permuted(kernels, data):
    order = np.random.default_rng(2).permutation(data.n).astype(np.int32)
    found = kernels.permuted(entries(data.graph()), order, True, 2)
    return Pair(written_out(found, data.n), reference.permuted(data.graph(), order), 0)


@case
def scaled_values(kernels, data):
    A, scale = data.affinity(), data.chance(data.n, seed=2)
    return Pair(kernels.scaled_values(entries(A), scale, 2), reference.scaled_values(A, scale))


@case
def barycentric_weights(kernels, data):
    X, near, _ = data.neighbors()
    found = kernels.barycentric_weights(X, X, near, 1e-3, 2)
    return Pair(found, reference.barycentric_weights(X, X, near, 1e-3), 1e-9)


@case
def tangent_blocks(kernels, data):
    X, near, _ = data.neighbors(9)
    return Pair(kernels.tangent_blocks(X, near, 2, 2), reference.tangent_blocks(X, near, 2), 1e-8)


@case
def hessian_blocks(kernels, data):
    X, near, _ = data.neighbors(9)
    return Pair(kernels.hessian_blocks(X, near, 2, 2), reference.hessian_blocks(X, near, 2), 1e-8)


@case
def modified_blocks(kernels, data):
    X, near, _ = data.neighbors(9)
    return Pair(kernels.modified_blocks(X, near, 2, 1e-3, 2), reference.modified_blocks(X, near, 2, 1e-3), 1e-8)


@case
def align(kernels, data):
    near = data.neighbors()[1]
    blocks = data.rows(data.n * 8, 8).astype(np.float64).reshape(data.n, 8, 8)
    return Pair(written_out(kernels.align(near, blocks, data.n, 2), data.n), reference.align(near, blocks, data.n), 0)


def system(data):
    """(A, B): a matrix with a strong diagonal, and right-hand sides."""
    A = data.affinity().astype(np.float64).toarray() + np.eye(data.n)
    return A, data.rows(d=3).astype(np.float64)


def factors(kernels, A):
    found = kernels.Factorisation(entries(csr_array(A)), False)
    found.factorise(entries(csr_array(A)), 2)
    return found


@case
def factorise(kernels, data):
    """L U, asked for by way of its inverse: the kernel keeps its factors to itself."""
    A, _ = system(data)
    L, U = reference.factorise(A)
    return Pair(factors(kernels, A).solve(L @ U, False, 2), np.eye(data.n), 1e-11)


@case
def solve(kernels, data):
    A, B = system(data)
    both = [factors(kernels, A).solve(B, transposed, 2) for transposed in (False, True)]
    return Pair(both, [reference.solve(A, B, transposed) for transposed in (False, True)], 1e-11)
