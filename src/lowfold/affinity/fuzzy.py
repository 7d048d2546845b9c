"""Fuzzy neighbourhoods and their union (McInnes, Healy and Melville 2018)."""

from __future__ import annotations

import numpy as np

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
