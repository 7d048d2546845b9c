"""The row that a new point would have had in the matrix, times a basis B: its place in the embedding.

With B = Y / lam at the top end of the spectrum the eigenvector equation itself is read at the new point, so that a
training point would come out where it is. Every row is worked on by itself.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from lowfold.affinity.walk import row_sums, scaled
from lowfold.backend import native
from lowfold.spectral.problem import Block
from lowfold.types import Floats


def walked(W: csr_array, B: Block) -> Floats:
    """P B, with P the affinities of new points divided by their sums."""
    return weighted(scaled(W, 1 / row_sums(W), None), B)


def weighted(weights: csr_array, B: Block) -> Floats:
    """weights B: the entries of a row are added in their order."""
    return np.asarray(weights @ B)


def dense_rows(rows: Any, B: Any, threads: int) -> Floats:
    """rows B in float64, each row by itself."""
    rows = np.ascontiguousarray(rows, np.float64)
    B = np.ascontiguousarray(B, np.float64)
    return np.asarray(native.kernels.project(rows, np.zeros(rows.shape[1]), B, threads))


@dataclass(frozen=True, slots=True)
class CentredRows:
    """New rows of scale * H A H, where H centres by the means of the training rows.

    means (n,): of the rows of A; grand: of all entries. basis (n, m) = V / sqrt(lam).
    """

    means: NDArray[np.float64]
    grand: float
    basis: Block
    scale: float = 1.0

    def place(self, rows: Any, threads: int) -> Floats:
        """scale (a - mean(a) - means + grand) basis for each new row a of A."""
        # In float64, also for float32 rows: the differences are small beside what they are taken from.
        rows = np.asarray(rows, np.float64)
        centred = self.scale * (rows - rows.mean(axis=1)[:, None] - self.means + self.grand)
        return dense_rows(centred, self.basis, threads)


def roots(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """sqrt(lam), 0 for a value that is no larger than rounding."""
    return np.sqrt(np.where(values > negligible(values), values, 0.0))


def inverse_roots(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """1 / sqrt(lam), 0 where that is rounding: such a coordinate is 0 for all points."""
    large = values > negligible(values)
    return np.where(large, 1 / np.sqrt(np.where(large, values, 1.0)), 0.0)


def negligible(values: NDArray[np.float64]) -> float:
    """What is rounding beside the largest eigenvalue."""
    return 1e-12 * float(np.abs(values).max(initial=0.0))


def warn_of_zeros(m: int, existing: int, why: str) -> None:
    """Says that fewer coordinates exist than were asked for."""
    if existing < m:
        warnings.warn(
            f"n_components={m}, but there are only {existing} coordinates ({why}): the other {m - existing} are 0 for "
            f"all points. Lower n_components to {max(existing, 1)}.",
            UserWarning,
            stacklevel=5,
        )
