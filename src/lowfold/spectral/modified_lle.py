"""Modified locally linear embedding (Zhang and Wang 2007).

Where a point has more neighbours than dimensions, many weight vectors rebuild it about equally well, and the single
regularised one of LLE bends the embedding. Here all of them count: M = sum_i sum_l |y_i - sum_j w_ij^(l) y_j|^2 over
s_i independent weight vectors, as many as the local spectrum has small eigenvalues.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array

from lowfold.backend import native
from lowfold.spectral.patch_method import REGULARISATION, PatchMethod, with_itself
from lowfold.types import Floats, Indices


class ModifiedLLE(PatchMethod):
    """Modified LLE: LLE with several weight vectors for each point.

    eigenvalues_ (smallest first), reconstruction_error_ (their sum), embedding_, report_.
    """

    def _alignment(self, X: Floats, neighbors: Indices) -> tuple[csr_array, csr_array | None]:
        blocks = native.kernels.modified_blocks(X, neighbors, self.n_components, REGULARISATION, self._threads)
        return self._aligned(with_itself(neighbors), np.asarray(blocks), len(X)), None
