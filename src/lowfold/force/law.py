"""The kernels w(r) of the force family, with r a squared distance between embedded points."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True, slots=True)
class Law:
    """w(r): "student", (1 + r / dof)^(-(dof + 1) / 2), or "gaussian", exp(-r).

    Attraction pulls along an edge with -w'(r) / w(r); repulsion is the gradient of sums of w.
    """

    name: str
    dof: float = 1.0

    @property
    def steadiness(self) -> float:
        """The share of a stable step for attraction alone that is stable with repulsion too.

        Where p and q agree, the repulsion of a Gaussian is as stiff as the attraction; Student's falls off more slowly.
        """
        return 0.5 if self.name == "gaussian" else 1.0

    @property
    def code(self) -> tuple[str, float]:
        """The law as kernels take it."""
        return self.name, float(self.dof)

    def weight(self, r: Any) -> Any:
        """w(r), in NumPy."""
        if self.name == "gaussian":
            return np.exp(-r)
        return (1 + r / self.dof) ** (-(self.dof + 1) / 2)


GAUSSIAN = Law("gaussian")
CAUCHY = Law("student")
