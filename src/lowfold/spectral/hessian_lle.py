"""Hessian eigenmaps (Donoho and Grimes 2003).

The functions on a manifold with vanishing second derivatives are the constants and, if it is flat, its coordinates. In
the tangent coordinates of each neighbourhood the second derivatives of f are estimated by least squares: H_i f. The
embedding is the functions with the smallest sum_i |H_i f|^2 behind the constant one. Exact on a flat sheet, also one
with holes.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array

from lowfold.backend import native
from lowfold.spectral.patch_method import PatchMethod, with_orphans
from lowfold.types import Floats, Indices


class HessianLLE(PatchMethod):
    """Hessian eigenmaps: the bottom eigenvectors of sum_i H_i^T H_i.

    eigenvalues_ (smallest first), reconstruction_error_ (their sum), embedding_, report_.
    """

    def _least_neighbors(self) -> int:
        d = self.n_components
        return 1 + d + d * (d + 1) // 2  # a constant, d slopes and d (d + 1) / 2 second derivatives are fitted

    def _alignment(self, X: Floats, neighbors: Indices) -> tuple[csr_array, csr_array | None]:
        patches = with_orphans(neighbors)
        blocks = native.kernels.hessian_blocks(X, patches, self.n_components, self._threads)
        return self._aligned(patches, np.asarray(blocks), len(X)), None
