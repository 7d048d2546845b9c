"""Diffusion maps (Coifman and Lafon 2006).

A random walk on the data steps from i to j with probability P_ij proportional to the affinity W_ij; with W scaled by
(q_i q_j)^-alpha first, alpha = 1 takes the density of the sample out of it. P = Psi diag(lam) Phi^T with Phi^T Psi = I,
from the symmetric S = D^1/2 P D^-1/2 = V diag(lam) V^T: Psi = D^-1/2 V, Phi = D^1/2 V. The map after t steps is
Y = Psi lam^t without the constant first column: |y_i - y_j|^2 = sum_k (P^t_ik - P^t_jk)^2 / d_k, the diffusion
distance. A new point's row of P times Psi, divided by lam, is Psi there (Nyström).
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from lowfold import inputs
from lowfold.affinity.walk import Walk
from lowfold.backend.pieces import rows_in_work
from lowfold.errors import ParameterError
from lowfold.estimator import Estimator, Stopwatch
from lowfold.fitted import note_parameters, of_fitted
from lowfold.neighbors.interface import SEEDED, metric_option
from lowfold.options import documented, memory_limit_option, n_jobs_option, option, random_state_option
from lowfold.spectral.diffusion_kernel import affinities_of
from lowfold.spectral.eigen import solve
from lowfold.spectral.modes import Modes
from lowfold.spectral.nearest_affinities import Nearest, NearestAffinities
from lowfold.spectral.problem import DenseMatrix, EigenProblem, SparseMatrix, Spectrum
from lowfold.spectral.rows import dense_rows, weighted
from lowfold.types import Floats

FIRST_LOOK = 16  # eigenvectors computed at first when their number is to be found; then twice as many


@documented
@dataclass(frozen=True, slots=True)
class Significant:
    """As many coordinates as have |lam^t| >= 1 - delta: `DiffusionMap(n_components=Significant(delta=0.9))`.

    A map needs one: where all shrink by more than that, the first one is kept.
    """

    delta: float = option(
        0.9, low=0, high=1, help="coordinates that shrink by more than this share in time t are left out"
    )


class DiffusionMap(Estimator):
    """Diffusion map: Y = Psi lam^t, with Psi the right eigenvectors of the random walk behind the constant one.

    eigenvalues_ (m,), right_eigenvectors_ and left_eigenvectors_ (n, m), stationary_distribution_ (n,), sigma_,
    embedding_, report_. The kernel is exp(-d^2 / (2 sigma^2)), and a point has affinity 1 to itself.
    metric="affinity" takes the affinities themselves, dense or sparse. Of a graph in separate components each has its
    own eigenvectors and stationary distribution, and eigenvalues_ are those of the largest; where only the largest is
    used, the others' points have probability 0 and right eigenvectors by extension.
    """

    accepts: ClassVar[frozenset[str]] = frozenset(inputs.NEIGHBOR_KINDS) | {inputs.AFFINITY}

    n_components: int | Significant = option(
        2, low=1, help="number of coordinates of the embedding, or Significant(delta)"
    )
    sigma: float | str = option(
        "auto",
        above=0,
        high=1e140,
        choices=("auto", "local"),
        help="width of the kernel; 'auto': the median distance to the 10th neighbour; 'local': each point's to its 7th",
    )
    alpha: float = option(
        1.0, low=0, help="exponent of the density that is taken out of the affinities; 0, 1/2, 1 or any"
    )
    t: float = option(1.0, low=0, help="time of the diffusion, in steps of the walk; any real number")
    graph: str | Nearest = option(
        "dense", choices=("dense", "nearest"), help="affinities to all points, or to the nearest ones only"
    )
    metric: str | Callable[..., float] = metric_option()
    n_jobs: int | None = n_jobs_option()
    random_state: int | np.random.RandomState | np.random.Generator | None = random_state_option(SEEDED)
    memory_limit: float | None = memory_limit_option()

    @of_fitted
    def at_time(self, t: float) -> DiffusionMap:
        """Returns the same fitted map at another time; no new decomposition."""
        t = _checked_time(t)
        later = copy.copy(self)
        later.t = t
        note_parameters(later)
        later.embedding_ = self._modes.coordinates(t).astype(self.embedding_.dtype)
        return later

    @of_fitted
    def diffusion_distance(self, i: Any, j: Any, t: float | None = None, *, source: str = "spectrum") -> Any:
        """Returns the distance between the distributions of walks from training points i and j after t steps.

        sqrt(sum_k (P^t_ik - P^t_jk)^2 / d_k); i and j are numbers or arrays. source="spectrum" reads it off the
        eigenvectors that were kept, "walk" takes the t steps, a whole number, one by one.
        """
        t = self.t if t is None else _checked_time(t)
        i, j = (inputs.check_places(points, len(self.embedding_)) for points in (i, j))
        if source == "spectrum":
            return self._modes.distance(i, j, t)
        if source != "walk" or t != int(t) or t < 0:
            raise ParameterError(
                f"source={source!r} with t={t:g}: source must be 'spectrum', or 'walk' with a whole number of steps. "
                f"Use source='spectrum' for any other time."
            )
        i, j = np.broadcast_arrays(i, j)
        return self._walked_distance(i.ravel(), j.ravel(), int(t)).reshape(i.shape)[()]

    @of_fitted
    def random_walk(self) -> Walk:
        """Returns the walk that the map is read off, computed again; of the largest piece, where there are several."""
        walk = self._affinities.walk(self.alpha, self._threads)
        return walk.part(self._affinities.pieces(len(walk.degrees))[0])

    @of_fitted
    def generator_eigenvalues(self) -> NDArray[np.float64]:
        """Returns the eigenvalues per unit of time of the diffusion that the walk approximates: -2 log(lam) / sigma^2.

        A step of the walk is a diffusion for the time sigma^2 / 2. At alpha = 1 these tend to the eigenvalues of the
        Laplace-Beltrami operator, whatever the density of the sample (m^2 on a circle of radius 1, l (l + 1) on a
        sphere), as points become more and sigma smaller; at alpha = 1/2 to those of the Fokker-Planck operator. An
        eigenvalue of the walk of 0 or less has none (inf). Affinities to nearest points only cut the kernel off, and
        sigma="local" or given affinities have no unit of time.
        """
        sigma = self.sigma_
        if isinstance(sigma, np.ndarray) or not np.isfinite(sigma):
            raise ParameterError(
                f"generator_eigenvalues needs one width of the kernel as its unit, but sigma={self.sigma!r} with "
                f"metric={self.metric!r} has none. Use a number or 'auto', and rows or distances."
            )
        positive = self.eigenvalues_ > 0
        return np.where(positive, -2 * np.log(np.where(positive, self.eigenvalues_, 1.0)) / sigma**2, np.inf)

    def _walked_distance(self, i: NDArray[Any], j: NDArray[Any], t: int) -> NDArray[np.float64]:
        walk = self._affinities.walk(self.alpha, self._threads)
        i, j = self._in_walk(i), self._in_walk(j)
        root = np.sqrt(walk.degrees)
        start = np.zeros((len(root), len(i)))
        start[i, np.arange(len(i))] += 1 / root[i]
        start[j, np.arange(len(j))] -= 1 / root[j]
        # Rows of P^t, each divided by sqrt(d): D^-1/2 (P^t)^T (e_i - e_j) = S^t D^-1/2 (e_i - e_j).
        S = walk.S.astype(np.float64)
        for _ in range(t):
            start = S @ start
        return np.linalg.norm(start, axis=0)

    def _in_walk(self, points: NDArray[Any]) -> NDArray[np.intp]:
        """The numbers of training points among those that the walk visits."""
        place = np.full(len(self.embedding_), -1)
        members = self._affinities.members(len(self.embedding_))
        place[members] = np.arange(len(members))
        found = place[points]
        if (found < 0).any():
            raise ParameterError(
                f"Point {points[np.argmin(found)]} lies outside the largest component, which the walk never leaves. "
                f"Use source='spectrum', or another policy for components."
            )
        return found

    def _fit(self, data: inputs.Data, watch: Stopwatch, findings: dict[str, Any]) -> Floats:
        self._check(data.n)
        with watch.stage("affinity"):
            self._affinities = affinities_of(data, self)
            walk = self._affinities.walk(self.alpha, self._threads)
        findings.update(self._affinities.findings())
        with watch.stage("eigenvectors"):
            spectra = self._spectra(walk)
        findings.update(spectra[0].findings())
        self._thinned = walk.densities**-walk.alpha
        self._keep(data, walk, spectra)
        return self._modes.coordinates(self.t)

    def _keep(self, data: inputs.Data, walk: Walk, spectra: list[Spectrum]) -> None:
        """Stores what users read. Points outside the largest component follow it by their rows of the walk."""
        members, pieces = self._affinities.members(data.n), self._affinities.pieces(len(walk.degrees))
        m = len(spectra[0].values) if isinstance(self.n_components, Significant) else self.n_components
        values, V, shares = np.zeros((len(pieces), m)), np.zeros((len(members), m)), np.zeros(len(members))
        piece, volumes = np.zeros(data.n, np.intp), np.zeros(len(pieces))
        for number, (points, spectrum) in enumerate(zip(pieces, spectra, strict=True)):
            count = len(spectrum.values)
            values[number, :count], V[points, :count] = spectrum.values, spectrum.vectors
            piece[members[points]] = number
            volumes[number] = walk.degrees[points].sum()
            shares[points] = walk.degrees[points] / volumes[number]
        root = np.sqrt(walk.degrees)[:, None]
        right, left, stationary = np.zeros((data.n, m)), np.zeros((data.n, m)), np.zeros(data.n)
        right[members], left[members], stationary[members] = V / root, V * root, shares
        if len(members) < data.n:
            assert isinstance(self._affinities, NearestAffinities)
            outside = np.setdiff1d(np.arange(data.n), members)
            extended = Modes(right[members], values, piece[members], volumes).basis(0.0)
            right[outside] = weighted(self._affinities.outside_rows(data, self._thinned), extended)
        self.sigma_ = self._affinities.bandwidth.sigma
        self.eigenvalues_ = values[0]
        self.right_eigenvectors_, self.left_eigenvectors_, self.stationary_distribution_ = right, left, stationary
        self._modes = Modes(right, values, piece, volumes)

    def _check(self, n: int) -> None:
        least = 1 if isinstance(self.n_components, Significant) else self.n_components
        if least >= n:
            raise ParameterError(
                f"n_components={self.n_components} needs at least {least + 1} samples, but X has n_samples = {n}. "
                f"Lower n_components, or pass more samples."
            )
        if self.metric == "affinity" and (self.sigma != "auto" or self.graph != "dense"):
            raise ParameterError(
                f"With metric='affinity' X holds the affinities, so sigma={self.sigma!r} and graph={self.graph!r} have "
                f"nothing to act on. Leave both at their defaults (sigma='auto', graph='dense')."
            )

    def _spectra(self, walk: Walk) -> list[Spectrum]:
        """Of each piece; the largest has as many vectors as are wanted, smaller ones up to as many as they have."""
        pieces = [walk.part(points) for points in self._affinities.pieces(len(walk.degrees))]
        first = self._spectrum(pieces[0])
        m = len(first.values)
        return [first, *(solve(self._problem(part), min(m, len(part.degrees) - 1)) for part in pieces[1:])]

    def _problem(self, walk: Walk) -> EigenProblem:
        matrix: SparseMatrix | DenseMatrix = (
            SparseMatrix(walk.S, self._threads) if issparse(walk.W) else DenseMatrix(walk.W, self._threads, walk.scale)
        )
        return EigenProblem(matrix, trivial=walk.root[:, None])

    def _spectrum(self, walk: Walk) -> Spectrum:
        problem, most = self._problem(walk), len(walk.degrees) - 1
        if not isinstance(self.n_components, Significant):
            return solve(problem, min(self.n_components, most))
        least, m = 1 - self.n_components.delta, min(FIRST_LOOK, most)
        while True:
            spectrum = solve(problem, m)
            large = np.abs(spectrum.values) ** self.t >= least
            if m == most or not large.all():
                break
            m = min(2 * m, most)
        return spectrum.first(max(1, int(np.argmin(large)) if not large.all() else m))

    def _place(self, data: inputs.Data) -> Floats:
        basis = self._modes.basis(self.t)[self._affinities.members(len(self._modes.piece))]
        rows = self._affinities.new_rows(data.values, self._thinned, self._threads)
        return np.concatenate([_times(P, basis, self._threads) for P in rows])

    def _memory(self, n_samples: int, n_features: int) -> int:
        m = FIRST_LOOK if isinstance(self.n_components, Significant) else self.n_components
        kept = 8 * n_samples * (2 * n_features + 6 * (m + 20) + 100)
        if self.graph == "dense":
            return kept + 4 * n_samples * (n_samples + 3 * rows_in_work(n_samples, self._threads))
        k = self.graph.k if isinstance(self.graph, Nearest) else Nearest().k
        return kept + n_samples * 2 * k * 50

    def _cheaper(self) -> str:
        return "Use graph='nearest', which keeps affinities to the nearest points only, or float32 data."


def _times(P: Any, B: NDArray[np.float64], threads: int) -> Floats:
    return weighted(P, B) if issparse(P) else dense_rows(P, B, threads)


def diffmap(X: Any, sigma: float, t: float, m: int) -> tuple[Floats, NDArray[np.float64]]:
    """(map, eigenvalues): the first m coordinates of the diffusion map of the rows of X at time t.

    Gaussian affinities of width sigma between all points, the density left in (alpha = 0).
    """
    model = DiffusionMap(n_components=m, sigma=sigma, alpha=0.0, t=t)
    return model.fit_transform(X), model.eigenvalues_


def _checked_time(t: Any) -> float:
    """A time that a walk can take."""
    if isinstance(t, bool) or not isinstance(t, int | float | np.integer | np.floating) or not 0 <= t < np.inf:
        raise ParameterError(f"t={t!r} is no time: it must be a number of at least 0, and finite. Use for example t=1.")
    return float(t)
