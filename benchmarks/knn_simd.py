"""How fast is each instruction set? LOWFOLD_SIMD is read when the library loads: every run is a process of its own."""

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
from lowfold.backend import native
from measure import Bar, Timed
from searchers import CELLS, EXACT

K = 15
LEVELS = ("baseline", "avx2", "avx512")


def main() -> None:
    chosen = measure.arguments(__doc__)
    X = data.load("mnist50", smoke=chosen.smoke)
    judge = NeighborJudge(X, K)
    rows: list[dict[str, Any]] = []
    with fresh.stored(X) as path:
        for searcher in (CELLS, EXACT):
            rows += compared(searcher, path, judge, chosen.repeat)
            measure.save(__file__, rows, smoke=chosen.smoke)


def compared(searcher: str, path: str, judge: NeighborJudge, repeat: int) -> list[dict[str, Any]]:
    """A row for each instruction set that this machine has."""
    levels = [level for level in LEVELS if level in native.kernels.supported_simd()]
    contestants = {level: partial(_run, searcher, path, level) for level in levels}
    entries = measure.alternate(contestants, partial(_quality, judge), repeat)
    best = min(entry["value"] for entry in entries.values())
    for entry in entries.values():
        entry["quality"]["times the best set"] = entry["value"] / best
    return [measure.row(f"{searcher}, k={K}, mnist50, {level}", entries[level], {}, Bar()) for level in levels]


def _run(searcher: str, path: str, level: str) -> Timed:
    """The neighbours found in a new process with this instruction set, after a small call, and the seconds there."""
    with tempfile.TemporaryDirectory() as folder:
        indices = Path(folder) / "indices.npy"
        task = {"searcher": searcher, "X": path, "k": K, "metric": "euclidean", "setting": {}, "warm": True}
        measured = fresh.run({**task, "indices": str(indices)}, {"LOWFOLD_SIMD": level})
        return Timed(measured["search"], (np.load(indices), measured["estimate"]))


def _quality(judge: NeighborJudge, result: tuple[Any, float]) -> dict[str, float]:
    indices, estimate = result
    return {"recall": judge.recall(indices), "own estimate": estimate}


if __name__ == "__main__":
    main()
