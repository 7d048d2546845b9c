"""The contract of every method, on scikit-learn's own base classes."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, ClassVar, Self, dataclass_transform

import numpy as np
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import Tags

from lowfold import inputs
from lowfold.backend import native, resources, stopping
from lowfold.errors import DataError, MemoryLimitError, ParameterError
from lowfold.fitted import note_parameters, of_fitted
from lowfold.options import documented, parameters, plain_numbers, validate
from lowfold.training import TrainingRows
from lowfold.types import Floats, Report


@dataclass_transform(kw_only_default=True)
class Declaring(BaseEstimator):
    """An estimator whose keyword-only constructor comes from its declared options and only stores them."""

    accepts: ClassVar[frozenset[str]] = frozenset({inputs.ROWS})

    def __init_subclass__(cls, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        dataclasses.dataclass(kw_only=True, eq=False, repr=False)(cls)
        cls._parameter_constraints = {p.name: p.constraints() for p in parameters(cls)}
        documented(cls)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = inputs.SPARSE_ROWS in self.accepts
        tags.input_tags.pairwise = inputs.is_pairwise(self)
        return tags

    def _read(self, X: Any, *, fitting: bool, among: Any = None) -> inputs.Data:
        if not fitting:  # changes nothing, so that other threads may place rows with the same model
            return inputs.read(self, X, self.accepts, fitting=False, among=among)
        with self._as_before_on_failure():  # names and number of the features are noted before the numbers are seen
            note_parameters(self)
            return inputs.read(self, X, self.accepts, fitting=True)

    @contextmanager
    def _fitting(self) -> Iterator[None]:
        """For a fit: what fails inside leaves the estimator as it was, and its parameters are of Python's types."""
        with self._as_before_on_failure(), self._in_plain_numbers():
            yield

    @contextmanager
    def _in_plain_numbers(self) -> Iterator[None]:
        plain = plain_numbers(self)
        given = {name: self.__dict__[name] for name in plain}
        self.__dict__.update(plain)
        try:
            yield
        finally:
            self.__dict__.update(given)

    @contextmanager
    def _as_before_on_failure(self) -> Iterator[None]:
        """What fails inside leaves the estimator as it was: fitted to what it was fitted to, or not at all.

        A fit that Ctrl-C ended may have kept what it reached. It writes `report_` last: with a new report the model is
        wholly the new one, and stays.
        """
        before = dict(self.__dict__)
        try:
            yield
        except BaseException:
            if self.__dict__.get("report_") is before.get("report_"):
                self.__dict__.clear()
                self.__dict__.update(before)
            raise


