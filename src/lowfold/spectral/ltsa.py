"""Local tangent space alignment (Zhang and Zha 2004).

Near a point the manifold is its tangent plane: the best d coordinates Q_i of the neighbours, by PCA. The embedding of
the neighbours is to be an affine function of them, so what no affine function explains is penalised:
y^T (I - 1 1^T / k - Q_i Q_i^T) y, summed over all neighbourhoods. Exact on a flat sheet.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array

from lowfold.backend import native
from lowfold.spectral.patch_method import PatchMethod, with_orphans
from lowfold.types import Floats, Indices


class LTSA(PatchMethod):
    """Local tangent space alignment: the bottom eigenvectors of sum_i (I - G_i G_i^T).

    eigenvalues_ (smallest first), reconstruction_error_ (their sum), embedding_, report_.
    """

    def _least_neighbors(self) -> int:
        return self.n_components + 2  # fewer are explained by any coordinates

    def _alignment(self, X: Floats, neighbors: Indices) -> tuple[csr_array, csr_array | None]:
        patches = with_orphans(neighbors)
        blocks = native.kernels.tangent_blocks(X, patches, self.n_components, self._threads)
        return self._aligned(patches, np.asarray(blocks), len(X)), None
