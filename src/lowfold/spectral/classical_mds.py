"""Classical multidimensional scaling (Torgerson 1952, Gower 1966).

If D_ij = |y_i - y_j| and the y are centred, then -1/2 H D^2 H = Y Y^T: the Gram matrix follows from the distances, and
Y = V sqrt(lam) from its top eigenvectors. That minimises the strain |Y Y^T + 1/2 H D^2 H|. Distances that are not
Euclidean make some eigenvalues negative; no coordinates exist for those. Euclidean distances of rows need no matrix of
them: the Gram matrix is Xc Xc^T, as in PCA. With landmarks: de Silva and Tenenbaum 2004.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from lowfold import inputs
from lowfold.backend import blas, steps
from lowfold.backend.pieces import ROWS_AT_ONCE, rows_in_work
from lowfold.errors import ParameterError
from lowfold.estimator import Estimator, Stopwatch
from lowfold.neighbors.interface import metric_option
from lowfold.options import memory_limit_option, n_jobs_option, option, random_state_option
from lowfold.spectral.centred import centred, copied_memory
from lowfold.spectral.eigen import PATIENT_SIZE, dense_memory, solve
from lowfold.spectral.landmarks import chosen_landmarks, landmarks_option
from lowfold.spectral.long_axes import resolved
from lowfold.spectral.pairs import PairDistances, filled
from lowfold.spectral.principal import by_covariance, with_canonical_signs
from lowfold.spectral.problem import BOTTOM, Centred, DenseMatrix, EigenProblem
from lowfold.spectral.rows import CentredRows, inverse_roots, roots, warn_of_zeros
from lowfold.types import Floats

COVARIANCE_SIZE = 4000  # features up to which Euclidean distances are scaled through the covariance


class ClassicalMDS(Estimator):
    """Classical scaling: Y = V sqrt(lam) with V the top eigenvectors of -1/2 H D^2 H.

    eigenvalues_, negative_eigenvalues_ (the lowest, at most n_components of them; none if the distances are Euclidean;
    with landmarks: of theirs), landmarks_, embedding_, report_. A coordinate whose eigenvalue is no larger than the
    largest negative one in size shows no more than how far the distances are from Euclidean.
    """

    accepts: ClassVar[frozenset[str]] = frozenset({inputs.ROWS, inputs.SPARSE_ROWS, inputs.DISTANCES})

    n_components: int = option(2, low=1, help="number of coordinates of the embedding")
    landmarks: int | None = landmarks_option()
    metric: str | Callable[..., float] = metric_option()
    n_jobs: int | None = n_jobs_option()
    random_state: int | np.random.RandomState | np.random.Generator | None = random_state_option("the landmarks")
    memory_limit: float | None = memory_limit_option()

    def _fit(self, data: inputs.Data, watch: Stopwatch, findings: dict[str, Any]) -> Floats:
        if self.n_components > data.n:
            raise ParameterError(
                f"n_components={self.n_components} needs as many samples, but X has n_samples = {data.n}. "
                f"Lower n_components to {data.n} or less."
            )
        self._linear: tuple[Any, Any] | None = None
        self.landmarks_ = chosen_landmarks(data.n, self.landmarks, self.n_components, self.random_state)
        if self._is_linear(data.kind, data.values.shape[1]):
            return self._fit_linear(data, watch, findings)
        self._distances = PairDistances(data, self.metric, self.landmarks_)
        with watch.stage("distances"):
            D = self._squared(data)
            means = D.mean(axis=1, dtype=np.float64)
        with watch.stage("eigenvectors"):
            matrix = Centred(DenseMatrix(D, self._threads), -0.5)
            spectrum = solve(EigenProblem(matrix), self.n_components)
            rounding = matrix.precision * len(D) * np.abs(spectrum.values).max()
            self.negative_eigenvalues_ = _negative(matrix, self.n_components, rounding)
        self.eigenvalues_ = spectrum.values
        self._check_positive()
        spread, inverse = (of(spectrum.values, matrix.precision) for of in (roots, inverse_roots))
        warn_of_zeros(self.n_components, int((spread > 0).sum()), "the other eigenvalues are no more than rounding")
        findings.update(spectrum.findings(), **{"negative eigenvalues": self.negative_eigenvalues_})
        self._rows = CentredRows(means, float(means.mean()), spectrum.vectors * inverse, -0.5)
        if self.landmarks_ is None:
            return spectrum.vectors * spread
        with watch.stage("place"):
            return self._place(data)

    def _is_linear(self, kind: str, n_features: int) -> bool:
        rows = kind in (inputs.ROWS, inputs.SPARSE_ROWS)
        return rows and self.metric in ("euclidean", "l2") and n_features <= COVARIANCE_SIZE and self.landmarks is None

    def _fit_linear(self, data: inputs.Data, watch: Stopwatch, findings: dict[str, Any]) -> Floats:
        n, D = data.values.shape
        found = min(self.n_components, D, n)
        with watch.stage("eigenvectors"), blas.single_threaded():
            X = centred(data.values, self._threads)
            pairs = resolved(X, found, functools.partial(by_covariance, threads=self._threads))
        missing = self.n_components - found  # there are no more directions: their coordinates are 0
        warn_of_zeros(self.n_components, found, f"X has {D} features and {n} samples")
        basis = np.pad(with_canonical_signs(pairs.vectors), ((0, 0), (0, missing)))
        self._linear = X.mean, basis
        self.eigenvalues_ = np.pad(pairs.values, (0, missing))
        self.negative_eigenvalues_ = np.zeros(0)
        findings.update(pairs.findings(), solver="covariance", eigenvalues=self.eigenvalues_)
        with watch.stage("place"):
            return X.times(basis)

    def _squared(self, data: inputs.Data) -> Floats:
        values = data.values if self.landmarks_ is None else data.values[self.landmarks_]
        dtype = data.values.dtype

        def rows(part: slice) -> Floats:
            return self._distances.squares(values[part], 1)

        D = filled(rows, values.shape[0], dtype, self._threads)
        if data.kind != inputs.DISTANCES:
            np.fill_diagonal(D, 0)
        return D

    def _check_positive(self) -> None:
        negative = self.eigenvalues_ < -1e-6 * np.abs(self.eigenvalues_).max(initial=0.0)
        if negative.any():
            positive = int(np.argmax(negative))
            raise ParameterError(
                f"n_components={self.n_components} coordinates were asked for, but these distances have only "
                f"{positive} positive eigenvalues: they are not Euclidean. Lower n_components to {positive}."
            )

    def _place(self, data: inputs.Data) -> Floats:
        if self._linear is not None:
            mean, basis = self._linear
            return centred(data.values, self._threads, mean).times(basis)
        parts = []
        for begin in range(0, data.n, ROWS_AT_ONCE):
            squares = self._distances.squares(data.values[begin : begin + ROWS_AT_ONCE], self._threads)
            parts.append(self._rows.place(squares, self._threads))
        return np.concatenate(parts)

    def _memory(self, n_samples: int, n_features: int) -> int:
        if self._is_linear(inputs.DISTANCES if self.metric == "precomputed" else inputs.ROWS, n_features):
            small = min(n_samples, n_features)
            return 8 * self.n_components * (n_samples + n_features) + 3 * 8 * small**2
        return self._memory_of_pairs(n_samples, n_features)

    def _memory_of_sparse(self, n_samples: int, n_features: int, stored: int) -> int:
        linear = self._is_linear(inputs.SPARSE_ROWS, n_features)
        if not linear:
            return self._memory_of_pairs(n_samples, stored)
        return self._memory(n_samples, n_features) + copied_memory(n_samples, stored)

    def _memory_of_pairs(self, n_samples: int, stored: int) -> int:
        n, m = self.landmarks or n_samples, self.n_components
        copied = 0 if self.metric == "precomputed" else 2 * stored
        kept = 8 * n_samples * (copied + 8 * m + 800) + 3 * 8 * rows_in_work(n, self._threads) * n
        # The squares; and while negative eigenvalues are looked for the centred matrix, twice as it is made.
        return kept + 8 * n**2 + max(2 * 8 * n**2 if n <= PATIENT_SIZE else 0, dense_memory(n, m))

    def _cheaper(self) -> str:
        return "Use landmarks=1000, or float32 data."


def _negative(matrix: Centred, m: int, rounding: float) -> NDArray[np.float64]:
    """The lowest eigenvalues, at most m, that are negative by more than rounding.

    Of distances that are Euclidean in many dimensions the lowest ones lie too close together for Lanczos: that none is
    negative is seen from Cholesky's factor, in a twentieth of the time that all eigenvalues take.
    """
    n = matrix.n
    if n <= PATIENT_SIZE:
        A = matrix.dense()
        A += np.trace(A) / n**2 + rounding / n  # along the vector of ones, which centring leaves at 0
        A[np.diag_indices(n)] += rounding
        with blas.single_threaded():
            if steps.is_positive_inplace(A):
                return np.zeros(0)
        del A
    lowest = solve(EigenProblem(matrix, BOTTOM), min(m, n - 1)).values if n > 1 else np.zeros(0)
    return lowest[lowest < -rounding]
