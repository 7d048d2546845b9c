"""How fast, and in how much memory, are approximate neighbours found at recall 0.99?

Ours runs as it comes. Each peer first gets the cheapest setting of a short grid that reaches the recall; then all run
in turn. Building the index and searching count together.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import data
import fresh
import measure
import tuning
from judge import NeighborJudge
from measure import Bar, Entry, Timed, timed
from searchers import CELLS, HNSW, IVF, NN_DESCENT, SEARCHERS, Found, Setting

RECALL = tuning.TARGET
GRAPHS = 3  # at the million, memory beside the data may be so many times that of the neighbours and distances returned
EDGE_BYTES = 4 + 4  # an int32 index and a float32 distance


@dataclass(frozen=True, slots=True)
class Case:
    """A data set, k and metric; the speed it is to reach; whether memory is measured and has a bar."""

    data: str
    k: int = 15
    metric: str = "euclidean"
    faster: float | None = 1
    faster_than: Mapping[str, float] = field(default_factory=dict)
    memory: bool = False
    memory_bar: bool = False

    @property
    def bar(self) -> Bar:
        """What ours has to reach."""
        return Bar(faster=self.faster, faster_than=self.faster_than, floors={"recall": RECALL})


CASES = (
    Case("mnist50", faster=2.5, memory=True),
    Case("mnist50", k=90, faster=None, faster_than={IVF: 4, HNSW: 4, NN_DESCENT: 15}),
    Case("flow_1m", faster=3, memory=True, memory_bar=True),
    Case("mnist"),
    Case("glove_60k", metric="cosine"),
    Case("usps"),
    Case("masscyt_thymus"),
)


def main() -> None:
    chosen = measure.arguments(__doc__, by_name=True)
    data.require(case.data for case in CASES)
    rows: list[dict[str, Any]] = []
    keep = chosen.only is not None
    for case in CASES:
        X = data.load(case.data, smoke=chosen.smoke)
        if not measure.wanted(chosen, _title(case, X)):
            continue
        rows.append(compared(case, X, chosen.repeat, smoke=chosen.smoke))
        measure.save(__file__, rows, smoke=chosen.smoke, keep=keep)
        if case.memory_bar:
            rows.append(memory_row(case, X, rows[-1]))
            measure.save(__file__, rows, smoke=chosen.smoke, keep=keep)


def compared(case: Case, X: Any, repeat: int, *, smoke: bool) -> dict[str, Any]:
    """The row of one case: time and recall of ours and of the tuned peers."""
    judge = NeighborJudge(X, case.k, case.metric)
    tuned = tuning.tuned_peers(tuning.Contest(X, case.k, case.metric, judge, smoke))
    settings: dict[str, Setting] = {CELLS: {}, **{name: peer.best.setting for name, peer in tuned.items()}}
    SEARCHERS[CELLS].warm_up(X, case.k, case.metric)
    entries = measure.alternate(_contestants(case, X, settings), partial(_quality, judge), repeat)
    for name, setting in settings.items():
        entries[name]["setting"] = dict(setting)
    for name, peer in tuned.items():
        entries[name]["tried"] = peer.listed()
    if case.memory_bar or (case.memory and not smoke):  # compiling in two more processes is slow
        _add_memory(case, X, entries)
    peers = {name: entries[name] for name in tuned}
    return measure.row(
        _title(case, X), entries[CELLS], peers, case.bar, eligible=[name for name in tuned if tuned[name].best.reached]
    )


def memory_row(case: Case, X: Any, times: Mapping[str, Any]) -> dict[str, Any]:
    """The row of peak memory, data included, from what was measured beside the times."""
    allowed = (X.nbytes + GRAPHS * len(X) * case.k * EDGE_BYTES) / 1e6
    peers = {name: measure.entry([peer["memory_mb"]]) for name, peer in times["peers"].items()}
    ours = measure.entry([times["ours"]["memory_mb"]])
    return measure.row(f"memory: {times['work']}", ours, peers, Bar(value=allowed), unit="MB")


def _contestants(case: Case, X: Any, settings: Mapping[str, Setting]) -> dict[str, Callable[[], Timed]]:
    return {
        name: partial(timed, partial(SEARCHERS[name].search, X, case.k, case.metric, setting))
        for name, setting in settings.items()
    }


def _quality(judge: NeighborJudge, found: Found) -> dict[str, float]:
    quality = {"recall": judge.recall(found.indices)}
    return quality if found.estimate is None else {**quality, "own estimate": found.estimate}


def _add_memory(case: Case, X: Any, entries: Mapping[str, Entry]) -> None:
    with fresh.stored(X) as path:
        for name, entry in entries.items():
            task = {"searcher": name, "X": path, "k": case.k, "metric": case.metric, "setting": entry["setting"]}
            entry["memory_mb"] = fresh.memory_mb(task, X.nbytes)


def _title(case: Case, X: Any) -> str:
    metric = "" if case.metric == "euclidean" else f", {case.metric}"
    return f"kNN k={case.k}, {case.data} ({len(X):,} × {X.shape[1]}){metric}"


if __name__ == "__main__":
    main()
