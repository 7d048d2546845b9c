"""Kernel functions of pairs of rows, for kernel PCA; named as scikit-learn names them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from lowfold.backend import native, pieces, steps
from lowfold.errors import ParameterError
from lowfold.types import Floats

NAMES = ("linear", "poly", "rbf", "sigmoid", "cosine", "precomputed")
PairFunction: TypeAlias = Callable[..., float]


@dataclass(frozen=True, slots=True)
class Kernel:
    """k(x, y) for all pairs of rows.

    linear x^T y; poly (gamma x^T y + coef0)^degree; rbf exp(-gamma |x - y|^2); sigmoid tanh(gamma x^T y + coef0);
    cosine x^T y / (|x| |y|); or a function of two rows.
    """

    name: str | PairFunction
    gamma: float
    degree: float
    coef0: float

    def rows(self, A: Floats, B: Floats) -> Floats:
        """(len(A), len(B)), by products of matrices."""
        if callable(self.name):
            return self._by_pairs(A, B)
        with np.errstate(invalid="ignore", over="ignore"):  # what is not finite is refused by name
            return self._apply(steps.product(A, B.T), A, B)

    def single_rows(self, A: Floats, B: Floats, threads: int) -> Floats:
        """The same, each row of A by itself: its bits do not depend on the others."""
        if callable(self.name):
            return self._by_pairs(A, B)
        columns = pieces.shifted_columns(B, np.zeros(B.shape[1], B.dtype), threads)
        inner = native.kernels.project(np.ascontiguousarray(A), np.zeros(A.shape[1]), columns, threads)
        with np.errstate(invalid="ignore", over="ignore"):
            return self._apply(np.asarray(inner), A, B)

    def _by_pairs(self, A: Floats, B: Floats) -> Floats:
        from sklearn.metrics.pairwise import pairwise_kernels

        K = np.empty((len(A), len(B)), A.dtype)
        try:
            for i in range(len(A)):
                pieces.check()
                K[i] = pairwise_kernels(A[i : i + 1], B, metric=self.name)
        except (ValueError, TypeError) as error:
            raise ParameterError(
                f"kernel={self.name!r} failed on these data: {str(error).rstrip('.')}. It needs one number for each "
                f"pair of rows. Mend it, or use 'rbf'."
            ) from error
        return K

    def _apply(self, inner: Floats, A: Floats, B: Floats) -> Floats:
        """From inner products to the kernel; overwrites them."""
        if self.name == "linear":
            return inner
        if self.name == "poly":
            return np.power(inner * inner.dtype.type(self.gamma) + inner.dtype.type(self.coef0), self.degree)
        if self.name == "sigmoid":
            return np.tanh(inner * inner.dtype.type(self.gamma) + inner.dtype.type(self.coef0))
        a, b = np.einsum("ij,ij->i", A, A), np.einsum("ij,ij->i", B, B)
        if self.name == "cosine":
            lengths = np.sqrt(a)[:, None] * np.sqrt(b)
            return np.divide(inner, lengths, out=np.zeros_like(inner), where=lengths > 0)
        inner *= -2
        inner += a[:, None]
        inner += b
        np.maximum(inner, 0, out=inner)
        inner *= -self.gamma
        return np.exp(inner, out=inner)


def centre_for(name: Any, X: Floats, threads: int) -> Any:
    """A shift that leaves the kernel as it is and keeps digits: the mean for a kernel of differences, else 0."""
    return native.kernels.column_means(X, threads).astype(X.dtype) if name == "rbf" else np.zeros(X.shape[1], X.dtype)
