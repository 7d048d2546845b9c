"""How fast are exact neighbours found, and do all agree on them?"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import data
import measure
from judge import NeighborJudge
from measure import Bar, Timed, timed
from searchers import BRUTE, EXACT, FLAT, SEARCHERS, Found

K = 15
SIZES = (20_000, 70_000)
SMOKE_SIZES = (1000, 3000)
RECALL = {"recall": 0.9999}  # not 1: float32 may swap neighbours that differ in the last digits
BAR = Bar(faster_than={BRUTE: 3, FLAT: 1.7}, floors=RECALL)
WIDE = "coil20"  # a few images of many pixels
WIDE_BAR = Bar(faster_than={BRUTE: 1}, floors=RECALL)


def main() -> None:
    chosen = measure.arguments(__doc__)
    data.require(["mnist50", WIDE])
    X = data.load("mnist50", smoke=chosen.smoke)
    rows: list[dict[str, Any]] = []
    for n in SMOKE_SIZES if chosen.smoke else SIZES:
        rows.append(compared("mnist50", np.ascontiguousarray(X[:n]), chosen.repeat, BAR))
        measure.save(__file__, rows, smoke=chosen.smoke)
    rows.append(compared(WIDE, data.load(WIDE, smoke=chosen.smoke), chosen.repeat, WIDE_BAR))
    measure.save(__file__, rows, smoke=chosen.smoke)


def compared(name: str, X: Any, repeat: int, bar: Bar) -> dict[str, Any]:
    """The row of one data set and size."""
    judge = NeighborJudge(X, K)
    for searcher in (EXACT, BRUTE, FLAT):
        SEARCHERS[searcher].warm_up(X, K, "euclidean")
    ours = SEARCHERS[EXACT].search(X, K, "euclidean", {}).indices
    quality = partial(_quality, judge, ours)
    entries = measure.alternate({each: _contestant(each, X) for each in (EXACT, BRUTE, FLAT)}, quality, repeat)
    title = f"exact kNN k={K}, {name} ({len(X):,} × {X.shape[1]})"
    return measure.row(title, entries.pop(EXACT), entries, bar)


def _contestant(name: str, X: Any) -> Callable[[], Timed]:
    return partial(timed, partial(SEARCHERS[name].search, X, K, "euclidean", {}))


def _quality(judge: NeighborJudge, ours: Any, found: Found) -> dict[str, float]:
    """Recall on the sample, and over all rows the share of our neighbours that this search found too."""
    return {"recall": judge.recall(found.indices), "agreement": _shared(ours, found.indices)}


def _shared(ours: Any, theirs: Any) -> float:
    # One more than the k of ours where the point itself is among theirs; a few rows at a time to save memory.
    blocks = zip(np.array_split(ours, 100), np.array_split(theirs, 100), strict=True)
    found = sum((a[:, :, None] == b[:, None, :]).any(axis=2).sum() for a, b in blocks)
    return float(found / ours.size)


if __name__ == "__main__":
    main()
