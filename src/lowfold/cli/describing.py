"""`lowfold info`, `lowfold methods` and `lowfold demo`."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator
from importlib.metadata import version
from typing import Any

import numpy as np
from scipy.sparse import issparse

from lowfold import files
from lowfold.backend import native, resources
from lowfold.cli.estimates import TRIALS, Needs, Told, needs_of_all
from lowfold.cli.flags import help_of
from lowfold.cli.planning import search_seconds, seconds_for, worth_planning
from lowfold.cli.progress import Progress
from lowfold.cli.watched import is_finite, read_table
from lowfold.errors import LowfoldError
from lowfold.estimator import tell_stage
from lowfold.explorer.scene import SEARCHING, Contents
from lowfold.methods import METHODS
from lowfold.metrics import intrinsic_dimension
from lowfold.neighbors.sharing import shared_neighbors
from lowfold.options import parameters

LONG = 3600.0  # seconds
NEIGHBORS = 20  # whose distances tell the intrinsic dimension
SCALES, COPIES = "scales of the columns", "rows that are copies"
MOST_COMPARED = 10_000_000  # values of rows that are looked at for copies


def info(chosen: Namespace) -> int:
    """Prints what this installation runs on; of a file its shape and scale, and what each method would need."""
    print(f"lowfold {version('lowfold')}, kernels: {native.kernels.simd}, cores: {resources.thread_count(None)}")
    free = resources.available_memory()
    if free is not None:
        print(f"memory: {free / 1e9:.1f} GB available")
    if chosen.data is None:
        return 0
    progress = Progress(quiet=chosen.quiet)
    table = read_table(chosen, progress, missing=True)
    X = table.X
    plan = {}
    if progress.shown and worth_planning(X) and is_finite(X):
        with progress.running("looking at a few rows, to tell the time"):
            plan = _plan(X, progress.part)
    with progress.running("looking at the data", plan=plan):
        lines = list(_description(X, table))
    print("\n".join(lines))
    if not is_finite(X):
        return 0
    with progress.running("trying each method on a few rows"):
        needs = needs_of_all(METHODS, X, progress.part)
    print(f"{'method':<22}{'seconds':>10}{'MB':>10}")
    for name, need in needs.items():
        print(f"{name:<22}{_row(need, free)}")
    print("With default parameters, beside the data themselves.", _how_sure(X.shape[0]))
    return 0


def _plan(X: Any, callback: Told) -> dict[str, float]:
    """Seconds of each stage of a description."""
    dense = {} if issparse(X) else {SCALES: seconds_for(_spread, X)}
    if not issparse(X) and X.size <= MOST_COMPARED:
        dense[COPIES] = seconds_for(_copies, X)
    return dense | {SEARCHING: search_seconds(X, Contents(k=NEIGHBORS), callback)}


def _how_sure(n: int) -> str:
    if n <= TRIALS[-1]:
        return "Seconds as these data took just now; a second time may differ by half."
    sizes = " and ".join(map(str, TRIALS))
    return f"Continued from fits to {sizes} of the rows: right within a factor of three, seldom worse."


def _row(need: Needs | None, free: int | None) -> str:
    if need is None:
        return f"{'-':>10}{'-':>10}  not with its defaults"
    shown = f"{need.seconds:.1f}" if need.seconds < LONG else f"{need.seconds:.0f}"
    room = "" if free is None or need.memory < free else "  more than there is"
    return f"{shown:>10}{need.memory / 1e6:>10.0f}{room}"


def _description(X: Any, table: files.Table) -> Iterator[str]:
    n, d = X.shape
    kind = f"sparse, {X.nnz / (n * d):.1%} filled, " if issparse(X) else ""
    yield f"{n} rows, {d} columns ({kind}{X.dtype})"
    if table.names is not None:
        yield f"rows have names: {table.names[0]}, ..."
    if table.labels is not None:
        values, counts = np.unique(table.labels, return_counts=True)
        yield f"labels: {len(values)} different, the smallest group has {counts.min()}"
    if not is_finite(X):
        bad = (~np.isfinite(X.data if issparse(X) else X)).sum()
        yield f"{bad} values are missing or infinite: fill them, or leave their rows out; no method can be tried"
        return
    if not issparse(X):
        tell_stage(SCALES)
        yield from _scales(X, table.columns)
        tell_stage(COPIES)
        equal = _copies(X) if X.size <= MOST_COMPARED else 0
        if equal:
            yield f"{equal} rows are copies of others" if equal > 1 else "1 row is a copy of another"
    tell_stage(SEARCHING)
    with shared_neighbors():  # the second finds what it needs among the neighbours of the first
        likely, nearest = _dimension(X, "mle"), _dimension(X, "two_nn")
    yield from (nearest, likely)


def _dimension(X: Any, method: str) -> str:
    try:
        return f"intrinsic dimension ({method}): {intrinsic_dimension(X, method, k=NEIGHBORS):.1f}"
    except (LowfoldError, ValueError) as error:
        return f"intrinsic dimension ({method}): not known ({error})"


def _spread(X: Any) -> Any:
    return X.std(axis=0, dtype=np.float64)


def _copies(X: Any) -> int:
    """How many rows are equal to one before them."""
    return len(X) - len(np.unique(X, axis=0))


def _scales(X: Any, columns: list[str] | None) -> Iterator[str]:
    spread = _spread(X)
    names = columns or [f"column{i + 1}" for i in range(X.shape[1])]
    largest, smallest = int(np.argmax(spread)), int(np.argmin(np.where(spread > 0, spread, np.inf)))
    constant = int((spread == 0).sum())
    yield f"standard deviations: {names[smallest]} {spread[smallest]:.3g} to {names[largest]} {spread[largest]:.3g}"
    if constant:
        yield f"{constant} columns are constant" if constant > 1 else "1 column is constant"
    varying = spread[spread > 0]
    if len(varying) and varying.max() > 100 * varying.min() and columns is not None:
        yield "columns differ more than a hundredfold in scale: the largest will decide; divide each by its own first"


def methods(chosen: Namespace) -> int:
    """Prints what each method is for, or one with all its parameters, from their declarations."""
    for name, method in METHODS.items():
        if chosen.method not in (None, name):
            continue
        family = method.__module__.split(".")[1]
        print(f"{name}: {(method.__doc__ or '').splitlines()[0]} ({family} family)")
        for parameter in parameters(method):
            flag = parameter.name.replace("_", "-")
            print(f"  --{flag} = {parameter.default!r}  the {help_of(parameter)}")
    return 0


def demo(chosen: Namespace) -> int:
    """Writes the demo's pictures and its index.html."""
    from lowfold.demo import planned, run

    progress = Progress(quiet=chosen.quiet)
    chosen.written.append(f"the pictures drawn so far in {chosen.output}")
    plan = planned(chosen.only)
    with progress.running("demo", plan=plan):
        page = run(chosen.output, only=chosen.only, callback=progress.part)
    if not chosen.quiet:
        for title in plan:
            print(title)
        print(f"{page}: open it in a browser")
    return 0
