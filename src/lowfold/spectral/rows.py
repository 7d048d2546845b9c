"""The row that a new point would have had in the matrix, times a basis B: its place in the embedding.

With B = Y / lam at the top end of the spectrum the eigenvector equation itself is read at the new point, so that a
training point would come out where it is. Every row is worked on by itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from lowfold.affinity.walk import row_sums, scaled
from lowfold.backend import native
from lowfold.errors import warn
from lowfold.spectral.problem import ROUNDINGS, Block, Spectrum
from lowfold.types import Floats

ROUNDING = 1e-12  # of the largest eigenvalue, a walk's 1: one below this is none


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


def roots(values: NDArray[np.float64], precision: float) -> NDArray[np.float64]:
    """sqrt(lam), 0 for a value that is no larger than rounding."""
    return np.sqrt(np.where(values > negligible(values, precision), values, 0.0))


def inverse_roots(values: NDArray[np.float64], precision: float) -> NDArray[np.float64]:
    """1 / sqrt(lam), 0 where that is rounding: such a coordinate is 0 for all points."""
    large = values > negligible(values, precision)
    return np.where(large, 1 / np.sqrt(np.where(large, values, 1.0)), 0.0)


def negligible(values: NDArray[np.float64], precision: float) -> float:
    """What is rounding beside the largest eigenvalue, of a matrix whose entries have that relative error.

    Where training points differ by rounding alone, a new row's own rounding divided by their spread is any number.
    """
    return max(ROUNDING, ROUNDINGS * precision) * float(np.abs(values).max(initial=0.0))


def inverses(spectrum: Spectrum) -> NDArray[np.float64]:
    """1 / lam for a walk's eigenvalues; 0, with a warning, for one that cannot be told from 0.

    P y = lam y tells y at a new point by its row of P as long as lam is not 0. Where it is, every row of P says 0 and
    nothing of y. The new point gets 0, as it does in a diffusion map: the mean of y over the walk.
    """
    known = np.abs(spectrum.values) > np.maximum(ROUNDING, spectrum.residuals)
    if not known.all():
        warn_of_unknown(np.flatnonzero(~known))
    return np.where(known, 1 / np.where(known, spectrum.values, 1.0), 0.0)


def warn_of_unknown(coordinates: NDArray[np.intp]) -> None:
    """Says that new points have no coordinates where an eigenvalue of the walk is 0."""
    warn(
        f"The walk's eigenvalue is 0 for {len(coordinates)} of the coordinates, the first in column {coordinates[0]} "
        f"(counted from 0): one step forgets it, so that a new point's neighbours do not tell its place there. New "
        f"points get its mean, 0. Lower n_components to {max(coordinates[0], 1)}, or fit with more neighbours.",
    )


def warn_of_zeros(m: int, existing: int, why: str) -> None:
    """Says that fewer coordinates exist than were asked for."""
    if existing < m:
        warn(
            f"n_components={m}, but there are only {existing} coordinates ({why}): the other {m - existing} are 0 for "
            f"all points. Lower n_components to {max(existing, 1)}.",
        )
