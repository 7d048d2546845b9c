"""Gaussian affinities with a given effective number of neighbours (Hinton and Roweis 2002)."""

from __future__ import annotations

import math
from typing import TypeAlias

import numpy as np

from lowfold.backend import native
from lowfold.backend.embedding_protocol import Sparse
from lowfold.errors import DataError, ParameterError, warn
from lowfold.types import Floats, Indices

Perplexity: TypeAlias = float | tuple[float, ...] | list[float]

WIDTH = 3  # neighbours for each unit of perplexity: beyond them affinities are negligible (van der Maaten 2014)


def neighbors_needed(perplexity: Perplexity, n: int) -> int:
    """How many neighbours the affinities are spread over; raises ParameterError if the perplexity cannot be had."""
    if n < 2:
        raise DataError(f"X has n_samples = {n}; affinities need other points. Pass at least 2 samples.")
    largest = max(scales(perplexity))
    if largest >= n:
        raise ParameterError(
            f"perplexity={largest:g} needs more than {largest:g} other points, but X has n_samples = {n}. "
            f"Lower perplexity to {max(1, (n - 1) // WIDTH)} or less, or pass more samples."
        )
    wanted = math.ceil(WIDTH * largest)
    if wanted > n - 1:
        warn(
            f"perplexity={largest:g} spreads over {wanted} neighbours ({WIDTH} x perplexity), but there are only "
            f"{n - 1} other points; all {n - 1} are used. A perplexity of at most {(n - 1) / WIDTH:.3g} avoids this.",
        )
    return min(wanted, n - 1)


def scales(perplexity: Perplexity) -> tuple[float, ...]:
    """One or several perplexities as a tuple."""
    return tuple(perplexity) if isinstance(perplexity, tuple | list) else (perplexity,)


def perplexity_rows(distances: Floats, perplexity: Perplexity, threads: int) -> Floats:
    """Row-stochastic Gaussian affinities with a given effective number of neighbours, float32.

    p_ij = exp(-b_i d_ij^2) / sum_l exp(-b_i d_il^2), with b_i such that 2^H(p_i) = perplexity; for several perplexities
    the mean over them. Distances ascend in each row. The matrix is not symmetric (see `symmetrized`). Cost O(n k).
    """
    return native.kernels.perplexity_rows(distances, np.array(scales(perplexity), np.float64), threads)


def symmetrized(neighbors: Indices, P: Floats, scale: float, threads: int) -> Sparse:
    """scale (P + P^T), from the affinities P of each point to its neighbours."""
    return native.kernels.joint_affinity(neighbors, P, scale, threads)
