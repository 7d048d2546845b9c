"""How fast is UMAP beside umap-learn: warm, seeded, in its first call, at a million rows, on new points?"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from sklearn.neighbors import KNeighborsClassifier

import data
import fresh
import lowfold
import measure
from lowfold.backend import native
from measure import Bar, timed

OURS, WARM, SEEDED, FIRST = "lowfold", "umap-learn", "umap-learn, seeded", "umap-learn, first call"
DIGITS = "from sklearn.datasets import load_digits; X = load_digits()['data'].astype('float32'); "
OURS_DIGITS = DIGITS + "from lowfold import UMAP; UMAP().fit(X)"
PEER_DIGITS = DIGITS + "from umap import UMAP; UMAP().fit(X)"


COMPILING = 6000  # rows for which umap-learn compiles all that it needs for more: below 4,096 it searches otherwise
PARTS = ("mnist", "transform", "fresh", "epochs", "million")


def main() -> None:
    chosen = _arguments()
    data.require(["mnist50", "flow_1m"])
    kept = {} if chosen.smoke else _kept()
    for part in chosen.parts or PARTS:
        if part == "million" and chosen.smoke:
            continue
        kept[part] = rows_of(part, smoke=chosen.smoke, repeat=chosen.repeat)
        rows = [row | {"part": each} for each in (*(p for p in PARTS if p != part), part) for row in kept.get(each, [])]
        measure.save(__file__, rows, smoke=chosen.smoke)


def rows_of(part: str, *, smoke: bool, repeat: int) -> list[dict[str, Any]]:
    """The rows of one part."""
    if part == "million":
        return million_rows()
    if part == "fresh":
        return [fresh_row(repeat)]
    X = data.load("mnist50", smoke=smoke)
    if part == "mnist":
        return mnist_rows(X, repeat)
    if part == "transform":
        return [transform_row(X, repeat)]
    return [epoch_row(X, "mnist50"), epoch_row(data.load("flow_1m", smoke=smoke), "flow_1m")]


def mnist_rows(X: Any, repeat: int) -> list[dict[str, Any]]:
    """Warm and parallel, seeded, and the first call of a process."""
    y = data.labels("mnist")[: len(X)]
    first = measure.entry([fresh.in_new_process(__file__, "--first", str(len(X)))])
    for options in ({}, {"random_state": 0}):
        theirs(X[:COMPILING], **options)
    contestants = {
        OURS: partial(timed, partial(ours, X)),
        WARM: partial(timed, partial(theirs, X)),
        SEEDED: partial(timed, partial(theirs, X, random_state=0)),
    }
    entries = measure.alternate(contestants, partial(_accuracy, y), repeat)
    mine = entries.pop(OURS)
    bar = Bar(faster_than={WARM: 8, SEEDED: 12, FIRST: 20})
    return [measure.row(f"UMAP, mnist50 {len(X):,}", mine, entries | {FIRST: first}, bar, eligible=[WARM])]


def transform_row(X: Any, repeat: int) -> dict[str, Any]:
    """New digits into an embedding of six times as many; label accuracy of each by the fitted ones."""
    y, cut = data.labels("mnist")[: len(X)], len(X) * 6 // 7
    mine, peer = lowfold.UMAP().fit(X[:cut]), _peer().fit(X[:cut])
    fitted = {OURS: mine.embedding_, WARM: np.asarray(peer.embedding_)}
    peer.transform(X[cut : cut + 50])  # compiles
    contestants = {
        OURS: partial(timed, lambda: (OURS, mine.transform(X[cut:]))),
        WARM: partial(timed, lambda: (WARM, np.asarray(peer.transform(X[cut:])))),
    }

    def accuracy(result: tuple[str, Any]) -> dict[str, float]:
        name, placed = result
        return {"accuracy": float(KNeighborsClassifier(10).fit(fitted[name], y[:cut]).score(placed, y[cut:]))}

    entries = measure.alternate(contestants, accuracy, repeat)
    one = min(timed(partial(mine.transform, X[-1:])).seconds for _ in range(5))
    entries[OURS]["quality"]["ms for one point"] = 1e3 * one
    bar = Bar(faster=3, floors={"accuracy": entries[WARM]["quality"]["accuracy"]})
    work = f"UMAP's transform of {len(X) - cut:,} digits into {cut:,}"
    return measure.row(work, entries.pop(OURS), entries, bar)


def fresh_row(repeat: int) -> dict[str, Any]:
    """The whole of a process that makes an embedding of the digits: import, fit, end."""
    entries = {
        name: measure.entry([fresh.seconds_of("-W", "ignore", "-c", code) for _ in range(repeat)])
        for name, code in ((OURS, OURS_DIGITS), (WARM, PEER_DIGITS))
    }
    return measure.row("UMAP, digits in a new process", entries.pop(OURS), entries, Bar(faster=10))


def epoch_row(X: Any, name: str) -> dict[str, Any]:
    """An epoch: nanoseconds of all threads together for an edge that fires, and the part that negatives take."""
    model = lowfold.UMAP(schedule=lowfold.Epochs(n_epochs=20)).fit(X)
    layout, threads = model._layout, model._threads
    edges = native.kernels.firing_edges(model._graph.entries, layout._largest, 200, 0, threads)
    fired = float((edges[2].astype(np.float64) / 2**32).sum())
    forces = (*model._curve, 1.0)

    def epochs(negatives: int) -> float:
        start = time.perf_counter()
        for t in range(20):
            how = 7 * t + 3, 0.1, negatives, t
            native.kernels.layout_epoch(edges, layout.Y, layout._order, forces, how, threads)
        return (time.perf_counter() - start) / 20

    whole, without = (min(epochs(count) for _ in range(3)) for count in (5, 0))
    entry = measure.entry([1e3 * whole])
    entry["quality"] = {"ns per edge": 1e9 * threads * whole / fired, "part of negatives": 1 - without / whole}
    return measure.row(f"an epoch of UMAP, {name} {len(X):,} ({fired:,.0f} edges fire)", entry, {}, Bar(), unit="ms")


def million_rows() -> list[dict[str, Any]]:
    """A million rows, each contestant in a process of its own: seconds and peak memory."""
    mine = fresh.in_new_process_json(__file__, "--million")
    peer = fresh.in_new_process_json(__file__, "--peer-million")
    entries = [measure.entry([each["seconds"]]) for each in (mine, peer)]
    entries[0]["quality"] = mine["stages"]
    peaks = [measure.entry([each["peak"] / 1e6]) for each in (mine, peer)]
    work = f"UMAP, flow_1m ({mine['n']:,} × 13)"
    return [
        measure.row(work, entries[0], {WARM: entries[1]}, Bar(faster=10)),
        measure.row(f"memory: {work}", peaks[0], {WARM: peaks[1]}, Bar(faster=3), unit="MB"),
    ]


def ours(X: Any) -> Any:
    """Our embedding, seeded as always."""
    return lowfold.UMAP().fit_transform(X)


def theirs(X: Any, **options: Any) -> Any:
    """umap-learn's."""
    return _peer(**options).fit_transform(X)


