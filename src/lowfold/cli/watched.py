"""What every command does while somebody watches: reading, fitting, placing."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import issparse

from lowfold import files
from lowfold.cli.planning import plan_for, worth_planning
from lowfold.cli.progress import Progress
from lowfold.errors import DataError
from lowfold.estimator import Estimator, tell_share
from lowfold.files import reading
from lowfold.files.delimited import is_counted
from lowfold.model_file import load
from lowfold.tables import check_columns
from lowfold.watching import with_callback

PIECES, SMALLEST_PIECE = 25, 500  # in which rows are placed, so that their share can be told


class Interrupted(KeyboardInterrupt):
    """Ctrl-C, after an optimisation had begun: the model has the best embedding so far."""

    def __init__(self, model: Estimator) -> None:
        super().__init__()
        self.model = model


def read_table(chosen: Namespace, progress: Progress, *, missing: bool = False) -> files.Table:
    """The data of a command; missing: some of them may be, as distances that are not known are."""
    with progress.running(f"reading {Path(chosen.data).name}"):
        table = files.read(chosen.data, labels=chosen.labels, name=chosen.name)
    if not missing and not is_finite(table.X):
        bad = np.argwhere(~np.isfinite(table.X.data[:, None] if issparse(table.X) else table.X))
        column = table.columns[bad[0, 1]] if table.columns else bad[0, 1] + 1
        where = "" if issparse(table.X) else f", the first in row {bad[0, 0] + 1}, column {column} of the data"
        count = "a value that is" if len(bad) == 1 else f"{len(bad)} values that are"
        raise DataError(f"{chosen.data} holds {count} missing or infinite{where}. Fill them, or leave the rows out.")
    return table


def read_map(path: str, progress: Progress) -> Any:
    """Coordinates in a file; a column called label, as embed writes it, is left out."""
    with progress.running(f"reading {Path(path).name}"):
        return reading.read_map(path)


def read_model(path: str, progress: Progress) -> Any:
    """A fitted model in a file."""
    with progress.running(f"reading {Path(path).name}"):
        return load(path)


def is_finite(X: Any) -> bool:
    """Whether no value is missing or infinite."""
    return bool(np.isfinite(X.data if issparse(X) else X).all())


def fit(model: Estimator, X: Any, progress: Progress) -> Estimator:
    """Fits the model; its steps and stages are shown."""
    name = type(model).__name__
    watched, total = with_callback(model, progress.step, X.shape[0])
    plan = {}
    if progress.shown and worth_planning(X):
        with progress.running(f"{name} on a few rows, to tell the time"):
            plan = plan_for(model, X, progress.part)
    with progress.running(name, total, plan):
        try:
            watched.fit(X)
        except KeyboardInterrupt:
            if hasattr(watched, "embedding_"):
                raise Interrupted(watched) from None
            raise
        finally:
            for name, value in model.get_params(deep=False).items():
                setattr(watched, name, value)  # without the callback, which is ours
    return watched


def note_columns(model: Estimator, table: files.Table) -> None:
    """Keeps the names of the columns in a fitted model, as a fit to a table does."""
    names = table.columns or []
    if len(names) == model.n_features_in_ and not is_counted(names):
        model.feature_names_in_ = np.array(names, dtype=object)


def check_same_columns(model: Estimator, table: files.Table, path: str) -> None:
    """Refuses a table with other columns than those the model was fitted to, where both have names."""
    known = model.__dict__.pop("feature_names_in_", None)  # looked at here: the rows come without them
    if table.columns is not None and not is_counted(table.columns):
        try:
            check_columns(table.columns, known, "the fit")
        except DataError as error:
            raise DataError(f"{path}: {error}") from None


def placed(model: Estimator, X: Any, progress: Progress) -> Any:
    """The rows of X in the model's map: in pieces, where somebody watches; each row is placed by itself anyway."""
    n = X.shape[0]
    piece = max(SMALLEST_PIECE, -(-n // PIECES)) if progress.shown else max(1, n)
    parts = []
    with progress.running("placing"):
        for begin in range(0, n, piece):
            parts.append(model.transform(X[begin : begin + piece]))
            tell_share(begin + piece, n)
    return np.concatenate(parts)
