"""One problem for the whole family: a sparse affinity, a law, a normalisation and a way to sum the repulsion."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lowfold.backend import native
from lowfold.backend.protocol import Sparse
from lowfold.force.law import Law
from lowfold.force.repulsion import Engine
from lowfold.types import Floats

GLOBAL, ROWS, NONE = "global", "rows", "none"
PULL = 4.0  # an edge is met twice, from both ends, and r has the slope 2 (y_i - y_j)


@dataclass(frozen=True, slots=True)
class Forces:
    """The gradient at an embedding, in its two parts, and the value of the repulsive term there.

    4 attraction (n, d) is that of sum_ij p_ij (-log w_ij), scale * repulsion (n, d) that of the rest; repulsive is the
    rest itself.
    """

    attraction: Floats
    repulsion: Floats
    scale: float
    repulsive: float

    def gradient(self, exaggeration: float = 1.0) -> Floats:
        """The gradient with the affinities multiplied by a factor."""
        number = self.attraction.dtype.type
        return number(PULL * exaggeration) * self.attraction + number(self.scale) * self.repulsion


@dataclass(frozen=True, slots=True)
class ForceProblem:
    """E(Y) = sum_ij p_ij (-log w(r_ij)) + R(Y), r_ij = |y_i - y_j|^2.

    With phi_i = sum_(j != i) w(r_ij), R is log(sum_i phi_i) if the normalisation is global, sum_i log(phi_i) if it is
    by rows, and strength * sum_i m_i sum_(j != i) m_j w(r_ij) with masses m (None: 1) if there is none. constant is
    added to E in reports: with it, E is a Kullback-Leibler divergence. P is symmetric, float32, in the order of the
    embedding's rows: begin, columns, values of each row.
    """

    P: Sparse
    law: Law
    engine: Engine
    threads: int
    normalisation: str = GLOBAL
    strength: float = 1.0
    constant: float = 0.0
    masses: Floats | None = None

    @property
    def n(self) -> int:
        """The number of points."""
        return len(self.P[0]) - 1

    @property
    def degrees(self) -> NDArray[np.float64]:
        """The row sums of P."""
        ones = np.ones((self.n, 2), self.P[2].dtype)  # products take at least two vectors
        return native.kernels.sparse_times(self.P, ones, self.threads)[:, 0].astype(np.float64)

    def forces(self, Y: Floats) -> Forces:
        """Both parts of the gradient. Cost: the entries of P, and the engine's."""
        pulls = native.kernels.attraction(self._entries(Y), Y, self.law.code, self.threads)
        slope, scale, value = self._repulsion(Y)
        return Forces(pulls, slope, scale, value)

    def loss(self, Y: Floats, repulsive: float | None = None) -> float:
        """E at Y; the repulsive term is computed anew if it is not given."""
        if repulsive is None:
            repulsive = self._repulsion(Y)[2]
        cost = native.kernels.attraction_cost(self._entries(Y), Y, self.law.code, self.threads)
        return self.constant + cost + repulsive

    def with_strength(self, strength: float) -> ForceProblem:
        """The same problem with another weight of the repulsion."""
        return dataclasses.replace(self, strength=strength)

    def _repulsion(self, Y: Floats) -> tuple[Floats, float, float]:
        """(G, s, R) with s G the gradient of R. Every phi holds w(0) = 1 of the point itself, which is taken off."""
        if self.normalisation == NONE:
            return self._unnormalised(Y)
        phi, slope = self.engine.field(Y)
        if self.normalisation == ROWS:
            return self._by_rows(Y, phi, slope)
        Z = max(float(phi.sum(dtype=np.float64)) - self.n, TINY)
        return slope, 2 / Z, float(np.log(Z))

    def _unnormalised(self, Y: Floats) -> tuple[Floats, float, float]:
        masses = None if self.masses is None else self.masses.astype(Y.dtype, copy=False)
        phi, slope = self.engine.field(Y, masses)
        if masses is None:
            return slope, 2 * self.strength, self.strength * (float(phi.sum(dtype=np.float64)) - self.n)
        total = float(masses.astype(np.float64) @ (phi - masses))
        return masses[:, None] * slope, 2 * self.strength, self.strength * total

    def _by_rows(self, Y: Floats, phi: Floats, slope: Floats) -> tuple[Floats, float, float]:
        """Each point's sum has its own weight 1 / phi_i in the others' forces: a second field, of these charges.

        Points that are nearly alone have small sums and large charges, which an engine's error would drown: what they
        feel and what they exert is summed one by one.
        """
        own = phi.astype(np.float64) - 1
        alone = np.flatnonzero(own < LEAST_SUM)
        if len(alone):
            skip = alone.astype(np.int32)
            exact, slopes = native.kernels.exact_field(Y, None, self.law.code, Y[alone], skip, self.threads)
            own[alone] = np.maximum(exact, TINY)
            slope[alone] = slopes
        charges = (1 / own).astype(Y.dtype)
        others = charges.copy()
        others[alone] = 0
        pushed = self.engine.field(Y, others)[1]
        if len(alone):
            pushed += native.kernels.exact_field(Y[alone], charges[alone], self.law.code, Y, None, self.threads)[1]
        return slope / own[:, None].astype(Y.dtype) + pushed, 1.0, float(np.log(own).sum())

    def _entries(self, Y: Floats) -> Sparse:
        begin, columns, values = self.P
        return begin, columns, values.astype(Y.dtype, copy=False)


TINY = 1e-30  # of a sum that rounding makes zero: all points far apart
LEAST_SUM = 0.05  # of a point's phi; below, it is summed without an engine
