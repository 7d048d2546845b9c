"""Locally linear embedding (Roweis and Saul 2000).

Each point is rebuilt from its neighbours with weights w_i of sum 1 that minimise |x_i - sum_j w_ij x_j|^2: with
G = (x_j - x_i)(x_l - x_i) they solve (G + r trace(G) I) w = 1, up to their sum. They do not change when the
neighbourhood is turned, shifted or scaled, so the embedding is to obey them too: minimise sum_i |y_i - sum_j w_ij
y_j|^2 = trace(Y^T M Y), M = (I - W)^T (I - W), over Y^T Y = I.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array, eye_array

from lowfold.options import option
from lowfold.spectral.patch_method import PatchMethod
from lowfold.types import Floats, Indices


class LLE(PatchMethod):
    """Locally linear embedding: the bottom eigenvectors of (I - W)^T (I - W).

    eigenvalues_ (smallest first), reconstruction_error_ (their sum), embedding_, report_.
    """

    regularization: float = option(
        1e-3, low=0, help="share of the local trace added to the local Gram matrix, which may be singular"
    )

    def _least_neighbors(self) -> int:
        return 1

    def _regularization(self) -> float:
        return self.regularization

    def _alignment(self, X: Floats, neighbors: Indices) -> tuple[csr_array, csr_array | None]:
        n, k = neighbors.shape
        weights = self._barycentric(X, X, neighbors)
        begin = np.arange(0, n * k + 1, k)
        W = csr_array((weights.ravel(), neighbors.ravel(), begin), shape=(n, n))
        factor = csr_array(eye_array(n) - W)
        return csr_array(factor.T @ factor), factor
