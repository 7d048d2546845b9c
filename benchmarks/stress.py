"""How fast is majorisation of the stress beside scikit-learn's, from the same start in as many iterations, at which
stress; how does it grow with n, in how much memory; and what do landmarks cost?

Stress is computed from the embedding by NumPy in float64: sum (d - delta)^2 / sum delta^2, for non-metric scaling
Kruskal's stress-1 by scikit-learn's isotonic regression.
"""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from scipy.spatial.distance import cdist
from sklearn.isotonic import IsotonicRegression

import data
import fresh
import lowfold
import measure
from measure import Bar, timed

OURS, SKLEARN = "lowfold", "scikit-learn"
ITERATIONS = 300
ALLOWANCE_MB = 300
LANDMARKS = 1000


def main() -> None:
    """All rows."""
    chosen = measure.arguments(__doc__, by_name=True)
    data.require(["mnist50"])
    X = data.load("mnist50", smoke=chosen.smoke)
    warnings.simplefilter("ignore")  # a fixed number of iterations is the point here
    small, large = (300, 600) if chosen.smoke else (2000, 10_000)
    works: dict[str, Callable[[], dict[str, Any]]] = {
        "metric": lambda: metric_row(X[:small], chosen.repeat),
        "defaults": lambda: metric_row(X[:small], chosen.repeat, converge=True),
        "growth": lambda: growth_row(X[:large], chosen.repeat),
        "ordinal": lambda: nonmetric_row(X[: small // 2], chosen.repeat),
        "Sammon": lambda: sammon_row(X[:small], chosen.repeat),
        "landmarks": lambda: landmarks_row(X, chosen.smoke),
    }
    rows: list[dict[str, Any]] = []
    for name, work in works.items():
        if measure.wanted(chosen, name):
            rows.append(work())
            measure.save(__file__, rows, smoke=chosen.smoke, keep=chosen.only is not None)


def metric_row(X: Any, repeat: int, *, converge: bool = False) -> dict[str, Any]:
    """Metric MDS from the first two columns: a fixed number of iterations, or each with its own defaults."""
    start = X[:, :2].astype(np.float64)
    D = cdist(X, X)
    ours = lowfold.MDS(init=start) if converge else lowfold.MDS(init=start, solver=_fixed())
    contestants = {
        OURS: partial(timed, lambda: ours.fit(X).embedding_),
        SKLEARN: partial(timed, lambda: _smacof(D, start, converge=converge)),
    }
    entries = measure.alternate(contestants, lambda Y: {"stress": lowfold.stresses(D, Y).normalized}, repeat)
    bar = Bar(faster=10, ceilings={"stress": entries[SKLEARN]["quality"]["stress"]})
    what = "own defaults" if converge else f"{ITERATIONS} iterations"
    return measure.row(f"metric MDS, mnist50 {len(X):,}, {what}", entries.pop(OURS), entries, bar)


def _fixed() -> lowfold.Majorisation:
    return lowfold.Majorisation(max_iter=ITERATIONS, tolerance=0.0)


def _smacof(D: Any, start: Any, *, metric: bool = True, converge: bool = False) -> Any:
    from sklearn.manifold import smacof

    eps = 1e-6 if converge else 0.0
    return smacof(D, metric=metric, n_components=2, init=start, n_init=1, max_iter=ITERATIONS, eps=eps)[0]


def growth_row(X: Any, repeat: int) -> dict[str, Any]:
    """Twice as many points take four times as long, and half a float32 matrix of memory."""
    half = np.ascontiguousarray(X[: len(X) // 2])
    fits = {OURS: X, f"{OURS}, half as many": half}
    contestants = {name: partial(timed, partial(_fit, rows)) for name, rows in fits.items()}
    entries = measure.alternate(contestants, lambda _: {}, min(repeat, 2))
    with fresh.stored(X) as path:
        used = fresh.in_new_process_json(__file__, "--memory", path)["megabytes"]
    ours, other = entries.values()
    ours["quality"] = {"memory MB": used}
    most = len(X) ** 2 * 4 / 2 / 1e6 + ALLOWANCE_MB
    bar = Bar(value=2 * 4 * other["value"], ceilings={"memory MB": most})
    work = f"metric MDS, mnist50 {len(X):,}, {ITERATIONS} iterations, beside half as many points"
    return measure.row(work, ours, {f"{OURS}, half as many": other}, bar)


def _fit(X: Any) -> Any:
    return lowfold.MDS(solver=_fixed()).fit(X)


def nonmetric_row(X: Any, repeat: int) -> dict[str, Any]:
    """Non-metric MDS from the first two columns, each to its own end."""
    start = X[:, :2].astype(np.float64)
    D = cdist(X, X)
    ours = lowfold.MDS(scaling="nonmetric", init=start, solver=lowfold.Majorisation(max_iter=ITERATIONS, tolerance=0.0))
    contestants = {
        OURS: partial(timed, lambda: ours.fit(X).embedding_),
        SKLEARN: partial(timed, lambda: _smacof(D, start, metric=False)),
    }
    entries = measure.alternate(contestants, lambda Y: {"stress-1": kruskal(D, Y)}, repeat)
    bar = Bar(faster=5, ceilings={"stress-1": entries[SKLEARN]["quality"]["stress-1"]})
    work = f"non-metric MDS, mnist50 {len(X):,}, {ITERATIONS} iterations"
    return measure.row(work, entries.pop(OURS), entries, bar)


def kruskal(D: Any, Y: Any) -> float:
    """Stress-1 against the isotonic regression of the distances."""
    pairs = np.triu_indices(len(D), 1)
    d = cdist(Y, Y)[pairs]
    fitted = IsotonicRegression().fit_transform(D[pairs], d)
    return float(np.sqrt(np.square(d - fitted).sum() / np.square(d).sum()))


def sammon_row(X: Any, repeat: int) -> dict[str, Any]:
    """Milliseconds per iteration of Sammon's mapping beside those of metric MDS."""
    names = {OURS: lowfold.Sammon, "lowfold.MDS": lowfold.MDS}

    def run(method: Any) -> measure.Timed:
        whole = timed(lambda: method(init=X[:, :2].astype(np.float64), solver=_fixed()).fit(X))
        return measure.Timed(1e3 * whole.seconds / whole.result.n_iter_, whole.result)

    contestants = {name: partial(run, method) for name, method in names.items()}
    entries = measure.alternate(contestants, lambda model: {"stress": model.normalized_stress_}, max(repeat, 3))
    bar = Bar(value=1.5 * entries["lowfold.MDS"]["value"])
    return measure.row(f"an iteration of Sammon, mnist50 {len(X):,}", entries.pop(OURS), entries, bar, unit="ms")


def landmarks_row(X: Any, smoke: bool) -> dict[str, Any]:
    """MDS of all points through landmarks: time, memory, sampled stress."""
    run = timed(lambda: lowfold.MDS(landmarks=100 if smoke else LANDMARKS).fit(X))
    model = run.result
    with fresh.stored(X) as path:
        used = fresh.in_new_process_json(__file__, "--landmarks", path)["megabytes"]
    entry = measure.entry([run.seconds], [{"stress": model.normalized_stress_, "its error": model.stress_error_}])
    entry["quality"]["memory MB"] = used
    return measure.row(f"MDS with {LANDMARKS:,} landmarks, mnist50 {len(X):,}", entry, {}, Bar())


def memory_of(path: str, *, landmarks: bool) -> float:
    """Megabytes at the peak of a fit in this process, data included, above what was there before."""
    warnings.simplefilter("ignore")
    lowfold.MDS().fit(np.load(path, mmap_mode="r")[:200])
    before = fresh.peak()
    X = np.load(path)
    lowfold.MDS(landmarks=min(LANDMARKS, len(X) // 2)).fit(X) if landmarks else _fit_briefly(X)
    return (fresh.peak() - before) / 1e6


def _fit_briefly(X: Any) -> None:
    """Memory does not grow with the iterations."""
    lowfold.MDS(solver=lowfold.Majorisation(max_iter=5, tolerance=0.0)).fit(X)


if __name__ == "__main__":
    if sys.argv[1:2] in (["--memory"], ["--landmarks"]):
        print(json.dumps({"megabytes": memory_of(sys.argv[2], landmarks=sys.argv[1] == "--landmarks")}))
    else:
        main()
