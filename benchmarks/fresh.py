"""A neighbour search in a process of its own: for peak memory, for first calls, and for other instruction sets.

Run as a script, this file is that process: it reads a task from its argument and prints what it measured.
"""

# ruff: noqa: E402 (the clock starts before the imports)

from __future__ import annotations

import time

START = time.perf_counter()

import contextlib
import importlib
import json
import os
import re
import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any


def run(task: Mapping[str, Any], environment: Mapping[str, str] | None = None) -> dict[str, Any]:
    """What a new process measured of a task, with the wall time of the whole process as "process".

    The task names searcher, X (a file), k, metric, setting; "warm" asks for a small call first; "load_only" for no
    search at all, as the baseline of memory; "indices" is the file for the neighbours found.
    """
    start = time.perf_counter()
    done = subprocess.run(
        [sys.executable, __file__, json.dumps(task)],
        env={**os.environ, **(environment or {})},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    seconds = time.perf_counter() - start
    return {**json.loads(done.stdout.splitlines()[-1]), "process": seconds}


def in_new_process(script: str, *arguments: str) -> float:
    """The number that a script prints last when it is run with these arguments."""
    done = subprocess.run([sys.executable, script, *arguments], stdout=subprocess.PIPE, text=True, check=True)
    return float(done.stdout.splitlines()[-1])


def seconds_of(*arguments: str) -> float:
    """The wall time of a new Python process with these arguments."""
    start = time.perf_counter()
    subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - start


def in_new_process_json(script: str, *arguments: str) -> dict[str, Any]:
    """What a script prints last, as JSON, when it is run with these arguments."""
    done = subprocess.run([sys.executable, script, *arguments], stdout=subprocess.PIPE, text=True, check=True)
    content: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return content


def memory_mb(task: Mapping[str, Any], data_bytes: int) -> float:
    """Megabytes that a search needs at its peak, data included, above what importing and compiling need."""
    baseline = run({**task, "warm": True, "load_only": True})["peak"]
    peak = run({**task, "warm": True})["peak"]
    return float(data_bytes + peak - baseline) / 1e6


@contextlib.contextmanager
def stored(X: Any) -> Iterator[str]:
    """The name of a file with X, to be read without any temporary copy; gone afterwards."""
    import numpy as np

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "X.npy"
        np.save(path, X)
        yield str(path)


def main(task: Mapping[str, Any]) -> None:
    """Runs a task and prints seconds of import and search, peak memory in bytes and the search's own recall."""
    from searchers import SEARCHERS

    searcher = SEARCHERS[task["searcher"]]
    importlib.import_module(searcher.library)
    measured: dict[str, Any] = {"import": time.perf_counter() - START}
    import numpy as np

    X = np.load(task["X"])
    if task.get("warm"):
        searcher.warm_up(X, task["k"], task["metric"])
    if not task.get("load_only"):
        start = time.perf_counter()
        found = searcher.search(X, task["k"], task["metric"], task["setting"])
        measured |= {"search": time.perf_counter() - start, "estimate": found.estimate}
        if "indices" in task:
            np.save(task["indices"], found.indices)
    print(json.dumps(measured | {"peak": peak()}))


def peak() -> int:
    """The most memory that this process has held, in bytes.

    Linux counts into ru_maxrss what the process that started this one held, if that was more; VmHWM starts anew.
    """
    with contextlib.suppress(OSError):
        found = re.search(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())
        if found:
            return 1024 * int(found.group(1))
    unit = 1 if sys.platform == "darwin" else 1024
    return unit * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
