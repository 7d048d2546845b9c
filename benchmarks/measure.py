"""Contestants in turn in one run, and the rows of results that come of it."""

from __future__ import annotations

import argparse
import gc
import json
import statistics
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

import machine

RESULTS = Path(__file__).resolve().parent / "results"
REST = 0.2  # seconds between contestants: threads of some runtimes still spin for a while after their work

Entry: TypeAlias = dict[str, Any]  # of one contestant: value, runs, quality, and what its script adds


@dataclass(frozen=True, slots=True)
class Timed:
    """A result and the seconds that it took."""

    seconds: float
    result: Any


@dataclass(frozen=True, slots=True)
class Bar:
    """What ours has to reach: so many times faster than the best peer and than those named, a value, qualities."""

    faster: float | None = None
    faster_than: Mapping[str, float] = field(default_factory=dict)
    more: tuple[str, float] | None = None  # at most a peer's value and so much
    value: float | None = None
    floors: Mapping[str, float] = field(default_factory=dict)
    ceilings: Mapping[str, float] = field(default_factory=dict)

    def text(self, unit: str) -> str:
        """The bar in words."""
        parts = (
            [f"{self.faster:g}× faster than the best peer" if self.faster > 1 else "not slower"] if self.faster else []
        )
        parts += [f"{times:g}× faster than {name}" for name, times in self.faster_than.items()]
        parts += [f"≤ {self.more[0]} + {self.more[1]:g} {unit}"] if self.more else []
        parts += [f"≤ {self.value:g} {unit}"] if self.value is not None else []
        parts += [f"{name} ≥ {least:g}" for name, least in self.floors.items()]
        return ", ".join(parts + [f"{name} ≤ {most:g}" for name, most in self.ceilings.items()])

    def met(self, ours: Entry, best: float | None, peers: Mapping[str, Entry]) -> bool:
        """Whether our entry reaches it, beside the best peer's value and all of them."""
        quality, value = ours["quality"], ours["value"]
        return (
            (self.faster is None or (best is not None and value * self.faster <= best))
            and all(value * times <= peers[name]["value"] for name, times in self.faster_than.items())
            and (self.more is None or value <= peers[self.more[0]]["value"] + self.more[1])
            and (self.value is None or value <= self.value)
            and all(quality[name] >= least for name, least in self.floors.items())
            and all(quality[name] <= most for name, most in self.ceilings.items())
        )


def arguments(description: str | None, repeat: int = 3, *, by_name: bool = False) -> argparse.Namespace:
    """The command line that all scripts share: smoke, repeat, and only, where rows can be measured by their names."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--smoke", action="store_true", help="tiny sizes, one repetition: only shows that it runs")
    parser.add_argument("--repeat", type=int, default=repeat, help="runs of each contestant; the median counts")
    if by_name:
        parser.add_argument("--only", help="part of the names of the rows to measure; the others are kept as they are")
    chosen = parser.parse_args()
    if chosen.smoke:
        chosen.repeat = 1
    return chosen


def wanted(chosen: argparse.Namespace, work: str) -> bool:
    """Whether a row of this name is to be measured."""
    return chosen.only is None or chosen.only in work


def timed(work: Callable[[], Any]) -> Timed:
    """The result of a piece of work and its wall time."""
    start = time.perf_counter()
    result = work()
    return Timed(time.perf_counter() - start, result)


def alternate(
    contestants: Mapping[str, Callable[[], Timed]], assess: Callable[[Any], Mapping[str, float]], repeat: int
) -> dict[str, Entry]:
    """An entry for each contestant: the median of its seconds, all of them, and the median of each quality.

    Round after round every contestant runs once, a different one first each time. Nothing is timed while a result is
    assessed.
    """
    names = list(contestants)
    seconds: dict[str, list[float]] = {name: [] for name in names}
    qualities: dict[str, list[Mapping[str, float]]] = {name: [] for name in names}
    for turn in range(repeat):
        first = turn % len(names)
        for name in names[first:] + names[:first]:
            gc.collect()
            time.sleep(REST)
            run = contestants[name]()
            seconds[name].append(run.seconds)
            qualities[name].append(assess(run.result))
            del run  # or it would still be there when the next one runs
    return {name: entry(seconds[name], qualities[name]) for name in names}


def entry(values: Sequence[float], qualities: Sequence[Mapping[str, float]] = ()) -> Entry:
    """The medians over the runs of one contestant."""
    names = qualities[0] if qualities else ()
    quality = {name: statistics.median(each[name] for each in qualities) for name in names}
    return {"value": statistics.median(values), "runs": list(values), "quality": quality}


def row(
    work: str, ours: Entry, peers: Mapping[str, Entry], bar: Bar, *, unit: str = "s", eligible: Collection[str] = ()
) -> dict[str, Any]:
    """One line of the results: our entry beside the best peer's, how many times less ours is, and the bar.

    The best peer is the one with the lowest value among the eligible ones, or among all if none is named.
    """
    choice = [name for name in peers if name in eligible] or list(peers)
    best = min(choice, key=lambda name: peers[name]["value"], default=None)
    lowest = peers[best]["value"] if best is not None else None
    text = bar.text(unit)
    return {
        "work": work,
        "unit": unit,
        "ours": ours,
        "peers": dict(peers),
        "best_peer": best,
        "times_less": lowest / ours["value"] if lowest is not None else None,
        "bar": text,
        "met": bar.met(ours, lowest, peers) if text else None,
    }


def save(script: str, rows: Sequence[Mapping[str, Any]], *, smoke: bool, keep: bool = False) -> None:
    """Writes the rows with machine and versions to results/<script>.json, and prints the last one.

    A smoke run writes to results/smoke instead: it measures nothing. keep: stored rows of other names stay.
    """
    name = Path(script).stem
    folder = RESULTS / "smoke" if smoke else RESULTS
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.json"
    stored = json.loads(path.read_text(encoding="utf-8"))["rows"] if keep and path.is_file() else []
    merged = {row["work"]: row for row in stored} | {row["work"]: row for row in rows}
    content = {
        "name": name,
        "machine": machine.description(),
        "versions": machine.versions(),
        "rows": list(merged.values()),
    }
    path.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    print(_line(rows[-1]), flush=True)


def _line(row: Mapping[str, Any]) -> str:
    unit = row["unit"]
    peers = ", ".join(f"{name} {peer['value']:.4g} {unit}" for name, peer in row["peers"].items())
    verdict = {True: "met", False: "missed", None: ""}[row["met"]]
    return f"{row['work']}: {row['ours']['value']:.4g} {unit}; {peers or 'no peer'} {verdict}".rstrip()
