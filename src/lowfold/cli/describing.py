"""`lowfold info`, `lowfold methods` and `lowfold demo`."""

from __future__ import annotations

from argparse import Namespace
from importlib.metadata import version
from typing import Any

import numpy as np
from scipy.sparse import issparse

from lowfold import files
from lowfold.backend import native, resources
from lowfold.cli.estimates import seconds_for
from lowfold.cli.progress import Progress
from lowfold.errors import LowfoldError
from lowfold.methods import METHODS
from lowfold.metrics import intrinsic_dimension
from lowfold.options import parameters

LONG = 3600.0  # seconds


def info(chosen: Namespace) -> int:
    """Prints what this installation runs on; of a file its shape and scale, and what each method would need."""
    print(f"lowfold {version('lowfold')}, kernels: {native.kernels.simd}, cores: {resources.thread_count(None)}")
    free = resources.available_memory()
    if free is not None:
        print(f"memory: {free / 1e9:.1f} GB available")
    if chosen.data is None:
        return 0
    table = files.read(chosen.data, labels=chosen.labels, name=chosen.name)
    X = table.X
    _describe(X, table)
    with Progress(quiet=chosen.quiet).running("trying each method on a few rows"):
        rows = [(name, *_needs(name, X)) for name in METHODS]
    print(f"{'method':<22}{'seconds':>10}{'MB':>10}")
    for name, seconds, memory in rows:
        shown = "-" if seconds is None else f"{seconds:.1f}" if seconds < LONG else f"{seconds:.0f}"
        room = "" if free is None or memory is None or memory < free else "  more than there is"
        print(f"{name:<22}{shown:>10}{'-' if memory is None else format(memory / 1e6, '.0f'):>10}{room}")
    print("seconds are estimated from fits to a few hundred rows")
    return 0


def _describe(X: Any, table: files.Table) -> None:
    n, d = X.shape
    kind = f"sparse, {X.nnz / (n * d):.1%} filled, " if issparse(X) else ""
    print(f"{n} rows, {d} columns ({kind}{X.dtype})")
    if table.labels is not None:
        values, counts = np.unique(table.labels, return_counts=True)
        print(f"labels: {len(values)} different, the smallest group has {counts.min()}")
    dense = X.data if issparse(X) else X
    bad = int(np.size(dense) - np.isfinite(dense.astype(np.float64)).sum())
    if bad:
        print(f"{bad} values are missing or infinite: fill them, or leave their rows out")
        return
    if not issparse(X):
        _scales(X.astype(np.float64), table.columns)
    try:
        for method in ("two_nn", "mle"):
            print(f"intrinsic dimension ({method}): {intrinsic_dimension(X, method):.1f}")
    except (LowfoldError, ValueError) as error:
        print(f"intrinsic dimension: not known ({error})")


def _scales(X: Any, columns: list[str] | None) -> None:
    spread = X.std(axis=0)
    names = columns or [f"column{i + 1}" for i in range(X.shape[1])]
    largest, smallest = int(np.argmax(spread)), int(np.argmin(np.where(spread > 0, spread, np.inf)))
    constant = int((spread == 0).sum())
    print(f"standard deviations: {names[smallest]} {spread[smallest]:.3g} to {names[largest]} {spread[largest]:.3g}")
    if constant:
        print(f"{constant} columns are constant")
    varying = spread[spread > 0]
    if len(varying) and varying.max() > 100 * varying.min() and columns is not None:
        print("columns differ more than a hundredfold in scale: the largest will decide; divide each by its own first")
    equal = len(X) - len(np.unique(X, axis=0)) if X.size <= 10_000_000 else 0
    if equal:
        print(f"{equal} rows are copies of others")


def _needs(name: str, X: Any) -> tuple[float | None, float | None]:
    model = METHODS[name]()
    try:
        memory = float(model.estimate(*X.shape))
        return seconds_for(model, X), memory
    except (LowfoldError, ValueError):
        return None, None


def methods(chosen: Namespace) -> int:
    """Prints what each method is for, or one with all its parameters, from their declarations."""
    for name, method in METHODS.items():
        if chosen.method not in (None, name):
            continue
        family = method.__module__.split(".")[1]
        print(f"{name}: {(method.__doc__ or '').splitlines()[0]} ({family} family)")
        for parameter in parameters(method):
            flag = parameter.name.replace("_", "-")
            print(f"  --{flag} = {parameter.default!r}  the {parameter.option.help}")
    return 0


def demo(chosen: Namespace) -> int:
    """Writes the demo's pictures and its index.html."""
    from lowfold.demo import run

    page = run(chosen.output, only=chosen.only)
    print(f"{page}: open it in a browser")
    return 0
