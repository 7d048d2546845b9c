"""One basis for each eigenspace, so that equal input gives equal output whichever way the vectors were found."""

from __future__ import annotations

import itertools

import numpy as np
from numpy.typing import NDArray

from lowfold.backend import steps
from lowfold.spectral.problem import Block


def canonical(values: NDArray[np.float64], vectors: Block, close: NDArray[np.float64]) -> Block:
    """The same eigenspaces with a basis that depends on nothing but the spaces.

    close: how near the next eigenvalue must be to each to be no other one.

    In the space of each eigenvalue: the projections of fixed reference vectors, made orthonormal one after another. For
    a single vector this sets its sign: the first points count most and get positive coordinates.
    """
    turned = vectors * np.where(references(len(vectors), 1)[:, 0] @ vectors < 0, -1.0, 1.0)
    for group in groups(values, close):
        V = vectors[:, group]
        if V.shape[1] > 1:
            Q, R = steps.orthonormal(steps.product(V.T, references(len(V), V.shape[1])))
            turned[:, group] = steps.product(V, Q * np.where(np.diag(R) < 0, -1.0, 1.0))
    return turned


def groups(values: NDArray[np.float64], close: NDArray[np.float64]) -> list[slice]:
    """Runs of eigenvalues that are equal up to rounding."""
    if not len(values):
        return []
    breaks = np.flatnonzero(np.abs(np.diff(values)) > close[:-1]) + 1
    ends = [0, *breaks.tolist(), len(values)]
    return [slice(begin, end) for begin, end in itertools.pairwise(ends)]


def references(n: int, count: int) -> Block:
    """Column j: cos(j i) / (1 + i) at point i. Columns are independent, and no vector is orthogonal to the first
    by its symmetry."""
    i = np.arange(n)[:, None]
    return (np.cos(np.arange(count) * i) if count > 1 else 1.0) / (1 + i)
