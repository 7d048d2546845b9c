"""What a process may use of the machine: cores and memory, within affinity and the limits of its control groups."""

from __future__ import annotations

import contextlib
import ctypes
import functools
import math
import mmap
import os
from collections.abc import Iterator
from contextvars import ContextVar
from pathlib import Path

import joblib

from lowfold.errors import MemoryLimitError, ParameterError

ROOT = Path("/")


def thread_count(n_jobs: int | None) -> int:
    """Threads for `n_jobs`: None or -1 means every core this process may use, -2 all but one, and so on down to one.

    As in joblib, -n stands for max(1, cores + 1 - n), so that -4 can be written without knowing the machine: results do
    not depend on it. Cores are counted by joblib, which honours CPU affinity and the quota of a container, and are no
    more than the quotas of the process's own control group and of those around it allow, a part of a core being one.
    """
    if n_jobs == 0:
        raise ParameterError("n_jobs=0 threads cannot do any work. Use n_jobs=1, or None for every core.")
    if n_jobs is not None and n_jobs > 0:
        return int(n_jobs)
    cores = min([int(joblib.cpu_count()), *_quotas(ROOT)])
    return cores if n_jobs is None else max(1, cores + 1 + int(n_jobs))


def available_memory() -> int | None:
    """Bytes that this process can still allocate, or None where the system does not tell."""
    free = [_meminfo(ROOT / "proc/meminfo")]
    for group in _control_groups("memory", ROOT):
        for limit, used in (("memory.max", "memory.current"), ("memory.limit_in_bytes", "memory.usage_in_bytes")):
            limit_bytes, used_bytes = _number(group / limit), _number(group / used)
            if limit_bytes is not None and used_bytes is not None:
                free.append(max(0, limit_bytes - used_bytes))
    known = [value for value in free if value is not None]
    return min(known) if known else None


_limit: ContextVar[float | None] = ContextVar("lowfold_memory_limit", default=None)


@contextlib.contextmanager
def limited_memory(limit: float | None) -> Iterator[None]:
    """Work inside may allocate no more than so many bytes at once, where it can tell; None: no limit of its own."""
    token = _limit.set(limit)
    try:
        yield
    finally:
        _limit.reset(token)


def check_allowed(needed: float, work: str, cheaper: str) -> None:
    """Raises MemoryLimitError if work whose size is known only now needs more bytes than there are, or than it may."""
    limit, free = _limit.get(), available_memory()
    allowed = min((float(size) for size in (limit, free) if size is not None), default=math.inf)
    if needed > allowed:
        source = "allowed by memory_limit" if allowed == limit else "available"
        raise MemoryLimitError(
            f"{work} needs {needed / 1e9:.3g} GB, but {allowed / 1e9:.3g} GB are {source}. {cheaper}"
        )


def _quotas(root: Path) -> Iterator[int]:
    """Cores' worth of time that each control group may use, rounded up, where it has a limit."""
    for group in _control_groups("cpu", root):
        quota, period = _number(group / "cpu.cfs_quota_us"), _number(group / "cpu.cfs_period_us")
        with contextlib.suppress(OSError, ValueError):  # absent, or "max": no limit
            quota, period = (int(number) for number in (group / "cpu.max").read_text().split())
        if quota is not None and period is not None and quota > 0 and period > 0:
            yield math.ceil(quota / period)


def _control_groups(controller: str, root: Path) -> tuple[Path, ...]:
    """The folders of this process's control group and of all around it, in both versions of the system."""
    try:
        groups = (root / "proc/self/cgroup").read_text()
    except OSError:
        groups = ""
    return _folders(controller, root, groups)


@functools.lru_cache(maxsize=16)  # to look for all that might be there took 0.8 ms, several times in each fit
def _folders(controller: str, root: Path, groups: str) -> tuple[Path, ...]:
    """Where the groups that the system names can be read, as far as it has them.

    In a container its own group may be the root of what it sees, whatever the name that it has outside.
    """
    found: list[Path] = []
    top = root / "sys/fs/cgroup"
    for line in [*groups.splitlines(), f"0:{controller}:/", "0::/"]:
        _, names, path = line.split(":", 2)
        if names and controller not in names.split(","):
            continue
        at = Path(path.strip().lstrip("/"))
        for base in (top / names, top / controller) if names else (top, top / "unified"):
            found.extend(base / around for around in (at, *at.parents))
    return tuple(folder for folder in dict.fromkeys(found) if os.path.isdir(folder))


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
