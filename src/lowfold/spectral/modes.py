"""The eigenvectors of a walk as coordinates at any time, where the walk lives on one piece or on several."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lowfold.errors import ParameterError
from lowfold.spectral.graph_method import side_by_side
from lowfold.spectral.problem import Block
from lowfold.spectral.rows import ROUNDING, warn_of_unknown


@dataclass(frozen=True, slots=True)
class Modes:
    """Right eigenvectors Psi behind the constant one, of the walk on each piece by itself.

    right (n, m): row i belongs to the piece of point i, with zeros where that has fewer than m. values (p, m): the
    eigenvalues of each piece. piece (n,): the piece of each point. volumes (p,): the sum of its degrees.
    """

    right: Block
    values: NDArray[np.float64]
    piece: NDArray[np.intp]
    volumes: NDArray[np.float64]

    def coordinates(self, t: float) -> Block:
        """Psi lam^t, several pieces side by side."""
        Y = self._scaled(t)
        return Y + self._offsets(Y)[self.piece]

    def basis(self, t: float) -> Block:
        """What a new point's row of the walk is multiplied with: Psi lam^t / lam, where the pieces stand.

        A row has its entries in one piece and sum 1, so that it takes that piece's place as it is.
        """
        large = np.abs(self.values) > ROUNDING
        forgotten = (~large[self.piece] & (self.right != 0)).any(axis=0)
        if t == 0 and forgotten.any():  # later they are 0 for all points
            warn_of_unknown(np.flatnonzero(forgotten))
        factors = np.where(large, self._powers(t) / np.where(large, self.values, 1.0), 0.0)
        return self.right * factors[self.piece] + self._offsets(self._scaled(t))[self.piece]

    def distance(self, i: Any, j: Any, t: float) -> Any:
        """The diffusion distance; points of different pieces also differ in the piece they stay in."""
        Y = self._scaled(t)
        within = np.linalg.norm(Y[i] - Y[j], axis=-1)
        if len(self.volumes) == 1:
            return within
        a, b = self.piece[i], self.piece[j]
        between = (Y[i] ** 2).sum(axis=-1) + (Y[j] ** 2).sum(axis=-1) + 1 / self.volumes[a] + 1 / self.volumes[b]
        return np.where(a == b, within, np.sqrt(between))[()]

    def _scaled(self, t: float) -> Block:
        return self.right * self._powers(t)[self.piece]

    def _offsets(self, Y: Block) -> Block:
        return np.array(side_by_side([Y[self.piece == number] for number in range(len(self.volumes))]))

    def _powers(self, t: float) -> NDArray[np.float64]:
        """lam^t; a negative eigenvalue has no real power but for a whole number of steps."""
        lam = self.values
        noise = np.abs(lam) <= ROUNDING
        if t != int(t) and (lam[~noise] < 0).any():
            raise ParameterError(
                f"t={t:g} is not a whole number, but eigenvalue {lam[~noise].min():.3g} is negative and has no such "
                f"power. Use a whole t, or fewer components."
            )
        return np.where(noise, float(t == 0), np.sign(lam) ** int(t) * np.abs(np.where(noise, 1.0, lam)) ** t)
