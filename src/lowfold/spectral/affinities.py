"""What the affinities of a diffusion map offer, wherever they come from."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from lowfold.affinity.gaussian import Bandwidth
from lowfold.affinity.walk import Walk, densities, row_sums, scaled, walk_of
from lowfold.errors import DataError

AUTO_RANK = 10  # the neighbour whose typical distance is sigma="auto"


class Options(Protocol):
    """The options of a diffusion map that its affinities depend on."""

    sigma: float | str
    graph: Any
    metric: Any
    n_jobs: int | None
    random_state: Any


class Affinities(ABC):
    """Affinities between training points, and from new points to them."""

    bandwidth: Bandwidth

    @abstractmethod
    def between(self, threads: int) -> Any:
        """W, sparse, packed or dense."""

    @abstractmethod
    def from_new(self, values: Any, threads: int) -> Iterator[Any]:
        """Rows of affinities of new points, some at a time."""

    @abstractmethod
    def check(self, W: Any, q: NDArray[np.float64]) -> None:
        """Raises DataError if some point has no affinity to another; q are the row sums of W."""

    def members(self, n: int) -> NDArray[np.intp]:
        """The points of the walk, of n in all: those that the policy for components leaves."""
        return np.arange(n)

    def pieces(self, n: int) -> list[NDArray[np.intp]]:
        """The n members that are embedded together, largest piece first."""
        return [np.arange(n)]

    def findings(self) -> dict[str, Any]:
        """For the report of a fit."""
        sigma = self.bandwidth.sigma
        return {"sigma": sigma if not isinstance(sigma, np.ndarray) else f"local, median {np.median(sigma):.3g}"}

    def walk(self, alpha: float, threads: int) -> Walk:
        """The random walk on them."""
        W = self.between(threads)
        q = densities(W, threads)
        self.check(W, q)
        return walk_of(W, q, alpha, threads)

    def new_rows(self, values: Any, thinned: NDArray[np.float64], threads: int) -> Iterator[Any]:
        """Rows of the walk for new points: (q_x q_j)^-alpha w_xj, divided by their sums, in which q_x cancels.

        thinned: q_j^-alpha of the members.
        """
        begin = 0
        for W in self.from_new(values, threads):
            W = scaled(W, None, thinned)
            sums = row_sums(W)
            if not (sums > 0).all():
                row = begin + int(np.argmin(sums))
                raise DataError(
                    f"Row {row} of X is so far from every training point that all its affinities are 0 at "
                    f"sigma={self.findings()['sigma']}. Leave such rows out, or fit with a larger sigma."
                )
            begin += W.shape[0]
            yield scaled(W, 1 / sums, None)
