"""One problem for the whole family: a sparse affinity, a law, a normalisation and a way to sum the repulsion."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from lowfold.backend import native
from lowfold.backend.embedding_protocol import Sparse
from lowfold.force.law import Law
from lowfold.force.repulsion import Engine
from lowfold.types import Floats

GLOBAL, ROWS, NONE = "global", "rows", "none"
PULL = 4.0  # an edge is met twice, from both ends, and r has the slope 2 (y_i - y_j)


@dataclass(frozen=True, slots=True)
class Forces:
    """The gradient at an embedding, in its two parts, and the value of the repulsive term there.

    4 attraction (n, d) is that of sum_ij p_ij (-log w_ij), scale * repulsion (n, d) that of the rest; repulsive is the
    rest itself. weight (n,): what each point's repulsion sums up to, to be compared with the row sums of P.
    """

    attraction: Floats
    repulsion: Floats
    scale: float
    repulsive: float
    weight: Floats

    def gradient(self, exaggeration: float = 1.0) -> Floats:
        """The gradient with the affinities multiplied by a factor."""
        number = self.attraction.dtype.type
        return number(PULL * exaggeration) * self.attraction + number(self.scale) * self.repulsion


Repulsion: TypeAlias = tuple[Floats, float, float, Floats]  # repulsion, scale, repulsive and weight of the forces


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

    @property
    def charges(self) -> Floats | None:
        """What each point weighs for new ones: its mass, or what it weighs for the others on average; None: 1."""
        return self.engine.charges if self.masses is None else self.masses

    def forces(self, Y: Floats) -> Forces:
        """Both parts of the gradient. Cost: the entries of P, and the engine's."""
        pulls = native.kernels.attraction(self._entries(Y), Y, self.law.code, self.threads)
        return Forces(pulls, *self._repulsion(Y))

    def cost(self, Y: Floats) -> float:
        """The attractive term of E."""
        return native.kernels.attraction_cost(self._entries(Y), Y, self.law.code, self.threads)

    def loss(self, Y: Floats) -> float:
        """E at Y."""
        return self.constant + self.cost(Y) + self._repulsion(Y)[2]

    def with_strength(self, strength: float) -> ForceProblem:
        """The same problem with another weight of the repulsion."""
        return dataclasses.replace(self, strength=strength)

    def _repulsion(self, Y: Floats) -> Repulsion:
        """Every phi holds w(0) = 1 of the point itself, which is taken off."""
        if self.normalisation == NONE:
            return self._unnormalised(Y)
        phi, slope = self.engine.field(Y)
        if self.normalisation == ROWS:
            return self._by_rows(Y, phi, slope)
        Z = max(float(phi.sum(dtype=np.float64)) - self.n, TINY)
        return slope, 2 / Z, float(np.log(Z)), (phi - 1) / phi.dtype.type(Z)

    def _unnormalised(self, Y: Floats) -> Repulsion:
        masses = None if self.masses is None else self.masses.astype(Y.dtype, copy=False)
        phi, slope = self.engine.field(Y, masses)
        if masses is None:
            others = phi - 1
        else:
            others, slope = masses * (phi - masses), masses[:, None] * slope
        value = self.strength * float(others.sum(dtype=np.float64))
        return slope, 2 * self.strength, value, Y.dtype.type(self.strength) * others

    def _by_rows(self, Y: Floats, phi: Floats, slope: Floats) -> Repulsion:
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
        psi, pushed = self.engine.field(Y, others)
        if len(alone):
            more = native.kernels.exact_field(Y[alone], charges[alone], self.law.code, Y, None, self.threads)
            psi, pushed = psi + more[0], pushed + more[1]
        # The farther a point's nearest others are, r = -log phi, the faster its shares of them change: like 4 r.
        weight = (1 + psi - charges) * (0.5 + np.maximum(-np.log(own), 0)).astype(Y.dtype)
        return slope / own[:, None].astype(Y.dtype) + pushed, 1.0, float(np.log(own).sum()), weight

    def _entries(self, Y: Floats) -> Sparse:
        begin, columns, values = self.P
        return begin, columns, values.astype(Y.dtype, copy=False)


TINY = 1e-30  # of a sum that rounding makes zero: all points far apart
LEAST_SUM = 0.05  # of a point's phi; below, it is summed without an engine
