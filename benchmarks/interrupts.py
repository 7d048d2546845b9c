"""How long after Ctrl-C does a person have control again, whenever it comes during a fit, a search or a transform?

Each work runs in a process of its own, once undisturbed and then again for each of several moments spread evenly over
the time that took, at which it is interrupted. Counted is the longest wait until its call has returned or raised.
Run as a script with "interrupted" and the name of a work, this file is that process.
"""

from __future__ import annotations

import signal
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

from scipy.sparse import csr_array

import data
import lowfold
import measure
from measure import Bar

BAR = Bar(value=1.0)
MOMENTS = 8
IN_CHILD = "interrupted"
MNIST, REDUCED, FLOW = "mnist", "mnist50", "flow_1m"

# Others by their defaults.
MODELS = {
    "DiffusionMap of nearest points": lambda: lowfold.DiffusionMap(graph="nearest", sigma="local"),
    "ClassicalMDS of Manhattan distances": lambda: lowfold.ClassicalMDS(metric="manhattan"),
}

# The method, the data and how many rows of them: as large as a person would still wait for.
FITS = (
    ("PCA", MNIST, 70_000),
    ("KernelPCA", REDUCED, 12_000),
    ("ClassicalMDS of Manhattan distances", REDUCED, 12_000),
    ("Isomap", REDUCED, 20_000),
    ("LLE", REDUCED, 20_000),
    ("ModifiedLLE", REDUCED, 10_000),
    ("HessianLLE", REDUCED, 10_000),
    ("LTSA", REDUCED, 20_000),
    ("LaplacianEigenmaps", FLOW, 1_000_000),
    ("DiffusionMap", REDUCED, 12_000),
    ("DiffusionMap of nearest points", FLOW, 1_000_000),
    ("MDS", REDUCED, 10_000),
    ("Sammon", REDUCED, 10_000),
    ("SNE", REDUCED, 70_000),
    ("SymmetricSNE", REDUCED, 70_000),
    ("TSNE", REDUCED, 70_000),
    ("TSNE", FLOW, 1_000_000),
    ("ElasticEmbedding", REDUCED, 70_000),
    ("UMAP", REDUCED, 70_000),
    ("UMAP", FLOW, 1_000_000),
)
GRAPH = FLOW, 1_000_000
SEARCHES = (("exact", REDUCED, 70_000), ("cells", FLOW, 1_000_000), ("cells", MNIST, 70_000))
# By scikit-learn, but the first: exactly, whatever the number of rows.
METRICS = ("mahalanobis", "braycurtis", "canberra", "sparse cosine")


def main() -> None:
    chosen = measure.arguments(__doc__, repeat=MOMENTS, by_name=True)
    data.require([MNIST, FLOW])
    rows: list[dict[str, Any]] = []
    for name in works(smoke=chosen.smoke):
        if measure.wanted(chosen, name):
            rows.append(interrupted(name, chosen.repeat, smoke=chosen.smoke))
            measure.save(__file__, rows, smoke=chosen.smoke, keep=chosen.only is not None)


def works(*, smoke: bool) -> dict[str, Callable[[], Callable[[], Any]]]:
    """What prepares each work: it returns the call that is interrupted."""
    named: dict[str, Callable[[], Callable[[], Any]]] = {}
    for method, source, rows in FITS:
        named[f"Ctrl-C: {method}, {source} {rows:,}"] = partial(_fit, method, source, rows, smoke)
    for method in (cls.__name__ for cls in lowfold.METHODS.values()):
        named[f"Ctrl-C: transform of 60,000 rows by {method}, {REDUCED}"] = partial(_transform, method, smoke)
    source, rows = GRAPH
    named[f"Ctrl-C: fit_transform of NeighborGraph, {source} {rows:,}"] = partial(_graph, source, rows, smoke)
    for engine, source, rows in SEARCHES:
        named[f"Ctrl-C: neighbours ({engine}), {source} {rows:,}"] = partial(_search, engine, source, rows, smoke)
    for metric in METRICS:
        named[f"Ctrl-C: neighbours ({metric}), {REDUCED} 5,000"] = partial(_measured, metric, smoke)
    return named


def interrupted(name: str, moments: int, *, smoke: bool) -> dict[str, Any]:
    """The row of a work: every wait, the longest as its value, beside the seconds of the undisturbed work."""
    command = [sys.executable, __file__, IN_CHILD, name, *(["--smoke"] if smoke else [])]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        whole = float(_line_of(process))
        waits = []
        for moment in range(moments):
            print("again", file=process.stdin, flush=True)
            _line_of(process)  # it begins
            time.sleep(whole * (moment + 0.5) / moments)
            sent = time.monotonic()
            process.send_signal(signal.SIGINT)
            waits.append(float(_line_of(process)) - sent)
        process.communicate()
    entry = {"value": max(waits), "runs": waits, "quality": {"seconds of the whole": whole}}
    return measure.row(name, entry, {}, BAR)


def _line_of(process: subprocess.Popen[str]) -> str:
    line = process.stdout.readline() if process.stdout else ""
    if not line:
        sys.exit("the process that is interrupted has ended")
    return line


def serve(name: str, *, smoke: bool) -> None:
    """The process that is interrupted: tells when it begins and, on the clock of the system, when it has control."""
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell may have started us with it ignored
    warnings.simplefilter("ignore")  # what was not finished says so
    work = works(smoke=smoke)[name]()
    work()  # what is imported late
    print(measure.timed(work).seconds, flush=True)
    for _ in sys.stdin:
        try:
            print("begins", flush=True)
            while True:
                work()
        except KeyboardInterrupt:
            print(time.monotonic(), flush=True)


def _fit(method: str, source: str, rows: int, smoke: bool) -> Callable[[], Any]:
    model = MODELS.get(method) or getattr(lowfold, method)
    return partial(model().fit, _rows(source, rows, smoke))


def _transform(method: str, smoke: bool) -> Callable[[], Any]:
    X = _rows(REDUCED, 70_000, smoke)
    fitted = len(X) // 7
    return partial(getattr(lowfold, method)().fit(X[:fitted]).transform, X[fitted:])


def _graph(source: str, rows: int, smoke: bool) -> Callable[[], Any]:
    return partial(lowfold.NeighborGraph().fit_transform, _rows(source, rows, smoke))


def _search(engine: str, source: str, rows: int, smoke: bool) -> Callable[[], Any]:
    X = _rows(source, rows, smoke)
    return lambda: lowfold.build_index(X, search=engine).query(None, 15)


def _measured(metric: str, smoke: bool) -> Callable[[], Any]:
    X, name = _rows(REDUCED, 5_000, smoke), metric.split()[-1]
    index = lowfold.build_index(X if name == metric else csr_array(X), metric=name)
    return partial(index.query, None, 15)


def _rows(source: str, rows: int, smoke: bool) -> Any:
    return data.load(source, smoke=smoke)[:rows]


if __name__ == "__main__":
    if sys.argv[1:2] == [IN_CHILD]:
        serve(sys.argv[2], smoke="--smoke" in sys.argv)
    else:
        main()
