"""Principal component analysis (Pearson 1901, Hotelling 1933).

The directions v of largest variance of centred data Xc maximise v^T Xc^T Xc v over |v| = 1: they are the top
eigenvectors of the scatter matrix Xc^T Xc = V diag(lam) V^T, and the coordinates are Y = Xc V. The n x n matrix
Xc Xc^T has the same eigenvalues, and Y / sqrt(lam) for eigenvectors.
"""

from __future__ import annotations

import functools
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse

from lowfold import inputs
from lowfold.backend import blas, native
from lowfold.errors import ParameterError, warn
from lowfold.estimator import Estimator, Stopwatch
from lowfold.fitted import of_fitted
from lowfold.options import memory_limit_option, n_jobs_option, option, random_state_option, seed_of
from lowfold.spectral.centred import CentredMatrix, centred, copied_memory, products_memory
from lowfold.spectral.eigen import dense_memory
from lowfold.spectral.krylov import BLOCK, WIDE_ROOM
from lowfold.spectral.long_axes import Solve, resolved
from lowfold.spectral.principal import (
    Eigenpairs,
    by_covariance,
    by_lanczos,
    by_power,
    by_randomized,
    with_canonical_signs,
)
from lowfold.types import Floats

EPSILON = float(np.finfo(np.float64).eps)  # of the arithmetic, also that of float32 data
ROUNDINGS = 64  # of the spread of the data: what the directions themselves are off by (up to 23 were seen)
# Smaller side of X up to which a square matrix of that size is quicker than products with X; less where few entries of
# X are stored, since the square matrix has all of its own (5,000 x 3,000, 2 % stored, 50 components: 1.3 s, 0.24 s by
# products).
DIRECT_SIZE, SPARSE_DIRECT_SIZE = 4000, 1000


