"""The values that travel between the layers: frozen, without behaviour beyond reading themselves."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

Floats: TypeAlias = NDArray[np.floating[Any]]  # float32 or float64
Indices: TypeAlias = NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class Neighbors:
    """The k nearest reference points of each query: nearest first, equal distances by index.

    indices (n, k) int32 and distances (n, k). Where the queries are the reference points themselves, no point is its
    own neighbour. `recall` is the share of true neighbours found: 1.0 if the search was exact, else an estimate from
    a sample of the points. New rows that are like none of them may have fewer (0.97 of 0.99 for means of two digits).
    """

    indices: Indices
    distances: Floats
    n_points: int
    recall: float = 1.0

    @property
    def n(self) -> int:
        """The number of queries."""
        return self.indices.shape[0]

    @property
    def k(self) -> int:
        """The number of neighbours of each."""
        return self.indices.shape[1]

    def to_csr(self) -> csr_array:
        """The graph as a sparse matrix (n, n_points) of distances; zero distances are stored too."""
        indptr = np.arange(0, self.n * self.k + 1, self.k, dtype=np.int64)
        return csr_array((self.distances.ravel(), self.indices.ravel(), indptr), shape=(self.n, self.n_points))


@dataclass(frozen=True, slots=True)
class Components:
    """The connected components of a neighbour graph, largest first, and what was done about them.

    labels (n,): the component of each point. bridges (m, 2) and bridge_lengths (m,): the edges added by `join`.
    """

    labels: Indices
    sizes: tuple[int, ...]
    policy: str
    bridges: Indices = field(default_factory=lambda: np.empty((0, 2), np.int32))
    bridge_lengths: Floats = field(default_factory=lambda: np.empty(0))

    @property
    def count(self) -> int:
        """How many components the graph has before anything is done about it."""
        return len(self.sizes)


@dataclass(frozen=True, slots=True)
class Report:
    """What a fit did: seconds by stage, threads, instruction set, estimated memory in bytes, and its own findings."""

    seconds: Mapping[str, float]
    threads: int
    simd: str
    memory: int
    findings: Mapping[str, Any]

    def __str__(self) -> str:
        stages = ", ".join(f"{name} {time:.3f} s" for name, time in self.seconds.items())
        lines = [f"time: {stages} ({self.threads} threads, {self.simd})", f"memory: about {self.memory / 1e6:.0f} MB"]
        return "\n".join(lines + [f"{name}: {value}" for name, value in self.findings.items()])


@dataclass(frozen=True, slots=True)
class Step:
    """One step of an optimisation: its number, its phase, and, where they were looked at, the loss and the length of
    the gradient."""

    iteration: int
    phase: str
    inner: Floats = field(repr=False)  # the coordinates in the optimiser's own order
    order: NDArray[np.intp] = field(repr=False)
    loss: float | None = None
    gradient_norm: float | None = None

    @property
    def embedding(self) -> Floats:
        """The coordinates at this step, a copy in the order of the data."""
        Y = np.empty_like(self.inner)
        Y[self.order] = self.inner
        return Y
