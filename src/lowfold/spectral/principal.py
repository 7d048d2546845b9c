"""The largest eigenvalues of Xc^T Xc and their vectors: by the family's solver, or in two ways for comparison."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lowfold.backend import steps
from lowfold.errors import ConvergenceWarning, warn
from lowfold.spectral.centred import CentredMatrix
from lowfold.spectral.eigen import solve
from lowfold.spectral.krylov import gap_behind
from lowfold.spectral.problem import DenseMatrix, EigenProblem, Spectrum

TINY = float(np.finfo(float).tiny)
OVERSAMPLING = 10  # vectors beyond those asked for: the subspace iteration converges with the gap behind them
MAX_ITERATIONS = 1000
# Of the largest eigenvalue: a residual of the randomized iteration, and one to warn of, where the gap allows as much.
TOLERANCE = 1e-5
POWER_TOLERANCE = 1e-7  # of its own eigenvalue: that of the power iteration, which learns the gap only at the end
SINE = 1e-2  # wanted error of the subspace: the residual relative to the gap behind the last component
AS_LARGE = 0.999  # of the largest entry: two that are equal, as those of two standardised features, differ by rounding
MEASURED = 1e-4  # of the largest eigenvalue, below which those from float32 products have no digits left
NOTHING = 64 * np.finfo(float).eps  # of the sum of the sizes of terms: what rounding can make of nothing
ROWS_AT_ONCE = 256  # of a matrix that are deflated
ROUNDING = 1e-12  # of an eigenvalue: no residual can be made smaller


@dataclass(frozen=True, slots=True)
class Eigenpairs:
    """values (m,), largest first; vectors (D, m); the sum of all eigenvalues; the largest residual relative to
    values[0]; the gap behind the last value, where it is known; iterations done."""

    values: NDArray[np.float64]
    vectors: NDArray[np.float64]
    total: float
    residual: float
    gap: float | None
    iterations: int = 0

    def findings(self) -> dict[str, Any]:
        """For the report of a fit."""
        found = {"eigenvalues": self.values, "residual": self.residual, "iterations": self.iterations}
        found["converged"] = self.converged
        return found if self.gap is None else found | {"spectral gap": self.gap}

    @property
    def converged(self) -> bool:
        """Whether the residual is small, also beside the gap, where there is one."""
        largest = float(self.values[0]) if len(self.values) else 0.0
        apart = self.gap is None or self.residual * largest <= max(SINE * self.gap, 10 * ROUNDING * largest)
        return apart and self.residual <= TOLERANCE


def by_covariance(X: CentredMatrix, m: int, threads: int) -> Eigenpairs:
    """From the smaller of Xc^T Xc and Xc Xc^T, which share their eigenvalues: Xc^T u = sqrt(lam) v."""
    n, D = X.shape
    A, total = _scaled(X.scatter() if n >= D else X.gram())
    found = _solved(A, m, threads)
    if n >= D and X.single and found.values[-1] < MEASURED * found.values[0]:
        A, total = _scaled(X.precise().scatter())
        found = _solved(A, m, threads)
    return _of_data(X, found, total)


def by_lanczos(X: CentredMatrix, m: int) -> Eigenpairs:
    """The same from products with the data, where a square matrix has no place or takes too long."""
    total = X.sum_of_squares() or 1.0
    found = solve(EigenProblem(_Products(X, total)), m)
    pairs = _of_data(X, found, total)
    if X.single and (pairs.values[-1] < MEASURED * pairs.values[0] or not pairs.converged):
        return by_lanczos(X.precise(), m)
    return _said("lanczos", pairs)


def _of_data(X: CentredMatrix, found: Spectrum, total: float) -> Eigenpairs:
    """The eigenpairs of Xc^T Xc, from those of the smaller square matrix divided by the sum of its eigenvalues."""
    values, vectors = np.maximum(found.values, 0), found.vectors
    if X.shape[0] < X.shape[1]:
        vectors = _orthonormal(X.transposed_times(vectors))
    residual = float(found.residuals.max() / max(values[0], TINY))
    gap = found.gap * total if len(values) < min(X.shape) else None
    return Eigenpairs(values * total, vectors, total, residual, gap, found.products)


class _Products:
    """The smaller of Xc^T Xc / total and Xc Xc^T / total, written out only where many of its vectors are wanted."""

    def __init__(self, X: CentredMatrix, total: float) -> None:
        self.n = min(X.shape)
        self.precision = float(np.finfo(np.float32 if X.single else np.float64).eps)
        self._X, self._total, self._wide = X, total, X.shape[0] < X.shape[1]

    def times(self, V: NDArray[np.float64]) -> NDArray[np.float64]:
        """A V."""
        X = self._X
        AV = X.times(X.transposed_times(V)) if self._wide else X.transposed_times(X.times(V))
        return np.asarray(AV, np.float64) / self._total

    def dense(self) -> NDArray[np.float64]:
        """A."""
        return (self._X.gram() if self._wide else self._X.scatter()) / self._total


def _solved(A: NDArray[np.float64], m: int, threads: int) -> Spectrum:
    """The m largest eigenpairs of A, found without its rows of zeros: columns of the data that do not vary."""
    some = np.flatnonzero(A.diagonal() > 0)
    if len(some) == len(A) or len(some) < m:
        return solve(EigenProblem(DenseMatrix(A, threads)), m)
    found = solve(EigenProblem(DenseMatrix(A[np.ix_(some, some)], threads)), m)
    vectors = np.zeros((len(A), m))
    vectors[some] = found.vectors
    gap = found.gap if m < len(some) else float(found.values[-1])  # the rest of the eigenvalues are 0
    return dataclasses.replace(found, vectors=vectors, gap=gap)


def by_randomized(X: CentredMatrix, m: int, rng: np.random.Generator) -> Eigenpairs:
    """Subspace iteration from random vectors, with Rayleigh-Ritz: Q <- orth(Xc^T Xc Q) until the residuals are small.

    Halko, Martinsson, Tropp, "Finding structure with randomness" (2011). Cost per iteration 4 n D (m + 10).
    """
    total = X.sum_of_squares() or 1.0
    size = min(m + OVERSAMPLING, *X.shape)
    AQ = rng.standard_normal((X.shape[1], size))
    iterations, residual = 0, np.inf
    wanted = TOLERANCE
    while residual > wanted and iterations < MAX_ITERATIONS:
        Q = _orthonormal(AQ)
        AQ = X.transposed_times(X.times(Q)) / total
        values, rotation = np.linalg.eigh(Q.T @ AQ)
        values, rotation = np.maximum(values[::-1], 0), rotation[:, ::-1]
        vectors = Q @ rotation[:, :m]
        residual = _residual(AQ @ rotation[:, :m], vectors, values[:m])
        if size > m:
            wanted = max(min(TOLERANCE, SINE * gap_behind(values, m) / max(values[0], TINY)), ROUNDING)
        iterations += 1
    if X.single and values[m - 1] < MEASURED * values[0]:
        return by_randomized(X.precise(), m, rng)
    gap = gap_behind(values, m) * total if size > m else None
    return _said("randomized", Eigenpairs(values[:m] * total, vectors, total, residual, gap, iterations))


def by_power(X: CentredMatrix, m: int, rng: np.random.Generator) -> Eigenpairs:
    """One vector after another: b <- A b / |A b| until A b = lam b, then A <- A - lam b b^T (deflation).

    A is the smaller of Xc^T Xc and Xc Xc^T, as above. One more than is wanted, where there is one: its value says how
    far the wanted ones are from the rest.
    """
    n, D = X.shape
    A, total = _scaled(X.scatter() if n >= D else X.gram())
    sizes = np.abs(A)
    count = min(m + 1, len(A))
    values, vectors = np.zeros(count), np.zeros((len(A), count))
    iterations, worst = 0, 0.0
    for j in range(count):
        b = _beside(vectors, rng.standard_normal(len(A)))
        before = np.inf
        for _ in range(MAX_ITERATIONS):
            Ab = A @ b
            Ab -= vectors @ (vectors.T @ Ab)  # rounding would bring the vectors already found back
            values[j] = b @ Ab
            residual = float(np.linalg.norm(Ab - values[j] * b))
            iterations += 1
            # An error of a vector is one of all that come after it: it goes on as long as that is quickly done.
            enough = residual <= POWER_TOLERANCE * values[j] and residual > before / 2
            # Where A b is no more than its terms are rounded by, nothing is left of A, and b is as good as any other.
            nothing = np.linalg.norm(Ab) <= NOTHING * np.linalg.norm(sizes @ np.abs(b))
            if enough or residual <= ROUNDING * values[j] or nothing:
                values[j] = 0 if nothing else values[j]
                break
            b, before = _beside(vectors, Ab), residual
        worst = max(worst, residual / max(values[0], TINY)) if j < m else worst
        vectors[:, j] = b
        for begin in range(0, len(A), ROWS_AT_ONCE):  # no second square matrix
            rows = slice(begin, begin + ROWS_AT_ONCE)
            A[rows] -= np.outer(values[j] * b[rows], b)
    order = np.argsort(-values, kind="stable")
    values, vectors = np.maximum(values, 0)[order] * total, vectors[:, order]
    if n >= D and X.single and values[m - 1] < MEASURED * values[0]:
        return by_power(X.precise(), m, rng)
    known = count > m and values[m - 1] > 0  # directions in which nothing varies are any
    gap = float(values[m - 1] - values[m]) if known else None
    vectors = vectors[:, :m] if n >= D else _orthonormal(X.transposed_times(vectors[:, :m]))
    return _said("power", Eigenpairs(values[:m], vectors, total, worst, gap, iterations))


def _beside(vectors: NDArray[np.float64], b: NDArray[np.float64]) -> NDArray[np.float64]:
    """b less its part along the orthonormal vectors, of length 1; twice, since b may be little else."""
    for _ in range(2):
        b = b - vectors @ (vectors.T @ b)
        b = b / (float(np.linalg.norm(b)) or 1.0)
    return b


def measured(X: CentredMatrix, pairs: Eigenpairs) -> Eigenpairs:
    """The same, the small eigenvalues as the coordinates show them: lam = |Xc v|^2.

    A computed eigenvalue is off by rounding beside the largest one, and those of directions in which the data hardly
    vary are nothing else; the length of Xc v is off by rounding beside a row, which is the root of that.
    """
    small = (pairs.values > 0) & (pairs.values < MEASURED * pairs.values[:1])
    if not small.any():
        return pairs
    Y = X.times(pairs.vectors[:, small]).astype(np.float64)
    values = pairs.values.copy()
    values[small] = np.einsum("ij,ij->j", Y, Y)
    order = np.argsort(-values, kind="stable")
    return dataclasses.replace(pairs, values=values[order], vectors=pairs.vectors[:, order])


def with_canonical_signs(vectors: NDArray[np.float64]) -> NDArray[np.float64]:
    """The same vectors, each turned so that its largest entry is positive; of those about as large, the first."""
    sizes = np.abs(vectors)
    first = np.argmax(sizes >= AS_LARGE * sizes.max(axis=0), axis=0)
    return vectors * np.where(vectors[first, np.arange(vectors.shape[1])] < 0, -1.0, 1.0)


def _scaled(A: NDArray[np.float64]) -> tuple[NDArray[np.float64], float]:
    """(A / trace, trace): with eigenvalues that add up to 1, no square leaves float64's range."""
    total = float(np.trace(A)) or 1.0
    A /= total
    return A, total


def _residual(AV: NDArray[Any], vectors: NDArray[Any], values: NDArray[Any]) -> float:
    """max_j |A v_j - lam_j v_j| / lam_1."""
    lengths = np.linalg.norm(AV - vectors * values, axis=0)
    return float(lengths.max() / max(values[0], np.finfo(float).tiny))


def _orthonormal(V: NDArray[Any]) -> NDArray[np.float64]:
    return steps.orthonormal(V.astype(np.float64))[0]


def _said(solver: str, found: Eigenpairs) -> Eigenpairs:
    """What was found, with a warning if it is not sure to be right."""
    if not found.converged:
        gap = (
            "" if found.gap is None else f", and the gap behind the last component is {found.gap / found.values[0]:.1e}"
        )
        warn(
            f"solver='{solver}' stopped after {found.iterations} iterations with a residual of {found.residual:.1e} of "
            f"the largest variance{gap}: components lie too close together to be told apart by it. "
            f"Use solver='covariance', or another number of components.",
            ConvergenceWarning,
        )
    return found
