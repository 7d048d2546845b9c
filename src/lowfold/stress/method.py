"""What the stress methods share: pairs, a problem, starts, the loop, and new points among fitted ones."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from lowfold import inputs
from lowfold.backend import native
from lowfold.backend.stopping import Stopped
from lowfold.errors import ConvergenceWarning, ParameterError, warn
from lowfold.estimator import Estimator, Stopwatch
from lowfold.fitted import of_fitted
from lowfold.neighbors.interface import metric_option
from lowfold.options import check_whole, memory_limit_option, n_jobs_option, option, random_state_option, seed_of
from lowfold.spectral.landmarks import chosen_landmarks, landmarks_option
from lowfold.stress.majorise import GradientDescent, Majorisation, Optimisation, solver_of, solver_option
from lowfold.stress.measures import Sampler, Shepard, Stresses, of_sums
from lowfold.stress.pairs import Pairs, is_measured, pairs_of
from lowfold.stress.place import Measure, Placing
from lowfold.stress.problem import GIVEN, UNIT, Problem, Weighting
from lowfold.stress.relocate import tried_elsewhere
from lowfold.stress.start import (
    RANDOM,
    Starts,
    classical_start,
    euclidean_rows,
    in_reach,
    init_option,
    random_start,
    starts_of,
)
from lowfold.stress.starts import Runs
from lowfold.training import TrainingRows
from lowfold.types import Floats, Report


class StressMethod(Estimator):
    """Points whose distances match dissimilarities as well as they can."""

    accepts: ClassVar[frozenset[str]] = frozenset({inputs.ROWS, inputs.SPARSE_ROWS, inputs.DISTANCES, inputs.PARTIAL})

    n_components: int = option(2, low=1, help="number of coordinates of the embedding")
    init: str | np.ndarray | Starts = init_option()
    solver: str | Majorisation | GradientDescent = solver_option()
    landmarks: int | None = landmarks_option()
    metric: str | Callable[..., float] = metric_option()
    n_jobs: int | None = n_jobs_option()
    random_state: int | np.random.RandomState | np.random.Generator | None = random_state_option(
        "random starts, the landmarks and samples of pairs"
    )
    memory_limit: float | None = memory_limit_option()

    @of_fitted
    def shepard(self, max_pairs: int = 100_000) -> Shepard:
        """The pairs of a Shepard diagram: all of them, or max_pairs drawn by lot."""
        return self._sampler().diagram(self.embedding_, check_whole(max_pairs, "max_pairs", 1), self._seed)

    def _weighting(self, pairs: Pairs) -> Weighting:
        raise NotImplementedError

    def _problem(self, pairs: Pairs, weighting: Weighting) -> Problem:
        raise NotImplementedError

    def _target(self, best: Optimisation, findings: dict[str, Any]) -> Callable[[Any], Any] | None:
        """What becomes of dissimilarities before they are matched by an embedding; None: nothing."""
        return None

    def _pair_weights(self, first: Any, second: Any, deltas: Any) -> Any:
        """Of pairs of training points, for samples."""
        raise NotImplementedError

    def _weights_of_others(self) -> Floats | None:
        """Of all points beside the landmarks, if weights are given."""
        return None

    def _fit(self, data: inputs.Data, watch: Stopwatch, findings: dict[str, Any]) -> Floats:
        self._check(data)
        self._seed = seed_of(self.random_state)
        self.landmarks_ = chosen_landmarks(data.n, self.landmarks, self.n_components, self._seed)
        with watch.stage("dissimilarities"):
            pairs = pairs_of(data, self.metric, self.landmarks_, self._threads)
            weighting = self._weighting(pairs)
            problem = self._problem(pairs, weighting)
        with watch.stage("start"):
            starts = self._starts(data, pairs, problem)
            runs = Runs(problem, starts, solver_of(self.solver), self._together(data))
        try:
            with watch.stage("optimisation"):
                runs.drain(self._threads)
            self._warn(runs.best)
            with watch.stage("finish"):
                findings["starts"] = [run.stress * weighting.unit for run in runs.all]
                return self._finished(data, pairs, runs.best, findings)
        except KeyboardInterrupt as interrupt:
            # With landmarks there is no embedding before all others are placed, longer than Ctrl-C should have to wait;
            # who stops a fit from another thread does not wait for it.
            waited_for = not isinstance(interrupt, Stopped)
            if not runs.all or (waited_for and self.landmarks_ is not None):  # or the first start is not even there
                raise
            runs.best.hurried = waited_for
            self.embedding_ = self._finished(data, pairs, runs.best, findings).astype(data.values.dtype)
            memory = self._needed(data)
            self.report_ = Report(watch.seconds, self._threads, native.kernels.simd, memory, findings)
            raise

    def _starts(self, data: inputs.Data, pairs: Pairs, problem: Problem) -> list[Callable[[], Any]]:
        """Functions that give each start."""
        count, first = starts_of(self.init, data.n, self.n_components)
        n, d = pairs.n, self.n_components
        degrees = float(problem.degrees.sum()) / 2
        size = float(np.sqrt(problem.total / degrees)) if degrees > 0 else 0.0

        def start(number: int) -> NDArray[np.float64]:
            if problem.total == 0:
                return np.zeros((n, d))  # every point equals every other
            if number > 0 or (isinstance(first, str) and first == RANDOM):
                return random_start(n, d, size, (self._seed, number))
            if isinstance(first, str):
                rows = euclidean_rows(data, self.metric, self.landmarks_, pairs.scale)
                return classical_start(pairs, rows, d, size, self._threads)
            chosen = first if self.landmarks_ is None else first[self.landmarks_]
            return in_reach(chosen / pairs.scale, size)

        return [partial(start, number) for number in range(count)]

    def _together(self, data: inputs.Data) -> NDArray[np.intp] | None:
        """The first point that each is equal to; None if all differ."""
        values = data.values if self.landmarks_ is None else data.values[self.landmarks_]
        rows = self._training if self.landmarks_ is None else TrainingRows(values, self._threads)
        equal = None if rows is None else rows.find(values, self._threads)
        return None if equal is None or (equal == np.arange(len(equal))).all() else equal

    def _finished(self, data: inputs.Data, pairs: Pairs, best: Optimisation, findings: dict[str, Any]) -> Floats:
        """The embedding of all points; what the optimisation says about itself is stored."""
        problem, unit, at = best.problem, best.problem.weighting.unit, best.evaluation
        Y = (best.Y.astype(np.float64) * at.scale).astype(pairs.dtype)
        self.n_iter_ = best.iteration
        self.history_ = np.array(best.history) * [1.0, unit]
        self.converged_ = best.converged
        target = self._target(best, findings)
        measure = Measure(data, self.metric, self.landmarks_)
        law = problem.weighting.law
        if law[0] == GIVEN:
            law = (UNIT, 1.0)
            findings["weights of new points"] = "1 each: the given weights are of pairs of training points"
        self._placing = Placing(measure, Y, law, pairs.scale, target)
        self._measured = data.values, measure
        degrees = np.maximum(problem.degrees, np.finfo(np.float64).tiny)
        self.residuals_ = pairs.scale * np.sqrt(at.residuals / degrees)
        embedding = pairs.scale * Y.astype(np.float64)
        found = self._named(at.stress, problem.total, at.size, unit)
        if self.landmarks_ is not None:
            embedding, self.residuals_ = self._with_others(data, embedding, self.residuals_)
            found = self._sampler().stresses(embedding.astype(data.values.dtype), self._seed)
        self._say(found)
        findings.update(
            {
                "stress": found.normalized,
                "stress error": found.error,
                "raw stress": found.raw,
                "stress-1": found.kruskal,
            }
        )
        findings.update(
            iterations=self.n_iter_, converged=self.converged_, relocations=best.relocated, lifts=best.lifted
        )
        return embedding

    def _named(self, stress: float, total: float, size: float, unit: float) -> Stresses:
        return of_sums(stress * unit, total * unit, size * unit)

    def _say(self, found: Stresses) -> None:
        self.raw_stress_, self.normalized_stress_, self.stress_1_ = found.raw, found.normalized, found.kruskal
        self.stress_error_ = found.error

    def _sampler(self) -> Sampler:
        return Sampler(*self._measured, self._in_data_units, self._pair_weights)

    def _in_data_units(self, deltas: Any) -> Any:
        """The targets of dissimilarities in the data's units."""
        placing = self._placing
        if placing.target is None:
            return deltas
        return placing.scale * placing.target(np.asarray(deltas, np.float64) / placing.scale)

    def _with_others(self, data: inputs.Data, Y: Any, residuals: Any) -> tuple[Any, Any]:
        """All points placed among the landmarks, which stay where they are; equal points lie in one place."""
        weights = self._weights_of_others()
        placing = self._placing if weights is None else dataclasses.replace(self._placing, law=(GIVEN, 1.0))
        everything, left = placing.place(data.values, self._threads, weights)
        landmarks = np.asarray(self.landmarks_)
        everything[landmarks], left[landmarks] = Y, residuals
        if self._training is not None:
            equal = self._training.find(data.values, self._threads)
            chief = np.arange(data.n)
            chief[equal[landmarks]] = landmarks
            everything, left = everything[chief[equal]], left[chief[equal]]
        return everything, left

    def _place(self, data: inputs.Data) -> Floats:
        return self._placing.place(data.values, self._threads)[0].astype(data.values.dtype)

    def _warn(self, best: Optimisation) -> None:
        if not best.converged and not best.stopped and best.iteration and best.iteration >= best.solver.max_iter:
            warn(
                f"The stress still fell after {best.iteration} iterations, to {best.stress:.4g}: the largest number of "
                f"iterations was reached. Raise max_iter of the solver, or go on with init=model.embedding_.",
                ConvergenceWarning,
            )

    def _check(self, data: inputs.Data) -> None:
        if self.n_components > data.n:
            raise ParameterError(
                f"n_components={self.n_components} needs as many samples, but X has n_samples = {data.n}. "
                f"Lower n_components to {data.n} or less."
            )

    def _memory(self, n_samples: int, n_features: int) -> int:
        m = self.landmarks or n_samples
        measured = self.metric in ("euclidean", "l2") and is_measured(m, n_features, self._threads)
        # Half of the matrix, and in the start of what is not Euclidean rows its squares.
        halves = 0 if measured else 1 if self.metric in ("euclidean", "l2") else 2
        sums = 64 * (self.n_components + 2) * 8 * m  # in the dimension more of a lift
        solver = solver_of(self.solver)
        moved = tried_elsewhere(m) if isinstance(solver, Majorisation) and solver.relocations else 0
        pairs = 4 * halves * m * m + 24 * moved * m
        return pairs + sums + 8 * n_samples * (2 * n_features + 6 * self.n_components + 40)

    def _cheaper(self) -> str:
        return "Use landmarks=1000, or float32 data."
