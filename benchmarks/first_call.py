"""How long does a user wait for the first neighbours in a new process, with import and compilation?"""

from __future__ import annotations

import tempfile
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import data
import fresh
import measure
from judge import NeighborJudge
from measure import Bar, Timed
from searchers import CELLS, NN_DESCENT

K = 15
BAR = Bar(faster=20, floors={"recall": 0.99})


def main() -> None:
    chosen = measure.arguments(__doc__)
    X = data.load("mnist50", smoke=chosen.smoke)
    judge = NeighborJudge(X, K)
    with fresh.stored(X) as path:
        contestants = {name: partial(_run, name, path) for name in (CELLS, NN_DESCENT)}
        entries = measure.alternate(contestants, partial(_quality, judge), chosen.repeat)
    title = f"first call with import: kNN k={K}, mnist50 ({len(X):,} × {X.shape[1]})"
    measure.save(__file__, [measure.row(title, entries.pop(CELLS), entries, BAR)], smoke=chosen.smoke)


def _run(name: str, path: str) -> Timed:
    """The seconds of import and search in a new process, loading the data left out, and what it found.

    numba gets an empty folder for its cache, as on a user's first day.
    """
    with tempfile.TemporaryDirectory() as folder:
        indices = Path(folder) / "indices.npy"
        task = {"searcher": name, "X": path, "k": K, "metric": "euclidean", "setting": {}, "indices": str(indices)}
        measured = fresh.run(task, {"NUMBA_CACHE_DIR": str(Path(folder) / "numba")})
        return Timed(measured["import"] + measured["search"], (np.load(indices), measured))


def _quality(judge: NeighborJudge, result: tuple[Any, dict[str, Any]]) -> dict[str, float]:
    indices, measured = result
    return {
        "recall": judge.recall(indices),
        "seconds of import": measured["import"],
        "seconds of the whole process": measured["process"],
    }


if __name__ == "__main__":
    main()
