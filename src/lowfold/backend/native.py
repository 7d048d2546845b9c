"""The compiled kernels, for the best instruction set that this processor has.

LOWFOLD_SIMD=baseline, avx2 or avx512 in the environment asks for a certain one.
"""

from __future__ import annotations

import importlib
import os
from typing import cast

from lowfold.backend.protocol import Kernels
from lowfold.errors import BackendError


def load(wanted: str | None = None) -> Kernels:
    """The kernels of one instruction set; the best one by default."""
    supported = _module("baseline").supported_simd()
    level = wanted or supported[-1]
    if level not in supported:
        raise BackendError(
            f"LOWFOLD_SIMD={level} was asked for, but this machine can run {', '.join(supported)}. "
            f"Set LOWFOLD_SIMD to one of these, or leave it unset."
        )
    return _module(level)


def _module(level: str) -> Kernels:
    return cast(Kernels, importlib.import_module(f"lowfold.backend._native_{level}"))


kernels = load(os.environ.get("LOWFOLD_SIMD"))
