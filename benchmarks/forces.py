"""The rest of the force family: SNE, symmetric SNE and elastic embedding and their growth, new points, the first
embedding of a process, and where an iteration spends its time."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from sklearn.datasets import load_digits
from sklearn.neighbors import KNeighborsClassifier

import data
import fresh
import lowfold
import measure
from lowfold.backend import native
from measure import Bar, timed

OURS, OPEN = "lowfold", "openTSNE"
TSNE = "lowfold.TSNE"
METHODS = (lowfold.SymmetricSNE, lowfold.SNE, lowfold.ElasticEmbedding)
QUARTER = "a quarter of the rows"
EXACT_ROWS = 5000
TIMES = 3.0  # our t-SNE's time that the others may take


def main() -> None:
    chosen = measure.arguments(__doc__, repeat=1, by_name=True)
    data.require(["mnist50"])
    X = data.load("mnist50", smoke=chosen.smoke)
    works: dict[str, Callable[[], list[dict[str, Any]]]] = {
        "family": lambda: family_rows(X, chosen.repeat),
        "growth": lambda: growth_rows(X),
        "transform": lambda: [transform_row(X, chosen.repeat)],
        "first map": lambda: [] if chosen.smoke else [first_map_row()],
        "parts": lambda: part_rows(X),
    }
    rows: list[dict[str, Any]] = []
    for name, work in works.items():
        for row in work() if measure.wanted(chosen, name) else ():
            rows.append(row)
            measure.save(__file__, rows, smoke=chosen.smoke, keep=chosen.only is not None)


def family_rows(X: Any, repeat: int) -> list[dict[str, Any]]:
    """Time beside our t-SNE's, and the loss on the grid beside the exact engine's on fewer rows."""
    fits = {TSNE: lowfold.TSNE().fit} | {method.__name__: method().fit for method in METHODS}
    contestants = {name: partial(timed, partial(fit, X)) for name, fit in fits.items()}
    entries = measure.alternate(contestants, lambda model: {"iterations": model.n_iter_}, repeat)
    small = X[:EXACT_ROWS]
    rows = []
    for method in METHODS:
        grid, exact = (method(repulsion=name).fit(small).loss_ for name in ("grid", "exact"))
        entry = entries[method.__name__]
        entry["quality"]["excess over the exact engine's loss"] = grid / exact - 1
        bar = Bar(value=TIMES * entries[TSNE]["value"], ceilings={"excess over the exact engine's loss": 0.01})
        work = f"{method.__name__}, mnist50 {len(X):,}, beside t-SNE"
        rows.append(measure.row(work, entry, {TSNE: entries[TSNE]}, bar))
    return rows


def growth_rows(X: Any) -> list[dict[str, Any]]:
    """Milliseconds of an iteration beside those of a quarter of the rows: they grow no faster than n."""
    rows = []
    for method in METHODS:
        whole, quarter = (measure.entry([_iteration(method, rows)]) for rows in (X, X[::4].copy()))
        work = f"one iteration of {method.__name__}, mnist50 {len(X):,}"
        rows.append(measure.row(work, whole, {QUARTER: quarter}, Bar(value=4 * quarter["value"]), unit="ms"))
    return rows


def _iteration(method: Callable[[], Any], X: Any) -> float:
    model = method().fit(X)
    return 1e3 * float(model.report_.seconds["optimisation"]) / int(model.n_iter_)


def transform_row(X: Any, repeat: int) -> dict[str, Any]:
    """New digits into an embedding of six times as many; label accuracy of each by the fitted ones."""
    import openTSNE

    y = data.labels("mnist")[: len(X)]
    cut = len(X) * 6 // 7
    ours = lowfold.TSNE().fit(X[:cut])
    theirs = openTSNE.TSNE(n_jobs=2, random_state=0).fit(X[:cut])
    fitted = {OURS: ours.embedding_, OPEN: np.asarray(theirs)}
    contestants = {
        OURS: partial(timed, lambda: (OURS, ours.transform(X[cut:]))),
        OPEN: partial(timed, lambda: (OPEN, np.asarray(theirs.transform(X[cut:])))),
    }

    def accuracy(result: tuple[str, Any]) -> dict[str, float]:
        name, placed = result
        return {"accuracy": KNeighborsClassifier(10).fit(fitted[name], y[:cut]).score(placed, y[cut:])}

    entries = measure.alternate(contestants, accuracy, max(repeat, 3))
    bar = Bar(faster=10, floors={"accuracy": entries[OPEN]["quality"]["accuracy"]})
    return measure.row(f"transform of {len(X) - cut:,} digits into {cut:,}", entries.pop(OURS), entries, bar)


FIRST = {
    OURS: "import lowfold; lowfold.TSNE().fit(X)",
    OPEN: "import openTSNE; openTSNE.TSNE(n_jobs=2, random_state=0).fit(X)",
}


def first_map_row() -> dict[str, Any]:
    """The digits of scikit-learn, in a new process, imports included."""
    with fresh.stored(load_digits().data) as path:
        entries = {name: measure.entry([_first(code, path) for _ in range(3)]) for name, code in FIRST.items()}
    return measure.row("first embedding of a process, digits (1,797)", entries.pop(OURS), entries, Bar(faster=5))


def _first(code: str, path: str) -> float:
    return fresh.seconds_of("-c", f"import numpy; X = numpy.load({path!r}); {code}")


def part_rows(X: Any) -> list[dict[str, Any]]:
    """Milliseconds of each part of an iteration at the end of a fit, beside a floor.

    Floors: the attraction reads 8 bytes for each entry of P, the other parts the positions and the grid, at the speed
    with which columns of a large array are read here; the convolution does 5 N log2 N operations for each transform at
    the speed of the dense product.
    """
    model = lowfold.TSNE().fit(X)
    descent = model._descent
    problem, Y, threads = descent.problem, descent.Y, descent.problem.threads
    engine, kernels = problem.engine, native.kernels
    forces = problem.forces(Y)  # leaves a kernel of the right size behind
    shape = engine._shape(Y, margin=0.0)
    values = kernels.spread(Y, None, shape, threads)
    convolution = engine._kernel[1]
    still = (4.0, forces.scale, 0.0, 0.0, 5.0)
    work: dict[str, tuple[Callable[[], Any], float]] = {
        "spread": (lambda: kernels.spread(Y, None, shape, threads), Y.nbytes + values.nbytes),
        "convolution": (lambda: convolution.run_inplace(values.copy(), threads), 0.0),
        "gather": (lambda: kernels.gather(values, shape, Y, threads), 2.5 * Y.nbytes + values.nbytes),
        "attraction": (
            lambda: kernels.attraction(problem.P, Y, problem.law.code, threads),
            8.0 * len(problem.P[1]) + 2 * Y.nbytes,
        ),
        "update": (
            lambda: kernels.advance_inplace(
                Y.copy(),
                np.zeros_like(Y),
                None,
                (forces.attraction, forces.repulsion, np.ones(len(Y), np.float32)),
                still,
                threads,
            ),
            8.0 * Y.nbytes,
        ),
    }
    bandwidth, flops = _bandwidth(threads), _flops(threads)
    n = 4.0 * shape[0][0] * shape[0][1]
    rows = []
    for name, (call, read) in work.items():
        floor = 1e3 * (2 * 2.5 * n * np.log2(n) / flops if name == "convolution" else read / bandwidth)
        entry = measure.entry([_milliseconds(call)])
        entry["quality"] = {"floor ms": floor, "share of the floor's speed": floor / entry["value"]}
        rows.append(measure.row(f"one iteration of t-SNE, mnist50 {len(X):,}: {name}", entry, {}, Bar(), unit="ms"))
    return rows


def _milliseconds(call: Callable[[], Any]) -> float:
    call()
    times = []
    for _ in range(20):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return 1e3 * float(np.median(times))


def _bandwidth(threads: int) -> float:
    """Bytes per second that are read from memory."""
    X = np.ones((400_000, 128), np.float32)
    return X.nbytes / (1e-3 * _milliseconds(lambda: native.kernels.column_means(X, threads)))


def _flops(threads: int) -> float:
    """Operations per second of the dense product."""
    X = np.ones((8192, 512), np.float32)
    return 8192 * 512 * 512 / (1e-3 * _milliseconds(lambda: native.kernels.scatter(X, np.zeros(512), threads)))


if __name__ == "__main__":
    main()
