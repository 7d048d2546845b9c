"""The way to a strength of elastic embedding, and the weights w- of its repulsion."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse, sparray, spmatrix

from lowfold.errors import DataError, ParameterError
from lowfold.force.law import Law
from lowfold.force.repulsion import PairsEngine
from lowfold.options import documented, option
from lowfold.types import Floats


@documented
@dataclass(frozen=True, slots=True)
class Homotopy:
    """The way to a strength: `ElasticEmbedding(strength=Homotopy(strength=1.0, steps=30))`."""

    strength: float = option(0.1, above=0, help="strength lambda of the repulsion")
    steps: int = option(
        12, low=1, help="number of strengths, in equal ratios, on the way from the mean sum of w+ / n_samples"
    )
    mass: np.ndarray | None = option(
        None, help="array of each point's mass: points repel each other by the product of theirs; None: 1 each"
    )
    pairs: np.ndarray | sparray | spmatrix | None = option(
        None, help="matrix of the weights w- by which each pair repels each other, dense or sparse; None: by mass"
    )

    def strengths(self, n: int, degree: float = 1.0) -> NDArray[np.float64]:
        """The strengths passed through for n points whose affinities have the sum `degree` on average."""
        return np.geomspace(min(degree / n, self.strength), float(self.strength), self.steps)

    def masses(self, n: int) -> Floats | None:
        """The masses of n points, checked."""
        if self.mass is None:
            return None
        mass = np.asarray(self.mass, np.float32)
        if mass.shape != (n,) or not (np.isfinite(mass) & (mass >= 0)).all():
            raise DataError(
                f"mass has shape {mass.shape} and a smallest entry of {mass.min(initial=np.inf):g}; it needs a number "
                f"of at least 0 for each of the {n} samples. Pass such an array, or None."
            )
        return mass

    def engine(self, law: Law, order: NDArray[np.intp], repulsion: Any, threads: int) -> PairsEngine:
        """The sum of the law over the pairs given, on so many threads; `order` is that of the embedding's rows."""
        if self.mass is not None or repulsion != "auto":
            other = "mass" if self.mass is not None else f"repulsion={repulsion!r}"
            raise ParameterError(
                f"Homotopy(pairs=...) says how each pair repels each other, so {other} has nothing to act on. "
                f"Leave it at its default."
            )
        W = csr_array(self.pairs, dtype=np.float32, copy=True)
        n = len(order)
        if W.shape != (n, n):
            raise DataError(f"pairs has shape {W.shape}; it needs a row and a column for each of the {n} samples.")
        W.setdiag(0)
        W.eliminate_zeros()
        if not np.isfinite(W.data).all() or W.data.min(initial=0.0) < 0 or abs(W - W.T).max() > 1e-5 * W.data.max():
            kind = "sparse" if issparse(self.pairs) else "dense"
            raise DataError(
                f"pairs, a {kind} matrix of {W.nnz} weights, must be symmetric, finite and at least 0. Pass "
                f"(W + W.T) / 2 of such weights."
            )
        W = csr_array(W[order][:, order])
        W.sort_indices()
        return PairsEngine(law, W, threads)
