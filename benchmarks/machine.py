"""What a result was measured on: the machine, and the versions of everything that took part."""

from __future__ import annotations

import os
import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

LIBRARIES = (
    "lowfold",
    "numpy",
    "scipy",
    "scikit-learn",
    "openTSNE",
    "scikit-learn-intelex",
    "umap-learn",
    "tapkee",
    "pyamg",
    "pynndescent",
    "numba",
    "faiss-cpu",
)


def description() -> dict[str, Any]:
    """Processor, cores, memory, load at this moment, Python, and the instruction set that Lowfold runs on."""
    return {
        "processor": _processor(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "memory_gb": _memory_gb(),
        "load": round(os.getloadavg()[0], 2),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "simd": _simd(),
    }


def versions() -> dict[str, str]:
    """The version of each library that is installed."""
    return {name: found for name in LIBRARIES if (found := _version(name))}


def _processor() -> str:
    cpuinfo = Path("/proc/cpuinfo")
    lines = cpuinfo.read_text().splitlines() if cpuinfo.is_file() else []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor()


def _memory_gb() -> float:
    return round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9, 1)


def _simd() -> str:
    from lowfold.backend import native

    return str(native.kernels.simd)


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None
