"""One problem for the whole family: dissimilarities, weights, and the stress of an embedding with its gradient."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from lowfold.backend.embedding_protocol import StressCode
from lowfold.errors import DataError
from lowfold.stress.pairs import GivenPairs, Pairs, survey
from lowfold.types import Floats

UNIT, INVERSE, GIVEN = "unit", "inverse", "given"


@dataclass(frozen=True, slots=True)
class Evaluation:
    """The stress at an embedding: sum w (d - target)^2 over pairs, half its gradient (n, d), each point's own part
    sum_j w_ij (d_ij - target_ij)^2, and sum w d^2; all of the embedding times `scale`."""

    stress: float
    gradient: NDArray[np.float64]
    residuals: NDArray[np.float64]
    size: float
    scale: float = 1.0


class Problem(Protocol):
    """What the loop minimises.

    degrees (n,): sum_j w_ij. total: sum w delta^2. stiffness: a factor of the degrees with which a step along
    gradient / (stiffness degrees) is likely not to raise the stress; with `stiffest` it never does.
    """

    n: int
    dtype: np.dtype[Any]
    degrees: NDArray[np.float64]
    total: float
    stiffness: float
    stiffest: float
    weighting: Weighting
    threads: int

    def with_threads(self, threads: int) -> Problem:
        """The same problem, to be evaluated beside this one on so many threads."""

    def evaluate(self, Y: Floats) -> Evaluation:
        """The stress at Y."""

    def targets(self, points: NDArray[np.intp]) -> tuple[Floats, Floats | None]:
        """(deltas, weights) of some points to all: new arrays, as of the last evaluation; weights if they are given."""


class StressProblem:
    """Metric stress: the targets are the dissimilarities themselves.

    The stress lies below its tangent at z plus (y - z)' V (y - z) with V = diag(degrees) - W (de Leeuw 1977), and that
    below the same with a factor times the degrees instead of V. The eigenvalues of W over the degrees are at least -1,
    so that a factor of 2 always serves. Where all weights are equal, n / (n - 1) does, and the step is Guttman's
    transform. Of other weights 1 nearly always serves, and the loop sees where it does not. So no equations have to be
    solved.
    """

    def __init__(self, pairs: Pairs, weighting: Weighting, threads: int) -> None:
        self.pairs, self.weighting, self.threads = pairs, weighting, threads
        self.n, self.dtype = pairs.n, pairs.dtype
        self.degrees = weighting.degrees
        complete = weighting.law[0] == UNIT and bool((self.degrees == self.n - 1).all())
        self.stiffness = self.n / (self.n - 1) if complete and self.n > 1 else 1.0
        self.stiffest = self.stiffness if complete else 2.0
        self.total = self.evaluate(np.zeros((self.n, 1), self.dtype)).stress

    def with_threads(self, threads: int) -> StressProblem:
        """A copy that shares everything but the number of threads."""
        other = copy.copy(self)
        other.threads = threads
        return other

    def evaluate(self, Y: Floats) -> Evaluation:
        """One pass over half of the pairs."""
        how = self.weighting
        gradient, residuals, size = self.pairs.stress(Y, how.weights, how.law, self.threads)
        return Evaluation(float(residuals.sum()) / 2, gradient, residuals, size)

    def targets(self, points: NDArray[np.intp]) -> tuple[Floats, Floats | None]:
        """The dissimilarities themselves."""
        deltas = np.vstack([self.pairs.rows(slice(i, i + 1)) for i in points])
        given = self.weighting.weights
        return deltas, None if given is None else given[points]


@dataclass(frozen=True, slots=True)
class Weighting:
    """How pairs are weighted: the kernel's law, the matrix if they are given, degrees sum_j w_ij, and the unit in which
    the stress is then measured, if the dissimilarities and weights were scaled."""

    law: StressCode
    degrees: NDArray[np.float64]
    unit: float
    weights: Floats | None = None


def unit_weights(pairs: Pairs, threads: int) -> Weighting:
    """1 for each pair that is known."""
    degrees = np.full(pairs.n, pairs.n - 1.0)
    if isinstance(pairs, GivenPairs):
        degrees = survey(pairs, threads).known
        if (degrees < pairs.n - 1).any():
            check_connected(lambda i: pairs.D[i] >= 0, pairs.n, "known dissimilarities")
    return Weighting((UNIT, 1.0), degrees, pairs.scale**2)


def given_weights(pairs: Pairs, W: Any) -> Weighting:
    """The user's weights, checked; a missing pair has none."""
    weights = _read_weights(W, pairs)
    largest = float(weights.max(initial=0.0))
    scale = 1.0 if largest == 0 or 1e-6 <= largest <= 1e6 else float(2.0 ** np.round(np.log2(largest)))
    weights = np.ascontiguousarray(weights / scale, pairs.dtype)
    given = pairs.D if isinstance(pairs, GivenPairs) else None

    def row(i: int) -> NDArray[np.float64]:
        w = weights[i].astype(np.float64)
        w[i] = 0.0
        return w if given is None else np.where(given[i] >= 0, w, 0.0)

    check_connected(lambda i: row(i) > 0, pairs.n, "weights above 0")
    degrees = np.array([row(i).sum() for i in range(pairs.n)])
    return Weighting((GIVEN, 1.0), degrees, pairs.scale**2 * scale, weights)


