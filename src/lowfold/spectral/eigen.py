"""`solve`: the eigenvectors of every method of the family, by the way that suits the matrix."""

from __future__ import annotations

import dataclasses

import numpy as np
from numpy.typing import NDArray

from lowfold.backend import blas, steps
from lowfold.backend.eigenpairs import LAPACK_SIZE, eigenpairs
from lowfold.errors import ConvergenceWarning, warn
from lowfold.spectral import chebyshev, factor, krylov
from lowfold.spectral.canonical import canonical
from lowfold.spectral.problem import BOTTOM, Block, DenseMatrix, EigenProblem, SparseMatrix, Spectrum, closeness

DENSE_SIZE = 600  # rows up to which all eigenvalues at once take no longer than a moment
PATIENT_SIZE = 5000  # rows up to which the same is done, for up to a minute, where Lanczos did not converge
DENSE_SHARE = 8  # and wherever more than one in so many is wanted
# Rows of a dense matrix, and vectors wanted, for which LAPACK finds these alone: Lanczos is hardly ever quicker, and
# where eigenvalues lie close together it takes several times as long (784 rows, 50 vectors: 0.04 s, and 0.04 to 0.16).
SOME_SIZE, SOME_LEAST = 1000, 16
GUARDS = 8  # eigenvalues beyond those wanted, to see the gap behind them
MOST_FURTHER = 8  # vectors beyond those wanted, added at once to have the whole of the last eigenspace


def solve(problem: EigenProblem, m: int) -> Spectrum:
    """The m eigenvectors at the wanted end, beside the trivial ones.

    Up to DENSE_SIZE rows all at once, and up to SOME_SIZE many of a dense matrix; a sparse matrix by factorisation if
    it is a narrow band in a good order (curves, sheets), or at the bottom end, else through a polynomial filter; a
    dense or streamed matrix by block Lanczos. The work is bounded; where Lanczos fails on a matrix of moderate size, it
    is done all at once; what did not converge is warned of and said in the spectrum. Where the last eigenspace has more
    dimensions than are wanted, it is found whole, and the first of its canonical basis are returned.
    """
    most = problem.matrix.n - problem.trivial_count
    with blas.single_threaded():
        found, further = _solve(problem, m), 1
        while found.divided and found.solver != "dense" and further <= MOST_FURTHER and m + further <= most:
            found, further = _solve(problem, m + further), 2 * further
    if not found.converged:
        _warn(found)
    return found.first(m)


def factor_memory(n: int, k: int) -> int:
    """About the bytes of the factors of a graph of n points with k neighbours each, while its band is narrow."""
    return round(min(8.0, 0.2 * k) * min(n, 2 * factor.NARROW_BAND) ** 2)


def dense_memory(n: int, m: int) -> int:
    """The bytes, beside the matrix, for m of n vectors that are found all at once; 0 where they are not, or are few."""
    return 4 * 8 * n * n if n > DENSE_SIZE and _is_at_once(n, m) else 0


def _is_at_once(n: int, m: int) -> bool:
    return n <= DENSE_SIZE or DENSE_SHARE * (m + krylov.BLOCK) >= n


def _solve(problem: EigenProblem, m: int) -> Spectrum:
    n = problem.matrix.n
    if _is_at_once(n, m):
        return (_some_at_once(problem, m) if n > max(LAPACK_SIZE, 2 * m) else None) or _all_at_once(problem, m)
    if isinstance(problem.matrix, SparseMatrix):
        return _sparse(problem, problem.matrix, m)
    if isinstance(problem.matrix, DenseMatrix) and n <= SOME_SIZE and m >= SOME_LEAST:
        found = _some_at_once(problem, m)
        if found is not None:
            return found
    return _by_krylov(problem, m)


def _all_at_once(problem: EigenProblem, m: int) -> Spectrum:
    values, vectors = _by_lapack(problem, problem.matrix.n)
    count = len(values) - problem.trivial_count
    return _from_dense(problem, values[:count], vectors, m)


def _some_at_once(problem: EigenProblem, m: int) -> Spectrum | None:
    """No more than are needed to see the gap; None if all of these are equal to the last one wanted, or are all."""
    if m + GUARDS > problem.matrix.n - problem.trivial_count:
        return None
    values, vectors = _by_lapack(problem, m + GUARDS)
    if values[m - 1] - values[-1] <= closeness(problem, values)[m - 1]:
        return None
    return _from_dense(problem, values, vectors, m)


def _from_dense(problem: EigenProblem, values: NDArray[np.float64], vectors: Block, m: int) -> Spectrum:
    """The m first of the eigenvectors found, and the rest of the last eigenspace if that is not large."""
    close = closeness(problem, values[:m])[m - 1]
    whole = next((j for j in range(m, len(values)) if values[j - 1] - values[j] > close), len(values))
    m = whole if whole - m < 2 * MOST_FURTHER else m
    known = m < len(values)
    gap = krylov.gap_behind(values, m) if known else float(abs(values[0] - values[-1]))
    following = float(values[m]) if known else -np.inf
    ritz = krylov.Ritz(values[:m], vectors[:, :m], np.zeros(m), gap, 0, True, following)
    return _spectrum(problem, ritz, "dense")


def _by_lapack(problem: EigenProblem, count: int) -> tuple[NDArray[np.float64], Block]:
    """The first eigenvalues at the wanted end, of A or -A and falling, with the trivial ones last of all; vectors."""
    A = problem.matrix.dense()
    if problem.end == BOTTOM:
        A = -A
    if problem.trivial is not None:
        # Moved past the other end, they are the last to be found.
        size = float(np.abs(A).sum(axis=1).max()) or 1.0
        off = A - problem.trivial @ (problem.trivial.T @ A)
        off -= (off @ problem.trivial) @ problem.trivial.T
        A = krylov.symmetric(off - 2 * size * problem.trivial @ problem.trivial.T)
    return _largest_of(A, count)


