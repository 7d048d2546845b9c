"""The results as a table in Markdown."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from measure import RESULTS

BEGIN, END = "<!-- table -->", "<!-- /table -->"
HEADER = ("work", "ours", "best peer", "faster", "our quality", "peer's quality", "bar", "")
VERDICT = {True: "met", False: "**missed**", None: ""}


def load(names: Iterable[str], *, smoke: bool) -> list[dict[str, Any]]:
    """The stored results of these benchmarks, of those that have any."""
    folder = RESULTS / "smoke" if smoke else RESULTS
    paths = [folder / f"{name}.json" for name in names]
    return [json.loads(path.read_text(encoding="utf-8")) for path in paths if path.is_file()]


def write(results: Sequence[Mapping[str, Any]], path: Path) -> None:
    """Puts the table between the two marks of a file."""
    content = path.read_text(encoding="utf-8")
    before, rest = content.split(BEGIN, 1)
    after = rest.split(END, 1)[1]
    path.write_text(f"{before}{BEGIN}\n{text(results)}\n{END}{after}", encoding="utf-8")


def text(results: Sequence[Mapping[str, Any]]) -> str:
    """The table, and a line for each machine and set of versions that the results come from."""
    lines = [_cells(HEADER), _cells(["---"] * len(HEADER))]
    lines += [_cells(_columns(row)) for result in results for row in result["rows"]]
    return "\n".join([*lines, "", *_origins(results)])


def _columns(row: Mapping[str, Any]) -> list[str]:
    peer = row["peers"][row["best_peer"]] if row["best_peer"] else None
    return [
        row["work"],
        _amount(row["ours"]["value"], row["unit"]),
        f"{_amount(peer['value'], row['unit'])} ({row['best_peer']})" if peer else "",
        f"{row['times_less']:.1f}×" if peer else "",
        _quality(row["ours"]),
        _quality(peer) if peer else "",
        row["bar"],
        VERDICT[row["met"]],
    ]


def _amount(value: float, unit: str) -> str:
    return f"{value:.0f} {unit}" if value >= 100 else f"{value:.3g} {unit}"


def _quality(entry: Mapping[str, Any]) -> str:
    parts = [f"{name} {value:.4g}" for name, value in entry["quality"].items()]
    return ", ".join(parts + ([f"{entry['memory_mb']:.0f} MB"] if "memory_mb" in entry else []))


def _cells(values: Sequence[str]) -> str:
    return f"| {' | '.join(values)} |"


def _origins(results: Sequence[Mapping[str, Any]]) -> list[str]:
    """Machine and versions, once for all results that share them."""
    shared: dict[str, list[str]] = {}
    for result in results:
        shared.setdefault(_origin(result), []).append(result["name"])
    if len(shared) == 1:
        return list(shared)
    return [f"{', '.join(names)}: {origin}  " for origin, names in shared.items()]


def _origin(result: Mapping[str, Any]) -> str:
    at = result["machine"]
    versions = ", ".join(f"{name} {version}" for name, version in result["versions"].items())
    return (
        f"{at['processor']}, {at['cores']} cores, {at['memory_gb']:.0f} GB, {at['system']}, "
        f"Python {at['python']}, kernels {at['simd']}; {versions}."
    )
