"""Is the spectral direction a better step for elastic embedding than steps divided by each point's stiffness?

The spectral direction (Vladymyrov and Carreira-Perpinan 2012) solves (4 L+ + mu I) p = -g with the Laplacian L+ of the
attraction, factorised once, and searches along p. Both follow the same strengths on the same problem, from the same
start; seconds without neighbours and affinities, and the energy at the end.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
from scipy.sparse import csc_array, csr_array, diags_array, eye_array
from scipy.sparse.linalg import splu
from sklearn.datasets import make_swiss_roll

import data
import lowfold
import measure
from measure import Bar

DAMPING = 1e-10  # of the smallest degree, as its authors have it
SUFFICIENT = 0.1  # share of the fall that the slope promises
PER_STRENGTH, AT_LAST = 60, 1000  # iterations
TOLERANCE = {"homotopy": 5e-5, "descent": 2e-5}  # relative fall of one iteration; ours looks every twenty


def main() -> None:
    chosen = measure.arguments(__doc__, repeat=1)
    data.require(["mnist50"])
    rows: list[dict[str, Any]] = []
    for name, X in sets(smoke=chosen.smoke):
        if measure.wanted(chosen, name):
            rows.append(compared(f"ElasticEmbedding, {name}", X))
            measure.save(__file__, rows, smoke=chosen.smoke, keep=chosen.only is not None)


def sets(*, smoke: bool) -> Iterator[tuple[str, Any]]:
    """Sheets and clouds, whose Laplacians factorise well and badly."""
    for n in (1000,) if smoke else (2000, 10_000):
        yield f"swiss roll {n:,}", make_swiss_roll(n, random_state=0)[0].astype(np.float32)
        yield f"mnist50 {n:,}", np.ascontiguousarray(data.load("mnist50")[:n])


def compared(work: str, X: Any) -> dict[str, Any]:
    """Ours, and the spectral direction on our problem."""
    entries = {}
    for name, history in (("ours", by_stiffness(X)), ("spectral direction", by_spectrum(X))):
        entries[name] = measure.entry([history[-1][0]])
        entries[name]["quality"] = {"energy": history[-1][1]}
    own = entries.pop("ours")
    return measure.row(work, own, entries, Bar())


def by_stiffness(X: Any) -> list[tuple[float, float]]:
    """(seconds, energy) of each look of our own optimisation; without neighbours and affinities."""
    seconds: list[tuple[float, float]] = []
    began: list[float] = []

    def watch(step: Any) -> None:
        began.append(time.perf_counter())
        if step.loss is not None:
            seconds.append((began[-1] - began[0], step.loss))

    model = lowfold.ElasticEmbedding(schedule=lowfold.Annealed(callback=watch)).fit(X)
    return [*seconds, (began[-1] - began[0], model.energy_)]


def by_spectrum(X: Any) -> list[tuple[float, float]]:
    """The same for the spectral direction; the factorisation counts."""
    still = lowfold.Annealed(max_iter=0)
    model = lowfold.ElasticEmbedding(strength=lowfold.Homotopy(steps=1), schedule=still).fit(X)
    problem, Y = model._descent.problem, model._descent.Y
    began = time.perf_counter()
    begin, columns, values = problem.P
    W = csr_array((values.astype(np.float64), columns, begin), shape=(problem.n, problem.n))
    degrees = np.asarray(W.sum(axis=1))
    B = csc_array(4 * (diags_array(degrees) - W) + DAMPING * degrees.min() * eye_array(problem.n))
    factors = splu(B, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True})
    history: list[tuple[float, float]] = []
    strengths = lowfold.Homotopy().strengths(problem.n)
    for number, strength in enumerate(strengths):
        last = number + 1 == len(strengths)
        here = problem.with_strength(float(strength))
        tolerance = TOLERANCE["descent" if last else "homotopy"]
        length = 1.0
        energy = here.loss(Y)
        for _ in range(AT_LAST if last else PER_STRENGTH):
            slope = here.forces(Y).gradient().astype(np.float64)
            way = -factors.solve(slope)
            way -= way.mean(axis=0)
            Y, energy, before, length = searched(partial(here.loss), Y, (slope, way), energy, length)
            history.append((time.perf_counter() - began, problem.loss(Y) if not last else energy))
            if before - energy < tolerance * abs(energy):
                break
    return history


def searched(
    loss: Any, Y: Any, course: tuple[Any, Any], energy: float, length: float
) -> tuple[Any, float, float, float]:
    """(Y, energy, energy before, length) after a step along the way that lowers the energy enough."""
    slope, way = course
    promise = float((slope * way).sum())
    length = min(1.0, 2 * length)
    for _ in range(30):
        trial = (Y + length * way).astype(np.float32)
        reached = loss(trial)
        if reached <= energy + SUFFICIENT * length * promise:
            return trial, reached, energy, length
        length /= 2
    return Y, energy, energy, length


if __name__ == "__main__":
    main()