def sammon_weights(pairs: Pairs, zeros: str, threads: int) -> Weighting:
    """1 / delta. zeros: what becomes of pairs at distance 0."""
    found = survey(pairs, threads)
    some, any_apart = bool(found.zeros.any()), bool(np.isfinite(found.smallest))
    if some and zeros == "error":
        raise DataError(
            f"{int(found.zeros.sum()) // 2} pairs of points have a dissimilarity of 0, where Sammon's weight 1 / delta "
            f"has no value. Drop duplicates, or use zeros='together' (as heavy as the smallest other) or 'ignore'."
        )
    if isinstance(pairs, GivenPairs) and (found.known < pairs.n - 1).any():
        check_connected(lambda i: pairs.D[i] >= 0, pairs.n, "known dissimilarities")
    at_zero = found.smallest if any_apart else 1.0
    if some and zeros == "ignore" and any_apart:
        at_zero = np.inf
        check_connected(lambda i: pairs.rows(slice(i, i + 1))[0] > 0, pairs.n, "dissimilarities above 0")
    return Weighting((INVERSE, at_zero), found.inverse + found.zeros / at_zero, pairs.scale)


def check_connected(linked: Callable[[int], Any], n: int, what: str) -> None:
    """Raises DataError unless every point hangs together with every other: else nothing says how groups lie."""
    group = np.full(n, -1)
    sizes: list[int] = []
    while (group < 0).any():
        waiting = [int(np.argmax(group < 0))]
        group[waiting] = len(sizes)
        while waiting:
            i = waiting.pop()
            new = np.flatnonzero(linked(i) & (group < 0) & (np.arange(n) != i))
            group[new] = len(sizes)
            waiting.extend(new.tolist())
        sizes.append(int(np.count_nonzero(group == len(sizes))))
    if len(sizes) > 1:
        shown = ", ".join(map(str, sorted(sizes, reverse=True)[:5])) + (", ..." if len(sizes) > 5 else "")
        raise DataError(
            f"The {n} points fall into {len(sizes)} groups (of {shown}) without {what} between them, so that nothing "
            f"says how the groups lie to each other. Add some between the groups, or embed each group by itself."
        )


def _read_weights(W: Any, pairs: Pairs) -> NDArray[np.float64]:
    n = pairs.n
    W = np.asarray(W)
    if W.shape != (n, n) or W.dtype.kind not in "fiub":
        raise DataError(
            f"weights has shape {W.shape} and type {W.dtype}; it needs a number for each pair of the {n} points. Pass "
            f"a symmetric array of shape ({n}, {n})."
        )
    W = W.astype(np.float64)
    if not np.isfinite(W).all() or (W < 0).any() or np.abs(W - W.T).max(initial=0.0) > 1e-5 * W.max(initial=0.0):
        raise DataError(
            f"The {n} x {n} weights must be finite, symmetric and not negative; the smallest is {W.min():.3g}, and the "
            f"largest difference from their transpose {np.abs(W - W.T).max():.3g}. Use 0 where a pair does not count."
        )
    return W
