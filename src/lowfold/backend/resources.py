"""What a process may use of the machine: cores and memory, within affinity and container limits."""

from __future__ import annotations

import contextlib
import ctypes
import mmap
from pathlib import Path

import joblib

from lowfold.errors import ParameterError

_CGROUP_LIMITS = ("memory.max", "memory/memory.limit_in_bytes")
_CGROUP_USED = ("memory.current", "memory/memory.usage_in_bytes")


def thread_count(n_jobs: int | None) -> int:
    """Threads for `n_jobs`: None or -1 means every core this process may use, -2 all but one, and so on down to one.

    As in joblib, -n stands for max(1, cores + 1 - n), so that -4 can be written without knowing the machine: results do
    not depend on it. Cores are counted by joblib, which honours CPU affinity and container quotas.
    """
    if n_jobs == 0:
        raise ParameterError("n_jobs=0 threads cannot do any work. Use n_jobs=1, or None for every core.")
    if n_jobs is not None and n_jobs > 0:
        return int(n_jobs)
    cores = int(joblib.cpu_count())
    return cores if n_jobs is None else max(1, cores + 1 + int(n_jobs))


def available_memory(root: Path = Path("/")) -> int | None:
    """Bytes that this process can still allocate, or None where the system does not tell."""
    free = [_meminfo(root / "proc/meminfo")]
    for limit, used in zip(_CGROUP_LIMITS, _CGROUP_USED, strict=True):
        limit_bytes = _number(root / "sys/fs/cgroup" / limit)
        used_bytes = _number(root / "sys/fs/cgroup" / used)
        if limit_bytes is not None and used_bytes is not None:
            free.append(max(0, limit_bytes - used_bytes))
    known = [value for value in free if value is not None]
    return min(known) if known else None


def _meminfo(path: Path) -> int | None:
    with contextlib.suppress(OSError):
        for line in path.read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    return None


def _number(path: Path) -> int | None:
    try:
        return int(path.read_text())
    except (OSError, ValueError):  # absent, or "max": no limit
        return None


def resident_memory() -> int | None:
    """Bytes of memory that this process holds now, or None where the system does not tell."""
    try:
        pages = Path("/proc/self/statm").read_text().split()[1]
    except (OSError, IndexError):
        return None
    return int(pages) * mmap.PAGESIZE


def forget_peak() -> bool:
    """Begins to count the peak of this process's memory anew; whether the system can.

    What was freed is given back first: memory that is kept for later would hide what the next piece of work takes.
    """
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return False
    return peak_memory() is not None


def peak_memory() -> int | None:
    """Bytes that this process held at most since `forget_peak`, or None where the system does not tell."""
    with contextlib.suppress(OSError):
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    return None
