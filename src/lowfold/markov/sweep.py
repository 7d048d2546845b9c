"""The bottleneck of a walk: the best cut along an eigenvector, and Cheeger's inequality, which says how good it is.

The conductance of a set S of points is h(S) = w(S, rest) / min(vol(S), vol(rest)), with vol(S) the sum of the degrees.
For the smallest one over all sets, h, the second eigenvalue lam of L = I - P, and the smallest over the prefixes of the
points ordered by its eigenvector, h_f: 2 h >= lam >= h_f^2 / 2 >= h^2 / 2 (Cheeger 1970; Chung 1997).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from lowfold.errors import DataError, ParameterError
from lowfold.markov.chain import affinity_of, as_chain


@dataclass(frozen=True, slots=True)
class SweepCut:
    """members (n,): True on the side of the cut that the prefix is. conductance: of that cut, h_f.

    order (n,): the points by falling f; profile (n - 1,): the conductance of each prefix of it. eigenvalue: the second
    of L = I - P.
    """

    members: NDArray[np.bool_]
    conductance: float
    order: NDArray[np.intp]
    profile: NDArray[np.float64]
    eigenvalue: float

    @property
    def certificate(self) -> tuple[float, float]:
        """(lam / 2, h_f): no set has a smaller conductance than the first; this cut has the second."""
        return self.eigenvalue / 2, self.conductance


def sweep_cut(source: Any, f: Any = None) -> SweepCut:
    """The prefix with the smallest conductance along f (None: the second eigenvector of the walk).

    `source` is a chain, a fitted LaplacianEigenmaps or DiffusionMap, or a matrix of affinities. Cost: one pass over the
    edges.
    """
    chain = as_chain(source)
    if chain.n < 2:
        raise DataError(f"A cut needs 2 points at least, but there are {chain.n}. Pass more points.")
    W = csr_array(affinity_of(chain))
    lam, vectors = chain.eigenvectors(1)
    if f is None:
        values = vectors[:, 0]
    else:
        values = np.asarray(f, np.float64)
        if values.shape != (chain.n,) or not np.isfinite(values).all():
            raise ParameterError(
                f"f must have one finite number for each of the {chain.n} points; got shape {values.shape}. "
                f"Pass one column."
            )
    order = np.argsort(-values, kind="stable")
    profile = _profile(W, order, chain.degrees)
    best = int(np.argmin(profile))
    members = np.zeros(chain.n, bool)
    members[order[: best + 1]] = True
    return SweepCut(members, float(profile[best]), order, profile, float(1 - lam[0]))


def _profile(W: csr_array, order: NDArray[np.intp], degrees: NDArray[np.float64]) -> NDArray[np.float64]:
    """Conductance of each prefix: an edge is cut by the prefixes that end between its two points."""
    n = len(order)
    rank = np.empty(n, np.intp)
    rank[order] = np.arange(n)
    rows = np.repeat(np.arange(n), np.diff(W.indptr))
    a, b = rank[rows], rank[W.indices]
    outward = a < b
    opened = np.bincount(a[outward], W.data[outward], n)
    closed = np.bincount(b[outward], W.data[outward], n)
    cut = np.maximum(np.cumsum(opened - closed)[:-1], 0)
    volume = np.cumsum(degrees[order])
    return np.asarray(cut / np.minimum(volume[:-1], volume[-1] - volume[:-1]))
