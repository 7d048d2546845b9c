"""Modified locally linear embedding (Zhang and Wang 2007).

Where a point has more neighbours than dimensions, many weight vectors rebuild it about equally well, and the single
regularised one of LLE bends the embedding. Here all of them count: M = sum_i sum_l |y_i - sum_j w_ij^(l) y_j|^2 over
s_i independent weight vectors, as many as the local spectrum has small eigenvalues.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.sparse import csr_array

from lowfold.backend import native
from lowfold.neighbors.engines import Cells, Exact
from lowfold.neighbors.interface import SEEDED, metric_option, search_option
from lowfold.neighbors.neighborhood import components_option
from lowfold.options import memory_limit_option, n_jobs_option, option, random_state_option
from lowfold.spectral.patch_method import REGULARISATION, PatchMethod, neighbors_option, with_itself
from lowfold.types import Floats, Indices


class ModifiedLLE(PatchMethod):
    """Modified LLE: LLE with several weight vectors for each point.

    eigenvalues_ (smallest first), reconstruction_error_ (their sum), embedding_, report_.
    """

    n_components: int = option(2, low=1, help="number of coordinates of the embedding")
    n_neighbors: int = neighbors_option()
    metric: str | Callable[..., float] = metric_option()
    components: str = components_option()
    search: str | Exact | Cells = search_option()
    n_jobs: int | None = n_jobs_option()
    random_state: int | np.random.RandomState | np.random.Generator | None = random_state_option(SEEDED)
    memory_limit: float | None = memory_limit_option()

    def _alignment(self, X: Floats, neighbors: Indices) -> tuple[csr_array, csr_array | None]:
        blocks = native.kernels.modified_blocks(X, neighbors, self.n_components, REGULARISATION, self._threads)
        return self._aligned(with_itself(neighbors), np.asarray(blocks), len(X)), None