class PCA(Estimator):
    """Principal component analysis: Y = (X - mean) V with V the directions of largest variance.

    components_ (m, n_features), explained_variance_, explained_variance_ratio_, singular_values_, mean_, embedding_,
    report_. Each component is turned so that its largest entry is positive (the first of those within a thousandth).
    A direction in which the data vary by no more than the rounding of their numbers is not whitened.
    """

    accepts: ClassVar[frozenset[str]] = frozenset({inputs.ROWS, inputs.SPARSE_ROWS})
    remembers: ClassVar[bool] = False
    _of_sparse = False  # of a model that was stored before it said so

    n_components: int = option(2, low=1, help="number of coordinates of the embedding")
    solver: str = option(
        "auto",
        choices=("auto", "covariance", "lanczos", "randomized", "power"),
        help="way to the eigenvectors: from covariances, by Lanczos or by subspace iteration from products with the "
        "data, or one by one with deflation",
    )
    whiten: bool = option(False, help="wish to have coordinates of variance 1")
    n_jobs: int | None = n_jobs_option()
    random_state: int | np.random.RandomState | np.random.Generator | None = random_state_option(
        "the start of the randomized and the power iteration"
    )
    memory_limit: float | None = memory_limit_option()

    @of_fitted
    def inverse_transform(self, Y: Any) -> Floats:
        """Returns the points of the data space at coordinates Y: X = Y V^T + mean, each row by itself."""
        m = len(self.components_)
        Y = inputs.read_coordinates(Y, m)
        back = np.ascontiguousarray(self.components_ * self._scale()[:, None], dtype=Y.dtype)
        rows = native.kernels.project(Y, np.zeros(m), back, self._threads)
        return np.asarray(rows + self.mean_.astype(Y.dtype))

    def _fit(self, data: inputs.Data, watch: Stopwatch, findings: dict[str, Any]) -> Floats:
        n, D = data.values.shape
        if self.n_components > min(n, D):
            raise ParameterError(
                f"n_components={self.n_components} needs as many samples and features, but X has n_samples = {n} and "
                f"n_features = {D}. Lower n_components to at most {min(n, D)}."
            )
        self._of_sparse = issparse(data.values)
        with watch.stage("centre"):
            X = centred(data.values, self._threads)
        with watch.stage("eigenvectors"), blas.single_threaded():
            pairs = self._solve(X)
            self._keep(X, pairs)
        findings.update(pairs.findings(), solver=self._solver(n, D, self._of_sparse))
        self._whiten(data.values.dtype, findings)
        with watch.stage("project"):
            return X.times(self._basis())

    def _solve(self, X: CentredMatrix) -> Eigenpairs:
        rng = np.random.default_rng(seed_of(self.random_state))
        ways: dict[str, Solve] = {
            "covariance": functools.partial(by_covariance, threads=self._threads),
            "lanczos": by_lanczos,
            "randomized": functools.partial(by_randomized, rng=rng),
            "power": functools.partial(by_power, rng=rng),
        }
        return resolved(X, self.n_components, ways[self._solver(*X.shape, self._of_sparse)])

    def _solver(self, n: int, D: int, sparse: bool) -> str:
        if self.solver != "auto":
            return self.solver
        direct = SPARSE_DIRECT_SIZE if sparse else DIRECT_SIZE
        return "covariance" if min(n, D) <= max(direct, 8 * self.n_components) else "lanczos"

    def _keep(self, X: CentredMatrix, pairs: Eigenpairs) -> None:
        degrees = max(X.shape[0] - 1, 1)
        self.mean_ = X.mean
        self.components_ = np.ascontiguousarray(with_canonical_signs(pairs.vectors).T)
        self.explained_variance_ = pairs.values / degrees
        self.explained_variance_ratio_ = pairs.values / pairs.total
        self.singular_values_ = np.sqrt(pairs.values)

    def _scale(self) -> Any:
        """What each coordinate is divided by: its standard deviation when whitened, where the data have one."""
        if "_scales" in self.__dict__:  # not in a model that was stored before they were
            return self._scales
        spread = np.sqrt(self.explained_variance_)
        return np.where(self._varies(self.embedding_.dtype), spread, 1.0) if self.whiten else np.ones(len(spread))

    def _whiten(self, dtype: Any, findings: dict[str, Any]) -> None:
        """Learns the scale, and says of which directions there is none."""
        varies = self._varies(dtype) if self.whiten else np.zeros(len(self.components_), bool)
        self._scales = np.where(varies, np.sqrt(self.explained_variance_), 1.0)
        if not self.whiten:
            return
        findings["not whitened"] = int((~varies).sum())
        if not varies.all():
            first = int(np.argmin(varies))
            warn(
                f"whiten=True, but in {findings['not whitened']} of {len(varies)} directions, the first of them number "
                f"{first} (counted from 0), X varies by no more than the rounding of its numbers: these coordinates "
                f"are not whitened. Lower n_components to {max(first, 1)}, or take columns that vary little beside "
                f"their mean in float64.",
            )

    def _varies(self, dtype: Any) -> NDArray[np.bool_]:
        """Whether the data vary in each direction v by more than rounding makes of nothing.

        A number is stored to half a spacing, each column's by itself: eps/2 sqrt(sum_j (v_j mean_j)^2). The means, of
        which all rows share the error, and products with sparse rows are off by eps sum_j |v_j mean_j| in float64.
        """
        share = self.explained_variance_ratio_[0]
        total = np.sqrt(self.explained_variance_[0] / share) if share > 0 else 0.0
        means = np.abs(self.components_ * self.mean_)
        stored = float(np.finfo(dtype).eps) * (total + np.linalg.norm(means, axis=1) / 2)
        rounding = np.maximum(stored, EPSILON * (ROUNDINGS * total + means.sum(axis=1)))
        return np.asarray(np.sqrt(self.explained_variance_) > rounding)

    def _basis(self) -> Any:
        """V, its columns divided by what whitens them."""
        return self.components_.T / self._scale()

    def _place(self, data: inputs.Data) -> Floats:
        # In the type of the training rows, and sparse where these were: they get their own coordinates.
        rows = data.values.astype(min(data.values.dtype, self.embedding_.dtype), copy=False)
        if self._of_sparse and not issparse(rows):
            rows = csr_array(rows)
        Y = centred(rows, self._threads, self.mean_).times(self._basis())
        return Y.astype(data.values.dtype, copy=False)

    def _memory(self, n_samples: int, n_features: int) -> int:
        return self._bytes_needed(n_samples, n_features, None)

    def _memory_of_sparse(self, n_samples: int, n_features: int, stored: int) -> int:
        return self._bytes_needed(n_samples, n_features, stored)

    def _bytes_needed(self, n: int, D: int, stored: int | None) -> int:
        """stored: entries in a row of sparse data."""
        m, small = self.n_components, min(n, D)
        entries = copied_memory(n, stored or 0)
        solver, kept = self._solver(n, D, stored is not None), 8 * m * (n + D)
        if stored is None and solver in ("randomized", "lanczos"):
            kept += products_memory(n, D)
        if solver == "randomized":
            return kept + 4 * 8 * (m + 10) * (n + D) + entries // 2
        if solver == "lanczos":
            basis = 8 * (small * (3 * m + 2 * WIDE_ROOM) + 2 * BLOCK * (n + D))
            return kept + basis + dense_memory(small, m) + entries
        gram = 8 * (n * (D if stored is None else 2 * stored) + 4 * m * D) if n < D else entries
        return kept + 3 * 8 * small**2 + gram + dense_memory(small, m)

    def _cheaper(self) -> str:
        return "Use solver='lanczos', which needs no square matrix for few components, or fewer components."
