"""What the force methods share: affinities, a problem, the loop, and new points among frozen ones."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from typing import Any, ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from lowfold import inputs
from lowfold.affinity.perplexity import WIDTH, scales
from lowfold.backend import native
from lowfold.errors import ConvergenceWarning, DataError, ParameterError, warn
from lowfold.estimator import Stopwatch
from lowfold.force.affinities import affinities_of
from lowfold.force.descend import Course, Descent
from lowfold.force.law import GAUSSIAN, Law
from lowfold.force.problem import GLOBAL, NONE, ForceProblem
from lowfold.force.repulsion import (
    GRID_DIMENSIONS,
    Engine,
    Grid,
    Tree,
    engine_of,
    grid_memory,
    repulsion_option,
    warn_of_coarse,
)
from lowfold.force.schedule import Annealed, Classical, Phase, schedule_of, schedule_option
from lowfold.force.start import init_option, start_of
from lowfold.force.watched import Watched
from lowfold.neighbors.engines import Exact
from lowfold.neighbors.interface import SEEDED, Settings, metric_option
from lowfold.options import (
    check_whole,
    memory_limit_option,
    n_jobs_option,
    option,
    random_state_option,
    refuse_ignored,
    seed_of,
)
from lowfold.spectral.eigen import factor_memory
from lowfold.types import Floats, Step

LOWEST_PACE = 1 / 16  # of the steps: so short, they must have torn the embedding before they were found too long
MOST_PROMISE = 1e-3  # of the loss, by one more step: an optimisation at rest promises less than a hundredth of that


class ForceMethod(Watched):
    """Points that attract each other by their affinities in the data, and repel each other in the embedding."""

    accepts: ClassVar[frozenset[str]] = frozenset(inputs.NEIGHBOR_KINDS) | {inputs.AFFINITY}
    _optimiser: ClassVar[str] = "_descent"
    normalisation: ClassVar[str] = GLOBAL
    default_init: ClassVar[str] = "pca"  # of rows, for init="auto"

    n_components: int = option(2, low=1, help="number of coordinates of the embedding")
    perplexity: float | tuple[float, ...] | list[float] = option(
        30.0, low=1, help="effective number of neighbours; of several the mean of their affinities is taken"
    )
    schedule: str | Annealed | Classical = schedule_option()
    init: str | np.ndarray = init_option()
    repulsion: str | Exact | Grid | Tree = repulsion_option()
    metric: str | Callable[..., float] = metric_option()
    n_jobs: int | None = n_jobs_option()
    random_state: int | np.random.RandomState | np.random.Generator | None = random_state_option(
        "a random start, and of " + SEEDED
    )
    memory_limit: float | None = memory_limit_option()

    @property
    def _law(self) -> Law:
        return GAUSSIAN

    def resume(self, max_iter: int | None = None) -> ForceMethod:
        """Goes on from where the optimisation stopped, for up to max_iter iterations (None: as the schedule says)."""
        check_is_fitted(self)
        count = None if max_iter is None else check_whole(max_iter, "max_iter", 0)
        last = [phase for phase in self._phases() if phase.name == "descent"][-1]
        phase = last if count is None else dataclasses.replace(last, iterations=count, tolerance=None)
        self._resume(lambda: self._optimise([phase]))
        return self

    def _fit(self, data: inputs.Data, watch: Stopwatch, findings: dict[str, Any]) -> Floats:
        self._prepare(data, watch, findings)
        with watch.stage("optimisation"), self._kept_when_interrupted(data, watch, findings):
            self._drain(self._optimise(self._phases()))
        with self._kept_when_interrupted(data, watch, findings), watch.stage("finish"):
            return self._finished(findings)

    def _prepare(self, data: inputs.Data, watch: Stopwatch, findings: dict[str, Any]) -> None:
        self._check(data)
        settings = Settings(metric=self.metric, n_jobs=self.n_jobs, random_state=self.random_state)
        with watch.stage("affinities"):
            as_they_are = self.normalisation == NONE
            self._affinities = affinities_of(data, self.perplexity, settings, self._threads, as_they_are=as_they_are)
            total = 1.0 if self.normalisation == GLOBAL else float(data.n)
            P = self._affinities.entries(total, self._threads)
            constant = self._constant(total)
            self._affinities.forget()
        findings.update(self._affinities.findings())
        schedule = schedule_of(self.schedule)
        with watch.stage("start"):
            shape = self.n_components, schedule.start_size, seed_of(self.random_state)
            Y = start_of(self._init(data), data, (P, self._affinities.order), shape, self.n_jobs)
        masses = self._masses(data)
        problem = ForceProblem(
            P,
            self._law,
            self._engine(),
            self._threads,
            self.normalisation,
            self._strength(),
            constant,
            None if masses is None else masses[self._affinities.order],
        )
        self._descent = Descent(problem, Y)
        self._equal = None if self._training is None else self._training.find(data.values, self._threads)

    def _constant(self, total: float) -> float:
        """What makes the loss a Kullback-Leibler divergence: sum p log p; an energy has none."""
        if self.normalisation == NONE:
            return 0.0
        return self._affinities.information(total, joint=self.normalisation == GLOBAL)

    def _strength(self) -> float:
        return 1.0

    def _engine(self) -> Engine:
        shape = len(self._affinities.order), self.n_components
        return engine_of(self.repulsion, self._law, shape, self._threads)

    def _masses(self, data: inputs.Data) -> Floats | None:
        return None

    def _init(self, data: inputs.Data) -> Any:
        if not isinstance(self.init, str) or self.init != "auto":
            return self.init
        return self.default_init if data.kind in (inputs.ROWS, inputs.SPARSE_ROWS) else "spectral"

    def _phases(self) -> list[Phase]:
        total = 1.0 if self.normalisation == GLOBAL else self._descent.problem.n * self._affinities.degree
        return schedule_of(self.schedule).phases(self._descent.problem.n, total)

    def _optimise(self, phases: list[Phase], along: Course | None = None) -> Iterator[Step]:
        """Runs the phases, a Step after each iteration."""
        descent = self._descent
        for phase in descent.run(phases, along):
            looked = bool(descent.history) and descent.history[-1][0] == descent.iteration - 1
            yield Step(
                descent.iteration,
                phase.name,
                descent.Y.copy(),
                self._affinities.order,
                descent.loss if looked else None,
                descent.gradient_norm if looked else None,
            )

    def _callback(self) -> Callable[[Step], Any] | None:
        return schedule_of(self.schedule).callback

    def _return_to_best(self) -> None:
        self._descent.cut_short = True

    def _finished(self, findings: dict[str, Any]) -> Floats:
        """The embedding in the order of the data; what the optimisation says about itself is stored."""
        descent = self._descent
        descent.settle()
        self.loss_ = descent.loss
        self.gradient_norm_ = descent.gradient_norm
        self.n_iter_ = descent.iteration
        self.history_ = np.array(descent.history)
        findings.update(descent.problem.engine.findings())
        findings.update(
            loss=self.loss_,
            iterations=self.n_iter_,
            converged=descent.converged,
            gradient=self.gradient_norm_,
            pace=descent.pace,
        )
        self._warn(descent)
        warn_of_coarse(descent.problem.engine)
        Y = np.empty_like(descent.Y)
        Y[self._affinities.order] = descent.Y
        if self._equal is not None:
            Y = Y[self._equal]  # equal rows lie in one place
        charges = None
        if descent.problem.charges is not None:
            charges = np.empty(len(Y), np.float32)
            charges[self._affinities.order] = descent.problem.charges
        self._frozen = Y, charges
        self._field = descent.problem.engine.frozen(Y, charges)
        return Y

    def _warn(self, descent: Descent) -> None:
        if descent.diverged:
            warn(
                f"The optimisation diverged after {descent.iteration} iterations; the best embedding before that is "
                f"returned, with a loss of {self.loss_:.3g}. Lower the learning rate of the schedule "
                f"({schedule_of(self.schedule)!r}).",
                ConvergenceWarning,
            )
        elif descent.pace <= LOWEST_PACE:
            warn(
                f"The steps were too long and had to be divided by {1 / descent.pace:g} on the way. The loss then fell "
                f"to {self.loss_:.4g}, but groups that the first steps tore may lie apart. Divide the learning rate of "
                f"the schedule ({schedule_of(self.schedule)!r}) by as much.",
                ConvergenceWarning,
            )
        elif descent.unfinished:
            warn(
                f"The loss still fell after {descent.iteration} iterations, to {self.loss_:.4g}: the largest number of "
                f"iterations was reached. Raise max_iter of the schedule, or go on with resume().",
                ConvergenceWarning,
            )
        elif self._restless(descent):
            warn(
                f"The points had not come to rest after {descent.iteration} iterations: one step of a safe length "
                f"would still lower the loss of {self.loss_:.4g} by {descent.promise:.2%}. Lower the learning rate of "
                f"the schedule ({schedule_of(self.schedule)!r}), or raise its max_iter.",
                ConvergenceWarning,
            )

    def _restless(self, descent: Descent) -> bool:
        """Whether a schedule of fixed length, at a rate that is the user's own, ended while the points still swung."""
        fixed = isinstance(schedule_of(self.schedule), Classical)
        return fixed and not descent.converged and descent.promise is not None and descent.promise > MOST_PROMISE

    def _place(self, data: inputs.Data) -> Floats:
        neighbors, P = self._affinities.new(data.values, self._threads)
        # The neighbours that count most say where to begin: the mean of all may lie between two groups.
        weights = np.square(P) / np.square(P).sum(axis=1, keepdims=True)
        start = np.einsum("ij,ijd->id", weights, self._frozen[0][neighbors]).astype(np.float32)
        problem = self._descent.problem
        strength = problem.strength if self.normalisation == NONE else 0.0
        return native.kernels.placed(
            (start, neighbors, P), self._frozen, self._law.code, strength, self._field, self._threads
        )

    def _learn(self, X: Any, y: Any) -> None:
        shape = getattr(X, "shape", None)
        single = isinstance(shape, tuple) and len(shape) == 2 and shape[0] == 1
        if single:  # before the parameters: no perplexity is right for a single point
            raise DataError("n_samples = 1: a single point has no neighbours. Pass at least 2 samples.")
        super()._learn(X, y)

    def _check(self, data: inputs.Data) -> None:
        if self.metric == "affinity":
            refuse_ignored(self, ("perplexity",), "With metric='affinity' X holds the affinities")
        if self.n_components >= data.n > 1:
            raise ParameterError(
                f"n_components={self.n_components} needs more samples than that, but X has n_samples = {data.n}. "
                f"Lower n_components to {data.n - 1} or less."
            )
        on_grid = isinstance(self.repulsion, Grid) or self.repulsion == "grid"
        if on_grid and self.n_components > GRID_DIMENSIONS:
            raise ParameterError(
                f"n_components={self.n_components} with repulsion={self.repulsion!r}: a grid has at most "
                f"{GRID_DIMENSIONS} dimensions. Use repulsion='tree', 'exact' or 'auto'."
            )
        if isinstance(self.init, str) and self.init == "pca" and self.metric in ("precomputed", "affinity"):
            raise ParameterError(
                f"init='pca' needs rows of numbers, but metric={self.metric!r}. Use init='spectral' or 'random'."
            )

    def _memory(self, n_samples: int, n_features: int) -> int:
        k = min(WIDTH * max(scales(self.perplexity)), n_samples)
        # Neighbours, distances and P; both directions of each while they are merged; the entries that come of it.
        affinities = (16 + 16 + 16) * k
        rows = int(n_samples * (8 * n_features + affinities + 40 * self.n_components + 100))
        init = self.default_init if isinstance(self.init, str) and self.init == "auto" else self.init
        spectral = isinstance(init, str) and init == "spectral"
        return (
            rows
            + grid_memory(self.repulsion, self.n_components)
            + (factor_memory(n_samples, int(k)) if spectral else 0)
        )

    def _cheaper(self) -> str:
        finer = isinstance(self.repulsion, Grid) and grid_memory(self.repulsion, 2) > grid_memory("grid", 2)
        grid = "Use a larger spacing of the grid. " if finer else ""
        return f"{grid}Lower perplexity, or fit fewer samples and place the rest with transform."


class DivergenceMethod(ForceMethod):
    """A force method whose loss is a Kullback-Leibler divergence."""

    @property
    def kl_divergence_(self) -> float:
        """The divergence that was reached; of SNE the sum over points."""
        return self.loss_