class Estimator(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Declaring):
    """A method: `fit` learns `embedding_`, `transform` places each new row by itself, `report_` says what was done.

    A method is a subclass with options and three functions: `_fit` returns the embedding, `_place` the embedding of
    new data row by row, `_memory` the bytes that a fit needs. If it `remembers`, training rows are found by their
    values and `_place` sees only others; a method whose `_place` gives them the same bits anyway need not.
    """

    remembers: ClassVar[bool] = True
    supervised: ClassVar[bool] = False  # whether y, where it is given, changes the embedding

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learns the embedding of X and returns the estimator. Methods without labels ignore y, as pipelines expect.

        A fit that fails leaves the model as it was before.
        """
        with self._fitting():
            self._learn(X, y)
        return self

    def fit_transform(self, X: Any, y: Any = None) -> Floats:
        """Learns and returns the embedding of X, of shape (n_samples, n_components); y as in `fit`."""
        with self._fitting():
            self._learn(X, y)
        return self.embedding_.copy()

    @of_fitted
    def transform(self, X: Any) -> Floats:
        """Returns the embedding of each row of X by itself; a training row gets its own coordinates."""
        data = self._read(X, fitting=False, among=self.embedding_.dtype)
        return self._place(data) if self._training is None else self._recall(data, self._training)

    def estimate(self, n_samples: int, n_features: int, n_stored: int | None = None) -> int:
        """Returns about how many bytes a fit to float64 data of shape (n_samples, n_features) needs beside the data.

        n_stored: the numbers that sparse data hold, as in estimate(*X.shape, X.nnz).
        """
        validate(self)
        with self._in_plain_numbers():
            return self._estimate(n_samples, n_features, n_stored)

    def _estimate(self, n_samples: int, n_features: int, n_stored: int | None) -> int:
        given = (n_samples, n_features) if n_stored is None else (n_samples, n_features, n_stored)
        whole = all(isinstance(number, int | np.integer) for number in given)
        if not whole or min(n_samples, n_features) < 1 or min(given) < 0:
            stored = "" if n_stored is None else f" and n_stored={n_stored!r}"
            raise ParameterError(
                f"estimate was given n_samples={n_samples!r} and n_features={n_features!r}{stored}; these must be "
                f"whole numbers of at least 1. Pass the shape of the data, as in estimate(*X.shape"
                f"{').' if n_stored is None else ', X.nnz).'}"
            )
        if n_stored is None:
            return int(self._memory(int(n_samples), int(n_features)))
        each = -(-3 * n_stored // (2 * n_samples))  # half as much again for where they stand
        return int(self._memory_of_sparse(int(n_samples), int(n_features), max(1, min(int(each), int(n_features)))))

    def _learn(self, X: Any, y: Any) -> None:
        validate(self)
        data = self._read(X, fitting=True)
        if self.supervised and y is not None:
            data = dataclasses.replace(data, target=y)
        memory = self._needed(data)
        check_memory(memory, getattr(self, "memory_limit", None), f"{type(self).__name__} on {data.n} samples", self)
        watch = Stopwatch()
        findings: dict[str, Any] = {}
        self._training: TrainingRows | None = TrainingRows(data.values, self._threads) if self.remembers else None
        with resources.limited_memory(getattr(self, "memory_limit", None)):
            embedding = self._fit(data, watch, findings)
        with np.errstate(over="ignore"):  # seen next
            self.embedding_ = embedding.astype(data.values.dtype, copy=False)
        self._check_embedding()
        self.report_ = Report(watch.seconds, self._threads, native.kernels.simd, memory, findings)

    def _check_embedding(self, given: str = "") -> None:
        """Raises ParameterError where numbers have left their range on the way from finite data.

        given: what was, beside the parameters.
        """
        off = ~np.isfinite(self.embedding_).all(axis=1)
        if not off.any():
            return
        defaults = {parameter.name: parameter.default for parameter in parameters(type(self))}
        own = [f"{name}={getattr(self, name)!r}" for name in defaults if getattr(self, name) is not defaults[name]]
        own += [given] if given else []
        raise ParameterError(
            f"{type(self).__name__} gave coordinates that are not finite for {int(off.sum())} of {len(off)} points, "
            f"though the data are: some number on the way to them has left the range of {self.embedding_.dtype}. "
            f"Bring what is set so far nearer to its default ({', '.join(own) or 'nothing is'}), or scale X."
        )

    def _recall(self, data: inputs.Data, training: TrainingRows) -> Floats:
        """Stored coordinates for training rows; the others are placed."""
        _check_kind(data, training)
        values = training.alike(data.values)
        known = training.find(values, self._threads)
        placed = np.empty((data.n, self._n_features_out), data.values.dtype)
        placed[known >= 0] = self.embedding_[known[known >= 0]]
        new = np.flatnonzero(known < 0)
        if len(new):
            placed[new] = self._place(_stored_as(training, inputs.Data(data.kind, data.values[new])))
        return placed

    @property
    def _threads(self) -> int:
        return resources.thread_count(getattr(self, "n_jobs", None))

    @property
    def _n_features_out(self) -> int:
        return int(self.embedding_.shape[1])

    def _fit(self, data: inputs.Data, watch: Stopwatch, findings: dict[str, Any]) -> Floats:
        raise NotImplementedError

    def _place(self, data: inputs.Data) -> Floats:
        raise NotImplementedError

    def _memory(self, n_samples: int, n_features: int) -> int:
        raise NotImplementedError

    def _memory_of_sparse(self, n_samples: int, n_features: int, stored: int) -> int:
        """Of sparse data, of which a row takes as much as `stored` numbers."""
        return self._memory(n_samples, stored)

    def _needed(self, data: inputs.Data) -> int:
        """About how many bytes a fit to these data needs."""
        stored = data.values.nnz if issparse(data.values) else None
        return self.estimate(data.n, data.values.shape[1], stored)

    def _steps_before(self, n_samples: int) -> int:
        """The most steps that an optimisation takes before those of its schedule."""
        return 0

    def _cheaper(self) -> str:
        """What to do if there is not enough memory."""
        return "Fit fewer samples, or place the rest with transform."

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


# Told the name of each stage of a fit as it begins, and how much of a long piece of work is done; a progress bar
# listens here.
stage_listener: ContextVar[Callable[[str], Any] | None] = ContextVar("lowfold_stage_listener", default=None)
share_listener: ContextVar[Callable[[float], Any] | None] = ContextVar("lowfold_share_listener", default=None)


def _check_kind(new: inputs.Data, training: TrainingRows) -> None:
    """What a sparse matrix leaves out are no distances of 0: a graph cannot stand for distances, or they for it."""
    if new.kind in (inputs.DISTANCES, inputs.GRAPH) and issparse(new.values) != issparse(training.values):
        fitted, remedy = inputs.DISTANCES, "an array of the distances to every training point"
        if issparse(training.values):
            fitted, remedy = inputs.GRAPH, "a sparse matrix, as the transformer that made the graph gives it"
        raise DataError(f"X is {new.kind}, but the model was fitted to {fitted}. Pass {remedy}.")


def _stored_as(training: TrainingRows, new: inputs.Data) -> inputs.Data:
    """New rows as the training rows are stored: methods measure between rows of one kind."""
    if new.kind not in (inputs.ROWS, inputs.SPARSE_ROWS):
        return new
    values = training.stored_alike(new.values)
    return inputs.Data(inputs.SPARSE_ROWS if issparse(values) else inputs.ROWS, values)


def tell_stage(name: str) -> None:
    """Says to who listens that a stage begins."""
    listener = stage_listener.get()
    if listener is not None:
        listener(name)


def tell_share(done: float, whole: float) -> None:
    """Says to who listens how much of the work is done: of a file that is read, of rows that are placed."""
    listener = share_listener.get()
    if listener is not None and whole > 0:
        listener(min(1.0, done / whole))


class Stopwatch:
    """Seconds spent in named stages."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Adds the time spent inside to the stage; a fit that was asked to stop ends before it."""
        stopping.check()
        tell_stage(name)
        start = time.perf_counter()
        try:
            yield
        finally:
            self.seconds[name] = self.seconds.get(name, 0.0) + time.perf_counter() - start


def check_memory(needed: int, limit: float | None, work: str, estimator: Estimator) -> None:
    """Raises MemoryLimitError if the work needs more bytes than it may use (None: than there are)."""
    allowed = resources.available_memory() if limit is None else limit
    if allowed is not None and needed > allowed:
        source = "available" if limit is None else "allowed by memory_limit"
        raise MemoryLimitError(
            f"{work} needs about {needed / 1e9:.3g} GB, but {allowed / 1e9:.3g} GB are {source}. {estimator._cheaper()}"
        )
