"""The spectral direction (Vladymyrov and Carreira-Perpinan 2012): steps that move whole sheets.

p = -(4 L+ + mu I)^-1 g, with the Laplacian L+ of the attraction: Newton's step for an energy without repulsion. Long
waves, which steps divided by each point's stiffness take many iterations to move, are moved at once. The matrix stays
the same on the whole way, so it is factorised once.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array, diags_array

from lowfold.backend import native
from lowfold.force.problem import PULL, ForceProblem, Forces
from lowfold.spectral.factor import NARROW_BAND, Factors, ordering
from lowfold.spectral.problem import SparseMatrix
from lowfold.types import Floats

DAMPING = 1e-10  # mu, of the smallest degree, as its authors have it
SUFFICIENT = 0.1  # of the fall that the slope promises
SHORTEST = 1 / 16  # length that a search begins with at least: at rest it ends with rounding errors, whatever it finds
HALVINGS = 12
LONGEST_STEP = 5.0  # in units of the kernel's width, as of every other step: pieces that hang by a thread fly off
# Numbers in the factors for each affinity: sheets have about 3, clouds of 2,000 points 5, of 10,000 points 20. There a
# step costs more, and the direction, which knows nothing of the repulsion, ends no lower.
MOST_FILL = 3.5
MOST_SHARE = 0.6  # of a full matrix: with more, there are too few points to tell a sheet from a cloud


class SpectralDirection:
    """Steps along the spectral direction of a problem, as long as they lower its loss enough."""

    def __init__(self, factors: Factors) -> None:
        self._factors = factors
        self._length = 1.0
        self._known: tuple[ForceProblem, Floats, Forces] | None = None

    @staticmethod
    def where_it_wins(problem: ForceProblem) -> SpectralDirection | None:
        """The direction for a problem whose Laplacian has small factors; None: for others.

        A wide band is none of a sheet's, and where it is, the factors of a large cloud would take long to count. Nor is
        a graph in pieces: nothing holds them together, and the direction knows of nothing but their flight.
        """
        if native.kernels.components(problem.P).any():
            return None
        B = _stiffness(problem)
        if ordering(SparseMatrix(B, problem.threads)).band > NARROW_BAND:
            return None
        factors = Factors(B, problem.threads, symmetric=True)
        most = min(MOST_FILL * len(problem.P[1]), MOST_SHARE * problem.n**2 / 2)
        return SpectralDirection(factors.computed()) if factors.entries <= most else None

    @staticmethod
    def of(problem: ForceProblem) -> SpectralDirection:
        """The direction for a problem, whatever it costs."""
        return SpectralDirection(Factors(_stiffness(problem), problem.threads, symmetric=True).computed())

    def forces_at(self, problem: ForceProblem, Y: Floats) -> Forces:
        """The forces at Y: those of the last trial, unless the problem has changed."""
        if self._known is not None and self._known[0] is problem and self._known[1] is Y:
            return self._known[2]
        return problem.forces(Y)

    def next(self, problem: ForceProblem, Y: Floats, forces: Forces, how: tuple[float, float]) -> Floats:
        """A step whose length begins with twice the last one, and is halved until the loss falls enough."""
        exaggeration, longest = how
        slope = forces.gradient(exaggeration).astype(np.float64)
        way = -self._factors.solve(slope) / exaggeration
        way -= way.mean(axis=0)
        way *= min(1.0, LONGEST_STEP / max(float(np.linalg.norm(way, axis=1).max()), LONGEST_STEP))
        promise = float((slope * way).sum())
        energy = exaggeration * problem.cost(Y) + forces.repulsive
        length = min(longest, max(2 * self._length, SHORTEST))
        for _ in range(HALVINGS):
            trial = (Y + length * way).astype(np.float32)
            reached = problem.forces(trial)
            if exaggeration * problem.cost(trial) + reached.repulsive <= energy + SUFFICIENT * length * promise:
                self._length, self._known = length, (problem, trial, reached)
                return trial
            length /= 2
        return Y


def _stiffness(problem: ForceProblem) -> csr_array:
    """4 L+ + mu I."""
    begin, columns, values = problem.P
    W = csr_array((values.astype(np.float64), columns, begin), shape=(problem.n, problem.n))
    degrees = problem.degrees
    smallest = degrees[degrees > 0].min(initial=1.0)
    return csr_array(diags_array(PULL * degrees + DAMPING * smallest) - PULL * W)