def _peer(**options: Any) -> Any:
    import umap

    warnings.simplefilter("ignore")
    return umap.UMAP(**options)


def _accuracy(y: Any, Y: Any) -> dict[str, float]:
    return {"accuracy": float(KNeighborsClassifier(10).fit(Y, y).score(Y[:10_000], y[:10_000]))}


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", help=f"what to measure: {', '.join(PARTS)}; rows of the others are kept")
    parser.add_argument("--smoke", action="store_true", help="tiny sizes, one repetition: only shows that it runs")
    parser.add_argument("--repeat", type=int, default=3, help="runs of each contestant; the median counts")
    chosen = parser.parse_args()
    if set(chosen.parts) - set(PARTS):
        parser.error(f"choose parts from {', '.join(PARTS)}")
    if chosen.smoke:
        chosen.repeat = 1
    return chosen


def _kept() -> dict[str, list[dict[str, Any]]]:
    """The rows of an earlier run, by part."""
    path = measure.RESULTS / "umap_speed.json"
    rows = json.loads(path.read_text(encoding="utf-8"))["rows"] if path.is_file() else []
    return {part: [row for row in rows if row["part"] == part] for part in PARTS}


def _first(rows: int) -> None:
    X = data.load("mnist50")[:rows]
    print(timed(partial(theirs, X)).seconds)


def _million(fit: Callable[[Any], Any]) -> None:
    X = data.load("flow_1m")
    run = timed(partial(fit, X))
    stages = dict(run.result.report_.seconds) if hasattr(run.result, "report_") else {}
    print(json.dumps({"n": len(X), "seconds": run.seconds, "stages": stages, "peak": fresh.peak()}))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("--first", type=int)
    for flag in ("--million", "--peer-million"):
        parser.add_argument(flag, action="store_true")
    known, _ = parser.parse_known_args()
    if known.first:
        _first(known.first)
    elif known.million:
        _million(lowfold.UMAP().fit)
    elif known.peer_million:
        theirs(data.load("flow_1m")[:COMPILING])
        _million(_peer().fit)
    else:
        main()
