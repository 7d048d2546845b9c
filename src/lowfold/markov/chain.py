"""A Markov chain on points: made from affinities, from a transition matrix or from a fitted method."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, eye_array, issparse
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import spsolve
from sklearn.utils.validation import check_array

from lowfold.affinity.walk import Walk, row_sums, scaled
from lowfold.errors import DataError, ParameterError
from lowfold.number_types import float_type
from lowfold.spectral.eigen import solve
from lowfold.spectral.problem import BOTTOM, TOP, DenseMatrix, EigenProblem, SparseMatrix
from lowfold.tables import as_table, explained

ROUNDING = 1e-8


@dataclass(frozen=True, slots=True)
class MarkovChain:
    """Transition probabilities P (n, n), rows of sum 1, dense or sparse; the stationary distribution pi = pi P; the
    weights d that diffusion distances are measured with: the degrees of the affinity, or pi where there is none."""

    P: Any
    stationary: NDArray[np.float64]
    degrees: NDArray[np.float64]

    @property
    def n(self) -> int:
        """The number of points."""
        return int(self.P.shape[0])

    def distribution(self, start: Any, t: int) -> NDArray[np.float64]:
        """Where the walk is after t steps: p P^t, from a start p: a point, or a distribution over the points."""
        t = _whole(t)
        p = np.eye(1, self.n, self._point(start))[0] if np.ndim(start) == 0 else self._checked(start)
        for _ in range(t):
            p = self.P.T @ p
        return p

    def reversibility_defect(self) -> float:
        """max |pi_i P_ij - pi_j P_ji|: 0 if the walk looks the same backwards in time."""
        flow = scaled(self.P.astype(np.float64), self.stationary, None)
        return float(abs(flow - flow.T).max())

    def is_reversible(self) -> bool:
        """Whether pi_i P_ij = pi_j P_ji for all pairs, up to rounding."""
        return self.reversibility_defect() <= ROUNDING * float(self.stationary.max())

    def diffusion_distance(self, i: int, j: int, t: int) -> float:
        """sqrt(sum_k (P^t_ik - P^t_jk)^2 / d_k), by taking the t steps: how far apart points i and j are."""
        self._check_no_transient_points()
        difference = self.distribution(i, t) - self.distribution(j, t)
        return float(np.sqrt(np.sum(difference**2 / self.degrees)))

    def eigenvectors(self, m: int, end: str = TOP) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """(eigenvalues, right eigenvectors) of P: the m largest behind 1, or at the end "bottom" the m smallest.

        P must be reversible.
        """
        problem, root = self._problem(-1.0 if end == BOTTOM else 1.0)
        if not isinstance(m, int | np.integer) or not 1 <= m < self.n or end not in (TOP, BOTTOM):
            raise ParameterError(
                f"m={m!r} eigenvectors from end={end!r} were asked for; a chain of {self.n} points has from 1 to "
                f"{self.n - 1} beside the constant one, at the 'top' or the 'bottom'. Ask for a number in between."
            )
        spectrum = solve(problem, m)
        return (-spectrum.values if end == BOTTOM else spectrum.values), spectrum.vectors / root[:, None]

    def _problem(self, sign: float) -> tuple[EigenProblem, NDArray[np.float64]]:
        """The top of S or of -S, both of which have their spectrum in [-1, 1]."""
        self._check_no_transient_points()
        if not self.is_reversible():
            raise DataError(
                "The chain is not reversible: pi_i P_ij and pi_j P_ji differ by up to "
                f"{self.reversibility_defect():.2g}, so that its eigenvalues need not be real. "
                f"Make it from a symmetric affinity."
            )
        root = np.sqrt(self.stationary)
        S = scaled(self.P.astype(np.float64), root, 1 / root)
        S = sign * (S + S.T) / 2
        matrix = SparseMatrix(csr_array(S), 1) if issparse(S) else DenseMatrix(np.asarray(S), 1)
        trivial = (root / np.linalg.norm(root))[:, None]
        return EigenProblem(matrix, trivial=trivial), root

    def _check_no_transient_points(self) -> None:
        gone = np.flatnonzero(self.stationary == 0)
        if len(gone):
            raise DataError(
                f"The walk leaves {len(gone)} points for good (the first is point {gone[0]}): they have no place in "
                f"the stationary distribution. Drop them."
            )

    def _point(self, start: Any) -> int:
        if not isinstance(start, int | np.integer) or not 0 <= start < self.n:
            raise ParameterError(
                f"The walk was to start at {start!r}; points are numbered from 0 to {self.n - 1}. Pass one of these, "
                f"or a distribution of {self.n} probabilities."
            )
        return int(start)

    def _checked(self, start: Any) -> NDArray[np.float64]:
        p = np.asarray(start, np.float64)
        if p.shape != (self.n,) or not (p >= 0).all() or not abs(p.sum() - 1) <= ROUNDING:
            raise ParameterError(
                f"A start must be a point or {self.n} probabilities of sum 1; got an array of shape {p.shape} and sum "
                f"{p.sum():.6g}. Divide it by its sum."
            )
        return p


def from_affinity(W: Any, *, components: str = "error") -> MarkovChain:
    """The walk on a symmetric matrix of affinities, dense or sparse: P = D^-1 W, pi = d / sum(d).

    components: what to do about affinities that fall into several, of which a walk never leaves its own, so that every
    mixture of their distributions is stationary. "error" raises DataError; "mixture" takes the one in which each has
    the share of its degrees.
    """
    W = _square(W, "Affinities")
    numbers = W.data if issparse(W) else W
    if numbers.size and numbers.min() < 0:
        raise DataError(f"Affinities cannot be negative, but the smallest is {numbers.min():.3g}. Clip or shift them.")
    if abs(W - W.T).max() > 1e-5 * abs(W).max():
        raise DataError(
            f"Affinities must be symmetric, but W of shape {W.shape} differs from its transpose. Pass (W + W.T) / 2, "
            f"or use from_transition for a walk with directions."
        )
    W = (W + W.T) / 2  # what differs is rounding
    d = row_sums(W)
    if not (d > 0).all():
        raise DataError(
            f"Point {int(np.argmin(d))} has no affinity to any point, so that a walk cannot leave it. Drop such "
            f"points, or give them an affinity to others."
        )
    _check_classes(components, *_closed_classes(csr_array(W)))
    return MarkovChain(scaled(W, 1 / d, None), d / d.sum(), d)


def from_transition(P: Any, *, components: str = "error") -> MarkovChain:
    """The chain with the transition probabilities P, rows of sum 1. Points that it leaves for good have probability 0.

    components: what to do about several classes of points that the chain never leaves. "error" raises DataError;
    "mixture" gives each class the share of its points in the stationary distribution.
    """
    P = _square(P, "Transition probabilities")
    numbers = P.data if issparse(P) else P
    sums = row_sums(P)
    if (numbers.size and numbers.min() < 0) or np.abs(sums - 1).max() > ROUNDING:
        raise DataError(
            "Transition probabilities must be at least 0 with rows of sum 1; the smallest is "
            f"{numbers.min():.3g}, and the sums lie from {sums.min():.6g} to {sums.max():.6g}. "
            f"Divide each row by its sum."
        )
    pi = _stationary(csr_array(P), components)
    return MarkovChain(P, pi, pi)


def chain_of(model: Any) -> MarkovChain:
    """The walk that a model, a fitted LaplacianEigenmaps or DiffusionMap, is read off."""
    walk = getattr(model, "random_walk", None)
    if walk is None:
        raise ParameterError(
            f"{type(model).__name__} has no random walk; there are 2 methods that have, LaplacianEigenmaps and "
            f"DiffusionMap. Fit one of these, or use from_affinity."
        )
    found: Walk = walk()
    root = np.sqrt(found.degrees)
    P = scaled(found.S.astype(np.float64), 1 / root, root)
    return MarkovChain(P, found.degrees / found.degrees.sum(), found.degrees)


def as_chain(source: Any) -> MarkovChain:
    """A chain, the one of a fitted model, or the walk on a matrix of affinities: cuts and classes are there in a walk
    that falls apart too."""
    if isinstance(source, MarkovChain):
        return source
    return chain_of(source) if hasattr(source, "random_walk") else from_affinity(source, components="mixture")


def affinity_of(chain: MarkovChain) -> Any:
    """The symmetric flow d_i P_ij, of which the chain is the walk."""
    flow = scaled(chain.P.astype(np.float64), chain.degrees, None)
    return (flow + flow.T) / 2


def _square(M: Any, what: str) -> Any:
    M = as_table(M)
    float_type(M, what)
    with explained(what):
        M = check_array(M, accept_sparse="csr", dtype=np.float64, input_name=what, copy=True)
    if M.shape[0] != M.shape[1]:
        raise DataError(
            f"{what} must be square, but the matrix has shape {M.shape}. Pass a row and a column for each point."
        )
    return csr_array(M) if issparse(M) else M


def _stationary(P: csr_array, components: str) -> NDArray[np.float64]:
    """pi with pi P = pi: 0 on points that the walk leaves for good."""
    closed, labels = _closed_classes(P)
    _check_classes(components, closed, labels)
    pi = np.zeros(P.shape[0])
    for label in closed:
        inside = np.flatnonzero(labels == label)
        pi[inside] = len(inside) * _settled(csr_array(P[inside][:, inside]))
    return pi / pi.sum()


def _settled(P: csr_array) -> NDArray[np.float64]:
    """The stationary distribution of one class: pi (P - I) = 0 with the last equation replaced by sum(pi) = 1."""
    n = P.shape[0]
    A = (P.T - eye_array(n)).tolil()
    A[-1, :] = 1
    pi = np.maximum(spsolve(A.tocsc(), np.eye(1, n, n - 1)[0]), 0)
    return np.asarray(pi / pi.sum())


def _closed_classes(P: csr_array) -> tuple[NDArray[Any], NDArray[Any]]:
    """(classes that the walk never leaves, the class of each point)."""
    pattern = P.copy()
    pattern.eliminate_zeros()
    count, labels = connected_components(pattern, directed=True, connection="strong")
    rows = np.repeat(labels, np.diff(pattern.indptr))
    leaves = np.unique(rows[rows != labels[pattern.indices]])
    return np.setdiff1d(np.arange(count), leaves), labels


def _check_classes(components: str, closed: NDArray[Any], labels: NDArray[Any]) -> None:
    """The policy for a walk that falls apart."""
    if components not in ("error", "mixture"):
        raise ParameterError(f"components={components!r} must be 'error' or 'mixture'. Use one of these.")
    if components == "error" and len(closed) > 1:
        largest = np.bincount(labels)[closed].max()
        raise DataError(
            f"The chain has {len(closed)} classes of points that it never leaves, the largest of {largest}, so that "
            f"its stationary distribution is not unique. Treat each class by itself, or choose components='mixture'."
        )


def _whole(t: Any) -> int:
    if not isinstance(t, int | float | np.number) or not np.isfinite(t) or t != int(t) or t < 0:
        raise ParameterError(
            f"t={t!r} steps cannot be taken one by one; t must be a whole number, 0 or more. Round it."
        )
    return int(t)