def _largest_of(A: Block, count: int) -> tuple[NDArray[np.float64], Block]:
    """The largest eigenvalues of a dense matrix, falling, and their vectors."""
    values, vectors = eigenpairs(A, len(A) - count, len(A) - 1)
    return values[::-1], vectors[:, ::-1]


def _sparse(problem: EigenProblem, matrix: SparseMatrix, m: int) -> Spectrum:
    found = factor.ordering(matrix)
    narrow = found.band <= factor.NARROW_BAND
    if problem.end == BOTTOM:
        if problem.factor is not None and not narrow:
            return _by_inverse(problem, factor.inverse_of_square(problem.factor, matrix.threads), m)
        return _by_inverse(problem, factor.inverse(matrix.A, matrix.threads), m)
    if narrow:
        return _by_inverse(problem, factor.inverse_of_complement(matrix.A, matrix.threads), m)
    ritz = chebyshev.largest(problem, matrix, found.order, m)
    return _canonical_spectrum(problem, ritz, "filter")


def _by_krylov(problem: EigenProblem, m: int) -> Spectrum:
    start = _start(problem, max(krylov.BLOCK, min(m, 2 * krylov.BLOCK)))
    size = 0.0  # of the products: a power of two, without which squares might overflow or vanish

    def times(V: Block) -> Block:
        nonlocal size
        AV = problem.without_trivial(problem.matrix.times(problem.without_trivial(V)))
        size = size or float(np.exp2(np.floor(np.log2(np.abs(AV).max() or 1.0))))
        return AV / (-size if problem.end == BOTTOM else size)

    limits = krylov.Limits(problem.matrix.precision, room=krylov.WIDE_ROOM)
    ritz = krylov.largest(times, start, m, limits, problem.without_trivial)
    ritz = ritz.times(size)
    if not ritz.converged and problem.matrix.n <= PATIENT_SIZE:
        return _all_at_once(problem, m)  # a chain: eigenvalues so close that only this tells them apart
    return _spectrum(problem, ritz, "lanczos")


def _by_inverse(problem: EigenProblem, solve_with: factor.Solve, m: int) -> Spectrum:
    def times(V: Block) -> Block:
        return problem.without_trivial(solve_with(problem.without_trivial(V)))

    start = _start(problem, max(4, min(m + 2, krylov.BLOCK)))
    ritz = krylov.largest(times, start, m, krylov.Limits(problem.matrix.precision), problem.without_trivial)
    return _spectrum(problem, ritz, "factorisation")


def _start(problem: EigenProblem, width: int) -> Block:
    rng = np.random.default_rng(chebyshev.START_SEED)
    return problem.without_trivial(rng.random((problem.matrix.n, width), np.float32).astype(np.float64) - 0.5)


def _spectrum(problem: EigenProblem, ritz: krylov.Ritz, solver: str) -> Spectrum:
    """Eigenvalues of A itself (of A^-1 or -A the solver may have worked on), in order, and the residuals they leave."""
    V = problem.without_trivial(ritz.vectors)
    if solver == "dense" and problem.trivial is None:  # as good as they can be; a vector moved away leaves its rounding
        AV, values = problem.matrix.times(V), -ritz.values if problem.end == BOTTOM else ritz.values
    else:
        V = krylov.orthonormal(V)
        AV = problem.matrix.times(V)
        values, rotation = _largest_of(krylov.symmetric(steps.product(V.T, AV)), V.shape[1])
        order = np.arange(len(values))[::-1] if problem.end == BOTTOM else np.arange(len(values))
        values, rotation = values[order], rotation[:, order]
        V, AV = steps.product(V, rotation), steps.product(AV, rotation)
    size = float(np.abs(values).max(initial=0.0)) or 1.0  # squares of what is left neither overflow nor vanish
    residuals: NDArray[np.float64] = size * np.linalg.norm((AV - V * values) / size, axis=0)
    gap, step = (_own_difference(ritz, solver, difference) for difference in (ritz.gap, ritz.values[-1] - ritz.next))
    found = dataclasses.replace(ritz, values=values, vectors=V, residuals=residuals, gap=gap, next=values[-1] - step)
    return _canonical_spectrum(problem, found, solver)


def _canonical_spectrum(problem: EigenProblem, ritz: krylov.Ritz, solver: str) -> Spectrum:
    """What was found, in the canonical basis of each eigenspace; `next` is that behind the last eigenvalue."""
    close = closeness(problem, ritz.values)
    vectors = canonical(ritz.values, ritz.vectors, close)
    divided = bool(ritz.values[-1] - ritz.next <= close[-1])
    return Spectrum(
        ritz.values, vectors, ritz.residuals, ritz.gap, solver, ritz.products, ritz.converged, divided, close
    )


def _own_difference(ritz: krylov.Ritz, solver: str, difference: float) -> float:
    """How far behind the last eigenvalue of A one lies that differs by so much for the solver, which may have worked
    on the inverse."""
    if solver != "factorisation":
        return float(difference)
    last = ritz.values[-1]
    return float(1 / max(last - difference, np.finfo(float).tiny) - 1 / last) if last > difference else np.inf


def _warn(found: Spectrum) -> None:
    warn(
        f"The eigenvectors did not converge: after {found.products} products the largest residual is "
        f"{found.residuals.max():.1e}, and the gap behind the last eigenvalue {found.gap:.1e}. The first coordinates "
        f"are better than the last. Ask for fewer components, or for more neighbours, so that the graph holds "
        f"together.",
        ConvergenceWarning,
    )
