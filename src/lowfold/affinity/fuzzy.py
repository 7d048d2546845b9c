"""Fuzzy neighbourhoods and their union (McInnes, Healy and Melville 2018)."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array

from lowfold.backend import native
from lowfold.backend.embedding_protocol import Sparse
from lowfold.types import Floats, Indices


def fuzzy_rows(distances: Floats, connectivity: float, mean: float, threads: int) -> Floats:
    """The degree to which each neighbour belongs to a point, float32: exp(-max(0, d_ij - rho_i) / sigma_i).

    rho_i is the distance to the `connectivity`-th neighbour in another place, sigma_i such that the row's sum is
    log2(k + 1) for k neighbours, the point itself counted as one more. Distances ascend in each row; mean is that of
    the training points' (see `mean_distance`). Not symmetric. Cost O(n k).
    """
    return native.kernels.fuzzy_rows(distances, connectivity, mean, threads)


def mean_distance(distances: Floats) -> float:
    """The mean of all distances, with 0 from each point to itself: a thousandth of it is the least sigma."""
    n, k = distances.shape
    return float(distances.sum(dtype=np.float64)) / (n * (k + 1))


def fuzzy_union(neighbors: Indices, P: Floats, mix: float, threads: int) -> Sparse:
    """mix (P + P^T - P o P^T) + (1 - mix) P o P^T, symmetric: an edge is there if either end has it, or both."""
    return native.kernels.fuzzy_union(neighbors, P, mix, threads)


def held(graph: Sparse, neighbors: Indices, P: Floats) -> tuple[Sparse, int]:
    """The graph without entries of 0, in which points without an edge have that to their nearest neighbour; their
    number.

    Where both ends must have an edge (mix 0), nothing else would hold a point that is no neighbour of its neighbours;
    one edge each is the least that does (Dalmia and Sia 2021).
    """
    begin, columns, values = graph
    if values.all():
        return graph, 0
    n = len(neighbors)
    W = csr_array((values, columns, begin), shape=(n, n), copy=True)
    W.eliminate_zeros()
    alone = np.flatnonzero(np.diff(W.indptr) == 0)
    # No pair of them is there twice: points that are each other's nearest have an edge already.
    added = csr_array((P[alone, 0], (alone, neighbors[alone, 0])), shape=(n, n))
    W = csr_array(W + added + added.T)
    W.sort_indices()
    return (W.indptr.astype(np.int64), W.indices.astype(np.int32), W.data.astype(np.float32)), len(alone)
