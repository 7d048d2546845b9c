"""Kernel PCA (Schölkopf, Smola, Müller 1998).

PCA of phi(x) in a feature space known only by its inner products K_ij = phi(x_i)^T phi(x_j): centring there makes
H K H, whose eigenvectors V give the coordinates Y = V sqrt(lam), and a new point's centred kernel row times
V / sqrt(lam) its own. With landmarks (Nyström, Williams and Seeger 2001) the eigenvectors are those of a sample.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from lowfold import inputs
from lowfold.backend import blas, steps
from lowfold.backend.pieces import ROWS_AT_ONCE, in_pieces, rows_in_work, shifted
from lowfold.errors import DataError, ParameterError
from lowfold.estimator import Estimator, Stopwatch
from lowfold.fitted import of_fitted
from lowfold.options import memory_limit_option, n_jobs_option, option, random_state_option
from lowfold.spectral import kernels
from lowfold.spectral.eigen import dense_memory, solve
from lowfold.spectral.landmarks import chosen_landmarks, landmarks_option
from lowfold.spectral.problem import Centred, DenseMatrix, EigenProblem, Operator, StreamedMatrix
from lowfold.spectral.rows import CentredRows, dense_rows, inverse_roots, roots, warn_of_zeros
from lowfold.types import Floats

SAMPLED = 20  # rows on which a function is tried for symmetry
KEPT_SIZE = 10_000  # rows up to which the kernel matrix is kept; beyond, it is computed for each product
PREIMAGE_POINTS = 3000  # at most so many points, evenly chosen, teach the way back to the data space
RIDGE = 1e-3  # of the mean of the diagonal, added to the kernel of the embedding there


class KernelPCA(Estimator):
    """Kernel PCA: Y = V sqrt(lam) with V the top eigenvectors of the centred kernel matrix.

    eigenvalues_, gamma_, landmarks_, embedding_, report_. With kernel="precomputed", fit takes the square matrix of
    kernel values and transform one row of kernel values to the training points for each new point.
    """

    accepts: ClassVar[frozenset[str]] = frozenset({inputs.ROWS, inputs.KERNEL})

    n_components: int = option(2, low=1, help="number of coordinates of the embedding")
    kernel: str | Callable[..., float] = option(
        "rbf", choices=kernels.NAMES, help="kernel, by name or as a function of two rows"
    )
    gamma: float | None = option(
        None, above=0, help="factor in the rbf, poly and sigmoid kernels; None: 1 / n_features"
    )
    degree: float = option(3, above=0, help="power of the poly kernel; no other has one")
    coef0: float = option(1, help="constant in the poly and sigmoid kernels; no other has one")
    landmarks: int | None = landmarks_option()
    n_jobs: int | None = n_jobs_option()
    random_state: int | np.random.RandomState | np.random.Generator | None = random_state_option("the landmarks")
    memory_limit: float | None = memory_limit_option()

    @of_fitted
    def inverse_transform(self, Y: Any) -> Floats:
        """Returns points of the data space whose coordinates are about Y (pre-images), each row by itself.

        Learnt by ridge regression from the embedding back to the data, with a Gaussian kernel in the embedding.
        """
        if self.kernel == "precomputed":
            raise DataError(
                "inverse_transform needs the rows that the kernel was computed from, but kernel='precomputed' and X "
                f"has {self.n_features_in_} columns of kernel values. Fit with the rows and "
                f"the kernel by name or function."
            )
        Y = inputs.read_coordinates(Y, self.embedding_.shape[1])
        if not hasattr(self, "_back"):
            self._back = self._learn_back()
        width, points, coefficients, mean = self._back
        rows = kernels.Kernel("rbf", width, 0, 0).single_rows(Y.astype(np.float64), points, self._threads)
        return np.asarray(dense_rows(rows, coefficients, self._threads) + mean).astype(Y.dtype)

    def _learn_back(self) -> tuple[float, Any, Any, Any]:
        n = len(self.embedding_)
        some = np.unique(np.linspace(0, n - 1, min(n, PREIMAGE_POINTS)).astype(np.intp))
        Y = np.ascontiguousarray(self.embedding_[some], np.float64)
        X = np.asarray(self._X[some] + self._centre, np.float64)
        mean = X.mean(axis=0)
        width = 1 / max(2 * float(Y.var(axis=0).sum()) / max(len(some), 2) ** (1 / Y.shape[1]), np.finfo(float).tiny)
        with blas.single_threaded():
            K = kernels.Kernel("rbf", width, 0, 0).rows(Y, Y)
            K[np.diag_indices_from(K)] += RIDGE
            return width, Y, steps.solve_positive(K, X - mean), mean

    def _fit(self, data: inputs.Data, watch: Stopwatch, findings: dict[str, Any]) -> Floats:
        n, m = data.n, self.n_components
        if m > n:
            raise ParameterError(
                f"n_components={m} needs as many samples, but X has n_samples = {n}. Lower n_components to {n} or less."
            )
        self.__dict__.pop("_back", None)
        given = data.kind == inputs.KERNEL
        X = data.values
        self._centre = 0 if given else kernels.centre_for(self.kernel, X, self._threads)
        self._X = X if given else shifted(X, self._centre, self._threads)
        self.gamma_ = self.gamma if self.gamma is not None else 1 / X.shape[1]
        self.landmarks_ = chosen_landmarks(n, self.landmarks, m, self.random_state)
        with watch.stage("kernel"):
            matrix, means = self._matrix(given)
        with watch.stage("eigenvectors"):
            spectrum = solve(EigenProblem(Centred(matrix)), m)
        self.eigenvalues_ = spectrum.values
        spread, inverse = (of(spectrum.values, matrix.precision) for of in (roots, inverse_roots))
        warn_of_zeros(m, int((spread > 0).sum()), "the kernel has no more positive eigenvalues")
        findings.update(spectrum.findings())
        self._rows = CentredRows(means, float(means.mean()), spectrum.vectors * inverse)
        if self.landmarks_ is None:
            return spectrum.vectors * spread
        with watch.stage("place"):
            return self._place_rows(self._X[:, self.landmarks_] if given else self._X)

    def _matrix(self, given: bool) -> tuple[Operator, Any]:
        """The kernel matrix, of the landmarks if there are any, and the means of its rows."""
        chosen = slice(None) if self.landmarks_ is None else self.landmarks_
        X = self._X[chosen][:, chosen] if given else self._X[chosen]
        kernel = self._kernel()

        def rows(part: slice) -> Floats:
            return X[part] if given else kernel.rows(X[part], X)

        n, means = len(X), np.empty(len(X))
        kept = given or n <= KEPT_SIZE
        K = np.empty((n, n), X.dtype) if kept else None

        def work(part: slice) -> None:
            block = rows(part)
            means[part] = block.mean(axis=1, dtype=np.float64)
            if K is not None:
                K[part] = block

        in_pieces(work, n, self._threads)
        self._check_finite(means)
        if callable(self.kernel):
            few = kernel.rows(X[:SAMPLED], X[:SAMPLED])
            if not np.allclose(few, few.T, rtol=1e-5, atol=1e-8 * np.abs(few).max()):
                i, j = np.unravel_index(np.argmax(np.abs(few - few.T)), few.shape)
                raise DataError(
                    f"kernel={self.kernel!r} gives {few[i, j]:.6g} for the rows {i} and {j} of X, but {few[j, i]:.6g} "
                    f"the other way round. A kernel must be symmetric: k(x, y) = k(y, x)."
                )
        if K is not None:
            return DenseMatrix(K, self._threads), means
        return StreamedMatrix(rows, n, float(np.finfo(X.dtype).eps), self._threads), means

    def _check_finite(self, values: Floats) -> None:
        if not np.isfinite(values).all():
            raise DataError(
                f"kernel={self.kernel!r} with gamma={self.gamma_:g}, degree={self.degree:g}, coef0={self.coef0:g} "
                f"gives values that are not finite for these data. Scale the data, or use another kernel or "
                f"other parameters of it."
            )

    def _kernel(self) -> kernels.Kernel:
        return kernels.Kernel(self.kernel, self.gamma_, self.degree, self.coef0)

    def _place(self, data: inputs.Data) -> Floats:
        if data.kind == inputs.KERNEL:
            return self._place_rows(data.values if self.landmarks_ is None else data.values[:, self.landmarks_])
        return self._place_rows(shifted(data.values, self._centre, self._threads))

    def _place_rows(self, values: Any) -> Floats:
        """Kernel rows, or rows of data (centred as the training rows are), by the rule for new points."""
        given = self.kernel == "precomputed"
        X = self._X if self.landmarks_ is None else self._X[self.landmarks_]
        parts = []
        for begin in range(0, len(values), ROWS_AT_ONCE):
            part = values[begin : begin + ROWS_AT_ONCE]
            rows = part if given else self._kernel().single_rows(part, X, self._threads)
            self._check_finite(rows)
            parts.append(self._rows.place(rows, self._threads))
        return np.concatenate(parts)

    def _memory(self, n_samples: int, n_features: int) -> int:
        n, m = self.landmarks or n_samples, self.n_components
        matrix = n * n if n <= KEPT_SIZE else 0
        pieces = 3 * rows_in_work(n, self._threads) * n
        return 8 * (matrix + pieces + n_samples * (2 * n_features + 4 * m + 200)) + dense_memory(n, m)

    def _cheaper(self) -> str:
        return "Use landmarks=2000, float32 data, or fewer components."
